//! Whether launches still fit where an edit takes shared memory.
//!
//! The compiler knows the static bytes alone. A launch fails if those and its dynamic bytes are more than 48 KiB, whichever
//! kernel it is of: several edits of one kernel add up, and a function may be part of kernels that no finding names.

use lmem_base::diagnostic::{Applicability, Suggestion, Verification};
use lmem_base::gpu::DECLARED_SHARED;
use lmem_base::mangling::demangle;

use super::compare::Fault;
use super::measure::Measured;
use super::subjects::Subject;

/// The first kernel with more shared memory than before whose launches may not fit.
pub(super) fn lacking(subject: &Subject<'_>, after: &Measured) -> Option<Fault> {
    let before = |name: &String| subject.before.functions.get(name).map_or(0, |function| function.usage.shared);
    let grown = after.functions.iter().filter(|(_, function)| function.is_entry);
    let mut grown = grown.filter(|(name, function)| function.usage.shared > before(name));
    grown.find_map(|(name, function)| lacks(function.usage.shared, subject.launches().dynamic_shared(&demangle(name))))
}

fn lacks(declared: u64, added: Option<u64>) -> Option<Fault> {
    match added {
        None => Some(Fault::UnknownLaunch),
        Some(added) if added > 0 && declared.saturating_add(added) > DECLARED_SHARED => {
            Some(Fault::SharedSize(declared.saturating_add(added), DECLARED_SHARED))
        }
        Some(_) => None,
    }
}

/// Adds to the title of an edit for blocks of unknown size how much dynamic shared memory its launches may have.
pub(super) fn say(suggestion: &mut Suggestion, verification: &Verification) {
    let is_open = suggestion.applicability == Applicability::HasPlaceholders;
    let is_shared = suggestion.edits.iter().any(|edit| edit.replacement.contains("__shared__"));
    let declared = verification.kernels.iter().map(|kernel| kernel.after.usage.shared).max();
    let left = declared.and_then(|declared| DECLARED_SHARED.checked_sub(declared));
    if let Some(left) = left.filter(|_| is_open && is_shared) {
        let threads = suggestion.threads.map(|threads| format!("{threads} threads and ")).unwrap_or_default();
        suggestion.title += &format!("; fits with {threads}up to {} KiB of dynamic shared memory", left >> 10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_and_dynamic_bytes_share_48_kib() {
        assert_eq!(lacks(8 << 10, Some(40 << 10)), None);
        assert_eq!(lacks(48 << 10, Some(0)), None);
        assert_eq!(lacks(8 << 10, Some(44 << 10)), Some(Fault::SharedSize(52 << 10, 48 << 10)));
        assert_eq!(lacks(8 << 10, None), Some(Fault::UnknownLaunch));
    }
}
