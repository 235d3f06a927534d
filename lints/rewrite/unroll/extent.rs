//! Extents of arrays that an induction variable indexes, as declared in the loop's function.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Binary, Field, Kind, Node, Update};
use cuda_syntax::tree::{DeclarationKind, enclosing_function, resolve};

use super::bound::is_counted_up;
use super::linear::Linear;
use super::round::Round;
use crate::rewrite::facts::steady::{is_reachable, may_write};

/// An element of a local array whose index rises with an induction variable.
pub struct IndexedElement<'t> {
    pub node: Node<'t>,
    pub array: &'t str,
    /// The number of rounds after which the index is beyond the array, as text for the loop's place.
    pub extent: String,
    /// Its value.
    pub value: Option<i64>,
    /// The value of the dimension that is indexed.
    pub size: Option<i64>,
}

/// The elements of local arrays in a region that are indexed by an induction variable: `a[i]`, `a[i][j]`, `a[i + 1]`.
pub fn indexed_elements<'t>(tree: &'t SyntaxTree, region: Node<'t>, counter: &str) -> Vec<IndexedElement<'t>> {
    let is_inner = |node: Node<'_>, child: Node<'_>| {
        node.kind() == Kind::SubscriptExpression
            && child.kind() == Kind::SubscriptExpression
            && node.field(Field::Argument) == Some(child)
    };
    let subscripts = region.descendants_through(|node, child| !is_inner(node, child));
    let all = enclosing_function(region).map(|function| tree.declarations(function)).unwrap_or_default();
    let meant = |at: usize| resolve(&all, counter, at).map(|found| found.range);
    let is_own = |node: &Node<'_>| {
        node.kind() == Kind::SubscriptExpression && meant(node.start_byte()) == meant(region.start_byte())
    };
    subscripts
        .filter(is_own)
        .filter_map(|node| {
            let array = tree.slice(base_of(node)?);
            let (size, rise) = dimension(tree, array, node, &|index| Rise::of(tree, index, counter))?;
            let value_of_size = tree.evaluate(&size, region.start_byte());
            let extent = rise.extent(size, value_of_size)?;
            let value = tree.evaluate(&extent, region.start_byte());
            Some(IndexedElement { node, array, extent, value, size: value_of_size })
        })
        .collect()
}

/// The extent of an array of which a loop certainly accesses the element of each of its rounds, and which it cannot leave
/// early: if there is one, the loop had no rounds beyond it.
pub fn certain_extent(tree: &SyntaxTree, node: Node<'_>, counter: &str) -> Option<i64> {
    let is_reached = is_reachable(tree, enclosing_function(node)?, counter);
    let body = node.field(Field::Body).filter(|body| !is_reached && !may_write(tree, *body, counter))?;
    let elements = indexed_elements(tree, body, counter);
    let extents = elements.iter().filter_map(|element| {
        let round = Round::new(tree, body, vec![element.node]);
        element.value.filter(|_| round.is_complete() && round.accesses(body))
    });
    extents.min()
}

/// The identifier that is subscripted.
pub fn base_of(subscript: Node<'_>) -> Option<Node<'_>> {
    let mut node = subscript;
    while node.kind() == Kind::SubscriptExpression {
        node = node.field(Field::Argument)?;
    }
    (node.kind() == Kind::Identifier).then_some(node)
}

/// The first dimension of `a[i][j]` whose index `is_asked_for`, with the answer: its size, as declared in the same function.
pub fn dimension<'t, T>(
    tree: &SyntaxTree,
    array: &str,
    used: Node<'t>,
    is_asked_for: &dyn Fn(Node<'t>) -> Option<T>,
) -> Option<(String, T)> {
    let mut indices = Vec::new();
    let mut node = used;
    while node.kind() == Kind::SubscriptExpression {
        let list = node.field(Field::Indices)?;
        indices.insert(0, list.named_child(0).unwrap_or(list));
        node = node.field(Field::Argument)?;
    }
    let (position, answer) = indices.iter().enumerate().find_map(|(at, index)| Some((at, is_asked_for(*index)?)))?;
    let function = enclosing_function(used)?;
    let declarations = tree.declarations(function);
    let declaration = resolve(&declarations, array, used.start_byte())
        .filter(|declaration| declaration.kind == DeclarationKind::Array && !declaration.is_parameter)?;
    // `rows[k]` without a second subscript is a pointer, and `rows[0][k]` may go through all rows.
    let is_element = declaration.type_text.matches('[').count() == indices.len();
    let is_flat = position > 0 && indices[..position].iter().all(|index| tree.slice(*index).trim() == "0");
    if !is_element || is_flat {
        return None;
    }
    let name = tree.root()?.named_descendant_for_byte_range(declaration.range.0, declaration.range.1)?;
    let mut declarator = name.parent()?;
    for _ in 0..position {
        declarator = declarator.parent()?;
    }
    let size = declarator.field(Field::Size).filter(|_| declarator.kind() == Kind::ArrayDeclarator)?;
    let text = tree.spelled(size, used.start_byte())?;
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '*' | '+' | '-' | '(' | ')'));
    is_plain.then_some((text, answer))
}

/// How an index rises with the induction variable.
struct Rise {
    /// By how much it rises with each value.
    factor: i64,
    /// By how much it is below its multiple of the variable, at most: 1 for `i - 1` and, as an extent may be more than
    /// needed, 0 for `i + 1`.
    distance: i64,
}

impl Rise {
    fn of(tree: &SyntaxTree, index: Node<'_>, counter: &str) -> Option<Self> {
        match distance(tree, index, counter) {
            Some(distance) => Some(Self { factor: 1, distance }),
            None => Self::of_sum(tree, index, counter),
        }
    }

    /// `group * 4 + b`, where `b` is the induction variable of another loop, which starts at zero or above. Products of
    /// `int` do not wrap around.
    fn of_sum(tree: &SyntaxTree, index: Node<'_>, counter: &str) -> Option<Self> {
        let (factor, rest) = Linear::of(tree, index)?.split(tree, counter);
        let is_rising = factor > 0 && rest.constant >= -MOST_DISTANCE;
        let mut others = rest.terms().iter();
        let is_fit = is_rising && others.all(|(term, factor)| *factor > 0 && is_counted_up(tree, *term));
        is_fit.then(|| Self { factor, distance: (-rest.constant).max(0) })
    }

    fn extent(&self, size: String, value: Option<i64>) -> Option<String> {
        match (self.factor, self.distance) {
            (1, 0) => Some(size),
            (1, distance) => Some(match size.parse::<i64>() {
                Ok(size) => (size + distance).to_string(),
                Err(_) => format!("{size} + {distance}"),
            }),
            (factor, distance) => Some(((value? + distance + factor - 1) / factor).to_string()),
        }
    }
}

const MOST_DISTANCE: i64 = 8;

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
