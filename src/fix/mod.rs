//! Writes verified suggestions to the files of the workspace or as a patch, and comments that silence findings.

mod allow;
mod patch;
pub mod vcs;
pub mod write;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use lmem_base::diagnostic::{Edit, Suggestion};
use lmem_base::edit;
use lmem_base::source::SourceFile;

pub use allow::{Allowed, allow};
pub use patch::patch;
pub use vcs::{VcsError, VcsRules, refuse, refuse_files};
pub use write::{WriteError, is_inside, write};

/// A file with all its edits applied.
#[derive(Debug, Clone)]
pub struct FixedFile {
    /// The file as read.
    pub file: Arc<SourceFile>,
    /// The new content.
    pub text: String,
}

/// The files that suggestions change, by path. The suggestions are compatible, so their edits do not overlap.
pub fn fixed_files<'s>(suggestions: impl IntoIterator<Item = &'s Suggestion>) -> Vec<FixedFile> {
    let mut edits: BTreeMap<&Path, Vec<&Edit>> = BTreeMap::new();
    for edit in suggestions.into_iter().flat_map(|suggestion| &suggestion.edits) {
        edits.entry(&edit.span.file.path).or_default().push(edit);
    }
    let fixed = edits.into_values().filter_map(|edits| {
        let file = Arc::clone(&edits.first()?.span.file);
        let text = edit::apply(file.text(), &edits).filter(|text| file.is_utf8() && text != file.text())?;
        Some(FixedFile { file, text })
    });
    fixed.collect()
}
