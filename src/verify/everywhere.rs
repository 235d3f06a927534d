//! An edit changes one file, but units with other flags or for other architectures may compile that file differently.
//! The edit is only offered if all of them compiled the same text for the edited region, and the text in the file.
//! Kernel strings that are made of one literal or macro are such units too, and what is not known of them speaks
//! against the edit.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use lmem_base::diagnostic::{Applicability, Diagnostic, Edit, Suggestion};
use lmem_base::source::Span;
use lmem_unit::{CompiledUnit, TranslationUnit, UnitCode};

use super::hidden::Concerned;
use super::lines::keeps_line_numbers;
use super::other_builds::{Header, OtherBuilds};
use super::other_compilers::word_of_cuda;
use super::subjects::{Subject, Subjects, reads};

/// Why a suggestion is not valid in all units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// Units compile other text there, or none that is known.
    NotAlike,
    /// A macro beside the edit, or lines that are not compiled, hide code with a name of the edit: the macro and the line.
    HidesName(String, Option<usize>),
    /// It rests on the launches of one unit, and others read it.
    OtherLaunches,
    /// The code has `__LINE__` or the like, which lines that come or go would change.
    CountsLines,
    /// A compiler of C++ may read the header, and does not know this word.
    OtherCompilers(String),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAlike => {
                "the code is not compiled alike everywhere, or what a macro hides is more than a statement"
            }
            Self::HidesName(name, line) => {
                let place = line.map(|line| format!(" (line {line})")).unwrap_or_default();
                return match name.as_str() {
                    "" => write!(f, "code below an `#if`{place}, not compiled here, names what the edit changes"),
                    name => write!(f, "the macro `{name}`{place} reads or writes what the edit changes"),
                };
            }
            Self::OtherLaunches => "other files that compile this code launch it in their own ways",
            Self::CountsLines => "the code counts its lines",
            Self::OtherCompilers(word) if word == "static" => {
                "other compilers may read this header, where the macro before the function may be `constexpr`"
            }
            Self::OtherCompilers(word) => {
                return write!(f, "other compilers may read this header, and do not know `{word}`");
            }
        })
    }
}

/// Removes suggestions whose edits are not valid everywhere; returns the place of each finding, and why.
///
/// `header` gives the text of a header of the user's, which may define names below conditions.
pub fn keep_true_everywhere(
    diagnostics: &mut [Diagnostic],
    subjects: &Subjects<'_>,
    header: Header<'_>,
) -> Vec<(String, Unfit)> {
    let (mut dropped, mut other_builds) = (Vec::new(), OtherBuilds::new(header));
    for diagnostic in diagnostics {
        let place = super::place(diagnostic);
        for mut suggestion in std::mem::take(&mut diagnostic.suggestions) {
            let readers = subjects.readers(&suggestion.edits);
            let headers = readers.iter().flat_map(|reader| subjects[*reader].dependencies);
            other_builds.review(&mut suggestion, headers.map(PathBuf::as_path));
            match unfit(&suggestion, subjects) {
                Some(unfit) => {
                    diagnostic.reject(&suggestion.title, &unfit);
                    dropped.push((place.clone(), unfit));
                }
                None => diagnostic.suggestions.push(suggestion),
            }
        }
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
    } else if let Some(unfit) = unfit_beside_macros(suggestion, &readers) {
        Some(unfit)
    } else if !has_one_reader(suggestion, &readers) {
        Some(Unfit::OtherLaunches)
    } else if !keeps_line_numbers(suggestion, &readers) {
        Some(Unfit::CountsLines)
    } else {
        word_of_cuda(suggestion).map(Unfit::OtherCompilers)
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

/// Whether a unit that reads the edits has more than statements hidden beside them, or statements with a name of theirs.
fn unfit_beside_macros(suggestion: &Suggestion, readers: &[&Subject<'_>]) -> Option<Unfit> {
    let edits = &suggestion.edits;
    // Most functions hide nothing, and then no names are asked for.
    let concerned = LazyCell::new(|| Concerned::of(edits));
    for subject in readers {
        let compiled = subject.compiled();
        // The edits of a suggestion are mostly of one function, which is looked at once.
        let mut seen = Vec::new();
        // What depends on its position alone cannot be made wrong by a statement beside it.
        for edit in edits.iter().filter(|edit| edit.context != edit.span && reads(subject, edit)) {
            if seen.contains(&&edit.context) {
                continue;
            }
            seen.push(&edit.context);
            match compiled.hidden_statements(&edit.context) {
                None => return Some(Unfit::NotAlike),
                Some(hidden) if hidden.is_empty() => {}
                Some(mut hidden) => {
                    // Whole statements of another build see no difference; the title says that there are some.
                    hidden.retain(|code| !suggestion.is_by_statement || !code.name.is_empty());
                    if let Some(code) = concerned.first_in(&hidden) {
                        return Some(Unfit::HidesName(code.name.clone(), code.line));
                    }
                }
            }
        }
    }
    None
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
        // Nobody else has a signature to compare, and that of a file has all of its constants. What it hides is asked for
        // all edits at once.
        return true;
    }
    let mut signatures = readers.iter().map(|compiled| compiled.signature(&edit.context));
    let Some(first) = signatures.next() else { return true };
    first.is_some() && signatures.all(|other| other == first)
}
