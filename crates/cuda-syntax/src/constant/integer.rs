//! C++ integer types on Linux (LP64), their values and conversions.

/// A built-in integer type. `long` and `long long` have one size and stay distinct: overload resolution depends on the
/// type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntegerType {
    Bool,
    /// Signed on x86, unsigned on ARM: only values in both ranges are known.
    Char,
    SignedChar,
    UnsignedChar,
    Short,
    UnsignedShort,
    Int,
    UnsignedInt,
    Long,
    UnsignedLong,
    LongLong,
    UnsignedLongLong,
}

use IntegerType::{
    Bool, Char, Int, Long, LongLong, Short, SignedChar, UnsignedChar, UnsignedInt, UnsignedLong, UnsignedLongLong,
    UnsignedShort,
};

impl IntegerType {
    /// The C++ spelling.
    pub fn name(self) -> &'static str {
        match self {
            Bool => "bool",
            Char => "char",
            SignedChar => "signed char",
            UnsignedChar => "unsigned char",
            Short => "short",
            UnsignedShort => "unsigned short",
            Int => "int",
            UnsignedInt => "unsigned int",
            Long => "long",
            UnsignedLong => "unsigned long",
            LongLong => "long long",
            UnsignedLongLong => "unsigned long long",
        }
    }

    /// The size, which is also the alignment.
    pub fn bytes(self) -> u32 {
        match self {
            Bool | Char | SignedChar | UnsignedChar => 1,
            Short | UnsignedShort => 2,
            Int | UnsignedInt => 4,
            Long | UnsignedLong | LongLong | UnsignedLongLong => 8,
        }
    }

    pub fn is_unsigned(self) -> bool {
        matches!(self, Bool | UnsignedChar | UnsignedShort | UnsignedInt | UnsignedLong | UnsignedLongLong)
    }

    /// The unsigned type of the same rank.
    pub fn unsigned(self) -> Self {
        match self {
            Bool => Bool,
            Char | SignedChar | UnsignedChar => UnsignedChar,
            Short | UnsignedShort => UnsignedShort,
            Int | UnsignedInt => UnsignedInt,
            Long | UnsignedLong => UnsignedLong,
            LongLong | UnsignedLongLong => UnsignedLongLong,
        }
    }

    /// The type after integral promotion.
    #[must_use]
    pub fn promoted(self) -> Self {
        if self.bytes() < Int.bytes() { Int } else { self }
    }

    /// The common type of two operands: the usual arithmetic conversions.
    #[must_use]
    pub fn common(self, other: Self) -> Self {
        let (left, right) = (self.promoted(), other.promoted());
        let higher = if left.rank() >= right.rank() { left } else { right };
        if left.is_unsigned() == right.is_unsigned() {
            return higher;
        }
        let (unsigned, signed) = if left.is_unsigned() { (left, right) } else { (right, left) };
        match () {
            () if unsigned.rank() >= signed.rank() => unsigned,
            () if signed.bytes() > unsigned.bytes() => signed,
            () => signed.unsigned(),
        }
    }

    pub(super) fn bits(self) -> u32 {
        if self == Bool { 1 } else { self.bytes() * 8 }
    }

    fn rank(self) -> u32 {
        match self {
            Bool => 0,
            Char | SignedChar | UnsignedChar => 1,
            Short | UnsignedShort => 2,
            Int | UnsignedInt => 3,
            Long | UnsignedLong => 4,
            LongLong | UnsignedLongLong => 5,
        }
    }

    /// Whether a number is in the type's range.
    pub(super) fn holds(self, number: i128) -> bool {
        match self {
            Char => (0..=127).contains(&number),
            _ if self.is_unsigned() => (0..1 << self.bits()).contains(&number),
            _ => (-(1 << (self.bits() - 1))..1 << (self.bits() - 1)).contains(&number),
        }
    }

    /// The number converted to the type; `None` where the result depends on the host.
    pub(super) fn wrap(self, number: i128) -> Option<i128> {
        let unused = i128::BITS - self.bits();
        match self {
            Bool => Some(i128::from(number != 0)),
            Char => Some(number & 0xff).filter(|it| self.holds(*it)),
            _ if self.is_unsigned() => Some(number & ((1 << self.bits()) - 1)),
            _ => Some(number << unused >> unused),
        }
    }
}

/// An integer and its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value {
    integer: IntegerType,
    number: i128,
}

impl Value {
    /// `None` for a number outside the type's range.
    pub fn new(integer: IntegerType, number: i128) -> Option<Self> {
        integer.holds(number).then_some(Self { integer, number })
    }

    pub fn int(number: i32) -> Self {
        Self { integer: Int, number: i128::from(number) }
    }

    /// The value with the type of a decimal literal: `int`, or `long` if `int` is too small.
    pub fn from_i64(number: i64) -> Self {
        let number = i128::from(number);
        Self { integer: if Int.holds(number) { Int } else { Long }, number }
    }

    pub fn integer_type(self) -> IntegerType {
        self.integer
    }

    pub fn is_unsigned(self) -> bool {
        self.integer.is_unsigned()
    }

    pub fn number(self) -> i128 {
        self.number
    }

    /// `None` for unsigned values above `i64::MAX`.
    pub fn as_i64(self) -> Option<i64> {
        i64::try_from(self.number).ok()
    }

    /// The value converted to another type, as in initialization: unsigned types wrap around.
    pub fn converted(self, to: IntegerType) -> Option<Self> {
        Some(Self { integer: to, number: to.wrap(self.number)? })
    }
}
