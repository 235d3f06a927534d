//! Compile times of units. The longest ones start first, since a long one that starts last would delay the whole run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use super::store::{Key, Store};

/// Limit on stored times; more units than a workspace has belong to versions that no longer exist.
const MAX_KNOWN: usize = 20_000;

/// Milliseconds, by unit and architecture.
type KnownTimes = BTreeMap<String, u64>;

/// Compile times in one workspace.
pub struct Times {
    known: KnownTimes,
    new: Mutex<KnownTimes>,
}

impl Times {
    pub fn load(store: &Store, root: &Path) -> Self {
        let known = store.read(&name(root)).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Self { known: known.unwrap_or_default(), new: Mutex::default() }
    }

    /// The time of the last compilation.
    pub fn of(&self, unit: &str) -> Option<Duration> {
        self.known.get(unit).copied().map(Duration::from_millis)
    }

    pub fn add(&self, unit: String, took: Duration) {
        if let Ok(mut new) = self.new.lock() {
            new.insert(unit, u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        }
    }

    pub fn save(&self, store: &Store, root: &Path) {
        let Ok(new) = self.new.lock() else { return };
        if new.is_empty() {
            return;
        }
        let mut all = if self.known.len() > MAX_KNOWN { KnownTimes::new() } else { self.known.clone() };
        all.extend(new.clone());
        // If this fails, only the order of the next run differs.
        drop(serde_json::to_vec(&all).map(|bytes| store.write(&name(root), &bytes)));
    }
}

fn name(root: &Path) -> Key {
    Key::of(["cargo-lmem times 1", &root.to_string_lossy()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_known_to_the_next_run() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("cache"));
        let times = || Times::load(&store, folder.path());
        let first = times();
        first.add("a.cu sm_90".to_string(), Duration::from_secs(3));
        first.save(&store, folder.path());
        assert_eq!(times().of("a.cu sm_90"), Some(Duration::from_secs(3)));
        assert_eq!(times().of("b.cu sm_90"), None);
    }
}
