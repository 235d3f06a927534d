//! Loops that visit all elements of an array from some element on, `sum += ring[(head + j) % 16]`, turned into loops that
//! visit them in their own order: the index is a constant then, once the loop is unrolled.
//!
//! Loops that use their counter for anything else are left alone: it would have to be calculated from the element's number,
//! and what it indexes would be loaded in every round. On an H200 such loops took 0.7 to 2.8 times as long (14 kernels);
//! the others became 1.3 to 2.5 times as fast.

mod order;
mod turn;

use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::SourceView;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::{Declaration, access_path, enclosing_function, resolve, role};
use lmem_base::diagnostic::Edit;
use lmem_frame::StackObject;

use self::order::Rounds;
use self::turn::Turn;
use super::for_syntax::{ForLoop, for_loops, step};
use super::guard::{is_steady, may_write};
use super::purity::{is_arithmetic, is_builtin};
use super::select_syntax::{Holder, index_of};
use crate::rewrite::select_syntax::holders;

/// The edits of all such loops over an array.
pub struct Rotations {
    pub edits: Vec<Edit>,
    /// Bytes of the loops, in which nothing else is to be edited.
    pub loops: Vec<Range<usize>>,
    pub rounds: Option<u32>,
    pub is_within_kernel: bool,
}

/// Loops in the order of the elements in place of those that start somewhere else; `None` where there are none.
pub fn rotations(object: &StackObject) -> Option<Rotations> {
    let mut found = Rotations { edits: Vec::new(), loops: Vec::new(), rounds: None, is_within_kernel: true };
    for holder in &holders(object)? {
        let mut walks: Vec<Walk<'_>> = Vec::new();
        for subscript in holder.computed_subscripts(object)? {
            let Some(walk) = Walk::of(holder, subscript) else { continue };
            match walks.iter_mut().find(|known| known.around.is_same(&walk.around)) {
                Some(known) => known.indices.extend(walk.indices),
                None => walks.push(walk),
            }
        }
        for walk in walks {
            let Some(edits) = walk.edits() else { continue };
            found.edits.extend(edits);
            found.loops.push(walk.around.node()?.byte_range());
            found.rounds = found.rounds.max(walk.around.rounds);
            found.is_within_kernel &= walk.around.is_within_kernel();
        }
    }
    found.edits.sort();
    found.edits.dedup();
    (!found.edits.is_empty()).then_some(found)
}

/// A loop over all elements from some element on.
struct Walk<'h> {
    view: &'h Rc<SourceView>,
    around: ForLoop,
    indices: Vec<TurnedIndex<'h>>,
}

/// Where the element's number is calculated, and the variable that holds it, if there is one.
struct TurnedIndex<'h> {
    node: Node<'h>,
    turn: Turn,
    variable: Option<String>,
}

impl<'h> Walk<'h> {
    fn of(holder: &'h Holder, subscript: Node<'h>) -> Option<Self> {
        let view = &holder.view;
        let size = (*holder.extents()?.first()?)?;
        let index = index_of(subscript)?;
        let all = view.declarations(enclosing_function(subscript)?);
        for around in for_loops(view, subscript.start_byte()) {
            let extent = view.spelled(size, around.node()?.start_byte())?;
            if !view.means_the_same(&extent, around.node()?.start_byte(), subscript.start_byte()) {
                return None;
            }
            let (node, variable) = match index.kind() {
                Kind::Identifier if view.slice(index) != around.counter() => {
                    (value_of(view, &around, index, &all)?, Some(view.slice(index).to_string()))
                }
                _ => (index, None),
            };
            let body = around.node()?.field(Field::Body)?;
            let is_fit = |term: Node<'_>| {
                let names = view.identifiers(term);
                is_arithmetic(view, term)
                    && names.into_iter().all(|name| is_builtin(view.slice(name)) || is_steady(view, name, body))
            };
            let Some(turn) = Turn::of(view, node, around.counter(), &extent, &is_fit) else { continue };
            let turned = TurnedIndex { node, turn, variable };
            return visits_all(view, &around, &extent).then_some(Self { view, around, indices: vec![turned] });
        }
        None
    }

    /// `None` where another order of the rounds may mean something else.
    fn edits(&self) -> Option<Vec<Edit>> {
        let Self { view, around, indices } = self;
        let node = around.node()?;
        let body = node.field(Field::Body)?;
        let counter = around.counter();
        let mut names = vec![counter.to_string()];
        names.extend(indices.iter().filter_map(|index| index.variable.clone()));
        let is_one = indices.windows(2).all(|pair| pair[0].turn == pair[1].turn) && !may_write(view, body, counter);
        if !is_one || !Rounds::new(view, names).may_be_reordered(body) {
            return None;
        }
        let mut places: Vec<Range<usize>> = indices.iter().map(|index| index.node.byte_range()).collect();
        places.sort_by_key(|place| place.start);
        places.dedup();
        let is_counter_free = view
            .identifiers_below(body)
            .iter()
            .all(|name| view.slice(*name) != counter || places.iter().any(|place| place.contains(&name.start_byte())));
        let mut edits: Vec<Edit> = around.unroll().into_iter().collect();
        for place in places {
            edits.push(view.replacement(place, counter)?);
        }
        is_counter_free.then_some(edits)
    }
}

/// What a variable of the loop's body is made as, and stays.
fn value_of<'h>(view: &'h SourceView, around: &ForLoop, name: Node<'_>, all: &[Declaration]) -> Option<Node<'h>> {
    let found = resolve(all, view.slice(name), name.start_byte())?;
    let body = around.node()?.field(Field::Body)?;
    let is_within = body.start_byte() <= found.range.0 && found.range.1 <= body.end_byte();
    let (start, end) = found.initializer.filter(|_| is_within)?;
    let is_written = |name: &Node<'_>| role(access_path(*name)).1;
    if view.names_of(body, all, found).iter().any(is_written) {
        return None;
    }
    view.root()?.named_descendant_for_byte_range(start, end)
}

/// Whether a loop counts from nothing to an extent, one by one, with a counter of its own.
fn visits_all(view: &SourceView, around: &ForLoop, extent: &str) -> bool {
    let visits = || {
        let node = around.node()?;
        let initializer = node.field(Field::Initializer).filter(|it| it.kind() == Kind::Declaration)?;
        let start = initializer.field(Field::Declarator)?.field(Field::Value)?;
        let condition = node.field(Field::Condition)?;
        let (left, right) = (condition.field(Field::Left)?, condition.field(Field::Right)?);
        let end = view.slice(right);
        let is_extent = end == extent
            || view.value_of(right).is_some_and(|it| Some(it) == view.evaluate(extent, right.start_byte()));
        let is_below = matches!(condition.operator()?, "<" | "!=");
        let is_by_one = step(view, node.field(Field::Update)?) == Some(1);
        let is_counter = view.slice(left) == around.counter() && initializer.named_child_count() == 2;
        Some(is_extent && is_below && is_by_one && is_counter && view.value_of(start) == Some(0))
    };
    visits().unwrap_or(false)
}
