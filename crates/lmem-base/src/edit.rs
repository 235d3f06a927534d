//! Applies edits to texts in memory, without file access.

use std::path::Path;

use rustfix::{CodeFix, LinePosition, LineRange, Replacement, Snippet, Solution};

use crate::diagnostic::Edit;

/// The text with edits applied; `None` if two edits overlap, or an edit is out of bounds.
pub fn apply(text: &str, edits: &[&Edit]) -> Option<String> {
    let mut sorted: Vec<&Edit> = edits.to_vec();
    sorted.sort();
    sorted.dedup();
    let mut fix = CodeFix::new(text);
    let replacements = sorted.into_iter().map(|edit| replacement(text, edit)).collect::<Option<_>>()?;
    fix.apply_solution(&Solution { message: String::new(), replacements }).ok()?;
    fix.finish().ok()
}

fn replacement(text: &str, edit: &Edit) -> Option<Replacement> {
    let range = edit.span.range();
    text.get(range.clone())?;
    // rustfix edits by byte offset; it only prints lines and columns.
    let nowhere = LinePosition { line: 0, column: 0 };
    let snippet = Snippet {
        file_name: edit.span.file.display.clone(),
        line_range: LineRange { start: nowhere, end: nowhere },
        range,
    };
    Some(Replacement { snippet, replacement: edit.replacement.clone() })
}

/// Whether two edits exclude each other. Equal edits do not: they count as one.
pub fn conflict(one: &Edit, other: &Edit) -> bool {
    let is_before = |first: &Edit, second: &Edit| {
        first.span.end < second.span.start
            || (first.span.end == second.span.start
                && !first.span.range().is_empty()
                && !second.span.range().is_empty())
    };
    // Paths last: to compare them takes the longest.
    !is_before(one, other) && !is_before(other, one) && one.span.file.path == other.span.file.path && one != other
}

/// Whether no two of the edits exclude each other.
pub fn are_apart(edits: &[Edit]) -> bool {
    edits.iter().enumerate().all(|(at, one)| edits[at + 1..].iter().all(|other| !conflict(one, other)))
}

/// The edits in one file.
pub fn of_file<'e>(edits: impl IntoIterator<Item = &'e Edit>, path: &Path) -> Vec<&'e Edit> {
    edits.into_iter().filter(|edit| edit.span.file.path == path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SourceFile, Span};

    fn edits(text: &str, list: &[(usize, usize, &str)]) -> Vec<Edit> {
        let file = SourceFile::from_text("a.cu", text);
        let edit = |(start, end, replacement): &(usize, usize, &str)| {
            Edit::alone(Span::new(&file, *start..*end), *replacement)
        };
        list.iter().map(edit).collect()
    }

    fn applied(text: &str, list: &[(usize, usize, &str)]) -> Option<String> {
        apply(text, &edits(text, list).iter().collect::<Vec<_>>())
    }

    #[test]
    fn edits_are_applied_in_order() {
        assert_eq!(applied("abcdef", &[(4, 5, "X"), (0, 0, "<"), (1, 2, "")]).as_deref(), Some("<acdXf"));
        // Two findings with the same edit apply it once.
        assert_eq!(applied("abc", &[(1, 1, "X"), (1, 1, "X")]).as_deref(), Some("aXbc"));
    }

    #[test]
    fn edits_that_overlap_or_lie_outside_are_refused() {
        assert_eq!(applied("abc", &[(0, 2, "X"), (1, 3, "Y")]), None);
        assert_eq!(applied("abc", &[(2, 9, "X")]), None);
        assert_eq!(applied("é", &[(1, 2, "X")]), None);
    }

    #[test]
    fn conflicts_are_seen() {
        let list = edits("abcdef", &[(0, 2, "X"), (2, 4, "Y"), (1, 3, "Z"), (2, 2, "I"), (2, 2, "J"), (2, 2, "I")]);
        assert!(!conflict(&list[0], &list[1]));
        assert!(conflict(&list[0], &list[2]) && conflict(&list[1], &list[2]));
        assert!(conflict(&list[3], &list[4]) && !conflict(&list[3], &list[5]));
    }
}
