//! Every byte of a stack frame to a variable and a line.
//!
//! The machine code says what is in local memory; the PTX says which object an access belongs to and what its
//! address depends on; the source gives the name. Nothing here decides on a cause: that is for the lints.

mod allocation;
mod calls;
mod contents;
mod escape;
pub mod frame;
pub mod objects;
mod reinterpret;
mod remainder;
mod spill;
pub mod symbolize;
mod value;

pub use allocation::Allocation;
pub use calls::{CallArea, CallAreaKind};
pub use contents::{Contents, Parameter, ParameterCopy};
pub use frame::{
    KernelFrame, LaunchBounds, MathFunction, PassedTo, Recursion, SpillCheck, StackObject, StackObjectKind, attribute,
};
pub use objects::{Access, Address, Escape, EscapeKind};
pub use reinterpret::Reinterpretation;
pub use spill::{HeldVariable, Limit, LimitOrigin, SpillGroup, Spills};
pub use symbolize::name::Variable;
pub use symbolize::place::Place;
