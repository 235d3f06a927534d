//! Folders that stay what they are while something is written into them.
//!
//! Between the look at a path and its use, a folder on the way can be exchanged for a link. So a folder is opened without
//! following links, step by step, and files in it are named by way of what is open.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

/// Where the system shows what this process has open.
const OPEN: &str = "/proc/self/fd";

/// A folder that may only be passed through needs no more than that.
const FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::PATH);

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
        let mut held = Self { folder: rustix::fs::openat(CWD, root, FLAGS, Mode::empty())?, path: root.to_path_buf() };
        for part in below.components() {
            held = held.step(part.as_os_str())?;
        }
        Ok(held)
    }

    /// The folder that a path without links leads to.
    ///
    /// # Errors
    /// There is none, or there is a link on the way by now.
    pub fn at(folder: &Path) -> io::Result<Self> {
        Self::open(Path::new("/"), folder)
    }

    /// A folder below, which is made where it is not there.
    ///
    /// # Errors
    /// It cannot be made, or there is a link on the way.
    pub fn within(self, below: &Path) -> io::Result<Self> {
        let mut held = self;
        for part in below.components() {
            match rustix::fs::mkdirat(&held.folder, part.as_os_str(), Mode::from_bits_truncate(0o777)) {
                Err(error) if error != Errno::EXIST => return Err(error.into()),
                _ => held = held.step(part.as_os_str())?,
            }
        }
        Ok(held)
    }

    fn step(self, name: &OsStr) -> io::Result<Self> {
        let folder = rustix::fs::openat(&self.folder, name, FLAGS, Mode::empty())?;
        Ok(Self { folder, path: self.path.join(name) })
    }

    /// The content of a regular file in it of at most `limit` bytes; `None` if something else has the name by now, or more is
    /// in it. Nothing is waited for.
    ///
    /// # Errors
    /// The file cannot be opened or read.
    pub fn read(&self, name: &OsStr, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.folder, name, flags, Mode::empty()) {
            // A link, a socket or a device without a driver.
            Err(Errno::LOOP | Errno::NXIO | Errno::NODEV) => return Ok(None),
            file => File::from(file?),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() > limit {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= limit))
    }

    /// The path by which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
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
    fn nothing_but_a_file_of_its_size_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs_err::canonicalize(folder.path()).unwrap();
        let held = HeldFolder::at(&root).unwrap();
        fs_err::write(root.join("file"), "four").unwrap();
        std::os::unix::fs::symlink("file", root.join("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", root.join("zero")).unwrap();
        rustix::fs::mkfifoat(CWD, root.join("pipe"), Mode::from_bits_truncate(0o600)).unwrap();
        File::create(root.join("sparse")).unwrap().set_len(20 << 30).unwrap();
        let read = |name: &str| held.read(OsStr::new(name), 4).unwrap();
        assert_eq!(read("file").as_deref(), Some(&b"four"[..]));
        assert_eq!(held.read(OsStr::new("file"), 3).unwrap(), None);
        for name in ["link", "zero", "pipe", "sparse"] {
            assert_eq!(read(name), None, "{name}");
        }
        assert!(held.read(OsStr::new("nothing"), 4).is_err());
    }

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
        let made = HeldFolder::at(&path("tree/old")).unwrap().within(Path::new("new/er")).unwrap();
        assert!(path("tree/old/new/er").is_dir() && made.path() == path("tree/old/new/er"));
        std::os::unix::fs::symlink(path("outside"), path("tree/old/link")).unwrap();
        assert!(HeldFolder::at(&path("tree/old")).unwrap().within(Path::new("link/er")).is_err());
        assert!(!path("outside/er").exists());
    }
}
