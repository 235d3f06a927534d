//! Predicts how much faster an edit makes a kernel, from what both versions execute in the same launch.
//!
//! A warp's time has four parts, which overlap: the root of the sum of their squares is its time, as the longest hides most
//! of the others.
//!
//! - *Arithmetic*: issue slots, or the slower pipe (integers, multiplications, 64-bit numbers), special functions, calls,
//!   spills. Slots are those of machine code (`machine_code.rs`), in which 64-bit integers are two halves.
//! - *Memory*: accesses to local memory and the lines that they touch; accesses to global memory; passes of shared and
//!   constant memory.
//! - *Waiting*, shared by the resident warps: chains of dependent instructions, loads that wait for each other, lines that
//!   miss the caches. A block is as slow as its slowest warp: where one thread works, the others save nothing.
//! - *Traffic*: the lines of global memory that come from L2, or from device memory if they exceed it.
//!
//! Local memory misses the L1 cache if what all resident threads touch of their frames exceeds what shared memory leaves
//! of it. A stored line costs as much as 14 loaded ones, whether threads write all of it or a word: local memory is written
//! through. Where a single thread of a warp stores, it costs a quarter.
//!
//! Where host code shows a launch of the kernel, its blocks and constant arguments are those that are counted
//! (`search/launched.rs`). Then the warps that are resident are known, and how long the launch takes: its time has a part
//! that no edit ends (`LAUNCH`), and traffic counts. Otherwise all warps that fit are assumed, and the launch is made up
//! as programs have them (`search/usual.rs`).
//!
//! The weights (`WEIGHTS`) are fitted to 277 pairs of kernels measured on an H100; `README.md` beside this file has the sets,
//! their families, and what is predicted of each with weights that were fitted without it. Spearman's rank correlation of
//! the predicted and the measured ratio:
//!
//! | pairs | | correlation | median error | in made-up launches |
//! |---|---|---|---|---|
//! | 277 | family left out | 0.90 | 30 % | 0.81 (107 of them) |
//! | 67 | kernels, nothing fitted to them (`unseen.tsv`) | | | 0.84, 23 % |
//! | 85 | difficult programs, nothing fitted (`launched.tsv`, `hard`) | 0.78 (76 shown edits: 0.82) | 22 % | 0.36, 54 % |
//! | 109 | programs of real style, likewise (`real`) | 0.66 (81: 0.70) | 24 % | 0.59, 23 % |
//! | 69 | of both kinds, likewise (`mixed`) | 0.82 | 23 % | |
//! | 41 | plain programs, likewise (`plain`), each with all edits that are shown | 0.85 | 16 % | 0.42 |
//!
//! Weights that are also fitted to the pairs of programs predict those of the other set no better. The price of what a single
//! thread stores was chosen by `hard` and `mixed`: 0.74 and 0.78 without.
//!
//! Whether an edit is slower is asked of a second, cautious estimate, as an error of 30 % hides small gains. What an edit adds
//! is executed in any case: selects, passes of shared memory, words of constant memory, accesses to global memory, which
//! take the place of one to local memory each; so is a loss of resident warps. What it saves depends on the caches: the
//! cautious estimate has all local memory of the original hit, and its stored lines cost less (`CAUTIOUS`). An edit that
//! adds nothing stays at 0.97 (`NO_SLOWER`) or above. One that adds something (`Estimate::adds`), work of the integer pipe too, must earn it. By what is required, without
//! and with shared memory among what is added, slower edits (by more than 3 %) that are shown and faster ones that are lost:
//!
//! | required | 170 kernels: 21 slower, 146 faster | 107 programs, made-up launches: 17, 90 | unseen: 5, 57 | hard: 7, 63 | real: 3, 72 | mixed: 7, 60 |
//! |---|---|---|---|---|---|---|
//! | 1.00, 1.00 | 1, 6 | 0, 11 | 3, 1 | 5, 1 | 2, 5 | 2, 0 |
//! | 1.05, 1.05 | 1, 6 | 0, 13 | 2, 2 | 4, 4 | 2, 9 | 1, 0 |
//! | 1.07, 1.15 | 0, 10 | 0, 16 | 1, 7 | 1, 5 | 0, 15 | 1, 0 |
//! | 1.10, 1.20 | 0, 13 | 0, 16 | 1, 11 | 1, 11 | 0, 21 | 0, 0 |
//! | 1.20, 1.30 | 0, 20 | 0, 20 | 1, 13 | 1, 13 | 0, 25 | 0, 4 |
//!
//! 1.07 (`EARNED`) and 1.15 (`EARNED_SHARED`) are required: shared memory takes L1 cache from global memory too, and with few
//! warps a uniform load of local memory costs no more than one of shared memory. The one that is shown is `pic_deposit` (0.84),
//! whose columns take the L1 cache from a gather.
//!
//! Where a frame vanishes whose array PTX still indexes with a register, `ptxas` keeps the array in registers and selects among
//! them or branches, which no count of PTX has. Such an edit must gain 1.60 (`EARNED_PROMOTED`), or 2.50 where the machine code
//! becomes more than twice as long (`EARNED_EXPANDED`), whatever else it adds: `asian_basket_mc` (0.72), `half_histogram` (0.91) and a Runge-Kutta step
//! with a static table (0.54, then 2.29 with its loops unrolled, which is shown in its place) are refused for that, at the price of three faster edits of
//! `hard` and `real` (1.06, 1.17, 1.23), which the table above does not count. In launches that are made
//! up, six of the seven slower ones of `hard` are shown. To refuse what would be slower with 8 resident warps, where the launch is not known, loses
//! 15 more of 63 and 16 of 72 faster edits, and three of the seven are still shown: it is not done.
//!
//! The cautious estimate is the smaller one of the launch that was counted and of as many of its warps as fit: with few
//! warps in the program's launch, 16 KiB of shared memory for a block of 64 threads looked like a gain, and took 2.7 times as
//! long (0.36). That changes nothing in the table.
//!
//! What local memory costs a kernel is its [`share`] of the estimated time. Spearman's correlation of that share with the
//! gain of the best version that is known is 0.80 for `hard`, 0.70 for `real` and 0.85 for `mixed`; by what the shown edit is
//! expected to gain it is 0.86, 0.66 and 0.76. Of the shown edits of `plain` it is 0.67 and 0.85.
//!
//! What is known to be missing: dynamic shared memory, which reduces the L1 cache; what frames take of the L2 cache; how much
//! of an array a program uses where its size is data; what shared memory takes of the L1 cache from global memory; the targets of a divergent indirect call; selects that `ptxas` turns into
//! branches. Only sm_90 was measured.

mod counts;
mod machine_code;
#[cfg(test)]
mod tests;

use lmem_base::diagnostic::Speedup;
use lmem_base::gpu::{Arch, WARP};

pub use counts::{COUNTING, Counts, Executed};

/// Sub-partitions of a multiprocessor, each of which issues one instruction per cycle, since sm_70.
const SCHEDULERS: f64 = 4.0;

/// Warps of the measured launches on each multiprocessor.
const MOST_WARPS: f64 = 62.0;

/// The 10th and 90th percentile of the measured ratio as a multiple of the one predicted from the other families, with the
/// unseen pairs.
const LOW: f64 = 0.51;
const HIGH: f64 = 1.72;

/// The cautious estimate in percent below which an edit that adds nothing is slower. Of the 175 pairs that add nothing, but
/// those of edits by hand, none took longer by more than 3 %.
const NO_SLOWER: u32 = 97;

/// The cautious estimate in percent from which on an edit that adds something is a gain.
const EARNED: u32 = 107;

/// The same for one that adds accesses to shared memory, which takes L1 cache from global memory as well: that is not
/// modelled.
const EARNED_SHARED: u32 = 115;

/// The same where the compiler keeps an array in registers that PTX indexes with a register, as `ptxas` then selects among them or
/// branches: that is in no count.
const EARNED_PROMOTED: u32 = 160;

/// The same where the machine code becomes more than twice as long by that.
const EARNED_EXPANDED: u32 = 250;

/// Share of the original's accesses to local memory, one in this many, from which on PTX indexes such an array.
const PROMOTED: u64 = 4;

/// Share of the instructions, and of those of the integer pipe, one in this many, that an edit may add unnoticed: moves and
/// addresses change with the compiler's choices.
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
    /// Whether it relies on `ptxas` to keep what PTX has in local memory in registers, and how much it must gain then.
    pub promoted: Option<u32>,
}

impl Estimate {
    /// Whether the edit may be slower: what it adds exceeds what it saves for certain.
    pub fn is_slower(&self) -> bool {
        self.cautious_percent < if self.adds { 100 } else { NO_SLOWER }
    }

    /// Whether the gain of an edit that adds something is within the error of the estimate.
    pub fn is_doubtful(&self) -> bool {
        let (may_cost, earned) = match self {
            Self { promoted: Some(earned), .. } => (true, *earned),
            Self { adds_shared: true, .. } => (self.adds, EARNED_SHARED),
            _ => (self.adds, EARNED),
        };
        may_cost && (self.cautious_percent < earned || self.speedup.percent < 100)
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
    /// Bytes of machine code; 0 if it is not known.
    pub code: u64,
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
    /// The share of that which a line costs if a single thread of a warp stores: one of its four sectors.
    lone: f64,
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
    lone: 0.25,
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

/// Multiprocessors of an H100, over which the blocks of a known grid are spread.
const MULTIPROCESSORS: f64 = 132.0;

/// Cycles from the start of a launch to its end that no kernel is without, about 5 µs: they count where the program's own
/// launch is known.
const LAUNCH: f64 = 8_800.0;

/// Cycles of a multiprocessor for a line of global memory that comes from L2, with all of them loading, and how many
/// times as long one from device memory takes. Counted where the program's own launch is known.
const LINE_FROM_L2: f64 = 5.0;
const DEVICE_MEMORY: f64 = 2.0;
const L2: f64 = 45e6;

/// Bytes of a line.
const LINE: f64 = 128.0;

/// A bound for the cautious estimate: the weights that are fitted without a family have 4.6 to 5.9. Stores of single threads
/// cost all of it there: at a quarter, three more of the faster edits of `launched.tsv` are refused, and no slower one.
const STORED_LINE: f64 = 3.5;

const CAUTIOUS: Weights = cautious(WEIGHTS);

const fn cautious(weights: Weights) -> Weights {
    Weights { stored_line: weights.stored_line.min(STORED_LINE), lone: 1.0, ..weights }
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
    let as_counted = cautious_ratio(executed, before, after, arch, &CAUTIOUS)?;
    // Other launches of the program, and those of other programs, may fill the GPU.
    let full = Executed { before: executed.before.on_a_full_gpu(), after: executed.after.on_a_full_gpu() };
    let cautious = cautious_ratio(&full, before, after, arch, &CAUTIOUS)?.min(as_counted);
    let adds = adds(executed, before, after);
    // Loads of a table or of a parameter take the place of as many from local memory: that alone makes nothing slower.
    let expected = if adds { expected } else { expected.max(cautious.min(1.0)) };
    Some(Estimate {
        speedup: Speedup {
            percent: percent(expected),
            low_percent: percent(expected * LOW),
            high_percent: percent(expected * HIGH),
        },
        cautious_percent: percent(cautious),
        adds,
        adds_shared: executed.after.shared_passes > executed.before.shared_passes,
        promoted: promoted(executed, before, after),
    })
}

/// What an edit must gain that leaves it to `ptxas` to keep an array in registers; `None` if it does not.
fn promoted(executed: &Executed, before: Usage, after: Usage) -> Option<u32> {
    let is_indexed = executed.after.local_accesses.saturating_mul(PROMOTED) > executed.before.local_accesses;
    let is_expanded = before.code > 0 && after.code > before.code.saturating_mul(2);
    let earned = if is_expanded { EARNED_EXPANDED } else { EARNED_PROMOTED };
    (after.stack_frame == 0 && is_indexed).then_some(earned)
}

/// The share of a kernel's time, in thousandths, that local memory and spills take. If no launch of the program is known, they
/// hit the L1 cache: whether they do depends on the threads, and findings are ordered better without. `None` if nothing was
/// executed.
pub fn share(counts: &Counts, usage: Usage, arch: Arch) -> Option<u32> {
    let without = Counts { local_accesses: 0, local_lines: 0, stored_lines: 0, lone_lines: 0, ..*counts };
    let without = Counts { local_depth: 0, slowest_local: 0, ..without };
    let weights = if counts.is_launched { WEIGHTS } else { hit(&WEIGHTS) };
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
    Some(old.time(&hit(weights)) / new.time(weights))
}

/// Whether the edited version costs something that the original does not.
fn adds(executed: &Executed, before: Usage, after: Usage) -> bool {
    let Executed { before: old, after: new } = executed;
    let is_more = |new: u64, old: u64| new > old + old / NEGLIGIBLE;
    is_more(new.issued, old.issued)
        || is_more(new.integer, old.integer)
        || new.shared_passes > old.shared_passes
        || new.constant_words > old.constant_words
        || after.warps < before.warps
}

fn percent(ratio: f64) -> u32 {
    (ratio * 100.0).round().clamp(1.0, 1e6) as u32
}

/// The time of a launch: cycles of a multiprocessor, for each warp if the program's launch is not known.
fn cycles(counts: &Counts, usage: Usage, arch: Arch, weights: &Weights) -> Option<f64> {
    let cycles = Work::of(counts, usage, arch)?.time(weights);
    (cycles > 0.0).then_some(cycles)
}

/// What a warp does on average, and how much of it others hide.
#[derive(Clone, Copy)]
struct Work {
    /// Resident warps.
    warps: f64,
    /// All warps of a multiprocessor in the program's launch, if that was counted.
    launched: Option<f64>,
    /// Cycles of the busiest of issue slots and arithmetic pipes.
    arithmetic: f64,
    special: f64,
    calls: f64,
    spills: f64,
    local_accesses: f64,
    loaded_lines: f64,
    stored_lines: f64,
    lone_lines: f64,
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
    /// Cycles until all lines of global memory have come.
    traffic: f64,
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
        let all = (counts.grid as f64 / MULTIPROCESSORS).ceil() * counts.block_warps as f64;
        let warps = f64::from(usage.warps).min(MOST_WARPS);
        let warps = if all > 0.0 { warps.min(all) } else { warps };
        let local_accesses = local(counts.local_accesses);
        let lines = local(counts.local_lines) / local_accesses.max(f64::MIN_POSITIVE);
        let loaded_lines = local(counts.local_lines.saturating_sub(counts.stored_lines));
        let global_accesses = each(counts.global_accesses);
        let chain = counts.slowest();
        let known = |depth: u64, is_known: bool, all: f64| if is_known { each(depth) } else { all };
        // The part of a frame that no thread touches takes no cache.
        let frame = usage.stack_frame as f64 * f64::from(WARP);
        let touched = if counts.touched_lines > 0 { each(counts.touched_lines) * LINE } else { frame };
        let shared = usage.shared as f64 * (warps / f64::from(usage.warps)).min(1.0);
        let miss = miss_rate(touched.min(frame) * warps, l1(arch, shared));
        let is_launched = counts.is_launched && all > 0.0;
        let lines_of_launch = each(counts.missed_lines) * counts.grid as f64 * counts.block_warps as f64;
        let from_memory = miss_rate(lines_of_launch * LINE, L2);
        let line = LINE_FROM_L2 * (1.0 + from_memory * (DEVICE_MEMORY - 1.0));
        Some(Self {
            warps,
            launched: is_launched.then_some(all),
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
            stored_lines: local(counts.stored_lines.saturating_sub(counts.lone_lines)),
            lone_lines: local(counts.lone_lines),
            missed_sectors: miss * loaded_lines * sectors(lines.max(1.0)),
            missed_local: miss * known(chain.local, counts.local_depth > 0, local_accesses),
            global_accesses,
            shared_passes: each(counts.shared_passes),
            constant_words: each(counts.constant_words),
            chain: tenths(chain.cycles),
            load_depth: known(chain.loads, counts.load_depth > 0, global_accesses),
            missed: each(counts.missed_lines) / global_accesses.max(1.0),
            traffic: if is_launched { line * each(counts.missed_lines) } else { 0.0 },
        })
    }

    /// Cycles of a multiprocessor for each warp. Arithmetic, memory and waiting overlap: the longest counts most.
    fn cycles(&self, weights: &Weights) -> f64 {
        let arithmetic = weights.issue * self.arithmetic
            + weights.special * self.special
            + weights.call * self.calls
            + weights.spill * self.spills;
        let memory = weights.local_access * self.local_accesses
            + weights.loaded_line * self.loaded_lines
            + weights.stored_line * (self.stored_lines + weights.lone * self.lone_lines)
            + weights.missed_sector * self.missed_sectors
            + weights.global_access * self.global_accesses
            + weights.shared_pass * self.shared_passes
            + weights.constant_word * self.constant_words;
        let waiting = weights.chain * self.chain
            + (weights.missed_load * self.missed + weights.global_latency) * self.load_depth
            + weights.missed_local * self.missed_local;
        arithmetic.hypot(memory).hypot(waiting / self.warps).hypot(self.traffic)
    }

    /// Cycles of the launch, if it is known, else those for each warp.
    fn time(&self, weights: &Weights) -> f64 {
        match self.launched {
            Some(warps) => LAUNCH + warps * self.cycles(weights),
            None => self.cycles(weights),
        }
    }
}

/// Bytes of L1 cache that shared memory leaves.
fn l1(arch: Arch, shared: f64) -> f64 {
    let left = match arch.number() {
        ..70 => 0.0,
        _ => (arch.gpu().shared as f64 - shared).max(0.0),
    };
    left + LEAST_L1 as f64
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
