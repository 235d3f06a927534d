//! Loops whose counters an inlined function gets as arguments: `row(i)` of a method that returns `element[index]`.
//!
//! The use that an access is named by is then the object at the call, which has no index. What the element is indexed by is
//! followed outwards, call by call, to the counters of the loops there.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Member, Node, Subscript};
use cuda_syntax::identifiers::identifiers;
use lmem_base::mangling::demangle;
use lmem_frame::{Access, Address, Place, StackObject};
use nv_code::dataflow::TripCount;

use crate::rewrite::facts::classes::member_array;

use super::for_loop::{ForLoop, for_loops, stepped_loop};
use super::sizes::base_of;

/// Calls that are followed outwards.
pub(super) const MOST_CALLS: usize = 16;

/// The loops around the calls that an access without an index was inlined at, whose counters are what it is indexed by, and
/// whose trip counts are known.
pub(super) fn handed_loops(object: &StackObject, access: &Access) -> Vec<ForLoop> {
    let mut words: Vec<String> = Vec::new();
    let mut inner: Option<&Place> = None;
    for place in access.places.iter().take(MOST_CALLS) {
        let tree = object.tree(place);
        words = match inner {
            None => indices_at(tree, place.offset, access),
            Some(inner) => arguments_for(&words, (object.tree(inner), inner), (tree, place)),
        };
        if words.is_empty() {
            break;
        }
        // Bounds of a template's instance are known to the compiler alone.
        let is_constant = access.address == Address::Induction(TripCount::Constant);
        let is_fixed = |it: &ForLoop| {
            let around = it.around();
            is_constant && it.has_bounds_of(&|word| around.iter().any(|it| it.counter() == word))
        };
        let is_counted = |it: &ForLoop| is_fixed(it) || it.rounds.is_some() || it.enclosing(&|_| false).is_some();
        let is_named = |it: &ForLoop| words.iter().any(|word| word == it.counter());
        let around = for_loops(tree, place.offset).into_iter();
        let mut found: Vec<ForLoop> = around.filter(|it| is_named(it) && is_counted(it)).collect();
        if found.is_empty() {
            // `first += 2` in the body of a loop with a constant trip count.
            let named: Vec<&str> = words.iter().map(String::as_str).collect();
            found.extend(stepped_loop(tree, place.offset, &named).filter(|it| it.rounds.is_some()));
        }
        if !found.is_empty() {
            return found;
        }
        inner = Some(place);
    }
    Vec::new()
}

/// The names in what an object's own operator or method gets at a statement, `m(i, j)`, and in the indices of a method's members.
pub(super) fn arguments_at(tree: &SyntaxTree, offset: usize, access: &Access) -> Vec<String> {
    let used = access.span.as_ref().map_or("", |span| span.text());
    let is_of_object = |called: Node<'_>| {
        let object = Member::of(called).and_then(Member::object).unwrap_or(called);
        !used.is_empty() && (tree.slice(called) == used || tree.slice(object) == used)
    };
    let is_member = |it: Subscript<'_>| it.base().map(base_of).is_some_and(|base| member_array(tree, base).is_some());
    names_at(tree, offset, &is_of_object, &is_member)
}

/// The names in the indices of a statement, and in the arguments of the method that an access is in, where the compiler does not tell
/// of that.
fn indices_at(tree: &SyntaxTree, offset: usize, access: &Access) -> Vec<String> {
    let used = access.span.as_ref().map_or("", |span| span.text());
    names_at(tree, offset, &|called| tree.slice(called) == used, &|_| true)
}

/// The names in the arguments of some calls of a statement, and in some of its indices.
fn names_at(
    tree: &SyntaxTree,
    offset: usize,
    is_called: &dyn Fn(Node<'_>) -> bool,
    is_indexed: &dyn Fn(Subscript<'_>) -> bool,
) -> Vec<String> {
    let parts = |node: Node<'_>| {
        let call = Call::of(node).filter(|call| call.function().is_some_and(is_called));
        let index = Subscript::of(node).filter(|it| is_indexed(*it)).and_then(Subscript::index);
        let arguments = call.into_iter().flat_map(Call::arguments).chain(index);
        arguments.map(|part| tree.slice(part)).collect::<Vec<_>>()
    };
    named(tree.regions(offset).into_iter().flat_map(Node::descendants).flat_map(parts))
}

/// The names in the arguments that the calls at `outer` have for parameters of the function around `inner`.
pub(super) fn arguments_for(
    words: &[String],
    (inner, place): (&SyntaxTree, &Place),
    (outer, call): (&SyntaxTree, &Place),
) -> Vec<String> {
    // Names of parameters are those of the function that was inlined here.
    let callee = call.callee.as_ref().filter(|callee| place.function.as_ref() == Some(callee));
    let parameters = inner.parameters_around(place.offset);
    let Some((callee, parameters)) = callee.zip(parameters) else { return Vec::new() };
    let calls = outer.calls_at(call.offset, &demangle(callee));
    let is_handed = |at: usize| parameters.get(at).is_some_and(|name| words.contains(name));
    let handed = calls.iter().flat_map(|call| {
        let arguments = call.arguments.iter().enumerate().filter(|(at, _)| is_handed(*at));
        arguments.filter_map(|(_, range)| outer.text().get(range.clone()))
    });
    named(handed)
}

/// The names in texts, each once.
fn named<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<String> {
    let mut names: Vec<String> = texts.flat_map(identifiers).map(str::to_string).collect();
    names.sort();
    names.dedup();
    names
}
