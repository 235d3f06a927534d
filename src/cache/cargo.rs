//! Caches the output of cargo for manifests, as the cache does for results.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

use lmem_project::discover::Remember;

use super::Cache;

/// Output of cargo, for runs that start in one folder.
pub struct CargoMemory(Cache);

impl CargoMemory {
    pub fn new(cache: Cache) -> Self {
        Self(cache)
    }

    /// Saves the file hashes of this run.
    pub fn finish(&self) {
        self.0.save_hashes();
    }
}

impl fmt::Debug for CargoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CargoMemory")
    }
}

impl Remember for CargoMemory {
    fn known(&self, name: &str) -> Option<String> {
        self.0.result(&self.0.output_key("cargo", name), None)
    }

    fn keep(&self, name: &str, text: &str, paths: BTreeSet<PathBuf>, since: SystemTime) {
        // If the entry cannot be written, the next run starts cargo again.
        drop(self.0.keep_result(&self.0.output_key("cargo", name), None, &text, paths, since));
    }
}
