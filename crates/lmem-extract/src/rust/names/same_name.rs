//! Functions with one name. There may be thousands: `new`, or those that a stranger makes.

use std::collections::BTreeMap;

use super::FunctionId;
use crate::rust::scan::Function;

/// All functions with a name, by what a call says of them; each list is in the order in which they were read.
#[derive(Debug, Default)]
pub(super) struct SameName {
    methods: Vec<FunctionId>,
    /// Of traits and their implementations.
    of_traits: Vec<FunctionId>,
    of_types: BTreeMap<String, Vec<FunctionId>>,
    /// Functions that are not associated with a type.
    free: Vec<FunctionId>,
    in_modules: BTreeMap<String, Vec<FunctionId>>,
    in_files: BTreeMap<usize, Vec<FunctionId>>,
    beside: BTreeMap<(usize, Vec<String>), Vec<FunctionId>>,
}

impl SameName {
    /// Adds a function of a file; `module` is that of the file.
    pub fn add(&mut self, id: FunctionId, function: &Function, module: Option<&String>) {
        if function.has_self {
            self.methods.push(id);
        }
        if let Some(owner) = &function.owner {
            self.of_types.entry(owner.name.clone()).or_default().push(id);
            if owner.of_trait.is_some() {
                self.of_traits.push(id);
            }
            return;
        }
        self.free.push(id);
        self.in_files.entry(id.file).or_default().push(id);
        self.beside.entry((id.file, function.container.clone())).or_default().push(id);
        if let Some(module) = function.container.last().or(module) {
            self.in_modules.entry(module.clone()).or_default().push(id);
        }
    }

    pub fn methods(&self) -> &[FunctionId] {
        &self.methods
    }

    pub fn of_traits(&self) -> &[FunctionId] {
        &self.of_traits
    }

    /// The functions of a type or a trait.
    pub fn of_type(&self, name: &str) -> &[FunctionId] {
        self.of_types.get(name).map_or(&[], Vec::as_slice)
    }

    /// Those without a type.
    pub fn free(&self) -> &[FunctionId] {
        &self.free
    }

    /// The free functions of modules with this last name.
    pub fn in_module(&self, name: &str) -> &[FunctionId] {
        self.in_modules.get(name).map_or(&[], Vec::as_slice)
    }

    pub fn in_file(&self, file: usize) -> &[FunctionId] {
        self.in_files.get(&file).map_or(&[], Vec::as_slice)
    }

    /// The free functions of one inline module of a file.
    pub fn beside(&self, file: usize, module: &[String]) -> &[FunctionId] {
        self.beside.get(&(file, module.to_vec())).map_or(&[], Vec::as_slice)
    }
}
