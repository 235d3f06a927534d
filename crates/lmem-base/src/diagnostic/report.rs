//! Everything that a run has to say, in one value.

use super::summary::Summary;
use super::{Code, Diagnostic};
use crate::comparison::{KernelComparison, Version};
use crate::source::Span;

/// A comment that silences findings, and its scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// `allow`, `expect` or `allow-file`.
    pub directive: &'static str,
    pub lints: Vec<String>,
    pub reason: Option<String>,
    pub span: Span,
    pub scope: Span,
    /// The macro whose uses the comment also covers.
    pub in_macro: Option<String>,
    /// Silenced findings, counted per kernel and architecture before folding.
    pub silenced: usize,
}

/// The complete result of a run.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pub diagnostics: Vec<Diagnostic>,
    pub suppressions: Vec<Suppression>,
    pub summary: Summary,
    /// The kernels beside those of an older revision, for `cargo lmem diff`.
    pub comparison: Option<KernelComparison>,
    /// All checked kernels with their figures, where they are asked for.
    pub kernels: Option<Version>,
}

impl Report {
    /// Updates the count of findings by lint.
    pub fn count_findings(&mut self) {
        self.summary.findings.clear();
        for diagnostic in &self.diagnostics {
            if let Code::Lint(name) = diagnostic.code {
                *self.summary.findings.entry(name.to_string()).or_default() += 1;
            }
        }
    }
}
