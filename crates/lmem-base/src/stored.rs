//! Serialization of values that contain source positions.
//!
//! A [`Span`] holds its file with the whole text. Serialized, the file is an index into a table that is written once
//! beside the value. The reader must load the table's files first and check that they are unchanged.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::source::{SourceFile, Span};

thread_local! {
    /// The file table of the value that this thread writes or reads.
    static FILES: RefCell<Vec<Arc<SourceFile>>> = const { RefCell::new(Vec::new()) };
}

/// Serializes a value, and returns the files of its positions.
///
/// # Errors
/// The value cannot be serialized as JSON.
pub fn write<T: Serialize>(value: &T) -> serde_json::Result<(Vec<u8>, Vec<Arc<SourceFile>>)> {
    let before = FILES.take();
    let written = serde_json::to_vec(value);
    Ok((written?, FILES.replace(before)))
}

/// Deserializes a value whose positions are in `files`.
///
/// # Errors
/// The bytes are not such a value, or a position is in none of the files.
pub fn read<T: DeserializeOwned>(bytes: &[u8], files: Vec<Arc<SourceFile>>) -> serde_json::Result<T> {
    let before = FILES.replace(files);
    let value = serde_json::from_slice(bytes);
    FILES.set(before);
    value
}

/// The index of a file in the table; adds a missing file.
fn number(file: &Arc<SourceFile>) -> usize {
    FILES.with_borrow_mut(|files| {
        // Most positions are in the same file as the previous one.
        let known = files.iter().rposition(|known| Arc::ptr_eq(known, file) || is_same(known, file));
        known.unwrap_or_else(|| {
            files.push(Arc::clone(file));
            files.len() - 1
        })
    })
}

fn is_same(one: &SourceFile, other: &SourceFile) -> bool {
    one.path == other.path && one.display == other.display && one.text() == other.text()
}

fn file<E: serde::de::Error>(number: usize) -> Result<Arc<SourceFile>, E> {
    let found = FILES.with_borrow(|files| files.get(number).cloned());
    found.ok_or_else(|| E::custom("a place in no file of the table"))
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (number(&self.file), self.start, self.end).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (number, start, end) = <(usize, usize, usize)>::deserialize(deserializer)?;
        let file = file(number)?;
        match start <= end && end <= file.text().len() {
            true => Ok(Self { file, start, end }),
            false => Err(serde::de::Error::custom("a place beyond the end of its file")),
        }
    }
}

/// Serialization of fields that hold a whole file.
pub mod whole_file {
    use super::{Arc, Deserialize, Deserializer, Serialize, Serializer, SourceFile};

    /// # Errors
    /// Errors of the serializer.
    pub fn serialize<S: Serializer>(file: &Arc<SourceFile>, serializer: S) -> Result<S::Ok, S::Error> {
        super::number(file).serialize(serializer)
    }

    /// # Errors
    /// The index is not in the table.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<SourceFile>, D::Error> {
        super::file(usize::deserialize(deserializer)?)
    }
}

/// An entry of the file table: enough to find the file again and to detect a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFile {
    pub path: PathBuf,
    pub display: String,
    pub hash: String,
}

impl StoredFile {
    pub fn of(file: &SourceFile) -> Self {
        Self { path: file.path.clone(), display: file.display.clone(), hash: hash(file) }
    }

    /// Whether a file is this one, with the same text.
    pub fn is(&self, file: &SourceFile) -> bool {
        self.path == file.path && self.display == file.display && self.hash == hash(file)
    }

    /// Loads the file from disk; `None` if it changed.
    pub fn find(&self, root: &Path) -> Option<Arc<SourceFile>> {
        let file = match self.hash == hash_of("") {
            // Machine code has a name but no text.
            true => SourceFile::without_text(&self.path, root),
            false => SourceFile::read(&self.path, root).ok()?,
        };
        self.is(&file).then_some(file)
    }
}

fn hash(file: &SourceFile) -> String {
    // A file that is not UTF-8 can read the same as a file with `?` in these places; the mark keeps their hashes
    // distinct.
    format!("{}{}", hash_of(file.text()), if file.is_utf8() { "" } else { "-" })
}

fn hash_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Whether a field need not be written, for `skip_serializing_if`.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Interns names that the program has as constants, such as those of lints. There are few of them, and each is stored
/// once.
pub fn constant(name: &str) -> &'static str {
    static NAMES: LazyLock<Mutex<BTreeMap<String, &'static str>>> = LazyLock::new(Mutex::default);
    let leaked = |name: &str| -> &'static str { Box::leak(name.to_string().into_boxed_str()) };
    match NAMES.lock() {
        Ok(mut names) => names.entry(name.to_string()).or_insert_with(|| leaked(name)),
        Err(_) => leaked(name),
    }
}

/// A value that is deserialized on first use: most runs never use it.
#[derive(Default)]
pub struct Lazy<T> {
    text: Option<Box<RawValue>>,
    value: OnceLock<T>,
}

impl<T> Lazy<T> {
    pub fn new(value: T) -> Self {
        Self { text: None, value: OnceLock::from(value) }
    }
}

impl<T: Default + DeserializeOwned> Lazy<T> {
    pub fn get(&self) -> &T {
        let read = || self.text.as_ref().and_then(|text| serde_json::from_str(text.get()).ok()).unwrap_or_default();
        self.value.get_or_init(read)
    }
}

impl<T: Serialize + Default> Serialize for Lazy<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (&self.text, self.value.get()) {
            (_, Some(value)) => value.serialize(serializer),
            (Some(text), None) => text.serialize(serializer),
            (None, None) => T::default().serialize(serializer),
        }
    }
}

impl<'de, T> Deserialize<'de> for Lazy<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { text: Some(Box::<RawValue>::deserialize(deserializer)?), value: OnceLock::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_back_in_the_files_of_the_reader() {
        let (one, other) = (SourceFile::from_text("a.cu", "int a;"), SourceFile::from_text("b.cu", "int b;"));
        let spans = vec![Span::new(&one, 4..5), Span::new(&other, 0..3), Span::new(&one, 0..6)];
        let (bytes, files) = write(&spans).unwrap();
        assert_eq!(files.iter().map(|file| file.display.as_str()).collect::<Vec<_>>(), ["a.cu", "b.cu"]);
        let read_again: Vec<Span> = read(&bytes, files.clone()).unwrap();
        assert_eq!(read_again, spans);
        assert!(read::<Vec<Span>>(&bytes, files[..1].to_vec()).is_err());
        let shorter = vec![Arc::clone(&files[1]), SourceFile::from_text("a.cu", "in")];
        assert!(read::<Vec<Span>>(&bytes, shorter).is_err());
    }

    #[test]
    fn files_are_found_while_they_say_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.cu");
        fs_err::write(&path, "int a;").unwrap();
        let file = SourceFile::read(&path, folder.path()).unwrap();
        let stored = StoredFile::of(&file);
        assert!(stored.find(folder.path()).is_some());
        fs_err::write(&path, "int b;").unwrap();
        assert!(stored.find(folder.path()).is_none());
        fs_err::write(&path, b"int \xff;").unwrap();
        let broken = StoredFile::of(&SourceFile::read(&path, folder.path()).unwrap());
        fs_err::write(&path, "int ?;").unwrap();
        assert!(broken.find(folder.path()).is_none());
        let nameless = StoredFile::of(&SourceFile::without_text(&path, folder.path()));
        assert!(nameless.find(folder.path()).is_some());
    }

    #[test]
    fn stored_values_are_read_when_they_are_asked_for() {
        let first = Lazy::new(vec![1, 2]);
        let text = serde_json::to_string(&first).unwrap();
        let read: Lazy<Vec<u32>> = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert_eq!(read.get(), &[1, 2]);
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert!(Lazy::<Vec<u32>>::default().get().is_empty());
    }
}
