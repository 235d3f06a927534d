//! The registers of a PTX function that are live at each point of its code.

use nv_code::PtxFunction;
use nv_code::dataflow::ByRegister;
use ptx_syntax::{Block, Graph, Instruction, Opcode, Reg, Type};

/// Limit on pairs of a block and a register that is live at its end: a hostile text could have more than fit into memory.
/// Past it the peak is that of what is known.
const MAX_PAIRS: usize = 1 << 24;

/// The registers that are live at the ends of blocks.
pub struct Liveness<'a> {
    function: &'a PtxFunction,
    graph: Graph,
    live_out: Vec<Vec<Reg>>,
}

impl<'a> Liveness<'a> {
    /// Follows each register from its uses back to its definitions. One without a definition is none of the text's values.
    pub fn new(function: &'a PtxFunction, uses: &ByRegister) -> Self {
        let graph = Graph::new(function);
        let mut live_out: Vec<Vec<Reg>> = vec![Vec::new(); graph.blocks.len()];
        let definitions = definitions(function);
        let mut marked: Vec<Option<Reg>> = vec![None; graph.blocks.len()];
        let mut pairs = 0;
        for (register, definitions) in (0..).map(Reg).zip(&definitions).filter(|(_, known)| !known.is_empty()) {
            // A definition under a guard may leave the value from before.
            let ends = |at: &&usize| function.instructions[**at].guard.is_none();
            let kills: Vec<(Block, usize)> =
                definitions.iter().filter(ends).filter_map(|at| Some((graph.block_of(*at)?, *at))).collect();
            let in_block = |block: Block| kills[kills.partition_point(|(known, _)| *known < block)..].first();
            let is_exposed = |block: Block, at: usize| {
                in_block(block).is_none_or(|(killing, first)| *killing != block || *first >= at)
            };
            let uses = uses.of(register).iter().filter_map(|at| Some((graph.block_of(*at)?, *at)));
            let mut open: Vec<Block> =
                uses.filter(|(block, at)| is_exposed(*block, *at)).map(|(block, _)| block).collect();
            open.dedup();
            while let Some(block) = open.pop().filter(|_| pairs < MAX_PAIRS) {
                for before in &graph.block(block).predecessors {
                    if marked[before.index()].replace(register) == Some(register) {
                        continue;
                    }
                    live_out[before.index()].push(register);
                    pairs += 1;
                    if is_exposed(*before, usize::MAX) {
                        open.push(*before);
                    }
                }
            }
        }
        Self { function, graph, live_out }
    }

    /// The first instruction after which most is live, by the weight of registers, and what is live there.
    pub fn peak(&self, weight: &dyn Fn(Reg) -> i64) -> Option<(usize, Vec<Reg>)> {
        let mut alive = Alive::new(self.function, weight);
        let mut peak: Option<(i64, usize, usize)> = None;
        for block in 0..self.graph.blocks.len() {
            self.walk(block, &mut alive, &mut |at, alive| {
                if peak.is_none_or(|(most, first, _)| alive.weight > most || (alive.weight == most && at < first)) {
                    peak = Some((alive.weight, at, block));
                }
            });
        }
        let (_, at, block) = peak?;
        let mut live = Vec::new();
        self.walk(block, &mut alive, &mut |here, alive| {
            if here == at {
                live = alive.registers();
            }
        });
        Some((at, live))
    }

    /// Visits the points behind the instructions of a block, the last one first. The copies at its end are those for the
    /// blocks after it: for a moment a value is in several registers, which is one in the machine code.
    fn walk(&self, block: usize, alive: &mut Alive<'_>, visit: &mut dyn FnMut(usize, &Alive<'_>)) {
        let info = &self.graph.blocks[block];
        alive.clear();
        self.live_out[block].iter().for_each(|register| alive.add(*register));
        let mut is_end = true;
        for at in (info.start as usize..info.end as usize).rev() {
            let instruction = &self.function.instructions[at];
            // A result that nothing reads takes its register all the same.
            instruction.for_each_def(&mut |register| alive.add(register));
            is_end &= is_handing_over(instruction);
            if !is_end {
                visit(at, alive);
            }
            alive.pass(instruction);
        }
    }
}

/// Whether an instruction may stand at the end of a block, where copies are: those, steps of counters, and branches.
fn is_handing_over(instruction: &Instruction) -> bool {
    match instruction.opcode() {
        Opcode::Mov | Opcode::Setp | Opcode::Bra => true,
        Opcode::Add => matches!(instruction.form.ty(), Some(Type::S32 | Type::U32 | Type::S64 | Type::U64)),
        _ => false,
    }
}

/// By register, the instructions that write it.
pub fn definitions(function: &PtxFunction) -> Vec<Vec<usize>> {
    let mut definitions: Vec<Vec<usize>> = vec![Vec::new(); function.registers.len()];
    for (at, instruction) in function.instructions.iter().enumerate() {
        instruction.for_each_def(&mut |register| {
            if let Some(known) = definitions.get_mut(register.index()) {
                known.push(at);
            }
        });
    }
    definitions
}

/// The registers that are live at a point.
struct Alive<'a> {
    weigh: &'a dyn Fn(Reg) -> i64,
    is_defined: Vec<bool>,
    is_live: Vec<bool>,
    /// Those that were added; some may be gone.
    added: Vec<Reg>,
    weight: i64,
}

impl<'a> Alive<'a> {
    fn new(function: &PtxFunction, weigh: &'a dyn Fn(Reg) -> i64) -> Self {
        let is_defined: Vec<bool> = definitions(function).iter().map(|known| !known.is_empty()).collect();
        Self { weigh, is_live: vec![false; is_defined.len()], is_defined, added: Vec::new(), weight: 0 }
    }

    fn add(&mut self, register: Reg) {
        let is_defined = self.is_defined.get(register.index()).copied().unwrap_or(false);
        if is_defined && !std::mem::replace(&mut self.is_live[register.index()], true) {
            self.added.push(register);
            self.weight += (self.weigh)(register);
        }
    }

    fn remove(&mut self, register: Reg) {
        if self.is_live.get_mut(register.index()).is_some_and(std::mem::take) {
            self.weight -= (self.weigh)(register);
        }
    }

    /// Goes from behind an instruction to the point before it.
    fn pass(&mut self, instruction: &Instruction) {
        if instruction.guard.is_none() {
            instruction.for_each_def(&mut |register| self.remove(register));
        }
        instruction.for_each_use(&mut |register| self.add(register));
    }

    fn clear(&mut self) {
        for register in std::mem::take(&mut self.added) {
            self.is_live[register.index()] = false;
        }
        self.weight = 0;
    }

    fn registers(&self) -> Vec<Reg> {
        let mut live: Vec<Reg> = self.added.iter().copied().filter(|register| self.is_live[register.index()]).collect();
        live.sort_unstable_by_key(|register| register.0);
        live.dedup();
        live
    }
}

#[cfg(test)]
mod tests {
    use nv_code::PtxModule;
    use nv_code::dataflow::uses;

    use super::*;

    /// The instruction at the peak, and the names of what is live there. Each register has one weight.
    fn peak(body: &str) -> (usize, Vec<String>) {
        let module = PtxModule::parse(&format!(".visible .entry k()\n{{\n{body}\n\tret;\n}}\n")).unwrap();
        let function = &module.functions[0];
        let is_value = |register: Reg| i64::from(!function.register(register).name.starts_with("%p"));
        let (at, live) = Liveness::new(function, &uses(function)).peak(&is_value).unwrap();
        let live = live.into_iter().filter(|register| is_value(*register) > 0);
        (at, live.map(|register| function.register(register).name.to_string()).collect())
    }

    #[test]
    fn a_value_lives_to_its_last_use() {
        let straight = "mov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 1;\nadd.s32 %r3, %r1, 2;\nadd.s32 %r4, %r2, %r3;\n\
                        st.global.u32 [%rd1], %r4;";
        assert_eq!(peak(straight), (1, vec!["%r1".to_string(), "%r2".to_string()]));
    }

    #[test]
    fn a_value_from_before_a_loop_lives_through_it() {
        let (at, live) = peak(
            "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\n$L:\nadd.s32 %r3, %r1, %r2;\nst.global.u32 [%rd1], %r3;\n\
             add.s32 %r2, %r2, 1;\nsetp.lt.s32 %p1, %r2, 9;\n@%p1 bra $L;",
        );
        assert_eq!((at, live.join(" ").as_str()), (2, "%r1 %r2 %r3"));
    }

    #[test]
    fn an_accumulator_and_its_next_value_are_one() {
        // `%f1` is dead from the addition to the copy.
        let (_, live) = peak(
            "mov.f32 %f1, 0f00000000;\n$L:\nadd.f32 %f2, %f1, 0f3F800000;\nmul.f32 %f3, %f2, %f2;\n\
             st.global.f32 [%rd1], %f3;\nmov.f32 %f1, %f2;\n@%p1 bra $L;\nst.global.f32 [%rd1], %f1;",
        );
        assert_eq!(live.join(" "), "%f2 %f3");
    }

    #[test]
    fn copies_for_the_blocks_behind_are_one_value() {
        // `%f2` goes on in the loop, and behind it as `%f4`.
        let (at, live) = peak(
            "mov.f32 %f1, 0f00000000;\n$L:\nadd.f32 %f2, %f1, 0f3F800000;\nst.global.f32 [%rd1], %f2;\n\
             mov.f32 %f1, %f2;\nmov.f32 %f4, %f2;\n@%p1 bra $L;\nst.global.f32 [%rd1], %f4;",
        );
        assert_eq!((at, live.join(" ").as_str()), (1, "%f2"));
    }

    #[test]
    fn a_guarded_write_may_leave_the_value_from_before() {
        let body = |guard: &str| {
            format!(
                "mov.u32 %r1, 7;\nmov.u32 %r2, %tid.x;\nadd.s32 %r3, %r2, 1;\n{guard}mov.u32 %r1, %r3;\n\
                 st.global.u32 [%rd1], %r1;"
            )
        };
        assert_eq!(peak(&body("@%p1 ")).1.join(" "), "%r1 %r2");
        assert_eq!(peak(&body("")).1.join(" "), "%r1");
    }
}
