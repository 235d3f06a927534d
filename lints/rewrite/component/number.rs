//! Numeric types by size and kind.

use cuda_syntax::types;

/// A numeric type of known size.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) kind: NumberKind,
    pub(super) bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberKind {
    Signed,
    Unsigned,
    Float,
    Half,
    Brain,
}

impl Number {
    /// A spelling of the type.
    pub(super) fn text(self) -> Option<&'static str> {
        Some(match (self.kind, self.bytes) {
            (NumberKind::Float, 4) => "float",
            (NumberKind::Float, 8) => "double",
            (NumberKind::Signed, 4) => "int",
            (NumberKind::Signed, 8) => "long long",
            (NumberKind::Unsigned, 4) => "unsigned",
            (NumberKind::Unsigned, 8) => "unsigned long long",
            _ => return None,
        })
    }
}

/// The numeric type of a type's text; for a vector, of its components.
pub(super) fn number(type_text: &str) -> Option<Number> {
    let words: Vec<&str> = type_text.split_whitespace().filter(|word| !matches!(*word, "const" | "volatile")).collect();
    let name = words.join(" ");
    let name = name.trim_start_matches("std::");
    // Component types of vectors: `longlong` of `longlong2`.
    let bytes = match name {
        "longlong" => 8,
        "ulonglong" => 8,
        _ => types::size_of(name).filter(|_| types::is_scalar(name))?,
    };
    let kind = match name {
        "float" | "double" => NumberKind::Float,
        "half" | "__half" => NumberKind::Half,
        "__nv_bfloat16" | "nv_bfloat16" => NumberKind::Brain,
        "bool" => return None,
        _ if name.starts_with('u') || name == "size_t" => NumberKind::Unsigned,
        _ => NumberKind::Signed,
    };
    Some(Number { kind, bytes })
}
