//! The version, for `--version` and for reports.

use std::sync::LazyLock;

/// The version of the package.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit that this program was built from; unknown for sources outside a repository or a published crate.
const COMMIT: Option<&str> = option_env!("CARGO_LMEM_COMMIT");

/// `0.1.0 (1f2e3d4c5b)`
pub fn short() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| match COMMIT {
        Some(commit) => format!("{VERSION} ({commit})"),
        None => VERSION.to_string(),
    });
    &TEXT
}

/// The same, followed by the version of the rules: a baseline belongs to one version of them.
pub fn long() -> &'static str {
    static TEXT: LazyLock<String> =
        LazyLock::new(|| format!("{}\nrule set {} ({} lints)", short(), lmem_lints::RULE_SET, lmem_lints::ALL.len()));
    &TEXT
}
