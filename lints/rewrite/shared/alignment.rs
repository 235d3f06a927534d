//! Whether code relies on more than the alignment of a variable's type.

use std::collections::HashSet;

use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::enclosing_function;
use cuda_syntax::{SyntaxTree, types};
use lmem_frame::StackObject;

/// Functions that cast pointers.
const CASTS: [&str; 2] = ["reinterpret_cast", "static_cast"];

/// Whether no code relies on more than the alignment of the variable's type: no cast to a type with a larger alignment,
/// and no assembly.
pub(super) fn may_lie_anywhere(object: &StackObject, tree: &SyntaxTree, name: Node<'_>, type_text: &str) -> bool {
    let Some(own) = enclosing_function(name) else { return false };
    let alignment = alignment(type_text);
    let range = (name.start_byte(), name.end_byte());
    let mentions = |node: Node<'_>| tree.mentions(node).iter().any(|mention| mention.declaration.range == range);
    if has_demanding_cast(tree, own, alignment, &mentions) {
        return false;
    }
    let of_accesses = object.accesses.iter().flat_map(|access| &access.places);
    let places = of_accesses.chain(object.escapes().iter().flat_map(|escape| &escape.places));
    // Many accesses share a place, and many places a function.
    let (mut known_places, mut known_functions) = (HashSet::new(), HashSet::new());
    places.into_iter().all(|place| {
        if !known_places.insert((place.tree, place.offset)) {
            return true;
        }
        let place_tree = object.tree(place);
        let node = place_tree.node_at(place.offset);
        // A default member initializer is outside all functions.
        let Some(function) = node.and_then(enclosing_function) else { return true };
        let is_own = std::ptr::eq(&**place_tree, tree) && function == own;
        let is_known = !known_functions.insert((place.tree, function.byte_range()));
        is_own || is_known || !has_demanding_cast(place_tree, function, alignment, &|_| true)
    })
}

/// The alignment of a toolkit type.
fn alignment(type_text: &str) -> Option<u64> {
    let (component, whole) = types::shape(type_text)?;
    Some(if whole.is_power_of_two() { whole } else { component })
}

/// Whether a cast of the variable has a target type with a larger alignment, or assembly may use the variable.
fn has_demanding_cast(
    tree: &SyntaxTree,
    function: Node<'_>,
    own: Option<u64>,
    concerns: &dyn Fn(Node<'_>) -> bool,
) -> bool {
    let is_demanding = |node: &Node<'_>| match cast_to(tree, *node) {
        Some(pointed) => alignment(pointed).zip(own).is_none_or(|(wanted, own)| wanted > own) && pointed != "char",
        None => node.is_assembly(),
    };
    function.descendants().filter(is_demanding).any(concerns)
}

/// The pointee or referenced type of a cast.
fn cast_to<'v>(tree: &'v SyntaxTree, node: Node<'v>) -> Option<&'v str> {
    let text = match node.kind() {
        Kind::CastExpression => tree.slice(node.field(Field::Type)?),
        Kind::CallExpression => {
            let called = tree.slice(node.field(Field::Function)?);
            let (function, argument) = called.split_once('<')?;
            CASTS.contains(&function.trim()).then_some(argument.strip_suffix('>')?)?
        }
        _ => return None,
    };
    let pointed = text.trim().strip_suffix(['*', '&'])?.trim();
    Some(pointed.strip_prefix("const ").unwrap_or(pointed).trim())
}
