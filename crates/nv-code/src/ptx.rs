//! PTX as the analysis of local memory sees it: the typed module of `ptx-syntax`, and which of its variables are local
//! memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};

use lmem_base::mangling::without_copy_number;
use ptx_syntax::{
    AddressBase, Function, Instruction, Module, Opcode, Operand, ParameterPlace, Reg, Space, Var, Variable,
};

pub use ptx_syntax::ParseError as PtxError;

/// An array in `.local` memory: the depot that the compiler lays out, a variable of hand-written PTX, or what `alloca`
/// gives at run time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PtxVariable {
    /// For `alloca` the register that holds its address.
    pub name: String,
    /// 0 for `alloca`.
    pub bytes: u64,
    /// The `alloca` instruction.
    pub allocated_by: Option<usize>,
    /// Number of the parameter of a function that is no kernel: memory of its caller, or a copy of it.
    pub parameter: Option<usize>,
}

impl PtxVariable {
    /// Whether the compiler laid it out for all variables of a function; others are one object each.
    pub fn is_depot(&self) -> bool {
        self.allocated_by.is_none() && self.name.starts_with("__local_depot")
    }
}

/// A kernel or a function that kernels call.
#[derive(Debug, Clone, Default)]
pub struct PtxFunction {
    syntax: Function,
    /// In the order of the text.
    pub local_variables: Vec<PtxVariable>,
    /// Local variable that a variable of the function is.
    by_variable: BTreeMap<Var, usize>,
    /// Local variable whose address `alloca` writes to a register.
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

/// What makes a local variable.
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
                // Of several for one register, the first.
                Source::Register(register) => _ = function.by_register.entry(register).or_insert(index),
            }
        }
        function
    }
}

/// For local memory, the number of the parameter that it is, if one; structures that a function takes are in its caller's frame.
fn local_parameter(variable: &Variable, is_entry: bool) -> Option<Option<usize>> {
    match (variable.parameter, variable.space) {
        (Some(ParameterPlace::Input(number)), _) if !is_entry && variable.is_array() => Some(Some(number as usize)),
        (None, Space::Local) => Some(None),
        _ => None,
    }
}

impl PtxFunction {
    /// The local variable whose address an operand is, and how far behind its start.
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

    /// Number of the parameter of this function that a variable is.
    pub fn parameter_number(&self, variable: Var) -> Option<usize> {
        match self.syntax.variables.get(variable.index())?.parameter? {
            ParameterPlace::Input(number) => Some(number as usize),
            ParameterPlace::Output(_) => None,
        }
    }

    /// The name that an address starts from; `None` for registers and bare numbers.
    pub fn base_name<'f>(&'f self, base: &'f AddressBase) -> Option<&'f str> {
        match base {
            AddressBase::Variable(variable) => Some(&self.syntax.variable(*variable).name),
            AddressBase::Symbol(name) => Some(name),
            AddressBase::Reg(_) | AddressBase::Absolute => None,
        }
    }
}

/// A whole PTX text.
#[derive(Debug, Clone, Default)]
pub struct PtxModule {
    pub files: BTreeMap<u32, String>,
    /// Those with a body, in the order of the text.
    pub functions: Vec<PtxFunction>,
    /// Names of `.extern .shared` variables: dynamic shared memory.
    pub extern_shared: Vec<String>,
    /// `sm_90`
    pub target: Option<String>,
    /// Built with `-G`: `.target sm_90, debug`.
    pub debug: bool,
    /// Names in the initial values of variables: functions whose address is in a table.
    pub initial_names: BTreeSet<String>,
}

impl From<Module> for PtxModule {
    fn from(module: Module) -> Self {
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
    /// Reads a module. Lines that make no sense are skipped: ptxas judges them, not we.
    ///
    /// # Errors
    /// The text is larger than any real module.
    pub fn parse(text: &str) -> Result<Self, PtxError> {
        Module::parse(text).map(Self::from)
    }

    /// The function whose body covers a line.
    pub fn function_at(&self, line: u32) -> Option<&PtxFunction> {
        let starts_before = |function: &PtxFunction| function.lines.as_ref().is_none_or(|lines| *lines.start() <= line);
        let index = self.functions.partition_point(starts_before).checked_sub(1)?;
        self.functions.get(index).filter(|function| function.lines.as_ref().is_some_and(|lines| lines.contains(&line)))
    }

    /// A function with a body. With `-rdc` ptxas makes a copy `name$1` of a function for callers in the same unit.
    pub fn function(&self, name: &str) -> Option<&PtxFunction> {
        let find =
            |name: &str| self.functions.iter().find(|function| &*function.name == name && function.lines.is_some());
        find(name).or_else(|| find(without_copy_number(name)?))
    }

    /// Whether a function may be called through a pointer: its name stands in a table, or is used as a value.
    pub fn is_address_taken(&self, name: &str) -> bool {
        let is_name = |operand: &Operand| matches!(operand, Operand::Symbol(symbol, _) if &**symbol == name);
        let is_value = |instruction: &Instruction| {
            instruction.opcode() == Opcode::Mov && instruction.operands.get(1).is_some_and(is_name)
        };
        self.initial_names.contains(name)
            || self.functions.iter().any(|function| function.instructions.iter().any(is_value))
    }
}
