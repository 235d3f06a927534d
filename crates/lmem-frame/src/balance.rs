//! Makes the bytes of the objects add up to the frame size that ptxas reports.

use crate::access::Access;
use crate::frame::{FrameObject, StackObjectKind};

/// Keeps the objects that are in the frame, and adds the remainder as an unknown object. A remainder of up to `padding`
/// bytes is alignment.
pub fn balance(objects: Vec<FrameObject>, stray: Vec<Access>, frame: u64, padding: u64) -> Vec<FrameObject> {
    let mut left = frame;
    let mut kept = Vec::new();
    // What lies in the bytes of a deeper chain of calls is there if the machine code accesses it.
    let (overlaid, objects): (Vec<_>, Vec<_>) = objects.into_iter().partition(|object| object.overlaid_by.is_some());
    // An access proves that an object exists. An object whose address only escapes may have been promoted to registers,
    // so it is kept only if it fits.
    let (proven, escaped): (Vec<_>, Vec<_>) =
        objects.into_iter().partition(|object| !object.accesses.is_empty() || is_certain(object));
    for mut object in proven {
        object.bytes = object.bytes.min(left);
        left -= object.bytes;
        kept.push(object);
    }
    for object in escaped {
        if object.bytes > 0 && object.bytes <= left {
            left -= object.bytes;
            kept.push(object);
        }
    }
    // Objects without bytes are not in the frame: their accesses are reported with the remainder.
    let (empty, mut kept): (Vec<_>, Vec<_>) =
        kept.into_iter().partition(|object| object.bytes == 0 && !is_certain(object));
    let stray: Vec<Access> = stray.into_iter().chain(empty.into_iter().flat_map(|object| object.accesses)).collect();
    if left > padding
        && let Some((spills, gaps)) = kept.iter_mut().find_map(with_gaps)
    {
        // Spill slots that are no longer used: all known objects are elsewhere.
        let unused = gaps.min(left);
        spills.bytes += unused;
        left -= unused;
    }
    if let Some(last) = kept.iter_mut().rfind(|object| object.bytes > 0).filter(|_| left <= padding) {
        last.bytes += left;
        last.padding = left;
        left = 0;
    }
    if left > 0 || (kept.is_empty() && !stray.is_empty()) {
        kept.push(FrameObject { accesses: stray, ..FrameObject::new(StackObjectKind::Unknown, left) });
    }
    kept.extend(overlaid.into_iter().filter(|object| !object.accesses.is_empty() || is_certain(object)));
    kept
}

fn with_gaps(object: &mut FrameObject) -> Option<(&mut FrameObject, u64)> {
    let StackObjectKind::Spills(spills) = &object.kind else { return None };
    let gaps = spills.gap_bytes;
    Some((object, gaps))
}

/// Whether an object is in the frame even without an access.
fn is_certain(object: &FrameObject) -> bool {
    match &object.kind {
        StackObjectKind::Spills(_) | StackObjectKind::Call(_) | StackObjectKind::Recursion(_) => true,
        // The program may only use its address.
        StackObjectKind::Allocation(_) => true,
        StackObjectKind::Variable | StackObjectKind::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::tests::access;

    fn object(bytes: u64, accesses: usize) -> FrameObject {
        let mut object = FrameObject::new(StackObjectKind::Unknown, bytes);
        object.kind = StackObjectKind::Variable;
        object.accesses = (0..accesses).map(|_| access()).collect();
        object
    }

    const MAX_PADDING: u64 = 15;

    fn sum(objects: &[FrameObject]) -> u64 {
        objects.iter().map(FrameObject::counted_bytes).sum()
    }

    #[test]
    fn what_other_chains_of_calls_have_takes_nothing_from_the_rest() {
        let overlaid = |bytes, accesses| FrameObject { overlaid_by: Some("deep".into()), ..object(bytes, accesses) };
        let objects = balance(vec![overlaid(48, 1), overlaid(16, 0), object(64, 1)], Vec::new(), 64, MAX_PADDING);
        let bytes: Vec<u64> = objects.iter().map(|object| object.bytes).collect();
        assert_eq!((bytes, sum(&objects)), (vec![64, 48], 64));
    }

    #[test]
    fn bytes_always_add_up() {
        for frame in [0, 8, 64, 72, 80, 100, 200] {
            for objects in [vec![], vec![object(64, 1)], vec![object(64, 1), object(64, 0)], vec![object(16, 0)]] {
                for stray in [vec![], vec![access()]] {
                    assert_eq!(sum(&balance(objects.clone(), stray, frame, MAX_PADDING)), frame);
                }
            }
        }
    }

    #[test]
    fn padding_counts_with_the_object_before_it() {
        let objects = balance(vec![object(64, 1)], Vec::new(), 72, MAX_PADDING);
        assert_eq!((objects.len(), objects[0].bytes), (1, 72));
        let objects = balance(vec![object(64, 1)], Vec::new(), 104, MAX_PADDING);
        assert!(matches!(objects[1].kind, StackObjectKind::Unknown));
    }
}
