//! Compares the facts of a cubin read without a log with what ptxas reported when it made the cubin.

use std::collections::BTreeSet;

use cargo_lmem::check::MARKS_SPILLS;
use nv_code::{CubinHeader, PtxasLog, read_machine_code};

use super::crates::TestCrate;
use super::record::Given;
use super::{Problem, all, recorded};

/// Crates with all kinds of frame contents, and those for older toolkits; the others would add nothing.
const CRATES: &[&str] = &[
    "address_escape",
    "call_frame",
    "dynamic_alloca",
    "recursive_call",
    "register_spill",
    "seeds",
    "toolkit_12_4",
    "toolkit_12_9",
];

/// Compares the figures of every function in the records.
pub fn test() -> Result<(), Problem> {
    let mut problems = Vec::new();
    let mut compared = 0;
    for test_crate in CRATES.iter().map(|name| TestCrate::new(name.to_string())) {
        for given in &recorded::usual(&test_crate)?.given {
            let name = format!("{}/{} for {}", test_crate.name, given.unit.name, given.artifacts.architecture);
            match compare(given) {
                Ok(count) => compared += count,
                Err(problem) => problems.push(format!("{name}:\n{problem}")),
            }
        }
    }
    eprintln!("compared {compared} functions with the words of their ptxas");
    all(problems)
}

fn compare(given: &Given) -> Result<usize, Problem> {
    let artifacts = &given.artifacts;
    let header = CubinHeader::parse(&artifacts.cubin).map_err(|error| error.to_string())?;
    let marks_spills = header.toolkit.is_some_and(|version| version >= MARKS_SPILLS);
    let same_name = |name: &str, _: &BTreeSet<u32>| Some(name.to_string());
    let facts = read_machine_code(&artifacts.cubin, header.arch(), marks_spills, &same_name);
    let facts = facts.map_err(|error| error.to_string())?;
    let mut problems = Vec::new();
    let mut differ = |what: &str, ours: String, theirs: String| {
        if ours != theirs {
            problems.push(format!("  {what}: {ours}, ptxas {theirs}"));
        }
    };
    differ("architecture", header.arch().to_string(), artifacts.arch().to_string());
    differ("toolkit", format!("{:?}", header.toolkit), format!("{:?}", Some(given.target.toolkit.version)));
    let log = PtxasLog::parse(&artifacts.ptxas_log);
    for (name, ours) in &facts.log.functions {
        let Some(theirs) = log.functions.get(name) else { continue };
        let (mut ours, mut theirs) = (ours.clone(), theirs.clone());
        if !theirs.is_entry {
            // The log does not have these for device functions.
            (ours.usage.registers, theirs.usage.registers) = (0, 0);
        }
        if !marks_spills || !theirs.is_entry {
            // ptxas counts callee-saved registers as spills, but does not mark them.
            (ours.usage.spill_stores, ours.usage.spill_loads) = (theirs.usage.spill_stores, theirs.usage.spill_loads);
        }
        differ(name, format!("{ours:?}"), format!("{theirs:?}"));
    }
    for ((kernel, callee), theirs) in &log.callees {
        // A function with its own section was compared above.
        if let Some(ours) = facts.log.callees.get(&(kernel.clone(), callee.clone())) {
            let name = format!("`{callee}` in `{kernel}`");
            differ(&name, ours.stack_frame.to_string(), theirs.stack_frame.to_string());
        }
    }
    all(problems).map(|()| facts.log.functions.len() + facts.log.callees.len())
}
