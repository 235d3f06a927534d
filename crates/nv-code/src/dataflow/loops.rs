//! Loops of a PTX function: a backward branch and everything between it and its target.

use std::ops::RangeInclusive;

use super::flow::Flow;
use crate::dataflow::flow::operands::constant;
use crate::ptx::{Instruction, PtxFunction};

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
            [exit] => length(*exit, range, flow),
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
fn length(exit: usize, range: &RangeInclusive<usize>, flow: &Flow<'_>) -> Trip {
    let guard = flow.function.instructions[exit].guard.as_deref();
    if guard.is_none_or(|guard| flow.definition(guard, exit).is_none()) {
        return Trip::Unknown;
    }
    let Some(test) = test_of(exit, flow) else { return Trip::RunTime };
    let bounds = flow.function.instructions[test].operands.get(1..3).unwrap_or(&[]);
    let is_fixed = |operand: &String| constant(operand).is_some() || flow.sources(operand, test).is_constant();
    // A counter that runs down to a constant may have started at a value of the run, or at that of another counter.
    let is_open = |operand: &String| {
        let sources = flow.sources(operand, test);
        sources.is_data() || sources.steps.iter().any(|step| !is_own_step(*step, range, flow))
    };
    match bounds.iter().any(is_fixed) && !bounds.iter().any(is_open) {
        true => Trip::Constant,
        false => Trip::RunTime,
    }
}

/// Whether a counter steps in this loop itself, not in one around it, inside it or beside it.
fn is_own_step(step: usize, range: &RangeInclusive<usize>, flow: &Flow<'_>) -> bool {
    flow.loops.innermost_with(step, step) == Some(range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::PtxModule;

    /// How the innermost loop of a body ends.
    fn trip(body: &str) -> Trip {
        let text = format!(
            ".visible .entry k(\n.param .u32 k_param_0\n)\n{{\nld.param.u32 %n, [k_param_0];\n{body}\nret;\n}}\n"
        );
        let module = PtxModule::parse(&text).unwrap();
        let flow = Flow::new(&module.functions[0]);
        let range = flow.loops.ranges.first().unwrap().clone();
        flow.loops.trip(&range, &flow)
    }

    /// `for (b = start; b != end; ++b)` in `for (a = 0; a < 20; ++a)`.
    fn nested(start: &str, end: &str) -> Trip {
        trip(&format!(
            "mov.u32 %a, 0;\n$L1:\nmov.u32 %b, {start};\n$L2:\nadd.s32 %b, %b, 1;\nsetp.ne.s32 %p1, %b, {end};\n\
             @%p1 bra $L2;\nadd.s32 %a, %a, 1;\nsetp.lt.s32 %p2, %a, 20;\n@%p2 bra $L1;"
        ))
    }

    #[test]
    fn a_length_that_depends_on_another_counter_is_not_constant() {
        assert_eq!(nested("0", "20"), Trip::Constant);
        assert_eq!(nested("0", "%n"), Trip::RunTime);
        assert_eq!(nested("0", "%a"), Trip::RunTime);
        assert_eq!(nested("%a", "20"), Trip::RunTime);
    }
}
