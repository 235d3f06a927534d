//! A kernel needs more registers than a thread may use, so values are spilled to local memory.
//!
//! ## Why it costs
//! Each spilled value is stored at least once, and reloaded before each use. On an H200, the first launch bound that
//! made a hot loop spill cost a factor of 5. Outside loops, or for a few bytes, a spill is often harmless.
//!
//! What the kernel "needs" is what `ptxas` takes without the limit. What is live "in all" is counted at the peak of the machine
//! code that has the limit, in registers and in spill slots: `ptxas` orders instructions otherwise then, so that the two are
//! near, but seldom equal.
//!
//! ## What to do
//! - Launch bounds: ask for fewer blocks per SM, or for the block size that is really launched. `(256, 4)` allows 64
//!   registers per thread, `(256, 5)` only 48.
//! - Launch bounds without a minimum number of blocks, if the machine code uses fewer registers than they allow:
//!   `(256, 1)`.
//! - `-maxrregcount`, `__maxnreg__`: raise it, or leave it out.
//! - At the architecture's limit of 255: a smaller tile, fewer accumulators, values recomputed.
//! - CUDA 13 can spill to shared memory: `asm volatile (".pragma \"enable_smem_spilling\";");` as the first statement.
//!
//! ## Example
//! Before:
//! ```cpp
//! __global__ void __launch_bounds__(256, 5) five_blocks(const float *in, float *out, int rounds) {
//! ```
//! After:
//! ```cpp
//! __global__ void __launch_bounds__(256, 4) five_blocks(const float *in, float *out, int rounds) {
//! ```
//!
//! ## Fix safety
//! A higher limit lowers occupancy, and launches with larger blocks than the bound fail: the programmer must judge. A
//! flag that limits a whole file stays unchanged; a kernel that needs more registers gets `__maxnreg__`, which
//! overrides the flag (CUDA 12.4 and later). Spilling to shared memory gives the same results; see
//! `shared_spill_available`.
//!
//! ## When it is wrong
//! A few spills outside loops are harmless, and are notes. More resident warps can be worth some spills: measure both.
//! Values are named by the source line that computes them; after optimization several lines may share a value.
//!
//! ## Related lints
//! `missing_launch_bounds`, `shared_spill_available`, `large_array`

use lmem_base::diagnostic::{Label, ResourceUsage, Suggestion};
use lmem_base::gpu::{Gpu, MAX_REGISTERS, WARP};
use lmem_base::level::Level;
use lmem_base::source::Span;
use lmem_base::words::{bytes, plural};
use lmem_frame::{Holder, KernelFrame, Limit, LimitOrigin, Peak, SpillGroup, Spills, StackObject, StackObjectKind};
use lmem_unit::UnitCode;

use crate::framework::{Check, Finding, Lint, LintContext, line_of};
use crate::rewrite::launch_bounds;
use crate::rewrite::shared::{must_be_resident, spilling};

pub(crate) static LINT: Lint = Lint {
    name: "register_spill",
    level: Level::Warn,
    source: include_str!("register_spill.rs"),
    check: Check::Object(check),
};

/// Advice where no loop has spills.
const OUTSIDE_LOOPS: &str =
    "each value is stored and reloaded once per thread, and more registers would cost occupancy: leave it, or measure";
/// Number of holders of registers to show, the largest first.
const SHOWN_HOLDERS: usize = 4;
/// Fewer registers than these are not told.
const MINOR_HOLDER: u64 = 4;
/// Numbers of blocks to try between one less and as few as all registers need.
const MOST_BETWEEN: usize = 2;
/// Allocation units of registers to try beyond those that a kernel takes without a limit.
const MORE_STEPS: u32 = 2;
/// Number of groups to show, the largest first.
const SHOWN_GROUPS: usize = 2;

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let StackObjectKind::Spills(spills) = &object.kind else { return None };
    let frame = cx.frame;
    let kind = if frame.is_entry { "kernel" } else { "function" };
    let shared = frame.shared_spills;
    let mut finding = Finding::new(match &frame.limit {
        Some(limit) => format!("{kind} `{}` spills: {}", frame.name, pressure(cx.arch.gpu(), limit, frame)),
        None => format!("{kind} `{}` spills registers", frame.name),
    });
    finding.quotes_figures = true;
    finding.loads = spills.loads;
    finding.stores = spills.stores;
    finding.loop_depth = spills.loop_depth;
    finding.variable = spills.groups.first().and_then(|group| Some(group.variable.as_ref()?.name.clone()));
    finding.variable_type = spills.groups.first().and_then(|group| Some(group.variable.as_ref()?.type_text.clone()));
    let label =
        format!("{} of stack per thread for spills ({})", bytes(object.bytes), hottest(spills, frame.span.as_ref()));
    finding = finding.primary(frame.span.as_ref(), label);
    if let Some(limit) = &frame.limit {
        finding = match limit_span(cx, limit) {
            Some(span) => finding.label(Some(span), arithmetic(cx.arch.gpu(), limit)),
            // The headline says it already.
            None => finding,
        };
    }
    // Among groups on the same line, only the largest is shown.
    let mut shown: Vec<&SpillGroup> = Vec::new();
    for group in spills.groups.iter().filter(|group| group.bytes > 0) {
        let line = |group: &SpillGroup| group.span.as_ref().map(|span| (span.file.path.clone(), span.start_line()));
        if shown.len() < SHOWN_GROUPS && !shown.iter().any(|known| line(known) == line(group)) {
            finding = finding.label(group.span.as_ref(), share(group, shown.is_empty()));
            shown.push(group);
        }
    }
    let others =
        spills.groups.iter().filter(|group| group.bytes > 0 && !shown.iter().any(|it| std::ptr::eq(*it, *group)));
    let (rest, others) = others.fold((0, 0), |(bytes, count), group| (bytes + group.bytes, count + 1));
    if rest > 0 {
        finding = finding.note(format!("{} more for values of {}", bytes(rest), plural(others, "other place")));
    }
    finding = peak_label(finding, spills.peak.as_ref().and_then(|peak| peak.span.as_ref()));
    if let Some(held) = spills.peak.as_ref().and_then(|peak| held(peak, frame)) {
        finding = finding.note(held);
    }
    if let Some(usage) = frame.unlimited.as_ref().filter(|usage| usage.spilled() > 0) {
        finding = finding.note(without_limit(usage));
    }
    if shared != (0, 0) {
        finding = finding.note(format!(
            "{} of spill stores and {} of spill loads are in functions that share the frame, as the compiler's own for \
             the slow path of a division",
            bytes(shared.0),
            bytes(shared.1)
        ));
    }
    if !cx.has_spill_marks {
        finding =
            finding.note("spills told from arrays by their PTX: this toolkit does not mark them (12.8 and later do)");
    }
    if must_be_resident(cx) && frame.is_entry && is_limited_by_bounds(cx) {
        return Some(finding.help(RESIDENT));
    }
    if let Some((threads, allowed)) = unused(cx) {
        let is_told = frame.limit.as_ref().is_some_and(|limit| {
            matches!(limit.origin, LimitOrigin::Architecture) && leaves_unused(cx.arch.gpu(), limit, frame)
        });
        let used = (!is_told).then_some(frame.usage.registers);
        let finding = finding.note(unused_note(used, allowed)).help(format!(
            "state the minimum blocks per SM: `__launch_bounds__({threads}, 1)` allows {allowed} registers"
        ));
        return Some(finding.suggest(launch_bounds::name_blocks(cx)).suggest(spilling::suggestion(cx, None)));
    }
    if let Some(threads) = takes_less_without_blocks(cx) {
        let advice = format!(
            "leave out the minimum blocks per SM: with `__launch_bounds__({threads})`, `ptxas` aims for fewer registers, and \
             may spill none"
        );
        return Some(finding.help(advice).suggest(launch_bounds::drop_blocks(cx)));
    }
    // More registers take occupancy from the whole kernel, and so may shared memory.
    if spills.are_minor() && frame.is_entry {
        return Some(finding.help(OUTSIDE_LOOPS));
    }
    let advice = launched(cx, &mut finding).unwrap_or_else(|| advice(cx.arch.gpu(), frame.limit.as_ref(), need(frame)));
    let finding = finding.suggest(fit_launches(cx));
    let finding = raise_limit(cx).into_iter().fold(finding, |finding, more| finding.suggest(Some(more)));
    // Shared memory makes spills cheaper, but advice that avoids them must still be shown.
    let is_only = finding.suggestions.is_empty();
    let in_shared_memory = spilling::suggestion(cx, is_only.then_some(&advice));
    Some(finding.suggest(in_shared_memory).help(advice))
}

/// Where fewer resident blocks would end the launch, or let blocks wait for ever.
const RESIDENT: &str = "keep fewer values live: blocks of the kernel may wait for each other, so that more registers per \
                        thread, with fewer resident blocks, need a smaller grid";

/// Whether launch bounds, an attribute or a flag set the register limit.
fn is_limited_by_bounds(cx: &LintContext<'_>) -> bool {
    let limit = cx.frame.limit.as_ref();
    limit.is_some_and(|limit| !matches!(limit.origin, LimitOrigin::Architecture))
}

/// The threads of launch bounds with a minimum of blocks under which ptxas spills, though the kernel takes no more registers without the
/// bounds, and spills none. Observed with ptxas 13.5: `(512, 1)` gave 128 registers and 60 bytes of spills, `(512)` 96 and none.
fn takes_less_without_blocks(cx: &LintContext<'_>) -> Option<u32> {
    let limit = cx.frame.limit.as_ref()?;
    let LimitOrigin::LaunchBounds { threads, .. } = limit.origin else { return None };
    cx.unit.function(&cx.frame.mangled).filter(|function| function.min_blocks.is_some())?;
    let usage = cx.frame.unlimited.as_ref()?;
    (usage.spilled() == 0 && usage.registers <= limit.registers).then_some(threads)
}

/// Puts the launched block size into the bounds, if that allows more registers.
fn fit_launches(cx: &LintContext<'_>) -> Option<Suggestion> {
    let limit = cx.frame.limit.as_ref()?;
    let LimitOrigin::LaunchBounds { min_blocks, .. } = limit.origin else { return None };
    let launch = cx.unit.launch(cx.frame)?;
    let allowed = cx.arch.gpu().registers_for(launch.threads, min_blocks);
    let names_blocks = min_blocks == 1 && !fits(cx, allowed);
    (allowed > limit.registers).then(|| launch_bounds::as_launched(cx, launch, names_blocks))?
}

/// Edits that raise the register limit, the sufficient one first.
fn raise_limit(cx: &LintContext<'_>) -> Vec<Suggestion> {
    let frame = cx.frame;
    // Fewer blocks would be resident than wait for each other.
    if must_be_resident(cx) {
        return Vec::new();
    }
    let needed = frame.unlimited.filter(|usage| usage.spill_stores == 0).map(|usage| usage.registers);
    let suggestions: Vec<Option<Suggestion>> = match frame.limit.as_ref().map(|limit| &limit.origin) {
        Some(LimitOrigin::LaunchBounds { threads, min_blocks }) => {
            let registers = |blocks: u32| cx.arch.gpu().registers_for(*threads, blocks);
            let first = |is_enough: &dyn Fn(u32) -> bool| (1..*min_blocks).rev().find(|blocks| is_enough(*blocks));
            let close = needed.and_then(|needed| first(&|blocks| is_close(registers(blocks), needed)));
            let certain = needed.and_then(|needed| first(&|blocks| registers(blocks) >= needed));
            let fewer = min_blocks.checked_sub(1).filter(|fewer| *fewer > 0);
            // Between them, some may spill less without half of the warps.
            let between = certain.or(close).unwrap_or(0) + 1..fewer.unwrap_or(0);
            let between: Vec<Option<u32>> = between.take(MOST_BETWEEN).map(Some).collect();
            let mut choices: Vec<u32> = Vec::new();
            for blocks in [close, certain].into_iter().chain(between).chain([fewer]).flatten() {
                if !choices.contains(&blocks) {
                    choices.push(blocks);
                }
            }
            choices.into_iter().map(|blocks| launch_bounds::ask_fewer_blocks(cx, *min_blocks, blocks)).collect()
        }
        Some(LimitOrigin::MaxRegisters) => {
            let limit = frame.limit.as_ref().map_or(0, |limit| limit.registers);
            until_nothing_spills(cx.arch.gpu(), needed, |registers| {
                launch_bounds::allow_registers(cx, limit, registers)
            })
        }
        Some(LimitOrigin::Flag(flag)) => until_nothing_spills(cx.arch.gpu(), needed, |registers| {
            launch_bounds::name_registers(cx, flag, Some(registers))
        }),
        _ => Vec::new(),
    };
    suggestions.into_iter().flatten().collect()
}

/// Suggestions with the needed registers and a few more, each only if no spill is left with it; then the needed ones
/// again. Observed with ptxas 13.5: a kernel that takes 80 registers without a limit spilled 8 bytes with a limit of 80.
fn until_nothing_spills(
    gpu: &Gpu,
    needed: Option<u32>,
    offer: impl Fn(u32) -> Option<Suggestion>,
) -> Vec<Option<Suggestion>> {
    let Some(first) = allowed(gpu, needed) else { return Vec::new() };
    let steps = (0..=MORE_STEPS).map(|step| first + step * gpu.register_step());
    let steps = steps.filter(|registers| *registers <= MAX_REGISTERS);
    let enough = steps.map(|registers| Some(offer(registers)?.ending_spills(true)));
    enough.chain([offer(first)]).collect()
}

/// The needed registers, rounded up to the allocation unit.
fn allowed(gpu: &Gpu, needed: Option<u32>) -> Option<u32> {
    Some(needed?.next_multiple_of(gpu.register_step()).min(MAX_REGISTERS))
}

/// Whether ptxas is likely to do without spills: with a limit it orders instructions so that fewer values are live. A
/// kernel that takes 84 registers without a limit did not spill with 80.
fn is_close(registers: u32, needed: u32) -> bool {
    registers.saturating_add(registers / 8) >= needed
}

/// The threads of launch bounds under which ptxas spills although it leaves registers unused, and the registers that
/// they allow.
///
/// Observed with ptxas 13.5 on all architectures. Bounds without a minimum number of blocks may be far too tight for a
/// kernel. Then ptxas compiles it for as many threads as an SM can hold, with 32 or 40 registers. With `(256, 1)`
/// instead of `(256)`, one frame went from 1712 bytes to 296.
fn unused(cx: &LintContext<'_>) -> Option<(u32, u32)> {
    let function = cx.unit.function(&cx.frame.mangled)?;
    let is_only = function.min_blocks.is_none() && function.max_registers.is_none();
    let threads = function.max_thread_count().filter(|_| is_only)?;
    let allowed = cx.arch.gpu().registers_for(threads, 1);
    let wanted = cx.frame.unlimited.as_ref()?.registers;
    (cx.frame.usage.registers.saturating_add(cx.arch.gpu().register_step()) <= allowed.min(wanted))
        .then_some((threads, allowed))
}

/// `used` is `None` if the headline has the registers.
fn unused_note(used: Option<u32>, allowed: u32) -> String {
    let reason = "without a minimum number of blocks `ptxas` aims for occupancy";
    used.map_or_else(|| reason.to_string(), |used| format!("uses {used} of {allowed} registers: {reason}"))
}

/// Advice on launch bounds that match the launches; labels the launch.
fn launched(cx: &LintContext<'_>, finding: &mut Finding) -> Option<String> {
    let limit = cx.frame.limit.as_ref()?;
    let launch = cx.unit.launch(cx.frame)?;
    let threads = launch.threads;
    let (bound, min_blocks) = match &limit.origin {
        LimitOrigin::LaunchBounds { threads, min_blocks } => (Some(*threads), *min_blocks),
        LimitOrigin::Flag(_) => (None, 1),
        _ => return None,
    };
    let allowed = cx.arch.gpu().registers_for(threads, min_blocks);
    let place = line_of(&launch.span, cx.frame.span.as_ref());
    let advice = match (allowed > limit.registers, bound) {
        (true, _) => {
            let blocks = if min_blocks > 1 || !fits(cx, allowed) { format!(", {min_blocks}") } else { String::new() };
            let overrides = if bound.is_none() { " (overrides the flag)" } else { "" };
            format!(
                "`__launch_bounds__({threads}{blocks})`, as launched at {place}, allows {allowed} registers{}{overrides}",
                shortfall(allowed, need(cx.frame))
            )
        }
        (false, Some(bound)) if min_blocks == 1 && bound == threads => {
            format!("launch smaller blocks than {threads} threads ({place}), or use a smaller tile")
        }
        _ => return None,
    };
    let text = format!("launched with {threads} threads per block");
    *finding = std::mem::take(finding).label(Some(&launch.span), text);
    Some(advice)
}

/// Whether the kernel without its limit fits into that many registers. If not, the number of blocks must be stated too.
fn fits(cx: &LintContext<'_>, allowed: u32) -> bool {
    let fits = |usage: &ResourceUsage| usage.registers <= allowed && usage.spilled() == 0;
    cx.frame.unlimited.as_ref().is_some_and(fits)
}

/// The limit, and the number of registers needed.
fn pressure(gpu: &Gpu, limit: &Limit, frame: &KernelFrame) -> String {
    let registers = plural(limit.registers.into(), "register");
    let needed = match &frame.unlimited {
        Some(usage) if usage.spilled() > 0 => format!(", more than {} needed", usage.registers),
        // With as many registers as it takes without a limit: the limit has another effect than their number.
        Some(usage) if usage.registers <= limit.registers => {
            format!("; without the limit it takes {} and spills none", usage.registers)
        }
        Some(usage) => format!(", {} needed", usage.registers),
        None => String::new(),
    };
    match &limit.origin {
        LimitOrigin::LaunchBounds { .. } => format!("launch bounds allow {registers}{needed}"),
        LimitOrigin::MaxRegisters => format!("`__maxnreg__` allows {registers}{needed}"),
        LimitOrigin::Flag(flag) => format!("`{flag}` allows {registers}{needed}"),
        // Observed with ptxas 13.5: it saves registers around calls of slow paths, or aims for occupancy.
        LimitOrigin::Architecture if leaves_unused(gpu, limit, frame) => {
            format!("`ptxas` uses {} of the {registers} that a thread can have", frame.usage.registers)
        }
        LimitOrigin::Architecture => format!("it needs more than the {registers} that a thread can have"),
    }
}

/// Whether a kernel spills although registers are left below its limit, and would do without spills. The log has the
/// registers of kernels alone.
fn leaves_unused(gpu: &Gpu, limit: &Limit, frame: &KernelFrame) -> bool {
    frame.is_entry
        && frame.usage.registers.saturating_add(gpu.register_step()) <= limit.registers
        && frame.unlimited.as_ref().is_none_or(|usage| usage.spilled() == 0 || usage.registers < limit.registers)
}

fn without_limit(usage: &ResourceUsage) -> String {
    let (stores, loads) = (bytes(usage.spill_stores), bytes(usage.spill_loads));
    format!("without any limit it still spills ({stores} spill stores, {loads} spill loads)")
}

/// `` `feature`: 12 values spilled to 48 B, 23 reloads in a loop ``. Values that are not live at the same time share slots, and
/// each slot counts for one group.
fn share(group: &SpillGroup, is_first: bool) -> String {
    let values = plural(group.values, "value");
    let slots = format!("{}{}", bytes(group.bytes), if is_first { "" } else { " more" });
    let is_loop = group.span.as_ref().is_some_and(|span| is_loop_header(span.text()));
    let what = match &group.variable {
        Some(variable) => format!("`{}`: {values} spilled to {slots}", variable.name),
        None if is_loop => format!("{values} live across the loop spilled to {slots}"),
        None => format!("{values} spilled to {slots}"),
    };
    let reloads = plural(group.refills, "reload");
    match (group.refills, group.refill_depth) {
        (0, _) => what,
        (_, 0) => format!("{what}, {reloads}"),
        (_, 1) => format!("{what}, {reloads} in a loop"),
        (_, depth) => format!("{what}, {reloads} at loop depth {depth}"),
    }
}

/// Says where register pressure peaks: on a line that has a label, in that.
fn peak_label(mut finding: Finding, peak: Option<&Span>) -> Finding {
    let is_there = |label: &Label| {
        peak.is_some_and(|peak| label.span.file.path == peak.file.path && label.span.start_line() == peak.start_line())
    };
    match finding.labels.iter().position(is_there) {
        Some(index) => {
            finding.labels[index].text.push_str("; register pressure peaks here");
            finding
        }
        None => finding.label(peak, "register pressure peaks here"),
    }
}

/// What is live at the peak, if that is about as much as the limit.
fn held(peak: &Peak, frame: &KernelFrame) -> Option<String> {
    let limit = u64::from(frame.limit.as_ref()?.registers);
    let told = peak.holders.iter().filter(|holder| holder.registers >= MINOR_HOLDER);
    let all = peak.registers + peak.spilled;
    let spilled = match peak.spilled {
        0 => String::new(),
        spilled => format!(", {spilled} of them spilled"),
    };
    let shown: Vec<String> = told.take(SHOWN_HOLDERS).map(holder_text).collect();
    let is_enough = all >= limit * 3 / 4;
    is_enough.then(|| match shown.as_slice() {
        [] => format!("live at the peak: {}{spilled}", plural(all, "register")),
        _ => format!("live at the peak: {}; {all} in all{spilled}", shown.join(", ")),
    })
}

/// `` 40 registers of `acc` (since line 3) ``, `` 6 registers of addresses in `u` ``, `` 40 loads of `m` hoisted out of the loop at line 5 ``
fn holder_text(holder: &Holder) -> String {
    let line = |span: &Span| line_of(span, Some(span));
    let of = if holder.are_addresses { "of addresses in" } else { "of" };
    let name = holder.name.as_ref().map(|name| format!(" {of} `{name}`")).unwrap_or_default();
    match &holder.hoisted_from {
        Some(header) => format!("{}{name} hoisted out of the loop at {}", plural(holder.values, "load"), line(header)),
        None => {
            let since = holder.since.as_ref().map(|span| format!(" (since {})", line(span))).unwrap_or_default();
            format!("{}{name}{since}", plural(holder.registers, "register"))
        }
    }
}

/// Whether a statement's line is only a loop header, which computes little itself.
fn is_loop_header(statement: &str) -> bool {
    let statement = statement.trim();
    let rest = ["for", "while", "do"].iter().find_map(|keyword| statement.strip_prefix(keyword));
    rest.is_some_and(|rest| rest.trim_start().starts_with(['(', '{'])) && statement.ends_with([')', '{'])
}

/// The loop of the deepest spills.
fn hottest(spills: &Spills, near: Option<&Span>) -> String {
    let place = spills.loop_span.as_ref().map(|span| format!("loop at {}", line_of(span, near)));
    match (spills.loop_depth, place) {
        (0, _) => "none in a loop".to_string(),
        (1, Some(place)) => place,
        (depth, Some(place)) => format!("{place}, depth {depth}"),
        (1, None) => "in a loop".to_string(),
        (depth, None) => format!("loop depth {depth}"),
    }
}

fn limit_span<'a>(cx: &LintContext<'a>, limit: &Limit) -> Option<&'a Span> {
    let bounds = &cx.frame.launch_bounds;
    match (&limit.origin, &cx.unit.unit.code) {
        (LimitOrigin::LaunchBounds { .. }, _) => bounds.span.as_ref(),
        (LimitOrigin::MaxRegisters, _) => bounds.max_registers_span.as_ref(),
        (LimitOrigin::Flag(_), UnitCode::Ptx { options, .. }) => options.limit.as_ref(),
        (LimitOrigin::Flag(flag), UnitCode::CudaFile { flags, .. }) if flag.starts_with("ModuleJitOption") => {
            flags.driver.limit.as_ref()
        }
        (LimitOrigin::Flag(_) | LimitOrigin::Architecture, _) => None,
    }
}

/// The origin of the limit, with the arithmetic.
fn arithmetic(gpu: &Gpu, limit: &Limit) -> String {
    let registers = limit.registers;
    match &limit.origin {
        LimitOrigin::LaunchBounds { threads, min_blocks } => {
            let blocks = if *min_blocks == 1 { String::new() } else { format!(" × {min_blocks} blocks") };
            let warps = threads.div_ceil(WARP).saturating_mul(*min_blocks);
            // The sub-partition with the most warps has the fewest registers per warp.
            let fullest = warps.div_ceil(gpu.sub_partitions);
            match warps.is_multiple_of(gpu.sub_partitions) {
                true => format!("{} / ({threads} threads{blocks}) = {registers} registers", gpu.registers),
                false => {
                    let own = gpu.registers / gpu.sub_partitions;
                    format!("{own} per sub-partition / ({fullest} warps × {WARP}) = {registers} registers")
                }
            }
        }
        LimitOrigin::MaxRegisters | LimitOrigin::Flag(_) | LimitOrigin::Architecture => {
            format!("{registers} registers per thread")
        }
    }
}

/// Registers that the kernel uses without a limit.
fn need(frame: &KernelFrame) -> Option<u32> {
    frame.unlimited.as_ref().map(|usage| usage.registers)
}

/// The registers still missing under a bound, as text.
fn shortfall(allowed: u32, need: Option<u32>) -> String {
    need.filter(|need| *need > allowed).map(|need| format!(" of {need} needed")).unwrap_or_default()
}

fn advice(gpu: &Gpu, limit: Option<&Limit>, need: Option<u32>) -> String {
    let up_to = need.map(|need| format!(" to {need}")).unwrap_or_default();
    match limit.map(|limit| &limit.origin) {
        Some(LimitOrigin::LaunchBounds { threads, min_blocks }) if *min_blocks > 1 => {
            fewer_blocks(gpu, *threads, *min_blocks, need)
        }
        Some(LimitOrigin::LaunchBounds { threads, .. }) => {
            match need.and_then(|need| smaller_block(gpu, *threads, need)) {
                Some((fewer, allowed)) => format!(
                    "state the launched block size, if smaller: `__launch_bounds__({fewer}, 1)` allows {allowed} registers"
                ),
                None => "state the launched block size, if it is smaller".to_string(),
            }
        }
        Some(LimitOrigin::MaxRegisters) => format!("raise `__maxnreg__`{up_to}"),
        Some(LimitOrigin::Flag(flag)) => {
            format!("raise `{flag}`{up_to}, or give the kernels that need it `__launch_bounds__` of their own")
        }
        Some(LimitOrigin::Architecture) | None => {
            "keep fewer values live: a smaller tile, fewer accumulators".to_string()
        }
    }
}

/// The largest number of blocks that leaves enough registers; otherwise the largest block size that does.
fn fewer_blocks(gpu: &Gpu, threads: u32, min_blocks: u32, need: Option<u32>) -> String {
    let fewer = min_blocks - 1;
    let is_enough = |blocks: &u32| need.is_none_or(|need| is_close(gpu.registers_for(threads, *blocks), need));
    let enough = (1..=fewer).rev().find(is_enough);
    if let Some(blocks) = enough {
        let allowed = gpu.registers_for(threads, blocks);
        let what = format!("lower the minimum blocks per SM from {min_blocks} to {blocks}");
        let of = shortfall(allowed, need);
        return format!("{what}: `__launch_bounds__({threads}, {blocks})` allows {allowed} registers{of}");
    }
    let allowed = gpu.registers_for(threads, 1);
    let at_most = format!("`__launch_bounds__({threads}, 1)` allows {allowed} registers{}", shortfall(allowed, need));
    match need.and_then(|need| smaller_block(gpu, threads, need)) {
        Some((smaller, allowed)) => {
            format!("launch smaller blocks: `__launch_bounds__({smaller}, 1)` allows {allowed} registers; {at_most}")
        }
        None => format!("lower the minimum blocks per SM: {at_most}"),
    }
}

/// Halves the block size until each thread can have the needed registers; returns the size and the registers allowed.
fn smaller_block(gpu: &Gpu, threads: u32, need: u32) -> Option<(u32, u32)> {
    let smaller = std::iter::successors(Some(threads / 2), |threads| Some(threads / 2));
    let smaller =
        smaller.take_while(|threads| *threads >= WARP).map(|threads| (threads, gpu.registers_for(threads, 1)));
    smaller.into_iter().find(|(_, allowed)| *allowed >= need)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::diagnostic::Applicability;
    use lmem_base::gpu::arch::Arch;

    fn gpu() -> &'static Gpu {
        Arch::new(90).gpu()
    }

    #[test]
    fn the_arithmetic_is_that_of_sub_partitions() {
        let text = |threads, min_blocks| {
            let registers = gpu().registers_for(threads, min_blocks);
            arithmetic(gpu(), &Limit { registers, origin: LimitOrigin::LaunchBounds { threads, min_blocks } })
        };
        assert_eq!(text(256, 4), "65536 / (256 threads × 4 blocks) = 64 registers");
        assert_eq!(text(288, 1), "16384 per sub-partition / (3 warps × 32) = 168 registers");
    }

    #[test]
    fn the_bound_that_is_proposed_is_large_enough() {
        let first = |help: String| help.split(':').nth(1).unwrap_or_default().trim().to_string();
        assert_eq!(first(fewer_blocks(gpu(), 256, 5, Some(64))), "`__launch_bounds__(256, 4)` allows 64 registers");
        assert_eq!(first(fewer_blocks(gpu(), 256, 5, Some(100))), "`__launch_bounds__(256, 2)` allows 128 registers");
        assert_eq!(first(fewer_blocks(gpu(), 256, 5, None)), "`__launch_bounds__(256, 4)` allows 64 registers");
        assert_eq!(
            fewer_blocks(gpu(), 1024, 2, Some(96)),
            "launch smaller blocks: `__launch_bounds__(512, 1)` allows 128 registers; `__launch_bounds__(1024, 1)` \
             allows 64 registers of 96 needed"
        );
    }

    #[test]
    fn the_registers_of_a_kernel_without_a_limit_may_not_suffice() {
        let tried = |needed: Option<u32>| {
            let suggestion =
                |registers: u32| Suggestion::new(registers.to_string(), Applicability::MaybeIncorrect, vec![]);
            let all = until_nothing_spills(gpu(), needed, |registers| Some(suggestion(registers)));
            all.into_iter().flatten().map(|it| (it.title, it.must_end_spills)).collect::<Vec<_>>()
        };
        let of = |all: &[(&str, bool)]| all.iter().map(|(title, is)| (title.to_string(), *is)).collect::<Vec<_>>();
        assert_eq!(tried(Some(78)), of(&[("80", true), ("88", true), ("96", true), ("80", false)]));
        assert_eq!(tried(Some(250)), of(&[("255", true), ("255", false)]));
        assert_eq!(tried(None), []);
    }

    #[test]
    fn a_loop_does_not_compute_what_it_keeps() {
        assert!(is_loop_header("for (int k = 0; k < depth; ++k) {") && is_loop_header("while (k < n)"));
        assert!(!is_loop_header("for (int k = 0; k < 8; ++k) value[k] = in[k];"));
        assert!(!is_loop_header("format = 3;") && !is_loop_header("x += forward(y);"));
    }
}
