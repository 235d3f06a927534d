//! Register pressure of the machine code: where a function needs most registers, and what computed the values in them.
//!
//! At the limit, registers alone say little: ptxas spills until it is kept. So a value that lies in a spill slot counts as one that
//! needs a register.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::cubin::CubinFunction;
use crate::cubin::live_ranges::{LiveRanges, Place};
use crate::source_lines::{Definition, SourceLines};

/// The point of a function where most values are live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterPressure {
    /// The instruction at the peak.
    pub at: Definition,
    /// Registers that are live there.
    pub registers: u32,
    /// Registers that the values in spill slots would need.
    pub spilled: u32,
    /// What is live there, by what computed it.
    pub values: Vec<LiveValue>,
}

/// Values of one origin that are live at a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveValue {
    /// The instructions that may have computed them; never none.
    pub definitions: Vec<Definition>,
    /// Registers that they need, slots included.
    pub registers: u32,
}

/// The peak of one of several parts of a section: of that with the most spills. `lines` tells the lines of an instruction by its
/// offset. `None` without spills.
pub(crate) fn pressure(
    ranges: &LiveRanges,
    function: &CubinFunction,
    parts: impl Iterator<Item = Range<u32>>,
    lines: &dyn Fn(u32) -> (Option<u32>, SourceLines),
) -> Option<RegisterPressure> {
    let spills = |part: &Range<u32>| function.spill_marks.range(part.clone()).count();
    // A toolkit that marks no spills leaves them to the log; the function's own code is the first part.
    let has_marks = !function.spill_marks.is_empty();
    // A damaged cubin may have parts behind its code.
    let spilling = parts.filter(|part| part.start < part.end && (!has_marks || spills(part) > 0));
    let part = spilling.max_by_key(|part| (spills(part), std::cmp::Reverse(part.start)))?;
    let (at, places) = ranges.peak(part)?;
    let mut values: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
    let definitions = ranges.definitions(&places, at).into_iter();
    for definitions in definitions.filter(|definitions| !definitions.is_empty()) {
        *values.entry(definitions).or_default() += 1;
    }
    let definition = |offset: u32| {
        let (ptx_line, source) = lines(offset);
        Definition { ptx_line, source }
    };
    let values = values.into_iter().map(|(offsets, registers)| LiveValue {
        definitions: offsets.into_iter().map(definition).collect(),
        registers,
    });
    let spilled = places.iter().filter(|place| matches!(place, Place::Slot(_))).count() as u32;
    Some(RegisterPressure {
        at: definition(at),
        registers: places.len() as u32 - spilled,
        spilled,
        values: values.collect(),
    })
}
