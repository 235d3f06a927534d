//! Types with a trivial default constructor, as far as the text shows it.
//!
//! Variables in shared memory are not constructed: nvcc only warns if a constructor would have an effect. An empty
//! constructor has none.

use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::identifiers::occurrences;
use cuda_syntax::{SyntaxTree, types};

use super::named_type::{Class, NamedType, named_type};

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
    is_plain(tree, type_text, argument).then(|| alignment_of(tree, type_text, argument))?
}

/// The alignment of a type, if the text shows it; it may have constructors.
pub fn alignment_of(tree: &SyntaxTree, type_text: &str, argument: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    alignment_within(tree, type_text, argument, MAX_STEPS)
}

fn name_of(type_text: &str) -> String {
    let is_of_name = |word: &&str| !matches!(*word, "struct" | "enum" | "typename");
    type_text.split_whitespace().filter(is_of_name).collect::<Vec<_>>().join(" ")
}

/// The largest alignment of a type's members and bases. `alignas` is not followed.
fn alignment_within(
    tree: &SyntaxTree,
    type_text: &str,
    argument: &dyn Fn(&str) -> Option<String>,
    steps: usize,
) -> Option<u64> {
    let steps = steps.checked_sub(1)?;
    let name = name_of(type_text);
    if let Some((component, whole)) = types::shape(&name) {
        return Some(if whole.is_power_of_two() { whole } else { component });
    }
    if let Some(argument) = argument(&name) {
        return alignment_within(tree, &argument, &|_| None, steps);
    }
    match named_type(tree, &name)? {
        NamedType::Enumeration => None,
        NamedType::Alias(other) => alignment_within(tree, &other, argument, steps),
        NamedType::Class(class) if tree.slice(class.node).contains("align") => None,
        NamedType::Class(class) => {
            let of_type = |text: &str| alignment_within(tree, text, argument, steps);
            let of_bases = class.bases(tree)?.iter().try_fold(1, |most: u64, base| Some(most.max(of_type(base)?)))?;
            let of_members = alignment_of_members(tree, &class, class.node.field(Field::Body)?, &of_type)?;
            Some(of_bases.max(of_members))
        }
    }
}

fn alignment_of_members(
    tree: &SyntaxTree,
    class: &Class<'_>,
    body: Node<'_>,
    of_type: &dyn Fn(&str) -> Option<u64>,
) -> Option<u64> {
    let mut largest = 1;
    let members = body.named_children().filter(|it| it.kind() == Kind::FieldDeclaration && !is_static(tree, *it));
    for member in members {
        let type_node = member.field(Field::Type)?;
        if member.field(Field::Declarator).is_none() {
            let unnamed = type_node.field(Field::Body).filter(|_| type_node.field(Field::Name).is_none());
            largest = largest.max(unnamed.map_or(Some(1), |body| alignment_of_members(tree, class, body, of_type))?);
        }
        for declarator in member.fields(Field::Declarator) {
            let own = match declarator.kind() {
                Kind::FunctionDeclarator if is_function(declarator) => continue,
                Kind::PointerDeclarator | Kind::FunctionDeclarator => POINTER_BYTES,
                _ => of_type(&class.spelled(tree, type_node))?,
            };
            largest = largest.max(own);
        }
    }
    Some(largest)
}

fn is_plain_within(
    tree: &SyntaxTree,
    type_text: &str,
    argument: &dyn Fn(&str) -> Option<String>,
    steps: usize,
) -> bool {
    let name = name_of(type_text);
    if types::size_of(&name).is_some() {
        return true;
    }
    let Some(steps) = steps.checked_sub(1) else { return false };
    if let Some(argument) = argument(&name) {
        return is_plain_within(tree, &argument, &|_| None, steps);
    }
    let is_plain = |text: &str| is_plain_within(tree, text, argument, steps);
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

/// Whether all members are trivially constructible, none has a default initializer or is virtual, and no constructor or
/// destructor is written.
fn has_plain_members(tree: &SyntaxTree, class: &Class<'_>, body: Node<'_>, is_plain: &dyn Fn(&str) -> bool) -> bool {
    body.named_children().all(|member| match member.kind() {
        Kind::Comment | Kind::AccessSpecifier | Kind::AliasDeclaration | Kind::TypeDefinition => true,
        Kind::FieldDeclaration if is_static(tree, member) => true,
        Kind::FieldDeclaration => is_plain_field(tree, class, member, is_plain),
        Kind::FunctionDefinition | Kind::Declaration => is_plain_function(tree, class, member),
        Kind::TemplateDeclaration => member.named_children().all(|it| is_plain_template(tree, class, it)),
        _ => is_assertion(tree, member),
    })
}

fn is_plain_field(tree: &SyntaxTree, class: &Class<'_>, member: Node<'_>, is_plain: &dyn Fn(&str) -> bool) -> bool {
    let Some(type_node) = member.field(Field::Type) else { return false };
    let mut declarators = member.fields(Field::Declarator).peekable();
    if declarators.peek().is_none() {
        // A type of its own, or members without a name of their own.
        let Some(body) = type_node.field(Field::Body) else { return false };
        let is_named = type_node.field(Field::Name).is_some();
        return is_named || has_plain_members(tree, class, body, is_plain);
    }
    let is_fit = |declarator: Node<'_>| match declarator.kind() {
        Kind::PointerDeclarator | Kind::FunctionDeclarator => true,
        _ => is_plain(&class.spelled(tree, type_node)),
    };
    member.field(Field::DefaultValue).is_none() && !is_virtual(tree, member) && declarators.all(is_fit)
}

/// Whether a function is not virtual, no destructor, and no constructor that a variable without an initializer would
/// run to an effect.
fn is_plain_function(tree: &SyntaxTree, class: &Class<'_>, function: Node<'_>) -> bool {
    let Some(declarator) = function.field(Field::Declarator).filter(|_| !is_virtual(tree, function)) else {
        return false;
    };
    let called = tree.slice(declarator.declared_name());
    let is_special = called.trim_start_matches('~') == class.name;
    let is_default = tree.slice(function).trim_end_matches([';', ' ']).ends_with("default");
    !is_special
        || is_default
        || (called == class.name && (takes_arguments(tree, declarator) || is_empty(tree, function)))
}

/// Whether a function cannot be called without arguments.
fn takes_arguments(tree: &SyntaxTree, declarator: Node<'_>) -> bool {
    let parameters = declarator.field(Field::Parameters);
    let first = parameters.and_then(|list| list.named_children().find(|it| it.kind() != Kind::Comment));
    first.is_some_and(|first| first.kind() == Kind::ParameterDeclaration && tree.slice(first) != "void")
}

/// Whether a function's body is `{}`, with no initializers before it.
fn is_empty(tree: &SyntaxTree, function: Node<'_>) -> bool {
    let Some((declarator, body)) = function.field(Field::Declarator).zip(function.field(Field::Body)) else {
        return false;
    };
    let between = tree.text().get(declarator.end_byte()..body.start_byte());
    let is_comment = |node: Node<'_>| node.kind() == Kind::Comment;
    between.is_some_and(|text| text.trim().is_empty()) && body.named_children().all(is_comment)
}

/// Whether a class has constructors of its own, besides those that the compiler writes.
pub fn has_constructors(tree: &SyntaxTree, type_text: &str) -> bool {
    has_constructors_within(tree, type_text, MAX_STEPS)
}

fn has_constructors_within(tree: &SyntaxTree, type_text: &str, steps: usize) -> bool {
    let Some(steps) = steps.checked_sub(1) else { return true };
    match named_type(tree, &name_of(type_text)) {
        Some(NamedType::Alias(other)) => has_constructors_within(tree, &other, steps),
        Some(NamedType::Class(class)) => class.node.field(Field::Body).is_some_and(|body| {
            body.named_children().any(|member| {
                let declarator = member.field(Field::Declarator);
                declarator.is_some_and(|it| tree.slice(it.declared_name()) == class.name)
            })
        }),
        _ => false,
    }
}

/// Whether a part of a template in the class is no function, or one that is no constructor: it may take a pack.
fn is_plain_template(tree: &SyntaxTree, class: &Class<'_>, part: Node<'_>) -> bool {
    match part.kind() {
        Kind::FunctionDefinition => {
            let declarator = part.field(Field::Declarator);
            let is_other = |it: Node<'_>| tree.slice(it.declared_name()) != class.name;
            declarator.is_some_and(is_other) && is_plain_function(tree, class, part)
        }
        kind => kind != Kind::Declaration,
    }
}

/// Whether a declarator is that of a function, not of a pointer to one.
fn is_function(declarator: Node<'_>) -> bool {
    declarator.field(Field::Declarator).is_some_and(|called| called.kind() != Kind::ParenthesizedDeclarator)
}

/// Whether a member is virtual: `__device__ virtual float area() const`.
pub(super) fn is_virtual(tree: &SyntaxTree, member: Node<'_>) -> bool {
    has_specifier(tree, member, "virtual")
}

/// `static_assert(N > 0);`
pub(super) fn is_assertion(tree: &SyntaxTree, member: Node<'_>) -> bool {
    tree.slice(member).starts_with("static_assert")
}

fn is_static(tree: &SyntaxTree, member: Node<'_>) -> bool {
    has_specifier(tree, member, "static")
}

/// Whether a word stands before the declarator.
fn has_specifier(tree: &SyntaxTree, member: Node<'_>, word: &str) -> bool {
    let end = member.field(Field::Declarator).map_or(member.start_byte(), |it| it.start_byte());
    let head = tree.text().get(member.start_byte()..end).unwrap_or_default();
    occurrences(head, word).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
struct Point { float x, y; __device__ float sum() const { return x + y; } };
template <int N, typename T = float> struct Stack { T items[N]; int top; __device__ void push(T item) { items[top++] = item; } };
template <typename T> using Eight = Stack<8, T>;
struct Named { struct Entry { double at; int id; }; Entry e[4]; int n; };
struct Sized { static constexpr int N = 8; static_assert(N % 2 == 0); float v[N]; };
struct Unnamed { union { int i; double d; }; int tag; };
struct Derived : Point { int more; };
struct Generic { int n; template <typename T> __device__ T get(T t) const { return t + n; } };
struct Callback { float (*apply)(float); int n; };
struct Empty { int n; __device__ Empty() {} __device__ Empty(int n) : n(n) {} };
struct Defaulted { int n; Defaulted() = default; ~Defaulted() = default; __device__ Defaulted(int m); };
struct Default { int n = 0; };
struct Optional { int n; __device__ Optional(int m = 3) : n(m) {} };
struct Initial { int n; __device__ Initial() : n(0) {} };
struct Commented { int n; __device__ Commented() { /* n stays */ n = 1; } };
struct Second { int *p, n = 0; };
struct Made { int n; __device__ Made() : n(0) {} };
struct Declared { int n; __device__ Declared(); };
struct Freed { int n; __device__ ~Freed() { n = 0; } };
struct Shape { int n; __device__ virtual float area() const { return 0; } };
struct Abstract { int n; virtual float area() const = 0; };
struct Holder { int n; Made made; };
struct Pointers { Made *all, one; };
struct Inner { union { int i; Default d; }; };
struct Above : Made { int more; };
struct Templated { int n; template <typename T> __device__ Templated(T t) : n(t) {} };
";

    #[test]
    fn trivially_constructible_types() {
        let tree = SyntaxTree::example("a.cu", TEXT);
        let none = |_: &str| None;
        for (name, bytes) in [
            ("Point", 4),
            ("Stack<8>", 4),
            ("Stack<2, double>", 8),
            ("Stack<2, Point>", 4),
            ("Eight<short>", 4),
            ("Named", 8),
            ("Sized", 4),
            ("Unnamed", 8),
            ("Derived", 4),
            ("Generic", 4),
            ("Callback", 8),
            ("Empty", 4),
            ("Defaulted", 4),
        ] {
            assert_eq!(alignment(&tree, name, &none), Some(bytes), "{name}");
        }
    }

    #[test]
    fn constructors_in_any_form_are_not_plain() {
        let tree = SyntaxTree::example("a.cu", TEXT);
        for name in [
            "Default",
            "Second",
            "Made",
            "Declared",
            "Freed",
            "Shape",
            "Abstract",
            "Holder",
            "Pointers",
            "Inner",
            "Above",
            "Templated",
            "Optional",
            "Initial",
            "Commented",
            "Stack<2, Made>",
            "Eight<Default>",
            "Stack",
            "Unknown",
        ] {
            assert!(!is_plain(&tree, name, &|_| None), "{name}");
        }
    }

    #[test]
    fn parameters_of_a_kernel_stand_for_their_arguments() {
        let tree = SyntaxTree::example("a.cu", TEXT);
        let argument = |name: &str| (name == "S").then(|| "Made".to_string());
        assert!(!is_plain(&tree, "S", &argument));
        assert!(!is_plain(&tree, "Stack<4, S>", &argument));
        let argument = |name: &str| (name == "S").then(|| "Point".to_string());
        assert!(is_plain(&tree, "S", &argument) && is_plain(&tree, "Stack<4, S>", &argument));
    }
}
