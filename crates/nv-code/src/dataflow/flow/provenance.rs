//! Provenance of a value.

use std::collections::BTreeSet;

use lmem_base::diagnostic::Uniformity;

use crate::dataflow::divergence::Level;

/// A value with more induction steps is not described, so that the sets of all values together stay small.
const MAX_STEPS: usize = 1024;

/// Provenance of an index; several fields may be set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// An induction variable, stepped by a constant.
    pub induction: bool,
    /// The induction variable enters the index through more than sums and scaling: `(i + n) % 8`, `i * i`.
    pub induction_is_changed: bool,
    /// A kernel parameter, or the size of block or grid.
    pub parameter: bool,
    /// A parameter of a device function; its callers are not analysed.
    pub argument: bool,
    pub block_index: bool,
    pub thread_index: bool,
    /// Loaded from memory.
    pub loaded: bool,
    /// Some of what is loaded lies in other memory than local memory. The rest is the program's own: a member of the
    /// array's structure, a table.
    pub loaded_elsewhere: bool,
    /// A condition that depends on loaded data chooses between values, which are not loaded for that.
    pub compared: bool,
    /// Loop-carried, but not by a constant step.
    pub loop_carried: bool,
    /// What the threads of a warp tell each other: shuffles, votes, reductions.
    pub of_warp: bool,
    /// The result of a call, or an instruction that is not followed.
    pub unknown: bool,
    /// Whether the value may differ between the threads of a warp; `None` if unknown.
    pub divergent: Option<bool>,
    /// Threads exchanged a value that it is made of, so that `divergent` says nothing: sums of a warp are the same
    /// in all its threads.
    pub exchanged: bool,
    /// The instructions that step the induction variables.
    pub steps: BTreeSet<usize>,
}

impl Provenance {
    /// A value that a condition or branches choose; threads may decide differently.
    pub fn chosen(level: impl Into<Level>) -> Self {
        Self { loop_carried: true, ..Self::decision(level) }
    }

    /// A value that only takes part in the choice between others.
    pub(super) fn decision(level: impl Into<Level>) -> Self {
        let level = level.into();
        Self { divergent: level.differs(), exchanged: level == Level::Exchanged, ..Self::default() }
    }

    /// With nothing said of a value that threads exchanged.
    pub(super) fn settled(self) -> Self {
        match self.exchanged {
            true => Self { divergent: None, exchanged: false, ..self },
            false => self,
        }
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
        self.loaded_elsewhere |= other.loaded_elsewhere;
        self.compared |= other.compared;
        self.loop_carried |= other.loop_carried;
        self.of_warp |= other.of_warp;
        self.unknown |= other.unknown;
        self.exchanged |= other.exchanged;
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

    /// Whether anything but an induction variable takes part.
    pub fn is_data(&self) -> bool {
        self.parameter
            || self.argument
            || self.block_index
            || self.thread_index
            || self.loaded
            || self.compared
            || self.loop_carried
            || self.unknown
    }

    pub fn uniformity(&self) -> Option<Uniformity> {
        self.divergent.map(|divergent| if divergent { Uniformity::PerThread } else { Uniformity::Uniform })
    }
}
