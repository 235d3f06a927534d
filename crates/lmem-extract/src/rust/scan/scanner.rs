//! Walks the tokens of a file, group by group, and dispatches each to its handler.

use std::collections::BTreeMap;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use proc_macro2::{Group, LexError, TokenStream, TokenTree};

use lmem_base::source::{SourceFile, Span};

use super::index::Index;
use super::items::implemented_type;
use super::tokens::{ident, is_joint, is_mark, next_brace};
use super::variables::opens_closure;
use super::{Owner, RustFile};
use crate::rust::macros::places::Places;

/// Limit on nested groups; real code stays below it.
pub(in crate::rust) const MAX_DEPTH: usize = 128;

/// Limit on tokens scanned for uses of variables; each token may be scanned for many variables.
const MAX_FOLLOWED: usize = 20_000_000;

/// Tokens that are kept as receivers, for each byte of a file and besides: a chain of calls would take a thousand times its text.
const RECEIVERS: usize = 4;
const SOME_RECEIVERS: usize = 1 << 12;

impl RustFile {
    /// Scans a file.
    ///
    /// # Errors
    /// The file does not lex as Rust.
    pub fn scan(file: &Arc<SourceFile>) -> Result<Self, LexError> {
        Self::scan_code(file, None)
    }

    /// Scans a file with its macros expanded.
    ///
    /// # Errors
    /// The expansion does not lex as Rust.
    pub fn scan_expanded(file: &Arc<SourceFile>, places: Places) -> Result<Self, LexError> {
        let code = SourceFile::from_text(&file.display, places.text.as_str());
        Self::scan_code(file, Some((code, places)))
    }

    fn scan_code(file: &Arc<SourceFile>, expanded: Option<(Arc<SourceFile>, Places)>) -> Result<Self, LexError> {
        let code = expanded.as_ref().map_or(file, |(code, _)| code);
        let start = code_start(code.text());
        let whole = start..code.text().len();
        let tokens = TokenStream::from_str(&code.text()[start..])?;
        let found = Self {
            file: Arc::clone(file),
            expanded,
            start,
            bindings: BTreeMap::new(),
            globs: Vec::new(),
            calls: Vec::new(),
            structures: Vec::new(),
            macros: Vec::new(),
            definitions: Vec::new(),
            literals: Vec::new(),
            functions: Vec::new(),
            modules: Vec::new(),
            owners: Vec::new(),
            too_deep: None,
            index: Index::default(),
        };
        let mut scanner = Scanner {
            found,
            container: Vec::new(),
            items_seen: 0..0,
            function: None,
            owner: None,
            depth: 0,
            left_to_follow: MAX_FOLLOWED,
            left_for_receivers: SOME_RECEIVERS + RECEIVERS * whole.len(),
        };
        scanner.list(tokens, whole.clone(), whole);
        scanner.found.functions.sort_by_key(|function| function.body.start);
        scanner.found.index = Index::of(&scanner.found);
        Ok(scanner.found)
    }
}

/// Where a file does not lex as Rust: an unknown token, or a bracket without its partner.
pub(in crate::rust) fn place_of(error: &LexError, file: &Arc<SourceFile>) -> Span {
    let text = file.text();
    let at = (code_start(text) + error.span().byte_range().start).min(text.len());
    // The error is at a character; only a broken map could give another offset.
    let at = if text.is_char_boundary(at) { at } else { 0 };
    Span::new(file, at..at + text[at..].chars().next().map_or(0, char::len_utf8))
}

/// The offset after a byte order mark and a `#!` line, which are not tokens.
pub(in crate::rust) fn code_start(text: &str) -> usize {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let code = &text[mark..];
    let is_script = code.starts_with("#!") && !code[2..].trim_start().starts_with('[');
    if is_script { mark + code.find('\n').unwrap_or(code.len()) } else { mark }
}

/// The scanner's state and results.
pub(super) struct Scanner {
    pub(super) found: RustFile,
    pub(super) container: Vec<String>,
    /// The scope of items in the current list; it exceeds the list if the list is a macro argument.
    pub(super) items_seen: Range<usize>,
    /// Start of the innermost function's body.
    pub(super) function: Option<usize>,
    pub(super) owner: Option<Owner>,
    depth: usize,
    /// Remaining limit on tokens scanned for uses of variables.
    pub(super) left_to_follow: usize,
    /// Remaining limit on tokens that are kept as the receivers of method calls.
    pub(super) left_for_receivers: usize,
}

impl Scanner {
    fn list(&mut self, tokens: TokenStream, around: Range<usize>, items_seen: Range<usize>) {
        let outer = std::mem::replace(&mut self.items_seen, items_seen);
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut index = 0;
        while index < tokens.len() {
            index = self.token(&tokens, index, &around);
        }
        self.items_seen = outer;
    }

    /// Handles one token; returns the index of the next one.
    fn token(&mut self, tokens: &[TokenTree], index: usize, around: &Range<usize>) -> usize {
        match &tokens[index] {
            TokenTree::Ident(name) => self.word(&name.to_string(), tokens, index, around),
            TokenTree::Punct(mark) => self.mark(mark.as_char(), tokens, index, around),
            TokenTree::Group(group) => {
                let is_macro = index >= 2 && is_mark(tokens, index - 1, '!') && ident(tokens, index - 2).is_some();
                let items_seen = if is_macro { self.items_seen.clone() } else { self.place(group.span()) };
                self.group_with(group, items_seen);
                index + 1
            }
            TokenTree::Literal(literal) => {
                self.literal(literal);
                index + 1
            }
        }
    }

    pub(super) fn group(&mut self, group: &Group) {
        self.group_with(group, self.place(group.span()));
    }

    fn group_with(&mut self, group: &Group, items_seen: Range<usize>) {
        if self.depth >= MAX_DEPTH {
            self.leave_out(group.span_open());
            return;
        }
        self.depth += 1;
        self.list(group.stream(), self.place(group.span()), items_seen);
        self.depth -= 1;
    }

    /// Notes where the first part begins that is not looked into.
    pub(super) fn leave_out(&mut self, at: proc_macro2::Span) {
        if self.found.too_deep.is_none() {
            self.found.too_deep = Some(self.place(at));
        }
    }

    /// Records a literal. The lexer turns doc comments into literals whose text is not in the source; these are
    /// skipped.
    fn literal(&mut self, literal: &proc_macro2::Literal) {
        let range = self.place(literal.span());
        let source = self.found.text().get(range.clone()).unwrap_or("");
        // Of all literals, only strings end like this.
        let is_string = source.ends_with(['"', '#']);
        if is_string && source == literal.to_string() {
            self.found.literals.push(range);
        }
    }

    fn mark(&mut self, mark: char, tokens: &[TokenTree], index: usize, around: &Range<usize>) -> usize {
        match mark {
            '#' if is_doc(tokens, index) => return index + if is_mark(tokens, index + 1, '!') { 3 } else { 2 },
            '|' if opens_closure(tokens, index) => self.closure(tokens, index, around),
            '=' if is_mark(tokens, index + 1, '>') && is_joint(tokens, index) => self.arm(tokens, index, around),
            _ => {}
        }
        index + 1
    }

    fn word(&mut self, word: &str, tokens: &[TokenTree], index: usize, around: &Range<usize>) -> usize {
        match word {
            "mod" => {
                if let (Some(name), Some(body)) = (ident(tokens, index + 1), next_brace(tokens, index + 2)) {
                    return self.within(name, tokens, body, None);
                }
            }
            "trait" => {
                if let (Some(name), Some(body)) = (ident(tokens, index + 1), next_brace(tokens, index + 2)) {
                    let owner = Owner { name: name.clone(), of_trait: Some(name.clone()), is_trait: true };
                    return self.within(name, tokens, body, Some(owner));
                }
            }
            "impl" => {
                if let Some(body) = next_brace(tokens, index + 1) {
                    let (name, of_trait) = implemented_type(&tokens[index + 1..body]);
                    let owner = Owner { name: name.clone(), of_trait, is_trait: false };
                    return self.within(name, tokens, body, Some(owner));
                }
            }
            "fn" => {
                if let Some(name) = ident(tokens, index + 1) {
                    return self.function(name, tokens, index);
                }
            }
            "const" | "static" => self.item(tokens, index),
            "let" => self.variable(tokens, index, around),
            "for" => self.loop_variable(tokens, index),
            "use" => return self.import(tokens, index),
            "macro_rules" => self.definition(tokens, index, around),
            _ => self.call(word, tokens, index),
        }
        index + 1
    }

    /// Scans a module, `impl` or `trait` under its name.
    fn within(&mut self, name: String, tokens: &[TokenTree], body: usize, owner: Option<Owner>) -> usize {
        let function = self.function.take();
        self.container.push(name);
        if let Some(TokenTree::Group(group)) = tokens.get(body) {
            let place = self.place(group.span());
            match &owner {
                Some(owner) => self.found.owners.push((place, owner.clone())),
                None => self.found.modules.push((place, self.container.clone())),
            }
            let outer = std::mem::replace(&mut self.owner, owner);
            self.group(group);
            self.owner = outer;
        }
        self.container.pop();
        self.function = function;
        body + 1
    }

    pub(super) fn place(&self, span: proc_macro2::Span) -> Range<usize> {
        self.found.range(span)
    }
}

/// `#[doc …]` or `#![doc …]`
fn is_doc(tokens: &[TokenTree], index: usize) -> bool {
    let group = tokens.get(index + 1 + usize::from(is_mark(tokens, index + 1, '!')));
    let Some(TokenTree::Group(group)) = group else { return false };
    matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc")
}

#[cfg(test)]
mod tests {
    use super::super::tests::scan;
    use super::*;

    #[test]
    fn literals_are_found_everywhere_but_in_documentation() {
        let text = "\u{feff}#!/usr/bin/run\n/// \"doc\"\n#[doc = \"no\"] const É: &str = \"é\"; m! { x => r#\"b\"# } //! \"c\"\n#[path = \"d\"]";
        let file = scan(text);
        let found: Vec<&str> = file.literals.iter().map(|range| &text[range.clone()]).collect();
        assert_eq!(found, ["\"é\"", "r#\"b\"#", "\"d\""]);
    }

    #[test]
    fn deep_nesting_ends_nothing() {
        for open in ["(", "{", "[", "vec![", "use a::{", "fn f() {", "mod m {", "x => {", "|a| {"] {
            let close = match open.chars().last() {
                Some('(') => ")",
                Some('[') => "]",
                _ => "}",
            };
            assert!(scan(&(open.repeat(20_000) + &close.repeat(20_000))).too_deep.is_some(), "{open}");
        }
        assert!(RustFile::scan(&SourceFile::from_text("a.rs", "\"open")).is_err());
    }
}
