//! Divergence analysis: whether the threads of a warp have the same value in a register, for all registers of a
//! function.
//!
//! Every value is assumed uniform until something makes it divergent: the thread's index, an atomic, or a load from a
//! divergent address. A divergent branch also does so for registers with different definitions at its joins, and a loop
//! that threads leave in different iterations does so for the values used behind it. Changes are propagated to the uses
//! until a fixed point is reached. Starting from "uniform" gives the right answer for values that depend on themselves
//! in a loop.

mod exits;
mod frame;
mod joins;
mod level;
mod warp;

use std::collections::{BTreeSet, HashMap};

use ptx_syntax::{AddressBase, Graph, Instruction, Modifier, Opcode, Operand, ParameterPlace, Reg, SpecialRegister};

use self::exits::{Exits, Taken, left};
use self::frame::{Differing, Frame};
use self::joins::Joins;
use super::loops::PtxLoops;
use super::reaching::{ByRegister, Reaching};
use crate::dataflow::flow::operands::for_each_part;
use crate::dataflow::flow::terms::special_register;
use crate::ptx::PtxFunction;

pub use self::level::Level;
use self::warp::Warps;

/// How many times what differs is followed on, through one more array or without one.
const MAX_TURNS: usize = 10;

/// Divergence of the registers of one function.
pub struct Divergence {
    /// By register.
    levels: Vec<Level>,
    exits: Exits,
    warps: Warps,
    /// By load from local memory: what it reads at an address that is the same in all threads, where that can be told.
    private: HashMap<usize, Level>,
}

impl Divergence {
    pub fn new(function: &PtxFunction, loops: &PtxLoops, reaching: &Reaching<'_>, uses: &ByRegister) -> Self {
        let frame = Frame::of(function, reaching.graph(), uses);
        let uniform = frame.iter().flat_map(|frame| frame.uniform_loads().map(|at| (at, Level::Same)));
        let private: HashMap<usize, Level> = uniform.collect();
        let found = Self::with(private.clone(), function, loops, reaching, uses);
        let Some(frame) = frame else { return found };
        // Values may come from the frame and go back to it, as in a sort, or to another array: that they differ is assumed, and must hold.
        let mut more: Option<Self> = None;
        let (mut known, mut refuted) = (Differing::new(), BTreeSet::new());
        for _ in 0..MAX_TURNS {
            let levels = more.as_ref().unwrap_or(&found);
            let level = |register| levels.level(register);
            let differing = frame.differing(function, &refuted, &level);
            if differing == known {
                let others = frame.refuted(&known, function, &level);
                if others.is_empty() {
                    return more.unwrap_or(found);
                }
                refuted.extend(others);
                (known, more) = (Differing::new(), None);
                continue;
            }
            let assumed = frame.divergent_loads(&differing).map(|at| (at, Level::Differs));
            let private = private.clone().into_iter().chain(assumed).collect();
            more = Some(Self::with(private, function, loops, reaching, uses));
            known = differing;
        }
        found
    }

    fn with(
        private: HashMap<usize, Level>,
        function: &PtxFunction,
        loops: &PtxLoops,
        reaching: &Reaching<'_>,
        uses: &ByRegister,
    ) -> Self {
        let mut found = Self {
            levels: vec![Level::Same; function.registers.len()],
            exits: Exits::new(loops),
            warps: Warps::new(function, reaching),
            private,
        };
        let joins = Joins::new(function, loops, reaching, uses);
        let mut search = Search {
            function,
            loops,
            uses,
            graph: reaching.graph(),
            taken: exits::taken(function, loops, reaching, &joins),
            joins,
            left: vec![Level::Same; function.instructions.len()],
            decisions: vec![Level::Same; function.instructions.len()],
            is_open: vec![true; function.instructions.len()],
            open: (0..function.instructions.len()).rev().collect(),
        };
        // Threads may also leave a cycle with several entries in different rounds, which is no natural loop.
        if search.run(&mut found).is_none() || loops.has_irreducible() {
            // Nothing is certain, there or beyond a limit.
            found.levels.iter_mut().for_each(|level| *level = (*level).max(Level::Unknown));
            found.exits.give_up();
        }
        found
    }

    /// Whether a register is divergent.
    pub fn of(&self, register: Reg) -> Level {
        self.level(register)
    }

    /// Whether a special register is divergent.
    pub fn of_special(&self, special: SpecialRegister) -> Level {
        match self.warps.axis(special) {
            Some(level) => level,
            None => special_register(special).divergent.into(),
        }
    }

    /// Whether an instruction computes a value that is uniform in a warp from thread indices: `threadIdx.x / 32`.
    pub fn is_number_of_warp(&self, at: usize) -> bool {
        self.warps.is_number_of_warp(at)
    }

    /// Whether it does so in blocks of most shapes, where the shape of the block is not known.
    pub fn may_be_number_of_warp(&self, at: usize) -> bool {
        self.warps.may_be_number_of_warp(at)
    }

    /// Whether what a load from local memory reads differs, if its address is the same in all threads; `None` where that
    /// cannot be told.
    pub fn of_private(&self, load: usize) -> Option<bool> {
        self.private.get(&load).and_then(|level| level.differs())
    }

    /// Temporal divergence: whether instruction `at` may read a value that threads computed in different iterations of
    /// a loop which they have left. `definitions` are the reaching definitions of that value.
    pub fn on_leaving(&self, definitions: &[usize], at: usize, loops: &PtxLoops, graph: &Graph) -> Level {
        let left = definitions.iter().flat_map(|definition| left(*definition, at, loops));
        left.map(|id| self.exits.level(id, graph.block_of(at))).max().unwrap_or(Level::Same)
    }

    fn level(&self, register: Reg) -> Level {
        self.levels.get(register.index()).copied().unwrap_or(Level::Same)
    }
}

/// State of the fixed-point iteration.
struct Search<'a> {
    function: &'a PtxFunction,
    loops: &'a PtxLoops,
    uses: &'a ByRegister,
    joins: Joins<'a>,
    graph: &'a Graph,
    /// By loop; `None` if a limit was met.
    taken: Option<Vec<Taken>>,
    /// By instruction: whether it reads a value from a loop that threads leave in different iterations.
    left: Vec<Level>,
    /// By branch: the divergence of its condition.
    decisions: Vec<Level>,
    open: Vec<usize>,
    is_open: Vec<bool>,
}

impl Search<'_> {
    /// `None` if a limit is met.
    fn run(&mut self, found: &mut Divergence) -> Option<()> {
        // Each register rises at most three times, so this terminates.
        while let Some(at) = self.open.pop() {
            self.is_open[at] = false;
            let instruction = &self.function.instructions[at];
            let level = self.result(at, instruction, found);
            instruction.for_each_def(&mut |register| self.raise(register, level, found));
            if instruction.ends_block() {
                self.decide(at, self.operands(instruction, found), found)?;
            }
        }
        self.taken.is_some().then_some(())
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

    /// Propagates the divergence of a branch to the registers at its joins, and to the loops that the branch leaves.
    fn decide(&mut self, at: usize, level: Level, found: &mut Divergence) -> Option<()> {
        if level <= self.decisions[at] {
            return Some(());
        }
        self.decisions[at] = level;
        let decided = self.joins.of(at, self.loops)?;
        for register in decided.registers {
            self.raise(register, level, found);
        }
        for register in decided.again {
            self.raise(register, level.min(Level::Unknown), found);
        }
        // A thread that returns or exits inside the loop uses none of the loop's values afterwards.
        if !matches!(self.function.instructions[at].opcode(), Opcode::Bra | Opcode::Brx) {
            return Some(());
        }
        let loops = self.loops;
        for id in loops.around(at).filter(|id| loops.exits(*id).binary_search(&at).is_ok()) {
            if !found.exits.raise(id, at, level, loops, self.graph) {
                continue;
            }
            let taken = std::mem::take(&mut self.taken.as_mut()?[id.index()]);
            for use_at in &taken.uses {
                let level = found.exits.level(id, self.graph.block_of(*use_at));
                if level > self.left[*use_at] {
                    self.left[*use_at] = level;
                    self.push(*use_at);
                }
            }
            for (register, before) in &taken.registers {
                self.raise(*register, found.exits.level(id, Some(*before)), found);
            }
            self.taken.as_mut()?[id.index()] = taken;
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
            // Local memory is private: the same position may hold equal values although other data next to it differ.
            Opcode::Ld if instruction.has(Modifier::Local) => {
                operands().max(found.private.get(&at).copied().unwrap_or(Level::Unknown))
            }
            Opcode::Atom | Opcode::Elect => Level::Differs,
            Opcode::Match if !instruction.has(Modifier::All) => Level::Differs,
            // The set of active threads may differ between threads that do not run at the same time.
            Opcode::Call | Opcode::Activemask => Level::Unknown,
            // The result is the same for all threads of the mask, so it is uniform if the mask names the whole warp.
            Opcode::Vote | Opcode::Redux | Opcode::Match => match found.warps.is_of_whole_warp(instruction) {
                true => Level::Same,
                false => Level::Unknown,
            },
            // A shuffle in which all threads read from one lane is uniform.
            Opcode::Shfl => match found.warps.shuffled_lane(instruction) {
                Some(lane) if self.operand(lane, found) == Level::Same => Level::Same,
                _ => Level::Exchanged,
            },
            // All threads of a block get the number, or the conjunction, of their predicates.
            Opcode::Bar | Opcode::Barrier => Level::Same,
            // The matrix is spread over the threads: one address, or equal registers, give each its own part.
            Opcode::Ldmatrix | Opcode::Movmatrix | Opcode::Mma | Opcode::Wmma | Opcode::Wgmma | Opcode::Tcgen05 => {
                operands().max(Level::Unknown)
            }
            _ if found.warps.is_number_of_warp(at) => Level::Same,
            _ if found.warps.may_be_number_of_warp(at) => Level::Unknown,
            _ => operands(),
        };
        level.max(self.left[at])
    }

    /// The level of an instruction's operands.
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
            Operand::Special(special) => found.of_special(*special),
            Operand::Reg(register) => found.level(*register),
            _ => Level::Same,
        }
    }
}

/// Whether a load reads a kernel parameter, which is uniform.
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
        divergence.of(function.register_named(register).unwrap()).differs()
    }

    /// `while (p > 0 && d < best[p - 1]) --p;`: threads leave by either exit.
    #[test]
    fn a_loop_with_two_exits_is_left_in_different_rounds() {
        let left = |value: &str| {
            let body = format!(
                "mov.u32 %p, %n;\n$L1:\nmov.u32 %q, %p;\nadd.s32 %y, %q, -2;\nsetp.geu.f32 %p1, {value}, %y;\n@%p1 bra $L2;\n\
                 add.s32 %p, %q, -1;\nsetp.gt.s32 %p2, %q, 1;\nmov.u32 %q, %p;\n@%p2 bra $L1;\n$L2:\nadd.s32 %x, %q, 1;"
            );
            of(&body, "%x")
        };
        assert_eq!((left("%n"), left("%t")), (Some(false), Some(true)));
    }

    /// `head = (head + 1) % 12` in a branch that `condition` guards.
    fn ring(condition: &str) -> Option<bool> {
        let body = format!(
            "mov.u32 %h, 0;\nmov.u32 %i, 0;\n$L1:\nsetp.ne.s32 %p2, {condition}, 3;\n@%p2 bra $L2;\nadd.s32 %r2, %h, 1;\n\
             rem.s32 %h, %r2, 12;\n$L2:\nadd.s32 %i, %i, 1;\nsetp.lt.s32 %p1, %i, %n;\n@%p1 bra $L1;"
        );
        of(&body, "%h")
    }

    /// Both ways of a branch that threads take apart copy one value, or two.
    #[test]
    fn copies_of_one_value_are_one_value() {
        let joined = |before: &str, first: &str, second: &str| {
            of(
                &format!(
                    "add.s32 %x, %n, 1;\nadd.s32 %y, %n, 2;\nmov.u32 %i, 0;\n{before}setp.ne.s32 %p1, %t, 3;\nmov.u32 %r, {first};\n\
                     @%p1 bra $L2;\nst.global.u32 [%n], 1;\nmov.u32 %r, {second};\n$L2:\nadd.s32 %s, %r, 1;\nadd.s32 %i, %i, 1;\n\
                     setp.lt.s32 %p2, %i, %n;\n@%p2 bra $L1;"
                ),
                "%s",
            )
        };
        assert_eq!(joined("$L1:\n", "%x", "%x"), Some(false));
        assert_eq!(joined("$L1:\n", "7", "7"), Some(false));
        assert_eq!(joined("$L1:\n", "%x", "%y"), Some(true));
        assert_eq!(joined("$L1:\n", "7", "8"), Some(true));
        // Another branch may bring another value to the same join.
        let also = "$L1:\nmov.u32 %r, 9;\nsetp.eq.s32 %p3, %n, 7;\n@%p3 bra $L2;\n";
        assert_eq!((joined(also, "%x", "%x"), joined(also, "%x", "%y")), (Some(false), Some(true)));
        // What a loop sets anew is another value in each of its rounds.
        assert_eq!(joined("$L1:\nadd.s32 %z, %i, 5;\n", "%z", "%z"), Some(true));
    }

    /// What a texture has differs where its coordinates do; special registers of a thread differ wherever they stand.
    #[test]
    fn textures_are_read_at_coordinates() {
        let read = |coordinate: &str| {
            let fetched = of(&format!("tex.1d.v4.s32.s32 {{%a, %b, %c, %d}}, [%texture, {{{coordinate}}}];"), "%b");
            let gathered = of(&format!("tld4.r.2d.v4.f32.f32 {{%a, %b, %c, %d}}, [%x, {{%n, {coordinate}}}];"), "%c");
            let surface = of(&format!("suld.b.1d.b32.trap {{%a}}, [%x, {{{coordinate}}}];"), "%a");
            [fetched, gathered, surface]
        };
        assert_eq!(read("%n"), [Some(false); 3]);
        assert_eq!(read("%t"), [Some(true); 3]);
        let unified = |register: &str| {
            of(&format!("tex.a2d.v4.f32.f32 {{%a, %b, %c, %d}}, [x, y, {{{register}, %n, %n, %n}}];"), "%d")
        };
        assert_eq!((unified("%t"), unified("%n")), (Some(true), Some(false)));
    }

    /// A counter whose step `condition` chooses, where both ways lead straight back to the branch.
    #[test]
    fn values_differ_where_the_ways_of_a_branch_meet_at_the_branch_itself() {
        let stepped = |condition: &str| {
            let body = format!(
                "mov.u32 %h, 0;\nmov.u32 %i, 0;\n$L1:\nadd.s32 %i, %i, 1;\nand.b32 %c, {condition}, %i;\n\
                 setp.ne.s32 %p2, %c, 0;\n@%p2 bra $L2;\nadd.s32 %h, %h, 1;\nsetp.lt.s32 %p1, %i, %n;\n@%p1 bra $L1;\n\
                 bra $L3;\n$L2:\nadd.s32 %h, %h, 7;\nbra $L1;\n$L3:"
            );
            of(&body, "%h")
        };
        assert_eq!((stepped("%n"), stepped("%t")), (Some(false), None));
    }

    /// `for (…) { while (condition) h = (h + 1) % 12; }`: the outer loop enters the inner one with values of different
    /// rounds.
    #[test]
    fn an_outer_loop_takes_values_of_different_rounds_into_the_inner_one() {
        let carried = |bound: &str| {
            let body = format!(
                "mov.u32 %h, 0;\nmov.u32 %i, 0;\n$L1:\nmov.u32 %j, 0;\n$L2:\nsetp.ge.s32 %p2, %j, {bound};\n\
                 @%p2 bra $L3;\nadd.s32 %r2, %h, 1;\nrem.s32 %h, %r2, 12;\nadd.s32 %j, %j, 1;\nbra $L2;\n$L3:\n\
                 add.s32 %i, %i, 1;\nsetp.lt.s32 %p1, %i, %n;\n@%p1 bra $L1;"
            );
            of(&body, "%h")
        };
        assert_eq!((carried("%n"), carried("%t")), (Some(false), Some(true)));
        // The condition was read from local memory, which may hold equal values.
        assert_eq!(carried("%l"), Some(false));
        let read = "ld.local.u32 %l, [%j];\nsetp.ge.s32 %p2, %j, %l";
        let body = format!(
            "mov.u32 %h, 0;\n$L1:\nmov.u32 %j, 0;\n$L2:\n{read};\n@%p2 bra $L3;\nadd.s32 %h, %h, %j;\n\
                            add.s32 %j, %j, 1;\nbra $L2;\n$L3:\nsetp.lt.s32 %p1, %j, %n;\n@%p1 bra $L1;"
        );
        assert_eq!(of(&body, "%h"), None);
    }

    /// `for (;;) { if (condition) { if (d-- == 0) break; continue; } ++d; }`: all ways out of the loop lead through one of
    /// its blocks. There threads of different rounds meet.
    #[test]
    fn threads_wait_in_a_loop_for_others_in_later_rounds() {
        let depth = |condition: &str| {
            let body = format!(
                "mov.u32 %d, 0;\nmov.u32 %i, 0;\n$L1:\nmov.u32 %e, %d;\nadd.s32 %i, %i, 1;\n{condition}\n@%p2 bra $L2;\n\
                 add.s32 %d, %e, 1;\nbra $L1;\n$L2:\nsetp.eq.s32 %p1, %e, 0;\n@%p1 bra $L3;\nadd.s32 %d, %e, -1;\n\
                 bra $L1;\n$L3:"
            );
            (of(&body, "%d"), of(&body, "%i"))
        };
        assert_eq!(depth("setp.eq.s32 %p2, %n, %i;"), (Some(false), Some(false)));
        assert_eq!(depth("setp.eq.s32 %p2, %t, %i;"), (None, None));
        assert_eq!(depth("ld.local.u32 %l, [%s];\nsetp.eq.s32 %p2, %l, 0;"), (None, None));
        // What both ways of a branch come back to within one round is the same.
        let step = "setp.eq.s32 %p3, %t, %i;\n@%p3 bra $L4;\nadd.s32 %x, %t, 1;\n$L4:\nsetp.eq.s32 %p2, %n, %i;";
        assert_eq!(depth(step), (Some(false), Some(false)));
    }

    #[test]
    fn threads_that_leave_through_another_exit_do_not_count() {
        // `for (…) { h = …; if (t == k) { use; return; } }`, and the other way round.
        let behind = |first: &str, second: &str| {
            let body = format!(
                "mov.u32 %h, 1;\nmov.u32 %i, 0;\n$L1:\nmul.lo.s32 %h, %h, 3;\nsetp.eq.s32 %p2, {first}, %i;\n\
                 @%p2 bra $L2;\nadd.s32 %i, %i, 1;\nsetp.lt.s32 %p1, %i, {second};\n@%p1 bra $L1;\n\
                 add.s32 %a, %h, 1;\nret;\n$L2:\nadd.s32 %b, %h, 1;\nret;"
            );
            (of(&body, "%a"), of(&body, "%b"))
        };
        assert_eq!(behind("%t", "%n"), (Some(false), Some(true)));
        assert_eq!(behind("%n", "%t"), (Some(true), Some(false)));
    }

    #[test]
    fn nothing_is_certain_in_a_cycle_with_two_entries() {
        let body = "mov.u32 %h, 0;\nmov.u32 %i, 0;\nsetp.eq.s32 %p3, %n, 3;\n@%p3 bra $L2;\n$L1:\nadd.s32 %h, %h, 1;\n\
                    $L2:\nadd.s32 %i, %i, 1;\nsetp.lt.s32 %p1, %i, %t;\n@%p1 bra $L1;\nadd.s32 %a, %h, 1;";
        assert_eq!(of(body, "%a"), None);
    }

    #[test]
    fn what_threads_exchanged_may_be_the_same_in_all() {
        let sum = "shfl.sync.bfly.b32 %a|%p1, %t, 16, 31, -1;\nadd.s32 %b, %a, %t;\nadd.s32 %c, %b, %t;";
        assert_eq!((of(sum, "%a"), of(sum, "%b"), of(sum, "%c")), (None, None, None));
        let chosen = format!("{sum}\nsetp.gt.s32 %p2, %a, %t;\nselp.b32 %d, %a, %t, %p2;");
        assert_eq!(of(&chosen, "%d"), None);
        assert_eq!(of("setp.gt.s32 %p1, %t, 5;\nbar.red.popc.u32 %a, 0, %p1;", "%a"), Some(false));
        assert_eq!(of("mov.u64 %s, 64;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%a}, [%s];", "%a"), None);
    }

    #[test]
    fn warps_are_formed_by_the_rank_of_their_threads() {
        let rank = "mov.u32 %y, %tid.y;\nmov.u32 %w, %ntid.x;\nmad.lo.s32 %r, %y, %w, %t;\n";
        assert_eq!(of(&format!("{rank}shr.u32 %a, %r, 5;"), "%a"), Some(false));
        assert_eq!(of(&format!("{rank}shr.u32 %a, %r, 4;"), "%a"), Some(true));
        let signed = "shr.s32 %s, %r, 31;\nshr.u32 %s2, %s, 27;\nadd.s32 %s3, %r, %s2;\nshr.s32 %a, %s3, 5;";
        assert_eq!(of(&format!("{rank}{signed}"), "%a"), Some(false));
        // In the whole grid they are where blocks have a multiple of 32 threads, as nearly all have.
        let grid = "mov.u32 %b, %ctaid.x;\nmad.lo.s32 %r, %b, %ntid.x, %t;\nshr.s32 %a, %r, 5;";
        assert_eq!(of(grid, "%a"), None);
        assert_eq!(of(&grid.replace("%ntid.x", "96"), "%a"), Some(false));
        assert_eq!(of(&grid.replace("%ntid.x", "48"), "%a"), Some(true));
        assert_eq!(of("shl.b32 %b, %ctaid.x, 7;\nor.b32 %r, %b, %t;\nshr.u32 %a, %r, 5;", "%a"), Some(false));
        assert_eq!(of("shl.b32 %b, %ctaid.x, 4;\nadd.s32 %r, %b, %t;\nshr.u32 %a, %r, 5;", "%a"), Some(true));
        // Two axes of three are no rank.
        assert_eq!(of(&format!("{rank}mov.u32 %z, %tid.z;\nshr.u32 %a, %r, 5;"), "%a"), Some(true));
        let three = "mov.u32 %z, %tid.z;\nmov.u32 %h, %ntid.y;\nmad.lo.s32 %y, %z, %h, %tid.y;\nmad.lo.s32 %r, %y, %ntid.x, %t;\n";
        assert_eq!(of(&format!("{three}shr.u32 %a, %r, 5;"), "%a"), Some(false));
        // Rows of 32 threads are common: then the index along the second axis is the same in all.
        assert_eq!(of("mov.u32 %y, %tid.y;", "%y"), None);
    }

    /// `i / 64` in a loop over the grid is one number in a warp if blocks are multiples of 64.
    #[test]
    fn indices_that_a_loop_steps_may_be_numbers_of_warps() {
        let stepped = |start: &str, step: &str, shift: u32| {
            let body = format!(
                "mov.u32 %b, %ctaid.x;\n{start}mul.lo.s32 %g, %nctaid.x, %ntid.x;\n$L1:\nshr.u32 %a, %i, {shift};\n{step}\n\
                 setp.lt.s32 %p1, %i, %n;\n@%p1 bra $L1;"
            );
            of(&body, "%a")
        };
        let grid = "mad.lo.s32 %i, %b, %ntid.x, %t;\n";
        assert_eq!(stepped(grid, "add.s32 %i, %i, %g;", 6), None);
        assert_eq!(stepped(grid, "add.s32 %j, %g, %i;\nmov.u32 %i, %j;", 6), None);
        assert_eq!(stepped("mov.u32 %i, %t;\n", "add.s32 %i, %i, 256;", 5), None);
        assert_eq!(stepped(grid, "add.s32 %i, %i, %g;", 4), Some(true));
        assert_eq!(stepped(grid, "add.s32 %i, %i, 1;", 6), Some(true));
        assert_eq!(stepped(grid, "mul.lo.s32 %i, %i, %g;", 6), Some(true));
    }

    #[test]
    fn merged_values_are_as_uniform_as_the_branches_that_decide() {
        assert_eq!(ring("%n"), Some(false));
        assert_eq!(ring("%t"), Some(true));
        // The value takes part in its own condition.
        assert_eq!(ring("%h"), Some(false));
    }

    /// The uniformity of each local access with a computed address. nvcc 13.5 compiled the kernel from the source above
    /// it.
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
        let first = |text: String| {
            let module = PtxModule::parse(&text).unwrap();
            let flow = Flow::new(module.function("warps").unwrap());
            let all = &flow.function.instructions;
            let access = all.iter().position(|load| load.opcode() == Opcode::Ld && load.is_local_access()).unwrap();
            flow.pointer(all[access].address().unwrap(), access).index.uniformity()
        };
        let text = || include_str!("uniformity.ptx").replace(".reqntid 256, 1, 1", ".maxntid 256, 1, 1");
        // A kernel of the first axis alone, and one that asks for the second: blocks of 48 × 2 threads are possible.
        assert_eq!(first(text()), UNIFORM);
        let asking = text().replace("%tid.x;", "%tid.x;\n\tmov.u32 \t%r99, %tid.y;");
        assert_eq!(first(asking), None);
        // Rows of 48 threads are known to split warps.
        let split = include_str!("uniformity.ptx").replace(".reqntid 256, 1, 1", ".reqntid 48, 2, 1");
        assert_eq!(first(split), Some(Uniformity::PerThread));
    }

    #[test]
    fn what_is_loaded_from_one_address_is_uniform() {
        // The address of a variable is an operand of its own kind.
        let loaded = |index: &str| {
            let flow_of = format!(
                ".visible .entry k(\n.param .u32 k_param_0\n)\n{{\n.shared .align 4 .b8 side[32];\n\
                 .local .align 4 .b8 __local_depot0[64];\nmov.u64 %SPL, __local_depot0;\nadd.u64 %rd1, %SPL, 0;\n\
                 mov.u32 %t, %tid.x;\nld.param.u32 %n, [k_param_0];\nmov.u32 %s, side;\nshl.b32 %o, {index}, 2;\n\
                 add.s32 %a, %s, %o;\nld.shared.u32 %i, [%a];\nmul.wide.u32 %rd3, %i, 4;\n\
                 add.s64 %rd4, %rd1, %rd3;\nld.local.u32 %r1, [%rd4];\n}}\n"
            );
            let module = PtxModule::parse(&flow_of).unwrap();
            let flow = Flow::new(&module.functions[0]);
            let all = &flow.function.instructions;
            let access = all.iter().position(|load| load.is_local_access()).unwrap();
            flow.pointer(all[access].address().unwrap(), access).index.uniformity()
        };
        assert_eq!((loaded("%n"), loaded("%t")), (UNIFORM, Some(Uniformity::PerThread)));
    }

    #[test]
    fn votes_and_shuffles_of_the_whole_warp_are_uniform() {
        // A ballot, a shuffle from one lane, a shuffle within groups of eight lanes, and the element that is read last.
        assert_eq!(accesses("votes"), [UNIFORM, UNIFORM, None, UNIFORM]);
    }

    #[test]
    fn what_threads_took_along_from_different_rounds_differs() {
        assert_eq!(accesses("left"), [Some(Uniformity::PerThread), UNIFORM]);
    }

    #[test]
    fn an_index_that_threads_found_in_different_rounds_differs() {
        // A store at an index that a search found. nvcc unrolled, rotated and peeled the loops, or joined their exits.
        let module = PtxModule::parse(include_str!("exits.ptx")).unwrap();
        let found = module.functions.iter().map(|function| {
            let flow = Flow::new(function);
            let all = function.instructions.iter().enumerate();
            let stores = all.filter(|(_, store)| store.opcode() == Opcode::St && store.is_local_access());
            let pointers = stores.map(|(at, store)| flow.pointer(store.address().unwrap(), at));
            let last = pointers.filter(|pointer| pointer.offset.is_none()).last();
            (function.name.to_string(), last.unwrap().index.uniformity())
        });
        let found: Vec<_> = found.collect();
        assert_eq!(found.len(), 13);
        for (name, uniformity) in found {
            // What the sort compares was read from local memory, to which nothing goes but what each thread loads.
            assert_eq!(uniformity, Some(Uniformity::PerThread), "{name}");
        }
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
