//! Compilers' own messages in a report for people: each warning once, and the first errors of a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lmem_base::diagnostic::{Code, Diagnostic, Severity};
use lmem_base::words::plural;

/// The errors of a file that are shown; those behind them mostly follow from the first.
const MAX_ERRORS: usize = 3;

/// Leaves out warnings with the number of an earlier one, and further errors of a file. The last one that is shown says how
/// many there are.
pub fn digest(diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut warnings: BTreeMap<&str, (usize, usize, BTreeSet<&Path>)> = BTreeMap::new();
    let mut errors: BTreeMap<PathBuf, (usize, usize)> = BTreeMap::new();
    let mut shown: Vec<Diagnostic> = Vec::new();
    for diagnostic in diagnostics {
        let file = diagnostic.primary.as_ref().map(|label| label.span.file.path.as_path());
        match (&diagnostic.code, diagnostic.severity, file) {
            (Code::Compiler(name), Severity::Warning, _) if name.contains("::") => {
                let (_, count, files) = warnings.entry(name).or_insert((shown.len(), 0, BTreeSet::new()));
                *count += 1;
                files.extend(file);
                if *count > 1 {
                    continue;
                }
            }
            (Code::Compiler(_), Severity::Error, Some(file)) => {
                let (last, count) = errors.entry(file.to_path_buf()).or_insert((0, 0));
                *count += 1;
                // What is said of the whole file stands at its last error.
                if *count > MAX_ERRORS {
                    if let Some(known) = shown.get_mut(*last) {
                        known.notes.extend(diagnostic.notes.iter().cloned());
                    }
                    continue;
                }
                *last = shown.len();
            }
            _ => {}
        }
        shown.push(diagnostic.clone());
    }
    for (name, (first, count, files)) in warnings.iter().filter(|(_, (_, count, _))| *count > 1) {
        let number = name.rsplit("::").next().unwrap_or(name);
        let files = plural(files.len() as u64, "file");
        shown[*first].notes.push(format!("`{number}` {count} times in {files}: `-v` shows all"));
    }
    for (last, count) in errors.values().filter(|(_, count)| *count > MAX_ERRORS) {
        let more = plural((count - MAX_ERRORS) as u64, "more error");
        shown[*last].notes.push(format!("{more} in this file: `-v` shows all"));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::diagnostic::Label;
    use lmem_base::source::{SourceFile, Span};

    fn message(severity: Severity, code: &str, file: &str, text: &str) -> Diagnostic {
        let file = SourceFile::from_text(file, "int a;\n");
        let label = Label { span: Span::whole_file(&file), text: String::new() };
        Diagnostic {
            primary: Some(label),
            ..Diagnostic::new(severity, Code::Compiler(code.to_string()), text.to_string())
        }
    }

    #[test]
    fn a_number_of_a_warning_is_shown_once() {
        let of = |file, text| message(Severity::Warning, "nvcc::177-D", file, text);
        let other = message(Severity::Warning, "nvcc::550-D", "a.cu", "set but never used");
        let plain = || message(Severity::Warning, "nvcc", "a.cu", "no number");
        let shown = digest(&[of("a.cu", "x"), of("a.cu", "y"), other, of("b.cu", "x"), plain(), plain()]);
        let rows: Vec<(&str, &[String])> = shown.iter().map(|it| (it.message.as_str(), it.notes.as_slice())).collect();
        let note = ["`177-D` 3 times in 2 files: `-v` shows all".to_string()];
        assert_eq!(rows, [("x", &note[..]), ("set but never used", &[]), ("no number", &[]), ("no number", &[])]);
    }

    #[test]
    fn a_file_has_three_errors() {
        let of = |file, text| message(Severity::Error, "nvcc", file, text);
        let mut last = of("a.cu", "5");
        last.notes.push("`a.cu` does not compile".into());
        let shown =
            digest(&[of("a.cu", "1"), of("b.cu", "1"), of("a.cu", "2"), of("a.cu", "3"), of("a.cu", "4"), last]);
        let texts: Vec<&str> = shown.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(texts, ["1", "1", "2", "3"]);
        assert_eq!(shown[3].notes, ["`a.cu` does not compile", "2 more errors in this file: `-v` shows all"]);
    }

    #[test]
    fn few_messages_stay_as_they_are() {
        let few = [message(Severity::Error, "nvcc", "a.cu", "1"), message(Severity::Warning, "nvcc::1-D", "a.cu", "w")];
        assert_eq!(digest(&few), few);
    }
}
