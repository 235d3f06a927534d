//! What all lints are made of: what a lint is and may know, its answer, levels, and the diagnostics that answers become.

mod claim;
mod finding;
mod levels;
mod lint;
pub mod remark;
// What `cargo xtask new-lint` copies; compiled, so that it stays true.
#[cfg(test)]
mod skeleton;

pub(crate) use claim::is_minor;
pub use claim::{Circumstances, Claim, instance};
pub use finding::Finding;
pub(crate) use finding::{describe, in_local_memory, in_loop, line_of, object_finding, origin};
pub use levels::Levels;
pub use lint::{BudgetedKernel, BudgetedLimit, Check, KernelFigures, Lint, LintContext, UnitContext};
