//! The results of a run: diagnostics, with everything a report format needs.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::comparison::{KernelComparison, Version};
use crate::source::Span;
use crate::stored::constant;
use crate::timing::{Measurement, Timing};

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

/// Whether an edit keeps the meaning of the program; variants and order are rustc's. [`Verification`] tells whether the
/// edit helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Applicability {
    /// The edit keeps the meaning by construction.
    MachineApplicable,
    /// The programmer must judge the edit.
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

/// A replacement of a byte range of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Edit {
    pub span: Span,
    /// The new text as written in the file: in a string literal, with escapes.
    pub replacement: String,
    /// The function around the edit. Every unit that reads the file must compile this range as written, or the edit
    /// means something else.
    pub context: Span,
}

impl Edit {
    /// An edit whose context is only the replaced range or the insertion point.
    pub fn alone(span: Span, replacement: impl Into<String>) -> Self {
        Self { context: span.clone(), span, replacement: replacement.into() }
    }
}

/// In a title, what stands between advice that has no edit and what the edit does.
pub const ADVICE_BEFORE: &str = "; or ";

/// A change of the source that reduces local memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// The advice, as the message of a `help`.
    pub title: String,
    pub applicability: Applicability,
    /// Sorted by position, without overlaps.
    pub edits: Vec<Edit>,
    /// Trip count of the changed loops, if known; the cost estimate uses it.
    pub rounds: Option<u32>,
    /// The edits keep all existing loops: code inside a loop still runs in every iteration.
    pub keeps_loops: bool,
    /// Threads of the largest launched block, if the edits depend on it.
    pub threads: Option<u32>,
    /// It counts only if no spill is left: the next suggestion goes further.
    pub must_end_spills: bool,
    /// The edits are inside one kernel and affect no other.
    pub is_within_kernel: bool,
    /// `None` until the suggestion is compiled.
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
            must_end_spills: false,
            is_within_kernel: false,
            verification: None,
        }
    }

    /// Sets whether the edits are inside one kernel.
    pub fn within_kernel(self, is_within_kernel: bool) -> Self {
        Self { is_within_kernel, ..self }
    }

    /// Sets whether it counts only if no spill is left.
    pub fn ending_spills(self, must_end_spills: bool) -> Self {
        Self { must_end_spills, ..self }
    }

    /// Sets whether the edits keep all existing loops.
    pub fn keeping_loops(self, keeps_loops: bool) -> Self {
        Self { keeps_loops, ..self }
    }

    /// Whether a recompilation showed that the suggestion helps.
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

/// Measurements from a recompilation with a suggestion's edits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// The kernels of the diagnostic, in the same order.
    pub kernels: Vec<VerifiedKernel>,
}

impl Verification {
    /// What running both versions of all kernels showed: the most that differs, in the fewest launches.
    pub fn results(&self) -> Option<Comparison> {
        let results = self.kernels.iter().map(|kernel| kernel.results.clone());
        results.collect::<Option<Vec<_>>>()?.into_iter().reduce(Comparison::and)
    }

    /// The smallest measured gain; for kernels that could not be timed, why.
    pub fn measured(&self) -> Option<&Measurement> {
        let measured = || self.kernels.iter().filter_map(|kernel| kernel.measured.as_ref());
        let least = measured().filter(|it| it.timing().is_some()).min_by_key(|it| it.timing().map(Timing::percent));
        least.or_else(|| measured().next())
    }

    /// The time before in percent of the time after, as measured, else as estimated.
    pub fn percent(&self) -> Option<u32> {
        let measured = self.measured().and_then(Measurement::timing).map(Timing::percent);
        let measured = measured.and_then(|percent| u32::try_from(percent).ok());
        measured.or_else(|| self.speedup().map(|speedup| speedup.percent))
    }

    /// The smallest estimate of all kernels that have one.
    pub fn speedup(&self) -> Option<Speedup> {
        self.kernels.iter().filter_map(|kernel| kernel.speedup).min_by_key(|speedup| speedup.percent)
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
    /// From what both versions executed; none where nobody ran them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup: Option<Speedup>,
    /// The share of its time, in thousandths, that local memory takes before the edits, by estimate; none where nobody ran
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_share: Option<u32>,
    /// On a GPU; none where nobody asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measurement>,
    /// Threads of the largest block that has the registers after the edits, where larger ones had them before and may be
    /// launched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_limit: Option<u32>,
}

/// The estimated time before an edit in percent of the time after it, and the bounds between which four of five
/// measured edits lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speedup {
    pub percent: u32,
    pub low_percent: u32,
    pub high_percent: u32,
}

impl fmt::Display for Speedup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = |percent: u32| f64::from(percent) / 100.0;
        let Self { percent, low_percent, high_percent } = *self;
        match percent {
            0..95 => write!(formatter, "about {:.1}× as fast", times(percent))?,
            95..105 => formatter.write_str("about as fast")?,
            _ => write!(formatter, "about {:.1}× faster", times(percent))?,
        }
        write!(formatter, " ({:.1}–{:.1})", times(low_percent), times(high_percent))
    }
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
            Self::Unchanged => formatter.write_str("same PTX instructions"),
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

/// A kernel's resources, and its occupancy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    #[serde(flatten)]
    pub usage: ResourceUsage,
    /// Resident blocks per SM, if the block size is known.
    pub blocks: Option<u32>,
    /// Occupancy: resident warps in percent of the architecture's maximum.
    pub occupancy_percent: Option<u32>,
    /// Estimated cost: instructions weighted by loop and by kind. Only comparable with the estimate for the same kernel
    /// before or after an edit.
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
    /// Bytes of spill stores and spill loads.
    pub fn spilled(&self) -> u64 {
        self.spill_stores + self.spill_loads
    }
}

/// A kernel on one architecture for which a diagnostic holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KernelInstance {
    /// Demangled name without parameters: `running_mean<32>`.
    pub name: String,
    pub mangled: String,
    /// `sm_90`
    pub arch: String,
    /// `13.5`
    pub toolkit: String,
    /// Bytes of this kernel's frame that the diagnostic explains.
    pub bytes: u64,
    /// Local loads and stores in the machine code that belong to the diagnostic.
    pub loads: u64,
    pub stores: u64,
    pub usage: ResourceUsage,
    /// The flags that distinguish this compilation of the file from its others: `-DTAPS=8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// The origin of the unit's flags.
    pub flags: FlagOrigin,
    /// Calls in Rust code that load the kernel by its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loaded_at: Vec<Location>,
    /// The statements of this kernel that access the memory that the diagnostic is about. They tell which labels are
    /// accesses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accesses: Vec<LocalAccess>,
}

impl KernelInstance {
    /// The same kernel without the places of its accesses.
    pub fn without_accesses(&self) -> Self {
        Self { accesses: Vec::new(), ..self.clone() }
    }
}

/// The local loads and stores of one statement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LocalAccess {
    /// The statement, the subscript in it, and the call that it was inlined into: where labels point.
    pub spans: Vec<Span>,
    /// The variable; of spilled values, the one that they are of.
    pub variable: Option<String>,
    /// Machine instructions.
    pub loads: u64,
    pub stores: u64,
}

/// A line of a file and a column in characters, both from 1.
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

/// The origin of a unit's compiler flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlagOrigin {
    /// Captured from the project's own build.
    Captured,
    /// A `compile_commands.json` of the project.
    #[serde(rename = "compile_commands")]
    CompileCommands,
    /// `Cargo.toml` metadata, or the command line.
    Config,
    /// Compile options next to a kernel string in Rust code.
    Code,
    /// No source gave flags; defaults are assumed.
    Assumed,
}

impl FlagOrigin {
    /// Whether flags that the unit needs may be missing. Assumed flags may be incomplete, and one that is set in a
    /// manifest or typed does not make them whole; a `compile_commands.json` may be out of date, and some of its flags
    /// are not used.
    pub fn may_be_incomplete(self) -> bool {
        matches!(self, Self::Assumed | Self::Config | Self::CompileCommands)
    }

    /// The name in the JSON format.
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

/// The measurements behind a finding: the `lmem` object of the JSON format.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Evidence {
    /// The variable, or the source expression of a value.
    pub variable: Option<String>,
    /// The type as written in the source, if known: `float[32]`.
    pub variable_type: Option<String>,
    /// The maximum of `kernels[].bytes`.
    pub bytes: u64,
    /// Local loads and stores of the worst kernel, as in its entry of `kernels`.
    pub loads: u64,
    pub stores: u64,
    /// Depth of the loops around the guilty access in the machine code.
    pub loop_depth: u32,
    /// `uniform` across the warp, `per-thread`, or unknown.
    pub uniformity: Option<Uniformity>,
    pub kernels: Vec<KernelInstance>,
    /// Size of the variable alone. The label of its declaration shows this size and the figures above.
    pub size: Option<u64>,
    /// Key of findings with the same cause (one call, one function table, one recursion). People read them as one
    /// diagnostic.
    pub cause: Option<String>,
    /// The parts of the message: the object in local memory, and the reason, which findings with the same cause share.
    pub subject: Option<(String, String)>,
    /// Notes outside the table quote figures of the worst kernel, which may not hold for the others.
    pub quotes_figures: bool,
    /// The largest share of a kernel's time, in thousandths, that its local memory takes by estimate. `None` where no
    /// kernel was run without edits.
    #[serde(default)]
    pub local_share: Option<u32>,
    /// The most that the finding costs, in thousandths of a kernel's time, where all findings of the kernel together
    /// would else cost more than its time.
    #[serde(default)]
    pub most_share: Option<u32>,
    /// Edits that are not shown.
    #[serde(default)]
    pub rejected: Vec<Rejected>,
    /// Why no edit was tried, if none was.
    #[serde(default)]
    pub untried: Option<String>,
}

/// An edit that is not shown, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rejected {
    pub title: String,
    pub reason: String,
}

impl Evidence {
    /// Estimated run-time cost, only for sorting. A loop counts as 8 iterations; an access with a different address per
    /// thread counts 10 times as much as a uniform one.
    pub fn score(&self) -> u128 {
        let accesses = u128::from(self.loads) + u128::from(self.stores);
        let rounds = 8_u128.saturating_pow(self.loop_depth);
        let spread = if self.uniformity == Some(Uniformity::PerThread) { 10 } else { 1 };
        u128::from(self.bytes).saturating_mul(accesses.max(1)).saturating_mul(rounds).saturating_mul(spread)
    }

    /// The least certain flag origin among the kernels.
    pub fn flags(&self) -> Option<FlagOrigin> {
        self.kernels.iter().map(|kernel| kernel.flags).max()
    }
}

/// Whether all threads of a warp use the same address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Uniformity {
    Uniform,
    PerThread,
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

/// Totals of a run, for the last line of the human format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub units: usize,
    /// Number of checked kernels × architectures.
    pub kernels: usize,
    /// Units without a kernel.
    pub units_without_kernels: usize,
    pub failed_units: usize,
    pub cached_units: usize,
    /// Units that are compiled for debugging, so that nothing is said of their kernels.
    pub debug_units: usize,
    /// What to do about assumed flags.
    pub flag_advice: String,
    /// Units compiled with assumed flags.
    pub assumed_units: usize,
    /// Findings by lint, after folding.
    pub findings: BTreeMap<String, usize>,
    /// The architecture with the most local memory.
    pub frame_architecture: String,
    /// Bytes of all stack frames on that architecture.
    pub frame_bytes: u64,
    /// Bytes of these that `unexplained_local_memory` claims.
    pub unexplained_bytes: u64,
    /// Kernel texts that were found but not analysed.
    pub not_analysed: usize,
    /// `sm_80, sm_90`
    pub architectures: Vec<String>,
    /// Number of the toolkit, such as `13.5.37`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub toolkit: String,
    /// Findings with a verified suggestion.
    pub suggested: BTreeMap<Applicability, usize>,
    /// Edits that compute something else, found by running both versions. They are not shown; each is a mistake of a
    /// rewrite.
    #[serde(skip_serializing_if = "is_zero")]
    pub refuted: usize,
    /// Findings that comments silence, counted per kernel and architecture before folding.
    #[serde(skip_serializing_if = "is_zero")]
    pub silenced: usize,
    /// The edits that `--fix` wrote, or would write.
    pub fixed: Option<FixTally>,
    /// Findings compared with the baseline, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineTally>,
    /// Findings compared with those of an older revision, if the run does that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<SinceTally>,
    /// The part of the files that was checked, if not all were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<PartitionTally>,
    /// The user stopped the run with Ctrl-C.
    pub interrupted: bool,
    /// `cargo check` ran first and found errors.
    pub cargo_failed: bool,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Summary {
    /// Whether the run checked no kernel and has no finding.
    pub fn is_nothing_checked(&self) -> bool {
        self.kernels == 0 && self.findings.is_empty()
    }
}

/// One part of what several machines check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PartitionTally {
    /// Which part, from 1, of so many.
    pub number: u32,
    pub count: u32,
    /// Units of this part.
    pub units: usize,
    pub left_to_others: usize,
}

/// Findings compared with a baseline.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BaselineTally {
    /// Findings in the baseline, which are not shown.
    pub known: usize,
    pub new: usize,
    /// Findings that take more bytes than their baseline entry.
    pub worse: usize,
    /// Baseline entries whose finding takes fewer bytes now.
    pub smaller: usize,
    /// Baseline entries without a finding.
    pub gone: usize,
    /// These and the smaller ones, one by one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub improved: Vec<ImprovedEntry>,
}

impl BaselineTally {
    /// Whether there is nothing to say: no finding is known, and nothing differs.
    pub fn is_empty(&self) -> bool {
        self.known + self.new + self.worse + self.smaller + self.gone == 0
    }

    /// Takes back that entries are gone: their code was not checked.
    pub fn forget_gone(&mut self, mut is_unknown: impl FnMut(&ImprovedEntry) -> bool) {
        let before = self.improved.len();
        self.improved.retain(|entry| !entry.now.is_empty() || !is_unknown(entry));
        self.gone = self.gone.saturating_sub(before - self.improved.len());
    }
}

/// An entry of a baseline that is more than is needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImprovedEntry {
    pub lint: String,
    pub file: String,
    /// Empty for what is said of a file's options.
    pub kernel: String,
    pub variable: Option<String>,
    /// By architecture.
    pub before: BTreeMap<String, u64>,
    /// On the architectures of the run; empty where nothing was found any more.
    pub now: BTreeMap<String, u64>,
}

impl ImprovedEntry {
    /// `` `part` of `scan` in `a.cu` (dynamic_index) ``
    pub fn named(&self) -> String {
        let owner = [self.variable.as_ref(), Some(&self.kernel)].into_iter().flatten().filter(|name| !name.is_empty());
        let owner: Vec<String> = owner.map(|name| format!("`{name}`")).collect();
        let owner = if owner.is_empty() { String::new() } else { format!("{} in ", owner.join(" of ")) };
        format!("{owner}`{}` ({})", self.file, self.lint)
    }
}

impl fmt::Display for ImprovedEntry {
    /// `` `part` of `scan` in `a.cu` (dynamic_index): sm_90 64 → 32 B ``
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.named())?;
        let smaller = self.now.iter().filter_map(|(name, now)| Some((name, self.before.get(name)?, now)));
        let smaller = smaller.filter(|(_, before, now)| now < before);
        let figures: Vec<String> = smaller.map(|(name, before, now)| format!("{name} {before} → {now} B")).collect();
        if figures.is_empty() { f.write_str("gone") } else { f.write_str(&figures.join(", ")) }
    }
}

/// What became of a run's findings beside those of an older revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SinceTally {
    /// As the user calls it.
    pub revision: String,
    /// Files that differ, or that include what differs.
    pub changed_units: usize,
    /// Files that were compared: those that the change may reach. Nothing else was looked for in the revision.
    pub compared_units: usize,
    #[serde(flatten)]
    pub tally: BaselineTally,
}

/// Totals of the edits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FixTally {
    pub problems: usize,
    pub files: usize,
    /// `false` if the edits are only shown.
    pub is_written: bool,
}

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
