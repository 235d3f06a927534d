//! Writes `allow` comments for findings, and checks again.

use std::sync::atomic::AtomicBool;

use lmem_base::words::plural;

use super::{CheckError, Outcome, Talk, fixing};
use crate::cli::CheckArgs;
use crate::fix::{self, Allowed, VcsRules};

/// Writes a comment for each finding of a check, and returns the result of another check.
///
/// # Errors
/// A check fails, the tree has uncommitted changes, or a file cannot be written.
pub(super) fn add_comments(
    check: impl Fn(Option<VcsRules>) -> Result<Outcome, CheckError>,
    arguments: &CheckArgs,
    reason: &str,
    cancel: &AtomicBool,
    talk: &Talk,
) -> Result<Outcome, CheckError> {
    let outcome = check(Some(fixing::vcs_rules(arguments)))?;
    if outcome.interrupted {
        return Err(CheckError::Interrupted);
    }
    let root = &outcome.workspace.root;
    let Allowed { mut files, findings, left } = fix::allow(&outcome.report.diagnostics, reason, root);
    files.retain(|file| fix::is_inside(file, root));
    if !files.is_empty() {
        fix::refuse_files(&files, root, fixing::vcs_rules(arguments), cancel)?;
        fix::write(&files, root)?;
    }
    for place in &left {
        talk.note(&format!("no comment for the finding at {place}: none would hold for it there, or it is no source"));
    }
    let (findings, count) = (plural(findings as u64, "finding"), plural(files.len() as u64, "file"));
    talk.note(&format!("wrote comments for {findings} into {count}"));
    if files.is_empty() { Ok(outcome) } else { check(None) }
}
