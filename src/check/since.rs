//! Effects of a change: compares the findings of the working tree or the index with those of an older revision.
//!
//! The older revision is written to the cache as a tree, and goes through the same pipeline. Cache entries do not
//! depend on the location of a tree, so unchanged units are compiled once. Build flags are the current ones: records
//! and compile commands are those of the user's own tree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lmem_base::comparison::{KernelComparison, Version};
use lmem_base::diagnostic::{Code, Diagnostic, Help, Report, Severity, SinceTally};
use lmem_base::gpu::Arch;
use lmem_base::source::{has_ending, normalize};
use lmem_base::way;
use lmem_base::words::plural;
use lmem_project::discover::{DiscoverError, NotChecked, Unchecked, Workspace};
use lmem_unit::Unresolved;

use super::hidden::{self, Checked};
use super::jobs::Job;
use super::not_analysed;
use super::revision::Revision;
use super::surroundings::Surroundings;
use super::unit::UnitReport;
use super::{CheckError, Outcome, Talk};
use super::{loosened, otherwise};
use crate::cli::CheckArgs;
use crate::gate::{Against, Baseline};
use crate::git::{Changes, Checkout, GitError, Repository, TreeEntry};

/// Endings of files that sources include.
const HEADERS: [&str; 9] = ["cuh", "h", "hh", "hpp", "hxx", "inc", "inl", "ipp", "tpp"];

/// The units that are compared with those of the revision.
#[derive(Debug, Default)]
pub struct Reached {
    /// Files that the change may reach.
    pub files: BTreeSet<PathBuf>,
    /// Those that differ, or that include what differs.
    pub changed: BTreeSet<PathBuf>,
}

/// What a run found, to be compared.
pub struct Now<'a> {
    /// All kernels, if they are compared.
    pub kernels: Option<Version>,
    /// Those that were compiled, without namespaces and template arguments.
    pub compiled: &'a BTreeSet<String>,
    /// Files that the change reaches.
    pub reached: &'a Reached,
    /// Files that do not compile.
    pub failing: &'a BTreeSet<PathBuf>,
    /// These, and files that are compiled for debugging: nothing is known of their kernels.
    pub unknown: &'a BTreeSet<PathBuf>,
    /// Sources that no unit stands for, beside those of the workspace.
    pub not_checked: &'a [NotChecked],
    /// Rust code and texts that are beyond what is followed.
    pub beyond: &'a [Unresolved],
    /// Whether comments or settings silence a lint in a file.
    pub is_silent: &'a dyn Fn(&str, &str) -> bool,
    /// Gives a remark its level.
    pub leveled: &'a dyn Fn(Diagnostic) -> Option<Diagnostic>,
    /// Checks in other surroundings, in silence: those of the revision.
    pub check: &'a dyn Fn(&Surroundings<'_>, &CheckArgs) -> Result<Outcome, CheckError>,
}

/// The outcome of a comparison.
pub struct Judged {
    /// Those of the failing files that did not compile before either: the change is not to blame for them.
    pub never_compiled: BTreeSet<PathBuf>,
    /// The revision was checked, or has none of the files.
    pub is_known: bool,
}

/// The older revision.
enum Old {
    Checked(Box<Outcome>),
    /// It has none of the files.
    Nothing,
    /// It cannot be checked.
    Unknown,
}

/// A comparison: the tree that is checked, and the revision that it is compared with.
pub struct Since {
    /// The revision as the user names it.
    name: String,
    /// Its commit.
    commit: Option<String>,
    old: Revision,
    /// The staged files, if they are checked in place of the working tree.
    staged: Option<Revision>,
    changes: Changes,
    /// The revision has symbolic links.
    has_links: bool,
    /// There is no commit yet.
    is_first: bool,
    /// All kernels are compared, and not only findings.
    compares_kernels: bool,
    current: PathBuf,
    /// The arguments as typed.
    arguments: CheckArgs,
    /// Keeps the trees locked until the end.
    _checkouts: Vec<Checkout>,
}

impl Since {
    /// The comparison that the command line requests, if any.
    ///
    /// # Errors
    /// There is no repository, or no such revision.
    pub fn of(
        arguments: &CheckArgs,
        surroundings: &Surroundings<'_>,
        cancel: &AtomicBool,
        talk: &Talk,
    ) -> Result<Option<Self>, CheckError> {
        let compares_kernels = surroundings.compares_kernels;
        if arguments.changed_since.is_none() && !arguments.staged && !compares_kernels {
            return Ok(None);
        }
        if surroundings.program.is_some() {
            return Err(CheckError::Usage("a program that runs cannot be compared with a revision of it".to_string()));
        }
        let current = surroundings.current()?;
        let name = arguments.changed_since.clone().unwrap_or_else(|| "HEAD".to_string());
        let cache_root = cuda_toolkit::cache_root()?;
        let repository = Repository::around(&place_of(arguments, &current), cancel)?;
        // Before the first commit there is nothing to compare with.
        let is_first =
            arguments.changed_since.is_none() && matches!(repository.commit("HEAD"), Err(GitError::NoCommit));
        let commit = if is_first { None } else { Some(repository.commit(&name)?) };
        let (files, changes) = match &commit {
            Some(commit) => (repository.files_of(commit)?, repository.changes_since(commit, arguments.staged)?),
            None => (Vec::new(), Changes::default()),
        };
        missing_path(arguments, &current, &name, &repository, &files)?;
        let mut checkouts = vec![Checkout::new(&repository, &files, "revision", &cache_root)?];
        if arguments.staged {
            checkouts.push(Checkout::new(&repository, &repository.staged_files()?, "staged", &cache_root)?);
        }
        let revision = |checkout: &Checkout| Revision { top: repository.top.clone(), tree: checkout.tree.clone() };
        talk.detail(&format!("compared with `{name}` ({})", commit.as_deref().unwrap_or("nothing yet")));
        Ok(Some(Self {
            name,
            commit,
            old: revision(&checkouts[0]),
            staged: checkouts.get(1).map(revision),
            changes,
            has_links: files.iter().any(TreeEntry::is_link),
            is_first,
            compares_kernels,
            current,
            arguments: arguments.clone(),
            _checkouts: checkouts,
        }))
    }

    /// The staged files, with the command line mapped to them.
    pub fn staged(&self) -> Option<(&Revision, PathBuf, CheckArgs)> {
        let staged = self.staged.as_ref()?;
        let moved = staged.arguments(&self.arguments, &self.current, Path::to_path_buf);
        Some((staged, staged.place(&self.current), moved))
    }

    /// Drops findings in units that the change does not affect, and returns the files of the others.
    pub(super) fn keep_changed(&self, jobs: &[Job<'_>], reports: &mut [UnitReport]) -> Reached {
        let mut reached = Reached::default();
        let is_everywhere = self.is_everywhere();
        for (job, report) in jobs.iter().zip(reports) {
            let path = job.unit.path();
            let is_changed = self.has_changed(&path, report);
            if is_changed {
                reached.changed.insert(path.clone());
            }
            match is_everywhere || report.failed || is_changed || self.may_be_included(&path) {
                true => _ = reached.files.insert(path),
                false => report.diagnostics.clear(),
            }
        }
        reached
    }

    /// Whether Rust code may have a text of a file that differs: `include_str!`, or machine code that it loads.
    fn may_be_included(&self, unit: &Path) -> bool {
        has_ending(unit, &["rs"]) && self.changes.changed.iter().any(|path| may_be_sought(path))
    }

    /// Whether a unit's own file differs, or one that the compiler read.
    fn has_changed(&self, unit: &Path, report: &UnitReport) -> bool {
        let base = self.staged.as_ref().map_or(&self.old.top, |staged| &staged.tree);
        let mut read = report.dependencies.iter().filter(|path| path.starts_with(base));
        self.is_first || self.is_changed(unit) || read.any(|path| self.is_changed(path))
    }

    /// Whether the change may affect any unit. Its list of files that were read does not tell: a new file is found before
    /// those, or answers `__has_include`; without a deleted one, the compiler finds another of the same name; and a link
    /// leads elsewhere, or has what differs under another name. What does not change in the end is in the cache, so that this costs little.
    fn is_everywhere(&self) -> bool {
        let Changes { changed, added, deleted, redirected, .. } = &self.changes;
        let decides = |path: &String| is_setting(path) || path.ends_with(".rs");
        self.is_first
            || changed.iter().any(decides)
            || added.iter().chain(deleted).any(|path| may_be_sought(path))
            || !redirected.is_empty()
            || self.has_links && changed.iter().any(|path| may_be_sought(path))
    }

    /// Whether a file of the run differs from that of the revision; files that git does not have are assumed to.
    fn is_changed(&self, path: &Path) -> bool {
        let own = self.own(path);
        let relative = own.strip_prefix(&self.old.top).ok();
        let changed = |relative: &str| self.changes.changed.contains(relative);
        relative.is_none_or(|relative| relative.to_str().is_none_or(changed) || self.is_redirected(relative))
    }

    /// Whether a path from the top is a link or a submodule that leads elsewhere, or lies behind one.
    fn is_redirected(&self, relative: &Path) -> bool {
        let redirected = |above: &Path| above.to_str().is_some_and(|above| self.changes.redirected.contains(above));
        relative.ancestors().any(redirected)
    }

    /// Whether a remark is new: the change affects it, and the revision does not have it. Errors stay if the change makes
    /// a file fail: one text may stand for several files.
    fn is_new_remark(&self, diagnostic: &Diagnostic, known: &Remarks, has_failed: bool) -> bool {
        if matches!(diagnostic.code, Code::Lint(_)) {
            return true;
        }
        if diagnostic.severity == Severity::Error {
            return has_failed || !known.contains_key(&identity(diagnostic));
        }
        let file = diagnostic.primary.as_ref().map(|label| &label.span.file.path);
        let is_touched = self.is_everywhere() || file.is_none_or(|path| self.is_changed(path));
        is_touched && !known.contains_key(&identity(diagnostic))
    }

    /// Keeps findings that the older revision does not have, or has with fewer bytes.
    ///
    /// # Errors
    /// The run was interrupted, or the toolkit has become unusable.
    pub(super) fn judge(
        &self,
        report: &mut Report,
        now: Now<'_>,
        workspace: &Workspace,
        talk: &Talk,
    ) -> Result<Judged, CheckError> {
        let Now { kernels, compiled, reached, failing, unknown, not_checked, beyond, is_silent, leveled, check } = now;
        let changed = &reached.files;
        let asked_now = report.summary.architectures.clone();
        let (mut old, is_known) = match self.old_report(changed, workspace, &asked_now, check, talk)? {
            Old::Checked(old) => (Some(*old), true),
            Old::Nothing => (None, !self.is_first),
            Old::Unknown => (None, false),
        };
        let left_out = old.as_ref().map(|old| self.left_out(&old.workspace, workspace)).unwrap_or_default();
        let asked_then: BTreeSet<String> = match (&old, self.arguments.arch.is_empty()) {
            (Some(old), true) => {
                old.workspace.files.iter().flat_map(|file| &file.config.arch).map(Arch::to_string).collect()
            }
            _ => BTreeSet::new(),
        };
        let before = |path: &Path| self.old.place(&self.old_name(&self.own(path)));
        let dropped: Vec<&String> =
            asked_then.iter().filter(|name| !asked_now.is_empty() && !asked_now.contains(name)).collect();
        let is_said = |architecture: &String| dropped.contains(&architecture);
        let otherwise = old
            .as_ref()
            .map(|old| otherwise::notes(&old.workspace, workspace, before, self.arguments.arch.is_empty(), is_said));
        let otherwise = otherwise.unwrap_or_default();
        let loosened = match &old {
            Some(old) => loosened::remark(&old.workspace, workspace, before, &self.name, &self.arguments)?,
            None => None,
        };
        let never_compiled = self.never_compiled(old.as_ref(), failing, talk);
        let before = old.as_mut().and_then(|old| old.kernels.take());
        let (root, old_root) =
            old.as_ref().map_or((&workspace.root, &workspace.root), |old| (&workspace.root, &old.workspace.root));
        let old = old.as_ref().map(|old| old.report.diagnostics.as_slice()).unwrap_or_default();
        let name = |file: &str| self.name_now(file, root, old_root);
        let remarks = remarks(old, &name);
        report.comparison = kernels.map(|now| self.compared(before, now, changed, root, name));
        // A kernel may move between files that the change reaches.
        let is_new = |architecture: &str| !asked_then.is_empty() && !asked_then.contains(architecture);
        let baseline = Baseline::of(old).without_budgets(is_new).with_files(name).following(&report.diagnostics);
        let mut tally = baseline.apply(&mut report.diagnostics, Against::Revision(&self.name));
        // What is in files that do not compile is not gone.
        let unknown_names: BTreeSet<String> =
            unknown.iter().map(|path| lmem_base::source::display_path(path, root)).collect();
        tally.forget_gone(|entry| unknown_names.contains(&entry.file));
        let has_failed = failing.len() > never_compiled.len();
        report.diagnostics.retain(|diagnostic| self.is_new_remark(diagnostic, &remarks, has_failed));
        let sources = workspace.not_checked.iter().chain(not_checked).cloned().chain(self.absent(workspace));
        let touched = self.touched(sources, beyond, &report.diagnostics, workspace);
        report.diagnostics.extend(touched.into_iter().filter_map(leveled));
        let checked = Checked { left_out: &left_out, dropped: &dropped, otherwise: &otherwise, is_silent, compiled };
        report.diagnostics.extend(hidden::take(&mut tally, &checked, workspace, &self.name).and_then(leveled));
        // What a source reads that does not compile is not known.
        let has_header = self.changes.changed.iter().any(|path| has_ending(Path::new(path), &HEADERS));
        let is_touched = |path: &&PathBuf| has_header || reached.changed.contains(*path) || self.is_changed(path);
        let untold: Vec<&PathBuf> = never_compiled.iter().filter(is_touched).collect();
        let never = format!("compiled neither in `{}` nor now", self.name);
        report.diagnostics.extend(untold_of(&untold, &never, "make it compile", root).and_then(leveled));
        // Of a source that is compiled for debugging nothing is known, and that it is may be as before.
        let is_told = |path: &&PathBuf| {
            let place = |known: &Diagnostic| known.primary.as_ref().is_some_and(|label| label.span.file.path == **path);
            report.diagnostics.iter().any(place) || not_checked.iter().any(|it| it.path == **path)
        };
        let debug = unknown.difference(failing).filter(is_touched).filter(|path| !is_told(path));
        let debug: Vec<&PathBuf> = debug.collect();
        let as_before = format!("is compiled for debugging, as in `{}`", self.name);
        let untold = untold_of(&debug, &as_before, "take `-G` from its flags", root);
        report.diagnostics.extend(untold.and_then(leveled));
        report.diagnostics.extend(loosened);
        report.summary.since = Some(SinceTally {
            revision: self.name.clone(),
            changed_units: reached.changed.len(),
            compared_units: changed.len(),
            tally,
        });
        report.summary.failed_units = report.summary.failed_units.saturating_sub(never_compiled.len());
        report.count_findings();
        Ok(Judged { never_compiled, is_known })
    }

    /// The warnings and errors for sources that nobody looks at, and that the change touches, though the revision has the same words for
    /// them: what they have now is not known.
    fn touched(
        &self,
        sources: impl Iterator<Item = NotChecked>,
        beyond: &[Unresolved],
        said: &[Diagnostic],
        workspace: &Workspace,
    ) -> Vec<Diagnostic> {
        let is_said = |words: &str| said.iter().any(|known| known.message.ends_with(words));
        let sources: BTreeSet<NotChecked> =
            sources.filter(|it| !is_said(it.why.what()) && self.touches(&it.path)).collect();
        let beyond = beyond.iter().filter(|it| !is_said(&it.reason) && self.touches(&it.span.file.path));
        let refused = workspace.refused.iter().filter(|it| !is_said(&it.message) && self.touches(&it.path));
        let mut touched = not_analysed::not_checked(&sources.into_iter().collect::<Vec<_>>(), workspace);
        touched.extend(not_analysed::beyond(beyond, workspace));
        touched.extend(not_analysed::refused(refused));
        touched
    }

    /// Whether the change has a file, something in a folder, or the link that it lies behind.
    fn touches(&self, path: &Path) -> bool {
        let Changes { changed, added, deleted, redirected, .. } = &self.changes;
        let touches = |path: &Path| {
            let own = self.own(path);
            let Ok(relative) = own.strip_prefix(&self.old.top) else { return false };
            let mut differing = [changed, added, deleted, redirected].into_iter().flatten();
            differing.any(|name| Path::new(name).starts_with(relative)) || self.is_redirected(relative)
        };
        // What a link leads to may change, and a link behind it, and the link stay as it is.
        touches(path) || way::places_on(path).iter().any(|place| place != path && touches(place))
    }

    /// The sources that differ from the revision, and that the working tree has not.
    fn absent(&self, workspace: &Workspace) -> Vec<NotChecked> {
        let sources = self.changes.absent.iter().filter(|name| has_ending(Path::new(name), &["cu"]));
        let paths = sources.map(|name| self.old.top.join(name)).filter(|path| path.starts_with(&workspace.root));
        paths.map(|path| NotChecked { why: Unchecked::Absent, path }).collect()
    }

    /// The sources that the settings of the revision check, and those of now do not, though they are still there.
    fn left_out(&self, old: &Workspace, now: &Workspace) -> BTreeSet<String> {
        // What other files include now is checked alone, too.
        let files = now.files.iter().chain(&now.included);
        let checked: BTreeSet<PathBuf> = files.map(|file| self.own(&file.path)).collect();
        let then = old.files.iter().map(|file| self.old.origin(&file.path));
        let left_out = then.filter(|path| path.is_file() && !checked.contains(path));
        let root = self.own(&now.root);
        left_out.map(|path| lmem_base::source::display_path(&path, &root)).collect()
    }

    /// The files that compile neither now nor in the older revision; says so, and which ones only failed then.
    fn never_compiled(&self, old: Option<&Outcome>, failing: &BTreeSet<PathBuf>, talk: &Talk) -> BTreeSet<PathBuf> {
        let then: BTreeSet<PathBuf> = old.map(|old| old.failing.clone()).unwrap_or_default();
        let place = |path: &PathBuf| self.old.place(&self.old_name(&self.own(path)));
        let never: BTreeSet<PathBuf> = failing.iter().filter(|path| then.contains(&place(path))).cloned().collect();
        let name = &self.name;
        if !never.is_empty() {
            let sources = plural(never.len() as u64, "source");
            talk.note(&format!("{sources} compiled neither in `{name}` nor now: nothing is known of their kernels"));
        }
        if then.len() > never.len() {
            let sources = plural((then.len() - never.len()) as u64, "source");
            talk.note(&format!("{sources} of `{name}` did not compile: all that is found there now counts as new"));
        }
        never
    }

    /// The kernels of both versions that the change reaches.
    fn compared(
        &self,
        before: Option<Version>,
        now: Version,
        changed: &BTreeSet<PathBuf>,
        root: &Path,
        name: impl Fn(&str) -> String,
    ) -> KernelComparison {
        let total = now.len();
        let reached: BTreeSet<String> = changed.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let now = Version {
            kernels: now.kernels.into_iter().filter(|kernel| reached.contains(&kernel.unit)).collect(),
            failed: now.failed,
        };
        let before = before.unwrap_or_default().with_files(&name);
        let now = now.with_files(|file| lmem_base::source::display_path(Path::new(file), root));
        let comparison = KernelComparison::of(before, now, total);
        KernelComparison { revision: self.name.clone(), commit: self.commit.clone(), ..comparison }
    }

    /// The findings of the older revision, on the architectures of this run.
    fn old_report(
        &self,
        changed: &BTreeSet<PathBuf>,
        workspace: &Workspace,
        architectures: &[String],
        check: &dyn Fn(&Surroundings<'_>, &CheckArgs) -> Result<Outcome, CheckError>,
        talk: &Talk,
    ) -> Result<Old, CheckError> {
        let place = |path: &PathBuf| self.old.place(&self.old_name(&self.own(path)));
        // A finding of a deleted file needs no comparison, but a table of kernels has those that are gone.
        let deleted = self.changes.deleted.iter().filter(|_| self.compares_kernels);
        let deleted = deleted.map(|path| self.old.tree.join(path));
        // Under its new name, a file may be compiled no longer.
        let checked: BTreeSet<PathBuf> = workspace.files.iter().map(|file| self.own(&file.path)).collect();
        let renamed = self.changes.renames.iter().filter(|(new, _)| !checked.contains(&self.old.top.join(new)));
        let renamed = renamed.map(|(_, old)| self.old.tree.join(old));
        let only = changed.iter().map(place).chain(deleted).chain(renamed);
        let only: BTreeSet<PathBuf> = only.filter(|path| path.exists()).collect();
        // Where settings change, files may have come or gone by them.
        let is_everywhere = self.is_everywhere() && !self.is_first;
        if only.is_empty() && !is_everywhere {
            return Ok(Old::Nothing);
        }
        let mut moved = self.old.arguments(&self.arguments, &self.current, |path| self.old_name(path));
        let had_paths = !moved.paths.is_empty();
        moved.paths.retain(|path| path.exists());
        if had_paths && moved.paths.is_empty() {
            return Ok(Old::Nothing);
        }
        // Settings may name other architectures since.
        let arch = match moved.arch.is_empty() {
            true => architectures.to_vec(),
            false => moved.arch.clone(),
        };
        let moved = CheckArgs {
            arch,
            no_verify: true,
            no_baseline: true,
            baseline: None,
            fix: false,
            diff: false,
            changed_since: None,
            staged: false,
            ..moved
        };
        let current = self.old.place(&self.current);
        let surroundings = Surroundings {
            current_folder: Some(&current),
            revision: Some(&self.old),
            only: Some(&only).filter(|_| !is_everywhere),
            compares_kernels: self.compares_kernels,
            ..Surroundings::default()
        };
        match check(&surroundings, &moved) {
            Ok(outcome) => Ok(Old::Checked(Box::new(outcome))),
            Err(CheckError::Discover(DiscoverError::NoManifest(_))) => {
                let name = &self.name;
                talk.note(&format!("`{name}` has no `Cargo.toml` or `lmem.toml` yet: all that is found counts as new"));
                Ok(Old::Unknown)
            }
            Err(error @ (CheckError::Discover(_) | CheckError::Config(_))) => {
                // The revision may have no project yet, or unknown keys in its settings.
                talk.note(&format!("`{}` could not be checked ({error}): all that is found counts as new", self.name));
                Ok(Old::Unknown)
            }
            Err(CheckError::NoKernel { .. }) => Ok(Old::Nothing),
            Err(error) => Err(error),
        }
    }

    /// The path in the working tree.
    fn own(&self, path: &Path) -> PathBuf {
        self.staged.as_ref().map_or_else(|| path.to_path_buf(), |staged| staged.origin(path))
    }

    /// The old name of a file, by its path in the working tree.
    fn old_name(&self, path: &Path) -> PathBuf {
        let relative = path.strip_prefix(&self.old.top).ok().and_then(Path::to_str);
        let old = relative.and_then(|relative| self.changes.renames.get(relative));
        old.map_or_else(|| path.to_path_buf(), |old| self.old.top.join(old))
    }

    /// The new name of a file in the older report: relative to the workspace, or absolute outside of it.
    fn name_now(&self, shown: &str, root: &Path, old_root: &Path) -> String {
        let Ok(relative) = old_root.join(shown).strip_prefix(&self.old.tree).map(Path::to_path_buf) else {
            return shown.to_string();
        };
        let renamed = self.changes.renames.iter().find(|(_, old)| Path::new(old) == relative);
        let relative = renamed.map_or(relative, |(new, _)| PathBuf::from(new));
        let top = self.staged.as_ref().map_or(&self.old.top, |staged| &staged.tree);
        lmem_base::source::display_path(&top.join(relative), root)
    }
}

/// A warning of sources that the change touches, and of whose kernels nothing is known, before and now.
fn untold_of(sources: &[&PathBuf], why: &str, help: &str, root: &Path) -> Option<Diagnostic> {
    let (first, others) = sources.split_first()?;
    let first = lmem_base::source::display_path(first, root);
    let others = match others.len() {
        0 => String::new(),
        more => format!(" and {}", plural(more as u64, "other")),
    };
    let message = format!("`{first}`{others} changed, and {why}: not checked");
    let help = Help { message: format!("{help}, or leave it out with `exclude`") };
    Some(Diagnostic { help: vec![help], ..not_analysed::less_checked(&message) })
}

/// Whether a file influences what is compiled, and how.
fn is_setting(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    const NAMES: [&str; 6] =
        ["Cargo.toml", "lmem.toml", "compile_commands.json", "CACHEDIR.TAG", ".git", ".gitmodules"];
    NAMES.contains(&name) || path.contains(".cargo/config")
}

/// Whether a compiler may look for a file, or code include it.
fn may_be_sought(path: &str) -> bool {
    !path.ends_with(".md")
}

/// What a path that does not exist was meant as.
fn missing_path(
    arguments: &CheckArgs,
    current: &Path,
    revision: &str,
    repository: &Repository<'_>,
    files: &[TreeEntry],
) -> Result<(), GitError> {
    let mut paths = arguments.paths.iter().filter(|_| !arguments.staged);
    let Some(typed) = paths.find(|path| !current.join(path).exists()) else { return Ok(()) };
    let path = normalize(&current.join(typed));
    let relative = path.strip_prefix(&repository.top).ok().and_then(Path::to_str);
    if relative.is_some_and(|relative| files.iter().any(|file| file.path == relative)) {
        return Err(GitError::Gone { path: typed.clone(), revision: revision.to_string() });
    }
    match typed.to_str() {
        Some(name) if repository.commit(name).is_ok() => Err(GitError::SecondRevision(name.to_string())),
        // Discovery says that there is no such file.
        _ => Ok(()),
    }
}

/// The folder where the search for the repository starts: that of the first path, otherwise of the manifest, otherwise
/// the current one.
fn place_of(arguments: &CheckArgs, current: &Path) -> PathBuf {
    let named = arguments.paths.first().or(arguments.manifest_path.as_ref());
    let Some(path) = named.map(|path| normalize(&current.join(path))) else { return current.to_path_buf() };
    if path.is_dir() { path } else { path.parent().map_or_else(|| current.to_path_buf(), Path::to_path_buf) }
}

/// Number of compiler messages and remarks on comments, by code, file and text.
type Remarks = BTreeMap<(String, String, String), usize>;

fn remarks(diagnostics: &[Diagnostic], name: &impl Fn(&str) -> String) -> Remarks {
    let mut remarks = Remarks::new();
    for diagnostic in diagnostics.iter().filter(|diagnostic| !matches!(diagnostic.code, Code::Lint(_))) {
        let (code, file, message) = identity(diagnostic);
        *remarks.entry((code, name(&file), message)).or_default() += 1;
    }
    remarks
}

fn identity(diagnostic: &Diagnostic) -> (String, String, String) {
    let file = diagnostic.primary.as_ref().map(|label| label.span.file.display.clone()).unwrap_or_default();
    (diagnostic.code.id(), file, diagnostic.message.clone())
}

impl From<GitError> for CheckError {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Interrupted => Self::Interrupted,
            error => Self::Git(error),
        }
    }
}
