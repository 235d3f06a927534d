//! From the uses of parameters in an inlined function to the parts of the call that stand for them.

use std::ops::Range;

use cuda_syntax::SyntaxTrees;
use cuda_syntax::tree::{CallSyntax, base_name};
use lmem_base::mangling::demangle;

use crate::place::Place;

/// What the caller handed over.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Handed {
    /// By a parameter of this name.
    Parameter(String),
    /// The object of a method.
    Object,
}

/// A part of a statement, with the numbers of the uses in the inlined code that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub range: Range<usize>,
    pub uses: Vec<usize>,
}

/// The parts of a statement that the code inlined into it can have its memory from: the arguments for the parameters
/// that it uses, or the object of a method. `None` where the call is not found, or nothing was inlined.
pub fn parts_of_calls(
    place: &Place,
    trees: &SyntaxTrees<'_>,
    inner: Option<&Place>,
    handed: &[(Handed, usize)],
) -> Option<Vec<Part>> {
    let callee = demangle(place.callee.as_deref()?);
    let base = base_name(&callee);
    let calls = place.tree(trees).calls_at(place.offset, &callee);
    if calls.is_empty() {
        return None;
    }
    // The parameters are known where the function is the user's, and is the one that was called here.
    let inner = inner.filter(|inner| inner.function == place.callee);
    let parameters = inner.and_then(|inner| inner.tree(trees).parameters_around(inner.offset));
    let has_object = parameters.is_some() || base == "operator[]";
    let all: Vec<(Handed, usize)> = match handed {
        [] => vec![(Handed::Object, 0)],
        some => some.to_vec(),
    };
    let parts = calls.iter().flat_map(|call| {
        let call = as_called(call, base, parameters.as_deref());
        let part = |(handed, number): &(Handed, usize)| {
            let argument = match (handed, &parameters) {
                (Handed::Parameter(name), Some(names)) => names.iter().position(|known| known == name),
                _ => None,
            };
            let argument = argument.and_then(|argument| call.arguments.get(argument).cloned());
            let object = call.object.clone().filter(|_| has_object);
            Part { range: argument.or(object).unwrap_or_else(|| call.range.clone()), uses: vec![*number] }
        };
        all.iter().map(part).collect::<Vec<_>>()
    });
    Some(join(parts.collect()))
}

/// An operator that is no method has its first operand as an argument.
fn as_called(call: &CallSyntax, base: &str, parameters: Option<&[String]>) -> CallSyntax {
    let is_operator = base.starts_with("operator") && !matches!(base, "operator[]" | "operator()");
    match (&call.object, parameters) {
        (Some(object), Some(parameters)) if is_operator && parameters.len() == call.arguments.len() + 1 => {
            let arguments = std::iter::once(object.clone()).chain(call.arguments.iter().cloned()).collect();
            CallSyntax { range: call.range.clone(), object: None, arguments }
        }
        _ => call.clone(),
    }
}

fn join(parts: Vec<Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::new();
    for part in parts {
        match joined.iter_mut().find(|known| known.range == part.range) {
            Some(known) => known.uses.extend(part.uses),
            None => joined.push(part),
        }
    }
    joined
}
