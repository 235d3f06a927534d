//! Names of blocks: registers, variables, labels and prototypes, inner blocks before outer ones.
//!
//! Registers come into being when they are mentioned, so that `.reg .b32 %r<4000000000>;` costs nothing.

use std::collections::HashMap;
use std::sync::Arc;

use crate::module::*;
use crate::words::{Space, Type};

#[derive(Default)]
struct Scope<'a> {
    /// `%r<10>`: type and count by the text before the number.
    ranges: HashMap<&'a str, (Type, u64)>,
    /// Single declarations: type and components of a vector.
    singles: HashMap<Arc<str>, (Type, u32)>,
    registers: HashMap<Arc<str>, Reg>,
    variables: HashMap<Arc<str>, Var>,
    labels: HashMap<&'a str, Label>,
    prototypes: HashMap<&'a str, Prototype>,
}

/// The blocks that are open.
pub(super) struct Scopes<'a> {
    open: Vec<Scope<'a>>,
    /// Labels that a block mentions and an outer one defines: the outer one's.
    same_as: HashMap<Label, Label>,
    /// By label: whether it has been defined.
    is_defined: Vec<bool>,
}

impl Default for Scopes<'_> {
    fn default() -> Self {
        Self { open: vec![Scope::default()], same_as: HashMap::new(), is_defined: Vec::new() }
    }
}

impl<'a> Scopes<'a> {
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    pub fn open(&mut self) {
        self.open.push(Scope::default());
    }

    /// Whether it was the function's own.
    pub fn close(&mut self) -> bool {
        if self.open.len() <= 1 {
            return true;
        }
        let Some(inner) = self.open.pop() else { return true };
        let Some(outer) = self.open.last_mut() else { return true };
        for (name, label) in inner.labels {
            if self.is_defined[label.index()] {
                continue;
            }
            match outer.labels.get(name) {
                Some(outer_label) => drop(self.same_as.insert(label, *outer_label)),
                None => drop(outer.labels.insert(name, label)),
            }
        }
        false
    }

    pub fn declare_range(&mut self, prefix: &'a str, ty: Type, count: u64) {
        if let Some(scope) = self.open.last_mut() {
            scope.ranges.insert(prefix, (ty, count));
        }
    }

    /// A single register, perhaps a vector of several.
    pub fn declare_register(&mut self, name: Arc<str>, ty: Type, components: u32) {
        if let Some(scope) = self.open.last_mut() {
            scope.registers.remove(&*name);
            scope.singles.insert(name, (ty, components));
        }
    }

    /// A variable, or a parameter that is a register in old texts.
    pub fn declare(&mut self, variable: Variable, function: &mut Function) {
        if variable.space == Space::Register {
            self.declare_register(Arc::clone(&variable.name), variable.ty, 1);
        }
        let id = Var::of(function.variables.len());
        if let Some(scope) = self.open.last_mut()
            && variable.space != Space::Register
        {
            scope.variables.insert(Arc::clone(&variable.name), id);
        }
        function.variables.push(variable);
    }

    pub fn variable(&self, name: &str) -> Option<Var> {
        self.open.iter().rev().find_map(|scope| scope.variables.get(name).copied())
    }

    pub fn prototype(&self, name: &str) -> Option<Prototype> {
        self.open.iter().rev().find_map(|scope| scope.prototypes.get(name).copied())
    }

    pub fn define_prototype(&mut self, name: &'a str, id: Prototype) {
        if let Some(scope) = self.open.last_mut() {
            scope.prototypes.insert(name, id);
        }
    }

    /// A declared register; one component of a vector is a register of its own.
    pub fn register(&mut self, name: &Arc<str>, function: &mut Function) -> Option<Reg> {
        let word = &**name;
        let (prefix, number) = split_number(word);
        let base = word.split_once('.').map(|(base, _)| base);
        for scope in self.open.iter_mut().rev() {
            if let Some(register) = scope.registers.get(word) {
                return Some(*register);
            }
            let declared = match scope.singles.get(word) {
                Some((ty, 1)) => Some(*ty),
                Some(_) => return None,
                None => {
                    let vector =
                        base.and_then(|base| scope.singles.get(base)).filter(|(_, components)| *components > 1);
                    let range = || {
                        let (ty, count) = scope.ranges.get(prefix)?;
                        number.filter(|number| number < count).map(|_| *ty)
                    };
                    vector.map(|(ty, _)| *ty).or_else(range)
                }
            };
            if let Some(ty) = declared {
                return Some(add(scope, name, Some(ty), function));
            }
        }
        None
    }

    /// Components of a declared vector register.
    pub fn components(&self, word: &str) -> Option<u32> {
        let declared = self.open.iter().rev().find_map(|scope| scope.singles.get(word))?;
        Some(declared.1).filter(|components| *components > 1)
    }

    /// A register that nothing declares belongs to the whole function.
    pub fn undeclared(&mut self, name: &Arc<str>, function: &mut Function) -> Reg {
        add(&mut self.open[0], name, None, function)
    }

    /// The label of this name that is visible here; where there is none yet, it may be defined further down.
    pub fn label(&mut self, word: &'a str, name: &Arc<str>, function: &mut Function) -> Label {
        let innermost = self.open.len() - 1;
        if let Some(label) = self.open[innermost].labels.get(word) {
            return *label;
        }
        self.new_label(word, name, function)
    }

    fn new_label(&mut self, word: &'a str, name: &Arc<str>, function: &mut Function) -> Label {
        let label = Label::of(function.labels.len());
        function.labels.push(LabelInfo { name: Arc::clone(name), instruction: None });
        self.is_defined.push(false);
        if let Some(scope) = self.open.last_mut() {
            scope.labels.insert(word, label);
        }
        label
    }

    /// The label that is being defined here; a second definition in one block is a label of its own.
    pub fn define_label(&mut self, word: &'a str, name: &Arc<str>, function: &mut Function) -> Label {
        let mut label = self.label(word, name, function);
        if self.is_defined[label.index()] {
            label = self.new_label(word, name, function);
        }
        self.is_defined[label.index()] = true;
        label
    }

    /// Replaces labels of inner blocks by those of outer ones that they stand for.
    pub fn finish(mut self, function: &mut Function) {
        while !self.close() {}
        if self.same_as.is_empty() {
            return;
        }
        let resolve = |mut label: Label| {
            // An outer label is always older than what stands for it, or comes from a block further out: chains end.
            while let Some(outer) = self.same_as.get(&label) {
                label = *outer;
            }
            label
        };
        for instruction in &mut function.instructions {
            for operand in &mut instruction.operands {
                if let Operand::Label(label) = operand {
                    *label = resolve(*label);
                }
            }
        }
        for targets in function.branch_tables.values_mut() {
            for target in targets {
                *target = resolve(*target);
            }
        }
    }
}

fn add(scope: &mut Scope<'_>, name: &Arc<str>, ty: Option<Type>, function: &mut Function) -> Reg {
    *scope.registers.entry(Arc::clone(name)).or_insert_with(|| {
        function.registers.push(Register { name: Arc::clone(name), ty });
        Reg::of(function.registers.len() - 1)
    })
}

/// `%r` and 12 of `%r12`.
fn split_number(word: &str) -> (&str, Option<u64>) {
    let prefix = word.trim_end_matches(|c: char| c.is_ascii_digit());
    (prefix, word[prefix.len()..].parse().ok())
}
