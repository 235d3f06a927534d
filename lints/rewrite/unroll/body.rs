//! Loop bodies: whether each iteration uses an element, and early exits.

use cuda_syntax::ast::{Call, Field, Kind, Node};
use cuda_syntax::tree::{enclosing_function, last_name};
use cuda_syntax::{SyntaxTree, types};

use lmem_unit::meeting::is_ending;

use crate::rewrite::facts::callees::are_quiet;
use crate::rewrite::facts::purity::is_pure;

/// Whether threads synchronize in a loop's body, or ask which threads are active: the result depends on where threads
/// with fewer iterations wait. A function that the text does not define may do so.
pub(in crate::rewrite) fn has_meetings(tree: &SyntaxTree, body: Node<'_>) -> bool {
    body.descendants().any(Node::is_assembly) || !are_quiet(tree, body)
}

/// Whether a loop's body may be entered other than from its start: by `goto`, or by a `switch` around the loop.
pub(in crate::rewrite) fn has_entries(body: Node<'_>) -> bool {
    let is_outside = |node: &Node<'_>| !body.byte_range().contains(&node.start_byte());
    let jumps = enclosing_function(body)
        .is_none_or(|function| function.descendants().any(|it| it.kind() == Kind::GotoStatement && is_outside(&it)));
    jumps || has_labels(body)
}

/// Whether a statement is, or has in it, a label of a `switch` around.
pub(super) fn has_labels(statement: Node<'_>) -> bool {
    statement.descendants().any(|node| {
        let mut around = node.ancestors().take_while(|it| *it != statement);
        let is_whole = statement.kind() == Kind::SwitchStatement;
        node.kind() == Kind::CaseStatement && !is_whole && !around.any(|it| it.kind() == Kind::SwitchStatement)
    })
}

/// A statement without effects except ending the iteration: `if (x > y) break;`, `const float v = in[i];`.
pub(super) fn is_idle(tree: &SyntaxTree, statement: Node<'_>, harmless: &[Kind]) -> bool {
    match statement.kind() {
        Kind::BreakStatement | Kind::ContinueStatement => harmless.contains(&statement.kind()),
        Kind::Declaration => {
            // A constructor or a destructor may have effects.
            let type_node = statement.field(Field::Type);
            let is_number = type_node.is_some_and(|it| {
                it.kind() == Kind::PlaceholderTypeSpecifier || types::size_of(tree.slice(it)).is_some()
            });
            is_number && is_pure(tree, statement)
        }
        Kind::IfStatement => {
            let condition = statement.field(Field::Condition);
            let parts = [statement.field(Field::Consequence), statement.field(Field::Alternative)];
            condition.is_some_and(|condition| is_pure(tree, condition))
                && parts.into_iter().flatten().all(|part| is_idle(tree, part, harmless))
        }
        Kind::CompoundStatement | Kind::ElseClause => {
            statement.named_children().all(|child| is_idle(tree, child, harmless))
        }
        _ => false,
    }
}

/// Whether an expression is evaluated in each iteration that reaches it.
pub(in crate::rewrite) fn is_unconditional(tree: &SyntaxTree, used: Node<'_>, body: Node<'_>) -> bool {
    let mut node = used;
    while node != body {
        let Some(parent) = node.parent() else { return false };
        let is_first = |field: Field| parent.field(field) == Some(node);
        let is_always = match parent.kind() {
            Kind::IfStatement | Kind::ConditionalExpression => is_first(Field::Condition),
            Kind::BinaryExpression => {
                !matches!(parent.operator(), Some("&&" | "||" | "and" | "or")) || is_first(Field::Left)
            }
            // A `static` variable is initialized once.
            Kind::Declaration => !parent.children().any(|child| tree.slice(child) == "static"),
            Kind::CompoundStatement
            | Kind::ExpressionStatement
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
            | Kind::PointerExpression
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
pub(in crate::rewrite) fn exits<'t>(tree: &SyntaxTree, body: Node<'t>) -> Vec<Node<'t>> {
    const EXITS: [Kind; 5] = [
        Kind::BreakStatement,
        Kind::ContinueStatement,
        Kind::ReturnStatement,
        Kind::GotoStatement,
        Kind::ThrowStatement,
    ];
    let is_exit = |node: &Node<'_>| {
        let called = Call::of(*node).and_then(Call::function).map_or("", |called| last_name(tree.slice(called)));
        EXITS.contains(&node.kind()) || is_ending(called) || node.is_assembly()
    };
    body.descendants().filter(is_exit).collect()
}

/// The expression in the parentheses of an `if`; `None` where it declares something.
pub(in crate::rewrite) fn condition_of(statement: Node<'_>) -> Option<Node<'_>> {
    let clause = statement.field(Field::Condition)?;
    let only = only_child(clause).filter(|_| clause.kind() == Kind::ConditionClause)?;
    (only.kind() != Kind::Declaration).then_some(only)
}

/// The only part of a node.
pub(super) fn only_child(node: Node<'_>) -> Option<Node<'_>> {
    let mut parts = node.parts();
    parts.next().filter(|_| parts.next().is_none())
}

/// Whether the declaration of a name makes a variable of its own each time.
pub(in crate::rewrite) fn is_automatic(tree: &SyntaxTree, name: usize) -> bool {
    let declaration = tree.node_at(name).and_then(|node| node.enclosing(Kind::Declaration));
    let head = declaration.and_then(|it| tree.text().get(it.start_byte()..name)).unwrap_or("static");
    !["static", "__shared__", "extern", "thread_local", "__constant__"].iter().any(|word| head.contains(word))
}
