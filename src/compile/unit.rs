//! Compiles one unit for one target: which programs run, in which order, and which of their outputs are kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use thiserror::Error;

use cuda_toolkit::{Library, Toolkit};
use lmem_base::diagnostic::FlagOrigin;
use lmem_base::gpu::Arch;
use lmem_base::guardian::Folder;
use lmem_base::places::is_regular;
use lmem_base::process::{End, Output};
use lmem_base::source::{SourceFile, normalize};
use lmem_unit::{
    Artifacts, AsCompiled, CompilerMessage, Dependency, FrontEnd, MessageKind, NvccFlags, NvrtcOptions, STRING_NAME,
    TranslationUnit, UnitCode, declared_target, parse_messages,
};
use nv_code::{PtxasLog, shared_spilling as shared, unescape_path};

use super::absent::{Absent, Listed};
use super::rescue::{HeaderIndex, Rescue, missing_header, rescue};
use super::{nvcc, nvrtc, ptxas, unlimited};
use crate::compile::given::given;
use crate::sandbox::{OfUnit, Sandbox, Waits};

/// Limit on attempts; more failures in a row do not come from a missing flag.
const MAX_RESCUES: usize = 12;

/// Bytes of a failed compiler's output that are looked at, of each stream.
const MAX_SAID_BYTES: usize = 1 << 20;

/// File name of the unit's PTX in the temporary folder.
const PTX_NAME: &str = "unit.ptx";

/// File name of the PTX without register limits.
const UNLIMITED_NAME: &str = "unlimited.ptx";

/// File name of the PTX with spilling to shared memory.
const SHARED_NAME: &str = "shared.ptx";

/// A toolkit and an architecture.
#[derive(Debug, Clone)]
pub struct Target {
    pub toolkit: Arc<Toolkit>,
    /// `sm_90`
    pub architecture: String,
}

/// Why a unit has no artifacts.
#[derive(Debug, Clone)]
pub struct Failure {
    pub error: CompileError,
    /// The compilers' messages, if any.
    pub messages: Vec<CompilerMessage>,
    pub rescues: Vec<String>,
    /// The PTX that ptxas rejected: its lines lead back to the source.
    pub ptx: Option<String>,
    /// The files that the compiler read; `None` if unknown or not requested.
    pub read: Option<Vec<Dependency>>,
    /// The headers that were not found, if where they would be is known.
    pub absent: Option<Absent>,
}

#[derive(Debug, Clone, Error)]
pub enum CompileError {
    #[error("does not compile for `{architecture}`")]
    Refused { architecture: String },
    #[error("`{program}` was given up after {seconds} s")]
    TimedOut { program: String, seconds: u64 },
    #[error("not compiled: the run's time of {seconds} s is over, `--total-timeout` sets another")]
    RunTimedOut { seconds: u64 },
    #[error("`{program}` needs more than {mib} MiB of memory: `{option}` sets what {limited}")]
    Memory { program: String, mib: u64, option: &'static str, limited: &'static str },
    #[error("`{}` leads out of what may be read: name its folder with `--allow-read` if that is meant", .0.display())]
    Outside(PathBuf),
    #[error("`{}` is neither a file nor a folder", .0.display())]
    Special(PathBuf),
    #[error("`{program}` crashed with signal {signal}")]
    Crashed { program: String, signal: i32 },
    #[error("`{program}` ended with exit code {code} and said: {output}")]
    Silent { program: String, code: i32, output: String },
    #[error("`{program}` ended well but wrote no {what}")]
    NoOutput { program: String, what: &'static str },
    #[error("toolkit {version} has no `{program}`, which {what} need: use a full toolkit, such as `--toolkit managed`")]
    Missing { version: String, program: &'static str, what: &'static str },
    #[error("nvcc needs a host C++ compiler and found none: install `g++`; kernel strings and PTX work without")]
    NoHostCompiler,
    #[error("{0}")]
    Broken(String),
    #[error("interrupted")]
    Cancelled,
    #[error("{what}: {message}")]
    Io { what: String, message: String },
}

impl CompileError {
    fn missing(toolkit: &Toolkit, program: &'static str, what: &'static str) -> Self {
        Self::Missing { version: toolkit.version.to_string(), program, what }
    }

    fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::Io { what, message: error.to_string() }
    }
}

impl Failure {
    /// The input files of a failure that only depends on the text: the same files fail again. A missing file may appear
    /// later, unless all places where it would are known; a killed compiler is recognized by its message. Both are excluded.
    pub fn lasting_inputs(&self) -> Option<&[Dependency]> {
        const PASSING: [&str; 4] = ["No such file", "cannot open", "could not open", "No space left"];
        let is_absent = |text: &str| {
            let names = self.absent.iter().flat_map(|absent| &absent.names);
            missing_header(text).is_some_and(|header| names.into_iter().any(|name| name == header))
        };
        let is_of_text = |message: &CompilerMessage| {
            let has_place = message.place.is_some() || message.compiler == "ptxas";
            let is_passing = PASSING.iter().any(|words| message.text.contains(words));
            has_place && (!is_passing || is_absent(&message.text))
        };
        let errors: Vec<_> = self.messages.iter().filter(|message| message.kind == MessageKind::Error).collect();
        let is_lasting = matches!(self.error, CompileError::Refused { .. })
            && !errors.is_empty()
            && errors.into_iter().all(is_of_text)
            && !is_of_memory(End::Exit(1), &self.words());
        self.read.as_deref().filter(|_| is_lasting)
    }

    /// All messages as one text.
    fn words(&self) -> String {
        let said = self.messages.iter().map(|message| message.text.clone());
        said.chain([self.error.to_string()]).collect::<Vec<_>>().join("\n")
    }
}

impl From<CompileError> for Box<Failure> {
    fn from(error: CompileError) -> Self {
        Self::new(Failure { error, messages: Vec::new(), rescues: Vec::new(), ptx: None, read: None, absent: None })
    }
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
    /// Returns the include folder of a library's headers, installing them if allowed.
    pub library: &'a LibraryHeaders<'a>,
    /// Whether to try spilling to shared memory. This costs a ptxas run for each unit that spills.
    pub tries_shared_spilling: bool,
    /// Whether a `.cu` file is compiled for the host too, for edits of code that the host compiler sees.
    pub compiles_host: bool,
    /// Called with each finished command, for `-v`.
    pub show: &'a (dyn Fn(&Shown<'_>) + Sync),
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

    fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    fn left(&self) -> Duration {
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

/// The words of a command, quoted for a shell if necessary.
fn shell_words(command: &std::process::Command) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
    let quoted = |word: &std::ffi::OsStr| {
        let word = word.to_string_lossy();
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word.into_owned(),
            false => format!("'{}'", word.replace('\'', "'\\''")),
        }
    };
    std::iter::once(command.get_program()).chain(command.get_args()).map(quoted).collect::<Vec<_>>().join(" ")
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
        let run = UnitRun { compiler: self, of_unit, deadline: Instant::now() + self.limit.min(self.total.left()) };
        run.refuse_foreign(unit)?;
        match &unit.code {
            UnitCode::CudaFile { file, flags } => run.cuda_file(unit, file, flags, target, folder.path()),
            UnitCode::CudaText { text, options } => run.cuda_text(unit, text.as_str(), options, target, folder.path()),
            UnitCode::Ptx { text, options } => {
                run.ptxas(unit, text.as_str(), &options.arguments, target, folder.path())
            }
            UnitCode::Machine(code) => given(unit, code),
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

    fn run_timed_out(&self) -> CompileError {
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

/// Existing paths among the arguments of a compiler, whatever the option. Values of macros are text, not paths.
fn named_paths(arguments: &[String], base: &Path) -> Vec<PathBuf> {
    let is_macro = |argument: &&String| {
        ["-D", "-U", "--define-macro", "--undefine-macro"].iter().any(|it| argument.starts_with(it))
    };
    let parts = arguments.iter().filter(|argument| !is_macro(argument)).flat_map(|argument| argument.split(['=', ',']));
    let values = parts.flat_map(|part| {
        let joined = ["-I", "-isystem", "-include", "@"].iter().filter_map(|option| part.strip_prefix(option));
        joined.chain([part]).filter(|value| !value.is_empty()).map(|value| base.join(value)).collect::<Vec<_>>()
    });
    values.filter(|path| path.exists()).collect()
}

/// The compilations of one unit.
struct UnitRun<'c, 'a> {
    compiler: &'c Compiler<'a>,
    of_unit: OfUnit,
    deadline: Instant,
}

impl UnitRun<'_, '_> {
    /// Rejects flags that name foreign paths. Flags come from the workspace too, so they are checked before the
    /// compiler starts.
    fn refuse_foreign(&self, unit: &TranslationUnit) -> Result<(), CompileError> {
        let arguments = match &unit.code {
            UnitCode::CudaFile { flags, .. } => flags.all_arguments(),
            UnitCode::CudaText { options, .. } => options.arguments.clone(),
            UnitCode::Ptx { options, .. } => options.arguments.clone(),
            UnitCode::Machine(_) => Vec::new(),
        };
        let readable = self.compiler.sandbox.readable(&self.of_unit);
        for path in named_paths(&arguments, &unit.base) {
            if !readable.hold(&path) {
                return Err(CompileError::Outside(normalize(&path)));
            }
            if !path.is_dir() && !is_regular(&path) {
                return Err(CompileError::Special(normalize(&path)));
            }
        }
        Ok(())
    }

    fn cuda_file(
        &self,
        unit: &TranslationUnit,
        file: &SourceFile,
        flags: &NvccFlags,
        target: &Target,
        folder: &Path,
    ) -> Result<Artifacts, Box<Failure>> {
        let mut attempt = Attempt {
            arguments: flags.all_arguments(),
            architecture: target.architecture.clone(),
            rescues: Vec::new(),
        };
        attempt.raise_to_build(flags);
        loop {
            let result = self.nvcc_once(unit, file, flags, &attempt, target, folder);
            let Err(failure) = result else { return result };
            let may_rescue = attempt.rescues.len() < MAX_RESCUES;
            let found = may_rescue
                .then(|| rescue(&failure.messages, &file.path, &self.compiler.headers, &attempt.arguments))
                .flatten()
                // The headers of libraries lie beside those of CUDA wherever a build runs.
                .filter(|found| flags.origin.may_be_incomplete() || matches!(found, Rescue::Library(_)));
            let Some(found) = found else {
                return Err(self.with_absent(failure, unit, file, flags, &attempt, target));
            };
            match attempt.apply(found, |library| (self.compiler.library)(&target.toolkit, library)) {
                Ok(()) => {}
                Err(NoRescue::Unasked) => {
                    return Err(self.with_absent(failure, unit, file, flags, &attempt, target));
                }
                Err(NoRescue::Failed(words)) => {
                    return Err(Box::new(Failure {
                        rescues: [failure.rescues.clone(), words.into_iter().collect()].concat(),
                        ..*failure
                    }));
                }
            }
        }
    }

    /// A failure with what is known of the headers that the unit lacks.
    fn with_absent(
        &self,
        failure: Box<Failure>,
        unit: &TranslationUnit,
        file: &SourceFile,
        flags: &NvccFlags,
        attempt: &Attempt,
        target: &Target,
    ) -> Box<Failure> {
        let lacks_header = failure.messages.iter().any(|message| missing_header(&message.text).is_some());
        let Some(program) = target.toolkit.nvcc.as_ref().filter(|_| lacks_header && failure.read.is_none()) else {
            return failure;
        };
        let mut command = nvcc::listing(program, &attempt.architecture, flags, &attempt.arguments, &file.path);
        command.current_dir(&unit.base);
        // Without the list, the failure is not remembered.
        let Some(output) = self.run(&mut command, b"", "nvcc").ok().filter(Output::succeeded) else { return failure };
        let (rule, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let Some(Listed { read, absent }) = Listed::parse(&rule, &said, &unit.base) else { return failure };
        let read = self.read_ones(read.into_iter().filter(|path| *path != file.path));
        Box::new(Failure { read: Some(read), absent: Some(absent), ..*failure })
    }

    /// Compiles a file for the host, for its errors alone.
    fn host(
        &self,
        unit: &TranslationUnit,
        file: &SourceFile,
        flags: &NvccFlags,
        attempt: &Attempt,
        program: &Path,
        folder: &Path,
    ) -> Result<(), Box<Failure>> {
        let folder = folder.join("host");
        fs_err::create_dir_all(&folder).map_err(CompileError::io("no temporary folder can be made"))?;
        let (architecture, arguments) = (&attempt.architecture, &attempt.arguments);
        let mut command = nvcc::host_command(program, architecture, flags, arguments, &file.path, &folder);
        command.current_dir(&unit.base);
        let output = self.run(&mut command, b"", "nvcc")?;
        if output.succeeded() {
            return Ok(());
        }
        let text = self.shown(without_folder(&said(&output), &folder, unit), unit)?;
        Err(self.refusal(output.end, &text, "nvcc", parse_messages(&text, "nvcc"), attempt))
    }

    fn nvcc_once(
        &self,
        unit: &TranslationUnit,
        file: &SourceFile,
        flags: &NvccFlags,
        attempt: &Attempt,
        target: &Target,
        folder: &Path,
    ) -> Result<Artifacts, Box<Failure>> {
        let toolkit = &target.toolkit;
        let Some(program) = &toolkit.nvcc else {
            return Err(CompileError::missing(toolkit, "nvcc", "`.cu` files").into());
        };
        let mut command = nvcc::command(program, &attempt.architecture, flags, &attempt.arguments, &file.path, folder);
        command.current_dir(&unit.base);
        let output = self.run(&mut command, b"", "nvcc")?;
        let text = self.shown(without_folder(&said(&output), folder, unit), unit)?;
        let messages = parse_messages(&text, "nvcc");
        if !output.succeeded() {
            let ptx = nvcc::kept_file(folder, ".ptx").ok().flatten().and_then(|path| fs_err::read_to_string(path).ok());
            let preprocessed = nvcc::kept_file(folder, ".ii").ok().flatten().and_then(|path| fs_err::read(path).ok());
            // A preprocessor that misses a file leaves no output, and the failure comes from the missing file.
            let read = preprocessed.filter(|text| !text.is_empty()).map(|text| self.dependencies(&text, unit, file));
            let refusal = self.refusal(output.end, &text, "nvcc", messages, attempt);
            return Err(Box::new(Failure { ptx, read, ..*refusal }));
        }
        if self.compiler.compiles_host {
            self.host(unit, file, flags, attempt, program, folder)?;
        }
        let kept = |ending| nvcc::kept_file(folder, ending).map_err(CompileError::io("nvcc's files cannot be listed"));
        let missing = |what| CompileError::NoOutput { program: "nvcc".into(), what };
        let read = |path: PathBuf| fs_err::read(path).map_err(CompileError::io("nvcc's output cannot be read"));
        let preprocessed = kept(".ii")?.map(read).transpose()?.unwrap_or_default();
        let ptx = String::from_utf8_lossy(&read(kept(".ptx")?.ok_or(missing("PTX"))?)?).into_owned();
        Ok(Artifacts {
            cubin: Some(nvcc::cubin_path(folder)).filter(|path| path.is_file()).map(read).ok_or(missing("cubin"))??,
            unlimited_log: self.unlimited(&ptx, &text, &attempt.arguments, &attempt.architecture, toolkit, folder)?,
            shared_log: self.shared(&ptx, &text, &attempt.arguments, &attempt.architecture, toolkit, folder)?,
            ptx,
            messages: warnings(messages),
            front_end: front_end(folder, &text, toolkit),
            ptxas_log: text,
            as_compiled: self.as_compiled(&preprocessed, unit, file, toolkit),
            dependencies: self.dependencies(&preprocessed, unit, file),
            rescues: attempt.rescues.clone(),
            architecture: attempt.architecture.clone(),
            folder: unit.base.clone(),
        })
    }

    /// The compiled version of the files below the workspace's root, or below the unit's folder.
    fn as_compiled(
        &self,
        preprocessed: &[u8],
        unit: &TranslationUnit,
        file: &SourceFile,
        toolkit: &Toolkit,
    ) -> AsCompiled {
        let is_ours = |path: &Path| path.starts_with(self.compiler.headers.root()) || path.starts_with(&unit.base);
        let is_user = |path: &Path| is_ours(path) && !path.starts_with(&toolkit.root);
        let own = lmem_base::source::normalize(&file.path);
        let read = |path: &Path| match *path == own {
            true => Some(file.text().to_string()),
            false => {
                let roots = [self.compiler.headers.root(), &unit.base];
                SourceFile::read_named(path, self.compiler.headers.root(), &roots).map(|file| file.text().to_string())
            }
        };
        AsCompiled::new(&String::from_utf8_lossy(preprocessed), &unit.base, &is_user, &read)
    }

    fn cuda_text(
        &self,
        unit: &TranslationUnit,
        text: &str,
        options: &NvrtcOptions,
        target: &Target,
        folder: &Path,
    ) -> Result<Artifacts, Box<Failure>> {
        let mut options = options.clone();
        let mut rescues = Vec::new();
        loop {
            let result = self.nvrtc_once(unit, text, &options, target, folder);
            let Err(mut failure) = result else {
                return result
                    .map(|artifacts| Artifacts { rescues: [rescues, artifacts.rescues].concat(), ..artifacts });
            };
            let found = nvrtc::rescue(&failure.words(), &options.arguments, &target.toolkit);
            let Some((arguments, note)) = found.filter(|_| rescues.len() < MAX_RESCUES) else {
                failure.rescues.splice(0..0, rescues);
                return Err(failure);
            };
            options.arguments = arguments;
            rescues.push(note);
        }
    }

    fn nvrtc_once(
        &self,
        unit: &TranslationUnit,
        text: &str,
        options: &NvrtcOptions,
        target: &Target,
        folder: &Path,
    ) -> Result<Artifacts, Box<Failure>> {
        let toolkit = &target.toolkit;
        let Some(library) = &toolkit.nvrtc else {
            return Err(CompileError::missing(toolkit, "libnvrtc", "kernel strings").into());
        };
        let request = nvrtc::Request {
            library: library.clone(),
            source: text.to_string(),
            program_name: options.program_name.clone().unwrap_or_else(|| STRING_NAME.to_string()),
            // Line information does not change the code, and without it nothing could be attributed.
            arguments: options.arguments.iter().cloned().chain(["--generate-line-info".to_string()]).collect(),
            headers: options.captured.as_ref().map(|captured| captured.headers.clone()).unwrap_or_default(),
            expressions: options.captured.as_ref().map(|captured| captured.expressions.clone()).unwrap_or_default(),
        };
        let shown = format!("NVRTC on `{}`: {}", unit.name, request.arguments.join(" "));
        let request =
            serde_json::to_vec(&request).map_err(|error| CompileError::io("NVRTC cannot be asked")(error.into()))?;
        let mut command =
            nvrtc::worker_command(library, folder).map_err(CompileError::io("the NVRTC process cannot be set up"))?;
        command.current_dir(&unit.base);
        let output = self.run_shown(&mut command, &request, "NVRTC", Some(shown))?;
        let response: nvrtc::Response = match serde_json::from_slice(&output.stdout) {
            Ok(response) => response,
            Err(_) => {
                return Err(self.refusal(output.end, &output.text(), "NVRTC", Vec::new(), &Attempt::plain(target)));
            }
        };
        let log = self.shown(response.log, unit)?;
        let messages = parse_messages(&log, "nvrtc");
        let Some(ptx) = response.ptx else {
            let said = format!("{}{}", response.failure.unwrap_or_default(), log);
            let read = Some(self.read_ones(nvrtc::included_files(text, &unit.base, &options.arguments).into_iter()));
            let refusal = self.refusal(End::Exit(1), &said, "NVRTC", messages, &Attempt::plain(target));
            return Err(Box::new(Failure { read, ..*refusal }));
        };
        let takes_cubin = options.captured.as_ref().is_some_and(|captured| captured.takes_cubin);
        let flags = if takes_cubin { nvrtc::ptxas_flags(&options.arguments) } else { Vec::new() };
        let included = || self.read_ones(nvrtc::included_files(text, &unit.base, &options.arguments).into_iter());
        let mut artifacts = self.ptxas(unit, &ptx, &flags, target, folder).map_err(|mut failure| {
            failure.read.iter_mut().for_each(|read| read.extend(included()));
            failure
        })?;
        artifacts.messages.splice(0..0, warnings(messages));
        artifacts.dependencies.extend(included());
        artifacts.dependencies.sort();
        artifacts.dependencies.dedup();
        Ok(artifacts)
    }

    fn ptxas(
        &self,
        unit: &TranslationUnit,
        ptx: &str,
        flags: &[String],
        target: &Target,
        folder: &Path,
    ) -> Result<Artifacts, Box<Failure>> {
        let mut attempt = Attempt::plain(target);
        attempt.raise_to_virtual(ptx);
        let (ptx_path, cubin_path) = (folder.join(PTX_NAME), folder.join("unit.cubin"));
        fs_err::write(&ptx_path, ptx).map_err(CompileError::io("the PTX cannot be written"))?;
        let mut command = ptxas::command(&target.toolkit.ptxas, &attempt.architecture, flags, &ptx_path, &cubin_path);
        let output = self.run(&mut command, b"", "ptxas")?;
        let text = self.shown(without_folder(&output.text(), folder, unit), unit)?;
        let messages = parse_messages(&text, "ptxas");
        if !output.succeeded() {
            let read = Some(self.read_ones(ptx_files(ptx, unit).into_iter()));
            let refusal = self.refusal(output.end, &text, "ptxas", messages, &attempt);
            return Err(Box::new(Failure { ptx: Some(ptx.to_string()), read, ..*refusal }));
        }
        let missing = CompileError::NoOutput { program: "ptxas".into(), what: "cubin" };
        let cubin = Some(&cubin_path).filter(|path| path.is_file()).ok_or(missing)?;
        let as_of_nvcc: Vec<String> = flags.iter().map(|flag| format!("-Xptxas={flag}")).collect();
        Ok(Artifacts {
            cubin: fs_err::read(cubin).map_err(CompileError::io("the cubin cannot be read"))?,
            unlimited_log: self.unlimited(ptx, &text, &as_of_nvcc, &attempt.architecture, &target.toolkit, folder)?,
            shared_log: self.shared(ptx, &text, &as_of_nvcc, &attempt.architecture, &target.toolkit, folder)?,
            front_end: FrontEnd::default(),
            as_compiled: AsCompiled::default(),
            ptx: ptx.to_string(),
            messages: warnings(messages),
            ptxas_log: text,
            dependencies: self.read_ones(ptx_files(ptx, unit).into_iter()),
            rescues: attempt.rescues,
            architecture: attempt.architecture,
            folder: unit.base.clone(),
        })
    }

    /// Figures of kernels that spill, compiled without their register limits; empty if there is no limit. A failure of
    /// ptxas here only means that the figures are unknown; the unit has not failed.
    fn unlimited(
        &self,
        ptx: &str,
        log: &str,
        flags: &[String],
        architecture: &str,
        toolkit: &Toolkit,
        folder: &Path,
    ) -> Result<String, CompileError> {
        let kernels = kernels_that_spill(log);
        let kernels: Vec<&str> = kernels.iter().map(String::as_str).collect();
        if kernels.is_empty() {
            return Ok(String::new());
        }
        let text = match unlimited::without_limits(ptx, &kernels) {
            Some(text) => text,
            None if unlimited::has_limit(flags) => ptx.to_string(),
            None => return Ok(String::new()),
        };
        let path = folder.join(UNLIMITED_NAME);
        fs_err::write(&path, text).map_err(CompileError::io("the PTX cannot be written"))?;
        let options = unlimited::ptxas_options(flags);
        let mut command = unlimited::command(&toolkit.ptxas, architecture, &options, &kernels, &path);
        self.figures(&mut command)
    }

    /// Figures of kernels that spill, when allowed to spill to shared memory. `None` if not tried.
    fn shared(
        &self,
        ptx: &str,
        log: &str,
        flags: &[String],
        architecture: &str,
        toolkit: &Toolkit,
        folder: &Path,
    ) -> Result<Option<String>, CompileError> {
        if !self.compiler.tries_shared_spilling {
            return Ok(None);
        }
        let kernels = kernels_that_spill(log);
        let kernels: Vec<&str> = kernels.iter().map(String::as_str).collect();
        let may_spill = toolkit.version >= shared::SINCE && !kernels.is_empty() && !shared::is_refused_with(flags);
        let Some((text, kernels)) = may_spill.then(|| shared::with_pragma(ptx, &kernels)).flatten() else {
            return Ok(Some(String::new()));
        };
        let path = folder.join(SHARED_NAME);
        fs_err::write(&path, text).map_err(CompileError::io("the PTX cannot be written"))?;
        let kernels: Vec<&str> = kernels.iter().map(String::as_str).collect();
        let limit = unlimited::limiting_flag(flags);
        let options: Vec<String> = unlimited::ptxas_options(flags).into_iter().chain(limit).collect();
        self.figures(&mut unlimited::command(&toolkit.ptxas, architecture, &options, &kernels, &path)).map(Some)
    }

    /// The functions' figures from ptxas; empty if it does not compile them.
    fn figures(&self, command: &mut std::process::Command) -> Result<String, CompileError> {
        let output = self.run(command, b"", "ptxas")?;
        match output.end {
            End::Cancelled => Err(CompileError::Cancelled),
            _ if output.succeeded() => Ok(output.text()),
            _ => Ok(String::new()),
        }
    }

    fn run(&self, command: &mut std::process::Command, input: &[u8], program: &str) -> Result<Output, CompileError> {
        self.run_shown(command, input, program, None)
    }

    /// Runs a command and shows it. `options` are shown in place of the command if that is our own worker process.
    fn run_shown(
        &self,
        command: &mut std::process::Command,
        input: &[u8],
        program: &str,
        options: Option<String>,
    ) -> Result<Output, CompileError> {
        let start = Instant::now();
        let left = self.deadline.saturating_duration_since(Instant::now());
        let output = self.compiler.sandbox.run(command, &self.of_unit, input, left, self.compiler.cancel);
        let output = output.map_err(|error| match error.downcast::<Waits>() {
            Ok(Waits(pipe)) => CompileError::Special(normalize(&pipe)),
            Err(error) => CompileError::io(format!("`{program}` cannot be started"))(error),
        })?;
        (self.compiler.show)(&Shown {
            command: options.unwrap_or_else(|| shell_words(command)),
            folder: command.get_current_dir(),
            elapsed: start.elapsed(),
            end: output.end,
        });
        Ok(output)
    }

    /// The files that a unit read. The preprocessed text may name any file, so it is restricted to files that the
    /// compiler may read.
    fn dependencies(&self, preprocessed: &[u8], unit: &TranslationUnit, file: &SourceFile) -> Vec<Dependency> {
        let files = nvcc::preprocessed_files(preprocessed).into_iter().map(|path| unit.base.join(path));
        self.read_ones(files.filter(|path| *path != file.path))
    }

    fn read_ones(&self, paths: impl Iterator<Item = PathBuf>) -> Vec<Dependency> {
        let readable = self.compiler.sandbox.readable(&self.of_unit);
        let mut files: Vec<PathBuf> = paths.filter(|path| readable.hold_file(path)).collect();
        files.sort();
        files.dedup();
        files
    }

    /// A compiler's output, if it may be shown: it quotes lines of files, and a unit may have included any file.
    fn shown(&self, text: String, unit: &TranslationUnit) -> Result<String, CompileError> {
        match self.compiler.sandbox.readable(&self.of_unit).foreign_in(&text, &unit.base) {
            Some(path) => Err(CompileError::Outside(normalize(&path))),
            None => Ok(text),
        }
    }

    fn refusal(
        &self,
        end: End,
        text: &str,
        program: &str,
        messages: Vec<CompilerMessage>,
        attempt: &Attempt,
    ) -> Box<Failure> {
        let program = program.to_string();
        let has_errors = messages.iter().any(|message| message.kind == MessageKind::Error);
        let memory = self.compiler.sandbox.memory().filter(|_| is_of_memory(end, text));
        let error = match (end, memory) {
            (End::TimedOut, _) if self.compiler.total.is_over() => self.compiler.run_timed_out(),
            (End::TimedOut, _) => CompileError::TimedOut { program, seconds: self.compiler.limit.as_secs() },
            (End::Cancelled, _) => CompileError::Cancelled,
            (_, Some(memory)) => {
                let (option, limited) = memory.option();
                CompileError::Memory { program, mib: memory.bytes >> 20, option, limited }
            }
            (End::Signal(signal), _) => CompileError::Crashed { program, signal },
            (End::Exit(_), _) if text.contains("Failed to preprocess host compiler properties") => {
                CompileError::NoHostCompiler
            }
            (End::Exit(_), _) if has_errors => CompileError::Refused { architecture: attempt.architecture.clone() },
            (End::Exit(code), _) => CompileError::Silent { program, code, output: last_lines(text, 12) },
        };
        Box::new(Failure { error, messages, rescues: attempt.rescues.clone(), ptx: None, read: None, absent: None })
    }
}

/// What a compiler said. Of one that failed, the beginning is enough: few of its errors are shown, and one that does not
/// end says the same for ever.
fn said(output: &Output) -> String {
    if output.succeeded() {
        return output.text();
    }
    let start = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_SAID_BYTES)]).into_owned();
    format!("{}{}", start(&output.stdout), start(&output.stderr))
}

/// Whether a compiler ended for lack of memory, judged by the messages of the compilers that nvcc starts.
fn is_of_memory(end: End, text: &str) -> bool {
    const WORDS: [&str; 5] = [
        "out of memory",
        "Cannot allocate memory",
        "std::bad_alloc",
        "virtual memory exhausted",
        "Memory allocation failure",
    ];
    end != End::Exit(0) && WORDS.iter().any(|words| text.contains(words))
}

fn kernels_that_spill(log: &str) -> Vec<String> {
    let spills = |usage: &lmem_base::diagnostic::ResourceUsage| usage.spill_stores > 0 || usage.spill_loads > 0;
    let functions = PtxasLog::parse(log).functions.into_iter();
    functions.filter(|(_, function)| function.is_entry && spills(&function.usage)).map(|(name, _)| name).collect()
}

/// Why a rescue did not change the command line.
enum NoRescue {
    /// It would fetch what is only fetched for who asks for it.
    Unasked,
    /// It was tried before, or failed for the reason in these words.
    Failed(Option<String>),
}

/// The command line with the changes of rescues.
struct Attempt {
    arguments: Vec<String>,
    architecture: String,
    rescues: Vec<String>,
}

impl Attempt {
    fn plain(target: &Target) -> Self {
        Self { arguments: Vec::new(), architecture: target.architecture.clone(), rescues: Vec::new() }
    }

    /// Raises the architecture to that of the PTX: ptxas, and the driver of such a GPU, reject PTX for a higher virtual
    /// architecture. The program is meant for a newer GPU.
    fn raise_to_virtual(&mut self, ptx: &str) {
        let Some(declared) = declared_target(ptx) else { return };
        let specific = declared.ends_with(|c: char| c.is_ascii_alphabetic());
        let higher = Arch::of(declared).number() > Arch::of(&self.architecture).number();
        if declared.starts_with("sm_") && (higher || (specific && declared != self.architecture)) {
            self.rescues.push(format!(
                "compiled for `{declared}` instead of `{}`: the kernel's own options ask for it",
                self.architecture
            ));
            self.architecture = declared.to_string();
        }
    }

    /// Raises the architecture to that of a PTX-only build, since no older GPU can run its PTX.
    fn raise_to_build(&mut self, flags: &NvccFlags) {
        let Some(declared) = flags.virtual_architecture(&self.architecture) else { return };
        let real = declared.replacen("compute_", "sm_", 1);
        let specific = declared.ends_with(|c: char| c.is_ascii_alphabetic());
        if Arch::of(declared).number() > Arch::of(&self.architecture).number() || specific {
            self.rescues.push(format!(
                "compiled for `{real}` instead of `{}`: the project's build asks for it",
                self.architecture
            ));
            self.architecture = real;
        }
    }

    fn apply(
        &mut self,
        rescue: Rescue,
        headers: impl FnOnce(Library) -> Result<Option<PathBuf>, String>,
    ) -> Result<(), NoRescue> {
        match rescue {
            Rescue::Flags { flags, note } => {
                self.arguments.extend(flags);
                self.rescues.push(note);
            }
            Rescue::Architecture { architecture, note } => {
                if Arch::of(&architecture).number() <= Arch::of(&self.architecture).number() {
                    return Err(NoRescue::Failed(None));
                }
                self.architecture = architecture;
                self.rescues.push(note);
            }
            Rescue::Library(library) => {
                let folder = headers(library).map_err(|words| NoRescue::Failed(Some(words)))?;
                let flag = format!("-I{}", folder.ok_or(NoRescue::Unasked)?.display());
                if self.arguments.contains(&flag) {
                    return Err(NoRescue::Failed(None));
                }
                self.arguments.push(flag);
                self.rescues.push(format!("the headers of {library} were added"));
            }
        }
        Ok(())
    }
}

fn warnings(messages: Vec<CompilerMessage>) -> Vec<CompilerMessage> {
    // The lints report ptxas's messages on local memory in better terms.
    let asked_for = |text: &str| {
        text.starts_with("Local memory used for function")
            || text.starts_with("Registers are spilled to local memory")
            || text.starts_with("Stack size for entry function")
    };
    messages.into_iter().filter(|message| message.kind == MessageKind::Warning && !asked_for(&message.text)).collect()
}

/// The variables of all user functions, if any function has local memory. Names are optional, so a failure here gives
/// an empty result.
fn front_end(folder: &Path, log: &str, toolkit: &Toolkit) -> FrontEnd {
    let functions = PtxasLog::parse(log).functions;
    let has_local_memory = functions.values().any(|function| {
        let usage = &function.usage;
        usage.stack_frame > 0 || usage.spill_stores > 0 || usage.spill_loads > 0 || function.stack_is_unknown
    });
    let path = nvcc::kept_file(folder, ".cudafe1.gpu").ok().flatten().filter(|_| has_local_memory);
    let Some(text) = path.and_then(|path| fs_err::read(path).ok()) else { return FrontEnd::default() };
    let mut front_end = FrontEnd::parse(&String::from_utf8_lossy(&text));
    let is_foreign = |file: &str| Path::new(file).starts_with(&toolkit.root) || file.starts_with("/usr/");
    for variables in front_end.functions.values_mut() {
        variables.retain(|variable| !is_foreign(&variable.file));
    }
    front_end.functions.retain(|_, variables| !variables.is_empty());
    front_end
}

/// The files that the line tables name, which are those with code. NVRTC does not list its inputs.
fn ptx_files(ptx: &str, unit: &TranslationUnit) -> Vec<PathBuf> {
    let quoted =
        ptx.lines().filter(|line| line.trim_start().starts_with(".file")).filter_map(|line| line.split('"').nth(1));
    quoted.map(|path| unit.base.join(unescape_path(path))).collect()
}

/// A compiler's message with names of our temporary files removed, so that equal input gives equal messages.
fn without_folder(text: &str, folder: &Path, unit: &TranslationUnit) -> String {
    let ours = folder.join(PTX_NAME);
    text.replace(ours.to_string_lossy().as_ref(), &unit.name).replace(&format!("{}/", folder.display()), "")
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_of_the_text_last() {
        let message = |text: &str| parse_messages(text, "nvcc");
        let failure = |error: CompileError, text: &str| Failure {
            error,
            messages: message(text),
            rescues: Vec::new(),
            ptx: None,
            read: Some(vec![PathBuf::from("/w/a.cuh")]),
            absent: None,
        };
        let refused = |text: &str| failure(CompileError::Refused { architecture: "sm_90".into() }, text);
        let lasts = |failure: &Failure| failure.lasting_inputs().is_some();
        let undefined = "a.cu(2): error: identifier \"y\" is undefined";
        assert!(lasts(&refused(undefined)));
        assert!(lasts(&refused("ptxas error   : Entry function 'k' uses too much shared data")));
        for passing in [
            "a.cu:1:10: fatal error: nope.h: No such file or directory",
            "default_program(1): catastrophic error: cannot open source file \"nope.h\"",
            "nvcc error   : 'cicc' died due to signal 9 (Kill signal)",
            "g++: fatal error: Killed signal terminated program cc1plus",
            "ptxas fatal   : Memory allocation failure",
        ] {
            assert!(!lasts(&refused(passing)), "{passing}");
        }
        let lacks = |name: &str| Failure {
            absent: Some(Absent { names: vec![name.to_string()], places: Vec::new() }),
            ..refused("a.cu:1:10: fatal error: nope.h: No such file or directory")
        };
        assert!(lasts(&lacks("nope.h")) && !lasts(&lacks("other.h")));
        assert!(!lasts(&failure(CompileError::TimedOut { program: "nvcc".into(), seconds: 1 }, undefined)));
        assert!(!lasts(&Failure { read: None, ..refused(undefined) }));
    }

    #[test]
    fn commands_are_shown_as_a_shell_takes_them() {
        let mut command = std::process::Command::new("/opt/cuda/bin/nvcc");
        command.args(["-arch=sm_90", "-DNAME=\"a b\"", "", "it's.cu"]);
        assert_eq!(shell_words(&command), "/opt/cuda/bin/nvcc -arch=sm_90 '-DNAME=\"a b\"' '' 'it'\\''s.cu'");
    }
}
