//! Elements that each round of a loop accesses.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Kind, Node};

use super::body::{exits, has_entries, is_idle, is_unconditional};
use super::indexing::indexings;
use super::lent::is_accessed_by_callee;
use crate::rewrite::facts::accessed::is_accessed;

/// Whether each iteration accesses an element, or has no effect before it ends. Then an iteration beyond the extent is
/// undefined or has no effect. `harmless` are the statements with which it may end: not `break` where the iterations
/// beyond the extent come first, because those below it would not run.
pub(in crate::rewrite) fn is_inevitable(tree: &SyntaxTree, used: Node<'_>, body: Node<'_>, harmless: &[Kind]) -> bool {
    let Some(expression) = full_expression(used, body).filter(|_| !has_entries(body)) else { return false };
    if !is_unconditional(tree, used, body) || !is_used(tree, used) {
        return false;
    }
    // In an assignment, the right side is evaluated first.
    let exits: Vec<Node<'_>> =
        exits(tree, body).into_iter().filter(|exit| exit.start_byte() < expression.end_byte()).collect();
    let before: Vec<Node<'_>> = match body.kind() {
        Kind::CompoundStatement => body.parts().take_while(|child| child.end_byte() <= used.start_byte()).collect(),
        _ => Vec::new(),
    };
    let is_before = |exit: &Node<'_>| before.last().is_some_and(|last| exit.start_byte() < last.end_byte());
    exits.is_empty()
        || (exits.iter().all(is_before) && before.iter().all(|statement| is_idle(tree, *statement, harmless)))
}

/// Whether an element is certainly accessed where it is named, or by the function that gets it; or by a call or an
/// operator that indexes it.
pub(in crate::rewrite) fn is_used(tree: &SyntaxTree, element: Node<'_>) -> bool {
    let is_named =
        element.kind() != Kind::CallExpression && (is_accessed(tree, element) || is_accessed_by_callee(tree, element));
    is_named || !indexings(tree, element).is_empty()
}

/// The whole expression or declaration in which an element is accessed.
fn full_expression<'t>(used: Node<'t>, body: Node<'t>) -> Option<Node<'t>> {
    let mut node = used;
    while node != body {
        let parent = node.parent()?;
        if matches!(parent.kind(), Kind::CompoundStatement | Kind::IfStatement) {
            break;
        }
        node = parent;
    }
    Some(node)
}
