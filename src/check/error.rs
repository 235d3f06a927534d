//! Why a run could not start, and what to do next.

use thiserror::Error;

use cuda_toolkit::ToolkitError;
use lmem_base::gpu::ArchError;
use lmem_base::level::Level;
use lmem_project::build_flags::CaptureError;
use lmem_project::config::ConfigError;
use lmem_project::discover::DiscoverError;

use super::unit::UnitReport;
use crate::cache::NotOurs;
use crate::fix::vcs::VcsError;
use crate::fix::write::WriteError;
use crate::gate::BaselineError;
use crate::git::GitError;
use crate::run::RunError;

/// Why a run could not start.
#[derive(Debug, Error)]
pub enum CheckError {
    #[error(transparent)]
    Discover(#[from] DiscoverError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Cache(#[from] NotOurs),
    #[error(transparent)]
    Toolkit(#[from] ToolkitError),
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Vcs(#[from] VcsError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Baseline(BaselineError),
    #[error(transparent)]
    Git(GitError),
    #[error("the current folder cannot be used")]
    Folder(#[source] std::io::Error),
    #[error("{message}")]
    NoLint {
        message: String,
        name: String,
        /// The option that names it.
        level: Level,
    },
    #[error("`--kernel {glob}` matches no kernel{}", near_kernel(.glob, .names))]
    NoKernel {
        glob: String,
        /// Names of the existing kernels.
        names: Vec<String>,
    },
    #[error(transparent)]
    Arch(#[from] ArchError),
    /// No unit could be compiled, because the toolkit lacks what `--arch` names.
    #[error("{message}")]
    NoArchitecture { message: String, hints: Vec<String> },
    #[error("interrupted")]
    Interrupted,
}

impl CheckError {
    /// What to do next.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Toolkit(error) => error.hints(),
            Self::Baseline(error) => error.hints(),
            Self::Git(error) => error.hints(),
            Self::Cache(_) => vec!["name a folder outside of it in `CARGO_LMEM_CACHE_DIR`".to_string()],
            Self::Discover(DiscoverError::Nothing { hint, .. }) => vec![(*hint).to_string()],
            Self::Discover(DiscoverError::NoManifest(_)) => {
                vec!["an empty `lmem.toml` makes a folder a project without Cargo, as of CMake".to_string()]
            }
            Self::Arch(error) if error.meant().is_none() => {
                vec![
                    "`nvidia-smi --query-gpu=name,compute_cap --format=csv` says what a GPU is: 9.0 is `sm_90`"
                        .to_string(),
                ]
            }
            Self::NoArchitecture { hints, .. } => hints.clone(),
            Self::NoLint { name, level: Level::Deny, .. } => {
                vec![format!("`-D {name}=1` defines a macro, as for compilers")]
            }
            Self::NoKernel { names, .. } if names.is_empty() => {
                vec!["no kernel was compiled: templates are, where something instantiates them".to_string()]
            }
            Self::NoKernel { names, .. } => {
                let shown: Vec<String> = names.iter().take(MAX_NAMES).map(|name| format!("`{name}`")).collect();
                let more = names.len().checked_sub(MAX_NAMES + 1).map(|more| format!(" and {} more", more + 1));
                let kernels = format!("the kernels are {}{}", shown.join(", "), more.unwrap_or_default());
                vec![kernels, "a glob is for the whole name: `*part*` finds a part of it".to_string()]
            }
            _ => Vec::new(),
        }
    }
}

/// Limit on kernels that a hint lists.
const MAX_NAMES: usize = 8;

fn near_kernel(glob: &str, names: &[String]) -> String {
    let near = lmem_base::words::nearest(glob.trim_matches('*'), names.iter().map(String::as_str));
    near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default()
}

pub fn no_kernel(glob: &str, reports: &[UnitReport]) -> CheckError {
    let mut names: Vec<String> = reports.iter().flat_map(|report| report.left_out.iter().cloned()).collect();
    names.sort();
    names.dedup();
    CheckError::NoKernel { glob: glob.to_string(), names }
}
