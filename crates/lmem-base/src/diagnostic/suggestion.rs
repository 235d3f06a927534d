//! A change of the source that is shown, and written with `--fix`.

use serde::{Deserialize, Serialize};

use super::verification::Verification;
use crate::source::Span;

/// Whether an edit keeps the meaning of the program; variants and order are rustc's. [`Verification`] tells whether the
/// edit helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Applicability {
    /// The edit keeps the meaning by construction.
    MachineApplicable,
    /// The programmer must judge the edit.
    MaybeIncorrect,
    HasPlaceholders,
}

impl Applicability {
    pub fn name(self) -> &'static str {
        match self {
            Self::MachineApplicable => "MachineApplicable",
            Self::MaybeIncorrect => "MaybeIncorrect",
            Self::HasPlaceholders => "HasPlaceholders",
        }
    }
}

/// A replacement of a byte range of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Edit {
    pub span: Span,
    /// The new text as written in the file: in a string literal, with escapes.
    pub replacement: String,
    /// The function around the edit. Every unit that reads the file must compile this range as written, or the edit
    /// means something else.
    pub context: Span,
}

impl Edit {
    /// An edit whose context is only the replaced range or the insertion point.
    pub fn alone(span: Span, replacement: impl Into<String>) -> Self {
        Self { context: span.clone(), span, replacement: replacement.into() }
    }
}

/// In a title, what stands between advice that has no edit and what the edit does.
pub const ADVICE_BEFORE: &str = "; or ";

/// A change of the source that reduces local memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// The advice, as the message of a `help`.
    pub title: String,
    pub applicability: Applicability,
    /// Sorted by position, without overlaps.
    pub edits: Vec<Edit>,
    /// Trip count of the changed loops, if known; the cost estimate uses it.
    pub rounds: Option<u32>,
    /// The edits keep all existing loops: code inside a loop still runs in every iteration.
    pub keeps_loops: bool,
    /// Each edited statement does by itself what it did: other code, of other builds too, sees no difference.
    pub is_by_statement: bool,
    /// Threads of the largest launched block, if the edits depend on it.
    pub threads: Option<u32>,
    /// It counts only if no spill is left: the next suggestion goes further.
    pub must_end_spills: bool,
    /// Blocks of the kernel may wait for each other: it counts only if no fewer fit at once.
    pub blocks_must_fit: bool,
    /// It counts only if as many warps are resident as before.
    pub warps_must_stay: bool,
    /// The edits are inside one kernel and affect no other.
    pub is_within_kernel: bool,
    /// `None` until the suggestion is compiled.
    pub verification: Option<Verification>,
}

impl Suggestion {
    /// A suggestion that was not compiled yet. The edits may come in any order.
    pub fn new(title: impl Into<String>, applicability: Applicability, mut edits: Vec<Edit>) -> Self {
        edits.sort_by(|one, other| one.span.cmp(&other.span));
        Self {
            title: title.into(),
            applicability,
            edits,
            rounds: None,
            keeps_loops: false,
            is_by_statement: false,
            threads: None,
            must_end_spills: false,
            blocks_must_fit: false,
            warps_must_stay: false,
            is_within_kernel: false,
            verification: None,
        }
    }

    /// Sets whether the edits are inside one kernel.
    pub fn within_kernel(self, is_within_kernel: bool) -> Self {
        Self { is_within_kernel, ..self }
    }

    /// Sets whether it counts only if no spill is left.
    pub fn ending_spills(self, must_end_spills: bool) -> Self {
        Self { must_end_spills, ..self }
    }

    /// Sets whether the edits keep all existing loops.
    pub fn keeping_loops(self, keeps_loops: bool) -> Self {
        Self { keeps_loops, ..self }
    }

    /// Sets whether each edited statement does by itself what it did.
    pub fn by_statement(self, is_by_statement: bool) -> Self {
        Self { is_by_statement, ..self }
    }

    /// Whether a recompilation showed that the suggestion helps.
    pub fn is_proven(&self) -> bool {
        self.verification.is_some()
    }

    pub fn rounds(self, rounds: Option<u32>) -> Self {
        Self { rounds, ..self }
    }

    pub fn threads(self, threads: Option<u32>) -> Self {
        Self { threads, ..self }
    }
}
