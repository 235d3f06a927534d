//! Asking git for changes without running what a repository's settings name.
//!
//! The settings, attributes and submodules of a repository may come with the tree that is checked, and `git status` starts
//! what they name: `core.fsmonitor`, hooks, `filter.*.clean`, helpers of remotes for objects that are not there. A folder that
//! merely looks like a bare repository is one for git. So the repository is named, not looked for, and whatever can start a
//! program is off. That goes for the user's own filters too: git-lfs takes programs from the repository's settings.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lmem_base::process::{self, End};

/// For a repository on a slow disk.
const LIMIT: Duration = Duration::from_secs(120);

/// Settings that would have `git status` start a program, or look into another repository.
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

/// What git reads before anything else. One that is a pipe or a device would have it wait until it is given up.
const READ: [&str; 6] = ["config", "config.worktree", "HEAD", "index", "info/exclude", "info/attributes"];

/// The part of `git status` below a folder of a working tree, whose `.git` lies in `top`.
///
/// # Errors
/// Git cannot be started, does not end, or refuses; the words are for the user.
pub(super) fn status(top: &Path, folder: &Path, cancel: &AtomicBool) -> Result<String, String> {
    if let Some(name) = READ.iter().find(|name| is_special(&top.join(".git").join(name))) {
        return Err(format!("`.git/{name}` is not a file"));
    }
    let overrides = overrides(top, folder, cancel)?;
    let mut git = command(top, folder, &overrides)?;
    git.args(["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames"]);
    // Only the workspace's own part of a large repository is edited.
    git.args(["--", "."]);
    run(&mut git, cancel)
}

/// What must be off: the list, and all filters that any settings define.
fn overrides(top: &Path, folder: &Path, cancel: &AtomicBool) -> Result<Vec<(String, String)>, String> {
    let fixed: Vec<_> = OFF.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let mut git = command(top, folder, &fixed)?;
    git.args(["config", "--list", "--name-only", "--includes", "-z"]);
    let names = run(&mut git, cancel)?;
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
    // In the environment, since the name of a filter may hold `=`, which ends a name on the command line.
    let count = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse().ok()).unwrap_or(0usize);
    for (index, (name, value)) in overrides.iter().enumerate() {
        git.env(format!("GIT_CONFIG_KEY_{}", count + index), name);
        git.env(format!("GIT_CONFIG_VALUE_{}", count + index), value);
    }
    git.env("GIT_CONFIG_COUNT", (count + overrides.len()).to_string());
    // Objects that are not there are not fetched, by no program and from nowhere.
    git.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none").env("GIT_TERMINAL_PROMPT", "0");
    Ok(git)
}

fn run(git: &mut Command, cancel: &AtomicBool) -> Result<String, String> {
    let output = process::run(git, b"", LIMIT, cancel).map_err(|error| format!("`git`: {error}"))?;
    match output.end {
        End::Exit(0) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        End::TimedOut => Err(format!("it was given up after {} s", LIMIT.as_secs())),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it failed").to_string())
        }
    }
}
