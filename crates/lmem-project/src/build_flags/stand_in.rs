//! The stand-in for `nvcc` that builds find: it records its command, then executes the real nvcc.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_toolkit::{Toolkit, VARIABLES, is_on_path};
use lmem_base::gpu::Arch;

use super::record::{Record, Records, hash};

/// Hidden subcommand that the stand-in runs.
pub const NVCC_STAND_IN: &str = "__nvcc";

/// Environment variables of the stand-in: where to write records, the build's name, and the real nvcc.
const RECORDS: &str = "CARGO_LMEM_RECORDS";
const RUN: &str = "CARGO_LMEM_BUILD";
const REAL: &str = "CARGO_LMEM_NVCC";
const DEFAULT: &str = "CARGO_LMEM_NVCC_DEFAULT";

/// Compute capability that a GPU of the wanted architecture would report: `9.0`.
const CAPABILITY: &str = "CARGO_LMEM_COMPUTE_CAPABILITY";

/// Where build scripts look for a toolkit by default.
const USUAL_PLACES: [&str; 4] = ["/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda", "/usr/bin"];

/// Replacement for `nvidia-smi`: build scripts ask it for the GPU to compile for, and some fail without an answer.
const NVIDIA_SMI: &str = "#!/bin/sh
# There is no GPU, and builds are to be seen all the same: this answers for one.
case \"$*\" in
    *compute_cap*noheader*) echo \"$CARGO_LMEM_COMPUTE_CAPABILITY\" ;;
    *compute_cap*) printf 'compute_cap\\n%s\\n' \"$CARGO_LMEM_COMPUTE_CAPABILITY\" ;;
    *) echo 'there is no GPU' >&2; exit 9 ;;
esac
";

/// Records the command, and executes the real `nvcc` in its place.
///
/// Recording must not break the build: a command that cannot be recorded is skipped.
///
/// # Errors
/// The real `nvcc` cannot be executed.
pub fn stand_in(arguments: &[OsString]) -> io::Error {
    let variable = std::env::var_os;
    if let (Some(folder), Some(run)) = (variable(RECORDS), variable(RUN).and_then(|run| run.into_string().ok())) {
        let record = Record::of_command(arguments, run, std::env::var(DEFAULT).ok())
            .filter(|record| record.invocation().is_some());
        if let Some(record) = record {
            drop(Records::new(PathBuf::from(folder)).put(&record));
        }
    }
    match variable(REAL) {
        Some(program) => Command::new(program).args(arguments).exec(),
        None => io::Error::new(io::ErrorKind::NotFound, format!("`{REAL}` does not say which nvcc to run")),
    }
}

/// A copy of a toolkit made of symbolic links, in which `bin/nvcc` is the stand-in.
///
/// Build scripts find nvcc on `PATH`, through variables, or in `CUDA_HOME`, and the headers and libraries next to it.
#[derive(Debug)]
pub struct ShadowToolkit {
    pub root: PathBuf,
    real: PathBuf,
    /// The real nvcc's default architecture.
    default_architecture: &'static str,
}

impl ShadowToolkit {
    /// Makes the shadow of a toolkit in a folder. Its path is the same for the same toolkit, because cargo runs build
    /// scripts again when it changes.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn make(folder: &Path, toolkit: &Toolkit, nvcc: &Path, program: &Path) -> io::Result<Self> {
        let name = hash(&[&toolkit.root.to_string_lossy(), &toolkit.number]);
        let root = folder.join(name);
        let bin = root.join("bin");
        fs_err::create_dir_all(&bin)?;
        for entry in fs_err::read_dir(&toolkit.root)?.filter_map(Result::ok) {
            link(&entry.path(), &root.join(entry.file_name()))?;
        }
        for entry in fs_err::read_dir(toolkit.root.join("bin"))?.filter_map(Result::ok) {
            link(&entry.path(), &bin.join(entry.file_name()))?;
        }
        // NVIDIA's wheels only have `lib`.
        if toolkit.root.join("lib").is_dir() {
            link(&toolkit.root.join("lib"), &root.join("lib64"))?;
        }
        write_program(&bin.join("nvcc"), &script(program))?;
        let smi = bin.join("nvidia-smi");
        match is_on_path("nvidia-smi") {
            false => write_program(&smi, NVIDIA_SMI)?,
            true if smi.is_file() => fs_err::remove_file(smi)?,
            true => {}
        }
        // The defaults of CUDA 12.9, 13.0 and 13.5.
        let default_architecture = if toolkit.version.major >= 13 { "compute_75" } else { "compute_52" };
        Ok(Self { root, real: nvcc.to_path_buf(), default_architecture })
    }

    fn nvcc(&self) -> PathBuf {
        self.root.join("bin/nvcc")
    }

    /// Makes a command, and all processes that it starts, use the stand-in and write to `records`. Builds that query
    /// the GPU get the real answer, or `architecture` if there is no GPU.
    pub fn stand_before(&self, command: &mut Command, records: &Path, run: &str, architecture: &str) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.root.join("bin")).chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(folders) {
            command.env("PATH", path);
        }
        command.env(RECORDS, records).env(RUN, run).env(REAL, &self.real).env(DEFAULT, self.default_architecture);
        let number = Arch::of(architecture).number();
        command.env(CAPABILITY, format!("{}.{}", number / 10, number % 10));
        if std::env::var_os("CUDA_COMPUTE_CAP").is_none() {
            command.env("CUDA_COMPUTE_CAP", number.to_string());
        }
        // Some builds take these variables as a sign of another system. They are therefore set only where they were set
        // before, or where the toolkit would not be found without them.
        let is_usual = self.real.ancestors().any(|folder| USUAL_PLACES.iter().any(|place| folder == Path::new(place)));
        for name in VARIABLES {
            if !is_usual || std::env::var_os(name).is_some() {
                command.env(name, &self.root);
            }
        }
        // cust reads no other variable, and does not build without `lib64`.
        if !is_usual && std::env::var_os("CUDA_LIBRARY_PATH").is_none() {
            command.env("CUDA_LIBRARY_PATH", &self.root);
        }
        let is_nvcc = |name: &OsStr| {
            let name = name.to_string_lossy();
            // `cc` prefers variables that name the target: `NVCC_x86_64-unknown-linux-gnu`.
            name.strip_prefix("NVCC_").is_some_and(|target| target.contains("linux")) || name.ends_with("_NVCC")
        };
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_nvcc(name)) {
            command.env_remove(name);
        }
        command.env("NVCC", self.nvcc()).env("CUDACXX", self.nvcc());
    }
}

/// Makes a link. An existing link to the same target, or an existing folder, stays.
fn link(target: &Path, at: &Path) -> io::Result<()> {
    if at.ends_with("bin") || at.ends_with("bin/nvcc") || fs_err::read_link(at).is_ok_and(|found| found == target) {
        return Ok(());
    }
    match symlink(target, at) {
        // Another run made the same link.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

/// The stand-in as a script: some builds inspect the file, so it needs a path of its own.
fn script(program: &Path) -> String {
    let quoted = program.to_string_lossy().replace('\'', r"'\''");
    format!("#!/bin/sh\nexec '{quoted}' lmem {NVCC_STAND_IN} -- \"$@\"\n")
}

fn write_program(path: &Path, text: &str) -> io::Result<()> {
    if fs_err::read_to_string(path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut file, text.as_bytes())?;
    fs_err::set_permissions(file.path(), std::fs::Permissions::from_mode(0o755))?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::version::Version;

    #[test]
    fn builds_are_told_of_a_gpu() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("smi");
        write_program(&path, NVIDIA_SMI).unwrap();
        let ask = |arguments: &[&str]| {
            let output = Command::new(&path).args(arguments).env(CAPABILITY, "9.0").output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(ask(&["--query-gpu=compute_cap", "--format=csv"]), "compute_cap\n9.0\n");
        assert_eq!(ask(&["--query-gpu=compute_cap", "--format=csv,noheader"]), "9.0\n");
        assert_eq!(ask(&[]), "");
    }

    #[test]
    fn the_shadow_is_the_toolkit_but_for_nvcc() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("real");
        for file in ["bin/nvcc", "bin/ptxas", "include/cuda.h", "lib/libcudart.so"] {
            let path = root.join(file);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, file).unwrap();
        }
        let nvcc = root.join("bin/nvcc");
        let toolkit = Toolkit {
            root: root.clone(),
            version: Version { major: 13, minor: 5 },
            number: "13.5".into(),
            nvcc: Some(nvcc.clone()),
            ptxas: root.join("bin/ptxas"),
            nvrtc: None,
            lacks: Vec::new(),
            found: "here".into(),
        };
        let make =
            || ShadowToolkit::make(&folder.path().join("it's"), &toolkit, &nvcc, Path::new("/my 'own'/p")).unwrap();
        let shadow = make();
        let read = |file: &str| fs_err::read_to_string(shadow.root.join(file)).unwrap();
        assert_eq!(
            [read("bin/ptxas"), read("include/cuda.h"), read("lib64/libcudart.so")],
            ["bin/ptxas", "include/cuda.h", "lib/libcudart.so"]
        );
        assert_eq!(read("bin/nvcc"), "#!/bin/sh\nexec '/my '\\''own'\\''/p' lmem __nvcc -- \"$@\"\n");
        assert_eq!(fs_err::read_to_string(&nvcc).unwrap(), "bin/nvcc");
        assert_eq!(make().root, shadow.root);
    }
}
