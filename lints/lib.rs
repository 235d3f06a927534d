//! The lints, one file each, and their suggestions.
//!
//! A lint looks at an object of a stack frame, a kernel, or the options of a unit, and returns a finding. `framework`
//! defines lints and findings. [`ALL`] is their order: the first lint with a finding claims the object, so the most
//! specific cause is named and the bytes add up. `registry` runs the lints; `rewrite` finds the edits.

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
    claims, documentation, explains, find, kernel_claims, known_names, names_with_levels, option_claims, unit_claim,
    would_claim,
};

/// The version of the rules, which `--version` and SARIF tell: it rises when a lint comes, goes, gets another name or level, or
/// finds other things in the same code, so that a baseline of older rules is known as one.
pub const RULE_SET: u32 = 1;

/// All lints, in the order in which they run. The first one with a finding claims the object, so more specific causes
/// come first. The last one claims everything else, so that the bytes add up.
pub static ALL: &[&Lint] = &[
    &debug_build::LINT,
    &register_spill::LINT,
    &dynamic_alloca::LINT,
    &recursive_call::LINT,
    &call_frame::LINT,
    &printf_buffer::LINT,
    &slow_path_math::LINT,
    &volatile_local::LINT,
    &constant_table::LINT,
    &vector_reinterpret::LINT,
    &param_copy::LINT,
    &dynamic_index::LINT,
    &large_array::LINT,
    &rolled_loop::LINT,
    &address_escape::LINT,
    &ineffective_option::LINT,
    &shared_spill_available::LINT,
    &missing_launch_bounds::LINT,
    &unexplained_local_memory::LINT,
];
