//! Initial values of variables. A string in device memory is a number for each byte in PTX, and a table a number for each element,
//! so that numbers are kept as bytes.

use std::sync::Arc;

use crate::words::Type;

/// An element of an initializer.
#[derive(Debug, Clone, PartialEq)]
pub enum InitialValue {
    /// An integer; values above `i64::MAX` keep their bits.
    Integer(i64),
    /// The bits of a `0f…` literal.
    Single(u32),
    /// The bits of a `0d…` or decimal literal.
    Double(u64),
    /// The address of a variable or function.
    Address {
        /// The symbol.
        name: Arc<str>,
        /// Offset in bytes.
        offset: i64,
        /// Whether it is a generic address: `generic(name)`.
        generic: bool,
    },
    /// An element that could not be parsed.
    Unknown,
}

/// The initial values of a variable; what is not said is zero.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Initial {
    /// The numbers of the variable's type, as they lie in memory from its begin; zero where there is another value.
    bytes: Vec<u8>,
    /// All other values, by element index.
    others: Vec<(u64, InitialValue)>,
}

impl Initial {
    /// Adds an element of a type, in the order of the text.
    pub(crate) fn push(&mut self, index: u64, ty: Type, value: InitialValue) {
        // Braces may close early, and so leave out any number of elements.
        let is_near = |start: usize| start <= 2 * self.bytes.len() + 64;
        let width = ty.bytes() as usize;
        let start = usize::try_from(index).ok().and_then(|index| index.checked_mul(width));
        match (bits(ty, &value), start) {
            (Some(0), _) => {}
            (Some(bits), Some(start)) if is_near(start) => {
                self.bytes.resize(self.bytes.len().max(start + width), 0);
                self.bytes[start..start + width].copy_from_slice(&bits.to_le_bytes()[..width]);
            }
            _ => self.others.push((index, value)),
        }
    }

    /// Whether all is zero.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.others.is_empty()
    }

    /// What the variable begins with, as far as it is numbers of its type.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Values that are not among the bytes, by element index.
    pub fn others(&self) -> &[(u64, InitialValue)] {
        &self.others
    }

    /// Symbols whose addresses are among the values.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.others.iter().filter_map(|(_, value)| match value {
            InitialValue::Address { name, .. } => Some(name),
            _ => None,
        })
    }
}

/// The bits of a number, if it is written as one of the type.
fn bits(ty: Type, value: &InitialValue) -> Option<u64> {
    match value {
        InitialValue::Integer(value) if !ty.is_float() && ty.bytes() <= 8 => Some(value.cast_unsigned()),
        InitialValue::Single(bits) if ty == Type::F32 => Some(u64::from(*bits)),
        InitialValue::Double(bits) if ty == Type::F64 => Some(*bits),
        // A decimal literal has 64 bits, and is rounded to the type.
        InitialValue::Double(bits) if ty == Type::F32 => Some(u64::from((f64::from_bits(*bits) as f32).to_bits())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_type_are_bytes() {
        let mut initial = Initial::default();
        initial.push(0, Type::F32, InitialValue::Single(0));
        initial.push(1, Type::F32, InitialValue::Single(1.5f32.to_bits()));
        initial.push(2, Type::F32, InitialValue::Double(1.5f64.to_bits()));
        let expected = [0, 0, 0, 0, 0, 0, 0xc0, 0x3f, 0, 0, 0xc0, 0x3f];
        assert_eq!((initial.bytes(), initial.others().len()), (&expected[..], 0));
        let mut initial = Initial::default();
        initial.push(0, Type::F64, InitialValue::Double(1.5f64.to_bits()));
        assert_eq!((initial.bytes(), initial.others().len()), (&1.5f64.to_le_bytes()[..], 0));
    }

    #[test]
    fn integers_are_bytes_unless_they_lie_far_apart() {
        let mut initial = Initial::default();
        assert!(initial.is_empty());
        for (index, value) in [(0, 1), (1, 0), (2, -2), (1 << 40, 7), (u64::MAX, 9)] {
            initial.push(index, Type::U16, InitialValue::Integer(value));
        }
        initial.push(3, Type::U16, InitialValue::Unknown);
        assert_eq!(initial.bytes(), [1, 0, 0, 0, 0xfe, 0xff]);
        let others =
            [(1 << 40, InitialValue::Integer(7)), (u64::MAX, InitialValue::Integer(9)), (3, InitialValue::Unknown)];
        assert_eq!(initial.others(), others);
        initial.push(0, Type::F32, InitialValue::Integer(3));
        assert_eq!((initial.bytes().len(), initial.others().len()), (6, 4));
    }
}
