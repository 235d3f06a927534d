//! Whether two variables of a kernel belong together: one statement has both, or one name is the index of both.

use std::collections::BTreeSet;
use std::path::Path;

use cuda_syntax::identifiers::is_identifier_character;
use lmem_base::diagnostic::Diagnostic;
use lmem_base::source::Span;

/// Whether two findings have a line of code in common, or an index that is a plain name.
pub fn are_related(one: &Diagnostic, other: &Diagnostic) -> bool {
    !lines(one).is_disjoint(&lines(other)) || !indices(one).is_disjoint(&indices(other))
}

/// The statements of a finding: the declaration, and the accesses.
fn spans(diagnostic: &Diagnostic) -> impl Iterator<Item = &Span> {
    let labels = diagnostic.primary.iter().chain(&diagnostic.secondary).map(|label| &label.span);
    let kernels = diagnostic.evidence.iter().flat_map(|evidence| &evidence.kernels);
    labels.chain(kernels.flat_map(|kernel| &kernel.accesses).flat_map(|access| &access.spans))
}

fn lines(diagnostic: &Diagnostic) -> BTreeSet<(&Path, usize)> {
    let plain = spans(diagnostic).filter(|span| !span.is_whole_file());
    plain.map(|span| (span.file.path.as_path(), span.start_line())).collect()
}

fn indices(diagnostic: &Diagnostic) -> BTreeSet<&str> {
    let name = diagnostic.evidence.as_ref().and_then(|evidence| evidence.variable.as_deref());
    let is_name = |text: &str| {
        !text.starts_with(|c: char| c.is_ascii_digit()) && !text.is_empty() && text.chars().all(is_identifier_character)
    };
    spans(diagnostic).map(Span::text).filter(|text| is_name(text) && Some(*text) != name).collect()
}
