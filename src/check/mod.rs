//! One run of `cargo lmem check`: from the command line to a report, stage by stage.

mod allowing;
mod budgets;
mod builds;
mod early;
mod error;
mod failures;
mod findings;
mod fixing;
mod gather;
mod hidden;
mod jobs;
mod kernels;
mod known;
mod level_here;
mod levels;
mod machine;
mod messages;
mod missing;
mod not_analysed;
mod not_captured;
mod only;
mod progress;
mod prove;
mod remarks;
mod since;
mod suppress;
mod talk;
mod tally;
mod target;
mod unit;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use globset::Glob;

use cuda_toolkit::{self, Library, Toolkit, ToolkitError};
use lmem_base::comparison::Version;
use lmem_base::diagnostic::{Diagnostic, PartitionTally, Report, Summary};
use lmem_base::places;
use lmem_base::source::{display_path, normalize};
use lmem_base::way;
use lmem_extract::Extraction;
use lmem_project::discover::{Remember, Scope, Workspace};
use lmem_unit::TranslationUnit;

use crate::cache::{self, Cache, CargoMemory};
use crate::cli::{CheckArgs, SortBy};
use crate::compile::rescue::HeaderIndex;
use crate::compile::{Compiler, Shown, TotalTime};
use crate::fix::vcs::VcsRules;
use crate::measure::Bench;
use crate::sandbox::{self, Sandbox};
use crate::verify::Comparer;
use crate::{fix, report};
use early::Early;
use jobs::{Job, is_compiled, jobs, run_jobs};
use levels::{AllLevels, all_levels, leveled_by_file, leveled_by_place};
use since::Since;
use tally::{say_what_happened, summarize};
use unit::{Shared, UnitReport};

pub use error::CheckError;
pub use findings::Findings;
pub use fixing::Fixes;
pub use level_here::levels_here;
pub use levels::typed_levels;
pub use since::Revision;
pub use talk::Talk;
pub use unit::{ArtifactSource, Compilers, MARKS_SPILLS, Sourced, register_flag};

/// The results of a run, with what the report formats need to show them.
pub struct Outcome {
    pub report: Report,
    pub workspace: Workspace,
    /// A unit did not compile.
    pub failed: bool,
    /// Interrupted by Ctrl-C: further findings and proofs are missing.
    pub interrupted: bool,
    /// Fixes to write; empty unless requested.
    pub fixes: Fixes,
    /// Exit status of the traced program.
    pub ended: Option<ExitStatus>,
    /// The kernels, if they are compared with those of another version.
    kernels: Option<Version>,
    /// Files that did not compile.
    failing: BTreeSet<PathBuf>,
}

/// The surroundings of a run, replaceable for tests and other callers; the default is this machine.
#[derive(Clone, Default)]
pub struct Surroundings<'a> {
    /// Folder that relative paths start from.
    pub current_folder: Option<&'a Path>,
    /// A toolkit and its recorded artifacts, in place of real compilers.
    pub recorded: Option<(Toolkit, &'a dyn ArtifactSource)>,
    /// A command whose kernels are checked, in place of the workspace's.
    pub program: Option<&'a [OsString]>,
    /// The files of a revision are checked in place of the user's.
    pub revision: Option<&'a Revision>,
    /// Restricts the run to the units of these files.
    pub only: Option<&'a BTreeSet<PathBuf>>,
    /// Compares the figures of kernels with those of a revision, and not only findings.
    pub compares_kernels: bool,
    /// Times both versions of each suggestion's kernels.
    pub bench: Option<&'a Bench<'a>>,
    /// Kernels whose spills an earlier round of `--fix` has edited.
    pub settled: BTreeSet<String>,
}

impl Surroundings<'_> {
    fn current(&self) -> Result<PathBuf, CheckError> {
        let current = self.current_folder.map_or_else(std::env::current_dir, |folder| Ok(folder.to_path_buf()));
        current.map_err(CheckError::Folder)
    }
}

/// Runs a check.
///
/// # Errors
/// The command line, the configuration or the toolkit is unusable. Problems in kernels are part of the report.
pub fn check(arguments: &CheckArgs, cancel: &AtomicBool) -> Result<Outcome, CheckError> {
    check_in(Surroundings::default(), arguments, cancel)
}

/// Runs a check in the given surroundings; with `--fix`, again after each round of edits.
///
/// # Errors
/// As [`check`].
pub fn check_in(
    surroundings: Surroundings<'_>,
    arguments: &CheckArgs,
    cancel: &AtomicBool,
) -> Result<Outcome, CheckError> {
    let talk = Talk::new(arguments.quiet, arguments.verbose);
    if surroundings.recorded.is_none() {
        let current = surroundings.current()?;
        let named = arguments.paths.iter().chain(&arguments.manifest_path).map(|path| current.join(path));
        let folder = |path: PathBuf| if path.is_dir() { path } else { path.parent().map_or(path.clone(), normalize) };
        let folders: Vec<PathBuf> = named.map(folder).chain([current.clone()]).collect();
        let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
        cache::check_place(&folders, cancel)?;
    }
    let since = Since::of(arguments, &surroundings, cancel, &talk)?;
    if let Some((revision, current, moved)) = since.as_ref().and_then(Since::staged) {
        let here = Surroundings { current_folder: Some(&current), revision: Some(revision), ..surroundings };
        let checked = check_once(&here, &moved, since.as_ref(), None, cancel, &talk);
        let mut outcome = checked.map_err(|error| revision.named_by_user(error))?;
        // Findings refer to the user's files, not to the copy of the revision.
        outcome.workspace = outcome.workspace.moved(|path| revision.origin(path));
        return Ok(outcome);
    }
    if let Some(reason) = &arguments.add_allow {
        let check = |rules| check_once(&surroundings, arguments, since.as_ref(), rules, cancel, &talk);
        return allowing::add_comments(check, arguments, reason, &talk);
    }
    let writes = arguments.fix && !arguments.diff;
    // Only the user's changes are a reason to refuse editing, so this is checked before the first edit.
    let rules = writes.then(|| fixing::vcs_rules(arguments));
    let outcome = check_once(&surroundings, arguments, since.as_ref(), rules, cancel, &talk)?;
    match writes {
        true => {
            // Edits do not change flags, so nothing is captured again.
            let again = CheckArgs { capture: false, ..arguments.clone() };
            let again = |settled: &BTreeSet<String>| {
                let surroundings = Surroundings { settled: settled.clone(), ..surroundings.clone() };
                check_once(&surroundings, &again, since.as_ref(), None, cancel, &talk)
            };
            fixing::converge(outcome, again, cancel, &talk)
        }
        false => Ok(outcome),
    }
}

fn check_once(
    surroundings: &Surroundings<'_>,
    arguments: &CheckArgs,
    since: Option<&Since>,
    rules: Option<VcsRules>,
    cancel: &AtomicBool,
    talk: &Talk,
) -> Result<Outcome, CheckError> {
    let current = surroundings.current()?;
    let kernels = arguments.kernel.as_deref().map(Glob::new).transpose();
    let kernels =
        kernels.map_err(|error| CheckError::Usage(format!("`--kernel`: {error}")))?.map(|glob| glob.compile_matcher());
    let architectures = target::typed(&arguments.arch)?;
    let (build_folders, packages) = arguments.builds_and_packages(&current);
    if !packages.is_empty() && !arguments.paths.is_empty() {
        let package = &packages[0];
        return Err(CheckError::Usage(format!(
            "`-p {package}` is no folder with `compile_commands.json`, and packages are not chosen beside paths"
        )));
    }
    let extra_flags = arguments.extra_flags(&current).map_err(CheckError::Usage)?;
    let memory = memory(arguments, &current).filter(|_| surroundings.recorded.is_none());
    let scope = Scope { memory: memory.clone().map(|memory| memory as Arc<dyn Remember>), ..arguments.scope(&current) };
    let found = gather::workspace(&scope, &build_folders, surroundings.program)?;
    let mut workspace = Workspace { extra_flags, build_folders, ..found };
    if let Some(revision) = surroundings.revision {
        // Files that git does not have (submodules, headers generated by a build) are in the user's own tree.
        workspace.places = workspace.places.and([places::tree_of(&revision.top)]);
    }
    memory.iter().for_each(|memory| memory.finish());
    rules.map_or(Ok(()), |rules| fix::refuse(&workspace.root, rules, cancel))?;
    let levels = all_levels(arguments, &workspace)?;
    let mut known = known::Known::of(arguments, &workspace, &current)?;
    let remote = || cache::remote::of_environment(arguments.offline);
    let cache = cache_of(arguments, &workspace.root).map(|cache| cache.shared(remote()));
    let gatherer = gather::Gatherer {
        arguments,
        architectures: &architectures,
        workspace: &workspace,
        is_recorded: surroundings.recorded.is_some(),
        revision: surroundings.revision,
        cache: cache.as_ref().filter(|_| surroundings.recorded.is_none()),
        cancel,
        talk,
    };
    let gather::Gathered { mut extraction, toolkit: found, built_for, flag_advice, not_checked, ended } =
        gatherer.gather(surroundings.program)?;
    workspace.not_checked.extend(not_checked);
    let partition = arguments.partition.map(|partition| partition.keep(&mut extraction, &workspace.root));
    workspace.notes.iter().for_each(|note| talk.detail(&format!("note: {note}")));
    workspace.left_out.iter().for_each(|note| talk.note(note));
    if let Some(only) = surroundings.only {
        extraction.units.retain(|unit| only.contains(&unit.path()));
    }
    let asks_for_all = arguments.paths.is_empty()
        && arguments.package.is_empty()
        && arguments.kernel.is_none()
        && since.is_none()
        && surroundings.only.is_none()
        && surroundings.revision.is_none();
    let run = Run { surroundings, since, workspace: &workspace, levels: &levels, asks_for_all, cancel, talk };
    if extraction.units.is_empty() {
        let (report, failing) = run.without_units(&extraction, partition)?;
        return Ok(Outcome {
            failed: !failing.is_empty() || not_analysed::has_refused(&report),
            report,
            workspace,
            interrupted: false,
            fixes: Fixes::default(),
            ended,
            kernels: None,
            failing,
        });
    }
    let (toolkit, record) = match &surroundings.recorded {
        Some((toolkit, record)) => (toolkit.clone(), Some(*record)),
        None => match found {
            Some(toolkit) => (toolkit, None),
            None if extraction.units.iter().all(is_compiled) => (Toolkit::absent(), None),
            None => (select_toolkit(arguments, &workspace, cancel, talk)?, None),
        },
    };
    let library = |toolkit: &Toolkit, library: Library| {
        let folder = cuda_toolkit::headers(toolkit, library, arguments.offline, arguments.quiet, cancel);
        folder.map_err(|error| error.to_string())
    };
    let threads = arguments.jobs.map_or_else(default_jobs, usize::from);
    let memory = sandbox::Memory::new(arguments.memory, arguments.total_memory, threads);
    let sandbox = sandbox(arguments, &workspace, &toolkit, &current, memory, talk);
    if record.is_none() && !sandbox.is_on() {
        talk.note("this kernel has no Landlock: compilers may read all that you may; check no tree of strangers here");
    }
    if let Some(name) = lmem_base::process::relative_compiler() {
        talk.note(&format!("`{name}` is not used: a relative path could lead into the checked tree"));
    }
    let show = |shown: &Shown<'_>| talk.command(shown);
    let compilers = Compilers {
        comparer: &Comparer::default(),
        bench: surroundings.bench,
        shows_suggestions: talk.verbosity > 1,
        compiler: Compiler {
            limit: Duration::from_secs(arguments.timeout),
            total: TotalTime::from_now(Duration::from_secs(arguments.total_timeout)),
            sandbox: &sandbox,
            cancel,
            headers: HeaderIndex::new(&workspace.root),
            library: &library,
            tries_shared_spilling: levels.warns_of("shared_spill_available"),
            compiles_host: false,
            explains: true,
            show: &show,
        },
        cache,
    };
    let jobs = jobs(&architectures, &workspace, &extraction, &built_for, &Arc::new(toolkit), &levels, talk);
    let shared = Shared { source: record.unwrap_or(&compilers), root: &workspace.root, kernels };
    let early = Early::new(&jobs, arguments, &workspace)
        .filter(|_| since.is_none() && surroundings.revision.is_none() && known.is_nothing());
    let mut reports = run_jobs(&jobs, &shared, threads, compilers.cache.as_ref(), early.as_ref(), talk);
    let was_interrupted = cancel.load(Ordering::Relaxed) || reports.iter().any(|report| report.interrupted);
    if was_interrupted {
        // Results up to the interruption are shown.
        reports.iter_mut().filter(|report| report.interrupted).for_each(|report| *report = UnitReport::default());
        if reports.iter().all(|report| report.diagnostics.is_empty()) || arguments.fix {
            return Err(CheckError::Interrupted);
        }
    }
    if let Some(toolkit) = jobs.first().map(|job| &job.target.toolkit) {
        let names: Vec<&str> = jobs.iter().map(|job| job.unit.name.as_str()).collect();
        failures::one_for_each_cause(&names, &mut reports, toolkit, cancel);
    }
    if let Some(error) = failures::no_such_architecture(&reports, &architectures) {
        return Err(error);
    }
    let extent = suppress::Extent {
        workspace: &workspace,
        some_kernels: shared.kernels.is_some() || was_interrupted || !extraction.unread.is_empty(),
        some_files: !arguments.paths.is_empty() || partition.is_some(),
        some_packages: !arguments.package.is_empty(),
    };
    // The kernel may be in another machine's part, or in a file that was not read.
    let may_be_unmatched = !was_interrupted && partition.is_none() && extraction.unread.is_empty();
    if let (Some(glob), true) = (&arguments.kernel, is_unmatched(&reports) && may_be_unmatched) {
        return Err(error::no_kernel(glob, &reports));
    }
    let is_nothing = run.asks_for_all && may_be_unmatched && is_unmatched(&reports);
    let told = to_tell(&extraction, &jobs, &mut reports, shared.kernels.is_some());
    let suppress::Suppressed { mut remarks, list: suppressions } = suppress::suppress(&jobs, &mut reports, extent);
    let nothing = "no kernel was checked: with these flags, the sources have none";
    remarks.extend(is_nothing.then(|| not_analysed::less_checked(nothing)));
    let reached = since.map(|since| since.keep_changed(&jobs, &mut reports)).unwrap_or_default();
    say_what_happened(&jobs, &reports, talk);
    builds::name_builds(&jobs, &mut reports);
    let listed = arguments.kernels.then(|| kernels::version(&jobs, &reports));
    let listed = listed.map(|version| version.with_files(|file| display_path(Path::new(file), &workspace.root)));
    let mut kernels = surroundings.compares_kernels.then(|| kernels::version(&jobs, &reports));
    let by_comments = suppressions.iter().map(|suppression| suppression.silenced);
    let silenced = by_comments.chain(reports.iter().map(|report| report.silenced)).sum();
    let summary = Summary { partition, flag_advice, silenced, ..summarize(&jobs, &reports) };
    let failing = jobs.iter().zip(&reports).filter(|(_, report)| report.failed).map(|(job, _)| job.unit.path());
    let mut failing: BTreeSet<PathBuf> = failing.chain(not_analysed::unread_files(&extraction)).collect();
    let diagnostics = jobs.iter().zip(&mut reports).map(|(job, report)| {
        let diagnostics = std::mem::take(&mut report.diagnostics);
        let leveled = |diagnostic| leveled_by_place(diagnostic, job, arguments, &workspace);
        diagnostics.into_iter().filter_map(leveled).collect()
    });
    let diagnostics = diagnostics.collect();
    let compiled = only::compiled(&reports);
    let mut report =
        Report { suppressions, kernels: listed, ..finish(diagnostics, remarks, &told, &workspace, &levels, summary) };
    report.diagnostics.iter_mut().for_each(|diagnostic| diagnostic.notes.extend(only::note(diagnostic, &compiled)));
    if was_interrupted && arguments.write_baseline {
        return Err(CheckError::Interrupted);
    }
    if let Some(since) = since {
        let judged = run.judge(since, &mut report, &jobs, &reports, (kernels.take(), &reached, &failing))?;
        failing.retain(|path| !judged.never_compiled.contains(path));
        // The branch's own baseline would hide what it brings.
        if judged.is_known && arguments.baseline.is_none() {
            known = known::Known::Nothing;
        }
    }
    let failed = !failing.is_empty() || not_analysed::has_refused(&report);
    let is_all_checked = !failed && !was_interrupted && !reports.iter().any(|report| report.is_unread);
    let is_whole = since.is_none() && known::is_whole(arguments) && is_all_checked;
    known.judge(&mut report, is_whole, &workspace, talk, |remark| leveled_by_file(remark, &workspace, &levels))?;
    let settled = &surroundings.settled;
    let proof = prove::Run { jobs: &jobs, reports: &reports, shared: &shared, arguments, threads, talk, settled };
    let fixes = prove::prove(&mut report, &proof)?;
    match arguments.sort {
        SortBy::File => report::sort_by_place(&mut report.diagnostics),
        // Proofs show what edits gain.
        SortBy::Severity => report::sort(&mut report.diagnostics),
    }
    drop(jobs);
    compilers.cache.iter().for_each(Cache::finish);
    // A Ctrl-C during the last compilation does not change the result, but still counts.
    let interrupted = was_interrupted || cancel.load(Ordering::Relaxed);
    report.summary.interrupted = interrupted;
    Ok(Outcome { report, workspace, failed, interrupted, fixes, ended, kernels, failing })
}

/// What a run was asked for, and where.
struct Run<'a> {
    surroundings: &'a Surroundings<'a>,
    since: Option<&'a Since>,
    workspace: &'a Workspace,
    levels: &'a AllLevels,
    /// All of a workspace, and not files or packages of it that need not have kernels.
    asks_for_all: bool,
    cancel: &'a AtomicBool,
    talk: &'a Talk,
}

impl Run<'_> {
    /// The report of a run without anything to compile, and the files that could not be read.
    ///
    /// # Errors
    /// The run was interrupted, or the revision cannot be checked.
    fn without_units(
        &self,
        extraction: &Extraction,
        partition: Option<PartitionTally>,
    ) -> Result<(Report, BTreeSet<PathBuf>), CheckError> {
        let is_all_here =
            extraction.unread.is_empty() && partition.is_none_or(|partition| partition.left_to_others == 0);
        let is_nothing = self.surroundings.program.is_none() && is_all_here && self.workspace.not_checked.is_empty();
        let nothing = (is_nothing && self.asks_for_all).then(|| not_analysed::less_checked("no CUDA source was found"));
        if is_nothing && nothing.is_none() {
            self.talk.note("no CUDA source was found");
        }
        let failing = not_analysed::unread_files(extraction);
        let summary = Summary { partition, ..Summary::default() };
        let mut report =
            finish(Vec::new(), nothing.into_iter().collect(), extraction, self.workspace, self.levels, summary);
        if let Some(since) = self.since {
            // The revision may have kernels that are gone, or left out now.
            let now = since::Now {
                kernels: self.surroundings.compares_kernels.then(Version::default),
                compiled: &BTreeSet::new(),
                reached: &since::Reached::default(),
                failing: &failing,
                unknown: &failing,
                is_silent: &|_, _| false,
                leveled: &|remark| self.leveled(remark),
            };
            since.judge(&mut report, now, self.workspace, self.cancel, self.talk)?;
        }
        Ok((report, failing))
    }

    /// Compares what was found with a revision: all kernels, if they are compared, the files that the change reaches,
    /// and those that do not compile.
    ///
    /// # Errors
    /// The run was interrupted, or the revision cannot be checked.
    fn judge(
        &self,
        since: &Since,
        report: &mut Report,
        jobs: &[Job<'_>],
        reports: &[UnitReport],
        (kernels, reached, failing): (Option<Version>, &since::Reached, &BTreeSet<PathBuf>),
    ) -> Result<since::Judged, CheckError> {
        let unread = jobs.iter().zip(reports).filter(|(_, report)| report.is_unread).map(|(job, _)| job.unit.path());
        let unknown: BTreeSet<PathBuf> = failing.iter().cloned().chain(unread).collect();
        let silent = suppress::Silent::new(&report.suppressions, jobs, &self.workspace.root);
        let now = since::Now {
            kernels,
            compiled: &kernels::names(reports),
            reached,
            failing,
            unknown: &unknown,
            is_silent: &|file, lint| silent.is_silent(file, lint),
            leveled: &|remark| self.leveled(remark),
        };
        since.judge(report, now, self.workspace, self.cancel, self.talk)
    }

    fn leveled(&self, remark: Diagnostic) -> Option<Diagnostic> {
        leveled_by_file(remark, self.workspace, self.levels)
    }
}

/// What is to be said of texts that are no units, and of units without kernels. Where some kernels are asked for, what
/// is said of other files and texts says nothing of these.
fn to_tell<'e>(
    extraction: &'e Extraction,
    jobs: &[Job<'_>],
    reports: &mut [UnitReport],
    some_kernels: bool,
) -> Cow<'e, Extraction> {
    let mut told = Cow::Borrowed(extraction);
    if some_kernels && !is_unmatched(reports) {
        reports.iter_mut().filter(|report| is_empty(report)).for_each(|report| report.diagnostics.clear());
        told = Cow::Owned(Extraction { unread: extraction.unread.clone(), ..Extraction::default() });
    }
    let without_kernels = not_analysed::without_kernels(jobs, reports);
    if !without_kernels.is_empty() {
        let told = told.to_mut();
        let is_one = |unit: &TranslationUnit| {
            let start = messages::start_of(unit);
            unit.is_unclaimed() && without_kernels.iter().any(|text| Some(&text.span) == start.as_ref())
        };
        told.units.retain(|unit| !is_one(unit));
        told.unresolved.extend(without_kernels);
    }
    told
}

fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn select_toolkit(
    arguments: &CheckArgs,
    workspace: &Workspace,
    cancel: &AtomicBool,
    talk: &Talk,
) -> Result<Toolkit, ToolkitError> {
    let configured = workspace.files.iter().find_map(|file| file.config.toolkit.as_deref());
    let request = cuda_toolkit::Request {
        choice: arguments.toolkit.as_deref(),
        configured,
        offline: arguments.offline,
        quiet: arguments.quiet,
    };
    let selection = cuda_toolkit::select(request, cancel)?;
    selection.notes.iter().for_each(|note| talk.note(note));
    let toolkit = selection.toolkit;
    talk.detail(&format!("toolkit: {} in {} ({})", toolkit.number, toolkit.root.display(), toolkit.found));
    Ok(toolkit)
}

fn sandbox(
    arguments: &CheckArgs,
    workspace: &Workspace,
    toolkit: &Toolkit,
    current: &Path,
    memory: Option<sandbox::Memory>,
    talk: &Talk,
) -> Sandbox {
    let typed = arguments.allow_read.iter().chain(&arguments.include_dir);
    let mut allowed: Vec<_> = typed.map(|path| current.join(path)).collect();
    allowed.retain(|path| match way::stays_in_own_tree(path, current) {
        Ok(()) => true,
        Err(error) => {
            talk.note(&format!("{error}: it is not read; name what it leads to, if that is meant"));
            false
        }
    });
    Sandbox::new(&workspace.places, &allowed, toolkit, cuda_toolkit::fetched_folders(), memory)
}

/// Output of cargo from earlier runs in this folder.
fn memory(arguments: &CheckArgs, current: &Path) -> Option<Arc<CargoMemory>> {
    cache_of(arguments, current).map(|cache| Arc::new(CargoMemory::new(cache)))
}

fn cache_of(arguments: &CheckArgs, root: &Path) -> Option<Cache> {
    let folder = cuda_toolkit::cache_root().ok().filter(|_| !arguments.no_cache)?;
    Some(Cache::new(cache::folder(&folder), root))
}

/// Whether `--kernel` excluded all kernels that compiled.
fn is_unmatched(reports: &[UnitReport]) -> bool {
    reports.iter().all(is_empty)
}

/// Whether no kernel or function of a unit is looked at.
fn is_empty(report: &UnitReport) -> bool {
    report.kernels == 0 && report.functions.is_empty() && !report.failed && !report.is_unread
}

/// Merges the diagnostics of all units, adds those about the run, and counts.
fn finish(
    mut units: Vec<Vec<Diagnostic>>,
    remarks: Vec<Diagnostic>,
    extraction: &Extraction,
    workspace: &Workspace,
    levels: &AllLevels,
    mut summary: Summary,
) -> Report {
    let settings = remarks::unmatched(&workspace.unmatched, &workspace.root);
    let remarks = remarks.into_iter().chain(settings).chain(not_analysed::not_analysed(extraction, workspace));
    let remarks = remarks.chain(not_analysed::unknown_options(extraction, workspace));
    let remarks = remarks.chain(not_analysed::not_checked(workspace));
    units.push(remarks.filter_map(|remark| leveled_by_file(remark, workspace, levels)).collect());
    units.push(not_analysed::refused(workspace));
    units.push(not_analysed::unread(extraction, workspace));
    summary.units += extraction.unread.len();
    summary.failed_units += extraction.unread.len();
    summary.not_analysed = extraction.unresolved.len();
    let diagnostics = report::fold_units(units);
    let mut report = Report { diagnostics, summary, ..Report::default() };
    report.count_findings();
    report
}
