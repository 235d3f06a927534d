//! Takes a kernel's parameter by reference in the functions that get it by value.
//!
//! The copy that such a function gets is a variable, even where the function is inlined. If its address is taken, as a reference to an
//! element does, the copy is in local memory, and so is the kernel's parameter that it was made of. What the kernel has is constant, so
//! that a reference to it reads the same.

use cuda_syntax::ast::{Call, Field, Kind, Node};
use cuda_syntax::tree::{access_path, base_name, enclosing_function, resolve, role};
use cuda_syntax::{SyntaxTree, types};
use lmem_base::diagnostic::Edit;
use lmem_base::source::Span;
use lmem_frame::StackObject;

use super::facts::classes::is_copied_plainly;
use super::facts::constness::may_be_const;
use super::facts::linkage::is_called_elsewhere;
use super::facts::sites::{functions_named, located};
use super::facts::variables::uses_of;

/// Limit on functions that hand the parameter on, each to the next.
const MAX_LEVELS: usize = 4;

/// The functions that take a kernel's parameter by value, and the edits that have them take it by reference; `None` where there are none,
/// or where one of them, or a call of it elsewhere, may need a copy.
pub fn edits(object: &StackObject, parameter: &Span) -> Option<(Vec<String>, Vec<Edit>)> {
    let (tree, offset) = located(object, parameter)?;
    let mut found = (Vec::new(), Vec::new());
    follow(tree, offset, MAX_LEVELS, &mut found)?;
    (!found.0.is_empty()).then_some(found)
}

fn follow(tree: &SyntaxTree, offset: usize, levels: usize, found: &mut (Vec<String>, Vec<Edit>)) -> Option<()> {
    let name = tree.root()?.named_descendant_for_byte_range(offset, offset + 1)?;
    let function = enclosing_function(name)?;
    let all = tree.declarations(function);
    let own = resolve(&all, tree.slice(name), offset).filter(|own| own.range.0 == offset)?;
    for used in tree.names_of(function, &all, own) {
        let Some((callee, position)) = passed(tree, used) else { continue };
        let Some(taken) = Taken::of(tree, callee, position) else { continue };
        if found.0.iter().any(|known| known == callee) {
            continue;
        }
        if levels == 0 || !taken.may_refer(tree, callee, position) {
            return None;
        }
        found.0.push(callee.to_string());
        if !taken.is_constant(tree) {
            found.1.push(tree.insertion(taken.whole.start_byte(), "const ")?);
        }
        found.1.push(tree.insertion(taken.name.start_byte(), "&")?);
        follow(tree, taken.name.start_byte(), levels - 1, found)?;
    }
    Some(())
}

/// The function that gets a variable itself as an argument, and the number of the argument.
fn passed<'t>(tree: &'t SyntaxTree, used: Node<'t>) -> Option<(&'t str, usize)> {
    let list = used.parent().filter(|parent| parent.kind() == Kind::ArgumentList)?;
    let call = Call::of(list.parent()?)?;
    let position = call.arguments().position(|argument| argument == used)?;
    Some((base_name(tree.slice(call.function()?)), position))
}

/// A parameter that is a copy of the argument.
struct Taken<'t> {
    definition: Node<'t>,
    whole: Node<'t>,
    name: Node<'t>,
}

impl<'t> Taken<'t> {
    /// `None` if the function is not defined once, alone and outside of classes, or takes no object by value. A class whose copies are not
    /// plain may do something when one is made, and one with `mutable` members is changed though it is constant.
    fn of(tree: &'t SyntaxTree, function: &str, position: usize) -> Option<Self> {
        let functions = functions_named(tree, function);
        let [definition] = functions.as_slice() else { return None };
        let is_of_class = |node: Node<'_>| matches!(node.kind(), Kind::ClassSpecifier | Kind::StructSpecifier);
        let declarator = definition.field(Field::Declarator).filter(|it| it.kind() == Kind::FunctionDeclarator)?;
        if definition.field(Field::Body).is_none() || definition.ancestors().any(is_of_class) {
            return None;
        }
        let list = declarator.field(Field::Parameters)?.children();
        let whole = list.into_iter().filter(|node| node.is_named() && node.kind() != Kind::Comment).nth(position)?;
        let name = whole.field(Field::Declarator).filter(|it| it.kind() == Kind::Identifier)?;
        let type_text = tree.slice(whole.field(Field::Type)?);
        let is_object = whole.kind() == Kind::ParameterDeclaration
            && !types::is_scalar(type_text)
            && is_copied_plainly(tree, type_text);
        is_object.then_some(Self { definition: *definition, whole, name })
    }

    fn is_constant(&self, tree: &SyntaxTree) -> bool {
        self.whole.children().any(|child| tree.slice(child) == "const")
    }

    /// Whether nothing writes to the parameter, and all calls give it a parameter of theirs that nothing writes to.
    fn may_refer(&self, tree: &SyntaxTree, function: &str, position: usize) -> bool {
        let is_fixed = |whole: Node<'_>, name: Node<'_>| {
            let is_constant = whole.children().any(|child| tree.slice(child) == "const");
            !is_assigned(tree, name) && (is_constant || may_be_const(tree, name.start_byte()))
        };
        let is_plain = tree.is_plain(self.definition) && !is_called_elsewhere(tree, self.definition);
        let Some(root) = tree.root().filter(|_| is_plain && is_fixed(self.whole, self.name)) else { return false };
        let own = self.definition.field(Field::Declarator);
        let is_head = |name: Node<'_>| own.is_some_and(|own| own.byte_range().contains(&name.start_byte()));
        let is_given = |name: Node<'_>| -> Option<bool> {
            let mut called = name;
            while Call::of(called.parent()?).is_none() {
                called = called
                    .parent()
                    .filter(|it| matches!(it.kind(), Kind::TemplateFunction | Kind::QualifiedIdentifier))?;
            }
            let call = Call::of(called.parent()?).filter(|call| call.function() == Some(called))?;
            let argument = call.arguments().nth(position).filter(|it| it.kind() == Kind::Identifier)?;
            let around = enclosing_function(argument)?;
            let all = tree.declarations(around);
            let given = resolve(&all, tree.slice(argument), argument.start_byte()).filter(|it| it.is_parameter)?;
            let declared = tree.root()?.named_descendant_for_byte_range(given.range.0, given.range.1)?;
            let whole = declared.parent().filter(|whole| whole.kind() == Kind::ParameterDeclaration)?;
            Some(is_fixed(whole, declared))
        };
        tree.named(root, function).all(|name| is_head(name) || is_given(name).unwrap_or(false))
    }
}

/// Whether the function that declares a parameter assigns to it, or to a part of it, or may do so through a cast.
fn is_assigned(tree: &SyntaxTree, declared: Node<'_>) -> bool {
    let found = || {
        let function = enclosing_function(declared)?;
        // A cast may take the `const` away.
        let is_const_cast = |node: Node<'_>| {
            let called = Call::of(node).and_then(Call::function);
            called.is_some_and(|called| tree.slice(called).starts_with("const_cast"))
        };
        let is_cast = |node: Node<'_>| tree.cast(node).is_some() || is_const_cast(node);
        let is_written = |name: Node<'_>| {
            let (_, is_written, is_passed) = role(access_path(name));
            is_written && !is_passed || name.ancestors().take_while(|node| *node != function).any(is_cast)
        };
        Some(uses_of(tree, declared)?.into_iter().any(is_written))
    };
    found().unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;

    /// The text where the functions that get `p` of the kernel take it by reference.
    fn edited(functions: &str, kernel: &str) -> Option<String> {
        let text =
            format!("struct P {{ int v[8]; }};\n{functions}\n__global__ void k(const P p, int n) {{ {kernel} }}\n");
        let tree = SyntaxTree::example("a.cu", &text);
        let mut found = (Vec::new(), Vec::new());
        follow(&tree, text.find("p, int n) {").unwrap(), MAX_LEVELS, &mut found)?;
        let edited = apply(&text, &found.1.iter().collect::<Vec<_>>())?;
        Some(edited.lines().nth(1)?.to_string()).filter(|edited| edited != functions)
    }

    #[test]
    fn functions_refer_to_the_parameter_that_they_are_given() {
        for (before, kernel, after) in [
            ("__device__ void f(const P a) { use(a.v); }", "f(p);", "__device__ void f(const P &a) { use(a.v); }"),
            (
                "__device__ int f(int i, P a) { return a.v[i]; }",
                "f(n, p);",
                "__device__ int f(int i, const P &a) { return a.v[i]; }",
            ),
            (
                "__device__ int g(const P b) { return b.v[0]; } template <int N> __device__ int f(const P a) { return g(a) + N; }",
                "f<3>(p);",
                "__device__ int g(const P &b) { return b.v[0]; } template <int N> __device__ int f(const P &a) { return g(a) + N; }",
            ),
        ] {
            assert_eq!(edited(before, kernel).as_deref(), Some(after));
        }
    }

    #[test]
    fn functions_that_may_need_a_copy_keep_it() {
        for (functions, kernel) in [
            // Written there, and by the caller.
            ("__device__ void f(P a) { a.v[0] = 1; }", "f(p);"),
            ("__device__ void f(const P a) { use(a.v); } __device__ void g(P q) { q.v[0] = 2; f(q); }", "f(p);"),
            // Another argument, another way to call it, another function of the name.
            ("__device__ void f(const P a) { use(a.v); } __device__ void g() { f(P()); }", "f(p);"),
            ("__device__ void f(const P a) { use(a.v); } __device__ void (*g)(const P) = f;", "f(p);"),
            ("__device__ void f(const P a) { use(a.v); } using B = Bind<f>;", "f(p);"),
            ("__device__ void f(const P a) { use(a.v); } struct B : Bind<f> { };", "f(p);"),
            ("__device__ void f(const P a) { use(a.v); }\n#define F f\n", "f(p);"),
            ("__device__ void f(const P a) { use(a.v); } __device__ void f(int a) { }", "f(p);"),
            ("__host__ __device__ void f(const P a) { use(a.v); }", "f(p);"),
            // Written through a pointer, and to what is constant.
            ("__device__ void f(P a) { int *q = (int *)&a; q[0] = 1; use(a.v); }", "f(p);"),
            ("__device__ void f(P a) { int *q = (int *)a.v; q[0] = 1; use(a.v); }", "f(p);"),
            ("__device__ void f(const P a) { ((P &)a).v[0] = 1; use(a.v); }", "f(p);"),
            ("__device__ void f(const P a) { const_cast<P &>(a).v[0] = 1; use(a.v); }", "f(p);"),
            ("__device__ void f(const P a) { ((int *)a.v)[0] = 1; use(a.v); }", "f(p);"),
            ("struct M { mutable int m; }; __device__ void f(const M a) { a.m = 1; }", "f(p);"),
            (
                "struct C { int m; __device__ C(const C &o) : m(o.m + 1) {} }; __device__ int f(const C a) { return a.m; }",
                "f(p);",
            ),
            // A reference already, a number, a method.
            ("__device__ void f(const P &a) { use(a.v); }", "f(p);"),
            ("__device__ void f(const int a) { use(a); }", "f(p);"),
            ("struct S { __device__ void f(const P a) { use(a.v); } };", "S s; s.f(p);"),
        ] {
            assert_eq!(edited(functions, kernel), None, "{functions}");
        }
    }
}
