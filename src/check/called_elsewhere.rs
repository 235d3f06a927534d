//! Sources whose device functions other sources call. Without `-rdc=true` the compiler drops such a function, and what local memory it
//! has is in no unit.

use std::collections::BTreeSet;
use std::path::PathBuf;

use cuda_syntax::identifiers::occurrences;
use cuda_syntax::launch::base_name;
use lmem_project::discover::{NotChecked, Unchecked};
use lmem_unit::UnitCode;

use super::jobs::Job;
use super::unit::UnitReport;
use crate::compile::rescue::called_elsewhere;

/// The units that may define what others call, and were compiled as if none did: their text has the name of a function that a file was
/// found to call when it was compiled.
pub(super) fn defining(jobs: &[Job<'_>], reports: &[UnitReport]) -> Vec<NotChecked> {
    let notes = reports.iter().flat_map(|report| &report.rescues);
    let called: BTreeSet<&str> = notes.filter_map(|note| called_elsewhere(note)).map(base_name).collect();
    let may_define = |(job, report): &(&Job<'_>, &UnitReport)| {
        let UnitCode::CudaFile { file, flags } = &job.unit.code else { return false };
        let told = flags.all_arguments();
        let is_separate = told.iter().any(|flag| is_about_separate_compilation(flag))
            || report.rescues.iter().any(|note| is_about_separate_compilation(note));
        !is_separate
            && file.text().contains("__device__")
            && called.iter().any(|name| occurrences(file.text(), name).next().is_some())
    };
    let found = jobs.iter().zip(reports).filter(may_define);
    let paths: BTreeSet<PathBuf> = found.map(|(job, _)| job.unit.path()).filter(|_| !called.is_empty()).collect();
    paths.into_iter().map(|path| NotChecked { why: Unchecked::CalledElsewhere, path }).collect()
}

fn is_about_separate_compilation(text: &str) -> bool {
    ["-rdc", "relocatable-device-code", "-dc"].iter().any(|flag| text.contains(flag))
}
