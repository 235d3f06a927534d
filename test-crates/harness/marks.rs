//! Compares `//~ lint_name sm_80` marks with the reported diagnostics.

use std::collections::BTreeMap;

use lmem_base::diagnostic::Diagnostic;

use super::crates::TestCrate;
use super::{Problem, all};

/// File, line, code and architecture of a finding.
type Finding = (String, usize, String, String);

/// Checks that every mark has its diagnostic and every diagnostic its mark.
pub fn compare(test_crate: &TestCrate, diagnostics: &[Diagnostic]) -> Result<(), Problem> {
    let mut problems = Vec::new();
    let every = every_architecture(test_crate);
    let marked = count(marks(test_crate, &mut problems));
    let reported =
        count(diagnostics.iter().flat_map(|diagnostic| findings(diagnostic, &every, &mut problems)).collect());
    let keys: std::collections::BTreeSet<&Finding> = marked.keys().chain(reported.keys()).collect();
    // One line for all architectures of a location.
    let mut differences: BTreeMap<(String, usize, String, &str), Vec<String>> = BTreeMap::new();
    for key in keys {
        let of = |counts: &BTreeMap<Finding, usize>| counts.get(key).copied().unwrap_or(0);
        let what = match of(&marked).cmp(&of(&reported)) {
            std::cmp::Ordering::Equal => continue,
            std::cmp::Ordering::Less => "is reported and has no mark",
            std::cmp::Ordering::Greater => "has a mark and is not reported",
        };
        let (file, line, code, architecture) = key.clone();
        differences.entry((file, line, code, what)).or_default().push(architecture);
    }
    problems.extend(differences.into_iter().map(|((file, line, code, what), architectures)| {
        format!("test-crates/{}/{file}:{line}: `{code}` {what} ({})", test_crate.name, architectures.join(" "))
    }));
    all(problems)
}

fn count(findings: Vec<Finding>) -> BTreeMap<Finding, usize> {
    let mut counts = BTreeMap::new();
    findings.into_iter().for_each(|finding| *counts.entry(finding).or_default() += 1);
    counts
}

fn marks(test_crate: &TestCrate, problems: &mut Vec<Problem>) -> Vec<Finding> {
    let mut found = Vec::new();
    let every = every_architecture(test_crate);
    for file in test_crate.sources() {
        let text = fs_err::read_to_string(test_crate.folder.join(&file)).unwrap_or_default();
        let file = file.to_string_lossy().replace('\\', "/");
        for (index, line) in text.lines().enumerate() {
            // Two findings on one line have two marks.
            for mark in line.split("//~").skip(1) {
                // `//~^` refers to the line above, for lines that cannot hold a comment.
                let (above, mark) = mark.strip_prefix('^').map_or((0, mark), |rest| (1, rest));
                match read_mark(mark, &every) {
                    Some((code, architectures)) => found.extend(
                        architectures.into_iter().map(|arch| (file.clone(), index + 1 - above, code.to_string(), arch)),
                    ),
                    None => problems.push(format!("test-crates/{}/{file}:{}: broken mark", test_crate.name, index + 1)),
                }
            }
        }
    }
    found
}

/// Parses `lint_name` or `lint_name sm_80 sm_90`; a quote or a backslash of the enclosing Rust string ends the mark.
fn read_mark<'m>(text: &'m str, every: &[String]) -> Option<(&'m str, Vec<String>)> {
    let text = text.split(['"', '\\']).next().unwrap_or(text);
    let mut words = text.split_whitespace();
    let code = words.next()?;
    let architectures: Vec<String> = words.map(str::to_string).collect();
    let known = architectures.iter().all(|name| every.contains(name));
    let named = if architectures.is_empty() { every.to_vec() } else { architectures };
    known.then_some((code, named))
}

fn every_architecture(test_crate: &TestCrate) -> Vec<String> {
    test_crate.architectures.iter().map(ToString::to_string).collect()
}

fn findings(diagnostic: &Diagnostic, every: &[String], problems: &mut Vec<Problem>) -> Vec<Finding> {
    let code = diagnostic.code.name().to_string();
    let Some(primary) = &diagnostic.primary else {
        problems.push(format!("`{code}` has no place: {}", diagnostic.message));
        return Vec::new();
    };
    let kernels = diagnostic.evidence.iter().flat_map(|evidence| &evidence.kernels);
    let mut architectures: Vec<String> = kernels.map(|kernel| kernel.arch.clone()).collect();
    architectures.sort();
    architectures.dedup();
    // A diagnostic about a whole unit holds for every architecture.
    let architectures = if architectures.is_empty() { every.to_vec() } else { architectures };
    let place = (primary.span.file.display.clone(), primary.span.start_line());
    architectures.into_iter().map(|arch| (place.0.clone(), place.1, code.clone(), arch)).collect()
}
