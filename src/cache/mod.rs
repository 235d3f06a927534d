//! Cache of results by their inputs: a second run does not compile or analyse anything that is unchanged.
//!
//! The key of an entry is a hash of the unit's text, its flags, the target, the toolkit, and the contents of all files
//! that were read (`inputs.rs`). Paths in the workspace are stored relative to its root, so that a cache can move to
//! another machine. A truncated or corrupted entry counts as missing (`store.rs`).

mod cargo;
mod environment;
mod failures;
mod hashes;
mod inputs;
mod place;
mod program;
pub mod remote;
mod sought;
mod store;
mod times;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use cuda_toolkit::Toolkit;
use lmem_base::digest::Digest;
use lmem_base::source::{SourceFile, normalize};
use lmem_base::stored::{self, StoredFile};
use lmem_unit::{Artifacts, CompilerMessage, TranslationUnit, UnitCode};

use crate::compile::Target;
use crate::verify::overlay::Overlay;
use environment::Environment;
use hashes::Hashes;
use inputs::{Here, Inputs, Portable};
use sought::{Headers, Sought};
use times::Times;

pub use cargo::CargoMemory;
pub use place::{NotOurs, check_place, refuse_toolkit};
pub use store::{Key, MAX_VARIABLE, Store, bytes_below, clear, limit, usage};

/// Changed whenever entries of older versions of this tool must not be read.
const FORMAT: &str = "cargo-lmem artifacts 20";
/// The same for the figures of edited units.
const OVERLAY_FORMAT: &str = "cargo-lmem figures 11";
/// The same for results derived from artifacts and from Rust code; their keys include the program itself.
const RESULT_FORMAT: &str = "cargo-lmem results 2";

/// Beside nvcc.
const PROFILE: &str = "nvcc.profile";

/// The version of what other programs are asked, and of the files on which their answers depend.
const OUTPUT_FORMAT: &str = "cargo-lmem outputs 1";

/// The cache entries of one workspace.
pub struct Cache {
    store: Store,
    /// The same without a remote cache: what only this machine or this folder should know.
    own: Store,
    root: PathBuf,
    /// What compilers may read besides the workspace: with less, a unit may not compile.
    allowed: Vec<PathBuf>,
    hashes: Hashes,
    inputs: Inputs,
    times: Times,
    environment: Environment,
    /// Fingerprints of toolkits, by folder.
    toolkits: Mutex<HashMap<PathBuf, String>>,
    /// Digests of the inputs of this run's units, by artifact key.
    contents: Mutex<HashMap<Key, String>>,
    /// What this run's units depend on besides what was read, by artifact key; `None` if it cannot be told.
    sought: Mutex<HashMap<Key, Option<Sought>>>,
    headers: Headers,
    /// Files that results have spans in.
    sources: Mutex<HashMap<PathBuf, (StoredFile, Arc<SourceFile>)>>,
    program: OnceLock<Option<String>>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    /// The workspace's root when the entry was made; the PTX names files below it.
    root: PathBuf,
    artifacts: Artifacts,
}

/// Header of a stored result.
#[derive(Serialize, Deserialize)]
struct ResultHead {
    root: PathBuf,
    /// The files that its spans refer to.
    files: Vec<StoredFile>,
    /// Digest of the inputs of the artifacts that the result was derived from.
    contents: Option<String>,
}

/// The compilation that a result is derived from.
#[derive(Clone, Copy)]
pub struct Origin<'a> {
    /// Of the artifacts.
    pub key: &'a Key,
    pub unit: &'a TranslationUnit,
    pub toolkit: &'a Path,
}

impl Cache {
    /// The cache in `folder`, which is created at the first write, for files below `root`.
    pub fn new(folder: PathBuf, root: &Path) -> Self {
        let store = Store::new(folder);
        let hashes = Hashes::load(&store, root);
        let times = Times::load(&store, root);
        Self {
            own: store.shared(None),
            store,
            root: root.to_path_buf(),
            allowed: Vec::new(),
            hashes,
            inputs: Inputs::default(),
            times,
            environment: Environment::default(),
            toolkits: Mutex::default(),
            contents: Mutex::default(),
            sought: Mutex::default(),
            headers: Headers::default(),
            sources: Mutex::default(),
            program: OnceLock::new(),
        }
    }

    /// This cache with one that other machines use too.
    #[must_use]
    pub fn shared(self, remote: Option<Arc<remote::Remote>>) -> Self {
        Self { store: self.store.shared(remote), ..self }
    }

    /// This cache for compilers that may read these paths too.
    #[must_use]
    pub fn allowing(self, allowed: Vec<PathBuf>) -> Self {
        Self { allowed, ..self }
    }

    /// The key for a unit and a target.
    pub fn key(&self, unit: &TranslationUnit, target: &Target) -> Key {
        let mut parts = Digest::default();
        let mut part = |text: &str| parts.add(text);
        part(FORMAT);
        part(&self.fingerprint(&target.toolkit));
        part(&target.architecture);
        part(&self.here().path(&unit.base));
        for path in &self.allowed {
            part("may read");
            part(&self.here().path(path));
        }
        match &unit.code {
            UnitCode::CudaFile { file, flags } => {
                part("cu");
                part(&self.here().path(&file.path));
                part(file.text());
                flags.all_arguments().iter().for_each(|argument| part(&self.here().text(argument)));
                part(if flags.origin.may_be_incomplete() { "assumed" } else { "given" });
                flags.virtual_architecture(&target.architecture).into_iter().for_each(&mut part);
                self.environment.of_nvcc(flags.origin, &self.hashes).iter().for_each(|text| part(text));
            }
            UnitCode::CudaText { text, options } => {
                part("nvrtc");
                part(text.as_str());
                part(options.program_name.as_deref().unwrap_or(""));
                options.arguments.iter().for_each(|argument| part(&self.here().text(argument)));
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
        Key::of([parts.finish().as_str()])
    }

    /// The key for the figures of a unit with edits. It includes the contents of all files that the unit reads; `None`
    /// if they are not known because the unit itself is not in the cache.
    pub fn overlay_key(&self, overlay: &Overlay<'_>, target: &Target) -> Option<Key> {
        let mut parts = Digest::default();
        let mut part = |text: &str| parts.add(text);
        let unit = self.key(overlay.unit, target);
        part(OVERLAY_FORMAT);
        // The results of running both versions are this program's own.
        part(self.program()?);
        part(unit.as_str());
        for (path, text) in overlay.texts() {
            part(&path);
            part(text);
        }
        for (kernel, threads) in &overlay.threads {
            part(&format!("{kernel} {threads}"));
        }
        // What a launch executes is counted. Those in Rust code are not in the unit's text.
        for launch in &overlay.unit.launches {
            part(&format!("{} {:?}", launch.kernel, launch.block));
        }
        part(&self.contents.lock().ok()?.get(&unit).cloned()?);
        Some(Key::of([parts.finish().as_str()]))
    }

    /// A stored value.
    pub fn get_value<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        serde_json::from_slice(&self.store.read(key)?).ok()
    }

    /// Stores a value.
    ///
    /// # Errors
    /// The value cannot be written.
    pub fn put_value(&self, key: &Key, value: &impl Serialize) -> std::io::Result<()> {
        self.store.write(key, &serde_json::to_vec(value)?)
    }

    /// The toolkit's fingerprint. It requires reading files, so it is computed once for all units.
    fn fingerprint(&self, toolkit: &Toolkit) -> String {
        match self.toolkits.lock() {
            Ok(mut known) => known.entry(toolkit.root.clone()).or_insert_with(|| self.meet(toolkit)).clone(),
            Err(_) => toolkit.fingerprint(),
        }
    }

    fn meet(&self, toolkit: &Toolkit) -> String {
        self.inputs.add_toolkit(&toolkit.include_dirs());
        // It has flags that nvcc adds to all others.
        let profile = toolkit.nvcc.as_ref().and_then(|nvcc| self.hashes.of(&normalize(nvcc).with_file_name(PROFILE)));
        format!("{} {}", toolkit.fingerprint(), profile.unwrap_or_default())
    }

    /// Whether a toolkit was fetched: its versions are part of the key, and nobody edits it. The headers of others are read like those of the
    /// system.
    pub fn is_of_key(&self, toolkit: &Path) -> bool {
        let known = self.toolkits.lock();
        known.is_ok_and(|known| known.get(toolkit).is_some_and(|text| text.starts_with(cuda_toolkit::MANAGED)))
    }

    fn here(&self) -> Portable<'_> {
        Portable(&self.root)
    }

    fn place(&self) -> Here<'_> {
        Here { store: &self.store, hashes: &self.hashes, root: &self.root }
    }

    /// What other machines may find out otherwise.
    fn own_place(&self) -> Here<'_> {
        Here { store: &self.own, ..self.place() }
    }

    /// The artifacts of an entry whose inputs are unchanged.
    pub fn get(&self, key: &Key) -> Option<Artifacts> {
        let (entry, contents) = self.inputs.find(key, self.place()).find_map(|(entry, contents)| {
            let found = decode(&self.store.read(&entry)?)?;
            Some((found, contents))
        })?;
        self.note_contents(key, &contents);
        Some(self.moved_here(entry))
    }

    fn note_contents(&self, key: &Key, contents: &str) {
        if let Ok(mut known) = self.contents.lock() {
            known.insert(key.clone(), contents.to_string());
        }
    }

    /// Replaces the stored root in file names by the current one.
    fn moved_here(&self, entry: Entry) -> Artifacts {
        let mut artifacts = entry.artifacts;
        let Some(moved) = Moved::between(&entry.root, &self.root) else { return artifacts };
        artifacts.ptx = moved.text(&artifacts.ptx);
        moved.messages(&mut artifacts.messages);
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

    /// Stores artifacts that were made after `since`. Files of the toolkit are covered by its fingerprint and not
    /// checked. If an input changed meanwhile, the version that was compiled is unknown, so there is no entry.
    ///
    /// # Errors
    /// The entry cannot be written; the run continues without it.
    pub fn put(&self, origin: Origin<'_>, artifacts: &Artifacts, since: SystemTime) -> std::io::Result<()> {
        let Origin { key, unit, toolkit } = origin;
        let Some((paths, sought)) = self.unchanged(key, unit, &artifacts.dependencies, toolkit, since) else {
            return Ok(());
        };
        let Some((entry_key, contents)) = self.inputs.add(key, &paths, &sought, self.place())? else { return Ok(()) };
        let entry = Entry { root: self.root.clone(), artifacts: artifacts.clone() };
        self.store.write(&entry_key, &encode(entry)?)?;
        self.note_contents(key, &contents);
        Ok(())
    }

    /// The files that a compiler read for a unit, except the toolkit's own, and those that it looked for; `None` if one
    /// changed after `since`.
    fn unchanged(
        &self,
        key: &Key,
        unit: &TranslationUnit,
        read: &[PathBuf],
        toolkit: &Path,
        since: SystemTime,
    ) -> Option<(Vec<PathBuf>, Sought)> {
        if !self.is_as_read(unit, since) {
            return None;
        }
        let is_of_key = self.is_of_key(toolkit);
        let toolkit = folders_of(toolkit);
        let is_of_toolkit = |path: &PathBuf| toolkit.iter().any(|folder| path.starts_with(folder));
        let paths = read.iter().map(|path| normalize(path));
        let mut paths: Vec<PathBuf> = paths.filter(|path| !(is_of_key && is_of_toolkit(path))).collect();
        paths.sort();
        paths.dedup();
        if !paths.iter().all(|path| self.hashes.of(path).is_some()) {
            return None;
        }
        let sought = self.sought(key, unit, &paths, &toolkit)?;
        if !self.is_unchanged(&paths.iter().chain(sought.paths()).collect::<Vec<_>>(), since) {
            return None;
        }
        paths.extend(sought.by_text.iter().cloned());
        paths.sort();
        Some((paths, sought))
    }

    /// Whether files, and the folders of the tree that they are in, are those that they were at a time.
    fn is_unchanged(&self, paths: &[&PathBuf], since: SystemTime) -> bool {
        paths.iter().all(|path| self.hashes.is_older_than(path, since))
            && Hashes::stay_in_place(paths.iter().map(|path| path.as_path()), &self.root, since)
    }

    /// Whether the compiler read the text of a unit that we read: it opens the file by its name, when it may be another.
    fn is_as_read(&self, unit: &TranslationUnit, since: SystemTime) -> bool {
        let UnitCode::CudaFile { file, .. } = &unit.code else { return true };
        // An edited copy is written just before it is compiled, and nobody else knows its place.
        let is_copy = unit.base.starts_with(std::env::temp_dir());
        let is_settled = is_copy
            || Hashes::was_changed_before(&file.path, since)
                && Hashes::stay_in_place(std::iter::once(&*file.path), &self.root, since);
        is_settled && SourceFile::read(&file.path, &self.root).is_ok_and(|now| now.text() == file.text())
    }

    /// What a unit depends on besides the files that were read for it: sorted, and without the toolkit's.
    fn sought(&self, key: &Key, unit: &TranslationUnit, read: &[PathBuf], toolkit: &[PathBuf]) -> Option<Sought> {
        if let Some(known) = self.sought.lock().ok()?.get(key) {
            return known.clone();
        }
        let sought = Sought::of(unit, read, toolkit, &self.root, &self.headers);
        self.sought.lock().ok()?.insert(key.clone(), sought.clone());
        sought
    }

    /// The key for a result that this program derives from some inputs; `None` if the program cannot identify its own
    /// build.
    pub fn result_key(&self, what: &str, value: &impl Serialize) -> Option<Key> {
        let (text, files) = stored::write(value).ok()?;
        let mut parts = Digest::default();
        parts.add(RESULT_FORMAT);
        parts.add(what);
        parts.add(self.program()?);
        parts.add(&self.here().text(&String::from_utf8(text).ok()?));
        for file in files {
            let file = self.stored(&file);
            parts.add(&self.here().path(&file.path));
            parts.add(&file.display);
            parts.add(&file.hash);
        }
        Some(Key::of([parts.finish().as_str()]))
    }

    /// The key for what another program printed, whichever build of this one started it.
    fn output_key(&self, what: &str, name: &str) -> Key {
        Key::of([OUTPUT_FORMAT, what, &self.here().text(name)])
    }

    /// A stored result, if all its inputs are unchanged. Its spans refer to the current files.
    pub fn result<T: DeserializeOwned>(&self, key: &Key, unit: Option<&Key>) -> Option<T> {
        let (head, value) = self.inputs.find(key, self.place()).find_map(|(entry, _)| {
            let bytes = self.store.read(&entry)?;
            let (head, value) = split(&bytes)?;
            Some((head.to_vec(), value.to_vec()))
        })?;
        let mut head: ResultHead = serde_json::from_slice(&head).ok()?;
        let mut value = value;
        if head.root != self.root {
            let (old, new) = (head.root.to_string_lossy().into_owned(), self.root.to_string_lossy().into_owned());
            value = String::from_utf8(value).ok()?.replace(&old, &new).into_bytes();
            for file in &mut head.files {
                if let Ok(rest) = file.path.strip_prefix(&head.root) {
                    file.path = self.root.join(rest);
                }
            }
        }
        let files: Option<Vec<Arc<SourceFile>>> = head.files.iter().map(|file| self.source(file)).collect();
        let value = stored::read(&value, files?).ok()?;
        if let (Some(unit), Some(contents)) = (unit, &head.contents) {
            self.note_contents(unit, contents);
        }
        Some(value)
    }

    /// Stores a result derived from files after `since`, and from the artifacts of a unit.
    ///
    /// # Errors
    /// The result cannot be written.
    pub fn keep_result(
        &self,
        key: &Key,
        origin: Option<Origin<'_>>,
        value: &impl Serialize,
        paths: impl IntoIterator<Item = PathBuf>,
        since: SystemTime,
    ) -> std::io::Result<()> {
        let contents = origin.and_then(|origin| self.contents.lock().ok()?.get(origin.key).cloned());
        if origin.is_some() && contents.is_none() {
            return Ok(());
        }
        let (value, files) = stored::write(value)?;
        let named = files.iter().filter(|file| file.path.is_absolute()).map(|file| file.path.clone());
        let mut paths: Vec<PathBuf> = paths.into_iter().map(|path| normalize(&path)).chain(named).collect();
        paths.sort();
        paths.dedup();
        let sought = match origin {
            Some(Origin { key, unit, toolkit }) => self.sought(key, unit, &paths, &folders_of(toolkit)),
            None => Some(Sought::default()),
        };
        let Some(sought) = sought else { return Ok(()) };
        if !self.is_unchanged(&paths.iter().chain(sought.paths()).collect::<Vec<_>>(), since) {
            return Ok(());
        }
        paths.extend(sought.by_text.iter().cloned());
        paths.sort();
        paths.dedup();
        let Some((entry_key, _)) = self.inputs.add(key, &paths, &sought, self.place())? else { return Ok(()) };
        let files = files.iter().map(|file| self.stored(file)).collect();
        let head = serde_json::to_vec(&ResultHead { root: self.root.clone(), files, contents })?;
        self.store.write(&entry_key, &joined(head, &value))
    }

    /// The current file for a stored one, if its content is the same.
    fn source(&self, file: &StoredFile) -> Option<Arc<SourceFile>> {
        if let Some((known, source)) = self.sources.lock().ok()?.get(&file.path) {
            return (known == file).then(|| Arc::clone(source));
        }
        let source = file.find(&self.root)?;
        self.sources.lock().ok()?.insert(file.path.clone(), (file.clone(), Arc::clone(&source)));
        Some(source)
    }

    /// A file's entry in the table of a result; its hash is computed once.
    fn stored(&self, file: &Arc<SourceFile>) -> StoredFile {
        let Ok(mut sources) = self.sources.lock() else { return StoredFile::of(file) };
        match sources.get(&file.path) {
            Some((known, source)) if Arc::ptr_eq(source, file) => known.clone(),
            _ => {
                let stored = StoredFile::of(file);
                sources.insert(file.path.clone(), (stored.clone(), Arc::clone(file)));
                stored
            }
        }
    }

    /// A hash of the running program: another build may derive other results.
    fn program(&self) -> Option<&str> {
        let content = || self.hashes.of(&std::env::current_exe().ok()?);
        self.program.get_or_init(|| program::build_id().or_else(content)).as_deref()
    }

    /// How long compiling a unit took the last time.
    pub fn time_of(&self, unit: &TranslationUnit, architecture: &str) -> Option<Duration> {
        self.times.of(&format!("{} {architecture}", unit.name))
    }

    /// Records how long compiling a unit took.
    pub fn took(&self, unit: &TranslationUnit, architecture: &str, time: Duration) {
        self.times.add(format!("{} {architecture}", unit.name), time);
    }

    /// Saves the file hashes of this run.
    fn save_hashes(&self) {
        self.hashes.save(&self.own, &self.root);
    }

    /// Saves the file hashes of this run, and removes the least recently used entries if the cache is too large.
    pub fn finish(&self) {
        self.save_hashes();
        self.times.save(&self.own, &self.root);
        self.store.shrink(limit());
    }
}

/// The folders below which the headers of a toolkit lie: nvcc names them by way of the links that lead to it, or without them.
fn folders_of(toolkit: &Path) -> Vec<PathBuf> {
    std::iter::once(normalize(toolkit)).chain(std::fs::canonicalize(toolkit)).collect()
}

/// Replaces the root of the workspace that wrote an entry by the root of the one that reads it.
struct Moved {
    old: String,
    new: String,
}

impl Moved {
    fn between(old: &Path, new: &Path) -> Option<Self> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        (old != new).then(|| Self { old: text(old), new: text(new) })
    }

    fn text(&self, text: &str) -> String {
        text.replace(&self.old, &self.new)
    }

    fn messages(&self, messages: &mut [CompilerMessage]) {
        for (file, _) in messages.iter_mut().filter_map(|message| message.place.as_mut()) {
            *file = self.text(file);
        }
    }
}

/// The folder of all workspaces' entries, in the tool's cache folder.
pub fn folder(cache_root: &Path) -> PathBuf {
    cache_root.join("artifacts")
}

/// Removes the least recently used entries until the rest fits; returns their number and bytes.
pub fn prune(folder: &Path, limit: u64) -> (usize, u64) {
    Store::new(folder.to_path_buf()).prune(limit)
}

/// Encodes an entry as the JSON's length, the JSON, then the raw cubin: bytes in JSON would take four times the space.
fn encode(mut entry: Entry) -> std::io::Result<Vec<u8>> {
    let cubin = std::mem::take(&mut entry.artifacts.cubin);
    Ok(joined(serde_json::to_vec(&entry)?, &cubin))
}

fn decode(content: &[u8]) -> Option<Entry> {
    let (json, cubin) = split(content)?;
    let mut entry: Entry = serde_json::from_slice(json).ok()?;
    entry.artifacts.cubin = cubin.to_vec();
    Some(entry)
}

/// Two parts, preceded by the length of the first.
fn joined(first: Vec<u8>, second: &[u8]) -> Vec<u8> {
    [&(first.len() as u64).to_le_bytes(), first.as_slice(), second].concat()
}

fn split(content: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = content.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

#[cfg(test)]
mod tests;
