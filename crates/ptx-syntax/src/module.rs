//! What a PTX text says, as types.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::words::{Modifier, Opcode, Space, SpecialRegister, Type};

/// A dense number in one function or module, as an index.
macro_rules! id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index of a `Vec`.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of an index; indices are below `u32::MAX` because texts are bounded.
            pub(crate) fn of(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }
        }
    };
}

id! {
    /// A register of a function: index of [`Function::registers`].
    Reg
}
id! {
    /// A variable of a function: index of [`Function::variables`].
    Var
}
id! {
    /// A label of a function: index of [`Function::labels`].
    Label
}
id! {
    /// A prototype of indirect calls, or a list of their targets: index of [`Function::prototypes`].
    Prototype
}

/// A whole PTX text.
#[derive(Debug, Clone, Default)]
pub struct Module {
    /// `.version 9.5`
    pub version: Option<(u32, u32)>,
    /// `sm_90`
    pub target: Option<String>,
    /// What stands behind the architecture in `.target`: `debug`, `texmode_independent`.
    pub target_options: Vec<String>,
    /// `.address_size`; 64 where nothing is said.
    pub address_bits: u32,
    /// Number of a `.file` → its path.
    pub files: BTreeMap<u32, String>,
    /// Variables outside functions: tables, strings, `.extern .shared`.
    pub variables: Vec<Variable>,
    /// In the order of the text; declarations without a body are in [`Module::declarations`].
    pub functions: Vec<Function>,
    /// `.extern .func vprintf (…);` and forward declarations.
    pub declarations: Vec<Function>,
    /// `.alias a, b;`: `a` is another name of `b`.
    pub aliases: Vec<(Arc<str>, Arc<str>)>,
}

/// Who may see a name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Linkage {
    /// Only this module.
    #[default]
    Internal,
    /// `.visible`
    Visible,
    /// `.extern`
    Extern,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

/// A variable in memory, of a module, of a function or of a block in it; parameters of functions and calls too.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name; names of call parameters repeat within a function.
    pub name: Arc<str>,
    /// Where it lies.
    pub space: Space,
    /// Type of an element.
    pub ty: Type,
    /// Elements of a vector type: 4 of `.v4 .f32`, else 1.
    pub vector: u32,
    /// Bytes it starts at a multiple of; the element's own where nothing is said.
    pub align: u32,
    /// Extents of an array, outermost first; empty for a scalar. 0 stands for `[]`.
    pub extents: Vec<u64>,
    /// Bytes in all; 0 where the size is not said (`.extern .shared x[]`), or larger than a `u64`.
    pub bytes: u64,
    /// Who may see it.
    pub linkage: Linkage,
    /// Initial values of elements, by index; those not listed are zero.
    pub initial: Vec<(u64, InitialValue)>,
    /// Number of the parameter of the function, or of the value that it returns.
    pub parameter: Option<ParameterPlace>,
    /// `.ptr .global .align 16` of a kernel's parameter.
    pub pointer: Option<PointerAttribute>,
    /// Line of the text, from 1.
    pub line: u32,
}

impl Variable {
    /// Whether the compiler laid it out for all local variables of a function; others are one object each.
    pub fn is_depot(&self) -> bool {
        self.space == Space::Local && self.name.starts_with("__local_depot")
    }

    /// Whether it is written with `[…]`.
    pub fn is_array(&self) -> bool {
        !self.extents.is_empty()
    }
}

/// Which of a function's parameters a variable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterPlace {
    /// Number in the list behind the name, from 0.
    Input(u32),
    /// Number in the list before the name, from 0.
    Output(u32),
}

/// What a kernel's parameter says of the memory that it points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointerAttribute {
    /// Generic where nothing is said.
    pub space: Space,
    /// Of the memory it points to.
    pub align: u32,
}

/// One element of an initial value.
#[derive(Debug, Clone, PartialEq)]
pub enum InitialValue {
    /// A whole number; above `i64::MAX` as the same bits.
    Integer(i64),
    /// Bits of a `0f…`.
    Single(u32),
    /// Bits of a `0d…`, or of a decimal number.
    Double(u64),
    /// Address of a variable or function.
    Address {
        /// Its name.
        name: Arc<str>,
        /// Bytes behind its start.
        offset: i64,
        /// `generic(name)`: as a generic address.
        generic: bool,
    },
    /// What could not be read.
    Unknown,
}

/// One `.loc`: a place in a source file, and where that code was inlined.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// Number of the `.file`.
    pub file: u32,
    /// From 1; 0 where the compiler gives none.
    pub line: u32,
    /// Bytes from the start of the line, from 1; 0 where the front end gives none.
    pub column: u32,
    /// Index of the location in the function where this code was inlined; always an earlier one.
    pub inlined_at: Option<usize>,
    /// The function that was inlined, by its mangled name.
    pub function: Option<Arc<str>>,
}

/// A register of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// As written: `%r1`. Registers of different blocks may share a name.
    pub name: Arc<str>,
    /// `None` where no `.reg` declares it.
    pub ty: Option<Type>,
}

/// A label of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelInfo {
    /// As written. Labels of different blocks may share a name.
    pub name: Arc<str>,
    /// Index of the instruction that follows it, which may be one past the last; `None` where it is not defined.
    pub instruction: Option<u32>,
}

/// `.callprototype` or `.calltargets`, which indirect calls name.
#[derive(Debug, Clone, PartialEq)]
pub struct PrototypeInfo {
    /// Its label.
    pub name: Arc<str>,
    /// Of `.callprototype`: what a call returns.
    pub outputs: Vec<Variable>,
    /// Of `.callprototype`: what a call takes.
    pub inputs: Vec<Variable>,
    /// Of `.calltargets`: the functions.
    pub targets: Vec<Arc<str>>,
}

/// The predicate that guards an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The predicate register.
    pub register: Reg,
    /// `@!%p1`
    pub negated: bool,
}

/// All that the first word of an instruction says; instructions with the same word share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// The first part.
    pub opcode: Opcode,
    /// In the order of the text, types left out.
    pub modifiers: Vec<Modifier>,
    /// In the order of the text: of `cvt.rn.f32.s32` the result's before the operand's.
    pub types: Vec<Type>,
    /// The word as written: `ld.global.nc.f32`.
    pub text: Arc<str>,
}

impl Form {
    /// Reads a word as it stands before the operands. Parts that are not known become `Unknown`.
    pub fn parse(text: &str) -> Self {
        let mut parts = text.split('.');
        let opcode = parts.next().and_then(Opcode::from_text).unwrap_or(Opcode::Unknown);
        let (mut modifiers, mut types) = (Vec::new(), Vec::new());
        for part in parts {
            match Type::from_text(part) {
                Some(ty) => types.push(ty),
                None => modifiers.push(Modifier::from_text(part).unwrap_or(Modifier::Unknown)),
            }
        }
        Self { opcode, modifiers, types, text: text.into() }
    }

    /// Whether it has a modifier.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// Whether opcode and all modifiers are known.
    pub fn is_known(&self) -> bool {
        self.opcode != Opcode::Unknown && !self.modifiers.contains(&Modifier::Unknown)
    }

    /// The first part as written: `ld`.
    pub fn mnemonic(&self) -> &str {
        self.text.split('.').next().unwrap_or("")
    }

    /// The last type, which is that of the operands.
    pub fn ty(&self) -> Option<Type> {
        self.types.last().copied()
    }

    /// Where an access goes; `Generic` where no space is named, of `.shared::cta` too `Shared`.
    pub fn space(&self) -> Space {
        let space = self.modifiers.iter().find_map(|modifier| {
            Some(match modifier {
                Modifier::Global => Space::Global,
                Modifier::Shared | Modifier::SharedCta => Space::Shared,
                Modifier::SharedCluster => Space::SharedCluster,
                Modifier::Local => Space::Local,
                Modifier::Const => Space::Const,
                Modifier::Param | Modifier::ParamEntry | Modifier::ParamFunc => Space::Param,
                _ => return None,
            })
        });
        space.unwrap_or(Space::Generic)
    }

    /// Elements that an access moves: 4 of `.v4`, else 1.
    pub fn vector(&self) -> u32 {
        self.modifiers
            .iter()
            .find_map(|modifier| match modifier {
                Modifier::V2 => Some(2),
                Modifier::V4 => Some(4),
                Modifier::V8 => Some(8),
                _ => None,
            })
            .unwrap_or(1)
    }
}

/// A statement that is not a directive.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// Opcode, modifiers and types.
    pub form: Arc<Form>,
    /// The predicate that guards it.
    pub guard: Option<Guard>,
    /// As written, from left to right.
    pub operands: Box<[Operand]>,
    /// First line of the text, from 1.
    pub first_line: u32,
    /// Last line of the text.
    pub last_line: u32,
    /// Index into [`Function::locations`].
    pub location: Option<u32>,
}

/// An operand.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// `%r1`
    Reg(Reg),
    /// `!%p1`
    NotReg(Reg),
    /// `-%r1`, as some front ends write it.
    NegReg(Reg),
    /// A whole number; above `i64::MAX` as the same bits.
    Imm(i64),
    /// Bits of a single-precision number, `0f3F800000`.
    Single(u32),
    /// Bits of a double-precision number, `0d…` or decimal.
    Double(u64),
    /// `%tid.x`
    Special(SpecialRegister),
    /// Address of a variable of this function: `__local_depot0`, `param0`, perhaps with an offset.
    Variable(Var, i64),
    /// A variable of the module, a function, or a name that nothing declares; perhaps with an offset.
    Symbol(Arc<str>, i64),
    /// `[…]` with one address.
    Address(Address),
    /// `{…}`
    Vector(Box<[Operand]>),
    /// `(…)` of calls.
    List(Box<[Operand]>),
    /// `[…]` with several parts, as textures and tensor copies have.
    Bracket(Box<[Operand]>),
    /// `%p1|%p2`
    Pair(Box<(Operand, Operand)>),
    /// The target of a branch, or the table of an indirect one.
    Label(Label),
    /// What an indirect call names last.
    Prototype(Prototype),
    /// `_`
    Sink,
    /// What could not be read, with the registers that are in it.
    Opaque(Box<Opaque>),
}

/// An operand that could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opaque {
    /// Its words, separated by spaces.
    pub text: String,
    /// Registers that are mentioned.
    pub registers: Vec<Reg>,
}

/// `[%rd1+4]`, `[__local_depot0+8]`, `[8]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// What the offset is added to.
    pub base: AddressBase,
    /// Bytes.
    pub offset: i64,
}

/// What an address starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressBase {
    /// The value of a register.
    Reg(Reg),
    /// A variable of the function.
    Variable(Var),
    /// A variable of the module, or an unknown name.
    Symbol(Arc<str>),
    /// Nothing: the offset is the address.
    Absolute,
}

/// The parts of a `call`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call<'a> {
    /// What takes the result.
    pub outputs: &'a [Operand],
    /// [`Operand::Symbol`] of a direct call, [`Operand::Reg`] of an indirect one.
    pub callee: &'a Operand,
    /// Arguments.
    pub inputs: &'a [Operand],
    /// Prototype or targets of an indirect call.
    pub prototype: Option<Prototype>,
}

impl Instruction {
    /// Its opcode.
    pub fn opcode(&self) -> Opcode {
        self.form.opcode
    }

    /// Whether it has a modifier.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.form.has(modifier)
    }

    /// First and last line of the text, from 1.
    pub fn lines(&self) -> RangeInclusive<u32> {
        self.first_line..=self.last_line
    }

    /// The first `[…]` with one address.
    pub fn address(&self) -> Option<&Address> {
        self.operands.iter().find_map(|operand| match operand {
            Operand::Address(address) => Some(address),
            _ => None,
        })
    }

    /// Bytes of one element that a load or store moves: 4 of `ld.local.v4.u32`.
    pub fn element_bytes(&self) -> Option<u64> {
        self.form.ty().filter(|ty| ty.bits() >= 8).map(|ty| u64::from(ty.bytes()))
    }

    /// Whether this reads or writes `.local` memory by name.
    pub fn is_local_access(&self) -> bool {
        matches!(self.opcode(), Opcode::Ld | Opcode::St) && self.has(Modifier::Local)
    }

    /// The parts of a call; `None` for other instructions, and for calls that name nothing.
    pub fn call(&self) -> Option<Call<'_>> {
        if self.opcode() != Opcode::Call {
            return None;
        }
        let (outputs, rest) = match self.operands.split_first()? {
            (Operand::List(outputs), rest) => (&outputs[..], rest),
            _ => (&[][..], &self.operands[..]),
        };
        let (callee, rest) = rest.split_first()?;
        let inputs = rest.iter().find_map(|operand| match operand {
            Operand::List(inputs) => Some(&inputs[..]),
            _ => None,
        });
        let prototype = rest.iter().find_map(|operand| match operand {
            Operand::Prototype(prototype) => Some(*prototype),
            _ => None,
        });
        Some(Call { outputs, callee, inputs: inputs.unwrap_or(&[]), prototype })
    }

    /// Whether the thread never goes on to the next instruction from here.
    pub fn ends_block_always(&self) -> bool {
        self.guard.is_none()
            && matches!(self.opcode(), Opcode::Bra | Opcode::Brx | Opcode::Ret | Opcode::Exit | Opcode::Trap)
    }

    /// Whether the thread may go on elsewhere than at the next instruction.
    pub fn ends_block(&self) -> bool {
        matches!(self.opcode(), Opcode::Bra | Opcode::Brx | Opcode::Ret | Opcode::Exit | Opcode::Trap)
    }
}

/// A kernel or a function that kernels call.
#[derive(Debug, Clone, Default)]
pub struct Function {
    /// Its name as in the text.
    pub name: Arc<str>,
    /// `.entry`: a kernel.
    pub is_entry: bool,
    /// Who may see it.
    pub linkage: Linkage,
    /// Lines of the text from the header to the closing brace.
    pub lines: Option<RangeInclusive<u32>>,
    /// Its instructions, those of nested blocks too.
    pub instructions: Vec<Instruction>,
    /// Registers that are mentioned.
    pub registers: Vec<Register>,
    /// Parameters, local and shared variables, parameters of calls.
    pub variables: Vec<Variable>,
    /// Labels of instructions and of tables.
    pub labels: Vec<LabelInfo>,
    /// Tables of indirect branches: label of the table → the labels it may go to.
    pub branch_tables: BTreeMap<Label, Vec<Label>>,
    /// Prototypes and targets of indirect calls.
    pub prototypes: Vec<PrototypeInfo>,
    /// Places in sources.
    pub locations: Vec<Location>,
    /// `.maxntid x, y, z`
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid x, y, z`
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`
    pub min_blocks: Option<u32>,
    /// `.maxnctapersm`
    pub max_blocks: Option<u32>,
    /// `.maxnreg`
    pub max_registers: Option<u32>,
    /// `.reqnctapercluster x, y, z`
    pub cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`
    pub max_cluster_rank: Option<u32>,
    /// `.noreturn`
    pub is_noreturn: bool,
    /// Texts of `.pragma "…";`, those for single loops too, each with the instruction that follows it.
    pub pragmas: Vec<(String, u32)>,
}

impl Function {
    /// Its parameters in order.
    pub fn inputs(&self) -> impl Iterator<Item = (Var, &Variable)> {
        self.parameters(|place| matches!(place, ParameterPlace::Input(_)))
    }

    /// What it returns, in order.
    pub fn outputs(&self) -> impl Iterator<Item = (Var, &Variable)> {
        self.parameters(|place| matches!(place, ParameterPlace::Output(_)))
    }

    fn parameters(&self, is_wanted: impl Fn(ParameterPlace) -> bool) -> impl Iterator<Item = (Var, &Variable)> {
        let numbered = self.variables.iter().enumerate();
        let wanted = numbered.filter(move |(_, variable)| variable.parameter.is_some_and(&is_wanted));
        wanted.map(|(index, variable)| (Var::of(index), variable))
    }

    /// A variable by its id.
    pub fn variable(&self, variable: Var) -> &Variable {
        &self.variables[variable.index()]
    }

    /// A register by its id.
    pub fn register(&self, register: Reg) -> &Register {
        &self.registers[register.index()]
    }

    /// A register by its name; the first of several with the same.
    pub fn register_named(&self, name: &str) -> Option<Reg> {
        self.registers.iter().position(|register| &*register.name == name).map(Reg::of)
    }

    /// The instruction that covers a line of the text.
    pub fn instruction_at(&self, line: u32) -> Option<usize> {
        let index = self.instructions.partition_point(|instruction| instruction.last_line < line);
        let instruction = self.instructions.get(index)?;
        instruction.lines().contains(&line).then_some(index)
    }

    /// Where a branch may jump to, as indices of instructions; `brx` has one for each entry of its table.
    pub fn targets(&self, instruction: &Instruction) -> Vec<u32> {
        let label = instruction.operands.iter().rev().find_map(|operand| match operand {
            Operand::Label(label) => Some(*label),
            _ => None,
        });
        let Some(label) = label else { return Vec::new() };
        let instruction_of = |label: &Label| self.labels.get(label.index())?.instruction;
        match self.branch_tables.get(&label) {
            Some(table) => table.iter().filter_map(instruction_of).collect(),
            None => instruction_of(&label).into_iter().collect(),
        }
    }

    /// The location and the places it is inlined at, innermost first.
    pub fn location_chain(&self, index: usize) -> Vec<&Location> {
        let mut chain: Vec<&Location> = Vec::new();
        let mut next = Some(index);
        while let Some(location) = next.and_then(|index| self.locations.get(index)) {
            chain.push(location);
            // `inlined_at` always points to an earlier location, so this ends.
            next = location.inlined_at;
        }
        chain
    }

    /// Whether an instruction names a symbol or variable, in an address or as a value.
    pub fn mentions(&self, name: &str) -> bool {
        let operands = self.instructions.iter().flat_map(|instruction| &instruction.operands);
        operands.into_iter().any(|operand| self.operand_mentions(operand, name))
    }

    fn operand_mentions(&self, operand: &Operand, name: &str) -> bool {
        match operand {
            Operand::Symbol(symbol, _) => &**symbol == name,
            Operand::Variable(variable, _) => &*self.variable(*variable).name == name,
            Operand::Address(address) => match &address.base {
                AddressBase::Symbol(symbol) => &**symbol == name,
                AddressBase::Variable(variable) => &*self.variable(*variable).name == name,
                AddressBase::Reg(_) | AddressBase::Absolute => false,
            },
            Operand::Vector(parts) | Operand::List(parts) | Operand::Bracket(parts) => {
                parts.iter().any(|part| self.operand_mentions(part, name))
            }
            Operand::Opaque(opaque) => opaque.text.split(' ').any(|word| word == name),
            _ => false,
        }
    }

    /// Whether a `.pragma` with this text stands in it.
    pub fn has_pragma(&self, name: &str) -> bool {
        self.pragmas.iter().any(|(pragma, _)| pragma == name)
    }

    /// Product of the extents of `.maxntid`; `None` where it is not there or overflows.
    pub fn max_thread_count(&self) -> Option<u32> {
        product(self.max_threads?)
    }

    /// Product of the extents of `.reqntid`.
    pub fn required_thread_count(&self) -> Option<u32> {
        product(self.required_threads?)
    }

    /// Bytes of the value that a call returns, where a variable of the call takes it.
    pub fn returned_bytes(&self, instruction: &Instruction) -> Option<u64> {
        match instruction.call()?.outputs.first()? {
            Operand::Variable(variable, _) => Some(self.variable(*variable).bytes),
            _ => None,
        }
    }
}

fn product(extents: [u32; 3]) -> Option<u32> {
    extents.into_iter().try_fold(1u32, |product, extent| product.checked_mul(extent))
}

impl Module {
    /// Built with `-G`: `.target sm_90, debug`.
    pub fn is_debug(&self) -> bool {
        self.target_options.iter().any(|option| option == "debug")
    }

    /// A function with a body. With `-rdc` ptxas makes a copy `name$1` of a function for callers in the same unit.
    pub fn function(&self, name: &str) -> Option<&Function> {
        let find = |name: &str| self.functions.iter().find(|function| &*function.name == name);
        find(name).or_else(|| find(without_copy_number(name)?))
    }

    /// The function whose body covers a line.
    pub fn function_at(&self, line: u32) -> Option<&Function> {
        self.functions.iter().find(|function| function.lines.as_ref().is_some_and(|lines| lines.contains(&line)))
    }

    /// A variable of the module.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| &*variable.name == name)
    }

    /// Names of `.extern .shared` variables: dynamic shared memory.
    pub fn extern_shared(&self) -> impl Iterator<Item = &str> {
        let is_dynamic = |variable: &&Variable| variable.space == Space::Shared && variable.linkage == Linkage::Extern;
        self.variables.iter().filter(is_dynamic).map(|variable| &*variable.name)
    }

    /// Names in the initial values of variables: functions whose address is in a table.
    pub fn initial_names(&self) -> BTreeSet<&str> {
        let values = self.variables.iter().flat_map(|variable| &variable.initial);
        let names = values.filter_map(|(_, value)| match value {
            InitialValue::Address { name, .. } => Some(&**name),
            _ => None,
        });
        names.collect()
    }

    /// Whether a function may be called through a pointer: its name stands in a table, or is used as a value.
    pub fn is_address_taken(&self, name: &str) -> bool {
        let is_name = |operand: &Operand| matches!(operand, Operand::Symbol(symbol, _) if &**symbol == name);
        let is_value = |instruction: &Instruction| {
            instruction.opcode() == Opcode::Mov && instruction.operands.get(1).is_some_and(is_name)
        };
        self.initial_names().contains(name)
            || self.functions.iter().any(|function| function.instructions.iter().any(is_value))
    }
}

/// `f` of `f$1`.
pub fn without_copy_number(name: &str) -> Option<&str> {
    let (name, number) = name.rsplit_once('$')?;
    (!name.is_empty() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
}
