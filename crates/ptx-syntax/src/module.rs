//! The typed representation of a PTX module.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::initial::Initial;
use crate::words::{Modifier, Opcode, Space, SpecialRegister, Type};

/// An ID: a dense index within a function or module.
macro_rules! id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// As a `Vec` index.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The ID for an index; indices are below `u32::MAX` because the size of a text is limited.
            pub(crate) fn of(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }
        }
    };
}

id! {
    /// A register: an index into [`Function::registers`].
    Reg
}
id! {
    /// A variable: an index into [`Function::variables`].
    Var
}
id! {
    /// A label: an index into [`Function::labels`].
    Label
}
id! {
    /// A prototype or target list of indirect calls: an index into [`Function::prototypes`].
    Prototype
}

/// A PTX module.
#[derive(Debug, Clone, Default)]
pub struct Module {
    /// `.version 9.5`
    pub version: Option<(u32, u32)>,
    /// `sm_90`
    pub target: Option<String>,
    /// The options after the architecture in `.target`: `debug`, `texmode_independent`.
    pub target_options: Vec<String>,
    /// `.address_size`; 64 by default.
    pub address_bits: u32,
    /// `.file` numbers with their paths.
    pub files: BTreeMap<u32, String>,
    /// Module-scope variables: tables, strings, `.extern .shared`.
    pub variables: Vec<Variable>,
    /// Functions with a body, in text order; others are in [`Module::declarations`].
    pub functions: Vec<Function>,
    /// `.extern .func vprintf (…);` and forward declarations.
    pub declarations: Vec<Function>,
    /// `.alias a, b;`: `a` is an alias of `b`.
    pub aliases: Vec<(Arc<str>, Arc<str>)>,
}

/// The linkage of a name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Linkage {
    /// Visible in this module only.
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

/// A variable of a module, function or block, or a parameter of a function or call.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// The name; call parameters of one function may share a name.
    pub name: Arc<str>,
    /// The state space.
    pub space: Space,
    /// Element type.
    pub ty: Type,
    /// Vector length: 4 for `.v4 .f32`, else 1.
    pub vector: u32,
    /// Alignment in bytes; by default the alignment of an element.
    pub align: u32,
    /// Extents of an array, outermost first; empty for a scalar. 0 stands for `[]`.
    pub extents: Vec<u64>,
    /// Total size in bytes; 0 if no size is given (`.extern .shared x[]`) or it exceeds a `u64`.
    pub bytes: u64,
    /// The linkage.
    pub linkage: Linkage,
    /// Initial values.
    pub initial: Initial,
    /// The position in the parameter or return list, if the variable is a parameter.
    pub parameter: Option<ParameterPlace>,
    /// `.ptr .global .align 16` of a kernel parameter.
    pub pointer: Option<PointerAttribute>,
    /// Line in the text, from 1.
    pub line: u32,
}

impl Variable {
    /// Whether this is the depot: one `.local` array for all local variables of a function. Other variables are one
    /// object each.
    pub fn is_depot(&self) -> bool {
        self.space == Space::Local && self.name.starts_with("__local_depot")
    }

    /// Whether it is declared with `[…]`.
    pub fn is_array(&self) -> bool {
        !self.extents.is_empty()
    }
}

/// The position of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterPlace {
    /// Index in the parameter list after the name, from 0.
    Input(u32),
    /// Index in the return list before the name, from 0.
    Output(u32),
}

/// The `.ptr` attribute of a kernel parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointerAttribute {
    /// State space of the pointee; `Generic` by default.
    pub space: Space,
    /// Alignment of the pointee.
    pub align: u32,
}

/// A `.loc` directive: a source location, and the location where its function was inlined.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// Number of the `.file`.
    pub file: u32,
    /// Line, from 1; 0 if the compiler gives none.
    pub line: u32,
    /// Column in bytes, from 1; 0 if the front end gives none.
    pub column: u32,
    /// Index of the call location that this function was inlined at; always a smaller index.
    pub inlined_at: Option<usize>,
    /// Mangled name of the inlined function.
    pub function: Option<Arc<str>>,
}

/// A register of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// The name as written: `%r1`. Registers of different blocks may share a name.
    pub name: Arc<str>,
    /// The type; `None` if no `.reg` declares the register.
    pub ty: Option<Type>,
}

/// A label of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelInfo {
    /// The name as written. Labels of different blocks may share a name.
    pub name: Arc<str>,
    /// Index of the following instruction, perhaps one past the last; `None` for an undefined label.
    pub instruction: Option<u32>,
}

/// A `.callprototype` or `.calltargets` that indirect calls refer to.
#[derive(Debug, Clone, PartialEq)]
pub struct PrototypeInfo {
    /// The label of the directive.
    pub name: Arc<str>,
    /// Return parameters of a `.callprototype`.
    pub outputs: Vec<Variable>,
    /// Parameters of a `.callprototype`.
    pub inputs: Vec<Variable>,
    /// Functions of a `.calltargets`.
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

/// The dotted opcode of an instruction, parsed; instructions with the same text share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// The opcode.
    pub opcode: Opcode,
    /// Modifiers in text order, without types.
    pub modifiers: Vec<Modifier>,
    /// Types in text order: for `cvt.rn.f32.s32`, the result type comes first.
    pub types: Vec<Type>,
    /// The text as written: `ld.global.nc.f32`.
    pub text: Arc<str>,
}

impl Form {
    /// Parses a dotted opcode. Unknown parts become `Unknown`.
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

    /// Whether the opcode has a modifier.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// Whether the opcode and all modifiers are known.
    pub fn is_known(&self) -> bool {
        self.opcode != Opcode::Unknown && !self.modifiers.contains(&Modifier::Unknown)
    }

    /// The opcode as written: `ld`.
    pub fn mnemonic(&self) -> &str {
        self.text.split('.').next().unwrap_or("")
    }

    /// The last type, which is the operand type.
    pub fn ty(&self) -> Option<Type> {
        self.types.last().copied()
    }

    /// The state space of a memory access: `Generic` if none is named, `Shared` also for `.shared::cta`.
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

    /// Vector length of a memory access: 4 for `.v4`, else 1.
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

/// An instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// Opcode, modifiers and types.
    pub form: Arc<Form>,
    /// The guard predicate.
    pub guard: Option<Guard>,
    /// Operands in text order.
    pub operands: Box<[Operand]>,
    /// First line in the text, from 1.
    pub first_line: u32,
    /// Last line in the text.
    pub last_line: u32,
    /// Source location: an index into [`Function::locations`].
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
    /// An integer; values above `i64::MAX` keep their bits.
    Imm(i64),
    /// The bits of a single-precision literal, `0f3F800000`.
    Single(u32),
    /// The bits of a double-precision literal, `0d…` or decimal.
    Double(u64),
    /// `%tid.x`
    Special(SpecialRegister),
    /// The address of a variable of this function, with an offset: `__local_depot0`, `param0`.
    Variable(Var, i64),
    /// A module variable, a function, or an undeclared name, with an offset.
    Symbol(Arc<str>, i64),
    /// `[…]` with one address.
    Address(Address),
    /// `{…}`
    Vector(Box<[Operand]>),
    /// A parameter list `(…)` of a call.
    List(Box<[Operand]>),
    /// `[…]` with several parts, as in texture and tensor instructions.
    Bracket(Box<[Operand]>),
    /// `%p1|%p2`
    Pair(Box<(Operand, Operand)>),
    /// The target of a branch, or the table of an indirect branch.
    Label(Label),
    /// The prototype or target list of an indirect call.
    Prototype(Prototype),
    /// `_`
    Sink,
    /// An operand that could not be parsed, with its registers.
    Opaque(Box<Opaque>),
}

/// An operand that could not be parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opaque {
    /// The words of the operand, separated by spaces.
    pub text: String,
    /// Registers in it.
    pub registers: Vec<Reg>,
}

/// `[%rd1+4]`, `[__local_depot0+8]`, `[8]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The base.
    pub base: AddressBase,
    /// Offset in bytes.
    pub offset: i64,
}

/// The base of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressBase {
    /// A register.
    Reg(Reg),
    /// A variable of the function.
    Variable(Var),
    /// A variable of the module, or an unknown name.
    Symbol(Arc<str>),
    /// No base: the offset is the address.
    Absolute,
}

/// The parts of a `call`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call<'a> {
    /// Variables or registers that get the return values.
    pub outputs: &'a [Operand],
    /// [`Operand::Symbol`] for a direct call, [`Operand::Reg`] for an indirect call.
    pub callee: &'a Operand,
    /// Arguments.
    pub inputs: &'a [Operand],
    /// The prototype or target list of an indirect call.
    pub prototype: Option<Prototype>,
}

impl Instruction {
    /// The opcode.
    pub fn opcode(&self) -> Opcode {
        self.form.opcode
    }

    /// Whether the opcode has a modifier.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.form.has(modifier)
    }

    /// First and last line in the text, from 1.
    pub fn lines(&self) -> RangeInclusive<u32> {
        self.first_line..=self.last_line
    }

    /// The first address operand.
    pub fn address(&self) -> Option<&Address> {
        self.operands.iter().find_map(|operand| match operand {
            Operand::Address(address) => Some(address),
            _ => None,
        })
    }

    /// Element size of a load or store: 4 for `ld.local.v4.u32`.
    pub fn element_bytes(&self) -> Option<u64> {
        self.form.ty().filter(|ty| ty.bits() >= 8).map(|ty| u64::from(ty.bytes()))
    }

    /// Whether this is an explicit `.local` load or store.
    pub fn is_local_access(&self) -> bool {
        matches!(self.opcode(), Opcode::Ld | Opcode::St) && self.has(Modifier::Local)
    }

    /// The parts of a call; `None` for other instructions, and for a call without a callee.
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

    /// Whether control never falls through to the next instruction.
    pub fn ends_block_always(&self) -> bool {
        self.guard.is_none()
            && matches!(self.opcode(), Opcode::Bra | Opcode::Brx | Opcode::Ret | Opcode::Exit | Opcode::Trap)
    }

    /// Whether control may go elsewhere than to the next instruction.
    pub fn ends_block(&self) -> bool {
        matches!(self.opcode(), Opcode::Bra | Opcode::Brx | Opcode::Ret | Opcode::Exit | Opcode::Trap)
    }
}

/// A kernel or a device function.
#[derive(Debug, Clone, Default)]
pub struct Function {
    /// The name as written.
    pub name: Arc<str>,
    /// Whether it is a kernel (`.entry`).
    pub is_entry: bool,
    /// The linkage.
    pub linkage: Linkage,
    /// Lines in the text, from the header to the closing brace.
    pub lines: Option<RangeInclusive<u32>>,
    /// Instructions, including those of nested blocks.
    pub instructions: Vec<Instruction>,
    /// Registers in use.
    pub registers: Vec<Register>,
    /// Parameters, local and shared variables, call parameters.
    pub variables: Vec<Variable>,
    /// Labels of instructions and of branch tables.
    pub labels: Vec<LabelInfo>,
    /// Branch tables of indirect branches, by label: the possible targets.
    pub branch_tables: BTreeMap<Label, Vec<Label>>,
    /// Prototypes and target lists of indirect calls.
    pub prototypes: Vec<PrototypeInfo>,
    /// Source locations.
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
    /// Texts of `.pragma "…";`, also those of single loops, each with the index of the following instruction.
    pub pragmas: Vec<(String, u32)>,
}

impl Function {
    /// The parameters in order.
    pub fn inputs(&self) -> impl Iterator<Item = (Var, &Variable)> {
        self.parameters(|place| matches!(place, ParameterPlace::Input(_)))
    }

    /// The return parameters in order.
    pub fn outputs(&self) -> impl Iterator<Item = (Var, &Variable)> {
        self.parameters(|place| matches!(place, ParameterPlace::Output(_)))
    }

    fn parameters(&self, is_wanted: impl Fn(ParameterPlace) -> bool) -> impl Iterator<Item = (Var, &Variable)> {
        let numbered = self.variables.iter().enumerate();
        let wanted = numbered.filter(move |(_, variable)| variable.parameter.is_some_and(&is_wanted));
        wanted.map(|(index, variable)| (Var::of(index), variable))
    }

    /// The variable with an ID.
    pub fn variable(&self, variable: Var) -> &Variable {
        &self.variables[variable.index()]
    }

    /// The register with an ID.
    pub fn register(&self, register: Reg) -> &Register {
        &self.registers[register.index()]
    }

    /// The first register with a name.
    pub fn register_named(&self, name: &str) -> Option<Reg> {
        self.registers.iter().position(|register| &*register.name == name).map(Reg::of)
    }

    /// The instruction that covers a line.
    pub fn instruction_at(&self, line: u32) -> Option<usize> {
        let index = self.instructions.partition_point(|instruction| instruction.last_line < line);
        let instruction = self.instructions.get(index)?;
        instruction.lines().contains(&line).then_some(index)
    }

    /// Possible targets of a branch, as instruction indices; for `brx` one per table entry.
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

    /// A location and its inlining call sites, innermost first.
    pub fn location_chain(&self, index: usize) -> Vec<&Location> {
        let mut chain: Vec<&Location> = Vec::new();
        let mut next = Some(index);
        while let Some(location) = next.and_then(|index| self.locations.get(index)) {
            chain.push(location);
            // `inlined_at` always refers to an earlier location, so the loop ends.
            next = location.inlined_at;
        }
        chain
    }

    /// Whether an instruction uses a symbol or variable, in an address or as a value.
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

    /// Whether the function has a `.pragma` with this text.
    pub fn has_pragma(&self, name: &str) -> bool {
        self.pragmas.iter().any(|(pragma, _)| pragma == name)
    }

    /// Product of the dimensions of `.maxntid`; `None` if it is missing or overflows.
    pub fn max_thread_count(&self) -> Option<u32> {
        product(self.max_threads?)
    }

    /// Product of the dimensions of `.reqntid`.
    pub fn required_thread_count(&self) -> Option<u32> {
        product(self.required_threads?)
    }

    /// Size of a call's return value, if a call parameter receives it.
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
    /// Whether the module was compiled with `-G`: `.target sm_90, debug`.
    pub fn is_debug(&self) -> bool {
        self.target_options.iter().any(|option| option == "debug")
    }

    /// A function with a body. With `-rdc`, ptxas makes a copy `name$1` for callers in the same unit.
    pub fn function(&self, name: &str) -> Option<&Function> {
        let find = |name: &str| self.functions.iter().find(|function| &*function.name == name);
        find(name).or_else(|| find(without_copy_number(name)?))
    }

    /// The function whose body contains a line.
    pub fn function_at(&self, line: u32) -> Option<&Function> {
        self.functions.iter().find(|function| function.lines.as_ref().is_some_and(|lines| lines.contains(&line)))
    }

    /// A module-scope variable.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| &*variable.name == name)
    }

    /// Names of dynamic shared memory: `.extern .shared` variables.
    pub fn extern_shared(&self) -> impl Iterator<Item = &str> {
        let is_dynamic = |variable: &&Variable| variable.space == Space::Shared && variable.linkage == Linkage::Extern;
        self.variables.iter().filter(is_dynamic).map(|variable| &*variable.name)
    }

    /// Symbols in initializers: functions whose address is in a table.
    pub fn initial_names(&self) -> BTreeSet<&str> {
        let names = self.variables.iter().flat_map(|variable| variable.initial.names());
        names.map(|name| &**name).collect()
    }

    /// Whether a function's address is taken: its name is in a table or is used as a value, so it may be called
    /// indirectly.
    pub fn is_address_taken(&self, name: &str) -> bool {
        let is_name = |operand: &Operand| matches!(operand, Operand::Symbol(symbol, _) if &**symbol == name);
        let is_value = |instruction: &Instruction| {
            instruction.opcode() == Opcode::Mov && instruction.operands.get(1).is_some_and(is_name)
        };
        self.initial_names().contains(name)
            || self.functions.iter().any(|function| function.instructions.iter().any(is_value))
    }
}

/// `f` for `f$1`.
pub fn without_copy_number(name: &str) -> Option<&str> {
    let (name, number) = name.rsplit_once('$')?;
    (!name.is_empty() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
}
