//! A file that NVRTC compiles: the finding lies in the file.

use cudarc::nvrtc::{CompileError, Ptx, compile_ptx};

const MEDIAN: &str = include_str!("../kernels/median.cu");

pub fn median() -> Result<Ptx, CompileError> {
    compile_ptx(MEDIAN)
}
