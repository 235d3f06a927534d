//! The files of a revision, and how paths of the user's tree and of theirs lead to each other.

use std::path::{Path, PathBuf};

use lmem_base::source::normalize;
use lmem_project::discover::DiscoverError;

use super::CheckError;
use crate::cli::CheckArgs;
use crate::git::GitError;

/// The files of a revision, which are checked in place of the user's.
#[derive(Debug, Clone)]
pub struct Revision {
    /// The top of the user's repository, and its counterpart.
    pub top: PathBuf,
    pub tree: PathBuf,
}

impl Revision {
    /// Maps a file of the repository to this revision; other paths stay.
    pub fn place(&self, path: &Path) -> PathBuf {
        moved(path, &self.top, &self.tree)
    }

    /// Maps a file of this revision to the user's repository.
    pub fn origin(&self, path: &Path) -> PathBuf {
        moved(path, &self.tree, &self.top)
    }

    /// Maps a folder in a compiler argument to this revision. Folders that git does not have (build folders) stay.
    pub fn argument(&self, text: &str) -> String {
        let Some(at) = text.find(&*self.top.to_string_lossy()) else { return text.to_string() };
        let (before, path) = text.split_at(at);
        let here = self.place(Path::new(path));
        if here.exists() { format!("{before}{}", here.display()) } else { text.to_string() }
    }

    /// An error of a check of the staged files, with the names of the user's own folders.
    pub fn named_by_user(&self, error: CheckError) -> CheckError {
        match error {
            CheckError::Discover(DiscoverError::NoManifest(folder)) => {
                CheckError::Git(GitError::NoManifest(self.origin(&folder)))
            }
            CheckError::Discover(DiscoverError::NoFile(path)) => {
                CheckError::Git(GitError::NotStaged(self.origin(&path)))
            }
            error => error,
        }
    }

    /// Maps a command line to this revision. `name` gives the old name of a file.
    pub(super) fn arguments(
        &self,
        arguments: &CheckArgs,
        current: &Path,
        name: impl Fn(&Path) -> PathBuf,
    ) -> CheckArgs {
        let here = |path: &Path| self.place(&name(&normalize(&current.join(path))));
        let there = |path: &PathBuf| if here(path).exists() { here(path) } else { current.join(path) };
        let build = |spec: &String| match current.join(spec).join("compile_commands.json").is_file() {
            true => current.join(spec).to_string_lossy().into_owned(),
            false => spec.clone(),
        };
        CheckArgs {
            paths: arguments.paths.iter().map(|path| here(path)).collect(),
            manifest_path: arguments.manifest_path.as_ref().map(|path| here(path)),
            package: arguments.package.iter().map(build).collect(),
            include_dir: arguments.include_dir.iter().map(there).collect(),
            allow_read: arguments.allow_read.iter().map(there).collect(),
            baseline: arguments.baseline.as_ref().map(|path| current.join(path)),
            ..arguments.clone()
        }
    }
}

/// Moves a path from one folder to another. The folder itself gets no trailing slash, because the path becomes part of
/// cache keys.
fn moved(path: &Path, from: &Path, to: &Path) -> PathBuf {
    match path.strip_prefix(from) {
        Ok(rest) if rest.as_os_str().is_empty() => to.to_path_buf(),
        Ok(rest) => to.join(rest),
        Err(_) => path.to_path_buf(),
    }
}
