//! Whether what is made of an expression is a value of its own, or another name of it: `T& r = x`, `T& r(x)`, `T& r{x}`, and `Ref r = x` or
//! `decltype(auto) r = x`, whose declarations show no `&`.

use std::collections::BTreeSet;
use std::ops::Range;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Field, Kind, Node, Pointer};
use cuda_syntax::identifiers::identifiers;
use cuda_syntax::tree::{Declaration, DeclarationKind};
use lmem_unit::{Hides, aliases_in, each_token};

use super::named_type::named_type;
use super::number::is_value_type;

/// Whether a declarator with an initializer declares values: no reference to what the initializer names.
pub fn declares_value(tree: &SyntaxTree, initialized: Node<'_>) -> bool {
    let is_value = || {
        let declarator = initialized.field(Field::Declarator)?;
        let type_node = initialized.parent()?.field(Field::Type)?;
        let spelled = tree.compiled().compiled(tree.text(), declarator.byte_range())?;
        Some(!spelled.contains('&') && is_value(tree, type_node.byte_range()))
    };
    initialized.kind() == Kind::InitDeclarator && is_value().unwrap_or(false)
}

/// Whether an assignment is a declaration, which the parser cannot know: `T (&r) = x;`, `T (&r)[4] = x;`.
pub fn is_declaration(assignment: Node<'_>) -> bool {
    let mut left = assignment.field(Field::Left).filter(|_| assignment.kind() == Kind::AssignmentExpression);
    while let Some(subscript) = left.filter(|node| node.kind() == Kind::SubscriptExpression) {
        left = subscript.field(Field::Argument);
    }
    let mut arguments = left.and_then(Call::of).into_iter().flat_map(Call::arguments);
    let is_address = |node: Node<'_>| Pointer::of(node).is_some_and(Pointer::is_address);
    arguments.next().is_some_and(is_address) && arguments.next().is_none()
}

/// Whether the type that is written in a range is none of references.
pub fn is_value(tree: &SyntaxTree, type_range: Range<usize>) -> bool {
    let is_known = || {
        let spelled = tree.compiled().compiled(tree.text(), type_range.clone())?;
        let name = identifiers(spelled.split('<').next()?).filter(|word| !matches!(*word, "const" | "volatile")).last();
        let is_parameter = |name: &str| tree.is_template_parameter(name, type_range.start);
        let is_in_sight = |name: &str| name == "auto" || is_parameter(name) || named_type(tree, name).is_some();
        Some(is_value_type(tree, spelled.trim()) || name.is_some_and(is_in_sight))
    };
    names_no_reference(tree, type_range.clone()) && (tree.knows_beside() || is_known().unwrap_or(false))
}

/// Whether nothing in a part of a declaration may stand for a reference.
pub fn names_no_reference(tree: &SyntaxTree, range: Range<usize>) -> bool {
    let Some(spelled) = tree.compiled().compiled(tree.text(), range.clone()) else { return false };
    let known = tree.kept(ReferenceNames::of);
    let words = || each_token(&spelled).filter_map(|token| spelled.get(token.range));
    // `T` of `T&& one` is a reference where a variable is given.
    let is_forwarded = |word: &str| {
        (known.has_arguments || known.forwarded.contains(word)) && tree.is_template_parameter(word, range.start)
    };
    !Hides::Reference.is_in(words(), &known.aliases) && !words().any(is_forwarded)
}

/// Whether nothing before the name of a variable in its declaration may make it another name of something: `int& n`, `Ref n`,
/// `auto& [n, m]`.
pub fn is_own_value(tree: &SyntaxTree, own: &Declaration) -> bool {
    let declared = || {
        let name = tree.root()?.named_descendant_for_byte_range(own.range.0, own.range.1)?;
        let type_node = name.ancestors().skip(1).find_map(|node| node.field(Field::Type))?;
        (type_node.start_byte() < own.range.0).then_some(type_node.start_byte()..own.range.0)
    };
    own.kind != DeclarationKind::Alias && declared().is_some_and(|range| names_no_reference(tree, range))
}

/// What in a text may stand for a type of references.
struct ReferenceNames {
    /// Aliases, those of other files too.
    aliases: BTreeSet<String>,
    /// `T` of `T&& one`: more than parameters of templates.
    forwarded: BTreeSet<String>,
    /// Whether a template is given such a type: `get<int&>()`.
    has_arguments: bool,
}

impl ReferenceNames {
    fn of(tree: &SyntaxTree) -> Self {
        let text = tree.text();
        let mut aliases = tree.behaviour_beside().references.clone();
        aliases.extend(aliases_in(text, &aliases, Hides::Reference));
        let (mut forwarded, mut has_arguments) = (BTreeSet::new(), false);
        let mut last = "";
        for token in each_token(text) {
            let word = text.get(token.range).unwrap_or("");
            if word == "&&" && last.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                forwarded.insert(last.to_string());
            }
            has_arguments |= matches!(last, "&" | "&&") && word.starts_with('>');
            last = word;
        }
        Self { aliases, forwarded, has_arguments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_unit::Beside;

    const HEAD: &str = "struct Plain { int n; }; using Number = float; using Ref = Number&; typedef int& Old;\n\
        template <class T> struct Row { using reference = T&; };\n#define NAME int&\n\
        template <class T, class F> __device__ int call(F&& f, int a, int b[8], int c[4][8]) { ";

    /// Whether the only declarator of a statement with an initializer declares values.
    #[track_caller]
    fn check(statement: &str, expected: bool) {
        let text = format!("{HEAD}{statement} }}");
        let tree = SyntaxTree::example("a.cu", &text).with_beside(Beside { is_known: true, ..Beside::default() });
        let node = tree.nodes_of(&[Kind::InitDeclarator]).last().expect(statement);
        assert_eq!(declares_value(&tree, node), expected, "{statement} {:?}", tree.slice(node));
    }

    #[test]
    fn declarations_in_parentheses() {
        for (statement, expected) in [
            ("int (&x) = a;", true),
            ("T (&x)[8] = c[a];", true),
            ("at(a) = 1;", false),
            ("at(a, &a) = 1;", false),
            ("a = f(&a);", false),
        ] {
            let text = format!("{HEAD}{statement} }}");
            let tree = SyntaxTree::example("a.cu", &text);
            let found = tree.nodes_of(&[Kind::AssignmentExpression]).next().is_some_and(is_declaration);
            assert_eq!(found, expected, "{statement}");
        }
    }

    #[test]
    fn what_a_declaration_makes() {
        for value in [
            "int x = a;",
            "int x(2 * a);",
            "int x{a};",
            "auto x = a;",
            "const auto x = a;",
            "T x = a;",
            "Plain x{a};",
            "Number x = a;",
            "int* x = b;",
            "int x[2] = {a, a};",
            "auto [x, y] = two(a);",
            "unsigned long x = a;",
            "std::pair<int, int> x{a, a};",
        ] {
            check(value, true);
        }
        for reference in [
            "int& x = a;",
            "int& x{(a)};",
            "int& x{a};",
            "const int &x = {a};",
            "auto&& x = a;",
            "int* &x = b;",
            "auto& [x, y] = c[a];",
            "Ref x = a;",
            "Old x(b[0] + 0);",
            "decltype(auto) x = a;",
            "decltype((a)) x = a;",
            "F x = f;",
            "Row<int>::reference x = a;",
            "std::add_lvalue_reference_t<int> x = a;",
            "NAME x = a;",
            "std::conditional_t<true, int&, int> x = a;",
            "std::tuple<int&> x{a};",
            "std::reference_wrapper<int> x = a;",
            "using Own = Row<int>::reference; using Other = Own; Other x = a;",
        ] {
            check(reference, false);
        }
        // What a text includes that nobody has read may declare any type.
        let tree = SyntaxTree::example("a.cu", "__device__ void f(int a) { Elsewhere x = a; }");
        let node = tree.nodes_of(&[Kind::InitDeclarator]).next().unwrap();
        assert!(!declares_value(&tree, node));
        // Such an argument may be that of any template.
        let text =
            "template <class T> int of(int a) { T x = a; return x; } __global__ void k(int* p) { *p = of<int&>(*p); }";
        let tree = SyntaxTree::example("a.cu", text);
        let node = tree.nodes_of(&[Kind::InitDeclarator]).next().unwrap();
        assert!(!declares_value(&tree, node));
    }
}
