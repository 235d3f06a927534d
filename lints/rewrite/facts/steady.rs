//! Loop-invariant values: neither the loop body nor code outside the function can change them.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node, Pointer};
use cuda_syntax::tree::{
    Declaration, DeclarationKind, Declarations, Volatility, access_path, enclosing_function, resolve, role,
};

/// Whether a local variable is loop-invariant: the loop does not write it, and no pointer, reference or lambda can
/// access it.
pub fn is_steady(tree: &SyntaxTree, name: Node<'_>, body: Node<'_>) -> bool {
    let Some(function) = enclosing_function(name) else { return false };
    let text = tree.slice(name);
    let declarations = tree.declarations(function);
    let Some(declaration) = resolve(&declarations, text, name.start_byte()) else {
        // Only a constant is invariant; another function may write any other non-local variable.
        return tree.is_constant(text, name.start_byte());
    };
    let is_own = declaration.kind != DeclarationKind::Alias && declaration.volatility != Some(Volatility::Value);
    is_own && !may_write(tree, body, text) && !is_reachable(tree, function, text)
}

/// Whether a local variable keeps its first value: nothing in its function writes it or takes its address.
pub fn keeps_first_value(tree: &SyntaxTree, function: Node<'_>, all: &Declarations, own: &Declaration) -> bool {
    let is_own = own.kind != DeclarationKind::Alias && own.volatility != Some(Volatility::Value);
    let mut names = tree.names_of(function, all, own).into_iter();
    is_own && names.all(|name| !role(access_path(name)).1) && !is_reachable(tree, function, &own.name)
}

/// Whether a statement may write a variable. Passing it to a function counts: the parameter may be a reference.
pub fn may_write(tree: &SyntaxTree, body: Node<'_>, name: &str) -> bool {
    tree.named(body, name).any(|node| role(access_path(node)).1)
}

/// Whether a variable's address is taken, a reference is bound to it, or a lambda mentions it.
pub fn is_reachable(tree: &SyntaxTree, function: Node<'_>, name: &str) -> bool {
    let is_in_lambda = |node: Node<'_>| {
        node.ancestors().take_while(|it| *it != function).any(|it| it.kind() == Kind::LambdaExpression)
    };
    tree.named(function, name).any(|node| hands_out(node) || is_in_lambda(node))
}

/// Whether the address of a variable is taken in a region, or a reference is bound to it there.
pub fn is_handed_out(tree: &SyntaxTree, region: Node<'_>, name: &str) -> bool {
    tree.named(region, name).any(hands_out)
}

fn hands_out(name: Node<'_>) -> bool {
    let mut node = name;
    while let Some(parent) = node.parent() {
        match parent.kind() {
            Kind::FieldExpression | Kind::ParenthesizedExpression => node = parent,
            Kind::PointerExpression => return Pointer::of(parent).is_some_and(Pointer::is_address),
            Kind::InitDeclarator => {
                let declarator = parent.field(Field::Declarator);
                let is_value = parent.field(Field::Value) == Some(node);
                return is_value && declarator.is_some_and(|declarator| declarator.kind() == Kind::ReferenceDeclarator);
            }
            Kind::GnuAsmExpression | Kind::GnuAsmOutputOperand => return true,
            _ => return false,
        }
    }
    false
}
