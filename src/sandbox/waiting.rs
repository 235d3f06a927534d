//! Notices a compiler that waits for a pipe of the tree.
//!
//! A header can be a pipe that nobody writes, under a name that macros make. Opening it blocks until the time limit, and
//! Landlock does not tell kinds of files apart. So where all processes of a compiler have slept for a while, the pipes of the
//! tree are looked for, and asked whether somebody waits to read them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use walkdir::WalkDir;

/// Interval for looking at the processes; seen asleep so often, they wait.
const INTERVAL: Duration = Duration::from_secs(1);
const TIMES: u32 = 2;

/// Limit on the entries of the tree that are looked at.
const MAX_ENTRIES: usize = 1 << 19;

/// A compiler waits for this pipe.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is a pipe that nobody writes", .0.display())]
pub struct Waits(pub PathBuf);

/// What is known of a compiler while it runs.
pub(super) struct Watch {
    folders: Vec<PathBuf>,
    next: Instant,
    /// How often in a row all its processes were asleep.
    asleep: u32,
    /// The pipes of the folders, once they were looked for.
    pipes: Option<Vec<PathBuf>>,
    found: Option<PathBuf>,
}

impl Watch {
    pub fn new<'a>(folders: impl Iterator<Item = &'a PathBuf>) -> Self {
        let folders = folders.cloned().collect();
        Self { folders, next: Instant::now() + INTERVAL, asleep: 0, pipes: None, found: None }
    }

    /// Whether a process group waits for a pipe. Costs nothing until the next look is due.
    pub fn waits(&mut self, group: u32) -> bool {
        if group == 0 || self.found.is_some() || Instant::now() < self.next {
            return self.found.is_some();
        }
        self.next = Instant::now() + INTERVAL;
        self.asleep = if is_asleep(group) { self.asleep + 1 } else { 0 };
        if self.asleep >= TIMES {
            let pipes = self.pipes.get_or_insert_with(|| pipes_below(&self.folders));
            self.found = pipes.iter().find(|pipe| has_reader(pipe)).cloned();
        }
        self.found.is_some()
    }

    pub fn found(self) -> Option<Waits> {
        self.found.map(Waits)
    }
}

/// Whether all processes of a group sleep. Where the system does not say, they do not.
fn is_asleep(group: u32) -> bool {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let is_process = |name: &std::ffi::OsString| name.as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
    let processes = entries.filter(|entry| is_process(&entry.file_name()));
    let states =
        processes.filter_map(|entry| state_of(&std::fs::read_to_string(entry.path().join("stat")).ok()?, group));
    let mut states = states.peekable();
    states.peek().is_some() && states.all(|state| state == 'S')
}

/// The state of a process, if it belongs to a group: what follows the name in brackets is the state, the parent and the group.
fn state_of(stat: &str, group: u32) -> Option<char> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut words = rest.split_ascii_whitespace();
    let state = words.next()?.chars().next()?;
    (words.nth(1)?.parse() == Ok(group)).then_some(state)
}

fn pipes_below(folders: &[PathBuf]) -> Vec<PathBuf> {
    use std::os::unix::fs::FileTypeExt;
    let entries = folders.iter().flat_map(WalkDir::new).take(MAX_ENTRIES).filter_map(Result::ok);
    entries.filter(|entry| entry.file_type().is_fifo()).map(walkdir::DirEntry::into_path).collect()
}

/// Whether a process has a pipe open for reading, or waits to: opened for writing, one without a reader is an error.
fn has_reader(pipe: &Path) -> bool {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(pipe, flags, Mode::empty()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_those_of_the_group() {
        let stat = "17 (a) b (c)) S 3 42 42 0 -1";
        assert_eq!((state_of(stat, 42), state_of(stat, 3), state_of("17 (x)", 42)), (Some('S'), None, None));
        let own = rustix::process::getpgrp().as_raw_nonzero().get().cast_unsigned();
        assert!(!is_asleep(own) && !is_asleep(u32::MAX));
    }
}
