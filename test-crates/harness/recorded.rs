//! Tests one test crate against its record.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use snapbox::{Data, IntoData};

use cargo_lmem::check::Outcome;
use cargo_lmem::cli::MessageFormat;
use lmem_base::diagnostic::{Code, Diagnostic};
use nv_code::PtxasLog;

use super::crates::TestCrate;
use super::memo::Memo;
use super::record::{Given, Record, no_toolkit};
use super::{Problem, all, claims, marks, registry, run};

/// Functions whose frames are in no finding because a comment silences it.
const SILENT: &[&str] = &["cold_path", "whole_kernel", "histogram_16", "quiet_16", "quiet_32", "expected"];

/// Checks marks, bytes and reports, and that a second run gives the same result.
pub fn test(test_crate: &TestCrate) -> Result<(), Problem> {
    let run = usual(test_crate)?;
    let outcome = &run.outcome;
    // Suggestions of lints that are allowed are not recorded.
    let (complete, given) = check(test_crate, &[&every_lint(), "--no-verify"])?;
    let mut problems = Vec::new();
    let mut note = |result: Result<(), Problem>| problems.extend(result.err());
    note(conserve(&complete.report.diagnostics, &given, &images(test_crate)?));
    note(marks_agree(&complete.report.diagnostics));
    note(same_twice(test_crate, outcome));
    if test_crate.has_expectations() {
        note(registry::message_habits(&complete.report.diagnostics));
        note(marks::compare(test_crate, &outcome.report.diagnostics));
        note(compare_text(test_crate, outcome));
        note(compare_json(test_crate, outcome));
        // The table of all crates is compared in another test, which reuses the lines computed here.
        note(claims::of_crate(test_crate).map(drop));
    }
    all(problems)
}

/// The argument that enables all lints.
pub fn every_lint() -> String {
    format!("--warn={}", lmem_lints::known_names().join(",").replace(",warnings", ""))
}

/// The tool's result for a record, and the compiler outputs it used.
pub struct Run {
    pub outcome: Outcome,
    pub given: Vec<Given>,
}

/// A run without additional arguments, shared by several tests.
pub fn usual(test_crate: &TestCrate) -> Result<Arc<Run>, Problem> {
    static KNOWN: Memo<Run> = Memo::new();
    KNOWN.get(&test_crate.name, || check(test_crate, &[]).map(|(outcome, given)| Run { outcome, given }))
}

/// Runs the tool on the record.
pub fn check(test_crate: &TestCrate, more: &[&str]) -> Result<(Outcome, Vec<Given>), Problem> {
    let record = Record::new(test_crate);
    let is_open = !test_crate.has_recorded_suggestions() && !more.contains(&"--no-verify");
    let proof: &[&str] = if is_open { &["--no-verify"] } else { &[] };
    let toolkit = no_toolkit(test_crate.version);
    let outcome = run::check(test_crate, &test_crate.folder, toolkit, &record, &[proof, more].concat());
    let given = record.finish()?;
    Ok((outcome?, given))
}

/// Checks that for each kernel and architecture, the findings explain exactly the frame that ptxas reports. `images`
/// are the architectures of machine code in the crate, with the log of its ptxas.
pub fn conserve(diagnostics: &[Diagnostic], given: &[Given], images: &[(String, String)]) -> Result<(), Problem> {
    let mut frames: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
    let given = given.iter().map(|given| (&given.artifacts.architecture, &given.artifacts.ptxas_log));
    for (architecture, log) in given.chain(images.iter().map(|(architecture, log)| (architecture, log))) {
        for (name, function) in PtxasLog::parse(log).functions {
            let key = (name, architecture.clone());
            frames.entry(key).or_default().push(function.usage.stack_frame);
        }
    }
    let mut explained: BTreeMap<(String, String), u64> = BTreeMap::new();
    for kernel in diagnostics.iter().filter_map(|diagnostic| diagnostic.evidence.as_ref()).flat_map(|it| &it.kernels) {
        *explained.entry((kernel.mangled.clone(), kernel.arch.clone())).or_default() += kernel.bytes;
    }
    let keys: BTreeSet<_> = frames.keys().chain(explained.keys()).collect();
    let differing = keys.into_iter().filter_map(|key| {
        let frames = frames.get(key).map_or(&[][..], Vec::as_slice);
        let explained = explained.get(key).copied().unwrap_or(0);
        let is_right = match SILENT.contains(&key.0.as_str()) {
            true => explained == 0,
            false => sums(frames).contains(&explained),
        };
        let frame = frames.iter().max().copied().unwrap_or(0);
        (!is_right).then(|| format!("`{}` for {}: {explained} of {frame} bytes are explained", key.0, key.1))
    });
    all(differing.collect())
}

/// ptxas's log for machine code in a crate, one per requested architecture.
fn images(test_crate: &TestCrate) -> Result<Vec<(String, String)>, Problem> {
    let logs = test_crate.sources().into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "log"));
    let mut images: Vec<(String, String)> = Vec::new();
    for path in logs {
        let text = fs_err::read_to_string(test_crate.folder.join(path)).map_err(|error| error.to_string())?;
        for line in text.lines() {
            let architecture = line.contains("Compiling entry function").then(|| line.rsplit('\'').nth(1)).flatten();
            match architecture {
                Some(name) if images.last().is_none_or(|(last, _)| last != name) => {
                    images.push((name.to_string(), format!("{line}\n")));
                }
                _ => images.iter_mut().last().into_iter().for_each(|(_, log)| *log += &format!("{line}\n")),
            }
        }
    }
    images.retain(|(architecture, _)| test_crate.architectures.contains(&architecture.as_str()));
    Ok(images)
}

/// The possible sums of findings for functions of one name. Units may define unrelated functions of the same name:
/// their frames add up. A function from a header is the same in all units, and counts with its largest frame.
fn sums(frames: &[u64]) -> BTreeSet<u64> {
    let mut sums = BTreeSet::from([0]);
    for frame in frames {
        let more: Vec<u64> = sums.iter().map(|sum| sum + frame).collect();
        sums.extend(more);
    }
    let largest = frames.iter().max().copied().unwrap_or(0);
    sums.retain(|sum| *sum >= largest);
    sums
}

/// Checks that the accesses that ptxas marks as spills move as many bytes as it reports.
fn marks_agree(diagnostics: &[Diagnostic]) -> Result<(), Problem> {
    let differing = diagnostics.iter().filter(|diagnostic| diagnostic.code == Code::Tool("spill_marks"));
    all(differing.map(|diagnostic| diagnostic.message.clone()).collect())
}

fn same_twice(test_crate: &TestCrate, outcome: &Outcome) -> Result<(), Problem> {
    let (again, _) = check(test_crate, &["--jobs=1"])?;
    let formats = [MessageFormat::Human, MessageFormat::Json, MessageFormat::Sarif];
    let differs =
        |format| -> Result<bool, Problem> { Ok(run::report(outcome, format)? != run::report(&again, format)?) };
    for format in formats {
        if differs(format)? {
            return Err(format!("a second run gives another report ({format:?})"));
        }
    }
    Ok(())
}

/// Compares the human-readable report and its last lines.
pub fn compare_text(test_crate: &TestCrate, outcome: &Outcome) -> Result<(), Problem> {
    compare(run::report(outcome, MessageFormat::Human)?, &test_crate.expected_text())
}

fn compare_json(test_crate: &TestCrate, outcome: &Outcome) -> Result<(), Problem> {
    match test_crate.expected_json() {
        Some(path) => compare(run::report(outcome, MessageFormat::Json)?, &path),
        None => Ok(()),
    }
}

/// Compares with a file, or writes the file if `SNAPSHOTS=overwrite` is set.
pub fn compare(actual: String, path: &Path) -> Result<(), Problem> {
    let assert = snapbox::Assert::new().action_env("SNAPSHOTS");
    let expected = Data::read_from(path, Some(snapbox::data::DataFormat::Text)).raw();
    let result = assert.try_eq(Some(&path.display()), actual.into_data().raw(), expected);
    result.map_err(|error| error.to_string())
}

/// Whether a diagnostic comes from a lint.
pub fn is_lint(diagnostic: &Diagnostic) -> bool {
    matches!(diagnostic.code, Code::Lint(_))
}
