//! Groups findings with one cause, for people. One call, one table of functions, one recursion, or one edit that fixes
//! all of them gives one diagnostic with several names. Formats that show findings at their locations keep them
//! separate.

use std::borrow::Cow;
use std::cmp::Reverse;

use lmem_base::diagnostic::{Diagnostic, Evidence, Label};
use lmem_base::words::list;

/// Limit on names in a message.
const MAX_SUBJECTS: usize = 3;
/// Limit on lines for findings with the same cause but another message.
const MAX_OTHERS: usize = 3;
/// Limit on labels in an excerpt.
const MAX_LABELS: usize = 6;

/// The diagnostics in order, with each group at the position of its first member.
pub(super) fn by_cause<'d>(diagnostics: &'d [Diagnostic]) -> Vec<Cow<'d, Diagnostic>> {
    let mut groups: Vec<Vec<&'d Diagnostic>> = Vec::new();
    // Those that others may join: there may be a failure, which has no cause, for each of 100,000 compile commands.
    let mut open: Vec<usize> = Vec::new();
    for diagnostic in diagnostics {
        let may_join = diagnostic.evidence.as_ref().is_some_and(|evidence| evidence.cause.is_some())
            || !diagnostic.suggestions.is_empty();
        let is_of = |group: &&usize| groups[**group].iter().any(|known| have_one_cause(known, diagnostic));
        match open.iter().take_while(|_| may_join).find(is_of).copied() {
            Some(group) => groups[group].push(diagnostic),
            None => {
                open.extend(may_join.then_some(groups.len()));
                groups.push(vec![diagnostic]);
            }
        }
    }
    let shown = |mut group: Vec<&'d Diagnostic>| {
        // An edit ends all of them, so that its gain does not tell which one matters most.
        group.sort_by_cached_key(|diagnostic| Reverse(diagnostic.evidence.as_ref().map_or(0, Evidence::score)));
        match group.as_slice() {
            [] => None,
            [only] => Some(Cow::Borrowed(*only)),
            [head, others @ ..] => Some(Cow::Owned(joined(head, others))),
        }
    };
    groups.into_iter().filter_map(shown).collect()
}

fn have_one_cause(one: &Diagnostic, other: &Diagnostic) -> bool {
    let cause = |diagnostic: &Diagnostic| diagnostic.evidence.as_ref().and_then(|evidence| evidence.cause.clone());
    let has_same_edits = || match (one.suggestions.as_slice(), other.suggestions.as_slice()) {
        ([first, ..], [second, ..]) => first.edits == second.edits,
        _ => false,
    };
    one.severity == other.severity && ((cause(one).is_some() && cause(one) == cause(other)) || has_same_edits())
}

/// The group as one diagnostic: the costliest member provides the message, the others add names, locations and kernels.
fn joined(head: &Diagnostic, others: &[&Diagnostic]) -> Diagnostic {
    let mut all = head.clone();
    all.message = message(head, others);
    let own_labels = all.primary.iter().chain(&all.secondary).cloned().collect::<Vec<_>>();
    let mut labels = own_labels.clone();
    for other in others {
        // Only the declaration is added; accesses are shown for the first member.
        let new: Vec<Label> = other.primary.iter().filter(|label| !is_known(label, &labels)).cloned().collect();
        labels.extend(new);
    }
    all.secondary.extend(labels.into_iter().skip(own_labels.len()));
    all.secondary.truncate(MAX_LABELS.max(head.secondary.len()));
    let mut left: Vec<&Diagnostic> = others.iter().copied().filter(|other| !shares_reason(head, other)).collect();
    let mut different = Vec::new();
    while let Some(first) = left.first().copied() {
        let (same, rest): (Vec<&Diagnostic>, Vec<&Diagnostic>) =
            left[1..].iter().copied().partition(|other| shares_reason(first, other));
        different.push(format!("also {}", message(first, &same)));
        left = rest;
    }
    all.notes.extend(different.iter().take(MAX_OTHERS).cloned());
    if let Some(more) = different.len().checked_sub(MAX_OTHERS + 1) {
        all.notes.push(format!("also {} more with this cause (each in `--message-format short`)", more + 1));
    }
    for other in others {
        let notes = other.notes.iter().filter(|note| !all.notes.contains(note)).cloned().collect::<Vec<_>>();
        // For functions, the notes of the first member cover the others.
        all.notes.extend(notes.into_iter().filter(|_| shares_reason(head, other)));
        if all.suggestions.is_empty() {
            all.suggestions.clone_from(&other.suggestions);
        }
        if all.help.is_empty() {
            all.help.clone_from(&other.help);
        }
    }
    if !all.suggestions.is_empty() {
        all.help.clear();
    }
    join_figures(&mut all, others);
    all
}

fn is_known(label: &Label, known: &[Label]) -> bool {
    known.iter().any(|other| other.span == label.span || (other.text == label.text && is_one_line(other, label)))
}

fn is_one_line(one: &Label, other: &Label) -> bool {
    one.span.file.path == other.span.file.path && one.span.start_line() == other.span.start_line()
}

/// ```low` (`float`, 4 B) and `high` (`float`, 4 B) are in local memory: …``, if one reason holds for several.
fn message(head: &Diagnostic, others: &[&Diagnostic]) -> String {
    let subjects = std::iter::once(head).chain(others.iter().copied()).filter(|other| shares_reason(head, other));
    let named: Vec<String> = subjects.filter_map(|other| Some(subject(other)?.0.clone())).collect();
    match (subject(head), named.len()) {
        (Some((_, reason)), count) if count > 1 => {
            let mut shown: Vec<String> = named.iter().take(MAX_SUBJECTS).cloned().collect();
            if count > MAX_SUBJECTS {
                shown.push(format!("{} more", count - MAX_SUBJECTS));
            }
            let reason = if reason.starts_with("address ") {
                reason.replacen("address escapes", "addresses escape", 1).replacen(
                    "address stored",
                    "addresses stored",
                    1,
                )
            } else {
                reason.clone()
            };
            format!("{} are in local memory: {reason}", list(&shown))
        }
        _ => head.message.clone(),
    }
}

fn subject(diagnostic: &Diagnostic) -> Option<&(String, String)> {
    diagnostic.evidence.as_ref()?.subject.as_ref()
}

fn shares_reason(one: &Diagnostic, other: &Diagnostic) -> bool {
    let reason = |diagnostic: &Diagnostic| subject(diagnostic).map(|(_, reason)| reason.clone());
    one.code == other.code && reason(one).is_some() && reason(one) == reason(other)
}

/// Lists each kernel once, and adds up the bytes of the findings.
fn join_figures(all: &mut Diagnostic, others: &[&Diagnostic]) {
    let Some(Evidence { kernels, .. }) = &mut all.evidence else { return };
    for kernel in others.iter().filter_map(|other| other.evidence.as_ref()).flat_map(|evidence| &evidence.kernels) {
        let is_same = |known: &&mut lmem_base::diagnostic::KernelInstance| {
            (&known.mangled, &known.arch, &known.usage, &known.build)
                == (&kernel.mangled, &kernel.arch, &kernel.usage, &kernel.build)
        };
        match kernels.iter_mut().find(is_same) {
            Some(known) => known.bytes += kernel.bytes,
            None => kernels.push(kernel.clone()),
        }
    }
    let known = others.iter().flat_map(|other| &other.suggestions).filter_map(|other| other.verification.as_ref());
    let more: Vec<_> = known.flat_map(|verification| verification.kernels.clone()).collect();
    let Some(verification) = all.suggestions.first_mut().and_then(|first| first.verification.as_mut()) else { return };
    for kernel in more {
        let is_same = |known: &lmem_base::diagnostic::VerifiedKernel| {
            (&known.mangled, &known.arch, &known.before) == (&kernel.mangled, &kernel.arch, &kernel.before)
        };
        if !verification.kernels.iter().any(is_same) {
            verification.kernels.push(kernel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    fn escaping(name: &str, reason: &str) -> Diagnostic {
        let mut diagnostic = samples::variable();
        let evidence = diagnostic.evidence.as_mut().unwrap();
        evidence.cause = Some("call of `f`".to_string());
        evidence.subject = Some((format!("`{name}` (`float`, 4 B)"), reason.to_string()));
        diagnostic.message = format!("`{name}` (`float`, 4 B) is in local memory: {reason}");
        diagnostic
    }

    #[test]
    fn one_call_is_one_diagnostic() {
        let reason = "address escapes to `f`";
        let all = [escaping("low", reason), samples::spill(), escaping("high", reason), escaping("out", "`volatile`")];
        let shown = by_cause(&all);
        assert_eq!(shown.len(), 2);
        assert_eq!(
            shown[0].message,
            "`low` (`float`, 4 B) and `high` (`float`, 4 B) are in local memory: addresses escape to `f`"
        );
        assert!(shown[0].notes.iter().any(|note| note.starts_with("also `out`")), "{:?}", shown[0].notes);
        assert_eq!(shown[1].code, samples::spill().code);
        let kernels = &shown[0].evidence.as_ref().unwrap().kernels;
        assert_eq!((kernels.len(), kernels[0].bytes), (1, 3 * 128));
    }

    #[test]
    fn findings_without_a_common_cause_stay_apart() {
        assert_eq!(by_cause(&[samples::variable(), samples::header(), samples::spill()]).len(), 3);
    }
}
