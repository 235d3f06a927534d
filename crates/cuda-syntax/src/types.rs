//! Sizes of types and values of constant expressions, read from the source.

use std::cell::Cell;

use crate::constant;
use crate::constant::integer::Value;

/// Size of a built-in CUDA C++ type; `None` for types that a program defines.
pub fn size_of(type_text: &str) -> Option<u64> {
    let words: Vec<&str> = type_text
        .split_whitespace()
        .filter(|word| !matches!(*word, "const" | "volatile" | "signed" | "std::" | "struct"))
        .collect();
    let name = words.join(" ");
    let name = name.trim_start_matches("cuda::").trim_start_matches("std::");
    scalar_size(name).or_else(|| vector_size(name))
}

/// Sizes of one component and of the whole scalar or vector: 4 and 16 for `float4`.
pub fn shape(type_text: &str) -> Option<(u64, u64)> {
    let whole = size_of(type_text)?;
    if is_scalar(type_text) {
        return Some((whole, whole));
    }
    let count = match type_text.chars().next_back().and_then(|last| last.to_digit(10)) {
        // Also `half2` and `__nv_bfloat162`.
        Some(count @ 1..=4) => u64::from(count),
        _ => return None,
    };
    Some((whole / count, whole))
}

/// `12` for `float[3][4]`, if all extents are numbers.
pub fn extent(type_text: &str) -> Option<u64> {
    let (_, extents) = type_text.trim_end().strip_suffix(']')?.split_once('[')?;
    extents.split("][").map(|extent| extent.trim().parse::<u64>().ok()).try_fold(1u64, |all, one| all.checked_mul(one?))
}

/// Whether a type is a scalar.
pub fn is_scalar(type_text: &str) -> bool {
    let name: Vec<&str> =
        type_text.split_whitespace().filter(|word| !matches!(*word, "const" | "volatile" | "signed")).collect();
    scalar_size(name.join(" ").trim_start_matches("std::")).is_some()
}

fn scalar_size(name: &str) -> Option<u64> {
    Some(match name {
        "char" | "bool" | "unsigned char" | "int8_t" | "uint8_t" | "uchar" => 1,
        "short" | "unsigned short" | "short int" | "int16_t" | "uint16_t" | "half" | "__half" | "__nv_bfloat16"
        | "nv_bfloat16" | "ushort" => 2,
        "" | "int" | "unsigned" | "unsigned int" | "float" | "int32_t" | "uint32_t" | "uint" => 4,
        "long"
        | "unsigned long"
        | "long long"
        | "unsigned long long"
        | "long int"
        | "unsigned long int"
        | "long long int"
        | "unsigned long long int"
        | "double"
        | "int64_t"
        | "uint64_t"
        | "size_t"
        | "ptrdiff_t"
        | "uintptr_t"
        | "intptr_t"
        | "ulong" => 8,
        _ => return None,
    })
}

/// `float4`, `half2`, `uchar3`
fn vector_size(name: &str) -> Option<u64> {
    if matches!(name, "half2" | "__half2" | "__nv_bfloat162" | "nv_bfloat162") {
        return Some(4);
    }
    let (element, count) = name.split_at_checked(name.len().checked_sub(1)?)?;
    let count: u64 = count.parse().ok().filter(|count| (1..=4).contains(count))?;
    let element: u64 = match element {
        "char" | "uchar" => 1,
        "short" | "ushort" => 2,
        "int" | "uint" | "float" => 4,
        "long" | "ulong" | "longlong" | "ulonglong" | "double" => 8,
        _ => return None,
    };
    element.checked_mul(count)
}

/// The value of a constant expression. A name's replacement is evaluated as an expression, as if it had parentheses.
pub fn evaluate(text: &str, value_of: &dyn Fn(&str) -> Option<String>) -> Option<i64> {
    Names { value_of, left: Cell::new(MAX_NAMES) }.evaluate(text, 0)?.as_i64()
}

/// Limit on nested names; it stops circular definitions.
const MAX_NAME_DEPTH: usize = 8;
/// Limit on names in total; definitions that use each other several times grow exponentially.
const MAX_NAMES: u32 = 1000;

struct Names<'a> {
    value_of: &'a dyn Fn(&str) -> Option<String>,
    left: Cell<u32>,
}

impl Names<'_> {
    fn evaluate(&self, text: &str, depth: usize) -> Option<Value> {
        constant::evaluate(text, &|name| {
            self.left.set(self.left.get().checked_sub(1).filter(|_| depth < MAX_NAME_DEPTH)?);
            self.evaluate(&(self.value_of)(name)?, depth + 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (name, bytes) in [
            ("float", 4),
            ("unsigned long long", 8),
            ("const half", 2),
            ("float4", 16),
            ("uchar3", 3),
            ("std::uint8_t", 1),
        ] {
            assert_eq!(size_of(name), Some(bytes), "{name}");
        }
        assert_eq!(size_of("State"), None);
        assert_eq!(shape("float4"), Some((4, 16)));
        assert_eq!(shape("__half2"), Some((2, 4)));
        assert_eq!((shape("double"), shape("State")), (Some((8, 8)), None));
        assert!(is_scalar("unsigned"));
        assert!(!is_scalar("float4"));
    }

    #[test]
    fn extents() {
        assert_eq!((extent("float[3][4]"), extent("int2[8]")), (Some(12), Some(8)));
        assert_eq!((extent("float"), extent("float[N]"), extent("Heap<int, 4>")), (None, None, None));
    }

    #[test]
    fn expressions() {
        let names = |name: &str| match name {
            "N" => Some("4".to_string()),
            "TWICE" => Some("(N * 2)".to_string()),
            "LOOP" => Some("LOOP + 1".to_string()),
            // Each level uses the next one 100 times.
            "DOUBLED0" => Some(["DOUBLED1"; 100].join(" + ")),
            "DOUBLED1" => Some(["N"; 100].join(" + ")),
            _ => None,
        };
        for (text, value) in
            [("32", 32), ("N*M1", 0), ("N * (N + 1) - 2", 18), ("TWICE", 8), ("32 << 1 + 1", 128), ("0x10u", 16)]
        {
            assert_eq!(evaluate(text, &names), (value != 0).then_some(value), "{text}");
        }
        for text in ["", "W", "LOOP", "4 4", "(3", "1/0", "sizeof(x)", "DOUBLED0"] {
            assert_eq!(evaluate(text, &names), None, "{text}");
        }
    }
}
