//! Mutated inputs of every reader: an error or less to say, and never a panic. Lines are moved, words are replaced by words of
//! the same text, numbers by extreme ones, bytes by others: most copies keep enough of the format to get deep into it.
//!
//! Some hundred copies each take seconds. `LMEM_FUZZ_SECONDS=3600 cargo test --release --test mutated` goes on for an hour with each
//! reader; the seed of a copy that fails is printed, and `LMEM_FUZZ_SEED` starts with it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuda_syntax::SyntaxTrees;
use lmem_base::diagnostic::FlagOrigin;
use lmem_base::gpu::Arch;
use lmem_base::level::Level;
use lmem_base::source::SourceFile;
use lmem_extract::extract;
use lmem_frame::attribute;
use lmem_lints::{Levels, LintContext, UnitContext, claims, kernel_claims, known_names, option_claims};
use lmem_project::build_flags::BuildFlags;
use lmem_project::config::{PackageConfig, Table, nvcc_flags};
use lmem_project::directive::Directives;
use lmem_project::discover::{DiscoveredFile, Workspace};
use lmem_unit::{Artifacts, AsCompiled, FrontEnd, MappedText, NvccFlags, TranslationUnit, UnitCode, parse_messages};
use nv_code::{PtxModule, PtxasLog, fatbin, read_unit};

#[path = "../test-crates/harness/archive.rs"]
#[expect(dead_code, reason = "archives are only read here")]
mod archive;

/// Copies of each text, where no time is given.
const COPIES: u64 = 150;

/// Numbers that are the same in every run (xorshift, Marsaglia 2003).
struct Numbers(u64);

impl Numbers {
    /// The first number must not be zero.
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// What breaks sums, shifts, slices and nesting.
const ODD: &[&str] = &[
    "0",
    "-1",
    "255",
    "65536",
    "4294967295",
    "9223372036854775808",
    "18446744073709551616",
    "1e400",
    "0x",
    "\"",
    "'",
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    "[",
    "/*",
    "//",
    "\\",
    "#",
    "é",
    "\u{1F9E0}",
    "\0",
    "\t",
    "%",
    "$",
    "::",
    ";",
];

/// A copy with some changes, of which each leaves most of the text as it was.
fn mutated(text: &str, numbers: &mut Numbers) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    for _ in 0..1 + numbers.below(12) {
        if lines.is_empty() {
            break;
        }
        let (from, to) = (numbers.below(lines.len()), numbers.below(lines.len()));
        match numbers.below(7) {
            0 => lines.swap(from, to),
            1 => drop(lines.remove(to)),
            2 => lines.insert(to, lines[from].clone()),
            3 => lines.truncate(to.max(1)),
            4 => lines[to] = with_word(&lines[to], &lines[from].clone(), numbers),
            5 => lines[to] = with_word(&lines[to], ODD[numbers.below(ODD.len())], numbers),
            _ => lines[to] = cut(&lines[to], numbers),
        }
    }
    lines.join(if numbers.below(20) == 0 { "\r\n" } else { "\n" })
}

/// A line with one of its words replaced by one of another text.
fn with_word(line: &str, other: &str, numbers: &mut Numbers) -> String {
    let words = |text: &str| -> Vec<(usize, usize)> {
        let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '%');
        let mut found = Vec::new();
        let mut start = None;
        for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
            match (start, is_inner(c)) {
                (None, true) => start = Some(at),
                (Some(first), false) => {
                    found.push((first, at));
                    start = None;
                }
                _ => {}
            }
        }
        found
    };
    let (own, others) = (words(line), words(other));
    let new = match others.get(numbers.below(others.len())) {
        Some((start, end)) => &other[*start..*end],
        None => other,
    };
    match own.get(numbers.below(own.len())) {
        Some((start, end)) => format!("{}{new}{}", &line[..*start], &line[*end..]),
        None => format!("{line}{new}"),
    }
}

fn cut(line: &str, numbers: &mut Numbers) -> String {
    line.chars().take(numbers.below(line.chars().count())).collect()
}

/// Tries a reader on copies of texts, for a number of copies or for a time.
fn try_copies(texts: &[String], read: impl Fn(&str)) {
    try_each(texts.len(), |which, numbers| read(&mutated(&texts[which], numbers)));
}

fn try_each(count: usize, attempt: impl Fn(usize, &mut Numbers)) {
    assert!(count > 0, "there is something to change");
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let limit = number("LMEM_FUZZ_SECONDS").map(Duration::from_secs);
    let first: u64 = number("LMEM_FUZZ_SEED").unwrap_or(1);
    let start = Instant::now();
    for seed in first.. {
        if limit.map_or(seed - first >= COPIES, |limit| start.elapsed() >= limit) {
            break;
        }
        let which = (seed % count as u64) as usize;
        let result = catch_unwind(AssertUnwindSafe(|| attempt(which, &mut Numbers::new(seed))));
        assert!(result.is_ok(), "LMEM_FUZZ_SEED={seed} panics");
    }
}

/// Files of the records of a test crate with an ending, for one architecture.
fn records(name: &str, ending: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-crates").join(name).join("recorded");
    let files = archive::read(&folder).expect("the record can be read").into_iter();
    files.filter(|(name, _)| name.contains("-sm_90/") && name.ends_with(ending)).map(|(_, bytes)| bytes).collect()
}

fn texts(name: &str, ending: &str) -> Vec<String> {
    records(name, ending).into_iter().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

fn sources(folder: &str, ending: &str) -> Vec<String> {
    let walk = walkdir::WalkDir::new(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).sort_by_file_name();
    let files = walk.into_iter().filter_map(Result::ok).map(walkdir::DirEntry::into_path);
    files
        .filter(|path| path.extension().is_some_and(|it| it == ending))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect()
}

#[test]
fn ptx() {
    try_copies(&texts("seeds", ".ptx"), |text| drop(PtxModule::parse(text)));
}

#[test]
fn logs_of_ptxas() {
    let entries = texts("register_spill", ".json");
    let logs = entries.iter().map(|text| {
        let entry: serde_json::Value = serde_json::from_str(text).unwrap();
        let lines = entry["log"].as_array().unwrap().iter().filter_map(serde_json::Value::as_str);
        lines.collect::<Vec<_>>().join("\n")
    });
    try_copies(&logs.collect::<Vec<_>>(), |text| {
        drop(PtxasLog::parse(text));
        drop(parse_messages(text, "nvcc"));
    });
}

/// The PTX and the cubin are as they were, so that all that follows from the source is looked for in another.
#[test]
fn sources_that_are_not_what_was_compiled() {
    let (cubins, ptx) = (records("dynamic_index", ".cubin"), texts("dynamic_index", ".ptx"));
    let sources = sources("test-crates/dynamic_index/kernels", "cu");
    assert_eq!((cubins.len(), ptx.len()), (sources.len(), sources.len()));
    try_each(sources.len(), |which, numbers| {
        let (cubin, ptx) = (&cubins[which], &ptx[which]);
        let source = mutated(&sources[which], numbers);
        let compiled = AsCompiled::of_text("kernels/a.cu", &source, &[]);
        examine(cubin, ptx, &source, compiled);
    });
}

/// All stages behind the compilers.
fn examine(cubin: &[u8], ptx: &str, source: &str, as_compiled: AsCompiled) {
    let arch = Arch::new(90);
    let facts = read_unit(cubin, ptx, "", arch, true).expect("it is as it was");
    let folder = PathBuf::from("/nowhere");
    let artifacts =
        Artifacts { architecture: "sm_90".into(), folder: folder.clone(), as_compiled, ..Artifacts::default() };
    let flags = NvccFlags::new(Vec::new(), FlagOrigin::Assumed);
    let code = UnitCode::CudaFile { file: SourceFile::from_text("kernels/a.cu", source), flags };
    let name = "kernels/a.cu".into();
    let unit = TranslationUnit {
        name,
        package: None,
        base: folder.clone(),
        code,
        use_site: None,
        included_at: None,
        launches: Vec::new(),
    };
    let trees = SyntaxTrees::new(&unit, &artifacts, &folder);
    let about = UnitContext::new(&unit, &artifacts, &facts, &trees, &[], None);
    let mut levels = Levels::default();
    known_names().into_iter().for_each(|name| levels.set(name, Level::Warn));
    drop(option_claims(&about));
    for frame in attribute(&trees, &facts, &artifacts, None) {
        let cx = LintContext { unit: &about, frame: &frame, arch, has_spill_marks: true };
        drop((claims(&cx), kernel_claims(&cx)));
    }
}

#[test]
fn fatbins() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-crates/machine_code/images/all.fatbin");
    let whole = std::fs::read(path).unwrap();
    try_each(1, |_, numbers| {
        let mut copy = whole.clone();
        for _ in 0..1 + numbers.below(8) {
            // Headers of entries are aligned to eight bytes; so are the numbers that matter.
            let at = numbers.below(copy.len() / 8) * 8 + numbers.below(8);
            copy[at] = [0, 1, 0x7f, 0x80, 0xff, numbers.below(256) as u8][numbers.below(6)];
        }
        copy.truncate(if numbers.below(4) == 0 { numbers.below(whole.len()) } else { whole.len() });
        drop(fatbin::entries(&copy));
    });
}

const FRONT_END: &str = "typedef struct __half2 half2;\n# 3 \"t.cu\"\nstruct _Z4RingIfLi32EE {\n# 3 \"t.cu\"\nfloat slot[32];\n# 3 \"t.cu\"\n\
    int head;};\nstruct Der { const long *__vptr; struct Base __b_4Base;\nunsigned int a: 3;\nunion  {\nfloat u;\nint n[2];};};\n\
    # 7 \"t.cu\"\n__global__ __var_used__ void _Z4meanIfLi32EEvPKT_PS0_i(\n# 7 \"t.cu\"\nconst float *in, \nint n){\n{\n# 8 \"t.cu\"\n \
    float __cuda_local_var_42206_5_non_const_window[32];\n# 9 \"t.cu\"\n struct _Z4RingIfLi32EE __cuda_local_var_42207_14_non_const_ring;\n \
    int (*__cuda_local_var_42202_63_non_const_pa)[4];\n}}\n";

const PREPROCESSED: &str = "# 1 \"a.cu\"\n# 1 \"<built-in>\" 1\n# 1 \"b.cuh\" 1 3\nconstexpr int N = 4;\n# 2 \"a.cu\" 2\n\n\
    __global__ void k(int *p) {\n    int a[4];\n#pragma unroll\n    for (int i = 0; i < 4; ++i) a[i] = p[i];\n# 9 \"a.cu\"\n    p[0] = a[p[1]];\n}\n";

const OWN: &str = "#include \"b.cuh\"\n#define ALL(x) for (int i = 0; i < N; ++i) x\n__global__ void k(int *p) {\n    int a[N];\n#pragma unroll\n\
    ALL(a[i] = p[i];)\n#if N > 3 && defined(ALL)\n    p[0] = a[p[1]];\n#else\n    p[0] = 0;\n#endif\n}\n";

#[test]
fn text_of_the_front_end() {
    try_copies(&[FRONT_END.to_string()], |text| drop(FrontEnd::parse(text)));
}

#[test]
fn preprocessed_text() {
    try_copies(&[PREPROCESSED.to_string()], |text| {
        drop(AsCompiled::new(text, Path::new("/nowhere"), &|_| true, &|_| Some(OWN.to_string())));
    });
    try_copies(&[OWN.to_string()], |text| drop(AsCompiled::of_text("a.cu", text, &["-DN=4".to_string()])));
}

#[test]
fn directives() {
    let texts = sources("test-crates/suppressed", "cu");
    try_copies(&texts, |text| {
        let file = SourceFile::from_text("a.cu", text);
        let mut directives = Directives::default();
        directives.read(&MappedText::from_file(&file), &known_names());
        directives.read_rust(&file, &lmem_lints::names_with_levels());
        drop((directives.errors().to_vec(), directives.unused()));
    });
}

/// Literals, macros and calls of Rust code, and what they give.
#[test]
fn rust_code() {
    let texts = ["rust_strings", "rust_apis", "rust_folding"].map(|name| sources(&format!("test-crates/{name}"), "rs"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lib.rs");
    try_copies(&texts.concat(), |text| {
        std::fs::write(&path, text).unwrap();
        let file = DiscoveredFile { path: path.clone(), package: None, config: Arc::default(), explicit: true };
        let workspace = Workspace { root: folder.path().to_path_buf(), files: vec![file], ..Workspace::default() };
        drop(extract(&workspace, &BuildFlags::default()));
    });
}

#[test]
fn settings() {
    let text = r#"{"lmem": {
"arch": ["sm_90", "sm_80"],
"flags": ["-O3", "-Xptxas", "-v", "-DN=4", "--maxrregcount=32"],
"exclude": ["kernels/old/**"],
"include-dirs": ["include"],
"defines": ["N=4"],
"lints": {"dynamic_index": "deny", "printf_buffer": {"level": "warn"}},
"file": [{"path": "kernels/*.cu", "flags": ["-G"]}]
}}"#;
    try_copies(&[text.to_string()], |text| {
        if let Ok(value) = serde_json::from_str(text)
            && let Ok(config) = PackageConfig::read(Path::new("/nowhere/Cargo.toml"), Table::Package, &value)
        {
            drop(config.validate_lints(&known_names()));
        }
        let words: Vec<String> = text.split([' ', ',', '"']).map(str::to_string).collect();
        drop(nvcc_flags::allowed(&words, Path::new("/nowhere")));
        drop(nvcc_flags::check_defines(&words));
    });
}

/// A copy of bytes with some of them replaced, mostly by extreme ones.
fn mutated_bytes(whole: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut copy = whole.to_vec();
    for _ in 0..1 + numbers.below(12) {
        let at = numbers.below(copy.len());
        let byte = [0, 1, 0x7f, 0x80, 0xff, numbers.below(256) as u8][numbers.below(6)];
        copy.get_mut(at).into_iter().for_each(|it| *it = byte);
    }
    copy.truncate(if numbers.below(6) == 0 { numbers.below(copy.len()) } else { copy.len() });
    copy
}

/// Sections of recorded cubins whose names start in one of some ways.
fn sections(starts: &[&str]) -> Vec<Vec<u8>> {
    use object::{Object, ObjectSection};
    let mut found = Vec::new();
    for cubin in records("register_spill", ".cubin").iter().chain(&records("seeds", ".cubin")) {
        let file = object::File::parse(cubin.as_slice()).expect("a record is whole");
        let is_chosen = |name: &str| starts.iter().any(|start| name.starts_with(start));
        let chosen = file.sections().filter(|section| section.name().is_ok_and(is_chosen));
        found.extend(chosen.filter_map(|section| Some(section.data().ok()?.to_vec())));
    }
    found
}

#[test]
fn machine_instructions() {
    let sections = sections(&[".text."]);
    try_each(sections.len(), |which, numbers| {
        let code = mutated_bytes(&sections[which], numbers);
        let arch = Arch::new([50, 75, 80, 90, 100, 120][numbers.below(6)]);
        let function = nv_code::SassFunction::new(&code, arch);
        let entry = numbers.below(code.len().max(1)) as u32;
        let whole = 0..u32::try_from(code.len()).unwrap_or(u32::MAX);
        drop((function.local_instructions(), function.loops([0, entry]), function.writes()));
        let _ = (function.opcodes().count(), function.calls().count(), function.calls_through_pointers().count());
        let _ = (function.stack_alignment(whole.clone()), function.stack_decrement(whole.clone()));
        let _ = (function.stack_rounding(whole.clone()), function.moves_stack_pointer(whole));
    });
}

#[test]
fn line_programs() {
    let sections = sections(&[".debug_line", ".nv_debug_line_sass"]);
    try_each(sections.len(), |which, numbers| {
        drop(nv_code::LineTable::parse(&mutated_bytes(&sections[which], numbers)));
    });
}

const BASELINE: &str = "{\"cargo-lmem-baseline\":1}\n\
{\"lint\":\"dynamic_index\",\"file\":\"kernels/a.cu\",\"kernel\":\"k\",\"variable\":\"a\",\"bytes\":{\"sm_90\":64}}\n\
{\"lint\":\"register_spill\",\"file\":\"kernels/a.cu\",\"kernel\":\"k\",\"variable\":null,\"bytes\":{\"sm_90\":12,\"sm_80\":8}}\n";

#[test]
fn baselines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lmem-baseline.json");
    try_copies(&[BASELINE.to_string()], |text| {
        std::fs::write(&path, text).unwrap();
        drop(cargo_lmem::gate::Baseline::read(&path));
    });
}

const COMMANDS: &str = "[\n{\"directory\": \"/nowhere/build\",\n\"command\": \"nvcc -O3 -I../include -DN=4 \\\"-DM=a b\\\" \
-gencode arch=compute_90,code=sm_90 -x cu -c ../a.cu -o a.o\",\n\"file\": \"../a.cu\"},\n{\"directory\": \".\",\n\
\"arguments\": [\"clang++\", \"--cuda-gpu-arch=sm_80\", \"-isystem\", \"x\",\n\"@flags.rsp\", \"--options-file\", \"flags.rsp\", \"b.cu\"],\n\
\"file\": \"b.cu\", \"output\": \"b.o\"}\n]\n";

const SETTINGS: &str = "arch = [\"sm_90\", \"sm_80\"]\nflags = [\"-O3\", \"-DN=4\"]\nexclude = [\"old/**\"]\n\
include-dirs = [\"include\"]\n[lints]\ndynamic_index = \"deny\"\n[[file]]\npath = \"k/*.cu\"\nflags = [\"-G\"]\n\
[[budget]]\nkernel = \"k*\"\nstack = 0\nregisters = 64\n";

/// Databases of commands, with response files, and files of settings, as a workspace has them.
#[test]
fn commands_and_settings_of_a_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    std::fs::create_dir(root.join("build")).unwrap();
    std::fs::write(root.join("a.cu"), "").unwrap();
    std::fs::write(root.join("build/flags.rsp"), "-DX=1 @flags.rsp").unwrap();
    let file = |config| DiscoveredFile { path: root.join("a.cu"), package: None, config, explicit: true };
    try_copies(&[COMMANDS.to_string()], |text| {
        std::fs::write(root.join("build/compile_commands.json"), text).unwrap();
        let files = vec![file(Arc::default())];
        let build_folders = vec![root.join("build")];
        let workspace = Workspace { root: root.clone(), files, build_folders, ..Workspace::default() };
        drop(lmem_project::build_flags::known(&workspace, None));
    });
    try_copies(&[SETTINGS.to_string()], |text| {
        let path = root.join("lmem.toml");
        std::fs::write(&path, text).unwrap();
        if let Ok(config) = PackageConfig::read_file(&path) {
            drop((config.validate_lints(&known_names()), config.is_excluded(&root.join("a.cu"))));
        }
    });
}
