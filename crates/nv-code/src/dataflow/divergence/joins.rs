//! Where threads that a branch sent different ways meet again, and the registers that then have different definitions.
//!
//! From a branch each way is followed under the name of its first block. A block that two names reach is a join, and goes
//! on under its own name (Karrenberg and Hack, "Improving performance of OpenCL on CPUs", 2012; LLVM's `SyncDependenceAnalysis`).

use std::collections::{BTreeSet, HashMap};

use ptx_syntax::{Block, Dominators, Graph, Reg};

use crate::dataflow::reaching::{ByRegister, Reaching};
use crate::ptx::PtxFunction;

/// Blocks that are followed for all branches of a function, for each of its blocks. Real branches meet again soon.
const MAX_STEPS_PER_BLOCK: usize = 64;

pub(super) struct Joins<'a> {
    graph: &'a Graph,
    after: Dominators,
    /// By block: its place in an order in which all but jumps back lead forward.
    order: Vec<u32>,
    /// By block: registers that may have different definitions when it is entered from different sides.
    merged: HashMap<Block, Vec<Reg>>,
    steps_left: usize,
}

impl<'a> Joins<'a> {
    pub fn new(function: &PtxFunction, reaching: &'a Reaching<'_>, uses: &ByRegister) -> Self {
        let graph = reaching.graph();
        let mut merged: HashMap<Block, Vec<Reg>> = HashMap::new();
        for register in (0..).map(Reg).take(function.registers.len()) {
            for block in reaching.merges(register, uses.of(register)) {
                merged.entry(block).or_default().push(register);
            }
        }
        let steps_left = graph.blocks.len().saturating_mul(MAX_STEPS_PER_BLOCK).saturating_add(1 << 16);
        Self { graph, after: graph.post_dominators(), order: order(graph), merged, steps_left }
    }

    /// Registers that a branch decides on; `None` where it takes too long to tell.
    pub fn of(&mut self, branch: usize) -> Option<Vec<Reg>> {
        let Some(block) = self.graph.block_of(branch) else { return Some(Vec::new()) };
        let joins = self.joins(block)?;
        let mut registers: BTreeSet<Reg> = BTreeSet::new();
        registers.extend(joins.iter().filter_map(|join| self.merged.get(join)).flatten());
        Some(registers.into_iter().collect())
    }

    fn joins(&mut self, branch: Block) -> Option<BTreeSet<Block>> {
        let graph = self.graph;
        let mut ways = Ways {
            branch,
            end: self.after.immediate(branch),
            has_end: false,
            order: &self.order,
            names: HashMap::new(),
            joins: BTreeSet::new(),
            open: BTreeSet::new(),
        };
        let first = &graph.block(branch).successors;
        if first.len() < 2 {
            return Some(ways.joins);
        }
        first.iter().for_each(|block| ways.reach(*block, *block));
        while let Some((_, block)) = ways.open.pop_first() {
            self.steps_left = self.steps_left.checked_sub(1)?;
            let Some(name) = ways.names.get(&block).copied() else { continue };
            // All other ways have ended: none is left to meet.
            if ways.open.is_empty() && !ways.has_end {
                break;
            }
            graph.block(block).successors.iter().for_each(|next| ways.reach(*next, name));
        }
        Some(ways.joins)
    }
}

/// The ways from one branch.
struct Ways<'o> {
    branch: Block,
    /// Where all ways meet at the latest.
    end: Option<Block>,
    /// Whether one has come there.
    has_end: bool,
    order: &'o [u32],
    /// By block: under which name it was reached.
    names: HashMap<Block, Block>,
    joins: BTreeSet<Block>,
    open: BTreeSet<(u32, Block)>,
}

impl Ways<'_> {
    fn reach(&mut self, block: Block, name: Block) {
        // The branch decides anew when it is met again.
        if block == self.branch {
            return;
        }
        let known = self.names.get(&block).copied();
        if known == Some(name) || self.joins.contains(&block) {
            return;
        }
        if known.is_some() {
            self.joins.insert(block);
        }
        self.names.insert(block, if known.is_some() { block } else { name });
        if Some(block) == self.end {
            self.has_end = true;
        } else {
            self.open.insert((self.order[block.index()], block));
        }
    }
}

/// By block: its number in reverse postorder of a depth-first search.
fn order(graph: &Graph) -> Vec<u32> {
    let count = graph.blocks.len();
    let mut order = vec![u32::MAX; count];
    let mut is_seen = vec![false; count];
    let mut next = u32::try_from(count).unwrap_or(u32::MAX);
    let mut path: Vec<(Block, usize)> = Vec::new();
    if count > 0 {
        path.push((Block(0), 0));
        is_seen[0] = true;
    }
    while let Some((block, at)) = path.last_mut() {
        match graph.block(*block).successors.get(*at).copied() {
            Some(successor) => {
                *at += 1;
                if !std::mem::replace(&mut is_seen[successor.index()], true) {
                    path.push((successor, 0));
                }
            }
            None => {
                next -= 1;
                order[block.index()] = next;
                path.pop();
            }
        }
    }
    order
}
