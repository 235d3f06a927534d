//! One run of `cargo lmem check`: from the command line to a report, stage by stage.

mod allowing;
mod budgets;
mod builds;
mod failures;
mod findings;
mod fixing;
mod gather;
mod known;
mod level_here;
mod machine;
mod messages;
mod not_analysed;
mod not_captured;
mod only;
mod progress;
mod prove;
mod remarks;
mod since;
mod suppress;
mod target;
mod unit;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use globset::Glob;
use thiserror::Error;

use cuda_toolkit::{self, Component, Toolkit, ToolkitError};
use lmem_base::diagnostic::{Code, Diagnostic, FlagOrigin, Report, Severity, Summary};
use lmem_base::gpu::Arch;
use lmem_base::level::Level;
use lmem_base::places;
use lmem_base::threads;
use lmem_extract::Extraction;
use lmem_lints::{self, Levels, remark};
use lmem_project::build_flags::CaptureError;
use lmem_project::config::{ConfigError, PackageConfig};
use lmem_project::discover::{DiscoverError, Remember, Scope, Workspace};
use lmem_unit::{MachineCode, TranslationUnit, UnitCode, declared_target};

use crate::cache::{self, Cache, CargoMemory};
use crate::cli::CheckArgs;
use crate::compile::rescue::HeaderIndex;
use crate::compile::unit::{Compiler, Shown, Target, TotalTime};
use crate::fix::vcs::{VcsError, VcsRules};
use crate::fix::write::WriteError;
use crate::gate::BaselineError;
use crate::git::GitError;
use crate::run::RunError;
use crate::sandbox::{self, Sandbox};
use crate::verify::Comparer;
use crate::{fix, report};
use progress::Progress;
use since::Since;
use unit::{Shared, UnitReport, check_unit};

pub use findings::Findings;
pub use fixing::Fixes;
pub use level_here::levels_here;
pub use since::Revision;
pub use unit::{ArtifactSource, Compilers, MARKS_SPILLS, Sourced, register_flag};

/// Why a run could not start.
#[derive(Debug, Error)]
pub enum CheckError {
    #[error(transparent)]
    Discover(#[from] DiscoverError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Toolkit(#[from] ToolkitError),
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Vcs(#[from] VcsError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Baseline(BaselineError),
    #[error(transparent)]
    Git(GitError),
    #[error("the current folder cannot be used")]
    Folder(#[source] std::io::Error),
    #[error("`--kernel {glob}` matches no kernel{}", near_kernel(.glob, .names))]
    NoKernel {
        glob: String,
        /// Names of the existing kernels.
        names: Vec<String>,
    },
    #[error("interrupted")]
    Interrupted,
}

impl CheckError {
    /// What to do next.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Toolkit(error) => error.hints(),
            Self::Baseline(error) => error.hints(),
            Self::Git(error) => error.hints(),
            Self::NoKernel { names, .. } if names.is_empty() => {
                vec!["no kernel was compiled: templates are, where something instantiates them".to_string()]
            }
            Self::NoKernel { names, .. } => {
                let shown: Vec<String> = names.iter().take(MAX_NAMES).map(|name| format!("`{name}`")).collect();
                let more = names.len().checked_sub(MAX_NAMES + 1).map(|more| format!(" and {} more", more + 1));
                let kernels = format!("the kernels are {}{}", shown.join(", "), more.unwrap_or_default());
                vec![kernels, "a glob is for the whole name: `*part*` finds a part of it".to_string()]
            }
            _ => Vec::new(),
        }
    }
}

/// Limit on kernels that a hint lists.
const MAX_NAMES: usize = 8;

fn near_kernel(glob: &str, names: &[String]) -> String {
    let near = lmem_base::words::nearest(glob.trim_matches('*'), names.iter().map(String::as_str));
    near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default()
}

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
}

/// A unit, its settings and its target architectures.
struct Job<'a> {
    unit: &'a TranslationUnit,
    target: Target,
    levels: &'a Levels,
}

/// Prints messages about the run on stderr, unless `--quiet`.
pub struct Talk {
    pub quiet: bool,
    /// How often `-v` was given.
    pub verbosity: u8,
}

impl Talk {
    pub fn note(&self, text: &str) {
        if !self.quiet {
            lmem_base::say::line(&format!("note: {text}"));
        }
    }

    fn detail(&self, text: &str) {
        if self.verbosity > 0 {
            lmem_base::say::line(text);
        }
    }

    /// Prints a finished command; with `-vv` also its folder, exit status and time.
    fn command(&self, shown: &Shown<'_>) {
        self.detail(&format!("running: {}", shown.command));
        if self.verbosity > 1 {
            let folder = shown.folder.map(|folder| format!("in {}, ", folder.display())).unwrap_or_default();
            self.detail(&format!("  {folder}{:?} after {:.2} s", shown.end, shown.elapsed.as_secs_f64()));
        }
    }
}

/// The surroundings of a run, replaceable for tests and other callers; the default is this machine.
#[derive(Default)]
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
    let talk = Talk { quiet: arguments.quiet, verbosity: arguments.verbose };
    let since = Since::of(arguments, &surroundings, cancel, &talk)?;
    if let Some((revision, current, moved)) = since.as_ref().and_then(Since::staged) {
        let here = Surroundings { current_folder: Some(&current), revision: Some(revision), ..surroundings };
        let mut outcome = check_once(&here, &moved, since.as_ref(), None, cancel, &talk)?;
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
            let again = || check_once(&surroundings, &again, since.as_ref(), None, cancel, &talk);
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
    let mut workspace = Workspace { extra_flags, build_folders, ..gather::workspace(&scope, surroundings.program)? };
    if let Some(revision) = surroundings.revision {
        // Files that git does not have (submodules, headers generated by a build) are in the user's own tree.
        workspace.places = workspace.places.and([places::tree_of(&revision.top)]);
    }
    memory.iter().for_each(|memory| memory.finish());
    rules.map_or(Ok(()), |rules| fix::refuse(&workspace.root, rules, cancel))?;
    let levels = all_levels(arguments, &workspace)?;
    let known = known::Known::of(arguments, &workspace, &current)?;
    let cache = cache_of(arguments, &workspace.root);
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
    let gather::Gathered { mut extraction, toolkit: found, ended } = gatherer.gather(surroundings.program)?;
    let partition = arguments.partition.map(|partition| partition.keep(&mut extraction, &workspace.root));
    workspace.notes.iter().for_each(|note| talk.detail(&format!("note: {note}")));
    workspace.left_out.iter().for_each(|note| talk.note(note));
    if let Some(only) = surroundings.only {
        extraction.units.retain(|unit| only.contains(&unit.path()));
    }
    if extraction.units.is_empty() {
        if surroundings.program.is_none() && partition.is_none_or(|partition| partition.left_to_others == 0) {
            talk.note("no CUDA source was found");
        }
        let report = {
            let summary = Summary { partition, ..Summary::default() };
            finish(Vec::new(), Vec::new(), &extraction, &workspace, &levels, summary)
        };
        let failed = !workspace.refused.is_empty();
        return Ok(Outcome { report, workspace, failed, interrupted: false, fixes: Fixes::default(), ended });
    }
    let (toolkit, record) = match &surroundings.recorded {
        Some((toolkit, record)) => (toolkit.clone(), Some(*record)),
        None => match found {
            Some(toolkit) => (toolkit, None),
            None if extraction.units.iter().all(is_compiled) => (Toolkit::absent(), None),
            None => (select_toolkit(arguments, &workspace, cancel, talk)?, None),
        },
    };
    let curand = |toolkit: &Toolkit| {
        let folder = cuda_toolkit::component(toolkit, Component::Curand, arguments.offline, arguments.quiet, cancel);
        folder.map(|folder| folder.join("include")).map_err(|error| error.to_string())
    };
    let threads = arguments.jobs.map_or_else(default_jobs, usize::from);
    let memory = sandbox::Memory::new(arguments.memory, arguments.total_memory, threads);
    let sandbox = sandbox(arguments, &workspace, &toolkit, &current, memory);
    if record.is_none() && !sandbox.is_on() {
        talk.note("this kernel has no Landlock: compilers may read all that you may; check no tree of strangers here");
    }
    let show = |shown: &Shown<'_>| talk.command(shown);
    let compilers = Compilers {
        comparer: &Comparer::default(),
        shows_suggestions: talk.verbosity > 1,
        compiler: Compiler {
            limit: Duration::from_secs(arguments.timeout),
            total: TotalTime::from_now(Duration::from_secs(arguments.total_timeout)),
            sandbox: &sandbox,
            cancel,
            headers: HeaderIndex::new(&workspace.root),
            curand: &curand,
            tries_shared_spilling: levels.warns_of("shared_spill_available"),
            show: &show,
        },
        cache,
    };
    let jobs = jobs(&architectures, &workspace, &extraction, &Arc::new(toolkit), &levels, talk);
    let shared = Shared { source: record.unwrap_or(&compilers), root: &workspace.root, kernels };
    let mut reports = run_jobs(&jobs, &shared, threads, compilers.cache.as_ref(), talk);
    let was_interrupted = cancel.load(Ordering::Relaxed) || reports.iter().any(|report| report.interrupted);
    if was_interrupted {
        // Results up to the interruption are shown.
        reports.iter_mut().filter(|report| report.interrupted).for_each(|report| *report = UnitReport::default());
        if reports.iter().all(|report| report.diagnostics.is_empty()) || arguments.fix {
            return Err(CheckError::Interrupted);
        }
    }
    if let Some(toolkit) = jobs.first().map(|job| &job.target.toolkit) {
        failures::one_for_each_cause(&mut reports, toolkit, cancel);
    }
    let extent = suppress::Extent {
        workspace: &workspace,
        some_kernels: shared.kernels.is_some() || was_interrupted,
        some_files: !arguments.paths.is_empty() || !arguments.package.is_empty() || partition.is_some(),
    };
    // The kernel may be in another machine's part.
    let may_be_unmatched = !was_interrupted && partition.is_none();
    if let (Some(glob), true) = (&arguments.kernel, is_unmatched(&reports) && may_be_unmatched) {
        return Err(no_kernel(glob, &reports));
    }
    let suppress::Suppressed { remarks, list: suppressions } = suppress::suppress(&jobs, &mut reports, extent);
    let changed = since.map(|since| since.keep_changed(&jobs, &mut reports)).unwrap_or_default();
    say_what_happened(&jobs, &reports, talk);
    builds::name_builds(&jobs, &mut reports);
    let summary = Summary { partition, ..summarize(&jobs, &reports) };
    let failed = reports.iter().any(|report| report.failed) || !workspace.refused.is_empty();
    let diagnostics = jobs.iter().zip(&mut reports).map(|(job, report)| {
        let diagnostics = std::mem::take(&mut report.diagnostics);
        let leveled = |diagnostic| leveled_by_place(diagnostic, job, arguments, &workspace);
        diagnostics.into_iter().filter_map(leveled).collect()
    });
    let diagnostics = diagnostics.collect();
    let compiled = only::compiled(&reports);
    let mut report = Report { suppressions, ..finish(diagnostics, remarks, &extraction, &workspace, &levels, summary) };
    report.diagnostics.iter_mut().for_each(|diagnostic| diagnostic.notes.extend(only::note(diagnostic, &compiled)));
    if was_interrupted && arguments.write_baseline {
        return Err(CheckError::Interrupted);
    }
    if let Some(since) = since {
        since.judge(&mut report, &changed, &workspace, cancel, talk)?;
    }
    let is_whole = since.is_none() && known::is_whole(arguments) && !failed && !was_interrupted;
    known.judge(&mut report, is_whole, &workspace, talk)?;
    let run = prove::Run { jobs: &jobs, reports: &reports, shared: &shared, arguments, threads, talk };
    let fixes = prove::prove(&mut report, &run)?;
    drop(jobs);
    compilers.cache.iter().for_each(Cache::finish);
    // A Ctrl-C during the last compilation does not change the result, but still counts.
    let interrupted = was_interrupted || cancel.load(Ordering::Relaxed);
    report.summary.interrupted = interrupted;
    Ok(Outcome { report, workspace, failed, interrupted, fixes, ended })
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
) -> Sandbox {
    let typed = arguments.allow_read.iter().chain(&arguments.include_dir);
    let allowed: Vec<_> = typed.map(|path| current.join(path)).collect();
    Sandbox::new(&workspace.places, &allowed, toolkit, cuda_toolkit::managed_folder(), memory)
}

/// Output of cargo from earlier runs in this folder.
fn memory(arguments: &CheckArgs, current: &Path) -> Option<Arc<CargoMemory>> {
    cache_of(arguments, current).map(|cache| Arc::new(CargoMemory::new(cache)))
}

fn cache_of(arguments: &CheckArgs, root: &Path) -> Option<Cache> {
    let folder = cuda_toolkit::cache_root().ok().filter(|_| !arguments.no_cache)?;
    Some(Cache::new(cache::folder(&folder), root))
}

/// Levels by package, keyed by the address of its settings: the command line takes precedence over the manifest. File
/// tables are between the two.
struct AllLevels {
    by_config: BTreeMap<usize, Levels>,
    /// Levels of files with their own table, including headers with findings.
    by_file: BTreeMap<PathBuf, Levels>,
    default: Levels,
}

impl AllLevels {
    /// Whether a lint is enabled anywhere.
    fn warns_of(&self, name: &str) -> bool {
        let levels = self.by_config.values().chain(self.by_file.values()).chain([&self.default]);
        lmem_lints::find(name).is_some_and(|lint| levels.into_iter().any(|levels| levels.level(lint) != Level::Allow))
    }

    fn of(&self, config: Option<&Arc<PackageConfig>>, file: &Path) -> &Levels {
        let of_config = || self.by_config.get(&(Arc::as_ptr(config?) as usize));
        self.by_file.get(file).or_else(of_config).unwrap_or(&self.default)
    }
}

fn all_levels(arguments: &CheckArgs, workspace: &Workspace) -> Result<AllLevels, CheckError> {
    let known = lmem_lints::names_with_levels();
    let (mut by_config, mut by_file) = (BTreeMap::new(), BTreeMap::new());
    for file in &workspace.files {
        file.config.validate_lints(&known)?;
        if let std::collections::btree_map::Entry::Vacant(entry) = by_config.entry(Arc::as_ptr(&file.config) as usize) {
            entry.insert(levels(arguments, Some(&file.config), None)?);
        }
        if file.config.lints_of(&file.path).next().is_some() {
            by_file.insert(file.path.clone(), levels(arguments, Some(&file.config), Some(&file.path))?);
        }
    }
    Ok(AllLevels { by_config, by_file, default: levels(arguments, None, None)? })
}

fn levels(arguments: &CheckArgs, config: Option<&PackageConfig>, file: Option<&Path>) -> Result<Levels, CheckError> {
    let mut levels = Levels::default();
    for (lint, level) in config.map(|config| &config.lints).into_iter().flatten() {
        levels.set(lint, *level);
    }
    for (lint, level) in config.zip(file).into_iter().flat_map(|(config, file)| config.lints_of(file)) {
        levels.set(lint, level);
    }
    typed_levels(arguments)?.iter().for_each(|(lint, level)| levels.set(lint, *level));
    Ok(levels)
}

/// The levels that the command line sets, in order of precedence.
///
/// # Errors
/// A lint is unknown.
pub fn typed_levels(arguments: &CheckArgs) -> Result<Vec<(String, Level)>, CheckError> {
    let denied = arguments.denied();
    let typed = [
        (&arguments.allow, Level::Allow),
        (&arguments.warn, Level::Warn),
        (&denied, Level::Deny),
        (&arguments.forbid, Level::Forbid),
    ];
    let each = typed.iter().flat_map(|(names, level)| names.iter().map(move |names| (names, *level)));
    let each = each.flat_map(|(names, level)| names.split(',').map(move |name| (name.trim(), level)));
    each.map(|(name, level)| Ok((known_lint(name)?, level))).collect()
}

/// Gives a finding in a header the level that the unit's settings specify for the header.
fn leveled_by_place(
    mut diagnostic: Diagnostic,
    job: &Job<'_>,
    arguments: &CheckArgs,
    workspace: &Workspace,
) -> Option<Diagnostic> {
    let Code::Lint(name) = diagnostic.code else { return remarks::leveled(diagnostic, job.levels) };
    let file = diagnostic.primary.as_ref().map(|label| label.span.file.path.clone());
    let config = config_of(job.unit, workspace).filter(|config| config.has_lints_of_files());
    let (Some(config), Some(file)) = (config, file.filter(|file| *file != job.unit.path())) else {
        return Some(diagnostic);
    };
    if config.lints_of(&file).next().is_none() {
        return Some(diagnostic);
    }
    // Lint names on the command line were validated before.
    let levels = levels(arguments, Some(config), Some(&file)).ok()?;
    let is_minor = diagnostic.severity == Severity::Note;
    diagnostic.severity = levels.severity(lmem_lints::find(name)?, is_minor)?;
    Some(diagnostic)
}

fn known_lint(name: &str) -> Result<String, CheckError> {
    if name == "warnings" {
        return Ok(name.to_string());
    }
    let found = lmem_lints::find(name).map(|lint| lint.name).or_else(|| remark::find(name).map(|remark| remark.name));
    found.map(str::to_string).ok_or_else(|| {
        let near = lmem_base::words::nearest(name, lmem_lints::names_with_levels().into_iter());
        let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
        CheckError::Usage(format!("there is no lint `{name}`{near}"))
    })
}

fn jobs<'a>(
    typed: &[String],
    workspace: &Workspace,
    extraction: &'a Extraction,
    toolkit: &Arc<Toolkit>,
    levels: &'a AllLevels,
    talk: &Talk,
) -> Vec<Job<'a>> {
    let mut fallback = None;
    let mut jobs = Vec::new();
    for unit in &extraction.units {
        let config = config_of(unit, workspace);
        let configured = config.map(|config| config.arch_for(&unit.path()).to_vec()).unwrap_or_default();
        let built: Vec<&str> = match &unit.code {
            UnitCode::CudaFile { flags, .. } => flags.architectures().collect(),
            _ => Vec::new(),
        };
        if let UnitCode::Machine(code) = &unit.code {
            let asked_for: Vec<String> = match typed {
                [] => configured.iter().map(ToString::to_string).collect(),
                typed => typed.to_vec(),
            };
            jobs.extend(job_of(unit, code, &asked_for, toolkit, levels.of(config, &unit.path()), talk));
            continue;
        }
        let architectures = match (typed.is_empty(), configured.is_empty(), built.is_empty()) {
            (false, _, _) => typed.iter().map(|name| target::as_built(name, &built)).collect(),
            (true, false, _) => configured.iter().map(|arch| target::as_built(&arch.to_string(), &built)).collect(),
            (true, true, false) => built.iter().map(ToString::to_string).collect(),
            (true, true, true) => vec![fallback.get_or_insert_with(|| target::fallback(talk)).clone()],
        };
        for architecture in architectures.into_iter().filter(|name| !is_never_compiled(unit, name)) {
            let target = Target { toolkit: Arc::clone(toolkit), architecture };
            jobs.push(Job { unit, target, levels: levels.of(config, &unit.path()) });
        }
    }
    jobs
}

/// Machine code is analysed for its own architecture. If a file has code for several architectures, the requested ones
/// are used, if it has any of them.
fn job_of<'a>(
    unit: &'a TranslationUnit,
    code: &MachineCode,
    asked_for: &[String],
    toolkit: &Arc<Toolkit>,
    levels: &'a Levels,
    talk: &Talk,
) -> Option<Job<'a>> {
    let own = &code.header.architecture;
    let is_asked_for =
        |name: &String| asked_for.iter().any(|asked| Arch::of(asked).number() == Arch::of(name).number());
    if Arch::of(own).number() > 0 && !asked_for.is_empty() && !is_asked_for(own) {
        if code.siblings.iter().any(is_asked_for) {
            return None;
        }
        talk.note(&format!("`{}` is machine code for {own}, and is analysed as that", unit.name));
    }
    Some(Job { unit, target: Target { toolkit: Arc::clone(toolkit), architecture: own.clone() }, levels })
}

/// Whether PTX comes with machine code for its architecture, so that the driver never compiles it.
fn is_never_compiled(unit: &TranslationUnit, architecture: &str) -> bool {
    let UnitCode::Ptx { text, options } = &unit.code else { return false };
    let least = declared_target(text.as_str()).map_or(0, |name| Arch::of(name).number());
    options.compiled.contains(&Arch::of(architecture).number().max(least))
}

fn is_compiled(unit: &TranslationUnit) -> bool {
    matches!(unit.code, UnitCode::Machine(_))
}

fn config_of<'a>(unit: &TranslationUnit, workspace: &'a Workspace) -> Option<&'a Arc<PackageConfig>> {
    let path = unit.path();
    workspace.files.iter().find(|file| file.path == path).map(|file| &file.config)
}

/// Runs all jobs on several threads; the reports are in the order of the jobs.
fn run_jobs(
    jobs: &[Job<'_>],
    shared: &Shared<'_>,
    threads: usize,
    cache: Option<&Cache>,
    talk: &Talk,
) -> Vec<UnitReport> {
    let order = longest_first(jobs, cache);
    let next = AtomicUsize::new(0);
    let reports: Mutex<Vec<Option<UnitReport>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let progress = Progress::new("Checking", jobs.len(), talk.quiet);
    threads::work_on(threads.min(jobs.len()), || {
        while let Some(index) = order.get(next.fetch_add(1, Ordering::Relaxed)).copied() {
            let job = &jobs[index];
            progress.start(&job.unit.name);
            let start = Instant::now();
            let report = check_unit(job.unit, &job.target, job.levels, shared);
            progress.finish(&job.unit.name);
            if let Some(cache) = cache.filter(|_| !report.cached) {
                cache.took(job.unit, &job.target.architecture, start.elapsed());
            }
            if let Ok(mut reports) = reports.lock() {
                reports[index] = Some(report);
            }
        }
    });
    progress.clear();
    // A poisoned lock means that a thread panicked, and the scope has propagated the panic already.
    reports.into_inner().unwrap_or_default().into_iter().map(Option::unwrap_or_default).collect()
}

/// The order in which jobs start: first those without a known time, then the longest.
fn longest_first(jobs: &[Job<'_>], cache: Option<&Cache>) -> Vec<usize> {
    let time = |index: &usize| {
        let job = &jobs[*index];
        Reverse(cache.and_then(|cache| cache.time_of(job.unit, &job.target.architecture)).unwrap_or(Duration::MAX))
    };
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(time);
    order
}

fn say_what_happened(jobs: &[Job<'_>], reports: &[UnitReport], talk: &Talk) {
    let mut rescued: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (job, report) in jobs.iter().zip(reports) {
        report.rescues.iter().for_each(|rescue| rescued.entry(rescue.as_str()).or_default().push(&job.unit.name));
        let origin = if report.cached { "cached" } else { "compiled" };
        let flags = unit::flag_origin(job.unit);
        talk.detail(&format!("{origin}: {} for {}, flags: {}", job.unit.name, job.target.architecture, flags.name()));
    }
    if jobs.iter().any(|job| unit::is_for_driver(job.unit)) {
        talk.detail(
            "note: the driver makes machine code of PTX and of kernel strings when the program runs: one that is not of this \
             toolkit's version may decide otherwise than its `ptxas`",
        );
    }
    for (rescue, mut names) in rescued {
        names.dedup();
        match names.as_slice() {
            [only] => talk.note(&format!("`{only}`: {rescue}")),
            [first, more @ ..] => talk.note(&format!(
                "`{first}` and {}: {rescue}",
                lmem_base::words::plural(more.len() as u64, "other file")
            )),
            [] => {}
        }
    }
    if let Some(error) = reports.iter().find_map(|report| report.cache_error.as_ref()) {
        talk.note(&format!("compiled kernels could not be kept for the next run: {error}"));
    }
}

fn summarize(jobs: &[Job<'_>], reports: &[UnitReport]) -> Summary {
    let mut units: BTreeMap<*const TranslationUnit, Vec<&UnitReport>> = BTreeMap::new();
    for (job, report) in jobs.iter().zip(reports) {
        units.entry(std::ptr::from_ref(job.unit)).or_default().push(report);
    }
    let is_assumed = |job: &&Job<'_>| unit::flag_origin(job.unit) == FlagOrigin::Assumed;
    let assumed: BTreeSet<_> = jobs.iter().filter(is_assumed).map(|job| std::ptr::from_ref(job.unit)).collect();
    let count = |holds: &dyn Fn(&[&UnitReport]) -> bool| units.values().filter(|reports| holds(reports)).count();
    let mut architectures: Vec<String> = jobs.iter().map(|job| job.target.architecture.clone()).collect();
    architectures.sort();
    architectures.dedup();
    // A malformed cubin has no architecture.
    architectures.retain(|architecture| !architecture.is_empty());
    // Bytes of different architectures are not added up.
    let mut frames: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (job, report) in jobs.iter().zip(reports) {
        let (frame, unexplained) = frames.entry(&job.target.architecture).or_default();
        *frame += report.frame_bytes;
        *unexplained += report.unexplained_bytes;
    }
    let most = frames.into_iter().max_by_key(|(_, bytes)| *bytes).unwrap_or_default();
    let (frame_architecture, (frame_bytes, unexplained_bytes)) = (most.0.to_string(), most.1);
    Summary {
        units: units.len(),
        kernels: reports.iter().map(|report| report.kernels).sum(),
        units_without_kernels: count(&|reports| reports.iter().all(|report| report.kernels == 0 && !report.failed)),
        failed_units: count(&|reports| reports.iter().any(|report| report.failed)),
        assumed_units: assumed.len(),
        cached_units: count(&|reports| reports.iter().all(|report| report.cached)),
        findings: BTreeMap::new(),
        frame_architecture,
        frame_bytes,
        unexplained_bytes,
        not_analysed: 0,
        partition: None,
        architectures,
        ..Summary::default()
    }
}

/// Gives a remark the level from the settings of its file, otherwise from the settings of all files.
fn leveled_by_file(remark: Diagnostic, workspace: &Workspace, levels: &AllLevels) -> Option<Diagnostic> {
    let path = remark.primary.as_ref().map(|label| &label.span.file.path);
    let own = path.and_then(|path| workspace.files.iter().find(|file| file.path == *path));
    // A header or a manifest uses the settings of the files around it.
    let near = path.and_then(|path| path.parent());
    let around = || workspace.files.iter().find(|file| near.is_some_and(|folder| file.path.starts_with(folder)));
    let file = own.or_else(around).or(workspace.files.first());
    let place = path.or(file.map(|file| &file.path)).cloned().unwrap_or_default();
    remarks::leveled(remark, levels.of(file.map(|file| &file.config), &place))
}

/// Whether `--kernel` excluded all kernels that compiled.
fn is_unmatched(reports: &[UnitReport]) -> bool {
    let is_empty = |report: &UnitReport| report.kernels == 0 && report.functions.is_empty();
    reports.iter().all(|report| is_empty(report) && !report.failed && !report.is_unread)
}

fn no_kernel(glob: &str, reports: &[UnitReport]) -> CheckError {
    let mut names: Vec<String> = reports.iter().flat_map(|report| report.left_out.iter().cloned()).collect();
    names.sort();
    names.dedup();
    CheckError::NoKernel { glob: glob.to_string(), names }
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
    let settings = workspace.unmatched.iter().map(|setting| remarks::unmatched(setting, &workspace.root));
    let remarks = remarks.into_iter().chain(settings).chain(not_analysed::not_analysed(extraction, workspace));
    units.push(remarks.filter_map(|remark| leveled_by_file(remark, workspace, levels)).collect());
    units.push(not_analysed::refused(workspace));
    summary.not_analysed = extraction.unresolved.len();
    let diagnostics = report::fold_units(units);
    let mut report = Report { diagnostics, summary, ..Report::default() };
    report.count_findings();
    report
}
