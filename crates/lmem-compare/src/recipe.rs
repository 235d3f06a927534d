//! The recipe of a launch.

use std::collections::HashMap;

use ptx_machine::Origin;

use crate::draw::Spread;

/// All choices for a launch; equal recipes give equal launches.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub seed: u64,
    pub spread: Spread,
    pub below: i64,
    pub below_in: HashMap<Origin, i64>,
    pub least: i64,
    pub words_are_integers: bool,
    pub wide_are_pointers: bool,
    /// One value for each of `Parameters::integers`.
    pub integers: Vec<i64>,
    pub rest: Rest,
    pub block: [u32; 3],
    pub grid: [u32; 3],
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
