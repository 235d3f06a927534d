//! What a change hides from the check: findings that are neither gone nor smaller, because nobody looks any more.

use std::collections::BTreeSet;
use std::path::Path;

use cuda_syntax::identifiers::occurrences;
use cuda_syntax::launch::base_name;
use lmem_base::diagnostic::{BaselineTally, Diagnostic, ImprovedEntry, Severity};
use lmem_base::source::SourceFile;
use lmem_lints::remark::NO_LONGER_CHECKED;
use lmem_project::discover::Workspace;

/// Limit on what the remark lists.
const MAX_NOTES: usize = 10;

/// What the run looks at.
pub struct Checked<'a> {
    /// Sources that the settings of the revision check, and those of now do not, though they are still there.
    pub left_out: &'a BTreeSet<String>,
    /// Architectures that the settings of the revision name, and those of now do not.
    pub dropped: &'a [&'a String],
    /// What settings have sources compiled otherwise.
    pub otherwise: &'a [String],
    /// Whether comments or settings silence a lint in a file.
    pub is_silent: &'a dyn Fn(&str, &str) -> bool,
    /// The kernels that were compiled, without namespaces and template arguments.
    pub compiled: &'a BTreeSet<String>,
}

/// Takes what is hidden out of what is gone, and says what it is; `None` if nothing is.
pub fn take(
    tally: &mut BaselineTally,
    checked: &Checked<'_>,
    workspace: &Workspace,
    revision: &str,
) -> Option<Diagnostic> {
    let mut notes: Vec<String> =
        checked.left_out.iter().map(|file| format!("`{file}` is left out by the settings")).collect();
    tally.forget_gone(|entry| match why_hidden(entry, checked, workspace) {
        Some(why) => {
            notes.extend(Some(why).filter(|why| !why.is_empty()));
            true
        }
        None => false,
    });
    notes.extend(checked.dropped.iter().map(|name| format!("nothing is compiled for {name}")));
    notes.extend(checked.otherwise.iter().cloned());
    if notes.is_empty() {
        return None;
    }
    if let Some(more) = notes.len().checked_sub(MAX_NOTES + 1) {
        notes.truncate(MAX_NOTES);
        notes.push(format!("and {} more", more + 1));
    }
    Some(Diagnostic {
        notes,
        ..Diagnostic::of_tool(
            Severity::Note,
            NO_LONGER_CHECKED,
            format!("not everything that `{revision}` checks is checked now"),
        )
    })
}

/// Why an entry without a finding is not gone; empty if that is said for its file already.
fn why_hidden(entry: &ImprovedEntry, checked: &Checked<'_>, workspace: &Workspace) -> Option<String> {
    if checked.left_out.contains(&entry.file) {
        return Some(String::new());
    }
    if (checked.is_silent)(&entry.file, &entry.lint) {
        return Some(format!("{} is silenced", entry.named()));
    }
    // Conditional compilation, a comment around it, or a new name that no build compiles: the text is there.
    let kernel = base_name(&entry.kernel);
    let is_not_compiled = !kernel.is_empty() && !checked.compiled.contains(kernel);
    let path = workspace.root.join(&entry.file);
    (is_not_compiled && still_has(&path, kernel, workspace))
        .then(|| format!("{} is not compiled, and its text is still there", entry.named()))
}

/// Whether a file of the workspace has a word. Files outside are not looked at: a link must not lead there.
fn still_has(path: &Path, word: &str, workspace: &Workspace) -> bool {
    workspace.places.hold_file(path)
        && SourceFile::read(path, &workspace.root).is_ok_and(|file| occurrences(file.text(), word).next().is_some())
}
