//! Notes on findings that only some architectures have.

use std::collections::{BTreeMap, BTreeSet};

use lmem_base::diagnostic::Diagnostic;
use lmem_base::gpu::Arch;

use super::unit::UnitReport;

/// For each function, by mangled name, the architectures that it was checked for.
pub type Compiled = BTreeMap<String, BTreeSet<String>>;

pub fn compiled(reports: &[UnitReport]) -> Compiled {
    let mut compiled = Compiled::new();
    for report in reports {
        for function in &report.functions {
            compiled.entry(function.clone()).or_default().insert(report.architecture.clone());
        }
    }
    compiled
}

/// A note on the architectures for which the same kernels do not have the finding.
pub fn note(diagnostic: &Diagnostic, compiled: &Compiled) -> Option<String> {
    let kernels = &diagnostic.evidence.as_ref()?.kernels;
    let found: BTreeSet<&str> = kernels.iter().map(|kernel| kernel.arch.as_str()).collect();
    let all = kernels.iter().filter_map(|kernel| compiled.get(&kernel.mangled)).flatten().map(String::as_str);
    let without: BTreeSet<&str> = all.filter(|architecture| !found.contains(architecture)).collect();
    (!without.is_empty()).then(|| format!("on {} only; not on {}", join(found), join(without)))
}

fn join(architectures: BTreeSet<&str>) -> String {
    let mut architectures: Vec<&str> = architectures.into_iter().collect();
    architectures.sort_by_key(|architecture| (Arch::of(architecture), *architecture));
    architectures.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    fn report(architecture: &str) -> UnitReport {
        let functions = samples::instance(32, "sm_90").evidence.unwrap().kernels;
        let functions = functions.into_iter().map(|kernel| kernel.mangled).collect();
        UnitReport { functions, architecture: architecture.to_string(), ..UnitReport::default() }
    }

    #[test]
    fn architectures_without_the_finding_are_named() {
        let finding = samples::instance(32, "sm_90");
        assert_eq!(note(&finding, &compiled(&[report("sm_90")])), None);
        let all = compiled(&[report("sm_120"), report("sm_80"), report("sm_90")]);
        assert_eq!(note(&finding, &all).as_deref(), Some("on sm_90 only; not on sm_80, sm_120"));
    }
}
