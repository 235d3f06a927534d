//! Runs a program with a time limit: a compiler that hangs or crashes becomes an error message and does not stop the
//! run.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getrlimit, kill_process_group, setrlimit, waitid,
};

use crate::descriptors::{self, withhold_inherited};
use crate::guardian::Kept;

/// Output limit: a compiler stuck in a loop must not fill the memory.
const MAX_OUTPUT_BYTES: usize = 256 << 20;

/// Bytes that are read from an output at once.
const BUFFER_BYTES: usize = 64 << 10;

/// Time after a program's end in which its output must end too.
const GRACE: Duration = Duration::from_secs(2);

/// Intervals between two polls of a child, at first and at most.
const FIRST_POLL: Duration = Duration::from_micros(200);
const POLL: Duration = Duration::from_millis(5);

/// A program's output and how it ended.
#[derive(Debug)]
pub struct Output {
    pub end: End,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    /// Killed by a signal that was not ours: a crash.
    Signal(i32),
    TimedOut,
    /// The user pressed Ctrl-C.
    Cancelled,
}

impl Output {
    pub fn succeeded(&self) -> bool {
        self.end == End::Exit(0)
    }

    /// stdout and stderr in one text; compilers print messages to both.
    pub fn text(&self) -> String {
        format!("{}{}", String::from_utf8_lossy(&self.stdout), String::from_utf8_lossy(&self.stderr))
    }
}

/// Runs a command to its end in its own process group, so that the whole group can be killed.
///
/// # Errors
/// The program cannot be started.
pub fn run(command: &mut Command, input: &[u8], limit: Duration, cancel: &AtomicBool) -> std::io::Result<Output> {
    run_told(command, input, limit, cancel, |_| ())
}

/// As [`run`], and tells the number of the process group once it is there.
///
/// # Errors
/// The program cannot be started.
pub fn run_told(
    command: &mut Command,
    input: &[u8],
    limit: Duration,
    cancel: &AtomicBool,
    started: impl FnOnce(u32),
) -> std::io::Result<Output> {
    run_bounded(command, input, limit, MAX_OUTPUT_BYTES, cancel, started)
}

/// As [`run`], with a limit on the bytes of each output. Beyond it the output is closed, which ends most programs.
///
/// # Errors
/// The program cannot be started.
pub fn run_within(
    command: &mut Command,
    input: &[u8],
    limit: Duration,
    bytes: usize,
    cancel: &AtomicBool,
) -> std::io::Result<Output> {
    run_bounded(command, input, limit, bytes, cancel, |_| ())
}

fn run_bounded(
    command: &mut Command,
    input: &[u8],
    limit: Duration,
    bytes: usize,
    cancel: &AtomicBool,
    started: impl FnOnce(u32),
) -> std::io::Result<Output> {
    harden(command);
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    end_with_this_thread(command);
    withhold_inherited(command);
    let (stdout, its_stdout) = descriptors::output()?;
    let (stderr, its_stderr) = descriptors::output()?;
    let child = command.stdout(its_stdout).stderr(its_stderr).process_group(0).spawn();
    // Outputs end when the last copy of the program's ends is closed.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child?;
    let _group = Kept::group(child.id());
    started(child.id());
    let output = converse(&mut child, (stdout, stderr), input, limit, bytes, cancel);
    if output.is_err() {
        kill_group(&mut child);
        drop(child.wait());
    }
    output
}

fn converse(
    child: &mut Child,
    (stdout, stderr): (UnixStream, UnixStream),
    input: &[u8],
    limit: Duration,
    bytes: usize,
    cancel: &AtomicBool,
) -> std::io::Result<Output> {
    let writer = child.stdin.take().map(|mut stdin| {
        let input = input.to_vec();
        // A child that does not read its input reports that by its exit status; the broken-pipe error adds nothing.
        thread(move || drop(std::io::Write::write_all(&mut stdin, &input)))
    });
    let _writer = writer.transpose()?;
    let (open, closed) = mpsc::channel();
    let stdout = Collector::of(stdout, bytes, open.clone())?;
    let stderr = Collector::of(stderr, bytes, open)?;
    let mut closed = Some(closed);
    // A program that ends closes its outputs, which wakes this thread at once.
    let rest = |pause: &mut Duration| match closed.as_ref().map(|closed| closed.recv_timeout(*pause)) {
        Some(Err(RecvTimeoutError::Disconnected)) => {
            closed = None;
            *pause = FIRST_POLL;
        }
        Some(_) => {}
        None => std::thread::sleep(*pause),
    };
    // What the program started and did not wait for holds its output open, and has no work left to do.
    let end = wait_for(child, limit, cancel, rest, kill_group)?;
    let until = Instant::now() + GRACE;
    Ok(Output { end, stdout: stdout.finish(until), stderr: stderr.finish(until) })
}

/// The program ends with the thread that waits for it, even if this process is killed. Programs that it starts in turn are
/// for the guardian.
fn end_with_this_thread(command: &mut Command) {
    #[cfg(target_os = "linux")]
    {
        let limits = || Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?);
        // SAFETY: between fork and exec only a system call is made; nothing is allocated and no lock is taken.
        unsafe { command.pre_exec(limits) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

/// Limits the address space of a command and of what it starts: a file that it reads whole can have any size.
pub fn limit_memory(command: &mut Command, bytes: u64) {
    let limit = at_most(Resource::As, bytes);
    // SAFETY: between fork and exec only a system call is made; nothing is allocated and no lock is taken.
    unsafe { command.pre_exec(move || Ok(setrlimit(Resource::As, limit)?)) };
}

/// A limit on a resource. Where this process has a lower one, that stays: only the superuser may raise it.
pub fn at_most(resource: Resource, most: u64) -> Rlimit {
    let most = getrlimit(resource).maximum.map_or(most, |ours| ours.min(most));
    Rlimit { current: Some(most), maximum: Some(most) }
}

/// Search paths for programs and libraries. An empty or relative entry means the current folder, and our children run
/// in the workspace. `LD_LIBRARY_PATH=/usr/local/cuda/lib64:`, common in profiles, would load a library from a pull
/// request.
const FOLDER_LISTS: [&str; 7] =
    ["PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "PYTHONPATH", "GCONV_PATH"];

/// Search paths that are never left without a value. nvcc's profile puts a folder and a colon before what there is: before
/// nothing, that leaves an empty entry to all that nvcc starts. The folder for libraries does not exist.
const NEVER_EMPTY: [(&str, &str); 2] = [("PATH", "/usr/bin:/bin"), ("LD_LIBRARY_PATH", "/nonexistent")];

/// Libraries that are loaded into every program; a name without a folder is searched in the library paths.
const LIBRARIES: [&str; 2] = ["LD_PRELOAD", "LD_AUDIT"];

/// The program that nvcc starts to compile for the host. A name without a folder is searched on `PATH`.
const HOST_COMPILER: &str = "NVCC_CCBIN";

/// The variable that names a host compiler by a relative path, which would lead into the tree. `harden` removes it.
pub fn relative_compiler() -> Option<&'static str> {
    let value = PathBuf::from(std::env::var_os(HOST_COMPILER)?);
    (value.is_relative() && value.to_string_lossy().contains('/')).then_some(HOST_COMPILER)
}

/// Removes relative entries from inherited search paths, so that a command runs no code from the current folder.
/// Variables that the caller set on the command are kept.
pub fn harden(command: &mut Command) {
    let set: Vec<OsString> = command.get_envs().map(|(name, _)| name.to_os_string()).collect();
    let is_set = |name: &str| set.iter().any(|known| known == name);
    for (name, value) in NEVER_EMPTY.iter().filter(|(name, _)| !is_set(name)) {
        command.env(name, value);
    }
    for name in FOLDER_LISTS.iter().chain(&LIBRARIES).filter(|name| !is_set(name)) {
        let Some(value) = std::env::var_os(name) else { continue };
        let is_library = LIBRARIES.contains(name);
        let is_kept = |entry: &PathBuf| match is_library {
            true => entry.is_absolute() || !entry.to_string_lossy().contains('/'),
            false => entry.is_absolute(),
        };
        let kept = std::env::join_paths(std::env::split_paths(&value).filter(is_kept));
        match kept {
            Ok(kept) if !kept.is_empty() => drop(command.env(name, kept)),
            _ if NEVER_EMPTY.iter().any(|(known, _)| known == name) => {}
            _ => drop(command.env_remove(name)),
        }
    }
    if let Some(name) = relative_compiler().filter(|name| !is_set(name)) {
        command.env_remove(name);
    }
}

/// The first program with a name on `PATH`. Relative entries are skipped: in an untrusted workspace they would find its
/// files.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|program| is_executable(program))
}

/// Whether a path is that of a file that somebody may execute.
pub fn is_executable(path: &Path) -> bool {
    let mode = fs_err::metadata(path).map(|metadata| (metadata.is_file(), metadata.permissions().mode()));
    mode.is_ok_and(|(is_file, mode)| is_file && mode & 0o111 != 0)
}

/// A thread; unlike `std::thread::spawn`, a system that has none left is an error and no panic.
fn thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> std::io::Result<JoinHandle<T>> {
    std::thread::Builder::new().spawn(work)
}

/// Reads an output to its end, in a thread.
struct Collector {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Collector {
    /// `open` is dropped at its end.
    fn of(output: impl Read + Send + 'static, most: usize, open: Sender<()>) -> std::io::Result<Self> {
        let bytes = Arc::new(Mutex::default());
        let shared = Arc::clone(&bytes);
        let reader = thread(move || {
            read_all(output, most, &shared);
            drop(open);
        })?;
        Ok(Self { bytes, reader })
    }

    /// What was read. A process that left the group of the program can hold the pipe open for ever, so this does not
    /// wait longer than `until`.
    fn finish(self, until: Instant) -> Vec<u8> {
        while !self.reader.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_micros(200));
        }
        self.bytes.lock().map(|mut bytes| std::mem::take(&mut *bytes)).unwrap_or_default()
    }
}

fn read_all(mut output: impl Read, most: usize, bytes: &Mutex<Vec<u8>>) {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match output.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                let Ok(mut bytes) = bytes.lock() else { return };
                let room = most.saturating_sub(bytes.len());
                bytes.extend_from_slice(&buffer[..count.min(room)]);
                // Returning closes it, so that a program which writes without end ends.
                if count > room {
                    return;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            // Output read before an error is still useful.
            Err(_) => return,
        }
    }
}

/// Waits for a child that leads a process group and calls `tick` meanwhile. The whole group is killed on timeout or
/// when `cancel` is set.
///
/// # Errors
/// The system cannot report the child's state.
pub fn wait(child: &mut Child, limit: Duration, cancel: &AtomicBool, mut tick: impl FnMut()) -> std::io::Result<End> {
    let rest = |pause: &mut Duration| {
        tick();
        std::thread::sleep(*pause);
    };
    wait_for(child, limit, cancel, rest, |_| ())
}

/// The same. `rest` lets the time to the next poll pass, or makes it shorter. `at_end` is called when the child has ended and was not waited for yet,
/// so that its number is still its own.
fn wait_for(
    child: &mut Child,
    limit: Duration,
    cancel: &AtomicBool,
    mut rest: impl FnMut(&mut Duration),
    at_end: impl FnOnce(&mut Child),
) -> std::io::Result<End> {
    let start = Instant::now();
    let mut pause = FIRST_POLL;
    loop {
        if has_ended(child)? {
            at_end(child);
            return Ok(end_of(child.wait()?));
        }
        let stop = match (cancel.load(Ordering::Relaxed), start.elapsed() > limit) {
            (true, _) => Some(End::Cancelled),
            (false, true) => Some(End::TimedOut),
            (false, false) => None,
        };
        if let Some(end) = stop {
            kill_group(child);
            child.wait()?;
            return Ok(end);
        }
        rest(&mut pause);
        pause = (pause * 2).min(POLL);
    }
}

/// Whether a child has ended, without taking its status.
fn has_ended(child: &Child) -> std::io::Result<bool> {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return Ok(true) };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(pid), options)?.is_some())
}

/// nvcc starts cicc and ptxas; all of them must be killed.
fn kill_group(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if group.is_none_or(|group| kill_process_group(group, Signal::KILL).is_err()) {
        // An error means that the group or the child is gone already.
        drop(child.kill());
    }
}

fn end_of(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exit(code),
        (None, Some(signal)) => End::Signal(signal),
        (None, None) => End::Exit(-1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> Output {
        let never = AtomicBool::new(false);
        run(Command::new("sh").args(["-c", script]), b"", limit, &never).unwrap()
    }

    #[test]
    fn output_and_exit_code_are_kept() {
        let output = sh("echo out; echo err >&2; exit 3", Duration::from_secs(20));
        assert_eq!((output.end, output.text().as_str()), (End::Exit(3), "out\nerr\n"));
    }

    #[test]
    fn a_hanging_program_is_ended_with_its_children() {
        let start = Instant::now();
        let output = sh("sleep 600 & sleep 600", Duration::from_millis(50));
        assert_eq!(output.end, End::TimedOut);
        assert!(start.elapsed() < Duration::from_secs(60), "the grandchild kept the pipes open");
    }

    #[test]
    fn what_a_program_leaves_behind_does_not_keep_it() {
        let start = Instant::now();
        let output = sh("sleep 600 & echo done", Duration::from_secs(120));
        assert_eq!((output.end, output.text().as_str()), (End::Exit(0), "done\n"));
        // A process of another session is not reached, and not waited for.
        let output = sh("setsid sleep 8 & sleep 0.3; echo done", Duration::from_secs(120));
        assert_eq!((output.end, output.text().as_str()), (End::Exit(0), "done\n"));
        assert!(start.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn outputs_are_not_opened_by_name() {
        let script = "for name in 1 2; do (exec 9</dev/fd/$name) && echo opened; done; echo end";
        let text = sh(script, Duration::from_secs(20)).text();
        assert!(text.contains("end\n") && !text.contains("opened"), "{text}");
    }

    #[test]
    fn a_crash_is_told_from_an_error() {
        assert_eq!(sh("kill -SEGV $$", Duration::from_secs(20)).end, End::Signal(11));
    }

    #[test]
    fn limits_are_not_raised() {
        let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        assert_eq!(at_most(Resource::Nofile, limit.saturating_add(1)).maximum, Some(limit));
        assert_eq!(at_most(Resource::Nofile, 7), Rlimit { current: Some(7), maximum: Some(7) });
        let mut command = Command::new("sh");
        limit_memory(command.args(["-c", "ulimit -v"]), 1 << 30);
        let never = AtomicBool::new(false);
        let output = run(&mut command, b"", Duration::from_secs(20), &never).unwrap();
        assert_eq!(output.text().trim(), "1048576");
    }

    #[test]
    fn input_reaches_the_program() {
        let never = AtomicBool::new(false);
        let output = run(&mut Command::new("cat"), b"text", Duration::from_secs(20), &never).unwrap();
        assert_eq!(output.stdout, b"text");
    }
}
