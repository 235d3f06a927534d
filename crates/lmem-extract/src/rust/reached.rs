//! Rust files that are compiled because a manifest or other Rust code names them: targets, `mod`, `#[path]`, `include!`.
//!
//! The walk of a package finds what is named `.rs` and lies where sources lie. Code may be elsewhere, and no kernel may
//! escape a check by that: what is reached here is checked too, and what cannot be is named.

mod links;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use memchr::memmem;

use lmem_base::places;
use lmem_base::source::{has_ending, normalize};
use lmem_project::discover::{NotChecked, Package, Unchecked, Workspace};
use lmem_unit::machine;

use self::links::{Link, Reading};
use super::names::MAX_RUST_BYTES;
use super::{MAX_SEARCHED_BYTES, marker, sinks};

/// What there is to check of the Rust code of a workspace.
#[derive(Debug, Default)]
pub(super) struct Reached {
    /// Files with a marker word, with their packages. Files that cannot be read are kept, and reported later.
    pub files: Vec<(PathBuf, Option<usize>)>,
    /// Code that is compiled and not checked.
    pub not_checked: Vec<NotChecked>,
}

/// All Rust files with a marker word: those that were found, and those that they and manifests reach.
pub(super) fn reached(workspace: &Workspace) -> Reached {
    let mut search = Search {
        workspace,
        markers: sinks::MARKERS.iter().map(memmem::Finder::new).collect(),
        known: None,
        visited: BTreeSet::new(),
        waiting: Vec::new(),
        files: BTreeSet::new(),
        not_checked: BTreeSet::new(),
        names: BTreeSet::from(["include".to_string()]),
    };
    search.run();
    search.not_checked.retain(|found| workspace.not_checked.iter().all(|known| known.path != found.path));
    Reached { files: search.files.into_iter().collect(), not_checked: search.not_checked.into_iter().collect() }
}

/// A file to look through.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Visit {
    path: PathBuf,
    package: Option<usize>,
    /// The folder that its modules lie in, relative to its own: its name without the ending, except for the root of a
    /// crate, for `mod.rs`, and for what a path names.
    folder: Option<String>,
    /// A file that was named on the command line means itself alone.
    is_followed: bool,
}

struct Search<'a> {
    workspace: &'a Workspace,
    markers: Vec<memmem::Finder<'static>>,
    /// The files that were found by walking, with links resolved, and their packages.
    known: Option<BTreeMap<PathBuf, Option<usize>>>,
    visited: BTreeSet<(PathBuf, Option<String>)>,
    waiting: Vec<Visit>,
    files: BTreeSet<(PathBuf, Option<usize>)>,
    not_checked: BTreeSet<NotChecked>,
    /// What `include!` is called: `use std::include as other` gives it another name.
    names: BTreeSet<String>,
}

impl Search<'_> {
    fn run(&mut self) {
        loop {
            let names = self.names.len();
            self.visited.clear();
            self.start();
            while let Some(visit) = self.waiting.pop() {
                if self.visited.insert((visit.path.clone(), visit.folder.clone())) {
                    self.visit(&visit);
                }
            }
            // Any file may use a new name.
            if self.names.len() == names {
                return;
            }
        }
    }

    fn start(&mut self) {
        let roots: BTreeSet<&Path> = self.workspace.packages.iter().flat_map(roots_of).collect();
        let rust = self.workspace.files.iter().filter(|file| has_ending(&file.path, &["rs"]));
        for file in rust {
            let folder = (!roots.contains(file.path.as_path())).then(|| folder_of(&file.path)).flatten();
            let is_followed = !file.explicit;
            let visit = Visit { path: file.path.clone(), package: file.package, folder, is_followed };
            // The root of a crate that no manifest names, or a module.
            if visit.folder.as_ref().is_some_and(|name| matches!(name.as_str(), "lib" | "main")) {
                self.waiting.push(Visit { folder: None, ..visit.clone() });
            }
            self.waiting.push(visit);
        }
        for (index, package) in self.workspace.packages.iter().enumerate() {
            if self.workspace.has_all_of(package) {
                roots_of(package).for_each(|root| self.reach(root, Some(index), None));
            }
        }
    }

    fn visit(&mut self, visit: &Visit) {
        let is_rust = has_ending(&visit.path, &["rs"]);
        let Ok(bytes) = places::read(&visit.path, MAX_SEARCHED_BYTES) else {
            match is_rust {
                true => _ = self.files.insert((visit.path.clone(), visit.package)),
                false => self.leave_out(&visit.path, Unchecked::Unfollowed),
            }
            return;
        };
        let has_marker = self.markers.iter().any(|marker| marker.find(&bytes).is_some());
        if has_marker || self.includes_kernel(&visit.path, &bytes) {
            match is_rust {
                true => _ = self.files.insert((visit.path.clone(), visit.package)),
                false => self.leave_out(&visit.path, Unchecked::OtherRustName),
            }
        }
        if visit.is_followed && links::may_have_some(&bytes, &self.names) {
            self.follow(visit, &bytes);
        }
    }

    /// Whether a file includes one with a kernel as text, or as machine code. What takes the text may be another file's, and have any name.
    fn includes_kernel(&self, path: &Path, bytes: &[u8]) -> bool {
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut named = links::texts(bytes).into_iter().map(|name| normalize(&folder.join(name)));
        named.any(|included| {
            places::asked_for(&included);
            let text = self.workspace.may_read(&included).then(|| places::read(&included, MAX_SEARCHED_BYTES));
            let is_text = text.and_then(Result::ok).is_some_and(|text| marker::may_have_kernel(&text));
            is_text || self.workspace.may_read(&included) && machine::is_of_gpu(&included)
        })
    }

    fn follow(&mut self, visit: &Visit, bytes: &[u8]) {
        let package = visit.package.and_then(|package| self.workspace.packages.get(package));
        let reading = Reading { path: &visit.path, folder: visit.folder.as_deref(), package, names: &self.names };
        let is_small = bytes.len() as u64 <= MAX_RUST_BYTES;
        let found = is_small.then(|| reading.links(&String::from_utf8_lossy(bytes))).flatten();
        // What is no Rust has no modules, but `include!` would not be there by chance.
        let Some(found) = found else {
            if links::may_include(bytes, &self.names) {
                self.leave_out(&visit.path, Unchecked::Unfollowed);
            }
            return;
        };
        for link in found {
            match link {
                Link::Module(path) => {
                    let folder = folder_of(&path);
                    self.reach(&path, visit.package, folder);
                }
                Link::Named(path) => self.reach(&path, visit.package, None),
                Link::OtherName(name) => _ = self.names.insert(name),
                Link::Unknown => self.leave_out(&visit.path, Unchecked::Unfollowed),
            }
        }
    }

    /// Looks through a file that is named, if it is there and nothing leaves it out.
    fn reach(&mut self, path: &Path, package: Option<usize>, folder: Option<String>) {
        let path = normalize(path);
        places::asked_for(&path);
        let Ok(metadata) = std::fs::metadata(&path) else {
            // The tree of a revision lies elsewhere, so that what is beside the tree is not there.
            let mut folders = self.workspace.places.folders().iter().chain([&self.workspace.root]);
            if folder.is_none() && !folders.any(|folder| path.starts_with(folder)) {
                self.leave_out(&path, Unchecked::RustElsewhere);
            }
            return;
        };
        if metadata.is_dir() || self.is_excluded(&path, package) {
            return;
        }
        if let Some(own) = self.known_as(&path) {
            // What a path names has its modules beside it, whatever it is called.
            if folder.is_none() {
                self.waiting.push(Visit { path, package: own, folder, is_followed: true });
            }
            return;
        }
        if !metadata.is_file() {
            return self.leave_out(&path, Unchecked::Special);
        }
        if !self.workspace.may_read(&path) {
            return self.leave_out(&path, Unchecked::RustElsewhere);
        }
        self.waiting.push(Visit { path, package, folder, is_followed: true });
    }

    /// The package of a file that the walk found, under this name or as what a link leads to.
    fn known_as(&mut self, path: &Path) -> Option<Option<usize>> {
        let files = || self.workspace.files.iter().filter(|file| has_ending(&file.path, &["rs"]));
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let known = self.known.get_or_insert_with(|| files().map(|file| (real(&file.path), file.package)).collect());
        known.get(&real(path)).copied()
    }

    fn is_excluded(&self, path: &Path, package: Option<usize>) -> bool {
        match package.and_then(|package| self.workspace.packages.get(package)) {
            Some(package) => package.config.is_excluded(path),
            None => self.workspace.files.iter().any(|file| file.package.is_none() && file.config.is_excluded(path)),
        }
    }

    fn leave_out(&mut self, path: &Path, why: Unchecked) {
        self.not_checked.insert(NotChecked { why, path: path.to_path_buf() });
    }
}

fn roots_of(package: &Package) -> impl Iterator<Item = &Path> {
    package.targets.iter().map(|target| target.src_path.as_std_path())
}

/// The folder that the modules of a file lie in, relative to its own.
fn folder_of(path: &Path) -> Option<String> {
    let name = path.file_stem()?.to_str()?;
    (name != "mod").then(|| name.to_string())
}
