//! The arguments of `printf` are stored before the call.
//!
//! ## Why it costs
//! Little: the stores execute only where `printf` does, often behind a check that never fails. But every thread has the
//! frame, and no value can stay in a caller-saved register across the call.
//!
//! ## What to do
//! Leave `printf` out of builds that are measured: use `#ifdef DEBUG`, or `assert`, which needs no frame.
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
//! Advice only: only the programmer knows whether the output is wanted.
//!
//! ## When it is wrong
//! The lint is allowed by default, because the stores execute only where `printf` does.
//!
//! ## Related lints
//! `address_escape`, `call_frame`

use lmem_base::level::Level;
use lmem_base::words::bytes;
use lmem_frame::{Access, Escape, StackObject, StackObjectKind};

use crate::framework::{Check, Finding, Lint, LintContext, object_finding};

pub(crate) static LINT: Lint = Lint {
    name: "printf_buffer",
    level: Level::Allow,
    source: include_str!("printf_buffer.rs"),
    check: Check::Object(check),
};

fn check(_: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let is_variable = matches!(object.kind, StackObjectKind::Variable);
    // The call with the most arguments needs all of the bytes.
    let stored = |escape: &Escape| -> u64 {
        let at = |access: &&Access| {
            access.places.first().map(|place| place.line) == escape.places.first().map(|place| place.line)
        };
        object.accesses.iter().filter(at).map(|access| access.count * u64::from(access.width)).sum()
    };
    let escape = object
        .escapes()
        .iter()
        .rev()
        .max_by_key(|escape| stored(escape))
        .filter(|_| is_variable && object.escapes().iter().all(|escape| escape.kind.is_print()))
        .filter(|_| !object.accesses.iter().any(Access::is_computed))?;
    let message = format!("arguments of `printf` ({}) are passed in local memory", bytes(object.bytes));
    let finding = object_finding(object, None, message).primary(escape.span.as_ref(), "stored before the call");
    Some(finding.help("compile `printf` out of release builds"))
}
