//! Follows names and choices to the expressions that a value comes from.

use proc_macro2::TokenStream;
use syn::Expr;

use super::convert::is_same;
use super::functions::is_dead_end;
use super::{Folder, Sites, at_most, each, itself};
use crate::rust::fold::failure::{Failure, FailureKind};
use crate::rust::fold::frames::Frames;
use crate::rust::fold::parse::{parse, path_names};
use crate::rust::names::{Found, Lost, Meaning};

impl Folder<'_, '_> {
    /// The possible values of an expression after names, choices and function calls are resolved: literals, macros,
    /// operators, and methods that create new text.
    pub(super) fn heads(&mut self, file: usize, expression: &Expr, frames: &Frames, steps: usize) -> Sites {
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
            other => itself(file, other, frames),
        }
    }

    pub(super) fn name(&mut self, file: usize, at: usize, path: &[String], frames: &Frames, steps: usize) -> Sites {
        let found = match self.code.resolve(file, at, path) {
            Ok(found) => found,
            Err(Lost::Parameter { function, index, reason }) => {
                return match frames.argument(function, index) {
                    Some((file, argument, outer)) => self.heads(file, &argument, &outer, steps),
                    None => vec![Err(Failure { reason, kind: FailureKind::Parameter(function, index) })],
                };
            }
            Err(lost) => return vec![Err(lost.into())],
        };
        at_most(found.into_iter().flat_map(|found| self.meaning(found, frames, steps)).collect())
    }

    pub(super) fn meaning(&mut self, found: Found, frames: &Frames, steps: usize) -> Sites {
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
                    // A tuple expression stands for the concatenation of its elements, as in `concat!`.
                    Ok(pieces) => itself(file, &sum(pieces), frames),
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
                    sites = each(sites, |site| self.member_of(site, &member, steps));
                }
                // A loop often iterates over something other than an array; then the loop variable's name explains
                // more.
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
}

/// Several pieces as one tuple expression. No text is a tuple otherwise, so the meaning is unambiguous.
fn sum(pieces: &[Expr]) -> Expr {
    Expr::Tuple(syn::ExprTuple {
        attrs: Vec::new(),
        paren_token: syn::token::Paren::default(),
        elems: pieces.iter().cloned().collect(),
    })
}
