//! Candidate places for a toolkit, in order of preference, and a check of each.
//!
//! The only program run here is `ptxas --version`, and only if no file gives the version.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lmem_base::version::{Version, VersionRequest};

use super::environment::{Environment, is_executable};
use super::{Component, Refuses, Toolkit, process};

/// A kind of place.
pub(super) struct Source {
    pub name: String,
    pub places: Vec<Place>,
    /// The message if this source has no places.
    pub absent: String,
}

/// A folder that may contain a toolkit.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub layout: Layout,
    /// "`CUDA_HOME`".
    pub found: String,
    /// Whether an environment variable of the user names the folder.
    pub asked: bool,
    /// Whether it is named as a toolkit, and not come upon.
    pub is_chosen: bool,
}

impl Place {
    fn new(found: &str, root: &Path) -> Self {
        // What is not used because it is relative is said: who set it meant it.
        Self { layout: Layout::of(root), found: found.to_owned(), asked: root.is_relative(), is_chosen: false }
    }

    pub fn described(&self) -> String {
        format!("{} ({})", self.found, self.layout.root.display())
    }
}

/// The folders of a toolkit's parts.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    root: PathBuf,
    /// Folders that may contain NVRTC.
    libraries: Vec<PathBuf>,
    /// Whether this is a folder of `site-packages`, where each part is a separate package that may be missing.
    python: bool,
}

impl Layout {
    /// The layouts of NVIDIA, conda (`targets/…`) and Debian (`/usr`, with libraries by architecture).
    pub fn of(root: &Path) -> Self {
        let folders = ["lib64", "lib"].into_iter().map(|name| root.join(name));
        let of_targets = targets().map(|target| root.join("targets").join(target).join("lib"));
        let of_debian = root.join(format!("lib/{}-linux-gnu", std::env::consts::ARCH));
        let libraries = folders.chain(of_targets).chain([of_debian]).collect();
        Self { root: root.to_path_buf(), libraries, python: false }
    }
}

/// NVIDIA's target names for the host; "sbsa" means aarch64 servers.
pub(super) fn targets() -> impl Iterator<Item = &'static str> {
    let all: &[&str] = if cfg!(target_arch = "aarch64") { &["sbsa-linux", "aarch64-linux"] } else { &["x86_64-linux"] };
    all.iter().copied()
}

/// All sources in order of preference.
pub(super) fn sources(environment: &Environment) -> Vec<Source> {
    vec![
        of_variables(environment),
        of_path(environment),
        of_usual_folders(environment),
        of_conda(environment),
        of_python(environment),
    ]
}

/// Environment variables with a toolkit's folder. cudarc and CMake read the last two.
pub const VARIABLES: [&str; 4] = ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"];

fn of_variables(environment: &Environment) -> Source {
    let mut places: Vec<Place> = Vec::new();
    for name in VARIABLES {
        let Some(folder) = environment.path(name) else { continue };
        if !places.iter().any(|place| place.layout.root == folder) {
            places.push(Place { asked: true, is_chosen: true, ..Place::new(&format!("`{name}`"), &folder) });
        }
    }
    Source { name: "`CUDA_HOME`, `CUDA_PATH`".to_owned(), places, absent: "not set".to_owned() }
}

fn of_path(environment: &Environment) -> Source {
    let places = environment.on_path(&program("nvcc")).into_iter().filter_map(|nvcc| root_of_nvcc(&nvcc));
    let places = places.map(|root| Place::new("`nvcc` on `PATH`", &root)).collect();
    Source { name: "`nvcc` on `PATH`".to_owned(), places, absent: "not there".to_owned() }
}

/// The folder above `bin`. Debian's `/usr/bin/nvcc` is a script next to ptxas; elsewhere it may be a link to the real
/// one.
fn root_of_nvcc(nvcc: &Path) -> Option<PathBuf> {
    let beside = nvcc.parent()?;
    if beside.join(program("ptxas")).is_file() {
        return beside.parent().map(Path::to_path_buf);
    }
    nvcc.canonicalize().ok()?.parent()?.parent().map(Path::to_path_buf)
}

fn of_usual_folders(environment: &Environment) -> Source {
    let mut folders = vec![environment.folder("usr/local/cuda"), environment.folder("opt/cuda")];
    folders.retain(|folder| folder.is_dir());
    let mut versioned: Vec<(Version, PathBuf)> = entries(&environment.folder("usr/local"))
        .into_iter()
        .filter_map(|folder| Some((folder.file_name()?.to_str()?.strip_prefix("cuda-")?.parse().ok()?, folder)))
        .collect();
    versioned.sort_by(|left, right| right.cmp(left));
    folders.extend(versioned.into_iter().map(|(_, folder)| folder));
    let places = folders.iter().map(|folder| Place::new("usual folder", folder)).collect();
    let name = "`/usr/local/cuda`, `/usr/local/cuda-*`, `/opt/cuda`".to_owned();
    Source { name, places, absent: "no such folder".to_owned() }
}

fn of_conda(environment: &Environment) -> Source {
    let prefix = environment.path("CONDA_PREFIX");
    let places = prefix.iter().filter(|prefix| has_ptxas(prefix)).map(|prefix| Place::new("conda", prefix)).collect();
    let absent = if prefix.is_some() { "its environment has no `ptxas`" } else { "`CONDA_PREFIX` is not set" };
    Source { name: "conda".to_owned(), places, absent: absent.to_owned() }
}

/// Finds package folders without starting Python, which would cost more than a whole warm run.
fn of_python(environment: &Environment) -> Source {
    let pythons = environment.on_path(&program("python3"));
    let of_program = |python: &PathBuf| Some(python.parent()?.parent()?.to_path_buf());
    let mut prefixes: Vec<PathBuf> =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| environment.path(name)).collect();
    prefixes.extend(pythons.first().and_then(of_program));
    prefixes.extend(pythons.first().and_then(|python| of_program(&python.canonicalize().ok()?)));
    prefixes.extend(environment.path("HOME").map(|home| home.join(".local")));
    prefixes.push(environment.folder("usr/local"));
    let mut layouts: Vec<Layout> = Vec::new();
    for packages in prefixes.iter().flat_map(|prefix| package_folders(prefix)) {
        let new = python_packages(&packages);
        layouts
            .extend(new.into_iter().filter(|new| layouts.iter().all(|old| old.root != new.root)).collect::<Vec<_>>());
    }
    let places = layouts.into_iter().map(|layout| {
        let asked = layout.root.is_relative();
        Place { layout, found: "Python packages".to_owned(), asked, is_chosen: false }
    });
    Source { name: "Python packages".to_owned(), places: places.collect(), absent: "none with `ptxas`".to_owned() }
}

/// `lib/python3.*/site-packages` and Debian's `dist-packages`, newest Python first.
fn package_folders(prefix: &Path) -> Vec<PathBuf> {
    let mut pythons = entries(&prefix.join("lib"));
    pythons.retain(|folder| folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")));
    pythons.reverse();
    let names = ["site-packages", "dist-packages"];
    pythons.iter().flat_map(|python| names.map(|name| python.join(name))).collect()
}

/// Toolkits in a folder of Python packages: one folder for all packages of 13.x, one folder per package for 12.x.
pub(super) fn python_packages(packages: &Path) -> Vec<Layout> {
    let nvidia = packages.join("nvidia");
    let mut unified = entries(&nvidia);
    unified.retain(|folder| is_unified(folder));
    unified.reverse();
    let mut layouts: Vec<Layout> = unified.iter().map(|root| Layout { python: true, ..Layout::of(root) }).collect();
    let libraries = vec![nvidia.join("cuda_nvrtc/lib")];
    layouts.push(Layout { root: nvidia.join("cuda_nvcc"), libraries, python: true });
    // Other projects, such as PyTorch, install `nvidia/cu13` with libraries only; that is not worth a message.
    layouts.retain(|layout| has_ptxas(&layout.root));
    layouts
}

/// `nvidia/cu13`.
fn is_unified(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    let digits = name.and_then(|name| name.strip_prefix("cu")).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Checks the toolkit in a folder made by the installer.
pub(super) fn check_managed(root: &Path, cancel: &AtomicBool) -> Result<Toolkit, String> {
    let layout = Layout { python: true, ..Layout::of(root) };
    check(&Place { layout, found: "managed".to_owned(), asked: false, is_chosen: true }, cancel)
}

/// As [`check`], for a place that may lie in a tree of strangers.
pub(super) fn check_found(place: &Place, refuses: Refuses<'_>, cancel: &AtomicBool) -> Result<Toolkit, String> {
    let Layout { root, libraries, .. } = &place.layout;
    if let Some(refuses) = refuses.filter(|_| !place.is_chosen && root.is_absolute() && has_ptxas(root)) {
        // Libraries are other packages, which run in a process of ours.
        let folders = [root].into_iter().chain(libraries.iter().filter(|folder| folder.is_dir()));
        if let Some(reason) = folders.map(PathBuf::as_path).find_map(refuses) {
            return Err(reason);
        }
    }
    check(place, cancel)
}

/// Checks that a place has a usable toolkit: ptxas runs and is recent enough.
pub(super) fn check(place: &Place, cancel: &AtomicBool) -> Result<Toolkit, String> {
    let Layout { root, libraries, python } = &place.layout;
    if root.is_relative() {
        return Err("a relative path could lead into the checked tree".to_owned());
    }
    if !root.is_dir() {
        return Err("no such folder".to_owned());
    }
    let ptxas = root.join("bin").join(program("ptxas"));
    if !ptxas.is_file() {
        return Err("no `bin/ptxas` in it".to_owned());
    }
    if !is_executable(&ptxas) {
        return Err("`bin/ptxas` is not executable".to_owned());
    }
    let number = number_of(root, &ptxas, cancel)?;
    let version: Version = number.parse().map_err(|_| format!("`{number}` is not a version"))?;
    if version < Version::OLDEST {
        return Err(format!("CUDA {version} is too old, the oldest that works is {}", Version::OLDEST));
    }
    let mut lacks = Vec::new();
    let nvcc = root.join("bin").join(program("nvcc"));
    if !is_executable(&nvcc) {
        lacks.push("`nvcc`");
    } else if *python {
        lacks.extend(missing_packages(root));
    }
    let nvcc = lacks.is_empty().then_some(nvcc);
    let nvrtc = libraries.iter().map(|folder| folder.join(format!("libnvrtc.so.{}", version.major)));
    let nvrtc = nvrtc.into_iter().find(|library| library.is_file());
    if nvrtc.is_none() {
        lacks.push("NVRTC");
    }
    Ok(Toolkit { root: root.clone(), version, number, nvcc, ptxas, nvrtc, lacks, found: place.found.clone() })
}

/// Packages of 13.x that `nvcc` needs and that are missing.
fn missing_packages(root: &Path) -> Vec<&'static str> {
    let needed = [
        ("nvvm/bin/cicc", "`cicc` (package `nvidia-nvvm`)"),
        ("include/crt/host_defines.h", "its own headers (package `nvidia-cuda-crt`)"),
        ("include/cuda_runtime.h", "the runtime's headers (package `nvidia-cuda-runtime`)"),
    ];
    needed.into_iter().filter(|(file, _)| !root.join(file).exists()).map(|(_, name)| name).collect()
}

/// The version, such as "13.5.37". It is read from files if possible: starting ptxas costs as much as the rest of a
/// warm run.
fn number_of(root: &Path, ptxas: &Path, cancel: &AtomicBool) -> Result<String, String> {
    if let Some(number) = number_of_version_json(root).or_else(|| number_of_packages(root)) {
        return Ok(number);
    }
    let text =
        process::output_of(ptxas, &["--version"], cancel).map_err(|error| format!("`ptxas` does not run: {error}"))?;
    number_of_output(&text).ok_or_else(|| "`ptxas --version` names no version".to_owned())
}

/// NVIDIA's installers write `version.json` since 11.1: `{"cuda_nvcc": {"version": "12.4.131"}, …}`.
fn number_of_version_json(root: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(root.join("version.json")).ok()?.take(1 << 20).read_to_string(&mut text).ok()?;
    let parts: serde_json::Value = serde_json::from_str(&text).ok()?;
    let number = parts.get("cuda_nvcc")?.get("version")?.as_str()?;
    number.parse::<VersionRequest>().ok().map(|_| number.to_owned())
}

/// Python packages have the version in a folder name: `nvidia_cuda_nvcc-13.5.37.dist-info`, with `_cu12` for 12.x.
fn number_of_packages(root: &Path) -> Option<String> {
    let packages = root.parent().filter(|parent| parent.ends_with("nvidia"))?.parent()?;
    let mut numbers = entries(packages).into_iter().filter_map(|entry| {
        let name =
            entry.file_name()?.to_str()?.strip_prefix("nvidia_cuda_nvcc")?.strip_suffix(".dist-info")?.to_owned();
        let (package, number) = name.split_once('-')?;
        let this = package.is_empty() != root.ends_with("cuda_nvcc");
        (this && number.parse::<VersionRequest>().is_ok()).then(|| number.to_owned())
    });
    let number = numbers.next();
    // Two versions are leftovers of an upgrade; then only ptxas itself knows its version.
    number.filter(|_| numbers.next().is_none())
}

/// "Cuda compilation tools, release 13.5, V13.5.37": nvcc and ptxas of all versions print this line.
pub(super) fn number_of_output(text: &str) -> Option<String> {
    let (_, number) = text.split_once(", V")?;
    let number = number.split_whitespace().next()?;
    number.parse::<VersionRequest>().ok().map(|_| number.to_owned())
}

/// See [`Toolkit::include_dirs`].
pub(super) fn include_dirs(root: &Path) -> Vec<PathBuf> {
    let mut folders = vec![root.join("include")];
    folders.extend(targets().map(|target| root.join("targets").join(target).join("include")));
    // CUDA 13 has cub, thrust and libcu++ in a subfolder, which nvcc adds by itself.
    folders.extend(folders.clone().iter().map(|folder| folder.join("cccl")));
    if root.ends_with("nvidia/cuda_nvcc") {
        let siblings = ["cuda_runtime", "cuda_cccl", "curand"];
        folders.extend(siblings.map(|name| root.with_file_name(name).join("include")));
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

/// The folder whose `include` or `bin` contains the component, if the toolkit has it.
pub(super) fn component(root: &Path, component: Component) -> Option<PathBuf> {
    match component {
        Component::Nvdisasm => is_executable(&root.join("bin").join(program("nvdisasm"))).then(|| root.to_path_buf()),
        Component::Headers(library) => {
            let mut folders = include_dirs(root).into_iter();
            let folder = folders.find(|folder| folder.join(library.main_header()).is_file())?;
            folder.parent().map(Path::to_path_buf)
        }
    }
}

fn has_ptxas(root: &Path) -> bool {
    root.join("bin").join(program("ptxas")).is_file()
}

fn program(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}

pub(super) fn same_folder(left: &Path, right: &Path) -> bool {
    left == right || left.canonicalize().ok().is_some_and(|left| right.canonicalize().is_ok_and(|right| left == right))
}

/// The sorted entries of a folder; empty if it cannot be read.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}
