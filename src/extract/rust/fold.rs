//! From an expression to the texts that it may be when the program runs.
//!
//! Where a program chooses (`match`, `if`, an element of an array, one trait's constant of several types) each choice is
//! followed by itself. What cannot be followed is a [`Failure`] with its reason.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Block, Expr, ExprCall, ExprMacro, ExprMethodCall, Lit, Member, Stmt, Token};

use super::literals;
use super::names::{Code, Found, FunctionId, Lost, Meaning};
use super::scan::Call;
use super::sinks;
use super::template::{self, Hole, Piece};
use crate::discover::{has_ending, normalize};
use crate::extract::MappedText;
use crate::source::{SourceFile, Span};

/// Expressions are parsed by recursion; these are far longer and deeper than any that names a kernel, and fit the
/// stack of the thread that this runs on.
const MAX_TOKENS: usize = 4096;
const MAX_DEPTH: usize = 64;

/// Names that stand for names that stand for names, and expressions within expressions.
const MAX_STEPS: usize = 64;

/// Steps of all kinds for one call, and for all calls of a run.
const MAX_WORK: usize = 20_000;
const MAX_WORK_OF_ALL: usize = 2_000_000;

/// Texts that one expression may be.
const MAX_CHOICES: usize = 32;

/// Far larger than any kernel; `include_str!` of the same file many times must not fill the memory.
const MAX_TEXT: usize = 64 << 20;

/// Folds expressions, and remembers which literals they led to.
pub(super) struct Folder<'c, 'w> {
    pub code: &'c mut Code<'w>,
    /// File and start of literals that reached a call.
    pub reached: BTreeSet<(usize, usize)>,
    /// The calls that lead to the function in question.
    pub frames: Frames,
    included: BTreeMap<PathBuf, Arc<SourceFile>>,
    work: usize,
    work_of_all: usize,
}

/// Text, and where it comes from.
#[derive(Debug, Clone, Default)]
pub(super) struct Folded {
    pub text: MappedText,
    /// The first literal, or the first included file.
    pub origin: Option<Origin>,
    /// Files that are in it as a whole.
    pub files: BTreeSet<PathBuf>,
}

#[derive(Debug, Clone)]
pub(super) enum Origin {
    Literal(Span),
    File(Arc<SourceFile>),
}

/// Why a text is not known.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    /// As the end of a sentence.
    pub reason: String,
    pub kind: FailureKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// A name that stands for nothing known.
    Name,
    /// Something makes it when the program runs, or it cannot be read.
    Made,
    /// A file of this name that the build makes.
    Built(String),
    /// What another call made that is looked at by itself.
    Elsewhere,
    /// What a function is called with.
    Parameter(FunctionId, usize),
}

impl Failure {
    fn made(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), kind: FailureKind::Made }
    }
}

impl From<Lost> for Failure {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Parameter { function, index, reason } => {
                Self { reason, kind: FailureKind::Parameter(function, index) }
            }
            Lost::Bound(reason) | Lost::Name(reason) => Self { reason, kind: FailureKind::Name },
        }
    }
}

/// The calls that an expression is evaluated in, the innermost first.
#[derive(Clone, Default)]
pub(super) struct Frames(Option<Rc<Frame>>);

struct Frame {
    function: FunctionId,
    /// Where the call stands.
    file: usize,
    arguments: Vec<Expr>,
    outer: Frames,
}

impl Frames {
    /// Inside a function that is called with these arguments, its `self` not among them.
    pub fn within(&self, function: FunctionId, file: usize, arguments: Vec<Expr>) -> Self {
        Self(Some(Rc::new(Frame { function, file, arguments, outer: self.clone() })))
    }

    fn of(&self, function: FunctionId) -> Option<&Frame> {
        let mut frame = self.0.as_deref();
        while let Some(found) = frame.filter(|frame| frame.function != function) {
            frame = found.outer.0.as_deref();
        }
        frame
    }
}

/// An expression, where it stands, and the calls around it.
#[derive(Clone)]
pub(super) struct Site {
    pub file: usize,
    pub expression: Expr,
    pub frames: Frames,
}

type Sites = Vec<Result<Site, Failure>>;
type Texts = Vec<Result<Folded, Failure>>;

/// Parses an expression, if it is of a size that somebody wrote.
///
/// # Errors
/// What is wrong with it, as the end of a sentence.
pub(super) fn parse(tokens: TokenStream) -> Result<Expr, String> {
    is_parsable(&tokens)?;
    syn::parse2(tokens).map_err(|_| "its text is not an expression that can be read here".to_string())
}

/// Parses expressions with commas between them.
///
/// # Errors
/// As for [`parse`].
pub(super) fn parse_list(tokens: TokenStream) -> Result<Vec<Expr>, String> {
    is_parsable(&tokens)?;
    let list = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(tokens);
    list.map(|list| list.into_iter().collect())
        .map_err(|_| "its text is not an expression that can be read here".to_string())
}

fn parse_block(tokens: TokenStream) -> Result<Vec<Stmt>, String> {
    is_parsable(&tokens)?;
    let statements = Block::parse_within.parse2(tokens);
    statements.map_err(|_| "its text comes from a function that cannot be read here".to_string())
}

fn is_parsable(tokens: &TokenStream) -> Result<(), String> {
    let mut count = 0;
    let mut waiting = vec![(tokens.clone(), 0)];
    while let Some((tokens, depth)) = waiting.pop() {
        for token in tokens {
            count += 1;
            match token {
                TokenTree::Group(group) => waiting.push((group.stream(), depth + 1)),
                TokenTree::Punct(mark) if mark.as_char() == '$' => {
                    return Err("its text comes from a parameter of a macro".to_string());
                }
                _ => {}
            }
            if count > MAX_TOKENS || depth > MAX_DEPTH {
                return Err("its text is in an expression of unusual size".to_string());
            }
        }
    }
    Ok(())
}

impl<'c, 'w> Folder<'c, 'w> {
    pub fn new(code: &'c mut Code<'w>) -> Self {
        Self {
            code,
            reached: BTreeSet::new(),
            frames: Frames::default(),
            included: BTreeMap::new(),
            work: 0,
            work_of_all: 0,
        }
    }

    /// Begins with another call.
    pub fn start(&mut self, frames: Frames) {
        self.frames = frames;
        self.work_of_all += std::mem::take(&mut self.work);
    }

    /// The texts that an expression of a file may be.
    pub fn texts(&mut self, file: usize, expression: &Expr) -> Texts {
        let frames = self.frames.clone();
        self.fold(file, expression, &frames, 0)
    }

    /// The text that an expression of a file is.
    ///
    /// # Errors
    /// Why that is not known before the program runs, or that it may be several.
    pub fn text(&mut self, file: usize, expression: &Expr) -> Result<Folded, String> {
        only(self.texts(file, expression))
    }

    /// The expression behind a name, parentheses, `&` or `.clone()`, and the file that it stands in.
    ///
    /// # Errors
    /// Why that is not known.
    pub fn behind_names(&mut self, file: usize, expression: &Expr) -> Result<(usize, Expr), String> {
        let frames = self.frames.clone();
        only(self.heads(file, expression, &frames, 0)).map(|site| (site.file, site.expression))
    }

    /// The whole number that an expression is.
    pub fn integer(&mut self, file: usize, expression: &Expr) -> Option<i64> {
        let frames = self.frames.clone();
        self.number(file, expression, &frames, 0)
    }

    /// Takes all literals that an expression leads to for reached: it cannot be folded, and was reported.
    pub fn reach_all(&mut self, file: usize, tokens: TokenStream) {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![(file, tokens)];
        while let Some((file, tokens)) = waiting.pop() {
            for token in tokens {
                match token {
                    TokenTree::Group(group) => waiting.push((file, group.stream())),
                    TokenTree::Literal(literal) => {
                        let start = self.code.files[file].rust.range(literal.span()).start;
                        self.reached.insert((file, start));
                    }
                    TokenTree::Ident(name) => {
                        let at = self.code.files[file].rust.range(name.span()).start;
                        let name = name.to_string();
                        if seen.len() >= MAX_TOKENS || !seen.insert((file, name.clone())) {
                            continue;
                        }
                        waiting.extend(self.code.files[file].rust.values(&name, at).map(|value| (file, value.clone())));
                        for found in self.code.resolve(file, at, &[name]).unwrap_or_default() {
                            let values = match found.meaning {
                                Meaning::Expression(value) | Meaning::Part { of: value, .. } => vec![value],
                                Meaning::Sum(values) => values,
                            };
                            waiting.extend(values.into_iter().map(|value| (found.file, value)));
                        }
                    }
                    TokenTree::Punct(_) => {}
                }
            }
        }
    }

    /// Bytes of an expression.
    pub fn place(&self, file: usize, expression: &Expr) -> Range<usize> {
        self.code.files[file].rust.range(expression.span())
    }

    pub fn span(&self, file: usize, expression: &Expr) -> Span {
        self.spanned(file, expression)
    }

    /// The place of any piece of syntax of a file.
    pub fn spanned(&self, file: usize, syntax: &impl Spanned) -> Span {
        let rust = &self.code.files[file].rust;
        Span::new(&rust.file, rust.range(syntax.span()))
    }

    fn spend(&mut self, steps: usize) -> Result<(), Failure> {
        self.work += 1;
        match steps > MAX_STEPS {
            true => Err(Failure::made("it leads in a circle")),
            false if self.work > MAX_WORK || self.work_of_all > MAX_WORK_OF_ALL => {
                Err(Failure::made("its text is put together in more ways than are followed"))
            }
            false => Ok(()),
        }
    }

    /// What an expression is once names, choices and calls of functions are followed: literals, macros, operators, and
    /// methods that make new text.
    fn heads(&mut self, file: usize, expression: &Expr, frames: &Frames, steps: usize) -> Sites {
        if let Err(failure) = self.spend(steps) {
            return vec![Err(failure)];
        }
        let next = steps + 1;
        match expression {
            Expr::Paren(inner) => self.heads(file, &inner.expr, frames, next),
            Expr::Group(inner) => self.heads(file, &inner.expr, frames, next),
            Expr::Reference(inner) => self.heads(file, &inner.expr, frames, next),
            Expr::Cast(inner) => self.heads(file, &inner.expr, frames, next),
            Expr::Try(inner) => self.heads(file, &inner.expr, frames, next),
            Expr::Unary(inner) if matches!(inner.op, syn::UnOp::Deref(_)) => {
                self.heads(file, &inner.expr, frames, next)
            }
            Expr::Block(inner) => self.results(file, &inner.block.stmts, frames, next),
            Expr::Unsafe(inner) => self.results(file, &inner.block.stmts, frames, next),
            Expr::Const(inner) => self.results(file, &inner.block.stmts, frames, next),
            Expr::If(choice) => {
                let mut sites = self.results(file, &choice.then_branch.stmts, frames, next);
                if let Some((_, other)) = &choice.else_branch {
                    sites.extend(self.heads(file, other, frames, next));
                }
                at_most(sites)
            }
            Expr::Match(choice) => {
                let arms = choice.arms.iter().filter(|arm| !is_dead_end(&arm.body));
                at_most(arms.flat_map(|arm| self.heads(file, &arm.body, frames, next)).collect())
            }
            Expr::MethodCall(call) if is_same(call) => self.heads(file, &call.receiver, frames, next),
            Expr::MethodCall(call) => self.method(file, call, expression, frames, next),
            Expr::Call(call) => self.call(file, call, expression, frames, next),
            Expr::Path(path) => {
                let at = self.place(file, expression).start;
                self.name(file, at, &path_names(&path.path), frames, next)
            }
            Expr::Field(field) => self.member(file, &field.base, &field.member, frames, next),
            Expr::Index(index) => self.element(file, &index.expr, Some(&index.index), frames, next),
            other => vec![Ok(Site { file, expression: other.clone(), frames: frames.clone() })],
        }
    }

    fn name(&mut self, file: usize, at: usize, path: &[String], frames: &Frames, steps: usize) -> Sites {
        let found = match self.code.resolve(file, at, path) {
            Ok(found) => found,
            Err(Lost::Parameter { function, index, reason }) => {
                let frame = frames
                    .of(function)
                    .map(|frame| (frame.file, frame.arguments.get(index).cloned(), frame.outer.clone()));
                return match frame {
                    Some((file, Some(argument), outer)) => self.heads(file, &argument, &outer, steps),
                    _ => vec![Err(Failure { reason, kind: FailureKind::Parameter(function, index) })],
                };
            }
            Err(lost) => return vec![Err(lost.into())],
        };
        at_most(found.into_iter().flat_map(|found| self.meaning(found, frames, steps)).collect())
    }

    fn meaning(&mut self, found: Found, frames: &Frames, steps: usize) -> Sites {
        let file = found.file;
        let parsed = |tokens: TokenStream| parse(tokens).map_err(Failure::made);
        match found.meaning {
            Meaning::Expression(value) => match parsed(value) {
                Ok(value) => self.heads(file, &value, frames, steps),
                Err(failure) => vec![Err(failure)],
            },
            Meaning::Sum(pieces) => {
                let pieces: Result<Vec<Expr>, Failure> = pieces.into_iter().map(parsed).collect();
                match pieces.as_deref() {
                    Ok([only]) => self.heads(file, only, frames, steps),
                    // An array stands for its elements together, which is what `concat!` makes of them.
                    Ok(pieces) => vec![Ok(Site { file, expression: sum(pieces), frames: frames.clone() })],
                    Err(failure) => vec![Err(failure.clone())],
                }
            }
            Meaning::Part { of, is_element, members, why } => {
                let of = match parsed(of) {
                    Ok(of) => of,
                    Err(failure) => return vec![Err(failure)],
                };
                let mut sites = match is_element {
                    true => self.element(file, &of, None, frames, steps),
                    false => self.heads(file, &of, frames, steps),
                };
                for member in members {
                    sites = sites.into_iter().flat_map(|site| self.member_of(site, &member, steps)).collect();
                }
                // What a loop goes through is often no array at all: the name says more then.
                for site in &mut sites {
                    if let Err(failure) = site
                        && matches!(failure.kind, FailureKind::Made | FailureKind::Name)
                    {
                        *failure = Failure { reason: why.clone(), kind: FailureKind::Name };
                    }
                }
                sites
            }
        }
    }

    /// What a block gives: its last expression, and what it returns.
    fn results(&mut self, file: usize, statements: &[Stmt], frames: &Frames, steps: usize) -> Sites {
        let Some(Stmt::Expr(last, semicolon)) = statements.last() else { return vec![Err(unknown())] };
        let last = match last {
            Expr::Return(returned) => returned.expr.as_deref(),
            other if semicolon.is_none() => Some(other),
            _ => None,
        };
        match last {
            Some(last) => self.heads(file, last, frames, steps),
            None => vec![Err(unknown())],
        }
    }

    /// What functions of the workspace give.
    fn results_of(
        &mut self,
        functions: &[FunctionId],
        file: usize,
        arguments: &[Expr],
        frames: &Frames,
        steps: usize,
    ) -> Sites {
        let mut sites = Vec::new();
        for id in functions {
            let function = self.code.function(*id);
            let skipped = arguments.len().saturating_sub(function.parameters.len());
            let body = function.tokens.clone();
            let inside = frames.within(*id, file, arguments[skipped..].to_vec());
            let returned = early_returns(&body);
            let results = match (parse_block(body), returned) {
                (Err(reason), _) => vec![Err(Failure::made(reason))],
                (Ok(_), Err(failure)) => vec![Err(failure)],
                (Ok(statements), Ok(returned)) => {
                    let mut results = self.results(id.file, &statements, &inside, steps);
                    for value in returned {
                        results.extend(self.heads(id.file, &value, &inside, steps));
                    }
                    results
                }
            };
            sites.extend(results);
        }
        at_most(sites)
    }

    fn method(&mut self, file: usize, call: &ExprMethodCall, whole: &Expr, frames: &Frames, steps: usize) -> Sites {
        let method = call.method.to_string();
        if sinks::PRODUCTS.contains(&method.as_str()) {
            return vec![Err(elsewhere())];
        }
        if let Some(value) = first_made(&method, call.args.iter()) {
            return self.heads(file, &value, frames, steps);
        }
        if TEXT_METHODS.contains(&method.as_str()) {
            return vec![Ok(Site { file, expression: whole.clone(), frames: frames.clone() })];
        }
        let arguments: Vec<Expr> = call.args.iter().cloned().collect();
        let at = self.code.files[file].rust.range(call.method.span());
        let called = Call {
            path: vec![method],
            is_method: true,
            receiver: TokenStream::new(),
            arguments: TokenStream::new(),
            range: at,
        };
        match self.code.called(file, &called, arguments.len()).as_slice() {
            [] => vec![Ok(Site { file, expression: whole.clone(), frames: frames.clone() })],
            functions => self.results_of(functions, file, &arguments, frames, steps),
        }
    }

    fn call(&mut self, file: usize, call: &ExprCall, whole: &Expr, frames: &Frames, steps: usize) -> Sites {
        let Expr::Path(path) = &*call.func else { return vec![Err(unknown())] };
        let names = path_names(&path.path);
        let arguments: Vec<Expr> = call.args.iter().cloned().collect();
        if sinks::makes_product(&names) {
            return vec![Err(elsewhere())];
        }
        match arguments.as_slice() {
            [argument] if makes_string(&names) => return self.heads(file, argument, frames, steps),
            [Expr::Closure(closure)] if makes_lazily(&names) => return self.heads(file, &closure.body, frames, steps),
            [Expr::Path(function)] if makes_lazily(&names) => {
                let called = self.called_as(file, path_names(&function.path), whole, 0);
                return match called.as_slice() {
                    [] => vec![Err(unknown())],
                    functions => self.results_of(functions, file, &[], frames, steps),
                };
            }
            _ => {}
        }
        match self.called_as(file, names, whole, arguments.len()).as_slice() {
            [] => vec![Ok(Site { file, expression: whole.clone(), frames: frames.clone() })],
            functions => self.results_of(functions, file, &arguments, frames, steps),
        }
    }

    fn called_as(&mut self, file: usize, path: Vec<String>, whole: &Expr, arguments: usize) -> Vec<FunctionId> {
        let range = self.place(file, whole);
        let (receiver, none) = (TokenStream::new(), TokenStream::new());
        self.code.called(file, &Call { path, is_method: false, receiver, arguments: none, range }, arguments)
    }

    /// `base.member`
    fn member(&mut self, file: usize, base: &Expr, member: &Member, frames: &Frames, steps: usize) -> Sites {
        let member = match member {
            Member::Named(name) => name.to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        };
        if is_self(base) {
            return self.own_member(file, base, &member, frames, steps);
        }
        let sites = self.heads(file, base, frames, steps);
        at_most(sites.into_iter().flat_map(|site| self.member_of(site, &member, steps)).collect())
    }

    /// `self.member`: what it was made with, wherever structures of the type are made.
    fn own_member(&mut self, file: usize, base: &Expr, member: &str, frames: &Frames, steps: usize) -> Sites {
        let at = self.place(file, base).start;
        let owner = self.code.files[file].rust.owner_at(at).map(|owner| owner.name.clone());
        let made = owner.map(|owner| self.code.members_of(file, &owner, member)).unwrap_or_default();
        if made.is_empty() {
            let reason = format!("its text is in the member `{member}`");
            return vec![Err(Failure { reason, kind: FailureKind::Name })];
        }
        let of_structure = |(file, value): (usize, TokenStream)| {
            let found = Found { file, meaning: Meaning::Expression(value) };
            self.meaning(found, frames, steps)
        };
        at_most(made.into_iter().flat_map(of_structure).collect())
    }

    fn member_of(&mut self, site: Result<Site, Failure>, member: &str, steps: usize) -> Sites {
        let site = match site {
            Ok(site) => site,
            Err(failure) => return vec![Err(failure)],
        };
        let position = member.parse::<usize>().ok();
        let value = match &site.expression {
            Expr::Struct(structure) => {
                let is_meant = |name: &Member| match name {
                    Member::Named(name) => name == member,
                    Member::Unnamed(index) => Some(index.index as usize) == position,
                };
                structure.fields.iter().find(|field| is_meant(&field.member)).map(|field| field.expr.clone())
            }
            Expr::Tuple(tuple) => position.and_then(|position| tuple.elems.get(position)).cloned(),
            Expr::Array(array) => position.and_then(|position| array.elems.get(position)).cloned(),
            Expr::Call(call) => position.and_then(|position| call.args.get(position)).cloned(),
            _ => None,
        };
        match value {
            Some(value) => self.heads(site.file, &value, &site.frames, steps + 1),
            None => {
                let reason = format!("its text is in the member `{member}`");
                vec![Err(Failure { reason, kind: FailureKind::Name })]
            }
        }
    }

    /// An element of an array, or each of them.
    fn element(&mut self, file: usize, array: &Expr, index: Option<&Expr>, frames: &Frames, steps: usize) -> Sites {
        let position = index.and_then(|index| self.number(file, index, frames, steps + 1));
        let mut found = Vec::new();
        for site in self.heads(file, array, frames, steps) {
            let elements = site.and_then(|site| Ok((self.elements(&site)?, site)));
            match elements {
                Err(failure) => found.push(Err(failure)),
                Ok((elements, site)) => {
                    let position = position.and_then(|position| usize::try_from(position).ok());
                    let chosen: Vec<&Expr> = match position {
                        Some(position) => elements.get(position).into_iter().collect(),
                        None => elements.iter().take(MAX_CHOICES + 1).collect(),
                    };
                    if chosen.is_empty() {
                        found.push(Err(unknown()));
                    }
                    for element in chosen {
                        found.extend(self.heads(site.file, element, &site.frames, steps + 1));
                    }
                }
            }
        }
        at_most(found)
    }

    /// `[…]`, `vec![…]`, and these with `.iter()`.
    fn elements(&self, site: &Site) -> Result<Vec<Expr>, Failure> {
        match &site.expression {
            Expr::Array(array) => Ok(array.elems.iter().cloned().collect()),
            Expr::Macro(call) if call.mac.path.is_ident("vec") => {
                parse_list(call.mac.tokens.clone()).map_err(Failure::made)
            }
            _ => Err(unknown()),
        }
    }

    fn fold(&mut self, file: usize, expression: &Expr, frames: &Frames, steps: usize) -> Texts {
        let mut texts = Vec::new();
        for site in self.heads(file, expression, frames, steps) {
            match site {
                Ok(site) => texts.extend(self.fold_head(&site, steps + 1)),
                Err(failure) => texts.push(Err(failure)),
            }
        }
        at_most(texts)
    }

    fn fold_head(&mut self, site: &Site, steps: usize) -> Texts {
        if let Err(failure) = self.spend(steps) {
            return vec![Err(failure)];
        }
        let (file, frames) = (site.file, &site.frames);
        match &site.expression {
            Expr::Lit(literal) => vec![self.literal(file, &literal.lit)],
            Expr::Macro(call) => self.expand(file, call, frames, steps),
            Expr::Binary(sum)
                if matches!(sum.op, syn::BinOp::Add(_)) && self.number(file, &sum.left, frames, steps).is_none() =>
            {
                let pieces = [(*sum.left).clone(), (*sum.right).clone()];
                self.joined(file, &pieces, frames, "", steps)
            }
            // Only `Meaning::Sum` gives arrays as texts.
            Expr::Tuple(sum) => {
                let pieces: Vec<Expr> = sum.elems.iter().cloned().collect();
                self.joined(file, &pieces, frames, "", steps)
            }
            Expr::MethodCall(call) => self.edited(file, call, frames, steps),
            Expr::Call(call) => match &*call.func {
                Expr::Path(path) if path_names(&path.path).ends_with(&["String".to_string(), "new".to_string()]) => {
                    vec![Ok(Folded::default())]
                }
                // What is taken out of it is the text.
                Expr::Path(path) if is_wrapped(&path.path) && call.args.len() == 1 => {
                    self.fold(file, &call.args[0], frames, steps)
                }
                Expr::Path(path) => {
                    let name = path_names(&path.path).join("::");
                    vec![Err(Failure::made(format!("`{name}` makes its text when the program runs")))]
                }
                _ => vec![Err(unknown())],
            },
            _ => vec![Err(unknown())],
        }
    }

    fn literal(&mut self, file: usize, literal: &Lit) -> Result<Folded, Failure> {
        let rust = &self.code.files[file].rust;
        let range = rust.range(literal.span());
        let span = Span::new(&rust.file, range.clone());
        let written = match literal {
            Lit::Str(string) => string.token().to_string(),
            Lit::ByteStr(string) => string.token().to_string(),
            Lit::CStr(string) => string.token().to_string(),
            Lit::Char(character) => {
                let mut text = MappedText::default();
                text.push(&character.value().to_string(), span);
                return Ok(Folded { text, ..Folded::default() });
            }
            _ => return Err(unknown()),
        };
        // A literal that a macro made has a span, and other text in it.
        let decoded = if span.text() == written { literals::decode(&rust.file, range.clone()) } else { None };
        let text = decoded.ok_or_else(unknown)?;
        self.reached.insert((file, range.start));
        Ok(Folded { text, origin: Some(Origin::Literal(span)), files: BTreeSet::new() })
    }

    fn expand(&mut self, file: usize, expression: &ExprMacro, frames: &Frames, steps: usize) -> Texts {
        let name = expression.mac.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let arguments = parse_list(expression.mac.tokens.clone());
        let arguments = match (name.as_str(), arguments) {
            ("stringify", _) => return vec![self.stringified(file, &expression.mac.tokens)],
            (_, Ok(arguments)) => arguments,
            ("include_str" | "include_bytes" | "concat" | "env" | "format" | "formatcp" | "concatcp", Err(reason)) => {
                return vec![Err(Failure::made(reason))];
            }
            _ => return vec![Err(Failure::made(format!("`{name}!` makes its text")))],
        };
        match (name.as_str(), arguments.as_slice()) {
            ("include_str" | "include_bytes", [path]) => {
                let paths = self.fold(file, path, frames, steps + 1);
                paths.into_iter().map(|path| path.and_then(|path| self.include(file, path.text.as_str()))).collect()
            }
            ("concat" | "concatcp", pieces) => self.joined(file, pieces, frames, "", steps),
            ("env", [Expr::Lit(syn::ExprLit { lit: Lit::Str(name), .. }), ..]) => {
                vec![self.environment(file, &name.value())]
            }
            ("format" | "formatcp" | "format_args", [template, arguments @ ..]) => {
                self.formatted(file, template, arguments, frames, steps)
            }
            ("c_str" | "cstr", [text]) => self.fold(file, text, frames, steps + 1),
            ("include_str" | "include_bytes" | "env" | "format", _) => vec![Err(unknown())],
            _ => vec![Err(Failure::made(format!("`{name}!` makes its text")))],
        }
    }

    /// Several texts one behind the other, with others between them.
    fn joined(&mut self, file: usize, pieces: &[Expr], frames: &Frames, between: &str, steps: usize) -> Texts {
        let mut wholes: Texts = vec![Ok(Folded::default())];
        for (index, piece) in pieces.iter().enumerate() {
            let mut texts = match self.printed(file, piece, false, frames, steps) {
                Some(text) => vec![Ok(text)],
                None => self.fold(file, piece, frames, steps + 1),
            };
            if index > 0 && !between.is_empty() {
                for text in texts.iter_mut().flatten() {
                    let mut longer = MappedText::default();
                    longer.push_generated(between);
                    longer.append(&text.text);
                    text.text = longer;
                }
            }
            wholes = combined(wholes, &texts);
        }
        wholes
    }

    /// `format!("… {} {NAME} …", arguments)`
    fn formatted(&mut self, file: usize, template: &Expr, arguments: &[Expr], frames: &Frames, steps: usize) -> Texts {
        let templates = self.fold(file, template, frames, steps + 1);
        let mut named = BTreeMap::new();
        let mut positional = Vec::new();
        for argument in arguments {
            match argument {
                Expr::Assign(assigned) => {
                    if let Expr::Path(name) = &*assigned.left {
                        named.insert(path_names(&name.path).join("::"), (*assigned.right).clone());
                    }
                }
                other => positional.push(other.clone()),
            }
        }
        let at = self.place(file, template).start;
        let mut found = Vec::new();
        for template in templates {
            let template = match template {
                Ok(template) => template,
                Err(failure) => {
                    found.push(Err(failure));
                    continue;
                }
            };
            let pieces = match template::pieces(template.text.as_str()) {
                Ok(pieces) => pieces,
                Err(reason) => {
                    found.push(Err(Failure::made(reason)));
                    continue;
                }
            };
            let origin = Folded { text: MappedText::default(), ..template.clone() };
            let mut wholes: Texts = vec![Ok(origin)];
            for piece in pieces {
                let texts = match piece {
                    Piece::Text(range) => {
                        vec![Ok(Folded { text: template.text.slice(range), ..Folded::default() })]
                    }
                    Piece::Hole(hole) => {
                        let argument = match &hole {
                            Hole::Position(index) => positional.get(*index).cloned(),
                            Hole::Name(name) => named.get(name).cloned(),
                        };
                        match (argument, hole) {
                            (Some(argument), _) => self.printed_or_text(file, &argument, frames, steps),
                            (None, Hole::Name(name)) => self.captured(file, at, &name, frames, steps),
                            (None, Hole::Position(_)) => vec![Err(unknown())],
                        }
                    }
                };
                wholes = combined(wholes, &texts);
            }
            found.extend(wholes);
        }
        at_most(found)
    }

    /// A name in the braces of a template.
    fn captured(&mut self, file: usize, at: usize, name: &str, frames: &Frames, steps: usize) -> Texts {
        let mut texts = Vec::new();
        for site in self.name(file, at, &[name.to_string()], frames, steps + 1) {
            match site {
                Ok(site) => texts.extend(self.printed_or_text(site.file, &site.expression, &site.frames, steps)),
                Err(failure) => texts.push(Err(failure)),
            }
        }
        texts
    }

    fn printed_or_text(&mut self, file: usize, expression: &Expr, frames: &Frames, steps: usize) -> Texts {
        let mut texts = Vec::new();
        for site in self.heads(file, expression, frames, steps + 1) {
            let text = match site {
                Err(failure) => vec![Err(failure)],
                Ok(site) => match self.printed(site.file, &site.expression, true, &site.frames, steps) {
                    Some(text) => vec![Ok(text)],
                    None => self.fold_head(&site, steps + 1),
                },
            };
            texts.extend(text);
        }
        at_most(texts)
    }

    /// Numbers and truths, as `Display` writes them or as `concat!` does.
    fn printed(
        &mut self,
        file: usize,
        expression: &Expr,
        is_display: bool,
        frames: &Frames,
        steps: usize,
    ) -> Option<Folded> {
        let float = |digits: &str| if is_display { displayed(digits) } else { Some(digits.to_string()) };
        let text = match expression {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => number.base10_digits().to_string(),
                Lit::Float(number) => float(number.base10_digits())?,
                Lit::Bool(truth) => truth.value.to_string(),
                _ => return None,
            },
            Expr::Unary(negated) if matches!(negated.op, syn::UnOp::Neg(_)) => match &*negated.expr {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Int(number) => format!("-{}", number.base10_digits()),
                    Lit::Float(number) => format!("-{}", float(number.base10_digits())?),
                    _ => return None,
                },
                _ => self.number(file, expression, frames, steps)?.to_string(),
            },
            Expr::Binary(_) => self.number(file, expression, frames, steps)?.to_string(),
            _ => return None,
        };
        let mut mapped = MappedText::default();
        mapped.push(&text, self.span(file, expression));
        Some(Folded { text: mapped, ..Folded::default() })
    }

    /// The value of a constant expression of whole numbers.
    fn number(&mut self, file: usize, expression: &Expr, frames: &Frames, steps: usize) -> Option<i64> {
        let only = only(self.heads(file, expression, frames, steps + 1)).ok()?;
        let (file, frames) = (only.file, &only.frames);
        match &only.expression {
            Expr::Lit(syn::ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
            Expr::Unary(negated) if matches!(negated.op, syn::UnOp::Neg(_)) => {
                self.number(file, &negated.expr, frames, steps + 1)?.checked_neg()
            }
            Expr::Binary(operation) => {
                let left = self.number(file, &operation.left, frames, steps + 1)?;
                let right = self.number(file, &operation.right, frames, steps + 1)?;
                let shift = || u32::try_from(right).ok().filter(|bits| *bits < 63);
                match operation.op {
                    syn::BinOp::Add(_) => left.checked_add(right),
                    syn::BinOp::Sub(_) => left.checked_sub(right),
                    syn::BinOp::Mul(_) => left.checked_mul(right),
                    syn::BinOp::Div(_) => left.checked_div(right),
                    syn::BinOp::Rem(_) => left.checked_rem(right),
                    syn::BinOp::Shl(_) => left.checked_mul(1i64.checked_shl(shift()?)?),
                    syn::BinOp::Shr(_) => left.checked_shr(shift()?),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Methods that make another text.
    fn edited(&mut self, file: usize, call: &ExprMethodCall, frames: &Frames, steps: usize) -> Texts {
        let method = call.method.to_string();
        let arguments: Vec<Expr> = call.args.iter().cloned().collect();
        let made = || Failure::made(format!("`{method}` makes its text when the program runs"));
        match (method.as_str(), arguments.as_slice()) {
            ("replace", [from, to]) => self.replaced(file, call, (from, to, None), frames, steps),
            ("replacen", [from, to, count]) => match self.number(file, count, frames, steps) {
                Some(count) => self.replaced(file, call, (from, to, usize::try_from(count).ok()), frames, steps),
                None => vec![Err(made())],
            },
            ("trim" | "trim_start" | "trim_end", []) => {
                let texts = self.fold(file, &call.receiver, frames, steps + 1);
                let trimmed = |folded: Folded| {
                    let text = folded.text.as_str();
                    let start = if method == "trim_end" { 0 } else { text.len() - text.trim_start().len() };
                    let end = if method == "trim_start" { text.len() } else { text.trim_end().len().max(start) };
                    Folded { text: folded.text.slice(start..end), ..folded }
                };
                texts.into_iter().map(|text| text.map(trimmed)).collect()
            }
            ("concat", []) | ("join", [_]) => {
                let between = match arguments.first().map(|between| self.fold(file, between, frames, steps + 1)) {
                    None => String::new(),
                    Some(between) => match only(between) {
                        Ok(between) => between.text.as_str().to_string(),
                        Err(_) => return vec![Err(made())],
                    },
                };
                let mut texts = Vec::new();
                for site in self.heads(file, &call.receiver, frames, steps + 1) {
                    match site.and_then(|site| Ok((self.elements(&site).map_err(|_| made())?, site))) {
                        Ok((elements, site)) => {
                            texts.extend(self.joined(site.file, &elements, &site.frames, &between, steps));
                        }
                        Err(failure) => texts.push(Err(failure)),
                    }
                }
                at_most(texts)
            }
            _ => vec![Err(made())],
        }
    }

    fn replaced(
        &mut self,
        file: usize,
        call: &ExprMethodCall,
        (from, to, count): (&Expr, &Expr, Option<usize>),
        frames: &Frames,
        steps: usize,
    ) -> Texts {
        let texts = self.fold(file, &call.receiver, frames, steps + 1);
        let from = self.fold(file, from, frames, steps + 1);
        let to = self.printed_or_text(file, to, frames, steps);
        let mut found = Vec::new();
        for text in &texts {
            for (from, to) in from.iter().flat_map(|from| to.iter().map(move |to| (from, to))) {
                found.push(match (text, from, to) {
                    (Err(failure), ..) => Err(failure.clone()),
                    (_, Err(failure), _) | (_, _, Err(failure)) => Err(of_part(failure)),
                    (Ok(text), Ok(from), Ok(to)) => replace(text, from.text.as_str(), to, count),
                });
                if found.len() > MAX_CHOICES {
                    return at_most(found);
                }
            }
        }
        found
    }

    fn stringified(&self, file: usize, tokens: &TokenStream) -> Result<Folded, Failure> {
        let mut tokens = tokens.clone().into_iter();
        let (Some(token), None) = (tokens.next(), tokens.next()) else {
            return Err(Failure::made("`stringify!` makes its text"));
        };
        if matches!(&token, TokenTree::Group(_)) || matches!(&token, TokenTree::Punct(mark) if mark.as_char() == '$') {
            return Err(Failure::made("`stringify!` makes its text"));
        }
        let mut text = MappedText::default();
        let span = self.spanned(file, &token);
        text.push(&token.to_string(), span.clone());
        Ok(Folded { text, origin: Some(Origin::Literal(span)), ..Folded::default() })
    }

    fn environment(&self, file: usize, name: &str) -> Result<Folded, Failure> {
        let package = self.code.files[file].package.and_then(|package| self.code.workspace.packages.get(package));
        let text = match (name, package) {
            ("CARGO_MANIFEST_DIR", Some(package)) => package.root.to_string_lossy().into_owned(),
            ("CARGO_PKG_NAME", Some(package)) => package.name.clone(),
            // Stands for itself until a file is asked for.
            ("OUT_DIR", _) => OUT_DIR.to_string(),
            (name, _) => return Err(Failure::made(format!("it depends on the environment variable `{name}`"))),
        };
        let mut mapped = MappedText::default();
        mapped.push_generated(&text);
        Ok(Folded { text: mapped, ..Folded::default() })
    }

    fn include(&mut self, file: usize, path: &str) -> Result<Folded, Failure> {
        if let Some(built) = path.strip_prefix(OUT_DIR) {
            let name = built.rsplit('/').next().unwrap_or(built).to_string();
            let reason = format!("it includes `{name}`, which the build makes");
            return Err(Failure { reason, kind: FailureKind::Built(name) });
        }
        let folder = self.code.files[file].rust.file.path.parent().unwrap_or(Path::new("")).to_path_buf();
        let included = normalize(&folder.join(path));
        if !included.exists() && has_ending(&included, &["ptx", "cubin", "fatbin"]) {
            // Some builds write into the source tree.
            let name = path.rsplit('/').next().unwrap_or(path).to_string();
            let reason = format!("it includes `{path}`, which does not exist");
            return Err(Failure { reason, kind: FailureKind::Built(name) });
        }
        self.file(&included, path)
    }

    /// The text of a file.
    ///
    /// # Errors
    /// It is not there, or not to be read.
    pub fn file(&mut self, path: &Path, written: &str) -> Result<Folded, Failure> {
        let included = self.read(path, written).map_err(Failure::made)?;
        let files = BTreeSet::from([included.path.clone()]);
        Ok(Folded { text: MappedText::from_file(&included), origin: Some(Origin::File(included)), files })
    }

    fn read(&mut self, path: &Path, written: &str) -> Result<Arc<SourceFile>, String> {
        if let Some(file) = self.included.get(path) {
            return Ok(Arc::clone(file));
        }
        if !path.exists() {
            return Err(format!("it includes `{written}`, which does not exist"));
        }
        if !self.code.workspace.may_read(path) {
            return Err(format!("it includes `{written}`, which lies outside of the workspace or is no file"));
        }
        let file = SourceFile::read(path, &self.code.workspace.root)
            .map_err(|error| format!("it includes `{written}`: {error}"))?;
        if !file.is_utf8() {
            return Err(format!("it includes `{written}`, which is not UTF-8"));
        }
        self.included.insert(path.to_path_buf(), Arc::clone(&file));
        Ok(file)
    }
}

/// What `env!("OUT_DIR")` stands for here; no path begins like this.
const OUT_DIR: &str = "\u{0}OUT_DIR";

fn unknown() -> Failure {
    Failure::made("its text is only known when the program runs")
}

fn elsewhere() -> Failure {
    Failure { reason: "it was compiled before".to_string(), kind: FailureKind::Elsewhere }
}

fn only<T>(mut found: Vec<Result<T, Failure>>) -> Result<T, String> {
    match found.len() {
        1 => found.remove(0).map_err(|failure| failure.reason),
        _ => Err("it may be several texts".to_string()),
    }
}

/// A number as `Display` writes it: `1` for `1.0`. So few digits are the same for `f32` and `f64`.
fn displayed(digits: &str) -> Option<String> {
    let is_short = digits.len() <= 7 && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    digits.parse::<f64>().ok().filter(|_| is_short).map(|number| number.to_string())
}

/// Keeps the number of choices small.
fn at_most<T>(mut found: Vec<Result<T, Failure>>) -> Vec<Result<T, Failure>> {
    if found.len() > MAX_CHOICES {
        found.truncate(MAX_CHOICES);
        found.push(Err(Failure::made(format!("it has more than {MAX_CHOICES} variants"))));
    }
    found
}

/// What is not known is a part of the text.
fn of_part(failure: &Failure) -> Failure {
    let reason = match failure.reason.strip_prefix("its text ") {
        Some(rest) => format!("a part of its text {rest}"),
        None => failure.reason.clone(),
    };
    Failure { reason, kind: failure.kind.clone() }
}

/// Each text with each of the texts behind it.
fn combined(wholes: Texts, pieces: &Texts) -> Texts {
    let mut found = Vec::new();
    for whole in wholes {
        for piece in pieces {
            found.push(match (&whole, piece) {
                (Err(failure), _) => Err(failure.clone()),
                (_, Err(failure)) => Err(of_part(failure)),
                (Ok(whole), Ok(piece)) if whole.text.as_str().len() + piece.text.as_str().len() > MAX_TEXT => {
                    Err(Failure::made("its text is of unusual size"))
                }
                (Ok(whole), Ok(piece)) => {
                    let mut whole = whole.clone();
                    whole.text.append(&piece.text);
                    whole.origin = whole.origin.or_else(|| piece.origin.clone());
                    whole.files.extend(piece.files.iter().cloned());
                    Ok(whole)
                }
            });
            if found.len() > MAX_CHOICES {
                return at_most(found);
            }
        }
    }
    found
}

fn replace(text: &Folded, from: &str, to: &Folded, count: Option<usize>) -> Result<Folded, Failure> {
    let mut whole = Folded { text: MappedText::default(), ..text.clone() };
    let old = text.text.as_str();
    let mut end = 0;
    for (at, _) in old.match_indices(from).take(count.unwrap_or(usize::MAX)) {
        whole.text.append(&text.text.slice(end..at));
        whole.text.append(&to.text);
        end = at + from.len();
        if whole.text.as_str().len() > MAX_TEXT {
            return Err(Failure::made("its text is of unusual size"));
        }
    }
    whole.text.append(&text.text.slice(end..old.len()));
    whole.files.extend(to.files.iter().cloned());
    Ok(whole)
}

/// A sum of pieces as one expression: no text is a tuple otherwise.
fn sum(pieces: &[Expr]) -> Expr {
    Expr::Tuple(syn::ExprTuple {
        attrs: Vec::new(),
        paren_token: syn::token::Paren::default(),
        elems: pieces.iter().cloned().collect(),
    })
}

/// Values that `return` gives in the middle of a function.
fn early_returns(body: &TokenStream) -> Result<Vec<Expr>, Failure> {
    let mut found = Vec::new();
    let mut waiting = vec![body.clone()];
    while let Some(tokens) = waiting.pop() {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => waiting.push(group.stream()),
                TokenTree::Ident(word) if word == "return" => {
                    let rest = tokens[at + 1..].iter();
                    let is_end = |token: &&TokenTree| !matches!(token, TokenTree::Punct(mark) if matches!(mark.as_char(), ';' | ','));
                    let value: TokenStream = rest.take_while(is_end).cloned().collect();
                    let value = parse(value).map_err(Failure::made)?;
                    if !is_dead_end(&value) {
                        found.push(value);
                    }
                }
                _ => {}
            }
            if found.len() > MAX_CHOICES {
                return Err(unknown());
            }
        }
    }
    Ok(found)
}

/// Whether an expression gives no value: it ends the program, the function, or is an error.
fn is_dead_end(expression: &Expr) -> bool {
    match expression {
        Expr::Macro(call) => {
            let name = call.mac.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
            ["panic", "unreachable", "todo", "unimplemented", "bail"].contains(&name.as_str())
        }
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => true,
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Path(path) if path_names(&path.path).last().is_some_and(|name| name == "Err"))
        }
        Expr::Path(path) => path_names(&path.path).last().is_some_and(|name| name == "None"),
        Expr::Block(block) => match block.block.stmts.as_slice() {
            [Stmt::Expr(only, _)] => is_dead_end(only),
            [Stmt::Macro(only)] => {
                let name = only.mac.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
                ["panic", "unreachable", "todo", "unimplemented", "bail"].contains(&name.as_str())
            }
            _ => false,
        },
        _ => false,
    }
}

fn is_self(expression: &Expr) -> bool {
    match expression {
        Expr::Path(path) => path.path.is_ident("self"),
        Expr::Paren(inner) => is_self(&inner.expr),
        Expr::Reference(inner) => is_self(&inner.expr),
        Expr::Unary(inner) => is_self(&inner.expr),
        _ => false,
    }
}

/// Methods that make a text of others.
const TEXT_METHODS: [&str; 8] = ["replace", "replacen", "trim", "trim_start", "trim_end", "concat", "join", "repeat"];

/// Methods that change a string's type and not its text, or take it out of a result.
fn is_same(call: &ExprMethodCall) -> bool {
    const NAMES: [&str; 36] = [
        "to_string",
        "to_owned",
        "into",
        "as_str",
        "as_ref",
        "clone",
        "borrow",
        "to_vec",
        "unwrap",
        "as_bytes",
        "as_c_str",
        "as_ptr",
        "cast",
        "deref",
        "into_boxed_str",
        "into_bytes",
        "as_slice",
        "leak",
        "cloned",
        "copied",
        "iter",
        "into_iter",
        "ok",
        "into_string",
        "into_owned",
        "try_into",
        "to_bytes",
        "to_bytes_with_nul",
        "as_bytes_with_nul",
        "to_str",
        "to_string_lossy",
        "into_raw",
        "unwrap_unchecked",
        "as_deref",
        "to_cstring",
        "into_c_string",
    ];
    const WITH_ARGUMENT: [&str; 5] = ["expect", "map_err", "context", "with_context", "ok_or"];
    match call.args.len() {
        0 => NAMES.iter().any(|name| call.method == name),
        1 => WITH_ARGUMENT.iter().any(|name| call.method == name),
        _ => false,
    }
}

/// `CELL.get_or_init(|| value)`
fn first_made<'e>(method: &str, mut arguments: impl Iterator<Item = &'e Expr>) -> Option<Expr> {
    let is_lazy = matches!(method, "get_or_init" | "get_or_try_init" | "get_or_insert_with" | "call_once");
    match arguments.next().filter(|_| is_lazy)? {
        Expr::Closure(closure) => Some((*closure.body).clone()),
        _ => None,
    }
}

/// Functions that do the same.
fn makes_string(names: &[String]) -> bool {
    let [.., kind, function] = names else { return false };
    matches!(
        (kind.as_str(), function.as_str()),
        ("String" | "Cow" | "Arc" | "Rc" | "Box", "from" | "new")
            | ("Cow", "Borrowed" | "Owned")
            | ("str", "to_string" | "to_owned" | "from_utf8" | "from_utf8_unchecked")
            | ("String", "from_utf8" | "from_utf8_lossy" | "from_utf8_unchecked" | "from_str")
            | ("CString", "new" | "from")
            | ("CStr", "from_bytes_with_nul" | "from_bytes_with_nul_unchecked" | "from_ptr" | "from_bytes_until_nul")
            | ("LazyLock" | "Lazy" | "LazyCell", "force")
            | ("Box" | "String", "leak")
            | ("hint", "black_box")
    ) && !(kind == "String" && function == "new")
}

fn is_wrapped(path: &syn::Path) -> bool {
    path_names(path).last().is_some_and(|name| name == "Ok" || name == "Some")
}

/// `LazyLock::new(|| value)`
fn makes_lazily(names: &[String]) -> bool {
    matches!(names, [.., kind, function] if function == "new" && matches!(kind.as_str(), "LazyLock" | "Lazy" | "LazyCell"))
}

pub(super) fn path_names(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}
