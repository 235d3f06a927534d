//! Helper functions for token lists.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Maximum distance to the end of a statement. Most statements are much shorter, and every word starts a search.
pub(super) const MAX_STATEMENT: usize = 512;

pub(crate) fn ident(tokens: &[TokenTree], index: usize) -> Option<String> {
    match tokens.get(index) {
        Some(TokenTree::Ident(name)) => Some(name.to_string()),
        _ => None,
    }
}

pub(crate) fn is_mark(tokens: &[TokenTree], index: usize, mark: char) -> bool {
    matches!(tokens.get(index), Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

pub(crate) fn is_joint(tokens: &[TokenTree], index: usize) -> bool {
    matches!(tokens.get(index), Some(TokenTree::Punct(punct)) if punct.spacing() == proc_macro2::Spacing::Joint)
}

/// `::`
pub(crate) fn is_mark_pair(tokens: &[TokenTree], index: usize, mark: char) -> bool {
    is_mark(tokens, index, mark) && is_joint(tokens, index) && is_mark(tokens, index + 1, mark)
}

/// The next braces before the end of the statement.
pub(super) fn next_brace(tokens: &[TokenTree], from: usize) -> Option<usize> {
    let rest = tokens.get(from..)?;
    let length = rest.iter().take(MAX_STATEMENT).position(|token| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(mark) => mark.as_char() == ';',
        _ => false,
    })?;
    matches!(rest.get(length), Some(TokenTree::Group(_))).then_some(from + length)
}

/// The next `mark` that is not a part of another operator.
pub(super) fn top_level(tokens: &[TokenTree], from: usize, mark: char) -> Option<usize> {
    (from..tokens.len().min(from + MAX_STATEMENT)).find(|at| stands_alone(tokens, *at, mark))
}

/// Whether this is `mark`, and not a part of `==`, `=>` or `<=`.
fn stands_alone(tokens: &[TokenTree], at: usize, mark: char) -> bool {
    let continues =
        at.checked_sub(1).is_some_and(|previous| is_joint(tokens, previous) && !is_mark(tokens, previous, '>'));
    // `=&x` is lexed as two joined marks, but is an assignment.
    let continued = is_joint(tokens, at) && (is_mark(tokens, at + 1, '=') || is_mark(tokens, at + 1, '>'));
    is_mark(tokens, at, mark) && (mark == ';' || !(continues || continued))
}

/// The tokens between `=` and `;` after a declared name, and the index of the `;`.
pub(super) fn assigned(tokens: &[TokenTree], from: usize) -> Option<(TokenStream, usize)> {
    let end = top_level(tokens, from, ';').unwrap_or(tokens.len());
    let equals = outside_angles(tokens, from).take_while(|at| *at < end).find(|at| stands_alone(tokens, *at, '='))?;
    Some((tokens.get(equals + 1..end)?.iter().cloned().collect(), end))
}

/// Indices outside of `<` and `>`; only for skipping types.
pub(super) fn outside_angles(tokens: &[TokenTree], from: usize) -> impl Iterator<Item = usize> {
    let mut depth = 0_usize;
    (from..tokens.len().min(from + MAX_STATEMENT)).filter(move |at| {
        if is_mark(tokens, *at, '<') {
            depth += 1;
        } else if is_mark(tokens, *at, '>') && !(*at > 0 && is_mark(tokens, at - 1, '-') && is_joint(tokens, at - 1)) {
            depth = depth.saturating_sub(1);
        } else {
            return depth == 0;
        }
        false
    })
}

/// The index after the `>` that closes the `<` at `from`.
pub(super) fn after_angles(tokens: &[TokenTree], from: usize) -> usize {
    outside_angles(tokens, from).next().unwrap_or(tokens.len())
}

/// Splits at commas that are not between `<` and `>`.
pub(crate) fn split_at_commas(tokens: &[TokenTree]) -> Vec<&[TokenTree]> {
    let mut depth = 0_usize;
    let mut parts = Vec::new();
    let mut start = 0;
    for at in 0..tokens.len() {
        let is_arrow =
            at > 0 && (is_mark(tokens, at - 1, '-') || is_mark(tokens, at - 1, '=')) && is_joint(tokens, at - 1);
        if is_mark(tokens, at, '<') {
            depth += 1;
        } else if is_mark(tokens, at, '>') && !is_arrow {
            depth = depth.saturating_sub(1);
        } else if is_mark(tokens, at, ',') && depth == 0 {
            parts.push(&tokens[start..at]);
            start = at + 1;
        }
    }
    parts.push(&tokens[start..]);
    parts
}
