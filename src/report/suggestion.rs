//! Suggested edits: the changed lines, and the results of compiling them.

use std::ops::Range;
use std::sync::Arc;

use lmem_base::diagnostic::{Comparison, Edit, Suggestion, Verification};
use lmem_base::edit;
use lmem_base::source::SourceFile;

use super::Context;
use super::excerpt::clean;
use super::wrap::wrapped;

/// Limit on the lines of an edit; `-v` shows all.
const MAX_LINES: usize = 7;
/// Limit on the characters of a title, so that its line has room for more.
const MAX_TITLE: usize = 66;

/// A run of lines of one file, before and after.
#[derive(Debug)]
pub(super) struct Change<'a> {
    pub file: &'a Arc<SourceFile>,
    /// Number of the first line, from 1.
    pub line: usize,
    pub before: Vec<String>,
    pub after: Vec<String>,
}

/// The lines that a suggestion changes, in order.
pub(super) fn changes(suggestion: &Suggestion) -> Vec<Change<'_>> {
    let mut groups: Vec<(Range<usize>, Vec<&Edit>)> = Vec::new();
    for edit in &suggestion.edits {
        let lines = edit.span.start_line()..edit.span.file.line_column(edit.span.end).0 + 1;
        match groups.last_mut().filter(|(known, edits)| {
            known.end >= lines.start && edits.last().is_some_and(|last| last.span.file.path == edit.span.file.path)
        }) {
            Some((known, edits)) => {
                known.end = known.end.max(lines.end);
                edits.push(edit);
            }
            None => groups.push((lines, vec![edit])),
        }
    }
    groups.into_iter().filter_map(|(lines, edits)| change(lines, &edits)).collect()
}

fn change<'a>(lines: Range<usize>, edits: &[&'a Edit]) -> Option<Change<'a>> {
    let file = &edits.first()?.span.file;
    let start = file.line_range(lines.start)?.start;
    let end = file.line_range(lines.end - 1)?.end;
    let text = file.text();
    let edited = edit::apply(text, edits)?;
    let before = text.get(start..end)?;
    let after = edited.get(start..edited.len() - (text.len() - end))?;
    let split = |text: &str| text.split('\n').map(|line| line.trim_end_matches('\r').to_string()).collect::<Vec<_>>();
    let (mut before, mut after, mut line) = (split(before), split(after), lines.start);
    while !before.is_empty() && before.last() == after.last() {
        before.pop();
        after.pop();
    }
    while !before.is_empty() && before.first() == after.first() {
        before.remove(0);
        after.remove(0);
        line += 1;
    }
    Some(Change { file, line, before, after })
}

/// The suggestion as lines below a diagnostic; `figures` are the results of compiling it.
pub(super) fn text(
    suggestion: &Suggestion,
    figures: Option<&str>,
    primary: Option<&Arc<SourceFile>>,
    cx: &Context,
) -> String {
    let changes = changes(suggestion);
    let last = changes.iter().map(|change| change.line + change.before.len().max(1)).max().unwrap_or(0);
    let width = last.to_string().len();
    let paint =
        |text: &str, code: &str| if cx.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_string() };
    let bar = paint("│", "34");
    let title = wrapped(&clean(&titled(suggestion)), cx.columns(), "help: ".len(), "      ");
    let mut lines = vec![format!("{}: {title}", paint("help", "1;36"))];
    let mut shown = primary;
    let count: usize = changes.iter().map(|change| change.before.len() + change.after.len()).sum();
    // The line that reports a single omitted line would take as much space.
    let mut room = if cx.full || count <= MAX_LINES + 1 { count } else { MAX_LINES };
    let mut left = count;
    for change in &changes {
        let size = change.before.len() + change.after.len();
        // A change is shown completely or not at all, except that a first one that is too long is cut.
        if room == 0 || (size > room && left < count) {
            break;
        }
        if shown.is_none_or(|file| file.path != change.file.path) {
            let place = format!("{}:{}", clean(&change.file.display), change.line);
            lines.push(format!("{:width$} {} {place}", "", paint("┌─", "34")));
        }
        shown = Some(change.file);
        let before = change.before.len().min(room.saturating_sub(change.after.len()).max(room / 2));
        let after = change.after.len().min(room - before);
        for (number, line) in (change.line..).zip(&change.before).take(before) {
            lines.push(format!("{number:>width$} {bar} {}", paint(&format!("- {}", cut(line, cx.width)), "31")));
        }
        // If lines are only added, the line above them shows the position.
        let above = change.line.checked_sub(1).filter(|_| change.before.is_empty());
        if let Some((number, range)) = above.and_then(|number| Some((number, change.file.line_range(number)?))) {
            let line = change.file.text().get(range).unwrap_or("");
            lines.push(format!("{number:>width$} {bar}   {}", cut(line, cx.width)));
        }
        for line in change.after.iter().take(after) {
            lines.push(format!("{:width$} {bar} {}", "", paint(&format!("+ {}", cut(line, cx.width)), "32")));
        }
        room -= before + after;
        left -= before + after;
    }
    if left > 0 {
        lines.push(format!("{:width$} {bar} … {left} more lines (`-v` shows all)", ""));
    }
    let equals = paint("=", "34");
    let open = if suggestion.is_proven() { "" } else { "not verified (not compiled)" };
    let figures = figures.unwrap_or(open);
    for said in joined(figures, shown_by_runs(suggestion), cx.columns().saturating_sub(width + 3))
        .into_iter()
        .chain(measured(suggestion))
    {
        for (index, line) in wrapped(&said, cx.columns(), width + 3, "").lines().enumerate() {
            let mark = if index == 0 { equals.as_str() } else { " " };
            lines.push(format!("{:width$} {mark} {line}", ""));
        }
    }
    lines.iter().map(|line| line.trim_end().to_string() + "\n").collect()
}

/// Figures and results as one text where that takes fewer lines.
fn joined(figures: &str, results: Option<String>, columns: usize) -> Vec<String> {
    let Some(results) = results else { return vec![figures.to_string()] };
    let both = format!("{figures}; {results}");
    let lines = |text: &str| wrapped(text, columns, 0, "").lines().count();
    let is_shorter = lines(&both) < lines(figures) + lines(&results);
    match !figures.is_empty() && !figures.contains('\n') && is_shorter {
        true => vec![both],
        false => vec![figures.to_string(), results],
    }
}

/// What a GPU showed, if that was asked for.
fn measured(suggestion: &Suggestion) -> Option<String> {
    Some(suggestion.verification.as_ref()?.measured()?.to_string())
}

/// What running the edited kernels showed: their results, and the estimated gain.
pub(super) fn shown_by_runs(suggestion: &Suggestion) -> Option<String> {
    let verification = suggestion.verification.as_ref()?;
    let results = verification.results()?;
    Some(match verification.speedup() {
        Some(speedup) => format!("{results}; {speedup}"),
        None => results.to_string(),
    })
}

/// The title, and that the edit was compiled.
fn titled(suggestion: &Suggestion) -> String {
    let verification = suggestion.verification.as_ref();
    // Where no results were compared, the compiler alone has verified the edit.
    let is_compared = !matches!(verification.and_then(Verification::results), Some(Comparison::NotCompared { .. }));
    let verified = match suggestion.is_proven() {
        true if suggestion.title.chars().count() <= MAX_TITLE => " (verified by recompiling)",
        true if is_compared => " (verified)",
        true => " (recompiled)",
        false => "",
    };
    format!("{}{verified}", suggestion.title)
}

/// Cuts a line for a terminal: it may contain a whole kernel.
fn cut(line: &str, columns: usize) -> String {
    let line = clean(line).replace('\t', "    ");
    match line.char_indices().nth(columns) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use lmem_base::diagnostic::{Applicability, Footprint, ResourceUsage, Speedup, VerifiedKernel};
    use lmem_base::source::Span;
    use snapbox::{IntoData, assert_data_eq, str};

    fn suggestion() -> Suggestion {
        let text = "a\n#pragma unroll 1\nb\n    for (;;)\n";
        let file = SourceFile::from_text("a.cu", text);
        let edit = |range: Range<usize>, replacement: &str| Edit::alone(Span::new(&file, range), replacement);
        let footprint = |stack_frame, registers, percent| Footprint {
            usage: ResourceUsage { stack_frame, registers, ..ResourceUsage::default() },
            occupancy_percent: Some(percent),
            ..Footprint::default()
        };
        let kernel = |arch: &str| VerifiedKernel {
            name: "k".into(),
            mangled: "k".into(),
            arch: arch.into(),
            before: footprint(128, 31, 100),
            after: footprint(0, 46, 62),
            results: Some(Comparison::Same { launches: 24 }),
            speedup: Some(Speedup { percent: 160, low_percent: 86, high_percent: 358 }),
            local_share: None,
            measured: None,
            block_limit: None,
        };
        Suggestion {
            title: "unroll the loops".into(),
            applicability: Applicability::MachineApplicable,
            edits: vec![edit(10..18, "unroll"), edit(25..25, "#pragma unroll\n    ")],
            rounds: None,
            keeps_loops: false,
            is_by_statement: false,
            threads: None,
            must_end_spills: false,
            blocks_must_fit: false,
            warps_must_stay: false,
            is_within_kernel: true,
            verification: Some(Verification { kernels: vec![kernel("sm_90"), kernel("sm_80")] }),
        }
    }

    fn shown(suggestion: &Suggestion, full: bool) -> String {
        let packages = samples::packages();
        let cx = Context { full, ..samples::context(&packages) };
        text(suggestion, None, None, &cx)
    }

    #[test]
    fn estimates_stand_beside_the_results() {
        let faster = shown(&suggestion(), false);
        assert!(faster.ends_with(" = same results in 24 launches; about 1.6× faster (0.9–3.6)\n"), "{faster}");
        let mut unknown = suggestion();
        unknown.verification.iter_mut().flat_map(|it| &mut it.kernels).for_each(|kernel| kernel.speedup = None);
        assert!(shown(&unknown, false).ends_with(" = same results in 24 launches\n"));
    }

    #[test]
    fn long_edits_are_shortened() {
        let file = SourceFile::from_text("a.cu", &"old\n".repeat(30));
        let edits = vec![Edit::alone(Span::new(&file, 0..120), "new\n".repeat(4))];
        let long = Suggestion { edits, ..suggestion() };
        assert!(shown(&long, false).contains(" … 27 more lines (`-v` shows all)\n"), "{}", shown(&long, false));
        assert_eq!(shown(&long, true).matches("new\n").count(), 4);
    }

    #[test]
    fn edits_are_shown_as_lines() {
        assert_data_eq!(
            shown(&suggestion(), false),
            str![[r#"
help: unroll the loops (verified by recompiling)
  ┌─ a.cu:2
2 │ - #pragma unroll 1
  │ + #pragma unroll
3 │   b
  │ +     #pragma unroll
  = same results in 24 launches; about 1.6× faster (0.9–3.6)

"#]]
            .raw()
        );
        let open = Suggestion { verification: None, ..suggestion() };
        assert!(shown(&open, false).ends_with("  = not verified (not compiled)\n"));
    }
}
