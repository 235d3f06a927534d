//! What a kernel is started with.

/// Extents, parameters and limits of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The bytes of each parameter, as the kernel declares them.
    pub parameters: Vec<Vec<u8>>,
    /// Where the run stops.
    pub limits: Limits,
}

impl Launch {
    /// A launch of one dimension, without dynamic shared memory.
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

/// Where a run stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Instructions that warps execute, all together.
    pub warp_instructions: u64,
    /// Bytes of local memory of a thread, for variables and `alloca` of all functions that are being called.
    pub local_bytes: u64,
    /// Functions that call each other.
    pub call_depth: u32,
    /// Bytes that `printf` writes.
    pub printed_bytes: usize,
    /// Whether blocks, warps and the stores of lanes come in the opposite order. What a kernel then writes differently depends on timing.
    pub reversed: bool,
    /// Instructions of a warp before the next one's turn. The default is so many that only a warp which waits for another ever uses them
    /// up; with few, warps are on the way together, as on hardware.
    pub turn: u64,
    /// Whether to count what accesses to memory touch; takes time.
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
            count_accesses: false,
        }
    }
}
