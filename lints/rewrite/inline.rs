//! Functions that could be inlined but were not.

use std::collections::BTreeSet;
use std::ops::Range;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Field, Node};
use cuda_syntax::identifiers::occurrences;
use cuda_syntax::tree::base_name;
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::mangling::demangle;
use lmem_base::source::Span;
use lmem_frame::StackObject;
use lmem_unit::MappedText;
use ptx_syntax::Operand;

use crate::framework::LintContext;
use crate::rewrite::Rewrite;
use crate::rewrite::facts::linkage::is_called_by_symbol;
use crate::rewrite::facts::sites::{functions_named, trees};

/// Instructions of PTX that inlining may add to a unit: with more, `ptxas` takes long, and such functions are kept out of line on
/// purpose. What grows too much for what it gains is found by its machine code.
const MAX_ADDED: usize = 10_000;

/// Lets the compiler inline the functions (mangled names) that receive an object's address.
pub fn suggestion(cx: &LintContext<'_>, object: &StackObject, functions: &[String]) -> Option<Suggestion> {
    // A kernel that is larger already loses as little by half of itself.
    let own = cx.unit.facts.ptx.function(&cx.frame.mangled).map_or(0, |kernel| kernel.instructions.len());
    if added(cx, functions) > MAX_ADDED.max(own / 2) {
        return None;
    }
    let names: BTreeSet<String> = functions.iter().map(|function| format!("`{}`", demangle(function))).collect();
    let edits = functions.iter().flat_map(|function| in_trees(cx, object, function)).collect();
    offer(&names.into_iter().collect::<Vec<_>>(), edits)
}

/// The suggestion for one function, given the span of its name.
pub fn of_function(cx: &LintContext<'_>, name: &Span) -> Option<Suggestion> {
    offer(&[format!("`{}`", name.text())], in_file(cx, name))
}

/// The instructions that inlining functions adds: all of them at each call but one.
fn added(cx: &LintContext<'_>, functions: &[String]) -> usize {
    let ptx = &cx.unit.facts.ptx;
    let calls = |name: &str| {
        let all = ptx.functions.iter().flat_map(|function| &function.instructions);
        all.filter(|it| {
            it.call().is_some_and(|call| matches!(call.callee, Operand::Symbol(callee, _) if **callee == *name))
        })
        .count()
    };
    let of_function = |name: &String| {
        let size = ptx.function(name).map_or(0, |function| function.instructions.len());
        size * calls(name).saturating_sub(1)
    };
    functions.iter().map(of_function).sum()
}

fn offer(names: &[String], edits: Vec<Edit>) -> Option<Suggestion> {
    let title = format!("let {} be inlined", names.join(" and "));
    (!edits.is_empty()).then(|| Rewrite::new(Applicability::MachineApplicable, edits).suggestion(title))
}

/// Edits that replace a function's `__noinline__`; none if it is recursive, or its definition is not in the user's
/// files.
fn in_trees(cx: &LintContext<'_>, object: &StackObject, function: &str) -> Vec<Edit> {
    let demangled = demangle(function);
    let name = base_name(&demangled);
    let trees = trees(object);
    let is_relocatable = cx.unit.is_relocatable();
    // A header may declare what another file defines.
    let is_symbol = trees.iter().any(|tree| has_symbol(tree, name, is_relocatable));
    let edits = trees.into_iter().map(|tree| told(tree, name, is_symbol).unwrap_or_default());
    edits.flatten().collect()
}

/// Edits for the function whose name is at a span. Only the file is searched, so there are none for kernel strings.
fn in_file(cx: &LintContext<'_>, name: &Span) -> Vec<Edit> {
    let unit = cx.unit.compiled;
    let is_text = name.file.path.extension().is_some_and(|ending| ending == "rs");
    let tree = (!is_text).then(|| {
        SyntaxTree::new(MappedText::from_file(&name.file), unit.file(&name.file)).with_beside(unit.beside(&name.file))
    });
    let name = base_name(name.text());
    tree.and_then(|tree| told(&tree, name, has_symbol(&tree, name, cx.unit.is_relocatable()))).unwrap_or_default()
}

/// Whether other object files may call a function by its symbol, which an inline function does not have.
pub fn has_symbol(tree: &SyntaxTree, name: &str, is_relocatable: bool) -> bool {
    functions_named(tree, name).iter().any(|function| is_called_by_symbol(tree, *function, is_relocatable))
}

/// `__forceinline__` for `__noinline__` in all declarations of a function, or nothing for it, where the function must
/// keep its symbol; `None` if it is recursive.
pub fn heads(tree: &SyntaxTree, name: &str, is_symbol: bool) -> Option<Vec<Edit>> {
    const KEYWORD: &str = "__noinline__";
    // A declaration that another build has would say something else.
    if tree.is_named_where_skipped(&(0..tree.text().len()), name) {
        return None;
    }
    let mut edits = Vec::new();
    for node in functions_named(tree, name) {
        let body = node.field(Field::Body);
        let is_recursive = body.is_some_and(|body| {
            tree.calls(body).iter().any(|(called, _)| base_name(called) == name) || calls_below(tree, body, name)
        });
        // Assembly of another build may stand in one place alone.
        if is_recursive || !tree.is_plain(node) || tree.differs_in_builds(&node.byte_range()) {
            return None;
        }
        let end = body.map_or(node.end_byte(), |body| body.start_byte());
        // The grammar does not know all CUDA keywords, so the head is searched as text.
        let head = tree.text().get(node.start_byte()..end)?;
        let words = head.match_indices(KEYWORD).map(|(at, _)| node.start_byte() + at);
        edits.extend(words.filter_map(|at| match is_symbol {
            true => tree.neutral_replacement(tree.without_blanks(at..at + KEYWORD.len()), ""),
            false => tree.neutral_replacement(at..at + KEYWORD.len(), "__forceinline__"),
        }));
    }
    Some(edits)
}

/// The same, and where no declaration says `__noinline__`, the word that has the compiler inline what it found too large.
fn told(tree: &SyntaxTree, name: &str, is_symbol: bool) -> Option<Vec<Edit>> {
    let mut edits = heads(tree, name, is_symbol)?;
    if edits.is_empty() && !is_symbol {
        let definition = |node: Node<'_>| Some(node.start_byte()..node.field(Field::Body)?.start_byte());
        let definitions = functions_named(tree, name).into_iter().filter_map(definition);
        edits.extend(definitions.filter_map(|head| forced(tree, head)));
    }
    Some(edits)
}

/// `__forceinline__` for the `inline` of a definition, or behind its `__device__`.
fn forced(tree: &SyntaxTree, head: Range<usize>) -> Option<Edit> {
    let text = tree.text().get(head.clone())?;
    let word = |word: &str| {
        let at = head.start + occurrences(text, word).next()?;
        Some(at..at + word.len())
    };
    if ["__forceinline__", "__global__", "always_inline", "noinline"].iter().any(|it| word(it).is_some()) {
        return None;
    }
    let device = word("__device__")?;
    match ["inline", "__inline__"].into_iter().find_map(word) {
        Some(inline) => tree.neutral_replacement(inline, "__forceinline__"),
        None => tree.neutral_replacement(device, "__device__ __forceinline__"),
    }
}

/// Searches all descendants, because `calls` skips nested blocks.
fn calls_below(tree: &SyntaxTree, body: Node<'_>, name: &str) -> bool {
    let mut called = body.descendants().filter_map(Call::of).filter_map(Call::function);
    called.any(|called| base_name(tree.slice(called)) == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;

    #[test]
    fn functions_lose_their_noinline() {
        let text = "__device__ __noinline__ void f(float* p);\n\
            template <int N> __noinline__ __device__ void f(float* p) { p[0] = N; }\n\
            __device__ __noinline__ void g(float* p) { f<3>(p); }\n\
            __device__ __noinline__ int r(int n) { if (n) { return r(n - 1); } return 0; }\n";
        let tree = SyntaxTree::example("a.cu", text);
        let edits = heads(&tree, "f", false).unwrap();
        let edited = apply(text, &edits.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(edited.matches("__forceinline__").count(), 2);
        assert!(edited.contains("__device__ __noinline__ void g"), "{edited}");
        assert_eq!(heads(&tree, "r", false), None);
        assert_eq!(heads(&tree, "nothing", false), Some(Vec::new()));
    }

    #[test]
    fn functions_that_are_too_large_to_be_inlined_are_told_to_be() {
        let text = "__device__ void f(float* p);\n\
            __device__ void f(float* p) { p[0] = 1; }\n\
            static inline __device__ void g(float* p) { f(p); }\n\
            void h(float* p) { p[0] = 2; }\n\
            __device__ __forceinline__ void i(float* p) { p[0] = 2; }\n";
        let tree = SyntaxTree::example("a.cu", text);
        let edited = |name: &str, is_symbol: bool| {
            let edits = told(&tree, name, is_symbol).unwrap();
            apply(text, &edits.iter().collect::<Vec<_>>()).unwrap()
        };
        let with = |of: &str, instead: &str| text.replace(of, instead);
        let definition = "__device__ void f(float* p) {";
        assert_eq!(edited("f", false), with(definition, "__device__ __forceinline__ void f(float* p) {"));
        assert_eq!(edited("g", false), with("static inline __device__", "static __forceinline__ __device__"));
        for (name, is_symbol) in [("f", true), ("h", false), ("i", false)] {
            assert_eq!(edited(name, is_symbol), text, "{name}");
        }
    }

    #[test]
    fn functions_that_other_files_call_keep_their_symbol() {
        let text = "__host__ __device__ __noinline__ void f(float* p);\n\
            __host__ __device__ __noinline__\nvoid f(float* p) { p[0] = 1; }\n";
        let tree = SyntaxTree::example("a.cu", text);
        assert!(has_symbol(&tree, "f", false));
        let edits = heads(&tree, "f", true).unwrap();
        let edited = apply(text, &edits.iter().collect::<Vec<_>>()).unwrap();
        let expected = "__host__ __device__ void f(float* p);\n\
            __host__ __device__\nvoid f(float* p) { p[0] = 1; }\n";
        assert_eq!(edited, expected);
    }
}
