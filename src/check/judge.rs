//! From compiled units to a report: what comments silence, what the rest says, and what a revision had of it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use lmem_base::comparison::Version;
use lmem_base::diagnostic::{Code, Diagnostic, PartitionTally, Report, Summary};
use lmem_base::level::Level;
use lmem_base::source::display_path;
use lmem_extract::Extraction;
use lmem_lints::remark::NOT_CHECKED;
use lmem_project::discover::{NotChecked, Unchecked};
use lmem_unit::TranslationUnit;

use super::jobs::Job;
use super::levels::{leveled_by_file, leveled_by_place};
use super::request::Request;
use super::since::{self, Reached, Since};
use super::start::Start;
use super::surroundings::Surroundings;
use super::tally::{say_what_happened, summarize};
use super::unit::UnitReport;
use super::{
    CheckError, Outcome, Talk, builds, called_elsewhere, error, failures, kernels, messages, not_analysed, only, parts,
    remarks, suppress,
};
use crate::cli::CheckArgs;
use crate::report;

/// A run between its settings and its report.
pub(super) struct Run<'a> {
    pub request: &'a Request<'a>,
    pub start: &'a Start,
    /// Checks in other surroundings, for what a revision has.
    pub check: &'a dyn Fn(&Request<'_>) -> Result<Outcome, CheckError>,
}

/// The units of a run, compiled.
pub(super) struct Compiled<'a> {
    run: &'a Run<'a>,
    extraction: &'a Extraction,
    jobs: &'a [Job<'a>],
    partition: Option<PartitionTally>,
    pub reports: Vec<UnitReport>,
    /// By Ctrl-C; the units that were finished have their reports.
    pub interrupted: bool,
    /// The kernels, if they are compared with those of another version.
    pub kernels: Option<Version>,
    /// Files that did not compile, or could not be read.
    pub failing: BTreeSet<PathBuf>,
    /// What the changes since a revision reach.
    reached: Reached,
    /// Sources of units that nobody looked at.
    not_checked: Vec<NotChecked>,
}

impl<'a> Compiled<'a> {
    /// # Errors
    /// Nothing can be reported: the run was interrupted too early, or the command line names no kernel or architecture
    /// that there is.
    pub fn new(
        run: &'a Run<'a>,
        extraction: &'a Extraction,
        jobs: &'a [Job<'a>],
        mut reports: Vec<UnitReport>,
        partition: Option<PartitionTally>,
    ) -> Result<Self, CheckError> {
        let Request { arguments, cancel, .. } = *run.request;
        let interrupted = cancel.load(Ordering::Relaxed) || reports.iter().any(|report| report.interrupted);
        if interrupted {
            // Results up to the interruption are shown.
            reports.iter_mut().filter(|report| report.interrupted).for_each(|report| *report = UnitReport::default());
            if reports.iter().all(|report| report.diagnostics.is_empty()) || arguments.fix {
                return Err(CheckError::Interrupted);
            }
        }
        if let Some(toolkit) = jobs.first().map(|job| &job.target.toolkit) {
            let names: Vec<&str> = jobs.iter().map(|job| job.unit.name.as_str()).collect();
            failures::one_for_each_cause(&names, &mut reports, toolkit, cancel);
        }
        if let Some(error) = failures::no_such_architecture(&reports, &run.start.architectures) {
            return Err(error);
        }
        let (kernels, failing, reached, not_checked) = (None, BTreeSet::new(), Reached::default(), Vec::new());
        let compiled =
            Self { run, extraction, jobs, partition, reports, interrupted, kernels, failing, reached, not_checked };
        match &arguments.kernel {
            Some(glob) if compiled.has_no_kernel() => Err(error::no_kernel(glob, &compiled.reports)),
            _ => Ok(compiled),
        }
    }

    /// Whether there is no kernel among the units, nor where this run did not look: in another machine's part, or in a
    /// file that could not be read.
    fn has_no_kernel(&self) -> bool {
        let looked_everywhere = !self.interrupted && self.partition.is_none() && self.extraction.unread.is_empty();
        looked_everywhere && is_unmatched(&self.reports)
    }

    /// Whether all was checked to its end, but for files that did not compile.
    pub fn is_all_read(&self) -> bool {
        !self.interrupted && !self.reports.iter().any(|report| report.is_unread)
    }

    /// The report of all units: silenced by comments, leveled, folded and counted.
    pub fn report(&mut self, flag_advice: String) -> Report {
        let Run { request, start, .. } = *self.run;
        let Request { surroundings, arguments, since, talk, .. } = *request;
        let (workspace, jobs) = (&start.workspace, self.jobs);
        let is_nothing = request.asks_for_all() && self.has_no_kernel();
        let some_kernels = start.kernels.is_some();
        let extent = suppress::Extent {
            workspace,
            some_kernels: some_kernels || self.interrupted || !self.extraction.unread.is_empty(),
            some_files: !arguments.paths.is_empty() || self.partition.is_some(),
            some_packages: !arguments.package.is_empty(),
        };
        let reports = &mut self.reports;
        let told = to_tell(self.extraction, jobs, reports, some_kernels);
        let suppress::Suppressed { mut remarks, list: suppressions } = suppress::suppress(jobs, reports, extent);
        let nothing = "no kernel was checked: with these flags, the sources have none";
        remarks.extend(is_nothing.then(|| not_analysed::less_checked(nothing)));
        // Settings that name `-G` for a file and allow the lint that says so would hide its kernels without a word.
        let is_typed =
            |lint: &str| lmem_lints::find(lint).is_some_and(|it| start.levels.typed().level(it) == Level::Allow);
        let units = jobs.iter().zip(reports.iter()).filter(|(_, it)| it.is_unread && it.diagnostics.is_empty());
        let unread: BTreeSet<PathBuf> =
            units.map(|(job, _)| job.unit.path()).filter(|_| !is_typed("debug_build")).collect();
        self.not_checked = unread.into_iter().map(|path| NotChecked { why: Unchecked::Debug, path }).collect();
        if self.partition.is_none() && !self.interrupted {
            let parts = parts::in_no_unit(&workspace.included, &self.extraction.as_texts, jobs, reports);
            self.not_checked.extend(parts);
            self.not_checked.extend(called_elsewhere::defining(jobs, reports));
        }
        remarks.extend(not_analysed::not_checked(&self.not_checked, workspace));
        self.reached = since.map(|since| since.keep_changed(jobs, reports)).unwrap_or_default();
        say_what_happened(jobs, reports, talk);
        builds::name_builds(jobs, reports);
        let listed = arguments.kernels.then(|| kernels::version(jobs, reports));
        let listed = listed.map(|version| version.with_files(|file| display_path(Path::new(file), &workspace.root)));
        self.kernels = surroundings.compares_kernels.then(|| kernels::version(jobs, reports));
        let by_comments = suppressions.iter().map(|suppression| suppression.silenced);
        let silenced = by_comments.chain(reports.iter().map(|report| report.silenced)).sum();
        let summary = Summary { partition: self.partition, flag_advice, silenced, ..summarize(jobs, reports) };
        let failing = jobs.iter().zip(&*reports).filter(|(_, report)| report.failed).map(|(job, _)| job.unit.path());
        self.failing = failing.chain(not_analysed::unread_files(self.extraction)).collect();
        let diagnostics = jobs.iter().zip(reports.iter_mut()).map(|(job, report)| {
            let diagnostics = std::mem::take(&mut report.diagnostics);
            let leveled = |diagnostic| leveled_by_place(diagnostic, job, arguments, workspace);
            diagnostics.into_iter().filter_map(leveled).collect()
        });
        let diagnostics = diagnostics.collect();
        let folded = self.run.folded(diagnostics, remarks, &told, summary);
        let mut report = Report { suppressions, kernels: listed, ..folded };
        let compiled = only::compiled(&self.reports);
        for diagnostic in &mut report.diagnostics {
            diagnostic.notes.extend(only::note(diagnostic, &compiled));
        }
        report
    }

    /// Compares what was found with a revision: all kernels, if they are compared, the files that the change reaches,
    /// and those that do not compile. Returns whether the revision could be checked.
    ///
    /// # Errors
    /// The run was interrupted, or the revision cannot be checked.
    pub fn compare(&mut self, since: &Since, report: &mut Report) -> Result<bool, CheckError> {
        let Run { request, start, .. } = *self.run;
        let units = self.jobs.iter().zip(&self.reports);
        let unread = units.filter(|(_, report)| report.is_unread).map(|(job, _)| job.unit.path());
        let unknown: BTreeSet<PathBuf> = self.failing.iter().cloned().chain(unread).collect();
        let silent = suppress::Silent::new(&report.suppressions, self.jobs, &start.workspace.root);
        let now = since::Now {
            kernels: self.kernels.take(),
            compiled: &kernels::names(&self.reports),
            reached: &self.reached,
            failing: &self.failing,
            unknown: &unknown,
            not_checked: &self.not_checked,
            beyond: &self.extraction.beyond,
            is_silent: &|file, lint| silent.is_silent(file, lint),
            leveled: &|remark| self.run.leveled(remark),
            check: &|surroundings, arguments| self.run.check_in_silence(surroundings, arguments),
        };
        let judged = since.judge(report, now, &start.workspace, request.talk)?;
        self.failing.retain(|path| !judged.never_compiled.contains(path));
        Ok(judged.is_known)
    }
}

impl Run<'_> {
    /// The report of a run without anything to compile, and the files that could not be read.
    ///
    /// # Errors
    /// The run was interrupted, or the revision cannot be checked.
    pub fn without_units(
        &self,
        extraction: &Extraction,
        partition: Option<PartitionTally>,
    ) -> Result<(Report, BTreeSet<PathBuf>), CheckError> {
        let Request { surroundings, since, talk, .. } = *self.request;
        let workspace = &self.start.workspace;
        let is_all_here =
            extraction.unread.is_empty() && partition.is_none_or(|partition| partition.left_to_others == 0);
        let is_nothing = surroundings.program.is_none() && is_all_here && workspace.not_checked.is_empty();
        let asks_for_all = self.request.asks_for_all();
        let nothing = (is_nothing && asks_for_all).then(|| not_analysed::less_checked("no CUDA source was found"));
        if is_nothing && nothing.is_none() {
            talk.note("no CUDA source was found");
        }
        let failing = not_analysed::unread_files(extraction);
        let summary = Summary { partition, ..Summary::default() };
        let parts = match partition {
            // Another machine has what they are parts of.
            Some(_) => Vec::new(),
            None => parts::in_no_unit(&workspace.included, &extraction.as_texts, &[], &[]),
        };
        let remarks = nothing.into_iter().chain(not_analysed::not_checked(&parts, workspace));
        let mut report = self.folded(Vec::new(), remarks.collect(), extraction, summary);
        if let Some(since) = since {
            // The revision may have kernels that are gone, or left out now.
            let now = since::Now {
                kernels: surroundings.compares_kernels.then(Version::default),
                compiled: &BTreeSet::new(),
                reached: &Reached::default(),
                failing: &failing,
                unknown: &failing,
                not_checked: &parts,
                beyond: &extraction.beyond,
                is_silent: &|_, _| false,
                leveled: &|remark| self.leveled(remark),
                check: &|surroundings, arguments| self.check_in_silence(surroundings, arguments),
            };
            since.judge(&mut report, now, workspace, talk)?;
        }
        Ok((report, failing))
    }

    fn check_in_silence(&self, surroundings: &Surroundings<'_>, arguments: &CheckArgs) -> Result<Outcome, CheckError> {
        let talk = &Talk::new(true, 0);
        (self.check)(&Request { surroundings, arguments, since: None, cancel: self.request.cancel, talk })
    }

    /// A remark with the level that settings give it, unless they allow it.
    pub fn leveled(&self, remark: Diagnostic) -> Option<Diagnostic> {
        leveled_by_file(remark, &self.start.workspace, &self.start.levels)
    }

    /// Merges the diagnostics of all units, adds those about the run, and counts.
    fn folded(
        &self,
        mut units: Vec<Vec<Diagnostic>>,
        remarks: Vec<Diagnostic>,
        extraction: &Extraction,
        mut summary: Summary,
    ) -> Report {
        let workspace = &self.start.workspace;
        let settings = remarks::unmatched(&workspace.unmatched, &workspace.root);
        let remarks = remarks.into_iter().chain(settings).chain(not_analysed::not_analysed(extraction, workspace));
        let remarks = remarks.chain(not_analysed::unknown_options(extraction, workspace));
        let remarks = remarks.chain(not_analysed::not_checked(&workspace.not_checked, workspace));
        let remarks = remarks.chain(not_analysed::beyond(&extraction.beyond, workspace));
        let mut silenced = 0;
        let leveled = |remark: Diagnostic| {
            let is_of_less = remark.code == Code::Tool(NOT_CHECKED);
            let leveled = self.leveled(remark);
            silenced += usize::from(is_of_less && leveled.is_none());
            leveled
        };
        let mut remarks: Vec<Diagnostic> = remarks.filter_map(leveled).collect();
        let is_typed = remarks::leveled(not_analysed::less_checked(""), self.start.levels.typed()).is_none();
        remarks.extend((silenced > 0 && !is_typed).then(|| not_analysed::silenced(silenced)));
        units.push(remarks);
        summary.silenced += silenced;
        units.push(not_analysed::refused(&workspace.refused));
        units.push(not_analysed::unread(extraction, workspace));
        summary.units += extraction.unread.len();
        summary.failed_units += extraction.unread.len();
        summary.not_analysed = extraction.unresolved.len();
        let diagnostics = report::fold_units(units);
        let mut report = Report { diagnostics, summary, ..Report::default() };
        report.count_findings();
        report
    }
}

/// What is to be said of texts that are no units, and of units without kernels. Where some kernels are asked for, what
/// is said of other files and texts says nothing of these.
fn to_tell<'e>(
    extraction: &'e Extraction,
    jobs: &[Job<'_>],
    reports: &mut [UnitReport],
    some_kernels: bool,
) -> Cow<'e, Extraction> {
    let mut told = Cow::Borrowed(extraction);
    if some_kernels && !is_unmatched(reports) {
        reports.iter_mut().filter(|report| is_empty(report)).for_each(|report| report.diagnostics.clear());
        told = Cow::Owned(Extraction { unread: extraction.unread.clone(), ..Extraction::default() });
    }
    let without_kernels = not_analysed::without_kernels(jobs, reports);
    if !without_kernels.is_empty() {
        let told = told.to_mut();
        let is_one = |unit: &TranslationUnit| {
            let start = messages::start_of(unit);
            unit.is_unclaimed() && without_kernels.iter().any(|text| Some(&text.span) == start.as_ref())
        };
        told.units.retain(|unit| !is_one(unit));
        told.unresolved.extend(without_kernels);
    }
    told
}

/// Whether `--kernel` excluded all kernels that compiled.
fn is_unmatched(reports: &[UnitReport]) -> bool {
    reports.iter().all(is_empty)
}

/// Whether no kernel or function of a unit is looked at.
fn is_empty(report: &UnitReport) -> bool {
    report.kernels == 0 && report.functions.is_empty() && !report.failed && !report.is_unread
}
