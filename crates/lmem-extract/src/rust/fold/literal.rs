//! The text of a string literal.

use std::collections::BTreeSet;

use syn::Lit;

use lmem_unit::MappedText;

use super::failure::unknown;
use super::{Folded, Folder, Origin};
use crate::rust::fold::failure::Failure;

impl Folder<'_, '_> {
    pub(super) fn literal(&mut self, file: usize, literal: &Lit) -> Result<Folded, Failure> {
        let rust = &self.code.files[file].rust;
        let range = rust.range(literal.span());
        let span = rust.span(range.clone());
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
        // A literal produced by a macro has a span, but the source has another text there.
        let decoded = if span.text() == written { rust.decode(range) } else { None };
        let text = decoded.ok_or_else(unknown)?;
        self.reached.insert((span.file.path.clone(), span.start));
        Ok(Folded { text, origin: Some(Origin::Literal(span)), files: BTreeSet::new() })
    }
}
