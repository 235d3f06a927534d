//! Comparisons, whose results are predicates or values.

use super::merge;
use crate::float;
use crate::machine::{BlockState, Run};
use crate::memory::{LOCAL_WINDOW, WINDOW_SIZE, unmarked};
use crate::op::*;
use crate::warp::Frame;

impl Run<'_> {
    /// Writes a comparison and its complement, both combined with a predicate.
    pub(super) fn compare(
        &self,
        block: &BlockState,
        warp_index: usize,
        frame: &Frame,
        (compare, a, b): (&Compare, Src, Src),
        combine: Option<(Logic, PredicateSrc)>,
    ) -> (u32, u32) {
        let reader = self.reader(block, &block.warps[warp_index], frame);
        let (mut space_a, mut space_b) = ([0; 32], [0; 32]);
        let (a, b) = (reader.lanes(a, &mut space_a), reader.lanes(b, &mut space_b));
        let bits = match compare {
            Compare::Wide(function) if has_local(a) && has_local(b) => {
                // The end of an object may be formed like the start of the next one: only their positions are equal.
                let both = |lane: usize| is_local(a[lane]) && is_local(b[lane]);
                let position = |values: &Lanes| -> Lanes {
                    std::array::from_fn(|lane| if both(lane) { unmarked(values[lane]) } else { values[lane] })
                };
                function(&position(a), &position(b))
            }
            Compare::Wide(function) => function(a, b),
            Compare::Float { format, ftz, kind, unordered, .. } => (0..32).fold(0, |mask, lane| {
                mask | u32::from(float::compare(*format, *ftz, *kind, *unordered, a[lane], b[lane])) << lane
            }),
        };
        match combine {
            None => (bits, !bits),
            Some((logic, source)) => {
                let other = reader.predicate(source);
                (logic.apply(bits, other), logic.apply(!bits, other))
            }
        }
    }

    pub(super) fn set(
        &mut self,
        block: &BlockState,
        warp_index: usize,
        frame: &mut Frame,
        (compare, a, b): (&Compare, Src, Src),
        (combine, d, one): (Option<(Logic, PredicateSrc)>, u32, u64),
        active: u32,
    ) {
        let out = if let Compare::Float { format, ftz, kind, unordered, packed: true } = compare {
            let reader = self.reader(block, &block.warps[warp_index], frame);
            let (a, b) = (reader.copy(a), reader.copy(b));
            let half = |value: u64, shift: u32| value >> shift & 0xffff;
            std::array::from_fn(|lane| {
                let holds = |shift| {
                    float::compare(*format, *ftz, *kind, *unordered, half(a[lane], shift), half(b[lane], shift))
                };
                let part = |shift: u32| if holds(shift) { one & 0xffff << shift } else { 0 };
                part(0) | part(16)
            })
        } else {
            let (bits, _) = self.compare(block, warp_index, frame, (compare, a, b), combine);
            std::array::from_fn(|lane| if bits >> lane & 1 == 1 { one } else { 0 })
        };
        merge(&mut frame.registers[d as usize], &out, active);
    }
}

fn is_local(value: u64) -> bool {
    value.wrapping_sub(LOCAL_WINDOW) < WINDOW_SIZE
}

/// Whether one of the values seems to be an address of local memory.
#[inline]
fn has_local(values: &Lanes) -> bool {
    values.iter().fold(false, |found, value| found | is_local(*value))
}
