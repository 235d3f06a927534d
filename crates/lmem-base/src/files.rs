//! Atomic file writes: a file has its new content or its old one.

use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::guardian::Replacement;
use crate::held::HeldFolder;
use crate::way;

/// How long a pipe may be without a reader: a shell may start that after us.
const READER_MAY_TAKE: Duration = Duration::from_secs(1);

/// Writes to a temporary file in the same folder and renames it. A concurrent reader sees the old content or the new
/// one.
///
/// # Errors
/// The folder cannot be written to.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    // A file name without a folder is in the current folder.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(content)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Gives a place in a folder a new content, whatever is there: a link is replaced and not followed. The file has the
/// system's default permissions, as any file that the user makes.
///
/// # Errors
/// The folder cannot be written to.
pub fn write_anew(folder: &HeldFolder, name: &OsStr, content: &[u8]) -> io::Result<()> {
    replace(folder, name, content, None)
}

/// Writes an output to a path that the user chose. A regular file is replaced atomically and keeps its owner and permissions; a
/// new one gets the system's default permissions. Anything else (a link, a pipe, a device such as `/dev/stdout`) is
/// kept and written into. A link that leads out of the tree around the current folder, or around one of `trees`, is not followed,
/// and neither is one that takes the place of a folder meanwhile.
///
/// # Errors
/// The place cannot be written to, or is a pipe that nobody reads.
pub fn write_output(path: &Path, content: &[u8], trees: &[&Path]) -> io::Result<()> {
    let place = way::stays_in_trees(path, &[trees, &[Path::new(".")]].concat())?;
    // One of our own descriptors (`/dev/stdout`, `/dev/fd/3`) continues at its position, and its file is not truncated.
    let is_open = |path: &Path| path.starts_with("/dev") || path.starts_with("/proc");
    if is_open(path) || is_open(&place) {
        return write_into(path, content, File::options().append(true));
    }
    let mut anew = File::options();
    let anew = anew.write(true).truncate(true).create(true);
    let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
        return Err(rustix::io::Errno::ISDIR.into());
    };
    let folder = HeldFolder::at(parent)?;
    let way = folder.way().join(name);
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    match std::fs::symlink_metadata(&way) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_link => replace(&folder, name, content, None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => write_into(&way, content, anew),
        Err(error) => Err(error),
        // It was none when the way was looked for.
        Ok(found) if found.is_symlink() => Err(rustix::io::Errno::LOOP.into()),
        // Other names of it (hard links) keep the old content: one of them may lie outside of the tree, and a kill in between would leave
        // half.
        Ok(found) if found.is_file() && !is_link => match replace(&folder, name, content, Some(&found)) {
            // The folder may be read-only although the file is writable.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => write_into(&way, content, anew),
            result => result,
        },
        Ok(_) => write_into(&way, content, anew),
    }
}

/// Whether a regular file has other names (hard links), which keep its content where [`write_output`] replaces it.
pub fn has_other_names(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.nlink() > 1)
}

fn replace(folder: &HeldFolder, name: &OsStr, content: &[u8], found: Option<&Metadata>) -> io::Result<()> {
    if found.is_some_and(|found| found.permissions().readonly()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    let way = folder.way();
    let file = Replacement::through(&way, folder.path(), 0o666)?;
    file.as_file().write_all(content)?;
    let path = way.join(name);
    found.map_or(Ok(()), |found| file.take_after(&path, found))?;
    file.persist(&path)
}

fn write_into(path: &Path, content: &[u8], options: &mut OpenOptions) -> io::Result<()> {
    if !path.metadata().is_ok_and(|found| found.file_type().is_fifo()) {
        return options.open(path)?.write_all(content);
    }
    let mut pipe = open_pipe(options, path)?;
    rustix::fs::fcntl_setfl(&pipe, rustix::fs::fcntl_getfl(&pipe)? - OFlags::NONBLOCK)?;
    pipe.write_all(content)
}

/// Opens a pipe if it has a reader. Without `O_NONBLOCK`, the system would wait for one.
fn open_pipe(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let start = Instant::now();
    loop {
        match options.custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path) {
            Err(error) if is_without_reader(&error) && start.elapsed() < READER_MAY_TAKE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) if is_without_reader(&error) => return Err(io::Error::other("nothing reads this pipe")),
            result => return result,
        }
    }
}

fn is_without_reader(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn output_goes_into_what_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs_err::write(path("real"), "a long old text").unwrap();
        std::os::unix::fs::symlink(path("real"), path("link")).unwrap();
        write_output(&path("link"), b"new", &[]).unwrap();
        assert!(fs_err::symlink_metadata(path("link")).unwrap().is_symlink());
        assert_eq!(fs_err::read_to_string(path("real")).unwrap(), "new");
        fs_err::hard_link(path("real"), path("twin")).unwrap();
        assert!(has_other_names(&path("twin")) && !has_other_names(&path("link")));
        write_output(&path("twin"), b"one", &[]).unwrap();
        assert_eq!(fs_err::read_to_string(path("twin")).unwrap(), "one");
        assert_eq!(fs_err::read_to_string(path("real")).unwrap(), "new");
        let status = std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap();
        assert!(status.success());
        let reader = std::thread::spawn({
            let pipe = path("pipe");
            move || fs_err::read_to_string(pipe).unwrap()
        });
        write_output(&path("pipe"), b"through", &[]).unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(!fs_err::symlink_metadata(path("pipe")).unwrap().is_file());
        let start = Instant::now();
        let error = write_output(&path("pipe"), b"lost", &[]).unwrap_err().to_string();
        assert!(error.contains("nothing reads") && start.elapsed() < 10 * READER_MAY_TAKE, "{error}");
        write_output(Path::new("/dev/null"), b"gone", &[]).unwrap();
        for folder in ["/dev/fd", "/proc/self/fd"] {
            let held = File::options().append(true).open(path("twin")).unwrap();
            write_output(&Path::new(folder).join(held.as_raw_fd().to_string()), b" more", &[]).unwrap();
        }
        assert_eq!(fs_err::read_to_string(path("twin")).unwrap(), "one more more");
        assert!(!fs_err::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn output_has_the_permissions_of_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs_err::metadata(path).unwrap().permissions().mode() & 0o777;
        let (plain, ours) = (folder.path().join("plain"), folder.path().join("ours"));
        drop(File::create(&plain).unwrap());
        write_output(&ours, b"x", &[]).unwrap();
        assert_eq!(mode(&ours), mode(&plain));
        fs_err::set_permissions(&ours, Permissions::from_mode(0o640)).unwrap();
        write_output(&ours, b"y", &[]).unwrap();
        assert_eq!(mode(&ours), 0o640);
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_is_replaced_and_nothing_stays_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for content in ["one", "two"] {
            write_whole(&path, content.as_bytes()).unwrap();
            assert_eq!(fs_err::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write_whole(&folder.path().join("none/b"), b"").is_err());
    }
}
