//! What holds registers where the machine code needs most: variables, and loads that the compiler moved out of a loop. The machine
//! code tells which instructions computed what is live there, its line table of which instruction of the PTX each is a part.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use cuda_syntax::tree::{Declaration, DeclarationKind, Mention};
use cuda_syntax::{SyntaxTree, SyntaxTrees, types};
use lmem_base::source::Span;
use nv_code::dataflow::Flow;
use nv_code::{PtxFunction, RegisterPressure, UnitFacts};
use ptx_syntax::{AddressBase, Block, Graph, Loop, Loops, Modifier, Opcode, Operand, Reg};

use crate::live_values::{REGISTER_BYTES, Values};
use crate::place::{Place, innermost, places_of_lines, ptx_instruction, ptx_places};

/// The peak of register pressure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peak {
    /// The statement.
    pub span: Option<Span>,
    /// Registers that are live there.
    pub registers: u64,
    /// Registers that the values in spill slots would need.
    pub spilled: u64,
    /// The largest holder first; values that belong to no variable are left out.
    pub holders: Vec<Holder>,
}

/// Values of one origin that are live at the peak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The variable; for loads the array or pointer that they read, if it is known.
    pub name: Option<String>,
    /// Machine registers that the values need.
    pub registers: u64,
    pub values: u64,
    /// The first statement that computes one of the values; `None` if it is none before the peak.
    pub since: Option<Span>,
    /// For loads that stand in a loop of the source and before it in the code: the header of the loop.
    pub hoisted_from: Option<Span>,
    /// The values are addresses in what the name points to.
    pub are_addresses: bool,
}

/// What values are told apart by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    name: Option<String>,
    /// Where the name is declared.
    declared: Option<Span>,
    /// The header of the loop of loads.
    hoisted_from: Option<Span>,
    are_addresses: bool,
}

/// Machine registers of the largest scalar.
const SCALAR_REGISTERS: u64 = 2;

/// Limit on instructions that a value is copied from.
const MAX_COPIES: usize = 64;

/// By register, the instructions that write it.
fn definitions(function: &PtxFunction) -> Vec<Vec<usize>> {
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

/// The peak of a kernel, by what computed the values that are live there.
pub fn peak(pressure: &RegisterPressure, unit: &UnitFacts, trees: &SyntaxTrees<'_>) -> Peak {
    let module = &unit.ptx;
    let mut functions: HashMap<&str, Code<'_>> = HashMap::new();
    let mut holders: BTreeMap<Key, Holder> = BTreeMap::new();
    let mut rooms: BTreeMap<Key, u64> = BTreeMap::new();
    for value in &pressure.values {
        let instructions = value.definitions.iter().filter_map(|definition| ptx_instruction(definition.ptx_line, unit));
        let instructions: Vec<(&PtxFunction, usize)> = instructions.collect();
        let Some((function, _)) = instructions.first() else { continue };
        let code = functions.entry(&function.name).or_insert_with(|| Code::new(function));
        let is_here = |(other, _): &&(&PtxFunction, usize)| other.name == function.name;
        let own: BTreeSet<usize> = instructions.iter().filter(is_here).flat_map(|(_, at)| code.computed(*at)).collect();
        let own: Vec<usize> = own.into_iter().collect();
        let place_of = |at: usize| innermost(trees, module, function, function.instructions.get(at)?.location);
        let key = |name, declared, hoisted_from| Key { name, declared, hoisted_from, are_addresses: false };
        let hoisted = match own.as_slice() {
            [only] => code.hoisted(*only, &place_of, trees).map(|(name, header)| (key(name, None, Some(header)), None)),
            _ => None,
        };
        let variable = || {
            own.iter().find_map(|at| {
                let (place, declaration) = code.values.variable(*at, module, trees)?;
                let span = place.tree(trees).span(declaration.range.0..declaration.range.1);
                let room = room(&declaration, place.tree(trees));
                Some((key(Some(declaration.name), span, None), room))
            })
        };
        let pointer = || {
            let name = code.address(*own.first()?, &place_of, trees)?;
            Some((Key { are_addresses: true, ..key(Some(name), None, None) }, None))
        };
        let Some((key, room)) = hoisted.or_else(variable).or_else(pointer) else { continue };
        rooms.extend(room.map(|room| (key.clone(), room)));
        let since = own.first().and_then(|at| place_of(*at)?.span(trees));
        let holder = holders.entry(key.clone()).or_insert(Holder {
            name: key.name,
            registers: 0,
            values: 0,
            since: None,
            hoisted_from: key.hoisted_from,
            are_addresses: key.are_addresses,
        });
        holder.registers += u64::from(value.registers);
        holder.values += 1;
        // Live values are visited in the order of the machine code, not of the text.
        let is_earlier = |known: &Span, new: &Span| known.file.path == new.file.path && new.start < known.start;
        match (&holder.since, since) {
            (Some(known), Some(new)) if is_earlier(known, &new) => holder.since = Some(new),
            (None, new) => holder.since = new,
            _ => {}
        }
    }
    let span = match ptx_places(pressure.at.ptx_line, unit, trees) {
        Some(place) => place.span(trees),
        None => places_of_lines(trees, &pressure.at.source).first().and_then(|place| place.span(trees)),
    };
    let is_later =
        |since: &Span| span.as_ref().is_some_and(|peak| peak.file.path == since.file.path && peak.start <= since.start);
    for (key, room) in rooms {
        let Some(holder) = holders.get_mut(&key).filter(|holder| holder.registers > room) else { continue };
        // Parts of its statement that others share. Of an array, they may be copies that belong to another one by now.
        match room > SCALAR_REGISTERS {
            true => holder.registers = room,
            false => holder.name = None,
        }
    }
    let mut holders: Vec<Holder> = holders.into_values().collect();
    for holder in &mut holders {
        // A value from the round before of a loop.
        holder.since = holder.since.take().filter(|since| !is_later(since));
    }
    // Without a name and a place there is nothing to tell.
    holders.retain(|holder| holder.name.is_some() || holder.since.is_some() || holder.hoisted_from.is_some());
    holders.sort_by_key(|holder| std::cmp::Reverse(holder.registers));
    Peak { span, registers: u64::from(pressure.registers), spilled: u64::from(pressure.spilled), holders }
}

/// The machine registers that one instance of a variable takes; `None` if that is not known, or if an unrolled loop may
/// have several.
fn room(declaration: &Declaration, tree: &SyntaxTree) -> Option<u64> {
    let bytes = match declaration.kind {
        DeclarationKind::Scalar => types::size_of(&declaration.type_text),
        DeclarationKind::Array => declaration.bytes,
        DeclarationKind::Aggregate | DeclarationKind::Alias => None,
    };
    let is_one = tree.loops_around(declaration.range.0).is_empty();
    bytes.filter(|_| is_one).map(|bytes| bytes.div_ceil(REGISTER_BYTES))
}

struct Code<'a> {
    function: &'a PtxFunction,
    values: Values<'a>,
    definitions: Vec<Vec<usize>>,
    graph: Graph,
    loops: Loops,
    flow: OnceCell<Flow<'a>>,
}

impl<'a> Code<'a> {
    fn new(function: &'a PtxFunction) -> Self {
        let graph = Graph::new(function);
        Self {
            function,
            values: Values::new(function),
            definitions: definitions(function),
            loops: Loops::new(&graph, &graph.dominators()),
            graph,
            flow: OnceCell::new(),
        }
    }

    /// The instructions that compute the value of one: of a copy, those of the register that it copies. A constant comes
    /// from nowhere, and the line of a copy is that of the code before it.
    fn computed(&self, at: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::from([at]);
        let mut open = vec![at];
        while let Some(at) = open.pop().filter(|_| seen.len() < MAX_COPIES) {
            let instruction = &self.function.instructions[at];
            let is_one = matches!(instruction.operands.first(), Some(Operand::Reg(_)));
            match (instruction.opcode(), instruction.operands.get(1)) {
                (Opcode::Mov, Some(Operand::Reg(from))) if is_one => {
                    let from = self.definitions.get(from.index()).into_iter().flatten();
                    open.extend(from.filter(|at| seen.insert(**at)));
                }
                (Opcode::Mov, Some(Operand::Imm(_) | Operand::Single(_) | Operand::Double(_))) => {}
                _ => found.push(at),
            }
        }
        found.sort_unstable();
        found
    }

    /// For a load whose statement is in a source loop and whose code is before that loop: what it reads, and the
    /// header of the loop.
    fn hoisted(
        &self,
        at: usize,
        place_of: &dyn Fn(usize) -> Option<Place>,
        trees: &SyntaxTrees<'_>,
    ) -> Option<(Option<String>, Span)> {
        let instruction = &self.function.instructions[at];
        let is_load = instruction.opcode() == Opcode::Ld && !instruction.has(Modifier::Param);
        let place = place_of(at).filter(|_| is_load)?;
        let tree = place.tree(trees);
        let around = tree.loops_around(place.offset);
        let block = self.graph.block_of(at)?;
        let header_of = |id: Loop| {
            let latches = self.loops.all[id.index()].latches.iter();
            let mut ends = latches.filter_map(|latch| place_of(self.graph.block(*latch).end as usize - 1));
            ends.find_map(|end| {
                let is_header = |range: &std::ops::Range<usize>| {
                    (tree.line_of(range.start)..=tree.line_of(range.end)).contains(&(end.line as usize))
                };
                let own = around.iter().find(|found| end.tree == place.tree && is_header(&found.range))?;
                tree.span(own.range.clone())
            })
        };
        let results = instruction.defs();
        let uses = results.iter().flat_map(|register| self.values.uses_of_register(*register));
        let uses = uses.filter_map(|at| self.graph.block_of(*at));
        let header = uses.flat_map(|used| self.left(block, used)).find_map(header_of)?;
        let base = match instruction.address().map(|address| &address.base) {
            Some(AddressBase::Reg(base)) => Some(*base),
            _ => None,
        };
        Some((self.pointer(base, &place, tree), header))
    }

    /// What a value that is used as an address points to: the pointer of its statement that it may derive from.
    fn address(&self, at: usize, place_of: &dyn Fn(usize) -> Option<Place>, trees: &SyntaxTrees<'_>) -> Option<String> {
        let results = self.function.instructions[at].defs();
        let is_base = |register: &&Reg| {
            let uses = self.values.uses_of_register(**register).iter();
            uses.filter_map(|at| self.function.instructions[*at].address())
                .any(|address| address.base == AddressBase::Reg(**register))
        };
        let register = results.iter().find(is_base)?;
        let place = place_of(at)?;
        self.pointer(Some(*register), &place, place.tree(trees))
    }

    /// The only pointer that a statement reads and a register may derive from.
    fn pointer(&self, register: Option<Reg>, place: &Place, tree: &SyntaxTree) -> Option<String> {
        let region = tree.region(place.offset)?;
        let is_read = |mention: &&Mention| {
            let is_pointer = mention.declaration.kind == DeclarationKind::Alias;
            mention.is_read && is_pointer && self.may_derive(register, &mention.declaration.name, place.offset, tree)
        };
        let mut names: Vec<String> =
            tree.mentions(region).iter().filter(is_read).map(|mention| mention.declaration.name.clone()).collect();
        names.sort();
        names.dedup();
        let [only] = names.as_slice() else { return None };
        Some(only.clone())
    }

    /// Whether a register may derive from a kernel's parameter; also if the name is none.
    fn may_derive(&self, register: Option<Reg>, name: &str, offset: usize, tree: &SyntaxTree) -> bool {
        let Some(register) = register else { return true };
        let parameters = tree.parameters_around(offset).unwrap_or_default();
        let number = parameters.iter().position(|parameter| parameter == name);
        let flow = self.flow.get_or_init(|| Flow::new(self.function));
        number.is_none_or(|number| number >= 64 || flow.parameters_of(register) >> number & 1 == 1)
    }

    /// The loops around a use that do not contain the definition.
    fn left(&self, definition: Block, used: Block) -> Vec<Loop> {
        let around = self.loops.around(used).map(|(id, _)| id);
        around.filter(|id| !self.loops.contains(*id, definition)).collect()
    }
}

#[cfg(test)]
mod tests {
    use cuda_syntax::Example;
    use nv_code::PtxModule;

    use super::*;

    #[test]
    fn a_variable_has_the_room_of_its_type_unless_a_loop_repeats_it() {
        let text = "__global__ void k(float *out, int n) {\n  double sum = 0; float row[6];\n\
                    for (int k = 0; k < n; ++k) { float part = out[k]; sum += part * row[0]; }\n}\n";
        let example = Example::new(text);
        let trees = example.trees();
        let tree = trees.get(Example::NAME).unwrap();
        let room_of = |name: &str| {
            let at = text.find(&format!("{name} ")).or_else(|| text.find(&format!("{name}["))).unwrap();
            room(&tree.declaration_of(&(at..at + name.len())).unwrap(), tree)
        };
        assert_eq!((room_of("sum"), room_of("row"), room_of("part")), (Some(2), Some(6), None));
    }

    #[test]
    fn copies_and_constants_compute_nothing() {
        let module = PtxModule::parse(
            ".visible .entry k()\n{\nmov.f32 %f1, 0f00000000;\n$L:\nadd.f32 %f2, %f1, %f3;\nmov.f32 %f1, %f2;\n\
             @%p1 bra $L;\nst.global.f32 [%rd1], %f1;\nret;\n}\n",
        )
        .unwrap();
        let function = &module.functions[0];
        let code = Code::new(function);
        let computed: Vec<Vec<usize>> = (0..3).map(|at| code.computed(at)).collect();
        assert_eq!(computed, [vec![], vec![1], vec![1]]);
    }
}
