//! Runs a child process. The only module of this crate that starts one.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lmem_base::process::{self, End};

/// Limit on the output that is read; its end counts.
const OUTPUT_LIMIT: u64 = 64 << 10;

/// The result of a child process.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// The last part of its output, both streams interleaved.
    pub(super) output: String,
}

/// Runs a command in its own process group and calls `tick` meanwhile. The caller sets the standard input.
///
/// # Errors
/// The command cannot be started. `cancel` was set ([`io::ErrorKind::Interrupted`]) or `limit` has passed
/// ([`io::ErrorKind::TimedOut`]); then the whole group was killed.
pub(super) fn run(
    command: &mut Command,
    cancel: &AtomicBool,
    limit: Duration,
    mut tick: impl FnMut(),
) -> io::Result<Ended> {
    // A file takes any amount of output, without a reader thread.
    let mut output = tempfile::tempfile()?;
    command.stdout(output.try_clone()?).stderr(output.try_clone()?);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    process::harden(command);
    let mut child = command.spawn()?;
    match process::wait(&mut child, limit, cancel, &mut tick)? {
        End::Cancelled => Err(io::ErrorKind::Interrupted.into()),
        End::TimedOut => Err(io::ErrorKind::TimedOut.into()),
        End::Exit(_) | End::Signal(_) => Ok(Ended { status: child.wait()?, output: end_of(&mut output)? }),
    }
}

/// The output of a successful program, for `--version`.
///
/// # Errors
/// The program cannot be run, takes more than ten seconds, or fails.
pub(super) fn output_of(program: &Path, arguments: &[&str], cancel: &AtomicBool) -> io::Result<String> {
    let ended =
        run(Command::new(program).args(arguments).stdin(Stdio::null()), cancel, Duration::from_secs(10), || ())?;
    if ended.status.success() {
        return Ok(ended.output);
    }
    let line = ended.output.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no output");
    Err(io::Error::other(format!("{}: {line}", ended.status)))
}

fn end_of(file: &mut File) -> io::Result<String> {
    let length = file.metadata()?.len();
    file.seek(io::SeekFrom::Start(length.saturating_sub(OUTPUT_LIMIT)))?;
    let mut bytes = Vec::new();
    file.take(OUTPUT_LIMIT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::Instant;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command
    }

    #[test]
    fn both_streams_and_the_status_come_back() {
        let never = AtomicBool::new(false);
        let ended = run(&mut shell("echo one; echo two >&2; exit 3"), &never, Duration::from_secs(10), || ()).unwrap();
        assert_eq!((ended.status.code(), ended.output.as_str()), (Some(3), "one\ntwo\n"));
    }

    #[test]
    fn only_the_end_of_a_flood_is_kept() {
        let never = AtomicBool::new(false);
        let script = "i=0; while [ $i -lt 9000 ]; do echo 1234567890; i=$((i+1)); done; echo end";
        let ended = run(&mut shell(script), &never, Duration::from_secs(60), || ()).unwrap();
        assert!(ended.output.len() as u64 <= OUTPUT_LIMIT && ended.output.ends_with("end\n"));
    }

    #[test]
    fn a_child_ends_with_its_children_when_cancelled_or_late() {
        let cancelled = AtomicBool::new(true);
        let started = Instant::now();
        let error = run(&mut shell("sleep 60 & sleep 60"), &cancelled, Duration::from_secs(60), || ()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        let never = AtomicBool::new(false);
        let error = run(&mut shell("sleep 60 | cat"), &never, Duration::from_millis(20), || ()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_program_that_fails_is_quoted() {
        let never = AtomicBool::new(false);
        let error = output_of(Path::new("/bin/ls"), &["/no/such/folder"], &never).unwrap_err();
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }
}
