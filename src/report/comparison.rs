//! Kernels before and after a change: the table of `cargo lmem diff`.

use std::fmt::Write;
use std::io;

use serde::Serialize;

use lmem_base::comparison::{ChangeKind, KernelChange, KernelComparison, KernelFootprint};
use lmem_base::diagnostic::{Code, Diagnostic, Report, SinceTally};
use lmem_base::words::plural;

use super::excerpt::clean;
use super::figures::align;
use super::markdown::{cell, code, findings, made_with};
use super::names::shorten_all;
use super::{Context, human};
use crate::cli::MessageFormat;

/// Limit on the rows of a page. A comment on GitHub takes 65536 characters.
const MAX_ROWS: usize = 100;

/// Characters of a commit that people read.
const SHORT_COMMIT: usize = 10;

pub(super) fn render(
    comparison: &KernelComparison,
    report: &Report,
    format: MessageFormat,
    cx: &Context,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match format {
        MessageFormat::Json => {
            serde_json::to_writer(&mut *out, &Document { comparison, findings: report.summary.since.as_ref() })?;
            writeln!(out)
        }
        MessageFormat::Markdown => out.write_all(clean(&page(comparison, report)).as_bytes()),
        _ => {
            // Compilers' messages stand before the figures of what compiled.
            let errors = report.diagnostics.iter().filter(|diagnostic| diagnostic.is_failure()).cloned().collect();
            human::render(&Report { diagnostics: errors, ..Report::default() }, cx, out)?;
            out.write_all(table(comparison, report, cx.limit).as_bytes())?;
            new_or_worse(&report.diagnostics, cx.limit).iter().try_for_each(|line| writeln!(out, "{line}"))
        }
    }
}

/// A line for each finding of the change.
fn new_or_worse(diagnostics: &[Diagnostic], limit: Option<usize>) -> Vec<String> {
    let findings = diagnostics.iter().filter(|diagnostic| matches!(diagnostic.code, Code::Lint(_)));
    let mut lines: Vec<String> = findings.map(super::line).collect();
    let more = limit.and_then(|limit| lines.len().checked_sub(limit)).filter(|more| *more > 0);
    lines.truncate(limit.unwrap_or(usize::MAX));
    lines.extend(more.map(|more| format!("… and {}; `-v` shows all", plural(more as u64, "more finding"))));
    if !lines.is_empty() {
        lines.insert(0, "\nnew or worse:".to_string());
    }
    lines
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    comparison: &'a KernelComparison,
    findings: Option<&'a SinceTally>,
}

/// What is compared: `main` and its commit, unless it is called by that.
fn revision(comparison: &KernelComparison) -> String {
    let name = &comparison.revision;
    match comparison.commit.as_ref().and_then(|commit| commit.get(..SHORT_COMMIT)) {
        Some(commit) if !name.starts_with(commit) => format!("`{name}` ({commit})"),
        Some(commit) => format!("`{commit}`"),
        None => "an empty tree".to_string(),
    }
}

/// One sentence: how many kernels differ, and in which way.
fn tally(comparison: &KernelComparison, report: &Report) -> String {
    let against = revision(comparison);
    let unchanged = plural(comparison.unchanged as u64, "kernel");
    let architectures = match report.summary.architectures.as_slice() {
        [] => String::new(),
        all => format!(" for {}", all.join(", ")),
    };
    if comparison.kernels.is_empty() {
        return match comparison.unchanged {
            0 => format!("no kernel to compare with {against}"),
            _ if !comparison.not_compiled.is_empty() => {
                format!("no kernel that compiled differs from {against}: {unchanged} unchanged{architectures}")
            }
            _ => format!("no kernel differs from {against}: {unchanged} unchanged{architectures}"),
        };
    }
    let kinds = [
        (ChangeKind::More, "with more local memory"),
        (ChangeKind::MoreAndLess, "with more of one figure and less of another"),
        (ChangeKind::Less, "with less"),
        (ChangeKind::SameLocalMemory, "with the same local memory"),
        (ChangeKind::New, "new"),
        (ChangeKind::Removed, "removed"),
    ];
    let worst = worst(&comparison.kernels);
    let counted = kinds.into_iter().filter_map(|(kind, text)| {
        let count = worst.iter().filter(|it| **it == kind).count();
        (count > 0).then(|| format!("{count} {text}"))
    });
    let counted = counted.collect::<Vec<_>>().join(", ");
    let (number, verb) = (worst.len() as u64, if worst.len() == 1 { "differs" } else { "differ" });
    let others = match comparison.unchanged {
        0 => String::new(),
        _ => format!("; {unchanged} unchanged"),
    };
    format!("{} {verb} from {against}{architectures}: {counted}{others}", plural(number, "kernel"))
}

/// For each kernel, what is said of it first; its architectures may differ.
fn worst(kernels: &[KernelChange]) -> Vec<ChangeKind> {
    let order = |kind: &ChangeKind| match kind {
        ChangeKind::New | ChangeKind::Removed => 0,
        ChangeKind::More => 1,
        ChangeKind::MoreAndLess => 2,
        ChangeKind::Less => 3,
        ChangeKind::SameLocalMemory => 4,
    };
    let of_kernel = kernels.chunk_by(is_same_kernel).map(|rows| rows.iter().map(|row| row.change).min_by_key(order));
    of_kernel.flatten().collect()
}

pub(super) fn is_same_kernel(one: &KernelChange, other: &KernelChange) -> bool {
    (&one.file, &one.kernel, &one.build) == (&other.file, &other.kernel, &other.build)
}

pub(super) fn place(kernel: &KernelChange) -> String {
    let line = kernel.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{}{line}", kernel.file)
}

fn word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::New => "new",
        ChangeKind::Removed => "removed",
        ChangeKind::More => "more",
        ChangeKind::Less => "less",
        ChangeKind::MoreAndLess => "more and less",
        ChangeKind::SameLocalMemory => "same local memory",
    }
}

/// The figures of a row, under their headings.
pub(super) struct Column {
    pub name: &'static str,
    unit: &'static str,
    figure: fn(&KernelFootprint) -> Option<u64>,
    /// The column is shown if this holds for a row.
    is_said: fn(&KernelChange) -> bool,
}

/// The columns that say something of a row.
pub(super) fn columns(kernels: &[KernelChange]) -> Vec<Column> {
    fn spills(kernel: &KernelChange) -> bool {
        kernel.before.iter().chain(&kernel.after).any(|it| it.spill_stores + it.spill_loads > 0)
    }
    fn shared(kernel: &KernelChange) -> bool {
        kernel.before.zip(kernel.after).is_some_and(|(before, after)| before.shared != after.shared)
    }
    let all = [
        Column { name: "stack frame", unit: " B", figure: |it| Some(it.stack_frame), is_said: |_| true },
        Column { name: "spill stores", unit: " B", figure: |it| Some(it.spill_stores), is_said: spills },
        Column { name: "spill loads", unit: " B", figure: |it| Some(it.spill_loads), is_said: spills },
        Column { name: "registers", unit: "", figure: |it| Some(it.registers.into()), is_said: |_| true },
        Column { name: "shared memory", unit: " B", figure: |it| Some(it.shared), is_said: shared },
        Column { name: "occupancy", unit: " %", figure: |it| it.occupancy_percent.map(u64::from), is_said: |_| true },
    ];
    all.into_iter().filter(|column| kernels.iter().any(column.is_said)).collect()
}

/// `0 → 64 B`; one figure where both are equal, and where there is only one.
pub(super) fn figure(column: &Column, kernel: &KernelChange) -> String {
    let before = kernel.before.as_ref().and_then(column.figure);
    let after = kernel.after.as_ref().and_then(column.figure);
    match (before, after) {
        (Some(before), Some(after)) if before != after => format!("{before} → {after}{}", column.unit),
        (Some(one), _) | (None, Some(one)) => format!("{one}{}", column.unit),
        (None, None) => "-".to_string(),
    }
}

/// The names of the kernels in a table, in its order.
pub(super) fn names(kernels: &[KernelChange]) -> Vec<String> {
    let short = shorten_all(&kernels.iter().map(|kernel| kernel.kernel.as_str()).collect::<Vec<_>>());
    let named = kernels.iter().zip(short).map(|(kernel, name)| {
        let build = kernel.build.as_ref().map(|build| format!(" with `{build}`")).unwrap_or_default();
        format!("{name}{build}")
    });
    named.collect()
}

fn table(comparison: &KernelComparison, report: &Report, limit: Option<usize>) -> String {
    let shown = &comparison.kernels[..comparison.kernels.len().min(limit.unwrap_or(usize::MAX))];
    let columns = columns(shown);
    let mut text = String::new();
    if !shown.is_empty() {
        let mut rows = vec![["kernel", "place", "architecture", "change"].map(str::to_string).to_vec()];
        rows[0].extend(columns.iter().map(|column| column.name.to_string()));
        let mut short = names(shown).into_iter();
        for kernels in shown.chunk_by(is_same_kernel) {
            for (index, (kernel, name)) in kernels.iter().zip(short.by_ref()).enumerate() {
                let names = if index == 0 { [name, place(kernel)] } else { Default::default() };
                let mut row = names.to_vec();
                row.extend([kernel.arch.clone(), word(kernel.change).to_string()]);
                row.extend(columns.iter().map(|column| figure(column, kernel)));
                rows.push(row);
            }
        }
        for line in align(&rows, 4) {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        if let Some(more) = comparison.kernels.len().checked_sub(shown.len()).filter(|more| *more > 0) {
            // Writing to a string does not fail.
            let _ = writeln!(text, "… and {}; `-v` shows all", plural(more as u64, "more row"));
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}", tally(comparison, report));
    failures(comparison).iter().for_each(|line| text.push_str(&format!("{line}\n")));
    text
}

/// What could not be compared.
fn failures(comparison: &KernelComparison) -> Vec<String> {
    let quoted = |files: &std::collections::BTreeSet<String>| {
        files.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", ")
    };
    let mut lines = Vec::new();
    if !comparison.not_compiled.is_empty() {
        lines.push(format!("does not compile, and is not compared: {}", quoted(&comparison.not_compiled)));
    }
    if !comparison.not_compiled_before.is_empty() {
        let files = quoted(&comparison.not_compiled_before);
        lines.push(format!("did not compile in `{}`, so that its kernels count as new: {files}", comparison.revision));
    }
    lines
}

fn page(comparison: &KernelComparison, report: &Report) -> String {
    let mut sentence = tally(comparison, report);
    if let Some(first) = sentence.get(..1).map(str::to_uppercase) {
        sentence.replace_range(..1, &first);
    }
    let mut text = format!("## CUDA kernels before and after\n\n{}.\n", cell(&sentence));
    // Writing to a string does not fail.
    failures(comparison).iter().for_each(|line| text.push_str(&format!("\n**{}**\n", cell(line))));
    let shown = &comparison.kernels[..comparison.kernels.len().min(MAX_ROWS)];
    if !shown.is_empty() {
        let columns = columns(shown);
        let names: String = columns.iter().map(|column| format!(" {} |", column.name)).collect();
        let _ = writeln!(text, "\n| kernel | architecture | change |{names}");
        let _ = writeln!(text, "|---|---|---|{}", "---:|".repeat(columns.len()));
        for (kernel, name) in shown.iter().zip(self::names(shown)) {
            let figures: String = columns.iter().map(|column| format!(" {} |", marked(column, kernel))).collect();
            let (name, at) = (cell(&name), code(&place(kernel)));
            let _ = writeln!(text, "| {name} ({at}) | {} | {} |{figures}", kernel.arch, word(kernel.change));
        }
        if let Some(more) = comparison.kernels.len().checked_sub(MAX_ROWS).filter(|more| *more > 0) {
            let _ = writeln!(text, "\n… and {}", plural(more as u64, "more row"));
        }
    }
    if !report.diagnostics.is_empty() {
        let shown = &report.diagnostics[..report.diagnostics.len().min(MAX_ROWS)];
        let _ = write!(text, "\n### New or worse\n{}", findings(shown));
    }
    text + &made_with(&report.summary)
}

/// A figure that differs stands out.
fn marked(column: &Column, kernel: &KernelChange) -> String {
    match figure(column, kernel) {
        text if text.contains('→') => format!("**{text}**"),
        text => text,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lmem_base::diagnostic::Summary;
    use snapbox::{IntoData, assert_data_eq, str};

    use super::*;
    use crate::report::samples;

    fn footprint(stack_frame: u64, spill_stores: u64, registers: u32) -> KernelFootprint {
        let occupancy_percent = (registers < 200).then_some(50);
        KernelFootprint { stack_frame, spill_stores, spill_loads: 0, registers, shared: 0, occupancy_percent }
    }

    fn change(kernel: &str, arch: &str, change: ChangeKind, figures: [Option<KernelFootprint>; 2]) -> KernelChange {
        KernelChange {
            kernel: kernel.to_string(),
            file: "kernels/a.cu".to_string(),
            line: (kernel == "scan").then_some(3),
            arch: arch.to_string(),
            build: None,
            change,
            before: figures[0],
            after: figures[1],
        }
    }

    fn report() -> Report {
        let comparison = KernelComparison {
            revision: "main".to_string(),
            commit: Some("0123456789abcdef".to_string()),
            kernels: vec![
                change("scan", "sm_80", ChangeKind::More, [Some(footprint(0, 0, 30)), Some(footprint(64, 8, 40))]),
                change("scan", "sm_90", ChangeKind::Less, [Some(footprint(8, 0, 30)), Some(footprint(0, 0, 30))]),
                change("sum<a|b>", "sm_90", ChangeKind::New, [None, Some(footprint(0, 0, 255))]),
                change("old", "sm_90", ChangeKind::Removed, [Some(footprint(16, 0, 20)), None]),
            ],
            unchanged: 7,
            not_compiled: BTreeSet::from(["kernels/b.cu".to_string()]),
            not_compiled_before: BTreeSet::new(),
        };
        let summary = Summary { architectures: vec!["sm_80".into(), "sm_90".into()], ..Summary::default() };
        Report { comparison: Some(comparison), summary, diagnostics: vec![samples::variable()], ..Report::default() }
    }

    #[test]
    fn architectures_are_rows_of_a_kernel() {
        assert_data_eq!(
            samples::rendered(&report(), MessageFormat::Human),
            str![[r#"
kernel    place           architecture  change   stack frame  spill stores  spill loads  registers  occupancy
scan      kernels/a.cu:3  sm_80         more        0 → 64 B       0 → 8 B          0 B    30 → 40       50 %
                          sm_90         less         8 → 0 B           0 B          0 B         30       50 %
sum<a|b>  kernels/a.cu    sm_90         new              0 B           0 B          0 B        255          -
old       kernels/a.cu    sm_90         removed         16 B           0 B          0 B         20       50 %

3 kernels differ from `main` (0123456789) for sm_80, sm_90: 1 with more local memory, 1 new, 1 removed; 7 kernels unchanged
does not compile, and is not compared: `kernels/b.cu`

new or worse:
kernels/running_mean.cu:3:11: warning: `window` (`float[32]`, 128 B) is in local memory: dynamically indexed [dynamic_index]

"#]]
        );
    }

    #[test]
    fn a_page_has_the_table_and_what_is_new() {
        assert_data_eq!(
            samples::rendered(&report(), MessageFormat::Markdown),
            str![[r#"
## CUDA kernels before and after

3 kernels differ from `main` (0123456789) for sm_80, sm_90: 1 with more local memory, 1 new, 1 removed; 7 kernels unchanged.

**does not compile, and is not compared: `kernels/b.cu`**

| kernel | architecture | change | stack frame | spill stores | spill loads | registers | occupancy |
|---|---|---|---:|---:|---:|---:|---:|
| scan (`kernels/a.cu:3`) | sm_80 | more | **0 → 64 B** | **0 → 8 B** | 0 B | **30 → 40** | 50 % |
| scan (`kernels/a.cu:3`) | sm_90 | less | **8 → 0 B** | 0 B | 0 B | 30 | 50 % |
| sum&lt;a\|b&gt; (`kernels/a.cu`) | sm_90 | new | 0 B | 0 B | 0 B | 255 | - |
| old (`kernels/a.cu`) | sm_90 | removed | 16 B | 0 B | 0 B | 20 | 50 % |

### New or worse

| | finding | place | bytes | kernels |
|---|---|---|---:|---:|
| warning | `window` (`float[32]`, 128 B) is in local memory: dynamically indexed | `kernels/running_mean.cu:3:11` | 128 | 1 |

"#]].raw()
        );
    }

    #[test]
    fn json_has_each_figure() {
        let text = samples::rendered(&report(), MessageFormat::Json);
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let first = &document["kernels"][0];
        assert_eq!((first["change"].as_str(), first["before"]["stack_frame"].as_u64()), (Some("more"), Some(0)));
        assert_eq!(first["after"]["occupancy_percent"], 50);
        assert_eq!((document["unchanged"].as_u64(), document["kernels"][2]["before"].is_null()), (Some(7), true));
        assert_eq!(text.lines().count(), 1);
    }

    #[test]
    fn nothing_that_differs_is_one_line() {
        let comparison = KernelComparison { revision: "HEAD".to_string(), unchanged: 2, ..KernelComparison::default() };
        let text = table(&comparison, &Report::default(), None);
        assert_eq!(text, "no kernel differs from an empty tree: 2 kernels unchanged\n");
        let failing = BTreeSet::from(["a.cu".to_string()]);
        let failed = KernelComparison { not_compiled: failing, ..comparison.clone() };
        assert!(table(&failed, &Report::default(), None).starts_with("no kernel that compiled differs from"));
        let none = KernelComparison { unchanged: 0, ..comparison };
        assert!(page(&none, &Report::default()).contains("No kernel to compare with an empty tree."));
    }
}
