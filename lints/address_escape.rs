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
//! ## Fix safety
//! Inlining keeps the meaning. Passing by value changes every call of the function, and is offered where the function does
//! nothing but read and write what its parameter leads to; other files that declare or call it must follow. A `switch` in place of a table of
//! functions keeps it where nothing writes to the table, which the source alone cannot show unless it is `static`; an index
//! beyond the table, which was undefined, calls the last function then. Where neither is possible, a kernel's own variable
//! may become a part of shared memory, which has addresses too: see `dynamic_index`.

use lmem_base::level::Level;
use lmem_base::mangling::demangle;
use lmem_frame::{Escape, EscapeKind, StackObject, StackObjectKind};

use crate::framework::{Check, Finding, Lint, LintContext, describe, object_finding, traffic};
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
    let escape = object.escapes.iter().min_by_key(|escape| order(&escape.kind))?;
    let subject = match &object.variable {
        Some(_) => describe(object),
        None => describe(object).replace("an array of", "a variable of"),
    };
    let message = format!("{subject} lives in local memory: its address {}", way(escape));
    let guilty = object.guilty();
    let finding = object_finding(object, guilty, message)
        .primary(escape.span.as_ref(), "the address leaves here")
        .label(escape.span.as_ref(), "the address leaves here");
    let finding = match guilty.filter(|access| access.in_callee) {
        Some(access) => finding.label(access.span.as_ref(), format!("{} through the pointer", traffic(object, access))),
        None => finding,
    };
    // What a function of another unit does with an address is not seen: it may want one of local memory.
    let is_known = !object.escapes.iter().any(|escape| escape.is_external);
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
    object.escapes.iter().map(name).collect()
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
            format!("is passed to `{}`, an external function", demangle(name))
        }
        EscapeKind::Call(name) => format!("is passed to `{}`, which is not inlined", demangle(name)),
        EscapeKind::IndirectCall => "is passed to a function behind a pointer".to_string(),
        EscapeKind::Stored => "is stored to memory".to_string(),
        EscapeKind::Generic(opcode) => format!("is used as an address of any memory (`{opcode}`)"),
    }
}

fn advice(escape: &Escape) -> &'static str {
    match escape.kind {
        EscapeKind::Call(_) if escape.is_external => {
            "define the function in a header so that it can be inlined, or pass and return the value instead of a pointer to it"
        }
        EscapeKind::Call(_) => {
            "let the function be inlined (`__forceinline__`), or pass and return the value instead of a pointer to it"
        }
        EscapeKind::IndirectCall => "call the functions by name, in a `switch`, so that they can be inlined",
        EscapeKind::Stored => "keep the pointer out of memory: pass the value, or an index",
        EscapeKind::Generic(_) => "do not mix pointers to local variables with pointers to other memory",
    }
}
