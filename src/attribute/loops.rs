//! Loops of a PTX function: a backward branch and everything between it and its target.

use std::ops::RangeInclusive;

use super::flow::{Flow, constant};
use crate::read::{Instruction, PtxFunction};

/// How often a loop runs, as far as its exits tell; in the order of what hinders unrolling more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trip {
    Unknown,
    /// The only exit compares with a constant.
    Constant,
    /// The bound is a value of the run.
    RunTime,
    /// There is more than one way out: `break`, `return`.
    SeveralExits,
}

/// The loops of one function.
#[derive(Debug, Clone, Default)]
pub struct PtxLoops {
    /// First and last instruction, innermost (shortest) first.
    ranges: Vec<RangeInclusive<usize>>,
}

impl PtxLoops {
    pub fn new(function: &PtxFunction) -> Self {
        let mut ranges: Vec<RangeInclusive<usize>> = Vec::new();
        for (index, instruction) in function.instructions.iter().enumerate() {
            let Some(target) = branch_target(instruction, function).filter(|target| *target <= index) else { continue };
            // Several `continue`s to one head are one loop.
            match ranges.iter_mut().find(|range| *range.start() == target) {
                Some(range) => *range = target..=index,
                None => ranges.push(target..=index),
            }
        }
        ranges.sort_by_key(|range| (range.end() - range.start(), *range.start()));
        Self { ranges }
    }

    /// The smallest loop that holds both instructions.
    pub fn innermost_with(&self, one: usize, other: usize) -> Option<&RangeInclusive<usize>> {
        self.ranges.iter().find(|range| range.contains(&one) && range.contains(&other))
    }

    /// How a loop ends.
    pub fn trip(&self, range: &RangeInclusive<usize>, flow: &Flow<'_>) -> Trip {
        match exits(range, flow).as_slice() {
            [] => Trip::Unknown,
            [exit] => length(*exit, flow),
            _ => Trip::SeveralExits,
        }
    }

    /// The comparisons that end a loop.
    pub fn tests(range: &RangeInclusive<usize>, flow: &Flow<'_>) -> Vec<usize> {
        exits(range, flow).into_iter().filter_map(|exit| test_of(exit, flow)).collect()
    }
}

/// The ways out of a loop.
fn exits(range: &RangeInclusive<usize>, flow: &Flow<'_>) -> Vec<usize> {
    let instructions = &flow.function.instructions;
    let all = range.clone().filter(|index| *index < instructions.len());
    all.filter(|index| is_exit(*index, &instructions[*index], range, flow.function)).collect()
}

fn branch_target(instruction: &Instruction, function: &PtxFunction) -> Option<usize> {
    if instruction.mnemonic() != "bra" {
        return None;
    }
    function.labels.get(instruction.operands.first()?).copied()
}

/// A branch out of the range, or the guarded branch back whose other way leads on.
fn is_exit(index: usize, instruction: &Instruction, range: &RangeInclusive<usize>, function: &PtxFunction) -> bool {
    match instruction.mnemonic() {
        "ret" | "exit" => true,
        "bra" => {
            let Some(target) = branch_target(instruction, function) else { return true };
            !range.contains(&target) || (index == *range.end() && instruction.guard.is_some())
        }
        _ => false,
    }
}

/// The comparison that decides on an exit.
fn test_of(exit: usize, flow: &Flow<'_>) -> Option<usize> {
    let instructions = &flow.function.instructions;
    let test = flow.definition(instructions[exit].guard.as_deref()?, exit)?;
    (instructions[test].mnemonic() == "setp").then_some(test)
}

/// How often a loop with one exit runs.
fn length(exit: usize, flow: &Flow<'_>) -> Trip {
    let guard = flow.function.instructions[exit].guard.as_deref();
    if guard.is_none_or(|guard| flow.definition(guard, exit).is_none()) {
        return Trip::Unknown;
    }
    let Some(test) = test_of(exit, flow) else { return Trip::RunTime };
    let bounds = flow.function.instructions[test].operands.get(1..3).unwrap_or(&[]);
    let is_fixed = |operand: &String| constant(operand).is_some() || flow.sources(operand, test).is_constant();
    // A counter that runs down to a constant may have started at a value of the run.
    let counts_from_data = bounds.iter().any(|operand| flow.sources(operand, test).is_data());
    match bounds.iter().any(is_fixed) && !counts_from_data {
        true => Trip::Constant,
        false => Trip::RunTime,
    }
}
