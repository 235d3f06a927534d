//! What names in Rust code stand for, across the files of a package.
//!
//! This is less than the compiler knows. Where a name may mean two things, or one that cannot be seen, it means none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memchr::memmem;
use proc_macro2::TokenStream;

use super::scan::{Binding, RustFile, Value};
use super::sinks::Sink;
use crate::discover::{Workspace, has_ending};
use crate::source::SourceFile;

/// Imports of imports of imports.
const MAX_STEPS: usize = 16;

/// Larger Rust files hold tables, not code that hands kernels over.
pub(super) const MAX_RUST_BYTES: u64 = 4 << 20;

/// The files that were looked at so far; more are when a name leads there.
pub(super) struct Code<'a> {
    pub workspace: &'a Workspace,
    pub files: Vec<CodeFile>,
    /// Files by package; the last entry is for files without one.
    unread: Vec<Option<Vec<Unread>>>,
}

/// A file and its bytes, in which names are looked for.
type Unread = (PathBuf, Vec<u8>);

pub(super) struct CodeFile {
    pub rust: RustFile,
    pub package: Option<usize>,
    /// Path of the file's module in its crate.
    module: Vec<String>,
    /// A crate root of its own: an example, a test.
    is_isolated: bool,
}

/// The value of a name.
pub(super) struct Found {
    pub file: usize,
    pub value: TokenStream,
}

struct Candidate {
    file: usize,
    path: Vec<String>,
    value: Value,
    at: usize,
}

impl<'a> Code<'a> {
    pub fn new(workspace: &'a Workspace) -> Self {
        let unread = (0..=workspace.packages.len()).map(|_| None).collect();
        Self { workspace, files: Vec::new(), unread }
    }

    /// Adds a file.
    ///
    /// # Errors
    /// It is not made of Rust's tokens.
    pub fn add(&mut self, file: &Arc<SourceFile>, package: Option<usize>) -> Result<(), proc_macro2::LexError> {
        let rust = RustFile::scan(file)?;
        let (module, is_isolated) = self.module_of(&file.path, package);
        self.files.push(CodeFile { rust, package, module, is_isolated });
        Ok(())
    }

    /// What a name or path stands for at a place of a file.
    ///
    /// # Errors
    /// Why that is not known.
    pub fn resolve(&mut self, file: usize, at: usize, path: &[String]) -> Result<Found, String> {
        self.name(file, at, path, 0)
    }

    /// Whether a path to a function named as a sink leads to one that the package defines itself.
    pub fn defines_function(&self, file: usize, sink: &Sink, path: &[String]) -> bool {
        let package = self.files[file].package;
        let is_its_own = package
            .and_then(|package| self.workspace.packages.get(package))
            .is_some_and(|package| package.name == sink.package);
        let first = path.first().filter(|_| path.len() > 1);
        let is_near = first.is_none_or(|first| {
            matches!(first.as_str(), "crate" | "self" | "super")
                || self.library_of(package).as_ref() == Some(first)
                || self.is_module(file, first)
        });
        let defines = |other: &CodeFile| other.package == package && other.rust.defines_function(sink.name);
        !is_its_own && is_near && self.files.iter().any(defines)
    }

    fn name(&mut self, file: usize, at: usize, path: &[String], steps: usize) -> Result<Found, String> {
        let [name] = path else {
            return match path {
                [first, name] if first == "Self" => self.name(file, at, std::slice::from_ref(name), steps),
                _ => self.path(file, at, path, steps),
            };
        };
        if steps > MAX_STEPS {
            return Err(format!("`{name}` leads in a circle"));
        }
        let rust = &self.files[file].rust;
        let binding = rust.binding(name, at).map_err(|_| ambiguous(name))?;
        if let Some(binding) = binding {
            let (value, at) = (binding.value.clone(), binding.visible.start);
            return self.value(file, at, value, steps);
        }
        let globs: Vec<Vec<String>> =
            rust.globs.iter().filter(|(visible, _)| visible.contains(&at)).map(|(_, path)| path.clone()).collect();
        let imported = |mut glob: Vec<String>| {
            glob.push(name.clone());
            self.path(file, at, &glob, steps + 1).ok()
        };
        globs.into_iter().find_map(imported).ok_or_else(|| not_found(name))
    }

    fn value(&mut self, file: usize, at: usize, value: Value, steps: usize) -> Result<Found, String> {
        match value {
            Value::Expression(value) => Ok(Found { file, value }),
            Value::Unknown(why) => Err(why.to_string()),
            Value::Initial(_) => Err("its text is in a variable that may change".to_string()),
            Value::Path(path) => self.path(file, at, &path, steps + 1),
        }
    }

    fn path(&mut self, file: usize, at: usize, path: &[String], steps: usize) -> Result<Found, String> {
        let path = self.expand_alias(file, at, path);
        let Some((name, qualifiers)) = path.split_last() else { return Err(not_found("")) };
        if steps > MAX_STEPS {
            return Err(format!("`{name}` leads in a circle"));
        }
        self.read_files_with(self.files[file].package, name);
        let mut candidates = self.candidates(file, name);
        let here = self.module_at(file, at);
        let (wanted, is_ours) = self.wanted(file, &here, qualifiers);
        let exact = |candidate: &Candidate| candidate.path == wanted;
        if candidates.iter().any(exact) {
            candidates.retain(exact);
        } else {
            // Through a `pub use` that is not seen, so only where the rest leaves no doubt.
            let last = qualifiers.last().filter(|last| !matches!(last.as_str(), "crate" | "self" | "super"));
            let is_type = last.is_some_and(|last| last.starts_with(char::is_uppercase));
            candidates.retain(|candidate| matches!(candidate.value, Value::Expression(_)));
            if is_type || !is_ours {
                candidates.retain(|candidate| candidate.path.last() == last && last.is_some());
            }
        }
        let mut candidates = candidates.into_iter();
        match (candidates.next(), candidates.next()) {
            (Some(only), None) => self.value(only.file, only.at, only.value, steps + 1),
            (Some(_), Some(_)) => Err(ambiguous(name)),
            (None, _) => Err(not_found(name)),
        }
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

    /// The module path that is meant, and whether it begins in this package for certain.
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

    fn is_module(&self, file: usize, name: &str) -> bool {
        let package = self.files[file].package;
        let has_module = |other: &CodeFile| {
            other.package == package
                && (other.module.iter().any(|module| module == name) || other.rust.has_container(name))
        };
        self.files.iter().any(has_module)
    }

    fn candidates(&self, from: usize, name: &str) -> Vec<Candidate> {
        let package = self.files[from].package;
        let is_reachable =
            |(index, file): &(usize, &CodeFile)| file.package == package && (*index == from || !file.is_isolated);
        let of_file = |(index, file): (usize, &'_ CodeFile)| {
            let candidate = |binding: &Binding| Candidate {
                file: index,
                path: [file.module.as_slice(), &binding.container].concat(),
                value: binding.value.clone(),
                at: binding.visible.start,
            };
            file.rust.items(name).map(candidate).collect::<Vec<_>>()
        };
        self.files.iter().enumerate().filter(is_reachable).flat_map(of_file).collect()
    }

    fn module_at(&self, file: usize, at: usize) -> Vec<String> {
        let file = &self.files[file];
        [file.module.as_slice(), file.rust.modules_at(at)].concat()
    }

    /// Looks at the files of a package that were not, and that hold `name`.
    fn read_files_with(&mut self, package: Option<usize>, name: &str) {
        let group = package.unwrap_or(self.workspace.packages.len());
        let mut unread = match self.unread.get_mut(group).map(Option::take) {
            Some(Some(unread)) => unread,
            Some(None) => self.all_unread(package),
            None => return,
        };
        let finder = memmem::Finder::new(name);
        let (found, rest) = unread.drain(..).partition(|(_, bytes)| finder.find(bytes).is_some());
        let found: Vec<Unread> = found;
        self.unread[group] = Some(rest);
        for (path, _) in found {
            // Files that cannot be read or understood hold no name that could be used.
            if let Ok(file) = SourceFile::read(&path, &self.workspace.root) {
                let _ = self.add(&file, package);
            }
        }
    }

    fn all_unread(&self, package: Option<usize>) -> Vec<Unread> {
        let plain = || {
            self.workspace.files.iter().filter(|file| file.package.is_none()).map(|file| file.path.clone()).collect()
        };
        let paths: Vec<PathBuf> = package.map_or_else(plain, |package| self.workspace.rust_files_of(package));
        let known: BTreeSet<&Path> = self.files.iter().map(|file| file.rust.file.path.as_path()).collect();
        let is_new = |path: &PathBuf| has_ending(path, &["rs"]) && !known.contains(path.as_path());
        paths.into_iter().filter(is_new).filter_map(|path| read_rust(&path).map(|bytes| (path, bytes))).collect()
    }

    fn library_of(&self, package: Option<usize>) -> Option<String> {
        let package = self.workspace.packages.get(package?)?;
        let library =
            package.targets.iter().find(|target| target.is_lib() || target.is_rlib() || target.is_proc_macro());
        library.map(|target| target.name.replace('-', "_"))
    }

    /// The module that a file is, and whether it is a crate that other files cannot name.
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

/// The bytes of a Rust file; `None` where it cannot be read, or is too large.
pub(super) fn read_rust(path: &Path) -> Option<Vec<u8>> {
    let metadata = std::fs::metadata(path).ok().filter(|metadata| metadata.is_file())?;
    if metadata.len() > MAX_RUST_BYTES { None } else { std::fs::read(path).ok() }
}

fn ambiguous(name: &str) -> String {
    format!("`{name}` is defined more than once")
}

fn not_found(name: &str) -> String {
    format!("`{name}` is not defined in this package's code")
}
