//! Whether what lies in the cache folder can be believed.
//!
//! Compilers are started from there, and what they wrote is taken for true. A CI system that restores caches into the
//! checkout has the folder in the tree, where a pull request could bring some of both.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lmem_base::places::{GIT_FOLDER, tree_of};
use lmem_base::source::normalize;

use crate::git;

/// The cache folder lies in a tree that brings its contents.
#[derive(Debug, thiserror::Error)]
pub enum NotOurs {
    #[error("the cache folder `{}` is the checked tree itself", .0.display())]
    Tree(PathBuf),
    #[error("the cache folder `{}` lies in the checked tree, and git tracks `{}`", .folder.display(), .tracked.display())]
    Tracked { folder: PathBuf, tracked: PathBuf },
    #[error("the cache folder `{}` lies in the checked tree, whose files are not known: {reason}", .folder.display())]
    Unknown { folder: PathBuf, reason: String },
}

/// Files with which people keep an empty folder in git, or keep git out of it. The cache has nothing of these names.
const NEVER_READ: [&str; 4] = [".gitignore", ".gitkeep", ".gitattributes", ".keep"];

/// Checks that nothing in the cache folder comes with the repositories around some files and folders.
///
/// # Errors
/// Something does, or git does not say.
pub fn check_place(named: &[PathBuf], cancel: &AtomicBool) -> Result<(), NotOurs> {
    let Some(cache) = cuda_toolkit::cache_root().ok().and_then(|root| std::path::absolute(root).ok()) else {
        return Ok(());
    };
    let folder = |path: &PathBuf| match path.is_dir() {
        true => path.clone(),
        false => path.parent().map_or(path.clone(), normalize),
    };
    let folders: Vec<PathBuf> = named.iter().map(folder).collect();
    check(&cache, &folders.iter().map(PathBuf::as_path).collect::<Vec<_>>(), cancel)
}

fn check(cache: &Path, folders: &[&Path], cancel: &AtomicBool) -> Result<(), NotOurs> {
    // The name itself may be a link that git tracks, and what it leads to may be in the tree.
    let written = normalize(cache);
    let parent = written.parent().and_then(|parent| std::fs::canonicalize(parent).ok());
    let named = parent.zip(written.file_name()).map(|(parent, name)| parent.join(name));
    let places: BTreeSet<PathBuf> = named.into_iter().chain(std::fs::canonicalize(cache)).collect();
    let trees: BTreeSet<PathBuf> = folders.iter().map(|folder| tree_of(folder)).collect();
    for tree in trees.iter().filter(|tree| tree.join(GIT_FOLDER).exists()) {
        for place in places.iter().filter(|place| place.starts_with(tree)) {
            check_in(tree, place, cancel)?;
        }
    }
    Ok(())
}

fn check_in(tree: &Path, place: &Path, cancel: &AtomicBool) -> Result<(), NotOurs> {
    let below = place.strip_prefix(tree).unwrap_or(place);
    if below.as_os_str().is_empty() {
        return Err(NotOurs::Tree(place.to_path_buf()));
    }
    let unknown = |reason: String| NotOurs::Unknown { folder: place.to_path_buf(), reason };
    let below = below.display().to_string();
    let is_at_or_below = |path: &str, folder: &str| {
        path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    // An entry above the folder is a submodule, or a link: git has no folders.
    let concerns = |path: &str| is_at_or_below(path, &below) || is_at_or_below(&below, path);
    let tracked = git::tracked(tree, concerns, cancel).map_err(|error| unknown(error.to_string()))?;
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
