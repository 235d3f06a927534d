//! The arguments of `printf` are stored before the call.
//!
//! ## Why it costs
//! Little: the stores happen only where `printf` runs, which is often a check that never fails. The frame is
//! there in every thread all the same, and the call itself keeps registers from being used across it.
//!
//! ## What to do
//! Keep `printf` out of builds that are measured: `#ifdef DEBUG`, or `assert`, which needs no frame.
//!
//! ## Example
//! Before:
//! ```cpp
//! if (x != x) printf("element %d is %f\n", i, x);
//! ```
//! After:
//! ```cpp
//! assert(x == x);
//! ```
//!
//! ## Fix safety
//! Advice only: whether the text is wanted is for the programmer to say.
//!
//! ## When it is wrong
//! It is allowed by default: the stores run only where `printf` does.
//!
//! ## Related lints
//! `address_escape`, `call_frame`

use lmem_base::level::Level;
use lmem_base::words::bytes;
use lmem_frame::{StackObject, StackObjectKind};

use crate::framework::{Check, Finding, Lint, LintContext, object_finding};

pub(crate) static LINT: Lint = Lint {
    name: "printf_buffer",
    level: Level::Allow,
    source: include_str!("printf_buffer.rs"),
    check: Check::Object(check),
};

fn check(_: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let is_variable = matches!(object.kind, StackObjectKind::Variable);
    let escape = object
        .escapes()
        .first()
        .filter(|_| is_variable && object.escapes().iter().all(|escape| escape.kind.is_print()))?;
    let message = format!("arguments of `printf` ({}) are passed in local memory", bytes(object.bytes));
    let finding = object_finding(object, None, message).primary(escape.span.as_ref(), "stored before the call");
    Some(finding.help("compile `printf` out of release builds"))
}
