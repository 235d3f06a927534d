//! The totals of a run.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::suggestion::Applicability;
use crate::stored::is_default;

/// Totals of a run, for the last line of the human format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub units: usize,
    /// Number of checked kernels × architectures.
    pub kernels: usize,
    /// Units without a kernel.
    pub units_without_kernels: usize,
    pub failed_units: usize,
    pub cached_units: usize,
    /// Units that are compiled for debugging, so that nothing is said of their kernels.
    pub debug_units: usize,
    /// What to do about assumed flags.
    pub flag_advice: String,
    /// Units compiled with assumed flags.
    pub assumed_units: usize,
    /// Findings by lint, after folding.
    pub findings: BTreeMap<String, usize>,
    /// The architecture with the most local memory.
    pub frame_architecture: String,
    /// Bytes of all stack frames on that architecture.
    pub frame_bytes: u64,
    /// Bytes of these that `unexplained_local_memory` claims.
    pub unexplained_bytes: u64,
    /// Kernel texts that were found but not analysed.
    pub not_analysed: usize,
    /// `sm_80, sm_90`
    pub architectures: Vec<String>,
    /// Number of the toolkit, such as `13.5.37`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub toolkit: String,
    /// Findings with a verified suggestion.
    pub suggested: BTreeMap<Applicability, usize>,
    /// Edits that compute something else, found by running both versions. They are not shown; each is a mistake of a
    /// rewrite.
    #[serde(skip_serializing_if = "is_default")]
    pub refuted: usize,
    /// Findings that comments silence, counted per kernel and architecture before folding.
    #[serde(skip_serializing_if = "is_default")]
    pub silenced: usize,
    /// The edits that `--fix` wrote, or would write.
    pub fixed: Option<FixTally>,
    /// Findings compared with the baseline, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineTally>,
    /// Findings compared with those of an older revision, if the run does that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<SinceTally>,
    /// The part of the files that was checked, if not all were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<PartitionTally>,
    /// The user stopped the run with Ctrl-C.
    pub interrupted: bool,
    /// `cargo check` ran first and found errors.
    pub cargo_failed: bool,
}

impl Summary {
    /// Whether the run checked no kernel and has no finding.
    pub fn is_nothing_checked(&self) -> bool {
        self.kernels == 0 && self.findings.is_empty()
    }
}

/// One part of what several machines check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PartitionTally {
    /// Which part, from 1, of so many.
    pub number: u32,
    pub count: u32,
    /// Units of this part.
    pub units: usize,
    pub left_to_others: usize,
}

/// Findings compared with a baseline.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BaselineTally {
    /// Findings in the baseline, which are not shown.
    pub known: usize,
    pub new: usize,
    /// Findings that take more bytes than their baseline entry.
    pub worse: usize,
    /// Baseline entries whose finding takes fewer bytes now.
    pub smaller: usize,
    /// Baseline entries without a finding.
    pub gone: usize,
    /// These and the smaller ones, one by one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub improved: Vec<ImprovedEntry>,
}

impl BaselineTally {
    /// Whether there is nothing to say: no finding is known, and nothing differs.
    pub fn is_empty(&self) -> bool {
        self.known + self.new + self.worse + self.smaller + self.gone == 0
    }

    /// Takes back that entries are gone: their code was not checked.
    pub fn forget_gone(&mut self, mut is_unknown: impl FnMut(&ImprovedEntry) -> bool) {
        let before = self.improved.len();
        self.improved.retain(|entry| !entry.now.is_empty() || !is_unknown(entry));
        self.gone = self.gone.saturating_sub(before - self.improved.len());
    }
}

/// An entry of a baseline that is more than is needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImprovedEntry {
    pub lint: String,
    pub file: String,
    /// Empty for what is said of a file's options.
    pub kernel: String,
    pub variable: Option<String>,
    /// By architecture.
    pub before: BTreeMap<String, u64>,
    /// On the architectures of the run; empty where nothing was found any more.
    pub now: BTreeMap<String, u64>,
}

impl ImprovedEntry {
    /// `` `part` of `scan` in `a.cu` (dynamic_index) ``
    pub fn named(&self) -> String {
        let owner = [self.variable.as_ref(), Some(&self.kernel)].into_iter().flatten().filter(|name| !name.is_empty());
        let owner: Vec<String> = owner.map(|name| format!("`{name}`")).collect();
        let owner = if owner.is_empty() { String::new() } else { format!("{} in ", owner.join(" of ")) };
        format!("{owner}`{}` ({})", self.file, self.lint)
    }
}

impl fmt::Display for ImprovedEntry {
    /// `` `part` of `scan` in `a.cu` (dynamic_index): sm_90 64 → 32 B ``
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.named())?;
        let smaller = self.now.iter().filter_map(|(name, now)| Some((name, self.before.get(name)?, now)));
        let smaller = smaller.filter(|(_, before, now)| now < before);
        let figures: Vec<String> = smaller.map(|(name, before, now)| format!("{name} {before} → {now} B")).collect();
        if figures.is_empty() { f.write_str("gone") } else { f.write_str(&figures.join(", ")) }
    }
}

/// What became of a run's findings beside those of an older revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SinceTally {
    /// As the user calls it.
    pub revision: String,
    /// Files that differ, or that include what differs.
    pub changed_units: usize,
    /// Files that were compared: those that the change may reach. Nothing else was looked for in the revision.
    pub compared_units: usize,
    #[serde(flatten)]
    pub tally: BaselineTally,
}

/// Totals of the edits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FixTally {
    pub problems: usize,
    pub files: usize,
    /// `false` if the edits are only shown.
    pub is_written: bool,
}
