//! Hardware limits of GPUs: the only table, with one row per architecture.
//!
//! Figures are from the CUDA C++ Programming Guide ("Technical Specifications per Compute Capability") and from
//! `cuda_occupancy.h`. Others are what ptxas accepts as `.minnctapersm` and `.maxntid` (13.5, sm_75 to sm_121). The
//! live tests compare the table with the header and with ptxas.

pub mod arch;
mod table;

pub use arch::{Arch, ArchError};

/// Threads per warp.
pub const WARP: u32 = 32;
/// Maximum registers per thread: the registers that an instruction can encode.
pub const MAX_REGISTERS: u32 = 255;

/// Bytes between a variable in local memory and the next one, at most: alignment is 16 bytes at most.
pub const MAX_PADDING: u64 = 15;
/// Maximum threads per block.
pub const MAX_BLOCK_THREADS: u32 = 1024;
/// Maximum shared memory per block, in bytes, without an opt-in at launch.
pub const DECLARED_SHARED: u64 = 48 << 10;

/// Limits of one architecture; "SM" is a streaming multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gpu {
    /// 90 for sm_90.
    pub number: u32,
    /// Resident warps per SM.
    pub warps: u32,
    /// Resident blocks per SM.
    pub blocks: u32,
    /// Registers per SM.
    pub registers: u32,
    /// Registers per block.
    pub block_registers: u32,
    /// Allocation unit of registers, per warp.
    pub register_unit: u32,
    /// Sub-partitions per SM. Each has its share of the registers, which only its own warps can use.
    pub sub_partitions: u32,
    /// Bytes of shared memory per SM.
    pub shared: u64,
    /// Maximum bytes of shared memory per block, with an opt-in at launch.
    pub block_shared: u64,
    /// Allocation unit of shared memory, in bytes.
    pub shared_unit: u64,
    /// Bytes of shared memory per block that the system reserves.
    pub reserved_shared: u64,
    /// Number of bits of a `BRA` offset below the bits that older architectures have too.
    pub low_branch_bits: u32,
    /// Whether `__grid_constant__` is supported.
    pub has_grid_constants: bool,
    /// Whether instructions have 16 bytes, the only encoding that is decoded here. Older architectures have 8-byte
    /// instructions, with separate control words for scheduling.
    pub has_wide_instructions: bool,
}

impl Gpu {
    /// All architectures that are known, in the order of their numbers.
    pub fn all() -> &'static [Self] {
        table::ROWS
    }

    /// Resident threads per SM.
    pub fn threads(&self) -> u32 {
        self.warps * WARP
    }

    /// Registers per thread in one allocation unit: the granularity of register limits.
    pub fn register_step(&self) -> u32 {
        self.register_unit / WARP
    }

    /// Warps per SM that the register file can hold, at a number of registers per thread; `None` for 0 registers.
    pub fn warps_with(&self, registers: u32) -> Option<u32> {
        let in_part = self.registers / self.sub_partitions;
        Some(in_part.checked_div(self.registers_of_warp(registers))? * self.sub_partitions)
    }

    /// Registers of a warp, rounded up to the allocation unit.
    pub fn registers_of_warp(&self, registers: u32) -> u32 {
        registers.saturating_mul(WARP).checked_next_multiple_of(self.register_unit).unwrap_or(u32::MAX)
    }

    /// Registers per thread for a block size and a number of blocks per SM: the limit that ptxas derives from such
    /// launch bounds. Warps are spread evenly over the sub-partitions, so 9 warps leave as few registers as 12 do.
    pub fn registers_for(&self, threads: u32, blocks: u32) -> u32 {
        let warps = threads.div_ceil(WARP).max(1).saturating_mul(blocks.max(1));
        let in_part = self.registers / self.sub_partitions / warps.div_ceil(self.sub_partitions);
        (in_part / self.register_unit * self.register_step()).min(MAX_REGISTERS)
    }

    /// Whether an SM can hold that many blocks of that size; otherwise ptxas ignores the minimum number of blocks, with
    /// a warning.
    pub fn holds(&self, threads: u32, blocks: u32) -> bool {
        blocks <= self.blocks && threads.saturating_mul(blocks) <= self.threads()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(number: u32) -> &'static Gpu {
        Arch::new(number).gpu()
    }

    /// Measured with ptxas 13.5, on a kernel that would use all registers.
    #[test]
    fn launch_bounds_are_spread_over_sub_partitions() {
        for (threads, blocks, registers) in [
            (1024, 2, 32),
            (256, 4, 64),
            (256, 5, 48),
            (256, 6, 40),
            (256, 3, 80),
            (1024, 1, 64),
            (128, 1, 255),
            (288, 1, 168),
            (416, 1, 128),
            (544, 1, 96),
            (96, 5, 128),
            (32, 9, 168),
            (224, 7, 32),
        ] {
            assert_eq!(gpu(90).registers_for(threads, blocks), registers, "({threads}, {blocks})");
        }
        assert_eq!((gpu(90).registers_for(0, 0), gpu(90).registers_for(u32::MAX, 9)), (255, 0));
    }

    #[test]
    fn registers_are_given_out_by_sub_partition() {
        let warps = |registers| gpu(90).warps_with(registers);
        assert_eq!((warps(46), warps(40), warps(255), warps(0)), (Some(40), Some(48), Some(8), None));
        assert_eq!(gpu(60).warps_with(40), Some(50));
    }

    #[test]
    fn blocks_that_do_not_fit_are_not_held() {
        assert!(gpu(90).holds(1024, 2));
        for number in [75, 86, 87, 88, 89, 110, 120] {
            assert!(!gpu(number).holds(1024, 2), "sm_{number}");
        }
        assert!(gpu(86).holds(32, 16));
        assert!(!gpu(86).holds(32, 17));
        assert!(!gpu(90).holds(u32::MAX, 3));
    }
}
