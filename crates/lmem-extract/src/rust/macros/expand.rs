//! Finds macro calls and replaces them by their expansion.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;
use std::str::FromStr;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use lmem_unit::MappedText;

use super::definition::Definition;
use super::matching::{choose, is_compound};
use super::places::Expanded;
use super::transcribe::{Transcriber, variables_of};
use crate::rust::fold::parse::parse;
use crate::rust::macros::places::Places;
use crate::rust::scan::calls::path_before;
use crate::rust::scan::tokens::{ident, is_mark};

/// Limit on nested macro calls.
const MAX_DEPTH: usize = 32;

/// Limit on nested groups.
const MAX_GROUPS: usize = 128;

/// Limit on the expanded text of one file, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// Limit on tokens scanned for one file; repeated scans count again.
const MAX_TOKENS: usize = 4_000_000;

/// What may still be expanded in a run, of all files together. An expanded text takes some ninety times its bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    tokens: usize,
    bytes: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { tokens: 10 * MAX_TOKENS, bytes: 8 * MAX_BYTES }
    }
}

/// A macro call.
pub(crate) struct Expansion<'a> {
    pub path: &'a [String],
    /// Offset in the file of the call, or of the outermost macro call around it.
    pub at: usize,
    /// The text of the call.
    pub text: &'a str,
    /// The file of the macro that produced the call; `None` if the call is written in the file itself.
    pub from: Option<usize>,
}

/// The resolution of a macro name.
pub(crate) enum CallMeaning {
    /// A macro that is not expanded.
    Other,
    /// A macro, its index, and the meaning of `$crate` in it.
    Macro { definition: Rc<Definition>, number: usize, own_crate: String },
}

/// Expands the macros of one file.
pub(crate) struct Expander<'a> {
    meaning: &'a mut dyn FnMut(&Expansion<'_>) -> CallMeaning,
    /// Macros that are not understood, by index, with the reason.
    pub failures: Vec<(usize, String)>,
    room: Room,
    left: usize,
    bytes_left: usize,
    count: usize,
}

/// The text around the current call.
struct Caller<'a> {
    text: &'a MappedText,
    /// Offset of the first token.
    start: usize,
    /// All names in the text, for hygiene.
    words: &'a Words<'a>,
    /// Offset of the outermost call in the file; `None` if this text is the file itself.
    at: Option<usize>,
    from: Option<usize>,
    depth: usize,
}

/// The names in a text, and those in the texts that the calls around it stand in.
struct Words<'a> {
    own: BTreeSet<String>,
    outer: Option<&'a Words<'a>>,
}

impl<'a> Words<'a> {
    fn of(tokens: &TokenStream, outer: Option<&'a Self>) -> Self {
        let mut own = BTreeSet::new();
        names_in(tokens, &mut own);
        Self { own, outer }
    }

    fn contains(&self, name: &str) -> bool {
        self.own.contains(name) || self.outer.is_some_and(|outer| outer.contains(name))
    }
}

struct Replacement {
    range: Range<usize>,
    text: MappedText,
    definitions: Vec<usize>,
}

impl<'a> Expander<'a> {
    /// `room` is what the files before have left.
    pub fn new(meaning: &'a mut dyn FnMut(&Expansion<'_>) -> CallMeaning, room: Room) -> Self {
        let (left, bytes_left) = (room.tokens.min(MAX_TOKENS), room.bytes.min(MAX_BYTES));
        Self { meaning, failures: Vec::new(), room, left, bytes_left, count: 0 }
    }

    /// What this file leaves for others.
    pub fn room(&self) -> Room {
        let Room { tokens, bytes } = self.room;
        Room {
            tokens: tokens - (tokens.min(MAX_TOKENS) - self.left),
            bytes: bytes - (bytes.min(MAX_BYTES) - self.bytes_left),
        }
    }

    /// The code with its macros expanded; `None` if no macro can be expanded.
    pub fn file(&mut self, text: &MappedText, start: usize) -> Option<Places> {
        let tokens = TokenStream::from_str(text.as_str().get(start..)?).ok()?;
        let words = Words::of(&tokens, None);
        let caller = Caller { text, start, words: &words, at: None, from: None, depth: 0 };
        let replacements = self.replacements(&caller, tokens);
        if replacements.is_empty() {
            return None;
        }
        let mut expansions = Vec::new();
        let text = replaced(text, replacements, |range, replacement| {
            let span = text.span(replacement.range.clone())?;
            expansions.push(Expanded { range, span, definitions: replacement.definitions.clone() });
            Some(())
        });
        Some(Places { text, expansions })
    }

    fn replacements(&mut self, caller: &Caller<'_>, tokens: TokenStream) -> Vec<Replacement> {
        let mut found = Vec::new();
        self.list(caller, tokens, 0, &mut found);
        found
    }

    fn list(&mut self, caller: &Caller<'_>, tokens: TokenStream, groups: usize, found: &mut Vec<Replacement>) {
        if groups > MAX_GROUPS {
            return;
        }
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            let called = ident(&tokens, at).filter(|_| is_mark(&tokens, at + 1, '!'));
            match (called.as_deref(), &tokens[at]) {
                // A definition is not code; its body becomes code at the call.
                (Some("macro_rules"), _) => at += 4,
                // `stringify!` does not expand its arguments.
                (Some("stringify"), _) => at += 3,
                (Some(name), _) => {
                    let path = path_before(name, &tokens, at);
                    match tokens.get(at + 2) {
                        Some(TokenTree::Group(_)) => match self.call(caller, &path, &tokens, at) {
                            Some(replacement) => {
                                found.push(replacement);
                                at += 3;
                            }
                            None => at += 2,
                        },
                        _ => at += 2,
                    }
                }
                (None, TokenTree::Group(group)) => {
                    self.list(caller, group.stream(), groups + 1, found);
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }

    /// The expansion of a call.
    fn call(&mut self, caller: &Caller<'_>, path: &[String], tokens: &[TokenTree], at: usize) -> Option<Replacement> {
        let TokenTree::Group(group) = tokens.get(at + 2)? else { return None };
        let place = |span: proc_macro2::Span| {
            let range = span.byte_range();
            range.start + caller.start..range.end + caller.start
        };
        // Each qualifier of the path has three tokens: a name and two colons.
        let start = place(tokens[at.checked_sub(3 * (path.len() - 1))?].span()).start;
        let range = start..place(group.span()).end;
        let text = caller.text.as_str().get(range.clone())?;
        let at = caller.at.unwrap_or(start);
        let call = Expansion { path, at, text, from: caller.from };
        let CallMeaning::Macro { definition, number, own_crate } = (self.meaning)(&call) else { return None };
        match self.expanded(caller, at, &definition, number, &own_crate, group) {
            Ok((text, mut definitions)) => {
                definitions.insert(0, number);
                Some(Replacement { range, text, definitions })
            }
            Err(reason) => {
                self.failures.push((number, reason));
                None
            }
        }
    }

    fn expanded(
        &mut self,
        caller: &Caller<'_>,
        at: usize,
        definition: &Definition,
        number: usize,
        own_crate: &str,
        arguments: &Group,
    ) -> Result<(MappedText, Vec<usize>), String> {
        if caller.depth >= MAX_DEPTH {
            return Err("it calls itself more often than is followed".to_string());
        }
        let arms = definition.code.arms.as_ref().map_err(Clone::clone)?;
        let (arm, bindings) = choose(arms, &arguments.stream(), &mut self.left)?;
        self.count += 1;
        let renamed = variables_of(&arm.body).into_iter().filter(|name| caller.words.contains(name)).collect();
        let mut transcriber = Transcriber {
            code: &definition.code,
            caller: caller.text,
            caller_start: caller.start,
            own_crate,
            renamed: &renamed,
            number: self.count,
            rounds: 0,
        };
        let text = transcriber.body(&arm.body, &bindings)?;
        let too_long = || "it becomes more text than is followed".to_string();
        self.bytes_left = self.bytes_left.checked_sub(text.as_str().len()).ok_or_else(too_long)?;
        let tokens = TokenStream::from_str(text.as_str()).map_err(|_| "what it becomes is not Rust".to_string())?;
        // The expansion is one operand: operators around the call must not regroup it.
        let is_apart = arguments.delimiter() != Delimiter::Brace
            && parse(tokens.clone()).is_ok_and(|expression| is_compound(&expression));
        let words = Words::of(&tokens, Some(caller.words));
        let inner = Caller {
            text: &text,
            start: 0,
            words: &words,
            at: Some(at),
            from: Some(definition.file),
            depth: caller.depth + 1,
        };
        let failures = self.failures.len();
        let replacements = self.replacements(&inner, tokens);
        if let Some((_, reason)) = self.failures[failures..].iter().find(|(failed, _)| *failed == number) {
            return Err(reason.clone());
        }
        let definitions = replacements.iter().flat_map(|inner| inner.definitions.clone()).collect();
        let inner = replaced(&text, replacements, |_, _| Some(()));
        let mut whole = MappedText::default();
        whole.push_generated(if is_apart { " (" } else { " " });
        whole.append(&inner);
        whole.push_generated(if is_apart { ") " } else { " " });
        Ok((whole, definitions))
    }
}

/// A text with pieces replaced; `note` gets the new range of each replacement.
fn replaced(
    text: &MappedText,
    replacements: Vec<Replacement>,
    mut note: impl FnMut(Range<usize>, &Replacement) -> Option<()>,
) -> MappedText {
    let mut whole = MappedText::default();
    let mut end = 0;
    for replacement in replacements {
        whole.append(&text.slice(end..replacement.range.start));
        let start = whole.as_str().len();
        whole.append(&replacement.text);
        note(start..whole.as_str().len(), &replacement);
        end = replacement.range.end;
    }
    whole.append(&text.slice(end..text.as_str().len()));
    whole
}

/// All names in tokens, except those in macro definitions.
fn names_in(tokens: &TokenStream, found: &mut BTreeSet<String>) {
    let mut waiting = vec![tokens.clone()];
    while let Some(tokens) = waiting.pop() {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(name) => _ = found.insert(name.to_string()),
                TokenTree::Group(group) => {
                    let is_definition = at >= 3 && ident(&tokens, at - 3).is_some_and(|word| word == "macro_rules");
                    if !is_definition {
                        waiting.push(group.stream());
                    }
                }
                _ => {}
            }
        }
    }
}
