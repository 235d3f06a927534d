//! Types whose variables may go without a destructor being run, as far as the text shows it.

use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::{SyntaxTree, types};

use super::named_type::{Class, NamedType, named_type};
use super::plain_type::is_virtual;

/// Limit on nested types and on type aliases.
const MOST_STEPS: usize = 6;

/// Whether the file defines a class, and neither it nor its members and bases have a destructor or virtual functions.
/// `argument` returns the argument of a template parameter.
pub fn is_destroyed_plainly(tree: &SyntaxTree, type_text: &str, argument: &dyn Fn(&str) -> Option<String>) -> bool {
    is_destroyed_within(tree, type_text, argument, MOST_STEPS)
}

fn is_destroyed_within(
    tree: &SyntaxTree,
    type_text: &str,
    argument: &dyn Fn(&str) -> Option<String>,
    steps: usize,
) -> bool {
    let is_of_name = |word: &&str| !matches!(*word, "struct" | "enum" | "typename" | "const");
    let name = type_text.split_whitespace().filter(is_of_name).collect::<Vec<_>>().join(" ");
    if types::size_of(&name).is_some() {
        return true;
    }
    let Some(steps) = steps.checked_sub(1) else { return false };
    if let Some(argument) = argument(&name) {
        return is_destroyed_within(tree, &argument, &|_| None, steps);
    }
    let is_plain = |text: &str| is_destroyed_within(tree, text, argument, steps);
    match named_type(tree, &name) {
        Some(NamedType::Enumeration) => true,
        Some(NamedType::Alias(other)) => is_plain(&other),
        Some(NamedType::Class(class)) => {
            let has_plain_bases = class.bases(tree).is_some_and(|bases| bases.iter().all(|base| is_plain(base)));
            let body = class.node.field(Field::Body);
            has_plain_bases && body.is_some_and(|body| has_plain_members(tree, &class, body, &is_plain))
        }
        None => false,
    }
}

fn has_plain_members(tree: &SyntaxTree, class: &Class<'_>, body: Node<'_>, is_plain: &dyn Fn(&str) -> bool) -> bool {
    body.named_children().all(|member| match member.kind() {
        Kind::FieldDeclaration => is_plain_field(tree, class, member, is_plain),
        Kind::FunctionDefinition | Kind::Declaration => is_plain_function(tree, member),
        // A destructor is no template.
        Kind::TemplateDeclaration => true,
        _ => !member.is_error(),
    })
}

fn is_plain_field(tree: &SyntaxTree, class: &Class<'_>, member: Node<'_>, is_plain: &dyn Fn(&str) -> bool) -> bool {
    let Some(type_node) = member.field(Field::Type) else { return false };
    if member.field(Field::Declarator).is_none() {
        let Some(body) = type_node.field(Field::Body) else { return false };
        let is_named = type_node.field(Field::Name).is_some();
        return is_named || has_plain_members(tree, class, body, is_plain);
    }
    let is_fit = |declarator: Node<'_>| match declarator.kind() {
        Kind::PointerDeclarator | Kind::ReferenceDeclarator | Kind::FunctionDeclarator => true,
        _ => is_plain(&class.spelled(tree, type_node)),
    };
    !is_virtual(tree, member) && member.fields(Field::Declarator).all(is_fit)
}

fn is_plain_function(tree: &SyntaxTree, function: Node<'_>) -> bool {
    let name = function.field(Field::Declarator).map(|declarator| tree.slice(declarator.declared_name()));
    let is_default = tree.slice(function).trim_end_matches([';', ' ']).ends_with("default");
    !is_virtual(tree, function) && name.is_some_and(|name| !name.contains('~') || is_default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_destructor_does_is_not_lost() {
        let text = "struct Ring { float data[8] = {}; int head; __device__ Ring() : head(0) {} __device__ void push(float x); };\n\
                    struct Ends { int* p; __device__ ~Ends() { ++*p; } };\nstruct Plain { ~Plain() = default; int x; };\n\
                    struct Holds { Ends ends; };\nstruct From : Ends { int x; };\nstruct Virtual { virtual void f(); };\n\
                    template <typename T> struct Row { T own[4]; T* next; Row& other; };\n";
        let tree = SyntaxTree::example("a.cu", text);
        let is_plain =
            |name: &str| is_destroyed_plainly(&tree, name, &|name| (name == "E").then(|| "Ends".to_string()));
        for name in ["Ring", "struct Ring", "Plain", "Row<float>", "Row<Ring>", "float"] {
            assert!(is_plain(name), "{name}");
        }
        for name in ["Ends", "Holds", "From", "Virtual", "Row<Ends>", "E", "Unknown"] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
