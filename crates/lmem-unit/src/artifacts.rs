//! What the compilers gave for one unit and one target.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use lmem_base::gpu::Arch;

use crate::as_compiled::{AsCompiled, CompiledUnit};
use crate::front_end::FrontEnd;
use crate::message::CompilerMessage;
use crate::unit::TranslationUnit;

/// Name that kernel strings without one get; positions in it are positions in the unit's text.
pub const STRING_NAME: &str = "lmem_kernel_string.cu";

/// A file that a compilation read.
pub type Dependency = PathBuf;

/// What one unit gave for one target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifacts {
    pub cubin: Vec<u8>,
    /// The PTX that ptxas compiled, with `.loc` lines.
    pub ptx: String,
    pub ptxas_log: String,
    /// ptxas's figures for the kernels that spill, compiled without their limits; empty where none has one.
    pub unlimited_log: String,
    /// The same with their limits, and with leave to spill to shared memory; `None` where that was not tried.
    #[serde(default)]
    pub shared_log: Option<String>,
    /// Local variables as nvcc's front end has them, where a function has local memory; NVRTC gives none.
    pub front_end: FrontEnd,
    /// What the preprocessor made of the user's files; NVRTC tells nothing of it.
    #[serde(default)]
    pub as_compiled: AsCompiled,
    /// Warnings of front end and ptxas.
    pub messages: Vec<CompilerMessage>,
    /// Files that were read, but for the unit's own text.
    pub dependencies: Vec<Dependency>,
    /// What was added to assumed flags to make it compile.
    pub rescues: Vec<String>,
    /// The architecture that it was compiled for, which a rescue may have raised.
    pub architecture: String,
    /// Folder that relative paths in the line tables start from.
    pub folder: PathBuf,
}

impl Artifacts {
    /// The texts of the unit that the artifacts are of, as they were compiled.
    pub fn compiled_unit<'a>(&'a self, unit: &'a TranslationUnit) -> CompiledUnit<'a> {
        CompiledUnit { unit, files: &self.as_compiled, dependencies: &self.dependencies }
    }

    /// What it was compiled for.
    pub fn arch(&self) -> Arch {
        Arch::of(&self.architecture)
    }
}

/// `sm_90` of a PTX text's `.target sm_90, debug`.
pub fn declared_target(ptx: &str) -> Option<&str> {
    let declared = ptx.lines().find_map(|line| line.trim_start().strip_prefix(".target"))?;
    declared.split(',').next().map(str::trim)
}
