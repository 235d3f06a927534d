//! Joins of divergent branches: where the paths of a branch meet again, and which registers have different definitions
//! there.
//!
//! From a branch, each path is followed under the label of its first block. A block that two labels reach is a join and
//! propagates its own label (Karrenberg and Hack, "Improving performance of OpenCL on CPUs", 2012; LLVM's
//! `SyncDependenceAnalysis`).

use std::collections::{BTreeSet, HashMap};

use ptx_syntax::{Block, Dominators, Graph, Opcode, Operand, Reg};

use crate::dataflow::loops::PtxLoops;
use crate::dataflow::reaching::{ByRegister, Reaching};
use crate::ptx::PtxFunction;

/// Limit on visits per block of a function, over all of its branches. The paths of real branches meet again soon.
const MAX_STEPS_PER_BLOCK: usize = 64;

pub(super) struct Joins<'a> {
    graph: &'a Graph,
    copies: Copies<'a>,
    after: Dominators,
    /// By block: its position in reverse postorder, in which all edges but back edges lead forward.
    order: Vec<u32>,
    /// By block: registers whose reaching definitions differ between its predecessors.
    merged: HashMap<Block, Vec<Reg>>,
    steps_left: usize,
}

/// The registers whose value depends on the decision of a branch.
#[derive(Default)]
pub(super) struct Decided {
    /// Those with different definitions where the paths meet.
    pub registers: Vec<Reg>,
    /// Those with which threads come back to the branch apart, or go on in further rounds of a loop while others wait in
    /// it. They may be the same all the same: a counter that both paths step.
    pub again: Vec<Reg>,
}

impl<'a> Joins<'a> {
    pub fn new(function: &'a PtxFunction, loops: &'a PtxLoops, reaching: &'a Reaching<'_>, uses: &ByRegister) -> Self {
        let graph = reaching.graph();
        let copies = Copies { function, loops, reaching };
        let mut merged: HashMap<Block, Vec<Reg>> = HashMap::new();
        for register in (0..).map(Reg).take(function.registers.len()) {
            for block in reaching.merges(register, uses.of(register)) {
                if !copies.are_one_value(register, &graph.block(block).predecessors) {
                    merged.entry(block).or_default().push(register);
                }
            }
        }
        let steps_left = graph.blocks.len().saturating_mul(MAX_STEPS_PER_BLOCK).saturating_add(1 << 16);
        Self { graph, copies, after: graph.post_dominators(), order: order(graph), merged, steps_left }
    }

    /// The registers whose definitions differ between the predecessors of a block.
    pub fn merged(&self, block: Block) -> &[Reg] {
        self.merged.get(&block).map_or(&[], Vec::as_slice)
    }

    /// What depends on the decision of a branch; `None` if the step limit is met.
    pub fn of(&mut self, branch: usize, loops: &PtxLoops) -> Option<Decided> {
        let Some(block) = self.graph.block_of(branch) else { return Some(Decided::default()) };
        let (ways, apart) = self.ways(block, loops)?;
        let mut registers: BTreeSet<Reg> = BTreeSet::new();
        for join in &ways.joins {
            // Other branches may bring other values there.
            let before = self.graph.block(*join).predecessors.iter().copied();
            let before: Vec<Block> =
                before.filter(|before| *before == block || ways.names.contains_key(before)).collect();
            let merged = self.merged(*join).iter().copied();
            registers.extend(merged.filter(|register| !self.copies.are_one_value(*register, &before)));
        }
        let again: BTreeSet<Reg> = apart.into_iter().flat_map(|block| self.merged(block)).copied().collect();
        Some(Decided { registers: registers.into_iter().collect(), again: again.into_iter().collect() })
    }

    /// The ways from a branch to its joins, and the blocks at which threads of later rounds have other values than those that wait at the
    /// end of all ways. (Those that left a loop are gone.) These are the branch itself if threads come back to it apart:
    /// on two ways, or on one while others wait; and the headers of loops that have the end within them too, where a way
    /// leads through the header before that.
    fn ways(&mut self, branch: Block, loops: &PtxLoops) -> Option<(Ways, Vec<Block>)> {
        let graph = self.graph;
        let start = |block: Block| graph.block(block).start as usize;
        let end = self.after.immediate(branch);
        let waiting: Vec<_> =
            loops.around(start(branch)).filter(|id| end.is_some_and(|end| loops.contains(*id, start(end)))).collect();
        let mut ways = Ways {
            branch,
            end,
            has_end: false,
            back: BTreeSet::new(),
            names: HashMap::new(),
            joins: BTreeSet::new(),
            open: BTreeSet::new(),
        };
        let first = &graph.block(branch).successors;
        if first.len() < 2 {
            return Some((ways, Vec::new()));
        }
        first.iter().for_each(|block| ways.reach(*block, *block, &self.order));
        while let Some((_, block)) = ways.open.pop_first() {
            self.steps_left = self.steps_left.checked_sub(1)?;
            let Some(name) = ways.names.get(&block).copied() else { continue };
            // Only one path is left, and it has no other to meet.
            if ways.open.is_empty() && !ways.has_end && ways.back.is_empty() {
                break;
            }
            graph.block(block).successors.iter().for_each(|next| ways.reach(*next, name, &self.order));
        }
        let is_met_at_branch = ways.back.len() > 1 || !waiting.is_empty() && !ways.back.is_empty();
        let headers = waiting.iter().filter_map(|id| loops.header(*id));
        let passed = headers.filter(|header| Some(*header) != end && ways.names.contains_key(header));
        let apart = passed.chain(is_met_at_branch.then_some(branch)).collect();
        Some((ways, apart))
    }
}

/// Definitions that copy one value: `mov %r, %x` on both sides of a branch gives `%r` the value of `%x`, whoever decides.
struct Copies<'a> {
    function: &'a PtxFunction,
    loops: &'a PtxLoops,
    reaching: &'a Reaching<'a>,
}

impl<'a> Copies<'a> {
    /// Whether all definitions of a register that hold at the end of some blocks copy one value.
    fn are_one_value(&self, register: Reg, before: &[Block]) -> bool {
        let mut copied = None;
        for definition in before.iter().flat_map(|before| self.reaching.at_end(register, *before).to_vec()) {
            let source = self.source(definition);
            if source.is_none() || copied.is_some_and(|copied| Some(copied) != source) {
                return false;
            }
            copied = source;
        }
        copied.is_some()
    }

    /// What a definition copies, if that is the same whenever the copy is made: a number, or a register that is set once and in no
    /// loop.
    fn source(&self, definition: usize) -> Option<&'a Operand> {
        let copy = &self.function.instructions[definition];
        let [_, source] = &*copy.operands else { return None };
        let is_plain = copy.opcode() == Opcode::Mov && copy.guard.is_none();
        let is_steady = match source {
            Operand::Imm(_) => true,
            Operand::Reg(register) => match self.reaching.all(*register) {
                [only] => {
                    let set = &self.function.instructions[*only];
                    set.guard.is_none() && self.loops.around(*only).next().is_none()
                }
                _ => false,
            },
            _ => false,
        };
        (is_plain && is_steady).then_some(source)
    }
}

/// The paths from one branch.
struct Ways {
    branch: Block,
    /// The immediate post-dominator of the branch: all paths meet there at the latest.
    end: Option<Block>,
    /// Whether a path has reached `end`.
    has_end: bool,
    /// The labels of paths that lead back to the branch.
    back: BTreeSet<Block>,
    /// By block: the label that reached it.
    names: HashMap<Block, Block>,
    joins: BTreeSet<Block>,
    open: BTreeSet<(u32, Block)>,
}

impl Ways {
    fn reach(&mut self, block: Block, name: Block, order: &[u32]) {
        // Behind the branch itself its next execution decides.
        if block == self.branch {
            self.back.insert(name);
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
            self.open.insert((order[block.index()], block));
        }
    }
}

/// By block: its position in the reverse postorder of a depth-first search.
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
