//! The recipe of a launch.

use std::collections::HashMap;

use ptx_machine::Origin;

/// Distribution of the values of a launch. Together, the distributions make conditions true for all threads, some, one,
/// or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Values of all kinds.
    Random,
    /// Ascending, as row offsets and sorted keys are.
    Rising,
    /// All equal.
    Equal,
    /// Equal except for one in 37.
    Outlier,
    /// Descending.
    Falling,
    /// Positive and negative, some at the limits of their types.
    Signed,
    /// Half of them constants that the kernel compares with, and their neighbours.
    Compared,
    /// Each region has its own distribution: any values, ascending ones, mostly zeros as in counts of children, or any
    /// with some -1 between them that end a list.
    Mixed,
}

/// Distributions in the order of launches.
pub(crate) const SPREADS: [Spread; 8] = [
    Spread::Random,
    Spread::Rising,
    Spread::Random,
    Spread::Equal,
    Spread::Outlier,
    Spread::Compared,
    Spread::Signed,
    Spread::Falling,
];

/// Distributions in which launches are looked for that execute what the edit changes.
pub(crate) const SEARCHED: [Spread; 6] =
    [Spread::Mixed, Spread::Random, Spread::Mixed, Spread::Compared, Spread::Mixed, Spread::Signed];

/// All choices for a launch; equal recipes give equal launches.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub seed: u64,
    pub spread: Spread,
    /// Exclusive upper bound of integers; some regions have their own.
    pub below: i64,
    pub below_in: HashMap<Origin, i64>,
    /// Lower bound of integers.
    pub least: i64,
    /// Whether words that are only moved are integers; otherwise they are `f32`.
    pub words_are_integers: bool,
    /// Whether 64-bit values without a known use are addresses.
    pub wide_are_pointers: bool,
    /// One value for each of `Parameters::integers`.
    pub integers: Vec<i64>,
    /// Two parameters that lead to the same memory.
    pub alias: Option<Alias>,
    pub rest: Rest,
    pub block: [u32; 3],
    pub grid: [u32; 3],
    /// Blocks of the grid that are run.
    pub blocks: u64,
}

/// A pointer that is another one, or near it. Pointers are numbers of `Parameters::pointers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Alias {
    pub from: usize,
    pub to: usize,
    /// In bytes.
    pub shift: i64,
}

impl Recipe {
    /// Bounds all integers in memory.
    pub fn narrow(&mut self, below: i64) {
        self.below = self.below.min(below);
        self.below_in.values_mut().for_each(|known| *known = (*known).min(below));
    }
}

/// Kind of value for parameter bytes of unknown use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    Integers,
    Singles,
    Pointers,
    Doubles,
}

pub(crate) const RESTS: [Rest; 4] = [Rest::Integers, Rest::Singles, Rest::Pointers, Rest::Doubles];
