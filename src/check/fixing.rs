//! Writes verified edits and checks again, until there is nothing left to write.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use lmem_base::diagnostic::{Applicability, Code, Diagnostic, FixTally, Suggestion};
use lmem_base::words::plural;

use super::{CheckError, Outcome, Talk};
use crate::cli::CheckArgs;
use crate::fix::vcs::VcsRules;
use crate::fix::{self, FixedFile};

/// Limit on rounds, since edits can lead to further ones. A run that stops here says so; the next run continues.
const MAX_ROUNDS: usize = 16;

/// The edits that one check found and that are compatible.
#[derive(Debug, Default)]
pub struct Fixes {
    pub files: Vec<FixedFile>,
    /// Number of diagnostics that they fix.
    pub problems: usize,
    /// Kernels whose spills they end.
    spilling: BTreeSet<String>,
}

impl Fixes {
    pub(super) fn new(diagnostics: &[Diagnostic], chosen: &[usize]) -> Self {
        let suggestions = chosen.iter().filter_map(|index| proven(&diagnostics[*index]));
        let spilling = chosen.iter().flat_map(|index| spilling_kernels(&diagnostics[*index]));
        Self {
            files: fix::fixed_files(suggestions),
            problems: chosen.len(),
            spilling: spilling.map(str::to_string).collect(),
        }
    }
}

/// The kernels of a finding on spills. They get one edit a run: the next round would judge a further step by the
/// figures of the first, and so write step by step what is refused as one.
pub(super) fn spilling_kernels(diagnostic: &Diagnostic) -> impl Iterator<Item = &str> {
    let is_spill = matches!(diagnostic.code, Code::Lint("register_spill" | "shared_spill_available"));
    let evidence = diagnostic.evidence.as_ref().filter(|_| is_spill);
    evidence.into_iter().flat_map(|evidence| &evidence.kernels).map(|kernel| kernel.mangled.as_str())
}

fn proven(diagnostic: &Diagnostic) -> Option<&Suggestion> {
    diagnostic.suggestions.iter().find(|suggestion| suggestion.is_proven())
}

/// Whether the user allows a suggestion to be written.
pub(super) fn accepts(suggestion: &Suggestion, arguments: &CheckArgs) -> bool {
    match suggestion.applicability {
        Applicability::MachineApplicable => true,
        Applicability::MaybeIncorrect => arguments.unsafe_fixes,
        Applicability::HasPlaceholders => false,
    }
}

/// Whether edits are to be written, to files or as a patch.
pub(super) fn is_asked(arguments: &CheckArgs) -> bool {
    arguments.fix || arguments.diff
}

pub(super) fn vcs_rules(arguments: &CheckArgs) -> VcsRules {
    VcsRules {
        allow_dirty: arguments.allow_dirty,
        allow_staged: arguments.allow_staged,
        allow_no_vcs: arguments.allow_no_vcs,
    }
}

/// Leaves out files behind a symbolic link that leads out of the workspace, so that the other files can be written.
fn leave_out_foreign(outcome: &mut Outcome, talk: &Talk) {
    let root = outcome.workspace.root.clone();
    let (inside, outside): (Vec<_>, Vec<_>) =
        std::mem::take(&mut outcome.fixes.files).into_iter().partition(|fixed| fix::is_inside(fixed, &root));
    outcome.fixes.files = inside;
    for fixed in outside {
        talk.note(&format!("`{}` leads out of the workspace and is not written", fixed.file.display));
    }
}

/// Writes the fixes of a check and of the checks that follow, and returns the last result.
///
/// # Errors
/// A file cannot be written or is not watched by git, or a check fails.
pub(super) fn converge(
    first: Outcome,
    again: impl Fn(&BTreeSet<String>) -> Result<Outcome, CheckError>,
    rules: VcsRules,
    cancel: &AtomicBool,
    talk: &Talk,
) -> Result<Outcome, CheckError> {
    let mut outcome = first;
    let mut tally = FixTally { is_written: true, ..FixTally::default() };
    let mut names = BTreeSet::new();
    let mut settled = BTreeSet::new();
    for _ in 0..MAX_ROUNDS {
        leave_out_foreign(&mut outcome, talk);
        if outcome.fixes.files.is_empty() {
            break;
        }
        if cancel.load(Ordering::Relaxed) {
            return Err(CheckError::Interrupted);
        }
        // What an earlier round wrote was unchanged before it.
        let new: Vec<_> =
            outcome.fixes.files.iter().filter(|fixed| !names.contains(&fixed.file.display)).cloned().collect();
        fix::refuse_files(&new, &outcome.workspace.root, rules, cancel)?;
        for fixed in fix::write(&outcome.fixes.files, &outcome.workspace.root)? {
            let name = &fixed.file.display;
            talk.note(&format!("`{name}` has another name (a hard link), which keeps the old text"));
        }
        for fixed in &outcome.fixes.files {
            talk.detail(&format!("fixed {}", fixed.file.display));
            names.insert(fixed.file.display.clone());
        }
        tally.problems += outcome.fixes.problems;
        settled.append(&mut outcome.fixes.spilling);
        outcome = again(&settled)?;
    }
    tally.files = names.len();
    if !outcome.fixes.files.is_empty() {
        let files = plural(outcome.fixes.files.len() as u64, "file");
        talk.note(&format!("{files} would be fixed further by another run"));
    }
    outcome.report.summary.fixed = Some(tally);
    Ok(outcome)
}
