//! The baseline of a run: read before compiling, and compared with the findings.

use std::path::{Path, PathBuf};

use lmem_base::diagnostic::{BaselineTally, Code, Diagnostic, Help, Report, Severity};
use lmem_base::files;
use lmem_base::source::display_path;
use lmem_base::words::plural;
use lmem_lints::remark::STALE_BASELINE;
use lmem_project::discover::Workspace;

use super::{CheckError, Talk};
use crate::cli::CheckArgs;
use crate::gate::{Against, BUDGET, Baseline, BaselineError, DEFAULT_NAME};

/// Limit on listed entries of the baseline; JSON has all.
const SHOWN_ENTRIES: usize = 5;

/// The use of a baseline in a run.
pub enum Known {
    Nothing,
    Compare(Baseline),
    /// The path to write, and the baseline that is there now.
    Write {
        path: PathBuf,
        older: Result<Baseline, BaselineError>,
        /// The command line names architectures, and the project may have others.
        is_typed: bool,
        /// The settings name it, so that later runs compare with it.
        is_configured: bool,
    },
}

impl Known {
    /// Finds the baseline named on the command line, otherwise in the settings.
    ///
    /// # Errors
    /// The baseline cannot be read, or is at a path that settings of a workspace may not name.
    pub fn of(arguments: &CheckArgs, workspace: &Workspace, current: &Path) -> Result<Self, BaselineError> {
        if arguments.no_baseline {
            return Ok(Self::Nothing);
        }
        let typed = arguments.baseline.as_ref().map(|path| current.join(path));
        let configured = workspace.files.iter().find_map(|file| file.config.baseline.clone());
        if let Some(path) = configured.as_ref().filter(|_| typed.is_none()) {
            let folder = path.parent().unwrap_or(path);
            if !workspace.places.hold(folder) || (path.exists() && !workspace.places.hold_file(path)) {
                return Err(BaselineError::Outside(path.clone()));
            }
        }
        let path = typed.or(configured);
        match (arguments.write_baseline, path) {
            (false, None) => Ok(Self::Nothing),
            (false, Some(path)) => Baseline::read(&path).map(Self::Compare),
            (true, path) => {
                let is_configured = path.is_some() && arguments.baseline.is_none();
                let path = path.unwrap_or_else(|| workspace.root.join(DEFAULT_NAME));
                let older = Baseline::read_to_replace(&path)?;
                Ok(Self::Write { path, older, is_typed: !arguments.arch.is_empty(), is_configured })
            }
        }
    }

    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Compares the findings with the baseline. `is_whole` says that the run checked everything, and all of it
    /// compiled.
    ///
    /// # Errors
    /// The baseline cannot be written, or writing would lose entries of the old one.
    pub fn judge(
        self,
        report: &mut Report,
        is_whole: bool,
        workspace: &Workspace,
        talk: &Talk,
        leveled: impl Fn(Diagnostic) -> Option<Diagnostic>,
    ) -> Result<(), BaselineError> {
        match self {
            Self::Nothing => return Ok(()),
            Self::Compare(baseline) => {
                let baseline = if is_whole { baseline.following(&report.diagnostics) } else { baseline };
                let mut tally = baseline.apply(&mut report.diagnostics, Against::Baseline);
                let compiled = &report.summary.architectures;
                // Entries for code that was not checked, or not for their architectures, are not gone.
                tally.forget_gone(|entry| !is_whole || !entry.before.keys().any(|name| compiled.contains(name)));
                match leveled(stale(&tally)).filter(|_| !tally.improved.is_empty()) {
                    Some(remark) if remark.severity != Severity::Note => report.diagnostics.push(remark),
                    Some(remark) => {
                        remark.notes.iter().for_each(|entry| talk.note(&format!("{}: {entry}", remark.message)));
                    }
                    None => {}
                }
                report.summary.baseline = Some(tally);
            }
            Self::Write { path, older, is_typed, is_configured } => {
                let is_kept = |diagnostic: &&Diagnostic| matches!(diagnostic.code, Code::Lint(lint) if lint != BUDGET);
                let count = report.diagnostics.iter().filter(is_kept).count();
                let mut baseline = Baseline::to_keep(&report.diagnostics);
                match older {
                    Ok(older) if !is_whole => baseline.keep(older),
                    Ok(older) if is_typed => baseline.keep_architectures(older, &report.summary.architectures),
                    Err(error @ BaselineError::Form { .. }) if !is_whole || is_typed => return Err(error),
                    _ => {}
                }
                let has_twin = files::has_other_names(&path);
                baseline.write(&path)?;
                if has_twin {
                    let name = display_path(&path, &workspace.root);
                    talk.note(&format!("`{name}` has another name (a hard link), which keeps the old text"));
                }
                report.summary.baseline = Some(BaselineTally { known: count, ..BaselineTally::default() });
                let (count, name) = (plural(count as u64, "finding"), display_path(&path, &workspace.root));
                talk.note(&match is_configured {
                    true => format!("wrote {count} to `{name}`"),
                    false => format!(
                        "wrote {count} to `{name}`; `baseline = \"{name}\"` in the settings hides them from now on"
                    ),
                });
                report.diagnostics.retain(|diagnostic| match diagnostic.code {
                    Code::Lint(lint) => lint == BUDGET,
                    _ => true,
                });
            }
        }
        report.count_findings();
        Ok(())
    }
}

/// The remark on a baseline that allows more than there is.
fn stale(tally: &BaselineTally) -> Diagnostic {
    let mut notes: Vec<String> = tally.improved.iter().take(SHOWN_ENTRIES).map(ToString::to_string).collect();
    if let Some(more) = tally.improved.len().checked_sub(SHOWN_ENTRIES + 1) {
        notes.push(format!("{} more entries", more + 1));
    }
    Diagnostic {
        notes,
        help: vec![Help { message: "`cargo lmem --write-baseline` writes what is there now".to_string() }],
        ..Diagnostic::of_tool(Severity::Note, STALE_BASELINE, "the baseline can be tightened")
    }
}

/// Whether no option restricts what the run checks.
pub fn is_whole(arguments: &CheckArgs) -> bool {
    arguments.paths.is_empty()
        && arguments.package.is_empty()
        && arguments.exclude.is_empty()
        && arguments.kernel.is_none()
        && arguments.partition.is_none()
}

impl From<BaselineError> for CheckError {
    fn from(error: BaselineError) -> Self {
        Self::Baseline(error)
    }
}
