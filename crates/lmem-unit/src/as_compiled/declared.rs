//! The names that a file declares, read from its tokens alone: too many rather than too few.
//!
//! A text does not show what its headers declare: another class with a member of the same name, a function of that
//! name for other arguments, operators, an alias with the name of a library's type.

use std::collections::BTreeSet;

use super::bracketed::is_name;

/// Words before a name that is used, not declared.
pub(super) const BEFORE_USES: [&str; 14] = [
    "return", "case", "else", "goto", "new", "delete", "throw", "sizeof", "alignof", "decltype", "do", "not", "and",
    "or",
];

/// Words that are recorded wherever they stand: what they mean does not depend on the name behind them.
const MARKS: [&str; 5] = ["operator", "class", "struct", "union", "source_location"];

/// The names that a file's tokens may declare, and the words of [`MARKS`] among them.
pub fn declared<Token: AsRef<str>>(tokens: impl Iterator<Item = Token>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut tokens = tokens.peekable();
    let mut last: Option<Token> = None;
    while let Some(token) = tokens.next() {
        let (before, name) = (last.as_ref().map_or("", Token::as_ref), token.as_ref());
        let behind = tokens.peek().map_or("", Token::as_ref);
        if !is_name(name) {
            last = Some(token);
            continue;
        }
        let is_behind_type = (is_name(before) && !BEFORE_USES.contains(&before))
            || matches!(before, "*" | "&" | "&&" | ">" | ">>" | "," | "]");
        let is_end = matches!(behind, ";" | "," | "=" | "[" | "(" | ")" | "{" | ":" | "<" | ">" | "");
        if (is_behind_type && is_end) || MARKS.contains(&name) || name.starts_with("__builtin_") {
            found.insert(name.to_string());
        }
        last = Some(token);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::as_compiled::tokens::tokens;

    #[test]
    fn declarations_are_told_from_uses() {
        let text = "using uint = Checked; typedef Node *uint32_t; struct Args { short key, at[4]; Node node : 3; };\n\
                    template <class T> __device__ int hash(const T &value) { return seed * size(value.count) + other; }";
        let all = declared(tokens(text).into_iter().map(|token| &text[token.range]));
        for name in ["uint", "uint32_t", "Args", "key", "at", "node", "T", "hash", "value", "struct"] {
            assert!(all.contains(name), "{name}");
        }
        for name in ["seed", "count", "other", "operator"] {
            assert!(!all.contains(name), "{name}");
        }
    }
}
