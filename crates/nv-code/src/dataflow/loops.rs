//! Natural loops of a PTX function: a header that dominates the source of a back edge to it, and all blocks in between.

use std::collections::BTreeSet;
use std::rc::Rc;

use ptx_syntax::{Block, Graph, Loop, Loops, Opcode, Operand};

use super::flow::Flow;
use crate::dataflow::flow::operands::constant;
use crate::ptx::PtxFunction;

/// The trip count of a loop, as far as its exits determine it. Ordered by how much it hinders unrolling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TripCount {
    Unknown,
    /// The only exit compares with a constant.
    Constant,
    /// The bound is known only at run time.
    RunTime,
    /// There are several exits: `break`, `return`.
    SeveralExits,
}

/// The loops of one function.
#[derive(Debug, Clone, Default)]
pub struct PtxLoops {
    loops: Loops,
    /// By loop: the branches that leave it, in order.
    exits: Vec<Vec<usize>>,
    /// By instruction: the innermost loop around it.
    innermost: Vec<Option<Loop>>,
    graph: Rc<Graph>,
}

/// Limit on the blocks of a loop that are searched for a way around some of them.
const MAX_BLOCKS: usize = 4096;

impl PtxLoops {
    pub fn new(function: &PtxFunction, graph: &Rc<Graph>) -> Self {
        let loops = Loops::new(graph, &graph.dominators());
        let innermost = (0..function.instructions.len())
            .map(|at| graph.block_of(at).and_then(|block| loops.innermost(block)))
            .collect();
        let mut exits: Vec<Vec<usize>> = vec![Vec::new(); loops.all.len()];
        for info in &graph.blocks {
            let Some(last) = (info.end as usize).checked_sub(1) else { continue };
            let Some(block) = graph.block_of(last) else { continue };
            for (id, _) in loops.around(block) {
                if info.may_leave || info.successors.iter().any(|next| !loops.contains(id, *next)) {
                    exits[id.index()].push(last);
                }
            }
        }
        Self { loops, exits, innermost, graph: Rc::clone(graph) }
    }

    /// The number of loops.
    pub fn count(&self) -> usize {
        self.exits.len()
    }

    /// Whether the function has a cycle that is no loop: one with several entries.
    pub fn has_irreducible(&self) -> bool {
        self.loops.has_irreducible
    }

    /// The loops within other loops, with their headers.
    pub fn nested(&self) -> impl Iterator<Item = (Loop, Block)> {
        let all = self.loops.all.iter().zip(0..).filter(|(info, _)| info.parent.is_some());
        all.map(|(info, number)| (Loop(number), info.header))
    }

    /// The block through which threads enter a loop.
    pub fn header(&self, id: Loop) -> Option<Block> {
        self.loops.all.get(id.index()).map(|info| info.header)
    }

    /// The innermost loop around an instruction.
    pub fn innermost(&self, instruction: usize) -> Option<Loop> {
        self.innermost.get(instruction).copied().flatten()
    }

    /// The loops around an instruction, innermost first.
    pub fn around(&self, instruction: usize) -> impl Iterator<Item = Loop> {
        std::iter::successors(self.innermost(instruction), |id| self.loops.all.get(id.index())?.parent)
    }

    /// Whether a loop contains an instruction, directly or in a nested loop.
    pub fn contains(&self, outer: Loop, instruction: usize) -> bool {
        self.around(instruction).any(|id| id == outer)
    }

    /// The innermost loop that contains both instructions.
    pub fn innermost_with(&self, one: usize, other: usize) -> Option<Loop> {
        self.around(one).find(|id| self.contains(*id, other))
    }

    /// Whether every round of a loop passes one of some instructions. A loop too large to search counts as one that does.
    pub fn passes_in_every_round(&self, id: Loop, steps: &BTreeSet<usize>) -> bool {
        let info = &self.loops.all[id.index()];
        let passing: BTreeSet<Block> = steps.iter().filter_map(|step| self.graph.block_of(*step)).collect();
        let mut seen = BTreeSet::from([info.header]);
        let mut open = vec![info.header];
        while let Some(block) = open.pop().filter(|_| seen.len() < MAX_BLOCKS) {
            if passing.contains(&block) {
                continue;
            }
            if info.latches.contains(&block) {
                return false;
            }
            let next = self.graph.block(block).successors.iter();
            open.extend(next.filter(|next| self.loops.contains(id, **next) && seen.insert(**next)));
        }
        true
    }

    /// The blocks outside of a loop from which it is entered.
    pub fn entries(&self, id: Loop) -> Vec<Block> {
        let Some(info) = self.loops.all.get(id.index()) else { return Vec::new() };
        let before = self.graph.block(info.header).predecessors.iter().copied();
        before.filter(|before| !self.loops.contains(id, *before)).collect()
    }

    /// The branches that leave a loop.
    pub fn exits(&self, id: Loop) -> &[usize] {
        self.exits.get(id.index()).map_or(&[], Vec::as_slice)
    }

    /// The branches that lead back to the header of a loop.
    pub fn closing(&self, id: Loop) -> impl Iterator<Item = usize> {
        let latches = self.loops.all.get(id.index()).map_or(&[][..], |info| &info.latches).iter();
        latches.filter_map(|latch| (self.graph.block(*latch).end as usize).checked_sub(1))
    }

    /// The trip count of a loop.
    pub fn trip(&self, id: Loop, flow: &Flow<'_>) -> TripCount {
        match self.exits(id) {
            [] => TripCount::Unknown,
            [exit] => length(*exit, id, flow),
            _ => TripCount::SeveralExits,
        }
    }

    /// The comparisons that the exits of a loop depend on.
    pub fn tests(&self, id: Loop, flow: &Flow<'_>) -> Vec<usize> {
        self.exits(id).iter().filter_map(|exit| test_of(*exit, flow)).collect()
    }
}

/// The comparison that decides an exit.
fn test_of(exit: usize, flow: &Flow<'_>) -> Option<usize> {
    let instructions = &flow.function.instructions;
    let test = flow.definition(instructions[exit].guard?.register, exit)?;
    (instructions[test].opcode() == Opcode::Setp).then_some(test)
}

/// The trip count of a loop with one exit.
fn length(exit: usize, id: Loop, flow: &Flow<'_>) -> TripCount {
    let guard = flow.function.instructions[exit].guard;
    if guard.is_none_or(|guard| flow.definition(guard.register, exit).is_none()) {
        return TripCount::Unknown;
    }
    let Some(test) = test_of(exit, flow) else { return TripCount::RunTime };
    let bounds = flow.function.instructions[test].operands.get(1..3).unwrap_or(&[]);
    let is_fixed = |operand: &Operand| constant(operand).is_some() || flow.sources(operand, test).is_constant();
    // A variable that counts down to a constant may start at a run-time value, or at that of another induction
    // variable.
    let is_open = |operand: &Operand| {
        let sources = flow.sources(operand, test);
        sources.is_data() || sources.steps.iter().any(|step| flow.loops.innermost(*step) != Some(id))
    };
    match bounds.iter().any(is_fixed) && !bounds.iter().any(is_open) {
        true => TripCount::Constant,
        false => TripCount::RunTime,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::PtxModule;

    /// The trip count of the innermost loop of a body.
    fn trip(body: &str) -> TripCount {
        let text = format!(
            ".visible .entry k(\n.param .u32 k_param_0\n)\n{{\nld.param.u32 %n, [k_param_0];\n{body}\nret;\n}}\n"
        );
        let module = PtxModule::parse(&text).unwrap();
        let flow = Flow::new(&module.functions[0]);
        flow.loops.trip(Loop(0), &flow)
    }

    /// `for (b = start; b != end; ++b)` in `for (a = 0; a < 20; ++a)`.
    fn nested(start: &str, end: &str) -> TripCount {
        trip(&format!(
            "mov.u32 %a, 0;\n$L1:\nmov.u32 %b, {start};\n$L2:\nadd.s32 %b, %b, 1;\nsetp.ne.s32 %p1, %b, {end};\n\
             @%p1 bra $L2;\nadd.s32 %a, %a, 1;\nsetp.lt.s32 %p2, %a, 20;\n@%p2 bra $L1;"
        ))
    }

    #[test]
    fn a_length_that_depends_on_another_counter_is_not_constant() {
        assert_eq!(nested("0", "20"), TripCount::Constant);
        assert_eq!(nested("0", "%n"), TripCount::RunTime);
        assert_eq!(nested("0", "%a"), TripCount::RunTime);
        assert_eq!(nested("%a", "20"), TripCount::RunTime);
    }

    #[test]
    fn code_that_stands_inside_a_loop_and_leaves_it_is_not_of_it() {
        // `break` goes through its own block, which stands before the back edge.
        let body = "mov.u32 %a, 0;\n$L1:\nsetp.gt.s32 %p2, %a, %n;\n@!%p2 bra $L2;\nmov.u32 %b, 1;\nbra $L3;\n$L2:\n\
                    add.s32 %a, %a, 1;\nsetp.ne.s32 %p1, %a, 9;\n@%p1 bra $L1;\n$L3:";
        assert_eq!(trip(body), TripCount::SeveralExits);
        // A block behind the end that jumps back into straight-line code does not form a loop.
        let body = "mov.u32 %a, 0;\n$L1:\nadd.s32 %a, %a, 1;\n@%p3 bra $OUT;\n$BACK:\nsetp.ne.s32 %p1, %a, 9;\n@%p1 bra $L1;\nret;\n\
                    $OUT:\nmov.u32 %c, 2;\nbra $BACK;";
        assert_eq!(trip(body), TripCount::Constant);
    }
}
