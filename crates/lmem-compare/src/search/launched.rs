//! A launch as the program has it, as far as its host code shows: the one that an edit is judged by.

use std::cmp::Reverse;

use super::original::{Ran, Reason, judged};
use super::{Counted, LONG_TURN, Order, Search};
use crate::draw::Elements;
use crate::recipe::{Recipe, Spread};

/// A launch in the source of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLaunch {
    pub grid: Option<[u32; 3]>,
    pub block: [u32; 3],
    /// The arguments that are integer constants, in the order of the kernel's parameters.
    pub arguments: Vec<Option<i64>>,
}

impl SourceLaunch {
    fn blocks(&self) -> u64 {
        self.grid.map_or(0, product)
    }

    fn threads(&self) -> u64 {
        product(self.block)
    }
}

fn product(extents: [u32; 3]) -> u64 {
    extents.iter().fold(1, |product, extent| product.saturating_mul(u64::from(*extent)))
}

/// Blocks that are run.
const BLOCKS: u64 = 2;
/// Launches with other data, of which the one with the most work counts, as arguments may be missing.
const ATTEMPTS: usize = 3;
/// Draws with random data of any values, and then of few.
const DRAWN: [u64; 6] = [0, 2, 16, 1, 3, 5];
/// Values of integers in memory, at least.
const VARIED: i64 = 8;
/// Limits on the warp instructions of the original: in a launch, and until no further launch is tried.
const LIMIT: u64 = 1_000_000;
const ENOUGH: u64 = 1_500_000;
/// A launch with so many is enough.
const LONG: u64 = 150_000;
/// Launches of a kernel that are tried.
const LAUNCHES: usize = 3;

impl Search<'_> {
    /// The program's largest launch that the original accepts, else one as programs have it or the longest that was
    /// compared, on the grid of the program.
    pub(super) fn counted_launch(&mut self, longest: Option<Recipe>) -> Option<Counted> {
        // A launch does not tell which instance of a template it is of: one that fails is of another.
        let most = [self.before, self.after].map(|program| program.kernel().max_thread_count().unwrap_or(1024));
        let fits = |launch: &&SourceLaunch| most.iter().all(|most| launch.threads() <= u64::from(*most));
        let mut launches: Vec<SourceLaunch> = self.outside.launches.iter().filter(fits).cloned().collect();
        launches.sort_by_key(|launch| Reverse(launch.blocks().max(1).saturating_mul(launch.threads())));
        self.work = 0;
        let found = launches.iter().take(LAUNCHES).find_map(|launch| self.accepted(launch));
        found.or_else(|| {
            let launch = launches.first().filter(|launch| launch.grid.is_some());
            Some(Counted {
                recipe: self.usual(None, &[]).or(longest)?,
                blocks: launch.map_or(0, SourceLaunch::blocks),
                threads: launch.map(SourceLaunch::threads),
                is_launched: false,
            })
        })
    }

    fn accepted(&mut self, launch: &SourceLaunch) -> Option<Counted> {
        let given = self.parameters.given(&launch.arguments);
        if launch.grid.is_none()
            && let Some(recipe) = self.usual(Some(launch.block), &given)
        {
            return Some(Counted { recipe, blocks: 0, threads: None, is_launched: false });
        }
        let mut longest: Option<(u64, Recipe)> = None;
        let mut found = 0;
        let drawn = DRAWN.map(|number| Recipe { spread: Spread::Random, ..self.drawn(number, false) });
        // Memory of one value is what a search ends with that found no valid launch otherwise.
        let varied = drawn[..ATTEMPTS].iter().filter(|recipe| recipe.below < VARIED);
        let varied: Vec<Recipe> = varied.map(|recipe| Recipe { below: VARIED, ..recipe.clone() }).collect();
        for (number, recipe) in varied.into_iter().chain(drawn).chain(self.reaching.clone()).enumerate() {
            // Data of few values counts only if no other does.
            let is_late = number >= ATTEMPTS && found > 0;
            if found >= ATTEMPTS
                || is_late
                || self.work > ENOUGH
                || longest.as_ref().is_some_and(|(work, _)| *work > LONG)
            {
                break;
            }
            let mut recipe = Recipe { block: launch.block, blocks: BLOCKS, ..recipe };
            recipe.grid = launch.grid.unwrap_or(recipe.grid);
            for (number, given) in recipe.integers.iter_mut().zip(&given) {
                *number = given.unwrap_or(*number);
            }
            let ran = self.execute(self.before, &recipe, &Elements::default(), (LIMIT, LONG_TURN), Order::Usual);
            if !self.can_be_counted(&ran) {
                continue;
            }
            found += 1;
            let work = ran.outcome.warp_instructions;
            if longest.as_ref().is_none_or(|(most, _)| work > *most) {
                longest = Some((work, recipe));
            }
        }
        let (_, recipe) = longest?;
        Some(Counted { recipe, blocks: launch.blocks(), threads: None, is_launched: launch.grid.is_some() })
    }

    /// Whether a run of the original is valid, and executes what the edit changes. What is read without a value changes no
    /// results here, as none are compared.
    pub(super) fn can_be_counted(&self, ran: &Ran) -> bool {
        let is_valid = matches!(judged(&ran.outcome), Ok(()) | Err(Reason::Unwritten(_)));
        is_valid && ran.has_effect() && self.reach.in_original(&ran.outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{COUNTING, Counts, Executed};
    use crate::{Outside, Terms, Versions};

    /// `if (threadIdx.x == 0) for (i < n) out[…] = …`, with a product of 3 or a sum of three.
    fn kernel(product: &str) -> String {
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 n)\n{{\n\
            .reg .pred %p<3>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n\
            ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, 0;\n\
            setp.ne.s32 %p1, %r2, 0;\n@%p1 bra $done;\n$loop:\nsetp.ge.s32 %p2, %r3, %r1;\n@%p2 bra $done;\n\
            mul.wide.u32 %rd2, %r3, 4;\nadd.s64 %rd3, %rd1, %rd2;\n{product}\nst.global.u32 [%rd3], %r4;\n\
            add.s32 %r3, %r3, 1;\nbra $loop;\n$done:\nret;\n}}\n"
        )
    }

    fn executed(launches: &[SourceLaunch]) -> Executed {
        let after = kernel("add.s32 %r5, %r3, %r3;\nadd.s32 %r4, %r5, %r3;");
        let versions = Versions::new(&kernel("mul.lo.s32 %r4, %r3, 3;"), &after).unwrap();
        versions.compare_launched("k", Terms::default(), Outside { launches, ..Outside::default() }).executed.unwrap()
    }

    fn launch(grid: Option<[u32; 3]>, argument: Option<i64>) -> SourceLaunch {
        SourceLaunch { grid, block: [96, 1, 1], arguments: vec![None, argument] }
    }

    #[test]
    fn a_launch_of_the_program_is_counted() {
        let counts = executed(&[launch(Some([50, 2, 1]), Some(37))]).before;
        assert!(counts.is_launched && counts.grid == 100 && counts.block_warps == 3);
        // Two blocks are run, and one warp of each stores.
        assert_eq!((counts.warps, counts.global_accesses), (6, 2 * 37));
        assert_eq!(counts.threads(), Some(96));
    }

    /// What is counted otherwise is another version of [`COUNTING`], so that no record mixes both.
    #[test]
    fn counts_are_those_of_their_version() {
        let counts = executed(&[launch(Some([50, 2, 1]), Some(37))]).after;
        let expected = Counts {
            warps: 6,
            issued: 7108,
            integer: 4520,
            code: 148,
            chain: 22_240,
            global_accesses: 74,
            missed_lines: 2,
            multiplied: 740,
            grid: 100,
            is_launched: true,
            block_warps: 3,
            slowest_chain: 62_220,
            ..Counts::default()
        };
        assert_eq!((COUNTING, counts), (2, expected));
    }

    #[test]
    fn a_block_takes_as_long_as_its_slowest_warp() {
        let counts = executed(&[launch(Some([50, 2, 1]), Some(37))]).before;
        let others = counts.chain * 3 - counts.slowest_chain;
        assert!(counts.slowest_chain > counts.chain * 2 && others < counts.chain, "{counts:?}");
    }

    #[test]
    fn the_largest_launch_counts() {
        let two = [launch(Some([1, 1, 1]), Some(5)), launch(Some([9, 1, 1]), Some(6))];
        assert_eq!(executed(&two).before.grid, 9);
    }

    #[test]
    fn a_launch_that_is_too_long_gives_its_grid() {
        let counts = executed(&[launch(Some([300, 1, 1]), Some(1 << 30))]).before;
        assert!(!counts.is_launched && counts.grid == 300 && counts.block_warps == 3, "{counts:?}");
        let counts = executed(&[]).before;
        assert_eq!((counts.grid, counts.threads()), (0, None));
    }
}
