//! What look-ups in a scanned file need, so that none of them goes through the whole file: files of strangers may have
//! many thousands of functions.

use std::collections::{BTreeMap, BTreeSet};

use super::nest::Nest;
use super::{RustFile, Value};

/// Names with fewer bindings are looked through.
const MIN_BINDINGS: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Index {
    pub functions: Nest,
    pub owners: Nest,
    pub modules: Nest,
    /// Of `macro_rules!`.
    pub definitions: Nest,
    /// For names with many bindings.
    pub bindings: BTreeMap<String, Nest>,
    /// Items with such a name by the modules and the type around them: their numbers among its bindings.
    pub items: BTreeMap<String, BTreeMap<Vec<String>, Vec<usize>>>,
    /// Local variables by the start of their function's body: their name, and their number among its bindings.
    pub locals: BTreeMap<usize, Vec<(String, usize)>>,
    /// Structure expressions by name, and those of `Self` by the type.
    pub structures: BTreeMap<String, Vec<usize>>,
    pub own_structures: BTreeMap<String, Vec<usize>>,
    /// Calls by where they begin.
    pub calls: Vec<usize>,
    /// Calls by the last name of their path.
    pub called: BTreeMap<String, Vec<usize>>,
    /// The names that a `use` gives to paths, by the last name of the path.
    pub aliases: BTreeMap<String, BTreeSet<String>>,
}

impl Index {
    pub fn of(file: &RustFile) -> Self {
        let mut index = Self {
            functions: Nest::of(file.functions.iter().map(|function| function.body.clone())),
            owners: Nest::of(file.owners.iter().map(|(range, _)| range.clone())),
            modules: Nest::of(file.modules.iter().map(|(range, _)| range.clone())),
            definitions: Nest::of(file.definitions.iter().map(|definition| definition.range.clone())),
            calls: (0..file.calls.len()).collect(),
            ..Self::default()
        };
        index.calls.sort_by_key(|number| (file.calls[*number].range.start, *number));
        for (number, call) in file.calls.iter().enumerate() {
            if let Some(name) = call.path.last() {
                index.called.entry(name.clone()).or_default().push(number);
            }
        }
        for (number, structure) in file.structures.iter().enumerate() {
            index.structures.entry(structure.name.clone()).or_default().push(number);
            let owner = index.owners.around(structure.at).next().map(|owner| &file.owners[owner].1.name);
            if let Some(owner) = owner.filter(|_| structure.name == "Self") {
                index.own_structures.entry(owner.clone()).or_default().push(number);
            }
        }
        for (name, bindings) in &file.bindings {
            if bindings.len() >= MIN_BINDINGS {
                index.bindings.insert(name.clone(), Nest::of(bindings.iter().map(|binding| binding.visible.clone())));
                let items = index.items.entry(name.clone()).or_default();
                for (number, binding) in bindings.iter().enumerate().filter(|(_, binding)| !binding.is_local()) {
                    items.entry(binding.container.clone()).or_default().push(number);
                }
            }
            for (number, binding) in bindings.iter().enumerate() {
                if let Some(function) = binding.local_to {
                    index.locals.entry(function).or_default().push((name.clone(), number));
                }
                if let Value::Path(path) = &binding.value
                    && let Some(last) = path.last()
                {
                    index.aliases.entry(last.clone()).or_default().insert(name.clone());
                }
            }
        }
        index
    }
}
