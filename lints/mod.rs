//! The lints, one file each, in the order in which they may claim a stack object: most specific first.

mod address_escape;
mod call_frame;
mod constant_table;
mod debug_build;
mod dynamic_alloca;
mod dynamic_index;
mod ineffective_option;
mod large_array;
mod missing_launch_bounds;
mod param_copy;
mod printf_buffer;
mod recursive_call;
mod register_spill;
mod rolled_loop;
mod shared_spill_available;
mod slow_path_math;
mod unexplained_local_memory;
mod vector_reinterpret;
mod volatile_local;

pub(crate) use ineffective_option::is_ignored_pragma;

use crate::lint::Lint;

/// All lints. The last one claims what no other does, so that the bytes add up.
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
