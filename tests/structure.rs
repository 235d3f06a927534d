//! The structure of the code: crates depend downwards only, as `src/README.md` draws them; inside each, so do its modules. Only some
//! rooms touch the world, and nothing is left half done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Modules of a crate, by name, with the modules that they use.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Where files and folders are read and written, and programs started: invariant 1 of `src/README.md`.
const ROOMS: &[&str] = &[
    "crates/cuda-toolkit/src/",
    "crates/lmem-base/src/descriptors.rs",
    "crates/lmem-base/src/held.rs",
    "crates/lmem-base/src/files.rs",
    "crates/lmem-base/src/guardian.rs",
    "crates/lmem-base/src/places.rs",
    "crates/lmem-base/src/process.rs",
    "crates/lmem-base/src/way.rs",
    "crates/lmem-extract/src/rust/",
    "crates/lmem-project/src/build_flags/",
    "crates/lmem-project/src/discover/",
    "src/cache/",
    // Which architectures compilers and GPUs have: `nvcc --list-gpu-code`, `nvidia-smi`.
    "src/check/failures.rs",
    "src/check/target.rs",
    "src/compile/",
    "src/fix/",
    "src/git/",
    "src/init/",
    "src/main.rs",
    "src/measure/",
    "src/with_check.rs",
    "src/run/",
    "src/sandbox/",
    "src/verify/overlay.rs",
];

/// Where files are read beside these, with the bounds of `places::read` and `SourceFile::read`: sources that machine code or
/// messages name.
const READERS: &[&str] = &[
    "crates/cuda-syntax/src/tree/",
    "crates/lmem-base/src/source.rs",
    "crates/lmem-base/src/stored.rs",
    "crates/lmem-extract/src/",
    "crates/lmem-project/src/config/",
    "crates/lmem-unit/src/machine.rs",
    "src/check/",
    "src/gate/",
    // Whether a file is still what was checked.
    "src/lsp/open.rs",
];

const TOUCHES: &[&str] = &["std::fs", "fs_err::", "Command::new(", "File::open(", "File::create("];

const READS: &[&str] = &["places::read", "SourceFile::read"];

#[test]
fn only_rooms_touch_the_world() {
    let mut problems = Vec::new();
    for (path, text) in sources() {
        let is_among = |rooms: &[&str]| rooms.iter().any(|room| path.starts_with(room));
        let is_test = path.contains("/tests") || path.contains("/examples/") || path.ends_with("/testing.rs");
        if is_test || is_among(ROOMS) {
            continue;
        }
        let code = without_tests(&text);
        let found = TOUCHES.iter().chain(READS.iter().filter(|_| !is_among(READERS)));
        problems.extend(found.filter(|it| code.contains(**it)).map(|it| format!("{path}: `{it}`")));
    }
    assert!(problems.is_empty(), "files and programs are for the rooms of invariant 1:\n{}", problems.join("\n"));
}

#[test]
fn rooms_exist() {
    let is_there = |room: &&&str| root().join(room).exists();
    let missing: Vec<&&str> = ROOMS.iter().chain(READERS).filter(|room| !is_there(room)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn nothing_is_left_half_done() {
    // In two parts, so that this file is no finding.
    let words = [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("dbg", "!("), concat!("#[ign", "ore]")];
    let tests = files(&["tests", "test-crates/harness", "test-crates/scores", "xtask/src"]);
    let mut problems = Vec::new();
    for (path, text) in sources().into_iter().chain(tests) {
        let found = words.iter().filter(|word| without_comments(&text).contains(**word));
        problems.extend(found.map(|word| format!("{path}: `{word}`")));
    }
    assert!(problems.is_empty(), "half done, or a test that is ignored without a reason:\n{}", problems.join("\n"));
}

#[test]
fn crates_depend_on_those_drawn_below_them() {
    let readme = fs_err::read_to_string(root().join("src/README.md")).expect("the map can be read");
    let picture =
        readme.split("```text\n").find(|block| block.starts_with("cargo-lmem")).expect("the crates are drawn");
    let picture = picture.split("```").next().unwrap_or_default();
    let row = |name: &str| picture.lines().position(|line| line.split_whitespace().any(|word| word == name));
    let mut problems = Vec::new();
    for folder in members() {
        let manifest = fs_err::read_to_string(folder.join("Cargo.toml")).expect("a member has a manifest");
        let name = manifest.split("name = \"").nth(1).and_then(|rest| rest.split('"').next()).expect("it has a name");
        let Some(own) = row(name) else {
            problems.push(format!("`{name}` is not drawn"));
            continue;
        };
        let dependencies = manifest.split("\n[dependencies]\n").nth(1).and_then(|rest| rest.split("\n[").next());
        let names = dependencies.unwrap_or_default().lines().filter_map(|line| line.strip_suffix(".workspace = true"));
        let is_above = |name: &&str| row(name).is_some_and(|row| row <= own);
        problems
            .extend(names.filter(is_above).map(|below| format!("`{name}` uses `{below}`, drawn above or beside it")));
    }
    assert!(problems.is_empty(), "src/README.md draws the crates otherwise:\n{}", problems.join("\n"));
}

#[test]
fn modules_import_each_other_in_no_circle() {
    let folders = members().into_iter().map(|folder| match folder.join("src") {
        source if source.is_dir() => source,
        _ => folder,
    });
    let crates: Vec<PathBuf> = folders.collect();
    assert!(crates.len() > 5, "the crates of this workspace are found");
    let circles: Vec<String> = crates
        .iter()
        .flat_map(|folder| {
            let found = circles(&graph(folder)).into_iter();
            found.map(|circle| format!("{}: {}", folder.display(), circle.join(" → "))).collect::<Vec<_>>()
        })
        .collect();
    assert!(circles.is_empty(), "modules that import each other:\n{}", circles.join("\n"));
}

#[test]
fn each_family_of_rewrites_is_in_the_map() {
    let map = fs_err::read_to_string(root().join("src/README.md")).unwrap();
    let (_, families) = map.split_once("has a module for each family of rewrites").unwrap();
    let (families, _) = families.split_once("Each gives a `Rewrite`").unwrap();
    for entry in fs_err::read_dir(root().join("lints/rewrite")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_family = !["mod", "edits", "facts"].contains(&name);
        assert!(!is_family || families.contains(&format!("`{name}`")), "src/README.md: `{name}` is no family there");
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Folders of all crates that the program is made of.
fn members() -> Vec<PathBuf> {
    let crates = walkdir::WalkDir::new(root().join("crates")).min_depth(1).max_depth(1).sort_by_file_name().into_iter();
    let crates = crates.map(|entry| entry.expect("the folder can be read").into_path());
    [root().to_path_buf(), root().join("lints")].into_iter().chain(crates).collect()
}

/// All code of the program.
fn sources() -> Vec<(String, String)> {
    files(&["src", "lints", "crates"])
}

/// Rust files in folders, by path, with their text.
fn files(folders: &[&str]) -> Vec<(String, String)> {
    let walk = folders.iter().flat_map(|folder| walkdir::WalkDir::new(root().join(folder)).sort_by_file_name());
    let paths = walk.map(|entry| entry.expect("the folder can be read").into_path());
    let paths = paths.filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root()).expect("it lies in the package").to_string_lossy().into_owned();
        (name, fs_err::read_to_string(&path).expect("the file can be read"))
    };
    paths.map(read).collect()
}

fn without_tests(text: &str) -> String {
    without_comments(text.split("#[cfg(test)]\nmod ").next().unwrap_or(text))
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or("").to_string() + "\n").collect()
}

#[test]
fn a_circle_is_found() {
    let graph: Graph = [("a", vec!["b", "d"]), ("b", vec!["c"]), ("c", vec!["a"]), ("d", vec![])]
        .into_iter()
        .map(|(name, uses)| (name.to_string(), uses.into_iter().map(str::to_string).collect()))
        .collect();
    assert_eq!(circles(&graph), [["a", "b", "c", "a"]]);
    assert_eq!(
        uses("use crate::{a::B, c};\nuse super::d::E; // crate::e\nfn f() { crate::g::h() }", 1),
        ["a", "c", "d", "g"]
    );
}

/// The top-level modules of a crate. The root and the program's start put all of them together, and are none.
fn graph(folder: &Path) -> Graph {
    let mut graph = Graph::new();
    for entry in walkdir::WalkDir::new(folder).into_iter() {
        let path = entry.expect("the folder can be read").into_path();
        let relative = path.strip_prefix(folder).expect("it was found below the folder").with_extension("");
        let parts: Vec<String> = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let is_code = path.extension().is_some_and(|ending| ending == "rs");
        let is_test = parts.iter().any(|part| part == "tests");
        let Some(module) = parts.first().filter(|name| is_code && !is_test && *name != "lib" && *name != "main") else {
            continue;
        };
        let text = fs_err::read_to_string(&path).expect("the file can be read");
        let depth = parts.len() - usize::from(parts.last().is_some_and(|name| name == "mod"));
        graph.entry(module.clone()).or_default().extend(uses(&text, depth));
    }
    let names: BTreeSet<String> = graph.keys().cloned().collect();
    for (name, uses) in &mut graph {
        uses.retain(|used| used != name && names.contains(used));
    }
    graph
}

/// First names after `crate::`, and after as many `super::` as lead to the crate's root. Tests are left out.
fn uses(text: &str, depth: usize) -> Vec<String> {
    let code = without_tests(text);
    let root = "super::".repeat(depth);
    let mut found = BTreeSet::new();
    for start in ["crate::", root.as_str()] {
        for (at, _) in code.match_indices(start) {
            if code[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | ':')) {
                continue;
            }
            found.extend(first_names(&code[at + start.len()..]));
        }
    }
    found.into_iter().collect()
}

/// `a` of `a::b`, and `a` and `c` of `{a::B, c}`.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| {
        let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
        text[..end].to_string()
    };
    let Some(group) = path.strip_prefix('{') else { return vec![name(path)] };
    let (mut depth, mut names, mut is_start) = (0, Vec::new(), true);
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => is_start = true,
            _ if is_start && !character.is_whitespace() => {
                names.push(name(&group[at..]));
                is_start = false;
            }
            _ => {}
        }
    }
    names
}

/// For each module that reaches itself the shortest way, told once.
fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let mut known = BTreeSet::new();
    let mut circles = Vec::new();
    for start in graph.keys() {
        let mut ways = std::collections::VecDeque::from([vec![start.clone()]]);
        let mut seen = BTreeSet::new();
        while let Some(way) = ways.pop_front() {
            let last = way.last().unwrap_or(start);
            if way.len() > 1 && last == start {
                if known.is_disjoint(&way.iter().cloned().collect()) {
                    known.extend(way.iter().cloned());
                    circles.push(way);
                }
                break;
            }
            for next in graph.get(last).into_iter().flatten() {
                if next == start || seen.insert(next.clone()) {
                    ways.push_back([way.clone(), vec![next.clone()]].concat());
                }
            }
        }
    }
    circles
}
