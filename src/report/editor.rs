//! Findings for the language server: diagnostics, and edits for a menu.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use lsp_types::{
    CodeDescription, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Position, Range,
    TextEdit, Uri,
};

use lmem_base::diagnostic::{Applicability, Code, Diagnostic, Label, Severity, Suggestion};
use lmem_base::source::{SourceFile, Span};

use super::facts;
use super::position::{Columns, Region};
use super::sarif::{escape_uri, help_uri};

/// A finding in one file.
#[derive(Debug, Clone)]
pub struct EditorReport {
    pub diagnostic: lsp_types::Diagnostic,
    pub actions: Vec<Action>,
}

/// A verified edit.
#[derive(Debug, Clone)]
pub struct Action {
    pub title: String,
    /// The edit preserves the meaning by construction.
    pub is_safe: bool,
    /// Edits of each file, with the text that they apply to.
    pub edits: Vec<(Arc<SourceFile>, Vec<TextEdit>)>,
}

/// The findings of each file; remarks on the run as a whole belong to none.
pub fn by_file(diagnostics: &[Diagnostic]) -> BTreeMap<PathBuf, Vec<EditorReport>> {
    let mut files: BTreeMap<PathBuf, Vec<EditorReport>> = BTreeMap::new();
    for diagnostic in diagnostics {
        if let Some(label) = &diagnostic.primary {
            let shown = EditorReport { diagnostic: message(diagnostic, label), actions: actions(diagnostic) };
            files.entry(label.span.file.path.clone()).or_default().push(shown);
        }
    }
    files
}

fn message(diagnostic: &Diagnostic, primary: &Label) -> lsp_types::Diagnostic {
    let related = diagnostic.secondary.iter().filter_map(|label| {
        let location = Location { uri: uri_of(&label.span.file.path)?, range: range(&label.span) };
        Some(DiagnosticRelatedInformation { location, message: label.text.clone() })
    });
    let about = match diagnostic.code {
        Code::Lint(name) => Uri::from_str(&help_uri(name)).ok().map(|href| CodeDescription { href }),
        Code::Compiler(_) | Code::Tool(_) => None,
    };
    let name = diagnostic.code.name();
    lsp_types::Diagnostic {
        range: range(&primary.span),
        severity: Some(match diagnostic.severity {
            Severity::Note => DiagnosticSeverity::INFORMATION,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Error => DiagnosticSeverity::ERROR,
        }),
        code: (!name.is_empty()).then(|| NumberOrString::String(name.to_string())),
        code_description: about,
        source: Some("cargo-lmem".to_string()),
        message: facts::text_without_places(diagnostic),
        related_information: Some(related.collect()),
        ..lsp_types::Diagnostic::default()
    }
}

fn actions(diagnostic: &Diagnostic) -> Vec<Action> {
    let proven = diagnostic.suggestions.iter().filter(|suggestion| suggestion.is_proven());
    let action = |suggestion: &Suggestion| Action {
        title: facts::titled(diagnostic, suggestion).0,
        is_safe: suggestion.applicability == Applicability::MachineApplicable,
        edits: edits(suggestion),
    };
    proven.map(action).collect()
}

fn edits(suggestion: &Suggestion) -> Vec<(Arc<SourceFile>, Vec<TextEdit>)> {
    let mut files: Vec<(Arc<SourceFile>, Vec<TextEdit>)> = Vec::new();
    for edit in &suggestion.edits {
        let change = TextEdit { range: range(&edit.span), new_text: edit.replacement.clone() };
        match files.iter_mut().find(|(file, _)| file.path == edit.span.file.path) {
            Some((_, changes)) => changes.push(change),
            None => files.push((Arc::clone(&edit.span.file), vec![change])),
        }
    }
    files
}

/// Zero-based lines and UTF-16 columns, which every client supports.
fn range(span: &Span) -> Range {
    let Region { start_line, start_column, end_line, end_column } = Region::new(span, Columns::Utf16);
    let position = |line: usize, column: usize| {
        let number = |from_one: usize| u32::try_from(from_one.saturating_sub(1)).unwrap_or(u32::MAX);
        Position { line: number(line), character: number(column) }
    };
    Range { start: position(start_line, start_column), end: position(end_line, end_column) }
}

/// The URI of a file; a name that is not valid UTF-8 has none.
pub fn uri_of(path: &Path) -> Option<Uri> {
    Uri::from_str(&format!("file://{}", escape_uri(path.to_str()?))).ok()
}

/// The file of a URI, in any escaping that clients use.
pub fn path_of(uri: &Uri) -> Option<PathBuf> {
    let text = uri.as_str().strip_prefix("file://")?;
    let text = &text[text.find('/')?..];
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| byte == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(escaped) => {
                bytes.push(escaped);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn columns_are_those_of_utf_16() {
        let files = by_file(&[samples::header()]);
        let shown = &files.values().next().unwrap()[0];
        assert_eq!(shown.diagnostic.range.start, Position { line: 1, character: 18 });
        let related = &shown.diagnostic.related_information.as_ref().unwrap()[0];
        assert_eq!(related.location.range.start, Position { line: 2, character: 8 });
        assert_eq!(related.message, "indexed here");
    }

    #[test]
    fn only_proven_edits_are_offered() {
        let actions_of = |diagnostic: &Diagnostic| {
            by_file(std::slice::from_ref(diagnostic)).into_values().next().unwrap().remove(0).actions
        };
        let mut found = samples::proven();
        let actions = actions_of(&found);
        assert!(actions[0].is_safe && actions[0].title.contains("verified by recompiling"), "{actions:?}");
        assert_eq!(actions[0].edits[0].1[0].new_text, "k = i");
        found.suggestions[0].verification = None;
        assert!(actions_of(&found).is_empty());
    }

    #[test]
    fn paths_and_addresses_are_the_same() {
        let path = Path::new("/w/größe #1/a b.cu");
        assert_eq!(path_of(&uri_of(path).unwrap()).as_deref(), Some(path));
        // Visual Studio Code escapes more than necessary.
        let uri = Uri::from_str("file:///w/a%2Bb%3A.cu").unwrap();
        assert_eq!(path_of(&uri).as_deref(), Some(Path::new("/w/a+b:.cu")));
        assert_eq!(path_of(&Uri::from_str("untitled:a").unwrap()), None);
    }
}
