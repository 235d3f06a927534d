//! What is left over of a loop that was unrolled by a factor.
//!
//! The main part of such a loop has a counter. The rest runs without one, or with one that starts where the main part
//! ended: its addresses are computed from the length of the loop, and look as if an element were chosen by data. They
//! stand at the same place in the source as addresses of the main part, and depend on nothing that the length does not
//! depend on.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use nv_code::dataflow::{Flow, PtxLoops, Sources, Trip, special_register};
use nv_code::{AddressOperand, Instruction};

use super::access::{Access, Address, ObjectKey, Origins, RawObject, same_place};

/// What the address of instruction `at` is computed from.
pub fn origins_of_address<'f>(flow: &'f Flow<'_>, address: &'f AddressOperand, at: usize) -> Origins {
    origins(flow, vec![(&address.base, at)])
}

/// What the lengths of the loops are computed from that the counters of an index step in.
pub fn origins_of_lengths(flow: &Flow<'_>, index: &Sources, at: usize) -> Origins {
    let loops = index.steps.iter().filter_map(|step| flow.loops.innermost_with(*step, at));
    let tests = loops.flat_map(|range| PtxLoops::tests(range, flow));
    let bounds = tests.flat_map(|test| {
        let operands = flow.function.instructions[test].operands.iter().skip(1);
        operands.map(move |operand| (operand.as_str(), test))
    });
    origins(flow, bounds.collect())
}

/// What registers are computed from, each with the instruction that reads it.
fn origins<'f>(flow: &'f Flow<'_>, mut open: Vec<(&'f str, usize)>) -> Origins {
    let mut found = BTreeSet::new();
    let mut seen: HashSet<usize> = HashSet::new();
    while let Some((operand, at)) = open.pop() {
        if !operand.starts_with('%') {
            continue;
        }
        if special_register(operand).is_some() {
            found.insert(operand.to_string());
            continue;
        }
        let definitions = flow.definitions(operand, at);
        if definitions.is_empty() || is_carried(flow, operand, &definitions) {
            return None;
        }
        for definition in definitions.iter().filter(|definition| seen.insert(**definition)) {
            let instruction = &flow.function.instructions[*definition];
            match origin(instruction) {
                Some(origin) => drop(found.insert(origin)),
                None => open.extend(sources(instruction).map(|source| (source, *definition))),
            }
        }
    }
    Some(found)
}

/// What an instruction brings in from elsewhere; `None` for those that only compute.
fn origin(definition: &Instruction) -> Option<String> {
    match definition.mnemonic() {
        "ld" if definition.has("param") => definition.operands.get(1).filter(|from| !from.contains("retval")).cloned(),
        "ld" | "ldu" | "tex" | "suld" | "atom" | "match" | "shfl" | "vote" | "activemask" | "redux" => None,
        _ => return None,
    }
    .or_else(|| Some(format!("line {}", definition.lines.start())))
}

fn sources(definition: &Instruction) -> impl Iterator<Item = &str> {
    let operands = definition.operands.iter().skip(1).flat_map(|operand| operand.split(['{', '}', ',', '|']));
    operands.map(str::trim).filter(|part| part.starts_with('%'))
}

/// Whether a register takes its value from one round of a loop to the next, and is no counter.
fn is_carried(flow: &Flow<'_>, register: &str, definitions: &[usize]) -> bool {
    definitions.len() > 1
        && flow.induction(register, definitions).is_none()
        && definitions.iter().any(|definition| is_made_from_itself(flow, *definition))
}

/// Whether what an instruction computes comes round to it again.
fn is_made_from_itself(flow: &Flow<'_>, definition: usize) -> bool {
    let mut seen: HashSet<usize> = HashSet::new();
    let mut open = vec![definition];
    while let Some(at) = open.pop() {
        let instruction = &flow.function.instructions[at];
        if origin(instruction).is_some() {
            continue;
        }
        for before in sources(instruction).flat_map(|source| flow.definitions(source, at).to_vec()) {
            if before == definition {
                return true;
            }
            if seen.insert(before) {
                open.push(before);
            }
        }
    }
    false
}

/// Marks the accesses that may be the rest of a loop whose main part has a counter.
pub fn mark(objects: &mut BTreeMap<ObjectKey, RawObject>) {
    for object in objects.values_mut() {
        let rests: Vec<Option<Trip>> =
            object.accesses.iter().map(|access| main_part(access, &object.accesses)).collect();
        for (access, rest) in object.accesses.iter_mut().zip(rests) {
            access.rest_of = rest;
        }
    }
}

/// How the loop ends that an access may be the rest of.
fn main_part(access: &Access, all: &[Access]) -> Option<Trip> {
    let Address::Computed(_) = access.address else { return None };
    let data = access.origins.as_ref()?;
    let trips = all.iter().filter(|other| same_place(access, other)).filter_map(|other| match other.address {
        Address::Counter(trip) if other.origins.as_ref().is_some_and(|length| data.is_subset(length)) => Some(trip),
        _ => None,
    });
    trips.max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nv_code::PtxModule;

    fn origins_in(body: &str, register: &str) -> Origins {
        let text = format!(
            ".visible .entry k(\n.param .u64 k_param_0,\n.param .u32 k_param_1\n)\n{{\nld.param.u32 %n, [k_param_1];\n{body}\nret;\n}}\n"
        );
        let module = PtxModule::parse(&text).unwrap();
        let flow = Flow::new(&module.functions[0]);
        let end = flow.function.instructions.len() - 1;
        origins(&flow, vec![(register, end)])
    }

    #[test]
    fn the_rest_depends_on_the_length() {
        let body = "mov.u32 %r1, 0;\n$L1:\nadd.s32 %r1, %r1, 4;\nand.b32 %r2, %n, -4;\nsetp.ne.s32 %p1, %r1, %r2;\n@%p1 bra $L1;\n\
                    mov.u32 %r3, 0;\n@%p2 bra $L2;\nmov.u32 %r3, %r1;\n$L2:\nadd.s32 %r4, %r3, %r2;";
        assert_eq!(origins_in(body, "%r4"), Some(BTreeSet::from(["[k_param_1]".to_string()])));
        assert_eq!(origins_in(body, "%r1"), Some(BTreeSet::new()));
    }

    #[test]
    fn steps_outside_of_loops_carry_nothing() {
        let body =
            "mov.u32 %r1, 0;\n@%p1 bra $L1;\nadd.s32 %r1, %r1, 4;\n$L1:\n@%p2 bra $L2;\nadd.s32 %r1, %r1, 2;\n$L2:";
        assert_eq!(origins_in(body, "%r1"), Some(BTreeSet::new()));
        assert_eq!(origins_in(&format!("$L0:\n{body}\n@%p3 bra $L0;"), "%r1"), Some(BTreeSet::new()));
        let carried = body.replace("mov.u32 %r1, 0;", "");
        assert_eq!(origins_in(&format!("mov.u32 %r1, 0;\n$L0:\n{carried}\n@%p3 bra $L0;"), "%r1"), None);
    }

    #[test]
    fn what_is_loaded_or_carried_is_something_else() {
        let loaded = "ld.global.u32 %r1, [%rd1];\nadd.s32 %r2, %r1, %n;";
        assert_eq!(origins_in(loaded, "%r2").unwrap().len(), 2);
        let carried = "mov.u32 %r1, 0;\n$L1:\nadd.s32 %r2, %r1, 1;\n@%p1 bra $L2;\nmov.u32 %r2, %r1;\n$L2:\nmov.u32 %r1, %r2;\nbra $L1;";
        assert_eq!(origins_in(carried, "%r1"), None);
    }
}
