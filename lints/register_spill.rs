//! Values do not fit into the registers that a thread may use, and are parked in local memory.
//!
//! ## Why it costs
//! Each spilled value is stored once or more and loaded before each use. In a hot loop the first launch bound
//! that spills cost 5 times on an H200; outside loops, or for a few bytes, a spill is often harmless.
//!
//! ## What to do
//! - Launch bounds: ask for fewer blocks, or for the block size that is really launched. `(256, 4)` allows 64
//!   registers for a thread, `(256, 5)` only 48.
//! - Launch bounds without a number of blocks, where the machine code uses fewer registers than they allow: `(256, 1)`.
//! - `-maxrregcount`, `__maxnreg__`: raise it, or leave it out.
//! - At the architecture's own limit of 255: a smaller tile, fewer accumulators, values computed again.
//! - CUDA 13 can spill to shared memory: `asm volatile (".pragma \"enable_smem_spilling\";");` first in the kernel.
//!
//! ## Fix safety
//! A higher limit lets fewer threads run at a time, and launches with larger blocks than the bound fail: the
//! programmer must judge.

use crate::attribute::{
    KernelFrame, Limit, LimitOrigin, SpillGroup, Spills, StackObject, StackObjectKind, registers_for,
};
use crate::diagnostic::ResourceUsage;
use crate::lint::{Check, Finding, Level, Lint, LintContext, bytes, line_of, plural};
use crate::source::Span;

pub(crate) static LINT: Lint = Lint {
    name: "register_spill",
    level: Level::Warn,
    source: include_str!("register_spill.rs"),
    check: Check::Object(check),
};

/// Registers are given out in pieces of this size: fewer left unused mean nothing.
const REGISTER_UNIT: u32 = 8;

/// The largest holders are shown, not a list of a hundred.
const SHOWN_GROUPS: usize = 3;

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let StackObjectKind::Spills(spills) = &object.kind else { return None };
    let frame = cx.frame;
    let usage = &frame.usage;
    let kind = if frame.is_entry { "kernel" } else { "function" };
    let spilled = format!(
        "{kind} `{}` spills registers: {} stored, {} loaded",
        frame.name,
        // Registers that a function saves for its callers are told by another lint.
        bytes(usage.spill_stores.saturating_sub(frame.saved.0)),
        bytes(usage.spill_loads.saturating_sub(frame.saved.1))
    );
    let mut finding = Finding::new(match &frame.limit {
        Some(limit) => format!("{spilled}; {} allowed{}", plural(limit.registers.into(), "register"), demand(frame)),
        None => spilled,
    });
    finding.loads = spills.loads;
    finding.stores = spills.stores;
    finding.loop_depth = spills.loop_depth;
    finding.variable = spills.groups.first().and_then(holder);
    finding.variable_type = spills.groups.first().and_then(|group| Some(group.variable.as_ref()?.type_text.clone()));
    finding = finding.primary(frame.span.as_ref(), format!("{} of spill slots in every thread", bytes(object.bytes)));
    if let Some(limit) = &frame.limit {
        finding = match limit_span(frame, limit) {
            Some(span) => finding.label(Some(span), arithmetic(limit)),
            None => finding.note(arithmetic(limit)),
        };
    }
    finding = hottest(finding, spills, frame.span.as_ref());
    for group in spills.groups.iter().filter(|group| group.bytes > 0).take(SHOWN_GROUPS) {
        finding = finding.label(group.span.as_ref(), share(group));
        if let Some(variable) = group.variable.as_ref().filter(|_| group.refill_span != group.span) {
            finding = finding.label(group.refill_span.as_ref(), format!("`{}` is loaded back here", variable.name));
        }
    }
    let rest: u64 = spills.groups.iter().skip(SHOWN_GROUPS).map(|group| group.bytes).sum();
    if rest > 0 {
        let others = spills.groups.iter().skip(SHOWN_GROUPS).filter(|group| group.bytes > 0).count();
        finding =
            finding.note(format!("the other {} hold values of {}", bytes(rest), plural(others as u64, "more place")));
    }
    finding = finding.label(spills.peak.as_ref(), "most values are alive around here");
    if let Some(usage) = &frame.unlimited {
        finding = finding.note(without_limit(usage));
    }
    if !cx.has_spill_marks {
        finding = finding
            .note("this toolkit does not mark spills (12.8 and later do): they were told from arrays by their PTX");
    }
    if let Some((threads, allowed)) = unused(cx) {
        let used = frame.usage.registers;
        return Some(finding.note(unused_note(used, allowed)).help(format!(
            "name the number of blocks too: `__launch_bounds__({threads}, 1)` makes `ptxas` use up to {allowed} registers"
        )));
    }
    let advice = launched(cx, &mut finding).unwrap_or_else(|| advice(frame.limit.as_ref()));
    Some(finding.help(advice))
}

/// The threads of launch bounds under which ptxas leaves registers unused though it spills, and how many there are.
///
/// Seen with ptxas 13.5 on all architectures: where bounds without a number of blocks cannot hold a kernel that needs far
/// more, it is compiled for as many threads as a multiprocessor takes, with 32 or 40 registers. With `(256, 1)` in place
/// of `(256)` one frame went from 1712 bytes to 296.
fn unused(cx: &LintContext<'_>) -> Option<(u32, u32)> {
    let function = cx.unit.function(&cx.frame.mangled)?;
    let threads = function.max_threads.filter(|_| function.min_blocks.is_none() && function.max_registers.is_none())?;
    let allowed = registers_for(threads, 1);
    let wanted = cx.frame.unlimited.as_ref()?.registers;
    (cx.frame.usage.registers + REGISTER_UNIT <= allowed.min(wanted)).then_some((threads, allowed))
}

fn unused_note(used: u32, allowed: u32) -> String {
    format!(
        "of {allowed} registers only {used} are used: bounds without a number of blocks let `ptxas` aim for as many as fit"
    )
}

/// What bounds that fit the launches would allow; the launch is labelled.
fn launched(cx: &LintContext<'_>, finding: &mut Finding) -> Option<String> {
    let limit = cx.frame.limit.as_ref()?;
    let launch = cx.unit.launch(cx.frame)?;
    let threads = launch.threads;
    let (bound, min_blocks) = match &limit.origin {
        LimitOrigin::LaunchBounds { threads, min_blocks } => (Some(*threads), *min_blocks),
        LimitOrigin::Flag(_) => (None, 1),
        _ => return None,
    };
    let allowed = registers_for(threads, min_blocks);
    let place = line_of(&launch.span, cx.frame.span.as_ref());
    let advice = match (allowed > limit.registers, bound) {
        (true, _) => {
            let blocks = if min_blocks > 1 || !fits(cx, allowed) { format!(", {min_blocks}") } else { String::new() };
            let overrides = if bound.is_none() { " in place of the flag" } else { "" };
            format!(
                "launched with {threads} threads at {place}: `__launch_bounds__({threads}{blocks})` allows {allowed} \
                 registers{overrides}"
            )
        }
        (false, Some(bound)) if min_blocks == 1 && bound == threads => {
            format!(
                "launched with {threads} threads at {place}: smaller blocks, or a smaller tile, leave more registers"
            )
        }
        _ => return None,
    };
    let text = format!("launched with {threads} threads in a block");
    *finding = std::mem::take(finding).label(Some(&launch.span), text);
    Some(advice)
}

/// Whether the kernel without its limit keeps to so many registers: else the number of blocks must be named too.
fn fits(cx: &LintContext<'_>, allowed: u32) -> bool {
    let fits = |usage: &ResourceUsage| usage.registers <= allowed && usage.spill_stores + usage.spill_loads == 0;
    cx.frame.unlimited.as_ref().is_some_and(fits)
}

fn expression(span: &Span) -> String {
    span.text().split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches(';').to_string()
}

/// The variable that holds most of what is spilled, else the statement that computes it.
fn holder(group: &SpillGroup) -> Option<String> {
    let variable = group.variable.as_ref().map(|variable| variable.name.clone());
    variable.or_else(|| group.span.as_ref().map(expression))
}

/// The end of "32 registers allowed": what the kernel takes where nothing limits it.
fn demand(frame: &KernelFrame) -> String {
    match &frame.unlimited {
        Some(usage) if usage.spill_stores > 0 || usage.spill_loads > 0 => {
            format!(", it needs more than {}", usage.registers)
        }
        Some(usage) => format!(", it needs {}", usage.registers),
        None => String::new(),
    }
}

fn without_limit(usage: &ResourceUsage) -> String {
    let registers = plural(usage.registers.into(), "register");
    match usage.spill_stores + usage.spill_loads {
        0 => format!("compiled without the limit it takes {registers} and does not spill"),
        _ => format!(
            "compiled without the limit it takes {registers} and still spills: {} stored, {} loaded",
            bytes(usage.spill_stores),
            bytes(usage.spill_loads)
        ),
    }
}

fn share(group: &SpillGroup) -> String {
    let values = plural(group.values, "spilled value");
    let what = match &group.variable {
        Some(variable) => format!("{values} of `{}` (`{}`), {}", variable.name, variable.type_text, bytes(group.bytes)),
        None => format!("{values} computed here, {}", bytes(group.bytes)),
    };
    let loads = plural(group.refills, "refill");
    match (group.refills, group.refill_depth) {
        (0, _) => what,
        (_, 0) => format!("{what}; {loads}"),
        (_, 1) => format!("{what}; {loads}, inside a loop"),
        (_, depth) => format!("{what}; {loads}, up to {depth} loops deep"),
    }
}

fn hottest(finding: Finding, spills: &Spills, near: Option<&Span>) -> Finding {
    let place = spills.loop_span.as_ref().map(|span| format!("inside the loop at {}", line_of(span, near)));
    match (spills.loop_depth, place) {
        (0, _) => finding.note("no spill or refill lies in a loop"),
        (1, Some(place)) => finding.note(format!("spills and refills lie {place}")),
        (depth, Some(place)) => finding.note(format!("spills and refills lie up to {depth} loops deep, {place}")),
        (depth, None) => finding.note(format!("spills and refills lie up to {} deep", plural(depth.into(), "loop"))),
    }
}

fn limit_span<'a>(frame: &'a KernelFrame, limit: &Limit) -> Option<&'a Span> {
    match limit.origin {
        LimitOrigin::LaunchBounds { .. } => frame.launch_bounds.span.as_ref(),
        LimitOrigin::MaxRegisters => frame.launch_bounds.max_registers_span.as_ref(),
        LimitOrigin::Flag(_) | LimitOrigin::Architecture => None,
    }
}

/// Where the limit comes from, with the arithmetic.
fn arithmetic(limit: &Limit) -> String {
    let registers = limit.registers;
    match &limit.origin {
        LimitOrigin::LaunchBounds { threads, min_blocks } => {
            let blocks = if *min_blocks == 1 { String::new() } else { format!(" × {min_blocks} blocks") };
            format!("launch bounds: 65536 registers / ({threads} threads{blocks}) = {registers} for a thread")
        }
        LimitOrigin::MaxRegisters => format!("`__maxnreg__` allows {registers} registers for a thread"),
        LimitOrigin::Flag(flag) => format!("`{flag}` allows {registers} registers for a thread"),
        LimitOrigin::Architecture => format!("{registers} registers are all that an instruction can name"),
    }
}

fn advice(limit: Option<&Limit>) -> String {
    match limit.map(|limit| &limit.origin) {
        Some(LimitOrigin::LaunchBounds { threads, min_blocks }) if *min_blocks > 1 => {
            let fewer = min_blocks - 1;
            format!(
                "ask for one block fewer: `__launch_bounds__({threads}, {fewer})` allows {} registers",
                registers_for(*threads, fewer)
            )
        }
        Some(LimitOrigin::LaunchBounds { .. }) => {
            "state the block size that is really launched, if it is smaller".to_string()
        }
        Some(LimitOrigin::MaxRegisters) => "raise the number in `__maxnreg__`".to_string(),
        Some(LimitOrigin::Flag(flag)) => {
            format!("raise the number in `{flag}`, or bound the kernels that need it with `__launch_bounds__`")
        }
        Some(LimitOrigin::Architecture) | None => {
            "hold fewer values at a time: a smaller tile, fewer accumulators".to_string()
        }
    }
}
