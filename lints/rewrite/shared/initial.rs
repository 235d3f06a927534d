//! First values of an array whose initializer is not zero, once the array is in shared memory, which has none.

use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::identifiers::occurrences;
use cuda_syntax::{SyntaxTree, types};

use super::declaration::Declared;

/// More constants come from a table.
const MOST_ASSIGNED: usize = 8;
/// The most values of variables, and of elements of several dimensions, that are assigned one by one.
const MOST_OF_VARIABLES: usize = 16;
/// The longest list that is written again.
const MOST_LISTED: usize = 64;

/// Counters of the loops over a table, one for each of its dimensions.
const COUNTERS: [&str; 3] = ["element", "column", "layer"];

/// The statements that give the elements `of_index` the values of an initializer list: `w[0][x] = 5;`, a loop for equal values and
/// for the zeros behind the list, or one over a table of constants. An index of several dimensions is `i][j`. `None` for anything but
/// numbers.
pub(super) fn first_values(
    tree: &SyntaxTree,
    declared: &Declared<'_>,
    of_index: &dyn Fn(&str) -> String,
) -> Option<Vec<String>> {
    let type_text = tree.slice(declared.statement.field(Field::Type)?);
    let list = declared.initializer.filter(|it| it.kind() == Kind::InitializerList)?;
    let rows = match declared.extents.as_slice() {
        [_] => vec![(String::new(), list.named_children().collect())],
        extents => rows(tree, list, extents)?,
    };
    let values: Vec<Node<'_>> = rows.iter().flat_map(|(_, values)| values).copied().collect();
    let is_own = |value: &Node<'_>| occurrences(tree.slice(*value), tree.slice(declared.name)).next().is_some();
    let is_fit = types::is_scalar(type_text)
        && !declared.is_of_pointers
        && (1..=MOST_LISTED).contains(&values.len())
        && values.iter().all(|value| is_expression(*value) && tree.is_plain(*value) && !is_own(value));
    let are_constant = values.iter().all(|value| is_number(tree, *value));
    // Values of other variables stay before the declarators that follow.
    let is_alone = declared.statement.fields(Field::Declarator).count() == 1;
    if !is_fit || !(are_constant || is_alone && values.len() <= MOST_OF_VARIABLES) {
        return None;
    }
    let [extent] = declared.extents.as_slice() else {
        if values.len() > MOST_OF_VARIABLES {
            return from_table(tree, declared, list, of_index);
        }
        let line = |(index, values): &(String, Vec<Node<'_>>)| {
            let assigned = values.iter().enumerate();
            let assigned = assigned
                .map(|(at, value)| format!("{} = {};", of_index(&format!("{index}{at}")), tree.slice(*value).trim()));
            assigned.collect::<Vec<_>>().join(" ")
        };
        return Some(rows.iter().map(line).collect());
    };
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
    if are_constant && texts.len() > MOST_ASSIGNED {
        let table = tree.fresh(&format!("{}_first", tree.slice(declared.name)), &[]);
        let constants = format!("static constexpr {type_text} {table}[{extent}] = {{{}}};", texts.join(", "));
        return Some(vec![constants, fill(0, &format!("{table}[element]"))]);
    }
    let assigned = texts.iter().enumerate().map(|(at, text)| format!("{} = {text};", of_index(&at.to_string())));
    let rest = (size != Some(texts.len())).then(|| fill(texts.len(), "0"));
    Some(assigned.chain(rest).collect())
}

/// The rows of a list of several dimensions that gives each element a value: the indices before the last, `1][`, and the values.
fn rows<'t>(tree: &SyntaxTree, list: Node<'t>, extents: &[Node<'_>]) -> Option<Vec<(String, Vec<Node<'t>>)>> {
    let (extent, inner) = extents.split_first()?;
    let parts: Vec<Node<'t>> = list.named_children().collect();
    if list.kind() != Kind::InitializerList || usize::try_from(tree.settled_value_of(*extent)?) != Ok(parts.len()) {
        return None;
    }
    if inner.is_empty() {
        return Some(vec![(String::new(), parts)]);
    }
    let mut all = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        let rows = rows(tree, part, inner)?;
        all.extend(rows.into_iter().map(|(index, values)| (format!("{at}][{index}"), values)));
    }
    Some(all)
}

/// A table with the values of a list, and the loops that copy it.
fn from_table(
    tree: &SyntaxTree,
    declared: &Declared<'_>,
    list: Node<'_>,
    of_index: &dyn Fn(&str) -> String,
) -> Option<Vec<String>> {
    let counters = COUNTERS.get(..declared.extents.len())?;
    let type_text = tree.slice(declared.statement.field(Field::Type)?);
    let table = tree.fresh(&format!("{}_first", tree.slice(declared.name)), &[]);
    let extents: Vec<&str> = declared.extents.iter().map(|extent| tree.slice(*extent)).collect();
    let is_hidden = |counter: &&str| {
        *counter == tree.slice(declared.name) || extents.iter().any(|it| occurrences(it, counter).next().is_some())
    };
    if counters.iter().any(is_hidden) {
        return None;
    }
    let loops = counters.iter().zip(&extents);
    let loops: String = loops.map(|(it, extent)| format!("for (int {it} = 0; {it} < {extent}; ++{it}) ")).collect();
    let index = counters.join("][");
    Some(vec![
        format!("static constexpr {type_text} {table}[{}] = {};", extents.join("]["), tree.slice(list)),
        format!("{loops}{} = {table}[{index}];", of_index(&index)),
    ])
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
