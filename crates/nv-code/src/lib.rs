//! Readers for the output of NVIDIA's compilers: one module per format, from text or bytes to values. Also analyses of
//! the data flow in PTX.
//!
//! Unknown input is not an error, because toolkits change. Everything that depends on the version of a toolkit is
//! contained here.

pub mod cubin;
pub mod dataflow;
pub mod fatbin;
mod locate;
mod machine_code;
mod pressure;
mod ptx;
mod ptxas_log;
pub mod shared_spilling;
mod source_lines;
mod unit;
mod work;

pub use cubin::header::CubinHeader;
pub use cubin::line_table::{LineRow, LineTable};
pub use cubin::live_ranges::{Calls, LiveRanges};
pub use cubin::registers::{Operands, RegisterSet, operands};
pub use cubin::sass::{AccessKind, AddressBase, LocalInstruction, STACK_ALIGNMENT, SassFunction};
pub use cubin::{Cubin, CubinError, CubinFunction, InnerFunction, SassLoops};
pub use machine_code::{SourceFiles, read_machine_code};
pub use pressure::{LiveValue, RegisterPressure};
pub use ptx::{PtxError, PtxFunction, PtxModule, PtxVariable};
pub use ptx_syntax::{Instruction, Location, unescape_path};
pub use ptxas_log::{FunctionUsage, PtxasLog, PtxasMessage};
pub use source_lines::{Definition, SourceLine, SourceLines};
pub use unit::{CalleeFacts, KernelFacts, LocalAccess, ReadError, UnitFacts, read_unit};
pub use work::{ComputedCosts, Work, computed_costs};
