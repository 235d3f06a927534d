//! Pairs of cubins: each file of kernels as it is, and as `--fix --unsafe-fixes` leaves it.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;

/// The architecture that is asked for where the GPU is elsewhere.
pub fn architecture() -> Result<String, Failed> {
    std::env::var("LMEM_GPU_ARCH").map_err(|_| "LMEM_GPU_ARCH says for which architecture, such as sm_90".into())
}

/// Puts `NAME.before.cubin` and `NAME.after.cubin` into a folder.
pub fn make(folder: &Path, architecture: &str) -> Result<(), Failed> {
    let nvcc = toolkit()?.join("bin/nvcc");
    fs_err::create_dir_all(folder)?;
    let place = tempfile::tempdir()?;
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gpu/kernels");
    for entry in fs_err::read_dir(kernels)? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let copy = place.path().join(format!("{name}.cu"));
        fs_err::copy(&path, &copy)?;
        compile(&nvcc, &copy, architecture, &folder.join(format!("{name}.before.cubin")))?;
    }
    let mut fix = lmem(&["--fix", "--unsafe-fixes", "--allow-no-vcs", "--verify-budget", "3600", "--arch"]);
    let output = fix.arg(architecture).arg(".").current_dir(place.path()).output()?;
    println!("{}", String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("`--fix`: {}", output.status).into());
    }
    for entry in fs_err::read_dir(place.path())? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        compile(&nvcc, &path, architecture, &folder.join(format!("{name}.after.cubin")))?;
        fs_err::copy(&path, folder.join(format!("{name}.after.cu")))?;
    }
    Ok(())
}

fn lmem(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-lmem"));
    command.arg("lmem").args(arguments);
    command
}

pub fn toolkit() -> Result<PathBuf, Failed> {
    let output = lmem(&["toolkit", "which"]).output()?;
    match output.status.success() {
        true => Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim())),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
    }
}

pub fn compile(nvcc: &Path, source: &Path, architecture: &str, cubin: &Path) -> Result<(), Failed> {
    let mut command = Command::new(nvcc);
    command.args(["-cubin", "-O3", "-std=c++17", "-arch", architecture, "-o"]).arg(cubin).arg(source);
    let output = command.output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{}: {}", source.display(), String::from_utf8_lossy(&output.stderr)).into()),
    }
}
