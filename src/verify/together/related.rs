//! Whether two variables of a kernel belong together: one line has both, or one name is the index of both.

use std::collections::BTreeSet;
use std::path::Path;

use cuda_syntax::identifiers::is_identifier_character;
use lmem_base::diagnostic::Diagnostic;
use lmem_base::source::Span;

/// What a finding may have in common with another one.
pub struct Marks<'d> {
    /// The lines of the declaration and of the accesses.
    lines: BTreeSet<(&'d Path, usize)>,
    /// The indices that are plain names.
    indices: BTreeSet<&'d str>,
}

impl<'d> Marks<'d> {
    pub fn of(diagnostic: &'d Diagnostic) -> Self {
        let name = diagnostic.evidence.as_ref().and_then(|evidence| evidence.variable.as_deref());
        let is_index = |text: &&str| Some(*text) != name && is_name(text);
        Self {
            lines: spans(diagnostic).map(|span| (span.file.path.as_path(), span.start_line())).collect(),
            indices: spans(diagnostic).map(Span::text).filter(is_index).collect(),
        }
    }

    /// Whether two findings have a line or an index in common.
    pub fn meet(&self, other: &Self) -> bool {
        !self.lines.is_disjoint(&other.lines) || !self.indices.is_disjoint(&other.indices)
    }
}

fn spans(diagnostic: &Diagnostic) -> impl Iterator<Item = &Span> {
    let labels = diagnostic.primary.iter().chain(&diagnostic.secondary).map(|label| &label.span);
    let kernels = diagnostic.evidence.iter().flat_map(|evidence| &evidence.kernels);
    let all = labels.chain(kernels.flat_map(|kernel| &kernel.accesses).flat_map(|access| &access.spans));
    all.filter(|span| !span.is_whole_file())
}

fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit()) && !text.is_empty() && text.chars().all(is_identifier_character)
}
