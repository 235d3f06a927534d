//! Variables that something changes, or keeps a reference to, without an assignment in the text: operators, conversions and methods of
//! classes, classes that hold what they are made of, functions that get references, references that are not written as such.
//!
//! The ways are too many to list. So it is the other way round: each mention of a variable must stand where its value is taken.

use std::collections::BTreeSet;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Field, Kind, Node, Subscript};
use cuda_syntax::tree::{DeclarationKind, enclosing_function, last_name, resolve};

use super::binding::declares_value;
use super::called::{called as function_of, called_by_subscript};
use super::classes::is_copied_plainly;
use super::evaluation::is_in_lambda;
use super::getter::class_named;
use super::named_type::{NamedType, named_type};
use super::number::{is_number, is_number_type, is_value_type};
use super::operators::{calls_operator, declares_operator, has_conversions};
use super::pointees::is_pointee;
use super::purity::is_pure_call;
use super::sites::{functions_named, head_of};
use super::variables::variable;

/// Whether what stands around the name of a variable may change it unseen, or keep a reference to it: `in >> n`, `c.raise()`, `Span s{n}`.
pub fn may_be_taken(tree: &SyntaxTree, name: Node<'_>) -> bool {
    if is_pointee(tree, name) {
        return false;
    }
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

/// Whether an element is given by an `operator[]` that gets a number by value.
fn is_index_by_value(tree: &SyntaxTree, element: Node<'_>) -> bool {
    let called = Subscript::of(element).and_then(|element| called_by_subscript(tree, element));
    called.is_some_and(|called| called.number(0).is_some())
}

/// The same for an expression that is the variable, or a part of it.
fn is_taken(tree: &SyntaxTree, node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return true };
    let is = |field: Field| parent.field(field) == Some(node);
    let applied = match parent.kind() {
        Kind::SubscriptArgumentList => parent.parent().unwrap_or(parent),
        _ => parent,
    };
    if parent.kind() == Kind::SubscriptArgumentList && is_index_by_value(tree, applied) {
        return false;
    }
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
    if is_copied_with_effect(tree, node, parent) {
        return true;
    }
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
        | Kind::Decltype
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
        // A function of the same name.
        Kind::FunctionDeclarator => false,
        // Its own declaration.
        Kind::Declaration | Kind::ParameterDeclaration | Kind::OptionalParameterDeclaration => {
            // `int z(n);`, and neither `int &z(n);` nor `int z(n), &y(n);`.
            let function = parent.ancestors().find(|it| it.kind() == Kind::FunctionDeclarator);
            let declared = function.and_then(|it| it.parent()).filter(|it| it.kind() == Kind::Declaration);
            let declared = declared.filter(|_| node.kind() == Kind::TypeIdentifier);
            let is_value =
                declared.and_then(|it| it.field(Field::Type)).is_some_and(|it| is_number_type(tree, tree.slice(it)));
            !is_value && !parent.fields(Field::Declarator).any(|it| it == node)
        }
        Kind::InitDeclarator => !is(Field::Declarator) && !holds_value(tree, parent),
        Kind::ArgumentList => match parent.parent() {
            Some(around) if around.kind() == Kind::InitDeclarator => !holds_value(tree, around),
            Some(around) => !takes_value(tree, node, around),
            None => true,
        },
        Kind::InitializerList => {
            let is_list = |it: &Node<'_>| it.kind() == Kind::InitializerList;
            let around = parent.ancestors().skip(1).find(|it| !is_list(it));
            !around.is_some_and(|around| match around.kind() {
                Kind::InitDeclarator => holds_value(tree, around),
                Kind::CompoundLiteralExpression => {
                    around.field(Field::Type).is_some_and(|it| is_plain_holder(tree, tree.slice(it)))
                }
                _ => false,
            })
        }
        _ => true,
    }
}

/// Whether the type of a variable may be a reference though its declaration shows none: `T n` of a template, `Ref n` by another name.
/// Parameters of kernels are values.
pub fn may_be_reference(tree: &SyntaxTree, name: Node<'_>) -> bool {
    let is_object = name
        .parent()
        .is_some_and(|parent| parent.kind() == Kind::FieldExpression && parent.field(Field::Argument) == Some(name));
    let is_of_kernel = || {
        let (function, own) = (enclosing_function(name)?, variable(tree, name)?);
        let head = tree.text().get(function.start_byte()..function.field(Field::Body)?.start_byte())?;
        Some(own.is_parameter && head.contains("__global__"))
    };
    !is_object && !is_number(tree, name) && !is_of_kernel().unwrap_or(false)
}

/// Whether a declaration makes a variable of a value: a number, or an object that is its members alone.
fn holds_value(tree: &SyntaxTree, declarator: Node<'_>) -> bool {
    let name = declarator.field(Field::Declarator).map(Node::kind);
    let type_node = declarator.parent().and_then(|it| it.field(Field::Type));
    if !declares_value(tree, declarator) {
        return false;
    }
    match name {
        Some(Kind::Identifier) => {
            type_node.is_some_and(|it| tree.slice(it) == "auto" || is_plain_holder(tree, tree.slice(it)))
        }
        Some(Kind::ArrayDeclarator) => type_node.is_some_and(|it| is_plain_holder(tree, tree.slice(it))),
        _ => false,
    }
}

/// Whether what is made of numbers has their values, and no constructor gets to see them.
fn is_plain_holder(tree: &SyntaxTree, type_text: &str) -> bool {
    let has_constructor = |class: Node<'_>| {
        let name = class.field(Field::Name).map_or("", |name| tree.slice(name));
        let mut functions = class.descendants().filter(|node| node.kind() == Kind::FunctionDeclarator);
        functions.any(|node| tree.slice(node.declared_name()) == name)
    };
    match named_type(tree, type_text) {
        Some(NamedType::Class(class)) => is_copied_plainly(tree, type_text) && !has_constructor(class.node),
        _ => is_value_type(tree, type_text),
    }
}

/// Whether a call gets the value of an argument, and gives nothing that leads to it.
fn takes_value(tree: &SyntaxTree, argument: Node<'_>, call: Node<'_>) -> bool {
    let Some(called) = Call::of(call).and_then(Call::function) else { return false };
    let text = tree.slice(called);
    let name = last_name(text.split('<').next().unwrap_or(text)).trim();
    // A macro may take the address.
    let is_macro = !tree.compiled().is_verbatim(&called.byte_range());
    let compiled = || tree.compiled().compiled(tree.text(), call.byte_range()).unwrap_or_default();
    if text.contains('&')
        || is_macro && compiled().contains('&')
        || name.contains("addressof")
        || REFERRING.contains(&name)
    {
        return false;
    }
    is_given_by_value(tree, argument) || is_pure_call(tree, call) || is_of_toolkit(tree, called)
}

/// Whether a name stands where the grammar takes it for a type's, as in `auto&& z(static_cast<int&&>(n));`.
pub fn is_taken_for_type(tree: &SyntaxTree, name: &str) -> bool {
    tree.kept(TypeNames::of).0.contains(name)
}

/// The names of types in the bodies of functions.
struct TypeNames(BTreeSet<String>);

impl TypeNames {
    fn of(tree: &SyntaxTree) -> Self {
        let is_inside = |node: &Node<'_>| node.ancestors().any(|it| it.kind() == Kind::CompoundStatement);
        let names = tree.nodes_of(&[Kind::TypeIdentifier]).filter(is_inside);
        // An argument of a variable's constructor is a name.
        let names = names.filter(|node| !tree.named(*node, tree.slice(*node)).any(|name| name == *node));
        Self(names.map(|node| tree.slice(node).to_string()).collect())
    }
}

/// Whether a function is one of CUDA's, which get values and pointers alone: no file of the user's declares it.
fn is_of_toolkit(tree: &SyntaxTree, called: Node<'_>) -> bool {
    let word = tree.slice(called);
    let is_called = |name: Node<'_>| {
        name.parent().and_then(Call::of).and_then(Call::function).is_some_and(|function| function == name)
    };
    called.kind() == Kind::Identifier
        && tree.root().is_some_and(|root| tree.named(root, word).all(is_called))
        && tree.compiled().is_verbatim(&called.byte_range())
        && !tree.declares(word)
        && !tree.is_declared_beside(word)
        && enclosing_function(called).is_some()
        && variable(tree, called).is_none()
}

/// Whether a number is an argument of functions that the text shows to take it by value.
pub fn is_given_by_value(tree: &SyntaxTree, name: Node<'_>) -> bool {
    if name.kind() != Kind::Identifier {
        return is_part_given_by_value(tree, name).unwrap_or(false);
    }
    let given = || {
        let function = enclosing_function(name)?;
        let all = tree.declarations(function);
        let own = resolve(&all, tree.slice(name), name.start_byte())?;
        let list = name.parent().filter(|it| it.kind() == Kind::ArgumentList)?;
        let call = list.parent().and_then(Call::of)?;
        let position = list.named_children().position(|it| it == name)?;
        if own.kind == DeclarationKind::Scalar && function_of(tree, call).and_then(|it| it.number(position)).is_some() {
            return Some(true);
        }
        if own.kind == DeclarationKind::Scalar && is_sum_by_macro(tree, call) {
            return Some(true);
        }
        let called = call.function().filter(|it| it.kind() == Kind::Identifier)?;
        let word = tree.slice(called);
        // An object of that name has an operator of its own, and a macro may do anything.
        let is_function = resolve(&all, word, called.start_byte()).is_none()
            && !tree.is_declared_beside(word)
            && tree.compiled().is_verbatim(&called.byte_range());
        let declared = functions_named(tree, word);
        let is_value = is_pure_call(tree, call.node())
            || !declared.is_empty() && declared.into_iter().all(|it| takes_number_at(tree, it, position));
        Some(own.kind == DeclarationKind::Scalar && is_function && is_value)
    };
    given().unwrap_or(false)
}

/// The same of a part of a variable that is a number: `p.op[i]`.
fn is_part_given_by_value(tree: &SyntaxTree, part: Node<'_>) -> Option<bool> {
    let list = part.parent().filter(|it| it.kind() == Kind::ArgumentList && is_number(tree, part))?;
    let call = list.parent().and_then(Call::of)?;
    let called = call.function().filter(|it| it.kind() == Kind::Identifier && variable(tree, *it).is_none())?;
    let (word, position) = (tree.slice(called), list.named_children().position(|it| it == part)?);
    let declared = functions_named(tree, word);
    let is_function = !tree.is_declared_beside(word) && tree.compiled().is_verbatim(&called.byte_range());
    Some(is_function && !declared.is_empty() && declared.into_iter().all(|it| takes_number_at(tree, it, position)))
}

/// Whether a macro stands for a sum, product or quotient of its arguments, whatever is done with that: `AT(i, j)`.
fn is_sum_by_macro(tree: &SyntaxTree, call: Call<'_>) -> bool {
    let own = tree.macro_of(call.node());
    own.as_ref().and_then(|own| own.expression()).is_some_and(|(_, expression)| {
        let is_arithmetic = |node: Node<'_>| match node.kind() {
            Kind::BinaryExpression => matches!(node.operator(), Some("+" | "-" | "*" | "/" | "%")),
            Kind::ParenthesizedExpression | Kind::Identifier | Kind::NumberLiteral | Kind::Token => true,
            _ => false,
        };
        let is_sum = expression.without_parentheses().kind() == Kind::BinaryExpression;
        // An operator of a class may take a number by reference.
        let is_number = |name: Node<'_>| {
            variable(tree, name).map_or_else(
                || tree.is_fixed(tree.slice(name), name.start_byte()),
                |own| own.kind == DeclarationKind::Scalar,
            )
        };
        let mut given = call.arguments().flat_map(|argument| tree.identifiers(argument));
        is_sum && given.all(is_number) && expression.descendants().all(is_arithmetic)
    })
}

/// Whether a function has a number as its parameter at a position, and neither a reference nor a pointer.
fn takes_number_at(tree: &SyntaxTree, function: Node<'_>, position: usize) -> bool {
    let taken = || {
        let declarator = head_of(function.field(Field::Declarator)?)?;
        let parameter = declarator.field(Field::Parameters)?.parts().nth(position)?;
        let is_named = parameter.field(Field::Declarator).is_none_or(|it| it.kind() == Kind::Identifier);
        Some(is_named && is_number_type(tree, tree.slice(parameter.field(Field::Type)?)))
    };
    taken().unwrap_or(false)
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
            !variable(tree, node).is_some_and(|own| is_copied_plainly(tree, &own.type_text))
        }
        Kind::ForRangeLoop => true,
        _ => false,
    }
}

/// Functions of the standard library that give a reference or a pointer to what they get.
const REFERRING: [&str; 8] = ["tie", "ref", "cref", "forward_as_tuple", "move", "forward", "as_const", "launder"];

/// What such a pointer leads to may be a function.
fn is_pointer_to_member(operator: &str) -> bool {
    matches!(operator, ".*" | "->*")
}

/// Whether an expression is a name of a class's object, not a member or an element.
fn is_whole_object(tree: &SyntaxTree, node: Node<'_>) -> bool {
    node.kind() == Kind::Identifier && variable(tree, node).is_none_or(|own| own.kind == DeclarationKind::Aggregate)
}

/// Whether a method leaves its object as it is: it is `const` wherever the only class of the name declares it, which has nothing `mutable`.
fn is_const_call(tree: &SyntaxTree, object: Node<'_>, called: Node<'_>) -> bool {
    let found = || {
        let own = variable(tree, object)?;
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
                || is_taken_for_type(&tree, name)
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
            ("", "int q(3), &z(m);", "m"),
            ("", "auto &z(m), q = z;", "m"),
            ("", "const int& z(m);", "m"),
            ("using R = int&;", "R (*g)(R) = same; R z = g(m);", "m"),
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
            ("struct C { int* m; }; __device__ C made(int& m);", "C d = made(m);", "m"),
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
