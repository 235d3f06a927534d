//! Compiler outputs for one unit and one target.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use lmem_base::gpu::Arch;

use crate::as_compiled::{AsCompiled, CompiledUnit};
use crate::front_end::FrontEnd;
use crate::message::CompilerMessage;
use crate::unit::TranslationUnit;

/// Name of kernel strings without a name of their own; positions in this file are positions in the unit's text.
pub const STRING_NAME: &str = "lmem_kernel_string.cu";

/// A file that was read during a compilation.
pub type Dependency = PathBuf;

/// Compiler outputs for one unit and one target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifacts {
    pub cubin: Vec<u8>,
    /// The PTX that was passed to ptxas, with `.loc` directives.
    pub ptx: String,
    pub ptxas_log: String,
    /// ptxas's figures for the spilling kernels, compiled without register limits; empty if no kernel spills under a
    /// limit.
    pub unlimited_log: String,
    /// The log with the limits kept and spilling to shared memory enabled; `None` if that was not tried.
    #[serde(default)]
    pub shared_log: Option<String>,
    /// Local variables as nvcc's front end reports them, for functions with local memory; empty for NVRTC.
    pub front_end: FrontEnd,
    /// The user's files after preprocessing; empty for NVRTC, which gives no preprocessed text.
    #[serde(default)]
    pub as_compiled: AsCompiled,
    /// Warnings of the front end and of ptxas.
    pub messages: Vec<CompilerMessage>,
    /// Files that were read, except the unit's own text.
    pub dependencies: Vec<Dependency>,
    /// Options added to assumed flags so that the unit compiles.
    pub rescues: Vec<String>,
    /// The architecture compiled for, which a rescue may have raised.
    pub architecture: String,
    /// The base folder of relative paths in the line tables.
    pub folder: PathBuf,
}

impl Artifacts {
    /// The unit with its texts as compiled.
    pub fn compiled_unit<'a>(&'a self, unit: &'a TranslationUnit) -> CompiledUnit<'a> {
        CompiledUnit { unit, files: &self.as_compiled, dependencies: &self.dependencies }
    }

    /// The architecture compiled for.
    pub fn arch(&self) -> Arch {
        Arch::of(&self.architecture)
    }
}

/// `sm_90` for a PTX text with `.target sm_90, debug`.
pub fn declared_target(ptx: &str) -> Option<&str> {
    let declared = ptx.lines().find_map(|line| line.trim_start().strip_prefix(".target"))?;
    declared.split(',').next().map(str::trim)
}
