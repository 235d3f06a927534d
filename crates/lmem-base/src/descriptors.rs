//! What a program can open by the name of a descriptor, as in `#include "/dev/fd/7"`.

use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

/// Keeps from a command the descriptors that this process inherited beside its standard ones: a pipe that a shell leaves open for
/// `program 7< <(credentials)`, the job server of GNU make. No file system rule withholds a pipe.
pub fn withhold_inherited(command: &mut Command) {
    let inherited = inherited();
    if inherited.is_empty() {
        return;
    }
    let close = move || {
        for descriptor in inherited {
            // SAFETY: the child has all descriptors that its parent had when it was forked; one that was closed since is an error below.
            let descriptor = unsafe { BorrowedFd::borrow_raw(*descriptor) };
            fcntl_setfd(descriptor, FdFlags::CLOEXEC).ok();
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made; nothing is allocated and no lock is taken.
    unsafe { command.pre_exec(close) };
}

/// The first descriptor that is none of stdin, stdout and stderr.
const FIRST: RawFd = 3;

/// Descriptors that are looked at where the system does not list them.
const MOST: RawFd = 1024;

/// Those that a program would inherit from this process, as it was when it first started one. All that Rust opens closes itself.
fn inherited() -> &'static [RawFd] {
    static INHERITED: OnceLock<Vec<RawFd>> = OnceLock::new();
    INHERITED.get_or_init(|| {
        let number = |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
        let listed = std::fs::read_dir("/dev/fd").map(|entries| entries.filter_map(number).collect());
        let all: Vec<RawFd> = listed.unwrap_or_else(|_| (FIRST..MOST).collect());
        let is_inherited = |descriptor: &RawFd| {
            // SAFETY: one that is not open, as that of the listing, is an error.
            let descriptor = unsafe { BorrowedFd::borrow_raw(*descriptor) };
            fcntl_getfd(descriptor).is_ok_and(|flags| !flags.contains(FdFlags::CLOEXEC))
        };
        all.into_iter().filter(|descriptor| *descriptor >= FIRST).filter(is_inherited).collect()
    })
}

/// Our end and the program's end of an output. Unlike a pipe, a socket cannot be opened once more by its name: a compiler that a source
/// makes read `/dev/fd/2` would wait for itself.
///
/// # Errors
/// The system has no descriptors left.
pub fn output() -> std::io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = UnixStream::pair()?;
    Ok((ours, theirs.into()))
}
