//! Expressions and types that are numbers as C++ defines them: no class, whose operators and conversions may mean
//! anything.
//!
//! `seen[index]` converts an index of class type by its `operator int`; `seen >> index` or `k == index` in its place
//! may call an `operator>>` or `operator==` of that class. So no edit puts an expression into an operation that was
//! not there before unless the text shows that it is a number.

use cuda_syntax::ast::{Field, Kind, Node, Subscript};
use cuda_syntax::tree::{Declaration, enclosing_function, last_name, resolve};
use cuda_syntax::{SyntaxTree, types};
use lmem_unit::Expansion;

use super::classes::member_here;
use super::named_type::NAMED_TYPES;
use super::purity::{is_builtin, is_pure_call};
use super::taken::has_operators;

/// Limit on type aliases, and on variables declared as `auto`.
const MAX_STEPS: usize = 6;

/// The words of built-in arithmetic types. They are keywords: no program declares them.
const KEYWORDS: [&str; 9] = ["bool", "char", "short", "int", "long", "unsigned", "signed", "float", "double"];

/// The names that headers give such types.
const NAMES: [&str; 19] = [
    "int8_t",
    "uint8_t",
    "int16_t",
    "uint16_t",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
    "size_t",
    "ptrdiff_t",
    "intptr_t",
    "uintptr_t",
    "ssize_t",
    "uchar",
    "ushort",
    "uint",
    "ulong",
    "longlong",
    "ulonglong",
];

/// Words around a type that do not change what its values are.
const QUALIFIERS: [&str; 5] = ["const", "volatile", "constexpr", "static", "typename"];

/// Whether an expression is a number.
pub fn is_number(tree: &SyntaxTree, expression: Node<'_>) -> bool {
    Numbers { tree, steps: MAX_STEPS }.is_number(expression)
}

/// Whether a type is arithmetic, or an enumeration in a text without operators of its own.
pub fn is_number_type(tree: &SyntaxTree, type_text: &str) -> bool {
    Numbers { tree, steps: MAX_STEPS }.is_type(type_text)
}

/// Whether a type is a number or one of CUDA's own types that hold numbers: `__half`, `float4`.
pub fn is_value_type(tree: &SyntaxTree, type_text: &str) -> bool {
    let is_cuda = || types::size_of(type_text).is_some() && !tree.declares(last_name(type_text));
    is_number_type(tree, type_text) || is_cuda()
}

#[derive(Clone, Copy)]
struct Numbers<'t> {
    tree: &'t SyntaxTree,
    steps: usize,
}

impl<'t> Numbers<'t> {
    fn deeper(self) -> Option<Self> {
        Some(Self { steps: self.steps.checked_sub(1)?, ..self })
    }

    fn is_number(self, node: Node<'_>) -> bool {
        let tree = self.tree;
        if let Some(expansion) = tree.compiled().expansion(tree.text(), &node.byte_range()) {
            return match expansion {
                Expansion::Value => true,
                Expansion::Expression => self.are_numbers(node.field(Field::Arguments)),
                Expansion::Attribute | Expansion::Other => false,
            };
        }
        match node.kind() {
            Kind::NumberLiteral | Kind::CharLiteral | Kind::True | Kind::False | Kind::SizeofExpression => true,
            Kind::Identifier => tree.value_of(node).is_some() || self.is_variable(node, &|text| self.is_type(text)),
            Kind::ParenthesizedExpression => node.named_child_count() == 1 && self.all(node),
            Kind::BinaryExpression => {
                node.field(Field::Left).is_some_and(|left| self.is_number(left))
                    && node.field(Field::Right).is_some_and(|right| self.is_number(right))
            }
            Kind::UnaryExpression | Kind::UpdateExpression => {
                node.field(Field::Argument).is_some_and(|argument| self.is_number(argument))
            }
            Kind::ConditionalExpression => [Field::Consequence, Field::Alternative]
                .iter()
                .all(|side| node.field(*side).is_some_and(|side| self.is_number(side))),
            Kind::CastExpression => node.field(Field::Type).is_some_and(|it| self.is_type(tree.slice(it))),
            // Its value is that of the left side.
            Kind::AssignmentExpression => node.field(Field::Left).is_some_and(|left| self.is_number(left)),
            Kind::FieldExpression => self.is_member(node, false),
            Kind::SubscriptExpression | Kind::PointerExpression => {
                !tree.slice(node).starts_with('&') && node.field(Field::Argument).is_some_and(|it| self.is_array(it))
            }
            Kind::CallExpression => self.is_call(node),
            Kind::QualifiedIdentifier => tree.value_of(node).is_some(),
            _ => false,
        }
    }

    fn all(self, node: Node<'_>) -> bool {
        node.named_children().all(|child| self.is_number(child))
    }

    fn are_numbers(self, arguments: Option<Node<'_>>) -> bool {
        arguments.is_some_and(|list| self.all(list))
    }

    /// Whether all that a name may stand for has a type that fits.
    fn is_variable(self, name: Node<'_>, is_fit: &dyn Fn(&str) -> bool) -> bool {
        let tree = self.tree;
        let word = tree.slice(name);
        let all = enclosing_function(name).map(|function| tree.declarations(function));
        let own = all.as_ref().and_then(|all| resolve(all, word, name.start_byte()));
        if let Some(own) = own {
            return is_fit(referred(tree, own).unwrap_or(&own.type_text)) || self.is_deduced(own);
        }
        if let Some(type_text) = self.type_of_member(name) {
            return is_fit(&type_text);
        }
        if tree.is_declared_beside(word) {
            return false;
        }
        let declares = |node: &Node<'_>| {
            node.fields(Field::Declarator).any(|declarator| tree.slice(innermost(declarator)) == word)
        };
        let known = tree.kept(OuterDeclarations::of);
        let mut outer = known.0.iter().filter_map(|id| tree.node(*id)).filter(declares).peekable();
        outer.peek().is_some()
            && outer.all(|node| {
                let is_pointer = node.descendants().any(|it| it.kind() == Kind::PointerDeclarator);
                let is_array = node.descendants().any(|it| it.kind() == Kind::ArrayDeclarator);
                let marks = format!("{}{}", if is_pointer { "*" } else { "" }, if is_array { "[]" } else { "" });
                node.field(Field::Type).is_some_and(|it| is_fit(&format!("{}{marks}", tree.slice(it))))
            })
    }

    /// The type of the member that a name in a method stands for: that of the class around comes before all other variables.
    fn type_of_member(self, name: Node<'_>) -> Option<String> {
        let only = member_here(self.tree, name)?;
        let declaration = only.enclosing(Kind::FieldDeclaration)?;
        let declarators = || only.ancestors().skip(1).take_while(|it| *it != declaration);
        let marks: Option<Vec<&str>> = declarators()
            .map(|it| match it.kind() {
                Kind::PointerDeclarator => Some("*"),
                Kind::ArrayDeclarator => Some("[]"),
                Kind::InitDeclarator | Kind::ParenthesizedDeclarator => Some(""),
                _ => None,
            })
            .collect();
        Some(format!("{}{}", self.tree.slice(declaration.field(Field::Type)?), marks?.concat()))
    }

    /// Whether `auto` stands for a number.
    fn is_deduced(self, own: &Declaration) -> bool {
        let initializer = own.initializer.filter(|_| own.type_text == "auto" || own.type_text == "auto*");
        let node = initializer
            .zip(self.tree.root())
            .and_then(|((start, end), root)| root.named_descendant_for_byte_range(start, end));
        node.zip(self.deeper()).is_some_and(|(node, deeper)| deeper.is_number(node))
    }

    /// Whether the elements behind an expression are numbers, and it is no class with an `operator[]` or `operator*`.
    fn is_array(self, node: Node<'_>) -> bool {
        let is_fit = |text: &str| text.split_once(['*', '[']).is_some_and(|(element, _)| self.is_type(element));
        match node.kind() {
            Kind::Identifier => self.is_variable(node, &is_fit),
            Kind::ParenthesizedExpression => node.named_child(0).is_some_and(|inner| self.is_array(inner)),
            Kind::SubscriptExpression => node.field(Field::Argument).is_some_and(|inner| self.is_array(inner)),
            Kind::BinaryExpression => {
                matches!(node.operator(), Some("+" | "-"))
                    && node.field(Field::Left).is_some_and(|left| self.is_array(left))
                    && node.field(Field::Right).is_some_and(|right| self.is_number(right))
            }
            Kind::UpdateExpression => node.field(Field::Argument).is_some_and(|inner| self.is_array(inner)),
            Kind::FieldExpression => self.is_member(node, true),
            _ => false,
        }
    }

    /// Whether all members with the name of a member have a type that fits, and are no pointers or arrays of it.
    fn is_member_of_type(self, member: Node<'_>, is_fit: &dyn Fn(&str) -> bool) -> bool {
        let tree = self.tree;
        let name = member.field(Field::Field).map_or("", |field| tree.slice(field));
        let declared = |node: &Node<'_>| {
            node.fields(Field::Declarator).any(|declarator| tree.slice(innermost(declarator)) == name)
        };
        let mut members = tree.nodes_of(&[Kind::FieldDeclaration]).filter(declared).peekable();
        !tree.is_declared_beside(name)
            && members.peek().is_some()
            && members.all(|node| {
                let mut own = node.fields(Field::Declarator).filter(|it| tree.slice(innermost(*it)) == name);
                let is_plain = own.all(|declarator| declarator.kind() == Kind::FieldIdentifier);
                is_plain && node.field(Field::Type).is_some_and(|it| is_fit(tree.slice(it)))
            })
    }

    /// Whether all members of this name in the text are numbers, or arrays of them.
    fn is_member(self, node: Node<'_>, is_array: bool) -> bool {
        let tree = self.tree;
        let (Some(base), Some(field)) = (node.field(Field::Argument), node.field(Field::Field)) else { return false };
        let base_text = tree.slice(base);
        if !is_array && is_builtin(base_text) && !self.is_declared(base_text) {
            return true;
        }
        let name = tree.slice(field);
        let is_component = !is_array && matches!(name, "x" | "y" | "z" | "w");
        // `half` is a class.
        let is_class =
            |text: &str| ["half", "__half", "__nv_bf", "nv_bf"].iter().any(|it| last_name(text).starts_with(it));
        let is_vector = |text: &str| {
            let text = text.trim().trim_start_matches("const ").trim();
            types::shape(text).is_some() && !types::is_scalar(text) && !is_class(text) && !self.is_declared(text)
        };
        // Of `in[i].x`, and of no class with an `operator[]`.
        let is_of_vectors = |text: &str| text.split_once(['*', '[']).is_some_and(|(element, _)| is_vector(element));
        let element = Subscript::of(base).and_then(|element| element.base());
        let has_vector = match element {
            Some(array) => array.kind() == Kind::Identifier && self.is_variable(array, &is_of_vectors),
            None if base.kind() == Kind::FieldExpression => self.is_member_of_type(base, &is_vector),
            None => base.kind() == Kind::Identifier && self.is_variable(base, &is_vector),
        };
        if is_component && has_vector {
            return true;
        }
        // Nothing tells whether the object is of that file's class.
        if tree.is_declared_beside(name) {
            return false;
        }
        let declared = |member: &Node<'_>| {
            member.fields(Field::Declarator).any(|declarator| tree.slice(innermost(declarator)) == name)
        };
        let mut members = tree.nodes_of(&[Kind::FieldDeclaration]).filter(declared).peekable();
        members.peek().is_some()
            && members.all(|member| {
                let declarators = || member.fields(Field::Declarator).flat_map(Node::descendants);
                let has = |kinds: [Kind; 2]| declarators().any(|node| kinds.contains(&node.kind()));
                let is_of_elements = has([Kind::ArrayDeclarator, Kind::PointerDeclarator]);
                let is_odd = has([Kind::FunctionDeclarator, Kind::ReferenceDeclarator]);
                is_of_elements == is_array
                    && !is_odd
                    && member.field(Field::Type).is_some_and(|it| self.is_type(tree.slice(it)))
            })
    }

    /// Whether a call gives a number: one of the toolkit's functions of numbers, or only functions that are declared
    /// with such a result.
    fn is_call(self, node: Node<'_>) -> bool {
        let tree = self.tree;
        let Some(called) = node.field(Field::Function) else { return false };
        if called.kind() == Kind::PrimitiveType {
            return self.is_type(tree.slice(called));
        }
        let text = tree.slice(called);
        if let Some((_, target)) = text.split_once("static_cast<") {
            return target.strip_suffix('>').is_some_and(|target| self.is_type(target));
        }
        if is_pure_call(tree, node) && self.are_numbers(node.field(Field::Arguments)) {
            return true;
        }
        let name = last_name(text);
        if tree.is_declared_beside(name) {
            return false;
        }
        let is_it = |node: &Node<'_>| node.field(Field::Declarator).is_some_and(|it| last_name(tree.slice(it)) == name);
        let mut declared = tree.nodes_of(&[Kind::FunctionDeclarator]).filter(is_it).peekable();
        declared.peek().is_some()
            && declared.all(|declarator| {
                let holder = declarator.parent();
                let type_node = holder.and_then(|holder| holder.field(Field::Type));
                type_node.is_some_and(|it| self.is_type(tree.slice(it)))
            })
    }

    fn is_type(self, text: &str) -> bool {
        if text.contains(['*', '&', '[', '<']) {
            return false;
        }
        let words: Vec<&str> = text.split_whitespace().filter(|word| !QUALIFIERS.contains(word)).collect();
        if !words.is_empty() && words.iter().all(|word| KEYWORDS.contains(word)) {
            return true;
        }
        let [word] = words.as_slice() else { return false };
        let name = last_name(word);
        if self.tree.is_declared_beside(name) {
            return false;
        }
        let definitions = self.definitions(name);
        if definitions.is_empty() {
            return NAMES.contains(&name) && !self.is_declared(name);
        }
        let Some(deeper) = self.deeper() else { return false };
        definitions.into_iter().all(|definition| match definition.kind() {
            // Operators may be overloaded for an enumeration.
            Kind::EnumSpecifier => !has_operators(self.tree),
            Kind::AliasDeclaration | Kind::TypeDefinition => definition.field(Field::Type).is_some_and(|aliased| {
                aliased.field(Field::Body).is_none() && deeper.is_type(self.tree.slice(aliased))
            }),
            _ => false,
        })
    }

    fn definitions(self, name: &str) -> Vec<Node<'t>> {
        let tree = self.tree;
        let defines = |node: &Node<'_>| {
            let named = match node.kind() {
                Kind::StructSpecifier | Kind::ClassSpecifier | Kind::UnionSpecifier | Kind::EnumSpecifier => {
                    node.field(Field::Name)
                }
                Kind::AliasDeclaration => node.field(Field::Name),
                Kind::TypeDefinition => node.field(Field::Declarator),
                _ => None,
            };
            named.is_some_and(|named| tree.slice(named) == name)
        };
        tree.nodes_of(&NAMED_TYPES).filter(defines).collect()
    }

    /// Whether the text gives a name of CUDA's or the library's another meaning.
    fn is_declared(self, name: &str) -> bool {
        self.tree.declares(name)
    }
}

/// Declarations outside of functions, by the numbers of their nodes: a constant, an array, a parameter of a template.
struct OuterDeclarations(Vec<usize>);

impl OuterDeclarations {
    fn of(tree: &SyntaxTree) -> Self {
        let is_outer = |node: &Node<'_>| {
            enclosing_function(*node).is_none_or(|function| !function.byte_range().contains(&node.start_byte()))
        };
        let kinds = [Kind::Declaration, Kind::ParameterDeclaration, Kind::OptionalParameterDeclaration];
        Self(tree.nodes_of(&kinds).filter(is_outer).map(Node::id).collect())
    }
}

/// The type that a reference is of: `int` for `int &n`.
fn referred<'d>(tree: &SyntaxTree, own: &'d Declaration) -> Option<&'d str> {
    let name = tree.root()?.named_descendant_for_byte_range(own.range.0, own.range.1)?;
    let reference = name.parent().filter(|it| it.kind() == Kind::ReferenceDeclarator)?;
    let is_whole = reference.parent().is_some_and(|it| !it.is_declarator() || it.kind() == Kind::InitDeclarator);
    own.type_text.strip_suffix('*').filter(|_| is_whole)
}

/// The name in a declarator.
fn innermost(declarator: Node<'_>) -> Node<'_> {
    let mut node = declarator;
    while let Some(inner) = node.field(Field::Declarator).or_else(|| {
        let is_wrapper = matches!(node.kind(), Kind::ReferenceDeclarator | Kind::ParenthesizedDeclarator);
        node.named_child(0).filter(|_| is_wrapper)
    }) {
        node = inner;
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_unit::Beside;

    const HEAD: &str = "struct Node { int v; operator int() const; };\nstruct Args { const int* order; short key; Node node; float3 pos; float3 rows[2], *to; };\n\
        using Index = unsigned; typedef Node Id; enum Side { LEFT }; enum class Far { AWAY };\n\
        __constant__ int table[8]; __constant__ Node nodes[8];\nconstexpr int N = 4;\n#define TID (threadIdx.x)\n\
        __device__ int hash(int); __device__ Node find(int); __device__ Node abs(Node);\n\
        template <int W, class T> __global__ void k(const int* in, int n, Index i, Id id, Node node, T t, Side side, Args args, int2 p, uint32_t u, Vec<int> vec) {\n\
        const auto low = in[n] & 7; const auto other = node; f(";

    fn number(expression: &str) -> bool {
        let text = format!("{HEAD}{expression}); }}\n");
        let tree = SyntaxTree::example("a.cu", text.as_str());
        let root = tree.root().unwrap();
        is_number(&tree, root.named_descendant_for_byte_range(HEAD.len(), HEAD.len() + expression.len()).unwrap())
    }

    #[test]
    fn what_the_language_defines_is_a_number() {
        for expression in [
            "3",
            "n",
            "i",
            "u",
            "W",
            "N",
            "low",
            "TID",
            "in[n]",
            "*in",
            "*(in + n)",
            "table[n & 7]",
            "args.key",
            "args.order[n]",
            "args.pos.y",
            "p.x",
            "threadIdx.x",
            "(n + 1) * W",
            "n > 0 ? n : -n",
            "static_cast<int>(node)",
            "(int)node",
            "hash(n)",
            "min(n, 3)",
            "__ffs(n)",
            "n++",
            "sizeof(Node)",
            "int(n)",
        ] {
            assert!(number(expression), "{expression}");
        }
    }

    #[test]
    fn what_a_program_defines_may_be_anything() {
        for expression in [
            "node",
            "id",
            "t",
            "other",
            "nodes[n]",
            "node + 1",
            "1 + node",
            "-node",
            "args.node",
            "args.node.x",
            "args.rows.x",
            "args.to.x",
            "n ? node : 1",
            "find(n)",
            "abs(n)",
            "LEFT",
            "side",
            "unknown",
            "unknown(n)",
            "vec[n]",
            "args",
            "in",
            "&n",
            "(Node)n",
            "Far::AWAY",
            "args.other",
        ] {
            assert!(!number(expression), "{expression}");
        }
    }

    #[test]
    fn names_of_cuda_may_be_taken() {
        for (head, expression) in [
            ("struct uint32_t { operator int(); };\n", "u"),
            ("#define min(a, b) lowest(a, b)\n", "min(n, n)"),
            ("enum uint32_t { ONE };\nunsigned operator>>(unsigned, uint32_t);\n", "u"),
        ] {
            let text = format!("{head}__global__ void k(uint32_t u, int n) {{ f({expression}); }}\n");
            let tree = SyntaxTree::example("a.cu", text.as_str());
            let start = text.rfind("f(").unwrap() + 2;
            let node = tree.root().unwrap().named_descendant_for_byte_range(start, start + expression.len()).unwrap();
            assert!(!is_number(&tree, node), "{head}");
        }
    }

    #[test]
    fn headers_may_take_names_too() {
        let text = "struct Own { short key; }; enum Side { LEFT };\n__device__ int hash(int);\n\
                    __global__ void k(uint u, Args args, Side side, int n) { f(";
        for (expression, name) in [
            ("u", "uint"),
            ("args.key", "key"),
            ("hash(n)", "hash"),
            ("min(n, n)", "min"),
            ("side", "operator"),
            ("side", "Side"),
        ] {
            let whole = format!("{text}{expression}); }}\n");
            let is_it = |names: &[&str]| {
                let names = names.iter().map(ToString::to_string).collect();
                let tree =
                    SyntaxTree::example("a.cu", &whole).with_beside(Beside { declared: names, ..Beside::default() });
                let place = text.len()..text.len() + expression.len();
                is_number(&tree, tree.root().unwrap().named_descendant_for_byte_range(place.start, place.end).unwrap())
            };
            assert!(is_it(&["other"]) && !is_it(&[name]), "{expression} beside {name}");
        }
    }
}
