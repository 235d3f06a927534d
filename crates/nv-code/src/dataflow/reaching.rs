//! Which definitions of a register may hold where it is read.
//!
//! PTX of today is not in single assignment: the register that a loop moves on is often the one that held the start of
//! the array before the loop, and the rest of an unrolled loop changes its counter in straight code. Only the way
//! through the branches tells which value is meant.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use crate::dataflow::flow::operands::written;
use crate::ptx::{Instruction, PtxFunction};

/// Definitions as indices of instructions, in order.
pub type Definitions = Rc<[usize]>;

pub struct Reaching<'a> {
    function: &'a PtxFunction,
    definitions: HashMap<&'a str, Definitions>,
    /// First instructions of the blocks, in order.
    starts: Vec<usize>,
    /// Block → blocks that lead to it.
    before: Vec<Vec<usize>>,
    known: RefCell<HashMap<(&'a str, usize), Definitions>>,
}

impl<'a> Reaching<'a> {
    pub fn new(function: &'a PtxFunction) -> Self {
        let mut definitions: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, instruction) in function.instructions.iter().enumerate() {
            for register in written(instruction) {
                definitions.entry(register).or_default().push(index);
            }
        }
        let definitions = definitions.into_iter().map(|(register, all)| (register, all.into())).collect();
        let starts = starts(function);
        let before = edges(function, &starts);
        Self { function, definitions, starts, before, known: RefCell::default() }
    }

    /// All definitions of a register.
    pub fn all(&self, register: &str) -> Definitions {
        self.definitions.get(register).map_or_else(Definitions::default, Rc::clone)
    }

    /// Those that may hold where instruction `at` reads the register.
    pub fn at(&self, register: &str, at: usize) -> Definitions {
        let Some((register, all)) = self.definitions.get_key_value(register) else { return Definitions::default() };
        if all.len() < 2 {
            return Rc::clone(all);
        }
        if let Some(known) = self.known.borrow().get(&(*register, at)) {
            return Rc::clone(known);
        }
        let found = self.search(all, at);
        // Code that nothing leads to may read anything.
        let found = if found.is_empty() { Rc::clone(all) } else { found.into_iter().collect::<Vec<_>>().into() };
        self.known.borrow_mut().insert((register, at), Rc::clone(&found));
        found
    }

    /// Goes back through the code until each way has met a definition.
    fn search(&self, all: &[usize], at: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut seen = HashSet::new();
        let mut open = vec![(self.block_of(at), at)];
        while let Some((block, end)) = open.pop() {
            if self.last_in(block, end, all, &mut found) {
                continue;
            }
            for before in self.before.get(block).into_iter().flatten() {
                if seen.insert(*before) {
                    open.push((*before, self.end_of(*before)));
                }
            }
        }
        found
    }

    /// Takes the definitions that hold at a place of a block; whether one surely does.
    fn last_in(&self, block: usize, end: usize, all: &[usize], found: &mut BTreeSet<usize>) -> bool {
        let start = self.starts.get(block).copied().unwrap_or(0);
        let before = all.partition_point(|definition| *definition < end);
        for definition in all[..before].iter().rev().take_while(|definition| **definition >= start) {
            found.insert(*definition);
            if self.function.instructions[*definition].guard.is_none() {
                return true;
            }
        }
        false
    }

    fn block_of(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    fn end_of(&self, block: usize) -> usize {
        self.starts.get(block + 1).copied().unwrap_or(self.function.instructions.len())
    }
}

/// Where blocks start: at labels, and behind branches.
fn starts(function: &PtxFunction) -> Vec<usize> {
    let behind = function.instructions.iter().enumerate().filter(|(_, instruction)| is_branch(instruction));
    let starts = function.labels.values().copied().chain(behind.map(|(index, _)| index + 1)).chain([0]);
    let starts: BTreeSet<usize> = starts.filter(|start| *start < function.instructions.len().max(1)).collect();
    starts.into_iter().collect()
}

fn is_branch(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), "bra" | "brx" | "ret" | "exit" | "trap")
}

/// For each block those that lead to it.
fn edges(function: &PtxFunction, starts: &[usize]) -> Vec<Vec<usize>> {
    let block_of = |at: usize| starts.partition_point(|start| *start <= at).saturating_sub(1);
    let mut before = vec![Vec::new(); starts.len()];
    for block in 0..starts.len() {
        let end = starts.get(block + 1).copied().unwrap_or(function.instructions.len());
        let last = end.checked_sub(1).and_then(|last| function.instructions.get(last));
        let falls_through = last.is_none_or(|last| !is_branch(last) || last.guard.is_some());
        let next = (falls_through && block + 1 < starts.len()).then_some(block + 1);
        let targets = last.into_iter().flat_map(|last| targets(last, function)).map(block_of);
        for target in next.into_iter().chain(targets) {
            before[target].push(block);
        }
    }
    before
}

/// Instructions that a branch leads to.
fn targets<'f>(branch: &'f Instruction, function: &'f PtxFunction) -> Vec<usize> {
    let labels: Vec<&String> = match branch.mnemonic() {
        "bra" => branch.operands.first().into_iter().collect(),
        "brx" => branch.operands.iter().filter_map(|table| function.branch_targets.get(table)).flatten().collect(),
        _ => Vec::new(),
    };
    labels.into_iter().filter_map(|label| function.labels.get(label).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::PtxModule;

    /// Definitions of `%r1` where the last instruction but the return reads it.
    fn definitions(body: &str) -> Vec<usize> {
        let module =
            PtxModule::parse(&format!(".visible .entry k()\n{{\n{body}\nadd.s32 %r9, %r1, 1;\nret;\n}}\n")).unwrap();
        let function = &module.functions[0];
        Reaching::new(function).at("%r1", function.instructions.len() - 2).to_vec()
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
}
