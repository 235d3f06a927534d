//! Restores modification times of files that a build rewrites with the same content, as binding generators do. A newer
//! time would make other builds start over.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Larger files are data, which build scripts do not rewrite.
const MAX_BYTES: u64 = 16 << 20;

/// The state of a package's files before a build.
#[derive(Debug, Default)]
pub struct FileTimes(Vec<(PathBuf, SystemTime, blake3::Hash)>);

impl FileTimes {
    /// Records the files in some folders, except hidden files and build outputs.
    pub fn note(folders: &[&Path], left_out: &[PathBuf]) -> Self {
        let is_wanted = |entry: &walkdir::DirEntry| {
            let is_hidden = entry.depth() > 0 && entry.file_name().to_string_lossy().starts_with('.');
            !is_hidden && !left_out.iter().any(|folder| folder == entry.path())
        };
        let walks = folders.iter().map(|folder| walkdir::WalkDir::new(folder).into_iter().filter_entry(is_wanted));
        let files = walks.flatten().filter_map(Result::ok).filter(|entry| entry.file_type().is_file());
        let noted = files.filter_map(|entry| {
            let metadata = entry.metadata().ok().filter(|metadata| metadata.len() <= MAX_BYTES)?;
            Some((entry.path().to_path_buf(), metadata.modified().ok()?, hash(entry.path())?))
        });
        Self(noted.collect())
    }

    /// Restores the times of files with unchanged content, and returns the files whose content changed.
    pub fn restore(&self) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        for (path, time, before) in &self.0 {
            let now = fs_err::metadata(path).and_then(|metadata| metadata.modified()).ok();
            if now.as_ref() == Some(time) {
                continue;
            }
            if hash(path).as_ref() == Some(before) {
                // A file that cannot be written was not rewritten in place either, so its time needs no restoring.
                let file = std::fs::File::options().write(true).open(path);
                drop(file.and_then(|file| file.set_modified(*time)));
            } else {
                changed.push(path.clone());
            }
        }
        changed
    }
}

fn hash(path: &Path) -> Option<blake3::Hash> {
    fs_err::read(path).ok().map(|bytes| blake3::hash(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_file_that_is_written_again_keeps_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["same", "other", "gone"] {
            fs_err::write(path(name), name).unwrap();
            let past = SystemTime::now() - Duration::from_secs(1000);
            std::fs::File::options().write(true).open(path(name)).unwrap().set_modified(past).unwrap();
        }
        let time = || fs_err::metadata(path("same")).unwrap().modified().unwrap();
        let before = time();
        let times = FileTimes::note(&[folder.path()], &[]);
        fs_err::write(path("same"), "same").unwrap();
        fs_err::write(path("other"), "changed").unwrap();
        fs_err::remove_file(path("gone")).unwrap();
        assert_ne!(time(), before);
        let changed = times.restore();
        assert_eq!(time(), before);
        assert_eq!(changed.len(), 2);
    }
}
