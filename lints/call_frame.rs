//! A function that was not inlined uses local memory for its calling convention.
//!
//! ## Why it costs
//! A function that is called indirectly, or from another unit (`-rdc=true`), must follow the calling convention. In
//! every call it stores the callee-saved registers that it uses, and loads them again before it returns. Arguments and
//! results that do not fit into their registers, such as structures by value, are written to the caller's stack. Direct
//! callees of a kernel need no such frame, because `ptxas` knows all their callers.
//!
//! ## What to do
//! - Call the function by name: a `switch` instead of a function table or a virtual call.
//! - Define it where it is called, and leave out `-rdc=true`, or link with `-dlto`.
//! - Pass less: only the members that are needed, not the whole structure.
//!
//! ## Example
//! Before:
//! ```cpp
//! __constant__ Filter filters[2] = {mean, mode};
//! out[threadIdx.x] = filters[which](in + threadIdx.x * n, n);
//! ```
//! After:
//! ```cpp
//! __device__ __noinline__ float largest(const float *in, int n) {
//! // Called by name, in a `switch`: ptxas knows all callers, though the functions are not inlined either.
//! ```
//!
//! ## Fix safety
//! Inlining and direct calls keep the meaning. `__forceinline__` is suggested for a `__noinline__` function that is
//! called by name; with `-rdc=true` the programmer must judge, because other units may call it too. A table of
//! functions that are all defined in the file becomes a `switch` where an element is called in place, `filters[i](x)`; one that is
//! kept in a variable or handed on is not followed. All else is advice: indirect calls are often deliberate.
//!
//! ## When it is wrong
//! Indirect calls are often deliberate, and a function that does much work hides the cost of saving registers. The
//! kernels listed are possible callers, judged by the types of the function pointers.
//!
//! ## Related lints
//! `address_escape`, `recursive_call`

use lmem_base::level::Level;
use lmem_base::mangling::demangle;
use lmem_base::words::{bytes, list, plural};
use lmem_frame::{CallArea, CallAreaKind, EscapeKind, KernelFrame, PassedTo, StackObject, StackObjectKind};
use ptx_syntax::Operand;

use crate::framework::{Check, Finding, Lint, LintContext, in_local_memory, object_finding};
use crate::rewrite::{devirtualize, inline};

pub(crate) static LINT: Lint =
    Lint { name: "call_frame", level: Level::Warn, source: include_str!("call_frame.rs"), check: Check::Object(check) };

/// Number of kernels and calls to name.
const SHOWN: usize = 3;

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let is_read_only = object.escapes().iter().all(|escape| matches!(escape.kind, EscapeKind::Generic(_)));
    // What the user's code indexes is in memory for that, whatever is done with it then.
    let is_indexed = object.accesses.iter().any(|access| access.is_computed() && access.index.is_some());
    if let (StackObjectKind::Variable, Some(to)) = (&object.kind, &object.passed_to())
        && is_read_only
        && !is_indexed
    {
        return Some(copied(cx, object, to));
    }
    let StackObjectKind::Call(area) = &object.kind else { return None };
    let mut finding = match area.kind {
        CallAreaKind::CalleeSaved { registers } => saved(cx, area, registers, object.bytes - object.padding),
        CallAreaKind::OutgoingArguments { arguments, result } => passed(cx, area, arguments, result),
        CallAreaKind::IncomingArguments { bytes } => incoming(cx.frame, bytes),
        CallAreaKind::RuntimeRoutine { bytes } => routine(cx.frame, area, bytes),
    };
    (finding.loads, finding.stores, finding.loop_depth) = (area.loads, area.stores, area.loop_depth);
    Some(finding)
}

fn saved(cx: &LintContext<'_>, area: &CallArea, registers: u64, size: u64) -> Finding {
    let frame = cx.frame;
    let (why, help) = reason(cx);
    let registers = plural(registers, "callee-saved register");
    let message = format!("`{}` saves {registers} in every call ({}): {why}", frame.name, bytes(size));
    let mut finding = Finding::new(message).primary(frame.span.as_ref(), "saved and restored in every call");
    finding = finding.primary(area.calls.first(), "called here");
    if !frame.kernels.is_empty() {
        finding = finding.note(format!("not counted in the stack frame of {}, which may call it", kernels(frame)));
    }
    finding.cause = Some(format!("{why}: {} in {}", kernels(frame), cx.unit.unit.name));
    let is_named = !frame.is_address_taken && !frame.kernels.is_empty();
    let inlined = frame.span.as_ref().filter(|_| is_named).and_then(|name| inline::of_function(cx, name));
    let by_name = frame.span.as_ref().filter(|_| frame.is_address_taken);
    let by_name = by_name.and_then(|name| devirtualize::of_function(cx, name));
    finding.help(help).suggest(inlined).suggest(by_name)
}

/// Why the function must save registers, and the advice.
fn reason(cx: &LintContext<'_>) -> (&'static str, &'static str) {
    let frame = cx.frame;
    match (frame.is_address_taken, frame.kernels.is_empty()) {
        (true, _) => (
            "called indirectly",
            "replace the indirect call by a `switch` over direct calls, a virtual one by `Class::function()`",
        ),
        (false, true) if is_called(cx) => {
            ("called, not inlined", "let it be inlined (`__forceinline__`), or declare it `static`")
        }
        (false, true) => (
            "no kernel here calls it, only other files may (`-rdc=true`)",
            "declare it `static` if no other file calls it; else define it in a header, or link with `-dlto`",
        ),
        (false, false) => (
            "its caller is called indirectly or recursively",
            "let it be inlined (`__forceinline__`), or call its caller directly",
        ),
    }
}

/// Whether code of this unit calls the function by its name. A call that was inlined is none.
fn is_called(cx: &LintContext<'_>) -> bool {
    let instructions = cx.unit.facts.ptx.functions.iter().flat_map(|function| &function.instructions);
    let mut callees = instructions.filter_map(|it| match it.call()?.callee {
        Operand::Symbol(callee, _) => Some(callee),
        _ => None,
    });
    callees.any(|callee| demangle(callee) == cx.frame.name)
}

fn kernels(frame: &KernelFrame) -> String {
    let names: Vec<String> = frame.kernels.iter().map(|name| format!("`{}`", demangle(name))).collect();
    let what = if names.len() == 1 { "kernel" } else { "kernels" };
    match names.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{what} {} and {more} more", names[..SHOWN].join(", ")),
        _ => format!("{what} {}", list(&names)),
    }
}

fn passed(cx: &LintContext<'_>, area: &CallArea, arguments: u64, result: u64) -> Finding {
    let frame = cx.frame;
    let callee = match area.callees.first() {
        Some(Some(name)) => format!("`{}`", demangle(name)),
        _ => "an indirect call".to_string(),
    };
    let what = match (arguments, result) {
        (_, 0) => format!("arguments of {callee} ({}) are passed in local memory", bytes(arguments)),
        (0, _) => format!("the result of {callee} ({}) is returned in local memory", bytes(result)),
        _ => format!(
            "arguments ({}) and result ({}) of {callee} are passed in local memory",
            bytes(arguments),
            bytes(result)
        ),
    };
    let kind = if frame.is_entry { "kernel" } else { "function" };
    let mut finding = Finding::new(what).primary(area.callee_span.as_ref(), "too large for the argument registers");
    for call in area.calls.iter().take(SHOWN) {
        finding = finding.primary(Some(call), "passed in memory here").label(Some(call), "passed in memory here");
    }
    if let Some(others) = area.callees.len().checked_sub(1).filter(|others| *others > 0) {
        finding = finding.note(format!("{} more share this memory", plural(others as u64, "callee")));
    }
    let is_named = matches!(area.callees.as_slice(), [Some(_)]);
    let inlined = area.callee_span.as_ref().filter(|_| is_named).and_then(|name| inline::of_function(cx, name));
    let by_name = area.calls.first().filter(|_| !is_named).and_then(|call| devirtualize::near_call(cx, call));
    finding
        .suggest(inlined)
        .suggest(by_name)
        .note(format!("part of the stack frame of {kind} `{}`, which calls it", frame.name))
        .help(match is_recursive(frame, area) {
            true => "pass less: only the members that are needed, and what stays the same on all levels by one pointer",
            false => "pass only the members that are needed, or call it directly so that it can be inlined",
        })
}

/// Whether a callee calls itself, so that it cannot be inlined.
fn is_recursive(frame: &KernelFrame, area: &CallArea) -> bool {
    let entered = frame.objects.iter().filter_map(|object| match &object.kind {
        StackObjectKind::Recursion(recursion) => Some(recursion),
        _ => None,
    });
    let mut functions = frame.recursion.iter().chain(entered).flat_map(|recursion| &recursion.functions);
    functions.any(|function| area.callees.iter().flatten().any(|callee| demangle(callee) == *function))
}

/// A structure that is copied to local memory before a call and passed from there.
fn copied(cx: &LintContext<'_>, object: &StackObject, to: &PassedTo) -> Finding {
    let callee = match &to.callee {
        Some(name) => format!("`{}`", demangle(name)),
        None => "an indirect call".to_string(),
    };
    let finding = match object.variable {
        Some(_) => in_local_memory(object, None, &format!("passed by value to {callee}, which is not inlined"))
            .label(to.call.as_ref(), "copied for the call"),
        None => {
            let size = bytes(object.bytes - object.padding);
            object_finding(
                object,
                object.guilty(),
                format!("an argument of {callee} ({size}) is copied to local memory"),
            )
            .primary(to.call.as_ref(), "passed by value here")
        }
    };
    finding
        .primary(cx.frame.span.as_ref(), "in this kernel")
        .help("take it by `const &`, pass only the members that are needed, or let the function be inlined (`__forceinline__`)")
        .suggest(inline::suggestion(cx, object, to.callee.as_slice()))
}

fn incoming(frame: &KernelFrame, count: u64) -> Finding {
    Finding::new(format!("`{}` takes arguments and results in local memory ({})", frame.name, bytes(count)))
        .primary(frame.span.as_ref(), "too large for the argument registers")
        .note("part of the stack frames of its callers; its own is 0 B")
        .help("pass only the members that are needed, or define it where it is called so that it can be inlined")
}

fn routine(frame: &KernelFrame, area: &CallArea, count: u64) -> Finding {
    let kind = if frame.is_entry { "kernel" } else { "function" };
    Finding::new(format!(
        "slow path of a division or root saves registers: {} that ptxas does not report",
        bytes(count)
    ))
    .primary(area.calls.first(), "its slow path is a function of its own")
    .primary(frame.span.as_ref(), "somewhere in this kernel")
    .note(format!("called for very large or small operands and NaN; the code is part of {kind} `{}`", frame.name))
    .help("use `__fdividef` or `-use_fast_math` where its accuracy is enough")
}
