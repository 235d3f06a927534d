//! One unit for one target: compile, read, attribute, lint.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use globset::GlobMatcher;
use serde::{Deserialize, Serialize};

use cuda_syntax::SyntaxTrees;
use lmem_base::diagnostic::{Comparison, Diagnostic, FlagOrigin, Label, Severity};
use lmem_base::gpu::Arch;
use lmem_base::places;
use lmem_base::source::normalize;
use lmem_base::stored::Lazy;
use lmem_base::timing::Measurement;
use lmem_base::version::Version;
use lmem_frame::{FrameObject, KernelFrame, SpillCheck, StackObjectKind, attribute};
use lmem_lints::{self, Circumstances, Levels, LintContext, UnitContext};
use lmem_unit::{Artifacts, AsCompiled, CompilerMessage, DriverOptions, TranslationUnit, UnitCode};
use nv_code::{ReadError, UnitFacts, read_machine_code, read_unit};

use super::findings::{CheckedKernel, Findings, FrameFindings, Graded};
use super::machine::source_file;
use super::messages;
use crate::cache::{Cache, Key, Origin};
use crate::compile::given::given;
use crate::compile::rescue::HeaderIndex;
use crate::compile::{CompileError, Compiler, Failure, Shown, Target};
use crate::measure::Bench;
use crate::verify::OverlaySource;
use crate::verify::measure::{Measured, added_warning, block_sizes};
use crate::verify::overlay::Overlay;
use crate::verify::results::{Comparer, Original};

/// The first version whose ptxas marks spills in the cubin.
pub const MARKS_SPILLS: Version = Version { major: 12, minor: 8 };

/// A source of artifacts: compilers with a cache, or a record.
pub trait ArtifactSource: OverlaySource {
    /// The artifacts of a unit for a target.
    ///
    /// # Errors
    /// The unit does not compile, or the compilers cannot be run.
    fn artifacts(&self, unit: &TranslationUnit, target: &Target) -> Result<Sourced, Box<Failure>>;

    /// The stored findings of a unit, if all their inputs are unchanged.
    fn findings(&self, _unit: &TranslationUnit, _target: &Target) -> Option<Findings> {
        None
    }

    /// Stores findings derived from some files after `since`; returns an error message if that fails.
    fn keep_findings(
        &self,
        _unit: &TranslationUnit,
        _target: &Target,
        _findings: &Findings,
        _asked: BTreeSet<PathBuf>,
        _since: SystemTime,
    ) -> Option<String> {
        None
    }
}

/// Artifacts, and how they were obtained.
pub struct Sourced {
    pub artifacts: Artifacts,
    pub cached: bool,
    /// Why the cache could not be written.
    pub cache_error: Option<String>,
}

/// The compilers of a toolkit.
pub struct Compilers<'a> {
    pub compiler: Compiler<'a>,
    pub cache: Option<&'a Cache>,
    /// Whether the commands that compile suggestions are shown too.
    pub shows_suggestions: bool,
    /// Compares the results of both versions of kernels.
    pub comparer: &'a Comparer,
    /// Times both versions of kernels, if that was asked for.
    pub bench: Option<&'a Bench<'a>>,
}

impl ArtifactSource for Compilers<'_> {
    fn artifacts(&self, unit: &TranslationUnit, target: &Target) -> Result<Sourced, Box<Failure>> {
        let Some(cache) = &self.cache else {
            let artifacts = self.compiler.compile(unit, target)?;
            // Without a cache, the comparison of a suggestion needs them again.
            self.comparer.remember(unit, target, &artifacts);
            return Ok(Sourced { artifacts, cached: false, cache_error: None });
        };
        let key = cache.key(unit, target);
        // An entry from a run without spilling to shared memory may lack the figures that this run needs.
        let is_enough = |artifacts: &Artifacts| artifacts.shared_log.is_some() || !self.compiler.tries_shared_spilling;
        if let Some(artifacts) = cache.get(&key).filter(is_enough) {
            return Ok(Sourced { artifacts, cached: true, cache_error: None });
        }
        let folder_with = |header: &str| self.compiler.folder_with(header, unit, &target.toolkit);
        if let Some(failure) = cache.failure(&key, &folder_with) {
            return Err(Box::new(failure));
        }
        let origin = Origin { key: &key, unit, toolkit: &target.toolkit.root };
        let since = SystemTime::now();
        let artifacts = self.compiler.compile(unit, target).inspect_err(|failure| {
            // If this fails, the next run compiles the unit again.
            drop(cache.put_failure(origin, failure, since, &folder_with));
        })?;
        let cache_error = cache.put(origin, &artifacts, since).err().map(|error| error.to_string());
        Ok(Sourced { artifacts, cached: false, cache_error })
    }

    fn findings(&self, unit: &TranslationUnit, target: &Target) -> Option<Findings> {
        let cache = self.cache.as_ref()?;
        let unit_key = cache.key(unit, target);
        let found: Findings = cache.result(&findings_key(cache, unit, &unit_key)?, entry_of(unit, &unit_key))?;
        (found.tried_shared_spilling || !self.compiler.tries_shared_spilling).then_some(found)
    }

    fn keep_findings(
        &self,
        unit: &TranslationUnit,
        target: &Target,
        findings: &Findings,
        asked: BTreeSet<PathBuf>,
        since: SystemTime,
    ) -> Option<String> {
        let cache = self.cache.as_ref()?;
        let unit_key = cache.key(unit, target);
        let key = findings_key(cache, unit, &unit_key)?;
        let root = &target.toolkit.root;
        let of_key = cache.is_of_key(root).then(|| normalize(root));
        let paths = findings.read.iter().cloned().chain(asked);
        let paths = paths.filter(|path| of_key.as_ref().is_none_or(|toolkit| !path.starts_with(toolkit)));
        let origin = entry_of(unit, &unit_key).map(|key| Origin { key, unit, toolkit: &target.toolkit.root });
        cache.keep_result(&key, origin, findings, paths, since).err().map(|error| error.to_string())
    }
}

/// Cache key for findings. Machine code itself is not part of it: the unit's key has its hash, so only its context is
/// added.
fn findings_key(cache: &Cache, unit: &TranslationUnit, unit_key: &Key) -> Option<Key> {
    match &unit.code {
        UnitCode::Machine(code) => {
            let around = (&unit.name, &unit.package, &unit.base, &unit.use_site, &unit.launches);
            cache.result_key("findings of machine code", &(unit_key.as_str(), around, &code.span, &*code.siblings))
        }
        _ => cache.result_key("findings", &(unit_key.as_str(), unit)),
    }
}

/// The entry of the artifacts behind the findings; machine code has none.
fn entry_of<'k>(unit: &TranslationUnit, unit_key: &'k Key) -> Option<&'k Key> {
    (!matches!(unit.code, UnitCode::Machine(_))).then_some(unit_key)
}

/// The result of an edited unit. A compiler's rejection is cached, too.
#[derive(Serialize, Deserialize)]
enum Tried {
    Measured(Measured),
    Refused { architecture: String, messages: Vec<CompilerMessage> },
}

impl Tried {
    /// `None` for failures that do not come from the edit.
    fn of(result: &Result<Measured, Box<Failure>>) -> Option<Self> {
        match result {
            Ok(measured) => Some(Self::Measured(measured.clone())),
            Err(failure) => match &failure.error {
                CompileError::Refused { architecture } => {
                    Some(Self::Refused { architecture: architecture.clone(), messages: failure.messages.clone() })
                }
                _ => None,
            },
        }
    }

    /// Whether a GPU has nothing to add.
    fn is_timed_on(&self, bench: &Bench<'_>) -> bool {
        let Self::Measured(measured) = self else { return true };
        // A unit without edits is not timed.
        measured.functions.is_empty()
            || measured.timed.values().any(|it| it.timing().is_none_or(|timing| timing.device == bench.device.name))
    }

    fn result(self) -> Result<Measured, Box<Failure>> {
        match self {
            Self::Measured(measured) => Ok(measured),
            Self::Refused { architecture, messages } => Err(refused(architecture, messages)),
        }
    }
}

fn refused(architecture: String, messages: Vec<CompilerMessage>) -> Box<Failure> {
    let error = CompileError::Refused { architecture };
    Box::new(Failure { error, messages, rescues: Vec::new(), ptx: None, read: None, absent: None })
}

impl OverlaySource for Compilers<'_> {
    fn measure(&self, overlay: &Overlay<'_>, target: &Target) -> Result<Measured, Box<Failure>> {
        let measured = self.compile_overlay(overlay, target);
        let key = self.cache.as_ref().and_then(|cache| Some((cache, cache.overlay_key(overlay, target)?)));
        if let Some(((cache, key), tried)) = key.zip(Tried::of(&measured)) {
            // If this fails, the next run tries again; the run's own artifacts report that the cache is broken.
            drop(cache.put_value(&key, &tried));
        }
        measured
    }

    fn measured(&self, overlay: &Overlay<'_>, target: &Target) -> Option<Result<Measured, Box<Failure>>> {
        let cache = self.cache.as_ref()?;
        let tried: Tried = cache.get_value(&cache.overlay_key(overlay, target)?)?;
        let is_open = self.bench.is_some_and(|bench| bench.runs(&target.architecture) && !tried.is_timed_on(bench));
        (!is_open).then(|| tried.result())
    }
}

impl Compilers<'_> {
    fn compile_overlay(&self, overlay: &Overlay<'_>, target: &Target) -> Result<Measured, Box<Failure>> {
        if overlay.is_original() {
            let original = self.original(overlay.unit, target);
            let alone = match original {
                Some(original) => {
                    self.comparer.alone(&original, self.compiler.cancel).ok_or(CompileError::Cancelled)?
                }
                None => BTreeMap::new(),
            };
            return Ok(Measured { alone, ..Measured::default() });
        }
        let mirror = overlay.mirror().map_err(|error| {
            let what = "an edited copy cannot be made".to_string();
            Box::<Failure>::from(CompileError::Io { what, message: error.to_string() })
        })?;
        let compiler = match &mirror.root {
            // A rescue must find headers in the mirror.
            Some(root) => Compiler { headers: HeaderIndex::new(root), ..self.compiler.clone() },
            None => self.compiler.clone(),
        };
        let silent = |_: &Shown<'_>| {};
        let show: &(dyn Fn(&Shown<'_>) + Sync) = if self.shows_suggestions { compiler.show } else { &silent };
        let compiles_host = overlay.is_seen_by_host();
        let compiler = Compiler { tries_shared_spilling: false, explains: false, compiles_host, show, ..compiler };
        let artifacts = compiler.compile(&mirror.unit, target)?;
        if let Some(warning) = self.added_warning(overlay.unit, target, &artifacts) {
            return Err(refused(artifacts.architecture.clone(), vec![warning]));
        }
        let mut measured = Measured::of(&artifacts);
        if let Some(before) = self.original(overlay.unit, target) {
            let results = self.comparer.results(&before, &artifacts.ptx, overlay, self.compiler.cancel);
            let results = results.ok_or(CompileError::Cancelled)?;
            measured.timed = self.timed(overlay, target, &artifacts, &results.functions);
            (measured.results, measured.executed) = (results.functions, results.executed);
        }
        Ok(measured)
    }

    /// A warning that the edits bring. Most texts have none, so that the original is not asked for.
    fn added_warning(&self, unit: &TranslationUnit, target: &Target, after: &Artifacts) -> Option<CompilerMessage> {
        added_warning(&[], &after.messages)?;
        let before = self.original_artifacts(unit, target)?;
        added_warning(&before.messages, &after.messages).cloned()
    }

    /// Both versions of the kernels whose results are equal, on a GPU.
    fn timed(
        &self,
        overlay: &Overlay<'_>,
        target: &Target,
        after: &Artifacts,
        results: &BTreeMap<String, Comparison>,
    ) -> BTreeMap<String, Measurement> {
        let Some(bench) = self.bench.filter(|bench| bench.runs(&target.architecture)) else {
            return BTreeMap::new();
        };
        match self.original_artifacts(overlay.unit, target) {
            Some(before) => bench.time_all(&before, after, results, &overlay.threads),
            None => BTreeMap::new(),
        }
    }

    /// A unit without edits.
    fn original(&self, unit: &TranslationUnit, target: &Target) -> Option<Arc<Original>> {
        self.comparer.remembered(unit, target).or_else(|| {
            let artifacts = self.original_artifacts(unit, target)?;
            Some(match self.cache {
                Some(_) => Arc::new(Original::of(unit, &artifacts)),
                None => self.comparer.remember(unit, target, &artifacts),
            })
        })
    }

    fn original_artifacts(&self, unit: &TranslationUnit, target: &Target) -> Option<Artifacts> {
        let cached = self.cache.as_ref().and_then(|cache| cache.get(&cache.key(unit, target)));
        cached.or_else(|| self.compiler.compile(unit, target).ok())
    }
}

/// State shared by all units of a run.
pub struct Shared<'a> {
    pub source: &'a dyn ArtifactSource,
    pub root: &'a Path,
    /// Restricts the run to matching kernels.
    pub kernels: Option<GlobMatcher>,
}

/// The results of one unit for one target.
#[derive(Default)]
pub struct UnitReport {
    pub diagnostics: Vec<Diagnostic>,
    /// Number of kernels checked.
    pub kernels: usize,
    pub checked: Vec<CheckedKernel>,
    /// It was built for debugging, so its kernels were not checked.
    pub is_unread: bool,
    /// Names of kernels that `--kernel` excluded.
    pub left_out: Vec<String>,
    /// Findings that levels hide, of those that are usually shown.
    pub silenced: usize,
    /// Kernels of the unit's own text that are templates.
    pub templates: Vec<String>,
    /// Mangled names of the kernels and of functions with their own frame. Empty for precompiled machine code, which
    /// need not come from the same source.
    pub functions: Vec<String>,
    /// The actual architecture, which a rescue may have raised.
    pub architecture: String,
    /// Input files other than its own text that may be edited or contain directives.
    pub dependencies: Vec<PathBuf>,
    /// The user's files among the inputs, and its own text, in the version that was compiled.
    pub as_compiled: Lazy<AsCompiled>,
    /// Figures that suggestions are compared with.
    pub measured: Measured,
    /// Cost of compiling the unit again, in compilations of small files.
    pub cost: u64,
    pub frame_bytes: u64,
    pub unexplained_bytes: u64,
    pub failed: bool,
    pub cached: bool,
    pub interrupted: bool,
    /// Flags that were added to assumed flags to make it compile.
    pub rescues: Vec<String>,
    /// Why the cache could not be written.
    pub cache_error: Option<String>,
}

/// Checks a unit; all problems are in the report.
pub fn check_unit(unit: &TranslationUnit, target: &Target, levels: &Levels, shared: &Shared<'_>) -> UnitReport {
    let about = |architecture| Circumstances { unit, frame: None, architecture, toolkit: "", flags: flag_origin(unit) };
    if let Some(claim) = lmem_lints::unit_claim(unit, is_debug(unit)) {
        let diagnostics = claim.into_diagnostic(levels, &about(&target.architecture)).into_iter().collect();
        return UnitReport { diagnostics, is_unread: true, ..Default::default() };
    }
    if let Some(findings) = shared.source.findings(unit, target) {
        let kernels = shared.kernels.as_ref();
        return UnitReport { cached: true, ..findings.report(unit, levels, kernels) };
    }
    let since = SystemTime::now();
    let sourced = match &unit.code {
        UnitCode::Machine(code) => {
            given(unit, code).map(|artifacts| Sourced { artifacts, cached: false, cache_error: None })
        }
        _ => shared.source.artifacts(unit, target),
    };
    match sourced {
        Ok(sourced) => {
            let (findings, asked) = places::watched(|| examine(unit, target, &sourced.artifacts, shared));
            // A file that an edit or another program changed after the artifacts were made is looked up again.
            let since = if sourced.cached { SystemTime::now() } else { since };
            let not_kept = shared.source.keep_findings(unit, target, &findings, asked, since);
            UnitReport {
                cached: sourced.cached,
                cache_error: sourced.cache_error.or(not_kept),
                ..findings.report(unit, levels, shared.kernels.as_ref())
            }
        }
        Err(failure) => {
            let failed = !may_fail(unit, &failure);
            UnitReport {
                interrupted: matches!(failure.error, CompileError::Cancelled),
                failed,
                diagnostics: match failed {
                    true => messages::failure(&failure, unit, shared.root),
                    false if unit.is_unclaimed() => Vec::new(),
                    false => vec![messages::expected_failure(unit)],
                },
                ..UnitReport::default()
            }
        }
    }
}

/// Whether a text does not compile, and all code that compiles it expects that, or none is known that does.
fn may_fail(unit: &TranslationUnit, failure: &Failure) -> bool {
    let is_demanded = matches!(&unit.code, UnitCode::CudaText { options, .. } if options.must_fail);
    match failure.error {
        CompileError::Refused { .. } => is_demanded || unit.is_unclaimed(),
        // Messages without a place, as at the end of a text that is a part of one.
        CompileError::Silent { .. } => unit.is_unclaimed(),
        _ => false,
    }
}

/// Computes all findings of a unit, independent of levels.
fn examine(unit: &TranslationUnit, target: &Target, artifacts: &Artifacts, shared: &Shared<'_>) -> Findings {
    let located = messages::located(&artifacts.messages, unit, shared.root, &artifacts.ptx);
    let mut findings = Findings {
        diagnostics: messages::warnings(&located, unit).into_iter().map(Graded::message).collect(),
        rescues: artifacts.rescues.clone(),
        architecture: artifacts.architecture.clone(),
        tried_shared_spilling: artifacts.shared_log.is_some(),
        ..Findings::default()
    };
    findings.add_origin(unit, artifacts, shared.root);
    let facts = match read(unit, target, artifacts, shared) {
        Ok(facts) => facts,
        Err(error) => {
            findings.failed = true;
            let errors = unreadable(unit, &error.to_string(), shared.root);
            findings.diagnostics.extend(errors.into_iter().map(Graded::message));
            return findings;
        }
    };
    let register_flag = register_flag(unit).or_else(|| given_limit(&facts));
    let trees = SyntaxTrees::new(unit, artifacts, shared.root);
    findings.templates = kernel_templates(unit, &trees);
    let cx = UnitContext::new(unit, artifacts, &facts, &trees, &located, register_flag.clone());
    let toolkit = match &unit.code {
        UnitCode::Machine(code) => code.header.toolkit.map_or("unknown".to_string(), |version| version.to_string()),
        _ => target.toolkit.version.to_string(),
    };
    let about = Circumstances {
        unit,
        frame: None,
        architecture: &artifacts.architecture,
        toolkit: &toolkit,
        flags: flag_origin(unit),
    };
    let remarks = lmem_lints::option_claims(&cx).into_iter().map(|claim| Graded::claim(claim, &about));
    findings.diagnostics.extend(remarks);
    let block_sizes = block_sizes(&artifacts.ptx);
    for frame in &attribute(&trees, &facts, artifacts, register_flag) {
        let bound = block_sizes.get(frame.mangled.as_str()).copied();
        findings.frames.push(examine_frame(&cx, frame, &Circumstances { frame: Some(frame), ..about }, bound));
    }
    findings.measured = Measured::of_log(&facts.log);
    if findings.has_suggestions() {
        findings.measured.add_work(artifacts);
    }
    findings
}

/// Reads the compiler's output, or precompiled machine code.
fn read(
    unit: &TranslationUnit,
    target: &Target,
    artifacts: &Artifacts,
    shared: &Shared<'_>,
) -> Result<UnitFacts, ReadError> {
    let arch = artifacts.arch();
    match &unit.code {
        UnitCode::Machine(code) => {
            let marks_spills = code.header.toolkit.is_some_and(|version| version >= MARKS_SPILLS);
            let file = |name: &str, lines: &BTreeSet<u32>| source_file(name, lines, &unit.base, shared.root);
            read_machine_code(&artifacts.cubin, arch, marks_spills, &file)
        }
        _ => {
            let marks_spills = target.toolkit.version >= MARKS_SPILLS;
            read_unit(&artifacts.cubin, &artifacts.ptx, &artifacts.ptxas_log, arch, marks_spills)
        }
    }
}

/// The register limit that machine code was compiled with. The code does not tell who set the limit, and how.
fn given_limit(facts: &UnitFacts) -> Option<(u32, String)> {
    facts.register_limit.map(|registers| (registers, format!("-maxrregcount={registers}")))
}

/// `bound` is the number of threads of the largest block that the kernel allows, if it says so.
/// The kernels of a file that are templates. Strings are compiled with the names of their instances.
fn kernel_templates(unit: &TranslationUnit, trees: &SyntaxTrees<'_>) -> Vec<String> {
    let UnitCode::CudaFile { file, .. } = &unit.code else { return Vec::new() };
    if !["template", "__global__"].iter().all(|word| file.text().contains(word)) {
        return Vec::new();
    }
    let tree = trees.get(&file.path.to_string_lossy());
    tree.into_iter().flat_map(|tree| tree.kernel_templates()).map(str::to_string).collect()
}

fn examine_frame(
    unit: &UnitContext<'_>,
    frame: &KernelFrame,
    about: &Circumstances<'_>,
    bound: Option<u32>,
) -> FrameFindings {
    let has_spill_marks = unit.facts.has_spill_marks;
    let cx = LintContext { unit, frame, arch: Arch::of(about.architecture), has_spill_marks };
    let mut unexplained_bytes = 0;
    let mut diagnostics = Vec::new();
    for claim in lmem_lints::claims(&cx).into_iter().chain(lmem_lints::kernel_claims(&cx)) {
        if claim.lint.name == "unexplained_local_memory" {
            unexplained_bytes += claim.bytes;
        }
        let mut graded = Graded::claim(claim, about);
        if let UnitCode::Machine(_) = &about.unit.code {
            // Edits of the source do not affect precompiled code, so none can be verified.
            graded.diagnostic.suggestions.clear();
        }
        diagnostics.push(graded);
    }
    diagnostics.extend(frame.spill_check.map(|check| Graded::message(spills_differ(check, frame, about))));
    debug_assert_eq!(
        frame.objects.iter().map(FrameObject::counted_bytes).sum::<u64>(),
        frame.usage.stack_frame,
        "the objects of `{}` do not add up: {:?}",
        frame.name,
        frame
            .objects
            .iter()
            .map(|object| (object.bytes, matches!(object.kind, StackObjectKind::Unknown)))
            .collect::<Vec<_>>()
    );
    FrameFindings {
        name: frame.name.clone(),
        mangled: frame.mangled.clone(),
        kernels: frame.kernels.clone(),
        is_entry: frame.is_entry,
        stack_frame: frame.usage.stack_frame,
        unexplained_bytes,
        diagnostics,
        kernel: frame.is_entry.then(|| CheckedKernel {
            instance: lmem_lints::instance(frame, 0, (0, 0), about),
            span: frame.span.clone(),
            stack_is_unknown: frame.stack_is_unknown,
            threads: unit.launch(frame).map(|launch| launch.threads).or(bound),
            dynamic_shared: unit.launches().dynamic_shared(&frame.name),
        }),
    }
}

/// A finding that ptxas's marks and figures disagree: some bytes are moved by something unknown.
fn spills_differ(check: SpillCheck, frame: &KernelFrame, about: &Circumstances<'_>) -> Diagnostic {
    let architecture = about.architecture;
    let SpillCheck { found, reported } = check;
    let kind = if frame.is_entry { "kernel" } else { "function" };
    Diagnostic {
        primary: frame.span.clone().map(|span| Label { span, text: String::new() }),
        notes: vec!["what is said of its spills may be incomplete".to_string()],
        package: about.unit.package.clone(),
        ..Diagnostic::of_tool(
            Severity::Note,
            "spill_marks",
            format!(
                "{kind} `{}` for {architecture}: instructions that are marked as spills move {} and {} bytes, ptxas reports {} and {}",
                frame.name, found.0, found.1, reported.0, reported.1
            ),
        )
    }
}

fn unreadable(unit: &TranslationUnit, error: &str, root: &Path) -> Vec<Diagnostic> {
    if let UnitCode::Machine(_) = &unit.code {
        return messages::failure(&Box::<Failure>::from(CompileError::Broken(error.to_string())), unit, root);
    }
    vec![Diagnostic {
        notes: vec!["this is a bug in cargo-lmem, or a toolkit that it does not know yet".to_string()],
        package: unit.package.clone(),
        ..Diagnostic::of_tool(
            Severity::Error,
            "read",
            format!("`{}` compiles, but what the compiler wrote cannot be read: {error}", unit.name),
        )
    }]
}

pub fn flag_origin(unit: &TranslationUnit) -> FlagOrigin {
    match &unit.code {
        UnitCode::CudaFile { flags, .. } => flags.origin,
        // Captured options, or their absence, are those that the program runs with.
        UnitCode::CudaText { options, .. } if options.captured.is_some() => FlagOrigin::Captured,
        UnitCode::CudaText { .. } | UnitCode::Ptx { .. } if unit.unresolved_options().is_some() => FlagOrigin::Assumed,
        UnitCode::CudaText { .. } | UnitCode::Ptx { .. } | UnitCode::Machine(_) => FlagOrigin::Code,
    }
}

/// Whether the driver makes the machine code that runs, from PTX.
pub fn is_for_driver(unit: &TranslationUnit) -> bool {
    match &unit.code {
        UnitCode::CudaFile { flags, .. } => flags.targets.iter().any(|target| target.architecture.is_none()),
        UnitCode::CudaText { options, .. } => !options.captured.as_ref().is_some_and(|captured| captured.takes_cubin),
        UnitCode::Ptx { .. } => true,
        UnitCode::Machine(_) => false,
    }
}

fn is_debug(unit: &TranslationUnit) -> bool {
    let asks = |arguments: &[String]| {
        arguments.iter().any(|argument| matches!(argument.as_str(), "-G" | "--device-debug" | "-device-debug"))
    };
    match &unit.code {
        UnitCode::CudaFile { flags, .. } => asks(&flags.arguments),
        UnitCode::CudaText { options, .. } => asks(&options.arguments),
        UnitCode::Ptx { text, .. } => {
            let target = text.as_str().lines().find_map(|line| line.trim_start().strip_prefix(".target"));
            target.is_some_and(|rest| rest.split(',').any(|word| word.trim() == "debug"))
        }
        UnitCode::Machine(code) => code.header.is_debug,
    }
}

/// The register limit for all kernels of a unit, and the name of its option: nvcc's, or that of the driver's compiler.
/// An option of NVRTC does not affect the code that runs.
pub fn register_flag(unit: &TranslationUnit) -> Option<(u32, String)> {
    let of_driver = |options: &DriverOptions| {
        let (registers, _) = maxrregcount(&options.arguments)?;
        Some((registers, format!("ModuleJitOption::MaxRegisters({registers})")))
    };
    match &unit.code {
        UnitCode::CudaFile { flags, .. } => maxrregcount(&flags.arguments).or_else(|| of_driver(&flags.driver)),
        UnitCode::Ptx { options, .. } => of_driver(options),
        UnitCode::CudaText { .. } | UnitCode::Machine(_) => None,
    }
}

fn maxrregcount(arguments: &[String]) -> Option<(u32, String)> {
    let mut arguments = arguments.iter().peekable();
    let mut found = None;
    while let Some(argument) = arguments.next() {
        let name = argument.trim_start_matches('-');
        let Some(rest) = name.strip_prefix("maxrregcount").filter(|_| argument.starts_with('-')) else { continue };
        let value = match rest.strip_prefix('=') {
            Some(value) => value.to_string(),
            None => arguments.peek().map(|value| (*value).clone()).unwrap_or_default(),
        };
        found = value.parse().ok().map(|registers| (registers, format!("-maxrregcount={value}")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::source::SourceFile;
    use lmem_unit::{MappedText, NvccFlags, NvrtcOptions};

    fn unit(arguments: &[&str]) -> TranslationUnit {
        let arguments = arguments.iter().map(|text| text.to_string()).collect();
        let flags = NvccFlags::new(arguments, FlagOrigin::Config);
        TranslationUnit {
            name: "a.cu".into(),
            package: None,
            base: ".".into(),
            code: UnitCode::CudaFile { file: SourceFile::from_text("a.cu", "int a;"), flags },
            use_site: None,
            included_at: None,
            launches: Vec::new(),
            shared: Vec::new(),
        }
    }

    #[test]
    fn a_text_may_fail_where_nobody_is_known_to_compile_it() {
        let text = |options| TranslationUnit {
            code: UnitCode::CudaText { text: MappedText::default(), options },
            ..unit(&[])
        };
        let failure =
            |error| Failure { error, messages: Vec::new(), rescues: Vec::new(), ptx: None, read: None, absent: None };
        let refused = failure(CompileError::Refused { architecture: "sm_80".to_string() });
        let silent = failure(CompileError::Silent { program: "NVRTC".to_string(), code: 1, output: String::new() });
        let timed_out = failure(CompileError::TimedOut { program: "NVRTC".to_string(), seconds: 1 });
        let unclaimed = text(NvrtcOptions { is_unclaimed: true, ..NvrtcOptions::default() });
        assert_eq!([&refused, &silent, &timed_out].map(|it| may_fail(&unclaimed, it)), [true, true, false]);
        let demanded = text(NvrtcOptions { must_fail: true, ..NvrtcOptions::default() });
        assert_eq!([&refused, &silent].map(|it| may_fail(&demanded, it)), [true, false]);
        assert!(!may_fail(&text(NvrtcOptions::default()), &refused));
    }

    #[test]
    fn flags_that_matter_are_seen() {
        assert!(is_debug(&unit(&["-O3", "-G"])));
        assert!(!is_debug(&unit(&["-g", "-lineinfo"])));
        assert!(!is_for_driver(&unit(&["-O3"])));
        for arguments in [&["-maxrregcount=64"][..], &["--maxrregcount", "64"], &["-maxrregcount", "64"]] {
            assert_eq!(register_flag(&unit(arguments)), Some((64, "-maxrregcount=64".into())), "{arguments:?}");
        }
        let options = DriverOptions { arguments: vec!["-O1".into(), "--maxrregcount=32".into()], ..Default::default() };
        let ptx = UnitCode::Ptx { text: MappedText::default(), options };
        let ptx = TranslationUnit { code: ptx, ..unit(&[]) };
        assert!(is_for_driver(&ptx));
        let limit = register_flag(&ptx);
        assert_eq!(limit, Some((32, "ModuleJitOption::MaxRegisters(32)".into())));
        assert_eq!(register_flag(&unit(&["-O3"])), None);
        assert_eq!(register_flag(&unit(&["-maxrregcount"])), None);
    }

    #[test]
    fn ptx_tells_that_it_is_for_debugging() {
        let text = MappedText::from_file(&SourceFile::from_text("a.ptx", ".version 8.0\n.target sm_90, debug\n"));
        assert!(is_debug(&TranslationUnit {
            code: UnitCode::Ptx { text, options: DriverOptions::default() },
            ..unit(&[])
        }));
    }
}
