//! Compares our evaluation of constant expressions with the compiler's.

use std::fmt::Write as _;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use cuda_syntax::constant::{IntegerType, Value, evaluate};

use super::{Problem, crates, record};

const EXPRESSIONS: usize = 2000;

/// Random expressions, the same in every run; one nvcc run gives the value and type of all valid ones.
pub fn compare_with_nvcc() -> Result<(), Problem> {
    let toolkit = record::real_toolkit(crates::VERSION, &AtomicBool::new(false))?;
    let nvcc = toolkit.nvcc.ok_or("the toolkit has no nvcc")?;
    let (expressions, tried) = expressions();
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let source = folder.path().join("expressions.cu");
    std::fs::write(&source, program(&expressions)).map_err(|error| error.to_string())?;
    let mut command = Command::new(nvcc);
    command.args(["-ptx", "-w", "-std=c++17", "-o"]).arg(folder.path().join("expressions.ptx")).arg(&source);
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(said.lines().take(60).collect::<Vec<_>>().join("\n"));
    }
    eprintln!("{} expressions with a value, of {tried}, are as nvcc has them", expressions.len());
    Ok(())
}

fn expressions() -> (Vec<(String, Value)>, usize) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut found = Vec::new();
    let mut tried = 0;
    while found.len() < EXPRESSIONS {
        let mut text = String::new();
        expression(&mut random, 4, &mut text);
        tried += 1;
        if let Some(value) = evaluate(text.trim(), &|name| constant(name)) {
            found.push((text, value));
        }
    }
    (found, tried)
}

/// The named constants: their declaration in C++, their name in expressions, and their values.
const NAMES: [(&str, &str, IntegerType, i128); 9] = [
    ("constexpr int kTile = 16;", "kTile", IntegerType::Int, 16),
    ("constexpr unsigned kWarp = 32;", "kWarp", IntegerType::UnsignedInt, 32),
    ("constexpr short kLow = -3;", "kLow", IntegerType::Short, -3),
    ("constexpr unsigned char kMask = 0xf0;", "kMask", IntegerType::UnsignedChar, 0xf0),
    ("constexpr bool kFlag = true;", "kFlag", IntegerType::Bool, 1),
    ("constexpr unsigned long long kAll = ~0ull;", "kAll", IntegerType::UnsignedLongLong, u64::MAX as i128),
    ("namespace ns { constexpr long N = -7; }", "ns::N", IntegerType::Long, -7),
    ("#define ROWS (kTile * 2 + 1)", "ROWS", IntegerType::Int, 33),
    (
        "template <int K> struct Traits { static constexpr unsigned long N = K * 8ul; };",
        "Traits<4>::N",
        IntegerType::UnsignedLong,
        32,
    ),
];

fn constant(name: &str) -> Option<Value> {
    let (.., integer, number) = NAMES.iter().find(|(_, known, ..)| *known == name)?;
    Value::new(*integer, *number)
}

fn program(expressions: &[(String, Value)]) -> String {
    let mut text = String::from(
        "#include <cstdint>\n#include <cstddef>\n\
         template <class A, class B> struct Same { static constexpr bool value = false; };\n\
         template <class A> struct Same<A, A> { static constexpr bool value = true; };\n\
         template <class T> constexpr T plain(T);\n",
    );
    for (declaration, ..) in NAMES {
        text += declaration;
        text.push('\n');
    }
    for (number, (expression, value)) in expressions.iter().enumerate() {
        let name = value.integer_type().name();
        let is_type = format!("Same<decltype(plain({expression}\n)), {name}>::value");
        let is_value = format!("({expression}\n) == {}", literal(*value));
        let shown = format!("{} {}", name, value.number());
        writeln!(text, "static_assert({is_type} && {is_value}, \"#{number}: {shown}\");").expect("a string takes all");
    }
    text
}

/// A value as a C++ literal that does not depend on the rules under test.
fn literal(value: Value) -> String {
    match value.number() {
        number if number == i128::from(i64::MIN) => "(-9223372036854775807ll - 1)".to_string(),
        number if value.is_unsigned() => format!("{number}ull"),
        number => format!("{number}ll"),
    }
}

const BINARY: [&str; 18] =
    ["+", "-", "*", "/", "%", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&", "^", "|", "&&", "||"];
const TYPES: [&str; 18] = [
    "bool",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "unsigned int",
    "long",
    "unsigned long",
    "long long",
    "long long unsigned int",
    "std::uint8_t",
    "int16_t",
    "std::uint32_t",
    "int64_t",
    "size_t",
    "const int",
];
const SIMPLE_TYPES: [&str; 6] = ["int", "unsigned", "bool", "long", "short", "std::size_t"];
const LITERALS: [&str; 34] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "31",
    "32",
    "63",
    "100",
    "0u",
    "1u",
    "5u",
    "2147483647",
    "2147483648",
    "0x7fffffff",
    "0x80000000",
    "0xFFFF'FFFF",
    "0xffffffffffffffff",
    "9223372036854775807",
    "4294967295",
    "017",
    "0777u",
    "0b1011",
    "1'000'000",
    "3l",
    "4UL",
    "5ll",
    "6uLL",
    "'a'",
    r"'\n'",
    r"'\x7f'",
    r"'\101'",
    "true",
    "false",
];
const SIZES: [&str; 6] =
    ["sizeof(float)", "sizeof(unsigned long)", "alignof(short)", "sizeof(double*)", "sizeof(bool)", "sizeof('a' + 1u)"];
const BLANKS: [&str; 12] = [" ", " ", " ", " ", " ", " ", " ", "\n", "\t", " /* x */ ", " // y\n", "  "];

/// Tokens separated by blanks. Parentheses are rare, so that precedence matters.
fn expression(random: &mut Random, depth: u32, text: &mut String) {
    match random.below(if depth == 0 { 3 } else { 14 }) {
        0 => push(text, random, &LITERALS),
        1 => match random.below(6) {
            0 => push(text, random, &SIZES),
            _ => push(text, random, &LITERALS[..12]),
        },
        2 => {
            let (_, name, ..) = random.of(&NAMES);
            *text += name;
        }
        3 => {
            push(text, random, &["+", "-", "~", "!", "-"]);
            push(text, random, &BLANKS);
            expression(random, depth - 1, text);
        }
        4 => enclosed(random, depth, "(", ")", text),
        5 => match random.below(3) {
            0 => {
                *text += "(";
                push(text, random, &TYPES);
                *text += ")";
                expression(random, depth - 1, text);
            }
            1 => {
                push(text, random, &SIMPLE_TYPES);
                enclosed(random, depth, "(", ")", text);
            }
            _ => {
                *text += "static_cast<";
                push(text, random, &TYPES);
                enclosed(random, depth, ">(", ")", text);
            }
        },
        6 => {
            expression(random, depth - 1, text);
            *text += " ? ";
            expression(random, depth - 1, text);
            *text += " : ";
            expression(random, depth - 1, text);
        }
        _ => {
            expression(random, depth - 1, text);
            push(text, random, &BLANKS);
            push(text, random, &BINARY);
            push(text, random, &BLANKS);
            expression(random, depth - 1, text);
        }
    }
}

fn enclosed(random: &mut Random, depth: u32, open: &str, close: &str, text: &mut String) {
    *text += open;
    expression(random, depth - 1, text);
    *text += close;
}

fn push(text: &mut String, random: &mut Random, of: &[&str]) {
    *text += random.of(of);
}

/// Xorshift generator.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}
