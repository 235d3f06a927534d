//! Classifies registers by use, to find out what kind of value a load into them reads.
//!
//! PTX since CUDA 12.9 mostly has untyped loads (`ld.global.b32`); the operations on the loaded value are typed.

use ptx_syntax::{AddressBase, Function, Modifier, Opcode, Operand, Reg, Space, Type};

use crate::memory::Class;

/// By register. Registers connected by moves and selects share a class.
pub(super) fn classes(function: &Function) -> Vec<Class> {
    let count = function.registers.len();
    let mut same: Vec<usize> = (0..count).collect();
    for instruction in &function.instructions {
        let operands = match instruction.opcode() {
            Opcode::Mov => &instruction.operands[..],
            Opcode::Selp => instruction.operands.get(..3).unwrap_or(&[]),
            _ => continue,
        };
        let registers: Vec<Reg> = operands.iter().filter_map(register).collect();
        for pair in registers.windows(2) {
            let (a, b) = (find(&mut same, pair[0].index()), find(&mut same, pair[1].index()));
            same[a] = b;
        }
    }
    let mut classes = vec![Class::Unknown; count];
    let mut note = |same: &mut Vec<usize>, register: Reg, class: Class| {
        let root = find(same, register.index());
        classes[root] = stronger(classes[root], class);
    };
    for instruction in &function.instructions {
        let opcode = instruction.opcode();
        for operand in &instruction.operands {
            if let Operand::Address(address) = operand
                && let AddressBase::Reg(register) = address.base
                && matches!(instruction.form.space(), Space::Global | Space::Generic | Space::Const)
            {
                note(&mut same, register, Class::Pointer);
            }
        }
        if matches!(opcode, Opcode::Ld | Opcode::St | Opcode::Mov | Opcode::Selp | Opcode::Atom | Opcode::Shfl) {
            continue;
        }
        let types = &instruction.form.types;
        for (index, operand) in instruction.operands.iter().enumerate() {
            let Some(register) = register(operand) else { continue };
            // In `cvt.f32.s32` the first type is that of the result.
            let ty = if index == 0 { types.first() } else { types.last() };
            let Some(ty) = ty else { continue };
            if ty.is_float() {
                note(&mut same, register, Class::Float(*ty));
            } else if opcode == Opcode::Cvta {
                note(&mut same, register, Class::Pointer);
            } else if ty.bits() > 1 && !matches!(ty, Type::B16 | Type::B32 | Type::B64) {
                note(&mut same, register, Class::Integer);
            }
        }
    }
    pointers_behind_sums(function, &mut same, &mut classes);
    (0..count).map(|register| classes[find(&mut same, register)]).collect()
}

/// Finds the pointer among the addends of an address: the one that comes from memory or a parameter.
fn pointers_behind_sums(function: &Function, same: &mut [usize], classes: &mut [Class]) {
    let mut is_loaded = vec![false; classes.len()];
    for instruction in &function.instructions {
        let is_wide = instruction.form.ty().is_some_and(|ty| ty.bits() == 64);
        if is_wide && (instruction.opcode() == Opcode::Ld || instruction.opcode() == Opcode::Cvta) {
            instruction.for_each_def(&mut |register| is_loaded[find(same, register.index())] = true);
        }
        let is_sum = matches!(instruction.opcode(), Opcode::Add | Opcode::Sub) && is_wide;
        if is_sum && instruction.uses().into_iter().any(|register| is_loaded[find(same, register.index())]) {
            instruction.for_each_def(&mut |register| is_loaded[find(same, register.index())] = true);
        }
    }
    // In reverse order, so that chains of sums, as compilers write them, are followed in one pass.
    for instruction in function.instructions.iter().rev() {
        let is_sum = matches!(instruction.opcode(), Opcode::Add | Opcode::Sub | Opcode::Cvta | Opcode::Mad);
        let Some(result) = instruction.operands.first().and_then(register).filter(|_| is_sum) else { continue };
        if classes[find(same, result.index())] != Class::Pointer || instruction.has(Modifier::Lo) {
            continue;
        }
        for part in instruction.operands[1..].iter().filter_map(register) {
            let root = find(same, part.index());
            let is_sum_itself = matches!(classes[root], Class::Unknown | Class::Integer) && is_loaded[root];
            if is_sum_itself {
                classes[root] = Class::Pointer;
            }
        }
    }
}

fn stronger(a: Class, b: Class) -> Class {
    let rank = |class| match class {
        Class::Pointer => 3,
        Class::Float(_) => 2,
        Class::Integer => 1,
        Class::Unknown => 0,
    };
    if rank(b) > rank(a) { b } else { a }
}

fn register(operand: &Operand) -> Option<Reg> {
    match operand {
        Operand::Reg(register) => Some(*register),
        _ => None,
    }
}

/// Union-find lookup with path halving.
fn find(same: &mut [usize], mut at: usize) -> usize {
    while same[at] != at {
        same[at] = same[same[at]];
        at = same[at];
    }
    at
}
