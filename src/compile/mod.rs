//! One unit, one target: from text to machine code, with NVIDIA's compilers.

mod given;
mod message;
mod nvcc;
mod nvrtc;
mod ptxas;
mod rescue;
mod shared;
mod unit;
mod unlimited;

pub use given::given;
pub use message::{CompilerMessage, MessageKind, parse_messages};
pub use nvrtc::{NVRTC_WORKER, worker as nvrtc_worker};
pub use rescue::HeaderIndex;
pub use shared::{PRAGMA as SHARED_SPILLING, SINCE as SHARED_SPILLING_SINCE, may_spill as may_spill_to_shared};
pub use unit::{Artifacts, CompileError, Compiler, Dependency, Failure, STRING_NAME, Shown, Target, declared_target};
