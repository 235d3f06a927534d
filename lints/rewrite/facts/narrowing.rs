//! Values that may stand in a braced list. C++ accepts an implicit conversion there only if it does not narrow: host
//! compilers reject `signed char t[1] = {200};`, where `t[0] = 200;` converts silently.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::constant::{IntegerType, Value, evaluate};

use super::integers::plain_words;

/// A type with values that a list may be checked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    Integer(IntegerType),
    Float,
    Double,
}

impl Element {
    /// `None` for types that a program defines: their constructors and braces may do anything.
    pub fn of(type_text: &str) -> Option<Self> {
        match plain_words(type_text).as_str() {
            "float" => Some(Self::Float),
            "double" => Some(Self::Double),
            words => Some(Self::Integer(evaluate(&format!("({words})0"), &|_| None)?.integer_type())),
        }
    }

    /// The type of a component: `unsigned char` for `uchar4`.
    pub fn of_component(vector: &str) -> Option<Self> {
        Self::of(match vector.strip_suffix(|c: char| c.is_ascii_digit())? {
            "char" => "signed char",
            "uchar" => "unsigned char",
            "ushort" => "unsigned short",
            "uint" => "unsigned",
            "ulong" => "unsigned long",
            "longlong" => "long long",
            "ulonglong" => "unsigned long long",
            same => same,
        })
    }

    /// Whether a constant expression is converted to the type without narrowing: an integer must keep its value, a
    /// floating-point number must be in range, and does not become an integer at all. An expression whose value is
    /// unknown, because another template instance may have another one, is not accepted.
    pub fn accepts(self, tree: &SyntaxTree, value: Node<'_>) -> bool {
        match (self, integer(tree, value)) {
            (Self::Integer(to), found) => found.is_some_and(|found| Value::new(to, found).is_some()),
            (Self::Float, Some(found)) => is_exact(found, f32::MANTISSA_DIGITS),
            (Self::Double, Some(found)) => is_exact(found, f64::MANTISSA_DIGITS),
            (Self::Float, None) => floating(tree, value).is_some_and(is_of_float),
            (Self::Double, None) => floating(tree, value).is_some(),
        }
    }
}

/// The value of an integer expression.
fn integer(tree: &SyntaxTree, value: Node<'_>) -> Option<i128> {
    // The tree knows names, but no value above that of `long`.
    let of_literal = || evaluate(tree.slice(value), &|_| None).map(Value::number);
    tree.value_of(value).map(i128::from).or_else(of_literal)
}

/// The value of a floating-point expression, which is in the range of the type that it is computed in.
fn floating(tree: &SyntaxTree, value: Node<'_>) -> Option<f64> {
    if let Some(found) = integer(tree, value) {
        // Rounded only beyond 2^53, which is far inside the range.
        return Some(found as f64);
    }
    match value.kind() {
        Kind::NumberLiteral => literal(tree.slice(value)),
        Kind::ParenthesizedExpression => floating(tree, value.named_child(0)?),
        Kind::UnaryExpression => {
            let argument = floating(tree, value.field(Field::Argument)?)?;
            match value.operator()? {
                "-" => Some(-argument),
                "+" => Some(argument),
                _ => None,
            }
        }
        Kind::BinaryExpression => {
            let (left, right) =
                (floating(tree, value.field(Field::Left)?)?, floating(tree, value.field(Field::Right)?)?);
            let found = match value.operator()? {
                "+" => left + right,
                "-" => left - right,
                "*" => left * right,
                "/" => left / right,
                _ => return None,
            };
            // Both may be `float`, whose overflow is not a constant expression.
            is_of_float(found).then_some(found)
        }
        _ => None,
    }
}

/// `0.5f`, `1e-3`, `2.`; `None` for `long double`, other suffixes and hexadecimal digits.
fn literal(text: &str) -> Option<f64> {
    let (digits, is_float) = match text.strip_suffix(['f', 'F']) {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let is_decimal = digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    let found: f64 = digits.parse().ok().filter(|_| is_decimal)?;
    (found.is_finite() && (!is_float || is_of_float(found))).then_some(found)
}

fn is_of_float(number: f64) -> bool {
    number.abs() <= f64::from(f32::MAX)
}

/// Whether a number has no more significant bits than a floating-point type.
fn is_exact(number: i128, digits: u32) -> bool {
    let magnitude = number.unsigned_abs();
    magnitude == 0 || u128::BITS - magnitude.leading_zeros() - magnitude.trailing_zeros() <= digits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the value of `v = …` is accepted as an element of a type.
    fn accepts(type_text: &str, value: &str) -> bool {
        let text = format!("constexpr int C = 300;\ntemplate <int N> __device__ void f() {{ v = {value}; }}\n");
        let tree = SyntaxTree::example("a.cu", &text);
        let assignment = tree.root().unwrap().descendants().find(|it| it.kind() == Kind::AssignmentExpression).unwrap();
        Element::of(type_text).is_some_and(|element| element.accepts(&tree, assignment.field(Field::Right).unwrap()))
    }

    #[test]
    fn values_are_kept_in_braces() {
        for (type_text, value) in [
            ("signed char", "-3"),
            ("signed char", "127"),
            ("unsigned char", "255"),
            ("uint8_t", "0x81"),
            ("char", "'z'"),
            ("int", "C - 1"),
            ("unsigned long long", "0x9E3779B97F4A7C15ull"),
            ("bool", "true"),
            ("float", "16777216"),
            ("float", "1 << 30"),
            ("float", "0.1"),
            ("float", "-(1 / 3.0)"),
            ("float", "true"),
            ("double", "-1u"),
            ("double", "1e300"),
        ] {
            assert!(accepts(type_text, value), "{value} as {type_text}");
        }
    }

    #[test]
    fn narrowing_is_ill_formed_in_braces() {
        for (type_text, value) in [
            ("signed char", "200"),
            ("signed char", "128"),
            ("unsigned char", "-1"),
            ("unsigned char", "C"),
            ("unsigned", "-1"),
            ("char", "200"),
            ("int", "3.0f"),
            ("int", "0x80000000"),
            ("bool", "2"),
            ("float", "16777217"),
            ("float", "-1u"),
            ("float", "123456789"),
            ("float", "1e39"),
            ("float", "1e30f * 1e30f"),
            ("float", "1.0f / 0"),
            ("float", "1.0L"),
            ("double", "9007199254740993"),
            // Another instance has another value, another type other constructors.
            ("int", "N"),
            ("float", "N"),
            ("__half", "1.0f"),
            ("byte", "1"),
            ("float*", "0"),
        ] {
            assert!(!accepts(type_text, value), "{value} as {type_text}");
        }
    }

    #[test]
    fn components_of_vectors() {
        for (vector, expected) in [
            ("char4", Some(Element::Integer(IntegerType::SignedChar))),
            ("ulonglong2", Some(Element::Integer(IntegerType::UnsignedLongLong))),
            ("float3", Some(Element::Float)),
            ("double2", Some(Element::Double)),
            ("half2", None),
        ] {
            assert_eq!(Element::of_component(vector), expected, "{vector}");
        }
    }
}
