//! What the functions that a statement calls may do beside computing values.
//!
//! A loop that gets other rounds, or a guard around its body, may meet other threads in other places, and a round that
//! ends in a called function does not reach what stands behind the call.

use std::collections::{BTreeSet, HashMap};

use cuda_syntax::ast::{Call, Field, Kind, Node};
use cuda_syntax::tree::last_name;
use cuda_syntax::{SyntaxTree, types};

use lmem_unit::meeting::{has_meeting_instruction, is_ending, is_meeting, is_returning};

use super::called::called as function_of;
use super::purity::is_pure_call;
use super::sites::function_declared;

/// Whether all functions that a region calls return to it, and threads meet in none of them. A function that the text
/// does not define may do anything.
pub fn are_quiet(tree: &SyntaxTree, region: Node<'_>) -> bool {
    !tree.behaviour_beside().has_loud_operators && tree.kept(UnseenAreQuiet::of).0 && Callees::new(tree).calls(region)
}

/// Whether the functions of a text that are called without a call in it all return and meet no other threads.
struct UnseenAreQuiet(bool);

impl UnseenAreQuiet {
    fn of(tree: &SyntaxTree) -> Self {
        let mut callees = Callees::new(tree);
        Self(callees.unseen_calls().iter().all(|definition| callees.is_quiet(*definition)))
    }
}

struct Callees<'t> {
    tree: &'t SyntaxTree,
    seen: BTreeSet<&'t str>,
}

impl<'t> Callees<'t> {
    fn new(tree: &'t SyntaxTree) -> Self {
        Self { tree, seen: BTreeSet::new() }
    }

    /// Operators, conversions, constructors and destructors: they are called without a call in the text.
    fn unseen_calls(&self) -> Vec<Node<'t>> {
        let tree = self.tree;
        let classes: BTreeSet<&str> = tree
            .nodes_of(&[Kind::StructSpecifier, Kind::ClassSpecifier])
            .filter_map(|node| node.field(Field::Name))
            .map(|name| tree.slice(name))
            .collect();
        let is_unseen = |node: &Node<'t>| {
            let name = node.field(Field::Declarator).map_or("", |declarator| tree.slice(declarator.declared_name()));
            name.contains("operator") || classes.contains(last_name(name))
        };
        tree.nodes_of(&[Kind::FunctionDefinition]).filter(is_unseen).collect()
    }

    fn calls(&mut self, region: Node<'t>) -> bool {
        region.descendants().filter_map(Call::of).all(|call| self.call(call))
    }

    fn call(&mut self, call: Call<'t>) -> bool {
        let tree = self.tree;
        let Some(called) = call.function() else { return false };
        let name = last_name(tree.slice(called));
        if is_meeting(name) || is_ending(name) {
            return false;
        }
        if tree.is_declared_beside(name) && !tree.behaviour_beside().quiet.contains(name) {
            return false;
        }
        if is_pure_call(tree, call.node()) || !self.seen.insert(name) {
            return true;
        }
        let definitions = definitions(tree, name);
        // `m(i, j)` of an object.
        if definitions.is_empty()
            && let Some(function) = function_of(tree, call).filter(|it| it.object.is_some())
        {
            return self.is_quiet(function.body);
        }
        match definitions.is_empty() {
            true => tree.is_declared_beside(name) || is_of_toolkit(tree, name),
            false => definitions.into_iter().all(|definition| self.is_quiet(definition)),
        }
    }

    /// Whether a definition has nothing in it that ends a thread or waits for others.
    fn is_quiet(&mut self, definition: Node<'t>) -> bool {
        let tree = self.tree;
        let is_loud = |node: Node<'_>| {
            let text = || tree.slice(node);
            node.kind() == Kind::ThrowStatement || (node.is_assembly() && has_meeting_instruction(text()))
        };
        // What an `#include` within it brings is not seen.
        let includes =
            tree.slice(definition).lines().map(str::trim_start).any(|line| {
                line.strip_prefix('#').is_some_and(|directive| directive.trim_start().starts_with("include"))
            });
        // Another build may have more in it.
        !includes
            && !tree.differs_in_builds(&definition.byte_range())
            && !definition.descendants().any(is_loud)
            && self.calls(definition)
    }
}

/// Functions and lambdas that the text defines under a name.
fn definitions<'t>(tree: &'t SyntaxTree, name: &str) -> Vec<Node<'t>> {
    let known = tree.kept(Definitions::of);
    known.0.get(name).into_iter().flatten().filter_map(|id| tree.node(*id)).collect()
}

/// All functions and lambdas that a text defines, by name, as the numbers of their nodes.
struct Definitions(HashMap<String, Vec<usize>>);

impl Definitions {
    fn of(tree: &SyntaxTree) -> Self {
        let mut found: HashMap<String, Vec<usize>> = HashMap::new();
        for node in tree.nodes_of(&[Kind::FunctionDefinition, Kind::InitDeclarator]) {
            let is_lambda = || node.field(Field::Value).is_some_and(|it| it.kind() == Kind::LambdaExpression);
            let name = match node.kind() {
                Kind::FunctionDefinition => function_declared(tree, node),
                _ => node.field(Field::Declarator).filter(|_| is_lambda()).map(|it| tree.slice(it.declared_name())),
            };
            if let Some(name) = name {
                found.entry(name.to_string()).or_default().push(node.id());
            }
        }
        Self(found)
    }
}

fn is_of_toolkit(tree: &SyntaxTree, name: &str) -> bool {
    let is_declared = || tree.macros_named(name).next().is_some();
    (is_returning(name) || types::size_of(name).is_some()) && !is_declared()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_functions_do_is_followed() {
        let is_quiet = |before: &str, body: &str| {
            let text = format!("{before}\n__global__ void k(int* in, int n) {{ {body} }}\n");
            let tree = SyntaxTree::example("a.cu", text.as_str());
            let kernel = definitions(&tree, "k");
            are_quiet(&tree, kernel[0].field(Field::Body).unwrap())
        };
        for (before, body) in [
            ("", "in[0] = max(n, __popc(n)); atomicAdd(in, 1); printf(\"%d\", n);"),
            ("__device__ int twice(int n) { if (n) return 2; return n > 8 ? twice(n - 1) : n; }", "in[0] = twice(n);"),
            (
                "__device__ int load(int* p) { int r; asm(\"ld.global.nc.u32 %0, [%1];\" : \"=r\"(r) : \"l\"(p)); return r; }",
                "n = load(in);",
            ),
            ("", "auto next = [&] { return ++n; }; in[next()] = 0;"),
        ] {
            assert!(is_quiet(before, body), "{before} {body}");
        }
        for (before, body) in [
            ("__device__ int check(int n) { if (n > 8) __trap(); return n; }", "in[0] = check(n);"),
            (
                "__device__ int inner(int n) { assert(n < 8); return n; } __device__ int check(int n) { return inner(n); }",
                "in[0] = check(n);",
            ),
            ("__device__ void leave() { asm volatile(\"exit;\"); }", "leave();"),
            ("__device__ int sum(int n) { return __shfl_sync(~0u, n, 0); }", "in[0] = sum(n);"),
            (
                "struct Row { int* p; __device__ int operator[](int i) const { if (i > 8) __trap(); return p[i]; } };",
                "Row row{in}; in[0] = row[n];",
            ),
            ("struct Id { int i; __device__ Id(int i) : i(i) { if (i > 8) __trap(); } };", "const Id id = n;"),
            ("__device__ int check(int n);", "in[0] = check(n);"),
            ("", "auto check = [&] { __trap(); }; check();"),
            ("", "in[0] = row.at(n);"),
        ] {
            assert!(!is_quiet(before, body), "{before} {body}");
        }
    }
}
