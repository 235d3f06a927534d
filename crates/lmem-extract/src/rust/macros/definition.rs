//! `macro_rules!` definitions: arms and patterns.

use std::ops::Range;
use std::sync::Arc;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use lmem_base::source::SourceFile;

use super::super::scan::RustFile;
use crate::rust::scan::tokens::is_mark;

/// Limit on nested patterns; real macros stay below it.
const MAX_DEPTH: usize = 32;

/// Words in a macro that indicate text, or names that may stand for text.
const TEXT_WORDS: [&str; 13] = [
    "concat!",
    "stringify!",
    "include_str!",
    "include_bytes!",
    "format!",
    "let $",
    "let mut $",
    "const $",
    "static $",
    "fn $",
    // Functions that pass a text on often have such names.
    "compile",
    "ptx",
    "kernel",
];

/// A macro and its scope.
#[derive(Debug)]
pub(crate) struct Definition {
    pub name: String,
    /// Index of its file.
    pub file: usize,
    pub package: Option<usize>,
    /// The enclosing group, or the whole file. Without `#[macro_export]` the macro is visible only there.
    pub scope: Range<usize>,
    pub is_exported: bool,
    /// Whether the macro compiles, loads or contains kernels.
    pub is_about_kernels: bool,
    /// Whether the macro may produce a part of a text.
    pub is_about_text: bool,
    /// Macros called in its body.
    pub calls: Vec<String>,
    pub code: MacroCode,
}

/// The arms of a macro, and the source of their tokens.
#[derive(Debug)]
pub(crate) struct MacroCode {
    pub source: Arc<SourceFile>,
    /// Offset of the first token.
    start: usize,
    /// The arms, or why they are not understood, as a clause that ends a sentence.
    pub arms: Result<Vec<Arm>, String>,
}

#[derive(Debug)]
pub(crate) struct Arm {
    pub pattern: Vec<Pattern>,
    pub body: Group,
}

/// A pattern of a macro arm.
#[derive(Debug)]
pub(crate) enum Pattern {
    Token(TokenTree),
    Group(Delimiter, Vec<Pattern>),
    /// `$name:kind`
    Fragment {
        name: String,
        kind: Fragment,
    },
    /// `$( … ),*`
    Repetition {
        inner: Vec<Pattern>,
        separator: Vec<TokenTree>,
        repeats: Repeats,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fragment {
    Block,
    Expression,
    Identifier,
    Lifetime,
    Literal,
    Meta,
    Path,
    TokenTree,
    Type,
    Visibility,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeats {
    /// `?`
    AtMostOnce,
    /// `*`
    AnyTimes,
    /// `+`
    Once,
}

impl Definition {
    /// The macros defined in a file, in source order.
    pub fn of_file(rust: &RustFile, file: usize, package: Option<usize>) -> Vec<Self> {
        let mut calls = vec![Vec::new(); rust.definitions.len()];
        for call in &rust.macros {
            for index in rust.macros_around(call.range.start) {
                calls[index].push(call.name.clone());
            }
        }
        let of_file = |(macro_rules, calls): (&super::super::scan::MacroRules, Vec<String>)| {
            let text = rust.text().get(macro_rules.range.clone()).unwrap_or("");
            let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
            Self {
                name: macro_rules.name.clone(),
                file,
                package,
                scope: macro_rules.scope.clone(),
                is_exported: macro_rules.is_exported,
                is_about_kernels: has(super::super::sinks::MARKERS),
                is_about_text: has(&TEXT_WORDS),
                calls,
                code: MacroCode { source: rust.source(), start: rust.start(), arms: arms(macro_rules.arms.clone()) },
            }
        };
        rust.definitions.iter().zip(calls).map(of_file).collect()
    }
}

/// Whether a text mentions kernels or text operations.
pub(super) fn is_about_text(text: &str) -> bool {
    super::super::sinks::MARKERS.iter().chain(&TEXT_WORDS).any(|word| text.contains(word))
}

impl MacroCode {
    /// The byte range of a token.
    pub fn place(&self, span: proc_macro2::Span) -> Range<usize> {
        let range = span.byte_range();
        range.start + self.start..range.end + self.start
    }
}

/// `(pattern) => { body }; …`
fn arms(tokens: TokenStream) -> Result<Vec<Arm>, String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut arms = Vec::new();
    let mut rest = tokens.as_slice();
    while !rest.is_empty() {
        let [TokenTree::Group(pattern), TokenTree::Punct(equals), TokenTree::Punct(arrow), TokenTree::Group(body), ..] =
            rest
        else {
            return Err("its arms are not understood".to_string());
        };
        if equals.as_char() != '=' || arrow.as_char() != '>' {
            return Err("its arms are not understood".to_string());
        }
        let pattern: Vec<TokenTree> = pattern.stream().into_iter().collect();
        arms.push(Arm { pattern: patterns(&pattern, 0)?, body: body.clone() });
        rest = &rest[4..];
        if is_mark(rest, 0, ';') {
            rest = &rest[1..];
        }
    }
    Ok(arms)
}

fn patterns(tokens: &[TokenTree], depth: usize) -> Result<Vec<Pattern>, String> {
    if depth > MAX_DEPTH {
        return Err("its pattern is nested too deeply".to_string());
    }
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let (pattern, length) = match token {
            TokenTree::Punct(mark) if mark.as_char() == '$' => parameter(&tokens[at..], depth)?,
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                (Pattern::Group(group.delimiter(), patterns(&inner, depth + 1)?), 1)
            }
            other => (Pattern::Token(other.clone()), 1),
        };
        found.push(pattern);
        at += length;
    }
    Ok(found)
}

/// A pattern element that begins with `$`, and its number of tokens.
fn parameter(tokens: &[TokenTree], depth: usize) -> Result<(Pattern, usize), String> {
    match tokens.get(1) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            let (separator, repeats) =
                repeats(&tokens[2..]).ok_or_else(|| "its pattern is not understood".to_string())?;
            let length = 3 + separator.len();
            Ok((Pattern::Repetition { inner: patterns(&inner, depth + 1)?, separator, repeats }, length))
        }
        Some(TokenTree::Ident(name)) if is_mark(tokens, 2, ':') => {
            let Some(TokenTree::Ident(kind)) = tokens.get(3) else {
                return Err("its pattern is not understood".to_string());
            };
            let kind = fragment(&kind.to_string())
                .ok_or_else(|| format!("its parameter `${name}:{kind}` is not understood"))?;
            Ok((Pattern::Fragment { name: name.to_string(), kind }, 4))
        }
        _ => Err("its pattern is not understood".to_string()),
    }
}

/// The separator and repetition operator after `$( … )`.
pub(super) fn repeats(tokens: &[TokenTree]) -> Option<(Vec<TokenTree>, Repeats)> {
    // The longest separator is `..=`.
    for length in 0..=3 {
        let repeats = match tokens.get(length)? {
            TokenTree::Punct(mark) => match mark.as_char() {
                '*' => Repeats::AnyTimes,
                '+' => Repeats::Once,
                '?' if length == 0 => Repeats::AtMostOnce,
                _ => continue,
            },
            TokenTree::Group(_) => return None,
            _ => continue,
        };
        return Some((tokens[..length].to_vec(), repeats));
    }
    None
}

fn fragment(kind: &str) -> Option<Fragment> {
    Some(match kind {
        "block" => Fragment::Block,
        "expr" | "expr_2021" => Fragment::Expression,
        "ident" => Fragment::Identifier,
        "lifetime" => Fragment::Lifetime,
        "literal" => Fragment::Literal,
        "meta" => Fragment::Meta,
        "path" => Fragment::Path,
        "tt" => Fragment::TokenTree,
        "ty" => Fragment::Type,
        "vis" => Fragment::Visibility,
        _ => return None,
    })
}
