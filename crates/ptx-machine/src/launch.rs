//! Launch configuration of a kernel.

use crate::memory::UNWRITTEN;

/// Extents, parameters and limits of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Blocks in the grid.
    pub grid: [u32; 3],
    /// Threads in a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The bytes of each parameter, as the kernel declares it.
    pub parameters: Vec<Vec<u8>>,
    /// Limits at which the run stops.
    pub limits: Limits,
}

impl Launch {
    /// A one-dimensional launch without dynamic shared memory.
    pub fn new(blocks: u32, threads: u32) -> Self {
        Self {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            dynamic_shared: 0,
            parameters: Vec::new(),
            limits: Limits::default(),
        }
    }

    /// Adds a parameter by its bytes.
    #[must_use]
    pub fn parameter(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.parameters.push(bytes.into());
        self
    }
}

/// Limits at which a run stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Warp instructions executed, over all warps.
    pub warp_instructions: u64,
    /// Bytes of local memory per thread, for variables and `alloca` of all active calls.
    pub local_bytes: u64,
    /// Depth of nested calls.
    pub call_depth: u32,
    /// Bytes that `printf` writes.
    pub printed_bytes: usize,
    /// Whether blocks, warps and the stores of lanes are executed in reverse order. Output that then differs depends on
    /// timing.
    pub reversed: bool,
    /// Instructions of a warp's time slice. The default is so large that only a warp which waits for another uses it
    /// up. With a small value, warps are interleaved, as on hardware.
    pub turn: u64,
    /// Value of bytes of local and shared memory that nothing wrote. Output that changes with it depends on them.
    pub unwritten: u8,
    /// Value of registers that nothing wrote: compilers leave a value that does not matter to chance.
    pub unset: u8,
    /// Blocks that are run: the first ones of the grid. Those that wait for others then wait forever.
    pub blocks: u64,
    /// Whether each lane of a warp runs until it waits or exits before the next one starts. Threads that do not wait for each
    /// other then run one after the other, so that what they leave in memory does not depend on the code's branches.
    pub serial: bool,
    /// Whether to look for races, which takes time and memory.
    pub note_races: bool,
    /// Whether to count sectors, lines and passes of memory accesses, which takes time.
    pub count_accesses: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            warp_instructions: 20_000_000,
            local_bytes: 1 << 19,
            call_depth: 2_000,
            printed_bytes: 1 << 20,
            reversed: false,
            turn: 400_000,
            unwritten: UNWRITTEN,
            unset: 0,
            blocks: u64::MAX,
            serial: false,
            note_races: false,
            count_accesses: false,
        }
    }
}
