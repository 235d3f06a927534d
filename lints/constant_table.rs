//! A local table has only constant values, and is dynamically indexed.
//!
//! ## Why it costs
//! Each thread fills its own copy of the table in local memory, every time the function is entered. A `static` table
//! exists once: nothing is stored, and all threads share its cache lines. On an H200 the change made four kernels 1.3
//! to 2.4 times faster.
//!
//! ## What to do
//! - `static constexpr` (or `static const`) before the table: it is then in global memory, which serves divergent
//!   indices well.
//! - `__constant__` only where all threads of a warp read the same element. Reads of different elements are serialized,
//!   and a kernel with an index per thread became slower.
//!
//! ## Example
//! Before:
//! ```cpp
//! float weight[9] = {0.05f, 0.09f, 0.12f, 0.15f, 0.18f, 0.15f, 0.12f, 0.09f, 0.05f};
//! for (int k = -radius; k <= radius; ++k) sum += weight[k + 4] * in[i + k];
//! ```
//! After:
//! ```cpp
//! static constexpr float weight[9] = {0.05f, 0.09f, 0.12f, 0.15f, 0.18f, 0.15f, 0.12f, 0.09f, 0.05f};
//! ```
//!
//! - A table of functions, `ops[kind](x)`: call them by their names in a `switch`, where they can be inlined.
//!
//! ## Fix safety
//! `static` keeps the meaning if every initializer is a constant expression and nothing writes to the table. The lint
//! checks in the compiled code that nothing does. The same holds for a table that is filled by assignments of
//! constants, one per element and all before the first use: the values become its initializer.
//!
//! ## When it is wrong
//! A table that is read once per thread costs the same either way. If the host writes to the table through its address,
//! the lint does not see it.
//!
//! ## Related lints
//! `dynamic_index`, `rolled_loop`

use cuda_syntax::ast::{Kind, Node};
use cuda_syntax::identifiers::identifiers;
use cuda_syntax::tree::{enclosing_function, resolve};
use lmem_base::diagnostic::{Applicability, Suggestion, Uniformity};
use lmem_base::level::Level;
use lmem_base::mangling::demangle;
use lmem_frame::{Access, Address, EscapeKind, StackObject, StackObjectKind, StoredValues, Variable};
use nv_code::AccessKind;

use crate::framework::{Check, Finding, Lint, LintContext, in_local_memory, in_loop, origin};
use crate::rewrite::facts::constness::is_table_of_functions;
use crate::rewrite::facts::sites::{declaration_at, located};
use crate::rewrite::select::{self, FORMS};
use crate::rewrite::{constant_tables, static_table, untried};

pub(crate) static LINT: Lint = Lint {
    name: "constant_table",
    level: Level::Warn,
    source: include_str!("constant_table.rs"),
    check: Check::Object(check),
};

fn check(cx: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let StoredValues::Constants { is_computed, copied_from } = object.stored_values() else { return None };
    let is_table = matches!(object.kind, StackObjectKind::Variable) && object.math_function().is_none();
    let reads = object.accesses.iter().filter(|access| is_table && access.kind == AccessKind::Load);
    let read = reads.filter(|access| access.is_computed()).max_by_key(|access| access.guilt())?;
    let what = match copied_from {
        Some(source) => format!("a copy of the constant `{}` for each thread", demangle(source)),
        None => "constants, stored anew by every thread".to_string(),
    };
    let finding = in_local_memory(object, Some(read), &what);
    let mut finding = finding.access(object, read, in_loop(&reason(read), object, read));
    for escape in object.escapes() {
        if let EscapeKind::Call(name) = &escape.kind {
            let text = format!("passed to `{}`, read only", demangle(name));
            finding = finding.label(escape.span.as_ref(), text);
        }
    }
    Some(match copied_from {
        Some(source) => finding.help(advice_for_copy(&demangle(source), read)),
        None if is_written_elsewhere(object) => finding.help(advice_beside_writes(object)),
        None if holds_shared_addresses(object) => {
            let finding = finding.help(
                "index one `__shared__` array in place of pointers to several: addresses of shared memory cannot be \
                 values of a `static` or `__constant__` table",
            );
            finding.suggest(select::suggestion(object, FORMS[0]))
        }
        None => {
            let has_functions = holds_functions(object);
            let calls_in_a_loop = has_functions && read.loop_depth > 0;
            let own = make_static(object).filter(|_| !calls_in_a_loop);
            let all = own.as_ref().and_then(|own| constant_tables::suggestion(object, own));
            let finding = finding.help(match has_functions {
                true => CALL_IN_A_SWITCH.to_string(),
                false => advice(object, read, *is_computed),
            });
            let finding = finding.suggest(own);
            let finding = finding.suggest(static_table::suggestion(object)).suggest(all);
            finding.or_untried(|| untried::reason(cx, object))
        }
    })
}

/// What helps where calls through pointers cost more than the loads of the pointers: 4.0 times on an H100, in a loop over three functions. There
/// the constant table took 0.95 to 1.02 of the time of the local one.
const CALL_IN_A_SWITCH: &str =
    "call the functions by their names in a `switch` over the index, where they can be inlined";

/// Whether the table is one of functions.
fn holds_functions(object: &StackObject) -> bool {
    let declared = || located(object, &object.variable.as_ref()?.span);
    declared().is_some_and(|(tree, offset)| is_table_of_functions(tree, offset))
}

/// Inserts `static` before the declaration. If an initializer is not constant, or something writes to the table through
/// a pointer, the compiler rejects the edit.
fn make_static(object: &StackObject) -> Option<Suggestion> {
    let variable = object.variable.as_ref().filter(|variable| variable.initializer.is_some())?;
    let site = declaration_at(object, &variable.span)?;
    let is_fit = site.is_statement && !site.has_others && !site.has("static") && !site.has("volatile");
    let words = match site.has("const") || site.has("constexpr") {
        true => "static ",
        false => "static constexpr ",
    };
    let edits = site.prefix(words).filter(|_| is_fit && site.may_be_const()).into_iter().collect();
    let title = format!("declare `{}` as `static` (one table for all threads)", variable.name);
    let suggestion = Suggestion::new(title, Applicability::MachineApplicable, edits);
    Some(suggestion.within_kernel(site.is_within_kernel()))
}

/// Whether text that was not compiled here, as the host's branch of `#ifdef __CUDA_ARCH__`, names the table. It may write to it
/// or hand it on, and then it cannot be constant there.
fn is_written_elsewhere(object: &StackObject) -> bool {
    let found = || {
        let (tree, offset) = located(object, &object.variable.as_ref()?.span)?;
        let function = enclosing_function(tree.node_at(offset)?)?;
        let all = tree.declarations(function);
        let own = all.iter().find(|declaration| declaration.range.0 == offset)?;
        Some(tree.is_named_where_skipped(&function.byte_range(), &own.name))
    };
    found().unwrap_or(false)
}

/// Whether the initializer names a variable in shared memory of the same function, whose address no table outside of
/// the block may hold.
fn holds_shared_addresses(object: &StackObject) -> bool {
    let found = || {
        let (tree, offset) = located(object, &object.variable.as_ref()?.span)?;
        let function = enclosing_function(tree.node_at(offset)?)?;
        let all = tree.declarations(function);
        let (start, end) = all.iter().find(|declaration| declaration.range.0 == offset)?.initializer?;
        let initializer = tree.root()?.named_descendant_for_byte_range(start, end)?;
        let is_shared = |name: Node<'_>| {
            let own = resolve(&all, tree.slice(name), name.start_byte())?;
            let statement = tree.node_at(own.range.0)?.enclosing(Kind::Declaration)?;
            Some(tree.text().get(statement.start_byte()..own.range.0)?.contains("__shared__"))
        };
        Some(tree.identifiers(initializer).into_iter().any(|name| is_shared(name).unwrap_or(false)))
    };
    found().unwrap_or(false)
}

fn advice_beside_writes(object: &StackObject) -> String {
    let name = object.variable.as_ref().map_or("the table", |variable| &variable.name);
    format!(
        "give device code a `static constexpr` table of its own (`#ifdef __CUDA_ARCH__`): code that is not compiled for \
         the device may write to `{name}`"
    )
}

fn reason(read: &Access) -> String {
    match &read.address {
        Address::Computed(sources) => origin(sources),
        _ => "read in a loop that is not unrolled".to_string(),
    }
}

fn advice_for_copy(source: &str, read: &Access) -> String {
    match &read.address {
        Address::Computed(sources) if sources.uniformity() == Some(Uniformity::PerThread) => format!(
            "make `{source}` a `__device__ const` array and read that (`__constant__` serializes divergent indices)"
        ),
        _ => format!("read `{source}` itself instead of the copy"),
    }
}

/// Whether the elements are made by CUDA's functions for its vector types, which are not `constexpr`.
fn has_makers(variable: &Variable) -> bool {
    variable.initializer.as_ref().is_some_and(|initializer| {
        let is_maker = |word: &str| word.starts_with("make_") && word.ends_with(|c: char| c.is_ascii_digit());
        identifiers(initializer.text()).any(is_maker)
    })
}

fn advice(object: &StackObject, read: &Access, is_computed: bool) -> String {
    let uniformity = match &read.address {
        Address::Computed(sources) => sources.uniformity(),
        _ => None,
    };
    let is_initialised = object.variable.as_ref().is_some_and(|variable| variable.initializer.is_some());
    let declare = match (&object.variable, is_initialised) {
        _ if is_computed => {
            "write the values as constant expressions and declare the table `static constexpr`".to_string()
        }
        (Some(variable), true) if has_makers(variable) => {
            format!(
                "write the elements of `{}` with braces, `{{1, 0}}` for `make_…(1, 0)`, which is no constant expression, and \
                 declare it `static constexpr`",
                variable.name
            )
        }
        (Some(variable), true) => format!("declare `{}` as `static constexpr`", variable.name),
        (Some(variable), false) => {
            format!("compute `{}` at compile time and declare it `static constexpr`", variable.name)
        }
        (None, _) => "declare the table `static constexpr`".to_string(),
    };
    match uniformity {
        Some(Uniformity::Uniform) => {
            format!("{declare}, or `__constant__` (the index is uniform)")
        }
        Some(Uniformity::PerThread) => {
            format!("{declare} (not `__constant__`, which serializes divergent indices)")
        }
        None => declare,
    }
}
