//! From what NVIDIA's compilers wrote to values: one module for each format, text or bytes in, values out; and what PTX says of
//! the flow of its data.
//!
//! Reading does not fail on what it does not know: toolkits change. What ends here is everything that depends on a
//! toolkit's version.

pub mod cubin;
pub mod dataflow;
pub mod fatbin;
mod locate;
mod machine_code;
mod ptx;
mod ptxas_log;
pub mod shared_spilling;
mod unit;
mod work;

pub use cubin::header::CubinHeader;
pub use cubin::line_table::{LineRow, LineTable};
pub use cubin::sass::{AccessKind, AddressBase, LocalInstruction, STACK_ALIGNMENT, SassFunction};
pub use cubin::{Cubin, CubinError, CubinFunction, InnerFunction, SassLoops};
pub use machine_code::{SourceFiles, read_machine_code};
pub use ptx::{PtxError, PtxFunction, PtxModule, PtxVariable};
pub use ptx_syntax::{Instruction, Location, unescape_path};
pub use ptxas_log::{FunctionUsage, PtxasLog, PtxasMessage};
pub use unit::{CalleeFacts, Definition, KernelFacts, LocalAccess, ReadError, SourceLine, UnitFacts, read_unit};
pub use work::{ComputedCosts, Work, computed_costs};
