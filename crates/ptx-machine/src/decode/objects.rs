//! The objects of a frame: where each local variable begins and ends in the depot.
//!
//! Compilers put all local variables of a function into one array, the depot, and form the address of a variable by
//! adding a constant to the depot's address. So these constants are the starts of the variables. The address then
//! carries the number of its object in bits that are not used for the position ([`crate::memory::OBJECT_SHIFT`]): it
//! keeps it through arithmetic, casts, calls and memory, and each access can be held against the object that its
//! pointer was made for.

use std::collections::{BTreeSet, HashMap};

use ptx_syntax::{AddressBase, Function, Instruction, Modifier, Opcode, Operand, Reg, Space, Var};

use crate::memory::{MAX_OBJECTS, object_bits};

/// The objects of a function's local memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Objects {
    /// Start and end in the function's local memory. An object's number is its index plus one; 0 is none.
    pub ranges: Vec<(u64, u64)>,
    /// Registers that hold the address of a depot, and the depot's start.
    frames: HashMap<Reg, u64>,
    /// Numbers of the variables that are an object each.
    variables: HashMap<Var, usize>,
}

impl Objects {
    /// `offsets` are those of the function's variables.
    pub fn of(function: &Function, offsets: &[u64]) -> Self {
        let mut objects = Self::default();
        let single = single_definitions(function);
        let depots: Vec<(Var, u64)> = locals(function)
            .filter(|var| function.variable(*var).is_depot())
            .map(|var| (var, offsets[var.index()]))
            .collect();
        let start_of = |var: &Var| depots.iter().find(|(depot, _)| depot == var).map(|(_, start)| *start);
        for instruction in &function.instructions {
            let found = match (instruction.opcode(), &*instruction.operands) {
                (Opcode::Mov, [Operand::Reg(to), Operand::Variable(variable, 0)]) => Some((to, start_of(variable))),
                (Opcode::Cvta, [Operand::Reg(to), Operand::Reg(from)]) => Some((to, objects.frames.get(from).copied())),
                _ => None,
            };
            if let Some((to, Some(start))) = found
                && single.contains(to)
            {
                objects.frames.insert(*to, start);
            }
        }
        for (var, start) in &depots {
            let end = start + function.variable(*var).bytes;
            objects.divide(function, &single, *start, end);
        }
        for var in locals(function).filter(|var| start_of(var).is_none()) {
            let start = offsets[var.index()];
            objects.ranges.push((start, start + function.variable(var).bytes));
            objects.variables.insert(var, objects.ranges.len());
        }
        objects
    }

    /// Divides a depot at the constants that are added to its address.
    fn divide(&mut self, function: &Function, single: &BTreeSet<Reg>, start: u64, end: u64) {
        let mut starts = BTreeSet::from([start]);
        let mut pointers: HashMap<Reg, u64> = HashMap::new();
        for instruction in &function.instructions {
            let Some((to, from, offset)) = self.sum(instruction) else { continue };
            let at = self.frames[&from].wrapping_add(offset.cast_unsigned());
            if (start..end).contains(&at) {
                starts.insert(at);
                if single.contains(&to) {
                    pointers.insert(to, at);
                }
            }
        }
        // The address of an element may be formed like that of a variable: no access at a constant place leaves its
        // variable, so a start that such an access reaches over is none.
        for instruction in &function.instructions {
            let Some((first, last)) = constant_access(instruction, &pointers) else { continue };
            starts.retain(|at| !(first + 1..last).contains(at));
        }
        let ends = starts.iter().copied().skip(1).chain([end]);
        self.ranges.extend(starts.iter().copied().zip(ends));
    }

    /// An addition of a constant to the address of a depot: the sum, the address, the constant.
    fn sum(&self, instruction: &Instruction) -> Option<(Reg, Reg, i64)> {
        let is_wide = instruction.form.ty().is_some_and(|ty| ty.bits() == 64);
        match (instruction.opcode(), &*instruction.operands) {
            (Opcode::Add, [Operand::Reg(to), Operand::Reg(from), Operand::Imm(offset)]) if is_wide => {
                self.frames.contains_key(from).then_some((*to, *from, *offset))
            }
            _ => None,
        }
    }

    /// The constant of an addition that forms the address of an object, with the object's number in it.
    pub fn marked(&self, instruction: &Instruction) -> Option<u64> {
        let (_, from, offset) = self.sum(instruction)?;
        let at = self.frames[&from].wrapping_add(offset.cast_unsigned());
        let number = self.ranges.iter().position(|(start, end)| (*start..*end).contains(&at))? + 1;
        (number < MAX_OBJECTS).then(|| offset.cast_unsigned().wrapping_add(object_bits(number as u64)))
    }

    /// The bits of an address of this variable that say which object it is.
    pub fn bits_of(&self, variable: Var) -> u64 {
        self.variables.get(&variable).filter(|number| **number < MAX_OBJECTS).map_or(0, |it| object_bits(*it as u64))
    }
}

fn locals(function: &Function) -> impl Iterator<Item = Var> {
    let all = (0u32..).zip(&function.variables);
    all.filter(|(_, variable)| variable.space == Space::Local).map(|(index, _)| Var(index))
}

/// Registers that are written by one instruction.
fn single_definitions(function: &Function) -> BTreeSet<Reg> {
    let (mut once, mut again) = (BTreeSet::new(), BTreeSet::new());
    for register in function.instructions.iter().flat_map(Instruction::defs) {
        if !once.insert(register) {
            again.insert(register);
        }
    }
    once.difference(&again).copied().collect()
}

/// The start of the variable and the end of the access, for an access at a constant offset of a pointer.
fn constant_access(instruction: &Instruction, pointers: &HashMap<Reg, u64>) -> Option<(u64, u64)> {
    if !matches!(instruction.opcode(), Opcode::Ld | Opcode::St) {
        return None;
    }
    let address = instruction.address()?;
    let AddressBase::Reg(base) = &address.base else { return None };
    let start = *pointers.get(base)?;
    let count = [(Modifier::V2, 2), (Modifier::V4, 4), (Modifier::V8, 8)];
    let count = count.iter().find(|(modifier, _)| instruction.has(*modifier)).map_or(1, |(_, count)| *count);
    let bytes = u64::from(instruction.form.ty()?.bytes()) * count;
    let last = start.checked_add_signed(address.offset)?.saturating_add(bytes);
    Some((start, last))
}
