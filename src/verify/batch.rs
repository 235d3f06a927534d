//! Candidates that are tried in one compilation for each unit that any of them edits.

use std::collections::BTreeMap;

use lmem_base::edit;

use super::Candidate;

/// Candidates of one try, by their indices.
#[derive(Default)]
pub(super) struct Batch {
    pub members: Vec<usize>,
    /// By unit, the members that edit it. Only they are compared, compiled and judged together: a batch may have one member
    /// for each file of a workspace.
    of_subject: BTreeMap<usize, Vec<usize>>,
}

impl Batch {
    pub fn of(members: &[usize], candidates: &[Candidate<'_>]) -> Self {
        let mut batch = Self::default();
        members.iter().for_each(|index| batch.add(*index, &candidates[*index]));
        batch
    }

    fn add(&mut self, index: usize, candidate: &Candidate<'_>) {
        self.members.push(index);
        for subject in &candidate.subjects {
            self.of_subject.entry(*subject).or_default().push(index);
        }
    }

    /// The units to compile.
    pub fn subjects(&self) -> impl Iterator<Item = usize> {
        self.of_subject.keys().copied()
    }

    /// The members that edit a unit, in their order.
    pub fn on(&self, subject: usize) -> &[usize] {
        self.of_subject.get(&subject).map_or(&[], Vec::as_slice)
    }

    /// The members that edit a unit of a candidate.
    pub fn peers(&self, candidate: &Candidate<'_>) -> Vec<usize> {
        let mut peers: Vec<usize> = candidate.subjects.iter().flat_map(|subject| self.on(*subject)).copied().collect();
        peers.sort_unstable();
        peers.dedup();
        peers
    }

    fn fits(&self, candidate: &Candidate<'_>, candidates: &[Candidate<'_>]) -> bool {
        self.peers(candidate).into_iter().all(|other| may_share(candidate, &candidates[other]))
    }
}

/// Groups some of the candidates, by their indices, into batches for one compilation each. Candidates of a batch that
/// share a unit must change nothing but their own kernels, and have neither edits that touch nor a kernel in common.
pub(super) fn batches(some: &[usize], candidates: &[Candidate<'_>]) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    for index in some {
        let candidate = &candidates[*index];
        match batches.iter_mut().find(|batch| batch.fits(candidate, candidates)) {
            Some(batch) => batch.add(*index, candidate),
            None => batches.push(Batch::of(&[*index], candidates)),
        }
    }
    batches
}

/// Whether two candidates that edit one unit may be compiled together.
fn may_share(one: &Candidate<'_>, other: &Candidate<'_>) -> bool {
    let are_local = one.suggestion.is_within_kernel && other.suggestion.is_within_kernel;
    let edits = || one.suggestion.edits.iter();
    let touches = || {
        edits().any(|edit| other.suggestion.edits.iter().any(|second| edit::conflict(edit, second) || edit == second))
    };
    are_local && one.kernels.is_disjoint(&other.kernels) && !touches()
}
