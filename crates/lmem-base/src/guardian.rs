//! What must not outlive this process, even if it is killed: compilers, temporary folders, and files that never came to
//! their place.
//!
//! A process that is killed cannot clean up. So a second one, the guardian, is told on a pipe what there is. When the
//! pipe ends, however that came about, the guardian kills the process groups and removes the folders and files that were
//! not taken back. It is started with the first of them; a run that compiles and writes nothing has none.

use std::collections::BTreeSet;
use std::fs::{File, Metadata, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::NamedTempFile;

/// Prefix of temporary folders. The guardian removes nothing with another name.
pub const FOLDER_PREFIX: &str = "cargo-lmem-";

/// Prefix of files that are renamed when they are complete. The name is hidden and has no source extension, so that
/// nothing compiles such a file.
pub const FILE_PREFIX: &str = ".cargo-lmem-";

/// Attempts to remove a folder in which a killed compiler may still write.
const ATTEMPTS: u32 = 5;

/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// Mode bits by which a program runs with the rights of its file's owner or group.
const SET_ID: u32 = 0o6000;

/// How the guardian is started; without a command there is none, as in unit tests.
static COMMAND: OnceLock<fn() -> Option<Command>> = OnceLock::new();

/// The pipe to the guardian, from its start on. `None` inside: it cannot be started.
static PIPE: OnceLock<Option<Mutex<ChildStdin>>> = OnceLock::new();

/// Sets what makes the command that becomes the guardian; its program must call [`serve`].
pub fn install(command: fn() -> Option<Command>) {
    // A second call would name the same program.
    let _ = COMMAND.set(command);
}

/// Something that the guardian removes or ends unless this value is dropped first.
#[derive(Debug)]
pub struct Kept {
    thing: Vec<u8>,
}

impl Kept {
    /// A process group. It is only noted if the guardian runs already: each compiler has a temporary folder, which is
    /// made first.
    pub fn group(leader: u32) -> Self {
        Self::note(format!("group {leader}").into_bytes())
    }

    /// A file that is removed unless it is renamed. It need not be there yet.
    fn file(path: &Path) -> Self {
        start();
        Self::note([b"file ", path.as_os_str().as_bytes()].concat())
    }

    fn folder(path: &Path) -> Self {
        start();
        Self::note([b"folder ", path.as_os_str().as_bytes()].concat())
    }

    fn note(thing: Vec<u8>) -> Self {
        tell(b'+', &thing);
        Self { thing }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        tell(b'-', &self.thing);
    }
}

fn tell(sign: u8, thing: &[u8]) {
    let Some(Some(pipe)) = PIPE.get() else { return };
    if let Ok(mut pipe) = pipe.lock() {
        // A guardian that was killed guards nothing; the run goes on without.
        drop(pipe.write_all(&[&[sign], thing, b"\0"].concat()));
    }
}

fn start() {
    PIPE.get_or_init(|| {
        let mut command = COMMAND.get()?()?;
        // A group of its own: what ends this process's group (Ctrl-C, a CI runner) must not end the guardian.
        command.current_dir("/").process_group(0);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        child.ok()?.stdin.map(Mutex::new)
    });
}

/// A temporary folder, which is removed with all its contents.
#[derive(Debug)]
pub struct Folder {
    // Removed by `drop`, which tries more than once.
    path: PathBuf,
    _kept: Option<Kept>,
}

impl Folder {
    /// Creates a folder in the system's place for temporary ones.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn new() -> std::io::Result<Self> {
        let mut kept = None;
        let place = std::env::temp_dir();
        // nvcc names files in it to a shell.
        if place.to_string_lossy().contains(['$', '`', '"', '\\', '\n']) {
            return Err(std::io::Error::other("`TMPDIR` holds a character that a shell would act on"));
        }
        // The guardian is told first: a kill can come right after the folder is made.
        let made = tempfile::Builder::new().prefix(FOLDER_PREFIX).make_in(place, |path| {
            kept = Some(Kept::folder(path));
            std::fs::DirBuilder::new().mode(0o700).create(path)
        })?;
        let path = made.into_temp_path().keep()?;
        Ok(Self { path, _kept: kept })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        remove_folder(&self.path);
    }
}

/// A file for new content, beside the one whose place it takes. It is removed if this process ends before that.
#[derive(Debug)]
pub struct Replacement {
    file: NamedTempFile,
    _kept: Option<Kept>,
}

impl Replacement {
    /// Number of random characters in the names.
    pub const RANDOM_LETTERS: usize = 6;

    /// An empty file in a folder that `way` leads to, in this process alone or in all. The system applies the user's umask to `mode`.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn through(way: &Path, folder: &Path, mode: u32) -> std::io::Result<Self> {
        // The guardian is in another folder.
        let folder = std::path::absolute(folder)?;
        let mut kept = None;
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(FILE_PREFIX).rand_bytes(Self::RANDOM_LETTERS);
        let file = builder.make_in(way, |path| {
            kept = path.file_name().map(|name| Kept::file(&folder.join(name)));
            File::options().read(true).write(true).create_new(true).mode(mode).open(path)
        })?;
        Ok(Self { file, _kept: kept })
    }

    pub fn as_file(&self) -> &File {
        self.file.as_file()
    }

    /// Gives the file the owner, the group, the permissions and the extended attributes of the one at `path` whose place it takes: owner and
    /// group as far as the system lets this user. Nobody gets a program that runs with the rights of another: the bits for that are
    /// cleared, as the system does when a file is written to.
    ///
    /// # Errors
    /// The system fails to set one of them.
    pub fn take_after(&self, path: &Path, found: &Metadata) -> std::io::Result<()> {
        let made = self.as_file().metadata()?;
        if (made.uid(), made.gid()) != (found.uid(), found.gid()) {
            let whole = fchown(self.as_file(), Some(found.uid()), Some(found.gid()));
            // Users may not give files away, but to any group that they are in.
            whole.or_else(|_| fchown(self.as_file(), None, Some(found.gid()))).or_else(|error| {
                let is_refused = error.kind() == std::io::ErrorKind::PermissionDenied;
                if is_refused { Ok(()) } else { Err(error) }
            })?;
        }
        self.as_file().set_permissions(Permissions::from_mode(found.mode() & !SET_ID & 0o7777))?;
        // Behind the permissions, as an access list is more than these.
        self.take_attributes_of(path);
        Ok(())
    }

    /// Takes over the extended attributes of the file that is replaced, as far as the system lets users set them: access lists and labels are
    /// some.
    fn take_attributes_of(&self, path: &Path) {
        let mut names = vec![0_u8; MAX_ATTRIBUTES];
        let Ok(length) = rustix::fs::llistxattr(path, &mut names) else { return };
        let mut value = vec![0_u8; MAX_ATTRIBUTES];
        for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            if let Ok(length) = rustix::fs::lgetxattr(path, name, &mut value) {
                _ = rustix::fs::fsetxattr(self.as_file(), name, &value[..length], rustix::fs::XattrFlags::empty());
            }
        }
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// It cannot be renamed; it is then removed.
    pub fn persist(self, path: &Path) -> std::io::Result<()> {
        self.file.persist(path).map(drop).map_err(|error| error.error)
    }
}

/// Bytes of the names of extended attributes, and of a value; Linux has no larger ones.
const MAX_ATTRIBUTES: usize = 1 << 16;

fn remove_folder(path: &Path) {
    for attempt in 1..=ATTEMPTS {
        match fs_err::remove_dir_all(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound && attempt < ATTEMPTS => {
                std::thread::sleep(PAUSE);
            }
            _ => return,
        }
    }
}

/// The guardian: reads what there is until the pipe ends, then cleans up.
pub fn serve(input: impl Read) {
    let mut there: BTreeSet<Vec<u8>> = BTreeSet::new();
    for record in BufReader::new(input).split(0).map_while(Result::ok) {
        match record.split_first() {
            Some((b'+', thing)) => drop(there.insert(thing.to_vec())),
            Some((_, thing)) => drop(there.remove(thing)),
            None => {}
        }
    }
    // Compilers are ended before the folders that they write to are removed.
    let named = |kind: &'static [u8]| there.iter().filter_map(move |thing| thing.strip_prefix(kind));
    named(b"group ").for_each(end_group);
    named(b"folder ").filter_map(|path| ours(path, FOLDER_PREFIX)).for_each(remove_folder);
    // A file that was renamed has no such name any more.
    named(b"file ").filter_map(|path| ours(path, FILE_PREFIX)).for_each(|path| drop(fs_err::remove_file(path)));
}

fn end_group(leader: &[u8]) {
    let leader = std::str::from_utf8(leader).ok().and_then(|text| text.parse().ok());
    // 0 and 1 would be the guardian's own group and all processes.
    let leader = leader.filter(|leader: &i32| *leader > 1).and_then(Pid::from_raw);
    // An error means that the group has ended.
    let _ = leader.map(|leader| kill_process_group(leader, Signal::KILL));
}

/// A path with a name of ours.
fn ours<'p>(path: &'p [u8], prefix: &str) -> Option<&'p Path> {
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    let is_ours = path.file_name().is_some_and(|name| name.as_bytes().starts_with(prefix.as_bytes()));
    (path.is_absolute() && is_ours).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_taken_back_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["cargo-lmem-a/deep", "cargo-lmem-b", "other"] {
            fs_err::create_dir_all(path(name)).unwrap();
        }
        for name in [".cargo-lmem-c", ".cargo-lmem-d", "user.cu"] {
            fs_err::write(path(name), "x").unwrap();
        }
        let mut told = Vec::new();
        let mut tell = |sign: &str, kind: &str, name: &str| {
            told.extend(format!("{sign}{kind} {}\0", path(name).display()).into_bytes());
        };
        tell("+", "folder", "cargo-lmem-a");
        tell("+", "folder", "cargo-lmem-b");
        tell("+", "folder", "other");
        tell("+", "file", ".cargo-lmem-c");
        tell("+", "file", ".cargo-lmem-d");
        tell("+", "file", "user.cu");
        tell("-", "folder", "cargo-lmem-b");
        tell("-", "file", ".cargo-lmem-d");
        // Nobody is ended by these, and a record without an end is dropped or taken, as it came.
        told.extend(b"+group 0\0+group 1\0+group -5\0+group x\0\0+fol");
        serve(told.as_slice());
        let left = |name: &str| path(name).exists();
        assert!(!left("cargo-lmem-a") && !left(".cargo-lmem-c"));
        assert!(left("cargo-lmem-b") && left("other") && left(".cargo-lmem-d") && left("user.cu"));
    }

    #[test]
    fn groups_are_ended() {
        let mut child = Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        serve(format!("+group {}\0", child.id()).as_bytes());
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_folder_goes_with_its_contents() {
        let folder = Folder::new().unwrap();
        let path = folder.path().to_path_buf();
        fs_err::create_dir(path.join("a")).unwrap();
        fs_err::write(path.join("a/b"), "").unwrap();
        drop(folder);
        assert!(!path.exists());
    }
}
