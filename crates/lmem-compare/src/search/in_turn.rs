//! Launches whose threads share memory by accident, as pointers and strides are made up: what a thread reads depends on how
//! far the others are, and so on branches that an edit changes. There, each thread runs alone, one after the other, in both orders.

use ptx_machine::{End, Program};
use ptx_syntax::{Module, Opcode};

use super::original::judged;
use super::{LAUNCH_LIMIT, LONG_TURN, Order, Search};
use crate::difference::{Difference, between};
use crate::draw::Elements;
use crate::instructions;
use crate::recipe::Recipe;

/// Lanes that run one after the other: so many instructions take the place of one.
const LANES: u64 = 32;

impl Search<'_> {
    /// How the results differ if each thread runs alone. `None` if that shows a difference of bytes, too, or nothing: no
    /// threads race in the original, or it orders them by atomics, or those of the edited version share what they wait for
    /// in no way.
    pub(super) fn in_turn(&mut self, recipe: &Recipe, elements: &Elements, work: u64) -> Option<Difference> {
        let orders = orders_threads(self.modules[0], self.before) || orders_threads(self.modules[1], self.after);
        if orders {
            return None;
        }
        let limit = work.saturating_mul(LANES).saturating_add(LAUNCH_LIMIT);
        let mut digits = None;
        // What a thread leaves for one before it shows in one of both orders alone.
        for order in [Order::Serial, Order::SerialReversed] {
            if let Difference::Digits(apart) = self.in_order(recipe, elements, limit, order)? {
                digits = digits.max(Some(apart));
            }
        }
        Some(digits.map_or(Difference::None, Difference::Digits))
    }

    fn in_order(&mut self, recipe: &Recipe, elements: &Elements, limit: u64, order: Order) -> Option<Difference> {
        let old = self.execute(self.before, recipe, elements, (limit, LONG_TURN), order);
        if judged(&old.outcome).is_err() || !old.outcome.races.global {
            return None;
        }
        let new = self.execute(self.after, recipe, elements, (limit, LONG_TURN), order);
        let events = &new.outcome.events;
        let is_valid = new.outcome.end == End::Completed
            && new.outcome.printed == old.outcome.printed
            && events.local_out_of_bounds.count + events.variable_out_of_bounds.count == 0
            && events.uninitialized_shared.count <= old.outcome.events.uninitialized_shared.count
            && !new.outcome.races.shared;
        let found = is_valid.then(|| between(&old.memory, &new.memory))?;
        (!matches!(found, Difference::Bytes(..))).then_some(found)
    }
}

/// Whether threads of a program may wait for each other by other means than barriers.
fn orders_threads(module: &Module, program: &Program) -> bool {
    instructions(module, program).any(|instruction| {
        let form = &instruction.form;
        let is_strong = |part| matches!(part, "volatile" | "relaxed" | "acquire" | "release" | "acq_rel" | "mmio");
        matches!(form.opcode, Opcode::Atom | Opcode::Red | Opcode::Membar | Opcode::Fence)
            || form.text.starts_with("mbarrier")
            || form.text.split('.').any(is_strong)
    })
}
