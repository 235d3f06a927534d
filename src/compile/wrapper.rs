//! A program of the user's that starts `ptxas`, such as `sccache`, which may have the result, or another machine that makes it.
//!
//! It needs what the sandbox denies, its server and its own files, so it runs outside. What it gives is used as if `ptxas` had given it; where
//! it fails, `ptxas` itself is asked, in the sandbox, so that an error is one of the text, not of the way to the farm.

use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;
use std::time::Instant;

use lmem_base::process::{self, End, Output};

use super::failure::CompileError;
use super::run::UnitRun;

/// The variable that names it. Settings of a workspace cannot.
pub const VARIABLE: &str = "CARGO_LMEM_PTXAS_WRAPPER";

/// The words of an answer that are quoted where a wrapper fails.
const MAX_QUOTED_CHARS: usize = 200;

/// A command before that of `ptxas`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrapper {
    /// As the user names it.
    name: String,
    program: PathBuf,
    arguments: Vec<String>,
}

impl FromStr for Wrapper {
    type Err = String;

    /// Reads `sccache`, or `/opt/farm/client --pool 'gpu builds'`. The program is looked for at once, and not in the current folder, which may be the
    /// checked tree.
    fn from_str(text: &str) -> Result<Self, String> {
        let words = shlex::split(text).ok_or("a quotation mark is not closed")?;
        let Some((name, arguments)) = words.split_first() else {
            return Err("name a program, such as `sccache`".to_string());
        };
        let is_program = |path: &PathBuf| path.is_absolute() && process::is_executable(path);
        let (program, refusal) = match name.contains('/') {
            true => (Some(PathBuf::from(name)).filter(is_program), "it is no absolute path of a program"),
            false => (process::on_path(name), "it is not on `PATH`"),
        };
        let program = program.ok_or_else(|| format!("`{name}` cannot be started: {refusal}"))?;
        Ok(Self { name: name.clone(), program, arguments: arguments.to_vec() })
    }
}

impl Wrapper {
    /// The command that runs `command` by this program, in the same folder and environment.
    fn around(&self, command: &Command) -> Command {
        let mut wrapped = Command::new(&self.program);
        wrapped.args(&self.arguments).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => wrapped.env(name, value),
                None => wrapped.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            wrapped.current_dir(folder);
        }
        wrapped
    }
}

impl UnitRun<'_, '_> {
    /// Runs `ptxas`, by the user's wrapper if there is one. What has run is shown unless it is a step of nvcc.
    ///
    /// # Errors
    /// It cannot be started, or waits for a pipe.
    pub fn assemble(&self, command: &mut Command, is_step: bool) -> Result<Output, CompileError> {
        let run = |command: &mut Command| match is_step {
            true => self.run_unshown(command, b"", "ptxas"),
            false => self.run(command, b"", "ptxas"),
        };
        let Some(wrapper) = &self.compiler.ptxas_wrapper else { return run(command) };
        let (mut wrapped, start) = (wrapper.around(command), Instant::now());
        let answer = self.run_outside(&mut wrapped);
        if let (Ok(output), false) = (&answer, is_step) {
            self.show(&wrapped, None, start, output.end);
        }
        let why = match answer {
            Ok(output) if matches!(output.end, End::Exit(0) | End::TimedOut | End::Cancelled) => return Ok(output),
            Ok(output) => words_of(&output),
            Err(error) => error.to_string(),
        };
        let output = run(command)?;
        if output.succeeded() {
            let name = &wrapper.name;
            (self.compiler.note)(&format!("`{name}` failed where `ptxas` did not, which was run without it: {why}"));
        }
        Ok(output)
    }
}

/// Why a program failed, in a line.
fn words_of(output: &Output) -> String {
    let text = output.text();
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let said = last.map(|line| line.chars().take(MAX_QUOTED_CHARS).collect());
    said.unwrap_or_else(|| match output.end {
        End::Exit(code) => format!("exit code {code}"),
        end => format!("{end:?}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_where_the_tree_has_none() {
        let named = |text: &str| text.parse::<Wrapper>();
        let found = named("sh -c 'a b'").unwrap();
        assert!(found.program.is_absolute() && found.program.ends_with("sh"), "{found:?}");
        assert_eq!(found.arguments, ["-c", "a b"]);
        assert_eq!(named("").unwrap_err(), "name a program, such as `sccache`");
        assert_eq!(named("'sh").unwrap_err(), "a quotation mark is not closed");
        assert_eq!(
            named("no-such-program -x").unwrap_err(),
            "`no-such-program` cannot be started: it is not on `PATH`"
        );
        for path in ["./wrap", "bin/wrap", "/nonexistent/wrap", "/"] {
            let error = named(path).unwrap_err();
            assert_eq!(error, format!("`{path}` cannot be started: it is no absolute path of a program"));
        }
    }

    #[test]
    fn a_wrapper_gets_the_whole_command() {
        let wrapper: Wrapper = "env -i".parse().unwrap();
        let mut command = Command::new("/cuda/bin/ptxas");
        command.args(["-v", "a b.ptx"]).env("A", "1").env_remove("B").current_dir("/tmp");
        let wrapped = wrapper.around(&command);
        let words: Vec<_> = wrapped.get_args().collect();
        assert_eq!(words, ["-i", "/cuda/bin/ptxas", "-v", "a b.ptx"]);
        assert_eq!(wrapped.get_envs().collect::<Vec<_>>(), command.get_envs().collect::<Vec<_>>());
        assert_eq!(wrapped.get_current_dir(), command.get_current_dir());
    }
}
