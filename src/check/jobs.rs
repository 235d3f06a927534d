//! What is compiled: each unit for each of its architectures, on several threads.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cuda_toolkit::Toolkit;
use lmem_base::diagnostic::FlagOrigin;
use lmem_base::gpu::Arch;
use lmem_base::threads;
use lmem_lints::Levels;
use lmem_project::config::PackageConfig;
use lmem_project::discover::Workspace;
use lmem_unit::{MachineCode, TranslationUnit, UnitCode, declared_target};

use super::early::Early;
use super::levels::AllLevels;
use super::progress::Progress;
use super::unit::{Shared, UnitReport, check_unit};
use super::{Talk, target};
use crate::cache::Cache;
use crate::compile::Target;

/// A unit, its settings and its target architecture.
#[derive(Clone)]
pub struct Job<'a> {
    pub unit: &'a TranslationUnit,
    pub target: Target,
    pub levels: &'a Levels,
}

/// The compilations of a run. `builds` are the architectures that the project's builds compile for, as far as they are known.
pub fn jobs<'a>(
    typed: &[String],
    workspace: &Workspace,
    units: &'a [TranslationUnit],
    builds: &[String],
    toolkit: &Arc<Toolkit>,
    levels: &'a AllLevels,
    talk: &Talk,
) -> Vec<Job<'a>> {
    let mut fallback = None;
    let mut jobs = Vec::new();
    for unit in units {
        let config = config_of(unit, workspace);
        let configured = config.map(|config| config.arch_for(&unit.path()).to_vec()).unwrap_or_default();
        let built: Vec<&str> = match &unit.code {
            UnitCode::CudaFile { flags, .. } => flags.architectures().collect(),
            _ => Vec::new(),
        };
        if let UnitCode::Machine(code) = &unit.code {
            let asked_for: Vec<String> = match typed {
                [] => configured.iter().map(ToString::to_string).collect(),
                typed => typed.to_vec(),
            };
            jobs.extend(job_of(unit, code, &asked_for, toolkit, levels.of(config, &unit.path()), talk));
            continue;
        }
        let is_unknown = matches!(&unit.code, UnitCode::CudaFile { flags, .. } if flags.origin == FlagOrigin::Assumed);
        let architectures = match (typed.is_empty(), configured.is_empty(), built.is_empty()) {
            (false, _, _) => typed.iter().map(|name| target::as_built(name, &built)).collect(),
            (true, false, _) => configured.iter().map(|arch| target::as_built(&arch.to_string(), &built)).collect(),
            (true, true, false) => built.iter().map(ToString::to_string).collect(),
            // A file that the build does not know yet is compiled for what the build is for.
            (true, true, true) if is_unknown && !builds.is_empty() => builds.to_vec(),
            // Nothing is to be said of an architecture for which nothing is compiled.
            (true, true, true) if is_never_compiled(unit, &target::likely()) => Vec::new(),
            (true, true, true) => vec![fallback.get_or_insert_with(|| target::fallback(talk)).clone()],
        };
        for architecture in architectures.into_iter().filter(|name| !is_never_compiled(unit, name)) {
            let target = Target { toolkit: Arc::clone(toolkit), architecture };
            jobs.push(Job { unit, target, levels: levels.of(config, &unit.path()) });
        }
    }
    jobs
}

/// Machine code is analysed for its own architecture. If a file has code for several architectures, the requested ones
/// are used, if it has any of them.
pub fn job_of<'a>(
    unit: &'a TranslationUnit,
    code: &MachineCode,
    asked_for: &[String],
    toolkit: &Arc<Toolkit>,
    levels: &'a Levels,
    talk: &Talk,
) -> Option<Job<'a>> {
    let own = &code.header.architecture;
    let is_asked_for =
        |name: &String| asked_for.iter().any(|asked| Arch::of(asked).number() == Arch::of(name).number());
    if Arch::of(own).number() > 0 && !asked_for.is_empty() && !is_asked_for(own) {
        if code.siblings.iter().any(is_asked_for) {
            return None;
        }
        talk.note(&format!("`{}` is machine code for {own}, and is analysed as that", unit.name));
    }
    Some(Job { unit, target: Target { toolkit: Arc::clone(toolkit), architecture: own.clone() }, levels })
}

/// Whether PTX comes with machine code for its architecture, so that the driver never compiles it.
pub fn is_never_compiled(unit: &TranslationUnit, architecture: &str) -> bool {
    let UnitCode::Ptx { text, options } = &unit.code else { return false };
    let least = declared_target(text.as_str()).map_or(0, |name| Arch::of(name).number());
    options.compiled.contains(&Arch::of(architecture).number().max(least))
}

pub fn is_compiled(unit: &TranslationUnit) -> bool {
    matches!(unit.code, UnitCode::Machine(_))
}

pub fn config_of<'a>(unit: &TranslationUnit, workspace: &'a Workspace) -> Option<&'a Arc<PackageConfig>> {
    workspace.file(&unit.path()).map(|file| &file.config)
}

/// Runs all jobs on several threads; the reports are in the order of the jobs.
pub fn run_jobs(
    jobs: &[Job<'_>],
    shared: &Shared<'_>,
    threads: usize,
    cache: Option<&Cache>,
    early: Option<&Early<'_>>,
    talk: &Talk,
) -> Vec<UnitReport> {
    let order = longest_first(jobs, cache);
    let next = AtomicUsize::new(0);
    let reports: Mutex<Vec<Option<UnitReport>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let progress = Progress::new("Checking", jobs.len(), talk.quiet);
    threads::work_on(threads.min(jobs.len()), || {
        while let Some(index) = order.get(next.fetch_add(1, Ordering::Relaxed)).copied() {
            let job = &jobs[index];
            progress.start(&job.unit.name);
            let start = Instant::now();
            let report = check_unit(job.unit, &job.target, job.levels, shared);
            progress.finish(&job.unit.name);
            if let Some(cache) = cache.filter(|_| !report.cached) {
                cache.took(job.unit, &job.target.architecture, start.elapsed());
            }
            if let Ok(mut reports) = reports.lock() {
                reports[index] = Some(report);
                let lines = early.map(|early| early.lines(&reports)).unwrap_or_default();
                drop(reports);
                progress.say(&lines);
            }
        }
    });
    progress.clear();
    // A poisoned lock means that a thread panicked, and the scope has propagated the panic already.
    reports.into_inner().unwrap_or_default().into_iter().map(Option::unwrap_or_default).collect()
}

/// The order in which jobs start: first those without a known time, then the longest.
pub fn longest_first(jobs: &[Job<'_>], cache: Option<&Cache>) -> Vec<usize> {
    let time = |index: &usize| {
        let job = &jobs[*index];
        Reverse(cache.and_then(|cache| cache.time_of(job.unit, &job.target.architecture)).unwrap_or(Duration::MAX))
    };
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(time);
    order
}
