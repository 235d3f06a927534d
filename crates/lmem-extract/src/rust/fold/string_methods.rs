//! Methods that create a text from others: `replace`, `trim`, `join`.

use syn::{Expr, ExprMethodCall};

use lmem_unit::MappedText;

use super::failure::of_part;
use super::{Folded, Folder, MAX_CHOICES, Texts, at_most, each, only};
use crate::rust::fold::failure::Failure;
use crate::rust::fold::frames::Frames;

/// Methods that create a text from others.
pub(super) const TEXT_METHODS: [&str; 8] =
    ["replace", "replacen", "trim", "trim_start", "trim_end", "concat", "join", "repeat"];

impl Folder<'_, '_> {
    /// Evaluates a method that creates a new text.
    pub(super) fn edited(&mut self, file: usize, call: &ExprMethodCall, frames: &Frames, steps: usize) -> Texts {
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
                let sites = self.heads(file, &call.receiver, frames, steps + 1);
                at_most(each(sites, |site| match self.elements(&site) {
                    Ok(elements) => self.joined(site.file, &elements, &site.frames, &between, steps),
                    Err(_) => vec![Err(made())],
                }))
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
                    // To look for the places takes time, too.
                    _ if self.is_full() => Err(Failure::too_large()),
                    (Ok(text), Ok(from), Ok(to)) => {
                        let from = from.text.as_str();
                        let times = text.text.as_str().matches(from).take(count.unwrap_or(usize::MAX)).count();
                        self.copies(&text.text, times);
                        self.make_room(&text.text, &to.text, times).map(|()| replace(text, from, to, count))
                    }
                });
                if found.len() > MAX_CHOICES {
                    return at_most(found);
                }
            }
        }
        found
    }
}

fn replace(text: &Folded, from: &str, to: &Folded, count: Option<usize>) -> Folded {
    let mut whole = Folded { text: MappedText::default(), ..text.clone() };
    let old = text.text.as_str();
    let mut end = 0;
    for (at, _) in old.match_indices(from).take(count.unwrap_or(usize::MAX)) {
        whole.text.append(&text.text.slice(end..at));
        whole.text.append(&to.text);
        end = at + from.len();
    }
    whole.text.append(&text.text.slice(end..old.len()));
    whole.files.extend(to.files.iter().cloned());
    whole
}
