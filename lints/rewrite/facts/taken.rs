//! How the value of an element is taken: at once, or through something that may keep a reference to the element.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Assignment, Binary, Field, Kind, Node};

use super::binding::{self, declares_value};
use super::evaluation::{is_list_of_values, is_value_argument, returns_value};
use super::number::{is_number, is_number_type};

/// Whether only zero or not matters of an expression's value.
pub fn is_condition(expression: Node<'_>) -> bool {
    let Some(parent) = expression.parent() else { return false };
    match parent.kind() {
        Kind::UnaryExpression => parent.operator() == Some("!"),
        Kind::BinaryExpression => matches!(Binary::of(parent).and_then(Binary::operator), Some("&&" | "||")),
        Kind::ConditionClause => true,
        Kind::ParenthesizedExpression => is_condition(parent),
        Kind::ConditionalExpression | Kind::WhileStatement | Kind::DoStatement | Kind::ForStatement => {
            parent.field(Field::Condition) == Some(expression)
        }
        _ => false,
    }
}

/// Whether an expression's value is taken where it stands. Elsewhere a reference may be bound to the element: a parameter
/// (and an overload be chosen by that, a converting constructor's or an operator's too), a member, a name, one side of
/// `?:`.
pub fn is_value(tree: &SyntaxTree, expression: Node<'_>) -> bool {
    let Some(parent) = expression.parent() else { return false };
    let is_beside_number = |field: Field| parent.field(field).is_some_and(|other| is_number(tree, other));
    match parent.kind() {
        // `p + n`
        Kind::BinaryExpression if !has_operators(tree) => true,
        Kind::BinaryExpression if parent.field(Field::Left) == Some(expression) => is_beside_number(Field::Right),
        Kind::BinaryExpression => is_beside_number(Field::Left),
        // Of a class with an `operator[]`, the index is an argument.
        Kind::SubscriptArgumentList => parent.parent().is_some_and(|element| is_number(tree, element)),
        Kind::UnaryExpression => parent.operator() != Some("&"),
        Kind::InitDeclarator => {
            let type_node = parent.parent().and_then(|declaration| declaration.field(Field::Type));
            let is_of_number = type_node.is_some_and(|node| {
                node.kind() == Kind::PlaceholderTypeSpecifier || is_number_type(tree, tree.slice(node))
            });
            let is_name = parent.field(Field::Declarator).is_some_and(|name| name.kind() == Kind::Identifier);
            is_of_number && is_name && declares_value(tree, parent)
        }
        Kind::ParenthesizedExpression => is_value(tree, parent),
        _ => is_condition(expression) || is_assigned_to_number(tree, expression, parent),
    }
}

/// `n = seen[k]`, `n += seen[k]`, `p += seen[k]`
fn is_assigned_to_number(tree: &SyntaxTree, expression: Node<'_>, parent: Node<'_>) -> bool {
    Assignment::of(parent).is_some_and(|assignment| {
        let is_computed = || !assignment.is_plain() && !has_operators(tree);
        let is_number = |left| is_number(tree, left);
        assignment.right() == Some(expression) && (is_computed() || assignment.left().is_some_and(is_number))
    })
}

/// Whether a program has classes that may keep a reference to what they are made of, or operators that may write their
/// operands. A copy of an element is then not the element wherever a class may take it.
pub fn may_keep_references(tree: &SyntaxTree) -> bool {
    tree.behaviour_beside().may_keep_references || tree.kept(HasSuchCode::of).0
}

/// Whether a text has such classes or operators itself.
struct HasSuchCode(bool);

impl HasSuchCode {
    fn of(tree: &SyntaxTree) -> Self {
        let classes = [Kind::StructSpecifier, Kind::ClassSpecifier, Kind::UnionSpecifier];
        Self(
            tree.nodes_of(&classes).any(|class| keeps_references(tree, class))
                || tree.nodes_of(&[Kind::FunctionDeclarator]).any(|declarator| is_writing_operator(tree, declarator)),
        )
    }
}

/// Whether a class has a reference as a member, or a pointer and a function that could point it to an argument.
fn keeps_references(tree: &SyntaxTree, class: Node<'_>) -> bool {
    let Some(body) = class.field(Field::Body) else { return false };
    let own = class.field(Field::Name).map_or("", |name| tree.slice(name));
    let of_members = |kind: Kind| {
        body.named_children().filter(|member| member.kind() == Kind::FieldDeclaration).any(|member| {
            let mut declarators = member.fields(Field::Declarator).flat_map(Node::descendants);
            let is_function = member.descendants().any(|node| node.kind() == Kind::FunctionDeclarator);
            !is_function && declarators.any(|node| node.kind() == kind)
        })
    };
    let takes_references =
        || references(body).any(|parameter| parameter.field(Field::Type).is_none_or(|it| tree.slice(it) != own));
    of_members(Kind::ReferenceDeclarator) || (of_members(Kind::PointerDeclarator) && takes_references())
}

/// `operator<<(Sum&, int&)`: an operator that may write a number.
fn is_writing_operator(tree: &SyntaxTree, declarator: Node<'_>) -> bool {
    let is_operator = declarator.field(Field::Declarator).is_some_and(|name| tree.slice(name).contains("operator"));
    is_operator
        && references(declarator).any(|parameter| {
            let is_const = parameter.children().any(|part| tree.slice(part) == "const");
            !is_const && parameter.field(Field::Type).is_some_and(|it| is_number_type(tree, tree.slice(it)))
        })
}

/// The reference parameters of the functions in a node.
fn references(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let is_reference = |node: &Node<'_>| {
        matches!(node.kind(), Kind::ParameterDeclaration | Kind::OptionalParameterDeclaration)
            && node
                .field(Field::Declarator)
                .is_some_and(|it| matches!(it.kind(), Kind::ReferenceDeclarator | Kind::AbstractReferenceDeclarator))
    };
    node.descendants().filter(is_reference)
}

/// Whether a text, or a file beside it, has operators of its own. What `a += b` or `a == b` does then depends on the types.
pub fn has_operators(tree: &SyntaxTree) -> bool {
    tree.words().contains("operator") || tree.is_declared_beside("operator")
}

/// Whether an element is used where it stands, so that nothing can ask for its address and reach what lies beside it: by
/// a reference, by a member function, or by an operator of its class. `is_value` tells that its type is one of numbers.
pub fn stays_alone(tree: &SyntaxTree, element: Node<'_>, is_value: bool) -> bool {
    let mut node = element;
    while let Some(parent) = node.parent().filter(|parent| {
        matches!(parent.kind(), Kind::FieldExpression | Kind::SubscriptExpression)
            && parent.field(Field::Argument) == Some(node)
    }) {
        node = parent;
    }
    let is_part = node != element;
    let is_simple = !has_operators(tree) || if is_part { is_number(tree, node) } else { is_value };
    loop {
        let Some(parent) = node.parent() else { return false };
        let is = |field: Field| parent.field(field) == Some(node);
        let is_free = || !has_operators(tree) || (is_simple && self::is_value(tree, node));
        match parent.kind() {
            Kind::ParenthesizedExpression => node = parent,
            Kind::ConditionalExpression if !is(Field::Condition) => node = parent,
            Kind::AssignmentExpression if is(Field::Left) => return is_simple,
            Kind::UpdateExpression => return is_simple,
            Kind::ArgumentList => return is_value_argument(tree, parent) && !may_keep_references(tree),
            Kind::InitDeclarator => {
                let is_name = parent.field(Field::Declarator).is_some_and(|name| name.kind() == Kind::Identifier);
                return is_name && declares_value(tree, parent) && (is_free() || !may_keep_references(tree));
            }
            Kind::InitializerList => return is_list_of_values(tree, parent) && !may_keep_references(tree),
            Kind::CastExpression => {
                return parent.field(Field::Type).is_some_and(|it| binding::is_value(tree, it.byte_range()));
            }
            Kind::ReturnStatement => return returns_value(tree, parent),
            Kind::PointerExpression => return !tree.slice(parent).starts_with('&'),
            Kind::AssignmentExpression
            | Kind::BinaryExpression
            | Kind::UnaryExpression
            | Kind::SubscriptArgumentList => return is_free(),
            Kind::ConditionClause
            | Kind::ConditionalExpression
            | Kind::ExpressionStatement
            | Kind::SizeofExpression
            | Kind::WhileStatement
            | Kind::DoStatement
            | Kind::ForStatement => return is_simple,
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_that_may_hold_an_argument() {
        for (text, expected) in [
            ("struct View { const bool& one; };", true),
            ("struct View { const bool* one; View(const bool& value) : one(&value) {} };", true),
            ("struct View { const bool* one; void operator=(const bool& value) { one = &value; } };", true),
            ("struct Sum {}; __device__ Sum& operator<<(Sum& sum, int& value);", true),
            ("struct Text { const char* first; Text(const Text& other); };", false),
            ("struct Node { int key; Node* next; int first(int at) const; };", false),
            ("struct Vec { float x; Vec& operator+=(const Vec& other); float& at(int i); };", false),
            ("__device__ float3 operator+(const float3& a, const float3& b);", false),
        ] {
            assert_eq!(may_keep_references(&SyntaxTree::example("a.cu", text)), expected, "{text}");
        }
    }
}
