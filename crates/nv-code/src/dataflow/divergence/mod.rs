//! Whether the threads of a warp have the same value in a register: for all registers of a function at once.
//!
//! A value is the same in all threads until something says otherwise: the thread's number, an atomic, an address that
//! differs, or a branch on such a value that decides which of several definitions holds. That is repeated until nothing
//! changes, so that values that depend on themselves round a loop come out right.

use ptx_syntax::{AddressBase, Instruction, Modifier, Opcode, Operand, ParameterPlace, Reg};

use crate::dataflow::flow::operands::{constant, for_each_part};
use crate::dataflow::flow::terms::special_register;
use crate::dataflow::reaching::ByRegister;
use crate::ptx::PtxFunction;

/// Rounds after which the rest is given up: each one carries a difference through all code once.
const MAX_ROUNDS: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Same,
    Unknown,
    Differs,
}

/// The registers of one function.
pub struct Divergence {
    levels: Vec<Level>,
}

impl Divergence {
    pub fn new(function: &PtxFunction, _uses: &ByRegister) -> Self {
        let mut ranges: Vec<Option<(usize, usize, usize)>> = vec![None; function.registers.len()];
        for (index, instruction) in function.instructions.iter().enumerate() {
            instruction.for_each_def(&mut |register| {
                let range = ranges[register.index()].get_or_insert((index, index, 0));
                range.1 = index;
                range.2 += 1;
            });
        }
        let several = (0..).map(Reg).zip(&ranges).filter_map(|(register, range)| Some((register, (*range)?)));
        let merged: Vec<(Reg, usize, usize)> =
            several.filter(|(_, range)| range.2 > 1).map(|(register, range)| (register, range.0, range.1)).collect();
        let mut divergence = Self { levels: vec![Level::Same; function.registers.len()] };
        for round in 0.. {
            let has_changed = divergence.round(function, &merged);
            if !has_changed {
                break;
            }
            if round == MAX_ROUNDS {
                divergence.levels.iter_mut().for_each(|level| *level = (*level).max(Level::Unknown));
                break;
            }
        }
        divergence
    }

    /// Whether the threads may differ in a register; `None` where that is not known.
    pub fn of(&self, register: Reg) -> Option<bool> {
        match self.level(register) {
            Level::Same => Some(false),
            Level::Unknown => None,
            Level::Differs => Some(true),
        }
    }

    fn level(&self, register: Reg) -> Level {
        self.levels.get(register.index()).copied().unwrap_or(Level::Same)
    }

    fn raise(&mut self, register: Reg, level: Level) -> bool {
        let known = &mut self.levels[register.index()];
        let has_changed = level > *known;
        *known = level.max(*known);
        has_changed
    }

    fn round(&mut self, function: &PtxFunction, merged: &[(Reg, usize, usize)]) -> bool {
        let mut has_changed = false;
        for instruction in &function.instructions {
            let level = self.result(instruction, function);
            instruction.for_each_def(&mut |register| has_changed |= self.raise(register, level));
        }
        // Branches before each instruction that differ, and those that may.
        let mut counts = vec![(0u32, 0u32)];
        for instruction in &function.instructions {
            let guard = instruction.guard.map_or(Level::Same, |guard| self.level(guard.register));
            let is_table = instruction.opcode() == Opcode::Brx;
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
            has_changed |= self.raise(*register, level);
        }
        has_changed
    }

    fn result(&self, instruction: &Instruction, function: &PtxFunction) -> Level {
        let operands = || self.operands(instruction);
        match instruction.opcode() {
            Opcode::Ld if instruction.has(Modifier::Param) => match is_parameter(instruction, function) {
                true => Level::Same,
                false => Level::Unknown,
            },
            // Each thread has its own local memory.
            Opcode::Ld if instruction.has(Modifier::Local) => operands().max(Level::Unknown),
            Opcode::Atom | Opcode::Match => Level::Differs,
            Opcode::Call => Level::Unknown,
            // One value for the whole warp.
            Opcode::Vote | Opcode::Activemask | Opcode::Redux => Level::Same,
            Opcode::Shfl => shuffled(instruction),
            _ => operands(),
        }
    }

    /// The level of what an instruction reads.
    fn operands(&self, instruction: &Instruction) -> Level {
        let mut level = Level::Same;
        instruction.for_each_use(&mut |register| level = level.max(self.level(register)));
        for operand in &instruction.operands {
            for_each_part(operand, &mut |part| {
                if let Operand::Special(special) = part {
                    level = level.max(match special_register(*special).divergent {
                        Some(true) => Level::Differs,
                        Some(false) => Level::Same,
                        None => Level::Unknown,
                    });
                }
            });
        }
        level
    }
}

/// Whether a load is of a kernel's parameter, which all threads share.
fn is_parameter(instruction: &Instruction, function: &PtxFunction) -> bool {
    let base = instruction.address().map(|address| &address.base);
    let Some(AddressBase::Variable(variable)) = base else { return false };
    function.is_entry && matches!(function.variable(*variable).parameter, Some(ParameterPlace::Input(_)))
}

/// What all threads read from one lane is the same in all.
fn shuffled(instruction: &Instruction) -> Level {
    let lane = instruction.operands.get(2).filter(|_| instruction.has(Modifier::Idx));
    if lane.is_some_and(|lane| constant(lane).is_some()) { Level::Same } else { Level::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataflow::reaching::uses;
    use crate::ptx::PtxModule;

    fn of(body: &str, register: &str) -> Option<bool> {
        let text = format!(
            ".visible .entry k(\n.param .u32 k_param_0\n)\n{{\nld.param.u32 %n, [k_param_0];\nmov.u32 %t, %tid.x;\n{body}\n}}\n"
        );
        let module = PtxModule::parse(&text).unwrap();
        let function = &module.functions[0];
        Divergence::new(function, &uses(function)).of(function.register_named(register).unwrap())
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
