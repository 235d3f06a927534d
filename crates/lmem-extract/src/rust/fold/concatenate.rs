//! Concatenation of texts.

use syn::Expr;

use lmem_unit::MappedText;

use super::failure::of_part;
use super::{Folded, Folder, MAX_CHOICES, MAX_TEXT, Texts, at_most};
use crate::rust::fold::failure::Failure;
use crate::rust::fold::frames::Frames;

impl Folder<'_, '_> {
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
            wholes = combined(wholes, &texts);
        }
        wholes
    }
}

/// Each text combined with each possible continuation.
pub(super) fn combined(wholes: Texts, pieces: &Texts) -> Texts {
    let mut found = Vec::new();
    for whole in wholes {
        for piece in pieces {
            found.push(match (&whole, piece) {
                (Err(failure), _) => Err(failure.clone()),
                (_, Err(failure)) => Err(of_part(failure)),
                (Ok(whole), Ok(piece)) if whole.text.as_str().len() + piece.text.as_str().len() > MAX_TEXT => {
                    Err(Failure::made("its text is of unusual size"))
                }
                (Ok(whole), Ok(piece)) => {
                    let mut whole = whole.clone();
                    whole.text.append(&piece.text);
                    whole.origin = whole.origin.or_else(|| piece.origin.clone());
                    whole.files.extend(piece.files.iter().cloned());
                    Ok(whole)
                }
            });
            if found.len() > MAX_CHOICES {
                return at_most(found);
            }
        }
    }
    found
}
