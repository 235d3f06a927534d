//! One round of a loop: whether it certainly accesses one of some elements, and whether it has an effect without that.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Assignment, Binary, Field, Kind, Node, Update};
use cuda_syntax::tree::{DeclarationKind, enclosing_function, resolve};

use super::body::{condition_of, exits, has_entries, is_automatic, is_idle, is_unconditional};
use super::header::step;
use super::inevitable::is_used;
use crate::rewrite::facts::purity::is_pure;
use crate::rewrite::facts::steady::{is_reachable, may_write};

/// The round of a loop with a body, and the elements that it may access.
pub struct Round<'t> {
    tree: &'t SyntaxTree,
    body: Node<'t>,
    elements: Vec<Node<'t>>,
}

impl<'t> Round<'t> {
    pub fn new(tree: &'t SyntaxTree, body: Node<'t>, elements: Vec<Node<'t>>) -> Self {
        let elements = elements.into_iter().filter(|element| is_used(tree, *element)).collect();
        Self { tree, body, elements }
    }

    /// Whether each round runs from its start to its end.
    pub fn is_complete(&self) -> bool {
        exits(self.tree, self.body).is_empty() && !has_entries(self.body)
    }

    /// Whether a round has no effect, except ending the loop by one of the `harmless` jumps, unless it accesses one of the
    /// elements.
    pub fn is_safe(&self, harmless: &[Kind]) -> bool {
        !self.elements.is_empty() && !has_entries(self.body) && self.is_safe_statement(self.body, harmless)
    }

    /// Whether each execution of a statement accesses one of the elements.
    pub fn accesses(&self, statement: Node<'t>) -> bool {
        match statement.kind() {
            Kind::CompoundStatement => {
                for child in statement.parts() {
                    if self.accesses(child) {
                        return true;
                    }
                    if !exits(self.tree, child).is_empty() {
                        return false;
                    }
                }
                false
            }
            Kind::ExpressionStatement | Kind::Declaration => self.has_unconditional(statement),
            Kind::IfStatement => {
                let parts = [statement.field(Field::Consequence), statement.field(Field::Alternative)];
                let in_condition = || statement.field(Field::Condition).is_some_and(|it| self.has_unconditional(it));
                in_condition() || parts.iter().all(|part| part.is_some_and(|part| self.accesses(part)))
            }
            Kind::ElseClause => statement.parts().next().is_some_and(|inner| self.accesses(inner)),
            Kind::ForStatement => {
                statement.field(Field::Body).is_some_and(|body| self.accesses(body)) && self.runs(statement)
            }
            _ => false,
        }
    }

    /// Whether an element is accessed each time when an expression or a declaration is evaluated.
    fn has_unconditional(&self, whole: Node<'t>) -> bool {
        let range = whole.byte_range();
        let mut within = self.elements.iter().filter(|it| range.start <= it.start_byte() && it.end_byte() <= range.end);
        within.any(|element| is_unconditional(self.tree, *element, whole))
    }

    fn is_safe_statement(&self, statement: Node<'t>, harmless: &[Kind]) -> bool {
        if self.accesses(statement) || is_idle(self.tree, statement, harmless) || self.is_of_round(statement) {
            return true;
        }
        match statement.kind() {
            Kind::CompoundStatement => {
                for child in statement.parts() {
                    if self.accesses(child) {
                        return true;
                    }
                    if !self.is_safe_statement(child, harmless) {
                        return false;
                    }
                }
                true
            }
            Kind::IfStatement => {
                let parts = [statement.field(Field::Consequence), statement.field(Field::Alternative)];
                let Some(condition) = condition_of(statement).filter(|it| is_pure(self.tree, *it)) else {
                    return false;
                };
                let is_alone = parts[1].is_none() && self.is_true_only_with_access(condition);
                is_alone || parts.into_iter().flatten().all(|part| self.is_safe_statement(part, harmless))
            }
            Kind::ElseClause => statement.parts().all(|inner| self.is_safe_statement(inner, harmless)),
            Kind::ForStatement => {
                let inner: &[Kind] = &[Kind::BreakStatement, Kind::ContinueStatement];
                let body = statement.field(Field::Body);
                self.has_idle_head(statement) && body.is_some_and(|body| self.is_safe_statement(body, inner))
            }
            _ => false,
        }
    }

    /// Whether a condition is true only if an element was accessed: `x > 0 && a[i] > 0`.
    fn is_true_only_with_access(&self, condition: Node<'t>) -> bool {
        let condition = condition.without_parentheses();
        let both = Binary::of(condition).filter(|it| matches!(it.operator(), Some("&&" | "and")));
        match both.and_then(|both| Some((both.left()?, both.right()?))) {
            Some((left, right)) => self.is_true_only_with_access(left) || self.is_true_only_with_access(right),
            None => self.has_unconditional(condition),
        }
    }

    /// Whether the head of a `for` loop changes nothing but a variable that it declares.
    fn has_idle_head(&self, node: Node<'t>) -> bool {
        let tree = self.tree;
        let head = || {
            let initializer = node.field(Field::Initializer).filter(|it| it.kind() == Kind::Declaration)?;
            let declared = initializer.field(Field::Declarator)?.field(Field::Declarator)?;
            let update = node.field(Field::Update).filter(|update| step(tree, *update).is_some())?;
            let target = update.field(Field::Argument).or_else(|| update.field(Field::Left))?;
            let condition = node.field(Field::Condition)?;
            let is_idle = is_idle(tree, initializer, &[]) && is_pure(tree, condition);
            Some(is_idle && declared.kind() == Kind::Identifier && tree.slice(target) == tree.slice(declared))
        };
        head().unwrap_or(false)
    }

    /// Whether a statement assigns a value without other effects to a number that is declared in the round.
    fn is_of_round(&self, statement: Node<'t>) -> bool {
        let tree = self.tree;
        let assigned = || {
            let whole = statement.parts().next().filter(|_| statement.kind() == Kind::ExpressionStatement)?;
            let (target, value) = match Assignment::of(whole) {
                Some(assignment) => (assignment.left()?, assignment.right()),
                None => (Update::of(whole)?.operand()?, None),
            };
            let all = tree.declarations(enclosing_function(statement)?);
            let own = resolve(&all, tree.slice(target), target.start_byte())?;
            let is_own = self.body.byte_range().contains(&own.range.0)
                && own.kind == DeclarationKind::Scalar
                && own.volatility.is_none()
                && target.kind() == Kind::Identifier
                && is_automatic(tree, own.range.0);
            Some(is_own && value.is_none_or(|value| is_pure(tree, value)))
        };
        assigned().unwrap_or(false)
    }

    /// Whether a loop in the round runs at least once: up to a constant above its start, to the induction variable of a
    /// loop around that starts at zero (inclusive), or as far as a loop around does that has begun a round.
    fn runs(&self, node: Node<'t>) -> bool {
        let tree = self.tree;
        let found = || {
            let head = Head::of(tree, node)?;
            let bound = head.bound?;
            if let Some(end) = tree.value_of(bound) {
                return Some(if head.is_inclusive { head.start <= end } else { head.start < end });
            }
            let mut around = node.ancestors().skip(1).take_while(|it| it.kind() != Kind::FunctionDefinition);
            Some(around.any(|outer| outer.kind() == Kind::ForStatement && self.starts_within(&head, bound, outer)))
        };
        found().unwrap_or(false)
    }

    fn starts_within(&self, head: &Head<'t>, bound: Node<'t>, outer: Node<'t>) -> bool {
        let tree = self.tree;
        let Some(around) = Head::of(tree, outer) else { return false };
        let Some(body) = outer.field(Field::Body).filter(|body| !may_write(tree, *body, around.counter)) else {
            return false;
        };
        let means_outer = |node: Node<'_>| {
            let all = enclosing_function(outer).map(|function| tree.declarations(function)).unwrap_or_default();
            let at = |offset: usize| resolve(&all, around.counter, offset).map(|it| it.range);
            tree.slice(node) == around.counter && at(node.start_byte()) == at(body.start_byte())
        };
        let is_triangle = means_outer(bound) && head.is_inclusive && head.start <= around.start;
        // The same bound, of one variable that nothing writes in the loops.
        let is_square = || {
            let all = enclosing_function(outer).map(|function| tree.declarations(function)).unwrap_or_default();
            let own = |node: Node<'_>| resolve(&all, tree.slice(node), node.start_byte());
            let same = around.bound.and_then(own).zip(own(bound)).filter(|(one, other)| one.range == other.range);
            same.is_some_and(|(own, _)| {
                own.kind == DeclarationKind::Scalar
                    && own.volatility.is_none()
                    && bound.kind() == Kind::Identifier
                    && !may_write(tree, body, &own.name)
                    && enclosing_function(outer).is_some_and(|it| !is_reachable(tree, it, &own.name))
            }) && head.start <= around.start
                && head.is_inclusive == around.is_inclusive
                && head.type_text == around.type_text
        };
        is_triangle || is_square()
    }
}

/// `for (int i = 0; i < n; ++i)`: a loop that declares its induction variable and counts up from a constant.
struct Head<'t> {
    type_text: &'t str,
    counter: &'t str,
    start: i64,
    bound: Option<Node<'t>>,
    /// `<=`
    is_inclusive: bool,
}

impl<'t> Head<'t> {
    fn of(tree: &'t SyntaxTree, node: Node<'t>) -> Option<Self> {
        let declared = node.field(Field::Initializer).filter(|it| it.kind() == Kind::Declaration)?;
        let type_text = tree.slice(declared.field(Field::Type)?);
        let is_wide = matches!(type_text, "int" | "unsigned" | "unsigned int" | "size_t");
        let declared = declared.field(Field::Declarator).filter(|_| is_wide)?;
        let counter = tree.slice(declared.field(Field::Declarator)?);
        let start = tree.value_of(declared.field(Field::Value)?).filter(|start| *start >= 0)?;
        let comparison = Binary::of(node.field(Field::Condition)?)?;
        let is_inclusive = match comparison.operator()? {
            "<" => false,
            "<=" => true,
            _ => return None,
        };
        let update = node.field(Field::Update)?;
        let target = update.field(Field::Argument).or_else(|| update.field(Field::Left))?;
        let is_counted = tree.slice(comparison.left()?) == counter
            && step(tree, update).is_some_and(|step| step > 0)
            && tree.slice(target) == counter;
        is_counted.then(|| Self { type_text, counter, start, bound: comparison.right(), is_inclusive })
    }
}
