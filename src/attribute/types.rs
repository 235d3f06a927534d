//! Sizes of types and values of constant expressions, as far as they can be read off the source.

/// Bytes of a type that CUDA C++ fixes; `None` for anything that a program defines.
pub fn size_of(type_text: &str) -> Option<u64> {
    let words: Vec<&str> = type_text
        .split_whitespace()
        .filter(|word| !matches!(*word, "const" | "volatile" | "signed" | "std::" | "struct"))
        .collect();
    let name = words.join(" ");
    let name = name.trim_start_matches("cuda::").trim_start_matches("std::");
    scalar_size(name).or_else(|| vector_size(name))
}

/// Bytes of one component and of the whole of a number or vector: 4 and 16 of `float4`.
pub fn shape(type_text: &str) -> Option<(u64, u64)> {
    let whole = size_of(type_text)?;
    if is_scalar(type_text) {
        return Some((whole, whole));
    }
    let count = match type_text.chars().next_back().and_then(|last| last.to_digit(10)) {
        // Of `half2` and `__nv_bfloat162` too.
        Some(count @ 1..=4) => u64::from(count),
        _ => return None,
    };
    Some((whole / count, whole))
}

/// `12` of `float[3][4]`, where all extents are numbers.
pub fn extent(type_text: &str) -> Option<u64> {
    let (_, extents) = type_text.trim_end().strip_suffix(']')?.split_once('[')?;
    extents.split("][").map(|extent| extent.trim().parse::<u64>().ok()).try_fold(1u64, |all, one| all.checked_mul(one?))
}

/// Whether a type is one number, so that a variable of it is no array or structure.
pub fn is_scalar(type_text: &str) -> bool {
    let name: Vec<&str> =
        type_text.split_whitespace().filter(|word| !matches!(*word, "const" | "volatile" | "signed")).collect();
    scalar_size(name.join(" ").trim_start_matches("std::")).is_some()
}

/// Whether a type is a built-in integer.
pub fn is_integer(type_text: &str) -> bool {
    let name = type_text.trim().trim_start_matches("std::");
    is_scalar(name) && !matches!(name, "" | "float" | "double" | "half" | "__half" | "__nv_bfloat16" | "nv_bfloat16")
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

/// The value of an expression of whole numbers, names, `+ - * / %`, shifts and parentheses.
pub fn evaluate(text: &str, value_of: &dyn Fn(&str) -> Option<String>) -> Option<i64> {
    Evaluator { rest: text.trim(), value_of, depth: 0 }.whole()
}

struct Evaluator<'a> {
    rest: &'a str,
    value_of: &'a dyn Fn(&str) -> Option<String>,
    /// Names in names: bounds definitions that go round in circles.
    depth: usize,
}

impl Evaluator<'_> {
    fn whole(mut self) -> Option<i64> {
        let value = self.sum()?;
        self.rest.is_empty().then_some(value)
    }

    fn take(&mut self, operators: &[&'static str]) -> Option<&'static str> {
        let found = operators.iter().copied().find(|operator| self.rest.starts_with(operator))?;
        self.rest = self.rest[found.len()..].trim_start();
        Some(found)
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        while let Some(operator) = self.take(&["+", "-"]) {
            let right = self.product()?;
            value = if operator == "+" { value.checked_add(right)? } else { value.checked_sub(right)? };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.atom()?;
        while let Some(operator) = self.take(&["*", "/", "%", "<<"]) {
            let right = self.atom()?;
            value = match operator {
                "*" => value.checked_mul(right)?,
                "/" => value.checked_div(right)?,
                "%" => value.checked_rem(right)?,
                // As tight as a product here: `1 << 4` alone is what extents have.
                _ => value.checked_mul(1i64.checked_shl(u32::try_from(right).ok()?)?)?,
            };
        }
        Some(value)
    }

    fn atom(&mut self) -> Option<i64> {
        if self.take(&["("]).is_some() {
            self.depth += 1;
            let value = (self.depth < 64).then(|| self.sum()).flatten()?;
            return self.take(&[")"]).map(|_| value);
        }
        let end =
            self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '\'')).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        let value = match word.starts_with(|c: char| c.is_ascii_digit()) {
            true => number(word)?,
            false => {
                let text = (self.value_of)(word).filter(|_| !word.is_empty() && self.depth < 16)?;
                Evaluator { rest: text.trim(), value_of: self.value_of, depth: self.depth + 4 }.whole()?
            }
        };
        self.rest = self.rest[end..].trim_start();
        Some(value)
    }
}

fn number(word: &str) -> Option<i64> {
    let digits = word.replace('\'', "");
    let digits = digits.trim_end_matches(['u', 'U', 'l', 'L']);
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
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
            _ => None,
        };
        for (text, value) in
            [("32", 32), ("N*M1", 0), ("N * (N + 1) - 2", 18), ("TWICE", 8), ("1 << 5", 32), ("0x10u", 16)]
        {
            assert_eq!(evaluate(text, &names), (value != 0).then_some(value), "{text}");
        }
        for text in ["", "W", "LOOP", "4 4", "(3", "1/0", "sizeof(x)"] {
            assert_eq!(evaluate(text, &names), None, "{text}");
        }
    }
}
