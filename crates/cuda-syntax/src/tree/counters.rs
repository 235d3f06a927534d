//! Induction variables of source loops, and whether an index is computed from them.

use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;

use super::syntax_tree::SyntaxTree;
use crate::ast::{Binary, Field, Kind, Node};
use crate::tree::access_path::access_path;
use crate::tree::loops::is_loop;
use crate::tree::role::role;

/// The induction variable `j` of `for (int j = 0; j < n; ++j)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterSyntax {
    pub name: String,
    pub walk: Option<Walk>,
}

/// How an induction variable starts. It changes once per iteration, by a constant. An index computed from it is not
/// constant only because the loop is not fully unrolled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Walk {
    /// Start and end are constants, and only the loop's condition ends it: the trip count is known.
    Constant,
    /// The start is a constant; only the trip count may be unknown.
    FromConstant,
    /// `for (int j = i + 1; j < n; ++j)`: the index becomes constant if the loop is unrolled with a guard for both
    /// ends.
    FromValue,
}

impl SyntaxTree {
    /// Induction variables of the loops around an offset, innermost first.
    pub fn counters_around(&self, offset: usize) -> Rc<[CounterSyntax]> {
        if let Some(known) = self.memory.counters.borrow().get(&offset) {
            return Rc::clone(known);
        }
        let counters: Rc<[CounterSyntax]> = self.find_counters(offset).into();
        self.memory.counters.borrow_mut().insert(offset, Rc::clone(&counters));
        counters
    }

    fn find_counters(&self, offset: usize) -> Vec<CounterSyntax> {
        let headers = self.loops_around(offset).into_iter().filter_map(|around| {
            self.root()?.named_descendant_for_byte_range(around.range.start, around.range.start + 1)
        });
        let loops = headers.filter_map(|node| {
            if is_loop(node) { Some(node) } else { node.parent().filter(|parent| is_loop(*parent)) }
        });
        // Where macros write heads, the loops of the text and theirs may be in any order; names tell them apart all the same.
        let mut counters = self.counters_in_macros(offset);
        counters.extend(loops.flat_map(|node| self.counters_of(node)));
        counters
    }

    pub(super) fn counters_of(&self, node: Node<'_>) -> Vec<CounterSyntax> {
        let Some(body) = node.field(Field::Body) else { return Vec::new() };
        let condition = node.field(Field::Condition);
        let update = node.field(Field::Update);
        let mut steps: Vec<Step> = update.map_or_else(Vec::new, |update| self.steps(update));
        match node.kind() {
            // `while (k >= 0) { …; --k; }`
            // `while (k-- > 0) …`, `while (k) { … a[--k] … }`
            Kind::WhileStatement => {
                let statements = body.children().filter(|node| node.kind() == Kind::ExpressionStatement);
                steps.extend(statements.flat_map(|statement| self.steps(statement)));
                steps.extend(self.steps_within(node, condition.into_iter().chain([body])));
            }
            // `for (int k = 8; --k >= 0;)`
            Kind::ForStatement => steps.extend(self.steps_within(node, condition.into_iter())),
            _ => {}
        }
        let changed = [Some(body), condition, update];
        let changes = |name: &str| changed.into_iter().flatten().map(|part| self.writes(part, name)).sum::<usize>();
        let mut counters: Vec<CounterSyntax> = steps
            .into_iter()
            .map(|step| CounterSyntax {
                walk: self.walk(node, &step).filter(|_| changes(&step.name) == 1),
                name: step.name,
            })
            .collect();
        for name in self.started(node).into_iter().map(|(name, _)| name) {
            if !counters.iter().any(|counter| counter.name == name) {
                counters.push(CounterSyntax { name, walk: None });
            }
        }
        counters
    }

    /// Whether an index uses a variable that only some iterations of an enclosing loop step: `list[count++]` behind an
    /// `if`, or in an inner loop of as many rounds as data say. Such a value cannot be computed from an induction variable.
    pub fn is_stepped_conditionally(&self, index: &Range<usize>) -> bool {
        let Some(root) = self.root() else { return false };
        let Some(node) = root.named_descendant_for_byte_range(index.start, index.end) else { return false };
        let known = self.counters_around(index.start);
        let names = self.identifiers(node).into_iter().filter(|name| index.contains(&name.start_byte()));
        let is_counter = |name: &&str| known.iter().any(|counter| counter.name == *name && counter.walk.is_some());
        let names: Vec<&str> = names.map(|name| self.slice(name)).collect();
        if names.iter().any(|name| self.is_carried_over(name, node)) {
            return true;
        }
        let mut names = names.into_iter().filter(|name| !is_counter(name));
        names.any(|name| {
            let mut around = node;
            while let Some(parent) = around.parent() {
                around = parent;
                if is_function(around) {
                    return false;
                }
                if is_loop(around) && self.conditional_steps(around).contains(name) {
                    return true;
                }
            }
            false
        })
    }

    /// Whether a `while` loop around a node steps a variable until data end it, and a loop around that one goes on with what it has then:
    /// `while (bits && count < 16) list[count++] = …`.
    fn is_carried_over(&self, name: &str, node: Node<'_>) -> bool {
        let mut loops = node.ancestors().take_while(|around| !is_function(*around)).filter(|around| is_loop(*around));
        let Some(inner) = loops.find(|around| self.counters_of(*around).iter().any(|counter| counter.name == name))
        else {
            return false;
        };
        let condition = inner.field(Field::Condition).filter(|_| inner.kind() == Kind::WhileStatement);
        let asks_more = condition.is_some_and(|condition| {
            let names = self.identifiers(condition);
            let counters = self.counters_of(inner);
            // What another counter bounds has as many rounds each time.
            let others =
                || names.iter().map(|word| (self.slice(*word), word.start_byte())).filter(|(word, _)| *word != name);
            !others().any(|(word, _)| counters.iter().any(|counter| counter.name == word))
                && others().any(|(word, at)| !self.is_fixed(word, at))
        });
        let outer = loops.next();
        asks_more
            && outer.is_some_and(|outer| {
                let before = outer.start_byte()..inner.start_byte();
                let is_set = |set: &Node<'_>| {
                    match set.kind() {
                        Kind::AssignmentExpression => set.field(Field::Left),
                        Kind::InitDeclarator => set.field(Field::Declarator),
                        _ => None,
                    }
                    .is_some_and(|left| self.slice(left) == name)
                };
                !outer.descendants().filter(|set| before.contains(&set.start_byte())).any(|set| is_set(&set))
            })
    }

    /// The variables that only some iterations of a loop step. Each index in the loop asks.
    fn conditional_steps(&self, around: Node<'_>) -> Rc<HashSet<String>> {
        if let Some(known) = self.memory.conditional_steps.borrow().get(&around.id()) {
            return Rc::clone(known);
        }
        let mut found = HashSet::new();
        for node in around.descendants() {
            let mut steps = self.steps(node);
            steps.retain(|step| !found.contains(&step.name));
            if !steps.is_empty() && is_conditional(node, around) {
                found.extend(steps.into_iter().map(|step| step.name));
            }
        }
        let found = Rc::new(found);
        self.memory.conditional_steps.borrow_mut().insert(around.id(), Rc::clone(&found));
        found
    }

    /// Steps in nested expressions of some parts of a loop that every iteration executes once.
    fn steps_within<'t>(&self, around: Node<'t>, parts: impl Iterator<Item = Node<'t>>) -> Vec<Step> {
        let mut found = Vec::new();
        let mut open: Vec<Node<'_>> = parts.collect();
        while let Some(node) = open.pop() {
            let is_statement = node.parent().is_some_and(|parent| parent.kind() == Kind::ExpressionStatement);
            if node.kind() == Kind::UpdateExpression && !is_statement && !is_conditional(node, around) {
                found.extend(self.steps(node));
            }
            open.extend(node.children());
        }
        found
    }

    /// How a loop's induction variable starts, by the loop header.
    fn walk(&self, node: Node<'_>, step: &Step) -> Option<Walk> {
        let start = self.started(node).into_iter().find(|(name, _)| *name == step.name).and_then(|(_, value)| value);
        if start.is_some_and(|value| self.value_of(value).is_some()) {
            let is_counted = step.is_sum && self.ends_at_constant(node, &step.name);
            return Some(if is_counted { Walk::Constant } else { Walk::FromConstant });
        }
        // `for (k = hash(x); key[k] != x; ++k)` is a search: its condition does not bound the induction variable.
        let is_bounded = node.field(Field::Condition).is_some_and(|condition| self.bounds(condition, &step.name));
        (step.is_sum && is_bounded).then_some(Walk::FromValue)
    }

    /// Whether a loop's only exit compares the variable with a constant, or with what a parameter of the template makes one.
    fn ends_at_constant(&self, node: Node<'_>, name: &str) -> bool {
        let may_leave = |inner: Node<'_>| {
            matches!(inner.kind(), Kind::BreakStatement | Kind::ReturnStatement | Kind::GotoStatement)
        };
        if node.descendants().any(may_leave) {
            return false;
        }
        let condition = node.field(Field::Condition);
        let comparison = condition.and_then(Binary::of);
        let Some((left, right)) = comparison.as_ref().and_then(|it| Some((it.left()?, it.right()?))) else {
            // `k--` compares with zero.
            return comparison.is_none() && condition.is_some_and(|condition| self.is_sum_with(condition, name));
        };
        let is_fixed = |side: Node<'_>| {
            let mut words = self.identifiers(side).into_iter();
            words.all(|word| self.is_fixed(self.slice(word), word.start_byte()))
        };
        let is_end = |one, other| self.is_sum_with(one, name) && is_fixed(other);
        let is_comparison = matches!(comparison.and_then(|it| it.operator()), Some("<" | "<=" | ">" | ">=" | "!="));
        is_comparison && (is_end(left, right) || is_end(right, left))
    }

    /// Variables that a `for` header initializes, with their values.
    fn started<'t>(&self, node: Node<'t>) -> Vec<(String, Option<Node<'t>>)> {
        let Some(initializer) = node.field(Field::Initializer) else { return Vec::new() };
        let mut started = Vec::new();
        let mut open = vec![initializer];
        while let Some(node) = open.pop() {
            let sides = match node.kind() {
                Kind::InitDeclarator => (Field::Declarator, Field::Value),
                Kind::AssignmentExpression => (Field::Left, Field::Right),
                _ => {
                    open.extend(node.children());
                    continue;
                }
            };
            let name = node.field(sides.0).filter(|name| name.kind() == Kind::Identifier);
            started.extend(name.map(|name| (self.slice(name).to_string(), node.field(sides.1))));
        }
        started
    }

    /// Variables that an expression changes by a constant; each change must be a whole operand of the comma operator.
    fn steps(&self, node: Node<'_>) -> Vec<Step> {
        match node.kind() {
            Kind::CommaExpression | Kind::ExpressionStatement => {
                node.children().flat_map(|child| self.steps(child)).collect()
            }
            Kind::UpdateExpression => {
                let name = node.field(Field::Argument).filter(|name| name.kind() == Kind::Identifier);
                name.map(|name| Step { name: self.slice(name).to_string(), is_sum: true }).into_iter().collect()
            }
            Kind::AssignmentExpression => self.assigned_step(node).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// `k += 2`, `k >>= 1`, `k = k + 2`.
    fn assigned_step(&self, node: Node<'_>) -> Option<Step> {
        let name = node.field(Field::Left).filter(|left| left.kind() == Kind::Identifier)?;
        let name = self.slice(name).to_string();
        let right = node.field(Field::Right)?;
        let operator = node.field(Field::Operator).map_or("=", |operator| self.slice(operator));
        let (operator, distance) = match operator {
            "=" if right.kind() == Kind::BinaryExpression => {
                let (one, other) = (right.field(Field::Left)?, right.field(Field::Right)?);
                let operator = self.slice(right.field(Field::Operator)?);
                match (self.slice(one) == name, self.slice(other) == name) {
                    (true, false) => (operator, other),
                    (false, true) if operator != "-" => (operator, one),
                    _ => return None,
                }
            }
            "=" => return None,
            _ => (operator.trim_end_matches('='), right),
        };
        let is_step = matches!(operator, "+" | "-" | "*" | "/" | "<<" | ">>") && self.value_of(distance).is_some();
        is_step.then_some(Step { name, is_sum: matches!(operator, "+" | "-") })
    }

    /// Whether a condition compares the variable itself, not an element that it selects; `while (k)` compares with
    /// zero.
    fn bounds(&self, condition: Node<'_>, name: &str) -> bool {
        let operations = condition.descendants().filter_map(Binary::of);
        let mut comparisons = operations.filter(|it| matches!(it.operator(), Some("<" | "<=" | ">" | ">=" | "!=")));
        self.is_sum_with(condition, name)
            || comparisons
                .any(|it| [it.left(), it.right()].into_iter().flatten().any(|side| self.is_sum_with(side, name)))
    }

    /// `k`, `k + 1`, `(k)`.
    fn is_sum_with(&self, node: Node<'_>, name: &str) -> bool {
        match node.kind() {
            Kind::Identifier => self.slice(node) == name,
            Kind::BinaryExpression | Kind::ParenthesizedExpression | Kind::ConditionClause | Kind::UpdateExpression => {
                node.children().any(|child| self.is_sum_with(child, name))
            }
            _ => false,
        }
    }

    /// Number of times that a statement writes a variable or passes it by address.
    pub(super) fn writes(&self, body: Node<'_>, name: &str) -> usize {
        self.named(body, name).filter(|node| self.is_changed_at(*node)).count()
    }

    /// Whether a variable is written, or passed by address, where its name stands.
    pub(super) fn is_changed_at(&self, name: Node<'_>) -> bool {
        let (_, is_written, is_passed) = role(access_path(name));
        // An argument is passed by value unless its address is taken.
        let is_argument = name.parent().is_some_and(|parent| parent.kind() == Kind::ArgumentList);
        is_written && !(is_passed && is_argument)
    }
}

/// Whether the node is conditional within an iteration of an enclosing loop.
fn is_conditional(node: Node<'_>, around: Node<'_>) -> bool {
    let mut node = node;
    while let Some(parent) = node.parent().filter(|_| node != around) {
        let decides = match parent.kind() {
            Kind::IfStatement | Kind::ConditionalExpression => {
                parent.field(Field::Condition).is_none_or(|condition| condition != node)
            }
            Kind::BinaryExpression => {
                let operator = parent.operator();
                let is_right = parent.field(Field::Right).is_some_and(|right| right == node);
                is_right && matches!(operator, Some("&&" | "||"))
            }
            Kind::CaseStatement | Kind::LambdaExpression => true,
            // An earlier `if (…) continue;` makes the node conditional.
            Kind::CompoundStatement => parent.children().take_while(|child| *child != node).any(continues),
            _ => is_loop(parent) && parent != around,
        };
        if decides {
            return true;
        }
        node = parent;
    }
    false
}

/// Whether a statement can continue with the next iteration of the loop around it.
fn continues(statement: Node<'_>) -> bool {
    let mut open: Vec<Node<'_>> = Some(statement).filter(|node| !is_loop(*node)).into_iter().collect();
    while let Some(node) = open.pop() {
        if node.kind() == Kind::ContinueStatement {
            return true;
        }
        open.extend(node.children().filter(|child| !(is_loop(*child) || is_function(*child))));
    }
    false
}

fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), Kind::FunctionDefinition | Kind::LambdaExpression)
}

/// A change of a variable by a constant.
struct Step {
    name: String,
    /// The change is an addition or subtraction.
    is_sum: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_listed(body: &str) -> bool {
        let text = format!("void k(int n) {{ int a[8], count = 0, k = 0;\n{body}\n}}\n");
        let tree = SyntaxTree::example("a.cu", &text);
        let start = text.rfind("a[").unwrap() + 2;
        let end = start + text[start..].find(']').unwrap();
        tree.is_stepped_conditionally(&(start..end))
    }

    #[test]
    fn append_lists_are_stepped_in_some_rounds() {
        for (body, expected) in [
            ("while (k < n) { if (f(k)) a[count++] = k; ++k; }", true),
            ("for (int i = 0; i < n; ++i) if (f(i) && count < 8) { a[count] = i; count += 1; }", true),
            ("for (int i = 0; i < n; ++i) f(i) ? a[count++] = i : 0;", true),
            ("for (int i = 0; i < n; ++i) { switch (f(i)) { case 1: a[count++] = i; } }", true),
            ("for (int i = 0; i < n; ++i) { if (f(i)) continue; a[count] = i; ++count; }", true),
            ("for (int i = 0; i < n; ++i) { for (;;) continue; a[count] = i; ++count; }", false),
            ("for (int i = 0; i < n; ++i) a[count++] = i;", false),
            ("while (k > 0) { a[--k] = 0; }", false),
            ("for (int i = 0; i < n; ++i) { if (f(i)) a[i] = 0; }", false),
            ("if (n) a[count++] = 0;", false),
            (
                "for (int i = 0; i < n; ++i) { int m = f(i); while (m && count < 8) { a[count++] = m; m &= m - 1; } }",
                true,
            ),
            (
                "for (int i = 0; i < n; ++i) { int m = f(i); count = 0; while (m && count < 8) { a[count++] = m; m &= m - 1; } }",
                false,
            ),
            (
                "for (int i = 0; i < n; ++i) { int m = f(i), c = 0; while (m && c < 8) { a[c++] = m; m &= m - 1; } }",
                false,
            ),
            ("for (int i = 0; i < n; ++i) { while (count < 8) { a[count++] = i; } }", false),
            ("while (n && count < 8) { a[count++] = n; n &= n - 1; }", false),
        ] {
            assert_eq!(is_listed(body), expected, "{body}");
        }
    }
}
