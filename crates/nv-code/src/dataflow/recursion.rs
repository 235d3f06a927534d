//! Functions that call themselves, directly or through each other.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::dataflow::callee;
use crate::ptx::{PtxFunction, PtxModule};

/// Functions of the PTX that call each other in a circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circle {
    /// Mangled, the one that others call first.
    pub functions: Vec<String>,
    /// Calls of the first function from within: function and instruction.
    pub closing: Vec<(String, usize)>,
}

/// All circles of a module.
#[derive(Default)]
pub struct Circles {
    of_function: HashMap<String, Rc<Circle>>,
    callees: HashMap<String, Vec<String>>,
}

impl Circles {
    pub fn new(module: &PtxModule) -> Self {
        let known: HashSet<&str> = module.functions.iter().map(|function| &*function.name).collect();
        let callees: HashMap<String, Vec<String>> =
            module.functions.iter().map(|function| (function.name.to_string(), callees(function, &known))).collect();
        let mut circles = Self { of_function: HashMap::new(), callees };
        for function in &module.functions {
            if circles.of_function.contains_key(&*function.name) {
                continue;
            }
            let reached = circles.reached(&function.name);
            if !reached.contains(&*function.name) {
                continue;
            }
            let is_member = |name: &str| name == &*function.name || circles.reached(name).contains(&*function.name);
            let members: Vec<String> = module
                .functions
                .iter()
                .map(|function| &*function.name)
                .filter(|name| reached.contains(name) && is_member(name))
                .map(str::to_string)
                .collect();
            let circle = Rc::new(circle(members.clone(), module));
            circles.of_function.extend(members.into_iter().map(|name| (name, Rc::clone(&circle))));
        }
        circles
    }

    /// The circle that a function is part of.
    pub fn of(&self, function: &str) -> Option<&Rc<Circle>> {
        self.of_function.get(function)
    }

    /// Circles that a function gets into by calls of functions by name.
    pub fn reached_from(&self, function: &str) -> Vec<Rc<Circle>> {
        let mut found: Vec<Rc<Circle>> = Vec::new();
        let mut names: Vec<&str> = self.reached(function).into_iter().collect();
        names.sort_unstable();
        for circle in names.into_iter().filter_map(|name| self.of(name)) {
            if !found.iter().any(|known| Rc::ptr_eq(known, circle)) {
                found.push(Rc::clone(circle));
            }
        }
        found
    }

    /// All that a function calls by name, directly or not; itself only if it comes back to itself.
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

fn circle(mut members: Vec<String>, module: &PtxModule) -> Circle {
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
    Circle { functions: members, closing }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(calls: &[(&str, &[&str])]) -> Circles {
        let functions = calls.iter().map(|(name, callees)| {
            let kind = if name.starts_with('k') { ".entry" } else { ".func" };
            let calls: String = callees.iter().map(|callee| format!("call.uni {callee}, ();\n")).collect();
            format!(".visible {kind} {name}()\n{{\n{calls}ret;\n}}\n")
        });
        Circles::new(&PtxModule::parse(&functions.collect::<String>()).unwrap())
    }

    #[test]
    fn a_function_that_calls_itself() {
        let circles = circles(&[("k", &["f"]), ("f", &["f", "g", "f"]), ("g", &[])]);
        let circle = circles.of("f").unwrap();
        assert_eq!(circle.functions, ["f"]);
        assert_eq!(circle.closing, [("f".to_string(), 0), ("f".to_string(), 2)]);
        assert!(circles.of("g").is_none() && circles.of("k").is_none());
        assert_eq!(circles.reached_from("k").len(), 1);
    }

    #[test]
    fn functions_that_call_each_other_start_with_the_one_that_is_entered() {
        let circles = circles(&[("odd", &["even"]), ("even", &["odd"]), ("k", &["even"]), ("kk", &[])]);
        assert_eq!(circles.of("odd").unwrap().functions, ["even", "odd"]);
        assert_eq!(circles.of("even").unwrap().closing, [("odd".to_string(), 0)]);
        assert!(circles.reached_from("kk").is_empty());
    }
}
