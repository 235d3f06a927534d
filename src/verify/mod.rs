//! Suggestions are compiled before they are shown, and dropped if they do not help.
//!
//! A suggestion must be valid in every unit that reads the edited files, for every architecture of the run. Several are
//! tried in one compilation if they are independent. If such a compilation fails, each is tried alone.

mod alone;
mod batch;
mod blocks;
mod budget;
mod combine;
mod compare;
mod covered;
mod everywhere;
mod foreseen;
mod hidden;
mod lines;
pub mod measure;
mod occupancy;
mod other_builds;
mod other_compilers;
pub mod overlay;
mod partial;
pub mod results;
mod room;
mod subjects;
#[cfg(test)]
mod tests;
mod together;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use lmem_base::diagnostic::{
    ADVICE_BEFORE, Applicability, Diagnostic, Edit, Evidence, Help, KernelInstance, Suggestion, Uniformity,
    Verification, VerifiedKernel,
};
use lmem_base::gpu::Arch;
use lmem_base::mangling::demangle;
use lmem_base::threads;
use lmem_base::timing::Measurement;
use lmem_unit::MessageKind;
use nv_code::computed_costs;

use crate::compile::{CompileError, Failure, Target};
use batch::{Batch, batches};
use blocks::Shown;
use compare::Terms;
use measure::canonical;
use subjects::reads;

pub use alone::run_alone;
pub use budget::{Budget, cost_of};
pub use combine::{Combined, combine};
pub use compare::Fault;
pub use everywhere::keep_true_everywhere;
pub use measure::{Function, Measured};
pub use occupancy::{Occupancy, occupancy};
pub use overlay::{Mirror, Overlay};
pub use results::Comparer;
pub use subjects::{Subject, Subjects};

/// Assumed size of an element, if only the object's size is known.
const ELEMENT_BYTES: u64 = 4;

/// Compiles overlays: the compilers with a cache, or a record.
pub trait OverlaySource: Sync {
    /// Figures of a unit with edits.
    ///
    /// # Errors
    /// The edited unit does not compile.
    fn measure(&self, overlay: &Overlay<'_>, target: &Target) -> Result<Measured, Box<Failure>>;

    /// The stored result of an earlier run.
    fn measured(&self, _overlay: &Overlay<'_>, _target: &Target) -> Option<Result<Measured, Box<Failure>>> {
        None
    }

    /// Whether edits are timed on a GPU.
    fn is_timed(&self) -> bool {
        false
    }
}

/// Settings of the verification.
#[derive(Clone, Copy)]
pub struct Prover<'a> {
    pub subjects: &'a Subjects<'a>,
    pub source: &'a dyn OverlaySource,
    pub root: &'a std::path::Path,
    pub threads: usize,
    /// Limit on compilations that no earlier run has done.
    pub budget: &'a Budget,
    /// Receives progress.
    pub watcher: &'a dyn Watcher,
}

/// Observer of the compilations' progress.
pub trait Watcher: Sync {
    /// This many more compilations are planned.
    fn plan(&self, count: usize);
    /// The compilation of a unit starts.
    fn start(&self, name: &str);
    fn finish(&self, name: &str);
}

/// Counters of the verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    pub tried: usize,
    pub proven: usize,
    pub compilations: usize,
    /// Suggestions that were not compiled.
    pub open: usize,
    pub interrupted: bool,
    /// Suggestions that do not help: the location of the finding, and the reason.
    pub refuted: Vec<(String, Fault)>,
}

impl Tally {
    /// Suggestions that compute something else.
    pub fn different(&self) -> usize {
        self.refuted.iter().filter(|(_, fault)| matches!(fault, Fault::Results(_))).count()
    }
}

/// A suggestion of a diagnostic.
struct Candidate<'d> {
    diagnostic: usize,
    suggestion: &'d Suggestion,
    evidence: &'d Evidence,
    /// Indices of the subjects that read the files it edits.
    subjects: Vec<usize>,
    kernels: BTreeSet<&'d str>,
}

impl Candidate<'_> {
    /// Sort key: the costliest diagnostics come first.
    fn order(&self) -> (Reverse<u128>, usize) {
        (Reverse(self.evidence.score()), self.diagnostic)
    }
}

/// The result for a candidate.
enum Verdict {
    Proven(Verification),
    /// It does not help.
    Refuted(Fault),
    /// Another candidate in the same compilation may have caused the failure.
    Unclear,
    /// It was not compiled.
    Open,
}

/// `None` if the compilation was not run.
type Compilation = Option<Result<Measured, Box<Failure>>>;

/// Tries the suggestions of all diagnostics. Each diagnostic keeps its first verified suggestion, otherwise those that
/// were not compiled, which are for programmers to judge.
pub fn prove(diagnostics: &mut [Diagnostic], prover: &Prover<'_>) -> Tally {
    let mut tally = Tally::default();
    let longest = diagnostics.iter().map(|diagnostic| diagnostic.suggestions.len()).max().unwrap_or(0);
    let mut outcomes: Vec<Vec<Verdict>> = diagnostics.iter().map(|_| Vec::new()).collect();
    for round in 0..longest {
        let candidates = candidates(diagnostics, &outcomes, round, prover);
        tally.tried += candidates.len();
        let results = foreseen::try_each(&candidates, prover, &mut tally);
        let places: Vec<usize> = candidates.iter().map(|candidate| candidate.diagnostic).collect();
        for (place, outcome) in places.into_iter().zip(results) {
            outcomes[place].push(outcome);
        }
    }
    for (diagnostic, outcomes) in diagnostics.iter().zip(&mut outcomes) {
        partial::keep_most(diagnostic, outcomes);
    }
    together::try_together(diagnostics, &mut outcomes, prover, &mut tally);
    for (diagnostic, outcomes) in diagnostics.iter_mut().zip(outcomes) {
        keep(diagnostic, outcomes, prover, &mut tally);
    }
    covered::share(diagnostics, &|edits, place| prover.subjects.are_of_one(edits, place));
    if !tally.interrupted {
        run_alone(diagnostics, prover);
        alone::leave_out_idle(diagnostics, &mut tally);
    }
    tally
}

/// Marks all suggestions as not compiled.
pub fn leave_open(diagnostics: &mut [Diagnostic]) {
    for suggestion in diagnostics.iter_mut().flat_map(|diagnostic| &mut diagnostic.suggestions) {
        suggestion.applicability = suggestion.applicability.max(Applicability::MaybeIncorrect);
    }
}

/// The lint and location of a diagnostic, for messages about the run.
pub fn place(diagnostic: &Diagnostic) -> String {
    let place = diagnostic.primary.as_ref().map(|label| format!("{:?}", label.span)).unwrap_or_default();
    let place = place.rsplit_once('+').map_or(place.as_str(), |(place, _)| place);
    format!("{} at {place}", diagnostic.code.name())
}

fn keep(diagnostic: &mut Diagnostic, outcomes: Vec<Verdict>, prover: &Prover<'_>, tally: &mut Tally) {
    let suggestions = std::mem::take(&mut diagnostic.suggestions);
    let mut open = Vec::new();
    let mut refuted = Vec::new();
    for (mut suggestion, outcome) in suggestions.into_iter().zip(outcomes) {
        match outcome {
            Verdict::Proven(verification) => {
                tally.proven += 1;
                if !results::are_equal(&verification) {
                    suggestion.applicability = suggestion.applicability.max(Applicability::MaybeIncorrect);
                }
                if let Some(limit) = verification.kernels.iter().filter_map(|kernel| kernel.block_limit).min() {
                    suggestion.applicability = suggestion.applicability.max(Applicability::MaybeIncorrect);
                    suggestion.title.push_str(&format!("; blocks of more than {limit} threads no longer run"));
                }
                room::say(&mut suggestion, &verification);
                suggestion.verification = Some(verification);
                diagnostic.suggestions = vec![suggestion];
                return;
            }
            Verdict::Refuted(fault) => {
                tally.refuted.push((place(diagnostic), fault.clone()));
                diagnostic.reject(&suggestion.title, &fault);
                // For a placeholder, the programmer may choose a better value than the one that was tried.
                let is_chosen = suggestion.applicability == Applicability::HasPlaceholders;
                if !is_chosen || fault.is_of_any_block() || fault.is_of_results() {
                    refuted.push((suggestion.title, fault, is_chosen));
                }
            }
            Verdict::Unclear => {}
            Verdict::Open => {
                tally.open += 1;
                suggestion.applicability = suggestion.applicability.max(Applicability::MaybeIncorrect);
                open.push(suggestion);
            }
        }
    }
    diagnostic.suggestions = open;
    for (title, fault, _) in refuted.iter().filter(|(_, fault, _)| matches!(fault, Fault::Alike(..))) {
        diagnostic.notes.push(format!("not compiled: {title} ({fault})"));
    }
    let may_be_faster = !prover.source.is_timed() && refuted.iter().any(|(_, fault, _)| fault.is_estimated());
    let mut rejected: Vec<String> = Vec::new();
    let mut is_answered = diagnostic.help.iter().any(|help| help.message.contains("shared memory"));
    let fused =
        refuted.iter().find(|(_, fault, _)| matches!(fault, Fault::Results(what) if what == results::CANCELLED));
    let unfused = fused.map(|(title, ..)| if title.contains("`volatile`") { UNFUSED_VOLATILE } else { UNFUSED });
    for (title, fault, is_chosen) in
        refuted.into_iter().filter(|(_, fault, _)| fault.is_of_the_idea() || fault.is_of_results())
    {
        // What the number stands for is of no interest any more.
        let title = title.split("; replace ").next().unwrap_or_default();
        // Advice without an edit stands before it, and was not tried.
        let title = match title.split_once(ADVICE_BEFORE) {
            Some((_, edit)) => edit,
            None => {
                // Other results are those of these edits. The idea is refuted with them where the help has the same.
                is_answered |= if fault.is_of_results() { is_advised(diagnostic, title) } else { !is_chosen };
                title
            }
        };
        // How the bodies are guarded is of no interest any more either.
        let tried = format!("{} ({fault})", title.replace(", guard their bodies, and unroll", ""));
        // Two forms of one approach fail for the same reason, which is listed once; so are loops that end at the size by a guard, and by
        // a second condition.
        let is_guarded = |known: &String| known.starts_with("use the array size as trip count");
        let is_other_form =
            title.starts_with("end all loops over the array at its size") && rejected.iter().any(is_guarded);
        if !rejected.contains(&tried) && !is_other_form {
            rejected.push(tried);
        }
    }
    if rejected.is_empty() {
        return;
    }
    diagnostic.notes.push(format!("tried and rejected: {}", rejected.join("; ")));
    // The help text recommends what the compilation has just refuted; sizes of blocks are asked for with shared memory alone.
    if !is_answered {
        return;
    }
    diagnostic.help.clear();
    if diagnostic.suggestions.is_empty() {
        let message = unfused.map_or_else(|| dead_end(diagnostic, may_be_faster), str::to_string);
        diagnostic.help.push(Help { message });
    }
}

/// What keeps a product apart from the difference that takes its rounding error.
const UNFUSED: &str = "write the product as `__fmul_rn(a, b)` or `__dmul_rn(a, b)` before the code is changed: the compiler fuses \
                       `a * b` with a difference";
/// The same where `volatile` keeps it.
const UNFUSED_VOLATILE: &str = "write the product as `__fmul_rn(a, b)` or `__dmul_rn(a, b)` before `volatile` is dropped: the \
                                compiler fuses `a * b` with a difference";

/// Whether the help says in words what an edit did.
fn is_advised(diagnostic: &Diagnostic, title: &str) -> bool {
    let ideas = ["shared memory", "drop `volatile`", "unroll", "select"];
    let help = || diagnostic.help.iter().map(|help| &help.message);
    ideas.iter().any(|idea| title.contains(idea) && help().any(|message| message.contains(idea)))
}

/// The advice if no edit helps. What an estimate speaks against may help in launches of the reader's.
fn dead_end(diagnostic: &Diagnostic, may_be_faster: bool) -> String {
    let lint = diagnostic.code.name();
    match may_be_faster {
        true => format!("`cargo lmem measure` times these; restructure or silence with `// lmem: allow({lint})`"),
        false => format!("no edit found that helps; restructure, or silence it with `// lmem: allow({lint})`"),
    }
}

/// The suggestions of a round, the costliest diagnostics first.
fn candidates<'d>(
    diagnostics: &'d [Diagnostic],
    outcomes: &[Vec<Verdict>],
    round: usize,
    prover: &Prover<'_>,
) -> Vec<Candidate<'d>> {
    let mut candidates: Vec<Candidate<'d>> = diagnostics
        .iter()
        .enumerate()
        .filter_map(|(index, diagnostic)| {
            let suggestion = diagnostic.suggestions.get(round)?;
            let is_wanted = partial::is_wanted(diagnostic, &outcomes[index], suggestion);
            is_wanted.then(|| candidate_of(index, diagnostic, suggestion, prover))?
        })
        .collect();
    candidates.sort_by_key(Candidate::order);
    candidates
}

fn candidate_of<'d>(
    index: usize,
    diagnostic: &'d Diagnostic,
    suggestion: &'d Suggestion,
    prover: &Prover<'_>,
) -> Option<Candidate<'d>> {
    let evidence = diagnostic.evidence.as_ref()?;
    Some(Candidate {
        diagnostic: index,
        suggestion,
        evidence,
        subjects: prover.subjects.readers(&suggestion.edits),
        kernels: evidence.kernels.iter().map(|kernel| kernel.mangled.as_str()).collect(),
    })
}

/// Tries candidates together, and those with an unclear result alone.
fn try_all(candidates: &[Candidate<'_>], prover: &Prover<'_>, tally: &mut Tally) -> Vec<Verdict> {
    let mut outcomes: Vec<Verdict> = candidates.iter().map(|_| Verdict::Open).collect();
    let all: Vec<usize> = (0..candidates.len()).collect();
    try_some(candidates, &all, prover, tally, &mut outcomes);
    outcomes
}

/// The same for some of them, by their indices.
fn try_some(
    candidates: &[Candidate<'_>],
    some: &[usize],
    prover: &Prover<'_>,
    tally: &mut Tally,
    outcomes: &mut [Verdict],
) {
    try_batches(candidates, &batches(some, candidates), prover, tally, outcomes);
    let is_unclear = |index: &&usize| matches!(outcomes[**index], Verdict::Unclear);
    let unclear = some.iter().filter(is_unclear);
    let alone: Vec<Batch> = unclear.map(|index| Batch::of(&[*index], candidates)).collect();
    try_batches(candidates, &alone, prover, tally, outcomes);
}

fn try_batches(
    candidates: &[Candidate<'_>],
    batches: &[Batch],
    prover: &Prover<'_>,
    tally: &mut Tally,
    outcomes: &mut [Verdict],
) {
    let results = run(candidates, batches, prover);
    tally.compilations += results.values().filter(|result| result.is_some()).count();
    tally.interrupted |= is_cancelled(results.values());
    for (number, batch) in batches.iter().enumerate() {
        for index in &batch.members {
            let of_subject = |subject: usize| results.get(&(number, subject)).and_then(Option::as_ref);
            let peers = batch.peers(&candidates[*index]);
            outcomes[*index] = outcome(&candidates[*index], &peers, candidates, &of_subject, prover);
        }
    }
}

fn is_cancelled<'r>(mut results: impl Iterator<Item = &'r Compilation>) -> bool {
    let is_cancelled = |failure: &Failure| matches!(failure.error, CompileError::Cancelled);
    results.any(|result| matches!(result, Some(Err(failure)) if is_cancelled(failure)))
}

/// Compiles each subject of each batch, on several threads.
fn run(candidates: &[Candidate<'_>], batches: &[Batch], prover: &Prover<'_>) -> BTreeMap<(usize, usize), Compilation> {
    let mut results: BTreeMap<(usize, usize), Compilation> = BTreeMap::new();
    let mut open = Vec::new();
    let tasks = batches.iter().enumerate().flat_map(|(number, batch)| batch.subjects().map(move |it| (number, it)));
    // The budget is spent in the order of the tasks, so that the result does not depend on the timing of threads.
    for task in tasks {
        let subject = &prover.subjects[task.1];
        let members = || batches[task.0].on(task.1).iter().map(|index| &candidates[*index]);
        let edits = members().flat_map(|candidate| &candidate.suggestion.edits);
        let edits: Vec<&Edit> = edits.filter(|edit| reads(subject, edit)).collect();
        let mut overlay = Overlay::new(subject.unit, prover.root, subject.dependencies, &edits);
        if let Some(overlay) = &mut overlay {
            overlay.threads = threads(members());
        }
        let known = overlay.as_ref().and_then(|overlay| prover.source.measured(overlay, subject.target));
        match (overlay, known) {
            (_, Some(known)) => drop(results.insert(task, Some(known))),
            (Some(overlay), None) if prover.budget.take(subject.cost) => open.push((task, overlay)),
            // The budget is exhausted, or the edits do not apply to the files of the unit.
            _ => drop(results.insert(task, None)),
        }
    }
    compile(open, results, prover)
}

/// By kernel, the block size that the edits rely on.
fn threads<'c, 'd: 'c>(candidates: impl Iterator<Item = &'c Candidate<'d>>) -> BTreeMap<String, u32> {
    let counted = candidates.filter_map(|candidate| Some((candidate.suggestion.threads?, candidate)));
    counted
        .flat_map(|(threads, candidate)| candidate.kernels.iter().map(move |kernel| (canonical(kernel), threads)))
        .collect()
}

fn compile(
    open: Vec<((usize, usize), Overlay<'_>)>,
    results: BTreeMap<(usize, usize), Compilation>,
    prover: &Prover<'_>,
) -> BTreeMap<(usize, usize), Compilation> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(results);
    prover.watcher.plan(open.len());
    threads::work_on(prover.threads.min(open.len()), || {
        while let Some((task, overlay)) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
            let measured = measure(overlay, &prover.subjects[task.1], prover);
            if let Ok(mut results) = results.lock() {
                results.insert(*task, Some(measured));
            }
        }
    });
    results.into_inner().unwrap_or_default()
}

fn measure(overlay: &Overlay<'_>, subject: &Subject<'_>, prover: &Prover<'_>) -> Result<Measured, Box<Failure>> {
    let name = &subject.unit.name;
    prover.watcher.start(name);
    let measured = prover.source.measure(overlay, subject.target);
    prover.watcher.finish(name);
    measured
}

fn outcome<'r>(
    candidate: &Candidate<'_>,
    peers: &[usize],
    candidates: &[Candidate<'_>],
    result: &dyn Fn(usize) -> Option<&'r Result<Measured, Box<Failure>>>,
    prover: &Prover<'_>,
) -> Verdict {
    let mut verified: BTreeMap<(&str, &str), Vec<VerifiedKernel>> = BTreeMap::new();
    // Kernels of the other candidates in the same compilations are judged with those.
    let kernels = peers.iter().flat_map(|index| candidates[*index].kernels.iter());
    let spared: BTreeSet<String> = kernels.map(|kernel| canonical(kernel)).collect();
    let failed = |fault| if peers.len() > 1 { Verdict::Unclear } else { Verdict::Refuted(fault) };
    for index in &candidate.subjects {
        let subject = &prover.subjects[*index];
        let after = match result(*index) {
            None => return Verdict::Open,
            // A cancelled compilation says nothing about the edit.
            Some(Err(failure)) if matches!(failure.error, CompileError::Cancelled) => return Verdict::Open,
            Some(Err(failure)) => return failed(why_not_compiled(failure)),
            Some(Ok(after)) => after,
        };
        if let Some(name) = compare::first_that_suffers(subject.before, after, |name| spared.contains(name)) {
            return failed(Fault::OtherFunction(demangle(name)));
        }
        if let Some(what) = results::difference(candidate, after) {
            return Verdict::Refuted(Fault::Results(what));
        }
        if let Some(what) = results::difference_elsewhere(&spared, after) {
            return failed(Fault::Results(what));
        }
        match judge_kernels(candidate, subject, after) {
            Ok(kernels) => kernels.into_iter().for_each(|(key, kernel)| verified.entry(key).or_default().push(kernel)),
            Err(fault) => return Verdict::Refuted(fault),
        }
        // Asked last: to read the launches takes a syntax tree.
        if let Some(fault) = room::lacking(subject, after) {
            return failed(fault);
        }
    }
    let kernels: Vec<VerifiedKernel> = candidate
        .evidence
        .kernels
        .iter()
        .filter_map(|kernel| {
            // A file that is compiled in several ways has a kernel several times.
            let ways = verified.get_mut(&(kernel.mangled.as_str(), kernel.arch.as_str()))?;
            let same = ways.iter().position(|way| way.before.usage == kernel.usage).unwrap_or(0);
            (!ways.is_empty()).then(|| ways.remove(same))
        })
        .collect();
    match kernels.len() == candidate.evidence.kernels.len() {
        true if !kernels.iter().any(|kernel| compare::gains(&kernel.before, &kernel.after)) => {
            Verdict::Refuted(Fault::NoGain)
        }
        // Functions without local memory are not reported.
        true => Verdict::Proven(Verification { kernels: kernels.into_iter().filter(has_local_memory).collect() }),
        // No unit that reads the edited file contains the kernel, so the edit cannot help it.
        false => Verdict::Refuted(Fault::OtherUnit),
    }
}

/// The compiler's first error, or the warning that the edits bring, with its line.
fn why_not_compiled(failure: &Failure) -> Fault {
    let first = |kind| failure.messages.iter().find(|message| message.kind == kind);
    let error = first(MessageKind::Error);
    let Some(message) = error.or_else(|| first(MessageKind::Warning)) else { return Fault::NotCompiled(None) };
    let line = message.place.as_ref().map(|(_, line)| format!(" (line {line} of the edited file)")).unwrap_or_default();
    let said = format!("{}{line}", message.text);
    match error {
        Some(error) => compare::shared_size(&error.text).unwrap_or(Fault::NotCompiled(Some(said))),
        None => Fault::Warned(said),
    }
}

/// Whether the kernel has local memory before the edits.
fn has_local_memory(kernel: &VerifiedKernel) -> bool {
    let usage = &kernel.before.usage;
    usage.stack_frame + usage.spilled() > 0
}

type Judged<'c> = Vec<((&'c str, &'c str), VerifiedKernel)>;

fn judge_kernels<'c>(candidate: &Candidate<'c>, subject: &Subject<'_>, after: &Measured) -> Result<Judged<'c>, Fault> {
    let evidence = candidate.evidence;
    let is_per_thread = evidence.uniformity == Some(Uniformity::PerThread);
    let here = evidence.kernels.iter().filter(|kernel| kernel.arch == subject.architecture);
    let mut judged = Vec::new();
    for kernel in here {
        let name = canonical(&kernel.mangled);
        let Some(before) = subject.before.functions.get(&name) else { continue };
        // For a file that is compiled in several ways, this compilation's kernel.
        let is_twin = |other: &&KernelInstance| other.mangled == kernel.mangled && other.arch == kernel.arch;
        let ours = evidence.kernels.iter().filter(is_twin).find(|twin| twin.usage == before.usage).unwrap_or(kernel);
        if *ours != *kernel || judged.iter().any(|(key, _)| *key == (kernel.mangled.as_str(), kernel.arch.as_str())) {
            continue;
        }
        let results = after.results.get(&name).cloned();
        let edited = after.functions.get(&name);
        let executed = after.executed.get(&name);
        let measured = after.timed.get(&name).cloned();
        let demangled = demangle(&kernel.mangled);
        let shown = |name: &str| Shown::of(subject.launches(), name);
        let launched = || executed.and_then(|it| it.before.threads()).or_else(|| shown(&demangled).only());
        let terms = Terms {
            arch: Arch::of(subject.architecture),
            rounds: candidate.suggestion.rounds,
            keeps_loops: candidate.suggestion.keeps_loops,
            must_end_spills: candidate.suggestion.must_end_spills,
            blocks_must_fit: candidate.suggestion.blocks_must_fit,
            warps_must_stay: candidate.suggestion.warps_must_stay,
            threads: candidate.suggestion.threads.or_else(launched),
            costs: computed_costs(kernel.bytes / ELEMENT_BYTES, is_per_thread),
        };
        let figures = compare::judge(before, edited, terms)?;
        let block_limit = match edited {
            Some(edited) => blocks::limit((before, edited), &demangled, terms.arch.gpu(), shown)?,
            None => None,
        };
        let estimated = compare::estimated(before, edited, executed, terms);
        let is_more_work = matches!(figures.doubt, Some(Fault::Work(..)));
        // What was measured counts, and the estimate does not; without both, what the machine code looks like.
        let speedup = match (measured.as_ref().and_then(Measurement::timing), figures.doubt) {
            (Some(timing), _) => {
                compare::judge_timing(timing)?;
                estimated.ok().flatten()
            }
            (None, doubt) => match (estimated?, doubt) {
                (None, Some(doubt)) => return Err(doubt),
                (estimated, _) => estimated,
            },
        };
        let is_by_hand = candidate.suggestion.applicability == Applicability::HasPlaceholders;
        let is_too_little = || compare::is_too_little_by_hand(before, edited, speedup, terms, is_more_work);
        if is_by_hand && measured.is_none() && is_too_little() {
            return Err(Fault::ByHand);
        }
        if let Some(fault) = compare::swells(before, edited, speedup).filter(|_| measured.is_none()) {
            return Err(fault);
        }
        // Instructions alone are too little to give half of the warps for.
        if speedup.is_none() && measured.is_none() && compare::halves_occupancy(before, edited, terms) {
            return Err(Fault::Occupancy);
        }
        let verified = VerifiedKernel {
            name: kernel.name.clone(),
            mangled: kernel.mangled.clone(),
            arch: kernel.arch.clone(),
            before: figures.before,
            after: figures.after,
            results,
            speedup,
            local_share: executed.and_then(|executed| compare::share(before, &executed.before, terms.arch)),
            measured,
            block_limit,
        };
        judged.push(((kernel.mangled.as_str(), kernel.arch.as_str()), verified));
    }
    Ok(judged)
}
