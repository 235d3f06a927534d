//! Folders that stay what they are while something is written into them.
//!
//! Between the look at a path and its use, a folder on the way can be exchanged for a link. So a folder is opened without
//! following links, step by step, and files in it are named by way of what is open.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

/// Where the system shows what this process has open.
const OPEN: &str = "/proc/self/fd";

/// A folder that was opened below another.
#[derive(Debug)]
pub struct HeldFolder {
    folder: OwnedFd,
    path: PathBuf,
}

impl HeldFolder {
    /// Opens a folder at or below `root`. Both are paths without links.
    ///
    /// # Errors
    /// The folder is not below the root, or there is a link on the way by now.
    pub fn open(root: &Path, folder: &Path) -> io::Result<Self> {
        let below = folder.strip_prefix(root).map_err(|_| io::Error::other("it is not below the root"))?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let mut held = rustix::fs::openat(CWD, root, flags, Mode::empty())?;
        for part in below.components() {
            held = rustix::fs::openat(&held, part.as_os_str(), flags, Mode::empty())?;
        }
        Ok(Self { folder: held, path: folder.to_path_buf() })
    }

    /// A way to the folder that no change of names leads elsewhere; its path where the system has none.
    pub fn way(&self) -> PathBuf {
        let way = Path::new(OPEN).join(self.folder.as_raw_fd().to_string());
        if way.exists() { way } else { self.path.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_the_place_of_a_folder_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs_err::canonicalize(folder.path()).unwrap();
        let path = |name: &str| root.join(name);
        fs_err::create_dir_all(path("tree/a/b")).unwrap();
        fs_err::create_dir_all(path("outside/b")).unwrap();
        let held = HeldFolder::open(&path("tree"), &path("tree/a/b")).unwrap();
        fs_err::rename(path("tree/a"), path("tree/old")).unwrap();
        std::os::unix::fs::symlink(path("outside"), path("tree/a")).unwrap();
        fs_err::write(held.way().join("file"), "x").unwrap();
        assert!(path("tree/old/b/file").exists() && !path("outside/b/file").exists());
        assert!(HeldFolder::open(&path("tree"), &path("tree/a/b")).is_err());
        assert!(HeldFolder::open(&path("tree"), &path("outside")).is_err());
    }
}
