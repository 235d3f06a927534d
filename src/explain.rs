//! `cargo lmem explain LINT`: what the lint finds, with code, its cost, the remedy, and how to silence it.

use lmem_base::diagnostic::Severity;
use lmem_base::words::{nearest, plural};
use lmem_lints::{Lint, remark};
use thiserror::Error;

use crate::check::levels_here;

/// An unknown name.
#[derive(Debug, Error)]
#[error("there is no lint `{name}`{}", .near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default())]
pub struct UnknownLint {
    name: String,
    near: Option<&'static str>,
}

/// The text for a lint or remark; without a name, one line for each.
///
/// # Errors
/// There is no lint or remark of that name.
pub fn explain(name: Option<&str>) -> Result<String, UnknownLint> {
    let Some(name) = name else { return Ok(list()) };
    let documentation = lmem_lints::documentation(name).unwrap_or_default();
    match (lmem_lints::find(name), remark::find(name)) {
        (Some(lint), _) => Ok(of_lint(lint, documentation)),
        (None, Some(remark)) => {
            Ok(format!("{} ({} by default)\n\n{documentation}\n", remark.name, remark_level(remark)))
        }
        (None, None) => {
            let names: Vec<&'static str> =
                lmem_lints::names_with_levels().into_iter().filter(|name| *name != "warnings").collect();
            let near = nearest(name, names.iter().copied()).or_else(|| containing(name, &names));
            Err(UnknownLint { name: name.to_string(), near })
        }
    }
}

/// The name that a word of the user's, such as `spills`, is a part of.
fn containing(word: &str, names: &[&'static str]) -> Option<&'static str> {
    let word = word.to_lowercase();
    let stem = word.trim_end_matches('s');
    names.iter().copied().find(|name| stem.len() > 3 && name.split('_').any(|part| part.trim_end_matches('s') == stem))
}

fn list() -> String {
    let line =
        |name: &str, level: &str, text: &str| format!("{name:<26}{level:<7}{}\n", text.lines().next().unwrap_or(""));
    let names = lmem_lints::known_names();
    let lints = names.iter().filter_map(|name| lmem_lints::find(name));
    let lints =
        lints.map(|lint| line(lint.name, lint.level.name(), lmem_lints::documentation(lint.name).unwrap_or_default()));
    let remarks = remark::ALL.iter().map(|remark| line(remark.name, remark_level(remark), remark.documentation));
    let (lints, remarks): (String, String) = (lints.collect(), remarks.collect());
    format!("{lints}\nRemarks on the run, with levels as lints:\n{remarks}")
}

fn of_lint(lint: &Lint, documentation: &str) -> String {
    let (name, default) = (lint.name, lint.level.name());
    let here = std::env::current_dir().map(|folder| levels_here(&folder, name)).unwrap_or_default();
    let here = match here.iter().collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [(level, _)] if **level == default => String::new(),
        [(level, _)] => format!(", {level} here"),
        several => {
            let parts = several.iter().map(|(level, files)| format!("{level} for {}", plural(**files as u64, "file")));
            format!("; here {}", parts.collect::<Vec<_>>().join(", "))
        }
    };
    format!("{name} ({default} by default{here})\n\n{documentation}\n\n{}", how_to_silence(name))
}

fn how_to_silence(name: &str) -> String {
    format!(
        "## How to silence it
- one finding: `// lmem: allow({name}, reason = \"…\")` above the item, or behind the line that it points to
- a file: `// lmem: allow-file({name}, reason = \"…\")`
- a package: `lints = {{ {name} = \"allow\" }}` in `[package.metadata.lmem]`
- a run: `cargo lmem -A {name}`; `-D {name}` makes it an error with exit code 1
"
    )
}

fn remark_level(remark: &remark::Remark) -> &'static str {
    match remark.severity {
        Severity::Note => "note",
        Severity::Warning => "warn",
        Severity::Error => "error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lint_is_explained_in_full() {
        for lint in lmem_lints::ALL {
            let text = explain(Some(lint.name)).unwrap();
            let headings = [
                "Why it costs",
                "What to do",
                "Example",
                "Fix safety",
                "When it is wrong",
                "Related lints",
                "How to silence it",
            ];
            let places: Vec<Option<usize>> = headings.iter().map(|name| text.find(&format!("\n## {name}\n"))).collect();
            assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{}: {places:?}", lint.name);
            assert!(text.matches("```").count() >= 4, "{} has no code before and after", lint.name);
            let related = text.split("## Related lints\n").nth(1).and_then(|rest| rest.lines().next()).unwrap_or("");
            for other in related.split(", ") {
                assert!(lmem_lints::find(other.trim_matches('`')).is_some(), "{}: `{other}` is no lint", lint.name);
            }
        }
    }

    #[test]
    fn a_name_that_is_none_has_a_neighbour() {
        let error = explain(Some("dynamic_indx")).unwrap_err();
        assert_eq!(error.to_string(), "there is no lint `dynamic_indx`: did you mean `dynamic_index`?");
        assert!(explain(Some("register-spill")).is_ok() && explain(Some("unused_allow")).is_ok());
    }
}
