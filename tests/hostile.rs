//! Broken cubins, PTX, logs and cache entries: an error or less to say, and never a panic.

use std::path::Path;

use cuda_syntax::SyntaxTrees;
use lmem_base::diagnostic::FlagOrigin;
use lmem_base::gpu::Arch;
use lmem_base::source::SourceFile;
use lmem_frame::attribute;
use lmem_lints::{LintContext, UnitContext, claims, kernel_claims, option_claims};
use lmem_unit::{Artifacts, NvccFlags, TranslationUnit, UnitCode, parse_messages};
use nv_code::{read_machine_code, read_unit};

/// Changed copies of each record; enough to reach every table, and done in seconds.
const COPIES: usize = 40;

/// Numbers that are the same in every run (xorshift, Marsaglia 2003).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

#[path = "../test-crates/harness/archive.rs"]
#[expect(dead_code, reason = "archives are only read here")]
mod archive;

/// Cubins of records, and the PTX of each.
fn records() -> Vec<(Vec<u8>, String)> {
    let mut found = Vec::new();
    for name in ["seeds", "register_spill", "address_escape"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-crates").join(name).join("recorded");
        let files = archive::read(&folder).expect("the record can be read");
        for (name, cubin) in files.iter().filter(|(name, _)| name.starts_with("13.5-sm_90/")) {
            let Some(stem) = name.strip_suffix(".cubin") else { continue };
            found.push((cubin.clone(), String::from_utf8_lossy(&files[&format!("{stem}.ptx")]).into_owned()));
        }
    }
    assert!(!found.is_empty(), "there are no records");
    found
}

fn unit() -> TranslationUnit {
    let flags = NvccFlags::new(Vec::new(), FlagOrigin::Assumed);
    let file = SourceFile::from_text("a.cu", "__global__ void k(int* p) { int a[4]; a[p[0]] = 1; }\n");
    let code = UnitCode::CudaFile { file, flags };
    TranslationUnit {
        name: "a.cu".into(),
        package: None,
        base: "/nowhere".into(),
        code,
        use_site: None,
        included_at: None,
        launches: Vec::new(),
        shared: Vec::new(),
    }
}

/// The stages behind the compilers, on whatever they are given.
fn examine(cubin: &[u8], ptx: &str) {
    let Ok(facts) = read_unit(cubin, ptx, "", Arch::new(90), true) else { return };
    let artifacts = Artifacts { architecture: "sm_90".into(), folder: "/nowhere".into(), ..Default::default() };
    let unit = unit();
    let trees = SyntaxTrees::new(&unit, &artifacts, Path::new("/nowhere"));
    let about = UnitContext::new(&unit, &artifacts, &facts, &trees, &[], Some((32, "-maxrregcount=32".into())));
    drop(option_claims(&about));
    for frame in attribute(&trees, &facts, &artifacts, None) {
        assert_eq!(frame.objects.iter().map(|object| object.bytes).sum::<u64>(), frame.usage.stack_frame);
        let cx = LintContext { unit: &about, frame: &frame, arch: Arch::new(90), has_spill_marks: true };
        drop((claims(&cx), kernel_claims(&cx)));
    }
}

#[test]
fn broken_cubins_are_no_panic() {
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    for (whole, ptx) in records() {
        examine(&whole, &ptx);
        for _ in 0..COPIES {
            let mut copy = whole.clone();
            copy.truncate(if numbers.below(4) == 0 { numbers.below(whole.len()) } else { whole.len() });
            for _ in 0..numbers.below(30) {
                // Headers and tables lie at both ends; code between them is only numbers.
                let region = if numbers.below(2) == 0 { copy.len().min(4096) } else { copy.len() };
                let at = numbers.below(region);
                if let Some(byte) = copy.get_mut(at) {
                    *byte = numbers.below(256) as u8;
                }
            }
            examine(&copy, &ptx);
            examine_alone(&copy);
        }
    }
}

/// The same of a cubin alone.
fn examine_alone(cubin: &[u8]) {
    let here = |name: &str, _: &std::collections::BTreeSet<u32>| Some(name.to_string());
    let Ok(facts) = read_machine_code(cubin, Arch::new(90), true, &here) else { return };
    let artifacts = Artifacts { architecture: "sm_90".into(), folder: "/nowhere".into(), ..Default::default() };
    let unit = unit();
    let trees = SyntaxTrees::new(&unit, &artifacts, Path::new("/nowhere"));
    for frame in attribute(&trees, &facts, &artifacts, None) {
        assert_eq!(frame.objects.iter().map(|object| object.bytes).sum::<u64>(), frame.usage.stack_frame);
    }
}

#[test]
fn broken_ptx_is_no_panic() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for (cubin, whole) in records() {
        let lines: Vec<&str> = whole.lines().collect();
        for _ in 0..COPIES / 5 {
            let mut copy = lines.clone();
            for _ in 0..numbers.below(40) {
                let (from, to) = (numbers.below(copy.len()), numbers.below(copy.len()));
                match numbers.below(3) {
                    0 => copy.swap(from, to),
                    1 => copy[to] = &copy[from][..copy[from].len() / 2],
                    _ => drop(copy.remove(to)),
                }
            }
            examine(&cubin, &copy.join("\n"));
        }
    }
}

#[test]
fn broken_messages_are_no_panic() {
    let text = "err.cu(4): error: identifier \"u\" is undefined\n   int y = u + 2;\n           ^\n\nptxas a, line 3; error   : x\n";
    for start in 0..text.len() {
        for end in start..text.len() {
            drop(parse_messages(&text[start..end], "nvcc"));
        }
    }
}

/// Runs the program on one file of machine code: exit code and all that it says.
fn run_on(name: &str, bytes: &[u8]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), bytes).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_cargo-lmem"))
        .args(["lmem", "--offline", "--no-cache", name])
        .current_dir(folder.path())
        .env("CARGO_LMEM_CACHE_DIR", folder.path())
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), text)
}

fn image(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-crates/machine_code/images");
    std::fs::read(folder.join(name)).unwrap()
}

#[test]
fn broken_machine_code_fails_and_is_named() {
    let (cubin, fatbin) = (image("plain.cubin"), image("all.fatbin"));
    for (name, bytes) in [
        ("empty.cubin", &b""[..]),
        ("text.cubin", b"no machine code"),
        ("cut.cubin", &cubin[..cubin.len() / 2]),
        ("header.cubin", &cubin[..40]),
        ("host.cubin", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0"),
        ("empty.fatbin", b""),
        ("cut.fatbin", &fatbin[..fatbin.len() / 2]),
        ("header.fatbin", &fatbin[..12]),
        ("no_entries.fatbin", &[&fatbin[..8], &[0; 8]].concat()),
    ] {
        let (code, text) = run_on(name, bytes);
        assert_eq!(code, Some(4), "{name}: {text}");
        assert!(text.contains(&format!("`{name}`")) && !text.contains("panicked"), "{name}: {text}");
    }
}

#[test]
fn changed_machine_code_is_no_panic() {
    let mut numbers = Numbers(0x1234_5678_9abc_def1);
    for name in ["lines.cubin", "all.fatbin"] {
        let whole = image(name);
        for _ in 0..COPIES / 2 {
            let mut copy = whole.clone();
            for _ in 0..1 + numbers.below(20) {
                let region = if numbers.below(2) == 0 { copy.len().min(4096) } else { copy.len() };
                let at = numbers.below(region);
                copy[at] = numbers.below(256) as u8;
            }
            let (code, text) = run_on(name, &copy);
            assert!(matches!(code, Some(0 | 3 | 4)) && !text.contains("panicked"), "{code:?}: {text}");
        }
    }
}
