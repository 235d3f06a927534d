//! Data flow of one PTX function: where an address points, and where an index comes from.
//!
//! PTX from NVIDIA's front end is close to single assignment: a register with several definitions is a
//! value that loops or branches merge. That is all this relies on; hand-written PTX gets the same treatment
//! and at worst an `Unknown`.

mod calls;
mod induction;
pub mod operands;
mod pointer;
mod sources;
pub mod terms;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

use super::divergence::Divergence;
use super::loops::PtxLoops;
use super::reaching::{Definitions, Reaching};
use crate::ptx::PtxFunction;

pub use self::calls::Call;
pub use self::operands::{constant, parameter_number, read, registers, written};
pub use self::pointer::Root;
pub use self::sources::Sources;
pub use self::terms::special_register;

/// Answers questions on one function.
pub struct Flow<'a> {
    pub function: &'a PtxFunction,
    pub loops: PtxLoops,
    reaching: Reaching<'a>,
    /// Registers that hold a pointer into local memory or are made of one, to tell pointer from index in sums.
    pointers: RefCell<HashMap<String, bool>>,
    /// What registers are computed from, by the definitions that were asked for: unrolled code asks again and again.
    known_sources: RefCell<HashMap<(String, Definitions), Sources>>,
    steps_left: Cell<u32>,
    divergence: OnceCell<Divergence<'a>>,
}

impl<'a> Flow<'a> {
    pub fn new(function: &'a PtxFunction) -> Self {
        let loops = PtxLoops::new(function);
        Self {
            function,
            loops,
            reaching: Reaching::new(function),
            pointers: RefCell::default(),
            known_sources: RefCell::default(),
            steps_left: Cell::new(0),
            divergence: OnceCell::new(),
        }
    }

    /// Found at the first question: few functions have one.
    fn divergence(&self) -> &Divergence<'a> {
        self.divergence.get_or_init(|| Divergence::new(self.function))
    }

    /// The only definition of a register that may hold where instruction `at` reads it.
    pub fn definition(&self, register: &str, at: usize) -> Option<usize> {
        let [only] = *self.reaching.at(register, at) else { return None };
        Some(only)
    }

    /// All definitions of a register that may hold where instruction `at` reads it.
    pub fn definitions(&self, register: &str, at: usize) -> Definitions {
        self.reaching.at(register, at)
    }

    /// Whether a symbol or constant that `is_source` takes part in a value, loads from there included.
    pub fn is_made_from(&self, operand: &str, is_source: impl Fn(&str) -> bool) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![operand];
        while let Some(operand) = open.pop() {
            if is_source(operand) {
                return true;
            }
            if !seen.insert(operand) {
                continue;
            }
            for definition in self.reaching.all(operand).iter() {
                let operands = self.function.instructions[*definition].operands.iter().skip(1);
                open.extend(
                    operands
                        .flat_map(|operand| operand.split(['[', ']', '{', '}', ',', '+', ' ']))
                        .filter(|part| !part.is_empty()),
                );
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::pointer::Pointer;
    use super::*;
    use crate::ptx::{Instruction, PtxModule};

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
        flow.pointer(&function.instructions[access].address().unwrap(), access)
    }

    pub(super) fn local(offset: u64) -> BTreeSet<Root> {
        BTreeSet::from([Root::Local { variable: 0, offset }])
    }
}
