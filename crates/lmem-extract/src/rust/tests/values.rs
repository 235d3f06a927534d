//! Texts that are concatenated, selected, defined elsewhere, or passed on.

use super::*;

#[test]
fn names_lead_to_other_files() {
    let library =
        "mod kernels; mod other; use kernels::scan::S; fn f() { compile_ptx(S); compile_ptx(crate::kernels::T); }";
    let extraction = of_package(&[
        ("src/lib.rs", library),
        ("src/kernels/mod.rs", "pub mod scan; pub use scan::SUM as T;"),
        ("src/kernels/scan.rs", "\n\npub const S: &str = \"s\"; pub const SUM: &str = \"t\";"),
        ("src/other.rs", "const S: &str = \"wrong\";"),
        (
            "examples/e.rs",
            "use some_package::kernels::scan; const S: &str = \"e\"; fn f() { compile_ptx(scan::S); compile_ptx(S); }",
        ),
        ("examples/f.rs", "fn f() { compile_ptx(S); }"),
    ]);
    // The first text reaches the sink from two places and is one unit.
    assert_eq!(units(&extraction), ["src/kernels/scan.rs:3: s", "examples/e.rs:1: e", "src/kernels/scan.rs:3#2: t"]);
    assert_eq!(reasons(&extraction), ["S: `S` is not defined in the code that is checked"]);
    assert!(extraction.units.iter().all(|unit| unit.package.as_deref() == Some("some-package")));
    assert_eq!(extraction.units[0].use_site.as_ref().unwrap().text(), "compile_ptx(scan::S)");
}

#[test]
fn names_are_found_when_one_file_is_named() {
    let manifest = "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let folder = tree(&[
        ("Cargo.toml", manifest),
        ("src/lib.rs", "fn f() { compile_ptx(k::S) }"),
        ("src/k.rs", "pub const S: &str = \"s\";"),
    ]);
    assert_eq!(units(&of_folder(&folder, &["src/lib.rs"])), ["src/k.rs:1: s"]);
    let folder = tree(&[("a.rs", "fn f() { compile_ptx(b::S) }"), ("b.rs", "pub const S: &str = \"s\";")]);
    assert_eq!(units(&of_folder(&folder, &["."])), ["b.rs:1: s"]);
}

#[test]
fn text_is_put_together_as_the_program_does_it() {
    for (code, expected) in [
        ("fn f() { compile_ptx(format!(\"a{}b{N}c{{{0}}}{n}\", S, n = 1 + 2)) } const N: usize = 0x10;", "aSb16c{S}3"),
        ("fn f() { compile_ptx(format!(\"{S}\\n{}{}\", true, 'c')) }", "S\ntruec"),
        ("fn f() { compile_ptx(&format!(\"{:}{}\", -1, 2.0)) }", "-12"),
        ("fn f() { let t = \"u\"; compile_ptx(format!(\"{t}\")) }", "u"),
        ("fn f() { compile_ptx(\"aXbX\".replace(\"X\", S).replace('b', &N.to_string())) } const N: u32 = 4;", "aS4S"),
        ("fn f() { compile_ptx(\"aXbX\".replacen(\"X\", \"\", 1)) }", "abX"),
        ("fn f() { compile_ptx(\" \\n a \".trim()) }", "a"),
        ("fn f() { compile_ptx([S, \"b\"].concat()) }", "Sb"),
        ("fn f() { compile_ptx(vec![S, T].join(\"\\n\")) } const T: &str = \"t\";", "S\nt"),
        ("const P: [&str; 2] = [S, \"b\"]; fn f() { compile_ptx(P.join(\"\")) }", "Sb"),
        ("fn f() { compile_ptx(S.to_owned() + \"b\" + &S.to_string()) }", "SbS"),
        ("fn f() { let mut s = String::new(); s.push_str(S); s += \"b\"; s.push('c'); compile_ptx(&s) }", "Sbc"),
        ("static K: LazyLock<String> = LazyLock::new(|| format!(\"{S}b\")); fn f() { compile_ptx(&*K) }", "Sb"),
        (
            "static K: OnceLock<String> = OnceLock::new(); fn f() { compile_ptx(K.get_or_init(|| [S, S].concat())) }",
            "SS",
        ),
        (
            "static K: Lazy<String> = Lazy::new(text); fn text() -> String { S.into() } fn f() { compile_ptx(K.as_str()) }",
            "S",
        ),
        ("fn text(t: &str) -> String { let h = \"h\"; format!(\"{h}{t}\") } fn f() { compile_ptx(text(S)) }", "hS"),
        ("struct K { t: &'static str } const K: K = K { t: S }; fn f() { compile_ptx(K.t) }", "S"),
        ("fn f() { let (_, t) = (1, S); compile_ptx(t) }", "S"),
        ("fn f() { compile_ptx(unsafe { std::str::from_utf8_unchecked(b\"a\\x41\") }) }", "aA"),
        ("fn f() { compile_ptx(stringify!(a)) }", "a"),
        ("fn f() { compile_ptx(concat!(\"a\", 1.50)) }", "a1.50"),
        (
            "#[cfg(x)] const T: &str = S; impl A { const U: &'static str = T; } impl A { fn f() { compile_ptx(Self::U) } }",
            "S",
        ),
    ] {
        let extraction = of_text(&format!("{code} const S: &str = \"S\";"));
        let found: Vec<&str> = extraction.units.iter().map(|unit| text_of(unit).as_str()).collect();
        assert_eq!((found, reasons(&extraction)), (vec![expected], Vec::new()), "{code}");
    }
}

#[test]
fn pieces_keep_their_places() {
    let code = "const H: &str = \"é\\n\"; fn f() { let s = format!(\"{H}é{{{N}}}$T\\u{e9}\", N = 12).replace(\"$T\", \"漢\\t\"); compile_ptx(s) }";
    let extraction = of_text(code);
    let [unit] = extraction.units.as_slice() else { panic!("{:?}", reasons(&extraction)) };
    let text = text_of(unit);
    assert_eq!(text.as_str(), "é\né{12}漢\té");
    let sources: Vec<String> = text
        .as_str()
        .char_indices()
        .map(|(at, character)| text.span(at..at + character.len_utf8()).unwrap().text().to_string())
        .collect();
    assert_eq!(sources, ["é", "\\n", "é", "{", "1", "2", "}", "漢", "\\t", "\\u{e9}"]);
    // A doubled brace maps to its first byte.
    let brace = code.find("{{{N").unwrap();
    assert_eq!(text.span(5..6).unwrap().start, brace);
}

#[test]
fn choices_are_followed_each() {
    for (code, expected) in [
        (
            "fn f(x: u8) { let s = match x { 0 => \"a\", 1 => { \"b\" } _ => panic!() }; compile_ptx(s) }",
            vec!["a", "b"],
        ),
        ("fn f(x: bool) { compile_ptx(if x { \"a\" } else { \"b\" }) }", vec!["a", "b"]),
        ("fn f() { for s in [\"a\", \"b\"] { compile_ptx(s); } }", vec!["a", "b"]),
        (
            "const L: &[(&str, &str)] = &[(\"n\", \"a\"), (\"m\", \"b\")]; fn f() { for (n, s) in L.iter() { compile_ptx(s); } }",
            vec!["a", "b"],
        ),
        (
            "const L: [&str; 2] = [\"a\", \"b\"]; fn f(i: usize) { compile_ptx(L[i]); compile_ptx(L[1]) }",
            vec!["a", "b"],
        ),
        (
            "trait T { const S: &'static str; fn f() { compile_ptx(Self::S) } } impl T for A { const S: &'static str = \"a\"; } impl T for B { const S: &'static str = \"b\"; }",
            vec!["a", "b"],
        ),
        (
            "trait T { const N: &'static str; } impl T for f32 { const N: &'static str = \"float\"; } impl T for f64 { const N: &'static str = \"double\"; } fn f<E: T>() { compile_ptx(\"$T x\".replace(\"$T\", E::N)) }",
            vec!["float x", "double x"],
        ),
        (
            "#[cfg(a)] const S: &str = \"a\"; #[cfg(not(a))] const S: &str = \"b\"; fn f() { compile_ptx(S) }",
            vec!["a", "b"],
        ),
        (
            "fn t(x: u8) -> &'static str { if x == 0 { return \"a\"; } \"b\" } fn f() { compile_ptx(t(1)) }",
            vec!["b", "a"],
        ),
        (
            "struct K { s: &'static str } impl K { fn new(s: &'static str) -> Self { Self { s } } fn go(&self) { compile_ptx(self.s) } } fn f() { K::new(\"a\"); K::new(\"b\"); }",
            vec!["a", "b"],
        ),
    ] {
        let extraction = of_text(code);
        let found: Vec<&str> = extraction.units.iter().map(|unit| text_of(unit).as_str()).collect();
        assert_eq!((found, reasons(&extraction)), (expected, Vec::new()), "{code}");
    }
    let found = of_text("fn f(x: bool) { compile_ptx(if x { \"a\" } else { g() }) }");
    assert_eq!((units(&found).len(), reasons(&found).len()), (1, 1));
}

#[test]
fn functions_that_hand_text_on_are_followed() {
    for (code, expected) in [
        ("fn c(s: &str) -> Ptx { compile_ptx(s).unwrap() } fn f() { c(\"a\"); c(\"b\") }", vec!["a", "b"]),
        (
            "fn c<S: AsRef<str>>(n: u8, s: S) { compile_ptx(s.as_ref()) } fn d(s: &str) { c(1, s) } fn f() { d(\"a\") }",
            vec!["a"],
        ),
        (
            "impl D { fn c(&self, s: &str) { compile_ptx(format!(\"h{s}\")) } } fn f(d: D) { d.c(\"a\"); D::c(&d, \"b\") }",
            vec!["ha", "hb"],
        ),
        (
            "impl D { fn c(s: String) { compile_ptx(s) } fn f() { Self::c(\"a\".into()) } } mod m { fn f() { super::D::c(\"b\".into()) } }",
            vec!["a", "b"],
        ),
        (
            "mod m { pub fn c(s: &str) { compile_ptx(s) } } use m::c as d; fn f() { m::c(\"a\"); d(\"b\") }",
            vec!["a", "b"],
        ),
        ("fn compile_ptx(s: &str) { cudarc::nvrtc::compile_ptx(s) } fn f() { compile_ptx(\"a\") }", vec!["a"]),
    ] {
        let kernels = of_text(&code.replace("\"a\"", "\"__global__ a\"").replace("\"b\"", "\"__global__ b\""));
        let mut found: Vec<String> =
            kernels.units.iter().map(|unit| text_of(unit).as_str().replace("__global__ ", "")).collect();
        found.sort_unstable();
        let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
        assert_eq!((found, reasons(&kernels)), (expected, Vec::new()), "{code}");
    }
    let found = of_text(
        "fn c(s: &str) { compile_ptx(s) } fn d(s: &str) { c(s); e(s) } fn e(s: &str) { d(s) } fn f() { c(g()) }",
    );
    assert_eq!(reasons(&found), ["s: its text is a parameter of `d`", "g(): `g` makes its text when the program runs"],);
    let elsewhere =
        of_text("fn f() { compile_ptx(kern::text()); compile_ptx(std::fs::read_to_string(\"a\").unwrap()) }");
    let expected = [
        "kern::text(): `kern::text` makes its text when the program runs, or is in a package that is not checked",
        "std::fs::read_to_string(\"a\").unwrap(): `std::fs::read_to_string` makes its text when the program runs",
    ];
    assert_eq!(reasons(&elsewhere), expected);
}

#[test]
fn other_packages_of_the_workspace_are_followed() {
    let workspace = "[workspace]\nmembers = [\"a\", \"b-c\"]\nresolver = \"2\"\n";
    let (a, b) = (manifest("a", ""), manifest("b-c", ""));
    let folder = tree(&[
        ("Cargo.toml", workspace),
        ("a/Cargo.toml", &a),
        ("b-c/Cargo.toml", &b),
        (
            "a/src/lib.rs",
            "use b_c::{kernels::S, compile}; fn f() { compile_ptx(S); compile_ptx(b_c::T); compile(U) } const U: &str = \"__global__ u\";",
        ),
        ("b-c/src/lib.rs", "pub mod kernels; pub use kernels::V as T; pub fn compile(s: &str) { compile_ptx(s) }"),
        ("b-c/src/kernels.rs", "pub const S: &str = \"s\"; pub const V: &str = \"v\";"),
    ]);
    let extraction = of_folder(&folder, &["."]);
    assert_eq!(reasons(&extraction), [""; 0]);
    assert_eq!(
        units(&extraction),
        ["b-c/src/kernels.rs:1: s", "b-c/src/kernels.rs:1#2: v", "a/src/lib.rs:1: __global__ u"]
    );
}

/// Each of these took minutes when a call was resolved by looking at all functions, for each function again.
#[test]
fn thousands_of_functions_are_followed_in_linear_time() {
    let kernel = |number: usize| format!("\"__global__ void k{number}() {{}}\"");
    let shapes: [&dyn Fn(usize) -> String; 6] = [
        &|n| format!("mod m{n} {{ pub const SRC: &str = {}; }} fn g{n}() {{ compile_ptx(m{n}::SRC); }}\n", kernel(n)),
        &|n| format!("fn f{n}(s: &str) {{ compile_ptx(s); }} fn g{n}() {{ f{n}({}) }}\n", kernel(n)),
        &|n| {
            format!("mod m{n} {{ pub fn go(s: &str) {{ compile_ptx(s); }} }} fn g{n}() {{ m{n}::go({}) }}\n", kernel(n))
        },
        &|n| {
            format!(
                "impl T{n} {{ fn new(s: &str) -> Self {{ Self {{ s }} }} fn c{n}(self) {{ compile_ptx(self.s) }} }} fn g{n}() {{ T{n}::new({}).c{n}() }}\n",
                kernel(n)
            )
        },
        &|n| {
            format!(
                "macro_rules! m{n} {{ ($s:expr) => {{ compile_ptx($s) }} }} fn g{n}() {{ m{n}!({}); }}\n",
                kernel(n)
            )
        },
        &|n| format!("const F{n}: &str = F{}; fn c{n}() {{ compile_ptx(F{n}); }}\n", n + 1),
    ];
    for (number, shape) in shapes.iter().enumerate() {
        let text: String = (0..2000).map(shape).collect();
        let start = std::time::Instant::now();
        let found = of_text(&text);
        assert_eq!(found.units.len() + found.unresolved.len() + found.beyond.len(), 2000, "shape {number}");
        assert!(start.elapsed().as_secs() < 60, "shape {number}: {:?}", start.elapsed());
    }
}

#[test]
fn what_is_taken_out_of_a_cell_was_put_into_it() {
    let code = |put: &str, taken: &str| {
        format!(
            "static CELL: OnceLock<String> = OnceLock::new(); fn fill() {{ {put} }} fn f() {{ compile_ptx({taken}) }}"
        )
    };
    for (put, taken) in [
        ("CELL.set(\"__global__ a\".into());", "CELL.get().unwrap()"),
        ("let _ = CELL.set(\"__global__ a\".to_string());", "CELL.get().ok_or_else(|| \"none\".to_string())?"),
        ("CELL.get_or_init(|| \"__global__ a\".to_string());", "CELL.get().expect(\"filled\")"),
        ("CELL.set(\"__global__ a\".into());", "CELL.get().unwrap_or_else(|| panic!(\"none\"))"),
    ] {
        assert_eq!(texts(&code(put, taken)), ["1: __global__ a"], "{put} {taken}");
    }
    let both =
        "CELL.get().map_or(0, |it| it).unwrap_or(0); fn g() { compile_ptx(CELL.get().unwrap_or(\"__global__ b\")) }";
    assert_eq!(
        units(&of_text(
            &code("CELL.set(\"__global__ a\")", "\"__global__ c\"")
                .replace("fn f()", &format!("fn g2() {{ {both} }} fn f()"))
        ))
        .len(),
        3
    );
    // A module that is compiled once is kept in such a cell: its text is checked where it is compiled.
    let kept = "static P: OnceLock<Ptx> = OnceLock::new(); use cudarc as _; fn f(d: D) { if P.get().is_none() { let p = compile_ptx(\"__global__ a\")?; let _ = P.set(p); } \
        let ptx = P.get().ok_or_else(|| \"none\".to_string())?; d.load_module(ptx) }";
    assert_eq!(texts(kept), ["1: __global__ a"]);
}

#[test]
fn a_cell_that_others_may_fill_is_unknown() {
    for code in [
        "pub static CELL: OnceLock<String> = OnceLock::new(); fn f() { CELL.set(\"a\"); compile_ptx(CELL.get().unwrap()) }",
        "pub(crate) static CELL: OnceLock<String> = OnceLock::new(); fn f() { CELL.set(\"a\"); compile_ptx(CELL.get().unwrap()) }",
        "static CELL: OnceLock<String> = OnceLock::new(); fn f() { CELL.set(\"a\"); fill(&CELL); compile_ptx(CELL.get().unwrap()) }",
        "static CELL: OnceLock<String> = OnceLock::new(); mod m { fn g() { let _ = super::CELL.set(made()); } } fn f() { CELL.set(\"a\"); compile_ptx(CELL.get().unwrap()) }",
        "static CELL: OnceLock<String> = OnceLock::new(); fn f() { compile_ptx(CELL.get().unwrap()) }",
        "static CELL: Mutex<String> = Mutex::new(); fn f() { CELL.set(\"a\"); compile_ptx(CELL.get().unwrap()) }",
    ] {
        assert!(reason(code).contains("`get` makes its text when the program runs"), "{code}: {}", reason(code));
    }
    let found = of_package(&[
        (
            "src/lib.rs",
            "mod m; static CELL: OnceLock<String> = OnceLock::new(); fn f() { CELL.set(\"a\"); compile_ptx(CELL.get().unwrap()) }",
        ),
        ("src/m.rs", "use super::*; fn g() { CELL.set(made()); }"),
    ]);
    assert_eq!(found.units.len(), 0);
}
