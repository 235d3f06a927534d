//! Queries git for changes, revisions and contents, without running programs that a repository's settings name.
//!
//! The settings, attributes and submodules of a repository may be part of the tree that is checked, and `git status`
//! runs programs that they name: `core.fsmonitor`, hooks, `filter.*.clean`, and remote helpers for missing objects. Git
//! also accepts a folder that merely looks like a bare repository. So the repository is named explicitly, and every
//! setting that can start a program is overridden. This includes the user's own filters: git-lfs takes programs from
//! the repository's settings.

mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lmem_base::process::{self, End};

pub use tree::{Checkout, folder};

/// Enough for a repository on a slow disk.
const LIMIT: Duration = Duration::from_secs(120);

/// Overrides of settings that would make `git status` start a program, or read another repository.
const OFF: [(&str, &str); 8] = [
    ("core.fsmonitor", "false"),
    ("core.useBuiltinFSMonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", ""),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
    ("diff.ignoreSubmodules", "all"),
];

/// Files that git reads first. If one is a pipe or a device, git would wait until the time limit.
const READ: [&str; 14] = [
    "config",
    "config.worktree",
    "HEAD",
    "index",
    "commondir",
    "gitdir",
    "packed-refs",
    "shallow",
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
    "objects/info/commit-graph",
];

/// Why git gives no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    #[error("`{}` lies in no git repository", .0.display())]
    NoRepository(PathBuf),
    #[error("there is no revision `{0}`")]
    UnknownRevision(String),
    #[error("there is no revision `{0}` in this shallow clone")]
    NotFetched(String),
    #[error("{count} not merged yet: `{first}`", count = plural(*.count as u64, "file is", "files are"))]
    Unmerged { first: String, count: usize },
    #[error("git cannot be asked: {0}")]
    Refused(String),
    #[error("the tree of `{what}` cannot be put into the cache: {message}")]
    Tree { what: String, message: String },
    #[error("interrupted")]
    Interrupted,
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

impl GitError {
    /// What to do next.
    pub fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::NoRepository(_) => "`--baseline FILE` needs no repository",
            Self::NotFetched(_) => {
                "`git fetch --unshallow` brings it; in CI, let the checkout fetch it (`fetch-depth: 0`)"
            }
            Self::UnknownRevision(_) => "`git fetch` brings branches of others, as `origin/main`",
            Self::Unmerged { .. } => "`git add` them when they are",
            _ => return Vec::new(),
        };
        vec![hint.to_string()]
    }
}

/// A file in git's view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Relative to the top of the repository.
    pub path: String,
    /// `100644`, `100755`, `120000` for a symbolic link, `160000` for a submodule.
    pub mode: String,
    pub id: String,
}

/// Changes since a commit; all paths are relative to the top of the repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Modified and new files.
    pub changed: BTreeSet<String>,
    pub deleted: BTreeSet<String>,
    /// New name → old name.
    pub renames: BTreeMap<String, String>,
}

impl Changes {
    /// Parses `git diff --name-status -z`: letters, a path, and for a renamed file a second path.
    fn of(text: &str) -> Self {
        let mut changes = Self::default();
        let mut words = text.split('\0');
        while let (Some(status), Some(path)) = (words.next(), words.next()) {
            match status.chars().next() {
                Some('D') => _ = changes.deleted.insert(path.to_string()),
                Some(kind @ ('R' | 'C')) => {
                    let Some(new) = words.next() else { break };
                    changes.changed.insert(new.to_string());
                    if kind == 'R' {
                        changes.deleted.insert(path.to_string());
                        changes.renames.insert(new.to_string(), path.to_string());
                    }
                }
                _ => _ = changes.changed.insert(path.to_string()),
            }
        }
        changes
    }
}

/// The repository around a folder.
pub struct Repository<'a> {
    /// The folder that contains `.git`.
    pub top: PathBuf,
    overrides: Vec<(String, String)>,
    cancel: &'a AtomicBool,
}

impl<'a> Repository<'a> {
    /// Finds the nearest repository around a folder.
    ///
    /// # Errors
    /// There is none, or git rejects it.
    pub fn around(folder: &Path, cancel: &'a AtomicBool) -> Result<Self, GitError> {
        let top = folder.ancestors().find(|folder| folder.join(".git").exists());
        let top = top.ok_or_else(|| GitError::NoRepository(folder.to_path_buf()))?;
        Self::at(top, cancel).map_err(GitError::Refused)
    }

    fn at(top: &Path, cancel: &'a AtomicBool) -> Result<Self, String> {
        if let Some(name) = READ.iter().find(|name| is_special(&top.join(".git").join(name))) {
            return Err(format!("`.git/{name}` is not a file"));
        }
        Ok(Self { top: top.to_path_buf(), overrides: overrides(top, top, cancel)?, cancel })
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

    /// The commit that a revision names.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn commit(&self, revision: &str) -> Result<String, GitError> {
        let commit = format!("{revision}^{{commit}}");
        match self.text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]) {
            Ok(id) if is_id(id.trim()) => Ok(id.trim().to_string()),
            Err(GitError::Interrupted) => Err(GitError::Interrupted),
            _ => match self.text(&["rev-parse", "--is-shallow-repository"])?.trim() {
                "true" => Err(GitError::NotFetched(revision.to_string())),
                _ => Err(GitError::UnknownRevision(revision.to_string())),
            },
        }
    }

    /// The files of a commit. Names that are not valid UTF-8 are left out: they are not passed to compilers.
    ///
    /// # Errors
    /// Git fails.
    pub fn files_of(&self, commit: &str) -> Result<Vec<TreeEntry>, GitError> {
        let list = self.ask(&["ls-tree", "-r", "-z", "--full-tree", commit], b"")?;
        // Mode, kind, name.
        Ok(entries(&list).filter_map(|(head, path)| entry(&head, 0, 2, path)).collect())
    }

    /// The files of the index.
    ///
    /// # Errors
    /// Git fails, or a merge is in progress.
    pub fn staged_files(&self) -> Result<Vec<TreeEntry>, GitError> {
        let list = self.ask(&["ls-files", "--stage", "-z"], b"")?;
        let all: Vec<(Vec<&str>, &str)> = entries(&list).collect();
        let unmerged: BTreeSet<&str> =
            all.iter().filter(|(head, _)| head.get(2) != Some(&"0")).map(|(_, path)| *path).collect();
        if let Some(first) = unmerged.first() {
            return Err(GitError::Unmerged { first: (*first).to_string(), count: unmerged.len() });
        }
        // Mode, name, stage.
        Ok(all.into_iter().filter_map(|(head, path)| entry(&head, 0, 1, path)).collect())
    }

    /// Differences of the working tree, or the index, from a commit.
    ///
    /// # Errors
    /// Git fails.
    pub fn changes_since(&self, commit: &str, is_staged: bool) -> Result<Changes, GitError> {
        let mut arguments = vec!["diff", "--name-status", "-z", "--find-renames"];
        arguments.extend(["--no-ext-diff", "--no-textconv", "--ignore-submodules=all"]);
        arguments.extend(is_staged.then_some("--cached"));
        arguments.extend([commit, "--"]);
        let mut changes = Changes::of(&self.text(&arguments)?);
        if !is_staged {
            let untracked = self.text(&["ls-files", "--others", "--exclude-standard", "-z"])?;
            changes.changed.extend(untracked.split('\0').filter(|path| !path.is_empty()).map(str::to_string));
        }
        Ok(changes)
    }

    /// The contents of objects, in order; `None` for an object above the size limit.
    ///
    /// # Errors
    /// Git fails, or an object is missing.
    fn contents(
        &self,
        ids: &[&str],
        limit: u64,
        mut take: impl FnMut(usize, &[u8]) -> Result<(), GitError>,
    ) -> Result<(), GitError> {
        let sizes = self.sizes(ids)?;
        let mut chunk: Vec<usize> = Vec::new();
        let mut bytes = 0;
        for (index, size) in sizes.iter().enumerate() {
            if *size > limit {
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

fn entry(head: &[&str], mode: usize, id: usize, path: &str) -> Option<TreeEntry> {
    let id = head.get(id).filter(|id| is_id(id))?;
    Some(TreeEntry { path: path.to_string(), mode: head.get(mode)?.to_string(), id: id.to_string() })
}

/// Parses `NAME blob SIZE`, a line break, the bytes, a line break.
fn next_object(output: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = output.iter().position(|byte| *byte == b'\n')?;
    let size: usize = std::str::from_utf8(&output[..line]).ok()?.rsplit(' ').next()?.parse().ok()?;
    let start = line + 1;
    Some((output.get(start..start.checked_add(size)?)?, output.get(start + size + 1..)?))
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

/// The settings to override: the fixed list, and all filters that any configuration defines.
fn overrides(top: &Path, folder: &Path, cancel: &AtomicBool) -> Result<Vec<(String, String)>, String> {
    let fixed: Vec<_> = OFF.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let mut git = command(top, folder, &fixed)?;
    git.args(["config", "--list", "--name-only", "--includes", "-z"]);
    let names = String::from_utf8_lossy(&run(&mut git, b"", cancel)?).into_owned();
    let filters = names.split('\0').filter(|name| name.starts_with("filter."));
    let off = filters.map(|name| {
        let value = if name.ends_with(".required") { "false" } else { "" };
        (name.to_string(), value.to_string())
    });
    Ok(fixed.into_iter().chain(off).collect())
}

fn is_special(path: &Path) -> bool {
    fs_err::metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

fn command(top: &Path, folder: &Path, overrides: &[(String, String)]) -> Result<Command, String> {
    let program = process::on_path("git").ok_or("no `git` is on `PATH`")?;
    let mut git = Command::new(program);
    let option = |name: &str, value: &Path| {
        let mut option = OsString::from(name);
        option.push(value);
        option
    };
    git.arg("--no-pager").arg("--no-optional-locks");
    git.arg(option("--git-dir=", &top.join(".git"))).arg(option("--work-tree=", top)).current_dir(folder);
    // Passed in the environment, since a filter's name may contain `=`, which would end the name on the command line.
    let count = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse().ok()).unwrap_or(0usize);
    for (index, (name, value)) in overrides.iter().enumerate() {
        git.env(format!("GIT_CONFIG_KEY_{}", count + index), name);
        git.env(format!("GIT_CONFIG_VALUE_{}", count + index), value);
    }
    git.env("GIT_CONFIG_COUNT", (count + overrides.len()).to_string());
    // Missing objects are not fetched: no helper runs, and no network is used.
    git.env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_ALLOW_PROTOCOL", "none")
        .env("GIT_TERMINAL_PROMPT", "0");
    Ok(git)
}

fn run(git: &mut Command, input: &[u8], cancel: &AtomicBool) -> Result<Vec<u8>, String> {
    let output = process::run(git, input, LIMIT, cancel).map_err(|error| format!("`git`: {error}"))?;
    match output.end {
        End::Exit(0) => Ok(output.stdout),
        End::TimedOut => Err(format!("it was given up after {} s", LIMIT.as_secs())),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it failed").to_string())
        }
    }
}

#[cfg(test)]
mod tests {
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
        repository.contents(&[&staged[0].id], 1 << 20, &mut take).unwrap();
        repository.contents(&[&staged[0].id], 10, &mut take).unwrap();
        assert_eq!(found, format!("{text}// more\n"));
        assert_eq!(names(staged), ["k/b.cu"]);
        for revision in ["none", "--help", "", "HEAD:k"] {
            assert_eq!(repository.commit(revision), Err(GitError::UnknownRevision(revision.to_string())));
        }
        let outside = tempfile::tempdir().unwrap();
        assert!(matches!(Repository::around(outside.path(), &cancel), Err(GitError::NoRepository(_))));
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
