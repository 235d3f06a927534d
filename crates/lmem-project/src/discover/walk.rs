//! Finds the files below a folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use walkdir::{DirEntry, WalkDir};

use lmem_base::places;
use lmem_base::source::{display_path, has_ending};

use super::NotChecked;
use super::unchecked::Unchecked;
use crate::config::PackageConfig;
use crate::discover::packages::Package;

/// What may have kernels.
const SOURCES: &[&str] = &["cu", "rs"];

const HEADER_ENDINGS: &[&str] = &["cuh", "h", "hpp", "hh", "inl", "inc"];

/// The rules of one walk, and its results.
pub(super) struct Walk {
    config: Arc<PackageConfig>,
    /// Folders that cargo writes to.
    pub target_folders: Vec<PathBuf>,
    /// Whether folders with their own manifest are skipped.
    skips_packages: bool,
    /// The folder that paths in notes are relative to, and that symbolic links must not leave.
    root: PathBuf,
    pub files: Vec<PathBuf>,
    pub headers: Vec<PathBuf>,
    pub manifests: Vec<PathBuf>,
    /// Paths that the settings leave out.
    pub excluded: Vec<PathBuf>,
    /// Folders that are the tops of repositories.
    pub repositories: Vec<PathBuf>,
    pub notes: Vec<String>,
    /// Sources that are not checked, although they are below the folder.
    pub not_checked: Vec<NotChecked>,
}

impl Walk {
    pub fn of_package(package: &Package, root: &Path) -> Self {
        let target_folders = package.target_folders.clone();
        Self { target_folders, skips_packages: true, ..Self::of_folder(&package.config, root) }
    }

    pub fn of_folder(config: &Arc<PackageConfig>, root: &Path) -> Self {
        Self {
            config: Arc::clone(config),
            target_folders: Vec::new(),
            skips_packages: false,
            root: root.to_path_buf(),
            files: Vec::new(),
            headers: Vec::new(),
            manifests: Vec::new(),
            excluded: Vec::new(),
            repositories: Vec::new(),
            notes: Vec::new(),
            not_checked: Vec::new(),
        }
    }

    /// Walks `folder`, and the targets of symbolic links in it that lie elsewhere below the root.
    pub fn run(&mut self, folder: &Path) {
        let mut walked = BTreeSet::new();
        let mut waiting = vec![folder.to_path_buf()];
        while let Some(folder) = waiting.pop() {
            if walked.insert(folder.clone()) {
                let links = self.walk(&folder);
                waiting.extend(links.into_iter().filter_map(|link| self.target_of(&link, &walked)));
            }
        }
        self.files.sort();
        self.files.dedup();
    }

    fn walk(&mut self, folder: &Path) -> Vec<PathBuf> {
        let mut links = Vec::new();
        let mut entries = WalkDir::new(folder).sort_by_file_name().into_iter();
        while let Some(entry) = entries.next() {
            match entry {
                Err(error) => {
                    let path = error.path().unwrap_or(folder).to_path_buf();
                    self.leave_unchecked(&path, Unchecked::Unreadable);
                }
                Ok(entry) if entry.depth() > 0 && self.is_left_out(&entry) => {
                    if entry.file_type().is_dir() {
                        entries.skip_current_dir();
                    }
                }
                Ok(entry) if entry.file_type().is_symlink() => links.push(entry.into_path()),
                Ok(entry) if entry.file_type().is_file() => self.take(entry.into_path()),
                Ok(entry) if entry.file_type().is_dir() => places::asked_for(entry.path()),
                Ok(entry) if has_ending(entry.path(), SOURCES) => {
                    self.leave_unchecked(entry.path(), Unchecked::Special);
                }
                Ok(_) => {}
            }
        }
        links
    }

    fn leave_unchecked(&mut self, path: &Path, why: Unchecked) {
        let unchecked = NotChecked { why, path: path.to_path_buf() };
        if !self.not_checked.contains(&unchecked) {
            self.not_checked.push(unchecked);
        }
    }

    fn take(&mut self, path: PathBuf) {
        if has_ending(&path, SOURCES) {
            self.files.push(path);
        } else if has_ending(&path, &["cup"]) {
            // nvcc compiles it as CUDA, too.
            self.leave_unchecked(&path, Unchecked::OtherName);
        } else if has_ending(&path, HEADER_ENDINGS) {
            self.headers.push(path);
        } else if path.ends_with("Cargo.toml") {
            self.manifests.push(path);
        }
    }

    fn is_left_out(&mut self, entry: &DirEntry) -> bool {
        let path = entry.path();
        if self.config.is_excluded(path) {
            self.excluded.push(path.to_path_buf());
            return true;
        }
        if entry.file_name().to_string_lossy().starts_with('.') {
            let top = path.parent().filter(|_| entry.file_name() == ".git");
            self.repositories.extend(top.map(Path::to_path_buf));
            return true;
        }
        entry.file_type().is_dir() && self.is_foreign(path)
    }

    /// Why a source is passed over, if its name or that of a folder below `base` says so. What `exclude` leaves out, and
    /// what belongs to another package, is so on purpose.
    pub fn overlooks(&self, path: &Path, base: &Path) -> Option<Unchecked> {
        let mut place = base.to_path_buf();
        for part in path.strip_prefix(base).ok()?.components() {
            place.push(part);
            let is_folder = place != path;
            if self.config.is_excluded(&place) || (is_folder && self.skips_packages && is_package(&place)) {
                return None;
            }
            if part.as_os_str().to_string_lossy().starts_with('.') {
                return Some(Unchecked::Hidden);
            }
            if is_folder && self.is_output(&place) {
                return Some(Unchecked::BuildOutput);
            }
        }
        None
    }

    fn is_output(&self, folder: &Path) -> bool {
        self.target_folders.iter().any(|target| target == folder) || is_build_output(folder)
    }

    /// Whether a folder holds build outputs or code of others.
    fn is_foreign(&mut self, folder: &Path) -> bool {
        if self.is_output(folder) || (self.skips_packages && is_package(folder)) {
            return true;
        }
        let is_submodule = folder.join(".git").is_file();
        if is_submodule && has_source(folder) {
            self.leave_unchecked(folder, Unchecked::Submodule);
        } else if is_submodule {
            self.notes.push(format!("the git submodule `{}` is not checked", display_path(folder, &self.root)));
        }
        is_submodule
    }

    /// The target of a symbolic link, if it is to be walked: below the root, and not walked anyway.
    fn target_of(&mut self, link: &Path, walked: &BTreeSet<PathBuf>) -> Option<PathBuf> {
        let Ok(target) = fs_err::canonicalize(link) else {
            if has_ending(link, SOURCES) {
                self.leave_unchecked(link, Unchecked::LeadsNowhere);
            }
            return None;
        };
        let is_wanted = target.is_dir() || has_ending(&target, &["cu", "rs"]) || has_ending(&target, HEADER_ENDINGS);
        let is_known =
            walked.iter().any(|folder| fs_err::canonicalize(folder).is_ok_and(|folder| target.starts_with(folder)));
        if has_ending(link, &["cu"]) && !has_ending(&target, &["cu"]) {
            self.leave_unchecked(link, Unchecked::LeadsToOtherKind);
        }
        if !is_wanted {
            return None;
        }
        let root = fs_err::canonicalize(&self.root).ok()?;
        let Ok(relative) = target.strip_prefix(&root) else {
            if is_known {
                return None;
            }
            // A linked source would be a unit of its own; a linked folder may be anything.
            if has_ending(link, SOURCES) || has_ending(&target, SOURCES) || (target.is_dir() && has_source(&target)) {
                self.leave_unchecked(link, Unchecked::LeadsOut);
            } else {
                let shown = display_path(link, &self.root);
                self.notes.push(format!("`{shown}` is a link that leads out of the workspace: not followed"));
            }
            return None;
        };
        // Joined with the root as it was given, so that each file has one path.
        let path = self.root.join(relative);
        if self.is_below_left_out(&path) {
            self.say_left_out(link, &target);
            return None;
        }
        Some(path).filter(|_| !is_known)
    }

    /// Tells of a link to sources that are not checked under their own name either, because their folder is left out.
    fn say_left_out(&mut self, link: &Path, target: &Path) {
        if self.config.is_excluded(target) {
            return;
        }
        if (target.is_dir() && has_source(target)) || has_ending(target, &["cu"]) {
            self.leave_unchecked(link, Unchecked::LeadsToLeftOut);
        }
    }

    /// Whether a path lies in a folder that is left out; a link must not lead back into one.
    fn is_below_left_out(&mut self, path: &Path) -> bool {
        let root = self.root.clone();
        let folders: Vec<&Path> =
            path.ancestors().take_while(|folder| *folder != root).filter(|folder| folder.is_dir()).collect();
        let hidden = |folder: &&Path| folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        folders.iter().any(hidden)
            || self.config.is_excluded(path)
            || folders.into_iter().any(|folder| self.is_foreign(folder))
    }
}

fn is_package(folder: &Path) -> bool {
    folder.join("Cargo.toml").is_file()
}

/// Limit on the entries of a folder that are looked at for sources.
const MAX_LOOKS: usize = 1000;

/// Whether a folder has a source that nvcc compiles among its first entries.
pub fn has_source(folder: &Path) -> bool {
    let entries = WalkDir::new(folder).into_iter().take(MAX_LOOKS).flatten();
    entries.into_iter().any(|entry| entry.file_type().is_file() && has_ending(entry.path(), &["cu", "cup"]))
}

/// Where build systems keep what they compile to probe a compiler: CMake, and Meson.
const PROBES: [&str; 2] = ["CMakeFiles", "meson-private"];

/// `target` next to a manifest, every folder marked as a cache (`CACHEDIR.TAG`), as cargo and Python mark theirs, and
/// probes of a compiler.
fn is_build_output(folder: &Path) -> bool {
    if PROBES.iter().any(|name| folder.ends_with(name)) {
        return true;
    }
    let beside_manifest = || folder.parent().is_some_and(|parent| parent.join("Cargo.toml").is_file());
    folder.join("CACHEDIR.TAG").is_file() || (folder.ends_with("target") && beside_manifest())
}
