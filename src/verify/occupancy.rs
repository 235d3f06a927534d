//! Occupancy: the number of resident warps on a multiprocessor, following CUDA's own calculator (`cuda_occupancy.h`).
//!
//! A table next to this file has the header's results for a sample of registers, block sizes, shared memory and
//! architectures; the live tests compare with the header itself.

use lmem_base::gpu::{Gpu, MAX_BLOCK_THREADS, MAX_REGISTERS, WARP};

/// Resident blocks and warps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupancy {
    /// `None` if the block size is unknown.
    pub blocks: Option<u32>,
    pub warps: u32,
    pub percent: u32,
}

/// The occupancy of a kernel; if the block size is unknown, from its registers alone. `None` without a register count,
/// as for a device function.
pub fn occupancy(gpu: &Gpu, registers: u32, shared: u64, threads: Option<u32>) -> Option<Occupancy> {
    let by_registers = gpu.warps_with(registers)?;
    let Some(threads) = threads.filter(|threads| *threads > 0) else {
        let warps = by_registers.min(gpu.warps);
        return Some(Occupancy { blocks: None, warps, percent: warps * 100 / gpu.warps });
    };
    let warps_of_block = threads.div_ceil(WARP);
    let limits = [by_registers / warps_of_block, gpu.warps / warps_of_block, gpu.blocks, blocks_by_shared(gpu, shared)];
    let fits = threads <= MAX_BLOCK_THREADS && has_registers(gpu, registers, warps_of_block);
    let blocks = limits.into_iter().min().filter(|_| fits).unwrap_or(0);
    let warps = blocks * warps_of_block;
    Some(Occupancy { blocks: Some(blocks), warps, percent: warps * 100 / gpu.warps })
}

/// Whether the registers suffice for one block. The hardware requires that every sub-partition could hold as many warps
/// as the fullest one; sm_60, which has two of them, is treated like the other members of its family, which have four.
fn has_registers(gpu: &Gpu, registers: u32, warps: u32) -> bool {
    let warps = warps.next_multiple_of(gpu.sub_partitions.max(4));
    registers <= MAX_REGISTERS && gpu.registers_of_warp(registers).saturating_mul(warps) <= gpu.block_registers
}

/// Number of blocks that fit into shared memory.
fn blocks_by_shared(gpu: &Gpu, shared: u64) -> u32 {
    let taken =
        shared.saturating_add(gpu.reserved_shared).checked_next_multiple_of(gpu.shared_unit).unwrap_or(u64::MAX);
    if taken > gpu.block_shared + gpu.reserved_shared {
        return 0;
    }
    gpu.shared.checked_div(taken).map_or(u32::MAX, |blocks| u32::try_from(blocks).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::gpu::arch::Arch;

    fn blocks(architecture: u32, registers: u32, shared: u64, threads: u32) -> Option<u32> {
        let occupancy = occupancy(Arch::new(architecture).gpu(), registers, shared, Some(threads));
        occupancy.and_then(|occupancy| occupancy.blocks)
    }

    /// Compares with `cudaOccupancyMaxActiveBlocksPerMultiprocessor` on an H200.
    #[test]
    fn blocks_of_an_h200() {
        assert_eq!(blocks(90, 64, 0, 256), Some(4));
        assert_eq!(blocks(90, 48, 0, 256), Some(5));
        assert_eq!(blocks(90, 40, 19456, 256), Some(6));
        assert_eq!(blocks(90, 32, 19456, 256), Some(8));
        assert_eq!(blocks(90, 255, 0, 256), Some(1));
        assert_eq!(blocks(90, 16, 0, 32), Some(32));
    }

    /// `LMEM_RECORD_OCCUPANCY=1 LMEM_LIVE=1 cargo test --test test_crates live/occupancy` writes the table.
    #[test]
    fn cudas_calculator_agrees() {
        let mut points = 0;
        for line in include_str!("occupancy.txt").lines().filter(|line| !line.starts_with('#')) {
            let numbers: Vec<u32> = line.split(' ').map(|number| number.parse().unwrap()).collect();
            let [architecture, threads, shared, of_registers @ ..] = numbers.as_slice() else { panic!("{line}") };
            for (registers, expected) in SAMPLED_REGISTERS.iter().zip(of_registers) {
                let found = blocks(*architecture, *registers, u64::from(*shared), *threads);
                assert_eq!(found, Some(*expected), "sm_{architecture}, {threads} threads, {shared} bytes, {registers}");
                points += 1;
            }
        }
        assert!(points > 5000, "{points}");
    }

    const SAMPLED_REGISTERS: [u32; 16] = [1, 16, 24, 32, 33, 40, 46, 48, 56, 64, 72, 96, 128, 168, 200, 255];

    #[test]
    fn registers_alone_give_warps() {
        let percent = |registers| occupancy(Arch::new(90).gpu(), registers, 0, None).map(|occupancy| occupancy.percent);
        assert_eq!(percent(32), Some(100));
        assert_eq!(percent(40), Some(75));
        assert_eq!(percent(46), Some(62));
        assert_eq!(percent(255), Some(12));
        assert_eq!(percent(0), None);
    }

    #[test]
    fn a_block_that_does_not_fit_is_not_resident() {
        assert_eq!(blocks(90, 128, 0, 1024), Some(0));
        assert_eq!(blocks(90, 32, 0, 2048), Some(0));
        assert_eq!(blocks(90, 32, 228 << 10, 32), Some(0));
        assert_eq!(blocks(90, 32, u64::MAX, 32), Some(0));
        assert_eq!(blocks(75, 32, 60 << 10, 256), Some(1));
        // Nine warps are rounded up to twelve.
        assert_eq!((blocks(90, 168, 0, 288), blocks(90, 169, 0, 288)), (Some(1), Some(0)));
    }
}
