//! Both versions of a kernel on a GPU.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a GPU showed of a kernel before and after an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// The GPU's name.
    pub device: String,
    /// Its highest clock. What it runs at during the launches is the driver's choice.
    pub megahertz: u32,
    /// Blocks of the launch.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// The number of launches of each version; they alternate.
    pub launches: u32,
    pub before: TimedVersion,
    pub after: TimedVersion,
    pub results: TimedResults,
}

/// One version of a kernel, by the driver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedVersion {
    /// Median time of a launch.
    pub nanoseconds: u64,
    /// Bytes of local memory per thread. They differ from ptxas's where the driver compiles PTX itself.
    pub local_bytes: u32,
    pub registers: u32,
    /// Resident blocks per multiprocessor.
    pub resident_blocks: u32,
}

/// What both versions wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimedResults {
    /// All bytes are equal.
    Same,
    /// Some bytes differ, and those of the original are equal in each launch.
    Different,
    /// The original writes other bytes in each launch.
    Unstable,
}

/// The outcome of trying to time a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Measurement {
    Timed(Box<Timing>),
    NotTimed { why: String },
}

impl Measurement {
    pub fn timing(&self) -> Option<&Timing> {
        match self {
            Self::Timed(timing) => Some(timing),
            Self::NotTimed { .. } => None,
        }
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timed(timing) => write!(formatter, "measured {timing}"),
            Self::NotTimed { why } => write!(formatter, "not measured: {why}"),
        }
    }
}

impl Timing {
    /// The time before the edit in percent of the time after it.
    pub fn percent(&self) -> u64 {
        self.before.nanoseconds * 100 / self.after.nanoseconds.max(1)
    }

    /// Whether the edit loses more than timings of the same code differ.
    pub fn is_slower(&self) -> bool {
        self.percent() < 97
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, blocks, threads, before, after, .. } = self;
        let microseconds = |version: &TimedVersion| version.nanoseconds as f64 / 1000.0;
        let (old, new) = (microseconds(before), microseconds(after));
        match (self.is_slower(), self.percent()) {
            (true, _) => write!(formatter, "{:.2}× slower", new / old.max(0.001))?,
            (false, 97..=103) => formatter.write_str("as fast")?,
            (false, _) => write!(formatter, "{:.2}× faster", old / new.max(0.001))?,
        }
        write!(formatter, " on {device} ({old:.1} → {new:.1} µs, {blocks} × {threads} threads")?;
        formatter.write_str(match self.results {
            TimedResults::Same => ", same results)",
            TimedResults::Different => ", other results)",
            TimedResults::Unstable => ", results differ from launch to launch)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_percent_are_noise() {
        let timing = |before, after| {
            let version = |nanoseconds| TimedVersion { nanoseconds, ..TimedVersion::default() };
            Timing {
                device: "GPU".to_string(),
                megahertz: 1980,
                blocks: 1024,
                threads: 256,
                launches: 15,
                before: version(before),
                after: version(after),
                results: TimedResults::Same,
            }
        };
        let text = "1.50× faster on GPU (15.0 → 10.0 µs, 1024 × 256 threads, same results)";
        assert_eq!(timing(15_000, 10_000).to_string(), text);
        assert!(timing(10_000, 15_000).is_slower() && timing(10_000, 15_000).to_string().starts_with("1.50× slower"));
        assert!(!timing(10_000, 10_200).is_slower() && timing(10_000, 10_200).to_string().starts_with("as fast"));
    }
}
