//! A function calls itself, directly or through other functions.
//!
//! ## Why it costs
//! Each recursion level has a frame in local memory. The return address and all values that are live across the call
//! are stored before it and loaded after it; none can stay in registers. The depth is unknown, so `ptxas` reports 0
//! bytes for the kernel. Each thread has the same fixed stack (1 KiB unless `cudaLimitStackSize` is set), and a deeper
//! recursion is an error at run time. Turning a recursion into a loop over a bounded stack made a kernel 22 times
//! faster in one measured pair.
//!
//! ## What to do
//! - Tail recursion (the only call is the last thing that the function does): a loop.
//! - A constant depth: a template, `walk<Depth - 1>`, which is inlined.
//! - Otherwise a loop with a stack of its own: in shared memory as `[level][thread]`, or packed into the bits of an
//!   integer.
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
//! Advice only: only the programmer knows the maximum depth.
//!
//! ## When it is wrong
//! A recursion of small, known depth fits the stack, but the lint does not know the depth. Recursion that the compiler
//! turned into a loop is not reported.
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

/// Number of functions to name.
const SHOWN_FUNCTIONS: usize = 16;

/// Number of calls to show; more tell nothing new.
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

/// A function of the recursion, whose frame is needed once per level.
fn of_function(cx: &LintContext<'_>, recursion: &Recursion, saved: u64) -> Finding {
    let frame = bytes(cx.frame.usage.stack_frame);
    // Of several, each has a frame of its own in every round.
    let each = match recursion.functions.len() {
        1 => "level".to_string(),
        _ => format!("call of `{}`", cx.frame.name),
    };
    let message = format!("{}: {frame} of local memory per {each}", what(recursion));
    let saved = format!("{} of a level hold values needed after the call", bytes(saved));
    with_calls(cx, Finding::new(message), recursion).note(saved)
}

/// A kernel that enters the recursion; its own frame does not include it.
fn of_kernel(cx: &LintContext<'_>, recursion: &Recursion) -> Finding {
    let message = format!("{}: the stack of kernel `{}` has no bound", what(recursion), cx.frame.name);
    with_calls(cx, Finding::new(message), recursion)
}

fn what(recursion: &Recursion) -> String {
    let shown = recursion.functions.iter().take(SHOWN_FUNCTIONS);
    let mut names: Vec<String> = shown.map(|name| format!("`{name}`")).collect();
    let more = recursion.functions.len() - names.len();
    names.extend((more > 0).then(|| format!("{more} more functions")));
    match names.as_slice() {
        [only] => format!("{only} calls itself"),
        _ => format!("{} call each other", list(&names)),
    }
}

/// Cause key of findings that this recursion explains.
pub(crate) fn cause(cx: &LintContext<'_>, recursion: &Recursion) -> String {
    if let [first, .., last] = recursion.functions.as_slice()
        && recursion.functions.len() > SHOWN_FUNCTIONS
    {
        // Each of them has a finding, and no other cycle has any of these names.
        return format!("recursion of {first} to {last} in {}", cx.unit.unit.name);
    }
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
