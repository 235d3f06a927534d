//! Whether the blocks of a kernel still have the registers that an edited version takes: its launch fails else.

use cuda_syntax::Launches;
use lmem_base::gpu::{Gpu, MAX_BLOCK_THREADS, WARP};

use super::compare::Fault;
use super::measure::Function;

/// The largest block that an edited kernel may have, if there may be larger ones, which ran before. `None` for a kernel whose
/// launch bounds say how large blocks are: `ptxas` keeps to them.
///
/// # Errors
/// A launch shows a larger block.
pub fn limit(
    (before, after): (&Function, &Function),
    name: &str,
    gpu: &Gpu,
    shown: impl FnOnce(&str) -> Shown,
) -> Result<Option<u32>, Fault> {
    let (old, new) = (largest(gpu, before.usage.registers), largest(gpu, after.usage.registers));
    if !after.is_entry || after.threads.is_some() || new >= old {
        return Ok(None);
    }
    let shown = shown(name);
    let ran = shown.threads.iter().copied().filter(|threads| *threads <= old);
    // A launch does not tell which instance of a template it starts.
    let certain = if name.contains('<') { ran.min() } else { ran.max() };
    if let Some(threads) = certain.filter(|threads| *threads > new) {
        return Err(Fault::Registers(after.usage.registers, threads));
    }
    let are_small = !shown.threads.is_empty() && shown.threads.iter().all(|threads| *threads <= new);
    Ok(Some(new).filter(|_| !(before.is_internal && shown.are_all && are_small)))
}

/// What the launches of a kernel in its file show.
pub struct Shown {
    /// Threads of their blocks.
    threads: Vec<u32>,
    /// Whether the file has no other launch of the kernel.
    are_all: bool,
}

impl Shown {
    pub fn of(launches: &Launches, name: &str) -> Self {
        let threads = launches.known(name).iter().map(|launch| launch.threads).collect();
        Self { threads, are_all: launches.all(name).is_some() }
    }

    /// The threads of a block, if all launches are known to have the same.
    pub fn only(&self) -> Option<u32> {
        let first = *self.threads.first()?;
        (self.are_all && self.threads.iter().all(|threads| *threads == first)).then_some(first)
    }
}

/// Threads of the largest block in which each has so many registers.
fn largest(gpu: &Gpu, registers: u32) -> u32 {
    let blocks = (1..=MAX_BLOCK_THREADS / WARP).rev().map(|warps| warps * WARP);
    blocks.into_iter().find(|threads| gpu.registers_for(*threads, 1) >= registers).unwrap_or(WARP)
}

#[cfg(test)]
mod tests {
    use lmem_base::diagnostic::ResourceUsage;
    use lmem_base::gpu::Arch;

    use super::*;

    fn kernel(registers: u32, threads: Option<u32>) -> Function {
        let usage = ResourceUsage { registers, ..ResourceUsage::default() };
        Function { usage, is_entry: true, threads, ..Function::default() }
    }

    #[test]
    fn blocks_that_ran_must_run() {
        let gpu = Arch::of("sm_90").gpu();
        assert_eq!(
            [32, 64, 65, 72, 128, 255].map(|registers| largest(gpu, registers)),
            [1024, 1024, 896, 896, 512, 256]
        );
        let nothing = |_: &str| Shown { threads: Vec::new(), are_all: false };
        let of = |before, after| limit((&kernel(before, None), &kernel(after, None)), "k", gpu, nothing);
        assert_eq!(of(32, 64), Ok(None));
        assert_eq!(of(32, 72), Ok(Some(896)));
        assert_eq!(of(72, 70), Ok(None));
        let bounded = limit((&kernel(32, Some(256)), &kernel(200, Some(256))), "k", gpu, nothing);
        assert_eq!(bounded, Ok(None));
        let launches = |threads| move |_: &str| Shown { threads: vec![threads], are_all: true };
        let shown = |threads| limit((&kernel(32, None), &kernel(72, None)), "k", gpu, launches(threads));
        assert_eq!(shown(1024), Err(Fault::Registers(72, 1024)));
        assert_eq!(shown(256), Ok(Some(896)));
        let own = Function { is_internal: true, ..kernel(32, None) };
        let internal = |threads| limit((&own, &kernel(72, None)), "k", gpu, launches(threads));
        assert_eq!(internal(256), Ok(None));
        assert_eq!(internal(1024), Err(Fault::Registers(72, 1024)));
    }
}
