//! Variables that look like another name of a variable and are copies of it: `auto even = line.at(k)`.
//!
//! The text does not tell whether `auto` is a pointer; nvcc's front end does.

use cuda_syntax::tree::{DeclarationKind, Mention};
use cuda_syntax::{SyntaxTrees, types};

use super::resolve::front_end;
use crate::place::Place;

/// Gives uses of copies to the copies, in place of what these were made from.
pub fn settle(mentions: &mut Vec<Mention>, place: &Place, trees: &SyntaxTrees<'_>) {
    for mention in mentions.iter_mut().filter(|mention| mention.is_by_other_name(place.tree(trees).text())) {
        let Some(named) = place.tree(trees).declaration_of(&mention.identifier) else { continue };
        let Some(variable) = front_end(place, trees, &named).filter(|variable| is_value(&variable.type_text)) else {
            continue;
        };
        mention.declaration = named;
        mention.declaration.kind = match types::is_scalar(&variable.type_text) {
            true => DeclarationKind::Scalar,
            false => DeclarationKind::Aggregate,
        };
        mention.outer.clear();
    }
    mentions.dedup_by(|next, known| next == known);
}

/// References are pointers to the front end.
fn is_value(type_text: &str) -> bool {
    !type_text.contains(['*', '&', '['])
}
