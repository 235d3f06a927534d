//! Every byte of a stack frame to a variable and a line.
//!
//! The machine code says what is in local memory; the PTX says which object an access belongs to and what its
//! address depends on; the source gives the name. Nothing here decides on a cause: that is for the lints.

mod allocation;
mod by_value;
mod call_syntax;
mod calls;
mod constant_fill;
mod contents;
mod copies;
mod copy_edit;
mod counter_syntax;
mod derived;
mod divergence;
mod edits;
mod escape;
mod flow;
mod for_syntax;
mod frame;
mod guard;
mod lane_edit;
mod launch;
mod line_syntax;
mod loops;
mod macro_kernel;
mod mangling;
mod mark;
mod math_edit;
mod name;
mod objects;
mod param_edit;
mod passed;
mod passed_by;
mod place;
mod plain_type;
mod private_array;
mod private_row;
mod private_variable;
mod purity;
mod reaching;
mod recursion;
mod reinterpret;
mod remainder;
mod resolve;
mod rotation;
mod select_edit;
mod select_syntax;
mod sites;
mod spill;
mod syntax;
mod table_edit;
mod types;
mod value;
mod view;
mod words;

pub use allocation::Allocation;
pub use calls::{CallArea, CallAreaKind};
pub use contents::{Contents, Parameter, ParameterCopy};
pub use copy_edit::ElementCopies;
pub use flow::Sources;
pub use for_syntax::{ForLoop, index_loops};
pub use frame::{
    KernelFrame, LaunchBounds, MathFunction, PassedTo, Recursion, SpillCheck, StackObject, StackObjectKind, attribute,
};
pub use guard::Guard;
pub use launch::{Launch, Launches};
pub use loops::Trip;
pub use mangling::demangle;
pub use math_edit::MathForm;
pub use name::Variable;
pub use objects::{Access, Address, Escape, EscapeKind};
pub use private_variable::{Columns, PrivateVariable};
pub use reinterpret::Reinterpretation;
pub use rotation::Rotations;
pub use select_edit::{Form, Selection};
pub use sites::{DeclarationSite, inline_named};
pub use spill::{HeldVariable, Limit, LimitOrigin, MAX_REGISTERS, SpillGroup, Spills, registers_for};
pub use syntax::{DeclarationKind, Volatility};
pub use table_edit::{FunctionTable, tables_called_near, tables_with};
