//! Rotated indices such as `(j + head) % 16`: an induction variable plus an offset, modulo the extent.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::identifiers::identifiers;

/// An index that takes every value below the extent once in a pass of the induction variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turn {
    /// Whether the index grows with the induction variable.
    is_forward: bool,
    /// The offset, or the value that the induction variable is subtracted from.
    by: String,
}

/// A term of a sum, and whether it is added.
struct Term<'t> {
    node: Node<'t>,
    is_added: bool,
}

impl Turn {
    /// Parses an index; `None` if it is not rotated, or another term does not pass `is_fit`.
    pub(super) fn of(
        tree: &SyntaxTree,
        index: Node<'_>,
        counter: &str,
        extent: &str,
        is_fit: &dyn Fn(Node<'_>) -> bool,
    ) -> Option<Self> {
        let index = index.without_parentheses();
        let operator = index.operator()?;
        let (sum, right) = (index.field(Field::Left)?, index.field(Field::Right)?);
        let size = tree.evaluate(extent, index.start_byte());
        let by = tree.value_of(right);
        let right_text = tree.slice(right).to_string();
        let is_turned = match operator {
            "%" => is_same(&right_text, extent) || by.is_some_and(|by| Some(by) == size),
            "&" => size.is_some_and(|size| size > 0 && size.count_ones() == 1 && by == Some(size - 1)),
            _ => false,
        };
        if !is_turned {
            return None;
        }
        let terms = terms(sum.without_parentheses());
        let has_counter = |term: &&Term<'_>| identifiers(tree.slice(term.node)).any(|word| word == counter);
        let (of_counter, others): (Vec<&Term<'_>>, Vec<&Term<'_>>) = terms.iter().partition(has_counter);
        let [own] = of_counter.as_slice() else { return None };
        let is_turned = !others.is_empty() && others.iter().all(|term| is_fit(term.node));
        (tree.slice(own.node) == counter && is_turned)
            .then(|| Self { is_forward: own.is_added, by: text(tree, &others) })
    }
}

/// The terms of a sum.
fn terms(sum: Node<'_>) -> Vec<Term<'_>> {
    let operator = sum.operator().unwrap_or_default();
    let sides = sum.field(Field::Left).zip(sum.field(Field::Right));
    match (sum.kind(), operator, sides) {
        (Kind::BinaryExpression, "+" | "-", Some((left, right))) => {
            let mut found = terms(left.without_parentheses());
            let is_added = operator == "+";
            let more = terms(right.without_parentheses()).into_iter();
            found.extend(more.map(|term| Term { is_added: term.is_added == is_added, ..term }));
            found
        }
        _ => vec![Term { node: sum, is_added: true }],
    }
}

/// The text of a sum, added terms first.
fn text(tree: &SyntaxTree, terms: &[&Term<'_>]) -> String {
    let (added, taken): (Vec<&Term<'_>>, Vec<&Term<'_>>) = terms.iter().partition(|term| term.is_added);
    let mut text = added.iter().map(|term| tree.slice(term.node)).collect::<Vec<_>>().join(" + ");
    for term in taken {
        text.push_str(&format!(" - ({})", tree.slice(term.node)));
    }
    text
}

fn is_same(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

/// Whether each iteration has another element: the index is an affine function of one induction variable.
pub(super) fn is_apart(tree: &SyntaxTree, index: Node<'_>, names: &[String]) -> bool {
    let mut found = 0;
    for node in index.descendants() {
        match node.kind() {
            Kind::Identifier => found += usize::from(names.iter().any(|name| name == tree.slice(node))),
            Kind::NumberLiteral | Kind::ParenthesizedExpression | Kind::FieldExpression | Kind::FieldIdentifier => {}
            Kind::BinaryExpression if matches!(node.operator(), Some("+" | "-" | "*")) => {}
            kind if node.is_named() && kind != Kind::SubscriptArgumentList => return false,
            _ => {}
        }
    }
    found == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(index: &str, extent: &str) -> Option<Turn> {
        let text = format!("constexpr int W = 16;\nvoid f() {{ x = {index}; }}");
        let tree = SyntaxTree::example("a.cu", text.as_str());
        let start = text.find("x = ").unwrap() + 4;
        let node = tree.root()?.named_descendant_for_byte_range(start, start + index.len())?;
        Turn::of(&tree, node, "j", extent, &|_| true)
    }

    #[test]
    fn counters_are_turned() {
        for (index, is_forward, by) in [
            ("(j + n) % 16", true, "n"),
            ("(n + 1 + j) % W", true, "n + 1"),
            ("(n + 16 - j) % 16", false, "n + 16"),
            ("(n - 1 - j + W) % W", false, "n + W - (1)"),
            ("(j + n) & 15", true, "n"),
            ("(n - j) & (W - 1)", false, "n"),
        ] {
            assert_eq!(turn(index, "16"), Some(Turn { is_forward, by: by.to_string() }), "{index}");
        }
        assert!(turn("(j + n) % Extent", "Extent").is_some());
    }

    #[test]
    fn other_indices_are_none() {
        for index in
            ["(j + n) % 8", "(2 * j + n) % 16", "(j + j) % 16", "(j + n) & 7", "j % 16", "(j ^ n) & 15", "j + n"]
        {
            assert_eq!(turn(index, "16"), None, "{index}");
        }
    }
}
