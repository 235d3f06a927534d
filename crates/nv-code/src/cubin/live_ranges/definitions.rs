//! What computed the values that are live at a point.

use std::collections::BTreeSet;

use ptx_syntax::Block;

use super::step::Step;
use super::{LiveRanges, Place};
use crate::cubin::sass::{AccessKind, INSTRUCTION_BYTES};

/// Limit on instructions that the searches for what defines the values of one point look at.
const MAX_VISITED: usize = 1 << 24;

impl LiveRanges {
    /// For each place, the instructions that computed the value that it has at `offset`: what is spilled, and loaded again, was
    /// computed before. None for constants, which have no line of their own, for what a call takes, and where there are too many
    /// ways.
    pub fn definitions(&self, places: &[Place], offset: u32) -> Vec<Vec<u32>> {
        let at = offset / INSTRUCTION_BYTES as u32;
        let mut budget = MAX_VISITED;
        places.iter().map(|place| self.definitions_of(*place, at, &mut budget).unwrap_or_default()).collect()
    }

    /// The same for the registers that instructions read, by their offsets; one search for all.
    pub fn definitions_of_reads(&self, reads: impl Iterator<Item = (u8, u32)>) -> Vec<Vec<u32>> {
        let mut budget = MAX_VISITED;
        let before = |offset: u32| (offset / INSTRUCTION_BYTES as u32).checked_sub(1);
        let of = |(register, offset)| {
            let place = Place::Register(register);
            before(offset).and_then(|before| self.definitions_of(place, before, &mut budget)).unwrap_or_default()
        };
        reads.map(of).collect()
    }

    /// `None` past the budget.
    fn definitions_of(&self, place: Place, at: u32, budget: &mut usize) -> Option<Vec<u32>> {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        // What the instruction writes is its own.
        let mut open = vec![(place, at + 1)];
        while let Some((place, at)) = open.pop() {
            for write in self.reaching(place, at, budget)? {
                let step = self.steps.get(write as usize)?;
                let from = match (place, step.slot) {
                    // The value of a spill is that of its register; that of a refill is the slot's.
                    (Place::Slot(word), Some((AccessKind::Store, first, _))) => {
                        step.data().map(|data| Place::Register(data.saturating_add(self.distance(word, first))))
                    }
                    (Place::Register(register), Some((AccessKind::Load, first, _))) => step.data().and_then(|data| {
                        let number = first + u32::from(register.saturating_sub(data));
                        self.slots.get(number as usize).map(|word| Place::Slot(*word))
                    }),
                    _ => None,
                };
                match from {
                    Some(from) if seen.insert((from, write)) => open.push((from, write)),
                    Some(_) => {}
                    None if step.call.is_none() && !step.is_constant => {
                        _ = found.insert(write * INSTRUCTION_BYTES as u32)
                    }
                    None => {}
                }
            }
        }
        Some(found.into_iter().collect())
    }

    /// How many words a word of the frame is behind the slot of a number.
    fn distance(&self, word: u32, first: u32) -> u8 {
        let first = self.slots.get(first as usize).copied().unwrap_or(word);
        u8::try_from(word.saturating_sub(first)).unwrap_or(0)
    }

    /// The writes of a place that may hold before an instruction, by their numbers. `None` past the budget.
    fn reaching(&self, place: Place, at: u32, budget: &mut usize) -> Option<Vec<u32>> {
        let mut found = Vec::new();
        let number = match place {
            Place::Slot(word) => self.slots.binary_search(&word).ok().and_then(|number| u32::try_from(number).ok()),
            Place::Register(_) => None,
        };
        let writes = |step: &Step| match (place, step.slot, number) {
            (Place::Register(register), ..) => self.killed(step).contains(register),
            (Place::Slot(_), Some((AccessKind::Store, first, count)), Some(number)) => {
                (first..first + u32::from(count)).contains(&number)
            }
            (Place::Slot(_), ..) => false,
        };
        let mut seen = BTreeSet::new();
        let mut open: Vec<(Block, u32)> = at
            .checked_sub(1)
            .and_then(|last| self.graph.block_of(last as usize))
            .map(|block| (block, at))
            .into_iter()
            .collect();
        while let Some((block, end)) = open.pop() {
            let start = self.graph.block(block).start;
            let mut is_over = false;
            for at in (start..end).rev() {
                *budget = budget.checked_sub(1)?;
                let step = &self.steps[at as usize];
                if writes(step) {
                    found.push(at);
                    is_over = !step.is_conditional;
                    if is_over {
                        break;
                    }
                }
            }
            if !is_over {
                let before = self.graph.block(block).predecessors.iter().filter(|before| seen.insert(**before));
                open.extend(before.map(|before| (*before, self.graph.block(*before).end)));
            }
        }
        Some(found)
    }
}
