//! `cargo lmem init`: writes files that add checks to CI, hooks and editors.
//!
//! An existing file is never lost: it is only replaced with `--force`, or after a confirmation on the terminal.

use std::fs::Metadata;
use std::io::{self, BufRead, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lmem_base::held::HeldFolder;
use lmem_base::{files, places, process};
use lmem_project::config::FILE_NAME;

use crate::cli::InitArgs;
use crate::version::VERSION;

/// Time limit for a `git` command, which is quick.
const LIMIT: Duration = Duration::from_secs(20);

/// Why not all files were written.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error("the current folder cannot be used")]
    Folder(#[source] io::Error),
    #[error("a hook of git cannot be written: {0}")]
    Repository(String),
    #[error("`{}` lies in no git repository, and a hook of git belongs into one", .0.display())]
    NoRepository(PathBuf),
    #[error("`{}` leads out of `{}`, and nothing is written there", .path.display(), .root.display())]
    Outside { path: PathBuf, root: PathBuf },
    #[error("`{}` cannot be looked at", .path.display())]
    Unknown {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("`{}` cannot be written", .path.display())]
    Write {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    pub path: PathBuf,
    pub text: String,
    pub is_program: bool,
    /// Folders that the file may be in, after resolving links.
    pub places: Vec<PathBuf>,
    /// The remaining steps after the file is written.
    pub next: &'static str,
    /// What to do if the file exists and must keep its content.
    pub merge: &'static str,
}

/// The outcome for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Written,
    /// It exists with the same content.
    Same,
    /// It exists with other content, and stays.
    Kept,
}

/// What to do with a file for CI. Its first run has nothing to compare with, and fails for all that is there.
const FIRST_RUN: &str = "commit it; with findings today, `cargo lmem --write-baseline` first";

/// The requested files, in the order of the help.
///
/// # Errors
/// A hook is requested, but there is no repository; or it cannot be seen what kind of project this is.
pub fn plan(arguments: &InitArgs, folder: &Path) -> Result<Vec<Planned>, InitError> {
    let root = root(folder)?;
    let project = Project::around(folder, &root)?;
    let filled = |text: &str| fill(text, &project);
    let mut planned = Vec::new();
    let mut add = |is_asked: bool, path: &str, text: &str, next, merge| {
        if is_asked {
            let (path, places) = (root.join(path), vec![root.clone()]);
            planned.push(Planned { path, text: filled(text), is_program: false, places, next, merge });
        }
    };
    add(arguments.github, ".github/workflows/lmem.yml", include_str!("files/github.yml"), FIRST_RUN, "");
    add(arguments.gitlab, ".gitlab/lmem.yml", include_str!("files/gitlab.yml"), "", "");
    let merge = "add to its `include`: `- local: .gitlab/lmem.yml`";
    add(arguments.gitlab, ".gitlab-ci.yml", include_str!("files/gitlab-ci.yml"), FIRST_RUN, merge);
    add(
        arguments.pre_commit,
        ".pre-commit-config.yaml",
        include_str!("files/pre-commit.yaml"),
        "run `pre-commit install`",
        "add the entry below `repos` to it",
    );
    let merge = "set `check.overrideCommand` in it";
    add(arguments.rust_analyzer, "rust-analyzer.toml", include_str!("files/rust-analyzer.toml"), "", merge);
    let merge = "add the entries below `tasks` to it";
    add(arguments.vscode, ".vscode/tasks.json", include_str!("files/tasks.json"), "", merge);
    if arguments.git_hook {
        let no_repository = || InitError::NoRepository(root.clone());
        crate::git::check(&root, &AtomicBool::new(false)).map_err(InitError::Repository)?;
        let path = git_path(&root, &["--git-path", "hooks/pre-commit"]).ok_or_else(no_repository)?;
        let common = git_path(&root, &["--git-common-dir"]).ok_or_else(no_repository)?;
        let text = filled(include_str!("files/pre-commit.sh"));
        let merge = "call `cargo lmem` in it";
        // `core.hooksPath` may name any folder, even one shared by all repositories, which must not get a hook for one
        // of them.
        planned.push(Planned { path, text, is_program: true, places: vec![root.clone(), common], next: "", merge });
    }
    Ok(planned)
}

/// The repository's root, where CI and hooks look; outside a repository, the folder itself.
fn root(folder: &Path) -> Result<PathBuf, InitError> {
    for place in folder.ancestors() {
        if metadata(&place.join(".git"))?.is_some() {
            return Ok(place.to_path_buf());
        }
    }
    Ok(folder.to_path_buf())
}

/// What a path is, or that there is nothing. A path that cannot be looked at is neither: files for another kind of
/// project would be written.
fn metadata(path: &Path) -> Result<Option<Metadata>, InitError> {
    match fs_err::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(InitError::Unknown { path: path.to_path_buf(), error }),
    }
}

fn is_file(path: &Path) -> Result<bool, InitError> {
    Ok(metadata(path)?.is_some_and(|metadata| metadata.is_file()))
}

/// Whether a folder has settings or a package.
fn has_manifest(folder: &Path) -> Result<bool, InitError> {
    Ok(is_file(&folder.join(FILE_NAME))? || is_file(&folder.join("Cargo.toml"))?)
}

/// The project that the files are for, seen from the root of the repository.
struct Project {
    /// The arguments that select it.
    scope: Vec<String>,
    is_cargo: bool,
    has_cmake: bool,
}

impl Project {
    /// The nearest folder with settings or packages, from `folder` up to the root; otherwise the root itself.
    fn around(folder: &Path, root: &Path) -> Result<Self, InitError> {
        // A package of a workspace at the root is checked with the others.
        let mut place = root;
        if !has_manifest(root)? {
            for inside in folder.ancestors().take_while(|folder| folder.starts_with(root)) {
                if has_manifest(inside)? {
                    place = inside;
                    break;
                }
            }
        }
        let is_cargo = is_file(&place.join("Cargo.toml"))? && !is_file(&place.join(FILE_NAME))?;
        let below = place.strip_prefix(root).ok().and_then(Path::to_str).filter(|below| is_plain(below));
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        let scope = match (below.filter(|below| !below.is_empty()), is_cargo) {
            (None, true) => words(&["--workspace"]),
            (None, false) => Vec::new(),
            (Some(below), true) => words(&["--workspace", "--manifest-path", &format!("{below}/Cargo.toml")]),
            (Some(below), false) => words(&[below]),
        };
        Ok(Self { scope, is_cargo, has_cmake: !is_cargo && is_file(&root.join("CMakeLists.txt"))? })
    }
}

/// Whether a path is one word in a shell and in YAML.
fn is_plain(path: &str) -> bool {
    path.chars().all(|letter| letter.is_ascii_alphanumeric() || "/_.+".contains(letter) || letter == '-')
        && !path.starts_with('-')
}

/// Fills in the template. Parts between `{cmake}` and `{end}` are for projects that CMake builds.
fn fill(text: &str, project: &Project) -> String {
    let image = if project.is_cargo { "rust:bookworm" } else { "gcc:bookworm" };
    let scope: String = project.scope.iter().map(|word| format!(" {word}")).collect();
    let scope_list: String = project.scope.iter().map(|word| format!(", \"{word}\"")).collect();
    let mut lines = Vec::new();
    let mut is_in_cmake = false;
    for line in text.split_inclusive('\n') {
        match line.trim() {
            "{cmake}" => is_in_cmake = true,
            "{end}" => is_in_cmake = false,
            _ if is_in_cmake && !project.has_cmake => {}
            _ => lines.push(line),
        }
    }
    lines
        .concat()
        .replace("{version}", VERSION)
        .replace("{scope}", &scope)
        .replace("{scope_list}", &scope_list)
        .replace("{image}", image)
}

/// A path according to git: worktrees and `core.hooksPath` place hooks elsewhere.
fn git_path(root: &Path, question: &[&str]) -> Option<PathBuf> {
    let mut git = Command::new("git");
    git.current_dir(root).arg("rev-parse").args(question);
    let output = process::run(&mut git, &[], LIMIT, &AtomicBool::new(false)).ok().filter(process::Output::succeeded)?;
    let path = String::from_utf8(output.stdout).ok()?;
    Some(root.join(path.trim_end_matches('\n')))
}

/// Writes a file, or leaves it unchanged. `may_replace` is called if the file exists with other content.
///
/// # Errors
/// The file cannot be written, or a link in its path leads out of the repository, or into git's folder.
pub fn write(planned: &Planned, may_replace: &mut dyn FnMut(&Path) -> bool) -> Result<Fate, InitError> {
    let path = &planned.path;
    let failed = |error| InitError::Write { path: path.clone(), error };
    // An existing path that is not a text file counts as other content.
    let is_there = path.symlink_metadata().is_ok();
    if places::read(path, planned.text.len() as u64).is_ok_and(|there| there == planned.text.as_bytes()) {
        return Ok(Fate::Same);
    }
    if is_there && !may_replace(path) {
        return Ok(Fate::Kept);
    }
    let parent = path.parent().unwrap_or(path);
    // Folders are only created if the nearest existing one belongs to the repository.
    let nearest = parent.ancestors().find(|folder| folder.exists()).unwrap_or(parent);
    let real = real_folder(nearest, planned)?;
    let below = parent.strip_prefix(nearest).unwrap_or(Path::new(""));
    let name = path.file_name().unwrap_or_default();
    let written = HeldFolder::at(&real).and_then(|folder| folder.within(below)).and_then(|folder| {
        files::write_anew(&folder, name, planned.text.as_bytes())?;
        if planned.is_program {
            use std::os::unix::fs::PermissionsExt;
            fs_err::set_permissions(folder.way().join(name), PermissionsExt::from_mode(0o755))?;
        }
        Ok(())
    });
    written.map_err(failed)?;
    Ok(Fate::Written)
}

/// The place of a folder, with no link on the way. Rejects symbolic links out of the repository, since the tree is not trusted.
fn real_folder(parent: &Path, planned: &Planned) -> Result<PathBuf, InitError> {
    let real = |path: &Path| {
        fs_err::canonicalize(path).map_err(|error| InitError::Write { path: planned.path.clone(), error })
    };
    let parent = real(parent)?;
    // Hooks are what git has in its folder; nothing else of ours is.
    let is_fit = |below: &Path| planned.is_program || places::is_beside_git(below);
    for place in &planned.places {
        if parent.strip_prefix(real(place)?).is_ok_and(is_fit) {
            return Ok(parent);
        }
    }
    let root = planned.places.first().cloned().unwrap_or_default();
    Err(InitError::Outside { path: planned.path.clone(), root })
}

/// Asks on the terminal; without a terminal, the answer is no.
pub fn ask(path: &Path) -> bool {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return false;
    }
    let question = format!("replace `{}`? [y/N] ", path.display());
    let mut stderr = io::stderr().lock();
    if stderr.write_all(question.as_bytes()).and_then(|()| stderr.flush()).is_err() {
        return false;
    }
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

#[cfg(test)]
mod tests;
