//! Files open in the editor, whose text may differ from that on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lsp_types::Uri;

use lmem_base::source::SourceFile;

use crate::report::editor::path_of;

/// Open files, by path.
#[derive(Debug, Default)]
pub(super) struct OpenFiles(BTreeMap<PathBuf, (i32, String)>);

impl OpenFiles {
    pub fn set(&mut self, uri: &Uri, version: i32, text: String) {
        if let Some(path) = path_of(uri) {
            self.0.insert(path, (version, text));
        }
    }

    pub fn close(&mut self, uri: &Uri) {
        if let Some(path) = path_of(uri) {
            self.0.remove(&path);
        }
    }

    /// The version of a file with the text `expected`: `Some(None)` if the file is closed, `None` if its text differs.
    pub fn version_of(&self, path: &Path, expected: &str) -> Option<Option<i32>> {
        match self.0.get(path) {
            Some((version, text)) => (text == expected).then_some(Some(*version)),
            None => SourceFile::read(path, path.parent()?).is_ok_and(|file| file.text() == expected).then_some(None),
        }
    }
}
