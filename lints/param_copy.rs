//! A kernel parameter passed by value is copied to local memory.
//!
//! ## Why it costs
//! Parameters are in constant memory, where any index can be read without a copy. If a parameter is written, or its
//! address is used as an ordinary address, every thread copies it at kernel start: all of it, however little is used.
//! On an H200, kernels without the copy were 1.4 to 6.6 times faster.
//!
//! ## What to do
//! - Never written: `const __grid_constant__ Config c` (sm_70 and later). The address of such a parameter may be passed
//!   on, and tables of pointers in it may be dynamically indexed.
//! - Written: leave the parameter unchanged, and keep the changing members in variables of their own.
//! - Copied (`Config s = c;`): read the parameter itself.
//!
//! ## Example
//! Before:
//! ```cpp
//! __global__ void sum_columns(Tables tables, float *out) {
//!     for (int k = 0; k < tables.count; ++k) sum += tables.column[k][threadIdx.x];
//! ```
//! After:
//! ```cpp
//! __global__ void sum_columns(const __grid_constant__ Tables tables, float *out) {
//! ```
//!
//! ## Fix safety
//! `const __grid_constant__` keeps the meaning if nothing writes to the parameter. A function that gets its address
//! must take a pointer to `const`. A parameter or copy whose elements are written may be moved to shared memory, one
//! part per thread: see `dynamic_index`. A member gets a variable of its own if the file shows that it is a number, a
//! pointer or a plain structure: no bit-field, and not in a union.
//!
//! ## When it is wrong
//! Constant memory serializes reads of different addresses in a warp. A parameter that is read at divergent indices may
//! be faster as a copy, so no edit is suggested there.
//!
//! ## Related lints
//! `dynamic_index`, `address_escape`

use cuda_syntax::tree::{DeclarationKind, access_path, enclosing_function, role};
use lmem_base::diagnostic::{Applicability, Edit, Suggestion, Uniformity};
use lmem_base::level::Level;
use lmem_base::mangling::demangle;
use lmem_base::words::bytes;
use lmem_frame::{
    Address, Escape, EscapeKind, Parameter, ParameterCopy, StackObject, StackObjectKind, StoredValues, Variable,
};

use crate::framework::{Check, Finding, Lint, LintContext, describe, in_loop, line_of, object_finding, origin};
use crate::rewrite::facts::sites::{DeclarationSite, declaration_at, located};
use crate::rewrite::sroa::scalar_replacement;
use crate::rewrite::{Rewrite, by_reference, shared};

pub(crate) static LINT: Lint =
    Lint { name: "param_copy", level: Level::Warn, source: include_str!("param_copy.rs"), check: Check::Object(check) };

/// Number of writes to label.
const SHOWN_WRITES: usize = 3;

/// Up to this size, the object may be a number or pointer in a variable, not a copy of a structure.
const VALUE_BYTES: u64 = 8;

/// How the object relates to the parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copied {
    /// The copy of the parameter itself.
    Itself,
    /// The parameter of an inlined function.
    Inner,
    /// A variable of the kernel.
    Variable,
    /// A part of the parameter, without a name.
    Part,
}

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let StoredValues::Parameter(copy) = object.stored_values() else { return None };
    let copied = copied(object, copy).filter(|_| matches!(object.kind, StackObjectKind::Variable))?;
    let escape = object.escapes().iter().min_by_key(|escape| order(&escape.kind));
    let message = format!("{}: {}", subject(object, copy, copied), reason(object, copy, copied, escape));
    let guilty = object.guilty();
    let parameter = copy.parameter.as_ref();
    let mut finding =
        object_finding(object, guilty, message).primary(parameter.map(|parameter| &parameter.span), "this parameter");
    if finding.variable.as_ref().is_some_and(|name| name.contains('.')) {
        // The headline names the structure.
        finding.variable = finding.variable.map(|name| name.split('.').next().unwrap_or_default().to_string());
        finding.size = Some(object.bytes);
    }
    if copied != Copied::Itself {
        finding = finding.label(parameter.map(|parameter| &parameter.span), "copied from this parameter");
    }
    for write in copy.writes.iter().take(SHOWN_WRITES) {
        finding = finding.label(Some(write), "written here");
    }
    if let Some(escape) = escape {
        finding = finding.label(escape.span.as_ref(), "address escapes here");
    }
    // If the address escapes, the accesses are those of the copy.
    if let Some(guilty) = guilty.filter(|_| escape.is_none()) {
        // One of several indices may belong to a pointer in the parameter, so no index is labelled.
        let text = match &guilty.address {
            Address::Computed(sources) => origin(sources),
            _ => "accessed here".to_string(),
        };
        finding = finding.access(object, guilty, in_loop(&text, object, guilty));
    }
    let finding = finding.help(advice(cx, object, copy, copied));
    let finding = grid_constant(cx, object, copy, copied).into_iter().fold(finding, |it, one| it.suggest(Some(one)));
    let own = written_members(cx, object, copy, copied).into_iter().flatten();
    let finding = own.fold(finding, |finding, own| finding.suggest(Some(own)));
    // A copy that nothing writes is the same in all threads: a row for each of them would be waste.
    let is_changed = !copy.writes.is_empty() || copy.may_be_written;
    Some(finding.suggest(shared::suggestion(cx, object).filter(|_| is_changed)))
}

/// Inserts `const __grid_constant__` before the parameter, alone or with references to it in the functions that get copies. If the
/// compiler sees a write to it, it rejects the edit; a write that it does not see would be an error all the same.
fn grid_constant(cx: &LintContext<'_>, object: &StackObject, copy: &ParameterCopy, copied: Copied) -> Vec<Suggestion> {
    let is_copied = copied != Copied::Variable && cx.frame.is_entry;
    let parameter = copy.parameter.as_ref().filter(|_| is_copied && copy.writes.is_empty() && !is_read_apart(object));
    let Some((parameter, site)) = parameter.and_then(|it| Some((it, declaration_at(object, &it.span)?))) else {
        return Vec::new();
    };
    let applicability = match copy.may_be_written {
        true => Applicability::MaybeIncorrect,
        false => Applicability::MachineApplicable,
    };
    let Some(constant) = constant_in_place(cx, &site) else { return Vec::new() };
    let title = format!("declare `{}` as `const __grid_constant__`", parameter.name);
    let alone = (copied != Copied::Inner).then(|| {
        let rewrite = Rewrite::new(applicability, vec![constant.clone()]).within_kernel(site.is_within_kernel());
        rewrite.suggestion(format!("{title} (read in place, no copy)"))
    });
    let with_functions = by_reference::edits(object, &parameter.span).map(|(functions, mut edits)| {
        let functions: Vec<String> = functions.iter().map(|function| format!("`{function}`")).collect();
        edits.push(constant);
        Rewrite::new(applicability, edits)
            .suggestion(format!("{title}, and take it by reference in {}", functions.join(", ")))
    });
    alone.into_iter().chain(with_functions).collect()
}

/// Whether the kernel reads elements at divergent indices, which constant memory serializes. On an H200 a loop over 16
/// elements of a parameter took 0.040 ms with the copy, and 0.067 ms without.
fn is_read_apart(object: &StackObject) -> bool {
    object.accesses.iter().filter(|access| !access.in_callee).any(|access| match &access.address {
        Address::Computed(sources) => sources.uniformity() != Some(Uniformity::Uniform),
        _ => false,
    })
}

fn constant_in_place(cx: &LintContext<'_>, site: &DeclarationSite) -> Option<Edit> {
    let words = match site.has("const") {
        true => "__grid_constant__ ",
        false => "const __grid_constant__ ",
    };
    let is_fit = cx.arch.gpu().has_grid_constants && !site.has("__grid_constant__");
    site.prefix(words).filter(|_| is_fit && site.may_be_const())
}

/// Moves the written members to variables. If the compiler would still copy the others, the parameter is declared
/// constant too.
fn written_members(
    cx: &LintContext<'_>,
    object: &StackObject,
    copy: &ParameterCopy,
    copied: Copied,
) -> Option<Vec<Suggestion>> {
    let parameter = copy.parameter.as_ref().filter(|_| copied == Copied::Itself && cx.frame.is_entry)?;
    let (members, rewrite) = scalar_replacement(object, &parameter.span)?;
    let names: Vec<String> = members.iter().map(|member| format!("`{member}`")).collect();
    let title = format!("keep what changes of `{}` in variables: {}", parameter.name, names.join(", "));
    if is_read_apart(object) {
        return Some(vec![rewrite.suggestion(title)]);
    }
    let constant = declaration_at(object, &parameter.span).and_then(|site| constant_in_place(cx, &site));
    let constant = Rewrite::new(Applicability::MaybeIncorrect, constant.into_iter().collect()).within_kernel(true);
    let with_constant = rewrite.clone().and(constant)?;
    let constant_title = format!("{title}; declare it `const __grid_constant__`");
    Some(vec![rewrite.suggestion(title), with_constant.suggestion(constant_title)])
}

fn copied(object: &StackObject, copy: &ParameterCopy) -> Option<Copied> {
    let parameter = copy.parameter.as_ref();
    let is_whole = copy.is_whole && copy.bytes > VALUE_BYTES;
    let Some(variable) = &object.variable else { return is_whole.then_some(Copied::Part) };
    if variable.is_parameter && parameter.is_some_and(|parameter| parameter.span == variable.span) {
        return Some(Copied::Itself);
    }
    // A constructor may take a number, and fill the object with something else.
    let copies_most = copy.bytes.saturating_mul(2) >= object.bytes;
    let is_declared = parameter.is_some_and(|parameter| {
        is_initialized_with(variable, parameter) && (variable.type_text == parameter.type_text || copies_most)
    });
    let is_untouched = copy.writes.is_empty() && !copy.may_be_written;
    // The name may be that of an indexed member; the copy is that of the whole structure.
    let kind = if variable.name.contains('.') { DeclarationKind::Aggregate } else { variable.kind };
    let is_copy = match kind {
        DeclarationKind::Aggregate => is_whole,
        // An array that starts as a copy and is modified later is an ordinary variable.
        DeclarationKind::Array => is_whole && is_untouched,
        DeclarationKind::Scalar | DeclarationKind::Alias => false,
    };
    match variable.is_parameter {
        true => (is_copy || copy.offset.is_none()).then_some(Copied::Inner),
        false => (is_declared || is_copy).then_some(Copied::Variable),
    }
}

/// `Config s = c;`, `auto s{c.inner};`
fn is_initialized_with(variable: &Variable, parameter: &Parameter) -> bool {
    let is_structure = variable.kind != DeclarationKind::Scalar;
    let text = variable.initializer.as_ref().filter(|_| is_structure).map_or("", |span| span.text());
    let path = text.trim_matches(['{', '}', '(', ')', ' ']);
    let mut parts = path.split('.').map(str::trim);
    parts.next() == Some(parameter.name.as_str())
        && parts.all(|part| part.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

fn subject(object: &StackObject, copy: &ParameterCopy, copied: Copied) -> String {
    match (copied, &copy.parameter) {
        (Copied::Part, Some(parameter)) => {
            let name = &parameter.name;
            format!(
                "{} of parameter `{name}` (`{}`) is copied to local memory",
                bytes(object.bytes),
                parameter.type_text
            )
        }
        (Copied::Part, None) => format!("{} of a kernel parameter is copied to local memory", bytes(object.bytes)),
        (Copied::Itself, _) => format!("{} is copied to local memory", whole(object, copy, copied)),
        (Copied::Inner | Copied::Variable, _) => format!("{} is in local memory", whole(object, copy, copied)),
    }
}

/// The structure, even if the object is named after its indexed member.
fn whole(object: &StackObject, copy: &ParameterCopy, copied: Copied) -> String {
    let size = bytes(object.bytes);
    match (copied, &copy.parameter, object.variable.as_ref().and_then(|variable| variable.name.split_once('.'))) {
        (Copied::Itself, Some(parameter), Some(_)) => {
            format!("parameter `{}` (`{}`, {size})", parameter.name, parameter.type_text)
        }
        (_, _, Some((name, _))) => format!("`{name}` ({size})"),
        (_, _, None) => describe(object),
    }
}

fn reason(object: &StackObject, copy: &ParameterCopy, copied: Copied, escape: Option<&Escape>) -> String {
    let near = object.variable.as_ref().map(|variable| &variable.span);
    let why = match (copy.writes.first(), escape.map(|escape| (&escape.kind, escape.span.as_ref()))) {
        (Some(write), _) => format!("written at {}", line_of(write, near.or(Some(write)))),
        (None, Some((EscapeKind::Call(name), _))) => {
            format!("address passed to `{}`, not inlined", demangle(name))
        }
        (None, Some((EscapeKind::IndirectCall, _))) => "address passed to an indirect call".to_string(),
        (None, Some((EscapeKind::Printed, _))) => "address escapes to `printf`".to_string(),
        (None, Some((EscapeKind::Stored, _))) => "address stored to memory".to_string(),
        (None, Some((EscapeKind::Generic(_), _))) => "address mixed with other memory".to_string(),
        (None, None) if copy.may_be_written => "written".to_string(),
        (None, None) => "dynamically indexed".to_string(),
    };
    match (copied, &copy.parameter) {
        (Copied::Inner | Copied::Variable, Some(parameter)) => {
            format!("a copy of kernel parameter `{}`, {why}", parameter.name)
        }
        (Copied::Inner | Copied::Variable, None) => format!("a copy of a kernel parameter, {why}"),
        (Copied::Itself | Copied::Part, _) => why,
    }
}

/// Sort key: the escape that the user will most likely change comes first.
fn order(kind: &EscapeKind) -> u8 {
    match kind {
        EscapeKind::Call(_) => 0,
        EscapeKind::IndirectCall => 1,
        EscapeKind::Stored | EscapeKind::Printed => 2,
        EscapeKind::Generic(_) => 3,
    }
}

/// Whether the kernel writes to a parameter, so that a copy of it has other values.
fn is_written_to(object: &StackObject, parameter: &Parameter) -> bool {
    let found = || {
        let (tree, offset) = located(object, &parameter.span)?;
        let function = enclosing_function(tree.node_at(offset)?)?;
        let all = tree.declarations(function);
        let own = all.iter().find(|declaration| declaration.range.0 == offset)?;
        Some(tree.names_of(function, &all, own).into_iter().any(|name| role(access_path(name)).1))
    };
    found().unwrap_or(false)
}

/// Whether `const` would choose no other function, as far as the parameter's text is known.
fn may_be_const(object: &StackObject, parameter: &Parameter) -> bool {
    declaration_at(object, &parameter.span).is_none_or(|site| site.may_be_const())
}

fn advice(cx: &LintContext<'_>, object: &StackObject, copy: &ParameterCopy, copied: Copied) -> String {
    let is_scalar = object.variable.as_ref().is_some_and(|variable| variable.kind == DeclarationKind::Scalar);
    let name = copy.parameter.as_ref().map_or("the parameter".to_string(), |parameter| format!("`{}`", parameter.name));
    let declaration = copy.parameter.as_ref().map_or("`const __grid_constant__`".to_string(), |parameter| {
        format!("`const __grid_constant__ {} {}`", parameter.type_text, parameter.name)
    });
    let is_written = !copy.writes.is_empty();
    match copied {
        _ if is_written => format!("keep what changes of {name} in variables of its own"),
        Copied::Itself if is_scalar => "let the function be inlined, or pass and return the value".to_string(),
        Copied::Variable if copy.parameter.as_ref().is_some_and(|it| is_written_to(object, it)) => {
            format!("keep only the members of {name} that are read later, in variables of their own")
        }
        _ if !cx.arch.gpu().has_grid_constants
            || copy.parameter.as_ref().is_some_and(|it| !may_be_const(object, it)) =>
        {
            format!("pass the needed members of {name} as parameters")
        }
        Copied::Inner => format!("take it by `const` reference and declare the kernel parameter {declaration}"),
        Copied::Variable => format!("read {name} instead of the copy, declared {declaration}"),
        Copied::Itself | Copied::Part if is_read_apart(object) => {
            format!("declare it {declaration} and measure: reads at indices that differ between threads take turns")
        }
        Copied::Itself | Copied::Part if copy.may_be_written => {
            format!("declare it {declaration} if nothing writes to it (read in place, no copy)")
        }
        Copied::Itself | Copied::Part => format!("declare it {declaration} (read in place, no copy)"),
    }
}
