//! What was measured of a finding: kernels, bytes, accesses.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::verification::ResourceUsage;
use crate::source::Span;

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
