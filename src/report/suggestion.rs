//! Suggested edits: the lines that change, and what compiling them gave.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use lmem_base::diagnostic::{Edit, Suggestion, VerifiedKernel};
use lmem_base::edit;
use lmem_base::gpu::Arch;
use lmem_base::source::SourceFile;

use super::excerpt::clean;

/// Rows of figures that people read; the JSON format has all.
const MAX_ROWS: usize = 4;
/// Lines of one change that people read.
const MAX_LINES: usize = 20;
/// Of more lines the first and the last so many.
const END_LINES: usize = 6;

/// A run of lines of one file, before and after.
#[derive(Debug)]
pub(super) struct Change<'a> {
    pub file: &'a Arc<SourceFile>,
    /// Of the first line, from 1.
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

/// What is known of a suggestion's effect, one line each.
pub(super) fn proof(suggestion: &Suggestion) -> Vec<String> {
    let Some(verification) = &suggestion.verification else {
        return vec!["not verified: it was not compiled".to_string()];
    };
    let has_several = verification.kernels.iter().any(|kernel| kernel.mangled != verification.kernels[0].mangled);
    let mut rows: Vec<(String, Vec<&str>, String)> = Vec::new();
    let mut kernels: Vec<&VerifiedKernel> = verification.kernels.iter().collect();
    let number = |kernel: &VerifiedKernel| Arch::of(&kernel.arch);
    // The largest frames first; what differs in registers alone stays in the order of architectures.
    kernels.sort_by_key(|kernel| (Reverse(kernel.before.usage.stack_frame), kernel.mangled.clone(), number(kernel)));
    for kernel in kernels {
        let figures = figures(kernel);
        let name = if has_several { format!("`{}`, ", clean(&kernel.name)) } else { String::new() };
        match rows.iter_mut().find(|row| row.0 == name && row.2 == figures) {
            Some(row) => row.1.push(&kernel.arch),
            None => rows.push((name, vec![&kernel.arch], figures)),
        }
    }
    let hidden = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    let mut lines: Vec<String> = rows
        .into_iter()
        .map(|(name, architectures, figures)| {
            format!("proven by recompiling for {name}{}: {figures}", architectures.join(", "))
        })
        .collect();
    if hidden > 0 {
        lines.push(format!("and {hidden} more (all in `--message-format json`)"));
    }
    lines
}

fn figures(kernel: &VerifiedKernel) -> String {
    let (before, after) = (&kernel.before, &kernel.after);
    let mut parts = vec![change_of("stack frame", before.usage.stack_frame, after.usage.stack_frame, " B")];
    let spills = (before.usage.spilled(), after.usage.spilled());
    if spills != (0, 0) {
        parts.push(change_of("spills", spills.0, spills.1, " B"));
    }
    parts.push(change_of("registers", before.usage.registers.into(), after.usage.registers.into(), ""));
    if before.usage.shared != after.usage.shared {
        parts.push(change_of("shared memory", before.usage.shared, after.usage.shared, " B"));
    }
    if let (Some(old), Some(new)) = (before.occupancy_percent, after.occupancy_percent)
        && old != new
    {
        parts.push(change_of("occupancy", old.into(), new.into(), " %"));
    }
    parts.join(", ")
}

fn change_of(what: &str, before: u64, after: u64, unit: &str) -> String {
    if before == after { format!("{what} {before}{unit}") } else { format!("{what} {before} → {after}{unit}") }
}

/// The suggestion as lines below a diagnostic.
pub(super) fn text(suggestion: &Suggestion, primary: Option<&Arc<SourceFile>>, color: bool) -> String {
    let changes = changes(suggestion);
    let last = changes.iter().map(|change| change.line + change.before.len().max(1)).max().unwrap_or(0);
    let width = last.to_string().len();
    let paint = |text: String, code: &str| if color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text };
    let bar = || paint("│".to_string(), "34");
    let mut lines = vec![format!("{}: {}", paint("help".to_string(), "1;36"), clean(&suggestion.title))];
    let mut shown = primary;
    for change in &changes {
        if shown.is_none_or(|file| file.path != change.file.path) {
            lines.push(format!(
                "{:width$} {} {}:{}",
                "",
                paint("┌─".to_string(), "34"),
                change.file.display,
                change.line
            ));
            shown = Some(change.file);
        }
        lines.push(format!("{:width$} {}", "", bar()));
        let removed: Vec<(usize, &String)> = (change.line..).zip(&change.before).collect();
        for shown in shortened(&removed) {
            lines.push(match shown {
                Shown::Line((number, line)) => {
                    format!("{number:>width$} {} {}", bar(), paint(format!("- {}", cut(line)), "31"))
                }
                Shown::Hidden(count) => format!("{:>width$} {}   … {count} more lines", "", bar()),
            });
        }
        // Where lines are only added, the one above them tells the place.
        let above = change.line.checked_sub(1).filter(|_| change.before.is_empty());
        if let Some((number, range)) = above.and_then(|number| Some((number, change.file.line_range(number)?))) {
            let line = change.file.text().get(range).unwrap_or("");
            lines.push(format!("{number:>width$} {}   {}", bar(), cut(line)));
        }
        for shown in shortened(&change.after) {
            lines.push(match shown {
                Shown::Line(line) => format!("{:width$} {} {}", "", bar(), paint(format!("+ {}", cut(line)), "32")),
                Shown::Hidden(count) => format!("{:width$} {}   … {count} more lines", "", bar()),
            });
        }
    }
    lines.push(format!("{:width$} {}", "", bar()));
    lines.extend(proof(suggestion).iter().map(|line| format!("{:width$} {} {line}", "", paint("=".to_string(), "34"))));
    lines.iter().map(|line| line.trim_end().to_string() + "\n").collect()
}

/// A line of a change, or how many are left out.
enum Shown<'a, Line> {
    Line(&'a Line),
    Hidden(usize),
}

/// The lines, or of many the first and the last ones: `--diff` has all.
fn shortened<Line>(lines: &[Line]) -> Vec<Shown<'_, Line>> {
    if lines.len() <= MAX_LINES {
        return lines.iter().map(Shown::Line).collect();
    }
    let first = lines[..END_LINES].iter().map(Shown::Line);
    let last = lines[lines.len() - END_LINES..].iter().map(Shown::Line);
    first.chain([Shown::Hidden(lines.len() - 2 * END_LINES)]).chain(last).collect()
}

/// A line for a terminal: a whole kernel may stand in one.
fn cut(line: &str) -> String {
    const MAX: usize = super::DEFAULT_WIDTH;
    let line = clean(line).replace('\t', "    ");
    match line.char_indices().nth(MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::diagnostic::{Applicability, Footprint, ResourceUsage, Verification};
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
        };
        Suggestion {
            title: "unroll the loops".into(),
            applicability: Applicability::MachineApplicable,
            edits: vec![edit(10..18, "unroll"), edit(25..25, "#pragma unroll\n    ")],
            rounds: None,
            keeps_loops: false,
            threads: None,
            is_within_kernel: true,
            verification: Some(Verification { kernels: vec![kernel("sm_90"), kernel("sm_80")] }),
        }
    }

    #[test]
    fn long_changes_are_shortened() {
        let count = |lines: usize| {
            let lines = vec!["a"; lines];
            let counted = |shown| if let Shown::Hidden(count) = shown { count } else { 1 };
            shortened(&lines).into_iter().map(counted).sum::<usize>()
        };
        assert_eq!((shortened(&["a"; 20]).len(), shortened(&["a"; 21]).len()), (20, 13));
        assert_eq!((count(20), count(200)), (20, 200));
    }

    #[test]
    fn edits_are_shown_as_lines() {
        assert_data_eq!(
            text(&suggestion(), None, false),
            str![[r#"
help: unroll the loops
  ┌─ a.cu:2
  │
2 │ - #pragma unroll 1
  │ + #pragma unroll
  │
3 │   b
  │ +     #pragma unroll
  │
  = proven by recompiling for sm_80, sm_90: stack frame 128 → 0 B, registers 31 → 46, occupancy 100 → 62 %

"#]]
            .raw()
        );
        let open = Suggestion { verification: None, ..suggestion() };
        assert!(text(&open, None, false).ends_with("  = not verified: it was not compiled\n"));
    }
}
