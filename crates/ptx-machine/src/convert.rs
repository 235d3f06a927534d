//! `cvt`. PTX ISA 9.7.9.22 "Data Movement and Conversion Instructions: cvt".

use ptx_syntax::Type;

use crate::float;
use crate::soft::{self, BF16, F16, F32, F64, Format, Number, Rounding};

/// A conversion with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Conversion {
    pub to: Type,
    pub from: Type,
    pub rounding: Rounding,
    /// `.rni` and related modifiers: rounds to an integral value.
    pub to_whole: bool,
    pub ftz: bool,
    pub sat: bool,
    pub relu: bool,
    pub satfinite: bool,
    /// Width of the destination register.
    pub register_bits: u32,
}

impl Conversion {
    /// A conversion without modifiers.
    pub fn plain(to: Type, from: Type, register_bits: u32) -> Self {
        Self {
            to,
            from,
            rounding: Rounding::Nearest,
            to_whole: false,
            ftz: false,
            sat: false,
            relu: false,
            satfinite: false,
            register_bits,
        }
    }
}

pub(crate) const E5M2: Format = Format { exponent_bits: 5, fraction_bits: 2, nan: 0x7f };
const TF32: Format = Format { exponent_bits: 8, fraction_bits: 10, nan: 0x7_ffff >> 1 };

fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

/// The numeric value of an integer type's bits.
fn integer(ty: Type, bits: u64) -> i128 {
    let width = ty.bits();
    let value = bits & mask(width);
    if ty.is_signed() && value >> (width - 1) & 1 == 1 {
        i128::from(value) - (1i128 << width)
    } else {
        i128::from(value)
    }
}

fn range(ty: Type) -> (i128, i128) {
    let width = ty.bits();
    if ty.is_signed() { (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1) } else { (0, (1i128 << width) - 1) }
}

impl Conversion {
    /// Whether [`Conversion::apply`] supports the conversion.
    pub fn is_known(&self) -> bool {
        use Type::*;
        let simple = |ty: Type| {
            matches!(ty, U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64 | B8 | B16 | B32 | B64 | F16 | Bf16 | F32 | F64)
        };
        (simple(self.to) && simple(self.from))
            || matches!((self.to, self.from), (F16x2 | Bf16x2 | E4m3x2 | E5m2x2, F32) | (Tf32, F32))
            || matches!((self.to, self.from), (E4m3x2 | E5m2x2, F16x2) | (F16x2, E4m3x2 | E5m2x2))
    }

    pub fn apply(&self, a: u64, b: u64) -> u64 {
        use Type::*;
        match (self.to, self.from) {
            (F16x2, F32) => self.pair(soft::F16, a, b),
            (Bf16x2, F32) => self.pair(BF16, a, b),
            (E4m3x2 | E5m2x2, F32) => self.eight_bits(soft::F32, a) << 8 | self.eight_bits(soft::F32, b),
            (E4m3x2 | E5m2x2, F16x2) => {
                self.eight_bits(soft::F16, a >> 16 & 0xffff) << 8 | self.eight_bits(soft::F16, a & 0xffff)
            }
            (F16x2, E4m3x2 | E5m2x2) => self.wider(a >> 8 & 0xff) << 16 | self.wider(a & 0xff),
            (Tf32, F32) => self.tf32(a),
            _ => self.simple(a),
        }
    }

    fn simple(&self, a: u64) -> u64 {
        let from = float::format_of(self.from).map(|(format, _)| format);
        let to = float::format_of(self.to).map(|(format, _)| format);
        let result = match (from, to) {
            (None, None) => {
                let value = integer(self.from, a);
                let (low, high) = range(self.to);
                let value = if self.sat { value.clamp(low, high) } else { value };
                return self.extend(value as u64);
            }
            (Some(from), None) => return self.extend(self.to_whole_number(from, a)),
            (None, Some(to)) => {
                let value = integer(self.from, a);
                soft::round(value < 0, value.unsigned_abs(), 0, false, to, self.rounding)
            }
            (Some(from), Some(to)) => self.between(from, to, a & mask(from.bits())),
        };
        let format = to.unwrap_or(F32);
        self.finish(format, result)
    }

    fn extend(&self, value: u64) -> u64 {
        let width = self.to.bits();
        let value = value & mask(width);
        let is_negative = self.to.is_signed() && value >> (width - 1) & 1 == 1;
        let value = if is_negative { value | !mask(width) } else { value };
        value & mask(self.register_bits.max(width))
    }

    fn to_whole_number(self, from: Format, a: u64) -> u64 {
        let a = a & mask(from.bits());
        let a = if self.ftz && from == F32 { from.flush(a) } else { a };
        let (low, high) = range(self.to);
        let value = match (soft::unpack(a, from), soft::to_integer(a, from, self.rounding)) {
            (_, Some((negative, magnitude))) => {
                let magnitude = i128::try_from(magnitude).unwrap_or(i128::MAX);
                (if negative { -magnitude } else { magnitude }).clamp(low, high)
            }
            (Number::Infinite { negative }, None) => {
                if negative {
                    low
                } else {
                    high
                }
            }
            // For NaN, the hardware returns only the highest bit if the source is f64 or the result has 64 bits, else
            // zero.
            (_, None) if from == F64 || self.to.bits() == 64 => 1i128 << (self.to.bits() - 1),
            (_, None) => 0,
        };
        value as u64
    }

    fn between(&self, from: Format, to: Format, a: u64) -> u64 {
        let a = if self.ftz && from == F32 { from.flush(a) } else { a };
        if self.to_whole {
            let sign = a & from.sign_bit();
            let whole = match soft::to_integer(a, from, self.rounding) {
                // Above the range of the fraction bits every value is integral.
                Some((_, magnitude)) if magnitude >> from.fraction_bits == 0 => {
                    soft::round(false, magnitude, 0, false, from, Rounding::Nearest) | sign
                }
                _ => a,
            };
            return soft::convert(whole, from, to, Rounding::Nearest);
        }
        if let Some(bits) = kept_payload(from, to, a) {
            return bits;
        }
        soft::convert(a, from, to, self.rounding)
    }

    fn finish(&self, format: Format, bits: u64) -> u64 {
        let is_negative = bits & format.sign_bit() != 0;
        if format.is_nan(bits) {
            return if self.sat { 0 } else { bits };
        }
        let bits = if self.ftz && format == F32 { format.flush(bits) } else { bits };
        let bits = match (self.sat, is_negative) {
            (true, true) => 0,
            (true, false) => bits.min(format.one()),
            _ => bits,
        };
        let bits = if self.relu && is_negative { 0 } else { bits };
        let largest = format.infinity() - 1;
        if self.satfinite
            && bits & largest == format.infinity() & largest
            && bits & format.infinity() == format.infinity()
        {
            return (bits & format.sign_bit()) | largest;
        }
        bits
    }

    /// Converts two values; the first operand goes to the upper half.
    fn pair(&self, format: Format, a: u64, b: u64) -> u64 {
        let half = |bits: u64| self.finish(format, soft::convert(bits & mask(32), F32, format, self.rounding));
        half(a) << 16 | half(b)
    }

    /// Keeps the upper 19 bits of an `f32`.
    fn tf32(&self, a: u64) -> u64 {
        let a = a & mask(32);
        if F32.is_nan(a) {
            return a & !0x1fff;
        }
        soft::convert(a, F32, TF32, self.rounding) << 13
    }

    fn eight_bits(&self, from: Format, a: u64) -> u64 {
        let a = a & mask(from.bits());
        if self.to == Type::E5m2x2 {
            if from.is_nan(a) {
                return E5M2.nan;
            }
            let bits = soft::convert(a, from, E5M2, self.rounding);
            let bits = if bits & 0x7f >= 0x7c { bits & 0x80 | 0x7b } else { bits };
            return if self.relu && bits & 0x80 != 0 { 0 } else { bits };
        }
        // E4M3 has no infinity: the largest exponent encodes numbers, and one NaN.
        if from.is_nan(a) {
            return 0x7f;
        }
        const WIDE: Format = Format { exponent_bits: 5, fraction_bits: 3, nan: 0 };
        let sign = if a & from.sign_bit() != 0 { 0x80 } else { 0 };
        let magnitude = match soft::unpack(a, from) {
            Number::Finite { exponent, mantissa, .. } => {
                // The smaller bias is added to the exponent: E4M3's subnormals then begin where those of a 5-bit
                // exponent do.
                (soft::round(false, mantissa, exponent - 8, false, WIDE, self.rounding)).min(0x7e)
            }
            _ => 0x7e,
        };
        if self.relu && sign != 0 { 0 } else { sign | magnitude }
    }

    fn wider(&self, a: u64) -> u64 {
        if self.from == Type::E5m2x2 {
            let half = soft::convert(a, E5M2, F16, Rounding::Nearest);
            return self.finish(F16, half);
        }
        let (negative, field, fraction) = (a & 0x80 != 0, (a >> 3 & 15) as i32, u128::from(a & 7));
        if a & 0x7f == 0x7f {
            return F16.nan;
        }
        let (mantissa, exponent) = if field == 0 { (fraction, -9) } else { (fraction | 8, field - 10) };
        self.finish(F16, soft::round(negative, mantissa, exponent, false, F16, Rounding::Nearest))
    }
}

/// The NaN payload, where the hardware keeps it: from `f64` made quiet, from `bf16` unchanged.
fn kept_payload(from: Format, to: Format, a: u64) -> Option<u64> {
    if !from.is_nan(a) {
        return None;
    }
    let sign = if a & from.sign_bit() != 0 { to.sign_bit() } else { 0 };
    let fraction = a & ((1 << from.fraction_bits) - 1);
    if from == BF16 && to == F32 {
        return Some(a << 16);
    }
    let quiet = 1u64 << (to.fraction_bits - 1);
    let kept = fraction >> from.fraction_bits.saturating_sub(to.fraction_bits);
    (from == F64 && to != F64).then_some(sign | to.infinity() | quiet | kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cvt(to: Type, from: Type) -> Conversion {
        Conversion::plain(to, from, to.bits().max(32))
    }

    #[test]
    fn eight_bit_formats() {
        let to = Conversion { satfinite: true, ..cvt(Type::E4m3x2, Type::F32) };
        let one = |value: f32| to.apply(0, u64::from(value.to_bits()));
        assert_eq!(
            [one(1.0), one(448.0), one(1e9), one(-0.0), one(2f32.powi(-9)), one(0.017578125)],
            [0x38, 0x7e, 0x7e, 0x80, 1, 9]
        );
        let back = cvt(Type::F16x2, Type::E4m3x2);
        for bits in (0..=255u64).filter(|bits| bits & 0x7f != 0x7f) {
            let half = back.apply(bits, 0) & 0xffff;
            let wide = soft::convert(half, F16, F32, Rounding::Nearest);
            assert_eq!(to.apply(0, wide), bits, "{bits:#x} {half:#x}");
        }
    }

    #[test]
    fn integers_and_their_limits() {
        let bits = |value: f32| u64::from(value.to_bits());
        let to = Conversion { rounding: Rounding::Zero, ..cvt(Type::S32, Type::F32) };
        assert_eq!(to.apply(bits(-1.9), 0), 0xffff_ffff);
        assert_eq!(to.apply(bits(3e9), 0), 0x7fff_ffff);
        assert_eq!(to.apply(bits(f32::NAN), 0), 0);
        assert_eq!(Conversion { to: Type::S64, ..to }.apply(bits(f32::NAN), 0), 1 << 63);
        assert_eq!(cvt(Type::S8, Type::S32).apply(0x1ff, 0), 0xffff_ffff);
        assert_eq!(Conversion { sat: true, ..cvt(Type::U8, Type::S32) }.apply(0xffff_fff0, 0), 0);
        assert_eq!(cvt(Type::F32, Type::S64).apply((-3i64) as u64, 0), bits(-3.0));
        let whole = Conversion { to_whole: true, rounding: Rounding::Down, ..cvt(Type::F32, Type::F32) };
        assert_eq!(whole.apply(bits(-0.5), 0), bits(-1.0));
        assert_eq!(whole.apply(bits(0.5), 0), bits(0.0));
    }
}
