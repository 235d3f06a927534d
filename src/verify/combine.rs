//! Selects verified suggestions that are compatible: exactly what was compiled together is written to files.

use std::collections::{BTreeMap, BTreeSet};

use lmem_base::diagnostic::{Diagnostic, Suggestion};
use lmem_base::edit;

use super::batch::Batch;
use super::measure::{Measured, canonical};
use super::{Budget, Candidate, Prover, candidate_of, compare, is_cancelled, judge_kernels, results, room, run};
use crate::compile::Failure;

/// Compatible suggestions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Combined {
    /// Indices of their diagnostics, in order.
    pub chosen: Vec<usize>,
    /// Indices of diagnostics whose suggestion is valid alone, but not together with the others.
    pub left: Vec<usize>,
    pub compilations: usize,
    pub interrupted: bool,
}

/// Suggestions that share units. They are tried together, then by halves, until the incompatible ones are found.
struct Group {
    accepted: Vec<usize>,
    /// Sets to be tried together with the accepted ones, from the last.
    open: Vec<Vec<usize>>,
}

impl Group {
    fn next(&self) -> Vec<usize> {
        self.open.last().map(|set| [&self.accepted[..], set].concat()).unwrap_or_default()
    }

    fn settle(&mut self, holds: bool) {
        let Some(set) = self.open.pop() else { return };
        match (holds, set.len()) {
            (true, _) => self.accepted.extend(set),
            (false, 0..=1) => {}
            (false, length) => {
                let (first, second) = set.split_at(length / 2);
                self.open.extend([second.to_vec(), first.to_vec()]);
            }
        }
    }
}

/// Selects as many accepted, verified suggestions as are compatible, the costliest findings first.
pub fn combine(
    diagnostics: &[Diagnostic],
    accepts: impl Fn(&Diagnostic, &Suggestion) -> bool,
    prover: &Prover<'_>,
) -> Combined {
    // The budget of the verification does not apply: writing nothing would waste all compilations so far.
    let prover = &Prover { budget: &Budget::new(u64::MAX), ..*prover };
    let (candidates, mut left) = candidates(diagnostics, accepts, prover);
    let mut groups = groups(&candidates);
    let mut combined = Combined::default();
    while groups.iter().any(|group| !group.open.is_empty()) {
        let batches: Vec<Batch> = groups.iter().map(|group| Batch::of(&group.next(), &candidates)).collect();
        let results = run(&candidates, &batches, prover);
        combined.compilations += results.values().filter(|result| result.is_some()).count();
        if is_cancelled(results.values()) {
            return Combined { interrupted: true, ..combined };
        }
        for (number, (group, batch)) in groups.iter_mut().zip(&batches).enumerate() {
            let of_subject = |subject: usize| results.get(&(number, subject)).and_then(Option::as_ref);
            group.settle(holds(&batch.members, &candidates, &of_subject, prover));
        }
    }
    let accepted: BTreeSet<usize> = groups.into_iter().flat_map(|group| group.accepted).collect();
    for (index, candidate) in candidates.iter().enumerate() {
        let list = if accepted.contains(&index) { &mut combined.chosen } else { &mut left };
        list.push(candidate.diagnostic);
    }
    combined.chosen.sort_unstable();
    combined.left = left;
    combined
}

/// The verified suggestions whose edits do not overlap, and the diagnostics of the others.
fn candidates<'d>(
    diagnostics: &'d [Diagnostic],
    accepts: impl Fn(&Diagnostic, &Suggestion) -> bool,
    prover: &Prover<'_>,
) -> (Vec<Candidate<'d>>, Vec<usize>) {
    let mut all: Vec<Candidate<'d>> = diagnostics
        .iter()
        .enumerate()
        .filter_map(|(index, diagnostic)| {
            let may_be_chosen = |suggestion: &&Suggestion| suggestion.is_proven() && accepts(diagnostic, suggestion);
            let suggestion = diagnostic.suggestions.iter().find(may_be_chosen)?;
            candidate_of(index, diagnostic, suggestion, prover)
        })
        .collect();
    all.sort_by_key(Candidate::order);
    let mut candidates: Vec<Candidate<'d>> = Vec::new();
    let mut waiting = Vec::new();
    for candidate in all {
        match candidates.iter().any(|earlier| overlap(earlier, &candidate)) {
            true => waiting.push(candidate.diagnostic),
            false => candidates.push(candidate),
        }
    }
    (candidates, waiting)
}

fn overlap(one: &Candidate<'_>, other: &Candidate<'_>) -> bool {
    one.suggestion.edits.iter().any(|edit| other.suggestion.edits.iter().any(|second| edit::conflict(edit, second)))
}

/// Groups candidates that change the same units.
fn groups(candidates: &[Candidate<'_>]) -> Vec<Group> {
    let mut sets: Vec<(BTreeSet<usize>, Vec<usize>)> = Vec::new();
    for (index, candidate) in candidates.iter().enumerate() {
        let mut subjects: BTreeSet<usize> = candidate.subjects.iter().copied().collect();
        let (mut members, mut rest) = (Vec::new(), Vec::new());
        for (known, others) in sets {
            match known.is_disjoint(&subjects) {
                true => rest.push((known, others)),
                false => {
                    subjects.extend(known);
                    members.extend(others);
                }
            }
        }
        members.push(index);
        members.sort_unstable();
        rest.push((subjects, members));
        sets = rest;
    }
    sets.into_iter().map(|(_, members)| Group { accepted: Vec::new(), open: vec![members] }).collect()
}

/// Whether with all edits each kernel is as good as with its own edit alone, and no other kernel is worse than before.
fn holds<'r>(
    batch: &[usize],
    candidates: &[Candidate<'_>],
    result: &dyn Fn(usize) -> Option<&'r Result<Measured, Box<Failure>>>,
    prover: &Prover<'_>,
) -> bool {
    let mut results: BTreeMap<usize, &Measured> = BTreeMap::new();
    for subject in batch.iter().flat_map(|index| &candidates[*index].subjects) {
        let Some(Ok(after)) = result(*subject) else { return false };
        results.insert(*subject, after);
    }
    let kernels = batch.iter().flat_map(|index| candidates[*index].kernels.iter());
    let own: BTreeSet<String> = kernels.map(|kernel| canonical(kernel)).collect();
    results.iter().all(|(subject, after)| {
        let subject = &prover.subjects[*subject];
        if results::any_difference(after).is_some() || room::lacking(subject, after).is_some() {
            return false;
        }
        let is_good = |index: &usize| {
            judge_kernels(&candidates[*index], subject, after).is_ok()
                && keeps(&candidates[*index], subject.architecture, after)
                && results::are_as_shown(&candidates[*index], after)
        };
        compare::first_that_suffers(subject.before, after, |name| own.contains(name)).is_none()
            && batch.iter().all(is_good)
    })
}

/// Whether the candidate's kernels have no more local memory than in its proof.
fn keeps(candidate: &Candidate<'_>, architecture: &str, after: &Measured) -> bool {
    let kernels = candidate.suggestion.verification.iter().flat_map(|proof| &proof.kernels);
    kernels.filter(|kernel| kernel.arch == architecture).all(|kernel| {
        let Some(function) = after.functions.get(&canonical(&kernel.mangled)) else { return true };
        let promised = &kernel.after.usage;
        function.usage.stack_frame <= promised.stack_frame && function.spilled() <= promised.spilled()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_tried_until_the_culprit_is_known() {
        let mut group = Group { accepted: Vec::new(), open: vec![vec![0, 1, 2, 3, 4]] };
        let mut tries = 0;
        while !group.open.is_empty() {
            let holds = !group.next().contains(&3);
            group.settle(holds);
            tries += 1;
        }
        assert_eq!(group.accepted, [0, 1, 2, 4]);
        assert!(tries <= 7, "{tries} compilations");
    }
}
