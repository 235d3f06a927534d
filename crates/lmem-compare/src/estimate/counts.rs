//! What a launch executes, counted from a run of the machine.

use std::collections::HashMap;

use lmem_base::gpu::WARP;
use lmem_base::stored::is_default;
use ptx_machine::{Launch, Outcome, Program};
use ptx_syntax::{Function, Graph, Instruction, Module, Opcode, Reg, Space};
use serde::{Deserialize, Serialize};

use super::machine_code::{Pipe, Wide, pipe, special};

/// The version of what is counted, and in which launches. Counts on record are of one version: those of another would be
/// estimated as if they were of this one.
pub const COUNTING: u32 = 2;

/// The counts of both versions of a kernel in the same launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    pub before: Counts,
    pub after: Counts,
}

/// Sums over all warps of a launch. Instructions and cycles are in tenths.
///
/// What is kept of them has all fields: counts of an older version, without some, would be estimated with zeros.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub warps: u64,
    /// Issue slots.
    pub issued: u64,
    /// Of these, instructions of the integer pipe: comparisons, selects, logic, integer arithmetic.
    pub integer: u64,
    /// Of these, additions and multiplications of 32-bit floating-point numbers.
    pub float: u64,
    /// Issue slots of the kernel's code if each instruction were executed once, not summed over warps.
    pub code: u64,
    /// Cycles of the chains of dependent instructions, without cache misses.
    pub chain: u64,
    pub calls: u64,
    pub local_accesses: u64,
    /// Lines of local memory per access, summed: 1 for a uniform index, up to 32 for a divergent one.
    pub local_lines: u64,
    /// Of these, lines of stores.
    pub stored_lines: u64,
    pub global_accesses: u64,
    /// Distinct lines of global memory, each of which misses the caches once.
    pub missed_lines: u64,
    /// Passes of shared memory: 1 for an access without bank conflicts.
    pub shared_passes: u64,
    /// Distinct words per access to constant memory, summed.
    pub constant_words: u64,
    /// Of `integer`, multiplications, which have a pipe of their own.
    pub multiplied: u64,
    /// Issue slots of special functions: reciprocals, roots, logarithms, exponentials, sines.
    pub special: u64,
    /// Issue slots of 64-bit floating-point numbers.
    pub doubles: u64,
    /// Loads of global memory that wait for each other, along the longest such chain of each block. Loads that do not are
    /// under way together. Not in tenths; 0 if it is not known.
    pub load_depth: u64,
    /// The same for local memory.
    pub local_depth: u64,
    /// Blocks of the program's grid; 0 if it is not known. Not summed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub grid: u64,
    /// Whether they are counts of the program's launch: its blocks, and those of its arguments that are known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_launched: bool,
    /// Warps of a block, 0 if they are not known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub block_warps: u64,
    /// `chain`, `load_depth` and `local_depth`, were all warps of a block as slow as its slowest.
    #[serde(default, skip_serializing_if = "is_default")]
    pub slowest_chain: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub slowest_loads: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub slowest_local: u64,
    /// Distinct lines of local memory that warps touch, summed; the rest of a frame takes no cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub touched_lines: u64,
    /// Of `stored_lines`, those of stores that a single thread of a warp executes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lone_lines: u64,
}

impl Counts {
    /// The same work of each warp, with as many warps as fit.
    pub(super) fn on_a_full_gpu(&self) -> Self {
        Self { grid: 0, is_launched: false, ..*self }
    }

    pub(crate) fn of(module: &Module, program: &Program, launch: &Launch, outcome: &Outcome) -> Self {
        let threads: u32 = launch.block.iter().product();
        let blocks = launch.grid.iter().fold(1u64, |blocks, extent| blocks.saturating_mul(u64::from(*extent)));
        let blocks = blocks.min(launch.limits.blocks);
        let block_warps = u64::from(threads.div_ceil(32));
        let mut counts = Self {
            warps: block_warps * blocks,
            block_warps,
            missed_lines: outcome.global_lines,
            touched_lines: outcome.local_lines,
            ..Self::default()
        };
        for ((name, blocks), accesses) in program.functions().zip(&outcome.blocks).zip(&outcome.accesses) {
            let Some(function) = module.functions.iter().find(|function| &*function.name == name) else { continue };
            let times: Vec<u64> = blocks.iter().map(|block| block.warps).collect();
            counts.add_instructions(function, &times);
            for (instruction, access) in function.instructions.iter().zip(accesses) {
                match instruction.form.space() {
                    Space::Local => {
                        counts.local_lines += access.sectors;
                        counts.local_accesses += access.warps;
                        if instruction.opcode() == Opcode::St {
                            counts.stored_lines += access.sectors;
                            if access.threads == access.warps {
                                counts.lone_lines += access.sectors;
                            }
                        }
                    }
                    Space::Shared => counts.shared_passes += access.passes,
                    Space::Const => counts.constant_words += access.passes,
                    Space::Param => {}
                    _ => counts.global_accesses += access.warps,
                }
            }
        }
        counts.add_slowest(module, program, outcome);
        counts
    }

    /// Threads of a block, rounded up to whole warps, if the program's launch is known.
    pub fn threads(&self) -> Option<u32> {
        let warps = u32::try_from(self.block_warps).ok().filter(|warps| *warps > 0 && self.grid > 0)?;
        warps.checked_mul(WARP)
    }

    /// What the warps of each block wait for.
    pub(super) fn slowest(&self) -> Chain {
        match self.slowest_chain {
            0 => Chain { cycles: self.chain, loads: self.load_depth, local: self.local_depth },
            cycles => Chain { cycles, loads: self.slowest_loads, local: self.slowest_local },
        }
    }

    /// Adds what the slowest warp of each block waits for, in which the chains of its instructions count.
    fn add_slowest(&mut self, module: &Module, program: &Program, outcome: &Outcome) {
        let chains: Vec<Vec<Chain>> = program
            .functions()
            .map(|name| {
                let Some(function) = module.functions.iter().find(|function| &*function.name == name) else {
                    return Vec::new();
                };
                let wide = Wide::of(function);
                let bodies = Graph::new(function).blocks.into_iter();
                let body = |start: u32, end: u32| function.instructions.get(start as usize..end as usize);
                let chain = |body| Chain::of(body, &wide);
                bodies.map(|block| body(block.start, block.end).map(chain).unwrap_or_default()).collect()
            })
            .collect();
        let mut slowest: HashMap<u32, Chain> = HashMap::new();
        for (block, executed) in &outcome.warps {
            let mut all = Chain::default();
            for (times, chain) in executed.iter().zip(&chains).flat_map(|(times, chains)| times.iter().zip(chains)) {
                let times = u64::from(*times);
                all.cycles += times * chain.cycles;
                all.loads += times * chain.loads;
                all.local += times * chain.local;
            }
            let known = slowest.entry(*block).or_default();
            if all.cycles > known.cycles {
                *known = all;
            }
        }
        for chain in slowest.values() {
            self.slowest_chain += chain.cycles * self.block_warps;
            self.slowest_loads += chain.loads * self.block_warps;
            self.slowest_local += chain.local * self.block_warps;
        }
    }

    /// Adds the instructions of a function, whose blocks were executed so many times by warps.
    fn add_instructions(&mut self, function: &Function, times: &[u64]) {
        let wide = Wide::of(function);
        for (block, times) in Graph::new(function).blocks.iter().zip(times) {
            let Some(body) = function.instructions.get(block.start as usize..block.end as usize) else { continue };
            let Chain { cycles, loads, local } = Chain::of(body, &wide);
            self.chain += times * cycles;
            self.load_depth += times * loads;
            self.local_depth += times * local;
            for instruction in body {
                let slots = wide.slots(instruction);
                self.code += slots;
                self.issued += times * slots;
                self.special += times * special(instruction);
                match pipe(instruction) {
                    Pipe::Integer => self.integer += times * slots,
                    Pipe::Multiply => {
                        self.integer += times * slots;
                        self.multiplied += times * slots;
                    }
                    Pipe::Float => self.float += times * slots,
                    Pipe::Double => self.doubles += times * slots,
                    Pipe::Other => {}
                }
                self.calls += times * u64::from(instruction.opcode() == Opcode::Call);
            }
        }
    }
}

/// The longest chain of dependent instructions of a block, and of loads in it. A load waits for the last store to its space, as what is
/// stored to local memory is mostly read back.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Chain {
    /// In tenths.
    pub cycles: u64,
    /// Loads of global memory that wait for each other.
    pub loads: u64,
    /// Loads of local memory that wait for each other.
    pub local: u64,
}

impl Chain {
    fn of(body: &[Instruction], wide: &Wide) -> Self {
        let mut ready: HashMap<Reg, Self> = HashMap::new();
        let mut stored: HashMap<Space, Self> = HashMap::new();
        let mut longest = Self::default();
        for instruction in body {
            let mut end = Self::default();
            instruction.for_each_use(&mut |register| end.wait_for(ready.get(&register)));
            let space = instruction.form.space();
            if instruction.opcode() == Opcode::Ld {
                end.wait_for(stored.get(&space));
                match space {
                    Space::Local => end.local += 1,
                    Space::Shared | Space::Param | Space::Const => {}
                    _ => end.loads += 1,
                }
            }
            end.cycles += wide.latency(instruction);
            if instruction.opcode() == Opcode::St {
                stored.insert(space, end);
            }
            instruction.for_each_def(&mut |register| {
                ready.insert(register, end);
            });
            longest.wait_for(Some(&end));
        }
        longest
    }

    fn wait_for(&mut self, other: Option<&Self>) {
        let Some(other) = other else { return };
        self.cycles = self.cycles.max(other.cycles);
        self.loads = self.loads.max(other.loads);
        self.local = self.local.max(other.local);
    }
}
