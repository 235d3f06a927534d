//! The complete results for a unit and a target, before levels, `--kernel` and comments select what is reported. They
//! are cached between runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::GlobMatcher;
use serde::{Deserialize, Serialize};

use lmem_base::diagnostic::{Diagnostic, KernelInstance, Label};
use lmem_base::mangling::demangle;
use lmem_base::source::{Span, normalize};
use lmem_base::stored::Lazy;
use lmem_lints::{self, Circumstances, Claim, Levels};
use lmem_unit::{Artifacts, AsCompiled, TranslationUnit, UnitCode};

use super::messages;
use super::unit::UnitReport;
use crate::verify::cost_of;
use crate::verify::measure::Measured;

/// All results for a unit and a target.
#[derive(Default, Serialize, Deserialize)]
pub struct Findings {
    /// Diagnostics that belong to no single kernel: compiler warnings, remarks on options.
    pub diagnostics: Vec<Graded>,
    /// Kernels, and functions with their own frame.
    pub frames: Vec<FrameFindings>,
    pub architecture: String,
    pub rescues: Vec<String>,
    /// Kernels of the unit's own text that are templates.
    pub templates: Vec<String>,
    /// The compiler's output could not be read.
    pub failed: bool,
    /// Spilling to shared memory was tried.
    pub tried_shared_spilling: bool,
    /// All files that the compilation read, except the unit's own text. The cache stores them as inputs of the
    /// findings, so they are not serialized here.
    #[serde(skip)]
    pub read: Vec<PathBuf>,
    /// The files among them that may be edited or contain directives.
    pub dependencies: Vec<PathBuf>,
    pub as_compiled: Lazy<AsCompiled>,
    pub measured: Measured,
    /// Cost of compiling the unit again, in compilations of small files.
    pub cost: u64,
}

/// The findings in a kernel, or in a function with its own frame.
#[derive(Serialize, Deserialize)]
pub struct FrameFindings {
    pub name: String,
    pub mangled: String,
    /// For a function, the kernels that have a copy of it.
    pub kernels: BTreeSet<String>,
    pub is_entry: bool,
    pub stack_frame: u64,
    pub unexplained_bytes: u64,
    pub diagnostics: Vec<Graded>,
    /// For a kernel, the figures that a budget is compared with.
    pub kernel: Option<CheckedKernel>,
}

/// A checked kernel, for reports about things other than its frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedKernel {
    /// As in findings, without bytes of a finding.
    pub instance: KernelInstance,
    /// Its name in the source, if a line table leads there.
    pub span: Option<Span>,
    pub stack_is_unknown: bool,
    /// Threads of the largest block that is launched, otherwise of the largest that is allowed.
    pub threads: Option<u32>,
    /// Bytes of dynamic shared memory; `None` if only known at run time.
    pub dynamic_shared: Option<u64>,
}

/// A diagnostic without a level yet.
#[derive(Serialize, Deserialize)]
pub struct Graded {
    pub diagnostic: Diagnostic,
    /// The lint, and whether the finding costs next to nothing; `None` for messages that do not come from a lint.
    lint: Option<(String, bool)>,
}

impl Graded {
    /// A diagnostic with a severity of its own, not from a lint.
    pub fn message(diagnostic: Diagnostic) -> Self {
        Self { diagnostic, lint: None }
    }

    pub fn claim(claim: Claim, about: &Circumstances<'_>) -> Self {
        let lint = Some((claim.lint.name.to_string(), claim.is_minor));
        Self { diagnostic: placed(claim.into_loudest(about), about.unit), lint }
    }

    /// The diagnostic with its lint's level; `None` if the lint is allowed.
    fn leveled(mut self, levels: &Levels) -> Option<Diagnostic> {
        if let Some((name, is_minor)) = &self.lint {
            self.diagnostic.severity = levels.severity(lmem_lints::find(name)?, *is_minor)?;
        }
        Some(self.diagnostic)
    }
}

impl Findings {
    pub fn has_suggestions(&self) -> bool {
        let of_frames = self.frames.iter().flat_map(|frame| &frame.diagnostics);
        of_frames.chain(&self.diagnostics).any(|graded| !graded.diagnostic.suggestions.is_empty())
    }

    /// Records the inputs of the unit.
    pub fn add_origin(&mut self, unit: &TranslationUnit, artifacts: &Artifacts, root: &Path) {
        self.read.clone_from(&artifacts.dependencies);
        self.cost = cost_of(&artifacts.ptx);
        // For kernel strings all included files count. For files, only the user's can be edited or contain directives.
        let is_file = matches!(unit.code, UnitCode::CudaFile { .. });
        let base = normalize(&unit.base);
        let is_ours = |path: &PathBuf| !is_file || path.starts_with(root) || path.starts_with(&base);
        self.dependencies = artifacts.dependencies.iter().map(|path| normalize(path)).filter(is_ours).collect();
        self.as_compiled = Lazy::new(artifacts.as_compiled.clone());
    }

    /// The part of the results that a run reports.
    pub fn report(self, unit: &TranslationUnit, levels: &Levels, kernels: Option<&GlobMatcher>) -> UnitReport {
        let mut report = UnitReport {
            diagnostics: self.diagnostics.into_iter().filter_map(|graded| graded.leveled(levels)).collect(),
            architecture: self.architecture,
            rescues: self.rescues,
            templates: self.templates,
            failed: self.failed,
            dependencies: self.dependencies,
            as_compiled: self.as_compiled,
            measured: self.measured,
            cost: self.cost,
            ..UnitReport::default()
        };
        for frame in self.frames {
            if !frame.is_wanted(kernels) {
                report.left_out.extend(frame.is_entry.then_some(frame.name));
                continue;
            }
            report.kernels += usize::from(frame.is_entry);
            report.checked.extend(frame.kernel);
            report.frame_bytes += frame.stack_frame;
            report.unexplained_bytes += frame.unexplained_bytes;
            if !matches!(unit.code, UnitCode::Machine(_)) {
                report.functions.push(frame.mangled);
            }
            report.diagnostics.extend(frame.diagnostics.into_iter().filter_map(|graded| graded.leveled(levels)));
        }
        report
    }
}

impl FrameFindings {
    fn is_wanted(&self, glob: Option<&GlobMatcher>) -> bool {
        // A function is examined with each kernel that has a copy of it.
        let names = || {
            let of_kernels = self.kernels.iter().flat_map(|kernel| [demangle(kernel), kernel.clone()]);
            of_kernels.chain([self.name.clone(), self.mangled.clone()])
        };
        glob.is_none_or(|glob| names().any(|name| glob.is_match(&name)))
    }
}

/// A diagnostic that only has locations in headers outside the workspace is reported at the start of the unit.
fn placed(mut diagnostic: Diagnostic, unit: &TranslationUnit) -> Diagnostic {
    if diagnostic.primary.is_none() {
        let text = match &unit.code {
            UnitCode::Machine(code) if code.span.range().is_empty() => "in this file",
            UnitCode::Machine(_) => "in the machine code that is loaded here",
            UnitCode::Ptx { text, .. } if text.span(0..1).is_none() => "in the PTX that is loaded here",
            _ => "in code that this file includes",
        };
        let text = text.to_string();
        diagnostic.primary = messages::start_of(unit).map(|span| Label { span, text });
    }
    diagnostic
}
