//! Code that another build of an edited file has: below `#if`, and behind macros that a condition defines.
//!
//! What was compiled says nothing of it. An edit that shares a word with such code may be wrong there, and is for programmers to review.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use cuda_syntax::identifiers::identifiers;
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::source::SourceFile;
use lmem_unit::{TokenKind, directive_name, each_token};

use super::hidden::is_common;

/// Words of code whose value depends on lines.
const LINES: [&str; 2] = ["__LINE__", "source_location"];

/// The conditions of the files that are edited, and the names that their headers define below some. Each suggestion asks, and a file may
/// have thousands.
pub(super) struct OtherBuilds<'a> {
    header: Header<'a>,
    conditions: HashMap<PathBuf, Rc<[Condition]>>,
    defined: HashMap<PathBuf, Rc<BTreeSet<String>>>,
}

/// Code below an `#if`, from there to behind its `#endif`; what stands below another one in it belongs to that.
struct Condition {
    range: Range<usize>,
    /// Those of the code, and those that name the outermost function or class around it.
    words: BTreeSet<String>,
    /// Whether it has words whose value depends on lines.
    counts_lines: bool,
    /// Whether it ends within a declaration.
    is_open: bool,
}

/// Gives the text of a header of the user's.
pub type Header<'a> = &'a dyn Fn(&Path) -> Option<Arc<SourceFile>>;

impl<'a> OtherBuilds<'a> {
    pub(super) fn new(header: Header<'a>) -> Self {
        Self { header, conditions: HashMap::new(), defined: HashMap::new() }
    }

    /// Leaves a suggestion that other builds may make something else of to review, and says in its title where. So it does of one
    /// that is for review anyway, and was let pass beside such code.
    pub(super) fn review<'h>(&mut self, suggestion: &mut Suggestion, headers: impl Iterator<Item = &'h Path>) {
        let line = self.line_of_other_code(&suggestion.edits).map(|line| format!("line {line}"));
        if let Some(what) = line.or_else(|| Some(format!("`{}`", self.name_of_headers(&suggestion.edits, headers)?))) {
            suggestion.applicability = suggestion.applicability.max(Applicability::MaybeIncorrect);
            suggestion.title = format!("{}; {what} differs in other builds", suggestion.title);
        }
    }

    /// The first name of the edited code that a header defines below a condition.
    fn name_of_headers<'h>(&mut self, edits: &[Edit], headers: impl Iterator<Item = &'h Path>) -> Option<String> {
        let is_bare = |edit: &&Edit| edit.context == edit.span;
        let texts = edits.iter().filter(|edit| !is_bare(edit));
        let texts = texts.map(|edit| edit.span.file.text().get(edit.context.range()).unwrap_or(""));
        let words: BTreeSet<&str> = texts.flat_map(identifiers).collect();
        let headers: BTreeSet<&Path> = headers.collect();
        headers.into_iter().find_map(|path| {
            let defined = self.defined_in(path);
            words.iter().find(|word| defined.contains(**word)).map(|word| (*word).to_string())
        })
    }

    fn defined_in(&mut self, path: &Path) -> Rc<BTreeSet<String>> {
        let header = self.header;
        let find = || header(path).map(|file| defined_below_conditions(file.text()));
        let known = self.defined.entry(path.to_path_buf()).or_insert_with(|| find().unwrap_or_default().into());
        Rc::clone(known)
    }

    /// The line of the first condition whose code may matter to edits.
    fn line_of_other_code(&mut self, edits: &[Edit]) -> Option<usize> {
        let moves = edits.iter().any(|edit| lines(edit.span.text()) != lines(&edit.replacement));
        let mut seen: Vec<&Edit> = Vec::new();
        for edit in edits {
            // What depends on its position alone is right in all builds. Conditions of Rust code are others.
            let is_of_rust = edit.span.file.path.extension().is_some_and(|extension| extension == "rs");
            if edit.context == edit.span || is_of_rust || seen.iter().any(|other| other.context == edit.context) {
                continue;
            }
            seen.push(edit);
            let text = edit.span.file.text();
            let conditions = self.of(&edit.span.file.path, text);
            if conditions.is_empty() {
                continue;
            }
            let context = with_head(text, edit.context.range());
            let mut words = words(text.get(context.clone()).unwrap_or(""));
            let name = text.get(context.start..edit.context.start).and_then(|head| identifiers(head).last());
            // Indices have names of one letter, and so has what is indexed everywhere.
            words
                .retain(|word| Some(*word) == name || word.len() > 1 || word.bytes().all(|it| it.is_ascii_uppercase()));
            let matters = |condition: &&Condition| {
                let Range { start, end } = condition.range;
                // All of a file may stand below a condition.
                let is_around = start < context.start && context.end < end;
                let is_before =
                    condition.is_open && text.get(end..context.start).is_some_and(|gap| gap.trim().is_empty());
                let is_inside = is_before || (context.start <= start && start < context.end);
                let shares = || words.iter().any(|word| condition.words.contains(*word));
                !is_around && (is_inside || shares() || (moves && condition.counts_lines))
            };
            if let Some(condition) = conditions.iter().find(matters) {
                return Some(1 + lines(text.get(..condition.range.start).unwrap_or("")));
            }
        }
        None
    }

    fn of(&mut self, path: &Path, text: &str) -> Rc<[Condition]> {
        if let Some(known) = self.conditions.get(path) {
            return Rc::clone(known);
        }
        let found: Rc<[Condition]> = conditions(text).into();
        self.conditions.insert(path.to_path_buf(), Rc::clone(&found));
        found
    }
}

fn lines(text: &str) -> usize {
    text.matches('\n').count()
}

/// A function with what stands before its parameters.
fn with_head(text: &str, context: Range<usize>) -> Range<usize> {
    let before = text.get(..context.start).unwrap_or("");
    let ends = |line: &&str| line.contains([';', '}']) || line.trim_start().starts_with('#');
    let head: usize = before.split_inclusive('\n').rev().take_while(|line| !ends(line)).map(str::len).sum();
    context.start - head..context.end
}

/// The words that belong to somebody.
fn words(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for token in each_token(text) {
        let word = text.get(token.range.clone()).unwrap_or("");
        match token.kind {
            TokenKind::Identifier => _ = found.insert(word),
            TokenKind::Directive => found.extend(identifiers(word)),
            _ => {}
        }
    }
    found.retain(|word| !is_common(word));
    found
}

/// The conditions of a text, in order.
fn conditions(text: &str) -> Vec<Condition> {
    let (mut found, mut open): (Vec<Condition>, Vec<Condition>) = (Vec::new(), Vec::new());
    let (mut item, mut last) = (Item::default(), None);
    for token in each_token(if text.contains('#') { text } else { "" }) {
        let word = text.get(token.range.clone()).unwrap_or("");
        let is_directive = token.kind == TokenKind::Directive;
        let directive = if is_directive { directive_name(word) } else { "" };
        if matches!(directive, "if" | "ifdef" | "ifndef") {
            let words = item.names.iter().map(ToString::to_string).collect();
            open.push(Condition { range: token.range.clone(), words, counts_lines: false, is_open: false });
        }
        if let Some(condition) = open.last_mut() {
            condition.counts_lines |= LINES.iter().any(|line| word.contains(line));
            condition.words.extend(words(word).into_iter().map(str::to_string));
        }
        match directive {
            "endif" => found.extend(open.pop().map(|it| {
                let is_open = last.is_some_and(|(at, word)| at > it.range.start && !matches!(word, ";" | "}"));
                Condition { range: it.range.start..token.range.end, is_open, ..it }
            })),
            _ if is_directive => {}
            _ => {
                item.step(word);
                last = Some((token.range.start, word));
            }
        }
    }
    found.sort_by_key(|condition| condition.range.start);
    found
}

/// The names that a header gives a value below a condition, so that other builds may give them another: macros, constants and types. What
/// stands between its own guard stands below none.
fn defined_below_conditions(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut once = BTreeSet::new();
    // By open condition: whether it is the guard of the file.
    let mut open: Vec<bool> = Vec::new();
    let (mut guard, mut is_first, mut last) = (None, true, "");
    let mut is_type = false;
    for token in each_token(if text.contains('#') { text } else { "" }) {
        let word = text.get(token.range.clone()).unwrap_or("");
        let is_conditional = open.contains(&false);
        if token.kind == TokenKind::Directive {
            let name = identifiers(word).nth(1);
            match directive_name(word) {
                directive @ ("if" | "ifdef" | "ifndef") => {
                    // `#ifndef A_H`, and next `#define A_H`
                    guard = name.filter(|_| is_first && directive == "ifndef");
                    open.push(false);
                }
                "define" => {
                    let Some(name) = name else { continue };
                    // `#ifndef MOST`, `#define MOST 8` is none, nor is one that ends before the file does.
                    let is_empty = word.trim_end().ends_with(name);
                    if guard.take() == Some(name) && is_empty && is_around_rest(text, token.range.end) {
                        open = vec![true];
                    } else if is_conditional || !once.insert(name.to_string()) {
                        found.insert(name.to_string());
                    }
                }
                "else" | "elif" => {
                    if let Some(is_guard) = open.last_mut() {
                        *is_guard = false;
                    }
                }
                "endif" => _ = open.pop(),
                _ => {}
            }
        } else if is_conditional {
            match word {
                "=" | "{" if is_name(last) => _ = found.insert(last.to_string()),
                ";" if is_type && is_name(last) => _ = found.insert(last.to_string()),
                _ => {}
            }
            is_type = word == "typedef" || is_type && word != ";";
        }
        is_first = is_first && (token.kind == TokenKind::Directive && directive_name(word) == "pragma");
        last = word;
    }
    found
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !is_common(word)
}

/// Whether the condition that is open at a place ends with the file.
fn is_around_rest(text: &str, from: usize) -> bool {
    let text = text.get(from..).unwrap_or("");
    let mut depth = 1_usize;
    for token in each_token(text) {
        let word = text.get(token.range.clone()).unwrap_or("");
        let directive = if token.kind == TokenKind::Directive { directive_name(word) } else { "" };
        if depth == 0 && !word.trim().is_empty() {
            return false;
        }
        match directive {
            "if" | "ifdef" | "ifndef" => depth += 1,
            "endif" => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    true
}

/// The outermost function or class around a place.
#[derive(Default)]
struct Item<'t> {
    /// Whether each brace around the place is that of a namespace: what stands in one is outermost, too.
    braces: Vec<bool>,
    /// How many are not.
    inner: usize,
    /// Parentheses that are open.
    round: i64,
    /// The words of the declaration that is read, without parameters.
    head: Vec<&'t str>,
    /// The words before the item's brace; none outside of items.
    names: Vec<&'t str>,
}

impl<'t> Item<'t> {
    fn step(&mut self, word: &'t str) {
        match word {
            "(" => self.round += 1,
            ")" => self.round -= 1,
            "{" => {
                let is_namespace = self.head.contains(&"namespace") || self.head.contains(&"extern");
                if self.inner == 0 && !is_namespace {
                    self.names = std::mem::take(&mut self.head);
                    self.names.retain(|word| !is_common(word));
                }
                self.braces.push(is_namespace);
                self.inner += usize::from(!is_namespace);
                self.head.clear();
            }
            "}" => {
                self.inner -= usize::from(self.braces.pop() == Some(false));
                self.head.clear();
                if self.inner == 0 {
                    self.names.clear();
                }
            }
            ";" => self.head.clear(),
            _ if self.round == 0 && word.starts_with(|c: char| c.is_alphabetic() || c == '_') => self.head.push(word),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::source::Span;

    /// The line of other code for an edit of `seen` in the function that begins at `(int n`.
    fn line(text: &str) -> Option<usize> {
        let file = SourceFile::from_text("a.cu", text);
        let start = text.find("(int n").unwrap();
        let end = text[start..].find("}\n").map_or(text.len(), |at| start + at + 1);
        let at = start + text[start..].find("seen").unwrap();
        let edit =
            Edit { context: Span::new(&file, start..end), ..Edit::alone(Span::new(&file, at..at + 4), "bits\n") };
        OtherBuilds::new(&|_| None).line_of_other_code(&[edit])
    }

    #[test]
    fn names_that_headers_define_below_conditions() {
        for (text, expected) in [
            ("#ifndef A_H\n#define A_H\n#define MOST 8\nconstexpr int less = 3;\n#endif\n", &[][..]),
            ("#pragma once\n#define MOST 8\n", &[]),
            ("#ifndef MOST\n#define MOST 8\n#endif\n", &["MOST"]),
            ("#pragma once\n#ifndef MOST\n#define MOST 8\n#endif\nvoid f();\n", &["MOST"]),
            (
                "#ifndef A_H\n#define A_H\n#ifdef BIG\n#define MOST 100\n#else\n#define MOST 8\n#endif\n#endif\n",
                &["MOST"],
            ),
            ("#ifdef BIG\nconstexpr int most = 100;\n#else\nconstexpr int most{8};\n#endif\n", &["most"]),
            ("#ifdef BIG\ntypedef long word;\n#else\nusing word = int;\n#endif\n", &["word"]),
            ("#define MOST 8\n#undef MOST\n#define MOST 9\n", &["MOST"]),
        ] {
            assert_eq!(defined_below_conditions(text).into_iter().collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn code_of_other_builds_that_shares_a_word_matters() {
        let function = "__global__ void k(int n) { bool seen[MOST]; use(seen, n); }\n";
        for (before, expected) in [
            ("", None),
            ("#define MOST 8\n", None),
            ("#ifdef LARGE\n#define MOST 16\n#else\n#define MOST 8\n#endif\n", Some(1)),
            ("\n#ifndef MOST\n#define MOST 8\n#endif\n", Some(2)),
            ("#if A\n__device__ void use(bool* f, int n) { f[n] = 1; }\n#endif\n", Some(1)),
            ("#if A\nvoid other(float* p, int n) { p[n] = 1; }\n#endif\n", None),
            ("#if A\nint count() { return __LINE__; }\n#endif\n", Some(1)),
            ("#if A\ntemplate <> __global__ void k(int);\n#endif\n", Some(1)),
        ] {
            assert_eq!(line(&format!("{before}{function}")), expected, "{before}");
        }
        assert_eq!(line("__global__ void k(int n) { bool seen[8];\n#if A\n g();\n#endif\n }\n"), Some(2));
        // The guard of a header, and a condition around all of it.
        let guarded = format!("#ifndef A_H\n#define A_H\n#define MOST 8\n{function}#endif\n");
        assert_eq!(line(&guarded), None);
        assert_eq!(line(&format!("#if CUDA\n#define MOST 8\n{function}#endif\n")), None);
        let nested = format!("#if CUDA\n#ifdef LARGE\n#define MOST 16\n#endif\n{function}#endif\n");
        assert_eq!(line(&nested), Some(2));
        let inner = format!("#ifndef A_H\n#define A_H\n#if B\n#define MOST 8\n#endif\n{function}#endif\n");
        assert_eq!(line(&inner), Some(3));
    }
}
