//! How the registers of an instruction follow from its encoding.
//!
//! An instruction has up to four register fields: `d`, `a` and `b` in the first word (bits 16, 24 and 32), and `c` in
//! the second word (bit 64). The operation says how many consecutive registers each operand has; the form (bits 9 to 11)
//! says which operands are registers, and in which field they stand. For loads, atomics, conversions, textures and matrix
//! instructions, further bits decide. NVIDIA documents none of it: see `table`.

use super::Operands;

/// Consecutive registers per operand: `[d, a, b, c]`. `d` is written, the others are read.
type Widths = [u8; 4];

/// One instruction of architecture `number`.
pub(super) struct Encoding {
    pub number: u32,
    pub lo: u64,
    pub hi: u64,
}

/// What an address is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    /// Global or generic memory: 64 bits.
    Generic,
    /// Local, shared or constant memory: 32 bits.
    Own,
}

/// How a texture is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Texture {
    Sample,
    /// Four texels of one component.
    Gather,
    /// Derivatives are given.
    Gradient,
}

/// How the registers of an operation follow from its encoding.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    /// The form says which operands are registers.
    Operands(Widths),
    /// The same; all operands are register pairs if this bit is set.
    DoubledBy(u32, Widths),
    /// The same, on sm_120 and later alone.
    WideBy(u32, Widths),
    /// Register operands in the form for registers only, none in the others.
    OfRegisters(Widths),
    Move,
    Select,
    /// `LEA`, which has a third operand if it gives the high half, unless that is the sign (`SX32`).
    ShiftAndAdd,
    /// `IADD` from sm_100 on, `HFMA2.MMA` before.
    AddOrHalfFma,
    /// Two floats at once on sm_100 and sm_103; other architectures have something else, or nothing.
    PairOfFloats(Widths),
    PackFloats,
    Conversion,
    Load(Space),
    Store(Space),
    StoreAsync,
    WideLoad,
    WideStore,
    Atomic(Space),
    AtomicFloat,
    CompareAndSwap(Space),
    Reduction,
    ReductionOfFloats,
    CacheControl,
    CopyToShared,
    /// `SYNCS`, a barrier in shared memory.
    SharedBarrier,
    Barrier,
    Shuffle,
    Match,
    WarpSync,
    Call,
    Texture(Texture),
    SurfaceLoad,
    SurfaceStore,
    LoadMatrix,
    StoreMatrix,
    MoveMatrix,
    HalfMatrix,
    IntegerMatrix,
    BitMatrix,
    DoubleMatrix,
    ByteFloatMatrix,
    WarpGroupMatrix,
    LoadTensor,
    StoreTensor,
}

impl Encoding {
    /// The operation: the opcode without the form.
    pub fn operation(&self) -> u16 {
        (self.lo & 0x1ff) as u16
    }

    fn form(&self) -> u64 {
        self.lo >> 9 & 7
    }

    fn bit(&self, at: u32) -> bool {
        self.bits(at, 1) != 0
    }

    /// Bits that lie in one of the two words.
    fn bits(&self, at: u32, count: u32) -> u64 {
        let word = if at < 64 { self.lo >> at } else { self.hi >> (at - 64) };
        word & ((1 << count) - 1)
    }

    fn fields(&self) -> [u8; 4] {
        [self.lo >> 16, self.lo >> 24, self.lo >> 32, self.hi].map(|field| (field & 0xff) as u8)
    }

    /// Operands whose widths are in the order of the fields.
    fn in_fields(&self, [of_d, of_a, of_b, of_c]: Widths) -> Operands {
        let [d, a, b, c] = self.fields();
        let mut found = Operands::default();
        found.writes.extend(d, of_d);
        found.reads.extend(a, of_a);
        found.reads.extend(b, of_b);
        found.reads.extend(c, of_c);
        found
    }

    /// The widths in the order of the fields: an operand that is a constant, or in a uniform register, leaves its field to
    /// nothing, or to the other operand.
    fn by_form(&self, [d, a, b, c]: Widths) -> Widths {
        match self.form() {
            1 => [d, a, b, c],
            2 | 3 | 7 if c > 0 => [d, a, 0, b],
            2 | 3 | 7 => [d, a, 0, 0],
            _ => [d, a, 0, c],
        }
    }

    /// Registers of an access, by the size in bits 73 to 75.
    fn access(&self) -> u8 {
        match self.bits(73, 3) {
            5 => 2,
            6 => 4,
            _ => 1,
        }
    }

    /// Registers of an address.
    fn address(&self, space: Space) -> u8 {
        if space == Space::Generic && self.bit(72) { 2 } else { 1 }
    }

    /// Registers of the address of a load or store, whose register may be a 32-bit offset to a uniform register.
    fn offset_address(&self, space: Space) -> u8 {
        let is_offset = self.bit(91) && !self.bit(90);
        if is_offset { 1 } else { self.address(space) }
    }

    /// Registers of the value of an atomic, by its type: 2 is `U64`. The others changed with sm_90, where 3 is `S64` and 4 has
    /// 128 bits; before, 5 was `S64` and 6 `F64`.
    fn atomic(&self) -> u8 {
        match (self.bits(73, 3), self.number >= 90) {
            (2, _) | (3, true) | (5 | 6, false) => 2,
            (4, true) => 4,
            _ => 1,
        }
    }

    /// Registers of the value of an atomic on floats, which has operations of its own from sm_90 on: `F16x4`, `BF16x4`,
    /// `F32x2` and `F64` have two, `F16x8`, `BF16x8` and `F32x4` four.
    fn atomic_float(&self) -> u8 {
        match self.bits(73, 4) {
            1 | 4 | 10 | 13 | 15 => 2,
            2 | 5 | 11 | 14 => 4,
            _ => 1,
        }
    }

    /// The registers of a matrix instruction for sparse matrices: another one, in bits 40 to 47, has the positions.
    fn with_positions(&self, widths: Widths) -> Operands {
        let mut found = self.in_fields(widths);
        found.reads.extend(self.bits(40, 8) as u8, 1);
        found
    }

    /// Matrices that a load or store moves, with a register each.
    fn matrices(&self) -> u8 {
        1 << self.bits(72, 2).min(2)
    }

    /// Coordinates of a texel, the layer included; `None` for an invalid dimension.
    fn texture_coordinates(&self) -> Option<u8> {
        Some(match self.bits(61, 3) {
            0 => 1,
            1 | 4 => 2,
            2 | 3 | 5 => 3,
            7 => 4,
            _ => return None,
        })
    }

    /// Coordinates of an element of a surface, the layer included.
    fn surface_coordinates(&self) -> u8 {
        match self.bits(61, 3) {
            0 | 1 => 1,
            2 | 3 => 2,
            _ => 3,
        }
    }

    fn texture(&self, kind: Texture) -> Option<Operands> {
        let coordinates = self.texture_coordinates()?;
        let one_if = |at: u32| u8::from(self.bit(at));
        // Components of the result, two in each of two fields; 16-bit ones share registers.
        let components = self.bits(72, 4).count_ones() as u8;
        let results = if self.bits(79, 2) == 0 { components } else { components.div_ceil(2) };
        let (first, second) = (results.min(2), results.saturating_sub(2));
        // The level of detail is given, biased, or clamped; or it is zero, or found by the hardware.
        let level = u8::from(self.bits(87, 3) >= 2);
        // Offsets (`AOFFI`), a depth to compare with (`DC`), and a handle (`B`).
        let (offsets, depth, handle) = (one_if(76), one_if(78), one_if(59));
        let more = match kind {
            Texture::Gradient => offsets + handle + one_if(87),
            // Four pairs of offsets, in two registers (`PTP`).
            Texture::Gather => offsets + 2 * one_if(77) + depth + handle,
            Texture::Sample => level + offsets + depth + handle,
        };
        let is_packed = self.bit(60);
        let (of_a, of_b) = match kind {
            Texture::Gradient => (coordinates + more, 2 * coordinates.min(2)),
            _ if is_packed => ((coordinates + more).div_ceil(2), (coordinates + more) / 2),
            _ => (coordinates, more),
        };
        let mut found = self.in_fields([first, of_a, of_b, 0]);
        found.writes.extend(self.fields()[3], second);
        Some(found)
    }

    /// Registers that a warp's instruction for tensor memory moves; `None` for a shape that does not exist.
    fn tensor(&self) -> Option<u8> {
        let of_shape = match (self.bit(87), self.bits(81, 2)) {
            (false, 0) => 2,
            (false, 1) => 4,
            (false, _) | (true, 0 | 1) => 1,
            (true, _) => return None,
        };
        u8::checked_shl(of_shape, self.bits(83, 3) as u32).filter(|count| (1..=128).contains(count))
    }

    /// `HMMA`: `TF32` has two shapes, and 16-bit types have two different ones.
    fn half_matrix(&self) -> Option<Operands> {
        let sums = if self.bit(76) { 4 } else { 2 };
        let is_single = self.bit(83);
        if self.bit(73) {
            let inputs = if self.bit(75) && self.bit(78) { 4 } else { 2 };
            return (!is_single).then(|| self.with_positions([sums, inputs, inputs, sums]));
        }
        let is_long = if is_single { !self.bit(78) } else { self.bit(75) };
        Some(self.in_fields(if is_long { [sums, 4, 2, sums] } else { [sums, 2, 1, sums] }))
    }

    /// `IMMA`: the shape bit of 4-bit types differs from that of 8-bit types.
    fn integer_matrix(&self) -> Option<Operands> {
        let is_small = self.bit(83);
        if self.bit(72) {
            let inputs = if self.bit(85) { 4 } else { 2 };
            return (!is_small && self.bit(86)).then(|| self.with_positions([4, inputs, inputs, 4]));
        }
        let is_long = if is_small { self.bit(85) } else { self.bit(75) };
        Some(self.in_fields(match (self.bit(86), is_long) {
            (false, _) => [2, 1, 1, 2],
            (true, true) => [4, 4, 2, 4],
            (true, false) => [4, 2, 1, 4],
        }))
    }

    /// `HGMMA` and `IGMMA`: a warp group's product, whose left factor may be in registers.
    fn warp_group_matrix(&self) -> Option<Operands> {
        let columns = self.bits(53, 5) as u8 + 1;
        // Sums of 16 bits share registers.
        let is_half = self.operation() == 0x1f0 && !self.bit(75);
        let sums = columns * if is_half { 2 } else { 4 };
        let of_a = if self.form() == 6 { 4 } else { 0 };
        (!self.bit(73)).then(|| self.in_fields([sums, of_a, 0, sums]))
    }
}

impl Rule {
    /// The registers of an instruction; `None` if they are not known.
    pub fn operands(self, code: &Encoding) -> Option<Operands> {
        let doubled = |widths: Widths| widths.map(|width| width * 2);
        let widths = match self {
            Self::Operands(widths) => code.by_form(widths),
            Self::DoubledBy(at, widths) if code.bit(at) => code.by_form(doubled(widths)),
            Self::WideBy(at, widths) if code.bit(at) && code.number >= 120 => code.by_form(doubled(widths)),
            Self::DoubledBy(_, widths) | Self::WideBy(_, widths) => code.by_form(widths),
            Self::OfRegisters(widths) if code.form() == 1 => widths,
            Self::OfRegisters(_) => [0; 4],
            // A constant of 64 bits takes both places.
            Self::Move if code.form() == 2 => [2, 0, 0, 0],
            Self::Move if code.bit(80) && code.number >= 120 => code.by_form([2, 0, 2, 0]),
            Self::Move => code.by_form([1, 0, 1, 0]),
            // Some forms are taken for pairs of registers.
            Self::Select => match code.form() {
                3 => [2, 2, 2, 0],
                2 | 7 => [2, 2, 0, 0],
                _ => code.by_form([1, 1, 1, 0]),
            },
            Self::ShiftAndAdd => code.by_form([1, 1, 1, u8::from(code.bit(80) && !code.bit(73))]),
            Self::AddOrHalfFma if code.number < 100 => code.by_form([1, 1, 1, 1]),
            Self::AddOrHalfFma if code.bit(73) => code.by_form([2, 2, 2, 0]),
            Self::AddOrHalfFma => code.by_form([1, 1, 1, 0]),
            Self::PairOfFloats(widths) => match code.number {
                // One number for both halves.
                100 | 103 if code.bit(82) => code.by_form([widths[0], 1, widths[2], widths[3]]),
                100 | 103 => code.by_form(widths),
                120 | 121 if code.operation() == 0x4a => [0; 4],
                _ => return None,
            },
            // Merged with a third operand, or rounded by its bits.
            Self::PackFloats => code.by_form([1, 1, 1, u8::from(code.bit(78) || code.bit(81))]),
            Self::Conversion => {
                let is_wide = |low: u32| code.bit(low) && code.bit(low + 1);
                code.by_form([1 + u8::from(is_wide(75)), 0, 1 + u8::from(is_wide(84)), 0])
            }
            Self::Load(space) => [code.access(), code.offset_address(space), 0, 0],
            // Generic stores have their value in the other field where the address has no uniform register.
            Self::Store(space) if code.operation() == 0x185 && code.form() == 1 => {
                [0, code.offset_address(space), 0, code.access()]
            }
            Self::Store(space) => [0, code.offset_address(space), code.access(), 0],
            Self::StoreAsync => [0, 2, code.access(), 0],
            Self::WideLoad => {
                let mut found = code.in_fields([4, 2, 0, 0]);
                found.writes.extend(code.fields()[3], 4);
                return Some(found);
            }
            Self::WideStore => {
                let mut found = code.in_fields([0, 2, 4, 0]);
                found.reads.extend(code.fields()[0], 4);
                return Some(found);
            }
            // Without a value: `ATOMS.POPC.INC` and `ATOMS.ARRIVE`.
            Self::Atomic(Space::Own) if code.form() == 7 => [code.atomic(), 1, 0, 0],
            Self::Atomic(space) => [code.atomic(), code.address(space), code.atomic(), 0],
            Self::AtomicFloat => [code.atomic_float(), code.address(Space::Generic), code.atomic_float(), 0],
            Self::CompareAndSwap(space) => {
                let value = code.atomic();
                // Form 2 gives a predicate in place of the old value.
                [if code.form() == 2 { 0 } else { value }, code.address(space), value, value]
            }
            Self::Reduction => [0, code.address(Space::Generic), code.atomic(), 0],
            Self::ReductionOfFloats => [0, code.address(Space::Generic), code.atomic_float(), 0],
            Self::CacheControl => [0, code.address(Space::Generic), 0, 0],
            Self::CopyToShared => {
                let mut found = code.in_fields([0, 2, 0, 0]);
                found.reads.extend(code.fields()[0], 1);
                return Some(found);
            }
            Self::SharedBarrier => [if code.form() == 2 { 0 } else { 2 }, 1, 1, 0],
            Self::Barrier => [0, 0, u8::from(matches!(code.form(), 1 | 2)), 0],
            Self::Shuffle => match code.form() {
                1 => [1, 1, 1, 1],
                2 => [1, 1, 1, 0],
                4 => [1, 1, 0, 1],
                _ => [1, 1, 0, 0],
            },
            Self::Match => [1, 1 + u8::from(code.bit(73)), 0, 0],
            Self::WarpSync if code.form() != 1 => [0; 4],
            Self::WarpSync if code.number >= 90 => [0, 1, 0, 0],
            Self::WarpSync => [0, 0, 1, 0],
            Self::Call => [0, if code.form() == 1 { 2 } else { 0 }, 0, 0],
            Self::Texture(kind) => return code.texture(kind),
            Self::SurfaceLoad => [code.access(), code.surface_coordinates(), 0, 0],
            Self::SurfaceStore => [0, code.surface_coordinates(), code.access(), 0],
            Self::LoadMatrix => [code.matrices() << u8::from(code.bit(80) && code.number >= 100), 1, 0, 0],
            Self::StoreMatrix => [0, 1, code.matrices(), 0],
            Self::MoveMatrix => [if code.bits(78, 2) == 0 { 1 } else { 2 }, 1, 0, 0],
            Self::HalfMatrix => return code.half_matrix(),
            Self::IntegerMatrix => return code.integer_matrix(),
            Self::BitMatrix => match (code.bit(75), code.bit(76)) {
                (false, false) => [2, 1, 1, 2],
                (true, false) => [4, 2, 1, 4],
                (false, true) => [4, 4, 2, 4],
                (true, true) => return None,
            },
            Self::DoubleMatrix => match code.bits(76, 2) {
                0 => [4, 2, 2, 4],
                1 => [8, 4, 2, 8],
                2 => [8, 8, 4, 8],
                _ => [8, 16, 8, 8],
            },
            Self::ByteFloatMatrix if code.bit(80) => return None,
            Self::ByteFloatMatrix => {
                let sums = if code.bit(77) { 4 } else { 2 };
                if code.bit(75) { [sums, 4, 2, sums] } else { [sums, 2, 1, sums] }
            }
            Self::WarpGroupMatrix => return code.warp_group_matrix(),
            Self::LoadTensor => [code.tensor()?, 0, 0, 0],
            Self::StoreTensor => [0, 0, code.tensor()?, 0],
        };
        Some(code.in_fields(widths))
    }
}
