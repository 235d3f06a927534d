//! Which registers of the machine hold values that are still needed, instruction by instruction, and which spill slots do.
//!
//! A backward analysis over the control flow of a section, as compilers do it: a register is live where some way leads to
//! a read of it without a write before. A write under a guard may not happen, and ends nothing. A slot is written by the
//! spill and read by the refill.
//!
//! What a call does to registers is either what the code of the callee does, or what the ABI promises of any callee. The
//! latter is what nvdisasm takes for all calls (`-plr`), and the test crates compare both with its listing.

mod definitions;
mod step;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ptx_syntax::{Block, Graph};

use self::step::{Call, Ending, Step};
use super::registers::RegisterSet;
use super::sass::{AccessKind, INSTRUCTION_BYTES, STACK_POINTER, SassFunction};

/// Limit on rounds in which the effects of routines that call each other are found.
const MAX_ROUNDS: usize = 8;
/// Limit on the words of all sets of slots, over all blocks: a hostile cubin could have more than fit into memory.
const MAX_SET_WORDS: usize = 1 << 24;
/// Limit on what all analyses of a section look at, in instructions and words of sets: loops may be nested on purpose so that
/// each round changes little.
const MAX_WORK: usize = 1 << 28;
/// Words of the sets that stand for registers.
const REGISTER_WORDS: usize = 4;

/// Where the effects of calls come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// The callee's code, where the section has it, else the ABI.
    Followed,
    /// The ABI.
    Abi,
}

/// What may be live: a register, or a word of the spill slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Register(u8),
    /// The number of the word in the frame, from the stack pointer.
    Slot(u32),
}

/// What a routine does to the registers of those that call it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Effects {
    /// Read before they are written.
    needed: RegisterSet,
    /// Written on some way.
    touched: RegisterSet,
    /// Written on all ways.
    written: RegisterSet,
}

/// The live ranges of all functions in a section.
pub struct LiveRanges {
    graph: Graph,
    steps: Vec<Step>,
    /// Numbers of slots, from 0, by the word of the frame.
    slots: Vec<u32>,
    effects: BTreeMap<u32, Effects>,
    /// Registers that a callee which is not followed keeps, and all others.
    kept: RegisterSet,
    clobbered: RegisterSet,
    /// Words per set.
    width: usize,
    /// By block: what is live before its first instruction.
    live_in: Vec<u64>,
    /// What is left of `MAX_WORK`.
    work: Cell<usize>,
}

/// What is live at a point.
struct Alive {
    set: Vec<u64>,
}

impl LiveRanges {
    /// Finds the live ranges in a section whose functions start at `entries`. `registers` is the number that the function has,
    /// `is_spill` tells spills and refills by their offset.
    ///
    /// `None` where an instruction is not known, or where it would take too long.
    pub fn new(
        sass: &SassFunction<'_>,
        entries: &[u32],
        registers: u8,
        is_spill: &dyn Fn(u32) -> bool,
        calls: Calls,
    ) -> Option<Self> {
        let mut steps: Vec<Step> =
            sass.words().map(|(offset, lo, hi)| Step::new(sass, offset, lo, hi, is_spill)).collect::<Option<_>>()?;
        // The stack pointer is in use from where it is first set, also where the code has another register restore it.
        for step in steps.iter_mut().filter(|step| step.operands.writes.contains(STACK_POINTER)).skip(1) {
            step.operands.reads.insert(STACK_POINTER);
        }
        let slots: BTreeSet<u32> = steps.iter().flat_map(Step::words).collect();
        let slots: Vec<u32> = slots.into_iter().collect();
        for step in &mut steps {
            if let Some((_, first, _)) = &mut step.slot {
                *first = slots.binary_search(first).map_or(0, |number| number as u32);
            }
        }
        let graph = sass.graph(entries.iter().copied());
        let width = REGISTER_WORDS + slots.len().div_ceil(64);
        // Each instruction is looked at with a set, too.
        if graph.blocks.len().saturating_mul(width) > MAX_SET_WORDS || steps.len().saturating_mul(width) > MAX_WORK {
            return None;
        }
        let is_kept = |register: &u8| match register {
            1 | 2 | 16..32 => true,
            // Four of each eight behind.
            32.. => register % 8 >= 4,
            _ => false,
        };
        let (kept, clobbered): (Vec<u8>, Vec<u8>) = (0..registers).partition(is_kept);
        let mut ranges = Self {
            graph,
            steps,
            slots,
            effects: BTreeMap::new(),
            kept: kept.into_iter().chain([STACK_POINTER]).collect(),
            clobbered: clobbered.into_iter().collect(),
            width,
            live_in: Vec::new(),
            work: Cell::new(MAX_WORK),
        };
        if calls == Calls::Followed && !ranges.follow_calls()? {
            ranges.effects.clear();
        }
        ranges.live_in = ranges.solve(ranges.kept)?;
        Some(ranges)
    }

    /// Finds the effects of the routines that are called; whether that came to an end. `None` past the limit on work.
    fn follow_calls(&mut self) -> Option<bool> {
        let called = self.steps.iter().filter_map(|step| match step.call {
            Some(Call::Direct(target)) => Some(target),
            _ => None,
        });
        self.effects = called.map(|target| (target, Effects::default())).collect();
        for _ in 0..MAX_ROUNDS {
            if self.effects.is_empty() {
                return Some(true);
            }
            let live_in = self.solve(RegisterSet::default())?;
            let (touched, written) = (self.touched()?, self.written()?);
            let mut has_changed = false;
            for target in self.effects.keys().copied().collect::<Vec<_>>() {
                let Some(block) = self.graph.block_of(target as usize).map(Block::index) else { continue };
                let needed = self.registers_of(&live_in, block);
                let effects = Effects { needed, touched: touched[block], written: written[block] };
                has_changed |= self.effects.insert(target, effects) != Some(effects);
            }
            if !has_changed {
                return Some(true);
            }
        }
        Some(false)
    }

    fn registers_of(&self, sets: &[u64], block: usize) -> RegisterSet {
        RegisterSet::from_words(std::array::from_fn(|word| sets[block * self.width + word]))
    }

    /// By block: what is live before it, if `at_return` is live where functions return.
    fn solve(&self, at_return: RegisterSet) -> Option<Vec<u64>> {
        let mut live_in = vec![0; self.graph.blocks.len() * self.width];
        let mut alive = Alive { set: vec![0; self.width] };
        self.until_stable(&mut |block| {
            self.at_end(block, &live_in, at_return, &mut alive);
            for step in self.steps_of(block).iter().rev() {
                self.pass(step, at_return, &mut alive);
            }
            let known = &mut live_in[block * self.width..][..self.width];
            let has_changed = known != alive.set;
            known.copy_from_slice(&alive.set);
            has_changed
        })?;
        Some(live_in)
    }

    /// Visits blocks, and those before a block that has changed, until none changes any more. `None` past the limit on work.
    fn until_stable(&self, visit: &mut dyn FnMut(usize) -> bool) -> Option<()> {
        let count = self.graph.blocks.len();
        let mut is_open = vec![true; count];
        let mut open: Vec<usize> = (0..count).collect();
        while let Some(block) = open.pop() {
            is_open[block] = false;
            let cost = self.steps_of(block).len() + self.width * (1 + self.graph.blocks[block].successors.len());
            self.work.set(self.work.get().checked_sub(cost)?);
            if visit(block) {
                for before in &self.graph.blocks[block].predecessors {
                    if !std::mem::replace(&mut is_open[before.index()], true) {
                        open.push(before.index());
                    }
                }
            }
        }
        Some(())
    }

    fn steps_of(&self, block: usize) -> &[Step] {
        let info = &self.graph.blocks[block];
        &self.steps[info.start as usize..info.end as usize]
    }

    /// What is live behind a block.
    fn at_end(&self, block: usize, live_in: &[u64], at_return: RegisterSet, alive: &mut Alive) {
        alive.set.fill(0);
        let info = &self.graph.blocks[block];
        for next in &info.successors {
            let set = &live_in[next.index() * self.width..][..self.width];
            alive.set.iter_mut().zip(set).for_each(|(word, other)| *word |= other);
        }
        let ends = self.steps_of(block).last().is_some_and(|step| step.ending.is_some());
        // The padding behind the code is a branch to itself.
        if info.successors.is_empty() && !ends {
            alive.add(self.at_ending(Ending::Exit, at_return));
        }
    }

    fn at_ending(&self, ending: Ending, at_return: RegisterSet) -> RegisterSet {
        match ending {
            Ending::Exit => [STACK_POINTER].into_iter().collect(),
            Ending::Return => at_return,
        }
    }

    /// Goes from behind an instruction to the point before it.
    fn pass(&self, step: &Step, at_return: RegisterSet, alive: &mut Alive) {
        if let Some(ending) = step.ending {
            alive.add(self.at_ending(ending, at_return));
        }
        if !step.is_conditional {
            alive.remove(self.killed(step));
        }
        alive.add(self.read(step));
        match step.slot {
            Some((AccessKind::Store, first, count)) if !step.is_conditional => alive.slots(first, count, false),
            Some((AccessKind::Load, first, count)) => alive.slots(first, count, true),
            _ => {}
        }
    }

    /// The effects of a call.
    fn effects(&self, call: Call) -> Effects {
        let followed = match call {
            Call::Direct(target) => self.effects.get(&target),
            Call::Unknown => None,
        };
        followed.copied().unwrap_or_else(|| Effects {
            needed: [0, STACK_POINTER].into_iter().collect(),
            touched: self.clobbered,
            written: self.clobbered,
        })
    }

    fn read(&self, step: &Step) -> RegisterSet {
        step.call.map_or(step.operands.reads, |call| step.operands.reads.union(self.effects(call).needed))
    }

    /// The registers whose values from before are gone behind an instruction.
    fn killed(&self, step: &Step) -> RegisterSet {
        step.call.map_or(step.operands.writes, |call| self.effects(call).written)
    }

    /// The registers that an instruction needs for what it writes.
    fn taken(&self, step: &Step) -> RegisterSet {
        step.call.map_or(step.operands.writes, |call| self.effects(call).touched)
    }

    /// By block: the registers that are written on some way from its start.
    fn touched(&self) -> Option<Vec<RegisterSet>> {
        let mut touched = vec![RegisterSet::default(); self.graph.blocks.len()];
        self.until_stable(&mut |block| {
            let behind = self.graph.blocks[block].successors.iter().map(|next| touched[next.index()]);
            let own = self.steps_of(block).iter().map(|step| self.taken(step));
            let all = behind.chain(own).fold(RegisterSet::default(), RegisterSet::union);
            std::mem::replace(&mut touched[block], all) != all
        })?;
        Some(touched)
    }

    /// By block: the registers that are written on all ways from its start to a return.
    fn written(&self) -> Option<Vec<RegisterSet>> {
        let mut written = vec![RegisterSet::all(); self.graph.blocks.len()];
        self.until_stable(&mut |block| {
            let returns = self.steps_of(block).last().is_some_and(|step| step.ending == Some(Ending::Return));
            let at_return = returns.then(RegisterSet::default);
            let behind = self.graph.blocks[block].successors.iter().map(|next| written[next.index()]);
            let behind = behind.chain(at_return).fold(RegisterSet::all(), RegisterSet::intersection);
            let own = self.steps_of(block).iter().filter(|step| !step.is_conditional);
            let all = own.fold(behind, |all, step| all.union(self.killed(step)));
            std::mem::replace(&mut written[block], all) != all
        })?;
        Some(written)
    }

    /// Visits the instructions of a block, the last one first, with what is live before each, or written by it.
    fn walk(&self, block: usize, visit: &mut dyn FnMut(usize, &Alive)) {
        let start = self.graph.blocks[block].start as usize;
        let mut alive = Alive { set: vec![0; self.width] };
        let mut shown = Alive { set: vec![0; self.width] };
        self.at_end(block, &self.live_in, self.kept, &mut alive);
        for (at, step) in self.steps_of(block).iter().enumerate().rev() {
            self.pass(step, self.kept, &mut alive);
            shown.set.copy_from_slice(&alive.set);
            shown.add(self.taken(step));
            visit(start + at, &shown);
        }
    }

    /// By instruction: the registers that are live before it, or written by it. This is what nvdisasm's `-plr` counts.
    pub fn registers(&self) -> Vec<RegisterSet> {
        let mut all = vec![RegisterSet::default(); self.steps.len()];
        for block in 0..self.graph.blocks.len() {
            self.walk(block, &mut |at, alive| all[at] = alive.registers());
        }
        all
    }

    /// The first instruction in a part of the code at which most is live, registers and slots together, and what that is.
    pub fn peak(&self, part: Range<u32>) -> Option<(u32, Vec<Place>)> {
        let part = part.start / INSTRUCTION_BYTES as u32..part.end.div_ceil(INSTRUCTION_BYTES as u32);
        let mut peak: Option<(usize, usize, usize)> = None;
        // The blocks are in the order of the code.
        let first = self.graph.blocks.partition_point(|block| block.end <= part.start);
        let last = self.graph.blocks.partition_point(|block| block.start < part.end);
        for block in first..last {
            self.walk(block, &mut |at, alive| {
                let count = alive.count();
                let is_more = peak.is_none_or(|(most, first, _)| count > most || (count == most && at < first));
                if is_more && part.contains(&(at as u32)) {
                    peak = Some((count, at, block));
                }
            });
        }
        let (_, at, block) = peak?;
        let mut live = Vec::new();
        self.walk(block, &mut |here, alive| {
            if here == at {
                live = alive.places().collect();
            }
        });
        for place in &mut live {
            if let Place::Slot(number) = place {
                *number = self.slots.get(*number as usize).copied().unwrap_or(0);
            }
        }
        Some(((at * INSTRUCTION_BYTES) as u32, live))
    }
}

impl Alive {
    fn add(&mut self, registers: RegisterSet) {
        self.set.iter_mut().zip(registers.words()).for_each(|(word, other)| *word |= other);
    }

    fn remove(&mut self, registers: RegisterSet) {
        self.set.iter_mut().zip(registers.words()).for_each(|(word, other)| *word &= !other);
    }

    fn slots(&mut self, first: u32, count: u8, are_live: bool) {
        for number in first..first + u32::from(count) {
            let Some(word) = self.set.get_mut(REGISTER_WORDS + number as usize / 64) else { continue };
            let bit = 1 << (number % 64);
            *word = if are_live { *word | bit } else { *word & !bit };
        }
    }

    fn registers(&self) -> RegisterSet {
        RegisterSet::from_words(std::array::from_fn(|word| self.set[word]))
    }

    fn count(&self) -> usize {
        self.set.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Slots by their number.
    fn places(&self) -> impl Iterator<Item = Place> {
        let slots = self.set[REGISTER_WORDS..].iter().enumerate().flat_map(|(index, word)| {
            let number = move |bit: u32| Place::Slot(index as u32 * 64 + bit);
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(number)
        });
        self.registers().iter().map(Place::Register).chain(slots)
    }
}

#[cfg(test)]
mod tests {
    use lmem_base::gpu::Arch;

    use super::*;

    type Words = (u64, u64);

    const EXIT: Words = (0x794d, 0x000f_ea00_0380_0000);
    const RETURN: Words = (0x0000_0000_1400_7950, 0x000f_ea00_03c3_ffff);

    /// `MOV Rd, 5`
    fn constant(d: u64) -> Words {
        (0x0000_0005_0000_7802 | d << 16, 0x000f_e400_0000_0f00)
    }

    /// `FADD Rd, Ra, Rb`
    fn sum(d: u64, a: u64, b: u64) -> Words {
        (0x7221 | d << 16 | a << 24 | b << 32, 0x000f_e200_0000_0000)
    }

    /// `STG.E [Ra.64], Rb`
    fn store(a: u64, b: u64) -> Words {
        (0x7986 | a << 24 | b << 32, 0x000f_e200_0c10_1904)
    }

    /// `STL [R1+8], Rb` and `LDL Rd, [R1+8]`
    fn spill(b: u64) -> Words {
        (0x0000_0800_0100_7387 | b << 32, 0x000f_e200_0010_0800)
    }

    fn refill(d: u64) -> Words {
        (0x0000_0800_0100_7983 | d << 16, 0x000e_a200_0010_0800)
    }

    /// The same under `@P0`.
    fn guarded((lo, hi): Words) -> Words {
        (lo & !0xf000, hi)
    }

    /// `@P0 BRA` over so many instructions, and `CALL.REL.NOINC`
    fn branch(over: i64) -> Words {
        relative(0x0947, over, 0x000f_ea00_0380_0000)
    }

    fn call(over: i64) -> Words {
        relative(0x7944, over, 0x000f_ea00_03c0_0000)
    }

    fn relative(opcode: u64, over: i64, hi: u64) -> Words {
        let units = over * 4;
        let (low, high) = (units as u64 & 0xff, (units >> 8) as u64);
        (opcode | low << 16 | high << 34, hi | high >> 30 & 0x3_ffff)
    }

    fn code(words: &[Words]) -> Vec<u8> {
        words.iter().flat_map(|(lo, hi)| [lo.to_le_bytes(), hi.to_le_bytes()].concat()).collect()
    }

    fn ranges(words: &[Words], calls: Calls) -> LiveRanges {
        let bytes = code(words);
        let is_spill = |offset: u32| matches!(words[offset as usize / 16].0 & 0xfff, 0x387 | 0x983);
        LiveRanges::new(&SassFunction::new(&bytes, Arch::new(90)), &[0], 40, &is_spill, calls).unwrap()
    }

    /// The registers that are live at each instruction, without the stack pointer.
    fn live(words: &[Words], calls: Calls) -> Vec<Vec<u8>> {
        let registers = ranges(words, calls).registers();
        let own = |set: RegisterSet| set.iter().filter(|register| *register != STACK_POINTER).collect();
        registers.into_iter().map(own).collect()
    }

    #[test]
    fn a_value_lives_from_its_write_to_its_last_read() {
        let words = [constant(3), constant(4), sum(5, 3, 4), sum(6, 5, 4), store(8, 6), EXIT];
        let expected: [&[u8]; 6] = [&[3, 8, 9], &[3, 4, 8, 9], &[3, 4, 5, 8, 9], &[4, 5, 6, 8, 9], &[6, 8, 9], &[]];
        assert_eq!(live(&words, Calls::Followed), expected);
    }

    #[test]
    fn a_write_under_a_guard_ends_nothing() {
        let words = [sum(3, 8, 8), guarded(sum(3, 9, 9)), store(8, 3), EXIT];
        assert_eq!(live(&words, Calls::Followed)[1], [3, 8, 9]);
        let ranges = ranges(&words, Calls::Followed);
        assert_eq!(ranges.definitions(&[Place::Register(3)], 0x20), [vec![0, 0x10]]);
    }

    #[test]
    fn what_is_read_in_the_next_round_lives_through_the_loop() {
        // 1: R4 = R3 + R4; 2: @P0 BRA 1
        let words = [constant(3), sum(4, 3, 4), branch(-2), store(8, 4), EXIT];
        assert_eq!(live(&words, Calls::Followed)[2], [3, 4, 8, 9]);
    }

    #[test]
    fn a_spilled_value_is_live_in_its_slot_and_computed_where_it_was() {
        let words = [
            sum(3, 8, 8),
            spill(3),
            constant(3),
            constant(4),
            sum(5, 3, 4),
            refill(6),
            sum(5, 5, 6),
            store(8, 5),
            EXIT,
        ];
        let ranges = ranges(&words, Calls::Followed);
        let (at, places) = ranges.peak(0..0x90).unwrap();
        // R1, R3, R4, R5, R8, R9 and the slot.
        assert_eq!((at, places.len(), places.last()), (0x40, 7, Some(&Place::Slot(2))));
        let definitions = ranges.definitions(&[Place::Slot(2), Place::Register(5)], at);
        assert_eq!(definitions, [vec![0], vec![0x40]]);
        let of_register = |register: u8, at: u32| ranges.definitions(&[Place::Register(register)], at);
        assert_eq!((of_register(6, 0x60), of_register(4, 0x40)), (vec![vec![0]], vec![vec![]]));
    }

    #[test]
    fn a_callee_that_is_followed_keeps_what_it_does_not_write() {
        // R5 lives across the call, whose callee writes R6 alone, from R4.
        let words = [constant(4), constant(5), call(3), sum(7, 5, 6), store(8, 7), EXIT, sum(6, 4, 4), RETURN];
        let followed = live(&words, Calls::Followed);
        // The callee returns to the address in R20 and R21.
        assert_eq!(followed[2], [4, 5, 6, 8, 9, 20, 21]);
        assert_eq!(followed[1], [4, 5, 8, 9, 20, 21]);
        // The ABI has R5 written by any callee, and says nothing of arguments.
        let promised = live(&words, Calls::Abi);
        assert!(!promised[0].contains(&4) || !promised[1].contains(&4));
        assert!(promised[2].contains(&15) && !promised[1].contains(&15));
    }

    #[test]
    fn what_is_not_known_has_no_live_ranges() {
        let bytes = code(&[(0x71ff, 0), EXIT]);
        assert!(LiveRanges::new(&SassFunction::new(&bytes, Arch::new(90)), &[0], 40, &|_| false, Calls::Abi).is_none());
    }
}
