//! Operands of PTX: their parts, and constants.

use ptx_syntax::{Address, AddressBase, Operand, Reg};

/// Calls `visit` with an operand, or with each part of a vector, a list or a pair.
pub fn for_each_part<'o>(operand: &'o Operand, visit: &mut dyn FnMut(&'o Operand)) {
    match operand {
        Operand::Vector(parts) | Operand::List(parts) => parts.iter().for_each(|part| for_each_part(part, visit)),
        Operand::Pair(pair) => {
            for_each_part(&pair.0, visit);
            for_each_part(&pair.1, visit);
        }
        _ => visit(operand),
    }
}

/// An operand, or the parts of a vector.
pub fn parts(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Vector(parts) => parts,
        _ => std::slice::from_ref(operand),
    }
}

/// The registers that hold an operand's value: `%rd1`, or all of `{%rd1, %rd2}`.
pub fn registers(operand: &Operand) -> impl Iterator<Item = Reg> {
    parts(operand).iter().filter_map(register)
}

/// The register, if the operand is one.
pub fn register(operand: &Operand) -> Option<Reg> {
    match operand {
        Operand::Reg(register) | Operand::NotReg(register) | Operand::NegReg(register) => Some(*register),
        _ => None,
    }
}

/// `12`, `-4`, `0xff`. A floating-point constant (`0f3F800000`) is never an index, so its value does not matter.
pub fn constant(operand: &Operand) -> Option<i64> {
    match operand {
        Operand::Imm(value) => Some(*value),
        Operand::Single(_) | Operand::Double(_) => Some(0),
        _ => None,
    }
}

/// The base register of an address, or of the first part of a texture or tensor operand.
pub fn address_register(operand: &Operand) -> Option<Reg> {
    match operand {
        Operand::Address(Address { base: AddressBase::Reg(register), .. }) => Some(*register),
        Operand::Bracket(parts) => parts.first().and_then(|part| register(part).or_else(|| address_register(part))),
        _ => None,
    }
}
