//! Conventions for all lints, messages and test crates.

use lmem_base::diagnostic::Diagnostic;

use super::recorded::is_lint;
use super::{Problem, all, crates};

/// Every file in `lints/`, except the two that list them, is a registered lint with a test crate and a row in the
/// README's table.
pub fn lints_are_registered() -> Result<(), Problem> {
    let package = crates::root().parent().expect("`test-crates` lies in the package").to_path_buf();
    let entries = fs_err::read_dir(package.join("lints")).map_err(|error| error.to_string())?;
    let files = entries.filter_map(Result::ok).map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    let names = files.filter_map(|path| Some(path.file_stem()?.to_str()?.to_string()));
    let mut names: Vec<String> = names.filter(|name| name != "lib" && name != "registry").collect();
    names.sort();
    // There is no README before the first release.
    let readme = fs_err::read_to_string(package.join("README.md")).ok();
    let crates = crates::names();
    let mut problems = Vec::new();
    for name in &names {
        if lmem_lints::find(name).is_none_or(|lint| lint.name != name.as_str()) {
            problems.push(format!("lints/{name}.rs: `{name}` is not in `ALL`"));
        }
        if !crates.contains(name) {
            problems.push(format!("lints/{name}.rs: there is no `test-crates/{name}`"));
        }
        if readme.as_ref().is_some_and(|text| !text.contains(&format!("| `{name}` |"))) {
            problems.push(format!("lints/{name}.rs: README.md has no row for `{name}`"));
        }
    }
    let unknown = lmem_lints::known_names()
        .into_iter()
        .filter(|name| *name != "warnings" && !names.iter().any(|known| known == name));
    problems.extend(unknown.map(|name| format!("`{name}` is in `ALL`, and `lints/{name}.rs` does not exist")));
    all(problems)
}

/// Every expectation and every record belongs to a test crate, and every waiting crate exists.
pub fn no_orphans() -> Result<(), Problem> {
    let crates = crates::names();
    let entries = fs_err::read_dir(crates::root().join("expected")).map_err(|error| error.to_string())?;
    let expected =
        entries.filter_map(Result::ok).filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_string()));
    let waiting = crates::WAITING.iter().map(|(name, _)| name.to_string());
    let orphans = expected.chain(waiting).filter(|name| !crates.contains(name));
    all(orphans.map(|name| format!("`{name}` is expected, and there is no such test crate")).collect())
}

/// Messages start in lower case and end without a full stop; names are in balanced backticks.
pub fn message_habits(diagnostics: &[Diagnostic]) -> Result<(), Problem> {
    let mut problems = Vec::new();
    for diagnostic in diagnostics.iter().filter(|diagnostic| is_lint(diagnostic)) {
        let labels = diagnostic.primary.iter().chain(&diagnostic.secondary).map(|label| &label.text);
        let help = diagnostic.help.iter().map(|help| &help.message);
        let texts = std::iter::once(&diagnostic.message).chain(labels).chain(&diagnostic.notes).chain(help);
        problems.extend(texts.filter_map(|text| habit(text)));
        let variable = diagnostic.evidence.as_ref().and_then(|evidence| evidence.variable.as_ref());
        if let Some(name) = variable.filter(|name| is_identifier(name)) {
            let bare = diagnostic.message.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '`'));
            problems.extend(
                bare.into_iter()
                    .any(|word| word == name.as_str() && word.len() > 2)
                    .then(|| format!("`{name}` stands without backticks: {}", diagnostic.message)),
            );
        }
    }
    problems.sort();
    problems.dedup();
    all(problems)
}

fn is_identifier(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn habit(text: &str) -> Option<Problem> {
    let what = match text {
        // Abbreviations such as `CUDA` stay in upper case.
        _ if text.starts_with(char::is_uppercase) && !text.chars().nth(1).is_some_and(char::is_uppercase) => {
            "starts with a capital"
        }
        _ if text.ends_with('.') => "ends with a full stop",
        _ if text.matches('`').count() % 2 == 1 => "has an odd number of backticks",
        _ if text.contains('\n') => "has several lines",
        _ => return None,
    };
    Some(format!("a message {what}: {text}"))
}

/// The texts of errors follow the same conventions.
pub fn error_texts() -> Result<(), Problem> {
    let package = crates::root().parent().expect("`test-crates` lies in the package").to_path_buf();
    let folders =
        ["src", "lints", "crates"].map(|folder| walkdir::WalkDir::new(package.join(folder)).sort_by_file_name());
    let files = folders.into_iter().flatten().filter_map(Result::ok);
    let mut problems = Vec::new();
    for file in files.filter(|file| file.path().extension().is_some_and(|ending| ending == "rs")) {
        let text = fs_err::read_to_string(file.path()).map_err(|error| error.to_string())?;
        for (at, _) in text.match_indices("#[error(") {
            let literal = text[at + "#[error(".len()..].trim_start();
            // `transparent` has no text of its own.
            let Some(rest) = literal.strip_prefix('"') else { continue };
            let end = rest.find("\")").or_else(|| rest.find("\",")).or_else(|| rest.find("\"\n")).unwrap_or(rest.len());
            let line = text[..at].matches('\n').count() + 1;
            let one_line = rest[..end].replace('\n', " ");
            let path = file.path().strip_prefix(&package).unwrap_or(file.path()).display().to_string();
            problems.extend(habit(&one_line).map(|problem| format!("{path}:{line}: {problem}")));
        }
    }
    all(problems)
}
