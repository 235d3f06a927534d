//! GitLab's code quality report: findings next to the lines of a merge request.
//!
//! The format is described in GitLab's documentation under "Code Quality", "Code Quality report format". GitLab
//! compares the reports of two branches by fingerprint and shows one finding for each, so every finding has its own.

use std::io;

use lmem_base::diagnostic::{Diagnostic, Report, Severity};
use serde::Serialize;

use super::Context;
use super::facts::{fingerprints, plain_text, repository_path};
use super::position::{Columns, Region};

#[derive(Serialize)]
struct Issue {
    description: String,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: IssueLocation,
}

#[derive(Serialize)]
struct IssueLocation {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: usize,
}

pub(super) fn render(report: &Report, cx: &Context, out: &mut dyn io::Write) -> io::Result<()> {
    let named = report.diagnostics.iter().zip(fingerprints(&report.diagnostics));
    // A finding without a location cannot be shown at a line.
    let issues: Vec<Issue> = named.filter_map(|(diagnostic, name)| issue(diagnostic, name, cx)).collect();
    serde_json::to_writer_pretty(&mut *out, &issues)?;
    writeln!(out)
}

fn issue(diagnostic: &Diagnostic, fingerprint: String, cx: &Context) -> Option<Issue> {
    let span = &diagnostic.primary.as_ref()?.span;
    Some(Issue {
        description: plain_text(diagnostic),
        check_name: diagnostic.code.id(),
        fingerprint,
        severity: match diagnostic.severity {
            Severity::Note => "info",
            Severity::Warning => "minor",
            Severity::Error => "major",
        },
        location: IssueLocation {
            path: repository_path(span, cx),
            lines: Lines { begin: Region::new(span, Columns::Characters).start_line },
        },
    })
}

#[cfg(test)]
mod tests {
    use lmem_base::diagnostic::Report;
    use serde_json::Value;

    use crate::cli::MessageFormat;
    use crate::report::samples;

    #[test]
    fn each_finding_has_a_fingerprint_of_its_own() {
        let twice = vec![samples::variable(), samples::variable(), samples::remark()];
        let text = samples::rendered(&Report { diagnostics: twice, ..Report::default() }, MessageFormat::Gitlab);
        let issues: Vec<Value> = serde_json::from_str(&text).unwrap();
        assert_eq!(issues.len(), 2);
        assert_eq!(issues[0]["location"]["path"], "kernels/running_mean.cu");
        assert_eq!(issues[0]["location"]["lines"]["begin"], 3);
        assert_eq!(
            (&issues[0]["severity"], &issues[0]["check_name"]),
            (&"minor".into(), &"lmem::dynamic_index".into())
        );
        assert_ne!(issues[0]["fingerprint"], issues[1]["fingerprint"]);
        assert!(issues[0]["description"].as_str().unwrap().contains("dynamically indexed"));
    }

    #[test]
    fn a_run_without_findings_is_an_empty_list() {
        assert_eq!(samples::rendered(&Report::default(), MessageFormat::Gitlab), "[]\n");
    }
}
