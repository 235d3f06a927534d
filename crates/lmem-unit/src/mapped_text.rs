//! Text with the way back to the files that it was made of.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use lmem_base::diagnostic::Edit;
use lmem_base::source::{SourceFile, Span, has_ending};

/// Text put together from pieces of source files, such as a decoded string literal.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct MappedText {
    text: String,
    /// In order of `text`, without overlaps. Text between segments comes from no file.
    segments: Vec<Segment>,
}

/// A piece of text and the bytes of a file that it was decoded from.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Segment {
    text: Range<usize>,
    pub source: Span,
}

impl MappedText {
    /// A whole file.
    pub fn from_file(file: &Arc<SourceFile>) -> Self {
        let mut text = Self::default();
        text.push(file.text(), Span::new(file, 0..file.text().len()));
        text
    }

    /// The file that the first piece comes from.
    pub fn first_file(&self) -> Option<&Arc<SourceFile>> {
        self.segments.first().map(|segment| &segment.source.file)
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Adds a piece. Where `piece` and `source` have the same length they correspond byte by byte;
    /// else (`\n`, `\u{e9}`) the whole piece stands for the whole source range.
    pub fn push(&mut self, piece: &str, source: Span) {
        let start = self.text.len();
        self.text.push_str(piece);
        if let Some(last) = self.segments.last_mut() {
            let verbatim = last.text.len() == last.source.range().len() && piece.len() == source.range().len();
            let adjacent =
                last.text.end == start && last.source.end == source.start && last.source.file.path == source.file.path;
            if verbatim && adjacent {
                last.text.end = self.text.len();
                last.source.end = source.end;
                return;
            }
        }
        self.segments.push(Segment { text: start..self.text.len(), source });
    }

    /// Adds text that stands in no file, such as a number that `stringify!` made.
    pub fn push_generated(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    /// A part of the text. An escape that is cut has no place.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let mut part =
            Self { text: self.text.get(range.clone()).unwrap_or_default().to_string(), segments: Vec::new() };
        let first = self.segments.partition_point(|segment| segment.text.end <= range.start);
        for segment in self.segments[first..].iter().take_while(|segment| segment.text.start < range.end) {
            let (start, end) = (segment.text.start.max(range.start), segment.text.end.min(range.end));
            let is_verbatim = segment.text.len() == segment.source.range().len();
            if start >= end || !(is_verbatim || (start..end) == segment.text) {
                continue;
            }
            let mut source = segment.source.clone();
            if is_verbatim {
                source.start += start - segment.text.start;
                source.end = source.start + (end - start);
            }
            part.segments.push(Segment { text: start - range.start..end - range.start, source });
        }
        part
    }

    /// The source bytes of a range that was written in one piece.
    pub fn piece(&self, range: Range<usize>) -> Option<Span> {
        let index = self.segments.partition_point(|segment| segment.text.end <= range.start);
        let Segment { text, source } = self.segments.get(index)?;
        if text.start > range.start || text.end < range.end {
            return None;
        }
        if text.len() == source.range().len() {
            let start = source.start + (range.start - text.start);
            return Some(Span::new(&source.file, start..start + range.len()));
        }
        (*text == range).then(|| source.clone())
    }

    /// The same text, where its source is itself a text with a map: from there back to the files.
    pub fn through(&self, sources: &Self) -> Self {
        let segment = |segment: &Segment| {
            let source = sources.piece(segment.source.range())?;
            Some(Segment { text: segment.text.clone(), source })
        };
        Self { text: self.text.clone(), segments: self.segments.iter().filter_map(segment).collect() }
    }

    /// Adds another mapped text.
    pub fn append(&mut self, other: &Self) {
        let shift = self.text.len();
        self.text.push_str(&other.text);
        self.segments.extend(other.segments.iter().map(|segment| Segment {
            text: segment.text.start + shift..segment.text.end + shift,
            source: segment.source.clone(),
        }));
    }

    /// The source bytes of a range of the text; `None` where it comes from no file or spans two files.
    pub fn span(&self, range: Range<usize>) -> Option<Span> {
        let first = self.place(range.start)?;
        let last = self.place(range.end.saturating_sub(1).max(range.start))?;
        (first.file.path == last.file.path && first.start <= last.end)
            .then(|| Span::new(&first.file, first.start..if range.is_empty() { first.start } else { last.end }))
    }

    /// The text as it is once the files that it was made of are edited; `None` where an edit does not lie on it.
    pub fn edited(&self, edits: &[&Edit]) -> Option<String> {
        let mut sorted: Vec<&Edit> = edits.to_vec();
        sorted.sort();
        sorted.dedup();
        let mut edited = String::with_capacity(self.text.len());
        let mut at = 0;
        for edit in sorted {
            let range = self.range_of(&edit.span)?;
            edited.push_str(self.text.get(at..range.start)?);
            edited.push_str(&decoded(edit)?);
            at = range.end;
        }
        edited.push_str(self.text.get(at..)?);
        Some(edited)
    }

    /// Bytes of the text that come from a span; `None` where none or several do.
    pub fn range_of(&self, span: &Span) -> Option<Range<usize>> {
        let start = self.offset_of(&span.file, span.start, false)?;
        let end = if span.range().is_empty() { start } else { self.offset_of(&span.file, span.end, true)? };
        (start <= end).then_some(start..end)
    }

    /// The place in the text of a byte of a file, or of the end of what stands before it.
    fn offset_of(&self, file: &SourceFile, offset: usize, is_end: bool) -> Option<usize> {
        let holds = |segment: &&Segment| {
            let source = &segment.source;
            let is_within =
                if is_end { source.start < offset && offset <= source.end } else { source.range().contains(&offset) };
            source.file.path == file.path && is_within
        };
        let mut found = self.segments.iter().filter(holds);
        let segment = found.next().filter(|_| found.next().is_none())?;
        let from_start = offset - segment.source.start;
        match (segment.text.len() == segment.source.range().len(), offset == segment.source.end) {
            (true, _) => Some(segment.text.start + from_start),
            (false, true) => Some(segment.text.end),
            (false, false) => (from_start == 0).then_some(segment.text.start),
        }
    }

    /// Whether any of the text comes from a file.
    pub fn comes_from(&self, path: &Path) -> bool {
        self.segments.iter().any(|segment| segment.source.file.path == path)
    }

    /// The source bytes of the one byte (or escape) at an offset.
    pub fn place(&self, offset: usize) -> Option<Span> {
        let index = self.segments.partition_point(|segment| segment.text.end <= offset);
        let segment = self.segments.get(index).filter(|segment| segment.text.start <= offset)?;
        if segment.text.len() == segment.source.range().len() {
            let start = segment.source.start + (offset - segment.text.start);
            return Some(Span::new(&segment.source.file, start..start + 1));
        }
        Some(segment.source.clone())
    }
}

/// What an edit puts into the text: in Rust code it is a part of a literal, where only escapes have a backslash, as
/// kernels in raw literals are given none.
fn decoded(edit: &Edit) -> Option<String> {
    if !has_ending(&edit.span.file.path, &["rs"]) {
        return Some(edit.replacement.clone());
    }
    let replacement = edit.replacement.replace("\r\n", "\n");
    let mut text = String::new();
    let mut failed = false;
    rustc_literal_escaper::unescape_str(&replacement, |_, result| match result {
        Ok(character) => text.push(character),
        Err(error) => failed |= error.is_fatal(),
    });
    (!failed).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_map_through_escapes_and_files() {
        let rust = SourceFile::from_text("a.rs", r#""ab\ncd""#);
        let other = SourceFile::from_text("b.cu", "xyz");
        let mut text = MappedText::default();
        text.push("ab", Span::new(&rust, 1..3));
        text.push("\n", Span::new(&rust, 3..5));
        text.push("cd", Span::new(&rust, 5..7));
        text.push_generated("4");
        text.push("xyz", Span::new(&other, 0..3));
        assert_eq!(text.as_str(), "ab\ncd4xyz");
        assert_eq!(text.span(1..4).unwrap().text(), r"b\nc");
        assert_eq!(text.span(2..3).unwrap().text(), r"\n");
        assert_eq!(text.span(5..6), None);
        assert_eq!(text.span(3..8), None);
        assert_eq!(text.span(6..9).unwrap().text(), "xyz");
        let part = text.slice(1..7);
        assert_eq!(part.as_str(), "b\ncd4x");
        let places: Vec<String> =
            [0..1, 1..2, 2..4, 5..6].map(|range| part.span(range).unwrap().text().to_string()).into();
        assert_eq!(places, ["b", r"\n", "cd", "x"]);
    }

    #[test]
    fn edits_of_files_change_the_text() {
        let rust = SourceFile::from_text("a.rs", r#""ab\ncd""#);
        let mut text = MappedText::default();
        text.push("ab", Span::new(&rust, 1..3));
        text.push("\n", Span::new(&rust, 3..5));
        text.push("cd", Span::new(&rust, 5..7));
        let edit = |range: Range<usize>, replacement: &str| Edit::alone(Span::new(&rust, range), replacement);
        let edited = |edits: &[Edit]| text.edited(&edits.iter().collect::<Vec<_>>());
        assert_eq!(edited(&[edit(5..5, r"#pragma unroll\n")]).as_deref(), Some("ab\n#pragma unroll\ncd"));
        assert_eq!(edited(&[edit(6..7, "x"), edit(1..2, "")]).as_deref(), Some("b\ncx"));
        assert_eq!(edited(&[edit(2..5, "x")]).as_deref(), Some("axcd"));
        // In the middle of an escape, and outside the literal.
        assert_eq!(edited(&[edit(4..4, "x")]), None);
        assert_eq!(edited(&[edit(0..1, "x")]), None);
    }
}
