//! The parameters that a value derives from, through loads too.

use ptx_syntax::{AddressBase, Instruction, Modifier, Opcode, Reg};

use super::Flow;

/// Parameters beyond this number are not told apart.
const MAX_PARAMETERS: usize = 64;

impl Flow<'_> {
    /// The parameters that a register's value derives from, in any of its definitions: bit `n` for parameter `n`. What
    /// is loaded through a pointer derives from the pointer.
    pub fn parameters_of(&self, register: Reg) -> u64 {
        let found = self.parameters.get_or_init(|| {
            let all = &self.function.instructions;
            let mut found = vec![0_u64; self.function.registers.len()];
            let numbers = || all.iter().filter_map(|instruction| self.parameter_read(instruction));
            for number in 0..numbers().max().map_or(0, |last| (last + 1).min(MAX_PARAMETERS)) {
                let reads = (0..all.len()).filter(|at| self.parameter_read(&all[*at]) == Some(number));
                let derived = self.spread(reads, |_, _| true);
                found.iter_mut().zip(derived).for_each(|(set, is_derived)| *set |= u64::from(is_derived) << number);
            }
            found
        });
        found.get(register.index()).copied().unwrap_or(0)
    }

    /// The number of the parameter that `ld.param` reads.
    fn parameter_read(&self, instruction: &Instruction) -> Option<usize> {
        let is_read = instruction.opcode() == Opcode::Ld && instruction.has(Modifier::Param);
        match instruction.address().filter(|_| is_read)?.base {
            AddressBase::Variable(variable) => self.function.parameter_number(variable),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Flow;
    use super::super::tests::function;

    #[test]
    fn what_is_loaded_through_a_pointer_derives_from_it() {
        let function = function("add.s64 %a, %in, 8;\nld.global.u32 %b, [%a];\nadd.u32 %c, %b, %n;\nmov.u32 %d, 1;");
        let flow = Flow::new(&function);
        let of = |name: &str| flow.parameters_of(function.register_named(name).unwrap());
        assert_eq!((of("%b"), of("%c"), of("%d"), of("%n")), (0b01, 0b11, 0, 0b10));
    }
}
