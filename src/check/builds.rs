//! Names for the compilations of a file that is compiled in several ways: the flags that only one of them has.

use std::collections::{BTreeMap, HashMap, HashSet};

use lmem_unit::{TranslationUnit, UnitCode};

use super::jobs::Job;
use super::unit::UnitReport;

/// Limit on the characters of a name.
const MAX_NAME: usize = 40;

/// Notes at each kernel which of several compilations of its file it comes from.
pub fn name_builds(jobs: &[Job<'_>], reports: &mut [UnitReport]) {
    let mut files: BTreeMap<&str, Ways<'_>> = BTreeMap::new();
    for job in jobs.iter().filter(|job| arguments(job.unit).is_some()) {
        files.entry(&job.unit.name).or_default().add(job.unit);
    }
    for (job, report) in jobs.iter().zip(reports) {
        let Some(ways) = files.get(job.unit.name.as_str()).filter(|ways| ways.units.len() > 1) else { continue };
        let Some(name) = ways.name(job.unit) else { continue };
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

/// The compilations of a file.
#[derive(Default)]
struct Ways<'a> {
    units: Vec<&'a TranslationUnit>,
    seen: HashSet<*const TranslationUnit>,
    /// How many compilations have a flag: there may be thousands of them.
    counts: HashMap<&'a str, usize>,
}

impl<'a> Ways<'a> {
    /// Adds a compilation; each architecture of one is the same.
    fn add(&mut self, unit: &'a TranslationUnit) {
        if !self.seen.insert(std::ptr::from_ref(unit)) {
            return;
        }
        self.units.push(unit);
        let flags: HashSet<&str> = arguments(unit).unwrap_or_default().iter().map(String::as_str).collect();
        flags.into_iter().for_each(|flag| *self.counts.entry(flag).or_default() += 1);
    }

    /// The flags that only this unit has; if there are none, the flags that only this unit lacks.
    fn name(&self, unit: &TranslationUnit) -> Option<String> {
        let own = arguments(unit)?;
        let is_everywhere =
            |flag: &String| self.counts.get(flag.as_str()).is_some_and(|count| *count == self.units.len());
        let joined = |flags: Vec<&String>| flags.into_iter().cloned().collect::<Vec<_>>().join(" ");
        let new = joined(own.iter().filter(|flag| !is_everywhere(flag)).collect());
        let name = if new.is_empty() {
            let other = self.units.iter().find(|other| !std::ptr::eq(**other, unit))?;
            format!("no {}", joined(arguments(other)?.iter().filter(|flag| !own.contains(flag)).collect()))
        } else {
            new
        };
        Some(match name.char_indices().nth(MAX_NAME) {
            Some((at, _)) => format!("{}…", &name[..at]),
            None => name,
        })
    }
}
