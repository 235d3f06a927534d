//! Rows of a flat array that are chosen at run time: `a[best * N + c]`. The row is selected, and the column stays as it is.
//!
//! The column must be within its row: else an index in the array could be that of another row.

use std::rc::Rc;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Binary, Field, Kind, Node};

use super::holder::is_static;
use crate::rewrite::facts::integers::is_int;
use crate::rewrite::facts::steady::may_write;
use crate::rewrite::unroll::limit::is_below;

pub(super) struct Row<'t> {
    /// `best`
    pub number: Node<'t>,
    /// The number of rows, as an expression.
    pub extent: String,
    pub count: u64,
}

impl<'t> Row<'t> {
    /// The row in the index of an array of `elements` elements.
    pub fn of(tree: &Rc<SyntaxTree>, index: Node<'t>, elements: u64) -> Option<Self> {
        let sum = Binary::of(index.without_parentheses()).filter(|it| it.operator() == Some("+"))?;
        let sides = [(sum.left()?, sum.right()?), (sum.right()?, sum.left()?)];
        sides.into_iter().find_map(|(product, column)| Self::of_sides(tree, product, column, elements))
    }

    fn of_sides(tree: &Rc<SyntaxTree>, product: Node<'t>, column: Node<'t>, elements: u64) -> Option<Self> {
        let product = Binary::of(product.without_parentheses()).filter(|it| it.operator() == Some("*"))?;
        let (left, right) = (product.left()?, product.right()?);
        let (number, length) = match (tree.value_of(left), tree.value_of(right)) {
            (None, Some(_)) => (left, right),
            (Some(_), None) => (right, left),
            _ => return None,
        };
        let value = tree.value_of(length).filter(|length| *length > 1)?;
        let unsigned = u64::try_from(value).ok()?;
        let is_fit = elements.is_multiple_of(unsigned)
            && number.kind() == Kind::Identifier
            // Products of other integers may wrap around.
            && is_int(tree, number)
            && !is_static(tree, number)
            && is_static(tree, column)
            && is_within(tree, column, value);
        let count = elements / unsigned;
        // `N` rows of `N` elements.
        let text = if count == unsigned { tree.spelled(length, number.start_byte())? } else { count.to_string() };
        is_fit.then_some(Self { number, extent: text, count })
    }
}

/// Whether a column is from zero up to the length of a row: a constant, or the counter of a loop that stays below.
fn is_within(tree: &Rc<SyntaxTree>, column: Node<'_>, length: i64) -> bool {
    let column = column.without_parentheses();
    if let Some(value) = tree.value_of(column) {
        return (0..length).contains(&value);
    }
    let counter = tree.slice(column);
    let within = || {
        let is_own = |it: &Node<'_>| {
            let declared = it.field(Field::Initializer).filter(|it| it.kind() == Kind::Declaration);
            let declarator = declared.and_then(|it| it.field(Field::Declarator));
            declarator.and_then(|it| it.field(Field::Declarator)).is_some_and(|name| tree.slice(name) == counter)
        };
        let node = column.ancestors().filter(|it| it.kind() == Kind::ForStatement).find(is_own)?;
        let start = node.field(Field::Initializer)?.field(Field::Declarator)?.field(Field::Value)?;
        let rises = crate::rewrite::unroll::bound::begins_at_zero_or_above(tree, start);
        let body = node.field(Field::Body).filter(|body| !may_write(tree, *body, counter))?;
        let is_in_body = body.byte_range().contains(&column.start_byte());
        Some(rises && is_in_body && is_below(tree, node.field(Field::Condition)?, counter, length))
    };
    column.kind() == Kind::Identifier && within().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, edited};
    use crate::rewrite::select::Form;

    #[test]
    fn the_row_is_selected() {
        check(
            "c",
            "    for (int q = 0; q < 3; ++q) c[n * 3 + q] = 0;",
            "    for (int q = 0; q < 3; ++q) {
        #pragma unroll
        for (int k = 0; k < 2; ++k) if (k == n) c[k * 3 + q] = 0;
    }",
        );
        check(
            "c",
            "    c[1 + 2 * n] = 0;",
            "    #pragma unroll\n    for (int k = 0; k < 3; ++k) if (k == n) c[1 + 2 * k] = 0;",
        );
    }

    #[test]
    fn a_column_beyond_its_row_is_part_of_the_index() {
        for body in [
            "    for (int q = 0; q < 4; ++q) c[n * 3 + q] = 0;",
            "    c[n * 2 + 2] = 0;",
            "    c[n * 4 + 1] = 0;",
            "    for (int q = -1; q < 3; ++q) c[n * 3 + q] = 0;",
        ] {
            let text = edited("c", Form::Branch, body).unwrap_or_default();
            assert!(!text.contains("k == n)"), "{body}: {text}");
        }
    }
}
