//! Name resolution in Rust code, across the files of a package and of the workspace's other packages.
//!
//! It knows less than the compiler. An ambiguous name, or one that may refer to something not visible here, does not
//! resolve.

mod bytes;
mod callers;
mod functions;
mod reading;
mod same_name;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use proc_macro2::{TokenStream, TokenTree};

use lmem_base::places;
use lmem_base::source::SourceFile;
use lmem_project::discover::Workspace;
use lmem_unit::Unresolved;

pub(super) use self::bytes::words_in;
use self::callers::Callers;
pub(super) use self::functions::count_arguments;
use self::reading::{Unread, Wanted};
use self::same_name::SameName;
use super::scan::{Binding, Function, RustFile, Unknown, Value};
use crate::rust::macros::workspace::Macros;
use crate::rust::scan::scanner::place_of;
use crate::rust::scan::tokens::split_at_commas;

/// Limit on chains of imports.
const MAX_STEPS: usize = 16;

const NOT_RUST: &str = "it does not parse as Rust";

/// A larger Rust file holds tables, not code that passes kernels on.
pub(super) const MAX_RUST_BYTES: u64 = 4 << 20;

/// The files read so far; more are read when a name may be in them.
pub(super) struct Code<'a> {
    pub workspace: &'a Workspace,
    pub files: Vec<CodeFile>,
    /// Unread files by package; the last entry is for files without a package.
    unread: Vec<Option<Vec<Unread>>>,
    manifests: BTreeMap<PathBuf, String>,
    pub macros: Macros,
    /// Searches already done in all unread files of one package, or of all: repeating them finds nothing new.
    searched: BTreeSet<(Wanted, Option<Option<usize>>, String)>,
    /// Modules, and types with associated items, by package.
    modules: BTreeSet<(Option<usize>, String)>,
    /// Functions by name.
    functions: BTreeMap<String, SameName>,
    /// Calls by the name of a function, for as many files as there were then.
    callers: BTreeMap<String, (usize, Rc<Callers>)>,
    /// Number of files whose macros are expanded.
    expanded: usize,
    is_expanding: bool,
    /// Files that were read on the way and do not lex.
    pub unread_files: Vec<Unresolved>,
}

pub(super) struct CodeFile {
    pub rust: RustFile,
    pub package: Option<usize>,
    /// Indices of the macros that the file defines.
    definitions: Vec<usize>,
    /// Module path of the file in its crate.
    module: Vec<String>,
    /// Whether the file is in a separate crate: an example, a test.
    is_isolated: bool,
}

/// The meaning of a name, and its file.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub file: usize,
    pub meaning: Meaning,
}

#[derive(Debug, Clone)]
pub(super) enum Meaning {
    Expression(TokenStream),
    /// Concatenated pieces.
    Sum(Vec<TokenStream>),
    /// An element of a value, a member of a value, or both.
    Part {
        of: TokenStream,
        is_element: bool,
        members: Vec<String>,
        why: String,
    },
}

/// Why a name does not resolve.
#[derive(Debug, Clone)]
pub(super) enum Lost {
    /// A parameter of a function.
    Parameter { function: FunctionId, index: usize, reason: String },
    /// A binding whose value is unknown.
    Bound(String),
    /// No such name exists, or several do.
    Name(String),
    /// The name stands for another, and that for another, and so on.
    Beyond(String),
}

/// A function, by file and index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FunctionId {
    pub file: usize,
    pub index: usize,
}

struct Candidate {
    file: usize,
    path: Vec<String>,
    of_trait: Option<String>,
    is_final: bool,
    value: Value,
    at: usize,
}

impl<'a> Code<'a> {
    pub fn new(workspace: &'a Workspace) -> Self {
        let unread = (0..=workspace.packages.len()).map(|_| None).collect();
        Self {
            workspace,
            files: Vec::new(),
            unread,
            manifests: BTreeMap::new(),
            macros: Macros::default(),
            searched: BTreeSet::new(),
            modules: BTreeSet::new(),
            functions: BTreeMap::new(),
            callers: BTreeMap::new(),
            expanded: 0,
            is_expanding: false,
            unread_files: Vec::new(),
        }
    }

    /// Adds a file; its macros are expanded later.
    ///
    /// # Errors
    /// The file does not lex as Rust.
    pub fn add(&mut self, file: &Arc<SourceFile>, package: Option<usize>) -> Result<(), Unresolved> {
        let broken = |error| Unresolved { span: place_of(&error, file), reason: NOT_RUST.to_string() };
        let rust = RustFile::scan(file).map_err(broken)?;
        let (module, is_isolated) = self.module_of(&file.path, package);
        let definitions = self.macros.add(&rust, self.files.len(), package);
        self.modules.extend(module.iter().map(|name| (package, name.clone())));
        self.modules.extend(rust.containers().map(|name| (package, name.clone())));
        self.files.push(CodeFile { rust, package, definitions, module, is_isolated });
        Ok(())
    }

    /// Expands the macro calls in all added files.
    pub fn expand_macros(&mut self) {
        // A file read for a macro definition is expanded after the file with the call: expansion must not recurse.
        if std::mem::replace(&mut self.is_expanding, true) {
            return;
        }
        while self.expanded < self.files.len() {
            let file = self.expanded;
            self.expand_file(file);
            let CodeFile { rust, package, .. } = &self.files[file];
            self.modules.extend(rust.containers().map(|name| (*package, name.clone())));
            for (index, function) in self.files[file].rust.functions.iter().enumerate() {
                let module = self.files[file].module.last();
                let same = self.functions.entry(function.name.clone()).or_default();
                same.add(FunctionId { file, index }, function, module);
            }
            self.expanded += 1;
        }
        self.is_expanding = false;
    }

    /// The index of the macro whose definition contains an offset.
    pub fn definition_at(&self, file: usize, at: usize) -> Option<usize> {
        let file = &self.files[file];
        // Macros that define macros are not expanded, so the definitions keep their order and number.
        let is_numbered = file.rust.definitions.len() == file.definitions.len();
        file.rust.macro_around(at).filter(|_| is_numbered).map(|index| file.definitions[index])
    }

    /// Whether an offset is in the definition of a macro whose calls are all expanded: then the code is analysed at the
    /// calls.
    pub fn is_template(&self, file: usize, at: usize) -> bool {
        self.definition_at(file, at).is_some_and(|number| self.macros.is_done(number))
    }

    /// The package that the first name of a path refers to, if it is in the workspace.
    pub(super) fn package_of_path(&self, file: usize, first: &String) -> Option<Option<usize>> {
        self.package_of_function(file, std::slice::from_ref(first)).map(|(package, _)| package)
    }

    /// The meanings of a name or path at an offset. There are several for alternatives under `#[cfg]`, and for a trait
    /// constant that several types define.
    ///
    /// # Errors
    /// Why the meaning is unknown.
    pub fn resolve(&mut self, file: usize, at: usize, path: &[String]) -> Result<Vec<Found>, Lost> {
        self.name(file, at, path, 0)
    }

    /// Whether a package uses one of these crates: its manifest or a file names it.
    pub fn mentions(&mut self, file: usize, crates: &[&str]) -> bool {
        let file = &self.files[file];
        let package = file.package.and_then(|package| self.workspace.packages.get(package));
        if crates.iter().any(|name| file.rust.text().contains(name)) {
            return true;
        }
        let Some(package) = package else { return false };
        let manifest = self.manifests.entry(package.manifest_path.clone());
        let manifest = manifest.or_insert_with_key(|path| {
            let text = places::read(path, MAX_RUST_BYTES).unwrap_or_default();
            String::from_utf8_lossy(&text).into_owned()
        });
        crates.iter().any(|name| manifest.contains(name))
    }

    /// Whether a file is in one of these packages.
    pub fn belongs_to(&self, file: usize, names: &[&str]) -> bool {
        let package = self.files[file].package.and_then(|package| self.workspace.packages.get(package));
        package.is_some_and(|package| names.contains(&package.name.as_str()))
    }

    pub fn function(&self, id: FunctionId) -> &Function {
        &self.files[id.file].rust.functions[id.index]
    }

    /// The values of a member in all constructions of a type.
    pub fn members_of(&mut self, from: usize, type_name: &str, member: &str) -> Vec<(usize, TokenStream)> {
        let package = self.files[from].package;
        self.read_packages_with(type_name);
        let mut found = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            for structure in file.rust.structures_of(type_name, file.package == package) {
                if !self.is_template(index, structure.at)
                    && let Some(value) = member_value(&structure.members, member)
                {
                    found.push((index, value));
                }
            }
        }
        found
    }

    fn name(&mut self, file: usize, at: usize, path: &[String], steps: usize) -> Result<Vec<Found>, Lost> {
        let [name] = path else {
            return match path {
                [first, name] if first == "Self" => self.own(file, at, name, steps),
                _ => self.path(file, at, path, steps),
            };
        };
        if steps > MAX_STEPS {
            return Err(Lost::Beyond(format!("`{name}` is more than {MAX_STEPS} names away")));
        }
        let rust = &self.files[file].rust;
        let nearest = rust.nearest(name, at);
        if let Some(first) = nearest.first() {
            if nearest.len() > 1 && !nearest.iter().all(|binding| is_constant(binding)) {
                return Err(ambiguous(name));
            }
            let at = first.visible.start;
            let values: Vec<Value> = nearest.iter().map(|binding| binding.value.clone()).collect();
            return self.values(file, at, values, steps);
        }
        let globs: Vec<Vec<String>> =
            rust.globs.iter().filter(|(visible, _)| visible.contains(&at)).map(|(_, path)| path.clone()).collect();
        let imported = |mut glob: Vec<String>| {
            glob.push(name.clone());
            self.path(file, at, &glob, steps + 1).ok()
        };
        globs.into_iter().find_map(imported).ok_or_else(|| not_found(name))
    }

    /// `Self::NAME`: from the enclosing `impl`, from the type, or from all implementations of the trait.
    fn own(&mut self, file: usize, at: usize, name: &String, steps: usize) -> Result<Vec<Found>, Lost> {
        let Some(owner) = self.files[file].rust.owner_at(at).cloned() else {
            return self.name(file, at, std::slice::from_ref(name), steps);
        };
        if owner.is_trait {
            return self.of_trait(name, &[owner.name], steps);
        }
        let own = self.files[file].rust.associated(name, at);
        if let Some(first) = own.first().filter(|_| own.iter().all(|binding| is_constant(binding))) {
            let at = first.visible.start;
            let values: Vec<Value> = own.iter().map(|binding| binding.value.clone()).collect();
            return self.values(file, at, values, steps);
        }
        self.path(file, at, &[owner.name, name.clone()], steps)
    }

    /// The values of a trait constant in all implementations.
    fn of_trait(&mut self, name: &str, of: &[String], steps: usize) -> Result<Vec<Found>, Lost> {
        self.read_packages_with(name);
        let mut candidates = self.candidates_in(None, name);
        let is_meant =
            |candidate: &Candidate| candidate.of_trait.as_ref().is_some_and(|of_trait| of.contains(of_trait));
        candidates.retain(|candidate| is_meant(candidate) && matches!(candidate.value, Value::Expression(_)));
        // The trait's default counts only if no implementation overrides it.
        if candidates.iter().any(|candidate| candidate.is_final) {
            candidates.retain(|candidate| candidate.is_final);
        }
        let is_known = !candidates.is_empty();
        candidates.retain(|candidate| !self.hands_on(candidate, name, of));
        if is_known && candidates.is_empty() {
            return Err(Lost::Name(format!("the types that say `{name}` are in a package that is not checked")));
        }
        let traits: BTreeSet<Option<String>> = candidates.iter().map(|candidate| candidate.of_trait.clone()).collect();
        if traits.len() != 1 {
            return Err(if traits.is_empty() { not_found(name) } else { ambiguous(name) });
        }
        let mut found = Vec::new();
        for candidate in candidates {
            found.extend(self.value(candidate.file, candidate.at, candidate.value, steps + 1)?);
        }
        Ok(found)
    }

    /// Whether an implementation repeats what that of its type parameter says:
    /// `impl<F: Named> Named for Wrapper<F> { const NAME: &str = F::NAME; }`.
    fn hands_on(&self, candidate: &Candidate, name: &str, of: &[String]) -> bool {
        let Value::Expression(value) = &candidate.value else { return false };
        let text: String = value.to_string().split_whitespace().collect();
        let Some((parameter, "")) = text.strip_suffix(name).and_then(|path| path.rsplit_once("::")) else {
            return false;
        };
        let bounds = bounds_of(self.files[candidate.file].rust.text(), parameter);
        bounds.iter().any(|bound| of.contains(bound))
    }

    fn values(&mut self, file: usize, at: usize, values: Vec<Value>, steps: usize) -> Result<Vec<Found>, Lost> {
        let mut found = Vec::new();
        for value in values {
            found.extend(self.value(file, at, value, steps)?);
        }
        Ok(found)
    }

    fn value(&mut self, file: usize, at: usize, value: Value, steps: usize) -> Result<Vec<Found>, Lost> {
        let meaning = match value {
            Value::Expression(value) => Meaning::Expression(value),
            Value::Sum(pieces) => Meaning::Sum(pieces),
            Value::Part { of, is_element, members, why } => {
                Meaning::Part { of, is_element, members, why: why.to_string() }
            }
            Value::Unknown(why) => {
                let reason = why.to_string();
                let Unknown::Parameter { body, index: Some(index), .. } = why else { return Err(Lost::Bound(reason)) };
                return Err(match self.files[file].rust.function_with_body(body) {
                    Some(function) => Lost::Parameter { function: FunctionId { file, index: function }, index, reason },
                    None => Lost::Bound(reason),
                });
            }
            Value::Initial(_) => return Err(Lost::Bound("its text is in a variable that may change".to_string())),
            Value::Path(path) => return self.path(file, at, &path, steps + 1),
        };
        Ok(vec![Found { file, meaning }])
    }

    fn path(&mut self, file: usize, at: usize, path: &[String], steps: usize) -> Result<Vec<Found>, Lost> {
        let path = self.expand_alias(file, at, path);
        let Some((name, qualifiers)) = path.split_last() else { return Err(not_found("")) };
        if steps > MAX_STEPS {
            return Err(Lost::Beyond(format!("`{name}` is more than {MAX_STEPS} names away")));
        }
        let (package, rest) = self.package_meant(file, qualifiers);
        let is_foreign = package != self.files[file].package;
        self.read_files_with(package, name);
        let here = self.module_at(file, at);
        let (wanted, is_ours) = if is_foreign { (rest, true) } else { self.wanted(file, &here, qualifiers) };
        let found = |within: Option<&[String]>| {
            self.candidates_where(name, within, |index, of| {
                of.package == package && (!of.is_isolated || (index == file && !is_foreign))
            })
        };
        let mut candidates = found(Some(&wanted));
        let last = qualifiers.last().filter(|last| !matches!(last.as_str(), "crate" | "self" | "super"));
        let is_type = last.is_some_and(|last| last.starts_with(char::is_uppercase));
        if candidates.is_empty() {
            candidates = found(None);
            // Possibly re-exported by a `pub use` that is not visible: accepted only if the rest is unambiguous.
            candidates.retain(|candidate| matches!(candidate.value, Value::Expression(_)));
            if is_type || !is_ours {
                candidates.retain(|candidate| candidate.path.last() == last && last.is_some());
            }
        }
        // Alternatives of a constant under `#[cfg]` have the same file and module path.
        let is_one = candidates.windows(2).all(|pair| pair[0].file == pair[1].file && pair[0].path == pair[1].path);
        match candidates.len() {
            0 if is_type && qualifiers.len() == 1 => {
                let bounds = match last.filter(|last| self.is_trait(last)) {
                    Some(named) => vec![named.clone()],
                    None => last.map(|last| bounds_of(self.files[file].rust.text(), last)).unwrap_or_default(),
                };
                return self.of_trait(name, &bounds, steps);
            }
            0 => return Err(not_found(name)),
            1 => {}
            _ if is_one && candidates.iter().all(|candidate| matches!(candidate.value, Value::Expression(_))) => {}
            _ => return Err(ambiguous(name)),
        }
        let mut found = Vec::new();
        for candidate in candidates {
            found.extend(self.value(candidate.file, candidate.at, candidate.value, steps + 1)?);
        }
        Ok(found)
    }

    fn is_trait(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.rust.has_trait(name))
    }

    /// `k::SRC` after `use crate::kernels as k`.
    fn expand_alias(&self, file: usize, at: usize, path: &[String]) -> Vec<String> {
        let mut path = path.to_vec();
        for _ in 0..MAX_STEPS {
            let Some(first) = path.first().filter(|_| path.len() > 1) else { break };
            let Ok(Some(Binding { value: Value::Path(alias), .. })) = self.files[file].rust.binding(first, at) else {
                break;
            };
            if path.starts_with(alias) || alias.len() > MAX_STEPS {
                break;
            }
            path.splice(0..1, alias.iter().cloned());
        }
        path
    }

    /// The module path that is meant, and whether it certainly starts in this package.
    fn wanted(&self, file: usize, here: &[String], qualifiers: &[String]) -> (Vec<String>, bool) {
        let Some(first) = qualifiers.first() else { return (here.to_vec(), true) };
        let library = self.library_of(self.files[file].package);
        match first.as_str() {
            _ if library.as_ref() == Some(first) => (qualifiers[1..].to_vec(), true),
            "crate" => (qualifiers[1..].to_vec(), true),
            "self" => ([here, &qualifiers[1..]].concat(), true),
            "super" => {
                let up = qualifiers.iter().take_while(|name| *name == "super").count();
                let above = &here[..here.len().saturating_sub(up)];
                ([above, &qualifiers[up..]].concat(), true)
            }
            _ => ([here, qualifiers].concat(), self.is_module(file, first)),
        }
    }

    /// The package that a path refers to, and the rest of the path.
    fn package_meant(&self, file: usize, qualifiers: &[String]) -> (Option<usize>, Vec<String>) {
        let own = self.files[file].package;
        let Some(first) = qualifiers.first() else { return (own, Vec::new()) };
        let is_local = matches!(first.as_str(), "crate" | "self" | "super" | "Self") || self.is_module(file, first);
        let is_meant = |index: &usize| self.library_of(Some(*index)).as_ref() == Some(first);
        match (0..self.workspace.packages.len()).find(is_meant) {
            Some(package) if !is_local => (Some(package), qualifiers[1..].to_vec()),
            _ => (own, qualifiers.to_vec()),
        }
    }

    /// Same, for paths that stay within the workspace.
    fn package_of_function(&self, file: usize, qualifiers: &[String]) -> Option<(Option<usize>, Vec<String>)> {
        let (package, rest) = self.package_meant(file, qualifiers);
        let is_known = |first: &String| {
            package != self.files[file].package
                || matches!(first.as_str(), "crate" | "self" | "super")
                || first.starts_with(char::is_uppercase)
                || self.library_of(package).as_ref() == Some(first)
                || self.is_module(file, first)
        };
        qualifiers.first().is_none_or(is_known).then_some((package, rest))
    }

    fn is_module(&self, file: usize, name: &str) -> bool {
        self.modules.contains(&(self.files[file].package, name.to_string()))
    }

    /// Items with a name in a package, or in all packages.
    fn candidates_in(&self, package: Option<Option<usize>>, name: &str) -> Vec<Candidate> {
        self.candidates_where(name, None, |_, file| {
            !file.is_isolated && package.is_none_or(|package| package == file.package)
        })
    }

    /// Items with a name, or those that exactly the modules and the type `within` are around.
    fn candidates_where(
        &self,
        name: &str,
        within: Option<&[String]>,
        is_reachable: impl Fn(usize, &CodeFile) -> bool,
    ) -> Vec<Candidate> {
        let of_file = |(index, file): (usize, &'_ CodeFile)| {
            let candidate = |binding: &Binding| Candidate {
                file: index,
                path: [file.module.as_slice(), &binding.container].concat(),
                of_trait: binding.of_trait.clone(),
                is_final: binding.is_final,
                value: binding.value.clone(),
                at: binding.visible.start,
            };
            let items = match within.map(|within| within.strip_prefix(file.module.as_slice())) {
                None => file.rust.items(name).collect(),
                Some(Some(container)) => file.rust.items_within(name, container),
                Some(None) => Vec::new(),
            };
            let items = items.into_iter().filter(|binding| !self.is_template(index, binding.visible.start));
            items.map(candidate).collect::<Vec<_>>()
        };
        self.files.iter().enumerate().filter(|(index, file)| is_reachable(*index, file)).flat_map(of_file).collect()
    }

    fn module_at(&self, file: usize, at: usize) -> Vec<String> {
        let file = &self.files[file];
        [file.module.as_slice(), file.rust.modules_at(at)].concat()
    }

    pub(super) fn library_of(&self, package: Option<usize>) -> Option<String> {
        let package = self.workspace.packages.get(package?)?;
        let library =
            package.targets.iter().find(|target| target.is_lib() || target.is_rlib() || target.is_proc_macro());
        library.map(|target| target.name.replace('-', "_"))
    }

    /// The module path of a file, and whether the file is in a crate that others cannot name.
    fn module_of(&self, path: &Path, package: Option<usize>) -> (Vec<String>, bool) {
        let roots = package.and_then(|package| self.workspace.packages.get(package)).map(|package| &package.targets);
        let roots: Vec<&Path> = roots.into_iter().flatten().map(|target| target.src_path.as_std_path()).collect();
        if roots.contains(&path) {
            let is_shared = path.ends_with("lib.rs") || path.ends_with("main.rs");
            return (Vec::new(), !is_shared);
        }
        let folders = roots.iter().filter_map(|root| root.parent());
        let crate_folder =
            folders.filter(|folder| path.starts_with(folder)).max_by_key(|folder| folder.as_os_str().len());
        let relative = crate_folder.or(path.parent()).and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path);
        let mut module: Vec<String> =
            relative.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if module.last().is_some_and(|last| last == "mod") {
            module.pop();
        }
        (module, false)
    }
}

fn ambiguous(name: &str) -> Lost {
    Lost::Name(format!("`{name}` is defined more than once"))
}

fn not_found(name: &str) -> Lost {
    Lost::Name(format!("`{name}` is not defined in the code that is checked"))
}

fn is_constant(binding: &Binding) -> bool {
    !binding.is_local() && matches!(binding.value, Value::Expression(_))
}

/// The trait bounds of a type parameter, anywhere in a file: `E: Dtype + Copy`.
fn bounds_of(text: &str, parameter: &str) -> Vec<String> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let mut found = Vec::new();
    for (at, _) in text.match_indices(parameter) {
        let rest = text[at + parameter.len()..].trim_start();
        let Some(bounds) = rest.strip_prefix(':').filter(|rest| !rest.starts_with(':')) else { continue };
        if text[..at].ends_with(is_part) {
            continue;
        }
        let end = bounds.find([',', '{', ';', ')', '=']).unwrap_or(bounds.len());
        found.extend(
            bounds[..end].split(|character| !is_part(character)).filter(|word| !word.is_empty()).map(str::to_string),
        );
    }
    found
}

/// The value of a member in `{ a: 1, member, ..base }`.
fn member_value(members: &TokenStream, member: &str) -> Option<TokenStream> {
    let tokens: Vec<TokenTree> = members.clone().into_iter().collect();
    let is_member = |part: &&[TokenTree]| matches!(part.first(), Some(TokenTree::Ident(name)) if name == member);
    let part = split_at_commas(&tokens).into_iter().find(is_member)?;
    match part {
        [TokenTree::Ident(_)] => Some(part.iter().cloned().collect()),
        [TokenTree::Ident(_), TokenTree::Punct(colon), value @ ..] if colon.as_char() == ':' => {
            Some(value.iter().cloned().collect())
        }
        _ => None,
    }
}
