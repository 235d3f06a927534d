//! The lints, one file each, and the edits that they offer.
//!
//! A lint looks at one object of a stack frame, a kernel, or the options of a unit, and answers with a finding. `framework` has what
//! all lints are made of, `registry` their order: the first lint that answers claims the object, so that the most specific
//! cause is named and the bytes add up. `rewrite` has the edits.

mod address_escape;
mod call_frame;
mod constant_table;
mod debug_build;
mod dynamic_alloca;
mod dynamic_index;
mod framework;
mod ineffective_option;
mod large_array;
mod missing_launch_bounds;
mod param_copy;
mod printf_buffer;
mod recursive_call;
mod register_spill;
mod registry;
mod rewrite;
mod rolled_loop;
mod shared_spill_available;
mod slow_path_math;
mod unexplained_local_memory;
mod vector_reinterpret;
mod volatile_local;

pub use framework::{Check, Circumstances, Claim, Finding, Levels, Lint, LintContext, UnitContext, remark};
pub use registry::{
    ALL, claims, documentation, explains, find, kernel_claims, known_names, names_with_levels, option_claims,
    unit_claim, would_claim,
};
