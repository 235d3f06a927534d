//! Frame attribution: assigns every byte of a stack frame to a variable and a line.
//!
//! The machine code shows what is in local memory. The PTX shows which object an access belongs to and what its address
//! depends on. The source gives the name. This crate does not decide on a cause: that is up to the lints.

mod access;
mod allocation;
mod attribute;
mod balance;
mod call_chain;
mod call_objects;
mod calls;
mod described;
mod escape;
mod frame;
mod holders;
mod live_values;
mod merged;
mod object;
mod objects;
mod place;
mod reentry;
mod reinterpret;
mod slow_path;
mod spill;
mod stored_values;
pub mod symbolize;
mod unroll_remainder;
mod wide_accesses;

pub use access::{Access, Address, Escape, EscapeKind, Parameter, ParameterCopy, StoredValues};
pub use allocation::Allocation;
pub use attribute::attribute;
pub use calls::{CallArea, CallAreaKind};
pub use frame::{
    FrameObject, KernelFrame, LaunchBounds, MathFunction, PassedTo, Recursion, SpillCheck, StackObjectKind,
};
pub use holders::{Holder, Peak};
pub use object::{SourceLoop, StackObject};
pub use place::{Place, Places};
pub use reentry::{KnownReentries, Reentry};
pub use reinterpret::Reinterpretation;
pub use spill::{HeldVariable, Limit, LimitOrigin, SpillGroup, Spills};
pub use symbolize::name::{Sharing, Variable};
