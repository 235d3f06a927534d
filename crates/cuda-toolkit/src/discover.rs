//! Where a toolkit may lie, in order of preference, and whether what lies there works.
//!
//! Nothing is run here but `ptxas --version`, and that only where no file tells the version.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lmem_base::version::{Version, VersionRequest};

use super::environment::{Environment, is_executable};
use super::{Component, Refused, Request, Selection, Toolkit, ToolkitError, install, process};

/// See [`super::select`].
pub(super) fn select(
    environment: &Environment,
    request: Request<'_>,
    cancel: &AtomicBool,
) -> Result<Selection, ToolkitError> {
    let Request { choice, configured, offline, quiet } = request;
    let cx = install::Context { environment, offline, quiet, unverified: choice.is_some(), cancel };
    let pin = configured.map(Choice::pin).transpose()?;
    match (choice.map(Choice::parse).transpose()?, pin) {
        (Some(Choice::Folder(folder)), _) => at_folder(&cx, &folder),
        (Some(Choice::Managed), Some(Choice::Version(version))) => {
            managed(&install::Context { unverified: false, ..cx }, Some(version))
        }
        (Some(Choice::Managed), _) | (None, Some(Choice::Managed)) => managed(&cx, None),
        (Some(Choice::Version(version)), _) | (None, Some(Choice::Version(version))) => search(&cx, Some(version)),
        (None, None | Some(Choice::Folder(_))) => search(&cx, None),
    }
}

/// Every toolkit that works, and every place that was refused: for `cargo lmem toolkit list`.
pub(super) fn all(cx: &install::Context<'_>) -> (Vec<Toolkit>, Vec<Refused>) {
    let mut found: Vec<Toolkit> = Vec::new();
    let mut refused = Vec::new();
    for place in sources(cx.environment).into_iter().flat_map(|source| source.places) {
        match check(&place, cx.cancel) {
            Ok(toolkit) if found.iter().any(|known| same_folder(&known.root, &toolkit.root)) => {}
            Ok(toolkit) => found.push(toolkit),
            Err(reason) => refused.push(Refused { place: place.described(), reason }),
        }
    }
    for toolkit in install::managed(cx) {
        if !found.iter().any(|known| same_folder(&known.root, &toolkit.root)) {
            found.push(toolkit);
        }
    }
    (found, refused)
}

/// What somebody asks for.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    Managed,
    Version(VersionRequest),
    Folder(PathBuf),
}

impl Choice {
    /// From the command line. A folder named like a version is meant with `./13`.
    fn parse(text: &str) -> Result<Self, ToolkitError> {
        if let Ok(choice) = Self::pin(text) {
            return Ok(choice);
        }
        let folder = Path::new(text);
        let looks_like_one = folder.exists() || text.contains(std::path::MAIN_SEPARATOR);
        if text.is_empty() || !looks_like_one {
            return Err(ToolkitError::NotAChoice(text.to_owned()));
        }
        std::path::absolute(folder).map(Self::Folder).map_err(ToolkitError::io("find", folder))
    }

    /// From Cargo.toml, where a folder is not allowed.
    fn pin(text: &str) -> Result<Self, ToolkitError> {
        match text.parse() {
            _ if text == "managed" => Ok(Self::Managed),
            Ok(version) => Ok(Self::Version(version)),
            Err(_) => Err(ToolkitError::NotAPin(text.to_owned())),
        }
    }
}

/// The folder itself, or the one that it obviously means: `…/bin`, `…/bin/nvcc`, a folder of Python packages.
fn at_folder(cx: &install::Context<'_>, folder: &Path) -> Result<Selection, ToolkitError> {
    let meant = match folder.file_name().and_then(|name| name.to_str()) {
        Some("bin") => folder.parent(),
        Some("nvcc" | "ptxas") if folder.is_file() => folder.parent().and_then(Path::parent),
        _ => None,
    };
    let mut layouts = vec![Layout::of(meant.unwrap_or(folder))];
    layouts.extend(python_packages(folder));
    let mut first_reason = None;
    for layout in layouts {
        let place = Place { layout, found: "`--toolkit`".to_owned(), asked: true };
        match check(&place, cx.cancel) {
            Ok(toolkit) => return Ok(Selection { notes: without_nvcc(&toolkit), toolkit }),
            Err(reason) => first_reason = first_reason.or(Some(reason)),
        }
    }
    let reason = first_reason.unwrap_or_default();
    Err(ToolkitError::Unusable { choice: folder.display().to_string(), reason })
}

/// A managed toolkit, installed if it is not there.
fn managed(cx: &install::Context<'_>, wanted: Option<VersionRequest>) -> Result<Selection, ToolkitError> {
    let mut installed = install::managed(cx).into_iter();
    let toolkit = match installed.find(|toolkit| wanted.is_none_or(|wanted| wanted.allows(&toolkit.number))) {
        Some(toolkit) => toolkit,
        None if cx.offline => {
            let looked = vec![no_managed(cx.environment)];
            return Err(not_found(wanted, looked, Some(ToolkitError::Offline)));
        }
        None => install::toolkit(cx, wanted)?,
    };
    Ok(Selection { toolkit, notes: Vec::new() })
}

/// The first that can compile `.cu` files; a managed one before one that cannot.
fn search(cx: &install::Context<'_>, wanted: Option<VersionRequest>) -> Result<Selection, ToolkitError> {
    let mut notes = Vec::new();
    let mut looked = Vec::new();
    let mut second_best = None;
    for source in sources(cx.environment) {
        if source.places.is_empty() {
            looked.push(Refused { place: source.name, reason: source.absent });
        }
        for place in source.places {
            let reason = match check(&place, cx.cancel) {
                Ok(toolkit) if wanted.is_some_and(|wanted| !wanted.allows(&toolkit.number)) => {
                    format!("it has CUDA {}", toolkit.number)
                }
                Ok(toolkit) if toolkit.nvcc.is_some() => return Ok(Selection { toolkit, notes }),
                Ok(toolkit) => {
                    let reason = format!("it lacks {}", toolkit.lacks.join(", "));
                    second_best.get_or_insert(toolkit);
                    reason
                }
                Err(reason) => reason,
            };
            let refused = Refused { place: place.described(), reason };
            // Whoever set a variable should hear that it does not count.
            if place.asked {
                notes.push(format!("{} is not used: {}", refused.place, refused.reason));
            }
            looked.push(refused);
        }
    }
    let mut installed = install::managed(cx).into_iter();
    if let Some(toolkit) = installed.find(|toolkit| wanted.is_none_or(|wanted| wanted.allows(&toolkit.number))) {
        return Ok(Selection { toolkit, notes });
    }
    looked.push(no_managed(cx.environment));
    let fetched = if cx.offline { Err(ToolkitError::Offline) } else { install::toolkit(cx, wanted) };
    match (fetched, second_best) {
        (Ok(toolkit), _) => Ok(Selection { toolkit, notes }),
        (Err(ToolkitError::Cancelled), _) => Err(ToolkitError::Cancelled),
        (Err(cause), Some(toolkit)) => {
            notes.extend(without_nvcc(&toolkit));
            notes.push(format!("a toolkit with `nvcc` could not be fetched: {cause}"));
            Ok(Selection { toolkit, notes })
        }
        (Err(cause), None) => {
            notes.clear();
            Err(not_found(wanted, looked, Some(cause)))
        }
    }
}

fn not_found(wanted: Option<VersionRequest>, looked: Vec<Refused>, install: Option<ToolkitError>) -> ToolkitError {
    let wanted = wanted.map_or_else(|| "CUDA toolkit".to_owned(), |version| format!("CUDA {version} toolkit"));
    ToolkitError::NotFound { wanted, looked, install: install.map(Box::new) }
}

fn no_managed(environment: &Environment) -> Refused {
    let folder = environment.cache_root().map(|root| root.join(install::TOOLKITS));
    let place = folder
        .map_or_else(|_| "managed toolkits".to_owned(), |folder| format!("managed toolkits ({})", folder.display()));
    Refused { place, reason: "none, or none that fits".to_owned() }
}

fn without_nvcc(toolkit: &Toolkit) -> Vec<String> {
    let note = || {
        let lacks = toolkit.lacks.join(", ");
        format!("the toolkit in {} lacks {lacks}: only kernel strings and PTX can be checked", toolkit.root.display())
    };
    toolkit.nvcc.is_none().then(note).into_iter().collect()
}

/// One kind of place.
struct Source {
    name: String,
    places: Vec<Place>,
    /// What to say when there are none.
    absent: String,
}

/// A folder that may be a toolkit.
#[derive(Debug, Clone)]
struct Place {
    layout: Layout,
    /// "`CUDA_HOME`".
    found: String,
    /// The user named it in the environment.
    asked: bool,
}

impl Place {
    fn new(found: &str, root: &Path) -> Self {
        Self { layout: Layout::of(root), found: found.to_owned(), asked: false }
    }

    fn described(&self) -> String {
        format!("{} ({})", self.found, self.layout.root.display())
    }
}

/// Where the parts of a toolkit are.
#[derive(Debug, Clone)]
struct Layout {
    root: PathBuf,
    /// Folders that may hold NVRTC.
    libraries: Vec<PathBuf>,
    /// A folder of `site-packages`, where each part is a package that may be missing.
    python: bool,
}

impl Layout {
    /// NVIDIA's own layout, conda's (`targets/…`) and Debian's (`/usr`, libraries by architecture).
    fn of(root: &Path) -> Self {
        let folders = ["lib64", "lib"].into_iter().map(|name| root.join(name));
        let of_targets = targets().map(|target| root.join("targets").join(target).join("lib"));
        let of_debian = root.join(format!("lib/{}-linux-gnu", std::env::consts::ARCH));
        let libraries = folders.chain(of_targets).chain([of_debian]).collect();
        Self { root: root.to_path_buf(), libraries, python: false }
    }
}

/// NVIDIA's names for what code is compiled for; "sbsa" is aarch64 servers.
fn targets() -> impl Iterator<Item = &'static str> {
    let all: &[&str] = if cfg!(target_arch = "aarch64") { &["sbsa-linux", "aarch64-linux"] } else { &["x86_64-linux"] };
    all.iter().copied()
}

/// All places in order of preference.
fn sources(environment: &Environment) -> Vec<Source> {
    vec![
        of_variables(environment),
        of_path(environment),
        of_usual_folders(environment),
        of_conda(environment),
        of_python(environment),
    ]
}

/// Variables that name a toolkit's folder. The last two are those that cudarc and CMake read.
pub const VARIABLES: [&str; 4] = ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"];

fn of_variables(environment: &Environment) -> Source {
    let mut places: Vec<Place> = Vec::new();
    for name in VARIABLES {
        let Some(folder) = environment.path(name) else { continue };
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        if !places.iter().any(|place| place.layout.root == folder) {
            places.push(Place { asked: true, ..Place::new(&format!("`{name}`"), &folder) });
        }
    }
    Source { name: "`CUDA_HOME`, `CUDA_PATH`".to_owned(), places, absent: "not set".to_owned() }
}

fn of_path(environment: &Environment) -> Source {
    let places = environment.on_path(&program("nvcc")).into_iter().filter_map(|nvcc| root_of_nvcc(&nvcc));
    let places = places.map(|root| Place::new("`nvcc` on `PATH`", &root)).collect();
    Source { name: "`nvcc` on `PATH`".to_owned(), places, absent: "not there".to_owned() }
}

/// The folder above `bin`. Debian's `/usr/bin/nvcc` is a script beside ptxas; elsewhere a link leads to the real one.
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

/// Folders of packages are found without starting Python, which would cost more than a warm run may take.
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
    let places = layouts.into_iter().map(|layout| Place { layout, found: "Python packages".to_owned(), asked: false });
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

/// Toolkits in a folder of Python packages: one folder for all of 13.x, a folder for each package in 12.x.
fn python_packages(packages: &Path) -> Vec<Layout> {
    let nvidia = packages.join("nvidia");
    let mut unified = entries(&nvidia);
    unified.retain(|folder| is_unified(folder));
    unified.reverse();
    let mut layouts: Vec<Layout> = unified.iter().map(|root| Layout { python: true, ..Layout::of(root) }).collect();
    let libraries = vec![nvidia.join("cuda_nvrtc/lib")];
    layouts.push(Layout { root: nvidia.join("cuda_nvcc"), libraries, python: true });
    // Packages of other projects, such as PyTorch, bring `nvidia/cu13` with libraries alone: nothing to complain of.
    layouts.retain(|layout| has_ptxas(&layout.root));
    layouts
}

/// `nvidia/cu13`.
fn is_unified(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    let digits = name.and_then(|name| name.strip_prefix("cu")).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The toolkit in a folder that the installer made.
pub(super) fn check_managed(root: &Path, cancel: &AtomicBool) -> Result<Toolkit, String> {
    let layout = Layout { python: true, ..Layout::of(root) };
    check(&Place { layout, found: "managed".to_owned(), asked: false }, cancel)
}

/// Whether a place holds a usable toolkit: ptxas can be run and is not too old.
fn check(place: &Place, cancel: &AtomicBool) -> Result<Toolkit, String> {
    let Layout { root, libraries, python } = &place.layout;
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

/// What `nvcc` needs and other packages of 13.x bring.
fn missing_packages(root: &Path) -> Vec<&'static str> {
    let needed = [
        ("nvvm/bin/cicc", "`cicc` (package `nvidia-nvvm`)"),
        ("include/crt/host_defines.h", "its own headers (package `nvidia-cuda-crt`)"),
        ("include/cuda_runtime.h", "the runtime's headers (package `nvidia-cuda-runtime`)"),
    ];
    needed.into_iter().filter(|(file, _)| !root.join(file).exists()).map(|(_, name)| name).collect()
}

/// "13.5.37" from files where they tell it, because a process costs as much as the rest of a warm run.
fn number_of(root: &Path, ptxas: &Path, cancel: &AtomicBool) -> Result<String, String> {
    if let Some(number) = number_of_version_json(root).or_else(|| number_of_packages(root)) {
        return Ok(number);
    }
    let text =
        process::output_of(ptxas, &["--version"], cancel).map_err(|error| format!("`ptxas` does not run: {error}"))?;
    number_of_output(&text).ok_or_else(|| "`ptxas --version` names no version".to_owned())
}

/// NVIDIA's installers write `version.json` from 11.1 on: `{"cuda_nvcc": {"version": "12.4.131"}, …}`.
fn number_of_version_json(root: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(root.join("version.json")).ok()?.take(1 << 20).read_to_string(&mut text).ok()?;
    let parts: serde_json::Value = serde_json::from_str(&text).ok()?;
    let number = parts.get("cuda_nvcc")?.get("version")?.as_str()?;
    number.parse::<VersionRequest>().ok().map(|_| number.to_owned())
}

/// Python packages have it in the name of a folder: `nvidia_cuda_nvcc-13.5.37.dist-info`, with `_cu12` for 12.x.
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
    // Two are the rest of an upgrade: only ptxas itself knows.
    number.filter(|_| numbers.next().is_none())
}

/// "Cuda compilation tools, release 13.5, V13.5.37": the same line from nvcc and ptxas of all versions.
fn number_of_output(text: &str) -> Option<String> {
    let (_, number) = text.split_once(", V")?;
    let number = number.split_whitespace().next()?;
    number.parse::<VersionRequest>().ok().map(|_| number.to_owned())
}

/// See [`Toolkit::include_dirs`].
pub(super) fn include_dirs(root: &Path) -> Vec<PathBuf> {
    let mut folders = vec![root.join("include")];
    folders.extend(targets().map(|target| root.join("targets").join(target).join("include")));
    // CUDA 13 keeps cub, thrust and libcu++ a folder deeper; nvcc adds it by itself.
    folders.extend(folders.clone().iter().map(|folder| folder.join("cccl")));
    if root.ends_with("nvidia/cuda_nvcc") {
        let siblings = ["cuda_runtime", "cuda_cccl", "curand"];
        folders.extend(siblings.map(|name| root.with_file_name(name).join("include")));
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

/// The folder whose `include` or `bin` has the component, if the toolkit brings it.
pub(super) fn component(root: &Path, component: Component) -> Option<PathBuf> {
    match component {
        Component::Nvdisasm => is_executable(&root.join("bin").join(program("nvdisasm"))).then(|| root.to_path_buf()),
        Component::Curand => {
            let mut folders = include_dirs(root).into_iter();
            let folder = folders.find(|folder| folder.join("curand_kernel.h").is_file())?;
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

fn same_folder(left: &Path, right: &Path) -> bool {
    left == right || left.canonicalize().ok().is_some_and(|left| right.canonicalize().is_ok_and(|right| left == right))
}

/// What a folder holds, sorted; nothing where it cannot be read.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::testing::{Machine, program};

    /// What the search answers with: the toolkit's folder below the machine's root, and its notes.
    fn found(machine: &Machine, choice: Option<&str>) -> (String, String, Vec<String>) {
        let request = Request { choice, configured: None, offline: true, quiet: true };
        let selection = select(&machine.environment(), request, &AtomicBool::new(false)).unwrap();
        let root = machine.relative(&selection.toolkit.root);
        (root, selection.toolkit.found, selection.notes.iter().map(|note| machine.without_root(note)).collect())
    }

    fn error(machine: &Machine, choice: Option<&str>, configured: Option<&str>) -> ToolkitError {
        let request = Request { choice, configured, offline: true, quiet: true };
        select(&machine.environment(), request, &AtomicBool::new(false)).unwrap_err()
    }

    #[test]
    fn cuda_home_comes_before_path_and_usual_folders() {
        let machine = Machine::new();
        machine.toolkit("usr/local/cuda", "12.4.131");
        assert_eq!(found(&machine, None).0, "usr/local/cuda");
        machine.toolkit("opt/nvidia", "12.9.86").set_path(&["opt/nvidia/bin"]);
        assert_eq!(found(&machine, None).0, "opt/nvidia");
        machine.toolkit("home/cuda", "13.5.37").set("CUDA_HOME", "home/cuda");
        assert_eq!(found(&machine, None), ("home/cuda".to_owned(), "`CUDA_HOME`".to_owned(), vec![]));
    }

    #[test]
    fn a_broken_cuda_home_is_said_and_passed_over() {
        let machine = Machine::new();
        machine.toolkit("usr/local/cuda", "12.4.131").set("CUDA_HOME", "gone").set("CUDA_PATH", "usr");
        let (root, _, notes) = found(&machine, None);
        assert_eq!(root, "usr/local/cuda");
        assert_eq!(
            notes,
            ["`CUDA_HOME` (/gone) is not used: no such folder", "`CUDA_PATH` (/usr) is not used: no `bin/ptxas` in it"]
        );
    }

    #[test]
    fn versioned_folders_are_tried_newest_first() {
        let machine = Machine::new();
        machine.toolkit("usr/local/cuda-12.9", "12.9.86").toolkit("usr/local/cuda-12.10", "12.10.1");
        assert_eq!(found(&machine, None).0, "usr/local/cuda-12.10");
        assert_eq!(found(&machine, Some("12.9")).0, "usr/local/cuda-12.9");
    }

    #[test]
    fn the_version_comes_from_ptxas_where_no_file_tells_it() {
        let machine = Machine::new();
        machine.toolkit("usr/local/cuda", "12.4.131");
        std::fs::remove_file(machine.path("usr/local/cuda/version.json")).unwrap();
        let request = Request { offline: true, ..Request::default() };
        let toolkit = select(&machine.environment(), request, &AtomicBool::new(false)).unwrap().toolkit;
        assert_eq!((toolkit.number.as_str(), toolkit.version), ("12.4.131", Version { major: 12, minor: 4 }));
        assert_eq!(
            number_of_output("Cuda compilation tools, release 11.8, V11.8.89\nBuild x"),
            Some("11.8.89".to_owned())
        );
        assert_eq!(number_of_output("no compiler, Very sorry"), None);
    }

    #[test]
    fn every_refused_place_is_listed_with_its_reason() {
        let machine = Machine::new();
        machine.toolkit("usr/local/cuda", "11.8.89").toolkit("opt/cuda", "12.4.131").set("CUDA_HOME", "empty");
        std::fs::create_dir(machine.path("empty")).unwrap();
        program(&machine.path("opt/cuda/bin/ptxas"), "echo broken >&2; exit 1");
        std::fs::remove_file(machine.path("opt/cuda/version.json")).unwrap();
        let error = error(&machine, None, None);
        let text = machine.without_root(&error.to_string());
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "no CUDA toolkit found",
                "  `CUDA_HOME` (/empty): no `bin/ptxas` in it",
                "  `nvcc` on `PATH`: not there",
                "  usual folder (/usr/local/cuda): CUDA 11.8 is too old, the oldest that works is 12.0",
                "  usual folder (/opt/cuda): `ptxas` does not run: exit status: 1: broken",
                "  conda: `CONDA_PREFIX` is not set",
                "  Python packages: none with `ptxas`",
                "  managed toolkits (/home/.cache/cargo-lmem/toolkits): none, or none that fits",
            ]
        );
        assert!(error.hints()[0].contains("cargo lmem toolkit install"));
    }

    #[test]
    fn debian_has_a_script_in_usr_bin_and_libraries_by_architecture() {
        let machine = Machine::new();
        machine.toolkit("usr", "12.0.140").set_path(&["usr/bin"]);
        let libraries = machine.path(&format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH));
        std::fs::create_dir_all(&libraries).unwrap();
        std::fs::rename(machine.path("usr/lib64/libnvrtc.so.12"), libraries.join("libnvrtc.so.12")).unwrap();
        let request = Request { offline: true, ..Request::default() };
        let toolkit = select(&machine.environment(), request, &AtomicBool::new(false)).unwrap().toolkit;
        assert_eq!(machine.relative(&toolkit.root), "usr");
        assert_eq!(toolkit.nvrtc, Some(libraries.join("libnvrtc.so.12")));
    }

    #[test]
    fn a_link_on_path_leads_to_the_toolkit() {
        let machine = Machine::new();
        machine.toolkit("sw/cuda", "12.4.131").set_path(&["links"]);
        std::fs::create_dir(machine.path("links")).unwrap();
        std::os::unix::fs::symlink(machine.path("sw/cuda/bin/nvcc"), machine.path("links/nvcc")).unwrap();
        assert_eq!(found(&machine, None).0, "sw/cuda");
    }

    #[test]
    fn conda_keeps_headers_and_libraries_by_target() {
        let machine = Machine::new();
        machine.toolkit("conda", "12.4.131").set("CONDA_PREFIX", "conda");
        let target = machine.path("conda/targets").join(targets().next().unwrap());
        std::fs::create_dir_all(target.join("include")).unwrap();
        std::fs::rename(machine.path("conda/lib64"), target.join("lib")).unwrap();
        let request = Request { offline: true, ..Request::default() };
        let toolkit = select(&machine.environment(), request, &AtomicBool::new(false)).unwrap().toolkit;
        assert_eq!((toolkit.found.as_str(), toolkit.nvrtc), ("conda", Some(target.join("lib/libnvrtc.so.12"))));
        assert!(include_dirs(&toolkit.root).contains(&target.join("include")));
    }

    #[test]
    fn wheels_of_12_have_no_nvcc_and_serve_when_nothing_else_does() {
        let machine = Machine::new();
        let packages = machine.path("venv/lib/python3.11/site-packages");
        program(&packages.join("nvidia/cuda_nvcc/bin/ptxas"), "exit 1");
        std::fs::create_dir_all(packages.join("nvidia_cuda_nvcc_cu12-12.4.131.dist-info")).unwrap();
        std::fs::create_dir_all(packages.join("nvidia/cuda_nvrtc/lib")).unwrap();
        std::fs::write(packages.join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12"), "").unwrap();
        machine.set("VIRTUAL_ENV", "venv");
        let (root, place, notes) = found(&machine, None);
        assert_eq!(root, "venv/lib/python3.11/site-packages/nvidia/cuda_nvcc");
        assert_eq!(place, "Python packages");
        assert!(notes[0].ends_with("lacks `nvcc`: only kernel strings and PTX can be checked"), "{notes:?}");
        // A whole toolkit is better, wherever it is.
        machine.managed("13.5.37");
        assert_eq!(found(&machine, None).1, "managed");
        // An explicit choice wins.
        let choice = packages.join("nvidia/cuda_nvcc");
        assert_eq!(found(&machine, choice.to_str()).0, "venv/lib/python3.11/site-packages/nvidia/cuda_nvcc");
    }

    #[test]
    fn wheels_of_13_without_their_other_packages_lack_them() {
        let machine = Machine::new();
        let root = machine.path("venv/lib/python3.11/site-packages/nvidia/cu13");
        machine.wheels("venv/lib/python3.11/site-packages", "13.5.37").set("VIRTUAL_ENV", "venv");
        assert_eq!(found(&machine, None).2, Vec::<String>::new());
        std::fs::remove_file(root.join("nvvm/bin/cicc")).unwrap();
        assert!(found(&machine, None).2[0].contains("lacks `cicc` (package `nvidia-nvvm`)"));
    }

    #[test]
    fn libraries_of_other_packages_are_no_toolkit() {
        let machine = Machine::new();
        std::fs::create_dir_all(machine.path("venv/lib/python3.11/site-packages/nvidia/cu13/lib")).unwrap();
        machine.set("VIRTUAL_ENV", "venv");
        assert!(error(&machine, None, None).to_string().contains("Python packages: none with `ptxas`"));
    }

    #[test]
    fn a_version_is_looked_for_everywhere() {
        let machine = Machine::new();
        machine.toolkit("home/cuda", "12.4.131").set("CUDA_HOME", "home/cuda");
        machine.toolkit("usr/local/cuda", "13.0.88").managed("13.5.37");
        assert_eq!(found(&machine, Some("13.0")).0, "usr/local/cuda");
        let (_, place, notes) = found(&machine, Some("13.5"));
        assert_eq!(
            (place.as_str(), notes),
            ("managed", vec!["`CUDA_HOME` (/home/cuda) is not used: it has CUDA 12.4.131".to_owned()])
        );
        assert_eq!(found(&machine, Some("managed")).1, "managed");
        assert!(error(&machine, Some("13.4"), None).to_string().starts_with("no CUDA 13.4 toolkit found"));
    }

    #[test]
    fn a_choice_wins_over_the_configuration() {
        let machine = Machine::new();
        machine.toolkit("a", "12.4.131").managed("13.0.88").managed("13.5.37").set("CUDA_HOME", "a");
        let choose = |choice: Option<&str>, configured: Option<&str>| {
            let request = Request { choice, configured, offline: true, quiet: true };
            select(&machine.environment(), request, &AtomicBool::new(false)).unwrap().toolkit.number
        };
        assert_eq!(choose(None, None), "12.4.131");
        assert_eq!(choose(None, Some("managed")), "13.5.37");
        assert_eq!(choose(None, Some("13.0")), "13.0.88");
        assert_eq!(choose(Some("12.4"), Some("13.0")), "12.4.131");
        assert_eq!(choose(Some("managed"), Some("13.0")), "13.0.88");
        assert_eq!(choose(machine.path("a/bin/nvcc").to_str(), Some("13.0")), "12.4.131");
    }

    #[test]
    fn a_workspace_may_not_name_a_folder() {
        let machine = Machine::new();
        machine.toolkit("a", "12.4.131");
        let folder = machine.path("a");
        assert!(matches!(error(&machine, None, folder.to_str()), ToolkitError::NotAPin(_)));
        assert!(matches!(error(&machine, Some("cuda"), None), ToolkitError::NotAChoice(_)));
        assert!(matches!(error(&machine, Some("/no/such/folder"), None), ToolkitError::Unusable { .. }));
    }

    #[test]
    fn fingerprints_of_managed_toolkits_do_not_name_the_place() {
        let machines = [Machine::new(), Machine::new()];
        let fingerprint = |machine: &Machine| {
            machine.managed("13.5.37");
            let request = Request { offline: true, ..Request::default() };
            select(&machine.environment(), request, &AtomicBool::new(false)).unwrap().toolkit.fingerprint()
        };
        assert_eq!(fingerprint(&machines[0]), fingerprint(&machines[1]));
    }

    #[test]
    fn fingerprints_of_other_toolkits_change_with_their_compilers() {
        let machine = Machine::new();
        machine.toolkit("usr/local/cuda", "12.4.131");
        let request = Request { offline: true, ..Request::default() };
        let toolkit = select(&machine.environment(), request, &AtomicBool::new(false)).unwrap().toolkit;
        let before = toolkit.fingerprint();
        program(&machine.path("usr/local/cuda/nvvm/bin/cicc"), "echo another");
        assert_ne!(before, toolkit.fingerprint());
    }
}
