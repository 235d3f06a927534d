//! Collects all literals below an expression that cannot be folded.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

use lmem_base::source::Span;

use super::Folder;
use crate::rust::fold::parse::MAX_TOKENS;
use crate::rust::names::Meaning;

impl Folder<'_, '_> {
    /// Marks all literals that an expression uses as reached: the expression cannot be folded, and this was reported
    /// already. Gives those literals.
    pub fn reach_all(&mut self, file: usize, tokens: TokenStream) -> BTreeSet<Span> {
        let mut all = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut waiting = vec![(file, tokens)];
        while let Some((file, tokens)) = waiting.pop() {
            for token in tokens {
                match token {
                    TokenTree::Group(group) => waiting.push((file, group.stream())),
                    TokenTree::Literal(literal) => {
                        let span = self.spanned(file, &literal);
                        self.reached.insert((span.file.path.clone(), span.start));
                        all.insert(span);
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
        all
    }
}
