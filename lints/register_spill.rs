//! Values do not fit into the registers that a thread may use, and are parked in local memory.
//!
//! ## Why it costs
//! Each spilled value is stored once or more and loaded before each use. In a hot loop the first launch bound
//! that spills cost 5 times on an H200; outside loops, or for a few bytes, a spill is often harmless.
//!
//! ## What to do
//! - Launch bounds: ask for fewer blocks, or for the block size that is really launched. `(256, 4)` allows 64
//!   registers for a thread, `(256, 5)` only 48.
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
    Some(finding.help(advice(frame.limit.as_ref())))
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
