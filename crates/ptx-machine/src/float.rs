//! Floating-point operations on register values.
//!
//! PTX ISA 9.7.3 "Floating-Point Instructions", 9.7.4 "Half Precision Floating-Point Instructions". A NaN result is the
//! hardware's canonical NaN.

use crate::soft::{self, BF16, F16, F32, F64, Format, Rounding};

/// Modifiers of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mode {
    pub format: Format,
    pub rounding: Rounding,
    /// Flushes subnormal operands and results to zero.
    pub ftz: bool,
    /// Clamps results to 0 … 1.
    pub sat: bool,
    /// Clamps negative results to 0.
    pub relu: bool,
    /// `.NaN` of `min` and `max`: one NaN operand makes the result NaN.
    pub nan: bool,
    /// `.xorsign`, `.abs` of `min` and `max`.
    pub xorsign: bool,
    /// Two values packed in a register.
    pub packed: bool,
}

impl Mode {
    pub fn new(format: Format) -> Self {
        let rounding = Rounding::Nearest;
        Self { format, rounding, ftz: false, sat: false, relu: false, nan: false, xorsign: false, packed: false }
    }

    fn operand(&self, bits: u64) -> u64 {
        if self.ftz { self.format.flush(bits) } else { bits }
    }

    fn result(&self, bits: u64) -> u64 {
        let format = self.format;
        let is_negative = bits & format.sign_bit() != 0;
        let mut bits = bits;
        if format.is_nan(bits) {
            // PTX ISA "add": with `.sat`, NaN results become zero.
            return if self.sat { 0 } else { format.nan };
        }
        if self.ftz {
            bits = format.flush(bits);
        }
        if self.sat {
            bits = if is_negative { 0 } else { bits.min(format.one()) };
        }
        if self.relu && is_negative { 0 } else { bits }
    }

    /// Whether to flush a result that rounding has made the smallest normal number. The hardware does so if the result
    /// would be smaller with a larger exponent range; `exact` computes it in a wider format.
    fn is_flushed(&self, rounded: u64, exact: impl Fn(Format) -> u64) -> bool {
        let smallest = 1 << self.format.fraction_bits;
        if !self.ftz || rounded & (self.format.sign_bit() - 1) != smallest {
            return false;
        }
        let wide = self.wide();
        exact(wide) & (wide.sign_bit() - 1) < soft::convert(smallest, self.format, wide, Rounding::Nearest)
    }

    fn wide(&self) -> Format {
        Format { exponent_bits: self.format.exponent_bits + 3, ..self.format }
    }

    fn widen(&self, bits: u64) -> u64 {
        soft::convert(bits, self.format, self.wide(), Rounding::Nearest)
    }

    fn native32(&self) -> bool {
        self.format == F32 && self.rounding == Rounding::Nearest
    }

    fn native64(&self) -> bool {
        self.format == F64 && self.rounding == Rounding::Nearest
    }
}

#[inline(always)]
pub(crate) fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Bits of a result, with the hardware's canonical NaN.
#[inline(always)]
pub(crate) fn bits_of_single(value: f32) -> u64 {
    if value.is_nan() { F32.nan } else { u64::from(value.to_bits()) }
}

#[inline(always)]
pub(crate) fn bits_of_double(value: f64) -> u64 {
    if value.is_nan() { F64.nan } else { value.to_bits() }
}

pub(crate) fn add(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    let (a, b) = (mode.operand(a), mode.operand(b));
    let sum = if mode.native32() {
        bits_of_single(single(a) + single(b))
    } else if mode.native64() {
        bits_of_double(f64::from_bits(a) + f64::from_bits(b))
    } else {
        soft::add(a, b, mode.format, mode.rounding)
    };
    mode.result(sum)
}

pub(crate) fn sub(mode: &Mode, a: u64, b: u64, c: u64) -> u64 {
    add(mode, a, b ^ mode.format.sign_bit(), c)
}

pub(crate) fn mul(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    let (a, b) = (mode.operand(a), mode.operand(b));
    let product = if mode.native32() {
        bits_of_single(single(a) * single(b))
    } else if mode.native64() {
        bits_of_double(f64::from_bits(a) * f64::from_bits(b))
    } else {
        soft::multiply(a, b, mode.format, mode.rounding)
    };
    if mode.is_flushed(product, |wide| soft::multiply(mode.widen(a), mode.widen(b), wide, mode.rounding)) {
        return mode.result(product & mode.format.sign_bit());
    }
    mode.result(product)
}

pub(crate) fn fma(mode: &Mode, a: u64, b: u64, c: u64) -> u64 {
    let (a, b, c) = (mode.operand(a), mode.operand(b), mode.operand(c));
    let sum = if mode.native32() {
        bits_of_single(single(a).mul_add(single(b), single(c)))
    } else if mode.native64() {
        bits_of_double(f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)))
    } else {
        soft::fused_multiply_add(a, b, c, mode.format, mode.rounding)
    };
    if mode.is_flushed(sum, |wide| {
        soft::fused_multiply_add(mode.widen(a), mode.widen(b), mode.widen(c), wide, mode.rounding)
    }) {
        return mode.result(sum & mode.format.sign_bit());
    }
    mode.result(sum)
}

pub(crate) fn div(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    let (a, b) = (mode.operand(a), mode.operand(b));
    let quotient = if mode.native32() {
        bits_of_single(single(a) / single(b))
    } else if mode.native64() {
        bits_of_double(f64::from_bits(a) / f64::from_bits(b))
    } else {
        soft::divide(a, b, mode.format, mode.rounding)
    };
    if mode.is_flushed(quotient, |wide| soft::divide(mode.widen(a), mode.widen(b), wide, mode.rounding)) {
        return mode.result(quotient & mode.format.sign_bit());
    }
    mode.result(quotient)
}

pub(crate) fn rcp(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    div(mode, mode.format.one(), a, 0)
}

pub(crate) fn sqrt(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    let a = mode.operand(a);
    let root = if mode.native32() {
        bits_of_single(single(a).sqrt())
    } else if mode.native64() {
        bits_of_double(f64::from_bits(a).sqrt())
    } else {
        soft::square_root(a, mode.format, mode.rounding)
    };
    mode.result(root)
}

/// Maps a number to an integer with the same order: −0 before +0.
fn order(format: Format, bits: u64) -> i64 {
    let magnitude = (bits & (format.sign_bit() - 1)) as i64;
    if bits & format.sign_bit() != 0 { -1 - magnitude } else { magnitude }
}

fn pick(mode: &Mode, a: u64, b: u64, wants_larger: bool) -> u64 {
    let format = mode.format;
    let (mut a, mut b) = (mode.operand(a), mode.operand(b));
    let sign = (a ^ b) & format.sign_bit();
    if mode.xorsign {
        a &= format.sign_bit() - 1;
        b &= format.sign_bit() - 1;
    }
    let picked = match (format.is_nan(a), format.is_nan(b)) {
        (true, true) => format.nan,
        (true, false) | (false, true) if mode.nan => format.nan,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            if (order(format, a) > order(format, b)) == wants_larger {
                a
            } else {
                b
            }
        }
    };
    if mode.xorsign && !format.is_nan(picked) { picked | sign } else { mode.result(picked) }
}

pub(crate) fn min(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    pick(mode, a, b, false)
}

pub(crate) fn max(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    pick(mode, a, b, true)
}

/// `min` and `max` of three operands.
pub(crate) fn min3(mode: &Mode, a: u64, b: u64, c: u64) -> u64 {
    pick(mode, pick(mode, a, b, false), c, false)
}

pub(crate) fn max3(mode: &Mode, a: u64, b: u64, c: u64) -> u64 {
    pick(mode, pick(mode, a, b, true), c, true)
}

/// Negation. NaN becomes canonical, except for `f64`, where the ISA keeps all bits.
pub(crate) fn neg(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    let a = mode.operand(a);
    if mode.format.is_nan(a) && mode.format != F64 { mode.format.nan } else { a ^ mode.format.sign_bit() }
}

pub(crate) fn abs(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    let a = mode.operand(a);
    if mode.format.is_nan(a) && mode.format != F64 { mode.format.nan } else { a & !mode.format.sign_bit() }
}

/// The magnitude of `b` with the sign of `a`.
pub(crate) fn copysign(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    let sign = mode.format.sign_bit();
    (b & !sign) | (a & sign)
}

/// Comparison operators. PTX ISA 9.7.6 "Comparison and Selection Instructions".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Both operands are numbers.
    Num,
    /// At least one operand is NaN.
    Nan,
}

/// `unordered`: true if an operand is NaN.
pub(crate) fn compare(format: Format, ftz: bool, kind: Comparison, unordered: bool, a: u64, b: u64) -> bool {
    let flush = |bits| if ftz { format.flush(bits) } else { bits };
    let (a, b) = (flush(a), flush(b));
    let has_nan = format.is_nan(a) || format.is_nan(b);
    match kind {
        Comparison::Num => return !has_nan,
        Comparison::Nan => return has_nan,
        _ if has_nan => return unordered,
        _ => {}
    }
    let magnitude = format.sign_bit() - 1;
    // Both zeros compare equal.
    let order = |bits: u64| if bits & magnitude == 0 { 0 } else { order(format, bits) };
    let (a, b) = (order(a), order(b));
    match kind {
        Comparison::Eq => a == b,
        Comparison::Ne => a != b,
        Comparison::Lt => a < b,
        Comparison::Le => a <= b,
        Comparison::Gt => a > b,
        _ => a >= b,
    }
}

/// `testp`: a property of one value.
pub(crate) fn test(format: Format, property: Property, a: u64) -> bool {
    let magnitude = a & (format.sign_bit() - 1);
    match property {
        Property::Finite => magnitude < format.infinity(),
        Property::Infinite => magnitude == format.infinity(),
        Property::Number => magnitude <= format.infinity(),
        Property::NotANumber => magnitude > format.infinity(),
        // Zero counts as normal.
        Property::Normal => (!format.is_tiny(a) || magnitude == 0) && magnitude < format.infinity(),
        Property::Subnormal => format.is_tiny(a) && magnitude != 0,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Property {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// Functions whose results the ISA specifies only within an error bound. The model is the exact value rounded to
/// nearest, with the ISA's special cases. PTX ISA: `rcp.approx` 1 ulp, `rsqrt.approx` 2^-22.9, `sqrt.approx` 2^-23,
/// `ex2.approx` 2^-22.5 (relative 2 ulp), `lg2.approx` 2^-22 absolute, `sin` and `cos` 2^-20.5 absolute within ±π,
/// `tanh` 2^-11 relative.
pub(crate) mod approximate {
    use super::*;

    fn unary(mode: &Mode, a: u64, function: fn(f64) -> f64) -> u64 {
        let a = mode.operand(a);
        mode.result(bits_of_single(function(f64::from(single(a))) as f32))
    }

    pub(crate) fn rcp(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
        unary(mode, a, |x| 1.0 / x)
    }

    pub(crate) fn sqrt(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
        unary(mode, a, f64::sqrt)
    }

    pub(crate) fn rsqrt(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
        unary(mode, a, |x| 1.0 / x.sqrt())
    }

    pub(crate) fn ex2(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
        unary(mode, a, libm::exp2)
    }

    pub(crate) fn lg2(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
        unary(mode, a, libm::log2)
    }

    /// The hardware converts radians to turns with a product in single precision: for large angles the rounding error
    /// is large.
    fn turns(mode: &Mode, a: u64, function: fn(f64) -> f64) -> u64 {
        let turns = single(mode.operand(a)) * std::f32::consts::FRAC_1_PI * 0.5;
        let part = f64::from(turns) % 1.0;
        mode.result(bits_of_single(function(part * std::f64::consts::TAU) as f32))
    }

    pub(crate) fn sin(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
        turns(mode, a, libm::sin)
    }

    pub(crate) fn cos(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
        turns(mode, a, libm::cos)
    }

    pub(crate) fn tanh(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
        unary(mode, a, libm::tanh)
    }

    /// `div.approx`, `div.full`: 2 ulp. The ISA gives zero for `.approx` with a divisor above 2^126.
    pub(crate) fn div(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
        float_div(mode, a, b)
    }

    fn float_div(mode: &Mode, a: u64, b: u64) -> u64 {
        super::div(&Mode { rounding: Rounding::Nearest, ..*mode }, a, b, 0)
    }

    pub(crate) fn div_small(mode: &Mode, a: u64, b: u64, c: u64) -> u64 {
        let divisor = single(b).abs();
        if divisor > 2f32.powi(126) && divisor.is_finite() {
            let sign = (a ^ b) & F32.sign_bit();
            return if single(a).is_infinite() || single(a).is_nan() { F32.nan } else { sign };
        }
        div(mode, a, b, c)
    }

    /// `rcp.approx.ftz.f64`: only the upper word of operand and result is used.
    pub(crate) fn rcp64(_: &Mode, a: u64, _: u64, _: u64) -> u64 {
        upper(a, |x| 1.0 / x)
    }

    pub(crate) fn rsqrt64(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
        if mode.ftz { upper(a, |x| 1.0 / x.sqrt()) } else { bits_of_double(1.0 / f64::from_bits(a).sqrt()) }
    }

    fn upper(a: u64, function: fn(f64) -> f64) -> u64 {
        const UPPER: u64 = 0xffff_ffff_0000_0000;
        let a = F64.flush(a & UPPER);
        let result = F64.flush(bits_of_double(function(f64::from_bits(a))));
        result & UPPER
    }

    /// Functions of `f16`, computed by those of `f32`.
    pub(crate) fn half(mode: &Mode, a: u64, function: fn(f64) -> f64) -> u64 {
        let a = mode.operand(a);
        let wide = f64::from_bits(soft::convert(a, mode.format, F64, Rounding::Nearest));
        mode.result(soft::convert(function(wide).to_bits(), F64, mode.format, Rounding::Nearest))
    }

    pub(crate) fn ex2_half(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
        half(mode, a, libm::exp2)
    }

    pub(crate) fn tanh_half(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
        half(mode, a, libm::tanh)
    }
}

/// Applies an operation, to both halves of a register if the mode is packed.
pub(crate) fn packed(function: fn(&Mode, u64, u64, u64) -> u64, mode: &Mode, a: u64, b: u64, c: u64) -> u64 {
    let bits = mode.format.bits();
    let low = (1u64 << bits) - 1;
    let lower = function(mode, a & low, b & low, c & low);
    let upper = function(mode, a >> bits & low, b >> bits & low, c >> bits & low);
    upper << bits | lower
}

/// The format of a type, and whether the type is packed.
pub(crate) fn format_of(ty: ptx_syntax::Type) -> Option<(Format, bool)> {
    use ptx_syntax::Type;
    Some(match ty {
        Type::F16 => (F16, false),
        Type::F16x2 => (F16, true),
        Type::Bf16 => (BF16, false),
        Type::Bf16x2 => (BF16, true),
        Type::F32 => (F32, false),
        Type::F32x2 => (F32, true),
        Type::F64 => (F64, false),
        _ => return None,
    })
}
