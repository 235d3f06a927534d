//! What is done with an expression: it is read, written, handed on, calculated with.

use tree_sitter::Node;

/// Whether an expression is read, written, or handed on.
pub fn role(whole: Node<'_>) -> (bool, bool, bool) {
    let Some(parent) = whole.parent() else { return (true, false, false) };
    let is_field = |name: &str| parent.child_by_field_name(name).is_some_and(|node| node.id() == whole.id());
    match parent.kind() {
        "assignment_expression" if is_field("left") => {
            let is_plain = parent.child_by_field_name("operator").is_none_or(|operator| operator.kind() == "=");
            (!is_plain, true, false)
        }
        "update_expression" => (true, true, false),
        "init_declarator" if is_field("declarator") => (false, true, false),
        "array_declarator" | "declaration" | "pointer_declarator" | "reference_declarator" => (false, true, false),
        // `strength(s)` in the head of a constructor gives a member its value.
        "argument_list" if parent.parent().is_some_and(|parent| parent.kind() == "field_initializer") => {
            (true, false, false)
        }
        "argument_list" | "pointer_expression" | "initializer_list" => (true, true, true),
        "for_range_loop" => (true, true, false),
        // `line.at(k) = x`
        "call_expression" if is_field("function") && is_assigned(parent) => (true, true, false),
        _ => (true, false, false),
    }
}

/// Whether an expression is the left side of an assignment.
fn is_assigned(whole: Node<'_>) -> bool {
    whole.parent().is_some_and(|parent| {
        let left = parent.child_by_field_name("left").filter(|_| parent.kind() == "assignment_expression");
        left.is_some_and(|left| left.id() == whole.id())
    })
}

/// Whether arithmetic or a comparison uses an expression, through casts too.
pub(super) fn is_operand(whole: Node<'_>) -> bool {
    let mut node = whole;
    while let Some(parent) = node.parent() {
        match parent.kind() {
            "binary_expression" | "unary_expression" => return true,
            "cast_expression" | "parenthesized_expression" => node = parent,
            _ => return false,
        }
    }
    false
}
