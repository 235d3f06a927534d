//! The expression that names a part of a variable: `s.a[i].x`.

use std::ops::Range;

use tree_sitter::Node;

/// The longest expression that names a part of the variable: `s.a[i].x`.
pub fn access_path(identifier: Node<'_>) -> Node<'_> {
    let mut current = identifier;
    while let Some(parent) = current.parent().filter(|parent| continues_path(*parent, current)) {
        current = parent;
    }
    current
}

fn continues_path(parent: Node<'_>, child: Node<'_>) -> bool {
    let is_argument = parent.child_by_field_name("argument").is_some_and(|argument| argument.id() == child.id());
    match parent.kind() {
        "subscript_expression" | "field_expression" => is_argument,
        "parenthesized_expression" => true,
        "pointer_expression" => is_argument && parent.child(0).is_some_and(|operator| operator.kind() == "*"),
        _ => false,
    }
}

/// The subscripts applied to an identifier, outermost name first: `a[i]`, `a[i][j]`, `s.a[i]`, `(*p)[i]`.
pub(super) fn subscripts(identifier: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut current = identifier;
    std::iter::from_fn(move || {
        loop {
            let parent = current.parent()?;
            if !continues_path(parent, current) {
                return None;
            }
            current = parent;
            if parent.kind() == "subscript_expression" {
                return Some(parent);
            }
        }
    })
}

pub(super) fn index_range(subscript: Node<'_>) -> Option<Range<usize>> {
    let indices = subscript.child_by_field_name("indices").or_else(|| subscript.child_by_field_name("index"))?;
    let inner = indices.named_child(0).unwrap_or(indices);
    Some(inner.byte_range())
}
