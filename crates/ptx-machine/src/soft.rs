//! Software floating point: every format and rounding mode, exact up to the single rounding at the end.
//!
//! Round-to-nearest of `f32` and `f64` uses the host processor (see `float.rs`); everything else is computed here. IEEE
//! 754-2008, PTX ISA 9.7.3 "Floating-Point Instructions".

/// A binary interchange format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    pub exponent_bits: u32,
    pub fraction_bits: u32,
    /// The hardware's canonical NaN.
    pub nan: u64,
}

pub(crate) const F16: Format = Format { exponent_bits: 5, fraction_bits: 10, nan: 0x7fff };
pub(crate) const BF16: Format = Format { exponent_bits: 8, fraction_bits: 7, nan: 0x7fff };
pub(crate) const F32: Format = Format { exponent_bits: 8, fraction_bits: 23, nan: 0x7fff_ffff };
pub(crate) const F64: Format = Format { exponent_bits: 11, fraction_bits: 52, nan: 0xfff8_0000_0000_0000 };

impl Format {
    pub fn bits(self) -> u32 {
        1 + self.exponent_bits + self.fraction_bits
    }

    pub fn sign_bit(self) -> u64 {
        1 << (self.bits() - 1)
    }

    fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// Infinity: all exponent bits set.
    pub fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    pub fn one(self) -> u64 {
        (self.bias() as u64) << self.fraction_bits
    }

    pub fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign_bit() - 1) > self.infinity()
    }

    /// Zero or subnormal.
    pub fn is_tiny(self, bits: u64) -> bool {
        bits & self.infinity() == 0
    }

    /// Replaces subnormal numbers by zero of the same sign.
    pub fn flush(self, bits: u64) -> u64 {
        if self.is_tiny(bits) { bits & self.sign_bit() } else { bits }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// `.rn`
    Nearest,
    /// `.rna`: ties away from zero.
    NearestAway,
    /// `.rz`
    Zero,
    /// `.rm`
    Down,
    /// `.rp`
    Up,
}

/// An unpacked number: `mantissa × 2^exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    Invalid,
    Infinite { negative: bool },
    Finite { negative: bool, exponent: i32, mantissa: u128 },
}

use Number::{Finite, Infinite, Invalid};

pub(crate) fn unpack(bits: u64, format: Format) -> Number {
    let negative = bits & format.sign_bit() != 0;
    let fraction = bits & ((1 << format.fraction_bits) - 1);
    let field = ((bits & format.infinity()) >> format.fraction_bits) as i32;
    let lowest = 1 - format.bias() - format.fraction_bits as i32;
    if bits & format.infinity() == format.infinity() {
        return if fraction == 0 { Infinite { negative } } else { Invalid };
    }
    if field == 0 {
        return Finite { negative, exponent: lowest, mantissa: u128::from(fraction) };
    }
    let mantissa = u128::from(fraction | (1 << format.fraction_bits));
    Finite { negative, exponent: lowest + field - 1, mantissa }
}

/// The single rounding. With `sticky`, the exact value is slightly larger than the mantissa, which then must have at
/// least two bits more than the format.
pub(crate) fn round(
    negative: bool,
    mantissa: u128,
    exponent: i32,
    sticky: bool,
    format: Format,
    rounding: Rounding,
) -> u64 {
    let sign = if negative { format.sign_bit() } else { 0 };
    if mantissa == 0 && !sticky {
        return sign;
    }
    let width = 128 - mantissa.leading_zeros() as i32;
    let leading = exponent + width - 1;
    let minimum = 1 - format.bias();
    let lowest = leading.max(minimum) - format.fraction_bits as i32;
    let shift = lowest - exponent;
    let (kept, rest, half) = match shift {
        i32::MIN..=0 => (mantissa << shift.unsigned_abs(), 0, 1u128 << 127),
        1..=127 => (mantissa >> shift, mantissa & ((1 << shift) - 1), 1u128 << (shift - 1)),
        // Less than half of the smallest subnormal number.
        _ => (0, 1, 1u128 << 127),
    };
    let is_inexact = rest != 0 || sticky;
    let goes_up = match rounding {
        Rounding::Nearest => rest > half || (rest == half && (sticky || kept & 1 == 1)),
        Rounding::NearestAway => rest >= half,
        Rounding::Zero => false,
        Rounding::Down => negative && is_inexact,
        Rounding::Up => !negative && is_inexact,
    };
    let kept = kept as u64 + u64::from(goes_up);
    // The hidden bit of a normal number adds one to the exponent field, and so does a carry out of the fraction.
    let field = (lowest + format.fraction_bits as i32 - minimum) as i64;
    let field = if leading < minimum { 0 } else { field as u64 };
    let largest = format.infinity() - 1;
    let magnitude = match field.checked_mul(1 << format.fraction_bits).and_then(|field| field.checked_add(kept)) {
        Some(magnitude) if magnitude <= largest && field < 1 << format.exponent_bits => magnitude,
        _ => match rounding {
            Rounding::Nearest | Rounding::NearestAway => format.infinity(),
            Rounding::Zero => largest,
            Rounding::Down => format.infinity() - u64::from(!negative),
            Rounding::Up => format.infinity() - u64::from(negative),
        },
    };
    sign | magnitude
}

/// Packs a number into a format: a finite value, infinity, or the format's NaN.
pub(crate) fn pack(number: Number, format: Format, rounding: Rounding) -> u64 {
    match number {
        Invalid => format.nan,
        Infinite { negative } => format.infinity() | if negative { format.sign_bit() } else { 0 },
        Finite { negative, exponent, mantissa } => round(negative, mantissa, exponent, false, format, rounding),
    }
}

/// `a × b + c` with one rounding.
pub(crate) fn fused_multiply_add(a: u64, b: u64, c: u64, format: Format, rounding: Rounding) -> u64 {
    let (a, b, c) = (unpack(a, format), unpack(b, format), unpack(c, format));
    let product = match (a, b) {
        (Invalid, _) | (_, Invalid) => Invalid,
        (Infinite { negative }, Infinite { negative: other }) => Infinite { negative: negative != other },
        (Infinite { negative }, Finite { negative: other, mantissa, .. })
        | (Finite { negative: other, mantissa, .. }, Infinite { negative }) => {
            if mantissa == 0 {
                Invalid
            } else {
                Infinite { negative: negative != other }
            }
        }
        (
            Finite { negative, exponent, mantissa },
            Finite { negative: other, exponent: other_exponent, mantissa: other_mantissa },
        ) => Finite {
            negative: negative != other,
            exponent: exponent + other_exponent,
            mantissa: mantissa * other_mantissa,
        },
    };
    sum(product, c, format, rounding)
}

pub(crate) fn multiply(a: u64, b: u64, format: Format, rounding: Rounding) -> u64 {
    // −0 is the neutral element of addition, except when rounding down, where it is +0.
    let product_sign = (a ^ b) & format.sign_bit();
    fused_multiply_add(a, b, product_sign, format, rounding)
}

pub(crate) fn add(a: u64, b: u64, format: Format, rounding: Rounding) -> u64 {
    sum(unpack(a, format), unpack(b, format), format, rounding)
}

fn sum(a: Number, b: Number, format: Format, rounding: Rounding) -> u64 {
    match (a, b) {
        (Invalid, _) | (_, Invalid) => format.nan,
        (Infinite { negative }, Infinite { negative: other }) if negative != other => format.nan,
        (Infinite { .. }, _) => pack(a, format, rounding),
        (_, Infinite { .. }) => pack(b, format, rounding),
        (
            Finite { negative, exponent, mantissa },
            Finite { negative: other, exponent: other_exponent, mantissa: other_mantissa },
        ) => {
            if mantissa == 0 && other_mantissa == 0 {
                let is_negative = if negative == other { negative } else { rounding == Rounding::Down };
                return round(is_negative, 0, 0, false, format, rounding);
            }
            if mantissa == 0 {
                return pack(b, format, rounding);
            }
            if other_mantissa == 0 {
                return pack(a, format, rounding);
            }
            sum_finite((negative, exponent, mantissa), (other, other_exponent, other_mantissa), format, rounding)
        }
    }
}

/// Shifts the highest bit to bit 125, which leaves room for a carry and for low bits.
fn normalize((negative, exponent, mantissa): (bool, i32, u128)) -> (bool, i32, u128) {
    let shift = mantissa.leading_zeros() as i32 - 2;
    (negative, exponent - shift, if shift >= 0 { mantissa << shift } else { mantissa >> -shift })
}

fn sum_finite(a: (bool, i32, u128), b: (bool, i32, u128), format: Format, rounding: Rounding) -> u64 {
    let (a, b) = (normalize(a), normalize(b));
    let (large, small) = if (a.1, a.2) >= (b.1, b.2) { (a, b) } else { (b, a) };
    let distance = (large.1 - small.1) as u32;
    let (shifted, sticky) = match distance {
        0..=127 => (small.2 >> distance, small.2 & ((1 << distance) - 1) != 0),
        _ => (0, true),
    };
    if large.0 == small.0 {
        return round(large.0, large.2 + shifted, large.1, sticky, format, rounding);
    }
    // Bits that were shifted out make the exact difference smaller: subtract one, and set `sticky` for the rest.
    let difference = large.2 - shifted - u128::from(sticky);
    if difference == 0 && !sticky {
        return round(rounding == Rounding::Down, 0, 0, false, format, rounding);
    }
    round(large.0, difference, large.1, sticky, format, rounding)
}

pub(crate) fn divide(a: u64, b: u64, format: Format, rounding: Rounding) -> u64 {
    let (a, b) = (unpack(a, format), unpack(b, format));
    match (a, b) {
        (Invalid, _) | (_, Invalid) | (Infinite { .. }, Infinite { .. }) => format.nan,
        (Infinite { negative }, Finite { negative: other, .. }) => {
            pack(Infinite { negative: negative != other }, format, rounding)
        }
        (Finite { negative, .. }, Infinite { negative: other }) => {
            round(negative != other, 0, 0, false, format, rounding)
        }
        (
            Finite { negative, exponent, mantissa },
            Finite { negative: other, exponent: other_exponent, mantissa: divisor },
        ) => {
            let is_negative = negative != other;
            match (mantissa, divisor) {
                (0, 0) => format.nan,
                (0, _) => round(is_negative, 0, 0, false, format, rounding),
                (_, 0) => pack(Infinite { negative: is_negative }, format, rounding),
                _ => {
                    let shift = mantissa.leading_zeros() as i32 - 1;
                    let dividend = mantissa << shift;
                    let quotient = dividend / divisor;
                    let sticky = !dividend.is_multiple_of(divisor);
                    round(is_negative, quotient, exponent - shift - other_exponent, sticky, format, rounding)
                }
            }
        }
    }
}

pub(crate) fn square_root(a: u64, format: Format, rounding: Rounding) -> u64 {
    match unpack(a, format) {
        Invalid => format.nan,
        Infinite { negative: false } => a,
        Finite { mantissa: 0, .. } => a,
        Infinite { negative: true } | Finite { negative: true, .. } => format.nan,
        Finite { exponent, mantissa, .. } => {
            let mut shift = mantissa.leading_zeros() as i32 - 2;
            // The exponent must be even.
            shift -= (exponent - shift) & 1;
            let square = mantissa << shift;
            let root = square.isqrt();
            round(false, root, (exponent - shift) / 2, root * root != square, format, rounding)
        }
    }
}

/// Converts between formats.
pub(crate) fn convert(bits: u64, from: Format, to: Format, rounding: Rounding) -> u64 {
    pack(unpack(bits, from), to, rounding)
}

/// Converts to an integral value of any size; `None` for infinity and NaN. The second part is the magnitude, saturated.
pub(crate) fn to_integer(bits: u64, format: Format, rounding: Rounding) -> Option<(bool, u128)> {
    let Finite { negative, exponent, mantissa } = unpack(bits, format) else { return None };
    if exponent >= 0 {
        let is_large = mantissa != 0 && exponent >= mantissa.leading_zeros() as i32;
        return Some((negative, if is_large { u128::MAX } else { mantissa.checked_shl(exponent as u32).unwrap_or(0) }));
    }
    let shift = exponent.unsigned_abs();
    let (kept, rest, half) = match shift {
        1..=127 => (mantissa >> shift, mantissa & ((1 << shift) - 1), 1u128 << (shift - 1)),
        _ => (0, u128::from(mantissa != 0), 1u128 << 127),
    };
    let goes_up = match rounding {
        Rounding::Nearest => rest > half || (rest == half && kept & 1 == 1),
        Rounding::NearestAway => rest >= half,
        Rounding::Zero => false,
        Rounding::Down => negative && rest != 0,
        Rounding::Up => !negative && rest != 0,
    };
    Some((negative, kept + u128::from(goes_up)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECIAL: [u32; 24] = [
        0,
        0x8000_0000,
        1,
        0x8000_0001,
        0x007f_ffff,
        0x0080_0000,
        0x3f80_0000,
        0xbf80_0000,
        0x3f80_0001,
        0x7f7f_ffff,
        0xff7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x3400_0000,
        0x4b00_0000,
        0x4b80_0000,
        0xcb00_0001,
        0x3f00_0000,
        0x3eff_ffff,
        0x4049_0fdb,
        0x0000_0100,
        0x2f80_0000,
        0x5f00_0000,
    ];

    fn same32(soft: u64, native: f32) {
        let expected = if native.is_nan() { F32.nan } else { u64::from(native.to_bits()) };
        assert_eq!(soft, expected, "{soft:#x} {native:?} {expected:#x}");
    }

    fn same64(soft: u64, native: f64) {
        let expected = if native.is_nan() { F64.nan } else { native.to_bits() };
        assert_eq!(soft, expected, "{soft:#x} {native:?}");
    }

    #[test]
    fn nearest_is_what_the_processor_does() {
        let mut state = 3u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        let mut values: Vec<u32> = SPECIAL.to_vec();
        values.extend((0..40).map(|_| random()));
        for a in values.iter().copied() {
            same32(square_root(a.into(), F32, Rounding::Nearest), f32::from_bits(a).sqrt());
            for b in values.iter().copied() {
                let (x, y) = (f32::from_bits(a), f32::from_bits(b));
                let (a, b) = (u64::from(a), u64::from(b));
                same32(add(a, b, F32, Rounding::Nearest), x + y);
                same32(multiply(a, b, F32, Rounding::Nearest), x * y);
                same32(divide(a, b, F32, Rounding::Nearest), x / y);
                let c = random();
                same32(fused_multiply_add(a, b, c.into(), F32, Rounding::Nearest), x.mul_add(y, f32::from_bits(c)));
            }
        }
        for _ in 0..20_000 {
            let mut number = || {
                f64::from_bits(
                    (u64::from(random()) << 32 | u64::from(random())) & !(0x3f0 << 52)
                        | 0x3f0 << 52 & u64::from(random()) << 52,
                )
            };
            let (x, y, z) = (number(), number(), number());
            let (a, b, c) = (x.to_bits(), y.to_bits(), z.to_bits());
            same64(add(a, b, F64, Rounding::Nearest), x + y);
            same64(multiply(a, b, F64, Rounding::Nearest), x * y);
            same64(divide(a, b, F64, Rounding::Nearest), x / y);
            same64(square_root(a, F64, Rounding::Nearest), x.sqrt());
            same64(fused_multiply_add(a, b, c, F64, Rounding::Nearest), x.mul_add(y, z));
            same64(fused_multiply_add(a, b, (-x * y).to_bits(), F64, Rounding::Nearest), x.mul_add(y, -x * y));
            same32(convert(a, F64, F32, Rounding::Nearest), x as f32);
        }
    }

    #[test]
    fn directed_modes_enclose() {
        let one = F32.one();
        let tiny = 1u64;
        assert_eq!(add(one, tiny, F32, Rounding::Up), one + 1);
        assert_eq!(add(one, tiny, F32, Rounding::Down), one);
        assert_eq!(add(one, tiny | F32.sign_bit(), F32, Rounding::Zero), one - 1);
        assert_eq!(add(one, one | F32.sign_bit(), F32, Rounding::Down), F32.sign_bit());
        assert_eq!(multiply(tiny, tiny, F32, Rounding::Up), 1);
        assert_eq!(multiply(0x7f7f_ffff, one + 5, F32, Rounding::Zero), 0x7f7f_ffff);
        assert_eq!(divide(one, 0x4040_0000, F32, Rounding::Down) + 1, divide(one, 0x4040_0000, F32, Rounding::Up));
    }

    #[test]
    fn halves_round_as_the_format_says() {
        assert_eq!(convert(u64::from(65_520f32.to_bits()), F32, F16, Rounding::Nearest), F16.infinity());
        assert_eq!(convert(u64::from(65_519f32.to_bits()), F32, F16, Rounding::Nearest), 0x7bff);
        assert_eq!(convert(u64::from((2f32.powi(-25)).to_bits()), F32, F16, Rounding::Nearest), 0);
        assert_eq!(convert(u64::from((2f32.powi(-25) * 1.5).to_bits()), F32, F16, Rounding::Nearest), 1);
        assert_eq!(convert(u64::from(1.005f32.to_bits()), F32, BF16, Rounding::Nearest), 0x3f81);
        assert_eq!(to_integer(u64::from((-2.5f32).to_bits()), F32, Rounding::Nearest), Some((true, 2)));
        assert_eq!(to_integer(u64::from((-2.5f32).to_bits()), F32, Rounding::Down), Some((true, 3)));
    }
}
