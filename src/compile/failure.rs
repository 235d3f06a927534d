//! Why a unit has no artifacts.

use std::path::PathBuf;

use thiserror::Error;

use cuda_toolkit::Toolkit;
use lmem_base::process::End;
use lmem_unit::{CompilerMessage, Dependency, MessageKind};

use super::absent::Absent;
use super::rescue::missing_header;

/// Why a unit has no artifacts.
#[derive(Debug, Clone)]
pub struct Failure {
    pub error: CompileError,
    /// The compilers' messages, if any.
    pub messages: Vec<CompilerMessage>,
    pub rescues: Vec<String>,
    /// The PTX that ptxas rejected: its lines lead back to the source.
    pub ptx: Option<String>,
    /// The files that the compiler read; `None` if unknown or not requested.
    pub read: Option<Vec<Dependency>>,
    /// The headers that were not found, if where they would be is known.
    pub absent: Option<Absent>,
}

#[derive(Debug, Clone, Error)]
pub enum CompileError {
    #[error("does not compile for `{architecture}`")]
    Refused { architecture: String },
    #[error("`{program}` was given up after {seconds} s")]
    TimedOut { program: String, seconds: u64 },
    #[error("not compiled: the run's time of {seconds} s is over, `--total-timeout` sets another")]
    RunTimedOut { seconds: u64 },
    #[error("`{program}` needs more than {mib} MiB of memory: `{option}` sets what {limited}")]
    Memory { program: String, mib: u64, option: &'static str, limited: &'static str },
    #[error("`{}` leads out of what may be read: name its folder with `--allow-read` if that is meant", .0.display())]
    Outside(PathBuf),
    #[error("`{}` was asked for, and not the version of it that is compared: name it by a relative path", .0.display())]
    OtherVersion(PathBuf),
    #[error("`{}` is neither a file nor a folder", .0.display())]
    Special(PathBuf),
    #[error(
        "a macro makes the directive `{0}`: what it includes would be read by the front end alone, and is not known; write the directive without a macro"
    )]
    MadeDirective(String),
    #[error("`{}` holds a character that a shell would act on, and nvcc starts its tools through one: {next}", path.display())]
    Shell { path: PathBuf, next: &'static str },
    #[error("`{program}` crashed with signal {signal}")]
    Crashed { program: String, signal: i32 },
    #[error("`{program}` ended with exit code {code} and said: {output}")]
    Silent { program: String, code: i32, output: String },
    #[error("`{program}` ended well but wrote no {what}")]
    NoOutput { program: String, what: &'static str },
    #[error("toolkit {version} has no `{program}`, which {what} need: use a full toolkit, such as `--toolkit managed`")]
    Missing { version: String, program: &'static str, what: &'static str },
    #[error("there is no room for temporary files: `TMPDIR` names another folder")]
    NoRoom,
    #[error("nvcc needs a host C++ compiler and found none: install `g++`; kernel strings and PTX work without")]
    NoHostCompiler,
    #[error("{0}")]
    Broken(String),
    #[error("interrupted")]
    Cancelled,
    #[error("{what}: {message}")]
    Io { what: String, message: String },
}

impl CompileError {
    pub(super) fn missing(toolkit: &Toolkit, program: &'static str, what: &'static str) -> Self {
        Self::Missing { version: toolkit.version.to_string(), program, what }
    }

    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::Io { what, message: error.to_string() }
    }
}

impl Failure {
    /// The input files of a failure that only depends on the text: the same files fail again. A missing file may appear
    /// later, unless all places where it would are known; a killed compiler is recognized by its message. Both are excluded.
    pub fn lasting_inputs(&self) -> Option<&[Dependency]> {
        const PASSING: [&str; 4] = ["No such file", "cannot open", "could not open", "No space left"];
        let is_absent = |text: &str| {
            let names = self.absent.iter().flat_map(|absent| &absent.names);
            missing_header(text).is_some_and(|header| names.into_iter().any(|name| name == header))
        };
        let is_of_text = |message: &CompilerMessage| {
            let has_place = message.place.is_some() || message.compiler == "ptxas";
            let is_passing = PASSING.iter().any(|words| message.text.contains(words));
            has_place && (!is_passing || is_absent(&message.text))
        };
        let errors: Vec<_> = self.messages.iter().filter(|message| message.kind == MessageKind::Error).collect();
        let is_lasting = matches!(self.error, CompileError::Refused { .. })
            && !errors.is_empty()
            && errors.into_iter().all(is_of_text)
            && !is_of_memory(End::Exit(1), &self.words());
        self.read.as_deref().filter(|_| is_lasting)
    }

    /// All messages as one text.
    pub(super) fn words(&self) -> String {
        let said = self.messages.iter().map(|message| message.text.clone());
        said.chain([self.error.to_string()]).collect::<Vec<_>>().join("\n")
    }
}

impl From<CompileError> for Box<Failure> {
    fn from(error: CompileError) -> Self {
        Self::new(Failure { error, messages: Vec::new(), rescues: Vec::new(), ptx: None, read: None, absent: None })
    }
}

/// Whether a compiler ended for lack of memory, judged by the messages of the compilers that nvcc starts.
pub(super) fn is_of_memory(end: End, text: &str) -> bool {
    const WORDS: [&str; 5] = [
        "out of memory",
        "Cannot allocate memory",
        "std::bad_alloc",
        "virtual memory exhausted",
        "Memory allocation failure",
    ];
    end != End::Exit(0) && WORDS.iter().any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use lmem_unit::parse_messages;

    use super::*;

    #[test]
    fn only_failures_of_the_text_last() {
        let message = |text: &str| parse_messages(text, "nvcc");
        let failure = |error: CompileError, text: &str| Failure {
            error,
            messages: message(text),
            rescues: Vec::new(),
            ptx: None,
            read: Some(vec![PathBuf::from("/w/a.cuh")]),
            absent: None,
        };
        let refused = |text: &str| failure(CompileError::Refused { architecture: "sm_90".into() }, text);
        let lasts = |failure: &Failure| failure.lasting_inputs().is_some();
        let undefined = "a.cu(2): error: identifier \"y\" is undefined";
        assert!(lasts(&refused(undefined)));
        assert!(lasts(&refused("ptxas error   : Entry function 'k' uses too much shared data")));
        for passing in [
            "a.cu:1:10: fatal error: nope.h: No such file or directory",
            "default_program(1): catastrophic error: cannot open source file \"nope.h\"",
            "nvcc error   : 'cicc' died due to signal 9 (Kill signal)",
            "g++: fatal error: Killed signal terminated program cc1plus",
            "ptxas fatal   : Memory allocation failure",
        ] {
            assert!(!lasts(&refused(passing)), "{passing}");
        }
        let lacks = |name: &str| Failure {
            absent: Some(Absent { names: vec![name.to_string()], places: Vec::new() }),
            ..refused("a.cu:1:10: fatal error: nope.h: No such file or directory")
        };
        assert!(lasts(&lacks("nope.h")) && !lasts(&lacks("other.h")));
        assert!(!lasts(&failure(CompileError::TimedOut { program: "nvcc".into(), seconds: 1 }, undefined)));
        assert!(!lasts(&Failure { read: None, ..refused(undefined) }));
    }
}
