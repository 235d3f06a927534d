//! The address of a variable leaves the function, so the variable must be in memory.
//!
//! ## Why it costs
//! A function that is not inlined gets a pointer, and a pointer needs memory: the variable is stored before the
//! call, loaded and stored inside, and loaded again after it. On an H200 a pointer to 16 bytes in a hot loop
//! cost 7 times the same kernel with the value passed and returned.
//!
//! ## What to do
//! - Let the function be inlined: `__forceinline__` in place of `__noinline__`, its definition in a header.
//! - Pass the value and return it: registers can hold arguments and results.
//! - Replace calls through pointers and virtual calls by a `switch`.
//!
//! ## Example
//! Before:
//! ```cpp
//! __device__ __noinline__ void push(Particle *p, float dt) {
//! for (int step = 0; step < 10; ++step) push(&p, dt);
//! ```
//! After:
//! ```cpp
//! __device__ __noinline__ Particle pushed(Particle p, float dt) {
//! for (int step = 0; step < 10; ++step) p = pushed(p, dt);
//! ```
//!
//! ## Fix safety
//! Inlining keeps the meaning. Passing by value changes every call of the function, and is offered where the function does
//! nothing but read and write what its parameter leads to; other files that declare or call it must follow. A `switch` in place of a table of
//! functions keeps it where nothing writes to the table, which the source alone cannot show unless it is `static`; an index
//! beyond the table, which was undefined, calls the last function then. Where neither is possible, a kernel's own variable
//! may become a part of shared memory, which has addresses too: see `dynamic_index`.
//!
//! ## When it is wrong
//! An address that is passed on once, outside of loops, costs a few instructions. What a function of another unit (`-rdc=true`) does
//! with an address is not seen; it may be what local memory is for.
//!
//! ## Related lints
//! `call_frame`, `recursive_call`, `param_copy`

use lmem_base::level::Level;
use lmem_base::mangling::demangle;
use lmem_frame::{Escape, EscapeKind, StackObject, StackObjectKind};

use crate::framework::{Check, Finding, Lint, LintContext, in_local_memory, in_loop};
use crate::rewrite::{by_value, devirtualize, inline, shared};

pub(crate) static LINT: Lint = Lint {
    name: "address_escape",
    level: Level::Warn,
    source: include_str!("address_escape.rs"),
    check: Check::Object(check),
};

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    if !matches!(object.kind, StackObjectKind::Variable) {
        return None;
    }
    let escape = object.escapes().iter().min_by_key(|escape| order(&escape.kind))?;
    let guilty = object.guilty();
    let mut finding = in_local_memory(object, guilty, &way(escape))
        .primary(escape.span.as_ref(), "address escapes here")
        .label(escape.span.as_ref(), "address escapes here");
    finding.cause = cause(cx, escape);
    let finding = match guilty.filter(|access| access.in_callee) {
        Some(access) => finding.label(access.span.as_ref(), in_loop("accessed through the pointer", object, access)),
        None => finding,
    };
    // What a function of another unit does with an address is not seen: it may want one of local memory.
    let is_known = !object.escapes().iter().any(|escape| escape.is_external);
    let shared = is_known.then(|| shared::suggestion(cx, object)).flatten();
    let inlined = callees(object).and_then(|callees| inline::suggestion(cx, object, &callees));
    let finding = finding.help(advice(escape)).suggest(inlined).suggest(by_value::suggestion(cx, object));
    Some(finding.suggest(devirtualize::suggestion(cx, object)).suggest(shared))
}

/// The functions that the address is passed to, where it leaves in no other way.
fn callees(object: &StackObject) -> Option<Vec<String>> {
    let name = |escape: &Escape| match &escape.kind {
        EscapeKind::Call(function) => Some(function.clone()),
        _ => None,
    };
    object.escapes().iter().map(name).collect()
}

/// What is most likely to be changed comes first.
fn order(kind: &EscapeKind) -> u8 {
    match kind {
        EscapeKind::Call(_) => 0,
        EscapeKind::IndirectCall => 1,
        EscapeKind::Stored => 2,
        EscapeKind::Generic(_) => 3,
    }
}

fn way(escape: &Escape) -> String {
    match &escape.kind {
        EscapeKind::Call(name) if escape.is_external => {
            format!("address escapes to `{}`, an external function", demangle(name))
        }
        EscapeKind::Call(name) => format!("address escapes to `{}`", demangle(name)),
        EscapeKind::IndirectCall => "address escapes to an indirect call".to_string(),
        EscapeKind::Stored => "address stored to memory".to_string(),
        EscapeKind::Generic(opcode) => format!("used as a generic address (`{opcode}`)"),
    }
}

/// One recursion, one function that is not inlined, one indirect call: what is changed there helps all that it takes.
fn cause(cx: &LintContext<'_>, escape: &Escape) -> Option<String> {
    let callee = match &escape.kind {
        EscapeKind::Call(name) => demangle(name),
        EscapeKind::IndirectCall => return escape.span.as_ref().map(|call| format!("indirect call at {call:?}")),
        EscapeKind::Stored | EscapeKind::Generic(_) => return None,
    };
    let started = cx.frame.objects.iter().filter_map(|object| match &object.kind {
        StackObjectKind::Recursion(recursion) => Some(&**recursion),
        _ => None,
    });
    let mut recursions = started.chain(cx.frame.recursion.as_ref());
    match recursions.find(|recursion| recursion.functions.contains(&callee)) {
        Some(recursion) => Some(crate::recursive_call::cause(cx, recursion)),
        None => Some(format!("call of {callee} in {}", cx.unit.unit.name)),
    }
}

fn advice(escape: &Escape) -> &'static str {
    match escape.kind {
        EscapeKind::Call(_) if escape.is_external => {
            "define the function in a header so that it can be inlined, or pass and return the value"
        }
        EscapeKind::Call(_) => "let the function be inlined (`__forceinline__`), or pass and return the value",
        EscapeKind::IndirectCall => "replace the indirect call by a `switch` over direct calls",
        EscapeKind::Stored => "keep the pointer out of memory: pass the value, or an index",
        EscapeKind::Generic(_) => "do not mix pointers to local variables with pointers to other memory",
    }
}
