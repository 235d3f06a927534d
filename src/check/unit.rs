//! One unit for one target: compile, read, attribute, lint.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use globset::GlobMatcher;

use lmem_base::diagnostic::Diagnostic;
use lmem_base::places;
use lmem_base::stored::Lazy;
use lmem_lints::{self, Circumstances, Levels};
use lmem_unit::{AsCompiled, TranslationUnit, UnitCode};

use super::artifacts::{ArtifactSource, Sourced};
use super::examine::examine;
use super::findings::CheckedKernel;
use super::messages;
use super::unit_flags::{flag_origin, is_debug};
use crate::compile::given::given;
use crate::compile::{CompileError, Failure, Target};
use crate::verify::measure::Measured;

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
    /// The compiler refused its text.
    pub is_refused: bool,
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
        let diagnostics: Vec<_> = claim.into_diagnostic(levels, &about(&target.architecture)).into_iter().collect();
        let silenced = usize::from(diagnostics.is_empty());
        return UnitReport { diagnostics, silenced, is_unread: true, ..Default::default() };
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
            let (findings, asked) = places::watched(|| examine(unit, target, &sourced.artifacts, shared.root));
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
                is_refused: matches!(failure.error, CompileError::Refused { .. } | CompileError::Silent { .. }),
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

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_unit::{MappedText, NvrtcOptions};

    fn text(options: NvrtcOptions) -> TranslationUnit {
        TranslationUnit {
            name: "a.rs:1".into(),
            package: None,
            base: ".".into(),
            code: UnitCode::CudaText { text: MappedText::default(), options },
            use_site: None,
            included_at: None,
            launches: Vec::new(),
            shared: Vec::new(),
        }
    }

    #[test]
    fn a_text_may_fail_where_nobody_is_known_to_compile_it() {
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
}
