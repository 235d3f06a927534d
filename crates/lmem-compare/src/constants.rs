//! The constants that a kernel compares with: values at which its conditions change.

use ptx_machine::Program;
use ptx_syntax::{Module, Opcode, Operand};

/// Limit on the constants of each kind.
const MOST: usize = 24;

/// Constants that conditions compare with, in order of their first use.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Constants {
    pub integers: Vec<i64>,
    /// What is subtracted, perhaps before a comparison.
    pub subtracted: Vec<i64>,
    pub floats: Vec<f64>,
}

impl Constants {
    /// The constants of a program and the functions that it calls.
    pub fn of(module: &Module, program: &Program) -> Self {
        let names: Vec<&str> = program.functions().collect();
        let functions = module.functions.iter().filter(|function| names.contains(&&*function.name));
        let mut constants = Self::default();
        for instruction in functions.flat_map(|function| &function.instructions) {
            // `100 <= x && x < 150` becomes an addition of -100 and one comparison.
            let is_compared = match instruction.opcode() {
                Opcode::Setp | Opcode::Set => true,
                Opcode::Add => false,
                _ => continue,
            };
            for operand in &instruction.operands {
                match operand {
                    Operand::Imm(number) if is_compared => add_integer(&mut constants.integers, *number),
                    Operand::Imm(number) => add_integer(&mut constants.subtracted, number.wrapping_neg()),
                    Operand::Single(bits) if is_compared => constants.add_float(f64::from(f32::from_bits(*bits))),
                    Operand::Double(bits) if is_compared => constants.add_float(f64::from_bits(*bits)),
                    _ => {}
                }
            }
        }
        constants
    }

    fn add_float(&mut self, number: f64) {
        if number != 0.0 && number.is_finite() && self.floats.len() < MOST && !self.floats.contains(&number) {
            self.floats.push(number);
        }
    }

    /// A constant or one of its neighbours, by a hash.
    pub fn integer(&self, hash: u64) -> Option<i64> {
        let all = match hash >> 50 & 3 {
            0 if !self.subtracted.is_empty() => &self.subtracted,
            _ if self.integers.is_empty() => &self.subtracted,
            _ => &self.integers,
        };
        let number = all.get(hash as usize % all.len().max(1))?;
        // Equality is the rarest condition; what follows a constant may be a range of values.
        let apart = match hash >> 40 & 7 {
            0..4 => 0,
            4 => 1,
            5 => -1,
            _ => (hash >> 44 & 15).cast_signed(),
        };
        Some(number.saturating_add(apart))
    }

    /// A constant, or a number above or below it, by a hash.
    pub fn float(&self, hash: u64) -> Option<f64> {
        let number = self.floats.get(hash as usize % self.floats.len().max(1))?;
        Some([*number, number + number.abs(), number - number.abs(), number * 1.0625][(hash >> 40 & 3) as usize])
    }
}

/// Zero and one occur in any case.
fn add_integer(all: &mut Vec<i64>, number: i64) {
    if !(-1..=1).contains(&number) && all.len() < MOST && !all.contains(&number) {
        all.push(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_tell_the_values_that_matter() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p<5>;\n.reg .b32 %r<5>;\n.reg .f32 %f<3>;\n\
            setp.eq.s32 %p1, %r1, 90210;\nadd.s32 %r2, %r1, -100;\nsetp.lt.u32 %p2, %r2, 50;\nsetp.gt.f32 %p3, %f1, 0f447A0000;\n\
            setp.eq.s32 %p4, %r1, 0;\nret;\n}\n";
        let module = Module::parse(text).unwrap();
        let program = Program::new(&module, "k").unwrap();
        let constants = Constants::of(&module, &program);
        assert_eq!((constants.integers, constants.subtracted), (vec![90_210, 50], vec![100]));
        let floats = Constants { floats: constants.floats, ..Constants::default() };
        assert_eq!(floats.floats, [1000.0]);
        assert_eq!(Constants::default().integer(7), None);
        assert!((0..4).any(|turn| floats.float(turn << 40).is_some_and(|it| it > 1000.0)));
    }
}
