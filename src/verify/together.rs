//! Suggestions that only help together: if several arrays share a part of the frame, the frame does not shrink until
//! all of them are gone.

use std::collections::{BTreeMap, BTreeSet};

use lmem_base::diagnostic::{Diagnostic, Suggestion};
use lmem_base::edit;

use super::compare::Fault;
use super::{Candidate, Prover, Tally, Verdict, candidate_of, try_all};

/// Limit on findings of one kernel that are tried together: a reader would rarely accept a larger edit.
const MOST: usize = 4;

/// Tries one suggestion for all findings of the same kernels, if none of them has a verified one, and adds it if it is
/// verified.
pub(super) fn try_together(
    diagnostics: &mut [Diagnostic],
    outcomes: &mut [Vec<Verdict>],
    prover: &Prover<'_>,
    tally: &mut Tally,
) {
    let mut merged: Vec<(Vec<usize>, Suggestion)> = Vec::new();
    for members in groups(diagnostics, outcomes, prover) {
        let parts: Vec<(&Diagnostic, &Suggestion)> = members
            .iter()
            .filter_map(|index| Some((&diagnostics[*index], without_gain(&diagnostics[*index], &outcomes[*index])?)))
            .collect();
        if let Some(suggestion) = merge(&parts) {
            merged.push((members, suggestion));
        }
    }
    let candidates: Vec<Candidate<'_>> = merged
        .iter()
        .filter_map(|(members, suggestion)| candidate_of(members[0], &diagnostics[members[0]], suggestion, prover))
        .collect();
    if candidates.len() != merged.len() {
        return;
    }
    tally.tried += candidates.len();
    let results = try_all(&candidates, prover, tally);
    for ((members, suggestion), outcome) in merged.into_iter().zip(results) {
        let Verdict::Proven(verification) = outcome else { continue };
        for index in members {
            diagnostics[index].suggestions.push(suggestion.clone());
            outcomes[index].push(Verdict::Proven(verification.clone()));
        }
    }
}

/// Groups findings of the same kernels whose suggestions have no effect alone.
fn groups(diagnostics: &[Diagnostic], outcomes: &[Vec<Verdict>], prover: &Prover<'_>) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<BTreeSet<(&str, &str)>, Vec<Vec<usize>>> = BTreeMap::new();
    let are_of_one = |first: usize, other: usize| {
        let edits = without_gain(&diagnostics[first], &outcomes[first]).map(|suggestion| &suggestion.edits);
        let place = diagnostics[other].primary.as_ref().map(|label| &label.span);
        edits.zip(place).is_some_and(|(edits, place)| prover.subjects.are_of_one(edits, place))
    };
    for (index, diagnostic) in diagnostics.iter().enumerate() {
        let Some(evidence) = diagnostic.evidence.as_ref() else { continue };
        let is_proven = outcomes[index].iter().any(|outcome| matches!(outcome, Verdict::Proven(_)));
        if !is_proven && without_gain(diagnostic, &outcomes[index]).is_some() {
            let kernels = evidence.kernels.iter().map(|kernel| (kernel.mangled.as_str(), kernel.arch.as_str()));
            // Copies of a file have kernels with equal names.
            let of_name = groups.entry(kernels.collect()).or_default();
            match of_name.iter_mut().find(|group| group.first().is_some_and(|first| are_of_one(*first, index))) {
                Some(group) => group.push(index),
                None => of_name.push(vec![index]),
            }
        }
    }
    groups.into_values().flatten().filter(|members| (2..=MOST).contains(&members.len())).collect()
}

/// The first suggestion that left the kernel's local memory unchanged.
fn without_gain<'d>(diagnostic: &'d Diagnostic, outcomes: &[Verdict]) -> Option<&'d Suggestion> {
    let position = outcomes.iter().position(|outcome| matches!(outcome, Verdict::Refuted(Fault::NoGain)))?;
    diagnostic.suggestions.get(position)
}

/// One suggestion with all edits; `None` if two of them conflict.
fn merge(parts: &[(&Diagnostic, &Suggestion)]) -> Option<Suggestion> {
    let (_, first) = parts.first()?;
    let mut all = Suggestion { edits: Vec::new(), ..(*first).clone() };
    let mut titles = Vec::new();
    for (diagnostic, suggestion) in parts {
        if suggestion.edits.iter().any(|one| all.edits.iter().any(|other| edit::conflict(one, other))) {
            return None;
        }
        all.edits.extend(suggestion.edits.iter().cloned());
        all.applicability = all.applicability.max(suggestion.applicability);
        all.rounds = all.rounds.max(suggestion.rounds);
        all.threads = all.threads.max(suggestion.threads);
        all.keeps_loops &= suggestion.keeps_loops;
        all.is_within_kernel &= suggestion.is_within_kernel;
        let variable = diagnostic.evidence.as_ref().and_then(|evidence| evidence.variable.as_deref());
        let title = match variable {
            Some(name) => format!("for `{name}`, {}", suggestion.title),
            None => suggestion.title.clone(),
        };
        titles.push(title);
    }
    all.edits.sort();
    all.edits.dedup();
    all.title = format!("together: {}", titles.join("; "));
    Some(all)
}
