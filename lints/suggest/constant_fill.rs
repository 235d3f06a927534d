//! Tables that assignments of constants fill.

use lmem_base::diagnostic::{Applicability, Suggestion};
use lmem_frame::StackObject;

use crate::rewrite::constant_fill::constant_fill;

/// The values in the declaration, which is `static constexpr` then. Where something writes to the table through a pointer,
/// the compiler refuses that.
pub(crate) fn declare_with_values(object: &StackObject) -> Option<Suggestion> {
    let name = &object.variable.as_ref()?.name;
    let fill = constant_fill(object)?;
    let title = format!("declare `{name}` with its values as `static constexpr` (one table for all threads)");
    let suggestion = Suggestion::new(title, Applicability::MachineApplicable, fill.edits);
    Some(suggestion.within_kernel(fill.is_within_kernel))
}
