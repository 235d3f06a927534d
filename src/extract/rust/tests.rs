//! Whole files in, units out.

use crate::build_flags::BuildFlags;
use crate::discover::{Scope, discover};
use crate::extract::{DynamicShared, Extraction, NvrtcOptions, UnitCode, extract};
use std::path::PathBuf;
use tempfile::TempDir;

const KERNEL: &str = r#"extern \"C\" __global__ void f() {}"#;

fn tree(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }
    folder
}

fn of_folder(folder: &TempDir, paths: &[&str]) -> Extraction {
    let current_folder = fs_err::canonicalize(folder.path()).unwrap();
    let paths = paths.iter().map(PathBuf::from).collect();
    extract(&discover(&Scope { paths, current_folder, ..Scope::default() }).unwrap(), &BuildFlags::default())
}

pub(super) fn of_package(files: &[(&str, &str)]) -> Extraction {
    let manifest = "[package]\nname = \"some-package\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let mut files = files.to_vec();
    files.push(("Cargo.toml", manifest));
    of_folder(&tree(&files), &[])
}

pub(super) fn of_text(text: &str) -> Extraction {
    of_package(&[("src/lib.rs", text)])
}

/// `name: text` of every unit.
pub(super) fn units(extraction: &Extraction) -> Vec<String> {
    let unit = |unit: &crate::extract::TranslationUnit| match &unit.code {
        UnitCode::CudaText { text, .. } => format!("{}: {}", unit.name, text.as_str()),
        UnitCode::CudaFile { .. } => format!("{}: nvcc", unit.name),
        UnitCode::Ptx { .. } => format!("{}: ptx", unit.name),
        UnitCode::Machine(code) => format!("{}: machine code at {}", unit.name, code.span.text()),
    };
    extraction.units.iter().map(unit).collect()
}

pub(super) fn reasons(extraction: &Extraction) -> Vec<String> {
    extraction
        .unresolved
        .iter()
        .map(|unresolved| format!("{}: {}", unresolved.span.text(), unresolved.reason))
        .collect()
}

fn texts(text: &str) -> Vec<String> {
    let extraction = of_text(text);
    assert_eq!(reasons(&extraction), [""; 0], "{text}");
    units(&extraction).into_iter().map(|unit| unit.trim_start_matches("src/lib.rs:").to_string()).collect()
}

fn reason(text: &str) -> String {
    let extraction = of_text(text);
    assert_eq!(units(&extraction), [""; 0], "{text}");
    reasons(&extraction).join(" | ")
}

fn options(text: &str) -> NvrtcOptions {
    match &of_text(text).units.first().unwrap_or_else(|| panic!("{text}")).code {
        UnitCode::CudaText { options, .. } => options.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn text_is_found_however_it_is_written() {
    for code in [
        "fn f() { cudarc::nvrtc::compile_ptx(\"K\").unwrap(); }",
        "fn f() { let p = compile_ptx(&\"K\".to_string())?; }",
        "fn f() { compile_ptx(r#\"K\"#); }",
        "const S: &str = \"K\"; fn f() { compile_ptx(S) }",
        "fn f() { compile_ptx(S) } static S: &'static str = \"K\";",
        "fn f() { compile_ptx::<&str>(S) } mod m { pub const S: &str = \"K\"; } use m::S;",
        "mod m { pub const S: &str = \"K\"; } fn f() { compile_ptx(m::S) }",
        "mod m { pub const S: &str = \"K\"; } use m::*; fn f() { compile_ptx(S) }",
        "mod m { pub const S: &str = \"K\"; } use m as n; fn f() { compile_ptx(n::S) }",
        "const S: &str = \"K\"; mod m { use super::S as T; fn f() { compile_ptx(T) } }",
        "const S: &str = \"K\"; mod m { fn f() { compile_ptx(super::S) } }",
        "const S: &str = \"K\"; mod m { use super::*; fn f() { compile_ptx(S) } }",
        "const S: &str = \"K\"; const T: &str = S; fn f() { compile_ptx(crate::T) }",
        "struct A; impl A { const S: &str = \"K\"; fn f() { compile_ptx(Self::S) } }",
        "struct A; impl A { const S: &str = \"K\"; } fn f() { compile_ptx(A::S) }",
        "fn f() { let s = \"K\"; let t = String::from(s); compile_ptx(t.as_str()) }",
        "fn f() { let s = (\"K\"); compile_ptx(&*s) }",
        "use cudarc::nvrtc::compile_ptx as c; fn f() { c(\"K\") }",
        "fn f() { vec![compile_ptx(\"K\").unwrap()]; }",
        "lazy_static! { static ref P: Ptx = compile_ptx(\"K\").unwrap(); }",
        "lazy_static! { static ref S: &'static str = \"K\"; } fn f() { compile_ptx(*S) }",
        "fn f() { assert!(compile_ptx(S).is_ok()); } const S: &str = \"K\";",
        "static P: LazyLock<Ptx> = LazyLock::new(|| compile_ptx(\"K\").unwrap());",
        "#[cfg(test)] mod tests { #[test] fn f() { compile_ptx(\"K\").unwrap(); } }",
        "fn f() { compile_ptx(concat!(\"K\")) }",
        "/// compile_ptx(\"__global__ void f() {}\")\nfn f() { compile_ptx(\"K\") }",
        "macro_rules! m { () => { compile_ptx(\"K\") } }",
    ] {
        let code = if code.contains("r#\"K") {
            code.replace('K', "__global__ void f() {}")
        } else {
            code.replace('K', KERNEL)
        };
        let found = texts(&code);
        assert_eq!(found.len(), 1, "{code}: {found:?}");
        assert!(found[0].contains("__global__ void f() {}"), "{code}");
    }
}

#[test]
fn text_that_is_not_known_is_said() {
    let kernel = |text: &str| reason(&text.replace('K', KERNEL));
    assert_eq!(kernel("fn g(src: &str) { compile_ptx(src) }"), "src: its text is a parameter of `g`");
    assert_eq!(
        kernel("fn g() { compile_ptx(format!(\"K\")) }"),
        "format!(\"".to_string() + KERNEL + "\"): a part of its text is only known when the program runs"
    );
    assert_eq!(
        kernel("const S: &str = \"K\"; fn g() { let s = S.replace(\"a\", T::N); compile_ptx(s) }"),
        "s: `N` is not defined in the code that is checked"
    );
    assert_eq!(kernel("fn g() { for s in texts() { compile_ptx(s) } }"), "s: its text is the variable of a loop");
    assert_eq!(
        kernel("fn g() { let mut s = \"K\"; s = h(); compile_ptx(s) }"),
        "s: its text is in a variable that may change"
    );
    assert_eq!(
        kernel("mod a { const S: &str = \"\"; } mod b { const S: &str = \"\"; } fn h() { compile_ptx(crate::S) }"),
        "crate::S: `S` is defined more than once"
    );
    assert_eq!(kernel("fn g<T: A>() { compile_ptx(T::S) }"), "T::S: `S` is not defined in the code that is checked");
    assert_eq!(kernel("use other::S; fn g() { compile_ptx(S) }"), "S: `S` is not defined in the code that is checked");
    assert_eq!(kernel("const A: &str = B; const B: &str = A; fn g() { compile_ptx(A) }"), "A: it leads in a circle");
    assert_eq!(kernel("use self::A as B; use self::B as A; fn g() { compile_ptx(A) }"), "A: `B` leads in a circle");
    assert_eq!(
        kernel("macro_rules! m { ($s:expr) => { compile_ptx($s) } }"),
        "compile_ptx($s): its text comes from a parameter of a macro"
    );
    assert_eq!(
        kernel("fn g() { compile_ptx(include_str!(concat!(env!(\"OUT_DIR\"), \"/k.cu\"))) }")
            .split(": ")
            .nth(1)
            .unwrap(),
        "it includes `k.cu`, which the build makes"
    );
    assert_eq!(kernel("fn g() { compile_ptx(1 + 2) }"), "1 + 2: its text is only known when the program runs");
    assert_eq!(
        kernel("fn g() { let s = \"\"; fn h() { compile_ptx(s) } }"),
        "s: `s` is not defined in the code that is checked"
    );
    assert!(kernel("fn g() { other(\"K\") }").ends_with("it reaches no call that is known to compile it"));
    assert!(kernel("fn g() { create_program(c\"K\") }").ends_with("it reaches no call that is known to compile it"));
    assert!(kernel("fn g(x: X) { x.compile_ptx(\"K\") }").ends_with("it reaches no call that is known to compile it"));
}

#[test]
fn what_is_no_kernel_is_silent() {
    for text in [
        "fn compile_ptx(a: u8, b: u8) {} fn g() { compile_ptx(1, 2) }",
        "/// __global__ void f() {}\nfn g() {}",
        "#[doc = \"__global__ void f() {}\"] fn g() {}",
        "fn g() { assert!(s.contains(\"__global__\")) }",
        "use cudarc::nvrtc::compile_ptx;",
    ] {
        assert_eq!(reason(text), "", "{text}");
    }
}

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
    // The first is reached from two places and is one unit.
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
fn included_files_are_nvrtcs_and_not_nvccs() {
    let extraction = of_package(&[
        (
            "src/lib.rs",
            "const S: &str = include_str!(\"../kernels/a.cu\"); fn f() { compile_ptx(S); compile_ptx(concat!(\"// x\\n\", include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/kernels/b.cu\")), 4, 'c', -1.5, true)); }",
        ),
        ("kernels/a.cu", "a\r\n"),
        ("kernels/b.cu", "b"),
        ("kernels/c.cu", "c"),
    ]);
    assert_eq!(units(&extraction), ["kernels/c.cu: nvcc", "kernels/a.cu: a\r\n", "src/lib.rs:1: // x\nb4c-1.5true"]);
    assert_eq!(extraction.notes.len(), 2);
    let UnitCode::CudaText { text, .. } = &extraction.units[2].code else { panic!() };
    let span = text.span(5..6).unwrap();
    assert_eq!((span.file.display.as_str(), span.text()), ("kernels/b.cu", "b"));
    assert_eq!(text.span(4..5).unwrap().text(), "\\n");
    assert_eq!(text.span(8..12).unwrap().text(), "-1.5");
}

#[test]
fn files_outside_are_not_read() {
    let outside = tree(&[("secret.cu", "secret")]);
    let path = outside.path().join("secret.cu");
    let found = reason(&format!(
        "fn f() {{ compile_ptx(include_str!({path:?})); compile_ptx(include_str!(\"/dev/zero\")); compile_ptx(include_str!(\"none.cu\")) }}"
    ));
    assert_eq!(found.matches("lies outside of the workspace or is no file").count(), 2, "{found}");
    assert!(found.contains("includes `none.cu`, which does not exist"), "{found}");
}

#[test]
fn places_are_exact_in_macros_and_behind_other_characters() {
    let text = "\u{feff}// é ü 漢\r\nfn f() { vec![(\"é\", compile_ptx(\"a\\tb\r\n\u{e9}c\\\r\n   d\"))]; }\r\nconst É: &str = r\"漢x\"; fn g() { compile_ptx(É) }";
    let extraction = of_text(text);
    let UnitCode::CudaText { text, .. } = &extraction.units[0].code else { panic!() };
    assert_eq!(text.as_str(), "a\tb\n\u{e9}cd");
    assert_eq!(text.span(1..2).unwrap().text(), "\\t");
    assert_eq!(text.span(3..4).unwrap().text(), "\r\n");
    assert_eq!(text.span(4..6).unwrap().text(), "\u{e9}");
    assert_eq!(text.span(7..8).unwrap().text(), "d");
    assert_eq!(text.span(7..8).unwrap().line_column(), (4, 4));
    let UnitCode::CudaText { text, .. } = &extraction.units[1].code else { panic!() };
    assert_eq!(text.span(3..4).unwrap().text(), "x");
    assert_eq!(extraction.units[1].name, "src/lib.rs:5");
}

#[test]
fn one_text_is_one_unit_for_each_set_of_options() {
    let code = "const S: &str = \"K\"; fn f() { compile_ptx(S); compile_ptx(S); compile_ptx_with_opts(S, Default::default()); \
                compile_ptx_with_opts(S, CompileOptions { ftz: Some(true), ..Default::default() }); compile_ptx(\"K\"); }";
    let extraction = of_text(code);
    assert_eq!(extraction.units.len(), 3);
}

#[test]
fn options_are_those_that_cudarc_makes() {
    let all = "fn f() { let arch = \"compute_90\"; compile_ptx_with_opts(\"K\", CompileOptions { name: Some(\"n.cu\".into()), arch: Some(arch), \
               include_paths: vec![\"a\".into(), B.to_string()], maxrregcount: Some(N), use_fast_math: Some(true), fmad: Some(false), \
               prec_div: Some(true), prec_sqrt: Some(false), ftz: Some(true), options: vec![\"-DX=1\".to_string()] }) } const N: usize = 3_2; const B: &str = \"b\";";
    let expected = [
        "--ftz=true",
        "--prec-sqrt=false",
        "--prec-div=true",
        "--fmad=false",
        "--fmad=true",
        "--maxrregcount=32",
        "--include-path=a",
        "--include-path=b",
        "--gpu-architecture=compute_90",
        "-DX=1",
    ];
    let found = options(all);
    assert_eq!(
        (found.arguments, found.program_name, found.unresolved),
        (expected.map(String::from).to_vec(), Some("n.cu".into()), None)
    );
    for code in [
        "const O: CompileOptions = CompileOptions { ftz: Some(true), ..D }; const D: CompileOptions = CompileOptions { ftz: Some(false), use_fast_math: Some(false), fmad: None, options: vec![] }; fn f() { compile_ptx_with_opts(\"K\", O) }",
        "fn f() { let o = nvrtc::CompileOptions { ftz: Some(true), options: Vec::new(), ..CompileOptions::default() }; compile_ptx_with_opts(\"K\", o.clone()) }",
    ] {
        let found = options(code);
        assert_eq!((found.arguments, found.unresolved), (vec!["--ftz=true".to_string()], None), "{code}");
    }
}

#[test]
fn options_that_are_not_known_are_said() {
    let found = options(
        "fn f(n: usize) { compile_ptx_with_opts(\"K\", CompileOptions { ftz: Some(true), maxrregcount: Some(n), arch: g(), ..Default::default() }) }",
    );
    assert_eq!(found.arguments, ["--ftz=true"]);
    assert_eq!(
        found.unresolved.unwrap(),
        "`maxrregcount` is only known when the program runs; `arch` is only known when the program runs"
    );
    let found = options("fn f(o: CompileOptions) { compile_ptx_with_opts(\"K\", o) }");
    assert_eq!(found.unresolved.unwrap(), "the options are put together when the program runs");
    let found = options(
        "fn f() { compile_ptx_with_opts(\"K\", CompileOptions { options: vec![\"--fdevice-time-trace=/home/x\".into(), \"--ptxas-options=-o,x\".into(), \"-DA\".into()], ..Default::default() }) }",
    );
    assert_eq!(found.arguments, ["-DA"]);
    assert!(found.unresolved.unwrap().contains("may write files"));
}

#[test]
fn plain_files_are_units() {
    let folder = tree(&[("a.cu", "a"), ("b.ptx", "b")]);
    let extraction = of_folder(&folder, &["a.cu", "b.ptx"]);
    assert_eq!(units(&extraction), ["a.cu: nvcc", "b.ptx: ptx"]);
    assert_eq!(extraction.units[0].base, fs_err::canonicalize(folder.path()).unwrap());
}

#[test]
fn hostile_text_ends_nothing() {
    let mut texts: Vec<String> = [
        "!",
        "-",
        "&",
        "*",
        "(",
        "[",
        "{",
        "vec![",
        "a.b(",
        "a::<",
        "|x| ",
        "if a {} else ",
        "return ",
        "x = ",
        "1 + ",
        "a as ",
        "box ",
        "|| ",
        "&mut ",
        "loop {",
        "a..",
        "<a as ",
    ]
    .iter()
    .flat_map(|piece| [1000, 4000, 20_000].map(|count| format!("fn f() {{ compile_ptx({}1) }}", piece.repeat(count))))
    .collect();
    for piece in ["(", "[", "{", "f(", "x.g(", "&(", "match x { _ => "] {
        let close = match piece.trim_end().chars().last() {
            Some('(') => ")",
            Some('[') => "]",
            _ => "}",
        };
        for depth in [60, 2000, 20_000] {
            texts.push(format!("fn f() {{ compile_ptx({}1{}) }}", piece.repeat(depth), close.repeat(depth)));
        }
    }
    texts.push(format!("fn f() {{ compile_ptx({}) }}", "a".repeat(1_000_000)));
    texts.push(format!("{} compile_ptx(a)", "let a|".repeat(20_000)));
    texts.push("compile_ptx(\"\u{0}\\".to_string());
    texts.push("compile_ptx(\"a\" \"b\")) } ( [".to_string());
    texts.push(format!("fn f() {{ compile_ptx({}\"\"{}) }}", "concat!(".repeat(50), ")".repeat(50)));
    let files: Vec<(String, String)> =
        texts.into_iter().enumerate().map(|(index, text)| (format!("f{index}.rs"), text)).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    of_folder(&tree(&files), &["."]);
}

#[test]
fn broken_files_are_noted() {
    let extraction = of_package(&[("src/lib.rs", "fn f() { compile_ptx(\"open"), ("src/a.rs", "fn f() { \"open")]);
    assert_eq!(extraction.notes, ["`src/lib.rs` is not looked into: it is not Rust"]);
}

#[test]
fn options_without_effect_are_kept_with_their_place() {
    let ineffective = |fields: &str, more: &str| {
        let code = format!(
            "{more} fn f(n: usize) {{ compile_ptx_with_opts(\"{KERNEL}\", CompileOptions {{ {fields} ..Default::default() }}) }}"
        );
        let places = options(&code).ineffective.into_iter();
        places.map(|option| format!("{:?} {}", option.kind, option.span.text())).collect::<Vec<_>>()
    };
    let one = |fields: &str| ineffective(fields, "").join(" | ");
    assert_eq!(one("maxrregcount: Some(32),"), "MaxRegisters maxrregcount: Some(32)");
    assert_eq!(one("maxrregcount: Some(n),"), "MaxRegisters maxrregcount: Some(n)");
    assert_eq!(one("use_fast_math: Some(true),"), "FastMath use_fast_math: Some(true)");
    assert_eq!(
        one("options: vec![\"--maxrregcount=32\".into(), \"-Xptxas=-O1\".to_string()],"),
        "MaxRegisters \"--maxrregcount=32\" | PtxasOptions \"-Xptxas=-O1\""
    );
    assert_eq!(
        ineffective("options: vec![LIMIT.into()],", "const LIMIT: &str = \"-maxrregcount\";"),
        ["MaxRegisters \"-maxrregcount\""]
    );
    for silent in [
        "maxrregcount: None,",
        "use_fast_math: Some(false),",
        "use_fast_math: None, ftz: Some(true),",
        "options: vec![\"--use_fast_math\".into(), \"-DX=maxrregcount\".into()],",
    ] {
        assert_eq!(one(silent), "", "{silent}");
    }
}

#[test]
fn options_without_effect_are_those_of_the_outermost_structure() {
    let base = "const BASE: CompileOptions = CompileOptions { maxrregcount: Some(32), use_fast_math: Some(true) };";
    let code = |field: &str| {
        format!("{base} fn f() {{ compile_ptx_with_opts(\"{KERNEL}\", CompileOptions {{ {field} ..BASE }}) }}")
    };
    let texts = |code: &str| {
        options(code).ineffective.into_iter().map(|option| option.span.text().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(texts(&code("")), ["maxrregcount: Some(32)", "use_fast_math: Some(true)"]);
    assert_eq!(texts(&code("maxrregcount: None,")), ["use_fast_math: Some(true)"]);
    // Two calls with the same options are one unit with two places.
    let call = "compile_ptx_with_opts(S, CompileOptions { maxrregcount: Some(8), ..Default::default() });";
    let extraction = of_text(&format!("const S: &str = \"{KERNEL}\"; fn f() {{ {call} {call} }}"));
    let [unit] = extraction.units.as_slice() else { panic!("{:?}", extraction.units) };
    let UnitCode::CudaText { options, .. } = &unit.code else { panic!("{unit:?}") };
    assert_eq!(options.ineffective.len(), 2);
}

/// The manifest of a package, with what it depends on.
fn manifest(name: &str, more: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{more}")
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

pub(super) fn text_of(unit: &crate::extract::TranslationUnit) -> &crate::extract::MappedText {
    match &unit.code {
        UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. } => text,
        UnitCode::CudaFile { .. } | UnitCode::Machine(_) => panic!("{unit:?}"),
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
    // The opening brace is the first of two.
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

const PTX: &str = ".version 8.0\\n.target sm_80\\n.visible .entry f() { ret; }";

#[test]
fn ptx_is_a_unit_of_its_own() {
    for code in [
        "use cudarc as _; fn f() { Ptx::from_src(\"P\") }",
        "use cudarc as _; fn f(c: C) { c.load_module(\"P\".into()) }",
        "use cudarc as _; fn f(d: D) { d.load_ptx(\"P\".into(), \"m\", &[\"f\"]) }",
        "use cudarc as _; fn f(d: D) { let p = Ptx::from_src(S); d.load_ptx(p, \"m\", &[\"f\"]) } const S: &str = \"P\";",
        "use cust as _; fn f() { Module::from_ptx(\"P\", &[])?; }",
        "use cust as _; fn f() { Module::from_ptx_cstr(&CString::new(\"P\").unwrap(), &[])?; }",
        "use cust as _; fn f() { cust::module::Module::from_str(\"P\")?; }",
        "use rustacuda as _; fn f() { let s = CString::new(\"P\")?; Module::load_from_string(&s)?; }",
        "fn f() { cuModuleLoadData(&mut m, c\"P\".as_ptr() as *const _) }",
        "fn f() { sys::cuModuleLoadDataEx(&mut m, b\"P\\0\".as_ptr().cast(), 0, null_mut(), null_mut()) }",
        "fn load(p: &str) { let p = CString::new(p).unwrap(); unsafe { cuModuleLoadData(&mut m, p.as_ptr()) } } fn f() { load(\"P\") }",
    ] {
        let code = code.replace("\"P", &format!("\"{PTX}"));
        let extraction = of_text(&code);
        assert_eq!(
            (units(&extraction), reasons(&extraction)),
            (vec!["src/lib.rs:1: ptx".to_string()], Vec::new()),
            "{code}"
        );
        assert!(text_of(&extraction.units[0]).as_str().ends_with("ret; }"), "{code}");
    }
}

#[test]
fn files_with_ptx_and_machine_code_are_found() {
    let ptx = PTX.replace("\\n", "\n");
    let extraction = of_package(&[
        (
            "src/lib.rs",
            "use cudarc; use cust; const P: &str = include_str!(\"../a.ptx\"); fn f(c: C) { Module::from_ptx(P, &[]); Ptx::from_file(\"./b.ptx\"); \
             Ptx::from_file(\"c.ptx\"); Module::from_cubin(include_bytes!(\"../d.cubin\"), &[]); Module::from_file(\"d.cubin\"); c.load_module(unknown); }",
        ),
        ("a.ptx", &ptx),
        ("b.ptx", &ptx),
        ("d.cubin", "\u{7f}ELF"),
    ]);
    // What two calls load is one unit, at the first of them.
    assert_eq!(units(&extraction), ["a.ptx: ptx", "b.ptx: ptx", "d.cubin: machine code at \"../d.cubin\""]);
    assert_eq!(
        reasons(&extraction),
        ["from_file(\"c.ptx\"): it loads `c.ptx`, which is not there: there is no `.cu` file of that name"]
    );
}

#[test]
fn machine_code_is_followed_like_text() {
    for code in [
        "use cudarc; const D: &[u8] = include_bytes!(\"../d.cubin\"); fn f() { Ptx::from_binary(D.to_vec()); }",
        "use cudarc; static D: &[u8] = include_bytes!(\"../d.cubin\"); fn f() { g(D) } fn g(d: &[u8]) { Ptx::from_binary(d.into()); }",
        "use cust; fn f() { Module::from_fatbin(include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/d.cubin\")), &[]); }",
        "fn f() { unsafe { cuModuleLoadData(&mut m, include_bytes!(\"../d.cubin\").as_ptr().cast()) }; }",
        "use cust; fn f() { Module::load_from_file(c\"d.cubin\"); }",
    ] {
        let extraction = of_package(&[("src/lib.rs", code), ("d.cubin", "\u{7f}ELF")]);
        assert_eq!(reasons(&extraction), [""; 0], "{code}");
        let found = units(&extraction);
        assert!(found.len() == 1 && found[0].starts_with("d.cubin: machine code at "), "{code}: {found:?}");
    }
    let unknown = reason("use cust; fn f(d: &[u8]) { Module::from_cubin(d, &[]); }");
    assert_eq!(unknown, "d: its machine code is a parameter of `f`");
}

#[test]
fn what_the_build_makes_is_looked_at_where_it_is_made() {
    let include = "const P: &str = include_str!(concat!(env!(\"OUT_DIR\"), \"/scan.ptx\")); use cudarc;";
    let library = format!(
        "{include} fn f(c: C) {{ c.load_module(P.into()); Ptx::from_src(P); Module::from_cubin(include_bytes!(concat!(env!(\"OUT_DIR\"), \"/scan.cubin\")), &[]) }}"
    );
    let one = of_package(&[("src/lib.rs", &library), ("kernels/scan.cu", "")]);
    assert_eq!((units(&one), reasons(&one)), (vec!["kernels/scan.cu: nvcc".to_string()], Vec::new()));
    let none =
        of_package(&[("src/lib.rs", &format!("{include} fn f() {{ Ptx::from_src(P) }}")), ("kernels/other.cu", "")]);
    assert_eq!(
        reasons(&none),
        ["P: it includes `scan.ptx`, which the build makes: there is no `.cu` file of that name"]
    );
    // Made into the source tree, and not there before the build.
    let missing = "use cudarc; fn f() { Ptx::from_src(include_str!(\"../kernels/scan.ptx\")) }";
    let one = of_package(&[("src/lib.rs", missing), ("kernels/scan.cu", "")]);
    assert_eq!((units(&one), reasons(&one)), (vec!["kernels/scan.cu: nvcc".to_string()], Vec::new()));
    // Whichever of two it is, it is analysed.
    let two = of_package(&[("src/lib.rs", &library), ("a/scan.cu", ""), ("b/scan.cu", "")]);
    assert_eq!((units(&two).len(), reasons(&two).len()), (2, 0));
}

/// Units of a package whose build script makes `kernels.ptx` of one of its files, with the arguments of the driver.
fn of_build(code: &str) -> (Vec<String>, Vec<String>) {
    let manifest = "[package]\nname = \"some-package\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let folder = tree(&[("Cargo.toml", manifest), ("src/lib.rs", code), ("a/scan.cu", ""), ("b/scan.cu", "")]);
    let current_folder = fs_err::canonicalize(folder.path()).unwrap();
    let builds = BuildFlags::default().making("some-package", "kernels.ptx", current_folder.join("b/scan.cu"));
    let extraction = extract(&discover(&Scope { current_folder, ..Scope::default() }).unwrap(), &builds);
    let driver = extraction.units.iter().map(|unit| match &unit.code {
        UnitCode::CudaFile { flags, .. } => format!("{}: {}", unit.name, flags.driver.arguments.join(" ")),
        _ => unit.name.clone(),
    });
    (driver.collect(), reasons(&extraction))
}

#[test]
fn what_the_build_was_seen_to_make_is_traced_by_its_name() {
    let load = |name: &str, options: &str| {
        format!("Module::from_ptx(include_str!(concat!(env!(\"OUT_DIR\"), \"/{name}.ptx\")), &[{options}]);")
    };
    let code = |loads: &[String]| format!("use cust; fn f() {{ {} }}", loads.concat());
    let limited = load("kernels", "ModuleJitOption::MaxRegisters(32)");
    let (units, reasons) = of_build(&code(std::slice::from_ref(&limited)));
    assert_eq!((units, reasons), (vec!["a/scan.cu: ".into(), "b/scan.cu: --maxrregcount=32".into()], Vec::new()));
    // Loaded in two ways, it is compiled in two ways.
    let (units, _) = of_build(&code(&[limited, load("kernels", "")]));
    assert_eq!(units, ["a/scan.cu: ", "b/scan.cu [-Xptxas=--maxrregcount=32]: --maxrregcount=32", "b/scan.cu: "]);
    // By the name alone it may be either, and no other is there.
    let (units, reasons) = of_build(&code(&[load("scan", "ModuleJitOption::MaxRegisters(32)"), load("other", "")]));
    assert_eq!(units, ["a/scan.cu: ", "b/scan.cu: "]);
    assert_eq!(reasons.len(), 1);
}

#[test]
fn a_text_must_fail_where_all_code_demands_that() {
    let demanded = "fn a() { assert!(cudarc::nvrtc::compile_ptx(S).is_err()); } const S: &str = \"K\";";
    let wanted = "fn b() { compile_ptx(S).unwrap(); }";
    let must_fail = |code: &str| options(&code.replace('K', KERNEL)).must_fail;
    assert!(must_fail(demanded));
    let program = "let p = create_program(c\"K\", None).unwrap();";
    let compile = "unsafe { compile_program::<&str>(p, &[]) }";
    assert!(must_fail(&format!("use cudarc; fn f() {{ {program} assert_eq!({compile}.unwrap_err(), E); }}")));
    assert!(!must_fail(&format!("use cudarc; fn f() {{ {program} {compile}.unwrap_err(); {compile}.unwrap(); }}")));
    assert!(!must_fail(&format!("{demanded} {wanted}")));
    assert!(!must_fail(&format!("{wanted} {demanded}")));
    assert!(!must_fail("fn f() { assert!(g(\"K\").is_err()); } fn g(s: &str) -> R { compile_ptx(s) }"));
}

#[test]
fn other_ways_to_nvrtc_have_their_options() {
    for (code, arguments, unresolved) in [
        (
            "use cudarc; fn f() { let p = create_program(c\"K\", None)?; compile_program(p, &[\"-DA\".to_string()])?; }",
            vec!["-DA"],
            false,
        ),
        (
            "use cudarc; fn f() { let p = create_program(c\"K\", None)?; compile_program::<&str>(p, &[])?; }",
            vec![],
            false,
        ),
        ("use cudarc; fn f() { let p = create_program(c\"K\", None)?; }", vec![], true),
        (
            "use nvrtc; fn f() { let p = NvrtcProgram::new(\"K\", None, &[], &[])?; p.compile(&[\"--gpu-architecture=compute_80\"])?; p.get_ptx()?; }",
            vec!["--gpu-architecture=compute_80"],
            false,
        ),
        (
            "fn f() { nvrtcCreateProgram(&mut p, S.as_ptr(), null(), 0, null(), null()); nvrtcCompileProgram(p, 0, null()); } const S: &CStr = c\"K\";",
            vec![],
            false,
        ),
        (
            "fn f() { let s = CString::new(\"K\")?; lib.nvrtcCreateProgram(&mut p, s.as_ptr(), null(), 0, null(), null()); nvrtcCompileProgram(p, 2, o); }",
            vec![],
            true,
        ),
    ] {
        let found = options(&code.replace('K', KERNEL));
        assert_eq!(
            (found.arguments, found.unresolved.is_some()),
            (arguments.iter().map(ToString::to_string).collect(), unresolved),
            "{code}"
        );
    }
}

#[test]
fn launches_are_known_where_all_of_them_are() {
    let kernel = "const K: &str = \"extern \\\"C\\\" __global__ void k(float *x) { x[0] = 1; }\"; const N: u32 = 64; ";
    let blocks = |host: &str| {
        let extraction = of_text(&format!("{kernel} fn f(n: u32) {{ compile_ptx(K); {host} }}"));
        let [unit] = extraction.units.as_slice() else { panic!("{host}") };
        unit.launches.iter().map(|launch| launch.block).collect::<Vec<_>>()
    };
    let config = "LaunchConfig { grid_dim: (n, 1, 1), block_dim: (N * 2, 2, 1), shared_mem_bytes: 0 }";
    let known = vec![Some([128, 2, 1])];
    for host in [
        "let f = m.load_function(\"k\").unwrap(); unsafe { s.launch_builder(&f).arg(&x).launch(CONFIG) }?;",
        "let f = m.load_function(\"k\")?; let cfg = CONFIG; let mut b = s.launch_builder(&f); b.arg(&x); unsafe { b.launch(cfg) }?;",
        "let f = d.get_func(\"m\", \"k\").unwrap(); unsafe { f.launch(CONFIG, (&x,)) }?;",
        "let f = d.get_func(\"m\", \"k\").unwrap(); unsafe { f.clone().launch(CONFIG, (&x,)) }?;",
        "unsafe { launch!(m.k<<<n, (128, 2), 0, s>>>(x)) }?;",
        "let f = m.get_function(\"k\")?; unsafe { launch!(f<<<n, (N * 2, 2), 0, s>>>(x)) }?;",
    ] {
        assert_eq!(blocks(&host.replace("CONFIG", config)), known, "{host}");
    }
    assert_eq!(
        blocks("let f = m.load_function(\"k\")?; s.launch_builder(&f).launch(LaunchConfig::for_num_elems(n));"),
        [Some([1024, 1, 1])]
    );
    for (host, expected) in [
        ("let f = m.load_function(\"k\")?; s.launch_builder(&f).launch(CONFIG); other(f);", vec![None]),
        ("let f = m.load_function(\"k\")?; s.launch_builder(&f).launch(cfg(n));", vec![None]),
        (
            "let f = m.load_function(\"k\")?; s.launch_builder(&f).launch(LaunchConfig { block_dim: (n, 1, 1), ..D });",
            vec![None],
        ),
        ("let f = m.load_function(\"k\")?;", vec![None]),
        ("let f = m.load_function(\"k\")?; s.launch_builder(&f).launch(CONFIG); m.load_function(name)?;", vec![None]),
        (
            "let f = m.load_function(\"k\")?; s.launch_builder(&f).launch(CONFIG); cuModuleGetFunction(&mut g, m, name);",
            vec![None],
        ),
        ("cuModuleGetFunction(&mut g, m, c\"k\".as_ptr());", vec![None]),
        ("self.f = m.load_function(\"k\")?;", vec![None]),
        ("let f = m.load_function(\"other\")?; s.launch_builder(&f).launch(CONFIG);", vec![]),
    ] {
        assert_eq!(blocks(&host.replace("CONFIG", config)), expected, "{host}");
    }
    let files = [
        (
            "src/lib.rs",
            "const P: &str = include_str!(concat!(env!(\"OUT_DIR\"), \"/scan.ptx\")); fn f() { let f = m.load_function(\"k\")?; unsafe { s.launch_builder(&f).launch(LaunchConfig { block_dim: (32, 1, 1), ..D }) } }",
        ),
        ("a/scan.cu", "extern \"C\" __global__ void k() {}"),
    ];
    assert_eq!(of_package(&files).units[0].launches[0].block, Some([32, 1, 1]));
    let both = [files[0], files[1], ("b/scan.cu", files[1].1)];
    assert!(of_package(&both).units.iter().all(|unit| unit.launches.is_empty()));
}

/// `kernel: threads, shared memory, where it is loaded` of all launches of all units.
fn launched(extraction: &Extraction) -> Vec<String> {
    let launch = |launch: &crate::extract::RustLaunch| {
        let block = launch.block.map_or("?".to_string(), |block| block.iter().product::<u32>().to_string());
        let shared = match launch.dynamic_shared {
            DynamicShared::Unseen => "unseen".to_string(),
            DynamicShared::Bytes(bytes) => bytes.to_string(),
            DynamicShared::Unknown => "?".to_string(),
        };
        format!("{}: {block}, {shared}, {}", launch.kernel, launch.loaded_at.text())
    };
    extraction.units.iter().flat_map(|unit| &unit.launches).map(launch).collect()
}

#[test]
fn shared_memory_that_launches_add_is_read() {
    let kernel = "const K: &str = \"extern \\\"C\\\" __global__ void k(float *x) { x[0] = 1; }\"; const N: u32 = 64; ";
    let shared = |host: &str| {
        let extraction = of_text(&format!("{kernel} fn f(n: u32) {{ compile_ptx(K); {host} }}"));
        extraction.units[0].launches.iter().map(|launch| launch.dynamic_shared).collect::<Vec<_>>()
    };
    let load = "let f = m.load_function(\"k\")?; ";
    for (host, expected) in [
        (
            "s.launch_builder(&f).launch(LaunchConfig { block_dim: (1, 1, 1), shared_mem_bytes: N * 4, ..C });",
            DynamicShared::Bytes(256),
        ),
        (
            "s.launch_builder(&f).launch(LaunchConfig { block_dim: (1, 1, 1), shared_mem_bytes: n, ..C });",
            DynamicShared::Unknown,
        ),
        ("s.launch_builder(&f).launch(LaunchConfig { block_dim: (1, 1, 1), ..C });", DynamicShared::Unknown),
        ("s.launch_builder(&f).launch(LaunchConfig::for_num_elems(n));", DynamicShared::Bytes(0)),
        ("s.launch_builder(&f).launch(config(n));", DynamicShared::Unknown),
        ("unsafe { launch!(f<<<1, 64, 128, s>>>(x)) }?;", DynamicShared::Bytes(128)),
        ("unsafe { launch!(f<<<1, n, n * 4, s>>>(x)) }?;", DynamicShared::Unknown),
        ("other(f);", DynamicShared::Unseen),
    ] {
        assert_eq!(shared(&format!("{load}{host}")), [expected], "{host}");
    }
    assert_eq!(shared("unsafe { launch!(m.k<<<1, 64, 2, s>>>(x)) }?;"), [DynamicShared::Bytes(2)]);
}

#[test]
fn names_of_kernels_are_followed() {
    let kernels = "const K: &str = \"extern \\\"C\\\" __global__ void k_f32() {} __global__ void k_f64() {}\"; ";
    let config = "LaunchConfig { grid_dim: (1, 1, 1), block_dim: (64, 1, 1), shared_mem_bytes: 0 }";
    for (code, expected) in [
        (
            "fn get(m: &M, name: &str) -> F { m.load_function(name).unwrap() } fn f() { compile_ptx(K); get(m, \"k_f32\"); get(m, NAME); } const NAME: &str = \"k_f64\";",
            vec!["k_f32: ?, unseen, get(m, \"k_f32\")", "k_f64: ?, unseen, get(m, NAME)"],
        ),
        (
            "fn run(m: &M, name: &str) { let f = m.load_function(&format!(\"k_{name}\"))?; s.launch_builder(&f).launch(CONFIG); } fn f() { compile_ptx(K); run(m, \"f32\"); }",
            vec!["k_f32: 64, 0, run(m, \"f32\")"],
        ),
        (
            "trait T { const N: &'static str; } impl T for f32 { const N: &'static str = \"k_f32\"; } fn f<E: T>() { compile_ptx(K); m.get_func(\"m\", E::N).unwrap(); }",
            vec!["k_f32: ?, unseen, get_func(\"m\", E::N)"],
        ),
        (
            "macro_rules! run { ($t:ty) => { m.load_function(concat!(\"k_\", stringify!($t))) } } fn f() { compile_ptx(K); run!(f64)?; }",
            vec!["k_f64: ?, unseen, run!(f64)"],
        ),
        (
            "fn raw(m: M, name: &str) { let name = CString::new(name)?; cuModuleGetFunction(&mut f, m, name.as_ptr()); } fn f() { compile_ptx(K); raw(m, \"k_f32\"); }",
            vec!["k_f32: ?, unseen, raw(m, \"k_f32\")"],
        ),
        // A library's own: its calls are looked at themselves.
        (
            "impl M { fn load_function(&self, name: &str) -> F { cuModuleGetFunction(&mut f, self.m, CString::new(name)?.as_ptr()) } } fn f() { compile_ptx(K); let f = m.load_function(\"k_f32\")?; s.launch_builder(&f).launch(CONFIG); }",
            vec!["k_f32: 64, 0, load_function(\"k_f32\")"],
        ),
    ] {
        assert_eq!(launched(&of_text(&format!("{kernels}{}", code.replace("CONFIG", config)))), expected, "{code}");
    }
}

#[test]
fn loads_belong_to_the_text_of_their_module() {
    let text = "extern \\\"C\\\" __global__ void";
    let kernels =
        format!("const A: &str = \"{text} k() {{}}\"; const B: &str = \"{text} k() {{}} {text} other() {{}}\"; ");
    let loads = |host: &str| {
        let extraction = of_text(&format!("{kernels} fn f() {{ compile_ptx(A); compile_ptx(B); {host} }}"));
        extraction.units.iter().map(|unit| unit.launches.len()).collect::<Vec<_>>()
    };
    assert_eq!(loads("m.load_function(\"k\")?;"), [0, 0]);
    assert_eq!(loads("m.load_function(\"other\")?;"), [0, 1]);
    assert_eq!(loads("let m = c.load_module(compile_ptx(A)?)?; m.load_function(\"k\")?;"), [1, 0]);
    assert_eq!(loads("let m = c.load_module(compile_ptx(A)?)?; m.load_function(\"other\")?;"), [0, 0]);
    // One text that is compiled in two ways.
    assert_eq!(
        loads(
            "compile_ptx_with_opts(B, CompileOptions { ftz: Some(true), ..Default::default() }); m.load_function(\"other\")?;"
        ),
        [0, 1, 1]
    );
    // Kernels that are no `extern \"C\"`.
    let mangled = "fn f() { compile_ptx(\"__global__ void scan(float *x) {}\"); m.load_function(\"_Z4scanPf\")?; m.load_function(\"_Z5scan2Pf\")?; }";
    assert_eq!(launched(&of_text(mangled)), ["_Z4scanPf: ?, unseen, load_function(\"_Z4scanPf\")"]);
}

#[test]
fn an_unknown_name_is_one_of_its_module() {
    let text = "extern \\\"C\\\" __global__ void";
    let kernels = format!("const A: &str = \"{text} a() {{}}\"; const B: &str = \"{text} b() {{}}\"; ");
    let config = "LaunchConfig { grid_dim: (1, 1, 1), block_dim: (64, 1, 1), shared_mem_bytes: 0 }";
    let launches = "let f = m.load_function(\"a\")?; s.launch_builder(&f).launch(CONFIG); let g = m.load_function(\"b\")?; s.launch_builder(&g).launch(CONFIG);"
        .replace("CONFIG", config);
    let known = |more: &str| {
        let code = format!("{kernels} fn f(name: &str) {{ compile_ptx(A); compile_ptx(B); {launches} {more} }}");
        let found = launched(&of_text(&code)).into_iter();
        found.filter(|launch| launch.contains("64")).map(|launch| launch[..1].to_string()).collect::<String>()
    };
    assert_eq!(known(""), "ab");
    assert_eq!(known("let n = c.load_module(compile_ptx(A)?)?; n.load_function(name)?;"), "b");
    assert_eq!(
        known("let p = compile_ptx(B).unwrap(); let n = c.load_module(p).unwrap(); n.load_function(&g(name))?;"),
        "a"
    );
    assert_eq!(known("Module::from_ptx(A, &[])?.get_function(name)?;"), "b");
    assert_eq!(known("n.load_function(name)?;"), "");
    assert_eq!(known("let n = if x { c.load_module(compile_ptx(A)?)? } else { n }; n.load_function(name)?;"), "");
    // Another program's load is of none of these.
    let kernel = format!(
        "const A: &str = \"{text} a() {{}}\"; fn f() {{ compile_ptx(A); let f = m.load_function(\"a\")?; s.launch_builder(&f).launch({config}); }}"
    );
    let unknown = "fn f(n: u8) { m.load_function(&name(n))?; }";
    let blocks = |dependency_of_b: &str| {
        let (a, b) = (manifest("a", ""), manifest("b", dependency_of_b));
        let files = [
            ("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\nresolver = \"2\"\n"),
            ("a/Cargo.toml", a.as_str()),
            ("b/Cargo.toml", &b),
            ("a/src/lib.rs", &kernel),
            ("b/src/lib.rs", unknown),
        ];
        of_folder(&tree(&files), &[]).units[0].launches[0].block
    };
    assert_eq!((blocks(""), blocks("[dependencies]\na = { path = \"../a\" }\n")), (Some([64, 1, 1]), None));
}

/// Arguments of ptxas for the one PTX text, or why they are not known.
fn driver_options(call: &str, items: &str) -> String {
    let ptx = ".version 8.0\\n.target sm_80\\n.visible .entry k() { ret; }";
    let code = format!("use cust::module::*; const P: &str = \"{ptx}\"; {items} fn f(n: u32) {{ {call} }}");
    let extraction = of_text(&code);
    let [unit] = extraction.units.as_slice() else { panic!("{:?}", reasons(&extraction)) };
    let UnitCode::Ptx { options, .. } = &unit.code else { panic!("{unit:?}") };
    options.unresolved.clone().unwrap_or_else(|| options.arguments.join(" "))
}

#[test]
fn options_of_the_drivers_compiler() {
    for (list, expected) in [
        ("&[]", ""),
        ("&[ModuleJitOption::DetermineTargetFromContext, ModuleJitOption::GenerateLineInfo(true)]", ""),
        ("&[ModuleJitOption::MaxRegisters(32), ModuleJitOption::OptLevel(OptLevel::O1)]", "-O1 --maxrregcount=32"),
        ("&vec![MaxRegisters(N * 2), FAST]", "-O3 --maxrregcount=48"),
        ("LIST", "-O0"),
        (
            "&[ModuleJitOption::MaxRegisters(n)]",
            "an option of the driver's compiler is only known when the program runs",
        ),
        (
            "&[ModuleJitOption::MaxRegisters(0)]",
            "an option of the driver's compiler is only known when the program runs",
        ),
        (
            "&[ModuleJitOption::GenenerateDebugInfo(true)]",
            "an option of the driver's compiler is only known when the program runs",
        ),
        ("&[MaxRegisters(8), MaxRegisters(16)]", "the driver's compiler gets the same option twice"),
        ("&made(n)", "the options of the driver's compiler are put together when the program runs"),
    ] {
        let items = "const N: u32 = 24; const FAST: ModuleJitOption = ModuleJitOption::OptLevel(OptLevel::O4);
            const LIST: &[ModuleJitOption] = &[ModuleJitOption::OptLevel(OptLevel::O0)];";
        assert_eq!(driver_options(&format!("Module::from_ptx(P, {list})"), items), expected, "{list}");
    }
    let raw = |count: &str| {
        driver_options(&format!("cuModuleLoadDataEx(&mut m, P.as_ptr(), {count}, null_mut(), null_mut())"), "")
    };
    assert_eq!(raw("0"), "");
    assert_eq!(raw("n"), "the options of the driver's compiler are handed over by pointers");
}
