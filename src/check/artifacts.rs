//! Where the artifacts of units come from: the compilers of a toolkit, with the cache before them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use lmem_base::diagnostic::Comparison;
use lmem_base::source::normalize;
use lmem_base::timing::Measurement;
use lmem_unit::{Artifacts, CompilerMessage, TranslationUnit, UnitCode};

use super::findings::Findings;
use crate::cache::{Cache, Key, Origin};
use crate::compile::rescue::HeaderIndex;
use crate::compile::{CompileError, Compiler, Failure, Shown, Target};
use crate::measure::Bench;
use crate::verify::OverlaySource;
use crate::verify::measure::{Measured, added_warning};
use crate::verify::overlay::Overlay;
use crate::verify::results::{Comparer, Original};

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

    fn is_timed(&self) -> bool {
        self.bench.is_some()
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
