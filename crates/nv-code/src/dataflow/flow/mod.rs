//! Data flow of one PTX function: where an address points, and where an index comes from.
//!
//! PTX from NVIDIA's front end is close to single assignment: a register with several definitions is a
//! value that loops or branches merge. That is all this relies on; hand-written PTX gets the same treatment
//! and at worst an `Unknown`.

mod calls;
mod induction;
pub mod operands;
mod origins;
mod pointer;
mod provenance;
pub mod terms;

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use ptx_syntax::{Graph, Operand, Reg};

use self::origins::KnownOrigins;
use self::pointer::KnownPointers;
use super::closure::Closure;
use super::divergence::Divergence;
use super::loops::PtxLoops;
use super::reaching::{ByRegister, Definitions, Reaching, uses};
use crate::ptx::PtxFunction;

pub use self::calls::Call;
pub use self::operands::{constant, registers};
pub use self::origins::Origins;
pub use self::pointer::{Pointer, Root};
pub use self::provenance::Provenance;

/// Answers questions on one function. What was found out is kept: the values of unrolled code are made from each other, and
/// each question on one of them asks for all before it.
pub struct Flow<'a> {
    pub function: &'a PtxFunction,
    pub loops: PtxLoops,
    reaching: Reaching<'a>,
    uses: OnceCell<ByRegister>,
    /// By register: whether it is made from the address of local memory, to tell pointer from index in sums.
    pointers: OnceCell<Vec<bool>>,
    known_pointers: RefCell<KnownPointers>,
    steps_left: Cell<u32>,
    known_sources: RefCell<Closure<Provenance>>,
    known_origins: RefCell<KnownOrigins>,
    calls: OnceCell<Vec<Call>>,
    divergence: OnceCell<Divergence>,
}

impl<'a> Flow<'a> {
    pub fn new(function: &'a PtxFunction) -> Self {
        let graph = Rc::new(Graph::new(function));
        Self {
            function,
            loops: PtxLoops::new(function, &graph),
            reaching: Reaching::new(function, graph),
            uses: OnceCell::new(),
            pointers: OnceCell::new(),
            known_pointers: RefCell::default(),
            steps_left: Cell::new(0),
            known_sources: RefCell::default(),
            known_origins: RefCell::default(),
            calls: OnceCell::new(),
            divergence: OnceCell::new(),
        }
    }

    /// Found at the first question: few functions have one.
    fn divergence(&self) -> &Divergence {
        self.divergence.get_or_init(|| Divergence::new(self.function, &self.loops, &self.reaching, self.uses()))
    }

    fn uses(&self) -> &ByRegister {
        self.uses.get_or_init(|| uses(self.function))
    }

    /// Instructions that read a register, by an operand or as their guard.
    pub fn uses_of(&self, register: Reg) -> &[usize] {
        self.uses().of(register)
    }

    /// The only definition of a register that may hold where instruction `at` reads it.
    pub fn definition(&self, register: Reg, at: usize) -> Option<usize> {
        let [only] = *self.definitions(register, at) else { return None };
        Some(only)
    }

    /// All definitions of a register that may hold where instruction `at` reads it.
    pub fn definitions(&self, register: Reg, at: usize) -> Definitions {
        self.reaching.definitions(self.reaching.at(register, at))
    }

    /// By register, whether an operand that `is_source` takes part in its value, loads from there included.
    pub fn made_from(&self, is_source: impl Fn(&Operand) -> bool) -> Vec<bool> {
        let instructions = &self.function.instructions;
        let is_made = |at: usize| instructions[at].operands.iter().skip(1).any(&is_source);
        self.spread((0..instructions.len()).filter(|at| is_made(*at)), |_, _| true)
    }

    /// By register, whether one of some instructions sets it, or it is computed from such a register: where `is_followed` says
    /// that the instruction hands on what it reads from the register.
    fn spread(&self, first: impl Iterator<Item = usize>, is_followed: impl Fn(usize, Reg) -> bool) -> Vec<bool> {
        let mut is_made = vec![false; self.function.registers.len()];
        let mut open: Vec<Reg> = Vec::new();
        let set = |at: usize, is_made: &mut Vec<bool>, open: &mut Vec<Reg>| {
            self.function.instructions[at].for_each_def(&mut |register| {
                if !std::mem::replace(&mut is_made[register.index()], true) {
                    open.push(register);
                }
            });
        };
        first.for_each(|at| set(at, &mut is_made, &mut open));
        while let Some(register) = open.pop() {
            for at in self.uses_of(register).iter().filter(|at| is_followed(**at, register)) {
                set(*at, &mut is_made, &mut open);
            }
        }
        is_made
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::pointer::Pointer;
    use super::*;
    use crate::ptx::PtxModule;
    use ptx_syntax::Instruction;

    pub(super) fn function(body: &str) -> PtxFunction {
        let text = format!(
            ".visible .entry k(\n.param .u64 k_param_0,\n.param .u32 k_param_1\n)\n{{\n.local .align 16 .b8 __local_depot0[128];\n\
             mov.u64 %SPL, __local_depot0;\nld.param.u32 %n, [k_param_1];\nld.param.u64 %in, [k_param_0];\n{body}\n}}\n"
        );
        PtxModule::parse(&text).unwrap().functions.remove(0)
    }

    pub(super) fn pointer_of_last(function: &PtxFunction) -> Pointer {
        let flow = Flow::new(function);
        let access = function.instructions.iter().rposition(Instruction::is_local_access).unwrap();
        flow.pointer(function.instructions[access].address().unwrap(), access)
    }

    pub(super) fn local(offset: u64) -> BTreeSet<Root> {
        BTreeSet::from([Root::Local { variable: 0, offset }])
    }
}
