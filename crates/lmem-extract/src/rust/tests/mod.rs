//! Tests on whole files: input files, resulting units.

mod launches;
mod machine_code;
mod options;
mod reached;
mod values;

use std::path::PathBuf;

use tempfile::TempDir;

use lmem_project::build_flags::BuildFlags;
use lmem_project::discover::{Scope, discover};
use lmem_unit::{DynamicShared, NvrtcOptions, UnitCode};

use crate::{Extraction, extract};

const KERNEL: &str = r#"extern \"C\" __global__ void f() {}"#;

const MANIFEST: &str = "[package]\nname = \"some-package\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";

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
    let mut files = files.to_vec();
    files.push(("Cargo.toml", MANIFEST));
    of_folder(&tree(&files), &[])
}

pub(super) fn of_text(text: &str) -> Extraction {
    of_package(&[("src/lib.rs", text)])
}

/// `name: text` of every unit.
pub(super) fn units(extraction: &Extraction) -> Vec<String> {
    let unit = |unit: &lmem_unit::TranslationUnit| match &unit.code {
        UnitCode::CudaText { text, .. } => format!("{}: {}", unit.name, text.as_str()),
        UnitCode::CudaFile { .. } => format!("{}: nvcc", unit.name),
        UnitCode::Ptx { .. } => format!("{}: ptx", unit.name),
        UnitCode::Machine(code) => format!("{}: machine code at {}", unit.name, code.span.text()),
    };
    extraction.units.iter().map(unit).collect()
}

pub(super) fn reasons(extraction: &Extraction) -> Vec<String> {
    let all = extraction.unresolved.iter().chain(&extraction.beyond);
    all.map(|unresolved| format!("{}: {}", unresolved.span.text(), unresolved.reason)).collect()
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
fn what_is_beyond_the_limits_is_said() {
    let beyond = |text: &str| {
        let extraction = of_text(&text.replace('K', KERNEL));
        assert_eq!(extraction.unresolved.len(), 0, "{text}");
        extraction.beyond.iter().map(|it| format!("{}: {}", it.span.start_line(), it.reason)).collect::<Vec<_>>()
    };
    let nested = |open: &str, close: &str, count: usize| {
        format!("fn f() {{\n{} compile_ptx(\"K\"); {} }}", open.repeat(count), close.repeat(count))
    };
    for (open, close) in [("{", "}"), ("({", "})"), ("mod a {", "}"), ("x! {", "}")] {
        assert_eq!(beyond(&nested(open, close, 60)), [""; 0], "{open}");
        assert_eq!(
            beyond(&nested(open, close, 300)),
            ["2: its Rust code is nested more than 128 deep, or has chains of calls that are too long"],
            "{open}"
        );
    }
    let chain: String = (0..100).map(|at| format!("const A{at}: &str = A{}; ", at + 1)).collect();
    assert_eq!(
        beyond(&format!("{chain} const A100: &str = \"K\"; fn f() {{ compile_ptx(A0) }}")),
        ["1: it is more than 64 names and expressions away"]
    );
    let sum = "+ \"\"".repeat(80);
    assert_eq!(beyond(&format!("fn f() {{ compile_ptx(\"K\".to_string() {sum}) }}")).len(), 1);
    let concat = format!("{}\"K\"{}", "concat!(".repeat(70), ")".repeat(70));
    assert_eq!(
        beyond(&format!("fn f() {{ compile_ptx({concat}) }}")),
        ["1: its text is in an expression of unusual size"]
    );
    let calls: String = (0..20).map(|at| format!("fn f{at}(t: &str) {{ f{}(t) }} ", at + 1)).collect();
    assert_eq!(
        beyond(&format!("{calls} fn f20(t: &str) {{ compile_ptx(t) }} fn g() {{ f0(\"K\") }}")),
        ["1: its text comes through more calls than are followed"]
    );
    let callers: String = (0..600).map(|at| format!("fn g{at}() {{ f(\"K\") }} ")).collect();
    assert_eq!(
        beyond(&format!("fn f(t: &str) {{ compile_ptx(t) }} {callers}")),
        ["1: its text comes through more calls than are followed"]
    );
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
    assert_eq!(
        kernel("const A: &str = B; const B: &str = A; fn g() { compile_ptx(A) }"),
        "A: it is more than 64 names and expressions away"
    );
    assert_eq!(
        kernel("use self::A as B; use self::B as A; fn g() { compile_ptx(A) }"),
        "A: `B` is more than 16 names away"
    );
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
    let ptx = "fn g() { other(\".version 8.0 .target sm_80 .visible .entry f() { ret; }\") }";
    assert!(reason(ptx).ends_with("no known compile call uses this string"));
}

#[test]
fn an_implementation_that_repeats_its_parameters_constant_adds_no_text() {
    let handed_on = "struct Pair<F>(F); impl<F: Named> Named for Pair<F> { const NAME: &'static str = F::NAME; } \
                     fn g<E: Named>() { compile_ptx(\"T K\".replace(\"T\", E::NAME)) }"
        .replace('K', KERNEL);
    let here = "trait Named { const NAME: &'static str; } impl Named for f32 { const NAME: &'static str = \"float\"; } \
                impl Named for f64 { const NAME: &'static str = \"double\"; } ";
    assert_eq!(texts(&format!("{here}{handed_on}")).len(), 2);
    let why = reason(&handed_on);
    assert!(why.ends_with("the types that say `NAME` are in a package that is not checked"), "{why}");
}

#[test]
fn a_kernel_that_no_known_call_compiles_is_a_unit_that_need_not_compile() {
    for code in [
        "fn g() { other(\"K\") }",
        "fn g() { create_program(c\"K\") }",
        "fn g(x: X) { x.compile_ptx(\"K\") }",
        "pub fn g() -> Vec<(&'static str, &'static str)> { vec![(\"f\", \"K\")] }",
    ] {
        let text = code.replace('K', KERNEL);
        let options = options(&text);
        assert!(options.is_unclaimed && options.unresolved.is_some(), "{code}");
        let extraction = of_text(&text);
        assert_eq!(extraction.units.len(), 1, "{code}");
        // Nobody knows what else its users put around it: its edits are not proven.
        assert_eq!(extraction.units[0].shared.len(), 1, "{code}");
    }
    assert!(!options(&"fn g() { compile_ptx(\"K\") }".replace('K', KERNEL)).is_unclaimed);
    // Put together from parts, of which one or none has a kernel; with escapes; as what `__global__` is defined as.
    let (head, tail) = KERNEL.split_once("__global__").unwrap();
    for code in [
        format!(
            "const A: &str = concat!(\"{head}__glo\", 1, \"\"); fn g() {{ (compile_ptx)(concat!(\"{head}__glo\", \"bal__{tail}\")) }}"
        ),
        format!("const A: &str = concat!(\"#define N 4\\n\", concat!(\"{KERNEL}\"), \"\\n\");"),
        format!("const A: &str = \"{head}\\x5f\\u{{5f}}global__{tail}\";"),
        format!("const A: &str = \"{head}__attribute__((global)){tail}\";"),
    ] {
        let extraction = of_text(&format!("// threadIdx\n{code}"));
        assert!(extraction.units.len() == 1 && extraction.units[0].is_unclaimed(), "{code}");
    }
    // Parts of a text that is put together are in that text alone.
    let joined = format!(
        "const A: &str = \"{KERNEL}\"; fn g() {{ compile_ptx(concat!(\"#define N 4\\n\", \"{KERNEL}\")); compile_ptx(A) }}"
    );
    assert!(of_text(&joined).units.iter().all(|unit| !unit.is_unclaimed()));
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
fn an_included_file_that_no_known_call_compiles_is_a_unit() {
    let units_of = |code: &str| {
        let extraction = of_package(&[("src/lib.rs", code), ("src/k.txt", KERNEL), ("src/note.txt", "compile_ptx")]);
        let unclaimed = extraction.units.iter().filter(|unit| unit.is_unclaimed()).count();
        (extraction.units.len(), unclaimed)
    };
    for code in [
        "fn f() { let g = cudarc::nvrtc::compile_ptx::<&str>; g(include_str!(\"k.txt\")); }",
        "mod m { pub use cudarc::nvrtc::compile_ptx as yy; } fn f() { m::yy(include_str!(\"k.txt\")); }",
        "fn f() { Some(include_str! [ \"k.txt\" ]).map(compile_ptx); }",
        "const F: fn(&str) = compile_ptx; fn f() { F(include_str!(\"k.txt\")); F(include_str!(\"k.txt\")); }",
    ] {
        assert_eq!(units_of(code), (1, 1), "{code}");
    }
    assert_eq!(units_of("fn f() { compile_ptx(include_str!(\"k.txt\")); }"), (1, 0));
    assert_eq!(
        units_of("fn f() { compile_ptx(include_str!(\"k.txt\")); let g = compile_ptx; g(include_str!(\"k.txt\")); }"),
        (1, 0)
    );
    assert_eq!(units_of("fn f() { let g = compile_ptx; g(include_str!(\"note.txt\")); }"), (0, 0));
    assert_eq!(units_of("fn f() { let g = compile_ptx; g(include!(\"k.txt\")); }"), (0, 0));
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
fn literals_that_an_unknown_text_has_too_are_told() {
    let shared = |more: &str| {
        let code = "const HEAD: &str = \"__device__ int two() { return 2; }\\n\"; \
                    fn f() { compile_ptx(HEAD.to_string() + \"__global__ void k() {}\"); }";
        let extraction = of_text(&format!("{code} {more}"));
        let [unit] = extraction.units.as_slice() else { panic!("{:?}", units(&extraction)) };
        unit.shared.iter().map(|span| span.text().contains("two()")).collect::<Vec<_>>()
    };
    assert_eq!(shared(""), [false; 0]);
    assert_eq!(
        shared("pub fn g(body: String) { compile_ptx(HEAD.to_string() + &body.replace(\"N\", \"4\")); }"),
        [true]
    );
    assert_eq!(shared("pub fn g(body: String) { compile_ptx(body.replace(\"N\", \"4\")); }"), [false; 0]);
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
fn files_that_do_not_lex_are_unread_where_they_may_have_kernels() {
    let extraction = of_package(&[
        ("src/lib.rs", "mod a;\nfn f() { compile_ptx(1) }\nfn broken( {"),
        ("src/a.rs", "fn f() { \"open"),
    ]);
    assert_eq!(unread(&extraction), ["src/lib.rs:3:12 it does not parse as Rust"]);
}

#[test]
fn a_file_that_does_not_lex_is_unread_where_a_name_of_it_was_needed() {
    let extraction = of_package(&[
        ("src/lib.rs", "mod texts;\nfn f() { compile_ptx(texts::SCALE) }"),
        ("src/texts.rs", "pub const SCALE: &str = \"a\";\n}"),
        ("src/other.rs", "fn g() { ( }"),
    ]);
    assert_eq!(unread(&extraction), ["src/texts.rs:2:1 it does not parse as Rust"]);
}

#[test]
fn a_text_that_unread_rust_code_includes_is_not_compiled_by_nvcc() {
    let broken = "const K: &str = include_str!(\"reduce.cu\"); fn f() { compile_ptx(K) } }";
    let extraction = of_package(&[("src/lib.rs", broken), ("src/reduce.cu", "int a;"), ("src/own.cu", "int a;")]);
    let names: Vec<&str> = extraction.units.iter().map(|unit| unit.name.as_str()).collect();
    assert_eq!(names, ["src/own.cu"]);
}

#[test]
fn the_constant_that_includes_a_file_is_known_beside_the_call_that_takes_it() {
    let code = "const K: &str = include_str!(\"k.cu\");\nfn f() { compile_ptx(K) }\n";
    let extraction = of_package(&[("src/lib.rs", code), ("src/k.cu", KERNEL)]);
    let unit = &extraction.units[0];
    let line = |span: &Option<lmem_base::source::Span>| span.as_ref().map(lmem_base::source::Span::start_line);
    assert_eq!((line(&unit.included_at), line(&unit.use_site)), (Some(1), Some(2)));
}

/// The place and reason of each unread file.
fn unread(extraction: &Extraction) -> Vec<String> {
    let line = |unread: &lmem_unit::Unresolved| {
        let (line, column) = unread.span.line_column();
        format!("{}:{line}:{column} {}", unread.span.file.display, unread.reason)
    };
    extraction.unread.iter().map(line).collect()
}

/// The manifest of a package with additional lines, such as dependencies.
fn manifest(name: &str, more: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{more}")
}

pub(super) fn text_of(unit: &lmem_unit::TranslationUnit) -> &lmem_unit::MappedText {
    match &unit.code {
        UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. } => text,
        UnitCode::CudaFile { .. } | UnitCode::Machine(_) => panic!("{unit:?}"),
    }
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
