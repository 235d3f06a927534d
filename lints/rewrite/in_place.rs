//! Reads an object where it lies, in place of a copy: `Node node = nodes[i];` becomes `const Node &node = nodes[i];`.
//!
//! A copy whose members are indexed at run time is an array in local memory, filled from memory and read again. A reference has no copy,
//! where nothing changes the object meanwhile: it is behind a pointer to `const` of which `__restrict__` says that nothing writes there.
//! Or it is `__constant__`, which no kernel writes. Or nothing at all is written until the copy was used for the last time.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Field, Kind, Node, Subscript};
use cuda_syntax::tree::{Declaration, access_path, enclosing_function};
use cuda_syntax::types;
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_frame::StackObject;

use super::Rewrite;
use super::facts::binding::declares_value;
use super::facts::classes::is_copied_plainly;
use super::facts::evaluation::{is_in_lambda, is_value_argument};
use super::facts::number::{is_number, is_number_type};
use super::facts::outer::may_be_member;
use super::facts::purity::is_pure;
use super::facts::sites::{functions_named, located, trees};
use super::facts::taken::is_value;
use super::facts::unseen::is_taken_for_type;
use super::facts::unwritten::stays_unwritten;
use super::facts::variables::{uses_of, variable};
use super::unroll::body::has_meetings;

/// A reference in place of the copy; `None` where the copy, or what it is made of, may be changed.
pub fn suggestion(object: &StackObject) -> Option<Suggestion> {
    let own = object.variable.as_ref().filter(|own| !own.is_parameter && own.volatility.is_none())?;
    let (tree, offset) = located(object, &own.span)?;
    let texts: Vec<&SyntaxTree> = trees(object).into_iter().map(|tree| &**tree).collect();
    let copy = Copied::at(tree, offset, &texts)?;
    let reason = match copy.source {
        Source::Promised => format!("`__restrict__` says that nothing writes to `{}`", copy.base),
        Source::Constant => format!("no kernel writes to `{}`, which is `__constant__`", copy.base),
        Source::Unwritten => "no memory is written before its last use".to_string(),
    };
    let title = format!("read `{}` where it lies, by a reference; {reason}", tree.slice(copy.name));
    let rewrite = Rewrite::new(Applicability::MaybeIncorrect, copy.edits(tree)?).keeping_loops(true);
    Some(rewrite.within_kernel(tree.is_within_kernel(offset)).suggestion(title))
}

/// A variable that is made of an object in memory, and only read.
struct Copied<'v> {
    statement: Node<'v>,
    name: Node<'v>,
    base: &'v str,
    source: Source,
}

/// Why nothing writes to what is copied.
enum Source {
    /// The pointer is `__restrict__`, and to `const`.
    Promised,
    /// It is `__constant__`.
    Constant,
    /// No memory is written until the copy was used for the last time.
    Unwritten,
}

impl<'v> Copied<'v> {
    /// `texts` are those that the copy is used in: helpers that get it may be in headers.
    fn at(tree: &'v SyntaxTree, offset: usize, texts: &[&SyntaxTree]) -> Option<Self> {
        let name = tree.root()?.named_descendant_for_byte_range(offset, offset + 1)?;
        let declarator = name.parent().filter(|it| it.kind() == Kind::InitDeclarator)?;
        let statement = declarator.parent().filter(|it| it.kind() == Kind::Declaration)?;
        let type_node = statement.field(Field::Type)?;
        let type_text = tree.slice(type_node);
        let is_alone = statement.fields(Field::Declarator).count() == 1
            && statement.parent().is_some_and(|around| around.kind() == Kind::CompoundStatement);
        let is_unmarked = statement
            .children()
            .all(|child| child == type_node || child == declarator || matches!(tree.slice(child), "const" | ";"));
        let is_initialized = name.kind() == Kind::Identifier
            && declarator.field(Field::Declarator) == Some(name)
            && tree.text().get(name.end_byte()..)?.trim_start().starts_with('=');
        let is_class = !types::is_scalar(type_text) && texts.iter().any(|text| is_copied_plainly(text, type_text));
        if !is_alone || !is_unmarked || !is_initialized || !is_class || !tree.is_plain(statement) {
            return None;
        }
        let element = Subscript::of(declarator.field(Field::Value)?)?;
        let base = element.base().filter(|base| base.kind() == Kind::Identifier)?;
        element.index().filter(|index| is_pure(tree, *index))?;
        // What is asked for its type would be a reference.
        let uses = uses_of(tree, name)?;
        let is_read = !is_taken_for_type(tree, tree.slice(name))
            && uses.iter().all(|used| is_read(tree, *used, type_text, texts, MAX_CALLS));
        let source = match () {
            () if is_constant_memory(tree, base, type_text) => Source::Constant,
            () if is_promised(tree, base, type_text) => Source::Promised,
            () if is_of_type(tree, base, type_text) && stays_unwritten(tree, statement, base, &uses, texts) => {
                Source::Unwritten
            }
            () => return None,
        };
        is_read.then_some(Self { statement, name, base: tree.slice(base), source })
    }

    fn edits(&self, tree: &SyntaxTree) -> Option<Vec<Edit>> {
        let is_const = self.statement.children().any(|child| tree.slice(child) == "const");
        let mut edits = vec![tree.insertion(self.name.start_byte(), "&")?];
        if !is_const {
            edits.push(tree.insertion(self.statement.start_byte(), "const ")?);
        }
        Some(edits)
    }
}

/// Limit on functions that hand an object on to each other.
const MAX_CALLS: usize = 4;

/// Whether a use of an object takes a number of it, or lends it to a function that does no more.
fn is_read(tree: &SyntaxTree, used: Node<'_>, type_text: &str, texts: &[&SyntaxTree], calls: usize) -> bool {
    let is_lent = |calls| is_lent(tree, used, type_text, texts, calls).unwrap_or(false);
    is_taken(tree, access_path(used)) || calls.checked_sub(1).is_some_and(is_lent)
}

/// Whether a whole object is the argument for a `const T &` of the only function of a name, in one of these texts, which reads numbers of it.
fn is_lent(tree: &SyntaxTree, used: Node<'_>, type_text: &str, texts: &[&SyntaxTree], calls: usize) -> Option<bool> {
    let arguments = used.parent().filter(|it| it.kind() == Kind::ArgumentList && access_path(used) == used)?;
    let called = Call::of(arguments.parent()?)?.function().filter(|it| it.kind() == Kind::Identifier)?;
    let place = arguments.named_children().filter(|it| it.kind() != Kind::Comment).position(|it| it == used)?;
    let name = tree.slice(called);
    if variable(tree, called).is_some() {
        return None;
    }
    let of_text = |text: &&SyntaxTree| functions_named(text, name).len();
    let (1, Some(text)) = (texts.iter().map(of_text).sum::<usize>(), texts.iter().find(|text| of_text(text) == 1))
    else {
        return None;
    };
    let definition = functions_named(text, name).into_iter().next()?;
    let body = definition.field(Field::Body)?;
    let is_free = text.is_plain(body)
        && !has_meetings(text, body)
        && definition.enclosing(Kind::FieldDeclarationList).is_none()
        && definition.enclosing(Kind::TemplateDeclaration).is_none()
        && !text.is_declared_beside(name);
    let list = definition.descendants().find(|node| node.kind() == Kind::ParameterList)?;
    let parameter = list.named_children().filter(|it| it.kind() != Kind::Comment).nth(place)?;
    let declarator = parameter.field(Field::Declarator).filter(|it| it.kind() == Kind::ReferenceDeclarator)?;
    let own = declarator.named_children().find(|it| it.kind() == Kind::Identifier)?;
    let is_const = parameter.children().any(|child| text.slice(child) == "const");
    let is_fit = parameter.kind() == Kind::ParameterDeclaration
        && is_const
        && is_free
        && !text.slice(declarator).contains("&&")
        && !text.slice(parameter).contains("volatile")
        && text.compiled().is_verbatim(&parameter.byte_range())
        && is_type(text, parameter.field(Field::Type)?, type_text)
        && !is_taken_for_type(text, text.slice(own));
    Some(is_fit && uses_of(text, own)?.into_iter().all(|used| is_read(text, used, type_text, texts, calls)))
}

/// Whether a name is that of a local array, of a parameter, or of another pointer to objects of a type.
fn is_of_type(tree: &SyntaxTree, base: Node<'_>, type_text: &str) -> bool {
    let element = |text: &str| {
        let text = text.split(['*', '[']).next().unwrap_or("");
        let words = text.split_whitespace().filter(|word| !matches!(*word, "const" | "struct" | "__shared__"));
        words.collect::<Vec<_>>().join(" ")
    };
    let is_volatile = |own: &Declaration| {
        let name = tree.root().and_then(|root| root.named_descendant_for_byte_range(own.range.0, own.range.1));
        let mut around = name.into_iter().flat_map(Node::ancestors);
        let declared = around.find(|it| matches!(it.kind(), Kind::Declaration | Kind::ParameterDeclaration));
        declared.is_none_or(|declared| tree.slice(declared).contains("volatile"))
    };
    let is_it = |own: Declaration| {
        let levels = own.type_text.matches(['*', '[']).count();
        levels == 1 && !is_volatile(&own) && element(&own.type_text) == element(type_text)
    };
    variable(tree, base).is_some_and(is_it)
}

/// Whether a name is that of an array `__constant__ T name[…]` outside of all functions, and of nothing else.
fn is_constant_memory(tree: &SyntaxTree, base: Node<'_>, type_text: &str) -> bool {
    let name = tree.slice(base);
    let is_hidden = || may_be_member(tree, name) || is_used_otherwise(tree, base);
    if variable(tree, base).is_some() || tree.is_declared_beside(name) || is_hidden() {
        return false;
    }
    let inside = [Kind::FunctionDefinition, Kind::FieldDeclarationList, Kind::TemplateDeclaration];
    let is_outside = |node: &Node<'_>| !node.ancestors().skip(1).any(|around| inside.contains(&around.kind()));
    let declares = |node: &Node<'_>| {
        let mut names =
            node.fields(Field::Declarator).filter_map(|it| it.descendants().find(|it| it.kind() == Kind::Identifier));
        names.any(|own| tree.slice(own) == name)
    };
    let mut all = tree.nodes_of(&[Kind::Declaration]).filter(declares);
    let (Some(declared), None) = (all.next(), all.next()) else { return false };
    let declarator = declared.field(Field::Declarator);
    let initialized = declarator.filter(|it| it.kind() == Kind::InitDeclarator);
    let declarator = initialized.and_then(|it| it.field(Field::Declarator)).or(declarator);
    let array = declarator.filter(|it| it.kind() == Kind::ArrayDeclarator);
    let is_array = array.and_then(|it| it.field(Field::Declarator)).is_some_and(|it| it.kind() == Kind::Identifier);
    is_array
        && is_outside(&declared)
        && declared.fields(Field::Declarator).count() == 1
        && declared.children().any(|word| tree.slice(word) == "__constant__")
        && !tree.slice(declared).contains("volatile")
        && declared.field(Field::Type).is_some_and(|it| is_type(tree, it, type_text))
}

/// Whether a name is more than an array in its function, as one that is declared there.
fn is_used_otherwise(tree: &SyntaxTree, base: Node<'_>) -> bool {
    let is_element = |node: Node<'_>| {
        let subscript = node.parent().and_then(Subscript::of);
        subscript.is_some_and(|subscript| subscript.base() == Some(node))
    };
    enclosing_function(base).is_none_or(|function| !tree.named(function, tree.slice(base)).all(is_element))
}

/// Whether a name is that of a parameter `const T *__restrict__`, and all that is done with it is to read elements: nothing casts the `const`
/// away, or hands the pointer on.
fn is_promised(tree: &SyntaxTree, base: Node<'_>, type_text: &str) -> bool {
    let promised = || {
        let function = enclosing_function(base)?;
        let own = variable(tree, base).filter(|own| own.is_parameter)?;
        let declared = tree.root()?.named_descendant_for_byte_range(own.range.0, own.range.1)?;
        let pointer = declared.parent().filter(|it| it.kind() == Kind::PointerDeclarator)?;
        let whole = pointer.parent().filter(|it| it.kind() == Kind::ParameterDeclaration)?;
        let is_const = whole.children().any(|child| child != pointer && tree.slice(child) == "const");
        let mut words = pointer.descendants().filter(|it| it.kind() != Kind::Comment);
        let is_restrict = words.any(|word| matches!(tree.slice(word), "__restrict__" | "__restrict"));
        // What other threads write is another promise.
        let is_quiet = function.field(Field::Body).is_some_and(|body| !has_meetings(tree, body));
        let is_fit = is_const
            && is_restrict
            && is_quiet
            && is_type(tree, whole.field(Field::Type)?, type_text)
            && !tree.slice(whole).contains("volatile")
            && tree.compiled().is_verbatim(&whole.byte_range());
        Some(is_fit && uses_of(tree, declared)?.into_iter().all(|used| is_element_read(tree, used)))
    };
    promised().unwrap_or(false)
}

/// Whether a pointer is used for a number that an element of it has, or for a copy of the element.
fn is_element_read(tree: &SyntaxTree, pointer: Node<'_>) -> bool {
    let element = pointer.parent().filter(|it| Subscript::of(*it).is_some_and(|it| it.base() == Some(pointer)));
    let path = access_path(pointer);
    let declares_copy = |around: Node<'_>| {
        declares_value(tree, around) && around.field(Field::Declarator).is_some_and(|it| it.kind() == Kind::Identifier)
    };
    let is_copied = || element == Some(path) && path.parent().is_some_and(declares_copy);
    element.is_some() && (is_copied() || is_taken(tree, path))
}

/// Whether an expression is a number whose value is taken where it stands. A method, an operator and a constructor may change `mutable`
/// members, or what they cast; a reference may be kept.
fn is_taken(tree: &SyntaxTree, path: Node<'_>) -> bool {
    let Some(parent) = path.parent().filter(|_| is_number(tree, path)) else { return false };
    match parent.kind() {
        Kind::ArgumentList => parent.parent().and_then(Call::of).is_some() && is_value_argument(tree, parent),
        Kind::CastExpression => {
            parent.field(Field::Type).is_some_and(|type_node| is_number_type(tree, tree.slice(type_node)))
        }
        Kind::ReturnStatement => returns_number(tree, parent),
        _ => is_value(tree, path),
    }
}

/// Whether what a statement returns is a number by value.
fn returns_number(tree: &SyntaxTree, statement: Node<'_>) -> bool {
    let of = |function: Node<'_>| {
        let is_value = function.field(Field::Declarator).is_some_and(|it| it.kind() == Kind::FunctionDeclarator);
        let type_node = function.field(Field::Type)?;
        Some(is_value && is_number_type(tree, tree.slice(type_node)))
    };
    !is_in_lambda(statement) && enclosing_function(statement).and_then(of).unwrap_or(false)
}

/// Whether a type is spelled in the same way.
fn is_type(tree: &SyntaxTree, node: Node<'_>, type_text: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().filter(|word| *word != "struct").collect::<Vec<_>>().join(" ");
    plain(tree.slice(node)) == plain(type_text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;

    const HEAD: &str = "struct Node { float w[12]; int kids[4]; };\n__device__ Node state[4];\n";

    /// The statements of a kernel after the edit for `node`.
    fn edited(parameters: &str, body: &str) -> Option<String> {
        let text = format!("{HEAD}__global__ void k({parameters}, float *out, int i) {{ {body} }}\n");
        let tree = SyntaxTree::example("a.cu", &text);
        let edits = Copied::at(&tree, text.find(" node").unwrap() + 1, &[&tree])?.edits(&tree)?;
        let edited = apply(&text, &edits.iter().collect::<Vec<_>>())?;
        Some(edited.split_once(") { ")?.1.trim_end().trim_end_matches('}').trim_end().to_string())
    }

    #[test]
    fn what_nothing_writes_is_read_where_it_lies() {
        for (parameters, body, expected) in [
            (
                "const Node *__restrict__ in",
                "Node node = in[i]; out[i] = node.w[i];",
                "const Node &node = in[i]; out[i] = node.w[i];",
            ),
            (
                "const Node *__restrict__ in",
                "Node node = in[i]; out[i] = (float)node.kids[i] + fmaxf(node.w[i], 1.0f);",
                "const Node &node = in[i]; out[i] = (float)node.kids[i] + fmaxf(node.w[i], 1.0f);",
            ),
            (
                "Node const *__restrict__ in",
                "const Node node = in[i + 1]; out[i] = node.w[i] + in[i].kids[i];",
                "const Node &node = in[i + 1]; out[i] = node.w[i] + in[i].kids[i];",
            ),
            // Without a promise, where nothing is written before.
            ("Node *in", "Node node = in[i]; out[i] = node.w[i];", "const Node &node = in[i]; out[i] = node.w[i];"),
        ] {
            assert_eq!(edited(parameters, body).as_deref(), Some(expected));
        }
    }

    #[test]
    fn constant_memory_is_read_where_it_lies() {
        let of = |declared: &str, parameters: &str, body: &str| {
            let text = format!("{HEAD}{declared}\n__global__ void k({parameters}, float *out, int i) {{ {body} }}\n");
            let tree = SyntaxTree::example("a.cu", &text);
            Copied::at(&tree, text.rfind(" node = ").unwrap() + 1, &[&tree]).is_some()
        };
        let body = "Node node = all[i]; __syncthreads(); out[i] = node.w[i];";
        assert!(of("__constant__ Node all[4];", "int n", body));
        assert!(of("static __constant__ Node all[4];", "int n", body));
        assert!(of("__constant__ Node all[1] = {{{1, 2}, {3}}};", "int n", body));
        for (declared, parameters) in [
            ("__device__ Node all[4];", "int n"),
            ("__constant__ Node other[4];", "int n"),
            ("__constant__ Node *all;", "int n"),
            ("__constant__ Node *all[4];", "int n"),
            ("__constant__ Node all[4];", "Node *all"),
            ("namespace a { __constant__ Node all[4]; }\n__device__ Node all[4];", "int n"),
            ("struct Other { int n; operator Node() const; };\n__constant__ Other all[4];", "int n"),
            // A member, or what a macro declares, hides it where a class has it as its own or of a base.
            ("__constant__ Node all[4];\nstruct Base { Node *all; };", "int n"),
            ("#define DECLARE(name) Node *name;\n__constant__ Node all[4];\nstruct Base { DECLARE(all) };", "int n"),
            ("#define DECLARE Node *all;\n__constant__ Node all[4];\nstruct Base { DECLARE };", "int n"),
        ] {
            assert!(!of(declared, parameters, body), "{declared} {parameters}");
        }
        for body in [
            "Node node = all[i]; node.w[i] = 2; out[i] = node.w[i];",
            // The grammar takes that for an assignment.
            "Node (&all)[4] = state; Node node = all[i]; state[0].w[0] = 2; out[i] = node.w[i];",
        ] {
            assert!(!of("__constant__ Node all[4];", "int n", body), "{body}");
        }
    }

    #[test]
    fn functions_that_read_numbers_may_get_it() {
        let of = |functions: &str, body: &str| {
            let text = format!(
                "{HEAD}{functions}\n__global__ void k(const Node *__restrict__ in, float *out, int i) {{ {body} }}\n"
            );
            let tree = SyntaxTree::example("a.cu", &text);
            Copied::at(&tree, text.rfind(" node = ").unwrap() + 1, &[&tree]).is_some()
        };
        let body = "Node node = in[i]; out[i] = sum(node, i);";
        for functions in [
            "__device__ float sum(const Node &n, int i) { return n.w[i] + 1; }",
            "__device__ float sum(Node const& n, int i) { float s = 0; for (int k = 0; k < i; k++) s += n.w[k]; return s; }",
            "__device__ float first(const Node &m, int i) { return m.w[i]; }\n__device__ float sum(const Node &n, int i) { return first(n, i); }",
        ] {
            assert!(of(functions, body), "{functions}");
        }
        for functions in [
            "",
            "__device__ float sum(Node &n, int i) { return n.w[i]; }",
            "__device__ float sum(Node n, int i) { return n.w[i]; }",
            "__device__ float sum(const Node &n, int i);",
            "__device__ float sum(const Node &&n, int i) { return n.w[i]; }",
            "__device__ const float &sum(const Node &n, int i) { return n.w[i]; }",
            "__device__ float sum(const Node &n, int i) { const float *p = n.w; return p[i]; }",
            "__device__ float sum(const Node &n, int i) { return const_cast<Node &>(n).w[i] = 3; }",
            "__device__ float sum(const Node &n, int i) { __syncthreads(); return n.w[i]; }",
            "__device__ float sum(const Node &n, int i) { return sizeof(n); }",
            "__device__ float sum(const Node &n, int i) { return keep(n, i); }",
            "__device__ float sum(const Node &n, int i) { return n.w[i]; }\n__device__ float sum(Node &n, int i) { return 2; }",
            "struct A { __device__ static float sum(const Node &n, int i) { return n.w[i]; } };",
            "struct Other { float w[12]; };\n__device__ float sum(const Other &n, int i) { return n.w[i]; }",
            "template <class T> __device__ float sum(const T &n, int i) { return n.w[i]; }",
            // Without end.
            "__device__ float sum(const Node &n, int i) { return sum(n, i - 1); }",
        ] {
            assert!(!of(functions, body), "{functions}");
        }
    }

    #[test]
    fn what_may_change_meanwhile_is_copied() {
        for (parameters, body) in [
            // No promise, or a broken one.
            ("const Node *in", "Node node = in[i]; out[i] = node.w[i];"),
            ("Node *__restrict__ in", "Node node = in[i]; out[i] = node.w[i];"),
            ("const volatile Node *__restrict__ in", "Node node = in[i]; out[i] = node.w[i];"),
            ("const Node *__restrict__ in", "Node node = in[i]; ((Node *)in)[i].w[0] = 1; out[i] = node.w[i];"),
            ("const Node *__restrict__ in", "Node node = in[i]; change(in); out[i] = node.w[i];"),
            ("const Node *__restrict__ in", "Node node = in[i]; change(in[i]); out[i] = node.w[i];"),
            ("const Node *__restrict__ in", "Node node = in[i]; change(&in[i]); out[i] = node.w[i];"),
            (
                "const Node *__restrict__ in",
                "Node node = in[i]; const Node &r = in[i]; const_cast<Node &>(r).w[0] = 1; out[i] = node.w[i];",
            ),
            ("const Node *__restrict__ in", "Node node = in[i]; auto q = in; out[i] = node.w[i];"),
            ("const Node *__restrict__ in", "Node node = in[i]; out[0] = in[i].next(); out[i] = node.w[i];"),
            ("const Node *__restrict__ in", "Node node = in[i]; out[0] = in[i] + 1; out[i] = node.w[i];"),
            ("int n", "Node node = state[i]; out[i] = node.w[n];"),
            ("const Node * /* __restrict__ */ in", "Node node = in[i]; out[i] = node.w[i];"),
            ("const Node *__restrict__ in", "Node node = in[i]; __syncthreads(); out[i] = node.w[i];"),
            // The copy is written, taken, or not of that type.
            (
                "const Node *__restrict__ in",
                "Node node = in[i]; float *p = (float *)node.w; p[1] = 2; out[i] = node.w[i];",
            ),
            ("const Node *__restrict__ in", "Node node = in[i]; ((float &)node.w[i]) = 2; out[i] = node.w[i];"),
            (
                "const Node *__restrict__ in",
                "Node node = in[i]; const_cast<float &>(node.w[i]) = 2; out[i] = node.w[i];",
            ),
            ("const Node *__restrict__ in", "Node node = in[i]; Other other = node; out[i] = node.w[i];"),
            ("const Node *__restrict__ in", "Node node = in[i]; Other other(node.w[0]); out[i] = node.w[i];"),
            ("const Node *__restrict__ in", "Node node = in[i]; Other other = node.w[0]; out[i] = node.w[i];"),
            ("const Node *__restrict__ in", "Node node = in[i]; const float &r = node.w[i]; out[i] = r;"),
            ("const Node *__restrict__ in", "Node node = in[i]; out[i] = node.next(i) + node.w[i];"),
            ("const Node *__restrict__ in", "Node node = in[i]; node.w[0] = 1; out[i] = node.w[i];"),
            ("const Node *__restrict__ in", "Node node = in[i]; change(node); out[i] = node.w[i];"),
            ("const Node *__restrict__ in", "Node node = in[i]; Node *p = &node; out[i] = p->w[i];"),
            ("const Node *__restrict__ in", "Node node = in[i]; decltype(node) m = node; out[i] = m.w[i] + node.w[i];"),
            ("const Node *__restrict__ in", "Node node = in[i++]; out[i] = node.w[i];"),
            ("const Wide *__restrict__ in", "Node node = in[i]; out[i] = node.w[i];"),
            ("const Node *__restrict__ in", "Node node = in[i], other = in[0]; out[i] = node.w[i];"),
            ("const Node *__restrict__ in", "static Node node = in[i]; out[i] = node.w[i];"),
            ("const Node *const *__restrict__ in", "Node node = in[i][0]; out[i] = node.w[i];"),
        ] {
            let body = body.replace("; out[i]", "; out[0] = 1; out[i]");
            assert_eq!(edited(parameters, &body), None, "{body}");
        }
    }
}
