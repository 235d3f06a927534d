//! One check, stage by stage: settings, units, compilation, report, proof.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cuda_toolkit::{Library, Toolkit};

use super::artifacts::Compilers;
use super::early::Early;
use super::gather::Gathered;
use super::jobs::{jobs, run_jobs};
use super::judge::{Compiled, Run};
use super::known::{self, Known};
use super::request::Request;
use super::start::Start;
use super::unit::Shared;
use super::{CheckError, Fixes, Outcome, not_analysed, parts, prove, tools};
use crate::cache::Cache;
use crate::cli::SortBy;
use crate::compile::{Compiler, HeaderIndex, Shown, Steps, TotalTime};
use crate::fix::VcsRules;
use crate::report;
use crate::verify::Comparer;

/// Runs a check once. `rules` say when a tree may be edited, if it is to be.
///
/// # Errors
/// As [`check`](super::check).
pub(super) fn check_once(request: &Request<'_>, rules: Option<VcsRules>) -> Result<Outcome, CheckError> {
    let Request { surroundings, arguments, since, cancel, talk } = *request;
    let mut start = Start::of(request, rules)?;
    let mut known = Known::of(arguments, &start.workspace, &start.current)?;
    let (gathered, partition) = start.gather(request)?;
    let Gathered { extraction, toolkit, built_for, flag_advice, ended, .. } = gathered;
    let run = Run { request, start: &start, check: &|request| check_once(request, None) };
    if extraction.units.is_empty() && extraction.parts.is_empty() {
        let (report, failing) = run.without_units(&extraction, partition)?;
        let failed = !failing.is_empty() || not_analysed::has_refused(&report);
        let (interrupted, fixes, kernels, workspace) = (false, Fixes::default(), None, start.workspace);
        return Ok(Outcome { report, workspace, failed, interrupted, fixes, ended, kernels, failing });
    }

    let toolkit = match (&surroundings.recorded, toolkit) {
        (Some((toolkit, _)), _) => toolkit.clone(),
        (None, Some(toolkit)) => toolkit,
        (None, None) => tools::toolkit_for(&extraction, request, &start.workspace)?,
    };
    let library = |toolkit: &Toolkit, library: Library| {
        let folder = cuda_toolkit::headers(toolkit, library, arguments.offline, arguments.quiet, cancel);
        folder.map_err(|error| error.to_string())
    };
    let show = |shown: &Shown<'_>| talk.command(shown);
    let threads = tools::threads(arguments);
    let sandbox = tools::sandbox(request, &start, &toolkit, threads);
    let compilers = Compilers {
        comparer: &Comparer::default(),
        bench: surroundings.bench,
        shows_suggestions: talk.verbosity > 1,
        compiler: Compiler {
            limit: Duration::from_secs(arguments.timeout),
            total: TotalTime::from_now(Duration::from_secs(arguments.total_timeout)),
            sandbox: &sandbox,
            cancel,
            headers: HeaderIndex::new(&start.workspace.root),
            steps: &Steps::default(),
            ptxas_wrapper: arguments.ptxas_wrapper.clone(),
            library: &library,
            tries_shared_spilling: start.levels.warns_of("shared_spill_available"),
            compiles_host: false,
            version: request.surroundings.revision.map(|revision| (&*revision.top, &*revision.tree)),
            explains: true,
            show: &show,
            note: &|text| talk.note(text),
        },
        cache: start.cache.as_ref(),
    };
    let toolkit = Arc::new(toolkit);
    let jobs_of =
        |units| jobs(&start.architectures, &start.workspace, units, &built_for, &toolkit, &start.levels, talk);
    let mut jobs = jobs_of(&extraction.units);
    let recorded = surroundings.recorded.as_ref().map(|(_, record)| *record);
    let shared =
        Shared { source: recorded.unwrap_or(&compilers), root: &start.workspace.root, kernels: start.kernels.clone() };
    let is_early = since.is_none() && surroundings.revision.is_none() && known.is_nothing();
    let early = Early::new(&jobs, arguments, &start.workspace).filter(|_| is_early);
    let mut reports = run_jobs(&jobs, &shared, threads, compilers.cache, early.as_ref(), talk);
    let parts = parts::to_check(jobs_of(&extraction.parts), &extraction.as_texts, &jobs, &reports);
    let of_parts = run_jobs(&parts, &shared, threads, compilers.cache, None, talk);
    for (job, report) in parts.into_iter().zip(of_parts) {
        if let Some(report) = parts::of_source(job.unit, report) {
            jobs.push(job);
            reports.push(report);
        }
    }

    let mut compiled = Compiled::new(&run, &extraction, &jobs, reports, partition)?;
    let mut report = compiled.report(flag_advice);
    if compiled.interrupted && arguments.write_baseline {
        return Err(CheckError::Interrupted);
    }
    let is_old_known = since.map_or(Ok(false), |since| compiled.compare(since, &mut report))?;
    if is_old_known && arguments.baseline.is_none() {
        // The branch's own baseline would hide what it brings.
        known = Known::Nothing;
    }
    let failed = !compiled.failing.is_empty() || not_analysed::has_refused(&report);
    let is_whole = since.is_none() && known::is_whole(arguments) && !failed && compiled.is_all_read();
    known.judge(&mut report, is_whole, &start.workspace, talk, |remark| run.leveled(remark))?;

    let Compiled { reports, kernels, failing, interrupted, .. } = compiled;
    let settled = &surroundings.settled;
    let proof = prove::Run { jobs: &jobs, reports: &reports, shared: &shared, arguments, threads, talk, settled };
    let fixes = prove::prove(&mut report, &proof)?;
    report::limit_costs(&mut report.diagnostics);
    match arguments.sort {
        SortBy::File => report::sort_by_place(&mut report.diagnostics),
        // Proofs show what edits gain.
        SortBy::Severity => report::sort(&mut report.diagnostics),
    }
    compilers.cache.iter().for_each(|cache| Cache::finish(cache));
    // A Ctrl-C during the last compilation does not change the result, but still counts.
    let interrupted = interrupted || cancel.load(Ordering::Relaxed);
    report.summary.interrupted = interrupted;
    drop(jobs);
    Ok(Outcome { report, workspace: start.workspace, failed, interrupted, fixes, ended, kernels, failing })
}
