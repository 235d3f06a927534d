//! The kernels that can run the function of a variable. What one of them has no room for does not fit.

use std::collections::BTreeSet;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::identifiers::occurrences;
use cuda_syntax::tree::enclosing_function;
use lmem_unit::UnitCode;
use nv_code::KernelFacts;

use super::declaration::PrivateVariable;
use crate::framework::{Callers, LintContext};

/// The kernels of a unit that run a function.
pub struct Runners<'a> {
    pub kernels: Vec<&'a KernelFacts>,
    /// Whether no kernel of another file can run it.
    pub are_all: bool,
}

impl<'a> Runners<'a> {
    /// The kernels that can run the function of a variable; without one, the kernel of the finding.
    pub fn of(cx: &LintContext<'a>, variable: Option<&PrivateVariable>) -> Self {
        let entries = || cx.unit.facts.kernels.iter().filter(|kernel| kernel.is_entry);
        let Some(variable) = variable.filter(|variable| !variable.is_of_kernel) else {
            // A function with a frame of its own has the room of the kernels that call it.
            let is_own = |name: &String| *name == cx.frame.mangled || cx.frame.kernels.contains(name);
            let own: Vec<_> = entries().filter(|kernel| is_own(&kernel.name)).collect();
            return Self { kernels: if own.is_empty() { entries().collect() } else { own }, are_all: true };
        };
        let names = callers(cx, variable);
        let names = names.as_deref().unwrap_or_default();
        let (all, known) = (&cx.unit.facts.kernels, &cx.unit.callers);
        let named = known.entries(all).filter(|(_, kernel)| names.iter().any(|name| name == kernel));
        let named: Vec<_> = named.map(|(kernel, _)| kernel).collect();
        let kernels = if named.is_empty() { entries().collect() } else { named };
        // Kernels of libraries may run what they are given.
        let are_own = known.has_all(&variable.tree, || {
            let own = kernel_names(&variable.tree);
            known.entries(all).all(|(_, name)| own.contains(name))
        });
        Self { kernels, are_all: are_own && cx.unit.is_one_file() && !cx.unit.is_relocatable() }
    }
}

/// The kernels that lead to a variable's function, if its text has them all.
fn callers(cx: &LintContext<'_>, variable: &PrivateVariable) -> Callers {
    let tree = &variable.tree;
    let place = tree.span(0..1)?.file;
    let is_own = match &cx.unit.unit.code {
        UnitCode::CudaFile { file, .. } => place.path == file.path,
        _ => true,
    };
    let function = enclosing_function(tree.node_at(variable.offset)?)?;
    is_own.then(|| cx.unit.callers.of_function(tree, function.start_byte(), || kernels_that_call(tree, function)))?
}

/// The names of the kernels that a text defines.
fn kernel_names(tree: &SyntaxTree) -> BTreeSet<&str> {
    let functions = tree.nodes_of(&[Kind::FunctionDefinition]);
    let kernels = functions.filter(|function| tree.is_within_kernel(function.end_byte().saturating_sub(1)));
    kernels.filter_map(|function| function_name(tree, function)).collect()
}

/// The names of the kernels of a text that call a function, directly or through others of the text. `None` if a function
/// between may be called without its name: a constructor, an operator, in a macro, from a table, by a lambda of host code.
fn kernels_that_call(tree: &SyntaxTree, function: Node<'_>) -> Option<Vec<String>> {
    let (mut open, mut known, mut kernels) = (vec![function], Vec::new(), Vec::new());
    while let Some(current) = open.pop() {
        let name = function_name(tree, current)?.to_string();
        if known.contains(&name) {
            continue;
        }
        let is_in_macro = |node: Node<'_>| occurrences(tree.slice(node), &name).next().is_some();
        if tree.nodes_of(&[Kind::PreprocArg]).any(is_in_macro) {
            return None;
        }
        for mention in tree.nodes().filter(|node| is_name_of(tree, *node, &name)) {
            match enclosing_function(mention) {
                Some(caller) if caller != current => open.push(caller),
                Some(_) => {}
                None if is_declared(mention) => {}
                None => return None,
            }
        }
        if tree.is_within_kernel(current.end_byte().saturating_sub(1)) {
            kernels.push(name.clone());
        } else if !is_of_device(tree, current) {
            return None;
        }
        known.push(name);
    }
    Some(kernels)
}

/// The name by which a function is called.
fn function_name<'t>(tree: &'t SyntaxTree, function: Node<'_>) -> Option<&'t str> {
    let node = function.field(Field::Declarator)?.declared_name();
    let is_plain = matches!(node.kind(), Kind::Identifier | Kind::FieldIdentifier);
    let name = tree.slice(node);
    let class = function.ancestors().find(|node| matches!(node.kind(), Kind::ClassSpecifier | Kind::StructSpecifier));
    let is_constructor =
        class.and_then(|class| class.field(Field::Name)).is_some_and(|class| tree.slice(class) == name);
    (is_plain && !is_constructor).then_some(name)
}

/// Whether a name is that of a declaration, outside of all functions.
fn is_declared(name: Node<'_>) -> bool {
    let parent = name.parent().filter(|parent| parent.kind() == Kind::FunctionDeclarator);
    parent.is_some_and(|parent| parent.field(Field::Declarator) == Some(name))
}

fn is_of_device(tree: &SyntaxTree, function: Node<'_>) -> bool {
    let body = function.field(Field::Body).map_or(function.end_byte(), |body| body.start_byte());
    let head = tree.text().get(function.start_byte()..body).unwrap_or("");
    head.contains("__device__") && !head.contains("__host__")
}

/// Whether a node is a whole name: of a function that is called, or of a method.
fn is_name_of(tree: &SyntaxTree, node: Node<'_>, name: &str) -> bool {
    matches!(node.kind(), Kind::Identifier | Kind::FieldIdentifier) && tree.slice(node) == name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_followed_to_their_kernels() {
        let text = "#define CALL hidden(a)
__device__ void inner(int *a) { a[0] = 1; }
__device__ void outer(int *a) { inner(a); }
__device__ void loop(int *a) { loop(a); }
__device__ void hidden(int *a) { a[2] = 1; }
struct Row { __device__ Row(int *a) { a[3] = 1; } __device__ void fill(int *a) { a[4] = 1; }
  __device__ void operator()(int *a) { a[5] = 1; } };
__device__ void declared(int *a);
__device__ void declared(int *a) { a[6] = 1; }
__device__ void listed(int *a) { a[7] = 1; }
__device__ void (*const table[])(int *) = {listed};
__device__ void given(int *a) { a[8] = 1; }
void host(int *a) { run([=] __device__ { given(a); }); }
__global__ void first(int *a) { outer(a); declared(a); listed(a); given(a); }
__global__ void second(int *a) { a[1] = 2; loop(a); Row row(a); row.fill(a); row(a); CALL; }
__global__ void third(int *a) { inner(a); }
";
        let tree = SyntaxTree::example("a.cu", text);
        let callers = |head: &str| {
            let node = tree.node_at(text.find(head).unwrap()).unwrap();
            let mut all = kernels_that_call(&tree, enclosing_function(node).unwrap())?;
            all.sort();
            Some(all.join(" "))
        };
        assert_eq!(callers("loop(int").as_deref(), Some("second"));
        assert_eq!(callers("outer(int").as_deref(), Some("first"));
        assert_eq!(callers("inner(int").as_deref(), Some("first third"));
        assert_eq!(callers("fill(int").as_deref(), Some("second"));
        assert_eq!(callers("a[6]").as_deref(), Some("first"));
        for unknown in ["hidden(int", "Row(int", "a[5]", "a[7]", "a[8]"] {
            assert_eq!(callers(unknown), None, "{unknown}");
        }
    }
}
