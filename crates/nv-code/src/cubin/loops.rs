//! Loops of machine code, found once per function and looked up by instruction.

use std::collections::BTreeMap;
use std::ops::Range;

use super::sass::INSTRUCTION_BYTES;

/// The loops of one function. A loop is the range from a branch target to the last backward branch to that target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SassLoops {
    /// In the order of their first instructions.
    pub ranges: Vec<Range<u32>>,
    /// By instruction: the number of loops around it.
    depth: Vec<u32>,
    /// By instruction: its innermost loop.
    innermost: Vec<Option<u32>>,
}

impl SassLoops {
    /// Finds the loops from the size of a function in bytes and its branches, as `(from, to)`. Several backward
    /// branches to one target are one loop. A branch to itself is not a loop: it is the padding after the last
    /// instruction.
    pub fn new(bytes: usize, branches: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut ends: BTreeMap<u32, u32> = BTreeMap::new();
        for (from, to) in branches.filter(|(from, to)| to < from) {
            let end = ends.entry(to).or_insert(from);
            *end = from.max(*end);
        }
        let step = INSTRUCTION_BYTES as u32;
        let ranges: Vec<Range<u32>> = ends.into_iter().map(|(start, end)| start..end + step).collect();
        let count = bytes / INSTRUCTION_BYTES;
        Self { depth: depths(&ranges, count), innermost: innermost(&ranges, count), ranges }
    }

    /// The number of loops around an instruction.
    pub fn depth(&self, offset: u32) -> u32 {
        self.depth.get(index(offset)).copied().unwrap_or(0)
    }

    /// The innermost loop around an instruction.
    pub fn innermost(&self, offset: u32) -> Option<&Range<u32>> {
        let range = self.innermost.get(index(offset)).copied().flatten()?;
        self.ranges.get(range as usize)
    }
}

fn index(offset: u32) -> usize {
    offset as usize / INSTRUCTION_BYTES
}

/// Nesting depth by instruction, as a running sum: plus one at the start of each range, minus one behind its end.
fn depths(ranges: &[Range<u32>], count: usize) -> Vec<u32> {
    let mut starts = vec![0u32; count + 1];
    let mut ends = vec![0u32; count + 1];
    for range in ranges {
        starts[index(range.start).min(count)] += 1;
        ends[index(range.end).min(count)] += 1;
    }
    let mut depth = 0;
    let steps = starts.into_iter().zip(ends).take(count);
    let here = |(start, end): (u32, u32)| {
        depth = depth + start - end;
        depth
    };
    steps.map(here).collect()
}

/// The innermost range by instruction. Ranges are taken from the smallest to the largest, and each fills the
/// instructions that are still free; a union-find skips the others.
fn innermost(ranges: &[Range<u32>], count: usize) -> Vec<Option<u32>> {
    let mut found = vec![None; count];
    let mut next_free: Vec<usize> = (0..=count).collect();
    let mut by_length: Vec<usize> = (0..ranges.len()).collect();
    by_length.sort_by_key(|range| ranges[*range].len());
    for range in by_length {
        let end = index(ranges[range].end).min(count);
        let mut at = free(&mut next_free, index(ranges[range].start).min(count));
        while at < end {
            found[at] = u32::try_from(range).ok();
            next_free[at] = at + 1;
            at = free(&mut next_free, at);
        }
    }
    found
}

/// The first free instruction at or behind `at`, with path halving.
fn free(next: &mut [usize], mut at: usize) -> usize {
    while next[at] != at {
        next[at] = next[next[at]];
        at = next[at];
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_nest_and_overlap() {
        // 1..4 inside 0..6, and 3..9, which overlaps the end of both.
        let branches = [(0x30, 0x10), (0x20, 0x10), (0x50, 0), (0x80, 0x30), (0x90, 0x90)];
        let loops = SassLoops::new(0xa0, branches.into_iter());
        assert_eq!(loops.ranges, [0..0x60, 0x10..0x40, 0x30..0x90]);
        let depths: Vec<u32> = (0..10).map(|at| loops.depth(at * 16)).collect();
        assert_eq!(depths, [1, 2, 2, 3, 2, 2, 1, 1, 1, 0]);
        let starts: Vec<Option<u32>> = (0..10).map(|at| loops.innermost(at * 16).map(|range| range.start)).collect();
        let outer = [Some(0), Some(0x10), Some(0x10), Some(0x10)];
        // Of two ranges of equal length the first is taken.
        let rest = [Some(0), Some(0), Some(0x30), Some(0x30), Some(0x30), None];
        assert_eq!(starts, [outer.as_slice(), rest.as_slice()].concat());
        assert_eq!((loops.depth(0xa0), loops.innermost(0xa0)), (0, None));
    }
}
