//! From what the compilers wrote to values: one module for each format, text or bytes in, values out.
//!
//! Reading does not fail on what it does not know: toolkits change. What ends at this stage is everything
//! that depends on a toolkit's version.

mod casts;
mod cubin;
mod cubin_header;
mod front_end;
mod kernel;
mod line_table;
mod locate;
mod machine_code;
mod nv_info;
mod ptx;
mod ptxas_log;
mod sass;
mod work;

pub use casts::without_casts;
pub use cubin::{Cubin, CubinError, CubinFunction, InnerFunction};
pub use cubin_header::CubinHeader;
pub use front_end::{FrontEnd, FrontEndMember, FrontEndVariable};
pub use kernel::{CalleeFacts, Definition, KernelFacts, LocalAccess, ReadError, SourceLine, UnitFacts, read_unit};
pub use line_table::{LineRow, LineTable};
pub use machine_code::{SourceFiles, read_machine_code};
pub use ptx::{
    AddressOperand, Instruction, Location, PtxError, PtxFunction, PtxModule, PtxVariable, without_copy_number,
};
pub use ptxas_log::{FunctionUsage, PtxasLog, PtxasMessage};
pub use sass::{AccessKind, AddressBase, LocalInstruction, LoopRange, STACK_ALIGNMENT, SassFunction};
pub use work::{ComputedCosts, Work, computed_costs};
