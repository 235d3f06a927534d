//! The header of a loop: where its induction variable starts, and by how much it steps.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Assignment, Field, Kind, Node};

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
