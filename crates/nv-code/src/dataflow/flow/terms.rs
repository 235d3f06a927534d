//! What a value is computed from: each register on the way to it looked at once.

use std::collections::HashSet;

use super::Flow;
use crate::dataflow::flow::operands::{constant, written};
use crate::dataflow::flow::sources::Sources;
use crate::dataflow::reaching::Definitions;
use crate::ptx::Instruction;

/// An index that is computed from more values is not followed further: in arithmetic of large numbers that would be most
/// of the kernel, for each of its accesses.
const MAX_TERMS: usize = 4096;

/// A register on the way from an index to what it is computed from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Term<'a> {
    operand: &'a str,
    /// Instructions that may have set it.
    definitions: Definitions,
    /// Something other than sums and scaling lies on the way.
    is_changed: bool,
    /// It is part of the address of a load: it decides on uniformity, not on what the index is.
    is_address: bool,
}

impl Term<'_> {
    fn seen_as(&self, sources: Sources) -> Sources {
        match self.is_address {
            true => Sources { divergent: sources.divergent, ..Sources::default() },
            false => sources,
        }
    }
}

impl Flow<'_> {
    /// Where the value of a register or constant comes from: everything that it is computed from, each
    /// register looked at once, so that shared terms cost nothing. Instruction `at` reads it.
    pub fn sources(&self, operand: &str, at: usize) -> Sources {
        let first = self.term(operand, at, false, false);
        let key = (operand.to_string(), first.definitions.clone());
        if let Some(known) = self.known_sources.borrow().get(&key) {
            return known.clone();
        }
        let mut sources = Sources::constant();
        let mut seen = HashSet::new();
        let mut open = vec![first];
        while let Some(term) = open.pop() {
            if constant(term.operand).is_none() && seen.insert(term.clone()) {
                self.visit(&term, &mut sources, &mut open);
            }
            if seen.len() > MAX_TERMS {
                sources.merge(Sources::unknown());
                break;
            }
        }
        self.known_sources.borrow_mut().insert(key, sources.clone());
        sources
    }

    pub(super) fn product(&self, operands: &[&str], at: usize) -> Sources {
        let mut sources = Sources::constant();
        for operand in operands {
            sources.merge(self.sources(operand, at));
        }
        sources
    }

    fn term<'t>(&self, operand: &'t str, at: usize, is_changed: bool, is_address: bool) -> Term<'t> {
        Term { operand, definitions: self.reaching.at(operand, at), is_changed, is_address }
    }

    fn visit<'t>(&'t self, term: &Term<'t>, sources: &mut Sources, open: &mut Vec<Term<'t>>) {
        if let Some(special) = special_register(term.operand) {
            return sources.merge(term.seen_as(special));
        }
        if term.definitions.is_empty() {
            return sources.merge(term.seen_as(Sources::unknown()));
        }
        for definition in term.definitions.iter() {
            self.visit_definition(term, *definition, sources, open);
        }
        if term.definitions.len() > 1 {
            let merged = match self.induction(term.operand, &term.definitions) {
                Some(steps) => {
                    Sources { counter: true, counter_is_changed: term.is_changed, steps, ..Sources::constant() }
                }
                // Merged by branches, or changed in a way that is no counter.
                None => Sources::chosen(self.divergence().of(term.operand)),
            };
            sources.merge(term.seen_as(merged));
        }
    }

    fn visit_definition<'t>(
        &'t self,
        term: &Term<'t>,
        definition: usize,
        sources: &mut Sources,
        open: &mut Vec<Term<'t>>,
    ) {
        let instruction = &self.function.instructions[definition];
        match instruction.mnemonic() {
            "ld" if instruction.has("param") => sources.merge(term.seen_as(self.parameter_sources(instruction))),
            "ld" | "ldu" | "tex" | "suld" => {
                // Memory of the thread itself may differ from thread to thread at one address.
                let divergent = (!instruction.has("local")).then_some(false);
                sources.merge(term.seen_as(Sources { loaded: true, divergent, ..Sources::default() }));
                let address = instruction.operands.iter().find_map(|operand| operand.strip_prefix('['));
                let base = address.map(|inner| inner.split(['+', ']', ' ', ',']).next().unwrap_or(""));
                let base = base.filter(|base| base.starts_with('%'));
                open.extend(base.map(|operand| self.term(operand, definition, true, true)));
            }
            "atom" | "match" => {
                sources.merge(term.seen_as(Sources { loaded: true, divergent: Some(true), ..Sources::default() }))
            }
            "shfl" | "vote" | "activemask" | "redux" => {
                let result = written(instruction).next();
                let divergent = result.and_then(|result| self.divergence().of(result));
                sources.merge(term.seen_as(Sources { divergent, ..Sources::unknown() }));
            }
            mnemonic => {
                // A counter stays one under sums and scaling; `%`, `&`, `^` and the rest make another value of it.
                let keeps = matches!(mnemonic, "mov" | "add" | "sub" | "cvt" | "cvta" | "shl" | "mul" | "mad");
                let is_changed = term.is_changed || !keeps;
                let operands =
                    instruction.operands.iter().skip(1).flat_map(|operand| operand.split(['{', '}', ',', '|']));
                let operands = operands.map(str::trim).filter(|part| !part.is_empty());
                open.extend(operands.map(|operand| self.term(operand, definition, is_changed, term.is_address)));
            }
        }
    }

    /// What `ld.param` gives: the result of a call has a name of its own, `retval0`.
    fn parameter_sources(&self, instruction: &Instruction) -> Sources {
        match (is_call_result(instruction), self.function.is_entry) {
            (true, _) => Sources::unknown(),
            (false, true) => Sources { parameter: true, ..Sources::constant() },
            (false, false) => Sources { argument: true, ..Sources::default() },
        }
    }
}

pub fn special_register(operand: &str) -> Option<Sources> {
    let name = operand.strip_prefix('%')?;
    let name = name.split('.').next().unwrap_or(name);
    let sources = match name {
        "tid" | "laneid" | "lanemask_lt" | "lanemask_le" | "lanemask_eq" | "lanemask_ge" | "lanemask_gt" => {
            Sources { thread_index: true, divergent: Some(true), ..Sources::default() }
        }
        "ctaid" | "clusterid" | "cluster_ctaid" | "cluster_ctarank" | "smid" => {
            Sources { block_index: true, ..Sources::constant() }
        }
        "ntid" | "nctaid" | "nclusterid" => Sources { parameter: true, ..Sources::constant() },
        "clock" | "clock64" | "globaltimer" | "warpid" => Sources { unknown: true, ..Sources::default() },
        _ => return None,
    };
    Some(sources)
}

/// `ld.param.b32 %r1, [retval0]` after a call.
fn is_call_result(instruction: &Instruction) -> bool {
    instruction.address().is_some_and(|address| address.base.starts_with("retval"))
}

#[cfg(test)]
mod tests {
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
        assert!(pointer.index.loaded && !pointer.index.counter);
        assert_eq!(pointer.index.uniformity(), Some(Uniformity::PerThread));
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
        assert!(pointer.index.counter && pointer.index.parameter && pointer.index.counter_is_changed);
    }

    #[test]
    fn a_stack_pointer_is_no_counter() {
        let function = function(
            "add.u64 %rd1, %SPL, 0;\nmov.u32 %r1, 0;\n$L1:\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.local.u32 %r5, [%rd3];\n\
             setp.eq.s32 %p2, %r5, 0;\n@%p2 bra $L2;\nadd.s32 %r1, %r1, 1;\nbra $L1;\n$L2:\nadd.s32 %r1, %r1, -1;\nbra $L1;",
        );
        let pointer = pointer_of_last(&function);
        assert!(pointer.index.carried && !pointer.index.counter, "{:?}", pointer.index);
    }
}
