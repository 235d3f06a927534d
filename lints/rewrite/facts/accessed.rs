//! Whether an expression that names an element reads or writes it.

use std::ops::Range;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Field, Kind, Member, Node};
use cuda_syntax::tree::is_callee;

use super::binding::{declares_value, names_no_reference};
use super::called::called as function_of;
use super::number::is_number;
use super::purity::{is_pure_call, takes_values};

/// Whether the value of an element, or of its member, is certainly read or written where the element is named. `&a[i]`,
/// `sizeof(a[i])`, `(void)a[i]`, a reference to `a[i]` or an array in it access nothing.
pub fn is_accessed(tree: &SyntaxTree, element: Node<'_>) -> bool {
    let mut node = element;
    while let Some(parent) = node.parent() {
        match parent.kind() {
            Kind::ParenthesizedExpression => {}
            Kind::FieldExpression => {
                let Some(member) = Member::of(parent).filter(|member| member.object() == Some(node)) else {
                    return false;
                };
                if !member.is_of_object() {
                    return true;
                }
                let name = member.name().map_or("", |name| tree.slice(name));
                if is_callee(parent) {
                    return false;
                }
                if !is_scalar_member(tree, name) {
                    let Some(whole) = element_of_member(tree, parent, name) else { return false };
                    node = whole;
                    continue;
                }
            }
            _ => return is_value(tree, parent, node),
        }
        node = parent;
    }
    false
}

/// `k[s].v[d]`, for a member that is an array of numbers with as many dimensions as there are subscripts.
fn element_of_member<'t>(tree: &SyntaxTree, path: Node<'t>, name: &str) -> Option<Node<'t>> {
    let mut declarators = tree.nodes_of(&[Kind::FieldDeclaration]).flat_map(|member| member.fields(Field::Declarator));
    let is_it = |declarator: &Node<'_>| tree.slice(declarator.declared_name()) == name;
    let only = declarators.by_ref().find(is_it).filter(|_| !declarators.any(|other| is_it(&other)))?;
    let mut declared = only;
    let mut whole = path;
    while declared.kind() == Kind::ArrayDeclarator {
        declared = declared.field(Field::Declarator)?;
        let is_subscript =
            |it: &Node<'_>| it.kind() == Kind::SubscriptExpression && it.field(Field::Argument) == Some(whole);
        whole = whole.parent().filter(is_subscript)?;
    }
    let is_element = declared.kind() == Kind::FieldIdentifier && whole != path;
    (is_element && is_number(tree, whole)).then_some(whole)
}

/// Whether an expression is used as a value, or assigned.
fn is_value(tree: &SyntaxTree, parent: Node<'_>, node: Node<'_>) -> bool {
    match parent.kind() {
        Kind::AssignmentExpression
        | Kind::UpdateExpression
        | Kind::BinaryExpression
        | Kind::SubscriptArgumentList
        | Kind::ConditionClause => true,
        Kind::UnaryExpression => matches!(parent.operator(), Some("-" | "+" | "!" | "~")),
        Kind::ConditionalExpression => parent.field(Field::Condition) == Some(node),
        Kind::CastExpression => parent.field(Field::Type).is_some_and(|it| is_value_type(tree, it.byte_range())),
        Kind::InitDeclarator => {
            let declarator = parent.field(Field::Declarator).map(Node::kind);
            matches!(declarator, Some(Kind::Identifier | Kind::PointerDeclarator)) && declares_value(tree, parent)
        }
        Kind::ArgumentList => parent.parent().and_then(Call::of).is_some_and(|call| takes_value(tree, call, node)),
        _ => false,
    }
}

/// Whether a call reads the value of an argument. What a macro does with it is not known.
fn takes_value(tree: &SyntaxTree, call: Call<'_>, argument: Node<'_>) -> bool {
    let Some(called) = call.function() else { return false };
    let is_macro = tree.compiled().expansion(tree.text(), &call.node().byte_range()).is_some();
    let takes_number = || {
        let position = call.arguments().position(|it| it == argument)?;
        function_of(tree, call)?.number(position)
    };
    let takes_number = || takes_number().is_some();
    let text = tree.slice(called);
    let is_cast = text.contains("_cast");
    let is_value = match text.find('<').filter(|_| is_cast) {
        Some(start) => is_value_type(tree, called.start_byte() + start + 1..called.end_byte() - 1),
        None => {
            is_pure_call(tree, call.node()) || takes_values(tree, called) || is_number(tree, argument) && takes_number()
        }
    };
    is_value && !is_macro
}

/// Whether the type that is written in a range is one of values.
fn is_value_type(tree: &SyntaxTree, range: Range<usize>) -> bool {
    let is_void = tree.text().get(range.clone()).is_none_or(|text| text.trim() == "void");
    names_no_reference(tree, range) && !is_void
}

/// Whether the text declares members under a name, and none of them is an array or a reference. Vectors of the toolkit
/// have `x` to `w`.
pub fn is_scalar_member(tree: &SyntaxTree, name: &str) -> bool {
    let members = tree.nodes_of(&[Kind::FieldDeclaration]);
    let declarators = members.flat_map(|member| member.fields(Field::Declarator));
    let mut own = declarators.filter(|declarator| tree.slice(declarator.declared_name()) == name).peekable();
    let is_known = own.peek().is_some() || matches!(name, "x" | "y" | "z" | "w");
    is_known
        && !tree.is_declared_beside(name)
        && own.all(|it| matches!(it.kind(), Kind::FieldIdentifier | Kind::PointerDeclarator))
}
