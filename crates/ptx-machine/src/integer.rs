//! Integer operations on register values: 64 bits, zero-extended from the operation's type.
//!
//! PTX ISA 9.7.1 "Integer Arithmetic Instructions", 9.7.8 "Logic and Shift Instructions".

/// Operations on an integer type.
pub(crate) trait Int: Copy + Ord + Sized {
    const BITS: u32;
    const SIGNED: bool;
    fn of(bits: u64) -> Self;
    /// Zero-extended.
    fn bits(self) -> u64;
    fn wide(self) -> i128;
    fn of_wide(value: i128) -> Self;
    fn clamp_wide(value: i128) -> Self;
}

macro_rules! int {
    ($($name:ident $unsigned:ident $signed:literal,)*) => { $(
        impl Int for $name {
            const BITS: u32 = $name::BITS;
            const SIGNED: bool = $signed;
            #[inline(always)]
            fn of(bits: u64) -> Self { bits as $name }
            #[inline(always)]
            fn bits(self) -> u64 { u64::from(self as $unsigned) }
            #[inline(always)]
            fn wide(self) -> i128 { i128::from(self) }
            #[inline(always)]
            fn of_wide(value: i128) -> Self { value as $name }
            #[inline(always)]
            fn clamp_wide(value: i128) -> Self { value.clamp(i128::from($name::MIN), i128::from($name::MAX)) as $name }
        }
    )* };
}

int! {
    u8 u8 false, u16 u16 false, u32 u32 false, u64 u64 false,
    i8 u8 true, i16 u16 true, i32 u32 true, i64 u64 true,
}

#[inline(always)]
fn mask<T: Int>() -> u64 {
    u64::MAX >> (64 - T::BITS)
}

#[inline(always)]
pub(crate) fn add<T: Int>(a: u64, b: u64) -> u64 {
    a.wrapping_add(b) & mask::<T>()
}

#[inline(always)]
pub(crate) fn sub<T: Int>(a: u64, b: u64) -> u64 {
    a.wrapping_sub(b) & mask::<T>()
}

pub(crate) fn add_sat<T: Int>(a: u64, b: u64) -> u64 {
    T::clamp_wide(T::of(a).wide() + T::of(b).wide()).bits()
}

pub(crate) fn sub_sat<T: Int>(a: u64, b: u64) -> u64 {
    T::clamp_wide(T::of(a).wide() - T::of(b).wide()).bits()
}

#[inline(always)]
pub(crate) fn mul_lo<T: Int>(a: u64, b: u64) -> u64 {
    a.wrapping_mul(b) & mask::<T>()
}

#[inline(always)]
pub(crate) fn mul_hi<T: Int>(a: u64, b: u64) -> u64 {
    // The product of two `u64` does not fit an `i128`.
    if T::BITS == 64 && !T::SIGNED {
        return ((u128::from(a) * u128::from(b)) >> 64) as u64;
    }
    T::of_wide((T::of(a).wide() * T::of(b).wide()) >> T::BITS).bits()
}

/// Zero-extends a result of twice the width.
#[inline(always)]
pub(crate) fn mul_wide<T: Int>(a: u64, b: u64) -> u64 {
    let product = (T::of(a).wide() * T::of(b).wide()) as u64;
    if T::BITS == 16 { product & 0xffff_ffff } else { product }
}

#[inline(always)]
pub(crate) fn mad_lo<T: Int>(a: u64, b: u64, c: u64) -> u64 {
    a.wrapping_mul(b).wrapping_add(c) & mask::<T>()
}

pub(crate) fn mad_hi<T: Int>(a: u64, b: u64, c: u64) -> u64 {
    add::<T>(mul_hi::<T>(a, b), c)
}

/// `mad.hi.sat.s32`
pub(crate) fn mad_hi_sat<T: Int>(a: u64, b: u64, c: u64) -> u64 {
    T::clamp_wide(T::of(mul_hi::<T>(a, b)).wide() + T::of(c).wide()).bits()
}

#[inline(always)]
pub(crate) fn mad_wide<T: Int>(a: u64, b: u64, c: u64) -> u64 {
    let sum = mul_wide::<T>(a, b).wrapping_add(c);
    if T::BITS == 16 { sum & 0xffff_ffff } else { sum }
}

/// The low 24 of 32 bits, extended.
fn low24<T: Int>(a: u64) -> i128 {
    if T::SIGNED { i128::from(((a as u32) << 8).cast_signed() >> 8) } else { i128::from(a & 0xff_ffff) }
}

/// Bits 0 to 31 of the 48-bit product of two 24-bit values.
pub(crate) fn mul24_lo<T: Int>(a: u64, b: u64) -> u64 {
    T::of_wide(low24::<T>(a) * low24::<T>(b)).bits()
}

/// Bits 16 to 47 of that product.
pub(crate) fn mul24_hi<T: Int>(a: u64, b: u64) -> u64 {
    T::of_wide((low24::<T>(a) * low24::<T>(b)) >> 16).bits()
}

pub(crate) fn mad24_lo<T: Int>(a: u64, b: u64, c: u64) -> u64 {
    add::<T>(mul24_lo::<T>(a, b), c)
}

pub(crate) fn mad24_hi<T: Int>(a: u64, b: u64, c: u64) -> u64 {
    add::<T>(mul24_hi::<T>(a, b), c)
}

/// Division by zero is undefined in the ISA; the hardware returns all ones, and so does this.
#[inline(always)]
pub(crate) fn div<T: Int>(a: u64, b: u64) -> u64 {
    let divisor = T::of(b).wide();
    if divisor == 0 {
        return mask::<T>();
    }
    if T::BITS == 64 { T::of_wide(T::of(a).wide() / divisor).bits() } else { small_div::<T>(a, b) }
}

/// Remainder in 64-bit arithmetic, which holds every 32-bit quotient.
#[inline(always)]
fn small_div<T: Int>(a: u64, b: u64) -> u64 {
    let (a, b) = (T::of(a).wide() as i64, T::of(b).wide() as i64);
    (a / b) as u64 & mask::<T>()
}

#[inline(always)]
pub(crate) fn rem<T: Int>(a: u64, b: u64) -> u64 {
    let divisor = T::of(b).wide();
    if divisor == 0 {
        return mask::<T>();
    }
    if T::BITS == 64 {
        return T::of_wide(T::of(a).wide() % divisor).bits();
    }
    let (a, b) = (T::of(a).wide() as i64, divisor as i64);
    (a % b) as u64 & mask::<T>()
}

#[inline(always)]
pub(crate) fn min<T: Int>(a: u64, b: u64) -> u64 {
    T::of(a).min(T::of(b)).bits()
}

#[inline(always)]
pub(crate) fn max<T: Int>(a: u64, b: u64) -> u64 {
    T::of(a).max(T::of(b)).bits()
}

/// `.relu`: clamps negative results to zero.
pub(crate) fn min_relu<T: Int>(a: u64, b: u64) -> u64 {
    T::of(a).min(T::of(b)).max(T::of(0)).bits()
}

/// `.relu`: clamps negative results to zero.
pub(crate) fn max_relu<T: Int>(a: u64, b: u64) -> u64 {
    T::of(a).max(T::of(b)).max(T::of(0)).bits()
}

pub(crate) fn neg<T: Int>(a: u64) -> u64 {
    a.wrapping_neg() & mask::<T>()
}

pub(crate) fn abs<T: Int>(a: u64) -> u64 {
    T::of_wide(T::of(a).wide().abs()).bits()
}

/// `c + |a - b|`
pub(crate) fn sad<T: Int>(a: u64, b: u64, c: u64) -> u64 {
    let difference = (T::of(a).wide() - T::of(b).wide()).abs();
    add::<T>(T::of_wide(difference).bits(), c)
}

pub(crate) fn not<T: Int>(a: u64) -> u64 {
    !a & mask::<T>()
}

pub(crate) fn cnot<T: Int>(a: u64) -> u64 {
    u64::from(a & mask::<T>() == 0)
}

/// Shift amounts above the width are clamped to the width.
#[inline(always)]
pub(crate) fn shl<T: Int>(a: u64, b: u64) -> u64 {
    let amount = b as u32;
    if amount >= T::BITS { 0 } else { (a << amount) & mask::<T>() }
}

/// Arithmetic shift for signed types.
#[inline(always)]
pub(crate) fn shr<T: Int>(a: u64, b: u64) -> u64 {
    let amount = (b as u32).min(T::BITS);
    if T::SIGNED {
        let value = T::of(a).wide() as i64;
        return (value >> amount.min(63)) as u64 & mask::<T>();
    }
    if amount >= T::BITS { 0 } else { (a & mask::<T>()) >> amount }
}

pub(crate) fn popc<T: Int>(a: u64) -> u64 {
    u64::from((a & mask::<T>()).count_ones())
}

pub(crate) fn clz<T: Int>(a: u64) -> u64 {
    u64::from((a & mask::<T>()).leading_zeros() - (64 - T::BITS))
}

pub(crate) fn brev<T: Int>(a: u64) -> u64 {
    a.reverse_bits() >> (64 - T::BITS)
}

/// The highest bit that differs from the sign; all ones if there is none.
pub(crate) fn bfind<T: Int>(a: u64) -> u64 {
    let value = T::of(a).wide();
    let value = if value < 0 { !value } else { value } as u64 & mask::<T>();
    if value == 0 { 0xffff_ffff } else { u64::from(63 - value.leading_zeros()) }
}

/// The left shift that moves that bit to the highest position.
pub(crate) fn bfind_shift<T: Int>(a: u64) -> u64 {
    let at = bfind::<T>(a);
    if at == 0xffff_ffff { at } else { u64::from(T::BITS - 1) - at }
}

/// Position and length of a bit field. The ISA allows 0 to 255. For larger values the hardware uses the low eight bits
/// with 32-bit operands, and the full value with 64-bit operands, for which it has no instruction.
fn field<T: Int>(position: u64, length: u64) -> (u32, u32) {
    let one = |value: u64| if T::BITS == 64 { (value as u32).min(255) } else { value as u32 & 0xff };
    (one(position), one(length))
}

/// PTX ISA "bfe": beyond the highest bit the sign is repeated.
pub(crate) fn bfe<T: Int>(a: u64, b: u64, c: u64) -> u64 {
    let (position, length) = field::<T>(b, c);
    let top = T::BITS - 1;
    let a = a & mask::<T>();
    let bit = |at: u32| a >> at.min(63) & 1;
    let sign = if !T::SIGNED || length == 0 { 0 } else { bit((position + length - 1).min(top)) };
    let mut result = 0;
    for at in 0..T::BITS {
        let source = position + at;
        let value = if at < length && source <= top { bit(source) } else { sign };
        result |= value << at;
    }
    result
}

/// Inserts the low bits of `a` into `b`.
pub(crate) fn bfi<T: Int>(a: u64, b: u64, c: u64, d: u64) -> u64 {
    let (position, length) = field::<T>(c, d);
    if position >= T::BITS {
        return b & mask::<T>();
    }
    let length = length.min(T::BITS - position);
    let field = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    ((b & !(field << position)) | ((a & field) << position)) & mask::<T>()
}

/// A mask of `length` ones from a position on. `bmsk.clamp`: both are clamped to 32.
pub(crate) fn bmsk_clamp(a: u64, b: u64) -> u64 {
    bmsk((a as u32).min(32), (b as u32).min(32))
}

/// `bmsk.wrap`: only the low five bits of position and length are used.
pub(crate) fn bmsk_wrap(a: u64, b: u64) -> u64 {
    bmsk(a as u32 & 31, b as u32 & 31)
}

fn bmsk(position: u32, length: u32) -> u64 {
    (((1u64 << length) - 1) << position) & 0xffff_ffff
}

/// `szext`: extends from bit `b`, which is the sign.
pub(crate) fn szext_wrap<T: Int>(a: u64, b: u64) -> u64 {
    szext::<T>(a, b as u32 & 31)
}

pub(crate) fn szext_clamp<T: Int>(a: u64, b: u64) -> u64 {
    szext::<T>(a, (b as u32).min(32))
}

fn szext<T: Int>(a: u64, length: u32) -> u64 {
    if length == 0 {
        return 0;
    }
    let a = (a as u32) << (32 - length);
    let result = if T::SIGNED { (a.cast_signed() >> (32 - length)).cast_unsigned() } else { a >> (32 - length) };
    u64::from(result)
}

/// The `n`th set bit of a mask, counted from a base.
pub(crate) fn fns(mask: u64, base: u64, offset: u64) -> u64 {
    let (mask, base, offset) = (mask as u32, base as u32, (offset as u32).cast_signed());
    if base > 31 {
        return 0xffff_ffff;
    }
    let is_set = |at: &i64| mask >> *at & 1 == 1;
    let found = match offset {
        0 => Some(i64::from(base)).filter(is_set),
        1.. => (i64::from(base)..32).filter(is_set).nth(offset as usize - 1),
        _ => (0..=i64::from(base)).rev().filter(is_set).nth(offset.unsigned_abs() as usize - 1),
    };
    found.map_or(0xffff_ffff, |at| at as u64)
}

/// PTX ISA "lop3": any Boolean function of three inputs, as a truth table of eight bits.
pub(crate) fn lop3(a: u64, b: u64, c: u64, table: u64) -> u64 {
    let mut result = 0;
    for row in 0..8 {
        if table >> row & 1 == 1 {
            let pick = |value: u64, bit: u64| if row & bit != 0 { value } else { !value };
            result |= pick(a, 4) & pick(b, 2) & pick(c, 1);
        }
    }
    result & 0xffff_ffff
}

/// `shf.l`: the upper word of `b:a`, shifted left.
pub(crate) fn shf_left(a: u64, b: u64, amount: u32) -> u64 {
    let pair = (b & 0xffff_ffff) << 32 | (a & 0xffff_ffff);
    if amount >= 32 { pair & 0xffff_ffff } else { (pair << amount) >> 32 }
}

/// `shf.r`: the lower word of `b:a`, shifted right.
pub(crate) fn shf_right(a: u64, b: u64, amount: u32) -> u64 {
    let pair = (b & 0xffff_ffff) << 32 | (a & 0xffff_ffff);
    (pair >> amount) & 0xffff_ffff
}

/// Mode of `prmt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permute {
    Index,
    Forward4,
    Backward4,
    Replicate8,
    EdgeLeft,
    EdgeRight,
    Replicate16,
}

/// PTX ISA "prmt".
pub(crate) fn prmt(a: u64, b: u64, selector: u64, mode: Permute) -> u64 {
    let pair = (b & 0xffff_ffff) << 32 | (a & 0xffff_ffff);
    let byte = |index: u64| pair >> (8 * (index & 7)) & 0xff;
    let start = selector & 3;
    let mut result = 0;
    for at in 0..4u64 {
        let value = match mode {
            Permute::Index => {
                let nibble = selector >> (4 * at) & 15;
                let value = byte(nibble);
                if nibble & 8 != 0 { if value & 0x80 != 0 { 0xff } else { 0 } } else { value }
            }
            Permute::Forward4 => byte(start + at),
            Permute::Backward4 => byte(start.wrapping_sub(at)),
            Permute::Replicate8 => byte(start),
            Permute::EdgeLeft => byte(start.max(at)),
            Permute::EdgeRight => byte(start.min(at)),
            Permute::Replicate16 => byte((start & 1) * 2 + (at & 1)),
        };
        result |= value << (8 * at);
    }
    result
}

/// `dp4a`: a sum of four byte products.
pub(crate) fn dp4a(a: u64, b: u64, c: u64, a_signed: bool, b_signed: bool) -> u64 {
    let byte = |value: u64, at: u32, signed: bool| {
        let byte = (value >> (8 * at)) as u8;
        if signed { i64::from(byte.cast_signed()) } else { i64::from(byte) }
    };
    let sum: i64 = (0..4).map(|at| byte(a, at, a_signed) * byte(b, at, b_signed)).sum();
    (c as i64).wrapping_add(sum) as u64 & 0xffff_ffff
}

/// `dp2a`: a sum of two products of 16-bit values and bytes, the lower or upper two bytes of `b`.
pub(crate) fn dp2a(a: u64, b: u64, c: u64, signed: (bool, bool), upper: bool) -> u64 {
    let half = |at: u32| {
        let half = (a >> (16 * at)) as u16;
        if signed.0 { i64::from(half.cast_signed()) } else { i64::from(half) }
    };
    let byte = |at: u32| {
        let byte = (b >> (8 * (at + if upper { 2 } else { 0 }))) as u8;
        if signed.1 { i64::from(byte.cast_signed()) } else { i64::from(byte) }
    };
    let sum: i64 = (0..2).map(|at| half(at) * byte(at)).sum();
    (c as i64).wrapping_add(sum) as u64 & 0xffff_ffff
}
