//! Compiler options of a unit.

use serde::{Deserialize, Serialize};

use lmem_base::diagnostic::FlagOrigin;
use lmem_base::source::Span;

/// Flags of a `.cu` file, without the architecture and the options that this tool adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvccFlags {
    pub arguments: Vec<String>,
    pub origin: FlagOrigin,
    /// Code targets of the project's build; empty if unknown.
    pub targets: Vec<CodeTarget>,
    /// Flags of the build that do not affect the executed code; they are not among the arguments.
    pub ineffective: Vec<String>,
    /// The driver's JIT options in Rust code for the PTX that the build makes of the file.
    pub driver: DriverOptions,
}

/// A code target of a build.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CodeTarget {
    /// The virtual architecture of the PTX: `compute_80`.
    pub virtual_architecture: String,
    /// The architecture of the machine code: `sm_90`. `None` means PTX only, which the driver compiles for the present
    /// GPU.
    pub architecture: Option<String>,
}

impl NvccFlags {
    pub fn new(arguments: Vec<String>, origin: FlagOrigin) -> Self {
        Self { arguments, origin, targets: Vec::new(), ineffective: Vec::new(), driver: DriverOptions::default() }
    }

    /// All arguments; driver options are passed on to ptxas. A register limit among the nvcc arguments overrides the
    /// driver's limit.
    pub fn all_arguments(&self) -> Vec<String> {
        let is_limit = |argument: &String| argument.trim_start_matches('-').starts_with("maxrregcount");
        let is_limited = self.arguments.iter().any(is_limit);
        let driver = self.driver.arguments.iter().filter(|argument| !(is_limited && is_limit(argument)));
        self.arguments.iter().cloned().chain(driver.map(|argument| format!("-Xptxas={argument}"))).collect()
    }

    /// Architectures for which the build makes machine code.
    pub fn architectures(&self) -> impl Iterator<Item = &str> {
        self.targets.iter().filter_map(|target| target.architecture.as_deref())
    }

    /// The virtual architecture from which the build compiles `architecture`, if it is not the matching one.
    pub fn virtual_architecture(&self, architecture: &str) -> Option<&str> {
        let is_meant = |target: &&CodeTarget| target.architecture.as_deref() == Some(architecture);
        let driver = || self.targets.iter().find(|target| target.architecture.is_none());
        let found = self.targets.iter().find(is_meant).or_else(driver)?;
        let own = architecture.replacen("sm_", "compute_", 1);
        Some(found.virtual_architecture.as_str()).filter(|name| *name != own)
    }
}

/// Options passed to NVRTC when the Rust program runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvrtcOptions {
    /// The arguments, in cudarc's order.
    pub arguments: Vec<String>,
    /// Name of the program, if the code gives one.
    pub program_name: Option<String>,
    /// Why some options could not be read from the code; the arguments then lack them.
    pub unresolved: Option<String>,
    /// Options without the effect that they promise.
    pub ineffective: Vec<IneffectiveOption>,
    /// Captured inputs to NVRTC besides the text; `None` for a text that was read from the source.
    pub captured: Option<CapturedText>,
    /// Whether all code that compiles the text panics unless compilation fails.
    pub must_fail: bool,
    /// Whether no call is known that compiles the text. It may be a part of one, and need not compile by itself.
    pub is_unclaimed: bool,
}

/// Options that a program passes to the driver's JIT compiler, besides PTX.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverOptions {
    /// The options as ptxas arguments.
    pub arguments: Vec<String>,
    /// The option that limits registers.
    pub limit: Option<Span>,
    /// Why the options could not be read from the code; then none is among the arguments.
    pub unresolved: Option<String>,
    /// Architectures with machine code next to the PTX: for these the driver does not compile the PTX.
    pub compiled: Vec<u32>,
}

/// Inputs to NVRTC, captured from a running program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedText {
    /// Headers by name, with their texts.
    pub headers: Vec<(String, String)>,
    /// Name expressions of template instances.
    pub expressions: Vec<String>,
    /// Whether the program takes machine code, for which ptxas options have an effect.
    pub takes_cubin: bool,
}

/// An option in Rust code that has no effect on the executed code, or another effect than its name says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IneffectiveOption {
    pub kind: IneffectiveKind,
    /// The field, or the literal in `options`.
    pub span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IneffectiveKind {
    /// `maxrregcount: Some(32)`, `--maxrregcount=32`: NVRTC returns PTX, which does not contain the limit.
    MaxRegisters,
    /// `--ptxas-options`: NVRTC does not run ptxas to make PTX.
    PtxasOptions,
    /// `use_fast_math: Some(true)`: cudarc passes `--fmad=true`.
    FastMath,
}
