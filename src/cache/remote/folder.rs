//! A folder that several machines or users share.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use lmem_base::held::HeldFolder;
use lmem_base::{files, places};

use super::{MAX_BYTES, Place};

pub struct Folder(PathBuf);

impl Folder {
    /// The folder must exist: one that is made where a disk is not mounted would be shared with nobody.
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    fn missing(&self) -> String {
        format!("`{}` is no folder", self.0.display())
    }
}

impl Place for Folder {
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        match places::read_own(&self.0.join(name), MAX_BYTES) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(_) if !self.0.is_dir() => Err(self.missing()),
            // Something else in an entry's place is as good as no entry.
            Err(error) if error.kind() == ErrorKind::NotFound || error.kind() == ErrorKind::Other => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), String> {
        if !self.0.is_dir() {
            return Err(self.missing());
        }
        let name = Path::new(name);
        // Readable for others, as far as the system's defaults allow: they are who it is for.
        let write = || {
            let folder = HeldFolder::at(&fs_err::canonicalize(&self.0)?)?;
            let folder = folder.within(name.parent().unwrap_or(Path::new("")))?;
            files::write_anew(&folder, name.file_name().unwrap_or_default(), &bytes)
        };
        write().map_err(|error: std::io::Error| error.to_string())
    }
}
