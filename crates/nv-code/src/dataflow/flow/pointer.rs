//! Points-to analysis: follows an address back through sums and selects to the object that it was made from.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use ptx_syntax::{Address, AddressBase, Instruction, Modifier, Opcode, Operand, Reg, Type};

use super::Flow;
use crate::dataflow::divergence::Level;
use crate::dataflow::flow::operands::{constant, register};
use crate::dataflow::flow::provenance::Provenance;
use crate::dataflow::reaching::Value;

/// Limit on the length of a chain of definitions; beyond it the result is "unknown".
const MAX_DEPTH: usize = 2000;

/// Limit on the definitions visited for one address: branches that merge pointers multiply the paths.
const MAX_STEPS: u32 = 20_000;

/// Offset of the frame pointer itself, before a constant selects an object.
const BASE: u64 = u64::MAX;

/// An object that an address may point to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Root {
    /// A local variable: which one, and the offset in it where the object starts.
    Local { variable: usize, offset: u64 },
    /// Memory that the caller passed: the number of the parameter.
    Parameter(usize),
    /// Anything else.
    Unknown,
}

/// An address: the objects that it may point into, and what its offset from their start depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    pub roots: BTreeSet<Root>,
    pub index: Provenance,
    /// Bytes from the start of the object, if constant.
    pub offset: Option<i64>,
    /// One of several pointers, chosen at run time: to different objects, or to different elements of one.
    pub is_chosen: bool,
}

impl Pointer {
    /// A pointer to one root, at a constant offset if `offset` is known.
    fn to(root: Root, offset: Option<i64>) -> Self {
        Self { roots: BTreeSet::from([root]), index: Provenance::constant(), offset, is_chosen: false }
    }

    fn unknown() -> Self {
        Self { index: Provenance::unknown(), ..Self::to(Root::Unknown, None) }
    }

    /// The empty set of roots, into which other pointers are merged.
    fn nowhere() -> Self {
        Self { roots: BTreeSet::new(), index: Provenance::constant(), offset: None, is_chosen: false }
    }
}

/// The values on the path that is being followed, and the results that are final.
#[derive(Default)]
pub(super) struct KnownPointers {
    known: HashMap<Value, Rc<Pointer>>,
    /// Values on the path, with their position.
    on_way: HashMap<Value, usize>,
    /// The lowest position on the path that a cycle led back to: the current result depends on it.
    turned_back: Option<usize>,
    /// A limit was met: the result holds for this query only.
    is_cut: bool,
}

impl Flow<'_> {
    /// The pointer for the address `[%rd1+4]` of instruction `at`.
    pub fn pointer(&self, address: &Address, at: usize) -> Pointer {
        let pointer = match (&address.base, self.function.local_base(&address.base)) {
            (_, Some(variable)) => self.variable_pointer(variable, 0),
            (AddressBase::Reg(register), None) => return self.asked(*register, at, address.offset),
            (_, None) => Pointer::to(Root::Unknown, None),
        };
        self.settled(pointer, address.offset)
    }

    /// The pointer that a register holds at instruction `at`.
    pub fn register_pointer(&self, register: Reg, at: usize) -> Pointer {
        self.pointer(&Address { base: AddressBase::Reg(register), offset: 0 }, at)
    }

    fn asked(&self, register: Reg, at: usize, offset: i64) -> Pointer {
        self.steps_left.set(MAX_STEPS);
        self.known_pointers.borrow_mut().is_cut = false;
        self.settled(self.read_pointer(register, at), offset)
    }

    fn settled(&self, mut pointer: Pointer, offset: i64) -> Pointer {
        pointer.offset = pointer.offset.and_then(|known| known.checked_add(offset));
        pointer.index = pointer.index.settled();
        // An address taken directly from the depot names the object by its offset.
        pointer.roots = pointer.roots.into_iter().map(|root| settle(root, &mut pointer.offset)).collect();
        pointer
    }

    fn variable_pointer(&self, variable: usize, offset: i64) -> Pointer {
        // The result of `alloca` is one object, and so is a `.local` variable of hand-written PTX.
        let start = if self.function.local_variables[variable].is_depot() { BASE } else { 0 };
        Pointer::to(Root::Local { variable, offset: start }, Some(offset))
    }

    fn operand_pointer(&self, operand: Option<&Operand>, at: usize) -> Pointer {
        let Some(operand) = operand else { return Pointer::to(Root::Unknown, None) };
        if let Some((variable, offset)) = self.function.local_variable(operand) {
            return self.variable_pointer(variable, offset);
        }
        match register(operand) {
            Some(register) => self.read_pointer(register, at),
            None => Pointer::to(Root::Unknown, None),
        }
    }

    /// The pointer that instruction `at` reads from a register. Behind a loop that threads leave in different iterations,
    /// it differs even if it was the same in each iteration.
    fn read_pointer(&self, register: Reg, at: usize) -> Pointer {
        let value = self.reaching.at(register, at);
        let mut pointer = self.value_pointer(value);
        pointer.index.merge(Provenance::decision(self.on_leaving(value, at)));
        pointer
    }

    /// Follows a value back to its roots. A cycle that returns to a value on the path contributes nothing. Results in
    /// between depend on that path and are not cached; all others are.
    fn value_pointer(&self, value: Value) -> Pointer {
        let definitions = self.reaching.definitions(value);
        if definitions.is_empty() {
            return Pointer::unknown();
        }
        let before = {
            let mut known = self.known_pointers.borrow_mut();
            if let Some(found) = known.known.get(&value) {
                return (**found).clone();
            }
            self.steps_left.set(self.steps_left.get().saturating_sub(1));
            let place = known.on_way.len();
            if place > MAX_DEPTH || self.steps_left.get() == 0 {
                known.is_cut = true;
                return Pointer::unknown();
            }
            if let Some(first) = known.on_way.get(&value).copied() {
                // A back edge of a loop: contributes nothing but the changes made on the way round.
                known.turned_back = Some(known.turned_back.map_or(first, |known| known.min(first)));
                return Pointer::nowhere();
            }
            known.on_way.insert(value, place);
            known.turned_back.take()
        };
        let pointers: Vec<Pointer> = definitions.iter().map(|definition| self.defined_pointer(*definition)).collect();
        let pointer = self.merge_pointers(self.reaching.register(value), &definitions, pointers);
        let mut known = self.known_pointers.borrow_mut();
        known.on_way.remove(&value);
        let place = known.on_way.len();
        let turned_back = known.turned_back.filter(|first| *first < place);
        if turned_back.is_none() && !known.is_cut {
            known.known.insert(value, Rc::new(pointer.clone()));
        }
        known.turned_back = match (turned_back, before) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        pointer
    }

    /// Merges several definitions: a loop that advances the pointer, or branches that choose one.
    fn merge_pointers(&self, register: Reg, definitions: &[usize], pointers: Vec<Pointer>) -> Pointer {
        let several = pointers.len() > 1;
        let mut merged = Pointer::nowhere();
        // Offsets that are not known are not the same: a search that threads leave at different elements has them too.
        let is_same = |one: &Pointer, other: &Pointer| {
            one.offset.is_some() && one.offset == other.offset && one.roots == other.roots
        };
        let same = pointers.windows(2).all(|pair| is_same(&pair[0], &pair[1]));
        if same {
            merged.offset = pointers.first().and_then(|pointer| pointer.offset);
        }
        for pointer in pointers {
            merged.roots.extend(pointer.roots);
            merged.index.merge(pointer.index);
            merged.is_chosen |= pointer.is_chosen;
        }
        if several && !same {
            match self.induction(register, definitions) {
                Some(steps) => {
                    merged.index.induction = true;
                    merged.index.steps.extend(steps);
                    merged.index.merge(Provenance::decision(self.divergence_of_counter(register)));
                }
                None => {
                    merged.is_chosen = true;
                    merged.index.merge(Provenance::decision(self.divergence().of(register)));
                }
            }
        }
        merged
    }

    fn defined_pointer(&self, definition: usize) -> Pointer {
        let instruction = &self.function.instructions[definition];
        let operand = |index: usize| instruction.operands.get(index);
        match instruction.opcode() {
            Opcode::Mov | Opcode::Cvta | Opcode::Cvt => self.operand_pointer(operand(1), definition),
            Opcode::Add | Opcode::Sub | Opcode::Or => self.sum(definition, instruction),
            Opcode::Mad => {
                let mut pointer = self.operand_pointer(operand(3), definition);
                let factors: Vec<&Operand> = instruction.operands.iter().skip(1).take(2).collect();
                pointer.index.merge(self.product(&factors, definition));
                pointer.offset = None;
                pointer
            }
            Opcode::Selp => {
                let mut pointer = self.operand_pointer(operand(1), definition);
                let other = self.operand_pointer(operand(2), definition);
                pointer.roots.extend(other.roots);
                pointer.index.merge(other.index);
                let chosen = operand(3).and_then(register).map(|register| self.divergence().of(register));
                pointer.index.merge(Provenance::decision(chosen.unwrap_or(Level::Same)));
                pointer.offset = None;
                pointer.is_chosen = true;
                pointer
            }
            Opcode::Ld if instruction.has(Modifier::Param) => {
                let parameter = instruction.address().and_then(|address| match address.base {
                    AddressBase::Variable(variable) => self.function.parameter_number(variable),
                    _ => None,
                });
                Pointer::to(parameter.map_or(Root::Unknown, Root::Parameter), Some(0))
            }
            _ => Pointer::unknown(),
        }
    }

    fn sum(&self, at: usize, instruction: &Instruction) -> Pointer {
        let [_, left, right, ..] = &*instruction.operands else { return Pointer::to(Root::Unknown, None) };
        let is_right = self.leads_to_pointer(right) && !self.leads_to_pointer(left);
        let (base, distance) = if is_right { (right, left) } else { (left, right) };
        let mut pointer = self.operand_pointer(Some(base), at);
        let sign = if instruction.opcode() == Opcode::Sub { -1 } else { 1 };
        match constant(distance) {
            Some(constant) => {
                let distance = constant.checked_mul(sign);
                pointer.offset =
                    pointer.offset.zip(distance).and_then(|(offset, distance)| offset.checked_add(distance));
                // The first constant offset from the frame pointer is the start of the object.
                if pointer.roots.iter().any(|root| matches!(root, Root::Local { offset: BASE, .. }))
                    && self.is_frame_pointer(base)
                {
                    let offset = &mut pointer.offset;
                    pointer.roots = pointer.roots.into_iter().map(|root| settle(root, offset)).collect();
                }
            }
            None => {
                pointer.index.merge(self.sources(distance, at));
                pointer.offset = None;
            }
        }
        pointer
    }

    /// Whether an operand derives from the address of a local variable, or from a parameter that is an address.
    fn leads_to_pointer(&self, operand: &Operand) -> bool {
        let pointers = self.pointers.get_or_init(|| self.pointer_registers());
        self.function.local_variable(operand).is_some()
            || register(operand).is_some_and(|register| pointers[register.index()])
    }

    fn pointer_registers(&self) -> Vec<bool> {
        let all = &self.function.instructions;
        let is_first = |at: &usize| {
            let instruction = &all[*at];
            let is_wide = matches!(instruction.form.ty(), Some(Type::B64 | Type::U64 | Type::S64 | Type::F64));
            let is_parameter = instruction.opcode() == Opcode::Ld && instruction.has(Modifier::Param) && is_wide;
            is_parameter && !self.function.is_entry
                || addends(instruction).iter().any(|operand| self.function.local_variable(operand).is_some())
        };
        let is_addend = |at: usize, register: Reg| {
            addends(&all[at]).iter().any(|operand| super::operands::register(operand) == Some(register))
        };
        self.spread((0..all.len()).filter(is_first), is_addend)
    }

    /// Whether an operand is the frame pointer (`%SP`, `%SPL`) or names a variable.
    pub fn is_frame_pointer(&self, operand: &Operand) -> bool {
        register(operand).is_none_or(|register| self.function.register(register).name.starts_with("%SP"))
    }
}

/// The operands that may be the pointer in an instruction's result.
fn addends(instruction: &Instruction) -> &[Operand] {
    let first = match instruction.opcode() {
        Opcode::Mov | Opcode::Cvta | Opcode::Add | Opcode::Sub | Opcode::Selp | Opcode::Or => 1,
        Opcode::Mad => 3,
        _ => return &[],
    };
    instruction.operands.get(first..).unwrap_or(&[])
}

/// Selects an object. The frame pointer (`%SP`, `%SPL`) has none yet; a constant offset from it selects one.
fn settle(root: Root, offset: &mut Option<i64>) -> Root {
    match (root, *offset) {
        (Root::Local { variable, offset: BASE }, Some(distance)) => {
            *offset = Some(0);
            Root::Local { variable, offset: u64::try_from(distance).unwrap_or(0) }
        }
        (Root::Local { variable, offset: BASE }, None) => Root::Local { variable, offset: 0 },
        (root, _) => root,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{function, local, pointer_of_last};
    use super::*;
    use lmem_base::diagnostic::Uniformity;

    #[test]
    fn constant_offsets_stay_constant() {
        let function = function("add.u64 %rd1, %SPL, 64;\nadd.u64 %rd2, %rd1, 8;\nst.local.f32 [%rd2+4], %f1;");
        let pointer = pointer_of_last(&function);
        assert_eq!((pointer.roots, pointer.offset), (local(64), Some(12)));
        assert!(pointer.index.is_constant());
    }

    #[test]
    fn a_chosen_pointer_is_no_index() {
        let function = function(
            "add.u64 %rd1, %SPL, 0;\nadd.u64 %rd2, %SPL, 64;\nsetp.eq.s32 %p1, %n, 0;\nselp.b64 %rd3, %rd1, %rd2, %p1;\n\
             ld.local.u32 %r1, [%rd3];",
        );
        let pointer = pointer_of_last(&function);
        assert_eq!(pointer.roots.len(), 2);
        assert!(pointer.is_chosen && pointer.index.is_constant(), "{pointer:?}");
    }

    /// The uniformity of an access through a pointer that the instructions `choice` compute.
    fn chosen_by(choice: &str) -> Option<Uniformity> {
        let function = function(&format!(
            "mov.u32 %t, %tid.x;\nadd.u64 %rd1, %SPL, 0;\nadd.u64 %rd2, %SPL, 64;\n{choice}\nld.local.u32 %r1, [%rd3];"
        ));
        pointer_of_last(&function).index.uniformity()
    }

    #[test]
    fn a_chosen_pointer_is_as_uniform_as_what_chooses() {
        let select = |value: &str| format!("setp.eq.s32 %p1, {value}, 0;\nselp.b64 %rd3, %rd1, %rd2, %p1;");
        let branch = |value: &str| {
            format!("setp.eq.s32 %p1, {value}, 0;\nmov.u64 %rd3, %rd1;\n@%p1 bra $L1;\nmov.u64 %rd3, %rd2;\n$L1:")
        };
        for choice in [select as fn(&str) -> String, branch] {
            assert_eq!(chosen_by(&choice("%t")), Some(Uniformity::PerThread));
            assert_eq!(chosen_by(&choice("%n")), Some(Uniformity::Uniform));
        }
    }

    #[test]
    fn a_stepped_pointer_differs_behind_a_loop_that_threads_leave_apart() {
        let uniformity = |end: &str| {
            let function = function(&format!(
                "mov.u32 %t, %tid.x;\nadd.u64 %rd1, %SPL, 0;\nmov.u32 %i, 0;\n$L1:\nadd.s64 %rd1, %rd1, 4;\n\
                 add.s32 %i, %i, 1;\nsetp.lt.s32 %p1, %i, {end};\n@%p1 bra $L1;\nld.local.u32 %r1, [%rd1];"
            ));
            pointer_of_last(&function).index.uniformity()
        };
        assert_eq!((uniformity("%n"), uniformity("%t")), (Some(Uniformity::Uniform), Some(Uniformity::PerThread)));
    }

    #[test]
    fn cycles_without_an_end_do_not_hang() {
        let function = function("mov.u64 %a, %b;\nmov.u64 %b, %a;\nld.local.u32 %r1, [%a];");
        assert!(!pointer_of_last(&function).roots.contains(&Root::Local { variable: 0, offset: 0 }));
    }
}
