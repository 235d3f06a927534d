//! Products that may become part of a fused multiply-add once local memory is gone.
//!
//! A product that goes through memory, a call or a loop's next round is rounded there. In registers the compiler may fuse
//! it with the sum behind it, which rounds once: last digits change. `mul.rn` is never fused.

use std::collections::{HashMap, HashSet};

use crate::ptx::{Instruction, PtxFunction, PtxModule};

/// Whether a function, or one that it calls, rounds a product which might be fused without local memory.
pub fn may_fuse(ptx: &PtxModule, function: &str) -> bool {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut open = vec![function];
    while let Some(name) = open.pop() {
        let Some(function) = ptx.function(name).filter(|function| seen.insert(function.name.as_str())) else {
            continue;
        };
        if rounds_products(function) {
            return true;
        }
        let called = function.instructions.iter().filter(|instruction| instruction.opcode.starts_with("call"));
        open.extend(called.flat_map(|call| &call.operands).map(|operand| operand.trim()));
    }
    false
}

fn rounds_products(function: &PtxFunction) -> bool {
    let starts: HashSet<usize> = function.labels.values().copied().collect();
    // Product → the number of its basic block.
    let mut products: HashMap<&str, usize> = HashMap::new();
    let mut block = 0;
    for (at, instruction) in function.instructions.iter().enumerate() {
        let ends_block = at > 0 && function.instructions[at - 1].opcode.starts_with("bra");
        if starts.contains(&at) || ends_block {
            block += 1;
        }
        let used = |name: &str| products.get(name).copied();
        let is_rounded = match instruction.opcode.split('.').next().unwrap_or("") {
            "st" => !is_to_outside(&instruction.opcode) && words(instruction).any(|word| used(word).is_some()),
            "mov" | "selp" | "ret" => words(instruction).any(|word| used(word).is_some()),
            "add" | "sub" | "fma" => words(instruction).filter_map(used).any(|of| of != block),
            _ => false,
        };
        if is_rounded {
            return true;
        }
        if let Some(result) = product(instruction) {
            products.insert(result, block);
        }
    }
    false
}

/// The result of a floating-point product that may be fused.
fn product(instruction: &Instruction) -> Option<&str> {
    let mut parts = instruction.opcode.split('.');
    let is_product = parts.next() == Some("mul");
    let parts: Vec<&str> = parts.collect();
    let is_floating =
        parts.iter().any(|part| part.starts_with("f16") || matches!(*part, "f32" | "f64" | "bf16" | "bf16x2"));
    let is_fixed = parts.iter().any(|part| matches!(*part, "rn" | "rz" | "rm" | "rp"));
    instruction.operands.first().filter(|_| is_product && is_floating && !is_fixed).map(|operand| operand.trim())
}

/// What is stored for others to see is rounded in any case.
fn is_to_outside(opcode: &str) -> bool {
    opcode.split('.').any(|part| part == "global" || part.starts_with("shared"))
}

/// Registers among the operands.
fn words(instruction: &Instruction) -> impl Iterator<Item = &str> {
    let operands = instruction.operands.iter().flat_map(|operand| operand.split(['{', '}', ',', '[', ']', '+', ' ']));
    operands.filter(|word| word.starts_with('%'))
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
            // Rounded whatever happens, fused already, or no floating-point number.
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
