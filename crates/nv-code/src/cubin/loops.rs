//! Loops of machine code, by instruction: what is asked for each of many instructions is found once for all of them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::sass::INSTRUCTION_BYTES;

/// The loops of one function: ranges from a target of backward branches to the last of these.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SassLoops {
    /// In the order of their first instructions.
    pub ranges: Vec<Range<u32>>,
    /// By instruction: how many ranges it lies in.
    depth: Vec<u32>,
    /// By instruction: the smallest of them.
    innermost: Vec<Option<u32>>,
}

impl SassLoops {
    /// Of the branches of a function with so many bytes, as `(from, to)`. Several backward branches to one target are one loop;
    /// a branch to itself, as it follows the last instruction of a function, is padding.
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

    /// How many loops are around an instruction.
    pub fn depth(&self, offset: u32) -> u32 {
        self.depth.get(index(offset)).copied().unwrap_or(0)
    }

    /// The smallest loop around an instruction.
    pub fn innermost(&self, offset: u32) -> Option<&Range<u32>> {
        let range = self.innermost.get(index(offset)).copied().flatten()?;
        self.ranges.get(range as usize)
    }
}

fn index(offset: u32) -> usize {
    offset as usize / INSTRUCTION_BYTES
}

/// One more where a range starts, one less behind its end.
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

/// From the smallest range to the largest, each instruction that has none yet: those that have one are skipped together.
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

/// The first instruction from here on without a range, with path halving.
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
        // 1..4 inside of 0..6, and 3..9 across the end of both.
        let branches = [(0x30, 0x10), (0x20, 0x10), (0x50, 0), (0x80, 0x30), (0x90, 0x90)];
        let loops = SassLoops::new(0xa0, branches.into_iter());
        assert_eq!(loops.ranges, [0..0x60, 0x10..0x40, 0x30..0x90]);
        let depths: Vec<u32> = (0..10).map(|at| loops.depth(at * 16)).collect();
        assert_eq!(depths, [1, 2, 2, 3, 2, 2, 1, 1, 1, 0]);
        let starts: Vec<Option<u32>> = (0..10).map(|at| loops.innermost(at * 16).map(|range| range.start)).collect();
        let outer = [Some(0), Some(0x10), Some(0x10), Some(0x10)];
        // Of two of one length, the first.
        let rest = [Some(0), Some(0), Some(0x30), Some(0x30), Some(0x30), None];
        assert_eq!(starts, [outer.as_slice(), rest.as_slice()].concat());
        assert_eq!((loops.depth(0xa0), loops.innermost(0xa0)), (0, None));
    }
}
