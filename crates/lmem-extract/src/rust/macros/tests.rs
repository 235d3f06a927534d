//! Kernels in macros: what reaches the compiler, and where each piece of it was written.

use lmem_unit::TranslationUnit;

use crate::Extraction;
use crate::rust::tests::{of_package, of_text, reasons, text_of};

fn texts(extraction: &Extraction) -> Vec<&str> {
    extraction.units.iter().map(|unit| text_of(unit).as_str()).collect()
}

/// The texts of some code, all of which are known.
fn known(code: &str) -> Vec<String> {
    let extraction = of_text(code);
    assert_eq!(reasons(&extraction), [""; 0], "{code}");
    texts(&extraction).into_iter().map(str::to_string).collect()
}

#[test]
fn parameters_are_what_calls_give_for_them() {
    for (code, expected) in [
        ("macro_rules! m { ($s:expr) => { compile_ptx($s) } } fn f() { m!(\"a\"); m!(S); }", vec!["a", "s"]),
        (
            "macro_rules! m { ($t:ty) => { compile_ptx(concat!(\"k \", stringify!($t))) } } fn f() { m!(f32); m![u8]; m! { i8 } }",
            vec!["k f32", "k u8", "k i8"],
        ),
        (
            "macro_rules! m { ($n:ident, $t:literal) => { pub fn $n() { compile_ptx(concat!($t, \" \", stringify!($n))) } } } m!(a, \"x\"); m!(b, \"y\");",
            vec!["x a", "y b"],
        ),
        (
            "macro_rules! m { ($($n:ident: $t:literal),* $(,)?) => { $(const $n: &str = concat!(\"k\", $t);)* } } m!(A: \"a\", B: \"b\",); fn f() { compile_ptx(A); compile_ptx(B) }",
            vec!["ka", "kb"],
        ),
        (
            "macro_rules! m { (one $t:tt) => { compile_ptx(concat!(\"1\", $t)) }; (two $($t:tt)*) => { compile_ptx(concat!(\"2\", stringify!($($t)*))) } } fn f() { m!(two unsigned long long); m!(one \"a\") }",
            vec!["2unsigned long long", "1a"],
        ),
        (
            "macro_rules! k { ($t:path) => { concat!(\"k\", stringify!($t)) } } fn f() { compile_ptx(k!(a)) }",
            vec!["ka"],
        ),
        (
            "macro_rules! k { ($n:expr) => { concat!(\"k\", $n) } } macro_rules! m { ($n:expr) => { compile_ptx(k!($n)) } } fn f() { m!(4) }",
            vec!["k4"],
        ),
        ("macro_rules! m { ($a:expr) => { format!(\"{}\", $a * 2) } } fn f() { compile_ptx(m!(1 + 2)) }", vec!["6"]),
        (
            "macro_rules! m { ($a:expr, $b:expr) => { $a + concat!($b) } } fn f() { compile_ptx(m!(S.to_string(), \"b\").replace(\"s\", \"x\")) }",
            vec!["xb"],
        ),
        (
            "macro_rules! m { ($t:ty) => { impl T for $t { const N: &'static str = stringify!($t); } } } trait T { const N: &'static str; } m!(f32); m!(f64); fn f<E: T>() { compile_ptx(\"k$T\".replace(\"$T\", E::N)) }",
            vec!["kf32", "kf64"],
        ),
        (
            "macro_rules! m { ([$($a:literal)+] $v:vis $l:lifetime $b:block) => { compile_ptx(concat!($($a),+)) } } fn f() { m!([\"a\" \"b\" -1] pub(crate) 'x {}) }",
            vec!["ab-1"],
        ),
        (
            "macro_rules! m { ($( $n:ident { $($s:literal)* } )*) => { $( fn $n() { compile_ptx(concat!($($s, \";\"),*)); } )* } } m!(a { \"x\" \"y\" } b { \"z\" });",
            vec!["x;y;", "z;"],
        ),
        (
            "#[macro_export] macro_rules! m { ($s:expr) => { $crate::compile($s) } } fn compile(s: &str) { compile_ptx(s) } fn f() { crate::m!(\"a\") }",
            vec!["a"],
        ),
        (
            "macro_rules! m { ($(#[$a:meta])* $n:ident = $s:expr) => { $(#[$a])* const $n: &str = $s; } } m!(/// What it is\n #[allow(x)] A = \"a\"); fn f() { compile_ptx(A) }",
            vec!["a"],
        ),
        (
            "macro_rules! m { () => {}; ($s:literal; $($rest:tt)*) => { compile_ptx($s); m!($($rest)*) } } fn f() { m!(\"a\"; \"b\"; \"c\";) }",
            vec!["a", "b", "c"],
        ),
    ] {
        assert_eq!(known(&format!("{code} const S: &str = \"s\";")), expected, "{code}");
    }
}

#[test]
fn variables_of_macros_are_their_own() {
    for (code, expected) in [
        // The argument refers to the caller's variable, even if the macro has one of the same name.
        (
            "macro_rules! m { ($a:expr) => {{ let s = \"k\"; compile_ptx(concat!(\"m\", \"n\")); compile_ptx(&format!(\"{}{}\", s, $a)) }} } fn f() { let s = \"a\"; m!(s) }",
            vec!["mn", "ka"],
        ),
        (
            "macro_rules! m { ($a:expr) => { let s = $a; compile_ptx(s); } } fn f() { let s = \"a\"; m!(\"b\"); compile_ptx(s) }",
            vec!["b", "a"],
        ),
        (
            "macro_rules! m { ($n:ident) => { let $n = \"b\"; } } fn f() { let s = \"a\"; m!(s); compile_ptx(s) }",
            vec!["b"],
        ),
    ] {
        assert_eq!(known(code), expected, "{code}");
    }
    let code = "macro_rules! m { ($a:expr) => { let s = $a; compile_ptx(format!(\"k{s}\")); } } fn f() { let s = \"a\"; m!(\"b\"); }";
    assert_eq!(
        reasons(&of_text(code)),
        [
            "format!(\"k{s}\"): a part of its text comes from a parameter of a macro: its variable `s` has the name of another one"
        ]
    );
}

#[test]
fn what_is_not_understood_is_said_with_its_reason() {
    for (code, expected) in [
        ("macro_rules! m { ($s:expr) => { compile_ptx($s) } }", ""),
        (
            "macro_rules! m { ($s:item) => { compile_ptx($s) } } fn f() { m!(a) }",
            ": its parameter `$s:item` is not understood",
        ),
        (
            "macro_rules! m { (a $s:expr) => { compile_ptx($s) } } fn f() { m!(b \"x\") }",
            ": none of its arms takes what it is called with",
        ),
        (
            "macro_rules! m { ($s:expr) => { compile_ptx($s); m!($s) } } fn f() { m!(\"a\") }",
            ": it calls itself more often than is followed",
        ),
        (
            "macro_rules! m { ($s:expr) => { compile_ptx($s); compile_ptx($t) } } fn f() { m!(\"a\") }",
            ": `$t` is none of its parameters",
        ),
    ] {
        let reason = "compile_ptx($s): its text comes from a parameter of a macro".to_string() + expected;
        let found = of_text(code);
        assert_eq!((texts(&found), reasons(&found).first()), (vec![], Some(&reason)), "{code}");
    }
    // A run-time argument is reported at its position in the call.
    let found = of_text("macro_rules! m { ($s:expr) => { compile_ptx($s) } } fn f(n: u8) { m!(text(n)) }");
    assert_eq!(reasons(&found), ["text(n): `text` makes its text when the program runs"]);
    let found =
        of_text("macro_rules! k { ($s:pat) => { \"a\" } } fn f(n: u8) { compile_ptx(k!(1)); include_str!(k!(1)) }");
    assert_eq!(reasons(&found), ["k!(1): `k!` makes its text"]);
}

#[test]
fn every_byte_is_where_it_was_written() {
    let code = "\u{feff}// é\nmacro_rules! m { ($t:literal, $n:ident) => { compile_ptx(concat!(\"é\\n\", $t, stringify!($n), \"é\")) } }\nfn f() { m!(\"ü\\tx\", name); }\r\nfn g() { m!(r#\"y\"#, other); }";
    let extraction = of_text(code);
    assert_eq!((texts(&extraction), reasons(&extraction)), (vec!["é\nü\txnameé", "é\nyotheré"], vec![]));
    let pieces = |unit: &TranslationUnit| {
        let text = text_of(unit);
        let characters = text.as_str().char_indices();
        let span = |(at, character): (usize, char)| text.span(at..at + character.len_utf8()).unwrap();
        characters.map(span).map(|span| (span.start, span.text().to_string())).collect::<Vec<_>>()
    };
    for unit in &extraction.units {
        for (start, text) in pieces(unit) {
            assert_eq!(&code[start..start + text.len()], text);
        }
    }
    let starts: Vec<usize> = pieces(&extraction.units[0]).into_iter().map(|(start, _)| start).collect();
    let at = |text: &str| code.find(text).unwrap();
    assert_eq!(starts[..5], [at("é\\n"), at("\\n"), at("ü"), at("\\tx"), at("x\", name")]);
    assert_eq!(starts[5], at("name);"));
    // The macro call is the use site; everything else is in the definition.
    let uses: Vec<&str> = extraction.units.iter().map(|unit| unit.use_site.as_ref().unwrap().text()).collect();
    assert_eq!(uses, ["m!(\"ü\\tx\", name)", "m!(r#\"y\"#, other)"]);
}

#[test]
fn macros_are_found_in_other_files() {
    let extraction = of_package(&[
        ("src/lib.rs", "#[macro_use] mod macros; mod a; mod b;"),
        (
            "src/macros.rs",
            "macro_rules! m { ($s:expr) => { compile_ptx($s) } } macro_rules! text { ($s:literal) => { concat!(\"t\", $s) } }",
        ),
        ("src/a.rs", "fn f() { m!(K) } const K: &str = \"a\";"),
        ("src/b.rs", "fn f() { m!(text!(\"b\")) } const K: &str = \"wrong\";"),
    ]);
    assert_eq!((texts(&extraction), reasons(&extraction)), (vec!["a", "tb"], vec![]));
    // Two macros with one name: which one is meant cannot be determined.
    let extraction = of_package(&[
        ("src/lib.rs", "#[macro_use] mod a; #[macro_use] mod b; fn f() { m!(\"x\") }"),
        ("src/a.rs", "macro_rules! m { ($s:expr) => { compile_ptx($s) } }"),
        ("src/b.rs", "macro_rules! m { ($s:expr) => { compile_ptx(concat!($s, $s)) } }"),
    ]);
    assert_eq!((texts(&extraction).len(), reasons(&extraction).len()), (0, 2));
}

#[test]
fn calls_that_write_down_what_they_are_given_are_left() {
    assert_eq!(
        known(
            "macro_rules! m { ($s:expr) => { concat!(\"a\", $s) } } fn f() { compile_ptx(concat!(m!(\"b\"), 'c')); log(stringify!(m!(\"__global__\"))) }"
        ),
        ["abc"]
    );
}

#[test]
fn hostile_macros_end_nothing() {
    for code in [
        "macro_rules! m { ($($a:expr),*) => { m!($($a, $a),*) } } fn f() { m!(\"__global__\") }".to_string(),
        format!(
            "macro_rules! m {{ {} => {{ concat!() }} }} fn f() {{ m!({}) }}",
            "(".repeat(200) + &")".repeat(200),
            "(".repeat(199) + &")".repeat(199)
        ),
        format!(
            "macro_rules! m {{ ($($a:tt)*) => {{ concat!($(stringify!($a)),*) }} }} fn f() {{ compile_ptx(m!({})) }}",
            "a ".repeat(100_000)
        ),
        format!(
            "macro_rules! m {{ ($($a:expr),*) => {{ concat!($($a),*) }} }} fn f() {{ compile_ptx(m!({})) }}",
            "a < b, ".repeat(5_000)
        ),
        "macro_rules! m { ($($($a:tt)*)*) => { concat!() } } fn f() { m!(a b c) }".to_string(),
        "macro_rules! m { ($a:expr, $($b:tt)*) => { concat!() } } fn f() { m!(,) m!() m! }".to_string(),
        "macro_rules! m { macro_rules! { $( => ".to_string(),
        "macro_rules! m { ($a:tt) => { concat!($( $a ),* $ $$ $(x)) } } fn f() { m!(a) }".to_string(),
        "macro_rules! macro_rules macro_rules! { } macro_rules! m m!() m! stringify! bail!".to_string(),
    ] {
        of_text(&code);
    }
}
