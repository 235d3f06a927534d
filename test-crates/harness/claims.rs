//! Table of the lints that would claim each stack object if all were asked: a second claim shows in the diff.

use std::collections::BTreeMap;
use std::sync::Arc;

use cargo_lmem::check::{MARKS_SPILLS, register_flag};
use cuda_syntax::SyntaxTrees;
use lmem_frame::{CallAreaKind, FrameObject, KernelFrame, StackObject, StackObjectKind, attribute};
use lmem_lints::{LintContext, UnitContext, would_claim};
use nv_code::read_unit;

use super::crates::TestCrate;
use super::memo::Memo;
use super::record::Given;
use super::{Problem, crates, recorded};

const HEADER: &str =
    "# Stack objects of the test crates, and the lints that would claim them, the one that does first.\n";

pub fn test() -> Result<(), Problem> {
    let mut table = HEADER.to_string();
    for test_crate in crates::all().into_iter().filter(TestCrate::has_expectations) {
        table.push_str(&of_crate(&test_crate)?);
    }
    recorded::compare(table, &crates::root().join("claims.txt"))
}

/// The part of the table for one crate.
pub fn of_crate(test_crate: &TestCrate) -> Result<Arc<String>, Problem> {
    static KNOWN: Memo<String> = Memo::new();
    KNOWN.get(&test_crate.name, || part(test_crate))
}

fn part(test_crate: &TestCrate) -> Result<String, Problem> {
    let run = recorded::usual(test_crate)?;
    // Objects that differ only in the architecture share a line.
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for given in &run.given {
        for line in lines_of(given, &test_crate.folder)? {
            lines.entry(line).or_default().push(given.target.architecture.clone());
        }
    }
    let heading = if lines.is_empty() { String::new() } else { format!("\n{}\n", test_crate.name) };
    let line = |(line, architectures): (String, Vec<String>)| format!("  {line} ({})\n", architectures.join(" "));
    Ok(heading + &lines.into_iter().map(line).collect::<String>())
}

fn lines_of(given: &Given, root: &std::path::Path) -> Result<Vec<String>, Problem> {
    let artifacts = &given.artifacts;
    let arch = artifacts.arch();
    let marks_spills = given.target.toolkit.version >= MARKS_SPILLS;
    let facts = read_unit(&artifacts.cubin, &artifacts.ptx, &artifacts.ptxas_log, arch, marks_spills);
    let facts = facts.map_err(|error| format!("`{}`: {error}", given.unit.name))?;
    let trees = SyntaxTrees::new(&given.unit, artifacts, root);
    let frames = attribute(&trees, &facts, artifacts, register_flag(&given.unit));
    let unit = UnitContext::new(&given.unit, artifacts, &facts, &trees, &[], register_flag(&given.unit));
    let line = |frame: &KernelFrame, object: &FrameObject| {
        let cx = LintContext { unit: &unit, frame, arch, has_spill_marks: facts.has_spill_marks };
        let claims = would_claim(&cx, &StackObject::new(object, &facts, &trees)).join(", ");
        format!("{}: {} {} {}: {claims}", given.unit.name, frame.name, describe(object), object.bytes)
    };
    Ok(frames
        .iter()
        .flat_map(|frame| frame.objects.iter().map(move |object| (frame, object)))
        .map(|(frame, object)| line(frame, object))
        .collect())
}

fn describe(object: &FrameObject) -> String {
    match (&object.kind, &object.variable) {
        (StackObjectKind::Variable, Some(variable)) => format!("`{}`", variable.name),
        (StackObjectKind::Variable, None) => "unnamed".to_string(),
        (StackObjectKind::Spills(_), _) => "spills".to_string(),
        (StackObjectKind::Call(area), _) => match area.kind {
            CallAreaKind::CalleeSaved { .. } => "saved registers".to_string(),
            CallAreaKind::OutgoingArguments { .. } => "arguments and results".to_string(),
            CallAreaKind::IncomingArguments { .. } => "arguments of callers".to_string(),
            CallAreaKind::RuntimeRoutine { .. } => "routine".to_string(),
        },
        (StackObjectKind::Allocation(_), _) => "alloca".to_string(),
        (StackObjectKind::Recursion(_), _) => "recursion".to_string(),
        (StackObjectKind::Unknown, _) => "rest".to_string(),
    }
}
