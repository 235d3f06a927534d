//! Strings that are built statement by statement, and whether anything else writes them.

use std::ops::Range;

use proc_macro2::{TokenStream, TokenTree};

use super::Value;
use super::scanner::Scanner;
use super::tokens::{ident, is_mark};

/// Limit on statements that append to one string.
const MAX_PIECES: usize = 64;

/// Methods that do not modify a string.
const READING: [&str; 24] = [
    "as_str",
    "as_ref",
    "as_bytes",
    "as_ptr",
    "clone",
    "len",
    "is_empty",
    "to_string",
    "to_owned",
    "into",
    "trim",
    "replace",
    "contains",
    "lines",
    "borrow",
    "chars",
    "starts_with",
    "ends_with",
    "find",
    "into_bytes",
    "split",
    "as_c_str",
    "into_boxed_str",
    "to_vec",
];

impl Scanner {
    /// A mutable string variable. If its only modifications are appends by statements of its own block, it is the
    /// concatenation of the pieces so far.
    pub(super) fn growing(
        &mut self,
        name: String,
        first: TokenStream,
        tokens: &[TokenTree],
        end: usize,
        visible: Range<usize>,
    ) {
        let rest = tokens.get(end + 1..).unwrap_or_default();
        if rest.len() > self.left_to_follow {
            return self.bind(name, visible, Value::Initial(first), true);
        }
        let mut pieces = vec![first.clone()];
        let mut known = vec![(visible.start, pieces.clone())];
        let mut left: Vec<TokenTree> = Vec::new();
        for statement in rest.split_inclusive(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ';'))
        {
            match added(statement, &name) {
                Some(piece) if pieces.len() < MAX_PIECES => {
                    pieces.push(piece);
                    let end = statement.last().map_or(visible.end, |last| self.place(last.span()).end);
                    known.push((end, pieces.clone()));
                }
                _ => left.extend(statement.iter().cloned()),
            }
        }
        if writes(left.into_iter().collect(), &name, &mut self.left_to_follow) {
            return self.bind(name, visible, Value::Initial(first), true);
        }
        for (start, pieces) in known {
            self.bind(name.clone(), start..visible.end, Value::Sum(pieces), true);
        }
    }
}

/// The text that a statement appends to a string: `name.push_str(x);`, `name += x;`.
fn added(statement: &[TokenTree], name: &str) -> Option<TokenStream> {
    let (TokenTree::Ident(first), [middle @ .., _]) = (statement.first()?, statement.get(1..)?) else { return None };
    if first != name {
        return None;
    }
    let added: TokenStream = match middle {
        [TokenTree::Punct(dot), TokenTree::Ident(method), TokenTree::Group(group)]
            if dot.as_char() == '.' && (method == "push_str" || method == "push") =>
        {
            group.stream()
        }
        [TokenTree::Punct(plus), TokenTree::Punct(equals), added @ ..]
            if plus.as_char() == '+' && equals.as_char() == '=' =>
        {
            added.iter().cloned().collect()
        }
        _ => return None,
    };
    (!mentions(added.clone(), name)).then_some(added)
}

fn mentions(tokens: TokenStream, name: &str) -> bool {
    let mut waiting = vec![tokens];
    while let Some(tokens) = waiting.pop() {
        for token in tokens {
            match token {
                TokenTree::Ident(word) if word == name => return true,
                TokenTree::Group(group) => waiting.push(group.stream()),
                _ => {}
            }
        }
    }
    false
}

/// Whether tokens may modify a string variable.
fn writes(tokens: TokenStream, name: &str, left_to_follow: &mut usize) -> bool {
    let mut waiting = vec![tokens];
    while let Some(tokens) = waiting.pop() {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        match left_to_follow.checked_sub(tokens.len()) {
            Some(left) => *left_to_follow = left,
            None => return true,
        }
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(word) if word == name => {
                    let is_lent = at > 0 && matches!(&tokens[at - 1], TokenTree::Ident(word) if word == "mut");
                    let is_assigned = is_mark(&tokens, at + 1, '=') && !is_mark(&tokens, at + 2, '=');
                    let is_grown = is_mark(&tokens, at + 1, '+') && is_mark(&tokens, at + 2, '=');
                    let is_first = at == 0 || is_mark(&tokens, at - 1, ';');
                    let calls = is_mark(&tokens, at + 1, '.')
                        && ident(&tokens, at + 2).is_some_and(|method| !READING.contains(&method.as_str()));
                    // `write!(name, …)`: a macro may use its arguments in any way.
                    if is_lent || is_assigned || is_grown || calls || (is_first && is_mark(&tokens, at + 1, ',')) {
                        return true;
                    }
                }
                TokenTree::Group(group) => waiting.push(group.stream()),
                _ => {}
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::tests::bound;

    #[test]
    fn strings_that_grow_are_sums() {
        let text = |more: &str| format!("fn f() {{ let mut s = A; s.push_str(B); s += C; {more} @ s.push('d'); }}");
        assert_eq!(bound("s", &text("")), "A + B + C");
        assert_eq!(bound("s", &text("g(&s); s.len();")), "A + B + C");
        for more in ["if x { s.push_str(B); }", "g(&mut s);", "s.clear();", "write!(s, \"a\");", "s += &s.clone();"] {
            assert_eq!(bound("s", &text(more)), "mutable", "{more}");
        }
    }
}
