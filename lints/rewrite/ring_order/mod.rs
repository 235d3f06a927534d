//! Rewrites loops over all elements of a ring, `sum += ring[(head + j) % 16]`, to visit the elements in storage order.
//! After unrolling, the index is constant.
//!
//! A loop that uses its counter for anything else is left unchanged. The counter would have to be computed from the
//! element's index, and what it indexes would be loaded in every iteration. On an H200 such loops took 0.7 to 2.8 times
//! as long (14 kernels); the others became 1.3 to 2.5 times as fast.

mod order;
mod overlap;
mod turn;

use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node, Subscript};
use cuda_syntax::tree::{Declarations, access_path, enclosing_function, resolve, role};
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_frame::StackObject;

use self::order::Rounds;
use self::turn::Turn;
use super::Rewrite;
use super::facts::integers::is_int;
use super::facts::number::is_number;
use super::facts::purity::{is_arithmetic, is_builtin};
use super::facts::steady::{is_steady, may_write};
use super::select::holder::{Holder, holders};
use super::select::worth::MOST_ELEMENTS;
use super::select::{FORMS, Form, selection};
use super::unroll::Unrolled;
use super::unroll::bound::largest;
use super::unroll::for_loop::{ForLoop, for_loops};
use super::unroll::header::step;
use super::unroll::inevitable::is_inevitable;

/// Makes loops over a ring visit the elements in index order. Other accesses with a computed index become selects.
pub fn suggestions(object: &StackObject) -> Vec<Suggestion> {
    let Some(ordered) = ordered(object) else { return Vec::new() };
    FORMS.iter().filter_map(|form| suggestion(object, &ordered, *form)).collect()
}

fn suggestion(object: &StackObject, ordered: &Ordered, form: Form) -> Option<Suggestion> {
    let selection = selection(object, form, &ordered.loops)?;
    let selects = !selection.rewrite.edits.is_empty();
    // Each reordered loop saves an access to every element, so selecting one element does not cost more than a loop.
    let is_worth = !selects || selection.elements.is_some_and(|elements| elements <= MOST_ELEMENTS);
    if !is_worth || (form == Form::Select && !selection.has_writes) {
        return None;
    }
    let title = match selects {
        false => "iterate in storage order and unroll",
        true => "iterate in storage order and unroll, and select the single element",
    };
    let rounds_anew = object.variable.as_ref().is_some_and(|variable| is_floating(&variable.type_text));
    let title = format!("{title}{}", if rounds_anew { ", which sums in another order" } else { "" });
    let rewrite = ordered.rewrite.clone().and(selection.rewrite)?.and(Unrolled::of(object)?.rewrite)?;
    Some(rewrite.keeping_loops(false).suggestion(title))
}

fn is_floating(type_text: &str) -> bool {
    ["float", "double", "half", "__half", "__nv_bfloat16", "nv_bfloat16"].iter().any(|name| type_text.starts_with(name))
}

/// All ring loops over an array, rewritten in storage order.
struct Ordered {
    rewrite: Rewrite,
    /// Ranges of the loops, which other rewrites must not edit.
    loops: Vec<Range<usize>>,
}

/// Rewrites loops that start at another element; `None` if there are none.
fn ordered(object: &StackObject) -> Option<Ordered> {
    let (mut edits, mut loops, mut rounds, mut is_within_kernel) = (Vec::new(), Vec::new(), None, true);
    for holder in &holders(object)? {
        let mut walks: Vec<RingWalk<'_>> = Vec::new();
        for subscript in holder.computed_subscripts(object)? {
            let Some(walk) = RingWalk::of(holder, subscript) else { continue };
            match walks.iter_mut().find(|known| known.around.is_same(&walk.around)) {
                Some(known) => known.indices.extend(walk.indices),
                None => walks.push(walk),
            }
        }
        for walk in walks {
            let Some(found) = walk.edits() else { continue };
            edits.extend(found);
            loops.push(walk.around.node()?.byte_range());
            rounds = rounds.max(walk.around.rounds);
            is_within_kernel &= walk.around.is_within_kernel();
        }
    }
    let rewrite = Rewrite::new(Applicability::MaybeIncorrect, edits).rounds(rounds).within_kernel(is_within_kernel);
    (!rewrite.edits.is_empty()).then_some(Ordered { rewrite, loops })
}

/// A loop over all elements that starts at any of them.
struct RingWalk<'h> {
    tree: &'h Rc<SyntaxTree>,
    around: ForLoop,
    indices: Vec<TurnedIndex<'h>>,
}

/// The expression that computes the index, and the variable initialized with it, if any.
struct TurnedIndex<'h> {
    node: Node<'h>,
    turn: Turn,
    variable: Option<String>,
}

impl<'h> RingWalk<'h> {
    fn of(holder: &'h Holder, subscript: Node<'h>) -> Option<Self> {
        let tree = &holder.tree;
        let size = (*holder.extents()?.first()?)?;
        let index = Subscript::of(subscript).and_then(Subscript::index)?;
        let all = tree.declarations(enclosing_function(subscript)?);
        for around in for_loops(tree, subscript.start_byte()) {
            let extent = tree.spelled(size, around.node()?.start_byte())?;
            if !tree.means_the_same(&extent, around.node()?.start_byte(), subscript.start_byte()) {
                return None;
            }
            let (node, variable) = match index.kind() {
                Kind::Identifier if tree.slice(index) != around.counter() => {
                    (value_of(tree, &around, index, &all)?, Some(tree.slice(index).to_string()))
                }
                _ => (index, None),
            };
            let body = around.node()?.field(Field::Body)?;
            let is_fit = |term: Node<'_>| {
                let names = tree.identifiers(term);
                is_arithmetic(tree, term)
                    && names.into_iter().all(|name| is_builtin(tree.slice(name)) || is_steady(tree, name, body))
            };
            let Some(turn) = Turn::of(tree, node, around.counter(), &extent, &is_fit) else { continue };
            // The `+` and `%` of a class may be anything.
            if !is_number(tree, node) {
                return None;
            }
            let is_each = visits_each_once(tree, node, around.counter(), subscript, body);
            let turned = TurnedIndex { node, turn, variable };
            return (is_each && visits_all(tree, &around, &extent)).then_some(Self {
                tree,
                around,
                indices: vec![turned],
            });
        }
        None
    }

    /// The edits; `None` if the iterations may not be reordered.
    fn edits(&self) -> Option<Vec<Edit>> {
        let Self { tree, around, indices } = self;
        let node = around.node()?;
        let body = node.field(Field::Body)?;
        let counter = around.counter();
        let mut names = vec![counter.to_string()];
        names.extend(indices.iter().filter_map(|index| index.variable.clone()));
        let is_one = indices.windows(2).all(|pair| pair[0].turn == pair[1].turn) && !may_write(tree, body, counter);
        if !is_one || !Rounds::new(tree, names).may_be_reordered(body) {
            return None;
        }
        let mut places: Vec<Range<usize>> = indices.iter().map(|index| index.node.byte_range()).collect();
        places.sort_by_key(|place| place.start);
        places.dedup();
        let is_counter_free = tree
            .identifiers_below(body)
            .iter()
            .all(|name| tree.slice(*name) != counter || places.iter().any(|place| place.contains(&name.start_byte())));
        let mut edits: Vec<Edit> = around.unroll().into_iter().collect();
        for place in places {
            edits.push(tree.replacement(place, counter)?);
        }
        is_counter_free.then_some(edits)
    }
}

/// The initializer of a variable of the loop body that is never written.
fn value_of<'h>(tree: &'h SyntaxTree, around: &ForLoop, name: Node<'_>, all: &Declarations) -> Option<Node<'h>> {
    let found = resolve(all, tree.slice(name), name.start_byte())?;
    let body = around.node()?.field(Field::Body)?;
    let is_within = body.start_byte() <= found.range.0 && found.range.1 <= body.end_byte();
    let (start, end) = found.initializer.filter(|_| is_within)?;
    let is_written = |name: &Node<'_>| role(access_path(*name)).1;
    if tree.names_of(body, all, found).iter().any(is_written) {
        return None;
    }
    tree.root()?.named_descendant_for_byte_range(start, end)
}

/// Whether an index `(head + j) % 12` has the value of each element once. It has not where the sum wraps around, except
/// at a multiple of the extent, nor where it is negative. Elements below 0 do not exist: a loop that accesses an element
/// in each iteration has none.
fn visits_each_once(tree: &SyntaxTree, index: Node<'_>, counter: &str, subscript: Node<'_>, body: Node<'_>) -> bool {
    let index = index.without_parentheses();
    let (Some(sum), Some(extent)) = (index.field(Field::Left), index.field(Field::Right)) else { return false };
    let is_small = || largest(tree, sum, counter).is_some_and(|most| most < i64::from(i32::MAX));
    let is_power = tree.value_of(extent).is_some_and(|extent| extent > 0 && extent.count_ones() == 1);
    index.operator() == Some("&")
        || is_small()
        || (is_inevitable(tree, subscript, body, &[]) && (is_power || (is_int(tree, sum) && is_int(tree, extent))))
}

/// Whether a loop counts from 0 to an extent in steps of 1, with an induction variable of its own.
fn visits_all(tree: &SyntaxTree, around: &ForLoop, extent: &str) -> bool {
    let visits = || {
        let node = around.node()?;
        let initializer = node.field(Field::Initializer).filter(|it| it.kind() == Kind::Declaration)?;
        let start = initializer.field(Field::Declarator)?.field(Field::Value)?;
        let condition = node.field(Field::Condition)?;
        let (left, right) = (condition.field(Field::Left)?, condition.field(Field::Right)?);
        let end = tree.slice(right);
        let is_extent = end == extent
            || tree.value_of(right).is_some_and(|it| Some(it) == tree.evaluate(extent, right.start_byte()));
        let is_below = matches!(condition.operator()?, "<" | "!=");
        let is_by_one = step(tree, node.field(Field::Update)?) == Some(1);
        let is_counter = tree.slice(left) == around.counter() && initializer.named_child_count() == 2;
        Some(is_extent && is_below && is_by_one && is_counter && tree.value_of(start) == Some(0))
    };
    visits().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_wrap_around_miss_elements() {
        let is_each = |index: &str, body: &str| {
            let body = body.replace("INDEX", index);
            let text = format!(
                "struct R {{ int first; unsigned last; }};\n__global__ void k(unsigned head, int at, R r) {{ float ring[12]; for (int j = 0; j < 12; ++j) {{ {body} }} }}"
            );
            let tree = SyntaxTree::example("a.cu", &text);
            let root = tree.root().unwrap();
            let start = text.find(index).unwrap();
            let node = root.named_descendant_for_byte_range(start, start + index.len()).unwrap();
            let subscript = root
                .descendants()
                .find(|node| tree.slice(*node).starts_with("ring[") && node.kind() == Kind::SubscriptExpression)
                .unwrap();
            let around = root.descendants().find(|node| node.kind() == Kind::ForStatement).unwrap();
            visits_each_once(&tree, node, "j", subscript, around.field(Field::Body).unwrap())
        };
        let plain = "sum += ring[INDEX];";
        let by_name = "const int here = INDEX; if (here >= 0) sum += ring[here];";
        for (index, body) in [
            ("(head + j) % 16", plain),
            ("(at + j) % 12", plain),
            ("(r.first + j) % 12", plain),
            ("(threadIdx.x + j) % 12u", plain),
            ("((head & 7) + j) % 12", plain),
            ("(head + j) & 7", by_name),
            ("((at & 7) + j) % 12", by_name),
        ] {
            assert!(is_each(index, body), "{index} {body}");
        }
        for (index, body) in [
            ("(head + j) % 12u", plain),
            ("(head + j) % 12", plain),
            // Converted to `unsigned`, a negative sum is a legal index.
            ("(at + j) % 12u", plain),
            ("(r.last + j) % 12", plain),
            ("(at + j) % 12", by_name),
            ("(at + j) % 16", by_name),
            ("(at + j) % 12", "if (at + j >= 0) sum += ring[INDEX];"),
            ("(at + j) % 12", "if (at + j < 0) continue; sum += ring[INDEX];"),
        ] {
            assert!(!is_each(index, body), "{index} {body}");
        }
    }
}
