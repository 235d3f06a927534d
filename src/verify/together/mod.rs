//! Suggestions for several findings of one kernel at once: arrays that one index reaches, that one loop walks, or that
//! share a frame. Alone, an edit of one of them may gain too little for what it adds, or leave most of the local memory.

mod column;
mod merge;
mod related;
mod statement;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use lmem_base::diagnostic::{Diagnostic, Suggestion, Verification};

use super::compare::Fault;
use super::covered::ends_all;
use super::{Candidate, Prover, Tally, Verdict, candidate_of, place, try_all};
use related::Marks;

/// Limit on findings of one kernel that are tried together: a reader would rarely accept a larger edit.
const MOST: usize = 6;

/// Suggestions that are tried for one group.
const TRIES: usize = 2;

/// One part in this many of the speed-up of an edit alone may be lost by editing more: the resolution of the estimate.
const TOLERANCE: u32 = 32;

/// Bytes of an array of four words, for which nobody would give shared memory if registers do.
const FEW_BYTES: u64 = 16;

/// How the variables of a group leave local memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// All to registers.
    Registers,
    /// All to shared memory.
    Shared,
    /// Each as is best for it alone.
    Own,
}

/// The ways in the order in which they are tried.
const WAYS: [Way; 3] = [Way::Registers, Way::Own, Way::Shared];

/// The same where shared memory is known to help one of the variables.
const WAYS_TO_SHARED: [Way; 3] = [Way::Own, Way::Shared, Way::Registers];

/// Findings of one kernel, and the suggestions for all of them.
struct Group {
    members: Vec<usize>,
    open: Vec<Suggestion>,
}

/// Tries suggestions for several findings of a kernel at once, where none of them has an edit that ends its local memory.
/// Members get the one that is verified, if it is better than each of theirs.
pub(super) fn try_together(
    diagnostics: &mut [Diagnostic],
    outcomes: &mut [Vec<Verdict>],
    prover: &Prover<'_>,
    tally: &mut Tally,
) {
    let mut groups: Vec<Group> = groups(diagnostics, outcomes, prover)
        .into_iter()
        .map(|members| Group { open: suggestions(&members, diagnostics, outcomes), members })
        .collect();
    for _ in 0..TRIES {
        groups.retain(|group| !group.open.is_empty());
        let tried: Vec<(Vec<usize>, Suggestion)> =
            groups.iter_mut().map(|group| (group.members.clone(), group.open.remove(0))).collect();
        let candidates: Vec<Candidate<'_>> = tried
            .iter()
            .filter_map(|(members, suggestion)| candidate_of(members[0], &diagnostics[members[0]], suggestion, prover))
            .collect();
        if candidates.len() != tried.len() {
            return;
        }
        tally.tried += candidates.len();
        let results = try_all(&candidates, prover, tally);
        for ((group, (members, suggestion)), outcome) in groups.iter_mut().zip(tried).zip(results) {
            match outcome {
                Verdict::Proven(proof) => {
                    let takers = takers(&proof, &suggestion, &members, diagnostics, outcomes);
                    if takers.is_empty() {
                        tally.refuted.push((place(&diagnostics[members[0]]), Fault::NoBetter));
                        diagnostics[members[0]].reject(&suggestion.title, Fault::NoBetter);
                        continue;
                    }
                    for index in takers {
                        diagnostics[index].suggestions.insert(0, suggestion.clone());
                        outcomes[index].insert(0, Verdict::Proven(proof.clone()));
                    }
                    group.open.clear();
                }
                Verdict::Refuted(fault) => refuse(members[0], suggestion, fault, diagnostics, outcomes, tally),
                Verdict::Unclear | Verdict::Open => group.open.clear(),
            }
        }
    }
}

/// Has the costliest finding say what was tried.
fn refuse(
    index: usize,
    suggestion: Suggestion,
    fault: Fault,
    diagnostics: &mut [Diagnostic],
    outcomes: &mut [Vec<Verdict>],
    tally: &mut Tally,
) {
    if proof(&outcomes[index]).is_some() || outcomes[index].len() != diagnostics[index].suggestions.len() {
        diagnostics[index].reject(&suggestion.title, &fault);
        tally.refuted.push((place(&diagnostics[index]), fault));
        return;
    }
    diagnostics[index].suggestions.push(suggestion);
    outcomes[index].push(Verdict::Refuted(fault));
}

/// The findings to try together, the costliest first.
fn groups(diagnostics: &[Diagnostic], outcomes: &[Vec<Verdict>], prover: &Prover<'_>) -> Vec<Vec<usize>> {
    let mut by_kernels: BTreeMap<BTreeSet<(&str, &str)>, Vec<usize>> = BTreeMap::new();
    for (index, diagnostic) in diagnostics.iter().enumerate() {
        let Some(evidence) = diagnostic.evidence.as_ref() else { continue };
        if evidence.bytes > 0 && !usable(diagnostic, &outcomes[index]).is_empty() {
            let kernels = evidence.kernels.iter().map(|kernel| (kernel.mangled.as_str(), kernel.arch.as_str()));
            by_kernels.entry(kernels.collect()).or_default().push(index);
        }
    }
    let is_without_gain = |index: usize| {
        outcomes[index].iter().any(|outcome| matches!(outcome, Verdict::Refuted(Fault::NoGain)))
            && proof(&outcomes[index]).is_none()
    };
    // What costs too much beside the other variable may pay where that one leaves local memory, too.
    let completes = |one: usize, other: usize| {
        let is_refused = |index: usize| {
            let of_cost = |outcome: &Verdict| matches!(outcome, Verdict::Refuted(fault) if fault.is_of_cost());
            outcomes[index].iter().any(of_cost) && proof(&outcomes[index]).is_none()
        };
        is_refused(one) && proof(&outcomes[other]).is_some_and(|(_, proof)| !ends_all(proof))
    };
    let are_of_one = |one: usize, other: usize| {
        let place = diagnostics[other].primary.as_ref().map(|label| &label.span);
        let edits = diagnostics[one].suggestions.first().map(|suggestion| &suggestion.edits);
        edits.zip(place).is_some_and(|(edits, place)| prover.subjects.are_of_one(edits, place))
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for indices in by_kernels.into_values().filter(|indices| indices.len() > 1) {
        let marks: BTreeMap<usize, Marks<'_>> =
            indices.iter().map(|index| (*index, Marks::of(&diagnostics[*index]))).collect();
        // Copies of a file have kernels with equal names.
        let belong = |one: usize, other: usize| {
            let share_a_frame = is_without_gain(one) && is_without_gain(other);
            let is_joint = share_a_frame || completes(one, other) || completes(other, one);
            (is_joint || marks[&one].meet(&marks[&other])) && are_of_one(one, other)
        };
        let mut of_kernels: Vec<Vec<usize>> = Vec::new();
        for index in indices {
            let is_of = |group: &Vec<usize>| group.iter().any(|member| belong(*member, index));
            let (of, rest): (Vec<_>, Vec<_>) = of_kernels.into_iter().partition(is_of);
            of_kernels = rest;
            of_kernels.push(of.into_iter().flatten().chain([index]).collect());
        }
        groups.extend(of_kernels);
    }
    let score = |index: &usize| diagnostics[*index].evidence.as_ref().map(|evidence| evidence.score());
    for group in &mut groups {
        group.sort_by_key(|index| (std::cmp::Reverse(score(index)), *index));
    }
    groups.retain(|members| (2..=MOST).contains(&members.len()) && may_gain(members, diagnostics, outcomes));
    groups.sort();
    groups
}

/// Whether no edit alone ends the local memory, or one does with shared memory for a few bytes.
fn may_gain(members: &[usize], diagnostics: &[Diagnostic], outcomes: &[Vec<Verdict>]) -> bool {
    members.iter().all(|index| match proof(&outcomes[*index]) {
        Some((suggestion, proof)) if ends_all(proof) => {
            let own = diagnostics[*index].suggestions.get(suggestion);
            is_of_few_bytes(&diagnostics[*index]) && own.is_some_and(takes_shared_memory)
        }
        _ => true,
    })
}

fn is_of_few_bytes(diagnostic: &Diagnostic) -> bool {
    diagnostic.evidence.as_ref().is_some_and(|evidence| evidence.bytes <= FEW_BYTES)
}

/// The number of the verified suggestion, and its proof.
fn proof(outcomes: &[Verdict]) -> Option<(usize, &Verification)> {
    outcomes.iter().enumerate().find_map(|(number, outcome)| match outcome {
        Verdict::Proven(proof) => Some((number, proof)),
        _ => None,
    })
}

/// The suggestions of a finding that compute the same, with those that help alone first. The others cost too much for
/// what they gain alone, or were not tried because one helps.
fn usable<'d>(diagnostic: &'d Diagnostic, outcomes: &[Verdict]) -> Vec<&'d Suggestion> {
    let rank = |number: usize| match outcomes.get(number) {
        Some(Verdict::Proven(_)) => Some(0),
        Some(Verdict::Refuted(fault)) => fault.is_of_cost().then_some(1),
        None => Some(2),
        Some(Verdict::Unclear | Verdict::Open) => None,
    };
    let mut ranked: Vec<(u8, &Suggestion)> = diagnostic
        .suggestions
        .iter()
        .enumerate()
        .filter_map(|(number, suggestion)| Some((rank(number)?, suggestion)))
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, suggestion)| suggestion).collect()
}

fn takes_shared_memory(suggestion: &Suggestion) -> bool {
    suggestion.edits.iter().any(|edit| edit.replacement.contains("__shared__"))
}

/// The suggestions for a group that differ, at most as many as are tried.
fn suggestions(members: &[usize], diagnostics: &[Diagnostic], outcomes: &[Vec<Verdict>]) -> Vec<Suggestion> {
    let mut all: Vec<Suggestion> = Vec::new();
    let is_to_shared = |index: &usize| {
        let number = proof(&outcomes[*index]).map(|(number, _)| number);
        let own = number.and_then(|number| diagnostics[*index].suggestions.get(number));
        own.is_some_and(takes_shared_memory) && !is_of_few_bytes(&diagnostics[*index])
    };
    for way in if members.iter().any(is_to_shared) { WAYS_TO_SHARED } else { WAYS } {
        let of_way = |index: &usize| {
            let fits = |suggestion: &&Suggestion| match way {
                Way::Registers => !takes_shared_memory(suggestion),
                Way::Shared => takes_shared_memory(suggestion),
                Way::Own => true,
            };
            let suggestion = usable(&diagnostics[*index], &outcomes[*index]).into_iter().find(fits)?;
            Some((&diagnostics[*index], suggestion))
        };
        let parts: Option<Vec<(&Diagnostic, &Suggestion)>> = members.iter().map(of_way).collect();
        let joined = parts.and_then(|parts| join(&parts));
        all.extend(joined.filter(|joined| all.iter().all(|known| known.edits != joined.edits)));
    }
    all.truncate(TRIES);
    all
}

/// One suggestion with all edits; `None` if two of them exclude each other.
fn join(parts: &[(&Diagnostic, &Suggestion)]) -> Option<Suggestion> {
    let (_, first) = parts.first()?;
    // New names are made of the variable's.
    let names = parts.iter().filter_map(|(diagnostic, _)| diagnostic.evidence.as_ref()?.variable.as_deref());
    let names: Vec<&str> = names.collect();
    let are_new = names.iter().collect::<BTreeSet<_>>().len() == parts.len();
    let only_removes =
        |(_, suggestion): &(&Diagnostic, &Suggestion)| suggestion.edits.iter().all(|edit| edit.replacement.is_empty());
    if names.len() != parts.len() || !(are_new || parts.iter().all(only_removes)) {
        return None;
    }
    let edits = merge::merge(parts.iter().map(|(_, suggestion)| suggestion.edits.clone()).collect())?;
    let titles: Vec<(&str, &str)> =
        names.iter().copied().zip(parts.iter().map(|(_, suggestion)| suggestion.title.as_str())).collect();
    let mut all = Suggestion { title: words::title(&titles), edits, verification: None, ..(*first).clone() };
    for (_, suggestion) in parts {
        all.applicability = all.applicability.max(suggestion.applicability);
        all.rounds = all.rounds.max(suggestion.rounds);
        all.threads = all.threads.max(suggestion.threads);
        all.keeps_loops &= suggestion.keeps_loops;
        all.is_by_statement &= suggestion.is_by_statement;
        all.blocks_must_fit |= suggestion.blocks_must_fit;
        all.warps_must_stay |= suggestion.warps_must_stay;
        all.is_within_kernel &= suggestion.is_within_kernel;
    }
    Some(all)
}

/// The members that get an edit of all: none, if it does not leave less local memory than each of theirs, or is not as fast. A
/// member keeps an edit of its own that asks for less judgement.
fn takers(
    proof_of_all: &Verification,
    suggestion: &Suggestion,
    members: &[usize],
    diagnostics: &[Diagnostic],
    outcomes: &[Vec<Verdict>],
) -> Vec<usize> {
    let own = |index: usize| {
        let (number, proof) = proof(&outcomes[index])?;
        Some((diagnostics[index].suggestions.get(number)?, proof))
    };
    let is_better = members.iter().filter_map(|index| own(*index)).all(|(own, proof)| {
        let is_as_fast = match (speedup(proof_of_all), speedup(proof)) {
            (Some(all), Some(own)) => all + own / TOLERANCE >= own,
            _ => true,
        };
        let is_for_few = takes_shared_memory(own) && !takes_shared_memory(suggestion);
        let ends_more = left(proof_of_all) < left(proof) || (is_for_few && left(proof_of_all) == left(proof));
        ends_more && is_as_fast
    });
    let takes = |index: &usize| own(*index).is_none_or(|(own, _)| suggestion.applicability <= own.applicability);
    members.iter().copied().filter(takes).filter(|_| is_better).collect()
}

/// Bytes of local memory that an edit leaves.
fn left(proof: &Verification) -> u64 {
    proof.kernels.iter().map(|kernel| kernel.after.usage.stack_frame + kernel.after.usage.spilled()).sum()
}

/// The least speed-up of a kernel, in percent.
fn speedup(proof: &Verification) -> Option<u32> {
    proof.kernels.iter().filter_map(|kernel| Some(kernel.speedup.as_ref()?.percent)).min()
}
