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

/// Whether all threads of all processes of a group sleep. Where the system does not say, they do not.
fn is_asleep(group: u32) -> bool {
    let members: Vec<PathBuf> = numbered("/proc".as_ref()).filter(|process| group_of(process) == Some(group)).collect();
    let mut threads = members.iter().flat_map(|process| numbered(&process.join("task")));
    !members.is_empty() && threads.all(|thread| fields(&thread).is_some_and(|fields| fields.starts_with('S')))
}

/// The folders that are named by the numbers of processes or threads.
fn numbered(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let is_number = |name: &std::ffi::OsString| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    entries.filter(move |entry| is_number(&entry.file_name())).map(|entry| entry.path())
}

fn group_of(process: &Path) -> Option<u32> {
    fields(process)?.split_ascii_whitespace().nth(2)?.parse().ok()
}

/// What follows the name of a process or thread, which may hold anything: its state, its parent, its group.
fn fields(process: &Path) -> Option<String> {
    let stat = std::fs::read_to_string(process.join("stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.trim_start().to_string())
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
    fn a_group_sleeps_where_all_its_threads_do() {
        use std::os::unix::process::CommandExt;
        let mut sleeper = std::process::Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let start = Instant::now();
        while !is_asleep(sleeper.id()) && start.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let is_so = is_asleep(sleeper.id());
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert!(is_so && !is_asleep(sleeper.id()));
        // This thread runs, whatever the first one of the process does.
        assert!(!is_asleep(group_of(Path::new("/proc/self")).unwrap()));
    }
}
