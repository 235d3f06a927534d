//! An array or structure is larger than a thread's registers.
//!
//! ## Why it costs
//! A thread has at most 255 registers, 1020 bytes, and fewer under launch bounds. A larger array is in local memory
//! whatever its indices are: each access is a load or a store. Large frames of many threads do not stay in the cache.
//!
//! ## What to do
//! Process the data in pieces that fit into registers, or keep it in shared memory, or in a global workspace laid out
//! for coalesced access. Unrolling does not help: it would turn the array into spills.
//!
//! ## Example
//! Before:
//! ```cpp
//! float row[512];
//! for (int k = 0; k < 512; ++k) {
//!     sum += in[k * n + i];
//!     row[k] = sum;
//! }
//! ```
//! After:
//! ```cpp
//! for (int k = 0; k < 512; ++k) total += in[k * n + i];
//! for (int k = 0; k < 512; ++k) {
//!     sum += in[k * n + i];
//!     out[k * n + i] = sum / total;
//! }
//! ```
//!
//! ## Fix safety
//! Advice only, except for small blocks, where shared memory has room for one column per thread: see `dynamic_index`.
//!
//! ## When it is wrong
//! The cache serves a work area that is written and read once, in order. Few threads with large arrays may be the best
//! solution. The limit used is that of the kernel's own launch bounds.
//!
//! ## Related lints
//! `rolled_loop`, `register_spill`, `missing_launch_bounds`

use lmem_base::gpu::{DECLARED_SHARED, WARP};
use lmem_base::level::Level;
use lmem_base::words::bytes;
use lmem_frame::{Address, Reentry, StackObject, StackObjectKind};

use crate::framework::{Check, Finding, Lint, LintContext, in_local_memory, in_loop};
use crate::rewrite::{in_place, shared};

pub(crate) static LINT: Lint = Lint {
    name: "large_array",
    level: Level::Warn,
    source: include_str!("large_array.rs"),
    check: Check::Object(check),
};

/// Size of a register.
const REGISTER_BYTES: u64 = 4;

/// Whether an array is in local memory whatever its indices are.
pub(crate) fn exceeds_registers(bytes: u64) -> bool {
    bytes > u64::from(lmem_base::gpu::MAX_REGISTERS) * REGISTER_BYTES
}

/// What helps where no index does.
pub(crate) const IN_PIECES: &str = "larger than the registers of a thread, whatever its indices are: process the data in \
                                    pieces that fit, use smaller elements, or keep one array per block in shared memory";

/// The same where the arrays of a block do not fit into shared memory.
const IN_PIECES_OR_SHARED: &str = "process the data in pieces that fit, or keep one array per block in shared memory";

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let registers = u64::from(cx.frame.limit.as_ref().map_or(lmem_base::gpu::MAX_REGISTERS, |limit| limit.registers));
    let is_variable = matches!(object.kind, StackObjectKind::Variable);
    if !is_variable || object.bytes <= registers * REGISTER_BYTES || !object.escapes().is_empty() {
        return None;
    }
    let guilty = object.guilty().filter(|access| !matches!(access.address, Address::Computed(_)))?;
    let room = format!("larger than the {} of registers of a thread", bytes(registers * REGISTER_BYTES));
    let finding =
        in_local_memory(object, Some(guilty), &room).access(object, guilty, in_loop("accessed here", object, guilty));
    // Those of a warp, if no launch is known.
    let threads = cx.unit.launch(cx.frame).map_or(WARP, |launch| launch.threads);
    let finding = finding.help(match cx.reentry(object) {
        Some(Reentry::Recursion) => "process the data in pieces that fit, or replace the recursion by a loop",
        Some(Reentry::IndirectCall) => "process the data in pieces that fit",
        None if object.bytes.saturating_mul(threads.into()) > DECLARED_SHARED => IN_PIECES_OR_SHARED,
        None => "process the data in pieces that fit, or move it to shared memory",
    });
    Some(finding.suggest(in_place::suggestion(object)).suggest(shared::suggestion(cx, object)))
}
