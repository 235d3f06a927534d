//! Elements that a called function indexes by what it gets: `load(d)` of a lambda, `put(a, d)`, `row.set(d)`, `m(i, j)`, `m[i]`. An index
//! beyond the array is then as undefined as where the element is named itself.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Binary, Call, Kind, Node, Subscript};
use cuda_syntax::tree::{access_path, enclosing_function, resolve, role};

use super::body::{exits, is_unconditional};
use super::linear::Linear;
use super::member::of_instance;
use super::rise::Rise;
use super::sizes::base_of;
use crate::rewrite::facts::accessed::is_accessed;
use crate::rewrite::facts::called::{Called, called, called_by_subscript};
use crate::rewrite::facts::integers::plain_words;
use crate::rewrite::facts::steady::may_write;
use crate::rewrite::facts::variables::{uses_of, variable};

/// An element that a call accesses in any case.
#[derive(Clone)]
pub struct Indexing<'t> {
    tree: &'t SyntaxTree,
    pub call: Node<'t>,
    /// `key[i]` in the function that is called.
    pub element: Node<'t>,
    function: Called<'t>,
    /// The parameters that are numbers, each with its argument.
    numbers: Vec<(Node<'t>, Node<'t>)>,
    /// The argument for the parameter that is the array.
    pub array: Option<Node<'t>>,
}

/// What a call indexes, or a subscript of an object.
pub fn indexings<'t>(tree: &'t SyntaxTree, node: Node<'t>) -> Vec<Indexing<'t>> {
    let found = || {
        let (function, arguments) = match (Call::of(node), Subscript::of(node)) {
            (Some(call), _) => {
                let arguments: Vec<Node<'t>> = call.arguments().collect();
                (called(tree, call).filter(|_| !arguments.is_empty())?, arguments)
            }
            (_, Some(subscript)) => (called_by_subscript(tree, subscript)?, vec![subscript.index()?]),
            _ => return None,
        };
        let numbers = numbers(tree, &arguments, &function);
        let body = function.body;
        let subscripts = body.descendants().filter(|it| {
            let is_inner = it.parent().and_then(Subscript::of).is_some_and(|around| around.base() == Some(*it));
            it.kind() == Kind::SubscriptExpression && !is_inner
        });
        let certain = subscripts.filter(|it| is_certain(tree, *it, &function, node));
        let known = certain.filter_map(|element| {
            let array = array_of(tree, element, &arguments, &function)?;
            Some(Indexing { tree, call: node, element, function: function.clone(), numbers: numbers.clone(), array })
        });
        Some(known.collect())
    };
    found().unwrap_or_default()
}

/// The arguments that a function gets by value as integers of 32 bits or more, and keeps.
fn numbers<'t>(tree: &'t SyntaxTree, arguments: &[Node<'t>], function: &Called<'t>) -> Vec<(Node<'t>, Node<'t>)> {
    let given = arguments.iter().enumerate().filter_map(|(at, argument)| {
        let name = function.number(at)?;
        let type_text = plain_words(&variable(tree, name)?.type_text);
        let is_wide = is_of_32_bits(&type_text) || is_of_64_bits(&type_text) || type_text == "auto";
        let is_kept = is_wide && !may_write(tree, function.body, tree.slice(name));
        is_kept.then_some((name, *argument))
    });
    given.collect()
}

fn is_of_32_bits(type_text: &str) -> bool {
    let text = type_text.trim_start_matches("std::");
    matches!(text, "int" | "signed" | "signed int" | "unsigned" | "unsigned int" | "uint" | "int32_t" | "uint32_t")
}

fn is_of_64_bits(type_text: &str) -> bool {
    let text = type_text.trim_start_matches("std::");
    matches!(text, "long long" | "unsigned long long" | "size_t" | "ptrdiff_t" | "int64_t" | "uint64_t")
}

/// Whether each call of a function accesses an element, or gives it to a place that does.
fn is_certain<'t>(tree: &'t SyntaxTree, element: Node<'t>, function: &Called<'t>, call: Node<'t>) -> bool {
    let body = function.body;
    let exits = exits(tree, body);
    let first_exit = exits.iter().min_by_key(|exit| exit.start_byte());
    let is_before = first_exit.is_none_or(|exit| element.end_byte() <= exit.start_byte());
    if is_before {
        return is_accessed(tree, element) && is_unconditional(tree, element, body);
    }
    let returned = first_exit.filter(|exit| {
        exit.kind() == Kind::ReturnStatement
            && exit.parent() == Some(body)
            && exit.byte_range().contains(&element.start_byte())
    });
    let value = returned.and_then(|exit| exit.parts().next());
    value.is_some_and(|value| match value.without_parentheses() == element {
        // What is returned may be a reference to the element.
        true => function.returns_number() || is_accessed(tree, call),
        false => is_accessed(tree, element) && is_unconditional(tree, element, value),
    })
}

/// The argument that is the array of an element in a function; the inner option is `None` for a variable or a member that the function
/// names itself.
fn array_of<'t>(
    tree: &'t SyntaxTree,
    element: Node<'t>,
    arguments: &[Node<'t>],
    function: &Called<'t>,
) -> Option<Option<Node<'t>>> {
    let base = base_of(element);
    if base.kind() != Kind::Identifier {
        return None;
    }
    let Some(own) = variable(tree, base) else { return function.object.is_some().then_some(None) };
    let position = function.parameters().position(|it| it.byte_range().contains(&own.range.0));
    let Some(position) = position else {
        // A lambda names arrays of the function around it, which must be those that are meant at the call.
        let is_captured = function.is_lambda && !function.body.byte_range().contains(&own.range.0);
        return is_captured.then_some(None);
    };
    let declared = tree.root()?.named_descendant_for_byte_range(own.range.0, own.range.1)?;
    let is_moved = uses_of(tree, declared)?.iter().any(|used| access_path(*used) == *used && role(*used).1);
    (!is_moved).then(|| arguments.get(position).copied().map(Some))?
}

impl<'t> Indexing<'t> {
    /// How an index of the element rises with the counter of a loop around the call.
    pub fn rise(&self, index: Node<'t>, counter: &str, region: Node<'t>) -> Option<Rise> {
        let tree = self.tree;
        let index = index.without_parentheses();
        if let Some(argument) = self.argument(index, counter, region) {
            return Rise::of(tree, argument, counter);
        }
        let shifted = Binary::of(index).and_then(|sum| {
            let argument = self.argument(sum.left()?.without_parentheses(), counter, region)?;
            let constant = tree.value_of(sum.right()?)?;
            Rise::of(tree, argument, counter)?.shifted(if sum.operator()? == "+" { constant } else { -constant })
        });
        let is_shift = Binary::of(index).is_some_and(|sum| matches!(sum.operator(), Some("+" | "-")));
        if let Some(shifted) = shifted.filter(|_| is_shift) {
            return Some(shifted);
        }
        Rise::of_linear(tree, Linear::with(tree, index, &|name| self.linear(name, counter, region))?, counter)
    }

    /// What a name in the function stands for at the call.
    fn linear(&self, name: Node<'t>, counter: &str, region: Node<'t>) -> Option<Linear<'t>> {
        let tree = self.tree;
        if self.numbers.iter().any(|(own, _)| self.is_name_of(name, *own)) {
            // A sum of other types may wrap around.
            let argument = self.argument(name, counter, region).filter(|_| Linear::of_name(tree, name).is_some())?;
            return Linear::of(tree, argument);
        }
        match (self.function.class, self.function.object) {
            (Some(class), Some(object)) if variable(tree, name).is_none() => {
                let text = of_instance(tree, class, tree.slice(name), object)?;
                Linear::of_value(tree.evaluate(&text, object.start_byte())?)
            }
            _ => None,
        }
    }

    /// The argument for a parameter that has as many bits as the counter at least.
    fn argument(&self, name: Node<'t>, counter: &str, region: Node<'t>) -> Option<Node<'t>> {
        let tree = self.tree;
        let (own, argument) = self.numbers.iter().find(|(own, _)| self.is_name_of(name, *own))?;
        let all = tree.declarations(enclosing_function(region)?);
        let counted = plain_words(&resolve(&all, counter, region.start_byte())?.type_text);
        let taken = plain_words(&variable(tree, *own)?.type_text);
        (!is_of_32_bits(&taken) || !is_wide(&counted)).then_some(*argument)
    }

    fn is_name_of(&self, name: Node<'t>, parameter: Node<'t>) -> bool {
        let declared = |node: Node<'t>| variable(self.tree, node).map(|own| own.range);
        name.kind() == Kind::Identifier
            && self.tree.slice(name) == self.tree.slice(parameter)
            && declared(name) == declared(parameter)
    }

    /// The object of the method that is called.
    pub fn object(&self) -> Option<Node<'t>> {
        self.function.object
    }
}

/// Whether a counter may have more than 32 bits.
fn is_wide(type_text: &str) -> bool {
    let text = type_text.trim_start_matches("std::");
    !(is_of_32_bits(text)
        || text.contains("char")
        || text.contains("short")
        || text.contains("int8")
        || text.contains("int16"))
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::extent::WantedArray;
    use super::super::for_loop::for_loops;
    use super::*;
    use lmem_base::edit::apply;

    const HEAD: &str = "struct Row { float v[6]; int n; __device__ void set(int i, float x) { v[i] = x; } \
        __device__ float& at(int i) { return v[i]; } __device__ const float& at(int i) const { return v[i]; } \
        __device__ float maybe(int i) { return i < n ? v[i] : 0; } };\n\
        template <int N> struct Mat { float v[N * N]; __device__ float& operator()(int i, int j) { return v[i * N + j]; } };\n\
        struct Two { float v[6]; __device__ void put(int i) { v[i] = 1; } }; struct Wide { float v[99]; __device__ void put(int i) { v[i] = 1; } };\n\
        struct Vec { float v[6]; int n; __device__ float& operator[](int i) { return v[i]; } __device__ const float &operator[](int i) const { return v[i]; } };\n\
        struct Far { float v[6]; __device__ void far(int i); };\n\
        __device__ void store(float* a, int i, float x) { a[i] = x; }\n\
        __device__ void narrow(float* a, unsigned char i) { a[i] = 1; }\n\
        __device__ void moved(float* a, int i) { ++a; a[i] = 1; }\n\
        __device__ void other(float* a, int i) { i = 0; a[i] = 1; }\n\
        __device__ void early(float* a, int i, int n) { if (n) return; a[i] = 1; }\n\
        __device__ float second(const float* a, int i) { return a[i] + a[i + 1]; }\n";

    fn guarded(body: &str, array: &str) -> Option<String> {
        let text = format!(
            "{HEAD}__global__ void k(float* in, int n, long long w) {{\n  float a[8], b[4][5]; Row r; Vec vec; Mat<6> m; Two t; Far f;\n  {body}\n}}\n"
        );
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let found = for_loops(&tree, text.find("; ++i)")?);
        let found = found.first()?;
        let guard = found.guarded(&WantedArray::new(array, &[]))?;
        let edited = apply(&text, &guard.edits.iter().collect::<Vec<_>>())?;
        let start = edited.find("Far f;\n")? + "Far f;\n".len();
        Some(edited[start..].lines().map(str::trim).take_while(|line| *line != "}").collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn what_a_call_certainly_indexes_ends_the_loop() {
        let load = "auto load = [&](int d) { a[d] = in[d]; }; ";
        let get = "const auto get = [=](unsigned d) { return a[d + 1]; }; ";
        for (before, body, array, expected) in [
            (load, "for (int i = 0; i < n; ++i) load(i);", "a", "for (int i = 0; i < 8; ++i) if (i < n) load(i);"),
            (
                load,
                "for (int i = 0; i + 1 < n; ++i) { load(i + 1); in[i] = 1; }",
                "a",
                "for (int i = 0; i < 8; ++i) if (i + 1 < n) { load(i + 1); in[i] = 1; }",
            ),
            (
                get,
                "for (int i = 0; i < n; ++i) in[i] = get(i);",
                "a",
                "for (int i = 0; i < 8; ++i) if (i < n) in[i] = get(i);",
            ),
            // It changes the bound.
            (
                "auto load = [&](int d) { a[d] = 1; --n; }; ",
                "for (int i = 0; i < n; ++i) { in[i] = 1; load(i); }",
                "a",
                "for (int i = 0; i < 8 && i < n; ++i) { in[i] = 1; load(i); }",
            ),
            (
                "",
                "for (int i = 0; i < n; ++i) store(a, i, in[i]);",
                "a",
                "for (int i = 0; i < 8; ++i) if (i < n) store(a, i, in[i]);",
            ),
            (
                "",
                "for (int i = 0; i < n; ++i) store(b[2], i, in[i]);",
                "b",
                "for (int i = 0; i < 5; ++i) if (i < n) store(b[2], i, in[i]);",
            ),
            (
                "",
                "for (int i = 0; i < n; ++i) in[i] = second(a, i);",
                "a",
                "for (int i = 0; i < 8; ++i) if (i < n) in[i] = second(a, i);",
            ),
            (
                "",
                "for (int i = 0; i < n; ++i) r.set(i, in[i]);",
                "r",
                "for (int i = 0; i < 6; ++i) if (i < n) r.set(i, in[i]);",
            ),
            (
                "",
                "for (int i = 0; i < n; ++i) r.at(i) += in[i];",
                "r",
                "for (int i = 0; i < 6; ++i) if (i < n) r.at(i) += in[i];",
            ),
            (
                "",
                "for (int i = 0; i < n; ++i) in[i] = m(i, 2);",
                "m",
                "for (int i = 0; i < 6; ++i) if (i < n) in[i] = m(i, 2);",
            ),
            (
                "",
                "for (int i = 0; i < n; ++i) vec[i] = in[i];",
                "vec",
                "for (int i = 0; i < 6; ++i) if (i < n) vec[i] = in[i];",
            ),
        ] {
            let found = guarded(&format!("{before}{body}"), array);
            let expected = format!("{before}#pragma unroll {expected}");
            assert_eq!(found.as_deref(), Some(expected.as_str()), "{body}");
        }
    }

    #[test]
    fn what_it_may_do_without_does_not() {
        for (body, array) in [
            // Another index, or none, in some calls.
            ("for (int i = 0; i < n; ++i) { in[i] = 1; early(a, i, n); }", "a"),
            ("for (int i = 0; i < n; ++i) { in[i] = 1; other(a, i); }", "a"),
            ("for (int i = 0; i < n; ++i) { in[i] = 1; moved(a, i); }", "a"),
            ("for (int i = 0; i < n; ++i) { in[i] = 1; narrow(a, i); }", "a"),
            ("for (long long i = 0; i < w; ++i) { in[i] = 1; store(a, i, 2); }", "a"),
            ("for (int i = 0; i < n; ++i) in[i] = r.maybe(i);", "r"),
            // A reference that nothing reads.
            ("for (int i = 0; i < n; ++i) { in[i] = 1; r.at(i); }", "r"),
            ("for (int i = 0; i < n; ++i) { in[i] = 1; float* p = &r.at(i); }", "r"),
            // Methods of two classes, and one that is defined elsewhere.
            ("for (int i = 0; i < n; ++i) { in[i] = 1; t.put(i); }", "t"),
            ("for (int i = 0; i < n; ++i) { in[i] = 1; f.far(i); }", "f"),
            // A pointer that may be to anything, and a lambda that is not known.
            ("float* p = in; for (int i = 0; i < n; ++i) { in[i] = 1; store(p, i, 2); }", "p"),
            ("auto load = pick(a); for (int i = 0; i < n; ++i) { in[i] = 1; load(i); }", "a"),
            // It takes the counter by reference.
            ("auto load = [&](int& d) { a[d++] = 1; }; for (int i = 0; i < n; ++i) { in[i] = 1; load(i); }", "a"),
            // An `a` of its own.
            (
                "auto load = [&](int d) { float* a = in; a[d] = 1; }; for (int i = 0; i < n; ++i) { in[i] = 1; load(i); }",
                "a",
            ),
        ] {
            assert_eq!(guarded(body, array), None, "{body}");
        }
    }
}
