//! Why a text is not known.

use std::path::PathBuf;

use lmem_base::source::Span;
use lmem_project::build_flags::BuiltFile;

use crate::rust::names::{FunctionId, Lost};

/// Why a text is not known.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// As the end of a sentence.
    pub reason: String,
    pub kind: FailureKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// A name that stands for nothing known.
    Name,
    /// Something makes it when the program runs, or it cannot be read.
    Made,
    /// A file that the build makes.
    Built(BuiltFile),
    /// This file of machine code, and where it is included.
    Machine(PathBuf, Span),
    /// What another call made that is looked at by itself.
    Elsewhere,
    /// What a function is called with.
    Parameter(FunctionId, usize),
}

impl Failure {
    pub(super) fn made(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), kind: FailureKind::Made }
    }
}

impl From<Lost> for Failure {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Parameter { function, index, reason } => {
                Self { reason, kind: FailureKind::Parameter(function, index) }
            }
            Lost::Bound(reason) | Lost::Name(reason) => Self { reason, kind: FailureKind::Name },
        }
    }
}

pub(super) fn unknown() -> Failure {
    Failure::made("its text is only known when the program runs")
}

pub(super) fn elsewhere() -> Failure {
    Failure { reason: "it was compiled before".to_string(), kind: FailureKind::Elsewhere }
}

/// What is not known is a part of the text.
pub(super) fn of_part(failure: &Failure) -> Failure {
    let reason = match failure.reason.strip_prefix("its text ") {
        Some(rest) => format!("a part of its text {rest}"),
        None => failure.reason.clone(),
    };
    match &failure.kind {
        FailureKind::Machine(..) => Failure::made(reason),
        kind => Failure { reason, kind: kind.clone() },
    }
}
