//! Findings of a unit, one line each, as soon as it is compiled for all its architectures: who waits for minutes sees
//! what is known. The report at the end has them in full, folded over all units, with their edits and their ranking.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use lmem_base::diagnostic::{Diagnostic, Severity};
use lmem_project::discover::Workspace;

use super::jobs::Job;
use super::levels::leveled_by_place;
use super::suppress::{Extent, suppress};
use super::unit::UnitReport;
use crate::cli::{CheckArgs, MessageFormat};
use crate::report;

/// A run that ends before shows each finding once.
const PATIENCE: Duration = Duration::from_secs(3);

/// Shows findings of units while others are being compiled.
pub struct Early<'a> {
    jobs: &'a [Job<'a>],
    arguments: &'a CheckArgs,
    workspace: &'a Workspace,
    start: Instant,
    patience: Duration,
    /// The units in order of their jobs, each with the indices of its jobs, until its findings are shown.
    units: Mutex<Vec<Vec<usize>>>,
    /// Until then, nothing is shown: of many units, looking at all takes long.
    rest: Mutex<Instant>,
}

/// More units than this are not looked at each time that one is finished.
const MANY: usize = 1000;

/// A look at all units takes at most this part of the time.
const PART: u32 = 50;

impl<'a> Early<'a> {
    /// `None` where the lines would not be those of the report, or would be read by a program.
    pub fn new(jobs: &'a [Job<'a>], arguments: &'a CheckArgs, workspace: &'a Workspace) -> Option<Self> {
        let is_for_people = arguments.message_format == MessageFormat::Human && !arguments.quiet;
        let edits_follow = arguments.fix || arguments.diff || arguments.add_allow.is_some();
        (is_for_people && !edits_follow).then(|| Self::with(jobs, arguments, workspace, PATIENCE))
    }

    fn with(jobs: &'a [Job<'a>], arguments: &'a CheckArgs, workspace: &'a Workspace, patience: Duration) -> Self {
        let mut units: Vec<Vec<usize>> = Vec::new();
        for index in 0..jobs.len() {
            // The jobs of a unit follow each other.
            match units.last_mut().filter(|unit| std::ptr::eq(jobs[unit[0]].unit, jobs[index].unit)) {
                Some(unit) => unit.push(index),
                None => units.push(vec![index]),
            }
        }
        Self {
            jobs,
            arguments,
            workspace,
            start: Instant::now(),
            patience,
            units: Mutex::new(units),
            rest: Mutex::new(Instant::now()),
        }
    }

    /// The lines of units that are finished and not yet shown; none before the reader's patience is over.
    pub fn lines(&self, reports: &[Option<UnitReport>]) -> Vec<String> {
        if self.start.elapsed() < self.patience {
            return Vec::new();
        }
        let Ok(mut rest) = self.rest.lock() else { return Vec::new() };
        let begin = Instant::now();
        if begin < *rest {
            return Vec::new();
        }
        let Ok(mut units) = self.units.lock() else { return Vec::new() };
        let is_done = |unit: &Vec<usize>| unit.iter().all(|index| reports.get(*index).is_some_and(Option::is_some));
        let done: Vec<Vec<usize>> = units.extract_if(.., |unit| is_done(unit)).collect();
        if units.len() > MANY {
            *rest = begin + begin.elapsed() * PART;
        }
        drop((units, rest));
        done.iter().flat_map(|unit| self.lines_of(unit, reports)).collect()
    }

    /// The findings of one unit, without those that comments allow. What other units say of the same places is not
    /// known yet.
    fn lines_of(&self, unit: &[usize], reports: &[Option<UnitReport>]) -> Vec<String> {
        let jobs: Vec<Job<'_>> = unit.iter().map(|index| self.jobs[*index].clone()).collect();
        let reports = unit.iter().filter_map(|index| reports[*index].as_ref());
        let mut reports: Vec<UnitReport> = reports.map(findings_of).collect();
        // A part of the run: an unused comment is none yet.
        suppress(
            &jobs,
            &mut reports,
            Extent { workspace: self.workspace, some_kernels: true, some_files: true, some_packages: false },
        );
        let leveled = |job: &Job<'_>, report: UnitReport| -> Vec<Diagnostic> {
            let findings = report.diagnostics.into_iter();
            findings.filter_map(|found| leveled_by_place(found, job, self.arguments, self.workspace)).collect()
        };
        let leveled = jobs.iter().zip(reports).map(|(job, report)| leveled(job, report)).collect();
        let folded = report::fold_units(leveled);
        folded.iter().filter(|found| found.severity > Severity::Note).map(report::line).collect()
    }
}

/// What a unit found, without what later stages need.
fn findings_of(report: &UnitReport) -> UnitReport {
    UnitReport {
        diagnostics: report.diagnostics.clone(),
        checked: report.checked.clone(),
        dependencies: report.dependencies.clone(),
        architecture: report.architecture.clone(),
        ..UnitReport::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cargo;
    use crate::compile::Target;
    use crate::report::samples;
    use clap::Parser;
    use cuda_toolkit::Toolkit;
    use lmem_base::diagnostic::FlagOrigin;
    use lmem_base::source::SourceFile;
    use lmem_lints::Levels;
    use lmem_project::discover::{Scope, discover};
    use lmem_unit::{NvccFlags, TranslationUnit, UnitCode};
    use std::path::Path;
    use std::sync::Arc;

    /// `sum` and `window` are found in the file, and `window` may be where it is.
    const TEXT: &str = "\
__global__ void k(float* p, int i) {
    float sum[8];
    // lmem: allow(dynamic_index, reason = \"small\")
    float window[8];
}
";

    fn found(file: &Arc<SourceFile>, name: &str) -> Diagnostic {
        Diagnostic { primary: Some(samples::label(file, name, "")), secondary: Vec::new(), ..samples::variable() }
    }

    fn unit(folder: &Path) -> TranslationUnit {
        let path = folder.join("a.cu");
        fs_err::write(&path, TEXT).unwrap();
        let file = SourceFile::read(&path, folder).unwrap();
        TranslationUnit {
            name: "a.cu".into(),
            package: None,
            base: folder.into(),
            code: UnitCode::CudaFile { file, flags: NvccFlags::new(Vec::new(), FlagOrigin::Config) },
            use_site: None,
            included_at: None,
            launches: Vec::new(),
            shared: Vec::new(),
        }
    }

    #[test]
    fn a_unit_is_shown_once_and_when_all_its_architectures_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let unit = unit(folder.path());
        let UnitCode::CudaFile { file, .. } = &unit.code else { unreachable!() };
        let (toolkit, levels) = (Arc::new(Toolkit::absent()), Levels::default());
        let job = |name: &str| Job {
            unit: &unit,
            target: Target { toolkit: Arc::clone(&toolkit), architecture: name.into() },
            levels: &levels,
        };
        let jobs = [job("sm_80"), job("sm_90")];
        let paths = vec![folder.path().join("a.cu")];
        let scope = Scope { paths, current_folder: folder.path().into(), ..Scope::default() };
        let workspace = discover(&scope).unwrap();
        let Cargo::Lmem(arguments) = Cargo::parse_from(["cargo", "lmem"]);
        let report = || {
            let diagnostics = vec![found(file, "window"), found(file, "sum")];
            Some(UnitReport { diagnostics, ..UnitReport::default() })
        };
        let early = Early::with(&jobs, &arguments.check, &workspace, Duration::ZERO);
        assert!(early.lines(&[report(), None]).is_empty());
        let lines = early.lines(&[report(), report()]);
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(line.starts_with("a.cu:2:11: warning: ") && line.ends_with(" [dynamic_index]"), "{line}");
        assert!(early.lines(&[report(), report()]).is_empty());
        let patient = Early::with(&jobs, &arguments.check, &workspace, Duration::MAX);
        assert!(patient.lines(&[report(), report()]).is_empty());
    }

    #[test]
    fn programs_and_edits_get_no_lines() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.cu"), "").unwrap();
        let workspace = discover(&Scope {
            paths: vec![folder.path().into()],
            current_folder: folder.path().into(),
            ..Scope::default()
        });
        let workspace = workspace.unwrap();
        let is_on = |words: &[&str]| {
            let Cargo::Lmem(arguments) = Cargo::parse_from(["cargo", "lmem"].iter().chain(words));
            Early::new(&[], &arguments.check, &workspace).is_some()
        };
        assert!(is_on(&[]) && is_on(&["-v"]));
        for words in [&["--quiet"][..], &["--message-format", "json"], &["--fix"], &["--diff"]] {
            assert!(!is_on(words), "{words:?}");
        }
    }
}
