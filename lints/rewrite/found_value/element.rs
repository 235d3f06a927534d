//! What is done with an element: its value is read, or it is written, as a whole or in part.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Member, Node};

use crate::rewrite::facts::binding;
use crate::rewrite::facts::evaluation::is_value_argument;
use crate::rewrite::facts::number::is_number;
use crate::rewrite::facts::taken::{has_operators, is_value, may_keep_references, stays_alone};

/// The element with the members and subscripts behind it.
pub(super) fn with_parts(element: Node<'_>) -> Node<'_> {
    let mut whole = element;
    while let Some(part) = whole.parent().filter(|parent| is_part(*parent, whole)) {
        whole = part;
    }
    whole
}

/// The statement that writes an element, or a part of it: a whole assignment or step.
pub(super) fn write_statement(element: Node<'_>) -> Option<Node<'_>> {
    let target = with_parts(element);
    let whole = target.parent()?;
    let written = whole.field(Field::Left).or_else(|| whole.field(Field::Argument));
    let is_written =
        matches!(whole.kind(), Kind::AssignmentExpression | Kind::UpdateExpression) && written == Some(target);
    whole.parent().filter(|it| is_written && it.kind() == Kind::ExpressionStatement)
}

/// `e.x` of `e`, or `e.x[k]` of `e.x`; what a member points to is no part.
fn is_part(parent: Node<'_>, node: Node<'_>) -> bool {
    match parent.kind() {
        Kind::FieldExpression => Member::of(parent).is_some_and(|it| it.object() == Some(node) && it.is_of_object()),
        Kind::SubscriptExpression => parent.field(Field::Argument) == Some(node),
        _ => false,
    }
}

/// Whether the value of an element that is a number is taken where it stands.
pub(super) fn is_number_read(tree: &SyntaxTree, element: Node<'_>) -> bool {
    let list = element.parent().filter(|parent| parent.kind() == Kind::ArgumentList);
    is_value(tree, element) || list.is_some_and(|list| is_value_argument(tree, list))
}

/// Whether a number of an object that is an element is read, or the object is copied to another of its type.
pub(super) fn is_object_read(tree: &SyntaxTree, element: Node<'_>, type_text: &str) -> bool {
    let member = with_parts(element);
    if member != element {
        let has_subscripts =
            member.descendants().any(|it| it.kind() == Kind::SubscriptExpression && it.end_byte() > element.end_byte());
        return !has_subscripts && is_number(tree, member) && is_number_read(tree, member);
    }
    // An operator of the class may give an address in it.
    is_copied_to_its_type(tree, element, type_text)
        || (!has_operators(tree)
            && !may_keep_references(tree)
            && element.parent().is_some_and(|parent| parent.field(Field::Right) == Some(element))
            && stays_alone(tree, element, false))
}

/// `T x = a[best];`
fn is_copied_to_its_type(tree: &SyntaxTree, element: Node<'_>, type_text: &str) -> bool {
    let declares = || {
        let initialized = element.parent().filter(|parent| parent.kind() == Kind::InitDeclarator)?;
        let type_node = initialized.parent()?.field(Field::Type)?;
        let is_same = tree.slice(type_node) == type_text || type_node.kind() == Kind::PlaceholderTypeSpecifier;
        let is_name = initialized.field(Field::Declarator)?.kind() == Kind::Identifier;
        Some(is_same && is_name && binding::declares_value(tree, initialized))
    };
    declares().unwrap_or(false)
}
