//! What is known of a unit for a target once it was looked through: as much as any run can ask, before levels, `--kernel` and
//! comments choose what is said of it. It is kept between runs.

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

/// All that a unit gave for a target.
#[derive(Default, Serialize, Deserialize)]
pub struct Findings {
    /// Of no kernel alone: warnings of compilers, remarks on options.
    pub diagnostics: Vec<Graded>,
    /// Kernels, and functions with a frame of their own.
    pub frames: Vec<FrameFindings>,
    pub architecture: String,
    pub rescues: Vec<String>,
    /// The compiler wrote what cannot be read.
    pub failed: bool,
    /// It is known what spilling to shared memory would do.
    pub tried_shared_spilling: bool,
    /// All files that the compilation read, but for the unit's own text. They are the conditions of what was found, and
    /// written down as such.
    #[serde(skip)]
    pub read: Vec<PathBuf>,
    /// Those of them that edits may be in, or comments for us.
    pub dependencies: Vec<PathBuf>,
    pub as_compiled: Lazy<AsCompiled>,
    pub measured: Measured,
    /// Of compiling it again, in compilations of small files.
    pub cost: u64,
}

/// What was found in a kernel, or in a function with a frame of its own.
#[derive(Serialize, Deserialize)]
pub struct FrameFindings {
    pub name: String,
    pub mangled: String,
    /// Kernels that have a copy of a function.
    pub kernels: BTreeSet<String>,
    pub is_entry: bool,
    pub stack_frame: u64,
    pub unexplained_bytes: u64,
    pub diagnostics: Vec<Graded>,
    /// Of a kernel: what a budget is held against.
    pub kernel: Option<CheckedKernel>,
}

/// A kernel that was looked at, for what is said of it beside its frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedKernel {
    /// As findings name it, without bytes of any.
    pub instance: KernelInstance,
    /// Its name in the source, where a line table leads there.
    pub span: Option<Span>,
    pub stack_is_unknown: bool,
    /// Threads of the largest block that is launched, else of the largest that may be.
    pub threads: Option<u32>,
    /// Bytes of shared memory that launches add; `None` where that is only known when the program runs.
    pub dynamic_shared: Option<u64>,
}

/// A diagnostic that has no level yet.
#[derive(Serialize, Deserialize)]
pub struct Graded {
    pub diagnostic: Diagnostic,
    /// The lint that found it, and whether it costs next to nothing; `None` for what no lint said.
    lint: Option<(String, bool)>,
}

impl Graded {
    /// What is not a lint's has a severity of its own.
    pub fn message(diagnostic: Diagnostic) -> Self {
        Self { diagnostic, lint: None }
    }

    pub fn claim(claim: Claim, about: &Circumstances<'_>) -> Self {
        let lint = Some((claim.lint.name.to_string(), claim.is_minor));
        Self { diagnostic: placed(claim.into_loudest(about), about.unit), lint }
    }

    /// The diagnostic as loud as levels have it; `None` where its lint is allowed.
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

    /// Notes what the unit was compiled from.
    pub fn add_origin(&mut self, unit: &TranslationUnit, artifacts: &Artifacts, root: &Path) {
        self.read.clone_from(&artifacts.dependencies);
        self.cost = cost_of(&artifacts.ptx);
        // What kernel strings include matters wherever it lies; of files, only the user's are edited, or have comments for us.
        let is_file = matches!(unit.code, UnitCode::CudaFile { .. });
        let base = normalize(&unit.base);
        let is_ours = |path: &PathBuf| !is_file || path.starts_with(root) || path.starts_with(&base);
        self.dependencies = artifacts.dependencies.iter().map(|path| normalize(path)).filter(is_ours).collect();
        self.as_compiled = Lazy::new(artifacts.as_compiled.clone());
    }

    /// What of it a run wants to hear.
    pub fn report(self, unit: &TranslationUnit, levels: &Levels, kernels: Option<&GlobMatcher>) -> UnitReport {
        let mut report = UnitReport {
            diagnostics: self.diagnostics.into_iter().filter_map(|graded| graded.leveled(levels)).collect(),
            architecture: self.architecture,
            rescues: self.rescues,
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
        // A function is looked at with each kernel that has a copy of it.
        let names = || {
            let of_kernels = self.kernels.iter().flat_map(|kernel| [demangle(kernel), kernel.clone()]);
            of_kernels.chain([self.name.clone(), self.mangled.clone()])
        };
        glob.is_none_or(|glob| names().any(|name| glob.is_match(&name)))
    }
}

/// Code from headers outside the workspace alone has no line of the user's: the unit's start stands for it.
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
