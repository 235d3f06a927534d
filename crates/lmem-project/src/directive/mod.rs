//! Directives: comments in CUDA code that control this tool.
//!
//! ```cpp
//! // lmem: allow(dynamic_index, reason = "cold path")
//! // lmem: expect(register_spill)      as `allow`, and reported when there is nothing to allow
//! // lmem: allow-file(dynamic_index)   the whole file, or kernel string
//! // lmem: budget(stack = 0, registers <= 64)   what the kernel below may take
//! ```
//! `/* lmem: … */` works too. Behind code, a directive applies to its line. Above code, it applies to the next item: a
//! function, kernel or structure up to its closing brace, a macro up to its last line, a statement up to its semicolon,
//! a loop's header. Outside brackets, a blank line ends the scope at the latest. In a macro, or above its `#define`, a
//! directive applies to the uses of the macro too, since the compiler places the code there. In Rust code, it applies
//! to the kernel strings in the next item, or on its line.

mod code;
mod kernels;
pub mod parse;
mod rust;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lmem_base::budget::Limit;
use lmem_base::source::{SourceFile, Span};
use lmem_unit::MappedText;

use code::{Code, NoScope};
use parse::{ALL_LINTS, Parsed, directive_text, parse};
use rust::RustText;

pub use kernels::{DeclaredKernel, declared_kernels};
pub use parse::{DirectiveProblem, Word};
pub use rust::{RustString, string_around};

/// Limit on the directives of one text. Each is held against every finding.
const MAX_DIRECTIVES: usize = 10_000;

/// One valid directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    pub word: Word,
    /// The comment.
    pub span: Span,
    /// The code that the directive applies to.
    pub scope: Span,
    /// The macro whose uses the directive applies to as well.
    pub in_macro: Option<String>,
    pub lints: Vec<String>,
    pub reason: Option<String>,
    /// The limits, for a budget.
    pub limits: Vec<Limit>,
    /// The kernels of a budget in CUDA code.
    pub kernels: BudgetedKernels,
}

/// The kernels that a budget applies to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum BudgetedKernels {
    /// The directive is no budget, or is in Rust code.
    #[default]
    Unknown,
    Declared(Vec<DeclaredKernel>),
    /// The words of a macro call: one of them may be the name.
    Words(Vec<String>),
}

/// A kernel, as described to find its budget.
#[derive(Clone, Copy)]
pub struct BudgetQuery<'a> {
    /// Without namespaces and template arguments.
    pub name: &'a str,
    pub mangled: &'a str,
    /// The name in the source, if known.
    pub span: Option<&'a Span>,
    /// Where Rust code contains the kernel's text and passes it to a compiler.
    pub in_rust: &'a [Span],
    /// Whether a file is part of the kernel's translation unit.
    pub is_part: &'a dyn Fn(&SourceFile) -> bool,
}

/// A malformed directive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct DirectiveError {
    pub span: Span,
    pub problem: DirectiveProblem,
}

/// All directives of a run, and which lints they silenced.
#[derive(Debug, Clone, Default)]
pub struct Directives {
    list: Vec<Directive>,
    /// Number of findings silenced, by directive and lint.
    used: BTreeMap<(usize, String), usize>,
    errors: Vec<DirectiveError>,
    seen: BTreeSet<Span>,
    /// Words in the replacement lists of macros, by macro name.
    macros: BTreeMap<String, BTreeSet<String>>,
}

impl Directives {
    /// Reads the directives of a file or kernel string. Directives that are known already are skipped, so a header may
    /// be read again for every file that includes it.
    pub fn read(&mut self, text: &MappedText, known_lints: &[&str]) {
        let code = Code::of(text.as_str());
        for (name, body) in code.macros() {
            self.macros.entry(name.to_string()).or_default().extend(code::words(body).map(str::to_string));
        }
        let directives = code.comments.iter().filter_map(|comment| {
            let words = directive_text(&text.as_str()[comment.clone()])?;
            Some((comment, words))
        });
        for (number, (comment, words)) in directives.enumerate() {
            let Some(span) = text.span(comment.clone()).filter(|span| self.seen.insert(span.clone())) else { continue };
            if number >= MAX_DIRECTIVES {
                return self.errors.push(DirectiveError { span, problem: DirectiveProblem::TooMany });
            }
            match parse(words, known_lints).and_then(|parsed| directive(parsed, &span, comment, &code, text)) {
                Ok(directive) => self.list.push(directive),
                Err(problem) => self.errors.push(DirectiveError { span, problem }),
            }
        }
    }

    /// Reads the directives of Rust code next to kernel strings.
    pub fn read_rust(&mut self, file: &Arc<SourceFile>, known_lints: &[&str]) {
        let rust = RustText::of(file.text());
        let directives = rust.comments.iter().filter_map(|comment| {
            let span = Span::new(file, comment.clone());
            let words = directive_text(&file.text()[comment.clone()])?;
            Some((comment, span, words))
        });
        for (number, (comment, span, words)) in directives.enumerate() {
            if !self.seen.insert(span.clone()) {
                continue;
            }
            if number >= MAX_DIRECTIVES {
                return self.errors.push(DirectiveError { span, problem: DirectiveProblem::TooMany });
            }
            let scope_of = |word| match word {
                Word::AllowFile => Ok(0..file.text().len()),
                _ => rust.scope_of(comment).map_err(problem_of),
            };
            match parse(words, known_lints).and_then(|parsed| scope_of(parsed.word).map(|scope| (parsed, scope))) {
                Ok((parsed, scope)) => self.list.push(Directive {
                    word: parsed.word,
                    scope: Span::new(file, scope),
                    in_macro: None,
                    lints: parsed.lints,
                    reason: parsed.reason,
                    limits: parsed.limits,
                    kernels: BudgetedKernels::Unknown,
                    span,
                }),
                Err(problem) => self.errors.push(DirectiveError { span, problem }),
            }
        }
    }

    /// The budgets that apply to a kernel, the one with the smallest scope last.
    pub fn budgets_of(&self, kernel: &BudgetQuery<'_>) -> Vec<usize> {
        let holds = |directive: &Directive| directive.word == Word::Budget && self.is_budget_of(directive, kernel);
        let mut found: Vec<usize> = (0..self.list.len()).filter(|index| holds(&self.list[*index])).collect();
        found.sort_by_key(|index| std::cmp::Reverse(self.list[*index].scope.range().len()));
        found
    }

    fn is_budget_of(&self, directive: &Directive, kernel: &BudgetQuery<'_>) -> bool {
        let scope = &directive.scope;
        let is_in = |place: &Span| scope.file.path == place.file.path && scope.range().contains(&place.start);
        let is_name = |name: &str| name == kernel.name || name == kernel.mangled;
        match (&directive.kernels, kernel.span) {
            (BudgetedKernels::Unknown, _) => kernel.in_rust.iter().any(is_in),
            (_, Some(span)) => is_in(span) || self.is_in_use(directive, span, None),
            (BudgetedKernels::Declared(kernels), None) => {
                (kernel.is_part)(&scope.file) && kernels.iter().any(|kernel| is_name(&kernel.name))
            }
            (BudgetedKernels::Words(words), None) => {
                (kernel.is_part)(&scope.file) && words.iter().any(|word| is_name(word))
            }
        }
    }

    /// The directive with an index.
    pub fn get(&self, index: usize) -> Option<&Directive> {
        self.list.get(index)
    }

    /// Budgets that apply to none of the kernels in the run, by position.
    pub fn unused_budgets(&self, used: &BTreeSet<usize>) -> Vec<&Directive> {
        let all = self.list.iter().enumerate();
        let unused = all.filter(|(index, directive)| directive.word == Word::Budget && !used.contains(index));
        let mut unused: Vec<&Directive> = unused.map(|(_, directive)| directive).collect();
        unused.sort_by(|left, right| left.span.cmp(&right.span));
        unused
    }

    /// The directive that silences a lint at a location: of several, the one with the smallest scope. In a use of a
    /// macro, all code has one location, so the directive's scope must contain the variable.
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
            // Spills have no variable: they belong to a kernel, which has a body.
            None => directive.scope.text().contains('{'),
        };
        is_in_scope && self.uses(place.text(), name)
    }

    /// Whether code contains the name of a macro, or of a macro that uses it.
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

    /// Counts a finding that a directive silenced.
    pub fn mark_used(&mut self, index: usize, lint: &str) {
        *self.used.entry((index, lint.to_string())).or_default() += 1;
    }

    /// All directives that can silence lints, with the number of findings that each silenced, by position.
    pub fn all(&self) -> Vec<(&Directive, usize)> {
        let silenced =
            |index: usize| self.used.iter().filter(|((used, _), _)| *used == index).map(|(_, count)| count).sum();
        let all = self.list.iter().enumerate().filter(|(_, directive)| directive.word != Word::Budget);
        let mut all: Vec<_> = all.map(|(index, directive)| (directive, silenced(index))).collect();
        all.sort_by(|(left, _), (right, _)| left.span.cmp(&right.span));
        all
    }

    /// Directives with lints that they never silenced, by position.
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

    /// Malformed directives, in the order in which they were read.
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
    let Parsed { word, lints, reason, limits } = parsed;
    let (range, in_macro) = match word {
        Word::AllowFile if code.is_conditional(comment.start) => return Err(DirectiveProblem::Conditional),
        Word::AllowFile => (0..text.as_str().len(), None),
        Word::Allow | Word::Expect | Word::Budget => {
            let scope = code.scope_of(comment).map_err(problem_of)?;
            (scope.range, scope.in_macro)
        }
    };
    let kernels = match word {
        Word::Budget => match kernels::in_range(code, range.clone(), text) {
            declared if declared.is_empty() => BudgetedKernels::Words(kernels::words_of_call(code, range.clone())),
            declared => BudgetedKernels::Declared(declared),
        },
        _ => BudgetedKernels::Unknown,
    };
    let scope = text.span(range).ok_or(DirectiveProblem::NoCode)?;
    Ok(Directive { word, span: span.clone(), scope, in_macro, lints, reason, limits, kernels })
}

fn problem_of(error: NoScope) -> DirectiveProblem {
    match error {
        NoScope::NoCode => DirectiveProblem::NoCode,
        NoScope::BlankLine => DirectiveProblem::BlankLine,
        NoScope::ManyItems => DirectiveProblem::ManyItems,
        NoScope::TooMany => DirectiveProblem::TooMany,
    }
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

    /// The scope of the only directive.
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

    #[test]
    fn the_whole_file_is_not_silenced_by_what_is_not_compiled() {
        let allow = "// lmem: allow-file(dynamic_index)\n";
        for text in [
            format!("#if 0\n{allow}#endif\nint a;\n"),
            format!("int a;\n#if A\n#elif B\n#if C\n#endif\n{allow}#endif\n"),
            format!("#ifndef G\n#define G\n#ifdef NEVER\n{allow}#endif\nint a;\n#endif\n"),
            format!("#if 1\nint a;\n#else\n{allow}#endif\n"),
            format!("#include \"a.cuh\"\n#if 0\n{allow}"),
        ] {
            assert!(error(&text).contains("inside a condition"), "{text}");
        }
        for text in [
            format!("{allow}#if A\nint a;\n#endif\n"),
            format!("#if A\n#endif\n{allow}int a;\n"),
            format!("#pragma once\n/* x */\n#ifndef G\n#define G\n{allow}#if A\n#endif\nint a;\n#endif // G\n"),
            format!("#endif\n{allow}"),
        ] {
            assert_eq!(scope(&text).len(), text.len(), "{text}");
        }
    }

    #[test]
    fn what_the_compiler_takes_for_no_comment_is_no_directive() {
        for text in [
            "const char *s = \"a \\\n// lmem: allow-file(dynamic_index)\";",
            "const char *s = \"a \\\r\n// lmem: allow-file(dynamic_index)\";",
            "const char *s = R\"x(\n// lmem: allow-file(dynamic_index)\n)\" )x\";",
            "const char *s = u8R\"(\"\n// lmem: allow-file(dynamic_index)\n)\";",
            "// a \\\n// lmem: allow-file(dynamic_index)\nint b;",
            "// a \\ \t\n// lmem: allow-file(dynamic_index)\nint b;",
            "// a \\\r\n// lmem: allow-file(dynamic_index)\nint b;",
            "/* a\n// lmem: allow-file(dynamic_index)\n*/ int b;",
            "// // lmem: allow-file(dynamic_index)\nint b;",
        ] {
            let directives = read(text);
            assert!(first(&directives).is_none() && directives.errors().is_empty(), "{text}");
        }
    }

    /// The scope of a directive above some code.
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
        // A backslash at the end of the line continues a comment.
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
        assert_eq!(
            message("deny(dynamic_index)"),
            "`deny` is no directive; known are `allow`, `expect`, `allow-file`, `budget`"
        );
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
    fn comments_of_rust_code_hold_for_the_strings_beside_them() {
        let text = "// lmem: allow(dynamic_index)\nconst K: &str = \"// lmem: deny\";\nconst L: &str = \"\";\n// lmem: alow(x)\n";
        let file = SourceFile::from_text("a.rs", text);
        let mut directives = Directives::default();
        directives.read_rust(&file, KNOWN);
        directives.read_rust(&file, KNOWN);
        assert_eq!(directives.errors().len(), 1);
        assert!(directives.errors()[0].to_string().contains("did you mean `allow`?"));
        let covers = |line| directives.covers(&Span::line(&file, line).unwrap(), "dynamic_index", None);
        assert_eq!((covers(2), covers(3)), (Some(0), None));
    }

    #[test]
    fn a_budget_holds_for_the_kernel_below() {
        let text = "// lmem: budget(stack = 0, registers <= 64, reason = \"hot, really\")\ntemplate <int N>\n\
                    __global__ void f(int* a) {}\n__global__ void g() {}\n// lmem: budget(spills = 0)\nMAKE(h, 1)\n";
        let file = SourceFile::from_text("a.cu", text);
        let mut directives = Directives::default();
        directives.read(&MappedText::from_file(&file), KNOWN);
        assert_eq!(directives.errors(), []);
        let limits: Vec<String> = directives.list[0].limits.iter().map(ToString::to_string).collect();
        assert_eq!(limits, ["stack = 0", "registers <= 64"]);
        let of = |name: &str, span: Option<&Span>, is_part: bool| {
            let is_part = move |_: &SourceFile| is_part;
            directives.budgets_of(&BudgetQuery { name, mangled: "", span, in_rust: &[], is_part: &is_part })
        };
        assert_eq!((of("f", None, true), of("g", None, true), of("h", None, true)), (vec![0], vec![], vec![1]));
        assert_eq!(of("f", None, false), [0; 0]);
        assert_eq!(of("f", Span::line(&file, 3).as_ref(), true), [0]);
        assert_eq!(of("f", Span::line(&file, 4).as_ref(), true), [0; 0]);
        assert!(directives.all().is_empty() && directives.unused().is_empty());
        assert_eq!(directives.unused_budgets(&BTreeSet::from([0])).len(), 1);
    }

    #[test]
    fn wrong_budgets_are_errors() {
        let message = |words: &str| error(&format!("// lmem: {words}\n__global__ void f() {{}}"));
        assert!(message("budget(register <= 64)").contains("did you mean `registers`?"));
        assert!(message("budget(registers < 64)").contains("write `registers <= 64`"));
        assert!(message("budget()").contains("it limits nothing"));
        assert!(message("budget").contains("the opening parenthesis is missing"));
        assert!(message("budget(stack = 0").contains("the closing parenthesis is missing"));
        assert!(message("budget(stack = 0, stack = 8)").contains("limited twice"));
        assert!(message("budget(stack = 0) now").contains("behind the closing parenthesis"));
        assert!(message("budget(= 0)").contains("stand limits"));
        assert!(message("budget(reason = \"x\" stack = 0)").contains("a comma is missing"));
        assert!(message("budgets(stack = 0)").contains("did you mean `budget`?"));
        assert!(error("// lmem: budget(stack = 0)\n\n__global__ void f() {}").contains("a blank line follows"));
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
        // As `extract` decodes it: escapes are pieces of their own.
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
    fn files_of_directives_are_read_in_linear_time() {
        // Each of them would look at the rest of the file.
        let comment = "// lmem: allow(dynamic_index, reason = \"((((\")\n";
        let many = format!("{}int x;\n", comment.repeat(20_000));
        let read = read(&many);
        let problems: Vec<String> = read.errors().iter().map(|error| error.problem.to_string()).collect();
        assert!(read.all().len() < 20_000 && problems.iter().any(|said| said.starts_with("too many directives")));
        let open = "// lmem: allow(dynamic_index)\nf((\n".repeat(20_000);
        assert!(!super::tests::read(&open).errors().is_empty());
        // Conditionals within conditionals, each with braces that do not match.
        let nested = format!("{}{}", "#if A\n{\n#else\n".repeat(20_000), "#endif\n".repeat(20_000));
        assert!(super::tests::read(&nested).errors().is_empty());
        let quotes = "'".repeat(1 << 20);
        assert!(super::tests::read(&quotes).errors().is_empty());
        // As many as people write.
        let usual = "// lmem: allow(dynamic_index)\nfloat a[8];\n".repeat(2_000);
        assert_eq!(super::tests::read(&usual).all().len(), 2_000);
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
