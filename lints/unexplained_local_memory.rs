//! Local memory that no other lint explains.
//!
//! ## Why it costs
//! Any local memory is global memory with a friendlier name. This lint completes the accounting: the bytes of all
//! findings of a kernel add up to the stack frame that `ptxas` reports.
//!
//! ## What to do
//! Machine code without its PTX does not tell what its local memory is for, except for spills: `nvcc -lineinfo` keeps
//! PTX and lines in it. Otherwise look at the listed accesses, if any.
//!
//! ## Example
//! Before:
//! ```text
//! // Made by `nvcc -cubin`.
//! Ptx::from_file("images/plain.cubin")
//! ```
//! After:
//! ```text
//! // Made by `nvcc -cubin -lineinfo`.
//! Ptx::from_binary(FILTERS.to_vec())
//! ```
//!
//! ## Fix safety
//! There is no fix, because the cause is unknown.
//!
//! ## When it is wrong
//! The bytes are always right, because ptxas reports them. The missing cause is a gap of this tool, which is worth a
//! report.
//!
//! ## Related lints
//! `volatile_local`, `slow_path_math`

use lmem_base::level::Level;
use lmem_base::words::bytes;
use lmem_frame::{StackObject, StackObjectKind};

use crate::framework::{Check, Finding, Lint, LintContext, describe, in_loop, object_finding};

pub(crate) static LINT: Lint = Lint {
    name: "unexplained_local_memory",
    level: Level::Warn,
    source: include_str!("unexplained_local_memory.rs"),
    check: Check::Object(check),
};

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let name = &cx.frame.name;
    let kind = if cx.frame.is_entry { "kernel" } else { "function" };
    let message = match (&object.kind, &object.variable) {
        _ if object.bytes == 0 && cx.frame.stack_is_unknown => {
            format!("{kind} `{name}` uses local memory of unknown size (unknown to ptxas too)")
        }
        _ if object.bytes == 0 => {
            format!("{kind} `{name}` uses local memory outside its stack frame")
        }
        _ if cx.unit.is_without_ptx() => {
            format!(
                "{} of the stack frame of {kind} `{name}`: machine code does not tell the cause",
                bytes(object.bytes)
            )
        }
        (StackObjectKind::Variable, Some(_)) => {
            format!("{} is in local memory: cause unknown", describe(object))
        }
        _ => format!("{} of the stack frame of {kind} `{name}`: cause unknown", bytes(object.bytes)),
    };
    let guilty = object.guilty();
    let mut finding = object_finding(object, guilty, message);
    if let Some(access) = guilty {
        finding = finding.access(object, access, in_loop("accessed here", object, access));
    }
    if cx.unit.is_without_ptx() && !cx.has_spill_marks {
        finding = finding.note("some may be spills: this toolkit does not mark them (12.8 and later do)");
    }
    if cx.unit.is_without_ptx() {
        finding = finding.help("compile with `-lineinfo`, which keeps PTX and source lines in the machine code");
    }
    Some(finding.primary(cx.frame.span.as_ref(), format!("in this {kind}")))
}
