//! Variables of code that the first threads of a block alone run: `if (threadIdx.x < 32) { int list[20]; … }`. A part of
//! shared memory for each of these is enough, whatever the size of the block.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Binary, Field, Kind, Node};

use super::declaration::{PrivateVariable, declared};
use super::leaders::named_value;
use super::section::{is_leaving, known_values, only_condition};

/// No block has more threads.
const MOST_THREADS: i64 = 1024;

impl PrivateVariable {
    /// How many threads of a one-dimensional block reach the declaration, if they are its first ones.
    pub fn first_threads(&self) -> Option<u32> {
        let statement = declared(&self.tree, self.offset)?.statement;
        let tree = &*self.tree;
        let of_groups =
            known_values(tree, statement).into_iter().filter_map(|(index, value)| of_quotient(tree, index, value));
        let limit = limits(tree, statement).into_iter().chain(of_groups).min()?;
        u32::try_from(limit).ok().filter(|limit| *limit > 0)
    }
}

/// `64` for `threadIdx.x / 32` with the value 1.
fn of_quotient(tree: &SyntaxTree, expression: Node<'_>, value: i64) -> Option<i64> {
    let expression = named_value(tree, expression)?;
    let quotient = Binary::of(expression)?;
    let right = tree.settled_value_of(quotient.right()?)?;
    let divisor = match quotient.operator()? {
        "/" => right,
        ">>" => 1_i64.checked_shl(u32::try_from(right).ok().filter(|bits| *bits <= 10)?)?,
        _ => return None,
    };
    let is_fit = is_index(tree, quotient.left()?)
        && (1..=MOST_THREADS).contains(&divisor)
        && (0..=MOST_THREADS).contains(&value);
    is_fit.then(|| divisor * (value + 1)).filter(|limit| *limit <= MOST_THREADS)
}

fn is_index(tree: &SyntaxTree, expression: Node<'_>) -> bool {
    named_value(tree, expression).is_some_and(|value| tree.slice(value).trim() == "threadIdx.x")
}

/// The limits that the conditions before and around a statement set to the thread's index.
fn limits(tree: &SyntaxTree, statement: Node<'_>) -> Vec<i64> {
    let mut found = Vec::new();
    let mut node = statement;
    while let Some(parent) = node.parent() {
        match parent.kind() {
            Kind::FunctionDefinition | Kind::LambdaExpression => break,
            Kind::IfStatement if parent.field(Field::Consequence) == Some(node) => {
                note(tree, only_condition(parent), true, &mut found);
            }
            Kind::CompoundStatement => {
                let before = parent.named_children().take_while(|child| child.end_byte() <= node.start_byte());
                for leaving in before.filter(|child| is_leaving(*child)) {
                    note(tree, only_condition(leaving), false, &mut found);
                }
            }
            _ => {}
        }
        node = parent;
    }
    found
}

/// Notes the limits of a condition that is true, or false where `is_true` is not.
fn note(tree: &SyntaxTree, condition: Option<Node<'_>>, is_true: bool, found: &mut Vec<i64>) {
    let Some(binary) = condition.map(Node::without_parentheses).and_then(Binary::of) else { return };
    let (Some(left), Some(right), Some(operator)) = (binary.left(), binary.right(), binary.operator()) else { return };
    if operator == if is_true { "&&" } else { "||" } {
        note(tree, Some(left), is_true, found);
        note(tree, Some(right), is_true, found);
        return;
    }
    let (index, bound, operator) = match tree.settled_value_of(right) {
        Some(bound) => (left, Some(bound), operator),
        None => {
            let mirrored = match operator {
                "<" => ">",
                "<=" => ">=",
                ">" => "<",
                ">=" => "<=",
                _ => return,
            };
            (right, tree.settled_value_of(left), mirrored)
        }
    };
    let limit = match (operator, is_true) {
        ("<", true) | (">=", false) => bound,
        ("<=", true) | (">", false) => bound.map(|bound| bound + 1),
        _ => None,
    };
    found.extend(limit.filter(|limit| (1..=MOST_THREADS).contains(limit) && is_index(tree, index)));
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use cuda_syntax::identifiers::occurrences;

    fn first(body: &str) -> Option<u32> {
        let text = format!("constexpr int WARP = 32;\n__global__ void k(float* out, int n) {{\n{body}\n}}\n");
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        PrivateVariable::at(&tree, occurrences(&text, "w").next().unwrap()).unwrap().first_threads()
    }

    #[test]
    fn the_first_threads_are_counted() {
        for (body, expected) in [
            ("if (threadIdx.x < 32) { float w[4]; f(w); }", Some(32)),
            ("const int t = threadIdx.x; if (n && t <= WARP) { for (;;) { float w[4]; f(w); } }", Some(33)),
            ("if (threadIdx.x < 64) { if (16 > threadIdx.x) { float w[4]; f(w); } }", Some(16)),
            ("if (threadIdx.x >= 32 || n) return; float w[4]; f(w);", Some(32)),
            ("int warp = threadIdx.x / WARP; if (warp == 1) { float w[4]; f(w); }", Some(64)),
            ("int warp = threadIdx.x >> 5; if (!warp) { float w[4]; f(w); }", Some(32)),
            // Other threads, or none that is told.
            ("if (threadIdx.x > 32) { float w[4]; f(w); }", None),
            ("if (threadIdx.x >= 32) { float w[4]; f(w); }", None),
            ("if (threadIdx.x < 32) f(0); else { float w[4]; f(w); }", None),
            ("if (threadIdx.x < 32 || n) { float w[4]; f(w); }", None),
            ("if (!(threadIdx.x < 32)) { float w[4]; f(w); }", None),
            ("if (threadIdx.x < n) { float w[4]; f(w); }", None),
            ("if (threadIdx.x - 32 < 32) { float w[4]; f(w); }", None),
            ("if (threadIdx.y < 32) { float w[4]; f(w); }", None),
            ("if (threadIdx.x >= 32 && n) return; float w[4]; f(w);", None),
            ("if (threadIdx.x >= 32) f(0); float w[4]; f(w);", None),
            ("if (threadIdx.x < 32) return; float w[4]; f(w);", None),
            ("int t = threadIdx.x; t -= 32; if (t < 32) { float w[4]; f(w); }", None),
            ("int warp = threadIdx.x % 32; if (warp == 0) { float w[4]; f(w); }", None),
            ("unsigned char t = threadIdx.x; if (t < 32) { float w[4]; f(w); }", None),
            ("while (threadIdx.x < 32) { float w[4]; f(w); }", None),
            ("float w[4]; if (threadIdx.x < 32) f(w);", None),
        ] {
            assert_eq!(first(body), expected, "{body}");
        }
    }
}
