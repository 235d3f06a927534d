//! Data flow of one PTX function: what an address points to, and where an index comes from.
//!
//! PTX from NVIDIA's front end is close to single assignment: a register with several definitions is a value that a
//! loop or a branch merges, as a phi would. Nothing else is assumed; hand-written PTX is analysed in the same way and
//! gives `Unknown` at worst.

mod calls;
mod induction;
pub mod operands;
mod origins;
mod parameters;
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

/// Answers queries on one function. Results are cached: values of unrolled code are computed from each other, so each
/// query needs the results for all values before it.
pub struct Flow<'a> {
    pub function: &'a PtxFunction,
    pub loops: PtxLoops,
    reaching: Reaching<'a>,
    uses: OnceCell<ByRegister>,
    /// By register: whether it derives from a local address. This tells the pointer from the index in a sum.
    pointers: OnceCell<Vec<bool>>,
    known_pointers: RefCell<KnownPointers>,
    steps_left: Cell<u32>,
    known_sources: RefCell<Closure<Provenance>>,
    known_origins: RefCell<KnownOrigins>,
    calls: OnceCell<Vec<Call>>,
    divergence: OnceCell<Divergence>,
    /// By register: the parameters that it derives from.
    parameters: OnceCell<Vec<u64>>,
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
            parameters: OnceCell::new(),
        }
    }

    /// Computed on the first query, as few functions need it.
    fn divergence(&self) -> &Divergence {
        self.divergence.get_or_init(|| Divergence::new(self.function, &self.loops, &self.reaching, self.uses()))
    }

    fn uses(&self) -> &ByRegister {
        self.uses.get_or_init(|| uses(self.function))
    }

    /// The instructions that read a register, as an operand or as their guard.
    pub fn uses_of(&self, register: Reg) -> &[usize] {
        self.uses().of(register)
    }

    /// The reaching definition of a register at instruction `at`, if there is only one.
    pub fn definition(&self, register: Reg, at: usize) -> Option<usize> {
        let [only] = *self.definitions(register, at) else { return None };
        Some(only)
    }

    /// All reaching definitions of a register at instruction `at`.
    pub fn definitions(&self, register: Reg, at: usize) -> Definitions {
        self.reaching.definitions(self.reaching.at(register, at))
    }

    /// By register: whether its value derives from an operand that `is_source`, loads through that operand included.
    pub fn made_from(&self, is_source: impl Fn(&Operand) -> bool) -> Vec<bool> {
        let instructions = &self.function.instructions;
        let is_made = |at: usize| instructions[at].operands.iter().skip(1).any(&is_source);
        self.spread((0..instructions.len()).filter(|at| is_made(*at)), |_, _| true)
    }

    /// By register: whether one of the instructions `first` defines it, or it derives from such a register.
    /// `is_followed` says whether an instruction passes on what it reads from a register.
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
