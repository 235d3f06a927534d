//! Reaching definitions: which definitions of a register may hold where it is read.
//!
//! PTX is not in SSA form. The register that a loop advances is often the one that held the start of the array before
//! the loop, and the remainder of an unrolled loop steps its induction variable in straight-line code. Only the control
//! flow tells which definition is meant.
//!
//! A register together with its reaching definitions is a "value", and has a number; facts are cached by value. Most
//! registers have one definition and so one value, with the register's own number. The others are solved on the first
//! query, once for each block in which they are live.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use ptx_syntax::{Block, Graph, Reg};

use crate::ptx::PtxFunction;

/// Definitions, as indices of instructions in order.
pub type Definitions = Rc<[usize]>;

/// Dense number of a register with a set of reaching definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);

impl Value {
    /// The value with an index.
    pub(super) fn of(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Limit on blocks times words of a set, for one register. Beyond it, all definitions are assumed to reach. A register
/// of real code has a few definitions in some hundred blocks; this bounds memory and time on hostile input.
const MAX_WORDS: usize = 1 << 22;
/// Limit on sweeps over the blocks of one register; nested loops need one each.
const MAX_SWEEPS: usize = 64;
/// Limit on solved blocks, over all registers of a function.
const MAX_SOLVED: usize = 1 << 24;
/// Limit on definitions in all values of a function; beyond it no new values are made.
const MAX_MEMBERS: usize = 1 << 24;

/// Dense map from registers to instructions.
#[derive(Debug, Default)]
pub struct ByRegister {
    starts: Vec<u32>,
    instructions: Vec<usize>,
}

impl ByRegister {
    /// `visit` names the registers of each instruction.
    fn new(function: &PtxFunction, visit: impl Fn(usize, &mut dyn FnMut(Reg))) -> Self {
        let mut pairs: Vec<(u32, usize)> = Vec::new();
        for index in 0..function.instructions.len() {
            visit(index, &mut |register| pairs.push((register.0, index)));
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut starts = Vec::with_capacity(function.registers.len() + 1);
        let mut next = 0;
        for register in 0..=function.registers.len() {
            while pairs.get(next).is_some_and(|(known, _)| (*known as usize) < register) {
                next += 1;
            }
            starts.push(u32::try_from(next).unwrap_or(u32::MAX));
        }
        Self { starts, instructions: pairs.into_iter().map(|(_, index)| index).collect() }
    }

    /// The instructions of a register, in order.
    pub fn of(&self, register: Reg) -> &[usize] {
        match self.starts.get(register.index()..).and_then(|rest| rest.get(..2)) {
            Some([start, end]) => &self.instructions[*start as usize..*end as usize],
            _ => &[],
        }
    }
}

/// The values of one function.
pub struct Reaching<'a> {
    function: &'a PtxFunction,
    graph: Rc<Graph>,
    definitions: ByRegister,
    values: RefCell<Values>,
}

#[derive(Default)]
struct Values {
    /// By value: the register and its reaching definitions.
    all: Vec<(Reg, Definitions)>,
    /// Numbers of the values of registers with several definitions.
    numbers: HashMap<(Reg, Definitions), Value>,
    /// The value at the start of a block; `None` if no definition reaches it.
    entries: HashMap<(Reg, Block), Option<Value>>,
    /// Number of definitions in all values so far.
    members: usize,
}

impl<'a> Reaching<'a> {
    pub fn new(function: &'a PtxFunction, graph: Rc<Graph>) -> Self {
        let instructions = &function.instructions;
        let definitions = ByRegister::new(function, |index, visit| instructions[index].for_each_def(visit));
        let registers = (0..).map(Reg).take(function.registers.len());
        let all = registers.map(|register| (register, Definitions::from(definitions.of(register)))).collect();
        Self { function, graph, definitions, values: RefCell::new(Values { all, ..Values::default() }) }
    }

    /// The blocks of the function.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// All definitions of a register.
    pub fn all(&self, register: Reg) -> &[usize] {
        self.definitions.of(register)
    }

    /// Blocks, on paths to the instructions `uses`, whose predecessors bring different definitions of a register.
    pub fn merges(&self, register: Reg, uses: &[usize]) -> Vec<Block> {
        let all = self.definitions.of(register);
        if all.len() < 2 {
            return Vec::new();
        }
        let mut seen = BTreeSet::new();
        let mut open: Vec<Block> = Vec::new();
        for at in uses {
            let block = self.graph.block_of(*at).filter(|block| !self.within(all, *block, *at).1);
            open.extend(block.filter(|block| seen.insert(*block)));
        }
        while let Some(block) = open.pop() {
            for before in &self.graph.block(block).predecessors {
                let is_set = self.within(all, *before, self.graph.block(*before).end as usize).1;
                if !is_set && seen.insert(*before) {
                    open.push(*before);
                }
            }
        }
        let values = &mut *self.values.borrow_mut();
        let mut is_merge = |block: &Block| {
            let before = self.graph.block(*block).predecessors.iter();
            // A path without a definition does not count as a different one.
            let mut sides = before
                .filter_map(|before| self.before(values, register, *before, self.graph.block(*before).end as usize));
            let first = sides.next();
            sides.any(|side| Some(side) != first)
        };
        seen.into_iter().filter(|block| is_merge(block)).collect()
    }

    /// The definitions of a value.
    pub fn definitions(&self, value: Value) -> Definitions {
        self.values.borrow().all.get(value.index()).map(|(_, all)| Rc::clone(all)).unwrap_or_default()
    }

    /// The register that holds a value.
    pub fn register(&self, value: Value) -> Reg {
        self.values.borrow().all.get(value.index()).map_or(Reg(0), |(register, _)| *register)
    }

    /// The value that instruction `at` reads from a register.
    pub fn at(&self, register: Reg, at: usize) -> Value {
        let whole = Value(register.0);
        let all = self.definitions.of(register);
        if all.len() < 2 {
            return whole;
        }
        let at = at.min(self.function.instructions.len());
        // The position behind the last instruction still belongs to its block.
        let Some(block) = self.graph.block_of(at).or_else(|| self.graph.block_of(at.checked_sub(1)?)) else {
            return whole;
        };
        // Unreachable code may read any definition.
        self.before(&mut self.values.borrow_mut(), register, block, at).unwrap_or(whole)
    }

    /// The definitions that may hold at the end of a block.
    pub fn at_end(&self, register: Reg, block: Block) -> Definitions {
        let end = self.graph.block(block).end as usize;
        let value = self.before(&mut self.values.borrow_mut(), register, block, end);
        value.map(|value| self.definitions(value)).unwrap_or_default()
    }

    /// The value before instruction `end` of a block, or at the end of the block; `None` without a definition.
    fn before(&self, values: &mut Values, register: Reg, block: Block, end: usize) -> Option<Value> {
        let all = self.definitions.of(register);
        if values.members > MAX_MEMBERS {
            return Some(Value(register.0));
        }
        let (mut found, is_sure) = self.within(all, block, end);
        if found.is_empty() {
            return self.entry(values, register, block);
        }
        if !is_sure && let Some(entry) = self.entry(values, register, block) {
            found.extend(values.all[entry.index()].1.iter());
        }
        Some(values.number(register, found))
    }

    /// The definitions in a block that may hold before instruction `end`, and whether one of them is unconditional.
    fn within(&self, all: &[usize], block: Block, end: usize) -> (Vec<usize>, bool) {
        let start = self.graph.block(block).start as usize;
        let before = all.partition_point(|definition| *definition < end);
        let mut found = Vec::new();
        for definition in all[..before].iter().rev().take_while(|definition| **definition >= start) {
            found.push(*definition);
            if self.function.instructions[*definition].guard.is_none() {
                return (found, true);
            }
        }
        (found, false)
    }

    /// The value at the start of a block.
    fn entry(&self, values: &mut Values, register: Reg, block: Block) -> Option<Value> {
        if let Some(known) = values.entries.get(&(register, block)) {
            return *known;
        }
        self.solve(values, register, block);
        values.entries.get(&(register, block)).copied().flatten()
    }

    /// Solves a block and all blocks that its definitions come from.
    fn solve(&self, values: &mut Values, register: Reg, block: Block) {
        let all = self.definitions.of(register);
        let region = self.region(values, register, block);
        let words = all.len().div_ceil(64);
        let is_too_large = region.len().saturating_mul(words) > MAX_WORDS
            || values.entries.len().saturating_add(region.len()) > MAX_SOLVED;
        let sets = if is_too_large { None } else { self.sweep(values, register, &region, words) };
        for (index, block) in region.iter().enumerate() {
            let value = match &sets {
                Some(sets) => {
                    let set = &sets[index * words..(index + 1) * words];
                    let members: Vec<usize> = members(set).map(|bit| all[bit]).collect();
                    (!members.is_empty()).then(|| values.number(register, members))
                }
                None => Some(Value(register.0)),
            };
            values.entries.insert((register, *block), value);
        }
    }

    /// The blocks to solve for a block, in order: its predecessors back to those that surely set the register or are
    /// solved.
    fn region(&self, values: &Values, register: Reg, block: Block) -> Vec<Block> {
        let all = self.definitions.of(register);
        let mut seen = HashSet::from([block]);
        let mut open = vec![block];
        while let Some(block) = open.pop() {
            for before in &self.graph.block(block).predecessors {
                let is_known = values.entries.contains_key(&(register, *before));
                let is_set = || self.within(all, *before, self.graph.block(*before).end as usize).1;
                if !is_known && !is_set() && seen.insert(*before) {
                    open.push(*before);
                }
            }
        }
        let mut region: Vec<Block> = seen.into_iter().collect();
        region.sort_unstable();
        region
    }

    /// The definitions that reach the start of each block of a region, as bit sets; `None` if a limit is met.
    fn sweep(&self, values: &Values, register: Reg, region: &[Block], words: usize) -> Option<Vec<u64>> {
        let all = self.definitions.of(register);
        let mut sets = vec![0u64; region.len() * words];
        // For each block, the definitions that it adds at its end, and the block of the region whose definitions it
        // passes on.
        let mut sources: Vec<Vec<usize>> = Vec::with_capacity(region.len());
        let bit_of = |definition: usize| all.partition_point(|known| *known < definition);
        for (index, block) in region.iter().enumerate() {
            let mut through = Vec::new();
            let set = &mut sets[index * words..(index + 1) * words];
            for before in &self.graph.block(*block).predecessors {
                let (found, is_sure) = self.within(all, *before, self.graph.block(*before).end as usize);
                found.into_iter().for_each(|definition| insert(set, bit_of(definition)));
                if is_sure {
                    continue;
                }
                match (values.entries.get(&(register, *before)), region.binary_search(before)) {
                    (Some(Some(known)), _) => {
                        values.all[known.index()].1.iter().for_each(|definition| insert(set, bit_of(*definition)));
                    }
                    (Some(None), _) => {}
                    (None, Ok(other)) => through.push(other),
                    (None, Err(_)) => {}
                }
            }
            sources.push(through);
        }
        for _ in 0..MAX_SWEEPS {
            let mut has_changed = false;
            for (index, through) in sources.iter().enumerate() {
                for other in through {
                    for word in 0..words {
                        let (from, to) = (sets[other * words + word], &mut sets[index * words + word]);
                        has_changed |= from & !*to != 0;
                        *to |= from;
                    }
                }
            }
            if !has_changed {
                return Some(sets);
            }
        }
        None
    }
}

impl Values {
    /// The number of a value; `found` may be in any order.
    fn number(&mut self, register: Reg, mut found: Vec<usize>) -> Value {
        found.sort_unstable();
        found.dedup();
        let whole = Value(register.0);
        if self.all.get(whole.index()).is_some_and(|(_, all)| all.len() == found.len()) {
            return whole;
        }
        let next = Value(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        let key = (register, Definitions::from(found));
        if let Some(known) = self.numbers.get(&key) {
            return *known;
        }
        self.members += key.1.len();
        self.all.push(key.clone());
        self.numbers.insert(key, next);
        next
    }
}

fn insert(set: &mut [u64], bit: usize) {
    if let Some(word) = set.get_mut(bit / 64) {
        *word |= 1 << (bit % 64);
    }
}

fn members(set: &[u64]) -> impl Iterator<Item = usize> {
    let bits = |word: u64| (0..64).filter(move |bit| word & (1 << bit) != 0);
    set.iter().enumerate().flat_map(move |(index, word)| bits(*word).map(move |bit| index * 64 + bit))
}

/// The instructions that read each register, as operand or guard.
pub fn uses(function: &PtxFunction) -> ByRegister {
    ByRegister::new(function, |index, visit| function.instructions[index].for_each_use(visit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::PtxModule;

    /// The definitions of `%r1` that reach the last instruction before the return.
    fn definitions(body: &str) -> Vec<usize> {
        let module =
            PtxModule::parse(&format!(".visible .entry k()\n{{\n{body}\nadd.s32 %r9, %r1, 1;\nret;\n}}\n")).unwrap();
        let function = &module.functions[0];
        let reaching = Reaching::new(function, Rc::new(Graph::new(function)));
        let register = function.register_named("%r1").unwrap();
        reaching.definitions(reaching.at(register, function.instructions.len() - 2)).to_vec()
    }

    #[test]
    fn the_last_one_holds_in_straight_code() {
        assert_eq!(definitions("mov.u32 %r1, 0;\nadd.s32 %r1, %r1, 1;"), [1]);
        assert_eq!(definitions("mov.u32 %r1, 0;\n@%p1 add.s32 %r1, %r1, 1;"), [0, 1]);
    }

    #[test]
    fn branches_and_loops_merge() {
        assert_eq!(definitions("mov.u32 %r1, 0;\n@%p1 bra $L1;\nmov.u32 %r1, 1;\n$L1:"), [0, 2]);
        assert_eq!(definitions("mov.u32 %r1, 0;\n$L1:\nadd.s32 %r1, %r1, 1;\n@%p1 bra $L1;"), [1]);
        assert_eq!(definitions("mov.u32 %r1, 0;\nbra $L2;\n$L1:\nadd.s32 %r1, %r1, 1;\n$L2:\n@%p1 bra $L1;"), [0, 2]);
        assert_eq!(definitions("bra $L1;\nmov.u32 %r1, 7;\n$L1:"), [1]);
    }

    #[test]
    fn values_are_numbered_once() {
        let module = PtxModule::parse(
            ".visible .entry k()\n{\nmov.u32 %r1, 0;\n$L1:\nadd.s32 %r2, %r1, 1;\nadd.s32 %r3, %r1, 2;\nadd.s32 %r1, %r1, 1;\n\
             @%p1 bra $L1;\nadd.s32 %r4, %r1, 1;\nret;\n}\n",
        )
        .unwrap();
        let function = &module.functions[0];
        let reaching = Reaching::new(function, Rc::new(Graph::new(function)));
        let register = function.register_named("%r1").unwrap();
        let at = |index| reaching.at(register, index);
        assert_eq!((at(1), at(2)), (at(3), at(1)));
        assert_ne!(at(1), at(5));
        assert_eq!((reaching.register(at(5)), reaching.definitions(at(5)).to_vec()), (register, vec![3]));
    }

    /// Many definitions in many blocks: later queries are answered from the cache.
    #[test]
    fn long_chains_of_branches_are_solved_once() {
        let mut body = String::from("mov.u32 %r1, 0;\n");
        for index in 0..2000 {
            body += &format!("@%p1 bra $L{index};\nadd.s32 %r1, %r1, 1;\n$L{index}:\n");
        }
        assert_eq!(definitions(&body).len(), 2001);
    }
}
