//! Text macros of the standard library: `concat!`, `env!`, `format!`, `include_str!`, `stringify!`.

use proc_macro2::{TokenStream, TokenTree};
use syn::{Expr, ExprMacro, Lit};

use lmem_unit::MappedText;

use super::failure::unknown;
use super::include::OUT_DIR;
use super::{Folded, Folder, Origin, Texts};
use crate::rust::fold::failure::Failure;
use crate::rust::fold::frames::Frames;
use crate::rust::fold::parse::parse_list;

impl Folder<'_, '_> {
    pub(super) fn expand(&mut self, file: usize, expression: &ExprMacro, frames: &Frames, steps: usize) -> Texts {
        let name = expression.mac.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let arguments = parse_list(expression.mac.tokens.clone());
        let arguments = match (name.as_str(), arguments) {
            ("stringify", _) => return vec![self.stringified(file, &expression.mac.tokens)],
            (_, Ok(arguments)) => arguments,
            ("include_str" | "include_bytes" | "concat" | "env" | "format" | "formatcp" | "concatcp", Err(reason)) => {
                return vec![Err(Failure::made(reason))];
            }
            _ => return vec![Err(self.of_macro(&name))],
        };
        match (name.as_str(), arguments.as_slice()) {
            ("include_str" | "include_bytes", [path]) => {
                let place = self.span(file, path);
                let paths = self.fold(file, path, frames, steps + 1).into_iter();
                let mut include = |path: Folded| self.include(file, path.text.as_str(), place.clone());
                paths.map(|path| path.and_then(&mut include)).collect()
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
            _ => vec![Err(self.of_macro(&name))],
        }
    }

    /// The failure for a macro that is not expanded.
    fn of_macro(&self, name: &str) -> Failure {
        let made = format!("`{name}!` makes its text");
        Failure::made(match self.code.macros.failure_of(name) {
            Some(why) => format!("{made}: {why}"),
            None => made,
        })
    }

    fn stringified(&self, file: usize, tokens: &TokenStream) -> Result<Folded, Failure> {
        let unknown = || Failure::made("`stringify!` makes its text");
        let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
        // `stringify!` separates identifiers by one space; the spacing of other tokens depends on the version of rustc.
        let is_plain = match tokens.as_slice() {
            [TokenTree::Group(_)] => false,
            [TokenTree::Punct(mark)] => mark.as_char() != '$',
            [_] => true,
            several => several.iter().all(|token| matches!(token, TokenTree::Ident(_))),
        };
        let Some(first) = tokens.first().filter(|_| is_plain) else { return Err(unknown()) };
        let origin = Some(Origin::Literal(self.spanned(file, first)));
        let mut text = MappedText::default();
        for (at, token) in tokens.iter().enumerate() {
            if at > 0 {
                text.push_generated(" ");
            }
            text.push(&token.to_string(), self.spanned(file, token));
        }
        Ok(Folded { text, origin, ..Folded::default() })
    }

    fn environment(&self, file: usize, name: &str) -> Result<Folded, Failure> {
        let package = self.code.files[file].package.and_then(|package| self.code.workspace.packages.get(package));
        let text = match (name, package) {
            ("CARGO_MANIFEST_DIR", Some(package)) => package.root.to_string_lossy().into_owned(),
            ("CARGO_PKG_NAME", Some(package)) => package.name.clone(),
            // A placeholder until a file below it is read.
            ("OUT_DIR", _) => OUT_DIR.to_string(),
            (name, _) => return Err(Failure::made(format!("it depends on the environment variable `{name}`"))),
        };
        let mut mapped = MappedText::default();
        mapped.push_generated(&text);
        Ok(Folded { text: mapped, ..Folded::default() })
    }
}
