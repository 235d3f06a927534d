//! Runs of one version, and whether a run of the original is a valid launch.

use std::rc::Rc;

use ptx_machine::{End, Events, Fault, Launch, Memory, Outcome, Program};

use super::{LAUNCH_LIMIT, LONG_TURN, Search};
use crate::difference::{Difference, between};
use crate::draw::{Drawn, Elements};
use crate::recipe::Recipe;

const SHARED: u32 = 32 << 10;

/// Why the original rejects a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reason {
    /// An index is too large, or there is too much work.
    TooLarge,
    /// A division by zero.
    Zero,
    /// An integer is used as an address.
    Wild,
    /// An unsupported instruction.
    NotSupported(String),
    /// Local or shared memory that nothing wrote is read, and nothing else is wrong.
    Unwritten(&'static str),
    Other(&'static str),
}

/// In which order threads run where nothing decides it. Races are noted unless it is the usual one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Usual,
    Reversed,
    /// Each thread until it waits, before the next one; and the last one first.
    Serial,
    SerialReversed,
}

impl Search<'_> {
    /// Runs the original; returns its outcome if the launch is valid.
    pub(super) fn original(&mut self, recipe: &Recipe) -> Result<(Ran, Elements), Reason> {
        self.original_within(recipe, LAUNCH_LIMIT)
    }

    /// The same of a launch with at most so many instructions.
    pub(super) fn original_within(&mut self, recipe: &Recipe, limit: u64) -> Result<(Ran, Elements), Reason> {
        let elements = Elements::default();
        let ran = self.execute(self.before, recipe, &elements, (limit, LONG_TURN), Order::Usual);
        match judged(&ran.outcome) {
            Err(Reason::Unwritten(_)) if self.is_lenient && self.ignores_unwritten(recipe, &elements, &ran) => {}
            Err(reason) => {
                self.reads_unwritten |= matches!(reason, Reason::Unwritten(_));
                return Err(reason);
            }
            Ok(()) => {}
        }
        Ok((ran, elements))
    }

    /// Whether the original computes the same with other values in memory and registers that nothing wrote: compilers load
    /// both operands of a condition before they know which one counts.
    pub(super) fn ignores_unwritten(&mut self, recipe: &Recipe, elements: &Elements, ran: &Ran) -> bool {
        let (mut launch, mut memory) = self.prepared(recipe, elements);
        launch.limits.warp_instructions = self.unless_cancelled(LAUNCH_LIMIT);
        launch.limits.unwritten = !launch.limits.unwritten;
        launch.limits.unset = !launch.limits.unset;
        let outcome = self.before.run(&launch, &mut memory);
        self.work += outcome.warp_instructions;
        outcome.end == ran.outcome.end
            && outcome.blocks == ran.outcome.blocks
            && outcome.printed == ran.outcome.printed
            && between(&ran.memory, &memory) == Difference::None
    }

    pub(super) fn execute(
        &mut self,
        program: &Program,
        recipe: &Recipe,
        elements: &Elements,
        (limit, turn): (u64, u64),
        order: Order,
    ) -> Ran {
        let (mut launch, mut memory) = self.prepared(recipe, elements);
        launch.limits.warp_instructions = self.unless_cancelled(limit);
        launch.limits.turn = turn;
        launch.limits.reversed = matches!(order, Order::Reversed | Order::SerialReversed);
        launch.limits.serial = matches!(order, Order::Serial | Order::SerialReversed);
        launch.limits.note_races = order != Order::Usual;
        if order == Order::Reversed {
            memory.note_writers();
        }
        let outcome = program.run(&launch, &mut memory);
        self.work += outcome.warp_instructions;
        Ran { outcome, memory }
    }

    pub(super) fn prepared(&self, recipe: &Recipe, elements: &Elements) -> (Launch, Memory) {
        let mut memory = Memory::new(Drawn {
            recipe: recipe.clone(),
            elements: Elements::clone(elements),
            constants: Rc::clone(&self.constants),
        });
        let mut launch = Launch::new(1, 1);
        (launch.grid, launch.block) = (recipe.grid, recipe.block);
        launch.limits.blocks = recipe.blocks;
        launch.dynamic_shared = if self.shape.has_dynamic_shared { SHARED } else { 0 };
        launch.parameters = self.parameters.bytes(&mut memory, recipe);
        (launch, memory)
    }
}

/// A run, and its final memory.
pub(super) struct Ran {
    pub outcome: Outcome,
    pub memory: Memory,
}

impl Ran {
    pub fn has_effect(&self) -> bool {
        self.memory.has_written() || !self.outcome.printed.is_empty()
    }
}

/// Whether a run of the original is valid.
pub(super) fn judged(outcome: &Outcome) -> Result<(), Reason> {
    let Events {
        local_out_of_bounds,
        object_out_of_bounds,
        uninitialized_local,
        variable_out_of_bounds,
        division_by_zero,
        wide_shift,
        uninitialized_shared,
        bad_collective,
    } = &outcome.events;
    match &outcome.end {
        End::NotSupported(what) => return Err(Reason::NotSupported(what.clone())),
        _ if local_out_of_bounds.count + object_out_of_bounds.count + variable_out_of_bounds.count > 0 => {
            return Err(Reason::TooLarge);
        }
        _ if division_by_zero.count > 0 => return Err(Reason::Zero),
        End::Fault(Fault::NoMemory { .. }, _) => return Err(Reason::Wild),
        End::Limit | End::Fault(..) => return Err(Reason::TooLarge),
        End::Deadlock(_) => return Err(Reason::Other("threads wait for each other")),
        End::Completed => {}
    }
    if wide_shift.count > 0 {
        return Err(Reason::TooLarge);
    }
    if bad_collective.count > 0 {
        return Err(Reason::Other("threads of a warp part at a collective instruction"));
    }
    if uninitialized_local.count > 0 {
        return Err(Reason::Unwritten("it reads local memory that nothing wrote"));
    }
    if uninitialized_shared.count > 0 {
        return Err(Reason::Unwritten("with the blocks tried, it reads shared memory that nothing wrote"));
    }
    Ok(())
}
