//! The source lines that a diagnostic shows.
//!
//! A line longer than the terminal (a whole kernel in one string literal) is cut around its labels. Control characters
//! are replaced, so that a source file cannot send escape sequences to the terminal.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use codespan_reporting::files::{Error, Files, Location};

use lmem_base::inert::is_active;
use lmem_base::source::{SourceFile, Span};

use super::position::{self, Columns, Region};

const CUT: &str = "…";

/// Stands for a character of four bytes, as U+FFFD does for one of three: a question mark on a dark square.
const FOUR_BYTES: char = '\u{1fbc4}';

/// The labelled lines of all files of a diagnostic.
#[derive(Debug, Default)]
pub(super) struct Excerpts {
    files: Vec<Excerpt>,
    /// The file and location of the diagnostic itself, which the header of that file's excerpt shows.
    head: Option<(usize, Location)>,
}

#[derive(Debug)]
struct Excerpt {
    file: Arc<SourceFile>,
    name: String,
    text: String,
    /// In order.
    lines: Vec<Line>,
}

/// One line: the part that is shown, and its position.
#[derive(Debug)]
struct Line {
    /// Zero-based line number in the file.
    index: usize,
    /// Range in `Excerpt::text`.
    shown: Range<usize>,
    /// Range in the file.
    source: Range<usize>,
    /// Number of characters cut off before `source`.
    hidden: usize,
}

impl Excerpts {
    /// The lines that `spans` label; the first span is the diagnostic's own location.
    pub fn new(spans: &[&Span], width: usize) -> Self {
        let mut files: Vec<(&Arc<SourceFile>, Vec<Range<usize>>)> = Vec::new();
        for span in spans {
            match files.iter_mut().find(|(file, _)| is_same(file, &span.file)) {
                Some((_, ranges)) => ranges.push(visible(span)),
                None => files.push((&span.file, vec![visible(span)])),
            }
        }
        let files = files.into_iter().map(|(file, ranges)| Excerpt::new(file, &ranges, width)).collect();
        let head = spans.first().map(|span| Region::new(span, Columns::Characters));
        let head = head.map(|region| Location { line_number: region.start_line, column_number: region.start_column });
        Self { files, head: head.map(|location| (0, location)) }
    }

    /// The file of a span, and its range in the excerpt.
    pub fn locate(&self, span: &Span) -> Option<(usize, Range<usize>)> {
        let id = self.files.iter().position(|excerpt| is_same(&excerpt.file, &span.file))?;
        let range = visible(span);
        let start = self.files[id].shown(range.start)?;
        let end = self.files[id].shown(range.end)?;
        Some((id, start..end.max(start)))
    }
}

/// Whether two values are the same version of a file; one that changed between two reads counts as two files.
fn is_same(one: &Arc<SourceFile>, other: &Arc<SourceFile>) -> bool {
    Arc::ptr_eq(one, other) || (one.path == other.path && one.text() == other.text())
}

impl Excerpt {
    fn new(file: &Arc<SourceFile>, ranges: &[Range<usize>], width: usize) -> Self {
        let name = one_line(&file.display);
        let mut excerpt = Self { file: Arc::clone(file), name, text: String::new(), lines: Vec::new() };
        for line in shown_lines(file, ranges) {
            if let Some(content) = file.line_range(line) {
                excerpt.push(file, line - 1, content, ranges, width);
            }
        }
        excerpt
    }

    fn push(&mut self, file: &SourceFile, index: usize, content: Range<usize>, ranges: &[Range<usize>], width: usize) {
        let source = window(file, &content, ranges, width);
        let hidden = file.text()[content.start..source.start].chars().count();
        let start = self.text.len();
        self.text.push_str(if source.start > content.start { CUT } else { "" });
        self.text.push_str(&clean(&file.text()[source.clone()]));
        self.text.push_str(if source.end < content.end { CUT } else { "" });
        self.lines.push(Line { index, shown: start..self.text.len(), source, hidden });
        self.text.push('\n');
    }

    /// The position in the excerpt of a byte of the file.
    fn shown(&self, offset: usize) -> Option<usize> {
        let index = self.file.line_column(offset).0 - 1;
        let line = self.line(index)?;
        let offset = offset.clamp(line.source.start, line.source.end);
        Some(line.text_start() + (offset - line.source.start))
    }

    fn line(&self, index: usize) -> Option<&Line> {
        self.lines.binary_search_by_key(&index, |line| line.index).ok().map(|position| &self.lines[position])
    }
}

impl Line {
    /// Start of the file's text, behind the mark of a cut.
    fn text_start(&self) -> usize {
        self.shown.start + if self.hidden > 0 { CUT.len() } else { 0 }
    }
}

impl<'a> Files<'a> for Excerpts {
    type FileId = usize;
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, id: usize) -> Result<&'a str, Error> {
        Ok(&self.files.get(id).ok_or(Error::FileMissing)?.name)
    }

    fn source(&'a self, id: usize) -> Result<&'a str, Error> {
        Ok(&self.files.get(id).ok_or(Error::FileMissing)?.text)
    }

    fn line_index(&'a self, id: usize, offset: usize) -> Result<usize, Error> {
        let lines = &self.files.get(id).ok_or(Error::FileMissing)?.lines;
        let position = lines.partition_point(|line| line.shown.start <= offset);
        let line = lines.get(position.saturating_sub(1)).ok_or(Error::LineTooLarge { given: 0, max: 0 })?;
        Ok(line.index)
    }

    fn column_number(&'a self, id: usize, index: usize, offset: usize) -> Result<usize, Error> {
        let excerpt = self.files.get(id).ok_or(Error::FileMissing)?;
        let line = excerpt.line(index).ok_or(Error::LineTooLarge { given: index, max: index })?;
        let before = excerpt.text.get(line.text_start()..offset).unwrap_or("");
        Ok(line.hidden + before.chars().count() + 1)
    }

    fn location(&'a self, id: usize, offset: usize) -> Result<Location, Error> {
        if let Some((_, location)) = self.head.filter(|(file, _)| *file == id) {
            return Ok(location);
        }
        let index = self.line_index(id, offset)?;
        Ok(Location { line_number: index + 1, column_number: self.column_number(id, index, offset)? })
    }

    fn line_range(&'a self, id: usize, index: usize) -> Result<Range<usize>, Error> {
        let excerpt = self.files.get(id).ok_or(Error::FileMissing)?;
        let line = excerpt.line(index).ok_or(Error::LineTooLarge { given: index, max: index })?;
        Ok(line.shown.clone())
    }
}

/// Replaces characters that could move the cursor, change colors or reorder text. Byte offsets stay the same.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let replace = |character: char| match (is_unsafe(character), character.len_utf8()) {
        (false, _) => character,
        (true, 1) => '?',
        (true, 2) => '¿',
        (true, 3) => '\u{fffd}',
        (true, _) => FOUR_BYTES,
    };
    Cow::Owned(text.chars().map(replace).collect())
}

/// Cleaned text on one line, for labels and file names.
pub(super) fn one_line(text: &str) -> String {
    clean(text).lines().collect::<Vec<_>>().join(" ")
}

fn is_unsafe(character: char) -> bool {
    is_active(character) && character != '\t' && character != '\n'
}

/// The bytes of a span on its first line. What it marks begins there; a text that is put together from pieces may end
/// pages below.
fn visible(span: &Span) -> Range<usize> {
    let range = position::range(span);
    let text = &span.file.text()[range.clone()];
    let first = text.split(['\r', '\n']).next().unwrap_or(text);
    range.start..range.start + first.len()
}

/// Labelled lines (from 1) and their neighbours: codespan shows a single line between two labelled ones.
fn shown_lines(file: &SourceFile, ranges: &[Range<usize>]) -> BTreeSet<usize> {
    let lines = ranges.iter().flat_map(|range| {
        let (first, _) = file.line_column(range.start);
        let (last, _) = file.line_column(range.end);
        first.saturating_sub(1).max(1)..=last + 1
    });
    lines.collect()
}

/// The part of a line to show: all of it, or `width` characters around its labels.
fn window(file: &SourceFile, content: &Range<usize>, ranges: &[Range<usize>], width: usize) -> Range<usize> {
    let text = &file.text()[content.clone()];
    let length = text.chars().count();
    if length <= width {
        return content.clone();
    }
    let (first, last) = marked(content, ranges);
    let (first, last) = (text[..first].chars().count(), text[..last].chars().count());
    let lead = if last - first > width { 8 } else { (width - (last - first)) / 2 };
    let start = if last < width { 0 } else { first.saturating_sub(lead).min(length - width) };
    let byte = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(offset, _)| offset);
    content.start + byte(start)..content.start + byte(start + width)
}

/// First and last labelled byte of a line, relative to its start.
fn marked(content: &Range<usize>, ranges: &[Range<usize>]) -> (usize, usize) {
    let ends = ranges.iter().flat_map(|range| [range.start, range.end]);
    let inside: Vec<usize> = ends.filter(|offset| (content.start..=content.end).contains(offset)).collect();
    let first = inside.iter().min().map_or(0, |offset| offset - content.start);
    let last = inside.iter().max().map_or(0, |offset| offset - content.start);
    (first, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced_one_for_one() {
        let text = "a\u{1b}[31mb\u{85}\u{202e}\t\n\u{feff}\u{e0041}";
        assert_eq!(clean(text), "a?[31mb¿\u{fffd}\t\n\u{fffd}\u{1fbc4}");
        assert_eq!(clean(text).len(), text.len());
        assert!(matches!(clean("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn long_lines_are_cut_around_the_mark() {
        let file = SourceFile::from_text("a.rs", &format!("{}mark{}\n", "é".repeat(500), "b".repeat(500)));
        let span = Span::new(&file, 1000..1004);
        let excerpts = Excerpts::new(&[&span], 20);
        let (id, range) = excerpts.locate(&span).unwrap();
        assert_eq!(excerpts.source(id).unwrap(), "…éééééééémarkbbbbbbbb…\n\n");
        assert_eq!(&excerpts.source(id).unwrap()[range.clone()], "mark");
        assert_eq!(excerpts.location(id, range.start).unwrap().column_number, 501);
    }

    #[test]
    fn lines_keep_their_numbers() {
        let file = SourceFile::from_text("a.cu", "1\n2\n3\n4\n5\n6\n");
        let spans = [Span::new(&file, 0..1), Span::new(&file, 10..11)];
        let excerpts = Excerpts::new(&[&spans[0], &spans[1]], 80);
        let (id, range) = excerpts.locate(&spans[1]).unwrap();
        assert_eq!(excerpts.line_index(id, range.start).unwrap(), 5);
        assert!(excerpts.line_range(id, 3).is_err());
    }
}
