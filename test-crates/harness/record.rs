//! Recorded compiler outputs of a test crate: written by a run with a real compiler, and read in place of one.
//!
//! For each unit and architecture there are a cubin, the PTX, and a JSON file with the rest, all in one archive. Paths
//! in them use a folder that every machine can have, so that a record does not depend on where it was made. On reading,
//! that folder is replaced by the crate's. In the cubin the new name must have the same length as the old one; it is
//! padded with slashes between two parts of the path, which do not change the file it names.
//!
//! For units with the edits of a suggestion, only the figures needed for the comparison are kept (`suggestions.json`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use cargo_lmem::cache::{self, Cache};
use cargo_lmem::check::{ArtifactSource, Compilers, Sourced};
use cargo_lmem::compile::{CompileError, Compiler, Failure, HeaderIndex, Steps, Target, TotalTime};
use cargo_lmem::verify::{Comparer, Measured, Overlay, OverlaySource};
use cuda_toolkit::{Library, Request, Toolkit};
use lmem_base::version::Version;
use lmem_compare::estimate::COUNTING;
use lmem_unit::{Artifacts, AsCompiled, CompilerMessage, FrontEnd, TranslationUnit, UnitCode};

use super::archive::{self, Files};
use super::crates::{self, TestCrate};
use super::memo::Memo;
use super::{Problem, run};

pub const RENEW_OVERLAYS: &str = "LMEM_RECORD_SUGGESTIONS=1 cargo test --test test_crates";

pub const RENEW: &str = "LMEM_RECORD=1 cargo test --test test_crates";

/// Length of the folders that records are made in; checkouts with longer paths cannot use the records.
const FOLDER_LENGTH: usize = 200;

/// Placeholder for the crate's folder in texts.
const FOLDER: &str = "$CRATE";

/// A unit, a target, and the compiler outputs.
pub struct Given {
    pub unit: TranslationUnit,
    pub target: Target,
    pub artifacts: Artifacts,
}

/// Everything but the cubin and the PTX.
#[derive(Serialize, Deserialize)]
struct Entry {
    /// Hash of the unit's text, its flags and the compiler.
    inputs: String,
    /// Included files of the crate, with the hash of their text.
    dependencies: BTreeMap<String, String>,
    architecture: String,
    /// The compiler rejected the unit.
    refused: bool,
    messages: Vec<CompilerMessage>,
    rescues: Vec<String>,
    log: Vec<String>,
    /// The same for kernels that spill, compiled without their register limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unlimited_log: Vec<String>,
    /// The same for kernels that spill, with their limits, spilling to shared memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shared_log: Vec<String>,
    #[serde(default)]
    front_end: FrontEnd,
    #[serde(default)]
    as_compiled: AsCompiled,
}

/// A toolkit that does not exist, for runs that must not use one.
pub fn no_toolkit(version: Version) -> Toolkit {
    let root = PathBuf::from("/no-toolkit");
    Toolkit {
        version,
        number: version.to_string(),
        nvcc: None,
        ptxas: root.join("bin/ptxas"),
        nvrtc: None,
        lacks: Vec::new(),
        found: "the tests".to_string(),
        root,
    }
}

static UNPACKED: Memo<Files> = Memo::new();

/// The record of a test crate, as a source of artifacts.
pub struct Record<'a> {
    test_crate: &'a TestCrate,
    problems: Mutex<Vec<Problem>>,
    given: Mutex<Vec<Given>>,
    overlays: OnceLock<Overlays>,
}

impl<'a> Record<'a> {
    pub fn new(test_crate: &'a TestCrate) -> Self {
        Self { test_crate, problems: Mutex::default(), given: Mutex::default(), overlays: OnceLock::new() }
    }

    fn unpack(&self) -> Result<Files, Problem> {
        archive::read(&self.test_crate.recorded()).map_err(|error| error.to_string())
    }

    /// The figures of a unit with edits; the outer `None` if they are not recorded.
    fn overlay(&self, key: &str) -> Option<Option<Measured>> {
        self.overlays.get_or_init(|| read_overlays(&self.test_crate.recorded())).get(key).cloned()
    }

    /// The units that were read, in order of names; or the unusable ones, and how to renew them.
    pub fn finish(self) -> Result<Vec<Given>, Problem> {
        let mut problems = self.problems.into_inner().expect("no thread has panicked");
        if !problems.is_empty() {
            problems.sort();
            return Err(format!(
                "{}\nhint: renew the records with `{RENEW}`, CUDA {} is needed",
                problems.join("\n"),
                self.test_crate.version
            ));
        }
        let mut given = self.given.into_inner().expect("no thread has panicked");
        given.sort_by_key(|given| (given.unit.name.clone(), given.target.architecture.clone()));
        Ok(given)
    }

    fn read(&self, unit: &TranslationUnit, target: &Target) -> Result<Result<Artifacts, Box<Failure>>, Problem> {
        let folder = &self.test_crate.folder;
        let stem = stem(unit, target);
        let missing = |problem: String| format!("no usable record of `{}`: {problem}", unit.name);
        let files = UNPACKED.get(&self.test_crate.name, || self.unpack()).map_err(missing)?;
        let read = |ending: &str| {
            let name = format!("{stem}.{ending}");
            files.get(&name).ok_or_else(|| missing(format!("the archive has no `{name}`")))
        };
        let entry: Entry = serde_json::from_slice(read("json")?).map_err(|error| missing(error.to_string()))?;
        let stale = |what: &str| {
            format!(
                "the record of `{}/{}` for `{}` is stale: {what} changed",
                self.test_crate.name, unit.name, target.architecture
            )
        };
        if entry.inputs != inputs(folder, unit, target) {
            return Err(stale("its text, its flags or the compiler"));
        }
        for (path, hash) in &entry.dependencies {
            if hash_of(&folder.join(path)).as_ref() != Some(hash) {
                return Err(stale(&format!("`{path}`, which it includes,")));
            }
        }
        let ptx = String::from_utf8_lossy(read("ptx")?).into_owned();
        let here = |text: &str| text.replace(FOLDER, &folder.to_string_lossy());
        let mut messages = entry.messages;
        for (file, _) in messages.iter_mut().filter_map(|message| message.place.as_mut()) {
            *file = here(file);
        }
        if entry.refused {
            let error = CompileError::Refused { architecture: entry.architecture };
            let ptx = Some(here(&ptx)).filter(|ptx| !ptx.is_empty());
            return Ok(Err(Box::new(Failure {
                error,
                messages,
                rescues: entry.rescues,
                ptx,
                read: None,
                absent: None,
            })));
        }
        let cubin = read("cubin")?.clone();
        let recorded = recording_folder(&self.test_crate.name).to_string_lossy().into_owned();
        let padded = padded(folder, recorded.len())?;
        Ok(Ok(Artifacts {
            cubin: moved(cubin, recorded.as_bytes(), padded.as_bytes()),
            // The file must have the same name here as in the cubin.
            ptx: ptx.replace(FOLDER, &padded),
            ptxas_log: here(&entry.log.join("\n")),
            unlimited_log: entry.unlimited_log.join("\n"),
            shared_log: Some(entry.shared_log.join("\n")),
            front_end: entry.front_end,
            as_compiled: entry.as_compiled,
            messages,
            dependencies: entry.dependencies.keys().map(|path| folder.join(path)).collect(),
            rescues: entry.rescues,
            architecture: entry.architecture,
            folder: unit.base.clone(),
        }))
    }
}

impl ArtifactSource for Record<'_> {
    fn artifacts(&self, unit: &TranslationUnit, target: &Target) -> Result<Sourced, Box<Failure>> {
        match self.read(unit, target) {
            Ok(Ok(artifacts)) => {
                let given = Given { unit: unit.clone(), target: target.clone(), artifacts: artifacts.clone() };
                self.given.lock().expect("no thread has panicked").push(given);
                Ok(Sourced { artifacts, cached: false, cache_error: None })
            }
            Ok(Err(failure)) => Err(failure),
            Err(problem) => {
                self.problems.lock().expect("no thread has panicked").push(problem.clone());
                let error = CompileError::Io { what: "record".to_string(), message: problem };
                Err(Box::new(Failure {
                    error,
                    messages: Vec::new(),
                    rescues: Vec::new(),
                    ptx: None,
                    read: None,
                    absent: None,
                }))
            }
        }
    }
}

impl OverlaySource for Record<'_> {
    fn measure(&self, overlay: &Overlay<'_>, target: &Target) -> Result<Measured, Box<Failure>> {
        match self.overlay(&overlay_key(&self.test_crate.folder, overlay, target)) {
            Some(Some(measured)) => Ok(measured),
            Some(None) => Err(CompileError::Refused { architecture: target.architecture.clone() }.into()),
            None => {
                let problem = format!(
                    "`{}/{}` for `{}`: a suggestion was not recorded; `{RENEW_OVERLAYS}` does it",
                    self.test_crate.name, overlay.unit.name, target.architecture
                );
                self.problems.lock().expect("no thread has panicked").push(problem.clone());
                Err(CompileError::Io { what: "record".to_string(), message: problem }.into())
            }
        }
    }
}

/// Figures of units with the edits of suggestions; `None` if a unit did not compile.
type Overlays = BTreeMap<String, Option<Measured>>;

const SUGGESTIONS: &str = "suggestions.json";

/// The content of `suggestions.json`.
#[derive(Default, Deserialize)]
struct Suggestions {
    /// [`COUNTING`] of the comparison that they are from.
    counting: u32,
    units: Overlays,
}

/// Of a comparison that counts otherwise, only what no compiler accepted.
fn read_overlays(recorded: &Path) -> Overlays {
    let text = fs_err::read_to_string(recorded.join(SUGGESTIONS)).unwrap_or_default();
    let Suggestions { counting, mut units } = serde_json::from_str(&text).unwrap_or_default();
    units.retain(|_, measured| counting == COUNTING || measured.is_none());
    units
}

/// The unit, the architecture, and a hash of everything that the compiler reads. The indentation and the comments of an
/// edit are not part of the hash: a change of wording keeps the figures.
fn overlay_key(folder: &Path, overlay: &Overlay<'_>, target: &Target) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(inputs(folder, overlay.unit, target).as_bytes());
    for (path, text) in overlay.texts() {
        for part in [path.as_str(), &without_comments(text)] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
    }
    format!("{} {}", stem(overlay.unit, target), &hasher.finalize().to_hex()[..32])
}

/// The lines of a text without indentation and line comments; empty lines are dropped.
fn without_comments(text: &str) -> String {
    let code = text.lines().map(|line| match line.split_once("//") {
        // `//` in a string literal may not be a comment.
        Some((code, _)) if !code.contains('"') => code.trim(),
        _ => line.trim(),
    });
    code.filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

/// The record of a crate, except that suggestions are compiled and recorded.
struct Proving<'a> {
    record: Record<'a>,
    toolkit: Toolkit,
    cancel: &'a AtomicBool,
    comparer: Comparer,
    overlays: Mutex<Overlays>,
}

impl ArtifactSource for Proving<'_> {
    fn artifacts(&self, unit: &TranslationUnit, target: &Target) -> Result<Sourced, Box<Failure>> {
        let sourced = self.record.artifacts(unit, target)?;
        self.comparer.remember(unit, target, &sourced.artifacts);
        Ok(sourced)
    }
}

impl OverlaySource for Proving<'_> {
    fn measure(&self, overlay: &Overlay<'_>, target: &Target) -> Result<Measured, Box<Failure>> {
        let folder = &self.record.test_crate.folder;
        let key = overlay_key(folder, overlay, target);
        let result = match self.record.overlay(&key) {
            Some(None) => Err(CompileError::Refused { architecture: target.architecture.clone() }.into()),
            Some(Some(measured)) if is_complete(&measured) => Ok(measured),
            _ => {
                let real = Target { toolkit: Arc::new(self.toolkit.clone()), ..target.clone() };
                measure(folder, overlay, &real, &self.comparer, self.cancel)
            }
        };
        let mut overlays = self.overlays.lock().expect("no thread has panicked");
        overlays.insert(key, result.as_ref().ok().cloned());
        result
    }
}

/// Whether there are results of both versions of an edited unit, or of a run of the unit alone.
fn is_complete(measured: &Measured) -> bool {
    (!measured.results.is_empty() && !measured.executed.is_empty()) || !measured.alone.is_empty()
}

/// Compiles the suggestions of test crates and records their figures; `names` is as for [`renew`].
pub fn renew_overlays(names: &str) -> Result<(), Problem> {
    let cancel = AtomicBool::new(false);
    let is_named = |test_crate: &TestCrate| names == "1" || names.split(',').any(|name| name.trim() == test_crate.name);
    for test_crate in crates::all().iter().filter(|it| is_named(it) && it.has_recorded_suggestions()) {
        let toolkit = real_toolkit(test_crate.version, &cancel)?;
        let proving = Proving {
            record: Record::new(test_crate),
            toolkit,
            cancel: &cancel,
            comparer: Comparer::default(),
            overlays: Mutex::default(),
        };
        let outcome = run::check(
            test_crate,
            &test_crate.folder,
            no_toolkit(test_crate.version),
            &proving,
            &["--verify-budget=3600"],
        )?;
        proving.record.finish()?;
        let overlays = proving.overlays.into_inner().expect("no thread has panicked");
        let path = test_crate.recorded().join(SUGGESTIONS);
        match overlays.is_empty() {
            true => drop(fs_err::remove_file(path)),
            false => fs_err::write(path, one_line_each(&overlays)?).map_err(|error| error.to_string())?,
        }
        let count = overlays.len();
        eprintln!("{}: {count} units with edits, {} findings", test_crate.name, outcome.report.diagnostics.len());
    }
    Ok(())
}

/// [`Suggestions`] as JSON with one line per entry, so that diffs are easy to read.
fn one_line_each(overlays: &Overlays) -> Result<String, Problem> {
    let line = |(key, measured): (&String, &Option<Measured>)| -> Result<String, Problem> {
        let measured = serde_json::to_string(measured).map_err(|error| error.to_string())?;
        Ok(format!("\"{key}\":{measured}"))
    };
    let lines: Vec<String> = overlays.iter().map(line).collect::<Result<_, _>>()?;
    Ok(format!("{{\"counting\":{COUNTING},\"units\":{{\n{}\n}}}}\n", lines.join(",\n")))
}

/// Compiles test crates and records the outputs: all crates for `1`, otherwise those named, separated by commas.
pub fn renew(names: &str) -> Result<(), Problem> {
    let cancel = AtomicBool::new(false);
    for test_crate in crates::all() {
        let is_named = names.split(',').any(|name| name.trim() == test_crate.name);
        if names != "1" && !is_named {
            continue;
        }
        let toolkit = match real_toolkit(test_crate.version, &cancel) {
            Err(problem) if !is_named && test_crate.version != crates::VERSION => {
                eprintln!("not recorded {}: {problem}", test_crate.name);
                continue;
            }
            toolkit => toolkit?,
        };
        let folder = recording_folder(&test_crate.name);
        drop(fs_err::remove_dir_all(&folder));
        test_crate.copy_to(&folder)?;
        let recorder = Recorder { from: &folder, cancel: &cancel, files: Mutex::default(), problems: Mutex::default() };
        let outcome = run::check(&test_crate, &folder, toolkit, &recorder, &["--no-verify"])?;
        super::all(recorder.problems.into_inner().expect("no thread has panicked"))?;
        let files = recorder.files.into_inner().expect("no thread has panicked");
        archive::write(&test_crate.recorded(), &files).map_err(|error| error.to_string())?;
        eprintln!("recorded {} ({} kernels)", test_crate.name, outcome.report.summary.kernels);
        fs_err::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    }
    renew_overlays(names)
}

/// The toolkit of a version. For most crates it is that of this machine; for others, the first match among the folders
/// that `LMEM_TOOLKITS` lists, or one that is found.
pub fn real_toolkit(version: Version, cancel: &AtomicBool) -> Result<Toolkit, Problem> {
    let select = |choice: Option<&str>| {
        let request = Request { choice, offline: version != crates::VERSION, ..Request::default() };
        cuda_toolkit::select(request, cancel).map(|selection| selection.toolkit).map_err(|error| error.to_string())
    };
    if version == crates::VERSION {
        let toolkit = select(None)?;
        let (root, number) = (toolkit.root.display().to_string(), toolkit.number.clone());
        let is_right = toolkit.version == version;
        return is_right.then_some(toolkit).ok_or(format!("records are of CUDA {version}, and `{root}` is {number}"));
    }
    let listed = std::env::var("LMEM_TOOLKITS").unwrap_or_default();
    let mut listed =
        listed.split(':').filter(|folder| !folder.is_empty()).filter_map(|folder| select(Some(folder)).ok());
    let found = listed.find(|toolkit| toolkit.version == version);
    let found = found.or_else(|| select(Some(&version.to_string())).ok());
    found.ok_or(format!("no toolkit of CUDA {version} is found"))
}

/// Compiles a unit with a real toolkit.
pub fn compile(
    root: &Path,
    unit: &TranslationUnit,
    target: &Target,
    cancel: &AtomicBool,
) -> Result<Artifacts, Box<Failure>> {
    with_compilers(root, cancel, None, |compilers| compilers.artifacts(unit, target)).map(|sourced| sourced.artifacts)
}

/// The same, unless the user's own cache has the result.
pub fn compile_cached(
    root: &Path,
    unit: &TranslationUnit,
    target: &Target,
    cancel: &AtomicBool,
) -> Result<Sourced, Box<Failure>> {
    let cache = cuda_toolkit::cache_root().ok().map(|folder| Cache::new(cache::folder(&folder), root));
    with_compilers(root, cancel, cache, |compilers| compilers.artifacts(unit, target))
}

/// The figures of a unit with edits, from a real toolkit.
pub fn measure(
    root: &Path,
    overlay: &Overlay<'_>,
    target: &Target,
    comparer: &Comparer,
    cancel: &AtomicBool,
) -> Result<Measured, Box<Failure>> {
    with_compilers(root, cancel, None, |compilers| Compilers { comparer, ..compilers }.measure(overlay, target))
}

fn with_compilers<T>(
    root: &Path,
    cancel: &AtomicBool,
    cache: Option<Cache>,
    run: impl FnOnce(Compilers<'_>) -> T,
) -> T {
    let library = |toolkit: &Toolkit, library: Library| {
        cuda_toolkit::headers(toolkit, library, false, true, cancel).map_err(|error| error.to_string())
    };
    let limit = Duration::from_secs(600);
    let headers = HeaderIndex::new(root);
    let sandbox = cargo_lmem::sandbox::Sandbox::default();
    let compiler = Compiler {
        limit,
        // Recording all crates takes long on a small machine.
        total: TotalTime::from_now(Duration::MAX),
        sandbox: &sandbox,
        cancel,
        headers,
        steps: &Steps::default(),
        library: &library,
        tries_shared_spilling: cache.is_none(),
        compiles_host: false,
        explains: true,
        show: &|_| {},
        note: &|_| {},
        ptxas_wrapper: None,
        version: None,
    };
    run(Compilers {
        compiler,
        cache: cache.as_ref(),
        shows_suggestions: false,
        comparer: &Comparer::default(),
        bench: None,
    })
}

/// A source of artifacts that compiles, and records the outputs.
struct Recorder<'a> {
    from: &'a Path,
    cancel: &'a AtomicBool,
    files: Mutex<Files>,
    problems: Mutex<Vec<Problem>>,
}

impl ArtifactSource for Recorder<'_> {
    fn artifacts(&self, unit: &TranslationUnit, target: &Target) -> Result<Sourced, Box<Failure>> {
        let result = compile(self.from, unit, target, self.cancel);
        if let Err(problem) = self.keep(unit, target, &result) {
            self.problems.lock().expect("no thread has panicked").push(format!("`{}`: {problem}", unit.name));
        }
        result.map(|artifacts| Sourced { artifacts, cached: false, cache_error: None })
    }
}

impl OverlaySource for Recorder<'_> {
    /// Suggestions are compiled later, from the finished record.
    fn measure(&self, _: &Overlay<'_>, target: &Target) -> Result<Measured, Box<Failure>> {
        Err(CompileError::Refused { architecture: target.architecture.clone() }.into())
    }
}

impl Recorder<'_> {
    fn keep(
        &self,
        unit: &TranslationUnit,
        target: &Target,
        result: &Result<Artifacts, Box<Failure>>,
    ) -> Result<(), Problem> {
        let elsewhere = |text: &str| self.elsewhere(text, target);
        let (refused, artifacts) = match result {
            Ok(artifacts) => (false, artifacts.clone()),
            Err(failure) => (true, refusal(failure)?),
        };
        let mut messages = artifacts.messages;
        for message in &mut messages {
            message.place = message.place.take().map(|(file, line)| (elsewhere(&file), line));
        }
        let own = artifacts.dependencies.iter().filter_map(|path| path.strip_prefix(self.from).ok());
        let entry = Entry {
            inputs: inputs(self.from, unit, target),
            dependencies: own
                .filter_map(|path| Some((path.to_str()?.to_string(), hash_of(&self.from.join(path))?)))
                .collect(),
            architecture: artifacts.architecture,
            refused,
            messages,
            rescues: artifacts.rescues,
            log: without_times(&artifacts.ptxas_log).map(elsewhere).collect(),
            unlimited_log: without_times(&artifacts.unlimited_log).map(String::from).collect(),
            shared_log: without_times(artifacts.shared_log.as_deref().unwrap_or("")).map(String::from).collect(),
            front_end: self.front_end_elsewhere(artifacts.front_end, target),
            as_compiled: artifacts.as_compiled,
        };
        let mut json = serde_json::to_string_pretty(&entry).map_err(|error| error.to_string())?;
        json.push('\n');
        let mut parts = vec![("json", json.into_bytes()), ("ptx", elsewhere(&artifacts.ptx).into_bytes())];
        if !refused {
            parts.push(("cubin", without_temporary_names(artifacts.cubin)));
        }
        let stem = stem(unit, target);
        let parts = parts.into_iter().map(|(ending, bytes)| (format!("{stem}.{ending}"), bytes));
        self.files.lock().expect("no thread has panicked").extend(parts);
        Ok(())
    }

    fn front_end_elsewhere(&self, mut front_end: FrontEnd, target: &Target) -> FrontEnd {
        for variable in front_end.functions.values_mut().flatten() {
            variable.file = self.elsewhere(&variable.file, target);
        }
        front_end
    }

    /// Replaces the names of this machine's folders in a text.
    fn elsewhere(&self, text: &str, target: &Target) -> String {
        let text = text.replace(&*self.from.to_string_lossy(), FOLDER);
        text.replace(&*target.toolkit.root.to_string_lossy(), "/toolkit")
    }
}

/// Removes times, which differ from run to run.
fn without_times(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter(|line| !line.contains("Compile time"))
}

/// The compiler's messages about a unit that it rejected, in the form of its normal output.
fn refusal(failure: &Failure) -> Result<Artifacts, Problem> {
    let CompileError::Refused { architecture } = &failure.error else { return Err(failure.error.to_string()) };
    Ok(Artifacts {
        messages: failure.messages.clone(),
        rescues: failure.rescues.clone(),
        architecture: architecture.clone(),
        ptx: failure.ptx.clone().unwrap_or_default(),
        ..Artifacts::default()
    })
}

/// Replaces the names of temporary folders: the command line of ptxas, which is part of the cubin, has one.
fn without_temporary_names(mut cubin: Vec<u8>) -> Vec<u8> {
    const PREFIX: &[u8] = b"/cargo-lmem-";
    let starts: Vec<usize> = (0..cubin.len()).filter(|at| cubin[*at..].starts_with(PREFIX)).collect();
    for start in starts {
        let name = cubin[start + PREFIX.len()..].iter_mut().take_while(|byte| byte.is_ascii_alphanumeric());
        name.for_each(|byte| *byte = b'0');
    }
    cubin
}

/// The name of a folder, padded with slashes to a length.
fn padded(folder: &Path, length: usize) -> Result<String, Problem> {
    let name = folder.to_string_lossy();
    match name.len() > length {
        true => Err(format!("`{name}` is too long a path: records work in folders of up to {length} bytes")),
        false => Ok(format!("{name:/<length$}")),
    }
}

/// Replaces a name in a cubin by another of the same length.
fn moved(mut cubin: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    let starts: Vec<usize> = memchr::memmem::find_iter(&cubin, from).collect();
    for start in starts {
        cubin[start..start + to.len()].copy_from_slice(to);
    }
    cubin
}

/// A folder of the same name on all machines. Its name must not begin like the temporary folders of compilations.
fn recording_folder(name: &str) -> PathBuf {
    let start = "/tmp/lmem-record";
    let fill = "_".repeat(FOLDER_LENGTH - start.len() - name.len() - 2);
    PathBuf::from(format!("{start}/{fill}/{name}"))
}

/// File name of a record without its extension. `src/kernels.rs:41` is not a valid file name on every system.
fn stem(unit: &TranslationUnit, target: &Target) -> String {
    format!("{}-{}/{}", target.toolkit.version, target.architecture, unit.name.replace(':', "-"))
}

fn inputs(folder: &Path, unit: &TranslationUnit, target: &Target) -> String {
    let portable = |text: &str| text.replace(&*folder.to_string_lossy(), FOLDER);
    let mut parts =
        vec![target.toolkit.version.to_string(), target.architecture.clone(), portable(&unit.base.to_string_lossy())];
    match &unit.code {
        UnitCode::CudaFile { file, flags } => {
            parts.extend(["cu".to_string(), file.text().to_string()]);
            parts.extend(flags.all_arguments().iter().map(|argument| portable(argument)));
        }
        UnitCode::CudaText { text, options } => {
            parts.extend(["nvrtc".to_string(), text.as_str().to_string()]);
            parts.push(options.program_name.clone().unwrap_or_default());
            parts.extend(options.arguments.iter().map(|argument| portable(argument)));
        }
        UnitCode::Ptx { text, options } => {
            parts.extend(["ptx".to_string(), text.as_str().to_string()]);
            parts.extend(options.arguments.iter().cloned());
        }
        // Machine code is not compiled, so there is nothing to record.
        UnitCode::Machine(_) => {}
    }
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_string()
}

fn hash_of(path: &Path) -> Option<String> {
    fs_err::read(path).ok().map(|bytes| blake3::hash(&bytes).to_hex()[..32].to_string())
}
