//! The macros of a workspace: name resolution and expansion of calls.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use lmem_unit::MappedText;

use super::definition::{Definition, is_about_text};
use super::expand::{CallMeaning, Expander, Expansion, Room};
use crate::rust::names::Code;
use crate::rust::scan::{Binding, RustFile, Value};

/// Limit on nested macros when checking whether a macro has to do with kernels.
const MAX_DEPTH: usize = 4;

/// Macros that never produce a value, recognized by name; see `is_dead_end`.
const NEVER_EXPANDED: [&str; 5] = ["panic", "unreachable", "todo", "unimplemented", "bail"];

/// All macros found so far.
#[derive(Default)]
pub(crate) struct Macros {
    definitions: Vec<Rc<Definition>>,
    by_name: BTreeMap<String, Vec<usize>>,
    /// Names whose definitions were searched in all files.
    searched: BTreeSet<String>,
    /// Macros with at least one expanded call.
    expanded: BTreeSet<usize>,
    /// Macros with a call that is not understood, and the reason.
    failures: BTreeMap<usize, String>,
    room: Room,
}

impl Macros {
    /// Adds the macros of a file; returns their indices.
    pub fn add(&mut self, rust: &RustFile, file: usize, package: Option<usize>) -> Vec<usize> {
        let mut numbers = Vec::new();
        for definition in Definition::of_file(rust, file, package) {
            let number = self.definitions.len();
            self.by_name.entry(definition.name.clone()).or_default().push(number);
            self.definitions.push(Rc::new(definition));
            numbers.push(number);
        }
        numbers
    }

    /// Whether all known calls of a macro are expanded. Then the definition itself is not analysed.
    pub fn is_done(&self, number: usize) -> bool {
        self.expanded.contains(&number) && !self.failures.contains_key(&number)
    }

    pub fn failure(&self, number: usize) -> Option<&str> {
        self.failures.get(&number).map(String::as_str)
    }

    /// Why calls of a macro with this name are not understood.
    pub fn failure_of(&self, name: &str) -> Option<&str> {
        self.by_name.get(name)?.iter().find_map(|number| self.failure(*number))
    }

    /// The file of a macro.
    pub fn file_of(&self, number: usize) -> usize {
        self.definitions[number].file
    }

    /// Names of macros in the first `files` files that compile or load kernels.
    pub fn about_kernels(&self, files: usize) -> BTreeSet<String> {
        let wanted = self.definitions.iter().filter(|known| known.file < files && known.is_about_kernels);
        wanted.map(|definition| definition.name.clone()).collect()
    }

    fn named(&self, name: &str) -> &[usize] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    fn is_wanted(&self, definition: &Definition, depth: usize) -> bool {
        let of_name =
            |name: &String| self.named(name).iter().any(|number| self.is_wanted(&self.definitions[*number], depth + 1));
        definition.is_about_kernels
            || definition.is_about_text
            || (depth < MAX_DEPTH && definition.calls.iter().any(of_name))
    }
}

impl Code<'_> {
    /// Expands the macro calls in a file.
    pub(crate) fn expand_file(&mut self, file: usize) {
        let rust = &self.files[file].rust;
        let is_in_definition = |at: usize| rust.macro_around(at).is_some();
        let calls: Vec<(Vec<String>, usize, String)> = rust
            .macros
            .iter()
            .filter(|call| !is_in_definition(call.range.start))
            .map(|call| {
                let text = rust.text().get(call.range.clone()).unwrap_or("").to_string();
                (call.path.clone(), call.range.start, text)
            })
            .collect();
        let mut is_wanted = false;
        for (path, at, text) in &calls {
            let call = Expansion { path, at: *at, text, from: None };
            is_wanted = is_wanted || matches!(self.macro_meaning(file, &call), CallMeaning::Macro { .. });
        }
        if !is_wanted {
            return;
        }
        let (source, start) = (self.files[file].rust.source(), self.files[file].rust.start());
        let room = self.macros.room;
        let mut meaning = |call: &Expansion<'_>| self.macro_meaning(file, call);
        let mut expander = Expander::new(&mut meaning, room);
        let places = expander.file(&MappedText::from_file(&source), start);
        let failures = std::mem::take(&mut expander.failures);
        let room = expander.room();
        self.macros.room = room;
        for (number, reason) in failures {
            self.macros.failures.entry(number).or_insert(reason);
        }
        let Some(places) = places else { return };
        let expanded: Vec<usize> = places.expansions.iter().flat_map(|expanded| expanded.definitions.clone()).collect();
        match RustFile::scan_expanded(&source, places) {
            Ok(rust) => {
                self.files[file].rust = rust;
                self.macros.expanded.extend(expanded);
            }
            Err(_) => {
                let reason = || "what it becomes is not Rust".to_string();
                self.macros.failures.extend(expanded.into_iter().map(|number| (number, reason())));
            }
        }
    }

    /// The macro that a call refers to, if it has to do with kernels or texts.
    fn macro_meaning(&mut self, file: usize, call: &Expansion<'_>) -> CallMeaning {
        let Some(name) = call.path.last().filter(|name| !NEVER_EXPANDED.contains(&name.as_str())) else {
            return CallMeaning::Other;
        };
        if self.macros.searched.insert(name.clone()) {
            self.read_files_that_define(name);
        }
        let Some(number) = self.macro_meant(file, call) else { return CallMeaning::Other };
        let definition = Rc::clone(&self.macros.definitions[number]);
        definition.calls.iter().for_each(|inner| {
            if self.macros.searched.insert(inner.clone()) {
                self.read_files_that_define(inner);
            }
        });
        if !(is_about_text(call.text) || self.macros.is_wanted(&definition, 0)) {
            return CallMeaning::Other;
        }
        let own_crate = match definition.package == self.files[file].package {
            true => "crate".to_string(),
            false => self.library_of(definition.package).unwrap_or_else(|| "crate".to_string()),
        };
        CallMeaning::Macro { definition, number, own_crate }
    }

    /// The index of the macro that a call refers to; `None` if it is ambiguous.
    fn macro_meant(&self, file: usize, call: &Expansion<'_>) -> Option<usize> {
        let (name, qualifiers) = call.path.split_last()?;
        let known = self.macros.named(name);
        let of = |number: &usize| &self.macros.definitions[*number];
        let package = match qualifiers.first() {
            Some(first) => self.package_of_path(file, first)?,
            None => self.files[file].package,
        };
        if qualifiers.is_empty() {
            let in_scope = |number: &&usize| of(number).file == file && of(number).scope.contains(&call.at);
            let in_scope: Vec<usize> = known.iter().filter(in_scope).copied().collect();
            if !in_scope.is_empty() {
                return only(&in_scope);
            }
            let beside: Vec<usize> =
                known.iter().filter(|number| Some(of(number).file) == call.from).copied().collect();
            if !beside.is_empty() {
                return only(&beside);
            }
            if let Ok(Some(Binding { value: Value::Path(path), .. })) = self.files[file].rust.binding(name, call.at) {
                let package = self.package_of_path(file, path.first()?)?;
                return self.macro_of_package(file, known, package);
            }
        }
        // A macro of another package needs that package's name in the file.
        self.macro_of_package(file, known, package).or_else(|| {
            let exported = known.iter().filter(|number| of(number).is_exported).copied().collect::<Vec<usize>>();
            let number = only(&exported).filter(|_| qualifiers.is_empty())?;
            let library = self.library_of(of(&number).package)?;
            self.files[file].rust.text().contains(&library).then_some(number)
        })
    }

    fn macro_of_package(&self, file: usize, known: &[usize], package: Option<usize>) -> Option<usize> {
        let of = |number: &usize| &self.macros.definitions[*number];
        let is_own = package == self.files[file].package;
        let theirs = known.iter().filter(|number| of(number).package == package && (is_own || of(number).is_exported));
        only(&theirs.copied().collect::<Vec<usize>>())
    }
}

fn only(numbers: &[usize]) -> Option<usize> {
    match numbers {
        [number] => Some(*number),
        _ => None,
    }
}
