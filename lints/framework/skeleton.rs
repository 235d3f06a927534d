//! A variable is called `skeleton`.
//!
//! ## Why it costs
//! What the hardware does, with a measured figure and the device.
//!
//! ## What to do
//! What to change in the source, and the effect on the variable.
//!
//! ## Fix safety
//! Nothing is offered. For an edit: when it keeps the meaning, and what the programmer must judge.
//!
//! ## When it is wrong
//! Where the finding costs nothing, or is intended.
//!
//! ## Related lints
//! `large_array`

use lmem_base::level::Level;
use lmem_frame::{StackObject, StackObjectKind};

use crate::framework::{Check, Finding, Lint, LintContext, in_local_memory, in_loop};

pub(crate) static LINT: Lint = Lint {
    name: "skeleton",
    // The default level: `Allow` if most code has no problem with it.
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
    let finding = in_local_memory(object, Some(access), &format!("called `{}`", variable.name));
    let finding = finding.access(object, access, in_loop("accessed here", object, access));
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
