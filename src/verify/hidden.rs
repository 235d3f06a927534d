//! Edits beside statements that macros hide.
//!
//! `STEP();` may read and write any variable of the function. An edit is right beside it if it shares no name with what it
//! becomes: what the edit removes, brings in, or has in a condition.

use std::collections::BTreeSet;

use lmem_base::diagnostic::Edit;
use lmem_base::diff;
use lmem_unit::{Token, TokenKind, tokens};

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

/// Words of statements that decide what is executed. All that stands beside them matters.
const CONTROL: [&str; 8] = ["?", "&&", "||", "do", "for", "if", "switch", "while"];

/// The names that matter to edits.
pub(super) struct Concerned(BTreeSet<String>);

impl Concerned {
    pub(super) fn of(edits: &[Edit]) -> Self {
        Self(edits.iter().flat_map(names).collect())
    }

    /// Whether one of them is in a hidden statement, as it is written or as it was compiled.
    pub(super) fn are_in(&self, hidden: &[(String, String)]) -> bool {
        let mut used = hidden.iter().flat_map(|(own, became)| words(own).into_iter().chain(words(became)));
        used.any(|word| self.0.contains(word))
    }
}

/// The names that an edit removes, brings in, or has beside a condition.
fn names(edit: &Edit) -> BTreeSet<String> {
    let (before, after) = (words(edit.span.text()), words(&edit.replacement));
    let is_control = |all: &[&str]| all.iter().any(|word| CONTROL.contains(word));
    let changed: Vec<&str> = match is_control(&before) || is_control(&after) {
        true => before.into_iter().chain(after).collect(),
        false => {
            let hunks = diff::shortest(&before, &after);
            let words = |(old, new)| [before.get(old).unwrap_or_default(), after.get(new).unwrap_or_default()].concat();
            hunks.into_iter().flat_map(words).collect()
        }
    };
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_alphabetic() || c == '_' || !c.is_ascii());
    changed.into_iter().filter(is_name).filter(|word| !COMMON.contains(word)).map(str::to_string).collect()
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
        assert_eq!(names_of("for (i = 0; i < n; i++)", "for (i = 0; i < 8; i++) if (i < n)"), ["for", "i", "if", "n"]);
        assert_eq!(names_of("a[k]", "k ? b : c"), ["a", "b", "c", "k"]);
    }
}
