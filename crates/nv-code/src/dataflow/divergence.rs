//! Whether the threads of a warp have the same value in a register: for all registers of a function at once.
//!
//! A value is the same in all threads until something says otherwise: the thread's number, an atomic, an address that
//! differs, or a branch on such a value that decides which of several definitions holds. That is repeated until nothing
//! changes, so that values that depend on themselves round a loop come out right.

use std::collections::HashMap;

use crate::dataflow::flow::operands::{constant, read, written};
use crate::dataflow::flow::terms::special_register;
use crate::ptx::{Instruction, PtxFunction};

/// Rounds after which the rest is given up: each one carries a difference through all code once.
const MAX_ROUNDS: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Same,
    Unknown,
    Differs,
}

/// The registers of one function.
pub struct Divergence<'a> {
    levels: HashMap<&'a str, Level>,
}

impl<'a> Divergence<'a> {
    pub fn new(function: &'a PtxFunction) -> Self {
        let mut ranges: HashMap<&str, (usize, usize, usize)> = HashMap::new();
        for (index, instruction) in function.instructions.iter().enumerate() {
            for register in written(instruction) {
                let range = ranges.entry(register).or_insert((index, index, 0));
                range.1 = index;
                range.2 += 1;
            }
        }
        let merged: Vec<(&str, usize, usize)> =
            ranges.iter().filter(|(_, range)| range.2 > 1).map(|(name, range)| (*name, range.0, range.1)).collect();
        let mut divergence = Self { levels: HashMap::new() };
        for round in 0.. {
            let has_changed = divergence.round(function, &merged);
            if !has_changed {
                break;
            }
            if round == MAX_ROUNDS {
                divergence.levels.values_mut().for_each(|level| *level = (*level).max(Level::Unknown));
                break;
            }
        }
        divergence
    }

    /// Whether the threads may differ in a register; `None` where that is not known.
    pub fn of(&self, register: &str) -> Option<bool> {
        match self.level(register) {
            Level::Same => Some(false),
            Level::Unknown => None,
            Level::Differs => Some(true),
        }
    }

    fn level(&self, register: &str) -> Level {
        self.levels.get(register).copied().unwrap_or(Level::Same)
    }

    fn raise(&mut self, register: &'a str, level: Level) -> bool {
        let known = self.levels.entry(register).or_insert(Level::Same);
        let has_changed = level > *known;
        *known = level.max(*known);
        has_changed
    }

    fn round(&mut self, function: &'a PtxFunction, merged: &[(&'a str, usize, usize)]) -> bool {
        let mut has_changed = false;
        for instruction in &function.instructions {
            let level = self.result(instruction, function.is_entry);
            for register in written(instruction) {
                has_changed |= self.raise(register, level);
            }
        }
        // Branches before each instruction that differ, and those that may.
        let mut counts = vec![(0u32, 0u32)];
        for instruction in &function.instructions {
            let guard = instruction.guard.as_deref().map_or(Level::Same, |guard| self.level(guard));
            let is_table = instruction.mnemonic() == "brx";
            let (differing, unknown) = counts[counts.len() - 1];
            counts.push((
                differing + u32::from(guard == Level::Differs),
                unknown + u32::from(guard == Level::Unknown || is_table),
            ));
        }
        for (register, first, last) in merged {
            let ((differs_before, unknown_before), (differs, unknown)) = (counts[*first], counts[last + 1]);
            let level = match (differs > differs_before, unknown > unknown_before) {
                (true, _) => Level::Differs,
                (false, true) => Level::Unknown,
                (false, false) => Level::Same,
            };
            has_changed |= self.raise(register, level);
        }
        has_changed
    }

    fn result(&self, instruction: &Instruction, is_entry: bool) -> Level {
        let operands = || read(instruction).map(|operand| self.operand(operand)).max().unwrap_or(Level::Same);
        match instruction.mnemonic() {
            "ld" if instruction.has("param") => {
                let is_parameter =
                    is_entry && instruction.address().is_some_and(|address| address.base.contains("_param_"));
                if is_parameter { Level::Same } else { Level::Unknown }
            }
            // Each thread has its own local memory.
            "ld" if instruction.has("local") => operands().max(Level::Unknown),
            "atom" | "match" => Level::Differs,
            "call" => Level::Unknown,
            // One value for the whole warp.
            "vote" | "activemask" | "redux" => Level::Same,
            "shfl" => shuffled(instruction),
            _ => operands(),
        }
    }

    fn operand(&self, operand: &str) -> Level {
        match special_register(operand) {
            Some(special) => match special.divergent {
                Some(true) => Level::Differs,
                Some(false) => Level::Same,
                None => Level::Unknown,
            },
            None => self.level(operand),
        }
    }
}

/// What all threads read from one lane is the same in all.
fn shuffled(instruction: &Instruction) -> Level {
    let lane = instruction.operands.get(2).filter(|_| instruction.has("idx"));
    if lane.is_some_and(|lane| constant(lane).is_some()) { Level::Same } else { Level::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::PtxModule;

    fn of(body: &str, register: &str) -> Option<bool> {
        let text = format!(
            ".visible .entry k(\n.param .u32 k_param_0\n)\n{{\nld.param.u32 %n, [k_param_0];\nmov.u32 %t, %tid.x;\n{body}\n}}\n"
        );
        let module = PtxModule::parse(&text).unwrap();
        Divergence::new(&module.functions[0]).of(register)
    }

    /// `head = (head + 1) % 12` in a branch that `condition` guards.
    fn ring(condition: &str) -> Option<bool> {
        let body = format!(
            "mov.u32 %h, 0;\nmov.u32 %i, 0;\n$L1:\nsetp.ne.s32 %p2, {condition}, 3;\n@%p2 bra $L2;\nadd.s32 %r2, %h, 1;\n\
             rem.s32 %h, %r2, 12;\n$L2:\nadd.s32 %i, %i, 1;\nsetp.lt.s32 %p1, %i, %n;\n@%p1 bra $L1;"
        );
        of(&body, "%h")
    }

    #[test]
    fn merged_values_are_as_uniform_as_the_branches_that_decide() {
        assert_eq!(ring("%n"), Some(false));
        assert_eq!(ring("%t"), Some(true));
        // The value decides on itself.
        assert_eq!(ring("%h"), Some(false));
    }

    #[test]
    fn values_follow_what_they_are_made_of() {
        assert_eq!(of("add.u32 %a, %n, 3;", "%a"), Some(false));
        assert_eq!(of("add.u32 %a, %t, %n;\nmul.lo.u32 %b, %a, 2;", "%b"), Some(true));
        assert_eq!(of("mul.wide.u32 %a, %t, 4;\nld.global.u32 %b, [%a+8];", "%b"), Some(true));
        assert_eq!(of("mov.u64 %a, 64;\nld.local.u32 %b, [%a];", "%b"), None);
        assert_eq!(of("shfl.sync.idx.b32 %a|%p1, %t, 0, 31, -1;", "%a"), Some(false));
        assert_eq!(of("vote.sync.ballot.b32 %a, %p1, -1;", "%a"), Some(false));
    }
}
