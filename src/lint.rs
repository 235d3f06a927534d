//! What a lint is, and running a list of them over the frames of a unit.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde::Deserialize;

use crate::as_compiled::CompiledUnit;
use crate::attribute::{
    Access, Address, CallAreaKind, KernelFrame, Launch, Launches, Sources, StackObject, StackObjectKind, may_fuse,
};
use crate::compile::{Artifacts, CompilerMessage};
use crate::diagnostic::{
    Applicability, Code, Diagnostic, Evidence, FlagOrigin, Help, KernelInstance, Label, Location, Severity, Suggestion,
    Uniformity,
};
use crate::extract::{TranslationUnit, UnitCode};
use crate::gpu::Arch;
use crate::lints::ALL;
use crate::read::{AccessKind, PtxFunction, PtxModule, UnitFacts};
use crate::remark::{self, Remark};
use crate::source::Span;

/// Levels of inlining that a note names; deeper ones are the inside of a library.
const SHOWN_LEVELS: usize = 4;

/// How a lint is reported; as in rustc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    Allow,
    Warn,
    Deny,
    /// As `Deny`, and nothing more specific may allow it.
    Forbid,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::Deny => "deny",
            Self::Forbid => "forbid",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Allow, Self::Warn, Self::Deny, Self::Forbid].into_iter().find(|level| level.name() == text)
    }
}

/// A cause that can be named.
pub struct Lint {
    pub name: &'static str,
    /// The level where nobody says another.
    pub level: Level,
    /// The lint's own source; its `//!` lines are the documentation.
    pub source: &'static str,
    pub check: Check,
}

/// What a lint looks at.
pub enum Check {
    /// One object of a frame; the first lint, in their fixed order, that gives a finding claims its bytes.
    Object(fn(&LintContext<'_>, &StackObject) -> Option<Finding>),
    /// A whole kernel, beside its objects; claims no bytes.
    Kernel(fn(&LintContext<'_>) -> Option<Finding>),
    /// The options that a unit was compiled with, beside its kernels; claims no bytes.
    Options(fn(&UnitContext<'_>) -> Vec<Finding>),
    /// A whole unit, before its kernels; a finding replaces all others of the unit.
    Unit(fn(&TranslationUnit, bool) -> Option<Finding>),
}

/// What a lint may know of a kernel.
pub struct LintContext<'a> {
    pub unit: &'a UnitContext<'a>,
    pub frame: &'a KernelFrame,
    pub arch: Arch,
    /// Whether spills can be told from arrays by ptxas's own marks.
    pub has_spill_marks: bool,
}

/// What a lint may know of a unit.
pub struct UnitContext<'a> {
    pub unit: &'a TranslationUnit,
    pub facts: &'a UnitFacts,
    /// Warnings of the compilers, with their places in the user's files.
    pub messages: &'a [(CompilerMessage, Option<Span>)],
    /// The `-maxrregcount` that counts.
    pub register_flag: Option<(u32, String)>,
    /// The unit's texts as they were compiled.
    pub compiled: CompiledUnit<'a>,
    ptx_text: &'a str,
    ptx: OnceCell<PtxModule>,
    launches: OnceCell<Launches>,
}

impl<'a> UnitContext<'a> {
    pub fn new(
        unit: &'a TranslationUnit,
        artifacts: &'a Artifacts,
        facts: &'a UnitFacts,
        messages: &'a [(CompilerMessage, Option<Span>)],
        register_flag: Option<(u32, String)>,
    ) -> Self {
        let (compiled, ptx_text) = (artifacts.compiled_unit(unit), artifacts.ptx.as_str());
        let (ptx, launches) = (OnceCell::new(), OnceCell::new());
        Self { unit, facts, messages, register_flag, compiled, ptx_text, ptx, launches }
    }

    /// A function of the PTX, by its mangled name; also in units without local memory, whose PTX nobody has read yet.
    pub fn function(&self, mangled: &str) -> Option<&PtxFunction> {
        if let Some(function) = self.facts.ptx.function(mangled) {
            return Some(function);
        }
        self.ptx.get_or_init(|| PtxModule::parse(self.ptx_text).unwrap_or_default()).function(mangled)
    }

    /// Whether nothing but machine code is known.
    pub fn is_without_ptx(&self) -> bool {
        matches!(self.unit.code, UnitCode::Machine(_)) && self.ptx_text.is_empty()
    }

    /// Whether functions of the unit may be called by others that it is linked with.
    pub fn is_relocatable(&self) -> bool {
        self.ptx_text.contains(".visible .func")
    }

    /// The launch of a kernel with the most threads in a block, where all its launches are known.
    pub fn launch(&self, frame: &KernelFrame) -> Option<&Launch> {
        self.launches().largest(&frame.name)
    }

    pub fn launches(&self) -> &Launches {
        self.launches.get_or_init(|| Launches::of_unit(self.compiled))
    }
}

/// A lint's answer: what is, where, why, and what to do.
#[derive(Debug, Clone, Default)]
pub struct Finding {
    pub message: String,
    pub primary: Option<Label>,
    pub labels: Vec<Label>,
    pub notes: Vec<String>,
    pub help: Vec<String>,
    pub suggestions: Vec<Suggestion>,
    pub variable: Option<String>,
    pub variable_type: Option<String>,
    pub uniformity: Option<Uniformity>,
    pub loop_depth: u32,
    pub loads: u64,
    pub stores: u64,
}

impl Finding {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// The place that the finding is filed under; the first one given stays.
    pub fn primary(mut self, span: Option<&Span>, text: impl Into<String>) -> Self {
        if let Some(span) = span.filter(|_| self.primary.is_none()) {
            self.primary = Some(Label { span: span.clone(), text: text.into() });
        }
        self
    }

    pub fn label(mut self, span: Option<&Span>, text: impl Into<String>) -> Self {
        let label = span.map(|span| Label { span: span.clone(), text: text.into() });
        // What the place of the finding says already is not said again.
        self.labels.extend(label.filter(|label| self.primary.as_ref() != Some(label) && !self.labels.contains(label)));
        self
    }

    /// Labels an access of an object with its figures; without a declaration it is the place of the finding.
    pub fn access(self, object: &StackObject, access: &Access) -> Self {
        let text = traffic(object, access);
        let finding = match self.primary {
            Some(_) => self.label(access.span.as_ref(), text),
            None => self.primary(access.span.as_ref(), text),
        };
        let finding = match (&access.via, &object.variable) {
            (Some(_), Some(variable)) => {
                finding.label(access.via.as_ref(), format!("`{}` is handed to the function here", variable.name))
            }
            _ => finding,
        };
        let callers: Vec<String> =
            access.inlined_at().iter().take(SHOWN_LEVELS).map(|span| line_of(span, None)).collect();
        match callers.is_empty() {
            true => finding,
            false => finding.note(format!("the access was inlined at {}", callers.join(", at "))),
        }
    }

    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// Offers edits; those that a recompilation shows not to help are dropped later.
    pub fn suggest(mut self, suggestion: Option<Suggestion>) -> Self {
        self.suggestions.extend(suggestion.filter(|suggestion| !suggestion.edits.is_empty()));
        self
    }
}

/// Lint levels as command line, configuration and defaults make them.
#[derive(Debug, Clone, Default)]
pub struct Levels {
    levels: BTreeMap<String, Level>,
    /// `warnings`: what all lints that warn are raised or lowered to.
    warnings: Option<Level>,
}

impl Levels {
    /// Sets a level; `warnings` speaks of all lints that warn. A forbidden lint stays forbidden.
    pub fn set(&mut self, lint: &str, level: Level) {
        if lint == "warnings" {
            self.warnings = Some(level);
        } else if self.levels.get(lint) != Some(&Level::Forbid) {
            self.levels.insert(lint.to_string(), level);
        }
    }

    pub fn level(&self, lint: &Lint) -> Level {
        match (self.own_level(lint), self.warnings) {
            (Level::Warn, Some(warnings)) => warnings,
            (level, _) => level,
        }
    }

    /// How loud a remark is; `None` where it is allowed. A note gets louder only where somebody names it.
    pub fn remark_severity(&self, remark: &Remark) -> Option<Severity> {
        let own = match (self.levels.get(remark.name), remark.severity) {
            (_, Severity::Error) => return Some(Severity::Error),
            (None, Severity::Note) => return Some(Severity::Note),
            (None, Severity::Warning) => Level::Warn,
            (Some(level), _) => *level,
        };
        match (own, self.warnings) {
            (Level::Warn, Some(Level::Allow)) | (Level::Allow, _) => None,
            (Level::Warn, None | Some(Level::Warn)) => Some(Severity::Warning),
            (Level::Deny | Level::Forbid, _) | (Level::Warn, Some(Level::Deny | Level::Forbid)) => {
                Some(Severity::Error)
            }
        }
    }

    /// The level without what is said of all warnings.
    fn own_level(&self, lint: &Lint) -> Level {
        self.levels.get(lint.name).copied().unwrap_or(lint.level)
    }

    /// How loud a finding is; `None` where its lint is allowed. A minor one that would only be a warning is a note, also
    /// where warnings are errors.
    fn severity(&self, lint: &Lint, is_minor: bool) -> Option<Severity> {
        match (self.level(lint), self.own_level(lint)) {
            (Level::Allow, _) => None,
            (_, Level::Warn) if is_minor => Some(Severity::Note),
            (Level::Warn, _) => Some(Severity::Warning),
            (Level::Deny | Level::Forbid, _) => Some(Severity::Error),
        }
    }
}

/// Names of all lints, and the word for all that warn.
pub fn known_names() -> Vec<&'static str> {
    ALL.iter().map(|lint| lint.name).chain(["warnings"]).collect()
}

/// Names that a level may be set for: those of remarks too.
pub fn names_with_levels() -> Vec<&'static str> {
    known_names().into_iter().chain(remark::ALL.iter().map(|remark| remark.name)).collect()
}

/// A lint by its name; `-` and the prefix `lmem::` are accepted too.
pub fn find(name: &str) -> Option<&'static Lint> {
    let name = name.trim_start_matches("lmem::").replace('-', "_");
    ALL.iter().copied().find(|lint| lint.name == name)
}

/// The documentation of a lint, from its own source, or of a remark.
pub fn documentation(name: &str) -> Option<&'static str> {
    // Leaked once for each lint at most: the text lives as long as the program anyway.
    static TEXTS: std::sync::OnceLock<BTreeMap<&'static str, String>> = std::sync::OnceLock::new();
    let texts = TEXTS.get_or_init(|| ALL.iter().map(|lint| (lint.name, module_documentation(lint.source))).collect());
    match find(name) {
        Some(lint) => texts.get(lint.name).map(String::as_str),
        None => remark::find(name).map(|remark| remark.documentation),
    }
}

fn module_documentation(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// A finding with the lint that made it, before it is merged with others.
pub struct Claim {
    pub lint: &'static Lint,
    pub finding: Finding,
    pub bytes: u64,
    /// It costs next to nothing: a few bytes, and no loop around any access.
    pub is_minor: bool,
}

/// A frame of this many bytes is one or two registers, stored and loaded once.
const MINOR_BYTES: u64 = 8;

fn is_minor(object: &StackObject) -> bool {
    let deepest = object.accesses.iter().map(|access| access.loop_depth).max().unwrap_or(0);
    let is_in_loop = match &object.kind {
        StackObjectKind::Spills(spills) => spills.loop_depth > 0,
        StackObjectKind::Variable => deepest > 0,
        // What is not known is not called harmless; nor is a function that may be called anywhere.
        StackObjectKind::Call(area) if matches!(area.kind, CallAreaKind::Routine { .. }) => false,
        StackObjectKind::Unknown
        | StackObjectKind::Call(_)
        | StackObjectKind::Allocation(_)
        | StackObjectKind::Recursion(_) => true,
    };
    // A function that is given the address may be called in a loop.
    !is_in_loop && object.escapes.is_empty() && object.bytes <= MINOR_BYTES
}

/// Runs all object lints over a frame: every byte of it is claimed by exactly one.
pub fn claims(cx: &LintContext<'_>) -> Vec<Claim> {
    cx.frame.objects.iter().filter_map(|object| claim(cx, object)).collect()
}

fn claim(cx: &LintContext<'_>, object: &StackObject) -> Option<Claim> {
    ALL.iter().find_map(|lint| match lint.check {
        Check::Object(check) => check(cx, object).map(|finding| Claim {
            lint,
            finding: with_owner(rounding(finding, cx), object),
            bytes: object.bytes,
            is_minor: is_minor(object),
        }),
        _ => None,
    })
}

/// Edits after which products may be fused with sums: they keep the meaning, but not all bits.
fn rounding(mut finding: Finding, cx: &LintContext<'_>) -> Finding {
    if finding.suggestions.is_empty() || !may_fuse(&cx.unit.facts.ptx, &cx.frame.mangled) {
        return finding;
    }
    for suggestion in &mut finding.suggestions {
        if suggestion.applicability == Applicability::MachineApplicable {
            suggestion.applicability = Applicability::MaybeIncorrect;
        }
        suggestion.title.push_str(LAST_DIGITS);
    }
    finding
}

/// Said of such edits: a product and the sum behind it are rounded once where they are fused, else twice.
const LAST_DIGITS: &str = " (last digits may differ)";

/// Says whose variable it is, where it is not the kernel's own.
fn with_owner(finding: Finding, object: &StackObject) -> Finding {
    match object.function.as_ref().filter(|_| object.math_function.is_none()) {
        Some(function) => finding.note(format!("it belongs to `{function}`, which is not inlined")),
        None => finding,
    }
}

/// Runs all kernel lints that are wanted over a frame.
pub fn kernel_claims(cx: &LintContext<'_>, levels: &Levels) -> Vec<Claim> {
    let claim = |lint: &&'static Lint| match lint.check {
        Check::Kernel(check) => Some(Claim { lint, finding: check(cx)?, bytes: 0, is_minor: false }),
        _ => None,
    };
    wanted(levels).filter_map(|lint| claim(&lint)).collect()
}

/// Remarks on the options of a unit, by all lints that are wanted.
pub fn option_claims(cx: &UnitContext<'_>, levels: &Levels) -> Vec<Claim> {
    let claims = |lint: &'static Lint| match lint.check {
        Check::Options(check) => check(cx),
        _ => Vec::new(),
    };
    let claim = |lint| move |finding| Claim { lint, finding, bytes: 0, is_minor: false };
    wanted(levels).flat_map(|lint| claims(lint).into_iter().map(claim(lint))).collect()
}

/// What these lints ask costs more than the answer of one that nobody hears.
fn wanted(levels: &Levels) -> impl Iterator<Item = &'static Lint> {
    ALL.iter().copied().filter(|lint| levels.level(lint) != Level::Allow)
}

/// Whether a lint says what a warning of a compiler says, and better.
pub fn explains(message: &CompilerMessage) -> bool {
    crate::lints::is_ignored_pragma(message)
}

/// Names of all lints that would claim an object if none came before them, in order. The last lint claims everything,
/// so it is named only where it is alone.
pub fn would_claim(cx: &LintContext<'_>, object: &StackObject) -> Vec<&'static str> {
    let claims = |lint: &&Lint| match lint.check {
        Check::Object(check) => check(cx, object).is_some(),
        _ => false,
    };
    let mut names: Vec<&str> = ALL.iter().copied().filter(|lint| claims(lint)).map(|lint| lint.name).collect();
    if names.len() > 1 {
        names.retain(|name| Some(name) != ALL.last().map(|lint| lint.name).as_ref());
    }
    names
}

/// Remarks on the unit as a whole; `is_debug` tells that its code was built with `-G`.
pub fn unit_claim(unit: &TranslationUnit, is_debug: bool) -> Option<Claim> {
    ALL.iter().find_map(|lint| match lint.check {
        Check::Unit(check) => check(unit, is_debug).map(|finding| Claim { lint, finding, bytes: 0, is_minor: false }),
        _ => None,
    })
}

/// What a diagnostic says beside the finding.
#[derive(Clone, Copy)]
pub struct Circumstances<'a> {
    pub unit: &'a TranslationUnit,
    pub frame: Option<&'a KernelFrame>,
    pub architecture: &'a str,
    pub toolkit: &'a str,
    pub flags: FlagOrigin,
}

impl Claim {
    /// The claim as a diagnostic; `None` where the lint is allowed.
    pub fn into_diagnostic(self, levels: &Levels, about: &Circumstances<'_>) -> Option<Diagnostic> {
        let severity = levels.severity(self.lint, self.is_minor)?;
        let kernels = about.frame.map(|frame| instance(frame, self.bytes, about)).into_iter().collect();
        let finding = self.finding;
        Some(Diagnostic {
            severity,
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
            }),
            package: about.unit.package.clone(),
        })
    }
}

fn instance(frame: &KernelFrame, bytes: u64, about: &Circumstances<'_>) -> KernelInstance {
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
        usage: frame.usage,
        flags: about.flags,
        loaded_at,
    }
}

/// The start that findings on an array or variable share: the figures, and the declaration as the place.
pub fn object_finding(object: &StackObject, guilty: Option<&Access>, message: String) -> Finding {
    let mut finding = Finding::new(message);
    finding.loads = object.count(AccessKind::Load);
    finding.stores = object.count(AccessKind::Store);
    finding.loop_depth = guilty.map_or(0, |access| access.loop_depth);
    if let Some(variable) = &object.variable {
        finding.variable = Some(variable.name.clone());
        finding.variable_type = Some(variable.type_text.clone());
        finding = finding.primary(Some(&variable.span), format!("{} in every thread", bytes(object.bytes)));
    }
    if let Some(Address::Computed(sources)) = guilty.map(|access| &access.address) {
        finding.uniformity = sources.uniformity();
    }
    finding
}

/// ``array `window` (`float[32]`, 128 bytes)``, or what can be said without a name.
pub fn describe(object: &StackObject) -> String {
    match &object.variable {
        Some(variable) => {
            let what = match variable.kind {
                _ if variable.is_parameter => "parameter",
                crate::attribute::DeclarationKind::Array => "array",
                _ => "variable",
            };
            let size = variable.bytes.unwrap_or(object.bytes - object.padding);
            format!("{what} `{}` (`{}`, {})", variable.name, variable.type_text, bytes(size))
        }
        None => format!("an array of {}", bytes(object.bytes)),
    }
}

/// `32 local loads and 1 store, inside the loop at line 20`: all of an object's accesses at the place of one.
pub fn traffic(object: &StackObject, access: &Access) -> String {
    let count = |kind| {
        let here = object.accesses.iter().filter(|other| other.kind == kind && other.is_beside(access));
        here.map(|other| other.count).sum::<u64>()
    };
    let what = match (count(AccessKind::Load), count(AccessKind::Store)) {
        (0, stores) => plural(stores, "local store"),
        (loads, 0) => plural(loads, "local load"),
        (loads, stores) => format!("{} and {}", plural(loads, "local load"), plural(stores, "store")),
    };
    let place = access.loop_span.as_ref().map(|span| line_of(span, access.span.as_ref()));
    match (access.loop_depth, place) {
        (0, _) => what,
        (1, Some(place)) => format!("{what}, inside the loop at {place}"),
        (1, None) => format!("{what}, inside a loop"),
        (depth, Some(place)) => format!("{what}, inside the loop at {place}, {depth} loops deep"),
        (depth, None) => format!("{what}, {depth} loops deep"),
    }
}

/// `line 20`, or `scan.cuh:20` where that is another file than the one that is spoken of.
pub fn line_of(span: &Span, near: Option<&Span>) -> String {
    match near.filter(|near| near.file.path == span.file.path) {
        Some(_) => format!("line {}", span.start_line()),
        None => format!("{}:{}", span.file.display, span.start_line()),
    }
}

/// Why an index is not a constant, as the end of "it depends on …".
pub fn origin(sources: &Sources) -> String {
    let parts = [
        (sources.loaded, "loaded data"),
        (sources.thread_index, "the thread index"),
        (sources.block_index, "the block index"),
        (sources.parameter, "a kernel parameter"),
        (sources.argument, "an argument of the function"),
        (sources.carried, "a value that changes from iteration to iteration"),
        (sources.counter && !sources.carried, "a loop counter"),
    ];
    let named: Vec<&str> = parts.iter().filter(|(holds, _)| *holds).map(|(_, name)| *name).collect();
    match named.as_slice() {
        [] => "a value of the run".to_string(),
        [only] => (*only).to_string(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `1 byte`, `128 bytes`
pub fn bytes(count: u64) -> String {
    plural(count, "byte")
}

pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("{count} {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_set_in_order_and_forbid_stays() {
        let lint = find("dynamic_index").unwrap();
        let mut levels = Levels::default();
        assert_eq!(levels.level(lint), Level::Warn);
        levels.set("warnings", Level::Deny);
        assert_eq!(levels.level(lint), Level::Deny);
        levels.set("dynamic_index", Level::Allow);
        assert_eq!(levels.level(lint), Level::Allow);
        levels.set("dynamic_index", Level::Forbid);
        levels.set("dynamic_index", Level::Allow);
        assert_eq!(levels.level(lint), Level::Forbid);
    }

    #[test]
    fn names_are_found_in_every_spelling() {
        assert!(find("dynamic-index").is_some() && find("lmem::dynamic_index").is_some());
        assert!(find("warnings").is_none());
    }

    #[test]
    fn every_lint_is_documented() {
        for lint in ALL {
            let text = documentation(lint.name).unwrap();
            for heading in ["## Why it costs", "## What to do", "## Fix safety"] {
                assert!(text.contains(heading), "`{}` lacks `{heading}`", lint.name);
            }
        }
    }
}
