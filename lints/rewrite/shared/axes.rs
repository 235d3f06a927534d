//! The number of dimensions of a kernel's blocks.
//!
//! A part of shared memory for each thread needs an index that no two threads have in common. `threadIdx.x` is one only
//! if blocks have one dimension, and what a kernel reads does not tell that: in a block of 16 x 4 whose kernel reads
//! `threadIdx.x` alone, the threads of other rows repeat the work and store the same values.

use nv_code::PtxFunction;
use ptx_syntax::Operand;

use crate::framework::LintContext;

/// The dimensions of the blocks with which a kernel may be launched: those of its launches, if there cannot be others,
/// else three. A function may be called by any kernel.
pub fn axes(cx: &LintContext<'_>, is_of_kernel: bool) -> usize {
    let launches = cx.unit.launches();
    let is_known = is_of_kernel && cx.unit.has_all_launches(cx.frame) && launches.all(&cx.frame.name).is_some();
    launches.axes(&cx.frame.name).filter(|_| is_known).unwrap_or(3)
}

/// Whether blocks of one dimension are all that is known of a kernel: it asks for the first axis alone, and each launch of
/// its file has one. Another file may launch others.
pub fn shows_one_axis(cx: &LintContext<'_>) -> bool {
    let launches = cx.unit.launches();
    let is_launched = launches.all(&cx.frame.name).is_some() && launches.axes(&cx.frame.name) == Some(1);
    is_launched && asks_for_first_axis(cx)
}

/// Whether a kernel asks for no index and no size of a block but those of the first axis.
pub fn asks_for_first_axis(cx: &LintContext<'_>) -> bool {
    cx.unit.function(&cx.frame.mangled).is_some_and(asks_for_one_axis)
}

fn asks_for_one_axis(function: &PtxFunction) -> bool {
    let is_other = |operand: &Operand| match operand {
        Operand::Special(special) => {
            let name = special.to_string();
            ["%tid", "%ntid"].iter().any(|word| name.starts_with(word)) && !name.ends_with(".x")
        }
        _ => false,
    };
    !function.instructions.iter().any(|instruction| instruction.operands.iter().any(is_other))
}
