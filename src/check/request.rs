//! What a run was asked for, and where.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use super::Talk;
use super::since::Since;
use super::surroundings::Surroundings;
use crate::cli::CheckArgs;

/// What every stage of a run may ask: what was typed, where, and whether to stop.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub surroundings: &'a Surroundings<'a>,
    pub arguments: &'a CheckArgs,
    /// The revision that findings are compared with.
    pub since: Option<&'a Since>,
    pub cancel: &'a AtomicBool,
    pub talk: &'a Talk,
}

impl Request<'_> {
    /// Nothing on this machine may influence the result.
    pub fn is_recorded(&self) -> bool {
        self.surroundings.recorded.is_some()
    }

    /// Files, folders or packages are named. A build folder, which `-p` takes too, is none.
    pub fn chooses(&self) -> bool {
        !self.arguments.paths.is_empty() || self.names_packages()
    }

    fn names_packages(&self) -> bool {
        let current = self.surroundings.current();
        current.is_ok_and(|current| !self.arguments.builds_and_packages(&current).1.is_empty())
    }

    /// All of a workspace or of a folder is meant, and not files or packages that need not have kernels, as a hook names them.
    pub fn asks_for_all(&self) -> bool {
        let Self { surroundings, arguments, since, .. } = self;
        let is_folder = |path: &PathBuf| surroundings.current().is_ok_and(|current| current.join(path).is_dir());
        let names_folder = !self.names_packages() && arguments.paths.iter().any(is_folder);
        let chooses = (self.chooses() && !names_folder) || arguments.kernel.is_some();
        let is_of_revision = since.is_some() || surroundings.only.is_some() || surroundings.revision.is_some();
        !chooses && !is_of_revision
    }
}
