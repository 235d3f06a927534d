//! An edit changes one file, but units with other flags or for other architectures may compile that file differently.
//! The edit is only offered if all of them compiled the same text for the edited region, and the text in the file.
//! Kernel strings that are made of one literal or macro are such units too, and what is not known of them speaks
//! against the edit.

use std::collections::BTreeSet;
use std::fmt;

use lmem_base::diagnostic::{Applicability, Diagnostic, Edit, Suggestion};
use lmem_base::source::Span;
use lmem_unit::{CompiledUnit, TranslationUnit, UnitCode};

use super::hidden::Concerned;
use super::lines::keeps_line_numbers;
use super::subjects::{Subject, Subjects, reads};

/// Why a suggestion is not valid in all units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// Units compile other text there, or none that is known.
    NotAlike,
    /// A macro beside the edit hides a statement with a name of the edit.
    HidesName,
    /// It rests on the launches of one unit, and others read it.
    OtherLaunches,
    /// The code has `__LINE__` or the like, which lines that come or go would change.
    CountsLines,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAlike => {
                "the code is not compiled alike everywhere, or what a macro hides is more than a statement"
            }
            Self::HidesName => "a macro in this function reads or writes what the edit changes",
            Self::OtherLaunches => "other files that compile this code launch it in their own ways",
            Self::CountsLines => "the code counts its lines",
        })
    }
}

/// Removes suggestions whose edits are not valid everywhere; returns the place of each finding, and why.
pub fn keep_true_everywhere(diagnostics: &mut [Diagnostic], subjects: &Subjects<'_>) -> Vec<(String, Unfit)> {
    let mut dropped = Vec::new();
    for diagnostic in diagnostics {
        let place = super::place(diagnostic);
        diagnostic.suggestions.retain(|suggestion| {
            let unfit = unfit(suggestion, subjects);
            dropped.extend(unfit.map(|unfit| (place.clone(), unfit)));
            unfit.is_none()
        });
    }
    dropped
}

fn unfit(suggestion: &Suggestion, subjects: &Subjects<'_>) -> Option<Unfit> {
    let edits = &suggestion.edits;
    let readers: Vec<&Subject<'_>> = subjects.readers(edits).into_iter().map(|index| &subjects[index]).collect();
    let is_alike = edits.iter().all(|edit| is_one(edit, &readers) && !is_of_unknown_text(&edit.span, subjects))
        && readers.iter().all(|subject| applies(edits, subject));
    if !is_alike {
        Some(Unfit::NotAlike)
    } else if !shares_no_name(edits, &readers) {
        Some(Unfit::HidesName)
    } else if !has_one_reader(suggestion, &readers) {
        Some(Unfit::OtherLaunches)
    } else if !keeps_line_numbers(suggestion, &readers) {
        Some(Unfit::CountsLines)
    } else {
        None
    }
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
