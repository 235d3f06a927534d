//! Memory contents: values that depend only on a seed, the region and the offset.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use foldhash::fast::FixedState;
use ptx_machine::{Access, Class, Element, Generated, Origin, Region, Value, Values};
use ptx_syntax::Type;

use crate::constants::Constants;
use crate::recipe::{Recipe, Spread};

/// By region and offset, a class that is not the region's.
type Members = Rc<RefCell<HashMap<(Origin, i64), Option<Class>, FixedState>>>;

/// The element types of regions, so that the other version gets the same contents.
#[derive(Debug, Clone, Default)]
pub(crate) struct Elements {
    pub regions: Rc<RefCell<HashMap<Origin, Element>>>,
    /// Elements that are used in another way than the region's first: members of structures.
    members: Members,
}

impl Elements {
    /// How an element is used: as its first access shows, in the first version that reads it.
    fn class(&self, region: &Region, element: Element, offset: i64, access: Access) -> Class {
        let shown = match (element.class, access.class) {
            (Class::Integer | Class::Unknown, Class::Float(ty)) if ty.bytes() == element.bytes => Some(access.class),
            (Class::Float(Type::F32 | Type::F64), Class::Integer) => Some(Class::Integer),
            _ => None,
        };
        let shown = shown.filter(|_| access.bytes == element.bytes);
        let mut members = self.members.borrow_mut();
        members.entry((region.origin.clone(), offset)).or_insert(shown).unwrap_or(element.class)
    }
}

/// The values of a launch.
#[derive(Debug, Clone)]
pub(crate) struct Drawn {
    pub recipe: Recipe,
    pub elements: Elements,
    pub constants: Rc<Constants>,
}

impl Values for Drawn {
    fn element(&mut self, region: &Region, first: Access) -> Element {
        if let Some(element) = self.elements.regions.borrow().get(&region.origin) {
            return *element;
        }
        let is_word = first.class == Class::Unknown && matches!(first.ty, Type::B32 | Type::F32);
        let is_wide = first.bytes == 8 && matches!(first.class, Class::Unknown | Class::Integer);
        let element = match () {
            () if is_word && self.recipe.words_are_integers => Element { bytes: first.bytes, class: Class::Integer },
            () if is_wide && self.recipe.wide_are_pointers => Element { bytes: 8, class: Class::Pointer },
            () => Generated::new(self.recipe.seed).element(region, first),
        };
        self.elements.regions.borrow_mut().insert(region.origin.clone(), element);
        element
    }

    fn value(&mut self, region: &Region, element: Element, offset: i64, access: Access) -> Value {
        let element = Element { class: self.elements.class(region, element, offset, access), ..element };
        let below =
            self.recipe.below_in.get(&region.origin).copied().unwrap_or(self.recipe.below).max(self.recipe.least + 1);
        let usual = |range| {
            let mut generated = Generated::new(self.recipe.seed);
            generated.integers = range;
            generated.value(region, element, offset, access)
        };
        let index = offset.div_euclid(i64::from(element.bytes));
        let one = self.recipe.seed.wrapping_add(u64::from(region.id.address() >> 36 == 0)).cast_signed();
        let within = |number: i64| self.recipe.least + number.rem_euclid(below - self.recipe.least);
        let whole = match (self.recipe.spread, element.class) {
            (_, Class::Pointer) | (Spread::Random, _) => return usual(self.recipe.least..below),
            (Spread::Mixed, class) => {
                let least = self.recipe.least;
                let (own, each) =
                    (mix(self.recipe.seed, region.id.address() >> 36), mix(self.recipe.seed, index.cast_unsigned()));
                match (class, own % 4) {
                    (Class::Float(_), _) | (_, 0) => return usual(least..below),
                    (_, 1) => within(index),
                    (_, 2) if each >> 32 & 3 != 0 => least,
                    (_, 3) if each >> 32 & 3 == 0 && least <= 0 => -1,
                    _ => return usual(least..below),
                }
            }
            (Spread::Signed, Class::Integer | Class::Unknown) => {
                return signed(&usual, self.recipe.least, below, element.bytes);
            }
            (Spread::Signed, Class::Float(ty)) => {
                return odd(usual(0..1), ty, mix(self.recipe.seed, index.cast_unsigned()));
            }
            (Spread::Compared, _) => {
                return self.compared(element.class, index).unwrap_or_else(|| usual(self.recipe.least..below));
            }
            (Spread::Rising, _) => within(index),
            (Spread::Falling, _) => below - 1 - within(index) + self.recipe.least,
            (Spread::Equal, _) => within(one),
            (Spread::Outlier, _) if index.rem_euclid(37) == 5 => below - 1,
            (Spread::Outlier, _) => within(one),
        };
        match element.class {
            Class::Float(ty) => Value::Bits(float_bits(ty, whole as f64 / 4.0 - 1.0)),
            _ => Value::Bits(whole.cast_unsigned()),
        }
    }
}

impl Drawn {
    /// For every second element, a value that conditions of the kernel depend on.
    fn compared(&self, class: Class, index: i64) -> Option<Value> {
        let hash = mix(self.recipe.seed, index.cast_unsigned());
        if hash >> 32 & 1 == 0 {
            return None;
        }
        let bits = match class {
            Class::Float(ty) => float_bits(ty, self.constants.float(hash)?),
            _ => self.constants.integer(hash)?.cast_unsigned(),
        };
        Some(Value::Bits(bits))
    }
}

/// The smallest number that an `int` cannot represent.
const FAR: i64 = 1 << 31;

/// Makes one value in 16 unusual: infinite, huge, a signed zero, or NaN.
fn odd(usual: Value, ty: Type, hash: u64) -> Value {
    const ODD: [f64; 4] = [f64::INFINITY, -1e4, -0.0, f64::NAN];
    match hash % 64 {
        kind @ 0..4 => Value::Bits(match (ty, ODD[kind as usize]) {
            (Type::F16 | Type::F16x2, number) if number.is_infinite() => 0x7c00,
            (Type::F16 | Type::F16x2, number) if number.is_nan() => 0x7e00,
            (Type::F16 | Type::F16x2, 0.0) => 0x8000,
            (_, number) => float_bits(ty, number),
        }),
        _ => usual,
    }
}

/// Integers of both signs. If the range is large, one in 16 is at the limit of its type, and those of 64 bits may exceed
/// 32 bits.
fn signed(usual: &dyn Fn(std::ops::Range<i64>) -> Value, least: i64, below: i64, bytes: u32) -> Value {
    // A value that must not be zero keeps its sign.
    if least > 0 {
        return usual(least..below);
    }
    let Value::Bits(bits) = usual(0..below.saturating_mul(32)) else { return Value::Pointer };
    let (number, kind) = (bits.cast_signed() / 32, bits % 32);
    let is_large = below > 1 << 15;
    Value::Bits(match kind {
        0 if is_large => u64::from(i32::MAX.cast_unsigned()),
        1 if is_large => i64::from(i32::MIN).cast_unsigned(),
        2 if is_large => u64::MAX,
        // Eight bytes for each of so many elements are still within a region.
        4 if is_large && bytes == 8 => (FAR + number).cast_unsigned(),
        even if even % 2 == 0 => number.cast_unsigned(),
        _ => (-number).cast_unsigned(),
    })
}

/// Encodes a small number in a format that represents it exactly.
pub(crate) fn float_bits(ty: Type, value: f64) -> u64 {
    let single = (value as f32).to_bits();
    match ty {
        Type::F64 => value.to_bits(),
        Type::Bf16 | Type::Bf16x2 => u64::from(single >> 16),
        Type::F16 | Type::F16x2 => u64::from(half_bits(single)),
        _ => u64::from(single),
    }
}

/// Truncates a number in the range of `f16`.
fn half_bits(single: u32) -> u16 {
    let exponent = (single >> 23 & 0xff).cast_signed() - 127 + 15;
    let sign = (single >> 16) as u16 & 0x8000;
    match exponent {
        ..=0 => sign,
        1..=30 => sign | (exponent as u16) << 10 | (single >> 13) as u16 & 0x3ff,
        _ => sign | 0x7bff,
    }
}

/// Mixes two numbers into a pseudo-random one.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(b).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_are_exact_in_all_formats() {
        assert_eq!(float_bits(Type::F16, 1.5), 0x3e00);
        assert_eq!(float_bits(Type::F16, -0.25), 0xb400);
        assert_eq!(float_bits(Type::F16, 0.0), 0);
        assert_eq!(float_bits(Type::Bf16, -2.0), 0xc000);
        assert_eq!(float_bits(Type::F32, 1.0), 0x3f80_0000);
    }
}
