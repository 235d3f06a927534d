//! Whether the settings of a repository name files that are not the tree's: git would read lines of them as patterns, or as settings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use lmem_base::process;

use super::command::run;
use super::own::{common, leads_to};

/// Settings that name a file that git reads.
const FILES: [&str; 4] = ["core.excludesfile", "core.attributesfile", "diff.orderfile", "mailmap.file"];

/// Limit on files that include each other.
const MOST_FILES: usize = 32;

/// Checks the settings that lie in the repository of a folder, and the files that they include. Those of the user are the user's.
///
/// # Errors
/// One names a file outside of the repository and the tree, or what is none.
pub(super) fn check(top: &Path, cancel: &AtomicBool) -> Result<(), String> {
    let Some(repository) = leads_to(&top.join(".git")) else { return Ok(()) };
    let common = common(&repository);
    let real = std::fs::canonicalize(top).unwrap_or_else(|_| top.to_path_buf());
    let own = [repository.clone(), common.clone(), real];
    let mut open = vec![common.join("config"), common.join("config.worktree"), repository.join("config.worktree")];
    let mut seen = BTreeSet::new();
    while let Some(path) = open.pop() {
        if !path.is_file() || !seen.insert(path.clone()) {
            continue;
        }
        if seen.len() > MOST_FILES {
            return Err("its settings include too many files".to_string());
        }
        for (name, value) in listed(&path, cancel)? {
            let is_include = name == "include.path" || name.starts_with("includeif.") && name.ends_with(".path");
            if !is_include && !FILES.contains(&&*name) {
                continue;
            }
            // What is included is named from the file that does, the others from where git runs.
            let from = if is_include { path.parent().unwrap_or(top) } else { top };
            let named = match value.starts_with(['~', '%']) {
                true => None,
                false => Some(from.join(&value)),
            };
            let target = named.as_deref().map(std::fs::canonicalize);
            match target {
                // What leads nowhere is read by nobody.
                Some(Err(_)) => {}
                Some(Ok(target)) if own.iter().any(|place| target.starts_with(place)) && target.is_file() => {
                    if is_include {
                        open.push(target);
                    }
                }
                _ => {
                    return Err(format!(
                        "`{name}` in the settings of the repository names `{value}`, which is no file of the tree: \
                         `git config --global` is for settings of yours"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// The settings of a file, by their names in small letters; those of files that it includes are not among them.
fn listed(path: &Path, cancel: &AtomicBool) -> Result<Vec<(String, String)>, String> {
    let program = process::on_path("git").ok_or("no `git` is on `PATH`")?;
    let mut git = Command::new(program);
    let folder: PathBuf = path.parent().map_or_else(|| PathBuf::from("/"), Path::to_path_buf);
    git.arg("config").arg("--file").arg(path).args(["--no-includes", "--list", "-z"]).current_dir(folder);
    let list = run(&mut git, b"", cancel)?;
    let list = String::from_utf8_lossy(&list).into_owned();
    let entries = list.split('\0').filter(|entry| !entry.is_empty());
    let entries = entries.map(|entry| entry.split_once('\n').unwrap_or((entry, "")));
    Ok(entries.map(|(name, value)| (name.to_ascii_lowercase(), value.to_string())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_name_files_of_the_tree_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, secret) = (folder.path().join("tree"), folder.path().join("secret"));
        fs_err::create_dir_all(&tree).unwrap();
        fs_err::write(&secret, "hunter2\n").unwrap();
        let is_done = Command::new("git").arg("init").arg("-q").arg(&tree).status().unwrap().success();
        assert!(is_done);
        fs_err::write(tree.join("mine"), "[core]\n\tbare = false\n").unwrap();
        let config = tree.join(".git/config");
        let before = fs_err::read_to_string(&config).unwrap();
        let asked = |settings: &str| {
            fs_err::write(&config, format!("{before}{settings}\n")).unwrap();
            check(&tree, &AtomicBool::new(false))
        };
        let secret = secret.display().to_string();
        for settings in ["", "[include]\npath = ../mine", "[core]\nexcludesFile = mine", "[include]\npath = nowhere"] {
            assert_eq!(asked(settings), Ok(()), "{settings}");
        }
        for settings in [
            format!("[include]\npath = {secret}"),
            "[include] path = ../../secret".to_string(),
            format!("[includeIf \"gitdir:/\"]\npath = {secret}"),
            format!("[CORE]\nExcludesFile = {secret}"),
            "[core]\nattributesFile = ../secret".to_string(),
            "[core]\nexcludesFile = ~/.bashrc".to_string(),
            "[diff]\norderFile = /dev/zero".to_string(),
        ] {
            assert!(asked(&settings).is_err_and(|said| said.contains("is no file of the tree")), "{settings}");
        }
        // By way of a file of the tree.
        fs_err::write(tree.join("mine"), format!("[core]\nexcludesFile = {secret}\n")).unwrap();
        assert!(asked("[include]\npath = ../mine").is_err());
    }
}
