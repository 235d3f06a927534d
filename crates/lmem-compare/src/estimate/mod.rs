//! Predicts how much faster an edit makes a kernel, from what both versions execute in the same launch.
//!
//! The time of a warp is a sum of two parts. *Throughput* is what a multiprocessor does for all warps in turn: issue
//! slots, or the slower pipe; accesses to local memory and the lines that they touch; passes of shared and constant
//! memory; spills; calls. *Latency* is what a warp waits for, and shared by the resident warps: chains of dependent
//! instructions, loads, lines that miss the caches. Parts that overlap were modelled as well, by a norm of higher order,
//! and predicted families that were left out a little worse than the plain sum.
//!
//! The weights (`WEIGHTS`) are fitted to 170 pairs of kernels measured on an H100 (`measured.tsv`), by least squares of
//! the logarithms, mostly of the ratio. Each family was left out once and predicted from the others: Spearman's rank
//! correlation is 0.81, the median error 40 %. All weights together fit with 0.88 and 26 %.
//!
//! Whether an edit is slower is asked of a second, cautious set of weights (`CAUTIOUS`), as an error of 40 % hides small
//! gains. What an edit adds is executed in any case: selects, passes of shared memory, words of constant memory; so is a
//! loss of resident warps. What it saves depends on the L1 cache: the fitted weight of a line is a mean of pairs whose
//! lines hit it and of pairs whose lines miss. The cautious estimate has all loads hit. An edit that adds nothing stays
//! at 1 or above, and none of the 101 such pairs became slower. One that adds something (`Estimate::adds`) must earn it,
//! as a gain within the error of the estimate is none. By what is required of the 69 pairs that add something, with
//! weights that were fitted without a pair's own family (`left_out.tsv`), of the 21 pairs that are slower by more than
//! 3 % and the 146 that are faster by more than 3 %:
//!
//! | required | slower, shown | faster, lost | measured ratios of those that the step loses |
//! |---|---|---|---|
//! | 1.00 | 1 | 3 | 1.57, 2.27, 2.67 |
//! | 1.05 | 0 | 3 | none |
//! | 1.10 | 0 | 6 | 1.04, 1.08, 1.09 |
//! | 1.12 | 0 | 8 | 1.28, 1.41 |
//! | 1.20 | 0 | 15 | 1.08 to 2.91 |
//! | 1.30 | 0 | 20 | 1.19 to 3.20 |
//!
//! 1.10 is required (`EARNED`): up to it, no lost gain exceeds 9 %. With all weights the same 6 are lost. 3 of them are
//! tables with divergent indexes whose frames exceed the L1 cache, because dynamic shared memory takes nearly all of it.
//! They would be shown if that were known.
//!
//! | family | pairs | measured | predicted, left out | predicted, fitted |
//! |---|---|---|---|---|
//! | arguments by value | 15 | 2.18 | 1.85 | 2.07 |
//! | indirect calls as a `switch` | 11 | 4.13 | 3.02 | 3.15 |
//! | grid constants | 15 | 1.71 | 1.88 | 1.75 |
//! | inlined functions | 20 | 3.11 | 4.83 | 3.94 |
//! | insertion into a sorted array | 3 | 4.42 | 4.44 | 4.43 |
//! | rings in the order of their elements | 8 | 1.62 | 2.24 | 2.20 |
//! | selects, read once | 3 | 0.85 | 0.59 | 0.60 |
//! | selects, read often | 6 | 0.28 | 0.79 | 0.64 |
//! | selects, written | 8 | 1.54 | 1.32 | 1.34 |
//! | columns of shared memory | 10 | 2.46 | 1.82 | 2.01 |
//! | spills | 10 | 8.80 | 3.48 | 8.32 |
//! | stacks as selects | 10 | 0.78 | 0.68 | 0.72 |
//! | static tables | 12 | 1.31 | 1.31 | 1.14 |
//! | unrolled with a guard | 14 | 2.74 | 2.30 | 2.35 |
//! | unrolled | 25 | 7.69 | 5.65 | 6.39 |
//!
//! What is known to be missing: the size of the L1 cache, which dynamic shared memory reduces, so that tables with
//! divergent indexes may be slower than predicted; the targets of a divergent indirect call; 64-bit floating-point
//! numbers, which some architectures execute 32 times more slowly. Only sm_90 was measured. Within a family the order of
//! the pairs is predicted less well than between families.

mod counts;
#[cfg(test)]
mod tests;

use lmem_base::diagnostic::Speedup;
use lmem_base::gpu::{Arch, WARP};

pub use counts::{Counts, Executed};

/// Sub-partitions of a multiprocessor, each of which issues one instruction per cycle, since sm_70.
const SCHEDULERS: f64 = 4.0;

/// Warps of the measured launches on each multiprocessor.
const MOST_WARPS: f64 = 62.0;

/// The 10th and 90th percentile of the measured ratio as a multiple of the one predicted from the other families.
const LOW: f64 = 0.54;
const HIGH: f64 = 2.24;

/// The cautious estimate in percent from which on an edit that adds something is a gain.
const EARNED: u32 = 110;

/// Share of the instructions, one in this many, that an edit may add unnoticed: moves and addresses change with the
/// compiler's choices.
const NEGLIGIBLE: u64 = 20;

/// How much faster an edit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// What is expected.
    pub speedup: Speedup,
    /// The time before in percent of the time after, if all local memory stays in the L1 cache.
    pub cautious_percent: u32,
    /// Whether the edit adds instructions, passes of shared memory or words of constant memory, or loses warps.
    pub adds: bool,
}

impl Estimate {
    /// Whether the edit may be slower: what it adds exceeds what it saves for certain.
    pub fn is_slower(&self) -> bool {
        self.cautious_percent < 100
    }

    /// Whether the gain of an edit that adds something is within the error of the estimate.
    pub fn is_doubtful(&self) -> bool {
        self.adds && self.cautious_percent < EARNED
    }
}

/// What the compiler reports for one version of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Resident warps on a multiprocessor.
    pub warps: u32,
    /// Bytes of the stack frame. Without one, the compiler keeps the variables in registers that PTX has in local memory.
    pub stack_frame: u64,
    /// Bytes of spill stores and spill loads.
    pub spilled: u64,
}

/// Cycles of a multiprocessor for each occurrence; those of the latency are divided by the resident warps.
struct Weights {
    /// Cycles in which all sub-partitions issue.
    issue: f64,
    local_access: f64,
    loaded_line: f64,
    stored_line: f64,
    /// A pass takes one cycle by the documentation of shared memory; this weight is not fitted.
    shared_pass: f64,
    constant_word: f64,
    /// A spill store or spill load.
    spill: f64,
    call: f64,
    /// Cycles of the chains of dependent instructions. Less than 1, as the chains of different blocks overlap.
    chain: f64,
    /// A line that misses all caches.
    missed_line: f64,
    local_latency: f64,
    global_latency: f64,
}

const WEIGHTS: Weights = Weights {
    issue: 0.953,
    local_access: 1.179,
    loaded_line: 1.62,
    stored_line: 1.62,
    shared_pass: 1.0,
    constant_word: 1.504,
    spill: 6.3,
    call: 5.772,
    chain: 0.224,
    missed_line: 280.387,
    local_latency: 7.183,
    global_latency: 32.989,
};

/// A loaded line that hits the L1 cache takes less than a cycle, as several are looked up at once. With any weight from
/// 0.15 to 0.8 the same pairs are refused. Arrays that are written do not stay in that cache: on an H200, a read and a
/// write took the time of 104 to 236 instructions where a read alone took that of 12 to 25.
const LOADED_LINE: f64 = 0.5;

const CAUTIOUS: Weights = Weights { loaded_line: LOADED_LINE, ..WEIGHTS };

/// Results per cycle and multiprocessor: table of throughputs of native arithmetic instructions, CUDA C++ programming
/// guide.
struct Lanes {
    float: f64,
    integer: f64,
}

impl Lanes {
    fn of(arch: Arch) -> Self {
        match arch.number() {
            ..=80 => Self { float: 64.0, integer: 64.0 },
            _ => Self { float: 128.0, integer: 64.0 },
        }
    }
}

/// Predicts the time before an edit as a multiple of the time after it. `None` if nothing was executed.
pub fn estimate(executed: &Executed, before: Usage, after: Usage, arch: Arch) -> Option<Estimate> {
    let ratio = |weights| {
        Some(cycles(&executed.before, before, arch, weights)? / cycles(&executed.after, after, arch, weights)?)
    };
    let expected = ratio(&WEIGHTS)?;
    Some(Estimate {
        speedup: Speedup {
            percent: percent(expected),
            low_percent: percent(expected * LOW),
            high_percent: percent(expected * HIGH),
        },
        cautious_percent: percent(ratio(&CAUTIOUS)?),
        adds: adds(executed, before, after),
    })
}

/// Whether the edited version costs something that the original does not.
fn adds(executed: &Executed, before: Usage, after: Usage) -> bool {
    let Executed { before: old, after: new } = executed;
    new.issued > old.issued + old.issued / NEGLIGIBLE
        || new.shared_passes > old.shared_passes
        || new.constant_words > old.constant_words
        || after.warps < before.warps
}

fn percent(ratio: f64) -> u32 {
    (ratio * 100.0).round().clamp(1.0, 1e6) as u32
}

/// Cycles of a multiprocessor for each warp.
fn cycles(counts: &Counts, usage: Usage, arch: Arch, weights: &Weights) -> Option<f64> {
    if counts.warps == 0 || usage.warps == 0 {
        return None;
    }
    let lanes = Lanes::of(arch);
    let each = |count: u64| count as f64 / counts.warps as f64;
    let tenths = |count: u64| each(count) / 10.0;
    // Where a spilled value is stored and loaded is not known: as often as an instruction is executed on average.
    let rounds = each(counts.issued) / counts.code.max(1) as f64;
    let spills = usage.spilled as f64 / 4.0 * rounds;
    let local = |count: u64| if usage.stack_frame == 0 { 0.0 } else { each(count) };
    let local_accesses = local(counts.local_accesses);
    let stored_lines = local(counts.stored_lines);
    let loaded_lines = local(counts.local_lines.saturating_sub(counts.stored_lines));
    let issue = ((tenths(counts.issued) + spills) / SCHEDULERS)
        .max(tenths(counts.integer) * f64::from(WARP) / lanes.integer)
        .max(tenths(counts.float) * f64::from(WARP) / lanes.float);
    let throughput = weights.issue * issue
        + weights.local_access * local_accesses
        + weights.loaded_line * loaded_lines
        + weights.stored_line * stored_lines
        + weights.shared_pass * each(counts.shared_passes)
        + weights.constant_word * each(counts.constant_words)
        + weights.spill * spills
        + weights.call * each(counts.calls);
    let latency = weights.chain * tenths(counts.chain)
        + weights.missed_line * each(counts.missed_lines)
        + weights.local_latency * local_accesses
        + weights.global_latency * each(counts.global_accesses);
    let cycles = throughput + latency / f64::from(usage.warps).min(MOST_WARPS);
    (cycles > 0.0).then_some(cycles)
}
