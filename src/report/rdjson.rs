//! reviewdog's diagnostic format `rdjson`: one document.
//!
//! The format is defined in reviewdog's `proto/rdf/reviewdog.proto`: columns count bytes of UTF-8, from 1, and ends are
//! exclusive.

use std::io;

use lmem_base::diagnostic::{Diagnostic, Report, Severity};
use lmem_base::source::Span;
use serde::Serialize;

use super::Context;
use super::facts::{plain_text, repository_path};
use super::position::range;

#[derive(Serialize)]
struct Document {
    source: Source,
    diagnostics: Vec<Item>,
}

#[derive(Serialize)]
struct Source {
    name: &'static str,
}

#[derive(Serialize)]
struct Item {
    message: String,
    location: RdPosition,
    severity: &'static str,
    code: Code,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suggestions: Vec<Suggestion>,
}

#[derive(Serialize)]
struct RdPosition {
    path: String,
    range: RdRange,
}

#[derive(Serialize)]
struct RdRange {
    start: Position,
    end: Position,
}

#[derive(Serialize)]
struct Position {
    line: usize,
    column: usize,
}

#[derive(Serialize)]
struct Code {
    value: String,
}

#[derive(Serialize)]
struct Suggestion {
    range: RdRange,
    text: String,
}

pub(super) fn render(report: &Report, cx: &Context, out: &mut dyn io::Write) -> io::Result<()> {
    let diagnostics = report.diagnostics.iter().filter_map(|diagnostic| item(diagnostic, cx)).collect();
    let document = Document { source: Source { name: "cargo lmem" }, diagnostics };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

fn item(diagnostic: &Diagnostic, cx: &Context) -> Option<Item> {
    let span = &diagnostic.primary.as_ref()?.span;
    Some(Item {
        message: plain_text(diagnostic),
        location: RdPosition { path: repository_path(span, cx), range: position(span) },
        severity: match diagnostic.severity {
            Severity::Note => "INFO",
            Severity::Warning => "WARNING",
            Severity::Error => "ERROR",
        },
        code: Code { value: diagnostic.code.id() },
        suggestions: suggestions(diagnostic, span),
    })
}

/// The verified edit, if it is a single change in the finding's own file: reviewdog offers each change separately, and
/// part of an edit is not valid alone.
fn suggestions(diagnostic: &Diagnostic, span: &Span) -> Vec<Suggestion> {
    let proven = diagnostic.suggestions.first().filter(|suggestion| suggestion.is_proven());
    let Some([edit]) = proven.map(|suggestion| suggestion.edits.as_slice()) else { return Vec::new() };
    if edit.span.file.path != span.file.path {
        return Vec::new();
    }
    vec![Suggestion { range: position(&edit.span), text: edit.replacement.clone() }]
}

fn position(span: &Span) -> RdRange {
    let at = |offset: usize| {
        let (line, column) = span.file.line_column(offset);
        Position { line, column }
    };
    let range = range(span);
    RdRange { start: at(range.start), end: at(range.end) }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::cli::MessageFormat;
    use crate::report::samples;

    #[test]
    fn columns_are_bytes() {
        let text = samples::rendered(&samples::report(), MessageFormat::Rdjson);
        let document: Value = serde_json::from_str(&text).unwrap();
        let all = document["diagnostics"].as_array().unwrap();
        assert_eq!(all.len(), 4);
        let window = all.iter().find(|item| item["location"]["path"] == "kernels/running_mean.cu").unwrap();
        assert_eq!(window["location"]["range"]["start"]["line"], 3);
        assert_eq!(window["location"]["range"]["start"]["column"], 11);
        assert_eq!(window["location"]["range"]["end"]["column"], 17);
        assert_eq!((&window["severity"], &window["code"]["value"]), (&"WARNING".into(), &"lmem::dynamic_index".into()));
    }
}
