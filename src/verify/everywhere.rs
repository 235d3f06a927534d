//! An edit changes one file, but units with other flags or for other architectures may compile that file differently.
//! The edit is only offered if all of them compiled the same text for the edited region, and the text in the file.

use lmem_base::diagnostic::{Diagnostic, Edit, Suggestion};
use lmem_unit::CompiledUnit;

use super::{Subject, reads};

/// Removes suggestions whose edits are not valid everywhere; returns their number.
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

/// Whether all units that read an edit's region compiled the same text for it.
fn is_one(edit: &Edit, subjects: &[Subject<'_>]) -> bool {
    if edit.context == edit.span {
        // The edit depends on nothing but its position.
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
