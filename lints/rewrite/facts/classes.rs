//! Classes whose values are copied member by member, and members that a variable of their own can stand for.

use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::{SyntaxTree, types};

use super::plain_type::definitions;

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
    if types::size_of(&name).is_some() {
        return true;
    }
    match class_of(tree, &name) {
        Some(class) if class.kind() == Kind::EnumSpecifier => true,
        Some(class) => is_plain_class(tree, class, &|text| is_copied_within(tree, text, steps)),
        None => match definitions(tree, &name).as_slice() {
            [alias] => alias.field(Field::Type).is_some_and(|it| is_copied_within(tree, tree.slice(it), steps)),
            _ => false,
        },
    }
}

/// The only definition of a class, structure, union or enumeration under a name.
fn class_of<'t>(tree: &'t SyntaxTree, name: &str) -> Option<Node<'t>> {
    let definitions = definitions(tree, name);
    let [definition] = definitions.as_slice() else { return None };
    let class = match definition.kind() {
        Kind::TypeDefinition => definition.field(Field::Type)?,
        _ => *definition,
    };
    class.field(Field::Body).map(|_| class)
}

fn is_plain_class(tree: &SyntaxTree, class: Node<'_>, is_plain: &dyn Fn(&str) -> bool) -> bool {
    let is_based = class.children().any(|child| child.kind() == Kind::BaseClassClause);
    let is_fit = |member: Node<'_>| match member.kind() {
        Kind::FieldDeclaration => {
            let type_node = member.field(Field::Type);
            member.fields(Field::Declarator).all(|it| match it.kind() {
                Kind::FunctionDeclarator => !is_special(tree, class, it) && !is_virtual(tree, member),
                Kind::PointerDeclarator => true,
                Kind::ReferenceDeclarator => false,
                _ => type_node.is_some_and(|it| is_plain(tree.slice(it))),
            }) && !tree.slice(member).contains("volatile")
        }
        Kind::FunctionDefinition | Kind::Declaration => {
            let declarator = member.field(Field::Declarator);
            declarator.is_some_and(|it| !is_special(tree, class, it)) && !is_virtual(tree, member)
        }
        Kind::Comment | Kind::AccessSpecifier => true,
        _ => false,
    };
    let body = class.field(Field::Body);
    !is_based && body.is_some_and(|body| body.named_children().all(is_fit))
}

/// Whether a function is an assignment, a destructor, or a constructor that takes a value of the class.
fn is_special(tree: &SyntaxTree, class: Node<'_>, declarator: Node<'_>) -> bool {
    let name = tree.slice(declarator.declared_name());
    let class_name = class.field(Field::Name).map_or("", |name| tree.slice(name));
    let text: String = tree.slice(declarator).split_whitespace().collect();
    let parameters = text.split_once('(').map_or("", |(_, parameters)| parameters);
    name.starts_with('~') || text.contains("operator=(") || (name == class_name && parameters.contains(class_name))
}

fn is_virtual(tree: &SyntaxTree, member: Node<'_>) -> bool {
    tree.slice(member).trim_start().starts_with("virtual")
}

/// Whether a member of a class is a number, a pointer or a plainly copied class of its own. A bit-field is narrower than
/// its type, a member of a union shares its bytes with others.
pub fn is_plain_member(tree: &SyntaxTree, class_text: &str, member: &str) -> bool {
    let name = class_text.split_whitespace().filter(|word| !matches!(*word, "struct" | "const")).collect::<Vec<_>>();
    let Some(class) = class_of(tree, &name.join(" ")) else { return false };
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
        it.field(Field::Body).is_none() && it.kind() != Kind::Decltype && is_copied_plainly(tree, tree.slice(it))
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
        for name in ["int", "float4", "Mode", "Point", "Short", "Named", "Either", "const Point"] {
            assert!(is_copied_plainly(&tree, name), "{name}");
        }
        for name in ["Counted", "Assigned", "Freed", "Derived", "Shape", "Holder", "View", "Unknown"] {
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
