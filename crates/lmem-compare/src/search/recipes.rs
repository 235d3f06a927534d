//! Recipes for launches within the bounds that were found.

use std::collections::HashMap;

use super::Search;
use crate::draw::mix;
use crate::recipe::{Recipe, SPREADS, Spread};

/// Exclusive bounds of integers in memory, in turn: equal values only occur if the range is small.
const RANGES: [Option<i64>; 7] = [None, Some(8), None, Some(3), Some(100), Some(2), Some(32)];
/// Threads per block, in turn.
const BLOCKS: [u32; 6] = [64, 32, 33, 128, 1, 96];
const PLANES: [[u32; 2]; 5] = [[8, 8], [32, 2], [16, 4], [4, 8], [5, 7]];

/// Where a block size is known, one recipe in so many has half of it.
pub(super) const HALF_BLOCKS: u64 = 6;

impl Search<'_> {
    /// The launch with a number. The integers take turns at trying their candidate values. A directed launch has values
    /// for the conditions of the kernel.
    pub(super) fn drawn(&self, number: u64, is_directed: bool) -> Recipe {
        let count = self.most.len() as u64;
        let mut recipe = self.recipe(number);
        recipe.spread = if is_directed { Spread::Compared } else { SPREADS[(number % SPREADS.len() as u64) as usize] };
        recipe.below_in.clone_from(&self.below_in);
        if let Some(narrow) = RANGES[(number % RANGES.len() as u64) as usize] {
            let narrow = narrow.max(self.least + 1);
            recipe.narrow(narrow);
        }
        for index in 0..self.most.len() {
            let hash = mix(number, index as u64 + 101);
            if recipe.spread == Spread::Compared
                && let Some(constant) =
                    self.constants.integer(hash >> 7).filter(|it| hash & 1 == 0 && *it >= self.least)
            {
                recipe.integers[index] = constant;
                continue;
            }
            let candidates: Vec<i64> =
                self.parameters.candidates(self.most[index]).into_iter().filter(|it| *it >= self.least).collect();
            let is_focus = count > 0 && number % count == index as u64;
            let chosen = match is_focus {
                true => candidates.get((number / count) as usize % candidates.len().max(1)),
                false => candidates.get(hash as usize % candidates.len().max(1)),
            };
            // Bounds that guard threads are mostly large, so that many threads do something.
            recipe.integers[index] = match (hash >> 32 & 3, chosen) {
                (_, Some(chosen)) if is_focus => *chosen,
                (0, Some(chosen)) => *chosen,
                (1, _) => self.most[index],
                _ => self.base[index],
            };
        }
        recipe
    }

    /// A launch with the learned bounds and no variation.
    pub(super) fn recipe(&self, number: u64) -> Recipe {
        let seed = mix(0x1a2b, number);
        let (block, grid) = self.extents(number);
        Recipe {
            seed,
            spread: Spread::Random,
            below: self.below,
            below_in: HashMap::new(),
            least: self.least,
            words_are_integers: self.words_are_integers,
            wide_are_pointers: self.wide_are_pointers,
            integers: self.base.clone(),
            alias: None,
            rest: self.rest,
            block,
            grid,
            blocks: u64::MAX,
        }
    }

    /// Extents of block and grid.
    pub(super) fn extents(&self, number: u64) -> ([u32; 3], [u32; 3]) {
        let (old, new) = (self.before.kernel(), self.after.kernel());
        let extent = |is_asked: bool| if is_asked { 2 + u32::from(number % 3 == 1) } else { 1 };
        let grid = [1 + u32::from(number % 5 == 2), extent(self.shape.grid_rows), extent(self.shape.grid_layers)];
        if let Some(required) = old.required_threads.or(new.required_threads) {
            return (required, grid);
        }
        let most = [old, new].map(|kernel| kernel.max_thread_count().unwrap_or(1024)).into_iter().min().unwrap_or(1);
        if let Some(threads) = self.terms.threads {
            // The edit must also be correct for blocks smaller than the block size that it relies on.
            let threads = if number % HALF_BLOCKS == 4 { threads.div_ceil(2) } else { threads };
            return ([threads.clamp(1, most), 1, 1], grid);
        }
        let [x, y] = PLANES[(number % PLANES.len() as u64) as usize];
        let layers = if self.shape.layers { 2 } else { 1 };
        if (self.shape.rows || self.shape.layers) && number % 4 != 3 && x * y * layers <= most {
            return ([x, y, layers], grid);
        }
        ([BLOCKS[(number % BLOCKS.len() as u64) as usize].clamp(1, most), 1, 1], grid)
    }
}
