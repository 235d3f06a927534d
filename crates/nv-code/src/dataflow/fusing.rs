//! Products that the compiler may fuse into a multiply-add once local memory is gone.
//!
//! A product that goes through memory, a call or a loop's back edge is rounded there. In registers the compiler may
//! contract it with the following addition, which rounds once: the last digits change. `mul.rn` is never contracted.

use std::collections::HashSet;

use ptx_syntax::{Instruction, Modifier, Opcode, Operand, Reg, Space, Type};

use crate::dataflow::callee;
use crate::ptx::{PtxFunction, PtxModule};

/// Whether a function, or one that it calls, rounds a product that might be contracted without local memory.
pub fn may_fuse(ptx: &PtxModule, function: &str) -> bool {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut open = vec![function];
    while let Some(name) = open.pop() {
        let Some(function) = ptx.function(name).filter(|function| seen.insert(&*function.name)) else { continue };
        if rounds_products(function) {
            return true;
        }
        open.extend(function.instructions.iter().filter_map(callee));
    }
    false
}

fn rounds_products(function: &PtxFunction) -> bool {
    let starts: HashSet<u32> = function.labels.iter().filter_map(|label| label.instruction).collect();
    // By register: the number of the basic block that computes its product.
    let mut products: Vec<Option<usize>> = vec![None; function.registers.len()];
    let mut block = 0;
    for (at, instruction) in (0u32..).zip(&function.instructions) {
        let before = (at as usize).checked_sub(1).and_then(|before| function.instructions.get(before));
        let ends_block = before.is_some_and(|before| before.opcode() == Opcode::Bra);
        if starts.contains(&at) || ends_block {
            block += 1;
        }
        let mut used: Vec<usize> = Vec::new();
        instruction.for_each_use(&mut |register| used.extend(products[register.index()]));
        let is_rounded = match instruction.opcode() {
            Opcode::St => !is_to_outside(instruction) && !used.is_empty(),
            Opcode::Mov | Opcode::Selp | Opcode::Ret => !used.is_empty(),
            Opcode::Add | Opcode::Sub | Opcode::Fma => used.iter().any(|of| *of != block),
            _ => false,
        };
        if is_rounded {
            return true;
        }
        if let Some(result) = product(instruction) {
            products[result.index()] = Some(block);
        }
    }
    false
}

/// The result of a floating-point product that may be contracted.
fn product(instruction: &Instruction) -> Option<Reg> {
    let is_floating = instruction.form.types.iter().any(|ty| {
        matches!(ty, Type::F16 | Type::F16x2 | Type::F32 | Type::F32x2 | Type::F64 | Type::Bf16 | Type::Bf16x2)
    });
    let is_fixed = [Modifier::Rn, Modifier::Rz, Modifier::Rm, Modifier::Rp].iter().any(|mode| instruction.has(*mode));
    match instruction.operands.first()? {
        Operand::Reg(result) if instruction.opcode() == Opcode::Mul && is_floating && !is_fixed => Some(*result),
        _ => None,
    }
}

/// Whether a store goes to memory that others see, where the value is rounded in any case.
fn is_to_outside(instruction: &Instruction) -> bool {
    matches!(instruction.form.space(), Space::Global | Space::Shared | Space::SharedCluster)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fuses(body: &str) -> bool {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.func f()\n{{\nmul.f32 %f1, %f2, %f3;\n\
             st.f32 [%rd1], %f1;\nret;\n}}\n.visible .entry k()\n{{\n{body}\nret;\n}}\n"
        );
        may_fuse(&PtxModule::parse(&text).unwrap(), "k")
    }

    #[test]
    fn products_that_are_rounded_on_their_way() {
        for (body, expected) in [
            ("mul.f32 %f1, %f2, %f3;\nst.local.f32 [%rd1], %f1;", true),
            ("mul.f64 %fd1, %fd2, %fd3;\nst.local.v2.f64 [%rd1], {%fd4, %fd1};", true),
            ("mul.f32 %f1, %f2, %f3;\nmov.f32 %f4, %f1;", true),
            ("mul.f32 %f1, %f2, %f3;\n$L1:\nadd.f32 %f4, %f1, %f5;", true),
            ("{ call.uni f, (); }", true),
            // Rounded in any case, already fused, or no floating-point product.
            ("mul.f32 %f1, %f2, %f3;\nst.global.f32 [%rd1], %f1;", false),
            ("mul.rn.f32 %f1, %f2, %f3;\nst.local.f32 [%rd1], %f1;", false),
            ("mul.f32 %f1, %f2, %f3;\nadd.f32 %f4, %f1, %f5;", false),
            ("fma.rn.f32 %f1, %f2, %f3, %f4;\nst.local.f32 [%rd1], %f1;", false),
            ("mul.lo.s32 %r1, %r2, %r3;\nst.local.u32 [%rd1], %r1;", false),
        ] {
            assert_eq!(fuses(body), expected, "{body}");
        }
    }
}
