//! Both versions in one launch: whether a difference in what they write is the fault of the edit.

use ptx_machine::End;

use super::original::Ran;
use super::{HOPELESS, LAUNCH_LIMIT, LONG_TURN, Order, PATIENCE, Search};
use crate::difference::{Difference, between};
use crate::draw::Elements;
use crate::recipe::{Recipe, Spread};

const SHORT_TURN: u64 = 40;
/// Bounds of integers that stay within an array of a few elements.
const NARROW: [i64; 3] = [4, 2, 1];

impl Search<'_> {
    /// The difference between both versions; `None` for a launch that proves nothing.
    pub(super) fn both(
        &mut self,
        recipe: &Recipe,
        (old, elements): (Ran, Elements),
    ) -> Result<Option<Difference>, String> {
        let limit = old.outcome.warp_instructions * PATIENCE + LAUNCH_LIMIT;
        let new = self.execute(self.after, recipe, &elements, (limit, LONG_TURN), Order::Usual);
        let bytes = |what: String| Difference::Bytes(what, None);
        let found = match &new.outcome.end {
            End::NotSupported(what) => return Err(what.clone()),
            End::Completed => between(&old.memory, &new.memory),
            // A select chain takes many times as long, but not a hundred times.
            End::Limit if limit < old.outcome.warp_instructions.saturating_mul(HOPELESS) => return Ok(None),
            End::Limit => bytes("the edited version does not end".to_string()),
            End::Deadlock(_) => bytes("the edited version waits for ever".to_string()),
            End::Fault(fault, _) => bytes(format!("the edited version fails: {fault}")),
        };
        let found = match found {
            Difference::Bytes(..) => found,
            _ if self.interferes(recipe, &old, &elements, limit) => {
                bytes("threads of the edited version share what each needs for itself".to_string())
            }
            _ if new.outcome.events.local_out_of_bounds.count > 0 => {
                bytes("the edited version leaves a local array".to_string())
            }
            _ if new.outcome.printed != old.outcome.printed => bytes("it prints other text".to_string()),
            found => found,
        };
        if let Difference::Bytes(_, place) = &found {
            // Output that depends on the order of threads may differ for reasons other than the edit.
            let reversed = self.execute(self.before, recipe, &elements, (limit, LONG_TURN), Order::Reversed);
            if reversed.outcome.races.global
                && let Some(found) = self.in_turn(recipe, &elements, old.outcome.warp_instructions)
            {
                return Ok(self.counts(&old, &new).then_some(found));
            }
            let is_contested = place.as_ref().is_some_and(|(origin, offset)| {
                let memory = &reversed.memory;
                memory.region_of(origin).is_some_and(|region| memory.is_contested(region, *offset))
            });
            let is_ordered = !is_contested
                && reversed.outcome.end == End::Completed
                && between(&old.memory, &reversed.memory) == Difference::None
                && old.outcome.printed.len() == reversed.outcome.printed.len();
            let events = &new.outcome.events;
            let reads_nothing = events.uninitialized_shared.count
                + events.uninitialized_local.count
                + events.local_out_of_bounds.count
                + events.variable_out_of_bounds.count;
            // An index past the end of an inner array reaches the next member, and only the edit exposes it.
            let is_doubtful = self.terms.inner_length.is_some() || reads_nothing > 0;
            let is_proven = is_ordered
                && self.ignores_unwritten(recipe, &elements, &old)
                && (!is_doubtful || self.differs_when_narrow(recipe));
            return Ok(is_proven.then_some(found));
        }
        Ok(self.counts(&old, &new).then_some(found))
    }

    /// Whether a launch without a difference proves something: both versions execute what the edit changes.
    fn counts(&mut self, old: &Ran, new: &Ran) -> bool {
        let is_reached = self.reach.note(&old.outcome, &new.outcome);
        self.unreached += u32::from(old.has_effect() && !is_reached);
        old.has_effect() && is_reached
    }

    /// Whether results still differ when all integers in memory are small enough for any array.
    fn differs_when_narrow(&mut self, recipe: &Recipe) -> bool {
        NARROW.iter().any(|narrow| {
            let narrow = (*narrow).max(self.least + 1);
            // Negative integers leave arrays, too.
            let spread = if recipe.spread == Spread::Signed { Spread::Random } else { recipe.spread };
            let mut recipe = Recipe { spread, ..recipe.clone() };
            recipe.narrow(narrow);
            // A length beyond the array reaches the next one in the original, too.
            let room = self.terms.inner_length.map_or(i64::MAX, i64::from);
            recipe.integers.iter_mut().for_each(|number| *number = (*number).min(room));
            let Ok((old, elements)) = self.original(&recipe) else { return false };
            let limit = old.outcome.warp_instructions * HOPELESS + LAUNCH_LIMIT;
            let new = self.execute(self.after, &recipe, &elements, (limit, LONG_TURN), Order::Usual);
            let is_different = matches!(between(&old.memory, &new.memory), Difference::Bytes(..));
            new.outcome.end != End::Completed || is_different || new.outcome.printed != old.outcome.printed
        })
    }

    /// Whether the edited version shares memory between threads that need their own copy: with short time slices, warps
    /// then see each other's values.
    fn interferes(&mut self, recipe: &Recipe, old: &Ran, elements: &Elements, limit: u64) -> bool {
        let threads: u32 = recipe.block.iter().product();
        let blocks: u32 = recipe.grid.iter().product();
        if self.after.static_shared() <= self.before.static_shared() || threads <= 32 || blocks > 1 {
            return false;
        }
        let new = self.execute(self.after, recipe, elements, (limit, SHORT_TURN), Order::Usual);
        if new.outcome.end != End::Completed || !matches!(between(&old.memory, &new.memory), Difference::Bytes(..)) {
            return false;
        }
        // If threads of the original write to the same address, the order of warps decides which value remains.
        let short = self.execute(self.before, recipe, elements, (limit, SHORT_TURN), Order::Usual);
        between(&old.memory, &short.memory) == Difference::None
    }
}
