//! Content hashes of files. A file with the same path, size and modification time as before is not read again.
//!
//! Two changes within the resolution of the clock look alike. As in git's index, a file that changed shortly before its
//! hash was stored is therefore read again the next time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::RwLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use lmem_base::places;

use super::store::{Key, Store};

/// Larger files are not compiler input; a result that depends on one is not cached.
const MAX_INPUT_BYTES: u64 = 256 << 20;

/// Larger files are none that people write, and are not searched for words.
const MAX_SOURCE_BYTES: u64 = 4 << 20;

/// What stands for the time at which a file was changed: that is part of what such a file says.
const OWN_TIME: &[u8] = b"__TIMESTAMP__";

/// A file that changed within this time before it was read may change again without a new modification time.
const RACY: Duration = Duration::from_secs(2);

/// File times have the resolution of the system clock's tick.
const TICK: Duration = Duration::from_millis(20);

/// Limit on stored hashes; more files than a workspace has belong to versions that no longer exist.
const MAX_KNOWN: usize = 50_000;

/// Metadata by which a change of a file is detected.
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

    fn is_before_tick_of(&self, time: SystemTime) -> bool {
        self.is_older_than(time.checked_sub(TICK).unwrap_or(UNIX_EPOCH))
    }

    /// Whether the file was unchanged for a while before `time`, and has no time in the future.
    fn is_older_than(&self, time: SystemTime) -> bool {
        let at = |(seconds, nanos): (i64, i64)| {
            let whole = u64::try_from(seconds).map(Duration::from_secs).unwrap_or_default();
            UNIX_EPOCH + whole + u64::try_from(nanos).map(Duration::from_nanos).unwrap_or_default()
        };
        at(self.modified) < time && at(self.changed) < time
    }
}

/// A file as read: `None` if there is no readable file.
#[derive(Debug, Clone)]
struct Read {
    hash: Option<String>,
    stamp: Option<Stamp>,
}

/// File hashes of one run.
pub struct Hashes {
    /// From earlier runs.
    known: HashMap<PathBuf, (Stamp, String)>,
    /// From this run: a header of a hundred units is hashed once.
    read: RwLock<HashMap<PathBuf, Read>>,
}

impl Hashes {
    /// Loads the hashes that earlier runs stored for a workspace.
    pub fn load(store: &Store, root: &Path) -> Self {
        let known = store.read(&name(root)).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Self { known: known.unwrap_or_default(), read: RwLock::default() }
    }

    /// The hash of a file's content, or of the names in a folder; `None` if there is neither.
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
            _ => content(path, MAX_INPUT_BYTES),
        };
        Read { hash, stamp: Some(stamp) }
    }

    /// Whether a file was last changed before `time`. If it changed later, the version that a compiler read is unknown.
    pub fn is_older_than(&self, path: &Path, time: SystemTime) -> bool {
        self.of(path);
        let read = self.read.read().ok();
        let stamp = read.as_ref().and_then(|read| read.get(path)).and_then(|read| read.stamp);
        // It may have changed since it was hashed, too.
        now(path) == stamp && stamp.is_none_or(|stamp| stamp.is_before_tick_of(time))
    }

    /// Whether a file that need not be hashed was last changed before `time`.
    pub fn was_changed_before(path: &Path, time: SystemTime) -> bool {
        now(path).is_some_and(|stamp| stamp.is_before_tick_of(time))
    }

    /// Whether the folders from `root` to files have been what they are since before `time`. Files in a folder that was exchanged for
    /// another, and put back, have all of their times.
    pub fn stay_in_place<'p>(paths: impl Iterator<Item = &'p Path>, root: &Path, time: SystemTime) -> bool {
        let above = |path: &'p Path| path.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
        let folders: BTreeSet<&Path> = paths.flat_map(above).collect();
        folders.into_iter().all(|folder| now(folder).is_none_or(|stamp| stamp.is_before_tick_of(time)))
    }

    /// Stores the hashes for the next run, if they have changed.
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
        // If this fails, the next run reads the files again.
        drop(serde_json::to_vec(&all).map(|bytes| store.write(&name(root), &bytes)));
    }
}

fn now(path: &Path) -> Option<Stamp> {
    std::fs::metadata(path).ok().map(|metadata| Stamp::of(&metadata))
}

/// A hash of a file's content, part by part: the running program is among the files, and pages for all of it would take longer than the
/// hash itself. `None` if the file cannot be read or has more than `limit` bytes.
fn content(path: &Path, limit: u64) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    let mut file = places::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if metadata.len() <= MAX_SOURCE_BYTES {
        let mut text = Vec::new();
        file.by_ref().take(limit.saturating_add(1)).read_to_end(&mut text).ok()?;
        hasher.update(&text);
        if memchr::memmem::find(&text, OWN_TIME).is_some() {
            hasher.update(format!("{:?}", Stamp::of(&metadata).modified).as_bytes());
        }
    } else {
        hasher.update_reader(file.take(limit.saturating_add(1))).ok()?;
    }
    (hasher.count() <= limit).then(|| hasher.finalize().to_hex().to_string())
}

/// A hash of the names in a folder.
fn names(folder: &Path) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?;
    let mut names: Vec<String> =
        entries.filter_map(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    // An empty folder is another thing than an empty file.
    Some(lmem_base::digest::name_of(std::iter::once("folder").chain(names.iter().map(String::as_str))))
}

fn name(root: &Path) -> Key {
    Key::of(["cargo-lmem file hashes 2", &root.to_string_lossy()])
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

        /// The hashes that the next run trusts, for files that changed this long ago.
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
    fn a_folder_that_was_exchanged_and_put_back_did_not_stay() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs_err::create_dir_all(path("d/deep")).unwrap();
        fs_err::write(path("d/deep/a.cu"), "int a;").unwrap();
        std::thread::sleep(3 * TICK);
        let since = SystemTime::now();
        let file = path("d/deep/a.cu");
        let stays = || Hashes::stay_in_place(std::iter::once(&*file), place.path(), since);
        assert!(stays());
        fs_err::rename(path("d"), path("e")).unwrap();
        fs_err::rename(path("e"), path("d")).unwrap();
        assert!(!stays() && Hashes::was_changed_before(&file, since));
        // Folders around the tree are not asked.
        assert!(Hashes::stay_in_place(std::iter::once(&*file), &path("d/deep/none"), since));
    }

    #[test]
    fn a_file_that_changes_after_it_was_hashed_is_not_what_a_compiler_read() {
        let place = place();
        place.write("one", Duration::from_secs(100));
        let (hashes, start) = (place.hashes(), SystemTime::now() + Duration::from_secs(60));
        assert!(hashes.of(&place.path()).is_some() && hashes.is_older_than(&place.path(), start));
        place.write("two", Duration::from_secs(100));
        assert!(!hashes.is_older_than(&place.path(), start));
        let none = place.path().with_extension("none");
        assert!(hashes.is_older_than(&none, start));
        fs_err::write(&none, "").unwrap();
        assert!(!hashes.is_older_than(&none, start));
    }

    #[test]
    fn a_file_that_names_its_own_time_is_another_at_another_time() {
        let place = place();
        for (text, is_same) in [("int a;", true), ("auto a = __TIMESTAMP__;", false)] {
            let hash = |age| {
                place.write(text, Duration::from_secs(age));
                content(&place.path(), MAX_INPUT_BYTES).unwrap()
            };
            assert_eq!(hash(100) == hash(1000), is_same, "{text}");
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
    fn files_are_hashed_in_parts() {
        let place = place();
        let text = "0123456789".repeat(20_000);
        place.write(&text, Duration::ZERO);
        let length = text.len() as u64;
        assert_eq!(content(&place.path(), length), Some(blake3::hash(text.as_bytes()).to_hex().to_string()));
        assert_eq!(content(&place.path(), length - 1), None);
        assert_eq!(content(place.folder.path(), length), None);
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
