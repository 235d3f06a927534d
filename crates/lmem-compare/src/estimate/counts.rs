//! What a launch executes, counted from a run of the machine.

use std::collections::HashMap;

use ptx_machine::{Launch, Outcome, Program};
use ptx_syntax::{Function, Graph, Instruction, Module, Opcode, Reg, Space, Type};
use serde::{Deserialize, Serialize};

/// The counts of both versions of a kernel in the same launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    pub before: Counts,
    pub after: Counts,
}

/// Sums over all warps of a launch. Instructions and cycles are in tenths.
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
}

impl Counts {
    pub(crate) fn of(module: &Module, program: &Program, launch: &Launch, outcome: &Outcome) -> Self {
        let threads: u32 = launch.block.iter().product();
        let blocks: u32 = launch.grid.iter().product();
        let mut counts = Self {
            warps: u64::from(threads.div_ceil(32)) * u64::from(blocks),
            missed_lines: outcome.global_lines,
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
                        }
                    }
                    Space::Shared => counts.shared_passes += access.passes,
                    Space::Const => counts.constant_words += access.passes,
                    Space::Param => {}
                    _ => counts.global_accesses += access.warps,
                }
            }
        }
        counts
    }

    /// Adds the instructions of a function, whose blocks were executed so many times by warps.
    fn add_instructions(&mut self, function: &Function, times: &[u64]) {
        for (block, times) in Graph::new(function).blocks.iter().zip(times) {
            let Some(body) = function.instructions.get(block.start as usize..block.end as usize) else { continue };
            self.chain += times * chain(body);
            for instruction in body {
                let slots = slots(instruction);
                self.code += slots;
                self.issued += times * slots;
                match pipe(instruction) {
                    Pipe::Integer => self.integer += times * slots,
                    Pipe::Float => self.float += times * slots,
                    Pipe::Other => {}
                }
                self.calls += times * u64::from(instruction.opcode() == Opcode::Call);
            }
        }
    }
}

/// Machine instructions that an instruction of PTX becomes, in tenths. Copies, conversions of addresses and loads of
/// parameters mostly vanish; a division becomes a sequence, a call has its moves.
fn slots(instruction: &Instruction) -> u64 {
    match instruction.opcode() {
        Opcode::Mov | Opcode::Cvta => 2,
        Opcode::Ld if instruction.form.space() == Space::Param => 2,
        Opcode::Cvt => 7,
        Opcode::Rem | Opcode::Div => 120,
        Opcode::Call | Opcode::Ret => 30,
        _ => 10,
    }
}

enum Pipe {
    Integer,
    Float,
    Other,
}

/// The pipe that executes an instruction: table of throughputs of native arithmetic instructions, CUDA C++ programming
/// guide.
fn pipe(instruction: &Instruction) -> Pipe {
    match instruction.opcode() {
        Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Mad | Opcode::Fma | Opcode::Neg | Opcode::Abs => {
            if instruction.form.ty() == Some(Type::F32) {
                Pipe::Float
            } else {
                Pipe::Integer
            }
        }
        Opcode::Selp
        | Opcode::Setp
        | Opcode::Slct
        | Opcode::Set
        | Opcode::Min
        | Opcode::Max
        | Opcode::And
        | Opcode::Or
        | Opcode::Xor
        | Opcode::Not
        | Opcode::Lop3
        | Opcode::Shl
        | Opcode::Shr
        | Opcode::Shf
        | Opcode::Cvt
        | Opcode::Prmt => Pipe::Integer,
        _ => Pipe::Other,
    }
}

/// Cycles until the result of an instruction can be used, in tenths. From published microbenchmarks: 4 to 5 cycles for
/// arithmetic, 24 for shared memory, 34 for a hit in the L1 cache.
fn latency(instruction: &Instruction) -> u64 {
    match (instruction.opcode(), instruction.form.space()) {
        (Opcode::Mov | Opcode::Cvta, _) | (Opcode::Ld, Space::Param) => 0,
        (Opcode::Ld, Space::Shared) => 240,
        (Opcode::Ld, _) => 340,
        (Opcode::Rem | Opcode::Div, _) => 540,
        (Opcode::Cvt, _) => 60,
        (Opcode::Bra, _) => 80,
        (Opcode::Call | Opcode::Ret, _) => 250,
        _ => 45,
    }
}

/// The longest chain of dependent instructions of a block. A load waits for the last store to its space, as what is
/// stored to local memory is mostly read back.
fn chain(body: &[Instruction]) -> u64 {
    let mut ready: HashMap<Reg, u64> = HashMap::new();
    let mut stored: HashMap<Space, u64> = HashMap::new();
    let mut longest = 0;
    for instruction in body {
        let mut start = 0;
        instruction.for_each_use(&mut |register| start = start.max(ready.get(&register).copied().unwrap_or(0)));
        let space = instruction.form.space();
        if instruction.opcode() == Opcode::Ld {
            start = start.max(stored.get(&space).copied().unwrap_or(0));
        }
        let end = start + latency(instruction);
        if instruction.opcode() == Opcode::St {
            stored.insert(space, end);
        }
        instruction.for_each_def(&mut |register| {
            ready.insert(register, end);
        });
        longest = longest.max(end);
    }
    longest
}
