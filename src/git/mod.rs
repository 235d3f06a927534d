//! Queries git for changes, revisions and contents, without running programs that a repository's settings name.
//!
//! The settings, attributes and submodules of a repository may be part of the tree that is checked, and `git status`
//! runs programs that they name: `core.fsmonitor`, hooks, `filter.*.clean`, and remote helpers for missing objects. Git
//! also accepts a folder that merely looks like a bare repository. So the repository is named explicitly, and every
//! setting that can start a program is overridden. This includes the user's own filters: git-lfs takes programs from
//! the repository's settings.

mod changes;
mod command;
mod error;
mod index;
mod own;
mod settings;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use lmem_base::places::repository_of;
use lmem_base::source::has_ending;

use self::command::{command, overrides, run};

pub use changes::Changes;
pub use error::GitError;
pub use tree::{Checkout, folder};

/// A file in git's view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Relative to the top of the repository.
    pub path: String,
    /// `100644`, `100755`, `120000` for a symbolic link, `160000` for a submodule.
    pub mode: String,
    pub id: String,
    /// The submodule whose object it is, relative to the top; empty for the repository itself.
    pub submodule: String,
}

impl TreeEntry {
    /// Whether it is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.mode == LINK
    }
}

/// The mode of a submodule, whose id is a commit of another repository.
const SUBMODULE: &str = "160000";
const LINK: &str = "120000";

/// Submodules within submodules that are followed.
const MAX_DEPTH: usize = 8;

/// The repository around a folder.
pub struct Repository<'a> {
    /// The folder that contains `.git`.
    pub top: PathBuf,
    overrides: Vec<(String, String)>,
    cancel: &'a AtomicBool,
    /// Number of repositories around a submodule.
    depth: usize,
}

/// Checks whether all that git would read for a folder, settings included, belongs to it; the error says what does not.
///
/// # Errors
/// `.git`, a part of it or a file that its settings name belongs to another folder, or git would wait for a pipe.
pub fn check(top: &Path, cancel: &AtomicBool) -> Result<(), String> {
    own::check(top)?;
    settings::check(top, cancel)
}

impl<'a> Repository<'a> {
    /// Finds the nearest repository around a folder.
    ///
    /// # Errors
    /// There is none, or git rejects it.
    pub fn around(folder: &Path, cancel: &'a AtomicBool) -> Result<Self, GitError> {
        Self::at(top_of(folder)?, cancel).map_err(GitError::Refused)
    }

    fn at(top: &Path, cancel: &'a AtomicBool) -> Result<Self, String> {
        check(top, cancel)?;
        Ok(Self { top: top.to_path_buf(), overrides: overrides(top, top, cancel)?, cancel, depth: 0 })
    }

    fn ask(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitError> {
        // In hooks, the path of the index is relative to the top.
        let mut git = command(&self.top, &self.top, &self.overrides).map_err(GitError::Refused)?;
        git.args(arguments);
        match run(&mut git, input, self.cancel) {
            Err(_) if self.cancel.load(Ordering::Relaxed) => Err(GitError::Interrupted),
            result => result.map_err(GitError::Refused),
        }
    }

    fn text(&self, arguments: &[&str]) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.ask(arguments, b"")?).into_owned())
    }

    /// The commit that a revision names; `REV...` is where the current branch left `REV`, as for `git diff`.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn commit(&self, revision: &str) -> Result<String, GitError> {
        if let Some(other) = revision.strip_suffix("...").filter(|other| !other.is_empty()) {
            return self.branched_from(&self.commit(other)?, revision);
        }
        let commit = format!("{revision}^{{commit}}");
        match self.text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]) {
            Ok(id) if is_id(id.trim()) => Ok(id.trim().to_string()),
            Err(GitError::Interrupted) => Err(GitError::Interrupted),
            _ => match self.text(&["rev-parse", "--is-shallow-repository"])?.trim() {
                "true" => Err(GitError::NotFetched(revision.to_string())),
                _ if revision == "HEAD" => Err(GitError::NoCommit),
                _ => Err(GitError::UnknownRevision(revision.to_string())),
            },
        }
    }

    /// The best common ancestor of HEAD and a commit.
    fn branched_from(&self, commit: &str, revision: &str) -> Result<String, GitError> {
        match self.text(&["merge-base", "HEAD", commit]) {
            Ok(id) if is_id(id.trim()) => Ok(id.trim().to_string()),
            Err(GitError::Interrupted) => Err(GitError::Interrupted),
            _ if self.text(&["rev-parse", "--is-shallow-repository"])?.trim() == "true" => {
                Err(GitError::NotFetched(revision.to_string()))
            }
            _ => Err(GitError::NoAncestor(revision.to_string())),
        }
    }

    /// The files of a commit, with those of submodules. Names that are not valid UTF-8 are left out: they are not
    /// passed to compilers.
    ///
    /// # Errors
    /// Git fails.
    pub fn files_of(&self, commit: &str) -> Result<Vec<TreeEntry>, GitError> {
        let list = self.list_of(commit)?;
        // Mode, kind, name.
        self.with_submodules(entries(&list).filter_map(|(head, path)| entry(&head, 0, 2, path)))
    }

    /// The list of a commit's files.
    fn list_of(&self, commit: &str) -> Result<Vec<u8>, GitError> {
        self.ask(&["ls-tree", "-r", "-z", "--full-tree", commit], b"")
    }

    /// Puts the files of a submodule's commit in its place. A submodule that is not checked out, or that lacks the
    /// commit, stays.
    fn with_submodules(&self, entries: impl Iterator<Item = TreeEntry>) -> Result<Vec<TreeEntry>, GitError> {
        let mut files = Vec::new();
        for entry in entries {
            let submodule = (entry.mode == SUBMODULE).then(|| self.submodule(&entry.path)).flatten();
            let found = match submodule.map(|submodule| submodule.files_of(&entry.id)) {
                Some(Err(GitError::Interrupted)) => return Err(GitError::Interrupted),
                Some(Ok(found)) => found,
                Some(Err(_)) | None => {
                    files.push(entry);
                    continue;
                }
            };
            let below =
                |path: &str| if path.is_empty() { entry.path.clone() } else { format!("{}/{path}", entry.path) };
            let placed = found.into_iter().map(|file| {
                let (path, submodule) = (below(&file.path), below(&file.submodule));
                TreeEntry { path, submodule, ..file }
            });
            files.extend(placed);
        }
        Ok(files)
    }

    /// The repository of a submodule that is checked out.
    fn submodule(&self, path: &str) -> Option<Self> {
        let top = self.top.join(path);
        if !tree::is_safe(path) || tree::has_link_above(&self.top, &top) || top.is_symlink() {
            return None;
        }
        // Without it, git would take the repository around the submodule.
        let is_there = self.depth < MAX_DEPTH && top.join(".git").exists();
        let repository = is_there.then(|| Self::at(&top, self.cancel).ok()).flatten()?;
        Some(Self { depth: self.depth + 1, ..repository })
    }

    /// The submodules of a commit, or of the index, with their commits.
    fn submodules(list: &[u8], id: usize) -> BTreeMap<String, String> {
        let all = entries(list).filter_map(|(head, path)| entry(&head, 0, id, path));
        all.filter(|entry| entry.mode == SUBMODULE).map(|entry| (entry.path, entry.id)).collect()
    }

    /// The files of the index.
    ///
    /// # Errors
    /// Git fails, or a merge is in progress.
    pub fn staged_files(&self) -> Result<Vec<TreeEntry>, GitError> {
        let list = self.ask(&["ls-files", "--stage", "-z"], b"")?;
        if let Some(name) = source_without_text(&list) {
            return Err(GitError::NoText(name));
        }
        let all: Vec<(Vec<&str>, &str)> = entries(&list).collect();
        let unmerged: BTreeSet<&str> =
            all.iter().filter(|(head, _)| head.get(2) != Some(&"0")).map(|(_, path)| *path).collect();
        if let Some(first) = unmerged.first() {
            return Err(GitError::Unmerged { first: (*first).to_string(), count: unmerged.len() });
        }
        // Mode, name, stage.
        self.with_submodules(all.into_iter().filter_map(|(head, path)| entry(&head, 0, 1, path)))
    }

    /// The contents of those objects, in order, that are wanted by their size.
    ///
    /// # Errors
    /// Git fails, or an object is missing.
    fn contents(
        &self,
        ids: &[&str],
        mut is_wanted: impl FnMut(usize, u64) -> bool,
        mut take: impl FnMut(usize, &[u8]) -> Result<(), GitError>,
    ) -> Result<(), GitError> {
        let sizes = self.sizes(ids)?;
        let mut chunk: Vec<usize> = Vec::new();
        let mut bytes = 0;
        for (index, size) in sizes.iter().enumerate() {
            if !is_wanted(index, *size) {
                continue;
            }
            if bytes + size > CHUNK {
                self.read(ids, &std::mem::take(&mut chunk), &mut take)?;
                bytes = 0;
            }
            chunk.push(index);
            bytes += size;
        }
        self.read(ids, &chunk, &mut take)
    }

    /// The contents of files of a repository and its submodules: first the repository's own, in their order.
    ///
    /// # Errors
    /// As [`Repository::contents`].
    fn contents_of(
        &self,
        files: &[&TreeEntry],
        mut is_wanted: impl FnMut(&TreeEntry, u64) -> bool,
        mut take: impl FnMut(&TreeEntry, &[u8]) -> Result<(), GitError>,
    ) -> Result<(), GitError> {
        let mut groups: BTreeMap<&str, Vec<&TreeEntry>> = BTreeMap::new();
        files.iter().for_each(|file| groups.entry(&file.submodule).or_default().push(file));
        for (path, files) in groups {
            let ids: Vec<&str> = files.iter().map(|file| file.id.as_str()).collect();
            let submodule = if path.is_empty() { None } else { self.submodule(path) };
            let repository = submodule.as_ref().unwrap_or(self);
            let is_wanted = |index: usize, size: u64| is_wanted(files[index], size);
            repository.contents(&ids, is_wanted, |index, bytes| take(files[index], bytes))?;
        }
        Ok(())
    }

    fn sizes(&self, ids: &[&str]) -> Result<Vec<u64>, GitError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let input: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let list = self.ask(&["cat-file", "--batch-check=%(objectname) %(objectsize)"], input.as_bytes())?;
        let list = String::from_utf8_lossy(&list).into_owned();
        let sizes: Option<Vec<u64>> = list.lines().map(|line| line.split(' ').nth(1)?.parse().ok()).collect();
        let missing = || GitError::Refused("contents of this revision were not fetched".to_string());
        sizes.filter(|sizes| sizes.len() == ids.len()).ok_or_else(missing)
    }

    fn read(
        &self,
        ids: &[&str],
        chunk: &[usize],
        take: &mut impl FnMut(usize, &[u8]) -> Result<(), GitError>,
    ) -> Result<(), GitError> {
        if chunk.is_empty() {
            return Ok(());
        }
        let input: String = chunk.iter().map(|index| format!("{}\n", ids[*index])).collect();
        let output = self.ask(&["cat-file", "--batch"], input.as_bytes())?;
        let mut rest = output.as_slice();
        for index in chunk {
            let (object, after) =
                next_object(rest).ok_or_else(|| GitError::Refused("`git cat-file` ended early".to_string()))?;
            take(*index, object)?;
            rest = after;
        }
        Ok(())
    }
}

/// Limit on bytes requested at once.
const CHUNK: u64 = 64 << 20;

fn is_id(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Splits a list into entries: words, a tab, a path, a NUL byte.
fn entries(list: &[u8]) -> impl Iterator<Item = (Vec<&str>, &str)> {
    let texts = list.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
    texts.filter_map(|entry| entry.split_once('\t')).map(|(head, path)| (head.split(' ').collect(), path))
}

/// A file to check, a link or a submodule of a list whose name is no text, as it can be shown. Compilers are not given such a name.
fn source_without_text(list: &[u8]) -> Option<String> {
    let odd = list.split(|byte| *byte == 0).filter(|entry| std::str::from_utf8(entry).is_err());
    let of_source = odd.map(String::from_utf8_lossy).filter_map(|entry| {
        let (head, path) = entry.split_once('\t')?;
        let is_led_away = head.starts_with(LINK) || head.starts_with(SUBMODULE);
        (is_led_away || has_ending(Path::new(path), &["cu", "rs"])).then(|| path.to_string())
    });
    of_source.into_iter().next()
}

fn entry(head: &[&str], mode: usize, id: usize, path: &str) -> Option<TreeEntry> {
    let id = head.get(id).filter(|id| is_id(id))?;
    let (path, mode) = (path.to_string(), head.get(mode)?.to_string());
    Some(TreeEntry { path, mode, id: id.to_string(), submodule: String::new() })
}

/// Parses `NAME blob SIZE`, a line break, the bytes, a line break.
fn next_object(output: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = output.iter().position(|byte| *byte == b'\n')?;
    let size: usize = std::str::from_utf8(&output[..line]).ok()?.rsplit(' ').next()?.parse().ok()?;
    let start = line + 1;
    Some((output.get(start..start.checked_add(size)?)?, output.get(start + size + 1..)?))
}

/// The files of the index of the nearest repository around a folder that are wanted, as absolute paths. The predicate is
/// given paths relative to the repository's top.
///
/// # Errors
/// There is no repository, or git rejects it.
pub fn tracked(
    folder: &Path,
    is_wanted: impl Fn(&str) -> bool,
    cancel: &AtomicBool,
) -> Result<BTreeSet<PathBuf>, GitError> {
    let top = top_of(folder)?;
    own::check(top).map_err(GitError::Refused)?;
    let paths = match index::named(top) {
        Some(_) => listed(top, true, cancel)?,
        None => in_index(top, cancel)?,
    };
    Ok(wanted(top, &paths, is_wanted))
}

/// The files below some folders that are tracked in the repositories around these. `tracked` is asked once for the top of each.
pub fn below<'a>(
    folders: impl Iterator<Item = &'a PathBuf>,
    mut tracked: impl FnMut(&Path) -> BTreeSet<PathBuf>,
) -> BTreeSet<PathBuf> {
    let mut by_top: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for folder in folders {
        // A folder may be named by a link to it.
        let real = fs_err::canonicalize(folder).unwrap_or_else(|_| folder.clone());
        let Some(top) = real.ancestors().find(|ancestor| ancestor.join(".git").exists()) else { continue };
        let of_top = by_top.entry(top.to_path_buf()).or_insert_with(|| tracked(top));
        found.extend(of_top.iter().filter_map(|path| Some(folder.join(path.strip_prefix(&real).ok()?))));
    }
    found
}

/// As [`tracked`], by the repository's own index, whatever variables of the environment say, and by the one that they name, if
/// `is_named_too`.
///
/// # Errors
/// As for [`tracked`], and where an index is missing.
pub fn tracked_in_any(
    folder: &Path,
    is_wanted: impl Fn(&str) -> bool,
    is_named_too: bool,
    cancel: &AtomicBool,
) -> Result<BTreeSet<PathBuf>, GitError> {
    let top = top_of(folder)?;
    own::check(top).map_err(GitError::Refused)?;
    let mut paths = in_index(top, cancel)?;
    match index::named(top).filter(|_| is_named_too) {
        Some(named) if !named.is_file() => {
            return Err(GitError::Refused(format!("`{}` names no index", index::VARIABLE)));
        }
        Some(_) => paths.extend(listed(top, true, cancel)?),
        None => {}
    }
    Ok(wanted(top, &paths, is_wanted))
}

/// The paths in the repository's own index.
fn in_index(top: &Path, cancel: &AtomicBool) -> Result<Vec<OsString>, GitError> {
    if index::is_lost(top) {
        return Err(GitError::Refused("the repository has no index".to_string()));
    }
    match index::paths(top) {
        Some(paths) => Ok(paths),
        None if index::is_cut(top) => Err(GitError::Refused("the index is damaged".to_string())),
        None => listed(top, false, cancel),
    }
}

/// The paths that git lists, by the index that a variable names, or by the repository's own.
fn listed(top: &Path, is_named: bool, cancel: &AtomicBool) -> Result<Vec<OsString>, GitError> {
    let repository = Repository::at(top, cancel).map_err(GitError::Refused)?;
    let mut git = command(top, top, &repository.overrides).map_err(GitError::Refused)?;
    if !is_named {
        git.env_remove(index::VARIABLE).env_remove("GIT_COMMON_DIR");
    }
    let list = run(git.args(["ls-files", "-z"]), b"", cancel);
    let list = list.map_err(|reason| match cancel.load(Ordering::Relaxed) {
        true => GitError::Interrupted,
        false => GitError::Refused(reason),
    })?;
    let paths = list.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    let paths: Vec<OsString> = paths.map(|path| OsStr::from_bytes(path).to_os_string()).collect();
    let known: BTreeSet<&[u8]> = paths.iter().map(|path| path.as_bytes()).collect();
    let has_some = |folder: &OsString| {
        let folder = folder.as_bytes();
        known.range(folder..).next().is_some_and(|path| path.starts_with(folder))
    };
    // Where the objects of such a folder are missing, git lists none of its files, and ends as if that were all.
    match index::folders(top, is_named).iter().all(has_some) {
        true => Ok(paths),
        false => Err(GitError::Refused("the index has folders whose objects are missing".to_string())),
    }
}

fn wanted(top: &Path, paths: &[OsString], is_wanted: impl Fn(&str) -> bool) -> BTreeSet<PathBuf> {
    paths.iter().filter(|path| is_wanted(&path.to_string_lossy())).map(|path| top.join(path)).collect()
}

/// The nearest folder around a folder that contains `.git`.
fn top_of(folder: &Path) -> Result<&Path, GitError> {
    repository_of(folder).ok_or_else(|| GitError::NoRepository(folder.to_path_buf()))
}

/// `git status` for a folder of a working tree whose `.git` is in `top`.
///
/// # Errors
/// Git cannot be started, does not end, or fails; the message is for the user.
pub fn status(top: &Path, folder: &Path, cancel: &AtomicBool) -> Result<String, String> {
    let repository = Repository::at(top, cancel)?;
    let mut git = command(top, folder, &repository.overrides)?;
    git.args(["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames"]);
    // Only the workspace's part of a large repository is edited.
    git.args(["--", "."]);
    Ok(String::from_utf8_lossy(&run(&mut git, b"", cancel)?).into_owned())
}

/// The files that git compares with its index, relative to the top: it is told to take some as unchanged, and ignores others.
///
/// # Errors
/// As for [`status`].
pub fn watched(top: &Path, cancel: &AtomicBool) -> Result<BTreeSet<String>, String> {
    let list = Repository::at(top, cancel)?.text(&["ls-files", "-v", "-z"]).map_err(|error| error.to_string())?;
    // A letter, a space, the path; the letter is another one, or a small one, for a file that is not looked at.
    Ok(list.split('\0').filter_map(|entry| entry.strip_prefix("H ")).map(str::to_string).collect())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            let place = Self(tempfile::tempdir().unwrap());
            place.git(&["init", "-q"]);
            place
        }

        fn git(&self, arguments: &[&str]) {
            let mut git = Command::new("git");
            git.arg("-C").arg(self.0.path()).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
            assert!(git.output().unwrap().status.success(), "{arguments:?}");
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.0.path().join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        }
    }

    #[test]
    fn sources_whose_names_are_no_text_are_named() {
        let list = |mode: &str, name: &[u8]| {
            [format!("{mode} 0123 0\t").as_bytes(), name, b"\x00100644 4567 0\ta.cu\0"].concat()
        };
        for (mode, name) in
            [("100644", &b"k\xff.cu"[..]), ("100644", b"d\xff/k.rs"), ("120000", b"l\xff"), ("160000", b"s\xff")]
        {
            assert_eq!(source_without_text(&list(mode, name)).unwrap(), String::from_utf8_lossy(name));
        }
        for name in [&b"k\xff.md"[..], b"k.cu"] {
            assert_eq!(source_without_text(&list("100644", name)), None);
        }
    }

    #[test]
    fn revisions_and_the_index_are_read() {
        let place = Place::new();
        let cancel = AtomicBool::new(false);
        let text = "int a;\n".repeat(20);
        place.write("k/a.cu", &text);
        place.git(&["add", "."]);
        place.git(&["commit", "-q", "-m", "one"]);
        place.git(&["mv", "k/a.cu", "k/b.cu"]);
        place.write("k/b.cu", &format!("{text}// more\n"));
        place.git(&["add", "."]);
        place.write("k/b.cu", "not staged");
        let repository = Repository::around(&place.0.path().join("k"), &cancel).unwrap();
        let commit = repository.commit("HEAD").unwrap();
        let names = |entries: Vec<TreeEntry>| entries.into_iter().map(|entry| entry.path).collect::<Vec<_>>();
        assert_eq!(names(repository.files_of(&commit).unwrap()), ["k/a.cu"]);
        let staged = repository.staged_files().unwrap();
        let changes = repository.changes_since(&commit, true).unwrap();
        assert_eq!(changes.renames, BTreeMap::from([("k/b.cu".to_string(), "k/a.cu".to_string())]));
        let set = |name: &str| BTreeSet::from([name.to_string()]);
        assert_eq!((changes.changed, changes.deleted), (set("k/b.cu"), set("k/a.cu")));
        place.write("new.cu", "");
        assert!(repository.changes_since(&commit, false).unwrap().changed.contains("new.cu"));
        let mut found = String::new();
        let mut take = |_: usize, bytes: &[u8]| {
            found.push_str(std::str::from_utf8(bytes).unwrap());
            Ok(())
        };
        repository.contents(&[&staged[0].id], |_, size| size < 1 << 20, &mut take).unwrap();
        repository.contents(&[&staged[0].id], |_, size| size < 10, &mut take).unwrap();
        assert_eq!(found, format!("{text}// more\n"));
        assert_eq!(names(staged), ["k/b.cu"]);
        for revision in ["none", "--help", "", "HEAD:k"] {
            assert_eq!(repository.commit(revision), Err(GitError::UnknownRevision(revision.to_string())));
        }
        // Where a branch began, though the other one went on.
        place.git(&["branch", "other"]);
        place.git(&["commit", "-q", "-m", "here"]);
        assert_eq!(repository.commit("other...").unwrap(), commit);
        place.git(&["checkout", "-q", "--orphan", "alone"]);
        place.git(&["commit", "-q", "--allow-empty", "-m", "alone"]);
        assert_eq!(repository.commit("other..."), Err(GitError::NoAncestor("other...".to_string())));
        assert!(repository.commit("...").is_err() && repository.commit("none...").is_err());
        let outside = tempfile::tempdir().unwrap();
        assert!(matches!(Repository::around(outside.path(), &cancel), Err(GitError::NoRepository(_))));
    }

    /// A header in a submodule is part of what the older revision was compiled from.
    #[test]
    fn a_submodule_has_the_files_of_its_commit() {
        let (place, library) = (Place::new(), Place::new());
        let cancel = AtomicBool::new(false);
        library.write("inc/size.cuh", "16");
        library.git(&["add", "."]);
        library.git(&["commit", "-q", "-m", "one"]);
        let source = library.0.path().display().to_string();
        place.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &source, "dep/lib"]);
        place.git(&["commit", "-q", "-m", "one"]);
        let repository = Repository::around(place.0.path(), &cancel).unwrap();
        let old = repository.commit("HEAD").unwrap();
        assert_eq!(repository.changes_since(&old, true).unwrap(), Changes::default());
        // The submodule goes on; only then is it staged.
        let in_submodule = |arguments: &[&str]| {
            let folder = ["-C", "dep/lib"];
            place.git(&folder.into_iter().chain(arguments.iter().copied()).collect::<Vec<_>>());
        };
        place.write("dep/lib/inc/size.cuh", "32");
        let changed = BTreeSet::from(["dep/lib/inc/size.cuh".to_string()]);
        assert_eq!(repository.changes_since(&old, false).unwrap().changed, changed);
        in_submodule(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-a", "-m", "two"]);
        assert_eq!(repository.changes_since(&old, true).unwrap().changed, BTreeSet::new());
        place.git(&["add", "dep/lib"]);
        let staged = repository.changes_since(&old, true).unwrap().changed;
        assert!(staged.is_superset(&changed), "{staged:?}");

        let cache = tempfile::tempdir().unwrap();
        let read = |files: &[TreeEntry], name: &str| {
            let tree = Checkout::new(&repository, files, name, cache.path()).unwrap().tree.clone();
            let marked = tree.join("dep/lib/.git").is_file();
            (fs_err::read_to_string(tree.join("dep/lib/inc/size.cuh")).unwrap(), marked)
        };
        let (then, now) = (repository.files_of(&old).unwrap(), repository.staged_files().unwrap());
        assert_eq!(read(&then, "revision"), ("16".to_string(), true));
        assert_eq!(read(&now, "revision"), ("32".to_string(), true));
        assert_eq!(read(&now, "revision"), ("32".to_string(), true));
        // Without a checkout of it, the revision has a link to nothing, and no file of another repository.
        fs_err::remove_dir_all(place.0.path().join("dep/lib")).unwrap();
        let files = repository.files_of(&old).unwrap();
        assert!(files.iter().any(|file| file.mode == SUBMODULE) && files.iter().all(|file| file.submodule.is_empty()));
        let tree = Checkout::new(&repository, &files, "revision", cache.path()).unwrap().tree.clone();
        assert!(!tree.join("dep/lib/inc/size.cuh").exists());
    }

    #[test]
    fn a_shallow_clone_lacks_revisions() {
        let place = Place::new();
        let cancel = AtomicBool::new(false);
        place.write("a", "");
        place.git(&["add", "."]);
        place.git(&["commit", "-q", "-m", "one"]);
        place.git(&["commit", "-q", "--allow-empty", "-m", "two"]);
        let clone = tempfile::tempdir().unwrap();
        let source = format!("file://{}", place.0.path().display());
        let made =
            Command::new("git").args(["clone", "-q", "--depth", "1", &source]).arg(clone.path().join("c")).output();
        assert!(made.unwrap().status.success());
        let repository = Repository::around(&clone.path().join("c"), &cancel).unwrap();
        let error = repository.commit("HEAD~1").unwrap_err();
        assert!(matches!(error, GitError::NotFetched(_)) && error.hints()[0].contains("--unshallow"), "{error}");
    }
}
