//! Whether what git would read belongs to the folder that is checked.
//!
//! `.git` may be a file or a link that leads to any repository, and so may parts of it: git would then show files of a
//! repository that the tree's author cannot read. A worktree and a submodule are known by the repository that leads
//! back to them, which the author of the tree cannot write.

use std::path::{Path, PathBuf};

use lmem_base::places;

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

/// Files of the working tree that git reads wherever they lie; those at the top are looked at.
const READ_AT_THE_TOP: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

/// Folders of a repository that may not be links to another's.
const FOLDERS: [&str; 5] = ["objects", "objects/pack", "objects/info", "refs", "refs/heads"];

/// Folders of a repository in which git reads nothing that it is asked for here: programs, files of other programs, and what
/// belongs to submodules and worktrees, which are looked at when they are asked themselves.
const NOT_READ: [&str; 4] = ["hooks", "lfs", "modules", "worktrees"];

/// Limit on files of git's own that are read here.
const MAX_BYTES: u64 = 1 << 20;

/// Checks the repository of a folder; the error says what is wrong with it.
///
/// # Errors
/// `.git` or a part of it belongs to another folder or is a link to one, or git would wait for a pipe.
pub fn check(top: &Path) -> Result<(), String> {
    let named = top.join(".git");
    let read = READ.iter().map(|name| (format!(".git/{name}"), named.join(name)));
    let read = read.chain(READ_AT_THE_TOP.iter().map(|name| (name.to_string(), top.join(name))));
    if let Some((name, _)) = read.chain(branch(&named)).find(|(_, path)| is_special(path)) {
        return Err(format!("`{name}` is not a file"));
    }
    let Some(repository) = leads_to(&named) else { return Ok(()) };
    if !is_of(&repository, top) {
        return Err(format!("`.git` leads to `{}`, which is the repository of another folder", repository.display()));
    }
    let common = common(&repository);
    // git takes history and files from wherever that leads: of a worktree, to the repository that has the worktree.
    if common != repository && repository.parent() != Some(&*common.join("worktrees")) {
        return Err(format!("`commondir` leads to `{}`, which is the repository of another folder", common.display()));
    }
    let is_inside = |path: &Path| std::fs::canonicalize(path).is_ok_and(|path| path.starts_with(&common));
    match FOLDERS.iter().find(|name| common.join(name).exists() && !is_inside(&common.join(name))) {
        Some(name) => Err(format!("`{name}` of the repository leads to another one")),
        None => no_link_leads_out(&repository, &common, top),
    }
}

/// Refuses links that lead out of the repository and the tree: git shows lines of files that it cannot read as its own.
fn no_link_leads_out(repository: &Path, common: &Path, top: &Path) -> Result<(), String> {
    let top = std::fs::canonicalize(top).unwrap_or_else(|_| top.to_path_buf());
    let is_allowed = |target: PathBuf| [repository, common, &top].iter().any(|place| target.starts_with(place));
    // What leads nowhere is read by nobody.
    let leads_out = |path: &Path| std::fs::canonicalize(path).is_ok_and(|target| !is_allowed(target));
    let folders = [repository, common].into_iter().take(if repository == common { 1 } else { 2 });
    for folder in folders {
        let entries = walkdir::WalkDir::new(folder).into_iter().filter_entry(is_searched).filter_map(Result::ok);
        if let Some(link) = entries.filter(|entry| entry.path_is_symlink()).find(|entry| leads_out(entry.path())) {
            let name = link.path().strip_prefix(folder).unwrap_or(link.path()).display().to_string();
            return Err(format!("`.git/{name}` is a link that leads out of the repository"));
        }
    }
    Ok(())
}

/// Whether links are looked for at a place. An object is compressed, and no line of what is none is shown.
fn is_searched(entry: &walkdir::DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    let is_of_objects = || entry.path().parent().is_some_and(|folder| folder.ends_with("objects"));
    match entry.depth() {
        1 => !NOT_READ.contains(&&*name),
        2 => !(name.len() == 2 && entry.file_type().is_dir() && is_of_objects()),
        _ => true,
    }
}

/// The file of the current branch.
fn branch(repository: &Path) -> Option<(String, PathBuf)> {
    let head = places::read(&repository.join("HEAD"), MAX_BYTES).ok()?;
    let name = String::from_utf8(head).ok()?.strip_prefix("ref:")?.trim().to_string();
    Some((format!(".git/{name}"), repository.join(name)))
}

/// The folder that `.git` is, or that it names as a file.
pub(super) fn leads_to(named: &Path) -> Option<PathBuf> {
    if named.is_dir() {
        return std::fs::canonicalize(named).ok();
    }
    let text = String::from_utf8(places::read(named, MAX_BYTES).ok()?).ok()?;
    let path = text.strip_prefix("gitdir:")?.trim();
    std::fs::canonicalize(named.parent()?.join(path)).ok()
}

/// Whether a repository is a folder's: it lies there, or leads there.
fn is_of(repository: &Path, top: &Path) -> bool {
    let Ok(top) = std::fs::canonicalize(top) else { return false };
    let is_top = |path: PathBuf| std::fs::canonicalize(path).is_ok_and(|path| path == top);
    repository.starts_with(&top) || back(repository).into_iter().any(is_top)
}

/// The folders that a repository names as its working trees.
fn back(repository: &Path) -> Vec<PathBuf> {
    let text = |name: &str| String::from_utf8(places::read(&repository.join(name), MAX_BYTES).ok()?).ok();
    // A worktree: the path of its `.git`.
    let worktree = text("gitdir").and_then(|text| Some(repository.join(text.trim()).parent()?.to_path_buf()));
    // A submodule: `core.worktree`.
    let settings = text("config").unwrap_or_default();
    let named = settings.lines().filter_map(|line| line.trim().strip_prefix("worktree")?.trim().strip_prefix('='));
    worktree.into_iter().chain(named.map(|path| repository.join(path.trim().trim_matches('"')))).collect()
}

/// The repository that a worktree shares objects with; [`check`] sees whether it has that worktree.
pub(super) fn common(repository: &Path) -> PathBuf {
    let text =
        places::read(&repository.join("commondir"), MAX_BYTES).ok().and_then(|text| String::from_utf8(text).ok());
    let named = text.map(|text| repository.join(text.trim()));
    named.and_then(|path| std::fs::canonicalize(path).ok()).unwrap_or_else(|| repository.to_path_buf())
}

fn is_special(path: &Path) -> bool {
    fs_err::metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.arg("-C").arg(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        assert!(git.output().unwrap().status.success(), "{arguments:?}");
    }

    fn repository(folder: &Path) {
        fs_err::create_dir_all(folder).unwrap();
        git(folder, &["init", "-q"]);
        git(folder, &["commit", "-q", "--allow-empty", "-m", "one"]);
    }

    #[test]
    fn worktrees_and_submodules_are_led_back_to() {
        let folder = tempfile::tempdir().unwrap();
        let (own, library) = (folder.path().join("own"), folder.path().join("library"));
        repository(&own);
        repository(&library);
        git(&own, &["worktree", "add", "-q", "../tree"]);
        let source = library.display().to_string();
        git(&own, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &source, "dep/lib"]);
        for place in [own.clone(), folder.path().join("tree"), own.join("dep/lib")] {
            assert_eq!(check(&place), Ok(()), "{}", place.display());
        }
    }

    #[test]
    fn a_repository_of_another_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (private, tree) = (folder.path().join("private"), folder.path().join("tree"));
        repository(&private);
        fs_err::create_dir_all(&tree).unwrap();
        let named = tree.join(".git");
        fs_err::write(&named, format!("gitdir: {}/.git\n", private.display())).unwrap();
        assert!(check(&tree).unwrap_err().contains("another folder"));
        fs_err::remove_file(&named).unwrap();
        fs_err::os::unix::fs::symlink(private.join(".git"), &named).unwrap();
        assert!(check(&tree).unwrap_err().contains("another folder"));
        fs_err::remove_file(&named).unwrap();
        repository(&tree);
        assert_eq!(check(&tree), Ok(()));
        fs_err::remove_dir_all(named.join("objects")).unwrap();
        fs_err::os::unix::fs::symlink(private.join(".git/objects"), named.join("objects")).unwrap();
        assert!(check(&tree).unwrap_err().contains("`objects`"));
    }

    #[test]
    fn history_is_that_of_the_tree_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (private, tree) = (folder.path().join("private"), folder.path().join("tree"));
        repository(&private);
        repository(&tree);
        let named = tree.join(".git");
        for to in [private.join(".git").display().to_string(), "../../private/.git".to_string()] {
            fs_err::write(named.join("commondir"), &to).unwrap();
            assert!(check(&tree).unwrap_err().contains("another folder"), "{to}");
            // As if it were a worktree's.
            fs_err::write(named.join("gitdir"), named.display().to_string()).unwrap();
            assert!(check(&tree).unwrap_err().contains("another folder"), "{to}");
            fs_err::remove_file(named.join("gitdir")).unwrap();
        }
        // A file that names a folder of the tree, which names the other repository.
        fs_err::rename(&named, tree.join("moved")).unwrap();
        fs_err::write(&named, "gitdir: moved\n").unwrap();
        assert!(check(&tree).unwrap_err().contains("another folder"));
        fs_err::remove_file(tree.join("moved/commondir")).unwrap();
        assert_eq!(check(&tree), Ok(()));
    }

    #[test]
    fn links_below_lead_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, secret) = (folder.path().join("tree"), folder.path().join("secret"));
        repository(&tree);
        fs_err::write(&secret, "secret").unwrap();
        fs_err::write(tree.join("mine"), "").unwrap();
        let link = |to: &Path, name: &str| {
            let link = tree.join(".git").join(name);
            fs_err::create_dir_all(link.parent().unwrap()).unwrap();
            fs_err::os::unix::fs::symlink(to, &link).unwrap();
            let said = check(&tree);
            fs_err::remove_file(&link).unwrap();
            said
        };
        for name in
            ["shallow", "info/grafts", "refs/heads/deep/er", "logs/refs/heads/x", "objects/pack/multi-pack-index"]
        {
            assert_eq!(link(&secret, name), Err(format!("`.git/{name}` is a link that leads out of the repository")));
            assert_eq!(link(&tree.join("mine"), name), Ok(()), "{name}");
            assert_eq!(link(&tree.join(".git/HEAD"), name), Ok(()), "{name}");
            assert_eq!(link(&folder.path().join("nothing"), name), Ok(()), "{name}");
        }
        for name in ["hooks/pre-push", "lfs/tmp", "modules/x/config"] {
            assert_eq!(link(&secret, name), Ok(()), "{name}");
        }
    }

    #[test]
    fn pipes_are_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        repository(folder.path());
        fs_err::create_dir(folder.path().join(".gitignore")).unwrap();
        assert_eq!(check(folder.path()), Err("`.gitignore` is not a file".to_string()));
        fs_err::remove_dir(folder.path().join(".gitignore")).unwrap();
        let (_, branch) = branch(&folder.path().join(".git")).unwrap();
        fs_err::remove_file(&branch).unwrap();
        fs_err::create_dir(&branch).unwrap();
        assert!(check(folder.path()).unwrap_err().starts_with("`.git/refs/heads/"));
    }
}
