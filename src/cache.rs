//! Artifacts by what they were made from: a second run compiles nothing that did not change.
//!
//! An entry is found by a hash of the unit's text, its flags, the target and the toolkit; it holds if all files
//! that the compilation read still have the content they had. Paths below the workspace are kept relative to
//! it, so that a cache can move to another machine. An entry that is cut or broken is as if it were not there.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use cuda_toolkit::Toolkit;
use lmem_base::digest::Digest;
use lmem_base::files::write_whole;
use lmem_base::places;
use lmem_unit::{Artifacts, TranslationUnit, UnitCode};

use crate::compile::unit::Target;
use crate::verify::overlay::Overlay;

/// Larger files are no text that a compiler read; what depends on one is not kept.
const MAX_INPUT_BYTES: u64 = 256 << 20;

/// Changes whenever entries of older versions of this tool must not be read.
const FORMAT: &str = "cargo-lmem artifacts 4";
/// The same for the figures of edited units.
const OVERLAY_FORMAT: &str = "cargo-lmem figures 4";
/// Oldest entries go when all together are larger.
const MAX_BYTES: u64 = 2 << 30;
/// A hit makes an entry young again, but not at every run: that would only cost writes.
const TOUCH_AFTER: Duration = Duration::from_secs(24 * 3600);
/// Stands for the workspace's root in stored paths.
const ROOT: &str = "$ROOT";
const HASH_BYTES: usize = blake3::OUT_LEN;

/// Name of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key(String);

/// A folder of entries, for one workspace.
pub struct Cache {
    folder: PathBuf,
    root: PathBuf,
    /// Content of files, so that a header of a hundred units is read once.
    hashes: Mutex<HashMap<PathBuf, Option<String>>>,
    /// Identities of toolkits by their folder.
    toolkits: Mutex<HashMap<PathBuf, String>>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    /// The workspace's root when the entry was made; the PTX names files below it.
    root: PathBuf,
    /// Path, with `$ROOT` for the workspace, and hash.
    dependencies: Vec<(String, String)>,
    artifacts: Artifacts,
}

impl Cache {
    /// The cache in `folder`, made at the first write, for files below `root`.
    pub fn new(folder: PathBuf, root: &Path) -> Self {
        Self { folder, root: root.to_path_buf(), hashes: Mutex::default(), toolkits: Mutex::default() }
    }

    /// The name of the entry for a unit and a target.
    pub fn key(&self, unit: &TranslationUnit, target: &Target) -> Key {
        let mut parts = Digest::default();
        let mut part = |text: &str| parts.add(text);
        part(FORMAT);
        part(&self.fingerprint(&target.toolkit));
        part(&target.architecture);
        part(&self.portable(&unit.base));
        match &unit.code {
            UnitCode::CudaFile { file, flags } => {
                part("cu");
                part(&self.portable(&file.path));
                part(file.text());
                flags.all_arguments().iter().for_each(|argument| part(&self.portable_text(argument)));
                part(if flags.origin.may_be_incomplete() { "assumed" } else { "given" });
                flags.virtual_architecture(&target.architecture).into_iter().for_each(&mut part);
            }
            UnitCode::CudaText { text, options } => {
                part("nvrtc");
                part(text.as_str());
                part(options.program_name.as_deref().unwrap_or(""));
                options.arguments.iter().for_each(|argument| part(&self.portable_text(argument)));
                if let Some(captured) = &options.captured {
                    let headers = captured.headers.iter().flat_map(|(name, text)| [name, text]);
                    headers.chain(&captured.expressions).for_each(|text| part(text));
                    part(if captured.takes_cubin { "cubin" } else { "ptx" });
                }
            }
            UnitCode::Ptx { text, options } => {
                part("ptx");
                part(text.as_str());
                options.arguments.iter().for_each(|argument| part(argument));
            }
            UnitCode::Machine(code) => {
                part("cubin");
                part(blake3::hash(code.cubin.as_deref().unwrap_or_default()).to_hex().as_str());
            }
        }
        Key(parts.finish())
    }

    /// The name of the figures of a unit with edits: those of the unit, and the content of all that it reads.
    pub fn overlay_key(&self, overlay: &Overlay<'_>, target: &Target) -> Key {
        let mut parts = Digest::default();
        let mut part = |text: &str| parts.add(text);
        part(OVERLAY_FORMAT);
        part(&self.key(overlay.unit, target).0);
        for (path, text) in overlay.texts() {
            part(&path);
            part(text);
        }
        for path in overlay.dependencies {
            part(&self.portable(path));
            part(&self.hash(path).unwrap_or_default());
        }
        Key(parts.finish())
    }

    /// A value that was kept under a name.
    pub fn get_value<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        let path = self.path(key);
        let value = serde_json::from_slice(&checked(key, &fs_err::read(&path).ok()?)?).ok()?;
        touch(&path);
        Some(value)
    }

    /// Keeps a value.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put_value(&self, key: &Key, value: &impl Serialize) -> std::io::Result<()> {
        self.write(key, &sealed(key, serde_json::to_vec(value)?))
    }

    fn write(&self, key: &Key, content: &[u8]) -> std::io::Result<()> {
        let path = self.path(key);
        let folder = path.parent().unwrap_or(&self.folder);
        fs_err::create_dir_all(folder)?;
        write_whole(&path, content)
    }

    /// The toolkit's identity, for which files are read: once for all units.
    fn fingerprint(&self, toolkit: &Toolkit) -> String {
        match self.toolkits.lock() {
            Ok(mut known) => known.entry(toolkit.root.clone()).or_insert_with(|| toolkit.fingerprint()).clone(),
            Err(_) => toolkit.fingerprint(),
        }
    }

    fn portable(&self, path: &Path) -> String {
        match path.strip_prefix(&self.root) {
            Ok(rest) => Path::new(ROOT).join(rest).to_string_lossy().into_owned(),
            Err(_) => path.to_string_lossy().into_owned(),
        }
    }

    fn portable_text(&self, text: &str) -> String {
        text.replace(self.root.to_string_lossy().as_ref(), ROOT)
    }

    fn absolute(&self, path: &str) -> PathBuf {
        match path.strip_prefix(ROOT) {
            Some(rest) => self.root.join(rest.trim_start_matches('/')),
            None => PathBuf::from(path),
        }
    }

    /// The artifacts of an entry whose dependencies have not changed.
    pub fn get(&self, key: &Key) -> Option<Artifacts> {
        let path = self.path(key);
        let bytes = fs_err::read(&path).ok()?;
        let entry = decode(&checked(key, &bytes)?)?;
        let unchanged = |(path, hash): &(String, String)| self.hash(&self.absolute(path)).as_deref() == Some(hash);
        if !entry.dependencies.iter().all(unchanged) {
            return None;
        }
        touch(&path);
        Some(self.moved_here(entry))
    }

    /// Names of files change with the workspace's place.
    fn moved_here(&self, entry: Entry) -> Artifacts {
        let mut artifacts = entry.artifacts;
        if entry.root == self.root {
            return artifacts;
        }
        let (old, new) = (entry.root.to_string_lossy().into_owned(), self.root.to_string_lossy().into_owned());
        artifacts.ptx = artifacts.ptx.replace(&old, &new);
        for message in &mut artifacts.messages {
            if let Some((file, _)) = &mut message.place {
                *file = file.replace(&old, &new);
            }
        }
        for path in &mut artifacts.dependencies {
            if let Ok(rest) = lmem_base::source::normalize(path).strip_prefix(&entry.root) {
                *path = self.root.join(rest);
            }
        }
        if let Ok(rest) = artifacts.folder.strip_prefix(&entry.root) {
            artifacts.folder = self.root.join(rest);
        }
        artifacts
    }

    /// Keeps artifacts. Files of the toolkit itself are covered by its fingerprint and are not looked at again.
    ///
    /// # Errors
    /// The entry cannot be written; the run goes on without.
    pub fn put(&self, key: &Key, artifacts: &Artifacts, toolkit: &Path) -> std::io::Result<()> {
        let toolkit = lmem_base::source::normalize(toolkit);
        let mut dependencies = Vec::new();
        for path in artifacts.dependencies.iter().map(|path| lmem_base::source::normalize(path)) {
            if path.starts_with(&toolkit) {
                continue;
            }
            // A file that is gone already will not be the same again: no entry.
            let Some(hash) = self.hash(&path) else { return Ok(()) };
            dependencies.push((self.portable(&path), hash));
        }
        let entry = Entry { root: self.root.clone(), dependencies, artifacts: artifacts.clone() };
        self.write(key, &sealed(key, encode(entry)?))
    }

    fn path(&self, key: &Key) -> PathBuf {
        let (start, rest) = key.0.split_at(2);
        self.folder.join(start).join(rest)
    }

    fn hash(&self, path: &Path) -> Option<String> {
        if let Some(known) = self.hashes.lock().ok()?.get(path) {
            return known.clone();
        }
        let hash = places::read(path, MAX_INPUT_BYTES).ok().map(|bytes| blake3::hash(&bytes).to_hex().to_string());
        self.hashes.lock().ok()?.insert(path.to_path_buf(), hash.clone());
        hash
    }

    /// Removes the oldest entries while all together are too large.
    pub fn shrink(&self) {
        let mut entries = entries(&self.folder);
        let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
        entries.sort_by_key(|entry| entry.used);
        for entry in entries {
            if total <= MAX_BYTES {
                break;
            }
            // Another run may have removed it; either way it is gone.
            drop(fs_err::remove_file(&entry.path));
            total -= entry.bytes;
        }
    }
}

/// Content with a hash of it and of its name: an entry that was cut, changed, or put in the place of another is none.
fn sealed(key: &Key, mut content: Vec<u8>) -> Vec<u8> {
    let hash = hash_of(key, &content);
    content.extend(hash.as_bytes());
    content
}

fn checked(key: &Key, bytes: &[u8]) -> Option<Vec<u8>> {
    let (content, hash) = bytes.split_at_checked(bytes.len().checked_sub(HASH_BYTES)?)?;
    (hash_of(key, content).as_bytes() == hash).then(|| content.to_vec())
}

fn hash_of(key: &Key, content: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(key.0.as_bytes()).update(content);
    hasher.finalize()
}

/// Where entries of all workspaces lie, below the cache folder of the tool.
pub fn folder(cache_root: &Path) -> PathBuf {
    cache_root.join("artifacts")
}

/// Number and bytes of all entries.
pub fn usage(folder: &Path) -> (usize, u64) {
    let entries = entries(folder);
    (entries.len(), entries.iter().map(|entry| entry.bytes).sum())
}

/// Removes all entries.
///
/// # Errors
/// The folder cannot be removed; that there is none is no error.
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
}

fn entries(folder: &Path) -> Vec<EntryFile> {
    let walk = walkdir::WalkDir::new(folder).min_depth(2).max_depth(2);
    let files = walk.into_iter().filter_map(Result::ok).filter(|entry| entry.file_type().is_file());
    files
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            Some(EntryFile { path: entry.into_path(), bytes: metadata.len(), used })
        })
        .collect()
}

fn touch(path: &Path) {
    let age = fs_err::metadata(path).and_then(|metadata| metadata.modified()).ok().and_then(|time| time.elapsed().ok());
    if age.is_some_and(|age| age > TOUCH_AFTER) {
        // A cache that cannot be written still serves.
        drop(
            fs_err::File::options()
                .append(true)
                .open(path)
                .and_then(|file| file.file().set_modified(SystemTime::now())),
        );
    }
}

/// The JSON's length, the JSON, then the cubin as it is: bytes in JSON would take four times the room.
fn encode(mut entry: Entry) -> std::io::Result<Vec<u8>> {
    let cubin = std::mem::take(&mut entry.artifacts.cubin);
    let json = serde_json::to_vec(&entry)?;
    let mut content = (json.len() as u64).to_le_bytes().to_vec();
    content.extend(json);
    content.extend(cubin);
    Ok(content)
}

fn decode(content: &[u8]) -> Option<Entry> {
    let (length, rest) = content.split_first_chunk::<8>()?;
    let (json, cubin) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let mut entry: Entry = serde_json::from_slice(json).ok()?;
    entry.artifacts.cubin = cubin.to_vec();
    Some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Workspace {
        folder: tempfile::TempDir,
        header: PathBuf,
    }

    fn workspace() -> Workspace {
        let folder = tempfile::tempdir().unwrap();
        let header = folder.path().join("a.cuh");
        fs_err::write(&header, "int x;").unwrap();
        Workspace { folder, header }
    }

    impl Workspace {
        fn cache(&self) -> Cache {
            Cache::new(self.folder.path().join("cache"), self.folder.path())
        }

        fn artifacts(&self) -> Artifacts {
            Artifacts {
                cubin: vec![1, 2, 255],
                ptx: "x".into(),
                dependencies: vec![self.header.clone()],
                ..Default::default()
            }
        }
    }

    fn key() -> Key {
        Key("abcdef".into())
    }

    #[test]
    fn what_was_put_comes_back_until_a_dependency_changes() {
        let workspace = workspace();
        workspace.cache().put(&key(), &workspace.artifacts(), Path::new("/toolkit")).unwrap();
        assert_eq!(workspace.cache().get(&key()), Some(workspace.artifacts()));
        fs_err::write(&workspace.header, "int y;").unwrap();
        assert_eq!(workspace.cache().get(&key()), None);
        fs_err::remove_file(&workspace.header).unwrap();
        assert_eq!(workspace.cache().get(&key()), None);
    }

    #[test]
    fn broken_entries_are_as_if_they_were_not_there() {
        let workspace = workspace();
        let cache = workspace.cache();
        cache.put(&key(), &workspace.artifacts(), Path::new("/toolkit")).unwrap();
        let path = cache.path(&key());
        let whole = fs_err::read(&path).unwrap();
        for length in 0..whole.len() {
            fs_err::write(&path, &whole[..length]).unwrap();
            assert_eq!(cache.get(&key()), None, "cut to {length}");
        }
        let mut flipped = whole;
        flipped[20] ^= 1;
        fs_err::write(&path, &flipped).unwrap();
        assert_eq!(cache.get(&key()), None);
    }

    #[test]
    fn a_cache_moves_with_its_workspace() {
        let old = workspace();
        let ptx = format!(".file 1 \"{}/a.cuh\"", old.folder.path().display());
        let artifacts = Artifacts { ptx, ..old.artifacts() };
        old.cache().put(&key(), &artifacts, Path::new("/toolkit")).unwrap();
        let new = workspace();
        let moved = Cache::new(old.folder.path().join("cache"), new.folder.path());
        let found = moved.get(&key()).unwrap();
        assert_eq!(found.dependencies, std::slice::from_ref(&new.header));
        assert!(found.ptx.contains(new.folder.path().to_str().unwrap()), "{}", found.ptx);
    }

    #[test]
    fn usage_and_clearing() {
        let workspace = workspace();
        let cache = workspace.cache();
        assert_eq!(usage(&cache.folder), (0, 0));
        cache.put(&key(), &workspace.artifacts(), Path::new("/toolkit")).unwrap();
        assert_eq!(usage(&cache.folder).0, 1);
        clear(&cache.folder).unwrap();
        clear(&cache.folder).unwrap();
        assert_eq!(usage(&cache.folder), (0, 0));
    }
}
