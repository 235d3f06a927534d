//! What a run tells its user: one problem at one place, with everything a report format needs.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::source::Span;
use crate::stored::constant;

/// How loud a diagnostic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Note,
    Warning,
    Error,
}

/// What a diagnostic speaks of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Code {
    /// A lint of ours, by its name.
    Lint(&'static str),
    /// A message of a compiler: `ptxas`, `nvcc`, `nvrtc`, with its number where it has one.
    Compiler(String),
    /// About the run, not about a kernel: an `allow` that silences nothing, text that was not analysed.
    Tool(&'static str),
}

/// A code as it is read again.
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
    /// The code as machine-readable formats show it: `lmem::dynamic_index`.
    pub fn id(&self) -> String {
        match self {
            Self::Lint(name) | Self::Tool(name) => format!("lmem::{name}"),
            Self::Compiler(name) => name.clone(),
        }
    }

    /// The code as people read it: `dynamic_index`, `ptxas`; empty for a compiler's message without a number.
    pub fn name(&self) -> &str {
        match self {
            Self::Lint(name) | Self::Tool(name) => name,
            Self::Compiler(name) => name,
        }
    }
}

/// A place in a source file and what there is to say about it.
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

/// Whether an edit keeps what a program means; rustc's names and order. Whether it helps is what a [`Verification`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Applicability {
    /// The meaning is kept by construction.
    MachineApplicable,
    /// A programmer must judge.
    MaybeIncorrect,
    HasPlaceholders,
}

impl Applicability {
    pub fn name(self) -> &'static str {
        match self {
            Self::MachineApplicable => "MachineApplicable",
            Self::MaybeIncorrect => "MaybeIncorrect",
            Self::HasPlaceholders => "HasPlaceholders",
        }
    }
}

/// Bytes of a file, and what to put in their place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Edit {
    pub span: Span,
    /// As it stands in the file: in a string literal with its escapes.
    pub replacement: String,
    /// What must be compiled as the file says it, by all units that read the file, or the edit means something else: the
    /// function around it.
    pub context: Span,
}

impl Edit {
    /// An edit that depends on nothing but the text that it replaces, or on the place where it is put in.
    pub fn alone(span: Span, replacement: impl Into<String>) -> Self {
        Self { context: span.clone(), span, replacement: replacement.into() }
    }
}

/// A change of the source that removes local memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// What to do, as the message of a `help`.
    pub title: String,
    pub applicability: Applicability,
    /// In order, without overlaps.
    pub edits: Vec<Edit>,
    /// How often the loops run that are changed, where that is known; the estimate of the work counts with it.
    pub rounds: Option<u32>,
    /// The edits change no loop that was there: what runs in one does so as often as before.
    pub keeps_loops: bool,
    /// Threads of the largest block that is launched, where the edits count on it.
    pub threads: Option<u32>,
    /// The edits lie in one kernel, and change no other.
    pub is_within_kernel: bool,
    /// `None` until it was compiled.
    pub verification: Option<Verification>,
}

impl Suggestion {
    /// A suggestion that was not compiled yet.
    pub fn new(title: impl Into<String>, applicability: Applicability, edits: Vec<Edit>) -> Self {
        Self {
            title: title.into(),
            applicability,
            edits,
            rounds: None,
            keeps_loops: false,
            threads: None,
            is_within_kernel: false,
            verification: None,
        }
    }

    /// Tells that the edits lie in one kernel.
    pub fn within_kernel(self, is_within_kernel: bool) -> Self {
        Self { is_within_kernel, ..self }
    }

    /// Tells that the edits change no loop.
    pub fn keeping_loops(self, keeps_loops: bool) -> Self {
        Self { keeps_loops, ..self }
    }

    /// Whether a recompilation showed that it helps.
    pub fn is_proven(&self) -> bool {
        self.verification.is_some()
    }

    pub fn rounds(self, rounds: Option<u32>) -> Self {
        Self { rounds, ..self }
    }

    pub fn threads(self, threads: Option<u32>) -> Self {
        Self { threads, ..self }
    }
}

/// What a recompilation with a suggestion's edits gave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// The kernels of the diagnostic, in the order that they have there.
    pub kernels: Vec<VerifiedKernel>,
}

impl Verification {
    /// What running both versions of all kernels showed: the most that differs, in the fewest launches.
    pub fn results(&self) -> Option<Comparison> {
        let results = self.kernels.iter().map(|kernel| kernel.results.clone());
        results.collect::<Option<Vec<_>>>()?.into_iter().reduce(Comparison::and)
    }
}

/// A kernel before and after an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifiedKernel {
    pub name: String,
    pub mangled: String,
    pub arch: String,
    pub before: Footprint,
    pub after: Footprint,
    /// Of running both versions; none where nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Comparison>,
}

/// What running both versions of a kernel on the same launches showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Comparison {
    /// The edit does not change the kernel's instructions.
    Unchanged,
    /// All bytes that were written are equal.
    Same { launches: u32 },
    /// Floating-point numbers differ a little, at most by so many parts of 10^15.
    LastDigits { launches: u32, relative_e15: u64 },
    /// They compute different things: where, and what.
    Different { what: String },
    /// Nobody knows: why.
    NotCompared { why: String },
}

impl Comparison {
    /// Of two kernels that one edit changes: what holds for both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        use Comparison::{Different, LastDigits, NotCompared, Same, Unchanged};
        match (self, other) {
            (Unchanged, other) | (other, Unchanged) => other,
            (different @ Different { .. }, _) | (_, different @ Different { .. }) => different,
            (unknown @ NotCompared { .. }, _) | (_, unknown @ NotCompared { .. }) => unknown,
            (Same { launches: one }, Same { launches: other }) => Same { launches: one.min(other) },
            (LastDigits { launches: one, relative_e15: a }, LastDigits { launches: other, relative_e15: b }) => {
                LastDigits { launches: one.min(other), relative_e15: a.max(b) }
            }
            (LastDigits { launches: one, relative_e15 }, Same { launches: other })
            | (Same { launches: other }, LastDigits { launches: one, relative_e15 }) => {
                LastDigits { launches: one.min(other), relative_e15 }
            }
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unchanged => formatter.write_str("same instructions"),
            Self::Same { launches: 1 } => formatter.write_str("same results in 1 launch"),
            Self::Same { launches } => write!(formatter, "same results in {launches} launches"),
            Self::LastDigits { relative_e15: 0, .. } => formatter.write_str("signs of zeros differ"),
            Self::LastDigits { relative_e15, .. } => {
                write!(formatter, "last digits differ: up to {:.0e} relative", *relative_e15 as f64 / 1e15)
            }
            Self::Different { what } => write!(formatter, "results differ: {what}"),
            Self::NotCompared { why } => write!(formatter, "results not compared: {why}"),
        }
    }
}

/// What a kernel takes, and how many warps of it a multiprocessor can hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    #[serde(flatten)]
    pub usage: ResourceUsage,
    /// Resident blocks, where the block size is known.
    pub blocks: Option<u32>,
    /// Resident warps, of as many as the architecture allows.
    pub occupancy_percent: Option<u32>,
    /// Instructions, weighted by loops and kinds: an estimate, to be compared with its counterpart only.
    pub work: u64,
}

/// What `ptxas` reports for one kernel. Bytes are bytes per thread, `shared` bytes per block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ResourceUsage {
    pub stack_frame: u64,
    pub spill_stores: u64,
    pub spill_loads: u64,
    pub registers: u32,
    pub shared: u64,
}

impl ResourceUsage {
    /// Bytes that spills store and load.
    pub fn spilled(&self) -> u64 {
        self.spill_stores + self.spill_loads
    }
}

/// One kernel, on one architecture, that a diagnostic holds for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KernelInstance {
    /// Demangled, without parameters: `running_mean<32>`.
    pub name: String,
    pub mangled: String,
    /// `sm_90`
    pub arch: String,
    /// `13.5`
    pub toolkit: String,
    /// Bytes of this kernel's frame that the diagnostic explains.
    pub bytes: u64,
    /// Local loads and stores in its machine code that the diagnostic speaks of.
    pub loads: u64,
    pub stores: u64,
    pub usage: ResourceUsage,
    /// What tells this compilation of the file from the others, where it is compiled in several ways: `-DTAPS=8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Where the flags of the unit came from.
    pub flags: FlagOrigin,
    /// Where Rust code loads it by its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loaded_at: Vec<Location>,
}

/// A line of a file, and a column in characters, both from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Location {
    pub file: String,
    pub line: usize,
    pub column: usize,
}

impl From<&Span> for Location {
    fn from(span: &Span) -> Self {
        let (line, column) = span.line_column();
        let before = span.file.text().get(span.start + 1 - column..span.start).unwrap_or("");
        Self { file: span.file.display.clone(), line, column: before.chars().count() + 1 }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Where the flags that a unit was compiled with came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlagOrigin {
    /// Recorded from the project's own build.
    Captured,
    /// A `compile_commands.json` beside the project.
    #[serde(rename = "compile_commands")]
    CompileCommands,
    /// `Cargo.toml` metadata or the command line.
    Config,
    /// The options beside a kernel string in the Rust code.
    Code,
    /// Nothing said them.
    Assumed,
}

impl FlagOrigin {
    /// Whether flags may lack what the unit needs: those that nobody said, and those of a file that may be old, of which some
    /// are not used.
    pub fn may_be_incomplete(self) -> bool {
        matches!(self, Self::Assumed | Self::CompileCommands)
    }

    /// As the JSON format has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Captured => "captured",
            Self::CompileCommands => "compile_commands",
            Self::Config => "config",
            Self::Code => "code",
            Self::Assumed => "assumed",
        }
    }
}

/// The measured facts behind a finding; the `lmem` object of the JSON format.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Evidence {
    /// The variable, or the value's source expression.
    pub variable: Option<String>,
    /// Its type as the source writes it, where that is known: `float[32]`.
    pub variable_type: Option<String>,
    /// The largest of `kernels[].bytes`.
    pub bytes: u64,
    /// Local loads and stores in the machine code of the worst kernel: those of its entry in `kernels`.
    pub loads: u64,
    pub stores: u64,
    /// Loops around the guilty access in the machine code.
    pub loop_depth: u32,
    /// `uniform` across the warp, `per-thread`, or unknown.
    pub uniformity: Option<Uniformity>,
    pub kernels: Vec<KernelInstance>,
    /// Bytes of the variable alone; the label of its declaration is made of it and the figures above.
    pub size: Option<u64>,
    /// What findings with one cause have in common: one call, one table of functions, one recursion. People read them as one.
    pub cause: Option<String>,
    /// What the message says is in local memory, and why: findings with one cause share the latter.
    pub subject: Option<(String, String)>,
    /// Words beside the table quote figures of the worst kernel, which others may not have.
    pub quotes_figures: bool,
}

impl Evidence {
    /// What the finding costs at run time, for ordering only. A loop counts as eight rounds; threads that use
    /// different addresses cost ten times as much as a warp that uses one.
    pub fn score(&self) -> u128 {
        let accesses = u128::from(self.loads) + u128::from(self.stores);
        let rounds = 8_u128.saturating_pow(self.loop_depth);
        let spread = if self.uniformity == Some(Uniformity::PerThread) { 10 } else { 1 };
        u128::from(self.bytes).saturating_mul(accesses.max(1)).saturating_mul(rounds).saturating_mul(spread)
    }

    /// The least certain origin of flags among the kernels.
    pub fn flags(&self) -> Option<FlagOrigin> {
        self.kernels.iter().map(|kernel| kernel.flags).max()
    }
}

/// Whether the threads of a warp use the same address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Uniformity {
    Uniform,
    PerThread,
}

/// One problem at one place, with all kernels and architectures where it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: Code,
    /// The first line: what is. Lower case, no full stop, names in backticks.
    pub message: String,
    /// The place the diagnostic is filed under; `None` for remarks about the run as a whole.
    pub primary: Option<Label>,
    /// Other places: the guilty access, the loop, the call.
    pub secondary: Vec<Label>,
    /// Facts below the excerpt, one `= …` line each.
    pub notes: Vec<String>,
    pub help: Vec<Help>,
    /// The best first.
    pub suggestions: Vec<Suggestion>,
    /// For lints only.
    pub evidence: Option<Evidence>,
    /// Name of the package that the file belongs to; `None` outside packages.
    pub package: Option<String>,
}

impl Diagnostic {
    /// A name of this problem that survives line moves: lint, file, the text of the lines it marks, and the
    /// variable, hashed. Two identical problems in one file get the same; baselines count them.
    pub fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut part = |text: &str| {
            hasher.update(text.trim().as_bytes());
            hasher.update(b"\0");
        };
        part(&self.code.id());
        if let Some(label) = &self.primary {
            part(&label.span.file.display);
            part(label.span.file.line_text(label.span.start_line()).unwrap_or(""));
        }
        if let Some(evidence) = &self.evidence {
            part(evidence.variable.as_deref().unwrap_or(""));
        }
        hasher.finalize().to_hex()[..16].to_string()
    }

    /// Order of a report: the costliest lint findings first is decided by `score`; this is the tie-break.
    pub fn place(&self) -> (Option<(&str, usize)>, String) {
        let place = self.primary.as_ref().map(|label| (label.span.file.display.as_str(), label.span.start));
        (place, self.code.id())
    }
}

/// What a run checked, for the last line of the human format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub units: usize,
    /// Kernels × architectures that were checked.
    pub kernels: usize,
    /// Units that gave no kernel.
    pub units_without_kernels: usize,
    pub failed_units: usize,
    pub cached_units: usize,
    /// Units that were compiled with flags that nobody said.
    pub assumed_units: usize,
    /// Findings by lint, after folding.
    pub findings: BTreeMap<String, usize>,
    /// The architecture with the most local memory.
    pub frame_architecture: String,
    /// Bytes of stack frames over all kernels, for that architecture.
    pub frame_bytes: u64,
    /// Of these, bytes claimed by `unexplained_local_memory`.
    pub unexplained_bytes: u64,
    /// Kernel texts that were found and not analysed.
    pub not_analysed: usize,
    /// `sm_80, sm_90`
    pub architectures: Vec<String>,
    /// Findings with a suggestion that was proven.
    pub suggested: BTreeMap<Applicability, usize>,
    /// What `--fix` wrote, or what it would.
    pub fixed: Option<FixTally>,
    /// What the baseline did to the findings, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineTally>,
    /// Ctrl-C ended the run.
    pub interrupted: bool,
    /// `cargo check`, which ran first, found errors.
    pub cargo_failed: bool,
}

impl Summary {
    /// Whether no kernel was looked at, nor anything else that a finding speaks of.
    pub fn is_nothing_checked(&self) -> bool {
        self.kernels == 0 && self.findings.is_empty()
    }
}

/// What became of a run's findings beside a baseline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct BaselineTally {
    /// Findings that are in it, and are not shown.
    pub known: usize,
    pub new: usize,
    /// They take more bytes than it has.
    pub worse: usize,
    /// Entries that take less now.
    pub smaller: usize,
    /// Entries that nothing was found for.
    pub gone: usize,
}

/// What edits of files amount to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FixTally {
    pub problems: usize,
    pub files: usize,
    /// Else they are only shown.
    pub is_written: bool,
}

/// A comment that silences findings, and what it holds for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// `allow`, `expect` or `allow-file`.
    pub directive: &'static str,
    pub lints: Vec<String>,
    pub reason: Option<String>,
    pub span: Span,
    pub scope: Span,
    /// The macro whose uses it holds for too.
    pub in_macro: Option<String>,
    /// Findings that it silenced: of each kernel and architecture, before they are folded.
    pub silenced: usize,
}

/// Everything one run has to say.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pub diagnostics: Vec<Diagnostic>,
    pub suppressions: Vec<Suppression>,
    pub summary: Summary,
}

impl Report {
    /// Counts the findings by their lint.
    pub fn count_findings(&mut self) {
        self.summary.findings.clear();
        for diagnostic in &self.diagnostics {
            if let Code::Lint(name) = diagnostic.code {
                *self.summary.findings.entry(name.to_string()).or_default() += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_kept_whole() {
        let evidence = Evidence {
            variable: Some("a".into()),
            size: Some(64),
            cause: Some("one call".into()),
            subject: Some(("array `a`".into(), "dynamically indexed".into())),
            quotes_figures: true,
            ..Evidence::default()
        };
        let kept = serde_json::to_string(&evidence).unwrap();
        assert_eq!(serde_json::from_str::<Evidence>(&kept).unwrap(), evidence);
    }
}
