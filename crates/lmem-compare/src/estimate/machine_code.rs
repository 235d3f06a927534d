//! What machine code an instruction of PTX becomes.

use std::collections::HashSet;

use ptx_syntax::{AddressBase, Function, Instruction, Modifier, Opcode, Operand, Reg, Space, Type};

/// The 64-bit integers of a function, which machine code computes in two halves, and those that are only addresses: these are
/// computed with the access, or by the multiplication of the index.
#[derive(Debug, Default)]
pub(super) struct Wide {
    /// Registers that are more than addresses.
    data: HashSet<Reg>,
    /// Results of logic operations, which compare with zero on their own.
    logic: HashSet<Reg>,
}

impl Wide {
    pub fn of(function: &Function) -> Self {
        let mut wide = Self::default();
        for instruction in function.instructions.iter().filter(|instruction| is_logic(instruction.opcode())) {
            instruction.for_each_def(&mut |register| {
                wide.logic.insert(register);
            });
        }
        // Values flow down mostly, so that few passes are needed from the end.
        loop {
            let known = wide.data.len();
            function.instructions.iter().rev().for_each(|instruction| wide.note(instruction));
            if wide.data.len() == known {
                return wide;
            }
        }
    }

    /// Adds what an instruction uses as data.
    fn note(&mut self, instruction: &Instruction) {
        let mut is_data = !makes_addresses(instruction.opcode());
        instruction.for_each_def(&mut |register| is_data |= self.data.contains(&register));
        if !is_data {
            return;
        }
        let mut base = None;
        for operand in &instruction.operands {
            if let Operand::Address(address) = operand
                && let AddressBase::Reg(register) = address.base
            {
                base = Some(register);
            }
        }
        let data = &mut self.data;
        instruction.for_each_use(&mut |register| {
            if base != Some(register) {
                data.insert(register);
            }
        });
    }

    /// Whether an instruction computes a 64-bit integer that is no address.
    fn is_wide(&self, instruction: &Instruction) -> bool {
        let is_wide = instruction.form.ty().is_some_and(|ty| ty.bits() == 64 && !ty.is_float());
        let mut is_data = false;
        instruction.for_each_def(&mut |register| is_data |= self.data.contains(&register));
        is_wide && is_data
    }

    /// Machine instructions that an instruction becomes, in tenths. Copies, conversions of addresses and loads of
    /// parameters mostly vanish; a division becomes a sequence, a call has its moves.
    pub fn slots(&self, instruction: &Instruction) -> u64 {
        match self.is_wide(instruction) {
            true => self.wide_slots(instruction).unwrap_or_else(|| slots(instruction)),
            false => slots(instruction),
        }
    }

    /// For 64-bit integers, as `ptxas` compiles them for sm_90.
    fn wide_slots(&self, instruction: &Instruction) -> Option<u64> {
        let form = &instruction.form;
        Some(match instruction.opcode() {
            Opcode::Setp if self.is_part_of_logic(instruction) => 0,
            Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not | Opcode::Shl | Opcode::Shr => 20,
            Opcode::Add | Opcode::Sub | Opcode::Neg | Opcode::Setp | Opcode::Selp | Opcode::Brev => 20,
            Opcode::Popc | Opcode::Bfe => 30,
            Opcode::Min | Opcode::Max | Opcode::Abs => 40,
            Opcode::Mul | Opcode::Mad if form.has(Modifier::Hi) => 70,
            Opcode::Mul | Opcode::Mad => 40,
            Opcode::Clz | Opcode::Bfi => 60,
            Opcode::Div | Opcode::Rem => 800,
            _ => return None,
        })
    }

    /// Whether it compares the result of a logic operation with zero.
    fn is_part_of_logic(&self, instruction: &Instruction) -> bool {
        let is_equality = instruction.form.has(Modifier::Eq) || instruction.form.has(Modifier::Ne);
        match &instruction.operands[..] {
            [_, Operand::Reg(register), Operand::Imm(0)] => is_equality && self.logic.contains(register),
            _ => false,
        }
    }

    /// Cycles until the result of an instruction can be used, in tenths: a carry, or the comparison of the upper halves, waits
    /// for the lower ones.
    pub fn latency(&self, instruction: &Instruction) -> u64 {
        let latency = latency(instruction);
        match instruction.opcode() {
            Opcode::Add
            | Opcode::Sub
            | Opcode::Neg
            | Opcode::Setp
            | Opcode::Min
            | Opcode::Max
            | Opcode::Mul
            | Opcode::Mad
                if self.is_wide(instruction) && self.wide_slots(instruction) != Some(0) =>
            {
                2 * latency
            }
            _ => latency,
        }
    }
}

fn is_logic(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::And | Opcode::Or | Opcode::Xor)
}

/// Instructions whose operands are parts of an address if their result is one.
fn makes_addresses(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Add
            | Opcode::Sub
            | Opcode::Mul
            | Opcode::Mad
            | Opcode::Shl
            | Opcode::Mov
            | Opcode::Cvta
            | Opcode::Cvt
            | Opcode::Selp
    )
}

/// Machine instructions that an instruction of PTX becomes, in tenths. Copies, conversions of addresses and loads of
/// parameters mostly vanish; a division becomes a sequence, a call has its moves.
fn slots(instruction: &Instruction) -> u64 {
    let is_exact = !instruction.form.has(Modifier::Approx);
    match (instruction.opcode(), instruction.form.ty()) {
        (Opcode::Mov | Opcode::Cvta, _) => 2,
        (Opcode::Ld, _) if instruction.form.space() == Space::Param => 2,
        (Opcode::Cvt, _) => 7,
        (Opcode::Sqrt | Opcode::Rcp | Opcode::Rsqrt, Some(Type::F32)) if is_exact => 80,
        (Opcode::Div, Some(Type::F32)) if !is_exact => 20,
        (Opcode::Rem | Opcode::Div, _) => 120,
        (Opcode::Call | Opcode::Ret, _) => 30,
        _ => 10,
    }
}

/// Issue slots of the special function unit, in tenths. Divisions of integers begin with a reciprocal, too.
pub(super) fn special(instruction: &Instruction) -> u64 {
    match instruction.opcode() {
        Opcode::Sin | Opcode::Cos | Opcode::Ex2 | Opcode::Lg2 | Opcode::Tanh => 10,
        Opcode::Sqrt | Opcode::Rsqrt | Opcode::Rcp | Opcode::Div | Opcode::Rem => 10,
        _ => 0,
    }
}

pub(super) enum Pipe {
    Integer,
    /// Multiplications of integers.
    Multiply,
    Float,
    Double,
    Other,
}

/// The pipe that executes an instruction: table of throughputs of native arithmetic instructions, CUDA C++ programming
/// guide.
pub(super) fn pipe(instruction: &Instruction) -> Pipe {
    let ty = instruction.form.ty();
    match instruction.opcode() {
        Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Mad | Opcode::Fma | Opcode::Neg | Opcode::Abs
            if ty == Some(Type::F32) =>
        {
            Pipe::Float
        }
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::Mad
        | Opcode::Fma
        | Opcode::Div
        | Opcode::Setp
        | Opcode::Min
        | Opcode::Max
        | Opcode::Cvt
            if ty == Some(Type::F64) =>
        {
            Pipe::Double
        }
        Opcode::Mul | Opcode::Mad => Pipe::Multiply,
        Opcode::Add
        | Opcode::Sub
        | Opcode::Fma
        | Opcode::Neg
        | Opcode::Abs
        | Opcode::Selp
        | Opcode::Setp
        | Opcode::Slct
        | Opcode::Set
        | Opcode::Min
        | Opcode::Max
        | Opcode::And
        | Opcode::Or
        | Opcode::Xor
        | Opcode::Not
        | Opcode::Lop3
        | Opcode::Shl
        | Opcode::Shr
        | Opcode::Shf
        | Opcode::Cvt
        | Opcode::Prmt => Pipe::Integer,
        _ => Pipe::Other,
    }
}

/// Cycles until the result of an instruction can be used, in tenths. From published microbenchmarks: 4 to 5 cycles for
/// arithmetic, 24 for shared memory, 34 for a hit in the L1 cache.
fn latency(instruction: &Instruction) -> u64 {
    match (instruction.opcode(), instruction.form.space()) {
        (Opcode::Mov | Opcode::Cvta, _) | (Opcode::Ld, Space::Param) => 0,
        (Opcode::Ld, Space::Shared) => 240,
        (Opcode::Ld, _) => 340,
        (Opcode::Rem | Opcode::Div, _) => 540,
        (Opcode::Cvt, _) => 60,
        (Opcode::Bra, _) => 80,
        (Opcode::Call | Opcode::Ret, _) => 250,
        _ => 45,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_syntax::Module;

    /// The slots of the instructions of a kernel with two 64-bit parameters and a 32-bit number, and of what follows.
    fn slots_of(body: &str) -> Vec<u64> {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q)\n{{\n\
            .reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<16>;\n{body}\nret;\n}}\n"
        );
        let module = Module::parse(&text).unwrap();
        let wide = Wide::of(&module.functions[0]);
        let mut slots: Vec<u64> = module.functions[0].instructions.iter().map(|it| wide.slots(it)).collect();
        slots.pop();
        slots
    }

    #[test]
    fn halves_of_64_bit_integers_count() {
        // used |= 1 << c; stored.
        let found = slots_of(
            "shl.b64 %rd3, %rd2, %r1;\nor.b64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd4, %rd1;\nst.global.u64 [%rd9], %rd5;",
        );
        assert_eq!(found, [20, 20, 20, 10]);
        let found = slots_of("min.s64 %rd3, %rd1, %rd2;\nmul.lo.s64 %rd4, %rd3, %rd1;\nst.global.u64 [%rd9], %rd4;");
        assert_eq!(found, [40, 40, 10]);
        let narrow = slots_of("shl.b32 %r3, %r2, %r1;\nor.b32 %r4, %r1, %r3;\nst.global.u32 [%rd9], %r4;");
        assert_eq!(narrow, [10, 10, 10]);
    }

    #[test]
    fn addresses_are_computed_with_the_access() {
        let index = "mul.wide.s32 %rd3, %r1, 8;\nadd.s64 %rd4, %rd1, %rd3;\n";
        assert_eq!(slots_of(&format!("{index}ld.global.u64 %rd5, [%rd4+8];"))[1], 10);
        // A pointer that a loop compares is data, too.
        assert_eq!(
            slots_of(&format!("{index}ld.global.u64 %rd5, [%rd4];\nsetp.ne.s64 %p1, %rd4, %rd2;\n@%p1 bra $l;\n$l:"))
                [1],
            20
        );
    }

    #[test]
    fn a_logic_operation_compares_with_zero() {
        let test = |compared: &str| slots_of(&format!("and.b64 %rd3, %rd1, %rd2;\n{compared}\n@%p1 bra $l;\n$l:"))[1];
        assert_eq!(test("setp.eq.s64 %p1, %rd3, 0;"), 0);
        assert_eq!(test("setp.eq.s64 %p1, %rd3, 1;"), 20);
        assert_eq!(test("setp.gt.s64 %p1, %rd3, 0;"), 20);
        assert_eq!(test("setp.ne.s64 %p1, %rd1, 0;"), 20);
    }
}
