//! A function that was not inlined needs local memory for being called.
//!
//! ## Why it costs
//! A function that is called through a pointer, or from another unit (`-rdc=true`), must follow the calling convention:
//! it stores the registers that its callers want to keep and loads them again before it returns, in every call.
//! Arguments and results that do not fit into the registers meant for them, such as structures by value, are written
//! to the stack of the caller. Functions that a kernel calls by name have no such frames: `ptxas` knows all callers.
//!
//! ## What to do
//! - Call the function by name: a `switch` in place of a table of functions or of a virtual call.
//! - Define it where it is called, and leave `-rdc=true` out, or link with `-dlto`.
//! - Pass less: the members that are needed, not the whole structure.
//!
//! ## Fix safety
//! Inlining and calls by name keep the meaning. `__forceinline__` is suggested for a `__noinline__` function that is called by
//! name, and where other units are linked (`-rdc=true`) for the programmer to judge: they may call it too. A table of functions
//! that are all defined in the file becomes a `switch`: see `address_escape`. All else is advice: calls through pointers are
//! often deliberate.

use lmem_base::level::Level;
use lmem_base::mangling::demangle;
use lmem_base::words::plural;
use lmem_frame::{CallArea, CallAreaKind, EscapeKind, KernelFrame, PassedTo, StackObject, StackObjectKind};

use crate::framework::{Check, Finding, Lint, LintContext, bytes, object_finding};
use crate::rewrite::{devirtualize, inline};

pub(crate) static LINT: Lint =
    Lint { name: "call_frame", level: Level::Warn, source: include_str!("call_frame.rs"), check: Check::Object(check) };

/// Kernels and calls that are named.
const SHOWN: usize = 3;

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let is_read_only = object.escapes.iter().all(|escape| matches!(escape.kind, EscapeKind::Generic(_)));
    if let (StackObjectKind::Variable, Some(to), None) = (&object.kind, &object.passed_to(), &object.variable)
        && is_read_only
    {
        return Some(copied(cx, object, to));
    }
    let StackObjectKind::Call(area) = &object.kind else { return None };
    let mut finding = match area.kind {
        CallAreaKind::Saved { registers } => saved(cx, area, registers, object.bytes - object.padding),
        CallAreaKind::Passed { arguments, result } => passed(cx, area, arguments, result),
        CallAreaKind::Incoming { bytes } => incoming(cx.frame, bytes),
        CallAreaKind::Routine { bytes } => routine(cx.frame, area, bytes),
    };
    (finding.loads, finding.stores, finding.loop_depth) = (area.loads, area.stores, area.loop_depth);
    Some(finding)
}

fn saved(cx: &LintContext<'_>, area: &CallArea, registers: u64, size: u64) -> Finding {
    let frame = cx.frame;
    let message = format!(
        "function `{}` saves {} of its callers: {} of local memory",
        frame.name,
        plural(registers, "register"),
        bytes(size)
    );
    let mut finding = Finding::new(message).primary(frame.span.as_ref(), "stored and loaded again in every call");
    finding = finding.primary(area.calls.first(), "called here");
    let (why, help) = reason(frame);
    finding = finding.note(why);
    if !frame.kernels.is_empty() {
        finding = finding
            .note(format!("{} may call it: no frame that ptxas reports for a kernel counts this one", kernels(frame)));
    }
    let is_named = !frame.is_address_taken && !frame.kernels.is_empty();
    let inlined = frame.span.as_ref().filter(|_| is_named).and_then(|name| inline::of_function(cx, name));
    let by_name = frame.span.as_ref().filter(|_| frame.is_address_taken);
    let by_name = by_name.and_then(|name| devirtualize::of_function(cx, name));
    finding.help(help).suggest(inlined).suggest(by_name)
}

/// Why a function must save registers, and what to do about it.
fn reason(frame: &KernelFrame) -> (&'static str, &'static str) {
    match (frame.is_address_taken, frame.kernels.is_empty()) {
        (true, _) => (
            "it is called through a pointer: ptxas does not know its callers",
            "call it by name, in a `switch`, so that it can be inlined",
        ),
        (false, true) => (
            "it is compiled separately (`-rdc=true`): ptxas does not know its callers",
            "define it where it is called and leave `-rdc=true` out, or link with `-dlto`",
        ),
        (false, false) => (
            "it is called by a function that is called through a pointer or by itself",
            "let it be inlined (`__forceinline__`), or call its caller by name",
        ),
    }
}

fn kernels(frame: &KernelFrame) -> String {
    let names: Vec<String> = frame.kernels.iter().map(|name| format!("`{}`", demangle(name))).collect();
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    let what = if names.len() == 1 { "kernel" } else { "kernels" };
    match names.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{what} {shown} and {more} more"),
        _ => format!("{what} {shown}"),
    }
}

fn passed(cx: &LintContext<'_>, area: &CallArea, arguments: u64, result: u64) -> Finding {
    let frame = cx.frame;
    let callee = match area.callees.first() {
        Some(Some(name)) => format!("`{}`", demangle(name)),
        _ => "a function behind a pointer".to_string(),
    };
    let what = match (arguments, result) {
        (_, 0) => format!("the arguments of {callee} take {} of local memory", bytes(arguments)),
        (0, _) => format!("the result of {callee} takes {} of local memory", bytes(result)),
        _ => format!(
            "arguments and result of {callee} take {} of local memory: {} and {}",
            bytes(arguments + result),
            bytes(arguments),
            bytes(result)
        ),
    };
    let kind = if frame.is_entry { "kernel" } else { "function" };
    let mut finding =
        Finding::new(what).primary(area.callee_span.as_ref(), "more than fits into the registers for arguments");
    for call in area.calls.iter().take(SHOWN) {
        finding =
            finding.primary(Some(call), "passed through memory here").label(Some(call), "passed through memory here");
    }
    if let Some(others) = area.callees.len().checked_sub(1).filter(|others| *others > 0) {
        finding = finding.note(format!("{} more use the same memory", plural(others as u64, "function")));
    }
    let is_named = matches!(area.callees.as_slice(), [Some(_)]);
    let inlined = area.callee_span.as_ref().filter(|_| is_named).and_then(|name| inline::of_function(cx, name));
    let by_name = area.calls.first().filter(|_| !is_named).and_then(|call| devirtualize::near_call(cx, call));
    finding
        .suggest(inlined)
        .suggest(by_name)
        .note(format!("they lie in the frame of {kind} `{}`, which calls it", frame.name))
        .help("pass only the members that are needed, or let the function be inlined: call it by name, defined in the same unit")
}

/// A structure that is copied to local memory before a call takes it from there.
fn copied(cx: &LintContext<'_>, object: &StackObject, to: &PassedTo) -> Finding {
    let callee = match &to.callee {
        Some(name) => format!("`{}`", demangle(name)),
        None => "a function behind a pointer".to_string(),
    };
    let message =
        format!("an argument of {callee} is copied to local memory: {}", bytes(object.bytes - object.padding));
    object_finding(object, object.guilty(), message)
        .primary(to.call.as_ref(), "passed by value here")
        .primary(cx.frame.span.as_ref(), "in this kernel")
        .help("pass only the members that are needed, or let the function be inlined (`__forceinline__`)")
        .suggest(inline::suggestion(cx, object, to.callee.as_slice()))
}

fn incoming(frame: &KernelFrame, count: u64) -> Finding {
    Finding::new(format!(
        "function `{}` takes {} of arguments and results through local memory",
        frame.name,
        bytes(count)
    ))
    .primary(frame.span.as_ref(), "more than fits into the registers for arguments")
    .note("they lie in the frames of its callers: its own frame is 0 bytes")
    .help("pass only the members that are needed, or define the function where it is called so that it can be inlined")
}

fn routine(frame: &KernelFrame, area: &CallArea, count: u64) -> Finding {
    let kind = if frame.is_entry { "kernel" } else { "function" };
    Finding::new(format!(
        "the slow path of a division or root saves registers: {} of local memory that ptxas does not report",
        bytes(count)
    ))
    .primary(area.calls.first(), "its slow path is a function of its own")
    .primary(frame.span.as_ref(), "somewhere in this kernel")
    .note(format!(
        "it is called for operands that are very large, very small or no numbers; its code is that of {kind} `{}`",
        frame.name
    ))
    .help("divide with `__fdividef` or `-use_fast_math` where its accuracy will do")
}
