//! The declaration that an object has before it is named: what decides whether objects are elements of one array.

use std::rc::Rc;

use cuda_syntax::SyntaxTrees;
use cuda_syntax::tree::{Declaration, DeclarationKind};

use super::alike::OfAlike;
use super::votes::{KnownUses, Resolved, rank, votes};
use crate::access::RawObject;

/// The arrays and structures of objects, as far as they were asked for.
pub struct DeclaredOf<'t> {
    trees: &'t SyntaxTrees<'t>,
    uses: Rc<KnownUses>,
    known: OfAlike<Option<Declaration>>,
    extents: OfAlike<Option<u64>>,
}

impl<'t> DeclaredOf<'t> {
    pub fn new(trees: &'t SyntaxTrees<'t>) -> Self {
        Self { trees, uses: Rc::default(), known: OfAlike::default(), extents: OfAlike::default() }
    }

    /// The array or structure of an object, if all accesses agree.
    pub fn of(&self, object: &RawObject) -> Rc<Option<Declaration>> {
        self.known.of(object, || declared(object, &Resolved::new(object, self.trees, &self.uses)))
    }

    /// The bytes that each array has of which an object may be an element, if they have equally many.
    pub fn bytes_of_arrays(&self, object: &RawObject) -> Option<u64> {
        *self.extents.of(object, || {
            let best = best_candidates(object, &Resolved::new(object, self.trees, &self.uses));
            let mut arrays = best.into_iter().filter(|declaration| declaration.kind == DeclarationKind::Array);
            let bytes = arrays.next()?.bytes?;
            arrays.all(|other| other.bytes == Some(bytes)).then_some(bytes)
        })
    }
}

/// What most accesses of an object mention.
fn best_candidates(object: &RawObject, resolved: &Resolved<'_>) -> Vec<Declaration> {
    let scores = votes(object, resolved);
    let best = scores.values().map(rank).max();
    let winners = scores.into_iter().filter(|(_, score)| Some(rank(score)) == best);
    winners.map(|((_, declaration), _)| declaration).collect()
}

fn declared(object: &RawObject, resolved: &Resolved<'_>) -> Option<Declaration> {
    let mut winners = best_candidates(object, resolved).into_iter();
    let is_large = |declaration: &Declaration| {
        let is_structure = declaration.kind == DeclarationKind::Aggregate && !declaration.members.is_empty();
        declaration.kind == DeclarationKind::Array || is_structure
    };
    winners.next().filter(|winner| is_large(winner) && winners.next().is_none())
}
