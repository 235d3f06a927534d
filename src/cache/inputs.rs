//! Cache entries that are valid while some files are unchanged.
//!
//! A key leads to lists of files, the newest first. The entry's own name is a hash of the key and of the contents of
//! all files in a list. So a file that is changed back, or has other content in another worktree, leads to its own
//! entry. Files outside the workspace are mostly the same for all units; they have a separate list, which is hashed
//! once per run.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use walkdir::WalkDir;

use super::hashes::Hashes;
use super::sought::Sought;
use super::store::{Key, Store};

/// Placeholder for the workspace's root in stored paths.
const ROOT: &str = "$ROOT";

/// Limit on lists per key. Several come from headers that are selected by flags outside the key, or from branches.
const MAX_LISTS: usize = 6;

/// Limit on names in folders that hide the system's.
const MAX_HIDING: usize = 2000;

/// Stands for the content of a missing file.
const NONE: &str = "-";

/// The input files of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct List {
    /// Files below the workspace's root, which is written as `$ROOT`.
    inside: Vec<String>,
    /// The name of the list of all other files.
    outside: Option<String>,
    /// The name of the list of what headers seek, which many units share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sought: Option<String>,
    /// Folders below the root in which headers would hide the system's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    folders: Vec<String>,
    /// The entry holds for this root alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_placed: bool,
}

/// A folder's entries, and whether each is a folder.
type Names = Vec<(String, bool)>;

/// File lists of one run.
#[derive(Default)]
pub struct Inputs {
    /// Content hashes of the lists that several units have, by name.
    shared: Mutex<HashMap<String, Option<String>>>,
    /// Names by which the headers among outside files may be included, by the name of their list.
    outside_names: Mutex<HashMap<String, Arc<HashSet<String>>>>,
    /// The same of the toolkits' headers.
    toolkit_names: Mutex<HashSet<String>>,
    /// Entries of folders.
    entries: Mutex<HashMap<PathBuf, Arc<Names>>>,
    /// Such lists that were there before this run, and that the remote cache has been sent.
    sent: Mutex<HashSet<String>>,
}

/// Converts between paths and a form that is valid in another worktree.
#[derive(Clone, Copy)]
pub struct Portable<'a>(pub &'a Path);

impl Portable<'_> {
    pub fn path(self, path: &Path) -> String {
        match path.strip_prefix(self.0) {
            Ok(rest) => Path::new(ROOT).join(rest).to_string_lossy().into_owned(),
            Err(_) => path.to_string_lossy().into_owned(),
        }
    }

    pub fn text(self, text: &str) -> String {
        text.replace(self.0.to_string_lossy().as_ref(), ROOT)
    }

    fn absolute(self, path: &str) -> PathBuf {
        match path.strip_prefix(ROOT) {
            Some(rest) => self.0.join(rest.trim_start_matches('/')),
            None => PathBuf::from(path),
        }
    }
}

/// Context of a lookup: the store, and the files below a root.
#[derive(Clone, Copy)]
pub struct Here<'a> {
    pub store: &'a Store,
    pub hashes: &'a Hashes,
    pub root: &'a Path,
}

impl Inputs {
    /// The possible entries for a key: their names, and the digests of their input files.
    pub fn find<'a>(&'a self, key: &Key, here: Here<'a>) -> impl Iterator<Item = (Key, String)> + use<'a> {
        let lists = lists(here.store.read_here(&lists_key(key)));
        let key = key.clone();
        let (known, further) = (lists.clone(), key.clone());
        // Another machine may know the same text with other headers.
        let further = std::iter::once_with(move || fetched(&further, known, here.store)).flatten();
        lists.into_iter().chain(further).filter_map(move |list| {
            let contents = self.contents(&list, here)?;
            Some((entry_key(&key, &contents), contents))
        })
    }

    /// The name of the entry for some input files, whose list is stored, and their digest; `None` if a file's content
    /// is unknown.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn add(
        &self,
        key: &Key,
        paths: &[PathBuf],
        sought: &Sought,
        here: Here<'_>,
    ) -> std::io::Result<Option<(Key, String)>> {
        let (inside, outside): (Vec<&PathBuf>, Vec<&PathBuf>) =
            paths.iter().partition(|path| path.starts_with(here.root));
        let list = List {
            inside: inside.into_iter().map(|path| Portable(here.root).path(path)).collect(),
            outside: self.add_shared("outside", outside.into_iter(), here)?,
            sought: self.add_shared("sought", sought.by_headers.iter(), here)?,
            folders: sought.folders.iter().map(|folder| Portable(here.root).path(folder)).collect(),
            is_placed: sought.is_placed,
        };
        let Some(contents) = self.contents(&list, here) else { return Ok(None) };
        let mut lists = lists(here.store.read_here(&lists_key(key)));
        if lists.first() != Some(&list) {
            lists.retain(|known| *known != list);
            lists.insert(0, list);
            lists.truncate(MAX_LISTS);
            here.store.write(&lists_key(key), &serde_json::to_vec(&lists)?)?;
        } else {
            // The folder may have them from before there was a remote cache.
            here.store.send(&lists_key(key));
        }
        Ok(Some((entry_key(key, &contents), contents)))
    }

    /// Stores a list that several units may have, and returns its name.
    fn add_shared<'p>(
        &self,
        kind: &str,
        paths: impl Iterator<Item = &'p PathBuf>,
        here: Here<'_>,
    ) -> std::io::Result<Option<String>> {
        let paths: Vec<String> = paths.map(|path| Portable(here.root).path(path)).collect();
        if paths.is_empty() {
            return Ok(None);
        }
        let key = Key::of(std::iter::once(kind).chain(paths.iter().map(String::as_str)));
        let name = key.as_str().to_string();
        // Who looked it up in this run has read it.
        let is_there = self.shared.lock().is_ok_and(|known| known.get(&name).is_some_and(Option::is_some));
        if !is_there && here.store.read(&key).is_none() {
            here.store.write(&key, &serde_json::to_vec(&paths)?)?;
            // An earlier lookup may have cached that there is no such list.
            self.shared.lock().ok().map(|mut known| known.remove(&name));
        } else if self.sent.lock().is_ok_and(|mut sent| sent.insert(name.clone())) {
            here.store.send(&key);
        }
        Ok(Some(name))
    }

    /// The digest of all files in a list.
    fn contents(&self, list: &List, here: Here<'_>) -> Option<String> {
        let mut parts = Vec::with_capacity(2 * list.inside.len() + 1);
        for path in &list.inside {
            let hash = here.hashes.of(&Portable(here.root).absolute(path));
            parts.extend([path.clone(), hash.unwrap_or_else(|| NONE.to_string())]);
        }
        for shared in [&list.outside, &list.sought].into_iter().flatten() {
            parts.push(self.shared(shared, here)?);
        }
        for folder in &list.folders {
            let hiding = self.hiding(&Portable(here.root).absolute(folder), list.outside.as_deref())?;
            parts.extend([folder.clone(), hiding]);
        }
        if list.is_placed {
            parts.push(here.root.to_string_lossy().into_owned());
        }
        Some(lmem_base::digest::name_of(parts.iter().map(String::as_str)))
    }

    /// Headers of a toolkit are sought in the folders of the command line first.
    pub fn add_toolkit(&self, folders: &[PathBuf]) {
        let names = folders.iter().flat_map(|folder| self.entries(folder).iter().cloned().collect::<Vec<_>>());
        let names: Vec<String> = names.map(|(name, _)| name).collect();
        if let Ok(mut known) = self.toolkit_names.lock() {
            known.extend(names);
        }
    }

    /// A digest of what in a folder has the name of a header of the toolkit or the system, or of a folder of such;
    /// `None` if there is too much of it.
    fn hiding(&self, folder: &Path, outside: Option<&str>) -> Option<String> {
        let entries = self.entries(folder);
        let known = outside.and_then(|name| self.outside_names.lock().ok()?.get(name).cloned());
        let toolkit = self.toolkit_names.lock().ok()?;
        let is_known =
            |name: &String| toolkit.contains(name) || known.as_ref().is_some_and(|known| known.contains(name));
        let mut found = Vec::new();
        for (name, is_folder) in entries.iter().filter(|(name, _)| is_known(name)) {
            found.push(name.clone());
            if *is_folder {
                let below = WalkDir::new(folder.join(name)).sort_by_file_name().into_iter().flatten();
                found.extend(below.take(MAX_HIDING).map(|entry| entry.path().to_string_lossy().into_owned()));
            }
            if found.len() > MAX_HIDING {
                return None;
            }
        }
        let relative = |name: &String| name.strip_prefix(&*folder.to_string_lossy()).unwrap_or(name).to_string();
        let found: Vec<String> = found.iter().map(relative).collect();
        Some(lmem_base::digest::name_of(found.iter().map(String::as_str)))
    }

    /// The entries of a folder, sorted; none of a missing one.
    fn entries(&self, folder: &Path) -> Arc<Names> {
        if let Some(known) = self.entries.lock().ok().and_then(|known| known.get(folder).cloned()) {
            return known;
        }
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let named = entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path().is_dir()));
        let mut names: Names = named.collect();
        names.sort();
        let names = Arc::new(names);
        if let Ok(mut known) = self.entries.lock() {
            known.insert(folder.to_path_buf(), Arc::clone(&names));
        }
        names
    }

    /// The digest of the files in a list that several units have.
    fn shared(&self, name: &str, here: Here<'_>) -> Option<String> {
        if let Some(known) = self.shared.lock().ok()?.get(name) {
            return known.clone();
        }
        let paths = here.store.read(&Key::named(name)?);
        let paths: Option<Vec<String>> = paths.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let digest = paths.map(|paths| {
            let names = Arc::new(paths.iter().flat_map(|path| included_as(path)).collect());
            self.outside_names.lock().ok().map(|mut known| known.insert(name.to_string(), names));
            let at = |path: &String| Portable(here.root).absolute(path);
            let hash = |path: &String| here.hashes.of(&at(path)).unwrap_or_else(|| NONE.to_string());
            let parts: Vec<String> = paths.iter().flat_map(|path| [path.clone(), hash(path)]).collect();
            lmem_base::digest::name_of(parts.iter().map(String::as_str))
        });
        self.shared.lock().ok()?.insert(name.to_string(), digest.clone());
        digest
    }
}

/// The names that an `#include` of a header may start with: those of the folders below `include`, and its own.
fn included_as(path: &str) -> impl Iterator<Item = String> {
    let below = path.split_once("/include/").map_or("", |(_, below)| below);
    below.split('/').filter(|name| !name.is_empty()).map(str::to_string)
}

/// The lists of a key that the remote cache has and the folder does not. The folder then has all of them.
fn fetched(key: &Key, known: Vec<List>, store: &Store) -> Vec<List> {
    let name = lists_key(key);
    let mut new = lists(store.fetch(&name));
    new.retain(|list| !known.contains(list));
    if !new.is_empty() {
        let all: Vec<&List> = new.iter().chain(&known).take(MAX_LISTS).collect();
        // If this fails, they are fetched again the next time.
        drop(serde_json::to_vec(&all).map(|bytes| store.write_here(&name, &bytes)));
    }
    new
}

fn lists(stored: Option<Vec<u8>>) -> Vec<List> {
    stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn lists_key(key: &Key) -> Key {
    Key::of(["inputs", key.as_str()])
}

fn entry_key(key: &Key, contents: &str) -> Key {
    Key::of(["entry", key.as_str(), contents])
}
