//! Tables that assignments of constants fill.

use crate::attribute::StackObject;
use crate::diagnostic::{Applicability, Suggestion};

/// The values in the declaration, which is `static constexpr` then. Where something writes to the table through a pointer,
/// the compiler refuses that.
pub(crate) fn declare_with_values(object: &StackObject) -> Option<Suggestion> {
    let name = &object.variable.as_ref()?.name;
    let fill = object.constant_fill()?;
    let title = format!("declare `{name}` with its values as `static constexpr`, so that it exists once");
    let suggestion = Suggestion::new(title, Applicability::MachineApplicable, fill.edits);
    Some(suggestion.within_kernel(fill.is_within_kernel))
}
