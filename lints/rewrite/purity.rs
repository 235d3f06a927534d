//! Expressions that may be evaluated earlier, or once in place of twice.

use tree_sitter::Node;

use cuda_syntax::SourceView;
use cuda_syntax::tree::{children, last_name};
use lmem_unit::Expansion;

/// Functions of the toolkit that take values, give one, and do nothing else; those for `float` end with an `f`.
const PURE: [&str; 52] = [
    "abs",
    "acos",
    "asin",
    "atan",
    "atan2",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "cospi",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdividef",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "j0",
    "j1",
    "ldexp",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "lrint",
    "max",
    "min",
    "norm3d",
    "pow",
    "rint",
    "round",
    "rsqrt",
    "sin",
    "sinh",
    "sinpi",
    "sqrt",
    "static_cast",
    "tan",
    "tanh",
    "trunc",
];

/// Beginnings of the names of others.
const PURE_PREFIXES: [&str; 24] = [
    "make_",
    "__popc",
    "__clz",
    "__ffs",
    "__brev",
    "__byte_perm",
    "__float_as_",
    "__int_as_",
    "__uint_as_",
    "__float2",
    "__half2",
    "__int2",
    "__uint2",
    "__hadd",
    "__hsub",
    "__hmul",
    "__hfma",
    "__hmax",
    "__hmin",
    "__fadd",
    "__fmul",
    "__fma",
    "__exp",
    "__ldg",
];

/// Functions that take their last arguments as values, and write to what the first one points to.
const WRITING: [&str; 3] = ["atomic", "__shfl", "__st"];

/// Whether nothing but the value of an expression changes by its evaluation.
pub fn is_pure(view: &SourceView, node: Node<'_>) -> bool {
    let is_known = match node.kind() {
        "call_expression" => is_pure_call(view, node),
        // The names of functions, and types.
        "template_function" | "qualified_identifier" | "primitive_type" | "type_descriptor" | "sizeof_expression" => {
            return true;
        }
        "assignment_expression"
        | "update_expression"
        | "lambda_expression"
        | "new_expression"
        | "delete_expression"
        | "comma_expression"
        | "initializer_list"
        | "compound_literal_expression" => false,
        kind => !kind.contains("asm") && !node.is_error(),
    };
    is_known && children(node).into_iter().all(|child| is_pure(view, child))
}

/// Whether an expression is made of names and numbers alone: it reads no memory, and can be evaluated anywhere.
pub fn is_arithmetic(view: &SourceView, node: Node<'_>) -> bool {
    match node.kind() {
        "identifier" | "number_literal" | "char_literal" | "true" | "false" | "field_identifier" => true,
        "binary_expression" => {
            // Of a division nothing is known but that it is not done where it may not be.
            let operator = node.child_by_field_name("operator").map_or("", |operator| view.slice(operator));
            let right = node.child_by_field_name("right");
            let is_division = matches!(operator, "/" | "%");
            let is_safe = !is_division || right.is_some_and(|right| is_fixed(view, right));
            is_safe && operands(node).all(|child| is_arithmetic(view, child))
        }
        "unary_expression" | "parenthesized_expression" => operands(node).all(|child| is_arithmetic(view, child)),
        "field_expression" => is_name_path(node),
        _ => false,
    }
}

fn operands<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    children(node).into_iter().filter(Node::is_named)
}

fn is_fixed(view: &SourceView, node: Node<'_>) -> bool {
    matches!(node.kind(), "number_literal" | "identifier") && view.is_fixed(view.slice(node), node.start_byte())
}

/// `a`, `threadIdx.x`, `ring.head`
pub fn is_name_path(node: Node<'_>) -> bool {
    match node.kind() {
        "identifier" => true,
        "field_expression" => {
            node.child_by_field_name("operator").is_some_and(|operator| operator.kind() == ".")
                && node.child_by_field_name("argument").is_some_and(is_name_path)
        }
        _ => false,
    }
}

/// What CUDA calls a thread and its neighbours.
pub fn is_builtin(name: &str) -> bool {
    matches!(name, "threadIdx" | "blockIdx" | "blockDim" | "gridDim" | "warpSize")
}

/// Whether a function takes its arguments as values, so that none of them can be written.
pub fn takes_values(view: &SourceView, called: Node<'_>) -> bool {
    let name = last_name(view.slice(called));
    is_expression(view, called)
        || is_pure_function(view, called)
        || WRITING.iter().any(|prefix| name.starts_with(prefix))
        || is_defined_with_values(view, name)
}

/// Whether a call does nothing but give a value; its arguments are not looked at.
pub(super) fn is_pure_call(view: &SourceView, call: Node<'_>) -> bool {
    call.child_by_field_name("function")
        .is_some_and(|called| is_expression(view, called) || is_pure_function(view, called))
}

/// Whether a call is one of a macro that stands for a value of its arguments, and does nothing else.
fn is_expression(view: &SourceView, called: Node<'_>) -> bool {
    let call = called.parent().map_or(called.byte_range(), |call| call.byte_range());
    view.compiled().expansion(view.text(), &call) == Some(Expansion::Expression)
}

fn is_pure_function(view: &SourceView, called: Node<'_>) -> bool {
    if called.kind() == "primitive_type" {
        return true;
    }
    let text = view.slice(called);
    let name = last_name(text);
    let is_float = name.strip_suffix('f').is_some_and(|name| PURE.contains(&name));
    let is_free = matches!(called.kind(), "identifier" | "qualified_identifier" | "template_function");
    // What the user defines under such a name is the user's.
    is_free
        && (PURE.contains(&name) || is_float || PURE_PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
        && parameters(view, name).is_empty()
}

/// All functions of that name in the text, and there is one, take no references.
fn is_defined_with_values(view: &SourceView, name: &str) -> bool {
    let lists = parameters(view, name);
    !lists.is_empty() && lists.iter().all(|list| !list.contains('&'))
}

/// The lists of parameters of the functions that a text declares under a name.
fn parameters<'v>(view: &'v SourceView, name: &str) -> Vec<&'v str> {
    let mut lists = Vec::new();
    let mut open: Vec<Node<'_>> = view.root().into_iter().collect();
    while let Some(node) = open.pop() {
        if node.kind() == "function_declarator" {
            let declares = node.child_by_field_name("declarator").is_some_and(|it| last_name(view.slice(it)) == name);
            lists.extend(node.child_by_field_name("parameters").filter(|_| declares).map(|list| view.slice(list)));
        }
        open.extend(children(node));
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<Answer>(expression: &str, ask: impl Fn(&SourceView, Node<'_>) -> Answer) -> Answer {
        let text = format!(
            "__device__ float half(float x) {{ return x / 2; }}\n__device__ void add(float& x) {{ ++x; }}\n\
             __device__ float sinf(float& x) {{ return ++x; }}\ntemplate <int W> __global__ void k(int n) {{ f = {expression}; }}\n"
        );
        let view = SourceView::example("a.cu", text.as_str());
        let start = text.rfind("f = ").unwrap() + 4;
        let node = view.root().unwrap().named_descendant_for_byte_range(start, start + expression.len()).unwrap();
        ask(&view, node)
    }

    #[test]
    fn evaluations_without_traces() {
        for (expression, expected) in [
            ("a + in[i] * 2", true),
            ("fmaxf(a, (int)b) + float(c)", true),
            ("static_cast<int>(x) & 15", true),
            ("31 - __clz(degree | 1)", true),
            ("top++", false),
            ("(a = 3)", false),
            ("next(seed)", false),
            ("s.next()", false),
            // The user's own.
            ("sinf(x)", false),
        ] {
            assert_eq!(value(expression, is_pure), expected, "{expression}");
        }
    }

    #[test]
    fn arithmetic_reads_no_memory() {
        for (expression, expected) in [
            ("(a >> 2) & 15", true),
            ("ring.head + threadIdx.x", true),
            ("a % W", true),
            ("a % n", false),
            ("a[3]", false),
            ("p->i", false),
            ("*p", false),
        ] {
            assert_eq!(value(expression, is_arithmetic), expected, "{expression}");
        }
    }

    #[test]
    fn references_may_be_written() {
        let called = |expression: &str| {
            value(expression, |view, node| takes_values(view, node.child_by_field_name("function").unwrap()))
        };
        assert!(called("half(x)") && called("fminf(x, y)") && called("atomicAdd(p, x)"));
        assert!(!called("add(x)") && !called("swap(x, y)") && !called("sinf(x)"));
    }
}
