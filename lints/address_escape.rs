//! The address of a variable leaves the function, so the variable must be in memory.
//!
//! ## Why it costs
//! A function that is not inlined gets a pointer, and a pointer needs memory. The variable is stored before the call,
//! loaded and stored inside, and loaded again after it. On an H200, a pointer to 16 bytes in a hot loop made the kernel
//! 7 times slower than passing and returning the value.
//!
//! ## What to do
//! - Let the function be inlined: `__forceinline__` instead of `__noinline__`, and its definition in a header.
//! - Pass the value and return it: registers can hold arguments and results.
//! - Replace indirect and virtual calls by a `switch`.
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
//! Inlining keeps the meaning. Passing by value changes every call of the function. It is offered if the function only
//! reads and writes through the parameter, nothing else gets the variable's address, and copying it does nothing else;
//! other files that declare or call the function must follow. A `switch`
//! instead of a function table keeps the meaning if nothing writes to the table. The source alone shows that only for a
//! `static` table. An index beyond the table was undefined; it now calls the last function. Where neither is possible,
//! a kernel's own variable may be moved to shared memory, which also has addresses: see `dynamic_index`.
//!
//! ## When it is wrong
//! An address that is passed once, outside loops, costs a few instructions. What a function of another unit
//! (`-rdc=true`) does with the address is unknown; it may require local memory.
//!
//! ## Related lints
//! `call_frame`, `recursive_call`, `param_copy`

use lmem_base::level::Level;
use lmem_base::mangling::demangle;
use lmem_frame::{Escape, EscapeKind, StackObject, StackObjectKind};
use nv_code::AccessKind;

use crate::framework::{Check, Finding, Lint, LintContext, in_local_memory, in_loop};
use crate::large_array::{IN_PIECES, exceeds_registers};
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
    let finding = match guilty {
        Some(access) if is_printed(object) && access.is_computed() => {
            finding.access(object, access, "dynamically indexed as well".to_string())
        }
        _ => finding,
    };
    let finding = match guilty.filter(|access| access.in_callee) {
        Some(access) => finding.label(access.span.as_ref(), in_loop("accessed through the pointer", object, access)),
        None => finding,
    };
    // A function of another unit may require an address in local memory.
    let is_known = !object.escapes().iter().any(|escape| escape.is_external);
    let shared = is_known.then(|| shared::suggestion(cx, object)).flatten();
    let inlined = callees(object).and_then(|callees| inline::suggestion(cx, object, &callees));
    // No inlining brings into registers what is larger than they are.
    let is_large = exceeds_registers(object.bytes);
    let finding = finding.help(if is_large { IN_PIECES } else { advice(escape) });
    let finding = finding.suggest(inlined.filter(|_| !is_large)).suggest(by_value::suggestion(cx, object));
    Some(finding.suggest(devirtualize::suggestion(cx, object)).suggest(shared))
}

/// Whether `printf` alone reads an object: whatever its indices are, its address is taken.
pub(crate) fn is_printed(object: &StackObject) -> bool {
    object.escapes().iter().any(|escape| escape.kind == EscapeKind::Printed)
        && object.accesses.iter().all(|access| access.kind == AccessKind::Store)
}

/// The callees that get the address, if it escapes in no other way. Where one reads it from a structure, it does not know of which
/// memory it is until it is inlined.
fn callees(object: &StackObject) -> Option<Vec<String>> {
    let name = |escape: &Escape| match &escape.kind {
        EscapeKind::Call(function) => Some(function.clone()),
        _ => None,
    };
    let is_in_callee = |escape: &Escape| matches!(escape.kind, EscapeKind::Generic(_)) && !escape.is_own;
    let names = object.escapes().iter().filter(|escape| !is_in_callee(escape)).map(name);
    names.collect::<Option<Vec<_>>>().filter(|names| !names.is_empty())
}

/// Sort key: the escape that the user will most likely change comes first.
fn order(kind: &EscapeKind) -> u8 {
    match kind {
        EscapeKind::Call(_) => 0,
        EscapeKind::IndirectCall => 1,
        EscapeKind::Stored => 2,
        EscapeKind::Generic(_) => 3,
        EscapeKind::Printed => 4,
    }
}

/// The name in the source of a function of CUDA's device runtime, such as `cudaStreamCreateWithFlags`.
fn runtime_function(name: &str) -> Option<String> {
    name.strip_prefix("__cudaCDP2").or_else(|| name.strip_prefix("__cudaCDP")).map(|name| format!("cuda{name}"))
}

fn way(escape: &Escape) -> String {
    match &escape.kind {
        EscapeKind::Call(name) => match (runtime_function(name), escape.is_external) {
            (Some(name), _) => format!("address escapes to `{name}` of CUDA's device runtime"),
            (None, true) => format!("address escapes to `{}`, an external function", demangle(name)),
            (None, false) => format!("address escapes to `{}`", demangle(name)),
        },
        EscapeKind::IndirectCall => "address escapes to an indirect call".to_string(),
        EscapeKind::Stored => "address stored to memory".to_string(),
        EscapeKind::Printed => "address escapes to `printf`".to_string(),
        EscapeKind::Generic(opcode) => format!("used as a generic address (`{opcode}`)"),
    }
}

/// Findings with the same recursion, callee or indirect call have one cause: one change helps all of them.
fn cause(cx: &LintContext<'_>, escape: &Escape) -> Option<String> {
    let callee = match &escape.kind {
        EscapeKind::Call(name) => demangle(name),
        EscapeKind::IndirectCall => return escape.span.as_ref().map(|call| format!("indirect call at {call:?}")),
        EscapeKind::Stored | EscapeKind::Printed | EscapeKind::Generic(_) => return None,
    };
    let started = cx.frame.objects.iter().filter_map(|object| match &object.kind {
        StackObjectKind::Recursion(recursion) => Some(recursion),
        _ => None,
    });
    let mut recursions = started.chain(cx.frame.recursion.as_ref());
    match recursions.find(|recursion| recursion.functions.contains(&callee)) {
        Some(recursion) => Some(crate::recursive_call::cause(cx, recursion)),
        None => Some(format!("call of {callee} in {}", cx.unit.unit.name)),
    }
}

fn advice(escape: &Escape) -> &'static str {
    match &escape.kind {
        EscapeKind::Call(name) if runtime_function(name).is_some() => {
            "the device runtime takes an address, which costs little beside the call itself"
        }
        EscapeKind::Call(_) if escape.is_external => {
            "define the function in a header so that it can be inlined, or pass and return the value"
        }
        EscapeKind::Call(_) => "let the function be inlined (`__forceinline__`), or pass and return the value",
        EscapeKind::IndirectCall => {
            "replace the indirect call by a `switch` over direct calls, a virtual one by `Class::function()`"
        }
        EscapeKind::Printed => "print the elements as values, or leave `printf` out of release builds",
        EscapeKind::Stored => "keep the pointer out of memory: pass the value, or an index",
        EscapeKind::Generic(_) => "do not mix pointers to local variables with pointers to other memory",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_device_runtime_have_their_names_of_the_source() {
        let escape = |function: &str| Escape {
            kind: EscapeKind::Call(function.to_string()),
            argument: Some((0, 2)),
            places: Default::default(),
            span: None,
            is_external: true,
            is_own: true,
        };
        let stream = escape("__cudaCDP2StreamCreateWithFlags");
        assert_eq!(way(&stream), "address escapes to `cudaStreamCreateWithFlags` of CUDA's device runtime");
        assert!(advice(&stream).starts_with("the device runtime"));
        assert_eq!(way(&escape("_Z4keepPf")), "address escapes to `keep`, an external function");
        assert!(advice(&escape("_Z4keepPf")).starts_with("define the function in a header"));
    }
}
