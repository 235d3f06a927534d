//! Directives: applies `// lmem: allow(…)` to findings, and reports comments without effect.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lmem_base::diagnostic::{Code, Diagnostic, Label, Severity, Suppression};
use lmem_base::level::Level;
use lmem_base::source::{SourceFile, Span, display_path};
use lmem_lints;
use lmem_project::directive::{Directive, DirectiveError, Directives, Word};
use lmem_project::discover::Workspace;
use lmem_unit::{MappedText, TranslationUnit, UnitCode};

use super::jobs::Job;
use super::unit::UnitReport;
use super::{budgets, remarks};

/// Texts without this word, in any case, have no directive and are not parsed.
const MARK: &[u8] = b"lmem";

/// The extent of a run, which decides whether an unused comment can be reported.
#[derive(Clone, Copy)]
pub struct Extent<'a> {
    pub workspace: &'a Workspace,
    /// Only some kernels were checked: an unused `allow` may apply to others.
    pub some_kernels: bool,
    /// Only some files were checked: the same holds for headers.
    pub some_files: bool,
    /// Only some packages were checked, and all files of these.
    pub some_packages: bool,
}

/// The effect of comments on the findings.
pub struct Suppressed {
    /// Remarks on the comments themselves.
    pub remarks: Vec<Diagnostic>,
    /// All valid comments.
    pub list: Vec<Suppression>,
}

/// Removes findings that comments allow.
pub fn suppress(jobs: &[Job<'_>], reports: &mut [UnitReport], extent: Extent<'_>) -> Suppressed {
    let known = lmem_lints::names_with_levels();
    let mut directives = Directives::default();
    let mut texts = Texts::default();
    for (job, report) in jobs.iter().zip(&*reports) {
        for text in texts.of(job.unit, report, &extent.workspace.root) {
            directives.read(&text, &known);
        }
        texts.rust(job.unit).iter().for_each(|file| directives.read_rust(file, &known));
    }
    // What was not checked may be what a comment is for.
    let failed = reports.iter().any(|report| report.failed || report.is_unread);
    let budgets = budgets::judge(jobs, reports, extent.workspace, &directives);
    for (job, report) in jobs.iter().zip(&mut *reports) {
        report.diagnostics.retain(|diagnostic| !is_allowed(diagnostic, job, &mut directives));
    }
    let unused = if failed || extent.some_kernels { Vec::new() } else { directives.unused() };
    let is_part = extent.some_files || extent.some_packages;
    let is_known = |directive: &Directive| !(is_part && texts.headers.contains(&directive.span.file.path));
    let unused = unused.into_iter().filter(|(directive, _)| is_known(directive));
    let unused = unused.filter_map(|(directive, lints)| unused_directive(directive, &lints, jobs));
    let mut said: Vec<Diagnostic> = directives.errors().iter().map(misunderstood).chain(unused).collect();
    if !failed && !extent.some_kernels {
        let unused_budgets = budgets.unused_comments(&directives).into_iter().filter(|directive| is_known(directive));
        said.extend(unused_budgets.map(|directive| unused_budget(&directive.span)));
        if !extent.some_files {
            let unmatched = budgets.unmatched_settings(extent.workspace, extent.some_packages);
            said.extend(remarks::unmatched(&unmatched, &extent.workspace.root));
        }
    }
    let list = directives.all().into_iter().map(|(directive, silenced)| suppression(directive, silenced)).collect();
    Suppressed { remarks: said, list }
}

/// What a run does not report: lints that comments or settings silence, by file.
pub struct Silent {
    by_comments: BTreeSet<(String, String)>,
    /// By settings, for the files that are compiled.
    by_levels: BTreeMap<String, BTreeSet<&'static str>>,
}

impl Silent {
    pub fn new(suppressions: &[Suppression], jobs: &[Job<'_>], root: &Path) -> Self {
        let used = suppressions.iter().filter(|suppression| suppression.silenced > 0);
        let by_comments = used.flat_map(|used| {
            let files = [&used.span, &used.scope].map(|span| span.file.display.clone());
            files.into_iter().flat_map(|file| used.lints.iter().map(move |lint| (file.clone(), lint.clone())))
        });
        let mut by_levels: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
        for job in jobs {
            let allowed = lmem_lints::ALL.iter().filter(|lint| job.levels.level(lint) == Level::Allow);
            let file = display_path(&job.unit.path(), root);
            by_levels.entry(file).or_default().extend(allowed.map(|lint| lint.name));
        }
        Self { by_comments: by_comments.collect(), by_levels }
    }

    /// Whether a lint is silenced in a file, or for all files in case of a header.
    pub fn is_silent(&self, file: &str, lint: &str) -> bool {
        let is_allowed = |lints: &BTreeSet<&'static str>| lints.contains(lint);
        let by_levels = match self.by_levels.get(file) {
            Some(lints) => is_allowed(lints),
            None => !self.by_levels.is_empty() && self.by_levels.values().all(is_allowed),
        };
        by_levels || self.by_comments.contains(&(file.to_string(), lint.to_string()))
    }
}

/// The texts of a run that may contain directives, each returned once.
#[derive(Default)]
struct Texts {
    read: BTreeSet<PathBuf>,
    headers: BTreeSet<PathBuf>,
}

impl Texts {
    /// The unit's own text, the workspace's headers that it was compiled from, and the files that its findings point
    /// to.
    fn of(&mut self, unit: &TranslationUnit, report: &UnitReport, root: &Path) -> Vec<MappedText> {
        let mut texts: Vec<MappedText> = match &unit.code {
            UnitCode::CudaFile { file, .. } if self.read.insert(file.path.clone()) => vec![MappedText::from_file(file)],
            UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. } => vec![text.clone()],
            UnitCode::CudaFile { .. } | UnitCode::Machine(_) => Vec::new(),
        };
        let labels = report.diagnostics.iter().flat_map(labels).map(|label| &label.span.file);
        for file in labels.filter(|file| !file.display.ends_with(".rs")) {
            if self.read.insert(file.path.clone()) {
                self.headers.insert(file.path.clone());
                texts.push(MappedText::from_file(file));
            }
        }
        for path in report.dependencies.iter().filter(|path| path.starts_with(root)) {
            // A header may have been deleted since the compiler read it; then it silences nothing.
            if self.read.insert(path.clone())
                && let Ok(file) = SourceFile::read(path, root)
            {
                self.headers.insert(path.clone());
                texts.push(MappedText::from_file(&file));
            }
        }
        texts.retain(|text| has_mark(text.as_str()));
        texts
    }

    /// Rust files that contain kernel strings.
    fn rust(&mut self, unit: &TranslationUnit) -> Vec<std::sync::Arc<SourceFile>> {
        let (UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. }) = &unit.code else { return Vec::new() };
        let around = unit.use_site.iter().chain(&unit.included_at).cloned();
        let places = text.span(0..1).into_iter().chain(around);
        let files = places.map(|span| span.file).filter(|file| file.display.ends_with(".rs"));
        // A file may have thousands of texts.
        let files: Vec<_> = files.filter(|file| self.read.insert(file.path.clone())).collect();
        files.into_iter().filter(|file| has_mark(file.text())).collect()
    }
}

fn has_mark(text: &str) -> bool {
    text.as_bytes().windows(MARK.len()).any(|window| window.eq_ignore_ascii_case(MARK))
}

fn labels(diagnostic: &Diagnostic) -> impl Iterator<Item = &Label> {
    diagnostic.primary.iter().chain(&diagnostic.secondary)
}

fn is_allowed(diagnostic: &Diagnostic, job: &Job<'_>, directives: &mut Directives) -> bool {
    let Code::Lint(name) = diagnostic.code else { return false };
    let variable = diagnostic.evidence.as_ref().and_then(|evidence| evidence.variable.as_deref());
    // A directive above the Rust call that compiles a kernel string, or above the constant that includes a file, applies
    // to all kernels of the text.
    let places = labels(diagnostic).map(|label| &label.span).chain(&job.unit.use_site).chain(&job.unit.included_at);
    let Some(index) = places.into_iter().find_map(|place| directives.covers(place, name, variable)) else {
        return false;
    };
    // The directive has an effect as soon as the lint is no longer forbidden, so it counts as used.
    directives.mark_used(index, name);
    lmem_lints::find(name).is_none_or(|lint| job.levels.level(lint) != Level::Forbid)
}

fn suppression(directive: &Directive, silenced: usize) -> Suppression {
    Suppression {
        directive: directive.word.name(),
        lints: directive.lints.clone(),
        reason: directive.reason.clone(),
        span: directive.span.clone(),
        scope: directive.scope.clone(),
        in_macro: directive.in_macro.clone(),
        silenced,
    }
}

/// The remark on an unused directive. Lints that did not run are left out, since their findings are unknown.
fn unused_directive(directive: &Directive, lints: &[&str], jobs: &[Job<'_>]) -> Option<Diagnostic> {
    let is_asked = |name: &&&str| {
        lmem_lints::find(name).is_none_or(|lint| jobs.iter().any(|job| job.levels.level(lint) != Level::Allow))
    };
    let names: Vec<String> = lints.iter().filter(is_asked).map(|name| format!("`{name}`")).collect();
    let names = Some(names.join(", ")).filter(|names| !names.is_empty())?;
    let lines = (directive.scope.start_line(), directive.scope.file.line_column(directive.scope.end.max(1) - 1).0);
    let scope = match lines {
        (first, last) if first == last => format!("line {first}"),
        (first, last) => format!("lines {first} to {last}"),
    };
    let mut remark = match directive.word {
        Word::Expect => remark(
            "unfulfilled_expect",
            &directive.span,
            format!("`expect` of {names} is not fulfilled: nothing was found"),
        ),
        Word::Allow | Word::AllowFile | Word::Budget => {
            remark("unused_allow", &directive.span, format!("unused `allow` of {names}"))
        }
    };
    remark.notes.push(format!("it holds for {scope}"));
    Some(remark)
}

fn unused_budget(span: &Span) -> Diagnostic {
    let mut remark = remark("unused_budget", span, "unused `budget`: it holds for no kernel".to_string());
    remark.notes.push("write it directly above a kernel, or above the Rust code that has a kernel's text".to_string());
    remark
}

fn misunderstood(error: &DirectiveError) -> Diagnostic {
    let remark = remark("invalid_directive", &error.span, error.to_string());
    // A budget that is not understood would let everything through.
    let is_budget =
        error.span.text().split_once("lmem:").is_some_and(|(_, rest)| rest.trim_start().starts_with("budget"));
    Diagnostic { severity: if is_budget { Severity::Error } else { remark.severity }, ..remark }
}

fn remark(code: &'static str, span: &Span, message: String) -> Diagnostic {
    Diagnostic {
        primary: Some(Label { span: span.clone(), text: String::new() }),
        ..Diagnostic::of_tool(Severity::Warning, code, message)
    }
}
