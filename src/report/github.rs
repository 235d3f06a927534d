//! Workflow commands that GitHub shows as annotations in a pull request.

use std::fmt::Write;
use std::io;

use lmem_base::diagnostic::{Diagnostic, Report, Severity};
use lmem_base::inert::is_active;
use lmem_base::source::Span;
use lmem_base::words::plural;

use super::facts::plain_text;
use super::position::{Columns, Region};
use super::{Context, facts};

/// GitHub shows this many annotations per level in one step, and silently drops the rest.
const MAX_PER_LEVEL: usize = 10;

/// Limit on the lines of an edit in an annotation, which GitHub collapses anyway.
const MAX_EDIT: usize = 20;

pub(super) fn render(report: &Report, cx: &Context, out: &mut dyn io::Write) -> io::Result<()> {
    if let Some(total) = total(&report.diagnostics) {
        writeln!(out, "{total}")?;
    }
    report.diagnostics.iter().try_for_each(|diagnostic| writeln!(out, "{}", command(diagnostic, cx)))
}

/// A line with the total, if GitHub will not show all findings. It comes first, since notices may be dropped too.
fn total(diagnostics: &[Diagnostic]) -> Option<String> {
    let of = |severity| diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let numbers = [(of(Severity::Error), "error"), (of(Severity::Warning), "warning"), (of(Severity::Note), "note")];
    if numbers.iter().all(|(number, _)| *number <= MAX_PER_LEVEL) {
        return None;
    }
    let present = numbers.iter().filter(|(number, _)| *number > 0);
    let words: Vec<String> = present.map(|(number, noun)| plural(*number as u64, noun)).collect();
    let message = format!("{} in all; GitHub shows the first {MAX_PER_LEVEL} of each", words.join(", "));
    Some(format!("::notice title=cargo lmem::{}", escape_data(&message)))
}

fn command(diagnostic: &Diagnostic, cx: &Context) -> String {
    let level = match diagnostic.severity {
        Severity::Note => "notice",
        severity => facts::severity_word(severity),
    };
    let mut properties = diagnostic.primary.as_ref().map(|label| place(&label.span, cx)).unwrap_or_default();
    let title = format!("lmem {}", diagnostic.code.name());
    // Writing to a string does not fail.
    let _ = write!(properties, "title={}", escape_property(title.trim_end()));
    format!("::{level} {properties}::{}", escape_data(&text(diagnostic)))
}

/// The text of a diagnostic, with the best edit below it.
fn text(diagnostic: &Diagnostic) -> String {
    let mut text = plain_text(diagnostic);
    let Some(suggestion) = diagnostic.suggestions.first() else { return text };
    let (title, proof) = facts::titled(diagnostic, suggestion);
    let edit = facts::edit_lines(suggestion);
    let left = edit.len().saturating_sub(MAX_EDIT);
    let more = (left > 0).then(|| format!("… {left} more lines"));
    let proof = proof.filter(|proof| proof.contains('\n'));
    for line in [format!("help: {title}")].into_iter().chain(proof).chain(edit.into_iter().take(MAX_EDIT)).chain(more) {
        text.push('\n');
        text.push_str(&line);
    }
    text
}

/// Columns are only given for spans on one line: GitHub rejects an end column on another line.
fn place(span: &Span, cx: &Context) -> String {
    let region = Region::new(span, Columns::Characters);
    let file = escape_property(&facts::repository_path(span, cx));
    let (line, end_line) = (region.start_line, region.end_line);
    let columns = match line == end_line {
        true => format!("col={},endColumn={},", region.start_column, region.end_column),
        false => String::new(),
    };
    format!("file={file},line={line},endLine={end_line},{columns}")
}

fn escape_data(text: &str) -> String {
    // The rest has no meaning in an annotation, but would act on a terminal that shows the log, or on its reader.
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    text.replace(|letter: char| is_active(letter) && letter != '\t', "\u{fffd}")
}

fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::MessageFormat;
    use crate::report::samples;
    use snapbox::{IntoData, assert_data_eq, str};

    #[test]
    fn one_command_each() {
        assert_data_eq!(samples::rendered(&samples::report(), MessageFormat::Github), str![[r#"
::error file=extra/broken.cu,line=1,endLine=1,col=23,endColumn=32,title=lmem nvcc::identifier "undefined" is undefined
::error file=include/scan.cuh,line=2,endLine=2,col=19,endColumn=24,title=lmem dynamic_index::`count` (`int[4]`, 16 B) is in local memory: dynamically indexed%0A16 B per thread%0Akernels/scan.cu:3:9: indexed here%0Anote: sm_90: stack frame 16 B, registers 31%0Anote: inlined at kernels/scan.cu:3
::warning file=kernels/running_mean.cu,line=3,endLine=3,col=11,endColumn=17,title=lmem dynamic_index::`window` (`float[32]`, 128 B) is in local memory: dynamically indexed%0A128 B per thread; 32 local loads, 1 store%0Akernels/running_mean.cu:7:16: divergent, loaded from memory (loop at line 4)%0Anote: sm_90: stack frame 128 B, registers 31%0Ahelp: index with the loop counter and unroll
::warning file=src/kernels.rs,line=2,endLine=2,col=49,endColumn=58,title=lmem register_spill::kernel `gemm_tile` spills: launch bounds allow 32 registers, 71 needed%0A380 B of stack per thread for spills%0Anote: sm_90: stack frame 384 B, spill stores 380 B, spill loads 420 B, registers 32%0Anote: spills in the loop at line 9
::notice title=lmem submodule::`third_party/cutlass` is a git submodule and was skipped

"#]].raw());
    }

    #[test]
    fn the_edit_is_part_of_the_annotation() {
        let packages = samples::packages();
        let text = command(&samples::proven(), &samples::context(&packages));
        let edit = "%0A@@ kernels/running_mean.cu:5 @@%0A-        int k = i %25 W;%0A+        int k = i;";
        assert!(text.ends_with(edit), "{text}");
        assert!(
            text.contains("help: index with the loop counter (verified by recompiling: sm_90: stack frame"),
            "{text}"
        );
    }

    #[test]
    fn the_total_is_said_where_annotations_are_dropped() {
        assert_eq!(total(&vec![samples::variable(); MAX_PER_LEVEL]), None);
        let mut many = vec![samples::variable(); MAX_PER_LEVEL + 1];
        many.push(samples::header());
        assert_data_eq!(
            total(&many).unwrap(),
            str!["::notice title=cargo lmem::1 error, 11 warnings in all; GitHub shows the first 10 of each"]
        );
    }

    #[test]
    fn files_count_from_the_repository_root() {
        let packages = samples::packages();
        let cx = Context { repository_prefix: "rust/", ..samples::context(&packages) };
        assert!(command(&samples::spill(), &cx).contains("file=rust/src/kernels.rs,"));
    }

    #[test]
    fn data_and_properties_are_escaped() {
        assert_eq!(escape_data("100 %\r\na: b, c"), "100 %25%0D%0Aa: b, c");
        assert_eq!(escape_data("\x1b[2J\0\u{9b}\t\u{202e}"), "\u{fffd}[2J\u{fffd}\u{fffd}\t\u{fffd}");
        assert_eq!(escape_property("a,b:c%0A"), "a%2Cb%3Ac%250A");
    }
}
