//! A kernel is limited by registers because the compiler does not know its block size.
//!
//! ## Why it costs
//! Without launch bounds ptxas does not know the block size. It uses as many registers as it likes, or as
//! `-maxrregcount` allows. A block that needs more than the 65,536 registers of an SM cannot be launched at all: "too
//! many resources requested for launch". A flag for all kernels of a file makes kernels spill that would have enough
//! registers.
//!
//! ## What to do
//! State the block size: `__launch_bounds__(256)`. It applies to one kernel only, and ptxas obeys it instead of
//! `-maxrregcount`. The lint reports known launches only: those in the kernel's own file and in Rust code, if all of
//! them have a constant block size. A kernel that Rust code may load by an unknown name counts as launched in unknown
//! ways.
//!
//! ## Example
//! Before:
//! ```cpp
//! __global__ void too_many(const float *in, float *out, int rounds) { mix<96>(in, out, rounds); }
//! ```
//! After:
//! ```cpp
//! __global__ void __launch_bounds__(kThreads) bounded(const float *in, float *out, int rounds) {
//! ```
//!
//! ## Fix safety
//! A launch with a larger block than the bound fails. Launches in other C++ files are not checked.
//!
//! ## When it is wrong
//! Launches in other files are not checked. A kernel that is also launched with small blocks there loses nothing today.
//!
//! ## Related lints
//! `register_spill`, `ineffective_option`

use cuda_syntax::Launch;
use lmem_base::gpu::MAX_REGISTERS;
use lmem_base::level::Level;
use lmem_base::words::plural;
use lmem_frame::StackObjectKind;
use nv_code::PtxFunction;

use crate::framework::{Check, Finding, Lint, LintContext, line_of};
use crate::rewrite::shared::must_be_resident;

pub(crate) static LINT: Lint = Lint {
    name: "missing_launch_bounds",
    level: Level::Allow,
    source: include_str!("missing_launch_bounds.rs"),
    check: Check::Kernel(check),
};

fn check(cx: &LintContext<'_>) -> Option<Finding> {
    if !cx.frame.is_entry {
        return None;
    }
    let launch = cx.unit.launch(cx.frame)?;
    let function = cx.unit.function(&cx.frame.mangled).filter(|function| !has_bounds(function))?;
    let limit = function.max_registers;
    let certain = cx.unit.launches().most_certain(&cx.frame.name)?;
    cannot_run(cx, certain, limit).or_else(|| if limit.is_none() { held_back(cx, launch) } else { None })
}

fn has_bounds(function: &PtxFunction) -> bool {
    function.max_threads.is_some() || function.required_threads.is_some()
}

/// A block that needs more registers than an SM has.
fn cannot_run(cx: &LintContext<'_>, launch: &Launch, limit: Option<u32>) -> Option<Finding> {
    let frame = cx.frame;
    let (threads, registers) = (launch.threads, frame.usage.registers);
    let allowed = cx.arch.gpu().registers_for(threads, 1);
    if registers <= allowed {
        return None;
    }
    let finding = Finding::new(format!(
        "kernel `{}` cannot be launched: {registers} registers per thread, a block of {threads} threads allows {allowed}",
        frame.name
    ));
    let finding = finding
        .primary(Some(&launch.span), format!("{threads} threads"))
        .label(frame.span.as_ref(), "no launch bounds")
        .note("the launch fails with \"too many resources requested for launch\"");
    let bound = match limit {
        // The two attributes exclude each other.
        Some(_) => format!("`__maxnreg__({allowed})`"),
        None => format!("`__launch_bounds__({threads})`"),
    };
    let registers = plural(allowed.into(), "register");
    Some(finding.help(format!("add {bound} to limit the kernel to {registers}, or launch a smaller block")))
}

/// A flag for all kernels that leaves this one fewer registers than its block size allows.
fn held_back(cx: &LintContext<'_>, launch: &Launch) -> Option<Finding> {
    let frame = cx.frame;
    // With more registers, fewer blocks would be resident than may wait for each other.
    if must_be_resident(cx) {
        return None;
    }
    let (limit, flag) = cx.unit.register_flag.as_ref().filter(|(limit, _)| *limit < MAX_REGISTERS)?;
    let (of_sm, allowed) = (cx.arch.gpu().registers, cx.arch.gpu().registers_for(launch.threads, 1));
    let spills = frame.objects.iter().any(|object| matches!(object.kind, StackObjectKind::Spills(_)));
    if allowed <= *limit || !(spills || frame.usage.registers >= *limit) {
        return None;
    }
    let what = if spills { "spills under" } else { "uses all registers of" };
    let threads = launch.threads;
    let finding = Finding::new(format!(
        "kernel `{}` {what} `{flag}`: blocks of {threads} threads allow {allowed} registers",
        frame.name
    ));
    let place = frame.span.as_ref().unwrap_or(&launch.span);
    let finding = finding
        .primary(Some(place), "no launch bounds")
        .label(Some(&launch.span), format!("{of_sm} registers / {threads} threads = {allowed} per thread"));
    Some(finding.help(format!(
        "add `__launch_bounds__({threads})`, which overrides the flag for this kernel ({})",
        line_of(&launch.span, Some(place))
    )))
}
