//! Finds the files to check and the packages that they belong to.
//!
//! Without paths on the command line, these are the packages that cargo would build; with paths, those files and
//! folders, in a package or not. Nothing in the workspace is executed: `cargo metadata --no-deps` starts no compiler
//! (seen with cargo 1.95). Cargo itself is started where `rust-toolchain.toml` and `.cargo/config.toml` of the
//! workspace have no effect.

mod cargo;
mod include;
pub mod packages;
mod remember;
mod unchecked;
pub mod unmatched;
mod walk;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lmem_base::places::{Places, tree_of};
use lmem_base::source::{display_path, has_ending, normalize};
use lmem_base::way::{self, LeadsOut};

use crate::config::glob::GlobError;
use crate::config::nvcc_flags::is_safe_path;
use crate::config::{ConfigError, PackageConfig};
use packages::Projects;
use walk::Walk;

pub use packages::{Package, has_cuda as has_kernels};
pub use remember::Remember;
pub use unchecked::{NotChecked, Unchecked};
pub use unmatched::Unmatched;
pub use walk::has_source;

/// The selection of files on the command line.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Files and folders; empty to select packages.
    pub paths: Vec<PathBuf>,
    /// `--package`: names or globs.
    pub packages: Vec<String>,
    /// `--workspace`
    pub workspace: bool,
    /// `--exclude`: names or globs.
    pub exclude: Vec<String>,
    pub manifest_path: Option<PathBuf>,
    /// Absolute.
    pub current_folder: PathBuf,
    /// Cache for the output of cargo.
    pub memory: Option<Arc<dyn Remember>>,
}

/// The files to check, with their packages and settings.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    /// The folder that displayed paths are relative to: the workspace's, or the current one for files outside of
    /// packages.
    pub root: PathBuf,
    pub packages: Vec<Package>,
    /// Sorted by path.
    pub files: Vec<DiscoveredFile>,
    /// Files that were left out and why, for `-v`.
    pub notes: Vec<String>,
    /// Packages with CUDA files that the selected packages build but no run on this workspace checks. Always reported.
    pub left_out: Vec<String>,
    /// `.cu` files that others include by their text. Most are headers, which do not compile alone.
    pub included: Vec<DiscoveredFile>,
    /// Sources below the checked folders that are not checked.
    pub not_checked: Vec<NotChecked>,
    /// What cannot be checked. A kernel must not escape a check by its file's name, so this fails it.
    pub refused: Vec<Refused>,
    /// Settings that match nothing.
    pub unmatched: Vec<Unmatched>,
    /// Flags from the command line for all `.cu` files, in addition to their own.
    pub extra_flags: Vec<String>,
    /// Folders with compile commands, from the command line.
    pub build_folders: Vec<PathBuf>,
    /// Paths in them that `exclude` leaves out.
    pub excluded: Vec<PathBuf>,
    /// The folders that are checked with all that is in them: those of packages, and those named on the command line.
    pub whole: Vec<Whole>,
    /// Folders below them that are the tops of repositories.
    pub repositories: Vec<PathBuf>,
    /// The folders that belong to the checked tree: only text in them may be included and shown.
    pub places: Places,
}

/// A folder that is checked with all that is in it.
#[derive(Debug, Clone)]
pub struct Whole {
    pub folder: PathBuf,
    /// Says what is left out.
    config: Arc<PackageConfig>,
    /// Where it is a package's, and not one that was named: packages in it are not looked at.
    package: Option<usize>,
}

/// A source that cannot be checked, or settings that cannot be read.
#[derive(Debug, Clone)]
pub struct Refused {
    /// The source, or the file of settings.
    pub path: PathBuf,
    pub message: String,
    /// What to do.
    pub help: &'static str,
}

/// A `.cu`, `.rs`, `.ptx`, `.cubin` or `.fatbin` file.
#[derive(Debug, Clone)]
pub struct DiscoveredFile {
    /// Absolute, without `..`.
    pub path: PathBuf,
    /// Index in [`Workspace::packages`].
    pub package: Option<usize>,
    /// The settings of the package, else of the workspace, else the defaults.
    pub config: Arc<PackageConfig>,
    /// Named on the command line, so it is checked even if a rule would leave it out.
    pub explicit: bool,
}

/// Why there is nothing to check.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    #[error("there is no `Cargo.toml` or `lmem.toml` in `{}` or above it: name files or folders, as in `cargo lmem kernels/`", .0.display())]
    NoManifest(PathBuf),
    #[error("cargo cannot read the workspace: {0}")]
    Cargo(String),
    #[error("the workspace has no package `{spec}`{}", .near.as_ref().map(|near| format!(": did you mean `{near}`?")).unwrap_or_default())]
    NoPackage { spec: String, near: Option<String> },
    #[error("`{spec}` is not a package name or glob: {source}")]
    Glob { spec: String, source: GlobError },
    #[error("there is no file or folder `{}`", .0.display())]
    NoFile(PathBuf),
    #[error("there is nothing to check in `{}`", .folder.display())]
    Nothing { folder: PathBuf, hint: &'static str },
    #[error("`{}` cannot be checked: {reason}", .path.display())]
    NotAccepted { path: PathBuf, reason: &'static str },
    #[error("{0}: name what it leads to, if that is meant")]
    LeadsOut(LeadsOut),
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl Workspace {
    /// The package of a file.
    pub fn package_of(&self, file: &DiscoveredFile) -> Option<&Package> {
        self.packages.get(file.package?)
    }

    /// The file with a path, among those that are checked and those that are parts of others.
    pub fn file(&self, path: &Path) -> Option<&DiscoveredFile> {
        let found = self.files.binary_search_by(|file| file.path.as_path().cmp(path)).ok();
        let found = found.and_then(|at| self.files.get(at));
        found.or_else(|| self.included.iter().find(|file| file.path == path))
    }

    /// Whether all files of a package are to be checked, and not only some that were named.
    pub fn has_all_of(&self, package: &Package) -> bool {
        self.whole.iter().any(|whole| package.root.starts_with(&whole.folder))
    }

    /// Whether text of this file may be compiled for Rust code: the file is a regular one in the workspace or its
    /// repository. Otherwise a pull request could put the contents of private files into a report.
    pub fn may_read(&self, path: &Path) -> bool {
        self.places.hold_file(path)
    }

    /// Why a source of the checked folders is not looked at, though nobody said so.
    pub fn overlooks(&self, path: &Path) -> Option<Unchecked> {
        let depth = |folder: &Path| folder.components().count();
        let around = self.whole.iter().filter(|whole| path.starts_with(&whole.folder));
        let whole = around.max_by_key(|whole| depth(&whole.folder))?;
        if let Some(package) = whole.package.and_then(|index| self.packages.get(index)) {
            return Walk::of_package(package, &self.root).overlooks(path, &whole.folder);
        }
        // In a folder that was named, packages have settings of their own.
        let packages = self.packages.iter().filter(|package| path.starts_with(&package.root));
        let nearest = packages.max_by_key(|package| depth(&package.root));
        if nearest.is_some_and(|package| package.config.is_excluded(path)) {
            return None;
        }
        let mut walk = Walk::of_folder(&whole.config, &self.root);
        walk.target_folders = nearest.map(|package| package.target_folders.clone()).unwrap_or_default();
        walk.overlooks(path, &whole.folder)
    }

    /// The same workspace at another path, under which the records of its builds are stored.
    pub fn moved(&self, place: impl Fn(&Path) -> PathBuf) -> Self {
        let mut moved = self.clone();
        moved.root = place(&moved.root);
        for package in &mut moved.packages {
            package.root = place(&package.root);
            package.manifest_path = place(&package.manifest_path);
            package.target_folders.iter_mut().for_each(|folder| *folder = place(folder));
        }
        moved.files.iter_mut().for_each(|file| file.path = place(&file.path));
        moved
    }

    /// All `.rs` files of a package, also those outside the selection: any of them may contain a kernel's text.
    pub fn rust_files_of(&self, package: usize) -> Vec<PathBuf> {
        let Some(package) = self.packages.get(package) else { return Vec::new() };
        let mut walk = Walk::of_package(package, &self.root);
        walk.run(&package.root);
        walk.files.into_iter().filter(|path| has_ending(path, &["rs"])).collect()
    }
}

/// Finds the files to check.
///
/// # Errors
/// A path, package or manifest does not exist or cannot be used, or settings are invalid.
pub fn discover(scope: &Scope) -> Result<Workspace, DiscoverError> {
    let mut finding = match packages::root_without_cargo(scope) {
        Some(root) if scope.paths.is_empty() => {
            of_paths(&Scope { paths: vec![root.clone()], current_folder: root, ..scope.clone() })?.0
        }
        _ if scope.paths.is_empty() => of_packages(scope)?,
        _ => match of_paths(scope)? {
            (_, Some(empty)) => return Err(empty),
            (finding, None) => finding,
        },
    };
    finding.leave_out_unsafe_paths()?;
    finding.leave_out_headers();
    Ok(finding.into_workspace(scope))
}

/// The state of the search.
struct Finding {
    root: PathBuf,
    packages: Vec<Package>,
    files: BTreeMap<PathBuf, DiscoveredFile>,
    /// Files that may include others.
    headers: Vec<PathBuf>,
    notes: Vec<String>,
    left_out: Vec<String>,
    included: Vec<DiscoveredFile>,
    not_checked: Vec<NotChecked>,
    refused: Vec<Refused>,
    /// Paths that `exclude` leaves out.
    excluded: Vec<PathBuf>,
    /// Folders that were walked as a whole.
    whole: Vec<Whole>,
    repositories: Vec<PathBuf>,
    unmatched: Vec<Unmatched>,
}

fn of_packages(scope: &Scope) -> Result<Finding, DiscoverError> {
    let manifest = packages::manifest_of(scope)?;
    let project = cargo::metadata(&manifest, scope.memory.as_deref())?;
    let (selected, unmatched) = packages::select(&project, &manifest, scope)?;
    let left_out = packages::left_out(&project, &selected);
    let root = PathBuf::from(project.workspace_root.as_std_path());
    let programs = packages::programs(&project);
    let packages = selected.iter().map(|package| Package::new(package, &project, &programs));
    let packages = packages.collect::<Result<Vec<_>, _>>()?;
    let mut finding = Finding {
        root,
        packages,
        files: BTreeMap::new(),
        headers: Vec::new(),
        notes: Vec::new(),
        left_out,
        included: Vec::new(),
        not_checked: Vec::new(),
        refused: Vec::new(),
        excluded: Vec::new(),
        whole: Vec::new(),
        repositories: Vec::new(),
        unmatched,
    };
    for index in 0..finding.packages.len() {
        finding.walk_package(index);
    }
    let members =
        project.workspace_packages().into_iter().filter_map(|package| package.manifest_path.as_std_path().parent());
    let members: Vec<PathBuf> = members.map(Path::to_path_buf).collect();
    let seen = finding.files.keys().chain(&finding.excluded).cloned().collect();
    finding.unmatched.extend(unmatched::unmatched(&finding.packages, &members, &seen));
    Ok(finding)
}

/// The files of paths, and the error for a folder that has none.
fn of_paths(scope: &Scope) -> Result<(Finding, Option<DiscoverError>), DiscoverError> {
    let mut projects = Projects::default();
    projects.memory.clone_from(&scope.memory);
    let mut finding = Finding {
        root: scope.current_folder.clone(),
        packages: Vec::new(),
        files: BTreeMap::new(),
        headers: Vec::new(),
        notes: Vec::new(),
        left_out: Vec::new(),
        included: Vec::new(),
        not_checked: Vec::new(),
        refused: Vec::new(),
        excluded: Vec::new(),
        whole: Vec::new(),
        repositories: Vec::new(),
        unmatched: Vec::new(),
    };
    let mut empty = None;
    let mut folders = Vec::new();
    for path in &scope.paths {
        let path = normalize(&scope.current_folder.join(path));
        way::stays_in_own_tree(&path, &scope.current_folder).map_err(DiscoverError::LeadsOut)?;
        let metadata = std::fs::metadata(&path).map_err(|_| DiscoverError::NoFile(path.clone()))?;
        folders.push(if metadata.is_dir() { path.clone() } else { path.parent().map_or_else(PathBuf::new, normalize) });
        if metadata.is_dir() {
            let is_empty = finding.walk_folder(&path, &mut projects)?;
            empty = empty.or_else(|| is_empty.then(|| nothing_in(path, &finding)));
        } else {
            accept(&path, metadata.is_file())?;
            finding.add(path, true, &mut projects)?;
        }
    }
    let elsewhere = || common_folder(&folders).filter(|folder| !folder.starts_with(&scope.current_folder));
    if let Some(root) = projects.common_root().or_else(elsewhere) {
        finding.root = root;
    }
    finding.notes.append(&mut projects.notes);
    for (manifest, reason) in projects.broken {
        let name = display_path(&manifest, &finding.root);
        let message = format!("`{name}` cannot be used, so that its settings are not known: {reason}");
        let help = "`cargo metadata` in its folder says what is wrong";
        finding.refused.push(Refused { path: manifest, message, help });
    }
    finding.packages = projects.packages;
    Ok((finding, empty))
}

/// The one of some folders that all others lie in: edits are made below it, and files named relative to it. A folder above
/// them that nobody named could be anybody's.
fn common_folder(folders: &[PathBuf]) -> Option<PathBuf> {
    let above_all = |folder: &&PathBuf| folders.iter().all(|other| other.starts_with(folder));
    folders.iter().find(above_all).cloned()
}

/// The error for a folder that was named and has nothing to check: a check of nothing must not look like a clean one.
fn nothing_in(folder: PathBuf, finding: &Finding) -> DiscoverError {
    let is_excluded = finding.excluded.iter().any(|path| path.starts_with(&folder) || folder.starts_with(path));
    let hint = match (is_excluded, folder.join("compile_commands.json").is_file()) {
        (false, _) if !finding.not_checked.is_empty() => {
            "links that lead out of a folder are not followed: name the file"
        }
        (true, _) => "`exclude` in the settings leaves its files out; a file that is named is checked",
        (false, true) => "`-p FOLDER` takes the compile commands in it for the flags of the sources elsewhere",
        (false, false) => "headers are checked with the `.cu` files that include them",
    };
    DiscoverError::Nothing { folder, hint }
}

fn accept(path: &Path, is_regular: bool) -> Result<(), DiscoverError> {
    let reason = match path.extension().and_then(|ending| ending.to_str()) {
        _ if !is_regular => "it is neither a file nor a folder",
        Some("cu" | "rs" | "ptx" | "cubin" | "fatbin") => return Ok(()),
        Some("cuh" | "h" | "hpp" | "hh" | "inl") => "it is a header: name a `.cu` file that includes it",
        _ => "only `.cu`, `.rs`, `.ptx`, `.cubin` and `.fatbin` files are",
    };
    Err(DiscoverError::NotAccepted { path: path.to_path_buf(), reason })
}

impl Finding {
    fn walk_package(&mut self, index: usize) {
        let package = &self.packages[index];
        let mut walk = Walk::of_package(package, &self.root);
        walk.run(&package.root);
        let config = Arc::clone(&package.config);
        self.whole.push(Whole { folder: package.root.clone(), config, package: Some(index) });
        self.repositories.append(&mut walk.repositories);
        for path in walk.files {
            let config = Arc::clone(&package.config);
            let file = DiscoveredFile { path: path.clone(), package: Some(index), config, explicit: false };
            self.files.entry(path).or_insert(file);
        }
        self.headers.append(&mut walk.headers);
        self.excluded.append(&mut walk.excluded);
        self.notes.append(&mut walk.notes);
        self.not_checked.append(&mut walk.not_checked);
    }

    /// Adds a folder named on the command line with everything in it, nested packages too. Whether there is nothing.
    fn walk_folder(&mut self, folder: &Path, projects: &mut Projects) -> Result<bool, DiscoverError> {
        let place = projects.place_of(folder)?;
        let mut walk = Walk::of_folder(&place.config, folder);
        walk.run(folder);
        self.whole.push(Whole { folder: folder.to_path_buf(), config: Arc::clone(&place.config), package: None });
        self.repositories.append(&mut walk.repositories);
        // A package may have no file that is found by its name.
        for manifest in walk.manifests.iter().filter(|manifest| packages::may_name_files(manifest)) {
            projects.place_of(manifest.parent().unwrap_or(folder))?;
        }
        let mut is_empty = true;
        for path in walk.files {
            self.add(path.clone(), false, projects)?;
            match self.files.contains_key(&path) {
                true => is_empty = false,
                false => self.excluded.push(path),
            }
        }
        self.headers.append(&mut walk.headers);
        self.excluded.append(&mut walk.excluded);
        self.notes.append(&mut walk.notes);
        self.not_checked.append(&mut walk.not_checked);
        Ok(is_empty)
    }

    fn add(&mut self, path: PathBuf, explicit: bool, projects: &mut Projects) -> Result<(), DiscoverError> {
        let place = projects.place_of(path.parent().unwrap_or(&path))?;
        if !explicit && place.config.is_excluded(&path) {
            return Ok(());
        }
        let file = DiscoveredFile { path: path.clone(), package: place.package, config: place.config, explicit };
        self.files.entry(path).and_modify(|file| file.explicit |= explicit).or_insert(file);
        Ok(())
    }

    /// Leaves out paths that a shell would interpret when nvcc starts it, since file names come with a pull request.
    fn leave_out_unsafe_paths(&mut self) -> Result<(), DiscoverError> {
        let is_unsafe = |path: &Path| has_ending(path, &["cu"]) && !is_safe_path(path);
        let (left_out, kept) = std::mem::take(&mut self.files).into_iter().partition(|(path, _)| is_unsafe(path));
        self.files = kept;
        let left_out: BTreeMap<PathBuf, DiscoveredFile> = left_out;
        for (path, file) in left_out {
            let reason = "its path holds a character that a shell would act on, and nvcc starts its tools through one";
            if file.explicit {
                return Err(DiscoverError::NotAccepted { path, reason });
            }
            let message = format!("`{}` is not checked: {reason}", display_path(&path, &self.root));
            let help = "rename it, or leave it out with `exclude` in `[package.metadata.lmem]`";
            self.refused.push(Refused { path, message, help });
        }
        Ok(())
    }

    fn leave_out_headers(&mut self) {
        let units: BTreeMap<&Path, &DiscoveredFile> = self
            .files
            .iter()
            .filter(|(path, _)| has_ending(path, &["cu"]))
            .map(|(path, file)| (path.as_path(), file))
            .collect();
        let root_of = |file: &DiscoveredFile| {
            file.package.and_then(|index| self.packages.get(index)).map(|package| package.root.as_path())
        };
        let included = include::included_units(&units, &self.headers, |file| root_of(file).unwrap_or(&self.root));
        for path in included {
            let name = display_path(&path, &self.root);
            self.notes
                .push(format!("`{name}` is included by other files: what of it compiles alone is checked alone too"));
            self.included.extend(self.files.remove(&path));
        }
    }

    fn into_workspace(mut self, scope: &Scope) -> Workspace {
        self.notes.sort();
        self.notes.dedup();
        self.not_checked.sort();
        self.not_checked.dedup();
        self.excluded.sort();
        self.excluded.dedup();
        let folders = self.packages.iter().map(|package| package.root.clone());
        let given = scope.paths.iter().map(|path| normalize(&scope.current_folder.join(path)));
        let given =
            given.map(|path| if path.is_dir() { path } else { path.parent().map(Path::to_path_buf).unwrap_or(path) });
        let places = folders.chain(given).chain([self.root.clone()]).map(|folder| tree_of(&folder));
        let places = Places::new(places);
        let files = self.files.into_values().collect();
        Workspace {
            root: self.root,
            packages: self.packages,
            files,
            notes: self.notes,
            left_out: self.left_out,
            included: self.included,
            not_checked: self.not_checked,
            refused: self.refused,
            unmatched: self.unmatched,
            extra_flags: Vec::new(),
            build_folders: Vec::new(),
            excluded: self.excluded,
            whole: self.whole,
            repositories: self.repositories,
            places,
        }
    }
}

#[cfg(test)]
mod tests;
