//! First values of an array whose initializer is not zero, once the array is in shared memory, which has none.

use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::identifiers::occurrences;
use cuda_syntax::{SyntaxTree, types};

use super::declaration::Declared;

/// More values come from a table.
const MOST_ASSIGNED: usize = 8;
/// The longest list that is written again.
const MOST_LISTED: usize = 64;

/// The statements that give the elements `of_index` the values of an initializer list: `w[0][x] = 5;`, a loop for equal values and
/// for the zeros behind the list, or one over a table of constants. `None` for anything but a row of numbers.
pub(super) fn first_values(
    tree: &SyntaxTree,
    declared: &Declared<'_>,
    of_index: &dyn Fn(&str) -> String,
) -> Option<Vec<String>> {
    let [extent] = declared.extents.as_slice() else { return None };
    let type_text = tree.slice(declared.statement.field(Field::Type)?);
    let list = declared.initializer.filter(|it| it.kind() == Kind::InitializerList)?;
    let values: Vec<Node<'_>> = list.named_children().collect();
    let is_own = |value: &Node<'_>| occurrences(tree.slice(*value), tree.slice(declared.name)).next().is_some();
    let is_fit = types::is_scalar(type_text)
        && !declared.is_of_pointers
        && (1..=MOST_LISTED).contains(&values.len())
        && values.iter().all(|value| is_expression(*value) && tree.is_plain(*value) && !is_own(value));
    let are_constant = values.iter().all(|value| is_number(tree, *value));
    // Values of other variables stay before the declarators that follow.
    let is_alone = declared.statement.fields(Field::Declarator).count() == 1;
    if !is_fit || !(are_constant || is_alone && values.len() <= MOST_ASSIGNED) {
        return None;
    }
    let size = tree.value_of(*extent).and_then(|size| usize::try_from(size).ok());
    let extent = tree.slice(*extent);
    let fill = |first: usize, value: &str| {
        format!("for (int element = {first}; element < {extent}; ++element) {} = {value};", of_index("element"))
    };
    let texts: Vec<&str> = values.iter().map(|value| tree.slice(*value).trim()).collect();
    if occurrences(extent, "element").next().is_some() {
        return None;
    }
    if are_constant && size == Some(texts.len()) && texts.len() > 1 && texts.iter().all(|text| *text == texts[0]) {
        return Some(vec![fill(0, texts[0])]);
    }
    if texts.len() > MOST_ASSIGNED {
        let table = tree.fresh(&format!("{}_first", tree.slice(declared.name)), &[]);
        let constants = format!("static constexpr {type_text} {table}[{extent}] = {{{}}};", texts.join(", "));
        return Some(vec![constants, fill(0, &format!("{table}[element]"))]);
    }
    let assigned = texts.iter().enumerate().map(|(at, text)| format!("{} = {text};", of_index(&at.to_string())));
    let rest = (size != Some(texts.len())).then(|| fill(texts.len(), "0"));
    Some(assigned.chain(rest).collect())
}

/// Whether a part of a list is a value, not a list, a designator or a comment.
fn is_expression(value: Node<'_>) -> bool {
    matches!(
        value.kind(),
        Kind::NumberLiteral
            | Kind::Identifier
            | Kind::UnaryExpression
            | Kind::BinaryExpression
            | Kind::FieldExpression
            | Kind::SubscriptExpression
            | Kind::ParenthesizedExpression
            | Kind::CallExpression
    )
}

/// Whether an expression is a constant, of integers or as a literal.
fn is_number(tree: &SyntaxTree, value: Node<'_>) -> bool {
    let is_literal = match value.kind() {
        Kind::UnaryExpression => value.field(Field::Argument).is_some_and(|it| it.kind() == Kind::NumberLiteral),
        kind => kind == Kind::NumberLiteral,
    };
    is_literal || tree.value_of(value).is_some()
}
