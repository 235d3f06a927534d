//! `--with-check`: runs `cargo check` before checking kernels, and passes its messages through. An editor that runs one
//! command in place of `cargo check` would otherwise lose all rustc errors.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lmem_base::process::{self, End};
use thiserror::Error;

use crate::cli::{CheckArgs, MessageFormat};

/// A build has no time limit; Ctrl-C ends it.
const NO_LIMIT: Duration = Duration::MAX;

/// Why `cargo check` was not completed.
#[derive(Debug, Error)]
pub enum WithCheckError {
    #[error("`cargo check` cannot be started")]
    Start(#[source] std::io::Error),
    #[error("`cargo check` is lost")]
    Lost(#[source] std::io::Error),
}

/// Runs `cargo check`; returns whether it succeeded.
///
/// # Errors
/// It cannot be run.
pub fn run(arguments: &CheckArgs, cancel: &AtomicBool) -> Result<bool, WithCheckError> {
    let mut command = command(arguments);
    let is_json = arguments.message_format == MessageFormat::Json;
    // Without JSON, cargo prints to stderr for people.
    command.stdout(if is_json { Stdio::piped() } else { Stdio::inherit() });
    let mut child = command.spawn().map_err(WithCheckError::Start)?;
    let lines = child.stdout.take();
    let end = std::thread::scope(|scope| {
        if let Some(lines) = lines {
            scope.spawn(|| pass_through(BufReader::new(lines)));
        }
        process::wait(&mut child, NO_LIMIT, cancel, || ())
    });
    Ok(matches!(end.map_err(WithCheckError::Lost)?, End::Exit(0)))
}

/// The command that rust-analyzer runs by default, for the same packages and features.
fn command(arguments: &CheckArgs) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["check", "--all-targets"]).stdin(Stdio::null());
    if arguments.message_format == MessageFormat::Json {
        command.arg("--message-format=json");
    }
    if arguments.offline {
        command.arg("--offline");
    }
    if arguments.workspace {
        command.arg("--workspace");
    }
    for (flag, values) in [("--package", &arguments.package), ("--exclude", &arguments.exclude)] {
        for value in values {
            command.args([flag, value]);
        }
    }
    if let Some(path) = &arguments.manifest_path {
        command.arg("--manifest-path").arg(path);
    }
    command.args(arguments.features.for_cargo());
    command
}

/// Passes messages on line by line, so that an editor shows them at once. The message that the build is finished is
/// left to the check.
fn pass_through(lines: impl BufRead) {
    for line in lines.lines().map_while(Result::ok).filter(|line| !is_end(line)) {
        let mut stdout = std::io::stdout().lock();
        // A closed pipe is no error.
        if writeln!(stdout, "{line}").and_then(|()| stdout.flush()).is_err() {
            return;
        }
    }
}

fn is_end(line: &str) -> bool {
    line.starts_with(r#"{"reason":"build-finished""#)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cargo, normalized};
    use clap::Parser;

    fn words(text: &str) -> String {
        let Cargo::Lmem(arguments) = Cargo::parse_from(normalized(text.split(' ').map(Into::into)));
        let command = command(&arguments.check);
        command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn cargo_gets_the_same_packages_and_features() {
        assert_eq!(words("cargo lmem --with-check"), "check --all-targets");
        assert_eq!(
            words("cargo lmem --with-check --workspace --exclude a --message-format=json --all-features"),
            "check --all-targets --message-format=json --workspace --exclude a --all-features"
        );
        assert_eq!(
            words("cargo lmem --with-check -p a --manifest-path b/Cargo.toml"),
            "check --all-targets --package a --manifest-path b/Cargo.toml"
        );
    }

    #[test]
    fn the_end_is_said_once() {
        assert!(is_end(r#"{"reason":"build-finished","success":true}"#));
        assert!(!is_end(r#"{"reason":"compiler-message"}"#));
    }
}
