//! Loops whose rounds are counted beside their induction variable: `for (int i = -r; i <= r; ++i) w[i + r] = 0` accesses the
//! elements from the first one, whatever `r` is. A second counter with a constant bound lets such a loop be unrolled.

use cuda_syntax::ast::{Field, Kind, Node, Subscript};
use cuda_syntax::identifiers::FreshNames;
use cuda_syntax::tree::{enclosing_function, resolve};

use super::body::has_meetings;
use super::extent::{Dimension, WantedArray, dimension};
use super::for_loop::ForLoop;
use super::guard::{Guard, as_operand, is_in_block};
use super::header::step;
use super::linear::Linear;
use super::round::Round;
use crate::rewrite::facts::integers::plain_words;
use crate::rewrite::facts::purity::is_pure;
use crate::rewrite::facts::steady::{is_reachable, is_steady, may_write};

/// An element that each round accesses at an index of its own, from a constant one.
struct Counted<'t> {
    node: Node<'t>,
    size: i64,
    /// The number of rounds after which the index is beyond the array, as text and as number.
    extent: String,
    rounds: i64,
    is_of_member: bool,
}

impl ForLoop {
    /// `for (int i = -r, k = 0; k < 15 && i <= r; ++i, ++k)`: the loop ends as before, or where a further round would have
    /// accessed an element beyond the array.
    pub(super) fn counted(&self, array: &WantedArray<'_>) -> Option<Guard> {
        let (tree, node) = (self.tree(), self.node()?);
        let (condition, body) = (self.condition()?, node.field(Field::Body)?);
        let update = node.field(Field::Update)?;
        let start = self.own_start(node)?;
        let is_fit = is_in_block(node) && is_pure(tree, condition) && !has_meetings(tree, body);
        if !is_fit || tree.value_of(start).is_some() {
            return None;
        }
        let elements = self.elements_from(array, body, start, step(tree, update)?);
        let is_certain = |element: &&Counted<'_>| {
            let is_safe = || Round::new(tree, body, vec![element.node]).is_safe(&self.harmless(true));
            self.accesses(element.node, true) || is_safe()
        };
        let element = elements.iter().filter(is_certain).min_by_key(|it| (it.rounds, it.node.start_byte()))?;
        let round = FreshNames::beside(tree.words()).give("k");
        let both = format!("{round} < {} && {}", element.extent, as_operand(tree, condition));
        let edits = [
            tree.insertion(start.end_byte(), &format!(", {round} = 0"))?,
            tree.replacement(condition.byte_range(), &both)?,
            tree.insertion(update.end_byte(), &format!(", ++{round}"))?,
        ];
        let extent = u32::try_from(element.rounds).ok();
        let edits = self.unroll().into_iter().chain(edits).collect();
        Some(Guard::new(edits, extent).over(Some(element.size), element.is_of_member))
    }

    /// The first value of an `int` that the header alone declares and changes.
    pub(super) fn own_start<'t>(&'t self, node: Node<'t>) -> Option<Node<'t>> {
        let tree = self.tree();
        let declared = node.field(Field::Initializer).filter(|it| it.kind() == Kind::Declaration)?;
        let declarator = declared.field(Field::Declarator).filter(|it| it.kind() == Kind::InitDeclarator)?;
        let (body, function) = (node.field(Field::Body)?, enclosing_function(node)?);
        let update = node.field(Field::Update)?;
        let target = update.field(Field::Argument).or_else(|| update.field(Field::Left))?;
        let is_own = declared.fields(Field::Declarator).count() == 1
            && plain_words(tree.slice(declared.field(Field::Type)?)) == "int"
            && declarator.field(Field::Declarator).is_some_and(|name| tree.slice(name) == self.counter())
            && tree.slice(target) == self.counter()
            && !may_write(tree, body, self.counter())
            && !is_reachable(tree, function, self.counter());
        let value = declarator.field(Field::Value).filter(|it| it.kind() != Kind::InitializerList);
        value.filter(|_| is_own)
    }

    /// The elements of a local array whose index is constant in the first round, and rises in each.
    fn elements_from<'t>(
        &'t self,
        array: &WantedArray<'_>,
        body: Node<'t>,
        start: Node<'t>,
        step: i64,
    ) -> Vec<Counted<'t>> {
        let tree = self.tree();
        let header = start.start_byte();
        let Some(start) = Linear::of(tree, start) else { return Vec::new() };
        let all = enclosing_function(body).map(|function| tree.declarations(function)).unwrap_or_default();
        let meant = |at: usize| resolve(&all, self.counter(), at).map(|found| found.range);
        // The first index, and by how much it rises in a round.
        let walk = |index: Node<'t>| {
            let (factor, rest) = Linear::of(tree, index)?.split(tree, self.counter());
            // The same variable in the header and in the body, with the same value.
            let is_same = |(term, _): &(Node<'_>, i64)| {
                let name = term.descendants().find(|it| it.kind() == Kind::Identifier);
                name.is_some_and(|name| {
                    let at = |offset: usize| resolve(&all, tree.slice(name), offset).map(|found| found.range);
                    at(name.start_byte()) == at(header) && is_steady(tree, name, body)
                })
            };
            let are_same = rest.terms().iter().chain(start.terms()).all(is_same);
            let first = rest.clone().plus(tree, &start.clone().times(factor)?)?;
            let rise = factor.checked_mul(step).filter(|rise| *rise > 0 && are_same)?;
            (first.terms().is_empty() && first.constant >= 0).then_some((first.constant, rise))
        };
        let subscripts = body.descendants().filter(|it| it.kind() == Kind::SubscriptExpression);
        let elements = subscripts.filter_map(|node| {
            let is_it = array.has(tree, node) && meant(node.start_byte()) == meant(body.start_byte());
            Subscript::of(node).filter(|_| is_it)?;
            let (Dimension { size, ends_loops, is_of_member }, (first, rise)) = dimension(tree, node, None, &walk)?;
            let value = tree.evaluate(&size, body.start_byte()).filter(|size| ends_loops && *size > first)?;
            let rounds = (value - first + rise - 1) / rise;
            let extent = if (first, rise) == (0, 1) { size } else { rounds.to_string() };
            Some(Counted { node, size: value, extent, rounds, is_of_member })
        });
        elements.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::extent::WantedArray;
    use cuda_syntax::SyntaxTree;
    use lmem_base::edit::apply;

    use super::super::for_loop::for_loops;

    fn counted(body: &str) -> Option<String> {
        let text = format!(
            "constexpr int R = 7;\nstruct P {{ int m; }};\n__global__ void walk(float* in, int r, int s, unsigned u, int m, P p, int* q) {{\n  float w[2 * R + 1];\n  {body}\n}}\n"
        );
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let found = for_loops(&tree, text.find("HERE").expect("the text has a mark"));
        let guard = found.first()?.guarded(&WantedArray::new("w", &[]))?;
        assert_eq!(guard.size, Some(15), "{body}");
        let edited = apply(&text, &guard.edits.iter().collect::<Vec<_>>())?;
        let lines: Vec<&str> = edited.lines().skip(4).map(str::trim).collect();
        Some(lines[..lines.len() - 1].join(" "))
    }

    #[test]
    fn rounds_are_counted_from_the_first_element() {
        for (body, expected) in [
            (
                "for (int i = -r; i <= r; ++i) { w[i + r] = HERE; }",
                "#pragma unroll for (int i = -r, k = 0; k < 2 * R + 1 && i <= r; ++i, ++k) { w[i + r] = HERE; }",
            ),
            (
                "for (int i = r; i >= -r; i -= 2) { if (in[i]) continue; w[r - i + 3] = HERE; }",
                "#pragma unroll for (int i = r, k = 0; k < 6 && i >= -r; i -= 2, ++k) { if (in[i]) continue; w[r - i + 3] = HERE; }",
            ),
            (
                "for (int i = p.m + 1; in[i] > 0 || s; ++i) { float x = w[i - p.m]; if (x > 0) break; in[i] = HERE; }",
                "#pragma unroll for (int i = p.m + 1, k = 0; k < 14 && (in[i] > 0 || s); ++i, ++k) { float x = w[i - p.m]; if (x > 0) break; in[i] = HERE; }",
            ),
        ] {
            assert_eq!(counted(body).as_deref(), Some(expected), "{body}");
        }
    }

    #[test]
    fn other_walks_are_left_alone() {
        for body in [
            // Not from a constant element, or downwards.
            "for (int i = -r; i <= r; ++i) { w[i + s] = HERE; }",
            "for (int i = -r; i <= r; ++i) { w[i * i + r] = HERE; }",
            "for (int i = r; i >= 0; --i) { w[i - r] = HERE; }",
            "for (int i = m; i > 0; --i) { w[m - 1 - i] = HERE; }",
            // The rest changes in the rounds, is of another type, or another variable.
            "for (int i = -r; i <= r; ++i) { w[i + r] = HERE; --r; }",
            "for (int i = -r; i <= r; ++i) { w[i + r] = HERE; f(&r); }",
            "for (int i = -u; i <= r; ++i) { w[i + u] = HERE; }",
            "for (int i = -r; i <= r; ++i) { int r = s; w[i + r] = HERE; }",
            "int& t = s; for (int i = -t; i <= r; ++i) { w[i + t] = HERE; }",
            "for (unsigned i = -r; i <= r; ++i) { w[i + r] = HERE; }",
            "for (long i = -r; i <= r; ++i) { w[i + r] = HERE; }",
            "for (int i = -*q; i <= r; ++i) { w[i + *q] = HERE; }",
            // The counter has other values.
            "for (int i = -r; i <= r; ++i) { w[i + r] = HERE; if (s) ++i; }",
            "int i; for (i = -r; i <= r; ++i) { w[i + r] = HERE; } in[0] = i;",
            "for (int i = -r, j = 0; i <= r; ++i) { w[i + r] = HERE; }",
            // A round beyond the extent has an effect without an access.
            "for (int i = -r; i <= r; ++i) { in[i] = HERE; if (in[i] > 0) w[i + r] = 0; }",
            "for (int i = -r; i <= r; ++i) { if (in[i] > 0) { in[0] = HERE; break; } w[i + r] = 0; }",
            "for (int i = -r; i <= r; ++i) { in[i] = sizeof(w[i + r]) + HERE; }",
            // What the condition does, or asks of other threads.
            "for (int i = -r; i <= r && --s; ++i) { w[i + r] = HERE; }",
            "for (int i = -r; i <= r; ++i) { w[i + r] = HERE; __syncthreads(); }",
            "if (s) for (int i = -r; i <= r; ++i) { w[i + r] = HERE; } else in[0] = 1;",
        ] {
            assert_eq!(counted(body), None, "{body}");
        }
    }
}
