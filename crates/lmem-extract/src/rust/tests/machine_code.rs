//! PTX, machine code, and build outputs.

use super::*;

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
    // Two loads of one file give one unit, at the first load.
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
    // Whatever loads it: a linker, a call that is not seen to be one, nobody.
    let cubin = [b"\x7fELF".as_slice(), &[0; 14], &[190, 0]].concat();
    for code in [
        "fn f() { cuLinkAddData_v2(s, t, include_bytes!(\"../d.cubin\").as_ptr().cast_mut().cast(), 9, n, 0, n, n) }",
        "fn f() { cuLinkAddFile_v2(s, t, c\"d.cubin\".as_ptr(), 0, n, n) }",
        "fn f() { nvJitLinkAddData(h, t, include_bytes!(\"../d.cubin\").as_ptr().cast(), 9, n) }",
        "fn f() { (cuModuleLoadData)(&mut m, include_bytes!(\"../d.cubin\").as_ptr().cast()) }",
        "static D: &[u8] = include_bytes!(\"../d.cubin\");",
        "fn f() { let (a, _) = include_bytes!(\"../d.cubin\").split_at(9); cuModuleLoadData(&mut m, a.as_ptr().cast()) }",
        "fn f() { for a in include_bytes!(\"../d.cubin\").chunks(9) { cuModuleLoadData(&mut m, a.as_ptr().cast()) } }",
    ] {
        let folder = tree(&[("src/lib.rs", code), ("Cargo.toml", MANIFEST)]);
        fs_err::write(folder.path().join("d.cubin"), &cubin).unwrap();
        let found = units(&of_folder(&folder, &[]));
        assert!(found.len() == 1 && found[0].starts_with("d.cubin: machine code at "), "{code}: {found:?}");
    }
    let other =
        of_package(&[("src/lib.rs", "static D: &[u8] = include_bytes!(\"../d.elf\");"), ("d.elf", "\u{7f}ELF")]);
    assert_eq!(units(&other), [""; 0]);
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
    // Built into the source tree, and missing before the build.
    let missing = "use cudarc; fn f() { Ptx::from_src(include_str!(\"../kernels/scan.ptx\")) }";
    let one = of_package(&[("src/lib.rs", missing), ("kernels/scan.cu", "")]);
    assert_eq!((units(&one), reasons(&one)), (vec!["kernels/scan.cu: nvcc".to_string()], Vec::new()));
    // With two candidates, both are analysed.
    let two = of_package(&[("src/lib.rs", &library), ("a/scan.cu", ""), ("b/scan.cu", "")]);
    assert_eq!((units(&two).len(), reasons(&two).len()), (2, 0));
}

/// Units of a package whose build script makes `kernels.ptx` from one of its files, with the driver's arguments.
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
    // Loaded with two sets of options, so compiled in two ways.
    let (units, _) = of_build(&code(&[limited, load("kernels", "")]));
    assert_eq!(units, ["a/scan.cu: ", "b/scan.cu [-Xptxas=--maxrregcount=32]: --maxrregcount=32", "b/scan.cu: "]);
    // By name alone, either file matches; no file matches the second name.
    let (units, reasons) = of_build(&code(&[load("scan", "ModuleJitOption::MaxRegisters(32)"), load("other", "")]));
    assert_eq!(units, ["a/scan.cu: ", "b/scan.cu: "]);
    assert_eq!(reasons.len(), 1);
}
