//! The lines below an excerpt: kernels with their figures, where flags come from, which lint speaks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lmem_base::diagnostic::{Code, Diagnostic, Evidence, FlagOrigin, KernelInstance, Label, Location, Severity};
use lmem_base::gpu::Arch;
use lmem_base::source::Span;
use lmem_lints::remark::{self, COMPILER_WARNING};

use super::Context;
use super::position::place;

/// Rows of a table of kernels; the JSON format has all.
const MAX_ROWS: usize = 8;
/// Characters of a kernel's name in a table.
const MAX_NAME: usize = 60;

/// Kernels of which it is said where they are loaded, and places of one.
const MAX_LOADED: usize = 3;
/// Lines between a load and what is shown anyway.
const NEAR: usize = 10;

/// All facts of a diagnostic, one note each; a note may have several lines.
pub(super) fn notes(diagnostic: &Diagnostic) -> Vec<String> {
    notes_with(diagnostic, Vec::new())
}

/// The same for people, who want to know where the kernels are used.
pub(super) fn notes_for_people(diagnostic: &Diagnostic) -> Vec<String> {
    notes_with(diagnostic, loads(diagnostic))
}

fn notes_with(diagnostic: &Diagnostic, loads: Vec<String>) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(diagnostic.evidence.as_ref().and_then(kernels));
    notes.extend(loads);
    notes.extend(diagnostic.notes.iter().cloned());
    notes.extend(diagnostic.evidence.as_ref().and_then(flags));
    notes.extend(lint(diagnostic));
    notes
}

/// The message with all labels, facts and advice below it, for formats that show text at one place only.
pub(super) fn plain_text(diagnostic: &Diagnostic) -> String {
    text_with(diagnostic, |_, label| format!("{}: {}", place(&label.span), label.text))
}

/// The same, with a line of the format's own for each secondary label, which are counted from 1.
pub(super) fn text_with(diagnostic: &Diagnostic, secondary: fn(usize, &Label) -> String) -> String {
    let mut lines = vec![diagnostic.message.clone()];
    lines.extend(diagnostic.primary.iter().map(|label| label.text.clone()).filter(|text| !text.is_empty()));
    lines.extend((1..).zip(&diagnostic.secondary).map(|(number, label)| secondary(number, label)));
    lines.extend(notes(diagnostic).iter().map(|note| format!("note: {note}")));
    lines.extend(diagnostic.help.iter().map(|help| format!("help: {}", help.message)));
    lines.join("\n")
}

/// The path of a span's file below the repository root; absolute where the file lies outside the workspace.
pub(super) fn repository_path(span: &Span, cx: &Context) -> String {
    let path = &span.file.display;
    if Path::new(path).is_absolute() { path.clone() } else { format!("{}{path}", cx.repository_prefix) }
}

/// `1 register`, `2 registers`.
pub(super) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// The word for a severity that all formats share.
pub(super) fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// Where Rust code loads the kernels, for those whose users do not stand beside what is shown.
fn loads(diagnostic: &Diagnostic) -> Vec<String> {
    let shown: Vec<Location> =
        diagnostic.primary.iter().chain(&diagnostic.secondary).map(|label| Location::from(&label.span)).collect();
    let is_near =
        |load: &&Location| shown.iter().any(|shown| shown.file == load.file && shown.line.abs_diff(load.line) <= NEAR);
    let mut places: BTreeMap<&str, BTreeSet<&Location>> = BTreeMap::new();
    for kernel in diagnostic.evidence.iter().flat_map(|evidence| &evidence.kernels) {
        places.entry(&kernel.name).or_default().extend(&kernel.loaded_at);
    }
    places.retain(|_, places| !places.is_empty() && !places.iter().any(is_near));
    let line = |(name, places): (&&str, &BTreeSet<&Location>)| {
        let named: Vec<String> = places.iter().take(MAX_LOADED).map(ToString::to_string).collect();
        let more = places.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("kernel `{}` is loaded at {}{more}", shorten(name), named.join(", "))
    };
    let mut lines: Vec<String> = places.iter().take(MAX_LOADED).map(line).collect();
    if let Some(more) = places.len().checked_sub(MAX_LOADED).filter(|more| *more > 0) {
        lines.push(format!("… and {} (all in `--message-format json`)", count(more as u64, "more kernel")));
    }
    lines
}

fn flags(evidence: &Evidence) -> Option<String> {
    (evidence.flags()? == FlagOrigin::Assumed).then(|| "flags: assumed".to_string())
}

fn lint(diagnostic: &Diagnostic) -> Option<String> {
    let name = match &diagnostic.code {
        Code::Lint(name) => name,
        // What is no more than a note, or always an error, has no level to speak of.
        Code::Tool(name) if diagnostic.severity != Severity::Note && has_level(name) => name,
        Code::Compiler(_) if diagnostic.severity == Severity::Warning => COMPILER_WARNING,
        Code::Tool(_) | Code::Compiler(_) => return None,
    };
    let level = match diagnostic.severity {
        Severity::Note => "",
        Severity::Warning => " (warn)",
        Severity::Error => " (deny)",
    };
    Some(format!("lint `{name}`{level}: `cargo lmem explain {name}`"))
}

fn has_level(name: &str) -> bool {
    remark::find(name).is_some_and(|remark| remark.severity != Severity::Error)
}

/// Kernels that share name and figures; the architectures are what differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    bytes: Reverse<u64>,
    name: String,
    stack_frame: u64,
    spill_stores: u64,
    spill_loads: u64,
    registers: u32,
}

fn kernels(evidence: &Evidence) -> Option<String> {
    let rows = rows(&evidence.kernels);
    match rows.as_slice() {
        [] => None,
        [(row, architectures)] => Some(sentence(row, architectures)),
        _ => Some(table(&rows)),
    }
}

fn rows(kernels: &[KernelInstance]) -> Vec<(Row, String)> {
    let toolkits: BTreeSet<&str> = kernels.iter().map(|kernel| kernel.toolkit.as_str()).collect();
    let mut rows: BTreeMap<Row, BTreeSet<(Arch, String)>> = BTreeMap::new();
    for kernel in kernels {
        let toolkit = if toolkits.len() > 1 { format!(" (CUDA {})", kernel.toolkit) } else { String::new() };
        let architecture = (Arch::of(&kernel.arch), format!("{}{toolkit}", kernel.arch));
        rows.entry(Row::new(kernel)).or_default().insert(architecture);
    }
    rows.into_iter().map(|(row, architectures)| (row, join(architectures))).collect()
}

impl Row {
    fn new(kernel: &KernelInstance) -> Self {
        Self {
            bytes: Reverse(kernel.bytes),
            name: kernel.name.clone(),
            stack_frame: kernel.usage.stack_frame,
            spill_stores: kernel.usage.spill_stores,
            spill_loads: kernel.usage.spill_loads,
            registers: kernel.usage.registers,
        }
    }
}

fn join(architectures: BTreeSet<(Arch, String)>) -> String {
    let names: Vec<String> = architectures.into_iter().map(|(_, name)| name).collect();
    names.join(", ")
}

fn sentence(row: &Row, architectures: &str) -> String {
    let spills = match (row.spill_stores, row.spill_loads) {
        (stores, loads) if stores == loads => format!("spills {stores} B"),
        (stores, loads) => format!("spills {stores} B stored and {loads} B loaded"),
    };
    let frame = format!("`{}`, {architectures}: stack frame {} B, {spills}", row.name, row.stack_frame);
    match is_kernel(row) {
        true => format!("kernel {frame}, {}", count(row.registers.into(), "register")),
        false => format!("function {frame}"),
    }
}

/// ptxas counts registers of kernels; functions that they call take part in those.
fn is_kernel(row: &Row) -> bool {
    row.registers > 0
}

fn table(rows: &[(Row, String)]) -> String {
    // What speaks of a kernel as a whole has no share in its frame.
    let has_share = rows.iter().any(|(row, _)| row.bytes.0 > 0);
    let with_share = has_share && rows.iter().any(|(row, _)| row.bytes.0 != row.stack_frame);
    let with_loads = rows.iter().any(|(row, _)| row.spill_stores != row.spill_loads);
    let mut cells = vec![header(with_share, with_loads)];
    cells.extend(rows.iter().take(MAX_ROWS).map(|(row, archs)| row_cells(row, archs, with_share, with_loads)));
    let mut lines = align(&cells);
    lines.extend(rest(rows));
    lines.join("\n")
}

fn header(with_share: bool, with_loads: bool) -> Vec<String> {
    let share: &[&str] = if with_share { &["of it here"] } else { &[] };
    let spills: &[&str] = if with_loads { &["spills stored", "loaded"] } else { &["spills"] };
    let names = [&["kernels", "architectures", "stack frame"], share, spills, &["registers"]].concat();
    names.into_iter().map(str::to_string).collect()
}

fn row_cells(row: &Row, architectures: &str, with_share: bool, with_loads: bool) -> Vec<String> {
    let mut cells = vec![format!("`{}`", shorten(&row.name)), architectures.to_string()];
    cells.push(format!("{} B", row.stack_frame));
    if with_share {
        cells.push(format!("{} B", row.bytes.0));
    }
    cells.push(format!("{} B", row.spill_stores));
    if with_loads {
        cells.push(format!("{} B", row.spill_loads));
    }
    cells.push(if is_kernel(row) { row.registers.to_string() } else { "-".to_string() });
    cells
}

/// The first two columns are names and stand left, the others are numbers and stand right.
fn align(rows: &[Vec<String>]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let cell = |(column, text): (usize, &String)| match column {
        0 | 1 => format!("{text:<width$}", width = widths[column]),
        _ => format!("{text:>width$}", width = widths[column]),
    };
    rows.iter().map(|row| row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ")).collect()
}

fn rest(rows: &[(Row, String)]) -> Option<String> {
    let hidden = rows.get(MAX_ROWS..).filter(|hidden| !hidden.is_empty())?;
    let kernels: BTreeSet<&str> = hidden.iter().map(|(row, _)| row.name.as_str()).collect();
    let kernels = count(kernels.len() as u64, "more kernel");
    Some(format!("… and {kernels} (all in `--message-format json`)"))
}

/// Template arguments stand at the end and differ, so a long name loses its middle.
fn shorten(name: &str) -> String {
    let length = name.chars().count();
    if length <= MAX_NAME {
        return name.to_string();
    }
    let half = MAX_NAME / 2;
    let head: String = name.chars().take(half).collect();
    let tail: String = name.chars().skip(length - (half - 1)).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn numbers_agree_with_their_nouns() {
        assert_eq!(count(0, "register"), "0 registers");
        assert_eq!(count(1, "register"), "1 register");
        assert_eq!(count(2, "byte"), "2 bytes");
    }

    #[test]
    fn loads_are_said_where_they_are_not_seen() {
        let at = |file: &str, line: usize| Location { file: file.to_string(), line, column: 17 };
        let lines = |kernels: &[(&str, Vec<Location>)]| {
            let mut diagnostic = samples::variable();
            let kernel = |(name, loaded_at): &(&str, Vec<Location>)| KernelInstance {
                loaded_at: loaded_at.clone(),
                ..samples::kernel(name, "sm_90", 128)
            };
            diagnostic.evidence.as_mut().unwrap().kernels = kernels.iter().map(kernel).collect();
            loads(&diagnostic)
        };
        let main = |line| at("src/main.rs", line);
        assert_eq!(lines(&[("mean", vec![])]), [""; 0]);
        assert_eq!(lines(&[("mean", vec![main(42)])]), ["kernel `mean` is loaded at src/main.rs:42:17"]);
        assert_eq!(
            lines(&[("mean", (1..=5).map(main).collect())]),
            ["kernel `mean` is loaded at src/main.rs:1:17, src/main.rs:2:17, src/main.rs:3:17 and 2 more"]
        );
        // The variable stands in line 3.
        assert_eq!(lines(&[("mean", vec![at("kernels/running_mean.cu", 12), main(1)])]), [""; 0]);
        assert_eq!(lines(&[("mean", vec![at("kernels/running_mean.cu", 40)])]).len(), 1);
        let four = ["a", "b", "c", "d"].map(|name| (name, vec![main(1)]));
        assert_eq!(lines(&four)[3], "… and 1 more kernel (all in `--message-format json`)");
    }

    #[test]
    fn one_kernel_is_a_sentence() {
        let mut kernel = samples::kernel("running_mean<32>", "sm_90", 128);
        kernel.usage.registers = 1;
        kernel.usage.spill_stores = 2048;
        let evidence = Evidence { kernels: vec![kernel], ..Evidence::default() };
        let expected = "kernel `running_mean<32>`, sm_90: stack frame 128 B, \
                        spills 2048 B stored and 0 B loaded, 1 register";
        assert_eq!(kernels(&evidence).as_deref(), Some(expected));
    }

    #[test]
    fn equal_figures_share_a_row_and_architectures_are_in_order() {
        let kernels = ["sm_100", "sm_90", "sm_80"].map(|arch| samples::kernel("scan", arch, 64));
        assert_eq!(rows(&kernels).len(), 1);
        assert_eq!(rows(&kernels)[0].1, "sm_80, sm_90, sm_100");
    }

    #[test]
    fn a_long_table_ends_with_what_is_left_out() {
        let instances = (0..236).map(|size| samples::kernel(&format!("gemm<{size}>"), "sm_90", 64)).collect();
        let text = kernels(&Evidence { kernels: instances, ..Evidence::default() }).unwrap();
        assert_eq!(text.lines().count(), 1 + MAX_ROWS + 1);
        assert!(text.ends_with("… and 228 more kernels (all in `--message-format json`)"), "{text}");
    }

    #[test]
    fn long_names_keep_both_ends() {
        let short = shorten(&format!("head{}<float, 32>", "x".repeat(300)));
        assert_eq!(short.chars().count(), MAX_NAME);
        assert!(short.starts_with("headx") && short.ends_with("<float, 32>"));
    }
}
