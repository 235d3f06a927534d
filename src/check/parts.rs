//! `.cu` files that are compiled as parts of other sources, because their texts say so: whether they were, and what
//! they are alone.
//!
//! An `#include` may stand in a comment, below an `#if`, or in a header that nobody includes; another source may
//! include a part of a file only, or with other macros than the file has alone; and a text that Rust code makes of a
//! file may hide all of it. What was compiled decides: a file that compiles alone is a source, whoever includes it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cuda_syntax::launch::base_name;
use lmem_base::diagnostic::{Code, FlagOrigin};
use lmem_base::places;
use lmem_base::source::normalize;
use lmem_project::directive::{defined_kernels, kernel_definitions};
use lmem_project::discover::{DiscoveredFile, NotChecked, Unchecked};
use lmem_unit::{TranslationUnit, UnitCode};

use super::unit_flags::flag_origin;
use crate::check::jobs::Job;
use crate::check::unit::UnitReport;

/// Larger files are not searched.
const MAX_BYTES: u64 = 64 << 20;

/// The word of a kernel's definition.
const KERNEL: &str = "__global__";

/// The jobs of parts that are compiled alone too: files that other sources include, and files of which the texts of Rust
/// code lack a kernel.
pub(super) fn to_check<'a>(
    parts: Vec<Job<'a>>,
    as_texts: &[PathBuf],
    jobs: &[Job<'_>],
    reports: &[UnitReport],
) -> Vec<Job<'a>> {
    let whole: BTreeSet<&PathBuf> = as_texts.iter().filter(|path| has_all_kernels(path, jobs, reports)).collect();
    parts.into_iter().filter(|part| !whole.contains(&part.unit.path())).collect()
}

/// The report of a part that is a source of its own. One that the compiler refuses is none, unless a build is known to
/// compile it.
pub(super) fn of_source(part: &TranslationUnit, mut report: UnitReport) -> Option<UnitReport> {
    let is_of_build = matches!(flag_origin(part), FlagOrigin::Captured | FlagOrigin::CompileCommands);
    if is_of_build || report.failed && !report.is_refused {
        return Some(report);
    }
    // What its includers use is unused where it is alone: the compiler's warnings are theirs to give.
    report.diagnostics.retain(|diagnostic| !matches!(diagnostic.code, Code::Compiler(_)));
    Some(report).filter(|report| !report.is_refused)
}

/// The files of which units lack code: all of it, or a kernel. `included` are parts of `.cu` files, `as_texts` of Rust
/// code's texts. Nothing is said where a unit does not compile, which may be the one.
pub(super) fn in_no_unit(
    included: &[DiscoveredFile],
    as_texts: &[PathBuf],
    jobs: &[Job<'_>],
    reports: &[UnitReport],
) -> Vec<NotChecked> {
    if reports.iter().any(|report| report.failed || report.is_unread) {
        return Vec::new();
    }
    let units = || jobs.iter().zip(reports);
    let is_own = |path: &Path| units().any(|(job, _)| is_file(job.unit) && job.unit.path() == path);
    let is_included = |path: &Path| is_own(path) || are_compiled(path, units());
    let is_text = |path: &Path| !has_kernel(path) || is_own(path) || has_kernel_of(path, jobs, reports);
    let included = included.iter().map(|file| &file.path).filter(|path| !is_included(path));
    let parts = included.chain(as_texts.iter().filter(|path| !is_text(path)));
    parts.map(|path| NotChecked { why: Unchecked::InNoUnit, path: path.clone() }).collect()
}

fn is_file(unit: &TranslationUnit) -> bool {
    matches!(unit.code, UnitCode::CudaFile { .. })
}

/// Whether units have code of a file, and each of its kernels.
fn are_compiled<'a>(path: &Path, units: impl Iterator<Item = (&'a Job<'a>, &'a UnitReport)>) -> bool {
    let text = text_of(path);
    let mut lacking = text.as_deref().map(kernel_definitions).unwrap_or_default();
    let mut has_code = false;
    for (job, report) in units {
        if !report.dependencies.iter().any(|dependency| dependency == path) {
            continue;
        }
        let Some(text) = &text else { return true };
        let (files, folder) = (report.as_compiled.get(), normalize(&job.unit.base));
        // Only what the preprocessor entered is among them: what a `#line` claims is not.
        let is_entered = files.files.iter().any(|file| normalize(&folder.join(&file.path)) == path);
        if is_file(job.unit) && !is_entered {
            continue;
        }
        let compiled = files.file(path, &folder, text);
        has_code |= compiled.has_code(text);
        lacking.retain(|kernel| !compiled.is_mostly_compiled(kernel));
    }
    has_code && lacking.is_empty()
}

fn text_of(path: &Path) -> Option<String> {
    Some(String::from_utf8_lossy(&places::read(path, MAX_BYTES).ok()?).into_owned())
}

/// Whether a file's text has the word of a kernel.
fn has_kernel(path: &Path) -> bool {
    places::read(path, MAX_BYTES).is_ok_and(|text| memchr::memmem::find(&text, KERNEL.as_bytes()).is_some())
}

/// The reports of texts that are made of a file.
fn of_texts<'r>(path: &Path, jobs: &[Job<'_>], reports: &'r [UnitReport]) -> impl Iterator<Item = &'r UnitReport> {
    let of_file = |job: &Job<'_>| matches!(&job.unit.code, UnitCode::CudaText { text, .. } if text.has_file(path));
    jobs.iter().zip(reports).filter(move |(job, _)| of_file(job)).map(|(_, report)| report)
}

/// Whether a text that is made of a file has a kernel.
fn has_kernel_of(path: &Path, jobs: &[Job<'_>], reports: &[UnitReport]) -> bool {
    of_texts(path, jobs, reports).any(|report| report.kernels > 0 || !report.left_out.is_empty())
}

/// Whether the texts that are made of a file have all kernels that it defines. Of two definitions of one name, they have
/// one at most. Kernels that macros define have no name in the text.
fn has_all_kernels(path: &Path, jobs: &[Job<'_>], reports: &[UnitReport]) -> bool {
    if !has_kernel(path) {
        return true;
    }
    let compiled: BTreeSet<&str> = of_texts(path, jobs, reports)
        .flat_map(|report| report.checked.iter().map(|kernel| &kernel.instance.name).chain(&report.left_out))
        .map(|name| base_name(name))
        .collect();
    let Some(text) = text_of(path) else { return true };
    let defined = defined_kernels(&text);
    let has_twins = defined.iter().collect::<BTreeSet<_>>().len() < defined.len();
    !compiled.is_empty() && !has_twins && defined.iter().all(|name| compiled.contains(name.as_str()))
}
