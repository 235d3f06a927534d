//! Compares the output of two runs: equal, equal up to the last digits, or different.

use std::collections::BTreeMap;

use ptx_machine::{Memory, Origin};
use ptx_syntax::Type;

/// Tolerance by type, in parts of 10^15: an `f32` may lose a few digits in a long sum.
const SINGLE: u64 = 100_000_000_000;
const DOUBLE: u64 = 1_000_000;
const HALF: u64 = 10_000_000_000_000;
/// A difference below this fraction of a number nearby is attributed to cancellation.
const CANCELLED: f64 = 1e-6;
/// Numbers that exceed the difference by more have nothing to do with it, as their own last digits are far larger: -1e30
/// as the start of a search for the largest number.
const UNRELATED: f64 = 1e12;

/// The difference between two runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Difference {
    /// No difference.
    None,
    /// The relative difference, in parts of 10^15.
    Digits(u64),
    /// A description, and the location.
    Bytes(String, Option<(Origin, i64)>),
}

/// Compares all written memory.
pub(crate) fn between(before: &Memory, after: &Memory) -> Difference {
    let (old, new) = (before.written(), after.written());
    if old == new {
        return Difference::None;
    }
    let by_place = |all: &[ptx_machine::Written]| -> BTreeMap<(Origin, i64), u8> {
        let bytes = all.iter().flat_map(|written| {
            written.bytes.iter().zip(written.offset..).map(|(byte, offset)| ((written.origin.clone(), offset), *byte))
        });
        bytes.collect()
    };
    let (old, new) = (by_place(&old), by_place(&new));
    if let Some((origin, offset)) = old.keys().find(|place| !new.contains_key(place)) {
        let what = format!("{} is not written", place(origin, *offset));
        return Difference::Bytes(what, Some((origin.clone(), *offset)));
    }
    if let Some((origin, offset)) = new.keys().find(|place| !old.contains_key(place)) {
        return Difference::Bytes(format!("{} is written", place(origin, *offset)), None);
    }
    let mut worst = 0;
    for ((origin, offset), _) in old.iter().filter(|(place, byte)| new.get(*place) != Some(*byte)) {
        let ty = [before, after]
            .into_iter()
            .find_map(|memory| memory.float_at(memory.region_of(origin)?, *offset))
            .map(scalar);
        let apart = ty.and_then(|ty| digits(origin, *offset, ty, &old, &new));
        match apart {
            Some(apart) => worst = worst.max(apart),
            None => {
                let what = described(origin, *offset, ty, &old, &new);
                return Difference::Bytes(what, Some((origin.clone(), *offset)));
            }
        }
    }
    Difference::Digits(worst)
}

type Bytes = BTreeMap<(Origin, i64), u8>;

/// The element type of a packed type.
fn scalar(ty: Type) -> Type {
    match ty {
        Type::F16x2 => Type::F16,
        Type::Bf16x2 => Type::Bf16,
        Type::F32x2 => Type::F32,
        other => other,
    }
}

/// The difference between two numbers, if it is within tolerance.
fn digits(origin: &Origin, offset: i64, ty: Type, old: &Bytes, new: &Bytes) -> Option<u64> {
    let size = i64::from(ty.bytes());
    let start = offset.div_euclid(size) * size;
    let (a, b) = (number(origin, start, ty, old)?, number(origin, start, ty, new)?);
    if a == b || (a.is_nan() && b.is_nan()) {
        return Some(0);
    }
    let apart = (a - b).abs();
    let relative = (apart / a.abs().max(b.abs()) * 1e15).ceil();
    let limit = match ty {
        Type::F64 => DOUBLE,
        Type::F32 => SINGLE,
        _ => HALF,
    };
    // Comparisons with NaN and infinity are false.
    if relative <= limit as f64 {
        return Some(relative as u64);
    }
    // Integers are counts, and exact.
    let is_count = |number: f64| number.fract() == 0.0 && number.abs() < f64::from(1 << 24);
    if is_count(a) && is_count(b) {
        return None;
    }
    let digits = if ty == Type::F64 { 1e-7 } else { 1.0 };
    let beside = apart / largest(origin, start, ty, old, apart * UNRELATED / digits);
    (beside <= CANCELLED * digits).then_some((beside * 1e15).ceil() as u64)
}

/// The largest number near a location that does not exceed a limit.
fn largest(origin: &Origin, start: i64, ty: Type, bytes: &Bytes, limit: f64) -> f64 {
    const NEAR: i64 = 256;
    let size = i64::from(ty.bytes());
    let numbers = (-NEAR..=NEAR).filter_map(|step| number(origin, start + step * size, ty, bytes));
    numbers.map(f64::abs).filter(|number| *number <= limit).fold(0.0, f64::max)
}

fn number(origin: &Origin, start: i64, ty: Type, bytes: &Bytes) -> Option<f64> {
    let mut bits = 0;
    for at in 0..i64::from(ty.bytes()) {
        bits |= u64::from(*bytes.get(&(origin.clone(), start + at))?) << (8 * at);
    }
    Some(match ty {
        Type::F64 => f64::from_bits(bits),
        Type::F32 => f64::from(f32::from_bits(bits as u32)),
        Type::Bf16 => f64::from(f32::from_bits((bits as u32) << 16)),
        Type::F16 => half(bits as u16),
        _ => return None,
    })
}

fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

fn described(origin: &Origin, offset: i64, ty: Option<Type>, old: &Bytes, new: &Bytes) -> String {
    let size = ty.map_or(4, |ty| i64::from(ty.bytes()));
    let start = offset.div_euclid(size) * size;
    let shown = |bytes: &Bytes| match ty {
        Some(ty) => number(origin, start, ty, bytes).map(|number| format!("{number:?}")),
        None => {
            let word = (0..size).map(|at| bytes.get(&(origin.clone(), start + at)).copied());
            let word: Option<Vec<u8>> = word.collect();
            word.and_then(|word| Some(i32::from_le_bytes(word.try_into().ok()?).to_string()))
        }
    };
    match (shown(old), shown(new)) {
        (Some(a), Some(b)) => format!("{} is {b}, not {a}", place(origin, start)),
        _ => format!("{} differs", place(origin, offset)),
    }
}

fn place(origin: &Origin, offset: i64) -> String {
    match origin {
        Origin::Parameter(number) => format!("byte {offset} behind parameter {}", number / crate::parameters::POINTERS),
        Origin::Variable(name) => format!("byte {offset} of `{name}`"),
        Origin::Loaded { .. } => format!("byte {offset} behind a loaded pointer"),
        Origin::Allocated(_) => format!("byte {offset} of allocated memory"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancellation_is_told_from_counts_and_unrelated_numbers() {
        let origin = Origin::Parameter(0);
        let bytes = |numbers: [f32; 3]| -> Bytes {
            let bytes = numbers.into_iter().flat_map(f32::to_le_bytes);
            (0..).zip(bytes).map(|(at, byte)| ((origin.clone(), at), byte)).collect()
        };
        let apart = |old: [f32; 3], new: f32| digits(&origin, 0, Type::F32, &bytes(old), &bytes([new, old[1], old[2]]));
        assert!(apart([1.5e-7, 3.25, -1e30], 2.5e-7).is_some_and(|apart| apart < 100_000_000));
        assert_eq!(apart([5.5, 0.0, -1e30], 6.5), None);
        assert_eq!(apart([5.0, 3e7, 0.0], 6.0), None);
        assert!(apart([5.5, 3e7, 0.0], 6.25).is_some());
    }

    #[test]
    fn halves_are_numbers() {
        assert_eq!([0x3c00, 0xc000, 0x0001, 0x7bff].map(half), [1.0, -2.0, 2f64.powi(-24), 65504.0]);
        assert!(half(0x7e00).is_nan() && half(0xfc00) == f64::NEG_INFINITY);
    }
}
