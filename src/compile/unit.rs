//! Compiles one unit for one target: which programs run, in which order, and which of their outputs are kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use cuda_toolkit::{Library, Toolkit};
use lmem_base::diagnostic::FlagOrigin;
use lmem_base::guardian::Folder;
use lmem_base::places;
use lmem_base::process::End;
use lmem_base::source::normalize;
use lmem_unit::{Artifacts, Dependency, TranslationUnit, UnitCode};

use super::failure::{CompileError, Failure};
use super::given::given;
use super::include_lines;
use super::rescue::HeaderIndex;
use super::run::{UnitRun, named_paths};
use super::steps::Steps;
use super::wrapper::Wrapper;
use crate::sandbox::{OfUnit, Sandbox};

/// Larger files are not compared with another version of them.
const MAX_VERSION_BYTES: u64 = 120 << 20;

/// A toolkit and an architecture.
#[derive(Debug, Clone)]
pub struct Target {
    pub toolkit: Arc<Toolkit>,
    /// `sm_90`
    pub architecture: String,
}

/// The include folder of a library's headers. `None` if they would have to be asked for; otherwise the words say why they
/// cannot be had.
pub type LibraryHeaders<'a> = dyn Fn(&Toolkit, Library) -> Result<Option<PathBuf>, String> + Sync + 'a;

/// Settings shared by all compilations of a run.
#[derive(Clone)]
pub struct Compiler<'a> {
    /// Time limit for a unit and an architecture, for all compilers together.
    pub limit: Duration,
    /// Time limit for the whole run.
    pub total: TotalTime,
    /// Restrictions on the compilers.
    pub sandbox: &'a Sandbox,
    pub cancel: &'a AtomicBool,
    pub headers: HeaderIndex,
    /// What nvcc does for files with the same flags.
    pub steps: &'a Steps,
    /// What starts `ptxas`, if not this program itself.
    pub ptxas_wrapper: Option<Wrapper>,
    /// Returns the include folder of a library's headers, installing them if allowed.
    pub library: &'a LibraryHeaders<'a>,
    /// Whether to try spilling to shared memory. This costs a ptxas run for each unit that spills.
    pub tries_shared_spilling: bool,
    /// Whether a `.cu` file is compiled for the host too, for edits of code that the host compiler sees.
    pub compiles_host: bool,
    /// Where a version that git has is compiled: the user's tree, and that of the version. A path may name a file of the user's all the same.
    pub version: Option<(&'a Path, &'a Path)>,
    /// Whether what explains figures is wanted: names, the files that were read, the demand without limits. An edit that is tried is
    /// judged by its figures.
    pub explains: bool,
    /// Called with each finished command, for `-v`.
    pub show: &'a (dyn Fn(&Shown<'_>) + Sync),
    /// Says something about the run.
    pub note: &'a (dyn Fn(&str) + Sync),
}

/// The time that all compilations of a run may take, from its start.
#[derive(Debug, Clone, Copy)]
pub struct TotalTime {
    start: Instant,
    limit: Duration,
}

impl TotalTime {
    pub fn from_now(limit: Duration) -> Self {
        Self { start: Instant::now(), limit }
    }

    pub(super) fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    pub(super) fn left(&self) -> Duration {
        self.limit.saturating_sub(self.start.elapsed())
    }
}

/// A finished command.
pub struct Shown<'a> {
    /// In shell syntax.
    pub command: String,
    pub folder: Option<&'a Path>,
    pub elapsed: Duration,
    pub end: End,
}

impl Compiler<'_> {
    /// Compiles a unit. Nothing outside a temporary folder is written.
    ///
    /// # Errors
    /// The compilers reject the text, crash, time out or are missing.
    pub fn compile(&self, unit: &TranslationUnit, target: &Target) -> Result<Artifacts, Box<Failure>> {
        if self.total.is_over() {
            return Err(self.run_timed_out().into());
        }
        let folder = Folder::new().map_err(CompileError::io("no temporary folder can be made"))?;
        let of_unit = OfUnit { readable: self.readable(unit), writable: folder.path().to_path_buf() };
        let deadline = Instant::now() + self.limit.min(self.total.left());
        let run = UnitRun { compiler: self, unit, target, folder: folder.path(), of_unit, deadline };
        run.refuse_foreign()?;
        let artifacts = match &unit.code {
            UnitCode::CudaFile { file, flags } => run.cuda_file(file, flags),
            UnitCode::CudaText { text, options } => run.cuda_text(text.as_str(), options),
            UnitCode::Ptx { text, options } => run.ptxas(text.as_str(), &options.arguments),
            UnitCode::Machine(code) => given(unit, code),
        };
        let artifacts = artifacts?;
        self.refuse_names_of_others(unit, &artifacts.dependencies)?;
        let dependencies = artifacts.dependencies.iter().map(|path| self.of_version(path)).collect::<Result<_, _>>()?;
        Ok(Artifacts { dependencies, ..artifacts })
    }

    /// A file that was read, as the version that is compiled has it.
    ///
    /// # Errors
    /// That is another text than the user's, which was read in its place.
    fn of_version(&self, path: &Path) -> Result<Dependency, CompileError> {
        let Some((top, tree)) = self.version else { return Ok(path.to_path_buf()) };
        let own = normalize(path);
        let below = own.strip_prefix(top).ok().filter(|_| !own.starts_with(tree)).map(|below| tree.join(below));
        let Some(here) = below.filter(|here| here.exists()) else { return Ok(path.to_path_buf()) };
        let text = |path: &Path| places::read(path, MAX_VERSION_BYTES).ok();
        match text(&own).is_some_and(|read| Some(read) == text(&here)) {
            true => Ok(here),
            false => Err(CompileError::OtherVersion(own)),
        }
    }

    /// Refuses texts of a version that name a file of the user's tree by its whole path where one of both has it: whether
    /// it is there was asked of the wrong one.
    fn refuse_names_of_others(&self, unit: &TranslationUnit, read: &[PathBuf]) -> Result<(), CompileError> {
        let Some((top, tree)) = self.version else { return Ok(()) };
        let own = match &unit.code {
            UnitCode::CudaFile { file, .. } => file.text(),
            UnitCode::CudaText { text, .. } => text.as_str(),
            UnitCode::Ptx { .. } | UnitCode::Machine(_) => return Ok(()),
        };
        let other = |text: &str| {
            let lines = text.lines().filter(|line| include_lines::may_name_files(line));
            let mut names = lines.flat_map(|line| include_lines::quoted(line).chain(include_lines::angled(line)));
            names.find_map(|name| {
                let named = normalize(Path::new(name));
                let below = named.strip_prefix(top).ok().filter(|_| !named.starts_with(tree))?;
                (named.exists() != tree.join(below).exists()).then_some(named)
            })
        };
        let headers = read.iter().map(|path| normalize(path)).filter(|path| path.starts_with(tree));
        let texts = headers.filter_map(|path| places::read(&path, MAX_VERSION_BYTES).ok());
        let in_headers =
            || texts.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).find_map(|text| other(&text));
        match other(own).or_else(in_headers) {
            Some(path) => Err(CompileError::OtherVersion(path)),
            None => Ok(()),
        }
    }

    /// The folder that a rescue would add for a header that a unit lacks.
    pub fn folder_with(&self, header: &str, unit: &TranslationUnit, toolkit: &Toolkit) -> Option<PathBuf> {
        match &unit.code {
            UnitCode::CudaFile { file, flags } => {
                let of_tree = || self.headers.include_folder(header, &file.path);
                let of_tree = flags.origin.may_be_incomplete().then(of_tree).flatten();
                of_tree.or_else(|| cuda_toolkit::fetched_headers(toolkit, Library::of_header(header)?))
            }
            _ => None,
        }
    }

    pub(super) fn run_timed_out(&self) -> CompileError {
        CompileError::RunTimedOut { seconds: self.total.limit.as_secs() }
    }

    /// What a unit may read beyond the tree: the folder of an edited copy, and paths named by a build or program that
    /// the user ran.
    fn readable(&self, unit: &TranslationUnit) -> Vec<PathBuf> {
        let by_user = match &unit.code {
            UnitCode::CudaFile { flags, .. } if flags.origin == FlagOrigin::Captured => &flags.arguments[..],
            UnitCode::CudaText { options, .. } if options.captured.is_some() => &options.arguments[..],
            _ => &[],
        };
        let is_copy = unit.base.starts_with(std::env::temp_dir());
        let file = match &unit.code {
            UnitCode::CudaFile { file, .. } => Some(file.path.clone()),
            _ => None,
        };
        // A rescue for an edited copy finds copies of headers, which lie next to its folder.
        let copy = [unit.base.clone(), self.headers.root().to_path_buf()].into_iter().filter(|_| is_copy);
        named_paths(by_user, &unit.base).into_iter().chain(copy).chain(file).collect()
    }
}
