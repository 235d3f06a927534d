//! What a Rust file holds that matters here: names and what they are bound to, calls, string literals.
//!
//! This works on tokens, not on a syntax tree: much of the code in question stands in the arguments of macros
//! (`lazy_static!`, `vec!`, `assert!`), which are tokens only, and files that a parser refuses still give something.
//! Where tokens leave open whether a name is bound anew, it counts as bound to something unknown: that costs an
//! analysis, where the other way would give a wrong one.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use proc_macro2::{Delimiter, Group, LexError, TokenStream, TokenTree};

use crate::source::SourceFile;

/// Groups within groups, beyond which nobody writes kernels.
const MAX_DEPTH: usize = 128;

/// How far the end of a statement is looked for; most are shorter by far, and each word begins a search.
const MAX_STATEMENT: usize = 512;

/// Longer patterns are nobody's.
const MAX_PATTERN: usize = 128;

/// Everything found in one file.
#[derive(Debug)]
pub(super) struct RustFile {
    pub file: Arc<SourceFile>,
    /// Where the tokens begin.
    start: usize,
    /// Bindings by name, in the order of the source.
    bindings: BTreeMap<String, Vec<Binding>>,
    /// `use a::b::*`
    pub globs: Vec<(Range<usize>, Vec<String>)>,
    /// Every call `name(…)`, for whoever knows which names matter.
    pub calls: Vec<Call>,
    /// Where string literals stand, but for those in `#[doc = "…"]`.
    pub literals: Vec<Range<usize>>,
    functions: Vec<Function>,
    modules: Vec<(Range<usize>, Vec<String>)>,
    /// Whether there was more nesting than is looked into.
    pub is_too_deep: bool,
}

/// A name and what it stands for.
#[derive(Debug)]
pub(super) struct Binding {
    /// Bytes of the file where the name means this.
    pub visible: Range<usize>,
    /// Modules, then the type of the `impl`, around it, inside of this file.
    pub container: Vec<String>,
    pub value: Value,
    /// Body of the function that a local variable belongs to; `None` for items, which inner functions see too.
    local_to: Option<usize>,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    Expression(TokenStream),
    /// What a variable has at first; it may change.
    Initial(TokenStream),
    /// Another name, from a `use`.
    Path(Vec<String>),
    Unknown(Unknown),
}

/// Why a name's value is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unknown {
    Parameter { function: String },
    ClosureParameter,
    LoopVariable,
    Pattern,
    Late,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter { function } => write!(f, "its text is a parameter of `{function}`"),
            Self::ClosureParameter => f.write_str("its text is a parameter of a closure"),
            Self::LoopVariable => f.write_str("its text is the variable of a loop"),
            Self::Pattern => f.write_str("its text is taken out of a value by a pattern"),
            Self::Late => f.write_str("its text is assigned after its declaration"),
        }
    }
}

/// A call by path.
#[derive(Debug)]
pub(super) struct Call {
    /// `["cudarc", "nvrtc", "compile_ptx"]`
    pub path: Vec<String>,
    pub arguments: TokenStream,
    /// From the path's last name to the closing parenthesis.
    pub range: Range<usize>,
}

#[derive(Debug)]
struct Function {
    name: String,
    body: Range<usize>,
}

impl RustFile {
    /// Looks through a file.
    ///
    /// # Errors
    /// The file is not made of Rust's tokens.
    pub fn scan(file: &Arc<SourceFile>) -> Result<Self, LexError> {
        let start = code_start(file.text());
        let tokens = TokenStream::from_str(&file.text()[start..])?;
        let found = Self {
            file: Arc::clone(file),
            start,
            bindings: BTreeMap::new(),
            globs: Vec::new(),
            calls: Vec::new(),
            literals: Vec::new(),
            functions: Vec::new(),
            modules: Vec::new(),
            is_too_deep: false,
        };
        let mut scanner = Scanner { found, container: Vec::new(), items_seen: 0..0, function: None, depth: 0 };
        let whole = start..file.text().len();
        scanner.list(tokens, whole.clone(), whole);
        Ok(scanner.found)
    }

    /// The nearest binding of a name; `Err` where two stand beside each other, as with `#[cfg]`.
    pub fn binding(&self, name: &str, at: usize) -> Result<Option<&Binding>, Ambiguous> {
        let function = self.function_at(at);
        let is_seen = |binding: &&Binding| {
            binding.visible.contains(&at) && (binding.local_to.is_none() || binding.local_to == function)
        };
        let seen = self.bindings.get(name).into_iter().flatten().filter(is_seen);
        let mut nearest: Vec<&Binding> = Vec::new();
        for binding in seen {
            match nearest.first().map(|best| best.visible.start.cmp(&binding.visible.start)) {
                Some(std::cmp::Ordering::Greater) => {}
                Some(std::cmp::Ordering::Equal) => nearest.push(binding),
                _ => nearest = vec![binding],
            }
        }
        if nearest.len() > 1 { Err(Ambiguous) } else { Ok(nearest.first().copied()) }
    }

    /// All values that a name may have at a place, of several bindings too, and first values of variables.
    pub fn values(&self, name: &str, at: usize) -> impl Iterator<Item = &TokenStream> {
        let seen = self.bindings.get(name).into_iter().flatten().filter(move |binding| binding.visible.contains(&at));
        seen.filter_map(|binding| match &binding.value {
            Value::Expression(value) | Value::Initial(value) => Some(value),
            _ => None,
        })
    }

    /// Items of this name anywhere in the file.
    pub fn items(&self, name: &str) -> impl Iterator<Item = &Binding> {
        self.bindings.get(name).into_iter().flatten().filter(|binding| binding.local_to.is_none())
    }

    /// Whether there is a function of this name.
    pub fn defines_function(&self, name: &str) -> bool {
        self.functions.iter().any(|function| function.name == name)
    }

    /// Whether there is an inline module, or an implementation for a type, of this name.
    pub fn has_container(&self, name: &str) -> bool {
        self.bindings.values().flatten().any(|binding| binding.container.iter().any(|container| container == name))
    }

    /// Inline modules around a place.
    pub fn modules_at(&self, at: usize) -> &[String] {
        let around = self.modules.iter().filter(|(range, _)| range.contains(&at));
        around.max_by_key(|(range, _)| range.start).map_or(&[], |(_, path)| path.as_slice())
    }

    fn function_at(&self, at: usize) -> Option<usize> {
        let around = self.functions.iter().filter(|function| function.body.contains(&at));
        around.map(|function| function.body.start).max()
    }

    /// Byte range of a span of something that was parsed from this file.
    pub fn range(&self, span: proc_macro2::Span) -> Range<usize> {
        let range = span.byte_range();
        range.start + self.start..range.end + self.start
    }
}

/// Several things have the same name at the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ambiguous;

/// After a byte order mark and a `#!` line, which are no tokens.
fn code_start(text: &str) -> usize {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let code = &text[mark..];
    let is_script = code.starts_with("#!") && !code[2..].trim_start().starts_with('[');
    if is_script { mark + code.find('\n').unwrap_or(code.len()) } else { mark }
}

struct Scanner {
    found: RustFile,
    container: Vec<String>,
    /// Where items of this list are seen: farther than the list, where it is the argument of a macro.
    items_seen: Range<usize>,
    /// Start of the innermost function's body.
    function: Option<usize>,
    depth: usize,
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

    /// Looks at one token and gives the index of the next to look at.
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

    fn group(&mut self, group: &Group) {
        self.group_with(group, self.place(group.span()));
    }

    fn group_with(&mut self, group: &Group, items_seen: Range<usize>) {
        if self.depth >= MAX_DEPTH {
            self.found.is_too_deep = true;
            return;
        }
        self.depth += 1;
        self.list(group.stream(), self.place(group.span()), items_seen);
        self.depth -= 1;
    }

    /// Doc comments come as literals whose text is not in the source.
    fn literal(&mut self, literal: &proc_macro2::Literal) {
        let range = self.place(literal.span());
        let source = self.found.file.text().get(range.clone()).unwrap_or("");
        // Of all literals only strings end like this.
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
            "mod" | "trait" => {
                if let (Some(name), Some(body)) = (ident(tokens, index + 1), next_brace(tokens, index + 2)) {
                    return self.within(name, tokens, body, word == "mod");
                }
            }
            "impl" => {
                if let Some(body) = next_brace(tokens, index + 1) {
                    return self.within(implemented_type(&tokens[index + 1..body]), tokens, body, false);
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
            _ => self.call(word, tokens, index),
        }
        index + 1
    }

    fn within(&mut self, name: String, tokens: &[TokenTree], body: usize, is_module: bool) -> usize {
        let function = self.function.take();
        self.container.push(name);
        if let Some(TokenTree::Group(group)) = tokens.get(body) {
            if is_module {
                self.found.modules.push((self.place(group.span()), self.container.clone()));
            }
            self.group(group);
        }
        self.container.pop();
        self.function = function;
        body + 1
    }

    fn function(&mut self, name: String, tokens: &[TokenTree], index: usize) -> usize {
        let is_parameters =
            |at: &usize| matches!(&tokens[*at], TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis);
        let Some(parameters) = outside_angles(tokens, index + 2).find(is_parameters) else { return index + 2 };
        let body = next_brace(tokens, parameters + 1);
        let (Some(TokenTree::Group(body_group)), TokenTree::Group(parameters_group)) =
            (body.and_then(|body| tokens.get(body)), &tokens[parameters])
        else {
            return parameters + 1;
        };
        let visible = self.place(body_group.span());
        let outer = self.function.replace(visible.start);
        self.found.functions.push(Function { name: name.clone(), body: visible.clone() });
        for parameter in names_in(parameters_group.stream()) {
            self.bind(parameter, visible.clone(), Value::Unknown(Unknown::Parameter { function: name.clone() }), true);
        }
        self.group(body_group);
        self.function = outer;
        body.map_or(parameters, |body| body) + 1
    }

    /// `const NAME: type = value;`, `static ref NAME: …`. What the value holds is looked at afterwards, token by token.
    fn item(&mut self, tokens: &[TokenTree], index: usize) {
        let is_mutable = ident(tokens, index + 1).is_some_and(|word| word == "mut");
        let is_prefixed = is_mutable || ident(tokens, index + 1).is_some_and(|word| word == "ref");
        let name_at = index + 1 + usize::from(is_prefixed);
        let Some(name) = ident(tokens, name_at).filter(|_| is_mark(tokens, name_at + 1, ':')) else { return };
        let Some((value, _)) = assigned(tokens, name_at + 1) else { return };
        let value = if is_mutable { Value::Initial(value) } else { Value::Expression(value) };
        self.bind(name, self.items_seen.clone(), value, false);
    }

    fn variable(&mut self, tokens: &[TokenTree], index: usize, around: &Range<usize>) {
        let previous = index.checked_sub(1).and_then(|previous| tokens.get(previous));
        let is_condition = match previous {
            Some(TokenTree::Ident(word)) => word == "if" || word == "while",
            Some(TokenTree::Punct(mark)) => mark.as_char() == '&' || mark.as_char() == '|',
            _ => false,
        };
        if is_condition {
            let end = top_level(tokens, index + 1, '=').unwrap_or(tokens.len());
            let body = self.next_body(tokens, end);
            return self.bind_unknown(&tokens[index + 1..end], &body, &Unknown::Pattern);
        }
        let is_mutable = ident(tokens, index + 1).is_some_and(|word| word == "mut");
        let name_at = index + 1 + usize::from(is_mutable);
        let end = top_level(tokens, index, ';').unwrap_or(tokens.len());
        let visible = tokens.get(end).map_or(around.end, |token| self.place(token.span()).end)..around.end;
        let value = assigned(tokens, name_at + 1);
        let is_plain =
            is_mark(tokens, name_at + 1, ':') || is_mark(tokens, name_at + 1, '=') || is_mark(tokens, name_at + 1, ';');
        match ident(tokens, name_at).filter(|_| is_plain && !is_mark_pair(tokens, name_at + 1, ':')) {
            Some(name) => {
                let value = match value {
                    Some((value, _)) if is_mutable => Value::Initial(value),
                    Some((value, _)) => Value::Expression(value),
                    None => Value::Unknown(Unknown::Late),
                };
                self.bind(name, visible, value, true);
            }
            None => {
                let pattern_end = top_level(tokens, index + 1, '=').unwrap_or(end).min(end);
                self.bind_unknown(&tokens[index + 1..pattern_end], &visible, &Unknown::Pattern);
            }
        }
    }

    fn loop_variable(&mut self, tokens: &[TokenTree], index: usize) {
        let body = next_brace(tokens, index + 1).unwrap_or(tokens.len());
        let is_in = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "in");
        if let Some(length) = tokens[index + 1..body].iter().position(is_in) {
            let visible = self.next_body(tokens, index + 1 + length);
            self.bind_unknown(&tokens[index + 1..index + 1 + length], &visible, &Unknown::LoopVariable);
        }
    }

    fn closure(&mut self, tokens: &[TokenTree], index: usize, around: &Range<usize>) {
        let Some(close) = (index + 1..tokens.len().min(index + MAX_PATTERN)).find(|at| is_mark(tokens, *at, '|'))
        else {
            return;
        };
        let visible = self.up_to_separator(tokens, close + 1, around);
        self.bind_unknown(&tokens[index + 1..close], &visible, &Unknown::ClosureParameter);
    }

    /// The arm of a `match`: names before `=>` are bound after it.
    fn arm(&mut self, tokens: &[TokenTree], index: usize, around: &Range<usize>) {
        let ends_arm = |token: &TokenTree| match token {
            TokenTree::Punct(mark) => mark.as_char() == ',' || mark.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        let from = index.saturating_sub(MAX_PATTERN);
        let start = tokens[from..index].iter().rposition(ends_arm).map_or(from, |end| from + end + 1);
        let visible = self.up_to_separator(tokens, index + 2, around);
        self.bind_unknown(&tokens[start..index], &visible, &Unknown::Pattern);
    }

    fn import(&mut self, tokens: &[TokenTree], index: usize) -> usize {
        let end = top_level(tokens, index, ';').unwrap_or(index);
        let visible = self.items_seen.clone();
        self.use_tree(tokens.get(index + 1..end).unwrap_or_default(), &[], &visible, 0);
        end.max(index) + 1
    }

    fn use_tree(&mut self, tokens: &[TokenTree], prefix: &[String], around: &Range<usize>, depth: usize) {
        let mut path = prefix.to_vec();
        let mut rest = tokens.iter().filter(|token| !matches!(token, TokenTree::Punct(mark) if mark.as_char() == ':'));
        while let Some(token) = rest.next() {
            match token {
                TokenTree::Ident(word) if word == "as" => {
                    if let Some(TokenTree::Ident(name)) = rest.next() {
                        self.bind(name.to_string(), around.clone(), Value::Path(path), false);
                    }
                    return;
                }
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Punct(mark) if mark.as_char() == '*' => {
                    return self.found.globs.push((around.clone(), path));
                }
                TokenTree::Group(group) if depth < MAX_DEPTH => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    let parts = inner.split(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ','));
                    return parts.for_each(|part| self.use_tree(part, &path, around, depth + 1));
                }
                _ => return,
            }
        }
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if let Some(name) = path.last().filter(|_| path.len() > 1 && !tokens.is_empty()) {
            self.bind(name.clone(), around.clone(), Value::Path(path.clone()), false);
        }
    }

    fn call(&mut self, word: &str, tokens: &[TokenTree], index: usize) {
        let previous = |back: usize| index.checked_sub(back).and_then(|previous| tokens.get(previous));
        let is_method = matches!(previous(1), Some(TokenTree::Punct(mark)) if mark.as_char() == '.');
        let arguments = match is_mark_pair(tokens, index + 1, ':') && is_mark(tokens, index + 3, '<') {
            true => after_angles(tokens, index + 3),
            false => index + 1,
        };
        let Some(TokenTree::Group(group)) = tokens.get(arguments) else { return };
        if is_method || group.delimiter() != Delimiter::Parenthesis {
            return;
        }
        let mut path = vec![word.to_string()];
        let mut at = index;
        while at >= 3 && is_mark_pair(tokens, at - 2, ':') {
            let Some(name) = ident(tokens, at - 3) else { break };
            path.insert(0, name);
            at -= 3;
        }
        let range = self.place(tokens[index].span()).start..self.place(group.span()).end;
        self.found.calls.push(Call { path, arguments: group.stream(), range });
    }

    fn bind(&mut self, name: String, visible: Range<usize>, value: Value, is_local: bool) {
        let local_to = if is_local { self.function } else { None };
        let binding = Binding { visible, container: self.container.clone(), value, local_to };
        self.found.bindings.entry(name).or_default().push(binding);
    }

    fn bind_unknown(&mut self, pattern: &[TokenTree], visible: &Range<usize>, why: &Unknown) {
        if pattern.len() > MAX_PATTERN {
            self.found.is_too_deep = true;
            return;
        }
        for name in names_in(pattern.iter().cloned().collect()) {
            self.bind(name, visible.clone(), Value::Unknown(why.clone()), true);
        }
    }

    /// The braces that follow.
    fn next_body(&self, tokens: &[TokenTree], from: usize) -> Range<usize> {
        next_brace(tokens, from).and_then(|body| tokens.get(body)).map_or(0..0, |body| self.place(body.span()))
    }

    fn up_to_separator(&self, tokens: &[TokenTree], from: usize, around: &Range<usize>) -> Range<usize> {
        let is_separator = |token: &&TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',' || mark.as_char() == ';');
        let rest = tokens.get(from..).unwrap_or_default();
        let start = rest.first().map_or(around.end, |token| self.place(token.span()).start);
        start
            ..rest
                .iter()
                .take(MAX_STATEMENT)
                .find(is_separator)
                .map_or(around.end, |token| self.place(token.span()).start)
    }

    fn place(&self, span: proc_macro2::Span) -> Range<usize> {
        self.found.range(span)
    }
}

fn ident(tokens: &[TokenTree], index: usize) -> Option<String> {
    match tokens.get(index) {
        Some(TokenTree::Ident(name)) => Some(name.to_string()),
        _ => None,
    }
}

fn is_mark(tokens: &[TokenTree], index: usize, mark: char) -> bool {
    matches!(tokens.get(index), Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

fn is_joint(tokens: &[TokenTree], index: usize) -> bool {
    matches!(tokens.get(index), Some(TokenTree::Punct(punct)) if punct.spacing() == proc_macro2::Spacing::Joint)
}

/// `::`
fn is_mark_pair(tokens: &[TokenTree], index: usize, mark: char) -> bool {
    is_mark(tokens, index, mark) && is_joint(tokens, index) && is_mark(tokens, index + 1, mark)
}

/// `#[doc …]` or `#![doc …]`
fn is_doc(tokens: &[TokenTree], index: usize) -> bool {
    let group = tokens.get(index + 1 + usize::from(is_mark(tokens, index + 1, '!')));
    let Some(TokenTree::Group(group)) = group else { return false };
    matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc")
}

/// Whether `|` begins a closure: it does not where an operand stands before it.
fn opens_closure(tokens: &[TokenTree], index: usize) -> bool {
    match index.checked_sub(1).and_then(|previous| tokens.get(previous)) {
        None => true,
        Some(TokenTree::Punct(mark)) => !matches!(mark.as_char(), '|' | '?' | '>'),
        Some(TokenTree::Ident(word)) => {
            ["move", "return", "static", "async", "else", "in", "match"].iter().any(|other| word == other)
        }
        Some(_) => false,
    }
}

/// The next braces before the end of the statement.
fn next_brace(tokens: &[TokenTree], from: usize) -> Option<usize> {
    let rest = tokens.get(from..)?;
    let length = rest.iter().take(MAX_STATEMENT).position(|token| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(mark) => mark.as_char() == ';',
        _ => false,
    })?;
    matches!(rest.get(length), Some(TokenTree::Group(_))).then_some(from + length)
}

/// Where `mark` next stands as itself.
fn top_level(tokens: &[TokenTree], from: usize, mark: char) -> Option<usize> {
    (from..tokens.len().min(from + MAX_STATEMENT)).find(|at| stands_alone(tokens, *at, mark))
}

/// Whether `mark` stands here, and not as a part of `==`, `=>` or `<=`.
fn stands_alone(tokens: &[TokenTree], at: usize, mark: char) -> bool {
    let continues =
        at.checked_sub(1).is_some_and(|previous| is_joint(tokens, previous) && !is_mark(tokens, previous, '>'));
    // `=&x` is lexed as two marks joined, and still an assignment.
    let continued = is_joint(tokens, at) && (is_mark(tokens, at + 1, '=') || is_mark(tokens, at + 1, '>'));
    is_mark(tokens, at, mark) && (mark == ';' || !(continues || continued))
}

/// The tokens between `=` and `;` that follow a declared name, and the index of the `;`.
fn assigned(tokens: &[TokenTree], from: usize) -> Option<(TokenStream, usize)> {
    let end = top_level(tokens, from, ';').unwrap_or(tokens.len());
    let equals = outside_angles(tokens, from).take_while(|at| *at < end).find(|at| stands_alone(tokens, *at, '='))?;
    Some((tokens.get(equals + 1..end)?.iter().cloned().collect(), end))
}

/// Indices that are not between `<` and `>`; only where types are to be skipped.
fn outside_angles(tokens: &[TokenTree], from: usize) -> impl Iterator<Item = usize> {
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

/// The index behind the `>` that closes the `<` at `from`.
fn after_angles(tokens: &[TokenTree], from: usize) -> usize {
    outside_angles(tokens, from).next().unwrap_or(tokens.len())
}

/// Names that a pattern may bind: those that are not written as constants and types are.
fn names_in(pattern: TokenStream) -> Vec<String> {
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

/// The last name of the type that an `impl` is for, from the tokens between `impl` and its braces.
fn implemented_type(tokens: &[TokenTree]) -> String {
    let is_word = |at: usize, word: &str| matches!(&tokens[at], TokenTree::Ident(name) if name == word);
    let plain: Vec<usize> = outside_angles(tokens, 0).collect();
    let end = plain.iter().position(|at| is_word(*at, "where")).unwrap_or(plain.len());
    let start = plain[..end].iter().position(|at| is_word(*at, "for")).map_or(0, |at| at + 1);
    plain[start..end].iter().filter_map(|at| ident(tokens, *at)).next_back().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> RustFile {
        RustFile::scan(&SourceFile::from_text("a.rs", text)).unwrap()
    }

    /// What `name` is bound to where `@` stands; the `@` is taken out.
    fn bound(name: &str, text: &str) -> String {
        let at = text.find('@').unwrap();
        let file = scan(&text.replace('@', " "));
        match file.binding(name, at) {
            Err(Ambiguous) => "ambiguous".to_string(),
            Ok(None) => "nothing".to_string(),
            Ok(Some(binding)) => match &binding.value {
                Value::Expression(tokens) => tokens.to_string(),
                Value::Path(path) => path.join("::"),
                Value::Initial(_) => "mutable".to_string(),
                Value::Unknown(why) => format!("{why:?}"),
            },
        }
    }

    #[test]
    fn items_are_seen_where_rust_sees_them() {
        assert_eq!(bound("S", "fn f() { @ } const S: &str = \"a\";"), "\"a\"");
        assert_eq!(bound("S", "const S: &'static str=&\"a\"; mod m { @ }"), "& \"a\"");
        assert_eq!(bound("S", "fn f() { const S: &str = \"b\"; @ } const S: &str = \"a\";"), "\"b\"");
        assert_eq!(bound("S", "mod m { const S: &str = \"b\"; } @"), "nothing");
        assert_eq!(bound("S", "const S: A<B = C> = \"a\"; @"), "\"a\"");
        assert_eq!(bound("S", "lazy_static! { static ref S: &'static str = \"a\"; } @"), "\"a\"");
        assert_eq!(bound("S", "#[cfg(a)] const S: &str = \"a\"; #[cfg(b)] const S: &str = \"b\"; @"), "ambiguous");
        assert_eq!(bound("S", "static mut S: &str = \"a\"; @"), "mutable");
        assert_eq!(bound("S", "impl<T: Fn() -> u8> A<T> for B { const S: &str = \"a\"; fn f() { @ } }"), "\"a\"");
    }

    #[test]
    fn variables_are_seen_after_their_statement() {
        assert_eq!(bound("s", "fn f() { let s = \"a\"; @ }"), "\"a\"");
        assert_eq!(bound("s", "fn f() { @ let s = \"a\"; }"), "nothing");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; { let s: &str = \"b\"; } @ }"), "\"a\"");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; fn g() { @ } }"), "nothing");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; let g = || { @ }; }"), "\"a\"");
        assert_eq!(bound("s", "fn f() { let mut s = \"a\"; @ }"), "mutable");
        assert_eq!(bound("s", "fn f() { let s; s = 1; @ }"), "Late");
        assert_eq!(bound("s", "fn f() { let (s, t) = g(); @ }"), "Pattern");
        assert_eq!(bound("s", "fn f() { let Some(s) = g() else { return }; @ }"), "Pattern");
    }

    #[test]
    fn names_that_are_bound_anew_are_unknown() {
        let parameter = "Parameter { function: \"f\" }";
        assert_eq!(bound("s", "const s: u8 = 1; fn f<F: Fn(u8)>(a: u8, s: &str) -> u8 { @ }"), parameter);
        assert_eq!(bound("s", "fn f() { let s = \"a\"; for (i, s) in x { @ } }"), "LoopVariable");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; for (i, s) in x { } @ }"), "\"a\"");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; x.map(|s| g(@)); }"), "ClosureParameter");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; x.map(move |&(s, _)| { @ }); }"), "ClosureParameter");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; if let Some(s) = x { @ } }"), "Pattern");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; match x { A | B => {} Some(s) => { @ } } }"), "Pattern");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; match x { Some(s) => g(@), _ => h() } }"), "Pattern");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; match x { Some(s) => 1, _ => h(@) } }"), "\"a\"");
    }

    #[test]
    fn imports_are_paths() {
        assert_eq!(bound("S", "use a::b::S; @"), "a::b::S");
        assert_eq!(bound("T", "use a::{b::{S as T, self}, c}; @"), "a::b::S");
        assert_eq!(bound("b", "use a::{b::{S as T, self}, c}; @"), "a::b");
        assert_eq!(bound("c", "pub(crate) use a::{b::*, c}; @"), "a::c");
        assert_eq!(scan("use a::{b::*, c};").globs[0].1, ["a", "b"]);
    }

    #[test]
    fn calls_have_their_whole_path() {
        let file = scan("fn f(a: u8) { a::b::<u8, C>(1)?; x.c(2); ::d::e(3); vec![g(4)]; }");
        let paths: Vec<String> = file.calls.iter().map(|call| call.path.join("::")).collect();
        assert_eq!(paths, ["a::b", "d::e", "g"]);
        assert_eq!(file.calls[0].arguments.to_string(), "1");
    }

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
            assert!(
                scan(&(open.repeat(20_000) + &close.repeat(20_000))).is_too_deep || open.starts_with("use"),
                "{open}"
            );
        }
        assert!(RustFile::scan(&SourceFile::from_text("a.rs", "\"open")).is_err());
    }
}
