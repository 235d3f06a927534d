//! Text with a mapping back to the source files.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use lmem_base::diagnostic::Edit;
use lmem_base::source::{SourceFile, Span, has_ending};

/// Text composed of pieces of source files, such as a decoded string literal.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct MappedText {
    text: String,
    /// Sorted by position in `text`, without overlaps. Text between segments is generated and has no source.
    segments: Vec<Segment>,
}

/// A piece of text and its source bytes.
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

    /// Whether a piece is of the file with this path.
    pub fn has_file(&self, path: &Path) -> bool {
        self.segments.iter().any(|segment| segment.source.file.path == path)
    }

    /// The file of the first piece.
    pub fn first_file(&self) -> Option<&Arc<SourceFile>> {
        self.segments.first().map(|segment| &segment.source.file)
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Number of pieces that have a source.
    pub fn pieces(&self) -> usize {
        self.segments.len()
    }

    /// Adds a piece. If `piece` and `source` have the same length, they correspond byte by byte; otherwise (`\n`,
    /// `\u{e9}`) the whole piece maps to the whole source range.
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

    /// Adds text without a source, such as a number produced by `stringify!`.
    pub fn push_generated(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    /// A part of the text. A piece that cuts an escape has no source.
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

    /// The source bytes of a range that lies in one segment.
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

    /// Composes two mappings: the source of this text is itself a mapped text.
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

    /// The source bytes of a range; `None` if the range has no source or spans two files.
    pub fn span(&self, range: Range<usize>) -> Option<Span> {
        let first = self.place(range.start)?;
        let last = self.place(range.end.saturating_sub(1).max(range.start))?;
        (first.file.path == last.file.path && first.start <= last.end)
            .then(|| Span::new(&first.file, first.start..if range.is_empty() { first.start } else { last.end }))
    }

    /// The text after edits of its source files; `None` if an edit is not in this text.
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

    /// The offsets at which the text of a span may start, in order: one, unless a piece of source is in the text more than once.
    pub fn starts_of<'t>(&'t self, span: &'t Span) -> impl Iterator<Item = usize> + 't {
        self.segments.iter().filter_map(|segment| {
            let source = &segment.source;
            let from_start =
                span.start.checked_sub(source.start).filter(|_| source.file.display == span.file.display)?;
            let is_within = if segment.text.len() == source.range().len() {
                from_start < segment.text.len()
            } else {
                from_start == 0
            };
            is_within.then_some(segment.text.start + from_start)
        })
    }

    /// The range of the text that comes from a span; `None` if there is none, or several.
    pub fn range_of(&self, span: &Span) -> Option<Range<usize>> {
        let start = self.offset_of(&span.file, span.start, false)?;
        let end = if span.range().is_empty() { start } else { self.offset_of(&span.file, span.end, true)? };
        (start <= end).then_some(start..end)
    }

    /// The offset in the text for an offset in a file; `is_end` treats the offset as the end of a range.
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

    /// Whether any of the text comes from a span, or begins or ends where it does.
    pub fn touches(&self, span: &Span) -> bool {
        self.segments.iter().any(|segment| {
            let source = &segment.source;
            source.start <= span.end && span.start <= source.end && source.file.path == span.file.path
        })
    }

    /// Whether any of the text comes from a file.
    pub fn comes_from(&self, path: &Path) -> bool {
        self.segments.iter().any(|segment| segment.source.file.path == path)
    }

    /// The source bytes of one byte, or of the escape that contains it.
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

/// The decoded text of a replacement. In Rust code it is a part of a literal, where a backslash is always an escape:
/// edits never put a backslash into a raw literal.
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
        assert!(text.touches(&Span::new(&rust, 4..4)) && !text.touches(&Span::new(&rust, 8..8)));
        // An edit inside an escape, and one outside the literal.
        assert_eq!(edited(&[edit(4..4, "x")]), None);
        assert_eq!(edited(&[edit(0..1, "x")]), None);
    }
}
