//! Cells that are filled once, as `OnceLock`: what is taken out of one is what the code puts into it.

use std::rc::Rc;

use memchr::memmem::Finder;
use proc_macro2::TokenStream;
use syn::Expr;

use super::convert::first_made;
use super::{Folder, Sites, at_most};
use crate::rust::fold::frames::Frames;
use crate::rust::fold::parse::{parse, parse_list, path_names};
use crate::rust::names::{Meaning, words_in};

/// Types whose `new()` makes such a cell.
const CELLS: [&str; 2] = ["OnceLock", "OnceCell"];

/// The methods of a cell that a file may call. Who lends it to others may fill it in any place.
const KNOWN: [&str; 5] = ["get", "set", "get_or_init", "get_or_try_init", "into_inner"];

/// Methods that are called on a cell, with their arguments.
pub(super) type Fills = Rc<[(String, TokenStream)]>;

impl Folder<'_, '_> {
    /// What is in a cell that a name stands for. `None`: it is no cell, or others may fill it, or nothing does.
    pub(super) fn in_cell(&mut self, file: usize, cell: &Expr, steps: usize) -> Option<Sites> {
        let Expr::Path(path) = cell else { return None };
        let name = path.path.get_ident()?.to_string();
        let at = self.place(file, cell).start;
        let [found] = <[_; 1]>::try_from(self.code.resolve(file, at, std::slice::from_ref(&name)).ok()?).ok()?;
        let Meaning::Expression(value) = found.meaning else { return None };
        let Expr::Call(made) = parse(value).ok()? else { return None };
        let Expr::Path(maker) = &*made.func else { return None };
        let names = path_names(&maker.path);
        let is_cell = matches!(names.as_slice(), [.., kind, new] if CELLS.contains(&kind.as_str()) && new == "new");
        if !is_cell || found.file != file {
            return None;
        }
        let fills = self.fills(file, &name);
        let mut sites = Vec::new();
        for (method, arguments) in fills?.iter() {
            let arguments = parse_list(arguments.clone()).ok()?;
            let value = match (method.as_str(), arguments.as_slice()) {
                ("set", [value]) => Some(value.clone()),
                ("set", _) => return None,
                _ if method.starts_with("get_or") => Some(first_made(method, arguments.iter())?),
                _ => None,
            };
            // The values stand where the cell is filled, which may be another function.
            sites.extend(value.map(|value| self.heads(file, &value, &Frames::default(), steps)).into_iter().flatten());
        }
        (!sites.is_empty()).then(|| at_most(sites))
    }

    /// The methods that may fill a cell, with their arguments; `None` if others may fill it.
    fn fills(&mut self, file: usize, name: &str) -> Option<Fills> {
        let key = (file, name.to_string());
        if let Some(known) = self.cells.get(&key) {
            return known.clone();
        }
        let is_private = self.is_private(file, name);
        let calls = self.code.files[file].rust.calls.iter();
        let fills = calls.filter(|call| is_private && call.is_method && call.receiver.to_string() == name);
        let fills: Fills = fills.map(|call| (call.path.join("::"), call.arguments.clone())).collect();
        let found = is_private.then_some(fills);
        self.cells.insert(key, found.clone());
        found
    }

    /// Whether a file alone has the name, and does nothing with it but to call known methods.
    fn is_private(&mut self, file: usize, name: &str) -> bool {
        self.code.read_packages_with(name);
        let package = self.code.files[file].package;
        let finder = Finder::new(name);
        let others = self.code.files.iter().enumerate().filter(|(_, other)| other.package == package);
        others.map(|(index, other)| (index == file, other.rust.text())).all(|(is_own, text)| {
            let uses: Vec<Use<'_>> = words_in(text.as_bytes(), &finder)
                .map(|at| Use { before: &text[..at], after: &text[at + name.len()..] })
                .collect();
            let is_fine = |it: &Use<'_>| {
                let is_kept = if it.is_declaration() { !it.is_public() } else { it.is_known_call() };
                !it.before.ends_with("::") && (is_kept || !is_own)
            };
            // Another file means its own variable only if it has one.
            uses.iter().all(is_fine) && (uses.is_empty() || uses.iter().any(Use::is_declaration))
        })
    }
}

/// The text before and behind a name.
struct Use<'t> {
    before: &'t str,
    after: &'t str,
}

impl Use<'_> {
    fn is_declaration(&self) -> bool {
        ["static", "let"].iter().any(|word| self.before.trim_end().ends_with(word))
    }

    /// For a declaration, whether it is `pub static`, or `pub(…) static`.
    fn is_public(&self) -> bool {
        let before = self.before.trim_end().trim_end_matches("static").trim_end();
        before.ends_with(')') || before.ends_with("pub")
    }

    fn is_known_call(&self) -> bool {
        let method = self.after.trim_start().strip_prefix('.').map(str::trim_start);
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let name = method.and_then(|method| method.split(|c| !is_part(c)).next());
        name.is_some_and(|name| KNOWN.contains(&name))
    }
}
