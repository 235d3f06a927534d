//! The loops that move an index: those that change a variable it is computed from.

use std::ops::Range;

use super::syntax_tree::SyntaxTree;
use crate::ast::{Field, Kind, Node};
use crate::tree::counters::Walk;
use crate::tree::declarations::Declaration;
use crate::tree::functions::enclosing_function;
use crate::tree::loops::{LoopSyntax, is_loop};

/// Limit on variables that an index is computed from.
const MAX_VARIABLES: usize = 32;

/// A loop that moves an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovingLoop {
    pub syntax: LoopSyntax,
    /// Whether its trip count is constant.
    pub is_counted: bool,
}

impl SyntaxTree {
    /// The loops of its function that move an index, innermost first. If none around it does, the only loop before it that
    /// leaves a variable of the index where it ended: `while (i > 0) i--; a[i] = x;`.
    pub fn loops_moving(&self, index: &Range<usize>) -> Vec<MovingLoop> {
        let Some(node) = self.root().and_then(|root| root.named_descendant_for_byte_range(index.start, index.end))
        else {
            return Vec::new();
        };
        let Some(function) = enclosing_function(node) else { return Vec::new() };
        let variables = self.variables_behind(node, index);
        let moves = |around: &Node<'_>| variables.iter().any(|one| self.changes(*around, one));
        let found = |around: Node<'_>| {
            let is_constant = |one: &Declaration| {
                let counters = self.counters_of(around).into_iter();
                counters.filter(|counter| counter.name == one.name).any(|it| it.walk == Some(Walk::Constant))
            };
            let is_counted = variables.iter().any(is_constant);
            Some(MovingLoop { syntax: self.loop_syntax(around)?, is_counted })
        };
        let loops = node.ancestors().take_while(|around| *around != function).filter(|around| is_loop(*around));
        let around: Vec<MovingLoop> = loops.filter(moves).filter_map(found).collect();
        if !around.is_empty() {
            return around;
        }
        let before = function.descendants().filter(|other| is_loop(*other) && other.end_byte() <= index.start);
        let mut before = before.filter(moves);
        match (before.next(), before.next()) {
            (Some(only), None) => found(only).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The variables of an index, and those that their initializers name.
    fn variables_behind(&self, index: Node<'_>, range: &Range<usize>) -> Vec<Declaration> {
        let named = |node: Node<'_>, range: &Range<usize>| -> Vec<Declaration> {
            let names = self.identifiers(node).into_iter().filter(|name| range.contains(&name.start_byte()));
            names.filter_map(|name| self.declaration_of(&name.byte_range())).collect()
        };
        let mut known = named(index, range);
        let mut next = 0;
        while let Some(one) = known.get(next).filter(|_| next < MAX_VARIABLES).cloned() {
            next += 1;
            let Some((start, end)) = one.initializer else { continue };
            let initializer = self.root().and_then(|root| root.named_descendant_for_byte_range(start, end));
            let behind = initializer.map(|node| named(node, &(start..end))).unwrap_or_default();
            let new: Vec<Declaration> = behind.into_iter().filter(|one| !known.contains(one)).collect();
            known.extend(new);
        }
        known
    }

    /// Whether the rounds of a loop change a variable. One that its body declares is a new one in each round.
    fn changes(&self, around: Node<'_>, variable: &Declaration) -> bool {
        let (start, _) = variable.range;
        let is_new = around.field(Field::Body).is_some_and(|body| body.byte_range().contains(&start));
        // The variable of a range-based loop has another element in each round.
        let is_element = around.kind() == Kind::ForRangeLoop
            && around.field(Field::Declarator).is_some_and(|name| name.byte_range().contains(&start));
        let is_it = |name: &Node<'_>| {
            self.declaration_of(&name.byte_range()).is_some_and(|found| found.range == variable.range)
        };
        let is_changed = |name: Node<'_>| self.is_changed_at(name) && !is_first_value(name, around);
        !is_new && (is_element || self.named(around, &variable.name).filter(is_it).any(is_changed))
    }
}

/// Whether a name stands in the first part of a loop's header, which runs once.
fn is_first_value(name: Node<'_>, around: Node<'_>) -> bool {
    let first = around.field(Field::Initializer);
    first.is_some_and(|first| first.byte_range().contains(&name.start_byte()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The headers of the loops that move the last index of `a`.
    fn moving(body: &str) -> Vec<String> {
        let text = format!("__device__ void k(const int *in, int n, int d) {{\n  float a[8];\n{body}\n}}\n");
        let tree = SyntaxTree::example("a.cu", &text);
        let start = text.rfind("a[").unwrap() + 2;
        let end = start + text[start..].find(']').unwrap();
        tree.loops_moving(&(start..end)).into_iter().map(|it| text[it.syntax.range].to_string()).collect()
    }

    #[test]
    fn loops_that_leave_the_index_alone_are_no_answer() {
        let outer = "for (int x = 1; x <= d; x++)";
        let inner = "for (int c = 0; c < n; c++)";
        assert_eq!(moving(&format!("{outer} {inner} a[x - 1] += in[c];")), [outer]);
        assert_eq!(moving(&format!("{outer} {inner} a[c] += in[x];")), [inner]);
        assert_eq!(moving(&format!("{outer} {inner} a[x * 2 + c] += 1;")), [inner, outer]);
        assert_eq!(moving(&format!("{outer} {inner} a[n] += 1;")), Vec::<String>::new());
    }

    #[test]
    fn values_lead_to_their_counters() {
        let outer = "for (int x = 0; x < d; x++)";
        let body = format!("{outer} {{ int at = x + 1; for (int c = 0; c < n; c++) a[at] += 1; }}");
        assert_eq!(moving(&body), [outer]);
    }

    #[test]
    fn a_name_of_an_inner_block_is_another_variable() {
        let outer = "for (int i = 0; i < n; i++)";
        let inner = "for (int i = 0; i < d; i++)";
        assert_eq!(moving(&format!("{outer} {{ {inner} a[i] = 0; }}")), [inner]);
        assert_eq!(moving(&format!("int i = 2; {{ {inner} in[i]; }} a[i] = 0;")), Vec::<String>::new());
    }

    #[test]
    fn a_loop_that_ended_leaves_its_index() {
        let search = "int i = n; while (i > 0 && in[i - 1] > d) { i--; }";
        assert_eq!(moving(&format!("{search} a[i] = 1;")), ["while (i > 0 && in[i - 1] > d)"]);
        // Of two, neither is certain.
        assert!(moving(&format!("{search} while (i < n) i++; a[i] = 1;")).is_empty());
        let around = "for (int c = 0; c < n; c++)";
        assert_eq!(moving(&format!("{around} {{ {search} a[i] = 1; }}")), ["while (i > 0 && in[i - 1] > d)"]);
    }

    #[test]
    fn numbers_move_nowhere() {
        assert!(moving("for (int c = 0; c < n; c++) a[3] = c;").is_empty());
    }
}
