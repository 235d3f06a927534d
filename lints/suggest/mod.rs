//! Edits that several lints offer.

mod call_by_name;
mod constant_fill;
mod inline;
mod lanes;
mod launch_bounds;
mod shared_slice;
mod shared_spilling;
pub mod unroll;

pub(crate) use call_by_name::{call_by_name, call_by_name_near, call_function_by_name};
pub(crate) use constant_fill::declare_with_values;
pub(crate) use inline::{inline, inline_named};
pub(crate) use lanes::select_lanes;
pub(crate) use launch_bounds::{as_launched, name_blocks, name_registers};
pub(crate) use shared_slice::keep_in_shared_memory;
pub(crate) use shared_spilling::{shared_spilling_statement, spill_to_shared_memory};
pub(crate) use unroll::Unrolled;

/// Parts between commas that stand in no parentheses.
fn split_at_commas(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '<' | '{' | '[' => depth += 1,
            ')' | '>' | '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}
