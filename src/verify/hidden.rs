//! Edits beside code that macros hide.
//!
//! `STEP();` may read and write any variable of the function. An edit is right beside it if it shares no name with what it
//! becomes: what the edit removes, brings in, or has in a condition; nor a name for the same memory.

use std::collections::BTreeSet;

use lmem_base::diagnostic::Edit;
use lmem_base::diff;
use lmem_unit::{HiddenCode, Token, TokenKind, tokens};

/// Words that belong to nobody: types, qualifiers and CUDA's variables.
const COMMON: [&str; 27] = [
    "__restrict__",
    "__shared__",
    "auto",
    "blockDim",
    "blockIdx",
    "bool",
    "char",
    "const",
    "constexpr",
    "double",
    "false",
    "float",
    "gridDim",
    "int",
    "long",
    "short",
    "signed",
    "sizeof",
    "size_t",
    "static",
    "static_cast",
    "struct",
    "threadIdx",
    "true",
    "unsigned",
    "void",
    "volatile",
];

/// Words of directives, and further ones that all code has.
const DIRECTIVES: [&str; 18] = [
    "break", "continue", "define", "defined", "else", "endif", "elif", "error", "ifdef", "ifndef", "include", "inline",
    "pragma", "return", "template", "typename", "undef", "using",
];

/// Words of statements that decide what is executed. All that stands beside them matters.
const CONTROL: [&str; 8] = ["?", "&&", "||", "do", "for", "if", "switch", "while"];

/// Whether a word belongs to nobody.
pub(super) fn is_common(word: &str) -> bool {
    COMMON.contains(&word) || CONTROL.contains(&word) || DIRECTIVES.contains(&word) || word.starts_with("__")
}

/// The names that matter to edits.
pub(super) struct Concerned {
    names: BTreeSet<String>,
    /// All words of the edits, also those that stay.
    written: BTreeSet<String>,
}

impl Concerned {
    pub(super) fn of(edits: &[Edit]) -> Self {
        let mut names: BTreeSet<String> = edits.iter().flat_map(names).collect();
        for context in edits.iter().map(|edit| edit.context.text()).collect::<BTreeSet<_>>() {
            add_aliases(&mut names, context);
        }
        let all = edits.iter().flat_map(|edit| words(edit.span.text()).into_iter().chain(words(&edit.replacement)));
        Self { names, written: all.map(str::to_string).collect() }
    }

    /// The first hidden code that has one of them, as it is written or as it was compiled. A macro that is an operand may be
    /// no part of an edit: among other operators, it may be more than one operand.
    pub(super) fn first_in<'h>(&self, hidden: &'h [HiddenCode]) -> Option<&'h HiddenCode> {
        let is_written = |code: &HiddenCode| code.is_operand && self.written.contains(&code.name);
        hidden.iter().find(|code| is_written(code) || code.words.iter().any(|word| self.names.contains(word)))
    }
}

/// Adds the pointers and references that are made of what has one of the names: `float *row = bins;`.
fn add_aliases(names: &mut BTreeSet<String>, text: &str) {
    let all = tokens(text);
    let words = all.iter().filter(|it| it.kind != TokenKind::Directive).map(|it| &text[it.range.clone()]);
    let words: Vec<&str> = words.collect();
    let declared: BTreeSet<usize> = (1..words.len()).filter(|at| is_pointer_declared(&words, *at)).collect();
    let pointers: BTreeSet<&str> = declared.iter().map(|at| words[*at]).collect();
    let is_made = |at: usize| match words.get(at + 1).copied().unwrap_or_default() {
        "=" | "+=" => pointers.contains(words[at]),
        "(" | "{" | "[" | ":" => declared.contains(&at),
        _ => false,
    };
    let made: Vec<usize> = (0..words.len()).filter(|at| is_made(*at)).collect();
    // `float *rows[2] = {bins, other};` is one statement, too.
    let end = |at: usize| words[at..].iter().position(|word| *word == ";").map_or(words.len(), |length| at + length);
    loop {
        let known = names.len();
        for at in &made {
            if words[at + 1..end(*at)].iter().any(|word| names.contains(*word)) {
                names.insert(words[*at].to_string());
            }
        }
        if names.len() == known {
            return;
        }
    }
}

/// Whether a word is the name in a declaration of a pointer, a reference or `auto`, as far as words tell: `a * b` behind `=` is
/// a product.
fn is_pointer_declared(words: &[&str], at: usize) -> bool {
    let is_mark = |word: &str| matches!(word, "*" | "&" | "&&");
    let is_qualifier = |word: &str| matches!(word, "const" | "__restrict__" | "__restrict" | "volatile");
    let is_type = |word: &str| word == "::" || word.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if !is_type(words[at]) || words[at] == "::" {
        return false;
    }
    let back = |from: usize, is_fit: &dyn Fn(&str) -> bool| {
        words[..from].iter().rposition(|word| !is_fit(word)).map_or(0, |last| last + 1)
    };
    let marks = back(at, &|word| is_mark(word) || is_qualifier(word));
    let has_mark = words[marks..at].iter().any(|word| is_mark(word));
    let start = back(marks, &is_type);
    let types = &words[start..marks];
    let before = start.checked_sub(1).map_or(";", |before| words[before]);
    let is_begin = matches!(before, ";" | "{" | "}" | "(" | ")" | "," | ":");
    match types {
        [] => has_mark && matches!(before, "," | ">" | ";" | "{" | "}" | "(" | ")" | "="),
        _ if types.contains(&"return") => false,
        _ => is_begin && (has_mark || types.contains(&"auto")),
    }
}

/// The names that an edit removes, brings in, or has beside a condition; of qualifiers, those of the declaration that they
/// belong to.
fn names(edit: &Edit) -> BTreeSet<String> {
    let (before, after) = (words(edit.span.text()), words(&edit.replacement));
    // What stands behind a whole statement does not belong to it.
    let ends = matches!(after.last(), Some(&(";" | "}")));
    let is_control = |all: &[&str]| all.iter().any(|word| CONTROL.contains(word));
    let changed: Vec<&str> = match is_control(&before) || is_control(&after) {
        true => before.into_iter().chain(after).collect(),
        false => {
            let hunks = diff::shortest(&before, &after);
            let words = |(old, new)| [before.get(old).unwrap_or_default(), after.get(new).unwrap_or_default()].concat();
            hunks.into_iter().flat_map(words).collect()
        }
    };
    let is_qualifier = |word: &&str| matches!(*word, "const" | "constexpr" | "static" | "volatile" | "__shared__");
    let is_open = !ends && changed.iter().any(is_qualifier);
    let behind = edit.span.file.text().get(edit.span.end..).filter(|_| is_open).unwrap_or("");
    let declared = words(behind.split([';', '{']).next().unwrap_or(""));
    let changed = changed.into_iter().chain(declared);
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_alphabetic() || c == '_' || !c.is_ascii());
    let is_own = |word: &&str| !COMMON.contains(word) && !CONTROL.contains(word);
    changed.filter(is_name).filter(is_own).map(str::to_string).collect()
}

/// The words of a text, without those that only say which member of a variable of CUDA's is meant.
fn words(text: &str) -> Vec<&str> {
    let all = tokens(text);
    let word = |token: &Token| &text[token.range.clone()];
    let is_dimension = |at: usize| {
        let before = |back: usize| at.checked_sub(back).map(|at| word(&all[at]));
        before(1) == Some(".") && before(2).is_some_and(|word| COMMON.contains(&word))
    };
    let kept = all.iter().enumerate().filter(|(at, token)| token.kind != TokenKind::Literal && !is_dimension(*at));
    kept.map(|(_, token)| word(token)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::source::{SourceFile, Span};

    fn names_of(before: &str, after: &str) -> Vec<String> {
        let file = SourceFile::from_text("a.cu", before);
        names(&Edit::alone(Span::new(&file, 0..before.len()), after)).into_iter().collect()
    }

    #[test]
    fn what_stays_does_not_matter() {
        assert_eq!(names_of("pick[m]", "row[m][threadIdx.x]"), ["pick", "row"]);
        assert_eq!(names_of("int h[9] = {}, pick[48] = {};", "int h[9] = {};"), ["pick"]);
        assert_eq!(names_of("v[i]", "s[i + x]"), ["s", "v", "x"]);
    }

    #[test]
    fn all_that_stands_beside_a_condition_matters() {
        assert_eq!(names_of("for (i = 0; i < n; i++)", "for (i = 0; i < 8; i++) if (i < n)"), ["i", "n"]);
        assert_eq!(names_of("a[k]", "k ? b : c"), ["a", "b", "c", "k"]);
    }

    #[test]
    fn qualifiers_belong_to_the_declaration_behind_them() {
        let text = "int t[4] = {1, 2}; int u;";
        let file = SourceFile::from_text("a.cu", text);
        let of = |end: usize, after: &str| names(&Edit::alone(Span::new(&file, 0..end), after));
        assert!(of(0, "static constexpr ").contains("t"));
        assert!(!of(0, "static constexpr ").contains("u") && !of(18, "__shared__ int t_of_block[4];").contains("u"));
    }

    /// Whether an edit of `bins` is stopped by code with some words.
    fn is_stopped(context: &str, words: &[&str], name: &str, is_operand: bool) -> bool {
        let file = SourceFile::from_text("a.cu", context);
        let at = context.find("bins").unwrap();
        let edit = Edit {
            context: Span::new(&file, 0..context.len()),
            ..Edit::alone(Span::new(&file, at..at + 4), "row * SCALE")
        };
        let words = words.iter().map(ToString::to_string).collect();
        let code = HiddenCode { name: name.to_string(), line: None, is_operand, words };
        Concerned::of(&[edit]).first_in(&[code]).is_some()
    }

    #[test]
    fn names_for_the_same_memory_matter() {
        for context in [
            "{ float bins[8]; float *p = bins; }",
            "{ float bins[8], *o, *p = bins + 1; }",
            "{ float bins[8]; float *p; p = c ? bins : q; }",
            "{ float bins[8]; float &p = bins[2]; }",
            "{ float bins[8]; auto p = bins; }",
            "{ float bins[8]; float *o = bins; const float *const p = o; }",
            "{ float bins[8]; float *p[2] = {q, bins}; }",
            "{ float bins[8]; for (auto &p : bins) { } }",
            "(float *p) { float bins[8]; p = bins; }",
        ] {
            assert!(is_stopped(context, &["p", "n"], "M", true), "{context}");
        }
        for context in [
            "{ float bins[8]; float p = bins[1]; }",
            "{ float bins[8]; x = q * p[bins[0]]; }",
            "{ float bins[8]; float *p = q; bins[0] = 1; }",
        ] {
            assert!(!is_stopped(context, &["p", "n"], "M", true), "{context}");
        }
    }

    #[test]
    fn macros_that_are_operands_stay_where_they_are() {
        let context = "{ float bins[8]; }";
        assert!(is_stopped(context, &["n"], "SCALE", true));
        assert!(!is_stopped(context, &["n"], "SCALE_BY", true) && !is_stopped(context, &["n"], "SCALE", false));
    }
}
