//! A variable of a thread is `volatile`, so it must be in memory.
//!
//! ## Why it costs
//! Each use of a `volatile` variable is a load or a store that the compiler may neither leave out nor keep in a
//! register: a `volatile` local variable lives in local memory, however small it is.
//!
//! ## What to do
//! - `float* volatile p` makes the pointer itself volatile. `volatile float* p`, a pointer to volatile data, is what is
//!   usually meant; it costs no local memory.
//! - `volatile` against reordering of floating-point operations: `__fadd_rn`, `__fmul_rn`, `__dadd_rn` and their like
//!   are never merged or reassociated.
//! - Delay loops: `__nanosleep`, or a loop over `clock64()`.
//! - Elsewhere leave `volatile` out: no other thread can see the variable.
//!
//! ## Fix safety
//! Without `volatile` the compiler may merge, reorder and drop operations, which can change the last digits of a
//! result: the programmer must judge.

use cuda_syntax::tree::{DeclarationKind, Volatility};
use lmem_base::diagnostic::{Applicability, Suggestion};
use lmem_base::level::Level;
use lmem_frame::{StackObject, StackObjectKind, Variable};

use crate::framework::{Check, Finding, Lint, LintContext, describe, object_finding};
use crate::rewrite::facts::sites::declaration_at;

pub(crate) static LINT: Lint = Lint {
    name: "volatile_local",
    level: Level::Warn,
    source: include_str!("volatile_local.rs"),
    check: Check::Object(check),
};

fn check(_: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let is_variable = matches!(object.kind, StackObjectKind::Variable);
    let accesses = object.accesses.iter().filter(|access| is_variable && access.is_volatile);
    let access = accesses.max_by_key(|access| (access.loop_depth, access.count))?;
    let volatility = object.variable.as_ref().and_then(|variable| variable.volatility.as_ref());
    let subject = match &object.variable {
        Some(_) => describe(object),
        None => describe(object).replace("an array of", "a variable of"),
    };
    let message = format!("{subject} lives in local memory: {}", reason(volatility));
    let mut finding = object_finding(object, Some(access), message).access(object, access);
    if volatility.is_none() {
        finding = finding.label(access.span.as_ref(), "accessed as `volatile`");
    }
    if object.accesses.iter().any(|access| access.is_computed()) {
        finding = finding.note("it is indexed at run time too, which alone could keep it in local memory");
    }
    Some(finding.help(advice(object.variable.as_ref())).suggest(drop_volatile(object)))
}

/// The declaration without `volatile`.
fn drop_volatile(object: &StackObject) -> Option<Suggestion> {
    let variable = object.variable.as_ref()?;
    let is_own = matches!(variable.volatility, Some(Volatility::Value | Volatility::Pointer));
    let site = declaration_at(object, &variable.span).filter(|_| is_own)?;
    let edits = site.without("volatile").into_iter().collect();
    let title = match variable.volatility {
        Some(Volatility::Pointer) => {
            format!("leave `volatile` out, or write `{}` if what it points to was meant", meant(variable))
        }
        _ => advice(Some(variable)),
    };
    Some(Suggestion::new(title, Applicability::MaybeIncorrect, edits).within_kernel(site.is_within_kernel()))
}

fn reason(volatility: Option<&Volatility>) -> String {
    match volatility {
        Some(Volatility::Value) => "it is `volatile`".to_string(),
        Some(Volatility::Pointer) => "the pointer itself is `volatile`".to_string(),
        Some(Volatility::Member(name)) => format!("its member `{name}` is `volatile`"),
        None => "it is accessed as `volatile`".to_string(),
    }
}

fn advice(variable: Option<&Variable>) -> String {
    match variable {
        Some(variable) if variable.volatility == Some(Volatility::Pointer) => {
            format!("`{}` was probably meant: it makes what the pointer points to volatile", meant(variable))
        }
        Some(variable) if is_floating(variable) => "leave `volatile` out; to keep floating-point operations as they are written, use `__fadd_rn`, `__fmul_rn` and their like".to_string(),
        _ => "leave `volatile` out: no other thread can see the variable".to_string(),
    }
}

/// `volatile float* p` in place of `float* volatile p`.
fn meant(variable: &Variable) -> String {
    let text = &variable.type_text;
    let pointed = text.rsplit_once('*').map_or(text.as_str(), |(pointed, _)| pointed).trim();
    format!("volatile {}* {}", pointed.strip_prefix("volatile ").unwrap_or(pointed), variable.name)
}

fn is_floating(variable: &Variable) -> bool {
    let is_number = matches!(variable.kind, DeclarationKind::Scalar | DeclarationKind::Array);
    is_number && ["float", "double"].iter().any(|name| variable.type_text.starts_with(name))
}
