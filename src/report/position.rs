//! Lines and columns in the units of the formats.

use std::ops::Range;

use lmem_base::source::{SourceFile, Span};

/// The unit of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    /// Unicode scalar values, as rustc and GitHub do.
    Characters,
    /// UTF-16 code units, the default of SARIF.
    Utf16,
}

/// First and last line of a span and the columns there, all from 1; the end column is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Region {
    pub start_line: usize,
    pub start_column: usize,
    pub end_line: usize,
    pub end_column: usize,
}

impl Region {
    pub fn new(span: &Span, columns: Columns) -> Self {
        let range = range(span);
        let (start_line, start_column) = line_column(&span.file, range.start, columns);
        let (end_line, end_column) = line_column(&span.file, range.end, columns);
        Self { start_line, start_column, end_line, end_column }
    }
}

/// `kernels/a.cu:14:11`, with the column in characters.
pub(super) fn place(span: &Span) -> String {
    let region = Region::new(span, Columns::Characters);
    format!("{}:{}:{}", span.file.display, region.start_line, region.start_column)
}

/// The bytes of a span, clamped to its file and to character boundaries.
pub(super) fn range(span: &Span) -> Range<usize> {
    let start = floor(&span.file, span.start);
    start..floor(&span.file, span.end).max(start)
}

fn floor(file: &SourceFile, offset: usize) -> usize {
    let mut offset = offset.min(file.text().len());
    while !file.text().is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

fn line_column(file: &SourceFile, offset: usize, columns: Columns) -> (usize, usize) {
    let (line, _) = file.line_column(offset);
    let content = file.line_range(line).unwrap_or(offset..offset);
    let before = &file.text()[content.start..offset.min(content.end)];
    let column = match columns {
        Columns::Characters => before.chars().count(),
        Columns::Utf16 => before.encode_utf16().count(),
    };
    (line, column + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_or_utf16_units() {
        let file = SourceFile::from_text("a.cu", "é🦀x\r\ny");
        let x = Span::new(&file, 6..7);
        assert_eq!(Region::new(&x, Columns::Characters).start_column, 3);
        assert_eq!(Region::new(&x, Columns::Utf16).start_column, 4);
        assert_eq!(place(&x), "a.cu:1:3");
    }

    #[test]
    fn spans_outside_the_text_are_cut() {
        let file = SourceFile::from_text("a.cu", "é\r\n");
        assert_eq!(range(&Span::new(&file, 1..99)), 0..4);
        #[expect(clippy::reversed_empty_ranges, reason = "a span from a broken line table")]
        let reversed = Span::new(&file, 3..2);
        assert_eq!(range(&reversed), 3..3);
        let region = Region::new(&Span::new(&file, 3..4), Columns::Characters);
        assert_eq!((region.start_line, region.start_column, region.end_line, region.end_column), (1, 2, 2, 1));
    }
}
