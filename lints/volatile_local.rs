//! A thread's variable is `volatile`, so it must be in memory.
//!
//! ## Why it costs
//! The compiler may neither remove an access to a `volatile` variable nor keep the variable in a register. A `volatile`
//! local variable is in local memory, however small it is.
//!
//! ## What to do
//! - `float* volatile p` makes the pointer itself volatile. `volatile float* p`, a pointer to volatile data, is usually
//!   meant; it costs no local memory.
//! - `volatile` against reordering of floating-point operations: use `__fadd_rn`, `__fmul_rn`, `__dadd_rn` and similar
//!   intrinsics, which are never fused or reassociated.
//! - Delay loops: `__nanosleep`, or a loop over `clock64()`.
//! - Otherwise remove `volatile`: no other thread can see the variable.
//!
//! ## Example
//! Before:
//! ```cpp
//! volatile float correction = 0.0f;
//! correction = (t - sum) - y;
//! ```
//! After:
//! ```cpp
//! float correction = 0.0f;
//! correction = __fsub_rn(__fsub_rn(t, sum), y);
//! ```
//!
//! ## Fix safety
//! Without `volatile` the compiler may fuse, reorder and remove operations, which can change the last digits of a
//! result: the programmer must judge.
//!
//! ## When it is wrong
//! A delay loop or a debugger may need the variable in memory. Hand-written PTX (`ld.volatile.local`) has no
//! declaration to change; change the access itself.
//!
//! ## Related lints
//! `address_escape`, `unexplained_local_memory`

use std::collections::BTreeSet;

use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::tree::{DeclarationKind, Volatility};
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::level::Level;
use lmem_base::source::Span;
use lmem_frame::{StackObject, StackObjectKind, Variable};

use crate::framework::{Check, Finding, Lint, LintContext, in_local_memory, in_loop};
use crate::rewrite::facts::assembly::may_have_effects;
use crate::rewrite::facts::sites::{declaration_at, located, trees};
use crate::rewrite::facts::typed_use::may_choose;

pub(crate) static LINT: Lint = Lint {
    name: "volatile_local",
    level: Level::Warn,
    source: include_str!("volatile_local.rs"),
    check: Check::Object(check),
};

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let is_variable = matches!(object.kind, StackObjectKind::Variable);
    let accesses = object.accesses.iter().filter(|access| is_variable && access.is_volatile);
    let access = accesses.max_by_key(|access| (access.loop_depth, access.count))?;
    let volatility = object.variable.as_ref().and_then(|variable| variable.volatility.as_ref());
    let text = if volatility.is_none() { "`volatile` access" } else { "accessed here" };
    let hidden = object.variable.as_ref().filter(|_| is_deduced(object));
    let reason = if hidden.is_some() { "its type is `volatile`".to_string() } else { reason(volatility) };
    let mut finding = in_local_memory(object, Some(access), &reason);
    finding = finding.access(object, access, in_loop(text, object, access));
    if object.accesses.iter().any(|access| access.is_computed()) {
        finding = finding.note("also dynamically indexed, which alone could keep it in local memory");
    }
    // Without a variable, the accesses may be assembly themselves: `ld.volatile.local`.
    // What the toolkit's functions have, as `clock64()`, is `asm volatile`.
    let has_own_assembly = !cx.unit.is_one_file() || trees(object).iter().any(|tree| tree.text().contains("asm"));
    if object.variable.is_some() && may_have_effects(cx.unit.ptx_text(), &cx.frame.mangled, has_own_assembly) {
        return Some(finding.help(FOR_ASSEMBLY));
    }
    let advice = hidden.map_or_else(|| advice(object.variable.as_ref()), deduced_advice);
    Some(finding.help(advice).suggest(drop_volatile(object)))
}

/// Whether the type is `volatile` though its declaration does not say so: `T x`, for a `T` that is deduced from an argument.
fn is_deduced(object: &StackObject) -> bool {
    let Some(variable) = object.variable.as_ref().filter(|it| it.volatility == Some(Volatility::Value)) else {
        return false;
    };
    declaration_at(object, &variable.span).is_some_and(|site| !site.mentions("volatile"))
}

fn deduced_advice(variable: &Variable) -> String {
    format!("the type of `{}` is `volatile` by deduction: declare it with `std::remove_volatile_t`", variable.name)
}

/// Removes `volatile` from the declaration, and from those of variables that share the memory.
fn drop_volatile(object: &StackObject) -> Option<Suggestion> {
    let variable = object.variable.as_ref()?;
    let is_own = matches!(variable.volatility, Some(Volatility::Value | Volatility::Pointer));
    let shared = variable.sharing.iter().map(|other| other.span.as_ref());
    let names: Vec<&Span> = std::iter::once(Some(&variable.span)).chain(shared).collect::<Option<_>>()?;
    if !is_own || names.iter().any(|name| may_choose_by_type(object, name)) {
        return None;
    }
    let mut sites = Vec::new();
    for name in names {
        let site = declaration_at(object, name)?;
        sites.push((site.without("volatile"), site.is_within_kernel()));
    }
    let is_within_kernel = sites.iter().all(|(_, is_within)| *is_within);
    // Several names may be of one declaration.
    let edits: BTreeSet<Edit> = sites.into_iter().filter_map(|(edit, _)| edit).collect();
    let edits: Vec<Edit> = edits.into_iter().collect();
    let title = match variable.volatility {
        Some(Volatility::Pointer) => {
            format!("drop `volatile`, or write `{}` if the data was meant", meant(variable))
        }
        _ if is_floating(variable) => advice(Some(variable)),
        _ if edits.len() > 1 => "drop each `volatile`".to_string(),
        _ => "drop `volatile`".to_string(),
    };
    Some(Suggestion::new(title, Applicability::MaybeIncorrect, edits).within_kernel(is_within_kernel))
}

/// Whether a use of a variable, or of those that its declaration makes `volatile` with it, may mean something else without `volatile`. What
/// pointers and references of the declaration lead to is `volatile`, too: other threads may see that.
fn may_choose_by_type(object: &StackObject, name: &Span) -> bool {
    let chosen = || {
        let (tree, offset) = located(object, name)?;
        let declared = tree.root()?.named_descendant_for_byte_range(offset, offset + 1)?;
        let statement = declared.ancestors().find(|node| node.is_declaration() && node.field(Field::Type).is_some())?;
        let declarators: Vec<Node<'_>> = statement.fields(Field::Declarator).collect();
        let is_shared = declarators.len() > 1
            && statement
                .children()
                .any(|word| tree.slice(word) == "volatile" && word.end_byte() <= declarators[0].start_byte());
        if !is_shared {
            return Some(may_choose(tree, declared));
        }
        let names: Vec<Node<'_>> = declarators.into_iter().map(plain_name).collect::<Option<_>>()?;
        Some(names.into_iter().any(|name| may_choose(tree, name)))
    };
    chosen().unwrap_or(true)
}

/// The name that a declarator without a pointer, a reference or a function declares: of `v`, `v = 1` and `v[4]`.
fn plain_name(declarator: Node<'_>) -> Option<Node<'_>> {
    match declarator.kind() {
        Kind::Identifier => Some(declarator),
        Kind::InitDeclarator | Kind::ArrayDeclarator => plain_name(declarator.field(Field::Declarator)?),
        _ => None,
    }
}

fn reason(volatility: Option<&Volatility>) -> String {
    match volatility {
        Some(Volatility::Value) => "declared `volatile`".to_string(),
        Some(Volatility::Pointer) => "the pointer itself is `volatile`".to_string(),
        Some(Volatility::Member(name)) => format!("member `{name}` is `volatile`"),
        None => "accessed as `volatile`".to_string(),
    }
}

/// What keeps the code where `volatile` did.
const FOR_ASSEMBLY: &str = "drop `volatile`, once inline assembly that does more than arithmetic, or leaves a carry, is `asm volatile`: the \
                            compiler takes other assembly away where nothing needs its results";

/// Why `volatile` may stand there.
const KEEP_OPERATIONS: &str = "; `__fadd_rn` and `__fmul_rn` keep floating-point operations as written";

/// Why it need not.
const NOBODY_SEES: &str = ": no other thread can see the variable";

fn advice(variable: Option<&Variable>) -> String {
    match variable {
        Some(variable) if variable.volatility == Some(Volatility::Pointer) => {
            format!("write `{}` if the data was meant to be volatile, not the pointer", meant(variable))
        }
        Some(variable) if variable.volatility.is_none() => {
            let reason = if is_floating(variable) { KEEP_OPERATIONS } else { NOBODY_SEES };
            format!("drop `volatile` from the pointer, reference or cast that `{}` is accessed through{reason}", variable.name)
        }
        Some(variable) if is_floating(variable) => format!("drop `volatile`{KEEP_OPERATIONS}"),
        Some(_) => format!("drop `volatile`{NOBODY_SEES}"),
        // Hand-written PTX (`ld.volatile.local`) has no declaration to change.
        None => "drop `volatile` from the type, pointer, reference or inline PTX of these accesses: no other thread can see this memory".to_string(),
    }
}

/// The type that was probably meant: `volatile float* p` for `float* volatile p`.
fn meant(variable: &Variable) -> String {
    let text = &variable.type_text;
    let pointed = text.rsplit_once('*').map_or(text.as_str(), |(pointed, _)| pointed).trim();
    format!("volatile {}* {}", pointed.strip_prefix("volatile ").unwrap_or(pointed), variable.name)
}

fn is_floating(variable: &Variable) -> bool {
    let is_number = matches!(variable.kind, DeclarationKind::Scalar | DeclarationKind::Array);
    is_number && ["float", "double"].iter().any(|name| variable.type_text.starts_with(name))
}
