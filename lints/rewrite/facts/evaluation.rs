//! When an expression is evaluated: by which statement, and whether unconditionally.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::{enclosing_function, last_name};

use super::binding::{declares_value, is_declaration, is_value, names_no_reference};
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

/// Functions of the library that give back one of their arguments, not its value.
const GIVE_BACK: [&str; 3] = ["clamp", "max", "min"];

/// Whether an argument list belongs to a call that takes its arguments by value, so the call cannot write them.
pub fn is_value_argument(tree: &SyntaxTree, list: Node<'_>) -> bool {
    let mut list = list;
    loop {
        let Some(call) = list.parent() else { return false };
        let called = match call.kind() {
            Kind::CallExpression => call.field(Field::Function),
            // `float4 v(a[i], 0, 0, 0)`
            Kind::InitDeclarator => return declares_value(tree, call),
            _ => None,
        };
        let Some(called) = called.filter(|called| takes_values(tree, *called)) else { return false };
        if !GIVE_BACK.contains(&last_name(tree.slice(called).split('<').next().unwrap_or(""))) {
            return true;
        }
        match Use::of(tree, call) {
            Use::Argument(around) => list = around,
            Use::Value(is_value) => return is_value,
        }
    }
}

/// What an expression stands for where it is used.
enum Use<'t> {
    /// An argument of this list.
    Argument(Node<'t>),
    /// A value, or something to which a reference may be bound.
    Value(bool),
}

impl<'t> Use<'t> {
    fn of(tree: &SyntaxTree, expression: Node<'t>) -> Self {
        let mut node = expression;
        loop {
            let Some(parent) = node.parent() else { return Self::Value(false) };
            match parent.kind() {
                Kind::ParenthesizedExpression | Kind::FieldExpression | Kind::CommaExpression => node = parent,
                Kind::ConditionalExpression if parent.field(Field::Condition) != Some(node) => node = parent,
                Kind::ArgumentList => return Self::Argument(parent),
                Kind::InitDeclarator => return Self::Value(declares_value(tree, parent)),
                Kind::InitializerList => return Self::Value(is_list_of_values(tree, parent)),
                Kind::ReturnStatement => return Self::Value(returns_value(tree, parent)),
                Kind::CastExpression => {
                    return Self::Value(parent.field(Field::Type).is_some_and(|it| is_value(tree, it.byte_range())));
                }
                Kind::AssignmentExpression => return Self::Value(!is_declaration(parent)),
                Kind::BinaryExpression
                | Kind::UnaryExpression
                | Kind::SubscriptArgumentList
                | Kind::ConditionClause
                | Kind::ConditionalExpression
                | Kind::ExpressionStatement
                | Kind::ForStatement
                | Kind::WhileStatement
                | Kind::DoStatement => return Self::Value(true),
                _ => return Self::Value(false),
            }
        }
    }
}

/// Whether the values of a list are taken by what the list makes: `T x{a}`, `T{a}`, `return {a};`.
pub fn is_list_of_values(tree: &SyntaxTree, list: Node<'_>) -> bool {
    let whole = list.ancestors().take_while(|node| node.kind() == Kind::InitializerList).last().unwrap_or(list);
    let Some(parent) = whole.parent() else { return false };
    match parent.kind() {
        Kind::InitDeclarator => declares_value(tree, parent),
        Kind::CompoundLiteralExpression => {
            parent.field(Field::Type).is_some_and(|type_node| is_value(tree, type_node.byte_range()))
        }
        Kind::AssignmentExpression => parent.field(Field::Right) == Some(whole),
        Kind::ArgumentList => is_value_argument(tree, parent),
        Kind::ReturnStatement => returns_value(tree, parent),
        _ => false,
    }
}

/// Whether a statement gives back a value.
pub fn returns_value(tree: &SyntaxTree, statement: Node<'_>) -> bool {
    let is_value_of = |function: Node<'_>| {
        let (head, body) = (function.field(Field::Declarator)?, function.field(Field::Body)?);
        let parameters = head.field(Field::Parameters).filter(|_| head.kind() == Kind::FunctionDeclarator)?;
        let before = function.field(Field::Type)?.byte_range();
        Some(is_value(tree, before) && names_no_reference(tree, parameters.end_byte()..body.start_byte()))
    };
    !is_in_lambda(statement) && enclosing_function(statement).and_then(is_value_of).unwrap_or(false)
}

/// Whether a node is in a lambda.
pub fn is_in_lambda(node: Node<'_>) -> bool {
    let is_function = |node: &Node<'_>| matches!(node.kind(), Kind::LambdaExpression | Kind::FunctionDefinition);
    node.ancestors().skip(1).find(is_function).is_some_and(|around| around.kind() == Kind::LambdaExpression)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_function_gives() {
        for (function, expected) in [
            ("int f(int* p) { return p[0]; }", true),
            ("auto f(int& n) const -> int { return n; }", true),
            ("int& f(int* p) { return p[0]; }", false),
            ("auto f(int* p) -> int& { return p[0]; }", false),
            ("decltype(auto) f(int* p) { return p[0]; }", false),
            ("using R = int&; R f(int* p) { return p[0]; }", false),
            ("int f(int* p) { auto g = [&] { return p[0]; }; }", false),
        ] {
            let text = format!("struct S {{ {function} }};");
            let tree = SyntaxTree::example("a.cu", &text);
            let node = tree.nodes_of(&[Kind::ReturnStatement]).next().unwrap();
            assert_eq!(returns_value(&tree, node), expected, "{function}");
        }
    }
}
