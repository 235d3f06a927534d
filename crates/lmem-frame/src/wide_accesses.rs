//! Machine instructions that stand for several instructions of the PTX.
//!
//! ptxas joins the stores of neighbours in the frame to one `STL.64` or `STL.128`, and the line of the PTX is that of one
//! of them. The other variable would seem to have no access.

use std::collections::{BTreeMap, HashMap};

use cuda_syntax::SyntaxTrees;
use nv_code::dataflow::Flow;
use nv_code::dataflow::flow::operands::parts;
use nv_code::{AccessKind, Instruction, LocalAccess, PtxModule};
use ptx_syntax::Opcode;

use crate::access::{Access, Address, ObjectKey, RawObject, key};
use crate::place::places;
use crate::stored_values::holder;

/// A machine instruction that moves more bytes than its instruction of the PTX.
pub struct WideAccess {
    access: LocalAccess,
    /// The place in the PTX: the function, the instruction, the variable, and the offset in it.
    at: ObjectKey,
    instruction: usize,
}

impl WideAccess {
    /// The access, if it is wider than the PTX's and goes to one constant place.
    pub fn new(access: &LocalAccess, flow: &Flow<'_>, instruction: usize) -> Option<Self> {
        let own = moved_bytes(&flow.function.instructions[instruction])?;
        let at = constant_place(flow, instruction).filter(|_| u64::from(access.instruction.bytes) > own)?;
        Some(Self { access: access.clone(), at, instruction })
    }

    /// The instruction of the PTX for each neighbour in reach that has no such access: of several, the nearest in the code.
    fn neighbours(&self, flow: &Flow<'_>, objects: &BTreeMap<ObjectKey, RawObject>) -> BTreeMap<ObjectKey, usize> {
        let opcode = match self.access.instruction.kind {
            AccessKind::Load => Opcode::Ld,
            AccessKind::Store => Opcode::St,
        };
        let is_alike = |other: &Instruction| other.is_local_access() && other.opcode() == opcode;
        let all = flow.function.instructions.iter().enumerate();
        let mut found: BTreeMap<ObjectKey, usize> = BTreeMap::new();
        for (index, _) in all.filter(|(_, other)| is_alike(other)) {
            let near = constant_place(flow, index).filter(|place| {
                let distance = place.offset.abs_diff(self.at.offset);
                place.variable == self.at.variable && distance < u64::from(self.access.instruction.bytes)
            });
            let Some(key) = near.and_then(|place| holder(objects, &place)) else { continue };
            let is_alike = |known: &Access| known.kind == self.access.instruction.kind;
            if objects.get(&key).is_some_and(|object| !object.accesses.iter().any(is_alike)) {
                let nearest = found.entry(key).or_insert(index);
                *nearest =
                    [*nearest, index].into_iter().min_by_key(|at| at.abs_diff(self.instruction)).unwrap_or(index);
            }
        }
        found
    }
}

/// Gives the neighbours of wide accesses their part of them.
pub fn share(
    wide: &[WideAccess],
    module: &PtxModule,
    flows: &HashMap<&str, Flow<'_>>,
    trees: &SyntaxTrees<'_>,
    objects: &mut BTreeMap<ObjectKey, RawObject>,
) {
    let mut shared: Vec<(ObjectKey, Access)> = Vec::new();
    for one in wide {
        let Some(flow) = flows.get(one.at.function.as_str()) else { continue };
        for (key, index) in one.neighbours(flow, objects) {
            let instruction = &flow.function.instructions[index];
            let places = places(trees, module, flow.function, instruction.location);
            let width = moved_bytes(instruction).and_then(|bytes| u8::try_from(bytes).ok());
            let access = Access {
                width: width.unwrap_or(one.access.instruction.bytes),
                loop_depth: one.access.loop_depth,
                loop_lines: one.access.loop_lines.clone(),
                span: places.first().and_then(|place| place.span(trees)),
                ..Access::new(one.access.instruction.kind, Address::Constant, places)
            };
            shared.push((key, access));
        }
    }
    for (key, access) in shared {
        if let Some(object) = objects.get_mut(&key) {
            object.accesses.push(access);
        }
    }
}

/// Bytes that an instruction of the PTX moves.
fn moved_bytes(instruction: &Instruction) -> Option<u64> {
    let value = match instruction.opcode() {
        Opcode::Ld => instruction.operands.first(),
        Opcode::St => instruction.operands.get(1),
        _ => None,
    };
    Some(instruction.element_bytes()? * parts(value?).len() as u64)
}

/// The variable that an instruction goes to, and its offset there, if both are constant.
fn constant_place(flow: &Flow<'_>, at: usize) -> Option<ObjectKey> {
    let pointer = flow.pointer(flow.function.instructions[at].address()?, at);
    let mut roots = pointer.roots.iter();
    let (only, None) = (roots.next()?, roots.next()) else { return None };
    let start = key(flow, only)?;
    Some(ObjectKey { offset: start.offset.checked_add_signed(pointer.offset?)?, ..start })
}
