//! Computes the provenance of values; each register on the way is visited once.

use std::collections::BTreeSet;

use ptx_syntax::{AddressBase, Instruction, Modifier, Opcode, Operand, Reg, SpecialRegister};

use super::Flow;
use crate::dataflow::divergence::Level;
use crate::dataflow::flow::operands::{address_register, constant, for_each_part, register};
use crate::dataflow::flow::provenance::Provenance;
use crate::dataflow::reaching::Value;

/// A node of the search from an index to its sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Term {
    value: Value,
    /// The path includes an operation other than sums and scaling.
    is_changed: bool,
    /// Part of the address of a load: relevant to uniformity, not to the provenance of the index.
    is_address: bool,
    /// Part of a condition that chooses between values: what it loads is compared, and is no part of the index.
    is_condition: bool,
}

impl Term {
    /// Encodes the node as a dense number.
    fn number(self) -> usize {
        let flags = [self.is_address, self.is_changed, self.is_condition];
        flags.into_iter().rev().fold(self.value.index(), |number, flag| number * 2 + usize::from(flag))
    }

    fn of_number(number: usize) -> Self {
        Self {
            value: Value::of(number / 8),
            is_address: number & 1 != 0,
            is_changed: number & 2 != 0,
            is_condition: number & 4 != 0,
        }
    }

    fn seen_as(&self, sources: Provenance) -> Provenance {
        match self.is_address {
            true => Provenance { divergent: sources.divergent, exchanged: sources.exchanged, ..Provenance::default() },
            false if self.is_condition => Provenance {
                loaded: false,
                loaded_elsewhere: false,
                compared: sources.loaded || sources.compared,
                ..sources
            },
            false => sources,
        }
    }
}

impl Flow<'_> {
    /// The provenance of an operand of instruction `at`: everything that the operand is computed from.
    pub fn sources(&self, operand: &Operand, at: usize) -> Provenance {
        let mut sources = Provenance::constant();
        for_each_part(operand, &mut |part| match (register(part), part) {
            (Some(register), _) => {
                let value = self.reaching.at(register, at);
                sources.merge_with(&self.value_sources(value));
                sources.merge(Provenance::decision(self.on_leaving(value, at)));
            }
            (None, Operand::Special(special)) => sources.merge(self.special(*special)),
            (None, part) if constant(part).is_some() => {}
            (None, part) => sources.merge(named(part)),
        });
        sources
    }

    fn value_sources(&self, value: Value) -> std::rc::Rc<Provenance> {
        // Computed before `known_sources` is borrowed; the computation does not use it.
        self.divergence();
        let term = Term { value, is_changed: false, is_address: false, is_condition: false };
        let visit = |number: usize, successors: &mut Vec<usize>| self.visit(Term::of_number(number), successors);
        self.known_sources.borrow_mut().of(term.number(), visit, Provenance::merge_with)
    }

    /// Whether threads may hold a value from different iterations of a loop that they have left.
    pub(super) fn on_leaving(&self, value: Value, at: usize) -> Level {
        match self.loops.count() {
            0 => Level::Same,
            _ => {
                let definitions = self.reaching.definitions(value);
                self.divergence().on_leaving(&definitions, at, &self.loops, self.reaching.graph())
            }
        }
    }

    fn special(&self, special: SpecialRegister) -> Provenance {
        Provenance { divergent: self.divergence().of_special(special).differs(), ..special_register(special) }
    }

    pub(super) fn product(&self, operands: &[&Operand], at: usize) -> Provenance {
        let mut sources = Provenance::constant();
        for operand in operands {
            sources.merge(self.sources(operand, at));
        }
        sources
    }

    /// The contribution of one value; the values that it is computed from are added to `successors`.
    fn visit(&self, term: Term, successors: &mut Vec<usize>) -> Provenance {
        let definitions = self.reaching.definitions(term.value);
        if definitions.is_empty() {
            return term.seen_as(Provenance::unknown());
        }
        let mut sources = Provenance::constant();
        for definition in definitions.iter() {
            self.visit_definition(term, *definition, &mut sources, successors);
        }
        if definitions.len() > 1 {
            let register = self.reaching.register(term.value);
            let merged = match self.induction(register, &definitions) {
                Some(steps) => Provenance {
                    induction: true,
                    induction_is_changed: term.is_changed,
                    ..self.counted(term.value, &definitions, steps)
                },
                // Merged by branches, or stepped in a way that is no induction.
                None => Provenance::chosen(self.divergence().of(register)),
            };
            sources.merge(term.seen_as(merged));
        }
        sources
    }

    /// Whether threads of a warp may have different values of a counter beside those that its start and the loops that
    /// they left give it. Levels are of registers: the remainder of an unrolled loop may go on with the same register,
    /// and then it does not tell whether the counter differs in the main part.
    pub(super) fn divergence_of_counter(&self, register: Reg) -> Level {
        self.divergence().of(register).min(Level::Unknown)
    }

    /// The provenance of a counter, apart from its start.
    fn counted(&self, value: Value, definitions: &[usize], steps: BTreeSet<usize>) -> Provenance {
        let level = match self.keeps_step(value, definitions, &steps) {
            true => Level::Same,
            false => self.divergence_of_counter(self.reaching.register(value)),
        };
        Provenance { steps, ..Provenance::decision(level) }
    }

    /// Whether the threads that are in a loop together have the same value of its counter, if they have the same start: one
    /// definition before the loop, which it is always entered with, and one in it, which no round leaves out. What the register
    /// holds elsewhere is another value: all that read this one are in the loop.
    fn keeps_step(&self, value: Value, definitions: &[usize], steps: &BTreeSet<usize>) -> bool {
        let Some(id) = steps.first().and_then(|step| self.loops.innermost(*step)).filter(|_| steps.len() == 1) else {
            return false;
        };
        let (inside, outside): (Vec<usize>, Vec<usize>) =
            definitions.iter().copied().partition(|definition| self.loops.contains(id, *definition));
        let ([step], [start]) = (&inside[..], &outside[..]) else { return false };
        let is_certain = |at: usize| self.function.instructions[at].guard.is_none();
        let register = self.reaching.register(value);
        let mut entries = self.loops.entries(id).into_iter();
        let reads = |at: &&usize| self.reaching.at(register, **at) == value;
        self.loops.innermost(*step) == Some(id)
            && is_certain(*step)
            && is_certain(*start)
            // An outer loop may enter the loop again with the value that threads left it with, in different rounds.
            && entries.all(|before| *self.reaching.at_end(register, before) == [*start])
            && self.uses_of(register).iter().filter(reads).all(|at| self.loops.contains(id, *at))
            && !self.loops.has_irreducible()
    }

    fn visit_definition(&self, term: Term, definition: usize, sources: &mut Provenance, successors: &mut Vec<usize>) {
        let instruction = &self.function.instructions[definition];
        match instruction.opcode() {
            Opcode::Ld if instruction.has(Modifier::Param) => {
                sources.merge(term.seen_as(self.parameter_sources(instruction)))
            }
            // What a texture or surface holds is as different as the coordinates, and the handle.
            Opcode::Tex | Opcode::Tld4 | Opcode::Suld => {
                sources.merge(term.seen_as(Provenance { divergent: Some(false), ..loaded_elsewhere() }));
                instruction.for_each_use(&mut |register| {
                    let value = self.reaching.at(register, definition);
                    sources.merge(Provenance::decision(self.on_leaving(value, definition)));
                    successors.push(Term { value, is_changed: true, is_address: true, ..term }.number());
                });
            }
            Opcode::Ld | Opcode::Ldu => {
                // Local memory is private: threads may read different values at the same address.
                let is_local = instruction.has(Modifier::Local);
                let divergent = if is_local { self.divergence().of_private(definition) } else { Some(false) };
                let loaded = Provenance { loaded_elsewhere: !is_local, divergent, ..loaded_elsewhere() };
                sources.merge(term.seen_as(loaded));
                let base = instruction.operands.iter().find_map(address_register);
                successors.extend(base.map(|base| {
                    let value = self.reaching.at(base, definition);
                    sources.merge(Provenance::decision(self.on_leaving(value, definition)));
                    Term { value, is_changed: true, is_address: true, ..term }.number()
                }));
            }
            Opcode::Atom => sources.merge(term.seen_as(Provenance { divergent: Some(true), ..loaded_elsewhere() })),
            Opcode::Shfl
            | Opcode::Vote
            | Opcode::Activemask
            | Opcode::Redux
            | Opcode::Match
            | Opcode::Bar
            | Opcode::Barrier
            | Opcode::Ldmatrix
            | Opcode::Movmatrix
            | Opcode::Mma
            | Opcode::Wmma
            | Opcode::Wgmma
            | Opcode::Tcgen05 => {
                let result = instruction.defs().first().copied();
                let level = result.map_or(Level::Unknown, |result| self.divergence().of(result));
                let of_warp = matches!(
                    instruction.opcode(),
                    Opcode::Shfl | Opcode::Vote | Opcode::Activemask | Opcode::Redux | Opcode::Match
                );
                sources.merge(term.seen_as(Provenance { of_warp, unknown: true, ..Provenance::decision(level) }));
            }
            _ if self.divergence().is_number_of_warp(definition) => {
                sources.merge(term.seen_as(Provenance { thread_index: true, ..Provenance::constant() }));
            }
            _ if self.divergence().may_be_number_of_warp(definition) => {
                sources.merge(term.seen_as(Provenance { thread_index: true, ..Provenance::default() }));
            }
            opcode => {
                // Sums and scaling keep an induction variable linear; `%`, `&`, `^` and the rest do not.
                let keeps = matches!(
                    opcode,
                    Opcode::Mov
                        | Opcode::Add
                        | Opcode::Sub
                        | Opcode::Cvt
                        | Opcode::Cvta
                        | Opcode::Shl
                        | Opcode::Mul
                        | Opcode::Mad
                );
                let is_changed = term.is_changed || !keeps;
                for (number, operand) in instruction.operands.iter().enumerate().skip(1) {
                    let term =
                        Term { is_condition: term.is_condition || opcode == Opcode::Selp && number == 3, ..term };
                    for_each_part(operand, &mut |part| match (register(part), part) {
                        (Some(register), _) => {
                            let value = self.reaching.at(register, definition);
                            sources.merge(Provenance::decision(self.on_leaving(value, definition)));
                            successors.push(Term { value, is_changed, ..term }.number());
                        }
                        (None, Operand::Special(special)) => sources.merge(term.seen_as(self.special(*special))),
                        (None, Operand::Sink) => {}
                        (None, part) if constant(part).is_some() => {}
                        (None, part) => sources.merge(term.seen_as(named(part))),
                    });
                }
            }
        }
    }

    /// The provenance of `ld.param`: the result of a call also has the form of a parameter, `retval0`.
    fn parameter_sources(&self, instruction: &Instruction) -> Provenance {
        match (self.is_call_result(instruction), self.function.is_entry) {
            (true, _) => Provenance::unknown(),
            (false, true) => Provenance { parameter: true, ..Provenance::constant() },
            (false, false) => Provenance { argument: true, ..Provenance::default() },
        }
    }

    /// `ld.param.b32 %r1, [retval0]` after a call.
    fn is_call_result(&self, instruction: &Instruction) -> bool {
        let base = instruction.address().map(|address| &address.base);
        match base {
            Some(AddressBase::Variable(variable)) => self.function.variable(*variable).parameter.is_none(),
            Some(AddressBase::Symbol(name)) => name.starts_with("retval"),
            _ => false,
        }
    }
}

/// What lies in memory that is not the thread's own.
fn loaded_elsewhere() -> Provenance {
    Provenance { loaded: true, loaded_elsewhere: true, ..Provenance::default() }
}

/// The provenance of an operand that is no register and no number. The address of a variable is the same in all
/// threads: so is what they load there, unless the variable is private.
fn named(operand: &Operand) -> Provenance {
    match operand {
        Operand::Variable(..) | Operand::Symbol(..) => Provenance { divergent: Some(false), ..Provenance::unknown() },
        _ => Provenance::unknown(),
    }
}

/// The provenance of a special register.
pub fn special_register(special: SpecialRegister) -> Provenance {
    use SpecialRegister::*;
    match special {
        TidX | TidY | TidZ | Laneid | LanemaskLt | LanemaskLe | LanemaskEq | LanemaskGe | LanemaskGt => {
            Provenance { thread_index: true, divergent: Some(true), ..Provenance::default() }
        }
        CtaidX | CtaidY | CtaidZ | ClusteridX | ClusteridY | ClusteridZ | ClusterCtaidX | ClusterCtaidY
        | ClusterCtaidZ | ClusterCtarank | Smid => Provenance { block_index: true, ..Provenance::constant() },
        NtidX | NtidY | NtidZ | NctaidX | NctaidY | NctaidZ | NclusteridX | NclusteridY | NclusteridZ => {
            Provenance { parameter: true, ..Provenance::constant() }
        }
        WarpSize => Provenance::constant(),
        _ => Provenance::unknown(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Flow;
    use super::super::tests::{function, local, pointer_of_last};
    use lmem_base::diagnostic::Uniformity;

    #[test]
    fn loaded_indices_are_data_and_differ_per_thread() {
        let function = function(
            "add.u64 %rd1, %SPL, 0;\nmov.u32 %t, %tid.x;\nmul.wide.u32 %o, %t, 4;\nadd.s64 %a, %in, %o;\n\
             ld.global.u32 %i, [%a];\nmul.wide.u32 %rd3, %i, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.local.u32 %r1, [%rd4];",
        );
        let pointer = pointer_of_last(&function);
        assert_eq!(pointer.roots, local(0));
        assert!(pointer.index.loaded && !pointer.index.induction);
        assert_eq!(pointer.index.uniformity(), Some(Uniformity::PerThread));
    }

    #[test]
    fn what_is_compared_is_not_loaded() {
        let index = |load: &str, choose: &str| {
            let function = function(&format!(
                "add.u64 %rd1, %SPL, 0;\nmov.u32 %t, %tid.x;\nmul.wide.u32 %o, %t, 4;\nadd.s64 %a, %in, %o;\n{load}\n\
                 setp.gt.s32 %p1, %i, 5;\n{choose}\nmul.wide.u32 %rd3, %j, 4;\nadd.s64 %rd4, %rd1, %rd3;\n\
                 ld.local.u32 %r1, [%rd4];"
            ));
            pointer_of_last(&function).index
        };
        let (global, local) = ("ld.global.u32 %i, [%a];", "ld.local.u32 %i, [%rd1+64];");
        let compared = index(global, "selp.b32 %j, 2, 1, %p1;");
        assert!(compared.compared && !compared.loaded && compared.is_data());
        assert_eq!(compared.uniformity(), Some(Uniformity::PerThread));
        let chosen = index(global, "selp.b32 %j, %i, 1, %p1;");
        assert!(chosen.loaded && chosen.loaded_elsewhere);
        let own = index(local, "selp.b32 %j, %i, 1, %p1;");
        assert!(own.loaded && !own.loaded_elsewhere);
    }

    #[test]
    fn what_a_texture_holds_differs_where_its_coordinates_do() {
        for read in ["tex.1d.v4.s32.s32 {%i, %x, %y, %z}, [%in, {%c}];", "suld.b.2d.b32.trap {%i}, [%in, {%n, %c}];"] {
            for (coordinate, expected) in [("%tid.x", Uniformity::PerThread), ("%ctaid.x", Uniformity::Uniform)] {
                let function = function(&format!(
                    "add.u64 %rd1, %SPL, 0;\nmov.u32 %c, {coordinate};\nmov.u32 %n, 1;\n{read}\nmul.wide.u32 %rd3, %i, 4;\n\
                     add.s64 %rd4, %rd1, %rd3;\nld.local.u32 %r1, [%rd4];"
                ));
                let pointer = pointer_of_last(&function);
                assert!(pointer.index.loaded && !pointer.index.thread_index, "{read}");
                assert_eq!(pointer.index.uniformity(), Some(expected), "{read} {coordinate}");
            }
        }
    }

    /// The levels of the index of the local loads of a loop that threads run for different rounds, by 4 and one by one. `start` is
    /// between the length's test and the main part, `around` before the end of an outer loop.
    fn of_unrolled(start: &str, step: &str, around: &str) -> Vec<Option<bool>> {
        let load = |a: &str| format!("mul.wide.u32 {a}, %k, 4;\nadd.s64 {a}, %rd1, {a};\nld.local.u32 %r1, [{a}];");
        let function = function(&format!(
            "add.u64 %rd1, %SPL, 0;\nmov.u32 %t, %tid.x;\nmov.u32 %k, 0;\n$L0:\nmov.u32 %i, %t;\n{start}\n\
             setp.lt.s32 %p1, %t, 4;\n@%p1 bra $L2;\n$L1:\n{}\n{step}\nadd.s32 %i, %i, -4;\n\
             setp.ge.s32 %p2, %i, 4;\n@%p2 bra $L1;\n$L2:\nsetp.eq.s32 %p3, %i, 0;\n@%p3 bra $L4;\n$L3:\n{}\n\
             add.s32 %k, %k, 1;\nadd.s32 %i, %i, -1;\nsetp.ne.s32 %p4, %i, 0;\n@%p4 bra $L3;\n$L4:\n{around}",
            load("%a"),
            load("%b")
        ));
        let flow = Flow::new(&function);
        let loads = function.instructions.iter().enumerate().filter(|(_, it)| it.is_local_access());
        loads.map(|(at, load)| flow.pointer(load.address().unwrap(), at).index.divergent).collect()
    }

    #[test]
    fn a_counter_is_the_same_in_the_main_part_of_an_unrolled_loop() {
        let (start, step) = ("mov.u32 %k, 0;", "add.s32 %k, %k, 4;");
        assert_eq!(of_unrolled(start, step, "")[0], Some(false));
        assert_ne!(of_unrolled(start, step, "")[1], Some(false));
        // The start, or the steps, differ.
        assert_ne!(of_unrolled("mov.u32 %k, %t;", step, "")[0], Some(false));
        assert_ne!(of_unrolled(start, "@%p1 add.s32 %k, %k, 4;", "")[0], Some(false));
        assert_ne!(
            of_unrolled(start, "setp.eq.s32 %p5, %i, 8;\n@%p5 bra $L5;\nadd.s32 %k, %k, 4;\n$L5:", "")[0],
            Some(false)
        );
    }

    #[test]
    fn an_outer_loop_may_go_on_with_counters_that_differ() {
        let around = "add.s32 %n, %n, -1;\nsetp.ne.s32 %p6, %n, 0;\n@%p6 bra $L0;";
        let step = "add.s32 %k, %k, 4;";
        assert_eq!(of_unrolled("mov.u32 %k, 0;", step, around)[0], Some(false));
        assert_ne!(of_unrolled("", step, around)[0], Some(false));
        assert_ne!(of_unrolled("", step, &format!("mov.u32 %k, %i;\n{around}"))[0], Some(false));
    }

    #[test]
    fn parameters_are_uniform() {
        let function = function("add.u64 %rd1, %SPL, 0;\nmad.wide.u32 %rd4, %n, 4, %rd1;\nld.local.u32 %r1, [%rd4];");
        let pointer = pointer_of_last(&function);
        assert!(pointer.index.parameter);
        assert_eq!(pointer.index.uniformity(), Some(Uniformity::Uniform));
    }

    #[test]
    fn rotated_counters_are_data() {
        let function = function(
            "add.u64 %rd1, %SPL, 0;\nmov.u32 %r1, 0;\n$L1:\nadd.s32 %r2, %r1, %n;\nand.b32 %r3, %r2, 31;\nmul.wide.u32 %rd2, %r3, 4;\n\
             add.s64 %rd3, %rd1, %rd2;\nld.local.u32 %r5, [%rd3];\nadd.s32 %r1, %r1, 1;\nsetp.ne.s32 %p1, %r1, 32;\n@%p1 bra $L1;",
        );
        let pointer = pointer_of_last(&function);
        assert!(pointer.index.induction && pointer.index.parameter && pointer.index.induction_is_changed);
    }

    #[test]
    fn a_stack_pointer_is_no_counter() {
        let function = function(
            "add.u64 %rd1, %SPL, 0;\nmov.u32 %r1, 0;\n$L1:\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.local.u32 %r5, [%rd3];\n\
             setp.eq.s32 %p2, %r5, 0;\n@%p2 bra $L2;\nadd.s32 %r1, %r1, 1;\nbra $L1;\n$L2:\nadd.s32 %r1, %r1, -1;\nbra $L1;",
        );
        let pointer = pointer_of_last(&function);
        assert!(pointer.index.loop_carried && !pointer.index.induction, "{:?}", pointer.index);
    }
}
