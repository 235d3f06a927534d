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

use lmem_base::level::Level;
use lmem_frame::{Access, Address, SourceLoop, StackObject, StackObjectKind};
use nv_code::dataflow::Trip;

use crate::framework::{Check, Finding, Lint, LintContext, describe, object_finding};
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
        Walk::Loop => unroll::suggestion(object).or_else(|| memcpy::suggestion(object)),
        Walk::Call(_) => memcpy::suggestion(object),
        Walk::Hidden => None,
    };
    let finding = finding.help(walk.advice(object.source_loop(guilty).as_ref(), trip)).suggest(suggestion);
    Some(finding.suggest(shared::suggestion(cx, object)))
}

/// What walks over the array.
enum Walk {
    /// A loop of the source.
    Loop,
    /// A function of the library that the compiler makes a loop of.
    Call(&'static str),
    /// A loop that the source does not show: of an initializer, or in a macro.
    Hidden,
}

impl Walk {
    fn of(object: &StackObject, guilty: &Access) -> Self {
        match (object.copying_call(guilty), object.source_loop(guilty)) {
            (Some(call), _) => Self::Call(call),
            (None, Some(_)) => Self::Loop,
            (None, None) => Self::Hidden,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Loop => "the loop over it is not unrolled".to_string(),
            Self::Call(call) => format!("`{call}` goes over it piece by piece"),
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
