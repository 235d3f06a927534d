//! The names that a pattern binds.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::tokens::{ident, is_mark, is_mark_pair, split_at_commas};

/// Limit on nested patterns.
const MAX_PATTERN_DEPTH: usize = 8;

/// Names that a pattern may bind: those not spelled like constants and types.
pub(crate) fn names_in(pattern: TokenStream) -> Vec<String> {
    let mut names = Vec::new();
    let mut waiting = vec![pattern];
    while let Some(tokens) = waiting.pop() {
        for token in tokens {
            match token {
                TokenTree::Ident(name) => names.push(name.to_string()),
                TokenTree::Group(group) => waiting.push(group.stream()),
                _ => {}
            }
        }
    }
    names.retain(|name| {
        name.starts_with(|first: char| first.is_lowercase() || first == '_') && name != "mut" && name != "ref"
    });
    names.sort();
    names.dedup();
    names
}

/// The names in a pattern, each with its member path: `(a, &b)`, `Kernel { name, text: t }`, `name`.
pub(super) fn parts_of(pattern: &[TokenTree], depth: usize) -> Vec<(String, Vec<String>)> {
    let pattern: Vec<TokenTree> = pattern
        .iter()
        .skip_while(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == '&'))
        .cloned()
        .collect();
    // The `: type` after a pattern.
    let end = (0..pattern.len()).find(|at| is_mark(&pattern, *at, ':') && !is_mark(&pattern, *at + 1, ':'));
    let is_path = (0..pattern.len()).any(|at| is_mark_pair(&pattern, at, ':'));
    let plain = &pattern[..end.filter(|_| !is_path).unwrap_or(pattern.len())];
    let of_group = |group: &Group, is_structure: bool| {
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        let parts = split_at_commas(&tokens);
        let mut found = Vec::new();
        for (index, part) in parts.into_iter().enumerate().filter(|(_, part)| !part.is_empty()) {
            if is_mark(part, 0, '.') {
                // Positions after `..` count from the end.
                break;
            }
            let (member, inner) = match (is_structure, ident(part, 0)) {
                (true, Some(member)) if is_mark(part, 1, ':') => (member, &part[2..]),
                (true, Some(member)) => (member, part),
                _ => (index.to_string(), part),
            };
            found.extend(parts_of(inner, depth + 1).into_iter().map(|(name, mut members)| {
                members.insert(0, member.clone());
                (name, members)
            }));
        }
        found
    };
    match plain {
        _ if depth > MAX_PATTERN_DEPTH => Vec::new(),
        [TokenTree::Ident(name)] if name != "_" => vec![(name.to_string(), Vec::new())],
        [TokenTree::Group(group)] if group.delimiter() != Delimiter::Brace => of_group(group, false),
        [.., TokenTree::Ident(_), TokenTree::Group(group)] if group.delimiter() == Delimiter::Brace => {
            of_group(group, true)
        }
        _ => Vec::new(),
    }
}
