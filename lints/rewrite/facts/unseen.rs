//! Variables that something changes, or keeps a reference to, without an assignment in the text: operators, conversions and methods of
//! classes, and classes that hold what they are made of.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Field, Kind, Node};
use cuda_syntax::tree::{DeclarationKind, enclosing_function, last_name, resolve};

use super::classes::is_copied_plainly;
use super::evaluation::{is_in_lambda, is_value_argument};
use super::getter::class_named;
use super::named_type::{NamedType, named_type};
use super::number::{is_number, is_number_type};
use super::operators::{calls_operator, declares_operator, has_conversions};
use super::taken::may_keep_references;

/// Whether what stands around the name of a variable may change it unseen, or keep a reference to it: `in >> n`, `c.raise()`, `Span s{n}`.
pub fn may_be_taken(tree: &SyntaxTree, name: Node<'_>) -> bool {
    let mut node = name;
    while let Some(parent) = node.parent() {
        match parent.kind() {
            Kind::FieldExpression if parent.field(Field::Argument) == Some(node) => {
                let whole = parent.with_parentheses();
                let is_called = whole.parent().and_then(Call::of).is_some_and(|it| it.function() == Some(whole));
                if is_called && node == name {
                    return !is_const_call(tree, name, parent);
                }
                if is_called || parent.operator().is_some_and(is_pointer_to_member) || calls_operator(tree, parent) {
                    return true;
                }
            }
            Kind::SubscriptExpression if parent.field(Field::Argument) == Some(node) => {
                if calls_operator(tree, parent) {
                    return true;
                }
            }
            Kind::ParenthesizedExpression => {}
            _ => break,
        }
        node = parent;
    }
    is_taken(tree, node)
}

/// The same for an expression that is the variable, or a part of it.
fn is_taken(tree: &SyntaxTree, node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return true };
    let is = |field: Field| parent.field(field) == Some(node);
    let applied = match parent.kind() {
        Kind::SubscriptArgumentList => parent.parent().unwrap_or(parent),
        _ => parent,
    };
    // Of a class with an `operator()` or a conversion, the object may do anything where it is named.
    let is_object = !is_number(tree, node) && (is(Field::Function) || has_conversions(tree));
    if applied.operator().is_some_and(is_pointer_to_member)
        || calls_operator(tree, applied)
        || (is_object && is_whole_object(tree, node))
    {
        return true;
    }
    if matches!(parent.kind(), Kind::ParenthesizedExpression | Kind::CommaExpression) {
        return is_taken(tree, parent);
    }
    if is_copied_with_effect(tree, node, parent) || is_bound_by_name(tree, node, parent) {
        return true;
    }
    if !may_keep_references(tree) {
        return false;
    }
    let is_of_number = |declaration: Option<Node<'_>>| {
        let type_node = declaration.and_then(|it| it.field(Field::Type));
        type_node.is_some_and(|it| {
            tree.slice(it) == "auto" && parent.kind() == Kind::InitDeclarator || is_number_type(tree, tree.slice(it))
        })
    };
    match parent.kind() {
        Kind::BinaryExpression
        | Kind::UnaryExpression
        | Kind::PointerExpression
        | Kind::UpdateExpression
        | Kind::SubscriptArgumentList
        | Kind::ConditionClause
        | Kind::ExpressionStatement
        | Kind::CaseStatement
        | Kind::SizeofExpression
        | Kind::WhileStatement
        | Kind::DoStatement
        | Kind::ForStatement => false,
        Kind::ReturnStatement => is_in_lambda(parent),
        Kind::AssignmentExpression => {
            !is(Field::Left) && !parent.field(Field::Left).is_some_and(|it| is_number(tree, it))
        }
        Kind::ConditionalExpression => !is(Field::Condition) && is_taken(tree, parent),
        Kind::CastExpression => {
            let to = parent.field(Field::Type).map_or("&", |it| tree.slice(it));
            to.contains('&') || !is_number_type(tree, to)
        }
        Kind::InitDeclarator => {
            let is_variable = parent.field(Field::Declarator).is_some_and(|it| it.kind() == Kind::Identifier);
            !(is_variable && is_of_number(parent.parent()))
        }
        Kind::ArgumentList | Kind::InitializerList => {
            let around = parent.parent();
            let declared = around.filter(|it| it.kind() == Kind::InitDeclarator).and_then(|it| it.parent());
            match declared {
                Some(declaration) => !is_of_number(Some(declaration)),
                None => !is_value_argument(tree, parent),
            }
        }
        _ => true,
    }
}

/// Whether an object is copied or assigned by a function of its class, or walked through, which may write it.
fn is_copied_with_effect(tree: &SyntaxTree, node: Node<'_>, parent: Node<'_>) -> bool {
    let is_right = parent.field(Field::Left) != Some(node);
    match parent.kind() {
        Kind::AssignmentExpression if is_right => {
            let is_declared = parent.operator().is_some_and(|symbol| declares_operator(tree, symbol));
            is_declared && !parent.field(Field::Left).is_some_and(|left| is_number(tree, left))
        }
        Kind::InitDeclarator | Kind::InitializerList if is_whole_object(tree, node) => {
            let type_of = || {
                let all = tree.declarations(enclosing_function(node)?);
                Some(resolve(&all, tree.slice(node), node.start_byte())?.type_text.clone())
            };
            !type_of().is_some_and(|text| is_copied_plainly(tree, &text))
        }
        Kind::ForRangeLoop => true,
        _ => false,
    }
}

/// Functions of the standard library that give a reference or a pointer to what they get.
const REFERRING: [&str; 10] =
    ["tie", "ref", "cref", "forward_as_tuple", "addressof", "__addressof", "move", "forward", "as_const", "launder"];

/// Whether a reference is bound where none is seen: by the name of a type, `using R = int&; R z = n;`, or by a function that gives one.
fn is_bound_by_name(tree: &SyntaxTree, node: Node<'_>, parent: Node<'_>) -> bool {
    let value = match parent.kind() {
        Kind::InitDeclarator => Some(parent),
        Kind::ArgumentList | Kind::InitializerList => parent.parent().filter(|it| it.kind() == Kind::InitDeclarator),
        _ => None,
    };
    if let Some(type_node) = value.and_then(|it| it.parent()).and_then(|it| it.field(Field::Type)) {
        let text = tree.slice(type_node);
        let is_class = || matches!(named_type(tree, text), Some(NamedType::Class(_)));
        return parent.field(Field::Value).is_none_or(|value| value == node)
            && text != "auto"
            && !is_number_type(tree, text)
            && !is_class();
    }
    let called = parent.parent().filter(|_| parent.kind() == Kind::ArgumentList).and_then(Call::of);
    let called = called.and_then(Call::function).map(|it| last_name(tree.slice(it)));
    called.is_some_and(|name| REFERRING.contains(&name.split('<').next().unwrap_or(name).trim()))
}

/// What such a pointer leads to may be a function.
fn is_pointer_to_member(operator: &str) -> bool {
    matches!(operator, ".*" | "->*")
}

/// Whether an expression is a name of a class's object, not a member or an element.
fn is_whole_object(tree: &SyntaxTree, node: Node<'_>) -> bool {
    let kind = || {
        let all = tree.declarations(enclosing_function(node)?);
        Some(resolve(&all, tree.slice(node), node.start_byte())?.kind)
    };
    node.kind() == Kind::Identifier && kind().is_none_or(|kind| kind == DeclarationKind::Aggregate)
}

/// Whether a method leaves its object as it is: it is `const` wherever the only class of the name declares it, which has nothing `mutable`.
fn is_const_call(tree: &SyntaxTree, object: Node<'_>, called: Node<'_>) -> bool {
    let found = || {
        let all = tree.declarations(enclosing_function(object)?);
        let own = resolve(&all, tree.slice(object), object.start_byte())?;
        let class = class_named(tree, own.type_text.trim_start_matches("const ").split('<').next()?)?;
        let method = tree.slice(called.field(Field::Field)?);
        let body = class.field(Field::Body)?;
        let text = tree.slice(class);
        let is_plain = !["mutable", "const_cast", "reinterpret_cast"].iter().any(|word| text.contains(word));
        let mut declared = body
            .descendants()
            .filter(|node| node.kind() == Kind::FunctionDeclarator)
            .filter(|node| tree.slice(node.declared_name()) == method)
            .peekable();
        declared.peek()?;
        let is_const = |node: Node<'_>| node.children().any(|part| tree.slice(part) == "const");
        Some(is_plain && declared.all(is_const))
    };
    found().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_where_classes_may_change_them() {
        let taken = |head: &str, statement: &str, name: &str| {
            let text =
                format!("{head}\n__global__ void k(const int* in, int n, C c) {{ int m = n, x = 0; {statement} }}\n");
            let tree = SyntaxTree::example("a.cu", &text);
            let at = text.find(statement).unwrap();
            let root = tree.root().unwrap();
            tree.named(root, name)
                .filter(|node| (at..at + statement.len()).contains(&node.start_byte()))
                .any(|node| may_be_taken(&tree, node))
        };
        let class = "struct C { int m; __device__ void up(int n); __device__ int at(int i) const { return m; } };";
        let converting = "struct C { int m; __device__ operator int() { return m++; } };";
        let reading = "struct C { int m; }; __device__ void operator>>(C c, int& m);";
        let keeping = "struct C { int& m; __device__ void up(int n); };";
        for (head, statement, name) in [
            (class, "c.up(n);", "c"),
            (class, "x += c.up(n);", "c"),
            (class, "(c.up)(n);", "c"),
            (class, "auto f = &C::up; (c.*f)(n);", "c"),
            (converting, "x = c;", "c"),
            (converting, "if (c) x = 1;", "c"),
            (converting, "x = in[c];", "c"),
            (converting, "x = (int)c;", "c"),
            ("struct C { int m; __device__ int operator()(int n) { return m++; } };", "x = c(n);", "c"),
            ("struct C { int m; __device__ C& operator-() { ++m; return *this; } };", "-c;", "c"),
            ("struct C { int m; }; __device__ int operator,(C& c, int n);", "x = (c, n);", "c"),
            (reading, "c >> m;", "m"),
            ("using R = int&;", "R z = m;", "m"),
            ("template <class T> using R = T&;", "R<int> z = m;", "m"),
            ("", "decltype(auto) z = (m);", "m"),
            ("", "decltype((m)) z = m;", "m"),
            ("", "auto both = std::tie(m, x);", "m"),
            ("struct C { int m; C(C& other) { other.m += 3; } };", "C d = c;", "c"),
            (
                "struct C { int m; C& operator=(C& other) { other.m += 3; return *this; } }; __device__ C d;",
                "d = c;",
                "c",
            ),
            (keeping, "C d{m};", "m"),
            (keeping, "C d = m;", "m"),
            (keeping, "C d = made(m);", "m"),
            (keeping, "C d = x ? m : n;", "m"),
            (keeping, "c = m;", "m"),
            ("struct C { int m; __device__ int operator[](int& i) { return i++; } };", "x = c[m];", "m"),
        ] {
            assert!(taken(head, statement, name), "{head} {statement}");
        }
        for (head, statement, name) in [
            (class, "x = c.at(n);", "c"),
            (class, "x = c.m + in[c.m];", "c"),
            (class, "C d = c; auto e = c;", "c"),
            ("", "const int y = m; int z(m); unsigned long long w = m;", "m"),
            (class, "x = made(m) + in[m];", "m"),
            (reading, "x = m + in[m] * (m - 1);", "m"),
            (keeping, "int y = m; x = m; if (m > 3) x = min(m, 4);", "m"),
            (keeping, "for (int i = 0; i < m; ++i) x += in[i];", "m"),
            (keeping, "auto y = m; int z{m}; float w = float(m);", "m"),
        ] {
            assert!(!taken(head, statement, name), "{head} {statement}");
        }
    }
}
