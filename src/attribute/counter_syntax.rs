//! Counters of the source's loops, and whether an index walks with them.

use std::ops::Range;
use std::rc::Rc;

use tree_sitter::Node;

use super::call_syntax::base_name;
use super::demangle;
use super::place::Place;
use super::syntax::{access_path, children, is_loop, role};
use super::view::SourceView;

/// Parameters of inlined functions are followed this far out.
const MAX_LEVELS: usize = 8;

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

impl SourceView {
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
        let Some(body) = node.child_by_field_name("body") else { return Vec::new() };
        let steps = match node.child_by_field_name("update") {
            Some(update) => self.steps(update),
            // `while (k >= 0) { …; --k; }`
            None if node.kind() == "while_statement" => {
                let statements = children(body).into_iter().filter(|node| node.kind() == "expression_statement");
                statements.flat_map(|statement| self.steps(statement)).collect()
            }
            None => Vec::new(),
        };
        let changes_in_body = usize::from(node.kind() == "while_statement");
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
        let is_bounded =
            node.child_by_field_name("condition").is_some_and(|condition| self.bounds(condition, &step.name));
        (step.is_sum && is_bounded).then_some(Walk::FromValue)
    }

    /// Names that a `for` loop's header gives a value, with the value.
    fn started<'t>(&self, node: Node<'t>) -> Vec<(String, Option<Node<'t>>)> {
        let Some(initializer) = node.child_by_field_name("initializer") else { return Vec::new() };
        let mut started = Vec::new();
        let mut open = vec![initializer];
        while let Some(node) = open.pop() {
            let sides = match node.kind() {
                "init_declarator" => ("declarator", "value"),
                "assignment_expression" => ("left", "right"),
                _ => {
                    open.extend(children(node));
                    continue;
                }
            };
            let name = node.child_by_field_name(sides.0).filter(|name| name.kind() == "identifier");
            started.extend(name.map(|name| (self.slice(name).to_string(), node.child_by_field_name(sides.1))));
        }
        started
    }

    /// Variables that an expression changes by a constant, each of them the whole of a comma's side.
    fn steps(&self, node: Node<'_>) -> Vec<Step> {
        match node.kind() {
            "comma_expression" | "expression_statement" => {
                children(node).into_iter().flat_map(|child| self.steps(child)).collect()
            }
            "update_expression" => {
                let name = node.child_by_field_name("argument").filter(|name| name.kind() == "identifier");
                name.map(|name| Step { name: self.slice(name).to_string(), is_sum: true }).into_iter().collect()
            }
            "assignment_expression" => self.assigned_step(node).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// `k += 2`, `k >>= 1`, `k = k + 2`.
    fn assigned_step(&self, node: Node<'_>) -> Option<Step> {
        let name = node.child_by_field_name("left").filter(|left| left.kind() == "identifier")?;
        let name = self.slice(name).to_string();
        let right = node.child_by_field_name("right")?;
        let operator = node.child_by_field_name("operator").map_or("=", |operator| self.slice(operator));
        let (operator, distance) = match operator {
            "=" if right.kind() == "binary_expression" => {
                let (one, other) = (right.child_by_field_name("left")?, right.child_by_field_name("right")?);
                let operator = self.slice(right.child_by_field_name("operator")?);
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
        let mut open = vec![condition];
        while let Some(node) = open.pop() {
            let operator = node.child_by_field_name("operator").map_or("", |operator| self.slice(operator));
            let is_comparison = matches!(operator, "<" | "<=" | ">" | ">=" | "!=");
            let sides = [node.child_by_field_name("left"), node.child_by_field_name("right")];
            if is_comparison && sides.into_iter().flatten().any(|side| self.is_sum_with(side, name)) {
                return true;
            }
            open.extend(children(node));
        }
        false
    }

    /// `k`, `k + 1`, `(k)`.
    fn is_sum_with(&self, node: Node<'_>, name: &str) -> bool {
        match node.kind() {
            "identifier" => self.slice(node) == name,
            "binary_expression" | "parenthesized_expression" => {
                children(node).into_iter().any(|child| self.is_sum_with(child, name))
            }
            _ => false,
        }
    }

    /// How often a statement writes to a variable, or hands it on.
    fn writes(&self, body: Node<'_>, name: &str) -> usize {
        let mut found = 0;
        let mut open = vec![body];
        while let Some(node) = open.pop() {
            let is_written = || {
                let (_, is_written, is_passed) = role(access_path(node));
                // An argument is passed by value, unless its address is taken.
                let is_argument = node.parent().is_some_and(|parent| parent.kind() == "argument_list");
                is_written && !(is_passed && is_argument)
            };
            found += usize::from(node.kind() == "identifier" && self.slice(node) == name && is_written());
            open.extend(children(node));
        }
        found
    }
}

/// A change by a constant.
struct Step {
    name: String,
    /// The constant is added or taken away.
    is_sum: bool,
}

/// How an index walks, where it is made of loop counters and constants alone. The remainder of a loop that was unrolled
/// by a factor has no counter in the machine code, only what is left of the loop's bound: the source tells that it is a
/// walk all the same. Parameters of an inlined function stand for what its caller passes.
pub fn walk_of(index: &Range<usize>, level: usize, places: &[Place]) -> Option<Walk> {
    let place = places.get(level)?;
    let text = place.view.text().get(index.clone())?;
    let is_plain =
        text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '+' | '-' | '*' | '(' | ')' | '[' | ']'));
    let counters = place.view.counters_around(index.start);
    let mut walk = None;
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty()) {
        // The innermost loop's counter of that name is the one that is meant.
        let counter = counters.iter().find(|counter| counter.name == word);
        let found = match counter {
            Some(counter) => counter.walk?,
            None if place.view.is_fixed(word, index.start) => continue,
            None => walk_of_argument(word, index.start, level, places)?,
        };
        walk = walk.max(Some(found));
    }
    walk.filter(|_| is_plain)
}

/// How the argument walks that a parameter stands for.
fn walk_of_argument(name: &str, offset: usize, level: usize, places: &[Place]) -> Option<Walk> {
    let (place, caller) = (places.get(level)?, places.get(level + 1)?);
    if level >= MAX_LEVELS || place.function != caller.callee {
        return None;
    }
    let number = place.view.parameters_around(offset)?.iter().position(|parameter| parameter == name)?;
    let region = caller.view.region(caller.offset)?;
    let callee = demangle(caller.callee.as_deref()?);
    let calls = caller.view.calls_of(region, &callee);
    // A closure is called by the name of the variable or parameter that holds it.
    let mut walks = calls.iter().map(|call| walk_of(call.arguments.get(number)?, level + 1, places));
    let first = walks.next()??;
    walks.all(|walk| walk == Some(first)).then_some(first).filter(|_| !base_name(&callee).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How the only index of `a` in a function's body walks.
    fn walk(body: &str) -> Option<Walk> {
        let text =
            format!("constexpr int W = 4;\ntemplate <int T> __global__ void k(int n, int degree) {{\n{body}\n}}\n");
        let view = Rc::new(SourceView::example("a.cu", text.as_str()));
        let start = view.text().rfind("a[").unwrap() + 2;
        let end = start + view.text()[start..].find(']').unwrap();
        let place = Place { view, line: 3, offset: start, function: None, callee: None };
        walk_of(&(start..end), 0, &[place])
    }

    #[test]
    fn counters_walk_from_any_start() {
        for (header, expected) in [
            ("for (int k = 0; k < n; ++k)", Some(Walk::FromConstant)),
            ("for (int k = W - 1; k >= 0; k -= 2)", Some(Walk::FromConstant)),
            ("for (int k = 1; k < n; k <<= 1)", Some(Walk::FromConstant)),
            ("for (int k = degree; k >= 0; --k)", Some(Walk::FromValue)),
            ("for (int i = 0; i < n; ++i) for (int k = i + 1; k < 40; k += W)", Some(Walk::FromValue)),
            ("for (k = degree; k + 1 < n; k++)", Some(Walk::FromValue)),
            ("for (; k < n; k = k + 1, ++degree)", Some(Walk::FromValue)),
            ("for (int k = degree; k < n; k += n)", None),
            ("for (int k = degree; k < n; k >>= 1)", None),
            ("for (int k = 0; k < n; k = next[k])", None),
            ("for (int k = degree; key[k] != n; ++k)", None),
            ("for (int k = 0; key[k] != n; ++k)", Some(Walk::FromConstant)),
        ] {
            assert_eq!(walk(&format!("{header} {{ a[k] = 0; }}")), expected, "{header}");
        }
    }

    #[test]
    fn a_counter_that_the_body_changes_is_data() {
        assert_eq!(walk("for (int k = 0; k < n; ++k) { if (n & 1) k += 2; a[k] = 0; }"), None);
        assert_eq!(walk("for (int k = 0; k < n; ++k) { skip(&k); a[k] = 0; }"), None);
        assert_eq!(walk("for (int k = 0; k < n; ++k) { a[k] = f(k); }"), Some(Walk::FromConstant));
        assert_eq!(walk("while (k < n) { a[k] = 0; ++k; }"), Some(Walk::FromValue));
        assert_eq!(walk("while (top > 0) { --top; if (n) a[top++] = 0; }"), None);
        assert_eq!(walk("while (top > 0) { if (n) --top; a[top] = 0; }"), None);
    }

    #[test]
    fn indices_are_counters_and_constants() {
        for (index, expected) in [
            ("i", true),
            ("i * 4 + j", true),
            ("i * W + T", true),
            ("7 - i", true),
            ("n - 1 - i", false),
            ("i % 8", false),
            ("3", false),
            ("b(i)", false),
        ] {
            let body = format!("for (int i = 0; i < n; ++i) for (int j = 0; j < 4; ++j) {{ a[{index}] = 0; }}");
            assert_eq!(walk(&body).is_some(), expected, "{index}");
        }
    }
}
