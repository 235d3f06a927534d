//! Runs `cargo metadata` without obeying any file of the workspace.
//!
//! `cargo` on `PATH` is usually rustup's proxy. It looks for `rust-toolchain.toml` in the current folder and above, and
//! starts the `cargo` of a folder that the file names (`path = "…"`). Cargo itself reads `.cargo/config.toml` from the
//! current folder and above, never from the manifest's (seen with cargo 1.95 and rustup 1.28). So both are started in
//! `/`, where a pull request cannot place a file.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use cargo_metadata::{Metadata, MetadataCommand};

use lmem_base::places::{self, Places, tree_of};
use lmem_base::process::{self, End};
use lmem_base::source::normalize;
use lmem_base::way;
use memchr::memmem;

use super::DiscoverError;
use super::remember::{self, Remember};

/// The folder that cargo is started in.
const NEUTRAL: &str = "/";

/// Enough for a workspace of thousands of packages on a slow disk.
const LIMIT: Duration = Duration::from_secs(120);

const MANIFEST: &str = "Cargo.toml";

/// Larger manifests are no one's.
const MAX_MANIFEST_BYTES: u64 = 16 << 20;

/// What cargo may take: manifests of members are read by cargo alone.
const MAX_MEMORY_BYTES: u64 = 4 << 30;

/// Variables that hold folders; cargo resolves relative ones from the current folder.
const OUTPUT_FOLDERS: [&str; 3] = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "CARGO_BUILD_BUILD_DIR"];

/// Variables that hold folders with programs and settings. A relative one could lead into the checked tree, whose programs would be
/// started.
const HOMES: [&str; 2] = ["CARGO_HOME", "RUSTUP_HOME"];

/// The metadata of a manifest with an absolute path, if that and the manifests of all members lie where no link leads out of the tree:
/// what a member's folder holds counts as the tree's. With `--no-deps`, cargo needs neither the network nor a lock file.
pub(super) fn metadata(manifest: &Path, memory: Option<&dyn Remember>) -> Result<Metadata, DiscoverError> {
    let stays = |manifest: &Path, root: &Path| {
        way::stays_in_own_tree(manifest, root).map_err(DiscoverError::LeadsOut)?;
        match is_in_git_folder(manifest, root) {
            true => Err(DiscoverError::Cargo(format!(
                "`{}` lies in git's folder, which is no part of the tree",
                manifest.display()
            ))),
            false => Ok(()),
        }
    };
    // Cargo's errors quote manifests.
    stays(manifest, manifest.parent().unwrap_or(manifest))?;
    let said = all_metadata(manifest, memory)?;
    let root = said.workspace_root.as_std_path();
    stays(&root.join(MANIFEST), root)?;
    for package in &said.packages {
        stays(package.manifest_path.as_std_path(), root)?;
    }
    Ok(said)
}

/// Whether a file lies in git's folder of the tree around another one. A worktree there is a tree of its own only where it is checked itself.
fn is_in_git_folder(path: &Path, root: &Path) -> bool {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    real.strip_prefix(tree_of(root)).is_ok_and(|below| !places::is_beside_git(below))
}

fn all_metadata(manifest: &Path, memory: Option<&dyn Remember>) -> Result<Metadata, DiscoverError> {
    let program = program().ok_or_else(|| DiscoverError::Cargo("no `cargo` is on `PATH`".to_string()))?;
    let Some(memory) = memory else { return parsed(&asked(manifest, program)?) };
    let name = remember::name(manifest, &program);
    if let Some(known) = memory.known(&name).and_then(|text| parsed(&text).ok()) {
        return Ok(known);
    }
    let since = SystemTime::now();
    let text = asked(manifest, program)?;
    let said = parsed(&text)?;
    if let Some(paths) = remember::conditions(manifest, &said) {
        memory.keep(&name, &text, paths, since);
    }
    Ok(said)
}

fn parsed(text: &str) -> Result<Metadata, DiscoverError> {
    MetadataCommand::parse(text).map_err(|error| DiscoverError::Cargo(error.to_string()))
}

/// The line of JSON that cargo prints.
fn asked(manifest: &Path, program: PathBuf) -> Result<String, DiscoverError> {
    // Cargo would read a device or a huge file to its end, and wait for a pipe.
    let size = fs_err::metadata(manifest).map_or(0, |found| if found.is_file() { found.len() } else { u64::MAX });
    if size > MAX_MANIFEST_BYTES {
        return Err(DiscoverError::Cargo(format!(
            "`{}` is no manifest: it is too large, or no file",
            manifest.display()
        )));
    }
    let mut asking = MetadataCommand::new();
    asking.cargo_path(program).manifest_path(manifest).no_deps().other_options(["--offline".to_string()]);
    let mut command = asking.cargo_command();
    in_neutral_folder(&mut command);
    process::limit_memory(&mut command, MAX_MEMORY_BYTES);
    let output = process::run(&mut command, b"", LIMIT, &AtomicBool::new(false));
    let output = output.map_err(|error| DiscoverError::Cargo(format!("it cannot be started: {error}")))?;
    match output.end {
        End::Exit(0) => {}
        End::TimedOut => {
            return Err(DiscoverError::Cargo(format!("it was given up after {} s", LIMIT.as_secs())));
        }
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(DiscoverError::Cargo(shown(&said, manifest)));
        }
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().find(|line| line.starts_with('{')).unwrap_or_default().to_string())
}

/// Whether there is a cargo to ask.
pub(super) fn is_there() -> bool {
    program().is_some()
}

/// The `cargo` that started this process, else the first one on `PATH`.
fn program() -> Option<PathBuf> {
    let ours = std::env::var_os("CARGO").map(PathBuf::from).filter(|path| path.is_absolute());
    ours.or_else(|| process::on_path("cargo"))
}

fn in_neutral_folder(command: &mut Command) {
    command.current_dir(NEUTRAL);
    let current = std::env::current_dir().unwrap_or_default();
    let relative = |name: &str| {
        let value: Option<OsString> = std::env::var_os(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from).filter(|folder| folder.is_relative())
    };
    for name in OUTPUT_FOLDERS {
        if let Some(folder) = relative(name) {
            command.env(name, normalize(&current.join(folder)));
        }
    }
    for name in HOMES.into_iter().filter(|name| relative(name).is_some()) {
        command.env_remove(name);
    }
}

/// Cargo's message, for the user. The message quotes manifests that cargo cannot parse, and a symbolic link as a
/// manifest may point to any private file: then only its name is shown. Patterns of members find files and folders
/// elsewhere, whose names are not shown either.
fn shown(said: &str, manifest: &Path) -> String {
    let folder = tree_of(manifest.parent().unwrap_or(manifest));
    let text = places::read(manifest, MAX_MANIFEST_BYTES).unwrap_or_default();
    if has_foreign_names(said, &folder, &text) {
        return format!("what `{}` names leads out of the workspace", manifest.display());
    }
    match Places::new([folder]).foreign_in(said, Path::new(NEUTRAL)) {
        Some(path) => format!("`{}` leads out of the workspace", path.display()),
        None => said.trim().trim_start_matches("error: ").to_string(),
    }
}

/// Whether a message has a path with a name outside of a folder that the manifest does not have, also on a way that comes
/// back: `/outside/secret/../../tree`.
fn has_foreign_names(said: &str, folder: &Path, manifest: &[u8]) -> bool {
    let is_known = |name: &OsStr| name == MANIFEST || memmem::find(manifest, name.as_encoded_bytes()).is_some();
    places::words(said).filter(|word| word.starts_with('/')).any(|word| {
        let mut at = PathBuf::new();
        Path::new(word).components().any(|part| {
            if part == Component::ParentDir {
                at.pop();
                return false;
            }
            at.push(part);
            !folder.starts_with(&at) && !at.starts_with(folder) && !is_known(part.as_os_str())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_files_elsewhere_are_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs_err::canonicalize(folder.path()).unwrap();
        let write = |name: &str| {
            let path = root.join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(&path, "").unwrap();
            path
        };
        let (manifest, secret) = (write("tree/Cargo.toml"), write("secret"));
        let link = root.join("tree/member.toml");
        std::os::unix::fs::symlink(&secret, &link).unwrap();
        let said = |path: &Path| {
            format!("error: cannot parse `{}`\n --> {}:1:2\n | token = 1", path.display(), path.display())
        };
        assert!(shown(&said(&manifest), &manifest).contains("token"));
        for path in [&link, &secret] {
            let shown = shown(&said(path), &manifest);
            assert!(shown.ends_with("leads out of the workspace") && !shown.contains("token"), "{shown}");
            assert!(!shown.contains("secret"), "{shown}");
        }
        fs_err::write(&manifest, "members = [\"../secret\"]").unwrap();
        assert_eq!(shown(&said(&secret), &manifest), format!("`{}` leads out of the workspace", secret.display()));
        for way in ["found/../../tree/member", "found/.."] {
            let shown = shown(&format!("error: no manifest in `{}/{way}`", root.display()), &manifest);
            assert!(!shown.contains("found"), "{shown}");
        }
    }
}
