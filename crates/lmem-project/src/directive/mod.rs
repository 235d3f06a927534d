//! Comments in CUDA code that speak to this tool.
//!
//! ```cpp
//! // lmem: allow(dynamic_index, reason = "cold path")
//! // lmem: expect(register_spill)      as `allow`, and reported when there is nothing to allow
//! // lmem: allow-file(dynamic_index)   the whole file, or kernel string
//! ```
//! `/* lmem: … */` is the same. Behind code a directive holds for its line. Before code it holds for what follows: a function, kernel
//! or structure up to its closing brace, a macro up to its last line, a statement up to its semicolon, a loop's header. Outside
//! brackets a blank line ends it at the latest. In a macro, or above its `#define`, it holds for the uses of the macro too, since
//! that is where compilers see the code.

mod code;
pub mod parse;
mod rust;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lmem_base::source::{SourceFile, Span};
use lmem_unit::MappedText;

use code::{Code, NoScope};
use parse::{ALL_LINTS, Parsed, directive_text, parse};

pub use parse::{DirectiveProblem, Word};

/// One comment that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    pub word: Word,
    /// The comment.
    pub span: Span,
    /// What it holds for.
    pub scope: Span,
    /// The macro whose uses it holds for too.
    pub in_macro: Option<String>,
    pub lints: Vec<String>,
    pub reason: Option<String>,
}

/// A comment that is meant for this tool, and that it does not understand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct DirectiveError {
    pub span: Span,
    pub problem: DirectiveProblem,
}

/// The directives of a run, and which of their lints they silenced something of.
#[derive(Debug, Clone, Default)]
pub struct Directives {
    list: Vec<Directive>,
    /// How many findings were silenced.
    used: BTreeMap<(usize, String), usize>,
    errors: Vec<DirectiveError>,
    seen: BTreeSet<Span>,
    /// Words of what macros stand for, by their names.
    macros: BTreeMap<String, BTreeSet<String>>,
}

impl Directives {
    /// Reads the comments of a text: a file, or a kernel string. What was read before is not read again, so the same
    /// header may come with every file that includes it.
    pub fn read(&mut self, text: &MappedText, known_lints: &[&str]) {
        let code = Code::of(text.as_str());
        for (name, body) in code.macros() {
            self.macros.entry(name.to_string()).or_default().extend(code::words(body).map(str::to_string));
        }
        for comment in &code.comments {
            let Some(words) = directive_text(&text.as_str()[comment.clone()]) else { continue };
            let Some(span) = text.span(comment.clone()).filter(|span| self.seen.insert(span.clone())) else { continue };
            match parse(words, known_lints).and_then(|parsed| directive(parsed, &span, comment, &code, text)) {
                Ok(directive) => self.list.push(directive),
                Err(problem) => self.errors.push(DirectiveError { span, problem }),
            }
        }
    }

    /// Complains about directives in Rust code beside kernel strings: they hold for nothing there.
    pub fn read_rust(&mut self, file: &Arc<SourceFile>) {
        for comment in rust::comments(file.text()) {
            let span = Span::new(file, comment);
            if directive_text(span.text()).is_some() && self.seen.insert(span.clone()) {
                self.errors.push(DirectiveError { span, problem: DirectiveProblem::RustCode });
            }
        }
    }

    /// The directive that silences a lint at a place: of several, the one that holds for least. In uses of macros, where
    /// all places are one, it has to have the variable in its scope.
    pub fn covers(&self, place: &Span, lint: &str, variable: Option<&str>) -> Option<usize> {
        let holds = |directive: &Directive| {
            let scope = &directive.scope;
            let is_there = scope.file.path == place.file.path && scope.range().contains(&place.start);
            let is_named = directive.lints.iter().any(|name| name == lint || name == ALL_LINTS);
            is_named && (is_there || self.is_in_use(directive, place, variable))
        };
        let holding = self.list.iter().enumerate().filter(|(_, directive)| holds(directive));
        holding.rev().min_by_key(|(_, directive)| directive.scope.range().len()).map(|(index, _)| index)
    }

    fn is_in_use(&self, directive: &Directive, place: &Span, variable: Option<&str>) -> bool {
        let Some(name) = &directive.in_macro else { return false };
        let is_in_scope = match variable {
            Some(variable) => code::words(directive.scope.text().as_bytes()).any(|word| word == variable),
            // Spills belong to a kernel.
            None => directive.scope.text().contains('{'),
        };
        is_in_scope && self.uses(place.text(), name)
    }

    /// Whether code has the name of a macro, or of one that uses it.
    fn uses(&self, code: &str, name: &str) -> bool {
        let mut open: Vec<&str> = code::words(code.as_bytes()).collect();
        let mut seen = BTreeSet::new();
        while let Some(word) = open.pop() {
            if word == name {
                return true;
            }
            if let Some(words) = self.macros.get(word).filter(|_| seen.insert(word)) {
                open.extend(words.iter().map(String::as_str));
            }
        }
        false
    }

    /// Remembers that a directive silenced a finding of a lint.
    pub fn mark_used(&mut self, index: usize, lint: &str) {
        *self.used.entry((index, lint.to_string())).or_default() += 1;
    }

    /// All directives, with the number of findings that each silenced, by place.
    pub fn all(&self) -> Vec<(&Directive, usize)> {
        let silenced =
            |index: usize| self.used.iter().filter(|((used, _), _)| *used == index).map(|(_, count)| count).sum();
        let mut all: Vec<_> =
            self.list.iter().enumerate().map(|(index, directive)| (directive, silenced(index))).collect();
        all.sort_by(|(left, _), (right, _)| left.span.cmp(&right.span));
        all
    }

    /// Directives with lints that they silenced nothing of, by place.
    pub fn unused(&self) -> Vec<(&Directive, Vec<&str>)> {
        let is_used = |index: usize, lint: &str| match lint {
            ALL_LINTS => self.used.keys().any(|(used, _)| *used == index),
            _ => self.used.contains_key(&(index, lint.to_string())),
        };
        let unused = self.list.iter().enumerate().map(|(index, directive)| {
            let names = directive.lints.iter().map(String::as_str).filter(|lint| !is_used(index, lint));
            (directive, names.collect::<Vec<_>>())
        });
        let mut unused: Vec<_> = unused.filter(|(_, names)| !names.is_empty()).collect();
        unused.sort_by(|(left, _), (right, _)| left.span.cmp(&right.span));
        unused
    }

    /// Comments that were not understood, in the order in which they were read.
    pub fn errors(&self) -> &[DirectiveError] {
        &self.errors
    }
}

fn directive(
    parsed: Parsed,
    span: &Span,
    comment: &std::ops::Range<usize>,
    code: &Code<'_>,
    text: &MappedText,
) -> Result<Directive, DirectiveProblem> {
    let Parsed { word, lints, reason } = parsed;
    let (range, in_macro) = match word {
        Word::AllowFile => (0..text.as_str().len(), None),
        Word::Allow | Word::Expect => {
            let scope = code.scope_of(comment).map_err(|error| match error {
                NoScope::NoCode => DirectiveProblem::NoCode,
                NoScope::BlankLine => DirectiveProblem::BlankLine,
                NoScope::ManyItems => DirectiveProblem::ManyItems,
            })?;
            (scope.range, scope.in_macro)
        }
    };
    let scope = text.span(range).ok_or(DirectiveProblem::NoCode)?;
    Ok(Directive { word, span: span.clone(), scope, in_macro, lints, reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::source::SourceFile;

    const KNOWN: &[&str] = &["dynamic_index", "register_spill"];

    fn read(text: &str) -> Directives {
        let mut directives = Directives::default();
        directives.read(&MappedText::from_file(&SourceFile::from_text("a.cu", text)), KNOWN);
        directives
    }

    fn first(directives: &Directives) -> Option<&Directive> {
        directives.list.first()
    }

    /// What the only directive holds for.
    fn scope(text: &str) -> String {
        let directives = read(text);
        assert_eq!(directives.errors(), [], "{text}");
        first(&directives).unwrap().scope.text().to_string()
    }

    fn error(text: &str) -> String {
        let directives = read(text);
        assert!(first(&directives).is_none(), "{text}");
        directives.errors()[0].to_string()
    }

    #[test]
    fn lints_and_reason_are_read() {
        let directives = read("// lmem: allow(dynamic_index, register-spill, reason = \"cold, (really)\")\nx;\n");
        let directive = first(&directives).unwrap();
        assert_eq!(directive.lints, ["dynamic_index", "register_spill"]);
        assert_eq!(directive.reason.as_deref(), Some("cold, (really)"));
        assert_eq!(directive.span.line_column(), (1, 1));
        assert!(first(&read("//lmem:allow( warnings , )\nx;")).is_some());
    }

    /// What a directive above code holds for.
    fn follows(code: &str) -> String {
        scope(&format!("  // lmem: allow(dynamic_index)\n{code}"))
    }

    #[test]
    fn trailing_comments_hold_for_their_line() {
        let of_line = |line: &str| assert_eq!(scope(&format!("a;\n{line}\nc;")), line);
        of_line("  b; // lmem: allow(dynamic_index)");
        of_line("f(\"// no\", '\"', 1'000, 0xFF'FF, u8'\"', L\"'\"); // lmem: allow(dynamic_index)");
        of_line("  b; /* lmem: allow(dynamic_index) */");
        of_line("  b; /* lmem: allow(dynamic_index) */ d;");
        of_line("LR\"x(} \" )x\"; // lmem: allow(dynamic_index)");
        of_line("#include <a> // lmem: allow(dynamic_index)");
        of_line("  b; // lmem: allow(dynamic_index)\r");
    }

    #[test]
    fn comments_alone_hold_for_what_follows() {
        assert_eq!(follows("  a[i] =\n    b;\nc;"), "  a[i] =\n    b;");
        assert_eq!(follows("float t[2] = {1, 2}, u = 3;\nc;"), "float t[2] = {1, 2}, u = 3;");
        assert_eq!(follows("float t[] = {\n1,\n2};\nc;"), "float t[] = {\n1,\n2};");
        let kernel = "template <int N>\n__global__ void f(float* a) {\n  if (a) { g(\"}\"); } // }\n\n}";
        assert_eq!(follows(&format!("{kernel}\nvoid g() {{}}")), kernel);
        assert_eq!(follows("struct A { int a; };\n"), "struct A { int a; };");
        let header = "#pragma unroll\nfor (int i = 0; i < 4; ++i) {";
        assert_eq!(follows(&format!("{header}\n  x;\n}}")), header);
        assert_eq!(follows("// why\n/* more {\n\n */\na;\nb;"), "a;");
        assert_eq!(follows("  return x }\nb;"), "  return x }");
        assert_eq!(follows("extern \"C\" __global__ void f() {\n}\nint b;"), "extern \"C\" __global__ void f() {\n}");
        assert_eq!(follows("R\"x(} \" )x\" + f() {\n}\nb;"), "R\"x(} \" )x\" + f() {\n}");
        let attributed = "[[nodiscard]]\n__attribute__((used))\n__launch_bounds__(256)\nvoid f()\n{ a;\n}";
        assert_eq!(follows(&format!("{attributed}\nb;")), attributed);
        assert_eq!(follows("for (;;)\n  a[i] = 1;\nb;"), "for (;;)\n  a[i] = 1;");
        assert_eq!(follows("f(a)\n  + g(b);\nc;"), "f(a)\n  + g(b);");
        assert_eq!(scope("/* lmem: allow(dynamic_index) */ int a,\n b;\nc;"), " int a,\n b;");
        assert_eq!(scope("// lmem: allow(dynamic_index)\r\nf() {\r\n}\r\nb;"), "f() {\r\n}");
        assert_eq!(scope("#pragma unroll // lmem: allow(dynamic_index)\nfor (;;) {\n}"), "for (;;) {");
    }

    #[test]
    fn a_macro_call_needs_no_semicolon() {
        assert_eq!(follows("HIST(h16, 16)\nHIST(h32, 32)\nvoid f() {}"), "HIST(h16, 16)");
        assert_eq!(follows("HIST(h16,\n  (16))\n// next\nHIST(h32, 32)"), "HIST(h16,\n  (16))");
        assert_eq!(follows("HIST(h16, 16)"), "HIST(h16, 16)");
        assert_eq!(follows("HIST(h16, 16)\n#define A {"), "HIST(h16, 16)");
        let kernel = "LIMIT(256)\n__global__ void f() {\n}";
        assert_eq!(
            scope(&format!("#define LIMIT(n) __launch_bounds__(n)\n// lmem: allow(dynamic_index)\n{kernel}\nb;")),
            kernel
        );
        assert_eq!(follows("HEAD(f)\n{\n}\nb;"), "HEAD(f)\n{\n}");
    }

    #[test]
    fn a_blank_line_ends_it() {
        assert_eq!(follows("TABLE\n\nint b;"), "TABLE");
        assert_eq!(follows("TABLE\n \t\r\nint b;"), "TABLE");
        assert_eq!(follows("int f(\n\nint b);\nc;"), "int f(\n\nint b);");
        // Brackets that are never closed.
        assert_eq!(follows("void f() {\n  a;\n\n  b;"), "void f() {\n  a;");
        assert_eq!(follows("f(a;\n\nb;"), "f(a;");
        assert!(error("// lmem: allow(dynamic_index)\n\nint a;").contains("a blank line follows"));
        assert!(error("// lmem: allow(dynamic_index)\r\n\r\nint a;").contains("a blank line follows"));
    }

    #[test]
    fn braces_of_branches_are_not_counted_twice() {
        let kernel = "#if A\nvoid f(int a) {\n#elif B\nvoid f(long a) {\n#else\nvoid f() {\n#endif\n  if (a) {\n  }\n}";
        assert_eq!(follows(&format!("{kernel}\nvoid g() {{\n}}")), kernel);
        let even = "void f() {\n#if A\n  if (a) { b; }\n#else\n  if (c) { d; }\n#endif\n}";
        assert_eq!(follows(&format!("{even}\nvoid g() {{\n}}")), even);
    }

    #[test]
    fn blocks_of_many_items_are_refused() {
        for block in ["namespace a {", "namespace a::b\n{", "inline namespace a {", "extern \"C\" {", "namespace {"] {
            let text = format!("// lmem: allow(dynamic_index)\n{block}\nvoid f() {{}}\n}}");
            assert!(error(&text).contains("above one kernel"), "{text}");
        }
        assert_eq!(follows("namespace a = b;\nc;"), "namespace a = b;");
    }

    #[test]
    fn macros_are_silenced_where_they_are_used() {
        let text = "#define HIST(name) \\\n  void name() { \\\n    /* lmem: allow(dynamic_index) */ \\\n    int bins[8]; \\\n    \
                    int rest[8]; \\\n  }\n#define TWICE(name) HIST(name##1) HIST(name##2)\nHIST(a)\nTWICE(b)\nOTHER(c)\n";
        let file = SourceFile::from_text("a.cu", text);
        let mut directives = Directives::default();
        directives.read(&MappedText::from_file(&file), KNOWN);
        assert_eq!(directives.errors(), []);
        assert_eq!(directives.list[0].scope.text().trim(), "int bins[8]; \\");
        let covers = |line, variable| directives.covers(&Span::line(&file, line).unwrap(), "dynamic_index", variable);
        assert_eq!(covers(8, Some("bins")), Some(0));
        assert_eq!(covers(9, Some("bins")), Some(0));
        assert_eq!(covers(8, Some("rest")), None);
        assert_eq!(covers(8, None), None);
        assert_eq!(covers(10, Some("bins")), None);

        let above = "// lmem: allow(dynamic_index)\r\n#define HIST(name) \\\r\n  void name() { int bins[8]; }\r\nHIST(a)\r\nint bins;\r\n";
        let file = SourceFile::from_text("a.cu", above);
        let mut directives = Directives::default();
        directives.read(&MappedText::from_file(&file), KNOWN);
        let covers = |line, variable| directives.covers(&Span::line(&file, line).unwrap(), "dynamic_index", variable);
        assert_eq!((covers(4, Some("bins")), covers(4, None), covers(5, Some("bins"))), (Some(0), Some(0), None));
        assert!(error("#define A /* lmem: allow(dynamic_index) */\nint a;").contains("no code follows"));
        assert_eq!(scope("#define N 16 // lmem: allow(dynamic_index)\nint a;"), " 16 // lmem: allow(dynamic_index)");
    }

    #[test]
    fn a_whole_file_may_be_allowed() {
        let text = "int a;\n\n// lmem: allow-file(dynamic_index)\n\nint b;\n";
        assert_eq!(scope(text), text);
        assert_eq!(first(&read(text)).unwrap().word, Word::AllowFile);
        assert_eq!(first(&read("// lmem: expect(dynamic_index)\na;")).unwrap().word, Word::Expect);
    }

    #[test]
    fn the_smallest_scope_counts() {
        let file = SourceFile::from_text(
            "a.cu",
            "int a; // lmem: allow(dynamic_index)\nint b;\n// lmem: allow-file(dynamic_index)\n",
        );
        let mut directives = Directives::default();
        directives.read(&MappedText::from_file(&file), KNOWN);
        let covers = |line| directives.covers(&Span::line(&file, line).unwrap(), "dynamic_index", None);
        assert_eq!((covers(1), covers(2)), (Some(0), Some(1)));
    }

    #[test]
    fn every_kind_of_comment_counts() {
        for comment in [
            "/* lmem: allow(dynamic_index) */",
            "/** lmem: allow(dynamic_index) */",
            "/*\n * lmem: allow(dynamic_index,\n reason = \"x\")\n */",
            "/// lmem : allow(dynamic_index)",
            "// LMEM: allow(dynamic_index)",
            "// lmem allow(dynamic_index)",
            "// lmem: allow(\\\ndynamic_index)",
        ] {
            let text = format!("{}\nx;", comment.replace("\\\n", ""));
            assert!(first(&read(&text)).is_some(), "{text}");
        }
        // A comment goes on behind a backslash.
        assert!(error("// lmem: allow(dynamic_index) \\\nx;\ny;").contains("behind the closing parenthesis"));
        for text in [
            "// lmem is slow\nx;",
            "\"// lmem: allow(dynamic_index)\";",
            "/* see // lmem: allow(dynamic_index) */\nx;",
            "// // lmem: allow(dynamic_index)\nx;",
            "R\"(\n// lmem: allow(dynamic_index)\n)\";",
            "'\"'; \"/* lmem: allow(dynamic_index) */\";",
        ] {
            let silent = read(text);
            assert!(silent.errors().is_empty() && first(&silent).is_none(), "{text}");
        }
    }

    #[test]
    fn wrong_directives_are_errors() {
        let message = |words: &str| error(&format!("// lmem: {words}\nx;"));
        assert_eq!(message("deny(dynamic_index)"), "`deny` is no directive; known are `allow`, `expect`, `allow-file`");
        assert!(message("alow(dynamic_index)").contains("`alow` is no directive: did you mean `allow`?"));
        assert_eq!(message("allow(dynamic_indx)"), "there is no lint `dynamic_indx`: did you mean `dynamic_index`?");
        assert!(message("allow dynamic_index").contains("the opening parenthesis is missing"));
        assert!(message("allow(dynamic_index").contains("the closing parenthesis is missing"));
        assert!(message("allow(").contains("the closing parenthesis is missing"));
        assert!(message("allow()").contains("it names no lint"));
        assert!(message("allow(reason = \"x\")").contains("it names no lint"));
        assert!(message("allow(dynamic_index register_spill)").contains("a comma is missing"));
        assert!(message("allow(dynamic_index, reason = cold)").contains("in double quotes"));
        assert!(message("allow(dynamic_index, reason = \"cold)").contains("in double quotes"));
        assert!(message("allow(dynamic_index) cold").contains("behind the closing parenthesis"));
        assert!(message("allow(\"x\")").contains("names of lints"));
        assert!(message("").contains("is missing"));
        assert!(error("/* lmem: deny */\nx;").contains("is no directive"));
        assert!(error("// lmem: allow(dynamic_index)\n  \n").contains("no code"));
        assert!(error("// lmem: allow(dynamic_index)").contains("no code"));
    }

    #[test]
    fn rust_code_has_no_directives() {
        let file = SourceFile::from_text("a.rs", "// lmem: allow(dynamic_index)\nconst K: &str = \"// lmem: deny\";");
        let mut directives = Directives::default();
        directives.read_rust(&file);
        directives.read_rust(&file);
        assert_eq!(directives.errors().len(), 1);
        assert!(directives.errors()[0].to_string().contains("inside the kernel's text"));
    }

    #[test]
    fn directives_cover_places_and_know_their_use() {
        let file = SourceFile::from_text(
            "a.cu",
            "// lmem: allow(dynamic_index, register_spill)\nint a;\nint b; // lmem: allow(warnings)\nint c;",
        );
        let text = MappedText::from_file(&file);
        let mut directives = Directives::default();
        directives.read(&text, KNOWN);
        directives.read(&text, KNOWN);
        let at = |line: usize| Span::line(&file, line).unwrap();
        assert_eq!(directives.covers(&at(2), "dynamic_index", None), Some(0));
        assert_eq!(directives.covers(&at(2), "other", None), None);
        assert_eq!(directives.covers(&at(3), "other", None), Some(1));
        assert_eq!(directives.covers(&at(4), "dynamic_index", None), None);
        directives.mark_used(0, "dynamic_index");
        let unused: Vec<_> =
            directives.unused().into_iter().map(|(directive, lints)| (directive.span.start_line(), lints)).collect();
        assert_eq!(unused, [(1, vec!["register_spill"]), (3, vec!["warnings"])]);
        directives.mark_used(1, "other");
        assert_eq!(directives.unused().len(), 1);
    }

    #[test]
    fn directives_in_strings_hold_for_places_in_the_string() {
        let rust = SourceFile::from_text(
            "a.rs",
            r#""// lmem: allow(dynamic_index)\nextern \"C\" void f() {\n g(\"}\"); }\n""#,
        );
        let mut text = MappedText::default();
        // As `extract` decodes it: runs and escapes apart.
        for (piece, range) in [
            ("// lmem: allow(dynamic_index)", 1..30),
            ("\n", 30..32),
            ("extern ", 32..39),
            ("\"", 39..41),
            ("C", 41..42),
            ("\"", 42..44),
            (" void f() {", 44..55),
            ("\n", 55..57),
            (" }", 65..67),
        ] {
            text.push(piece, Span::new(&rust, range));
        }
        let mut directives = Directives::default();
        directives.read(&text, KNOWN);
        let scope = &first(&directives).unwrap().scope;
        assert_eq!((scope.start, scope.end), (32, 67));
    }

    #[test]
    fn broken_code_ends_nothing() {
        for code in [
            "{", "}", "(", "\"", "'", "R\"", "R\"(", "/*", "/", "\\", "\"\\", "é{", "\u{0}", "#", "# ", "\r",
            "f() {{{{",
        ] {
            read(&format!("// lmem: allow(dynamic_index)\n{code}"));
            read(&format!("{code} // lmem: allow(dynamic_index)"));
            read(&format!("// lmem: {code}"));
            read(&format!("// lmem: allow({code}"));
        }
    }
}
