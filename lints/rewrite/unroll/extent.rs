//! Extents of arrays that an induction variable indexes, as declared in the loop's function.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::{enclosing_function, resolve};
use lmem_base::source::Span;
use lmem_frame::Access;

use super::indexing::{Indexing, indexings};
use super::lent::is_accessed_by_callee;
use super::member::MemberArray;
use super::parameter::given_extents;
use super::rise::{Rise, above};
use super::round::Round;
use super::sizes::{base_of, given_sizes, variable_sizes};
use crate::rewrite::facts::steady::{is_reachable, may_write};
use crate::rewrite::facts::text::is_plain_extent;

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

    /// Whether a subscript is an element of it, by the name of its array or by its index; or a call accesses one.
    pub fn has(&self, tree: &SyntaxTree, element: Node<'_>) -> bool {
        let is_given =
            |array: Option<Node<'_>>| array.and_then(array_in).is_some_and(|base| tree.slice(base) == self.name);
        let is_indexed = || {
            indexings(tree, element).into_iter().any(|found| {
                is_given(found.array) || is_given(found.object()) || self.has_subscript(tree, found.element)
            })
        };
        element.kind() == Kind::SubscriptExpression && self.has_subscript(tree, element) || is_indexed()
    }

    fn has_subscript(&self, tree: &SyntaxTree, subscript: Node<'_>) -> bool {
        let is_named = array_in(subscript).is_some_and(|base| {
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
    /// The element, or a call or the subscript of an object that accesses it in any case.
    pub node: Node<'t>,
    /// The number of rounds after which the index is beyond the array, as text for the loop's place.
    pub extent: String,
    /// Its value.
    pub value: Option<i64>,
    /// The value of the dimension that is indexed.
    pub size: Option<i64>,
    /// The least value of the variable for which the index is not negative, where it is the variable or less than it.
    pub least: Option<i64>,
    /// By how much the index is above the variable: 1 for `a[i + 1]`.
    pub above: i64,
    /// The length of a row, and its text, where the variable is that of a column: `a[i * N + j]`.
    pub row: Option<(i64, String)>,
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
    let nodes = region.descendants_through(|node, child| !is_inner(node, child));
    let all = enclosing_function(region).map(|function| tree.declarations(function)).unwrap_or_default();
    let meant = |at: usize| resolve(&all, counter, at).map(|found| found.range);
    let is_own = |node: &Node<'_>| {
        let is_fit = matches!(node.kind(), Kind::SubscriptExpression | Kind::CallExpression);
        is_fit && meant(node.start_byte()) == meant(region.start_byte())
    };
    let element = |node: Node<'t>, found: Dimension, (rise, above): (Rise, i64)| {
        let Dimension { size, ends_loops, is_of_member } = found;
        let value_of = |name: &str| tree.evaluate(name, region.start_byte());
        let row = rise.row(&size, &value_of).filter(|(row, text)| value_of(text) == Some(*row));
        let value_of_size = tree.evaluate(&size, region.start_byte());
        let extent = rise.extent(size, value_of_size, &value_of)?;
        let value = tree.evaluate(&extent, region.start_byte());
        let least = Some(rise.distance).filter(|_| rise.is_direct);
        Some(IndexedElement { node, extent, value, size: value_of_size, least, above, row, ends_loops, is_of_member })
    };
    let of_call = |node: Node<'t>| {
        let found = indexings(tree, node).into_iter();
        let risen = found.filter_map(|it| {
            let rise = |index: Node<'t>| it.rise(index, counter, region);
            dimension(tree, it.element, Some(&it), &rise)
        });
        risen.filter_map(|(found, rise)| element(node, found, (rise, 0))).collect::<Vec<_>>()
    };
    let of_subscript = |node: Node<'t>| {
        let rise = |index| Some((Rise::of(tree, index, counter)?, above(tree, index, counter)));
        let (found, rise) = dimension(tree, node, None, &rise)?;
        element(node, found, rise)
    };
    nodes
        .filter(is_own)
        .flat_map(|node| match node.kind() {
            Kind::CallExpression => of_call(node),
            _ => of_subscript(node).map_or_else(|| of_call(node), |element| vec![element]),
        })
        .collect()
}

/// The extent of an array of which a loop certainly accesses the element of each of its rounds, and which it cannot leave
/// early: if there is one, the loop had no rounds beyond it.
pub fn certain_extent(tree: &SyntaxTree, node: Node<'_>, counter: &str) -> Option<i64> {
    let is_reached = is_reachable(tree, enclosing_function(node)?, counter);
    let body = node.field(Field::Body).filter(|body| !is_reached && !may_write(tree, *body, counter))?;
    let elements = indexed_elements(tree, body, counter);
    let ending = || elements.iter().filter(|element| element.ends_loops);
    let mut extents: Vec<i64> = ending().filter_map(|element| element.value).collect();
    extents.sort_unstable();
    extents.dedup();
    // Each branch may access an element of its own.
    extents.into_iter().take(MOST_EXTENTS).find(|extent| {
        let within = ending().filter(|element| element.value.is_some_and(|value| value <= *extent));
        let round = Round::new(tree, body, within.map(|element| element.node).collect());
        round.is_complete() && round.accesses(body)
    })
}

/// Extents that are tried for the branches of a loop.
const MOST_EXTENTS: usize = 8;

/// The variable, or the member of an object, that is subscripted.
fn array_in(subscript: Node<'_>) -> Option<Node<'_>> {
    Some(base_of(subscript)).filter(|base| matches!(base.kind(), Kind::Identifier | Kind::FieldExpression))
}

/// A dimension of an array.
pub struct Dimension {
    /// The size as declared, as text for the place of the use.
    pub size: String,
    /// Whether no loop goes on beyond it.
    pub ends_loops: bool,
    pub is_of_member: bool,
}

/// The first dimension of `a[i][j]` whose index `is_asked_for`, with the answer. Of an element that a function accesses, the size is
/// spelled for the place of the call.
pub fn dimension<'t, T>(
    tree: &'t SyntaxTree,
    used: Node<'t>,
    call: Option<&Indexing<'t>>,
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
    let at = call.map_or(used, |call| call.call).start_byte();
    let given = call.and_then(|call| call.array);
    let sizes = match given {
        Some(array) => Some(given_sizes(tree, array)?),
        None => variable_sizes(tree, node, used),
    };
    if sizes.is_none()
        && let Some(extents) = given_extents(tree, node)
    {
        let size =
            extents.get(position).filter(|size| extents.len() == indices.len() && !is_flat && is_plain_extent(size))?;
        return Some((Dimension { size: size.clone(), ends_loops: true, is_of_member: false }, answer));
    }
    let (sizes, size, member) = match sizes {
        Some(sizes) => (sizes.len(), tree.spelled(*sizes.get(position)?, at)?, None),
        None => {
            let member = MemberArray::of(tree, node)?;
            let sizes = member.sizes();
            let size = *sizes.get(position)?;
            let spelled = match call.map(Indexing::object) {
                Some(object) => member.spelled_for(size, object?)?,
                None => member.spelled(size)?,
            };
            (sizes.len(), spelled, Some(member))
        }
    };
    let object = call.and_then(Indexing::object);
    let (is_of_member, ends_loops) = (member.is_some(), member.is_none_or(|member| member.ends_loops(object)));
    let is_element = sizes == indices.len() || sizes > indices.len() && is_accessed_by_callee(tree, used);
    (is_element && !is_flat && is_plain_extent(&size)).then_some((Dimension { size, ends_loops, is_of_member }, answer))
}
