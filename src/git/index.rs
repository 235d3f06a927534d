//! Reads the paths in git's index, so that listing tracked files starts no process.
//!
//! The format is that of git's `gitformat-index`. What this module cannot read in full is left to git: an index that is
//! split or sparse, one of SHA-256 objects, and one that git would take from another place. `gix-index` reads them all, and
//! brings 38 more crates: half a minute of the build that the README's first command waits for.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use lmem_base::places;

use super::own;

/// The variable by which git is told of another index.
pub(super) const VARIABLE: &str = "GIT_INDEX_FILE";

/// Larger ones belong to trees of millions of files.
const MAX_BYTES: u64 = 128 << 20;

/// Longer paths name no file (`PATH_MAX` of Linux).
const MAX_PATH: usize = 4096;

/// Limit on the bytes of all paths. In version 4, each may be most of the one before, in a few bytes.
const MAX_PATHS: usize = 256 << 20;

/// Limit on the repository's settings, which say how long hashes are.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// Bytes of a SHA-1 hash.
const HASH: usize = 20;

/// Bytes of an entry before its flags: times, device, inode, mode, owner, size, and the hash.
const BEFORE_FLAGS: usize = 40 + HASH;

/// Flag: 16 more bits of flags follow.
const IS_EXTENDED: u16 = 1 << 14;

/// The paths in the index of the repository whose `.git` is in `top`, relative to it; `None` if git has to be asked.
/// Whether the repository is the folder's own must have been checked.
pub(super) fn paths(top: &Path) -> Option<Vec<OsString>> {
    let repository = own::leads_to(&top.join(".git"))?;
    has_short_hashes(&repository).filter(|is_short| *is_short)?;
    let index = repository.join("index");
    match std::fs::symlink_metadata(&index) {
        Ok(_) => read(&places::read(&index, MAX_BYTES).ok()?),
        // Nothing was ever added.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(Vec::new()),
        Err(_) => None,
    }
}

/// The folders that an index has in place of their files, with a slash at the end (a sparse index); none of one that is not read.
pub(super) fn folders(top: &Path, is_named: bool) -> Vec<OsString> {
    let own = || Some(own::leads_to(&top.join(".git"))?.join("index"));
    let index = if is_named { named(top) } else { own() };
    let bytes = index.and_then(|index| places::read(&index, MAX_BYTES).ok()).unwrap_or_default();
    let (mut paths, _) = entries(&bytes).unwrap_or_default();
    paths.retain(|path| path.as_bytes().ends_with(b"/"));
    paths
}

/// Whether an index ends before its last entry. Git reads on behind the end.
pub(super) fn is_cut(top: &Path) -> bool {
    let bytes = || {
        let repository = own::leads_to(&top.join(".git"))?;
        has_short_hashes(&repository)?.then(|| places::read(&repository.join("index"), MAX_BYTES).ok())?
    };
    bytes().is_some_and(|bytes| matches!(entries(&bytes), Err(Unread::Cut)))
}

/// Whether objects are named by hashes of SHA-1; `None` if the settings cannot be read.
fn has_short_hashes(repository: &Path) -> Option<bool> {
    let settings = places::read(&own::common(repository).join("config"), MAX_SETTINGS_BYTES).ok()?;
    Some(!String::from_utf8_lossy(&settings).to_ascii_lowercase().contains("objectformat"))
}

/// The index that git takes in place of the repository's: hooks get one of their own.
pub(super) fn named(top: &Path) -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(|name| top.join(name))
}

/// Whether a repository with commits has no index, so that nobody knows which of its files are there.
pub(super) fn is_lost(top: &Path) -> bool {
    let Some(repository) = own::leads_to(&top.join(".git")).filter(|it| !it.join("index").exists()) else {
        return false;
    };
    let common = own::common(&repository);
    let text =
        |path: &Path| places::read(path, MAX_SETTINGS_BYTES).map(|text| String::from_utf8_lossy(&text).into_owned());
    let head = text(&repository.join("HEAD")).unwrap_or_default();
    match head.trim().strip_prefix("ref:").map(str::trim) {
        Some(branch) => {
            common.join(branch).exists() || text(&common.join("packed-refs")).is_ok_and(|refs| refs.contains(branch))
        }
        None => !head.trim().is_empty(),
    }
}

/// Parses an index. All bytes must be accounted for: with hashes of another length, the extensions would not end where the
/// checksum begins.
fn read(bytes: &[u8]) -> Option<Vec<OsString>> {
    let (paths, mut rest) = entries(bytes).ok()?;
    while rest.len() > HASH {
        // A small letter means that the entries alone are not the whole index.
        let name = take(&mut rest, 4)?;
        let length = usize::try_from(number(&mut rest)?).ok()?;
        take(&mut rest, length)?;
        if !name[0].is_ascii_uppercase() {
            return None;
        }
    }
    (rest.len() == HASH).then_some(paths)
}

/// Why entries were not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unread {
    /// There are fewer bytes than the entries take.
    Cut,
    /// Another format, or more than is kept.
    Other,
}

/// The paths of an index, and what follows the entries.
fn entries(bytes: &[u8]) -> Result<(Vec<OsString>, &[u8]), Unread> {
    let mut rest = bytes.strip_prefix(b"DIRC").ok_or(Unread::Other)?;
    let version = number(&mut rest).ok_or(Unread::Other)?;
    let count = number(&mut rest).ok_or(Unread::Other)?;
    if !(2..=4).contains(&version) {
        return Err(Unread::Other);
    }
    let mut paths = Vec::new();
    let mut path = Vec::new();
    let mut total = 0;
    for _ in 0..count {
        let entry = rest;
        take(&mut rest, BEFORE_FLAGS).ok_or(Unread::Cut)?;
        let flags = take(&mut rest, 2).and_then(|flags| flags.first_chunk()).ok_or(Unread::Cut)?;
        if u16::from_be_bytes(*flags) & IS_EXTENDED != 0 {
            take(&mut rest, 2).ok_or(Unread::Cut)?;
        }
        // In version 4, a path begins with that of the entry before it, less some bytes.
        let kept = match version {
            4 => variable(&mut rest).and_then(|less| path.len().checked_sub(less)).ok_or(Unread::Other)?,
            _ => 0,
        };
        path.truncate(kept);
        let length = memchr::memchr(0, rest).ok_or(Unread::Cut)?;
        path.extend_from_slice(take(&mut rest, length).ok_or(Unread::Cut)?);
        total += path.len();
        if path.len() > MAX_PATH || total > MAX_PATHS {
            return Err(Unread::Other);
        }
        let padding = if version == 4 { 1 } else { 8 - (entry.len() - rest.len()) % 8 };
        if take(&mut rest, padding).ok_or(Unread::Cut)?.iter().any(|byte| *byte != 0) {
            return Err(Unread::Other);
        }
        paths.push(OsString::from_vec(path.clone()));
    }
    Ok((paths, rest))
}

fn take<'b>(rest: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*take(rest, 4)?.first_chunk()?))
}

/// Seven bits a byte, the highest first; each byte that is not the last counts one more, so that no number has two forms.
fn variable(rest: &mut &[u8]) -> Option<usize> {
    let mut value = 0usize;
    loop {
        let byte = take(rest, 1)?[0];
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) -> Vec<u8> {
        let mut git = Command::new("git");
        git.arg("-C").arg(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        let output = git.output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        output.stdout
    }

    /// What git lists.
    fn listed(folder: &Path) -> Vec<OsString> {
        let list = git(folder, &["ls-files", "-z"]);
        list.split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(|path| OsString::from_vec(path.to_vec()))
            .collect()
    }

    /// Paths of all lengths, so that each padding occurs.
    fn tree(arguments: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &[&["init", "-q"], arguments].concat());
        for number in 0..40 {
            let below = folder.path().join("deep".repeat(number % 5)).join("k");
            fs_err::create_dir_all(&below).unwrap();
            fs_err::write(below.join(format!("{}ä{number}.cu", "x".repeat(number))), "").unwrap();
            // A name that is no text.
            fs_err::write(
                below.join(OsString::from_vec(
                    format!("{number}\u{1}").into_bytes().into_iter().chain([0xff]).collect(),
                )),
                "",
            )
            .unwrap();
        }
        git(folder.path(), &["add", "."]);
        folder
    }

    #[test]
    fn paths_are_those_that_git_lists() {
        for version in ["2", "3", "4"] {
            let tree = tree(&[]);
            git(tree.path(), &["update-index", "--index-version", version]);
            assert_eq!(paths(tree.path()), Some(listed(tree.path())), "version {version}");
            // Version 3 has entries with more flags, and a commit adds an extension.
            fs_err::write(tree.path().join("later.cu"), "").unwrap();
            git(tree.path(), &["add", "--intent-to-add", "later.cu"]);
            git(tree.path(), &["commit", "-q", "-m", "one"]);
            git(tree.path(), &["rm", "-q", "--cached", "k/ä0.cu"]);
            let found = paths(tree.path());
            assert_eq!(found, Some(listed(tree.path())), "version {version}");
            assert!(found.unwrap().iter().any(|path| path == "later.cu"));
        }
    }

    #[test]
    fn a_worktree_has_an_index_of_its_own() {
        let tree = tree(&[]);
        git(tree.path(), &["commit", "-q", "-m", "one"]);
        let other = tempfile::tempdir().unwrap();
        let place = other.path().join("other");
        git(tree.path(), &["worktree", "add", "-q", &place.display().to_string()]);
        git(&place, &["rm", "-q", "--cached", "k/ä0.cu"]);
        assert_eq!(paths(&place), Some(listed(&place)));
        assert_ne!(paths(&place), paths(tree.path()));
    }

    #[test]
    fn other_formats_are_left_to_git() {
        let split = tree(&[]);
        git(split.path(), &["update-index", "--split-index"]);
        assert_eq!(paths(split.path()), None);
        let long = tree(&["--object-format=sha256"]);
        assert_eq!(paths(long.path()), None);
        let bytes = fs_err::read(long.path().join(".git/index")).unwrap();
        assert_eq!(read(&bytes), None, "hashes of 32 bytes");
        let sparse = tree(&[]);
        git(sparse.path(), &["commit", "-q", "-m", "one"]);
        git(sparse.path(), &["sparse-checkout", "set", "--cone", "--sparse-index", "deep"]);
        assert_eq!(paths(sparse.path()), None);
    }

    #[test]
    fn paths_that_no_file_can_have_are_left_to_git() {
        /// An index of version 4 with one path of many bytes, and others that differ in the last.
        fn index(length: usize, count: u32) -> Vec<u8> {
            let mut bytes = [b"DIRC".as_slice(), &4u32.to_be_bytes(), &count.to_be_bytes()].concat();
            for number in 0..count {
                bytes.extend([0; BEFORE_FLAGS + 2]);
                bytes.push(u8::from(number > 0));
                let path = if number > 0 { vec![b'b'] } else { vec![b'a'; length] };
                bytes.extend([path.as_slice(), &[0]].concat());
            }
            bytes.extend([0; HASH]);
            bytes
        }
        assert_eq!(read(&index(MAX_PATH, 3)).map(|paths| paths.len()), Some(3));
        assert_eq!(read(&index(MAX_PATH + 1, 3)), None);
        assert_eq!(read(&index(MAX_PATH, 70_000)), None);
    }

    #[test]
    fn a_broken_index_is_left_to_git() {
        let tree = tree(&[]);
        let index = tree.path().join(".git/index");
        let bytes = fs_err::read(&index).unwrap();
        for end in 0..bytes.len() {
            assert_eq!(read(&bytes[..end]), None, "{end} of {} bytes", bytes.len());
        }
        fs_err::write(&index, &bytes[..bytes.len() / 2]).unwrap();
        assert_eq!(paths(tree.path()), None);
        assert!(is_cut(tree.path()));
        fs_err::write(&index, &bytes).unwrap();
        assert!(!is_cut(tree.path()));
        fs_err::remove_file(&index).unwrap();
        assert_eq!(paths(tree.path()), Some(Vec::new()));
    }
}
