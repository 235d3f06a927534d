//! Live values in registers: the source variable of a value, and the peak of register pressure.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::tree::{Declaration, DeclarationKind, Mention};
use cuda_syntax::{SyntaxTrees, types};
use nv_code::dataflow::{ByRegister, uses};
use nv_code::{PtxFunction, PtxModule};
use ptx_syntax::{AddressBase, Graph, Instruction, Loop, Loops, Opcode, Reg, Type};

use crate::place::{Place, innermost};

/// Limit on register copies followed from one value.
const MAX_COPIES: usize = 64;

/// Size of a machine register.
const REGISTER_BYTES: u64 = 4;

/// Uses of the registers of a function.
pub struct Values<'a> {
    function: &'a PtxFunction,
    /// Instructions that read each register.
    uses: ByRegister,
    /// By the number of the location, of which many instructions have the same.
    statements: RefCell<HashMap<u32, Option<Rc<Statement>>>>,
}

/// The innermost statement in the user's files at a location.
struct Statement {
    place: Place,
    region: Option<Range<usize>>,
}

impl<'a> Values<'a> {
    pub fn new(function: &'a PtxFunction) -> Self {
        Self { function, uses: uses(function), statements: RefCell::default() }
    }

    /// The variable assigned by an instruction. A value belongs to a variable only if other statements use it;
    /// otherwise it is a subexpression.
    pub fn variable(
        &self,
        instruction: usize,
        module: &PtxModule,
        trees: &SyntaxTrees<'_>,
    ) -> Option<(Place, Declaration)> {
        let defining = self.function.instructions.get(instruction)?;
        let statement = self.statement(instruction, module, trees)?;
        let place = &statement.place;
        let region = statement.region.as_ref()?;
        let uses = self.uses_of(instruction);
        let is_here = |index: &usize| {
            self.statement(*index, module, trees)
                .is_none_or(|other| other.place.tree == place.tree && other.region.as_ref() == Some(region))
        };
        let (here, elsewhere): (Vec<usize>, Vec<usize>) = uses.into_iter().partition(is_here);
        // A load used in its own statement may be a subexpression that other statements share.
        let is_part = defining.opcode() == Opcode::Ld && !here.is_empty();
        let all = || here.iter().chain(&elsewhere).map(|index| &self.function.instructions[*index]);
        let results = defining.defs();
        let is_pointer = all().any(|using| results.iter().any(|register| is_address(using, *register)));
        // An accumulator that its own statement updates in every iteration also belongs to its variable.
        let is_carried = elsewhere.is_empty() && self.is_carried(instruction, &is_here);
        if (elsewhere.is_empty() && !is_carried) || is_part || is_pointer {
            return None;
        }
        // A variable out of scope holds no value: a later use of the value is not a use of an unrolled loop's counter.
        let is_alive = |declaration: &Declaration| {
            elsewhere
                .iter()
                .filter_map(|index| self.statement(*index, module, trees))
                .all(|used| used.place.tree != place.tree || declaration.is_in_scope(used.place.offset))
        };
        let regions = place.tree(trees).regions(place.offset).into_iter();
        let mentions: Vec<Mention> = regions.flat_map(|region| place.tree(trees).mentions(region).to_vec()).collect();
        let is_read = |declaration: &Declaration| {
            mentions.iter().any(|mention| mention.is_read && mention.declaration == *declaration)
        };
        let mut targets: Vec<&Declaration> = mentions
            .iter()
            .filter(|mention| mention.is_written && !mention.is_passed)
            .filter(|mention| !is_carried || is_read(&mention.declaration))
            .map(|mention| &mention.declaration)
            .filter(|declaration| declaration.kind != DeclarationKind::Alias)
            .filter(|declaration| fits(declaration, defining) && is_alive(declaration))
            .collect();
        targets.sort();
        targets.dedup();
        let [only] = targets.as_slice() else { return None };
        let declaration = (*only).clone();
        Some((place.clone(), declaration))
    }

    fn statement(&self, instruction: usize, module: &PtxModule, trees: &SyntaxTrees<'_>) -> Option<Rc<Statement>> {
        let location = self.function.instructions.get(instruction)?.location?;
        if let Some(known) = self.statements.borrow().get(&location) {
            return known.clone();
        }
        let place = innermost(trees, module, self.function, Some(location));
        let statement = place.map(|place| {
            let region = place.tree(trees).region(place.offset).map(|region| region.byte_range());
            Rc::new(Statement { place, region })
        });
        self.statements.borrow_mut().insert(location, statement.clone());
        statement
    }

    /// Whether the result of an instruction is loop-carried back to it by instructions of one statement only.
    fn is_carried(&self, instruction: usize, is_here: &dyn Fn(&usize) -> bool) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![instruction];
        while let Some(at) = open.pop() {
            let registers = self.function.instructions[at].defs();
            for using in registers.iter().flat_map(|register| self.uses.of(*register)) {
                if *using == instruction {
                    return true;
                }
                let is_copy = self.function.instructions[*using].opcode() == Opcode::Mov;
                if (is_copy || is_here(using)) && seen.insert(*using) {
                    open.push(*using);
                }
            }
        }
        false
    }

    /// Instructions that use the result of an instruction, through copies.
    fn uses_of(&self, instruction: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut seen = HashSet::from([instruction]);
        let mut open = vec![instruction];
        while let Some(at) = open.pop() {
            for register in self.function.instructions[at].defs() {
                for index in self.uses.of(register) {
                    if !seen.insert(*index) {
                        continue;
                    }
                    match self.function.instructions[*index].opcode() {
                        Opcode::Mov if seen.len() < MAX_COPIES => open.push(*index),
                        _ => found.push(*index),
                    }
                }
            }
        }
        found
    }

    /// The instructions that read a register.
    pub fn uses_of_register(&self, register: Reg) -> &[usize] {
        self.uses.of(register)
    }

    /// The instruction at the peak of register pressure, and the registers that are live there, with the machine
    /// registers that they need. The machine code is scheduled differently, so both are approximate.
    pub fn live_at_peak(&self) -> Option<(usize, Vec<(Reg, i64)>)> {
        let lifetimes = self.lifetimes();
        let peak = self.peak(&lifetimes)?;
        let is_live =
            |lifetime: &Option<(usize, usize)>| lifetime.is_some_and(|(start, end)| (start..end).contains(&peak));
        let live = (0..).map(Reg).zip(&lifetimes).filter(|(_, lifetime)| is_live(lifetime));
        let live = live.map(|(register, _)| (register, self.machine_registers(register)));
        Some((peak, live.filter(|(_, weight)| *weight > 0).collect()))
    }

    /// The instruction at the peak of register pressure.
    fn peak(&self, lifetimes: &[Option<(usize, usize)>]) -> Option<usize> {
        let mut changes = vec![0i64; self.function.instructions.len() + 1];
        for (register, lifetime) in (0..).map(Reg).zip(lifetimes) {
            let Some((start, end)) = *lifetime else { continue };
            let weight = self.machine_registers(register);
            changes[start] += weight;
            changes[end] -= weight;
        }
        let mut alive = 0;
        let mut peak = None;
        for (index, change) in changes.iter().take(self.function.instructions.len()).enumerate() {
            alive += change;
            if peak.is_none_or(|(most, _)| alive > most) {
                peak = Some((alive, index));
            }
        }
        peak.map(|(_, index)| index)
    }

    /// The live range of each register, from the first definition to the last use. A value defined before a loop and
    /// used in it is live until the loop ends.
    fn lifetimes(&self) -> Vec<Option<(usize, usize)>> {
        let mut lifetimes: Vec<Option<(usize, usize)>> = vec![None; self.function.registers.len()];
        for (index, instruction) in self.function.instructions.iter().enumerate() {
            instruction.for_each_def(&mut |register| {
                lifetimes[register.index()].get_or_insert((index, index)).1 = index;
            });
        }
        let graph = Graph::new(self.function);
        let loops = Loops::new(&graph, &graph.dominators());
        let ranges = ranges(&graph, &loops);
        for (register, lifetime) in (0..).map(Reg).zip(&mut lifetimes) {
            let Some((start, end)) = lifetime else { continue };
            for at in self.uses.of(register) {
                let block = graph.block_of(*at);
                let around = block.into_iter().flat_map(|block| loops.around(block));
                // Outer loops begin earlier.
                let around = around.map(|(id, _)| ranges[id.index()]).take_while(|(first, _)| *start < *first);
                *end = around.map(|(_, last)| last).chain([*end, *at]).max().unwrap_or(*end);
            }
        }
        lifetimes
    }

    /// Number of machine registers for a PTX register, by type.
    fn machine_registers(&self, register: Reg) -> i64 {
        let register = self.function.register(register);
        match register.ty {
            Some(Type::Pred) => 0,
            Some(ty) => i64::from(ty.bytes()).div_euclid(4).max(1),
            None => registers_of(&register.name),
        }
    }
}

/// First and last instruction of each loop.
fn ranges(graph: &Graph, loops: &Loops) -> Vec<(usize, usize)> {
    let last_of = |id: Loop| {
        let latches = loops.all[id.index()].latches.iter();
        latches.map(|latch| graph.block(*latch).end as usize - 1).max().unwrap_or(0)
    };
    let header = |id: Loop| graph.block(loops.all[id.index()].header).start as usize;
    (0..).map(Loop).take(loops.all.len()).map(|id| (header(id), last_of(id))).collect()
}

fn is_address(instruction: &Instruction, register: Reg) -> bool {
    instruction.address().is_some_and(|address| address.base == AddressBase::Reg(register))
}

/// Number of machine registers for an undeclared PTX register, by its name.
fn registers_of(register: &str) -> i64 {
    match register.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "%p" => 0,
        "%rd" | "%fd" | "%d" => 2,
        "%rq" => 4,
        _ => 1,
    }
}

/// Whether an instruction's result can be the variable or one of its elements.
fn fits(declaration: &Declaration, instruction: &Instruction) -> bool {
    let Some(result) = instruction.form.text.rsplit('.').find(|part| type_bytes(part).is_some()) else { return false };
    let element = declaration.type_text.split('[').next().unwrap_or("").trim();
    let Some(expected) = types::size_of(element).filter(|_| types::is_scalar(element)) else { return true };
    let bytes = type_bytes(result).unwrap_or(0);
    let is_float = ["float", "double", "half", "bfloat"].iter().any(|name| element.contains(name));
    let other = if is_float { ['s', 'u'] } else { ['f', 'f'] };
    // Short integers and half-precision values are computed in full registers.
    let has_size = bytes == expected || (expected < REGISTER_BYTES && bytes <= REGISTER_BYTES);
    has_size && !result.starts_with(other)
}

/// `4` for `f32`.
fn type_bytes(part: &str) -> Option<u64> {
    if part.ends_with("x2") {
        return Some(REGISTER_BYTES);
    }
    let bits = part.strip_prefix(['f', 's', 'u', 'b'])?;
    bits.strip_prefix('f')
        .unwrap_or(bits)
        .parse::<u64>()
        .ok()
        .filter(|bits| matches!(bits, 8 | 16 | 32 | 64))
        .map(|bits| bits / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(body: &str) -> PtxModule {
        PtxModule::parse(&format!(".visible .entry k()\n{{\n{body}\n\tret;\n}}\n")).unwrap()
    }

    #[test]
    fn the_peak_is_where_most_is_alive() {
        let module = module(
            "mov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 1;\nadd.s32 %r3, %r1, 2;\nadd.s32 %r4, %r2, %r3;\n\
             st.global.u32 [%rd1], %r4;",
        );
        let function = &module.functions[0];
        let (at, live) = Values::new(function).live_at_peak().unwrap();
        let names: Vec<&str> = live.iter().map(|(register, _)| &*function.register(*register).name).collect();
        assert_eq!((at, names), (1, vec!["%r1", "%r2"]));
    }

    #[test]
    fn values_from_before_a_loop_live_through_it() {
        let module = module(
            "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\n$L:\nadd.s32 %r3, %r1, %r2;\nst.global.u32 [%rd1], %r3;\n\
             add.s32 %r2, %r2, 1;\nsetp.lt.s32 %p1, %r2, 9;\n@%p1 bra $L;",
        );
        let values = Values::new(&module.functions[0]);
        let lifetime = |name: &str| values.lifetimes()[values.function.register_named(name).unwrap().index()];
        assert_eq!(lifetime("%r1"), Some((0, 6)));
        assert_eq!(lifetime("%r3"), Some((2, 3)));
    }

    #[test]
    fn sums_come_round_to_themselves() {
        let body = |sum: &str| {
            format!(
                "mov.f32 %f1, 0f00000000;\n$L:\nadd.f32 %f2, %f3, %f4;\nadd.f32 %f5, {sum}, %f2;\nmov.f32 %f1, %f5;\n\
                 @%p1 bra $L;\nst.global.f32 [%rd1], %f1;"
            )
        };
        let is_carried = |sum: &str, instruction: usize| {
            let module = module(&body(sum));
            Values::new(&module.functions[0]).is_carried(instruction, &|_| true)
        };
        assert_eq!((is_carried("%f1", 2), is_carried("%f1", 1), is_carried("%f6", 2)), (true, false, false));
    }

    #[test]
    fn results_fit_variables_of_their_size() {
        assert_eq!((type_bytes("f32"), type_bytes("bf16x2"), type_bytes("rn")), (Some(4), Some(4), None));
        assert_eq!((registers_of("%rd12"), registers_of("%p1"), registers_of("%f3")), (2, 0, 1));
    }
}
