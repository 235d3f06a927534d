//! Whether the cache folder may be trusted: what lies there is believed, and the compilers there are executed.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use thiserror::Error;

use crate::git::{GitError, Repository};

/// Why a cache folder is not used.
#[derive(Debug, Error)]
pub enum Distrust {
    /// A change of the tree could bring entries and compilers.
    #[error(
        "the cache folder `{folder}` has files that git tracks, such as `{file}`: whoever changes the tree could change results"
    )]
    Tracked { folder: PathBuf, file: PathBuf },
    /// The repository around it is not read, so that nothing is known of it.
    #[error("the cache folder `{folder}` lies in a repository that cannot be read ({why})")]
    Unknown { folder: PathBuf, why: GitError },
    #[error("interrupted")]
    Interrupted,
}

/// Refuses a cache folder in a repository that has some of its files. CI services keep caches below the checkout, where
/// a pull request may put files too.
///
/// # Errors
/// Git tracks a file in the folder, or cannot tell.
pub fn check(folder: &Path, cancel: &AtomicBool) -> Result<(), Distrust> {
    // The folder may not be there yet, and may be reached by a link of the tree.
    let there = folder.ancestors().find_map(|above| Some((above, std::fs::canonicalize(above).ok()?)));
    let Some((above, real)) = there else { return Ok(()) };
    let real = folder.strip_prefix(above).map_or_else(|_| real.clone(), |rest| real.join(rest));
    [folder, &real].into_iter().try_for_each(|place| check_one(place, folder, cancel))
}

fn check_one(place: &Path, folder: &Path, cancel: &AtomicBool) -> Result<(), Distrust> {
    let unknown = |why| match why {
        GitError::Interrupted => Distrust::Interrupted,
        why => Distrust::Unknown { folder: folder.to_path_buf(), why },
    };
    let repository = match Repository::around(place, cancel) {
        Ok(repository) => repository,
        Err(GitError::NoRepository(_)) => return Ok(()),
        Err(error) => return Err(unknown(error)),
    };
    let Ok(below) = place.strip_prefix(&repository.top) else { return Ok(()) };
    let Some(below) = below.to_str() else { return Ok(()) };
    // A link or a submodule on the way is the tree's, too.
    let on_the_way = Path::new(below).ancestors().filter(|path| !path.as_os_str().is_empty());
    let all: Vec<String> = on_the_way.map(|path| format!(":(top,literal){}", path.display())).collect();
    let patterns: Vec<&str> = all.iter().map(String::as_str).collect();
    let is_part = |file: &PathBuf| file.starts_with(place) || place.starts_with(file);
    let tracked = match patterns.is_empty() {
        true => repository.tracked(&[":(top)"]),
        false => repository.tracked(&patterns),
    };
    match tracked.map_err(unknown)?.into_iter().find(is_part) {
        Some(file) => Err(Distrust::Tracked { folder: folder.to_path_buf(), file }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(place: &Path, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.arg("-C").arg(place).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        assert!(git.output().unwrap().status.success(), "{arguments:?}");
    }

    #[test]
    fn what_git_tracks_is_no_cache() {
        let place = tempfile::tempdir().unwrap();
        let top = std::fs::canonicalize(place.path()).unwrap();
        let cancel = AtomicBool::new(false);
        let is_trusted = |name: &str| check(&top.join(name), &cancel).is_ok();
        assert!(is_trusted(".lmem-cache"));
        git(&top, &["init", "-q"]);
        fs_err::create_dir_all(top.join(".lmem-cache/toolkits/13.5.37")).unwrap();
        fs_err::write(top.join(".lmem-cache/toolkits/13.5.37/nvcc"), "").unwrap();
        assert!(is_trusted(".lmem-cache"));
        git(&top, &["add", "-f", "."]);
        assert!(!is_trusted(".lmem-cache"));
        assert!(!is_trusted(".lmem-cache/toolkits"));
        assert!(is_trusted("other"));
        // A link of the tree leads to a folder of the tree, or anywhere.
        fs_err::os::unix::fs::symlink("/tmp", top.join("link")).unwrap();
        fs_err::os::unix::fs::symlink(".lmem-cache", top.join("own")).unwrap();
        assert!(is_trusted("link/cache"));
        assert!(!is_trusted("own"));
        git(&top, &["add", "-f", "link"]);
        assert!(!is_trusted("link/cache"));
    }
}
