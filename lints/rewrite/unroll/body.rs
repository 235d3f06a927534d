//! Loop bodies: whether each iteration uses an element, and early exits.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Binary, Call, Field, Kind, Node};
use cuda_syntax::tree::last_name;

use crate::rewrite::facts::purity::is_pure;

/// Whether a comparison in a loop's body uses the induction variable.
pub(super) fn is_compared(tree: &SyntaxTree, body: Node<'_>, counter: &str) -> bool {
    // `in[i] > 0` compares an element, not the induction variable.
    let is_direct =
        |side: Node<'_>| side.kind() != Kind::SubscriptExpression && tree.named(side, counter).next().is_some();
    let operations = body.descendants().filter_map(Binary::of);
    let mut comparisons = operations.filter(|it| matches!(it.operator(), Some("<" | "<=" | ">" | ">=" | "==" | "!=")));
    comparisons.any(|it| [it.left(), it.right()].into_iter().flatten().any(is_direct))
}

/// Whether threads synchronize in a loop's body, or ask which threads are active: the result depends on where threads
/// with fewer iterations wait.
pub(super) fn has_meetings(tree: &SyntaxTree, body: Node<'_>) -> bool {
    const PREFIXES: [&str; 9] =
        ["__sync", "__shfl", "__any", "__all", "__ballot", "__activemask", "__match", "__reduce", "__bar"];
    let meets = |called: Node<'_>| {
        let name = last_name(tree.slice(called));
        PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || name.contains("sync")
            || matches!(name, "arrive" | "wait" | "shfl" | "ballot" | "any" | "all" | "reduce")
    };
    body.descendants().any(|node| node.is_assembly() || Call::of(node).and_then(Call::function).is_some_and(meets))
}

/// Whether each iteration uses an element, or has no effect before it exits. Then an iteration beyond the extent is
/// undefined or has no effect.
pub(super) fn is_used_first(tree: &SyntaxTree, used: Node<'_>, body: Node<'_>) -> bool {
    if !is_unconditional(used, body) {
        return false;
    }
    let ends_before = exits(tree, body).iter().any(|exit| exit.start_byte() < used.start_byte());
    if !ends_before {
        return true;
    }
    // Statements before the one that uses the element.
    let before = body.parts();
    body.kind() == Kind::CompoundStatement
        && before.take_while(|child| child.end_byte() <= used.start_byte()).all(|child| is_idle(tree, child))
}

/// A statement without effects except ending the iteration: `if (x > y) break;`, `const float v = in[i];`.
fn is_idle(tree: &SyntaxTree, statement: Node<'_>) -> bool {
    match statement.kind() {
        Kind::BreakStatement | Kind::ContinueStatement => true,
        Kind::Declaration => is_pure(tree, statement),
        Kind::IfStatement => {
            let condition = statement.field(Field::Condition);
            let parts = [statement.field(Field::Consequence), statement.field(Field::Alternative)];
            condition.is_some_and(|condition| is_pure(tree, condition))
                && parts.into_iter().flatten().all(|part| is_idle(tree, part))
        }
        Kind::CompoundStatement | Kind::ElseClause => statement.named_children().all(|child| is_idle(tree, child)),
        _ => false,
    }
}

/// Whether an expression is evaluated in each iteration.
fn is_unconditional(used: Node<'_>, body: Node<'_>) -> bool {
    let mut node = used;
    while node != body {
        let Some(parent) = node.parent() else { return false };
        let is_first = |field: Field| parent.field(field) == Some(node);
        let is_always = match parent.kind() {
            Kind::IfStatement | Kind::ConditionalExpression => is_first(Field::Condition),
            Kind::BinaryExpression => !matches!(parent.operator(), Some("&&" | "||")) || is_first(Field::Left),
            Kind::CompoundStatement
            | Kind::ExpressionStatement
            | Kind::Declaration
            | Kind::InitDeclarator
            | Kind::AssignmentExpression
            | Kind::UpdateExpression
            | Kind::SubscriptExpression
            | Kind::SubscriptArgumentList
            | Kind::FieldExpression
            | Kind::ParenthesizedExpression
            | Kind::ConditionClause
            | Kind::ArgumentList
            | Kind::CallExpression
            | Kind::CastExpression
            | Kind::UnaryExpression
            | Kind::CommaExpression => true,
            _ => false,
        };
        if !is_always {
            return false;
        }
        node = parent;
    }
    true
}

/// Statements in a loop's body that may end it, or an iteration, early.
fn exits<'t>(tree: &SyntaxTree, body: Node<'t>) -> Vec<Node<'t>> {
    const EXITS: [Kind; 5] = [
        Kind::BreakStatement,
        Kind::ContinueStatement,
        Kind::ReturnStatement,
        Kind::GotoStatement,
        Kind::ThrowStatement,
    ];
    let is_exit = |node: &Node<'_>| {
        let called = Call::of(*node).and_then(Call::function).map_or("", |called| tree.slice(called));
        EXITS.contains(&node.kind()) || matches!(called, "assert" | "__trap" | "__brkpt") || node.is_assembly()
    };
    body.descendants().filter(is_exit).collect()
}
