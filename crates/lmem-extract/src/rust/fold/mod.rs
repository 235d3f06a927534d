//! Folds an expression to the texts that it may have at run time.
//!
//! At a choice (`match`, `if`, an array element, a trait constant with several implementations) every alternative is
//! followed. An expression that cannot be followed gives a [`Failure`] with the reason.

mod cells;
mod concatenate;
mod convert;
pub mod failure;
mod follow;
mod format;
pub mod frames;
mod functions;
pub(in crate::rust) mod include;
mod literal;
mod macros;
mod members;
mod number;
pub mod parse;
mod reach;
mod string_methods;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use syn::Expr;
use syn::spanned::Spanned;

use lmem_base::source::{SourceFile, Span};
use lmem_unit::MappedText;

use self::cells::Fills;
use self::convert::is_wrapped;
use self::failure::unknown;
use super::names::Code;

pub(super) use self::failure::Failure;
pub(super) use self::frames::Frames;
pub(super) use crate::rust::fold::parse::{OF_MACRO, UNUSUAL_SIZE, parse_list, path_names};

/// Limit on chains of names and on nested expressions.
const MAX_STEPS: usize = 64;

/// Work limits: steps per call, and steps per run.
const MAX_WORK: usize = 20_000;
const MAX_WORK_OF_ALL: usize = 2_000_000;

/// Steps per kernel name.
const MAX_WORK_OF_NAME: usize = 400;

/// Maximum number of possible texts of one expression.
const MAX_CHOICES: usize = 32;

/// Bytes of a text that is put together. Far larger than any kernel; a text that is copied into itself must not fill the memory.
const MAX_TEXT: usize = 16 << 20;

/// Pieces of a text that is put together: each escape in a literal is one, and takes more memory than its character.
const MAX_PIECES: usize = 1 << 20;

/// Bytes that are copied to put texts together, in a run: many times those of all kernels of a large project.
const MAX_TEXT_OF_ALL: usize = 128 << 20;

/// Bytes that a piece takes beside its characters.
const PIECE: usize = 64;

/// Folds expressions, and records the literals that they use.
pub(super) struct Folder<'c, 'w> {
    pub code: &'c mut Code<'w>,
    /// File and offset, in the written source, of literals that reached a sink.
    pub reached: BTreeSet<(PathBuf, usize)>,
    /// Literals in texts that are not known before run time.
    pub in_unknown: BTreeSet<Span>,
    /// Values whose literals are in `reached`, by file and range, and whether these are in `in_unknown` too.
    values_reached: BTreeMap<(usize, usize, usize), bool>,
    /// Names in scopes whose values are among them.
    scopes_reached: BTreeMap<(usize, String, usize), bool>,
    /// Call paths followed so far, for all calls.
    pub ways_of_all: usize,
    /// The call stack of the current function.
    pub frames: Frames,
    included: BTreeMap<PathBuf, Arc<SourceFile>>,
    /// What fills a cell, by file and name.
    cells: BTreeMap<(usize, String), Option<Fills>>,
    /// Whether compile and load calls are results, and not followed further.
    keeps_products: bool,
    /// Work limit for the current call.
    allowance: usize,
    work: usize,
    work_of_all: usize,
    /// Bytes copied into texts that are put together, for all calls.
    made: usize,
}

/// A folded text and its origin.
#[derive(Debug, Clone, Default)]
pub(super) struct Folded {
    pub text: MappedText,
    /// The first literal, or the first included file.
    pub origin: Option<Origin>,
    /// Files that are part of the text as a whole.
    pub files: BTreeSet<PathBuf>,
}

#[derive(Debug, Clone)]
pub(super) enum Origin {
    Literal(Span),
    /// A file, and the macro that includes it.
    File(Arc<SourceFile>, Option<Span>),
}

/// An expression with its file and its call stack.
#[derive(Clone)]
pub(super) struct Site {
    pub file: usize,
    pub expression: Expr,
    pub frames: Frames,
}

type Sites = Vec<Result<Site, Failure>>;
type Texts = Vec<Result<Folded, Failure>>;

impl<'c, 'w> Folder<'c, 'w> {
    pub fn new(code: &'c mut Code<'w>) -> Self {
        Self {
            code,
            reached: BTreeSet::new(),
            in_unknown: BTreeSet::new(),
            values_reached: BTreeMap::new(),
            scopes_reached: BTreeMap::new(),
            ways_of_all: 0,
            frames: Frames::default(),
            included: BTreeMap::new(),
            cells: BTreeMap::new(),
            keeps_products: false,
            allowance: MAX_WORK,
            work: 0,
            work_of_all: 0,
            made: 0,
        }
    }

    /// Starts work on another call.
    pub fn start(&mut self, frames: Frames) {
        self.frames = frames;
        self.work_of_all += std::mem::take(&mut self.work);
    }

    /// Lowers the work limit: kernel names are simple expressions, texts may not be.
    pub fn follow_names(&mut self) {
        self.allowance = MAX_WORK_OF_NAME;
    }

    /// The possible texts of an expression.
    pub fn texts(&mut self, file: usize, expression: &Expr) -> Texts {
        let frames = self.frames.clone();
        self.fold(file, expression, &frames, 0)
    }

    /// The only possible text of an expression.
    ///
    /// # Errors
    /// Why the text is unknown before run time, or that several texts are possible.
    pub fn text(&mut self, file: usize, expression: &Expr) -> Result<Folded, String> {
        only(self.texts(file, expression))
    }

    /// The expression behind names, parentheses, `&` and `.clone()`, and its file.
    ///
    /// # Errors
    /// Why that expression is unknown.
    pub fn behind_names(&mut self, file: usize, expression: &Expr) -> Result<(usize, Expr), String> {
        let frames = self.frames.clone();
        only(self.heads(file, expression, &frames, 0)).map(|site| (site.file, site.expression))
    }

    /// The expressions behind names and choices; compile and load calls are not followed further.
    pub fn makers(&mut self, file: usize, expression: &Expr) -> Vec<Result<Site, Failure>> {
        let frames = self.frames.clone();
        let outer = std::mem::replace(&mut self.keeps_products, true);
        let sites = self.heads(file, expression, &frames, 0);
        self.keeps_products = outer;
        sites
    }

    /// The value of an integer expression.
    pub fn integer(&mut self, file: usize, expression: &Expr) -> Option<i64> {
        let frames = self.frames.clone();
        self.number(file, expression, &frames, 0)
    }

    /// The byte range of an expression.
    pub fn place(&self, file: usize, expression: &Expr) -> Range<usize> {
        self.code.files[file].rust.range(expression.span())
    }

    pub fn span(&self, file: usize, expression: &Expr) -> Span {
        self.spanned(file, expression)
    }

    /// The source span of a syntax element of a file.
    pub fn spanned(&self, file: usize, syntax: &impl Spanned) -> Span {
        let rust = &self.code.files[file].rust;
        rust.span(rust.range(syntax.span()))
    }

    fn spend(&mut self, steps: usize) -> Result<(), Failure> {
        self.work += 1;
        match steps > MAX_STEPS {
            true => Err(Failure::beyond(format!("it is more than {MAX_STEPS} names and expressions away"))),
            false if self.work > self.allowance || self.work_of_all > MAX_WORK_OF_ALL => {
                Err(Failure::beyond("its text is put together in more ways than are followed"))
            }
            false => Ok(()),
        }
    }

    fn fold(&mut self, file: usize, expression: &Expr, frames: &Frames, steps: usize) -> Texts {
        let sites = self.heads(file, expression, frames, steps);
        at_most(each(sites, |site| self.fold_head(&site, steps + 1)))
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
            // Only `Meaning::Sum` produces tuples as texts.
            Expr::Tuple(sum) => {
                let pieces: Vec<Expr> = sum.elems.iter().cloned().collect();
                self.joined(file, &pieces, frames, "", steps)
            }
            Expr::MethodCall(call) => self.edited(file, call, frames, steps),
            Expr::Call(call) => match &*call.func {
                Expr::Path(path) if path_names(&path.path).ends_with(&["String".to_string(), "new".to_string()]) => {
                    vec![Ok(Folded::default())]
                }
                // A wrapper such as `Some(text)`: the text is its content.
                Expr::Path(path) if is_wrapped(&path.path) && call.args.len() == 1 => {
                    self.fold(file, &call.args[0], frames, steps)
                }
                Expr::Path(path) => {
                    vec![Err(Failure::made(without_body(&path_names(&path.path))))]
                }
                _ => vec![Err(unknown())],
            },
            _ => vec![Err(unknown())],
        }
    }
}

/// Why a call has no text: its function makes it, or was not read.
fn without_body(names: &[String]) -> String {
    let name = names.join("::");
    let may_be_elsewhere = match names {
        [] | [_] => false,
        [first, ..] => {
            !matches!(first.as_str(), "std" | "core" | "alloc" | "crate" | "self" | "super")
                && !first.starts_with(|letter: char| letter.is_uppercase())
        }
    };
    match may_be_elsewhere {
        true => format!("`{name}` makes its text when the program runs, or is in a package that is not checked"),
        false => format!("`{name}` makes its text when the program runs"),
    }
}

fn only<T>(mut found: Vec<Result<T, Failure>>) -> Result<T, String> {
    match found.len() {
        1 => found.remove(0).map_err(|failure| failure.reason),
        _ => Err("it may be several texts".to_string()),
    }
}

/// An expression as its own result.
fn itself(file: usize, expression: &Expr, frames: &Frames) -> Sites {
    vec![Ok(Site { file, expression: expression.clone(), frames: frames.clone() })]
}

/// Applies a function to each site; failures are kept.
fn each<T>(sites: Sites, mut follow: impl FnMut(Site) -> Vec<Result<T, Failure>>) -> Vec<Result<T, Failure>> {
    let followed = sites.into_iter().map(|site| site.map_or_else(|failure| vec![Err(failure)], &mut follow));
    followed.flatten().collect()
}

/// Limits the number of alternatives.
fn at_most<T>(mut found: Vec<Result<T, Failure>>) -> Vec<Result<T, Failure>> {
    if found.len() > MAX_CHOICES {
        found.truncate(MAX_CHOICES);
        found.push(Err(Failure::beyond(format!("it has more than {MAX_CHOICES} variants"))));
    }
    found
}
