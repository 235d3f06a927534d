//! The framework of lints: definition, context, finding, levels, and conversion to diagnostics.

mod callers;
mod claim;
mod finding;
mod levels;
mod lint;
pub mod remark;
// The template for `cargo xtask new-lint`; compiled in tests so that it stays valid.
#[cfg(test)]
mod skeleton;

pub(crate) use callers::Callers;
pub(crate) use claim::is_minor;
pub use claim::{Circumstances, Claim, instance};
pub use finding::Finding;
pub(crate) use finding::{accesses, describe, in_local_memory, in_loop, line_of, object_finding, origin};
pub use levels::Levels;
pub use lint::{BudgetedKernel, BudgetedLimit, Check, KernelFigures, Lint, LintContext, UnitContext, WaitingBlocks};
