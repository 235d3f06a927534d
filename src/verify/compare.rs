//! Decides whether edits help, from the figures of a unit before and after.

use thiserror::Error;

use lmem_base::diagnostic::{Footprint, Speedup};
use lmem_base::gpu::Arch;
use lmem_base::timing::{TimedResults, Timing};
use lmem_compare::estimate::{self, Counts, Estimate, Executed, Usage};
use nv_code::ComputedCosts;

use super::measure::{Function, Measured};
use crate::verify::occupancy::{Occupancy, occupancy};

/// Assumed trip count of a loop if it is unknown, as in the order of findings.
const ROUNDS: u32 = 8;

/// Resolution of the estimate: one part in this many, about 3 %.
const TOLERANCE: u64 = 32;

/// Less than one part in this many of the local memory is not worth shared memory.
const MINOR_PART: u64 = 10;
/// The same for spills: what is left of them still decides.
const MINOR_PART_OF_SPILLS: u64 = 3;

/// Frames are multiples of this many bytes: one may lose padding beside an object.
const FRAME_UNIT: u64 = 8;

/// Where less than one part in this many of the local memory goes, nothing else may get worse, unless an estimate says that it
/// is faster.
const SLIGHT_PART: u64 = 20;

/// Machine code may grow by this many bytes, which caches of instructions hold, or by half.
const MORE_CODE: u64 = 32 << 10;

/// Facts about a candidate besides its figures.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub arch: Arch,
    /// Trip count of the loops that the candidate changes.
    pub rounds: Option<u32>,
    /// The candidate changes no existing loop.
    pub keeps_loops: bool,
    /// The candidate counts only if no spill is left.
    pub must_end_spills: bool,
    /// Blocks of the kernel may wait for each other: fewer that fit at once may wait without end.
    pub blocks_must_fit: bool,
    /// The candidate counts only if as many warps are resident as before.
    pub warps_must_stay: bool,
    /// Threads of a block, as the launches have them: of the largest if the candidate relies on that, else of the one that was
    /// executed, if it is the program's.
    pub threads: Option<u32>,
    /// Cost of local accesses with a computed address.
    pub costs: ComputedCosts,
}

/// How a difference begins where the edited kernel does not end.
const FAILS: &str = "the edited version fails";

/// Why edits are not suggested.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    #[error("does not compile{}", .0.as_ref().map(|said| format!(": {said}")).unwrap_or_default())]
    NotCompiled(Option<String>),
    /// The compiler warns of what it did not warn of before.
    #[error("new compiler warning: {0}")]
    Warned(String),
    /// Bytes of shared memory per block that a kernel would need, and how many it may have.
    #[error("{} of shared memory per block, {} at most", kib(*.0), kib(*.1))]
    SharedSize(u64, u64),
    /// A kernel's launches are not all seen, or their sizes are no constants.
    #[error("launches may add dynamic shared memory that leaves no room")]
    UnknownLaunch,
    #[error("a kernel disappears")]
    Missing,
    /// Registers for each thread, and the threads of a block that is launched.
    #[error("{0} registers for each thread: a block of {1}, as it is launched, does not run")]
    Registers(u32, u32),
    #[error("does not reduce local memory, or turns it into spills")]
    NoGain,
    /// For an edit of several variables.
    #[error("no better than the edit of one variable alone")]
    NoBetter,
    /// The next candidate may leave none.
    #[error("some spills remain")]
    SpillsLeft,
    #[error("shared memory for too little of the local memory")]
    Minor,
    #[error("takes registers or machine code for too little of the local memory")]
    Slight,
    /// Bytes of machine code.
    #[error("machine code {} → {}", kib(*.0 >> 10 << 10), kib(*.1 >> 10 << 10))]
    Code(u64, u64),
    /// In thousandths.
    #[error("shared memory, where local memory takes {}.{} % of the time", .0 / 10, .0 % 10)]
    Idle(u32),
    #[error("halves occupancy, saves less")]
    Occupancy,
    #[error("fewer warps are resident then")]
    Warps,
    #[error("fewer blocks fit at once, and blocks of the kernel may wait for each other")]
    Waiting,
    #[error("shared memory leaves {1} of {0} warps resident, saves less")]
    Room(u32, u32),
    #[error("estimated cost {}", rise(*.0, *.1))]
    Work(u64, u64),
    #[error("estimated {} if its local memory hits L1", slowdown(*.0))]
    Slower(u32),
    #[error("adds work, gains too little")]
    Doubtful,
    #[error("gains too little for shared memory")]
    ByHand,
    /// By its name in the source.
    #[error("more local memory in `{0}`")]
    OtherFunction(String),
    #[error("a kernel of the finding does not read the edited file")]
    OtherUnit,
    #[error("computes something else: {0}")]
    Results(String),
    #[error("measured {0}")]
    Measured(String),
    /// It was not compiled, for what was found of so many others.
    #[error("as for {0} edits like it of this kernel: {1}")]
    Alike(usize, Box<Fault>),
}

impl Fault {
    /// Whether the approach itself was tried and does not help, not only these edits.
    pub fn is_of_the_idea(&self) -> bool {
        if matches!(self, Self::Alike(..)) {
            return false;
        }
        self.is_of_any_block() || matches!(self, Self::SharedSize(..) | Self::Registers(..) | Self::OtherFunction(_))
    }

    /// Whether both versions end and their results differ. One that fails may be given an index outside the array, behind
    /// which the original happens to have memory.
    pub fn is_of_results(&self) -> bool {
        matches!(self, Self::Results(what) if !what.starts_with(FAILS))
    }

    /// Whether an edit only costs more than it gains alone: with those for other variables, it may gain.
    pub fn is_of_cost(&self) -> bool {
        match self {
            Self::Alike(_, of_others) => of_others.is_of_cost(),
            _ => matches!(
                self,
                Self::NoGain | Self::Minor | Self::Work(..) | Self::Slower(_) | Self::Doubtful | Self::ByHand
            ),
        }
    }

    /// Whether an estimate speaks against it, which what is measured on a GPU overrules.
    pub fn is_estimated(&self) -> bool {
        match self {
            Self::Alike(_, of_others) => of_others.is_estimated(),
            _ => matches!(self, Self::Work(..) | Self::Slower(_) | Self::Doubtful | Self::ByHand | Self::Room(..)),
        }
    }

    /// Whether another size of the block would not help either: a thread takes as much room in each.
    pub fn is_of_any_block(&self) -> bool {
        if let Self::Alike(_, of_others) = self {
            return of_others.is_of_any_block();
        }
        matches!(
            self,
            Self::NoGain
                | Self::Minor
                | Self::Slight
                | Self::Code(..)
                | Self::Idle(_)
                | Self::Occupancy
                | Self::Warps
                | Self::Work(..)
                | Self::Slower(_)
                | Self::Doubtful
                | Self::ByHand
                | Self::Room(..)
        )
    }
}

/// `256 KiB`; ptxas rounds nothing, so there may be less than one.
fn kib(bytes: u64) -> String {
    if bytes.is_multiple_of(1024) { format!("{} KiB", bytes / 1024) } else { format!("{bytes} B") }
}

/// The sizes in ptxas's message on too much shared memory: `uses too much shared data (0x40000 bytes, 0xc000 max)`.
pub fn shared_size(message: &str) -> Option<Fault> {
    let (_, sizes) = message.split_once("too much shared data (")?;
    let (needed, rest) = sizes.split_once(" bytes, ")?;
    let (most, _) = rest.split_once(" max")?;
    let number = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    Some(Fault::SharedSize(number(needed)?, number(most)?))
}

/// `2.2× higher`
fn rise(before: u64, after: u64) -> String {
    match (after.saturating_mul(10) / before.max(1)).max(10) {
        tenths @ 11.. => format!("{}.{}× higher", tenths / 10, tenths % 10),
        _ => "a little higher".to_string(),
    }
}

/// `1.8× slower`, for the time before in percent of the time after
fn slowdown(percent: u32) -> String {
    match 1000 / percent.max(1) {
        tenths @ 11.. => format!("{}.{}× slower", tenths / 10, tenths % 10),
        _ => "a little slower".to_string(),
    }
}

/// What the figures of one kernel say of a candidate.
#[derive(Debug)]
pub struct Judged {
    pub before: Footprint,
    pub after: Footprint,
    /// The instructions of the machine code, weighted by loops, speak against it. They know neither trip counts nor what
    /// a loop that is unrolled now did before: it counts only where no estimate from a run says more.
    pub doubt: Option<Fault>,
}

/// Judges one kernel that a candidate is for.
///
/// # Errors
/// The reason why the candidate does not help.
pub fn judge(before: &Function, after: Option<&Function>, terms: Terms) -> Result<Judged, Fault> {
    // A function that was inlined everywhere no longer exists, and neither does its frame.
    let gone = Function::default();
    let after = match after {
        Some(after) => after,
        None if before.is_entry => return Err(Fault::Missing),
        None => &gone,
    };
    let is_nothing = is_bare(before) && is_bare(after);
    if !falls(before, after) && !is_nothing {
        return Err(Fault::NoGain);
    }
    if terms.must_end_spills && after.usage.spilled() > 0 {
        return Err(Fault::SpillsLeft);
    }
    if after.usage.shared > before.usage.shared && is_minor(before, after) {
        return Err(Fault::Minor);
    }
    let rounds = u64::from(terms.rounds.unwrap_or(ROUNDS).max(ROUNDS));
    let old_work = before.work.total(rounds, terms.costs);
    let new_work = after.work.total_after(&before.work, rounds, terms.costs, terms.keeps_loops);
    let (old, new) = (resident(before, terms), resident(after, terms));
    // Without a block size, both are of the same one.
    let is_fewer = |(old, new): (Occupancy, Occupancy)| new.blocks < old.blocks || new.warps < old.warps;
    if terms.blocks_must_fit && before.is_entry && old.zip(new).is_none_or(is_fewer) {
        return Err(Fault::Waiting);
    }
    if terms.warps_must_stay && falls_in_warps(old, new) {
        return Err(Fault::Warps);
    }
    let halves = old.zip(new).filter(|(old, new)| new.warps * 2 <= old.warps);
    let ends_spills = is_only_without_spills(before, after) && new_work.saturating_mul(5) <= old_work.saturating_mul(4);
    let is_unpaid = halves.is_some_and(|(old, new)| {
        let is_half = new.warps * 2 >= old.warps;
        !(is_paid(old_work, new_work, old.warps, new.warps) || ends_spills && is_half)
    });
    let room = crowded(before, after, terms).filter(|(free, left)| !is_paid(old_work, new_work, *free, *left));
    let doubt = match room {
        _ if is_unpaid => Some(Fault::Occupancy),
        _ if is_slight(before, after) && (falls_in_warps(old, new) || after.code > before.code + before.code / 4) => {
            Some(Fault::Slight)
        }
        _ if new_work > old_work + old_work / TOLERANCE => Some(Fault::Work(old_work, new_work)),
        room => room.map(|(free, left)| Fault::Room(free, left)),
    };
    Ok(Judged { before: footprint(before, old, old_work), after: footprint(after, new, new_work), doubt })
}

/// Whether the machine code grows by more than an edit is worth that may not be faster: somebody waits for its compilation.
pub fn swells(before: &Function, after: Option<&Function>, speedup: Option<Speedup>) -> Option<Fault> {
    let (old, new) = (before.code, after?.code);
    let is_large = old > 0 && new > old.saturating_add(MORE_CODE) && new > old.saturating_add(old / 2);
    let is_faster = speedup.is_some_and(|speedup| speedup.low_percent > 100);
    (is_large && !is_faster).then_some(Fault::Code(old, new))
}

/// How much faster a kernel becomes, from what both versions execute. `None` if they were not run.
///
/// # Errors
/// It may become slower, or it gains too little for what it adds.
pub fn estimated(
    before: &Function,
    after: Option<&Function>,
    executed: Option<&Executed>,
    terms: Terms,
) -> Result<Option<Speedup>, Fault> {
    match estimate(before, after, executed, terms) {
        Some(estimate) if estimate.is_slower() => Err(Fault::Slower(estimate.cautious_percent)),
        Some(estimate) if estimate.is_doubtful() => Err(Fault::Doubtful),
        estimate => Ok(estimate.map(|estimate| estimate.speedup)),
    }
}

/// The least gain, in percent of the time after, for which a reader is asked to finish an edit that takes shared memory from each
/// block. Of the 120 in `launched.tsv` that nothing else refuses, 16 are expected to gain less: half of them were at most 1.14× faster,
/// and one slower (0.84), as was one of a newer set (0.90).
const EARNED_BY_HAND: u32 = 125;

/// The same where fewer warps are resident then.
const EARNED_BY_HAND_WITH_FEWER_WARPS: u32 = 130;

/// The same where the machine code seems to do more work than before, of which the estimate counts only what PTX shows. Of 58 edits of unseen
/// kernels there are four: 3.6, 2.5, 1.6 and 0.93× as fast, expected 2.2, 2.6, 1.6 and 2.1.
const EARNED_BY_HAND_WITH_MORE_WORK: u32 = 220;

/// Whether an edit that is finished by hand gains too little for the shared memory that it takes.
pub fn is_too_little_by_hand(
    before: &Function,
    after: Option<&Function>,
    speedup: Option<Speedup>,
    terms: Terms,
    is_more_work: bool,
) -> bool {
    let Some(after) = after.filter(|after| after.usage.shared > before.usage.shared) else { return false };
    let warps = |function: &Function| resident(function, terms).map(|occupancy| occupancy.warps);
    let has_fewer = warps(before).zip(warps(after)).is_some_and(|(old, new)| new < old);
    let earned = match (is_more_work, has_fewer) {
        (true, _) => EARNED_BY_HAND_WITH_MORE_WORK,
        (false, true) => EARNED_BY_HAND_WITH_FEWER_WARPS,
        (false, false) => EARNED_BY_HAND,
    };
    speedup.is_some_and(|speedup| speedup.percent < earned)
}

fn estimate(
    before: &Function,
    after: Option<&Function>,
    executed: Option<&Executed>,
    terms: Terms,
) -> Option<Estimate> {
    let executed = executed?;
    // Blocks of the launch that was counted, if it is one of the program.
    let terms = Terms { threads: executed.before.threads().or(terms.threads), ..terms };
    let of = |function: &Function| Some(usage(function, resident(function, terms)?));
    let (old, new) = (of(before)?, of(after?)?);
    estimate::estimate(executed, old, new, terms.arch)
}

/// The share of a kernel's time, in thousandths, that its local memory takes. `None` if it was not run.
pub fn share(kernel: &Function, counts: &Counts, arch: Arch) -> Option<u32> {
    let threads = counts.threads().or(kernel.threads);
    let occupancy = occupancy(arch.gpu(), kernel.usage.registers, kernel.usage.shared, threads)?;
    estimate::share(counts, usage(kernel, occupancy), arch)
}

fn usage(function: &Function, occupancy: Occupancy) -> Usage {
    // A frame of unknown size is at least not empty.
    let stack_frame = function.usage.stack_frame.max(u64::from(function.stack_is_unknown));
    let shared = function.usage.shared * u64::from(occupancy.blocks.unwrap_or(0));
    Usage { warps: occupancy.warps, stack_frame, spilled: function.spilled(), shared, code: function.code }
}

/// Judges what a GPU showed. That local memory decreases does not count if the kernel becomes slower.
///
/// # Errors
/// The reason why the candidate does not help.
pub fn judge_timing(timing: &Timing) -> Result<(), Fault> {
    match timing.results {
        TimedResults::Different => Err(Fault::Results(format!("other bytes on {}", timing.device))),
        _ if timing.is_slower() => Err(Fault::Measured(timing.to_string())),
        TimedResults::Same | TimedResults::Unstable => Ok(()),
    }
}

/// Whether at most half of the warps are resident that were, because of new shared memory.
pub fn halves_occupancy(before: &Function, after: Option<&Function>, terms: Terms) -> bool {
    let Some(after) = after.filter(|after| after.usage.shared > before.usage.shared) else { return false };
    let warps = |function: &Function| resident(function, terms).map(|occupancy| occupancy.warps);
    warps(before).zip(warps(after)).is_some_and(|(old, new)| new * 2 <= old)
}

/// Resident warps without and with the added shared memory, if it reduces their number. More registers are a different
/// matter: they let a warp have more loads in flight.
fn crowded(before: &Function, after: &Function, terms: Terms) -> Option<(u32, u32)> {
    let mut roomy = after.clone();
    roomy.usage.shared = after.usage.shared.min(before.usage.shared);
    let (free, left) = (resident(&roomy, terms)?.warps, resident(after, terms)?.warps);
    (left < free).then_some((free, left))
}

/// Whether a warp saves at least the fraction of its work that the multiprocessor loses in warps: fewer warps hide less
/// latency. A traversal stack, whose node loads dominate the time, became slower that way on an H200.
fn is_paid(old_work: u64, new_work: u64, free: u32, left: u32) -> bool {
    u128::from(new_work) * u128::from(free) <= u128::from(old_work) * u128::from(left)
}

/// Whether all that an edit changes is that registers take the place of spills. What then takes no instructions was measured on an H200:
/// with half the warps, two kernels were 1.70 and 1.39 times as fast, where 0.60 and 0.76 of the instructions were left; with fewer
/// warps lost, or more instructions saved, others were, too.
fn is_only_without_spills(before: &Function, after: &Function) -> bool {
    let has_spills = |function: &Function| function.spilled() > 0;
    has_spills(before) && !has_spills(after) && after.usage.shared <= before.usage.shared
}

/// Whether a function has no local memory of its own: its finding is about the frames of its callers.
fn is_bare(function: &Function) -> bool {
    !function.has_local_memory()
}

/// Whether a function that a finding is for has less local memory.
pub fn gains(before: &Footprint, after: &Footprint) -> bool {
    after.usage.stack_frame < before.usage.stack_frame || after.usage.spilled() < before.usage.spilled()
}

/// Whether local memory decreases and no other kind of it increases.
fn falls(before: &Function, after: &Function) -> bool {
    let frames = (before.usage.stack_frame, after.usage.stack_frame);
    let spills = (before.spilled(), after.spilled());
    let is_known = !after.stack_is_unknown || before.stack_is_unknown;
    is_known && frames.1 <= frames.0 && spills.1 <= spills.0 && (frames.1 < frames.0 || spills.1 < spills.0)
}

fn falls_in_warps(before: Option<Occupancy>, after: Option<Occupancy>) -> bool {
    before.zip(after).is_some_and(|(before, after)| after.warps < before.warps)
}

/// Whether nearly all of the frame and of the spills stays.
fn is_slight(before: &Function, after: &Function) -> bool {
    let all = |function: &Function| function.usage.stack_frame + function.spilled();
    all(before).saturating_sub(all(after)).saturating_mul(SLIGHT_PART) < all(before)
}

/// Whether less than a tenth of the frame and of the spills is gone, or less than a third where nothing but spills is.
fn is_minor(before: &Function, after: &Function) -> bool {
    let is_kept = |part: u64| {
        let is_kept = |before: u64, after: u64| before.saturating_sub(after).saturating_mul(part) < before.max(1);
        is_kept(before.usage.stack_frame, after.usage.stack_frame) && is_kept(before.spilled(), after.spilled())
    };
    is_kept(MINOR_PART) || (before.spilled() > after.spilled() && is_kept(MINOR_PART_OF_SPILLS))
}

/// Whether less than a tenth of the frame is gone even if all bytes of an object are. Without spills, nothing else can leave
/// local memory.
pub fn is_minor_at_best(before: &Function, bytes: u64) -> bool {
    let most = bytes.saturating_add(FRAME_UNIT);
    let is_known = before.spilled() == 0 && !before.stack_is_unknown;
    is_known && most.saturating_mul(MINOR_PART) < before.usage.stack_frame
}

/// Whether a function that a candidate is not for has more local memory than before.
pub fn suffers(before: Option<&Function>, after: &Function) -> bool {
    let nothing = Function::default();
    let before = before.unwrap_or(&nothing);
    after.usage.stack_frame > before.usage.stack_frame
        || after.spilled() > before.spilled()
        || (after.stack_is_unknown && !before.stack_is_unknown)
}

/// The first function with more local memory than before, except those for which `is_spared` is true.
pub fn first_that_suffers<'a>(
    before: &Measured,
    after: &'a Measured,
    is_spared: impl Fn(&str) -> bool,
) -> Option<&'a str> {
    let mut functions = after.functions.iter().filter(|(name, _)| !is_spared(name));
    let found = functions.find(|(name, function)| suffers(before.functions.get(*name), function));
    found.map(|(name, _)| name.as_str())
}

fn resident(function: &Function, terms: Terms) -> Option<Occupancy> {
    let usage = &function.usage;
    let threads = terms.threads.or(function.threads);
    occupancy(terms.arch.gpu(), usage.registers, usage.shared, threads)
}

fn footprint(function: &Function, occupancy: Option<Occupancy>, work: u64) -> Footprint {
    Footprint {
        usage: function.usage,
        blocks: occupancy.and_then(|occupancy| occupancy.blocks),
        occupancy_percent: occupancy.map(|occupancy| occupancy.percent),
        code_bytes: function.code,
        work,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::diagnostic::ResourceUsage;
    use lmem_base::timing::TimedVersion;
    use lmem_compare::estimate::Counts;
    use nv_code::{SassFunction, Work};

    const TERMS: Terms = Terms {
        arch: Arch::new(90),
        rounds: None,
        keeps_loops: false,
        must_end_spills: false,
        blocks_must_fit: false,
        warps_must_stay: false,
        threads: None,
        costs: ComputedCosts { load: 4, store: 4 },
    };

    fn function(stack_frame: u64, spills: u64, registers: u32, instructions: usize) -> Function {
        // FADD
        let code: Vec<u8> = std::iter::repeat_n((0x7221_u128).to_le_bytes(), instructions).flatten().collect();
        Function {
            usage: ResourceUsage { stack_frame, spill_stores: spills, registers, ..ResourceUsage::default() },
            is_entry: true,
            work: Work::of(&SassFunction::new(&code, Arch::new(90)), &[]),
            ..Function::default()
        }
    }

    fn fault(before: &Function, after: &Function) -> Option<Fault> {
        judge(before, Some(after), TERMS).map_or_else(Some, |judged| judged.doubt)
    }

    #[test]
    fn what_is_too_little_at_best_is_known_before() {
        assert!(is_minor_at_best(&function(256, 0, 40, 1), 16));
        // A frame may lose padding with the object, spills may end with it, and a frame of unknown size may be small.
        assert!(!is_minor_at_best(&function(240, 0, 40, 1), 16) && !is_minor_at_best(&function(256, 4, 40, 1), 16));
        assert!(!is_minor_at_best(&Function { stack_is_unknown: true, ..function(256, 0, 40, 1) }, 16));
        assert!(!is_minor_at_best(&function(0, 0, 40, 1), 0));
        // It agrees with what a compilation would show.
        let shared = |frame| {
            let mut after = function(frame, 0, 40, 1);
            after.usage.shared = 4096;
            after
        };
        assert_eq!(fault(&function(256, 0, 40, 1), &shared(240)), Some(Fault::Minor));
    }

    #[test]
    fn too_much_shared_memory_is_a_reason_of_its_own() {
        let said = "Entry function '_Z4histILi256EEvPKhiPj' uses too much shared data (0x40000 bytes, 0xc000 max)";
        let fault = shared_size(said).unwrap();
        assert_eq!(fault.to_string(), "256 KiB of shared memory per block, 48 KiB at most");
        assert!(fault.is_of_the_idea());
        assert_eq!(shared_size("uses too much shared data (many bytes, 0xc000 max)"), None);
    }

    #[test]
    fn less_local_memory_is_a_gain() {
        let before = function(128, 0, 32, 100);
        assert_eq!(fault(&before, &function(0, 0, 46, 103)), None);
        assert_eq!(fault(&before, &function(64, 0, 32, 90)), None);
        assert_eq!(fault(&before, &function(128, 0, 32, 50)), Some(Fault::NoGain));
        assert_eq!(fault(&function(128, 64, 32, 9), &function(64, 0, 40, 9)), None);
    }

    #[test]
    fn what_lies_in_the_frames_of_callers_is_theirs() {
        let callee = Function { is_entry: false, ..function(0, 0, 24, 20) };
        let Judged { before, after, .. } = judge(&callee, None, TERMS).unwrap();
        assert!(!gains(&before, &after));
        assert_eq!(fault(&callee, &function(8, 0, 24, 20)), Some(Fault::NoGain));
    }

    #[test]
    fn spills_in_place_of_a_frame_are_none() {
        assert_eq!(fault(&function(128, 0, 32, 100), &function(64, 64, 32, 100)), Some(Fault::NoGain));
    }

    #[test]
    fn next_to_nothing_is_worth_no_registers_and_no_code() {
        let of = |stack_frame, registers, code| Function { code, ..function(stack_frame, 0, registers, 50) };
        let before = of(13760, 31, 16 << 10);
        assert_eq!(fault(&before, &of(13440, 56, 16 << 10)), Some(Fault::Slight));
        assert_eq!(fault(&before, &of(13440, 31, 24 << 10)), Some(Fault::Slight));
        assert_eq!(fault(&before, &of(13440, 31, 16 << 10)), None);
        assert_eq!(fault(&before, &of(12000, 56, 16 << 10)), None);
    }

    #[test]
    fn much_more_machine_code_needs_a_gain() {
        let of = |kib: u64| Function { code: kib << 10, ..function(16, 0, 32, 50) };
        let speedup = |low_percent| Some(Speedup { percent: 150, low_percent, high_percent: 200 });
        let fault = |before, after, speedup| swells(&of(before), Some(&of(after)), speedup);
        assert_eq!(fault(584, 1241, None), Some(Fault::Code(584 << 10, 1241 << 10)));
        assert_eq!(fault(584, 1241, speedup(90)), Some(Fault::Code(584 << 10, 1241 << 10)));
        assert_eq!(fault(584, 1241, speedup(110)), None);
        assert_eq!(fault(584, 800, None), None);
        assert_eq!(fault(4, 30, None), None);
        assert_eq!(fault(0, 300, None), None);
    }

    #[test]
    fn half_the_warps_are_too_few() {
        assert_eq!(fault(&function(128, 0, 32, 100), &function(0, 0, 64, 51)), Some(Fault::Occupancy));
        assert_eq!(fault(&function(128, 0, 32, 100), &function(0, 0, 64, 50)), None);
    }

    #[test]
    fn warps_that_shared_memory_takes_must_be_paid_for() {
        let shared = |shared: u64, instructions: usize| {
            let function = function(0, 0, 32, instructions);
            let usage = ResourceUsage { shared, ..function.usage };
            Function { usage, threads: Some(128), ..function }
        };
        let before = Function { threads: Some(128), ..function(128, 0, 32, 100) };
        // 16 blocks fit, 13 with 16 KiB each.
        assert_eq!(fault(&before, &shared(16 << 10, 90)), Some(Fault::Room(64, 52)));
        assert_eq!(fault(&before, &shared(16 << 10, 81)), None);
        assert_eq!(fault(&before, &shared(4 << 10, 100)), None);
        // A kernel without launch bounds.
        let unknown = |function: Function| Function { threads: None, ..function };
        let terms = Terms { threads: Some(128), ..TERMS };
        let of = judge(&unknown(before), Some(&unknown(shared(16 << 10, 90))), terms);
        assert_eq!(of.unwrap().doubt, Some(Fault::Room(64, 52)));
    }

    #[test]
    fn little_is_not_worth_shared_memory() {
        let shared = |stack_frame: u64, spills: u64| {
            let function = function(stack_frame, spills, 32, 100);
            Function { usage: ResourceUsage { shared: 1 << 10, ..function.usage }, ..function }
        };
        let before = function(4400, 5752, 32, 100);
        assert_eq!(fault(&before, &shared(4312, 5248)), Some(Fault::Minor));
        assert_eq!(fault(&before, &shared(4312, 5100)), Some(Fault::Minor));
        assert_eq!(fault(&before, &shared(4312, 3800)), None);
        assert_eq!(fault(&before, &shared(3900, 5752)), None);
        assert_eq!(fault(&before, &function(4312, 5248, 32, 100)), None);
    }

    #[test]
    fn half_the_warps_for_shared_memory() {
        let terms = Terms { threads: Some(256), ..TERMS };
        let before = function(128, 0, 32, 100);
        let shared = |shared: u64| {
            let function = function(0, 0, 32, 10);
            Function { usage: ResourceUsage { shared, ..function.usage }, ..function }
        };
        // 8 blocks fit, 4 with 45 KiB each; more registers are another matter.
        assert!(halves_occupancy(&before, Some(&shared(45 << 10)), terms));
        assert!(!halves_occupancy(&before, Some(&shared(30 << 10)), terms));
        assert!(!halves_occupancy(&before, Some(&function(0, 0, 64, 10)), terms));
        assert!(!halves_occupancy(&before, None, terms));
    }

    #[test]
    fn more_work_than_was_saved_is_too_much() {
        assert_eq!(fault(&function(128, 0, 32, 100), &function(0, 0, 32, 104)), Some(Fault::Work(100, 104)));
    }

    #[test]
    fn a_kernel_that_executes_more_is_estimated_slower() {
        let counts = |issued: u64, local: u64| Counts {
            warps: 2,
            issued,
            code: 500,
            local_accesses: local,
            local_lines: local,
            ..Counts::default()
        };
        let (before, after) = (function(128, 0, 32, 100), function(0, 0, 32, 50));
        let of = |executed: Executed| estimated(&before, Some(&after), Some(&executed), TERMS);
        let chain = Executed { before: counts(10_000, 20), after: counts(90_000, 0) };
        let fault = of(chain).unwrap_err();
        assert!(matches!(fault, Fault::Slower(10..20)) && fault.is_of_the_idea(), "{fault:?}");
        let faster = of(Executed { before: counts(10_000, 2_000), after: counts(9_000, 0) }).unwrap().unwrap();
        assert!(faster.percent > 200, "{faster:?}");
        // The same small gain, with and without more instructions.
        let small = |issued: u64| of(Executed { before: counts(10_000, 4), after: counts(issued, 0) });
        assert!(small(10_000).is_ok_and(|speedup| speedup.is_some()));
        let doubtful = of(Executed { before: counts(10_000, 60), after: counts(10_600, 0) }).unwrap_err();
        assert!(doubtful == Fault::Doubtful && doubtful.is_of_the_idea(), "{doubtful:?}");
        assert_eq!(estimated(&before, Some(&after), None, TERMS), Ok(None));
        assert_eq!(estimated(&before, None, Some(&chain), TERMS), Ok(None));
    }

    #[test]
    fn what_is_finished_by_hand_must_gain_more() {
        let (before, mut after) = (function(128, 0, 32, 100), function(0, 0, 32, 50));
        let terms = Terms { threads: Some(256), ..TERMS };
        let is_little = |after: &Function, percent: u32| {
            let speedup = Speedup { percent, low_percent: percent / 2, high_percent: percent * 2 };
            is_too_little_by_hand(&before, Some(after), Some(speedup), terms, false)
        };
        assert!(!is_little(&after, 101));
        after.usage.shared = 8 << 10;
        assert!(is_little(&after, 124) && !is_little(&after, 125));
        after.usage.shared = 48 << 10;
        assert!(is_little(&after, 129) && !is_little(&after, 130));
        let speedup = |percent| Speedup { percent, low_percent: percent / 2, high_percent: percent * 2 };
        let with_more = |percent| is_too_little_by_hand(&before, Some(&after), Some(speedup(percent)), terms, true);
        assert!(with_more(219) && !with_more(220));
    }

    #[test]
    fn slowdowns_are_factors() {
        let said = |percent| Fault::Slower(percent).to_string();
        assert_eq!(said(55), "estimated 1.8× slower if its local memory hits L1");
        assert_eq!(said(96), "estimated a little slower if its local memory hits L1");
        assert_eq!(said(0), "estimated 100.0× slower if its local memory hits L1");
    }

    #[test]
    fn what_a_gpu_showed_decides() {
        let timing = |after: u64, results: TimedResults| {
            let version = |nanoseconds| TimedVersion { nanoseconds, ..TimedVersion::default() };
            let (before, after) = (version(10_000), version(after));
            let device = "GPU".to_string();
            Timing { device, megahertz: 1, blocks: 1, threads: 32, launches: 21, before, after, results }
        };
        assert_eq!(judge_timing(&timing(10_200, TimedResults::Same)), Ok(()));
        assert_eq!(judge_timing(&timing(5_000, TimedResults::Unstable)), Ok(()));
        assert!(matches!(judge_timing(&timing(11_000, TimedResults::Same)), Err(Fault::Measured(_))));
        assert!(matches!(judge_timing(&timing(5_000, TimedResults::Different)), Err(Fault::Results(_))));
    }

    #[test]
    fn kernels_stay_and_functions_may_go() {
        let kernel = function(128, 0, 32, 100);
        assert_eq!(judge(&kernel, None, TERMS).err(), Some(Fault::Missing));
        let called = Function { is_entry: false, ..kernel };
        assert!(judge(&called, None, TERMS).is_ok());
    }

    #[test]
    fn others_may_not_suffer() {
        let measured = |one: Function, other: Function| Measured {
            functions: [("one".to_string(), one), ("other".to_string(), other)].into(),
            ..Measured::default()
        };
        let before = measured(function(128, 0, 32, 1), function(0, 0, 32, 1));
        let after = measured(function(0, 0, 32, 1), function(16, 0, 32, 1));
        assert_eq!(first_that_suffers(&before, &after, |name| name == "one"), Some("other"));
        assert_eq!(first_that_suffers(&before, &after, |name| name == "other"), None);
    }
}
