//! Names for the compilations of a file that is compiled in several ways: the flags that only one of them has.

use std::collections::BTreeMap;

use lmem_unit::{TranslationUnit, UnitCode};

use super::jobs::Job;
use super::unit::UnitReport;

/// Limit on the characters of a name.
const MAX_NAME: usize = 40;

/// Notes at each kernel which of several compilations of its file it comes from.
pub fn name_builds(jobs: &[Job<'_>], reports: &mut [UnitReport]) {
    let mut units: BTreeMap<&str, Vec<&TranslationUnit>> = BTreeMap::new();
    for job in jobs.iter().filter(|job| arguments(job.unit).is_some()) {
        let known = units.entry(&job.unit.name).or_default();
        if !known.iter().any(|unit| std::ptr::eq(*unit, job.unit)) {
            known.push(job.unit);
        }
    }
    for (job, report) in jobs.iter().zip(reports) {
        let Some(units) = units.get(job.unit.name.as_str()).filter(|units| units.len() > 1) else { continue };
        let Some(name) = name(job.unit, units) else { continue };
        let evidence = report.diagnostics.iter_mut().filter_map(|diagnostic| diagnostic.evidence.as_mut());
        let found = evidence.flat_map(|evidence| &mut evidence.kernels);
        let checked = report.checked.iter_mut().map(|kernel| &mut kernel.instance);
        found.chain(checked).for_each(|kernel| kernel.build = Some(name.clone()));
    }
}

fn arguments(unit: &TranslationUnit) -> Option<&[String]> {
    match &unit.code {
        UnitCode::CudaFile { flags, .. } => Some(&flags.arguments),
        _ => None,
    }
}

/// The flags that only this unit has; if there are none, the flags that only this unit lacks.
fn name(unit: &TranslationUnit, units: &[&TranslationUnit]) -> Option<String> {
    let own = arguments(unit)?;
    let others: Vec<&[String]> =
        units.iter().filter(|other| !std::ptr::eq(**other, unit)).filter_map(|other| arguments(other)).collect();
    let more = |flags: &[String], than: &[&[String]]| {
        let is_new = |flag: &&String| !than.iter().all(|other| other.contains(flag));
        flags.iter().filter(is_new).cloned().collect::<Vec<_>>().join(" ")
    };
    let name = match more(own, &others) {
        new if !new.is_empty() => new,
        _ => format!("no {}", more(others.first()?, &[own])),
    };
    Some(match name.char_indices().nth(MAX_NAME) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name,
    })
}
