//! Finds the files below a folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use walkdir::{DirEntry, WalkDir};

use lmem_base::places;
use lmem_base::source::{display_path, has_ending};

use crate::config::PackageConfig;
use crate::discover::packages::Package;

const HEADER_ENDINGS: &[&str] = &["cuh", "h", "hpp", "hh", "inl", "inc"];

/// The rules of one walk, and its results.
pub(super) struct Walk {
    config: Arc<PackageConfig>,
    /// Folders that cargo writes to.
    target_folders: Vec<PathBuf>,
    /// Whether folders with their own manifest are skipped.
    skips_packages: bool,
    /// The folder that paths in notes are relative to, and that symbolic links must not leave.
    root: PathBuf,
    pub files: Vec<PathBuf>,
    pub headers: Vec<PathBuf>,
    /// Paths that the settings leave out.
    pub excluded: Vec<PathBuf>,
    pub notes: Vec<String>,
    /// Sources that are not checked, although they are below the folder: said in every run.
    pub left_out: Vec<String>,
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
            excluded: Vec::new(),
            notes: Vec::new(),
            left_out: Vec::new(),
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
                Err(error) => self.left_out.push(format!("a folder cannot be read, and is not checked: {error}")),
                Ok(entry) if entry.depth() > 0 && self.is_left_out(&entry) => {
                    if entry.file_type().is_dir() {
                        entries.skip_current_dir();
                    }
                }
                Ok(entry) if entry.file_type().is_symlink() => links.push(entry.into_path()),
                Ok(entry) if entry.file_type().is_file() => self.take(entry.into_path()),
                Ok(entry) if entry.file_type().is_dir() => places::asked_for(entry.path()),
                Ok(_) => {}
            }
        }
        links
    }

    fn take(&mut self, path: PathBuf) {
        if has_ending(&path, &["cu", "rs"]) {
            self.files.push(path);
        } else if has_ending(&path, HEADER_ENDINGS) {
            self.headers.push(path);
        }
    }

    fn is_left_out(&mut self, entry: &DirEntry) -> bool {
        let path = entry.path();
        if self.config.is_excluded(path) {
            self.excluded.push(path.to_path_buf());
            return true;
        }
        if entry.file_name().to_string_lossy().starts_with('.') {
            return true;
        }
        entry.file_type().is_dir() && self.is_foreign(path)
    }

    /// Whether a folder holds build outputs or code of others.
    fn is_foreign(&mut self, folder: &Path) -> bool {
        let is_target = self.target_folders.iter().any(|target| target == folder) || is_build_output(folder);
        if is_target || (self.skips_packages && folder.join("Cargo.toml").is_file()) {
            return true;
        }
        let is_submodule = folder.join(".git").is_file();
        if is_submodule {
            self.notes.push(format!("the git submodule `{}` is not checked", display_path(folder, &self.root)));
        }
        is_submodule
    }

    /// The target of a symbolic link, if it is to be walked: below the root, and not walked anyway.
    fn target_of(&mut self, link: &Path, walked: &BTreeSet<PathBuf>) -> Option<PathBuf> {
        let Ok(target) = fs_err::canonicalize(link) else {
            if has_ending(link, &["cu"]) {
                let shown = display_path(link, &self.root);
                self.left_out.push(format!("`{shown}` is a link that leads nowhere: not checked"));
            }
            return None;
        };
        let is_wanted = target.is_dir() || has_ending(&target, &["cu", "rs"]) || has_ending(&target, HEADER_ENDINGS);
        let is_known =
            walked.iter().any(|folder| fs_err::canonicalize(folder).is_ok_and(|folder| target.starts_with(folder)));
        if !is_wanted && has_ending(link, &["cu"]) {
            let shown = display_path(link, &self.root);
            self.left_out.push(format!("`{shown}` is a link to a file of another kind: not checked"));
        }
        if is_known && is_wanted && has_ending(link, &["cu"]) {
            self.say_left_out(link, &target);
        }
        if !is_wanted || is_known {
            return None;
        }
        let root = fs_err::canonicalize(&self.root).ok()?;
        let Ok(relative) = target.strip_prefix(&root) else {
            let shown = display_path(link, &self.root);
            // A linked source would be a unit of its own; a linked folder may be anything.
            match has_ending(link, &["cu"]) || has_ending(&target, &["cu"]) {
                true => self.left_out.push(format!("`{shown}` is a link that leads out of the workspace: not checked")),
                false => self.notes.push(format!("`{shown}` is a link that leads out of the workspace: not followed")),
            }
            return None;
        };
        // Joined with the root as it was given, so that each file has one path.
        let path = self.root.join(relative);
        if self.is_below_left_out(&path) {
            if has_ending(link, &["cu"]) {
                self.say_left_out(link, &target);
            }
            return None;
        }
        Some(path)
    }

    /// A note for a linked source that is not checked under its own name either, because its folder is left out.
    fn say_left_out(&mut self, link: &Path, target: &Path) {
        let is_checked = self.files.iter().any(|file| fs_err::canonicalize(file).is_ok_and(|file| file == target));
        if !is_checked && !self.config.is_excluded(target) {
            let shown = display_path(link, &self.root);
            self.left_out.push(format!("`{shown}` is a link into a folder that is left out: not checked"));
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
