//! Counters of the source's loops, and whether an index walks with them.

use std::rc::Rc;

use super::syntax_tree::SyntaxTree;
use crate::ast::{Binary, Field, Kind, Node};
use crate::tree::access_path::access_path;
use crate::tree::loops::is_loop;
use crate::tree::role::role;

/// `j` of `for (int j = 0; j < n; ++j)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterSyntax {
    pub name: String,
    pub walk: Option<Walk>,
}

/// A counter that changes once in each iteration, by a constant. Where the loop is not unrolled completely, that is why
/// an index made of it is no constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Walk {
    /// Only the number of steps may be data.
    FromConstant,
    /// `for (int j = i + 1; j < n; ++j)`: unrolled, and with a guard for both ends, the index is a constant too.
    FromValue,
}

impl SyntaxTree {
    /// Counters of the loops around an offset, innermost first.
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
        loops.flat_map(|node| self.counters_of(node)).collect()
    }

    fn counters_of(&self, node: Node<'_>) -> Vec<CounterSyntax> {
        let Some(body) = node.field(Field::Body) else { return Vec::new() };
        let steps = match node.field(Field::Update) {
            Some(update) => self.steps(update),
            // `while (k >= 0) { …; --k; }`
            None if node.kind() == Kind::WhileStatement => {
                let statements = body.children().filter(|node| node.kind() == Kind::ExpressionStatement);
                statements.flat_map(|statement| self.steps(statement)).collect()
            }
            None => Vec::new(),
        };
        let changes_in_body = usize::from(node.kind() == Kind::WhileStatement);
        let mut counters: Vec<CounterSyntax> = steps
            .into_iter()
            .map(|step| CounterSyntax {
                walk: self.walk(node, &step).filter(|_| self.writes(body, &step.name) == changes_in_body),
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

    /// How a loop's counter walks, judged by its header.
    fn walk(&self, node: Node<'_>, step: &Step) -> Option<Walk> {
        let start = self.started(node).into_iter().find(|(name, _)| *name == step.name).and_then(|(_, value)| value);
        if start.is_some_and(|value| self.value_of(value).is_some()) {
            return Some(Walk::FromConstant);
        }
        // `for (k = hash(x); key[k] != x; ++k)` searches: no bound of the counter ends it.
        let is_bounded = node.field(Field::Condition).is_some_and(|condition| self.bounds(condition, &step.name));
        (step.is_sum && is_bounded).then_some(Walk::FromValue)
    }

    /// Names that a `for` loop's header gives a value, with the value.
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

    /// Variables that an expression changes by a constant, each of them the whole of a comma's side.
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

    /// Whether a condition compares a variable itself, and not what it leads to.
    fn bounds(&self, condition: Node<'_>, name: &str) -> bool {
        let operations = condition.descendants().filter_map(Binary::of);
        let mut comparisons = operations.filter(|it| matches!(it.operator(), Some("<" | "<=" | ">" | ">=" | "!=")));
        comparisons.any(|it| [it.left(), it.right()].into_iter().flatten().any(|side| self.is_sum_with(side, name)))
    }

    /// `k`, `k + 1`, `(k)`.
    fn is_sum_with(&self, node: Node<'_>, name: &str) -> bool {
        match node.kind() {
            Kind::Identifier => self.slice(node) == name,
            Kind::BinaryExpression | Kind::ParenthesizedExpression => {
                node.children().any(|child| self.is_sum_with(child, name))
            }
            _ => false,
        }
    }

    /// How often a statement writes to a variable, or hands it on.
    fn writes(&self, body: Node<'_>, name: &str) -> usize {
        let is_written = |node: &Node<'_>| {
            let (_, is_written, is_passed) = role(access_path(*node));
            // An argument is passed by value, unless its address is taken.
            let is_argument = node.parent().is_some_and(|parent| parent.kind() == Kind::ArgumentList);
            is_written && !(is_passed && is_argument)
        };
        self.named(body, name).filter(is_written).count()
    }
}

/// A change by a constant.
struct Step {
    name: String,
    /// The constant is added or taken away.
    is_sum: bool,
}
