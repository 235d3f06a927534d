//! Registers could be spilled to shared memory.
//!
//! ## Why it costs
//! A spill to local memory goes through the caches; shared memory is nearer. On an H200, kernels with spills in a hot
//! loop became 1.4 to 2.2 times faster. A kernel without spills is faster still: see `register_spill` first.
//!
//! ## What to do
//! Since CUDA 13.0, ptxas spills to shared memory if `asm volatile (".pragma \"enable_smem_spilling\";");` is the first
//! statement of the kernel. The lint reports a kernel if ptxas, run with the pragma, did so. The amount of shared
//! memory depends on the launch bounds, and on what the architecture can give without lowering occupancy. Without
//! launch bounds, ptxas budgets for as many threads as the registers allow.
//!
//! ptxas rejects the pragma with an error in kernels with dynamic shared memory, calls of functions that are not
//! inlined, or `setmaxnreg`. It also does with `-rdc=true` and with `-G`. Such kernels are not reported. Neither are
//! kernels for which a launch in the file or in Rust code adds, or may add, dynamic shared memory.
//!
//! ## Example
//! Before:
//! ```cpp
//! __global__ void __launch_bounds__(256) tile(const float *a, const float *b, float *c, int n) {
//! ```
//! After:
//! ```cpp
//! __global__ void __launch_bounds__(256) tile_shared(const float *a, const float *b, float *c, int n) {
//!     asm volatile(".pragma \"enable_smem_spilling\";");
//! ```
//!
//! ## Fix safety
//! The result is the same. If shared memory was scarce, fewer blocks may be resident. A later change that adds dynamic
//! shared memory or a call makes the kernel fail to compile. The statement is suggested in `.cu` files only: its quotes
//! would end a string literal. Toolkits before 12.9 ignore the pragma with a warning.
//!
//! ## When it is wrong
//! Shared memory used for spills is not available to blocks and to the L1 cache. A driver before CUDA 13 that compiles
//! the PTX ignores the pragma.
//!
//! ## Related lints
//! `register_spill`

use lmem_base::diagnostic::ResourceUsage;
use lmem_base::level::Level;
use lmem_base::words::bytes;
use lmem_frame::{FrameObject, StackObjectKind};
use lmem_unit::UnitCode;

use crate::framework::{Check, Finding, Lint, LintContext};
use crate::rewrite::shared::spilling;

pub(crate) static LINT: Lint = Lint {
    name: "shared_spill_available",
    level: Level::Allow,
    source: include_str!("shared_spill_available.rs"),
    check: Check::Kernel(check),
};

/// Minimum reduction of the spills: less is not worth the shared memory.
const WORTHWHILE: u64 = 10;

fn check(cx: &LintContext<'_>) -> Option<Finding> {
    let frame = cx.frame;
    let (before, after) = (&frame.usage, frame.shared_spilling.as_ref()?);
    if cx.unit.launches().dynamic_shared(&frame.name) != Some(0) {
        return None;
    }
    let is_spills = |object: &&FrameObject| matches!(object.kind, StackObjectKind::Spills(_));
    let StackObjectKind::Spills(spills) = &frame.objects.iter().find(is_spills)?.kind else { return None };
    let gone = before.spilled().checked_sub(after.spilled())?;
    if after.shared <= before.shared || gone * WORTHWHILE < before.spilled() {
        return None;
    }
    let part = if after.spilled() == 0 { "all" } else { "some" };
    let mut finding = Finding::new(format!("kernel `{}` spills: shared memory could hold {part} of it", frame.name))
        .primary(frame.span.as_ref(), "")
        .label(frame.body.as_ref(), "the pragma goes first in this body")
        .note(with_pragma(before, after));
    finding.quotes_figures = true;
    finding.loop_depth = spills.loop_depth;
    let function = cx.unit.function(&frame.mangled)?;
    if function.max_threads.or(function.required_threads).is_none() {
        finding = finding.note("no launch bounds: ptxas budgets shared memory for as many threads as registers allow");
    }
    if let UnitCode::CudaText { .. } = &cx.unit.unit.code {
        finding = finding.note("the driver compiles this text; one before CUDA 13 may ignore the pragma");
    }
    let finding = finding.help(format!("add `{}` as the first statement", spilling::statement()));
    Some(finding.suggest(spilling::suggestion(cx, None)))
}

fn with_pragma(before: &ResourceUsage, after: &ResourceUsage) -> String {
    let change = |what: &str, before: u64, after: u64| format!("{what} {before} → {}", bytes(after));
    let parts = [
        change("stack frame", before.stack_frame, after.stack_frame),
        change("spill stores", before.spill_stores, after.spill_stores),
        change("spill loads", before.spill_loads, after.spill_loads),
        change("shared memory per block", before.shared, after.shared),
    ];
    format!("with the pragma: {}", parts.join(", "))
}
