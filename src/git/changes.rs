//! What differs from a commit: files and their lines, in submodules too.

use std::collections::{BTreeMap, BTreeSet};

use lmem_base::places;

use super::error::GitError;
use super::{LINK, Repository, SUBMODULE};

/// What [`Changes::of`] reads.
const DIFF: [&str; 7] =
    ["diff", "--raw", "-z", "--find-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"];

/// Changes since a commit; all paths are relative to the top of the repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Modified and new files.
    pub changed: BTreeSet<String>,
    /// New files and new names: what a name leads to may be another one since.
    pub added: BTreeSet<String>,
    pub deleted: BTreeSet<String>,
    /// Those of the changed files that the working tree has not, though git knows them: a sparse checkout.
    pub absent: BTreeSet<String>,
    /// Links and submodules that came, or lead elsewhere.
    pub redirected: BTreeSet<String>,
    /// New name → old name.
    pub renames: BTreeMap<String, String>,
}

impl Changes {
    /// Reads `git diff --raw -z`: modes, hashes and a letter, a path, and for a renamed file a second path.
    fn of(text: &str) -> Self {
        let mut changes = Self::default();
        let mut words = text.split('\0');
        while let (Some(status), Some(path)) = (words.next(), words.next()) {
            let mut fields = status.trim_start_matches(':').split(' ');
            let modes = [fields.next().unwrap_or_default(), fields.next().unwrap_or_default()];
            let kind = fields.next_back().and_then(|letters| letters.chars().next());
            let path = path.to_string();
            if modes.contains(&SUBMODULE) {
                // What differs in it is asked of itself.
                changes.redirected.insert(path);
                continue;
            }
            if modes.contains(&LINK) {
                changes.redirected.insert(path.clone());
            }
            match kind {
                Some('D') => _ = changes.deleted.insert(path),
                Some(kind @ ('R' | 'C')) => {
                    let Some(new) = words.next().map(str::to_string) else { break };
                    changes.changed.insert(new.clone());
                    changes.added.insert(new.clone());
                    if kind == 'R' {
                        changes.deleted.insert(path.clone());
                        changes.renames.insert(new, path);
                    }
                }
                Some('A') => {
                    changes.changed.insert(path.clone());
                    changes.added.insert(path);
                }
                _ => _ = changes.changed.insert(path),
            }
        }
        changes
    }

    /// Adds the changes of a submodule.
    fn add_below(&mut self, path: &str, submodule: Self) {
        let below = |name: String| format!("{path}/{name}");
        self.changed.extend(submodule.changed.into_iter().map(below));
        self.added.extend(submodule.added.into_iter().map(below));
        self.redirected.extend(submodule.redirected.into_iter().map(below));
        self.deleted.extend(submodule.deleted.into_iter().map(below));
        self.absent.extend(submodule.absent.into_iter().map(below));
        self.renames.extend(submodule.renames.into_iter().map(|(new, old)| (below(new), below(old))));
    }
}

impl Repository<'_> {
    /// Differences of the working tree, or the index, from a commit.
    ///
    /// # Errors
    /// Git fails.
    pub fn changes_since(&self, commit: &str, is_staged: bool) -> Result<Changes, GitError> {
        let mut arguments = DIFF.to_vec();
        arguments.extend(is_staged.then_some("--cached"));
        arguments.extend([commit, "--"]);
        let mut changes = Changes::of(&self.text(&arguments)?);
        if !is_staged {
            let untracked = self.text(&["ls-files", "--others", "--exclude-standard", "-z"])?;
            let untracked = untracked.split('\0').filter(|path| !path.is_empty()).map(str::to_string);
            changes.added.extend(untracked);
            changes.changed.extend(changes.added.iter().cloned());
            changes.changed.extend(self.taken_as_unchanged()?);
            let is_absent = |path: &&String| self.top.join(path).symlink_metadata().is_err();
            changes.absent = changes.changed.difference(&changes.deleted).filter(is_absent).cloned().collect();
        }
        self.add_submodules(&mut changes, commit, is_staged)?;
        Ok(changes)
    }

    /// Files that git does not look at, by `assume-unchanged` or `skip-worktree`, and that are there: whoever set that may have changed them.
    fn taken_as_unchanged(&self) -> Result<BTreeSet<String>, GitError> {
        let list = self.text(&["ls-files", "-v", "-z"])?;
        let named = list.split('\0').filter_map(|line| line.split_once(' '));
        let flagged = named.filter(|(tag, _)| *tag == "S" || tag.starts_with(|tag: char| tag.is_ascii_lowercase()));
        Ok(flagged.map(|(_, path)| path.to_string()).filter(|path| places::is_regular(&self.top.join(path))).collect())
    }

    /// Adds what differs in submodules: from the commit that the older revision has of each to the one in the index, or
    /// to what is checked out.
    fn add_submodules(&self, changes: &mut Changes, commit: &str, is_staged: bool) -> Result<(), GitError> {
        let before = Self::submodules(&self.list_of(commit)?, 2);
        if before.is_empty() {
            return Ok(());
        }
        let staged = Self::submodules(&self.ask(&["ls-files", "--stage", "-z"], b"")?, 1);
        for (path, old) in before {
            let Some(submodule) = self.submodule(&path) else { continue };
            let found = match (is_staged, staged.get(&path)) {
                (false, _) => submodule.changes_since(&old, false),
                (true, Some(new)) if *new != old => submodule.changes_between(&old, new),
                (true, _) => continue,
            };
            match found {
                Ok(found) => changes.add_below(&path, found),
                Err(GitError::Interrupted) => return Err(GitError::Interrupted),
                // A commit that is not there: what is checked out stands for it.
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Differences of two commits.
    fn changes_between(&self, old: &str, new: &str) -> Result<Changes, GitError> {
        Ok(Changes::of(&self.text(&[&DIFF[..], &[old, new, "--"]].concat())?))
    }
}
