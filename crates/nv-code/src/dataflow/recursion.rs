//! Functions that call themselves, directly or through each other.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::dataflow::callee;
use crate::ptx::{PtxFunction, PtxModule};

/// Functions of the PTX that call each other in a cycle (a strongly connected component).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallCycle {
    /// Mangled; the function that is called from outside comes first.
    pub functions: Vec<String>,
    /// The calls that close the cycle: calls of the first function from inside, as function and instruction.
    pub closing: Vec<(String, usize)>,
}

/// All call cycles of a module.
#[derive(Default)]
pub struct CallCycles {
    of_function: HashMap<String, Rc<CallCycle>>,
    callees: HashMap<String, Vec<String>>,
}

impl CallCycles {
    pub fn new(module: &PtxModule) -> Self {
        let known: HashSet<&str> = module.functions.iter().map(|function| &*function.name).collect();
        let callees: HashMap<String, Vec<String>> =
            module.functions.iter().map(|function| (function.name.to_string(), callees(function, &known))).collect();
        let mut cycles = Self { of_function: HashMap::new(), callees };
        for function in &module.functions {
            if cycles.of_function.contains_key(&*function.name) {
                continue;
            }
            let reached = cycles.reached(&function.name);
            if !reached.contains(&*function.name) {
                continue;
            }
            let is_member = |name: &str| name == &*function.name || cycles.reached(name).contains(&*function.name);
            let members: Vec<String> = module
                .functions
                .iter()
                .map(|function| &*function.name)
                .filter(|name| reached.contains(name) && is_member(name))
                .map(str::to_string)
                .collect();
            let cycle = Rc::new(cycle(members.clone(), module));
            cycles.of_function.extend(members.into_iter().map(|name| (name, Rc::clone(&cycle))));
        }
        cycles
    }

    /// The call cycle that a function belongs to.
    pub fn of(&self, function: &str) -> Option<&Rc<CallCycle>> {
        self.of_function.get(function)
    }

    /// The call cycles that a function enters through direct calls.
    pub fn reached_from(&self, function: &str) -> Vec<Rc<CallCycle>> {
        let mut found: Vec<Rc<CallCycle>> = Vec::new();
        let mut names: Vec<&str> = self.reached(function).into_iter().collect();
        names.sort_unstable();
        for cycle in names.into_iter().filter_map(|name| self.of(name)) {
            if !found.iter().any(|known| Rc::ptr_eq(known, cycle)) {
                found.push(Rc::clone(cycle));
            }
        }
        found
    }

    /// All functions that a function calls directly or transitively, by name; itself only if it is recursive.
    fn reached(&self, function: &str) -> HashSet<&str> {
        let mut reached: HashSet<&str> = HashSet::new();
        let mut open = vec![function];
        while let Some(name) = open.pop() {
            for callee in self.callees.get(name).into_iter().flatten() {
                if reached.insert(callee) {
                    open.push(callee);
                }
            }
        }
        reached
    }
}

fn callees(function: &PtxFunction, known: &HashSet<&str>) -> Vec<String> {
    let called = function.instructions.iter().filter_map(callee);
    let mut names: Vec<String> = called.filter(|name| known.contains(name)).map(str::to_string).collect();
    names.sort();
    names.dedup();
    names
}

fn cycle(mut members: Vec<String>, module: &PtxModule) -> CallCycle {
    let calls = |name: &str, inside: bool| {
        let callers =
            module.functions.iter().filter(|caller| members.iter().any(|member| **member == *caller.name) == inside);
        callers
            .flat_map(|caller| caller.instructions.iter().enumerate().map(move |(at, call)| (caller, at, call)))
            .filter(|(_, _, call)| callee(call) == Some(name))
            .map(|(caller, at, _)| (caller.name.to_string(), at))
            .collect::<Vec<_>>()
    };
    let first = members.iter().position(|name| !calls(name, false).is_empty()).unwrap_or(0);
    let closing = members.get(first).map(|name| calls(name, true)).unwrap_or_default();
    members.rotate_left(first);
    CallCycle { functions: members, closing }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(calls: &[(&str, &[&str])]) -> CallCycles {
        let functions = calls.iter().map(|(name, callees)| {
            let kind = if name.starts_with('k') { ".entry" } else { ".func" };
            let calls: String = callees.iter().map(|callee| format!("call.uni {callee}, ();\n")).collect();
            format!(".visible {kind} {name}()\n{{\n{calls}ret;\n}}\n")
        });
        CallCycles::new(&PtxModule::parse(&functions.collect::<String>()).unwrap())
    }

    #[test]
    fn a_function_that_calls_itself() {
        let cycles = cycles(&[("k", &["f"]), ("f", &["f", "g", "f"]), ("g", &[])]);
        let cycle = cycles.of("f").unwrap();
        assert_eq!(cycle.functions, ["f"]);
        assert_eq!(cycle.closing, [("f".to_string(), 0), ("f".to_string(), 2)]);
        assert!(cycles.of("g").is_none() && cycles.of("k").is_none());
        assert_eq!(cycles.reached_from("k").len(), 1);
    }

    #[test]
    fn functions_that_call_each_other_start_with_the_one_that_is_entered() {
        let cycles = cycles(&[("odd", &["even"]), ("even", &["odd"]), ("k", &["even"]), ("kk", &[])]);
        assert_eq!(cycles.of("odd").unwrap().functions, ["even", "odd"]);
        assert_eq!(cycles.of("even").unwrap().closing, [("odd".to_string(), 0)]);
        assert!(cycles.reached_from("kk").is_empty());
    }
}
