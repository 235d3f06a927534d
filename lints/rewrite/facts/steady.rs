//! Loop-invariant values: neither the loop body nor code outside the function can change them.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node, Pointer, Update};
use cuda_syntax::identifiers::identifiers;
use cuda_syntax::tree::{Declaration, DeclarationKind, Declarations, Volatility, enclosing_function, resolve};

use super::binding::{declares_value, is_declaration, is_own_value, names_no_reference};
use super::classes::member_here;
use super::evaluation::is_value_argument;
use super::outer::may_be_member;
use super::purity::is_builtin;
use super::unseen::{is_taken_for_type, may_be_reference, may_be_taken};
use super::unwritten::writes_no_memory;
use super::writes::may_be_written;

/// Whether a local variable is loop-invariant: the loop does not write it, and no pointer, reference or lambda can
/// change it.
pub fn is_steady(tree: &SyntaxTree, name: Node<'_>, body: Node<'_>) -> bool {
    let Some(function) = enclosing_function(name) else { return false };
    let text = tree.slice(name);
    let declarations = tree.declarations(function);
    let Some(declaration) = resolve(&declarations, text, name.start_byte()) else {
        // Another function may write any other non-local variable.
        return tree.is_constant(text, name.start_byte())
            || is_of_constant_memory(tree, name)
            || (is_own_member(tree, name) && writes_no_memory(tree, body));
    };
    if declaration.kind == DeclarationKind::Alias && is_reference_to_constant_memory(tree, declaration) {
        return !may_write(tree, body, text);
    }
    let is_own = declaration.kind != DeclarationKind::Alias && declaration.volatility != Some(Volatility::Value);
    is_own
        && !may_write(tree, body, text)
        && !is_written_elsewhere(tree, function, text)
        && !may_be_reference(tree, name)
}

/// Whether a name in a method is that of a member of its object, a value of its own.
fn is_own_member(tree: &SyntaxTree, name: Node<'_>) -> bool {
    let found = || {
        let declaration = member_here(tree, name)?.parent().filter(|it| it.kind() == Kind::FieldDeclaration)?;
        let words = ["static", "volatile", "__shared__", "__device__"];
        Some(declaration.children().all(|part| !words.contains(&tree.slice(part))))
    };
    found().unwrap_or(false)
}

/// Whether a name is that of a variable in constant memory, which no thread writes while a kernel runs.
fn is_of_constant_memory(tree: &SyntaxTree, name: Node<'_>) -> bool {
    let text = tree.slice(name);
    // A local one, as in shared memory, is no declaration that `resolve` finds.
    let mut declared = tree
        .nodes_of(&[Kind::Declaration, Kind::FieldDeclaration])
        .filter(|node| node.fields(Field::Declarator).any(|it| tree.slice(it.declared_name()) == text));
    let is_alone = declared.next().filter(|_| declared.next().is_none() && !tree.is_declared_beside(text));
    let only = is_alone.filter(|_| !may_be_member(tree, text));
    only.is_some_and(|only| {
        let head = only.field(Field::Declarator).and_then(|it| tree.text().get(only.start_byte()..it.start_byte()));
        let words: Vec<&str> = identifiers(head.unwrap_or("")).collect();
        let is_pointer = only.descendants().any(|node| node.kind() == Kind::PointerDeclarator);
        only.kind() == Kind::Declaration
            && words.contains(&"__constant__")
            && !words.contains(&"volatile")
            && !is_pointer
            && !tree.is_template_parameter(text, name.start_byte())
    })
}

/// Whether a reference is bound to a variable in constant memory, or to an element of one: `const Plan& p = plans[kind];`.
fn is_reference_to_constant_memory(tree: &SyntaxTree, own: &Declaration) -> bool {
    let bound = || {
        let name = tree.root()?.named_descendant_for_byte_range(own.range.0, own.range.1)?;
        name.parent().filter(|it| it.kind() == Kind::ReferenceDeclarator)?;
        let (start, end) = own.initializer?;
        let mut base = tree.root()?.named_descendant_for_byte_range(start, end)?;
        while base.kind() == Kind::SubscriptExpression {
            base = base.field(Field::Argument)?;
        }
        Some(base.kind() == Kind::Identifier && is_of_constant_memory(tree, base))
    };
    !own.is_parameter && own.volatility.is_none() && bound().unwrap_or(false)
}

/// Whether a name is that of a variable that only its function can change, no other name of something, or of a constant.
pub fn is_own(tree: &SyntaxTree, all: &Declarations, name: Node<'_>) -> bool {
    let text = tree.slice(name);
    match resolve(all, text, name.start_byte()) {
        Some(found) => is_own_value(tree, found) && found.volatility != Some(Volatility::Value),
        None => tree.is_fixed(text, name.start_byte()) || is_builtin(text),
    }
}

/// Whether a local variable keeps its first value: nothing in its function writes it or takes its address.
pub fn keeps_first_value(tree: &SyntaxTree, function: Node<'_>, all: &Declarations, own: &Declaration) -> bool {
    let is_own = own.kind != DeclarationKind::Alias && own.volatility != Some(Volatility::Value);
    let mut names = tree.names_of(function, all, own).into_iter();
    is_own
        && names.all(|name| !may_be_written(tree, name))
        && !is_written_elsewhere(tree, function, &own.name)
        && !may_be_written_unseen(tree, function, &own.name)
}

/// Whether a statement may write a variable. Passing it to a function counts: the parameter may be a reference.
pub fn may_write(tree: &SyntaxTree, body: Node<'_>, name: &str) -> bool {
    tree.named(body, name).any(|node| may_be_written(tree, node) || hands_out(tree, node) || may_be_taken(tree, node))
        || may_be_written_unseen(tree, body, name)
}

/// Whether a macro, or lines of another build, may write a variable.
pub fn may_be_written_unseen(tree: &SyntaxTree, region: Node<'_>, name: &str) -> bool {
    tree.compiled().may_write(tree.text(), &region.byte_range(), name)
}

/// Whether a variable's address is taken, a reference is bound to it, or a lambda mentions it.
pub fn is_reachable(tree: &SyntaxTree, function: Node<'_>, name: &str) -> bool {
    let is_in_lambda = |node: Node<'_>| {
        node.ancestors().take_while(|it| *it != function).any(|it| it.kind() == Kind::LambdaExpression)
    };
    let mut names = tree.named(function, name);
    is_taken_for_type(tree, name)
        || names.any(|node| hands_out(tree, node) || is_in_lambda(node) || may_be_taken(tree, node))
}

/// Whether code may write a variable that does not name it: its address is taken, a reference is bound to it, or a lambda writes it
/// or hands it on. A lambda may read it.
fn is_written_elsewhere(tree: &SyntaxTree, function: Node<'_>, name: &str) -> bool {
    let is_in_lambda = |node: Node<'_>| {
        node.ancestors().take_while(|it| *it != function).any(|it| it.kind() == Kind::LambdaExpression)
    };
    is_taken_for_type(tree, name)
        || tree.named(function, name).any(|node| {
            hands_out(tree, node) || may_be_taken(tree, node) || (is_in_lambda(node) && may_be_written(tree, node))
        })
}

/// Whether the address of a variable is taken in a region, or a reference is bound to it there.
pub fn is_handed_out(tree: &SyntaxTree, region: Node<'_>, name: &str) -> bool {
    tree.named(region, name).any(|node| hands_out(tree, node) || may_be_taken(tree, node))
}

fn hands_out(tree: &SyntaxTree, name: Node<'_>) -> bool {
    let mut node = name;
    // `?:` and `,` may give the variable itself, which is then written where it is not named.
    let mut is_chosen = false;
    while let Some(parent) = node.parent() {
        let is_last = || parent.named_children().last() == Some(node);
        match parent.kind() {
            Kind::FieldExpression | Kind::ParenthesizedExpression => node = parent,
            Kind::ConditionalExpression if parent.field(Field::Condition) != Some(node) => {
                (node, is_chosen) = (parent, true);
            }
            Kind::CommaExpression if is_last() => (node, is_chosen) = (parent, true),
            // So do an assignment to it and a step before it.
            Kind::AssignmentExpression if parent.field(Field::Left) != Some(node) => return is_declaration(parent),
            Kind::UpdateExpression if !Update::of(parent).is_some_and(Update::is_prefix) => return is_chosen,
            Kind::AssignmentExpression | Kind::UpdateExpression if is_chosen => return true,
            Kind::AssignmentExpression | Kind::UpdateExpression => (node, is_chosen) = (parent, true),
            Kind::CastExpression => {
                return parent.field(Field::Type).is_none_or(|it| !names_no_reference(tree, it.byte_range()));
            }
            Kind::ArgumentList => return is_chosen && !is_value_argument(tree, parent),
            Kind::PointerExpression => return Pointer::of(parent).is_some_and(Pointer::is_address),
            Kind::InitDeclarator => return parent.field(Field::Value) == Some(node) && !declares_value(tree, parent),
            Kind::GnuAsmExpression | Kind::GnuAsmOutputOperand => return true,
            _ => return false,
        }
    }
    false
}
