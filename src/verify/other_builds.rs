//! Code that another build of an edited file has: below `#if`, and behind macros that a condition defines.
//!
//! What was compiled says nothing of it. An edit that shares a word with such code may be wrong there, and is for programmers to review.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cuda_syntax::identifiers::identifiers;
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_unit::{TokenKind, each_token};

use super::hidden::is_common;

/// Words of code whose value depends on lines.
const LINES: [&str; 2] = ["__LINE__", "source_location"];

/// The conditions of the files that are edited. Each suggestion asks, and a file may have thousands.
#[derive(Default)]
pub(super) struct OtherBuilds(HashMap<PathBuf, Rc<[Condition]>>);

/// Code below an `#if`, from there to behind its `#endif`.
struct Condition {
    range: Range<usize>,
    words: BTreeSet<String>,
    /// Whether it has words whose value depends on lines.
    counts_lines: bool,
    /// Whether it ends within a declaration.
    is_open: bool,
}

impl OtherBuilds {
    /// Leaves a suggestion that other builds may make something else of to review.
    pub(super) fn review(&mut self, suggestion: &mut Suggestion) {
        if suggestion.applicability != Applicability::MachineApplicable {
            return;
        }
        if let Some(line) = self.line_of_other_code(&suggestion.edits) {
            suggestion.applicability = Applicability::MaybeIncorrect;
            suggestion.title = format!("{}; line {line} differs in other builds", suggestion.title);
        }
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
        if let Some(known) = self.0.get(path) {
            return Rc::clone(known);
        }
        let condition = |range: Range<usize>| {
            let code = text.get(range.clone()).unwrap_or("");
            let of_item = item_around(text, range.start).into_iter();
            let words = words(code).into_iter().chain(of_item).map(str::to_string).collect();
            let own = each_token(code).filter(|token| token.kind != TokenKind::Directive).last();
            let is_open = own.is_some_and(|last| !matches!(code.get(last.range), Some(";" | "}")));
            Condition { range, words, counts_lines: LINES.iter().any(|word| code.contains(word)), is_open }
        };
        let found: Rc<[Condition]> = conditions(text).into_iter().map(condition).collect();
        self.0.insert(path.to_path_buf(), Rc::clone(&found));
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

/// The words before the brace of the outermost item around an offset, without parameters: the names of a function or a class.
fn item_around(text: &str, offset: usize) -> Vec<&str> {
    let (mut braces, mut round) = (Vec::new(), 0_i64);
    let (mut head, mut found): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for token in each_token(text).take_while(|token| token.range.start < offset) {
        let word = text.get(token.range).unwrap_or("");
        match word {
            "(" => round += 1,
            ")" => round -= 1,
            "{" => {
                // What stands in a namespace is an item, too.
                let is_outer = head.contains(&"namespace") || head.contains(&"extern");
                if braces.iter().all(|is_outer| *is_outer) && !is_outer {
                    found = head.clone();
                }
                braces.push(is_outer);
                head.clear();
            }
            "}" => {
                braces.pop();
                head.clear();
            }
            ";" => head.clear(),
            _ if round == 0 && token_is_name(word) => head.push(word),
            _ => {}
        }
        if braces.iter().all(|is_outer| *is_outer) {
            found.clear();
        }
    }
    found.retain(|word| !is_common(word));
    found
}

fn token_is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// The outermost conditions of a text, from their `#if` to behind their `#endif`, but for the guard of a header.
fn conditions(text: &str) -> Vec<Range<usize>> {
    if !text.contains("#") {
        return Vec::new();
    }
    let directives = each_token(text).filter(|token| token.kind == TokenKind::Directive);
    let directives: Vec<(Range<usize>, &str)> =
        directives.map(|token| (token.range.clone(), text.get(token.range).unwrap_or(""))).collect();
    let name = |directive: &str| {
        let rest = directive.trim_start_matches('#').trim_start();
        rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("").to_string()
    };
    let (mut found, mut open): (Vec<Range<usize>>, Vec<usize>) = (Vec::new(), Vec::new());
    let guard = usize::from(has_guard(text, &directives));
    for (range, directive) in &directives {
        match name(directive).as_str() {
            "if" | "ifdef" | "ifndef" => open.push(range.start),
            "endif" => {
                let start = open.pop();
                found.extend(start.filter(|_| open.len() == guard).map(|start| start..range.end));
            }
            _ => {}
        }
    }
    found
}

/// Whether a text begins with `#ifndef NAME` and `#define NAME`, before any code.
fn has_guard(text: &str, directives: &[(Range<usize>, &str)]) -> bool {
    let Some([(first, condition), (_, definition)]) = directives.first_chunk::<2>() else { return false };
    let words = |directive: &str| -> Vec<String> {
        directive.trim_start_matches('#').split_whitespace().map(str::to_string).collect()
    };
    let (condition, definition) = (words(condition), words(definition));
    let is_first = each_token(text).next().is_some_and(|token| token.range.start == first.start);
    is_first
        && condition.first().is_some_and(|word| word == "ifndef")
        && definition.first().is_some_and(|word| word == "define")
        && definition.len() == 2
        && condition.get(1) == definition.get(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::source::{SourceFile, Span};

    /// The line of other code for an edit of `seen` in the function that begins at `(int n`.
    fn line(text: &str) -> Option<usize> {
        let file = SourceFile::from_text("a.cu", text);
        let start = text.find("(int n").unwrap();
        let end = text[start..].find("}\n").map_or(text.len(), |at| start + at + 1);
        let at = start + text[start..].find("seen").unwrap();
        let edit =
            Edit { context: Span::new(&file, start..end), ..Edit::alone(Span::new(&file, at..at + 4), "bits\n") };
        OtherBuilds::default().line_of_other_code(&[edit])
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
        let inner = format!("#ifndef A_H\n#define A_H\n#if B\n#define MOST 8\n#endif\n{function}#endif\n");
        assert_eq!(line(&inner), Some(3));
    }
}
