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
//! ## Example
//! Before:
//! ```cpp
//! float window[16];
//! for (int t = 0; t < taps; ++t) {
//!     window[t] = in[i + t];
//! }
//! ```
//! After:
//! ```cpp
//! #pragma unroll
//! for (int t = 0; t < 16; ++t) {
//!     window[t] = t < taps ? in[i + t] : 0.0f;
//! }
//! ```
//!
//! ## Fix safety
//! Unrolling a loop of known length keeps the meaning. A guard in place of a run-time bound keeps it only where
//! the bound never exceeds the array's extent, which the array itself demands. `memcpy` and `memset` of a run-time length are
//! turned into guarded loops only where the other side has elements of the same type. Where unrolling does not help, a kernel's own
//! array may become a slice of shared memory, with a column for each thread: see `dynamic_index`.
//!
//! ## When it is wrong
//! A loop that runs once per kernel costs little, and unrolling a long body may cost more in the instruction cache than the local
//! memory did. The estimate that decides on suggestions does not know how often loops of unknown length run.
//!
//! ## Related lints
//! `dynamic_index`, `large_array`, `register_spill`

use lmem_base::level::Level;
use lmem_frame::{Access, Address, SourceLoop, StackObject, StackObjectKind};
use nv_code::dataflow::TripCount;

use crate::framework::{Check, Finding, Lint, LintContext, in_local_memory, in_loop};
use crate::rewrite::{memcpy, shared, unroll};

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
    let Address::Induction(trip) = guilty.address else { return None };
    let walk = Walk::of(object, guilty);
    let found = object.source_loop(guilty);
    let finding = in_local_memory(object, Some(guilty), &walk.message(found.as_ref(), trip));
    let finding = match (&walk, &found) {
        (Walk::Loop, Some(found)) => finding
            .label(found.pragma.as_ref(), "keeps the loop rolled")
            .primary(Some(&found.span), until(found))
            .label(Some(&found.span), until(found)),
        _ => finding,
    };
    // The excerpt of the loop shows the access, where it stands in the same lines.
    let is_shown = |span: &lmem_base::source::Span| {
        let header = found.as_ref().map(|found| &found.span).filter(|_| matches!(walk, Walk::Loop));
        header.is_some_and(|header| header.file.path == span.file.path && header.start_line() == span.start_line())
    };
    let finding = match guilty.span.as_ref().is_some_and(is_shown) {
        true => finding,
        false => finding.access(object, guilty, in_loop("accessed here", object, guilty)),
    };
    let suggestion = match walk {
        Walk::Loop => unroll::suggestion(object).or_else(|| memcpy::suggestion(object)),
        Walk::Call(_) => memcpy::suggestion(object),
        Walk::Library(_) | Walk::Hidden => None,
    };
    let finding = finding.help(walk.advice(found.as_ref(), trip)).suggest(suggestion);
    Some(finding.suggest(shared::suggestion(cx, object)))
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

    fn message(&self, found: Option<&SourceLoop>, trip: TripCount) -> String {
        match (self, trip) {
            (Self::Loop, TripCount::RunTime) => "rolled loop, trip count unknown".to_string(),
            (Self::Loop, TripCount::SeveralExits) => "rolled loop, more than one exit".to_string(),
            (Self::Loop, TripCount::Constant) if found.is_some_and(|found| found.pragma.is_some()) => {
                "rolled loop despite a constant trip count".to_string()
            }
            (Self::Loop, TripCount::Constant) => "rolled loop, trip count too large to unroll".to_string(),
            (Self::Loop, TripCount::Unknown) => "rolled loop".to_string(),
            (Self::Call(call), _) => format!("`{call}` of variable length"),
            (Self::Library(function), _) => format!("walked by a loop inside `{function}`"),
            (Self::Hidden, _) => "walked by a loop of the compiler".to_string(),
        }
    }

    fn advice(&self, found: Option<&SourceLoop>, trip: TripCount) -> String {
        match (self, trip) {
            (Self::Loop, _) => advice(found, trip),
            (Self::Call(call), TripCount::Constant) => format!("assign the elements one by one instead of `{call}`"),
            (Self::Call(call), _) => {
                format!("give `{call}` a constant length (the array's, if all of it may be touched)")
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
                "access the elements with constant indices, or move the array to shared memory".to_string()
            }
        }
    }
}

/// What the loop runs until, as the source says it.
fn until(found: &SourceLoop) -> String {
    let condition = found.condition.as_ref().map(|span| span.text().split_whitespace().collect::<Vec<_>>().join(" "));
    let condition = condition.filter(|text| text.len() <= 30).map(|text| format!("runs while `{text}`"));
    condition.unwrap_or_else(|| "this loop".to_string())
}

fn advice(found: Option<&SourceLoop>, trip: TripCount) -> String {
    match trip {
        TripCount::RunTime => "use the array size as trip count, guard the body with the present condition, and unroll",
        TripCount::SeveralExits => {
            "give the loop a constant trip count, skip the rest of its iterations with a flag, and unroll"
        }
        _ if found.is_some_and(|found| found.pragma.is_some()) => "replace the pragma by `#pragma unroll`",
        _ => "put `#pragma unroll` before the loop",
    }
    .to_string()
}
