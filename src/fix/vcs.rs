//! Decides whether a working tree may be edited. As in `cargo fix`, it must be possible to undo the edits.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use thiserror::Error;

use crate::git;

/// Folders of other version control systems; like cargo, only git is asked for uncommitted changes.
const OTHER_SYSTEMS: [&str; 4] = [".hg", ".pijul", ".fslckout", ".jj"];
const SHOWN_FILES: usize = 10;

/// What the user allows.
#[derive(Debug, Clone, Copy, Default)]
pub struct VcsRules {
    pub allow_dirty: bool,
    pub allow_staged: bool,
    pub allow_no_vcs: bool,
}

/// Why nothing is edited.
#[derive(Debug, Error)]
pub enum VcsError {
    #[error(
        "no version control system was found for this workspace, and edits may be what you do not want; \
         to have them all the same, pass `--allow-no-vcs`"
    )]
    NoVcs,
    #[error(
        "the working tree has changes that are not committed, and edits would mix with them; commit these files, or pass {flags}:\n\n{files}"
    )]
    Dirty { flags: &'static str, files: String },
    #[error("git cannot be asked for changes ({0}); to edit all the same, pass `--allow-dirty --allow-staged`")]
    Git(String),
}

/// Rejects a workspace whose state before the edits could not be restored.
///
/// # Errors
/// The workspace is not under version control, or has changes, and neither was allowed.
pub fn refuse(root: &Path, rules: VcsRules, cancel: &AtomicBool) -> Result<(), VcsError> {
    let place_of = |name: &str| root.ancestors().find(|folder| folder.join(name).exists());
    match (place_of(".git"), OTHER_SYSTEMS.iter().any(|name| place_of(name).is_some())) {
        (Some(_), _) if rules.allow_dirty && rules.allow_staged => Ok(()),
        (Some(top), _) => refuse_changes(top, root, rules, cancel),
        (None, false) if !rules.allow_no_vcs => Err(VcsError::NoVcs),
        (None, _) => Ok(()),
    }
}

fn refuse_changes(top: &Path, root: &Path, rules: VcsRules, cancel: &AtomicBool) -> Result<(), VcsError> {
    let mut changes = changes(&git::status(top, root, cancel).map_err(VcsError::Git)?);
    // Temporary files of a run that was killed while writing do not count as changes.
    changes.retain(|change| change.is_staged || !super::write::is_left_over(Path::new(&change.path)));
    let refused = |change: &&TreeChange| match change.is_staged {
        true => !rules.allow_staged,
        false => !rules.allow_dirty,
    };
    let refused: Vec<&TreeChange> = changes.iter().filter(refused).collect();
    if refused.is_empty() {
        return Ok(());
    }
    let flags = match (refused.iter().any(|it| it.is_staged), refused.iter().any(|it| !it.is_staged)) {
        (true, true) => "`--allow-dirty --allow-staged`",
        (true, false) => "`--allow-staged`",
        _ => "`--allow-dirty`",
    };
    Err(VcsError::Dirty { flags, files: list(&refused) })
}

/// A file that git reports as changed.
#[derive(Debug, PartialEq, Eq)]
struct TreeChange {
    path: String,
    is_staged: bool,
}

/// Parses `git status --porcelain=v1 -z`: two letters, a space, the path; for a renamed file, the old path follows.
fn changes(status: &str) -> Vec<TreeChange> {
    let mut changes = Vec::new();
    let mut entries = status.split('\0').filter(|entry| !entry.is_empty());
    while let Some(entry) = entries.next() {
        let (Some(letters), Some(path)) = (entry.get(..2), entry.get(3..)) else { continue };
        let (index, tree) = letters.split_at(1);
        if matches!(index, "R" | "C") {
            entries.next();
        }
        let change = |is_staged| TreeChange { path: path.to_string(), is_staged };
        if !matches!(index, " " | "?" | "!") {
            changes.push(change(true));
        }
        if !matches!(tree, " " | "!") {
            changes.push(change(false));
        }
    }
    changes
}

fn list(changes: &[&TreeChange]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for change in changes.iter().take(SHOWN_FILES) {
        lines.push(format!("  * {} ({})", change.path, if change.is_staged { "staged" } else { "dirty" }));
    }
    if changes.len() > SHOWN_FILES {
        lines.push(format!("  * and {} more", changes.len() - SHOWN_FILES));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn states_are_told_apart() {
        let change = |path: &str, is_staged| TreeChange { path: path.into(), is_staged };
        let status = "M  a.cu\0 M b.cu\0MM c.cu\0?? d e.cu\0R  new.cu\0old.cu\0";
        let expected = [
            change("a.cu", true),
            change("b.cu", false),
            change("c.cu", true),
            change("c.cu", false),
            change("d e.cu", false),
            change("new.cu", true),
        ];
        assert_eq!(changes(status), expected);
        assert_eq!(changes(""), []);
    }

    #[test]
    fn trees_without_version_control_need_a_word() {
        let folder = tempfile::tempdir().unwrap();
        let cancel = AtomicBool::new(false);
        let rules = VcsRules::default();
        assert!(matches!(refuse(folder.path(), rules, &cancel), Err(VcsError::NoVcs)));
        assert!(refuse(folder.path(), VcsRules { allow_no_vcs: true, ..rules }, &cancel).is_ok());
        fs_err::create_dir(folder.path().join(".hg")).unwrap();
        assert!(refuse(folder.path(), rules, &cancel).is_ok());
    }

    #[test]
    fn git_is_asked_for_changes() {
        let folder = tempfile::tempdir().unwrap();
        let (root, cancel) = (folder.path(), AtomicBool::new(false));
        let git = |arguments: &[&str]| {
            let status = Command::new("git").arg("-C").arg(root).args(arguments).output().unwrap().status;
            assert!(status.success(), "{arguments:?}");
        };
        let refused = |rules| refuse(root, rules, &cancel).err().map(|error| error.to_string()).unwrap_or_default();
        git(&["init", "-q"]);
        assert_eq!(refused(VcsRules::default()), "");
        fs_err::write(root.join("a.cu"), "").unwrap();
        assert!(refused(VcsRules::default()).ends_with("pass `--allow-dirty`:\n\n  * a.cu (dirty)"));
        assert_eq!(refused(VcsRules { allow_dirty: true, ..VcsRules::default() }), "");
        git(&["add", "a.cu"]);
        assert!(refused(VcsRules::default()).ends_with("pass `--allow-staged`:\n\n  * a.cu (staged)"));
        assert_eq!(refused(VcsRules { allow_staged: true, ..VcsRules::default() }), "");
    }
}
