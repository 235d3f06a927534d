//! JUnit XML: each finding is a failed test, in a suite for its file. Notes are skipped tests.

use std::collections::BTreeMap;
use std::io;

use lmem_base::diagnostic::{Diagnostic, Report, Severity};
use lmem_base::inert::replaced;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::excerpt::clean;
use super::facts::plain_text;
use super::position::place;
use super::summary::not_shown;

pub(super) fn render(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    let mut suites: BTreeMap<&str, Vec<TestCase>> = BTreeMap::new();
    for diagnostic in &report.diagnostics {
        let file = diagnostic.primary.as_ref().map_or("run", |label| label.span.file.display.as_str());
        suites.entry(file).or_default().push(case(diagnostic));
    }
    if let Some(line) = not_shown(&report.summary) {
        let mut status = TestCaseStatus::skipped();
        status.set_message(line);
        suites.entry("run").or_default().push(TestCase::new("what is not shown", status));
    }
    if suites.is_empty() {
        // Some readers reject a report without tests.
        suites.insert("cargo lmem", vec![TestCase::new("local memory", TestCaseStatus::success())]);
    }
    let mut document = quick_junit::Report::new("cargo lmem");
    document.add_test_suites(suites.into_iter().map(|(name, cases)| {
        let mut suite = TestSuite::new(name);
        suite.add_test_cases(cases);
        suite
    }));
    let text = document.to_string().map_err(io::Error::other)?;
    out.write_all(clean(&without_skipped_sum(&text)).as_bytes())
}

/// The document without lines and words that a CI runner takes for commands; its readers see the same text.
pub(super) fn without_commands(text: &str) -> String {
    let is_command = |line: &str| line.trim_start().starts_with("::");
    let line = |line: &str| if is_command(line) { line.replacen(':', "&#58;", 1) } else { line.to_string() };
    replaced(&text.split_inclusive('\n').map(line).collect::<String>(), "&#35;")
}

/// The schema that Jenkins reads by has no sum of skipped tests over all suites, only one for each of them.
fn without_skipped_sum(text: &str) -> String {
    let (before, rest) = text.split_once("<testsuites ").unwrap_or(("", text));
    let (sums, suites) = rest.split_once('>').unwrap_or(("", rest));
    let sums = sums.split(' ').filter(|attribute| !attribute.starts_with("skipped=")).collect::<Vec<_>>().join(" ");
    format!("{before}<testsuites {sums}>{suites}")
}

fn case(diagnostic: &Diagnostic) -> TestCase {
    let mut status = match diagnostic.severity {
        Severity::Note => TestCaseStatus::skipped(),
        Severity::Warning | Severity::Error => TestCaseStatus::non_success(NonSuccessKind::Failure),
    };
    status
        .set_message(diagnostic.message.as_str())
        .set_type(diagnostic.code.id())
        .set_description(plain_text(diagnostic));
    let name = diagnostic.code.name();
    let at = diagnostic.primary.as_ref().map(|label| format!(" at {}", place(&label.span))).unwrap_or_default();
    TestCase::new(format!("{name}{at}"), status)
}

#[cfg(test)]
mod tests {
    use lmem_base::diagnostic::Report;

    use crate::cli::MessageFormat;
    use crate::report::samples;

    #[test]
    fn findings_are_failures() {
        let text = samples::rendered(&samples::report(), MessageFormat::Junit);
        assert!(text.contains("<testsuite name=\"kernels/running_mean.cu\" tests=\"1\""), "{text}");
        assert!(text.contains("name=\"dynamic_index at kernels/running_mean.cu:3:11\""), "{text}");
        assert!(text.contains("type=\"lmem::register_spill\"") && text.contains("<skipped"), "{text}");
        assert!(text.contains("<testsuites name=\"cargo lmem\" tests=\"5\" failures=\"4\" errors="), "{text}");
    }

    #[test]
    fn a_clean_run_is_one_test_that_passed() {
        let text = samples::rendered(&Report::default(), MessageFormat::Junit);
        assert!(text.contains("tests=\"1\"") && text.contains("failures=\"0\""), "{text}");
    }
}
