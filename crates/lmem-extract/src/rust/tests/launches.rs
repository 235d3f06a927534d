//! Launches, and the names under which kernels are loaded.

use super::*;

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

/// All launches of all units as `kernel: threads, shared memory, place of the load`.
fn launched(extraction: &Extraction) -> Vec<String> {
    let launch = |launch: &lmem_unit::RustLaunch| {
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
        // Inside a library's own loading function; its calls are analysed instead.
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
    // One text compiled in two ways.
    assert_eq!(
        loads(
            "compile_ptx_with_opts(B, CompileOptions { ftz: Some(true), ..Default::default() }); m.load_function(\"other\")?;"
        ),
        [0, 1, 1]
    );
    // Kernels without `extern \"C\"`.
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
    // The load is in another program.
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
