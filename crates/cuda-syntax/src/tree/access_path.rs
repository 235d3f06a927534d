//! The expression that names a variable or a part of it: `s.a[i].x`.
use crate::ast::{Field, Kind, Node};

use std::ops::Range;

/// The longest expression around an identifier that names a part of its variable: `s.a[i].x`.
pub fn access_path(identifier: Node<'_>) -> Node<'_> {
    let mut current = identifier;
    while let Some(parent) = current.parent().filter(|parent| continues_path(*parent, current)) {
        current = parent;
    }
    current
}

/// The element that as many subscripts as the array has dimensions name: `zz[i]` for `zz` in `jpeg::zz[i]`.
pub fn element(identifier: Node<'_>, dimensions: usize) -> Option<Node<'_>> {
    let is_last =
        |around: &Node<'_>| around.kind() == Kind::QualifiedIdentifier && around.end_byte() == identifier.end_byte();
    let mut node = identifier.ancestors().take_while(|it| *it == identifier || is_last(it)).last()?;
    for _ in 0..dimensions {
        let subscripts = |parent: &Node<'_>| {
            parent.kind() == Kind::SubscriptExpression && parent.field(Field::Argument) == Some(node)
        };
        node = node.parent().filter(subscripts)?;
    }
    Some(node)
}

fn continues_path(parent: Node<'_>, child: Node<'_>) -> bool {
    let is_argument = parent.field(Field::Argument) == Some(child);
    match parent.kind() {
        Kind::SubscriptExpression | Kind::FieldExpression => is_argument,
        Kind::ParenthesizedExpression => true,
        Kind::PointerExpression => is_argument && parent.child(0).is_some_and(|operator| operator.is_token("*")),
        _ => false,
    }
}

/// The subscripts applied to an identifier, from left to right: `a[i]`, `a[i][j]`, `s.a[i]`, `(*p)[i]`.
pub(super) fn subscripts(identifier: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut current = identifier;
    std::iter::from_fn(move || {
        loop {
            let parent = current.parent()?;
            if !continues_path(parent, current) {
                return None;
            }
            current = parent;
            if parent.kind() == Kind::SubscriptExpression {
                return Some(parent);
            }
        }
    })
}

pub(super) fn index_range(subscript: Node<'_>) -> Option<Range<usize>> {
    let indices = subscript.field(Field::Indices)?;
    let inner = indices.named_child(0).unwrap_or(indices);
    Some(inner.byte_range())
}
