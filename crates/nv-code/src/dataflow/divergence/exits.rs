//! The exits of loops, and what threads take along through them. Threads that leave a loop in different iterations hold
//! values of different iterations afterwards (temporal divergence): outside the loop, and in the loop itself where an
//! outer loop enters it again with them.

use ptx_syntax::{Block, Graph, Loop, Reg};

use super::Level;
use super::joins::Joins;
use crate::dataflow::loops::PtxLoops;
use crate::dataflow::reaching::Reaching;
use crate::ptx::PtxFunction;

/// Limit on reaching definitions that are examined, per instruction; beyond it the result is "unknown".
const MAX_READS_PER_INSTRUCTION: usize = 256;
/// Limit on exits times blocks of a function. Beyond it, whatever is behind a loop is taken to be behind each exit.
const MAX_BEHIND: usize = 1 << 22;

/// By loop: how threads leave it.
pub(super) struct Exits {
    loops: Vec<LoopExits>,
    behind_left: usize,
}

#[derive(Default)]
struct LoopExits {
    /// The highest level of all exits.
    any: Level,
    /// By exit that is not the same in all threads: its branch, its level, and the blocks that it leads to; `None` if
    /// these are not known.
    diverging: Vec<(usize, Level, Option<Vec<bool>>)>,
}

impl Exits {
    pub fn new(loops: &PtxLoops) -> Self {
        let none = || LoopExits { any: Level::Same, diverging: Vec::new() };
        Self { loops: (0..loops.count()).map(|_| none()).collect(), behind_left: MAX_BEHIND }
    }

    /// Nothing is certain.
    pub fn give_up(&mut self) {
        for exits in &mut self.loops {
            exits.any = exits.any.max(Level::Unknown);
            exits.diverging.clear();
        }
    }

    /// Raises the level of a branch that leaves a loop; whether that changes anything.
    pub fn raise(&mut self, id: Loop, branch: usize, level: Level, loops: &PtxLoops, graph: &Graph) -> bool {
        let exits = &mut self.loops[id.index()];
        exits.any = exits.any.max(level);
        match exits.diverging.iter_mut().find(|(known, ..)| *known == branch) {
            Some((_, known, _)) if level <= *known => return false,
            Some((_, known, _)) => *known = level,
            None => {
                // All threads behind a loop with one exit left it there.
                let is_cheap = loops.exits(id).len() > 1 && self.behind_left >= graph.blocks.len();
                let blocks = is_cheap.then(|| {
                    self.behind_left -= graph.blocks.len();
                    behind(branch, id, loops, graph)
                });
                exits.diverging.push((branch, level, blocks));
            }
        }
        true
    }

    /// Whether threads at a block behind a loop left it in different iterations. Those that took an exit that does not
    /// lead there do not count.
    pub fn level(&self, id: Loop, block: Option<Block>) -> Level {
        let exits = &self.loops[id.index()];
        let Some(block) = block.filter(|_| !exits.diverging.is_empty()) else { return exits.any };
        let leads_there = |blocks: &Option<Vec<bool>>| blocks.as_ref().is_none_or(|blocks| blocks[block.index()]);
        let levels = exits.diverging.iter().filter(|(_, _, blocks)| leads_there(blocks)).map(|(_, level, _)| *level);
        levels.max().unwrap_or(Level::Same)
    }
}

/// The blocks that may run after a branch left a loop.
fn behind(branch: usize, id: Loop, loops: &PtxLoops, graph: &Graph) -> Vec<bool> {
    let mut is_behind = vec![false; graph.blocks.len()];
    let is_outside = |block: &Block| !loops.contains(id, graph.block(*block).start as usize);
    let mut open: Vec<Block> = match graph.block_of(branch) {
        Some(block) => graph.block(block).successors.iter().copied().filter(is_outside).collect(),
        None => Vec::new(),
    };
    while let Some(block) = open.pop() {
        if !std::mem::replace(&mut is_behind[block.index()], true) {
            open.extend(&graph.block(block).successors);
        }
    }
    is_behind
}

/// What threads take along out of a loop.
#[derive(Default)]
pub(super) struct Taken {
    /// The instructions outside that use a value computed in the loop.
    pub uses: Vec<usize>,
    /// The registers with which an outer loop enters it again, and the block that it is entered from.
    pub registers: Vec<(Reg, Block)>,
}

/// By loop, what threads take along; `None` if a limit is met.
pub(super) fn taken(
    function: &PtxFunction,
    loops: &PtxLoops,
    reaching: &Reaching<'_>,
    joins: &Joins<'_>,
) -> Option<Vec<Taken>> {
    let mut taken: Vec<Taken> = (0..loops.count()).map(|_| Taken::default()).collect();
    if taken.is_empty() {
        return Some(taken);
    }
    let mut budget = function.instructions.len().saturating_mul(MAX_READS_PER_INSTRUCTION);
    for (at, instruction) in function.instructions.iter().enumerate() {
        instruction.for_each_use(&mut |register| {
            let definitions = reaching.definitions(reaching.at(register, at));
            budget = budget.saturating_sub(definitions.len());
            if budget > 0 {
                let all = definitions.iter().flat_map(|definition| left(*definition, at, loops));
                all.for_each(|id| taken[id.index()].uses.push(at));
            }
        });
    }
    for (id, header) in loops.nested() {
        let before = reaching.graph().block(header).predecessors.iter();
        for before in before.filter(|before| !loops.contains(id, reaching.graph().block(**before).start as usize)) {
            for register in joins.merged(header) {
                let definitions = reaching.at_end(*register, *before);
                budget = budget.saturating_sub(definitions.len());
                if budget > 0 && definitions.iter().any(|definition| loops.contains(id, *definition)) {
                    taken[id.index()].registers.push((*register, *before));
                }
            }
        }
    }
    (budget > 0).then_some(taken)
}

/// The loops around a definition that do not contain the instruction `at`.
pub(super) fn left(definition: usize, at: usize, loops: &PtxLoops) -> impl Iterator<Item = Loop> {
    loops.around(definition).take_while(move |id| !loops.contains(*id, at))
}
