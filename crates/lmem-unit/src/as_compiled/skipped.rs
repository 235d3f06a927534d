//! Lines that no compiler saw: those of a branch of an `#if` that was not taken.

use std::ops::Range;

use super::tokens::each;
use super::{CompiledText, Difference};

impl CompiledText {
    /// The runs of whole lines that became nothing, in order. Lines with blanks, comments and nothing else between them are one run;
    /// directives stand between two.
    pub fn skipped(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for difference in self.differences().filter(|it| it.start < it.end && it.compiled.is_empty()) {
            let range = difference.start..difference.end;
            match found.last_mut().filter(|last| is_gap(text, last.end, range.start)) {
                Some(last) => last.end = range.end,
                None => found.push(range),
            }
        }
        found.retain(|range| are_lines(text, range));
        found
    }

    /// The differences of a range, with those of one run as one.
    pub(super) fn joined<'s>(&'s self, text: &str, range: &Range<usize>) -> Option<Vec<(Range<usize>, &'s str)>> {
        let mut found: Vec<(Range<usize>, &str)> = Vec::new();
        let is_empty = |it: &Difference| it.start < it.end && it.compiled.is_empty();
        for difference in self.within(range)? {
            let last = found.last_mut().filter(|(last, compiled)| {
                is_empty(difference)
                    && compiled.is_empty()
                    && !last.is_empty()
                    && is_gap(text, last.end, difference.start)
                    && are_lines(text, &(difference.start..difference.end))
                    && are_lines(text, last)
            });
            match last {
                Some((last, _)) => last.end = difference.end,
                None => found.push((difference.start..difference.end, &difference.compiled)),
            }
        }
        Some(found)
    }
}

/// Whether a range is whole lines but for blanks and comments.
pub(super) fn are_lines(text: &str, range: &Range<usize>) -> bool {
    let start = text.get(..range.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let end = text.get(range.end..).and_then(|behind| behind.find('\n')).map_or(text.len(), |at| range.end + at);
    let is_blank =
        |from, to| text.get(from..to).is_some_and(|gap: &str| gap.trim().is_empty() || each(gap).next().is_none());
    is_blank(start, range.start) && is_blank(range.end, end)
}

/// Whether nothing but blanks and comments stands between two offsets.
fn is_gap(text: &str, from: usize, to: usize) -> bool {
    text.get(from..to).is_some_and(|gap| gap.trim().is_empty() || each(gap).next().is_none())
}
