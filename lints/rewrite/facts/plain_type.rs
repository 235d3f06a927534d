//! Types with a trivial default constructor, as far as the text shows it.
//!
//! Variables in shared memory are not constructed: nvcc only warns if a constructor would have an effect.

use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::{SyntaxTree, types};

/// Limit on nested types and on type aliases.
const MAX_STEPS: usize = 6;
/// Size of a pointer in device code.
const POINTER_BYTES: u64 = 8;

/// Whether a type is trivially default-constructible. `argument` returns the argument of a template parameter.
pub fn is_plain(tree: &SyntaxTree, type_text: &str, argument: &dyn Fn(&str) -> Option<String>) -> bool {
    is_plain_within(tree, type_text, argument, MAX_STEPS)
}

/// The alignment of a trivially default-constructible type, if the text shows it.
pub fn alignment(tree: &SyntaxTree, type_text: &str, argument: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    is_plain(tree, type_text, argument).then(|| alignment_within(tree, type_text, argument, MAX_STEPS))?
}

/// The largest alignment of a type's members. A base class, a bit-field or `alignas` is not followed.
fn alignment_within(
    tree: &SyntaxTree,
    type_text: &str,
    argument: &dyn Fn(&str) -> Option<String>,
    steps: usize,
) -> Option<u64> {
    let steps = steps.checked_sub(1)?;
    let words: Vec<&str> = type_text.split_whitespace().filter(|word| !matches!(*word, "struct" | "const")).collect();
    let name = words.join(" ");
    if let Some((component, whole)) = types::shape(&name) {
        return Some(if whole.is_power_of_two() { whole } else { component });
    }
    if let Some(argument) = argument(&name) {
        return types::shape(&argument)
            .map(|(component, whole)| if whole.is_power_of_two() { whole } else { component });
    }
    let definitions = definitions(tree, &name);
    let [definition] = definitions.as_slice() else { return None };
    let holder = match definition.kind() {
        Kind::AliasDeclaration | Kind::TypeDefinition => {
            let aliased = definition.field(Field::Type)?;
            if aliased.field(Field::Body).is_none() {
                return alignment_within(tree, tree.slice(aliased), argument, steps);
            }
            aliased
        }
        _ => *definition,
    };
    let is_packed = tree.slice(holder).contains("align");
    if is_packed || holder.kind() == Kind::EnumSpecifier {
        return None;
    }
    let mut largest = 1;
    for member in holder.field(Field::Body)?.named_children().filter(|it| it.kind() == Kind::FieldDeclaration) {
        let declarator = member.field(Field::Declarator)?;
        let own = match declarator.kind() {
            Kind::FunctionDeclarator => continue,
            Kind::PointerDeclarator => POINTER_BYTES,
            _ => alignment_within(tree, tree.slice(member.field(Field::Type)?), argument, steps)?,
        };
        largest = largest.max(own);
    }
    Some(largest)
}

fn is_plain_within(
    tree: &SyntaxTree,
    type_text: &str,
    argument: &dyn Fn(&str) -> Option<String>,
    steps: usize,
) -> bool {
    let words: Vec<&str> = type_text.split_whitespace().filter(|word| !matches!(*word, "struct" | "enum")).collect();
    let name = words.join(" ");
    if types::size_of(&name).is_some() {
        return true;
    }
    let Some(steps) = steps.checked_sub(1) else { return false };
    if let Some(argument) = argument(&name) {
        return types::size_of(&argument).is_some();
    }
    let definitions = definitions(tree, &name);
    let is_plain = |text: &str| is_plain_within(tree, text, argument, steps);
    match definitions.as_slice() {
        [definition] => match definition.kind() {
            Kind::EnumSpecifier => true,
            Kind::AliasDeclaration | Kind::TypeDefinition => {
                definition.field(Field::Type).is_some_and(|aliased| match aliased.field(Field::Body) {
                    Some(body) if aliased.kind() != Kind::EnumSpecifier => {
                        has_plain_members(tree, &name, body, &is_plain)
                    }
                    Some(_) => true,
                    None => is_plain(tree.slice(aliased)),
                })
            }
            _ => {
                let body = definition.field(Field::Body);
                let has_base = definition.children().any(|child| child.kind() == Kind::BaseClassClause);
                body.is_some_and(|body| !has_base && has_plain_members(tree, &name, body, &is_plain))
            }
        },
        _ => false,
    }
}

/// Definitions of a type name in the text, without templates.
pub(super) fn definitions<'v>(tree: &'v SyntaxTree, name: &str) -> Vec<Node<'v>> {
    let defines = |node: &Node<'_>| {
        let named = match node.kind() {
            Kind::StructSpecifier | Kind::ClassSpecifier | Kind::UnionSpecifier | Kind::EnumSpecifier => {
                node.field(Field::Name).filter(|_| node.field(Field::Body).is_some())
            }
            Kind::AliasDeclaration => node.field(Field::Name),
            Kind::TypeDefinition => node.field(Field::Declarator).filter(|it| it.kind() == Kind::TypeIdentifier),
            _ => None,
        };
        let is_template = node.parent().is_some_and(|parent| parent.kind() == Kind::TemplateDeclaration);
        named.is_some_and(|named| tree.slice(named) == name) && !is_template
    };
    // One of that name in another file may be the one that is meant.
    let is_elsewhere = tree.is_declared_beside(name);
    tree.nodes().filter(|node| !is_elsewhere && defines(node)).collect()
}

/// Whether all members are trivially constructible, none has a default initializer, and there is no constructor.
fn has_plain_members(tree: &SyntaxTree, name: &str, body: Node<'_>, is_plain: &dyn Fn(&str) -> bool) -> bool {
    body.named_children().all(|member| match member.kind() {
        Kind::Comment | Kind::AccessSpecifier => true,
        Kind::FieldDeclaration => {
            let is_pointer = member.field(Field::Declarator).is_some_and(|node| node.kind() == Kind::PointerDeclarator);
            let type_node = member.field(Field::Type);
            let is_function =
                member.field(Field::Declarator).is_some_and(|node| node.kind() == Kind::FunctionDeclarator);
            let is_plain = type_node.is_some_and(|node| is_function || is_pointer || is_plain(tree.slice(node)));
            member.field(Field::DefaultValue).is_none() && is_plain
        }
        Kind::FunctionDefinition => {
            let declarator = member.field(Field::Declarator);
            let called = declarator.and_then(|declarator| declarator.field(Field::Declarator));
            called.is_some_and(|called| tree.slice(called).trim_start_matches('~') != name)
        }
        _ => false,
    })
}
