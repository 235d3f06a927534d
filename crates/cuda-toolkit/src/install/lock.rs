//! Locks the toolkits folder, and removes leftovers of interrupted runs.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Context, IN_USE, REMOVED, STAGING, say};
use crate::{ToolkitError, discover};

/// An exclusive lock on a cache folder. The system releases it when the process ends, even after a crash.
pub(super) struct Lock {
    /// `None` on a file system without locks. The rename is atomic anyway, but leftovers must not be deleted.
    pub(super) file: Option<File>,
}

impl Lock {
    /// Waits for the current holder, with a message.
    pub(super) fn take(cx: &Context<'_>, folder: &Path) -> Result<Self, ToolkitError> {
        std::fs::create_dir_all(folder).map_err(ToolkitError::io("create", folder))?;
        let path = folder.join(".lock");
        let file = File::options().create(true).append(true).open(&path);
        let file = file.map_err(ToolkitError::io("open", &path))?;
        let mut waiting = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { file: Some(file) }),
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(Self { file: None });
                }
                Err(TryLockError::Error(error)) => return Err(ToolkitError::io("lock", &path)(error)),
                Err(TryLockError::WouldBlock) if cx.cancel.load(Ordering::Relaxed) => {
                    return Err(ToolkitError::Cancelled);
                }
                Err(TryLockError::WouldBlock) => {}
            }
            if !waiting {
                say(cx, &format!("waiting for another `cargo lmem` that changes {}", folder.display()));
                waiting = true;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Deletes leftovers of interrupted runs; a failure is harmless.
    pub(super) fn clean(&self, folder: &Path) {
        let in_use = |path: &Path| File::open(path.join(IN_USE)).is_ok_and(|file| file.try_lock().is_err());
        let leftover = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            (name.starts_with(STAGING) || name.starts_with(REMOVED)) && !in_use(path)
        };
        if self.file.is_some() {
            discover::entries(folder).iter().filter(|path| leftover(path)).for_each(|path| {
                let _ = std::fs::remove_dir_all(path);
            });
        }
    }
}
