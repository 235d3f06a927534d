//! A kernel takes more than its budget allows.
//!
//! ## Why it costs
//! Somebody measured what the kernel may take, and wrote it down: bytes of the stack frame, spills, registers, shared memory, resident
//! warps. A change, another toolkit or a new architecture broke that, and the time that it cost was not seen.
//!
//! ## What to do
//! The notes have the arithmetic for each architecture. The other findings of the kernel name what is in its stack frame and what
//! spills. Where the new figure is meant, change the budget: the comment above the kernel, or the
//! `[[package.metadata.lmem.budget]]` that the note names. A comment comes before settings, a later setting before an earlier one,
//! for each quantity alone. `-A budget_exceeded` switches budgets off for a run.
//!
//! `stack`, `spills` (stores and loads, each), `registers` and `shared` (with what launches add, where that is known) are the most that
//! is allowed, `occupancy` the least, in percent of the warps that an SM holds. Occupancy counts with the largest block of the kernel's
//! launches, else with its launch bounds, else with its registers alone.
//!
//! ## Example
//! Before:
//! ```cpp
//! // lmem: budget(stack = 0, registers <= 64)
//! __global__ void within(const float *in, float *out) { out[threadIdx.x] = in[threadIdx.x]; }
//! ```
//! After:
//! ```cpp
//! // lmem: budget(stack = 0)
//! ```
//!
//! ## Fix safety
//! Advice only: which of code and budget is wrong, nobody but its author knows.
//!
//! ## When it is wrong
//! Occupancy is an upper bound where blocks, or shared memory of launches, are only known when the program runs.
//!
//! ## Related lints
//! `register_spill`, `missing_launch_bounds`

use lmem_base::budget::{Limit, Quantity};
use lmem_base::gpu::{Arch, WARP};
use lmem_base::level::Level;
use lmem_base::words::list;

use crate::framework::{BudgetedKernel, BudgetedLimit, Check, Finding, KernelFigures, Lint};

pub(crate) static LINT: Lint = Lint {
    name: "budget_exceeded",
    level: Level::Deny,
    source: include_str!("budget_exceeded.rs"),
    check: Check::Budget(check),
};

fn check(kernel: &BudgetedKernel<'_>) -> Option<Finding> {
    let mut broken: Vec<(&BudgetedLimit, &KernelFigures)> = Vec::new();
    for limit in kernel.budget {
        broken.extend(kernel.figures.iter().filter(|figures| exceeds(limit.limit, figures)).map(|it| (limit, it)));
    }
    let (first, _) = broken.first()?;
    let mut architectures: Vec<&str> = broken.iter().map(|(_, figures)| figures.architecture.as_str()).collect();
    architectures.sort_by_key(|name| Arch::of(name));
    architectures.dedup();
    let architectures: Vec<String> = architectures.into_iter().map(str::to_string).collect();
    let mut quantities: Vec<&str> = broken.iter().map(|(limit, _)| limit.limit.quantity.words()).collect();
    quantities.dedup();
    let quantities: Vec<String> = quantities.into_iter().map(str::to_string).collect();
    let (name, what, place) = (kernel.name, list(&quantities), list(&architectures));
    let mut finding = Finding::new(format!("kernel `{name}` exceeds its budget on {place}: {what}"))
        .primary(kernel.span, budget_text(&broken));
    for (limit, _) in &broken {
        finding = finding.label(limit.comment.as_ref(), "the budget");
    }
    for note in arithmetics(&broken) {
        finding = finding.note(note);
    }
    for (pattern, manifest) in broken.iter().filter_map(|(limit, _)| limit.setting.as_ref()) {
        let note = format!("the budget is that of `kernel = \"{pattern}\"` in `{manifest}`");
        if !finding.notes.contains(&note) {
            finding = finding.note(note);
        }
    }
    Some(finding.help(remedy(first.limit.quantity)))
}

/// `registers <= 64, stack = 0`
fn budget_text(broken: &[(&BudgetedLimit, &KernelFigures)]) -> String {
    let mut limits: Vec<String> = broken.iter().map(|(limit, _)| limit.limit.to_string()).collect();
    limits.dedup();
    format!("allowed: {}", limits.join(", "))
}

/// Whether a kernel takes more than a limit allows.
pub fn exceeds(limit: Limit, figures: &KernelFigures) -> bool {
    let (usage, bound) = (&figures.usage, limit.bound);
    match limit.quantity {
        Quantity::Stack => usage.stack_frame > bound || figures.stack_is_unknown,
        Quantity::Spills => usage.spill_stores > bound || usage.spill_loads > bound,
        Quantity::Registers => u64::from(usage.registers) > bound,
        Quantity::Shared => usage.shared.saturating_add(figures.dynamic_shared.unwrap_or(0)) > bound,
        Quantity::Occupancy => figures.resident.is_some_and(|(_, _, percent)| u64::from(percent) < bound),
    }
}

/// How the figures come about, with the architectures that have them.
fn arithmetics(broken: &[(&BudgetedLimit, &KernelFigures)]) -> Vec<String> {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for (limit, figures) in broken {
        let (text, architecture) = (arithmetic(limit.limit, figures), figures.architecture.as_str());
        match said.iter_mut().find(|(known, _)| *known == text) {
            // A file that is compiled in several ways has it several times.
            Some((_, architectures)) if !architectures.contains(&architecture) => architectures.push(architecture),
            Some(_) => {}
            None => said.push((text, vec![architecture])),
        }
    }
    said.into_iter().map(|(text, architectures)| format!("{}: {text}", architectures.join(", "))).collect()
}

/// How a figure comes about.
fn arithmetic(limit: Limit, figures: &KernelFigures) -> String {
    let (usage, bound) = (&figures.usage, limit.bound);
    match limit.quantity {
        Quantity::Stack if figures.stack_is_unknown => {
            format!("the stack frame has no bound (recursion or `alloca`), {bound} B allowed")
        }
        Quantity::Stack => format!("stack frame {} B, {bound} B allowed", usage.stack_frame),
        Quantity::Spills => format!(
            "spill stores {} B, spill loads {} B, {bound} B allowed for each",
            usage.spill_stores, usage.spill_loads
        ),
        Quantity::Registers => format!("{} registers per thread, {bound} allowed", usage.registers),
        Quantity::Shared => {
            let (declared, added) = (usage.shared, figures.dynamic_shared.unwrap_or(0));
            let sum = match added {
                0 => format!("{declared} B"),
                added => format!("{declared} B declared + {added} B at launch = {} B", declared + added),
            };
            format!("shared memory {sum} per block, {bound} B allowed")
        }
        Quantity::Occupancy => occupancy(limit, figures),
    }
}

/// Registers × threads, and what an SM has of them.
fn occupancy(limit: Limit, figures: &KernelFigures) -> String {
    let gpu = Arch::of(&figures.architecture).gpu();
    let (blocks, warps, percent) = figures.resident.unwrap_or_default();
    let (registers, bound) = (figures.usage.registers, limit.bound);
    let given = gpu.registers_of_warp(registers) / WARP;
    let rounded = if given == registers { String::new() } else { format!(" ({given} as given out)") };
    let resident = format!("{warps} of {} warps = {percent} %, {bound} % asked for", gpu.warps);
    let (Some(threads), Some(blocks)) = (figures.threads, blocks) else {
        let of_warp = gpu.registers_of_warp(registers);
        return format!(
            "{registers} registers{rounded} × {WARP} threads = {of_warp} per warp of {} per SM: {resident}, block size unknown",
            gpu.registers
        );
    };
    let of_block = gpu.registers_of_warp(registers).saturating_mul(threads.div_ceil(WARP));
    let shared = figures.usage.shared.saturating_add(figures.dynamic_shared.unwrap_or(0));
    let shared = match shared {
        0 => String::new(),
        bytes => format!(", {bytes} B of {} B shared memory", gpu.shared),
    };
    format!(
        "{registers} registers{rounded} × {threads} threads = {of_block} of {} per SM{shared}: {blocks} × {} warps, {resident}",
        gpu.registers,
        threads.div_ceil(WARP)
    )
}

fn remedy(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Stack => "remove the local memory that the other findings of this kernel name, or raise the budget",
        Quantity::Spills => "keep fewer values live, give the kernel more registers, or raise the budget",
        Quantity::Registers => "keep fewer values live, lower the limit with `__launch_bounds__`, or raise the budget",
        Quantity::Shared => "use a smaller tile, or raise the budget",
        Quantity::Occupancy => "use fewer registers or less shared memory per block, or lower the budget",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::diagnostic::ResourceUsage;

    fn figures(architecture: &str, usage: ResourceUsage) -> KernelFigures {
        KernelFigures {
            architecture: architecture.to_string(),
            usage,
            stack_is_unknown: false,
            threads: Some(256),
            dynamic_shared: Some(0),
            resident: Some((Some(3), 24, 37)),
        }
    }

    fn limits(limits: &[(Quantity, u64)]) -> Vec<BudgetedLimit> {
        let limits = limits.iter().map(|(quantity, bound)| Limit { quantity: *quantity, bound: *bound });
        limits.map(|limit| BudgetedLimit { limit, comment: None, setting: None }).collect()
    }

    fn found(budget: &[(Quantity, u64)], figures: &[KernelFigures]) -> Option<Finding> {
        check(&BudgetedKernel { name: "k", span: None, budget: &limits(budget), figures })
    }

    #[test]
    fn each_quantity_is_held_against_its_limit() {
        let usage = ResourceUsage { stack_frame: 64, spill_stores: 8, spill_loads: 12, registers: 66, shared: 4096 };
        let kernel = figures("sm_90", usage);
        let all = [
            (Quantity::Stack, 64),
            (Quantity::Spills, 12),
            (Quantity::Registers, 66),
            (Quantity::Shared, 4096),
            (Quantity::Occupancy, 37),
        ];
        assert!(found(&all, std::slice::from_ref(&kernel)).is_none());
        for (budget, note) in [
            ((Quantity::Stack, 0), "sm_90: stack frame 64 B, 0 B allowed"),
            ((Quantity::Spills, 8), "sm_90: spill stores 8 B, spill loads 12 B, 8 B allowed for each"),
            ((Quantity::Registers, 64), "sm_90: 66 registers per thread, 64 allowed"),
            ((Quantity::Shared, 1024), "sm_90: shared memory 4096 B per block, 1024 B allowed"),
            (
                (Quantity::Occupancy, 50),
                "sm_90: 66 registers (72 as given out) × 256 threads = 18432 of 65536 per SM, 4096 B of 233472 B shared memory: \
                 3 × 8 warps, 24 of 64 warps = 37 %, 50 % asked for",
            ),
        ] {
            let finding = found(&[budget], std::slice::from_ref(&kernel)).unwrap();
            assert_eq!(finding.notes, [note]);
        }
        let unknown = KernelFigures { stack_is_unknown: true, ..figures("sm_90", ResourceUsage::default()) };
        assert!(found(&[(Quantity::Stack, 0)], &[unknown]).unwrap().notes[0].contains("no bound"));
        let added = KernelFigures { dynamic_shared: Some(1024), ..kernel };
        assert!(
            found(&[(Quantity::Shared, 4096)], &[added]).unwrap().notes[0]
                .contains("4096 B declared + 1024 B at launch")
        );
    }

    #[test]
    fn the_architectures_that_exceed_are_named() {
        let usage = |registers| ResourceUsage { registers, ..ResourceUsage::default() };
        let kernels = [figures("sm_120", usage(70)), figures("sm_80", usage(64)), figures("sm_90", usage(72))];
        let finding = found(&[(Quantity::Registers, 64)], &kernels).unwrap();
        assert_eq!(finding.message, "kernel `k` exceeds its budget on sm_90 and sm_120: registers");
        assert_eq!(finding.notes.len(), 2);
        let unknown = KernelFigures { threads: None, resident: Some((None, 28, 43)), ..figures("sm_90", usage(72)) };
        let finding = found(&[(Quantity::Occupancy, 50)], &[unknown]).unwrap();
        assert!(
            finding.notes[0].contains("2304 per warp of 65536 per SM: 28 of 64 warps = 43 %"),
            "{:?}",
            finding.notes
        );
    }
}
