//! The flags that a project's build really passes to nvcc.
//!
//! A wrong architecture, a missing define or an overlooked register limit changes every result. `--capture` therefore
//! runs the project's build scripts with a stand-in for `nvcc` that records each command and then executes the real
//! nvcc. The records are kept for later runs. Files without a record get their flags from `compile_commands.json`.

mod arguments;
mod build;
pub mod built;
mod clang;
mod compile_commands;
mod file_times;
mod record;
mod stand_in;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use cuda_toolkit::Toolkit;
use lmem_base::diagnostic::FlagOrigin;
use lmem_base::files::write_whole;
use lmem_base::places;
use lmem_base::source::{display_path, has_ending};
use lmem_unit::{CodeTarget, DriverOptions, NvccFlags};

use crate::discover::Workspace;
use crate::discover::packages::Package;
use arguments::Invocation;
use built::Output;
use compile_commands::Commands;
use file_times::FileTimes;
use record::{Record, Records, hash};
use stand_in::ShadowToolkit;

pub use built::BuiltFile;
pub use stand_in::{NVCC_STAND_IN, stand_in};

/// Subfolder of the cache.
const FOLDER: &str = "builds";

/// Next to the records of a workspace: the build scripts that were run, and hashes of their content.
const SCRIPTS: &str = "scripts.json";

/// Interval for polling a lock.
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Options of a capture from the command line.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// `--features` and related options, in cargo's form.
    pub features: &'a [String],
    /// `sm_90`: the architecture for build scripts that query this machine's GPU.
    pub architecture: &'a str,
    pub offline: bool,
    pub quiet: bool,
}

/// Why the flags of a build are not available.
#[derive(Debug, Error)]
pub enum CaptureError {
    #[error(
        "`--capture` needs an nvcc to stand in for, and toolkit {0} has none: use a full toolkit, such as `--toolkit managed`"
    )]
    NoNvcc(String),
    #[error("`{}` is not a folder of cargo's: `--capture` builds there, so move it away", .0.display())]
    Occupied(PathBuf),
    #[error("interrupted")]
    Interrupted,
    #[error("{what}")]
    Io { what: &'static str, source: io::Error },
}

impl CaptureError {
    fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}

/// The flags of files, as builds pass them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildFlags {
    /// By absolute path; a file may be compiled in several ways.
    by_file: BTreeMap<PathBuf, Vec<NvccFlags>>,
    /// Files that builds were seen to make.
    outputs: Vec<Output>,
    /// Packages whose build scripts were run.
    pub scripts: BTreeSet<String>,
    /// The compilation databases that were read.
    pub databases: Vec<PathBuf>,
    /// Those of them that cannot be read, or not in full: what they compile is not known.
    pub unreadable: Vec<PathBuf>,
    /// Remarks that are always shown.
    pub notes: Vec<String>,
    /// Remarks that `-v` shows.
    pub details: Vec<String>,
}

impl BuildFlags {
    /// The ways in which a file is compiled; empty if no build is known to compile it.
    pub fn of(&self, file: &Path) -> &[NvccFlags] {
        self.by_file.get(file).map_or(&[], Vec::as_slice)
    }

    /// The files that builds compile as CUDA.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.by_file.keys().map(PathBuf::as_path)
    }

    /// The architectures for which builds make machine code of any file, in the order of the files.
    pub fn architectures(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.by_file.values().flatten().flat_map(NvccFlags::architectures) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_string());
            }
        }
        names
    }

    /// The same flags for a copy of the tree: `place` maps the paths of files, `argument` the arguments.
    pub fn moved(mut self, place: impl Fn(&Path) -> PathBuf, argument: impl Fn(&str) -> String) -> Self {
        self.by_file = self.by_file.into_iter().map(|(file, flags)| (place(&file), flags)).collect();
        for flags in self.by_file.values_mut().flatten() {
            flags.arguments.iter_mut().for_each(|text| *text = argument(text));
        }
        self
    }

    /// These flags, with the compile commands of others in place of their own.
    pub fn with_commands_of(mut self, other: Self) -> Self {
        for ways in self.by_file.values_mut() {
            ways.retain(|way| way.origin != FlagOrigin::CompileCommands);
        }
        self.by_file.retain(|_, ways| !ways.is_empty());
        for (file, ways) in other.by_file {
            self.by_file.entry(file).or_insert(ways);
        }
        Self { databases: other.databases, unreadable: other.unreadable, ..self }
    }

    /// Adds commands. A database of the workspace can have any number of them for one file.
    fn add(&mut self, invocations: impl IntoIterator<Item = Invocation>, origin: FlagOrigin) {
        let mut known: HashMap<(PathBuf, Vec<String>), (usize, HashSet<CodeTarget>)> = HashMap::new();
        for (path, ways) in &self.by_file {
            for (index, way) in ways.iter().enumerate().filter(|(_, way)| way.origin == origin) {
                let targets = way.targets.iter().cloned().collect();
                known.insert((path.clone(), way.arguments.clone()), (index, targets));
            }
        }
        for invocation in invocations {
            let Invocation { inputs, flags, targets, ineffective, .. } = invocation;
            for input in inputs {
                let ways = self.by_file.entry(input.clone()).or_default();
                // Commands that differ only in the architecture are one way to compile.
                let (index, seen) = known.entry((input, flags.clone())).or_insert_with(|| {
                    let (arguments, ineffective) = (flags.clone(), ineffective.clone());
                    let driver = DriverOptions::default();
                    ways.push(NvccFlags { arguments, origin, targets: Vec::new(), ineffective, driver });
                    (ways.len() - 1, HashSet::new())
                });
                let new = targets.iter().filter(|target| seen.insert((*target).clone()));
                ways[*index].targets.extend(new.cloned());
            }
        }
    }
}

/// The cache folder for everything known about builds.
pub fn folder(cache_root: &Path) -> PathBuf {
    cache_root.join(FOLDER)
}

/// What is known about the builds of a workspace without running them: earlier records, and compile commands.
pub fn known(workspace: &Workspace, cache_root: Option<&Path>) -> BuildFlags {
    let mut flags = BuildFlags::default();
    let packages: Vec<&Package> = workspace.packages.iter().collect();
    for (target, packages) in by_target(&packages) {
        let Some(store) = cache_root.map(|root| Store::new(root, target)).filter(Store::exists) else { continue };
        let scripts = store.scripts();
        for package in packages {
            if scripts.content.get(&package.id).is_some_and(|known| *known != content_of(package)) {
                flags.notes.push(format!(
                    "the build script of `{}` has changed since its flags were captured: `cargo lmem --capture` does it again",
                    package.name
                ));
            }
        }
        take_records(&mut flags, &store, &scripts);
    }
    with_compile_commands(flags, workspace)
}

/// Runs the build scripts of the workspace's packages, and returns the flags that they use.
///
/// # Errors
/// Cargo or the stand-in cannot be started. An error from cargo itself is only noted: flags seen before it are valid.
pub fn capture(
    workspace: &Workspace,
    toolkit: &Toolkit,
    asked: &Asked<'_>,
    cache_root: &Path,
    cancel: &AtomicBool,
) -> Result<BuildFlags, CaptureError> {
    let nvcc = toolkit.nvcc.as_ref().ok_or_else(|| CaptureError::NoNvcc(toolkit.number.clone()))?;
    let program = std::env::current_exe().map_err(CaptureError::io("our own program cannot be found"))?;
    let mut flags = BuildFlags::default();
    let with_script: Vec<&Package> = workspace.packages.iter().filter(|package| package.has_build_script()).collect();
    if with_script.is_empty() {
        flags.notes.push("`--capture`: no package that is checked has a build script".to_string());
    }
    let shadows = folder(cache_root).join("toolkits");
    let shadow = ShadowToolkit::make(&shadows, toolkit, nvcc, &program)
        .map_err(CaptureError::io("the stand-in for nvcc cannot be set up"))?;
    for (target, packages) in by_target(&with_script) {
        let store = Store::new(cache_root, target);
        let _lock = store.lock(cancel)?;
        let folders: Vec<&Path> = packages.iter().map(|package| package.root.as_path()).collect();
        let times = FileTimes::note(&folders, packages[0].output_folders());
        let run = stamp();
        store.forget_changed(&packages, &packages[0].capture_folder())?;
        let built = build::build(&packages, asked, &shadow, &store.records, &run, cancel);
        for path in times.restore() {
            flags.notes.push(format!("a build script changed `{}`", display_path(&path, &workspace.root)));
        }
        let mut built = built?;
        let mut failed: BTreeSet<PathBuf> = BTreeSet::new();
        if built.failed {
            let seen = seen_of_failed(&packages, &Records::new(store.records.clone()).read(), &run, &built);
            let kept = kept_from_before(&packages, &store.scripts(), &built);
            flags.notes.push(match seen.is_empty() {
                true if !kept.is_empty() => {
                    let kept = kept.join("`, `");
                    format!("cargo reported errors: the flags of `{kept}` are those of an earlier capture")
                }
                true => "cargo reported errors: flags of what was not built are not known".to_string(),
                false => format!(
                    "the build failed: the flags of the compiler calls up to there are used ({})",
                    seen.values().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
                ),
            });
            failed.extend(seen.values().flat_map(|(_, folders)| folders.iter().cloned()));
            let folders = seen.into_iter().map(|(id, (_, folders))| (id, folders));
            built.out_dirs.extend(folders);
        }
        // Facts about packages that are not part of this build are kept.
        let mut scripts = store.scripts();
        let ran = packages.iter().filter(|package| built.out_dirs.contains_key(&package.id));
        flags.scripts.extend(ran.map(|package| package.name.clone()));
        scripts.failed.retain(|folder| !built.out_dirs.values().any(|folders| folders.contains(folder)));
        scripts.failed.extend(failed);
        // A script that was not run in full still counts as changed.
        let ran = packages.iter().filter(|package| built.out_dirs.contains_key(&package.id));
        scripts.content.extend(ran.map(|package| (package.id.clone(), content_of(package))));
        scripts.out_dirs.extend(built.out_dirs);
        store.put(&scripts).map_err(CaptureError::io("what was captured cannot be kept"))?;
        take_records(&mut flags, &store, &scripts);
    }
    Ok(with_compile_commands(flags, workspace))
}

/// The packages that this build did not reach and an earlier one did: their build scripts are still the same.
fn kept_from_before<'a>(packages: &[&'a Package], scripts: &Scripts, built: &build::Build) -> Vec<&'a str> {
    let is_kept =
        |package: &&&Package| scripts.out_dirs.contains_key(&package.id) && !built.out_dirs.contains_key(&package.id);
    packages.iter().filter(is_kept).map(|package| package.name.as_str()).collect()
}

/// By package id, the names and the `OUT_DIR` folders of build scripts that called nvcc in this build and then failed.
/// Cargo names no folder for these, but nvcc did run with their flags.
fn seen_of_failed(
    packages: &[&Package],
    records: &[Record],
    run: &str,
    built: &build::Build,
) -> BTreeMap<String, (String, BTreeSet<PathBuf>)> {
    let known: BTreeSet<&PathBuf> = built.out_dirs.values().flatten().collect();
    let mut seen: BTreeMap<String, (String, BTreeSet<PathBuf>)> = BTreeMap::new();
    for record in records.iter().filter(|record| record.run == run) {
        let Some(folder) = record.out_dir.as_ref().filter(|folder| !known.contains(folder)) else { continue };
        let package = packages.iter().find(|package| Some(&package.name) == record.package.as_ref());
        if let Some(package) = package {
            let entry = seen.entry(package.id.clone()).or_insert_with(|| (package.name.clone(), BTreeSet::new()));
            entry.1.insert(folder.clone());
        }
    }
    seen
}

fn take_records(flags: &mut BuildFlags, store: &Store, scripts: &Scripts) {
    let out_dirs: BTreeSet<&PathBuf> = scripts.out_dirs.values().flatten().collect();
    let records = Records::new(store.records.clone()).read();
    // Records of other features or profiles belong to other `OUT_DIR` folders.
    let is_current = |out_dir: &Option<PathBuf>| out_dir.as_ref().is_none_or(|folder| out_dirs.contains(folder));
    let mut invocations = Vec::new();
    for record in records.iter().filter(|record| is_current(&record.out_dir)) {
        let Some(mut invocation) = record.invocation() else { continue };
        let (generated, sources): (Vec<PathBuf>, Vec<PathBuf>) =
            invocation.inputs.into_iter().partition(|input| out_dirs.iter().any(|folder| input.starts_with(folder)));
        // CMake compiles test files of its own to probe the compiler.
        for path in generated.into_iter().filter(|path| path.iter().all(|folder| folder != "CMakeFiles")) {
            let package = record.package.as_deref().unwrap_or("a package");
            flags.notes.push(format!(
                "`{}` is written by the build script of `{package}` and is not checked: name it to do so",
                path.display()
            ));
        }
        invocation.inputs = sources;
        // The compiler may have refused the architecture, so that the wanted one is taken.
        if record.out_dir.as_ref().is_some_and(|folder| scripts.failed.contains(folder)) {
            invocation.targets.clear();
        }
        flags.outputs.extend(Output::of_record(record, &invocation.outputs));
        invocations.push(invocation);
    }
    flags.add(invocations, FlagOrigin::Captured);
}

/// Adds the flags of a compilation database for files that no build script is known to compile.
fn with_compile_commands(mut flags: BuildFlags, workspace: &Workspace) -> BuildFlags {
    let roots = workspace.packages.iter().map(|package| package.root.as_path());
    // A build that was named is the only one, as for clang's tools.
    let folders: Vec<&Path> = match workspace.build_folders.as_slice() {
        [] => roots.chain([workspace.root.as_path()]).collect(),
        named => named.iter().map(PathBuf::as_path).collect(),
    };
    let commands = Commands::read(&folders);
    let is_cmake = workspace.root.join("CMakeLists.txt").is_file();
    if commands.databases.is_empty() && is_cmake && workspace.files.iter().any(|file| has_ending(&file.path, &["cu"])) {
        flags.notes.push(
            "there is no `compile_commands.json`, so that flags are assumed: `cmake -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON` writes it"
                .to_string(),
        );
    }
    flags.details.extend(commands.notes);
    flags.notes.extend(commands.choices);
    flags.databases = commands.databases;
    flags.unreadable = commands.unreadable;
    let captured: BTreeSet<PathBuf> = flags.by_file.keys().cloned().collect();
    let mut invocations = commands.invocations;
    invocations.iter_mut().for_each(|invocation| invocation.inputs.retain(|input| !captured.contains(input)));
    flags.add(invocations, FlagOrigin::CompileCommands);
    flags
}

/// Groups packages by target folder: those of one workspace are built together.
fn by_target<'a>(packages: &[&'a Package]) -> BTreeMap<PathBuf, Vec<&'a Package>> {
    let mut groups: BTreeMap<PathBuf, Vec<&Package>> = BTreeMap::new();
    packages.iter().for_each(|package| groups.entry(package.capture_folder()).or_default().push(package));
    groups
}

/// A unique name that sorts after all earlier ones.
fn stamp() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{:020}-{}", now.as_nanos(), std::process::id())
}

/// Larger manifests and build scripts are not hashed.
const MAX_SCRIPT_BYTES: u64 = 16 << 20;

/// Hashes of the manifest and the build scripts of a package.
fn content_of(package: &Package) -> String {
    let scripts = package.build_scripts().map(|path| places::read(path, MAX_SCRIPT_BYTES).unwrap_or_default());
    let manifest = places::read(&package.manifest_path, MAX_SCRIPT_BYTES).unwrap_or_default();
    let texts: Vec<String> =
        scripts.chain([manifest]).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect();
    hash(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The records of a workspace. They lie outside the workspace, where a pull request cannot plant any.
struct Store {
    folder: PathBuf,
    records: PathBuf,
}

/// The last capture.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Scripts {
    /// By package id.
    out_dirs: BTreeMap<String, BTreeSet<PathBuf>>,
    /// `OUT_DIR` folders of build scripts that called nvcc and then failed.
    #[serde(default)]
    failed: BTreeSet<PathBuf>,
    /// By package id: checkouts that share a target folder have packages of one name.
    content: BTreeMap<String, String>,
}

impl Store {
    fn new(cache_root: &Path, target: impl AsRef<Path>) -> Self {
        let folder = folder(cache_root).join(hash(&[&target.as_ref().to_string_lossy()]));
        Self { records: folder.join("records"), folder }
    }

    fn exists(&self) -> bool {
        self.folder.is_dir()
    }

    fn scripts(&self) -> Scripts {
        let text = places::read_own(&self.folder.join(SCRIPTS), record::MAX_BYTES).ok();
        text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    /// Waits for other runs that capture the same builds.
    fn lock(&self, cancel: &AtomicBool) -> Result<std::fs::File, CaptureError> {
        let locked = || {
            fs_err::create_dir_all(&self.folder)?;
            let file = places::open_own_to_write(&self.folder.join("lock"))?;
            while let Err(error) = file.try_lock() {
                match error {
                    std::fs::TryLockError::Error(error) => return Err(error),
                    std::fs::TryLockError::WouldBlock if cancel.load(Ordering::Relaxed) => break,
                    std::fs::TryLockError::WouldBlock => std::thread::sleep(LOCK_PAUSE),
                }
            }
            Ok(file)
        };
        let file = locked().map_err(CaptureError::io("the folder of the records cannot be locked"))?;
        if cancel.load(Ordering::Relaxed) { Err(CaptureError::Interrupted) } else { Ok(file) }
    }

    /// Removes the records and builds of build scripts that have changed: what they compiled before says nothing of what
    /// they compile now, and a script that skips files it has already compiled would hide their flags.
    fn forget_changed(&self, packages: &[&Package], target: &Path) -> Result<(), CaptureError> {
        let mut scripts = self.scripts();
        let is_changed =
            |package: &&&Package| scripts.content.get(&package.id).is_some_and(|known| *known != content_of(package));
        let changed: Vec<&Package> = packages.iter().filter(is_changed).copied().collect();
        let records = Records::new(self.records.clone());
        for out_dir in changed.iter().filter_map(|package| scripts.out_dirs.remove(&package.id)).flatten() {
            let forgotten = records.forget(&out_dir).and_then(|()| build::forget(target, &out_dir));
            forgotten.map_err(CaptureError::io("an older build cannot be removed"))?;
        }
        match changed.is_empty() {
            true => Ok(()),
            false => self.put(&scripts).map_err(CaptureError::io("what was captured cannot be kept")),
        }
    }

    fn put(&self, scripts: &Scripts) -> io::Result<()> {
        fs_err::create_dir_all(&self.folder)?;
        write_whole(&self.folder.join(SCRIPTS), &serde_json::to_vec(scripts)?)
    }
}

#[cfg(test)]
mod tests {
    use super::record::Record;
    use super::*;

    #[test]
    fn files_are_made_by_the_script_of_their_package() {
        let mut flags = BuildFlags::default();
        for (package, source) in [("one", "a/k.cu"), ("two", "b/k.cu")] {
            let out_dir = format!("/target/{package}/out");
            let record = Record::of_test(package, &out_dir, &["-ptx", source, "-o", &format!("{out_dir}/kernels.ptx")]);
            let outputs = record.invocation().unwrap().outputs;
            flags.outputs.extend(Output::of_record(&record, &outputs));
        }
        let built = BuiltFile::InOutDir("/kernels.ptx".to_string());
        assert_eq!(built.name(), "kernels.ptx");
        assert_eq!(flags.sources_of(Some("two"), &built), [Path::new("/w/b/k.cu")]);
        assert!(flags.sources_of(Some("three"), &built).is_empty());
        let path = BuiltFile::At("/target/one/out/kernels.ptx".into());
        assert_eq!(flags.sources_of(None, &path), [Path::new("/w/a/k.cu")]);
    }

    #[test]
    fn builds_tell_the_architectures_of_a_file_that_they_do_not_know() {
        let mut flags = BuildFlags::default();
        let compiled = |file: &str, arguments: &[&str]| {
            let arguments: Vec<&str> = arguments.iter().copied().chain(["-cubin", file]).collect();
            Record::of_test("one", "/o", &arguments).invocation().unwrap()
        };
        let commands = [
            compiled("a.cu", &["-gencode=arch=compute_80,code=[sm_80,sm_90]"]),
            compiled("b.cu", &["-arch=sm_90"]),
            compiled("c.cu", &["-arch=sm_75"]),
        ];
        flags.add(commands, FlagOrigin::CompileCommands);
        assert_eq!(flags.architectures(), ["sm_80", "sm_90", "sm_75"]);
    }

    #[test]
    fn what_a_build_that_failed_had_compiled_keeps_its_flags() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path(), "/target");
        let record = Record::of_test("one", "/o", &["-arch=sm_70", "-DWIDTH=24", "-ptx", "k.cu"]);
        Records::new(store.records.clone()).put(&record).unwrap();
        let targets = |scripts: &Scripts| {
            let mut flags = BuildFlags::default();
            take_records(&mut flags, &store, scripts);
            flags.of(Path::new("/w/k.cu")).first().map(|known| (known.arguments.clone(), known.targets.len()))
        };
        let arguments = vec!["-DWIDTH=24".to_string()];
        let out_dirs = BTreeMap::from([("id".to_string(), BTreeSet::from([PathBuf::from("/o")]))]);
        let mut scripts = Scripts { out_dirs, ..Scripts::default() };
        assert_eq!(targets(&scripts), Some((arguments.clone(), 1)));
        // The compiler may have refused the architecture.
        scripts.failed.insert("/o".into());
        assert_eq!(targets(&scripts), Some((arguments, 0)));
        assert_eq!(targets(&Scripts::default()), None);
    }

    #[test]
    fn commands_for_several_architectures_are_one_way_to_compile() {
        let mut flags = BuildFlags::default();
        let words = |line: &str| line.split(' ').map(String::from).collect::<Vec<_>>();
        let invocation = |line: &str| Invocation::parse(&words(line), Path::new("/w")).unwrap();
        flags.add([invocation("-arch=sm_80 -O3 a.cu")], FlagOrigin::Captured);
        let lines = ["-arch=sm_90 -O3 a.cu", "-arch=sm_90 -O3 -DX a.cu", "-arch=sm_80 -O3 a.cu"];
        flags.add(lines.map(invocation), FlagOrigin::Captured);
        let known = flags.of(Path::new("/w/a.cu"));
        let targets: Vec<Vec<&str>> = known
            .iter()
            .map(|flags| flags.targets.iter().filter_map(|target| target.architecture.as_deref()).collect())
            .collect();
        assert_eq!(targets, [vec!["sm_80", "sm_90"], vec!["sm_90"]]);
        assert!(flags.of(Path::new("/w/b.cu")).is_empty());
    }
}
