//! The general-purpose registers that an instruction reads and writes.
//!
//! An instruction has up to four register fields: `d`, `a` and `b` in the first word (bits 16, 24 and 32), and `c` in
//! the second word (bit 0). The opcode determines which fields are used and how many consecutive registers each one
//! names. For loads, atomics, conversions and matrix instructions, further bits decide. NVIDIA documents none of it:
//! see `table`.

mod table;

use super::sass::ZERO_REGISTER;

/// A set of the 256 registers of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RegisterSet([u64; 4]);

impl FromIterator<u8> for RegisterSet {
    fn from_iter<I: IntoIterator<Item = u8>>(registers: I) -> Self {
        let mut set = Self::default();
        registers.into_iter().for_each(|register| set.insert(register));
        set
    }
}

/// The registers that an instruction reads and writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Operands {
    pub reads: RegisterSet,
    pub writes: RegisterSet,
}

/// Consecutive registers per field: `[d, a, b, c]`. `d` is written, the others are read.
type Widths = [u8; 4];

/// How the width of the fields is determined.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Plain(Widths),
    /// All fields are register pairs if this bit is set.
    DoubledBy(u32, Widths),
    /// Bits 73 to 75 encode the access size.
    Load {
        address: u8,
    },
    Store {
        address: u8,
    },
    /// Bits 73 to 75 encode the type.
    Atomic {
        address: u8,
        result: bool,
    },
    /// Floating-point atomics have their own opcodes from sm_90 on.
    AtomicFloat {
        result: bool,
    },
    CompareAndSwap {
        address: u8,
        result: bool,
    },
    /// `LDGSTS`: both addresses are read.
    CopyToShared,
    /// `IADD` from sm_100 on, `HFMA2.MMA` before: they share an opcode, and `HFMA2.MMA` has one operand more.
    AddOrHalfFma(Widths),
    /// `HMMA`
    HalfMatrix,
    /// `IMMA`
    IntegerMatrix,
    /// `LDSM`
    LoadMatrix,
    /// A conversion from or to a 64-bit type.
    Conversion,
    Match,
    WarpSync,
}

impl RegisterSet {
    pub fn contains(self, register: u8) -> bool {
        self.0[usize::from(register / 64)] & (1 << (register % 64)) != 0
    }

    pub fn insert(&mut self, register: u8) {
        self.0[usize::from(register / 64)] |= 1 << (register % 64);
    }

    /// The registers of the set, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0u8..).zip(self.0).flat_map(|(word, mut bits)| {
            std::iter::from_fn(move || {
                let lowest = (bits != 0).then(|| bits.trailing_zeros() as u8)?;
                bits &= bits - 1;
                Some(word * 64 + lowest)
            })
        })
    }

    /// Adds `count` consecutive registers; the zero register adds none.
    fn extend(&mut self, first: u8, count: u8) {
        if first != ZERO_REGISTER {
            (0..count).filter_map(|next| first.checked_add(next)).for_each(|register| self.insert(register));
        }
    }
}

/// The registers of an instruction of architecture `number`. `None` for an unknown instruction: nothing can be
/// concluded about a function that contains one.
pub fn operands(number: u32, lo: u64, hi: u64) -> Option<Operands> {
    let opcode = (lo & 0xfff) as u16;
    let row = table::ROWS.binary_search_by_key(&opcode, |(opcode, _)| *opcode).ok()?;
    let (_, rule) = table::ROWS[row];
    let [d, a, b, c] = [lo >> 16, lo >> 24, lo >> 32, hi].map(|field| (field & 0xff) as u8);
    let mut found = Operands::default();
    if let Rule::CopyToShared = rule {
        found.reads.extend(d, 1);
        found.reads.extend(a, 2);
        return Some(found);
    }
    let [of_d, of_a, of_b, of_c] = rule.widths(number, hi);
    found.writes.extend(d, of_d);
    found.reads.extend(a, of_a);
    found.reads.extend(b, of_b);
    found.reads.extend(c, of_c);
    Some(found)
}

impl Rule {
    fn widths(self, number: u32, hi: u64) -> Widths {
        let bit = |at: u32| hi >> (at - 64) & 1 != 0;
        let doubled = |widths: Widths| widths.map(|width| width * 2);
        let kind = hi >> 9 & 7;
        // Types of atomics: 2 is `U64`; the meaning of 3, 5 and 6 changed with sm_90.
        let is_wide = matches!((kind, number >= 90), (2, _) | (3, true) | (5 | 6, false));
        let atomic = if is_wide { 2 } else { 1 };
        let moved = match kind {
            5 => 2,
            6 | 7 => 4,
            _ => 1,
        };
        match self {
            Self::Plain(widths) => widths,
            Self::DoubledBy(at, widths) if bit(at) => doubled(widths),
            Self::DoubledBy(_, widths) => widths,
            Self::Load { address } => [moved, address, 0, 0],
            Self::Store { address } => [0, address, moved, 0],
            Self::Atomic { address, result } => [atomic * u8::from(result), address, atomic, 0],
            Self::AtomicFloat { result } => {
                let value = if kind >= 6 { 2 } else { 1 };
                [value * u8::from(result), 2, value, 0]
            }
            Self::CompareAndSwap { address, result } => {
                let value = if kind == 2 { 2 } else { 1 };
                [value * u8::from(result), address, value, value]
            }
            Self::CopyToShared => [0; 4],
            Self::AddOrHalfFma([d, a, b, _]) if number < 100 => [d, a, b, 1],
            Self::AddOrHalfFma(widths) if bit(73) => doubled(widths),
            Self::AddOrHalfFma(widths) => widths,
            Self::HalfMatrix => {
                let sums = if bit(76) { 4 } else { 2 };
                // `TF32` has two shapes, and 16-bit types have two different ones.
                let is_long = if bit(83) { !bit(78) } else { bit(75) };
                if is_long { [sums, 4, 2, sums] } else { [sums, 2, 1, sums] }
            }
            Self::IntegerMatrix if !bit(86) => [2, 1, 1, 2],
            Self::IntegerMatrix => {
                // The shape bit of 4-bit types differs from that of 8-bit types.
                let is_long = if bit(83) { bit(85) } else { bit(75) };
                if is_long { [4, 4, 2, 4] } else { [4, 2, 1, 4] }
            }
            Self::LoadMatrix => [1 << (hi >> 8 & 3).min(2), 1, 0, 0],
            Self::Conversion => {
                let is_wide = |low: u32| bit(low) && bit(low + 1);
                [1 + u8::from(is_wide(75)), 0, 1 + u8::from(is_wide(84)), 0]
            }
            Self::Match => [1, 1 + u8::from(bit(73)), 0, 0],
            Self::WarpSync if bit(86) => [0, 1, 0, 0],
            Self::WarpSync => [0, 0, 1, 0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The registers that an instruction of sm_90 writes, and the registers that it reads.
    fn of(lo: u64, hi: u64) -> (Vec<u8>, Vec<u8>) {
        let found = operands(90, lo, hi).unwrap();
        (found.writes.iter().collect(), found.reads.iter().collect())
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(table::ROWS.is_sorted_by_key(|(opcode, _)| *opcode));
    }

    #[test]
    fn fields_stand_for_as_many_registers_as_the_instruction_says() {
        // LDC R1, c[0x0][0x28]
        assert_eq!(of(0x0000_0a00_ff01_7b82, 0x000e_2200_0000_0800), (vec![1], vec![]));
        // LDC.64 R22, c[0x0][0x210]
        assert_eq!(of(0x0000_8400_ff16_7b82, 0x000e_a200_0000_0a00), (vec![22, 23], vec![]));
        // IMAD R3, R0, UR4, R2
        assert_eq!(of(0x0000_0004_0003_7c24, 0x002f_e200_0f8e_0202), (vec![3], vec![0, 2]));
        // IMAD.WIDE R22, R3, 0x4, R22
        assert_eq!(of(0x0000_0004_0316_7825, 0x004f_ca00_078e_0216), (vec![22, 23], vec![3, 22, 23]));
        // LDG.E R31, desc[UR4][R22.64+0x20000]
        assert_eq!(of(0x0200_0004_161f_7981, 0x000e_a800_0c1e_1900), (vec![31], vec![22, 23]));
        // ISETP.GE.AND P0, PT, R32, 0x1, PT
        assert_eq!(of(0x0000_0001_2000_780c, 0x001f_c600_03f0_6270), (vec![], vec![32]));
    }

    #[test]
    fn what_is_not_known_is_no_instruction_without_registers() {
        assert_eq!(operands(90, 0xfff, 0), None);
    }

    #[test]
    fn sets_hold_registers() {
        let mut set = RegisterSet::default();
        set.extend(254, 4);
        set.extend(ZERO_REGISTER, 2);
        set.insert(3);
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 254, 255]);
        assert_eq!([3, 254].into_iter().chain([255]).collect::<RegisterSet>(), set);
    }
}
