//! The examples of `cargo lmem explain` are code of the test crates, which the compilers and the tool have judged.

use std::path::Path;

use walkdir::WalkDir;

use super::{Problem, all, crates};

/// The code before stands in a file of a test crate that a mark expects the lint in; the code after stands in such a
/// file too, or is what a proven suggestion in the lint's report writes.
pub fn test() -> Result<(), Problem> {
    let (mut problems, sources) = (Vec::new(), sources());
    for name in lmem_lints::known_names().into_iter().filter(|name| *name != "warnings") {
        let text = lmem_lints::documentation(name).unwrap_or_default();
        for word in ["Before", "After"] {
            let Some(Example { language, lines }) = example(text, word) else {
                problems.push(format!("lints/{name}.rs: no example after `{word}:`"));
                continue;
            };
            let texts: Vec<String> = match word {
                // Settings cause findings elsewhere, so that no mark stands beside them.
                "Before" if language != "toml" => {
                    sources.iter().filter(|text| is_marked(text, name)).cloned().collect()
                }
                _ => [sources.as_slice(), &[written_by_suggestions(name)]].concat(),
            };
            if !texts.iter().any(|text| holds(text, &lines)) {
                problems.push(format!("lints/{name}.rs: the code after `{word}:` is in no test crate"));
            }
        }
    }
    all(problems)
}

struct Example<'t> {
    language: &'t str,
    lines: Vec<String>,
}

/// The code block after `Before:` or `After:`.
fn example<'t>(text: &'t str, word: &str) -> Option<Example<'t>> {
    let block = text.split_once("## Example")?.1.split_once(&format!("{word}:\n```"))?.1.split_once("```")?.0;
    let (language, code) = block.split_once('\n')?;
    let lines: Vec<String> = code.lines().map(plain).filter(|line| !line.is_empty()).collect();
    (!lines.is_empty()).then_some(Example { language, lines })
}

/// The line without indentation and without a mark.
fn plain(line: &str) -> String {
    let code = line.split_once("//~").map_or(line, |(code, _)| code);
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether the text has all lines in their order; lines between them are what an example leaves out.
fn holds(text: &str, lines: &[String]) -> bool {
    let mut found = text.lines().map(plain);
    lines.iter().all(|line| found.any(|other| other == *line))
}

fn is_marked(text: &str, name: &str) -> bool {
    text.lines().filter_map(|line| line.split_once("//~")).any(|(_, mark)| mark.contains(name))
}

fn sources() -> Vec<String> {
    let folders = crates::names().into_iter().map(|name| crates::root().join(name));
    let files = folders.flat_map(WalkDir::new).filter_map(Result::ok);
    let files = files.filter(|entry| entry.file_type().is_file() && !is_recorded(entry.path()));
    files.filter_map(|entry| fs_err::read_to_string(entry.path()).ok()).collect()
}

fn is_recorded(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "recorded")
}

/// The added lines of all edits in the report.
fn written_by_suggestions(name: &str) -> String {
    let report = fs_err::read_to_string(crates::root().join(format!("expected/{name}.txt"))).unwrap_or_default();
    let added = report.lines().filter_map(|line| line.split_once("│ + "));
    added.map(|(_, text)| format!("{text}\n")).collect()
}
