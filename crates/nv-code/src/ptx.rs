//! PTX as the analysis of local memory needs it: the typed module of `ptx-syntax`, with its local variables identified.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use lmem_base::mangling::without_copy_number;
use ptx_syntax::{
    AddressBase, Function, Instruction, Module, Opcode, Operand, ParameterPlace, Reg, Space, Var, Variable,
};

pub use ptx_syntax::ParseError as PtxError;

/// An object in `.local` memory: the depot that the compiler lays out, a variable of hand-written PTX, or the result of
/// `alloca`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PtxVariable {
    /// For `alloca`, the register that holds its address.
    pub name: String,
    /// 0 for `alloca`.
    pub bytes: u64,
    /// The instruction, for an `alloca`.
    pub allocated_by: Option<usize>,
    /// For a parameter of a device function, its number: the memory belongs to the caller's frame, or is a copy of such
    /// memory.
    pub parameter: Option<usize>,
}

impl PtxVariable {
    /// Whether this is the depot, which holds all variables of a function; any other variable is one object.
    pub fn is_depot(&self) -> bool {
        self.allocated_by.is_none() && self.name.starts_with("__local_depot")
    }
}

/// A kernel, or a device function.
#[derive(Debug, Clone, Default)]
pub struct PtxFunction {
    syntax: Function,
    /// In the order of the text.
    pub local_variables: Vec<PtxVariable>,
    /// Index of the local variable for a declared variable.
    by_variable: BTreeMap<Var, usize>,
    /// Index of the local variable for a register that `alloca` writes.
    by_register: BTreeMap<Reg, usize>,
}

impl Deref for PtxFunction {
    type Target = Function;

    fn deref(&self) -> &Function {
        &self.syntax
    }
}

impl DerefMut for PtxFunction {
    fn deref_mut(&mut self) -> &mut Function {
        &mut self.syntax
    }
}

/// The origin of a local variable.
#[derive(Clone, Copy)]
enum Source {
    Variable(Var),
    Register(Reg),
}

impl From<Function> for PtxFunction {
    fn from(syntax: Function) -> Self {
        let mut found: Vec<(u32, PtxVariable, Source)> = Vec::new();
        for (variable, info) in (0..).map(Var).zip(&syntax.variables) {
            if let Some(parameter) = local_parameter(info, syntax.is_entry) {
                let (name, bytes) = (info.name.to_string(), info.bytes);
                let local = PtxVariable { name, bytes, allocated_by: None, parameter };
                found.push((info.line, local, Source::Variable(variable)));
            }
        }
        for (at, instruction) in syntax.instructions.iter().enumerate() {
            if let (Opcode::Alloca, Some(Operand::Reg(register))) = (instruction.opcode(), instruction.operands.first())
            {
                let name = syntax.register(*register).name.to_string();
                let local = PtxVariable { name, bytes: 0, allocated_by: Some(at), parameter: None };
                found.push((instruction.first_line, local, Source::Register(*register)));
            }
        }
        found.sort_by_key(|(line, ..)| *line);
        let mut function = Self { syntax, ..Self::default() };
        for (index, (_, local, source)) in found.into_iter().enumerate() {
            function.local_variables.push(local);
            match source {
                Source::Variable(variable) => drop(function.by_variable.insert(variable, index)),
                // Several `alloca` may write one register: the first is kept.
                Source::Register(register) => _ = function.by_register.entry(register).or_insert(index),
            }
        }
        function
    }
}

/// For a variable in local memory, its parameter number if it is a parameter. By-value structures of a device function
/// are in its caller's frame.
fn local_parameter(variable: &Variable, is_entry: bool) -> Option<Option<usize>> {
    match (variable.parameter, variable.space) {
        (Some(ParameterPlace::Input(number)), _) if !is_entry && variable.is_array() => Some(Some(number as usize)),
        (None, Space::Local) => Some(None),
        _ => None,
    }
}

impl PtxFunction {
    /// The local variable whose address an operand is, and the offset from its start.
    pub fn local_variable(&self, operand: &Operand) -> Option<(usize, i64)> {
        match operand {
            Operand::Reg(register) => self.by_register.get(register).map(|index| (*index, 0)),
            Operand::Variable(variable, offset) => self.by_variable.get(variable).map(|index| (*index, *offset)),
            _ => None,
        }
    }

    /// The local variable that an address starts from.
    pub fn local_base(&self, base: &AddressBase) -> Option<usize> {
        match base {
            AddressBase::Reg(register) => self.by_register.get(register).copied(),
            AddressBase::Variable(variable) => self.by_variable.get(variable).copied(),
            AddressBase::Symbol(_) | AddressBase::Absolute => None,
        }
    }

    /// The parameter number of a variable of this function.
    pub fn parameter_number(&self, variable: Var) -> Option<usize> {
        match self.syntax.variables.get(variable.index())?.parameter? {
            ParameterPlace::Input(number) => Some(number as usize),
            ParameterPlace::Output(_) => None,
        }
    }

    /// The symbol that an address starts from; `None` for registers and plain numbers.
    pub fn base_name<'f>(&'f self, base: &'f AddressBase) -> Option<&'f str> {
        match base {
            AddressBase::Variable(variable) => Some(&self.syntax.variable(*variable).name),
            AddressBase::Symbol(name) => Some(name),
            AddressBase::Reg(_) | AddressBase::Absolute => None,
        }
    }
}

/// A parsed PTX text.
#[derive(Debug, Clone, Default)]
pub struct PtxModule {
    pub files: BTreeMap<u32, String>,
    /// Functions with a body, in the order of the text.
    pub functions: Vec<PtxFunction>,
    /// Names of `.extern .shared` variables: dynamic shared memory.
    pub extern_shared: Vec<String>,
    /// `sm_90`
    pub target: Option<String>,
    /// Compiled with `-G`: `.target sm_90, debug`.
    pub debug: bool,
    /// Names in initializers of variables: functions whose address is in a table.
    pub initial_names: BTreeSet<String>,
}

impl From<Module> for PtxModule {
    fn from(mut module: Module) -> Self {
        // A function is known by its name. ptxas refuses a second body; damaged text may have one.
        let mut names = BTreeSet::new();
        module.functions.retain(|function| function.lines.is_none() || names.insert(Arc::clone(&function.name)));
        Self {
            extern_shared: module.extern_shared().map(str::to_string).collect(),
            debug: module.is_debug(),
            initial_names: module.initial_names().into_iter().map(str::to_string).collect(),
            target: module.target,
            files: module.files,
            functions: module.functions.into_iter().map(PtxFunction::from).collect(),
        }
    }
}

impl PtxModule {
    /// Parses a module. Malformed lines are skipped: rejecting them is up to ptxas.
    ///
    /// # Errors
    /// The text exceeds the size limit, which no real module does.
    pub fn parse(text: &str) -> Result<Self, PtxError> {
        Module::parse(text).map(Self::from)
    }

    /// The function whose body covers a line.
    pub fn function_at(&self, line: u32) -> Option<&PtxFunction> {
        let starts_before = |function: &PtxFunction| function.lines.as_ref().is_none_or(|lines| *lines.start() <= line);
        let index = self.functions.partition_point(starts_before).checked_sub(1)?;
        self.functions.get(index).filter(|function| function.lines.as_ref().is_some_and(|lines| lines.contains(&line)))
    }

    /// The function with this name, if it has a body. With `-rdc` ptxas makes a copy `name$1` for callers in the same
    /// unit.
    pub fn function(&self, name: &str) -> Option<&PtxFunction> {
        let find =
            |name: &str| self.functions.iter().find(|function| &*function.name == name && function.lines.is_some());
        find(name).or_else(|| find(without_copy_number(name)?))
    }

    /// Whether the address of a function is taken, in a table or as a value, so that it may be called indirectly.
    pub fn is_address_taken(&self, name: &str) -> bool {
        let is_name = |operand: &Operand| matches!(operand, Operand::Symbol(symbol, _) if &**symbol == name);
        let is_value = |instruction: &Instruction| {
            instruction.opcode() == Opcode::Mov && instruction.operands.get(1).is_some_and(is_name)
        };
        self.initial_names.contains(name)
            || self.functions.iter().any(|function| function.instructions.iter().any(is_value))
    }
}
