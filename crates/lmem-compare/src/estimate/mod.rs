//! Predicts how much faster an edit makes a kernel, from what both versions execute in the same launch.
//!
//! A warp's time has three parts, which overlap: the root of the sum of their squares is its time, as the longest hides most
//! of the others.
//!
//! - *Arithmetic*: issue slots, or the slower pipe (integers, multiplications, 64-bit numbers), special functions, calls,
//!   spills.
//! - *Memory*: accesses to local memory and the lines that they touch; accesses to global memory; passes of shared and
//!   constant memory.
//! - *Waiting*, shared by the resident warps: chains of dependent instructions, loads that wait for each other, lines that
//!   miss the caches.
//!
//! Local memory misses the L1 cache if the frames of all resident threads exceed what shared memory leaves of it. A stored
//! line costs as much as 14 loaded ones, whether threads write all of it or a word: local memory is written through.
//!
//! The weights (`WEIGHTS`) are fitted to 277 pairs of kernels measured on an H100, by least squares of the logarithms, mostly
//! of the ratio, with a bounded weight of pairs that are far off: 170 pairs of kernels (`measured.tsv`) and 107 pairs of
//! programs (`programs.tsv`) with grids that fill the GPU or leave four warps on each multiprocessor. Each of the 41
//! families was left out once and predicted from the others:
//!
//! | pairs | | Spearman's rank correlation | median error | before |
//! |---|---|---|---|---|
//! | 277 | all weights | 0.93 | 26 % | |
//! | 277 | family left out | 0.90 | 30 % | |
//! | 107 programs | left out, counts of the launches that the comparison makes (`programs_compared.tsv`) | 0.81 | 40 % | 0.75, 62 % |
//! | 67 | kernels that nothing was fitted to (`unseen.tsv`), in such launches | 0.84 | 23 % | 0.79, 31 % |
//!
//! What the last two have besides is that numbers in a made-up launch are others than in the program's, and that the grid is
//! not known: all warps that fit are assumed to run. Pairs that were measured with four warps gain other
//! amounts: 1.1 in place of 2.5 for a banded alignment, 10 in place of 116 for a histogram, 5.3 in place of 2.1 for a
//! Monte Carlo simulation. *Before* are the weights that were fitted to the 170 pairs alone, with a plain sum and no caches.
//!
//! Whether an edit is slower is asked of a second, cautious estimate, as an error of 30 % hides small gains. What an edit adds
//! is executed in any case: selects, passes of shared memory, words of constant memory, accesses to global memory, which
//! take the place of one to local memory each; so is a loss of resident warps. What it saves depends on the caches: the
//! cautious estimate has all local memory of the original hit, and its stored lines cost less (`CAUTIOUS`). An edit that
//! adds nothing stays at 1 or above, and none of the 140 such pairs became slower. One that adds something
//! (`Estimate::adds`) must earn it, as a gain within the error of the estimate is none. By what is required, with weights
//! that were fitted without a pair's own family:
//!
//! | required | 170 pairs: 21 slower, shown | 45 faster ones that add something, lost | programs: 17 slower, shown | 57, lost | unseen: 5 slower, shown | 40, lost |
//! |---|---|---|---|---|---|---|
//! | 1.00 | 1 | 6 | 0 | 11 | 2 | 1 |
//! | 1.05 | 0 | 7 | 0 | 13 | 2 | 2 |
//! | 1.07 | 0 | 14 | 0 | 14 | 1 | 3 |
//! | 1.11 | 0 | 14 | 0 | 17 | 1 | 6 |
//!
//! 1.07 is required (`EARNED`), and 1.15 where shared memory is among what an edit adds (`EARNED_SHARED`): it takes L1 cache from
//! global memory too, which is not modelled (0.67 for a kernel whose threads read rows). The columns of programs are for the
//! launches that the comparison makes; with the counts of the measured launches one more is shown, a loop over an array
//! of 64 that ran 16 times and was unrolled with a guard (0.92). Most lost pairs exceed the L1 cache that dynamic shared
//! memory leaves, or the L2 cache, or gain less than 50 %. The other slower pair that is shown, `asian_basket_mc` (0.72), has
//! a cautious gain of 1.4: PTX indexes its array at run time, and `ptxas` keeps it in registers nevertheless.
//!
//! What local memory costs a kernel for which no edit was compared is said by its [`share`] of the estimated time, from a
//! run of the original alone. For the unseen pairs, Spearman's correlation of that share with the measured ratio is 0.70
//! with the counts of the compared launches, and 0.22 for the score that only counts instructions in the machine code; for
//! the 107 programs 0.48 (before 0.29), as most of them spend nearly all of their time in local memory. The share is of all
//! local memory in the kernel, and the shown edits end two thirds of it.
//!
//! A second unseen set, 29 whole programs with their own launches (48 edits, each also with the others of its program), was
//! measured on an H100 once, with the weights before: for the 38 edits with an estimate, Spearman's correlation was 0.70;
//! 2 of 48 shown edits were slower by more than 3 % (an array of 49 `short` in shared memory where two small blocks run on
//! each multiprocessor, 0.54; one that was not compared, 0.94). Findings as reports sort them had 0.58.
//!
//! A third one, 76 whole programs of real style, was measured after the weights were fitted. For the 65 edits that the weights
//! before showed, Spearman's correlation is 0.60 and the median error 18 % with these weights; before, 0.51 and 27 %. Four
//! of the 65 are slower by more than 3 %: loops guarded and unrolled to an array of which the program uses a part (0.47), a
//! list of neighbors (0.89) and an array of splines (0.96) in shared memory, a select of two (0.95).
//!
//! A fourth one is 85 programs that were written to be difficult: one thread of a block or of a warp that works, arrays used in
//! part, probing of small tables, launches of few blocks. 83 edits, all with the same bits, are 1.77 times as fast (geometric
//! mean); seven are slower by more than 3 % (0.92 five times, 0.85, and 0.70 for a select of 16 beside an array in shared
//! memory). Spearman's correlation is 0.36 and the median error 48 %, without the twelve where single threads work: there 1.3 to
//! 4 is predicted, and 0.9 to 1.7 measured, as the other threads decide what such a kernel takes.
//! The aim, 0.8 for gain and cost and no slower edit, is missed.
//!
//! | family | pairs | measured | predicted, left out | predicted, fitted | left out, compared launches |
//! |---|---|---|---|---|---|
//! | arguments by value | 15 | 2.18 | 2.15 | 2.25 | |
//! | indirect calls as a `switch` | 11 | 4.13 | 3.22 | 3.44 | |
//! | grid constants | 15 | 1.71 | 2.31 | 2.01 | |
//! | inlined functions | 20 | 3.11 | 3.83 | 3.69 | |
//! | insertion into a sorted array | 3 | 4.42 | 6.18 | 6.09 | |
//! | rings in the order of their elements | 8 | 1.62 | 2.03 | 2.01 | |
//! | selects, read once | 3 | 0.85 | 0.62 | 0.63 | |
//! | selects, read often | 6 | 0.28 | 0.43 | 0.38 | |
//! | selects, written | 8 | 1.54 | 1.61 | 1.61 | |
//! | columns of shared memory | 10 | 2.46 | 2.24 | 2.28 | |
//! | spills | 10 | 8.80 | 15.39 | 10.50 | |
//! | stacks as selects | 10 | 0.78 | 0.98 | 0.96 | |
//! | static tables | 12 | 1.31 | 0.92 | 1.03 | |
//! | unrolled with a guard | 14 | 2.74 | 1.80 | 1.94 | |
//! | unrolled | 25 | 7.69 | 8.07 | 8.15 | |
//! | *program:* state by address | 3 | 5.02 | 4.91 | 4.93 | 5.01 |
//! | *program:* attention accumulator | 3 | 2.04 | 2.01 | 2.01 | 0.79 |
//! | *program:* Monte Carlo basket | 4 | 2.65 | 5.84 | 2.80 | 4.42 |
//! | *program:* bytes of words | 2 | 0.30 | 0.65 | 0.60 | 0.92 |
//! | *program:* filter sections | 3 | 3.78 | 4.88 | 4.81 | 6.82 |
//! | *program:* dependent look-ups | 6 | 1.68 | 0.92 | 1.05 | 0.94 |
//! | *program:* decimal digits | 2 | 1.57 | 1.39 | 1.40 | 1.36 |
//! | *program:* table of functions | 2 | 2.93 | 1.71 | 2.03 | 1.71 |
//! | *program:* banded alignment | 9 | 1.96 | 1.56 | 1.58 | 1.64 |
//! | *program:* FFT in registers | 2 | 10.98 | 14.19 | 14.08 | 14.28 |
//! | *program:* window and pick | 3 | 2.38 | 2.34 | 2.35 | 5.91 |
//! | *program:* polynomial of run-time degree | 4 | 2.08 | 1.69 | 1.74 | 0.99 |
//! | *program:* histograms | 6 | 17.84 | 12.85 | 13.56 | 9.47 |
//! | *program:* LU decomposition | 4 | 9.91 | 9.63 | 9.91 | 7.68 |
//! | *program:* merge of two runs | 3 | 0.28 | 0.32 | 0.31 | 0.41 |
//! | *program:* structure parameter | 3 | 3.66 | 1.96 | 2.17 | 1.98 |
//! | *program:* delay line | 3 | 2.56 | 4.99 | 4.87 | 8.27 |
//! | *program:* cipher rounds | 2 | 15.23 | 16.53 | 16.49 | 13.00 |
//! | *program:* flags | 3 | 11.50 | 9.02 | 9.26 | 13.56 |
//! | *program:* sorting network | 3 | 13.98 | 11.89 | 12.01 | 11.54 |
//! | *program:* tight launch bounds | 5 | 9.52 | 5.73 | 6.88 | 9.22 |
//! | *program:* tree walk | 4 | 0.75 | 0.97 | 0.96 | 0.68 |
//! | *program:* constant table | 14 | 1.93 | 2.71 | 2.06 | 2.44 |
//! | *program:* product tile | 3 | 12.35 | 9.29 | 9.82 | 9.18 |
//! | *program:* largest values | 5 | 6.57 | 6.15 | 6.18 | 7.20 |
//! | *program:* random walk | 6 | 1.60 | 2.10 | 1.99 | 0.79 |
//! | *unseen:* dynamic indexes | 37 | 2.87 | | | 2.81 |
//! | *unseen:* rolled loops | 15 | 1.51 | | | 1.82 |
//! | *unseen:* constant tables | 6 | 5.91 | | | 6.27 |
//! | *unseen:* others | 9 | 2.04 | | | 2.57 |
//!
//! What is known to be missing: dynamic shared memory, which reduces the L1 cache; the L2 cache, which frames of 190 bytes and
//! more exceed on a full GPU (a look-up there took five times as long); how many warps a launch has, and how much of an array
//! a program uses where the longest launch uses all of it; the targets of a divergent indirect call; selects that `ptxas`
//! turns into branches. Only sm_90 was measured. Within a family the order of the pairs is predicted less well than between
//! families.

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

/// The 10th and 90th percentile of the measured ratio as a multiple of the one predicted from the other families, with the
/// unseen pairs.
const LOW: f64 = 0.51;
const HIGH: f64 = 1.72;

/// The cautious estimate in percent from which on an edit that adds something is a gain.
const EARNED: u32 = 107;

/// The same for one that adds accesses to shared memory, which takes L1 cache from global memory as well: that is not
/// modelled.
const EARNED_SHARED: u32 = 115;

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
    /// Whether shared memory is among what it adds.
    pub adds_shared: bool,
}

impl Estimate {
    /// Whether the edit may be slower: what it adds exceeds what it saves for certain.
    pub fn is_slower(&self) -> bool {
        self.cautious_percent < 100
    }

    /// Whether the gain of an edit that adds something is within the error of the estimate.
    pub fn is_doubtful(&self) -> bool {
        self.adds && self.cautious_percent < if self.adds_shared { EARNED_SHARED } else { EARNED }
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
    /// Bytes of shared memory of all resident blocks, which the L1 cache lacks.
    pub shared: u64,
}

/// Cycles of a multiprocessor for each occurrence; those of the latency are divided by the resident warps.
#[derive(Clone, Copy)]
struct Weights {
    /// Cycles in which all sub-partitions issue.
    issue: f64,
    special: f64,
    local_access: f64,
    loaded_line: f64,
    stored_line: f64,
    /// A sector of local memory that misses the L1 cache.
    missed_sector: f64,
    global_access: f64,
    /// A pass takes one cycle by the documentation of shared memory. With any weight from 0.3 to 1 pairs are predicted
    /// alike.
    shared_pass: f64,
    constant_word: f64,
    /// A spill store or spill load.
    spill: f64,
    call: f64,
    /// Cycles of the chains of dependent instructions.
    chain: f64,
    /// A load of global memory that misses all caches.
    missed_load: f64,
    /// A load of local memory that misses the L1 cache.
    missed_local: f64,
    global_latency: f64,
}

const WEIGHTS: Weights = Weights {
    issue: 0.896,
    special: 5.421,
    local_access: 1.101,
    loaded_line: 0.380,
    stored_line: 5.205,
    missed_sector: 0.483,
    global_access: 3.182,
    shared_pass: 0.5,
    constant_word: 1.472,
    spill: 7.263,
    call: 1.630,
    chain: 0.943,
    missed_load: 372.1,
    missed_local: 116.8,
    global_latency: 27.93,
};

/// A bound for the cautious estimate: the weights that are fitted without a family have 4.6 to 5.9.
const STORED_LINE: f64 = 3.5;

const CAUTIOUS: Weights = cautious(WEIGHTS);

const fn cautious(weights: Weights) -> Weights {
    Weights { stored_line: weights.stored_line.min(STORED_LINE), ..weights }
}

/// The weights if all local memory hits the L1 cache.
const fn hit(weights: &Weights) -> Weights {
    Weights { missed_sector: 0.0, missed_local: 0.0, ..*weights }
}

/// How sharply local memory misses the L1 cache once it exceeds it: sets are used in turn, so that little more than fits
/// evicts what comes next.
const SHARPNESS: i32 = 4;

/// Bytes of L1 cache beside the largest amount of shared memory, since sm_70; older ones have about as much in all.
const LEAST_L1: u64 = 28 << 10;

/// Results per cycle and multiprocessor: table of throughputs of native arithmetic instructions, CUDA C++ programming
/// guide.
struct Lanes {
    float: f64,
    integer: f64,
    double: f64,
}

impl Lanes {
    fn of(arch: Arch) -> Self {
        let double = match arch.number() {
            60 | 70 | 72 | 80 => 32.0,
            90 | 100 => 64.0,
            50..=62 => 4.0,
            _ => 2.0,
        };
        match arch.number() {
            ..=80 => Self { float: 64.0, integer: 64.0, double },
            _ => Self { float: 128.0, integer: 64.0, double },
        }
    }
}

/// Predicts the time before an edit as a multiple of the time after it. `None` if nothing was executed.
pub fn estimate(executed: &Executed, before: Usage, after: Usage, arch: Arch) -> Option<Estimate> {
    let expected = cycles(&executed.before, before, arch, &WEIGHTS)? / cycles(&executed.after, after, arch, &WEIGHTS)?;
    let cautious = cautious_ratio(executed, before, after, arch, &CAUTIOUS)?;
    Some(Estimate {
        speedup: Speedup {
            percent: percent(expected),
            low_percent: percent(expected * LOW),
            high_percent: percent(expected * HIGH),
        },
        cautious_percent: percent(cautious),
        adds: adds(executed, before, after),
        adds_shared: executed.after.shared_passes > executed.before.shared_passes,
    })
}

/// The share of a kernel's time, in thousandths, that local memory and spills take if they hit the L1 cache: whether they
/// do depends on the threads of a launch, and findings are ordered better without. `None` if nothing was executed.
pub fn share(counts: &Counts, usage: Usage, arch: Arch) -> Option<u32> {
    let without = Counts { local_accesses: 0, local_lines: 0, stored_lines: 0, local_depth: 0, ..*counts };
    let weights = hit(&WEIGHTS);
    let all = cycles(counts, usage, arch, &weights)?;
    let rest = cycles(&without, Usage { spilled: 0, ..usage }, arch, &weights)?;
    Some(((1.0 - rest / all) * 1000.0).round().clamp(0.0, 1000.0) as u32)
}

/// The ratio of the cautious estimate. Local memory of the original always hits the L1 cache. An access to global memory
/// that the edit adds costs as much as one to local memory: a table that moves from one to the other does not save its
/// accesses.
fn cautious_ratio(executed: &Executed, before: Usage, after: Usage, arch: Arch, weights: &Weights) -> Option<f64> {
    let mut new = Work::of(&executed.after, after, arch)?;
    let old = Work::of(&executed.before, before, arch)?;
    let added = (new.global_accesses - old.global_accesses).max(0.0);
    if added > 0.0 {
        new.load_depth *= 1.0 - added / new.global_accesses;
        new.global_accesses -= added;
        new.local_accesses += added;
        new.loaded_lines += added;
    }
    Some(old.cycles(&hit(weights)) / new.cycles(weights))
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
    let cycles = Work::of(counts, usage, arch)?.cycles(weights);
    (cycles > 0.0).then_some(cycles)
}

/// What a warp does on average, and how much of it others hide.
#[derive(Clone, Copy)]
struct Work {
    warps: f64,
    /// Cycles of the busiest of issue slots and arithmetic pipes.
    arithmetic: f64,
    special: f64,
    calls: f64,
    spills: f64,
    local_accesses: f64,
    loaded_lines: f64,
    stored_lines: f64,
    /// Sectors of loads that miss the L1 cache, and loads that wait for them.
    missed_sectors: f64,
    missed_local: f64,
    global_accesses: f64,
    shared_passes: f64,
    constant_words: f64,
    chain: f64,
    load_depth: f64,
    /// The share of the loads of global memory that miss all caches, or more if each has several lines.
    missed: f64,
}

impl Work {
    /// `None` if nothing was executed, or nothing can be resident.
    fn of(counts: &Counts, usage: Usage, arch: Arch) -> Option<Self> {
        if counts.warps == 0 || usage.warps == 0 {
            return None;
        }
        let lanes = Lanes::of(arch);
        let each = |count: u64| count as f64 / counts.warps as f64;
        let tenths = |count: u64| each(count) / 10.0;
        let in_pipe = |count: u64, lanes: f64| tenths(count) * f64::from(WARP) / lanes;
        // Where a spilled value is stored and loaded is not known: as often as an instruction is executed on average.
        let rounds = each(counts.issued) / counts.code.max(1) as f64;
        let spills = usage.spilled as f64 / 4.0 * rounds;
        let local = |count: u64| if usage.stack_frame == 0 { 0.0 } else { each(count) };
        let warps = f64::from(usage.warps).min(MOST_WARPS);
        let local_accesses = local(counts.local_accesses);
        let lines = local(counts.local_lines) / local_accesses.max(f64::MIN_POSITIVE);
        let loaded_lines = local(counts.local_lines.saturating_sub(counts.stored_lines));
        let global_accesses = each(counts.global_accesses);
        let known = |depth: u64, all: f64| if depth == 0 { all } else { each(depth) };
        let miss = miss_rate(usage.stack_frame as f64 * warps * f64::from(WARP), l1(arch, usage));
        Some(Self {
            warps,
            arithmetic: ((tenths(counts.issued) + spills) / SCHEDULERS)
                .max(in_pipe(counts.integer.saturating_sub(counts.multiplied), lanes.integer))
                .max(in_pipe(counts.multiplied, lanes.integer))
                .max(in_pipe(counts.float, lanes.float))
                .max(in_pipe(counts.doubles, lanes.double)),
            special: tenths(counts.special),
            calls: each(counts.calls),
            spills,
            local_accesses,
            loaded_lines,
            stored_lines: local(counts.stored_lines),
            missed_sectors: miss * loaded_lines * sectors(lines.max(1.0)),
            missed_local: miss * known(counts.local_depth, local_accesses),
            global_accesses,
            shared_passes: each(counts.shared_passes),
            constant_words: each(counts.constant_words),
            chain: tenths(counts.chain),
            load_depth: known(counts.load_depth, global_accesses),
            missed: each(counts.missed_lines) / global_accesses.max(1.0),
        })
    }

    /// Cycles of a multiprocessor. Arithmetic, memory and waiting overlap: the longest counts most.
    fn cycles(&self, weights: &Weights) -> f64 {
        let arithmetic = weights.issue * self.arithmetic
            + weights.special * self.special
            + weights.call * self.calls
            + weights.spill * self.spills;
        let memory = weights.local_access * self.local_accesses
            + weights.loaded_line * self.loaded_lines
            + weights.stored_line * self.stored_lines
            + weights.missed_sector * self.missed_sectors
            + weights.global_access * self.global_accesses
            + weights.shared_pass * self.shared_passes
            + weights.constant_word * self.constant_words;
        let waiting = weights.chain * self.chain
            + (weights.missed_load * self.missed + weights.global_latency) * self.load_depth
            + weights.missed_local * self.missed_local;
        arithmetic.hypot(memory).hypot(waiting / self.warps)
    }
}

/// Bytes of L1 cache that shared memory leaves.
fn l1(arch: Arch, usage: Usage) -> f64 {
    let left = match arch.number() {
        ..70 => 0,
        _ => arch.gpu().shared.saturating_sub(usage.shared),
    };
    (left + LEAST_L1) as f64
}

/// The share of accesses to so many bytes that miss a cache.
fn miss_rate(bytes: f64, cache: f64) -> f64 {
    let excess = (bytes / cache).powi(SHARPNESS);
    excess / (1.0 + excess)
}

/// Sectors of 32 bytes in a line that threads access, if each of them picks one of so many lines. A whole line has 4; of 32
/// lines, a sector each.
fn sectors(lines: f64) -> f64 {
    4.0 * (1.0 - (1.0 - 1.0 / lines).powi(8))
}
