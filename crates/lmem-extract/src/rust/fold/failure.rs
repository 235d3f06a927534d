//! Reasons why a text is unknown.

use std::path::PathBuf;

use lmem_base::source::Span;
use lmem_project::build_flags::BuiltFile;

use crate::rust::fold::parse::UNUSUAL_SIZE;
use crate::rust::names::{FunctionId, Lost};

/// Why a text is unknown.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// A clause that ends a sentence.
    pub reason: String,
    pub kind: FailureKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// A name that does not resolve.
    Name,
    /// The text is computed at run time, or it cannot be read.
    Made,
    /// The text is a file that is no text.
    Binary,
    /// The text is known, and larger than what is put together.
    TooLarge,
    /// The text may be constant, and is behind more than is followed.
    Beyond,
    /// The text is in a build output.
    Built(BuiltFile),
    /// The text is this file of machine code; the span is the place that includes it.
    Machine(PathBuf, Span),
    /// The value comes from another compile or load call, which is analysed on its own.
    Elsewhere,
    /// The text is a parameter of a function, by index.
    Parameter(FunctionId, usize),
}

impl Failure {
    pub(super) fn made(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        let kind = if reason == UNUSUAL_SIZE { FailureKind::Beyond } else { FailureKind::Made };
        Self { reason, kind }
    }

    pub(super) fn beyond(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), kind: FailureKind::Beyond }
    }

    pub(crate) fn beyond_calls() -> Self {
        Self::beyond("its text comes through more calls than are followed")
    }

    pub(super) fn too_large() -> Self {
        Self { reason: "its text is of unusual size".to_string(), kind: FailureKind::TooLarge }
    }
}

impl From<Lost> for Failure {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Parameter { function, index, reason } => {
                Self { reason, kind: FailureKind::Parameter(function, index) }
            }
            Lost::Beyond(reason) => Self::beyond(reason),
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

/// The failure of a whole text whose part is unknown.
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
