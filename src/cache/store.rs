//! Entries on disk: bytes by key, with a checksum.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lmem_base::digest::name_of;
use lmem_base::files::write_whole;
use lmem_base::places;

use super::remote::Remote;

/// Default size limit; the oldest entries are removed first.
pub const MAX_BYTES: u64 = 2 << 30;

/// Environment variable that sets another limit, in MiB.
pub const MAX_VARIABLE: &str = "CARGO_LMEM_CACHE_MAX_MIB";

/// Larger entries are none of ours: what one unit gives is a few megabytes at most.
const MAX_BYTES_READ: u64 = super::remote::MAX_BYTES;

/// A hit updates the entry's time, but only this long after the last update, to save writes.
const TOUCH_AFTER: Duration = Duration::from_secs(24 * 3600);

/// Part of the limit (one in this many) that may be written before the cache's size is computed again.
const SLACK: u64 = 16;

/// Pruning continues until this part of the limit (one in this many) is free, so that the next run need not prune
/// again.
const ROOM: u64 = 10;

/// The file whose length counts the bytes written since the size was last computed.
const WRITTEN: &str = "written";

/// A temporary file older than this was left by a run that was killed.
const ABANDONED: Duration = Duration::from_secs(3600);

const HASH_BYTES: usize = blake3::OUT_LEN;

/// Key of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key(String);

impl Key {
    /// The key for some inputs.
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        Self(name_of(texts))
    }

    /// Parses a stored key; `None` if it is malformed.
    pub fn named(name: &str) -> Option<Self> {
        let is_name = name.len() == 2 * HASH_BYTES && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_name.then(|| Self(name.to_string()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the entry's file: folders with very many files are slow.
    fn file(&self) -> String {
        let (start, rest) = self.0.split_at(2);
        format!("{start}/{rest}")
    }
}

/// A folder of entries, with a place behind it that other machines use too, if there is one.
pub struct Store {
    folder: PathBuf,
    remote: Option<Arc<Remote>>,
}

impl Store {
    /// A store in `folder`, which is created at the first write.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, remote: None }
    }

    /// This store with a place behind it.
    pub fn shared(&self, remote: Option<Arc<Remote>>) -> Self {
        Self { folder: self.folder.clone(), remote }
    }

    /// The bytes of an entry, wherever it is; `None` if it is truncated, changed, or stored under another key.
    pub fn read(&self, key: &Key) -> Option<Vec<u8>> {
        self.read_here(key).or_else(|| {
            let content = self.fetch(key)?;
            // If this fails, it is fetched again the next time.
            drop(self.write_here(key, &content));
            Some(content)
        })
    }

    /// The bytes of an entry in the folder.
    pub fn read_here(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        let content = checked(key, places::read_own(&path, MAX_BYTES_READ).ok()?)?;
        touch(&path);
        Some(content)
    }

    /// The bytes of an entry in the remote cache.
    pub fn fetch(&self, key: &Key) -> Option<Vec<u8>> {
        checked(key, self.remote.as_ref()?.get(&key.file())?)
    }

    /// Writes an entry atomically; later it is sent to the remote cache.
    ///
    /// # Errors
    /// The entry cannot be written.
    pub fn write(&self, key: &Key, content: &[u8]) -> std::io::Result<()> {
        self.write_here(key, content)?;
        self.send(key);
        Ok(())
    }

    /// Has an entry of the folder sent to the remote cache.
    pub fn send(&self, key: &Key) {
        if let Some(remote) = &self.remote {
            remote.send(key.file(), self.path(key));
        }
    }

    /// Writes an entry into the folder alone.
    ///
    /// # Errors
    /// The entry cannot be written.
    pub fn write_here(&self, key: &Key, content: &[u8]) -> std::io::Result<()> {
        let path = self.path(key);
        fs_err::create_dir_all(path.parent().unwrap_or(&self.folder))?;
        // A folder with the entry's name would block it forever.
        if path.is_dir() {
            fs_err::remove_dir_all(&path)?;
        }
        write_whole(&path, &[content, hash(key, content).as_bytes()].concat())?;
        self.count(content.len() as u64);
        Ok(())
    }

    pub fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(key.file())
    }

    /// Adds to the count of bytes written since the size was last computed. The count is the length of a file.
    fn count(&self, bytes: u64) {
        let path = self.folder.join(WRITTEN);
        let known = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        // The count need not be exact, and the file's content does not matter.
        match places::open_own_to_write(&path) {
            Ok(file) => drop(file.set_len(known.saturating_add(bytes >> 10))),
            Err(_) => drop(std::fs::remove_file(&path)),
        }
    }

    /// Removes the least recently used entries while the cache is larger than `limit`. It only looks at the entries if
    /// enough was written since the last time.
    pub fn shrink(&self, limit: u64) {
        let written = std::fs::metadata(self.folder.join(WRITTEN)).map_or(0, |metadata| metadata.len() << 10);
        if written > limit / SLACK {
            self.prune(limit);
        }
    }

    /// Removes the least recently used entries while the cache is larger than `limit`; returns their number and bytes.
    pub fn prune(&self, limit: u64) -> (usize, u64) {
        drop(std::fs::remove_file(self.folder.join(WRITTEN)));
        let mut entries = entries(&self.folder);
        let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
        let goal = if total > limit { limit - limit / ROOM } else { limit };
        entries.sort_by(|one, other| (one.used, &one.path).cmp(&(other.used, &other.path)));
        let mut removed = (0, 0);
        for entry in entries {
            let is_left = entry.is_temporary && entry.used.elapsed().is_ok_and(|age| age > ABANDONED);
            if total <= goal && !is_left {
                continue;
            }
            // Another run may have removed the entry already.
            drop(fs_err::remove_file(&entry.path));
            total -= entry.bytes;
            removed = (removed.0 + 1, removed.1 + entry.bytes);
        }
        removed
    }
}

/// The size limit, from the environment if set.
pub fn limit() -> u64 {
    let typed = std::env::var(MAX_VARIABLE).ok().and_then(|text| text.trim().parse::<u64>().ok());
    typed.map_or(MAX_BYTES, |mib| mib.saturating_mul(1 << 20))
}

/// The content of an entry as it is stored, if it is whole and under the right key.
fn checked(key: &Key, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let length = bytes.len().checked_sub(HASH_BYTES)?;
    if hash(key, &bytes[..length]).as_bytes() != &bytes[length..] {
        return None;
    }
    bytes.truncate(length);
    Some(bytes)
}

fn hash(key: &Key, content: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(key.0.as_bytes()).update(content);
    hasher.finalize()
}

/// Number and bytes of all entries.
pub fn usage(folder: &Path) -> (usize, u64) {
    let entries = entries(folder);
    (entries.len(), entries.iter().map(|entry| entry.bytes).sum())
}

/// The bytes of all files below a folder, which is the one with toolkits and captured flags beside the cache.
pub fn bytes_below(folder: &Path) -> u64 {
    let files = walkdir::WalkDir::new(folder).into_iter().filter_map(Result::ok);
    files.filter_map(|entry| entry.metadata().ok()).filter(|data| data.is_file()).map(|data| data.len()).sum()
}

/// Removes all entries.
///
/// # Errors
/// The folder cannot be removed; a missing folder is no error.
pub fn clear(folder: &Path) -> std::io::Result<()> {
    match fs_err::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

struct EntryFile {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
    /// Not completely written yet.
    is_temporary: bool,
}

fn entries(folder: &Path) -> Vec<EntryFile> {
    let walk = walkdir::WalkDir::new(folder).min_depth(2).max_depth(2);
    let files = walk.into_iter().filter_map(Result::ok).filter(|entry| entry.file_type().is_file());
    files
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let is_temporary = entry.file_name().to_string_lossy().starts_with('.');
            Some(EntryFile { path: entry.into_path(), bytes: metadata.len(), used, is_temporary })
        })
        .collect()
}

fn touch(path: &Path) {
    let age =
        std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok().and_then(|time| time.elapsed().ok());
    if age.is_some_and(|age| age > TOUCH_AFTER) {
        // A read-only cache still serves hits.
        let file = places::open_own_to_write(path);
        drop(file.and_then(|file| file.set_modified(SystemTime::now())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::of([name])
    }

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("cache"));
        (folder, store)
    }

    #[test]
    fn damaged_entries_are_as_if_they_were_not_there() {
        let (_folder, store) = store();
        store.write(&key("a"), b"content").unwrap();
        assert_eq!(store.read(&key("a")).as_deref(), Some(b"content".as_slice()));
        let path = store.path(&key("a"));
        let whole = fs_err::read(&path).unwrap();
        for length in 0..whole.len() {
            fs_err::write(&path, &whole[..length]).unwrap();
            assert_eq!(store.read(&key("a")), None, "cut to {length}");
        }
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            fs_err::write(&path, &flipped).unwrap();
            assert_eq!(store.read(&key("a")), None, "flipped at {at}");
        }
        store.write(&key("b"), b"content").unwrap();
        fs_err::copy(store.path(&key("b")), &path).unwrap();
        assert_eq!(store.read(&key("a")), None);
        fs_err::remove_file(&path).unwrap();
        fs_err::create_dir_all(path.join("inner")).unwrap();
        assert_eq!(store.read(&key("a")), None);
        store.write(&key("a"), b"content").unwrap();
        assert_eq!(store.read(&key("a")).as_deref(), Some(b"content".as_slice()));
    }

    #[test]
    fn the_least_recently_used_go_first() {
        let (_folder, store) = store();
        let content = vec![0; 100 << 10];
        for (name, age) in [("old", 3), ("older", 4), ("new", 1)] {
            store.write(&key(name), &content).unwrap();
            let file = std::fs::File::options().write(true).open(store.path(&key(name))).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age * 3600)).unwrap();
        }
        store.shrink(1 << 30);
        assert_eq!(usage(&store.folder).0, 3);
        store.shrink(230 << 10);
        assert!(store.read(&key("older")).is_none() && store.read(&key("new")).is_some());
        assert_eq!(usage(&store.folder).0, 2);
        assert_eq!(store.prune(0).0, 2);
        assert_eq!(usage(&store.folder), (0, 0));
        clear(&store.folder).unwrap();
        clear(&store.folder).unwrap();
    }
}
