//! Ranges within each other, like the blocks of a file: which lie around an offset.

use std::cmp::Reverse;
use std::ops::Range;

/// Ranges by number, so that those around an offset are found without looking at all of them.
#[derive(Debug, Default)]
pub(super) struct Nest {
    /// With their numbers; sorted by start, the longest first of those that start together.
    ranges: Vec<(Range<usize>, usize)>,
    /// Index of the next range that ends later or together; it lies around this one.
    around: Vec<Option<usize>>,
    /// Whether two ranges overlap and neither lies within the other. Blocks never do; then all are looked at.
    overlaps: bool,
}

impl Nest {
    pub fn of(ranges: impl Iterator<Item = Range<usize>>) -> Self {
        let mut ranges: Vec<(Range<usize>, usize)> =
            ranges.enumerate().map(|(number, range)| (range, number)).collect();
        ranges.sort_by_key(|(range, number)| (range.start, Reverse(range.end), *number));
        let mut around = Vec::with_capacity(ranges.len());
        let mut open: Vec<usize> = Vec::new();
        let mut overlaps = false;
        for (index, (range, _)) in ranges.iter().enumerate() {
            while let Some(last) = open.pop_if(|last| ranges[*last].0.end < range.end) {
                overlaps |= ranges[last].0.end > range.start;
            }
            around.push(open.last().copied());
            open.push(index);
        }
        Self { ranges, around, overlaps }
    }

    /// Numbers of the ranges around an offset: those that start last come first.
    pub fn around(&self, at: usize) -> impl Iterator<Item = usize> {
        let started = self.ranges.partition_point(|(range, _)| range.start <= at);
        let before = |index: &usize| match self.overlaps {
            true => index.checked_sub(1),
            false => self.around[*index],
        };
        let indices = std::iter::successors(started.checked_sub(1), before);
        indices
            .map(|index| &self.ranges[index])
            .filter(move |(range, _)| range.contains(&at))
            .map(|(_, number)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_around_an_offset_are_those_that_contain_it() {
        let nested = [0..100, 10..40, 12..20, 12..40, 50..60, 50..60, 70..100, 75..75, 90..100];
        let overlapping = [0..10, 5..15, 6..8, 5..15];
        for ranges in [&nested[..], &overlapping[..], &[]] {
            let nest = Nest::of(ranges.iter().cloned());
            for at in 0..110 {
                let found: Vec<usize> = nest.around(at).collect();
                assert!(found.windows(2).all(|pair| ranges[pair[0]].start >= ranges[pair[1]].start), "{at}");
                let mut sorted = found;
                sorted.sort_unstable();
                let wanted: Vec<usize> = (0..ranges.len()).filter(|number| ranges[*number].contains(&at)).collect();
                assert_eq!(sorted, wanted, "{at} in {ranges:?}");
            }
        }
    }
}
