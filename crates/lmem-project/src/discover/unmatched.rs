//! Patterns in settings that match nothing: likely typos, which would silently drop the flags they carry.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lmem_base::source::display_path;
use lmem_base::words::nearest;

use crate::config::NamedPaths;
use crate::discover::packages::Package;

/// A setting that matches nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unmatched {
    /// The manifest that contains the setting; `None` for the command line.
    pub manifest: Option<PathBuf>,
    /// `exclude`, `file.path`, `--exclude`.
    pub key: &'static str,
    pub text: String,
    /// The name that was probably meant.
    pub near: Option<String>,
}

/// The settings of `packages` that match nothing. `seen` are the files and folders that were walked, including those
/// that `exclude` leaves out; `members` are the folders of all packages of the workspace.
pub(super) fn unmatched(packages: &[Package], members: &[PathBuf], seen: &BTreeSet<PathBuf>) -> Vec<Unmatched> {
    // A workspace setting may refer to a package that was not walked.
    let is_walked = |folder: &Path| {
        let below = members.iter().filter(|member| member.starts_with(folder));
        below.into_iter().all(|member| packages.iter().any(|package| package.root == *member))
    };
    let named = packages.iter().flat_map(|package| package.config.named_paths());
    let mut found: Vec<Unmatched> = named
        .filter(|named| is_walked(named.folder))
        .filter(|named| !is_there(named, seen))
        .map(|named| Unmatched {
            manifest: Some(named.folder.join("Cargo.toml")),
            key: named.key,
            text: named.text.to_string(),
            near: near(&named, seen),
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

fn is_there(named: &NamedPaths<'_>, seen: &BTreeSet<PathBuf>) -> bool {
    named.folder.join(named.text).exists() || seen.iter().any(|path| named.matches(path))
}

fn near(named: &NamedPaths<'_>, seen: &BTreeSet<PathBuf>) -> Option<String> {
    let relative: Vec<String> = seen
        .iter()
        .filter(|path| path.starts_with(named.folder))
        .map(|path| display_path(path, named.folder))
        .collect();
    nearest(named.text, relative.iter().map(String::as_str)).map(str::to_string)
}
