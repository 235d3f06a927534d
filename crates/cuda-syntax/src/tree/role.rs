//! The role of an expression: read, written, passed on, operand.
use crate::ast::{Field, Kind, Node};
use crate::tree::construction::is_argument;

/// Whether an expression is read, written, or passed on (as an argument or by address).
pub fn role(whole: Node<'_>) -> (bool, bool, bool) {
    let Some(parent) = whole.parent() else { return (true, false, false) };
    let is_field = |field: Field| parent.field(field) == Some(whole);
    match parent.kind() {
        Kind::ParameterDeclaration if is_argument(whole) => (true, true, true),
        Kind::AssignmentExpression if is_field(Field::Left) => {
            let is_plain = parent.field(Field::Operator).is_none_or(|operator| operator.is_token("="));
            (!is_plain, true, false)
        }
        Kind::UpdateExpression => (true, true, false),
        Kind::InitDeclarator | Kind::FunctionDeclarator if is_field(Field::Declarator) => (false, true, false),
        Kind::ArrayDeclarator | Kind::Declaration | Kind::PointerDeclarator | Kind::ReferenceDeclarator => {
            (false, true, false)
        }
        // `strength(s)` in a constructor's initializer list initializes a member.
        Kind::ArgumentList if parent.parent().is_some_and(|parent| parent.kind() == Kind::FieldInitializer) => {
            (true, false, false)
        }
        Kind::ArgumentList | Kind::PointerExpression | Kind::InitializerList => (true, true, true),
        // `"=r"(x)`, or `"+r"(x)`, which is read as well.
        Kind::GnuAsmOutputOperand => (true, true, false),
        Kind::ForRangeLoop => (true, true, false),
        // `line.at(k) = x`
        Kind::CallExpression if is_field(Field::Function) && is_assigned(parent) => (true, true, false),
        _ => (true, false, false),
    }
}

/// Whether an expression is the left side of an assignment.
fn is_assigned(whole: Node<'_>) -> bool {
    whole.parent().is_some_and(|parent| {
        let left = parent.field(Field::Left).filter(|_| parent.kind() == Kind::AssignmentExpression);
        left.is_some_and(|left| left == whole)
    })
}

/// Whether an expression is an operand of arithmetic or a comparison, also through casts.
pub(super) fn is_operand(whole: Node<'_>) -> bool {
    let mut node = whole;
    while let Some(parent) = node.parent() {
        match parent.kind() {
            Kind::BinaryExpression | Kind::UnaryExpression => return true,
            Kind::CastExpression | Kind::ParenthesizedExpression => node = parent,
            _ => return false,
        }
    }
    false
}
