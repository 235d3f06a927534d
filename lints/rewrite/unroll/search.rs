//! Loops that look for an element: `while (key[at] < k) ++at;`. Each time the condition is asked, it reads the element of the counter, so
//! that the counter never went beyond the array: the extent becomes a first condition, and the loop can be unrolled.

use std::ops::Range;

use cuda_syntax::ast::{Field, Kind};
use lmem_frame::{Access, Address, StackObject};

use super::body::{has_meetings, is_unconditional};
use super::bound::{is_counted_in_body, rises_from_constant};
use super::extent::{WantedArray, indexed_elements};
use super::for_loop::{ForLoop, stepped_loop};
use super::guard::{Guard, as_operand, is_in_block};
use crate::rewrite::facts::accessed::is_accessed;
use crate::rewrite::facts::purity::is_pure;

impl ForLoop {
    /// The loop with the extent as first condition; `None` if it may be asked without the element.
    pub(super) fn searched(&self, array: &WantedArray<'_>) -> Option<Guard> {
        let (tree, node) = (self.tree(), self.node()?);
        let (condition, body) = (self.condition()?, node.field(Field::Body)?);
        let counts = || {
            is_counted_in_body(tree, node, self.counter())
                || (!self.is_stepped && rises_from_constant(tree, node, body, self.counter()))
        };
        let is_fit = is_in_block(node)
            && matches!(node.kind(), Kind::WhileStatement | Kind::ForStatement)
            && condition.kind() != Kind::Declaration
            && is_pure(tree, condition)
            && !has_meetings(tree, body)
            && !has_meetings(tree, condition)
            && counts();
        let elements = indexed_elements(tree, condition, self.counter());
        let certain = elements.iter().filter(|it| {
            let is_certain = || is_unconditional(tree, it.node, condition) && is_accessed(tree, it.node);
            is_fit && it.ends_loops && array.has(tree, it.node) && is_certain()
        });
        let element = certain.min_by_key(|it| (it.value, it.node.start_byte()))?;
        let both = format!("{} < {} && {}", self.counter(), element.extent, as_operand(tree, condition));
        let edits = [self.unroll(), Some(tree.replacement(condition.byte_range(), &both)?)];
        let extent = element.value.and_then(|value| u32::try_from(value).ok());
        let guard = Guard::new(edits.into_iter().flatten().collect(), extent);
        Some(guard.over(element.size, element.is_of_member))
    }
}

/// The loop whose condition an access is in, if the counter of that is all of the index.
pub(in crate::rewrite) fn search_of(object: &StackObject, access: &Access) -> Option<ForLoop> {
    let index = access.index.as_ref().filter(|_| matches!(access.address, Address::Computed(_)))?;
    access.places.iter().find_map(|place| {
        let tree = object.tree(place);
        let at = tree.offset_of(index)?;
        let found = stepped_loop(tree, at, &[index.text().trim()])?;
        let condition = found.node()?.field(Field::Condition)?;
        condition.byte_range().contains(&at).then_some(found)
    })
}

/// The text of the loops that look for elements of an object.
pub(in crate::rewrite) fn searches(object: &StackObject) -> Vec<Range<usize>> {
    let found = object.accesses.iter().filter_map(|access| search_of(object, access));
    found.filter_map(|found| Some(found.node()?.byte_range())).collect()
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use cuda_syntax::SyntaxTree;
    use lmem_base::edit::apply;

    fn guarded(body: &str) -> Option<String> {
        let text = format!("__global__ void k(float* in, int n, float v) {{\n  float a[8];\n  {body}\n}}\n");
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let found = stepped_loop(&tree, text.find("a[at")?, &["at"])?;
        let guard = found.guarded(&WantedArray::new("a", &[]))?;
        let edited = apply(&text, &guard.edits.iter().collect::<Vec<_>>())?;
        Some(edited.lines().skip(2).map(str::trim).take_while(|line| *line != "}").collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_search_ends_with_the_array() {
        for (body, expected) in [
            ("int at = 0; while (a[at] < v) ++at;", "int at = 0; #pragma unroll while (at < 8 && a[at] < v) ++at;"),
            (
                "int at = 0; while (a[at] < v && at < n) { ++at; }",
                "int at = 0; #pragma unroll while (at < 8 && a[at] < v && at < n) { ++at; }",
            ),
            (
                "int at = 1; while (v < a[at - 1] || in[at] > 0) at++;",
                "int at = 1; #pragma unroll while (at < 8 + 1 && (v < a[at - 1] || in[at] > 0)) at++;",
            ),
        ] {
            let expected = expected.replace("8 + 1", "9");
            assert_eq!(guarded(body), Some(expected), "{body}");
        }
    }

    #[test]
    fn what_may_go_on_without_an_element_is_left_alone() {
        for body in [
            "int at = 0; while (at < n && a[at] < v) ++at;",
            "int at = n; while (a[at] < v) ++at;",
            "int at = 0; while (a[at] < v) { if (in[at] > 0) --at; ++at; }",
            "int at = 0; while (a[at] < ++v) ++at;",
            "int at = 0; while (in[0] > 0 ? a[at] < v : v > 0) ++at;",
            "int at = 0; while (a[at] < v) { ++at; __syncthreads(); }",
        ] {
            assert_eq!(guarded(body), None, "{body}");
        }
    }
}
