//! Correct edits, and edits made wrong on purpose, in `edits/*.cu`; the macro `V` selects the version, 0 is the
//! original.
//!
//! `// right: 1 2` and `// wrong: 51 52` name the versions, `// missed: 53` wrong ones that no launch shows yet, and
//! `// inner: 4` the length of the shortest array within a structure or an array, which the tool knows from the types.
//! Parameters overlap in some launches of kernels without `__restrict__`. The PTX of all is recorded
//! (`edits/ptx.tar.xz`), so no toolkit is needed; `LMEM_NVCC=path/to/nvcc cargo test -p lmem-compare --test edits` records
//! it again, with `LMEM_FAMILIES=ring,table` only that of some.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use lmem_base::diagnostic::Comparison;
use lmem_compare::{Terms, Versions};
use lzma_rust2::{XzOptions, XzReader, XzWriter};

/// Families whose edits rely on a block size.
const THREADS: [(&str, u32); 6] = [
    ("histogram", 128),
    ("shared_rows", 128),
    ("hidden_level", 256),
    ("hidden_range", 256),
    ("colors", 256),
    ("rows_in_place", 256),
];

/// A kernel with its edits.
struct Family {
    name: String,
    file: PathBuf,
    right: Vec<u32>,
    wrong: Vec<u32>,
    /// Wrong, and known to seem right.
    missed: Vec<u32>,
    inner_length: Option<u32>,
    may_alias: bool,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/edits")
}

fn families() -> Vec<Family> {
    let files = fs_err::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut families: Vec<Family> =
        files.filter(|path| path.extension().is_some_and(|it| it == "cu")).map(family).collect();
    families.sort_by(|a, b| a.name.cmp(&b.name));
    families
}

fn family(file: PathBuf) -> Family {
    let text = fs_err::read_to_string(&file).unwrap();
    let numbers = |start: &str| -> Vec<u32> {
        let line = text.lines().find_map(|line| line.strip_prefix(start)).unwrap_or_default();
        line.split_whitespace().map(|number| number.parse().unwrap()).collect()
    };
    Family {
        name: file.file_stem().unwrap().to_string_lossy().into_owned(),
        right: numbers("// right:"),
        wrong: numbers("// wrong:"),
        missed: numbers("// missed:"),
        inner_length: numbers("// inner:").first().copied(),
        may_alias: !text.contains("restrict"),
        file,
    }
}

/// PTX by `family.version`.
fn record(families: &[Family]) -> BTreeMap<String, String> {
    let path = folder().join("ptx.tar.xz");
    if let Some(nvcc) = std::env::var_os("LMEM_NVCC") {
        let named = std::env::var("LMEM_FAMILIES").unwrap_or_default();
        let known = if named.is_empty() { BTreeMap::new() } else { unpacked(&path) };
        let mut archive = tar::Builder::new(XzWriter::new(Vec::new(), XzOptions::with_preset(6)).unwrap());
        for family in families {
            for version in [0].iter().chain(&family.right).chain(&family.wrong).chain(&family.missed) {
                let name = format!("{}.{version}", family.name);
                let is_named = named.split(',').any(|it| it == family.name);
                let ptx = match known.get(&name).filter(|_| !is_named) {
                    Some(known) => known.clone(),
                    None => compiled(&nvcc, &family.file, *version),
                };
                let mut header = tar::Header::new_gnu();
                header.set_size(ptx.len() as u64);
                header.set_mode(0o644);
                archive.append_data(&mut header, name, ptx.as_bytes()).unwrap();
            }
        }
        let mut packed = archive.into_inner().unwrap();
        packed.flush().unwrap();
        fs_err::write(&path, packed.finish().unwrap()).unwrap();
    }
    unpacked(&path)
}

fn unpacked(path: &Path) -> BTreeMap<String, String> {
    let packed = fs_err::read(path).unwrap();
    let mut archive = tar::Archive::new(XzReader::new(packed.as_slice(), false));
    let mut all = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_string_lossy().into_owned();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        all.insert(name, text);
    }
    all
}

fn compiled(nvcc: &std::ffi::OsStr, file: &Path, version: u32) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.ptx");
    let status = Command::new(nvcc)
        .args(["-ptx", "-arch=sm_90", &format!("-DV={version}"), "-o"])
        .args([output.as_path(), file])
        .status()
        .unwrap();
    assert!(status.success(), "{} {version}", file.display());
    let text = fs_err::read_to_string(output).unwrap();
    let kept = text.lines().filter(|line| !line.starts_with("//") && !line.trim().is_empty());
    kept.map(|line| format!("{line}\n")).collect()
}

fn results(record: &BTreeMap<String, String>, family: &Family, version: u32) -> Comparison {
    let ptx = |version: u32| record.get(&format!("{}.{version}", family.name)).expect("the version is on record");
    let threads = THREADS.iter().find(|(name, _)| *name == family.name).map(|(_, threads)| *threads);
    let versions = Versions::new(ptx(0), ptx(version)).unwrap();
    versions
        .compare(&family.name, Terms { threads, inner_length: family.inner_length, may_alias: family.may_alias })
        .results
}

#[test]
fn wrong_edits_are_refuted_and_right_ones_are_not() {
    let families = families();
    let record = record(&families);
    // Each family takes a while, and none needs another.
    let next = AtomicUsize::new(0);
    let some = || {
        let mine = std::iter::from_fn(|| families.get(next.fetch_add(1, Ordering::Relaxed)));
        mine.flat_map(|family| problems_of(family, &record)).collect::<Vec<String>>()
    };
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut problems: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(some)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    problems.sort();
    let [right, wrong]: [usize; 2] = [|family: &Family| family.right.len(), |family: &Family| family.wrong.len()]
        .map(|count| families.iter().map(count).sum());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(right >= 100 && wrong >= 160, "{right} right, {wrong} wrong");
}

fn problems_of(family: &Family, record: &BTreeMap<String, String>) -> Vec<String> {
    let mut problems = Vec::new();
    for version in &family.right {
        match results(record, family, *version) {
            Comparison::Same { launches: 4.. } | Comparison::LastDigits { .. } => {}
            // Both versions may compile to the same code.
            Comparison::Unchanged => {}
            other => problems.push(format!("right, but not to us: {} {version}: {other}", family.name)),
        }
    }
    for version in &family.missed {
        if let Comparison::Different { .. } = results(record, family, *version) {
            problems.push(format!("no longer missed: {} {version}", family.name));
        }
    }
    for version in &family.wrong {
        match results(record, family, *version) {
            Comparison::Different { .. } => {}
            other => problems.push(format!("wrong, but not to us: {} {version}: {other}", family.name)),
        }
    }
    problems
}

#[test]
fn results_are_the_same_each_time() {
    let families = families();
    let record = record(&families);
    for family in families.iter().take(4) {
        let once = results(&record, family, family.right[0]);
        assert_eq!(once, results(&record, family, family.right[0]), "{}", family.name);
    }
}
