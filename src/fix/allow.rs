//! `// lmem: allow(…)` comments for findings that the user accepts.
//!
//! A comment is inserted on its own line above the code that the finding points to; in a macro of several lines, before
//! that code. In Rust code it goes inside a raw kernel string, otherwise above the Rust code with the string. It is
//! only written if parsing the edited file gives a directive that silences the finding.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lmem_base::diagnostic::{Code, Diagnostic, Severity};
use lmem_base::source::{SourceFile, Span, has_ending};
use lmem_project::directive::{Directives, string_around};
use lmem_unit::MappedText;

use super::FixedFile;

/// The comments for some findings.
#[derive(Debug, Default)]
pub struct Allowed {
    pub files: Vec<FixedFile>,
    /// Number of silenced findings.
    pub findings: usize,
    /// Locations of findings that no comment can silence.
    pub left: Vec<String>,
}

/// Comments by place, each with the lints it names.
type Comments = BTreeMap<Place, BTreeSet<&'static str>>;

/// Where a comment is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    at: usize,
    /// It holds for the whole file.
    is_of_file: bool,
}

/// Comments for all warnings and errors of lints, in files below `root`.
pub fn allow(diagnostics: &[Diagnostic], reason: &str, root: &Path) -> Allowed {
    let mut allowed = Allowed::default();
    let mut files: BTreeMap<PathBuf, (Arc<SourceFile>, Comments)> = BTreeMap::new();
    for diagnostic in diagnostics.iter().filter(|diagnostic| diagnostic.severity > Severity::Note) {
        let Code::Lint(lint) = diagnostic.code else { continue };
        let labels = diagnostic.primary.iter().chain(&diagnostic.secondary);
        let mut places = labels.map(|label| &label.span).filter(|span| span.file.path.starts_with(root));
        match places.find_map(|span| Some((span, place(span, lint, reason)?))) {
            Some((span, at)) => {
                let file = || (Arc::clone(&span.file), Comments::new());
                files.entry(span.file.path.clone()).or_insert_with(file).1.entry(at).or_default().insert(lint);
                allowed.findings += 1;
            }
            None => allowed.left.push(crate::verify::place(diagnostic)),
        }
    }
    allowed.files = files.into_values().map(|(file, comments)| written(&file, &comments, reason)).collect();
    allowed
}

fn written(file: &Arc<SourceFile>, comments: &Comments, reason: &str) -> FixedFile {
    let mut text = file.text().to_string();
    for (place, lints) in comments.iter().rev() {
        let lints: Vec<&str> = lints.iter().copied().collect();
        text.insert_str(place.at, &comment(file.text(), *place, &lints, reason));
    }
    FixedFile { file: Arc::clone(file), text }
}

/// Where the text of a file starts: behind a byte order mark.
fn start_of(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// The text to insert for a comment.
fn comment(text: &str, place: Place, lints: &[&str], reason: &str) -> String {
    let Place { at, is_of_file } = place;
    let allow = if is_of_file { "allow-file" } else { "allow" };
    let words = format!("lmem: {allow}({}, reason = \"{reason}\")", lints.join(", "));
    let line = text[at..].split('\n').next().unwrap_or_default();
    let is_line_start = at == start_of(text) || text[..at].ends_with('\n');
    match is_line_start {
        true => {
            let indentation = &line[..line.len() - line.trim_start().len()];
            let end = if line.ends_with('\r') { "\r\n" } else { "\n" };
            format!("{indentation}// {words}{end}")
        }
        false => format!("/* {words} */ "),
    }
}

/// Endings of files that have comments of C++.
const SOURCES: [&str; 17] =
    ["c", "cc", "cpp", "cu", "cuh", "cxx", "h", "h++", "hh", "hpp", "hxx", "inc", "inl", "ipp", "rs", "tcc", "tpp"];

/// The place of a comment for a finding; `None` if no comment would silence it.
fn place(span: &Span, lint: &'static str, reason: &str) -> Option<Place> {
    let file = &span.file;
    // `#line` may name any file of the tree: a script, settings.
    if !file.is_utf8() || !has_ending(&file.path, &SOURCES) {
        return None;
    }
    let line = file.line_range(span.start_line())?;
    let line = line.start.max(start_of(file.text()))..line.end;
    let indented = line.start + (file.text()[line.clone()].len() - file.text()[line.clone()].trim_start().len());
    if !has_ending(&file.path, &["rs"]) && span.is_whole_file() {
        return Some(Place { at: start_of(file.text()), is_of_file: true });
    }
    let is_spliced = file.text()[..line.start].trim_end_matches(['\n', '\r']).ends_with('\\');
    let candidates = match has_ending(&file.path, &["rs"]) {
        false if is_spliced => vec![indented],
        false => vec![line.start],
        true => match string_around(file.text(), span.start) {
            // Without `#`, a quotation mark in the comment would end the raw string.
            Some(string) if string.is_hashed && line.start > string.range.start => vec![line.start],
            Some(string) => {
                vec![file.line_range(file.line_column(string.range.start).0)?.start.max(start_of(file.text()))]
            }
            None => return None,
        },
    };
    let mut places = candidates.into_iter().map(|at| Place { at, is_of_file: false });
    places.find(|place| silences(file, *place, span, lint, reason))
}

/// Whether the comment silences the finding, checked by parsing the edited file.
fn silences(file: &Arc<SourceFile>, place: Place, span: &Span, lint: &'static str, reason: &str) -> bool {
    let at = place.at;
    let added = comment(file.text(), place, &[lint], reason);
    let mut text = file.text().to_string();
    text.insert_str(at, &added);
    let new = SourceFile::from_text(&file.display, &text);
    let moved = if at <= span.start { added.len() } else { 0 };
    let place = Span::new(&new, span.start + moved..span.end + moved);
    let mut directives = Directives::default();
    match has_ending(&file.path, &["rs"]) {
        false => directives.read(&MappedText::from_file(&new), &[lint]),
        true => {
            directives.read_rust(&new, &[lint]);
            if let Some(string) = string_around(new.text(), place.start) {
                let mut kernel = MappedText::default();
                kernel.push(&new.text()[string.text.clone()], Span::new(&new, string.text));
                directives.read(&kernel, &[lint]);
            }
        }
    }
    directives.covers(&place, lint, None).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use lmem_base::diagnostic::Label;

    /// The text after its findings are allowed; each finding is at the first occurrence of a word.
    fn allowed(name: &str, text: &str, words: &[(&'static str, &str)]) -> (String, usize) {
        let file = SourceFile::from_text(name, text);
        let finding = |(lint, word): &(&'static str, &str)| {
            let at = text.find(word).unwrap();
            let span = Span::new(&file, at..at + word.len());
            let primary = Some(Label { span, text: String::new() });
            Diagnostic { code: Code::Lint(lint), primary, secondary: Vec::new(), ..samples::instance(32, "sm_90") }
        };
        let findings: Vec<Diagnostic> = words.iter().map(finding).collect();
        let allowed = allow(&findings, "old", Path::new(""));
        (allowed.files.first().map(|file| file.text.clone()).unwrap_or_default(), allowed.left.len())
    }

    const COMMENT: &str = "// lmem: allow(dynamic_index, reason = \"old\")";

    #[test]
    fn a_comment_stands_above_the_code() {
        let text = "void f() {\n  int a[4];\n}\n";
        let expected = format!("void f() {{\n  {COMMENT}\n  int a[4];\n}}\n");
        assert_eq!(allowed("a.cu", text, &[("dynamic_index", "a[4]")]), (expected, 0));
        let both = allowed("a.cu", text, &[("dynamic_index", "a[4]"), ("call_frame", "int")]).0;
        assert!(both.contains("  // lmem: allow(call_frame, dynamic_index, reason = \"old\")\n  int"), "{both}");
        let windows = allowed("a.cu", "int a;\r\nint b;\r\n", &[("dynamic_index", "b")]).0;
        assert_eq!(windows, format!("int a;\r\n{COMMENT}\r\nint b;\r\n"));
        let spliced = allowed("a.cuh", "#define K \\\n  int a[4]; \\\n  int b;\nK\n", &[("dynamic_index", "a[4]")]).0;
        assert!(spliced.contains("  /* lmem: allow(dynamic_index, reason = \"old\") */ int a[4];"), "{spliced}");
    }

    #[test]
    fn a_finding_on_flags_is_allowed_for_the_file() {
        let text = "#include <x.h>\nint a;\n";
        let expected = format!("// lmem: allow-file(ineffective_option, reason = \"old\")\n{text}");
        assert_eq!(allowed("a.cu", text, &[("ineffective_option", "")]), (expected, 0));
    }

    #[test]
    fn kernel_strings_have_it_inside_or_above() {
        let raw = allowed("a.rs", "const K: &str = r#\"\n  int a;\n\"#;\n", &[("dynamic_index", "a;")]).0;
        assert_eq!(raw, format!("const K: &str = r#\"\n  {COMMENT}\n  int a;\n\"#;\n"));
        for text in
            ["const K: &str = \"int a;\";\n", "const K: &str = r\"\nint a;\n\";\n", "const K: &str = r#\"int a;\"#;\n"]
        {
            assert_eq!(allowed("a.rs", text, &[("dynamic_index", "a;")]).0, format!("{COMMENT}\n{text}"));
        }
    }

    #[test]
    fn a_byte_order_mark_stays_first() {
        // A comment in the line of the mark would hold for nothing.
        assert_eq!(allowed("a.cu", "\u{feff}int a[4];\n", &[("dynamic_index", "a[4]")]), (String::new(), 1));
        let (text, left) = allowed("a.cu", "\u{feff}int b;\nint a[4];\n", &[("dynamic_index", "a[4]")]);
        assert_eq!((text, left), (format!("\u{feff}int b;\n{COMMENT}\nint a[4];\n"), 0));
    }

    #[test]
    fn what_is_no_source_gets_no_comment() {
        let text = "int a[4];\nint b;\n";
        assert_eq!(allowed("deploy.sh", text, &[("dynamic_index", "a[4]")]), (String::new(), 1));
        assert_eq!(allowed("a.inl", text, &[("dynamic_index", "a[4]")]).1, 0);
    }

    #[test]
    fn what_a_comment_cannot_silence_is_left() {
        // The string in the macro's argument is in the middle of a line of code that began above.
        assert_eq!(allowed("a.rs", "fn f() { a }\n", &[("dynamic_index", "a }")]), (String::new(), 1));
    }
}
