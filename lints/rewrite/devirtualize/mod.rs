//! Devirtualization: calls through a function table become direct calls.

mod table;

use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::source::Span;
use lmem_frame::StackObject;

use self::table::FunctionTable;
use crate::framework::LintContext;
use crate::rewrite::Rewrite;

/// Replaces the function tables that receive an object's address by a `switch`.
pub fn suggestion(cx: &LintContext<'_>, object: &StackObject) -> Option<Suggestion> {
    offer(cx, table::of_object(object))
}

/// The suggestion for the tables that contain a function, given the span of its name.
pub fn of_function(cx: &LintContext<'_>, name: &Span) -> Option<Suggestion> {
    offer(cx, table::with_function(cx.unit.compiled, name))
}

/// The suggestion for the tables called in the function around a call.
pub fn near_call(cx: &LintContext<'_>, call: &Span) -> Option<Suggestion> {
    offer(cx, table::called_near(cx.unit.compiled, call))
}

fn offer(cx: &LintContext<'_>, tables: Vec<FunctionTable>) -> Option<Suggestion> {
    // Other files may use the table in unknown ways.
    if tables.is_empty() || cx.unit.is_relocatable() {
        return None;
    }
    // The host may get the table's address by its name and write to it.
    let applicability = match tables.iter().all(|table| table.is_constant) {
        true => Applicability::MachineApplicable,
        false => Applicability::MaybeIncorrect,
    };
    let names: Vec<String> = tables.iter().map(|table| format!("`{}`", table.name)).collect();
    let edits: Vec<Edit> = tables.into_iter().flat_map(|table| table.edits).collect();
    let title = format!("replace {} by a `switch` over direct calls", names.join(" and "));
    Some(Rewrite::new(applicability, edits).suggestion(title))
}
