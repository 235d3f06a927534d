//! Whether CUDA's own names mean in a text what they mean to CUDA.
//!
//! An edit that brings `threadIdx.x` into a kernel with a variable of that name, or `__sinf` into a file that defines
//! it, would use the program's. One check for all edits: see [`SyntaxTree::replacement`].

use crate::ast::{Field, Kind, Node};
use crate::identifiers::{identifiers, occurrences};
use crate::tree::syntax_tree::SyntaxTree;

/// CUDA's built-in variables.
const VARIABLES: [&str; 5] = ["threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"];

/// Functions that edits call; names that begin with two underscores are the toolkit's too.
const FUNCTIONS: [&str; 24] = [
    "sin",
    "sinf",
    "cos",
    "cosf",
    "tan",
    "tanf",
    "sincos",
    "sincosf",
    "sinpi",
    "sinpif",
    "cospi",
    "cospif",
    "sincospi",
    "sincospif",
    "min",
    "max",
    "fmin",
    "fmax",
    "fminf",
    "fmaxf",
    "fma",
    "fmaf",
    "memcpy",
    "memset",
];

impl SyntaxTree {
    /// Whether the text, or another file of the unit, declares or defines a name: a variable, a parameter, a member, a
    /// type, a function, a macro.
    pub fn declares(&self, name: &str) -> bool {
        let Some(root) = self.root().filter(|_| !self.is_declared_beside(name)) else { return true };
        if let Some(known) = self.memory.declared.borrow().get(name) {
            return *known;
        }
        let is_declared = occurrences(self.text(), name).any(|at| {
            let node = root.descendant_for_byte_range(at, at + name.len());
            node.is_none_or(|node| node.byte_range() == (at..at + name.len()) && !is_use(node))
        });
        self.memory.declared.borrow_mut().insert(name.to_string(), is_declared);
        is_declared
    }

    /// Whether CUDA's names in new text mean what they should; those that the old text has stay as they are.
    pub(super) fn means_cuda(&self, old: &str, new: &str) -> bool {
        let is_cuda = |word: &str| {
            let is_called = || occurrences(new, word).any(|at| new[at + word.len()..].starts_with('('));
            VARIABLES.contains(&word) || ((word.starts_with("__") || FUNCTIONS.contains(&word)) && is_called())
        };
        let is_new = |word: &&str| is_cuda(word) && occurrences(old, word).next().is_none();
        !identifiers(new).filter(is_new).any(|word| self.declares(word))
    }
}

/// Whether a name stands where an expression or a type uses it.
fn is_use(name: Node<'_>) -> bool {
    let Some(parent) = name.parent() else { return false };
    let is = |field: Field| parent.field(field) == Some(name);
    match name.kind() {
        Kind::Identifier | Kind::QualifiedIdentifier | Kind::TemplateFunction => match parent.kind() {
            Kind::AssignmentExpression => is(Field::Right),
            Kind::InitDeclarator | Kind::OptionalParameterDeclaration => is(Field::Value) || is(Field::DefaultValue),
            Kind::QualifiedIdentifier | Kind::TemplateFunction => is_use(parent),
            Kind::ArgumentList
            | Kind::BinaryExpression
            | Kind::CallExpression
            | Kind::CastExpression
            | Kind::CommaExpression
            | Kind::ConditionClause
            | Kind::ConditionalExpression
            | Kind::ExpressionStatement
            | Kind::FieldExpression
            | Kind::ForStatement
            | Kind::InitializerList
            | Kind::LaunchBounds
            | Kind::ParenthesizedExpression
            | Kind::PointerExpression
            | Kind::ReturnStatement
            | Kind::SizeofExpression
            | Kind::SubscriptArgumentList
            | Kind::SubscriptExpression
            | Kind::UnaryExpression => true,
            _ => false,
        },
        Kind::TypeIdentifier | Kind::PrimitiveType => !is(Field::Name) && !is(Field::Declarator),
        // A keyword of the grammar: `__launch_bounds__`.
        Kind::Token => true,
        Kind::FieldIdentifier => parent.kind() == Kind::FieldExpression,
        Kind::Comment | Kind::StringContent | Kind::RawStringContent | Kind::PreprocArg => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declares(text: &str, name: &str) -> bool {
        SyntaxTree::example("a.cu", text).declares(name)
    }

    #[test]
    fn uses_are_no_declarations() {
        let text = "// threadIdx\n#define TID threadIdx.x\n__device__ int f(uint3 t = threadIdx);\n__global__ void k(int* out, int n) {\n\
            int t = threadIdx.x, u = ::threadIdx.y; uint3 v = threadIdx; f(threadIdx); out[threadIdx.x] = -threadIdx.z;\n\
            if (threadIdx.x) out[0] = min(n, std::min<int>(t, u)); printf(\"threadIdx\"); }\n";
        assert!(!declares(text, "threadIdx") && !declares(text, "min") && !declares(text, "warpSize"));
    }

    #[test]
    fn whatever_takes_the_name_declares_it() {
        for text in [
            "#define threadIdx mine\n",
            "#define threadIdx(a) a\n",
            "__global__ void k(uint3 threadIdx) {}",
            "__global__ void k() { const uint3 threadIdx = {0, 0, 0}; }",
            "__global__ void k() { uint3 threadIdx(0, 0, 0); }",
            "__global__ void k() { uint3 &threadIdx = own; }",
            "__global__ void k() { int threadIdx[4]; }",
            "__global__ void k() { auto [threadIdx, b] = own(); }",
            "__global__ void k() { f([threadIdx = 1] { return threadIdx; }); }",
            "__global__ void k() { for (auto threadIdx : all) f(); }",
            "struct threadIdx { int x; };",
            "struct Lane { uint3 threadIdx; void f(); };",
            "using threadIdx = int;",
            "typedef int threadIdx;",
            "enum { threadIdx };",
            "namespace threadIdx { int x; }",
            "__device__ int threadIdx();",
            "template <int threadIdx> __global__ void k() {}",
            "using own::threadIdx;",
        ] {
            assert!(declares(text, "threadIdx"), "{text}");
        }
    }

    #[test]
    fn no_edit_brings_in_a_name_that_the_program_took() {
        let edit = |head: &str, new: &str| {
            let text = format!("{head}__global__ void k(float* out) {{\n  out[0] = 1;\n}}\n");
            let tree = SyntaxTree::example("a.cu", &text);
            let at = text.find("out[0]").unwrap();
            tree.replacement(at..at + 6, new).or_else(|| tree.insertion(at, new)).is_some()
        };
        assert!(edit("", "out[threadIdx.x]") && edit("", "__sinf(out[0])"));
        assert!(edit("__device__ float mine(float);\n", "mine(out[0])"));
        assert!(!edit("#define threadIdx blockIdx\n", "out[threadIdx.x]"));
        assert!(!edit("__device__ float __sinf(float);\n", "__sinf(out[0])"));
        assert!(!edit("#define fmaxf(a, b) b\n", "fmaxf(out[0], 1)"));
    }
}
