//! Variables of code that one thread of a block alone runs: `if (threadIdx.x == 0) { float heap[32]; … }`. Such a
//! variable needs no part for each thread: `__shared__` in front of it is enough, and all its uses stay.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Binary, Field, Kind, Node};
use cuda_syntax::tree::{DeclarationKind, enclosing_function, resolve};

use super::declaration::{PrivateVariable, declared};
use super::groups::{Group, group_of_rank};
use crate::rewrite::facts::integers::plain_words;
use crate::rewrite::facts::steady::keeps_first_value;

/// The indices of a thread in its block, by axis.
const AXES: [&str; 3] = ["threadIdx.x", "threadIdx.y", "threadIdx.z"];

impl PrivateVariable {
    /// Whether one thread of a block alone reaches the declaration. `axes` is the number of axes of the block.
    pub fn is_of_one_thread(&self, axes: usize) -> bool {
        let Some(declared) = declared(&self.tree, self.offset) else { return false };
        let fixed = fixed_axes(&self.tree, declared.statement);
        fixed.iter().take(axes).all(|is_fixed| *is_fixed)
    }
}

/// The axes on which the conditions before and around a statement leave one index.
pub(super) fn fixed_axes(tree: &SyntaxTree, statement: Node<'_>) -> [bool; 3] {
    let mut fixed = [false; 3];
    for (expression, value) in known_values(tree, statement) {
        note_index(tree, expression, value, &mut fixed);
    }
    fixed[0] |= is_behind_macro_of_leader(tree, statement);
    fixed
}

/// Whether a macro that stands alone as the condition around a statement is true for the first thread of its axis alone:
/// `if (LEADER)`.
fn is_behind_macro_of_leader(tree: &SyntaxTree, statement: Node<'_>) -> bool {
    let is_leader = |around: Node<'_>, inner: Node<'_>| {
        let clause = around.field(Field::Condition).filter(|_| around.field(Field::Consequence) == Some(inner))?;
        let condition = clause.without_parentheses();
        let only = condition.named_child(0).filter(|_| condition.named_child_count() == 1).unwrap_or(condition);
        let compiled =
            tree.compiled().compiled(tree.text(), only.byte_range()).filter(|_| only.kind() == Kind::Identifier)?;
        let text: String = compiled.split_whitespace().collect();
        Some(matches!(text.as_str(), "(threadIdx.x==0)" | "(!threadIdx.x)" | "(0==threadIdx.x)"))
    };
    let mut inner = statement;
    for around in statement.ancestors().skip(1) {
        match around.kind() {
            Kind::FunctionDefinition | Kind::LambdaExpression => return false,
            Kind::IfStatement if is_leader(around, inner).unwrap_or(false) => return true,
            _ => inner = around,
        }
    }
    false
}

/// Expressions that the conditions before and around a statement leave one value.
pub(super) fn known_values<'t>(tree: &'t SyntaxTree, statement: Node<'t>) -> Vec<(Node<'t>, i64)> {
    let mut known = Vec::new();
    let mut node = statement;
    while let Some(parent) = node.parent() {
        match parent.kind() {
            Kind::FunctionDefinition | Kind::LambdaExpression => break,
            Kind::IfStatement if parent.field(Field::Consequence) == Some(node) => {
                note(tree, parent.field(Field::Condition), ("&&", "=="), &mut known);
            }
            // `switch (threadIdx.x) { case 0: …`
            Kind::CaseStatement => known.extend(case_value(tree, parent, node)),
            // `if (threadIdx.x != 0) return;` before it.
            Kind::CompoundStatement => {
                let before = parent.named_children().take_while(|child| child.end_byte() <= node.start_byte());
                for leaving in before.filter(|child| is_leaving(*child)) {
                    note(tree, leaving.field(Field::Condition), ("||", "!="), &mut known);
                }
            }
            _ => {}
        }
        node = parent;
    }
    known
}

/// What a `switch` asks for, and the value with which alone a statement of one of its cases is reached.
fn case_value<'t>(tree: &'t SyntaxTree, case: Node<'t>, statement: Node<'t>) -> Option<(Node<'t>, i64)> {
    let value = tree.value_of(case.field(Field::Value).filter(|value| *value != statement)?)?;
    let block = case.parent().filter(|block| block.kind() == Kind::CompoundStatement)?;
    let switch =
        block.parent().filter(|it| it.kind() == Kind::SwitchStatement && it.field(Field::Body) == Some(block))?;
    let condition = switch.field(Field::Condition).filter(|it| it.named_child_count() == 1)?.named_child(0)?;
    // The case before must not go on here, and no jump may lead into it.
    let is_closed = match case.prev_named_sibling() {
        Some(before) => before.kind() == Kind::CaseStatement && before.parts().last().is_some_and(ends_case),
        None => true,
    };
    // `while (c) { case 1: … }` is entered from the `switch` around it.
    let is_direct =
        |it: Node<'_>| it.parent().and_then(|it| it.parent()).is_some_and(|it| it.kind() == Kind::SwitchStatement);
    let is_entry = |it: Node<'_>| it.kind() == Kind::CaseStatement && !is_direct(it);
    let has_jumps = enclosing_function(case)?.descendants().any(|it| it.kind() == Kind::GotoStatement || is_entry(it));
    (is_closed && !has_jumps).then_some((condition, value))
}

/// Whether nothing behind a statement of a `switch` is executed: `break;`, also as the end of a block.
fn ends_case(statement: Node<'_>) -> bool {
    match statement.kind() {
        Kind::BreakStatement | Kind::ReturnStatement => true,
        Kind::CompoundStatement => statement.parts().last().is_some_and(ends_case),
        _ => false,
    }
}

/// The condition of an `if`, without its parentheses.
pub(super) fn only_condition(statement: Node<'_>) -> Option<Node<'_>> {
    let clause = statement.field(Field::Condition)?;
    let only = clause.named_child(0).filter(|_| clause.named_child_count() == 1);
    if clause.kind() == Kind::ConditionClause { only } else { Some(clause) }
}

/// `if (…) return;`
pub(super) fn is_leaving(statement: Node<'_>) -> bool {
    let body = statement.field(Field::Consequence).filter(|_| statement.kind() == Kind::IfStatement);
    let is_return = |node: Node<'_>| node.kind() == Kind::ReturnStatement;
    let leaves = |body: Node<'_>| {
        is_return(body)
            || (body.kind() == Kind::CompoundStatement && body.named_children().next().is_some_and(is_return))
    };
    statement.field(Field::Alternative).is_none() && body.is_some_and(leaves)
}

/// Notes the expressions that a condition compares with a constant, in terms that `joined` joins.
fn note<'t>(
    tree: &'t SyntaxTree,
    condition: Option<Node<'t>>,
    (joined, compared): (&str, &str),
    known: &mut Vec<(Node<'t>, i64)>,
) {
    let Some(condition) = condition else { return };
    match condition.kind() {
        Kind::ConditionClause | Kind::ParenthesizedExpression if condition.named_child_count() == 1 => {
            note(tree, condition.named_child(0), (joined, compared), known);
        }
        Kind::UnaryExpression if compared == "==" && condition.operator() == Some("!") => {
            known.extend(condition.field(Field::Argument).map(|argument| (argument, 0)));
        }
        Kind::BinaryExpression => {
            let Some(binary) = Binary::of(condition) else { return };
            let (left, right) = (binary.left(), binary.right());
            let value = |node: Option<Node<'_>>| tree.value_of(node?);
            match binary.operator() {
                Some(operator) if operator == joined => {
                    note(tree, left, (joined, compared), known);
                    note(tree, right, (joined, compared), known);
                }
                Some(operator) if operator == compared => {
                    for (one, other) in [(left, right), (right, left)] {
                        known.extend(one.zip(value(other)));
                    }
                }
                // Of indices, zero alone is less than one.
                Some("<") if compared == "==" && value(right) == Some(1) => known.extend(left.map(|left| (left, 0))),
                Some(">") if compared == "!=" && value(right) == Some(0) => known.extend(left.map(|left| (left, 0))),
                Some(">=") if compared == "!=" && value(right) == Some(1) => known.extend(left.map(|left| (left, 0))),
                // `if (threadIdx.x + threadIdx.y) return;`
                Some(_) if compared == "!=" => known.push((condition, 0)),
                _ => {}
            }
        }
        _ if compared == "!=" => known.push((condition, 0)),
        _ => {}
    }
}

/// Notes the axes on which a sum of indices has one index if the sum has a value: all of them if it is zero, else the
/// only one. What the block adds is the same for all of its threads.
fn note_index(tree: &SyntaxTree, expression: Node<'_>, value: i64, fixed: &mut [bool; 3]) {
    let named = Some(expression).filter(|it| it.kind() == Kind::Identifier).and_then(|name| first_value(tree, name));
    if group_of_rank(tree, named.unwrap_or(expression)) == Some(Group::Block) {
        *fixed = [true; 3];
        return;
    }
    let mut sum = Sum::default();
    if !sum.add(tree, expression, false, MOST_STEPS) {
        return;
    }
    let is_one = matches!(sum.axes.as_slice(), [(_, false)]);
    let is_zero = value == 0 && !sum.has_block;
    if is_one || is_zero {
        sum.axes.into_iter().for_each(|(axis, _)| fixed[axis] = true);
    }
}

/// Names may lead to initializers with further names.
const MOST_STEPS: usize = 4;
/// No product of an index and a factor up to this wraps around.
const MOST_FACTOR: i64 = 1 << 16;

/// The terms of an index, none of which is negative: `threadIdx.y * blockDim.x + threadIdx.x`.
#[derive(Default)]
struct Sum {
    /// The axes, and whether each has a factor.
    axes: Vec<(usize, bool)>,
    /// Whether the number of the block is in it.
    has_block: bool,
}

impl Sum {
    /// Adds the terms of an expression; `false` if it has others.
    fn add(&mut self, tree: &SyntaxTree, expression: Node<'_>, has_factor: bool, steps: usize) -> bool {
        let expression = expression.without_parentheses();
        let text = tree.slice(expression).trim();
        if let Some(axis) = AXES.iter().position(|axis| *axis == text) {
            self.axes.push((axis, has_factor));
            return true;
        }
        if matches!(text, "blockIdx.x" | "blockIdx.y" | "blockIdx.z") {
            self.has_block = true;
            return true;
        }
        let Some(steps) = steps.checked_sub(1) else { return false };
        if expression.kind() == Kind::Identifier {
            return first_value(tree, expression).is_some_and(|value| self.add(tree, value, has_factor, steps));
        }
        let Some((left, right)) = Binary::of(expression).and_then(|it| Some((it.left()?, it.right()?))) else {
            return false;
        };
        let is_factor = |node: Node<'_>| {
            let size = matches!(tree.slice(node.without_parentheses()), "blockDim.x" | "blockDim.y" | "blockDim.z");
            size || tree.value_of(node).is_some_and(|value| (1..=MOST_FACTOR).contains(&value))
        };
        match expression.operator() {
            Some("+" | "|") => self.add(tree, left, has_factor, steps) && self.add(tree, right, has_factor, steps),
            Some("*") if is_factor(right) => self.add(tree, left, true, steps),
            Some("*") if is_factor(left) => self.add(tree, right, true, steps),
            _ => false,
        }
    }
}

/// The value of a variable that has no other.
pub(super) fn first_value<'t>(tree: &'t SyntaxTree, name: Node<'t>) -> Option<Node<'t>> {
    let function = enclosing_function(name)?;
    let declarations = tree.declarations(function);
    let own = resolve(&declarations, tree.slice(name), name.start_byte())?;
    let is_wide = matches!(
        plain_words(&own.type_text).trim_start_matches("std::"),
        "int" | "unsigned" | "unsigned int" | "uint" | "uint32_t" | "int32_t" | "size_t" | "auto"
    );
    let is_fit = own.kind == DeclarationKind::Scalar && own.volatility.is_none() && is_wide;
    let (start, end) = own.initializer.filter(|_| is_fit)?;
    let value =
        tree.root()?.named_descendant_for_byte_range(start, end).filter(|it| it.byte_range() == (start..end))?;
    keeps_first_value(tree, function, &declarations, own).then_some(value)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use cuda_syntax::identifiers::occurrences;

    /// The largest number of axes with which one thread alone reaches the declaration of `w`.
    fn axes_of_one(body: &str) -> usize {
        let text = format!(
            "namespace cg = cooperative_groups;\nconstexpr int LEADER = 3;\n__global__ void k(float* out, int n) {{\n{body}\n}}\n"
        );
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let variable = PrivateVariable::at(&tree, occurrences(&text, "w").next().unwrap()).unwrap();
        (1..=3).take_while(|axes| variable.is_of_one_thread(*axes)).last().unwrap_or(0)
    }

    #[test]
    fn sections_of_one_thread() {
        for (body, axes) in [
            ("if (threadIdx.x == 0) { float w[4]; f(w); }", 1),
            ("if (n > 0 && threadIdx.x == LEADER) { for (;;) { float w[4]; f(w); } } else { f(0); }", 1),
            ("if (!threadIdx.x && 0 == threadIdx.y) { float w[4]; f(w); }", 2),
            ("const int tid = threadIdx.x; if (tid == 0) { float w[4]; f(w); }", 1),
            ("if (threadIdx.x != 0 || threadIdx.y != 0 || threadIdx.z != 0) return; float w[4]; f(w);", 3),
            ("if (threadIdx.y != 0) { return; } if (threadIdx.x == 0) { float w[4]; f(w); }", 2),
            ("if (threadIdx.x + threadIdx.y == 0) { float w[4]; f(w); }", 2),
            ("if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) { float w[4]; f(w); }", 3),
            ("const int rank = threadIdx.y * blockDim.x + threadIdx.x; if (rank == 0) { float w[4]; f(w); }", 2),
            ("int i = blockIdx.x * blockDim.x + threadIdx.x; if (i == 5) { float w[4]; f(w); }", 1),
            ("if (threadIdx.x) return; float w[4]; f(w);", 1),
            ("if (threadIdx.x > 0 || threadIdx.y >= 1) return; float w[4]; f(w);", 2),
            ("if (threadIdx.x < 1) { float w[4]; f(w); }", 1),
            ("\n#define LEADER (threadIdx.x == 0)\nif (LEADER) { for (;;) { float w[4]; f(w); } }", 1),
            ("\n#define LEADER (threadIdx.x == 0 || n)\nif (LEADER) { float w[4]; f(w); }", 0),
            ("\n#define LEADER (threadIdx.x == 0)\nif (!LEADER) { float w[4]; f(w); }", 0),
            ("\n#define LEADER (threadIdx.x == 0)\nif (LEADER) f(0); else { float w[4]; f(w); }", 0),
            ("switch (threadIdx.x) { case 0: { float w[4]; f(w); break; } default: f(0); }", 1),
            ("switch (threadIdx.x) { case 1: f(0); break; case 0: { float w[4]; f(w); } default: f(0); }", 1),
            ("auto b = cg::this_thread_block(); if (b.thread_rank() == 0) { float w[4]; f(w); }", 3),
            ("auto b = cg::this_thread_block(); const int r = b.thread_rank(); if (r == 3) { float w[4]; f(w); }", 3),
            ("switch (cg::this_thread_block().thread_rank()) { case 0: { float w[4]; f(w); } }", 3),
            // Cases that others go on into, and other switches.
            ("switch (threadIdx.x) { case 1: f(0); case 0: { float w[4]; f(w); } }", 0),
            ("switch (threadIdx.x) { case 1: case 0: { float w[4]; f(w); } }", 0),
            ("switch (threadIdx.x) { case 1: if (n) break; case 0: { float w[4]; f(w); } }", 0),
            ("switch (threadIdx.x) { default: { float w[4]; f(w); } case 0: f(0); }", 0),
            ("switch (threadIdx.x) { case 0: { while (n) { case 1: { float w[4]; f(w); } } } }", 0),
            ("switch (n) { case 0: { float w[4]; f(w); } }", 0),
            ("switch (threadIdx.x) { case 1: if (n) goto in; break; case 0: { in: f(0); float w[4]; f(w); } }", 0),
            ("switch (threadIdx.x / 2) { case 0: { float w[4]; f(w); } }", 0),
            ("auto b = cg::this_grid(); if (b.thread_rank() == 0) { float w[4]; f(w); }", 0),
            ("auto b = cg::this_thread_block(); if (b.thread_rank() < 2) { float w[4]; f(w); }", 0),
            // Several threads.
            ("if (threadIdx.x + threadIdx.y == 1) { float w[4]; f(w); }", 0),
            ("if (threadIdx.x - threadIdx.y == 0) { float w[4]; f(w); }", 0),
            ("if (threadIdx.x + n == 0) { float w[4]; f(w); }", 0),
            ("if (threadIdx.x * n == 0) { float w[4]; f(w); }", 0),
            ("if (threadIdx.x * 0 == 0) { float w[4]; f(w); }", 0),
            ("unsigned char t = threadIdx.x; if (t == 0) { float w[4]; f(w); }", 0),
            ("int i = blockIdx.x + threadIdx.x + threadIdx.y; if (i == 0) { float w[4]; f(w); }", 0),
            ("if (threadIdx.x) f(0); float w[4]; f(w);", 0),
            ("if (threadIdx.x) { float w[4]; f(w); }", 0),
            ("if (threadIdx.x > 0) { float w[4]; f(w); }", 0),
            ("if (threadIdx.x < 1) return; float w[4]; f(w);", 0),
            ("float w[4]; f(w);", 0),
            ("if (threadIdx.x < 4) { float w[4]; f(w); }", 0),
            ("if (threadIdx.x == n) { float w[4]; f(w); }", 0),
            ("if (threadIdx.x == 0 || n) { float w[4]; f(w); }", 0),
            ("if (threadIdx.x == 0) { f(0); } else { float w[4]; f(w); }", 0),
            ("if (threadIdx.x != 0) { float w[4]; f(w); }", 0),
            ("if (threadIdx.x != 0 && n) return; float w[4]; f(w);", 0),
            ("if (threadIdx.x != 0) f(0); float w[4]; f(w);", 0),
            ("if (threadIdx.x % 32 == 0) { float w[4]; f(w); }", 0),
            ("int tid = threadIdx.x; tid /= 32; if (tid == 0) { float w[4]; f(w); }", 0),
        ] {
            assert_eq!(axes_of_one(body), axes, "{body}");
        }
    }
}
