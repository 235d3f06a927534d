//! The table's rows.

use super::Gpu;

/// Sorted by number.
pub(super) const ROWS: &[Gpu] = &[
    maxwell(50, 64),
    maxwell(52, 96),
    Gpu { block_registers: 32 << 10, ..maxwell(53, 64) },
    Gpu { sub_partitions: 2, ..maxwell(60, 64) },
    maxwell(61, 96),
    Gpu { block_registers: 32 << 10, ..maxwell(62, 64) },
    volta(70, 64, 32, 96),
    volta(72, 64, 32, 96),
    volta(75, 32, 16, 64),
    ampere(80, 64, 32, 164),
    ampere(86, 48, 16, 100),
    ampere(87, 48, 16, 164),
    ampere(88, 48, 16, 100),
    ampere(89, 48, 24, 100),
    hopper(90, 64, 32, 228),
    hopper(100, 64, 32, 228),
    // The former name of sm_110.
    hopper(101, 48, 24, 228),
    hopper(103, 64, 32, 228),
    hopper(107, 32, 16, 328),
    hopper(110, 48, 24, 228),
    hopper(120, 48, 24, 100),
    hopper(121, 48, 24, 100),
];

/// Shared memory separate from L1; a block can have 48 KiB.
const fn maxwell(number: u32, kibibytes: u64) -> Gpu {
    Gpu {
        number,
        warps: 64,
        blocks: 32,
        registers: 64 << 10,
        block_registers: 64 << 10,
        register_unit: 256,
        sub_partitions: 4,
        shared: kibibytes << 10,
        block_shared: 48 << 10,
        shared_unit: 256,
        reserved_shared: 0,
        low_branch_bits: 0,
        has_grid_constants: false,
        has_wide_instructions: false,
    }
}

/// A block can use all shared memory of the SM.
const fn volta(number: u32, warps: u32, blocks: u32, kibibytes: u64) -> Gpu {
    Gpu {
        warps,
        blocks,
        block_shared: kibibytes << 10,
        has_grid_constants: true,
        has_wide_instructions: true,
        ..maxwell(number, kibibytes)
    }
}

/// The system reserves 1 KiB of shared memory per block.
const fn ampere(number: u32, warps: u32, blocks: u32, kibibytes: u64) -> Gpu {
    Gpu {
        block_shared: (kibibytes - 1) << 10,
        shared_unit: 128,
        reserved_shared: 1 << 10,
        ..volta(number, warps, blocks, kibibytes)
    }
}

/// Branch offsets have more bits.
const fn hopper(number: u32, warps: u32, blocks: u32, kibibytes: u64) -> Gpu {
    Gpu { low_branch_bits: 8, ..ampere(number, warps, blocks, kibibytes) }
}
