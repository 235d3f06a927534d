//! Functions that are called through a table, called by name.

use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::source::Span;
use lmem_frame::StackObject;

use crate::framework::LintContext;
use crate::rewrite;
use crate::rewrite::function_table::{FunctionTable, function_tables};

/// A `switch` in place of the tables whose functions get an object's address.
pub(crate) fn call_by_name(cx: &LintContext<'_>, object: &StackObject) -> Option<Suggestion> {
    suggestion(cx, function_tables(object))
}

/// The same for the tables that a function lies in, by the place of its name.
pub(crate) fn call_function_by_name(cx: &LintContext<'_>, name: &Span) -> Option<Suggestion> {
    suggestion(cx, rewrite::tables_with(cx.unit.compiled, name))
}

/// The same for the tables that are called in the function around a call.
pub(crate) fn call_by_name_near(cx: &LintContext<'_>, call: &Span) -> Option<Suggestion> {
    suggestion(cx, rewrite::tables_called_near(cx.unit.compiled, call))
}

fn suggestion(cx: &LintContext<'_>, tables: Vec<FunctionTable>) -> Option<Suggestion> {
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
    let mut edits: Vec<Edit> = tables.into_iter().flat_map(|table| table.edits).collect();
    edits.sort();
    edits.dedup();
    let title = format!("replace {} by a `switch` over direct calls", names.join(" and "));
    Some(Suggestion::new(title, applicability, edits))
}
