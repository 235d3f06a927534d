//! Functions that are called through a table, called by name.

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

/// The same for the tables that a function lies in, by the place of its name.
pub fn of_function(cx: &LintContext<'_>, name: &Span) -> Option<Suggestion> {
    offer(cx, table::with_function(cx.unit.compiled, name))
}

/// The same for the tables that are called in the function around a call.
pub fn near_call(cx: &LintContext<'_>, call: &Span) -> Option<Suggestion> {
    offer(cx, table::called_near(cx.unit.compiled, call))
}

fn offer(cx: &LintContext<'_>, tables: Vec<FunctionTable>) -> Option<Suggestion> {
    // What other files make of the table is not known.
    if tables.is_empty() || cx.unit.is_relocatable() {
        return None;
    }
    // The host may write to a table whose name it asks the driver for.
    let applicability = match tables.iter().all(|table| table.is_constant) {
        true => Applicability::MachineApplicable,
        false => Applicability::MaybeIncorrect,
    };
    let names: Vec<String> = tables.iter().map(|table| format!("`{}`", table.name)).collect();
    let edits: Vec<Edit> = tables.into_iter().flat_map(|table| table.edits).collect();
    let title = format!("replace {} by a `switch` over direct calls", names.join(" and "));
    Some(Rewrite::new(applicability, edits).suggestion(title))
}
