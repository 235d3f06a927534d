//! Caches failed compilations as well: a text that was rejected is rejected again, so without an entry every run would
//! compile it until someone changes it. They stay on this machine: another one may have another host compiler.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use lmem_unit::CompilerMessage;

use super::{Cache, Key, Moved, Origin};
use crate::compile::{CompileError, Failure};

/// Changed whenever entries of older versions of this tool must not be read.
const FAILURE_FORMAT: &str = "cargo-lmem failures 4";

#[derive(Serialize, Deserialize)]
struct Refusal {
    /// The workspace's root when the entry was made.
    root: PathBuf,
    architecture: String,
    messages: Vec<CompilerMessage>,
    rescues: Vec<String>,
    ptx: Option<String>,
    /// The headers that were not found, and the folder of the workspace that has each: a file may be added there that a rescue
    /// would find.
    absent: Vec<(String, Option<String>)>,
}

/// Finds a folder of the workspace that has a header.
pub type FolderWith<'a> = &'a dyn Fn(&str) -> Option<PathBuf>;

impl Cache {
    /// The cached failure of a unit, if no file has changed since, and none that was missing is there.
    pub fn failure(&self, unit: &Key, folder_with: FolderWith<'_>) -> Option<Failure> {
        let mut found = self.inputs.find(&key(unit), self.own_place());
        let bytes = found.find_map(|(entry, _)| self.own.read(&entry))?;
        let mut refusal: Refusal = serde_json::from_slice(&bytes).ok()?;
        if refusal.absent != self.absent(refusal.absent.iter().map(|(name, _)| name), folder_with) {
            return None;
        }
        if let Some(moved) = Moved::between(&refusal.root, &self.root) {
            refusal.ptx = refusal.ptx.map(|ptx| moved.text(&ptx));
            moved.messages(&mut refusal.messages);
        }
        Some(Failure {
            error: CompileError::Refused { architecture: refusal.architecture },
            messages: refusal.messages,
            rescues: refusal.rescues,
            ptx: refusal.ptx,
            read: None,
            absent: None,
        })
    }

    fn absent<'n>(
        &self,
        names: impl Iterator<Item = &'n String>,
        folder_with: FolderWith<'_>,
    ) -> Vec<(String, Option<String>)> {
        names.map(|name| (name.clone(), folder_with(name).map(|folder| self.here().path(&folder)))).collect()
    }

    /// Stores a failure if all its inputs are known. A failure for lack of time, memory or a file may not happen again.
    ///
    /// # Errors
    /// The entry cannot be written; the run continues without it.
    pub fn put_failure(
        &self,
        origin: Origin<'_>,
        failure: &Failure,
        since: SystemTime,
        folder_with: FolderWith<'_>,
    ) -> std::io::Result<()> {
        let Origin { key: unit_key, unit, toolkit } = origin;
        let (CompileError::Refused { architecture }, Some(read)) = (&failure.error, failure.lasting_inputs()) else {
            return Ok(());
        };
        let Some((mut paths, sought)) = self.unchanged(unit_key, unit, read, toolkit, since) else { return Ok(()) };
        let (names, places) = failure.absent.as_ref().map(|it| (&it.names[..], &it.places[..])).unwrap_or_default();
        if places.iter().any(|place| self.hashes.of(place).is_some()) {
            return Ok(());
        }
        paths.extend_from_slice(places);
        paths.sort();
        paths.dedup();
        let Some((entry, _)) = self.inputs.add(&key(unit_key), &paths, &sought, self.own_place())? else {
            return Ok(());
        };
        let refusal = Refusal {
            root: self.root.clone(),
            architecture: architecture.clone(),
            messages: failure.messages.clone(),
            rescues: failure.rescues.clone(),
            ptx: failure.ptx.clone(),
            absent: self.absent(names.iter(), folder_with),
        };
        self.own.write(&entry, &serde_json::to_vec(&refusal)?)
    }
}

fn key(unit: &Key) -> Key {
    Key::of([FAILURE_FORMAT, unit.as_str()])
}
