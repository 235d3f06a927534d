//! The register fields of each instruction, by the low 12 bits of its first word (the opcode).
//!
//! Inferred from the live ranges that nvdisasm 13.5 prints (`-plr`) for 155,000 instructions of sm_75 to sm_120: the
//! test crates, CUB's sorts and scans, tensor cores, atomics, and all conversions. The table agrees with each of them.

use super::Rule;

/// Sorted by opcode.
pub(super) const ROWS: &[(u16, Rule)] = &[
    // MOV
    (0x202, Rule::DoubledBy(80, [1, 0, 1, 0])),
    // SEL
    (0x207, Rule::Plain([1, 1, 1, 0])),
    // FSEL
    (0x208, Rule::Plain([1, 1, 1, 0])),
    // FMNMX
    (0x209, Rule::Plain([1, 1, 1, 0])),
    // FSETP
    (0x20b, Rule::Plain([0, 1, 1, 0])),
    // ISETP
    (0x20c, Rule::DoubledBy(80, [0, 1, 1, 0])),
    // VIMNMX3
    (0x20f, Rule::Plain([1, 1, 1, 1])),
    // IADD3
    (0x210, Rule::Plain([1, 1, 1, 1])),
    // LEA
    (0x211, Rule::Plain([1, 1, 1, 1])),
    // LOP3
    (0x212, Rule::Plain([1, 1, 1, 1])),
    // IABS
    (0x213, Rule::Plain([1, 0, 1, 0])),
    // VABSDIFF
    (0x214, Rule::Plain([1, 1, 1, 2])),
    // PRMT
    (0x216, Rule::Plain([1, 1, 2, 1])),
    // IMNMX
    (0x217, Rule::DoubledBy(74, [1, 1, 1, 0])),
    // SHF
    (0x219, Rule::Plain([1, 1, 1, 1])),
    // SGXT
    (0x21a, Rule::Plain([1, 1, 1, 0])),
    // BMSK
    (0x21b, Rule::Plain([1, 1, 1, 0])),
    // FMUL
    (0x220, Rule::Plain([1, 1, 1, 0])),
    // FADD
    (0x221, Rule::Plain([1, 1, 1, 0])),
    // FFMA
    (0x223, Rule::Plain([1, 1, 1, 1])),
    // IMAD
    (0x224, Rule::Plain([1, 1, 1, 1])),
    // IMAD
    (0x225, Rule::Plain([2, 1, 1, 2])),
    // IDP
    (0x226, Rule::Plain([1, 1, 1, 2])),
    // IMAD
    (0x227, Rule::Plain([1, 1, 1, 2])),
    // DMUL
    (0x228, Rule::Plain([2, 2, 2, 0])),
    // DADD
    (0x229, Rule::Plain([2, 2, 0, 2])),
    // DSETP
    (0x22a, Rule::Plain([0, 2, 2, 0])),
    // DFMA
    (0x22b, Rule::Plain([2, 2, 2, 2])),
    // HADD2
    (0x230, Rule::Plain([1, 1, 1, 0])),
    // HFMA2
    (0x231, Rule::Plain([1, 1, 1, 1])),
    // HMUL2
    (0x232, Rule::Plain([1, 1, 1, 0])),
    // IADD/HFMA2
    (0x235, Rule::AddOrHalfFma([1, 1, 1, 0])),
    // IMMA
    (0x237, Rule::IntegerMatrix),
    // HMMA
    (0x23c, Rule::HalfMatrix),
    // F2FP
    (0x23e, Rule::Plain([1, 1, 1, 0])),
    // DMMA
    (0x23f, Rule::Plain([4, 4, 2, 4])),
    // HMNMX2
    (0x240, Rule::Plain([1, 1, 1, 0])),
    // I2FP
    (0x245, Rule::Plain([1, 0, 1, 0])),
    // VIMNMX
    (0x248, Rule::Plain([1, 1, 1, 0])),
    // USEL
    (0x287, Rule::Plain([0, 0, 0, 0])),
    // UISETP
    (0x28c, Rule::Plain([0, 0, 0, 0])),
    // UIADD3
    (0x290, Rule::Plain([0, 0, 0, 0])),
    // ULEA
    (0x291, Rule::Plain([0, 0, 0, 0])),
    // ULOP3
    (0x292, Rule::Plain([0, 0, 0, 0])),
    // UIMAD
    (0x2a4, Rule::Plain([0, 0, 0, 0])),
    // UIMAD
    (0x2a5, Rule::Plain([0, 0, 0, 0])),
    // UFLO
    (0x2bd, Rule::Plain([0, 0, 0, 0])),
    // UPOPC
    (0x2bf, Rule::Plain([0, 0, 0, 0])),
    // R2UR
    (0x2ca, Rule::Plain([0, 1, 0, 0])),
    // CREDUX
    (0x2cc, Rule::Plain([0, 1, 0, 0])),
    // FLO
    (0x300, Rule::Plain([1, 0, 1, 0])),
    // BREV
    (0x301, Rule::Plain([1, 0, 1, 0])),
    // FCHK
    (0x302, Rule::Plain([0, 1, 1, 0])),
    // F2I
    (0x305, Rule::Plain([1, 0, 1, 0])),
    // I2F
    (0x306, Rule::Plain([1, 0, 1, 0])),
    // FRND
    (0x307, Rule::Plain([1, 0, 1, 0])),
    // MUFU
    (0x308, Rule::Plain([1, 0, 1, 0])),
    // POPC
    (0x309, Rule::Plain([1, 0, 1, 0])),
    // F2F
    (0x310, Rule::Conversion),
    // F2I
    (0x311, Rule::Conversion),
    // I2F
    (0x312, Rule::Conversion),
    // FRND
    (0x313, Rule::Conversion),
    // WARPSYNC
    (0x348, Rule::WarpSync),
    // LEPC
    (0x34e, Rule::Plain([2, 0, 0, 0])),
    // BMOV
    (0x355, Rule::Plain([1, 0, 0, 0])),
    // BMOV
    (0x356, Rule::Plain([0, 0, 1, 0])),
    // LDG
    (0x381, Rule::Load { address: 2 }),
    // STG
    (0x386, Rule::Store { address: 2 }),
    // STL
    (0x387, Rule::Store { address: 1 }),
    // STS
    (0x388, Rule::Store { address: 1 }),
    // SHFL
    (0x389, Rule::Plain([1, 1, 1, 1])),
    // ATOMS
    (0x38c, Rule::Atomic { address: 1, result: true }),
    // ATOMS
    (0x38d, Rule::CompareAndSwap { address: 1, result: true }),
    // MATCH
    (0x3a1, Rule::Match),
    // ATOMG
    (0x3a9, Rule::CompareAndSwap { address: 2, result: true }),
    // R2UR
    (0x3c2, Rule::Plain([0, 1, 0, 0])),
    // REDUX
    (0x3c4, Rule::Plain([0, 1, 0, 0])),
    // MOV
    (0x402, Rule::Plain([2, 0, 0, 0])),
    // SEL
    (0x407, Rule::Plain([2, 2, 0, 0])),
    // FADD
    (0x421, Rule::Plain([1, 1, 0, 0])),
    // FFMA
    (0x423, Rule::Plain([1, 1, 0, 1])),
    // IMAD
    (0x424, Rule::Plain([1, 1, 0, 1])),
    // DADD
    (0x429, Rule::Plain([2, 2, 0, 0])),
    // DSETP
    (0x42a, Rule::Plain([0, 2, 0, 0])),
    // DFMA
    (0x42b, Rule::Plain([2, 2, 0, 2])),
    // HADD2
    (0x430, Rule::Plain([1, 1, 0, 0])),
    // HFMA2
    (0x431, Rule::Plain([1, 0, 0, 0])),
    // HSET2
    (0x433, Rule::Plain([1, 1, 0, 0])),
    // HFMA2
    (0x435, Rule::Plain([1, 0, 0, 0])),
    // VIADDMNMX
    (0x446, Rule::Plain([1, 1, 0, 1])),
    // UMOV
    (0x482, Rule::Plain([0, 0, 0, 0])),
    // BRA
    (0x547, Rule::Plain([0, 0, 0, 0])),
    // SHFL
    (0x589, Rule::Plain([1, 1, 1, 0])),
    // ATOMS
    (0x58d, Rule::CompareAndSwap { address: 1, result: false }),
    // SEL
    (0x607, Rule::Plain([2, 2, 2, 0])),
    // FADD
    (0x621, Rule::Plain([1, 1, 0, 0])),
    // IMAD
    (0x624, Rule::Plain([1, 1, 0, 1])),
    // IMAD
    (0x625, Rule::Plain([2, 1, 0, 1])),
    // DADD
    (0x629, Rule::Plain([2, 2, 0, 0])),
    // DSETP
    (0x62a, Rule::Plain([0, 2, 0, 0])),
    // DFMA
    (0x62b, Rule::Plain([2, 2, 0, 2])),
    // LDCU
    (0x7ac, Rule::Plain([0, 0, 0, 0])),
    // MOV
    (0x802, Rule::Plain([1, 0, 0, 0])),
    // P2R
    (0x803, Rule::Plain([1, 0, 0, 0])),
    // R2P
    (0x804, Rule::Plain([0, 1, 0, 0])),
    // CS2R
    (0x805, Rule::DoubledBy(80, [1, 0, 0, 0])),
    // VOTE
    (0x806, Rule::Plain([1, 0, 0, 0])),
    // SEL
    (0x807, Rule::Plain([1, 1, 0, 0])),
    // FSEL
    (0x808, Rule::Plain([1, 1, 0, 0])),
    // FMNMX
    (0x809, Rule::Plain([1, 1, 0, 0])),
    // FSETP
    (0x80b, Rule::Plain([0, 1, 0, 0])),
    // ISETP
    (0x80c, Rule::DoubledBy(80, [0, 1, 0, 0])),
    // IADD3
    (0x810, Rule::Plain([1, 1, 0, 1])),
    // LEA
    (0x811, Rule::Plain([1, 1, 0, 1])),
    // LOP3
    (0x812, Rule::Plain([1, 1, 0, 1])),
    // PRMT
    (0x816, Rule::Plain([1, 1, 0, 1])),
    // IMNMX
    (0x817, Rule::Plain([1, 1, 0, 0])),
    // SHF
    (0x819, Rule::Plain([1, 1, 0, 1])),
    // SGXT
    (0x81a, Rule::Plain([1, 1, 0, 0])),
    // PLOP3
    (0x81c, Rule::Plain([0, 0, 0, 0])),
    // FMUL
    (0x820, Rule::Plain([1, 1, 0, 0])),
    // FFMA
    (0x823, Rule::Plain([1, 1, 0, 1])),
    // IMAD
    (0x824, Rule::Plain([1, 1, 0, 1])),
    // IMAD
    (0x825, Rule::Plain([2, 1, 0, 2])),
    // IMAD
    (0x827, Rule::Plain([1, 1, 0, 2])),
    // DMUL
    (0x828, Rule::Plain([2, 2, 0, 0])),
    // DFMA
    (0x82b, Rule::Plain([2, 2, 0, 2])),
    // HFMA2
    (0x831, Rule::Plain([1, 1, 0, 1])),
    // IADD/HFMA2
    (0x835, Rule::AddOrHalfFma([1, 1, 0, 0])),
    // VIADD
    (0x836, Rule::Plain([1, 1, 0, 0])),
    // LDSM
    (0x83b, Rule::LoadMatrix),
    // VIADDMNMX
    (0x846, Rule::Plain([1, 1, 0, 1])),
    // VIMNMX
    (0x848, Rule::Plain([1, 1, 0, 0])),
    // UVIMNMX
    (0x84a, Rule::Plain([0, 0, 0, 0])),
    // UMOV
    (0x882, Rule::Plain([0, 0, 0, 0])),
    // VOTEU
    (0x886, Rule::Plain([0, 0, 0, 0])),
    // UISETP
    (0x88c, Rule::Plain([0, 0, 0, 0])),
    // UIADD3
    (0x890, Rule::Plain([0, 0, 0, 0])),
    // ULOP3
    (0x892, Rule::Plain([0, 0, 0, 0])),
    // UIADD3
    (0x897, Rule::Plain([0, 0, 0, 0])),
    // USHF
    (0x899, Rule::Plain([0, 0, 0, 0])),
    // UBMSK
    (0x89b, Rule::Plain([0, 0, 0, 0])),
    // UIMAD
    (0x8a4, Rule::Plain([0, 0, 0, 0])),
    // UIMAD
    (0x8a5, Rule::Plain([0, 0, 0, 0])),
    // CS2UR
    (0x8cb, Rule::Plain([0, 0, 0, 0])),
    // MUFU
    (0x908, Rule::Plain([1, 0, 0, 0])),
    // NOP
    (0x918, Rule::Plain([0, 0, 0, 0])),
    // S2R
    (0x919, Rule::Plain([1, 0, 0, 0])),
    // DEPBAR
    (0x91a, Rule::Plain([0, 0, 0, 0])),
    // ENDCOLLECTIVE
    (0x91b, Rule::Plain([0, 0, 0, 0])),
    // BSYNC
    (0x941, Rule::Plain([0, 0, 0, 0])),
    // BREAK
    (0x942, Rule::Plain([0, 0, 0, 0])),
    // BSSY
    (0x945, Rule::Plain([0, 0, 0, 0])),
    // YIELD
    (0x946, Rule::Plain([0, 0, 0, 0])),
    // BRA
    (0x947, Rule::Plain([0, 0, 0, 0])),
    // WARPSYNC
    (0x948, Rule::Plain([0, 0, 0, 0])),
    // BRX
    (0x949, Rule::Plain([0, 2, 0, 0])),
    // EXIT
    (0x94d, Rule::Plain([0, 0, 0, 0])),
    // LEPC
    (0x94e, Rule::Plain([2, 0, 0, 0])),
    // RET
    (0x950, Rule::Plain([0, 2, 0, 0])),
    // BRXU
    (0x958, Rule::Plain([0, 0, 0, 0])),
    // LD
    (0x980, Rule::Load { address: 2 }),
    // LDG
    (0x981, Rule::Load { address: 2 }),
    // LDL
    (0x983, Rule::Load { address: 1 }),
    // LDS
    (0x984, Rule::Load { address: 1 }),
    // ST
    (0x985, Rule::Store { address: 2 }),
    // STG
    (0x986, Rule::Store { address: 2 }),
    // STL
    (0x987, Rule::Store { address: 1 }),
    // STS
    (0x988, Rule::Store { address: 1 }),
    // SHFL
    (0x989, Rule::Plain([1, 1, 0, 0])),
    // ATOMS
    (0x98c, Rule::Atomic { address: 1, result: true }),
    // REDG/RED
    (0x98e, Rule::Atomic { address: 2, result: false }),
    // ATOMG
    (0x9a3, Rule::AtomicFloat { result: true }),
    // REDG
    (0x9a6, Rule::AtomicFloat { result: false }),
    // ATOMG
    (0x9a8, Rule::Atomic { address: 2, result: true }),
    // LDGDEPBAR
    (0x9af, Rule::Plain([0, 0, 0, 0])),
    // S2UR
    (0x9c3, Rule::Plain([0, 0, 0, 0])),
    // MOV
    (0xa02, Rule::Plain([1, 0, 0, 0])),
    // ISETP
    (0xa0c, Rule::DoubledBy(80, [0, 1, 0, 0])),
    // IADD3
    (0xa10, Rule::Plain([1, 1, 0, 1])),
    // LEA
    (0xa11, Rule::Plain([1, 1, 0, 1])),
    // LOP3
    (0xa12, Rule::Plain([1, 1, 0, 0])),
    // IABS
    (0xa13, Rule::Plain([1, 0, 0, 0])),
    // IMNMX
    (0xa17, Rule::Plain([1, 1, 0, 0])),
    // FMUL
    (0xa20, Rule::Plain([1, 1, 0, 0])),
    // FFMA
    (0xa23, Rule::Plain([1, 1, 0, 1])),
    // IMAD
    (0xa24, Rule::Plain([1, 1, 0, 1])),
    // IMAD
    (0xa25, Rule::Plain([2, 1, 0, 2])),
    // DMUL
    (0xa28, Rule::Plain([2, 2, 0, 0])),
    // DFMA
    (0xa2b, Rule::Plain([2, 2, 0, 2])),
    // ULDC
    (0xab9, Rule::Plain([0, 0, 0, 0])),
    // ULDC
    (0xabb, Rule::Plain([0, 0, 0, 0])),
    // FCHK
    (0xb02, Rule::Plain([0, 1, 0, 0])),
    // I2F
    (0xb06, Rule::Plain([1, 0, 0, 0])),
    // MUFU
    (0xb08, Rule::Plain([1, 0, 0, 0])),
    // BAR
    (0xb1d, Rule::Plain([0, 0, 0, 0])),
    // TLD
    (0xb66, Rule::Plain([1, 1, 0, 0])),
    // LDC
    (0xb82, Rule::Load { address: 1 }),
    // SULD
    (0xb99, Rule::Plain([1, 2, 0, 0])),
    // SUST
    (0xb9d, Rule::Plain([0, 2, 1, 0])),
    // MOV
    (0xc02, Rule::DoubledBy(80, [1, 0, 0, 0])),
    // SEL
    (0xc07, Rule::Plain([1, 1, 0, 0])),
    // FSETP
    (0xc0b, Rule::Plain([0, 1, 0, 0])),
    // ISETP
    (0xc0c, Rule::DoubledBy(80, [0, 1, 0, 0])),
    // IADD3
    (0xc10, Rule::Plain([1, 1, 0, 1])),
    // LEA
    (0xc11, Rule::Plain([1, 1, 0, 1])),
    // LOP3
    (0xc12, Rule::Plain([1, 1, 0, 0])),
    // FMUL
    (0xc20, Rule::Plain([1, 1, 0, 0])),
    // FFMA
    (0xc23, Rule::Plain([1, 1, 0, 1])),
    // IMAD
    (0xc24, Rule::Plain([1, 1, 0, 1])),
    // IMAD
    (0xc25, Rule::Plain([2, 1, 0, 0])),
    // DMUL
    (0xc28, Rule::Plain([2, 2, 0, 0])),
    // DFMA
    (0xc2b, Rule::Plain([2, 2, 0, 2])),
    // IADD
    (0xc35, Rule::AddOrHalfFma([1, 1, 0, 0])),
    // VIADD
    (0xc36, Rule::Plain([1, 1, 0, 0])),
    // I2FP
    (0xc45, Rule::Plain([1, 0, 0, 0])),
    // VIMNMX
    (0xc48, Rule::Plain([1, 1, 0, 0])),
    // UMOV
    (0xc82, Rule::Plain([0, 0, 0, 0])),
    // FLO
    (0xd00, Rule::Plain([1, 0, 0, 0])),
    // I2F
    (0xd06, Rule::Plain([1, 0, 0, 0])),
    // MUFU
    (0xd08, Rule::Plain([1, 0, 0, 0])),
    // POPC
    (0xd09, Rule::Plain([1, 0, 0, 0])),
    // I2F
    (0xd12, Rule::Plain([2, 0, 0, 0])),
    // SEL
    (0xe07, Rule::Plain([2, 2, 0, 0])),
    // FADD
    (0xe21, Rule::Plain([1, 1, 0, 1])),
    // IMAD
    (0xe24, Rule::Plain([1, 1, 0, 1])),
    // DADD
    (0xe29, Rule::Plain([2, 2, 0, 0])),
    // DSETP
    (0xe2a, Rule::Plain([0, 2, 0, 0])),
    // DFMA
    (0xe2b, Rule::Plain([2, 2, 0, 2])),
    // TLD
    (0xf66, Rule::Plain([1, 1, 0, 0])),
    // SHFL
    (0xf89, Rule::Plain([1, 1, 0, 0])),
    // ATOMS
    (0xf8c, Rule::Plain([0, 1, 0, 0])),
    // SULD
    (0xf99, Rule::Plain([1, 2, 0, 0])),
    // SUST
    (0xf9d, Rule::Plain([0, 2, 1, 0])),
    // LDGSTS
    (0xfae, Rule::CopyToShared),
];
