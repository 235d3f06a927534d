//! Edits that leave the variable where it was: they help, as they end other local memory, but a later one of the finding may end all.

use lmem_base::diagnostic::{Applicability, Diagnostic, Suggestion, Verification};

use super::Verdict;

/// Whether another suggestion of a finding is tried: none is proven, or what is leaves most of the variable's memory. One that asks for a
/// size stands back then.
pub(super) fn is_wanted(diagnostic: &Diagnostic, outcomes: &[Verdict], suggestion: &Suggestion) -> bool {
    let mut proven = outcomes.iter().filter_map(proof).peekable();
    match proven.peek() {
        None => true,
        Some(_) => {
            suggestion.applicability != Applicability::HasPlaceholders
                && proven.all(|proof| is_partial(diagnostic, proof))
        }
    }
}

/// Of several proven suggestions, the one stays that leaves the least local memory, the first of equal ones.
pub(super) fn keep_most(diagnostic: &Diagnostic, outcomes: &mut [Verdict]) {
    let rank = |at: usize, proof: &Verification| {
        let is_open =
            diagnostic.suggestions.get(at).is_some_and(|it| it.applicability == Applicability::HasPlaceholders);
        (is_open, left(proof))
    };
    let ranked = outcomes.iter().enumerate().filter_map(|(at, outcome)| Some((rank(at, proof(outcome)?), at)));
    let Some((_, best)) = ranked.min() else { return };
    for (at, outcome) in outcomes.iter_mut().enumerate() {
        if at != best && proof(outcome).is_some() {
            *outcome = Verdict::Unclear;
        }
    }
}

fn proof(outcome: &Verdict) -> Option<&Verification> {
    match outcome {
        Verdict::Proven(proof) => Some(proof),
        _ => None,
    }
}

/// The local memory that is left in all kernels.
fn left(proof: &Verification) -> u64 {
    proof.kernels.iter().map(|kernel| kernel.after.usage.stack_frame + kernel.after.usage.spilled()).sum()
}

/// Whether less is gone from a kernel's frame than half of what the finding's variable takes. Spills come and go for other reasons.
fn is_partial(diagnostic: &Diagnostic, proof: &Verification) -> bool {
    let Some(evidence) = &diagnostic.evidence else { return false };
    evidence.kernels.iter().any(|kernel| {
        let mut here = proof.kernels.iter().filter(|it| it.mangled == kernel.mangled && it.arch == kernel.arch);
        here.any(|it| {
            let (before, after) = (it.before.usage, it.after.usage);
            let gone = before.stack_frame.saturating_sub(after.stack_frame);
            before.spilled() == 0 && after.stack_frame > 0 && gone.saturating_mul(2) < kernel.bytes
        })
    })
}
