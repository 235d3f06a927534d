//! Kernels that reach no call that is known: strings, and files that are included as strings. Such a call may be a function
//! value, a function of another crate, or made by a macro.

use std::collections::BTreeSet;
use std::path::PathBuf;

use lmem_base::source::{Span, has_ending};
use lmem_unit::{NvrtcOptions, Unresolved};

use super::fold::{Folded, Folder, Origin};
use super::sinks::INCLUDING;
use super::{Compiled, Extractor, FoundText, marker};

impl Extractor<'_> {
    /// Texts with a kernel that no known call compiles: CUDA C++ may be complete as it stands, and is compiled with
    /// assumed options; PTX is reported. `reached` has the literals that others account for.
    pub fn leftovers(&mut self, file: usize, reached: &BTreeSet<(PathBuf, usize)>) {
        let rust = &self.code.files[file].rust;
        let mut unclaimed = Vec::new();
        let mut included = Vec::new();
        for literal in &rust.literals {
            let span = rust.span(literal.clone());
            if reached.contains(&(span.file.path.clone(), span.start)) {
                continue;
            }
            let is_kernel = marker::may_have_kernel(span.text().as_bytes());
            let names_file = !is_kernel && is_included(&span);
            if !is_kernel && !names_file {
                continue;
            }
            let Some(text) = rust.decode(literal.clone()) else { continue };
            if names_file {
                included.push((span, text.as_str().to_string()));
            } else {
                let origin = Some(Origin::Literal(span.clone()));
                unclaimed.push((span, Folded { text, origin, ..Folded::default() }));
            }
        }
        let mut folder = Folder::new(&mut self.code);
        for (span, path) in included {
            // Others check CUDA sources of the workspace, and say what is wrong with a file.
            if let Ok(folded) = folder.include(file, &path, span.clone())
                && folded.files.iter().all(|file| !has_ending(file, &["cu", "rs"]))
            {
                unclaimed.push((span, folded));
            }
        }
        for (span, folded) in unclaimed {
            self.unclaimed(file, span, folded);
        }
    }

    fn unclaimed(&mut self, file: usize, span: Span, folded: Folded) {
        if folded.files.iter().any(|file| self.strings.files.contains(file)) {
            return;
        }
        let reason = match folded.files.is_empty() {
            true => "no known compile call uses this string".to_string(),
            false => "no known compile call uses the text of this file".to_string(),
        };
        if marker::is_kernel(folded.text.as_str()) {
            let options = NvrtcOptions { unresolved: Some(reason), is_unclaimed: true, ..NvrtcOptions::default() };
            self.unit(file, FoundText { folded, code: Compiled::ByNvrtc(options), use_span: span });
        } else if marker::is_ptx(folded.text.as_str()) {
            self.strings.unresolved.push(Unresolved { span, reason });
        }
    }
}

/// Whether a literal is the argument of a macro that includes a file as text.
fn is_included(literal: &Span) -> bool {
    let before = literal.file.text().get(..literal.start).unwrap_or("").trim_end();
    let named = before.strip_suffix(['(', '[', '{']).map(str::trim_end).and_then(|before| before.strip_suffix('!'));
    named.is_some_and(|named| INCLUDING.iter().any(|name| named.trim_end().ends_with(name)))
}
