//! `.nv.info` sections: attributes of a cubin and of its functions.
//!
//! An attribute is a format byte, an attribute byte, and a 16-bit value. For format 4 the value is the size of the
//! payload that follows. NVIDIA documents none of this; `cuobjdump -elf` prints the names (`EIATTR_…`, `EIFMT_…`).

/// `EIFMT_SVAL`: the value is a payload behind the attribute.
const FORMAT_BYTES: u8 = 4;

/// `EIATTR_FRAME_SIZE`, by function: bytes of its frame plus the deepest frame of the functions it calls through
/// pointers.
pub const FRAME_SIZE: u8 = 0x11;
/// `EIATTR_MIN_STACK_SIZE`, by function; all bits are set if ptxas cannot determine the size.
pub const MIN_STACK_SIZE: u8 = 0x12;
/// `EIATTR_MAXREG_COUNT`: the register limit of the function.
pub const MAX_REGISTERS: u8 = 0x1b;
/// `EIATTR_REGCOUNT`, by function: the registers that it uses.
pub const REGISTERS: u8 = 0x2f;

/// The value of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeValue<'a> {
    Short(u16),
    Bytes(&'a [u8]),
}

impl<'a> AttributeValue<'a> {
    /// The value as 32-bit words; an incomplete word at the end is dropped.
    pub fn words(self) -> impl Iterator<Item = u32> + 'a {
        let bytes: &[u8] = match self {
            Self::Short(_) => &[],
            Self::Bytes(bytes) => bytes,
        };
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(std::array::from_fn(|byte| word[byte])))
    }

    /// For attributes in `.nv.info` itself: the symbol index of the function, and the number.
    pub fn of_symbol(self) -> Option<(usize, u32)> {
        let mut words = self.words();
        Some((words.next()? as usize, words.next()?))
    }
}

/// The attributes of a section, up to the first that is truncated.
pub fn attributes(mut data: &[u8]) -> impl Iterator<Item = (u8, AttributeValue<'_>)> {
    std::iter::from_fn(move || {
        let [format, attribute, low, high, rest @ ..] = data else { return None };
        let short = u16::from_le_bytes([*low, *high]);
        if *format != FORMAT_BYTES {
            data = rest;
            return Some((*attribute, AttributeValue::Short(short)));
        }
        let (bytes, rest) = rest.split_at_checked(usize::from(short))?;
        data = rest;
        Some((*attribute, AttributeValue::Bytes(bytes)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_values_of_both_kinds() {
        let mut data = vec![3, MAX_REGISTERS, 32, 0, 4, FRAME_SIZE, 8, 0];
        data.extend([15, 0, 0, 0, 0x40, 1, 0, 0]);
        let found: Vec<_> = attributes(&data).collect();
        assert_eq!(found[0], (MAX_REGISTERS, AttributeValue::Short(32)));
        assert_eq!(found[1].1.of_symbol(), Some((15, 320)));
        assert_eq!(found[0].1.of_symbol(), None);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn cut_attributes_are_read_as_far_as_they_go() {
        assert_eq!(attributes(&[4, FRAME_SIZE, 200, 0, 1, 0]).count(), 0);
        assert_eq!(attributes(&[4]).count(), 0);
    }
}
