//! What PTX says of the flow of its data: which definitions reach a use, what an address is made of, which values differ between
//! the threads of a warp, which loops there are, and which functions call themselves.

mod divergence;
pub mod flow;
mod fusing;
mod loops;
mod reaching;
mod recursion;

use crate::Instruction;

pub use flow::{Call, Flow, Root, Sources, constant, parameter_number, read, registers, special_register, written};
pub use fusing::may_fuse;
pub use loops::{PtxLoops, Trip};
pub use recursion::{Circle, Circles};

/// The function that a call names.
pub fn callee(call: &Instruction) -> Option<String> {
    call.operands.iter().find(|operand| !operand.starts_with('(')).filter(|name| !name.starts_with('%')).cloned()
}
