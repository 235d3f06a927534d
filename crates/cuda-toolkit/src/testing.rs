//! A fake machine for tests: a temporary folder as file system, shell scripts as compilers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::environment::Environment;

pub(super) struct Machine {
    root: TempDir,
    variables: RefCell<BTreeMap<String, OsString>>,
}

/// Goes into the folder that an installer is to fill: it is not started there.
pub(super) const IN_STAGING: &str =
    "before=; for it; do [ \"$before\" = --target ] && cd \"${it%/*}\"; before=$it; done";

impl Machine {
    pub(super) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home");
        std::fs::create_dir(&home).unwrap();
        Self { variables: RefCell::new(BTreeMap::from([("HOME".to_owned(), home.into())])), root }
    }

    pub(super) fn environment(&self) -> Environment {
        Environment { variables: self.variables.borrow().clone(), root: self.root.path().to_path_buf() }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// A path below the machine's root.
    pub(super) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(self.root.path()).unwrap().display().to_string()
    }

    pub(super) fn without_root(&self, text: &str) -> String {
        text.replace(self.root.path().to_str().unwrap(), "")
    }

    /// Sets a variable to a path on the machine.
    pub(super) fn set(&self, variable: &str, path: &str) -> &Self {
        let path = self.path(path);
        self.variables.borrow_mut().insert(variable.to_owned(), path.into());
        self
    }

    pub(super) fn set_path(&self, folders: &[&str]) -> &Self {
        let folders = std::env::join_paths(folders.iter().map(|folder| self.path(folder))).unwrap();
        self.variables.borrow_mut().insert("PATH".to_owned(), folders);
        self
    }

    /// A toolkit in NVIDIA's layout.
    pub(super) fn toolkit(&self, root: &str, number: &str) -> &Self {
        let root = self.path(root);
        compilers(&root, number);
        let version = format!(r#"{{"cuda_nvcc": {{"version": "{number}"}}}}"#);
        std::fs::write(root.join("version.json"), version).unwrap();
        let major = number.split('.').next().unwrap();
        std::fs::create_dir_all(root.join("lib64")).unwrap();
        std::fs::write(root.join(format!("lib64/libnvrtc.so.{major}")), "").unwrap();
        self
    }

    /// A toolkit from wheels in a folder of Python packages.
    pub(super) fn wheels(&self, packages: &str, number: &str) -> &Self {
        wheels(&self.path(packages), number);
        self
    }

    /// An installer on `PATH`. It logs its arguments and requirements to `log`, then runs `install` in the staging
    /// folder, with `$machine` set to the machine's root.
    pub(super) fn installer(&self, name: &str, install: &str) -> &Self {
        let machine = self.root.path().display();
        let log = format!("echo \"{name} $*\" >> '{machine}/log'; cat requirements.txt >> '{machine}/log'");
        let script =
            format!("case \"$*\" in *--version*) exit 0;; esac\n{IN_STAGING}\n{log}\nmachine='{machine}'\n{install}");
        program(&self.path("tools").join(name), &script);
        self.set_path(&["tools"])
    }

    /// The log of the installers.
    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// A toolkit as the installer leaves it.
    pub(super) fn managed(&self, number: &str) -> &Self {
        let folder = self.path("home/.cache/cargo-lmem/toolkits").join(number);
        wheels(&folder, number);
        let marker =
            format!(r#"{{"number": "{number}", "verified": true, "packages": ["nvidia_cuda_nvcc-{number}"]}}"#);
        std::fs::write(folder.join("cargo-lmem.json"), marker).unwrap();
        self
    }
}

fn wheels(packages: &Path, number: &str) {
    let root = packages.join("nvidia/cu13");
    compilers(&root, number);
    for file in ["include/crt/host_defines.h", "include/cuda_runtime.h", "lib/libnvrtc.so.13"] {
        std::fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        std::fs::write(root.join(file), "").unwrap();
    }
    std::fs::create_dir_all(packages.join(format!("nvidia_cuda_nvcc-{number}.dist-info"))).unwrap();
}

fn compilers(root: &Path, number: &str) {
    for name in ["bin/nvcc", "bin/ptxas", "bin/cudafe++", "bin/fatbinary", "nvvm/bin/cicc"] {
        program(&root.join(name), &format!("echo 'Cuda compilation tools, release 0.0, V{number}'"));
    }
}

/// Writes a shell script, through another process. If this process had the file open for writing while a thread forks,
/// running the script would fail with "text file busy".
pub(super) fn program(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut writer = Command::new("/bin/sh")
        .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    write!(writer.stdin.take().unwrap(), "#!/bin/sh\n{script}\n").unwrap();
    assert!(writer.wait().unwrap().success());
}
