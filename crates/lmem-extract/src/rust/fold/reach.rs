//! Collects all literals below an expression that cannot be folded.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};

use super::Folder;
use crate::rust::names::Meaning;

impl Folder<'_, '_> {
    /// Marks all literals that an expression uses as reached: the expression cannot be folded, and this was reported
    /// already. `is_unknown`: they are also in a text that is not known before run time.
    ///
    /// What was looked through for one expression is not for the next: thousands may use the same names.
    pub fn reach_all(&mut self, file: usize, tokens: TokenStream, is_unknown: bool) {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![(file, tokens)];
        while let Some((file, tokens)) = waiting.pop() {
            for token in tokens {
                match token {
                    TokenTree::Group(group) => waiting.push((file, group.stream())),
                    TokenTree::Literal(literal) => {
                        let span = self.spanned(file, &literal);
                        self.reached.insert((span.file.path.clone(), span.start));
                        if is_unknown {
                            self.in_unknown.insert(span);
                        }
                    }
                    TokenTree::Ident(name) => {
                        let at = self.code.files[file].rust.range(name.span()).start;
                        let name = name.to_string();
                        if seen.insert((file, name.clone())) {
                            let values = self.values_of(file, at, name, is_unknown);
                            waiting.extend(values.into_iter().filter(|value| self.is_new(value, is_unknown)));
                        }
                    }
                    TokenTree::Punct(_) => {}
                }
            }
        }
    }

    /// The values that a name may have at an offset, with their files.
    fn values_of(&mut self, file: usize, at: usize, name: String, is_unknown: bool) -> Vec<(usize, TokenStream)> {
        let rust = &self.code.files[file].rust;
        let mut found = Vec::new();
        if let Some(scope) = rust.scope_of(&name, at)
            && is_first(&mut self.scopes_reached, (file, name.clone(), scope), is_unknown)
        {
            found.extend(rust.values(&name, at).map(|value| (file, value.clone())));
        }
        for meant in self.code.resolve(file, at, &[name]).unwrap_or_default() {
            let values = match meant.meaning {
                Meaning::Expression(value) | Meaning::Part { of: value, .. } => vec![value],
                Meaning::Sum(values) => values,
            };
            found.extend(values.into_iter().map(|value| (meant.file, value)));
        }
        found
    }

    /// Whether the literals of a value were not marked yet.
    fn is_new(&mut self, (file, value): &(usize, TokenStream), is_unknown: bool) -> bool {
        let tokens: Vec<TokenTree> = value.clone().into_iter().collect();
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return false };
        let rust = &self.code.files[*file].rust;
        let place = (*file, rust.range(first.span()).start, rust.range(last.span()).end);
        is_first(&mut self.values_reached, place, is_unknown)
    }
}

/// Whether this is the first time that something is marked, or the first that it is marked as unknown.
fn is_first<K: Ord>(marked: &mut BTreeMap<K, bool>, key: K, is_unknown: bool) -> bool {
    match marked.get(&key) {
        Some(was_unknown) if *was_unknown || !is_unknown => false,
        _ => {
            marked.insert(key, is_unknown);
            true
        }
    }
}
