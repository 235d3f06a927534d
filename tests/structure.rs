//! The structure of the code: crates depend downwards only, which cargo sees to; inside each, so do its modules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Modules of a crate, by name, with the modules that they use.
type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_import_each_other_in_no_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let members = walkdir::WalkDir::new(root.join("crates")).min_depth(1).max_depth(1).into_iter();
    let members = members.map(|entry| entry.expect("the folder can be read").path().join("src"));
    let crates: Vec<PathBuf> = [root.join("src"), root.join("lints")].into_iter().chain(members).collect();
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
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    let code: String = code.lines().map(|line| line.split("//").next().unwrap_or("").to_string() + "\n").collect();
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
