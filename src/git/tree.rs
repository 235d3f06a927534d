//! Checks out a revision, or the index, to a folder of the cache, so that it can be checked like any other tree.
//!
//! Files are written with exactly git's contents: without filters, hooks, or line-end conversion. Unchanged files stay,
//! so that the next revision of a repository only costs its changes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use lmem_base::files::write_whole;
use lmem_base::places;
use lmem_base::source::{has_ending, normalize};
use lmem_project::discover::has_source;

use super::{GitError, LINK, Repository, SUBMODULE, TreeEntry};

/// Subfolder of the cache.
const FOLDER: &str = "trees";

/// Stands for the root of the file system, next to the list.
const ROOT: &str = "root";

/// The list of a tree's files, stored next to it. Missing while the files are being written.
const LIST: &str = "files.json";

/// What links lead to that lead out of the repository: a file and a folder without content, next to the tree.
const ELSEWHERE: &str = "elsewhere";

/// Larger files are seldom what is compiled: data and archives. There are bounds on what all of them may take.
const LARGE_BYTES: u64 = 16 << 20;
const MAX_LARGE_BYTES: u64 = 1 << 30;

/// Limit on one file, within what git gives at once.
const MAX_FILE_BYTES: u64 = 120 << 20;

/// Endings of files that say what is checked, and are written before others: without one of them, a tree is not what git has.
const SOURCES: [&str; 22] = [
    "c", "c++", "cc", "cp", "cpp", "cu", "cubin", "cuh", "cxx", "fatbin", "h", "h++", "hh", "hpp", "hxx", "inc", "inl",
    "ipp", "ptx", "rs", "toml", "tpp",
];

/// Size limit for the list.
const MAX_LIST_BYTES: u64 = 256 << 20;

/// Interval for polling a lock.
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// The folder of all repositories' trees.
pub fn folder(cache_root: &Path) -> PathBuf {
    cache_root.join(FOLDER)
}

/// A checked-out tree, locked while this value exists.
pub struct Checkout {
    /// The counterpart of the top of the repository.
    pub tree: PathBuf,
    _lock: File,
}

impl Checkout {
    /// Writes files to the tree that has a name, for a repository.
    ///
    /// # Errors
    /// The cache cannot be written, or git fails.
    pub fn new(
        repository: &Repository<'_>,
        files: &[TreeEntry],
        name: &str,
        cache_root: &Path,
    ) -> Result<Self, GitError> {
        let place = folder(cache_root).join(place_name(&repository.top)).join(name);
        let failed = |error: io::Error| GitError::Tree { what: name.to_string(), message: error.to_string() };
        let lock = lock(&place, repository).map_err(failed)?;
        if repository.cancel.load(Ordering::Relaxed) {
            return Err(GitError::Interrupted);
        }
        let tree = counterpart(&place, &repository.top);
        update(repository, files, &place, &tree, &failed)?;
        Ok(Self { tree, _lock: lock })
    }
}

/// The folder of a repository's trees.
fn place_name(top: &Path) -> String {
    let hash = blake3::hash(top.to_string_lossy().as_bytes()).to_hex();
    hash.as_str()[..16].to_string()
}

/// Where a tree lies: below as many folders of the same names as the repository does, so that `../name/a.h` leads back into it, too.
fn counterpart(place: &Path, top: &Path) -> PathBuf {
    let names = top.components().filter(|component| matches!(component, Component::Normal(_)));
    names.fold(place.join(ROOT), |folder, name| folder.join(name))
}

/// Waits until no other run uses the tree.
fn lock(place: &Path, repository: &Repository<'_>) -> io::Result<File> {
    fs_err::create_dir_all(place)?;
    let file = places::open_own_to_write(&place.join("lock"))?;
    while let Err(error) = file.try_lock() {
        match error {
            std::fs::TryLockError::Error(error) => return Err(error),
            std::fs::TryLockError::WouldBlock if repository.cancel.load(Ordering::Relaxed) => break,
            std::fs::TryLockError::WouldBlock => std::thread::sleep(LOCK_PAUSE),
        }
    }
    Ok(file)
}

fn update(
    repository: &Repository<'_>,
    files: &[TreeEntry],
    place: &Path,
    tree: &Path,
    failed: &impl Fn(io::Error) -> GitError,
) -> Result<(), GitError> {
    let list = place.join(LIST);
    let wanted: BTreeMap<&str, &TreeEntry> =
        files.iter().filter(|entry| is_safe(&entry.path)).map(|entry| (entry.path.as_str(), entry)).collect();
    let known = known(&list).filter(|_| tree.is_dir());
    if known.is_none() {
        remove(&place.join(ROOT)).map_err(failed)?;
    }
    let known = known.unwrap_or_default();
    let mark = |entry: &TreeEntry| format!("{} {}", entry.mode, entry.id);
    // A file marks a submodule, as in a working tree: its kernels are not the project's.
    let marked: BTreeSet<String> = wanted.values().filter_map(|entry| mark_of(&entry.submodule)).collect();
    let is_stale = |path: &String, mark_then: &String| match mark_then == SUBMODULE {
        true => !marked.contains(path),
        false => wanted.get(path.as_str()).is_none_or(|entry| mark(entry) != *mark_then),
    };
    let stale = known.iter().filter(|(path, mark_then)| is_stale(path, mark_then));
    let stale: BTreeSet<&String> = stale.map(|(path, _)| path).collect();
    let new: Vec<&TreeEntry> = wanted
        .values()
        .filter(|entry| known.get(&entry.path).is_none_or(|mark_then| *mark_then != mark(entry)))
        .copied()
        .collect();
    if stale.is_empty() && new.is_empty() && tree.is_dir() {
        return Ok(());
    }
    remove(&list).map_err(failed)?;
    // Old symbolic links are removed before anything is written, so that no file is written through a link.
    stale.into_iter().try_for_each(|path| remove(&tree.join(path))).map_err(failed)?;
    // `.git` marks the top of the tree, from which the readable files are determined.
    fs_err::create_dir_all(tree.join(".git")).map_err(failed)?;
    let (submodules, mut blobs): (Vec<&TreeEntry>, Vec<&TreeEntry>) =
        new.into_iter().partition(|entry| entry.mode == SUBMODULE);
    blobs.sort_by_key(|entry| !is_source(&entry.path));
    let (mut room, mut left_out) = (MAX_LARGE_BYTES, None);
    // What is left out is not there for compilers: the working tree may have another text under that name.
    let is_wanted = |entry: &TreeEntry, size: u64| {
        let is_wanted = size <= LARGE_BYTES || size <= room.min(MAX_FILE_BYTES);
        if is_wanted && size > LARGE_BYTES {
            room -= size;
        }
        if !is_wanted && left_out.is_none() && is_source(&entry.path) {
            left_out = Some(entry.path.clone());
        }
        is_wanted
    };
    repository.contents_of(&blobs, is_wanted, |entry, bytes| {
        let path = tree.join(&entry.path);
        if has_link_above(tree, &path) {
            return Ok(());
        }
        fs_err::create_dir_all(path.parent().unwrap_or(tree)).map_err(failed)?;
        remove(&path).map_err(failed)?;
        match entry.mode == LINK {
            true => write_link(Places { tree, top: &repository.top, place }, &path, bytes).map_err(failed),
            false => fs_err::write(&path, bytes).map_err(failed),
        }
    })?;
    if let Some(path) = left_out {
        return Err(GitError::TooLarge(path));
    }
    for file in marked.iter().map(|path| tree.join(path)) {
        if file.parent().is_some_and(|folder| folder.is_dir() && !folder.is_symlink()) && !has_link_above(tree, &file) {
            fs_err::write(&file, "").map_err(failed)?;
        }
    }
    for entry in submodules {
        // A commit that was not fetched: the user's checkout of the submodule stands for it.
        let (path, own) = (tree.join(&entry.path), repository.top.join(&entry.path));
        let is_own = own.is_dir() && !own.is_symlink() && !has_link_above(&repository.top, &own);
        if is_own && !has_link_above(tree, &path) {
            fs_err::create_dir_all(path.parent().unwrap_or(tree)).map_err(failed)?;
            remove(&path).map_err(failed)?;
            fs_err::os::unix::fs::symlink(&own, &path).map_err(failed)?;
        }
    }
    let mut marks: BTreeMap<&str, String> = wanted.iter().map(|(path, entry)| (*path, mark(entry))).collect();
    marks.extend(marked.iter().map(|path| (path.as_str(), SUBMODULE.to_string())));
    let marks = serde_json::to_vec(&marks).map_err(|error| failed(error.into()))?;
    write_whole(&list, &marks).map_err(failed)
}

fn is_source(path: &str) -> bool {
    path.ends_with("compile_commands.json") || has_ending(Path::new(path), &SOURCES)
}

/// The file that marks a submodule; `None` for the repository itself.
fn mark_of(submodule: &str) -> Option<String> {
    (!submodule.is_empty() && is_safe(submodule)).then(|| format!("{submodule}/.git"))
}

fn known(list: &Path) -> Option<BTreeMap<String, String>> {
    serde_json::from_slice(&places::read(list, MAX_LIST_BYTES).ok()?).ok()
}

/// Removes a file, folder or link, without following links.
fn remove(path: &Path) -> io::Result<()> {
    match fs_err::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs_err::remove_dir_all(path),
        Ok(_) => fs_err::remove_file(path),
        Err(_) => Ok(()),
    }
}

/// Whether a path stays in the tree and does not belong to git itself.
pub(super) fn is_safe(path: &str) -> bool {
    let is_plain = |component: Component<'_>| match component {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        _ => false,
    };
    !path.is_empty() && Path::new(path).components().all(is_plain)
}

/// Whether a folder above a path is a symbolic link; this only occurs in a malformed tree.
pub(super) fn has_link_above(tree: &Path, path: &Path) -> bool {
    path.ancestors().skip(1).take_while(|folder| *folder != tree).any(Path::is_symlink)
}

/// Where a link is written.
#[derive(Clone, Copy)]
struct Places<'a> {
    tree: &'a Path,
    /// The top of the user's repository.
    top: &'a Path,
    place: &'a Path,
}

/// Writes a symbolic link. One that leads out of the tree would have another target than in the repository, or none: it leads
/// out of the tree to something of that kind, so that it is told of like any such link. What leads into the repository by its whole path
/// leads into the tree.
fn write_link(Places { tree, top, place }: Places<'_>, path: &Path, target: &[u8]) -> io::Result<()> {
    let target = Path::new(OsStr::from_bytes(target));
    let own = path.strip_prefix(tree).map_or_else(|_| top.to_path_buf(), |name| top.join(name));
    let own = own.with_file_name("").join(target);
    let lands = normalize(&path.parent().unwrap_or(tree).join(target));
    if target.is_relative() && lands.starts_with(tree) {
        return fs_err::os::unix::fs::symlink(target, path);
    }
    if let Ok(name) = normalize(target).strip_prefix(top) {
        return fs_err::os::unix::fs::symlink(tree.join(name), path);
    }
    let elsewhere = place.join(ELSEWHERE);
    fs_err::create_dir_all(&elsewhere)?;
    let stand_in = match std::fs::metadata(&own) {
        Ok(metadata) if metadata.is_dir() => {
            let has_source = has_source(&own);
            let folder = elsewhere.join(if has_source { "sources" } else { "folder" });
            fs_err::create_dir_all(&folder)?;
            if has_source {
                fs_err::write(folder.join("source.cu"), "")?;
            }
            folder
        }
        Ok(_) => {
            let file = elsewhere.join("file").with_extension(own.extension().unwrap_or_default());
            fs_err::write(&file, "")?;
            file
        }
        Err(_) => elsewhere.join("nothing"),
    };
    fs_err::os::unix::fs::symlink(stand_in, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn paths_of_a_hostile_tree_are_left_out() {
        for path in ["", "../a", "a/../../b", "/etc/a", ".git/config", "a/.GIT/hooks/x", "."] {
            assert!(!is_safe(path), "{path}");
        }
        assert!(is_safe("a/b.cu") && is_safe(".github/x"));
    }

    #[test]
    fn a_tree_follows_the_index() {
        let temporary = tempfile::tempdir().unwrap();
        let (top, cache) = (temporary.path().join("top"), temporary.path().join("cache"));
        fs_err::create_dir_all(top.join("k")).unwrap();
        let git = |arguments: &[&str]| {
            let output = Command::new("git").arg("-C").arg(&top).args(arguments).output().unwrap();
            assert!(output.status.success(), "{arguments:?}");
        };
        git(&["init", "-q"]);
        let cancel = AtomicBool::new(false);
        let checked_out = || {
            let repository = Repository::around(&top, &cancel).unwrap();
            let files = repository.staged_files().unwrap();
            Checkout::new(&repository, &files, "staged", &cache).unwrap()
        };
        let link = |target: &str, name: &str| fs_err::os::unix::fs::symlink(target, top.join(name)).unwrap();
        fs_err::write(top.join("k/a.cu"), "one").unwrap();
        fs_err::write(top.join("b"), "b").unwrap();
        link("../k", "k/in");
        link("../../out", "k/out");
        link("/etc/passwd", "k/absolute");
        link("/etc", "k/folder");
        link("/none/such", "k/nowhere");
        link("../../top/b", "k/around");
        link(&top.join("b").to_string_lossy(), "k/whole");
        git(&["add", "."]);
        let tree = checked_out().tree.clone();
        let read = |name: &str| fs_err::read_to_string(tree.join(name)).unwrap();
        assert_eq!((read("k/a.cu"), read("b")), ("one".to_string(), "b".to_string()));
        assert!(tree.join("k/in").is_symlink());
        assert_eq!((read("k/around"), read("k/whole")), ("b".to_string(), "b".to_string()));
        assert_eq!(fs_err::read_link(tree.join("k/whole")).unwrap(), tree.join("b"));
        let place = folder(&cache).join(place_name(&top)).join("staged");
        let elsewhere = place.join(ELSEWHERE);
        let target = |name: &str| fs_err::read_link(tree.join(name)).unwrap();
        assert_eq!((target("k/out"), target("k/nowhere")), (elsewhere.join("nothing"), elsewhere.join("nothing")));
        assert_eq!((read("k/absolute"), target("k/folder")), (String::new(), elsewhere.join("folder")));
        // A file becomes a folder, a link becomes a file, and a file is deleted.
        fs_err::remove_file(top.join("b")).unwrap();
        fs_err::create_dir(top.join("b")).unwrap();
        fs_err::write(top.join("b/c"), "c").unwrap();
        fs_err::remove_file(top.join("k/in")).unwrap();
        fs_err::write(top.join("k/in"), "file").unwrap();
        fs_err::remove_file(top.join("k/a.cu")).unwrap();
        git(&["add", "-A", "."]);
        drop(checked_out());
        assert_eq!((read("b/c"), read("k/in")), ("c".to_string(), "file".to_string()));
        assert!(!tree.join("k/a.cu").exists());
        // A large table is as it was staged, whatever the working tree has.
        let large = " ".repeat(usize::try_from(LARGE_BYTES).unwrap() + 1);
        fs_err::write(top.join("k/large.cuh"), &large).unwrap();
        git(&["add", "-A", "."]);
        fs_err::write(top.join("k/large.cuh"), "other").unwrap();
        drop(checked_out());
        assert!(read("k/large.cuh") == large && !tree.join("k/large.cuh").is_symlink());
        fs_err::write(top.join("k/large.cuh"), &large).unwrap();
        // A tree whose checkout was interrupted is written again.
        fs_err::write(tree.join("stray.cu"), "").unwrap();
        fs_err::remove_file(place.join(LIST)).unwrap();
        drop(checked_out());
        assert!(!tree.join("stray.cu").exists() && tree.join("b/c").exists());
    }
}
