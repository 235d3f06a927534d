//! Runs git with every setting off that could start a program, within limits.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lmem_base::process::{self, End};

/// Enough for a repository on a slow disk.
const LIMIT: Duration = Duration::from_secs(120);

/// Limit on what git gives at once: the files of a million-file tree, or a chunk of contents. Some kilobytes of objects can
/// make a list endless, as each folder of a tree may hold one and the same folder ten times.
const MAX_OUTPUT_BYTES: usize = 128 << 20;

/// Limit on the address space of git: it reads some files whole, as `.gitignore`, whatever their size. Of packs, it maps no
/// more than the settings below say.
const MAX_MEMORY_BYTES: u64 = 4 << 30;

/// Overrides that keep git within its memory, whatever the size of a repository.
const WITHIN: [(&str, &str); 2] = [("core.packedGitLimit", "1g"), ("core.packedGitWindowSize", "64m")];

/// Overrides of settings that would make `git status` start a program, or read another repository; have commits be what
/// `objects/info/commit-graph` says; or take two names for one.
const OFF: [(&str, &str); 11] = [
    ("core.fsmonitor", "false"),
    ("core.useBuiltinFSMonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", ""),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
    ("diff.ignoreSubmodules", "all"),
    ("core.commitGraph", "false"),
    ("core.ignoreCase", "false"),
    ("core.precomposeUnicode", "false"),
];

/// The settings to override: the fixed list, and all filters that any configuration defines.
pub(super) fn overrides(top: &Path, folder: &Path, cancel: &AtomicBool) -> Result<Vec<(String, String)>, String> {
    let fixed: Vec<_> = OFF.iter().chain(&WITHIN).map(|(name, value)| (name.to_string(), value.to_string())).collect();
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

/// Git for a folder of the working tree whose `.git` is in `top`.
pub(super) fn command(top: &Path, folder: &Path, overrides: &[(String, String)]) -> Result<Command, String> {
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
    process::limit_memory(&mut git, MAX_MEMORY_BYTES);
    git.env("GIT_NO_REPLACE_OBJECTS", "1")
        // Other parents of a commit, in `.git/info/grafts`.
        .env("GIT_GRAFT_FILE", "/dev/null")
        // Missing objects are not fetched: no helper runs, and no network is used.
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_ALLOW_PROTOCOL", "none")
        .env("GIT_TERMINAL_PROMPT", "0");
    Ok(git)
}

/// What it writes.
pub(super) fn run(git: &mut Command, input: &[u8], cancel: &AtomicBool) -> Result<Vec<u8>, String> {
    let output = process::run_within(git, input, LIMIT, MAX_OUTPUT_BYTES, cancel);
    let output = output.map_err(|error| format!("`git`: {error}"))?;
    if output.stdout.len() >= MAX_OUTPUT_BYTES {
        return Err(format!("it gives more than {} MiB", MAX_OUTPUT_BYTES >> 20));
    }
    match output.end {
        End::Exit(0) => Ok(output.stdout),
        End::TimedOut => Err(format!("it was given up after {} s", LIMIT.as_secs())),
        _ => Err(known_words(&String::from_utf8_lossy(&output.stderr))),
    }
}

/// What git says where it fails, and what is said in its place. Its own words may be lines of any file that it took for one
/// of its own, so they are not repeated.
const KNOWN_WORDS: [(&str, &str); 11] = [
    (
        "detected dubious ownership",
        "the repository is somebody else's: `git config --global --add safe.directory FOLDER` trusts it",
    ),
    ("out of memory", "it takes more memory than it may, 4 GiB at most"),
    ("memory exhausted", "it takes more memory than it may, 4 GiB at most"),
    ("cannot allocate memory", "it takes more memory than it may, 4 GiB at most"),
    ("malloc failed", "it takes more memory than it may, 4 GiB at most"),
    ("not a git repository", "`.git` is no repository"),
    ("index file", "the index cannot be read"),
    ("bad config", "the settings of the repository cannot be read"),
    ("bad object", "an object is missing or broken"),
    ("unable to read", "an object is missing or broken"),
    ("permission denied", "a file of the repository may not be read"),
];

fn known_words(said: &str) -> String {
    let said = said.to_ascii_lowercase();
    let known = KNOWN_WORDS.iter().find(|(words, _)| said.contains(words));
    known.map_or("it fails here; `git status` and `git fsck` say why", |(_, ours)| ours).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_files_are_not_repeated() {
        let words =
            ["bad shallow line", "bad graft data", "unexpected line in packed-refs", "bad config line 1 in file"];
        for said in words.map(|words| known_words(&format!("fatal: {words}: hunter2\n"))) {
            assert!(!said.contains("hunter2"), "{said}");
        }
        assert!(known_words("fatal: detected dubious ownership in repository at '/x'").contains("safe.directory"));
    }
}
