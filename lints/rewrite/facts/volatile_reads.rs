//! Whether code may read something `volatile`, of which each read counts: a condition of a loop must be asked as often as before.

use std::collections::BTreeSet;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::{enclosing_function, resolve};
use lmem_unit::{Hides, aliases_in, each_token};

/// Names may lead to initializers with further names.
const MOST_STEPS: usize = 4;

/// Whether an expression says `volatile`, or names a variable or a member whose declaration does, or is made of such a one.
pub fn may_read_volatile(tree: &SyntaxTree, expression: Node<'_>) -> bool {
    reads(tree, expression, MOST_STEPS)
}

fn reads(tree: &SyntaxTree, node: Node<'_>, steps: usize) -> bool {
    let Some(steps) = steps.checked_sub(1) else { return true };
    let mut members = node.descendants().filter(|it| it.kind() == Kind::FieldIdentifier);
    says_volatile(tree, node)
        || tree.identifiers_below(node).into_iter().any(|name| is_of_volatile(tree, name, steps))
        || members.any(|member| is_declared_volatile(tree, member))
}

fn is_of_volatile(tree: &SyntaxTree, name: Node<'_>, steps: usize) -> bool {
    let known = || {
        let all = tree.declarations(enclosing_function(name)?);
        let own = resolve(&all, tree.slice(name), name.start_byte())?;
        let root = tree.root()?;
        let declared = root.named_descendant_for_byte_range(own.range.0, own.range.1)?;
        // What is deduced from an initializer may be a name for it.
        let made_of = own.initializer.filter(|_| own.type_text.contains("auto"));
        let made_of = made_of.and_then(|(start, end)| root.named_descendant_for_byte_range(start, end));
        let is_volatile = declaration(declared).is_some_and(|it| says_volatile(tree, it));
        Some(is_volatile || made_of.is_some_and(|node| reads(tree, node, steps)))
    };
    known().unwrap_or_else(|| is_declared_volatile(tree, name))
}

/// Whether one of the declarations of a name outside of functions, or of a member, says it.
fn is_declared_volatile(tree: &SyntaxTree, name: Node<'_>) -> bool {
    let declared = tree.kept(Declared::of);
    declared.0.contains(tree.slice(name))
}

/// The names that `volatile` declarations give.
struct Declared(BTreeSet<String>);

impl Declared {
    fn of(tree: &SyntaxTree) -> Self {
        let kinds = [Kind::Declaration, Kind::FieldDeclaration];
        let such = tree.nodes_of(&kinds).filter(|it| says_volatile(tree, *it));
        let names = such.flat_map(|it| it.fields(Field::Declarator)).flat_map(|it| it.declared_name().descendants());
        let names = names.filter(|it| matches!(it.kind(), Kind::Identifier | Kind::FieldIdentifier));
        Self(names.map(|it| tree.slice(it).to_string()).collect())
    }
}

/// The declaration or parameter that gives a name.
fn declaration(name: Node<'_>) -> Option<Node<'_>> {
    let kinds = [
        Kind::Declaration,
        Kind::ParameterDeclaration,
        Kind::OptionalParameterDeclaration,
        Kind::ConditionClause,
        Kind::ForRangeLoop,
    ];
    name.ancestors().skip(1).find(|node| kinds.contains(&node.kind()))
}

/// Whether a part of the text has the word, or a name for a type that does.
pub(super) fn says_volatile(tree: &SyntaxTree, node: Node<'_>) -> bool {
    let known = tree.kept(VolatileNames::of);
    let spelled = tree.compiled().compiled(tree.text(), node.byte_range());
    let text = spelled.as_deref().unwrap_or_else(|| tree.slice(node));
    Hides::Volatile.is_in(each_token(text).filter_map(|token| text.get(token.range)), &known.0)
}

/// Names of types that are `volatile`, those of other files too.
struct VolatileNames(BTreeSet<String>);

impl VolatileNames {
    fn of(tree: &SyntaxTree) -> Self {
        let mut names = tree.behaviour_beside().volatiles.clone();
        names.extend(aliases_in(tree.text(), &names, Hides::Volatile));
        Self(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_that_read_what_is_volatile() {
        let head = "typedef volatile int Port; using Ports = Port*; struct Plain { int n; }; struct Device { volatile int n_ports; };\n\
            volatile int outer; __device__ void f(int n, volatile int* v, Ports p, Plain* plain, Device* device, int* q) {\n\
            volatile int own = n; volatile int& other = *v; auto& deduced = *v; int copy = n;\n";
        for (condition, expected) in [
            ("n", false),
            ("copy", false),
            ("plain->n", false),
            ("q[0]", false),
            ("*q", false),
            ("(int)n", false),
            ("*v", true),
            ("v[0]", true),
            ("*p", true),
            ("own", true),
            ("other", true),
            ("deduced", true),
            ("outer", true),
            ("device->n_ports", true),
            ("*(volatile int*)q", true),
            ("*reinterpret_cast<Port*>(q)", true),
        ] {
            let text = format!("{head}    for (int i = 0; i < {condition}; ++i) q[i] = 0;\n}}");
            let tree = SyntaxTree::example("a.cu", &text);
            let node = tree.nodes_of(&[Kind::ForStatement]).next().unwrap();
            let asked = node.field(Field::Condition).unwrap();
            assert_eq!(may_read_volatile(&tree, asked), expected, "{condition}");
        }
    }
}
