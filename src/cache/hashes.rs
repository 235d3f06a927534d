//! Contents of files by their hashes. What lies where it lay, as large and as old as it was, is not read again.
//!
//! A file that changes within the clock's resolution looks as it did. As git does, what changed shortly before it was
//! written down is not believed the next time.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::RwLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use lmem_base::places;

use super::store::{Key, Store};

/// Larger files are no text that a compiler read; what depends on one is not kept.
const MAX_INPUT_BYTES: u64 = 256 << 20;

/// A file that changed later than this before it was looked at may change once more without a trace.
const RACY: Duration = Duration::from_secs(2);

/// Times of files are those of the last tick of the system's clock.
const TICK: Duration = Duration::from_millis(20);

/// More files than a workspace has are of versions that are gone.
const MAX_KNOWN: usize = 50_000;

/// What the file system says of a file that it has not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u64,
    device: u64,
}

impl Stamp {
    fn of(metadata: &std::fs::Metadata) -> Self {
        Self {
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            device: metadata.dev(),
        }
    }

    /// Whether the file was left alone for a while before `time`, and has no time of the future.
    fn is_older_than(&self, time: SystemTime) -> bool {
        let at = |(seconds, nanos): (i64, i64)| {
            let whole = u64::try_from(seconds).map(Duration::from_secs).unwrap_or_default();
            UNIX_EPOCH + whole + u64::try_from(nanos).map(Duration::from_nanos).unwrap_or_default()
        };
        at(self.modified) < time && at(self.changed) < time
    }
}

/// A file as it was read: `None` where there was none that can be read.
#[derive(Debug, Clone)]
struct Read {
    hash: Option<String>,
    stamp: Option<Stamp>,
}

/// Hashes of files, for one run.
pub struct Hashes {
    /// As earlier runs left them.
    known: HashMap<PathBuf, (Stamp, String)>,
    /// As this run found them: a header of a hundred units is looked at once.
    read: RwLock<HashMap<PathBuf, Read>>,
}

impl Hashes {
    /// With what earlier runs found out about the files of a workspace.
    pub fn load(store: &Store, root: &Path) -> Self {
        let known = store.read(&name(root)).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Self { known: known.unwrap_or_default(), read: RwLock::default() }
    }

    /// The hash of a file's content, or of the names in a folder; `None` where there is neither.
    pub fn of(&self, path: &Path) -> Option<String> {
        if let Some(read) = self.read.read().ok()?.get(path) {
            return read.hash.clone();
        }
        let read = self.look(path);
        let hash = read.hash.clone();
        self.read.write().ok()?.insert(path.to_path_buf(), read);
        hash
    }

    fn look(&self, path: &Path) -> Read {
        let Ok(metadata) = std::fs::metadata(path) else { return Read { hash: None, stamp: None } };
        let stamp = Stamp::of(&metadata);
        let hash = match self.known.get(path) {
            Some((known, hash)) if *known == stamp => Some(hash.clone()),
            _ if metadata.is_dir() => names(path),
            _ => places::read(path, MAX_INPUT_BYTES).ok().map(|bytes| blake3::hash(&bytes).to_hex().to_string()),
        };
        Read { hash, stamp: Some(stamp) }
    }

    /// Whether a file was the same before `time` already. What a compiler read of one that changed since is not known.
    pub fn is_older_than(&self, path: &Path, time: SystemTime) -> bool {
        self.of(path);
        let read = self.read.read().ok();
        let stamp = read.as_ref().and_then(|read| read.get(path)).and_then(|read| read.stamp);
        stamp.is_none_or(|stamp| stamp.is_older_than(time.checked_sub(TICK).unwrap_or(UNIX_EPOCH)))
    }

    /// Keeps what was found for the next run, if it is not what the last one knew.
    pub fn save(&self, store: &Store, root: &Path) {
        let Ok(read) = self.read.read() else { return };
        let quiet = SystemTime::now().checked_sub(RACY).unwrap_or(UNIX_EPOCH);
        let entry = |(path, read): (&PathBuf, &Read)| {
            let stamp = read.stamp.filter(|stamp| stamp.is_older_than(quiet))?;
            Some((path.clone(), (stamp, read.hash.clone()?)))
        };
        let found: BTreeMap<PathBuf, (Stamp, String)> = read.iter().filter_map(entry).collect();
        if found.iter().all(|(path, new)| self.known.get(path) == Some(new)) {
            return;
        }
        let mut all: BTreeMap<&PathBuf, &(Stamp, String)> = self.known.iter().collect();
        if all.len() + found.len() > MAX_KNOWN {
            all.clear();
        }
        all.extend(&found);
        // Without it the next run reads the files again.
        drop(serde_json::to_vec(&all).map(|bytes| store.write(&name(root), &bytes)));
    }
}

/// The names in a folder, hashed.
fn names(folder: &Path) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?;
    let mut names: Vec<String> =
        entries.filter_map(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Some(lmem_base::digest::name_of(names.iter().map(String::as_str)))
}

fn name(root: &Path) -> Key {
    Key::of(["cargo-lmem file hashes 1", &root.to_string_lossy()])
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        folder: tempfile::TempDir,
        store: Store,
    }

    fn place() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("cache"));
        Place { folder, store }
    }

    impl Place {
        fn path(&self) -> PathBuf {
            self.folder.path().join("a.cuh")
        }

        fn write(&self, text: &str, age: Duration) {
            fs_err::write(self.path(), text).unwrap();
            let file = std::fs::File::options().write(true).open(self.path()).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        }

        fn hashes(&self) -> Hashes {
            Hashes::load(&self.store, self.folder.path())
        }

        /// What the next run believes, if the file changed so long ago.
        fn keep(&self, age: Duration) -> Hashes {
            let mut hashes = self.hashes();
            hashes.of(&self.path());
            for read in hashes.read.get_mut().unwrap().values_mut() {
                let stamp = read.stamp.as_mut().unwrap();
                let then = (SystemTime::now() - age).duration_since(UNIX_EPOCH).unwrap();
                stamp.changed = (i64::try_from(then.as_secs()).unwrap(), 0);
            }
            hashes.save(&self.store, self.folder.path());
            self.hashes()
        }
    }

    #[test]
    fn changed_files_have_another_hash() {
        let place = place();
        place.write("int a;", Duration::from_secs(60));
        let first = place.hashes().of(&place.path());
        assert!(first.is_some());
        place.write("int b;", Duration::from_secs(60));
        assert_ne!(place.hashes().of(&place.path()), first);
        fs_err::remove_file(place.path()).unwrap();
        assert_eq!(place.hashes().of(&place.path()), None);
    }

    #[test]
    fn what_changed_just_now_is_not_believed_later() {
        let place = place();
        place.write("int a;", Duration::from_secs(60));
        assert_eq!(place.keep(Duration::from_secs(60)).known.len(), 1);
        place.write("int b;", Duration::ZERO);
        let before = place.keep(Duration::ZERO);
        assert!(before.known.values().all(|(stamp, _)| *stamp != Stamp::of(&place.path().metadata().unwrap())));
    }

    #[test]
    fn folders_are_the_names_in_them() {
        let place = place();
        let hash = || place.hashes().of(place.folder.path());
        let empty = hash();
        place.write("int a;", Duration::ZERO);
        let one = hash();
        assert!(empty.is_some() && one.is_some() && empty != one);
        place.write("int b;", Duration::ZERO);
        assert_eq!(hash(), one);
    }
}
