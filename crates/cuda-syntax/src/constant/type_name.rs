//! Type names in casts and `sizeof`.

use super::integer::IntegerType;
use super::token::{Token, TokenKind};

/// A type with a fixed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeName {
    Integer(IntegerType),
    /// `float`, `double` or a pointer: the size, which is also the alignment.
    Other(u32),
}

impl TypeName {
    pub fn bytes(self) -> u32 {
        match self {
            Self::Integer(integer) => integer.bytes(),
            Self::Other(bytes) => bytes,
        }
    }
}

/// The type at the first token, and its number of tokens.
pub fn leading(tokens: &[Token<'_>]) -> Option<(TypeName, usize)> {
    let mut at = qualifiers(tokens);
    let (mut name, length) = match alias(&tokens[at..]) {
        Some((integer, length)) => {
            at += length;
            (TypeName::Integer(integer), qualifiers(&tokens[at..]))
        }
        None => built_in(&tokens[at..])?,
    };
    at += length;
    while let Some(TokenKind::Operator("*")) = tokens.get(at).map(|token| token.kind) {
        name = TypeName::Other(8);
        at += 1 + qualifiers(&tokens[at + 1..]);
    }
    Some((name, at))
}

fn qualifiers(tokens: &[Token<'_>]) -> usize {
    let is_qualifier = |token: &&Token<'_>| matches!(token.kind, TokenKind::Word("const" | "volatile"));
    tokens.iter().take_while(is_qualifier).count()
}

/// A built-in type such as `unsigned long`, with its words in any order.
fn built_in(tokens: &[Token<'_>]) -> Option<(TypeName, usize)> {
    let mut count = Words::default();
    let mut length = 0;
    for token in tokens {
        let TokenKind::Word(word) = token.kind else { break };
        match word {
            "signed" | "__signed__" => count.signed += 1,
            "unsigned" => count.unsigned += 1,
            "short" => count.short += 1,
            "long" => count.long += 1,
            "int" => count.int += 1,
            "bool" | "char" | "float" | "double" if count.other.is_none() => count.other = Some(word),
            "const" | "volatile" => {}
            _ => break,
        }
        length += 1;
    }
    Some((count.name()?, length))
}

#[derive(Default)]
struct Words<'a> {
    signed: u32,
    unsigned: u32,
    short: u32,
    long: u32,
    int: u32,
    other: Option<&'a str>,
}

impl Words<'_> {
    fn name(&self) -> Option<TypeName> {
        use IntegerType::{Bool, Char, Int, Long, LongLong, Short, SignedChar, UnsignedChar};
        let signs = self.signed + self.unsigned;
        let is_plain = self.short + self.long + self.int == 0;
        let integer = match self.other {
            Some("char") if is_plain => match (self.signed, self.unsigned) {
                (0, 0) => Char,
                (1, 0) => SignedChar,
                (0, 1) => return Some(TypeName::Integer(UnsignedChar)),
                _ => return None,
            },
            Some("bool") if is_plain && signs == 0 => Bool,
            Some("float") if is_plain && signs == 0 => return Some(TypeName::Other(4)),
            Some("double") if is_plain && signs == 0 => return Some(TypeName::Other(8)),
            Some(_) => return None,
            None => match (self.short, self.long, self.int) {
                (1, 0, 0 | 1) => Short,
                (0, 1, 0 | 1) => Long,
                (0, 2, 0 | 1) => LongLong,
                (0, 0, 1) => Int,
                (0, 0, 0) if signs == 1 => Int,
                _ => return None,
            },
        };
        match (self.signed, self.unsigned) {
            (0 | 1, 0) => Some(TypeName::Integer(integer)),
            (0, 1) => Some(TypeName::Integer(integer.unsigned())),
            _ => None,
        }
    }
}

/// Integer typedefs that the headers of every platform define.
fn alias(tokens: &[Token<'_>]) -> Option<(IntegerType, usize)> {
    use IntegerType::{Int, Long, Short, SignedChar, UnsignedChar, UnsignedInt, UnsignedLong, UnsignedShort};
    let kind = |at: usize| tokens.get(at).map(|token| token.kind);
    let mut at = usize::from(kind(0) == Some(TokenKind::Operator("::")));
    for namespace in ["cuda", "std"] {
        if kind(at) == Some(TokenKind::Word(namespace)) && kind(at + 1) == Some(TokenKind::Operator("::")) {
            at += 2;
        }
    }
    let Some(TokenKind::Word(word)) = kind(at) else { return None };
    let integer = match word {
        "int8_t" => SignedChar,
        "uint8_t" => UnsignedChar,
        "int16_t" => Short,
        "uint16_t" => UnsignedShort,
        "int32_t" => Int,
        "uint32_t" => UnsignedInt,
        "int64_t" | "intptr_t" | "ptrdiff_t" | "ssize_t" => Long,
        "uint64_t" | "uintptr_t" | "size_t" => UnsignedLong,
        // glibc defines these without a namespace.
        "ushort" if at == 0 => UnsignedShort,
        "uint" if at == 0 => UnsignedInt,
        "ulong" if at == 0 => UnsignedLong,
        _ => return None,
    };
    Some((integer, at + 1))
}
