//! Transcribes the body of a macro arm with its bindings; the text keeps the source position of each piece.

use std::collections::BTreeSet;
use std::ops::Range;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use lmem_base::source::Span;
use lmem_unit::MappedText;

use super::definition::{Fragment, MacroCode, repeats};
use super::matching::{Argument, Bindings, Bound};
use crate::rust::scan::patterns::names_in;
use crate::rust::scan::tokens::{is_mark, is_mark_pair, split_at_commas};

/// Limit on iterations of all repetitions of one body, nested ones included.
const MAX_ROUNDS: usize = 1 << 16;

/// The context of a transcription.
pub(super) struct Transcriber<'a> {
    pub code: &'a MacroCode,
    /// The text with the call, and the offset of the first token in it.
    pub caller: &'a MappedText,
    pub caller_start: usize,
    /// The meaning of `$crate` in this call.
    pub own_crate: &'a str,
    /// Variables of the body that need a fresh name, because the caller uses the same one.
    pub renamed: &'a BTreeSet<String>,
    /// Suffix that makes the fresh names of this call unique.
    pub number: usize,
    pub rounds: usize,
}

impl Transcriber<'_> {
    /// Transcribes the whole body.
    ///
    /// # Errors
    /// The part that is not understood, as a clause that ends a sentence.
    pub fn body(&mut self, body: &Group, bindings: &Bindings) -> Result<MappedText, String> {
        let inside = self.inside(body);
        let mut text = MappedText::default();
        let end = self.tokens(body.stream(), inside.start, false, bindings, &mut text)?;
        self.copy(end..inside.end, &mut text);
        Ok(text)
    }

    /// Transcribes tokens from an offset; returns the offset after the last one.
    fn tokens(
        &mut self,
        tokens: TokenStream,
        from: usize,
        in_braces: bool,
        bindings: &Bindings,
        text: &mut MappedText,
    ) -> Result<usize, String> {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut end = from;
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let place = self.code.place(token.span());
            match token {
                TokenTree::Punct(mark) if mark.as_char() == '$' => {
                    self.copy(end..place.start, text);
                    let used = self.parameter(&tokens[at..], bindings, text)?;
                    at += used;
                    end = self.code.place(tokens[at - 1].span()).end;
                    continue;
                }
                TokenTree::Group(group) => {
                    let inside = self.inside(group);
                    self.copy(end..inside.start, text);
                    let is_braces = group.delimiter() == Delimiter::Brace;
                    end = self.tokens(group.stream(), inside.start, is_braces, bindings, text)?;
                }
                TokenTree::Ident(name) if name == "macro_rules" => {
                    return Err("it defines another macro".to_string());
                }
                TokenTree::Ident(name) if self.renamed.contains(&name.to_string()) && !is_member(&tokens, at) => {
                    if in_braces && is_shorthand(&tokens, at) {
                        return Err(format!("its variable `{name}` has the name of another one"));
                    }
                    self.copy(end..place.start, text);
                    let renamed = format!("{name}_of_macro_{}", self.number);
                    text.push(&renamed, Span::new(&self.code.source, place.clone()));
                    end = place.end;
                }
                TokenTree::Literal(literal) => {
                    let written = literal.to_string();
                    let captures = |name: &&String| {
                        written.contains(&format!("{{{name}}}")) || written.contains(&format!("{{{name}:"))
                    };
                    if let Some(name) = self.renamed.iter().find(captures) {
                        return Err(format!("its variable `{name}` has the name of another one"));
                    }
                }
                _ => {}
            }
            at += 1;
        }
        Ok(end)
    }

    /// Transcribes an element that begins with `$`; returns its number of tokens.
    fn parameter(&mut self, tokens: &[TokenTree], bindings: &Bindings, text: &mut MappedText) -> Result<usize, String> {
        match tokens.get(1) {
            Some(TokenTree::Ident(name)) if name == "crate" => {
                text.push_generated(self.own_crate);
                Ok(2)
            }
            Some(TokenTree::Ident(name)) => match bindings.get(&name.to_string()) {
                Some(Bound::One(argument)) => {
                    self.argument(argument, text);
                    Ok(2)
                }
                Some(Bound::Many(_)) => Err(format!("`${name}` stands outside of its repetition")),
                None => Err(format!("`${name}` is none of its parameters")),
            },
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
                let (separator, _) = repeats(&tokens[2..]).ok_or("its body is not understood")?;
                self.repetition(group, &separator, bindings, text)?;
                Ok(3 + separator.len())
            }
            _ => Err("its body is not understood".to_string()),
        }
    }

    fn repetition(
        &mut self,
        group: &Group,
        separator: &[TokenTree],
        bindings: &Bindings,
        text: &mut MappedText,
    ) -> Result<(), String> {
        let mut used = BTreeSet::new();
        parameters_in(group.stream(), &mut used);
        let lists = bindings.iter().filter_map(|(name, bound)| match bound {
            Bound::Many(values) if used.contains(name) => Some(values.len()),
            _ => None,
        });
        let lengths: BTreeSet<usize> = lists.collect();
        let [rounds] = lengths.into_iter().collect::<Vec<_>>()[..] else {
            return Err("its repetitions are not of one length".to_string());
        };
        let inside = self.inside(group);
        for round in 0..rounds {
            self.rounds += 1;
            if self.rounds > MAX_ROUNDS {
                return Err("it repeats more often than is followed".to_string());
            }
            if round > 0 {
                for token in separator {
                    text.push_generated(&token.to_string());
                }
            }
            // Keeps adjacent tokens of two iterations apart.
            text.push_generated(" ");
            let of_round = |name: &String| {
                let bound = match bindings.get(name)? {
                    Bound::Many(values) => values[round].clone(),
                    one @ Bound::One(_) => one.clone(),
                };
                Some((name.clone(), bound))
            };
            let inner: Bindings = used.iter().filter_map(of_round).collect();
            let end = self.tokens(group.stream(), inside.start, false, &inner, text)?;
            self.copy(end..inside.end, text);
            text.push_generated(" ");
        }
        Ok(())
    }

    fn argument(&self, argument: &Argument, text: &mut MappedText) {
        let places = argument.tokens.iter().map(|token| token.span().byte_range());
        let range = places.reduce(|all, next| all.start..next.end.max(all.end));
        text.push_generated(if argument.is_compound { " (" } else { " " });
        let of_documentation = matches!(argument.tokens.first(), Some(TokenTree::Ident(name)) if name == "doc");
        match range {
            // A doc attribute may have been written as a comment, which would swallow the rest of the line.
            _ if argument.kind == Fragment::Meta && of_documentation => text.push_generated("doc"),
            Some(range) => {
                let start = self.caller_start;
                text.append(&self.caller.slice(range.start + start..range.end + start));
            }
            None => {}
        }
        text.push_generated(if argument.is_compound { ") " } else { " " });
    }

    /// Copies a piece of the definition.
    fn copy(&self, range: Range<usize>, text: &mut MappedText) {
        if let Some(piece) = self.code.source.text().get(range.clone()).filter(|piece| !piece.is_empty()) {
            text.push(piece, Span::new(&self.code.source, range));
        }
    }

    /// Byte range between the delimiters of a group.
    fn inside(&self, group: &Group) -> Range<usize> {
        self.code.place(group.span_open()).end..self.code.place(group.span_close()).start
    }
}

/// Names after `$` in tokens.
fn parameters_in(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(name) if at > 0 && is_mark(&tokens, at - 1, '$') => _ = found.insert(name.to_string()),
            TokenTree::Group(group) => parameters_in(group.stream(), found),
            _ => {}
        }
    }
}

/// `x.name`
fn is_member(tokens: &[TokenTree], at: usize) -> bool {
    at > 0 && is_mark(tokens, at - 1, '.') && !(at > 1 && is_mark(tokens, at - 2, '.'))
}

/// `Name { name, … }`
fn is_shorthand(tokens: &[TokenTree], at: usize) -> bool {
    let begins = at == 0 || is_mark(tokens, at - 1, ',');
    begins && (at + 1 == tokens.len() || is_mark(tokens, at + 1, ',')) && tokens.len() > 1
}

/// Variables that a body declares. Macro hygiene keeps them distinct from the caller's variables of the same name.
pub(super) fn variables_of(body: &Group) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    variables_in(body.stream(), &mut found);
    found
}

fn variables_in(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if word == "let" => {
                let rest = &tokens[at + 1..];
                let ends = |at: &usize| is_mark(rest, *at, '=') || is_mark(rest, *at, ';');
                bind(&rest[..(0..rest.len()).find(ends).unwrap_or(rest.len())], found);
            }
            // The `for` of `impl A for B { … }` has no `in` before its braces.
            TokenTree::Ident(word) if word == "for" => {
                let rest = &tokens[at + 1..];
                let is_brace = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
                let is_in = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "in");
                let end = rest.iter().take_while(|token| !is_brace(token)).position(is_in);
                end.into_iter().for_each(|end| bind(&rest[..end], found));
            }
            TokenTree::Punct(mark) if mark.as_char() == '|' => {
                let end = (at + 1..tokens.len()).find(|end| is_mark(&tokens, *end, '|'));
                end.into_iter().for_each(|end| bind(&tokens[at + 1..end], found));
            }
            TokenTree::Punct(_) if is_mark(&tokens, at, '=') && is_mark(&tokens, at + 1, '>') => {
                let ends = |before: &usize| is_mark(&tokens, *before, ',');
                let start = (0..at).rev().find(ends).map_or(0, |comma| comma + 1);
                bind(&tokens[start..at], found);
            }
            TokenTree::Group(group) => {
                let is_parameters = group.delimiter() == Delimiter::Parenthesis
                    && (0..at)
                        .rev()
                        .take(8)
                        .any(|before| matches!(&tokens[before], TokenTree::Ident(word) if word == "fn"));
                if is_parameters {
                    bind(&group.stream().into_iter().collect::<Vec<_>>(), found);
                }
                variables_in(group.stream(), found);
            }
            _ => {}
        }
    }
}

/// The names bound by comma-separated patterns, without types and macro parameters.
fn bind(patterns: &[TokenTree], found: &mut BTreeSet<String>) {
    for pattern in split_at_commas(patterns) {
        let is_colon = |at: &usize| is_mark(pattern, *at, ':') && !is_mark_pair(pattern, *at, ':');
        let is_colon = |at: &usize| is_colon(at) && !(*at > 0 && is_mark_pair(pattern, at - 1, ':'));
        let end = (0..pattern.len()).find(is_colon).unwrap_or(pattern.len());
        let own = (0..end).filter(|at| *at == 0 || !is_mark(pattern, at - 1, '$'));
        let tokens: TokenStream = own.map(|at| pattern[at].clone()).collect();
        found.extend(names_in(tokens).into_iter().filter(|name| name != "self" && !name.starts_with('_')));
    }
}
