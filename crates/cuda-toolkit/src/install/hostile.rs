//! Indexes and wheels that are not NVIDIA's: nothing of them is executed, nothing is written beside the folder, and nothing stays.
//!
//! Fake installers leave what a hostile wheel would; the tests after them ask the real `pip`, where there is one, with wheels in a
//! folder in place of the index. (With `file://` pip takes the same way, and it is pip that follows redirects.)

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::*;
use crate::testing::{IN_STAGING, Machine, program};

fn install(machine: &Machine, wanted: &str) -> Result<Toolkit, ToolkitError> {
    let (cancel, environment) = (AtomicBool::new(false), &machine.environment());
    let cx = Context { environment, offline: false, quiet: true, unverified: true, cancel: &cancel };
    toolkit(&cx, Some(wanted.parse().unwrap()))
}

/// Everything on the machine, without the tools, which do not change.
fn there(machine: &Machine) -> Vec<PathBuf> {
    let all = walkdir::WalkDir::new(machine.path("")).sort_by_file_name().into_iter().filter_map(Result::ok);
    let is_kept = |path: &PathBuf| !path.ends_with("log") && !path.starts_with(machine.path("home/.cache"));
    all.map(walkdir::DirEntry::into_path).filter(is_kept).collect()
}

fn left(machine: &Machine) -> Vec<PathBuf> {
    let folder = machine.path("home/.cache/cargo-lmem/toolkits");
    discover::entries(&folder).into_iter().filter(|path| !path.ends_with(".lock")).collect()
}

/// Installs, and gives the error: nothing is left, nowhere.
fn refused(machine: &Machine, wanted: &str) -> String {
    let before = there(machine);
    let error = install(machine, wanted).unwrap_err().to_string();
    assert_eq!(left(machine), Vec::<PathBuf>::new(), "{error}");
    assert_eq!(there(machine), before, "{error}");
    error
}

fn fake(after: &str) -> Machine {
    let machine = Machine::new();
    machine.wheels("wheels", releases::newest().number);
    machine.installer("uv", &format!("cp -r \"$machine/wheels\" packages\n{after}"));
    machine
}

#[test]
fn links_out_of_the_packages_are_refused() {
    for link in ["/etc", "../../../../../..", "/no/such/place"] {
        let error = refused(&fake(&format!("ln -s {link} packages/nvidia/cu13/include/more")), "13.5");
        assert!(error.ends_with("`nvidia/cu13/include/more` in it leads elsewhere"), "{error}");
    }
    assert!(install(&fake("ln -s libnvrtc.so.13 packages/nvidia/cu13/lib/libnvrtc.so"), "13.5").is_ok());
}

#[test]
fn pipes_are_refused() {
    let error = refused(&fake("mkfifo packages/nvidia/cu13/include/header.h"), "13.5");
    assert!(error.contains("leads elsewhere"), "{error}");
}

#[test]
fn programs_that_are_links_are_not_started() {
    let machine = fake("rm packages/nvidia/cu13/bin/nvcc; ln -s \"$machine/evil\" packages/nvidia/cu13/bin/nvcc");
    let executed = machine.path("executed");
    program(&machine.path("evil"), &format!("touch {}", executed.display()));
    assert!(refused(&machine, "13.5").contains("leads elsewhere") && !executed.exists());
}

#[test]
fn the_version_that_a_compiler_tells_names_no_other_folder() {
    let machine = Machine::new();
    machine.wheels("wheels", "../../../outside").installer("uv", "cp -r \"$machine/wheels\" packages");
    refused(&machine, "13.5");
    refused(&machine, "13.9");
}

/// The download of an endless response, and what a wheel of zeros becomes.
#[test]
fn more_than_a_toolkit_is_given_up() {
    for place in ["tmp/wheel", "packages/zeros"] {
        let machine = fake(&format!("mkdir -p packages; truncate -s 20G {place}; sleep 60"));
        let started = Instant::now();
        let error = refused(&machine, "13.5");
        assert!(error.contains("it takes more than 8 GiB"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}

/// A Python with pip; else nothing of the real one can be tried. What is found on `PATH` may be a script that looks for one anew each time.
fn python() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let path = std::env::var_os("PATH")?;
        let mut pythons = std::env::split_paths(&path).map(|folder| folder.join("python3"));
        pythons.find_map(|python| {
            let output = Command::new(python).args(["-c", "import pip, sys; print(sys.executable)"]).output().ok()?;
            let program = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
            (output.status.success() && program.is_absolute()).then_some(program)
        })
    };
    FOUND.get_or_init(find).clone()
}

/// A machine whose index is a folder with one wheel, made of the lines of a Python program: `entry(name, text)` adds a file to it.
fn with_wheel(name: &str, entries: &str) -> Option<Machine> {
    let python = python()?;
    let machine = Machine::new();
    let script = format!(
        "import zipfile, sys\n\
         wheel = zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED)\n\
         entry = wheel.writestr\n\
         info = '{name}-13.5.37.dist-info/'\n\
         entry(info + 'METADATA', 'Metadata-Version: 2.1\\nName: {name}\\nVersion: 13.5.37\\n')\n\
         entry(info + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
         {entries}\n\
         entry(info + 'RECORD', '')\n\
         wheel.close()\n"
    );
    std::fs::create_dir(machine.path("index")).unwrap();
    let wheel = machine.path("index").join(format!("{name}-13.5.37-py3-none-any.whl"));
    let made = Command::new(&python).arg("-c").arg(&script).arg(&wheel).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    with_pip(&machine, &python);
    Some(machine)
}

fn with_pip(machine: &Machine, python: &Path) {
    let index = machine.path("index");
    let run = format!("export PIP_NO_INDEX=1 PIP_FIND_LINKS='{}' PIP_NO_CACHE_DIR=1", index.display());
    // Only the wheel that is there is asked for.
    let only =
        "case \"$*\" in *requirements.txt*) grep nvidia-cuda-nvcc requirements.txt > r; mv r requirements.txt;; esac";
    program(
        &machine.path("tools/python3"),
        &format!("{run}\n{IN_STAGING}\n{only}\nexec '{}' \"$@\"", python.display()),
    );
    machine.set_path(&["tools"]);
}

#[test]
fn pip_refuses_a_wheel_with_another_hash() {
    let Some(machine) = with_wheel("nvidia_cuda_nvcc", "entry('nvidia/cu13/bin/nvcc', '#!/bin/sh')") else { return };
    let error = refused(&machine, "13.5");
    assert!(error.to_lowercase().contains("hash"), "{error}");
}

#[test]
fn pip_writes_no_entry_beside_the_folder() {
    for place in ["../../escaped", "nvidia_cuda_nvcc-13.5.37.data/data/../../../escaped"] {
        let Some(machine) = with_wheel("nvidia_cuda_nvcc", &format!("entry('{place}', 'x')")) else { return };
        refused(&machine, "13.9");
    }
    let Some(machine) = with_wheel("nvidia_cuda_nvcc", "entry('/tmp/lmem-escaped', 'x')") else { return };
    refused(&machine, "13.5.37");
    assert!(!Path::new("/tmp/lmem-escaped").exists());
}

#[test]
fn pip_makes_no_links() {
    let link =
        "link = zipfile.ZipInfo('nvidia/cu13/bin'); link.external_attr = 0o120777 << 16; entry(link, '/usr/bin')";
    let Some(machine) = with_wheel("nvidia_cuda_nvcc", link) else { return };
    refused(&machine, "13.5.37");
}

/// A source distribution would run its `setup.py`.
#[test]
fn pip_builds_nothing() {
    let Some(python) = python() else { return };
    let machine = Machine::new();
    std::fs::create_dir(machine.path("index")).unwrap();
    let executed = machine.path("executed");
    let script = format!(
        "import tarfile, io, sys\n\
         archive = tarfile.open(sys.argv[1], 'w:gz')\n\
         text = b\"open('{}', 'w')\"\n\
         file = tarfile.TarInfo('nvidia-cuda-nvcc-13.5.37/setup.py'); file.size = len(text)\n\
         archive.addfile(file, io.BytesIO(text)); archive.close()\n",
        executed.display()
    );
    let archive = machine.path("index/nvidia-cuda-nvcc-13.5.37.tar.gz");
    assert!(Command::new(&python).arg("-c").arg(script).arg(archive).status().unwrap().success());
    with_pip(&machine, &python);
    refused(&machine, "13.5.37");
    assert!(!executed.exists());
}
