//! `.cu` files that are checked as parts of other sources, because their texts say so: whether they were.
//!
//! An `#include` may stand in a comment, below an `#if`, or in a header that nobody includes, and a text that Rust code
//! makes of a file may hide all of it. What was compiled decides.

use std::path::{Path, PathBuf};

use lmem_base::places;
use lmem_base::source::normalize;
use lmem_project::discover::{NotChecked, Unchecked};
use lmem_unit::UnitCode;

use crate::check::jobs::Job;
use crate::check::unit::UnitReport;

/// Larger files are not searched.
const MAX_BYTES: u64 = 64 << 20;

/// The files of which no unit has code. `included` are parts of `.cu` files, `as_texts` of Rust code's texts. Nothing is said
/// where a unit does not compile, which may be the one.
pub(super) fn in_no_unit(
    included: &[PathBuf],
    as_texts: &[PathBuf],
    jobs: &[Job<'_>],
    reports: &[UnitReport],
) -> Vec<NotChecked> {
    if reports.iter().any(|report| report.failed || report.is_unread) {
        return Vec::new();
    }
    let units = || jobs.iter().zip(reports);
    let is_included = |path: &Path| units().any(|(job, report)| has_code(path, job, report));
    let is_text = |path: &Path| {
        let of_file = |job: &Job<'_>| matches!(&job.unit.code, UnitCode::CudaText { text, .. } if text.has_file(path));
        let has_kernels = |report: &UnitReport| report.kernels > 0 || !report.left_out.is_empty();
        !has_kernel(path) || units().any(|(job, report)| has_kernels(report) && of_file(job))
    };
    let included = included.iter().filter(|path| !is_included(path));
    let parts = included.chain(as_texts.iter().filter(|path| !is_text(path)));
    parts.map(|path| NotChecked { why: Unchecked::InNoUnit, path: path.clone() }).collect()
}

/// Whether a unit has code of a file.
fn has_code(path: &Path, job: &Job<'_>, report: &UnitReport) -> bool {
    if !report.dependencies.iter().any(|dependency| dependency == path) {
        return false;
    }
    let (files, folder) = (report.as_compiled.get(), normalize(&job.unit.base));
    let is_known = matches!(job.unit.code, UnitCode::CudaFile { .. }) && !files.files.is_empty();
    if is_known && !files.files.iter().any(|file| normalize(&folder.join(&file.path)) == path) {
        return false;
    }
    let Ok(text) = places::read(path, MAX_BYTES) else { return true };
    let text = String::from_utf8_lossy(&text);
    files.file(path, &folder, &text).has_code(&text)
}

/// Whether a file's text has the word of a kernel.
fn has_kernel(path: &Path) -> bool {
    places::read(path, MAX_BYTES).is_ok_and(|text| memchr::memmem::find(&text, b"__global__").is_some())
}
