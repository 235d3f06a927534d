//! `format!`: a template, and the values of its holes.

use std::collections::BTreeMap;

use syn::Expr;

use lmem_unit::MappedText;

use super::concatenate::all_failed;
use super::failure::unknown;
use super::{Folded, Folder, Texts, at_most, each};
use crate::rust::fold::failure::Failure;
use crate::rust::fold::frames::Frames;
use crate::rust::fold::parse::path_names;
use crate::rust::template::{self, Hole, Piece};

impl Folder<'_, '_> {
    /// `format!("… {} {NAME} …", arguments)`
    pub(super) fn formatted(
        &mut self,
        file: usize,
        template: &Expr,
        arguments: &[Expr],
        frames: &Frames,
        steps: usize,
    ) -> Texts {
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
                wholes = self.combined(wholes, &texts);
                if all_failed(&wholes) {
                    break;
                }
            }
            found.extend(wholes);
        }
        at_most(found)
    }

    /// A captured name in the braces of a template.
    fn captured(&mut self, file: usize, at: usize, name: &str, frames: &Frames, steps: usize) -> Texts {
        let sites = self.name(file, at, &[name.to_string()], frames, steps + 1);
        each(sites, |site| self.printed_or_text(site.file, &site.expression, &site.frames, steps))
    }

    pub(super) fn printed_or_text(&mut self, file: usize, expression: &Expr, frames: &Frames, steps: usize) -> Texts {
        let sites = self.heads(file, expression, frames, steps + 1);
        at_most(each(sites, |site| match self.printed(site.file, &site.expression, true, &site.frames, steps) {
            Some(text) => vec![Ok(text)],
            None => self.fold_head(&site, steps + 1),
        }))
    }
}
