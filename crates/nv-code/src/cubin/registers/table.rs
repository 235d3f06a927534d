//! The rule for the registers of each operation: the low 9 bits of an instruction's first word.
//!
//! Inferred from what nvdisasm 13.5 prints (`-plr`, which marks the registers that an instruction reads and writes) of
//! 2.0 million instructions of sm_75 to sm_120, and of 25,000 encodings made from them by turning one modifier bit over.

use super::rule::{Rule, Space, Texture};

/// Sorted by operation. Operations 0x80 to 0xbf are those of the uniform datapath, which use no register of a thread.
pub(super) const ROWS: &[(u16, Rule)] = &[
    // PMTRIG
    (0x001, Rule::Operands([0, 0, 0, 0])),
    // MOV
    (0x002, Rule::Move),
    // P2R
    (0x003, Rule::Operands([1, 1, 0, 0])),
    // R2P
    (0x004, Rule::Operands([0, 1, 0, 0])),
    // CS2R
    (0x005, Rule::DoubledBy(80, [1, 0, 0, 0])),
    // VOTE
    (0x006, Rule::Operands([1, 0, 0, 0])),
    // SEL
    (0x007, Rule::Select),
    // FSEL
    (0x008, Rule::Operands([1, 1, 1, 0])),
    // FMNMX
    (0x009, Rule::Operands([1, 1, 1, 0])),
    // FSET
    (0x00a, Rule::Operands([1, 1, 1, 0])),
    // FSETP
    (0x00b, Rule::Operands([0, 1, 1, 0])),
    // ISETP
    (0x00c, Rule::WideBy(80, [0, 1, 1, 0])),
    // VIMNMX3
    (0x00f, Rule::Operands([1, 1, 1, 1])),
    // IADD3
    (0x010, Rule::Operands([1, 1, 1, 1])),
    // LEA
    (0x011, Rule::ShiftAndAdd),
    // LOP3
    (0x012, Rule::Operands([1, 1, 1, 1])),
    // IABS
    (0x013, Rule::Operands([1, 0, 1, 0])),
    // VABSDIFF
    (0x014, Rule::Operands([1, 1, 1, 1])),
    // VABSDIFF4
    (0x015, Rule::Operands([1, 1, 1, 1])),
    // PRMT
    (0x016, Rule::Operands([1, 1, 1, 1])),
    // IMNMX
    (0x017, Rule::WideBy(74, [1, 1, 1, 0])),
    // SHF
    (0x019, Rule::Operands([1, 1, 1, 1])),
    // SGXT
    (0x01a, Rule::Operands([1, 1, 1, 0])),
    // BMSK
    (0x01b, Rule::Operands([1, 1, 1, 0])),
    // PLOP3
    (0x01c, Rule::Operands([0, 0, 0, 0])),
    // FMUL
    (0x020, Rule::Operands([1, 1, 1, 0])),
    // FADD
    (0x021, Rule::Operands([1, 1, 1, 0])),
    // FSWZADD
    (0x022, Rule::Operands([1, 1, 0, 1])),
    // FFMA
    (0x023, Rule::Operands([1, 1, 1, 1])),
    // IMAD
    (0x024, Rule::Operands([1, 1, 1, 1])),
    // IMAD.WIDE
    (0x025, Rule::Operands([2, 1, 1, 2])),
    // IDP
    (0x026, Rule::Operands([1, 1, 1, 1])),
    // IMAD.HI
    (0x027, Rule::Operands([1, 1, 1, 2])),
    // DMUL
    (0x028, Rule::Operands([2, 2, 2, 0])),
    // DADD
    (0x029, Rule::Operands([2, 2, 0, 2])),
    // DSETP
    (0x02a, Rule::Operands([0, 2, 2, 0])),
    // DFMA
    (0x02b, Rule::Operands([2, 2, 2, 2])),
    // PREEXIT
    (0x02d, Rule::Operands([0, 0, 0, 0])),
    // ACQBULK
    (0x02e, Rule::Operands([0, 0, 0, 0])),
    // ELECT
    (0x02f, Rule::Operands([0, 0, 0, 0])),
    // HADD2
    (0x030, Rule::Operands([1, 1, 1, 0])),
    // HFMA2
    (0x031, Rule::Operands([1, 1, 1, 1])),
    // HMUL2
    (0x032, Rule::Operands([1, 1, 1, 0])),
    // HSET2
    (0x033, Rule::Operands([1, 1, 1, 0])),
    // HSETP2
    (0x034, Rule::Operands([0, 1, 1, 0])),
    // IADD, or HFMA2.MMA before sm_100
    (0x035, Rule::AddOrHalfFma),
    // VIADD
    (0x036, Rule::Operands([1, 1, 1, 0])),
    // IMMA
    (0x037, Rule::IntegerMatrix),
    // I2I
    (0x038, Rule::Operands([1, 0, 1, 0])),
    // I2IP
    (0x039, Rule::Operands([1, 1, 1, 1])),
    // MOVM
    (0x03a, Rule::MoveMatrix),
    // LDSM
    (0x03b, Rule::LoadMatrix),
    // HMMA
    (0x03c, Rule::HalfMatrix),
    // BMMA
    (0x03d, Rule::BitMatrix),
    // F2FP
    (0x03e, Rule::PackFloats),
    // DMMA
    (0x03f, Rule::DoubleMatrix),
    // HMNMX2
    (0x040, Rule::Operands([1, 1, 1, 0])),
    // STSM
    (0x044, Rule::StoreMatrix),
    // I2FP
    (0x045, Rule::Operands([1, 0, 1, 0])),
    // VIADDMNMX
    (0x046, Rule::Operands([1, 1, 1, 1])),
    // VIMNMX
    (0x048, Rule::Operands([1, 1, 1, 0])),
    // FFMA2
    (0x049, Rule::PairOfFloats([2, 2, 2, 2])),
    // FMUL2, or UVIMNMX
    (0x04a, Rule::PairOfFloats([2, 2, 2, 0])),
    // FADD2
    (0x04b, Rule::PairOfFloats([2, 2, 2, 0])),
    // UFADD
    (0x054, Rule::Operands([0, 0, 0, 0])),
    // UFFMA
    (0x055, Rule::Operands([0, 0, 0, 0])),
    // UFMUL
    (0x056, Rule::Operands([0, 0, 0, 0])),
    // UF2I
    (0x05c, Rule::Operands([0, 0, 0, 0])),
    // UI2FP
    (0x05e, Rule::Operands([0, 0, 0, 0])),
    // FMNMX3
    (0x076, Rule::Operands([1, 1, 1, 1])),
    // QMMA
    (0x07a, Rule::ByteFloatMatrix),
    // R2UR
    (0x0ca, Rule::Operands([0, 1, 0, 0])),
    // CS2UR
    (0x0cb, Rule::Operands([0, 0, 0, 0])),
    // CREDUX
    (0x0cc, Rule::Operands([0, 1, 0, 0])),
    // FLO
    (0x100, Rule::Operands([1, 0, 1, 0])),
    // BREV
    (0x101, Rule::Operands([1, 0, 1, 0])),
    // FCHK
    (0x102, Rule::Operands([0, 1, 1, 0])),
    // F2F
    (0x104, Rule::Operands([1, 0, 1, 0])),
    // F2I
    (0x105, Rule::Operands([1, 0, 1, 0])),
    // I2F
    (0x106, Rule::Operands([1, 0, 1, 0])),
    // FRND
    (0x107, Rule::Operands([1, 0, 1, 0])),
    // MUFU
    (0x108, Rule::Operands([1, 0, 1, 0])),
    // POPC
    (0x109, Rule::Operands([1, 0, 1, 0])),
    // F2F
    (0x110, Rule::Conversion),
    // F2I
    (0x111, Rule::Conversion),
    // I2F
    (0x112, Rule::Conversion),
    // FRND
    (0x113, Rule::Conversion),
    // NOP
    (0x118, Rule::Operands([0, 0, 0, 0])),
    // S2R
    (0x119, Rule::Operands([1, 0, 0, 0])),
    // DEPBAR
    (0x11a, Rule::Operands([0, 0, 0, 0])),
    // ENDCOLLECTIVE
    (0x11b, Rule::Operands([0, 0, 0, 0])),
    // B2R
    (0x11c, Rule::Operands([1, 0, 0, 0])),
    // BAR
    (0x11d, Rule::Barrier),
    // BSYNC
    (0x141, Rule::Operands([0, 0, 0, 0])),
    // BREAK
    (0x142, Rule::Operands([0, 0, 0, 0])),
    // CALL.ABS
    (0x143, Rule::Call),
    // CALL.REL
    (0x144, Rule::Call),
    // BSSY
    (0x145, Rule::Operands([0, 0, 0, 0])),
    // YIELD
    (0x146, Rule::Operands([0, 0, 0, 0])),
    // BRA
    (0x147, Rule::Operands([0, 0, 0, 0])),
    // WARPSYNC
    (0x148, Rule::WarpSync),
    // BRX
    (0x149, Rule::Operands([0, 2, 0, 0])),
    // EXIT
    (0x14d, Rule::Operands([0, 0, 0, 0])),
    // LEPC
    (0x14e, Rule::Operands([2, 0, 0, 0])),
    // RET
    (0x150, Rule::Operands([0, 2, 0, 0])),
    // BMOV
    (0x155, Rule::OfRegisters([1, 0, 0, 0])),
    // BMOV
    (0x156, Rule::OfRegisters([0, 0, 1, 0])),
    // BRXU
    (0x158, Rule::Operands([0, 0, 0, 0])),
    // BPT
    (0x15c, Rule::Operands([0, 0, 0, 0])),
    // NANOSLEEP
    (0x15d, Rule::Operands([0, 0, 1, 0])),
    // TEX
    (0x160, Rule::Texture(Texture::Sample)),
    // TEX
    (0x161, Rule::Texture(Texture::Sample)),
    // TLD4
    (0x163, Rule::Texture(Texture::Gather)),
    // TLD
    (0x166, Rule::Texture(Texture::Sample)),
    // TXD
    (0x16c, Rule::Texture(Texture::Gradient)),
    // LDG.256
    (0x17e, Rule::WideLoad),
    // STG.256
    (0x17f, Rule::WideStore),
    // LD
    (0x180, Rule::Load(Space::Generic)),
    // LDG
    (0x181, Rule::Load(Space::Generic)),
    // LDC
    (0x182, Rule::Load(Space::Own)),
    // LDL
    (0x183, Rule::Load(Space::Own)),
    // LDS
    (0x184, Rule::Load(Space::Own)),
    // ST
    (0x185, Rule::Store(Space::Generic)),
    // STG
    (0x186, Rule::Store(Space::Generic)),
    // STL
    (0x187, Rule::Store(Space::Own)),
    // STS
    (0x188, Rule::Store(Space::Own)),
    // SHFL
    (0x189, Rule::Shuffle),
    // ATOM
    (0x18a, Rule::Atomic(Space::Generic)),
    // ATOM.CAS
    (0x18b, Rule::CompareAndSwap(Space::Generic)),
    // ATOMS
    (0x18c, Rule::Atomic(Space::Own)),
    // ATOMS.CAS
    (0x18d, Rule::CompareAndSwap(Space::Own)),
    // RED
    (0x18e, Rule::Reduction),
    // CCTL
    (0x18f, Rule::CacheControl),
    // MEMBAR
    (0x192, Rule::Operands([0, 0, 0, 0])),
    // SULD
    (0x199, Rule::SurfaceLoad),
    // SUST
    (0x19d, Rule::SurfaceStore),
    // MATCH
    (0x1a1, Rule::Match),
    // ATOM
    (0x1a2, Rule::AtomicFloat),
    // ATOMG
    (0x1a3, Rule::AtomicFloat),
    // REDG
    (0x1a6, Rule::ReductionOfFloats),
    // SYNCS
    (0x1a7, Rule::SharedBarrier),
    // ATOMG
    (0x1a8, Rule::Atomic(Space::Generic)),
    // ATOMG.CAS
    (0x1a9, Rule::CompareAndSwap(Space::Generic)),
    // QSPC
    (0x1aa, Rule::Operands([1, 2, 0, 0])),
    // ERRBAR
    (0x1ab, Rule::Operands([0, 0, 0, 0])),
    // LDCU
    (0x1ac, Rule::Operands([0, 0, 0, 0])),
    // LDGSTS
    (0x1ae, Rule::CopyToShared),
    // LDGDEPBAR
    (0x1af, Rule::Operands([0, 0, 0, 0])),
    // ARRIVES
    (0x1b0, Rule::Operands([0, 1, 0, 0])),
    // SYNCS
    (0x1b2, Rule::Operands([0, 0, 0, 0])),
    // UTMALDG
    (0x1b4, Rule::Operands([0, 0, 0, 0])),
    // UTMASTG
    (0x1b5, Rule::Operands([0, 0, 0, 0])),
    // UTMACMDFLUSH
    (0x1b7, Rule::Operands([0, 0, 0, 0])),
    // UBLKCP
    (0x1ba, Rule::Operands([0, 0, 0, 0])),
    // UBLKRED
    (0x1bb, Rule::Operands([0, 0, 0, 0])),
    // STAS
    (0x1bd, Rule::StoreAsync),
    // R2UR
    (0x1c2, Rule::Operands([0, 1, 0, 0])),
    // S2UR
    (0x1c3, Rule::Operands([0, 0, 0, 0])),
    // REDUX
    (0x1c4, Rule::Operands([0, 1, 0, 0])),
    // WARPGROUP
    (0x1c5, Rule::Operands([0, 0, 0, 0])),
    // FENCE
    (0x1c6, Rule::Operands([0, 0, 0, 0])),
    // UCGABAR
    (0x1c7, Rule::Operands([0, 0, 0, 0])),
    // UTCATOMSWS
    (0x1e3, Rule::Operands([0, 0, 0, 0])),
    // UTCCP
    (0x1e7, Rule::Operands([0, 0, 0, 0])),
    // UTCBAR
    (0x1e9, Rule::Operands([0, 0, 0, 0])),
    // UTCHMMA
    (0x1ea, Rule::Operands([0, 0, 0, 0])),
    // STTM
    (0x1ed, Rule::StoreTensor),
    // LDTM
    (0x1ee, Rule::LoadTensor),
    // HGMMA
    (0x1f0, Rule::WarpGroupMatrix),
    // IGMMA
    (0x1f1, Rule::WarpGroupMatrix),
];
