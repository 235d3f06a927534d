//! Induction variables: registers that each iteration of a loop changes by a constant.

use std::collections::BTreeSet;

use ptx_syntax::{Opcode, Operand, Reg};

use super::Flow;
use crate::dataflow::flow::operands::constant;
use crate::dataflow::flow::provenance::Provenance;
use crate::dataflow::loops::TripCount;

impl Flow<'_> {
    /// The instructions that step an induction variable: on every path round the loop they add the same constant.
    pub fn induction(&self, register: Reg, definitions: &[usize]) -> Option<BTreeSet<usize>> {
        let mut steps = BTreeSet::new();
        let mut distance = None;
        for definition in definitions {
            let Some((step, instruction)) = self.way_back(register, *definition) else { continue };
            if step == 0 || distance.is_some_and(|distance| distance != step) {
                return None;
            }
            distance = Some(step);
            steps.insert(instruction);
        }
        distance.map(|_| steps)
    }

    /// Follows moves and additions of constants from a definition back to the same register in the previous iteration.
    fn way_back(&self, register: Reg, definition: usize) -> Option<(i64, usize)> {
        let mut at = definition;
        let mut step = 0i64;
        let mut stepped = definition;
        for _ in 0..64 {
            let instruction = &self.function.instructions[at];
            let operand = |index: usize| instruction.operands.get(index);
            let next = match instruction.opcode() {
                Opcode::Mov => operand(1)?,
                Opcode::Add | Opcode::Sub => {
                    let (value, distance) = match constant(operand(1)?) {
                        Some(distance) => (operand(2)?, distance),
                        None => (operand(1)?, constant(operand(2)?)?),
                    };
                    let sign = if instruction.opcode() == Opcode::Sub { -1 } else { 1 };
                    step = step.checked_add(distance.checked_mul(sign)?)?;
                    stepped = at;
                    value
                }
                _ => return None,
            };
            let Operand::Reg(next) = next else { return None };
            let before = self.definitions(*next, at);
            if *next == register && before.binary_search(&definition).is_ok() {
                return Some((step, stepped));
            }
            let [only] = *before else { return None };
            at = only;
        }
        None
    }

    /// The trip count of the loop that steps an induction variable, for an access at `instruction`.
    pub fn trip(&self, sources: &Provenance, instruction: usize) -> TripCount {
        sources
            .steps
            .iter()
            .filter_map(|step| self.loops.innermost_with(*step, instruction))
            .map(|id| self.loops.trip(id, self))
            .max()
            .unwrap_or(TripCount::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::function;
    use super::*;
    use ptx_syntax::Instruction;

    #[test]
    fn a_moving_pointer_is_a_counter() {
        let function = function(
            "add.u64 %rd1, %SPL, 0;\nmov.u32 %r1, 0;\n$L1:\nst.local.u32 [%rd1], %r1;\nadd.s64 %rd1, %rd1, 4;\n\
             add.s32 %r1, %r1, 1;\nsetp.ne.s32 %p1, %r1, 32;\n@%p1 bra $L1;",
        );
        let flow = Flow::new(&function);
        let at = function.instructions.iter().position(Instruction::is_local_access).unwrap();
        let pointer = flow.pointer(function.instructions[at].address().unwrap(), at);
        assert!(pointer.index.induction && !pointer.index.is_data());
        assert_eq!(flow.trip(&pointer.index, at), TripCount::Constant);
    }

    #[test]
    fn copies_at_the_end_of_the_loop_are_followed() {
        let function = function(
            "add.u64 %rd1, %SPL, 0;\nmov.u32 %r9, 0;\nmov.u32 %r1, %r9;\n$L1:\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n\
             st.local.u32 [%rd3], %r1;\nadd.s32 %r2, %r1, 1;\nsetp.lt.s32 %p1, %r2, %n;\nmov.u32 %r1, %r2;\n@%p1 bra $L1;",
        );
        let flow = Flow::new(&function);
        let at = function.instructions.iter().position(Instruction::is_local_access).unwrap();
        let pointer = flow.pointer(function.instructions[at].address().unwrap(), at);
        assert!(pointer.index.induction && !pointer.index.is_data(), "{:?}", pointer.index);
        assert_eq!(flow.trip(&pointer.index, at), TripCount::RunTime);
    }
}
