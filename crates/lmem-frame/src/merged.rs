//! Places of accesses that the compiler made of several, from both branches of a condition: they have line 0, in the function
//! that was inlined there.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use cuda_syntax::tree::{Place, enclosing_function};
use cuda_syntax::{SyntaxTrees, TreeId};
use nv_code::dataflow::Flow;
use nv_code::{Location, PtxFunction, PtxModule};

use crate::place::position;

/// Limit on levels of inlining from an instruction outwards, to find the function of an access among them.
const MAX_LEVELS: usize = 6;

/// What is known of the places of an access without a line, innermost first, without those outside of its function.
pub enum Merged {
    /// The first of the statements that it was made of.
    Statement(Vec<Place>),
    /// The loop around it.
    Loop(Vec<Place>),
}

/// A function where it was inlined: its name, and the position of the call.
type Scope = (Option<Arc<str>>, Option<(u32, u32, u32)>);

/// What a loop of the PTX has of a scope.
#[derive(Default)]
struct Code {
    /// The places of its own statements.
    own: Option<(TreeId, BTreeSet<usize>)>,
    /// By function that is inlined there: the first call, and the scope at it.
    calls: BTreeMap<Arc<str>, (TreeId, usize, Scope)>,
}

/// The code of each scope, by the innermost loop of the PTX around it.
type Scopes = HashMap<(Option<usize>, Scope), Code>;

/// The scopes of functions that were asked for.
#[derive(Default)]
pub struct MergedPlaces {
    known: RefCell<HashMap<Arc<str>, Rc<Scopes>>>,
}

impl MergedPlaces {
    /// The place of an access without a line. `None` where nothing tells, or where it has a line.
    pub fn of(
        &self,
        flow: &Flow<'_>,
        index: usize,
        is_store: bool,
        module: &PtxModule,
        trees: &SyntaxTrees<'_>,
    ) -> Option<Merged> {
        let function = flow.function;
        let location = own_location(function, index).filter(|location| is_merged(location))?;
        let scopes = self.scopes(flow, module, trees);
        let around = flow.loops.innermost(index).map(|id| id.index());
        let mut scope = scope(function, location);
        let mut outer: Vec<Place> = Vec::new();
        // Two calls of one function may be merged, too: then the loop has no code of the caller itself.
        let (tree, offsets) = loop {
            let code = scopes.get(&(around, scope.clone()))?;
            if let Some(own) = &code.own {
                break own;
            }
            let ((callee, (tree, offset, inner)), None) = (code.calls.first_key_value()?, code.calls.iter().nth(1))
            else {
                return None;
            };
            let name = scope.0.clone().or_else(|| Some(Arc::clone(&function.name)));
            let line = u32::try_from(trees.tree(*tree).line_of(*offset)).ok()?;
            let callee = Some(Arc::clone(callee));
            outer.insert(0, Place { tree: *tree, line, offset: *offset, function: name, callee });
            if outer.len() > MAX_LEVELS {
                return None;
            }
            scope = inner.clone();
        };
        let text = trees.tree(*tree);
        let places = |offset: usize| {
            let line = u32::try_from(text.line_of(offset)).ok()?;
            let name = scope.0.clone().or_else(|| Some(Arc::clone(&function.name)));
            let own = Place { tree: *tree, line, offset, function: name, callee: None };
            Some(std::iter::once(own).chain(outer.iter().cloned()).collect())
        };
        let around = text.loop_around_all(offsets);
        let within = match around {
            Some(around) => around,
            None => enclosing_function(text.node_at(*offsets.first()?)?)?,
        };
        match text.accessed_in_both_branches(within, is_store) {
            Some(offset) => places(offset).map(Merged::Statement),
            None => places(around?.start_byte()).map(Merged::Loop),
        }
    }

    fn scopes(&self, flow: &Flow<'_>, module: &PtxModule, trees: &SyntaxTrees<'_>) -> Rc<Scopes> {
        let mut known = self.known.borrow_mut();
        let all = known.entry(Arc::clone(&flow.function.name)).or_insert_with(|| Rc::new(all(flow, module, trees)));
        Rc::clone(all)
    }
}

/// Whether a location is in a function that was inlined, and has no line.
pub fn is_without_line(function: &PtxFunction, index: usize) -> bool {
    own_location(function, index).is_some_and(|location| is_merged(location) && location.inlined_at.is_some())
}

/// The compiler gives what it made of several lines line 0 and column 0; code without a place keeps the column before.
fn is_merged(location: &Location) -> bool {
    location.line == 0 && location.column == 0
}

fn own_location(function: &PtxFunction, index: usize) -> Option<&Location> {
    function.locations.get(function.instructions.get(index)?.location? as usize)
}

fn scope(function: &PtxFunction, location: &Location) -> Scope {
    let caller = location.inlined_at.and_then(|number| function.locations.get(number));
    (location.function.clone(), caller.map(|caller| (caller.file, caller.line, caller.column)))
}

fn all(flow: &Flow<'_>, module: &PtxModule, trees: &SyntaxTrees<'_>) -> Scopes {
    let function = flow.function;
    let mut scopes = Scopes::new();
    let mut seen = BTreeSet::new();
    for (index, instruction) in function.instructions.iter().enumerate() {
        let around = flow.loops.innermost(index).map(|id| id.index());
        let mut next = instruction.location.map(|number| number as usize);
        let mut inner: Option<Scope> = None;
        for _ in 0..MAX_LEVELS {
            let Some((number, location)) = next.and_then(|number| Some((number, function.locations.get(number)?)))
            else {
                break;
            };
            next = location.inlined_at;
            if !seen.insert((around, number, inner.is_some())) {
                break;
            }
            let own_scope = scope(function, location);
            let inlined = inner.replace(own_scope.clone());
            let Some((tree, _, offset)) = position(trees, module, location) else { continue };
            let code = scopes.entry((around, own_scope)).or_default();
            match inlined.and_then(|inner| Some((inner.0.clone()?, inner))) {
                Some((callee, inner)) => drop(code.calls.entry(callee).or_insert((tree, offset, inner))),
                None => {
                    let (first, offsets) = code.own.get_or_insert_with(|| (tree, BTreeSet::new()));
                    if *first == tree {
                        offsets.insert(offset);
                    }
                }
            }
        }
    }
    scopes
}
