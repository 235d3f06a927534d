//! By-value copies: structures that are copied only to be passed to a call.

use std::collections::{BTreeMap, HashMap, HashSet};

use nv_code::dataflow::flow::operands::for_each_part;
use nv_code::dataflow::{Flow, registers};
use ptx_syntax::{Instruction, Modifier, Opcode, Operand, Reg, Space};

use crate::access::{ObjectKey, RawObject, key};

/// Marks objects whose loaded values are all arguments of one call.
pub fn fill(flows: &HashMap<&str, Flow<'_>>, objects: &mut BTreeMap<ObjectKey, RawObject>) {
    let functions: std::collections::BTreeSet<String> = objects.keys().map(|key| key.function.clone()).collect();
    for name in functions {
        let Some(flow) = flows.get(name.as_str()) else { continue };
        let holder = |part: &ObjectKey| holder(part, objects);
        for (key, call) in copies(flow, &holder) {
            if let (Some(object), Some(call)) = (objects.get_mut(&key), call) {
                object.passed_to = Some((name.clone(), call));
            }
        }
    }
}

/// Loaded objects with the call that gets the loaded values; `None` if a value is used otherwise.
fn copies(flow: &Flow<'_>, holder: &dyn Fn(&ObjectKey) -> Option<ObjectKey>) -> BTreeMap<ObjectKey, Option<usize>> {
    let mut found: BTreeMap<ObjectKey, Option<usize>> = BTreeMap::new();
    // A one-register value needs no copy; only structures have several members.
    let calls: Vec<usize> =
        flow.calls().iter().filter(|call| !call.members.is_empty()).map(|call| call.instruction).collect();
    if calls.is_empty() {
        return found;
    }
    let passed = passed_values(flow, &calls);
    let is_elsewhere = |load: &Instruction| !matches!(load.form.space(), Space::Local | Space::Generic);
    let loads = flow.function.instructions.iter().enumerate();
    for (at, load) in loads.filter(|(_, load)| load.opcode() == Opcode::Ld && !is_elsewhere(load)) {
        let Some(address) = load.address() else { continue };
        let mut values = load.operands.first().into_iter().flat_map(registers);
        let call = values.next().and_then(|value| passed.get(&value).copied());
        let call = call.filter(|call| values.all(|value| passed.get(&value) == Some(call)));
        let roots = flow.pointer(address, at).roots;
        for key in roots.iter().filter_map(|root| holder(&key(flow, root)?)) {
            let known = found.entry(key).or_insert(call);
            *known = known.filter(|_| call.is_some());
        }
    }
    found
}

/// The object that contains an address. A load may address a member by its own offset from the frame pointer.
fn holder(part: &ObjectKey, objects: &BTreeMap<ObjectKey, RawObject>) -> Option<ObjectKey> {
    let is_same = |key: &ObjectKey| key.function == part.function && key.variable == part.variable;
    let mut before = objects.range(..=part).rev().take_while(|(key, _)| is_same(key));
    let (key, object) = before.find(|(_, object)| !object.accesses.is_empty())?;
    (part.offset < key.offset + object.bytes.max(1)).then(|| key.clone())
}

/// Registers that are stored only to the parameters of calls.
fn passed_values(flow: &Flow<'_>, calls: &[usize]) -> HashMap<Reg, usize> {
    let mut passed: HashMap<Reg, usize> = HashMap::new();
    let mut others: HashSet<Reg> = HashSet::new();
    for (index, instruction) in flow.function.instructions.iter().enumerate() {
        let is_argument = instruction.opcode() == Opcode::St && instruction.has(Modifier::Param);
        let call = calls.get(calls.partition_point(|call| *call <= index)).filter(|_| is_argument);
        for operand in instruction.operands.iter().skip(1) {
            for_each_part(operand, &mut |part| match (part, call) {
                (Operand::Reg(register), Some(call)) => _ = passed.insert(*register, *call),
                (Operand::Reg(register), None) => _ = others.insert(*register),
                _ => {}
            });
        }
    }
    passed.retain(|register, _| !others.contains(register));
    passed
}

#[cfg(test)]
mod tests {
    use nv_code::PtxModule;

    use super::*;

    /// The call that gets the 16-byte object, as an instruction index.
    fn passed_to(body: &str) -> Option<usize> {
        let text = format!(
            ".visible .entry k(\n.param .u32 k_param_0\n)\n{{\n.local .align 16 .b8 __local_depot0[16];\n\
             mov.u64 %SPL, __local_depot0;\nadd.u64 %rd1, %SPL, 0;\n{body}\nret;\n}}\n"
        );
        let module = PtxModule::parse(&text).unwrap();
        let flows: HashMap<&str, Flow<'_>> = HashMap::from([("k", Flow::new(&module.functions[0]))]);
        let access = crate::objects::tests::access();
        let object = RawObject { bytes: 16, accesses: vec![access], ..RawObject::default() };
        let mut objects = BTreeMap::from([(ObjectKey { function: "k".into(), variable: 0, offset: 0 }, object)]);
        fill(&flows, &mut objects);
        objects.into_values().next()?.passed_to.map(|(_, call)| call)
    }

    const CALL: &str = "{\n.param .align 4 .b8 param0[8];\nst.param.b32 [param0], %r1;\nst.param.b32 [param0+4], %r2;\n\
                        call.uni f, (param0);\n}";

    #[test]
    fn what_is_loaded_for_a_call_alone_is_a_copy_for_it() {
        let loads = "ld.local.u32 %r1, [%rd1];\nld.local.u32 %r2, [%rd1+4];\n";
        assert!(passed_to(&format!("{loads}{CALL}")).is_some());
        assert_eq!(passed_to(loads), None);
        assert_eq!(passed_to(&format!("{loads}{CALL}\nst.global.u32 [%rd9], %r1;")), None);
    }

    #[test]
    fn a_part_that_is_used_otherwise_makes_it_a_variable() {
        let loads = "ld.local.u32 %r1, [%rd1];\nld.local.u32 %r2, [%rd1+4];\nld.local.u32 %r3, [%rd1+8];\n";
        assert_eq!(passed_to(&format!("{loads}{CALL}\nst.global.u32 [%rd9], %r3;")), None);
    }
}
