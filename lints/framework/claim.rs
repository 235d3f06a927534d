//! A lint's finding, and its conversion to a diagnostic.

use lmem_base::diagnostic::{
    Code, Diagnostic, Evidence, FlagOrigin, Help, KernelInstance, LocalAccess, Location, Severity,
};
use lmem_frame::{CallAreaKind, KernelFrame, StackObject, StackObjectKind};
use lmem_unit::TranslationUnit;

use super::finding::Finding;
use super::levels::Levels;
use super::lint::Lint;

/// A finding and its lint, before it is merged with others.
pub struct Claim {
    pub lint: &'static Lint,
    pub finding: Finding,
    pub bytes: u64,
    /// Whether the cost is negligible: a few bytes, and no access in a loop.
    pub is_minor: bool,
    /// The statements that access the object.
    pub accesses: Vec<LocalAccess>,
}

/// Size of a negligible frame: one or two registers, stored and loaded once.
const MINOR_BYTES: u64 = 8;

/// `is_entry` is whether the frame is a kernel's: a function may be called in a loop.
pub fn is_minor(object: &StackObject, is_entry: bool) -> bool {
    let deepest = object.accesses.iter().map(|access| access.loop_depth).max().unwrap_or(0);
    // A value that is spilled once and reloaded once costs two accesses of a thread, however many such values there are.
    if let (StackObjectKind::Spills(spills), true) = (&object.kind, is_entry) {
        return spills.are_minor();
    }
    let is_in_loop = match &object.kind {
        StackObjectKind::Spills(spills) => spills.loop_depth > 0,
        StackObjectKind::Variable => deepest > 0,
        // An unknown cause is not called harmless; neither is a routine that may be called anywhere.
        StackObjectKind::Call(area) if matches!(area.kind, CallAreaKind::RuntimeRoutine { .. }) => false,
        StackObjectKind::Unknown
        | StackObjectKind::Call(_)
        | StackObjectKind::Allocation(_)
        | StackObjectKind::Recursion(_) => true,
    };
    // A callee that gets the address may be called in a loop.
    !is_in_loop && object.escapes().is_empty() && object.bytes <= MINOR_BYTES
}

/// Facts for a diagnostic beyond the finding.
#[derive(Clone, Copy)]
pub struct Circumstances<'a> {
    pub unit: &'a TranslationUnit,
    pub frame: Option<&'a KernelFrame>,
    pub architecture: &'a str,
    pub toolkit: &'a str,
    pub flags: FlagOrigin,
}

impl Claim {
    /// Converts the claim to a diagnostic; `None` if the lint is allowed.
    pub fn into_diagnostic(self, levels: &Levels, about: &Circumstances<'_>) -> Option<Diagnostic> {
        let severity = levels.severity(self.lint, self.is_minor)?;
        Some(Diagnostic { severity, ..self.into_loudest(about) })
    }

    /// Converts the claim to a diagnostic of the highest severity, before levels apply.
    pub fn into_loudest(self, about: &Circumstances<'_>) -> Diagnostic {
        let finding = self.finding;
        let traffic = (finding.loads, finding.stores);
        let accesses = self.accesses;
        let kernel = about.frame.map(|frame| instance(frame, self.bytes, traffic, about));
        let kernels = kernel.map(|kernel| KernelInstance { accesses, ..kernel }).into_iter().collect();
        Diagnostic {
            severity: Severity::Error,
            code: Code::Lint(self.lint.name),
            message: finding.message,
            primary: finding.primary,
            secondary: finding.labels,
            notes: finding.notes,
            help: finding.help.into_iter().map(|message| Help { message }).collect(),
            suggestions: finding.suggestions,
            evidence: Some(Evidence {
                variable: finding.variable,
                variable_type: finding.variable_type,
                bytes: self.bytes,
                loads: finding.loads,
                stores: finding.stores,
                loop_depth: finding.loop_depth,
                uniformity: finding.uniformity,
                kernels,
                size: finding.size,
                cause: finding.cause,
                subject: finding.subject,
                quotes_figures: finding.quotes_figures,
                local_share: None,
                most_share: None,
                rejected: Vec::new(),
                untried: finding.untried,
            }),
            package: about.unit.package.clone(),
        }
    }
}

/// A kernel of a unit, of which a diagnostic speaks: its share of the frame, and of the loads and stores.
pub fn instance(frame: &KernelFrame, bytes: u64, traffic: (u64, u64), about: &Circumstances<'_>) -> KernelInstance {
    let loads = about.unit.launches.iter().filter(|launch| launch.kernel == frame.mangled);
    let mut loaded_at: Vec<Location> = loads.map(|launch| Location::from(&launch.loaded_at)).collect();
    loaded_at.sort();
    loaded_at.dedup();
    KernelInstance {
        name: frame.name.clone(),
        mangled: frame.mangled.clone(),
        arch: about.architecture.to_string(),
        toolkit: about.toolkit.to_string(),
        bytes,
        loads: traffic.0,
        stores: traffic.1,
        usage: frame.usage,
        build: None,
        flags: about.flags,
        loaded_at,
        accesses: Vec::new(),
    }
}
