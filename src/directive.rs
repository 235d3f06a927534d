//! Comments in CUDA code that speak to this tool.
//!
//! ```cpp
//! // lmem: allow(dynamic_index, reason = "cold path")
//! ```
//! Behind code it holds for its line. On a line of its own it holds for what follows: a function, kernel or structure
//! up to its closing brace, a statement up to its semicolon, else one line.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::config::nearest;
use crate::extract::MappedText;
use crate::source::Span;

/// Words that may follow `lmem:`.
const KNOWN_WORDS: [&str; 1] = ["allow"];

/// Stands for all lints, as on the command line.
const ALL_LINTS: &str = "warnings";

/// One `// lmem: allow(…)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// The comment.
    pub span: Span,
    /// What it holds for.
    pub scope: Span,
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

/// What is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DirectiveProblem {
    #[error("`{0}` is no directive; known are {known}", known = known_words())]
    UnknownWord(String),
    #[error("there is no lint `{name}`{hint}", hint = .near.as_ref().map(|near| format!(": did you mean `{near}`?")).unwrap_or_default())]
    UnknownLint { name: String, near: Option<String> },
    #[error("a directive looks like `lmem: allow(dynamic_index)`: {0}")]
    Form(&'static str),
    #[error("there is no code that it could hold for")]
    NoCode,
}

fn known_words() -> String {
    KNOWN_WORDS.map(|word| format!("`{word}`")).join(", ")
}

/// The directives of a run, and which of their lints they silenced something of.
#[derive(Debug, Clone, Default)]
pub struct Directives {
    list: Vec<Directive>,
    used: BTreeSet<(usize, String)>,
    errors: Vec<DirectiveError>,
    seen: BTreeSet<Span>,
}

impl Directives {
    /// Reads the comments of a text: a file, or a kernel string. What was read before is not read again, so the same
    /// header may come with every file that includes it.
    pub fn read(&mut self, text: &MappedText, known_lints: &[&str]) {
        let code = Code::of(text.as_str());
        for comment in &code.comments {
            let Some(words) = directive_text(&text.as_str()[comment.clone()]) else { continue };
            let Some(span) = text.span(comment.clone()).filter(|span| self.seen.insert(span.clone())) else { continue };
            let scope = code.scope_of(comment).and_then(|scope| text.span(scope));
            match (parse(words, known_lints), scope) {
                (Ok((lints, reason)), Some(scope)) => self.list.push(Directive { span, scope, lints, reason }),
                (Ok(_), None) => self.errors.push(DirectiveError { span, problem: DirectiveProblem::NoCode }),
                (Err(problem), _) => self.errors.push(DirectiveError { span, problem }),
            }
        }
    }

    /// The directive that silences a lint at a place: of several, the one that was read last.
    pub fn covers(&self, place: &Span, lint: &str) -> Option<usize> {
        let holds = |directive: &Directive| {
            let scope = &directive.scope;
            let is_there = scope.file.path == place.file.path && scope.range().contains(&place.start);
            is_there && directive.lints.iter().any(|name| name == lint || name == ALL_LINTS)
        };
        self.list.iter().rposition(holds)
    }

    /// Remembers that a directive silenced a finding of a lint.
    pub fn mark_used(&mut self, index: usize, lint: &str) {
        self.used.insert((index, lint.to_string()));
    }

    pub fn get(&self, index: usize) -> Option<&Directive> {
        self.list.get(index)
    }

    /// Directives with lints that they silenced nothing of, by place.
    pub fn unused(&self) -> Vec<(&Directive, Vec<&str>)> {
        let unused_lints = |(index, directive): (usize, &'_ Directive)| {
            let is_used = |lint: &String| match lint.as_str() {
                ALL_LINTS => self.used.iter().any(|(used, _)| *used == index),
                _ => self.used.contains(&(index, lint.clone())),
            };
            directive.lints.iter().enumerate().filter(|(_, lint)| !is_used(lint)).map(|(at, _)| at).collect::<Vec<_>>()
        };
        let with_lints = |(index, directive)| {
            let unused = unused_lints((index, directive));
            let names: Vec<&str> = unused.into_iter().map(|at| directive.lints[at].as_str()).collect();
            (!names.is_empty()).then_some((directive, names))
        };
        let mut unused: Vec<_> = self.list.iter().enumerate().filter_map(with_lints).collect();
        unused.sort_by(|(left, _), (right, _)| left.span.cmp(&right.span));
        unused
    }

    /// Comments that were not understood, in the order in which they were read.
    pub fn errors(&self) -> &[DirectiveError] {
        &self.errors
    }
}

/// What stands behind `lmem:`, if a comment begins with that; `//` is still before it.
fn directive_text(comment: &str) -> Option<&str> {
    let text = comment.trim_start_matches('/').trim();
    if let Some(words) = text.strip_prefix("lmem:") {
        return Some(words.trim());
    }
    // The colon was forgotten. A comment that speaks of local memory is none of ours.
    text.strip_prefix("lmem")
        .map(str::trim)
        .filter(|words| KNOWN_WORDS.iter().any(|word| words.starts_with(&format!("{word}("))))
}

type Allow = (Vec<String>, Option<String>);

fn parse(words: &str, known_lints: &[&str]) -> Result<Allow, DirectiveProblem> {
    let word_end = words.find(|letter: char| !(letter.is_alphanumeric() || letter == '_')).unwrap_or(words.len());
    let (word, rest) = words.split_at(word_end);
    if !KNOWN_WORDS.contains(&word) {
        return Err(DirectiveProblem::UnknownWord(word.to_string()));
    }
    let rest = rest.trim().strip_prefix('(').ok_or(DirectiveProblem::Form("the opening parenthesis is missing"))?;
    let mut rest = rest.trim_start();
    let mut lints = Vec::new();
    let mut reason = None;
    loop {
        if let Some(end) = rest.strip_prefix(')') {
            if !end.trim().is_empty() {
                return Err(DirectiveProblem::Form(
                    "there is text behind the closing parenthesis; put it into `reason = \"…\"`",
                ));
            }
            break;
        }
        let end = rest
            .find(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == '-'))
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        rest = match (name, after.trim_start()) {
            ("reason", after) if after.starts_with('=') => {
                let (text, after) = quoted(&after[1..])?;
                reason = Some(text);
                after
            }
            ("", "") => return Err(DirectiveProblem::Form("the closing parenthesis is missing")),
            ("", _) => return Err(DirectiveProblem::Form("between the parentheses stand names of lints")),
            (name, after) => {
                lints.push(known_lint(name, known_lints)?);
                after
            }
        };
        rest = match rest.trim_start() {
            "" => return Err(DirectiveProblem::Form("the closing parenthesis is missing")),
            rest if rest.starts_with(')') => rest,
            rest => rest.strip_prefix(',').ok_or(DirectiveProblem::Form("a comma is missing"))?.trim_start(),
        };
    }
    if lints.is_empty() { Err(DirectiveProblem::Form("it names no lint")) } else { Ok((lints, reason)) }
}

fn known_lint(name: &str, known: &[&str]) -> Result<String, DirectiveProblem> {
    let written = name.replace('-', "_");
    if written == ALL_LINTS || known.contains(&written.as_str()) {
        return Ok(written);
    }
    let near = nearest(name, known.iter().copied()).map(str::to_string);
    Err(DirectiveProblem::UnknownLint { name: name.to_string(), near })
}

/// Text between double quotes, and what follows it. In a Rust string the quotes are still plain: it was decoded before.
fn quoted(text: &str) -> Result<(String, &str), DirectiveProblem> {
    let form = DirectiveProblem::Form("a reason is text in double quotes");
    let Some(rest) = text.trim_start().strip_prefix('"') else { return Err(form) };
    rest.split_once('"').map(|(reason, rest)| (reason.to_string(), rest)).ok_or(form)
}

/// CUDA code with its comments taken out.
struct Code {
    /// As long as the text, with spaces where comments and strings stand.
    blanked: Vec<u8>,
    /// Where `//` comments stand, without their line ends.
    comments: Vec<Range<usize>>,
}

impl Code {
    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut code = Self { blanked: bytes.to_vec(), comments: Vec::new() };
        let mut at = 0;
        while at < bytes.len() {
            let end = match (bytes[at], bytes.get(at + 1)) {
                (b'/', Some(b'/')) => {
                    let end = line_end(bytes, at);
                    code.comments.push(at..end);
                    end
                }
                (b'/', Some(b'*')) => find(bytes, at + 2, b"*/").map_or(bytes.len(), |end| end + 2),
                (b'R', Some(b'"')) if !is_word(bytes, at.wrapping_sub(1)) => raw_string_end(bytes, at),
                (b'"', _) => quote_end(bytes, at),
                // `1'000` has no character literal in it.
                (b'\'', _) if !is_word(bytes, at.wrapping_sub(1)) => quote_end(bytes, at),
                _ => {
                    at += 1;
                    continue;
                }
            };
            code.blank(at..end);
            at = end;
        }
        code
    }

    fn blank(&mut self, range: Range<usize>) {
        self.blanked[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }

    /// Bytes that a comment holds for.
    fn scope_of(&self, comment: &Range<usize>) -> Option<Range<usize>> {
        let line_start = self.blanked[..comment.start].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if !is_blank(&self.blanked[line_start..comment.start]) {
            return Some(line_start..comment.end);
        }
        let next_line = line_end(&self.blanked, comment.end) + 1;
        let code = self.code_after(next_line)?;
        let end = self.end_of_code(code).max(line_end(&self.blanked, code));
        Some(next_line..end)
    }

    /// The next code that is no preprocessor line: `#pragma unroll` belongs to what follows it.
    fn code_after(&self, from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            at += self.blanked.get(at..)?.iter().position(|byte| !byte.is_ascii_whitespace())?;
            if self.blanked[at] != b'#' {
                return Some(at);
            }
            at = line_end(&self.blanked, at);
        }
    }

    fn end_of_code(&self, start: usize) -> usize {
        let mut depth = 0_usize;
        for at in start..self.blanked.len() {
            match self.blanked[at] {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth = depth.saturating_sub(1),
                b';' if depth == 0 => return at + 1,
                b'}' if depth == 0 => return at,
                b'{' if depth == 0 => return self.end_of_block(start, at),
                _ => {}
            }
        }
        self.blanked.len()
    }

    /// The end of what has a block: a loop's header alone, an initializer's statement, else the closing brace.
    fn end_of_block(&self, start: usize, open: usize) -> usize {
        const CONTROL: [&[u8]; 7] = [b"for", b"while", b"if", b"else", b"do", b"switch", b"try"];
        let head = &self.blanked[start..open];
        let word_length =
            head.iter().position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_')).unwrap_or(head.len());
        if CONTROL.contains(&&head[..word_length]) || head.is_empty() {
            return open;
        }
        let close = self.closing_brace(open);
        match head.trim_ascii_end().last() {
            Some(b'=') => self.end_of_code(close),
            _ => close,
        }
    }

    fn closing_brace(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for at in open..self.blanked.len() {
            match self.blanked[at] {
                b'{' => depth += 1,
                b'}' if depth <= 1 => return at + 1,
                b'}' => depth -= 1,
                _ => {}
            }
        }
        self.blanked.len()
    }
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}

fn is_word(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    find(bytes, from, b"\n").unwrap_or(bytes.len())
}

fn find(bytes: &[u8], from: usize, wanted: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes.get(from..)?, wanted).map(|at| from + at)
}

/// Behind a string or character literal, which ends with its line at the latest.
fn quote_end(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'\n' => return at,
            byte if byte == bytes[open] => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Behind `R"x(…)x"`.
fn raw_string_end(bytes: &[u8], start: usize) -> usize {
    let open = start + 2;
    let Some(parenthesis) = find(bytes, open, b"(").filter(|at| at - open <= 16) else {
        return quote_end(bytes, start + 1);
    };
    let close = [b")", &bytes[open..parenthesis], b"\""].concat();
    find(bytes, parenthesis, &close).map_or(bytes.len(), |at| at + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;

    const KNOWN: &[&str] = &["dynamic_index", "register_spill"];

    fn read(text: &str) -> Directives {
        let mut directives = Directives::default();
        directives.read(&MappedText::from_file(&SourceFile::from_text("a.cu", text)), KNOWN);
        directives
    }

    /// What the only directive holds for.
    fn scope(text: &str) -> String {
        let directives = read(text);
        assert_eq!(directives.errors(), [], "{text}");
        directives.get(0).unwrap().scope.text().to_string()
    }

    fn error(text: &str) -> String {
        let directives = read(text);
        assert!(directives.get(0).is_none(), "{text}");
        directives.errors()[0].to_string()
    }

    #[test]
    fn lints_and_reason_are_read() {
        let directives = read("// lmem: allow(dynamic_index, register-spill, reason = \"cold, (really)\")\nx;\n");
        let directive = directives.get(0).unwrap();
        assert_eq!(directive.lints, ["dynamic_index", "register_spill"]);
        assert_eq!(directive.reason.as_deref(), Some("cold, (really)"));
        assert_eq!(directive.span.line_column(), (1, 1));
        assert!(read("//lmem:allow( warnings , )\nx;").get(0).is_some());
    }

    #[test]
    fn trailing_comments_hold_for_their_line() {
        assert_eq!(scope("a;\n  b; // lmem: allow(dynamic_index)\nc;"), "  b; // lmem: allow(dynamic_index)");
        assert_eq!(
            scope("f(\"// no\", '\"', 1'000); // lmem: allow(dynamic_index)\nc;"),
            "f(\"// no\", '\"', 1'000); // lmem: allow(dynamic_index)"
        );
    }

    #[test]
    fn comments_alone_hold_for_what_follows() {
        let follows = |code: &str| scope(&format!("  // lmem: allow(dynamic_index)\n{code}"));
        assert_eq!(follows("  a[i] =\n    b;\nc;"), "  a[i] =\n    b;");
        assert_eq!(follows("float t[2] = {1, 2}, u = 3;\nc;"), "float t[2] = {1, 2}, u = 3;");
        assert_eq!(follows("float t[] = {\n1,\n2};\nc;"), "float t[] = {\n1,\n2};");
        let kernel = "template <int N>\n__global__ void f(float* a) {\n  if (a) { g(\"}\"); } // }\n}";
        assert_eq!(follows(&format!("{kernel}\nvoid g() {{}}")), kernel);
        assert_eq!(follows("struct A { int a; };\n"), "struct A { int a; };");
        assert_eq!(
            follows("#pragma unroll\nfor (int i = 0; i < 4; ++i) {\n  x;\n}"),
            "#pragma unroll\nfor (int i = 0; i < 4; ++i) {"
        );
        assert_eq!(follows("// why\n\n/* more {\n */\na;\nb;"), "// why\n\n/* more {\n */\na;");
        assert_eq!(follows("  return x }\nb;"), "  return x }");
        assert_eq!(follows("extern \"C\" __global__ void f() {\n}\nint b;"), "extern \"C\" __global__ void f() {\n}");
        assert_eq!(follows("R\"x(} \" )x\" + f() {\n}\nb;"), "R\"x(} \" )x\" + f() {\n}");
    }

    #[test]
    fn wrong_directives_are_errors() {
        let message = |words: &str| error(&format!("// lmem: {words}\nx;"));
        assert_eq!(message("deny(dynamic_index)"), "`deny` is no directive; known are `allow`");
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
        assert!(message("").contains("is no directive"));
        assert!(error("// lmem: allow(dynamic_index)\n  \n").contains("no code"));
        assert!(read("// lmem allow(dynamic_index)\nx;").get(0).is_some());
        let silent = read("// lmem is slow\n/* lmem: deny */ \"// lmem: deny\"");
        assert!(silent.errors().is_empty() && silent.get(0).is_none());
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
        assert_eq!(directives.covers(&at(2), "dynamic_index"), Some(0));
        assert_eq!(directives.covers(&at(2), "other"), None);
        assert_eq!(directives.covers(&at(3), "other"), Some(1));
        assert_eq!(directives.covers(&at(4), "dynamic_index"), None);
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
        let scope = &directives.get(0).unwrap().scope;
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
