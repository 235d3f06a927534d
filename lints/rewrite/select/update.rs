//! `a[i] = max(a[i], value)`: writes whose value depends on the element itself.

use std::ops::Range;

use cuda_syntax::ast::{Field, Kind, Node};

use super::{Lines, Writer};
use crate::rewrite::facts::purity::{is_arithmetic, is_pure};
use crate::rewrite::select::holder::IndexedUse;
use crate::rewrite::select::role::Role;

impl Writer<'_> {
    /// Whether the only element that is read is the one that is written: `a[i] = max(a[i], value)`.
    pub(super) fn is_update(&self, target: &IndexedUse<'_>, assignment: Node<'_>, uses: &[IndexedUse<'_>]) -> bool {
        let right = assignment.field(Field::Right).filter(|right| is_pure(self.tree, *right));
        let is_plain = assignment.field(Field::Operator).is_some_and(|it| self.tree.slice(it) == "=");
        let is_inside = |found: &IndexedUse<'_>| {
            right.is_some_and(|right| {
                right.start_byte() <= found.node.start_byte() && found.node.end_byte() <= right.end_byte()
            })
        };
        let mut reads = uses.iter().filter(|found| found.role == Role::Read).peekable();
        let has_reads = reads.peek().is_some();
        let is_only = reads.all(|found| is_inside(found) && self.is_same_text(found.node, target.node));
        is_plain && has_reads && is_only && right.is_some_and(|right| self.can_update(right, target))
    }

    /// Whether all operands except the element can be evaluated before the loop.
    fn can_update(&self, node: Node<'_>, target: &IndexedUse<'_>) -> bool {
        let is_free = !self.mentions(node, target);
        let below = || node.named_children();
        match node.kind() {
            _ if is_free || self.is_same_text(node, target.node) => true,
            Kind::BinaryExpression => {
                let operator = node.operator().unwrap_or_default();
                !matches!(operator, "&&" | "||") && below().all(|child| self.can_update(child, target))
            }
            Kind::ParenthesizedExpression
            | Kind::UnaryExpression
            | Kind::CastExpression
            | Kind::CallExpression
            | Kind::ArgumentList => below().all(|child| self.can_update(child, target)),
            _ => false,
        }
    }

    /// Hoists subexpressions that read memory, and do not use the element, out of the loop.
    pub(super) fn hoist(
        &mut self,
        node: Node<'_>,
        found: &IndexedUse<'_>,
        base: &str,
        parts: &mut Vec<(Range<usize>, String)>,
        lines: &mut Lines,
    ) {
        if self.is_same_text(node, found.node) {
            return;
        }
        if !self.mentions(node, found) {
            let is_name = matches!(node.kind(), Kind::TypeDescriptor | Kind::PrimitiveType | Kind::TemplateFunction);
            let is_called = node.parent().is_some_and(|parent| parent.field(Field::Function) == Some(node));
            if !(is_name || is_called || is_arithmetic(self.tree, node)) {
                let name = self.fresh(&format!("{base}_value"));
                lines.push((0, format!("const auto {name} = {};", self.tree.slice(node))));
                parts.push((node.byte_range(), name));
            }
            return;
        }
        for child in node.named_children() {
            self.hoist(child, found, base, parts, lines);
        }
    }

    fn mentions(&self, node: Node<'_>, target: &IndexedUse<'_>) -> bool {
        self.tree.slice(node).contains(self.tree.slice(target.node))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::edited;
    use crate::rewrite::select::Form;

    fn is_edited(body: &str) -> bool {
        edited("c", Form::Branch, body).is_some()
    }

    #[test]
    fn updates_whose_other_parts_may_come_first() {
        for body in [
            "    c[n] = max(c[n], p[0]);",
            "    c[n] = (c[n] + 1) * 2;",
            "    c[n] = -c[n];",
            "    c[n] = c[n] + p[n];",
        ] {
            assert!(is_edited(body), "{body}");
        }
    }

    #[test]
    fn what_decides_whether_a_part_is_evaluated_stays_where_it_is() {
        // `p` may be null, so `p[0]` must not be evaluated in advance.
        for body in ["    c[n] = c[n] && p[0];", "    c[n] = c[n] ? p[0] : 1;"] {
            let text = edited("c", Form::Branch, body).unwrap_or_default();
            assert!(!text.contains("= p[0];"), "{body}: {text}");
        }
    }
}
