//! A launch as programs mostly have it, for what host code does not show of a kernel's: an edit is judged by it.
//!
//! Launches that are compared look for differences: in many of them, few threads work, or loops end at once. Here all
//! threads work, and integers that index arrays go half as far as the arrays do, whose sizes are for the largest case.

use super::{LONG_TURN, Order, Search};
use crate::draw::Elements;
use crate::recipe::Recipe;

/// A value that integers reach only if they guard threads or scale offsets, and are no trip counts.
pub(super) const GUARD: i64 = 1 << 16;

/// Exclusive bounds of integers in memory, until a launch is short enough: some are lengths of loops.
const DATA: [i64; 5] = [i64::MAX, 1_000, 100, 32, 8];
/// Limits on the warp instructions of the original: in a launch, and until no further launch is tried.
const LIMIT: u64 = 400_000;
const ENOUGH: u64 = 1_500_000;

/// How far integers go that index arrays.
#[derive(Debug, Clone, Copy)]
pub(super) enum Length {
    Half,
    /// As in the launch that was found first.
    Narrow,
}

impl Search<'_> {
    /// The first such launch that the original accepts and in which it executes what the edit changes. The block and the
    /// integers that are known are given. What is executed for it does not count: other launches are tried if there is none.
    pub(super) fn usual(&mut self, block: Option<[u32; 3]>, given: &[Option<i64>]) -> Option<Recipe> {
        let (before, mut found) = (self.work, None);
        for bounds in usual_bounds() {
            if found.is_some() || self.work > before + ENOUGH {
                break;
            }
            let mut recipe = self.recipe(0);
            recipe.block = block.unwrap_or(recipe.block);
            self.make_usual(&mut recipe, bounds, given);
            let ran = self.execute(self.before, &recipe, &Elements::default(), (LIMIT, LONG_TURN), Order::Usual);
            found = self.can_be_counted(&ran).then_some(recipe);
        }
        self.work = before;
        found
    }

    /// Sets the integers of a launch whose extents are set, but those that are given.
    pub(super) fn make_usual(&self, recipe: &mut Recipe, (length, below): Bounds, given: &[Option<i64>]) {
        recipe.below_in.clone_from(&self.below_in);
        recipe.narrow(below.max(self.least + 1));
        let threads: i64 = recipe.grid.iter().chain(&recipe.block).map(|extent| i64::from(*extent)).product();
        let given = given.iter().copied().chain(std::iter::repeat(None));
        for ((number, most), given) in recipe.integers.iter_mut().zip(&self.most).zip(given) {
            *number = match length {
                _ if let Some(given) = given => given,
                _ if *most >= GUARD => threads.max(*number),
                Length::Half => (most / 2).max(1).max(self.least),
                Length::Narrow => *number,
            };
        }
    }
}

/// How far integers go, and those in memory.
pub(super) type Bounds = (Length, i64);

/// In the order in which they are tried.
pub(super) fn usual_bounds() -> impl Iterator<Item = Bounds> {
    [Length::Half, Length::Narrow].into_iter().flat_map(|length| DATA.map(|below| (length, below)))
}

#[cfg(test)]
mod tests {
    use crate::estimate::Counts;
    use crate::{Outside, SourceLaunch, Terms, Versions};

    /// `if (i < n) { int a[16]; for (j < length) a[j] = …; out[i] = a[0]; }`, with a product of 3 or a sum of three.
    fn kernel(product: &str) -> String {
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
            .visible .entry k(.param .u64 out, .param .u32 n, .param .u32 length)\n{{\n\
            .local .align 4 .b8 a[64];\n.reg .pred %p<4>;\n.reg .b32 %r<12>;\n.reg .b64 %rd<8>;\n\
            ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [n];\nld.param.u32 %r2, [length];\n\
            mov.u32 %r3, %tid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %ctaid.x;\nmad.lo.s32 %r6, %r5, %r4, %r3;\n\
            setp.ge.s32 %p1, %r6, %r1;\n@%p1 bra $done;\nmov.u64 %rd2, a;\nmov.u32 %r7, 0;\nst.local.u32 [%rd2], %r7;\n\
            $loop:\nsetp.ge.s32 %p2, %r7, %r2;\n@%p2 bra $end;\n{product}\n\
            mul.wide.u32 %rd3, %r7, 4;\nadd.s64 %rd4, %rd2, %rd3;\nst.local.u32 [%rd4], %r9;\n\
            add.s32 %r7, %r7, 1;\nbra $loop;\n$end:\nld.local.u32 %r10, [%rd2];\n\
            mul.wide.u32 %rd5, %r6, 4;\nadd.s64 %rd6, %rd1, %rd5;\nst.global.u32 [%rd6], %r10;\n$done:\nret;\n}}\n"
        )
    }

    fn counts(launches: &[SourceLaunch]) -> Counts {
        let after = kernel("add.s32 %r8, %r7, %r7;\nadd.s32 %r9, %r8, %r7;");
        let versions = Versions::new(&kernel("mul.lo.s32 %r9, %r7, 3;"), &after).unwrap();
        let compared = versions.compare_launched("k", Terms::default(), Outside { launches, ..Outside::default() });
        compared.executed.unwrap_or_else(|| panic!("{}", compared.results)).before
    }

    /// The stores of each warp to local memory: one beside the loop.
    fn stored(counts: &Counts) -> u64 {
        counts.stored_lines / counts.warps - 1
    }

    #[test]
    fn all_threads_go_half_as_far_as_the_array() {
        let counts = counts(&[]);
        assert_eq!((counts.warps, stored(&counts), counts.lone_lines), (2, 8, 0), "{counts:?}");
    }

    #[test]
    fn what_host_code_shows_is_kept() {
        let launch = |length| SourceLaunch { grid: None, block: [96, 1, 1], arguments: vec![None, None, length] };
        let given = counts(&[launch(Some(3))]);
        assert_eq!((given.warps, stored(&given), given.lone_lines), (3, 3, 0), "{given:?}");
        let open = counts(&[launch(None)]);
        assert_eq!((open.warps, stored(&open)), (3, 8), "{open:?}");
    }

    #[test]
    fn a_length_that_is_no_launch_gives_way() {
        let launch = SourceLaunch { grid: None, block: [64, 1, 1], arguments: vec![None, None, Some(40)] };
        let counts = counts(&[launch]);
        assert!(counts.warps > 0 && stored(&counts) <= 15, "{counts:?}");
    }
}
