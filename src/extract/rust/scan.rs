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

/// Patterns within patterns.
const MAX_PATTERN_DEPTH: usize = 8;

/// Tokens of a file that are looked at for what becomes of variables; each may be for many of them.
const MAX_FOLLOWED: usize = 20_000_000;

/// Statements that add to one string.
const MAX_PIECES: usize = 64;

/// Methods that leave a string as it is.
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

/// Words before `Name { … }` that make it something else than a value.
const NOT_BEFORE_STRUCTURES: [&str; 13] =
    ["struct", "enum", "union", "trait", "impl", "for", "mod", "dyn", "where", "in", "match", "if", "while"];

/// Words that end what a method may be called on.
const NOT_IN_RECEIVERS: [&str; 14] =
    ["return", "let", "if", "else", "match", "in", "move", "mut", "break", "while", "unsafe", "as", "ref", "loop"];

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
    /// Every call `name(…)` and `x.name(…)`, for whoever knows which names matter.
    pub calls: Vec<Call>,
    /// Every `Name { … }` that makes a structure.
    pub structures: Vec<Structure>,
    /// Every `name!(…)`.
    pub macros: Vec<MacroCall>,
    /// Where string literals stand, but for those in `#[doc = "…"]`.
    pub literals: Vec<Range<usize>>,
    /// In the order of their bodies' starts.
    pub functions: Vec<Function>,
    modules: Vec<(Range<usize>, Vec<String>)>,
    owners: Vec<(Range<usize>, Owner)>,
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
    /// The trait that it belongs to, by its declaration or by an `impl`.
    pub of_trait: Option<String>,
    /// Not one of a `trait`'s own, which others may replace.
    pub is_final: bool,
    /// A constant of an `impl` or a `trait`: only `Self::` and the type's name lead to it.
    is_associated: bool,
    pub value: Value,
    /// Body of the function that a local variable belongs to; `None` for items, which inner functions see too.
    local_to: Option<usize>,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    Expression(TokenStream),
    /// Pieces that a string is put together from, one statement after the other.
    Sum(Vec<TokenStream>),
    /// A part of a value: an element of what a loop goes through, a member that a pattern takes out.
    Part {
        of: TokenStream,
        is_element: bool,
        members: Vec<String>,
        why: Unknown,
    },
    /// What a variable has at first; it may change.
    Initial(TokenStream),
    /// Another name, from a `use`.
    Path(Vec<String>),
    Unknown(Unknown),
}

/// Why a name's value is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unknown {
    Parameter { function: String, body: usize, index: Option<usize> },
    ClosureParameter,
    LoopVariable,
    Pattern,
    Late,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter { function, .. } => write!(f, "its text is a parameter of `{function}`"),
            Self::ClosureParameter => f.write_str("its text is a parameter of a closure"),
            Self::LoopVariable => f.write_str("its text is the variable of a loop"),
            Self::Pattern => f.write_str("its text is taken out of a value by a pattern"),
            Self::Late => f.write_str("its text is assigned after its declaration"),
        }
    }
}

/// A call by path, or of a method.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// `["cudarc", "nvrtc", "compile_ptx"]`; a method's name alone.
    pub path: Vec<String>,
    pub is_method: bool,
    /// What a method is called on.
    pub receiver: TokenStream,
    pub arguments: TokenStream,
    /// From the path's last name to the closing parenthesis.
    pub range: Range<usize>,
}

/// `Name { member: value, … }`
#[derive(Debug)]
pub(super) struct Structure {
    pub name: String,
    pub at: usize,
    pub members: TokenStream,
}

#[derive(Debug, Clone)]
pub(super) struct MacroCall {
    pub name: String,
    pub arguments: TokenStream,
    pub range: Range<usize>,
}

/// A function with a body.
#[derive(Debug)]
pub(super) struct Function {
    pub name: String,
    pub body: Range<usize>,
    pub tokens: TokenStream,
    /// Names of the parameters but for `self`; none where it is a pattern, or may be written.
    pub parameters: Vec<Option<String>>,
    pub has_self: bool,
    /// The `impl` or `trait` that it stands in.
    pub owner: Option<Owner>,
    /// Modules and the type around it, inside of this file.
    pub container: Vec<String>,
}

/// An `impl` or a `trait`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    /// The type, or the trait's own name.
    pub name: String,
    pub of_trait: Option<String>,
    pub is_trait: bool,
}

impl Binding {
    /// A variable, in a function or anywhere else.
    pub fn is_local(&self) -> bool {
        self.local_to.is_some()
    }
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
            structures: Vec::new(),
            macros: Vec::new(),
            literals: Vec::new(),
            functions: Vec::new(),
            modules: Vec::new(),
            owners: Vec::new(),
            is_too_deep: false,
        };
        let mut scanner = Scanner {
            found,
            container: Vec::new(),
            items_seen: 0..0,
            function: None,
            owner: None,
            depth: 0,
            left_to_follow: MAX_FOLLOWED,
        };
        let whole = start..file.text().len();
        scanner.list(tokens, whole.clone(), whole);
        scanner.found.functions.sort_by_key(|function| function.body.start);
        Ok(scanner.found)
    }

    /// The nearest binding of a name; `Err` where two stand beside each other, as with `#[cfg]`.
    pub fn binding(&self, name: &str, at: usize) -> Result<Option<&Binding>, Ambiguous> {
        match self.nearest(name, at).as_slice() {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            _ => Err(Ambiguous),
        }
    }

    /// The nearest bindings of a name; several where they stand beside each other, as with `#[cfg]`.
    pub fn nearest(&self, name: &str, at: usize) -> Vec<&Binding> {
        let function = self.function_at(at);
        let is_seen = |binding: &&Binding| {
            !binding.is_associated
                && binding.visible.contains(&at)
                && (binding.local_to.is_none() || binding.local_to == function)
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
        nearest
    }

    /// The constants of this name in the `impl` or `trait` around a place.
    pub fn associated(&self, name: &str, at: usize) -> Vec<&Binding> {
        let bindings = self.bindings.get(name).into_iter().flatten();
        bindings.filter(|binding| binding.is_associated && binding.visible.contains(&at)).collect()
    }

    /// All values that a name may have at a place, of several bindings too, and first values of variables.
    pub fn values(&self, name: &str, at: usize) -> impl Iterator<Item = &TokenStream> {
        let seen = self.bindings.get(name).into_iter().flatten().filter(move |binding| binding.visible.contains(&at));
        seen.flat_map(|binding| match &binding.value {
            Value::Expression(value) | Value::Initial(value) | Value::Part { of: value, .. } => {
                std::slice::from_ref(value)
            }
            Value::Sum(values) => values.as_slice(),
            Value::Path(_) | Value::Unknown(_) => &[],
        })
    }

    /// The variable whose value a place lies in, and where it is seen.
    pub fn variable_made_at(&self, at: usize) -> Option<(String, Range<usize>)> {
        let holds = |tokens: &TokenStream| {
            let mut places = tokens.clone().into_iter().map(|token| self.range(token.span()));
            places.any(|place| place.contains(&at))
        };
        let is_made = |binding: &&Binding| {
            binding.is_local()
                && match &binding.value {
                    Value::Expression(value) | Value::Initial(value) => holds(value),
                    Value::Sum(values) => values.iter().any(holds),
                    _ => false,
                }
        };
        let made = self.bindings.iter().flat_map(|(name, bindings)| {
            bindings.iter().filter(is_made).map(|binding| (name.clone(), binding.visible.clone()))
        });
        // Of values within values the innermost, which is seen the earliest.
        made.min_by_key(|(_, visible)| (visible.end, visible.start))
    }

    /// Items of this name anywhere in the file.
    pub fn items(&self, name: &str) -> impl Iterator<Item = &Binding> {
        self.bindings.get(name).into_iter().flatten().filter(|binding| binding.local_to.is_none())
    }

    /// Whether a trait of this name is declared here.
    pub fn has_trait(&self, name: &str) -> bool {
        self.owners.iter().any(|(_, owner)| owner.is_trait && owner.name == name)
    }

    /// The `impl` or `trait` around a place.
    pub fn owner_at(&self, at: usize) -> Option<&Owner> {
        let around = self.owners.iter().filter(|(range, _)| range.contains(&at));
        around.max_by_key(|(range, _)| range.start).map(|(_, owner)| owner)
    }

    /// The innermost function around a place, as an index.
    pub fn function_around(&self, at: usize) -> Option<usize> {
        let start = self.function_at(at)?;
        self.function_with_body(start)
    }

    /// The function whose body starts at a place, as an index.
    pub fn function_with_body(&self, start: usize) -> Option<usize> {
        self.functions.iter().position(|function| function.body.start == start)
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
    owner: Option<Owner>,
    depth: usize,
    /// Tokens that may still be looked at for what becomes of variables.
    left_to_follow: usize,
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
            _ => self.call(word, tokens, index),
        }
        index + 1
    }

    /// A module, or an `impl` or `trait` with its name.
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

    fn function(&mut self, name: String, tokens: &[TokenTree], index: usize) -> usize {
        let is_parameters =
            |at: &usize| matches!(&tokens[*at], TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis);
        let Some(parameters_at) = outside_angles(tokens, index + 2).find(is_parameters) else { return index + 2 };
        let body = next_brace(tokens, parameters_at + 1);
        let (Some(TokenTree::Group(body_group)), TokenTree::Group(parameters_group)) =
            (body.and_then(|body| tokens.get(body)), &tokens[parameters_at])
        else {
            return parameters_at + 1;
        };
        let visible = self.place(body_group.span());
        let outer = self.function.replace(visible.start);
        let (parameters, has_self) = parameters_of(parameters_group.stream());
        for parameter in names_in(parameters_group.stream()) {
            let index = parameters.iter().position(|known| known.as_ref() == Some(&parameter));
            let unknown = Unknown::Parameter { function: name.clone(), body: visible.start, index };
            self.bind(parameter, visible.clone(), Value::Unknown(unknown), true);
        }
        self.found.functions.push(Function {
            name,
            body: visible,
            tokens: body_group.stream(),
            parameters,
            has_self,
            owner: self.owner.clone(),
            container: self.container.clone(),
        });
        self.group(body_group);
        self.function = outer;
        body.map_or(parameters_at, |body| body) + 1
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
            Some(name) => match value {
                Some((value, _)) if is_mutable => self.growing(name, value, tokens, end, visible),
                Some((value, _)) => self.bind(name, visible, Value::Expression(value), true),
                None => self.bind(name, visible, Value::Unknown(Unknown::Late), true),
            },
            None => {
                let pattern_end = top_level(tokens, index + 1, '=').unwrap_or(end).min(end);
                let pattern = &tokens[index + 1..pattern_end];
                self.bind_unknown(pattern, &visible, &Unknown::Pattern);
                if let Some((value, _)) = value.or_else(|| assigned(tokens, pattern_end)) {
                    self.bind_parts(pattern, &value, false, &visible, &Unknown::Pattern);
                }
            }
        }
    }

    /// A variable that may be written: where all that happens to it is that text is added, statement by statement of its
    /// own block, it stands for the pieces so far.
    fn growing(&mut self, name: String, first: TokenStream, tokens: &[TokenTree], end: usize, visible: Range<usize>) {
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

    /// Names of a pattern that stand for parts of a value.
    fn bind_parts(
        &mut self,
        pattern: &[TokenTree],
        of: &TokenStream,
        is_element: bool,
        visible: &Range<usize>,
        why: &Unknown,
    ) {
        for (name, members) in parts_of(pattern, 0) {
            let value = Value::Part { of: of.clone(), is_element, members, why: why.clone() };
            // Known better than by the pattern alone.
            if let Some(bindings) = self.found.bindings.get_mut(&name) {
                bindings.retain(|binding| !(binding.visible == *visible && matches!(binding.value, Value::Unknown(_))));
            }
            self.bind(name, visible.clone(), value, true);
        }
    }

    fn loop_variable(&mut self, tokens: &[TokenTree], index: usize) {
        let is_in = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "in");
        let rest = tokens.get(index + 1..).unwrap_or_default();
        // `impl A for B { … }` and `for<'a>` have none.
        let Some(length) = rest.iter().take(MAX_PATTERN).position(is_in) else { return };
        let is_pattern = |token: &TokenTree| !matches!(token, TokenTree::Punct(mark) if mark.as_char() == ';');
        let Some(body) = next_brace(tokens, index + 2 + length).filter(|_| rest[..length].iter().all(is_pattern))
        else {
            return;
        };
        let visible = self.place(tokens[body].span());
        let pattern = &rest[..length];
        self.bind_unknown(pattern, &visible, &Unknown::LoopVariable);
        let of = tokens.get(index + 2 + length..body).unwrap_or_default().iter().cloned().collect();
        self.bind_parts(pattern, &of, true, &visible, &Unknown::LoopVariable);
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
        if is_mark(tokens, index + 1, '!')
            && let Some(TokenTree::Group(group)) = tokens.get(index + 2)
        {
            let range = self.place(tokens[index].span()).start..self.place(group.span()).end;
            self.found.macros.push(MacroCall { name: word.to_string(), arguments: group.stream(), range });
        }
        let Some(TokenTree::Group(group)) = tokens.get(arguments) else { return };
        if group.delimiter() == Delimiter::Brace && !is_method && word.starts_with(char::is_uppercase) {
            let is_expression = match previous(1) {
                Some(TokenTree::Ident(before)) => !NOT_BEFORE_STRUCTURES.iter().any(|word| before == word),
                Some(TokenTree::Punct(mark)) => !matches!(mark.as_char(), '>' | '+' | '!'),
                _ => true,
            };
            if is_expression {
                let at = self.place(tokens[index].span()).start;
                self.found.structures.push(Structure { name: word.to_string(), at, members: group.stream() });
            }
        }
        if group.delimiter() != Delimiter::Parenthesis {
            return;
        }
        if is_method {
            let receiver = receiver(&tokens[..index - 1]);
            let range = self.place(tokens[index].span()).start..self.place(group.span()).end;
            let path = vec![word.to_string()];
            return self.found.calls.push(Call { path, is_method, receiver, arguments: group.stream(), range });
        }
        let mut path = vec![word.to_string()];
        let mut at = index;
        while at >= 3 && is_mark_pair(tokens, at - 2, ':') {
            let Some(name) = ident(tokens, at - 3) else { break };
            path.insert(0, name);
            at -= 3;
        }
        let range = self.place(tokens[index].span()).start..self.place(group.span()).end;
        let receiver = TokenStream::new();
        self.found.calls.push(Call { path, is_method, receiver, arguments: group.stream(), range });
    }

    fn bind(&mut self, name: String, visible: Range<usize>, value: Value, is_local: bool) {
        let local_to = if is_local { self.function } else { None };
        let of_trait = self.owner.as_ref().and_then(|owner| owner.of_trait.clone());
        let is_final = self.owner.as_ref().is_none_or(|owner| !owner.is_trait);
        let is_associated = self.owner.is_some() && self.function.is_none();
        let container = self.container.clone();
        let binding = Binding { visible, container, of_trait, is_final, is_associated, value, local_to };
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

/// The last name of the type that an `impl` is for, and of the trait, from the tokens between `impl` and its braces.
fn implemented_type(tokens: &[TokenTree]) -> (String, Option<String>) {
    let is_word = |at: usize, word: &str| matches!(&tokens[at], TokenTree::Ident(name) if name == word);
    let plain: Vec<usize> = outside_angles(tokens, 0).collect();
    let end = plain.iter().position(|at| is_word(*at, "where")).unwrap_or(plain.len());
    let is_for = plain[..end].iter().position(|at| is_word(*at, "for"));
    let last = |range: &[usize]| range.iter().filter_map(|at| ident(tokens, *at)).next_back();
    let of_trait = is_for.and_then(|at| last(&plain[..at]));
    (last(&plain[is_for.map_or(0, |at| at + 1)..end]).unwrap_or_default(), of_trait)
}

/// The names of parameters in their order, without `self`, and whether there is one.
fn parameters_of(tokens: TokenStream) -> (Vec<Option<String>>, bool) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut parameters = Vec::new();
    let mut has_self = false;
    for part in split_at_commas(&tokens) {
        let part = without_attributes(part);
        let is_self = part.iter().take(4).any(|token| matches!(token, TokenTree::Ident(word) if word == "self"));
        match (ident(part, 0), is_mark(part, 1, ':')) {
            _ if part.is_empty() => {}
            _ if is_self && parameters.is_empty() => has_self = true,
            (Some(name), true) => parameters.push(Some(name)),
            _ => parameters.push(None),
        }
    }
    (parameters, has_self)
}

fn without_attributes(mut tokens: &[TokenTree]) -> &[TokenTree] {
    while is_mark(tokens, 0, '#') && tokens.len() > 1 {
        tokens = &tokens[2..];
    }
    tokens
}

/// Splits at commas that are not between `<` and `>`.
pub(super) fn split_at_commas(tokens: &[TokenTree]) -> Vec<&[TokenTree]> {
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

/// What a statement adds to the end of a string: `name.push_str(x);`, `name += x;`.
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

/// Whether tokens may change a string variable.
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
                    // `write!(name, …)`: macros take what they are given as they like.
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

/// Names of a pattern with the members that lead to each: `(a, &b)`, `Kernel { name, text: t }`, `name`.
fn parts_of(pattern: &[TokenTree], depth: usize) -> Vec<(String, Vec<String>)> {
    let pattern: Vec<TokenTree> = pattern
        .iter()
        .skip_while(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == '&'))
        .cloned()
        .collect();
    // `: type` behind a pattern.
    let end = (0..pattern.len()).find(|at| is_mark(&pattern, *at, ':') && !is_mark(&pattern, *at + 1, ':'));
    let is_path = (0..pattern.len()).any(|at| is_mark_pair(&pattern, at, ':'));
    let plain = &pattern[..end.filter(|_| !is_path).unwrap_or(pattern.len())];
    let of_group = |group: &Group, is_structure: bool| {
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        let parts = split_at_commas(&tokens);
        let mut found = Vec::new();
        for (index, part) in parts.into_iter().enumerate().filter(|(_, part)| !part.is_empty()) {
            if is_mark(part, 0, '.') {
                // Positions behind `..` count from the end.
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

/// What a method is called on: names, calls, indices, members back to the first that is none of these.
fn receiver(before: &[TokenTree]) -> TokenStream {
    let from = before.len().saturating_sub(MAX_STATEMENT);
    let is_part = |at: usize| match &before[at] {
        TokenTree::Group(group) => {
            group.delimiter() != Delimiter::Brace || (at > 0 && matches!(&before[at - 1], TokenTree::Ident(_)))
        }
        TokenTree::Ident(word) => !NOT_IN_RECEIVERS.iter().any(|other| word == other),
        TokenTree::Literal(_) => true,
        TokenTree::Punct(mark) => matches!(mark.as_char(), '.' | '?' | ':' | '!'),
    };
    // Two operands beside each other are two statements, or an operator between them was passed.
    let ends = |at: usize| {
        let is_operand = |at: usize| matches!(&before[at], TokenTree::Ident(_) | TokenTree::Literal(_));
        at + 1 < before.len() && is_operand(at) && is_operand(at + 1)
    };
    let mut start = before.len();
    while start > from && is_part(start - 1) && !ends(start - 1) {
        start -= 1;
    }
    before[start..].iter().cloned().collect()
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
                Value::Sum(pieces) => pieces.iter().map(TokenStream::to_string).collect::<Vec<_>>().join(" + "),
                Value::Part { of, members, .. } => format!("{of} / {}", members.join(".")),
                Value::Unknown(Unknown::Parameter { index, .. }) => format!("parameter {index:?}"),
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
        assert_eq!(bound("S", "impl<T: Fn() -> u8> A<T> for B { const S: &str = \"a\"; fn f() { @ } }"), "nothing");
        assert_eq!(bound("S", "impl A { const S: &str = S; fn f() { @ } } const S: &str = \"b\";"), "\"b\"");
        assert_eq!(bound("S", "impl A { fn f() { const S: &str = \"a\"; @ } }"), "\"a\"");
    }

    #[test]
    fn variables_are_seen_after_their_statement() {
        assert_eq!(bound("s", "fn f() { let s = \"a\"; @ }"), "\"a\"");
        assert_eq!(bound("s", "fn f() { @ let s = \"a\"; }"), "nothing");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; { let s: &str = \"b\"; } @ }"), "\"a\"");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; fn g() { @ } }"), "nothing");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; let g = || { @ }; }"), "\"a\"");
        assert_eq!(bound("s", "fn f() { let mut s = \"a\"; @ s = g(); }"), "mutable");
        assert_eq!(bound("s", "fn f() { let mut s = \"a\"; @ }"), "\"a\"");
        assert_eq!(bound("s", "fn f() { let s; s = 1; @ }"), "Late");
        assert_eq!(bound("s", "fn f() { let (t, s) = g(); @ }"), "g () / 1");
        assert_eq!(bound("s", "fn f() { let K { a, b: (_, s), .. } = g(); @ }"), "g () / b.1");
        assert_eq!(bound("s", "fn f() { let Some(s) = g() else { return }; @ }"), "Pattern");
    }

    #[test]
    fn names_that_are_bound_anew_are_unknown() {
        let parameter = "parameter Some(1)";
        assert_eq!(bound("s", "const s: u8 = 1; fn f<F: Fn(u8)>(a: u8, s: &str) -> u8 { @ }"), parameter);
        assert_eq!(bound("s", "fn f() { let s = \"a\"; for (i, s) in x { @ } }"), "x / 1");
        assert_eq!(bound("s", "fn f() { let s = \"a\"; for Some(s) in x { @ } }"), "LoopVariable");
        assert_eq!(bound("b", "fn f((a, b): (u8, u8)) { @ }"), "parameter None");
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
        assert_eq!(paths, ["a::b", "c", "d::e", "g"]);
        assert_eq!(file.calls[0].arguments.to_string(), "1");
        let receiver = |text: &str| scan(text).calls.iter().find(|call| call.is_method).unwrap().receiver.to_string();
        assert_eq!(receiver("fn f() { let a = x.y(1)?.z[0].c(2); }"), "x");
        assert_eq!(receiver("fn f() { g(); return a::b.c(2) }"), "a :: b");
    }

    #[test]
    fn strings_that_grow_are_sums() {
        let text = |more: &str| format!("fn f() {{ let mut s = A; s.push_str(B); s += C; {more} @ s.push('d'); }}");
        assert_eq!(bound("s", &text("")), "A + B + C");
        assert_eq!(bound("s", &text("g(&s); s.len();")), "A + B + C");
        for more in ["if x { s.push_str(B); }", "g(&mut s);", "s.clear();", "write!(s, \"a\");", "s += &s.clone();"] {
            assert_eq!(bound("s", &text(more)), "mutable", "{more}");
        }
    }

    #[test]
    fn functions_have_their_parameters() {
        let file = scan(
            "impl<T> A for B<T> { fn f<F: Fn(u8)>(&mut self, a: Vec<(u8, T)>, #[x] b: u8, mut c: u8, (d, e): D) -> u8 {} } fn g() {}",
        );
        let function = &file.functions[0];
        assert_eq!(function.parameters, [Some("a".to_string()), Some("b".to_string()), None, None]);
        assert!(function.has_self && !file.functions[1].has_self);
        let owner = function.owner.clone().unwrap();
        assert_eq!((owner.name.as_str(), owner.of_trait.as_deref()), ("B", Some("A")));
        assert_eq!(file.functions[1].owner, None);
    }

    #[test]
    fn structures_are_told_from_types_and_blocks() {
        let text = "struct A { a: u8 } impl A { fn f() -> Self { Self { a: 1 } } } fn g() -> A { if x == B {} h(A { a }) } impl T for A {}";
        let names: Vec<String> = scan(text).structures.iter().map(|structure| structure.name.clone()).collect();
        assert_eq!(names, ["Self", "B", "A"]);
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
