//! What a run gives.

use std::fmt;
use std::sync::Arc;

/// How a run ended, with all that was counted on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Why it ended.
    pub end: End,
    /// What makes a launch prove nothing.
    pub events: Events,
    /// By function of the program, by block of its [`ptx_syntax::Graph`].
    pub blocks: Vec<Vec<BlockCount>>,
    /// By function, by instruction: what accesses to memory touched. Empty unless [`crate::Limits::count_accesses`] asks for it.
    pub accesses: Vec<Vec<AccessCount>>,
    /// Instructions that warps executed.
    pub warp_instructions: u64,
    /// Instructions that threads executed.
    pub thread_instructions: u64,
    /// What `printf` wrote, in order.
    pub printed: String,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// All threads came to their end.
    Completed,
    /// The kernel uses what the machine does not know: `tex.2d`.
    NotSupported(String),
    /// A thread did what the hardware answers with an error.
    Fault(Fault, Option<Place>),
    /// Threads wait for each other for ever.
    Deadlock(String),
    /// More instructions than the launch allows.
    Limit,
}

/// An instruction of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the function.
    pub function: Arc<str>,
    /// Index of the instruction in [`ptx_syntax::Function::instructions`].
    pub instruction: u32,
    /// Block of the grid.
    pub block: [u32; 3],
    /// Number of the thread in its block.
    pub thread: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.block;
        let Self { function, instruction, thread, .. } = self;
        write!(formatter, "instruction {instruction} of `{function}`, thread {thread} of block ({x}, {y}, {z})")
    }
}

/// What the hardware answers with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// An address that belongs to nothing.
    NoMemory {
        /// The address.
        address: u64,
    },
    /// An address that is no multiple of the access's size.
    Misaligned {
        /// The address.
        address: u64,
    },
    /// An address outside a window: shared memory beyond its end, local memory beyond the stack.
    OutsideWindow {
        /// The address.
        address: u64,
    },
    /// A call through a pointer that leads to no function.
    NoFunction {
        /// The address.
        address: u64,
    },
    /// Calls are nested too deep, or `alloca` asks for too much.
    StackOverflow,
    /// `trap`
    Trap,
    /// `__assertfail`, with its message.
    Assertion(String),
    /// More memory than the machine allows.
    TooMuchMemory,
    /// The parameters do not fit the kernel's, or the launch makes no sense.
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

/// How often something happened, and where first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Times.
    pub count: u64,
    /// The first.
    pub first: Option<Place>,
}

/// What has no meaning in the language that kernels are written in, although the hardware goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Events {
    /// Accesses to local memory outside the variables of the functions that are being called.
    pub local_out_of_bounds: Event,
    /// Reads of local memory that nobody wrote.
    pub uninitialized_local: Event,
    /// Accesses to variables of the module, or allocations, outside them.
    pub variable_out_of_bounds: Event,
    /// Integer divisions and remainders by zero.
    pub division_by_zero: Event,
    /// Shifts by the width of the operand or more.
    pub wide_shift: Event,
    /// Reads of shared memory that nobody wrote.
    pub uninitialized_shared: Event,
    /// Collective instructions with a mask that leaves out the thread itself, or names an inactive source.
    pub bad_collective: Event,
}

/// Executions of a basic block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockCount {
    /// By warps, or parts of them.
    pub warps: u64,
    /// By threads.
    pub threads: u64,
}

/// What the accesses of one instruction touched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AccessCount {
    /// Executions by warps.
    pub warps: u64,
    /// Executions by threads.
    pub threads: u64,
    /// Of global memory: distinct sectors of 32 bytes. Of local memory: distinct words, each a line of 128 bytes for a whole warp.
    pub sectors: u64,
    /// Of global memory: distinct lines of 128 bytes.
    pub lines: u64,
    /// Of shared memory: passes, one for each different word in the same bank.
    pub passes: u64,
}
