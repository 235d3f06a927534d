//! What every family of rewrites gives: edits that go together, and what is known of them.

use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::edit::conflict;

/// Edits that belong together, and what is known of them as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// In order, each once.
    pub edits: Vec<Edit>,
    /// How sure it is that the meaning stays.
    pub applicability: Applicability,
    /// The most rounds of a loop that is changed or made, where the source tells.
    pub rounds: Option<u32>,
    /// Threads of the largest block that is launched, where the edits count on it.
    pub threads: Option<u32>,
    /// All edits lie in one kernel, and change no other.
    pub is_within_kernel: bool,
    /// No loop that was there is changed.
    pub keeps_loops: bool,
}

impl Rewrite {
    /// A rewrite of which only the applicability is known.
    pub fn new(applicability: Applicability, mut edits: Vec<Edit>) -> Self {
        edits.sort();
        edits.dedup();
        Self { edits, applicability, rounds: None, threads: None, is_within_kernel: false, keeps_loops: false }
    }

    /// Both rewrites in one; `None` where they edit the same text in different ways.
    pub fn and(self, other: Self) -> Option<Self> {
        let is_apart = |edit: &Edit| other.edits.iter().all(|known| !conflict(edit, known));
        if !self.edits.iter().all(is_apart) {
            return None;
        }
        let mut edits = self.edits;
        edits.extend(other.edits);
        let joined = Self::new(self.applicability.max(other.applicability), edits);
        Some(Self {
            rounds: self.rounds.max(other.rounds),
            threads: self.threads.max(other.threads),
            is_within_kernel: self.is_within_kernel && other.is_within_kernel,
            keeps_loops: self.keeps_loops && other.keeps_loops,
            ..joined
        })
    }

    /// Tells how often the loops run that are changed.
    pub fn rounds(self, rounds: Option<u32>) -> Self {
        Self { rounds, ..self }
    }

    /// Tells which block size the edits count on.
    pub fn threads(self, threads: Option<u32>) -> Self {
        Self { threads, ..self }
    }

    /// Tells that the edits lie in one kernel.
    pub fn within_kernel(self, is_within_kernel: bool) -> Self {
        Self { is_within_kernel, ..self }
    }

    /// Tells that the edits change no loop.
    pub fn keeping_loops(self, keeps_loops: bool) -> Self {
        Self { keeps_loops, ..self }
    }

    /// The rewrite as it is offered.
    pub fn suggestion(self, title: impl Into<String>) -> Suggestion {
        Suggestion::new(title, self.applicability, self.edits)
            .rounds(self.rounds)
            .threads(self.threads)
            .within_kernel(self.is_within_kernel)
            .keeping_loops(self.keeps_loops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::source::{SourceFile, Span};

    fn rewrite(start: usize, end: usize, applicability: Applicability) -> Rewrite {
        let file = SourceFile::from_text("a.cu", "float a[4];");
        Rewrite::new(applicability, vec![Edit::alone(Span::new(&file, start..end), "x")]).within_kernel(true)
    }

    #[test]
    fn what_is_known_of_both_is_known_of_the_whole() {
        let certain = rewrite(0, 5, Applicability::MachineApplicable).rounds(Some(4)).keeping_loops(true);
        let other = rewrite(8, 9, Applicability::MaybeIncorrect).rounds(Some(2)).threads(Some(64));
        let joined = certain.clone().and(other).unwrap();
        assert_eq!((joined.edits.len(), joined.applicability), (2, Applicability::MaybeIncorrect));
        assert_eq!((joined.rounds, joined.threads), (Some(4), Some(64)));
        assert!(joined.is_within_kernel && !joined.keeps_loops);
        // The same edit is one edit; another one in its place is refused.
        assert_eq!(certain.clone().and(certain.clone()), Some(certain.clone()));
        assert_eq!(certain.and(rewrite(4, 6, Applicability::MachineApplicable)), None);
    }
}
