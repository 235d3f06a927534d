//! Whether the threads of a warp have the same value in a register: for all registers of a function at once.
//!
//! A value is the same in all threads until something says otherwise: the thread's number, an atomic, an address that
//! differs, a branch on such a value where different ways meet again with different definitions, or a loop that threads leave
//! in different rounds. What changes is handed on to the instructions that read it until nothing changes, so that
//! values that depend on themselves round a loop come out right.

mod joins;
mod warp;

use ptx_syntax::{AddressBase, Instruction, Loop, Modifier, Opcode, Operand, ParameterPlace, Reg, SpecialRegister};

use self::joins::Joins;
use super::loops::PtxLoops;
use super::reaching::{ByRegister, Reaching};
use crate::dataflow::flow::operands::for_each_part;
use crate::dataflow::flow::terms::special_register;
use crate::ptx::PtxFunction;

use self::warp::Warps;

/// Definitions of values that are looked at, for each instruction: beyond that nothing is claimed.
const MAX_READS_PER_INSTRUCTION: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Same,
    Unknown,
    Differs,
}

impl Level {
    /// Whether the threads may differ; `None` where that is not known.
    fn differs(self) -> Option<bool> {
        match self {
            Self::Same => Some(false),
            Self::Unknown => None,
            Self::Differs => Some(true),
        }
    }

    fn of(differs: Option<bool>) -> Self {
        match differs {
            Some(false) => Self::Same,
            None => Self::Unknown,
            Some(true) => Self::Differs,
        }
    }
}

/// The registers of one function.
pub struct Divergence {
    /// By register.
    levels: Vec<Level>,
    /// By loop: whether threads leave it in different rounds.
    exits: Vec<Level>,
    warps: Warps,
}

impl Divergence {
    pub fn new(function: &PtxFunction, loops: &PtxLoops, reaching: &Reaching<'_>, uses: &ByRegister) -> Self {
        let mut found = Self {
            levels: vec![Level::Same; function.registers.len()],
            exits: vec![Level::Same; loops.count()],
            warps: Warps::new(function, reaching),
        };
        let mut search = Search {
            function,
            loops,
            uses,
            joins: Joins::new(function, reaching, uses),
            leaving: leaving(function, loops, reaching),
            left: vec![Level::Same; function.instructions.len()],
            decisions: vec![Level::Same; function.instructions.len()],
            is_open: vec![true; function.instructions.len()],
            open: (0..function.instructions.len()).rev().collect(),
        };
        if search.run(&mut found).is_none() {
            // Too large to be certain of anything.
            found.levels.iter_mut().chain(&mut found.exits).for_each(|level| *level = (*level).max(Level::Unknown));
        }
        found
    }

    /// Whether the threads may differ in a register; `None` where that is not known.
    pub fn of(&self, register: Reg) -> Option<bool> {
        self.level(register).differs()
    }

    /// Whether the threads may differ in a special register.
    pub fn of_special(&self, special: SpecialRegister) -> Option<bool> {
        if self.warps.is_same_in_warp(special) { Some(false) } else { special_register(special).divergent }
    }

    /// Whether an instruction computes what is the same for a warp from the numbers of its threads: `threadIdx.x / 32`.
    pub fn is_number_of_warp(&self, at: usize) -> bool {
        self.warps.is_number_of_warp(at)
    }

    /// Whether threads that took a value along when they left loops may have it from different rounds: a value of
    /// `definitions`, where instruction `at` reads it.
    pub fn on_leaving(&self, definitions: &[usize], at: usize, loops: &PtxLoops) -> Option<bool> {
        let left = definitions.iter().flat_map(|definition| left(*definition, at, loops));
        left.map(|id| self.exits[id.index()]).max().unwrap_or(Level::Same).differs()
    }

    fn level(&self, register: Reg) -> Level {
        self.levels.get(register.index()).copied().unwrap_or(Level::Same)
    }
}

/// Loops around a definition that do not hold an instruction.
fn left(definition: usize, at: usize, loops: &PtxLoops) -> impl Iterator<Item = Loop> {
    loops.around(definition).take_while(move |id| !loops.contains(*id, at))
}

/// By loop, instructions outside of it that read what was computed in it; `None` where there are too many.
fn leaving(function: &PtxFunction, loops: &PtxLoops, reaching: &Reaching<'_>) -> Option<Vec<Vec<usize>>> {
    let mut leaving: Vec<Vec<usize>> = vec![Vec::new(); loops.count()];
    let mut budget = function.instructions.len().saturating_mul(MAX_READS_PER_INSTRUCTION);
    for (at, instruction) in function.instructions.iter().enumerate().filter(|_| loops.count() > 0) {
        instruction.for_each_use(&mut |register| {
            let definitions = reaching.definitions(reaching.at(register, at));
            budget = budget.saturating_sub(definitions.len());
            if budget > 0 {
                let all = definitions.iter().flat_map(|definition| left(*definition, at, loops));
                all.for_each(|id| leaving[id.index()].push(at));
            }
        });
    }
    (budget > 0 || loops.count() == 0).then_some(leaving)
}

/// What is still to be looked at.
struct Search<'a> {
    function: &'a PtxFunction,
    loops: &'a PtxLoops,
    uses: &'a ByRegister,
    joins: Joins<'a>,
    leaving: Option<Vec<Vec<usize>>>,
    /// By instruction: whether it reads what was computed in a loop that threads leave in different rounds.
    left: Vec<Level>,
    /// By branch: what is known of its decision.
    decisions: Vec<Level>,
    open: Vec<usize>,
    is_open: Vec<bool>,
}

impl Search<'_> {
    /// `None` where it takes too long.
    fn run(&mut self, found: &mut Divergence) -> Option<()> {
        // Each register rises twice at most, so this ends.
        while let Some(at) = self.open.pop() {
            self.is_open[at] = false;
            let instruction = &self.function.instructions[at];
            let level = self.result(at, instruction, found);
            instruction.for_each_def(&mut |register| self.raise(register, level, found));
            if instruction.ends_block() {
                self.decide(at, self.operands(instruction, found), found)?;
            }
        }
        self.leaving.is_some().then_some(())
    }

    fn push(&mut self, at: usize) {
        if !std::mem::replace(&mut self.is_open[at], true) {
            self.open.push(at);
        }
    }

    fn raise(&mut self, register: Reg, level: Level, found: &mut Divergence) {
        let known = &mut found.levels[register.index()];
        if level > *known {
            *known = level;
            let uses = self.uses;
            uses.of(register).iter().for_each(|at| self.push(*at));
        }
    }

    /// Where a branch is decided differently, what it leads to holds.
    fn decide(&mut self, at: usize, level: Level, found: &mut Divergence) -> Option<()> {
        if level <= self.decisions[at] {
            return Some(());
        }
        self.decisions[at] = level;
        for register in self.joins.of(at)? {
            self.raise(register, level, found);
        }
        // Who ends in a loop takes nothing along.
        if !matches!(self.function.instructions[at].opcode(), Opcode::Bra | Opcode::Brx) {
            return Some(());
        }
        let loops = self.loops;
        for id in loops.around(at).filter(|id| loops.exits(*id).binary_search(&at).is_ok()) {
            if level > found.exits[id.index()] {
                found.exits[id.index()] = level;
                for at in std::mem::take(&mut self.leaving.as_mut()?[id.index()]) {
                    self.left[at] = self.left[at].max(level);
                    self.push(at);
                }
            }
        }
        Some(())
    }

    fn result(&self, at: usize, instruction: &Instruction, found: &Divergence) -> Level {
        let operands = || self.operands(instruction, found);
        let level = match instruction.opcode() {
            Opcode::Ld if instruction.has(Modifier::Param) => match is_parameter(instruction, self.function) {
                true => Level::Same,
                false => Level::Unknown,
            },
            // Each thread has its own local memory; a position in it may be the same though other data beside it differ.
            Opcode::Ld if instruction.has(Modifier::Local) => operands().max(Level::Unknown),
            Opcode::Atom | Opcode::Elect => Level::Differs,
            Opcode::Match if !instruction.has(Modifier::All) => Level::Differs,
            // Which threads are active need not be the same for those that run at different times.
            Opcode::Call | Opcode::Activemask => Level::Unknown,
            // One value for all threads that the mask names: for the whole warp if that is all of them.
            Opcode::Vote | Opcode::Redux | Opcode::Match => match found.warps.is_of_whole_warp(instruction) {
                true => Level::Same,
                false => Level::Unknown,
            },
            // What all threads read from one lane is the same in all.
            Opcode::Shfl => match found.warps.shuffled_lane(instruction) {
                Some(lane) => self.operand(lane, found).min(Level::Unknown),
                None => Level::Unknown,
            },
            _ if found.warps.is_number_of_warp(at) => Level::Same,
            _ => operands(),
        };
        level.max(self.left[at])
    }

    /// The level of what an instruction reads.
    fn operands(&self, instruction: &Instruction, found: &Divergence) -> Level {
        let mut level = Level::Same;
        instruction.for_each_use(&mut |register| level = level.max(found.level(register)));
        for operand in &instruction.operands {
            for_each_part(operand, &mut |part| {
                if let Operand::Special(_) = part {
                    level = level.max(self.operand(part, found));
                }
            });
        }
        level
    }

    fn operand(&self, operand: &Operand, found: &Divergence) -> Level {
        match operand {
            Operand::Special(special) => Level::of(found.of_special(*special)),
            Operand::Reg(register) => found.level(*register),
            _ => Level::Same,
        }
    }
}

/// Whether a load is of a kernel's parameter, which all threads share.
fn is_parameter(instruction: &Instruction, function: &PtxFunction) -> bool {
    let base = instruction.address().map(|address| &address.base);
    let Some(AddressBase::Variable(variable)) = base else { return false };
    function.is_entry && matches!(function.variable(*variable).parameter, Some(ParameterPlace::Input(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataflow::flow::{Flow, Pointer};
    use crate::dataflow::reaching::uses;
    use crate::ptx::PtxModule;
    use lmem_base::diagnostic::Uniformity;
    use ptx_syntax::Graph;
    use std::rc::Rc;

    fn of(body: &str, register: &str) -> Option<bool> {
        let text = format!(
            ".visible .entry k(\n.param .u32 k_param_0\n)\n{{\nld.param.u32 %n, [k_param_0];\nmov.u32 %t, %tid.x;\n{body}\n}}\n"
        );
        let module = PtxModule::parse(&text).unwrap();
        let function = &module.functions[0];
        let graph = Rc::new(Graph::new(function));
        let (loops, reaching) = (PtxLoops::new(function, &graph), Reaching::new(function, graph));
        let divergence = Divergence::new(function, &loops, &reaching, &uses(function));
        divergence.of(function.register_named(register).unwrap())
    }

    /// `head = (head + 1) % 12` in a branch that `condition` guards.
    fn ring(condition: &str) -> Option<bool> {
        let body = format!(
            "mov.u32 %h, 0;\nmov.u32 %i, 0;\n$L1:\nsetp.ne.s32 %p2, {condition}, 3;\n@%p2 bra $L2;\nadd.s32 %r2, %h, 1;\n\
             rem.s32 %h, %r2, 12;\n$L2:\nadd.s32 %i, %i, 1;\nsetp.lt.s32 %p1, %i, %n;\n@%p1 bra $L1;"
        );
        of(&body, "%h")
    }

    #[test]
    fn merged_values_are_as_uniform_as_the_branches_that_decide() {
        assert_eq!(ring("%n"), Some(false));
        assert_eq!(ring("%t"), Some(true));
        // The value decides on itself.
        assert_eq!(ring("%h"), Some(false));
    }

    /// Whether each local access with a computed address differs, in a kernel that nvcc 13.5 compiled from the source that
    /// stands before it.
    fn accesses(kernel: &str) -> Vec<Option<Uniformity>> {
        let module = PtxModule::parse(include_str!("uniformity.ptx")).unwrap();
        let function = module.function(kernel).unwrap();
        let flow = Flow::new(function);
        let loads = function.instructions.iter().enumerate();
        let loads = loads.filter(|(_, load)| load.opcode() == Opcode::Ld && load.is_local_access());
        let pointers = loads.map(|(at, load)| flow.pointer(load.address().unwrap(), at));
        let is_computed = |pointer: &Pointer| pointer.index.is_data() || pointer.index.induction;
        pointers.filter(is_computed).map(|pointer| pointer.index.uniformity()).collect()
    }

    const UNIFORM: Option<Uniformity> = Some(Uniformity::Uniform);

    #[test]
    fn a_branch_of_one_thread_decides_only_on_what_it_sets() {
        assert_eq!(accesses("pipeline"), [UNIFORM, UNIFORM]);
    }

    #[test]
    fn the_number_of_a_warp_is_uniform_where_the_shape_of_the_block_is_known() {
        assert_eq!(accesses("warps"), [UNIFORM, UNIFORM]);
        let text = include_str!("uniformity.ptx").replace(".reqntid 256, 1, 1", ".maxntid 256, 1, 1");
        let module = PtxModule::parse(&text).unwrap();
        let flow = Flow::new(module.function("warps").unwrap());
        let access =
            flow.function.instructions.iter().position(|load| load.opcode() == Opcode::Ld && load.is_local_access());
        let pointer = flow.pointer(flow.function.instructions[access.unwrap()].address().unwrap(), access.unwrap());
        assert_eq!(pointer.index.uniformity(), Some(Uniformity::PerThread));
    }

    #[test]
    fn votes_and_shuffles_of_the_whole_warp_are_uniform() {
        // A ballot, a shuffle from one lane, one within parts of eight lanes, and the element that is read last.
        assert_eq!(accesses("votes"), [UNIFORM, UNIFORM, None, UNIFORM]);
    }

    #[test]
    fn what_threads_took_along_from_different_rounds_differs() {
        assert_eq!(accesses("left"), [Some(Uniformity::PerThread), UNIFORM]);
    }

    #[test]
    fn values_follow_what_they_are_made_of() {
        assert_eq!(of("add.u32 %a, %n, 3;", "%a"), Some(false));
        assert_eq!(of("add.u32 %a, %t, %n;\nmul.lo.u32 %b, %a, 2;", "%b"), Some(true));
        assert_eq!(of("mul.wide.u32 %a, %t, 4;\nld.global.u32 %b, [%a+8];", "%b"), Some(true));
        assert_eq!(of("mov.u64 %a, 64;\nld.local.u32 %b, [%a];", "%b"), None);
        assert_eq!(of("shfl.sync.idx.b32 %a|%p1, %t, 0, 31, -1;", "%a"), Some(false));
        assert_eq!(of("vote.sync.ballot.b32 %a, %p1, -1;", "%a"), Some(false));
    }
}
