//! Loops over an array that are unrolled, so that its indices become constants.

use cuda_syntax::types;
use lmem_base::diagnostic::Edit;
use lmem_base::gpu::MAX_REGISTERS;
use lmem_frame::{Access, Address, StackObject};
use nv_code::dataflow::Trip;

use crate::rewrite::private_variable::declared_elements;
use crate::rewrite::{ForLoop, Guard, index_loops};

/// Bytes of a register; an array beyond all of them stays where it is.
const REGISTER_BYTES: u64 = 4;

/// The edits that unroll all loops whose counters index an array.
pub(crate) struct Unrolled {
    pub loops: Vec<ForLoop>,
    pub edits: Vec<Edit>,
    pub has_guards: bool,
    /// The loops do what they did by construction.
    pub is_certain: bool,
    /// The most rounds of one of them.
    pub rounds: Option<u32>,
}

/// Whether the extent that the source gives a guard is one of the object that the compiler laid out.
fn is_extent_of(guard: &Guard, object: &StackObject) -> bool {
    let type_text = object.variable.as_ref().map_or("", |variable| variable.type_text.as_str());
    let (Some(elements), Some(extent)) = (types::extent(type_text), guard.extent.map(u64::from)) else { return true };
    let is_row = type_text.matches('[').count() == 1;
    if is_row { extent == elements } else { extent > 0 && elements % extent == 0 }
}

impl Unrolled {
    /// `None` where the source of a loop does not show how.
    pub fn of(object: &StackObject) -> Option<Self> {
        Self::of_accesses(object, |_| true)
    }

    /// The same for some of the accesses.
    pub fn of_accesses(object: &StackObject, is_wanted: impl Fn(&Access) -> bool) -> Option<Self> {
        if object.bytes > u64::from(MAX_REGISTERS) * REGISTER_BYTES {
            return None;
        }
        let accesses: Vec<&Access> = object.accesses.iter().filter(|access| is_wanted(access)).collect();
        let mut loops = index_loops(object, accesses.iter().copied())?;
        // Of a triangle the inner loops have a known length once the outer ones are unrolled.
        let inner: Vec<(ForLoop, Vec<ForLoop>)> = loops
            .iter()
            .filter(|found| found.rounds.is_none())
            .filter_map(|it| Some((it.clone(), it.enclosing()?)))
            .collect();
        let is_inner = |found: &ForLoop| inner.iter().any(|(known, _)| known.is_same(found));
        let has_run_time = accesses.iter().any(|access| access.address == Address::Counter(Trip::RunTime));
        let is_known = |found: &ForLoop| found.rounds.is_some() || !has_run_time || is_inner(found);
        let outer: Vec<ForLoop> = inner.iter().flat_map(|(_, outer)| outer.clone()).collect();
        for found in outer {
            if !loops.iter().any(|known| known.is_same(&found)) {
                loops.push(found);
            }
        }
        let (known, open): (Vec<&ForLoop>, Vec<&ForLoop>) = loops.iter().partition(|found| is_known(found));
        let array = object.variable.as_ref().map_or("", |variable| variable.name.as_str());
        let elements = declared_elements(object);
        let guarded = |found: &&ForLoop| found.guarded(array).or_else(|| found.guarded_parameter(elements?, &accesses));
        let guards: Vec<Guard> = open.iter().map(guarded).collect::<Option<_>>()?;
        if !guards.iter().all(|guard| is_extent_of(guard, object)) {
            return None;
        }
        let rounds = loops.iter().filter_map(|found| found.rounds);
        let rounds = rounds.chain(guards.iter().filter_map(|guard| guard.extent)).max();
        let (has_guards, is_certain) = (!guards.is_empty(), guards.iter().all(|guard| guard.is_certain));
        // A loop that is to be unrolled already has nothing to be changed.
        let unrolled = known.iter().filter_map(|found| found.unroll());
        let mut edits: Vec<Edit> = unrolled.chain(guards.into_iter().flat_map(|guard| guard.edits)).collect();
        edits.sort();
        Some(Self { loops, edits, has_guards, is_certain, rounds })
    }
}
