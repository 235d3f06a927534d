//! An array is walked by a loop that the compiler did not unroll.
//!
//! ## Why it costs
//! In an unrolled loop each index is a constant and the array can live in registers. In a loop that stays one,
//! the index is a register, and the array must be in local memory: every iteration loads or stores.
//!
//! ## What to do
//! - A trip count that is known at run time only: run to the constant extent of the array, with a guard
//!   `if (i < n)` inside, and unroll that.
//! - `#pragma unroll 1`, or a partial factor: `#pragma unroll`.
//! - A loop with `break`: give it a constant bound, and turn the rest of the iterations off with a flag.
//! - `#pragma nounroll` is not known to nvcc, which ignores it with a warning.
//!
//! ## Fix safety
//! Unrolling a loop of known length keeps the meaning. A guard in place of a run-time bound keeps it only where
//! the bound never exceeds the array's extent, which the array itself demands.

use crate::attribute::{Access, Address, ForLoop, MAX_REGISTERS, StackObject, StackObjectKind, Trip, index_loops};
use crate::diagnostic::{Applicability, Edit, Suggestion};
use crate::lint::{Check, Finding, Level, Lint, LintContext, describe, object_finding};

pub(crate) static LINT: Lint = Lint {
    name: "rolled_loop",
    level: Level::Warn,
    source: include_str!("rolled_loop.rs"),
    check: Check::Object(check),
};

/// Bytes of a register; an array beyond all of them stays where it is.
const REGISTER_BYTES: u64 = 4;

fn check(_: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let is_variable = matches!(object.kind, StackObjectKind::Variable);
    let own = object.accesses.iter().filter(|access| is_variable && !access.in_callee);
    let guilty = own.max_by_key(|access| access.guilt())?;
    let Address::Counter(trip) = guilty.address else { return None };
    let message = format!("{} lives in local memory: the loop over it is not unrolled", describe(object));
    let finding = object_finding(object, Some(guilty), message)
        .access(object, guilty)
        .label(guilty.pragma.as_ref(), "this keeps the loop from being unrolled")
        .label(guilty.loop_span.as_ref(), reason(guilty, trip));
    Some(finding.help(advice(guilty, trip)).suggest(unroll(object)))
}

/// `#pragma unroll` at all loops that walk the array, if their lengths are known.
fn unroll(object: &StackObject) -> Option<Suggestion> {
    let is_constant = |access: &Access| matches!(access.address, Address::Counter(Trip::Constant) | Address::Constant);
    if object.bytes > u64::from(MAX_REGISTERS) * REGISTER_BYTES {
        return None;
    }
    let loops = index_loops(object.accesses.iter())?;
    if !object.accesses.iter().all(is_constant) && !loops.iter().all(|found| found.rounds.is_some()) {
        return None;
    }
    // A loop that is to be unrolled already has nothing to be changed.
    let edits: Vec<Edit> = loops.iter().filter_map(ForLoop::unroll).collect();
    let title = match loops.as_slice() {
        [_] => "unroll the loop, its length is known".to_string(),
        _ => "unroll the loops over it, their lengths are known".to_string(),
    };
    let suggestion = Suggestion::new(title, Applicability::MachineApplicable, edits)
        .rounds(loops.iter().filter_map(|found| found.rounds).max())
        .within_kernel(loops.iter().all(ForLoop::is_within_kernel));
    Some(suggestion)
}

fn reason(guilty: &Access, trip: Trip) -> String {
    let condition = guilty.condition.as_ref().map(|span| span.text().split_whitespace().collect::<Vec<_>>().join(" "));
    let until = condition.filter(|text| text.len() <= 40).map(|text| format!(" (`{text}`)")).unwrap_or_default();
    match trip {
        Trip::RunTime => format!("not unrolled: how often it runs is known at run time only{until}"),
        Trip::SeveralExits => "not unrolled: there is more than one way out of it".to_string(),
        Trip::Constant if guilty.pragma.is_some() => "not unrolled, though its length is known".to_string(),
        Trip::Constant => format!("not unrolled: its length is known, but too large for the compiler{until}"),
        Trip::Unknown => "not unrolled".to_string(),
    }
}

fn advice(guilty: &Access, trip: Trip) -> String {
    match trip {
        Trip::RunTime => "let the loop run to the array's extent, with the present condition as a guard inside, and put `#pragma unroll` before it",
        Trip::SeveralExits => "give the loop a constant length, skip the rest of its iterations with a flag, and put `#pragma unroll` before it",
        _ if guilty.pragma.is_some() => "replace the pragma by `#pragma unroll`",
        _ => "put `#pragma unroll` before the loop",
    }
    .to_string()
}
