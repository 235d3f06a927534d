//! The last lines of the human format on stderr: what was checked, found, and left out.

use std::time::Duration;

use codespan_reporting::term::termcolor::{Ansi, Color, ColorSpec, NoColor, WriteColor};

use lmem_base::diagnostic::{Applicability, BaselineTally, SinceTally, Summary};
use lmem_base::words::plural;

/// Width of the right-aligned status words in cargo's progress lines.
const STATUS_WIDTH: usize = 12;

/// A summary of the run in cargo's style, with a trailing line break.
pub fn summary(summary: &Summary, elapsed: Duration, color: bool) -> String {
    let lines = lines(summary, elapsed);
    let bytes = if color {
        let mut writer = Ansi::new(Vec::new());
        lines.iter().for_each(|line| write_line(line, &mut writer));
        writer.into_inner()
    } else {
        let mut writer = NoColor::new(Vec::new());
        lines.iter().for_each(|line| write_line(line, &mut writer));
        writer.into_inner()
    };
    String::from_utf8_lossy(&bytes).into_owned()
}

struct SummaryLine {
    status: &'static str,
    color: Color,
    text: String,
}

fn write_line(line: &SummaryLine, writer: &mut dyn WriteColor) {
    let mut style = ColorSpec::new();
    style.set_fg(Some(line.color)).set_bold(true);
    // Writing to a vector does not fail.
    let _ = writer.set_color(&style);
    let _ = write!(writer, "{:>STATUS_WIDTH$}", line.status);
    let _ = writer.reset();
    let _ = writeln!(writer, " {}", line.text);
}

fn lines(summary: &Summary, elapsed: Duration) -> Vec<SummaryLine> {
    let mut lines = Vec::new();
    let mut push = |status, color, text| lines.push(SummaryLine { status, color, text });
    if let Some(part) = &summary.partition {
        let left = match part.left_to_others {
            0 => "none is left to others".to_string(),
            1 => "1 is left to the others".to_string(),
            left => format!("{left} are left to the others"),
        };
        let text = format!("{} of {}: {}, {left}", part.number, part.count, files(part.units));
        push("Partition", Color::Cyan, text);
    }
    if summary.units == 0 && summary.not_analysed == 0 {
        // The note that there was nothing to check was printed before.
        return lines;
    }
    if summary.failed_units > 0 {
        let units = files(summary.failed_units);
        let of_all =
            if summary.failed_units < summary.units { format!(" of {}", summary.units) } else { String::new() };
        push("Failed", Color::Red, format!("{units}{of_all} could not be checked"));
    }
    if summary.not_analysed > 0 {
        let texts = plural(summary.not_analysed as u64, "kernel source");
        push(
            "Skipped",
            Color::Yellow,
            format!("{texts} not checked, see the notes; `cargo lmem run` sees what a program makes"),
        );
    }
    if summary.debug_units > 0 {
        let units = files(summary.debug_units);
        push("Skipped", Color::Yellow, format!("{units} compiled for debugging and not checked"));
    }
    if summary.interrupted {
        push("Interrupted", Color::Yellow, "there may be more to find, and to suggest".to_string());
    }
    if summary.is_nothing_checked() {
        let text = format!("nothing was checked, in {:.2}s", elapsed.as_secs_f64());
        push("Finished", Color::Yellow, text);
        return lines;
    }
    let is_clean =
        !summary.interrupted && summary.findings.is_empty() && summary.failed_units == 0 && summary.not_analysed == 0;
    push("Found", if is_clean { Color::Green } else { Color::Yellow }, found(summary));
    if let Some(baseline) = summary.baseline.as_ref().filter(|tally| !tally.is_empty()) {
        push("Baseline", Color::Cyan, beside_baseline(baseline));
    }
    if let Some(since) = &summary.since {
        push("Compared", Color::Cyan, beside_revision(since));
    }
    if let Some(fixed) = &summary.fixed {
        let (problems, files) = (plural(fixed.problems as u64, "problem"), plural(fixed.files as u64, "file"));
        let status = match (fixed.problems, fixed.is_written) {
            (0, _) => "Fixing",
            (_, true) => "Fixed",
            (_, false) => "Would fix",
        };
        let text = if fixed.problems == 0 { "nothing to fix".to_string() } else { format!("{problems} in {files}") };
        push(status, Color::Green, text);
    }
    if !summary.suggested.is_empty() {
        push("Suggested", Color::Cyan, suggested(summary));
    }
    for note in notes(summary) {
        push("Note", Color::Cyan, note);
    }
    let color = if summary.failed_units == 0 && !summary.interrupted { Color::Green } else { Color::Yellow };
    push("Finished", color, finished(summary, elapsed));
    lines
}

/// What the tree silences, where the other lines are not shown: a report without findings must not look like one of a tree without.
pub fn not_shown(summary: &Summary) -> Option<String> {
    let known = summary.baseline.as_ref().map_or(0, |tally| tally.known);
    let parts: Vec<String> =
        [(summary.silenced, "silenced by settings, levels or comments"), (known, "known to the baseline")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, why)| format!("{} {why}", plural(count as u64, "finding")))
            .collect();
    (!parts.is_empty()).then(|| format!("not shown: {}", parts.join(", ")))
}

fn suggested(summary: &Summary) -> String {
    let number = |applicability| summary.suggested.get(&applicability).copied().unwrap_or(0);
    let (safe, judged) = (number(Applicability::MachineApplicable), number(Applicability::MaybeIncorrect));
    let open = number(Applicability::HasPlaceholders);
    let mut parts = Vec::new();
    if safe > 0 {
        parts.push(format!("{safe} with `--fix`"));
    }
    if judged > 0 {
        parts
            .push(format!("{judged} with `--fix --unsafe-fixes` (review {})", if judged == 1 { "it" } else { "them" }));
    }
    if open > 0 {
        parts.push(format!("{open} by hand (the launch is yours to check)"));
    }
    let noun = if safe + judged + open == 1 { "verified fix" } else { "verified fixes" };
    format!("{} {noun}: {}", safe + judged + open, parts.join(", "))
}

fn found(summary: &Summary) -> String {
    let total: usize = summary.findings.values().sum();
    let place = match summary.architectures.len() {
        0 | 1 => String::new(),
        _ => format!(" ({})", summary.frame_architecture),
    };
    let frames = match (summary.frame_bytes, summary.unexplained_bytes) {
        _ if summary.kernels == 0 => "no kernel was checked".to_string(),
        (0, _) if summary.failed_units > 0 => "no local memory in what compiled".to_string(),
        (0, _) if summary.findings.contains_key(OUTSIDE_FRAMES) => {
            "no stack frames, but memory of `alloca`".to_string()
        }
        (0, _) => "no local memory".to_string(),
        (frame, unexplained) => {
            // Rounded down, so that unexplained bytes never show as 100 %.
            let percent = (frame - unexplained.min(frame)) * 100 / frame;
            format!("{frame} B of stack frames over all kernels{place}, {percent} % attributed")
        }
    };
    if total == 0 {
        let is_compared =
            summary.since.is_some() || summary.baseline.as_ref().is_some_and(|baseline| baseline.known > 0);
        let nothing = match (is_compared, summary.silenced > 0) {
            (true, true) => "nothing new that is not silenced",
            (true, false) => "nothing new",
            (false, true) => "nothing that is not silenced",
            (false, false) => "nothing to report",
        };
        return format!("{nothing}; {frames}");
    }
    let lints: Vec<String> = summary.findings.iter().map(|(lint, number)| format!("{number} {lint}")).collect();
    format!("{} ({}); {frames}", plural(total as u64, "finding"), lints.join(", "))
}

/// The lint whose findings are about memory that no frame has.
const OUTSIDE_FRAMES: &str = "dynamic_alloca";

/// Lints whose findings are about the flags of a file, so that no line of it is to blame.
const OF_WHOLE_FILES: [&str; 2] = ["debug_build", "ineffective_option"];

/// Notes that apply to all findings, each once.
fn notes(summary: &Summary) -> Vec<String> {
    let mut notes = Vec::new();
    let of_code = summary.findings.keys().find(|lint| !OF_WHOLE_FILES.contains(&lint.as_str()));
    if let Some(lint) = of_code {
        notes.push(format!(
            "`cargo lmem explain {lint}` tells more; `// lmem: allow({lint})` above the code silences one"
        ));
    } else if let Some(lint) = summary.findings.keys().next() {
        notes.push(format!("`cargo lmem explain {lint}` tells more; `// lmem: allow-file({lint})` silences a file"));
    }
    if summary.assumed_units > 0 && summary.assumed_units > summary.failed_units {
        let units = files(summary.assumed_units);
        let advice = if summary.flag_advice.is_empty() { String::new() } else { format!("; {}", summary.flag_advice) };
        notes.push(format!("flags of {units} are assumed{advice}"));
    }
    if summary.failed_units > 0 && summary.failed_units < summary.units {
        notes.push("`exclude` in the settings leaves out sources that no build compiles as they are".to_string());
    }
    notes
}

/// `12 known findings, not shown; 1 new, 2 worse`
fn beside_baseline(tally: &BaselineTally) -> String {
    let known = format!("{}, not shown", plural(tally.known as u64, "known finding"));
    let better = counted(&[(tally.gone, "gone"), (tally.smaller, "smaller")]);
    let better = better.map(|better| format!("{better}: tighten with `--write-baseline`"));
    let worse = counted(&[(tally.new, "new"), (tally.worse, "worse")]);
    [Some(known), worse, better].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// ``with `HEAD`: 3 changed sources, 40 compared; 12 findings as before, not shown; 1 new, 2 worse``
fn beside_revision(since: &SinceTally) -> String {
    let tally = &since.tally;
    let changed = match (since.changed_units, since.compared_units) {
        (_, 0) => None,
        (0, compared) => Some(format!("no changed source, {compared} compared")),
        (changed, compared) if changed < compared => {
            Some(format!("{}, {compared} compared", plural(changed as u64, "changed source")))
        }
        (changed, _) => Some(plural(changed as u64, "changed source")),
    };
    let known = match tally.known {
        0 => None,
        known => Some(format!("{} as before, not shown", plural(known as u64, "finding"))),
    };
    let worse = counted(&[(tally.new, "new"), (tally.worse, "worse")]);
    let better = counted(&[(tally.gone, "gone"), (tally.smaller, "smaller")]);
    let said: Vec<String> = [changed, known, worse, better].into_iter().flatten().collect();
    let said = if said.is_empty() { "no checked source changed".to_string() } else { said.join("; ") };
    format!("with `{}`: {said}", since.revision)
}

/// `2 new, 1 worse`, without those that are zero.
fn counted(counts: &[(usize, &str)]) -> Option<String> {
    let said = counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    said.reduce(|all, one| format!("{all}, {one}"))
}

fn finished(summary: &Summary, elapsed: Duration) -> String {
    let kernels = match summary.architectures.len() {
        0 => plural(summary.kernels as u64, "kernel"),
        1 => format!("{} for {}", plural(summary.kernels as u64, "kernel"), summary.architectures[0]),
        _ => format!("{} for {}", plural(summary.kernels as u64, "kernel build"), summary.architectures.join(", ")),
    };
    let cached = match summary.cached_units {
        0 => String::new(),
        cached => format!(", {cached} from the cache"),
    };
    format!("{kernels} in {:.2}s ({}{cached})", elapsed.as_secs_f64(), files(summary.units))
}

/// Units are files, or strings in files.
fn files(units: usize) -> String {
    plural(units as u64, "source")
}

#[cfg(test)]
mod tests {
    use super::*;
    use snapbox::{IntoData, assert_data_eq, str};

    #[test]
    fn what_is_silenced_is_one_line() {
        assert_eq!(not_shown(&Summary::default()), None);
        let baseline = Some(BaselineTally { known: 2, ..BaselineTally::default() });
        assert_eq!(
            not_shown(&Summary { silenced: 1, baseline, ..Summary::default() }).as_deref(),
            Some("not shown: 1 finding silenced by settings, levels or comments, 2 findings known to the baseline")
        );
    }

    #[test]
    fn a_run_in_full() {
        let report = Summary {
            units: 12,
            kernels: 236,
            failed_units: 1,
            cached_units: 10,
            findings: [("dynamic_index".to_string(), 2), ("register_spill".to_string(), 1)].into(),
            frame_architecture: "sm_80".to_string(),
            frame_bytes: 4096,
            unexplained_bytes: 128,
            not_analysed: 2,
            architectures: vec!["sm_80".to_string(), "sm_90".to_string()],
            ..Summary::default()
        };
        assert_data_eq!(
            summary(&report, Duration::from_millis(1234), false),
            str![[r#"
      Failed 1 source of 12 could not be checked
     Skipped 2 kernel sources not checked, see the notes; `cargo lmem run` sees what a program makes
       Found 3 findings (2 dynamic_index, 1 register_spill); 4096 B of stack frames over all kernels (sm_80), 96 % attributed
        Note `cargo lmem explain dynamic_index` tells more; `// lmem: allow(dynamic_index)` above the code silences one
        Note `exclude` in the settings leaves out sources that no build compiles as they are
    Finished 236 kernel builds for sm_80, sm_90 in 1.23s (12 sources, 10 from the cache)

"#]]
            .raw()
        );
    }

    #[test]
    fn memory_of_alloca_is_local_memory() {
        let report = Summary { kernels: 1, findings: [("dynamic_alloca".to_string(), 1)].into(), ..Summary::default() };
        assert!(found(&report).ends_with("no stack frames, but memory of `alloca`"), "{}", found(&report));
    }

    #[test]
    fn nothing_is_green_that_was_not_checked() {
        let text = |report: &Summary, color| summary(report, Duration::ZERO, color);
        assert_eq!(text(&Summary::default(), false), "");
        let failed = Summary { units: 3, failed_units: 3, architectures: vec!["sm_90".into()], ..Summary::default() };
        assert_data_eq!(
            text(&failed, false),
            str![[r#"
      Failed 3 sources could not be checked
    Finished nothing was checked, in 0.00s

"#]]
            .raw()
        );
        let green = "\u{1b}[32m";
        let partly = Summary { kernels: 5, failed_units: 1, ..failed.clone() };
        let unread = Summary { not_analysed: 2, ..Summary::default() };
        let empty = Summary { units: 2, units_without_kernels: 2, ..Summary::default() };
        for report in [failed, partly, unread, empty] {
            assert!(!text(&report, true).contains(green), "{report:?}:\n{}", text(&report, true));
        }
        let clean = Summary { units: 1, kernels: 1, ..Summary::default() };
        let cut = Summary { interrupted: true, ..clean.clone() };
        assert!(!text(&cut, true).contains(green) && text(&cut, false).contains("Interrupted"));
        assert!(text(&clean, true).contains(green));
    }

    #[test]
    fn a_clean_run_is_two_lines() {
        let report = Summary { units: 1, kernels: 1, architectures: vec!["sm_90".into()], ..Summary::default() };
        assert_data_eq!(
            summary(&report, Duration::ZERO, false),
            str![[r#"
       Found nothing to report; no local memory
    Finished 1 kernel for sm_90 in 0.00s (1 source)

"#]]
            .raw()
        );
    }
}
