//! Members of structures and tuples, and elements of arrays.

use proc_macro2::TokenStream;
use syn::{Expr, Member};

use super::failure::unknown;
use super::{Folder, MAX_CHOICES, Site, Sites, at_most, each};
use crate::rust::fold::failure::{Failure, FailureKind};
use crate::rust::fold::frames::Frames;
use crate::rust::fold::parse::parse_list;
use crate::rust::names::{Found, Meaning};

impl Folder<'_, '_> {
    /// `base.member`
    pub(super) fn member(&mut self, file: usize, base: &Expr, member: &Member, frames: &Frames, steps: usize) -> Sites {
        let member = match member {
            Member::Named(name) => name.to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        };
        if is_self(base) {
            return self.own_member(file, base, &member, frames, steps);
        }
        let sites = self.heads(file, base, frames, steps);
        at_most(each(sites, |site| self.member_of(site, &member, steps)))
    }

    /// `self.member`: the member's values in all constructions of the type.
    fn own_member(&mut self, file: usize, base: &Expr, member: &str, frames: &Frames, steps: usize) -> Sites {
        let at = self.place(file, base).start;
        let owner = self.code.files[file].rust.owner_at(at).map(|owner| owner.name.clone());
        let made = owner.map(|owner| self.code.members_of(file, &owner, member)).unwrap_or_default();
        if made.is_empty() {
            return vec![Err(in_member(member))];
        }
        let of_structure = |(file, value): (usize, TokenStream)| {
            let found = Found { file, meaning: Meaning::Expression(value) };
            self.meaning(found, frames, steps)
        };
        at_most(made.into_iter().flat_map(of_structure).collect())
    }

    pub(super) fn member_of(&mut self, site: Site, member: &str, steps: usize) -> Sites {
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
            None => vec![Err(in_member(member))],
        }
    }

    /// One element of an array, or all of them.
    pub(super) fn element(
        &mut self,
        file: usize,
        array: &Expr,
        index: Option<&Expr>,
        frames: &Frames,
        steps: usize,
    ) -> Sites {
        let position = index.and_then(|index| self.number(file, index, frames, steps + 1));
        let position = position.and_then(|position| usize::try_from(position).ok());
        let sites = self.heads(file, array, frames, steps);
        at_most(each(sites, |site| {
            let elements = match self.elements(&site) {
                Ok(elements) => elements,
                Err(failure) => return vec![Err(failure)],
            };
            let chosen: Vec<&Expr> = match position {
                Some(position) => elements.get(position).into_iter().collect(),
                None => elements.iter().take(MAX_CHOICES + 1).collect(),
            };
            if chosen.is_empty() {
                return vec![Err(unknown())];
            }
            let follow = |element: &Expr| self.heads(site.file, element, &site.frames, steps + 1);
            chosen.into_iter().flat_map(follow).collect()
        }))
    }

    /// The elements of `[…]` and `vec![…]`, also with `.iter()`.
    pub(super) fn elements(&self, site: &Site) -> Result<Vec<Expr>, Failure> {
        match &site.expression {
            Expr::Array(array) => Ok(array.elems.iter().cloned().collect()),
            Expr::Macro(call) if call.mac.path.is_ident("vec") => {
                parse_list(call.mac.tokens.clone()).map_err(Failure::made)
            }
            _ => Err(unknown()),
        }
    }
}

fn in_member(member: &str) -> Failure {
    Failure { reason: format!("its text is in the member `{member}`"), kind: FailureKind::Name }
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
