//! Objects of functions that are not inlined. ptxas puts the frame of a callee behind that of its caller, so that the
//! frame of a kernel is as large as its deepest chain of calls: what the functions of other chains have lies in the
//! same bytes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lmem_base::mangling::demangle;
use nv_code::dataflow::callee;
use nv_code::{PtxFunction, PtxModule};

use crate::escape::reachable;
use crate::frame::FrameObject;

/// Marks the objects of other chains than the deepest, and counts the functions of that one. Only if the objects take
/// more than the frame has: else ptxas needed no byte twice. `is_apart` tells of functions that have frames of their own.
pub fn mark(
    objects: &mut [FrameObject],
    frame: u64,
    kernel: &str,
    module: &PtxModule,
    is_apart: impl Fn(&str) -> bool,
) -> usize {
    let taken = objects.iter().map(|object| object.bytes).fold(0, u64::saturating_add);
    let Some(kernel) = module.function(kernel).filter(|_| taken > frame) else { return 1 };
    let mut bytes: BTreeMap<String, u64> = BTreeMap::new();
    // An object whose address only escapes may be in registers, and is kept only where there is room for it.
    let is_certain = |object: &&FrameObject| !object.accesses.is_empty();
    for object in objects.iter().filter(is_certain) {
        let Some(key) = &object.key else { continue };
        *bytes.entry(key.function.clone()).or_default() += object.bytes;
    }
    let chain = deepest(kernel, module, &bytes, is_apart);
    for object in objects {
        let Some(owner) = object.key.as_ref().map(|key| key.function.as_str()) else { continue };
        if !chain.iter().any(|function| *function.name == *owner) {
            object.overlaid_by = other(&chain, owner, module).map(|function| demangle(&function.name));
        }
    }
    chain.len()
}

/// The first function of a chain that doesn't lead to another function.
fn other<'a>(chain: &[&'a PtxFunction], owner: &str, module: &PtxModule) -> Option<&'a PtxFunction> {
    let leads_there = |function: &PtxFunction| {
        reachable(module, std::iter::once(&*function.name)).iter().any(|reached| *reached.name == *owner)
    };
    chain.iter().skip(1).copied().find(|function| !leads_there(function))
}

/// The chain of calls whose functions have the most bytes, from the kernel on.
fn deepest<'a>(
    kernel: &'a PtxFunction,
    module: &'a PtxModule,
    bytes: &BTreeMap<String, u64>,
    is_apart: impl Fn(&str) -> bool,
) -> Vec<&'a PtxFunction> {
    let callees = |function: &'a PtxFunction| {
        let names: BTreeSet<&str> = function.instructions.iter().filter_map(callee).collect();
        let called = names.into_iter().filter(|name| !is_apart(name)).filter_map(|name| module.function(name));
        called.collect::<Vec<&PtxFunction>>()
    };
    // The bytes of a function with those below it, and the callee that has most of these.
    let mut known: HashMap<&str, (u64, Option<&'a PtxFunction>)> = HashMap::new();
    let mut entered: BTreeSet<&str> = BTreeSet::new();
    let mut open = vec![kernel];
    while let Some(function) = open.last().copied() {
        if known.contains_key(&*function.name) {
            open.pop();
            continue;
        }
        let below = callees(function);
        // Functions that call each other have frames of their own: one that is entered already is not entered again.
        if entered.insert(&function.name) {
            open.extend(below.iter().filter(|callee| !entered.contains(&*callee.name)));
            continue;
        }
        let depth = |callee: &&PtxFunction| known.get(&*callee.name).map_or(0, |(bytes, _)| *bytes);
        // Of equal ones, the first by name.
        let next = below.into_iter().filter(|callee| depth(callee) > 0).rev().max_by_key(|callee| depth(callee));
        let own = bytes.get(&*function.name).copied().unwrap_or(0);
        let total = own.saturating_add(next.as_ref().map_or(0, depth));
        known.insert(&function.name, (total, next));
        open.pop();
    }
    let mut chain = Vec::new();
    let mut next = Some(kernel);
    while let Some(function) = next {
        // Only a circle of calls leads to a function twice.
        if chain.iter().any(|known: &&PtxFunction| known.name == function.name) {
            break;
        }
        chain.push(function);
        next = known.get(&*function.name).and_then(|(_, callee)| *callee);
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::ObjectKey;
    use crate::frame::StackObjectKind;
    use crate::objects::tests::access;

    /// `k` calls `deep`, and `look` that calls `render`; both call `leaf`.
    const PTX: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\
        .func leaf()\n{\nret;\n}\n\
        .func render()\n{\ncall.uni leaf;\nret;\n}\n\
        .func look()\n{\ncall.uni render;\nret;\n}\n\
        .func deep()\n{\ncall.uni leaf;\nret;\n}\n\
        .visible .entry k()\n{\ncall.uni deep;\ncall.uni look;\nret;\n}\n";

    fn object(function: &str, bytes: u64) -> FrameObject {
        FrameObject {
            key: Some(ObjectKey { function: function.into(), variable: 0, offset: 0 }),
            accesses: vec![access()],
            ..FrameObject::new(StackObjectKind::Variable, bytes)
        }
    }

    /// The functions whose objects are in the same bytes as others, and whose these are.
    fn overlaid(objects: &[(&str, u64)], frame: u64) -> Vec<(String, String)> {
        let module = PtxModule::parse(PTX).unwrap();
        let mut objects: Vec<FrameObject> = objects.iter().map(|(function, bytes)| object(function, *bytes)).collect();
        mark(&mut objects, frame, "k", &module, |_| false);
        let marked = objects.into_iter().filter_map(|object| Some((object.key?.function, object.overlaid_by?)));
        marked.collect()
    }

    fn pairs(names: &[(&str, &str)]) -> Vec<(String, String)> {
        names.iter().map(|(one, other)| ((*one).to_string(), (*other).to_string())).collect()
    }

    #[test]
    fn objects_beside_the_deepest_chain_take_no_bytes_of_the_frame() {
        let all = [("k", 4096), ("k", 32), ("deep", 2048), ("look", 48), ("render", 128)];
        assert_eq!(overlaid(&all, 6176), pairs(&[("look", "deep"), ("render", "deep")]));
        // Together, two functions may be deeper than one.
        let all = [("k", 64), ("deep", 100), ("look", 60), ("render", 60)];
        assert_eq!(overlaid(&all, 184), pairs(&[("deep", "look")]));
    }

    #[test]
    fn a_function_that_both_chains_call_is_in_the_deeper_one() {
        let all = [("k", 64), ("deep", 100), ("look", 30), ("leaf", 16)];
        assert_eq!(overlaid(&all, 180), pairs(&[("look", "deep")]));
    }

    #[test]
    fn nothing_is_overlaid_where_all_fit() {
        assert_eq!(overlaid(&[("k", 64), ("deep", 100), ("look", 30)], 194), []);
        // One chain alone has no other one: fewer bytes than the PTX has were promoted to registers.
        assert_eq!(overlaid(&[("k", 64), ("deep", 100)], 100), []);
    }

    #[test]
    fn circles_of_calls_end() {
        let text = PTX.replace(".func leaf()\n{\n", ".func leaf()\n{\ncall.uni look;\n");
        let module = PtxModule::parse(&text).unwrap();
        let bytes = ["look", "render", "leaf"].map(|name| (name.to_string(), 16)).into();
        assert!(!deepest(module.function("k").unwrap(), &module, &bytes, |_| false).is_empty());
    }
}
