//! Classes whose values are copied member by member, and members that a variable of their own can stand for.

use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::identifiers::{identifiers, occurrences};
use cuda_syntax::tree::enclosing_function;
use cuda_syntax::{SyntaxTree, types};

use super::named_type::{Class, NamedType, named_type};
use super::plain_type::{is_assertion, is_virtual};
use super::volatile_reads::says_volatile;

/// Limit on nested classes and on type aliases.
const MAX_STEPS: usize = 6;

/// Whether a copy of a value is another value with the same bits, and nothing else happens where it is copied, assigned
/// or destroyed. A class that the text does not define may do anything.
pub fn is_copied_plainly(tree: &SyntaxTree, type_text: &str) -> bool {
    is_copied_within(tree, type_text, MAX_STEPS)
}

fn is_copied_within(tree: &SyntaxTree, type_text: &str, steps: usize) -> bool {
    let Some(steps) = steps.checked_sub(1) else { return false };
    let words: Vec<&str> =
        type_text.split_whitespace().filter(|word| !matches!(*word, "struct" | "enum" | "const")).collect();
    let name = words.join(" ");
    let is_plain = |text: &str| is_copied_within(tree, text, steps);
    match named_type(tree, &name) {
        _ if types::size_of(&name).is_some() => true,
        Some(NamedType::Enumeration) => true,
        Some(NamedType::Alias(other)) => is_plain(&other),
        Some(NamedType::Class(class)) => is_plain_class(tree, &class, &is_plain),
        None => false,
    }
}

fn is_plain_class(tree: &SyntaxTree, class: &Class<'_>, is_plain: &dyn Fn(&str) -> bool) -> bool {
    let has_plain_bases = class.bases(tree).is_some_and(|bases| bases.iter().all(|base| is_plain(base)));
    let body = class.node.field(Field::Body);
    has_plain_bases && body.is_some_and(|body| has_plain_members(tree, class, body, is_plain))
}

fn has_plain_members(tree: &SyntaxTree, class: &Class<'_>, body: Node<'_>, is_plain: &dyn Fn(&str) -> bool) -> bool {
    body.named_children().all(|member| match member.kind() {
        Kind::FieldDeclaration => {
            let Some(type_node) = member.field(Field::Type) else { return false };
            let mut declarators = member.fields(Field::Declarator).peekable();
            if declarators.peek().is_none() {
                // A type of its own, or members without a name of their own.
                let Some(body) = type_node.field(Field::Body) else { return false };
                return type_node.field(Field::Name).is_some() || has_plain_members(tree, class, body, is_plain);
            }
            declarators.all(|it| match it.kind() {
                Kind::FunctionDeclarator => !is_special(tree, class, it) && !is_virtual(tree, member),
                Kind::PointerDeclarator => true,
                Kind::ReferenceDeclarator => false,
                _ => is_plain(&class.spelled(tree, type_node)),
            }) && !says_volatile(tree, member)
        }
        Kind::FunctionDefinition | Kind::Declaration => {
            let declarator = member.field(Field::Declarator);
            declarator.is_some_and(|it| !is_special(tree, class, it)) && !is_virtual(tree, member)
        }
        Kind::Comment | Kind::AccessSpecifier | Kind::AliasDeclaration | Kind::TypeDefinition => true,
        _ => is_assertion(tree, member),
    })
}

/// Whether a function is an assignment, a destructor, or a constructor that takes a value of the class.
fn is_special(tree: &SyntaxTree, class: &Class<'_>, declarator: Node<'_>) -> bool {
    let name = tree.slice(declarator.declared_name());
    let text: String = tree.slice(declarator).split_whitespace().collect();
    let parameters = tree.slice(declarator).split_once('(').map_or("", |(_, parameters)| parameters);
    let takes_own = occurrences(parameters, &class.name).next().is_some();
    name.starts_with('~') || text.contains("operator=(") || (name == class.name && takes_own)
}

/// Whether a member of a class is a number, a pointer or a plainly copied class of its own. A bit-field is narrower than
/// its type, a member of a union shares its bytes with others.
pub fn is_plain_member(tree: &SyntaxTree, class_text: &str, member: &str) -> bool {
    let name = class_text.split_whitespace().filter(|word| !matches!(*word, "struct" | "const")).collect::<Vec<_>>();
    let Some(NamedType::Class(found)) = named_type(tree, &name.join(" ")) else { return false };
    let class = found.node;
    let is_packed = ["align", "packed"].iter().any(|word| tree.slice(class).contains(word))
        || (tree.text().contains("pragma pack") || tree.text().contains("_Pragma"));
    if !matches!(class.kind(), Kind::StructSpecifier | Kind::ClassSpecifier) || is_packed {
        return false;
    }
    let members = class.field(Field::Body).into_iter().flat_map(Node::named_children);
    let mut own = members.filter(|it| it.kind() == Kind::FieldDeclaration).filter_map(|declaration| {
        let mut names = declaration.fields(Field::Declarator);
        names.find(|it| tree.slice(it.declared_name()) == member).map(|named| (declaration, named))
    });
    let Some((declaration, named)) = own.next() else { return false };
    let words = tree.slice(declaration);
    let is_value = declaration.field(Field::Type).is_some_and(|it| {
        it.field(Field::Body).is_none()
            && it.kind() != Kind::Decltype
            && is_copied_plainly(tree, &found.spelled(tree, it))
    });
    let is_changed = ["volatile", "static", "mutable", ":"].iter().any(|word| words.contains(word));
    match named.kind() {
        Kind::FieldIdentifier => is_value && !is_changed,
        Kind::PointerDeclarator => {
            let is_simple = named.named_children().all(|child| tree.slice(child) != "volatile");
            is_simple && !tree.slice(named).contains(['[', '(']) && !is_changed
        }
        _ => false,
    }
}

/// The name in the declaration of the member that a name in a method stands for: the class around declares it once.
pub fn member_here<'t>(tree: &'t SyntaxTree, name: Node<'t>) -> Option<Node<'t>> {
    let class = class_around(enclosing_function(name)?)?;
    let mut found = members_named(tree, class, tree.slice(name));
    found.next().filter(|_| found.next().is_none())
}

/// The same for a member that is an array.
pub fn member_array<'t>(tree: &'t SyntaxTree, name: Node<'t>) -> Option<Node<'t>> {
    let only = member_here(tree, name)?;
    let class = class_around(only)?;
    let is_array = only.parent().is_some_and(|it| it.kind() == Kind::ArrayDeclarator);
    let declaration = only.enclosing(Kind::FieldDeclaration)?;
    let head = tree.text().get(declaration.start_byte()..only.start_byte())?;
    let is_plain = !identifiers(head).any(|word| matches!(word, "static" | "volatile" | "extern" | "inline"));
    (is_array && is_plain && class.kind() != Kind::UnionSpecifier).then_some(only)
}

/// The names in the declarations of a class's members with a name.
pub fn members_named<'t>(tree: &'t SyntaxTree, class: Node<'t>, name: &str) -> impl Iterator<Item = Node<'t>> {
    let members = class.field(Field::Body).into_iter().flat_map(Node::named_children);
    let declarators = members
        .filter(|it| it.kind() == Kind::FieldDeclaration)
        .flat_map(|it| it.fields(Field::Declarator).collect::<Vec<_>>());
    let names = declarators.map(Node::declared_name);
    names.filter(move |it| it.kind() == Kind::FieldIdentifier && tree.slice(*it) == name)
}

/// Whether a function's declarator has a name, however an operator's is spaced: `operator []`.
pub fn is_head_of(tree: &SyntaxTree, head: Node<'_>, name: &str) -> bool {
    let own = head.field(Field::Declarator).map_or("", |it| tree.slice(it));
    own.split_whitespace().collect::<String>() == name
}

/// Whether a method of a class has a definition or a specialization outside of it: `template <> float &Vec<float, 8>::operator[](int i)`.
pub fn is_defined_outside(tree: &SyntaxTree, class: Node<'_>, method: &str) -> bool {
    let Some(name) = class.field(Field::Name).map(|name| tree.slice(name)) else { return true };
    let heads = tree.nodes_of(&[Kind::FunctionDeclarator]).filter_map(|it| it.field(Field::Declarator));
    let mut qualified = heads.filter(|it| it.kind() == Kind::QualifiedIdentifier).map(|it| tree.slice(it));
    qualified.any(|text| {
        let last = text.rsplit("::").next().unwrap_or("").split_whitespace().collect::<String>();
        last == method && identifiers(text).any(|word| word == name)
    })
}

/// Whether a class is derived from others.
pub fn has_bases(class: Node<'_>) -> bool {
    class.children().any(|part| part.kind() == Kind::BaseClassClause)
}

/// The class directly around a node.
pub fn class_around(node: Node<'_>) -> Option<Node<'_>> {
    let is_class =
        |it: &Node<'_>| matches!(it.kind(), Kind::StructSpecifier | Kind::ClassSpecifier | Kind::UnionSpecifier);
    node.ancestors().skip(1).find(is_class)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
enum Mode { fast, slow };
struct Point { float x, y; __device__ Point() {} __device__ Point(float x) : x(x) {} __device__ float sum() const { return x + y; } };
struct Counted { int n; __device__ Counted(const Counted& other) : n(other.n + 1) {} };
struct Assigned { int n; __device__ Assigned &operator=(const Assigned& other) { n = other.n + 1; return *this; } };
struct Freed { int *n; __device__ ~Freed() { *n = 0; } };
struct Derived : Point { int n; };
struct Shape { virtual float area() const { return 0; } float x; };
struct Holder { Counted inner; };
struct View { float &x; };
template <int N, typename T = float> struct Stack { T items[N]; int top; };
template <typename T> struct Checked { T item; __device__ Checked(const Checked &other) : item(other.item) {} };
struct Above : Point { int n; };
struct Below : Counted { int n; };
struct Hidden { union { Counted counted; int i; }; };
struct Late { __device__ virtual float area() const { return 0; } float x; };
typedef struct { int a; Point p; } Named;
using Short = Point;
union Either { int i; float f; };
struct State {
    int next, table[8];
    unsigned at : 4;
    float *out;
    volatile int flag;
    Point origin;
    Counted counted;
    Mode mode;
    union { unsigned bits; float value; };
    Either either;
    static int shared;
    float4 color;
    Unknown unknown;
};
struct alignas(16) Wide { int next; };
struct __attribute__((packed)) Packed { int next; };
";

    #[test]
    fn copies_are_other_values() {
        let tree = SyntaxTree::example("a.cu", TEXT);
        for name in [
            "int",
            "float4",
            "Mode",
            "Point",
            "Short",
            "Named",
            "Either",
            "const Point",
            "Above",
            "Stack<4>",
            "Stack<4, Point>",
        ] {
            assert!(is_copied_plainly(&tree, name), "{name}");
        }
        for name in [
            "Counted",
            "Assigned",
            "Freed",
            "Shape",
            "Holder",
            "View",
            "Unknown",
            "Below",
            "Hidden",
            "Late",
            "Stack<4, Counted>",
            "Checked<int>",
        ] {
            assert!(!is_copied_plainly(&tree, name), "{name}");
        }
    }

    #[test]
    fn members_with_bytes_of_their_own_are_plain() {
        let tree = SyntaxTree::example("a.cu", TEXT);
        for name in ["next", "out", "origin", "mode", "either", "color"] {
            assert!(is_plain_member(&tree, "State", name), "{name}");
        }
        for name in ["table", "at", "flag", "counted", "bits", "value", "shared", "unknown", "nothing"] {
            assert!(!is_plain_member(&tree, "State", name), "{name}");
        }
        for class in ["Wide", "Packed", "Either", "Unknown"] {
            assert!(!is_plain_member(&tree, class, "next"), "{class}");
        }
    }
}
