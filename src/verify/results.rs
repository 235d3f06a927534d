//! Results of edited units: both versions of each kernel are run on the same launches, on the CPU.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use cuda_syntax::{Launch, Launches};
use lmem_base::diagnostic::{Applicability, Comparison, Verification};
use lmem_base::mangling::demangle;
use lmem_compare::estimate::{Counts, Executed};
use lmem_compare::{Alone, Compared, Outside, SourceLaunch, Terms, Versions};
use lmem_unit::{Artifacts, TranslationUnit};
use nv_code::dataflow::{cancels_products, writes_parameters};
use nv_code::{PtxModule, PtxasLog};

use super::Candidate;
use super::measure::{Measured, canonical};
use super::overlay::Overlay;
use crate::compile::Target;

/// Limit on the kernels of a unit that are run; an edit of a header may change hundreds.
const MOST_KERNELS: usize = 64;

/// What running both versions of a unit's kernels showed.
#[derive(Debug, Clone, Default)]
pub struct Results {
    pub functions: BTreeMap<String, Comparison>,
    /// By kernel.
    pub executed: BTreeMap<String, Executed>,
}

/// Compares the results of units with and without edits. Each pair of texts is compared once, as the PTX of different
/// architectures is mostly the same.
#[derive(Default)]
pub struct Comparer {
    /// By unit and architecture, for runs without a cache.
    originals: Mutex<HashMap<(String, String), Arc<Original>>>,
    known: Mutex<HashMap<blake3::Hash, Results>>,
    alone: Mutex<HashMap<blake3::Hash, BTreeMap<String, Counts>>>,
}

/// A unit without edits.
#[derive(Debug, Clone, Default)]
pub struct Original {
    ptx: String,
    /// By function, the length of the shortest array within one of its variables.
    inner_lengths: BTreeMap<String, u32>,
    /// Kernels with a stack frame or spills.
    has_local_memory: BTreeSet<String>,
    /// By kernel, launches in the unit's own text and in Rust code.
    launches: BTreeMap<String, Vec<SourceLaunch>>,
}

impl Original {
    pub fn of(unit: &TranslationUnit, artifacts: &Artifacts) -> Self {
        let lengths = artifacts.front_end.inner_lengths();
        let inner_lengths = lengths.into_iter().map(|(name, length)| (canonical(name), length)).collect();
        let functions = Measured::of_log(&PtxasLog::parse(&artifacts.ptxas_log)).functions;
        let launches = Launches::of_unit(artifacts.compiled_unit(unit));
        let kernels = functions.iter().filter(|(_, function)| function.is_entry);
        let launches = kernels.map(|(name, _)| (name.clone(), of_source(launches.known(&demangle(name)))));
        let launches = launches.filter(|(_, launches)| !launches.is_empty()).collect();
        let has_local_memory = functions.into_iter().filter(|(_, it)| it.is_entry && it.has_local_memory());
        let has_local_memory = has_local_memory.map(|(name, _)| name).collect();
        Self { ptx: canonical(&artifacts.ptx), inner_lengths, has_local_memory, launches }
    }

    fn outside<'a>(&'a self, kernel: &str, cancel: &'a AtomicBool) -> Outside<'a> {
        Outside { launches: self.launches.get(kernel).map_or(&[], Vec::as_slice), cancel: Some(cancel) }
    }

    /// The length of the shortest array within a variable of a kernel, or of a function that may be inlined into it.
    fn inner_length(&self, kernel: &str, kernels: &[&str]) -> Option<u32> {
        let is_near = |name: &str| name == kernel || !kernels.contains(&name);
        self.inner_lengths.iter().filter(|(name, _)| is_near(name)).map(|(_, length)| *length).min()
    }
}

fn of_source(launches: &[Launch]) -> Vec<SourceLaunch> {
    let launches = launches.iter().cloned();
    launches.map(|Launch { grid, block, arguments, .. }| SourceLaunch { grid, block, arguments }).collect()
}

impl Comparer {
    pub fn remember(&self, unit: &TranslationUnit, target: &Target, artifacts: &Artifacts) -> Arc<Original> {
        let original = Arc::new(Original::of(unit, artifacts));
        if let Ok(mut originals) = self.originals.lock() {
            originals.insert(name(unit, target), Arc::clone(&original));
        }
        original
    }

    pub fn remembered(&self, unit: &TranslationUnit, target: &Target) -> Option<Arc<Original>> {
        self.originals.lock().ok()?.get(&name(unit, target)).cloned()
    }

    /// Compares the results of a unit's functions before and after the edits of an overlay. `None` if that was cancelled.
    pub fn results(
        &self,
        before: &Original,
        after: &str,
        overlay: &Overlay<'_>,
        cancel: &AtomicBool,
    ) -> Option<Results> {
        self.results_on(before, after, (&overlay.threads, overlay.may_alias), cancel)
    }

    /// By kernel, the block size that the edits rely on, and whether pointers may lead to the same memory.
    fn results_on(
        &self,
        before: &Original,
        after: &str,
        (threads, may_alias): (&BTreeMap<String, u32>, bool),
        cancel: &AtomicBool,
    ) -> Option<Results> {
        let after = canonical(after);
        let mut hasher = hasher_of(&[&before.ptx, &after]);
        hasher.update(format!("{:?}", before.launches).as_bytes());
        threads.iter().for_each(|(kernel, threads)| {
            hasher.update(format!("{kernel} {threads}").as_bytes());
        });
        hasher.update(&[u8::from(may_alias)]);
        before.inner_lengths.iter().for_each(|(function, length)| {
            hasher.update(format!("{function} [{length}]").as_bytes());
        });
        let key = hasher.finalize();
        if let Some(known) = self.known.lock().ok().and_then(|known| known.get(&key).cloned()) {
            return Some(known);
        }
        let results = compared(before, &after, (threads, may_alias), cancel);
        if cancel.load(Ordering::Relaxed) {
            return None;
        }
        if let Ok(mut known) = self.known.lock() {
            known.insert(key, results.clone());
        }
        Some(results)
    }

    /// What the kernels with local memory of a unit without edits execute. `None` if that was cancelled.
    pub fn alone(&self, original: &Original, cancel: &AtomicBool) -> Option<BTreeMap<String, Counts>> {
        let mut hasher = hasher_of(&[&original.ptx]);
        hasher.update(format!("{:?}", original.launches).as_bytes());
        original.has_local_memory.iter().for_each(|kernel| {
            hasher.update(kernel.as_bytes());
        });
        let key = hasher.finalize();
        if let Some(known) = self.alone.lock().ok().and_then(|known| known.get(&key).cloned()) {
            return Some(known);
        }
        let kernels = original.has_local_memory.iter().take(MOST_KERNELS);
        let counts: BTreeMap<String, Counts> = match Alone::new(&original.ptx) {
            Some(alone) => kernels
                .filter_map(|name| {
                    let outside = original.outside(name, cancel);
                    Some((name.clone(), alone.counts(name, Terms::default(), outside)?))
                })
                .collect(),
            None => BTreeMap::new(),
        };
        if cancel.load(Ordering::Relaxed) {
            return None;
        }
        if let Ok(mut known) = self.alone.lock() {
            known.insert(key, counts.clone());
        }
        Some(counts)
    }
}

/// A hash of the code in texts of PTX.
fn hasher_of(texts: &[&str]) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        text.lines().filter(|line| is_code(line)).for_each(|line| {
            hasher.update(line.as_bytes());
        });
        hasher.update(b"\0");
    }
    hasher
}

fn name(unit: &TranslationUnit, target: &Target) -> (String, String) {
    let flags = match &unit.code {
        lmem_unit::UnitCode::CudaFile { flags, .. } => flags.all_arguments().join(" "),
        _ => String::new(),
    };
    (format!("{} {flags}", unit.name), format!("{} {}", target.toolkit.version, target.architecture))
}

/// Whether a line of PTX affects results, unlike source locations and the architecture.
fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !["//", ".loc", ".file", ".target", ".version"].iter().any(|start| line.starts_with(start))
}

fn compared(
    before: &Original,
    after: &str,
    (threads, may_alias): (&BTreeMap<String, u32>, bool),
    cancel: &AtomicBool,
) -> Results {
    let mut results = Results::default();
    let Some(versions) = Versions::new(&before.ptx, after) else { return results };
    let mut kernels: Vec<&str> = versions.kernels().collect();
    // If there are too many, kernels that an edit is for come first.
    kernels.sort_by_key(|kernel| !threads.contains_key(*kernel));
    let all = kernels.clone();
    let modules = PtxModule::parse(&before.ptx).ok().zip(PtxModule::parse(after).ok());
    let mut count = 0;
    for kernel in kernels {
        let Compared { results: outcome, executed } = match count {
            0..MOST_KERNELS => {
                let inner_length = before.inner_length(kernel, &all);
                let terms = Terms { threads: threads.get(kernel).copied(), inner_length, may_alias };
                versions.compare_launched(kernel, terms, before.outside(kernel, cancel))
            }
            _ => Compared::without_counts(Comparison::NotCompared { why: "too many kernels".to_string() }),
        };
        let changed = modules.as_ref().filter(|_| outcome != Comparison::Unchanged);
        let found = changed.and_then(|modules| {
            let writes = writes_parameters(&modules.1, kernel) && !writes_parameters(&modules.0, kernel);
            loses_error(modules, kernel).then_some(CANCELLED).or(writes.then_some(WRITTEN))
        });
        let outcome = found.map_or(outcome, |what| Comparison::Different { what: what.to_string() });
        count += usize::from(outcome != Comparison::Unchanged);
        results.executed.extend(executed.map(|executed| (kernel.to_string(), executed)));
        for function in versions.functions(kernel) {
            let known = results.functions.remove(&function).unwrap_or(Comparison::Unchanged);
            results.functions.insert(function, known.and(outcome.clone()));
        }
    }
    results
}

/// What is said of an edit that makes a parameter constant which something writes to, as to a `mutable` member.
const WRITTEN: &str = "something writes to a parameter, which would be constant";

/// What is said of an edit after which a rounding error may be another number.
pub(super) const CANCELLED: &str = "the compiler may fuse a product into a difference with the same product";

/// Whether a product of a changed kernel may be fused into a difference that takes its rounding error, where memory or a
/// call rounded it before. Launches do not show it: PTX is executed as written, and `ptxas` fuses.
fn loses_error((before, after): &(PtxModule, PtxModule), kernel: &str) -> bool {
    cancels_products(after, kernel) && !cancels_products(before, kernel)
}

/// A difference in the results of the candidate's own kernels.
pub(super) fn difference(candidate: &Candidate<'_>, after: &Measured) -> Option<String> {
    candidate.kernels.iter().find_map(|kernel| different(after.results.get(&canonical(kernel))?))
}

/// A difference in the results of a kernel that is not in `spared`.
pub(super) fn difference_elsewhere(spared: &BTreeSet<String>, after: &Measured) -> Option<String> {
    after.results.iter().filter(|(name, _)| !spared.contains(*name)).find_map(|(_, results)| different(results))
}

/// A difference in the results of any function.
pub(super) fn any_difference(after: &Measured) -> Option<String> {
    after.results.values().find_map(different)
}

fn different(results: &Comparison) -> Option<String> {
    match results {
        Comparison::Different { what } => Some(what.clone()),
        _ => None,
    }
}

/// Whether no difference is known, not even in the last digits.
pub(super) fn are_equal(verification: &Verification) -> bool {
    !verification.kernels.iter().filter_map(|kernel| kernel.results.as_ref()).any(is_close)
}

/// Whether a machine-applicable edit keeps all digits also in combination with others.
pub(super) fn are_as_shown(candidate: &Candidate<'_>, after: &Measured) -> bool {
    candidate.suggestion.applicability != Applicability::MachineApplicable
        || !candidate.kernels.iter().filter_map(|kernel| after.results.get(&canonical(kernel))).any(is_close)
}

fn is_close(results: &Comparison) -> bool {
    matches!(results, Comparison::LastDigits { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 n)\n{\n\
        ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nmul.wide.u32 %rd2, %r2, 4;\n\
        add.s64 %rd1, %rd1, %rd2;\nmul.lo.s32 %r1, %r1, 3;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

    fn results(after: &str) -> Results {
        let original = Original { ptx: KERNEL.to_string(), ..Original::default() };
        compare_once(&original, after, &AtomicBool::new(false)).unwrap()
    }

    fn compare_once(original: &Original, after: &str, cancel: &AtomicBool) -> Option<Results> {
        Comparer::default().results_on(original, after, (&BTreeMap::new(), true), cancel)
    }

    fn result(after: &str) -> Comparison {
        results(after).functions.remove("k").unwrap()
    }

    #[test]
    fn kernels_are_run_before_and_after() {
        let moved = KERNEL.replace("sm_90", "sm_80").replace("mov.u32", "\n.loc 1 2 3\nmov.u32");
        assert_eq!(result(&moved), Comparison::Unchanged);
        let same = KERNEL.replace("mul.lo.s32 %r1, %r1, 3", "add.s32 %r3, %r1, %r1;\nadd.s32 %r1, %r3, %r1");
        assert_eq!(result(&same), Comparison::Same { launches: 24 });
        let executed = results(&same).executed.remove("k").unwrap();
        assert!(executed.before.issued < executed.after.issued, "{executed:?}");
        assert!(results(&moved).executed.is_empty());
        assert!(matches!(result(&KERNEL.replace("%r1, 3", "%r1, 5")), Comparison::Different { .. }));
    }

    #[test]
    fn launches_of_the_program_are_counted() {
        let launch = SourceLaunch { grid: Some([9, 1, 1]), block: [64, 1, 1], arguments: vec![None, Some(7)] };
        let launches = BTreeMap::from([("k".to_string(), vec![launch])]);
        let original = Original { ptx: KERNEL.to_string(), launches, ..Original::default() };
        let after = KERNEL.replace("mul.lo.s32 %r1, %r1, 3", "add.s32 %r3, %r1, %r1;\nadd.s32 %r1, %r3, %r1");
        let counts = compare_once(&original, &after, &AtomicBool::new(false)).unwrap().executed["k"].after;
        assert!(counts.is_launched && counts.grid == 9 && counts.threads() == Some(64), "{counts:?}");
    }

    #[test]
    fn a_cancelled_comparison_says_nothing() {
        let original = Original { ptx: KERNEL.to_string(), ..Original::default() };
        let after = KERNEL.replace("%r1, 3", "%r1, 5");
        assert!(compare_once(&original, &after, &AtomicBool::new(true)).is_none());
        let comparer = Comparer::default();
        assert_eq!(comparer.alone(&original, &AtomicBool::new(true)), None);
        assert!(comparer.alone(&original, &AtomicBool::new(false)).is_some());
    }

    #[test]
    fn last_digits_and_differences_are_told_apart() {
        let verification = |results| Verification {
            kernels: vec![lmem_base::diagnostic::VerifiedKernel {
                name: "k".into(),
                mangled: "k".into(),
                arch: "sm_90".into(),
                before: Default::default(),
                after: Default::default(),
                results,
                speedup: None,
                local_share: None,
                measured: None,
                block_limit: None,
            }],
        };
        let digits = Comparison::LastDigits { launches: 9, relative_e15: 240_000_000 };
        assert!(are_equal(&verification(None)) && are_equal(&verification(Some(Comparison::Same { launches: 3 }))));
        assert!(!are_equal(&verification(Some(digits.clone()))));
        assert_eq!(verification(None).results(), None);
        let both = digits.and(Comparison::Same { launches: 5 });
        assert_eq!(both.to_string(), "last digits differ: up to 2e-7 relative");
        let different = Comparison::Different { what: "x".into() };
        let unknown = Comparison::NotCompared { why: "`tex.2d`".into() };
        assert_eq!(unknown.clone().and(both).to_string(), "results not compared: `tex.2d`");
        let after = Measured { results: [("k".to_string(), unknown.and(different))].into(), ..Measured::default() };
        assert_eq!(any_difference(&after).as_deref(), Some("x"));
        assert_eq!(difference_elsewhere(&BTreeSet::from(["k".to_string()]), &after), None);
    }

    #[test]
    fn places_are_no_code() {
        assert!(is_code("\tadd.s32 %r1, %r1, 1;") && is_code("$L__BB0_1:"));
        assert!(!is_code("\t.loc\t1 2 3") && !is_code("// x") && !is_code(".target sm_90"));
    }
}
