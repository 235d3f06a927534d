//! The kernel allocates stack memory with `alloca`.
//!
//! ## Why it costs
//! The memory is local memory, whatever its size and indices, and it is not part of any frame: `ptxas` reports 0 bytes
//! and warns that the stack size is unknown. Each thread of the GPU has the same fixed stack (1 KiB unless
//! `cudaLimitStackSize` is set); exceeding it is an error at run time.
//!
//! ## What to do
//! - A known bound: an array of that size, and an unrolled loop over it.
//! - Otherwise shared memory, or a workspace in global memory that the host allocates.
//! - Often the data can be used as it is read, without a buffer.
//!
//! ## Example
//! Before:
//! ```cpp
//! int *buffer = static_cast<int *>(alloca(n * sizeof(int)));
//! for (int k = n - 1; k >= 0; --k) sum = sum * 3 + buffer[k];
//! ```
//! After:
//! ```cpp
//! for (int k = n - 1; k >= 0; --k) sum = sum * 3 + in[k * 256 + threadIdx.x];
//! ```
//!
//! ## Fix safety
//! Advice only: only the programmer knows a valid bound.
//!
//! ## When it is wrong
//! If the size is small and the stack was made large enough (`cudaLimitStackSize`), it works, at the cost of local
//! memory.
//!
//! ## Related lints
//! `large_array`, `recursive_call`

use lmem_base::level::Level;
use lmem_base::words::bytes;
use lmem_frame::{StackObject, StackObjectKind};

use crate::framework::{Check, Finding, Lint, LintContext, in_loop, object_finding};

pub(crate) static LINT: Lint = Lint {
    name: "dynamic_alloca",
    level: Level::Warn,
    source: include_str!("dynamic_alloca.rs"),
    check: Check::Object(check),
};

/// A longer size expression is shown in the excerpt only.
const MAX_SIZE: usize = 40;

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let StackObjectKind::Allocation(allocation) = &object.kind else { return None };
    let what = object.variable.as_ref().map_or("memory".to_string(), |variable| format!("`{}`", variable.name));
    let size = allocation.size.as_ref().filter(|size| size.len() <= MAX_SIZE);
    let size = size.map(|size| format!(" (`{size}` B)")).unwrap_or_default();
    let message = format!("{what}{size} is in local memory: allocated with `alloca`, outside any stack frame");
    let guilty = object.guilty();
    let mut finding = object_finding(object, guilty, message);
    // The declaration would only show the pointer's name.
    finding.primary = None;
    finding = finding.primary(allocation.span.as_ref(), "allocated on the stack of every thread");
    if let Some(access) = guilty {
        finding = finding.label(access.span.as_ref(), in_loop("accessed here", object, access));
    }
    let kind = if cx.frame.is_entry { "kernel" } else { "function" };
    let frame = cx.frame.usage.stack_frame;
    Some(
        finding
            .note(format!("not part of the {} stack frame of {kind} `{}`", bytes(frame), cx.frame.name))
            .help("use an array of constant size, shared memory, or a workspace in global memory"),
    )
}
