//! Every byte of a stack frame to a variable and a line.
//!
//! The machine code says what is in local memory; the PTX says which object an access belongs to and what its
//! address depends on; the source gives the name. Nothing here decides on a cause: that is for the lints.

mod allocation;
pub(crate) mod call_syntax;
mod calls;
mod contents;
mod copies;
mod counter_syntax;
mod derived;
mod divergence;
mod escape;
mod flow;
pub(crate) mod frame;
mod fusing;
mod launch;
mod line_syntax;
mod loops;
mod macro_kernel;
mod mangling;
mod mark;
pub(crate) mod name;
pub(crate) mod objects;
mod passed;
mod passed_by;
pub(crate) mod place;
mod reaching;
mod recursion;
mod reinterpret;
mod remainder;
mod resolve;
mod spill;
pub(crate) mod syntax;
pub(crate) mod types;
mod value;
pub(crate) mod view;
pub(crate) mod words;

pub use allocation::Allocation;
pub use calls::{CallArea, CallAreaKind};
pub use contents::{Contents, Parameter, ParameterCopy};
pub use flow::Sources;
pub use frame::{
    KernelFrame, LaunchBounds, MathFunction, PassedTo, Recursion, SpillCheck, StackObject, StackObjectKind, attribute,
};
pub use fusing::may_fuse;
pub use launch::{Launch, Launches};
pub use loops::Trip;
pub use mangling::demangle;
pub use name::Variable;
pub use objects::{Access, Address, Escape, EscapeKind};
pub use reinterpret::Reinterpretation;
pub use spill::{HeldVariable, Limit, LimitOrigin, SpillGroup, Spills};
pub use syntax::{DeclarationKind, Volatility};
