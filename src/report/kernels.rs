//! The figures of each checked kernel, with a finding or without: what `--kernels` lists.

use std::collections::BTreeSet;

use serde::Serialize;

use lmem_base::comparison::{ChangeKind, KernelChange, KernelFootprint, Version};
use lmem_base::words::plural;

use super::comparison::{columns, figure, is_same_kernel, names, place};
use super::figures::align;
use super::markdown::{cell, code};

/// A kernel on one architecture, as JSON has it.
#[derive(Debug, Serialize)]
pub(super) struct ListedKernel<'a> {
    kernel: &'a str,
    file: &'a str,
    line: Option<usize>,
    arch: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    build: Option<&'a str>,
    #[serde(flatten)]
    footprint: &'a KernelFootprint,
}

/// The kernels by file, line, name and architecture; one that several files include is there once.
pub(super) fn listed(version: &Version) -> Vec<ListedKernel<'_>> {
    let mut seen = BTreeSet::new();
    let mut rows: Vec<ListedKernel<'_>> = Vec::new();
    for kernel in &version.kernels {
        let (file, line) = match &kernel.place {
            Some((file, line)) => (file.as_str(), Some(*line)),
            None => (kernel.unit.as_str(), None),
        };
        let build = kernel.build.as_deref();
        if seen.insert((file, line, &kernel.name, &kernel.arch, build, kernel.footprint)) {
            let footprint = &kernel.footprint;
            rows.push(ListedKernel { kernel: &kernel.name, file, line, arch: &kernel.arch, build, footprint });
        }
    }
    rows.sort_by_key(|row| (row.file, row.line, row.kernel, row.arch, row.build));
    rows
}

/// A table in Markdown, or nothing where no kernel was checked.
pub(super) fn markdown(version: &Version, limit: usize) -> String {
    let kernels: Vec<KernelChange> = listed(version).iter().map(as_change).collect();
    if kernels.is_empty() {
        return String::new();
    }
    let columns = columns(&kernels);
    let names: String = columns.iter().map(|column| format!(" {} |", column.name)).collect();
    let mut text = format!("\n| kernel | architecture |{names}\n|---|---|{}\n", "---:|".repeat(columns.len()));
    let shown = &kernels[..kernels.len().min(limit)];
    for (kernel, name) in shown.iter().zip(self::names(shown)) {
        let figures: String = columns.iter().map(|column| format!(" {} |", figure(column, kernel))).collect();
        let (name, at) = (cell(&name), code(&place(kernel)));
        text.push_str(&format!("| {name} ({at}) | {} |{figures}\n", kernel.arch));
    }
    if let Some(more) = kernels.len().checked_sub(limit).filter(|more| *more > 0) {
        text.push_str(&format!("\n… and {}\n", plural(more as u64, "more row")));
    }
    text
}

/// A table for people, or nothing where no kernel was checked.
pub(super) fn table(version: &Version) -> String {
    let kernels: Vec<KernelChange> = listed(version).iter().map(as_change).collect();
    if kernels.is_empty() {
        return String::new();
    }
    let columns = columns(&kernels);
    let mut rows = vec![["kernel", "place", "architecture"].map(str::to_string).to_vec()];
    rows[0].extend(columns.iter().map(|column| column.name.to_string()));
    let mut short = names(&kernels).into_iter();
    for kernels in kernels.chunk_by(is_same_kernel) {
        for (index, (kernel, name)) in kernels.iter().zip(short.by_ref()).enumerate() {
            let mut row = if index == 0 { vec![name, place(kernel)] } else { vec![String::new(); 2] };
            row.push(kernel.arch.clone());
            row.extend(columns.iter().map(|column| figure(column, kernel)));
            rows.push(row);
        }
    }
    align(&rows, 3).iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A row of the table of `cargo lmem diff`, which has one version here.
fn as_change(kernel: &ListedKernel<'_>) -> KernelChange {
    KernelChange {
        kernel: kernel.kernel.to_string(),
        file: kernel.file.to_string(),
        line: kernel.line,
        arch: kernel.arch.to_string(),
        build: kernel.build.map(str::to_string),
        change: ChangeKind::New,
        before: None,
        after: Some(*kernel.footprint),
    }
}

#[cfg(test)]
mod tests {
    use lmem_base::comparison::MeasuredKernel;
    use snapbox::{IntoData, assert_data_eq, str};

    use super::*;

    fn kernel(unit: &str, name: &str, arch: &str, stack_frame: u64) -> MeasuredKernel {
        MeasuredKernel {
            unit: unit.to_string(),
            place: (name != "generated").then(|| ("a.cuh".to_string(), 3)),
            name: name.to_string(),
            arch: arch.to_string(),
            build: None,
            footprint: KernelFootprint {
                stack_frame,
                spill_stores: 0,
                spill_loads: 0,
                registers: 24,
                shared: 0,
                occupancy_percent: Some(100),
            },
        }
    }

    #[test]
    fn kernels_without_findings_are_listed_too_and_each_once() {
        let kernels = vec![
            kernel("b.cu", "scan", "sm_90", 0),
            kernel("a.cu", "scan", "sm_80", 64),
            kernel("a.cu", "scan", "sm_90", 0),
            kernel("c.cu", "generated", "sm_90", 0),
        ];
        let version = Version { kernels, ..Version::default() };
        assert_data_eq!(
            table(&version),
            str![[r#"
kernel     place    architecture  stack frame  registers  occupancy
scan       a.cuh:3  sm_80                64 B         24      100 %
                    sm_90                 0 B         24      100 %
generated  c.cu     sm_90                 0 B         24      100 %

"#]]
            .raw()
        );
        let json = serde_json::to_value(listed(&version)).unwrap();
        assert_eq!(
            (&json[0]["kernel"], &json[0]["stack_frame"], json[2]["line"].is_null()),
            (&"scan".into(), &64.into(), true)
        );
        assert_eq!(table(&Version::default()), "");
    }
}
