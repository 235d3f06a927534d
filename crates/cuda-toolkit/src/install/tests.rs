use std::time::Duration;

use super::*;
use crate::Library;
use crate::testing::{Machine, program};

/// A working installer: copies the tree that [`machine`] prepares.
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

/// Entries of the folder of managed toolkits, hidden ones included.
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
fn headers_are_kept_without_the_libraries() {
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
    let offline = component(&Context { offline: true, ..cx }, &toolkit, Component::Headers(Library::Curand));
    assert!(matches!(offline, Err(ToolkitError::Offline)));
    let folder = component(&cx, &toolkit, Component::Headers(Library::Curand)).unwrap();
    assert_eq!(machine.relative(&folder), "home/.cache/cargo-lmem/components/curand-10.4.5.25/nvidia/cu13");
    assert!(folder.join("include/curand_kernel.h").is_file() && !folder.join("lib").exists());
    let again = component(&Context { offline: true, ..cx }, &toolkit, Component::Headers(Library::Curand));
    assert_eq!(again.unwrap(), folder);
    let old = Toolkit { version: "12.4".parse().unwrap(), ..toolkit };
    let error = component(&cx, &old, Component::Headers(Library::Curand)).unwrap_err();
    assert_eq!(error.to_string(), "the headers of cuRAND of CUDA 12.4 cannot be fetched");
}
