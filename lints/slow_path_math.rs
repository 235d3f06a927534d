//! A function of the math library keeps a table in local memory for its slow path.
//!
//! ## Why it costs
//! `sin`, `cos` and `tan` reduce large arguments with a loop over a small array: 40 bytes for `double`, 28 to 32
//! for `float` (up to CUDA 13.0 nearly always, later rarely). The loop runs only for large arguments, but the
//! frame and the code are there in any case.
//!
//! ## What to do
//! - Multiples of π: `sinpi`, `cospi`, `sincospi` need no reduction.
//! - `float` where `double` is not needed; `__sinf`, `__cosf` or `-use_fast_math` where their accuracy will do.
//!   For `double` the option changes nothing.
//!
//! ## Fix safety
//! Other functions give other results in the last digits: the programmer must judge.

use crate::attribute::{StackObject, StackObjectKind};
use crate::lint::{Check, Finding, Level, Lint, LintContext, bytes, object_finding};

pub(crate) static LINT: Lint = Lint {
    name: "slow_path_math",
    level: Level::Warn,
    source: include_str!("slow_path_math.rs"),
    check: Check::Object(check),
};

fn check(_: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let is_unnamed = matches!(object.kind, StackObjectKind::Variable) && object.variable.is_none();
    let function = object.math_function.as_ref().filter(|_| is_unnamed)?;
    let message = format!("`{}` takes {} of local memory for large arguments", function.name, bytes(object.bytes));
    let finding = object_finding(object, object.guilty(), message)
        .primary(Some(&function.span), "its slow path needs an array")
        .note("the array is used only for large arguments, but every thread has the frame");
    Some(finding.help(advice(&function.name)))
}

fn advice(function: &str) -> String {
    let single = function.ends_with('f');
    let base = function.trim_end_matches('f').trim_start_matches("sinc").to_string();
    let base = if function.starts_with("sincos") { "sincos".to_string() } else { base };
    let pi = format!("`{base}pi{}`", if single { "f" } else { "" });
    match (single, base.as_str()) {
        (true, "sin" | "cos" | "sincos") => {
            format!("use {pi} where the argument is a multiple of π, or `__{function}` where its accuracy will do")
        }
        (false, "sin" | "cos" | "sincos") => format!(
            "use {pi} where the argument is a multiple of π, or the `float` function where its accuracy will do"
        ),
        (true, _) => format!("use `__{function}` where its accuracy will do"),
        (false, _) => "use the `float` function where its accuracy will do".to_string(),
    }
}
