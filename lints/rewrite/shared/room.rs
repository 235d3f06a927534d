//! The shared memory that is left in a block, beside what its kernels have and what their launches add.
//!
//! Static and dynamic bytes of a launch share 48 KiB, or the launch fails: more needs a request of the host code, and then
//! for dynamic bytes alone.

use cuda_syntax::tree::base_name;
use lmem_base::gpu::DECLARED_SHARED;
use lmem_base::mangling::demangle;
use nv_code::KernelFacts;

use super::Layout;
use super::runners::Runners;
use crate::framework::LintContext;

/// Padding per row that makes its length odd, in bytes, for the usual types.
const ROW_GAP: u64 = 8;

/// Dynamic shared memory begins behind the static one, at a multiple of this.
const DYNAMIC_ALIGNMENT: u64 = 16;

/// What needs a larger alignment than declarations say, or counts all shared memory.
const DEMANDING: [&str; 4] = ["wgmma", "cp.async.bulk", "tcgen05", "total_smem_size"];

/// What is taken of the shared memory of a block.
pub struct Room {
    taken: u64,
}

impl Room {
    /// The kernel that takes the most; `None` if it is not known what one of them takes.
    pub fn of(cx: &LintContext<'_>, runners: &Runners<'_>) -> Option<Self> {
        let taken: Option<Vec<u64>> = runners.kernels.iter().map(|kernel| taken(cx, kernel)).collect();
        Some(Self { taken: taken?.into_iter().max()? })
    }

    /// Bytes that are not free.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Bytes of the variables of all threads, if a block has room for them.
    pub fn for_variables(&self, bytes: u64, threads: u32, layout: Layout) -> Option<u64> {
        let gap = if layout == Layout::Rows { ROW_GAP } else { 0 };
        let size = (bytes + gap) * u64::from(threads);
        (size + self.taken <= DECLARED_SHARED).then_some(size)
    }
}

fn taken(cx: &LintContext<'_>, kernel: &KernelFacts) -> Option<u64> {
    let (launches, name) = (cx.unit.launches(), demangle(&kernel.name));
    let added = launches.dynamic_shared(&name)?;
    let is_seen = launches.has_any(&name) && cx.unit.has_all_launches_of(base_name(&name));
    let uses = has_dynamic_shared_memory(cx, kernel);
    if uses && !(is_seen && may_move(cx.unit.ptx_text())) {
        return None;
    }
    // Assembly may use it by its address.
    if added > 0 && !uses && cx.unit.ptx_text().contains("begin inline asm") {
        return None;
    }
    let gap = if added > 0 { DYNAMIC_ALIGNMENT } else { 0 };
    Some(kernel.usage.shared + added + gap)
}

/// Whether a kernel uses dynamic shared memory.
fn has_dynamic_shared_memory(cx: &LintContext<'_>, kernel: &KernelFacts) -> bool {
    let symbols = &cx.unit.facts.ptx.extern_shared;
    let functions = cx.unit.facts.ptx.functions.iter();
    functions
        .filter(|function| !function.is_entry || *function.name == *kernel.name)
        .any(|function| symbols.iter().any(|symbol| function.mentions(symbol)))
}

/// Whether dynamic shared memory may begin elsewhere: its declarations have all of the alignment that is needed.
fn may_move(ptx: &str) -> bool {
    let aligned = |line: &str| {
        let alignment = line.split_once(".align ").and_then(|(_, rest)| rest.split_whitespace().next());
        alignment.and_then(|number| number.parse().ok()).is_some_and(|alignment: u64| alignment >= DYNAMIC_ALIGNMENT)
    };
    !DEMANDING.iter().any(|word| ptx.contains(word))
        && ptx.lines().filter(|line| line.trim_start().starts_with(".extern .shared")).all(aligned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dynamic_bytes_move_where_their_alignment_is_declared() {
        assert!(may_move(".extern .shared .align 16 .b8 raw[];\nld.shared.u32 %r1, [raw];\n"));
        assert!(!may_move(".extern .shared .align 4 .b8 raw[];\n"));
        assert!(!may_move(".extern .shared .align 16 .b8 raw[];\ncp.async.bulk.tensor.2d.shared [raw], [m];\n"));
    }

    #[test]
    fn what_is_taken_counts() {
        let room = Room { taken: 45056 };
        assert_eq!(room.for_variables(32, 128, Layout::Columns), Some(4096));
        assert_eq!(room.for_variables(32, 128, Layout::Rows), None);
        assert_eq!(room.for_variables(64, 128, Layout::Columns), None);
    }
}
