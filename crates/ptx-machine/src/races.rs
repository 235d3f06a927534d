//! Accesses of several threads to one byte whose order nothing decides: what a launch with such accesses computes is left
//! to chance. PTX ISA 8.8 "Observation order", "Data-races": here, barriers of the block and collective instructions of the
//! warp order threads, and nothing orders blocks.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::outcome::Races;

/// Bytes of global memory whose accesses are remembered at most; others have no races. Shared memory is bounded.
const MOST: usize = 1 << 20;

/// When a thread accesses memory, as far as others can know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The block's number in the grid, and the thread's in the block.
    pub block: u32,
    pub thread: u32,
    /// Barriers of the block and collective instructions of the warp so far.
    pub barriers: u32,
    pub collectives: u32,
}

impl Moment {
    fn is_of(&self, other: &Self) -> bool {
        (self.block, self.thread) == (other.block, other.thread)
    }

    /// Whether one of both is before the other in every run.
    fn is_ordered(&self, other: &Self) -> bool {
        let is_same_warp = self.thread / 32 == other.thread / 32;
        self.is_of(other)
            || self.block == other.block
                && (self.barriers != other.barriers || is_same_warp && self.collectives != other.collectives)
    }
}

/// A byte that threads access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Byte {
    Global(u64),
    /// In the shared memory of a block.
    Shared(u32, u64),
}

/// The last accesses of a byte.
#[derive(Debug, Clone, Copy, Default)]
struct Touched {
    written: Option<(Moment, u8)>,
    /// The last two threads that read it.
    read: [Option<Moment>; 2],
}

/// What is known of all accesses so far.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    bytes: HashMap<Byte, Touched, FixedState>,
    pub found: Races,
}

impl Witness {
    pub fn reads(&mut self, byte: Byte, now: Moment) {
        let Some(touched) = self.touched(byte) else { return };
        let is_race = touched.written.is_some_and(|(then, _)| !then.is_ordered(&now));
        let [last, _] = touched.read;
        touched.read = match last {
            Some(last) if !last.is_of(&now) => [Some(now), Some(last)],
            _ => [Some(now), touched.read[1]],
        };
        self.note(byte, is_race);
    }

    pub fn writes(&mut self, byte: Byte, value: u8, now: Moment) {
        let Some(touched) = self.touched(byte) else { return };
        let is_read = touched.read.iter().flatten().any(|then| !then.is_ordered(&now));
        let is_written = touched.written.is_some_and(|(then, old)| old != value && !then.is_ordered(&now));
        touched.written = Some((now, value));
        self.note(byte, is_read || is_written);
    }

    fn touched(&mut self, byte: Byte) -> Option<&mut Touched> {
        let is_bounded = matches!(byte, Byte::Shared(..));
        let is_full = !is_bounded && self.bytes.len() >= MOST && !self.bytes.contains_key(&byte);
        (!is_full).then(|| self.bytes.entry(byte).or_default())
    }

    fn note(&mut self, byte: Byte, is_race: bool) {
        match byte {
            Byte::Global(_) => self.found.global |= is_race,
            Byte::Shared(..) => self.found.shared |= is_race,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(thread: u32, barriers: u32, collectives: u32) -> Moment {
        Moment { block: 0, thread, barriers, collectives }
    }

    /// What a thread does to a byte, and when.
    enum Step {
        Reads(Moment),
        Writes(Moment, u8),
    }
    use Step::{Reads, Writes};

    fn has_race(byte: Byte, steps: &[Step]) -> bool {
        let mut witness = Witness::default();
        for step in steps {
            match step {
                Reads(now) => witness.reads(byte, *now),
                Writes(now, value) => witness.writes(byte, *value, *now),
            }
        }
        let Races { global, shared } = witness.found;
        assert!(!(global && shared));
        match byte {
            Byte::Global(_) => global,
            Byte::Shared(..) => shared,
        }
    }

    #[test]
    fn threads_race_where_one_writes_what_another_reads() {
        let other = Moment { block: 1, ..at(0, 1, 1) };
        for steps in [
            [Writes(at(0, 0, 0), 1), Reads(at(1, 0, 0))].as_slice(),
            &[Reads(at(0, 0, 0)), Writes(at(1, 0, 0), 1)],
            &[Reads(at(0, 0, 0)), Reads(at(1, 0, 0)), Writes(at(1, 0, 0), 1)],
            &[Writes(at(0, 0, 0), 1), Writes(at(1, 0, 0), 2)],
            &[Writes(at(0, 0, 0), 1), Reads(other)],
            // A collective instruction orders the threads of its warp alone.
            &[Writes(at(0, 0, 0), 1), Reads(at(40, 0, 1))],
        ] {
            assert!(has_race(Byte::Global(7), steps));
            assert!(has_race(Byte::Shared(0, 7), steps));
        }
    }

    #[test]
    fn what_is_ordered_is_no_race() {
        for steps in [
            [Writes(at(0, 0, 0), 1), Reads(at(0, 0, 0))],
            [Writes(at(0, 0, 0), 1), Reads(at(40, 1, 0))],
            [Writes(at(0, 0, 0), 1), Reads(at(1, 0, 1))],
            [Writes(at(0, 0, 0), 1), Writes(at(1, 0, 0), 1)],
            [Reads(at(0, 0, 0)), Reads(at(1, 0, 0))],
        ] {
            assert!(!has_race(Byte::Global(7), &steps));
            assert!(!has_race(Byte::Shared(0, 7), &steps));
        }
        // Blocks have shared memory of their own.
        let mut witness = Witness::default();
        witness.writes(Byte::Shared(0, 7), 1, at(0, 0, 0));
        witness.reads(Byte::Shared(1, 7), Moment { block: 1, ..at(1, 0, 0) });
        assert_eq!(witness.found, Races::default());
    }
}
