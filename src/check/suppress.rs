//! `// lmem: allow(…)` comments: what they silence, and those that silence nothing.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::Job;
use super::unit::UnitReport;
use crate::diagnostic::{Code, Diagnostic, Label, Severity};
use crate::directive::{Directive, DirectiveError, Directives};
use crate::extract::{MappedText, TranslationUnit, UnitCode};
use crate::lint::{self, Level, Levels};
use crate::source::Span;

/// Texts without this have no directive, and are not looked into.
const MARK: &str = "lmem";

/// Removes what comments allow, and gives the remarks on the comments themselves. `is_partial` tells that not all kernels
/// were looked at, so that an unused `allow` may be of use for the others.
pub fn suppress(jobs: &[Job<'_>], reports: &mut [UnitReport], is_partial: bool) -> Vec<Diagnostic> {
    let known = lint::known_names();
    let mut directives = Directives::default();
    let mut read = BTreeSet::new();
    for (job, report) in jobs.iter().zip(&*reports) {
        for text in texts(job.unit, report, &mut read) {
            directives.read(&text, &known);
        }
    }
    for (job, report) in jobs.iter().zip(&mut *reports) {
        report.diagnostics.retain(|diagnostic| !is_allowed(diagnostic, job.levels, &mut directives));
    }
    let failed = reports.iter().any(|report| report.failed);
    let unused = if failed || is_partial { Vec::new() } else { directives.unused() };
    let unused = unused.into_iter().map(|(directive, lints)| unused_allow(directive, &lints));
    directives.errors().iter().map(misunderstood).chain(unused).collect()
}

/// The unit's own text, and the files that its findings point into; each once.
fn texts(unit: &TranslationUnit, report: &UnitReport, read: &mut BTreeSet<PathBuf>) -> Vec<MappedText> {
    let own = match &unit.code {
        UnitCode::CudaFile { file, .. } => read.insert(file.path.clone()).then(|| MappedText::from_file(file)),
        UnitCode::CudaText { text, .. } => Some(text.clone()),
        UnitCode::Ptx { .. } | UnitCode::Machine(_) => None,
    };
    let labels = report.diagnostics.iter().flat_map(labels).map(|label| &label.span.file);
    let headers = labels
        .filter(|file| !file.display.ends_with(".rs") && read.insert(file.path.clone()))
        .map(MappedText::from_file);
    own.into_iter().chain(headers).filter(|text| text.as_str().contains(MARK)).collect()
}

fn labels(diagnostic: &Diagnostic) -> impl Iterator<Item = &Label> {
    diagnostic.primary.iter().chain(&diagnostic.secondary)
}

fn is_allowed(diagnostic: &Diagnostic, levels: &Levels, directives: &mut Directives) -> bool {
    let Code::Lint(name) = diagnostic.code else { return false };
    if lint::find(name).is_some_and(|lint| levels.level(lint) == Level::Forbid) {
        return false;
    }
    let covering = labels(diagnostic).find_map(|label| directives.covers(&label.span, name));
    if let Some(index) = covering {
        directives.mark_used(index, name);
    }
    covering.is_some()
}

fn unused_allow(directive: &Directive, lints: &[&str]) -> Diagnostic {
    let names: Vec<String> = lints.iter().map(|name| format!("`{name}`")).collect();
    remark("unused_allow", &directive.span, format!("this allows {}, but there is nothing to allow", names.join(", ")))
}

fn misunderstood(error: &DirectiveError) -> Diagnostic {
    remark("directive", &error.span, error.to_string())
}

fn remark(code: &'static str, span: &Span, message: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        code: Code::Tool(code),
        message,
        primary: Some(Label { span: span.clone(), text: String::new() }),
        secondary: Vec::new(),
        notes: Vec::new(),
        help: Vec::new(),
        suggestions: Vec::new(),
        evidence: None,
        package: None,
    }
}
