//! Library functions and methods that return their argument's text unchanged, as another type or lazily.

use syn::{Expr, ExprMethodCall};

use crate::rust::fold::parse::path_names;

/// Methods that only change a string's type, or take the string out of a result.
pub(super) fn is_same(call: &ExprMethodCall) -> bool {
    const NAMES: [&str; 38] = [
        "to_string",
        "to_owned",
        "into",
        "as_str",
        "as_ref",
        "clone",
        "borrow",
        "to_vec",
        "unwrap",
        "as_bytes",
        "as_c_str",
        "as_ptr",
        "cast",
        "cast_const",
        "cast_mut",
        "deref",
        "into_boxed_str",
        "into_bytes",
        "as_slice",
        "leak",
        "cloned",
        "copied",
        "iter",
        "into_iter",
        "ok",
        "into_string",
        "into_owned",
        "try_into",
        "to_bytes",
        "to_bytes_with_nul",
        "as_bytes_with_nul",
        "to_str",
        "to_string_lossy",
        "into_raw",
        "unwrap_unchecked",
        "as_deref",
        "to_cstring",
        "into_c_string",
    ];
    const WITH_ARGUMENT: [&str; 6] = ["expect", "map_err", "context", "with_context", "ok_or", "ok_or_else"];
    match call.args.len() {
        0 => NAMES.iter().any(|name| call.method == name),
        1 => WITH_ARGUMENT.iter().any(|name| call.method == name),
        _ => false,
    }
}

/// Functions that only change a string's type.
pub(super) fn makes_string(names: &[String]) -> bool {
    let [.., kind, function] = names else { return false };
    matches!(
        (kind.as_str(), function.as_str()),
        ("String" | "Cow" | "Arc" | "Rc" | "Box", "from" | "new")
            | ("Cow", "Borrowed" | "Owned")
            | ("str", "to_string" | "to_owned" | "from_utf8" | "from_utf8_unchecked")
            | ("String", "from_utf8" | "from_utf8_lossy" | "from_utf8_unchecked" | "from_str")
            | ("CString", "new" | "from")
            | ("CStr", "from_bytes_with_nul" | "from_bytes_with_nul_unchecked" | "from_ptr" | "from_bytes_until_nul")
            | ("LazyLock" | "Lazy" | "LazyCell", "force")
            | ("Box" | "String", "leak")
            | ("hint", "black_box")
    ) && !(kind == "String" && function == "new")
}

/// `LazyLock::new(|| value)`
pub(super) fn makes_lazily(names: &[String]) -> bool {
    matches!(names, [.., kind, function] if function == "new" && matches!(kind.as_str(), "LazyLock" | "Lazy" | "LazyCell"))
}

/// `CELL.get_or_init(|| value)`
pub(super) fn first_made<'e>(method: &str, mut arguments: impl Iterator<Item = &'e Expr>) -> Option<Expr> {
    let is_lazy = matches!(method, "get_or_init" | "get_or_try_init" | "get_or_insert_with" | "call_once");
    match arguments.next().filter(|_| is_lazy)? {
        Expr::Closure(closure) => Some((*closure.body).clone()),
        _ => None,
    }
}

/// The value that takes the place of a missing one: `value.unwrap_or(other)`, `value.or_else(|| other)`.
pub(super) fn instead<'e>(method: &str, mut arguments: impl Iterator<Item = &'e Expr>) -> Option<Expr> {
    match (method, arguments.next()?, arguments.next()) {
        ("unwrap_or" | "or", value, None) => Some(value.clone()),
        ("unwrap_or_else" | "or_else", Expr::Closure(closure), None) => Some((*closure.body).clone()),
        _ => None,
    }
}

pub(super) fn is_wrapped(path: &syn::Path) -> bool {
    path_names(path).last().is_some_and(|name| name == "Ok" || name == "Some")
}
