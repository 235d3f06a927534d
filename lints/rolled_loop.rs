//! An array is walked by a loop that the compiler did not unroll.
//!
//! ## Why it costs
//! In an unrolled loop each index is a constant and the array can live in registers. In a loop that stays one,
//! the index is a register, and the array must be in local memory: every iteration loads or stores.
//!
//! ## What to do
//! - A trip count that is known at run time only: run to the constant extent of the array, with a guard
//!   `if (i < n)` inside, and unroll that.
//! - `#pragma unroll 1`, or a partial factor: `#pragma unroll`.
//! - A loop with `break`: give it a constant bound, and turn the rest of the iterations off with a flag.
//! - `#pragma nounroll` is not known to nvcc, which ignores it with a warning.
//!
//! ## Fix safety
//! Unrolling a loop of known length keeps the meaning. A guard in place of a run-time bound keeps it only where
//! the bound never exceeds the array's extent, which the array itself demands. `memcpy` and `memset` of a run-time length are
//! turned into guarded loops only where the other side has elements of the same type. Where unrolling does not help, a kernel's own
//! array may become a slice of shared memory, with a column for each thread: see `dynamic_index`.

use lmem_base::diagnostic::{Applicability, Suggestion};
use lmem_base::level::Level;
use lmem_frame::{Access, Address, SourceLoop, StackObject, StackObjectKind};
use nv_code::dataflow::Trip;

use crate::framework::{Check, Finding, Lint, LintContext, describe, object_finding};
use crate::rewrite::ForLoop;
use crate::rewrite::element_copy::element_copies;
use crate::suggest;
use crate::suggest::Unrolled;

pub(crate) static LINT: Lint = Lint {
    name: "rolled_loop",
    level: Level::Warn,
    source: include_str!("rolled_loop.rs"),
    check: Check::Object(check),
};

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let is_variable = matches!(object.kind, StackObjectKind::Variable);
    let own = object.accesses.iter().filter(|access| is_variable && !access.in_callee);
    let guilty = own.max_by_key(|access| access.guilt())?;
    let Address::Counter(trip) = guilty.address else { return None };
    let walk = Walk::of(object, guilty);
    let message = format!("{} lives in local memory: {}", describe(object), walk.message());
    let finding = object_finding(object, Some(guilty), message).access(object, guilty);
    let finding = match (&walk, object.source_loop(guilty)) {
        (Walk::Loop, Some(found)) => finding
            .label(found.pragma.as_ref(), "this keeps the loop from being unrolled")
            .label(Some(&found.span), reason(&found, trip)),
        _ => finding,
    };
    let suggestion = match walk {
        Walk::Loop => unroll(object).or_else(|| copy_elements(object)),
        Walk::Call(_) => copy_elements(object),
        Walk::Library(_) | Walk::Hidden => None,
    };
    let finding = finding.help(walk.advice(object.source_loop(guilty).as_ref(), trip)).suggest(suggestion);
    Some(finding.suggest(suggest::keep_in_shared_memory(cx, object)))
}

/// `#pragma unroll` at all loops that walk the array. Where a length is known at run time only, the loop runs to the
/// array's extent first, with a guard.
fn unroll(object: &StackObject) -> Option<Suggestion> {
    let unrolled = Unrolled::of(object)?;
    let title = match (unrolled.loops.len(), unrolled.has_guards, unrolled.is_certain) {
        (1, false, _) => "unroll the loop, its length is known",
        (_, false, _) => "unroll the loops over it, their lengths are known",
        (1, true, true) => "let the loop run to the array's extent, with a guard inside, and unroll it",
        (_, true, true) => "let the loops over it run to its extent, with a guard inside, and unroll them",
        (1, true, false) => {
            "if the loop never runs beyond the array's extent: run to it, with a guard inside, and unroll"
        }
        (_, true, false) => "if no loop runs beyond the array's extent: run to it, with guards inside, and unroll",
    };
    let applicability = match unrolled.is_certain {
        true => Applicability::MachineApplicable,
        false => Applicability::MaybeIncorrect,
    };
    let suggestion = Suggestion::new(title, applicability, unrolled.edits).rounds(unrolled.rounds);
    Some(suggestion.within_kernel(unrolled.loops.iter().all(ForLoop::is_within_kernel)))
}

/// Unrolled loops over the elements in place of calls that copy so many bytes of the array, with the loops over it.
fn copy_elements(object: &StackObject) -> Option<Suggestion> {
    let copies = element_copies(object)?;
    let unrolled = Unrolled::of_accesses(object, |access| object.copying_call(access).is_none())?;
    let title = match unrolled.edits.is_empty() {
        true => "copy element by element, with a guard, and unroll that",
        false => "copy element by element, with a guard, and unroll all loops over the array",
    };
    let is_within_kernel = copies.is_within_kernel && unrolled.loops.iter().all(ForLoop::is_within_kernel);
    let mut edits = copies.edits;
    edits.extend(unrolled.edits);
    edits.sort();
    let suggestion = Suggestion::new(title, Applicability::MaybeIncorrect, edits);
    Some(suggestion.rounds(copies.rounds.max(unrolled.rounds)).within_kernel(is_within_kernel))
}

/// What walks over the array.
enum Walk {
    /// A loop of the source.
    Loop,
    /// A function of the library that the compiler makes a loop of.
    Call(&'static str),
    /// A loop in a function of a library's header.
    Library(String),
    /// A loop that the source does not show: of an initializer, or in a macro.
    Hidden,
}

impl Walk {
    fn of(object: &StackObject, guilty: &Access) -> Self {
        match (object.copying_call(guilty), object.source_loop(guilty)) {
            (Some(call), _) => Self::Call(call),
            (None, Some(_)) => Self::Loop,
            (None, None) => object.library_loop(guilty).map_or(Self::Hidden, Self::Library),
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Loop => "the loop over it is not unrolled".to_string(),
            Self::Call(call) => format!("`{call}` goes over it piece by piece"),
            Self::Library(function) => format!("a loop inside `{function}` goes over it"),
            Self::Hidden => "the code goes over it element by element".to_string(),
        }
    }

    fn advice(&self, found: Option<&SourceLoop>, trip: Trip) -> String {
        match (self, trip) {
            (Self::Loop, _) => advice(found, trip),
            (Self::Call(call), Trip::Constant) => format!("assign the elements one by one in place of `{call}`"),
            (Self::Call(call), _) => {
                format!("give `{call}` a constant length: that of the array, if all of it may be touched")
            }
            (Self::Library(function), _) if function.starts_with("curand") => {
                "initialise the generators once, in a kernel of its own, and keep them in global memory; or use \
                 `curandStatePhilox4_32_10_t`, whose state is a counter"
                    .to_string()
            }
            (Self::Library(function), _) => {
                format!(
                    "the loop is not yours to unroll: call `{function}` less often, or keep the variable in shared memory"
                )
            }
            (Self::Hidden, _) => {
                "access the elements with constant indices, or keep the array in shared memory as `[element][thread]`"
                    .to_string()
            }
        }
    }
}

fn reason(found: &SourceLoop, trip: Trip) -> String {
    let condition = found.condition.as_ref().map(|span| span.text().split_whitespace().collect::<Vec<_>>().join(" "));
    let until = condition.filter(|text| text.len() <= 40).map(|text| format!(" (`{text}`)")).unwrap_or_default();
    match trip {
        Trip::RunTime => format!("not unrolled: how often it runs is known at run time only{until}"),
        Trip::SeveralExits => "not unrolled: there is more than one way out of it".to_string(),
        Trip::Constant if found.pragma.is_some() => "not unrolled, though its length is known".to_string(),
        Trip::Constant => format!("not unrolled: its length is known, but too large for the compiler{until}"),
        Trip::Unknown => "not unrolled".to_string(),
    }
}

fn advice(found: Option<&SourceLoop>, trip: Trip) -> String {
    match trip {
        Trip::RunTime => "let the loop run to the array's extent, with the present condition as a guard inside, and put `#pragma unroll` before it",
        Trip::SeveralExits => "give the loop a constant length, skip the rest of its iterations with a flag, and put `#pragma unroll` before it",
        _ if found.is_some_and(|found| found.pragma.is_some()) => "replace the pragma by `#pragma unroll`",
        _ => "put `#pragma unroll` before the loop",
    }
    .to_string()
}
