//! What a statement does with an element.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node, Pointer};
use cuda_syntax::tree::enclosing_function;

use crate::rewrite::facts::evaluation::{is_in_lambda, is_value_argument};

/// What a statement does with an element.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role<'t> {
    Read,
    /// The statement is this assignment, increment or decrement.
    Write(Node<'t>),
    /// The statement uses the value of this increment or decrement.
    Step(Node<'t>),
}

/// What becomes of an element; `None` where it may be written in a way that the statement does not show.
pub(super) fn role<'t>(tree: &SyntaxTree, expression: Node<'t>) -> Option<Role<'t>> {
    let mut node = expression;
    loop {
        let parent = node.parent()?;
        let is_field = |field: Field| parent.field(field) == Some(node);
        let is_statement = parent.parent().is_some_and(|around| around.kind() == Kind::ExpressionStatement);
        let is_direct = node == expression;
        match parent.kind() {
            Kind::AssignmentExpression if is_field(Field::Left) => {
                return (is_statement && is_direct).then_some(Role::Write(parent));
            }
            Kind::UpdateExpression if is_direct && !is_statement => return Some(Role::Step(parent)),
            Kind::UpdateExpression => return is_direct.then_some(Role::Write(parent)),
            Kind::ParenthesizedExpression => {}
            Kind::ConditionalExpression if !is_field(Field::Condition) => {}
            Kind::ArgumentList => return is_value_argument(tree, parent).then_some(Role::Read),
            Kind::InitDeclarator => {
                let declarator = parent.field(Field::Declarator)?;
                return (declarator.kind() != Kind::ReferenceDeclarator).then_some(Role::Read);
            }
            Kind::PointerExpression => {
                return Pointer::of(parent).is_some_and(Pointer::is_dereference).then_some(Role::Read);
            }
            Kind::CastExpression => {
                let is_value = parent.field(Field::Type).is_some_and(|it| !tree.slice(it).contains('&'));
                return is_value.then_some(Role::Read);
            }
            Kind::ReturnStatement => {
                let function = enclosing_function(parent)?;
                let head = function.field(Field::Declarator)?;
                let is_value = head.kind() != Kind::ReferenceDeclarator && !is_in_lambda(parent);
                return is_value.then_some(Role::Read);
            }
            Kind::CallExpression | Kind::CommaExpression => return None,
            Kind::BinaryExpression
            | Kind::UnaryExpression
            | Kind::AssignmentExpression
            | Kind::SubscriptExpression
            | Kind::SubscriptArgumentList
            | Kind::FieldExpression
            | Kind::InitializerList
            | Kind::ConditionClause
            | Kind::ConditionalExpression => return Some(Role::Read),
            _ => return None,
        }
        node = parent;
    }
}
