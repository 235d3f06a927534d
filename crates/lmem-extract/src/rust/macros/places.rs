//! From code with macros expanded to the files that were written.

use std::ops::Range;

use lmem_base::source::Span;
use lmem_unit::MappedText;

/// Where each byte of a file's expanded code was written.
#[derive(Debug)]
pub(crate) struct Places {
    pub text: MappedText,
    /// In the order of the text.
    pub expansions: Vec<Expanded>,
}

/// What a call of a macro became, with all that was called in it.
#[derive(Debug)]
pub(crate) struct Expanded {
    /// Bytes of the text.
    pub range: Range<usize>,
    /// The call.
    pub span: Span,
    /// The macros, by their numbers.
    pub definitions: Vec<usize>,
}

impl Places {
    /// Where a piece of the code was written. What is put together from a definition and a call stands where the call does.
    pub fn span(&self, range: &Range<usize>) -> Span {
        let in_one_piece = self.text.piece(range.clone());
        let within = |offset: usize| self.expansions.iter().find(|expanded| expanded.range.contains(&offset));
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
            // Both ends were written in the file itself.
            (None, None, None) => plain().unwrap_or_else(|| self.start()),
        }
    }

    /// The call that a place of the code comes from.
    pub fn expansion_at(&self, offset: usize) -> Option<&Expanded> {
        self.expansions.iter().find(|expanded| expanded.range.contains(&offset))
    }

    /// The text of a decoded literal, with the places of what was written.
    pub fn through(&self, decoded: &MappedText) -> MappedText {
        decoded.through(&self.text)
    }

    fn start(&self) -> Span {
        let first = self.expansions.first().map(|expanded| expanded.span.clone());
        first.or_else(|| self.text.place(0)).expect("a file with macros has text")
    }
}
