//! One unit, one target: from text to machine code, with NVIDIA's compilers.

mod absent;
pub mod given;
mod nvcc;
pub mod nvrtc;
mod ptxas;
pub mod rescue;
pub mod unit;
mod unlimited;

pub use absent::Absent;
pub use given::given;
pub use nvcc::ADDING_VARIABLES;
pub use nvrtc::{NVRTC_WORKER, worker as nvrtc_worker};
pub use rescue::HeaderIndex;
pub use unit::{CompileError, Compiler, Failure, Shown, Target, TotalTime};
