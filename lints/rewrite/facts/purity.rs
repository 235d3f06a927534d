//! Expressions that may be evaluated earlier, or once instead of twice.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::{enclosing_function, last_name};
use lmem_unit::{Expansion, MATH, VALUES};

use super::binding::names_no_reference;
use super::operators::may_call_operators;

/// Toolkit functions of values without side effects, beside [`MATH`] and [`VALUES`]; their `float` variants end in `f`.
const PURE: [&str; 8] = ["erfc", "j0", "j1", "ldexp", "lgamma", "lrint", "norm3d", "static_cast"];

/// Name prefixes of further such functions.
const PURE_PREFIXES: [&str; 25] = [
    "make_",
    "__popc",
    "__clz",
    "__ffs",
    "__brev",
    "__byte_perm",
    "__funnelshift_",
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

/// Functions that write to the pointee of their first argument and take the others by value.
const WRITING: [&str; 3] = ["atomic", "__shfl", "__st"];

/// Whether an expression has no side effects.
pub fn is_pure(tree: &SyntaxTree, node: Node<'_>) -> bool {
    is_pure_by_itself(tree, node) && !may_call_operators(tree, node)
}

/// The same where all operators are those of numbers.
fn is_pure_by_itself(tree: &SyntaxTree, node: Node<'_>) -> bool {
    let is_known = match node.kind() {
        Kind::CallExpression => is_pure_call(tree, node),
        // Names of functions and types.
        Kind::TemplateFunction
        | Kind::QualifiedIdentifier
        | Kind::PrimitiveType
        | Kind::TypeDescriptor
        | Kind::SizeofExpression => {
            return true;
        }
        Kind::AssignmentExpression
        | Kind::UpdateExpression
        | Kind::LambdaExpression
        | Kind::NewExpression
        | Kind::DeleteExpression
        | Kind::CommaExpression
        | Kind::InitializerList
        | Kind::CompoundLiteralExpression => false,
        _ => !node.is_assembly() && !node.is_error(),
    };
    is_known && node.children().all(|child| is_pure_by_itself(tree, child))
}

/// Whether an expression is arithmetic on names and numbers, which reads no memory and may be evaluated anywhere.
pub fn is_arithmetic(tree: &SyntaxTree, node: Node<'_>) -> bool {
    match node.kind() {
        Kind::Identifier
        | Kind::NumberLiteral
        | Kind::CharLiteral
        | Kind::True
        | Kind::False
        | Kind::FieldIdentifier => true,
        Kind::BinaryExpression => {
            // Division by zero is undefined: a division with an unknown divisor must not leave its condition.
            let operator = node.operator().unwrap_or_default();
            let right = node.field(Field::Right);
            let is_division = matches!(operator, "/" | "%");
            let is_safe = !is_division || right.is_some_and(|right| is_fixed(tree, right));
            is_safe && operands(node).all(|child| is_arithmetic(tree, child))
        }
        Kind::UnaryExpression | Kind::ParenthesizedExpression => operands(node).all(|child| is_arithmetic(tree, child)),
        Kind::FieldExpression => is_name_path(node),
        _ => false,
    }
}

fn operands<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    node.named_children()
}

fn is_fixed(tree: &SyntaxTree, node: Node<'_>) -> bool {
    matches!(node.kind(), Kind::NumberLiteral | Kind::Identifier) && tree.is_fixed(tree.slice(node), node.start_byte())
}

/// `a`, `threadIdx.x`, `ring.head`
pub fn is_name_path(node: Node<'_>) -> bool {
    match node.kind() {
        Kind::Identifier => true,
        Kind::FieldExpression => {
            node.field(Field::Operator).is_some_and(|operator| operator.is_token("."))
                && node.field(Field::Argument).is_some_and(is_name_path)
        }
        _ => false,
    }
}

/// Whether a name is one of CUDA's built-in variables.
pub fn is_builtin(name: &str) -> bool {
    matches!(name, "threadIdx" | "blockIdx" | "blockDim" | "gridDim" | "warpSize")
}

/// Whether a function takes its arguments by value, so it cannot write them.
pub fn takes_values(tree: &SyntaxTree, called: Node<'_>) -> bool {
    let name = last_name(tree.slice(called));
    is_expression(tree, called)
        || is_pure_function(tree, called)
        || WRITING.iter().any(|prefix| name.starts_with(prefix))
        || is_defined_with_values(tree, name)
}

/// Whether the called function has no side effects; arguments are not checked.
pub fn is_pure_call(tree: &SyntaxTree, call: Node<'_>) -> bool {
    call.field(Field::Function).is_some_and(|called| is_expression(tree, called) || is_pure_function(tree, called))
}

/// Whether a call is a function-like macro whose expansion is a value of its arguments without side effects.
fn is_expression(tree: &SyntaxTree, called: Node<'_>) -> bool {
    let call = called.parent().map_or(called.byte_range(), |call| call.byte_range());
    tree.compiled().expansion(tree.text(), &call) == Some(Expansion::Expression)
}

fn is_pure_function(tree: &SyntaxTree, called: Node<'_>) -> bool {
    if called.kind() == Kind::PrimitiveType {
        return true;
    }
    let text = tree.slice(called);
    let name = last_name(text);
    let is_known = |name: &str| MATH.contains(&name) || VALUES.contains(&name) || PURE.contains(&name);
    let is_float = name.strip_suffix('f').is_some_and(is_known);
    let is_free = matches!(called.kind(), Kind::Identifier | Kind::QualifiedIdentifier | Kind::TemplateFunction);
    // A function that the user defines under such a name may have side effects, and so may a macro.
    let gives_values = || !text.contains('<') || names_no_reference(tree, called.byte_range());
    is_free
        && gives_values()
        && tree.compiled().is_verbatim(&called.byte_range())
        && (is_known(name) || is_float || PURE_PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
        && parameters(tree, name).is_empty()
        && !tree.is_declared_beside(name)
        && !is_object(tree, called, name)
}

/// Whether the text declares an object with the name of a function, as a lambda, a pointer or a parameter, which a call may mean.
pub fn is_object(tree: &SyntaxTree, called: Node<'_>, name: &str) -> bool {
    let Some(root) = tree.root() else { return true };
    let is_in_class = || {
        let is_class =
            |node: Node<'_>| matches!(node.kind(), Kind::StructSpecifier | Kind::ClassSpecifier | Kind::UnionSpecifier);
        let head = enclosing_function(called).and_then(|function| function.field(Field::Declarator));
        called.ancestors().any(is_class) || head.is_some_and(|head| tree.slice(head.declared_name()).contains("::"))
    };
    let is_declared = |node: Node<'_>| {
        node.parent().is_some_and(|parent| match parent.kind() {
            Kind::InitDeclarator
            | Kind::Declaration
            | Kind::ParameterDeclaration
            | Kind::OptionalParameterDeclaration => parent.fields(Field::Declarator).any(|it| it == node),
            Kind::ArrayDeclarator | Kind::PointerDeclarator | Kind::ReferenceDeclarator => true,
            Kind::FieldDeclaration => is_in_class(),
            _ => false,
        })
    };
    tree.named(root, name).any(is_declared) || tree.is_template_parameter(name, called.start_byte())
}

/// Whether the text declares functions with the name, and none of them takes references.
fn is_defined_with_values(tree: &SyntaxTree, name: &str) -> bool {
    let lists = parameters(tree, name);
    !tree.is_declared_beside(name)
        && !lists.is_empty()
        && lists.iter().all(|list| names_no_reference(tree, list.byte_range()))
}

/// Parameter lists of the functions that a text declares under a name.
fn parameters<'v>(tree: &'v SyntaxTree, name: &str) -> Vec<Node<'v>> {
    let declarators = tree.nodes_of(&[Kind::FunctionDeclarator]);
    let is_it = |node: &Node<'_>| node.field(Field::Declarator).is_some_and(|it| last_name(tree.slice(it)) == name);
    declarators.filter(is_it).filter_map(|node| node.field(Field::Parameters)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<Answer>(expression: &str, ask: impl Fn(&SyntaxTree, Node<'_>) -> Answer) -> Answer {
        let text = format!(
            "#define cosf(x) (++n, x)\n__device__ float half(float x) {{ return x / 2; }}\n__device__ void add(float& x) {{ ++x; }}\n\
             using Ref = float&; __device__ void raise(Ref x) {{ ++x; }}\n\
             __device__ float sinf(float& x) {{ return ++x; }}\ntemplate <int W> __global__ void k(int n) {{ f = {expression}; }}\n"
        );
        let tree = SyntaxTree::example("a.cu", text.as_str());
        let start = text.rfind("f = ").unwrap() + 4;
        let node = tree.root().unwrap().named_descendant_for_byte_range(start, start + expression.len()).unwrap();
        ask(&tree, node)
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
            // Defined by the user.
            ("sinf(x)", false),
            ("cosf(n)", false),
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
        let called =
            |expression: &str| value(expression, |tree, node| takes_values(tree, node.field(Field::Function).unwrap()));
        assert!(called("half(x)") && called("fminf(x, y)") && called("atomicAdd(p, x)"));
        assert!(!called("add(x)") && !called("swap(x, y)") && !called("sinf(x)") && !called("raise(x)"));
    }
}
