//! Compiling the suggestions of a run before it shows them.

use std::time::{Duration, Instant};

use super::progress::Progress;
use super::unit::{Shared, UnitReport};
use super::{CheckError, Job, Talk};
use crate::cli::CheckArgs;
use crate::diagnostic::Diagnostic;
use crate::lint::plural;
use crate::verify::{self, Prover, Subject};

/// Tries the suggestions of all diagnostics; those that do not help are dropped.
///
/// # Errors
/// The run was interrupted.
pub fn prove(
    diagnostics: &mut [Diagnostic],
    jobs: &[Job<'_>],
    reports: &[UnitReport],
    shared: &Shared<'_>,
    arguments: &CheckArgs,
    threads: usize,
    talk: &Talk,
) -> Result<(), CheckError> {
    let result = match arguments.no_verify {
        true => {
            verify::leave_open(diagnostics);
            Ok(())
        }
        false => compile(diagnostics, jobs, reports, shared, arguments, threads, talk),
    };
    for diagnostic in diagnostics.iter_mut().filter(|diagnostic| !diagnostic.suggestions.is_empty()) {
        // The edit says what the words say.
        diagnostic.help.clear();
    }
    result
}

fn compile(
    diagnostics: &mut [Diagnostic],
    jobs: &[Job<'_>],
    reports: &[UnitReport],
    shared: &Shared<'_>,
    arguments: &CheckArgs,
    threads: usize,
    talk: &Talk,
) -> Result<(), CheckError> {
    let count = diagnostics.iter().filter(|diagnostic| !diagnostic.suggestions.is_empty()).count();
    if count == 0 {
        return Ok(());
    }
    let start = Instant::now();
    let subjects: Vec<Subject<'_>> =
        jobs.iter().zip(reports).filter_map(|(job, report)| subject(job, report)).collect();
    let progress = Progress::new("Proving", count, talk.quiet);
    let prover = Prover {
        subjects: &subjects,
        source: shared.source,
        root: shared.root,
        threads,
        deadline: start + Duration::from_secs(arguments.verify_budget),
        on_start: &|name| progress.start_more(name),
    };
    let tally = verify::prove(diagnostics, &prover);
    progress.clear();
    if tally.interrupted {
        return Err(CheckError::Interrupted);
    }
    for (place, fault) in &tally.refuted {
        talk.detail(&format!("suggestion for {place} is not shown: {fault}"));
    }
    talk.detail(&format!(
        "suggestions: {} tried, {} proven, {} not compiled; {} in {:.1} s",
        tally.tried,
        tally.proven,
        tally.open,
        plural(tally.compilations as u64, "compilation"),
        start.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// A unit that compiled.
fn subject<'a>(job: &'a Job<'_>, report: &'a UnitReport) -> Option<Subject<'a>> {
    (!report.failed && !report.architecture.is_empty()).then_some(Subject {
        unit: job.unit,
        target: &job.target,
        architecture: &report.architecture,
        dependencies: &report.dependencies,
        before: &report.measured,
    })
}
