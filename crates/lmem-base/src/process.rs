//! Runs a program with a time limit: a compiler that hangs or crashes becomes an error message and does not stop the
//! run.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Output limit: a compiler stuck in a loop must not fill the memory.
const MAX_OUTPUT_BYTES: u64 = 256 << 20;

/// Maximum interval between two polls of a child.
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
    harden(command);
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()?;
    let writer = child.stdin.take().map(|mut stdin| {
        let input = input.to_vec();
        // A child that does not read its input reports that by its exit status; the broken-pipe error adds nothing.
        std::thread::spawn(move || drop(std::io::Write::write_all(&mut stdin, &input)))
    });
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let end = wait(&mut child, limit, cancel, || ())?;
    drop(writer.map(JoinHandle::join));
    Ok(Output { end, stdout: stdout.join().unwrap_or_default(), stderr: stderr.join().unwrap_or_default() })
}

/// Search paths for programs and libraries. An empty or relative entry means the current folder, and our children run
/// in the workspace. `LD_LIBRARY_PATH=/usr/local/cuda/lib64:`, common in profiles, would load a library from a pull
/// request.
const FOLDER_LISTS: [&str; 6] =
    ["PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "PYTHONPATH"];

/// Libraries that are loaded into every program; a name without a folder is searched in the library paths.
const LIBRARIES: [&str; 2] = ["LD_PRELOAD", "LD_AUDIT"];

/// Removes relative entries from inherited search paths, so that a command runs no code from the current folder.
/// Variables that the caller set on the command are kept.
pub fn harden(command: &mut Command) {
    let set: Vec<OsString> = command.get_envs().map(|(name, _)| name.to_os_string()).collect();
    for name in FOLDER_LISTS.iter().chain(&LIBRARIES).filter(|name| !set.iter().any(|known| known == **name)) {
        let Some(value) = std::env::var_os(name) else { continue };
        let is_library = LIBRARIES.contains(name);
        let is_kept = |entry: &PathBuf| match is_library {
            true => entry.is_absolute() || !entry.to_string_lossy().contains('/'),
            false => entry.is_absolute(),
        };
        let kept = std::env::join_paths(std::env::split_paths(&value).filter(is_kept));
        match kept {
            Ok(kept) if kept == value => {}
            Ok(kept) if !kept.is_empty() => drop(command.env(name, kept)),
            _ => drop(command.env_remove(name)),
        }
    }
}

/// The first program with a name on `PATH`. Relative entries are skipped: in an untrusted workspace they would find its
/// files.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|program| is_executable(program))
}

fn is_executable(path: &Path) -> bool {
    let mode = fs_err::metadata(path).map(|metadata| (metadata.is_file(), metadata.permissions().mode()));
    mode.is_ok_and(|(is_file, mode)| is_file && mode & 0o111 != 0)
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // Output read before an error is still useful.
            drop(pipe.by_ref().take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes));
            drop(std::io::copy(&mut pipe, &mut std::io::sink()));
        }
        bytes
    })
}

/// Waits for a child that leads a process group and calls `tick` meanwhile. The whole group is killed on timeout or
/// when `cancel` is set.
///
/// # Errors
/// The system cannot report the child's state.
pub fn wait(child: &mut Child, limit: Duration, cancel: &AtomicBool, mut tick: impl FnMut()) -> std::io::Result<End> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(end_of(status));
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
        tick();
        std::thread::sleep(pause);
        pause = (pause * 2).min(POLL);
    }
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
    fn a_crash_is_told_from_an_error() {
        assert_eq!(sh("kill -SEGV $$", Duration::from_secs(20)).end, End::Signal(11));
    }

    #[test]
    fn input_reaches_the_program() {
        let never = AtomicBool::new(false);
        let output = run(&mut Command::new("cat"), b"text", Duration::from_secs(20), &never).unwrap();
        assert_eq!(output.stdout, b"text");
    }
}
