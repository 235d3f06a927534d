//! cust's `ModuleJitOption`s in code, as the arguments of ptxas that mean the same.
//!
//! Measured with the driver of CUDA 13.0 on an H200, with a kernel of 32 values: its registers and local memory under limits
//! of 8, 24, 32 and 300 are those that ptxas 13.5 gives with `--maxrregcount`, and launch bounds or `.maxnreg` win over them.

use syn::Expr;

use lmem_base::source::Span;
use lmem_unit::DriverOptions;

use super::fold::Folder;
use super::options::list_items;
use crate::rust::fold::parse::path_names;

/// One option, as far as the code that the driver makes depends on it.
enum JitOption {
    MaxRegisters(i64, Span),
    OptLevel(u8),
    /// The GPU, lines for profilers: nothing that is not said by other means.
    Other,
}

/// The options in a list; what cannot be told is named in `unresolved`.
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

/// The options behind a pointer, of which only their number is looked at.
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

/// The outer option says whether it is an option as it stands, the inner one whether its value is known.
#[allow(clippy::option_option, reason = "an option that cannot be read is not something else")]
fn known_option(folder: &mut Folder<'_, '_>, file: usize, item: &Expr) -> Option<Option<JitOption>> {
    match item {
        Expr::Path(path) => (last_name(path)? == "DetermineTargetFromContext").then_some(Some(JitOption::Other)),
        Expr::Call(call) => {
            let Expr::Path(function) = &*call.func else { return None };
            let value = call.args.first().filter(|_| call.args.len() == 1)?;
            match last_name(function)?.as_str() {
                // The driver refuses 0.
                "MaxRegisters" => {
                    let count = folder.integer(file, value).filter(|count| *count > 0);
                    Some(count.map(|count| JitOption::MaxRegisters(count, folder.span(file, item))))
                }
                "OptLevel" => Some(opt_level(folder, file, value).map(JitOption::OptLevel)),
                "GenerateLineInfo" | "Fallback" | "Target" => Some(Some(JitOption::Other)),
                // Code for debuggers is other code.
                "GenenerateDebugInfo" | "GenerateDebugInfo" => Some(None),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `OptLevel::O2`. The driver's default is 4, that of ptxas 3; both mean all that there is.
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
