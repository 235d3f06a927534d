//! Kernel launches in host code, `kernel<<<grid, block>>>(…)`, and their block sizes. Launches in Rust code come with
//! the unit.
//!
//! A block size is known only if every launch of the kernel has a constant one. Advice for too small a block size would
//! make the other launches fail.

mod hint;
mod reader;
mod unseen;

use std::collections::{BTreeMap, BTreeSet};

use lmem_base::gpu::MAX_BLOCK_THREADS;
use lmem_base::mangling::demangle;
use lmem_base::source::Span;
use lmem_unit::{CompiledUnit, DynamicShared, MappedText, RustLaunch, UnitCode};

use self::reader::Reader;
use crate::tree::syntax_tree::SyntaxTree;

/// A launch with a known block size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The kernel's name, without namespaces and template arguments.
    pub kernel: String,
    /// Threads per block.
    pub threads: u32,
    /// Number of block dimensions.
    pub axes: usize,
    /// The dimensions of the block, and of the grid if they are constant.
    pub block: [u32; 3],
    pub grid: Option<[u32; 3]>,
    /// The arguments that are integer constants.
    pub arguments: Vec<Option<i64>>,
    /// The launch up to its arguments: `scan<<<grid, 256>>>`.
    pub span: Span,
}

impl Launch {
    /// The block size as written in the launch.
    pub fn block_text(&self) -> &str {
        let configuration = self.span.text().split_once("<<<").map_or("", |(_, rest)| rest);
        let parts = split_at_commas(configuration.strip_suffix(">>>").unwrap_or(configuration));
        parts.get(1).map_or("", |block| block.trim())
    }
}

/// The launches of a unit.
#[derive(Debug, Clone, Default)]
pub struct Launches {
    /// By kernel, in source order.
    known: BTreeMap<String, Vec<Launch>>,
    /// Kernels with a launch that is not understood, or whose block size is unknown.
    unknown: BTreeSet<String>,
    /// The largest constant that an unknown block size may be, by kernel.
    hints: BTreeMap<String, Option<u32>>,
    /// Dynamic shared memory, the largest of all launches, by kernel. An unknown size counts as the largest.
    dynamic_shared: BTreeMap<String, DynamicShared>,
}

impl Launches {
    /// The launches in a unit's own text. Kernels defined in headers are left out, because other files may launch them
    /// too.
    pub fn of_unit(unit: CompiledUnit<'_>) -> Self {
        let mut launches = Self::of_own_text(unit);
        for launch in &unit.unit.launches {
            launches.add(launch);
        }
        launches
    }

    /// Adds a launch found in Rust code.
    fn add(&mut self, launch: &RustLaunch) {
        let demangled = demangle(&launch.kernel);
        let kernel = base_name(&demangled).to_string();
        self.add_shared(&kernel, launch.dynamic_shared);
        let threads = launch.block.and_then(|block| block.iter().try_fold(1u32, |all, axis| all.checked_mul(*axis)));
        match (launch.block, threads.filter(|threads| (1..=MAX_BLOCK_THREADS).contains(threads))) {
            (Some(block), Some(threads)) => {
                let axes = block.iter().rposition(|axis| *axis != 1).unwrap_or(0) + 1;
                let span = launch.span.clone();
                let launch = Launch { kernel, threads, axes, block, grid: None, arguments: Vec::new(), span };
                self.known.entry(launch.kernel.clone()).or_default().push(launch);
            }
            _ => _ = self.unknown.insert(kernel),
        }
    }

    fn add_shared(&mut self, kernel: &str, added: DynamicShared) {
        let known = self.dynamic_shared.entry(kernel.to_string()).or_default();
        *known = added.max(*known);
    }

    /// Dynamic shared memory of a kernel: the largest size of its launches, 0 if it has none. `None` if a size is known
    /// at run time only, or the kernel may be launched in ways that are not read.
    pub fn dynamic_shared(&self, kernel: &str) -> Option<u64> {
        match self.dynamic_shared.get(base_name(kernel)).copied().unwrap_or_default() {
            DynamicShared::Unseen => Some(0),
            DynamicShared::Bytes(bytes) => Some(bytes),
            DynamicShared::Unknown => None,
        }
    }

    /// Whether a launch of the kernel was found.
    pub fn has_any(&self, kernel: &str) -> bool {
        self.dynamic_shared.get(base_name(kernel)).is_some_and(|shared| *shared != DynamicShared::Unseen)
    }

    fn of_own_text(unit: CompiledUnit<'_>) -> Self {
        match &unit.unit.code {
            // Kernels are launched by calls of the runtime, too.
            UnitCode::CudaFile { file, .. } if ["<<<", "__global__"].iter().any(|word| file.text().contains(word)) => {
                let tree = SyntaxTree::new(MappedText::from_file(file), unit.file(file));
                Reader { tree: &tree, estimating: None }.read()
            }
            _ => Self::default(),
        }
    }

    /// The launch with the largest block, by the kernel's demangled name; `None` if the block size of any launch is
    /// unknown.
    pub fn largest(&self, kernel: &str) -> Option<&Launch> {
        // `max_by_key` returns the last maximum; reversed, the first.
        self.all(kernel)?.iter().rev().max_by_key(|launch| launch.threads)
    }

    /// A launch that certainly fails if blocks of its size are too large. A launch does not tell which template
    /// instance it uses, so for a template this is the launch with the smallest block.
    pub fn most_certain(&self, kernel: &str) -> Option<&Launch> {
        match kernel.contains('<') {
            true => self.all(kernel)?.iter().min_by_key(|launch| launch.threads),
            false => self.largest(kernel),
        }
    }

    /// The launches of a kernel whose block size is known; there may be others.
    pub fn known(&self, kernel: &str) -> &[Launch] {
        self.known.get(base_name(kernel)).map_or(&[], Vec::as_slice)
    }

    /// The largest number of block dimensions in known launches.
    pub fn axes(&self, kernel: &str) -> Option<usize> {
        self.known.get(base_name(kernel))?.iter().map(|launch| launch.axes).max()
    }

    /// The largest block of a kernel that the text mentions, where it does not show all of them.
    pub fn mentioned(&self, kernel: &str) -> Option<u32> {
        let hint = self.hints.get(base_name(kernel)).copied().flatten();
        self.known(kernel).iter().map(|launch| launch.threads).chain(hint).max()
    }

    /// The launches of a kernel; `None` if the block size of any of them is unknown.
    pub fn all(&self, kernel: &str) -> Option<&[Launch]> {
        let name = base_name(kernel);
        self.known.get(name).filter(|_| !self.unknown.contains(name)).map(Vec::as_slice)
    }
}

/// A kernel's name without namespaces and template arguments: `scan` for `ns::scan<float, 4>`.
pub fn base_name(name: &str) -> &str {
    let name = name.split('<').next().unwrap_or(name).trim();
    name.rsplit("::").next().unwrap_or(name)
}

/// Splits at commas outside parentheses and braces.
fn split_at_commas(text: &str) -> Vec<&str> {
    let mut depth = 0i32;
    let parts = text.split(|c: char| {
        depth += i32::from(matches!(c, '(' | '{' | '[')) - i32::from(matches!(c, ')' | '}' | ']'));
        c == ',' && depth == 0
    });
    parts.map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::diagnostic::FlagOrigin;
    use lmem_base::source::SourceFile;
    use lmem_unit::AsCompiled;
    use lmem_unit::{NvccFlags, TranslationUnit};

    fn launches(text: &str, flags: &[&str]) -> Launches {
        let arguments: Vec<String> = flags.iter().map(ToString::to_string).collect();
        let files = AsCompiled::of_text("a.cu", text, &arguments);
        let unit = TranslationUnit {
            name: "a.cu".into(),
            package: None,
            base: "".into(),
            code: UnitCode::CudaFile {
                file: SourceFile::from_text("a.cu", text),
                flags: NvccFlags::new(arguments, FlagOrigin::Config),
            },
            use_site: None,
            included_at: None,
            launches: Vec::new(),
            shared: Vec::new(),
        };
        Launches::of_unit(CompiledUnit { unit: &unit, files: &files, dependencies: &[] })
    }

    const KERNELS: &str = "#define BLOCK 256\n#define TWICE (BLOCK * 2)\nconstexpr int kThreads = 128;\n\
        __global__ void k(float* a, int n) { a[n] = 1; }\n\
        template <int W> __global__ void t(float* a) { a[0] = W; }\n\
        namespace ns { __global__ void q(float* a) {} }\n__global__ void k(float* a, int n);\n";

    fn threads(host: &str, kernel: &str) -> Option<u32> {
        launches(&format!("{KERNELS}{host}"), &[]).largest(kernel).map(|launch| launch.threads)
    }

    #[test]
    fn names_of_blocks_are_those_of_their_scope() {
        for (host, expected) in [
            ("struct H { static constexpr int A = 4, T = 64; void run(float* p) { k<<<1, T>>>(p, 1); } };", Some(64)),
            (
                "constexpr int T = 32;\nstruct H { static constexpr int T = 64; void run(float* p) { k<<<1, T>>>(p, 1); } };",
                None,
            ),
            ("constexpr int T = 32;\nstruct B {};\nstruct H : B { void run(float* p) { k<<<1, T>>>(p, 1); } };", None),
            (
                "constexpr int T = 32;\nstruct H { void run(float* p); };\nvoid H::run(float* p) { k<<<1, T>>>(p, 1); }",
                Some(32),
            ),
            ("constexpr int T = 32;\nvoid Other::run(float* p) { k<<<1, T>>>(p, 1); }", None),
            (
                "constexpr int T = 32;\nnamespace a { void run(float* p); }\nvoid a::run(float* p) { k<<<1, T>>>(p, 1); }",
                Some(32),
            ),
            (
                "constexpr int T = 32;\nnamespace a { constexpr int T = 64; void run(float* p); }\nvoid a::run(float* p) { k<<<1, T>>>(p, 1); }",
                None,
            ),
            (
                "constexpr int T = 32;\nstruct H { void run(float* p) { constexpr int T = 64; k<<<1, T>>>(p, 1); } };",
                Some(64),
            ),
            (
                "namespace a { constexpr int T = 64; }\nnamespace b { constexpr int T = 32; void run(float* p) { k<<<1, T>>>(p, 1); } }",
                Some(32),
            ),
            (
                "struct O { static constexpr int T = 64; };\nconstexpr int T = 32;\nstruct H { void run(float* p) { k<<<1, T>>>(p, 1); } };",
                Some(32),
            ),
            ("constexpr int T = 32;\nstruct H { enum { T = 64 }; void run(float* p) { k<<<1, T>>>(p, 1); } };", None),
            (
                "constexpr int T = 32;\nstruct O { static constexpr int T = 64; struct H { void run(float* p) { k<<<1, T>>>(p, 1); } }; };",
                None,
            ),
            ("const dim3 T(32, 2);\nstruct H { void run(float* p) { k<<<1, T>>>(p, 1); } };", Some(64)),
            ("const dim3 T(32, 2);\nstruct H { dim3 T; void run(float* p) { k<<<1, T>>>(p, 1); } };", None),
        ] {
            assert_eq!(threads(host, "k"), expected, "{host}");
        }
    }

    #[test]
    fn constant_blocks_are_read() {
        for (block, expected) in [
            ("256", 256),
            ("BLOCK", 256),
            ("TWICE", 512),
            ("kThreads", 128),
            ("kThreads / 2", 64),
            ("dim3(16, 16)", 256),
            ("dim3(BLOCK)", 256),
            ("dim3{8, 8, 2}", 128),
            ("{32, 2}", 64),
            ("(64)", 64),
            ("32 << 1 + 1", 128),
            ("kThreads > 64 ? 32 : 64", 32),
            ("~0u & 0x40 | 8", 72),
        ] {
            let host = format!("void h(float* a, int n) {{ k<<<(n + BLOCK - 1) / BLOCK, {block}, 0, 0>>>(a, n); }}");
            assert_eq!(threads(&host, "k"), Some(expected), "{block}");
        }
    }

    #[test]
    fn grids_and_arguments_that_are_constant_are_read() {
        let host = "template <class F> void bench(F f) { f(); }\nvoid h(float* a, int m) {\n\
            const int n = 1 << 16;\nbench([&] { k<<<n / BLOCK, BLOCK>>>(a, n - 1); });\n\
            k<<<dim3(n / 32, 4), dim3(32, 8)>>>(a, m);\nk<<<m, 64>>>(a, -3);\nt<4><<<2, {8, 4, 2}>>>(nullptr); }";
        let launches = launches(&format!("{KERNELS}{host}"), &[]);
        let read = |kernel| {
            let known = launches.known(kernel).iter();
            known.map(|launch| (launch.grid, launch.block, launch.arguments.clone())).collect::<Vec<_>>()
        };
        assert_eq!(
            read("k"),
            [
                (Some([256, 1, 1]), [256, 1, 1], vec![None, Some(65535)]),
                (Some([2048, 4, 1]), [32, 8, 1], vec![None, None]),
                (None, [64, 1, 1], vec![None, Some(-3)]),
            ]
        );
        assert_eq!(read("ns::t<4>"), [(Some([2, 1, 1]), [8, 4, 2], vec![None])]);
        assert!(read("q").is_empty());
    }

    #[test]
    fn sizes_that_are_passed_on_are_read_for_estimates_alone() {
        for (variables, expected) in [
            ("int n = 1 << 16; cudaMalloc(&a, n * sizeof(float)); fill(a, n);", Some(65536)),
            ("int n = 1 << 16; std::vector<float> host(n);", Some(65536)),
            ("int n = 1 << 16; auto host = std::vector<float>(n); Shape shape{n};", Some(65536)),
            ("int n = 1 << 16; read(&n);", None),
            ("int n = 1 << 16; shrink(n);", None),
            ("int n = 1 << 16; n -= 7;", None),
            ("int n = 1 << 16; if (m) n = 8;", None),
        ] {
            let host = format!(
                "void shrink(int& n) {{ n = 8; }}\nvoid h(float* a, int m) {{ {variables} k<<<n / 64, 64>>>(a, n); }}"
            );
            let launches = launches(&format!("{KERNELS}{host}"), &[]);
            let [launch] = launches.known("k") else { panic!("{variables}") };
            assert_eq!(launch.arguments, [None, expected.map(i64::from)], "{variables}");
            assert_eq!(launch.grid.map(|grid| grid[0]), expected.map(|n: u32| n / 64), "{variables}");
        }
        // Of a block's size an edit may depend.
        assert_eq!(threads("void h(float* a) { int b = 64; tune(b); k<<<1, b>>>(a, 1); }", "k"), None);
    }

    #[test]
    fn variables_that_do_not_change_are_read() {
        for (variables, expected) in [
            ("const int b = 64;", Some(64)),
            ("int b = 64;", Some(64)),
            ("dim3 b(16, 16);", Some(256)),
            ("dim3 b(BLOCK, 2);", Some(512)),
            ("dim3 b(BLOCK, kThreads);", None),
            ("dim3 b{32};", Some(32)),
            ("dim3 b = dim3(32, 4);", Some(128)),
            ("const dim3 b(16, 16); f(b.x);", Some(256)),
            ("unsigned w = 32; unsigned b = w * 4;", Some(128)),
            ("int b = 64; if (n) { b = 128; }", None),
            ("dim3 b(16, 16); b.y = n;", None),
            ("dim3 b; b.x = 64;", None),
            ("int b; occupancy(&b);", None),
            ("int b = 64; tune(&b);", None),
            ("int b = 64; tune(b);", None),
            ("int b = n;", None),
            ("int b = n > 4 ? 64 : 32;", None),
            ("auto [b, c] = config();", None),
            ("for (int b = 32; b < 1024; b *= 2)", None),
            ("for (int b : {32, 64})", None),
            ("int c = 4;", None),
        ] {
            let host = format!("void h(float* a, int n) {{ {variables} k<<<1, b>>>(a, n); }}");
            assert_eq!(threads(&host, "k"), expected, "{variables}");
        }
        assert_eq!(threads("void h(float* a, int BLOCK) { k<<<1, BLOCK>>>(a, 1); }", "k"), None);
        assert_eq!(threads("template <int BLOCK> void h(float* a) { k<<<1, BLOCK>>>(a, 1); }", "k"), None);
        assert_eq!(threads("void h(float* a) { auto f = [&](int b) { k<<<1, b>>>(a, 1); }; f(3); }", "k"), None);
    }

    #[test]
    fn constants_that_a_block_may_be_are_mentioned() {
        for (host, expected) in [
            ("void h(float* a) { auto f = [&](int b) { k<<<1, b>>>(a, 1); }; f(384); f(64); }", Some(384)),
            (
                "template <int T> void go(float* a) { k<<<1, T>>>(a, 1); }\nvoid h(float* a) { go<128>(a); go<512>(a); }",
                Some(512),
            ),
            ("void run(float* a, int b = 96) { k<<<1, b>>>(a, 1); }\nvoid h(float* a) { run(a); }", Some(96)),
            ("void h(float* a) { const int s[2] = {96, 320}; for (int b : s) k<<<1, b>>>(a, 1); }", Some(320)),
            ("void h(float* a) { for (int b : {32, 64}) k<<<1, dim3(b)>>>(a, 1); }", Some(64)),
            ("void h(float* a, int n) { int b = 64; if (n) b = 128; k<<<1, b>>>(a, 1); }", Some(128)),
            ("void h(float* a, int n) { k<<<1, n>>>(a, 1); k<<<1, 192>>>(a, 1); }", Some(192)),
            ("void h(float* a, int n) { k<<<1, n>>>(a, 1); }", None),
            ("void h(float* a, int n) { int b = n; b *= 2; k<<<1, b>>>(a, 1); }", None),
            ("void h(float* a) { auto f = [&](int b) { k<<<1, b>>>(a, 1); }; f(4096); }", None),
        ] {
            assert_eq!(launches(&format!("{KERNELS}{host}"), &[]).mentioned("k"), expected, "{host}");
        }
    }

    #[test]
    fn the_largest_launch_counts_and_an_unknown_one_ends_all() {
        let host = |calls: &str| format!("void h(float* a, int n) {{ {calls} }}");
        assert_eq!(threads(&host("k<<<1, 64>>>(a, n); if (n) k<<<1, 128>>>(a, n);"), "k"), Some(128));
        assert_eq!(threads(&host("k<<<1, 64>>>(a, n); k<<<1, n>>>(a, n);"), "k"), None);
        assert_eq!(threads(&host("k<<<1, 64>>>(a, n); t<8><<<1, n>>>(a);"), "k"), Some(64));
        assert_eq!(threads(&host("t<8><<<1, 64>>>(a); t<16><<<1, 128>>>(a);"), "t<8>"), Some(128));
        assert_eq!(threads(&host("ns::q<<<1, 64>>>(a);"), "ns::q"), Some(64));
        let text = format!(
            "{KERNELS}{}",
            host("t<8><<<1, 64>>>(a); t<16><<<1, 128>>>(a); k<<<1, 8>>>(a, n); k<<<1, 4>>>(a, n);")
        );
        let certain = |kernel: &str| launches(&text, &[]).most_certain(kernel).map(|launch| launch.threads);
        assert_eq!((certain("t<16>"), certain("k")), (Some(64), Some(8)));
        assert_eq!(threads(&host("k<<<1, 2048>>>(a, n);"), "k"), None);
        assert_eq!(threads(&host("other<<<1, 64>>>(a, n);"), "other"), None);
    }

    #[test]
    fn launches_in_rust_code_count_too() {
        let file = SourceFile::from_text("a.rs", "f.launch(cfg)");
        let span = || Span::new(&file, 0..13);
        let rust = |block| RustLaunch {
            kernel: "k".to_string(),
            block,
            dynamic_shared: DynamicShared::Bytes(0),
            loaded_at: span(),
            span: span(),
        };
        let largest = |blocks: &[Option<[u32; 3]>]| {
            let mut launches = launches(&format!("{KERNELS}void h(float* a) {{ k<<<1, 64>>>(a, 1); }}"), &[]);
            blocks.iter().for_each(|block| launches.add(&rust(*block)));
            (launches.largest("k").map(|launch| launch.threads), launches.axes("k"))
        };
        assert_eq!(largest(&[Some([128, 1, 1])]), (Some(128), Some(1)));
        assert_eq!(largest(&[Some([8, 4, 1]), Some([1, 1, 2])]), (Some(64), Some(3)));
        for unknown in [None, Some([2048, 1, 1]), Some([0, 1, 1]), Some([u32::MAX, 2, 1])] {
            assert_eq!(largest(&[unknown]).0, None);
        }
    }

    #[test]
    fn shared_memory_of_launches_is_counted() {
        for (calls, expected) in [
            ("k<<<1, 64>>>(a, n);", Some(0)),
            ("k<<<1, 64, 0, stream>>>(a, n);", Some(0)),
            ("k<<<1, 64, BLOCK * 4>>>(a, n);", Some(1024)),
            ("const int bytes = kThreads * 4; k<<<1, n, bytes>>>(a, n); k<<<1, 64>>>(a, n);", Some(512)),
            ("k<<<1, 64, n * sizeof(float)>>>(a, n); k<<<1, 64, 4096>>>(a, n);", None),
            ("t<8><<<1, 64, n>>>(a);", Some(0)),
            ("", Some(0)),
        ] {
            let host = format!("{KERNELS}void h(float* a, int n) {{ {calls} }}");
            assert_eq!(launches(&host, &[]).dynamic_shared("k"), expected, "{calls}");
        }
        let text = format!("{KERNELS}void h(float* a, int n) {{ t<8><<<1, 64, n>>>(a); }}");
        assert_eq!(launches(&text, &[]).dynamic_shared("t<16>"), None);
    }

    #[test]
    fn launches_that_name_the_kernel_elsewhere_may_add_any_shared_memory() {
        for (more, expected) in [
            ("cudaLaunchKernel((const void*)k, dim3(1), dim3(64), args, 4096, 0);", Some(4096)),
            ("cudaLaunchKernel((const void*)k, dim3(1), dim3(64), args);", Some(0)),
            ("cudaLaunchCooperativeKernel(k, 1, 64, args, 0, 0);", Some(0)),
            ("const size_t limit = 44 << 10; cudaLaunchKernel((void*)k, 1, 2, args, limit, 0);", Some(45056)),
            ("size_t limit = n; cudaLaunchKernel((void*)k, 1, 2, args, limit, 0);", None),
            ("cudaLaunchKernel(choose(k), 1, 2, args, 0, 0);", None),
            ("cudaLaunchKernelEx(&config, k, a, n);", None),
            ("cudaLaunchKernelExC(&config, (const void*)k, args);", None),
            ("p.func = (void*)k; cudaGraphAddKernelNode(&node, graph, nullptr, 0, &p);", None),
            ("const Kernel all[2] = {k, other}; all[n]<<<1, 160, 45056>>>(a, n);", None),
            ("auto f = &k; f<<<1, 64>>>(a, n);", None),
            ("start<k>(a, n);", None),
            ("run(k, a);", None),
            ("cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);", None),
            ("cudaFuncSetAttribute(k, (cudaFuncAttribute)8, 65536);", None),
            ("cudaFuncSetAttribute(k, cudaFuncAttributePreferredSharedMemoryCarveout, 0);", Some(0)),
            ("cudaFuncSetCacheConfig(k, cudaFuncCachePreferL1);", Some(0)),
            ("cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, k, 64, 0);", Some(0)),
            ("printf(\"k\");", Some(0)),
            ("cuModuleGetFunction(&f, module, \"k\"); cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 45056, 0, args, 0);", None),
            ("{ float k = 1; use(k); }", Some(0)),
            ("const int count = 14; bench([&] { k<<<1, 64, count * sizeof(int)>>>(a, n); });", Some(56)),
            ("k<<<1, 64, 64 * sizeof(float4)>>>(a, n);", Some(1024)),
        ] {
            let host = format!("{KERNELS}void h(float* a, int n) {{ k<<<1, 64>>>(a, n); {more} }}");
            assert_eq!(launches(&host, &[]).dynamic_shared("k"), expected, "{more}");
            let alone = format!("{KERNELS}void h(float* a, int n) {{ {more} }}");
            assert_eq!(launches(&alone, &[]).dynamic_shared("k"), expected, "{more}");
        }
        for (macros, call, expected) in [
            ("#define LAUNCH(f, ...) f<<<1, 64, 45056>>>(__VA_ARGS__)", "LAUNCH(k, a, n);", None),
            ("#define LAUNCH(f, ...) f##_kernel<<<1, 64, 45056>>>(__VA_ARGS__)", "LAUNCH(q, a);", None),
            ("#define LAUNCH(f, ...) f##_kernel<<<1, 64>>>(__VA_ARGS__)", "LAUNCH(q, a);", Some(0)),
            ("#define LAUNCH(f, ...) f##_kernel<<<__VA_ARGS__>>>(a)", "LAUNCH(q, 1, 64);", None),
            ("#define RUN k", "RUN;", None),
            ("const int bytes = 1024;", "k<<<1, 64, bytes>>>(a, n);", Some(1024)),
            ("int bytes = 1024;", "k<<<1, 64, bytes>>>(a, n);", None),
        ] {
            let host = format!("{macros}\n{KERNELS}void h(float* a, int n) {{ {call} }}");
            assert_eq!(launches(&host, &[]).dynamic_shared("k"), expected, "{macros}");
        }
        // Of a header: its other launches are in other files, and this one counts.
        let host = "void h(float* a, int n) { in_header<<<1, 64, n>>>(a); }";
        assert_eq!(launches(host, &[]).dynamic_shared("in_header"), None);
        let launches = launches(&format!("{KERNELS}void h(float* a) {{ k<<<1, 64>>>(a, 1); }}"), &[]);
        assert!(launches.has_any("k") && !launches.has_any("t<8>"));
    }

    #[test]
    fn axes_are_counted() {
        for (block, axes, text) in
            [("64", 1, "64"), ("dim3(16, 4)", 2, "dim3(16, 4)"), ("dim3(64, 1, 1)", 1, "dim3(64, 1, 1)"), ("b", 3, "b")]
        {
            let host = format!("{KERNELS}void h(float* a, int n) {{ dim3 b(8, 1, 2); k<<<n, {block}>>>(a, n); }}");
            let launches = launches(&host, &[]);
            assert_eq!((launches.axes("k"), launches.largest("k").unwrap().block_text()), (Some(axes), text));
        }
        assert_eq!(launches(KERNELS, &[]).axes("k"), None);
    }

    #[test]
    fn other_ways_to_launch_are_seen() {
        let host = |more: &str| format!("void h(float* a, int n) {{ k<<<1, 64>>>(a, n); {more} }}");
        assert_eq!(threads(&host("cudaFuncSetAttribute(k, cudaFuncAttributeX, 1);"), "k"), Some(64));
        assert_eq!(threads(&host("cudaFuncSetAttribute((const void*)k, cudaFuncAttributeX, 1);"), "k"), Some(64));
        for more in [
            "cudaLaunchKernel((void*)k, 1, 2, 0, 0, 0);",
            "auto f = k;",
            "auto f = &k;",
            "run(k, a);",
            "Table t[] = {k};",
        ] {
            assert_eq!(threads(&host(more), "k"), None, "{more}");
        }
        assert_eq!(threads(&format!("#define LAUNCH(f) f<<<1, 512>>>\n{}", host("LAUNCH(k)(a, n);")), "k"), None);
        assert_eq!(threads(&format!("#define RUN start(k)\n{}", host("RUN;")), "k"), None);
    }

    #[test]
    fn what_flags_define_counts_where_the_text_does_not() {
        let text = format!("{KERNELS}void h(float* a) {{ k<<<1, BLOCK>>>(a, 1); }}");
        assert_eq!(launches(&text, &["-DBLOCK=512"]).largest("k").map(|launch| launch.threads), Some(256));
        let text = text.replace("#define BLOCK 256\n", "");
        for (flags, expected) in [
            (&["-DBLOCK=512"][..], Some(512)),
            (&["-D", "BLOCK=64 * 2"], Some(128)),
            (&["-DBLOCK=(64 * 2)"], Some(128)),
            (&["-DBLOCKS=2"], None),
        ] {
            assert_eq!(launches(&text, flags).largest("k").map(|launch| launch.threads), expected, "{flags:?}");
        }
        assert_eq!(launches(&text, &["-DBLOCK=8"]).largest("k").unwrap().span.text(), "k<<<1, BLOCK>>>");
        let text = format!("#ifndef BLOCK\n#define BLOCK 128\n#endif\n{text}");
        assert!(launches(&text, &[]).largest("k").is_none());
    }

    #[test]
    fn kernels_with_a_limit_of_registers_are_known() {
        let text = "static __global__ void __maxnreg__(32) k(float* a) { a[0] = 1; }\nvoid f(float* a) { k<<<1, 1024>>>(a); }\n";
        assert_eq!(launches(text, &[]).largest("k").map(|launch| launch.threads), Some(1024));
    }

    #[test]
    fn nonsense_ends_nothing() {
        for text in
            ["k<<<", "__global__ void k() {} void h() { k<<<>>>(); k<<<1>>>(); k<<<1, >>>(); k<<<1, dim3()>>>(); }"]
        {
            assert!(launches(text, &[]).largest("k").is_none_or(|launch| launch.threads == 1), "{text}");
        }
    }
}
