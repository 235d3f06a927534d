//! Runs the compilers of one unit in the sandbox, and takes from what they say and read only what may be shown.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use lmem_base::places::is_regular;
use lmem_base::process::{End, Output};
use lmem_base::source::normalize;
use lmem_unit::{CompilerMessage, Dependency, MessageKind, TranslationUnit, UnitCode};

use super::attempt::Attempt;
use super::failure::{CompileError, Failure, is_of_memory};
use super::unit::{Compiler, Shown, Target};
use crate::sandbox::{OfUnit, Waits};

/// Bytes of a failed compiler's output that are looked at, of each stream.
const MAX_SAID_BYTES: usize = 1 << 20;

/// File name of the unit's PTX in the temporary folder.
pub const PTX_NAME: &str = "unit.ptx";

/// The compilations of one unit for one target.
pub struct UnitRun<'c, 'a> {
    pub compiler: &'c Compiler<'a>,
    pub unit: &'c TranslationUnit,
    pub target: &'c Target,
    /// Temporary folder, which the compilers may write to.
    pub folder: &'c Path,
    pub of_unit: OfUnit,
    /// When the unit's compilers are given up.
    pub deadline: Instant,
}

impl UnitRun<'_, '_> {
    /// Rejects flags that name foreign paths. Flags come from the workspace too, so they are checked before the
    /// compiler starts.
    pub fn refuse_foreign(&self) -> Result<(), CompileError> {
        let arguments = match &self.unit.code {
            UnitCode::CudaFile { flags, .. } => flags.all_arguments(),
            UnitCode::CudaText { options, .. } => options.arguments.clone(),
            UnitCode::Ptx { options, .. } => options.arguments.clone(),
            UnitCode::Machine(_) => Vec::new(),
        };
        let readable = self.compiler.sandbox.readable(&self.of_unit);
        for path in named_paths(&arguments, &self.unit.base) {
            if !readable.hold(&path) {
                return Err(CompileError::Outside(normalize(&path)));
            }
            if !path.is_dir() && !is_regular(&path) {
                return Err(CompileError::Special(normalize(&path)));
            }
        }
        Ok(())
    }

    /// The functions' figures from ptxas; empty if it does not compile them.
    pub fn figures(&self, command: &mut Command) -> Result<String, CompileError> {
        let output = self.assemble(command, false)?;
        match output.end {
            End::Cancelled => Err(CompileError::Cancelled),
            _ if output.succeeded() => Ok(output.text()),
            _ => Ok(String::new()),
        }
    }

    pub fn run(&self, command: &mut Command, input: &[u8], program: &str) -> Result<Output, CompileError> {
        self.run_shown(command, input, program, None)
    }

    /// Runs a command and shows it. `options` are shown in place of the command if that is our own worker process.
    pub fn run_shown(
        &self,
        command: &mut Command,
        input: &[u8],
        program: &str,
        options: Option<String>,
    ) -> Result<Output, CompileError> {
        let start = Instant::now();
        let output = self.run_unshown(command, input, program)?;
        self.show(command, options, start, output.end);
        Ok(output)
    }

    /// Shows a command that has ended.
    pub fn show(&self, command: &Command, options: Option<String>, start: Instant, end: End) {
        (self.compiler.show)(&Shown {
            command: options.unwrap_or_else(|| shell_words(command)),
            folder: command.get_current_dir(),
            elapsed: start.elapsed(),
            end,
        });
    }

    pub fn run_unshown(&self, command: &mut Command, input: &[u8], program: &str) -> Result<Output, CompileError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let output = self.compiler.sandbox.run(command, &self.of_unit, input, left, self.compiler.cancel);
        output.map_err(|error| match error.downcast::<Waits>() {
            Ok(Waits(pipe)) => CompileError::Special(normalize(&pipe)),
            Err(error) => CompileError::io(format!("`{program}` cannot be started"))(error),
        })
    }

    /// Runs a program of the user's own, which starts a compiler.
    pub fn run_outside(&self, command: &mut Command) -> std::io::Result<Output> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.compiler.sandbox.run_outside(command, left, self.compiler.cancel)
    }

    /// Of paths that a text names, the files that the compiler may read.
    pub fn read_ones(&self, paths: impl Iterator<Item = PathBuf>) -> Vec<Dependency> {
        let mut files = self.compiler.sandbox.readable(&self.of_unit).files_among(paths);
        files.sort();
        files.dedup();
        files
    }

    /// A compiler's output, if it may be shown: it quotes lines of files, and a unit may have included any file.
    pub fn shown(&self, text: String) -> Result<String, CompileError> {
        match self.compiler.sandbox.readable(&self.of_unit).foreign_in(&text, &self.unit.base) {
            Some(path) => Err(CompileError::Outside(normalize(&path))),
            None => Ok(text),
        }
    }

    pub fn refusal(
        &self,
        end: End,
        text: &str,
        program: &str,
        messages: Vec<CompilerMessage>,
        attempt: &Attempt,
    ) -> Box<Failure> {
        let program = program.to_string();
        let has_errors = messages.iter().any(|message| message.kind == MessageKind::Error);
        let has_no_host = || text.contains("Failed to preprocess host compiler properties");
        let memory = self.compiler.sandbox.memory().filter(|_| is_of_memory(end, text));
        let error = match (end, memory) {
            (End::TimedOut, _) if self.compiler.total.is_over() => self.compiler.run_timed_out(),
            (End::TimedOut, _) => CompileError::TimedOut { program, seconds: self.compiler.limit.as_secs() },
            (End::Cancelled, _) => CompileError::Cancelled,
            (_, Some(memory)) => {
                let (option, limited) = memory.option();
                CompileError::Memory { program, mib: memory.bytes >> 20, option, limited }
            }
            (End::Signal(signal), _) => CompileError::Crashed { program, signal },
            // Compilers say this or that, or nothing, where their temporary files cannot be written.
            (End::Exit(_), _) if (!has_errors || has_no_host()) && self.has_no_room() => CompileError::NoRoom,
            (End::Exit(_), _) if has_no_host() => CompileError::NoHostCompiler,
            (End::Exit(_), _) if has_errors => CompileError::Refused { architecture: attempt.architecture.clone() },
            (End::Exit(code), _) => CompileError::Silent { program, code, output: last_lines(text, 12) },
        };
        // What compilers say of it is not the cause.
        let messages = if matches!(error, CompileError::NoRoom) { Vec::new() } else { messages };
        Box::new(Failure { error, messages, rescues: attempt.rescues.clone(), ptx: None, read: None, absent: None })
    }

    /// Whether the folder for temporary files takes nothing more.
    fn has_no_room(&self) -> bool {
        let path = self.folder.join("room");
        let written = fs_err::write(&path, [0; ROOM]);
        drop(fs_err::remove_file(path));
        written.is_err_and(|error| matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
    }
}

/// Bytes that are written to see whether there is room.
const ROOM: usize = 64 << 10;

/// What a compiler said. Of one that failed, the beginning is enough: few of its errors are shown, and one that does not
/// end says the same for ever.
pub fn said(output: &Output) -> String {
    if output.succeeded() {
        return output.text();
    }
    let start = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_SAID_BYTES)]).into_owned();
    format!("{}{}", start(&output.stdout), start(&output.stderr))
}

pub fn warnings(messages: Vec<CompilerMessage>) -> Vec<CompilerMessage> {
    // The lints report ptxas's messages on local memory in better terms.
    let asked_for = |text: &str| {
        text.starts_with("Local memory used for function")
            || text.starts_with("Registers are spilled to local memory")
            || text.starts_with("Stack size for entry function")
    };
    messages.into_iter().filter(|message| message.kind == MessageKind::Warning && !asked_for(&message.text)).collect()
}

/// A compiler's message with names of our temporary files removed, so that equal input gives equal messages.
pub fn without_folder(text: &str, folder: &Path, unit: &TranslationUnit) -> String {
    let ours = folder.join(PTX_NAME);
    text.replace(ours.to_string_lossy().as_ref(), &unit.name).replace(&format!("{}/", folder.display()), "")
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Existing paths among the arguments of a compiler, whatever the option. Values of macros are text, not paths.
pub fn named_paths(arguments: &[String], base: &Path) -> Vec<PathBuf> {
    let is_macro = |argument: &&String| {
        ["-D", "-U", "--define-macro", "--undefine-macro"].iter().any(|it| argument.starts_with(it))
    };
    let parts = arguments.iter().filter(|argument| !is_macro(argument)).flat_map(|argument| argument.split(['=', ',']));
    let values = parts.flat_map(|part| {
        let joined = ["-I", "-isystem", "-include", "@"].iter().filter_map(|option| part.strip_prefix(option));
        joined.chain([part]).filter(|value| !value.is_empty()).map(|value| base.join(value)).collect::<Vec<_>>()
    });
    values.filter(|path| path.exists()).collect()
}

/// The words of a command, quoted for a shell if necessary.
fn shell_words(command: &Command) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
    let quoted = |word: &std::ffi::OsStr| {
        let word = word.to_string_lossy();
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word.into_owned(),
            false => format!("'{}'", word.replace('\'', "'\\''")),
        }
    };
    std::iter::once(command.get_program()).chain(command.get_args()).map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_a_shell_takes_them() {
        let mut command = Command::new("/opt/cuda/bin/nvcc");
        command.args(["-arch=sm_90", "-DNAME=\"a b\"", "", "it's.cu"]);
        assert_eq!(shell_words(&command), "/opt/cuda/bin/nvcc -arch=sm_90 '-DNAME=\"a b\"' '' 'it'\\''s.cu'");
    }
}
