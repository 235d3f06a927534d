//! Maps expanded code back to the written source.

use std::ops::Range;

use lmem_base::source::Span;
use lmem_unit::MappedText;

/// The source position of each byte of a file's expanded code.
#[derive(Debug)]
pub(crate) struct Places {
    pub text: MappedText,
    /// Sorted by offset.
    pub expansions: Vec<Expanded>,
}

/// The expansion of a macro call, nested calls included.
#[derive(Debug)]
pub(crate) struct Expanded {
    /// Byte range in the expanded text.
    pub range: Range<usize>,
    /// The call.
    pub span: Span,
    /// The macros, by index.
    pub definitions: Vec<usize>,
}

impl Places {
    /// The source span of a range. Text combined from a definition and a call has the span of the call.
    pub fn span(&self, range: &Range<usize>) -> Span {
        let in_one_piece = self.text.piece(range.clone());
        let within = |offset: usize| self.expansion_at(offset);
        let last = range.end.saturating_sub(1).max(range.start);
        let (first, last) = (within(range.start), within(last));
        let plain = || self.text.span(range.clone());
        match (in_one_piece, first, last) {
            (Some(span), ..) => span,
            (None, Some(first), last) => {
                let end = match last {
                    Some(last) => last.span.end,
                    None => self.text.span(range.clone()).map_or(first.span.end, |span| span.end),
                };
                Span::new(&first.span.file, first.span.start..end.max(first.span.end))
            }
            (None, None, Some(last)) => {
                let start = self.text.place(range.start).map_or(last.span.start, |span| span.start);
                Span::new(&last.span.file, start.min(last.span.start)..last.span.end)
            }
            // Both ends are written in the file itself.
            (None, None, None) => plain().unwrap_or_else(|| self.start()),
        }
    }

    /// The macro call that produced an offset of the code.
    pub fn expansion_at(&self, offset: usize) -> Option<&Expanded> {
        let index = self.expansions.partition_point(|expanded| expanded.range.end <= offset);
        self.expansions.get(index).filter(|expanded| expanded.range.contains(&offset))
    }

    /// A decoded literal, with positions mapped to the written source.
    pub fn through(&self, decoded: &MappedText) -> MappedText {
        decoded.through(&self.text)
    }

    fn start(&self) -> Span {
        let first = self.expansions.first().map(|expanded| expanded.span.clone());
        first.or_else(|| self.text.place(0)).expect("a file with macros has text")
    }
}
