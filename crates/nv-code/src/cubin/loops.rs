//! Loops of machine code, found once per function and looked up by instruction.

use ptx_syntax::{Graph, Loop, Loops};

use super::sass::INSTRUCTION_BYTES;

/// The natural loops of the functions in a section.
///
/// Ranges between a branch backwards and its target would not do: code that few threads need stands behind the rest and branches back
/// into it, which is no loop, and a part of a loop may stand there as well.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SassLoops {
    all: Vec<SassLoop>,
    /// By instruction: its innermost loop.
    innermost: Vec<Option<u32>>,
}

/// A loop of machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SassLoop {
    /// Offset of the first instruction of the header.
    pub header: u32,
    /// Offset of the last instruction that leads back to the header.
    pub branch: u32,
    /// How many loops there are around the code in it: 1 for an outermost loop.
    pub depth: u32,
}

impl SassLoops {
    /// Finds the loops in a graph of instructions.
    pub(super) fn new(graph: &Graph) -> Self {
        let loops = Loops::new(graph, &graph.dominators());
        let all = loops.all.iter().map(|info| SassLoop {
            header: offset(graph.block(info.header).start),
            branch: info.latches.iter().map(|latch| offset(graph.block(*latch).end - 1)).max().unwrap_or(0),
            depth: info.depth,
        });
        let blocks = graph.blocks.iter().enumerate();
        let innermost = blocks.flat_map(|(index, block)| {
            let around = u32::try_from(index).ok().and_then(|index| loops.innermost(ptx_syntax::Block(index)));
            (block.start..block.end).map(move |_| around.map(|Loop(number)| number))
        });
        Self { all: all.collect(), innermost: innermost.collect() }
    }

    /// The number of loops around an instruction.
    pub fn depth(&self, offset: u32) -> u32 {
        self.innermost(offset).map_or(0, |innermost| innermost.depth)
    }

    /// The innermost loop around an instruction.
    pub fn innermost(&self, offset: u32) -> Option<&SassLoop> {
        let number = self.innermost.get(offset as usize / INSTRUCTION_BYTES).copied().flatten()?;
        self.all.get(number as usize)
    }
}

fn offset(instruction: u32) -> u32 {
    instruction.saturating_mul(INSTRUCTION_BYTES as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_syntax::Jump;

    fn jump(at: u32, target: u32) -> Jump {
        Jump { at, targets: vec![target], falls_through: true }
    }

    fn always(at: u32, target: u32) -> Jump {
        Jump { falls_through: false, ..jump(at, target) }
    }

    fn leaves(at: u32) -> Jump {
        Jump { at, targets: Vec::new(), falls_through: false }
    }

    fn depths(count: usize, jumps: &[Jump], entries: &[u32]) -> Vec<u32> {
        let loops = SassLoops::new(&Graph::of_jumps(count, jumps, entries));
        (0..count as u32).map(|at| loops.depth(at * 16)).collect()
    }

    #[test]
    fn loops_nest() {
        let jumps = [jump(3, 1), jump(4, 1), jump(6, 0), leaves(7), always(8, 8)];
        let loops = SassLoops::new(&Graph::of_jumps(9, &jumps, &[0]));
        assert_eq!(depths(9, &jumps, &[0]), [1, 2, 2, 2, 2, 1, 1, 0, 0]);
        assert_eq!(loops.innermost(0x20), Some(&SassLoop { header: 0x10, branch: 0x40, depth: 2 }));
        assert_eq!(loops.innermost(0x60), Some(&SassLoop { header: 0, branch: 0x60, depth: 1 }));
        assert_eq!((loops.depth(0x90), loops.innermost(0x90)), (0, None));
    }

    #[test]
    fn code_behind_the_end_that_branches_back_is_no_loop() {
        // As `BRA.DIV` and `BRA.CONV` have it: 1 may go to 4, which goes on with 2.
        assert_eq!(depths(6, &[jump(1, 4), leaves(3), always(5, 2)], &[0]), [0; 6]);
        // Within a loop from 1 to 3, it belongs to the loop, and is one level deep.
        assert_eq!(depths(7, &[jump(1, 5), jump(3, 1), leaves(4), always(6, 2)], &[0]), [0, 1, 1, 1, 0, 1, 1]);
    }

    #[test]
    fn code_between_that_leaves_the_loop_is_not_in_it() {
        // 2 and 3 stand between the branch backwards and its target, and leave.
        assert_eq!(depths(5, &[jump(1, 4), leaves(3), always(4, 0)], &[0]), [1, 1, 0, 0, 1]);
    }

    #[test]
    fn functions_behind_a_kernel_have_loops_of_their_own() {
        let jumps = [leaves(1), jump(3, 2), leaves(4)];
        assert_eq!(depths(5, &jumps, &[0, 2]), [0, 0, 1, 1, 0]);
        assert_eq!(depths(5, &jumps, &[0]), [0; 5]);
    }
}
