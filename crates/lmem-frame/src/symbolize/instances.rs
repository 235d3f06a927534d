//! One declared variable that is several objects: a function that was inlined at several calls has its variables once for each.

use std::collections::HashSet;

use cuda_syntax::TreeId;
use lmem_base::chain::Shared;

use super::votes::{Candidate, Resolved, is_mentioned_as};
use crate::access::RawObject;
use crate::place::Places;

/// A call with those around it, each by its tree and where it stands. Locations of the PTX repeat, so equal calls need not be one chain.
type Call = Vec<(TreeId, usize)>;

/// Whether objects are a variable at different calls: the accesses of each that use the variable lie in calls that no other object has
/// accesses from. Where the same call leads to two objects, one of them is something else.
pub fn are_instances<'a>(
    variable: &Candidate,
    objects: impl IntoIterator<Item = (&'a RawObject, &'a Resolved<'a>)>,
) -> bool {
    let mut known: HashSet<Call> = HashSet::new();
    objects.into_iter().all(|(object, resolved)| {
        let Some(calls) = calls(variable, object, resolved) else { return false };
        let is_new = !calls.is_empty() && calls.is_disjoint(&known);
        known.extend(calls);
        is_new
    })
}

/// The calls from which accesses of an object reach a variable. None if a use lies in the function that owns the frame, which has its
/// variables once.
fn calls(variable: &Candidate, object: &RawObject, resolved: &Resolved<'_>) -> Option<HashSet<Call>> {
    let found = object.accesses.iter().enumerate().flat_map(|(number, access)| resolved.of(number, access));
    let around = |places: &Places| places.rest().filter(|calls| !calls.is_empty()).cloned().map(Shared);
    let chains: HashSet<Shared<_>> = found
        .filter(|found| is_mentioned_as(variable)(found))
        .map(|found| around(&found.places))
        .collect::<Option<_>>()?;
    Some(chains.iter().map(|chain| chain.0.iter().map(|place| (place.tree, place.offset)).collect()).collect())
}
