//! Where a run takes place, and what it is restricted to.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cuda_toolkit::Toolkit;

use super::CheckError;
use super::artifacts::ArtifactSource;
use super::revision::Revision;
use crate::cli::CheckArgs;
use crate::measure::Bench;

/// The surroundings of a run, replaceable for tests and other callers; the default is this machine.
#[derive(Clone, Default)]
pub struct Surroundings<'a> {
    /// Folder that relative paths start from.
    pub current_folder: Option<&'a Path>,
    /// A toolkit and its recorded artifacts, in place of real compilers.
    pub recorded: Option<(Toolkit, &'a dyn ArtifactSource)>,
    /// A command whose kernels are checked, in place of the workspace's.
    pub program: Option<&'a [OsString]>,
    /// The files of a revision are checked in place of the user's.
    pub revision: Option<&'a Revision>,
    /// Restricts the run to the units of these files.
    pub only: Option<&'a BTreeSet<PathBuf>>,
    /// Compares the figures of kernels with those of a revision, and not only findings.
    pub compares_kernels: bool,
    /// Times both versions of each suggestion's kernels.
    pub bench: Option<&'a Bench<'a>>,
    /// Kernels whose spills an earlier round of `--fix` has edited.
    pub settled: BTreeSet<String>,
}

impl Surroundings<'_> {
    pub(super) fn current(&self) -> Result<PathBuf, CheckError> {
        let current = self.current_folder.map_or_else(std::env::current_dir, |folder| Ok(folder.to_path_buf()));
        current.map_err(CheckError::Folder)
    }

    /// The files and folders that a command line names, and the current folder. Of a revision, they are the copies and what
    /// they are copies of: the repository is that of the user's own.
    ///
    /// # Errors
    /// As for [`Self::current`].
    pub(super) fn named(&self, arguments: &CheckArgs) -> Result<Vec<PathBuf>, CheckError> {
        let current = self.current()?;
        let named = arguments.paths.iter().chain(&arguments.manifest_path).map(|path| current.join(path));
        let mut named: Vec<PathBuf> = named.chain([current.clone()]).collect();
        if let Some(revision) = self.revision {
            let origins: Vec<PathBuf> = named.iter().map(|path| revision.origin(path)).collect();
            named.extend(origins);
            named.push(revision.top.clone());
        }
        Ok(named)
    }
}
