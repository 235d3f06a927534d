//! Looks up lints by name, and runs them on the frames of a unit.

use std::collections::BTreeMap;

use lmem_base::diagnostic::Applicability;
use lmem_frame::{KernelFrame, StackObject, StackObjectKind};
use lmem_unit::{CompilerMessage, TranslationUnit};
use nv_code::dataflow::may_fuse;

use crate::ALL;
use crate::framework::{
    BudgetedKernel, Check, Claim, Finding, Lint, LintContext, UnitContext, accesses, is_minor, remark,
};
use crate::rewrite::shared::must_be_resident;

/// Names of all lints, and the word for all warnings.
pub fn known_names() -> Vec<&'static str> {
    ALL.iter().map(|lint| lint.name).chain(["warnings"]).collect()
}

/// Names that can have a level: lints and remarks.
pub fn names_with_levels() -> Vec<&'static str> {
    known_names().into_iter().chain(remark::ALL.iter().map(|remark| remark.name)).collect()
}

/// A lint by its name; `-` and the prefix `lmem::` are accepted.
pub fn find(name: &str) -> Option<&'static Lint> {
    let name = name.trim_start_matches("lmem::").replace('-', "_");
    ALL.iter().copied().find(|lint| lint.name == name)
}

/// The documentation of a lint, from its source, or of a remark.
pub fn documentation(name: &str) -> Option<&'static str> {
    // Computed once and never freed: the text is needed until the program ends.
    static TEXTS: std::sync::OnceLock<BTreeMap<&'static str, String>> = std::sync::OnceLock::new();
    let texts = TEXTS.get_or_init(|| ALL.iter().map(|lint| (lint.name, module_documentation(lint.source))).collect());
    match find(name) {
        Some(lint) => texts.get(lint.name).map(String::as_str),
        None => remark::find(name).map(|remark| remark.documentation),
    }
}

fn module_documentation(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// Runs all object lints on a frame; exactly one lint claims each byte.
pub fn claims(cx: &LintContext<'_>) -> Vec<Claim> {
    cx.objects().filter_map(|object| claim(cx, &object)).collect()
}

fn claim(cx: &LintContext<'_>, object: &StackObject) -> Option<Claim> {
    ALL.iter().find_map(|lint| match lint.check {
        Check::Object(check) => check(cx, object).map(|finding| Claim {
            lint,
            finding: with_owner(waiting(rounding(finding, cx, object), cx), object, cx.frame),
            bytes: object.bytes,
            is_minor: is_minor(object, cx.frame.is_entry),
            accesses: accesses(object),
        }),
        _ => None,
    })
}

/// Marks suggestions of a kernel where the compiler may fuse multiply and add: they keep the meaning, but not all bits.
/// Those against spills leave the instructions as they are that are fused.
fn rounding(mut finding: Finding, cx: &LintContext<'_>, object: &StackObject) -> Finding {
    let is_of_spills = matches!(object.kind, StackObjectKind::Spills(_));
    if finding.suggestions.is_empty() || is_of_spills || !may_fuse(&cx.unit.facts.ptx, &cx.frame.mangled) {
        return finding;
    }
    for suggestion in &mut finding.suggestions {
        if suggestion.applicability == Applicability::MachineApplicable {
            suggestion.applicability = Applicability::MaybeIncorrect;
        }
        suggestion.title.push_str(LAST_DIGITS);
    }
    finding
}

/// Marks suggestions of a kernel whose blocks may wait for each other.
fn waiting(mut finding: Finding, cx: &LintContext<'_>) -> Finding {
    if !finding.suggestions.is_empty() && must_be_resident(cx) {
        finding.suggestions.iter_mut().for_each(|suggestion| suggestion.blocks_must_fit = true);
    }
    finding
}

/// Appended to such suggestions: a fused multiply-add rounds once, separate operations round twice.
const LAST_DIGITS: &str = "; may round differently";

/// Names the owner of the variable, if it is not the kernel itself.
fn with_owner(finding: Finding, object: &StackObject, frame: &KernelFrame) -> Finding {
    match object.function.as_ref().filter(|_| object.math_function().is_none()) {
        Some(function) => {
            let owner = format!("it belongs to `{function}`, which is not inlined");
            let apart = object.overlaid_by.as_ref().map(|other| {
                format!("; not counted in the stack frame of `{}`: calls of `{other}` take the same bytes", frame.name)
            });
            finding.note(owner + &apart.unwrap_or_default())
        }
        None => finding,
    }
}

/// Runs all kernel lints on a frame.
pub fn kernel_claims(cx: &LintContext<'_>) -> Vec<Claim> {
    let claim = |lint: &&'static Lint| match lint.check {
        Check::Kernel(check) => {
            Some(Claim { lint, finding: check(cx)?, bytes: 0, is_minor: false, accesses: Vec::new() })
        }
        _ => None,
    };
    ALL.iter().filter_map(claim).collect()
}

/// Runs all option lints on a unit.
pub fn option_claims(cx: &UnitContext<'_>) -> Vec<Claim> {
    let claims = |lint: &'static Lint| match lint.check {
        Check::Options(check) => check(cx),
        _ => Vec::new(),
    };
    let claim = |lint| move |finding| Claim { lint, finding, bytes: 0, is_minor: false, accesses: Vec::new() };
    ALL.iter().copied().flat_map(|lint| claims(lint).into_iter().map(claim(lint))).collect()
}

/// What is said of a kernel that takes more than it may.
pub fn budget_claim(kernel: &BudgetedKernel<'_>) -> Option<Claim> {
    let claim = |lint: &&'static Lint| match lint.check {
        Check::Budget(check) => {
            Some(Claim { lint, finding: check(kernel)?, bytes: 0, is_minor: false, accesses: Vec::new() })
        }
        _ => None,
    };
    ALL.iter().find_map(claim)
}

/// Whether a lint replaces a compiler's warning by a better message.
pub fn explains(message: &CompilerMessage) -> bool {
    crate::ineffective_option::is_ignored_pragma(message)
}

/// Names of all lints that would claim an object if they came first, in order. The last lint claims everything, so it
/// is named only if no other would.
pub fn would_claim(cx: &LintContext<'_>, object: &StackObject) -> Vec<&'static str> {
    let claims = |lint: &&Lint| match lint.check {
        Check::Object(check) => check(cx, object).is_some(),
        _ => false,
    };
    let mut names: Vec<&str> = ALL.iter().copied().filter(|lint| claims(lint)).map(|lint| lint.name).collect();
    if names.len() > 1 {
        names.retain(|name| Some(name) != ALL.last().map(|lint| lint.name).as_ref());
    }
    names
}

/// Runs the unit lints; `is_debug` tells that the code was compiled with `-G`.
pub fn unit_claim(unit: &TranslationUnit, is_debug: bool) -> Option<Claim> {
    ALL.iter().find_map(|lint| match lint.check {
        Check::Unit(check) => check(unit, is_debug).map(|finding| Claim {
            lint,
            finding,
            bytes: 0,
            is_minor: false,
            accesses: Vec::new(),
        }),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::Levels;
    use lmem_base::level::Level;

    #[test]
    fn levels_are_set_in_order_and_forbid_stays() {
        let lint = find("dynamic_index").unwrap();
        let mut levels = Levels::default();
        assert_eq!(levels.level(lint), Level::Warn);
        levels.set("warnings", Level::Deny);
        assert_eq!(levels.level(lint), Level::Deny);
        levels.set("dynamic_index", Level::Allow);
        assert_eq!(levels.level(lint), Level::Allow);
        levels.set("dynamic_index", Level::Forbid);
        levels.set("dynamic_index", Level::Allow);
        assert_eq!(levels.level(lint), Level::Forbid);
        // Settings come before the command line.
        let mut levels = Levels::default();
        levels.set("dynamic_index", Level::Allow);
        levels.set("not_checked", Level::Allow);
        levels.set("warnings", Level::Forbid);
        assert_eq!(levels.level(lint), Level::Forbid);
        let not_checked = crate::remark::find("not_checked").unwrap();
        assert_eq!(levels.remark_severity(not_checked), Some(lmem_base::diagnostic::Severity::Error));
        assert_eq!(levels.level(find("printf_buffer").unwrap()), Level::Allow);
    }

    /// Who changes this list raises `RULE_SET`, and adds the line for it.
    #[test]
    fn the_version_of_the_rules_rises_with_them() {
        let rules: Vec<String> = crate::ALL.iter().map(|lint| format!("{} {}", lint.name, lint.level.name())).collect();
        let hash = rules
            .join("\n")
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let known = [(1, 0xe9b7_509c_bf38_becd)];
        assert_eq!(known.last(), Some(&(crate::RULE_SET, hash)), "{hash:#x}");
    }

    #[test]
    fn names_are_found_in_every_spelling() {
        assert!(find("dynamic-index").is_some() && find("lmem::dynamic_index").is_some());
        assert!(find("warnings").is_none());
    }

    #[test]
    fn every_lint_is_documented() {
        for lint in ALL {
            let text = documentation(lint.name).unwrap();
            for heading in ["## Why it costs", "## What to do", "## Example", "## Fix safety", "## When it is wrong"] {
                assert!(text.contains(heading), "`{}` lacks `{heading}`", lint.name);
            }
        }
    }
}
