//! Selects the toolkit for a run: the requested one, else the first that works, else a fetched one.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lmem_base::version::VersionRequest;

use super::discover::{Layout, Place, check, check_found, python_packages, same_folder, sources};
use super::environment::Environment;
use super::{Refused, Refuses, Request, Selection, Toolkit, ToolkitError, install};

/// See [`super::select`].
pub(super) fn select(
    environment: &Environment,
    request: Request<'_>,
    cancel: &AtomicBool,
) -> Result<Selection, ToolkitError> {
    let Request { choice, configured, offline, quiet, refuses } = request;
    let cx = install::Context { environment, offline, quiet, unverified: choice.is_some(), cancel };
    let pin = configured.map(Choice::pin).transpose()?;
    match (choice.map(Choice::parse).transpose()?, pin) {
        (Some(Choice::Folder(folder)), _) => at_folder(&cx, &folder),
        (Some(Choice::Managed), Some(Choice::Version(version))) => {
            managed(&install::Context { unverified: false, ..cx }, Some(version))
        }
        (Some(Choice::Managed), _) | (None, Some(Choice::Managed)) => managed(&cx, None),
        (Some(Choice::Version(version)), _) | (None, Some(Choice::Version(version))) => {
            search(&cx, Some(version), refuses)
        }
        (None, None | Some(Choice::Folder(_))) => search(&cx, None, refuses),
    }
}

/// All working toolkits and all rejected places, for `cargo lmem toolkit list`.
pub(super) fn all(cx: &install::Context<'_>, refuses: Refuses<'_>) -> (Vec<Toolkit>, Vec<Refused>) {
    let mut found: Vec<Toolkit> = Vec::new();
    let mut refused = Vec::new();
    for place in sources(cx.environment).into_iter().flat_map(|source| source.places) {
        match check_found(&place, refuses, cx.cancel) {
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

/// A requested toolkit.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    Managed,
    Version(VersionRequest),
    Folder(PathBuf),
}

impl Choice {
    /// Parses a command-line argument. `./13` means a folder whose name looks like a version.
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

    /// Parses a value from Cargo.toml, where a folder is not allowed.
    fn pin(text: &str) -> Result<Self, ToolkitError> {
        match text.parse() {
            _ if text == "managed" => Ok(Self::Managed),
            Ok(version) => Ok(Self::Version(version)),
            Err(_) => Err(ToolkitError::NotAPin(text.to_owned())),
        }
    }
}

/// The toolkit in a folder, or in the folder that it obviously means: `…/bin`, `…/bin/nvcc`, a folder of Python
/// packages.
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
        let place = Place { layout, found: "`--toolkit`".to_owned(), asked: true, is_chosen: true };
        match check(&place, cx.cancel) {
            Ok(toolkit) => return Ok(Selection { notes: without_nvcc(&toolkit), toolkit }),
            Err(reason) => first_reason = first_reason.or(Some(reason)),
        }
    }
    if meant.is_none() && !folder.is_dir() {
        return Err(ToolkitError::NotAFolder(folder.to_path_buf()));
    }
    let reason = first_reason.unwrap_or_default();
    Err(ToolkitError::Unusable { choice: folder.display().to_string(), reason })
}

/// A managed toolkit, installed if missing.
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

/// The first toolkit that can compile `.cu` files; a managed toolkit is preferred to one that cannot.
fn search(
    cx: &install::Context<'_>,
    wanted: Option<VersionRequest>,
    refuses: Refuses<'_>,
) -> Result<Selection, ToolkitError> {
    let mut notes = Vec::new();
    let mut looked = Vec::new();
    let mut second_best = None;
    for source in sources(cx.environment) {
        if source.places.is_empty() {
            looked.push(Refused { place: source.name, reason: source.absent });
        }
        for place in source.places {
            let reason = match check_found(&place, refuses, cx.cancel) {
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
            // A user who set a variable must learn that it is ignored.
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::discover::{include_dirs, number_of_output, targets};
    use crate::testing::{Machine, program};
    use lmem_base::version::Version;

    /// The selected toolkit's folder below the machine's root, its origin, and the notes.
    fn found(machine: &Machine, choice: Option<&str>) -> (String, String, Vec<String>) {
        let request = Request { choice, configured: None, offline: true, quiet: true, refuses: None };
        let selection = select(&machine.environment(), request, &AtomicBool::new(false)).unwrap();
        let root = machine.relative(&selection.toolkit.root);
        (root, selection.toolkit.found, selection.notes.iter().map(|note| machine.without_root(note)).collect())
    }

    fn error(machine: &Machine, choice: Option<&str>, configured: Option<&str>) -> ToolkitError {
        let request = Request { choice, configured, offline: true, quiet: true, refuses: None };
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
        // A complete toolkit is preferred, wherever it is.
        machine.managed("13.5.37");
        assert_eq!(found(&machine, None).1, "managed");
        // An explicit choice takes precedence.
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
    fn what_a_tree_may_have_brought_is_not_started() {
        let machine = Machine::new();
        machine.toolkit("tree/cuda", "13.5.37").set("CUDA_HOME", "tree/cuda").set("HOME", "tree");
        machine.toolkit("tree/bin", "13.5.36").set("CONDA_PREFIX", "tree/bin").set_path(&["tree/bin/bin"]);
        machine.wheels("tree/.local/lib/python3.12/site-packages", "13.4.1").toolkit("usr/local/cuda", "12.4.131");
        let tree = machine.path("tree");
        let refuse = |folder: &Path| folder.starts_with(&tree).then(|| "it is of the tree".to_owned());
        let select = |choice| {
            let request = Request { choice, offline: true, refuses: Some(&refuse), ..Request::default() };
            select(&machine.environment(), request, &AtomicBool::new(false)).map(|it| it.toolkit.number)
        };
        assert_eq!(select(None).unwrap(), "13.5.37", "it is named");
        assert_eq!(select(Some("12.4")).unwrap(), "12.4.131");
        for version in ["13.5.36", "13.4"] {
            assert!(select(Some(version)).unwrap_err().to_string().contains("it is of the tree"), "{version}");
        }
    }

    #[test]
    fn relative_places_are_refused() {
        for name in ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CONDA_PREFIX"] {
            let machine = Machine::new();
            machine.toolkit("usr/local/cuda", "12.4.131");
            let mut environment = machine.environment();
            let relative = from_here(&machine.toolkit("t", "13.5.37").path("t"));
            environment.variables.insert(name.to_owned(), relative.into());
            let request = Request { choice: None, configured: None, offline: true, quiet: true, refuses: None };
            let selection = select(&environment, request, &AtomicBool::new(false)).unwrap();
            assert_eq!(selection.toolkit.number, "12.4.131", "{name}");
            if name.starts_with("CUDA") {
                assert!(selection.notes[0].contains("a relative path"), "{:?}", selection.notes);
            }
        }
    }

    /// A path from the current folder.
    fn from_here(path: &Path) -> PathBuf {
        let up = std::env::current_dir().unwrap().components().count() - 1;
        std::iter::repeat_n("..", up).collect::<PathBuf>().join(path.strip_prefix("/").unwrap())
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
            let request = Request { choice, configured, offline: true, quiet: true, refuses: None };
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
        assert!(matches!(error(&machine, Some("/no/such/folder"), None), ToolkitError::NotAFolder(_)));
        std::fs::create_dir(machine.path("empty")).unwrap();
        assert!(matches!(error(&machine, machine.path("empty").to_str(), None), ToolkitError::Unusable { .. }));
        assert!(error(&machine, Some("/dev/null"), None).is_usage());
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
