//! Caches the output of `cargo metadata`: if nothing changed, starting cargo would take longer than everything else.
//!
//! `cargo metadata --no-deps` reads manifests and settings, and looks for targets in the conventional places. The
//! cached output is valid while all of these are unchanged. With a `**` pattern for members there are too many places
//! to watch.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cargo_metadata::Metadata;

use lmem_base::process;

/// Cache for texts that are valid while some files and folders do not change.
pub trait Remember: Debug + Send + Sync {
    /// The text stored under a name, if still valid.
    fn known(&self, name: &str) -> Option<String>;

    /// Stores a text that was computed after `since`, with the paths that it depends on.
    fn keep(&self, name: &str, text: &str, paths: BTreeSet<PathBuf>, since: SystemTime);
}

/// Folders in which cargo finds targets that no manifest names.
const TARGET_FOLDERS: [&str; 5] = ["src", "src/bin", "examples", "tests", "benches"];

/// Settings files of cargo and rustup, in their home folders.
const SETTINGS: [(&str, &str, &[&str]); 2] =
    [("CARGO_HOME", ".cargo", &["config", "config.toml"]), ("RUSTUP_HOME", ".rustup", &["settings.toml"])];

/// Cache key of a manifest's metadata: includes the program and all variables that may affect it.
pub(super) fn name(manifest: &Path, program: &Path) -> String {
    let is_cargos = |name: &OsString| {
        let name = name.to_string_lossy();
        (name.starts_with("CARGO_") && !name.starts_with("CARGO_LMEM_") && !is_of_package(&name))
            || name.starts_with("RUSTUP_")
    };
    let mut variables: Vec<(OsString, OsString)> = std::env::vars_os().filter(|(name, _)| is_cargos(name)).collect();
    variables.sort();
    let program = program.canonicalize().unwrap_or_else(|_| program.to_path_buf());
    let rustc = process::on_path("rustc");
    format!("{manifest:?} {program:?} {rustc:?} {variables:?}")
}

/// Whether cargo sets a variable for the package that it runs, as in `cargo run` and `cargo test`.
fn is_of_package(name: &str) -> bool {
    ["CARGO_PKG_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_MANIFEST_"].iter().any(|start| name.starts_with(start))
}

/// The paths that the metadata depends on; `None` if they cannot be listed.
pub(super) fn conditions(manifest: &Path, said: &Metadata) -> Option<BTreeSet<PathBuf>> {
    let root = said.workspace_root.join("Cargo.toml");
    let text = std::fs::read_to_string(&root).ok()?;
    if text.contains("**") {
        return None;
    }
    let mut paths = BTreeSet::from([root.into_std_path_buf()]);
    // A manifest further up may claim this one for its workspace.
    paths.extend(manifest.ancestors().skip(1).map(|folder| folder.join("Cargo.toml")));
    for package in &said.packages {
        let manifest = package.manifest_path.as_std_path();
        let folder = manifest.parent()?;
        paths.insert(manifest.to_path_buf());
        paths.insert(folder.to_path_buf());
        for name in TARGET_FOLDERS {
            let folder = folder.join(name);
            paths.extend(folders_in(&folder).into_iter().map(|folder| folder.join("main.rs")));
            paths.insert(folder);
        }
        paths.extend(package.targets.iter().map(|target| target.src_path.as_std_path().to_path_buf()));
        // With `members = ["crates/*"]`, a new folder next to a member becomes a member too.
        if let Some(beside) = folder.parent().filter(|beside| beside.starts_with(&said.workspace_root)) {
            paths.extend(folders_in(beside).into_iter().map(|folder| folder.join("Cargo.toml")));
            paths.insert(beside.to_path_buf());
        }
    }
    for (variable, folder, names) in SETTINGS {
        let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(folder));
        let home = std::env::var_os(variable).map(PathBuf::from).or(home)?;
        paths.extend(names.iter().map(|name| home.join(name)));
    }
    paths.extend(["/.cargo/config", "/.cargo/config.toml"].map(PathBuf::from));
    Some(paths)
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_file())).map(|entry| entry.path()).collect()
}
