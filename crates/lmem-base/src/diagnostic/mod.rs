//! The results of a run: diagnostics, with everything a report format needs.

mod evidence;
mod report;
mod suggestion;
mod summary;
mod verification;

use serde::{Deserialize, Deserializer, Serialize};

pub use evidence::{Evidence, FlagOrigin, KernelInstance, LocalAccess, Location, Rejected, Uniformity};
pub use report::{Report, Suppression};
pub use suggestion::{ADVICE_BEFORE, Applicability, Edit, Suggestion};
pub use summary::{BaselineTally, FixTally, ImprovedEntry, PartitionTally, SinceTally, Summary};
pub use verification::{Comparison, Footprint, ResourceUsage, Speedup, Verification, VerifiedKernel};

use crate::source::Span;
use crate::stored::constant;
use crate::timing::Measurement;

/// Severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Note,
    Warning,
    Error,
}

/// The origin of a diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Code {
    /// A lint, by name.
    Lint(&'static str),
    /// A compiler's message: `ptxas`, `nvcc` or `nvrtc`, with its number if it has one.
    Compiler(String),
    /// A remark about the run, not about a kernel: an `allow` that silences nothing, a text that was not analysed.
    Tool(&'static str),
}

/// A deserialized code, whose name is not yet a constant of the program.
#[derive(Deserialize)]
enum StoredCode {
    Lint(String),
    Compiler(String),
    Tool(String),
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match StoredCode::deserialize(deserializer)? {
            StoredCode::Lint(name) => Self::Lint(constant(&name)),
            StoredCode::Compiler(name) => Self::Compiler(name),
            StoredCode::Tool(name) => Self::Tool(constant(&name)),
        })
    }
}

impl Code {
    /// The code in machine-readable formats: `lmem::dynamic_index`.
    pub fn id(&self) -> String {
        match self {
            Self::Lint(name) | Self::Tool(name) => format!("lmem::{name}"),
            Self::Compiler(name) => name.clone(),
        }
    }

    /// The code in the human format: `dynamic_index`, `ptxas`; empty for a compiler's message without a number.
    pub fn name(&self) -> &str {
        match self {
            Self::Lint(name) | Self::Tool(name) => name,
            Self::Compiler(name) => name,
        }
    }
}

/// A place in a source file with a message.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Label {
    pub span: Span,
    pub text: String,
}

/// Advice in words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Help {
    pub message: String,
}

/// A problem at one place, with all kernels and architectures for which it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: Code,
    /// The headline: the problem. Lower case, no full stop, names in backticks.
    pub message: String,
    /// The main position; `None` for remarks about the whole run.
    pub primary: Option<Label>,
    /// Other positions: the guilty access, the loop, the call.
    pub secondary: Vec<Label>,
    /// Facts below the source excerpt, one `= …` line each.
    pub notes: Vec<String>,
    pub help: Vec<Help>,
    /// Best first.
    pub suggestions: Vec<Suggestion>,
    /// For lints only.
    pub evidence: Option<Evidence>,
    /// The package of the file; `None` outside packages.
    pub package: Option<String>,
}

/// What edits end of the time that local memory takes by estimate, in thousandths: of 67 unseen pairs, the medians are
/// 0.40 and 0.62 of the kernel's time. Else findings that nobody can mend would come first.
const USUALLY_ENDED: u32 = 640;

impl Diagnostic {
    /// Notes that an edit is not shown. What a number in its title stands for is of no interest any more.
    pub fn reject(&mut self, title: &str, reason: impl std::fmt::Display) {
        let Some(evidence) = &mut self.evidence else { return };
        let title = title.split("; replace ").next().unwrap_or_default();
        let rejected = Rejected { title: title.to_string(), reason: reason.to_string() };
        if !evidence.rejected.contains(&rejected) {
            evidence.rejected.push(rejected);
        }
    }

    /// What the tool itself has to say: a remark on a run, a file or a setting, which is no finding of a lint.
    pub fn of_tool(severity: Severity, name: &'static str, message: impl Into<String>) -> Self {
        Self::new(severity, Code::Tool(name), message)
    }

    /// A headline without a place or anything else below it.
    pub fn new(severity: Severity, code: Code, message: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            message: message.into(),
            primary: None,
            secondary: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
            suggestions: Vec::new(),
            evidence: None,
            package: None,
        }
    }

    /// Whether something could not be checked: an error that is no finding.
    pub fn is_failure(&self) -> bool {
        self.severity == Severity::Error && !matches!(self.code, Code::Lint(_))
    }

    /// What the local memory costs, as a share of the kernel's time in thousandths: what the best edit ends as measured,
    /// else what edits usually end of all that it takes. `None` where nothing was executed.
    ///
    /// What an edit ends by estimate counts only where nothing else is known: of 190 programs, the local memory of the
    /// original tells better how much faster they can be.
    pub fn share(&self) -> Option<u32> {
        let is_measured = self.verified().any(|verified| verified.measured().and_then(Measurement::timing).is_some());
        let usual = self.local_share().filter(|_| !is_measured).map(|share| share * USUALLY_ENDED / 1000);
        usual.or_else(|| self.ended_share())
    }

    /// The share of a kernel's time, in thousandths, that all its local memory takes by estimate.
    fn local_share(&self) -> Option<u32> {
        let edited = self.verified().flat_map(|verified| &verified.kernels).filter_map(|kernel| kernel.local_share);
        edited.chain(self.evidence.as_ref().and_then(|evidence| evidence.local_share)).max()
    }

    fn verified(&self) -> impl Iterator<Item = &Verification> {
        self.suggestions.iter().filter_map(|suggestion| suggestion.verification.as_ref())
    }

    /// The share of the kernel's time, in thousandths, that the finding is said to cost: no more than its part of what all
    /// findings of the kernel cost.
    pub fn cost(&self) -> Option<u32> {
        let most = self.evidence.as_ref().and_then(|evidence| evidence.most_share);
        self.share().map(|share| most.map_or(share, |most| share.min(most)))
    }

    /// The share of the kernel's time, in thousandths, that the best edit with an estimate ends.
    pub fn ended_share(&self) -> Option<u32> {
        let percent = self.verified().filter_map(Verification::percent).max()?;
        Some(1000_u32.saturating_sub(100_000 / percent.max(1)))
    }

    /// Sort key of a report among diagnostics with an equal `score`.
    pub fn place(&self) -> (Option<(&str, usize)>, String) {
        let place = self.primary.as_ref().map(|label| (label.span.file.display.as_str(), label.span.start));
        (place, self.code.id())
    }
}
