//! How many warps of a kernel a multiprocessor holds at a time.
//!
//! Limits are those of the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".

/// Registers of a multiprocessor, from sm_50 to sm_121.
const REGISTERS: u32 = 65536;
/// Registers are given to warps in pieces of this size.
const REGISTER_UNIT: u32 = 256;
const WARP: u32 = 32;
/// Bytes of shared memory that each block takes for the system, from sm_80 on.
const RESERVED_SHARED: u64 = 1024;
/// Shared memory is given to blocks in pieces of this size.
const SHARED_UNIT: u64 = 128;

/// What one multiprocessor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limits {
    warps: u32,
    blocks: u32,
    shared: u64,
}

/// Resident blocks and warps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupancy {
    /// Where the block size is known.
    pub blocks: Option<u32>,
    pub warps: u32,
    pub percent: u32,
}

fn limits(architecture: u32) -> Limits {
    let limits = |warps, blocks, kibibytes: u64| Limits { warps, blocks, shared: kibibytes << 10 };
    match architecture {
        ..=74 => limits(64, 32, 96),
        75 => limits(32, 16, 64),
        76..=80 => limits(64, 32, 164),
        86 => limits(48, 16, 100),
        87 => limits(48, 16, 164),
        81..=89 => limits(48, 24, 100),
        90..=103 => limits(64, 32, 228),
        104..=119 => limits(48, 24, 228),
        _ => limits(48, 24, 100),
    }
}

/// The occupancy of a kernel; by its registers alone where the block size is not known. `None` without registers, as
/// for a function that kernels call.
pub fn occupancy(architecture: u32, registers: u32, shared: u64, threads: Option<u32>) -> Option<Occupancy> {
    let limits = limits(architecture);
    let of_warp = (registers * WARP).next_multiple_of(REGISTER_UNIT);
    let by_registers = REGISTERS.checked_div(of_warp).filter(|_| registers > 0)?;
    let Some(threads) = threads.filter(|threads| *threads > 0) else {
        let warps = by_registers.min(limits.warps);
        return Some(Occupancy { blocks: None, warps, percent: warps * 100 / limits.warps });
    };
    let warps_of_block = threads.div_ceil(WARP);
    let reserved = if architecture >= 80 { RESERVED_SHARED } else { 0 };
    let shared = (shared + reserved).next_multiple_of(SHARED_UNIT);
    let by_shared =
        limits.shared.checked_div(shared).map_or(u32::MAX, |blocks| u32::try_from(blocks).unwrap_or(u32::MAX));
    let blocks = [by_registers / warps_of_block, limits.warps / warps_of_block, limits.blocks, by_shared];
    let blocks = blocks.into_iter().min().unwrap_or(0);
    let warps = blocks * warps_of_block;
    Some(Occupancy { blocks: Some(blocks), warps, percent: warps * 100 / limits.warps })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(architecture: u32, registers: u32, shared: u64, threads: u32) -> Option<u32> {
        occupancy(architecture, registers, shared, Some(threads)).and_then(|occupancy| occupancy.blocks)
    }

    /// Blocks as `cudaOccupancyMaxActiveBlocksPerMultiprocessor` gave them on an H200.
    #[test]
    fn blocks_of_an_h200() {
        assert_eq!(blocks(90, 64, 0, 256), Some(4));
        assert_eq!(blocks(90, 48, 0, 256), Some(5));
        assert_eq!(blocks(90, 40, 19456, 256), Some(6));
        assert_eq!(blocks(90, 32, 19456, 256), Some(8));
        assert_eq!(blocks(90, 255, 0, 256), Some(1));
        assert_eq!(blocks(90, 16, 0, 32), Some(32));
    }

    #[test]
    fn registers_alone_give_warps() {
        let warps = |registers| occupancy(90, registers, 0, None).map(|occupancy| occupancy.warps);
        assert_eq!(warps(32), Some(64));
        assert_eq!(warps(46), Some(42));
        assert_eq!(warps(255), Some(8));
        assert_eq!(warps(0), None);
    }

    #[test]
    fn a_block_that_does_not_fit_is_not_resident() {
        assert_eq!(blocks(90, 128, 0, 1024), Some(0));
        assert_eq!(blocks(75, 32, 60 << 10, 256), Some(1));
    }
}
