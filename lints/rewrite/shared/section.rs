//! Variables of code that one thread of a block alone runs: `if (threadIdx.x == 0) { float heap[32]; … }`. Such a
//! variable needs no part for each thread: `__shared__` in front of it is enough, and all its uses stay.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Binary, Field, Kind, Node};
use cuda_syntax::tree::{DeclarationKind, enclosing_function, resolve};

use super::declaration::{PrivateVariable, declared};
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
fn fixed_axes(tree: &SyntaxTree, statement: Node<'_>) -> [bool; 3] {
    let mut fixed = [false; 3];
    let mut node = statement;
    while let Some(parent) = node.parent() {
        match parent.kind() {
            Kind::FunctionDefinition | Kind::LambdaExpression => break,
            Kind::IfStatement if parent.field(Field::Consequence) == Some(node) => {
                note(tree, parent.field(Field::Condition), ("&&", "=="), &mut fixed);
            }
            // `if (threadIdx.x != 0) return;` before it.
            Kind::CompoundStatement => {
                let before = parent.named_children().take_while(|child| child.end_byte() <= node.start_byte());
                for leaving in before.filter(|child| is_leaving(*child)) {
                    note(tree, leaving.field(Field::Condition), ("||", "!="), &mut fixed);
                }
            }
            _ => {}
        }
        node = parent;
    }
    fixed
}

/// `if (…) return;`
fn is_leaving(statement: Node<'_>) -> bool {
    let body = statement.field(Field::Consequence).filter(|_| statement.kind() == Kind::IfStatement);
    let is_return = |node: Node<'_>| node.kind() == Kind::ReturnStatement;
    let leaves = |body: Node<'_>| {
        is_return(body)
            || (body.kind() == Kind::CompoundStatement && body.named_children().next().is_some_and(is_return))
    };
    statement.field(Field::Alternative).is_none() && body.is_some_and(leaves)
}

/// Notes the axes whose index a condition compares with a constant, in terms that `joined` joins.
fn note(tree: &SyntaxTree, condition: Option<Node<'_>>, (joined, compared): (&str, &str), fixed: &mut [bool; 3]) {
    let Some(condition) = condition else { return };
    match condition.kind() {
        Kind::ConditionClause | Kind::ParenthesizedExpression if condition.named_child_count() == 1 => {
            note(tree, condition.named_child(0), (joined, compared), fixed);
        }
        Kind::UnaryExpression if compared == "==" && condition.operator() == Some("!") => {
            let axis = condition.field(Field::Argument).and_then(|argument| axis_of(tree, argument));
            axis.into_iter().for_each(|axis| fixed[axis] = true);
        }
        Kind::BinaryExpression => {
            let Some(binary) = Binary::of(condition) else { return };
            let (left, right) = (binary.left(), binary.right());
            match binary.operator() {
                Some(operator) if operator == joined => {
                    note(tree, left, (joined, compared), fixed);
                    note(tree, right, (joined, compared), fixed);
                }
                Some(operator) if operator == compared => {
                    for (one, other) in [(left, right), (right, left)] {
                        let is_constant = other.is_some_and(|other| tree.value_of(other).is_some());
                        let axis = one.filter(|_| is_constant).and_then(|one| axis_of(tree, one));
                        axis.into_iter().for_each(|axis| fixed[axis] = true);
                    }
                }
                _ => {}
            }
        }
        _ => {}
    }
}

/// The axis of `threadIdx.x`, or of a variable that is nothing else.
fn axis_of(tree: &SyntaxTree, expression: Node<'_>) -> Option<usize> {
    let expression = expression.without_parentheses();
    let axis = |text: &str| AXES.iter().position(|axis| *axis == text.trim());
    if expression.kind() != Kind::Identifier {
        return axis(tree.slice(expression));
    }
    let function = enclosing_function(expression)?;
    let name = tree.slice(expression);
    let declarations = tree.declarations(function);
    let own = resolve(&declarations, name, expression.start_byte())?;
    let (start, end) = own.initializer.filter(|_| own.kind == DeclarationKind::Scalar && own.volatility.is_none())?;
    let is_kept = keeps_first_value(tree, function, &declarations, own);
    axis(tree.text().get(start..end)?).filter(|_| is_kept)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use cuda_syntax::identifiers::occurrences;

    /// The largest number of axes with which one thread alone reaches the declaration of `w`.
    fn axes_of_one(body: &str) -> usize {
        let text = format!("constexpr int LEADER = 3;\n__global__ void k(float* out, int n) {{\n{body}\n}}\n");
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
            // Several threads.
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
