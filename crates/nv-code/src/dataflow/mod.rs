//! Data-flow analyses on PTX: reaching definitions, points-to, divergence in a warp, loops, and recursion.

mod cancelling;
mod closure;
mod divergence;
pub mod flow;
mod fusing;
mod loops;
mod parameter_writes;
mod possible_calls;
mod reaching;
mod recursion;

use ptx_syntax::{Instruction, Operand};

pub use cancelling::cancels_products;
pub use flow::{Call, Flow, Origins, Provenance, Root, constant, registers};
pub use fusing::may_fuse;
pub use loops::{PtxLoops, TripCount};
pub use parameter_writes::writes_parameters;
pub use possible_calls::PossibleCalls;
pub use reaching::{ByRegister, Definitions, uses};
pub use recursion::{CallCycle, CallCycles};

/// The callee that a call names.
pub fn callee(call: &Instruction) -> Option<&str> {
    match call.call()?.callee {
        Operand::Symbol(name, _) => Some(name),
        _ => None,
    }
}
