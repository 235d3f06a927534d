//! Lines that no compiler saw: those of a branch of an `#if` that was not taken.

use std::ops::Range;
use std::path::Path;

use super::tokens::each;
use super::{AsCompiled, CompiledText, Difference};

impl CompiledText {
    /// The runs of whole lines that became nothing, in order. Lines with blanks, comments and nothing else between them are one run;
    /// directives stand between two.
    pub fn skipped(&self, text: &str) -> Vec<Range<usize>> {
        let all = self.joined(text, &(0..text.len())).unwrap_or_default().into_iter();
        let skipped =
            all.filter(|(range, compiled)| compiled.is_empty() && !range.is_empty() && are_lines(text, range));
        skipped.map(|(range, _)| range).collect()
    }

    /// A text with blanks for its bars, and what a compiler makes of it that skips the lines that have one, for tests.
    pub fn example_with_skipped(text: &str) -> (String, Self) {
        let is_left_out = |line: &str| line.starts_with('#') || line.contains('|');
        let kept = text.lines().map(|line| if is_left_out(line) { "" } else { line });
        let preprocessed = format!("# 1 \"/w/a.cu\"\n{}\n", kept.collect::<Vec<_>>().join("\n"));
        let text = text.replace('|', " ");
        let mut all = AsCompiled::new(&preprocessed, Path::new("/w"), &|_| true, &|_| Some(text.clone()));
        let compiled = all.files.pop().map_or(Self::Unknown, |file| file.text);
        (text, compiled)
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
    is_gap(text, start, range.start) && is_gap(text, range.end, end)
}

/// Whether nothing but blanks and comments stands between two offsets.
fn is_gap(text: &str, from: usize, to: usize) -> bool {
    text.get(from..to).is_some_and(|gap| gap.trim().is_empty() || each(gap).next().is_none())
}
