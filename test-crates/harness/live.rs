//! Runs the test crates with a real toolkit, and compares our reading of machine code with nvdisasm's.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use libtest_mimic::Completion;

use cargo_lmem::check::{ArtifactSource, Outcome, Sourced, Surroundings, check_in};
use cargo_lmem::cli::MessageFormat;
use cargo_lmem::compile::{Failure, Target};
use cargo_lmem::verify::{Comparer, Measured, Overlay, OverlaySource};
use cuda_toolkit::Component;
use lmem_unit::{Artifacts, TranslationUnit};

use super::crates::TestCrate;
use super::record::Given;
use super::{Problem, all, crates, disassembly, live_ranges, record, recorded, run};

/// Compiles in the crate's own folder; the report must equal the expected one, or the one that the record gives.
///
/// A crate for another toolkit is skipped if that toolkit is not found.
pub fn test(test_crate: &TestCrate) -> Result<Completion, Problem> {
    let cancel = AtomicBool::new(false);
    let toolkit = match record::real_toolkit(test_crate.version, &cancel) {
        Err(problem) if test_crate.version != crates::VERSION => return Ok(Completion::ignored_with(problem)),
        toolkit => toolkit?,
    };
    let source = Live { root: &test_crate.folder, cancel: &cancel, comparer: Comparer::default() };
    let proof = if test_crate.has_recorded_suggestions() { "--verify-budget=3600" } else { "--no-verify" };
    let outcome = run::check(test_crate, &test_crate.folder, toolkit, &source, &[proof])?;
    if test_crate.has_expectations() {
        return recorded::compare_text(test_crate, &outcome).map(|()| Completion::Completed);
    }
    let of_record = recorded::usual(test_crate)?;
    let report = |outcome: &Outcome| run::report(outcome, MessageFormat::Human);
    let (live, recorded) = (report(&outcome)?, report(&of_record.outcome)?);
    match live.lines().zip(recorded.lines()).find(|(live, recorded)| live != recorded) {
        None if live == recorded => Ok(Completion::Completed),
        None => Err("the report is longer or shorter than the one that the record gives".to_string()),
        Some((live, recorded)) => {
            Err(format!("the report is not the one that the record gives: `{live}` instead of `{recorded}`"))
        }
    }
}

struct Live<'a> {
    root: &'a std::path::Path,
    cancel: &'a AtomicBool,
    comparer: Comparer,
}

impl ArtifactSource for Live<'_> {
    fn artifacts(&self, unit: &TranslationUnit, target: &Target) -> Result<Sourced, Box<Failure>> {
        let artifacts = record::compile(self.root, unit, target, self.cancel)?;
        self.comparer.remember(unit, target, &artifacts);
        Ok(Sourced { artifacts, cached: false, cache_error: None })
    }
}

impl OverlaySource for Live<'_> {
    fn measure(&self, overlay: &Overlay<'_>, target: &Target) -> Result<Measured, Box<Failure>> {
        record::measure(self.root, overlay, target, &self.comparer, self.cancel)
    }
}

/// Compares our reading of all machine code of a workspace with nvdisasm's, and checks the sums of its findings. Cached
/// units are not compiled again.
pub fn judge_workspace(folder: &Path) -> Result<(), Problem> {
    let cancel = AtomicBool::new(false);
    let toolkit = record::real_toolkit(crates::VERSION, &cancel)?;
    let nvdisasm = cuda_toolkit::component(&toolkit, Component::Nvdisasm, false, true, &cancel);
    let nvdisasm = nvdisasm.map_err(|error| error.to_string())?.join("bin/nvdisasm");
    let judge = Judge {
        root: folder,
        cancel: &cancel,
        nvdisasm: &nvdisasm,
        comparer: Comparer::default(),
        given: Mutex::default(),
        found: Mutex::default(),
    };
    let surroundings =
        Surroundings { current_folder: Some(folder), recorded: Some((toolkit, &judge)), ..Surroundings::default() };
    let everything = format!("--warn={}", lmem_lints::known_names().join(",").replace(",warnings", ""));
    let arguments = run::arguments(&["sm_90"], &[".", "--no-verify", &everything]);
    let outcome = check_in(surroundings, &arguments, &cancel).map_err(|error| error.to_string())?;
    let (compared, mut problems) = judge.found.into_inner().expect("no thread has panicked");
    let summary = &outcome.report.summary;
    eprintln!(
        "{}: {} kernels, {} bytes of local memory, {} unexplained, {} units failed; {compared} local accesses compared with nvdisasm",
        folder.display(),
        summary.kernels,
        summary.frame_bytes,
        summary.unexplained_bytes,
        summary.failed_units
    );
    problems.extend(
        recorded::conserve(
            &outcome.report.diagnostics,
            &judge.given.into_inner().expect("no thread has panicked"),
            &[],
        )
        .err(),
    );
    all(problems)
}

impl OverlaySource for Judge<'_> {
    /// Suggestions are not compared.
    fn measure(&self, overlay: &Overlay<'_>, target: &Target) -> Result<Measured, Box<Failure>> {
        record::measure(self.root, overlay, target, &self.comparer, self.cancel)
    }
}

/// Compiles with the user's cache, and compares units with local accesses with nvdisasm.
struct Judge<'a> {
    root: &'a Path,
    cancel: &'a AtomicBool,
    nvdisasm: &'a Path,
    comparer: Comparer,
    given: Mutex<Vec<Given>>,
    /// Number of local accesses compared, and the differences found.
    found: Mutex<(usize, Vec<Problem>)>,
}

impl ArtifactSource for Judge<'_> {
    fn artifacts(&self, unit: &TranslationUnit, target: &Target) -> Result<Sourced, Box<Failure>> {
        let sourced = record::compile_cached(self.root, unit, target, self.cancel)?;
        let compared = disassembly::compare(self.nvdisasm, &sourced.artifacts);
        let mut found = self.found.lock().expect("no thread has panicked");
        match compared {
            Ok(count) => found.0 += count,
            Err(problem) => found.1.push(format!("{}:\n{problem}", unit.name)),
        }
        let given = Given { unit: unit.clone(), target: target.clone(), artifacts: sourced.artifacts.clone() };
        self.given.lock().expect("no thread has panicked").push(given);
        Ok(sourced)
    }
}

/// Compares every local access, spill mark, and line of every recorded cubin.
pub fn compare_with_nvdisasm() -> Result<(), Problem> {
    let mut compared = 0;
    let outcome = for_each_record(|nvdisasm, artifacts| {
        compared += disassembly::compare(nvdisasm, artifacts)?;
        Ok(())
    });
    eprintln!("compared {compared} local accesses with nvdisasm");
    outcome
}

/// Compares the registers of every instruction of every recorded cubin, and the live ranges.
pub fn compare_live_ranges() -> Result<(), Problem> {
    let mut tally = live_ranges::Tally::default();
    let outcome = for_each_record(|nvdisasm, artifacts| {
        tally.add(live_ranges::compare(nvdisasm, artifacts)?);
        Ok(())
    });
    eprintln!(
        "compared live registers at {} instructions with nvdisasm; its listing contradicts itself at {}, and {} cubins have none",
        tally.instructions, tally.contradicted, tally.unlisted
    );
    outcome
}

/// Gives each recorded cubin, with the disassembler.
fn for_each_record(mut compare: impl FnMut(&Path, &Artifacts) -> Result<(), Problem>) -> Result<(), Problem> {
    let cancel = AtomicBool::new(false);
    let toolkit = record::real_toolkit(crates::VERSION, &cancel)?;
    let folder = cuda_toolkit::component(&toolkit, Component::Nvdisasm, false, true, &cancel);
    let nvdisasm = folder.map_err(|error| error.to_string())?.join("bin/nvdisasm");
    let mut problems = Vec::new();
    for test_crate in crates::all() {
        for given in &recorded::usual(&test_crate)?.given {
            let name = format!("{}/{} for {}", test_crate.name, given.unit.name, given.artifacts.architecture);
            if let Err(problem) = compare(&nvdisasm, &given.artifacts) {
                problems.push(format!("{name}:\n{problem}"));
            }
        }
    }
    all(problems)
}
