//! Induction variables: registers that each iteration of a loop changes by a constant.

use std::collections::BTreeSet;

use ptx_syntax::{Instruction, Loop, Opcode, Operand, Reg, Type};

use super::Flow;
use crate::dataflow::flow::operands::constant;
use crate::dataflow::flow::provenance::Provenance;
use crate::dataflow::loops::TripCount;

/// The way from a definition of a register to its value in the previous iteration.
struct WayBack {
    /// What is added on it.
    distance: i64,
    /// The last addition on it.
    step: usize,
    /// The definitions that the previous value may come from.
    before: Vec<usize>,
}

impl Flow<'_> {
    /// The instructions that step an induction variable: on every path round the loop they add the same constant. A value
    /// that some rounds start anew is none: `if (at == 64) at = 0;`. Neither is one that some rounds leave as it is:
    /// `if (is_new) list[count++] = value;`.
    pub fn induction(&self, register: Reg, definitions: &[usize]) -> Option<BTreeSet<usize>> {
        let mut steps = BTreeSet::new();
        let mut starts = Vec::new();
        let mut distance = None;
        let mut seen = BTreeSet::new();
        let mut open = definitions.to_vec();
        while let Some(definition) = open.pop() {
            if !seen.insert(definition) {
                continue;
            }
            let Some(way) = self.way_back(register, definition) else {
                starts.push(definition);
                continue;
            };
            if way.distance == 0 || distance.is_some_and(|distance| distance != way.distance) {
                return None;
            }
            distance = Some(way.distance);
            steps.insert(way.step);
            open.extend(way.before.iter());
        }
        let loops: BTreeSet<Loop> = steps.iter().filter_map(|step| self.loops.innermost(*step)).collect();
        let is_reset = |id: &Loop| starts.iter().any(|start| self.loops.contains(*id, *start));
        let is_counter = |id: &Loop| !is_reset(id) && self.loops.passes_in_every_round(*id, &steps);
        (distance.is_some() && loops.iter().all(is_counter)).then_some(steps)
    }

    /// Follows moves, additions of constants, and conversions that keep what is added, from a definition back to the same register in the
    /// previous iteration.
    fn way_back(&self, register: Reg, definition: usize) -> Option<WayBack> {
        let mut at = definition;
        let mut distance = 0i64;
        let mut step = definition;
        // An index that is kept as 64 bits, for addresses, and counted as 32.
        let (mut added_bits, mut kept_bits) = (0, u32::MAX);
        for _ in 0..64 {
            let instruction = &self.function.instructions[at];
            let operand = |index: usize| instruction.operands.get(index);
            let next = match instruction.opcode() {
                Opcode::Mov => operand(1)?,
                Opcode::Cvt => {
                    kept_bits = kept_bits.min(whole_bits(instruction)?);
                    operand(1)?
                }
                Opcode::Add | Opcode::Sub => {
                    let (value, added) = match constant(operand(1)?) {
                        Some(added) => (operand(2)?, added),
                        None => (operand(1)?, constant(operand(2)?)?),
                    };
                    let sign = if instruction.opcode() == Opcode::Sub { -1 } else { 1 };
                    distance = distance.checked_add(added.checked_mul(sign)?)?;
                    step = at;
                    added_bits = added_bits.max(instruction.form.ty()?.bits());
                    value
                }
                _ => return None,
            };
            let Operand::Reg(next) = next else { return None };
            let before = self.definitions(*next, at);
            if *next == register && before.binary_search(&definition).is_ok() {
                // What is cut off from a sum starts anew after an overflow.
                if kept_bits < added_bits {
                    return None;
                }
                return Some(WayBack { distance, step, before: before.to_vec() });
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

    /// Whether an index is what searches have found: all loops that step it have several exits, and `instruction` is
    /// behind them.
    pub fn is_found(&self, sources: &Provenance, instruction: usize) -> bool {
        let is_search = |step: &usize| {
            let id = self.loops.innermost(*step);
            id.is_some_and(|id| {
                self.loops.trip(id, self) == TripCount::SeveralExits && !self.loops.contains(id, instruction)
            })
        };
        sources.induction && !sources.steps.is_empty() && sources.steps.iter().all(is_search)
    }
}

/// The lower bits that a conversion between integers leaves as they are.
fn whole_bits(conversion: &Instruction) -> Option<u32> {
    let types = &conversion.form.types;
    let is_whole = |ty: &Type| matches!(ty, Type::U16 | Type::S16 | Type::U32 | Type::S32 | Type::U64 | Type::S64);
    // A modifier saturates or rounds.
    let is_plain = conversion.form.modifiers.is_empty() && types.iter().all(is_whole);
    types.iter().map(|ty| ty.bits()).min().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::super::tests::function;
    use super::*;

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
    fn what_a_search_found_is_no_walk() {
        let search = |way_out: &str, length: &str| {
            let function = function(&format!(
                "add.u64 %rd1, %SPL, 0;\nmov.u32 %r1, 0;\n$L1:\nld.global.u32 %r3, [%rd9];\nsetp.eq.s32 %p2, %r3, %r4;\n\
                 {way_out}\nadd.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, {length};\n@%p1 bra $L1;\n$L2:\n\
                 mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.local.u32 [%rd3], 0;",
            ));
            let flow = Flow::new(&function);
            let at = function.instructions.iter().position(Instruction::is_local_access).unwrap();
            flow.is_found(&flow.pointer(function.instructions[at].address().unwrap(), at).index, at)
        };
        assert!(search("@%p2 bra $L2;", "%n"));
        assert!(!search("", "%n"));
    }

    /// The only local load of a loop whose index `%r1` starts at 64 and grows by one, with `reset` before it.
    fn index_with(reset: &str) -> Provenance {
        let function = function(&format!(
            "add.u64 %rd1, %SPL, 0;\nmov.u32 %r1, 64;\nmov.u32 %r2, 0;\n$L1:\nsetp.lt.u32 %p2, %r1, 64;\n@%p2 bra $L2;\n\
             {reset}\nbra.uni $L3;\n$L2:\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n\
             ld.local.u32 %r5, [%rd3];\n$L3:\nadd.s32 %r1, %r1, 1;\nadd.s32 %r2, %r2, 1;\nsetp.lt.s32 %p1, %r2, %n;\n\
             @%p1 bra $L1;",
        ));
        let flow = Flow::new(&function);
        let at = function.instructions.iter().position(Instruction::is_local_access).unwrap();
        flow.pointer(function.instructions[at].address().unwrap(), at).index
    }

    #[test]
    fn a_cursor_that_starts_anew_is_no_counter() {
        assert!(index_with("mov.u32 %r7, 0;").induction);
        let cursor = index_with("mov.u32 %r1, 0;");
        assert!(!cursor.induction && cursor.is_data(), "{cursor:?}");
    }

    #[test]
    fn a_counter_that_is_widened_and_narrowed_is_one() {
        let index = |widen: &str, narrow: &str, add: &str| {
            let function = function(&format!(
                "add.u64 %rd1, %SPL, 0;\nmov.u32 %r1, 0;\n$L1:\nmul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n\
                 st.local.u32 [%rd3], %r3;\n{widen} %rd4, %r1;\n{narrow} %r2, %rd4;\n{add} %r1, %r2, 1;\n\
                 setp.ne.s32 %p1, %r1, 32;\n@%p1 bra $L1;",
            ));
            let flow = Flow::new(&function);
            let at = function.instructions.iter().position(Instruction::is_local_access).unwrap();
            let index = flow.pointer(function.instructions[at].address().unwrap(), at).index;
            (index.induction && !index.is_data()).then(|| flow.trip(&index, at))
        };
        assert_eq!(index("cvt.s64.s32", "cvt.u32.u64", "add.s32"), Some(TripCount::Constant));
        assert_eq!(index("cvt.u16.u32", "cvt.u32.u16", "add.s32"), None);
        assert_eq!(index("cvt.s64.s32", "cvt.sat.u32.s64", "add.s32"), None);
        assert_eq!(index("cvt.rn.f32.s32", "cvt.rzi.s32.f32", "add.s32"), None);
    }

    /// The only local store of a loop that appends at `%r1`, where `%p1` holds or, with `other`, also elsewhere.
    fn list_with(other: &str) -> Provenance {
        let function = function(&format!(
            "add.u64 %rd1, %SPL, 0;\nmov.u32 %r1, 0;\nmov.u32 %r2, 0;\n$L1:\nld.global.u32 %r3, [%rd9];\n\
             setp.eq.s32 %p2, %r3, 0;\n@%p2 bra $L2;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n\
             st.local.u32 [%rd3], %r3;\nadd.s32 %r1, %r1, 1;\nbra.uni $L3;\n$L2:\n{other}\n$L3:\n\
             add.s32 %r2, %r2, 1;\nsetp.lt.s32 %p1, %r2, %n;\n@%p1 bra $L1;",
        ));
        let flow = Flow::new(&function);
        let at = function.instructions.iter().position(Instruction::is_local_access).unwrap();
        flow.pointer(function.instructions[at].address().unwrap(), at).index
    }

    #[test]
    fn a_list_that_not_every_round_appends_to_has_no_counter() {
        let sometimes = list_with("mov.u32 %r7, 0;");
        assert!(!sometimes.induction && sometimes.is_data() && sometimes.loop_carried, "{sometimes:?}");
        assert!(list_with("add.s32 %r1, %r1, 1;").induction);
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
