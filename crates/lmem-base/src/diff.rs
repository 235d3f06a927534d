//! Differences of two texts, by line or by word.

use std::fmt::{self, Write};
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput, Interner, Token, UnifiedDiffConfig, UnifiedDiffPrinter};

/// A part of the first text, and what the second has in its place; one of the two may be empty.
pub type Hunk = (Range<usize>, Range<usize>);

/// The differences with the fewest words removed and added.
pub fn shortest(before: &[&str], after: &[&str]) -> Vec<Hunk> {
    hunks(Algorithm::MyersMinimal, before, after)
}

/// The runs of equal words around those that are rare: what a person would align. Each is its start in both texts, and
/// its length.
pub fn equal_runs(before: &[&str], after: &[&str]) -> Vec<(usize, usize, usize)> {
    let (mut runs, mut old, mut new) = (Vec::new(), 0, 0);
    let end = (before.len()..before.len(), after.len()..after.len());
    for (removed, added) in hunks(Algorithm::Histogram, before, after).into_iter().chain([end]) {
        let length = removed.start - old;
        if length > 0 {
            runs.push((old, new, length));
        }
        (old, new) = (removed.end, added.end);
    }
    runs
}

fn hunks(algorithm: Algorithm, before: &[&str], after: &[&str]) -> Vec<Hunk> {
    let input = interned(before.iter().copied(), after.iter().copied());
    let mut diff = Diff::compute(algorithm, &input);
    diff.postprocess_no_heuristic(&input);
    let range = |range: &Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|hunk| (range(&hunk.before), range(&hunk.after))).collect()
}

fn interned<'t>(before: impl Iterator<Item = &'t str>, after: impl Iterator<Item = &'t str>) -> InternedInput<&'t str> {
    let mut input = InternedInput::default();
    input.update_before(before);
    input.update_after(after);
    input
}

/// A patch of one file that `git apply` and `patch -p1` accept; empty if both texts are equal.
pub fn patch(name: &str, before: &str, after: &str) -> String {
    let input = interned(before.split_inclusive('\n'), after.split_inclusive('\n'));
    let mut diff = Diff::compute(Algorithm::MyersMinimal, &input);
    diff.postprocess_lines(&input);
    let printer = Lines(&input.interner);
    let hunks = diff.unified_diff(&printer, UnifiedDiffConfig::default(), &input).to_string();
    if hunks.is_empty() { hunks } else { format!("--- a/{name}\n+++ b/{name}\n{hunks}") }
}

/// Lines with their line breaks, and the mark that stands for a missing one.
struct Lines<'i, 't>(&'i Interner<&'t str>);

impl Lines<'_, '_> {
    fn line(&self, out: &mut impl Write, sign: char, token: Token) -> fmt::Result {
        let line = self.0[token];
        let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
        write!(out, "{sign}{line}{end}")
    }
}

impl UnifiedDiffPrinter for Lines<'_, '_> {
    fn display_header(&self, mut out: impl Write, old: u32, new: u32, old_len: u32, new_len: u32) -> fmt::Result {
        // An empty part is said to stand behind the line before it, and a length of one is left out.
        let part = |start: u32, length: u32| match length {
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            _ => format!("{},{length}", start + 1),
        };
        writeln!(out, "@@ -{} +{} @@", part(old, old_len), part(new, new_len))
    }

    fn display_context_token(&self, mut out: impl Write, token: Token) -> fmt::Result {
        self.line(&mut out, ' ', token)
    }

    fn display_hunk(&self, mut out: impl Write, before: &[Token], after: &[Token]) -> fmt::Result {
        before.iter().try_for_each(|token| self.line(&mut out, '-', *token))?;
        after.iter().try_for_each(|token| self.line(&mut out, '+', *token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        text.split(' ').collect()
    }

    #[test]
    fn runs_and_hunks_are_each_other_s_rest() {
        let (before, after) = (words("a b c d e"), words("a x c d e f"));
        assert_eq!(shortest(&before, &after), [(1..2, 1..2), (5..5, 5..6)]);
        assert_eq!(equal_runs(&before, &after), [(0, 0, 1), (2, 2, 3)]);
        assert_eq!(equal_runs(&before, &before), [(0, 0, 5)]);
        assert!(shortest(&before, &before).is_empty() && equal_runs(&words("a"), &words("b")).is_empty());
    }

    #[test]
    fn patches_are_those_of_diff() {
        let before = (1..=20).map(|line| format!("{line}\n")).collect::<String>();
        let after = before.replacen("4\n", "four\n", 1).replacen("18\n", "", 1);
        let expected = "--- a/k.cu\n+++ b/k.cu\n@@ -1,7 +1,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n\
                        @@ -15,6 +15,5 @@\n 15\n 16\n 17\n-18\n 19\n 20\n";
        assert_eq!(patch("k.cu", &before, &after), expected);
        assert_eq!(patch("k.cu", &before, &before), "");
        assert_eq!(patch("a", "", "x\n"), "--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+x\n");
        let no_end = "\n\\ No newline at end of file\n";
        assert_eq!(patch("a", "x", "x\n"), format!("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x{no_end}+x\n"));
    }
}
