//! An edit is of one file; units with other flags, for other architectures, compile the same file to something else.
//! It is only made where all of them compiled the same, and what the file says.

use lmem_base::diagnostic::{Diagnostic, Edit, Suggestion};
use lmem_unit::CompiledUnit;

use super::{Subject, reads};

/// Takes away the suggestions whose edits are not true everywhere; says how many there were.
pub fn keep_true_everywhere(diagnostics: &mut [Diagnostic], subjects: &[Subject<'_>]) -> usize {
    let mut dropped = 0;
    for diagnostic in diagnostics {
        let before = diagnostic.suggestions.len();
        diagnostic.suggestions.retain(|suggestion| is_true_everywhere(suggestion, subjects));
        dropped += before - diagnostic.suggestions.len();
    }
    dropped
}

fn is_true_everywhere(suggestion: &Suggestion, subjects: &[Subject<'_>]) -> bool {
    suggestion.edits.iter().all(|edit| is_one(edit, subjects))
}

/// Whether all units that read what an edit depends on compiled the same of it.
fn is_one(edit: &Edit, subjects: &[Subject<'_>]) -> bool {
    if edit.context == edit.span {
        // It depends on nothing but the place.
        return true;
    }
    let mut signatures = subjects.iter().filter(|subject| reads(subject, edit)).map(|subject| {
        let Subject { unit, files, dependencies, .. } = subject;
        let compiled = CompiledUnit { unit, files: files.get(), dependencies };
        compiled.signature(&edit.context)
    });
    let Some(first) = signatures.next() else { return true };
    first.is_some() && signatures.all(|other| other == first)
}
