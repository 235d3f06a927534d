//! Functions that may be inlined, and were not.

use std::collections::BTreeSet;

use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::mangling::demangle;
use lmem_base::source::Span;
use lmem_frame::StackObject;

use crate::framework::LintContext;
use crate::rewrite;
use crate::rewrite::sites;

/// `__forceinline__` in place of `__noinline__` for all functions, mangled, that an object is handed to.
pub(crate) fn inline(cx: &LintContext<'_>, object: &StackObject, functions: &[String]) -> Option<Suggestion> {
    let names: BTreeSet<String> = functions.iter().map(|function| format!("`{}`", demangle(function))).collect();
    let edits = functions.iter().flat_map(|function| sites::inline(object, function)).collect();
    suggestion(cx, &names.into_iter().collect::<Vec<_>>(), edits)
}

/// The same for one function, by the place of its name.
pub(crate) fn inline_named(cx: &LintContext<'_>, name: &Span) -> Option<Suggestion> {
    suggestion(cx, &[format!("`{}`", name.text())], rewrite::inline_named(cx.unit.compiled, name))
}

fn suggestion(cx: &LintContext<'_>, names: &[String], mut edits: Vec<Edit>) -> Option<Suggestion> {
    edits.sort();
    edits.dedup();
    // An inline function is not there for other files that are linked with this one.
    let applicability = match cx.unit.is_relocatable() {
        true => Applicability::MaybeIncorrect,
        false => Applicability::MachineApplicable,
    };
    let title = format!("let {} be inlined", names.join(" and "));
    (!edits.is_empty()).then(|| Suggestion::new(title, applicability, edits))
}
