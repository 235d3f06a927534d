//! The machine as seen by the toolkit search; tests use a fake one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::ToolkitError;

/// Environment variables and the root of the file system.
#[derive(Debug, Clone, Default)]
pub(super) struct Environment {
    pub(super) variables: BTreeMap<String, OsString>,
    /// `/`, or a test's folder in its place.
    pub(super) root: PathBuf,
}

impl Environment {
    pub(super) fn of_process() -> Self {
        let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        Self { variables: variables.collect(), root: PathBuf::from("/") }
    }

    /// The path in a variable; an empty variable counts as unset.
    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        self.variables.get(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// A folder below the root, such as "usr/local".
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Programs with a name on `PATH`, in order. Relative entries are skipped: in an untrusted workspace they would
    /// find its files.
    pub(super) fn on_path(&self, program: &str) -> Vec<PathBuf> {
        let path = self.variables.get("PATH").cloned().unwrap_or_default();
        let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(program)).filter(|file| is_executable(file)).collect()
    }

    pub(super) fn cache_root(&self) -> Result<PathBuf, ToolkitError> {
        if let Some(folder) = self.path("CARGO_LMEM_CACHE_DIR") {
            return std::path::absolute(&folder).map_err(ToolkitError::io("find", &folder));
        }
        // The XDG specification says that relative paths are ignored.
        let xdg = self.path("XDG_CACHE_HOME").filter(|folder| folder.is_absolute());
        let folder = xdg.or_else(|| self.path("HOME").map(|home| home.join(".cache")));
        folder.map(|folder| folder.join("cargo-lmem")).ok_or(ToolkitError::NoCacheRoot)
    }
}

/// Whether a file is executable.
#[cfg(unix)]
pub(super) fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
pub(super) fn is_executable(file: &Path) -> bool {
    file.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value)));
        Environment { variables: variables.collect(), root: PathBuf::from("/") }
    }

    #[test]
    fn the_cache_follows_the_most_specific_variable() {
        let all = [("HOME", "/h"), ("XDG_CACHE_HOME", "/x"), ("CARGO_LMEM_CACHE_DIR", "/c")];
        assert_eq!(environment(&all).cache_root().unwrap(), Path::new("/c"));
        assert_eq!(environment(&all[..2]).cache_root().unwrap(), Path::new("/x/cargo-lmem"));
        assert_eq!(environment(&all[..1]).cache_root().unwrap(), Path::new("/h/.cache/cargo-lmem"));
        assert_eq!(
            environment(&[("HOME", "/h"), ("XDG_CACHE_HOME", "x")]).cache_root().unwrap(),
            Path::new("/h/.cache/cargo-lmem")
        );
        assert!(matches!(environment(&[("HOME", "")]).cache_root(), Err(ToolkitError::NoCacheRoot)));
    }

    #[test]
    fn relative_entries_of_path_are_not_searched() {
        assert_eq!(environment(&[("PATH", ".:/bin:bin")]).on_path("sh"), [Path::new("/bin/sh")]);
    }
}
