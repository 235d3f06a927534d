//! A launch that is large enough to be timed on a GPU, with all the memory that it needs.
//!
//! The launch is one that the original accepts, with more blocks. It is executed on the CPU first: that shows which
//! bytes of which buffers it touches, so that it leaves no buffer on the GPU.

use std::collections::BTreeMap;
use std::ops::Range;

use ptx_machine::{End, Memory, Origin};
use serde::{Deserialize, Serialize};

use super::original::judged;
use super::usual::{Bounds, usual_bounds};
use super::{LAUNCH_LIMIT, LONG_TURN, Order, PATIENCE, Recipe, Search};
use crate::draw::Elements;

/// Numbers of blocks, in turn, as long as the launch stays within the limits.
const BLOCKS: [u32; 5] = [1, 16, 128, 512, 2048];

/// Launches tried with one block: as programs have them, with blocks of a usual size and then those of the comparison.
const BLOCK_SIZES: [bool; 2] = [true, false];

/// Threads of a block, if nothing decides it.
const THREADS: u32 = 256;
const PLANE: [u32; 3] = [32, 8, 1];

/// Limit on the warp instructions of the original.
const WORK: u64 = 4_000_000;

/// Limit on the bytes of all buffers.
const MEMORY: u64 = 256 << 20;

/// Start of a buffer in device memory is a multiple of this.
const ALIGNMENT: i64 = 256;

/// A launch, and the contents of its memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeLaunch {
    /// Blocks in the grid.
    pub grid: [u32; 3],
    /// Threads in a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The bytes of each parameter, without its addresses.
    pub parameters: Vec<Vec<u8>>,
    pub buffers: Vec<Buffer>,
    /// Parameters, or parts of them, that are addresses.
    pub pointers: Vec<Pointer>,
}

/// Memory that a launch may touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// Offset of the first byte from the address that the kernel gets; negative if the kernel subtracts from it.
    pub start: i64,
    pub length: usize,
    /// Its contents, which travel apart from the rest.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

/// An address in the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    pub parameter: usize,
    /// Offset in the parameter, in bytes.
    pub offset: usize,
    pub buffer: usize,
}

/// Makes a large launch for both versions of a kernel.
///
/// # Errors
/// There is none; the message says why, in the words of `Comparison::NotCompared`.
pub(crate) fn large_launch(mut search: Search<'_>) -> Result<LargeLaunch, String> {
    search.narrow()?;
    search.widen();
    let mut attempts = BLOCK_SIZES.into_iter().flat_map(|has_usual_size| {
        (0..).zip(usual_bounds()).map(move |(number, bounds)| Attempt { number, bounds, has_usual_size })
    });
    let first = attempts.find_map(|attempt| {
        let recipe = search.grown(attempt, BLOCKS[0]);
        search.try_large(&recipe).map(|touched| (attempt, recipe, touched))
    });
    let (attempt, mut recipe, mut touched) = first.ok_or("no launch was found that can be made large")?;
    for blocks in BLOCKS.into_iter().skip(1) {
        let larger = search.grown(attempt, blocks);
        let Some(more) = search.try_large(&larger) else { break };
        (recipe, touched) = (larger, more);
    }
    let (elements, ranges) = touched;
    search.filled(&recipe, &elements, &ranges)
}

/// A launch that is tried.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    number: u64,
    bounds: Bounds,
    has_usual_size: bool,
}

/// The offsets of each buffer that a launch touches.
type Ranges = Vec<(Origin, Range<i64>)>;

impl Search<'_> {
    /// A launch with more blocks. Integers that guard threads grow with it, trip counts do not.
    fn grown(&self, attempt: Attempt, blocks: u32) -> Recipe {
        let mut recipe = self.recipe(attempt.number);
        let (old, new) = (self.before.kernel(), self.after.kernel());
        let most = [old, new].map(|kernel| kernel.max_thread_count().unwrap_or(1024)).into_iter().min().unwrap_or(1);
        let is_decided = old.required_threads.or(new.required_threads).is_some() || self.terms.threads.is_some();
        if !is_decided && attempt.has_usual_size {
            let is_plane = self.shape.rows && PLANE.iter().product::<u32>() <= most;
            recipe.block = if is_plane { PLANE } else { [THREADS.min(most), 1, 1] };
        }
        recipe.grid = [blocks, recipe.grid[1], recipe.grid[2]];
        self.make_usual(&mut recipe, attempt.bounds, &[]);
        recipe
    }

    /// Runs the original on a launch; returns what it touches, or `None` if the launch is not valid or too large.
    fn try_large(&mut self, recipe: &Recipe) -> Option<(Elements, Ranges)> {
        let elements = Elements::default();
        let ran = self.execute(self.before, recipe, &elements, (WORK, LONG_TURN), Order::Usual);
        judged(&ran.outcome).ok()?;
        let limit = ran.outcome.warp_instructions.saturating_mul(PATIENCE) + LAUNCH_LIMIT;
        let limit = limit.min(WORK.saturating_mul(PATIENCE));
        let edited = self.execute(self.after, recipe, &elements, (limit, LONG_TURN), Order::Usual);
        let ranges = joined(&ran.memory, &edited.memory);
        let bytes: i64 = ranges.iter().map(|(_, range)| range.end - range.start).sum();
        let is_small = u64::try_from(bytes).is_ok_and(|bytes| bytes <= MEMORY);
        (edited.outcome.end == End::Completed && is_small).then_some((elements, ranges))
    }

    /// The launch with the contents of its buffers.
    fn filled(&self, recipe: &Recipe, elements: &Elements, ranges: &Ranges) -> Result<LargeLaunch, String> {
        let (launch, mut memory) = self.prepared(recipe, elements);
        let mut buffers = Vec::new();
        let mut places = Vec::new();
        for (origin, range) in ranges {
            if !matches!(origin, Origin::Parameter(_)) {
                return Err("it follows pointers in memory".to_string());
            }
            let start = range.start.div_euclid(ALIGNMENT) * ALIGNMENT;
            let region = memory.region(origin.clone(), None);
            let count = usize::try_from(range.end - start).map_err(|_| "a buffer is too large")?;
            let bytes = memory.bytes(region, start, count).map_err(|fault| fault.to_string())?;
            buffers.push(Buffer { start, length: bytes.len(), bytes });
            places.push(region);
        }
        let mut pointers = Vec::new();
        for (parameter, bytes) in launch.parameters.iter().enumerate() {
            for offset in (0..bytes.len() / 8).map(|word| word * 8) {
                let Some(word) = bytes.get(offset..offset + 8).and_then(|word| word.try_into().ok()) else { continue };
                let address = u64::from_le_bytes(word);
                if let Some(buffer) = places.iter().position(|region| region.address() == address) {
                    pointers.push(Pointer { parameter, offset, buffer });
                }
            }
        }
        let ptx_machine::Launch { grid, block, dynamic_shared, parameters, .. } = launch;
        Ok(LargeLaunch { grid, block, dynamic_shared, parameters, buffers, pointers })
    }
}

/// What two runs touch, apart from the variables of the module.
fn joined(one: &Memory, other: &Memory) -> Ranges {
    let mut all: BTreeMap<Origin, Range<i64>> = BTreeMap::new();
    for memory in [one, other] {
        let regions = memory.regions().filter(|region| !matches!(region.origin, Origin::Variable(_)));
        for (region, range) in regions.filter_map(|region| Some((region, memory.touched(region.id)?))) {
            let known = all.entry(region.origin.clone()).or_insert_with(|| range.clone());
            *known = known.start.min(range.start)..known.end.max(range.end);
        }
    }
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use crate::{Terms, Versions};

    /// `if (i < n) out[i] = in[i];`
    const COPY: &str = ".version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 copy_param_0, .param .u64 copy_param_1, .param .u32 copy_param_2)
{
.reg .pred %p<2>;
.reg .b32 %r<8>;
.reg .f32 %f<2>;
.reg .b64 %rd<8>;
ld.param.u64 %rd1, [copy_param_0];
ld.param.u64 %rd2, [copy_param_1];
ld.param.u32 %r2, [copy_param_2];
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %ntid.x;
mov.u32 %r5, %tid.x;
mad.lo.s32 %r1, %r3, %r4, %r5;
setp.ge.s32 %p1, %r1, %r2;
@%p1 bra $done;
cvta.to.global.u64 %rd3, %rd1;
mul.wide.s32 %rd4, %r1, 4;
add.s64 %rd5, %rd3, %rd4;
ld.global.f32 %f1, [%rd5];
cvta.to.global.u64 %rd6, %rd2;
add.s64 %rd7, %rd6, %rd4;
st.global.f32 [%rd7], %f1;
$done:
ret;
}
";

    #[test]
    fn a_guarded_kernel_gets_all_its_threads_and_their_memory() {
        let versions = Versions::new(COPY, COPY).unwrap();
        let large = versions.large_launch("copy", Terms::default()).unwrap();
        let threads = large.grid[0] * large.block[0];
        assert!(threads >= 1 << 18, "{} × {}", large.grid[0], large.block[0]);
        assert_eq!(large.parameters[2], threads.to_le_bytes());
        let places: Vec<(usize, usize)> = large.pointers.iter().map(|it| (it.parameter, it.buffer)).collect();
        assert_eq!(places, [(0, 0), (1, 1)]);
        assert!(large.buffers.iter().all(|buffer| buffer.start == 0 && buffer.length == 4 * threads as usize));
        assert!(large.buffers[0].bytes.iter().any(|byte| *byte != 0));
    }

    #[test]
    fn what_cannot_be_launched_is_said() {
        let versions = Versions::new(COPY, COPY).unwrap();
        assert!(versions.large_launch("other", Terms::default()).is_err());
    }
}
