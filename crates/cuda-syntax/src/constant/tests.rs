use super::evaluate;
use crate::constant::integer::IntegerType::{
    Bool, Char, Int, Long, LongLong, Short, SignedChar, UnsignedChar, UnsignedInt, UnsignedLong, UnsignedLongLong,
};
use crate::constant::integer::{IntegerType, Value};

fn named(name: &str) -> Option<Value> {
    match name {
        "N" => Some(Value::int(4)),
        "U" => Value::new(UnsignedInt, 7),
        "B" => Value::new(Bool, 1),
        "ns::N" | "::ns::N" => Some(Value::int(5)),
        "Traits<4>::N" | "Traits<Other<(3>2), 4>>::N" => Some(Value::int(6)),
        _ => None,
    }
}

#[track_caller]
fn check(cases: &[(&str, IntegerType, i128)]) {
    for (text, integer, number) in cases {
        let found = evaluate(text, &named).map(|value| (value.integer_type(), value.number()));
        assert_eq!(found, Some((*integer, *number)), "{text}");
    }
}

#[track_caller]
fn check_none(texts: &[&str]) {
    for text in texts {
        assert_eq!(evaluate(text, &named), None, "{text}");
    }
}

#[test]
fn operators_bind_as_in_cpp() {
    check(&[
        ("32 << 1 + 1", Int, 128),
        ("2 + 3 * 4 - 6 / 2 % 2", Int, 13),
        ("100 - 10 - 1", Int, 89),
        ("256 >> 2 >> 1", Int, 32),
        ("1 | 6 ^ 3 & 5", Int, 7),
        ("1 < 2 == 3 > 2", Bool, 1),
        ("3 & 2 == 2", Int, 1),
        ("0 || 1 && 0", Bool, 0),
        ("0 ? 1 : 0 ? 2 : 3", Int, 3),
        ("1 ? 2 : 0 ? 3 : 4", Int, 2),
        ("-~3 + !0", Int, 5),
        ("- - 3", Int, 3),
        ("(2 + 3) * 4", Int, 20),
        ("not 0 and 1 bitor 2", Bool, 1),
    ]);
}

#[test]
fn literals_have_cpps_types() {
    check(&[
        ("2147483647", Int, 2_147_483_647),
        ("2147483648", Long, 2_147_483_648),
        ("0x80000000", UnsignedInt, 0x8000_0000),
        ("0xFFFF'FFFF'FFFF'FFFFll", UnsignedLongLong, 0xffff_ffff_ffff_ffff),
        ("9223372036854775807", Long, i128::from(i64::MAX)),
        ("017", Int, 15),
        ("0b1'01u", UnsignedInt, 5),
        ("1'000uL", UnsignedLong, 1000),
        ("0", Int, 0),
        ("5LL", LongLong, 5),
        ("'a'", Char, 97),
        (r"'\n'", Char, 10),
        (r"'\''", Char, 39),
        (r"'\x41'", Char, 65),
        (r"'\101'", Char, 65),
        ("true", Bool, 1),
    ]);
    check_none(&[
        "9223372036854775808",
        "18446744073709551616u",
        "1lL",
        "08",
        "0x",
        "0b2",
        "1.5",
        ".5",
        "1e3",
        "1f",
        "0x1p3",
        "4_KiB",
        "0x1e+3",
        "1'",
        "'ab'",
        "''",
        r"'\xff'",
        "'é'",
        "L'a'",
        "'a",
        "\"a\"",
    ]);
}

#[test]
fn operands_meet_in_cpps_types() {
    check(&[
        ("-1 < 0u", Bool, 0),
        ("-1L < 0u", Bool, 1),
        ("0u - 1", UnsignedInt, 0xffff_ffff),
        ("N - 5u", UnsignedInt, 0xffff_ffff),
        ("-U", UnsignedInt, 0xffff_fff9),
        ("~0u", UnsignedInt, 0xffff_ffff),
        ("1ul + 1ll", UnsignedLongLong, 2),
        ("1u + 1l", Long, 2),
        ("'a' + '\\1'", Int, 98),
        ("true + true", Int, 2),
        ("true ? 'a' : 'b'", Char, 97),
        ("false ? 1 : 2u", UnsignedInt, 2),
        ("1u << 31l", UnsignedInt, 0x8000_0000),
        ("1 << 31", Int, i128::from(i32::MIN)),
        ("0xffffffffu * 0xffffffffu", UnsignedInt, 1),
        ("~0ull * ~0ull", UnsignedLongLong, 1),
        ("-7 / 2", Int, -3),
        ("-7 % 2", Int, -1),
        ("-8 >> 1", Int, -4),
        ("0u - 1 >> 28", UnsignedInt, 15),
    ]);
}

#[test]
fn casts_and_sizes() {
    check(&[
        ("(unsigned)-1", UnsignedInt, 0xffff_ffff),
        ("(unsigned char)300 + 1", Int, 45),
        ("(signed char)200", SignedChar, -56),
        ("(const short)70000", Short, 4464),
        ("(bool)2", Bool, 1),
        ("int(3u) - 4", Int, -1),
        ("int{3u}", Int, 3),
        ("int()", Int, 0),
        ("static_cast<unsigned long long>(-1)", UnsignedLongLong, 0xffff_ffff_ffff_ffff),
        ("static_cast<std::uint8_t>(257)", UnsignedChar, 1),
        ("(long int unsigned)1", UnsignedLong, 1),
        ("::std::size_t{4}", UnsignedLong, 4),
        ("(cuda::std::int32_t)1", Int, 1),
        ("sizeof(float) * N", UnsignedLong, 16),
        ("sizeof(const double*)", UnsignedLong, 8),
        ("sizeof(N + 1LL)", UnsignedLong, 8),
        ("sizeof 'a' + 1", UnsignedLong, 2),
        ("alignof(short)", UnsignedLong, 2),
        ("(N) - 1", Int, 3),
    ]);
    check_none(&[
        "(float)1",
        "double(1)",
        "unsigned int(1)",
        "unsigned{-1}",
        "(Index)1",
        "(char)-1",
        "(int short char)1",
        "(unsigned signed)1",
        "sizeof(State)",
        // Windows has other sizes.
        "sizeof(long)",
        "sizeof(unsigned long)",
        "sizeof(N + 1L)",
        "sizeof...(N)",
        "sizeof(void)",
        "static_cast<int>1",
        "(int)",
    ]);
}

#[test]
fn names() {
    check(&[
        ("N * (N + 1) - 2", Int, 18),
        ("ns::N", Int, 5),
        ("::ns::N + 1", Int, 6),
        ("Traits<4>::N * 2", Int, 12),
        ("Traits<Other<(3>2), 4>>::N", Int, 6),
        ("N<4>3", Bool, 0),
        ("N /* four */ + // and one\n 1", Int, 5),
        ("N + \\\n 1", Int, 5),
    ]);
    check_none(&["M", "N M", "N::", "ns::M", "N.x", "N()", "N[0]", "N = 1", "N++", "--N", "1, N", "N /* ", "é"]);
}

#[test]
fn what_cpp_leaves_open_has_no_value() {
    check_none(&[
        "2147483647 + 1",
        "-2147483647 - 2",
        "65536 * 65536",
        "-(-2147483647 - 1)",
        "1 / 0",
        "1 % 0",
        "(-2147483647 - 1) / -1",
        "(-2147483647 - 1) % -1",
        "1 << 32",
        "1 << -1",
        "-1 << 1",
        "2 << 31",
        "1 >> 32",
        "1 && 1 / 0",
        "1 ? 1 / 0 : 2",
        "",
        "(",
        "(3",
        "3)",
        "4 4",
        "1 +",
        "1 ? 2",
        "1 <=> 2",
    ]);
    check(&[
        ("0 && 1 / 0", Bool, 0),
        ("1 || 1 / 0", Bool, 1),
        ("1 ? 2 : 1 / 0", Int, 2),
        ("0 ? 1 / 0 : 2u", UnsignedInt, 2),
        ("sizeof(1 / 0)", UnsignedLong, 4),
    ]);
}

#[test]
fn depth_is_bounded_and_length_is_not() {
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(evaluate(&nested(100), &named), Some(Value::int(1)));
    for text in [nested(100_000), "-".repeat(1000) + " 1", "- ".repeat(100_000) + "1", "1?1:".repeat(100_000) + "1"] {
        assert_eq!(evaluate(&text, &named), None);
    }
    assert_eq!(evaluate(&("1 + ".repeat(100_000) + "1"), &named), Some(Value::int(100_001)));
    // Each `<` may open a template argument list, so each one needs lookahead.
    assert_eq!(evaluate(&("N < ".repeat(100_000) + "1"), &named), Value::new(Bool, 0));
}

#[test]
fn values() {
    assert_eq!(Value::from_i64(3), Value::int(3));
    assert_eq!(Value::from_i64(1 << 40).integer_type(), Long);
    assert_eq!(Value::int(-1).converted(UnsignedInt).and_then(Value::as_i64), Some(0xffff_ffff));
    assert_eq!(Value::int(-1).converted(UnsignedLong).and_then(Value::as_i64), None);
    assert_eq!(Value::int(-1).converted(Char), None);
    assert_eq!(Value::new(UnsignedChar, 256), None);
    assert!(Value::new(UnsignedChar, 255).is_some_and(Value::is_unsigned));
}
