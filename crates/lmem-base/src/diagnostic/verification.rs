//! What compiling with a suggestion's edits, and running both versions, showed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::timing::{Measurement, Timing};

/// Measurements from a recompilation with a suggestion's edits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// The kernels of the diagnostic, in the same order.
    pub kernels: Vec<VerifiedKernel>,
}

impl Verification {
    /// What running both versions of all kernels showed: the most that differs, in the fewest launches.
    pub fn results(&self) -> Option<Comparison> {
        let results = self.kernels.iter().map(|kernel| kernel.results.clone());
        results.collect::<Option<Vec<_>>>()?.into_iter().reduce(Comparison::and)
    }

    /// The smallest measured gain; for kernels that could not be timed, why.
    pub fn measured(&self) -> Option<&Measurement> {
        let measured = || self.kernels.iter().filter_map(|kernel| kernel.measured.as_ref());
        let least = measured().filter(|it| it.timing().is_some()).min_by_key(|it| it.timing().map(Timing::percent));
        least.or_else(|| measured().next())
    }

    /// The time before in percent of the time after, as measured, else as estimated.
    pub fn percent(&self) -> Option<u32> {
        let measured = self.measured().and_then(Measurement::timing).map(Timing::percent);
        let measured = measured.and_then(|percent| u32::try_from(percent).ok());
        measured.or_else(|| self.speedup().map(|speedup| speedup.percent))
    }

    /// The smallest estimate of all kernels that have one.
    pub fn speedup(&self) -> Option<Speedup> {
        self.kernels.iter().filter_map(|kernel| kernel.speedup).min_by_key(|speedup| speedup.percent)
    }
}

/// A kernel before and after an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifiedKernel {
    pub name: String,
    pub mangled: String,
    pub arch: String,
    pub before: Footprint,
    pub after: Footprint,
    /// Of running both versions; none where nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Comparison>,
    /// From what both versions executed; none where nobody ran them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup: Option<Speedup>,
    /// The share of its time, in thousandths, that local memory takes before the edits, by estimate; none where nobody ran
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_share: Option<u32>,
    /// On a GPU; none where nobody asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measurement>,
    /// Threads of the largest block that has the registers after the edits, where larger ones had them before and may be
    /// launched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_limit: Option<u32>,
}

/// The estimated time before an edit in percent of the time after it, and the bounds between which four of five
/// measured edits lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speedup {
    pub percent: u32,
    pub low_percent: u32,
    pub high_percent: u32,
}

impl fmt::Display for Speedup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = |percent: u32| f64::from(percent) / 100.0;
        let Self { percent, low_percent, high_percent } = *self;
        match percent {
            0..95 => write!(formatter, "about {:.1}× as fast", times(percent))?,
            95..105 => formatter.write_str("about as fast")?,
            _ => write!(formatter, "about {:.1}× faster", times(percent))?,
        }
        write!(formatter, " ({:.1}–{:.1})", times(low_percent), times(high_percent))
    }
}

/// What running both versions of a kernel on the same launches showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Comparison {
    /// The edit does not change the kernel's instructions.
    Unchanged,
    /// All bytes that were written are equal.
    Same { launches: u32 },
    /// Floating-point numbers differ a little, at most by so many parts of 10^15.
    LastDigits { launches: u32, relative_e15: u64 },
    /// They compute different things: where, and what.
    Different { what: String },
    /// Nobody knows: why.
    NotCompared { why: String },
}

impl Comparison {
    /// Of two kernels that one edit changes: what holds for both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        use Comparison::{Different, LastDigits, NotCompared, Same, Unchanged};
        match (self, other) {
            (Unchanged, other) | (other, Unchanged) => other,
            (different @ Different { .. }, _) | (_, different @ Different { .. }) => different,
            (unknown @ NotCompared { .. }, _) | (_, unknown @ NotCompared { .. }) => unknown,
            (Same { launches: one }, Same { launches: other }) => Same { launches: one.min(other) },
            (LastDigits { launches: one, relative_e15: a }, LastDigits { launches: other, relative_e15: b }) => {
                LastDigits { launches: one.min(other), relative_e15: a.max(b) }
            }
            (LastDigits { launches: one, relative_e15 }, Same { launches: other })
            | (Same { launches: other }, LastDigits { launches: one, relative_e15 }) => {
                LastDigits { launches: one.min(other), relative_e15 }
            }
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unchanged => formatter.write_str("same PTX instructions"),
            Self::Same { launches: 1 } => formatter.write_str("same results in 1 launch"),
            Self::Same { launches } => write!(formatter, "same results in {launches} launches"),
            Self::LastDigits { relative_e15: 0, .. } => formatter.write_str("signs of zeros differ"),
            Self::LastDigits { relative_e15, .. } => {
                write!(formatter, "last digits differ: up to {:.0e} relative", *relative_e15 as f64 / 1e15)
            }
            Self::Different { what } => write!(formatter, "results differ: {what}"),
            Self::NotCompared { why } => write!(formatter, "results not compared: {why}"),
        }
    }
}

/// A kernel's resources, and its occupancy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    #[serde(flatten)]
    pub usage: ResourceUsage,
    /// Resident blocks per SM, if the block size is known.
    pub blocks: Option<u32>,
    /// Occupancy: resident warps in percent of the architecture's maximum.
    pub occupancy_percent: Option<u32>,
    /// Bytes of machine code, without what it calls; 0 if unknown.
    #[serde(default)]
    pub code_bytes: u64,
    /// Estimated cost: instructions weighted by loop and by kind. Only comparable with the estimate for the same kernel
    /// before or after an edit.
    pub work: u64,
}

/// What `ptxas` reports for one kernel. Bytes are bytes per thread, `shared` bytes per block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ResourceUsage {
    pub stack_frame: u64,
    pub spill_stores: u64,
    pub spill_loads: u64,
    pub registers: u32,
    pub shared: u64,
}

impl ResourceUsage {
    /// Bytes of spill stores and spill loads.
    pub fn spilled(&self) -> u64 {
        self.spill_stores + self.spill_loads
    }
}
