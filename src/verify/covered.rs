//! Findings that an edit for another finding ends: an edit that leaves a kernel without any local memory makes those for
//! its other findings pointless.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use cuda_syntax::identifiers::identifiers;
use lmem_base::diagnostic::{Diagnostic, Edit, Suggestion, Verification, VerifiedKernel};
use lmem_base::source::Span;

/// Whether the edits and the place of a finding are of one unit.
type AreOfOne<'a> = &'a dyn Fn(&[Edit], &Span) -> bool;

/// Gives a finding the edit of another one, if that ends the local memory of all its kernels, and its own does not or is
/// less fast: one edit of part of a nest of loops may make the compiler unroll the rest, badly. Reports show findings with
/// one edit as one.
pub(super) fn share(diagnostics: &mut [Diagnostic], are_of_one: AreOfOne<'_>) {
    let by_kernel = by_kernel(diagnostics);
    let shared: Vec<(usize, Suggestion)> = (0..diagnostics.len())
        .filter(|index| may_gain(&diagnostics[*index]))
        .filter_map(|index| {
            let kernel = diagnostics[index].evidence.as_ref()?.kernels.first()?;
            let others = by_kernel.get(kernel.mangled.as_str())?.iter().filter(|other| **other != index);
            let place = diagnostics[index].primary.as_ref().map(|label| &label.span);
            let found = others.filter_map(|other| covering(&diagnostics[index], &diagnostics[*other]));
            let found = found.filter(|suggestion| place.is_some_and(|place| are_of_one(&suggestion.edits, place)));
            Some((index, found.min_by_key(|suggestion| (suggestion.applicability, Reverse(percent(suggestion))))?))
        })
        .collect();
    for (index, suggestion) in shared {
        let left = left_to_compiler(&diagnostics[index], &suggestion).map(str::to_string);
        diagnostics[index]
            .notes
            .extend(left.map(|name| format!("with this edit, the compiler keeps `{name}` in registers")));
        diagnostics[index].suggestions = vec![suggestion];
    }
}

/// By how much the estimate of an edit that asks for less judgement counts, in percent.
const LESS_JUDGEMENT: u32 = 150;

/// The findings with an edit, by the kernels that it was tried on. A workspace has many findings, and a kernel few.
fn by_kernel(diagnostics: &[Diagnostic]) -> HashMap<&str, Vec<usize>> {
    let mut by_kernel: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, diagnostic) in diagnostics.iter().enumerate() {
        let proofs = diagnostic.suggestions.iter().filter_map(|suggestion| suggestion.verification.as_ref());
        let names: BTreeSet<&str> = proofs.flat_map(|proof| &proof.kernels).map(|it| it.mangled.as_str()).collect();
        names.into_iter().for_each(|name| by_kernel.entry(name).or_default().push(index));
    }
    by_kernel
}

fn may_gain(diagnostic: &Diagnostic) -> bool {
    diagnostic.evidence.as_ref().is_some_and(|evidence| evidence.bytes > 0)
}

/// How much faster an edit is by estimate.
fn percent(suggestion: &Suggestion) -> Option<u32> {
    suggestion.verification.as_ref().and_then(Verification::percent)
}

/// The edit for another finding with its figures for the kernels of this one. One that asks for more judgement than the
/// finding's own stands back.
fn covering(diagnostic: &Diagnostic, other: &Diagnostic) -> Option<Suggestion> {
    let [theirs] = other.suggestions.as_slice() else { return None };
    let own = diagnostic.suggestions.first();
    if own.is_some_and(|own| own.is_proven() && own.applicability < theirs.applicability) {
        return None;
    }
    let ended = own.filter(|own| own.verification.as_ref().is_some_and(ends_all));
    let is_slower = |own: &Suggestion| {
        // What needs no size filled in may be a little slower.
        let weight = if own.applicability > theirs.applicability { LESS_JUDGEMENT } else { 100 };
        percent(theirs).map(|theirs| theirs * weight / 100) <= percent(own)
    };
    if ended.is_some_and(|own| percent(own).is_none() || is_slower(own)) {
        return None;
    }
    let verification = theirs.verification.as_ref()?;
    let kernels = diagnostic.evidence.as_ref()?.kernels.iter().map(|kernel| {
        let is_same = |it: &&VerifiedKernel| it.mangled == kernel.mangled && it.arch == kernel.arch;
        verification.kernels.iter().find(is_same).cloned()
    });
    let verification = Verification { kernels: kernels.collect::<Option<Vec<_>>>()? };
    ends_all(&verification).then(|| Suggestion { verification: Some(verification), ..theirs.clone() })
}

/// The variable of a finding, if the edit names others and none of its parts has this one.
fn left_to_compiler<'d>(diagnostic: &'d Diagnostic, suggestion: &Suggestion) -> Option<&'d str> {
    let name = diagnostic.evidence.as_ref()?.variable.as_deref()?;
    let is_in = |text: &str| identifiers(text).any(|word| word == name);
    let is_edited = suggestion.edits.iter().any(|edit| is_in(edit.span.text()) || is_in(&edit.replacement));
    let is_plain = identifiers(name).next() == Some(name);
    (is_plain && suggestion.title.contains('`') && !is_in(&suggestion.title) && !is_edited).then_some(name)
}

/// Whether no local memory is left.
pub(super) fn ends_all(verification: &Verification) -> bool {
    let is_ended = |kernel: &VerifiedKernel| kernel.after.usage.stack_frame == 0 && kernel.after.usage.spilled() == 0;
    !verification.kernels.is_empty() && verification.kernels.iter().all(is_ended)
}

#[cfg(test)]
mod tests {
    use lmem_base::diagnostic::{Applicability, ResourceUsage, Speedup};

    use super::*;
    use crate::report::samples;

    /// A finding whose edit leaves so many bytes of its kernel.
    fn found(title: &str, left: u64, applicability: Applicability) -> Diagnostic {
        let mut diagnostic = samples::proven();
        let suggestion = &mut diagnostic.suggestions[0];
        (suggestion.title, suggestion.applicability) = (title.to_string(), applicability);
        for kernel in &mut suggestion.verification.as_mut().unwrap().kernels {
            kernel.after.usage = ResourceUsage { stack_frame: left, ..ResourceUsage::default() };
        }
        diagnostic
    }

    fn titles(diagnostics: Vec<Diagnostic>) -> Vec<String> {
        titles_if(diagnostics, true)
    }

    fn titles_if(mut diagnostics: Vec<Diagnostic>, are_of_one: bool) -> Vec<String> {
        share(&mut diagnostics, &|_, _| are_of_one);
        diagnostics.iter().map(|it| it.suggestions.first().map_or("", |first| &first.title).to_string()).collect()
    }

    #[test]
    fn the_edit_that_ends_all_is_for_all() {
        let (safe, judged) = (Applicability::MachineApplicable, Applicability::MaybeIncorrect);
        assert_eq!(titles(vec![found("all", 0, safe), found("part", 32, safe)]), ["all", "all"]);
        assert_eq!(titles(vec![found("part", 32, judged), found("all", 0, safe)]), ["all", "all"]);
        // A safe edit does not make place for one that is to be judged.
        assert_eq!(titles(vec![found("all", 0, judged), found("part", 32, safe)]), ["all", "part"]);
        assert_eq!(titles(vec![found("most", 8, safe), found("part", 32, safe)]), ["most", "part"]);
        // Copies of a file have kernels with equal names.
        assert_eq!(titles_if(vec![found("all", 0, safe), found("part", 32, safe)], false), ["all", "part"]);
        // Of two that end all, the faster one is that of both.
        let fast = |percent: u32| {
            let mut found = found(&percent.to_string(), 0, safe);
            for kernel in &mut found.suggestions[0].verification.as_mut().unwrap().kernels {
                kernel.speedup = Some(Speedup { percent, low_percent: percent, high_percent: percent });
            }
            found
        };
        assert_eq!(titles(vec![fast(150), fast(200), fast(120)]), ["200", "200", "200"]);
        // One with a size to fill in makes place for one that is nearly as fast.
        let sized = |percent: u32| {
            let mut found = fast(percent);
            found.suggestions[0].applicability = Applicability::HasPlaceholders;
            found
        };
        assert_eq!(titles(vec![fast(160), sized(190)]), ["160", "160"]);
        assert_eq!(titles(vec![fast(160), sized(250)]), ["160", "250"]);
        assert_eq!(titles(vec![found("unknown", 0, safe), fast(200)]), ["unknown", "200"]);
        let refuted = Diagnostic { suggestions: Vec::new(), ..found("", 0, safe) };
        assert_eq!(titles(vec![refuted, found("all", 0, judged)]), ["all", "all"]);
        // Nothing is known of another kernel.
        let mut elsewhere = found("part", 32, safe);
        elsewhere.evidence.as_mut().unwrap().kernels[0].mangled.push('x');
        assert_eq!(titles(vec![found("all", 0, safe), elsewhere]), ["all", "part"]);
    }
}
