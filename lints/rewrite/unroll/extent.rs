//! Extents of arrays that an induction variable indexes, as declared in the loop's function.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Binary, Field, Kind, Node, Update};
use cuda_syntax::tree::{DeclarationKind, enclosing_function, resolve};
use lmem_base::source::Span;
use lmem_frame::Access;

use super::bound::is_counted_up;
use super::lent::is_accessed_by_callee;
use super::linear::Linear;
use super::member::MemberArray;
use super::round::Round;
use crate::rewrite::facts::steady::{is_reachable, may_write};

/// An array by whose elements loops are looked at.
pub struct WantedArray<'a> {
    /// The name of the variable: `window`, `state.window`.
    pub name: &'a str,
    /// The indices of its accesses, by their start. In a method, the variable has another name.
    indices: Vec<&'a Span>,
}

impl<'a> WantedArray<'a> {
    pub fn new(name: &'a str, accesses: &[&'a Access]) -> Self {
        let mut indices: Vec<&Span> = accesses.iter().filter_map(|access| access.index.as_ref()).collect();
        indices.sort_by_key(|span| span.start);
        Self { name, indices }
    }

    /// Whether a subscript is an element of it, by the name of its array or by its index.
    pub fn has(&self, tree: &SyntaxTree, subscript: Node<'_>) -> bool {
        let is_named = base_of(subscript).is_some_and(|base| {
            let base = tree.slice(base);
            base == self.name || base.strip_prefix(self.name).is_some_and(|rest| rest.starts_with('.'))
        });
        let is_indexed = || {
            let whole = tree.span(subscript.byte_range())?;
            let first = self.indices.partition_point(|span| span.start < whole.start);
            let mut started = self.indices[first..].iter().take_while(|span| span.start < whole.end);
            Some(started.any(|span| span.file.path == whole.file.path))
        };
        is_named || is_indexed().unwrap_or(false)
    }
}

/// An element of a local array, or of a member that is an array, whose index rises with an induction variable.
pub struct IndexedElement<'t> {
    pub node: Node<'t>,
    /// The number of rounds after which the index is beyond the array, as text for the loop's place.
    pub extent: String,
    /// Its value.
    pub value: Option<i64>,
    /// The value of the dimension that is indexed.
    pub size: Option<i64>,
    /// The least value of the variable for which the index is not negative, where it is the variable or less than it.
    pub least: Option<i64>,
    /// Whether the text shows that no round goes beyond the array.
    pub ends_loops: bool,
    pub is_of_member: bool,
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
            let (found, rise) = dimension(tree, node, &|index| Rise::of(tree, index, counter))?;
            let Dimension { size, ends_loops, is_of_member } = found;
            let value_of_size = tree.evaluate(&size, region.start_byte());
            let extent = rise.extent(size, value_of_size)?;
            let value = tree.evaluate(&extent, region.start_byte());
            let least = Some(rise.distance).filter(|_| rise.is_direct);
            Some(IndexedElement { node, extent, value, size: value_of_size, least, ends_loops, is_of_member })
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
        element.value.filter(|_| element.ends_loops && round.is_complete() && round.accesses(body))
    });
    extents.min()
}

/// What is subscripted: a variable, or a member of an object.
fn base_of(subscript: Node<'_>) -> Option<Node<'_>> {
    let mut node = subscript;
    while node.kind() == Kind::SubscriptExpression {
        node = node.field(Field::Argument)?;
    }
    matches!(node.kind(), Kind::Identifier | Kind::FieldExpression).then_some(node)
}

/// A dimension of an array.
pub struct Dimension {
    /// The size as declared, as text for the place of the use.
    pub size: String,
    /// Whether no loop goes on beyond it.
    pub ends_loops: bool,
    pub is_of_member: bool,
}

/// The first dimension of `a[i][j]` whose index `is_asked_for`, with the answer.
pub fn dimension<'t, T>(
    tree: &'t SyntaxTree,
    used: Node<'t>,
    is_asked_for: &dyn Fn(Node<'t>) -> Option<T>,
) -> Option<(Dimension, T)> {
    let mut indices = Vec::new();
    let mut node = used;
    while node.kind() == Kind::SubscriptExpression {
        let list = node.field(Field::Indices)?;
        indices.insert(0, list.named_child(0).unwrap_or(list));
        node = node.field(Field::Argument)?;
    }
    let (position, answer) = indices.iter().enumerate().find_map(|(at, index)| Some((at, is_asked_for(*index)?)))?;
    // `rows[k]` without a second subscript is a pointer, and `rows[0][k]` may go through all rows.
    let is_flat = position > 0 && indices[..position].iter().all(|index| tree.slice(*index).trim() == "0");
    let (sizes, size, member) = match variable_sizes(tree, node, used) {
        Some(sizes) => (sizes.len(), tree.spelled(*sizes.get(position)?, used.start_byte())?, None),
        None => {
            let member = MemberArray::of(tree, node)?;
            let sizes = member.sizes();
            (sizes.len(), member.spelled(*sizes.get(position)?)?, Some(member))
        }
    };
    let (is_of_member, ends_loops) = (member.is_some(), member.is_none_or(|member| member.ends_loops()));
    let is_element = sizes == indices.len() || sizes > indices.len() && is_accessed_by_callee(tree, used);
    let is_plain = size.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '*' | '+' | '-' | '(' | ')'));
    (is_element && !is_flat && is_plain).then_some((Dimension { size, ends_loops, is_of_member }, answer))
}

/// The extents of an array that is declared in the same function, the outermost first.
fn variable_sizes<'t>(tree: &'t SyntaxTree, base: Node<'t>, used: Node<'t>) -> Option<Vec<Node<'t>>> {
    let declarations = tree.declarations(enclosing_function(used)?);
    let declaration = resolve(&declarations, tree.slice(base), used.start_byte())
        .filter(|declaration| declaration.kind == DeclarationKind::Array && !declaration.is_parameter)?;
    let name = tree.root()?.named_descendant_for_byte_range(declaration.range.0, declaration.range.1)?;
    let around = std::iter::successors(name.parent(), |node| node.parent());
    let arrays = around.take_while(|node| node.kind() == Kind::ArrayDeclarator);
    let sizes: Vec<Node<'t>> = arrays.map(|node| node.field(Field::Size)).collect::<Option<_>>()?;
    (declaration.type_text.matches('[').count() == sizes.len()).then_some(sizes)
}

/// How an index rises with the induction variable.
struct Rise {
    /// By how much it rises with each value.
    factor: i64,
    /// By how much it is below its multiple of the variable, at most: 1 for `i - 1` and, as an extent may be more than
    /// needed, 0 for `i + 1`.
    distance: i64,
    /// Whether the index is the variable, or what is that much below it.
    is_direct: bool,
}

impl Rise {
    fn of(tree: &SyntaxTree, index: Node<'_>, counter: &str) -> Option<Self> {
        match distance(tree, index, counter) {
            Some(distance) => {
                let is_direct = distance > 0 || tree.slice(index.without_parentheses()) == counter;
                Some(Self { factor: 1, distance, is_direct })
            }
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
        is_fit.then(|| Self { factor, distance: (-rest.constant).max(0), is_direct: false })
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
