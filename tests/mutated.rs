//! Mutated inputs of every reader: an error or less to say, and never a panic. Lines are moved, words are replaced by words of
//! the same text, numbers by extreme ones, bytes by others: most copies keep enough of the format to get deep into it.
//!
//! The readers are those that `fuzz/` tries without end; here each gets some hundred copies, in seconds, and every input that once
//! went wrong. `LMEM_FUZZ_SECONDS=3600 cargo test --release --test mutated` goes on for an hour with each reader where there is no
//! fuzzer; the seed of a copy that fails is printed, and `LMEM_FUZZ_SEED` starts with it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

#[path = "../test-crates/harness/archive.rs"]
#[expect(dead_code, reason = "archives are only read here")]
mod archive;

#[path = "../fuzz/src/lib.rs"]
mod readers;

use readers::READERS;

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

fn reader(name: &str) -> fn(&[u8]) {
    READERS.iter().find(|(known, _)| *known == name).expect("it is among the readers").1
}

/// Tries a reader on inputs as they are, then on copies of them, for a number of copies or for a time.
fn try_copies(name: &str, inputs: &[Vec<u8>]) {
    let read = reader(name);
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    assert!(!inputs.is_empty(), "there is something to change");
    inputs.iter().for_each(|input| read(input));
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let limit = number("LMEM_FUZZ_SECONDS").map(Duration::from_secs);
    let first: u64 = number("LMEM_FUZZ_SEED").unwrap_or(1);
    let start = Instant::now();
    for seed in first.. {
        if limit.map_or(seed - first >= COPIES, |limit| start.elapsed() >= limit) {
            break;
        }
        let numbers = &mut Numbers::new(seed);
        let whole = inputs[(seed % inputs.len() as u64) as usize];
        let copy = match std::str::from_utf8(whole) {
            Ok(text) => mutated(text, numbers).into_bytes(),
            Err(_) => mutated_bytes(whole, numbers),
        };
        let result = catch_unwind(AssertUnwindSafe(|| read(&copy)));
        assert!(result.is_ok(), "LMEM_FUZZ_SEED={seed} panics");
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files of the records of a test crate with an ending, for one architecture.
fn records(name: &str, ending: &str) -> Vec<Vec<u8>> {
    let folder = root().join("test-crates").join(name).join("recorded");
    let files = archive::read(&folder).expect("the record can be read").into_iter();
    files.filter(|(name, _)| name.contains("-sm_90/") && name.ends_with(ending)).map(|(_, bytes)| bytes).collect()
}

/// The files below a folder with an ending.
fn files(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let walk = walkdir::WalkDir::new(root().join(folder)).sort_by_file_name();
    let paths = walk.into_iter().filter_map(Result::ok).map(walkdir::DirEntry::into_path);
    let chosen = paths.filter(|path| path.is_file() && path.to_string_lossy().ends_with(ending));
    chosen.map(|path| std::fs::read(path).unwrap()).collect()
}

/// Texts that are on record nowhere; the corpora of `fuzz/` begin with them too.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    files(&format!("fuzz/seeds/{name}"), "")
}

fn images() -> Vec<Vec<u8>> {
    files("test-crates/machine_code/images", ".cubin")
}

#[test]
fn ptx() {
    try_copies("ptx", &records("seeds", ".ptx"));
}

#[test]
fn executed_ptx() {
    try_copies("ptx_machine", &records("seeds", ".ptx"));
}

#[test]
fn logs_of_ptxas() {
    let entries = records("register_spill", ".json");
    let logs = entries.iter().map(|bytes| {
        let entry: serde_json::Value = serde_json::from_slice(bytes).unwrap();
        let lines = entry["log"].as_array().unwrap().iter().filter_map(serde_json::Value::as_str);
        lines.collect::<Vec<_>>().join("\n").into_bytes()
    });
    try_copies("ptxas_log", &logs.collect::<Vec<_>>());
}

#[test]
fn cubins() {
    try_copies("cubin", &images());
    try_copies("cubin_sections", &images());
}

#[test]
fn fatbins() {
    try_copies("fatbin", &files("test-crates/machine_code/images", ".fatbin"));
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
    let of_each = |code: Vec<u8>| (0..6).map(move |arch| [&[arch], code.as_slice()].concat());
    try_copies("instructions", &sections(&[".text."]).into_iter().flat_map(of_each).collect::<Vec<_>>());
}

#[test]
fn line_programs() {
    try_copies("line_program", &sections(&[".debug_line", ".nv_debug_line_sass"]));
}

/// The cubin is as it was, so that all that follows from the source is looked for in another.
#[test]
fn sources_that_are_not_what_was_compiled() {
    try_copies("cuda", &files("test-crates/machine_code/device", ".cu"));
    try_copies("cuda", &files("test-crates/dynamic_index/kernels", ".cu"));
}

#[test]
fn text_of_the_front_end() {
    try_copies("front_end", &seeds("front_end"));
}

#[test]
fn preprocessed_text() {
    try_copies("preprocessed", &seeds("preprocessed"));
}

#[test]
fn directives() {
    try_copies("directives", &files("test-crates/suppressed", ".cu"));
}

/// Literals, macros and calls of Rust code, and what they give.
#[test]
fn rust_code() {
    let crates = ["rust_strings", "rust_apis", "rust_folding"];
    try_copies("rust", &crates.map(|name| files(&format!("test-crates/{name}"), ".rs")).concat());
}

#[test]
fn settings() {
    try_copies("settings", &seeds("settings"));
    try_copies("metadata", &seeds("metadata"));
}

#[test]
fn commands_of_builds() {
    try_copies("commands", &seeds("commands"));
}

#[test]
fn baselines() {
    try_copies("baseline", &seeds("baseline"));
}

#[test]
fn entries_of_the_cache() {
    try_copies("cache_entry", &seeds("cache_entry"));
}

#[test]
fn records_of_nvrtc() {
    try_copies("nvrtc_record", &seeds("nvrtc_record"));
}

/// What fuzzing found, by the name of the reader.
#[test]
fn regressions() {
    for (name, read) in READERS {
        for (number, input) in files(&format!("fuzz/regressions/{name}"), "").iter().enumerate() {
            let result = catch_unwind(AssertUnwindSafe(|| read(input)));
            assert!(result.is_ok(), "{name}: number {number} panics");
        }
    }
}

/// Each reader is a target of the fuzzer, under its name.
#[test]
fn every_reader_is_fuzzed() {
    let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    for (name, _) in READERS {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name} is not in `fuzz/Cargo.toml`");
        assert!(root().join(format!("fuzz/fuzz_targets/{name}.rs")).is_file(), "{name} has no target");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), READERS.len());
}
