//! An array is indexed in a loop that the compiler did not unroll.
//!
//! ## Why it costs
//! In an unrolled loop each index is constant and the array can be kept in registers. In a rolled loop the index is in
//! a register, so the array must be in local memory: every iteration loads or stores.
//!
//! ## What to do
//! - Trip count unknown: use the array's size as trip count, with a guard `if (i < n)` in the body, and unroll that
//!   loop.
//! - `#pragma unroll 1`, or a partial factor: use `#pragma unroll`.
//! - A condition that may hold again after it failed, such as `a[i] < x`: a guard would go on; leave the loop by `break`.
//! - A loop with `break`: give it a constant trip count, and disable the remaining iterations with a flag.
//! - An array of more than 1020 bytes is in local memory whatever its indices are: see `large_array`.
//! - nvcc does not know `#pragma nounroll` and ignores it with a warning.
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
//! Unrolling a loop with a known trip count keeps the meaning. A guard instead of a run-time bound is offered only where
//! each round accesses the element of its number, or has no effect: then a round beyond the array was
//! undefined. A loop that looks for an end, or counts what does not fit, has such rounds, unless the text before it shows
//! that the bound is not beyond the array: `min(n, 16)`, a `return` for larger ones, an earlier loop that accesses an
//! element in each round. A bound in constant memory cannot change in a kernel, and neither can a method's that gives a member
//! of an object that the loop does not name. A condition on a sum of thread indices and
//! multiples of the counter counts as a bound if the sum rises and cannot overflow. Where the counter is used behind the
//! loop, where the bound changes in it, or where the body counts, the extent is a second condition; so it is where the guards would cost
//! more than they gain. Where the start is
//! no constant, but the index of the first round is, a second counter has that condition. A loop that counts down to a run-time
//! bound goes down to the first element. A function that is called in the loop counts as an access only if each of its
//! calls certainly reaches one, at an index made of its arguments. A loop of a helper is bounded by its parameter only if the text has all calls of the
//! helper, none of them made by a macro or in another build, and each gives a local array of one size. A loop along a flat array ends with a row if no
//! larger bound can be there. A member's extent bounds a loop only if a member of another size or kind follows, or none, and it
//! has several elements: code may go on from one member in the next. A flag replaces `break`
//! where that is the last statement of its round, and the counter is used in the loop alone. `memcpy` and `memset` of a run-time length
//! become guarded loops only if the other side has elements of the same type. If unrolling does not help, a kernel's
//! own array may be moved to shared memory, with one column per thread: see `dynamic_index`.
//!
//! ## When it is wrong
//! A loop that runs once per kernel costs little. Unrolling a long body may cost more in the instruction cache than the
//! local memory did. The cost estimate for suggestions does not know unknown trip counts.
//!
//! ## Related lints
//! `dynamic_index`, `large_array`, `register_spill`

use lmem_base::level::Level;
use lmem_base::source::Span;
use lmem_frame::{Access, Address, EscapeKind, SourceLoop, StackObject, StackObjectKind};
use nv_code::dataflow::TripCount;

use crate::address_escape::is_printed;
use crate::framework::{Check, Finding, Lint, LintContext, in_local_memory, in_loop};
use crate::large_array::{IN_PIECES, exceeds_registers};
use crate::rewrite::select::{self, FORMS};
use crate::rewrite::{bits, in_place, insertion, memcpy, shared, unroll, untried};

pub(crate) static LINT: Lint = Lint {
    name: "rolled_loop",
    level: Level::Warn,
    source: include_str!("rolled_loop.rs"),
    check: Check::Object(check),
};

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let is_variable = matches!(object.kind, StackObjectKind::Variable);
    let own = object.accesses.iter().filter(|access| is_variable && !access.in_callee);
    let guilty = own.clone().max_by_key(|access| access.guilt())?;
    // What a loop of the compiler fills is in memory for the loops that walk it.
    let is_filled = matches!(guilty.address, Address::Induction(_)) && matches!(Walk::of(object, guilty), Walk::Hidden);
    let walked = || {
        let walks = own.filter(|access| matches!(access.address, Address::Induction(_)));
        walks.filter(|access| matches!(Walk::of(object, access), Walk::Loop)).max_by_key(|access| access.guilt())
    };
    let guilty = if is_filled { walked().unwrap_or(guilty) } else { guilty };
    let Address::Induction(trip) = guilty.address else { return None };
    if is_printed(object) {
        return None;
    }
    // A function that gets the address keeps the array in memory, whatever becomes of the loop.
    let is_called =
        |kind: &EscapeKind| matches!(kind, EscapeKind::Call(_) | EscapeKind::IndirectCall) && !kind.is_print();
    if object.escapes().iter().any(|escape| escape.is_own && is_called(&escape.kind)) {
        return None;
    }
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
    // The loop's excerpt shows the access if it is on the same lines.
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
    let over_whole = if matches!(walk, Walk::Loop) { unroll::suggestion_over_whole_array(object) } else { None };
    let left_early = if matches!(walk, Walk::Loop) { unroll::suggestion_left_early(object) } else { None };
    let finding = finding.help(walk.advice(cx, object, found.as_ref(), trip));
    let finding = insertion::suggestions(object).into_iter().fold(finding, |finding, it| finding.suggest(Some(it)));
    let flagged = if matches!(walk, Walk::Loop) { unroll::suggestion_with_flag(object) } else { None };
    // Where a loop cannot be unrolled, flags need no array.
    let packed = if matches!(walk, Walk::Loop) { bits::suggestion(object) } else { None };
    // Without a copy, no loop has to be unrolled.
    let finding = finding.suggest(in_place::suggestion(object));
    let finding = finding.suggest(suggestion).suggest(over_whole).suggest(flagged).suggest(packed).suggest(left_early);
    let selected = FORMS.iter().filter_map(|form| select::suggestion_in_loops(object, *form));
    let finding = selected.fold(finding, |finding, suggestion| finding.suggest(Some(suggestion)));
    Some(finding.suggest(shared::suggestion(cx, object)).or_untried(|| untried::reason(cx, object)))
}

/// The kind of loop over the array.
enum Walk {
    /// A source loop.
    Loop,
    /// A C library function that the compiler expands to a loop.
    Call(&'static str),
    /// A loop in a function of a library header.
    Library(String),
    /// A loop that is not in the source: of an initializer, or of a copy.
    Hidden,
}

impl Walk {
    fn of(object: &StackObject, guilty: &Access) -> Self {
        match (object.copying_call(guilty), object.source_loop(guilty)) {
            (Some(call), _) => Self::Call(call),
            (None, Some(_)) => Self::Loop,
            (None, None) => match object.library_loop(guilty) {
                Some(function) => Self::Library(function),
                None if has_written_index(object, guilty) || object.may_be_in_macro_loop(guilty) => Self::Loop,
                None => Self::Hidden,
            },
        }
    }

    fn message(&self, found: Option<&SourceLoop>, trip: TripCount) -> String {
        match (self, trip) {
            (Self::Loop, TripCount::RunTime) => "rolled loop, trip count unknown".to_string(),
            (Self::Loop, TripCount::SeveralExits) => "rolled loop, more than one exit".to_string(),
            (Self::Loop, TripCount::Constant) if found.is_some_and(|found| found.pragma.is_some()) => {
                "rolled loop despite a constant trip count".to_string()
            }
            (Self::Loop, TripCount::Constant) => "rolled loop, too large to unroll".to_string(),
            (Self::Loop, TripCount::Unknown) => "rolled loop".to_string(),
            (Self::Call(call), _) => format!("`{call}` of variable length"),
            (Self::Library(function), _) => format!("walked by a loop inside `{function}`"),
            (Self::Hidden, _) => "walked by a loop of the compiler".to_string(),
        }
    }

    fn advice(
        &self,
        cx: &LintContext<'_>,
        object: &StackObject,
        found: Option<&SourceLoop>,
        trip: TripCount,
    ) -> String {
        match (self, trip) {
            (Self::Loop, _) if exceeds_registers(object.bytes) => IN_PIECES.to_string(),
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
            (Self::Library(function), _) if cx.reentry(object).is_some() => {
                format!("the loop is not yours to unroll: call `{function}` less often")
            }
            (Self::Library(function), _) => {
                format!(
                    "the loop is not yours to unroll: call `{function}` less often, or keep the variable in shared memory"
                )
            }
            (Self::Hidden, _) if cx.reentry(object).is_some() => {
                "access the elements with constant indices".to_string()
            }
            (Self::Hidden, _) => {
                "access the elements with constant indices, or move the array to shared memory".to_string()
            }
        }
    }
}

/// Whether the text has an index at the access. Then it has the loop too: in a macro, by `goto`, or among others on a line.
fn has_written_index(object: &StackObject, guilty: &Access) -> bool {
    let is_in_statement = || guilty.span.as_ref().is_some_and(|span| span.text().contains('['));
    guilty.index.is_some() || object.variable.is_none() && is_in_statement()
}

/// The loop condition, as text.
fn until(found: &SourceLoop) -> String {
    let condition = found.condition.as_ref().map(|span| span.text().split_whitespace().collect::<Vec<_>>().join(" "));
    // That of `while` comes with its parentheses.
    let condition = condition.map(|text| match text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        Some(within) if !within.contains(['(', ')']) => within.to_string(),
        _ => text,
    });
    let condition = condition.filter(|text| text.len() <= 30).map(|text| format!("runs while `{text}`"));
    condition.unwrap_or_else(|| "this loop".to_string())
}

/// Whether a condition compares a counter with a bound: once it fails, it fails for all later rounds.
fn is_bound(condition: &Span) -> bool {
    !condition.text().contains(['[', '(', '&', '|', '*', '!', '?']) && !condition.text().contains("->")
}

fn advice(found: Option<&SourceLoop>, trip: TripCount) -> String {
    match trip {
        TripCount::RunTime if found.and_then(|found| found.condition.as_ref()).is_some_and(is_bound) => {
            "use the array size as trip count, guard the body with the present condition, and unroll"
        }
        // Rounds behind the first that fails must not run, though the condition may hold for them.
        TripCount::RunTime => {
            "use the array size as trip count, leave the loop by `break` where the present condition fails, and unroll"
        }
        TripCount::SeveralExits => {
            "give the loop a constant trip count, skip the rest of its iterations with a flag, and unroll"
        }
        _ if found.is_some_and(|found| found.pragma.is_some()) => "replace the pragma by `#pragma unroll`",
        _ => "put `#pragma unroll` before the loop",
    }
    .to_string()
}
