//! The kernels of a run with their figures, for a comparison with those of a revision.

use std::collections::BTreeSet;

use cuda_syntax::launch::base_name;
use lmem_base::comparison::{KernelFootprint, MeasuredKernel, Version};
use lmem_base::gpu::Arch;
use lmem_base::source::Span;

use super::findings::CheckedKernel;
use super::jobs::Job;
use super::unit::UnitReport;
use crate::verify::occupancy;

/// The kernels of a run; files have absolute names.
pub fn version(jobs: &[Job<'_>], reports: &[UnitReport]) -> Version {
    let mut version = Version::default();
    for (job, report) in jobs.iter().zip(reports) {
        let unit = job.unit.path().to_string_lossy().into_owned();
        version.kernels.extend(report.checked.iter().map(|kernel| measured(kernel, &unit)));
        if report.failed {
            version.failed.insert(unit);
        }
    }
    version
}

/// The kernels that were compiled, without namespaces and template arguments.
pub fn names(reports: &[UnitReport]) -> BTreeSet<String> {
    let checked = reports.iter().flat_map(|report| &report.checked);
    checked.map(|kernel| base_name(&kernel.instance.name).to_string()).collect()
}

fn measured(kernel: &CheckedKernel, unit: &str) -> MeasuredKernel {
    let instance = &kernel.instance;
    let place = |span: &Span| (span.file.path.to_string_lossy().into_owned(), span.start_line());
    MeasuredKernel {
        unit: unit.to_string(),
        place: kernel.span.as_ref().map(place),
        name: instance.name.clone(),
        arch: instance.arch.clone(),
        build: instance.build.clone(),
        footprint: footprint(kernel),
    }
}

fn footprint(kernel: &CheckedKernel) -> KernelFootprint {
    let usage = kernel.instance.usage;
    let shared = usage.shared.saturating_add(kernel.dynamic_shared.unwrap_or(0));
    let gpu = Arch::of(&kernel.instance.arch).gpu();
    KernelFootprint {
        stack_frame: usage.stack_frame,
        spill_stores: usage.spill_stores,
        spill_loads: usage.spill_loads,
        registers: usage.registers,
        shared: usage.shared,
        occupancy_percent: occupancy(gpu, usage.registers, shared, kernel.threads).map(|occupancy| occupancy.percent),
    }
}
