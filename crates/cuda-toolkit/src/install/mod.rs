//! Managed toolkits: NVIDIA's Python wheels, fetched with `uv` or `pip` into the user's cache.
//!
//! ```text
//! <cache>/toolkits/13.5.37/nvidia/cu13/{bin,include,lib,nvvm}    a toolkit, complete or absent
//! <cache>/toolkits/13.5.37/cargo-lmem.json                       the [`Marker`]
//! <cache>/toolkits/13.5.37/*.dist-info/…/License.txt             NVIDIA's licence
//! <cache>/toolkits/.staging-<process>-<random>                   a fetch in progress, or its leftovers
//! <cache>/toolkits/.lock                                         held while anything here is changed
//! <cache>/components/curand-10.4.5.25/                           a rarely needed component, laid out like a toolkit
//! ```
//!
//! `uv` and `pip` handle the package index, credentials, certificates and proxies; this module fixes versions and
//! checksums. Both write into a staging folder on the same file system; a single rename moves the result into place.

mod fetch;
#[cfg(all(test, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod hostile;
mod installer;
mod lock;
mod plan;
mod progress;
#[cfg(all(test, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use lmem_base::version::VersionRequest;

use self::fetch::fetch;
use self::lock::Lock;
use self::plan::Plan;
use super::environment::{Environment, is_executable};
use super::releases::{self, Package};
use super::{Component, Toolkit, ToolkitError, discover, process};

/// Size of the six wheels and of their contents, in megabytes: 179 and 483 for 13.5.37, 186 and 507 for 13.0.88.
const TOOLKIT_MEGABYTES: (u64, u64) = (185, 495);
const STAGING: &str = ".staging-";
const REMOVED: &str = ".removed-";
/// A file in the staging folder, locked while the folder is written to.
const IN_USE: &str = "in-use";

/// The context of all functions here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) environment: &'a Environment,
    pub(super) offline: bool,
    pub(super) quiet: bool,
    /// Whether the user named the version. Only then may wheels without a known checksum be fetched; a workspace may
    /// not ask for them.
    pub(super) unverified: bool,
    pub(super) cancel: &'a AtomicBool,
}

/// Written last into a staging folder: describes its contents.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Marker {
    /// "13.5.37".
    pub(super) number: String,
    /// Whether the wheels matched the checksums in this version of the tool.
    pub(super) verified: bool,
    /// "nvidia_cuda_nvcc-13.5.37", sorted.
    pub(super) packages: Vec<String>,
}

impl Marker {
    const FILE: &str = "cargo-lmem.json";

    /// The marker of the managed toolkit with this root, `…/nvidia/cu13`.
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

/// The installed managed toolkits, newest first.
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

/// The toolkit in a cache folder, if it is complete.
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

/// Installs the newest release that satisfies the request, unless that release is installed already.
///
/// # Errors
/// NVIDIA publishes no such wheels, no installer works, the installed toolkit does not run, or `cx.cancel` was set.
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
    // An installer that outlived a killed run may have ended by now.
    lock.clean(&folder);
    say(cx, &format!("installed CUDA {number} in {:.0} s: {}", started.elapsed().as_secs_f64(), place.display()));
    if let Some(licence) = licence(&place) {
        say(cx, &format!("its licence: {}", licence.display()));
    }
    complete(cx, &place).ok_or(ToolkitError::Incomplete { what: plan.what, reason: "a part of it is gone".to_owned() })
}

/// The folder whose `include` or `bin` contains the component; it is fetched if missing.
///
/// # Errors
/// As for [`toolkit`], or downloads are not allowed.
pub(super) fn component(cx: &Context<'_>, toolkit: &Toolkit, part: Component) -> Result<PathBuf, ToolkitError> {
    let package = package_of(toolkit, part);
    let package = package.ok_or(ToolkitError::NoComponent { component: part, version: toolkit.version })?;
    let folder = cx.environment.cache_root()?.join(COMPONENTS);
    let place = folder.join(component_name(package));
    let installed = || installed(&place, part);
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
    if let Component::Headers(_) = part {
        // Hundreds of megabytes that compiling does not need.
        let libraries = unified_root(&packages).map(|root| root.join("lib")).filter(|folder| folder.is_dir());
        libraries.map(std::fs::remove_dir_all).transpose().map_err(ToolkitError::io("prune", &packages))?;
    }
    let marker = Marker { number: package.version.to_owned(), verified: true, packages: package_names(&packages) };
    marker.write(&packages)?;
    put_in_place(&packages, &place, &folder)?;
    installed().ok_or(ToolkitError::Incomplete { what: plan.what, reason: "the wheel does not hold it".to_owned() })
}

/// The folder of a component in the cache, if it was fetched.
pub(super) fn fetched(environment: &Environment, toolkit: &Toolkit, part: Component) -> Option<PathBuf> {
    let place = environment.cache_root().ok()?.join(COMPONENTS).join(component_name(package_of(toolkit, part)?));
    installed(&place, part)
}

fn installed(place: &Path, part: Component) -> Option<PathBuf> {
    discover::component(&unified_root(place)?, part).filter(|_| Marker::read(place).is_some())
}

fn component_name(package: &Package) -> String {
    let name = package.name.trim_start_matches("nvidia-").trim_start_matches("cuda-");
    format!("{name}-{}", package.version)
}

/// Headers must match the release. nvdisasm 13.5 reads all cubins since 11.8, so every toolkit can use the newest one.
fn package_of(toolkit: &Toolkit, part: Component) -> Option<&'static Package> {
    let release = releases::RELEASES.iter().find(|release| release.version() == toolkit.version);
    match part {
        Component::Headers(library) => release.map(|release| &release.libraries[library as usize]),
        Component::Nvdisasm => {
            release.and_then(|release| release.nvdisasm.as_ref()).or(releases::newest().nvdisasm.as_ref())
        }
    }
}

/// Removes the matching managed toolkits and returns their versions.
///
/// # Errors
/// There is no such toolkit, or the folder cannot be changed.
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

/// Subfolder of the cache that contains toolkits.
pub(super) const TOOLKITS: &str = "toolkits";
/// The subfolder of headers and libraries that a toolkit lacks.
pub(super) const COMPONENTS: &str = "components";

fn toolkits_folder(cx: &Context<'_>) -> Result<PathBuf, ToolkitError> {
    Ok(cx.environment.cache_root()?.join(TOOLKITS))
}

/// NVIDIA publishes these wheels for two platforms. (Windows has wheels too, but this tool does not support Windows.)
fn supported_platform() -> Result<(), ToolkitError> {
    let supported = cfg!(target_os = "linux") && cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    let platform = || format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH);
    supported.then_some(()).ok_or_else(|| ToolkitError::Platform(platform()))
}

/// Checks that the packages form a toolkit that runs on this machine; returns its version and marker.
fn checked(cx: &Context<'_>, plan: &Plan, packages: &Path) -> Result<(String, Marker), ToolkitError> {
    let incomplete = |reason: String| ToolkitError::Incomplete { what: plan.what.clone(), reason };
    if let Some(link) = foreign(packages) {
        return Err(incomplete(format!("`{}` in it leads elsewhere", link.display())));
    }
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
    // Detects a wrong C library or processor, or a file system mounted without execute permission, before the toolkit
    // is installed.
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

/// A link in the packages that leads out of them, or what is neither file nor folder: wheels hold neither.
fn foreign(packages: &Path) -> Option<PathBuf> {
    let top = std::fs::canonicalize(packages).ok()?;
    let entries = walkdir::WalkDir::new(&top).into_iter().filter_map(Result::ok);
    let is_foreign = |entry: &walkdir::DirEntry| match entry.file_type() {
        kind if kind.is_symlink() => !std::fs::canonicalize(entry.path()).is_ok_and(|path| path.starts_with(&top)),
        kind => !kind.is_file() && !kind.is_dir(),
    };
    let found = entries.filter(is_foreign).map(walkdir::DirEntry::into_path).next()?;
    Some(found.strip_prefix(&top).unwrap_or(&found).to_path_buf())
}

fn package_names(packages: &Path) -> Vec<String> {
    let names = discover::entries(packages);
    let name = |path: &PathBuf| Some(path.file_name()?.to_str()?.strip_suffix(".dist-info")?.to_owned());
    names.iter().filter_map(name).collect()
}

/// Renames the folder into place. An existing folder was broken, or it would have been used.
fn put_in_place(packages: &Path, place: &Path, folder: &Path) -> Result<(), ToolkitError> {
    if place.exists() {
        set_aside(place, folder)?;
    }
    std::fs::rename(packages, place).map_err(ToolkitError::io("create", place))
}

/// Removes a folder atomically by a rename, and deletes it afterwards.
fn set_aside(place: &Path, folder: &Path) -> Result<(), ToolkitError> {
    let aside = tempfile::Builder::new().prefix(REMOVED).tempdir_in(folder);
    let aside = aside.map_err(ToolkitError::io("write in", folder))?;
    std::fs::rename(place, aside.path().join("removed")).map_err(ToolkitError::io("remove", place))?;
    aside.close().map_err(ToolkitError::io("remove", place))
}

/// Names NVIDIA's licence before the first download, even with `quiet`.
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

/// Prints a line on stderr.
fn say(cx: &Context<'_>, text: &str) {
    if !cx.quiet {
        lmem_base::say::line(text);
    }
}
