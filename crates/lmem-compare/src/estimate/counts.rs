//! What a launch executes, counted from a run of the machine.

use std::collections::HashMap;

use ptx_machine::{Launch, Outcome, Program};
use ptx_syntax::{Function, Graph, Instruction, Modifier, Module, Opcode, Reg, Space, Type};
use serde::{Deserialize, Serialize};

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
            let Chain { cycles, loads, local } = Chain::of(body);
            self.chain += times * cycles;
            self.load_depth += times * loads;
            self.local_depth += times * local;
            for instruction in body {
                let slots = slots(instruction);
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

/// Machine instructions that an instruction of PTX becomes, in tenths. Copies, conversions of addresses and loads of
/// parameters mostly vanish; a division becomes a sequence, a call has its moves.
fn slots(instruction: &Instruction) -> u64 {
    let is_exact = !instruction.form.has(Modifier::Approx);
    match (instruction.opcode(), instruction.form.ty()) {
        (Opcode::Mov | Opcode::Cvta, _) => 2,
        (Opcode::Ld, _) if instruction.form.space() == Space::Param => 2,
        (Opcode::Cvt, _) => 7,
        (Opcode::Sqrt | Opcode::Rcp | Opcode::Rsqrt, Some(Type::F32)) if is_exact => 80,
        (Opcode::Div, Some(Type::F32)) if !is_exact => 20,
        (Opcode::Rem | Opcode::Div, _) => 120,
        (Opcode::Call | Opcode::Ret, _) => 30,
        _ => 10,
    }
}

/// Issue slots of the special function unit, in tenths. Divisions of integers begin with a reciprocal, too.
fn special(instruction: &Instruction) -> u64 {
    match instruction.opcode() {
        Opcode::Sin | Opcode::Cos | Opcode::Ex2 | Opcode::Lg2 | Opcode::Tanh => 10,
        Opcode::Sqrt | Opcode::Rsqrt | Opcode::Rcp | Opcode::Div | Opcode::Rem => 10,
        _ => 0,
    }
}

enum Pipe {
    Integer,
    /// Multiplications of integers.
    Multiply,
    Float,
    Double,
    Other,
}

/// The pipe that executes an instruction: table of throughputs of native arithmetic instructions, CUDA C++ programming
/// guide.
fn pipe(instruction: &Instruction) -> Pipe {
    let ty = instruction.form.ty();
    match instruction.opcode() {
        Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Mad | Opcode::Fma | Opcode::Neg | Opcode::Abs
            if ty == Some(Type::F32) =>
        {
            Pipe::Float
        }
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::Mad
        | Opcode::Fma
        | Opcode::Div
        | Opcode::Setp
        | Opcode::Min
        | Opcode::Max
        | Opcode::Cvt
            if ty == Some(Type::F64) =>
        {
            Pipe::Double
        }
        Opcode::Mul | Opcode::Mad => Pipe::Multiply,
        Opcode::Add
        | Opcode::Sub
        | Opcode::Fma
        | Opcode::Neg
        | Opcode::Abs
        | Opcode::Selp
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

/// The longest chain of dependent instructions of a block, and of loads in it. A load waits for the last store to its space, as what is
/// stored to local memory is mostly read back.
#[derive(Debug, Clone, Copy, Default)]
struct Chain {
    /// In tenths.
    cycles: u64,
    /// Loads of global memory that wait for each other.
    loads: u64,
    /// Loads of local memory that wait for each other.
    local: u64,
}

impl Chain {
    fn of(body: &[Instruction]) -> Self {
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
            end.cycles += latency(instruction);
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
