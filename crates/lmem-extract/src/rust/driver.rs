//! cust's `ModuleJitOption`s in Rust code, translated to equivalent ptxas arguments.
//!
//! Measured with the driver of CUDA 13.0 on an H200, on a kernel of 32 values. With register limits of 8, 24, 32 and
//! 300, its registers and local memory equal those of ptxas 13.5 with `--maxrregcount`. Launch bounds and `.maxnreg`
//! take precedence over these limits.

use syn::Expr;

use lmem_base::source::Span;
use lmem_unit::DriverOptions;

use super::fold::Folder;
use super::options::list_items;
use crate::rust::fold::parse::path_names;

/// A JIT option, as far as it affects the generated code.
enum JitOption {
    MaxRegisters(i64, Span),
    OptLevel(u8),
    /// The GPU, line information for profilers: options that change no code, or that are known otherwise.
    Other,
}

/// The options in a list. Options that cannot be read are named in `unresolved`.
pub(super) fn cust(folder: &mut Folder<'_, '_>, file: usize, list: &Expr) -> DriverOptions {
    let Some((file, items)) = list_items(folder, file, list) else {
        return unresolved("the options of the driver's compiler are put together when the program runs");
    };
    let (mut registers, mut level, mut limit) = (Vec::new(), Vec::new(), None);
    for item in &items {
        match option(folder, file, item) {
            Some(JitOption::MaxRegisters(count, span)) => {
                registers.push(format!("--maxrregcount={count}"));
                limit = Some(span);
            }
            Some(JitOption::OptLevel(number)) => level.push(format!("-O{number}")),
            Some(JitOption::Other) => {}
            None => return unresolved("an option of the driver's compiler is only known when the program runs"),
        }
    }
    if registers.len() > 1 || level.len() > 1 {
        return unresolved("the driver's compiler gets the same option twice");
    }
    DriverOptions { arguments: [level, registers].concat(), limit, ..DriverOptions::default() }
}

/// Options behind a pointer: only their number is read.
pub(super) fn counted(folder: &mut Folder<'_, '_>, file: usize, count: &Expr) -> DriverOptions {
    match folder.integer(file, count) {
        Some(0) => DriverOptions::default(),
        _ => unresolved("the options of the driver's compiler are handed over by pointers"),
    }
}

fn unresolved(reason: &str) -> DriverOptions {
    DriverOptions { unresolved: Some(reason.to_string()), ..DriverOptions::default() }
}

fn option(folder: &mut Folder<'_, '_>, file: usize, item: &Expr) -> Option<JitOption> {
    if let Some(known) = known_option(folder, file, item) {
        return known;
    }
    let (file, item) = folder.behind_names(file, item).ok()?;
    known_option(folder, file, &item).flatten()
}

/// The outer option is `None` if the expression is not an option; the inner one is `None` if its value is unknown.
#[allow(clippy::option_option, reason = "an option that cannot be read is not something else")]
fn known_option(folder: &mut Folder<'_, '_>, file: usize, item: &Expr) -> Option<Option<JitOption>> {
    match item {
        Expr::Path(path) => (last_name(path)? == "DetermineTargetFromContext").then_some(Some(JitOption::Other)),
        Expr::Call(call) => {
            let Expr::Path(function) = &*call.func else { return None };
            let value = call.args.first().filter(|_| call.args.len() == 1)?;
            match last_name(function)?.as_str() {
                // The driver rejects 0.
                "MaxRegisters" => {
                    let count = folder.integer(file, value).filter(|count| *count > 0);
                    Some(count.map(|count| JitOption::MaxRegisters(count, folder.span(file, item))))
                }
                "OptLevel" => Some(opt_level(folder, file, value).map(JitOption::OptLevel)),
                "GenerateLineInfo" | "Fallback" | "Target" => Some(Some(JitOption::Other)),
                // Debug code differs from the code that is checked here.
                "GenenerateDebugInfo" | "GenerateDebugInfo" => Some(None),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `OptLevel::O2`. The driver's default is 4, ptxas's default is 3; both mean full optimization.
fn opt_level(folder: &mut Folder<'_, '_>, file: usize, value: &Expr) -> Option<u8> {
    let named = |value: &Expr| match value {
        Expr::Path(path) => match last_name(path)?.as_str() {
            "O0" => Some(0),
            "O1" => Some(1),
            "O2" => Some(2),
            "O3" | "O4" => Some(3),
            _ => None,
        },
        _ => None,
    };
    named(value).or_else(|| named(&folder.behind_names(file, value).ok()?.1))
}

fn last_name(path: &syn::ExprPath) -> Option<String> {
    path_names(&path.path).pop()
}
