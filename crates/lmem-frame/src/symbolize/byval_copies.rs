//! Copies of structures that are made to be passed by value.

use std::collections::{BTreeMap, HashMap, HashSet};

use nv_code::dataflow::flow::operands::for_each_part;
use nv_code::dataflow::{Flow, registers};
use ptx_syntax::{Instruction, Modifier, Opcode, Operand, Reg, Space};

use crate::access::{ObjectKey, RawObject, key};

/// Notes the objects of which all that is loaded goes to the parameters of a call.
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

/// Objects that are loaded, with the call that the loaded values are passed to; `None` where they are used otherwise.
fn copies(flow: &Flow<'_>, holder: &dyn Fn(&ObjectKey) -> Option<ObjectKey>) -> BTreeMap<ObjectKey, Option<usize>> {
    let mut found: BTreeMap<ObjectKey, Option<usize>> = BTreeMap::new();
    // A value that is one register needs no copy: only structures have several.
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

/// The object that an address lies in: loads may name members by their own distance from the frame pointer.
fn holder(part: &ObjectKey, objects: &BTreeMap<ObjectKey, RawObject>) -> Option<ObjectKey> {
    let is_same = |key: &ObjectKey| key.function == part.function && key.variable == part.variable;
    let mut before = objects.range(..=part).rev().take_while(|(key, _)| is_same(key));
    let (key, object) = before.find(|(_, object)| !object.accesses.is_empty())?;
    (part.offset < key.offset + object.bytes.max(1)).then(|| key.clone())
}

/// Registers that are stored to the parameters of calls, and used for nothing else.
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
