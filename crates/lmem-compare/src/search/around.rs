//! Launches for kernels whose changed code is hard to reach.
//!
//! Conditions that depend on each other are rarely met by raising one number: extents that must be a multiple of a warp,
//! lists that end, trees of which most nodes are leaves. Launches are drawn without a plan until one meets them, and others
//! are made like it.

use super::{Search, WORK};
use crate::draw::mix;
use crate::recipe::{Recipe, SEARCHED, SPREADS, Spread};

/// Launches drawn without a plan.
const LOOKS: u64 = 320;
/// Bounds of integers in memory, and integers, in them.
const ROOM: [i64; 8] = [4, 16, 8, 1 << 10, 2, 256, 32, 1 << 16];
const ANY: [i64; 16] = [1, 32, 2, 64, 256, 3, 16, 128, 1_000, 4, 8, 40, 1 << 16, 20, 5, 512];

impl Search<'_> {
    /// Draws launches without a plan until one executes what the edit changes.
    pub(super) fn look_around(&mut self, least: i64) {
        let limit = self.work + WORK / 2;
        for number in 0..LOOKS {
            if self.work > limit {
                break;
            }
            let hash = mix(0x10c4, number);
            let mut recipe = Recipe { least, ..self.recipe(hash >> 8) };
            recipe.below = ROOM[(hash % ROOM.len() as u64) as usize].max(least + 1);
            recipe.spread = SEARCHED[(hash >> 16) as usize % SEARCHED.len()];
            let threads: u32 = recipe.block.iter().chain(&recipe.grid).product();
            for (index, number) in recipe.integers.iter_mut().enumerate() {
                let hash = mix(hash, index as u64);
                let any = ANY[hash as usize % ANY.len()];
                *number = if hash >> 32 & 7 == 0 { i64::from(threads) } else { any }.max(least);
            }
            if let Ok((ran, _)) = self.original(&recipe)
                && ran.has_effect()
                && self.reach.in_original(&ran.outcome)
            {
                self.reaching = vec![recipe];
                break;
            }
        }
    }

    /// A launch that differs in one respect from one that executes what the edit changes.
    pub(super) fn similar(&self, number: u64) -> Option<Recipe> {
        let hash = mix(0x51a1, number);
        let known = self.reaching.get(hash as usize % self.reaching.len().max(1))?;
        let mut recipe = Recipe { seed: mix(0x1a2b, number), ..known.clone() };
        let index = (hash >> 16) as usize % recipe.integers.len().max(1);
        match hash >> 8 & 15 {
            0 => (recipe.block, recipe.grid) = self.extents(number),
            1 => recipe.spread = SPREADS[(number % SPREADS.len() as u64) as usize],
            2..4 => recipe.spread = Spread::Compared,
            4 => {
                let candidates = self.parameters.candidates(self.most.get(index).copied().unwrap_or(0));
                let other = candidates.get((hash >> 32) as usize % candidates.len().max(1));
                if let (Some(integer), Some(other)) = (recipe.integers.get_mut(index), other) {
                    *integer = (*other).max(self.least);
                }
            }
            turn @ (5 | 6) => {
                let step = if turn == 5 { 1 } else { -1 };
                if let Some(integer) = recipe.integers.get_mut(index) {
                    *integer = (*integer + step).max(self.least);
                }
            }
            7..10 => recipe.below = ROOM[(hash >> 32) as usize % ROOM.len()].max(self.least + 1),
            _ => {}
        }
        Some(recipe)
    }
}

#[cfg(test)]
mod tests {
    use lmem_base::diagnostic::Comparison;

    use crate::{Terms, Versions};

    /// Writes the sum of a warp, if the number of elements is a multiple of 32 from 64 to 224, else nothing; the array of
    /// 224 bytes holds no more.
    const ROWS: &str = ".version 8.0
.target sm_90
.address_size 64
.visible .entry rows(.param .u64 rows_param_0, .param .u64 rows_param_1, .param .u32 rows_param_2)
{
.local .align 4 .b8 __local_depot0[224];
.reg .pred %p<4>;
.reg .b32 %r<12>;
.reg .b64 %rd<8>;
.reg .b64 %SPL;
mov.u64 %SPL, __local_depot0;
ld.param.u64 %rd1, [rows_param_0];
ld.param.u64 %rd2, [rows_param_1];
ld.param.u32 %r1, [rows_param_2];
mov.u32 %r2, %tid.x;
mul.wide.u32 %rd3, %r2, 4;
add.s64 %rd4, %rd1, %rd3;
ld.global.u32 %r3, [%rd4];
shr.u32 %r4, %r1, 5;
setp.lt.u32 %p1, %r4, 2;
@%p1 bra $done;
and.b32 %r9, %r1, 31;
setp.ne.u32 %p2, %r9, 0;
@%p2 bra $done;
cvt.u64.u32 %rd5, %r1;
add.s64 %rd6, %SPL, %rd5;
st.local.u8 [%rd6+-1], %r3;
ld.local.u8 %r5, [%rd6+-1];
shfl.sync.bfly.b32 %r6, %r5, 16, 31, -1;
add.s32 %r7, %r5, %r6;
add.s64 %rd7, %rd2, %rd3;
st.global.u32 [%rd7], %r7;
$done:
ret;
}
";

    fn compared(after: &str) -> Comparison {
        Versions::new(ROWS, after).unwrap().compare("rows", Terms::default()).results
    }

    #[test]
    fn a_kernel_with_several_conditions_is_compared() {
        let right = ROWS.replace("add.s32 %r7, %r5, %r6", "sub.s32 %r8, 0, %r6;\nsub.s32 %r7, %r5, %r8");
        assert!(matches!(compared(&right), Comparison::Same { launches: 4.. }), "{}", compared(&right));
        let wrong = ROWS.replace("ld.local.u8 %r5, [%rd6+-1]", "ld.local.s8 %r5, [%rd6+-1]");
        assert!(matches!(compared(&wrong), Comparison::Different { .. }), "{}", compared(&wrong));
    }
}
