//! Initial values of variables. A string in device memory is a number for each byte in PTX, so that numbers are kept as bytes.

use std::sync::Arc;

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
    /// The integers of a variable of integers, as they lie in memory from its begin; zero where there is another value.
    bytes: Vec<u8>,
    /// All other values, by element index.
    others: Vec<(u64, InitialValue)>,
}

impl Initial {
    /// Adds an element, in the order of the text. `width` is that of an integer in bytes, 0 for other types.
    pub(crate) fn push(&mut self, index: u64, width: usize, value: InitialValue) {
        // Braces may close early, and so leave out any number of elements.
        let is_near = |start: usize| start <= 2 * self.bytes.len() + 64;
        let start = usize::try_from(index).ok().and_then(|index| index.checked_mul(width));
        match (value, start) {
            (InitialValue::Integer(0), _) => {}
            (InitialValue::Integer(value), Some(start)) if (1..=8).contains(&width) && is_near(start) => {
                self.bytes.resize(self.bytes.len().max(start + width), 0);
                self.bytes[start..start + width].copy_from_slice(&value.to_le_bytes()[..width]);
            }
            (value, _) => self.others.push((index, value)),
        }
    }

    /// Whether all is zero.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.others.is_empty()
    }

    /// What the variable begins with, as far as it is integers.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_bytes_unless_they_lie_far_apart() {
        let mut initial = Initial::default();
        assert!(initial.is_empty());
        for (index, value) in [(0, 1), (1, 0), (2, -2), (1 << 40, 7), (u64::MAX, 9)] {
            initial.push(index, 2, InitialValue::Integer(value));
        }
        initial.push(3, 2, InitialValue::Unknown);
        assert_eq!(initial.bytes(), [1, 0, 0, 0, 0xfe, 0xff]);
        let others =
            [(1 << 40, InitialValue::Integer(7)), (u64::MAX, InitialValue::Integer(9)), (3, InitialValue::Unknown)];
        assert_eq!(initial.others(), others);
        initial.push(0, 0, InitialValue::Integer(3));
        assert_eq!((initial.bytes().len(), initial.others().len()), (6, 4));
    }
}
