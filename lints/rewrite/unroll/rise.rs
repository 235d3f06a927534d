//! How an index rises with the induction variable of a loop.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Binary, Call, Kind, Node, Update};
use cuda_syntax::identifiers::identifiers;

use super::bound::is_counted_up;
use super::linear::Linear;
use crate::rewrite::facts::called::called;

/// How an index rises with the induction variable.
pub struct Rise {
    /// By how much it rises with each value.
    pub factor: i64,
    /// By how much it is below its multiple of the variable, at most: 1 for `i - 1` and, as an extent may be more than
    /// needed, 0 for `i + 1`.
    pub distance: i64,
    /// Whether the index is the variable, or what is that much below it.
    pub is_direct: bool,
    /// With a number of a triangle: what is added to the variable there.
    triangle: Option<i64>,
    /// The constant factors in the index, with their text.
    factors: Vec<(i64, String)>,
}

impl Rise {
    pub fn of(tree: &SyntaxTree, index: Node<'_>, counter: &str) -> Option<Self> {
        match distance(tree, index, counter) {
            Some(distance) => {
                let is_direct = distance > 0 || tree.slice(index.without_parentheses()) == counter;
                Some(Self { factor: 1, distance, is_direct, triangle: None, factors: Vec::new() })
            }
            None => Some(Self {
                factors: factors(tree, index),
                ..Self::of_linear(tree, Linear::with_triangle(tree, index)?, counter)?
            }),
        }
    }

    /// With a constant added, which is small.
    pub fn shifted(self, constant: i64) -> Option<Self> {
        let is_small =
            self.factor == 1 && self.triangle.is_none() && (-MOST_DISTANCE..=MOST_DISTANCE).contains(&constant);
        // An extent may be more than needed.
        let distance = self.distance + (-constant).max(0);
        is_small.then_some(Self {
            factor: 1,
            distance,
            is_direct: constant == 0 && self.is_direct,
            triangle: None,
            factors: self.factors,
        })
    }

    /// `group * 4 + b`, where `b` is the induction variable of another loop, which starts at zero or above. Products of
    /// `int` do not wrap around.
    pub fn of_linear(tree: &SyntaxTree, index: Linear<'_>, counter: &str) -> Option<Self> {
        let (factor, rest) = index.split(tree, counter);
        let is_own = |(name, _): &(Node<'_>, i64)| tree.slice(*name) == counter;
        let triangle = rest.triangle().filter(is_own).map(|(_, added)| added);
        let is_counted = |(name, _)| triangle.is_some() || is_counted_up(tree, name);
        let is_rising = factor > 0 || triangle.is_some() && factor == 0;
        let is_rising = is_rising && rest.constant >= -MOST_DISTANCE && rest.triangle().is_none_or(is_counted);
        let mut others = rest.terms().iter();
        let is_fit = is_rising && others.all(|(term, factor)| *factor > 0 && is_counted_up(tree, *term));
        let distance = (-rest.constant).max(0);
        is_fit.then(|| Self { factor, distance, is_direct: false, triangle, factors: Vec::new() })
    }

    /// The number of rounds after which the index is beyond an array of a size. `value_of`: of the names in its text.
    pub fn extent(&self, size: String, value: Option<i64>, value_of: &dyn Fn(&str) -> Option<i64>) -> Option<String> {
        if let Some(added) = self.triangle {
            let index = |at: i64| (at + added) * (at + added + 1) / 2 + self.factor * at - self.distance;
            let size_of = value.filter(|size| *size <= MOST_OF_TRIANGLE)?;
            let rounds = (0..).find(|at| index(*at) >= size_of)?;
            // A triangle of `N * (N + 1) / 2` elements has `N` rows.
            return Some(named_in(&size, rounds, value_of).unwrap_or_else(|| rounds.to_string()));
        }
        match (self.factor, self.distance) {
            (1, 0) => Some(size),
            (1, distance) => Some(match size.parse::<i64>() {
                Ok(size) => (size + distance).to_string(),
                Err(_) => format!("{size} + {distance}"),
            }),
            (factor, distance) => {
                let (rounds, value) = ((value? + distance + factor - 1) / factor, value?);
                // `a[i * N + j]` of `N * N` elements has `N` rows.
                let named = self.factors.iter().find(|(own, _)| *own == rounds && rounds * factor == value);
                Some(named.map_or_else(|| rounds.to_string(), |known| spelled(known, &size, value_of)))
            }
        }
    }

    /// The length of a row, and its text, where the index is that of a column: 8 and `N` for `i * N + j`.
    pub fn row(&self, size: &str, value_of: &dyn Fn(&str) -> Option<i64>) -> Option<(i64, String)> {
        let row = self.factors.iter().filter(|(row, _)| *row > 1).min_by_key(|(row, _)| *row);
        row.filter(|_| self.factor == 1).map(|known| (known.0, spelled(known, size, value_of)))
    }
}

/// A name in the size of an array that has a value.
fn named_in(size: &str, value: i64, value_of: &dyn Fn(&str) -> Option<i64>) -> Option<String> {
    identifiers(size).find(|name| value_of(name) == Some(value)).map(str::to_string)
}

/// The text of a factor: what a macro has as a number may have a name in the array's size.
fn spelled((value, text): &(i64, String), size: &str, value_of: &dyn Fn(&str) -> Option<i64>) -> String {
    let is_number = text.parse::<i64>().is_ok();
    Some(text)
        .filter(|_| !is_number)
        .cloned()
        .or_else(|| named_in(size, *value, value_of))
        .unwrap_or_else(|| text.clone())
}

/// The constants that an expression multiplies something with.
fn factors(tree: &SyntaxTree, expression: Node<'_>) -> Vec<(i64, String)> {
    if let Some(call) = Call::of(expression) {
        return factors_of_call(tree, call);
    }
    let constant = |side: Node<'_>| Some((tree.value_of(side)?, tree.spelled(side, expression.start_byte())?));
    factors_by(expression, &constant)
}

/// The same of what a macro stands for, or a function returns. Names may mean something else there: the values count.
fn factors_of_call(tree: &SyntaxTree, call: Call<'_>) -> Vec<(i64, String)> {
    let at = call.node().start_byte();
    let own = tree.macro_of(call.node());
    let of_value = |value: Option<i64>| value.map(|value| (value, value.to_string()));
    match own.as_ref().and_then(|own| own.expression()) {
        Some((code, expression)) => factors_by(expression, &|side| of_value(tree.evaluate(code.slice(side), at))),
        None => called(tree, call)
            .map(|function| factors_by(function.body, &|side| of_value(tree.value_of(side))))
            .unwrap_or_default(),
    }
}

/// The constant factors of products that have one.
fn factors_by<'t>(expression: Node<'t>, constant: &dyn Fn(Node<'t>) -> Option<(i64, String)>) -> Vec<(i64, String)> {
    let products = expression.descendants().filter_map(Binary::of).filter(|it| it.operator() == Some("*"));
    let only = |product: Binary<'t>| {
        let mut values = [product.left(), product.right()].into_iter().flatten().filter_map(constant);
        values.next().filter(|_| values.next().is_none())
    };
    products.filter_map(only).collect()
}

/// By how much an index is above the induction variable: 1 for `i + 1`.
pub fn above(tree: &SyntaxTree, index: Node<'_>, counter: &str) -> i64 {
    let sum = Binary::of(index.without_parentheses()).filter(|it| it.operator() == Some("+"));
    let added = sum.and_then(|sum| {
        let (left, right) = (sum.left()?, sum.right()?);
        let is_counter = |node: Node<'_>| node.kind() == Kind::Identifier && tree.slice(node) == counter;
        let other = if is_counter(left) { right } else { left };
        (is_counter(left) != is_counter(right)).then(|| tree.value_of(other))?
    });
    added.filter(|added| (1..=MOST_DISTANCE).contains(added)).unwrap_or(0)
}

const MOST_DISTANCE: i64 = 8;

/// The most elements of a triangle; more are in no registers.
const MOST_OF_TRIANGLE: i64 = 1 << 12;

/// By how much an index is below the induction variable: 0 for `i` and, as an extent may be more than needed, for
/// `i + 1`; 1 for `i - 1`.
fn distance(tree: &SyntaxTree, index: Node<'_>, counter: &str) -> Option<i64> {
    let index = index.without_parentheses();
    // `a[i++]`: no index before or behind the step is less than the value at the start of the round.
    let stepped = Update::of(index).filter(|update| update.operator() == Some("++")).and_then(Update::operand);
    if stepped.is_some_and(|operand| tree.slice(operand) == counter) {
        return Some(0);
    }
    if tree.slice(index) == counter {
        return (index.kind() == Kind::Identifier).then_some(0);
    }
    let sum = Binary::of(index)?;
    let (left, right) = (sum.left()?, sum.right()?);
    let is_counter = |node: Node<'_>| tree.slice(node) == counter;
    let constant = |node: Node<'_>| tree.value_of(node).filter(|value| (0..=MOST_DISTANCE).contains(value));
    match sum.operator()? {
        "+" if is_counter(left) => constant(right).map(|_| 0),
        "+" if is_counter(right) => constant(left).map(|_| 0),
        "-" if is_counter(left) => constant(right),
        _ => None,
    }
}
