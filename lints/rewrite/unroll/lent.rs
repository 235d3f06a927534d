//! Elements and rows that a function gets, which certainly reads or writes them: `step(state, k[s])`, `load(&a[i])`. An index beyond the
//! array is then as undefined as where the element is named itself.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Call, Field, Kind, Node, Pointer, Subscript};
use cuda_syntax::tree::{access_path, role};

use super::body::{exits, is_unconditional};
use crate::rewrite::facts::accessed::is_accessed;
use crate::rewrite::facts::called::called;
use crate::rewrite::facts::variables::uses_of;

/// Whether an element, or a row, is an argument for a function of the text that accesses in any case what it gets.
pub(super) fn is_accessed_by_callee(tree: &SyntaxTree, element: Node<'_>) -> bool {
    accessed(tree, element).unwrap_or(false)
}

fn accessed(tree: &SyntaxTree, element: Node<'_>) -> Option<bool> {
    let parent = element.parent()?;
    let is_address = Pointer::of(parent).is_some_and(Pointer::is_address);
    let argument = if is_address { parent } else { element };
    let list = argument.parent().filter(|it| it.kind() == Kind::ArgumentList)?;
    let call = Call::of(list.parent()?)?;
    let function = called(tree, call)?;
    let body = function.body;
    let position = call.arguments().position(|it| it == argument)?;
    let parameter = function.parameters().nth(position).filter(|it| it.kind() == Kind::ParameterDeclaration)?;
    let declarator = parameter.field(Field::Declarator)?;
    let is_reference = match declarator.kind() {
        Kind::ReferenceDeclarator => true,
        Kind::PointerDeclarator | Kind::ArrayDeclarator => false,
        _ => return None,
    };
    let own = declarator.named_children().find(|it| it.kind() == Kind::Identifier)?;
    let is_direct = !tree.slice(declarator).contains("&&");
    let is_fit = is_direct && !(is_reference && is_address) && tree.compiled().is_verbatim(&parameter.byte_range());
    let uses = uses_of(tree, own).filter(|_| is_fit)?;
    // A pointer that is moved leads elsewhere.
    let is_moved = |used: &Node<'_>| !is_reference && access_path(*used) == *used && role(*used).1 && !is_handed(*used);
    let first_exit = exits(tree, body).iter().map(|exit| exit.start_byte()).min();
    let is_certain = |accessed: Node<'_>| {
        is_accessed(tree, accessed)
            && is_unconditional(tree, accessed, body)
            && first_exit.is_none_or(|exit| accessed.end_byte() <= exit)
    };
    let is_any = uses.iter().any(|used| {
        let accessed = if is_reference { Some(*used) } else { pointee(tree, *used) };
        accessed.is_some_and(is_certain)
    });
    Some(is_any && !uses.iter().any(is_moved))
}

/// Whether a name is an argument, which a function gets by value where it is a pointer.
fn is_handed(used: Node<'_>) -> bool {
    used.parent().is_some_and(|parent| parent.kind() == Kind::ArgumentList)
}

/// `*p`, and `p[2]` with an index that is not negative.
fn pointee<'t>(tree: &SyntaxTree, pointer: Node<'t>) -> Option<Node<'t>> {
    let parent = pointer.parent()?;
    if Pointer::of(parent).is_some_and(Pointer::is_dereference) {
        return Some(parent);
    }
    let subscript = Subscript::of(parent).filter(|it| it.base() == Some(pointer))?;
    subscript.index().and_then(|index| tree.value_of(index)).filter(|index| *index >= 0).map(|_| parent)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::extent::WantedArray;
    use super::super::for_loop::for_loops;
    use super::*;
    use lmem_base::edit::apply;

    const HEAD: &str = "__device__ void step(const float* y, float* dy) { dy[0] = y[1]; dy[1] = -y[0]; }\n\
        __device__ void maybe(float* p, int n) { if (n) *p = 1; }\n\
        __device__ void early(float* p, int n) { if (n) return; *p = 1; }\n\
        __device__ void moved(float* p) { p -= 4; *p = 1; }\n\
        __device__ void before(float* p) { p[-1] = 1; }\n\
        __device__ void keep(float** to, float* p) { *to = p; }\n\
        __device__ float value(float& x) { x += 1; return x; }\n\
        __device__ float twice(float* p) { return *p * 2; }\n\
        __device__ float twice(double* p) { return *p; }\n";

    fn guarded(body: &str) -> Option<String> {
        let text = format!(
            "{HEAD}__global__ void k(float* in, float** to, int n) {{\n  float y[2], k[6][2], a[8];\n  {body}\n}}\n"
        );
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let at = text.find("HERE")?;
        let found = for_loops(&tree, at);
        let array = if body.contains("k[") { "k" } else { "a" };
        let guard = found.first()?.guarded(&WantedArray::new(array, &[]))?;
        let edited = apply(&text, &guard.edits.iter().collect::<Vec<_>>())?;
        let start = edited.find("a[8];\n")? + "a[8];\n".len();
        Some(edited[start..].lines().map(str::trim).take_while(|line| *line != "}").collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn what_a_function_certainly_accesses_ends_the_loop() {
        for (body, expected) in [
            (
                "for (int s = 0; s < n; ++s) { step(y, k[s]); /* HERE */ }",
                "#pragma unroll for (int s = 0; s < 6; ++s) if (s < n) { step(y, k[s]); /* HERE */ }",
            ),
            (
                "for (int s = 0; s < n; ++s) { in[s] = value(a[s]); /* HERE */ }",
                "#pragma unroll for (int s = 0; s < 8; ++s) if (s < n) { in[s] = value(a[s]); /* HERE */ }",
            ),
            (
                "for (int s = 0; s < n; ++s) { step(in, &a[s]); /* HERE */ }",
                "#pragma unroll for (int s = 0; s < 8; ++s) if (s < n) { step(in, &a[s]); /* HERE */ }",
            ),
        ] {
            assert_eq!(guarded(body).as_deref(), Some(expected), "{body}");
        }
    }

    #[test]
    fn what_it_may_leave_alone_does_not() {
        for body in [
            "for (int s = 0; s < n; ++s) { in[s] = 1; maybe(k[s], n); /* HERE */ }",
            "for (int s = 0; s < n; ++s) { in[s] = 1; early(&a[s], n); /* HERE */ }",
            "for (int s = 0; s < n; ++s) { in[s] = 1; moved(k[s]); /* HERE */ }",
            "for (int s = 0; s < n; ++s) { in[s] = 1; before(k[s]); /* HERE */ }",
            "for (int s = 0; s < n; ++s) { in[s] = 1; keep(to, k[s]); /* HERE */ }",
            "for (int s = 0; s < n; ++s) { in[s] = twice(&a[s]); /* HERE */ }",
            "for (int s = 0; s < n; ++s) { in[s] = unknown(&a[s]); /* HERE */ }",
            "auto step = [](float* y, float* p) {}; for (int s = 0; s < n; ++s) { in[s] = 1; step(y, k[s]); /* HERE */ }",
        ] {
            assert_eq!(guarded(body), None, "{body}");
        }
    }
}
