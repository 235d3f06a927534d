//! Concatenation of texts.

use proc_macro2::TokenStream;
use syn::Expr;

use lmem_unit::MappedText;

use super::failure::of_part;
use super::parse::parse_list;
use super::{Folded, Folder, MAX_CHOICES, MAX_PIECES, MAX_TEXT, MAX_TEXT_OF_ALL, PIECE, Texts, at_most};
use crate::rust::fold::failure::Failure;
use crate::rust::fold::frames::Frames;

impl Folder<'_, '_> {
    /// The text of a `concat!`, if it has one.
    pub fn concatenated(&mut self, file: usize, arguments: TokenStream) -> Option<Folded> {
        let pieces = parse_list(arguments).ok()?;
        match self.joined(file, &pieces, &Frames::default(), "", 0).pop() {
            Some(Ok(folded)) => Some(folded),
            _ => None,
        }
    }

    /// Concatenates texts with a separator.
    pub(super) fn joined(
        &mut self,
        file: usize,
        pieces: &[Expr],
        frames: &Frames,
        between: &str,
        steps: usize,
    ) -> Texts {
        let mut wholes: Texts = vec![Ok(Folded::default())];
        for (index, piece) in pieces.iter().enumerate() {
            let mut texts = match self.printed(file, piece, false, frames, steps) {
                Some(text) => vec![Ok(text)],
                None => self.fold(file, piece, frames, steps + 1),
            };
            if index > 0 && !between.is_empty() {
                for text in texts.iter_mut().flatten() {
                    let mut longer = MappedText::default();
                    longer.push_generated(between);
                    longer.append(&text.text);
                    text.text = longer;
                }
            }
            wholes = self.combined(wholes, &texts);
            if all_failed(&wholes) {
                break;
            }
        }
        wholes
    }

    /// Each text combined with each possible continuation.
    pub(super) fn combined(&mut self, mut wholes: Texts, pieces: &Texts) -> Texts {
        // Most often there is one: a copy of the whole for each of its pieces would take the square of their number.
        if let ([Ok(whole)], [Ok(piece)]) = (wholes.as_mut_slice(), pieces.as_slice()) {
            return match self.make_room(&whole.text, &piece.text, 1) {
                Ok(()) => {
                    extend(whole, piece);
                    wholes
                }
                Err(failure) => vec![Err(failure)],
            };
        }
        let mut found = Vec::new();
        for whole in wholes {
            for piece in pieces {
                found.push(match (&whole, piece) {
                    (Err(failure), _) => Err(failure.clone()),
                    (_, Err(failure)) => Err(of_part(failure)),
                    (Ok(whole), Ok(piece)) => self.make_room(&whole.text, &piece.text, 1).map(|()| {
                        self.copies(&whole.text, 0);
                        let mut whole = whole.clone();
                        extend(&mut whole, piece);
                        whole
                    }),
                });
                if found.len() > MAX_CHOICES {
                    return at_most(found);
                }
            }
        }
        found
    }

    /// Counts what is about to be added to a text, some times.
    ///
    /// # Errors
    /// It is too much for one text, or for all texts of a run.
    pub(super) fn make_room(&mut self, text: &MappedText, more: &MappedText, times: usize) -> Result<(), Failure> {
        let bytes = more.as_str().len().saturating_mul(times);
        let more = more.pieces().saturating_mul(times);
        let pieces = more.saturating_add(text.pieces());
        let length = bytes.saturating_add(text.as_str().len());
        self.made = self.made.saturating_add(bytes).saturating_add(more.saturating_mul(PIECE));
        match length > MAX_TEXT || pieces > MAX_PIECES || self.is_full() {
            true => Err(Failure::too_large()),
            false => Ok(()),
        }
    }

    /// Whether the texts of the run are so many that no more is made.
    pub(super) fn is_full(&self) -> bool {
        self.made > MAX_TEXT_OF_ALL
    }

    /// Counts a text of which another one is made as a whole, with some cuts.
    pub(super) fn copies(&mut self, text: &MappedText, cuts: usize) {
        let pieces = text.pieces().saturating_add(cuts).saturating_mul(PIECE);
        self.made = self.made.saturating_add(pieces).saturating_add(text.as_str().len());
    }
}

/// Whether no text is left that a piece could be added to.
pub(super) fn all_failed(wholes: &Texts) -> bool {
    wholes.iter().all(Result::is_err)
}

fn extend(whole: &mut Folded, piece: &Folded) {
    whole.text.append(&piece.text);
    whole.origin = whole.origin.take().or_else(|| piece.origin.clone());
    whole.files.extend(piece.files.iter().cloned());
}
