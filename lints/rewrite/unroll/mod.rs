//! Unrolls loops over an array, so that its indices become constant.

pub(super) mod body;
pub(super) mod bound;
mod counted;
mod extent;
mod first;
pub mod for_loop;
mod guard;
mod handed;
pub(super) mod header;
mod indexing;
pub(super) mod inevitable;
mod leaving;
mod lent;
pub(super) mod limit;
mod linear;
mod lower;
mod member;
pub(super) mod parameter;
mod rise;
pub(super) mod round;
pub(super) mod search;
mod sizes;

use cuda_syntax::types;
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::gpu::MAX_REGISTERS;
use lmem_frame::{Access, Address, StackObject};
use nv_code::dataflow::TripCount;

use self::extent::WantedArray;
use self::for_loop::{ForLoop, index_loops, is_walk};
use self::guard::Guard;
use self::search::search_of;
use super::Rewrite;
use super::shared::declaration::declared_elements;

/// Size of a register; an array larger than all registers stays in local memory.
const REGISTER_BYTES: u64 = 4;

/// The rewrite that unrolls all loops whose induction variables index an array.
pub struct Unrolled {
    pub rewrite: Rewrite,
    /// Number of loops.
    loops: usize,
    /// Whether some loops get the array's extent as trip count, with a guard.
    has_guards: bool,
    /// Flags in place of `break`, for the loops that have some.
    flags: Vec<Edit>,
}

/// The same, with a flag in place of each `break` of these loops.
pub fn suggestion_with_flag(object: &StackObject) -> Option<Suggestion> {
    let Unrolled { rewrite, flags, .. } = Unrolled::of(object)?;
    if flags.is_empty() {
        return None;
    }
    let is_within_kernel = rewrite.is_within_kernel;
    let flags = Rewrite::new(Applicability::MaybeIncorrect, flags).within_kernel(is_within_kernel);
    Some(rewrite.and(flags)?.suggestion("unroll the loops over the array, with a flag instead of `break`"))
}

/// `#pragma unroll` on all loops over the array. A loop with an unknown trip count first gets the array's extent as
/// trip count, with a guard.
pub fn suggestion(object: &StackObject) -> Option<Suggestion> {
    Some(Unrolled::of(object)?.suggestion())
}

/// The same, where a loop that begins at the counter of a loop that stays rolled goes over the whole array. `None` if there is no
/// such loop.
pub fn suggestion_over_whole_array(object: &StackObject) -> Option<Suggestion> {
    let unrolled = Unrolled::of_loops(object, |_| true, &|_| false, Bounds::WholeArray)?;
    let plain = Unrolled::of(object);
    plain.is_none_or(|plain| plain.rewrite.edits != unrolled.rewrite.edits).then(|| unrolled.suggestion())
}

/// The same with loops that are left as before, where that is another edit: its rounds behind the end are not asked for.
pub fn suggestion_left_early(object: &StackObject) -> Option<Suggestion> {
    let unrolled = Unrolled::of_loops(object, |_| true, &|_| false, Bounds::LeftEarly)?;
    unrolled.rewrite.rounds.filter(|rounds| *rounds <= MOST_LEFT_EARLY)?;
    let plain = Unrolled::of(object);
    plain.is_none_or(|plain| plain.rewrite.edits != unrolled.rewrite.edits).then(|| {
        let suggestion = unrolled.rewrite.suggestion("end all loops over the array at its size, too, and unroll them");
        // Measured on an H200: without that, a banded alignment was 0.87 times as fast, a decoder of 16 states 0.92.
        Suggestion { warps_must_stay: true, ..suggestion }
    })
}

/// The same for an array whose computed indices have induction variables in the source: once the loops are unrolled, they
/// may be constants.
pub fn suggestion_for_walks(object: &StackObject) -> Option<Suggestion> {
    let mut computed = object.accesses.iter().filter(|access| matches!(access.address, Address::Computed(_)));
    if !object.escapes().is_empty() || !computed.all(|access| is_walk(object, access)) {
        return None;
    }
    let unrolled = Unrolled::of_loops(object, |_| true, &|access| is_walk(object, access), Bounds::Known)?;
    (!unrolled.rewrite.edits.is_empty()).then(|| unrolled.suggestion())
}

/// The most rounds of loops that are left early: the registers of more elements take warps.
const MOST_LEFT_EARLY: u32 = 24;

/// What is taken for the bounds of a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bounds {
    /// Those in the source, or the array's extent.
    Known,
    /// A trip count that only the compiler found counts as unknown.
    Doubted,
    /// A start that depends on a loop that stays rolled is no constant: the loop is over the whole array.
    WholeArray,
    /// A loop ends at the array's extent by a second condition where it can.
    LeftEarly,
}

/// Whether the extent of a guard, from the source, is one of the object's actual extents.
fn is_extent_of(guard: &Guard, object: &StackObject) -> bool {
    let type_text = object.variable.as_ref().map_or("", |variable| variable.type_text.as_str());
    let (Some(elements), Some(extent)) = (types::extent(type_text), guard.size.map(u64::from)) else { return true };
    let is_row = type_text.matches('[').count() == 1;
    if is_row { extent == elements } else { extent > 0 && elements % extent == 0 }
}

impl Unrolled {
    fn suggestion(self) -> Suggestion {
        let Self { rewrite, loops, has_guards, .. } = self;
        let title = match (loops, has_guards) {
            (1, false) => "unroll the loop (constant trip count)",
            (_, false) => "unroll the loops over the array (constant trip counts)",
            (1, true) => "use the array size as trip count, guard the body, and unroll",
            (_, true) => "use the array size as trip count of all loops over it, guard their bodies, and unroll",
        };
        rewrite.suggestion(title)
    }

    /// The rewrite for all accesses; `None` if the source of a loop does not show how.
    pub fn of(object: &StackObject) -> Option<Self> {
        Self::of_accesses(object, |_| true)
    }

    /// The rewrite for some of the accesses.
    pub fn of_accesses(object: &StackObject, is_wanted: impl Fn(&Access) -> bool) -> Option<Self> {
        Self::of_loops(object, is_wanted, &|_| false, Bounds::Known)
    }

    /// The same, where a loop whose trip count only the compiler found gets the array's extent, too: it may find the
    /// number after it unrolls.
    pub fn to_extents(object: &StackObject, is_wanted: impl Fn(&Access) -> bool) -> Option<Self> {
        Self::of_loops(object, is_wanted, &|_| false, Bounds::Doubted)
    }

    /// The same for all accesses, with the loops that look for elements.
    pub fn with_searches(object: &StackObject) -> Option<Self> {
        let is_search = |access: &Access| search_of(object, access).is_some();
        Self::of_loops(object, |_| true, &is_search, Bounds::Known)
    }

    fn of_loops(
        object: &StackObject,
        is_wanted: impl Fn(&Access) -> bool,
        is_walk: &dyn Fn(&Access) -> bool,
        bounds: Bounds,
    ) -> Option<Self> {
        if object.bytes > u64::from(MAX_REGISTERS) * REGISTER_BYTES {
            return None;
        }
        let accesses: Vec<&Access> = object.accesses.iter().filter(|access| is_wanted(access)).collect();
        let mut loops = index_loops(object, accesses.iter().copied(), is_walk)?;
        // In a triangular nest, an inner loop has a constant trip count once the outer loops are unrolled. An outer loop
        // over the array gets a constant trip count itself.
        let is_over = |outer: &ForLoop| loops.iter().any(|known| known.is_same(outer));
        let inner: Vec<(ForLoop, Vec<ForLoop>)> = loops
            .iter()
            .filter(|found| found.rounds.is_none())
            .filter_map(|it| Some((it.clone(), it.enclosing(&is_over)?)))
            .collect();
        let is_inner = |found: &ForLoop| inner.iter().any(|(known, _)| known.is_same(found));
        let has_run_time = bounds == Bounds::Doubted
            || accesses.iter().any(|it| it.address == Address::Induction(TripCount::RunTime) || is_walk(it));
        let is_known = |found: &ForLoop| {
            found.rounds.is_some()
                || found.has_fixed_bounds()
                || (!has_run_time && !found.is_stepped)
                || is_inner(found)
        };
        let outer: Vec<ForLoop> = inner.iter().flat_map(|(_, outer)| outer.clone()).collect();
        for found in outer {
            if !loops.iter().any(|known| known.is_same(&found)) {
                loops.push(found);
            }
        }
        let (known, open): (Vec<&ForLoop>, Vec<&ForLoop>) = loops.iter().partition(|found| is_known(found));
        let variable = object.variable.as_ref();
        let (array, type_text) =
            variable.map_or(("", ""), |variable| (variable.name.as_str(), variable.type_text.as_str()));
        let elements = declared_elements(object);
        let wanted = WantedArray::new(array, &accesses);
        let is_unrolled = |outer: &ForLoop| loops.iter().any(|known| known.is_same(outer));
        if bounds == Bounds::WholeArray && !open.iter().any(|it| it.begins_anywhere(&is_unrolled)) {
            return None;
        }
        let guarded = |found: &&ForLoop| {
            let guard = match bounds {
                Bounds::WholeArray if found.begins_anywhere(&is_unrolled) => found.over_whole_array(&wanted),
                Bounds::LeftEarly => found.left_early(&wanted).or_else(|| found.guarded(&wanted)),
                _ => found.guarded(&wanted),
            };
            guard.or_else(|| found.guarded_parameter(array, type_text, elements?, &accesses))
        };
        let guards: Vec<Guard> = open.iter().map(guarded).collect::<Option<_>>()?;
        if !guards.iter().all(|guard| is_extent_of(guard, object)) {
            return None;
        }
        let rounds = loops.iter().filter_map(|found| found.rounds);
        let rounds = rounds.chain(guards.iter().filter_map(|guard| guard.extent)).max();
        let has_guards = !guards.is_empty();
        let applicability = match guards.iter().any(|guard| guard.is_of_member) {
            true => Applicability::MaybeIncorrect,
            false => Applicability::MachineApplicable,
        };
        let flags = known.iter().filter_map(|found| found.with_flag()).flatten().collect();
        // A loop that already has an unroll pragma needs no edit.
        let unrolled = known.iter().filter_map(|found| found.unroll());
        let edits: Vec<Edit> = unrolled.chain(guards.into_iter().flat_map(|guard| guard.edits)).collect();
        let keeps_loops = edits.is_empty();
        let rewrite = Rewrite::new(applicability, edits)
            .rounds(rounds)
            .within_kernel(loops.iter().all(ForLoop::is_within_kernel))
            .keeping_loops(keeps_loops)
            .by_statement(!has_guards);
        Some(Self { rewrite, loops: loops.len(), has_guards, flags })
    }
}
