//! What compilers are given beside a text.

use serde::{Deserialize, Serialize};

use lmem_base::diagnostic::FlagOrigin;
use lmem_base::source::Span;

/// Flags of a `.cu` file, beside the architecture and what reading the result needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvccFlags {
    pub arguments: Vec<String>,
    pub origin: FlagOrigin,
    /// What the project's build makes code for; empty where that is not known.
    pub targets: Vec<CodeTarget>,
    /// Flags of the build that do not reach the code that runs; they are not among the arguments.
    pub ineffective: Vec<String>,
    /// What Rust code has the driver do with the PTX that the build makes of the file.
    pub driver: DriverOptions,
}

/// One architecture that a build makes code for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeTarget {
    /// Of the PTX: `compute_80`.
    pub virtual_architecture: String,
    /// Of the machine code: `sm_90`. Without it the driver makes that from the PTX, for the GPU that it finds.
    pub architecture: Option<String>,
}

impl NvccFlags {
    pub fn new(arguments: Vec<String>, origin: FlagOrigin) -> Self {
        Self { arguments, origin, targets: Vec::new(), ineffective: Vec::new(), driver: DriverOptions::default() }
    }

    /// All arguments, those of the driver's compiler as nvcc gives them on to ptxas. A limit that was set for nvcc, other
    /// than by the build, is meant more.
    pub fn all_arguments(&self) -> Vec<String> {
        let is_limit = |argument: &String| argument.trim_start_matches('-').starts_with("maxrregcount");
        let is_limited = self.arguments.iter().any(is_limit);
        let driver = self.driver.arguments.iter().filter(|argument| !(is_limited && is_limit(argument)));
        self.arguments.iter().cloned().chain(driver.map(|argument| format!("-Xptxas={argument}"))).collect()
    }

    /// What the build makes machine code for.
    pub fn architectures(&self) -> impl Iterator<Item = &str> {
        self.targets.iter().filter_map(|target| target.architecture.as_deref())
    }

    /// The virtual architecture that code for `architecture` comes from, where the build says another one than its own.
    pub fn virtual_architecture(&self, architecture: &str) -> Option<&str> {
        let is_meant = |target: &&CodeTarget| target.architecture.as_deref() == Some(architecture);
        let driver = || self.targets.iter().find(|target| target.architecture.is_none());
        let found = self.targets.iter().find(is_meant).or_else(driver)?;
        let own = architecture.replacen("sm_", "compute_", 1);
        Some(found.virtual_architecture.as_str()).filter(|name| *name != own)
    }
}

/// Options as NVRTC gets them when the Rust program runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvrtcOptions {
    /// The arguments, in cudarc's order.
    pub arguments: Vec<String>,
    /// Name of the program, where the code gives one.
    pub program_name: Option<String>,
    /// Why some options could not be read from the code; they are missing above then.
    pub unresolved: Option<String>,
    /// Options that do not do what they say.
    pub ineffective: Vec<IneffectiveOption>,
    /// What a program that ran gave to NVRTC beside the text; `None` for text that was read in its source.
    pub captured: Option<CapturedText>,
    /// All code that has the text compiled panics unless that fails.
    pub must_fail: bool,
}

/// Options that a program gives to the driver's compiler, beside PTX.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverOptions {
    /// As arguments of ptxas.
    pub arguments: Vec<String>,
    /// The one that limits registers.
    pub limit: Option<Span>,
    /// Why they could not be read from the code; none is among the arguments then.
    pub unresolved: Option<String>,
    /// Architectures that machine code beside the PTX is for: the driver compiles the PTX for none of them.
    pub compiled: Vec<u32>,
}

/// What NVRTC was given by a program that ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedText {
    /// Names and texts of headers.
    pub headers: Vec<(String, String)>,
    /// Template instances, by the expressions that name them.
    pub expressions: Vec<String>,
    /// The program takes machine code, which options of ptxas have a part in.
    pub takes_cubin: bool,
}

/// An option in Rust code that is without effect on the code that runs, or has another one than its name says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IneffectiveOption {
    pub kind: IneffectiveKind,
    /// The field, or the literal in `options`.
    pub span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IneffectiveKind {
    /// `maxrregcount: Some(32)`, `--maxrregcount=32`: NVRTC hands out PTX, which does not carry it.
    MaxRegisters,
    /// `--ptxas-options`: the ptxas of NVRTC has no part in making PTX.
    PtxasOptions,
    /// `use_fast_math: Some(true)`: cudarc passes `--fmad=true`.
    FastMath,
}
