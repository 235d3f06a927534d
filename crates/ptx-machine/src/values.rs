//! Plausible initial values for most kernels: small numbers, some of them equal, some zero.

use std::collections::HashMap;

use ptx_syntax::Type;

use crate::memory::{Access, Class, Element, Origin, Region, Value, Values, mix};
use crate::soft::{self, BF16, F16, F64, Rounding};

/// Values derived from a seed, the region and the offset.
///
/// Floats lie within ±2, with some integral values, zeros and equal neighbours. Integers lie in a range. Each pointer
/// points to its own region.
#[derive(Debug, Clone)]
pub struct Generated {
    /// A different seed gives different values.
    pub seed: u64,
    /// Range of integers, exclusive of its end.
    pub integers: std::ops::Range<i64>,
    /// Known element types of regions; the first access may not show them.
    pub elements: HashMap<Origin, Element>,
}

impl Generated {
    /// Values with integers from 0 to 31.
    pub fn new(seed: u64) -> Self {
        Self { seed, integers: 0..32, elements: HashMap::new() }
    }
}

impl Values for Generated {
    fn element(&mut self, region: &Region, first: Access) -> Element {
        if let Some(element) = self.elements.get(&region.origin) {
            return *element;
        }
        let class = match (first.class, first.ty) {
            (Class::Pointer, _) if first.bytes == 8 => Class::Pointer,
            (
                Class::Pointer | Class::Unknown,
                ty @ (Type::F16 | Type::F16x2 | Type::Bf16x2 | Type::F32 | Type::F64),
            ) => Class::Float(ty),
            (Class::Pointer, _) => Class::Integer,
            // A word that is only moved is more often a float than not.
            (Class::Unknown, Type::B32) => Class::Float(Type::F32),
            (Class::Unknown, _) => Class::Integer,
            (class, _) => class,
        };
        let bytes = match class {
            Class::Float(ty) => element_bytes(ty),
            Class::Pointer => 8,
            Class::Integer | Class::Unknown => first.bytes,
        };
        Element { bytes, class }
    }

    fn value(&mut self, region: &Region, element: Element, offset: i64, _: Access) -> Value {
        let index = offset.div_euclid(i64::from(element.bytes));
        let key = match &region.origin {
            Origin::Variable(name) => name.bytes().fold(5, |hash, byte| mix(hash, u64::from(byte))),
            _ => region.id.address(),
        };
        let key = mix(self.seed, key);
        let mut hash = mix(key, index.cast_unsigned());
        // One element in eight equals its neighbour.
        if hash >> 60 == 0 || hash >> 60 == 1 {
            hash = mix(key, (index ^ 1).cast_unsigned()) & !(7 << 61) | 1 << 62;
        }
        match element.class {
            Class::Pointer => Value::Pointer,
            Class::Integer | Class::Unknown => {
                let span = self.integers.end.saturating_sub(self.integers.start).max(1).cast_unsigned();
                Value::Bits(self.integers.start.wrapping_add_unsigned(hash % span).cast_unsigned())
            }
            Class::Float(ty) => Value::Bits(bits_of(ty, float(hash))),
        }
    }
}

fn element_bytes(ty: Type) -> u32 {
    match ty {
        Type::F16x2 | Type::Bf16x2 => 2,
        Type::F32x2 => 4,
        other => other.bytes().clamp(1, 8),
    }
}

/// A number within ±2 with few significant digits, so that small sums are exact in single precision.
fn float(hash: u64) -> f64 {
    match hash >> 58 & 7 {
        0 => 0.0,
        1 | 2 => ((hash & 7) as f64) - 3.0,
        3 => ((hash & 0xff) as f64) / 64.0 - 2.0,
        _ => ((hash & 0xff_ffff) as f64) / f64::from(1 << 22) - 2.0,
    }
}

fn bits_of(ty: Type, value: f64) -> u64 {
    let converted = |format| soft::convert(value.to_bits(), F64, format, Rounding::Nearest);
    match ty {
        Type::F64 => value.to_bits(),
        Type::F16 | Type::F16x2 => converted(F16),
        Type::Bf16 | Type::Bf16x2 => converted(BF16),
        _ => u64::from((value as f32).to_bits()),
    }
}
