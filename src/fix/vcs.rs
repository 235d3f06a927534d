//! Decides whether a working tree may be edited. As in `cargo fix`, it must be possible to undo the edits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lmem_base::places::repository_of;
use thiserror::Error;

use super::FixedFile;
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
    #[error(
        "git does not watch these files, so that edits could not be undone; add them to the repository, or pass `--allow-dirty`:\n\n{files}"
    )]
    NotWatched { files: String },
    #[error("git cannot be asked for changes ({0}); to edit all the same, pass `--allow-dirty --allow-staged`")]
    Git(String),
}

/// Rejects a workspace whose state before the edits could not be restored.
///
/// # Errors
/// The workspace is not under version control, or has changes, and neither was allowed.
pub fn refuse(root: &Path, rules: VcsRules, cancel: &AtomicBool) -> Result<(), VcsError> {
    let is_another = |name: &&str| root.ancestors().any(|folder| folder.join(name).exists());
    match (repository_of(root), OTHER_SYSTEMS.iter().any(is_another)) {
        (Some(_), _) if rules.allow_dirty && rules.allow_staged => Ok(()),
        (Some(top), _) => refuse_changes(top, root, rules, cancel),
        (None, false) if !rules.allow_no_vcs => Err(VcsError::NoVcs),
        (None, _) => Ok(()),
    }
}

/// Rejects edits of files that could not be undone though the workspace may be edited: git ignores one, or is told to take it
/// as unchanged, so that it does not have what the file holds; or it lies in another repository, a submodule's, and has
/// changes there.
///
/// # Errors
/// There is such a file, and that was not allowed.
pub fn refuse_files(files: &[FixedFile], root: &Path, rules: VcsRules, cancel: &AtomicBool) -> Result<(), VcsError> {
    let root = real(root);
    let own = repository_of(&root);
    let mut by_repository: BTreeMap<PathBuf, Vec<(String, &str)>> = BTreeMap::new();
    for FixedFile { file, .. } in files {
        let path = real(&file.path);
        // A header may lie in a submodule, which is a repository of its own.
        let Some(top) = path.parent().and_then(repository_of) else { continue };
        let name = path.strip_prefix(top).unwrap_or(&path).to_string_lossy().into_owned();
        by_repository.entry(top.to_path_buf()).or_default().push((name, &file.display));
    }
    let mut unwatched = Vec::new();
    for (top, files) in &by_repository {
        if own != Some(top.as_path()) && !(rules.allow_dirty && rules.allow_staged) {
            let mut changes = changes(&git::status(top, top, cancel).map_err(VcsError::Git)?);
            changes.retain_mut(|change| {
                let edited = files.iter().find(|(name, _)| *name == change.path);
                edited.is_some_and(|(_, shown)| {
                    change.path = (*shown).to_string();
                    true
                })
            });
            refuse_among(&changes, rules)?;
        }
        if !rules.allow_dirty {
            let watched = git::watched(top, cancel).map_err(VcsError::Git)?;
            unwatched.extend(files.iter().filter(|(name, _)| !watched.contains(name)).map(|(_, shown)| *shown));
        }
    }
    let mut lines: Vec<String> = unwatched.iter().map(|shown| format!("  * {shown}")).collect();
    let more = lines.len().saturating_sub(SHOWN_FILES);
    lines.truncate(SHOWN_FILES);
    lines.extend((more > 0).then(|| format!("  * and {more} more")));
    if lines.is_empty() { Ok(()) } else { Err(VcsError::NotWatched { files: lines.join("\n") }) }
}

fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

fn refuse_changes(top: &Path, root: &Path, rules: VcsRules, cancel: &AtomicBool) -> Result<(), VcsError> {
    let mut changes = changes(&git::status(top, root, cancel).map_err(VcsError::Git)?);
    // Temporary files of a run that was killed while writing do not count as changes.
    changes.retain(|change| change.is_staged || !super::write::is_left_over(Path::new(&change.path)));
    refuse_among(&changes, rules)
}

/// Rejects changes that are not allowed.
fn refuse_among(changes: &[TreeChange], rules: VcsRules) -> Result<(), VcsError> {
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

    use lmem_base::source::SourceFile;

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
    fn files_that_git_does_not_watch_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (root, cancel) = (folder.path(), AtomicBool::new(false));
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.arg("-C").arg(root).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
            assert!(git.output().unwrap().status.success(), "{arguments:?}");
        };
        for name in ["a.cu", "b.cu", "c.cu"] {
            fs_err::write(root.join(name), "").unwrap();
        }
        fs_err::write(root.join(".gitignore"), "c.cu\n").unwrap();
        let fixed = |name: &str| {
            let file = SourceFile::read(&root.join(name), root).unwrap();
            FixedFile { file, text: "// x".to_string() }
        };
        let files = ["a.cu", "b.cu", "c.cu"].map(fixed);
        let refused = |rules| refuse_files(&files, root, rules, &cancel).err().map(|error| error.to_string());
        assert_eq!(refused(VcsRules::default()), None, "there is no repository");
        git(&["init", "-q"]);
        git(&["add", "."]);
        git(&["commit", "-q", "-m", "one"]);
        git(&["update-index", "--assume-unchanged", "b.cu"]);
        assert!(refused(VcsRules::default()).unwrap().ends_with("pass `--allow-dirty`:\n\n  * b.cu\n  * c.cu"));
        assert_eq!(refused(VcsRules { allow_dirty: true, ..VcsRules::default() }), None);
        assert!(refuse_files(&files[..1], root, VcsRules::default(), &cancel).is_ok());
    }

    #[test]
    fn a_submodule_has_changes_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let (root, cancel) = (folder.path(), AtomicBool::new(false));
        let git = |folder: &str, arguments: &[&str]| {
            let mut git = Command::new("git");
            git.arg("-C").arg(root.join(folder)).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
            assert!(git.output().unwrap().status.success(), "{arguments:?}");
        };
        fs_err::create_dir(root.join("sub")).unwrap();
        for place in ["", "sub"] {
            git(place, &["init", "-q"]);
            fs_err::write(root.join(place).join("a.cu"), "").unwrap();
            git(place, &["add", "a.cu"]);
            git(place, &["commit", "-q", "-m", "one"]);
        }
        let refused = |rules| {
            let file = SourceFile::read(&root.join("sub/a.cu"), root).unwrap();
            let files = [FixedFile { file, text: "// x".to_string() }];
            refuse_files(&files, root, rules, &cancel).err().map(|error| error.to_string())
        };
        assert_eq!(refused(VcsRules::default()), None);
        fs_err::write(root.join("sub/a.cu"), "// mine").unwrap();
        fs_err::write(root.join("sub/other"), "").unwrap();
        assert!(refused(VcsRules::default()).unwrap().ends_with("pass `--allow-dirty`:\n\n  * sub/a.cu (dirty)"));
        assert_eq!(refused(VcsRules { allow_dirty: true, ..VcsRules::default() }), None);
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
