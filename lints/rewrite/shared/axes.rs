//! The number of dimensions of a kernel's blocks.
//!
//! A part of shared memory for each thread needs an index that no two threads have in common. `threadIdx.x` is one only
//! if blocks have one dimension, and what a kernel reads does not tell that: in a block of 16 x 4 whose kernel reads
//! `threadIdx.x` alone, the threads of other rows repeat the work and store the same values.

use crate::framework::LintContext;

/// The dimensions of the blocks with which a kernel may be launched: those of its launches, if there cannot be others,
/// else three. A function may be called by any kernel.
pub fn axes(cx: &LintContext<'_>, is_of_kernel: bool) -> usize {
    let launches = cx.unit.launches();
    let is_known = is_of_kernel && cx.unit.has_all_launches(cx.frame) && launches.all(&cx.frame.name).is_some();
    launches.axes(&cx.frame.name).filter(|_| is_known).unwrap_or(3)
}
