//! Bounds of a report: names, messages and numbers of findings are a tree's to choose, and a log, an editor or a service
//! must be able to take what comes of them. What is left out is said.

use std::borrow::Cow;

use lmem_base::diagnostic::{Diagnostic, Label, Report, Severity};

/// Limit on one text, in bytes.
const MAX_TEXT: usize = 4 << 10;
/// Limit on the notes, labels or other texts of one finding.
const MAX_TEXTS: usize = 100;
/// Limit on the kernels that one finding lists.
const MAX_KERNELS: usize = 500;
/// Limit on the new text of one edit, in bytes. It is left out as a whole: a part of an edit is another edit.
const MAX_EDIT: usize = 256 << 10;
/// Limit on all findings together, in bytes of their texts. Formats write some of them several times.
const MAX_REPORT: usize = 16 << 20;
/// Limit on kernels and comments that are listed beside findings.
const MAX_LISTED: usize = 100_000;
/// What a finding takes beside its texts.
const FINDING: usize = 256;

/// The report, with long texts cut and findings left out that are too many; errors are kept first.
pub(super) fn bounded(report: &Report) -> Cow<'_, Report> {
    let is_large = |finding: &Diagnostic| bounded_finding(finding).is_some();
    let sizes: usize = report.diagnostics.iter().map(size).sum();
    let listed = report.kernels.as_ref().map_or(0, |kernels| kernels.kernels.len());
    let compared = report.comparison.as_ref().map_or(0, |comparison| comparison.kernels.len());
    let is_long = [listed, compared, report.suppressions.len()].into_iter().any(|count| count > MAX_LISTED);
    if sizes <= MAX_REPORT && !is_long && !has_long_names(report) && !report.diagnostics.iter().any(is_large) {
        return Cow::Borrowed(report);
    }
    let mut bounded = Report { diagnostics: Vec::new(), ..report.clone() };
    let findings = report.diagnostics.iter();
    let findings: Vec<Diagnostic> =
        findings.map(|finding| bounded_finding(finding).unwrap_or_else(|| finding.clone())).collect();
    let mut kept = vec![false; findings.len()];
    let mut left = MAX_REPORT;
    for severity in [Severity::Error, Severity::Warning, Severity::Note] {
        for (finding, kept) in findings.iter().zip(&mut kept).filter(|(finding, _)| finding.severity == severity) {
            let Some(less) = left.checked_sub(size(finding)) else { continue };
            (left, *kept) = (less, true);
        }
    }
    let all = findings.len();
    bounded.diagnostics =
        findings.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(finding, _)| finding).collect();
    let mut left_out = Vec::new();
    left_out.extend(said(all - bounded.diagnostics.len(), "finding"));
    if let Some(kernels) = &mut bounded.kernels {
        left_out.extend(shorten(&mut kernels.kernels, "kernel of the list"));
        for kernel in &mut kernels.kernels {
            cut(&mut kernel.name);
            kernel.build.iter_mut().for_each(cut);
        }
    }
    if let Some(comparison) = &mut bounded.comparison {
        left_out.extend(shorten(&mut comparison.kernels, "kernel of the comparison"));
        for change in &mut comparison.kernels {
            cut(&mut change.kernel);
            change.build.iter_mut().for_each(cut);
        }
    }
    left_out.extend(shorten(&mut bounded.suppressions, "comment"));
    for comment in &mut bounded.suppressions {
        comment.reason.iter_mut().chain(&mut comment.in_macro).chain(&mut comment.lints).for_each(cut);
        comment.lints.truncate(MAX_TEXTS);
    }
    if !left_out.is_empty() {
        bounded.diagnostics.push(remark(&left_out.join(", ")));
    }
    Cow::Owned(bounded)
}

fn has_long_names(report: &Report) -> bool {
    let listed = report.kernels.iter().flat_map(|kernels| &kernels.kernels);
    let listed = listed.flat_map(|kernel| kernel.build.iter().chain([&kernel.name]));
    let compared = report.comparison.iter().flat_map(|comparison| &comparison.kernels);
    let compared = compared.flat_map(|change| change.build.iter().chain([&change.kernel]));
    let comments = report.suppressions.iter();
    let comments = comments.flat_map(|comment| comment.reason.iter().chain(&comment.in_macro).chain(&comment.lints));
    listed.chain(compared).chain(comments).any(|text| text.len() > MAX_TEXT)
}

/// The finding with its texts cut; `None` if all are within the bounds.
fn bounded_finding(finding: &Diagnostic) -> Option<Diagnostic> {
    let is_long = |text: &String| text.len() > MAX_TEXT;
    let kernels = || finding.evidence.iter().flat_map(|evidence| &evidence.kernels);
    let is_large = texts(finding).any(is_long)
        || [finding.notes.len(), finding.secondary.len(), finding.help.len(), finding.suggestions.len()]
            .into_iter()
            .any(|count| count > MAX_TEXTS)
        || kernels().count() > MAX_KERNELS
        || kernels().any(|kernel| kernel.accesses.len() > MAX_TEXTS || kernel.loaded_at.len() > MAX_TEXTS)
        || finding.suggestions.iter().any(|suggestion| edited(suggestion) > MAX_EDIT);
    if !is_large {
        return None;
    }
    let mut bounded = finding.clone();
    let mut left_out = Vec::new();
    left_out.extend(shorten_to(&mut bounded.notes, MAX_TEXTS, "note"));
    left_out.extend(shorten_to(&mut bounded.secondary, MAX_TEXTS, "place"));
    left_out.extend(shorten_to(&mut bounded.help, MAX_TEXTS, "help"));
    let edits = bounded.suggestions.len();
    bounded.suggestions.retain(|suggestion| edited(suggestion) <= MAX_EDIT);
    bounded.suggestions.truncate(MAX_TEXTS);
    left_out.extend(said(edits - bounded.suggestions.len(), "edit"));
    if let Some(evidence) = &mut bounded.evidence {
        left_out.extend(shorten_to(&mut evidence.kernels, MAX_KERNELS, "kernel"));
        for kernel in &mut evidence.kernels {
            [&mut kernel.name, &mut kernel.mangled].into_iter().chain(&mut kernel.build).for_each(cut);
            kernel.accesses.truncate(MAX_TEXTS);
            kernel.loaded_at.truncate(MAX_TEXTS);
            kernel.accesses.iter_mut().filter_map(|access| access.variable.as_mut()).for_each(cut);
        }
        let names = [&mut evidence.variable, &mut evidence.variable_type, &mut evidence.cause];
        names.into_iter().flatten().for_each(cut);
        evidence.subject.iter_mut().for_each(|(subject, reason)| {
            cut(subject);
            cut(reason);
        });
    }
    cut(&mut bounded.message);
    bounded.notes.iter_mut().for_each(cut);
    bounded.help.iter_mut().for_each(|help| cut(&mut help.message));
    bounded.primary.iter_mut().chain(&mut bounded.secondary).for_each(|label: &mut Label| cut(&mut label.text));
    for suggestion in &mut bounded.suggestions {
        cut(&mut suggestion.title);
        for kernel in suggestion.verification.iter_mut().flat_map(|verification| &mut verification.kernels) {
            cut(&mut kernel.name);
            cut(&mut kernel.mangled);
        }
    }
    if !left_out.is_empty() {
        bounded.notes.push(format!("left out for its length: {}", left_out.join(", ")));
    }
    Some(bounded)
}

/// The texts of a finding, except edits.
fn texts(finding: &Diagnostic) -> impl Iterator<Item = &String> {
    let labels = finding.primary.iter().chain(&finding.secondary).map(|label| &label.text);
    let help = finding.help.iter().map(|help| &help.message);
    let titles = finding.suggestions.iter().map(|suggestion| &suggestion.title);
    let verified = finding.suggestions.iter().filter_map(|suggestion| suggestion.verification.as_ref());
    let verified = verified.flat_map(|verification| &verification.kernels);
    let verified = verified.flat_map(|kernel| [&kernel.name, &kernel.mangled]);
    let evidence = finding.evidence.iter().flat_map(|evidence| {
        let names = [&evidence.variable, &evidence.variable_type, &evidence.cause].into_iter().flatten();
        let subject = evidence.subject.iter().flat_map(|(subject, reason)| [subject, reason]);
        let kernels = evidence.kernels.iter().flat_map(|kernel| {
            let accessed = kernel.accesses.iter().filter_map(|access| access.variable.as_ref());
            [&kernel.name, &kernel.mangled].into_iter().chain(&kernel.build).chain(accessed)
        });
        names.chain(subject).chain(kernels)
    });
    [&finding.message]
        .into_iter()
        .chain(&finding.notes)
        .chain(labels)
        .chain(help)
        .chain(titles)
        .chain(verified)
        .chain(evidence)
}

/// Bytes that a finding takes, about.
fn size(finding: &Diagnostic) -> usize {
    let places =
        finding.secondary.len() + finding.evidence.iter().map(|evidence| evidence.kernels.len()).sum::<usize>();
    let edits: usize = finding.suggestions.iter().map(edited).sum();
    texts(finding).map(String::len).sum::<usize>() + edits + FINDING * (1 + places)
}

/// Bytes of the new text of an edit.
fn edited(suggestion: &lmem_base::diagnostic::Suggestion) -> usize {
    suggestion.edits.iter().map(|edit| edit.replacement.len()).sum()
}

fn cut(text: &mut String) {
    if text.len() > MAX_TEXT {
        let end = (0..=MAX_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let more = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("… ({more} more bytes)"));
    }
}

fn shorten<T>(list: &mut Vec<T>, what: &str) -> Option<String> {
    shorten_to(list, MAX_LISTED, what)
}

fn shorten_to<T>(list: &mut Vec<T>, limit: usize, what: &str) -> Option<String> {
    let more = list.len().saturating_sub(limit);
    list.truncate(limit);
    said(more, what)
}

fn said(count: usize, what: &str) -> Option<String> {
    (count > 0).then(|| format!("{what} × {count}"))
}

fn remark(left_out: &str) -> Diagnostic {
    let message = format!("the report is too long and has not all that was found; left out: {left_out}");
    Diagnostic::of_tool(Severity::Warning, "report_too_long", message)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use lmem_base::diagnostic::Code;
    use lmem_base::source::SourceFile;

    use super::super::samples;
    use super::*;
    use crate::cli::MessageFormat;

    fn finding(message: &str, severity: Severity) -> Diagnostic {
        let file = SourceFile::from_text("a.cu", "int a;\n");
        let label = samples::label(&file, "int", "here");
        Diagnostic { severity, ..samples::diagnostic(Code::Lint("dynamic_index"), message, label) }
    }

    #[test]
    fn usual_reports_are_as_they_are() {
        assert!(matches!(bounded(&samples::report()), Cow::Borrowed(_)));
    }

    #[test]
    fn long_texts_are_cut_in_all_formats() {
        let long = "é".repeat(1 << 20);
        let mut one = finding(&long, Severity::Warning);
        one.notes = vec!["n".repeat(MAX_TEXT + 1); 2000];
        one.secondary = vec![one.primary.clone().unwrap(); 2000];
        one.help = vec![lmem_base::diagnostic::Help { message: long }; 3];
        let report = Report { diagnostics: vec![one], ..Report::default() };
        for format in MessageFormat::value_variants() {
            let text = samples::rendered(&report, *format);
            assert!(text.len() < 4 << 20, "{format:?}: {} bytes", text.len());
        }
        let bounded = bounded(&report);
        assert!(bounded.diagnostics[0].message.ends_with("é… (2093056 more bytes)"));
        assert_eq!(bounded.diagnostics[0].notes.last().unwrap(), "left out for its length: note × 1900, place × 1900");
    }

    #[test]
    fn errors_stay_where_findings_are_left_out() {
        let text = "x".repeat(4000);
        let mut diagnostics = vec![finding(&text, Severity::Warning); 20_000];
        diagnostics.push(finding("the error", Severity::Error));
        let report = Report { diagnostics, ..Report::default() };
        let bounded = bounded(&report);
        let [.., error, remark] = bounded.diagnostics.as_slice() else { panic!("two at least") };
        assert_eq!(error.message, "the error");
        let left_out = report.diagnostics.len() + 1 - bounded.diagnostics.len();
        assert!(remark.message.ends_with(&format!("left out: finding × {left_out}")), "{}", remark.message);
        assert!(samples::rendered(&report, MessageFormat::Json).len() < 128 << 20);
    }

    #[test]
    fn long_edits_are_left_out_whole() {
        let mut one = finding("a", Severity::Warning);
        let edit = |length: usize| {
            let span = one.primary.clone().unwrap().span;
            let edit = lmem_base::diagnostic::Edit::alone(span, "y".repeat(length));
            lmem_base::diagnostic::Suggestion::new(
                "b",
                lmem_base::diagnostic::Applicability::MaybeIncorrect,
                vec![edit],
            )
        };
        one.suggestions = vec![edit(1 << 20), edit(9)];
        let bounded = bounded_finding(&one).unwrap();
        assert_eq!((bounded.suggestions.len(), bounded.notes.len()), (1, one.notes.len() + 1));
    }
}
