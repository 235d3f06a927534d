//! Integer and character literals.

use super::integer::{IntegerType, Value};

/// `0x10u`, `1'000`, `0b11`, `017`, `4ull`; `None` for floating-point and user-defined literals.
pub fn number(text: &str) -> Option<Value> {
    let lower = text.to_ascii_lowercase();
    let (digits, radix) = if let Some(digits) = lower.strip_prefix("0x") {
        (digits, 16)
    } else if let Some(digits) = lower.strip_prefix("0b") {
        (digits, 2)
    } else {
        (lower.as_str(), if lower.starts_with('0') { 8 } else { 10 })
    };
    let end = digits.find(|c: char| !(c.is_digit(radix) || c == '\'')).unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(end);
    // C++ does not allow the suffix `lL`.
    let is_mixed = ["lL", "Ll"].iter().any(|mixed| text.contains(mixed));
    if is_mixed || digits.starts_with('\'') || digits.ends_with('\'') {
        return None;
    }
    let number = i128::from(u64::from_str_radix(&digits.replace('\'', ""), radix).ok()?);
    types(suffix, radix)?.iter().find_map(|integer| Value::new(*integer, number))
}

/// Candidate types of a literal in C++'s order; the first one whose range has the value is the literal's type.
fn types(suffix: &str, radix: u32) -> Option<&'static [IntegerType]> {
    use IntegerType::{Int, Long, LongLong, UnsignedInt, UnsignedLong, UnsignedLongLong};
    // A decimal literal is unsigned only with a `u` suffix.
    let is_decimal = radix == 10;
    Some(match suffix {
        "" if is_decimal => &[Int, Long],
        "" => &[Int, UnsignedInt, Long, UnsignedLong],
        "u" => &[UnsignedInt, UnsignedLong],
        "l" if is_decimal => &[Long],
        "l" => &[Long, UnsignedLong],
        "ul" | "lu" => &[UnsignedLong],
        "ll" if is_decimal => &[LongLong],
        "ll" => &[LongLong, UnsignedLongLong],
        "ull" | "llu" => &[UnsignedLongLong],
        _ => return None,
    })
}

/// `'a'`, `'\n'`, `'\x41'`, `'\101'`; `None` for multi-character literals and for characters beyond ASCII, whose values
/// depend on the host.
pub fn character(text: &str) -> Option<Value> {
    let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let code = match inner.strip_prefix('\\') {
        Some(escape) => escaped(escape)?,
        None => {
            let mut chars = inner.chars();
            let only = chars.next()?;
            if chars.next().is_some() {
                return None;
            }
            u32::from(only)
        }
    };
    Value::new(IntegerType::Char, i128::from(code))
}

fn escaped(escape: &str) -> Option<u32> {
    if let Some(digits) = escape.strip_prefix('x') {
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        return u32::from_str_radix(digits, 16).ok().filter(|_| is_plain);
    }
    if (1..=3).contains(&escape.len()) && escape.bytes().all(|byte| matches!(byte, b'0'..=b'7')) {
        return u32::from_str_radix(escape, 8).ok();
    }
    Some(match escape {
        "n" => 10,
        "t" => 9,
        "r" => 13,
        "a" => 7,
        "b" => 8,
        "f" => 12,
        "v" => 11,
        "\\" => 92,
        "'" => 39,
        "\"" => 34,
        "?" => 63,
        _ => return None,
    })
}
