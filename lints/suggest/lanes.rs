//! Parts of vectors that are chosen at run time.

use lmem_base::diagnostic::{Applicability, Suggestion};
use lmem_frame::StackObject;

use crate::rewrite::lanes::lanes;

/// A select over the components, and a shift, in place of an index.
pub(crate) fn select_lanes(object: &StackObject) -> Option<Suggestion> {
    let name = &object.variable.as_ref()?.name;
    let title = format!("select the component of `{name}` and extract the part with a shift");
    Some(Suggestion::new(title, Applicability::MaybeIncorrect, lanes(object)?))
}
