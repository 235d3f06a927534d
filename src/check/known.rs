//! The baseline of a run: read before compiling, and compared with the findings.

use std::path::{Path, PathBuf};

use lmem_base::diagnostic::{Code, Report};
use lmem_base::source::display_path;
use lmem_base::words::plural;
use lmem_project::discover::Workspace;

use super::{CheckError, Talk};
use crate::cli::CheckArgs;
use crate::gate::{Against, Baseline, BaselineError, DEFAULT_NAME};

/// Limit on listed entries of the baseline; JSON has all.
const SHOWN_ENTRIES: usize = 5;

/// The use of a baseline in a run.
pub enum Known {
    Nothing,
    Compare(Baseline),
    Write {
        path: PathBuf,
        /// The baseline that is there now.
        older: Result<Baseline, BaselineError>,
        /// The command line chooses architectures, and may leave out others that the baseline has.
        chooses_architectures: bool,
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
                let path = path.unwrap_or_else(|| workspace.root.join(DEFAULT_NAME));
                let older = Baseline::read(&path);
                let chooses_architectures = !arguments.arch.is_empty();
                Ok(Self::Write { path, older, chooses_architectures })
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
    ) -> Result<(), BaselineError> {
        match self {
            Self::Nothing => return Ok(()),
            Self::Compare(baseline) => {
                let baseline = if is_whole { baseline.following(&report.diagnostics) } else { baseline };
                let mut tally = baseline.apply(&mut report.diagnostics, Against::Baseline);
                if !is_whole {
                    // Entries for code that was not checked are not gone.
                    tally.gone = 0;
                    tally.improved.retain(|entry| !entry.now.is_empty());
                }
                for entry in tally.improved.iter().take(SHOWN_ENTRIES) {
                    talk.note(&format!("the baseline can be tightened: {entry}"));
                }
                if let Some(more) = tally.improved.len().checked_sub(SHOWN_ENTRIES + 1) {
                    talk.note(&format!("and {} more entries of it", more + 1));
                }
                report.summary.baseline = Some(tally);
            }
            Self::Write { path, older, chooses_architectures } => {
                let mut baseline = Baseline::of(&report.diagnostics);
                match older {
                    Ok(older) if !is_whole => baseline.keep(older),
                    Ok(older) if chooses_architectures => {
                        baseline.keep_architectures(older, &report.summary.architectures);
                    }
                    Err(error @ BaselineError::Form { .. }) if !is_whole => return Err(error),
                    _ => {}
                }
                baseline.write(&path)?;
                let found = report.diagnostics.iter().filter(|found| matches!(found.code, Code::Lint(_))).count();
                let findings = plural(found as u64, "finding");
                // A finding of several kernels has a line for each, and lines of what was not checked stay.
                let count = match baseline.len() == found {
                    true => findings,
                    false => format!("{findings} as {}", plural(baseline.len() as u64, "line")),
                };
                let name = display_path(&path, &workspace.root);
                talk.note(&format!("wrote {count} to `{name}`; `--baseline {name}` shows what is new beside them"));
                report.diagnostics.retain(|diagnostic| !matches!(diagnostic.code, Code::Lint(_)));
            }
        }
        report.count_findings();
        Ok(())
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
