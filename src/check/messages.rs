//! Turns compiler messages into diagnostics at their location in the file that the user edits.

use std::path::Path;

use lmem_base::diagnostic::{Code, Diagnostic, Help, Label, Severity};
use lmem_base::mangling::demangle;
use lmem_base::source::{SourceFile, Span, normalize};
use lmem_lints::explains;
use lmem_unit::{CompilerMessage, MappedText, MessageKind, STRING_NAME, TranslationUnit, UnitCode};
use nv_code::PtxModule;

use super::failures;
use crate::compile::{CompileError, Failure};

/// Limit on messages of one unit.
const MAX_MESSAGES: usize = 20;

/// A compiler message, and its location if that is in the user's files.
pub type Located = (CompilerMessage, Option<Span>);

/// Warnings of a successful compilation, with their locations.
pub fn located(messages: &[CompilerMessage], unit: &TranslationUnit, root: &Path, ptx: &str) -> Vec<Located> {
    let located = messages.iter().map(|message| (message.clone(), locate(message, unit, root, Some(ptx))));
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
    let mut diagnostics: Vec<Diagnostic> = errors
        .iter()
        .take(MAX_MESSAGES)
        .map(|message| diagnostic(message, locate(message, unit, root, failure.ptx.as_deref()), unit))
        .collect();
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

fn locate(message: &CompilerMessage, unit: &TranslationUnit, root: &Path, ptx: Option<&str>) -> Option<Span> {
    let (name, line) = message.place.as_ref()?;
    if message.compiler == "ptxas" {
        return match (&unit.code, ptx) {
            (UnitCode::Ptx { text, .. }, _) => line_of_text(text, *line, None),
            (_, Some(ptx)) => line_of_ptx(ptx, *line, unit, root),
            (_, None) => None,
        };
    }
    line_of_file(name, *line, message.column.as_ref(), unit, root)
}

/// A line of a file or of the unit's own text, by the compiler's name for it.
fn line_of_file(
    name: &str,
    line: u32,
    column: Option<&(u32, String)>,
    unit: &TranslationUnit,
    root: &Path,
) -> Option<Span> {
    let path = normalize(&unit.base.join(name));
    if let UnitCode::CudaText { text, options } = &unit.code {
        let program = options.program_name.as_deref().unwrap_or(STRING_NAME);
        if name == program || path == normalize(&unit.base.join(program)) {
            return line_of_text(text, line, column);
        }
    }
    let file = SourceFile::read_named(&path, root, &[root, &unit.base])?;
    line_of_text(&MappedText::from_file(&file), line, column)
}

fn line_of_text(text: &MappedText, line: u32, column: Option<&(u32, String)>) -> Option<Span> {
    let mut start = 0;
    for _ in 1..line {
        start += text.as_str().get(start..)?.find('\n')? + 1;
    }
    let rest = text.as_str().get(start..)?;
    let content = rest.lines().next().unwrap_or("");
    let blank = content.len() - content.trim_start().len();
    // EDG prints the line with macros expanded, tabs replaced by spaces, and trailing comments removed. Its column
    // refers to that text.
    let is_printed = |printed: &str| {
        let rest =
            content.replace('\t', " ").trim().strip_prefix(printed.trim()).map(|rest| rest.trim_start().to_string());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("//") || rest.starts_with("/*"))
    };
    let trusted = column.filter(|(_, printed)| printed.is_empty() || is_printed(printed));
    let token = trusted.and_then(|(column, _)| content.char_indices().nth(*column as usize - 1)).map(|(at, _)| at);
    let range = match token {
        Some(at) => {
            let length = content[at..].find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(content.len() - at);
            let first = content[at..].chars().next().map_or(0, char::len_utf8);
            at..at + length.max(first)
        }
        None => blank..content.trim_end().len().max(blank),
    };
    text.span(start + range.start..start + range.end)
}

/// The source line of a PTX instruction, which is mostly inline assembly.
fn line_of_ptx(ptx: &str, line: u32, unit: &TranslationUnit, root: &Path) -> Option<Span> {
    let module = PtxModule::parse(ptx).ok()?;
    let function = module.function_at(line)?;
    let location = function.instructions[function.instruction_at(line)?].location?;
    function.location_chain(location as usize).into_iter().find_map(|location| {
        let name = module.files.get(&location.file)?;
        line_of_file(name, location.line, Some(&(location.column.max(1), String::new())), unit, root)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(source: &str, line: u32, column: Option<(u32, &str)>) -> Option<String> {
        let text = MappedText::from_file(&SourceFile::from_text("a.cu", source));
        let column = column.map(|(column, printed)| (column, printed.to_string()));
        line_of_text(&text, line, column.as_ref()).map(|span| format!("{span:?}"))
    }

    #[test]
    fn columns_are_used_when_the_printed_line_is_the_source_line() {
        let source = "int a;\n\tint y = foo + 2;\n";
        assert_eq!(span(source, 2, Some((10, " int y = foo + 2;"))).as_deref(), Some("a.cu:2:10+3"));
        assert_eq!(span(source, 2, Some((10, " int z = bar;"))).as_deref(), Some("a.cu:2:2+16"));
        assert_eq!(span("int y = foo; // c", 1, Some((9, "int y = foo;"))).as_deref(), Some("a.cu:1:9+3"));
        assert_eq!(span(source, 2, None).as_deref(), Some("a.cu:2:2+16"));
        assert_eq!(span(source, 9, None), None);
        assert_eq!(span(source, 2, Some((99, ""))).as_deref(), Some("a.cu:2:2+16"));
    }
}
