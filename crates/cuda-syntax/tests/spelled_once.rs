//! The grammar's names are spelled in `ast` only: elsewhere a typo would compile and match nothing.

use std::path::{Path, PathBuf};

use cuda_syntax::ast::{Field, Kind};

/// Words of C++ and of English that are also names in the grammar.
const WORDS: [&str; 10] =
    ["this", "true", "false", "decltype", "operator", "name", "function", "size", "field", "value"];

#[test]
fn kinds_and_fields_are_spelled_in_ast_alone() {
    let mut found = Vec::new();
    for path in sources() {
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        for (number, line) in text.lines().enumerate() {
            for literal in literals(line).filter(|literal| is_of_grammar(literal)) {
                found.push(format!("{}:{}: \"{literal}\"", path.display(), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "use `Kind`, `Field` or a typed node of `cuda_syntax::ast`:\n{}", found.join("\n"));
}

#[test]
fn the_parser_is_used_in_two_files() {
    let uses = |path: &PathBuf| std::fs::read_to_string(path).is_ok_and(|text| text.contains("tree_sitter"));
    let users: Vec<String> = sources().into_iter().filter(uses).map(|path| path.display().to_string()).collect();
    assert!(matches!(users.as_slice(), [only] if only.ends_with("syntax_tree.rs")), "{users:?}");
}

#[test]
fn literals_are_found() {
    let found: Vec<&str> = literals(r#"f("call_expression", "a\"b", 'x'); // "comment""#).collect();
    assert_eq!(found, ["call_expression", "a\\\"b"]);
    assert!(is_of_grammar("call_expression") && is_of_grammar("declarator") && !is_of_grammar("this"));
}

fn is_of_grammar(literal: &str) -> bool {
    let is_kind = Kind::NAMED.iter().any(|(_, name)| *name == literal);
    (is_kind || Field::ALL.iter().any(|(_, name)| *name == literal)) && !WORDS.contains(&literal)
}

/// Sources of the crates that use syntax trees, except `ast`.
fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut open = vec![root.join("src"), root.join("../lmem-frame/src"), root.join("../../lints")];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            match path.is_dir() {
                true if path.file_name().is_some_and(|name| name == "ast") => {}
                true => open.push(path),
                false => found.extend(Some(path).filter(|path| path.extension().is_some_and(|ending| ending == "rs"))),
            }
        }
    }
    found.sort();
    assert!(found.len() > 50, "the sources are found");
    found
}

/// String literals of a line, before its comment.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let start = rest.find('"')?;
        if rest[..start].contains("//") {
            return None;
        }
        let inner = &rest[start + 1..];
        let mut is_escaped = false;
        let end = inner.find(|c| {
            let ends = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        })?;
        rest = &inner[end + 1..];
        Some(&inner[..end])
    })
}
