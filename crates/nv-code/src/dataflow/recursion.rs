//! Functions that call themselves, directly or through each other.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use crate::dataflow::callee;
use crate::dataflow::closure::Closure;
use crate::ptx::PtxModule;

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
    /// The functions by name.
    numbers: HashMap<Arc<str>, usize>,
    names: Vec<Arc<str>>,
    /// The functions that each calls by name.
    callees: Vec<Vec<usize>>,
    of_function: Vec<Option<Rc<CallCycle>>>,
}

/// A call by name: the function that has it, and the instruction.
type Call = (usize, usize);

impl CallCycles {
    pub fn new(module: &PtxModule) -> Self {
        let (mut numbers, mut names) = (HashMap::new(), Vec::new());
        for function in &module.functions {
            numbers.entry(Arc::clone(&function.name)).or_insert_with(|| {
                names.push(Arc::clone(&function.name));
                names.len() - 1
            });
        }
        let mut callees: Vec<Vec<usize>> = vec![Vec::new(); names.len()];
        let mut calls_of: Vec<Vec<Call>> = vec![Vec::new(); names.len()];
        for function in &module.functions {
            let caller = numbers[&function.name];
            for (at, instruction) in function.instructions.iter().enumerate() {
                if let Some(called) = callee(instruction).and_then(|name| numbers.get(name)) {
                    callees[caller].push(*called);
                    calls_of[*called].push((caller, at));
                }
            }
        }
        let mut of_function = vec![None; names.len()];
        for members in components(&callees) {
            let is_circular = members.len() > 1 || members.iter().any(|member| callees[*member].contains(member));
            if is_circular {
                let cycle = Rc::new(cycle(&members, &calls_of, &names));
                members.into_iter().for_each(|member| of_function[member] = Some(Rc::clone(&cycle)));
            }
        }
        Self { numbers, names, callees, of_function }
    }

    /// The call cycle that a function belongs to.
    pub fn of(&self, function: &str) -> Option<&Rc<CallCycle>> {
        self.of_function[*self.numbers.get(function)?].as_ref()
    }

    /// The call cycles that a function enters through direct calls.
    pub fn reached_from(&self, function: &str) -> Vec<Rc<CallCycle>> {
        let mut reached = self.reached(function);
        reached.retain(|number| self.of_function[*number].is_some());
        reached.sort_unstable_by_key(|number| &self.names[*number]);
        let mut seen = HashSet::new();
        let cycles = reached.into_iter().filter_map(|number| self.of_function[number].as_ref());
        cycles.filter(|cycle| seen.insert(Rc::as_ptr(cycle))).map(Rc::clone).collect()
    }

    /// All functions that a function calls directly or transitively; itself only if it is recursive.
    fn reached(&self, function: &str) -> Vec<usize> {
        let mut is_reached = vec![false; self.names.len()];
        let mut open: Vec<usize> = self.numbers.get(function).copied().into_iter().collect();
        let mut reached = Vec::new();
        while let Some(number) = open.pop() {
            for callee in &self.callees[number] {
                if !std::mem::replace(&mut is_reached[*callee], true) {
                    reached.push(*callee);
                    open.push(*callee);
                }
            }
        }
        reached
    }
}

/// The functions that call each other, each of them once, in the order of the text.
fn components(callees: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut closure: Closure<()> = Closure::default();
    let mut found: Vec<Vec<usize>> = Vec::new();
    let mut known: HashMap<*const (), usize> = HashMap::new();
    for number in 0..callees.len() {
        // Functions that reach each other share one answer.
        let answer = closure.of(number, |number, successors| successors.extend(&callees[number]), |(), ()| ());
        let place = *known.entry(Rc::as_ptr(&answer)).or_insert_with(|| {
            found.push(Vec::new());
            found.len() - 1
        });
        found[place].push(number);
    }
    found
}

fn cycle(members: &[usize], calls_of: &[Vec<Call>], names: &[Arc<str>]) -> CallCycle {
    let own: HashSet<usize> = members.iter().copied().collect();
    let is_entered = |member: &usize| calls_of[*member].iter().any(|(caller, _)| !own.contains(caller));
    let first = members.iter().position(is_entered).unwrap_or(0);
    let closing = calls_of[members[first]].iter().filter(|(caller, _)| own.contains(caller));
    let mut functions: Vec<String> = members.iter().map(|member| names[*member].to_string()).collect();
    functions.rotate_left(first);
    CallCycle { functions, closing: closing.map(|(caller, at)| (names[*caller].to_string(), *at)).collect() }
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
    fn many_functions_take_linear_time() {
        let names: Vec<String> = (0..20_000).map(|number| format!("f{number}")).collect();
        let all: Vec<(&str, Vec<&str>)> = (0..names.len())
            .map(|at| (&*names[at], vec![&*names[(at + 1) % names.len()], &*names[at * 7 % names.len()]]))
            .collect();
        let all: Vec<(&str, &[&str])> = all.iter().map(|(name, calls)| (*name, &**calls)).collect();
        let cycles = cycles(&all);
        assert_eq!(cycles.of("f9").unwrap().functions.len(), names.len());
        assert_eq!(cycles.reached_from("f7").len(), 1);
    }

    #[test]
    fn functions_that_call_each_other_start_with_the_one_that_is_entered() {
        let cycles = cycles(&[("odd", &["even"]), ("even", &["odd"]), ("k", &["even"]), ("kk", &[])]);
        assert_eq!(cycles.of("odd").unwrap().functions, ["even", "odd"]);
        assert_eq!(cycles.of("even").unwrap().closing, [("odd".to_string(), 0)]);
        assert!(cycles.reached_from("kk").is_empty());
    }
}
