//! A static cost model: the work of a function, estimated from its instructions by kind and loop depth.
//!
//! The estimate is only good for comparing two versions of one function, as common parts cancel out. The weights come
//! from measurements on an H200. There, a select chain of 16 elements (some 48 instructions) took 5 times as long as
//! one read and one write of local memory with a warp-uniform index.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::cubin::SassLoops;
use crate::cubin::sass::{AccessKind, AddressBase, SassFunction};

/// Deeper loops count as this depth.
const DEPTHS: usize = 6;
/// Cost of a local load or store with a warp-uniform address, in simple instructions.
const LOCAL: u64 = 4;

/// Weighted instruction counts of a function, by loop depth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    instructions: [u64; DEPTHS],
    /// Local accesses at a fixed offset in the frame.
    fixed: [u64; DEPTHS],
    /// Local accesses with a computed address.
    computed: [u64; DEPTHS],
    /// The loads among `computed`.
    #[serde(default)]
    computed_loads: [u64; DEPTHS],
    /// Global accesses, which `instructions` includes.
    global: [u64; DEPTHS],
}

impl Work {
    /// Adds up the instructions of a function and its callees. The functions `inner` follow it in its section; those
    /// without a direct call are indirect callees, and each indirect call counts as their mean.
    pub fn of(function: &SassFunction<'_>, inner: &[Range<u32>]) -> Self {
        let parts = parts(function, inner);
        let behind_pointers = behind_pointers(function, inner);
        let loops = function.loops(parts.iter().copied());
        let calls = calls_by_depth(function, &parts, &loops, &behind_pointers);
        let local: BTreeMap<u32, (AddressBase, AccessKind)> = function
            .local_instructions()
            .into_iter()
            .map(|access| (access.offset, (access.base, access.kind)))
            .collect();
        let (mut own, mut choice) = (Self::default(), Self::default());
        for (offset, low) in function.opcodes() {
            let start = parts[part_of(offset, &parts)];
            let work = if behind_pointers.contains(&start) { &mut choice } else { &mut own };
            let own_depth = loops.depth(offset) as usize;
            let base = local.get(&offset);
            for (depth, count) in calls[part_of(offset, &parts)].iter().enumerate() {
                let depth = (own_depth + depth).min(DEPTHS - 1);
                match base {
                    Some((AddressBase::Stack | AddressBase::Absolute, _)) => work.fixed[depth] += count,
                    Some((AddressBase::Register(_) | AddressBase::Uniform { .. }, kind)) => {
                        work.computed[depth] += count;
                        work.computed_loads[depth] += if *kind == AccessKind::Load { *count } else { 0 };
                    }
                    None => work.instructions[depth] += count.saturating_mul(weight(low)),
                }
                work.global[depth] += if is_global(low) { *count } else { 0 };
            }
        }
        own.add_part(&choice, behind_pointers.len() as u64);
        own
    }

    /// Adds another count divided by `parts`.
    fn add_part(&mut self, other: &Self, parts: u64) {
        let add = |sum: &mut [u64; DEPTHS], all: &[u64; DEPTHS]| {
            for (sum, all) in sum.iter_mut().zip(all) {
                *sum = sum.saturating_add(all.checked_div(parts).unwrap_or(0));
            }
        };
        add(&mut self.instructions, &other.instructions);
        add(&mut self.fixed, &other.fixed);
        add(&mut self.computed, &other.computed);
        add(&mut self.computed_loads, &other.computed_loads);
        add(&mut self.global, &other.global);
    }

    /// The total cost, if each loop runs `rounds` times.
    pub fn total(&self, rounds: u64, costs: ComputedCosts) -> u64 {
        let cost = |depth: usize| {
            let local = self.fixed[depth].saturating_mul(LOCAL);
            let (all, loads) = (self.computed[depth], self.computed_loads[depth]);
            let stores = all.saturating_sub(loads).saturating_mul(costs.store);
            let computed = loads.saturating_mul(costs.load).saturating_add(stores);
            self.instructions[depth].saturating_add(local).saturating_add(computed)
        };
        weighted(cost, rounds)
    }

    /// The total cost of a later version of a function. The compiler unrolls loops by factors that the code does not
    /// show, but the number of global accesses executed stays the same. So a version that seems to execute more of them
    /// has loops with fewer iterations. With `keeps_loops`, a version that seems to execute fewer has loops with more
    /// iterations.
    pub fn total_after(&self, before: &Self, rounds: u64, costs: ComputedCosts, keeps_loops: bool) -> u64 {
        let total = self.total(rounds, costs);
        let visits = |work: &Self| weighted(|depth| work.global[depth], rounds);
        match (visits(before), visits(self)) {
            (old, new) if old > 0 && new > 0 && (new > old || keeps_loops) => {
                u64::try_from(u128::from(total) * u128::from(old) / u128::from(new)).unwrap_or(u64::MAX)
            }
            _ => total,
        }
    }
}

fn weighted(at_depth: impl Fn(usize) -> u64, rounds: u64) -> u64 {
    let mut factor = 1u64;
    let mut total = 0u64;
    for depth in 0..DEPTHS {
        total = total.saturating_add(at_depth(depth).saturating_mul(factor));
        factor = factor.saturating_mul(rounds.max(1));
    }
    total
}

/// The cost of local accesses with a computed address, in simple instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComputedCosts {
    pub load: u64,
    pub store: u64,
}

/// The cost of accesses to an array of local memory with a computed index. Threads of a warp that use different
/// elements need one transfer each; data that is only read stays in the cache, data that is written does not. On an
/// H200, with an index per thread, a read from 8 or 16 elements took the time of 12 instructions, from 32 elements that
/// of 25. A read and a write took that of 104, 176 and 236.
pub fn computed_costs(elements: u64, is_per_thread: bool) -> ComputedCosts {
    let (load, store) = match (is_per_thread, elements) {
        (false, _) => (LOCAL, LOCAL),
        (true, 0..=8) => (12, 90),
        (true, 9..=16) => (12, 165),
        (true, 17..=32) => (25, 210),
        (true, _) => (60, 400),
    };
    ComputedCosts { load, store }
}

/// Cost of an instruction other than a local access, by the low bits of its opcode.
fn weight(low: u64) -> u64 {
    match low & 0x1ff {
        // NOP
        0x118 => 0,
        // LD, LDG, ST, STG
        0x180 | 0x181 | 0x185 | 0x186 => 4,
        // LDS, STS
        0x184 | 0x188 => 2,
        // MUFU
        0x108 => 4,
        // DADD, DMUL, DSETP, DFMA
        0x028..=0x02b => 2,
        _ => 1,
    }
}

/// LD, LDG, ST, STG, and atomic operations.
fn is_global(low: u64) -> bool {
    matches!(low & 0x1ff, 0x180 | 0x181 | 0x185 | 0x186 | 0x18a | 0x18b | 0x18e | 0x1a8 | 0x1a9)
}

/// Functions that no direct call names.
fn behind_pointers(function: &SassFunction<'_>, inner: &[Range<u32>]) -> Vec<u32> {
    let named: BTreeSet<u32> = function.calls().map(|(_, target)| target).collect();
    let is_named = |start: &u32| named.contains(start);
    inner.iter().map(|code| code.start).filter(|start| !is_named(start)).collect()
}

/// Start offsets of the kernel, its direct callees, and its indirect callees.
fn parts(function: &SassFunction<'_>, inner: &[Range<u32>]) -> Vec<u32> {
    let named = function.calls().map(|(_, target)| target);
    let mut starts: Vec<u32> = named.chain(inner.iter().map(|code| code.start)).chain([0]).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

fn part_of(offset: u32, parts: &[u32]) -> usize {
    parts.partition_point(|start| *start <= offset).saturating_sub(1)
}

/// How often each part is entered, by the depth of the loops around the calls that lead there.
fn calls_by_depth(
    function: &SassFunction<'_>,
    parts: &[u32],
    loops: &SassLoops,
    behind_pointers: &[u32],
) -> Vec<[u64; DEPTHS]> {
    let through_pointers = function.calls_through_pointers();
    let chosen = through_pointers.flat_map(|offset| behind_pointers.iter().map(move |target| (offset, *target)));
    let calls: Vec<(u32, u32)> = function.calls().chain(chosen).collect();
    let mut start = vec![[0u64; DEPTHS]; parts.len()];
    start[0][0] = 1;
    let mut entered = start.clone();
    // One round per level of calls; the bound also ends recursion.
    for _ in 0..DEPTHS {
        let mut next = start.clone();
        for &(offset, target) in &calls {
            let depth = loops.depth(offset) as usize;
            for (outer, count) in entered[part_of(offset, parts)].iter().enumerate() {
                let here = &mut next[part_of(target, parts)][(outer + depth).min(DEPTHS - 1)];
                *here = here.saturating_add(*count);
            }
        }
        entered = next;
    }
    entered
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::gpu::arch::Arch;

    fn code(words: &[(u64, u64)]) -> Vec<u8> {
        words.iter().flat_map(|(lo, hi)| [lo.to_le_bytes(), hi.to_le_bytes()].concat()).collect()
    }

    const SAME: ComputedCosts = ComputedCosts { load: 4, store: 4 };
    const NOP: (u64, u64) = (0x7918, 0);
    const ADD: (u64, u64) = (0x7221, 0);
    /// `LDL R10, [R5]`, `STL [R1+0x50], R7`
    const COMPUTED: (u64, u64) = (0x0000_0000_050a_7983, 0x800);
    const FIXED: (u64, u64) = (0x0000_5007_0100_7387, 0x0000_0000_0010_0800);

    /// A branch over a number of instructions, counted from the next one, on sm_90.
    fn jump(opcode: u64, instructions: i64) -> (u64, u64) {
        let units = instructions * 4;
        let high = (units >> 8) as u64;
        (opcode | ((units as u64 & 0xff) << 16) | (high << 34), (high >> 30) & 0x3_ffff)
    }

    #[test]
    fn loops_and_local_accesses_weigh_more() {
        let bytes = code(&[ADD, ADD, COMPUTED, FIXED, jump(0x947, -4), NOP]);
        let work = Work::of(&SassFunction::new(&bytes, Arch::new(90)), &[]);
        // The loop contains all but the first and the last instruction.
        assert_eq!(work.total(1, SAME), 1 + 1 + 4 + 4 + 1);
        assert_eq!(work.total(8, SAME), 1 + 8 * (1 + 4 + 4 + 1));
        assert_eq!(work.total(8, ComputedCosts { load: 140, store: 220 }), 1 + 8 * (1 + 140 + 4 + 1));
    }

    #[test]
    fn a_function_that_is_called_in_a_loop_is_in_the_loop() {
        let bytes = code(&[ADD, jump(0x944, 3), jump(0x947, -3), NOP, NOP, ADD, ADD]);
        let work = Work::of(&SassFunction::new(&bytes, Arch::new(90)), &[]);
        // The loop is the first three instructions; behind the branch stand a no-op and then the function.
        assert_eq!(work.total(8, SAME), 8 * 3 + 8 * 2);
        let twice = code(&[jump(0x944, 2), jump(0x944, 1), NOP, ADD]);
        assert_eq!(Work::of(&SassFunction::new(&twice, Arch::new(90)), &[]).total(8, SAME), 2 + 2);
    }

    #[test]
    fn a_call_through_a_pointer_is_one_of_the_functions() {
        // A loop around an indirect call, then two functions, of which the call enters one.
        let bytes = code(&[(0x344, 0), jump(0x947, -2), ADD, ADD, ADD, ADD]);
        let work = Work::of(&SassFunction::new(&bytes, Arch::new(90)), &[0x20..0x40, 0x40..0x60]);
        assert_eq!(work.total(8, SAME), 8 * 2 + 8 * 2);
    }

    #[test]
    fn more_threads_need_more_transfers() {
        let both = |elements| {
            let costs = computed_costs(elements, true);
            costs.load + costs.store
        };
        assert_eq!(computed_costs(64, false), SAME);
        assert!(both(8) < both(16) && both(16) < both(17) && both(32) < both(64));
    }

    #[test]
    fn a_loop_that_the_compiler_unrolled_runs_less_often() {
        let load = (0x7981, 0);
        let once = Work::of(&SassFunction::new(&code(&[load, ADD, jump(0x947, -3)]), Arch::new(90)), &[]);
        let twice = Work::of(&SassFunction::new(&code(&[load, ADD, load, ADD, jump(0x947, -5)]), Arch::new(90)), &[]);
        assert!(twice.total(8, SAME) > once.total(8, SAME));
        assert!(twice.total_after(&once, 8, SAME, false) <= once.total(8, SAME));
        assert_eq!(once.total_after(&twice, 8, SAME, false), once.total(8, SAME));
        // The same loops, which the compiler no longer unrolls.
        assert_eq!(once.total_after(&twice, 8, SAME, true), once.total(8, SAME) * 2);
    }

    #[test]
    fn an_unrolled_loop_is_as_much_work() {
        let rolled = code(&[ADD, ADD, jump(0x947, -3), NOP]);
        let unrolled = code(&[ADD; 16]);
        let of = |bytes: &[u8]| Work::of(&SassFunction::new(bytes, Arch::new(90)), &[]).total(8, SAME);
        assert!(of(&unrolled) <= of(&rolled));
    }
}
