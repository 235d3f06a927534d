//! A variable is called `skeleton`.
//!
//! ## Why it costs
//! What the hardware does, with a figure that was measured, and on what.
//!
//! ## What to do
//! What to change in the source, and what becomes of the variable then.
//!
//! ## Fix safety
//! Nothing is offered. Of an edit: when it keeps the meaning, and what must be judged.

use lmem_base::level::Level;
use lmem_frame::{StackObject, StackObjectKind};

use crate::framework::{Check, Finding, Lint, LintContext, describe, object_finding};

pub(crate) static LINT: Lint = Lint {
    name: "skeleton",
    // Where nobody sets another: `Allow` for what is no problem in most code.
    level: Level::Warn,
    source: include_str!("skeleton.rs"),
    check: Check::Object(check),
};

fn check(_: &LintContext<'_>, object: &StackObject) -> Option<Finding> {
    let is_variable = matches!(object.kind, StackObjectKind::Variable);
    let variable = object.variable.as_ref().filter(|_| is_variable)?;
    if variable.name != "skeleton" {
        return None;
    }
    let access = object.accesses.iter().max_by_key(|access| access.guilt())?;
    let message = format!("{} lives in local memory: it is called `{}`", describe(object), variable.name);
    let finding = object_finding(object, Some(access), message).access(object, access);
    Some(finding.help("give it another name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_at_objects() {
        assert_eq!(LINT.name, "skeleton");
        assert!(matches!(LINT.check, Check::Object(_)));
    }
}
