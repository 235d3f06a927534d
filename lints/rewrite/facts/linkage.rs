//! What other translation units see of a function. An edit is tried on the units of the run; the linker would be the
//! first to notice that another object file misses a symbol.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::identifiers::identifiers;
use cuda_syntax::tree::last_name;

/// Words that keep a function's symbol out of other files, or have each file that calls it define it.
const INLINE: [&str; 6] = ["static", "inline", "__inline__", "__inline", "__forceinline__", "constexpr"];

/// Whether another object file may call a function by a symbol that only its own file defines: by the host's symbol, or,
/// with relocatable device code, by that of the device.
pub fn is_called_by_symbol(tree: &SyntaxTree, function: Node<'_>, is_relocatable: bool) -> bool {
    (is_relocatable || is_of_host(tree, function)) && !is_defined_where_used(tree, function)
}

/// Whether a host compiler gets the function's body, too. NVRTC's texts have no host.
pub fn is_of_host(tree: &SyntaxTree, function: Node<'_>) -> bool {
    let is_text = is_in_file(tree, function, "rs");
    let Some(words) = words(tree, function).filter(|_| !is_text) else { return !is_text };
    let has = |word: &str| words.iter().any(|it| it == word);
    has("__host__") || has("host") || !(has("__device__") || has("device") || has("__global__") || has("global"))
}

/// Whether code that is not seen may call a function: host code that no compilation of the run reads, by its symbol or because it
/// includes the function's header; a template that has it as an argument, a macro, or lines that are skipped here.
pub fn is_called_elsewhere(tree: &SyntaxTree, function: Node<'_>) -> bool {
    let name =
        function.field(Field::Declarator).map_or("", |declarator| last_name(tree.slice(declarator.declared_name())));
    if !tree.shows_all_uses(name) {
        return true;
    }
    is_of_host(tree, function) && !(is_defined_where_used(tree, function) && is_in_file(tree, function, "cu"))
}

fn is_in_file(tree: &SyntaxTree, function: Node<'_>, ending: &str) -> bool {
    let span = tree.span(function.start_byte()..function.start_byte() + 1);
    span.is_some_and(|span| span.file.path.extension().is_some_and(|it| it == ending))
}

/// Whether every file that calls a function has its definition: a `static` or inline function, a template that is not
/// an explicit specialization, a member defined in its class, a function of an unnamed namespace.
fn is_defined_where_used(tree: &SyntaxTree, function: Node<'_>) -> bool {
    let has_word = || words(tree, function).is_some_and(|all| all.iter().any(|word| INLINE.contains(&word.as_str())));
    let of_surroundings = |around: Node<'_>| match around.kind() {
        Kind::TemplateDeclaration => !is_specialization(tree, around),
        Kind::ClassSpecifier | Kind::StructSpecifier => true,
        _ => is_unnamed_namespace(tree, around),
    };
    function.ancestors().skip(1).any(of_surroundings) || has_word()
}

/// `template <> int f<3>()` is a function like any other.
fn is_specialization(tree: &SyntaxTree, template: Node<'_>) -> bool {
    let head = tree.slice(template).strip_prefix("template").map_or("", str::trim_start);
    head.strip_prefix('<').is_some_and(|inner| inner.trim_start().starts_with('>'))
}

pub fn is_unnamed_namespace(tree: &SyntaxTree, node: Node<'_>) -> bool {
    let inner = tree.slice(node).strip_prefix("namespace");
    inner.is_some_and(|inner| inner.trim_start().starts_with('{'))
}

/// The words before a function's name, as written and as compiled: macros may hide `__host__`, which is a macro itself
/// for nvcc.
fn words(tree: &SyntaxTree, function: Node<'_>) -> Option<Vec<String>> {
    let range = function.start_byte()..function.field(Field::Declarator)?.start_byte();
    let compiled = tree.compiled().compiled(tree.text(), range.clone())?;
    let all = identifiers(tree.text().get(range)?).chain(identifiers(&compiled)).map(str::to_string);
    Some(all.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::facts::sites::functions_named;

    /// Whether others may call the function by its symbol, without and with relocatable code, and at all.
    fn facts(file: &str, text: &str) -> (bool, bool, bool) {
        let tree = SyntaxTree::example(file, text);
        let all = functions_named(&tree, "f");
        let is = |relocatable| all.iter().any(|node| is_called_by_symbol(&tree, *node, relocatable));
        (is(false), is(true), all.iter().any(|node| is_called_elsewhere(&tree, *node)))
    }

    #[test]
    fn symbols_that_other_files_may_need() {
        for (text, expected) in [
            ("__host__ __device__ __noinline__ void f(int* p) { *p = 1; }", (true, true, true)),
            ("void f(int* p) { *p = 1; }", (true, true, true)),
            ("namespace n { __device__ __host__ void f(int* p) { *p = 1; } }", (true, true, true)),
            ("template <> __host__ __device__ void f<3>(int* p) { *p = 1; }", (true, true, true)),
            ("template < > __host__ __device__ void f<3>(int* p) { *p = 1; }", (true, true, true)),
            ("struct S { void f(int*); }; __host__ __device__ void S::f(int* p) { *p = 1; }", (true, true, true)),
            ("__device__ __noinline__ void f(int* p) { *p = 1; }", (false, true, false)),
            ("static __host__ __device__ void f(int* p) { *p = 1; }", (false, false, false)),
            ("__host__ __device__ inline void f(int* p) { *p = 1; }", (false, false, false)),
            ("namespace { __host__ __device__ void f(int* p) { *p = 1; } }", (false, false, false)),
            ("template <int N> __host__ __device__ void f(int* p) { *p = N; }", (false, false, false)),
        ] {
            assert_eq!(facts("a.cu", text), expected, "{text}");
        }
        // Other files include a header.
        let text = "static __host__ __device__ void f(int* p) { *p = 1; }";
        assert_eq!(facts("a.cuh", text), (false, false, true));
    }
}
