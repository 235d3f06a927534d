//! Whether the iterations of a loop may be reordered.
//!
//! They may if each iteration writes only elements of its own, variables of its own, or reductions that no other part
//! of the loop reads. Floating-point sums then differ in their last digits; any other difference is refused.

use std::collections::BTreeMap;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node, Subscript};
use cuda_syntax::tree::{access_path, last_name};

use super::overlap::may_overlap;
use super::turn::is_apart;
use crate::rewrite::facts::purity::is_pure;

/// Commutative and associative functions.
const COMMUTATIVE: [&str; 6] = ["max", "min", "fmax", "fmin", "fmaxf", "fminf"];
/// Functions that add their last argument.
const ADDING: [&str; 5] = ["fma", "fmaf", "__fmaf_rn", "__fma_rn", "__hfma"];

/// State of the check of a loop body.
pub(super) struct Rounds<'v> {
    tree: &'v SyntaxTree,
    /// The induction variable, and variables with the rotated index.
    counters: Vec<String>,
    /// Variables declared in the body.
    own: Vec<String>,
    /// Reductions: variables from outside the body that are only updated, with the number of their mentions in updates.
    sums: BTreeMap<String, usize>,
    /// Arrays and pointers with written elements, each with the element.
    written: Vec<(String, String)>,
}

impl<'v> Rounds<'v> {
    pub(super) fn new(tree: &'v SyntaxTree, counters: Vec<String>) -> Self {
        Self { tree, counters, own: Vec::new(), sums: BTreeMap::new(), written: Vec::new() }
    }

    /// Whether the iterations of a body give the same result in any order.
    pub(super) fn may_be_reordered(mut self, body: Node<'_>) -> bool {
        if self.statement(body).is_none() || !self.has_no_other_uses(body) {
            return false;
        }
        let written = self.written.iter().map(|(base, _)| base.as_str());
        !may_overlap(self.tree, body, written.chain(self.sums.keys().map(String::as_str)))
    }

    /// Checks a statement; `None` if it may depend on earlier iterations.
    fn statement(&mut self, node: Node<'_>) -> Option<()> {
        let tree = self.tree;
        let pure = |node: Node<'_>| is_pure(tree, node).then_some(());
        match node.kind() {
            Kind::CompoundStatement => node.named_children().try_for_each(|child| self.statement(child)),
            Kind::Comment | Kind::PreprocCall | Kind::ContinueStatement => Some(()),
            Kind::Declaration => self.declaration(node),
            Kind::ExpressionStatement => node.named_child(0).map_or(Some(()), |expression| self.expression(expression)),
            Kind::IfStatement => {
                pure(node.field(Field::Condition)?)?;
                self.statement(node.field(Field::Consequence)?)?;
                node.field(Field::Alternative).map_or(Some(()), |other| self.statement(other))
            }
            Kind::ElseClause => node.named_children().try_for_each(|child| self.statement(child)),
            Kind::ForStatement => {
                let initializer = node.field(Field::Initializer).filter(|it| it.kind() == Kind::Declaration)?;
                self.declaration(initializer)?;
                pure(node.field(Field::Condition)?)?;
                self.expression(node.field(Field::Update)?)?;
                self.statement(node.field(Field::Body)?)
            }
            _ => None,
        }
    }

    fn declaration(&mut self, node: Node<'_>) -> Option<()> {
        let is_lasting = |child: Node<'_>| matches!(self.tree.slice(child), "static" | "__shared__" | "extern");
        if node.children().any(is_lasting) {
            return None;
        }
        for declarator in node.fields(Field::Declarator) {
            let (mut name, mut is_value) = (declarator, true);
            while let Some(inner) = name.field(Field::Declarator) {
                // A pointer may refer to any memory.
                is_value &= matches!(name.kind(), Kind::InitDeclarator | Kind::ArrayDeclarator);
                name = inner;
            }
            let value = declarator.field(Field::Value);
            let values: Vec<Node<'_>> = match value {
                Some(list) if list.kind() == Kind::InitializerList => list.children().collect(),
                value => value.into_iter().collect(),
            };
            let is_fit =
                is_value && name.kind() == Kind::Identifier && values.iter().all(|value| is_pure(self.tree, *value));
            self.own.push(is_fit.then(|| self.tree.slice(name).to_string())?);
        }
        Some(())
    }

    fn expression(&mut self, node: Node<'_>) -> Option<()> {
        let tree = self.tree;
        match node.kind() {
            Kind::AssignmentExpression => {
                let (left, right) = (node.field(Field::Left)?, node.field(Field::Right)?);
                let operator = node.operator()?;
                is_pure(tree, right).then_some(())?;
                self.write(left, Some((operator, right)))
            }
            Kind::UpdateExpression => self.write(node.field(Field::Argument)?, None),
            _ => None,
        }
    }

    /// Checks `x += value`, `x = max(x, value)`, `a[j] = value`; without a value `++x`.
    fn write(&mut self, target: Node<'_>, value: Option<(&str, Node<'_>)>) -> Option<()> {
        let tree = self.tree;
        let base = leftmost(target).filter(|base| base.kind() == Kind::Identifier)?;
        let name = tree.slice(base).to_string();
        if self.own.contains(&name) {
            return Some(());
        }
        if target.kind() == Kind::SubscriptExpression {
            is_apart(tree, Subscript::of(target).and_then(Subscript::index)?, &self.counters).then_some(())?;
            self.written.push((name, tree.slice(target).to_string()));
            return Some(());
        }
        let is_name = target.kind() == Kind::Identifier || target.kind() == Kind::FieldExpression;
        let text = tree.slice(target);
        let uses = match value {
            _ if !is_name => return None,
            None => 1,
            Some(("+=" | "-=" | "*=" | "&=" | "|=" | "^=", _)) => 1,
            Some(("=", right)) => adds_to(tree, right, text).then_some(2)?,
            Some(_) => return None,
        };
        *self.sums.entry(name).or_default() += uses;
        Some(())
    }

    /// Whether only the updates themselves read the variables that iterations change.
    fn has_no_other_uses(&self, body: Node<'_>) -> bool {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for node in body.descendants() {
            if node.kind() == Kind::Identifier {
                let name = self.tree.slice(node);
                *counts.entry(name).or_default() += 1;
                let element = self.tree.slice(access_path(node));
                if self.written.iter().any(|(base, written)| base == name && written != element) {
                    return false;
                }
            }
        }
        self.sums.iter().all(|(name, uses)| counts.get(name.as_str()) == Some(uses))
    }
}

/// Whether an expression is the maximum, minimum, sum or product of a variable and something else.
fn adds_to(tree: &SyntaxTree, right: Node<'_>, target: &str) -> bool {
    let is_target = |node: Node<'_>| tree.slice(node) == target;
    let (left_side, right_side) = (right.field(Field::Left), right.field(Field::Right));
    match right.kind() {
        Kind::BinaryExpression => {
            let operator = right.operator().unwrap_or_default();
            let is_first = left_side.is_some_and(is_target) && matches!(operator, "+" | "-" | "*" | "&" | "|" | "^");
            is_first || (right_side.is_some_and(is_target) && matches!(operator, "+" | "*" | "&" | "|" | "^"))
        }
        Kind::CallExpression => {
            let called = right.field(Field::Function).map_or("", |called| last_name(tree.slice(called)));
            let list = right.field(Field::Arguments).into_iter().flat_map(Node::children);
            let list: Vec<Node<'_>> = list.into_iter().filter(Node::is_named).collect();
            (COMMUTATIVE.contains(&called) && list.len() == 2 && list.iter().any(|node| is_target(*node)))
                || (ADDING.contains(&called) && list.last().is_some_and(|node| is_target(*node)))
        }
        _ => false,
    }
}

fn leftmost(target: Node<'_>) -> Option<Node<'_>> {
    let mut node = target;
    while matches!(node.kind(), Kind::SubscriptExpression | Kind::FieldExpression) {
        let is_pointer = node.field(Field::Operator).is_some_and(|operator| operator.is_token("->"));
        node = node.field(Field::Argument).filter(|_| !is_pointer)?;
    }
    Some(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may_be_reordered(body: &str) -> bool {
        let text = format!(
            "void f(float *out, const float *c, int n, int i, float x, float limit) {{ float a[8], sum, best, last; \
             int count, at; for (int j = 0; j < 8; ++j) {{ {body} }} }}"
        );
        let tree = SyntaxTree::example("a.cu", text.as_str());
        let start = text.rfind(&format!("{{ {body}")).unwrap();
        let body = tree.root().unwrap().named_descendant_for_byte_range(start, start + body.len() + 4).unwrap();
        Rounds::new(&tree, vec!["j".to_string()]).may_be_reordered(body)
    }

    #[test]
    fn sums_and_own_elements_may() {
        for body in [
            "sum += a[j] * c[j];",
            "sum = fmaf(a[j], c[j], sum);",
            "best = fmaxf(best, a[j]);",
            "out[j * n + i] = a[j];",
            "float v = a[j]; if (v > limit) ++count; else v = 0; sum += v * v;",
            "const int k = (n - j) & 7; sum += a[k];",
            "for (int k = 0; k < 4; ++k) sum += a[j] * k;",
            "a[j] = a[j] * 2;",
        ] {
            assert!(may_be_reordered(body), "{body}");
        }
    }

    #[test]
    fn what_looks_at_rounds_before_may_not() {
        for body in [
            "if (a[j] > best) { best = a[j]; at = j; }",
            "sum = sum * x + a[j];",
            "sum += a[j]; out[j] = sum;",
            "out[n] = a[j];",
            "out[j / 2] = a[j];",
            "a[j] = a[j + 1];",
            "if (a[j] < 0) break;",
            "float& last = a[0]; last += a[j];",
            "float* p = a + j; *p = 0;",
            "static float last; last += a[j];",
            "log(&a[j]);",
            "atomicAdd(out, a[j]);",
            "out[count++] = a[j];",
            "last = a[j];",
            // The output may be the input, an element further.
            "out[j] = a[j] + c[j];",
            "sum += c[j]; out[j] = a[j];",
        ] {
            assert!(!may_be_reordered(body), "{body}");
        }
    }
}
