//! The general-purpose registers that an instruction reads and writes.
//!
//! `table` has a rule for each operation, and `rule` what each rule means.

mod rule;
mod table;

use super::sass::ZERO_REGISTER;
use rule::Encoding;

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

impl RegisterSet {
    pub fn contains(self, register: u8) -> bool {
        self.0[usize::from(register / 64)] & (1 << (register % 64)) != 0
    }

    pub fn insert(&mut self, register: u8) {
        self.0[usize::from(register / 64)] |= 1 << (register % 64);
    }

    /// All registers.
    pub fn all() -> Self {
        Self([u64::MAX; 4])
    }

    pub fn from_words(words: [u64; 4]) -> Self {
        Self(words)
    }

    pub fn words(self) -> [u64; 4] {
        self.0
    }

    pub fn union(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    pub fn intersection(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
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
    /// The operations of the uniform datapath, which use no register of a thread.
    const UNIFORM: std::ops::RangeInclusive<u16> = 0x80..=0xbf;
    let code = Encoding { number, lo, hi };
    let operation = code.operation();
    if UNIFORM.contains(&operation) {
        return Some(Operands::default());
    }
    let row = table::ROWS.binary_search_by_key(&operation, |(operation, _)| *operation).ok()?;
    let (_, rule) = table::ROWS[row];
    rule.operands(&code)
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
        assert!(table::ROWS.is_sorted_by(|(one, _), (next, _)| one < next));
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

    /// As nvdisasm lists them: the architecture, both words, and the registers that are written and read.
    #[test]
    fn wide_operands_are_as_wide_as_their_bits_say() {
        let set = |text: &str| -> Vec<u8> {
            let number = |text: &str| text.parse::<u8>().unwrap();
            let part = |part: &str| match part.split_once("..") {
                Some((first, end)) => (number(first)..number(end)).collect::<Vec<u8>>(),
                None => vec![number(part)],
            };
            text.split_whitespace().flat_map(part).collect()
        };
        let instructions: &[(u32, u64, u64, &str, &str)] = &[
            // DMMA.884 R16, R18, R16, RZ
            (80, 0x0000_0010_1210_723f, 0x004e_3600_0000_00ff, "16..20", "16..20"),
            // DMMA.16x8x16 R32, R16, R8, R32
            (90, 0x0000_0008_1020_723f, 0x0200_a400_0000_3020, "32..40", "8..40"),
            // HMMA.SP.16832.F32 R12, R8, R4, R12, R17
            (80, 0x0000_1104_080c_723c, 0x008f_e600_0000_5a0c, "12..16", "4..16 17"),
            // HMMA.1684.F32.TF32 R4, R2, R15, R4
            (80, 0x0000_000f_0204_723c, 0x0e0f_e600_0008_5004, "4..8", "2..8 15"),
            // IMMA.SP.16864.S8.S8 R12, R4, R8, R12, R0
            (90, 0x0000_0008_040c_7237, 0x000f_ec00_0060_550c, "12..16", "0 4..16"),
            // HGMMA.64x32x16.F32 R24, R40, gdesc[UR4], R24
            (90, 0x0060_0004_2818_7df0, 0x000f_e200_0800_0818, "24..40", "24..44"),
            // QMMA.16832.F32.E4M3.E4M3 R8, R4, R2, R8
            (120, 0x0000_0002_0408_727a, 0x000f_ee00_0000_2c08, "8..12", "2..12"),
            // LDTM.x4 R8, tmem[UR7]
            (100, 0x0000_0007_0008_79ee, 0x017e_2200_0814_0000, "8..12", ""),
            // STTM.16dp128bit.x2 tmem[UR7], R4
            (100, 0x0000_0004_0000_79ed, 0x0211_e200_0808_0007, "", "4..8"),
            // TEX.LL R8, R10, R8, R13, ARRAY_CUBE
            (75, 0xe000_600d_080a_7b60, 0x0403_4200_019e_0f08, "8..12", "8..12 13"),
            // TEX.SCR.LL RZ, R18, R2, R12, 3D, 0x3
            (75, 0x5000_580c_0212_7b60, 0x0003_6200_019e_03ff, "18..20", "2..4 12..14"),
            // TLD4.SCR.G R40, R42, R2, R3, 2D
            (75, 0x3000_5803_022a_7b63, 0x0003_6200_009e_0f28, "40..44", "2 3"),
            // TXD R30, R32, R2, R4, 2D
            (80, 0x2000_5804_0220_7b6c, 0x0003_6200_001e_0f1e, "30..34", "2..8"),
            // SULD.D.BA.2D.U8 R0, [R18]
            (75, 0x7000_5800_1200_7b99, 0x0001_6200_001f_0100, "0", "18 19"),
            // SUST.D.BA.3D.64 [R12], R18
            (90, 0xb000_0412_0c00_7f9d, 0x001f_e200_0810_ab00, "", "12..15 18 19"),
            // ATOMG.E.CAS.128 R12, [R26], R8, R12
            (90, 0x0000_0008_1a0c_73a9, 0x0001_6200_001e_e90c, "12..16", "8..16 26 27"),
            // ATOMS.CAST.SPIN.64 P0, [R17], R12, R14
            (100, 0x0000_000c_1100_758d, 0x000e_2400_0180_040e, "", "12..16 17"),
            // REDG.E.ADD.F16x8 [R16.64], R4
            (90, 0x0000_0004_1000_79a6, 0x002f_e800_0c10_e584, "", "4..8 16 17"),
            // LDG.E.ENL2.256 R4, R8, [R4.64]
            (100, 0xfe00_0004_0408_797e, 0x002f_2a00_0812_1904, "4..12", "4 5"),
            // STG.E.ENL2.256 [R12.64+0x40], R8, R4
            (100, 0xf800_0208_0c04_797f, 0x010f_e800_0f12_1804, "", "4..14"),
            // ST.E.128 [R14], R4
            (90, 0x0000_0000_0e00_7385, 0x004f_d800_0010_0d04, "", "4..8 14 15"),
            // STSM.16.M88.4 [R18], R4
            (90, 0x0000_0004_1200_7844, 0x000f_e800_0000_0200, "", "4..8 18"),
            // LDGSTS.E.BYPASS.128 [R7], [R4.64]
            (80, 0x0000_0000_0407_7fae, 0x0043_e800_0b90_1c44, "", "4 5 7"),
            // WARPSYNC R3
            (80, 0x0000_0003_0000_7348, 0x000f_e800_0380_0000, "", "3"),
            // WARPSYNC.COLLECTIVE R7
            (90, 0x0000_0000_0708_7348, 0x003f_ea00_03c0_0000, "", "7"),
            // SEL.64 R6, R6, R8, !P0
            (120, 0x0000_0008_0606_7607, 0x000f_ca00_0400_0000, "6 7", "6..10"),
            // MOV.64 R2, 0x3ff71547652b82fe
            (120, 0x4765_2b82_fe02_7402, 0x008f_e400_003f_f715, "2 3", ""),
            // FFMA2 R14, R22, R16, R14
            (100, 0x0000_0010_160e_7249, 0x000f_ca00_0000_000e, "14 15", "14..18 22 23"),
        ];
        for (number, lo, hi, writes, reads) in instructions {
            let found = operands(*number, *lo, *hi).unwrap();
            let found = (found.writes.iter().collect::<Vec<u8>>(), found.reads.iter().collect::<Vec<u8>>());
            assert_eq!(found, (set(writes), set(reads)), "{number} {lo:#018x} {hi:#018x}");
        }
    }

    #[test]
    fn what_is_not_known_is_no_instruction_without_registers() {
        assert_eq!(operands(90, 0xfff, 0), None);
        // Two floats at once, where no architecture was seen that has them.
        assert_eq!(operands(90, 0x0000_0010_160e_7249, 0x000f_ca00_0000_000e), None);
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
