//! Budgets of kernels: the limits in comments beside them and in settings, compared with the figures for every
//! architecture of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use cuda_syntax::launch::base_name;
use lmem_base::budget::Quantity;
use lmem_base::diagnostic::{Code, Diagnostic, KernelInstance, Label};
use lmem_base::gpu::Arch;
use lmem_base::source::{SourceFile, Span, display_path};
use lmem_base::words::nearest;
use lmem_lints::{BudgetedKernel, BudgetedLimit, Circumstances, KernelFigures};
use lmem_project::config::BudgetRule;
use lmem_project::directive::{BudgetQuery, DeclaredKernel, Directive, Directives, declared_kernels};
use lmem_project::discover::{Unmatched, Workspace};
use lmem_unit::{MappedText, TranslationUnit, UnitCode};

use super::findings::CheckedKernel;
use super::jobs::{Job, config_of};
use super::unit::UnitReport;
use super::unit_flags::flag_origin;
use super::{messages, remarks};
use crate::verify::occupancy;

/// The budgets that applied to a kernel.
#[derive(Default)]
pub struct JudgedBudget {
    /// Comments, by index.
    comments: BTreeSet<usize>,
    /// Settings, by manifest and pattern.
    settings: BTreeSet<(PathBuf, String)>,
    names: BTreeSet<String>,
}

/// A kernel with a budget, and its figures for the architectures of the run.
struct Budgeted<'a> {
    limits: Vec<BudgetedLimit>,
    span: Option<Span>,
    /// The first job that contains the kernel.
    job: usize,
    unit: &'a TranslationUnit,
    figures: Vec<KernelFigures>,
    instances: Vec<KernelInstance>,
}

/// Adds a finding to the reports for each kernel that exceeds its budget.
pub fn judge(
    jobs: &[Job<'_>],
    reports: &mut [UnitReport],
    workspace: &Workspace,
    directives: &Directives,
) -> JudgedBudget {
    let mut judged = JudgedBudget::default();
    let mut declared = Declared::default();
    let mut kernels: BTreeMap<(String, Option<Span>, Option<String>), Budgeted<'_>> = BTreeMap::new();
    for (index, (job, report)) in jobs.iter().zip(&*reports).enumerate() {
        let rules = config_of(job.unit, workspace).map_or(&[][..], |config| &config.budgets);
        for kernel in &report.checked {
            let limits = judged.limits(kernel, job.unit, report, rules, workspace, directives);
            if limits.is_empty() {
                continue;
            }
            let span = kernel.span.clone().or_else(|| declared.span(kernel, job.unit, report, &limits));
            // A kernel from a header that several units include is one kernel.
            let unit = span.is_none().then(|| job.unit.name.clone());
            let budgeted = kernels.entry((kernel.instance.mangled.clone(), span.clone(), unit)).or_insert_with(|| {
                let (figures, instances) = (Vec::new(), Vec::new());
                Budgeted { limits, span, job: index, unit: job.unit, figures, instances }
            });
            budgeted.figures.push(figures(kernel));
            budgeted.instances.push(kernel.instance.clone());
        }
    }
    for budgeted in kernels.into_values() {
        if let Some(diagnostic) =
            finding(budgeted.limits, &budgeted.span, &budgeted.figures, &budgeted.instances, budgeted.unit)
            && let Some(severity) = severity(&diagnostic, &jobs[budgeted.job])
        {
            reports[budgeted.job].diagnostics.push(Diagnostic { severity, ..diagnostic });
        }
    }
    judged
}

fn severity(diagnostic: &Diagnostic, job: &Job<'_>) -> Option<lmem_base::diagnostic::Severity> {
    let Code::Lint(name) = diagnostic.code else { return None };
    job.levels.severity(lmem_lints::find(name)?, false)
}

fn finding(
    limits: Vec<BudgetedLimit>,
    span: &Option<Span>,
    figures: &[KernelFigures],
    instances: &[KernelInstance],
    unit: &TranslationUnit,
) -> Option<Diagnostic> {
    let name = &instances.first()?.name;
    let claim = lmem_lints::budget_claim(&BudgetedKernel { name, span: span.as_ref(), budget: &limits, figures })?;
    let about = Circumstances { unit, frame: None, architecture: "", toolkit: "", flags: flag_origin(unit) };
    let mut diagnostic = claim.into_loudest(&about);
    if diagnostic.primary.is_none() {
        diagnostic.primary = messages::start_of(unit).map(|span| Label { span, text: "in this unit".to_string() });
    }
    let exceeds = |figures: &KernelFigures| limits.iter().any(|limit| lmem_lints::exceeds(limit.limit, figures));
    let exceeding = instances.iter().zip(figures).filter(|(_, figures)| exceeds(figures));
    if let Some(evidence) = &mut diagnostic.evidence {
        evidence.kernels = exceeding.map(|(instance, _)| instance.clone()).collect();
        evidence.kernels.sort_by_key(|kernel| Arch::of(&kernel.arch));
    }
    Some(diagnostic)
}

fn figures(kernel: &CheckedKernel) -> KernelFigures {
    let usage = kernel.instance.usage;
    let architecture = kernel.instance.arch.clone();
    let shared = usage.shared.saturating_add(kernel.dynamic_shared.unwrap_or(0));
    let resident = occupancy(Arch::of(&architecture).gpu(), usage.registers, shared, kernel.threads);
    KernelFigures {
        architecture,
        usage,
        stack_is_unknown: kernel.stack_is_unknown,
        threads: kernel.threads,
        dynamic_shared: kernel.dynamic_shared,
        resident: resident.map(|resident| (resident.blocks, resident.warps, resident.percent)),
    }
}

impl JudgedBudget {
    /// The limits of a kernel, one per quantity: that of the innermost comment, otherwise that of the last setting.
    fn limits(
        &mut self,
        kernel: &CheckedKernel,
        unit: &TranslationUnit,
        report: &UnitReport,
        rules: &[BudgetRule],
        workspace: &Workspace,
        directives: &Directives,
    ) -> Vec<BudgetedLimit> {
        let instance = &kernel.instance;
        let mut limits: BTreeMap<Quantity, BudgetedLimit> = BTreeMap::new();
        self.names.insert(instance.name.clone());
        for rule in rules.iter().filter(|rule| rule.matches(&[&instance.name, &instance.mangled])) {
            self.settings.insert((rule.manifest.clone(), rule.pattern().to_string()));
            let setting = Some((rule.pattern().to_string(), display_path(&rule.manifest, &workspace.root)));
            for limit in &rule.limits {
                let limited = BudgetedLimit { limit: *limit, comment: None, setting: setting.clone() };
                limits.insert(limit.quantity, limited);
            }
        }
        let own = MappedText::first_file;
        let is_part = |file: &SourceFile| match &unit.code {
            UnitCode::CudaFile { file: own, .. } if own.path == file.path => true,
            UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. }
                if own(text).is_some_and(|own| own.path == file.path) =>
            {
                true
            }
            _ => report.dependencies.contains(&file.path),
        };
        let query = BudgetQuery {
            name: base_name(&instance.name),
            mangled: &instance.mangled,
            span: kernel.span.as_ref(),
            in_rust: &places_in_rust(unit),
            is_part: &is_part,
        };
        for index in directives.budgets_of(&query) {
            self.comments.insert(index);
            let Some(directive) = directives.get(index) else { continue };
            for limit in &directive.limits {
                let comment = Some(directive.span.clone());
                limits.insert(limit.quantity, BudgetedLimit { limit: *limit, comment, setting: None });
            }
        }
        limits.into_values().collect()
    }

    /// Comments that apply to no kernel of the run.
    pub fn unused_comments<'d>(&self, directives: &'d Directives) -> Vec<&'d Directive> {
        directives.unused_budgets(&self.comments)
    }

    /// Settings whose pattern matches no kernel of the run. A workspace setting may be for a package outside the
    /// selection: with `some_packages` it is passed over.
    pub fn unmatched_settings(&self, workspace: &Workspace, some_packages: bool) -> Vec<Unmatched> {
        let is_whole = |manifest: &PathBuf| {
            let folder = manifest.parent();
            let is_of_package = workspace.packages.iter().any(|package| folder == Some(&package.root));
            match some_packages {
                true => is_of_package && folder != Some(&workspace.root),
                false => is_of_package || workspace.packages.len() != 1,
            }
        };
        let mut rules: Vec<&BudgetRule> = workspace.files.iter().flat_map(|file| &file.config.budgets).collect();
        rules.retain(|rule| is_whole(&rule.manifest));
        let mut unmatched: Vec<Unmatched> = rules
            .into_iter()
            .filter(|rule| !self.settings.contains(&(rule.manifest.clone(), rule.pattern().to_string())))
            .map(|rule| Unmatched {
                manifest: Some(rule.manifest.clone()),
                key: remarks::BUDGET_KEY,
                text: rule.pattern().to_string(),
                near: nearest(rule.pattern().trim_matches('*'), self.names.iter().map(String::as_str))
                    .map(str::to_string),
            })
            .collect();
        unmatched.sort();
        unmatched.dedup();
        unmatched
    }
}

/// Where Rust code contains a unit's text, and where it passes it to a compiler.
fn places_in_rust(unit: &TranslationUnit) -> Vec<Span> {
    let own = match &unit.code {
        UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. } => text.span(0..1),
        UnitCode::Machine(code) => Some(code.span.clone()),
        UnitCode::CudaFile { .. } => None,
    };
    let around = unit.use_site.iter().chain(&unit.included_at).cloned();
    own.into_iter().chain(around).filter(|span| span.file.display.ends_with(".rs")).collect()
}

/// Kernel declarations by text; each text is parsed once.
#[derive(Default)]
struct Declared {
    texts: BTreeMap<PathBuf, Vec<DeclaredKernel>>,
}

impl Declared {
    /// The name of a kernel in the unit's own text, or in a file with a budget for it. Compilers give no location for a
    /// kernel without local memory.
    fn span(
        &mut self,
        kernel: &CheckedKernel,
        unit: &TranslationUnit,
        report: &UnitReport,
        limits: &[BudgetedLimit],
    ) -> Option<Span> {
        let find = |kernels: &[DeclaredKernel]| {
            let instance = &kernel.instance;
            let names = [base_name(&instance.name), &instance.mangled];
            kernels.iter().find(|kernel| names.contains(&kernel.name.as_str())).map(|kernel| kernel.span.clone())
        };
        let own = match &unit.code {
            UnitCode::CudaFile { file, .. } => find(self.of(file.path.clone(), || MappedText::from_file(file))),
            UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. } => find(&declared_kernels(text)),
            UnitCode::Machine(_) => None,
        };
        let files = limits.iter().filter_map(|limit| limit.comment.as_ref()).map(|span| &span.file);
        let mut files = files.filter(|file| report.dependencies.contains(&file.path));
        own.or_else(|| files.find_map(|file| find(self.of(file.path.clone(), || MappedText::from_file(file)))))
    }

    fn of(&mut self, path: PathBuf, text: impl FnOnce() -> MappedText) -> &[DeclaredKernel] {
        self.texts.entry(path).or_insert_with(|| declared_kernels(&text()))
    }
}
