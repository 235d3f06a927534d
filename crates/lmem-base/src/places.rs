//! The files that a run may read and show; the only place that decides it.
//!
//! File names come from the workspace: from links, `#line`, flags and compiler output. Only the resolved path counts,
//! so paths are compared after resolving symbolic links.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Pseudo file systems. Their files look regular, but may be endless and have no stored content.
const NO_FILES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The folder of a repository that git reads, and that no pull request may have written.
pub const GIT_FOLDER: &str = ".git";

/// Whether a path below a tree leads into no folder of a repository that git reads.
pub fn is_beside_git(below: &Path) -> bool {
    below.components().all(|part| part.as_os_str() != GIT_FOLDER)
}

thread_local! {
    /// Paths that this thread queried since `watched` was entered.
    static ASKED: RefCell<Option<BTreeSet<PathBuf>>> = const { RefCell::new(None) };
}

/// Runs some work and records the paths that it queried, existing or not. If none of these paths changes, the work
/// would give the same result. Only queries of this thread are recorded.
pub fn watched<T>(work: impl FnOnce() -> T) -> (T, BTreeSet<PathBuf>) {
    let before = ASKED.replace(Some(BTreeSet::new()));
    let result = work();
    let asked = ASKED.replace(before).unwrap_or_default();
    asked.iter().for_each(|path| asked_for(path));
    (result, asked)
}

/// Records that the work of this thread depends on a path: a file, a folder's entries, or a missing file.
pub fn asked_for(path: &Path) {
    ASKED.with_borrow_mut(|asked| {
        if let Some(asked) = asked.as_mut().filter(|asked| !asked.contains(path)) {
            asked.insert(path.to_path_buf());
        }
    });
}

/// Folders and files that may be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// Absolute, with symbolic links resolved.
    folders: Vec<PathBuf>,
}

impl Places {
    /// The existing ones of some paths.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let real = paths.into_iter().filter_map(|path| std::fs::canonicalize(path).ok());
        let mut folders: Vec<PathBuf> = real.collect();
        folders.sort();
        folders.dedup();
        Self { folders }
    }

    /// These places and further ones.
    pub fn and(&self, others: impl IntoIterator<Item = PathBuf>) -> Self {
        self.with(&Self::new(others))
    }

    /// These places and those of another list. What they resolved to once is not resolved again: a link that took a folder's
    /// place since leads elsewhere.
    pub fn with(&self, others: &Self) -> Self {
        let mut folders: Vec<PathBuf> = self.folders.iter().chain(&others.folders).cloned().collect();
        folders.sort();
        folders.dedup();
        Self { folders }
    }

    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Whether a path resolves to something inside these places. The folder of a repository is none of them: its
    /// settings may have the password of a CI job.
    pub fn hold(&self, path: &Path) -> bool {
        asked_for(path);
        std::fs::canonicalize(path).is_ok_and(|path| self.have(&path))
    }

    fn have(&self, real: &Path) -> bool {
        self.folders.iter().any(|folder| real.strip_prefix(folder).is_ok_and(is_beside_git))
    }

    /// Whether a path resolves to a file that may be read.
    pub fn hold_file(&self, path: &Path) -> bool {
        asked_for(path);
        let real = std::fs::canonicalize(path).ok().filter(|path| is_stored(path));
        real.is_some_and(|path| self.have(&path))
    }

    /// The content of a file of these places, of at most `limit` bytes. What was opened counts, whatever took the place of a
    /// folder meanwhile.
    ///
    /// # Errors
    /// Same as for [`read`], or the file is not of these places.
    pub fn read_held(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let file = open(path)?;
        let way = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let real = std::fs::read_link(way).or_else(|_| std::fs::canonicalize(path))?;
        match self.have(&real) {
            true => read_to(limit, path, file),
            false => Err(refused(path, "leads out of what may be read")),
        }
    }

    /// Those of some paths that [`Places::hold_file`] would hold. Each folder is resolved once: the hundreds of headers
    /// of a unit lie in a few.
    pub fn files_among(&self, paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
        // What a folder resolves to, and whether its files may be read.
        let mut folders: HashMap<PathBuf, Option<(PathBuf, bool)>> = HashMap::new();
        let mut is_held = |path: &PathBuf| {
            // A path that ends in `..`, `.` or `/` is no name in a folder.
            let Some((parent, name)) = path.parent().zip(path.file_name()).filter(|(_, name)| is_last(path, name))
            else {
                return self.hold_file(path);
            };
            asked_for(path);
            if !folders.contains_key(parent) {
                let real = std::fs::canonicalize(parent).ok();
                folders.insert(parent.to_path_buf(), real.map(|real| (real.clone(), self.have(&real))));
            }
            let Some(Some((folder, is_held))) = folders.get(parent) else { return false };
            let file = folder.join(name);
            match std::fs::symlink_metadata(&file) {
                Ok(metadata) if metadata.is_symlink() => self.hold_file(path),
                Ok(metadata) if metadata.is_file() && has_content(&file) => {
                    (*is_held && name != GIT_FOLDER) || self.have(&file)
                }
                _ => false,
            }
        };
        paths.filter(|path| is_held(path)).collect()
    }

    /// An existing file outside these places that a text names. A program that cannot parse a file prints lines of that
    /// file after its name.
    pub fn foreign_in(&self, text: &str, base: &Path) -> Option<PathBuf> {
        let words = words(text).filter(|word| word.contains('/') || word.contains('.'));
        let mut seen = std::collections::HashSet::new();
        let mut paths = words.filter(|word| seen.insert(*word)).map(|word| base.join(word));
        paths.find(|path| path.is_file() && !self.hold(path))
    }
}

/// The words of a compiler's or cargo's message, of which paths are some.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| letter.is_whitespace() || "`'\"():,<>[]".contains(letter))
}

/// Whether a path's text ends in its last name, and it begins somewhere.
fn is_last(path: &Path, name: &OsStr) -> bool {
    path.is_absolute() && path.as_os_str().as_encoded_bytes().ends_with(name.as_encoded_bytes())
}

/// Whether a path, with links resolved, is a regular file with stored content.
pub fn is_regular(path: &Path) -> bool {
    std::fs::canonicalize(path).is_ok_and(|path| is_stored(&path))
}

/// The same for a path without links.
fn is_stored(real: &Path) -> bool {
    real.is_file() && has_content(real)
}

/// Whether a file without links lies where files have stored content.
fn has_content(real: &Path) -> bool {
    !NO_FILES.iter().any(|folder| real.starts_with(folder))
}

/// The content of a regular file of at most `limit` bytes.
///
/// # Errors
/// The file cannot be read, is not regular (a pipe would block, a device may be endless), or is too large.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_to(limit, path, open(path)?)
}

/// The same for a file of this tool's own.
///
/// # Errors
/// Same as for [`read`].
pub fn read_own(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_to(limit, path, open_own(path)?)
}

fn read_to(limit: u64, path: &Path, file: File) -> io::Result<Vec<u8>> {
    let too_large = || refused(path, &format!("has more than {} MiB", (limit >> 20).max(1)));
    // A sparse file takes no room on disk, and a second for each gigabyte that is read of it.
    if file.metadata()?.len() > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
}

/// Opens a regular file; refuses anything else.
///
/// # Errors
/// Same as for [`read`].
pub fn open(path: &Path) -> io::Result<File> {
    asked_for(path);
    // For a missing file, this gives the system's own error.
    std::fs::metadata(path).map_err(|error| named(path, error))?;
    if !is_regular(path) {
        return Err(refused(path, "is not a regular file"));
    }
    open_own(path)
}

/// Opens a file of this tool's own, which is no input of what is checked. It may lie anywhere.
///
/// # Errors
/// The file cannot be opened, or is not regular.
pub fn open_own(path: &Path) -> io::Result<File> {
    // With `O_NONBLOCK` opening a pipe does not block, and the metadata shows that it is not a file. Another file's place may
    // have been taken by one since it was looked at.
    let open = File::options().read(true).custom_flags(NONBLOCK).open(path);
    let file = open.map_err(|error| named(path, error))?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(refused(path, "is not a regular file")),
    }
}

/// Opens a file of this tool's own to write into it; a new one is empty. A pipe in its place is not waited for.
///
/// # Errors
/// The file cannot be opened, or is not regular.
pub fn open_own_to_write(path: &Path) -> io::Result<File> {
    let open = File::options().create(true).append(true).custom_flags(NONBLOCK).open(path);
    let file = open.map_err(|error| named(path, error))?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(refused(path, "is not a regular file")),
    }
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

fn refused(path: &Path, reason: &str) -> io::Error {
    io::Error::other(format!("`{}` {reason}", path.display()))
}

/// `O_NONBLOCK` of this system, from rustix.
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits() as i32;

/// The nearest folder, this one or above it, that is the top of a git repository.
pub fn repository_of(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| folder.join(GIT_FOLDER).exists())
}

/// The root of the repository that contains `folder`, else `folder` itself, with symbolic links resolved. A home folder
/// that is a repository does not count: all of the user's files would be in the checked tree.
pub fn tree_of(folder: &Path) -> PathBuf {
    let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    let is_repository = |ancestor: &&Path| ancestor.join(".git").exists() && !is_home_or_above(ancestor);
    folder.ancestors().find(is_repository).unwrap_or(&folder).to_path_buf()
}

/// Whether a folder is the user's home or contains it.
pub fn is_home_or_above(folder: &Path) -> bool {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    let home = home.map(PathBuf::from).map(|home| std::fs::canonicalize(&home).unwrap_or(home));
    folder.parent().is_none() || home.is_some_and(|home| home.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_count_by_where_they_lead() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs_err::create_dir_all(path("tree")).unwrap();
        fs_err::write(path("secret"), "s").unwrap();
        fs_err::write(path("tree/a"), "a").unwrap();
        std::os::unix::fs::symlink(path("secret"), path("tree/out")).unwrap();
        std::os::unix::fs::symlink(path("tree/a"), path("in")).unwrap();
        fs_err::create_dir_all(path("tree/deep/.git")).unwrap();
        for name in ["tree/.gitignore", "tree/deep/.git/config"] {
            fs_err::write(path(name), "").unwrap();
        }
        std::os::unix::fs::symlink("deep/.git", path("tree/settings")).unwrap();
        let places = Places::new([path("tree")]);
        assert!(places.hold(&path("tree/.gitignore")) && places.hold_file(&path("tree/.gitignore")));
        for name in ["tree/deep/.git/config", "tree/settings/config"] {
            assert!(!places.hold(&path(name)) && !places.hold_file(&path(name)), "{name}");
        }
        assert!(places.foreign_in("deep/.git/config(1): error: x", &path("tree")).is_some());
        assert!(places.hold(&path("tree/a")) && places.hold(&path("in")));
        assert!(
            !places.hold(&path("tree/out")) && !places.hold(&path("tree/../secret")) && !places.hold(&path("none"))
        );
        let said = format!("{}:1: error: x", path("tree/out").display());
        assert!(places.foreign_in(&said, folder.path()).is_some());
        assert!(places.foreign_in("(out): tree/out", folder.path()).is_some());
        assert_eq!(places.foreign_in("tree/a(1): error: secrets/x", folder.path()), None);
    }

    /// One by one or all together, the same files are held.
    #[test]
    fn files_are_held_together_as_alone() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs_err::canonicalize(folder.path()).unwrap();
        let path = |name: &str| root.join(name);
        for name in ["tree/in/.git", "tree/.git/in", "other"] {
            fs_err::create_dir_all(path(name)).unwrap();
        }
        for name in ["tree/a", "tree/in/b", "tree/in/.git/c", "tree/.git/in/d", "other/e", "other/.git", "f"] {
            fs_err::write(path(name), "x").unwrap();
        }
        for (target, link) in [
            ("../other/e", "tree/out"),
            ("in/b", "tree/to"),
            ("../other", "tree/far"),
            (".git/in", "tree/own"),
            ("none", "tree/gone"),
        ] {
            std::os::unix::fs::symlink(target, path(link)).unwrap();
        }
        let names = [
            "tree/a",
            "tree/in/b",
            "tree/in/../a",
            "tree/in/.git/c",
            "tree/.git/in/d",
            "tree/own/d",
            "tree/out",
            "tree/to",
            "tree/far/e",
            "tree/far/.git",
            "tree/gone",
            "tree/in",
            "tree/in/",
            "tree/a/",
            "tree/in/..",
            "tree/in/.",
            "other/e",
            "other/.git",
            "f",
            "none/a",
            "tree/in/b/.",
            "tree/in/./b",
        ];
        let mut paths: Vec<PathBuf> = names.iter().map(|name| path(name)).collect();
        paths.extend(["/proc/self/status", "/dev/null", "a", "/"].map(PathBuf::from));
        for held in
            [vec![path("tree")], vec![path("f"), path("other/.git")], vec![PathBuf::from("/")], vec![path("tree/.git")]]
        {
            let places = Places::new(held);
            let alone: Vec<PathBuf> = paths.iter().filter(|path| places.hold_file(path)).cloned().collect();
            assert!(!alone.is_empty());
            assert_eq!(places.files_among(paths.iter().cloned()), alone, "{places:?}");
        }
    }

    #[test]
    fn work_is_watched_by_what_it_asks() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs_err::write(path("a"), "a").unwrap();
        let ((inner, _), outer) = watched(|| {
            let inner = watched(|| read(&path("a"), 9));
            drop(read(&path("none"), 9));
            (inner.1, ())
        });
        assert_eq!(inner, BTreeSet::from([path("a")]));
        assert_eq!(outer, BTreeSet::from([path("a"), path("none")]));
        drop(read(&path("a"), 9));
        assert_eq!(watched(|| ()).1, BTreeSet::new());
    }

    #[test]
    fn only_files_are_read_and_only_so_much() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs_err::write(&path, "abc").unwrap();
        assert_eq!(read(&path, 3).unwrap(), b"abc");
        assert!(read(&path, 2).unwrap_err().to_string().contains("more than"));
        for name in ["/dev/zero", "/dev/null", "/proc/self/pagemap", "/proc/self/environ"] {
            assert!(read(Path::new(name), 1 << 20).unwrap_err().to_string().contains("regular"), "{name}");
        }
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/proc/self/pagemap", &link).unwrap();
        assert!(read(&link, 1 << 20).is_err());
        assert_eq!(read(&folder.path().join("none"), 1).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
