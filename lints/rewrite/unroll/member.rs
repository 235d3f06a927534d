//! Arrays that are members, as what a loop indexes: `p.taps[k]` of a local variable, and `taps[k]` in a method.
//!
//! Unlike a variable, a member has known neighbours. Code may walk from one array into the next, or have less or more memory behind
//! the last one than its class says. So an extent bounds loops only where neither is likely: see [`MemberArray::ends_loops`].

use std::collections::HashMap;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Member, Node};
use cuda_syntax::identifiers::{identifiers, occurrences};
use cuda_syntax::tree::{enclosing_function, resolve};
use cuda_syntax::types;
use lmem_base::mangling::template_arguments;

use crate::rewrite::facts::classes::{class_around, members_named};

/// The names of all members of the text, with the numbers of the nodes that declare them.
struct Members(HashMap<String, Vec<usize>>);

impl Members {
    fn of(tree: &SyntaxTree) -> Self {
        let mut found: HashMap<String, Vec<usize>> = HashMap::new();
        for node in tree.nodes_of(&[Kind::FieldIdentifier]).filter(|node| member_declaration(*node).is_some()) {
            found.entry(tree.slice(node).to_string()).or_default().push(node.id());
        }
        Self(found)
    }
}

/// A member that is an array of constant extents.
pub(super) struct MemberArray<'t> {
    tree: &'t SyntaxTree,
    /// The expression that is indexed: `p.taps`, `taps`.
    base: Node<'t>,
    /// The name in its declaration.
    name: Node<'t>,
    /// `FieldDeclaration`
    declaration: Node<'t>,
    /// The class that declares it.
    class: Node<'t>,
    /// Whether the object is that of the method around.
    is_of_method: bool,
}

impl<'t> MemberArray<'t> {
    /// The member array that an expression is; `None` for variables, and where the member may be that of another class.
    pub fn of(tree: &'t SyntaxTree, base: Node<'t>) -> Option<Self> {
        let (name, is_of_method) = match base.kind() {
            Kind::Identifier => {
                let function = enclosing_function(base)?;
                let is_local = resolve(&tree.declarations(function), tree.slice(base), base.start_byte()).is_some();
                let class = class_around(function).filter(|_| !is_local)?;
                (only(members_named(tree, class, tree.slice(base)))?, true)
            }
            Kind::FieldExpression => {
                let name = tree.slice(Member::of(base).filter(|it| it.is_of_object())?.name()?);
                let known = tree.kept(Members::of);
                let [only] = known.0.get(name).filter(|_| !tree.is_declared_beside(name))?.as_slice() else {
                    return None;
                };
                (tree.node(*only)?, false)
            }
            _ => return None,
        };
        let declaration = member_declaration(name)?;
        let class = class_around(declaration)?;
        let found = Self { tree, base, name, declaration, class, is_of_method };
        let is_open = match class.kind() {
            Kind::UnionSpecifier => !found.is_largest_of_union(),
            _ => class.ancestors().skip(1).any(|around| around.kind() == Kind::UnionSpecifier),
        };
        (!is_open && !found.sizes().is_empty()).then_some(found)
    }

    /// The declared extents, the outermost first.
    pub fn sizes(&self) -> Vec<Node<'t>> {
        let around = std::iter::successors(self.name.parent(), |node| node.parent());
        let arrays = around.take_while(|node| node.kind() == Kind::ArrayDeclarator);
        arrays.map(|node| node.field(Field::Size)).collect::<Option<_>>().unwrap_or_default()
    }

    /// An extent as text for the place of the use.
    pub fn spelled(&self, size: Node<'t>) -> Option<String> {
        let (tree, at) = (self.tree, self.base.start_byte());
        if self.is_of_method {
            return tree.spelled(size, at);
        }
        match tree.settled_value_of(size) {
            // A constant of the class has another name outside, or none.
            Some(_) => tree.spelled(size, at),
            None => self.of_instance(size),
        }
    }

    /// An extent as text for a call of the method, with the object that it is called for.
    pub fn spelled_for(&self, size: Node<'t>, object: Node<'t>) -> Option<String> {
        let parameters = self.tree.template_parameters(self.class);
        let is_of_template = identifiers(self.tree.slice(size)).any(|word| parameters.iter().any(|it| it == word));
        match is_of_template {
            true => of_instance(self.tree, self.class, self.tree.slice(size), object),
            false => self.tree.spelled(size, object.start_byte()),
        }
    }

    /// `N + 1` for the extent `K + 1` of a `Row<N>` whose template has the parameter `K`.
    fn of_instance(&self, size: Node<'t>) -> Option<String> {
        let root = root(self.base)?;
        // The member of a member would be that of another class.
        let is_own = Member::of(self.base)?.object() == Some(root);
        is_own.then(|| of_instance(self.tree, self.class, self.tree.slice(size), root))?
    }

    /// Whether the array is all of a union that is no member itself.
    fn is_largest_of_union(&self) -> bool {
        let tree = self.tree;
        let bytes = |declaration: Node<'t>, declarator: Node<'t>| {
            let element = types::size_of(tree.slice(declaration.field(Field::Type)?).trim())?;
            let mut count = 1_u64;
            let mut node = declarator;
            while node.kind() == Kind::ArrayDeclarator {
                count = count.checked_mul(u64::try_from(tree.value_of(node.field(Field::Size)?)?).ok()?)?;
                node = node.field(Field::Declarator)?;
            }
            (node.kind() == Kind::FieldIdentifier).then(|| element.checked_mul(count))?
        };
        let is_nested = self.class.ancestors().skip(1).any(|around| around.kind() == Kind::FieldDeclarationList);
        let members = self.class.field(Field::Body).into_iter().flat_map(Node::named_children);
        let members = members.filter(|it| !matches!(it.kind(), Kind::Comment | Kind::AccessSpecifier));
        let sizes: Option<Vec<(bool, u64)>> = members
            .flat_map(|it| it.fields(Field::Declarator).map(move |declarator| (it, declarator)).collect::<Vec<_>>())
            .map(|(it, declarator)| Some((declarator.declared_name() == self.name, bytes(it, declarator)?)))
            .collect();
        let sizes = sizes.unwrap_or_default();
        let own = sizes.iter().find(|(is_own, _)| *is_own).map(|(_, bytes)| *bytes);
        !is_nested && own.is_some_and(|own| sizes.iter().all(|(_, bytes)| *bytes <= own))
    }

    /// Whether a round with an index beyond the array would not just go on in what is beside it: it is no last member of one element,
    /// as of structures that are longer than their class, and no other of its type follows it, as in `float x[8], y[8];`. A method is
    /// called for an object.
    pub fn ends_loops(&self, object: Option<Node<'t>>) -> bool {
        let (tree, declaration) = (self.tree, self.declaration);
        let mut declarators = declaration.fields(Field::Declarator);
        let is_last_here = declarators.all(|it| it.start_byte() <= self.name.start_byte());
        let has_several = self.sizes().first().is_some_and(|size| tree.value_of(*size) != Some(1));
        let is_of_union = self.class.kind() == Kind::UnionSpecifier;
        is_of_union || (is_last_here && has_several && self.follows_another_type(object))
    }

    fn follows_another_type(&self, object: Option<Node<'t>>) -> bool {
        let parameters = self.tree.template_parameters(self.class);
        // Names of types may stand for one another, and so may integers of one size.
        let type_of = |node: Node<'t>| {
            let text = node.field(Field::Type).map(|it| self.tree.slice(it).trim())?;
            let text = match parameters.iter().any(|it| it == text) {
                true => of_instance(self.tree, self.class, text, object.or_else(|| root(self.base))?)?,
                false => text.to_string(),
            };
            Some((types::size_of(&text)?, matches!(text.as_str(), "float" | "double")))
        };
        let own = type_of(self.declaration);
        let behind = std::iter::successors(self.declaration.next_named_sibling(), |it| it.next_named_sibling());
        for next in behind {
            match next.kind() {
                Kind::Comment | Kind::AccessSpecifier | Kind::FunctionDefinition => {}
                Kind::FieldDeclaration if is_function(next) => {}
                Kind::FieldDeclaration => return own.zip(type_of(next)).is_some_and(|(own, next)| own != next),
                _ => return false,
            }
        }
        true
    }
}

/// An expression of a class template's parameters as text for the use of an object: `N + 1` for `K + 1`, where the object is a
/// `Row<N>` and the template has the parameter `K`.
pub(super) fn of_instance(tree: &SyntaxTree, class: Node<'_>, text: &str, object: Node<'_>) -> Option<String> {
    let parameters = tree.template_parameters(class);
    let all = tree.declarations(enclosing_function(object)?);
    let own = resolve(&all, tree.slice(object), object.start_byte())?;
    let type_text = own.type_text.trim_start_matches("const ").trim_end_matches(['&', ' ']);
    let list = type_text.strip_prefix(tree.slice(class.field(Field::Name)?))?;
    let arguments = template_arguments(list);
    let is_own = list.trim_start().starts_with('<') && arguments.len() == parameters.len();
    let mut parts: Vec<(usize, &str, &str)> = Vec::new();
    for name in identifiers(text).filter(|word| !word.starts_with(|first: char| first.is_ascii_digit())) {
        let argument = arguments.get(parameters.iter().position(|parameter| parameter == name)?)?;
        let is_same = tree.means_the_same(argument, own.range.0, object.start_byte()) && is_operand(argument);
        parts.extend(occurrences(text, name).filter(|_| is_same).map(|start| (start, name, argument.as_str())));
        is_same.then_some(())?;
    }
    parts.sort_unstable();
    parts.dedup();
    let mut spelled = text.to_string();
    for (start, name, argument) in parts.into_iter().rev() {
        spelled.replace_range(start..start + name.len(), argument);
    }
    is_own.then_some(spelled)
}

/// Whether a declaration in a class is that of a method.
fn is_function(declaration: Node<'_>) -> bool {
    declaration.descendants().any(|it| it.kind() == Kind::FunctionDeclarator)
}

/// Whether a template's argument may stand for a name in a sum: a name, a number, what is in parentheses.
fn is_operand(argument: &str) -> bool {
    !argument.is_empty() && argument.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// `p` of `p.state.taps`
fn root(base: Node<'_>) -> Option<Node<'_>> {
    let mut node = base;
    while let Some(member) = Member::of(node) {
        node = member.object().filter(|_| member.is_of_object())?;
    }
    (node.kind() == Kind::Identifier).then_some(node)
}

fn only<'t>(mut found: impl Iterator<Item = Node<'t>>) -> Option<Node<'t>> {
    let first = found.next();
    first.filter(|_| found.next().is_none())
}

/// The declaration of a member whose name a node is.
fn member_declaration(name: Node<'_>) -> Option<Node<'_>> {
    let mut around = std::iter::successors(name.parent(), |node| node.parent());
    around.find(|node| !node.is_declarator()).filter(|node| node.kind() == Kind::FieldDeclaration)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::extent::WantedArray;
    use super::super::for_loop::for_loops;
    use cuda_syntax::SyntaxTree;
    use lmem_base::edit::apply;

    const CLASSES: &str = "template <int K> struct Basis {
    float at[K + 1];
    __device__ void eval(float x, int order) {
        for (int l = 2; l <= order; ++l) at[l] = x * at[l - 1] - at[l - 2]; // IN THE METHOD
    }
};
struct Patch { float c[10]; int deg; };
struct Pair { float lo[4], hi[4]; };
struct Rows { float x[4]; float y[4]; float z[4]; int n; };
struct Tail { int n; float data[1]; };
typedef float real;
struct Named { float low[4]; real high[4]; };
struct Whole { unsigned low[4]; int high[4]; };
union Words { float part[4]; float all[16]; };
union Bytes { uint4 v; unsigned char b[16]; };
#define LONGEST 12
constexpr int WIDE = 6;
struct Rest { static const int OWN = 5; float most[LONGEST]; int n, wide[WIDE]; float own[OWN]; };
struct Both { union { float some[4]; float every[8]; }; int n; };
";

    /// The header of the loop around a mark, once it is guarded for an array.
    fn guarded(body: &str, mark: &str, array: &str) -> Option<String> {
        let text = format!(
            "{CLASSES}template <int M> __global__ void k(float* out, int n, Patch* q, Patch& r) {{
    Basis<M> b; Basis<2 * M> w; Patch p; Pair v; Rows s; Tail t; Named m; Whole h; Words u; Bytes bytes; Both a; Rest e; const Basis<9> d = {{}};
    {body}
}}\n"
        );
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let at = text.find(mark)?;
        let line_of = |text: &str| text.lines().find(|line| line.contains(mark)).map(|line| line.trim().to_string());
        let found = for_loops(&tree, tree.text()[..at].rfind("for (")?);
        let guard = found.first()?.guarded(&WantedArray::new(array, &[]))?;
        assert!(guard.is_of_member);
        let edited = apply(&text, &guard.edits.iter().collect::<Vec<_>>())?;
        let line = line_of(&edited)?;
        Some(line.split(" /").next().unwrap_or(&line).to_string())
    }

    #[test]
    fn loops_end_where_a_member_does() {
        for (body, array, expected) in [
            (
                "for (int k = 0; k < n; ++k) out[k] = p.c[k]; // HERE",
                "p.c",
                "for (int k = 0; k < 10; ++k) if (k < n) out[k] = p.c[k];",
            ),
            (
                "for (int k = p.deg; k >= 0; --k) out[0] = out[0] * 2 + p.c[k]; // HERE",
                "p.c",
                "for (int k = 9; k >= 0; --k) if (k <= p.deg) out[0] = out[0] * 2 + p.c[k];",
            ),
            // A size has the name that it has in the class, where that means the same outside.
            (
                "for (int k = 0; k < n; ++k) out[k] = e.most[k]; // HERE",
                "e.most",
                "for (int k = 0; k < LONGEST; ++k) if (k < n) out[k] = e.most[k];",
            ),
            (
                "for (int k = 0; k < n; ++k) out[k] = e.wide[k]; // HERE",
                "e.wide",
                "for (int k = 0; k < WIDE; ++k) if (k < n) out[k] = e.wide[k];",
            ),
            (
                "const int WIDE = 2; for (int k = 0; k < n; ++k) out[k] = e.wide[k]; // HERE",
                "e.wide",
                "for (int k = 0; k < 6; ++k) if (k < n) out[k] = e.wide[k];",
            ),
            (
                "for (int k = 0; k < n; ++k) out[k] = e.own[k]; // HERE",
                "e.own",
                "for (int k = 0; k < 5; ++k) if (k < n) out[k] = e.own[k];",
            ),
            // The variable is a whole object, or a reference to one.
            (
                "for (int k = 0; k < n; ++k) out[k] = p.c[k]; // HERE",
                "p",
                "for (int k = 0; k < 10; ++k) if (k < n) out[k] = p.c[k];",
            ),
            (
                "for (int k = 0; k < n; ++k) out[k] = r.c[k]; // HERE",
                "r",
                "for (int k = 0; k < 10; ++k) if (k < n) out[k] = r.c[k];",
            ),
            // The extent of an instance.
            (
                "for (int l = 0; l <= n; ++l) out[l] = b.at[l]; // HERE",
                "b",
                "for (int l = 0; l < M + 1; ++l) if (l <= n) out[l] = b.at[l];",
            ),
            (
                "for (int l = 0; l <= n; ++l) out[l] = d.at[l]; // HERE",
                "d",
                "for (int l = 0; l < 9 + 1; ++l) if (l <= n) out[l] = d.at[l];",
            ),
            // All of a union.
            (
                "for (int k = 0; k < n; ++k) out[k] = bytes.b[k]; // HERE",
                "bytes.b",
                "for (int k = 0; k < 16; ++k) if (k < n) out[k] = bytes.b[k];",
            ),
            // Of several arrays, one ends the loop.
            (
                "for (int k = 0; k < n; ++k) out[k] = s.x[k] + s.y[k] + s.z[k]; // HERE",
                "s.x",
                "for (int k = 0; k < 4; ++k) if (k < n) out[k] = s.x[k] + s.y[k] + s.z[k];",
            ),
        ] {
            assert_eq!(guarded(body, "HERE", array).as_deref(), Some(expected), "{body}");
        }
        let method = guarded("", "IN THE METHOD", "at");
        let expected = "for (int l = 2; l < K + 1; ++l) if (l <= order) at[l] = x * at[l - 1] - at[l - 2];";
        assert_eq!(method.as_deref(), Some(expected));
    }

    #[test]
    fn loops_may_go_on_in_what_follows_a_member() {
        for (body, array) in [
            ("for (int k = 0; k < n; ++k) out[k] = v.lo[k]; // HERE", "v.lo"),
            ("for (int k = 0; k < n; ++k) out[k] = s.x[k]; // HERE", "s.x"),
            ("for (int k = 0; k < n; ++k) out[k] = m.low[k]; // HERE", "m.low"),
            ("for (int k = 0; k < n; ++k) out[k] = h.low[k]; // HERE", "h.low"),
            ("for (int k = 0; k < n; ++k) out[k] = t.data[k]; // HERE", "t.data"),
            ("for (int k = 0; k < n; ++k) out[k] = u.part[k]; // HERE", "u.part"),
            ("for (int k = 0; k < n; ++k) out[k] = a.some[k]; // HERE", "a.some"),
            // Memory that may be larger than the class, and an extent that cannot be spelled.
            ("for (int k = 0; k < n; ++k) out[k] = q->c[k]; // HERE", "q->c"),
            ("for (int l = 0; l <= n; ++l) out[l] = w.at[l]; // HERE", "w.at"),
        ] {
            assert_eq!(guarded(body, "HERE", array), None, "{body}");
        }
    }
}
