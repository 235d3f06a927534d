//! An edit changes one file, but units with other flags or for other architectures may compile that file differently.
//! The edit is only offered if all of them compiled the same text for the edited region, and the text in the file.
//! Kernel strings that are made of one literal or macro are such units too, and what is not known of them speaks
//! against the edit.

use std::collections::BTreeSet;

use lmem_base::diagnostic::{Applicability, Diagnostic, Edit, Suggestion};
use lmem_base::source::Span;
use lmem_unit::{CompiledUnit, TranslationUnit, UnitCode};

use super::hidden::Concerned;
use super::lines::keeps_line_numbers;
use super::subjects::{Subject, Subjects, reads};

/// Removes suggestions whose edits are not valid everywhere; returns their number.
pub fn keep_true_everywhere(diagnostics: &mut [Diagnostic], subjects: &Subjects<'_>) -> usize {
    let mut dropped = 0;
    for diagnostic in diagnostics {
        let before = diagnostic.suggestions.len();
        diagnostic.suggestions.retain(|suggestion| is_true_everywhere(suggestion, subjects));
        dropped += before - diagnostic.suggestions.len();
    }
    dropped
}

fn is_true_everywhere(suggestion: &Suggestion, subjects: &Subjects<'_>) -> bool {
    let edits = &suggestion.edits;
    let readers: Vec<&Subject<'_>> = subjects.readers(edits).into_iter().map(|index| &subjects[index]).collect();
    edits.iter().all(|edit| is_one(edit, &readers) && !is_of_unknown_text(&edit.span, subjects))
        && readers.iter().all(|subject| applies(edits, subject))
        && shares_no_name(edits, &readers)
        && has_one_reader(suggestion, &readers)
        && keeps_line_numbers(suggestion, &readers)
}

/// Whether a text that no unit has is made of the edited literal too.
fn is_of_unknown_text(span: &Span, subjects: &Subjects<'_>) -> bool {
    let mut literals = subjects.shared(&span.file.path);
    literals.any(|literal| literal.start <= span.end && span.start <= literal.end)
}

/// Whether a kernel string that has any of the edited text takes all edits of it. A macro's text may be in it twice.
fn applies(edits: &[Edit], subject: &Subject<'_>) -> bool {
    let (UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. }) = &subject.unit.code else { return true };
    let own: Vec<&Edit> = edits.iter().filter(|edit| reads(subject, edit)).collect();
    own.is_empty() || text.edited(&own).is_some()
}

/// Whether an edit that rests on the launches of one unit is read by no other: each has launches of its own.
fn has_one_reader(suggestion: &Suggestion, readers: &[&Subject<'_>]) -> bool {
    let is_open = suggestion.threads.is_none() || suggestion.applicability == Applicability::HasPlaceholders;
    let names: BTreeSet<&str> = readers.iter().map(|subject| &*subject.unit.name).collect();
    is_open || names.len() <= 1
}

/// Whether no statement that a macro hides has a name of the edits, in any unit that reads them.
fn shares_no_name(edits: &[Edit], readers: &[&Subject<'_>]) -> bool {
    let concerned = Concerned::of(edits);
    readers.iter().all(|subject| {
        let compiled = subject.compiled();
        edits.iter().filter(|edit| reads(subject, edit)).all(|edit| concerned.are_not_hidden(edit, &compiled))
    })
}

/// Whether all units that read an edit's region compiled the same text for it.
fn is_one(edit: &Edit, readers: &[&Subject<'_>]) -> bool {
    if edit.context == edit.span {
        // The edit depends on nothing but its position.
        return true;
    }
    let readers: Vec<CompiledUnit<'_>> =
        readers.iter().filter(|subject| reads(subject, edit)).map(|subject| subject.compiled()).collect();
    if let [CompiledUnit { unit: TranslationUnit { code: UnitCode::CudaFile { .. }, .. }, .. }] = readers[..] {
        // Nobody else has a signature to compare, and that of a file has all of its constants.
        let file = &edit.context.file;
        return readers[0].file(file).hidden_statements(file.text(), &edit.context.range()).is_some();
    }
    let mut signatures = readers.iter().map(|compiled| compiled.signature(&edit.context));
    let Some(first) = signatures.next() else { return true };
    first.is_some() && signatures.all(|other| other == first)
}
