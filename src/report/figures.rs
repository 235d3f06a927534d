//! The figures of kernels before and after an edit, in the form that all formats for people share.
//!
//! Kernels and architectures with equal memory figures share a row. Registers and occupancy differ between
//! architectures, so they are shown as ranges; the JSON format has each value.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use lmem_base::diagnostic::{Footprint, KernelInstance, ResourceUsage, Suggestion, VerifiedKernel};
use lmem_base::gpu::Arch;
use lmem_base::words::plural;

use super::names::{shorten, shorten_all};

/// Limit on the rows of a table; the JSON format has all.
const MAX_ROWS: usize = 6;
/// Limit on the characters of a table's line.
const MAX_COLUMNS: usize = 92;

/// The figures below an excerpt or an edit: a sentence, or a table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Figures {
    rows: Vec<(FigureKey, Row)>,
}

/// The key of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FigureKey {
    bytes: Reverse<u64>,
    /// Sorted by the largest frame of a name, with all rows of one name together.
    name: String,
    build: Option<String>,
    before: Memory,
    after: Option<Memory>,
}

/// Figures that ptxas reports in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Memory {
    stack_frame: Reverse<u64>,
    spill_stores: u64,
    spill_loads: u64,
    shared: u64,
}

impl From<&ResourceUsage> for Memory {
    fn from(usage: &ResourceUsage) -> Self {
        Self {
            stack_frame: Reverse(usage.stack_frame),
            spill_stores: usage.spill_stores,
            spill_loads: usage.spill_loads,
            shared: usage.shared,
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Row {
    architectures: BTreeSet<(Arch, String)>,
    registers: [FigureRange; 2],
    occupancy: [FigureRange; 2],
    /// Of machine code that grows much, in KiB.
    code: [FigureRange; 2],
}

/// Minimum and maximum of a figure; empty if no kernel has it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct FigureRange(Option<(u32, u32)>);

impl FigureRange {
    fn add(&mut self, value: u32) {
        self.0 = Some(self.0.map_or((value, value), |(least, most)| (least.min(value), most.max(value))));
    }
}

impl fmt::Display for FigureRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((least, most)) if least == most => write!(f, "{least}"),
            Some((least, most)) => write!(f, "{least}–{most}"),
            None => write!(f, "-"),
        }
    }
}

impl Figures {
    /// The figures of a finding's kernels, with those after a verified suggestion.
    pub fn new(kernels: &[KernelInstance], suggestion: Option<&Suggestion>) -> Self {
        let verification = suggestion.and_then(|suggestion| suggestion.verification.as_ref());
        let toolkits: BTreeSet<&str> = kernels.iter().map(|kernel| kernel.toolkit.as_str()).collect();
        let mut rows: BTreeMap<FigureKey, Row> = BTreeMap::new();
        for kernel in kernels {
            let verified = verification.and_then(|verification| verified(&verification.kernels, kernel));
            if verification.is_some() && verified.is_none() {
                continue;
            }
            let toolkit = if toolkits.len() > 1 { format!(" (CUDA {})", kernel.toolkit) } else { String::new() };
            let key = FigureKey {
                bytes: Reverse(kernel.bytes),
                name: kernel.name.clone(),
                build: kernel.build.clone(),
                before: (&kernel.usage).into(),
                after: verified.map(|verified| (&verified.after.usage).into()),
            };
            let row = rows.entry(key).or_default();
            row.architectures.insert((Arch::of(&kernel.arch), format!("{}{toolkit}", kernel.arch)));
            let after = verified.map(|verified| &verified.after);
            add(&mut row.registers, kernel.usage.registers, after.map(|after| after.usage.registers));
            let before = verified.and_then(|verified| verified.before.occupancy_percent);
            if let (Some(before), Some(after)) = (before, after.and_then(|after: &Footprint| after.occupancy_percent)) {
                add(&mut row.occupancy, before, Some(after));
            }
            if let Some((before, after)) = verified.and_then(|verified| grown(&verified.before, &verified.after)) {
                row.code[0].add(before);
                row.code[1].add(after);
            }
        }
        Self { rows: rows.into_iter().collect() }
    }

    /// The figures as text; `None` without kernels.
    pub fn text(&self) -> Option<String> {
        match self.rows.as_slice() {
            [] => None,
            [(key, row)] => Some(self.sentence(key, row)),
            _ => Some(self.table()),
        }
    }

    /// The only kernel, or the number of kernels, for the location line of the finding.
    pub fn kernel(&self) -> Option<String> {
        let names: BTreeSet<&str> = self.rows.iter().map(|(key, _)| key.name.as_str()).collect();
        match names.len() {
            1 => names.first().map(|name| format!("`{}`", shorten(name))),
            _ => None,
        }
    }

    fn sentence(&self, key: &FigureKey, row: &Row) -> String {
        let columns: Vec<Column> = self.columns().into_iter().filter(|column| *column != Column::Share).collect();
        let figures = columns.iter().map(|column| format!("{} {}", column.name(), column.cell(key, row)));
        let figures = figures.collect::<Vec<_>>().join(", ");
        let build = key.build.as_ref().map(|build| format!(", `{build}`")).unwrap_or_default();
        let architectures = join(&row.architectures);
        format!("{architectures}{build}: {figures}")
    }

    /// The columns that are not empty.
    fn columns(&self) -> Vec<Column> {
        let all = [
            Column::Stack,
            Column::Share,
            Column::SpillStores,
            Column::SpillLoads,
            Column::Registers,
            Column::Shared,
            Column::Occupancy,
            Column::Code,
        ];
        all.into_iter().filter(|column| self.rows.iter().any(|(key, row)| column.is_said(key, row))).collect()
    }

    /// The table. Occupancy can be derived from the other columns, and is left out if the table would be too wide.
    fn table(&self) -> String {
        let mut columns = self.columns();
        let table = self.table_of(&columns);
        if table.lines().all(|line| line.chars().count() <= MAX_COLUMNS) {
            return table;
        }
        columns.retain(|column| *column != Column::Occupancy);
        self.table_of(&columns)
    }

    fn table_of(&self, columns: &[Column]) -> String {
        let shown = &self.rows[..self.rows.len().min(MAX_ROWS)];
        let names: BTreeSet<(&str, Option<&str>)> =
            self.rows.iter().map(|(key, _)| (key.name.as_str(), key.build.as_deref())).collect();
        let one = (names.len() == 1).then_some(());
        // The location line names a single kernel; otherwise each row has a name.
        let mut heading = vec![String::new()];
        heading.extend(one.is_none().then(String::new));
        heading.extend(columns.iter().map(|column| column.name().to_string()));
        let mut cells = vec![heading];
        let short = shorten_all(&shown.iter().map(|(key, _)| key.name.as_str()).collect::<Vec<_>>());
        for ((key, row), name) in shown.iter().zip(&short) {
            let mut line = match one {
                Some(_) => vec![join(&row.architectures)],
                None => vec![named(name, key), join(&row.architectures)],
            };
            line.extend(columns.iter().map(|column| column.cell(key, row)));
            cells.push(line);
        }
        let names = if one.is_some() { 1 } else { 2 };
        let mut lines = align(&cells, names);
        lines.extend(self.rest());
        lines.join("\n")
    }

    fn rest(&self) -> Option<String> {
        let hidden = self.rows.get(MAX_ROWS..).filter(|hidden| !hidden.is_empty())?;
        let kernels: BTreeSet<&str> = hidden.iter().map(|(key, _)| key.name.as_str()).collect();
        let kernels = plural(kernels.len() as u64, "more kernel");
        Some(format!("… and {kernels} (all in `--message-format json`)"))
    }
}

fn add(ranges: &mut [FigureRange; 2], before: u32, after: Option<u32>) {
    // ptxas reports registers for kernels; those of callees are included there.
    if before > 0 {
        ranges[0].add(before);
        after.into_iter().for_each(|after| ranges[1].add(after));
    }
}

/// The machine code before and after, in KiB, if it grows so much that the reader should weigh it: by half, and by more than any cache of instructions keeps at hand.
fn grown(before: &Footprint, after: &Footprint) -> Option<(u32, u32)> {
    let is_grown =
        before.code_bytes > 0 && after.code_bytes > before.code_bytes + (before.code_bytes / 2).max(CODE_SAID);
    let kib = |bytes: u64| u32::try_from(bytes.div_ceil(1024)).ok();
    if is_grown { Some((kib(before.code_bytes)?, kib(after.code_bytes)?)) } else { None }
}

/// Bytes of machine code that are worth a word.
const CODE_SAID: u64 = 8 << 10;

/// The verified figures of a kernel. A file that is compiled in several ways has a kernel several times.
fn verified<'v>(verified: &'v [VerifiedKernel], kernel: &KernelInstance) -> Option<&'v VerifiedKernel> {
    let mut same = verified.iter().filter(|it| it.mangled == kernel.mangled && it.arch == kernel.arch);
    let first = same.clone().next();
    same.find(|it| it.before.usage == kernel.usage).or(first)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Stack,
    /// The finding's share of the frame.
    Share,
    SpillStores,
    SpillLoads,
    Registers,
    Shared,
    Occupancy,
    Code,
}

impl Column {
    fn name(self) -> &'static str {
        match self {
            Self::Stack => "stack frame",
            Self::Share => "of it here",
            Self::SpillStores => "spill stores",
            Self::SpillLoads => "spill loads",
            Self::Registers => "registers",
            Self::Shared => "shared memory",
            Self::Occupancy => "occupancy",
            Self::Code => "machine code",
        }
    }

    /// Whether a row has a value in this column.
    fn is_said(self, key: &FigureKey, row: &Row) -> bool {
        let differs = |figure: fn(&Memory) -> u64| key.after.is_some_and(|after| figure(&after) != figure(&key.before));
        match self {
            Self::Stack => true,
            Self::Share => key.after.is_none() && key.bytes.0 > 0 && key.bytes.0 != key.before.stack_frame.0,
            Self::SpillStores | Self::SpillLoads => {
                let spilled = |memory: Memory| memory.spill_stores + memory.spill_loads > 0;
                spilled(key.before) || key.after.is_some_and(spilled)
            }
            Self::Registers => row.registers[0].0.is_some(),
            Self::Shared => differs(|memory| memory.shared),
            Self::Occupancy => row.occupancy[0] != row.occupancy[1],
            Self::Code => row.code[0] != row.code[1],
        }
    }

    fn cell(self, key: &FigureKey, row: &Row) -> String {
        let memory = |figure: fn(&Memory) -> u64| {
            let before = figure(&key.before);
            match key.after.map(|after| figure(&after)).filter(|after| *after != before) {
                Some(after) => format!("{before} → {after} B"),
                None => format!("{before} B"),
            }
        };
        let ranges = |[before, after]: [FigureRange; 2], unit: &str| match after.0.is_some() && before != after {
            true => format!("{before} → {after}{unit}"),
            false if before.0.is_none() => "-".to_string(),
            false => format!("{before}{unit}"),
        };
        match self {
            Self::Stack => memory(|memory| memory.stack_frame.0),
            Self::Share => format!("{} B", key.bytes.0),
            Self::SpillStores => memory(|memory| memory.spill_stores),
            Self::SpillLoads => memory(|memory| memory.spill_loads),
            Self::Shared => memory(|memory| memory.shared),
            Self::Registers => ranges(row.registers, ""),
            Self::Occupancy => ranges(row.occupancy, " %"),
            Self::Code => ranges(row.code, " KiB"),
        }
    }
}

fn named(name: &str, key: &FigureKey) -> String {
    let build = key.build.as_ref().map(|build| format!(" with `{build}`")).unwrap_or_default();
    format!("`{name}`{build}")
}

fn join(architectures: &BTreeSet<(Arch, String)>) -> String {
    architectures.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Aligns the first columns, which are names, to the left, and the others, which are numbers, to the right.
pub(super) fn align(rows: &[Vec<String>], names: usize) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let cell = |(column, text): (usize, &String)| match column < names {
        true => format!("{text:<width$}", width = widths[column]),
        false => format!("{text:>width$}", width = widths[column]),
    };
    rows.iter().map(|row| row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    fn text(kernels: &[KernelInstance]) -> String {
        Figures::new(kernels, None).text().unwrap()
    }

    #[test]
    fn one_kernel_is_a_sentence() {
        let mut kernel = samples::kernel("running_mean<32>", "sm_90", 128);
        assert_eq!(text(&[kernel.clone()]), "sm_90: stack frame 128 B, registers 31");
        kernel.usage.spill_stores = 2048;
        assert_eq!(text(&[kernel]), "sm_90: stack frame 128 B, spill stores 2048 B, spill loads 0 B, registers 31");
    }

    #[test]
    fn equal_memory_shares_a_row_and_architectures_are_in_order() {
        let mut kernels = ["sm_100", "sm_90", "sm_80"].map(|arch| samples::kernel("scan", arch, 64));
        kernels[0].usage.registers = 40;
        assert_eq!(text(&kernels), "sm_80, sm_90, sm_100: stack frame 64 B, registers 31–40");
    }

    #[test]
    fn machine_code_is_said_where_it_grows_much() {
        let of = |code_bytes| Footprint { code_bytes, ..Footprint::default() };
        assert_eq!(grown(&of(20 << 10), &of(40 << 10)), Some((20, 40)));
        assert_eq!(grown(&of(20 << 10), &of(29 << 10)), None);
        assert_eq!((grown(&of(1 << 10), &of(9 << 10)), grown(&of(0), &of(99 << 10))), (None, None));
    }

    #[test]
    fn other_figures_and_builds_are_rows() {
        let mut kernels = [samples::kernel("scan", "sm_90", 64), samples::kernel("scan", "sm_80", 32)];
        assert_eq!(
            text(&kernels),
            "       stack frame  registers\nsm_90         64 B         31\nsm_80         32 B         31"
        );
        for (kernel, build) in kernels.iter_mut().zip(["-DTAPS=8", "-DTAPS=4"]) {
            kernel.build = Some(build.to_string());
        }
        assert!(text(&kernels).contains("`scan` with `-DTAPS=8`  sm_90"), "{}", text(&kernels));
    }

    #[test]
    fn a_long_table_ends_with_what_is_left_out() {
        let kernels: Vec<_> = (0..236).map(|size| samples::kernel(&format!("gemm<{size}>"), "sm_90", 64)).collect();
        let text = text(&kernels);
        assert_eq!(text.lines().count(), 1 + MAX_ROWS + 1);
        assert!(text.ends_with("… and 230 more kernels (all in `--message-format json`)"), "{text}");
    }
}
