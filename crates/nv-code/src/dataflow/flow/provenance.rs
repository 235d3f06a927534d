//! Where a value comes from.

use std::collections::BTreeSet;

use lmem_base::diagnostic::Uniformity;

/// A value that so many counters take part in is not told: the sets of all values together stay small.
const MAX_STEPS: usize = 1024;

/// Where the value of an index comes from; several may hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// A counter that steps by a constant.
    pub induction: bool,
    /// The counter is changed before it is used as an index: `(i + n) % 8`, `i * i`.
    pub induction_is_changed: bool,
    /// A kernel parameter, or the size of block or grid.
    pub parameter: bool,
    /// What the caller of a function that is no kernel passes; its callers are not looked into.
    pub argument: bool,
    pub block_index: bool,
    pub thread_index: bool,
    /// Loaded from memory.
    pub loaded: bool,
    /// Changed from iteration to iteration, but not by a constant.
    pub loop_carried: bool,
    /// The result of a call, or something that is not followed.
    pub unknown: bool,
    /// Whether the threads of a warp may differ; `None` where that is not known.
    pub divergent: Option<bool>,
    /// Instructions that step the counters.
    pub steps: BTreeSet<usize>,
}

impl Provenance {
    /// A value that a condition or branches choose, which threads may decide differently.
    pub fn chosen(divergent: Option<bool>) -> Self {
        Self { loop_carried: true, divergent, ..Self::default() }
    }

    /// What only decides which value it is.
    pub(super) fn decision(divergent: Option<bool>) -> Self {
        Self { divergent, ..Self::default() }
    }

    pub(super) fn constant() -> Self {
        Self { divergent: Some(false), ..Self::default() }
    }

    pub(super) fn unknown() -> Self {
        Self { unknown: true, ..Self::default() }
    }

    pub fn merge(&mut self, other: Self) {
        self.merge_with(&other);
    }

    pub(super) fn merge_with(&mut self, other: &Self) {
        self.induction |= other.induction;
        self.induction_is_changed |= other.induction_is_changed;
        self.parameter |= other.parameter;
        self.argument |= other.argument;
        self.block_index |= other.block_index;
        self.thread_index |= other.thread_index;
        self.loaded |= other.loaded;
        self.loop_carried |= other.loop_carried;
        self.unknown |= other.unknown;
        self.divergent = match (self.divergent, other.divergent) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        };
        self.steps.extend(&other.steps);
        if self.steps.len() > MAX_STEPS {
            self.steps.clear();
            self.unknown = true;
        }
    }

    pub fn is_constant(&self) -> bool {
        !(self.induction || self.is_data())
    }

    /// Whether anything but a counter takes part.
    pub fn is_data(&self) -> bool {
        self.parameter
            || self.argument
            || self.block_index
            || self.thread_index
            || self.loaded
            || self.loop_carried
            || self.unknown
    }

    pub fn uniformity(&self) -> Option<Uniformity> {
        self.divergent.map(|divergent| if divergent { Uniformity::PerThread } else { Uniformity::Uniform })
    }
}
