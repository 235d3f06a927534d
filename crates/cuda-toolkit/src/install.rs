//! Managed toolkits: NVIDIA's Python wheels, fetched with `uv` or `pip` into the user's cache.
//!
//! ```text
//! <cache>/toolkits/13.5.37/nvidia/cu13/{bin,include,lib,nvvm}    a toolkit, there as a whole or not at all
//! <cache>/toolkits/13.5.37/cargo-lmem.json                       the [`Marker`]
//! <cache>/toolkits/13.5.37/*.dist-info/…/License.txt             NVIDIA's licence
//! <cache>/toolkits/.staging-<process>-<random>                   a fetch under way, or what is left of one
//! <cache>/toolkits/.lock                                         held by who changes anything here
//! <cache>/components/curand-10.4.5.25/                           what few need, laid out as a toolkit
//! ```
//!
//! `uv` and `pip` know their index, its settings, credentials, certificates and proxies; this module knows exact versions and
//! checksums. Both write into a staging folder on the same file system, which one rename puts in place.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use lmem_base::version::VersionRequest;

use super::environment::{Environment, is_executable};
use super::releases::{self, Package, Release};
use super::{Component, Refused, Toolkit, ToolkitError, discover, process};

/// Megabytes of the six wheels, and of what is in them: 179 and 483 for 13.5.37, 186 and 507 for 13.0.88.
const TOOLKIT_MEGABYTES: (u64, u64) = (185, 495);
const STAGING: &str = ".staging-";
const REMOVED: &str = ".removed-";
/// In a staging folder; locked while anybody writes there.
const IN_USE: &str = "in-use";
/// A slow line may need it; a hung installer is ended some time.
const INSTALLER_LIMIT: Duration = Duration::from_secs(3600);

/// What all of this module's work needs to know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) environment: &'a Environment,
    pub(super) offline: bool,
    pub(super) quiet: bool,
    /// The user named the version: wheels whose checksums are not known may then be fetched. A workspace may not ask for them.
    pub(super) unverified: bool,
    pub(super) cancel: &'a AtomicBool,
}

/// Written last into a staging folder: what the folder holds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Marker {
    /// "13.5.37".
    pub(super) number: String,
    /// The wheels had the checksums that this version of the tool knows.
    pub(super) verified: bool,
    /// "nvidia_cuda_nvcc-13.5.37", sorted.
    pub(super) packages: Vec<String>,
}

impl Marker {
    const FILE: &str = "cargo-lmem.json";

    /// That of the managed toolkit with this root, `…/nvidia/cu13`.
    pub(super) fn of_toolkit(root: &Path) -> Option<Self> {
        Self::read(root.parent()?.parent()?)
    }

    fn read(folder: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(folder.join(Self::FILE)).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn write(&self, folder: &Path) -> Result<(), ToolkitError> {
        let path = folder.join(Self::FILE);
        let write = || -> io::Result<()> {
            let mut file = File::create(&path)?;
            serde_json::to_writer_pretty(&mut file, self)?;
            writeln!(file)
        };
        write().map_err(ToolkitError::io("write", &path))
    }
}

/// The managed toolkits that are installed, newest first.
pub(super) fn managed(cx: &Context<'_>) -> Vec<Toolkit> {
    let Ok(folder) = toolkits_folder(cx) else { return Vec::new() };
    let mut toolkits: Vec<Toolkit> =
        discover::entries(&folder).iter().filter_map(|folder| complete(cx, folder)).collect();
    toolkits.sort_by_key(|toolkit| std::cmp::Reverse(numbers(&toolkit.number)));
    toolkits
}

fn numbers(number: &str) -> Option<(u32, Option<u32>, Option<u32>)> {
    number.parse::<VersionRequest>().ok().map(|number| (number.major, number.minor, number.build))
}

/// The toolkit in a folder of the cache, if it is there as a whole.
fn complete(cx: &Context<'_>, folder: &Path) -> Option<Toolkit> {
    let marker = Marker::read(folder)?;
    let hidden = folder.file_name()?.to_str()?.starts_with('.');
    let toolkit = discover::check_managed(&unified_root(folder)?, cx.cancel).ok()?;
    (!hidden && toolkit.nvcc.is_some() && toolkit.number == marker.number).then_some(toolkit)
}

/// `nvidia/cu13` in a folder of wheels.
fn unified_root(folder: &Path) -> Option<PathBuf> {
    discover::entries(&folder.join("nvidia")).into_iter().find(|root| root.is_dir())
}

/// Installs the newest release that was asked for, unless that very release is there already.
///
/// # Errors
/// When NVIDIA publishes no such wheels, no installer works, what was installed does not run, or `cx.cancel` was set.
pub(super) fn toolkit(cx: &Context<'_>, wanted: Option<VersionRequest>) -> Result<Toolkit, ToolkitError> {
    let plan = Plan::of_toolkit(wanted)?;
    supported_platform()?;
    if let Some(wanted) = wanted.filter(|_| !plan.verified && !cx.unverified) {
        return Err(ToolkitError::Unverified(wanted));
    }
    let folder = toolkits_folder(cx)?;
    let lock = Lock::take(cx, &folder)?;
    let is_there = |toolkit: &Toolkit| match &plan.number {
        Some(number) => *number == toolkit.number,
        None => wanted.is_some_and(|wanted| wanted.allows(&toolkit.number)),
    };
    if let Some(toolkit) = managed(cx).into_iter().find(is_there) {
        return Ok(toolkit);
    }
    lock.clean(&folder);
    let started = Instant::now();
    if !plan.verified {
        say(
            cx,
            &format!("warning: the checksums of {} are not known to this version, so it is not verified", plan.what),
        );
    }
    let staging = fetch(cx, &plan, &folder)?;
    let packages = staging.path().join("packages");
    let (number, marker) = checked(cx, &plan, &packages)?;
    marker.write(&packages)?;
    let place = folder.join(&number);
    put_in_place(&packages, &place, &folder)?;
    drop(staging);
    // An installer that outlived a killed run may have ended meanwhile.
    lock.clean(&folder);
    say(cx, &format!("installed CUDA {number} in {:.0} s: {}", started.elapsed().as_secs_f64(), place.display()));
    if let Some(licence) = licence(&place) {
        say(cx, &format!("its licence: {}", licence.display()));
    }
    complete(cx, &place).ok_or(ToolkitError::Incomplete { what: plan.what, reason: "a part of it is gone".to_owned() })
}

/// The folder whose `include` or `bin` has the component, fetched unless it is there.
///
/// # Errors
/// As [`toolkit`], and when nothing may be downloaded.
pub(super) fn component(cx: &Context<'_>, toolkit: &Toolkit, part: Component) -> Result<PathBuf, ToolkitError> {
    let package = package_of(toolkit, part);
    let package = package.ok_or(ToolkitError::NoComponent { component: part, version: toolkit.version })?;
    let folder = cx.environment.cache_root()?.join("components");
    let name = package.name.trim_start_matches("nvidia-").trim_start_matches("cuda-");
    let place = folder.join(format!("{name}-{}", package.version));
    let installed = || discover::component(&unified_root(&place)?, part).filter(|_| Marker::read(&place).is_some());
    if let Some(root) = installed() {
        return Ok(root);
    }
    if cx.offline {
        return Err(ToolkitError::Offline);
    }
    supported_platform()?;
    let lock = Lock::take(cx, &folder)?;
    if let Some(root) = installed() {
        return Ok(root);
    }
    lock.clean(&folder);
    let plan = Plan::of_component(part, package);
    let staging = fetch(cx, &plan, &folder)?;
    let packages = staging.path().join("packages");
    if part == Component::Curand {
        // 150 MB of libraries that no device code needs.
        let libraries = unified_root(&packages).map(|root| root.join("lib"));
        libraries.map(std::fs::remove_dir_all).transpose().map_err(ToolkitError::io("prune", &packages))?;
    }
    let marker = Marker { number: package.version.to_owned(), verified: true, packages: package_names(&packages) };
    marker.write(&packages)?;
    put_in_place(&packages, &place, &folder)?;
    installed().ok_or(ToolkitError::Incomplete { what: plan.what, reason: "the wheel does not hold it".to_owned() })
}

/// cuRAND must be that of the release; nvdisasm of 13.5 reads every cubin since 11.8, so any toolkit can have the newest.
fn package_of(toolkit: &Toolkit, part: Component) -> Option<&'static Package> {
    let release = releases::RELEASES.iter().find(|release| release.version() == toolkit.version);
    match part {
        Component::Curand => release.map(|release| &release.curand),
        Component::Nvdisasm => {
            release.and_then(|release| release.nvdisasm.as_ref()).or(releases::newest().nvdisasm.as_ref())
        }
    }
}

/// Removes the managed toolkits that are meant; answers with their numbers.
///
/// # Errors
/// When there is none, or the folder cannot be changed.
pub(super) fn remove(cx: &Context<'_>, wanted: VersionRequest) -> Result<Vec<String>, ToolkitError> {
    let folder = toolkits_folder(cx)?;
    let names: Vec<String> = discover::entries(&folder)
        .iter()
        .filter_map(|folder| Some(folder.file_name()?.to_str()?.to_owned()))
        .filter(|name| name.parse::<VersionRequest>().is_ok())
        .collect();
    let (meant, others): (Vec<String>, Vec<String>) = names.into_iter().partition(|name| wanted.allows(name));
    if meant.is_empty() {
        return Err(ToolkitError::NotInstalled { version: wanted, installed: others });
    }
    let lock = Lock::take(cx, &folder)?;
    lock.clean(&folder);
    for name in &meant {
        set_aside(&folder.join(name), &folder)?;
    }
    Ok(meant)
}

/// Where toolkits lie, below the cache folder.
pub(super) const TOOLKITS: &str = "toolkits";

fn toolkits_folder(cx: &Context<'_>) -> Result<PathBuf, ToolkitError> {
    Ok(cx.environment.cache_root()?.join(TOOLKITS))
}

/// NVIDIA publishes these wheels for two platforms. (Windows has wheels too, but nothing else here is ready for it.)
fn supported_platform() -> Result<(), ToolkitError> {
    let supported = cfg!(target_os = "linux") && cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    let platform = || format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH);
    supported.then_some(()).ok_or_else(|| ToolkitError::Platform(platform()))
}

/// What one call of an installer brings.
#[derive(Debug)]
struct Plan {
    /// "CUDA 13.5.37".
    what: String,
    /// Known beforehand where the release is in the table.
    number: Option<String>,
    /// A requirements file.
    requirements: String,
    /// It has checksums.
    verified: bool,
    /// Megabytes to download and on disk, where known.
    megabytes: Option<(u64, u64)>,
}

impl Plan {
    fn of_toolkit(wanted: Option<VersionRequest>) -> Result<Self, ToolkitError> {
        let Some(wanted) = wanted else { return Ok(Self::of_release(releases::newest())) };
        match releases::find(&wanted) {
            Some(release) => Ok(Self::of_release(release)),
            None if wanted.major < 13 => Err(ToolkitError::NotPublished(wanted)),
            None => Ok(Self::of_unknown(wanted)),
        }
    }

    fn of_release(release: &Release) -> Self {
        Self {
            what: format!("CUDA {}", release.number),
            number: Some(release.number.to_owned()),
            requirements: requirements(&release.packages),
            verified: true,
            megabytes: Some(TOOLKIT_MEGABYTES),
        }
    }

    fn of_component(part: Component, package: &Package) -> Self {
        Self {
            what: format!("{part} ({} {})", package.name, package.version),
            number: Some(package.version.to_owned()),
            requirements: requirements(std::slice::from_ref(package)),
            verified: true,
            megabytes: None,
        }
    }

    /// A release that is not in the table. The compilers of a release bear one number, its other packages may not, and cccl
    /// has numbers of its own; the newest cccl supports every toolkit of its major version.
    fn of_unknown(wanted: VersionRequest) -> Self {
        let exact = if wanted.build.is_some() { wanted.to_string() } else { format!("{wanted}.*") };
        let minor = format!("{}.*", VersionRequest { build: None, ..wanted });
        let major = format!("{}.*", wanted.major);
        let version = |package: &Package| match package.name {
            "nvidia-cuda-cccl" => major.clone(),
            "nvidia-cuda-nvcc" | "nvidia-nvvm" | "nvidia-cuda-crt" => exact.clone(),
            _ => minor.clone(),
        };
        let lines =
            releases::newest().packages.iter().map(|package| format!("{}=={}\n", package.name, version(package)));
        Self {
            what: format!("CUDA {wanted}"),
            number: None,
            requirements: lines.collect(),
            verified: false,
            megabytes: Some(TOOLKIT_MEGABYTES),
        }
    }
}

fn requirements(packages: &[Package]) -> String {
    packages.iter().map(|package| package.requirement(std::env::consts::ARCH) + "\n").collect()
}

/// A program that installs Python wheels.
struct Installer {
    /// "`uv`", "`python3 -m pip`".
    name: String,
    program: PathBuf,
    /// What goes before its own arguments: `-m pip`.
    prefix: &'static [&'static str],
    is_uv: bool,
}

impl Installer {
    /// Those that might work, best first.
    fn candidates(environment: &Environment) -> Vec<Self> {
        let table: [(&str, &str, &'static [&'static str]); 5] = [
            ("`uv`", "uv", &[]),
            ("`python3 -m pip`", "python3", &["-m", "pip"]),
            ("`pip3`", "pip3", &[]),
            ("`pip`", "pip", &[]),
            ("`python -m pip`", "python", &["-m", "pip"]),
        ];
        let candidate = |(name, program, prefix): (&str, &str, &'static [&'static str])| {
            let path = environment.on_path(program).into_iter().next()?;
            Some(Self { name: name.to_owned(), program: path, prefix, is_uv: program == "uv" })
        };
        table.into_iter().filter_map(candidate).collect()
    }

    fn command(&self, staging: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.prefix);
        // Away from the workspace: `python -m` imports from the current folder, and uv reads configuration there.
        command.current_dir(staging);
        // Downloads go where the result goes: a rename instead of a copy, no small `/tmp`, and nothing left behind.
        command.env("TMPDIR", staging.join("tmp"));
        // Settings that speak against `--target` or ask questions.
        command.envs([("PIP_USER", "0"), ("PIP_REQUIRE_VIRTUALENV", "0"), ("PIP_NO_INPUT", "1")]);
        command.envs([("PIP_DISABLE_PIP_VERSION_CHECK", "1"), ("PIP_ROOT_USER_ACTION", "ignore")]);
        for variable in ["PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_DRY_RUN", "PIP_PLATFORM", "PIP_PYTHON"] {
            command.env_remove(variable);
        }
        command
    }

    /// Debian's python3 comes without pip, and a pyenv shim may lead nowhere.
    fn works(&self, staging: &Path, cancel: &AtomicBool) -> Result<(), String> {
        let ended = process::run(
            self.command(staging).arg("--version").stdin(Stdio::null()),
            cancel,
            Duration::from_secs(60),
            || (),
        );
        match ended {
            Ok(ended) if ended.status.success() => Ok(()),
            Ok(ended) => Err(last_lines(&ended.output, 1)),
            Err(error) => Err(error.to_string()),
        }
    }

    fn install(&self, staging: &Path, plan: &Plan, offline: bool) -> Command {
        let mut command = self.command(staging);
        if self.is_uv {
            command.arg("pip");
        }
        command.args(["install", "--quiet", "--no-deps", "--only-binary", ":all:", "--target", "packages"]);
        if self.is_uv {
            command.args(["--no-progress"]);
        } else {
            command.args(["--progress-bar", "off", "--no-compile"]);
        }
        if plan.verified {
            command.arg("--require-hashes");
        }
        if offline {
            // pip has no such switch, but finds wheels in the folders that its configuration names.
            command.arg(if self.is_uv { "--offline" } else { "--no-index" });
        }
        command.args(["-r", "requirements.txt"]);
        command
    }
}

/// A staging folder whose `packages` an installer has filled. It goes when the answer is dropped.
fn fetch(cx: &Context<'_>, plan: &Plan, folder: &Path) -> Result<TempDir, ToolkitError> {
    let staging = staging_folder(folder)?;
    let requirements = staging.path().join("requirements.txt");
    std::fs::write(&requirements, &plan.requirements).map_err(ToolkitError::io("write", &requirements))?;
    let mut refused = Vec::new();
    let mut attempts = Vec::new();
    for installer in Installer::candidates(cx.environment) {
        let works = installer.works(staging.path(), cx.cancel);
        if cx.cancel.load(Ordering::Relaxed) {
            return Err(ToolkitError::Cancelled);
        }
        if let Err(reason) = works {
            refused.push(Refused { place: installer.name, reason });
            continue;
        }
        // `pip3` after `python3 -m pip` would fail in the same way.
        if !installer.is_uv && attempts.iter().any(|(name, _): &(String, String)| name.contains("pip")) {
            continue;
        }
        if attempts.is_empty() {
            say_licence(cx, folder);
        }
        match fetch_with(cx, plan, &installer, &staging)? {
            Ok(()) => return Ok(staging),
            Err(output) => attempts.push((installer.name, output)),
        }
    }
    if attempts.is_empty() {
        let absent =
            || vec![Refused { place: "`uv`, `python3`, `pip3`, `pip`".to_owned(), reason: "not on `PATH`".to_owned() }];
        return Err(ToolkitError::NoInstaller { looked: if refused.is_empty() { absent() } else { refused } });
    }
    Err(ToolkitError::InstallerFailed { what: plan.what.clone(), attempts, offline: cx.offline })
}

fn staging_folder(folder: &Path) -> Result<TempDir, ToolkitError> {
    let prefix = format!("{STAGING}{}-", std::process::id());
    let staging = tempfile::Builder::new().prefix(&prefix).tempdir_in(folder);
    let staging = staging.map_err(ToolkitError::io("write in", folder))?;
    let temporary = staging.path().join("tmp");
    std::fs::create_dir(&temporary).map_err(ToolkitError::io("create", &temporary))?;
    Ok(staging)
}

/// One installer's try; the inner error is what it printed.
fn fetch_with(
    cx: &Context<'_>,
    plan: &Plan,
    installer: &Installer,
    staging: &TempDir,
) -> Result<Result<(), String>, ToolkitError> {
    let packages = staging.path().join("packages");
    if packages.exists() {
        std::fs::remove_dir_all(&packages).map_err(ToolkitError::io("remove", &packages))?;
    }
    let mut progress = Progress::start(cx, plan, installer);
    let mut command = installer.install(staging.path(), plan, cx.offline);
    // An installer outlives us when we are killed. As its standard input, the lock lives as long as it does, so that nobody
    // deletes the folder that it still fills.
    let path = staging.path().join(IN_USE);
    let in_use = File::create(&path).map_err(ToolkitError::io("create", &path))?;
    let _ = in_use.try_lock();
    command.stdin(in_use);
    let ended = process::run(&mut command, cx.cancel, INSTALLER_LIMIT, || progress.tick(staging.path()));
    match ended {
        Ok(ended) if ended.status.success() => Ok(Ok(())),
        Ok(ended) => Ok(Err(last_lines(&ended.output, 12))),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(ToolkitError::Cancelled),
        Err(error) => Ok(Err(error.to_string())),
    }
}

fn last_lines(output: &str, count: usize) -> String {
    let lines: Vec<&str> = output.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let kept = &lines[lines.len().saturating_sub(count)..];
    if kept.is_empty() { "it printed nothing".to_owned() } else { kept.join("\n") }
}

/// Whether the packages make a toolkit that runs on this machine; its number and marker.
fn checked(cx: &Context<'_>, plan: &Plan, packages: &Path) -> Result<(String, Marker), ToolkitError> {
    let incomplete = |reason: String| ToolkitError::Incomplete { what: plan.what.clone(), reason };
    let root = unified_root(packages).ok_or_else(|| incomplete("no `nvidia` folder".to_owned()))?;
    let toolkit = discover::check_managed(&root, cx.cancel).map_err(incomplete)?;
    if !toolkit.lacks.is_empty() {
        return Err(incomplete(format!("it lacks {}", toolkit.lacks.join(", "))));
    }
    for program in ["bin/nvcc", "bin/ptxas", "bin/cudafe++", "bin/fatbinary", "nvvm/bin/cicc"] {
        if !is_executable(&root.join(program)) {
            return Err(incomplete(format!("`{program}` is not executable")));
        }
    }
    // Wrong C library, wrong processor, a file system mounted without execution: better said now.
    for program in ["bin/nvcc", "bin/ptxas"] {
        let started = process::output_of(&root.join(program), &["--version"], cx.cancel);
        if cx.cancel.load(Ordering::Relaxed) {
            return Err(ToolkitError::Cancelled);
        }
        started.map_err(|error| incomplete(format!("`{program}` does not run: {error}")))?;
    }
    let marker = Marker { number: toolkit.number.clone(), verified: plan.verified, packages: package_names(packages) };
    Ok((toolkit.number, marker))
}

fn package_names(packages: &Path) -> Vec<String> {
    let names = discover::entries(packages);
    let name = |path: &PathBuf| Some(path.file_name()?.to_str()?.strip_suffix(".dist-info")?.to_owned());
    names.iter().filter_map(name).collect()
}

/// One rename. What was there before was broken, or it would have been used.
fn put_in_place(packages: &Path, place: &Path, folder: &Path) -> Result<(), ToolkitError> {
    if place.exists() {
        set_aside(place, folder)?;
    }
    std::fs::rename(packages, place).map_err(ToolkitError::io("create", place))
}

/// Gone at once by a rename, deleted afterwards.
fn set_aside(place: &Path, folder: &Path) -> Result<(), ToolkitError> {
    let aside = tempfile::Builder::new().prefix(REMOVED).tempdir_in(folder);
    let aside = aside.map_err(ToolkitError::io("write in", folder))?;
    std::fs::rename(place, aside.path().join("removed")).map_err(ToolkitError::io("remove", place))?;
    aside.close().map_err(ToolkitError::io("remove", place))
}

/// The right to change a folder of the cache. The system takes it back when the process ends, however it ends.
struct Lock {
    /// `None` on file systems without locks: the rename is atomic all the same, but leftovers are not to be touched.
    file: Option<File>,
}

impl Lock {
    /// Waits for whoever holds it, and says so.
    fn take(cx: &Context<'_>, folder: &Path) -> Result<Self, ToolkitError> {
        std::fs::create_dir_all(folder).map_err(ToolkitError::io("create", folder))?;
        let path = folder.join(".lock");
        let file = File::options().create(true).append(true).open(&path);
        let file = file.map_err(ToolkitError::io("open", &path))?;
        let mut waiting = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { file: Some(file) }),
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(Self { file: None });
                }
                Err(TryLockError::Error(error)) => return Err(ToolkitError::io("lock", &path)(error)),
                Err(TryLockError::WouldBlock) if cx.cancel.load(Ordering::Relaxed) => {
                    return Err(ToolkitError::Cancelled);
                }
                Err(TryLockError::WouldBlock) => {}
            }
            if !waiting {
                say(cx, &format!("waiting for another `cargo lmem` that changes {}", folder.display()));
                waiting = true;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Deletes what interrupted runs have left. Failing at it harms nothing.
    fn clean(&self, folder: &Path) {
        let in_use = |path: &Path| File::open(path.join(IN_USE)).is_ok_and(|file| file.try_lock().is_err());
        let leftover = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            (name.starts_with(STAGING) || name.starts_with(REMOVED)) && !in_use(path)
        };
        if self.file.is_some() {
            discover::entries(folder).iter().filter(|path| leftover(path)).for_each(|path| {
                let _ = std::fs::remove_dir_all(path);
            });
        }
    }
}

/// Shows how far a fetch is: a bar on a terminal, else one line.
struct Progress {
    bar: ProgressBar,
    measured: Instant,
}

impl Progress {
    fn start(cx: &Context<'_>, plan: &Plan, installer: &Installer) -> Self {
        let bar = if cx.quiet { ProgressBar::hidden() } else { ProgressBar::no_length() };
        let message = format!("fetching {} with {}", plan.what, installer.name);
        // uv downloads into its own cache and links from there; pip keeps wheels and contents here until the end.
        let total = plan.megabytes.map(|(wheels, contents)| if installer.is_uv { contents } else { wheels + contents });
        let template = if total.is_some() {
            "{spinner} {msg} {bar:30} {decimal_bytes} {elapsed}"
        } else {
            "{spinner} {msg} {decimal_bytes} {elapsed}"
        };
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_draw_target(if cx.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() });
        if bar.is_hidden() {
            let size = plan
                .megabytes
                .map(|(wheels, contents)| format!(" (about {wheels} MB to download, {contents} MB on disk)"));
            say(cx, &format!("{message}{}", size.unwrap_or_default()));
        }
        if let Some(total) = total {
            bar.set_length(total * 1_000_000);
        }
        bar.set_message(message);
        Self { bar, measured: Instant::now() }
    }

    fn tick(&mut self, staging: &Path) {
        self.bar.tick();
        // Measuring walks some thousand files.
        if self.bar.is_hidden() || self.measured.elapsed() < Duration::from_millis(300) {
            return;
        }
        let files = walkdir::WalkDir::new(staging).into_iter().filter_map(Result::ok);
        let bytes =
            files.filter_map(|file| file.metadata().ok()).filter(|file| file.is_file()).map(|file| file.len()).sum();
        // The installer deletes its downloads at the end.
        self.bar.set_position(self.bar.position().max(bytes));
        self.measured = Instant::now();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The first download names NVIDIA's licence, even to a quiet user.
fn say_licence(cx: &Context<'_>, folder: &Path) {
    if managed(cx).is_empty() {
        say(
            &Context { quiet: false, ..*cx },
            &format!(
                "NVIDIA's compilers come under the NVIDIA CUDA Toolkit EULA; its text will lie beside them in {}",
                folder.display()
            ),
        );
    }
}

fn licence(place: &Path) -> Option<PathBuf> {
    let packages = discover::entries(place);
    let package = packages
        .iter()
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("nvidia_cuda_nvcc-")))?;
    ["licenses/License.txt", "License.txt"].iter().map(|name| package.join(name)).find(|file| file.is_file())
}

/// A line on stderr.
fn say(cx: &Context<'_>, text: &str) {
    if !cx.quiet {
        lmem_base::say::line(text);
    }
}

#[cfg(all(test, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;
    use crate::testing::{Machine, program};

    /// What a working installer does with the tree that [`machine`] prepares.
    const COPY: &str = "cp -r \"$machine/wheels\" packages";

    fn machine() -> Machine {
        let machine = Machine::new();
        machine.wheels("wheels", releases::newest().number);
        machine
    }

    fn request(text: &str) -> Option<VersionRequest> {
        Some(text.parse().unwrap())
    }

    fn install(machine: &Machine, wanted: Option<VersionRequest>) -> Result<Toolkit, ToolkitError> {
        let cancel = AtomicBool::new(false);
        let environment = &machine.environment();
        toolkit(&Context { environment, offline: false, quiet: true, unverified: false, cancel: &cancel }, wanted)
    }

    /// Names in the folder of managed toolkits, hidden ones too.
    fn left(machine: &Machine) -> Vec<String> {
        let paths = discover::entries(&machine.path("home/.cache/cargo-lmem/toolkits"));
        paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_toolkit_is_installed_once_with_checksums() {
        let machine = machine();
        machine.installer("uv", COPY);
        let toolkit = install(&machine, None).unwrap();
        assert_eq!(machine.relative(&toolkit.root), "home/.cache/cargo-lmem/toolkits/13.5.37/nvidia/cu13");
        assert_eq!((toolkit.found.as_str(), toolkit.lacks.len()), ("managed", 0));
        assert_eq!(left(&machine), [".lock", "13.5.37"]);
        let log = machine.log();
        assert!(log.starts_with("uv pip install ") && log.contains("--require-hashes"), "{log}");
        assert_eq!(log.matches(" --hash=sha256:").count(), 6, "{log}");
        assert_eq!(install(&machine, request("13.5")).unwrap(), toolkit);
        assert_eq!(machine.log(), log, "nothing was fetched again");
    }

    #[test]
    fn pip_is_tried_after_uv() {
        let machine = machine();
        machine.installer("uv", "mkdir packages; echo no route >&2; exit 2").installer("python3", COPY);
        assert!(install(&machine, None).is_ok());
        assert!(machine.log().contains("python3 -m pip install"), "{}", machine.log());
    }

    #[test]
    fn failures_are_quoted_and_leave_nothing() {
        let machine = machine();
        machine.installer("uv", "echo no route >&2; exit 2").installer("pip", "echo no index; exit 1");
        let error = install(&machine, None).unwrap_err();
        let lines = "CUDA 13.5.37 could not be installed\n  `uv`:\n  | no route\n  `pip`:\n  | no index";
        assert_eq!(error.to_string(), lines);
        assert_eq!(left(&machine), [".lock"]);
    }

    #[test]
    fn no_installer_names_the_ways_out() {
        let machine = machine();
        machine.set_path(&["tools"]);
        let error = install(&machine, None).unwrap_err();
        assert!(matches!(error, ToolkitError::NoInstaller { .. }));
        assert_eq!(error.hints().len(), 3);
        program(&machine.path("tools/python3"), "echo 'python3: No module named pip' >&2; exit 1");
        let error = install(&machine, None).unwrap_err().to_string();
        assert!(error.ends_with("`python3 -m pip`: python3: No module named pip"), "{error}");
    }

    #[test]
    fn wheels_that_make_no_toolkit_are_refused() {
        let machine = machine();
        std::fs::remove_file(machine.path("wheels/nvidia/cu13/nvvm/bin/cicc")).unwrap();
        machine.installer("uv", COPY);
        let error = install(&machine, None).unwrap_err().to_string();
        assert_eq!(error, "CUDA 13.5.37 was downloaded but does not work: it lacks `cicc` (package `nvidia-nvvm`)");
        assert_eq!(left(&machine), [".lock"]);
    }

    #[test]
    fn cancelling_ends_the_installer_and_leaves_nothing() {
        let machine = machine();
        machine.installer("uv", "echo started; sleep 60");
        let cancel = AtomicBool::new(false);
        let environment = &machine.environment();
        let cx = Context { environment, offline: false, quiet: true, unverified: false, cancel: &cancel };
        let started = Instant::now();
        let result = std::thread::scope(|scope| {
            let running = scope.spawn(|| toolkit(&cx, None));
            while machine_has_no_log(&environment.folder("log")) {
                std::thread::sleep(Duration::from_millis(5));
            }
            cancel.store(true, Ordering::Relaxed);
            running.join().unwrap()
        });
        assert!(matches!(result, Err(ToolkitError::Cancelled)));
        assert!(started.elapsed() < Duration::from_secs(30));
        assert_eq!(left(&machine), [".lock"]);
    }

    fn machine_has_no_log(log: &Path) -> bool {
        std::fs::metadata(log).is_err()
    }

    #[test]
    fn two_at_once_fetch_once() {
        let machine = machine();
        machine.installer("uv", &format!("sleep 0.3; {COPY}"));
        let environment = machine.environment();
        let cancel = AtomicBool::new(false);
        let cx = Context { environment: &environment, offline: false, quiet: true, unverified: false, cancel: &cancel };
        std::thread::scope(|scope| {
            let both = [scope.spawn(|| toolkit(&cx, None)), scope.spawn(|| toolkit(&cx, None))];
            both.into_iter().for_each(|one| assert!(one.join().unwrap().is_ok()));
        });
        assert_eq!(machine.log().matches("uv pip install").count(), 1);
    }

    #[test]
    fn leftovers_go_unless_somebody_still_writes_there() {
        let machine = machine();
        machine.installer("uv", COPY);
        let folder = machine.path("home/.cache/cargo-lmem/toolkits");
        for name in [".staging-1-old", ".staging-1-busy", ".removed-old"] {
            std::fs::create_dir_all(folder.join(name).join("packages")).unwrap();
        }
        std::fs::write(folder.join(".staging-1-old").join(IN_USE), "").unwrap();
        let busy = File::create(folder.join(".staging-1-busy").join(IN_USE)).unwrap();
        busy.lock().unwrap();
        install(&machine, None).unwrap();
        assert_eq!(left(&machine), [".lock", ".staging-1-busy", "13.5.37"]);
    }

    #[test]
    fn a_broken_toolkit_is_replaced() {
        let machine = machine();
        machine.installer("uv", COPY).managed("13.5.37");
        let ptxas = machine.path("home/.cache/cargo-lmem/toolkits/13.5.37/nvidia/cu13/bin/ptxas");
        std::fs::remove_file(&ptxas).unwrap();
        install(&machine, None).unwrap();
        assert!(ptxas.is_file());
    }

    #[test]
    fn unknown_and_old_releases_need_a_user_or_an_installed_toolkit() {
        let machine = machine();
        machine.installer("uv", COPY);
        assert!(matches!(install(&machine, request("12.4")), Err(ToolkitError::NotPublished(_))));
        assert!(matches!(install(&machine, request("13.99")), Err(ToolkitError::Unverified(_))));
        assert_eq!(machine.log(), "");
        let plan = Plan::of_toolkit(request("13.99.11")).unwrap();
        assert!(plan.requirements.contains("nvidia-cuda-nvcc==13.99.11\n"), "{}", plan.requirements);
        assert!(plan.requirements.contains("nvidia-cuda-runtime==13.99.*\n"), "{}", plan.requirements);
        assert!(plan.requirements.contains("nvidia-cuda-cccl==13.*\n"), "{}", plan.requirements);
    }

    #[test]
    fn only_managed_toolkits_are_removed() {
        let machine = machine();
        machine.managed("13.0.88").managed("13.5.37").toolkit("usr/local/cuda", "12.4.131");
        let cancel = AtomicBool::new(false);
        let environment = machine.environment();
        let cx = Context { environment: &environment, offline: false, quiet: true, unverified: false, cancel: &cancel };
        assert_eq!(remove(&cx, "13.0".parse().unwrap()).unwrap(), ["13.0.88"]);
        assert_eq!(left(&machine), [".lock", "13.5.37"]);
        let error = remove(&cx, "12.4".parse().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "no managed toolkit 12.4 is installed, only 13.5.37");
    }

    #[test]
    fn curand_is_kept_without_its_libraries() {
        let machine = machine();
        machine.managed("13.5.37").installer(
            "uv",
            "mkdir -p packages/nvidia/cu13/include packages/nvidia/cu13/lib\n\
             touch packages/nvidia/cu13/include/curand_kernel.h packages/nvidia/cu13/lib/libcurand.so.10",
        );
        let cancel = AtomicBool::new(false);
        let environment = machine.environment();
        let cx = Context { environment: &environment, offline: false, quiet: true, unverified: false, cancel: &cancel };
        let toolkit = managed(&cx).remove(0);
        let offline = component(&Context { offline: true, ..cx }, &toolkit, Component::Curand);
        assert!(matches!(offline, Err(ToolkitError::Offline)));
        let folder = component(&cx, &toolkit, Component::Curand).unwrap();
        assert_eq!(machine.relative(&folder), "home/.cache/cargo-lmem/components/curand-10.4.5.25/nvidia/cu13");
        assert!(folder.join("include/curand_kernel.h").is_file() && !folder.join("lib").exists());
        let again = component(&Context { offline: true, ..cx }, &toolkit, Component::Curand);
        assert_eq!(again.unwrap(), folder);
        let old = Toolkit { version: "12.4".parse().unwrap(), ..toolkit };
        let error = component(&cx, &old, Component::Curand).unwrap_err();
        assert_eq!(error.to_string(), "cuRAND's headers of CUDA 12.4 cannot be fetched");
    }
}
