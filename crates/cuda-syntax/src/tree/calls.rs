//! Calls in a region, and their arguments.

use std::ops::Range;
use std::rc::Rc;

use crate::ast::{Call, Field, Kind, Node};
use crate::tree::declarations::resolve;
use crate::tree::functions::enclosing_function;
use crate::tree::syntax_tree::SyntaxTree;

impl SyntaxTree {
    /// Calls in a region: the function's name, and the byte range of the call.
    pub fn calls(&self, region: Node<'_>) -> Rc<[(String, Range<usize>)]> {
        let key = (region.start_byte(), region.end_byte());
        if let Some(known) = self.memory.calls.borrow().get(&key) {
            return Rc::clone(known);
        }
        let found: Rc<[_]> = self.read_calls(region).into();
        self.memory.calls.borrow_mut().insert(key, Rc::clone(&found));
        found
    }

    fn read_calls(&self, region: Node<'_>) -> Vec<(String, Range<usize>)> {
        let identifiers = self.identifiers(region).into_iter();
        let calls = identifiers.filter_map(|identifier| {
            let mut function = identifier;
            while let Some(parent) = function
                .parent()
                .filter(|parent| matches!(parent.kind(), Kind::QualifiedIdentifier | Kind::TemplateFunction))
            {
                function = parent;
            }
            let call = function.parent().filter(|parent| parent.kind() == Kind::CallExpression)?;
            is_callee(function).then(|| (self.slice(function).to_string(), call.byte_range()))
        });
        calls.collect()
    }

    /// One argument of the only call of a function in a region.
    pub fn argument(&self, region: Node<'_>, function: &str, passed: Passed) -> Option<Range<usize>> {
        let base = function.rsplit("::").next()?;
        let base = base.split('<').next()?;
        // A lambda is called by the name of its variable.
        let variables = match base.starts_with("operator()") {
            true => enclosing_function(region).map(|function| self.declarations(function)).unwrap_or_default(),
            false => Rc::default(),
        };
        let is_variable = |called: Node<'_>| resolve(&variables, self.slice(called), called.start_byte()).is_some();
        let is_called = |called: &Node<'_>| last_name(self.slice(*called)) == base || is_variable(*called);
        let calls = region.descendants().filter_map(Call::of);
        let mut calls = calls.filter_map(|call| Some((call.node(), call.function().filter(is_called)?)));
        let (call, called) = calls.next()?;
        // For a lambda the object is the closure, which is the same in all its calls.
        let is_one =
            |other: Node<'_>| passed.index == 0 && !variables.is_empty() && self.slice(other) == self.slice(called);
        if !calls.all(|(_, other)| is_one(other)) {
            return None;
        }
        argument_of(call, called, passed)
    }
}

/// Whether an expression is the callee of a call.
pub fn is_callee(node: Node<'_>) -> bool {
    node.parent().and_then(Call::of).is_some_and(|call| call.function() == Some(node))
}

/// An argument as the compiled call has it. The object of a method is the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passed {
    pub index: usize,
    /// The number of arguments.
    pub count: usize,
    /// Whether the first is the object of a method, if that is known.
    pub has_object: Option<bool>,
}

/// The expression in a call that an argument is. The text has no default arguments, and the object of a method before the dot.
pub fn argument_of(call: Node<'_>, called: Node<'_>, passed: Passed) -> Option<Range<usize>> {
    let Passed { index, count, .. } = passed;
    let list: Vec<Node<'_>> = call.field(Field::Arguments)?.named_children().collect();
    let has_object = passed.has_object.unwrap_or(list.len() + 1 == count);
    let given = list.len() + usize::from(has_object);
    let is_fit = if passed.has_object.is_some() { given <= count } else { given == count };
    match (has_object, index.checked_sub(1)) {
        (false, _) => list.get(index).map(Node::byte_range),
        (true, Some(index)) => list.get(index).map(Node::byte_range),
        (true, None) => Some(called.byte_range()),
    }
    .filter(|_| is_fit)
}

/// `f` for `a::f<int>`, `x.f`, `p->f`.
pub fn last_name(called: &str) -> &str {
    let called = called.split('<').next().unwrap_or(called);
    called.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or(called)
}
