//! Whether a called function can reach a variable only by the argument that it gets.
//!
//! A function that gets a value in place of an address does not see what is written to the variable in another way.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Field, Kind, Member, Node, Pointer};
use cuda_syntax::tree::{Declaration, DeclarationKind, access_path, enclosing_function, is_callee, last_name, resolve};

use super::accessed::is_scalar_member;
use super::binding::{declares_value, names_no_reference};
use super::evaluation::is_in_lambda;
use super::purity::{is_pure, is_pure_call, takes_values};

/// The argument of a call that gives a variable.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    pub function: &'a str,
    pub position: usize,
    pub call: Node<'a>,
    /// The variable, its member or its element, without `&`.
    pub place: Node<'a>,
    /// Whether the function has no other way to memory: then it does not matter who else has the address.
    pub is_alone: bool,
}

/// Whether no one but the called function gets the variable's address, and computing the call's other arguments does
/// not change it.
pub fn is_sole_way(tree: &SyntaxTree, given: Given<'_>) -> bool {
    let found = || {
        let base = base_of(given.place)?;
        let around = enclosing_function(given.call)?;
        let all = tree.declarations(around);
        let own = resolve(&all, tree.slice(base), base.start_byte())?;
        let is_own = own.kind != DeclarationKind::Alias && own.volatility.is_none();
        let stays =
            given.is_alone || tree.names_of(around, &all, own).into_iter().all(|name| is_kept(tree, given, own, name));
        // What is in the place's indices stays the same, too.
        let mut others = tree.identifiers_below(given.place).into_iter().filter(|name| *name != base);
        let is_steady = others.all(|name| {
            resolve(&all, tree.slice(name), name.start_byte()).map_or_else(
                || tree.is_constant(tree.slice(name), name.start_byte()),
                |found| {
                    let is_value = |name: Node<'_>| is_kept(tree, given, found, name);
                    found.kind == DeclarationKind::Scalar
                        && tree.names_of(around, &all, found).into_iter().all(is_value)
                },
            )
        });
        Some(is_own && stays && is_steady && !changes_place(tree, given))
    };
    found().unwrap_or(false)
}

/// `a` of `a[i].x`; `None` where a pointer leads elsewhere.
fn base_of(place: Node<'_>) -> Option<Node<'_>> {
    let mut node = place;
    loop {
        node = match node.kind() {
            Kind::Identifier => return Some(node),
            Kind::ParenthesizedExpression => node.named_child(0)?,
            Kind::SubscriptExpression => node.field(Field::Argument)?,
            Kind::FieldExpression => Member::of(node).filter(|member| member.is_of_object())?.object()?,
            _ => return None,
        };
    }
}

/// Whether a mention of a variable hands its address to nothing but the function.
fn is_kept(tree: &SyntaxTree, given: Given<'_>, own: &Declaration, name: Node<'_>) -> bool {
    let path = access_path(name);
    if is_in_lambda(name) || is_callee(path) {
        return false;
    }
    let Some(parent) = path.parent() else { return false };
    let to_function = |argument: Node<'_>| is_given(tree, given, argument);
    if Pointer::of(parent).is_some_and(Pointer::is_address) {
        return to_function(parent);
    }
    is_value(tree, path, own) || to_function(path)
}

/// Whether an expression is the function's argument, in this call or another.
fn is_given(tree: &SyntaxTree, given: Given<'_>, argument: Node<'_>) -> bool {
    let is_it = || {
        let list = argument.parent().filter(|list| list.kind() == Kind::ArgumentList)?;
        let call = list.parent().and_then(Call::of)?;
        let is_called = call.function().is_some_and(|called| last_name(tree.slice(called)) == given.function);
        Some(is_called && list.parts().position(|it| it == argument) == Some(given.position))
    };
    is_it().unwrap_or(false)
}

/// Whether the value of a variable or of a part of it is used, so that no reference and no pointer to it is left.
fn is_value(tree: &SyntaxTree, path: Node<'_>, own: &Declaration) -> bool {
    let is_array = match path.kind() {
        Kind::Identifier => own.kind == DeclarationKind::Array,
        Kind::FieldExpression => {
            let member = Member::of(path).and_then(Member::name);
            !member.is_some_and(|member| is_scalar_member(tree, tree.slice(member)))
        }
        _ => false,
    };
    let Some(parent) = path.parent().filter(|_| !is_array) else { return false };
    match parent.kind() {
        Kind::AssignmentExpression
        | Kind::UpdateExpression
        | Kind::BinaryExpression
        | Kind::UnaryExpression
        | Kind::SubscriptArgumentList
        | Kind::ConditionClause
        | Kind::ExpressionStatement
        | Kind::ReturnStatement => true,
        Kind::ForStatement | Kind::WhileStatement | Kind::DoStatement | Kind::ConditionalExpression => {
            parent.field(Field::Condition) == Some(path)
        }
        Kind::CastExpression => parent.field(Field::Type).is_some_and(|it| names_no_reference(tree, it.byte_range())),
        Kind::InitDeclarator => {
            let is_name = parent.field(Field::Declarator).is_some_and(|it| it.kind() == Kind::Identifier);
            is_name && declares_value(tree, parent)
        }
        Kind::ArgumentList => {
            let call = parent.parent().and_then(Call::of);
            call.and_then(Call::function).is_some_and(|called| takes_values(tree, called))
        }
        _ => false,
    }
}

/// Whether the other arguments of the call change what the place is, or what it has: they are computed before or after.
fn changes_place(tree: &SyntaxTree, given: Given<'_>) -> bool {
    let names: Vec<&str> = tree.identifiers_below(given.place).into_iter().map(|name| tree.slice(name)).collect();
    let is_outside = |node: &Node<'_>| !given.place.byte_range().contains(&node.start_byte());
    let changes = |node: Node<'_>| {
        matches!(node.kind(), Kind::AssignmentExpression | Kind::UpdateExpression)
            && tree.identifiers_below(node).iter().any(|name| names.contains(&tree.slice(*name)))
    };
    let calls = |node: Node<'_>| Call::of(node).is_some() && node != given.call && !is_pure_call(tree, node);
    let below: Vec<Node<'_>> = given.call.descendants().filter(is_outside).collect();
    !is_pure(tree, given.place)
        || below.iter().any(|node| changes(*node))
        || (names.len() > 1 && below.iter().any(|node| calls(*node)))
}

/// Whether a function computes from its own variables and one parameter alone: it has no other way to memory.
pub fn reaches_nothing_else(tree: &SyntaxTree, definition: Node<'_>, parameter: &str) -> bool {
    let all = tree.declarations(definition);
    let Some(body) = definition.field(Field::Body) else { return false };
    let is_way = |declaration: &&Declaration| {
        declaration.name != parameter
            && !matches!(declaration.kind, DeclarationKind::Scalar | DeclarationKind::Array)
            && (declaration.is_parameter || declaration.kind == DeclarationKind::Alias)
    };
    let is_own = |node: Node<'_>| match node.kind() {
        Kind::Identifier => {
            let name = tree.slice(node);
            let called = is_callee(node);
            called || resolve(&all, name, node.start_byte()).is_some() || tree.is_constant(name, node.start_byte())
        }
        Kind::CallExpression => is_pure_call(tree, node),
        Kind::This | Kind::LambdaExpression | Kind::NewExpression => false,
        Kind::PointerExpression => node.field(Field::Argument).is_some_and(|it| tree.slice(it) == parameter),
        Kind::FieldExpression => {
            let member = Member::of(node);
            let is_parameter = node.field(Field::Argument).is_some_and(|it| tree.slice(it) == parameter);
            member.is_some_and(Member::is_of_object) || is_parameter
        }
        Kind::SubscriptExpression => node.field(Field::Argument).is_some_and(|base| {
            let own = resolve(&all, tree.slice(base), base.start_byte());
            tree.slice(base) == parameter || own.is_some_and(|own| own.kind == DeclarationKind::Array)
        }),
        _ => !node.is_assembly(),
    };
    let is_free = [Kind::StructSpecifier, Kind::ClassSpecifier].iter().all(|it| definition.enclosing(*it).is_none());
    let is_method = definition.field(Field::Declarator).is_some_and(|it| tree.slice(it.declared_name()).contains("::"));
    is_free && !is_method && !all.iter().any(|it| is_way(&it)) && body.descendants().all(is_own)
}
