//! Collects the units of a run: those of the workspace with their build flags, or those that a program compiles.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::SystemTime;

use cuda_toolkit::{self, Toolkit};
use lmem_base::places;
use lmem_base::source::{has_ending, normalize};
use lmem_extract::{Extraction, RustCode};
use lmem_project::build_flags::{self, Asked, BuildFlags, CaptureError};
use lmem_project::config::PackageConfig;
use lmem_project::discover::{DiscoverError, NotChecked, Scope, Unchecked, Workspace, discover, has_source};

use super::request::Request;
use super::tools::select_toolkit;
use super::{CheckError, Revision, not_captured, target};
use crate::cache::Cache;
use crate::git;
use crate::run::{self, RunError};

/// The workspace of a run. A traced program need not belong to a workspace.
///
/// A build folder that was named makes the current folder a project, as an `lmem.toml` does.
pub(super) fn workspace(
    scope: &Scope,
    builds: &[PathBuf],
    program: Option<&[OsString]>,
) -> Result<Workspace, DiscoverError> {
    match discover(scope) {
        Err(DiscoverError::NoManifest(folder)) if !builds.is_empty() && scope.packages.is_empty() => {
            discover(&Scope { paths: vec![folder], ..scope.clone() })
        }
        Err(DiscoverError::NoManifest(_)) if program.is_some() => {
            let mut workspace = Workspace::default();
            workspace.root.clone_from(&scope.current_folder);
            Ok(workspace)
        }
        result => result,
    }
}

/// Limit on repositories in the folders that are checked whose tracked files are listed.
const MAX_REPOSITORIES: usize = 100;

/// The units to compile, and facts found while collecting them.
pub(super) struct Gathered {
    pub extraction: Extraction,
    /// The toolkit, if it was needed already.
    pub toolkit: Option<Toolkit>,
    /// The architectures that builds compile for.
    pub built_for: Vec<String>,
    /// What to do about assumed flags.
    pub flag_advice: String,
    /// Files that builds compile as CUDA and that are not checked.
    pub not_checked: Vec<NotChecked>,
    /// Exit status of the traced program.
    pub ended: Option<ExitStatus>,
}

pub(super) struct Gatherer<'a> {
    pub request: &'a Request<'a>,
    /// The architectures of the command line.
    pub architectures: &'a [String],
    pub workspace: &'a Workspace,
    pub cache: Option<&'a Cache>,
}

/// Cache key for the Rust analysis: everything known about a workspace before its Rust code is read. Many files share
/// settings.
fn description(workspace: &Workspace, builds: &BuildFlags) -> String {
    let mut configs: Vec<*const PackageConfig> = Vec::new();
    let mut text = format!("{:?}\n{:?}\n{:?}\n{builds:?}\n", workspace.root, workspace.packages, workspace.places);
    let whole: Vec<&PathBuf> = workspace.whole.iter().map(|whole| &whole.folder).collect();
    text.push_str(&format!("{:?}\n{:?}\n", whole, workspace.not_checked));
    for file in &workspace.files {
        let config = Arc::as_ptr(&file.config);
        let number = configs.iter().position(|known| *known == config).unwrap_or_else(|| {
            configs.push(config);
            text.push_str(&format!("{:?}\n", file.config));
            configs.len() - 1
        });
        text.push_str(&format!("{:?} {:?} {} {number}\n", file.path, file.package, file.explicit));
    }
    text
}

impl<'a> Gatherer<'a> {
    /// The revision that the workspace is of, if it is not the user's tree; its builds are those of the user's tree.
    fn revision(&self) -> Option<&'a Revision> {
        self.request.surroundings.revision
    }

    pub fn gather(&self, program: Option<&[OsString]>) -> Result<Gathered, CheckError> {
        match program {
            Some(command) => self.of_program(command),
            None => self.of_workspace(),
        }
    }

    fn of_workspace(&self) -> Result<Gathered, CheckError> {
        let mut not_checked = Vec::new();
        let tracked = self.tracked(&mut not_checked);
        let (builds, toolkit) = match self.request.arguments.capture && !self.request.is_recorded() {
            true => {
                let toolkit = select_toolkit(self.request, self.workspace)?;
                (self.capture(&toolkit)?, Some(toolkit))
            }
            false => {
                let records = cuda_toolkit::cache_root().ok().filter(|_| !self.request.is_recorded());
                (self.known_builds(records.as_deref(), &tracked), None)
            }
        };
        builds.notes.iter().for_each(|note| self.request.talk.note(note));
        builds.details.iter().for_each(|note| self.request.talk.detail(&format!("note: {note}")));
        let extraction = lmem_extract::with_rust_code(self.rust_code(&builds), self.workspace, &builds);
        if self.request.arguments.capture {
            let notes = not_captured::notes(&extraction, self.workspace, &builds);
            let elsewhere = not_captured::elsewhere(self.workspace, builds.files());
            notes.iter().chain(&elsewhere).for_each(|note| self.request.talk.note(note));
        }
        let missing = not_captured::not_in_database(&extraction, self.workspace, &builds);
        missing.iter().for_each(|note| self.request.talk.note(note));
        not_checked.extend(self.not_checked(&builds, &tracked));
        not_checked.extend(extraction.not_checked.iter().cloned());
        extraction.notes.iter().for_each(|note| self.request.talk.detail(&format!("note: {note}")));
        let flag_advice = not_captured::advice(self.workspace, &builds);
        let built_for = builds.architectures();
        Ok(Gathered { extraction, toolkit, built_for, flag_advice, not_checked, ended: None })
    }

    fn known_builds(&self, records: Option<&Path>, tracked: &BTreeSet<PathBuf>) -> BuildFlags {
        let Some(revision) = self.revision() else { return build_flags::known(self.workspace, records) };
        let moved =
            |builds: BuildFlags| builds.moved(|path| revision.place(path), |argument| revision.argument(argument));
        let own = build_flags::known(&self.workspace.moved(|path| revision.origin(path)), records);
        // Commands that git tracks are part of the revision: a change of them may hide what they compile.
        let is_tracked = own.databases.iter().any(|path| tracked.contains(&revision.place(path)));
        let then = build_flags::known(self.workspace, None);
        match is_tracked || !then.databases.is_empty() {
            true => moved(own).with_commands_of(moved(then)),
            false => moved(own),
        }
    }

    /// The files that git tracks and that matter beside those that are found: they cannot be there by chance. Without
    /// a repository, there are none. What cannot be asked for is added to what is not checked.
    fn tracked(&self, not_checked: &mut Vec<NotChecked>) -> BTreeSet<PathBuf> {
        if self.request.is_recorded() {
            return BTreeSet::new();
        }
        let is_hidden = |path: &str| path.split('/').any(|part| part.starts_with('.'));
        let is_named =
            |path: &str| path.ends_with(".cu") || path.ends_with(".cup") || path.ends_with("compile_commands.json");
        // A submodule is tracked by the name of its folder, and hidden ones are not walked.
        let matters = |path: &str| is_named(path) || is_hidden(path);
        let mut tracked = |folder: &Path| match git::tracked(folder, matters, self.request.cancel) {
            Ok(tracked) => tracked,
            Err(error) => {
                let is_refused = matches!(error, git::GitError::Refused(_));
                let refused = NotChecked { why: Unchecked::Repository, path: folder.join(".git") };
                not_checked.extend(Some(refused).filter(|_| is_refused));
                BTreeSet::new()
            }
        };
        if let Some(revision) = self.revision() {
            return tracked(&revision.top).into_iter().map(|path| revision.place(&path)).collect();
        }
        let below = self.workspace.repositories.iter().take(MAX_REPOSITORIES);
        git::below(self.workspace.whole.iter().map(|whole| &whole.folder).chain(below), &mut tracked)
    }

    fn is_below_a_named_folder(&self, path: &Path) -> bool {
        let Ok(current) = self.request.surroundings.current() else { return false };
        let mut named = self.request.arguments.paths.iter().map(|named| normalize(&current.join(named)));
        named.any(|folder| path.starts_with(folder))
    }

    /// Sources of the workspace that are not checked though a build or git knows them.
    fn not_checked(&self, builds: &BuildFlags, tracked: &BTreeSet<PathBuf>) -> Vec<NotChecked> {
        // It says how files are compiled, those that are named too.
        let unreadable = builds.unreadable.iter();
        let mut found: Vec<NotChecked> =
            unreadable.map(|path| NotChecked { why: Unchecked::Commands, path: path.clone() }).collect();
        let mut others = not_captured::not_looked_at(self.workspace, builds);
        // Who names files or packages means these alone.
        if self.request.chooses() {
            others.retain(|other| self.is_below_a_named_folder(&other.path));
        }
        let checked: BTreeSet<&Path> = self.workspace.files.iter().map(|file| file.path.as_path()).collect();
        // nvcc compiles a file that is called `.cu`, too.
        let is_source =
            |path: &Path| has_ending(path, &["cu", "cup"]) || path.file_name().is_some_and(|name| name == ".cu");
        let sources = tracked.iter().filter(|path| is_source(path) && !checked.contains(path.as_path()));
        let overlooked = sources
            .filter(|path| places::is_regular(path))
            .filter_map(|path| Some(NotChecked { why: self.workspace.overlooks(path)?, path: path.clone() }));
        found.extend(overlooked);
        let folders = tracked.iter().filter(|path| !is_source(path));
        let submodules = folders.filter(|path| path.is_dir() && has_source(path));
        let hidden = submodules.filter(|folder| self.workspace.overlooks(folder).is_some());
        found.extend(hidden.map(|folder| NotChecked { why: Unchecked::Submodule, path: folder.clone() }));
        let others: Vec<NotChecked> =
            others.into_iter().filter(|other| found.iter().all(|known| known.path != other.path)).collect();
        found.extend(others);
        found
    }

    /// The kernels in Rust code, from the cache if no input has changed.
    fn rust_code(&self, builds: &BuildFlags) -> RustCode {
        let look = || lmem_extract::rust_code(self.workspace, builds);
        let Some(cache) = self.cache else { return look() };
        let Some(key) = cache.result_key("Rust code", &description(self.workspace, builds)) else { return look() };
        if let Some(code) = cache.result(&key, None) {
            return code;
        }
        let since = SystemTime::now();
        let (code, asked) = places::watched(look);
        // If this fails, the next run repeats the analysis; the artifacts report that the cache is not writable.
        drop(cache.keep_result(&key, None, &code, asked, since));
        code
    }

    fn of_program(&self, command: &[OsString]) -> Result<Gathered, CheckError> {
        let toolkit = select_toolkit(self.request, self.workspace)?;
        let interrupted = |error| match error {
            RunError::Interrupted => CheckError::Interrupted,
            error => CheckError::Run(error),
        };
        let watched = run::watch(command, &toolkit, self.request.cancel).map_err(interrupted)?;
        if !watched.status.success() {
            self.request.talk.note(&format!("`{}` ended with {}", command[0].to_string_lossy(), watched.status));
        }
        let extraction = run::extract(&watched, self.workspace, &toolkit, &cuda_toolkit::cache_root()?)?;
        extraction.notes.iter().for_each(|note| self.request.talk.note(note));
        if extraction.units.is_empty() {
            self.request.talk.note("the program had NVRTC compile nothing");
        }
        Ok(Gathered {
            extraction,
            toolkit: Some(toolkit),
            built_for: Vec::new(),
            flag_advice: String::new(),
            not_checked: Vec::new(),
            ended: Some(watched.status),
        })
    }

    /// Runs the project's build scripts, and records what they compile.
    fn capture(&self, toolkit: &Toolkit) -> Result<BuildFlags, CheckError> {
        let configured = self.workspace.packages.iter().flat_map(|package| package.config.arch_for(&package.root));
        let architecture = self.architectures.first().cloned().or_else(|| configured.map(ToString::to_string).next());
        let asked = Asked {
            features: &self.request.arguments.features.for_cargo(),
            architecture: &architecture.unwrap_or_else(target::likely),
            offline: self.request.arguments.offline,
            quiet: self.request.arguments.quiet,
        };
        let cache_root = cuda_toolkit::cache_root()?;
        match build_flags::capture(self.workspace, toolkit, &asked, &cache_root, self.request.cancel) {
            Err(CaptureError::Interrupted) => Err(CheckError::Interrupted),
            result => Ok(result?),
        }
    }
}
