//! Results of a run.

use std::fmt;
use std::sync::Arc;

/// How a run ended, with all counters.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Why it ended.
    pub end: End,
    /// Undefined behaviour, which makes the results of a launch inconclusive.
    pub events: Events,
    /// By function of the program and block of its [`ptx_syntax::Graph`].
    pub blocks: Vec<Vec<BlockCount>>,
    /// Accesses by function and instruction. Empty unless [`crate::Limits::count_accesses`] is set.
    pub accesses: Vec<Vec<AccessCount>>,
    /// What each warp executed: the number of its block, and how often it entered each block of `blocks`. Counted like
    /// `accesses`.
    pub warps: Vec<(u32, Vec<Vec<u32>>)>,
    /// Distinct lines of 128 bytes of global memory that all accesses touch together. Counted like `accesses`.
    pub global_lines: u64,
    /// Distinct lines of local memory that warps touch, summed. Counted like `accesses`.
    pub local_lines: u64,
    /// Instructions executed by warps.
    pub warp_instructions: u64,
    /// Instructions executed by threads.
    pub thread_instructions: u64,
    /// Output of `printf`, in order.
    pub printed: String,
    /// Noted if [`crate::Limits::note_races`] is set.
    pub races: Races,
}

/// Whether what threads read or leave in memory depends on their order, which neither barriers nor collective instructions
/// decide. Atomics and fences are not looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Races {
    /// In global memory.
    pub global: bool,
    /// In shared memory.
    pub shared: bool,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// All threads exited.
    Completed,
    /// The kernel executed an unsupported instruction: `tex.2d`.
    NotSupported(String),
    /// A thread did what hardware reports as an error.
    Fault(Fault, Option<Place>),
    /// Threads wait for each other forever.
    Deadlock(String),
    /// The instruction limit was reached.
    Limit,
}

/// An instruction of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the function.
    pub function: Arc<str>,
    /// Index of the instruction in [`ptx_syntax::Function::instructions`].
    pub instruction: u32,
    /// Index of the block in the grid.
    pub block: [u32; 3],
    /// Index of the thread in its block.
    pub thread: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.block;
        let Self { function, instruction, thread, .. } = self;
        write!(formatter, "instruction {instruction} of `{function}`, thread {thread} of block ({x}, {y}, {z})")
    }
}

/// An error that hardware would report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// An access to an unmapped address.
    NoMemory {
        /// The address.
        address: u64,
    },
    /// An address that is not a multiple of the access size.
    Misaligned {
        /// The address.
        address: u64,
    },
    /// An address outside a window: shared memory beyond its end, local memory beyond the stack.
    OutsideWindow {
        /// The address.
        address: u64,
    },
    /// An indirect call of an address that is not a function.
    NoFunction {
        /// The address.
        address: u64,
    },
    /// Calls are nested too deep, or `alloca` exceeds the limit.
    StackOverflow,
    /// `trap`
    Trap,
    /// `__assertfail`, with its message.
    Assertion(String),
    /// The memory limit is exceeded.
    TooMuchMemory,
    /// The parameters do not match the kernel's, or the launch is invalid.
    BadLaunch(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMemory { address } => write!(formatter, "no memory at {address:#x}"),
            Self::Misaligned { address } => write!(formatter, "misaligned address {address:#x}"),
            Self::OutsideWindow { address } => {
                write!(formatter, "address {address:#x} is outside shared or local memory")
            }
            Self::NoFunction { address } => write!(formatter, "no function at {address:#x}"),
            Self::StackOverflow => formatter.write_str("the stack overflows"),
            Self::Trap => formatter.write_str("trap"),
            Self::Assertion(message) => write!(formatter, "assertion `{message}` failed"),
            Self::TooMuchMemory => formatter.write_str("more memory than the machine allows"),
            Self::BadLaunch(reason) => formatter.write_str(reason),
        }
    }
}

impl std::error::Error for Fault {}

impl fmt::Display for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => formatter.write_str("completed"),
            Self::NotSupported(what) => write!(formatter, "not supported: `{what}`"),
            Self::Fault(fault, Some(place)) => write!(formatter, "{fault} at {place}"),
            Self::Fault(fault, None) => write!(formatter, "{fault}"),
            Self::Deadlock(what) => write!(formatter, "deadlock: {what}"),
            Self::Limit => formatter.write_str("more instructions than allowed"),
        }
    }
}

/// Number of occurrences, and the first place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Number of occurrences.
    pub count: u64,
    /// The first occurrence.
    pub first: Option<Place>,
}

/// Undefined behaviour in the kernel's language that hardware does not report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Events {
    /// Local accesses outside the variables of all active calls.
    pub local_out_of_bounds: Event,
    /// Local accesses that leave the variable whose address they start from, but not the variables of its function. A
    /// variable begins where the text forms its address, and ends where the next one begins.
    pub object_out_of_bounds: Event,
    /// Reads of local memory that was never written.
    pub uninitialized_local: Event,
    /// Accesses beyond the bounds of a module variable or an allocation.
    pub variable_out_of_bounds: Event,
    /// Integer divisions and remainders by zero.
    pub division_by_zero: Event,
    /// Shifts by at least the width of the operand.
    pub wide_shift: Event,
    /// Reads of shared memory that was never written.
    pub uninitialized_shared: Event,
    /// Collective instructions whose mask omits the executing thread, or that read from an inactive lane.
    pub bad_collective: Event,
}

/// Executions of a basic block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockCount {
    /// By warps, or parts of warps.
    pub warps: u64,
    /// By threads.
    pub threads: u64,
}

/// Memory transactions of one instruction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AccessCount {
    /// Executions by warps.
    pub warps: u64,
    /// Executions by threads.
    pub threads: u64,
    /// Global memory: distinct sectors of 32 bytes. Local memory: distinct words, each a line of 128 bytes for a whole
    /// warp.
    pub sectors: u64,
    /// Global memory: distinct lines of 128 bytes.
    pub lines: u64,
    /// Shared memory: passes, one for each different word in the same bank. Constant memory: distinct words, as it
    /// broadcasts one at a time.
    pub passes: u64,
}
