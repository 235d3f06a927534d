//! Finding, checking and installing a CUDA toolkit.
//!
//! [`select`] returns the toolkit for a run. This is the requested one; else the first working one in the usual places;
//! else one fetched from NVIDIA's Python wheels (a *managed* toolkit). Rejected places are recorded, so that the "no
//! toolkit" error can list them.

pub mod command;
mod discover;
mod environment;
mod install;
mod library;
mod process;
mod releases;
mod select;
#[cfg(all(test, unix))]
mod testing;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::{fmt, io};

use environment::Environment;

pub use command::run;
pub use discover::VARIABLES;
pub use library::Library;
pub use lmem_base::version::{Version, VersionError, VersionRequest};

/// A CUDA toolkit: a folder with NVIDIA's compilers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolkit {
    /// The folder with `bin`, `include` and `lib`.
    pub root: PathBuf,
    pub version: Version,
    /// The compilers' version, "13.5.37"; "13.5" if the build is unknown.
    pub number: String,
    /// `None` if the toolkit cannot compile `.cu` files: NVIDIA's 12.x wheels have only ptxas.
    pub nvcc: Option<PathBuf>,
    pub ptxas: PathBuf,
    /// `libnvrtc.so.N`, for kernel strings.
    pub nvrtc: Option<PathBuf>,
    /// Missing parts: "`nvcc`", "NVRTC".
    pub lacks: Vec<&'static str>,
    /// The place of the toolkit, as `-v` shows it: "`CUDA_HOME`", "managed".
    pub found: String,
}

impl Toolkit {
    /// A placeholder for runs that compile nothing.
    pub fn absent() -> Self {
        Self {
            root: PathBuf::new(),
            version: Version { major: 0, minor: 0 },
            number: String::new(),
            nvcc: None,
            ptxas: PathBuf::new(),
            nvrtc: None,
            lacks: Vec::new(),
            found: String::new(),
        }
    }

    /// Existing folders with the toolkit's headers, in search order. NVRTC needs them: it has no default include path.
    pub fn include_dirs(&self) -> Vec<PathBuf> {
        discover::include_dirs(&self.root)
    }

    /// A text that changes with the toolkit's compilers; part of every cache key.
    ///
    /// A managed toolkit is identified by its package versions, not by its path, so a cache works on another machine.
    /// Any other toolkit is identified by path, size and modification time of its compilers.
    pub fn fingerprint(&self) -> String {
        let architecture = std::env::consts::ARCH;
        if let Some(marker) = install::Marker::of_toolkit(&self.root) {
            return format!("{MANAGED}{} {architecture} {}", self.number, marker.packages.join(" "));
        }
        let [cicc, front_end] = ["nvvm/bin/cicc", "bin/cudafe++"].map(|name| self.root.join(name));
        let parts = [Some(&self.ptxas), self.nvcc.as_ref(), Some(&cicc), Some(&front_end), self.nvrtc.as_ref()];
        let parts: Vec<String> = parts.into_iter().flatten().map(|path| identity(path)).collect();
        format!("{} {architecture} {}", self.number, parts.join(" "))
    }
}

/// How the fingerprint of a toolkit begins that was fetched by this program.
pub const MANAGED: &str = "managed ";

/// Path, size and modification time of a file; only the path if the file is missing.
fn identity(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let Ok(metadata) = path.metadata() else { return path.display().to_string() };
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    format!("{}:{}:{}", path.display(), metadata.len(), modified.unwrap_or_default().as_nanos())
}

/// The requested toolkit, by source of the request, and the permissions.
#[derive(Clone, Copy, Default)]
pub struct Request<'a> {
    /// From the command line: a folder, a version or `managed`.
    pub choice: Option<&'a str>,
    /// From Cargo.toml: a version or `managed`. A folder is rejected: a workspace must not choose programs to run.
    pub configured: Option<&'a str>,
    /// Whether downloads are forbidden.
    pub offline: bool,
    /// Whether progress is hidden.
    pub quiet: bool,
    pub refuses: Refuses<'a>,
}

/// Why the compilers in a folder are not started, if a tree of strangers may have brought them. It is asked for all places
/// but those that the user names as a toolkit.
pub type Refuses<'a> = Option<&'a dyn Fn(&Path) -> Option<String>>;

/// The toolkit for a run, and notes on the choice.
#[derive(Debug)]
pub struct Selection {
    pub toolkit: Toolkit,
    /// Lines for stderr, for example about a `CUDA_HOME` without a toolkit.
    pub notes: Vec<String>,
}

/// The toolkit for a run, installed if needed.
///
/// The command line overrides the configuration, and both override the search. The search returns the first place that
/// can compile `.cu` files: `CUDA_HOME` and similar variables, `nvcc` on `PATH`, the usual folders, conda, Python
/// packages, managed toolkits.
///
/// # Errors
/// No usable toolkit is found and none can be installed, the requested one does not work, or `cancel` was set.
pub fn select(request: Request<'_>, cancel: &AtomicBool) -> Result<Selection, ToolkitError> {
    select::select(&Environment::of_process(), request, cancel)
}

/// Whether a program is on `PATH`.
pub fn is_on_path(program: &str) -> bool {
    !Environment::of_process().on_path(program).is_empty()
}

/// An optional part of a toolkit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// The headers of a library; the folder holds `include`.
    Headers(Library),
    /// The disassembler; the folder holds `bin/nvdisasm`. A newer version reads the cubins of older compilers.
    Nvdisasm,
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Component::Headers(library) => write!(f, "the headers of {library}"),
            Component::Nvdisasm => f.write_str("nvdisasm"),
        }
    }
}

/// The folder whose `include` or `bin` contains the component: in the toolkit, else fetched into the cache.
///
/// # Errors
/// The toolkit lacks the component and it cannot be fetched, or `cancel` was set.
pub fn component(
    toolkit: &Toolkit,
    component: Component,
    offline: bool,
    quiet: bool,
    cancel: &AtomicBool,
) -> Result<PathBuf, ToolkitError> {
    if let Some(folder) = discover::component(&toolkit.root, component) {
        return Ok(folder);
    }
    let cx = install::Context { environment: &Environment::of_process(), offline, quiet, unverified: false, cancel };
    install::component(&cx, toolkit, component)
}

/// The include folder of a library's headers: of the toolkit, else fetched into the cache. `None` if they are not there and
/// too large to fetch for a run that does not ask for them.
///
/// # Errors
/// The headers cannot be fetched, or `cancel` was set.
pub fn headers(
    toolkit: &Toolkit,
    library: Library,
    offline: bool,
    quiet: bool,
    cancel: &AtomicBool,
) -> Result<Option<PathBuf>, ToolkitError> {
    if let Some(folder) = fetched_headers(toolkit, library) {
        return Ok(Some(folder));
    }
    if !library.is_small() && discover::component(&toolkit.root, Component::Headers(library)).is_none() {
        return Ok(None);
    }
    component(toolkit, Component::Headers(library), offline, quiet, cancel).map(|folder| Some(folder.join("include")))
}

/// The include folder of headers that were fetched for a toolkit.
pub fn fetched_headers(toolkit: &Toolkit, library: Library) -> Option<PathBuf> {
    let folder = install::fetched(&Environment::of_process(), toolkit, Component::Headers(library))?;
    Some(folder.join("include"))
}

/// The folder for disposable data: `CARGO_LMEM_CACHE_DIR`, else `cargo-lmem` in the user's cache folder.
///
/// # Errors
/// None of `CARGO_LMEM_CACHE_DIR`, `XDG_CACHE_HOME` and `HOME` is set.
pub fn cache_root() -> Result<PathBuf, ToolkitError> {
    Environment::of_process().cache_root()
}

/// The folders of what is fetched, if the cache folder is known: managed toolkits, and headers that a toolkit lacks.
pub fn fetched_folders() -> Vec<PathBuf> {
    let folders = |root: PathBuf| [install::TOOLKITS, install::COMPONENTS].map(|name| root.join(name)).to_vec();
    cache_root().map(folders).unwrap_or_default()
}

/// A rejected place, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// "`CUDA_HOME` (/opt/cuda)".
    pub place: String,
    /// "no `bin/ptxas` in it".
    pub reason: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

/// Why no toolkit is available. Exit code 3.
#[derive(Debug, thiserror::Error)]
pub enum ToolkitError {
    #[error("no {wanted} found{}", lines(looked))]
    NotFound {
        /// "CUDA toolkit", "toolkit of CUDA 12.4".
        wanted: String,
        looked: Vec<Refused>,
        /// Why none was installed either.
        #[source]
        install: Option<Box<ToolkitError>>,
    },
    #[error("`{choice}` is not a usable CUDA toolkit: {reason}")]
    Unusable { choice: String, reason: String },
    #[error("the toolkit `{}` is not a folder", .0.display())]
    NotAFolder(PathBuf),
    #[error("the toolkit `{0}` is neither a folder, nor a version such as `13.5`, nor `managed`")]
    NotAChoice(String),
    #[error(
        "`toolkit = \"{0}\"` in Cargo.toml is neither a version such as `13.5` nor `managed`; a folder counts only from \
         the command line, because a workspace may not name programs"
    )]
    NotAPin(String),
    #[error("nothing may be downloaded with `--offline`")]
    Offline,
    #[error("CUDA {0} cannot be fetched: NVIDIA publishes its compilers as Python wheels from 13.0 on")]
    NotPublished(VersionRequest),
    #[error(
        "the checksums of CUDA {0} are not known to this version, so it is not fetched because a Cargo.toml asks for it"
    )]
    Unverified(VersionRequest),
    #[error("toolkits can be fetched on Linux for x86-64 and aarch64 only, and this is {0}")]
    Platform(String),
    #[error("neither `uv` nor `pip` works here{}", lines(looked))]
    NoInstaller { looked: Vec<Refused> },
    #[error("{what} could not be installed{}", failures(attempts))]
    InstallerFailed {
        what: String,
        /// Each installer with its last lines of output.
        attempts: Vec<(String, String)>,
        offline: bool,
    },
    #[error("{what} was downloaded but does not work: {reason}")]
    Incomplete { what: String, reason: String },
    #[error("{component} of CUDA {version} cannot be fetched")]
    NoComponent { component: Component, version: Version },
    #[error("no managed toolkit {version} is installed{}", only(.installed))]
    NotInstalled { version: VersionRequest, installed: Vec<String> },
    #[error("the cache folder is not known: none of `CARGO_LMEM_CACHE_DIR`, `XDG_CACHE_HOME` and `HOME` is set")]
    NoCacheRoot,
    #[error("cannot {action} `{}`", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("stdout cannot be written")]
    Stdout(#[source] io::Error),
    #[error("interrupted")]
    Cancelled,
    #[error(transparent)]
    Version(#[from] VersionError),
}

impl ToolkitError {
    /// Whether the error is in the command line, in the configuration or in stdout, and not in the toolkits.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::NotAChoice(_) | Self::NotAFolder(_) | Self::NotAPin(_) | Self::Stdout(_))
    }

    /// Next steps, one per `hint:` line.
    pub fn hints(&self) -> Vec<String> {
        let own = "install CUDA and set `CUDA_HOME`, or pass its folder with `--toolkit PATH`";
        let hints: &[&str] = match self {
            Self::NotFound { install: Some(cause), .. } if !matches!(**cause, Self::Offline) => return cause.hints(),
            Self::NotFound { .. } | Self::Offline => {
                &["fetch NVIDIA's compilers with `cargo lmem toolkit install`, once, with a network", own]
            }
            Self::Unusable { .. } | Self::NotAFolder(_) => {
                &["`cargo lmem toolkit list` shows the toolkits of this machine"]
            }
            Self::NotPublished(_) => &[
                "install that toolkit from NVIDIA and pass its folder with `--toolkit PATH`",
                "or let a newer one compile the sources: `--toolkit managed`",
            ],
            Self::Unverified(version) => {
                return vec![format!("fetch it unverified with `cargo lmem toolkit install {version}`")];
            }
            Self::Platform(_) => &[own],
            Self::NoInstaller { .. } => &[
                "install `uv` or `pip`; the compilers are then fetched with it",
                own,
                "run `cargo lmem toolkit install` on another machine and copy its cache folder here",
            ],
            Self::InstallerFailed { offline: true, .. } => {
                &["`--offline` finds only what the installer has at hand: run it once with a network"]
            }
            Self::InstallerFailed { attempts, .. } if attempts.iter().any(|(_, output)| is_full(output)) => {
                &["a toolkit needs 700 MB while it is fetched; `CARGO_LMEM_CACHE_DIR` names another cache folder"]
            }
            Self::InstallerFailed { .. } => {
                &["the index, proxy and certificates are those of the installer's own configuration", own]
            }
            Self::Incomplete { .. } => &[own],
            Self::NoComponent { component: Component::Headers(_), .. } => &[
                "install the library's development files beside that toolkit",
                "or use a managed one: `--toolkit managed`",
            ],
            Self::NotInstalled { .. } => &["`cargo lmem toolkit list` shows the installed ones"],
            Self::Io { .. } => &["`CARGO_LMEM_CACHE_DIR` names another cache folder"],
            Self::NotAChoice(_)
            | Self::NotAPin(_)
            | Self::Stdout(_)
            | Self::NoComponent { .. }
            | Self::NoCacheRoot
            | Self::Cancelled
            | Self::Version(_) => &[],
        };
        hints.iter().map(|hint| (*hint).to_owned()).collect()
    }

    /// Converts an I/O error, for `map_err`.
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }
}

fn lines(looked: &[Refused]) -> String {
    looked.iter().map(|refused| format!("\n  {refused}")).collect()
}

fn failures(attempts: &[(String, String)]) -> String {
    let indented = |output: &str| output.lines().map(|line| format!("\n  | {line}")).collect::<String>();
    attempts.iter().map(|(installer, output)| format!("\n  {installer}:{}", indented(output))).collect()
}

fn only(numbers: &[String]) -> String {
    if numbers.is_empty() { String::new() } else { format!(", only {}", numbers.join(", ")) }
}

/// Whether `uv` or `pip` reports a full disk (`ENOSPC`).
fn is_full(output: &str) -> bool {
    output.contains("No space left on device")
}
