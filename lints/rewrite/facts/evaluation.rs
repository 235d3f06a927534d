//! When an expression is evaluated: by which statement, and whether unconditionally.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};

use super::purity::takes_values;

/// The statement that evaluates an expression, and whether the evaluation is conditional (`?:`, `&&`). `None` if no
/// code can be inserted before the evaluation.
pub fn site(expression: Node<'_>) -> Option<(Node<'_>, bool)> {
    let mut node = expression;
    let mut is_conditional = false;
    loop {
        let parent = node.parent()?;
        let is_field = |field: Field| parent.field(field) == Some(node);
        match parent.kind() {
            Kind::BinaryExpression => {
                let operator = parent.operator().unwrap_or_default();
                is_conditional |= matches!(operator, "&&" | "||" | "and" | "or") && !is_field(Field::Left);
            }
            Kind::ConditionalExpression => is_conditional |= !is_field(Field::Condition),
            Kind::ConditionClause if parent.field(Field::Initializer).is_some() => return None,
            Kind::IfStatement | Kind::SwitchStatement if is_field(Field::Condition) => {
                return Some((parent, is_conditional));
            }
            Kind::ExpressionStatement | Kind::ReturnStatement => return Some((parent, is_conditional)),
            Kind::Declaration => {
                let is_statement = parent.parent().is_some_and(|around| around.kind() == Kind::CompoundStatement);
                return is_statement.then_some((parent, is_conditional));
            }
            Kind::InitDeclarator if is_field(Field::Value) => {}
            Kind::UnaryExpression
            | Kind::ParenthesizedExpression
            | Kind::CastExpression
            | Kind::CallExpression
            | Kind::ArgumentList
            | Kind::AssignmentExpression
            | Kind::UpdateExpression
            | Kind::SubscriptExpression
            | Kind::SubscriptArgumentList
            | Kind::FieldExpression
            | Kind::InitializerList
            | Kind::ConditionClause
            | Kind::CompoundLiteralExpression
            | Kind::PointerExpression => {}
            _ => return None,
        }
        node = parent;
    }
}

/// Whether an argument list belongs to a call that takes its arguments by value, so the call cannot write them.
pub fn is_value_argument(tree: &SyntaxTree, list: Node<'_>) -> bool {
    let Some(call) = list.parent() else { return false };
    match call.kind() {
        Kind::CallExpression => call.field(Field::Function).is_some_and(|called| takes_values(tree, called)),
        // `float4 v(a[i], 0, 0, 0)`
        Kind::InitDeclarator => true,
        _ => false,
    }
}

/// Whether a node is in a lambda.
pub fn is_in_lambda(node: Node<'_>) -> bool {
    let is_function = |node: &Node<'_>| matches!(node.kind(), Kind::LambdaExpression | Kind::FunctionDefinition);
    node.ancestors().skip(1).find(is_function).is_some_and(|around| around.kind() == Kind::LambdaExpression)
}
