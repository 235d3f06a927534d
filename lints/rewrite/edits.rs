//! The result of every rewrite: edits that belong together, and their properties.

use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::edit::conflict;

/// Edits that belong together, and their properties as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// Sorted, without duplicates.
    pub edits: Vec<Edit>,
    /// How certain it is that the meaning is kept.
    pub applicability: Applicability,
    /// The largest trip count of a changed or new loop, if known.
    pub rounds: Option<u32>,
    /// Threads of the largest launched block, if the edits depend on it.
    pub threads: Option<u32>,
    /// Whether all edits are inside one kernel and affect no other.
    pub is_within_kernel: bool,
    /// Whether all existing loops are unchanged.
    pub keeps_loops: bool,
    /// Whether each edited statement does by itself what it did.
    pub is_by_statement: bool,
}

impl Rewrite {
    /// A rewrite with default properties.
    pub fn new(applicability: Applicability, mut edits: Vec<Edit>) -> Self {
        edits.sort();
        edits.dedup();
        Self {
            edits,
            applicability,
            rounds: None,
            threads: None,
            is_within_kernel: false,
            keeps_loops: false,
            is_by_statement: false,
        }
    }

    /// Merges two rewrites; `None` if their edits conflict.
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
            is_by_statement: self.is_by_statement && other.is_by_statement,
            ..joined
        })
    }

    /// Sets the trip count of the changed loops.
    pub fn rounds(self, rounds: Option<u32>) -> Self {
        Self { rounds, ..self }
    }

    /// Sets the block size that the edits depend on.
    pub fn threads(self, threads: Option<u32>) -> Self {
        Self { threads, ..self }
    }

    /// Sets whether the edits are inside one kernel.
    pub fn within_kernel(self, is_within_kernel: bool) -> Self {
        Self { is_within_kernel, ..self }
    }

    /// Sets whether the edits keep all existing loops.
    pub fn keeping_loops(self, keeps_loops: bool) -> Self {
        Self { keeps_loops, ..self }
    }

    /// Sets whether each edited statement does by itself what it did, whatever stands before and behind it.
    pub fn by_statement(self, is_by_statement: bool) -> Self {
        Self { is_by_statement, ..self }
    }

    /// Converts the rewrite to a suggestion.
    pub fn suggestion(self, title: impl Into<String>) -> Suggestion {
        Suggestion::new(title, self.applicability, self.edits)
            .rounds(self.rounds)
            .threads(self.threads)
            .within_kernel(self.is_within_kernel)
            .keeping_loops(self.keeps_loops)
            .by_statement(self.is_by_statement)
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
        // Equal edits merge into one; different edits of one range conflict.
        assert_eq!(certain.clone().and(certain.clone()), Some(certain.clone()));
        assert_eq!(certain.and(rewrite(4, 6, Applicability::MachineApplicable)), None);
    }
}
