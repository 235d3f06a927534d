//! Where the links on the way to a file lead.
//!
//! What is written to a path lands where its links lead. Links that the user made are followed. One in a checked tree
//! may come with a pull request, and must not lead to a file that is none of the tree.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::places::{GIT_FOLDER, Places, is_beside_git, is_home_or_above, tree_of};

/// The system gives up after the same number.
const MAX_LINKS: usize = 40;

/// What lies at the root of a project that is no repository.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "lmem.toml"];

/// The way to a file: the links on it, and its place in the end, which need not exist.
struct Way {
    links: Vec<PathBuf>,
    end: PathBuf,
}

impl Way {
    fn to(path: &Path) -> io::Result<Self> {
        let mut way = Self { links: Vec::new(), end: std::fs::canonicalize(".")? };
        let mut left = Vec::new();
        push(&mut left, path);
        while let Some(name) = left.pop() {
            match Path::new(&name).components().next() {
                Some(Component::RootDir) => way.end = PathBuf::from("/"),
                Some(Component::ParentDir) => drop(way.end.pop()),
                Some(Component::Normal(name)) => way.step(name.into(), &mut left)?,
                _ => {}
            }
        }
        Ok(way)
    }

    fn step(&mut self, name: OsString, left: &mut Vec<OsString>) -> io::Result<()> {
        let place = self.end.join(name);
        match std::fs::read_link(&place) {
            Ok(_) if self.links.len() >= MAX_LINKS => Err(rustix::io::Errno::LOOP.into()),
            Ok(target) => {
                push(left, &target);
                self.links.push(place);
                Ok(())
            }
            // What is no link, or not there.
            Err(_) => {
                self.end = place;
                Ok(())
            }
        }
    }
}

/// Puts the components of a path on top, the first one last.
fn push(left: &mut Vec<OsString>, path: &Path) {
    let components: Vec<OsString> = path.components().map(|component| component.as_os_str().into()).collect();
    left.extend(components.into_iter().rev());
}

/// The links on the way to a file, and its place in the end; nothing if there are too many of them.
pub fn places_on(path: &Path) -> Vec<PathBuf> {
    let way = Way::to(path).ok();
    way.into_iter().flat_map(|way| way.links.into_iter().chain([way.end])).collect()
}

/// A link that leads out of the tree that it lies in.
#[derive(Debug, thiserror::Error)]
#[error("the link `{}` leads to `{}`, out of the checked tree", .link.display(), .end.display())]
pub struct LeadsOut {
    pub link: PathBuf,
    pub end: PathBuf,
}

/// Checks that no link of the trees around some folders leads out of its tree, on the way to a file that is written. The
/// `.git` folder is not part of a tree. Returns the file's place, with no link on the way to it.
///
/// # Errors
/// A link does, or there are too many of them.
pub fn stays_in_trees(path: &Path, folders: &[&Path]) -> io::Result<PathBuf> {
    let way = Way::to(path)?;
    if way.links.is_empty() {
        return Ok(way.end);
    }
    for tree in folders.iter().map(|folder| tree_of(folder)) {
        let below = way.end.strip_prefix(&tree).ok();
        let is_inside = below.is_some_and(is_beside_git);
        if let Some(link) = way.links.iter().find(|link| link.starts_with(&tree)).filter(|_| !is_inside) {
            return Err(io::Error::other(LeadsOut { link: link.clone(), end: way.end }));
        }
    }
    Ok(way.end)
}

/// Checks that no link leads out of the tree that it lies in, on the way to something that the user names for it to be
/// read: a pattern of a command line may name the link of a pull request. `current` is the folder that the user is in.
///
/// # Errors
/// A link does.
pub fn stays_in_own_tree(path: &Path, current: &Path) -> Result<(), LeadsOut> {
    // What has too many links cannot be read either.
    let Ok(way) = Way::to(path) else { return Ok(()) };
    let leads_out = |link: &&PathBuf| {
        let tree = link.parent().and_then(|folder| tree_around(folder, current));
        tree.is_some_and(|tree| !Places::new([tree]).hold(&way.end))
    };
    match way.links.iter().find(leads_out) {
        Some(link) => Err(LeadsOut { link: link.clone(), end: way.end.clone() }),
        None => Ok(()),
    }
}

/// The tree that a folder belongs to: its repository, else the project around it, else the current folder. Elsewhere, what
/// is there is the user's own.
fn tree_around(folder: &Path, current: &Path) -> Option<PathBuf> {
    let tree = tree_of(folder);
    if tree.join(GIT_FOLDER).exists() {
        return Some(tree);
    }
    let is_project =
        |folder: &&Path| !is_home_or_above(folder) && MANIFESTS.iter().any(|name| folder.join(name).is_file());
    let project = folder.ancestors().filter(is_project).last();
    let current = std::fs::canonicalize(current).ok();
    let current = current.filter(|current| folder.starts_with(current) && !is_home_or_above(current));
    project.map(Path::to_path_buf).or(current)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_of_a_tree_stay_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs_err::canonicalize(folder.path()).unwrap();
        let path = |name: &str| root.join(name);
        for name in ["tree/.git/hooks", "tree/deep", "outside", "mine"] {
            fs_err::create_dir_all(path(name)).unwrap();
        }
        fs_err::write(path("outside/file"), "").unwrap();
        let links = [
            ("tree/out", "../outside/file"),
            ("tree/dangling", "../outside/none"),
            ("tree/folder", "../outside"),
            ("tree/null", "/dev/null"),
            ("tree/git", ".git/hooks/pre-commit"),
            ("tree/chain", "deep/../out"),
            ("tree/loop", "loop"),
            ("tree/in", "deep/file"),
            ("mine/out", "../outside/file"),
            ("mine/chain", "../tree/out"),
            ("mine/in", "../tree/in"),
        ];
        for (link, target) in links {
            symlink(target, path(link)).unwrap();
        }
        let stays = |name: &str| stays_in_trees(&path(name), &[&path("tree/deep")]);
        let refused =
            ["tree/out", "tree/dangling", "tree/folder/new", "tree/null", "tree/git", "tree/chain", "tree/loop"];
        for name in refused.into_iter().chain(["mine/chain", "tree/deep/../out"]) {
            assert!(stays(name).is_err(), "{name}");
        }
        for name in ["tree/in", "tree/new", "tree/none/new", "mine/out", "mine/in", "outside/file"] {
            stays(name).unwrap();
        }
        for name in ["/dev/stdout", "/dev/null", "/dev/fd/1", "/proc/self/fd/2"] {
            stays_in_trees(Path::new(name), &[&path("tree")]).unwrap();
        }
        let words = stays("tree/chain").unwrap_err().to_string();
        assert!(words.contains("tree/chain` leads to `") && words.contains("outside/file`, out of"), "{words}");
    }

    #[test]
    fn named_links_are_read_where_they_stay_in_their_tree() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs_err::canonicalize(folder.path()).unwrap();
        let path = |name: &str| root.join(name);
        for name in ["repository/.git", "project/deep", "plain/deep", "outside"] {
            fs_err::create_dir_all(path(name)).unwrap();
        }
        for name in ["project/lmem.toml", "project/in.cu", "plain/in.cu", "outside/out.cu", "repository/.git/config"] {
            fs_err::write(path(name), "").unwrap();
        }
        for tree in ["repository", "project", "plain"] {
            symlink("../outside", path(tree).join("folder")).unwrap();
            symlink("../outside/out.cu", path(tree).join("out.cu")).unwrap();
        }
        symlink(".git/config", path("repository/settings.ptx")).unwrap();
        for tree in ["project", "plain"] {
            symlink("../in.cu", path(tree).join("deep/in.cu")).unwrap();
        }
        symlink("../project/out.cu", path("outside/chain.cu")).unwrap();
        let stays = |name: &str, current: &str| stays_in_own_tree(&path(name), &path(current));
        for name in ["repository/out.cu", "repository/folder/out.cu", "project/out.cu", "outside/chain.cu"] {
            assert!(stays(name, "outside").is_err(), "{name}");
        }
        assert!(stays("repository/settings.ptx", "repository").is_err());
        stays("project/deep/in.cu", "project/deep").unwrap();
        // Without a project the current folder is what is checked; links elsewhere are the user's own.
        assert!(stays("plain/folder/out.cu", "plain").is_err());
        for name in ["plain/out.cu", "plain/deep/in.cu", "outside/out.cu", "outside/none.cu"] {
            stays(name, "outside").unwrap();
        }
    }
}
