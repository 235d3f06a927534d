//! A function calls itself, directly or through other functions.
//!
//! ## Why it costs
//! Each level of the recursion has a frame in local memory: the return address and all values that are needed after
//! the call are stored before it and loaded after it, and nothing can be kept in registers across it. How deep it goes
//! is not known, so that `ptxas` reports 0 bytes for the kernel; each thread has the same fixed stack (1 KiB if nobody
//! sets `cudaLimitStackSize`), and a deeper recursion is an error at run time. A recursion that was turned into a loop
//! over a bounded stack ran 22 times faster in one measured pair.
//!
//! ## What to do
//! - A recursion whose only call is the last thing that the function does: a loop.
//! - A depth that is known at compile time: a template, `walk<Depth - 1>`, which is inlined.
//! - Else a loop with a stack of its own: in shared memory as `[level][thread]`, or packed into an integer of bits.
//!
//! ## Example
//! Before:
//! ```cpp
//! __device__ __noinline__ int sum_of_tree(const int2 *children, const int *weight, int node) {
//!     return weight[node] + sum_of_tree(children, weight, next.x) + sum_of_tree(children, weight, next.y);
//! ```
//! After:
//! ```cpp
//! for (int node = 0; node < nodes; ++node) {
//!     int2 next = children[node];
//!     int total = weight[node];
//! ```
//!
//! ## Fix safety
//! Advice only: how deep the recursion may go is for the programmer to say.
//!
//! ## When it is wrong
//! A recursion of known, small depth fits the stack; nothing here knows the depth. Recursion that the compiler turned into a loop is
//! not reported.
//!
//! ## Related lints
//! `call_frame`, `address_escape`, `dynamic_alloca`

use lmem_base::level::Level;
use lmem_base::words::{bytes, list};
use lmem_frame::{CallAreaKind, Recursion, StackObject, StackObjectKind};

use crate::framework::{Check, Finding, Lint, LintContext};

pub(crate) static LINT: Lint = Lint {
    name: "recursive_call",
    level: Level::Warn,
    source: include_str!("recursive_call.rs"),
    check: Check::Object(check),
};

/// Calls that are shown; more say nothing new.
const SHOWN_CALLS: usize = 3;

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    match &object.kind {
        StackObjectKind::Recursion(recursion) => Some(of_kernel(cx, recursion)),
        StackObjectKind::Call(area) if matches!(area.kind, CallAreaKind::CalleeSaved { .. }) => {
            let mut finding = of_function(cx, cx.frame.recursion.as_ref()?, object.bytes - object.padding);
            (finding.loads, finding.stores, finding.loop_depth) = (area.loads, area.stores, area.loop_depth);
            Some(finding)
        }
        _ => None,
    }
}

/// A function of the recursion: its frame is that of each level.
fn of_function(cx: &LintContext<'_>, recursion: &Recursion, saved: u64) -> Finding {
    let frame = bytes(cx.frame.usage.stack_frame);
    let message = format!("{}: {frame} of local memory per level", what(recursion));
    let saved = format!("{} of a level hold values needed after the call", bytes(saved));
    with_calls(cx, Finding::new(message), recursion).note(saved)
}

/// A kernel that starts it: its own frame is without the recursion.
fn of_kernel(cx: &LintContext<'_>, recursion: &Recursion) -> Finding {
    let message = format!("{}: the stack of kernel `{}` has no bound", what(recursion), cx.frame.name);
    with_calls(cx, Finding::new(message), recursion)
}

fn what(recursion: &Recursion) -> String {
    let names: Vec<String> = recursion.functions.iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [only] => format!("{only} calls itself"),
        _ => format!("{} call each other", list(&names)),
    }
}

/// What findings share that end with the recursion.
pub(crate) fn cause(cx: &LintContext<'_>, recursion: &Recursion) -> String {
    let mut names = recursion.functions.clone();
    names.sort();
    format!("recursion of {} in {}", names.join(", "), cx.unit.unit.name)
}

fn with_calls(cx: &LintContext<'_>, finding: Finding, recursion: &Recursion) -> Finding {
    let mut finding = finding.primary(recursion.span.as_ref(), "recursive function");
    finding.cause = Some(cause(cx, recursion));
    for call in recursion.closing.iter().take(SHOWN_CALLS) {
        finding = finding.primary(Some(call), "recursive call").label(Some(call), "recursive call");
    }
    finding
        .note("depth unknown: the stack frame that ptxas reports for a kernel is without it")
        .help("use a loop with a stack of bounded depth, or a template whose depth is a constant")
}
