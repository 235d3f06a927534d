//! What GPUs are: the one table of architectures, a row for each.
//!
//! Figures are those of the CUDA C++ Programming Guide ("Technical Specifications per Compute Capability"), of
//! `cuda_occupancy.h`, and of what ptxas accepts as `.minnctapersm` and `.maxntid` (13.5, sm_75 to sm_121). The live tests
//! compare with the header, and with ptxas.

pub mod arch;
mod table;

pub use arch::{Arch, ArchError};

/// Threads of a warp.
pub const WARP: u32 = 32;
/// Registers that an instruction can name, and so the most that a thread has.
pub const MAX_REGISTERS: u32 = 255;
/// Threads that a block may have.
pub const MAX_BLOCK_THREADS: u32 = 1024;
/// Bytes of shared memory that a kernel may declare without asking for more at its launch.
pub const DECLARED_SHARED: u64 = 48 << 10;

/// One architecture. What is "of an SM" is of one multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gpu {
    /// 90 for sm_90.
    pub number: u32,
    /// Warps that an SM holds at a time.
    pub warps: u32,
    /// Blocks that an SM holds at a time.
    pub blocks: u32,
    /// Registers of an SM.
    pub registers: u32,
    /// Registers that one block may take.
    pub block_registers: u32,
    /// Registers are given to warps in pieces of so many.
    pub register_unit: u32,
    /// Parts of an SM, each with its share of the registers, which only the warps that are placed there can have.
    pub sub_partitions: u32,
    /// Bytes of shared memory of an SM.
    pub shared: u64,
    /// Bytes of shared memory that a block can have, if its launch asks for them.
    pub block_shared: u64,
    /// Shared memory is given to blocks in pieces of so many bytes.
    pub shared_unit: u64,
    /// Bytes of shared memory that each block takes for the system.
    pub reserved_shared: u64,
    /// Bits that the distance of a `BRA` has below those that it shares with older architectures.
    pub low_branch_bits: u32,
    /// Whether `__grid_constant__` is there.
    pub has_grid_constants: bool,
    /// Whether instructions have 16 bytes, which is what is read here. Before, they had eight, and others beside them that
    /// schedule them.
    pub has_wide_instructions: bool,
}

impl Gpu {
    /// All architectures that are known, in the order of their numbers.
    pub fn all() -> &'static [Self] {
        table::ROWS
    }

    /// Threads that an SM holds at a time.
    pub fn threads(&self) -> u32 {
        self.warps * WARP
    }

    /// Registers that a piece gives to each thread of a warp: the step in which limits grow.
    pub fn register_step(&self) -> u32 {
        self.register_unit / WARP
    }

    /// Warps that the registers of an SM are enough for, with so many for each thread; `None` for no registers.
    pub fn warps_with(&self, registers: u32) -> Option<u32> {
        let in_part = self.registers / self.sub_partitions;
        Some(in_part.checked_div(self.registers_of_warp(registers))? * self.sub_partitions)
    }

    /// What a warp takes, in whole pieces.
    pub fn registers_of_warp(&self, registers: u32) -> u32 {
        registers.saturating_mul(WARP).checked_next_multiple_of(self.register_unit).unwrap_or(u32::MAX)
    }

    /// Registers for each thread when so many blocks of so many threads share an SM: the limit that ptxas keeps to under
    /// such launch bounds. Its warps are spread evenly over the sub-partitions: 9 warps leave as little as 12 do.
    pub fn registers_for(&self, threads: u32, blocks: u32) -> u32 {
        let warps = threads.div_ceil(WARP).max(1).saturating_mul(blocks.max(1));
        let in_part = self.registers / self.sub_partitions / warps.div_ceil(self.sub_partitions);
        (in_part / self.register_unit * self.register_step()).min(MAX_REGISTERS)
    }

    /// Whether an SM takes so many blocks of so many threads: else ptxas ignores the second bound, with a warning.
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

    /// What ptxas 13.5 used for a kernel that would take all registers.
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
