//! Loops that count down to a run-time bound: `for (int k = 7; k > at; --k) key[k] = key[k - 1]` goes down to the first element,
//! and `if (k > at)` is its guard. A further round would have accessed an element before the array.

use cuda_syntax::ast::{Field, Kind};

use super::body::has_meetings;
use super::bound::{Bound, open_bound};
use super::extent::{IndexedElement, WantedArray};
use super::for_loop::ForLoop;
use super::guard::{Guard, is_in_block};

impl ForLoop {
    /// The loop down to the first element; `None` if a round may do without the element of its number.
    pub(super) fn bounded_below(&self, elements: &[IndexedElement<'_>], array: &WantedArray<'_>) -> Option<Guard> {
        let (tree, node) = (self.tree(), self.node()?);
        let (condition, body) = (self.condition()?, node.field(Field::Body)?);
        let is_fit = is_in_block(node)
            && matches!(body.kind(), Kind::CompoundStatement | Kind::ExpressionStatement | Kind::IfStatement)
            && !has_meetings(tree, body);
        let bound =
            Some(node).filter(|_| is_fit).and_then(|it| open_bound(tree, it, condition, body, self.counter()))?;
        let Bound::Lower { bound, is_reached } = bound else { return None };
        let certain = elements.iter().filter(|it| it.ends_loops && self.accesses(it.node, true));
        // The element that is left first ends the loop.
        let (least, is_of_member) = certain.filter_map(|it| Some((it.least?, it.is_of_member))).max()?;
        let own = elements.iter().find(|it| array.has(tree, it.node))?;
        let last = if is_reached { least } else { least - 1 };
        let guard = format!("if ({}) ", tree.slice(condition));
        let edits = [
            self.unroll(),
            Some(tree.replacement(bound.byte_range(), &last.to_string())?),
            Some(tree.insertion(body.start_byte(), &guard)?),
        ];
        let rounds = own.value.and_then(|value| u32::try_from(value).ok());
        Some(Guard::new(edits.into_iter().flatten().collect(), rounds).over(own.size, is_of_member))
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::for_loop::for_loops;
    use super::*;
    use cuda_syntax::SyntaxTree;
    use lmem_base::edit::apply;

    fn guarded(body: &str) -> Option<String> {
        let text = format!("__global__ void k(float* in, int n, unsigned m) {{\n  float a[8], b[8];\n  {body}\n}}\n");
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let found = for_loops(&tree, text.find("HERE")?);
        let guard = found.first()?.guarded(&WantedArray::new("a", &[]))?;
        let edited = apply(&text, &guard.edits.iter().collect::<Vec<_>>())?;
        Some(edited.lines().skip(2).map(str::trim).take_while(|line| *line != "}").collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn loops_run_down_to_the_first_element() {
        for (body, expected) in [
            (
                "for (int k = 7; k > n; --k) { a[k] = a[k - 1]; b[k] = HERE; }",
                "#pragma unroll for (int k = 7; k > 0; --k) if (k > n) { a[k] = a[k - 1]; b[k] = HERE; }",
            ),
            (
                "for (int k = 6; k >= n; k--) a[k + 1] = a[k] + HERE;",
                "#pragma unroll for (int k = 6; k >= 0; k--) if (k >= n) a[k + 1] = a[k] + HERE;",
            ),
            (
                "for (int k = 7; k > n; --k) { if (in[k] < 0) continue; a[k] = HERE; if (in[k] > 9) break; }",
                "#pragma unroll for (int k = 7; k > -1; --k) if (k > n) { if (in[k] < 0) continue; a[k] = HERE; if (in[k] > 9) break; }",
            ),
            (
                "int k; for (k = 7; k > n; --k) a[k] = HERE; for (k = 0; k < 8; ++k) in[k] = a[k];",
                "int k; #pragma unroll for (k = 7; k > -1; --k) if (k > n) a[k] = HERE; for (k = 0; k < 8; ++k) in[k] = a[k];",
            ),
        ] {
            assert_eq!(guarded(body).as_deref(), Some(expected), "{body}");
        }
    }

    #[test]
    fn rounds_that_may_do_without_an_element_are_left_alone() {
        for body in [
            // An effect without an access, a bound that changes, and one that wraps around.
            "for (int k = 7; k > n; --k) { if (in[k] > 0) a[k] = HERE; in[k] = 1; }",
            "for (int k = 7; k > n; --k) { a[k] = HERE; ++n; }",
            "for (int k = 7; k > m; --k) { a[k] = HERE; }",
            // The variable is used behind the loop, which leaves another value in it.
            "int k; for (k = 7; k > n; --k) a[k] = HERE; in[0] = k;",
            "for (int k = 7; k > n; k -= 2) { a[k] = HERE; }",
            "for (int k = 7; k > n; --k) { a[k + 1] = HERE; }",
        ] {
            assert_eq!(guarded(body), None, "{body}");
        }
    }
}
