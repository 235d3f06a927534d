//! Runs kernels without edits, where no edit was compared: what their local memory costs is then known of them too.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use lmem_base::diagnostic::{Diagnostic, Evidence, Suggestion, VerifiedKernel};
use lmem_base::gpu::Arch;

use super::compare::Fault;
use super::measure::{Measured, canonical};
use super::overlay::Overlay;
use super::{Prover, Tally, compare, compile, place};

/// Cost of running the kernels of a unit, in compilations of small files.
const COST: u64 = 1;

/// By kernel and architecture, the subjects that have it with local memory.
type Owners<'a> = HashMap<(&'a str, &'a str), Vec<usize>>;

/// Gives findings without a compared edit the share of the kernel's time that local memory takes.
pub fn run_alone(diagnostics: &mut [Diagnostic], prover: &Prover<'_>) {
    let owners = owners(prover);
    let mut open: Vec<&mut Evidence> = diagnostics
        .iter_mut()
        .filter(|diagnostic| diagnostic.ended_share().is_none())
        .filter_map(|diagnostic| diagnostic.evidence.as_mut())
        // Advice on a whole kernel is about no local memory.
        .filter(|evidence| evidence.bytes > 0)
        .collect();
    open.sort_by_key(|evidence| Reverse(evidence.score()));
    let mut subjects: Vec<usize> = Vec::new();
    let mut known = BTreeSet::new();
    for evidence in &open {
        subjects.extend(of(evidence, &owners).map(|(_, subject)| subject).filter(|subject| known.insert(*subject)));
    }
    let measured = run(&subjects, prover);
    for evidence in open {
        let shares = of(evidence, &owners).filter_map(|(name, subject)| {
            let kernel = prover.subjects[subject].before.functions.get(&name)?;
            let counts = measured.get(&subject)?.alone.get(&name)?;
            compare::share(kernel, counts, Arch::of(prover.subjects[subject].architecture))
        });
        evidence.local_share = shares.max();
    }
}

/// Below this share of the time, in thousandths, nobody gives shared memory for an edit without an estimate.
const IDLE: u32 = 50;

/// Leaves out edits that take shared memory of a kernel whose local memory takes next to nothing of its time, where no
/// estimate says that they gain.
pub(super) fn leave_out_idle(diagnostics: &mut [Diagnostic], tally: &mut Tally) {
    for diagnostic in diagnostics {
        let share = diagnostic.evidence.as_ref().and_then(|evidence| evidence.local_share);
        let Some(share) = share.filter(|share| *share < IDLE) else { continue };
        let is_idle = |suggestion: &Suggestion| {
            suggestion.verification.as_ref().is_some_and(|proof| {
                let grows = |kernel: &VerifiedKernel| kernel.after.usage.shared > kernel.before.usage.shared;
                proof.kernels.iter().any(grows) && proof.percent().is_none()
            })
        };
        let idle: Vec<Suggestion> = diagnostic.suggestions.extract_if(.., |suggestion| is_idle(suggestion)).collect();
        for suggestion in idle {
            let fault = Fault::Idle(share);
            diagnostic.reject(&suggestion.title, &fault);
            tally.proven = tally.proven.saturating_sub(1);
            tally.refuted.push((place(diagnostic), fault));
        }
    }
}

fn owners<'a>(prover: &Prover<'a>) -> Owners<'a> {
    let mut owners = Owners::new();
    for (index, subject) in prover.subjects.iter().enumerate() {
        let kernels = subject.before.functions.iter().filter(|(_, it)| it.is_entry && it.has_local_memory());
        for (name, _) in kernels {
            owners.entry((name, subject.architecture)).or_default().push(index);
        }
    }
    owners
}

/// The kernels of a finding, and the subjects that have them.
fn of<'a>(evidence: &Evidence, owners: &'a Owners<'_>) -> impl Iterator<Item = (String, usize)> + use<'a> {
    let kernels: BTreeSet<(String, &str)> =
        evidence.kernels.iter().map(|kernel| (canonical(&kernel.mangled), kernel.arch.as_str())).collect();
    let subjects = |(name, arch): (String, &str)| {
        let subjects = owners.get(&(name.as_str(), arch)).into_iter().flatten();
        (subjects.copied().collect::<Vec<_>>(), name)
    };
    let found: Vec<(Vec<usize>, String)> = kernels.into_iter().map(subjects).collect();
    found.into_iter().flat_map(|(subjects, name)| subjects.into_iter().map(move |subject| (name.clone(), subject)))
}

/// Runs the kernels of subjects, the costliest findings first, as far as the budget lasts.
fn run(subjects: &[usize], prover: &Prover<'_>) -> BTreeMap<usize, Measured> {
    let mut results = BTreeMap::new();
    let mut open = Vec::new();
    for index in subjects {
        let subject = &prover.subjects[*index];
        let Some(overlay) = Overlay::new(subject.unit, prover.root, subject.dependencies, &[]) else { continue };
        match prover.source.measured(&overlay, subject.target) {
            Some(known) => drop(results.insert((0, *index), Some(known))),
            None if prover.budget.take(COST) => open.push(((0, *index), overlay)),
            None => {}
        }
    }
    let results = compile(open, results, prover).into_iter();
    results.filter_map(|((_, subject), measured)| Some((subject, measured?.ok()?))).collect()
}
