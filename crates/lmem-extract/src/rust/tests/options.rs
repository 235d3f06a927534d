//! Options next to texts: for NVRTC and for the driver.

use super::*;

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
    // Two calls with equal options give one unit with two places.
    let call = "compile_ptx_with_opts(S, CompileOptions { maxrregcount: Some(8), ..Default::default() });";
    let extraction = of_text(&format!("const S: &str = \"{KERNEL}\"; fn f() {{ {call} {call} }}"));
    let [unit] = extraction.units.as_slice() else { panic!("{:?}", extraction.units) };
    let UnitCode::CudaText { options, .. } = &unit.code else { panic!("{unit:?}") };
    assert_eq!(options.ineffective.len(), 2);
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

/// The ptxas arguments of the only PTX text, or why they are unknown.
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
