//! Turns compiler messages into diagnostics at their location in the file that the user edits.

use std::path::Path;

use lmem_base::diagnostic::{Code, Diagnostic, Help, Label, Severity};
use lmem_base::mangling::demangle;
use lmem_base::source::Span;
use lmem_lints::explains;
use lmem_unit::{CompilerMessage, MessageKind, TranslationUnit, UnitCode};

use super::failures;
use super::locator::Locator;
use crate::compile::{CompileError, Failure};

/// Limit on messages of one unit.
const MAX_MESSAGES: usize = 20;

/// A compiler message, and its location if that is in the user's files.
pub type Located = (CompilerMessage, Option<Span>);

/// Warnings of a successful compilation, with their locations.
pub fn located(messages: &[CompilerMessage], unit: &TranslationUnit, root: &Path, ptx: &str) -> Vec<Located> {
    let locator = Locator::new(unit, root, Some(ptx));
    let located = messages.iter().map(|message| (message.clone(), locator.locate(message)));
    // Users cannot fix warnings in headers of others.
    located.filter(|(message, span)| span.is_some() || message.place.is_none()).collect()
}

/// Warnings that no lint explains.
pub fn warnings(messages: &[Located], unit: &TranslationUnit) -> Vec<Diagnostic> {
    let left = messages.iter().filter(|(message, span)| span.is_none() || !explains(message));
    left.take(MAX_MESSAGES).map(|(message, span)| diagnostic(message, span.clone(), unit)).collect()
}

/// Diagnostics for a failed compilation: the compiler's errors, or one error that says what happened.
pub fn failure(failure: &Failure, unit: &TranslationUnit, root: &Path) -> Vec<Diagnostic> {
    if matches!(failure.error, CompileError::NoHostCompiler) {
        return vec![failures::no_host_compiler(unit)];
    }
    let errors: Vec<&CompilerMessage> =
        failure.messages.iter().filter(|message| message.kind == MessageKind::Error).collect();
    let locator = Locator::new(unit, root, failure.ptx.as_deref());
    let mut diagnostics: Vec<Diagnostic> =
        errors.iter().take(MAX_MESSAGES).map(|message| diagnostic(message, locator.locate(message), unit)).collect();
    // The last line of ptxas only repeats that there were errors.
    if diagnostics.len() > 1 {
        diagnostics.retain(|diagnostic| !diagnostic.message.contains("Ptx assembly aborted due to errors"));
    }
    let name = &unit.name;
    if diagnostics.is_empty() {
        let mut said = plain(unit, Code::Tool("compile"), format!("`{name}`: {}", failure.error));
        if matches!(failure.error, CompileError::Outside(_) | CompileError::Special(_)) {
            // A link may lead to what must not be shown: the file is named, and no line of it.
            said.primary.iter_mut().for_each(|label| label.span = Span::whole_file(&label.span.file));
        }
        diagnostics.push(said);
    }
    if let CompileError::TimedOut { .. } = failure.error {
        let message = "`--timeout SECONDS` gives it longer".to_string();
        diagnostics.last_mut().into_iter().for_each(|last| last.help.push(Help { message: message.clone() }));
    }
    if let Some(last) = diagnostics.last_mut() {
        if !errors.is_empty() {
            last.notes.push(format!("`{name}` {}", failure.error));
        }
        last.notes.extend(failure.rescues.iter().map(|rescue| format!("tried: {rescue}")));
        last.notes
            .extend(errors.len().checked_sub(MAX_MESSAGES + 1).map(|more| format!("and {} more errors", more + 1)));
    }
    diagnostics
}

/// Note for a text that does not compile and whose surrounding code panics if it does.
pub fn expected_failure(unit: &TranslationUnit) -> Diagnostic {
    let message = format!("kernel string `{}` skipped: it fails to compile, and the code expects that", unit.name);
    Diagnostic { severity: Severity::Note, ..plain(unit, Code::Tool("compile"), message) }
}

fn plain(unit: &TranslationUnit, code: Code, message: String) -> Diagnostic {
    let mut lines = message.lines();
    let first = lines.next().unwrap_or_default().to_string();
    Diagnostic {
        primary: start_of(unit).map(|span| Label { span, text: String::new() }),
        notes: lines.map(str::to_string).collect(),
        package: unit.package.clone(),
        ..Diagnostic::new(Severity::Error, code, first)
    }
}

/// The whole of a file; for a kernel string, its start; for machine code, its name in Rust code.
pub fn start_of(unit: &TranslationUnit) -> Option<Span> {
    match &unit.code {
        UnitCode::CudaFile { file, .. } => Some(Span::whole_file(file)),
        // A text from a fatbin is in no readable file.
        UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. } => {
            text.span(0..1).or_else(|| unit.use_site.clone())
        }
        UnitCode::Machine(code) => Some(code.span.clone()),
    }
}

/// The text with names of kernels as the source has them, not mangled.
fn readable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let is_end = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != '$';
    for word in text.split_inclusive(is_end) {
        let name = word.trim_end_matches(is_end);
        let is_mangled = name.starts_with("_Z");
        shown.push_str(&if is_mangled { demangle(name) } else { name.to_string() });
        shown.push_str(&word[name.len()..]);
    }
    shown
}

fn diagnostic(message: &CompilerMessage, span: Option<Span>, unit: &TranslationUnit) -> Diagnostic {
    let severity = match message.kind {
        MessageKind::Warning => Severity::Warning,
        MessageKind::Error => Severity::Error,
    };
    let number = message.number.as_ref().map(|number| format!("::{number}")).unwrap_or_default();
    let code = Code::Compiler(format!("{}{number}", message.compiler));
    let mut diagnostic = plain(unit, code, readable(&message.text));
    diagnostic.severity = severity;
    match span {
        Some(span) => diagnostic.primary = Some(Label { span, text: String::new() }),
        None => {
            if let Some((file, line)) = &message.place {
                diagnostic.notes.push(format!("at {file}:{line}"));
            }
        }
    }
    diagnostic.help.extend(failures::next_step(message, unit).map(|message| Help { message }));
    if message.text.starts_with("Unresolved extern") {
        let message = match &unit.code {
            UnitCode::CudaText { .. } => {
                "give the compile call the option `-rdc=true` and link what has the function, or define it in the text"
            }
            UnitCode::Ptx { .. } => "link the PTX with what has the function, or define the function in it",
            UnitCode::CudaFile { .. } | UnitCode::Machine(_) => {
                "add `-rdc=true` to `nvcc-flags`, or define the function in a header"
            }
        };
        diagnostic.help.push(Help { message: message.to_string() });
    }
    diagnostic
}
