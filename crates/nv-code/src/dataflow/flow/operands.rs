//! Operands of PTX as it writes them: registers, constants, parameters.

use crate::ptx::Instruction;

/// `%rd1`, or all of `{%rd1, %rd2}`.
pub fn registers(operand: &str) -> impl Iterator<Item = String> {
    operand.trim_matches(['{', '}']).split(',').map(|register| register.trim().to_string())
}

/// Registers that an instruction writes: the first operand, or all of a vector; none for stores and branches.
pub fn written(instruction: &Instruction) -> impl Iterator<Item = &str> {
    let none = matches!(
        instruction.mnemonic(),
        "st" | "bra"
            | "brx"
            | "ret"
            | "exit"
            | "bar"
            | "barrier"
            | "red"
            | "call"
            | "membar"
            | "fence"
            | "trap"
            | "prefetch"
    );
    let first = instruction.operands.first().filter(|_| !none).map_or("", String::as_str);
    first.split(['{', '}', ',', '|']).map(str::trim).filter(|register| register.starts_with('%'))
}

/// `12`, `-4`, `0xff`, `0f3F800000`
pub fn constant(operand: &str) -> Option<i64> {
    let (sign, digits) = operand.strip_prefix('-').map_or((1, operand), |digits| (-1, digits));
    let digits = digits.trim_end_matches('U');
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()? as i64,
        // Floating-point constants are no index; what they are does not matter.
        None if digits.starts_with("0f") || digits.starts_with("0d") => 0,
        None => digits.parse().ok()?,
    };
    Some(sign * value)
}

/// `2` of `_Z1fPfi_param_2`.
pub fn parameter_number(symbol: &str) -> Option<usize> {
    symbol.rsplit_once("_param_")?.1.parse().ok()
}

/// Registers that an instruction reads, its guard included.
pub fn read(instruction: &Instruction) -> impl Iterator<Item = &str> {
    let skipped = usize::from(written(instruction).next().is_some());
    let operands = instruction.operands.iter().skip(skipped).map(String::as_str);
    let parts = operands.chain(instruction.guard.as_deref());
    let words = parts.flat_map(|operand| operand.split(['[', ']', '{', '}', '(', ')', ',', '+', '|', ' ', '!', '@']));
    words.filter(|word| word.starts_with('%') && constant(word).is_none())
}
