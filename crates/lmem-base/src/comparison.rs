//! The figures of kernels in two versions of a project, side by side.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::gpu::Arch;

/// What one version's kernel takes on one architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct KernelFootprint {
    pub stack_frame: u64,
    pub spill_stores: u64,
    pub spill_loads: u64,
    pub registers: u32,
    pub shared: u64,
    /// Resident warps in percent of the architecture's maximum.
    pub occupancy_percent: Option<u32>,
}

impl KernelFootprint {
    /// Bytes of local memory, in the frame and moved by spills; only for sorting.
    fn local(&self) -> u64 {
        self.stack_frame.saturating_add(self.spill_stores).saturating_add(self.spill_loads)
    }
}

/// A kernel of one version, on one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredKernel {
    /// The file that is compiled, by the name that it has today.
    pub unit: String,
    /// Where the kernel's name stands, if that is known: file and line.
    pub place: Option<(String, usize)>,
    pub name: String,
    pub arch: String,
    /// The flags that distinguish this compilation of the file from its others.
    pub build: Option<String>,
    pub footprint: KernelFootprint,
}

/// All that is known of one version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Version {
    pub kernels: Vec<MeasuredKernel>,
    /// Files that did not compile, by the names that they have today.
    pub failed: BTreeSet<String>,
}

/// How the local memory of a kernel changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The older version does not have it.
    New,
    Removed,
    More,
    Less,
    /// More of one figure, and less of another.
    MoreAndLess,
    /// Only registers, shared memory or occupancy differ.
    SameLocalMemory,
}

/// A kernel with different figures on one architecture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KernelChange {
    pub kernel: String,
    pub file: String,
    pub line: Option<usize>,
    pub arch: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    pub change: ChangeKind,
    pub before: Option<KernelFootprint>,
    pub after: Option<KernelFootprint>,
}

/// Two versions of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct KernelComparison {
    /// The older version, as the user calls it.
    pub revision: String,
    /// Its commit; `None` before the first one.
    pub commit: Option<String>,
    /// The largest increase first.
    pub kernels: Vec<KernelChange>,
    /// Kernels with equal figures on all architectures.
    pub unchanged: usize,
    /// Files that do not compile now; their kernels are not compared.
    pub not_compiled: BTreeSet<String>,
    /// Files that did not compile then; their kernels count as new.
    pub not_compiled_before: BTreeSet<String>,
}

impl Version {
    /// The same version with other names of files.
    pub fn with_files(self, name: impl Fn(&str) -> String) -> Self {
        let renamed = |kernel: MeasuredKernel| {
            let place = kernel.place.map(|(file, line)| (name(&file), line));
            MeasuredKernel { unit: name(&kernel.unit), place, ..kernel }
        };
        Self {
            kernels: self.kernels.into_iter().map(renamed).collect(),
            failed: self.failed.iter().map(|file| name(file)).collect(),
        }
    }

    /// Number of kernels, each counted once for all architectures and files that include it.
    pub fn len(&self) -> usize {
        let file = |kernel: &MeasuredKernel| kernel.place.as_ref().map_or(&kernel.unit, |(file, _)| file).clone();
        let names: BTreeSet<(String, &str)> = self.kernels.iter().map(|it| (file(it), it.name.as_str())).collect();
        names.len()
    }

    /// Whether there are no kernels.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }
}

type Pair = (Option<MeasuredKernel>, Option<MeasuredKernel>);

impl KernelComparison {
    /// Compares two versions. `total` is the number of kernels of the newer one, with those that the change does not
    /// reach and that are not in `after`.
    pub fn of(before: Version, after: Version, total: usize) -> Self {
        let mut pairs = pairs(before.kernels, after.kernels);
        // A kernel of a file that does not compile now is not gone, and a newer version may be for fewer architectures.
        let there: BTreeSet<(String, String)> = pairs.iter().filter_map(|(_, now)| now.as_ref()).map(of_unit).collect();
        pairs.retain(|(then, now)| match (then, now) {
            (Some(then), None) => !after.failed.contains(&then.unit) && !there.contains(&of_unit(then)),
            _ => true,
        });
        let mut kernels: Vec<KernelChange> = pairs.into_iter().filter_map(change).collect();
        let names: BTreeSet<(&str, &str)> =
            kernels.iter().filter(|it| it.after.is_some()).map(|it| (it.file.as_str(), it.kernel.as_str())).collect();
        let unchanged = total.saturating_sub(names.len());
        sort(&mut kernels);
        // A kernel of a header that several files include is one kernel.
        kernels.dedup();
        Self { kernels, unchanged, not_compiled: after.failed, not_compiled_before: before.failed, ..Self::default() }
    }
}

fn of_unit(kernel: &MeasuredKernel) -> (String, String) {
    (kernel.unit.clone(), kernel.name.clone())
}

/// Finds for each kernel its counterpart: of the same file, else of the same file compiled otherwise, else of another
/// file where just one kernel has the name.
fn pairs(before: Vec<MeasuredKernel>, after: Vec<MeasuredKernel>) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let text = |text: &str| text.to_string();
    let exact = |it: &MeasuredKernel| {
        [text(&it.unit), text(&it.name), text(&it.arch), it.build.clone().unwrap_or_default(), String::new()]
    };
    // Texts of one Rust file may have kernels of one name: those with equal figures are each other's counterparts first.
    let equal = |it: &MeasuredKernel| {
        let [unit, name, arch, build, _] = exact(it);
        [unit, name, arch, build, format!("{:?}", it.footprint)]
    };
    let of_file = |it: &MeasuredKernel| [text(&it.unit), text(&it.name), text(&it.arch), String::new(), String::new()];
    let by_name = |it: &MeasuredKernel| [String::new(), text(&it.name), text(&it.arch), String::new(), String::new()];
    let (before, after) = matched(before, after, false, &mut pairs, equal);
    let (before, after) = matched(before, after, false, &mut pairs, exact);
    let (before, after) = matched(before, after, true, &mut pairs, of_file);
    let (before, after) = matched(before, after, true, &mut pairs, by_name);
    pairs.extend(before.into_iter().map(|then| (Some(then), None)));
    pairs.extend(after.into_iter().map(|now| (None, Some(now))));
    pairs
}

/// Moves kernels of equal keys to the pairs, in their order, and gives back the others. With `alone`, only where one
/// kernel of each version has the key.
fn matched(
    before: Vec<MeasuredKernel>,
    after: Vec<MeasuredKernel>,
    alone: bool,
    pairs: &mut Vec<Pair>,
    key: impl Fn(&MeasuredKernel) -> [String; 5],
) -> (Vec<MeasuredKernel>, Vec<MeasuredKernel>) {
    let mut groups: BTreeMap<[String; 5], (Vec<MeasuredKernel>, Vec<MeasuredKernel>)> = BTreeMap::new();
    before.into_iter().for_each(|kernel| groups.entry(key(&kernel)).or_default().0.push(kernel));
    after.into_iter().for_each(|kernel| groups.entry(key(&kernel)).or_default().1.push(kernel));
    let (mut left_before, mut left_after) = (Vec::new(), Vec::new());
    for (mut then, mut now) in groups.into_values() {
        let count = match alone {
            true => usize::from(then.len() == 1 && now.len() == 1),
            false => then.len().min(now.len()),
        };
        left_before.extend(then.split_off(count));
        left_after.extend(now.split_off(count));
        pairs.extend(then.into_iter().map(Some).zip(now.into_iter().map(Some)));
    }
    (left_before, left_after)
}

/// `None` for equal figures.
fn change((then, now): Pair) -> Option<KernelChange> {
    let (before, after) = (then.as_ref().map(|it| it.footprint), now.as_ref().map(|it| it.footprint));
    let change = kind(before.as_ref(), after.as_ref())?;
    let kernel = now.or(then)?;
    let (file, line) = match kernel.place {
        Some((file, line)) => (file, Some(line)),
        None => (kernel.unit, None),
    };
    Some(KernelChange {
        kernel: kernel.name,
        file,
        line,
        arch: kernel.arch,
        build: kernel.build,
        change,
        before,
        after,
    })
}

fn kind(before: Option<&KernelFootprint>, after: Option<&KernelFootprint>) -> Option<ChangeKind> {
    let (before, after) = match (before, after) {
        (None, None) => return None,
        (None, Some(_)) => return Some(ChangeKind::New),
        (Some(_), None) => return Some(ChangeKind::Removed),
        (Some(before), Some(after)) if before == after => return None,
        (Some(before), Some(after)) => (before, after),
    };
    let figures = |it: &KernelFootprint| [it.stack_frame, it.spill_stores, it.spill_loads];
    let both = || figures(before).into_iter().zip(figures(after));
    Some(match (both().any(|(before, after)| after > before), both().any(|(before, after)| after < before)) {
        (true, true) => ChangeKind::MoreAndLess,
        (true, false) => ChangeKind::More,
        (false, true) => ChangeKind::Less,
        (false, false) => ChangeKind::SameLocalMemory,
    })
}

/// The kernel with the largest increase on any architecture first, and the architectures of a kernel together.
fn sort(kernels: &mut [KernelChange]) {
    let local = |footprint: Option<&KernelFootprint>| {
        i64::try_from(footprint.map_or(0, KernelFootprint::local)).unwrap_or(i64::MAX)
    };
    let growth = |it: &KernelChange| local(it.after.as_ref()).saturating_sub(local(it.before.as_ref()));
    let name = |it: &KernelChange| (it.file.clone(), it.kernel.clone(), it.build.clone());
    let mut most = BTreeMap::new();
    for kernel in &*kernels {
        let known = most.entry(name(kernel)).or_insert(i64::MIN);
        *known = growth(kernel).max(*known);
    }
    kernels.sort_by_cached_key(|it| {
        let name = name(it);
        (Reverse(most.get(&name).copied()), name, Arch::of(&it.arch), it.arch.clone(), it.before, it.after)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(unit: &str, name: &str, stack_frame: u64) -> MeasuredKernel {
        let footprint = KernelFootprint {
            stack_frame,
            spill_stores: 0,
            spill_loads: 0,
            registers: 20,
            shared: 0,
            occupancy_percent: Some(100),
        };
        MeasuredKernel {
            unit: unit.to_string(),
            place: None,
            name: name.to_string(),
            arch: "sm_90".to_string(),
            build: None,
            footprint,
        }
    }

    fn compared(before: &[MeasuredKernel], after: &[MeasuredKernel]) -> KernelComparison {
        let version = |kernels: &[MeasuredKernel]| Version { kernels: kernels.to_vec(), failed: BTreeSet::new() };
        KernelComparison::of(version(before), version(after), after.len())
    }

    fn shown(comparison: &KernelComparison) -> Vec<(String, ChangeKind)> {
        let name = |it: &KernelChange| (format!("{} {}", it.file, it.kernel), it.change);
        comparison.kernels.iter().map(name).collect()
    }

    #[test]
    fn the_largest_increase_stands_first_and_equal_ones_are_counted() {
        let before = [kernel("a.cu", "same", 8), kernel("a.cu", "less", 64), kernel("a.cu", "more", 0)];
        let after = [kernel("a.cu", "same", 8), kernel("a.cu", "less", 0), kernel("a.cu", "more", 32)];
        let comparison = compared(&before, &after);
        let expected = [("a.cu more", ChangeKind::More), ("a.cu less", ChangeKind::Less)];
        assert_eq!(shown(&comparison), expected.map(|(name, kind)| (name.to_string(), kind)));
        assert_eq!(comparison.unchanged, 1);
    }

    #[test]
    fn a_kernel_that_moves_to_another_file_is_no_new_one() {
        let comparison = compared(&[kernel("a.cu", "scan", 8)], &[kernel("b.cu", "scan", 16)]);
        assert_eq!(shown(&comparison), [("b.cu scan".to_string(), ChangeKind::More)]);
        // Which one it was is not known where several files have the name.
        let before = [kernel("a.cu", "scan", 8), kernel("c.cu", "scan", 8)];
        let kinds: Vec<_> =
            shown(&compared(&before, &[kernel("b.cu", "scan", 16)])).into_iter().map(|it| it.1).collect();
        assert_eq!(kinds, [ChangeKind::New, ChangeKind::Removed, ChangeKind::Removed]);
    }

    #[test]
    fn kernels_of_one_name_in_one_file_are_paired_by_figures() {
        let before = [kernel("a.rs", "k", 8), kernel("a.rs", "k", 16)];
        let after = [kernel("a.rs", "k", 32), kernel("a.rs", "k", 8), kernel("a.rs", "k", 16)];
        assert_eq!(shown(&compared(&before, &after)), [("a.rs k".to_string(), ChangeKind::New)]);
    }

    #[test]
    fn other_architectures_and_failures_remove_nothing() {
        let on = |arch: &str| MeasuredKernel { arch: arch.to_string(), ..kernel("a.cu", "k", 8) };
        assert!(compared(&[on("sm_80"), on("sm_90")], &[on("sm_90")]).kernels.is_empty());
        let failed = BTreeSet::from(["a.cu".to_string()]);
        let before = Version { kernels: vec![on("sm_90")], failed: BTreeSet::new() };
        let comparison = KernelComparison::of(before, Version { kernels: Vec::new(), failed: failed.clone() }, 0);
        assert!(comparison.kernels.is_empty() && comparison.not_compiled == failed, "{comparison:?}");
    }

    #[test]
    fn a_file_that_comes_to_be_compiled_twice_keeps_its_kernels() {
        let built = |build: &str| MeasuredKernel { build: Some(build.to_string()), ..kernel("a.cu", "k", 8) };
        // One of two cannot be told from the other; one of one can.
        assert_eq!(compared(&[kernel("a.cu", "k", 8)], &[built("-DA")]).kernels, []);
        assert_eq!(compared(&[kernel("a.cu", "k", 8)], &[built("-DA"), built("-DB")]).kernels.len(), 2);
    }

    #[test]
    fn a_kernel_of_a_shared_header_is_shown_once() {
        let placed =
            |unit: &str, bytes| MeasuredKernel { place: Some(("k.cuh".to_string(), 3)), ..kernel(unit, "k", bytes) };
        let comparison = compared(&[placed("a.cu", 0), placed("b.cu", 0)], &[placed("a.cu", 8), placed("b.cu", 8)]);
        assert_eq!(comparison.kernels.len(), 1);
    }

    #[test]
    fn registers_alone_are_no_more_local_memory() {
        let mut after = kernel("a.cu", "k", 8);
        after.footprint.registers = 40;
        let comparison = compared(&[kernel("a.cu", "k", 8)], &[after.clone()]);
        assert_eq!(comparison.kernels[0].change, ChangeKind::SameLocalMemory);
        after.footprint.stack_frame = 0;
        after.footprint.spill_loads = 4;
        let comparison = compared(&[kernel("a.cu", "k", 8)], &[after]);
        assert_eq!(comparison.kernels[0].change, ChangeKind::MoreAndLess);
    }
}
