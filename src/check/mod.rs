//! One run of `cargo lmem check`: from the command line to a report, stage by stage.

mod allowing;
mod artifacts;
mod budgets;
mod builds;
mod called_elsewhere;
mod early;
mod error;
mod examine;
mod failures;
mod findings;
mod fixing;
mod gather;
mod hidden;
mod jobs;
mod judge;
mod kernels;
mod known;
mod level_here;
mod levels;
mod locator;
mod loosened;
mod machine;
mod messages;
mod missing;
mod not_analysed;
mod not_captured;
mod once;
mod only;
mod otherwise;
mod parts;
mod progress;
mod prove;
mod remarks;
mod request;
mod revision;
mod since;
mod start;
mod suppress;
mod surroundings;
mod talk;
mod tally;
mod target;
mod tools;
mod unit;
mod unit_flags;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::AtomicBool;

use lmem_base::comparison::Version;
use lmem_base::diagnostic::Report;
use lmem_project::discover::Workspace;

use crate::cache;
use crate::cli::CheckArgs;
use once::check_once;
use request::Request;
use since::Since;

pub use artifacts::{ArtifactSource, Compilers, Sourced};
pub use error::CheckError;
pub use examine::MARKS_SPILLS;
pub use findings::Findings;
pub use fixing::Fixes;
pub use level_here::levels_here;
pub use levels::typed_levels;
pub use revision::Revision;
pub use surroundings::Surroundings;
pub use talk::Talk;
pub use unit_flags::register_flag;

/// The results of a run, with what the report formats need to show them.
pub struct Outcome {
    pub report: Report,
    pub workspace: Workspace,
    /// A unit did not compile.
    pub failed: bool,
    /// Interrupted by Ctrl-C: further findings and proofs are missing.
    pub interrupted: bool,
    /// Fixes to write; empty unless requested.
    pub fixes: Fixes,
    /// Exit status of the traced program.
    pub ended: Option<ExitStatus>,
    /// The kernels, if they are compared with those of another version.
    kernels: Option<Version>,
    /// Files that did not compile.
    failing: BTreeSet<PathBuf>,
}

/// Runs a check.
///
/// # Errors
/// The command line, the configuration or the toolkit is unusable. Problems in kernels are part of the report.
pub fn check(arguments: &CheckArgs, cancel: &AtomicBool) -> Result<Outcome, CheckError> {
    check_in(Surroundings::default(), arguments, cancel)
}

/// Runs a check in the given surroundings; with `--fix`, again after each round of edits.
///
/// # Errors
/// As [`check`].
pub fn check_in(
    surroundings: Surroundings<'_>,
    arguments: &CheckArgs,
    cancel: &AtomicBool,
) -> Result<Outcome, CheckError> {
    let talk = &Talk::new(arguments.quiet, arguments.verbose);
    if surroundings.recorded.is_none() {
        cache::check_place(&surroundings.named(arguments)?, cancel)?;
    }
    let since = Since::of(arguments, &surroundings, cancel, talk)?;
    let since = since.as_ref();
    if let Some((revision, current, moved)) = since.and_then(Since::staged) {
        let surroundings = Surroundings { current_folder: Some(&current), revision: Some(revision), ..surroundings };
        let request = Request { surroundings: &surroundings, arguments: &moved, since, cancel, talk };
        let mut outcome = check_once(&request, None).map_err(|error| revision.named_by_user(error))?;
        // Findings refer to the user's files, not to the copy of the revision.
        outcome.workspace = outcome.workspace.moved(|path| revision.origin(path));
        return Ok(outcome);
    }
    let request = Request { surroundings: &surroundings, arguments, since, cancel, talk };
    if let Some(reason) = &arguments.add_allow {
        return allowing::add_comments(|rules| check_once(&request, rules), arguments, reason, cancel, talk);
    }
    if !arguments.fix || arguments.diff {
        return check_once(&request, None);
    }
    // Only the user's changes are a reason to refuse editing, so this is checked before the first edit.
    let outcome = check_once(&request, Some(fixing::vcs_rules(arguments)))?;
    // Edits do not change flags, so nothing is captured again.
    let arguments = CheckArgs { capture: false, ..arguments.clone() };
    let again = |settled: &BTreeSet<String>| {
        let surroundings = Surroundings { settled: settled.clone(), ..surroundings.clone() };
        check_once(&Request { surroundings: &surroundings, arguments: &arguments, ..request }, None)
    };
    fixing::converge(outcome, again, fixing::vcs_rules(&arguments), cancel, talk)
}
