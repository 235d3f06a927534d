//! The header of a loop: where its induction variable starts, and by how much it steps.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Assignment, Binary, Field, Kind, Node, Update};

use crate::rewrite::facts::purity::is_pure;

/// The value that a variable is declared with, or gets, in the block of a loop, if nothing between that and the loop
/// mentions it: `int i = 0; for (; i < n; ++i)`.
pub fn start_before<'t>(tree: &SyntaxTree, node: Node<'t>, counter: &str) -> Option<Node<'t>> {
    let mut before = node.prev_named_sibling()?;
    while tree.named(before, counter).next().is_none() {
        let is_plain = matches!(
            before.kind(),
            Kind::Declaration | Kind::ExpressionStatement | Kind::ForStatement | Kind::Comment | Kind::PreprocCall
        );
        before = before.prev_named_sibling().filter(|_| is_plain)?;
    }
    if let Some(value) = assigned(tree, before, counter) {
        return Some(value);
    }
    let declarators = before.fields(Field::Declarator).filter(|_| before.kind() == Kind::Declaration);
    let mut own = declarators.filter(|node| {
        let named = node.field(Field::Declarator).filter(|_| node.kind() == Kind::InitDeclarator);
        named.is_some_and(|named| named.kind() == Kind::Identifier && tree.slice(named) == counter)
    });
    let value = own.next()?.field(Field::Value)?;
    // `int i = 0, j = i;` reads it, and `int i = 0, &r = i;` binds a reference: the variable has one mention.
    (tree.named(before, counter).count() == 1).then_some(value)
}

/// The value in `k = 0;`
fn assigned<'t>(tree: &SyntaxTree, statement: Node<'t>, counter: &str) -> Option<Node<'t>> {
    let whole = statement.named_child(0).filter(|_| statement.kind() == Kind::ExpressionStatement)?;
    let assignment = Assignment::of(whole).filter(|it| it.is_plain())?;
    let is_own = assignment.left().is_some_and(|name| name.kind() == Kind::Identifier && tree.slice(name) == counter);
    let value = assignment.right().filter(|_| is_own)?;
    (tree.named(statement, counter).count() == 1).then_some(value)
}

/// `1` for `++i`, `-2` for `i -= 2`.
pub fn step(tree: &SyntaxTree, update: Node<'_>) -> Option<i64> {
    let operator = update.operator()?;
    let by = || tree.value_of(update.field(Field::Right)?);
    let step = match operator {
        "++" => 1,
        "--" => -1,
        "+=" => by()?,
        "-=" => -by()?,
        _ => return None,
    };
    (step != 0).then_some(step)
}

/// The step of a variable in an update: `++i`, or a part of `++i, p += n`, if no other part mentions the variable.
pub fn step_of(tree: &SyntaxTree, update: Node<'_>, counter: &str) -> Option<i64> {
    if update.kind() == Kind::CommaExpression {
        let is_sole = tree.named(update, counter).count() == 1;
        let mut parts = [update.field(Field::Left), update.field(Field::Right)].into_iter().flatten();
        return parts.find_map(|part| step_of(tree, part, counter)).filter(|_| is_sole);
    }
    let target = update.field(Field::Argument).or_else(|| update.field(Field::Left))?;
    step(tree, update).filter(|_| tree.slice(target) == counter)
}

/// `++i` of `++i < n && …`: the condition counts before it compares, and what it asks afterwards counts nothing.
pub fn counted_first<'t>(tree: &SyntaxTree, condition: Node<'t>, counter: &str) -> Option<Node<'t>> {
    let condition = condition.without_parentheses();
    let binary = Binary::of(condition)?;
    let (left, right) = (binary.left()?, binary.right().filter(|right| is_pure(tree, *right))?);
    match binary.operator()? {
        "&&" | "and" if left.kind() == Kind::BinaryExpression => counted_first(tree, left, counter),
        "<" | "<=" | "!=" => {
            let update = Update::of(left).filter(|it| it.is_prefix() && it.operator() == Some("++"))?;
            let is_own = update.operand().is_some_and(|it| it.kind() == Kind::Identifier && tree.slice(it) == counter);
            (is_own && tree.named(right, counter).next().is_none()).then_some(left)
        }
        _ => None,
    }
}
