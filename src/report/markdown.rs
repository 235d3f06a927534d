//! A Markdown page for readers without a terminal: the summary of a CI run, or a comment on a pull request.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::io;

use lmem_base::diagnostic::{Code, Diagnostic, Report, ResourceUsage, Summary};
use lmem_base::gpu::Arch;
use lmem_base::words::plural;

use super::excerpt::clean;
use super::facts::{self, edit_lines, plain_text, severity_word, titled};
use super::names::shorten_all;
use super::position::place;
use super::{Context, kernels};

/// Limit on findings shown in full below the table. GitHub accepts one mebibyte for all summaries of a job.
const MAX_DETAILS: usize = 50;

/// Limit on the rows of the table of kernels.
const MAX_KERNELS: usize = 50;

pub(super) fn render(report: &Report, _cx: &Context, out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(clean(&page(report)).as_bytes())
}

fn page(report: &Report) -> String {
    let mut text = format!("## CUDA local memory\n\n{}\n", headline(report));
    let listed = report.kernels.as_ref().map(|all| kernels::markdown(all, MAX_KERNELS));
    if report.diagnostics.is_empty() {
        return text + &listed.unwrap_or_default() + &made_with(&report.summary);
    }
    text.push_str(&findings(&report.diagnostics));
    text.push_str(&listed.unwrap_or_else(|| with_findings(&report.diagnostics)));
    for diagnostic in report.diagnostics.iter().take(MAX_DETAILS) {
        text.push_str(&details(diagnostic));
    }
    if let Some(more) = report.diagnostics.len().checked_sub(MAX_DETAILS).filter(|more| *more > 0) {
        let _ = writeln!(text, "\n… and {} in the table alone", plural(more as u64, "more finding"));
    }
    text + &made_with(&report.summary)
}

/// The programs that the figures come from: another compiler may give others.
pub(super) fn made_with(summary: &Summary) -> String {
    match summary.toolkit.as_str() {
        "" => String::new(),
        toolkit => format!("\ncargo-lmem {}, CUDA {}\n", crate::version::short(), cell(toolkit)),
    }
}

/// A table with a line for each finding.
pub(super) fn findings(diagnostics: &[Diagnostic]) -> String {
    let mut text = "\n| | finding | place | bytes | kernels |\n|---|---|---|---:|---:|\n".to_string();
    for diagnostic in diagnostics {
        let evidence = diagnostic.evidence.as_ref();
        let at = diagnostic.primary.as_ref().map(|label| code(&place(&label.span))).unwrap_or_default();
        let bytes = evidence.map(|evidence| evidence.bytes.to_string()).unwrap_or_default();
        // A kernel has an instance for each architecture.
        let names =
            evidence.map(|evidence| evidence.kernels.iter().map(|kernel| &kernel.mangled).collect::<BTreeSet<_>>());
        let kernels = names.map(|names| names.len().to_string()).unwrap_or_default();
        let severity = severity_word(diagnostic.severity);
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {severity} | {} | {at} | {bytes} | {kernels} |", cell(&diagnostic.message));
    }
    text
}

fn headline(report: &Report) -> String {
    let findings = report.diagnostics.iter().filter(|diagnostic| matches!(diagnostic.code, Code::Lint(_))).count();
    let summary = &report.summary;
    let noun = if summary.architectures.len() > 1 { "kernel build" } else { "kernel" };
    let checked = format!("in {} for {}", plural(summary.kernels as u64, noun), summary.architectures.join(", "));
    let mut text = match (findings, summary.failed_units, summary.is_nothing_checked()) {
        (_, _, true) => "Nothing was checked.".to_string(),
        (0, 0, false) => format!("No finding {checked}."),
        (found, _, false) => format!("{} {checked}.", plural(found as u64, "finding")),
    };
    if summary.failed_units > 0 {
        let _ = write!(text, " **{} did not compile.**", plural(summary.failed_units as u64, "source"));
    }
    if let Some(baseline) = summary.baseline.as_ref().filter(|baseline| baseline.known > 0) {
        let _ = write!(text, " {} known before, not shown.", plural(baseline.known as u64, "finding"));
    }
    text
}

/// The figures of each kernel with a finding, the largest frames first. Figures of different architectures are not
/// added.
fn with_findings(diagnostics: &[Diagnostic]) -> String {
    let all = diagnostics.iter().flat_map(facts::kernels);
    let rows: BTreeSet<_> = all
        .map(|kernel| (Reverse(kernel.usage), kernel.name.as_str(), Arch::of(&kernel.arch), kernel.arch.as_str()))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = "| kernel | architecture | stack frame | spill stores | spill loads | registers |\n|---|---|---:|---:|---:|---:|";
    let mut text = format!("\n{head}\n");
    let short = shorten_all(&rows.iter().take(MAX_KERNELS).map(|(_, name, ..)| *name).collect::<Vec<_>>());
    for ((Reverse(usage), _, _, arch), name) in rows.iter().zip(&short) {
        let ResourceUsage { stack_frame, spill_stores, spill_loads, registers, .. } = usage;
        let name = cell(name);
        let figures = format!("{stack_frame} B | {spill_stores} B | {spill_loads} B | {registers}");
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {name} | {arch} | {figures} |");
    }
    if let Some(more) = rows.len().checked_sub(MAX_KERNELS).filter(|more| *more > 0) {
        let _ = writeln!(text, "\n… and {}", plural(more as u64, "more row"));
    }
    text
}

fn details(diagnostic: &Diagnostic) -> String {
    let title = match &diagnostic.primary {
        Some(label) => format!("<code>{}</code> {}", html(&place(&label.span)), html(diagnostic.code.name())),
        None => html(diagnostic.code.name()),
    };
    let mut text = format!("\n<details><summary>{title}</summary>\n\n{}", fenced("text", &plain_text(diagnostic)));
    if let Some(suggestion) = diagnostic.suggestions.first() {
        let (title, proof) = titled(diagnostic, suggestion);
        let _ = writeln!(text, "\n{}", cell(&title));
        if let Some(proof) = proof.filter(|proof| proof.contains('\n')) {
            text.push_str(&fenced("text", &proof));
        }
        text.push_str(&fenced("diff", &edit_lines(suggestion).join("\n")));
    }
    text.push_str("\n</details>\n");
    text
}

/// A code block with a fence longer than any in the code.
fn fenced(language: &str, code: &str) -> String {
    let longest = code.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{language}\n{code}\n{fence}\n")
}

/// Text for a table cell, without line breaks, cell separators, HTML and links. As a comment it notifies nobody.
pub(super) fn cell(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, behind)) = rest.split_once('`') {
        shown.push_str(&prose(before));
        // One backtick ends what one began. Any other is shown as it is, or it would make code of what follows.
        let end = behind.find('`').filter(|end| *end > 0 && !behind[end + 1..].starts_with('`'));
        match end {
            Some(end) => shown.push_str(&format!("`{}`", code_in_cell(&behind[..end]))),
            None => shown.push_str("&#96;"),
        }
        rest = end.map_or(behind, |end| &behind[end + 1..]);
    }
    shown + &prose(rest)
}

/// A part of a cell that is no code. A sign of no width keeps GitHub and GitLab from reading mentions and references:
/// they look at the text without its escapes.
fn prose(text: &str) -> String {
    let text = html(text).replace('\\', "&#92;").replace('|', "\\|").replace("](", "]&#40;");
    let mut shown = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        shown.push(letter);
        let is_mention = letter == '@' && letters.peek().is_some_and(|next| next.is_alphanumeric());
        let is_reference = letter == '#' && before != '&' && letters.peek().is_some_and(char::is_ascii_digit);
        shown.push_str(if is_mention || is_reference { "&#8203;" } else { "" });
        before = letter;
    }
    shown
}

/// A part of a cell that stands between backticks. A backslash before a separator would not keep it from being one.
/// HTML and links are escaped here too, for readers that see no code in it.
fn code_in_cell(text: &str) -> String {
    html(&text.replace("\\|", "¦")).replace('|', "\\|").replace("](", "]&#40;")
}

/// A file's name as code in a table cell. Nothing in it ends the code or the cell.
pub(super) fn code(name: &str) -> String {
    format!("`{}`", name.replace('`', "'").replace('|', "\\|"))
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::MessageFormat;
    use crate::report::samples;

    #[test]
    fn a_table_and_details() {
        let summary = Summary { kernels: 7, architectures: vec!["sm_90".into()], ..Summary::default() };
        let text = samples::rendered(&Report { summary, ..samples::report() }, MessageFormat::Markdown);
        assert!(text.starts_with("## CUDA local memory\n\n3 findings in 7 kernels for sm_90.\n"), "{text}");
        assert!(text.contains("| warning | `window` (`float[32]`, 128 B) is in local memory"), "{text}");
        assert!(text.contains("| `kernels/running_mean.cu:3:11` | 128 | 1 |"), "{text}");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    }

    #[test]
    fn the_largest_frames_stand_first() {
        let (small, large) = (samples::instance(8, "sm_90"), samples::instance(64, "sm_80"));
        let text = with_findings(&[small, large.clone(), large]);
        let rows: Vec<&str> = text.lines().filter(|line| line.contains(" sm_")).collect();
        assert_eq!(rows.len(), 2, "{text}");
        assert!(rows[0].contains("| sm_80 | 256 B |") && rows[1].contains("| sm_90 | 32 B |"), "{text}");
        assert_eq!(with_findings(&[samples::compiler_error()]), "");
    }

    #[test]
    fn text_of_the_workspace_stays_text() {
        assert_eq!(cell("a|b\n<img src=x>"), "a\\|b &lt;img src=x&gt;");
        assert_eq!(cell("[a](https://x)"), "[a]&#40;https://x)");
        assert_eq!(code("a`|<img>"), "`a'\\|<img>`");
        assert_eq!(cell("`a|b` c|d"), "`a\\|b` c\\|d");
        assert_eq!(fenced("text", "a ``` b"), "````text\na ``` b\n````\n");
    }

    #[test]
    fn a_comment_notifies_nobody() {
        let mention = "@&#8203;everyone";
        assert_eq!(
            cell("@everyone and @org/team, a@b `@code`"),
            format!("{mention} and @&#8203;org/team, a@&#8203;b `@code`")
        );
        assert_eq!(cell("see #12, # 1, a <b>"), "see #&#8203;12, # 1, a &lt;b&gt;");
        // What Markdown does not take for code is not taken for code.
        for text in ["`@everyone", "` @everyone ``", "``@everyone``", "\\` @everyone", "`a`` @everyone"] {
            assert!(cell(text).contains(mention), "{text}: {}", cell(text));
            assert!(!cell(text).contains('`'), "{text}: {}", cell(text));
        }
        assert_eq!(cell("\\`@everyone `"), "&#92;`@everyone `");
        assert_eq!(cell("`a\\|@everyone`"), "`a¦@everyone`");
    }

    #[test]
    fn nothing_checked_is_not_clean() {
        assert!(page(&Report::default()).contains("Nothing was checked."));
    }
}
