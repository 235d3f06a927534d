//! Edits that need no compilation: what they can gain at most is too little, or edits like them of the same kernels failed.
//!
//! A kernel of an old program may have dozens of arrays. Each edit of it compiles the whole file, and edits of one kernel
//! cannot share a compilation.

use std::collections::BTreeMap;
use std::mem::discriminant;

use super::compare::{self, Fault};
use super::measure::canonical;
use super::{Candidate, Prover, Tally, Verdict, try_some};

/// Edits of one kind and the same kernels that are compiled before the others are judged by them.
const FIRST: usize = 6;

/// Tries the candidates of a round, each for one finding.
pub(super) fn try_each(candidates: &[Candidate<'_>], prover: &Prover<'_>, tally: &mut Tally) -> Vec<Verdict> {
    let mut outcomes: Vec<Verdict> = candidates.iter().map(|_| Verdict::Open).collect();
    let (mut first, mut kinds) = (Vec::new(), BTreeMap::new());
    for (index, candidate) in candidates.iter().enumerate() {
        if let Some(fault) = foreseen(candidate, prover) {
            outcomes[index] = Verdict::Refuted(fault);
            continue;
        }
        let alike: &mut Vec<usize> = kinds.entry(kind(candidate)).or_default();
        alike.push(index);
        if alike.len() <= FIRST {
            first.push(index);
        }
    }
    try_some(candidates, &first, prover, tally, &mut outcomes);
    let mut rest: Vec<usize> = Vec::new();
    for alike in kinds.into_values().filter(|alike| alike.len() > FIRST) {
        let (tried, later) = alike.split_at(FIRST);
        match common_fault(tried, &outcomes) {
            Some(fault) => {
                for index in later {
                    outcomes[*index] = Verdict::Refuted(Fault::Alike(FIRST, Box::new(fault.clone())));
                }
            }
            None => rest.extend(later),
        }
    }
    rest.sort_unstable();
    try_some(candidates, &rest, prover, tally, &mut outcomes);
    outcomes
}

/// What makes two edits alike: the units and kernels, and what is done.
fn kind<'c>(candidate: &'c Candidate<'_>) -> (&'c [usize], Vec<&'c str>, &'c str) {
    let title = &candidate.suggestion.title;
    let what = title.split('`').next().unwrap_or(title);
    (&candidate.subjects, candidate.kernels.iter().copied().collect(), what)
}

/// The reason for which all of them are refuted, if it is one of costs.
fn common_fault(tried: &[usize], outcomes: &[Verdict]) -> Option<Fault> {
    let fault = |index: &usize| match &outcomes[*index] {
        Verdict::Refuted(fault) if fault.is_of_any_block() => Some(fault),
        _ => None,
    };
    let first = fault(tried.first()?)?;
    let is_same = |index: &usize| fault(index).is_some_and(|other| discriminant(other) == discriminant(first));
    tried.iter().all(is_same).then(|| first.clone())
}

/// Why a candidate fails whatever a compilation gives: in one of its kernels, shared memory takes the place of too little.
fn foreseen(candidate: &Candidate<'_>, prover: &Prover<'_>) -> Option<Fault> {
    if !candidate.suggestion.edits.iter().any(|edit| edit.replacement.contains("__shared__")) {
        return None;
    }
    let is_minor = candidate.subjects.iter().any(|index| {
        let subject = &prover.subjects[*index];
        let mut here = candidate.evidence.kernels.iter().filter(|kernel| kernel.arch == subject.architecture);
        here.any(|kernel| {
            let before = subject.before.functions.get(&canonical(&kernel.mangled));
            before.is_some_and(|before| before.usage == kernel.usage && compare::is_minor_at_best(before, kernel.bytes))
        })
    });
    is_minor.then_some(Fault::Minor)
}
