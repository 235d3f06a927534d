//! Values in registers: the source variable of a value.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::tree::{Declaration, DeclarationKind, Mention, Passed};
use cuda_syntax::{SyntaxTrees, types};
use nv_code::dataflow::{ByRegister, uses};
use nv_code::{AccessKind, PtxFunction, PtxModule};
use ptx_syntax::{AddressBase, Instruction, Opcode, Reg};

use crate::place::{Place, innermost, places};
use crate::symbolize::resolve::{Known, Wanted, resolve};

/// Limit on register copies followed from one value.
const MAX_COPIES: usize = 64;

/// The functions of `mma.h` that write a fragment, with the numbers of their arguments.
const WMMA_CALLS: [(&str, usize); 4] =
    [("mma_sync", 4), ("mma_sync", 5), ("load_matrix_sync", 3), ("load_matrix_sync", 4)];

/// Size of a machine register.
pub const REGISTER_BYTES: u64 = 4;

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
        if defining.opcode() == Opcode::Wmma {
            return self.fragment(instruction, module, trees);
        }
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
        let is_index = !is_pointer && self.is_index(instruction);
        // An accumulator that its own statement updates in every iteration also belongs to its variable.
        let is_carried = elsewhere.is_empty() && self.is_carried(instruction, &is_here);
        if (elsewhere.is_empty() && !is_carried) || is_part || is_pointer {
            return None;
        }
        // A variable out of scope holds no value: a later use of the value is not a use of an unrolled loop's counter. A use
        // in an inlined function is where that is called.
        let is_used_in_scope = |declaration: &Declaration, index: usize| {
            let Some(used) = self.statement(index, module, trees) else { return true };
            let is_in_scope = |at: &Place| at.tree == place.tree && declaration.is_in_scope(at.offset);
            used.place.tree != place.tree || is_in_scope(&used.place) || {
                let location = self.function.instructions[index].location;
                places(trees, module, self.function, location).iter().any(is_in_scope)
            }
        };
        let is_alive = |declaration: &Declaration| elsewhere.iter().all(|index| is_used_in_scope(declaration, *index));
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
            // A part of an address is no element of what its statement writes.
            .filter(|declaration| !is_index || declaration.kind == DeclarationKind::Scalar)
            .collect();
        targets.sort();
        targets.dedup();
        match targets.as_slice() {
            [only] => Some((place.clone(), (*only).clone())),
            [] if !is_index => self.pointee(instruction, module, trees),
            _ => None,
        }
    }

    /// Whether a result is computed with integers until it is a part of an address.
    fn is_index(&self, instruction: usize) -> bool {
        let is_step = |at: usize| {
            let opcode = self.function.instructions[at].opcode();
            matches!(
                opcode,
                Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Mad | Opcode::Shl | Opcode::Cvt | Opcode::Mov
            )
        };
        let mut seen = HashSet::from([instruction]);
        let mut open = vec![instruction];
        while let Some(at) = open.pop().filter(|_| seen.len() < MAX_COPIES) {
            let results = if is_step(at) { self.function.instructions[at].defs() } else { Default::default() };
            for register in results {
                for using in self.uses.of(register) {
                    if is_address(&self.function.instructions[*using], register) {
                        return true;
                    }
                    open.extend(seen.insert(*using).then_some(*using));
                }
            }
        }
        false
    }

    /// The fragment that an instruction for tensor cores writes: the first argument of the functions in `mma.h`.
    fn fragment(
        &self,
        instruction: usize,
        module: &PtxModule,
        trees: &SyntaxTrees<'_>,
    ) -> Option<(Place, Declaration)> {
        let statement = self.statement(instruction, module, trees)?;
        let tree = statement.place.tree(trees);
        let region = tree.region(statement.place.offset)?;
        let output = |count: usize| Passed { index: 0, count, has_object: Some(false) };
        let mut calls = WMMA_CALLS.iter().filter_map(|(name, count)| tree.argument(region, name, output(*count)));
        let argument = calls.next()?;
        let mut mentions = tree.mentions(region).to_vec().into_iter();
        let named = mentions.find(|mention| mention.range.start == argument.start)?;
        (named.declaration.kind != DeclarationKind::Alias).then(|| (statement.place.clone(), named.declaration))
    }

    /// The variable of the caller that an inlined function writes through a pointer or reference.
    fn pointee(&self, instruction: usize, module: &PtxModule, trees: &SyntaxTrees<'_>) -> Option<(Place, Declaration)> {
        let defining = self.function.instructions.get(instruction)?;
        let places = places(trees, module, self.function, defining.location);
        if places.len() < 2 {
            return None;
        }
        let fits_use = |mention: &Mention, _: &Place| mention.is_written || mention.is_passed;
        let wanted = Wanted { fits: &fits_use, is_indexed: false, kind: Some(AccessKind::Store) };
        // Answers of other questions are for other uses.
        let found = resolve(&places, trees, &wanted, &Known::default()).into_iter();
        let mut found: Vec<(Place, Declaration)> = found
            .filter(|found| found.level > 0 && !found.inner.is_empty())
            .map(|found| (found.place, found.mention.declaration))
            .filter(|(_, declaration)| declaration.kind.has_parts() && fits(declaration, defining))
            .collect();
        found.dedup();
        let [(place, declaration)] = found.as_slice() else { return None };
        Some((place.clone(), declaration.clone()))
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
}

fn is_address(instruction: &Instruction, register: Reg) -> bool {
    instruction.address().is_some_and(|address| address.base == AddressBase::Reg(register))
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
    }
}
