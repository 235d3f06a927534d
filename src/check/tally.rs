//! What a run did: its messages, and the counts of its summary.

use std::collections::{BTreeMap, BTreeSet};

use cuda_syntax::launch::base_name;
use lmem_base::diagnostic::{FlagOrigin, Summary};
use lmem_base::words::plural;
use lmem_unit::{TranslationUnit, UnitCode};

use super::Talk;
use super::jobs::Job;
use super::unit::UnitReport;
use super::unit_flags::{flag_origin, is_for_driver};

/// Limit on the files that are named for templates that nothing instantiates.
const MAX_FILES: usize = 3;

pub fn say_what_happened(jobs: &[Job<'_>], reports: &[UnitReport], talk: &Talk) {
    let mut rescued: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (job, report) in jobs.iter().zip(reports) {
        report.rescues.iter().for_each(|rescue| rescued.entry(rescue.as_str()).or_default().push(&job.unit.name));
        let origin = if report.cached { "cached" } else { "compiled" };
        let flags = flag_origin(job.unit);
        let arguments = arguments(job.unit);
        let (name, architecture) = (&job.unit.name, &job.target.architecture);
        talk.detail(&format!("{origin}: {name} for {architecture}, flags: {}{arguments}", flags.name()));
    }
    if jobs.iter().any(|job| is_for_driver(job.unit)) {
        talk.detail(
            "note: the driver makes machine code of PTX and of kernel strings when the program runs: one that is not of this \
             toolkit's version may decide otherwise than its `ptxas`",
        );
    }
    for (rescue, mut names) in rescued {
        names.dedup();
        match names.as_slice() {
            [only] => talk.note(&format!("`{only}`: {rescue}")),
            [first, more @ ..] => talk.note(&format!(
                "`{first}` and {}: {rescue}",
                lmem_base::words::plural(more.len() as u64, "other file")
            )),
            [] => {}
        }
    }
    for unit in uninstantiated(jobs, reports) {
        talk.note(&unit);
    }
    if let Some(error) = reports.iter().find_map(|report| report.cache_error.as_ref()) {
        talk.note(&format!("compiled kernels could not be kept for the next run: {error}"));
    }
}

/// The arguments of a unit's compiler, which are those of its command, whether it ran now or before.
fn arguments(unit: &TranslationUnit) -> String {
    let words = match &unit.code {
        UnitCode::CudaFile { flags, .. } => flags.all_arguments(),
        UnitCode::CudaText { options, .. } => options.arguments.clone(),
        UnitCode::Ptx { options, .. } => options.arguments.clone(),
        UnitCode::Machine(_) => Vec::new(),
    };
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(" ")) }
}

/// Notes on kernels that are templates and that nothing instantiates: they compile to nothing.
fn uninstantiated(jobs: &[Job<'_>], reports: &[UnitReport]) -> Vec<String> {
    let names = reports.iter().flat_map(|report| {
        let checked = report.checked.iter().map(|kernel| &kernel.instance.name);
        checked.chain(&report.left_out).map(|name| base_name(name))
    });
    let names: BTreeSet<&str> = names.collect();
    // Which of a file's compilations have no kernel, and which templates none of them instantiates.
    let mut files: BTreeMap<&str, (bool, BTreeSet<&str>)> = BTreeMap::new();
    let mut unknown: BTreeSet<&str> = BTreeSet::new();
    for (job, report) in jobs.iter().zip(reports) {
        if is_cut_off(report) {
            unknown.insert(&job.unit.name);
        }
        let file = files.entry(&job.unit.name).or_insert((true, BTreeSet::new()));
        file.0 &= report.kernels == 0 && report.left_out.is_empty();
        file.1.extend(report.templates.iter().map(String::as_str).filter(|template| !names.contains(template)));
    }
    files.retain(|name, (_, templates)| !unknown.contains(name) && !templates.is_empty());
    let mut notes: Vec<String> = files
        .iter()
        .take(MAX_FILES)
        .map(|(name, (is_empty, templates))| {
            let first = templates.first().copied().unwrap_or_default();
            let more = match templates.len() - 1 {
                0 => String::new(),
                more => format!(" and {}", plural(more as u64, "other")),
            };
            let what = if *is_empty {
                "no kernel of the file was checked"
            } else if more.is_empty() {
                "it is not checked"
            } else {
                "they are not checked"
            };
            format!("`{name}`: nothing instantiates the template `{first}`{more}, so {what}")
        })
        .collect();
    if let Some(more) = files.len().checked_sub(MAX_FILES).filter(|more| *more > 0) {
        notes.push(format!("{} with templates that nothing instantiates", plural(more as u64, "other file")));
    }
    notes
}

/// Whether nothing is known of the kernels of a unit: it failed, was interrupted, or is compiled for debugging.
fn is_cut_off(report: &UnitReport) -> bool {
    report.failed || report.interrupted || report.is_unread
}

pub fn summarize(jobs: &[Job<'_>], reports: &[UnitReport]) -> Summary {
    let mut units: BTreeMap<*const TranslationUnit, Vec<&UnitReport>> = BTreeMap::new();
    for (job, report) in jobs.iter().zip(reports) {
        units.entry(std::ptr::from_ref(job.unit)).or_default().push(report);
    }
    // Options that a program makes have a note of their own.
    let is_assumed =
        |job: &&Job<'_>| flag_origin(job.unit) == FlagOrigin::Assumed && job.unit.unresolved_options().is_none();
    let assumed: BTreeSet<_> = jobs.iter().filter(is_assumed).map(|job| std::ptr::from_ref(job.unit)).collect();
    let count = |holds: &dyn Fn(&[&UnitReport]) -> bool| units.values().filter(|reports| holds(reports)).count();
    let mut architectures: Vec<String> = jobs.iter().map(|job| job.target.architecture.clone()).collect();
    architectures.sort();
    architectures.dedup();
    // A malformed cubin has no architecture.
    architectures.retain(|architecture| !architecture.is_empty());
    // Bytes of different architectures are not added up.
    let mut frames: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (job, report) in jobs.iter().zip(reports) {
        let (frame, unexplained) = frames.entry(&job.target.architecture).or_default();
        *frame += report.frame_bytes;
        *unexplained += report.unexplained_bytes;
    }
    let most = frames.into_iter().max_by_key(|(_, bytes)| *bytes).unwrap_or_default();
    let (frame_architecture, (frame_bytes, unexplained_bytes)) = (most.0.to_string(), most.1);
    Summary {
        units: units.len(),
        kernels: reports.iter().map(|report| report.kernels).sum(),
        units_without_kernels: count(&|reports| reports.iter().all(|report| report.kernels == 0 && !report.failed)),
        failed_units: count(&|reports| reports.iter().any(|report| report.failed)),
        assumed_units: assumed.len(),
        debug_units: count(&|reports| reports.iter().all(|report| report.is_unread)),
        cached_units: count(&|reports| reports.iter().all(|report| report.cached)),
        findings: BTreeMap::new(),
        frame_architecture,
        frame_bytes,
        unexplained_bytes,
        not_analysed: 0,
        partition: None,
        architectures,
        toolkit: jobs.first().map(|job| job.target.toolkit.number.to_string()).unwrap_or_default(),
        ..Summary::default()
    }
}
