//! Differences of a product and what was computed of the same factors: error-free transformations such as Dekker's
//! product take the rounding error of a product that way.
//!
//! `mul` without a rounding mode may be contracted with the subtraction that follows, which then takes the product
//! before it is rounded: what was the error, or zero by construction, becomes another number, not other last digits.

use std::collections::HashSet;

use ptx_syntax::{Instruction, Modifier, Opcode, Operand, Reg, Space, Type};

use crate::dataflow::callee;
use crate::ptx::{PtxFunction, PtxModule};

/// Limit on the instructions between a factor and what is computed of it.
const MAX_STEPS: u32 = 6;

/// Whether a function, or one that it calls, subtracts a product that may be contracted from another product of the same
/// factors, or of their parts.
pub fn cancels_products(ptx: &PtxModule, function: &str) -> bool {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut open = vec![function];
    while let Some(name) = open.pop() {
        let Some(function) = ptx.function(name).filter(|function| seen.insert(&*function.name)) else { continue };
        if Products::of(function).cancel() {
            return true;
        }
        open.extend(function.instructions.iter().filter_map(callee));
    }
    false
}

/// The definitions of a function's registers.
struct Products<'f> {
    function: &'f PtxFunction,
    /// By register, its only definition.
    definitions: Vec<Option<&'f Instruction>>,
    /// Registers that are arguments of calls.
    given: HashSet<usize>,
}

impl<'f> Products<'f> {
    fn of(function: &'f PtxFunction) -> Self {
        let mut definitions = vec![None; function.registers.len()];
        let mut is_defined = vec![false; function.registers.len()];
        let mut given = HashSet::new();
        for instruction in &function.instructions {
            if instruction.opcode() == Opcode::St && instruction.form.space() == Space::Param {
                given.extend(instruction.operands.iter().filter_map(register).map(Reg::index));
            }
            let Some(Operand::Reg(result)) = instruction.operands.first() else { continue };
            let is_first = !std::mem::replace(&mut is_defined[result.index()], true);
            definitions[result.index()] = is_first.then_some(instruction);
        }
        Self { function, definitions, given }
    }

    fn cancel(&self) -> bool {
        self.function.instructions.iter().filter(|instruction| is_floating(instruction)).any(|instruction| {
            let operands: Vec<Reg> = instruction.operands.iter().skip(1).filter_map(register).collect();
            match (instruction.opcode(), operands.as_slice()) {
                // Twice a product.
                (Opcode::Add, [left, right]) if left == right && !instruction.operands.iter().any(is_negated) => false,
                (Opcode::Add | Opcode::Sub, [left, right]) if !is_fixed(instruction) => {
                    self.are_of_one(*left, *right) || self.are_of_one(*right, *left)
                }
                // The compiler itself contracts so.
                (Opcode::Fma, [left, right, added]) => self.is_product_of_parts(*added, (*left, *right)),
                _ => false,
            }
        })
    }

    /// Whether one register is a product that may be contracted, and another one a product of the same factors, or what
    /// a function returned that may have got them.
    fn are_of_one(&self, product: Reg, other: Reg) -> bool {
        let factors = |instruction: &Instruction| {
            let mut operands = instruction.operands.iter().skip(1).filter_map(register);
            Some((operands.next()?, operands.next()?))
        };
        let Some(other) = self.definition(other) else { return false };
        if other.opcode() == Opcode::Ld && other.form.space() == Space::Param {
            let product = self.definition(product).filter(|it| is_open_product(it));
            let both = product.and_then(factors);
            return both.is_some_and(|(a, b)| self.given.contains(&a.index()) && self.given.contains(&b.index()));
        }
        let other = Some(other).filter(|it| matches!(it.opcode(), Opcode::Mul | Opcode::Fma));
        other.and_then(factors).is_some_and(|parts| self.is_product_of_parts(product, parts))
    }

    /// Whether a register is a product that may be contracted, and two others are its factors or made of them.
    fn is_product_of_parts(&self, product: Reg, (left, right): (Reg, Reg)) -> bool {
        let product = self.definition(product);
        let Some(product) = product.filter(|it| is_open_product(it)) else { return false };
        let mut factors = product.operands.iter().skip(1).filter_map(register);
        let (Some(one), Some(two)) = (factors.next(), factors.next()) else { return false };
        let is_of = |register, factor| self.is_made_of(register, factor, MAX_STEPS);
        (is_of(left, one) && is_of(right, two)) || (is_of(left, two) && is_of(right, one))
    }

    /// The instruction that computes a register, through copies and changes of the sign.
    fn definition(&self, register: Reg) -> Option<&'f Instruction> {
        let mut at = register;
        for _ in 0..MAX_STEPS {
            let found = self.definitions[at.index()]?;
            match (found.opcode(), found.operands.get(1).and_then(self::register)) {
                (Opcode::Mov | Opcode::Neg, Some(source)) => at = source,
                _ => return Some(found),
            }
        }
        None
    }

    /// Whether a register is a factor, or computed from it.
    fn is_made_of(&self, register: Reg, factor: Reg, steps: u32) -> bool {
        if register == factor {
            return true;
        }
        let Some(left) = steps.checked_sub(1) else { return false };
        let Some(found) = self.definitions[register.index()] else { return false };
        let is_arithmetic = matches!(
            found.opcode(),
            Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Fma | Opcode::Neg | Opcode::Mov | Opcode::And
        );
        let mut sources = found.operands.iter().skip(1).filter_map(self::register);
        is_arithmetic && sources.any(|source| self.is_made_of(source, factor, left))
    }
}

fn register(operand: &Operand) -> Option<Reg> {
    match operand {
        Operand::Reg(register) | Operand::NegReg(register) => Some(*register),
        _ => None,
    }
}

fn is_negated(operand: &Operand) -> bool {
    matches!(operand, Operand::NegReg(_))
}

fn is_floating(instruction: &Instruction) -> bool {
    instruction.form.types.iter().any(|ty| matches!(ty, Type::F16 | Type::F32 | Type::F64 | Type::Bf16))
}

/// Whether an instruction is a product that may be contracted.
fn is_open_product(instruction: &Instruction) -> bool {
    instruction.opcode() == Opcode::Mul && is_floating(instruction) && !is_fixed(instruction)
}

/// Whether a rounding mode forbids contraction.
fn is_fixed(instruction: &Instruction) -> bool {
    [Modifier::Rn, Modifier::Rz, Modifier::Rm, Modifier::Rp].iter().any(|mode| instruction.has(*mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cancels(body: &str) -> bool {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .f32 %f<9>;\n\
             .reg .b64 %rd<3>;\n{body}\nret;\n}}\n"
        );
        cancels_products(&PtxModule::parse(&text).unwrap(), "k")
    }

    #[test]
    fn errors_of_products() {
        for (body, expected) in [
            // A product of the same factors, rounded for certain.
            ("mul.f32 %f3, %f1, %f2;\nmul.rn.f32 %f4, %f1, %f2;\nsub.f32 %f5, %f3, %f4;", true),
            ("mul.f32 %f3, %f1, %f2;\nmul.rn.f32 %f4, %f2, %f1;\nneg.f32 %f5, %f3;\nadd.f32 %f6, %f4, %f5;", true),
            // Dekker's: the product of the factors' upper halves.
            (
                "mul.f32 %f3, %f1, %f2;\nsub.f32 %f4, %f1, %f8;\nsub.f32 %f5, %f2, %f7;\nmul.f32 %f6, %f4, %f5;\nsub.f32 %f0, %f6, %f3;",
                true,
            ),
            (
                "mul.f32 %f3, %f1, %f2;\nsub.rn.f32 %f4, %f1, %f8;\nadd.rn.f32 %f5, %f2, %f7;\nfma.rn.f32 %f6, %f4, %f5, %f3;",
                true,
            ),
            ("mul.f32 %f3, %f1, %f2;\nneg.f32 %f4, %f3;\nfma.rn.f32 %f5, %f1, %f2, %f4;", true),
            // Twice a product, and a product from itself.
            ("mul.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f3, %f3;", false),
            ("mul.f32 %f3, %f1, %f2;\nsub.f32 %f4, %f3, %f3;", true),
            // A function got both factors.
            (
                "mul.f32 %f3, %f1, %f2;\n{\n.param .b32 a;\nst.param.f32 [a+0], %f1;\n.param .b32 b;\nst.param.f32 [b+0], %f2;\n\
                 .param .b32 r;\ncall.uni (r), p, (a, b);\nld.param.f32 %f4, [r+0];\n}\nsub.f32 %f5, %f3, %f4;",
                true,
            ),
            (
                "mul.f32 %f3, %f1, %f2;\n{\n.param .b32 a;\nst.param.f32 [a+0], %f1;\n\
                 .param .b32 r;\ncall.uni (r), p, (a);\nld.param.f32 %f4, [r+0];\n}\nsub.f32 %f5, %f3, %f4;",
                false,
            ),
            // Other factors; rounded where it is; a load in between.
            ("mul.f32 %f3, %f1, %f2;\nmul.f32 %f4, %f1, %f7;\nsub.f32 %f5, %f3, %f4;", false),
            ("mul.rn.f32 %f3, %f1, %f2;\nmul.rn.f32 %f4, %f1, %f2;\nsub.f32 %f5, %f3, %f4;", false),
            ("mul.f32 %f3, %f1, %f2;\nmul.f32 %f4, %f1, %f2;\nsub.rn.f32 %f5, %f3, %f4;", false),
            (
                "mul.f32 %f3, %f1, %f2;\nst.local.f32 [%rd1], %f3;\nld.local.f32 %f4, [%rd1];\nmul.rn.f32 %f5, %f1, %f2;\nsub.f32 %f6, %f4, %f5;",
                false,
            ),
        ] {
            assert_eq!(cancels(body), expected, "{body}");
        }
    }
}
