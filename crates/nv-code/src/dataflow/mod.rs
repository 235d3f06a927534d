//! What PTX says of the flow of its data: which definitions reach a use, what an address is made of, which values differ between
//! the threads of a warp, which loops there are, and which functions call themselves.

pub mod divergence;
pub mod flow;
pub mod fusing;
pub mod loops;
pub mod reaching;
pub mod recursion;

pub use flow::Sources;
pub use fusing::may_fuse;
pub use loops::Trip;

use crate::Instruction;

/// The function that a call names.
pub fn callee(call: &Instruction) -> Option<String> {
    call.operands.iter().find(|operand| !operand.starts_with('(')).filter(|name| !name.starts_with('%')).cloned()
}
