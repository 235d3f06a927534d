//! Compiles the suggestions of a run before they are shown.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

use lmem_base::diagnostic::{Applicability, Diagnostic, FixTally, Report, Suggestion, Summary};
use lmem_base::source::{SourceFile, has_ending};
use lmem_base::words::plural;
use lmem_unit::UnitCode;

use super::fixing::{Fixes, accepts, is_asked, spilling_kernels};
use super::jobs::Job;
use super::progress::Progress;
use super::unit::{Shared, UnitReport};
use super::{CheckError, Talk};
use crate::cli::CheckArgs;
use crate::verify::{self, Budget, Prover, Subject, Subjects, Watcher};

/// The run whose suggestions are compiled.
pub struct Run<'a> {
    pub jobs: &'a [Job<'a>],
    pub reports: &'a [UnitReport],
    pub shared: &'a Shared<'a>,
    pub arguments: &'a CheckArgs,
    pub threads: usize,
    pub talk: &'a Talk,
    /// Kernels whose spills an earlier round of `--fix` has edited.
    pub settled: &'a BTreeSet<String>,
}

/// Verifies the suggestions of all diagnostics and drops those that do not help. If files are to be fixed, returns the
/// compatible ones.
///
/// # Errors
/// The run was interrupted.
pub fn prove(report: &mut Report, run: &Run<'_>) -> Result<Fixes, CheckError> {
    let diagnostics = &mut report.diagnostics;
    let subjects = run.jobs.iter().zip(run.reports).filter_map(|(job, report)| subject(job, report));
    let subjects = Subjects::new(subjects.collect());
    let root = run.shared.root;
    let header = |path: &Path| SourceFile::read_named(path, root, &[root]).filter(|_| path.starts_with(root));
    for (place, unfit) in verify::keep_true_everywhere(diagnostics, &subjects, &header) {
        run.talk.detail(&format!("suggestion for {place} is not shown: {unfit}"));
    }
    let fixes = match run.arguments.no_verify {
        true => {
            verify::leave_open(diagnostics);
            Ok(Fixes::default())
        }
        false => compile(diagnostics, &mut report.summary, run, &subjects),
    };
    for diagnostic in diagnostics.iter_mut().filter(|diagnostic| !diagnostic.suggestions.is_empty()) {
        // The help text says the same as the edit.
        diagnostic.help.clear();
    }
    report.summary.suggested = suggested(diagnostics);
    if let Some(fixes) = fixes.as_ref().ok().filter(|_| run.arguments.diff) {
        report.summary.fixed = Some(FixTally { problems: fixes.problems, files: fixes.files.len(), is_written: false });
    }
    fixes
}

/// Number of diagnostics with a verified suggestion, by applicability.
fn suggested(diagnostics: &[Diagnostic]) -> BTreeMap<Applicability, usize> {
    let mut counts = BTreeMap::new();
    let proven = diagnostics.iter().flat_map(|diagnostic| &diagnostic.suggestions);
    for suggestion in proven.filter(|suggestion| suggestion.is_proven()) {
        *counts.entry(suggestion.applicability).or_default() += 1;
    }
    counts
}

fn compile(
    diagnostics: &mut [Diagnostic],
    summary: &mut Summary,
    run: &Run<'_>,
    subjects: &Subjects<'_>,
) -> Result<Fixes, CheckError> {
    let Run { shared, arguments, threads, talk, settled, .. } = *run;
    let start = Instant::now();
    let progress = Progress::new("Proving", 0, talk.quiet);
    let budget = Budget::new(arguments.verify_budget);
    let prover =
        Prover { subjects, source: shared.source, root: shared.root, threads, budget: &budget, watcher: &progress };
    if diagnostics.iter().all(|diagnostic| diagnostic.suggestions.is_empty()) {
        verify::run_alone(diagnostics, &prover);
        progress.clear();
        say_what_is_left(0, &budget, arguments, talk);
        return Ok(Fixes::default());
    }
    let tally = verify::prove(diagnostics, &prover);
    summary.refuted += tally.different();
    let fixes = match tally.interrupted {
        false if is_asked(arguments) => {
            let has_all = !run.reports.iter().any(|report| report.failed);
            combine(diagnostics, &prover, &Allowed { arguments, settled, has_all }, talk)
        }
        // Findings are shown in any case; nothing is written.
        _ => Ok(Fixes::default()),
    };
    progress.clear();
    for (place, fault) in &tally.refuted {
        talk.detail(&format!("suggestion for {place} is not shown: {fault}"));
    }
    say_what_is_left(tally.open, &budget, arguments, talk);
    talk.detail(&format!(
        "suggestions: {} tried, {} proven, {} not compiled; {} in {:.1} s",
        tally.tried,
        tally.proven,
        tally.open,
        plural(tally.compilations as u64, "compilation"),
        start.elapsed().as_secs_f64()
    ));
    if tally.interrupted && is_asked(arguments) { Err(CheckError::Interrupted) } else { fixes }
}

impl Watcher for Progress {
    fn plan(&self, count: usize) {
        self.plan(count);
    }

    fn start(&self, name: &str) {
        self.start(name);
    }

    fn finish(&self, name: &str) {
        self.finish(name);
    }
}

/// What may be written.
struct Allowed<'a> {
    arguments: &'a CheckArgs,
    settled: &'a BTreeSet<String>,
    /// Whether all units of the run were compiled.
    has_all: bool,
}

impl Allowed<'_> {
    /// Whether the run shows all code that an edit changes. Units that it leaves out, or that do not compile, may
    /// include the same header, with other macros.
    fn shows_readers(&self, suggestion: &Suggestion, subjects: &[Subject<'_>]) -> bool {
        let CheckArgs { paths, package, exclude, partition, .. } = self.arguments;
        let is_part = !package.is_empty() || !exclude.is_empty() || partition.is_some();
        let is_below = |file: &Path| {
            paths.is_empty() || paths.iter().any(|path| path.canonicalize().is_ok_and(|path| file.starts_with(path)))
        };
        let is_own = |file: &Path| {
            has_ending(file, &["rs"])
                || subjects.iter().any(
                    |subject| matches!(&subject.unit.code, UnitCode::CudaFile { file: own, .. } if own.path == *file),
                )
        };
        let files = suggestion.edits.iter().map(|edit| edit.span.file.path.as_path());
        files.into_iter().all(|file| is_own(file) || (self.has_all && !is_part && is_below(file)))
    }
}

fn combine(
    diagnostics: &[Diagnostic],
    prover: &Prover<'_>,
    allowed: &Allowed<'_>,
    talk: &Talk,
) -> Result<Fixes, CheckError> {
    // A text that a program builds at run time is in no file of the workspace.
    let is_file =
        |suggestion: &Suggestion| suggestion.edits.iter().all(|edit| edit.span.file.path.starts_with(prover.root));
    let may_be_written = |diagnostic: &Diagnostic, suggestion: &Suggestion| {
        let is_settled = spilling_kernels(diagnostic).any(|kernel| allowed.settled.contains(kernel));
        let is_written = accepts(suggestion, allowed.arguments) && is_file(suggestion) && !is_settled;
        if is_written && !allowed.shows_readers(suggestion, prover.subjects) {
            talk.note(&format!(
                "the edit for {} is not written: sources that are not in this run, or do not compile, may include its header",
                verify::place(diagnostic)
            ));
            return false;
        }
        is_written
    };
    let combined = verify::combine(diagnostics, may_be_written, prover);
    if combined.interrupted {
        return Err(CheckError::Interrupted);
    }
    for index in &combined.left {
        let place = verify::place(&diagnostics[*index]);
        talk.detail(&format!("suggestion for {place} is left out: it does not go together with others"));
    }
    talk.detail(&format!(
        "together: {} hold, {} left out; {}",
        combined.chosen.len(),
        combined.left.len(),
        plural(combined.compilations as u64, "compilation")
    ));
    Ok(Fixes::new(diagnostics, &combined.chosen))
}

/// Says what the budget did not reach: suggestions, or else the runs that tell what findings cost.
fn say_what_is_left(open: usize, budget: &Budget, arguments: &CheckArgs, talk: &Talk) {
    let left = match open {
        _ if budget.denied() == 0 => return,
        // Who gives no budget wants nothing verified.
        0 if arguments.verify_budget == 0 => return,
        0 => "what some findings cost is".to_string(),
        open => plural(open as u64, "suggestion"),
    };
    let budget = arguments.verify_budget;
    talk.note(&format!(
        "{left} left unverified: `--verify-budget {budget}` is used up, costliest findings first; run again to go on"
    ));
}

/// The job as a subject of verification, if it compiled.
fn subject<'a>(job: &'a Job<'_>, report: &'a UnitReport) -> Option<Subject<'a>> {
    (!report.failed && !report.architecture.is_empty()).then_some(Subject {
        unit: job.unit,
        target: &job.target,
        architecture: &report.architecture,
        dependencies: &report.dependencies,
        files: &report.as_compiled,
        before: &report.measured,
        cost: report.cost,
        launches: OnceLock::new(),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use lmem_base::source::{SourceFile, Span};

    use super::*;
    use crate::cli::Cargo;
    use crate::report::samples;

    /// Whether an edit of a file may be written in a run with these arguments.
    fn is_written(path: &Path, words: &[&str], has_all: bool) -> bool {
        let Cargo::Lmem(parsed) = Cargo::parse_from(["cargo", "lmem"].iter().chain(words));
        let mut suggestion = samples::proven().suggestions.remove(0);
        let file = SourceFile::from_text(&path.to_string_lossy(), "int n;\n");
        suggestion.edits.iter_mut().for_each(|edit| edit.span = Span::new(&file, 0..3));
        let settled = BTreeSet::new();
        Allowed { arguments: &parsed.check, settled: &settled, has_all }.shows_readers(&suggestion, &[])
    }

    #[test]
    fn a_header_is_written_only_where_all_who_may_include_it_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (header, elsewhere) = (root.join("a.cuh"), root.join("sub"));
        fs_err::create_dir(&elsewhere).unwrap();
        let (whole, part) = (root.to_string_lossy(), elsewhere.to_string_lossy());
        assert!(is_written(&header, &[], true));
        assert!(is_written(&header, &[&whole], true));
        // A unit that did not compile, those of other folders, packages and shares of a run may include it, too.
        assert!(!is_written(&header, &[], false));
        assert!(!is_written(&header, &[&part], true));
        assert!(!is_written(&header, &["-p", "one"], true));
        assert!(!is_written(&header, &["--workspace", "--exclude", "one"], true));
        // Rust code has no other readers.
        assert!(is_written(&root.join("lib.rs"), &["-p", "one"], false));
    }
}
