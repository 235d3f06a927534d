//! Whether what lies in the cache folder can be believed.
//!
//! Compilers are started from there, and what they wrote is taken for true. A CI system that restores caches into the
//! checkout has the folder in the tree, where a pull request could bring some of both.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lmem_base::places::{GIT_FOLDER, is_home_or_above, repository_of, tree_of};
use lmem_base::source::normalize;

use crate::git;

/// A repository may bring what lies in the cache folder.
#[derive(Debug, thiserror::Error)]
pub enum NotOurs {
    #[error("the cache folder `{}` is a repository itself", .0.display())]
    Repository(PathBuf),
    #[error("the cache folder `{}` lies in a repository, and git tracks `{}`", .folder.display(), .tracked.display())]
    Tracked { folder: PathBuf, tracked: PathBuf },
    #[error("the cache folder `{}` lies in a repository whose files are not known: {reason}", .folder.display())]
    Unknown { folder: PathBuf, reason: String },
}

/// Files with which people keep an empty folder in git, or keep git out of it. The cache has nothing of these names.
const NEVER_READ: [&str; 4] = [".gitignore", ".gitkeep", ".gitattributes", ".keep"];

/// Variables by which a folder without `.git` is a working tree.
const OF_GIT: [&str; 2] = ["GIT_DIR", "GIT_WORK_TREE"];

/// Checks that nothing in the cache folder comes with a repository that it lies in. `named` are the files and folders to be
/// checked.
///
/// Any repository counts: what is checked may be a submodule or a worktree of one around it, which the same pull request
/// changes.
///
/// # Errors
/// Something does, or git does not say.
pub fn check_place(named: &[PathBuf], cancel: &AtomicBool) -> Result<(), NotOurs> {
    let Some(cache) = cuda_toolkit::cache_root().ok().and_then(|root| std::path::absolute(root).ok()) else {
        return Ok(());
    };
    let folders = folders_of(named);
    check(&cache, &folders.iter().map(PathBuf::as_path).collect::<Vec<_>>(), cancel)
}

/// Why the toolkit in a folder is not used, which was found without being named: it comes with what is checked. `named` are the
/// files and folders to be checked.
pub fn refuse_toolkit(root: &Path, named: &[PathBuf], cancel: &AtomicBool) -> Option<String> {
    let folders = folders_of(named);
    let folders: Vec<PathBuf> = folders.iter().filter_map(|folder| std::fs::canonicalize(folder).ok()).collect();
    let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    // Others have repositories of toolkits elsewhere.
    let is_asked = |repository: &Path| folders.iter().any(|folder| folder.starts_with(repository));
    match check_among(root, &folders, is_asked, cancel).err()? {
        NotOurs::Repository(_) => Some("it is a repository that is checked".to_string()),
        NotOurs::Tracked { tracked, .. } => {
            Some(format!("git tracks `{}`, which comes with what is checked", tracked.display()))
        }
        NotOurs::Unknown { reason, .. } => {
            Some(format!("it lies in a repository that is checked, whose files are not known: {reason}"))
        }
    }
}

/// The folders of what is to be checked.
fn folders_of(named: &[PathBuf]) -> Vec<PathBuf> {
    let folder = |path: &PathBuf| match path.is_dir() {
        true => path.clone(),
        false => path.parent().map_or(path.clone(), normalize),
    };
    named.iter().map(folder).collect()
}

fn check(cache: &Path, folders: &[&Path], cancel: &AtomicBool) -> Result<(), NotOurs> {
    check_among(cache, folders, |_| true, cancel)
}

/// Asks those repositories around a folder that are wanted.
fn check_among(
    cache: &Path,
    folders: &[&Path],
    is_asked: impl Fn(&Path) -> bool,
    cancel: &AtomicBool,
) -> Result<(), NotOurs> {
    // The name itself may be a link that git tracks, and what it leads to may be in the tree.
    let written = normalize(cache);
    let parent = written.parent().and_then(|parent| std::fs::canonicalize(parent).ok());
    let named = parent.zip(written.file_name()).map(|(parent, name)| parent.join(name));
    let places: BTreeSet<PathBuf> = named.into_iter().chain(std::fs::canonicalize(cache)).collect();
    for place in &places {
        for repository in place.ancestors().filter(|folder| folder.join(GIT_FOLDER).exists() && is_asked(folder)) {
            match check_in(repository, place, is_checked(repository, folders), cancel) {
                // Settings of the user's own that are kept in a repository of another kind.
                Err(NotOurs::Unknown { .. }) if is_home_or_above(repository) && !is_checked(repository, folders) => {}
                found => found?,
            }
        }
        let is_in = |tree: PathBuf| !tree.join(GIT_FOLDER).exists() && place.starts_with(tree);
        let variable = OF_GIT.iter().find(|name| std::env::var_os(name).is_some());
        if let Some(name) = variable.filter(|_| folders.iter().map(|folder| tree_of(folder)).any(is_in)) {
            let reason = format!("`{name}` names the repository");
            return Err(NotOurs::Unknown { folder: place.clone(), reason });
        }
    }
    Ok(())
}

/// Whether a repository is that of a checked folder.
fn is_checked(repository: &Path, folders: &[&Path]) -> bool {
    folders.iter().filter_map(|folder| repository_of(folder)).any(|top| top == repository)
}

/// An index that a variable names is that of the repository that is checked.
fn check_in(tree: &Path, place: &Path, is_checked: bool, cancel: &AtomicBool) -> Result<(), NotOurs> {
    let below = place.strip_prefix(tree).unwrap_or(place);
    if below.as_os_str().is_empty() {
        return Err(NotOurs::Repository(place.to_path_buf()));
    }
    let unknown = |reason: String| NotOurs::Unknown { folder: place.to_path_buf(), reason };
    let below = below.display().to_string();
    let is_at_or_below = |path: &str, folder: &str| {
        path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    // An entry above the folder is a submodule, or a link: git has no folders.
    let concerns = |path: &str| is_at_or_below(path, &below) || is_at_or_below(&below, path);
    let tracked = git::tracked_in_any(tree, concerns, is_checked, cancel);
    let tracked = tracked.map_err(|error| unknown(error.to_string()))?;
    // An entry in the folder itself may be a submodule or a link in the place of one of the cache's own folders.
    let is_read = |path: &PathBuf| {
        let name = path.strip_prefix(place).ok().and_then(Path::to_str);
        !name.is_some_and(|name| NEVER_READ.contains(&name))
    };
    match tracked.into_iter().find(is_read) {
        Some(tracked) => Err(NotOurs::Tracked { folder: place.to_path_buf(), tracked }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_git_tracks_is_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs_err::canonicalize(folder.path()).unwrap();
        let path = |name: &str| root.join(name);
        for name in ["tree/cache/toolkits/1", "tree/clean/artifacts", "tree/evil", "outside"] {
            fs_err::create_dir_all(path(name)).unwrap();
        }
        for name in ["tree/cache/toolkits/1/nvcc", "tree/clean/.gitignore", "tree/evil/x"] {
            fs_err::write(path(name), "x").unwrap();
        }
        std::os::unix::fs::symlink("clean", path("tree/link")).unwrap();
        let git = |arguments: &[&str]| {
            let status = std::process::Command::new("git").arg("-C").arg(path("tree")).args(arguments).status();
            assert!(status.unwrap().success(), "{arguments:?}");
        };
        git(&["init", "-q"]);
        git(&["add", "."]);
        fs_err::write(path("tree/clean/artifacts/own"), "x").unwrap();
        let is_ours = |cache: &str| check(&path(cache), &[&path("tree/evil")], &AtomicBool::new(false)).is_ok();
        for cache in ["tree/cache", "tree/link", "tree", "tree/link/x/../../cache"] {
            assert!(!is_ours(cache), "{cache}");
        }
        for cache in ["tree/clean", "tree/new", "outside", "none/at/all"] {
            assert!(is_ours(cache), "{cache}");
        }
    }

    /// What is checked is part of a pull request to the repository around it, too.
    #[test]
    fn repositories_around_the_checked_one_count() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs_err::canonicalize(folder.path()).unwrap();
        let path = |name: &str| root.join(name);
        for name in ["tree/cache", "tree/sub/deeper", "tree/own"] {
            fs_err::create_dir_all(path(name)).unwrap();
        }
        fs_err::write(path("tree/cache/nvcc"), "x").unwrap();
        let git = |folder: &str, arguments: &[&str]| {
            let mut git = std::process::Command::new("git");
            let author = ["-c", "user.name=a", "-c", "user.email=a@b"];
            assert!(git.arg("-C").arg(path(folder)).args(author).args(arguments).status().unwrap().success());
        };
        let is_ours =
            |cache: &str, checked: &str| check(&path(cache), &[&path(checked)], &AtomicBool::new(false)).is_ok();
        git("tree/sub", &["init", "-q"]);
        git("tree", &["init", "-q"]);
        git("tree", &["add", "cache"]);
        for checked in ["tree/sub", "tree/sub/deeper", "tree"] {
            assert!(!is_ours("tree/cache", checked), "{checked}");
            assert!(is_ours("tree/own", checked), "{checked}");
        }
        git("tree", &["commit", "-q", "-m", "all"]);
        fs_err::remove_file(path("tree/.git/index")).unwrap();
        assert!(!is_ours("tree/own", "tree/sub") && !is_ours("tree/cache", "tree"));
    }

    #[test]
    fn links_and_submodules_of_the_tree_are_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs_err::canonicalize(folder.path()).unwrap();
        let path = |name: &str| root.join(name);
        for name in ["tree/vendor/toolkits", "tree/linked", "tree/sub/cache", "tree/held/toolkits", "tree/plain"] {
            fs_err::create_dir_all(path(name)).unwrap();
        }
        fs_err::write(path("tree/vendor/toolkits/nvcc"), "x").unwrap();
        fs_err::write(path("tree/plain/toolkits"), "x").unwrap();
        std::os::unix::fs::symlink("../vendor/toolkits", path("tree/linked/toolkits")).unwrap();
        let git = |arguments: &[&str]| {
            let mut git = std::process::Command::new("git");
            let status = git.arg("-C").arg(path("tree")).args(arguments).status();
            assert!(status.unwrap().success(), "{arguments:?}");
        };
        git(&["init", "-q"]);
        git(&["add", "."]);
        let link = "160000,0123456789012345678901234567890123456789";
        for submodule in ["sub", "held/toolkits"] {
            git(&["update-index", "--add", "--cacheinfo", &format!("{link},{submodule}")]);
        }
        let is_ours = |cache: &str| check(&path(cache), &[&path("tree")], &AtomicBool::new(false)).is_ok();
        for cache in ["tree/linked", "tree/sub/cache", "tree/sub", "tree/held", "tree/plain"] {
            assert!(!is_ours(cache), "{cache}");
        }
        assert!(is_ours("tree/subs"));
    }
}
