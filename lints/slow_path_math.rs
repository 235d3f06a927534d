//! A math library function needs an array in local memory for its slow path.
//!
//! ## Why it costs
//! `sin`, `cos` and `tan` reduce large arguments with a loop over a small array: 40 bytes for `double`, 28 to 32 for
//! `float` (up to CUDA 13.0 nearly always, later rarely). The loop executes for large arguments only, but the frame and
//! the code are always there.
//!
//! ## What to do
//! - Multiples of π: `sinpi`, `cospi`, `sincospi` need no reduction.
//! - `float` where `double` is not needed; `__sinf`, `__cosf` or `-use_fast_math` where their accuracy suffices. For
//!   `double` the option changes nothing.
//!
//! ## Example
//! Before:
//! ```cpp
//! if (i < n) out[i] = sin(phase[i]);
//! ```
//! After:
//! ```cpp
//! if (i < n) out[i] = sinpi(2.0 * turns[i]);
//! ```
//!
//! ## Fix safety
//! Other functions give results that differ in the last digits: the programmer must judge.
//!
//! ## When it is wrong
//! The frame alone costs nearly nothing if arguments are small, because the slow path does not execute. It matters if
//! the frames of many kernels add to the memory that a context reserves.
//!
//! ## Related lints
//! `unexplained_local_memory`

use lmem_base::level::Level;
use lmem_base::words::bytes;
use lmem_frame::{StackObject, StackObjectKind};

use crate::framework::{Check, Finding, Lint, LintContext, line_of, object_finding};
use crate::rewrite::math;

pub(crate) static LINT: Lint = Lint {
    name: "slow_path_math",
    level: Level::Warn,
    source: include_str!("slow_path_math.rs"),
    check: Check::Object(check),
};

/// What the reduction of a `double` keeps in local memory; that of a `float` needs less.
const DOUBLE_BYTES: u64 = 40;

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let function = object.math_function().filter(|_| matches!(object.kind, StackObjectKind::Variable))?;
    let name = function.name.as_ref().map_or("a trigonometric function".to_string(), |name| format!("`{name}`"));
    let message = format!("slow path of {name} needs {} of local memory", bytes(object.bytes));
    let finding = object_finding(object, object.guilty(), message)
        .primary(function.span.as_ref(), "argument reduction for large arguments")
        .note("used for large arguments only; every thread has the frame");
    let others = object.other_math_calls(&function, &cx.frame.mangled);
    let finding = match others.as_slice() {
        [] => finding,
        [(other, span), more @ ..] => {
            let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            finding.note(format!("also needed by `{other}` at {}{more}", line_of(span, function.span.as_ref())))
        }
    };
    let name = function.name.as_deref().unwrap_or_default();
    // `cos` of a `float` is `cosf` already.
    let is_overload = object.bytes < DOUBLE_BYTES && matches!(name, "sin" | "cos" | "sincos");
    let finding = finding.help(advice(&if is_overload { format!("{name}f") } else { name.to_string() }));
    Some(finding.suggest(Some(math::suggestion(object))))
}

fn advice(function: &str) -> String {
    let is_single = function.ends_with('f');
    let base = function.strip_suffix('f').unwrap_or(function);
    match (base, is_single) {
        ("sin" | "cos" | "sincos", true) => {
            format!("use `{base}pif` for multiples of π, or `__{function}` where its accuracy is enough")
        }
        ("sin" | "cos" | "sincos", false) => {
            format!("use `{base}pi` for multiples of π, or `{base}f` where `float` is enough")
        }
        _ => "use `sinpi` or `cospi` for multiples of π, or `-use_fast_math` for `float` where its accuracy is enough"
            .to_string(),
    }
}
