//! One unit, one target: from text to machine code, with NVIDIA's compilers.

mod absent;
mod attempt;
mod directives;
mod failure;
mod file;
pub mod given;
pub mod include_lines;
mod nvcc;
pub mod nvrtc;
mod ptxas;
pub mod rescue;
mod respill;
mod run;
mod steps;
mod text;
mod unit;
mod unlimited;
mod wrapper;

pub use absent::Absent;
pub use failure::{CompileError, Failure};
pub use given::given;
pub use nvcc::ADDING_VARIABLES;
pub use nvrtc::{NVRTC_WORKER, worker as nvrtc_worker};
pub use rescue::HeaderIndex;
pub use steps::Steps;
pub use unit::{Compiler, Shown, Target, TotalTime};
pub use wrapper::{VARIABLE as PTXAS_WRAPPER, Wrapper};
