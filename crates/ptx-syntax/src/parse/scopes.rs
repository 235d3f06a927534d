//! Block scopes of registers, variables, labels and prototypes; inner declarations shadow outer ones.
//!
//! A register is created on first use, so `.reg .b32 %r<4000000000>;` costs nothing.

use std::collections::HashMap;
use std::sync::Arc;

use crate::module::*;
use crate::words::{Space, Type};

#[derive(Default)]
struct Scope<'a> {
    /// Register ranges such as `%r<10>`: type and count, by the name without its number.
    ranges: HashMap<&'a str, (Type, u64)>,
    /// Single registers: type and vector length.
    singles: HashMap<Arc<str>, (Type, u32)>,
    registers: HashMap<Arc<str>, Reg>,
    variables: HashMap<Arc<str>, Var>,
    labels: HashMap<&'a str, Label>,
    prototypes: HashMap<&'a str, Prototype>,
}

/// The stack of open blocks.
pub(super) struct Scopes<'a> {
    open: Vec<Scope<'a>>,
    /// Maps a label used in an inner block to the outer label that it refers to.
    same_as: HashMap<Label, Label>,
    /// Whether each label is defined.
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

    /// Closes the innermost block; whether it was the function's body.
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

    /// Declares a single register, perhaps a vector.
    pub fn declare_register(&mut self, name: Arc<str>, ty: Type, components: u32) {
        if let Some(scope) = self.open.last_mut() {
            scope.registers.remove(&*name);
            scope.singles.insert(name, (ty, components));
        }
    }

    /// Declares a variable. In old texts a parameter may be a register.
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

    /// A declared register; each vector component is a separate register.
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

    /// Vector length of a declared register.
    pub fn components(&self, word: &str) -> Option<u32> {
        let declared = self.open.iter().rev().find_map(|scope| scope.singles.get(word))?;
        Some(declared.1).filter(|components| *components > 1)
    }

    /// Adds an undeclared register, which belongs to the whole function.
    pub fn undeclared(&mut self, name: &Arc<str>, function: &mut Function) -> Reg {
        add(&mut self.open[0], name, None, function)
    }

    /// The visible label with a name. A new one is created if it is not known yet, because it may be defined later.
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

    /// The label that is defined here; a second definition in one block makes a new label.
    pub fn define_label(&mut self, word: &'a str, name: &Arc<str>, function: &mut Function) -> Label {
        let mut label = self.label(word, name, function);
        if self.is_defined[label.index()] {
            label = self.new_label(word, name, function);
        }
        self.is_defined[label.index()] = true;
        label
    }

    /// Replaces labels of inner blocks by the outer labels that they refer to.
    pub fn finish(mut self, function: &mut Function) {
        while !self.close() {}
        if self.same_as.is_empty() {
            return;
        }
        let resolve = |mut label: Label| {
            // Each step leads to an older label or to one of an enclosing block, so the loop ends.
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

/// Splits `%r12` into `%r` and 12.
fn split_number(word: &str) -> (&str, Option<u64>) {
    let prefix = word.trim_end_matches(|c: char| c.is_ascii_digit());
    (prefix, word[prefix.len()..].parse().ok())
}
