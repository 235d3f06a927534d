//! Numbers of lines that device code computes with: `out[t] = __LINE__`. An edit that adds or removes lines changes those
//! behind it, and with them what a kernel writes.
//!
//! In host code, and in `assert`, a line's number is for messages, which should name the line of the text as it is.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Node};
use cuda_syntax::identifiers::{identifiers, occurrences};
use cuda_syntax::tree::enclosing_function;
use lmem_base::diagnostic::{Edit, Suggestion};
use lmem_base::source::SourceFile;
use lmem_unit::{CompiledUnit, MappedText, UnitCode};

use super::subjects::{Subject, reads};

/// What gives the number of the line that it stands on, or of the line of a call.
const WORDS: [&str; 4] = ["__LINE__", "__builtin_LINE", "__builtin_COLUMN", "source_location"];

/// Whether no code of the units that read an edit computes with the number of a line that the edit moves.
pub fn keeps_line_numbers(suggestion: &Suggestion, readers: &[&Subject<'_>]) -> bool {
    let mut moving = suggestion.edits.iter().filter(|edit| moves_lines(edit));
    moving.all(|edit| readers.iter().filter(|subject| reads(subject, edit)).all(|subject| !is_counted(edit, subject)))
}

/// Whether an edit adds or removes lines; in Rust code also lines that escapes stand for.
fn moves_lines(edit: &Edit) -> bool {
    let lines = |text: &str| text.matches('\n').count() + text.matches("\\n").count();
    lines(edit.span.text()) != lines(&edit.replacement)
}

fn is_counted(edit: &Edit, subject: &Subject<'_>) -> bool {
    let has_words = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    match &subject.unit.code {
        UnitCode::CudaText { text, .. } => has_words(text.as_str(), &WORDS),
        UnitCode::CudaFile { .. } => {
            let compiled = subject.compiled();
            let file = &edit.span.file;
            // A header's function may have the line of its caller as a default argument.
            let beside = compiled.declared_beside(file);
            WORDS[1..].iter().any(|word| beside.contains(*word))
                || has_words(file.text(), &WORDS[1..])
                || expands_to_line(&compiled, file, edit.span.start)
        }
        UnitCode::Ptx { .. } | UnitCode::Machine(_) => false,
    }
}

/// Whether a macro behind an offset became the number of its line, in device code or outside of functions.
fn expands_to_line(compiled: &CompiledUnit<'_>, file: &Arc<SourceFile>, offset: usize) -> bool {
    let (text, of_file) = (file.text(), compiled.file(file));
    let line_of = |at: usize| 1 + text.get(..at).map_or(0, |before| before.matches('\n').count());
    let found: Vec<Range<usize>> = of_file
        .differences()
        .filter(|difference| difference.start >= offset)
        .filter(|difference| {
            // Lines are counted where there is a number alone.
            if !difference.compiled.split(' ').any(|token| token.parse::<usize>().is_ok()) {
                return false;
            }
            let own = text.get(difference.start..difference.end).unwrap_or("");
            let written = lines_at(text, difference.start..difference.end);
            let lines = line_of(difference.start)..=line_of(difference.end);
            let is_new = |token: &str| occurrences(written, token).next().is_none();
            let is_line = |token: &str| token.parse().is_ok_and(|number: usize| lines.contains(&number));
            // `BLOCK` in line 128: elsewhere it is the same number.
            let is_constant = || {
                let mut others = of_file.expansions(text, own).filter(|other| other.start != difference.start);
                others.any(|other| other.compiled == difference.compiled)
            };
            difference.compiled.split(' ').any(|token| is_line(token) && is_new(token))
                && !is_constant()
                && !is_asserted(written)
        })
        .map(|difference| difference.start..difference.end)
        .collect();
    if found.is_empty() {
        return false;
    }
    let tree = SyntaxTree::new(MappedText::from_file(file), of_file);
    found.into_iter().any(|range| !is_of_host(&tree, range.start) && !has_no_line(&tree, range))
}

/// Whether macros of the text alone stand for a range, and none of them names the line: `#define ROT(x) ((x) << 3 | (x) >> 29)`
/// in line 29.
fn has_no_line(tree: &SyntaxTree, range: Range<usize>) -> bool {
    let Some(written) = tree.text().get(range.clone()) else { return false };
    let compiled = tree.compiled().compiled(tree.text(), range).unwrap_or_default();
    let mut open: Vec<&str> = identifiers(written).collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    while let Some(word) = open.pop() {
        if WORDS.contains(&word) {
            return false;
        }
        if !seen.insert(word) {
            continue;
        }
        let definitions: Vec<Node<'_>> = tree.macros_named(word).collect();
        // What is no macro of the text may be one of a header, unless it is still there.
        if definitions.is_empty() && occurrences(&compiled, word).next().is_none() {
            return false;
        }
        for definition in definitions {
            let parameters = definition.field(Field::Parameters).map_or("", |it| tree.slice(it));
            let value = definition.field(Field::Value).map_or("", |it| tree.slice(it));
            open.extend(identifiers(value).filter(|own| occurrences(parameters, own).next().is_none()));
        }
    }
    true
}

/// The lines around a range.
fn lines_at(text: &str, range: Range<usize>) -> &str {
    let start = text.get(..range.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let end = text.get(range.end..).and_then(|rest| rest.find('\n')).map_or(text.len(), |at| range.end + at);
    text.get(start..end).unwrap_or("")
}

/// Whether lines assert something. What is expanded may begin behind the word.
fn is_asserted(lines: &str) -> bool {
    ["assert(", "static_assert"].iter().any(|word| lines.contains(word))
}

/// Whether an offset is in a function that only the host runs.
fn is_of_host(tree: &SyntaxTree, offset: usize) -> bool {
    let Some(function) = tree.node_at(offset).and_then(enclosing_function) else { return false };
    let body = function.field(Field::Body).map_or(function.end_byte(), |body| body.start_byte());
    let head = tree.compiled().compiled(tree.text(), function.start_byte()..body);
    // nvcc's headers define the words as attributes.
    const OF_DEVICE: [&str; 5] = ["__device__", "__global__", "device )", "global )", "constexpr"];
    head.is_some_and(|head| !OF_DEVICE.iter().any(|word| head.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::diagnostic::FlagOrigin;
    use lmem_base::source::Span;
    use lmem_unit::{AsCompiled, NvccFlags, TranslationUnit};

    /// Whether a line that is inserted in front of `text` is counted by it; the preprocessor's output follows.
    fn counted(text: &str, preprocessed: &str) -> bool {
        let file = SourceFile::from_text("/w/a.cu", text);
        let marked = format!("# 1 \"/w/a.cu\"\n{preprocessed}");
        let files = AsCompiled::new(&marked, std::path::Path::new("/w"), &|_| true, &|_| Some(text.to_string()));
        let flags = NvccFlags::new(Vec::new(), FlagOrigin::Config);
        let unit = TranslationUnit {
            name: "a.cu".into(),
            package: None,
            base: "/w".into(),
            code: UnitCode::CudaFile { file: Arc::clone(&file), flags },
            use_site: None,
            included_at: None,
            launches: Vec::new(),
            shared: Vec::new(),
        };
        expands_to_line(&CompiledUnit { unit: &unit, files: &files, dependencies: &[] }, &file, 0)
    }

    #[test]
    fn numbers_of_lines_in_device_code_count() {
        let kernel = |value: &str| format!("\n__global__ void k(int *out) {{ out[0] = {value}; }}\n");
        assert!(counted(&kernel("__LINE__"), &kernel("2")));
        let expanded = kernel("2").replace("__global__", "__attribute__((global))");
        assert!(counted(&kernel("__LINE__"), &expanded));
        assert!(!counted(&kernel("BLOCK"), &kernel("128")));
        let bounded = |words: &str| format!("\n__global__ void {words} k(int *out) {{ out[0] = 1; }}\n");
        assert!(!counted(&bounded("__maxnreg__(2)"), &bounded("__attribute__((maxnreg(2)))")));
        let twice = |value: &str| format!("\n__global__ void k(int *out) {{ out[0] = {value};\nout[1] = {value}; }}\n");
        assert!(!counted(&twice("TWO"), &twice("2")));
        let host = |value: &str| format!("\nvoid h() {{ report({value}); }}\n");
        assert!(!counted(&host("__LINE__"), &host("2")));
        let asserted = |value: &str| format!("\n__global__ void k(int n) {{ {value}; }}\n");
        assert!(!counted(&asserted("assert(n)"), &asserted("n ? 0 : fail(\"n\", 2)")));
        assert!(counted(&asserted("CHECK(n)"), &asserted("n ? 0 : fail(\"n\", 2)")));
        // In line 3, with numbers of their own and with that of the line.
        let defined = |value: &str, define: &str, kernel: &str| {
            let text = format!("\n{define}\n__global__ void k(int *out, int x) {{ out[0] = {value}; }}\n");
            counted(&text, &format!("\n\n__global__ void k(int *out, int x) {{ out[0] = {kernel}; }}\n"))
        };
        assert!(!defined("ROT(x)", "#define ROT(y) ((y) << 3)", "((x) << 3)"));
        assert!(defined("LINE(x)", "#define LINE(y) ((y) + __LINE__)", "((x) + 3)"));
        assert!(defined("LINE(x)", "#define LINE(y) ((y) + HERE)", "((x) + 3)"));
    }

    #[test]
    fn lines_are_moved_by_what_adds_some() {
        let file = SourceFile::from_text("a.cu", "a b");
        let edit = |replacement: &str| Edit::alone(Span::new(&file, 0..1), replacement);
        assert!(moves_lines(&edit("x\ny")) && moves_lines(&edit("x\\ny")) && !moves_lines(&edit("x y")));
    }
}
