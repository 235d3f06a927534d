//! Reads further files when a name may be in them: first as bytes. Only files that contain the name are lexed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use memchr::memmem;

use lmem_base::places;
use lmem_base::source::{SourceFile, has_ending};

use super::bytes::{defined_macros, follows_fn, holds_word, is_called, words_in};
use super::{Code, FunctionId, MAX_RUST_BYTES};

/// A file that was not lexed yet.
pub(super) struct Unread {
    path: PathBuf,
    /// The bytes in which names are searched.
    bytes: Vec<u8>,
    /// Names of the macros that the file appears to define.
    macros: Vec<String>,
}

/// The kind of a search in unread files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wanted {
    Word,
    Function,
    Callers,
}

impl Code<'_> {
    /// Lexes unread files of all packages that contain `name`.
    pub(in crate::rust) fn read_packages_with(&mut self, name: &str) {
        if self.is_new_search(Wanted::Word, None, name) {
            for package in self.groups() {
                self.read_files_with(package, name);
            }
        }
    }

    /// Lexes unread files of a package that contain `name`.
    pub(super) fn read_files_with(&mut self, package: Option<usize>, name: &str) {
        if self.is_new_search(Wanted::Word, Some(package), name) {
            let finder = memmem::Finder::new(name);
            self.read_files_where(package, |file| holds_word(&file.bytes, &finder));
        }
    }

    /// Lexes unread files of a package, or of all, that define a function with this name.
    pub(super) fn read_definitions(&mut self, package: Option<Option<usize>>, name: &str) {
        if package.is_none() && !self.is_new_search(Wanted::Function, None, name) {
            return;
        }
        let finder = memmem::Finder::new(name);
        for package in package.map_or_else(|| self.groups(), |package| vec![package]) {
            if !self.is_new_search(Wanted::Function, Some(package), name) {
                continue;
            }
            self.read_files_where(package, |file| words_in(&file.bytes, &finder).any(|at| follows_fn(&file.bytes, at)));
        }
    }

    /// Lexes unread files that may call a function. An inherent associated function is called with its type's name, or
    /// on a value.
    pub(super) fn read_callers(&mut self, id: FunctionId) {
        let function = self.function(id);
        let owner = function.owner.as_ref().filter(|owner| !function.has_self && owner.of_trait.is_none());
        let owner_name = owner.map(|owner| owner.name.clone());
        let name = function.name.clone();
        let (finder, owner) = (memmem::Finder::new(&name), owner_name.as_deref().map(memmem::Finder::new));
        let is_wanted = |file: &Unread| {
            words_in(&file.bytes, &finder).any(|at| is_called(&file.bytes[at + name.len()..]))
                && owner.as_ref().is_none_or(|owner| holds_word(&file.bytes, owner))
        };
        let key = format!("{}::{name}", owner_name.as_deref().unwrap_or_default());
        for package in self.groups() {
            if self.is_new_search(Wanted::Callers, Some(package), &key) {
                self.read_files_where(package, is_wanted);
            }
        }
    }

    /// Whether a search was not done yet.
    pub(super) fn is_new_search(&mut self, what: Wanted, group: Option<Option<usize>>, name: &str) -> bool {
        self.searched.insert((what, group, name.to_string()))
    }

    /// All packages, and the group of files without a package.
    pub(super) fn groups(&self) -> Vec<Option<usize>> {
        (0..self.workspace.packages.len()).map(Some).chain([None]).collect()
    }

    /// Lexes unread files that define a macro with this name.
    pub(in crate::rust) fn read_files_that_define(&mut self, name: &str) {
        for package in self.groups() {
            self.read_files_where(package, |file| file.macros.iter().any(|known| known == name));
        }
    }

    pub(super) fn read_files_where(&mut self, package: Option<usize>, is_wanted: impl Fn(&Unread) -> bool) {
        let group = package.unwrap_or(self.workspace.packages.len());
        let mut unread = match self.unread.get_mut(group).map(Option::take) {
            Some(Some(unread)) => unread,
            Some(None) => self.all_unread(package),
            None => return,
        };
        let (found, rest): (Vec<Unread>, Vec<Unread>) = unread.drain(..).partition(is_wanted);
        self.unread[group] = Some(rest);
        for Unread { path, .. } in found {
            // What the name stands for may be lost with a file that does not lex.
            if let Ok(file) = SourceFile::read(&path, &self.workspace.root)
                && let Err(broken) = self.add(&file, package)
            {
                self.unread_files.push(broken);
            }
        }
        self.expand_macros();
    }

    pub(super) fn all_unread(&self, package: Option<usize>) -> Vec<Unread> {
        let plain = || {
            self.workspace.files.iter().filter(|file| file.package.is_none()).map(|file| file.path.clone()).collect()
        };
        let paths: Vec<PathBuf> = package.map_or_else(plain, |package| self.workspace.rust_files_of(package));
        let known: BTreeSet<&Path> = self.files.iter().map(|file| file.rust.path()).collect();
        let is_new = |path: &PathBuf| has_ending(path, &["rs"]) && !known.contains(path.as_path());
        let unread = |path: PathBuf| {
            let bytes = read_rust(&path)?;
            Some(Unread { macros: defined_macros(&bytes), path, bytes })
        };
        paths.into_iter().filter(is_new).filter_map(unread).collect()
    }
}

/// The bytes of a Rust file; `None` if it is unreadable or too large.
fn read_rust(path: &Path) -> Option<Vec<u8>> {
    places::read(path, MAX_RUST_BYTES).ok()
}
