//! Loops whose first index is unknown: `for (int i = first; i < n; ++i) a[i] = 0` gets the array size as its trip count, and
//! `if (first <= i && i < n)` as its guard. A round below the first element would have accessed one before the array.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Binary, Field, Kind, Node, Subscript};
use cuda_syntax::tree::{enclosing_function, resolve};

use super::body::has_meetings;
use super::bound::{is_steady_bound, is_steady_value};
use super::extent::{IndexedElement, WantedArray, indexed_elements};
use super::for_loop::ForLoop;
use super::guard::{Guard, as_operand, as_term, is_in_block};
use super::header::step;
use super::indexing::indexings;
use super::inevitable::is_inevitable;
use crate::rewrite::facts::integers::is_int;

/// The largest step that leaves out elements.
const MOST_STEP: i64 = 4;

impl ForLoop {
    /// Whether the first index depends on a loop around that is not unrolled.
    pub(super) fn begins_anywhere(&self, is_unrolled: &dyn Fn(&ForLoop) -> bool) -> bool {
        let start = self.node().and_then(|node| self.own_start(node));
        let around = || self.around().into_iter().filter(|outer| outer.rounds.is_none() && !is_unrolled(outer));
        start.is_some_and(|start| around().any(|outer| self.tree().named(start, outer.counter()).next().is_some()))
    }

    /// The loop over all elements, if it is over the array.
    pub(super) fn over_whole_array(&self, array: &WantedArray<'_>) -> Option<Guard> {
        let body = self.node()?.field(Field::Body)?;
        self.over_all(&indexed_elements(self.tree(), body, self.counter()), array)
    }

    /// The loop over all elements; `None` if a round may do without the element of its own index.
    pub(super) fn over_all(&self, elements: &[IndexedElement<'_>], array: &WantedArray<'_>) -> Option<Guard> {
        let (tree, node) = (self.tree(), self.node()?);
        let (condition, body) = (self.condition()?, node.field(Field::Body)?);
        let update = node.field(Field::Update)?;
        let (start, step) = (self.own_start(node)?, step(tree, update)?);
        let is_fit = is_in_block(node)
            && matches!(body.kind(), Kind::CompoundStatement | Kind::ExpressionStatement | Kind::IfStatement)
            && matches!(step, 1 | 2 | MOST_STEP)
            && tree.value_of(start).is_none()
            && is_int(tree, start)
            && is_steady_value(tree, start, body, self.counter())
            && is_steady_bound(tree, condition, body, self.counter())
            // A negative index is large where the comparison makes it unsigned, and the loop has no round.
            && condition.field(Field::Right).is_some_and(|right| is_int(tree, right))
            && !has_meetings(tree, body);
        let is_it = |it: &IndexedElement<'_>| it.ends_loops && array.has(tree, it.node);
        let certain = elements.iter().filter(|it| is_fit && is_it(it) && self.is_certain(it, body));
        let element = certain.min_by_key(|it| (it.value, it.node.start_byte()))?;
        let (counter, first) = (self.counter(), as_term(tree, start));
        let condition_text = as_operand(tree, condition);
        // The first one is not negative where the remainder is asked for.
        let guard = match step {
            1 => format!("if ({first} <= {counter} && {condition_text}) "),
            step if has_bits_below(tree, start, step) => {
                format!("if ({counter} % {step} == {first} && {condition_text}) ")
            }
            step => format!(
                "if ({first} <= {counter} && {condition_text} && ({counter} - {}) % {step} == 0) ",
                as_factor(tree, start)
            ),
        };
        let edits = [
            tree.replacement(start.byte_range(), "0")?,
            tree.replacement(condition.byte_range(), &format!("{counter} < {}", element.extent))?,
            tree.replacement(update.byte_range(), &format!("++{counter}"))?,
            tree.insertion(body.start_byte(), &guard)?,
        ];
        let edits = edits.into_iter().filter(|edit| edit.span.text() != edit.replacement);
        let extent = element.value.and_then(|value| u32::try_from(value).ok());
        let edits = self.unroll().into_iter().chain(edits).collect();
        Some(Guard::new(edits, extent).over(element.size, element.is_of_member))
    }

    /// Whether each round that does anything accesses the element of its index, in an array of one dimension.
    fn is_certain(&self, element: &IndexedElement<'_>, body: Node<'_>) -> bool {
        let certain = || {
            let (tree, used) = (self.tree(), element.node);
            let is_row = |used: Node<'_>| {
                Subscript::of(used).and_then(Subscript::base).is_some_and(|base| base.kind() == Kind::Identifier)
            };
            let indexed = indexings(tree, used);
            let is_whole = match indexed.is_empty() {
                true => is_row(used),
                false => indexed.iter().all(|it| is_row(it.element)),
            };
            let all = tree.declarations(enclosing_function(used)?);
            let meant = |at: usize| resolve(&all, self.counter(), at).map(|found| found.range);
            let is_own = meant(used.start_byte()) == meant(body.start_byte());
            // A `break` below the first element would have ended the loop.
            let is_direct = element.least == Some(0);
            Some(is_whole && is_direct && is_own && is_inevitable(tree, used, body, &[Kind::ContinueStatement]))
        };
        certain().unwrap_or(false)
    }
}

/// Whether an expression is one of the numbers below a power of two: `r & 1` for 2.
fn has_bits_below(tree: &SyntaxTree, start: Node<'_>, step: i64) -> bool {
    let bits = Binary::of(start.without_parentheses()).filter(|it| it.operator() == Some("&"));
    bits.and_then(Binary::right).and_then(|mask| tree.value_of(mask)) == Some(step - 1)
}

/// An expression as the right side of a difference.
fn as_factor(tree: &SyntaxTree, node: Node<'_>) -> String {
    match node.kind() {
        Kind::BinaryExpression => format!("({})", tree.slice(node)),
        _ => tree.slice(node).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::extent::WantedArray;
    use cuda_syntax::SyntaxTree;
    use lmem_base::edit::apply;

    use super::super::for_loop::for_loops;

    fn edited(body: &str) -> Option<String> {
        let text = format!(
            "struct P {{ int m; }};\n__global__ void walk(float* in, int r, int s, unsigned u, int m, P p, int* q) {{\n  float w[8], b[4][8];\n  {body}\n}}\n"
        );
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let found = for_loops(&tree, text.find("HERE").expect("the text has a mark"));
        let guard = found.first()?;
        let guard =
            guard.guarded(&WantedArray::new("w", &[])).or_else(|| guard.guarded(&WantedArray::new("b", &[])))?;
        let edited = apply(&text, &guard.edits.iter().collect::<Vec<_>>())?;
        let lines: Vec<&str> = edited.lines().skip(3).map(str::trim).collect();
        Some(lines[..lines.len() - 1].join(" "))
    }

    #[test]
    fn all_elements_are_visited_with_both_bounds() {
        for (body, expected) in [
            (
                "for (int i = r; i < m; ++i) { in[0] += w[i] * HERE; }",
                "#pragma unroll for (int i = 0; i < 8; ++i) if (r <= i && i < m) { in[0] += w[i] * HERE; }",
            ),
            (
                "for (int i = p.m + 1; i <= m - s; i++) { if (in[i] > 0) continue; w[i] = HERE; }",
                "#pragma unroll for (int i = 0; i < 8; ++i) if (p.m + 1 <= i && i <= m - s) { if (in[i] > 0) continue; w[i] = HERE; }",
            ),
            (
                "for (int i = r; i < m; i += 2) w[i] = HERE;",
                "#pragma unroll for (int i = 0; i < 8; ++i) if (r <= i && i < m && (i - r) % 2 == 0) w[i] = HERE;",
            ),
            (
                "for (int i = r & 3; i < m; i += 4) w[i] = HERE;",
                "#pragma unroll for (int i = 0; i < 8; ++i) if (i % 4 == (r & 3) && i < m) w[i] = HERE;",
            ),
            (
                "for (int i = r & 3; i + 1 < m; i += 2) w[i] = HERE;",
                "#pragma unroll for (int i = 0; i < 8; ++i) if ((r & 3) <= i && i + 1 < m && (i - (r & 3)) % 2 == 0) w[i] = HERE;",
            ),
        ] {
            assert_eq!(edited(body).as_deref(), Some(expected), "{body}");
        }
    }

    #[test]
    fn rounds_below_the_array_may_do_something_else() {
        for body in [
            // An element of another index, or of a row, may be there below zero.
            "for (int i = r; i < m; ++i) { w[i + 1] = HERE; }",
            "for (int i = r; i < m; ++i) { b[2][i] = HERE; }",
            "for (int i = r; i < m; ++i) { b[i][2] = HERE; }",
            // Effects without an access, and rounds that end the loop.
            "for (int i = r; i < m; ++i) { if (i >= 0) w[i] = HERE; in[i] = 0; }",
            "for (int i = r; i < m; ++i) { if (i >= 0) w[i] = HERE; }",
            "for (int i = r; i < m; ++i) { if (i < 0) break; w[i] = HERE; }",
            "for (int i = r; i < m; ++i) { if (i < 0) return; w[i] = HERE; }",
            "for (int i = r; i < m; ++i) { in[i] = sizeof(w[i]) + HERE; }",
            // What changes, or is of another type.
            "for (int i = r; i < m; ++i) { w[i] = HERE; --r; }",
            "for (int i = r; i < m; ++i) { w[i] = HERE; --m; }",
            "for (int i = *q; i < m; ++i) { w[i] = HERE; }",
            "for (int i = u; i < m; ++i) { w[i] = HERE; }",
            "for (unsigned i = r; i < m; ++i) { w[i] = HERE; }",
            "for (int i = r; i < u; ++i) { w[i] = HERE; }",
            "for (int i = r; i < m + 4u; ++i) { w[i] = HERE; }",
            "for (long i = r; i < m; ++i) { w[i] = HERE; }",
            "for (int i = r; i < m; i += 3) { w[i] = HERE; }",
            "for (int i = r; i < m; i += s) { w[i] = HERE; }",
            "for (int i = r, j = r; i < m; ++i) { w[i] = HERE; }",
            "int i; for (i = r; i < m; ++i) { w[i] = HERE; } in[0] = i;",
            "for (int i = r; i < m; ++i) { int& t = i; t += 2; w[i] = HERE; }",
            "for (int i = r; i < m; ++i) { w[i] = HERE; __syncwarp(); }",
            "for (int i = r; (i & 3) < m; ++i) { w[i] = HERE; }",
            "for (int i = r; i < m; ++i) { int i = 3; w[i] = HERE; }",
            "if (s) for (int i = r; i < m; ++i) { w[i] = HERE; } else in[0] = 1;",
        ] {
            assert_eq!(edited(body), None, "{body}");
        }
    }
}
