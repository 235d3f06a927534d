//! Runs the build scripts of packages, with a stand-in for nvcc.
//!
//! `cargo check` runs build scripts and links nothing. The release profile is used because in a debug profile the `cc`
//! crate passes `-G` to nvcc, which puts every variable into local memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cargo_metadata::Message;
use cargo_metadata::diagnostic::DiagnosticLevel;

use lmem_base::process::{self, End};

use super::record::removed;
use super::stand_in::ShadowToolkit;
use super::{Asked, CaptureError};
use crate::discover::packages::Package;

/// Builds are not limited in time.
const NO_LIMIT: Duration = Duration::MAX;

/// Name of the file that ties a target folder to the records of its builds.
const STAMP: &str = "records";

/// The outcome of a build.
#[derive(Debug, Default)]
pub struct Build {
    /// `OUT_DIR` folders of the build scripts that ran, now or earlier, by package id.
    pub out_dirs: BTreeMap<String, BTreeSet<PathBuf>>,
    /// Whether cargo reported an error.
    pub failed: bool,
}

/// Runs cargo for packages of one workspace.
///
/// # Errors
/// Cargo cannot be started, or the run was interrupted.
pub fn build(
    packages: &[&Package],
    asked: &Asked<'_>,
    shadow: &ShadowToolkit,
    records: &Path,
    run: &str,
    cancel: &AtomicBool,
) -> Result<Build, CaptureError> {
    let Some(first) = packages.first() else { return Ok(Build::default()) };
    let target = first.capture_folder();
    tie(&target, records)?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["check", "--release", "--keep-going", "--message-format=json"]);
    command.arg("--manifest-path").arg(&first.manifest_path).arg("--target-dir").arg(&target);
    command.args(packages.iter().flat_map(|package| ["--package", package.id.as_str()])).args(asked.features);
    if asked.offline {
        command.arg("--offline");
    }
    if asked.quiet {
        command.arg("--quiet");
    }
    shadow.stand_before(&mut command, records, run, asked.architecture);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(CaptureError::io("cargo cannot be started"))?;
    let reader = child.stdout.take().map(|stdout| std::thread::spawn(move || out_dirs(BufReader::new(stdout))));
    let end = process::wait(&mut child, NO_LIMIT, cancel, || ()).map_err(CaptureError::io("cargo is lost"))?;
    let out_dirs = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
    match end {
        End::Cancelled => Err(CaptureError::Interrupted),
        end => Ok(Build { out_dirs, failed: end != End::Exit(0) }),
    }
}

fn out_dirs(messages: impl std::io::BufRead) -> BTreeMap<String, BTreeSet<PathBuf>> {
    let mut folders: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for message in Message::parse_stream(messages).filter_map(Result::ok) {
        match message {
            Message::BuildScriptExecuted(script) => {
                folders.entry(script.package_id.repr).or_default().insert(script.out_dir.into_std_path_buf());
            }
            // The user did not ask for warnings about Rust code.
            Message::CompilerMessage(found) if found.message.level == DiagnosticLevel::Error => {
                lmem_base::say::styled(&found.message.rendered.unwrap_or_default());
            }
            _ => {}
        }
    }
    folders
}

/// Removes what cargo keeps of a build script's run, so that the script runs again and has nothing to skip.
pub fn forget(target: &Path, out_dir: &Path) -> io::Result<()> {
    let run = out_dir.parent().filter(|run| run.starts_with(target) && *run != target);
    let Some((run, (builds, name))) = run.and_then(|run| Some((run, (run.parent()?, run.file_name()?)))) else {
        return Ok(());
    };
    // Without its fingerprint, cargo does not take the run for done.
    if let Some(profile) = builds.parent().filter(|_| builds.ends_with("build")) {
        removed(&profile.join(".fingerprint").join(name))?;
    }
    removed(run)
}

/// Ties a target folder to a records folder. Cargo skips build scripts whose result it knows, and only our records tell
/// what they compiled. So if the records are not those of the last build, the build starts over.
fn tie(target: &Path, records: &Path) -> Result<(), CaptureError> {
    let stamps = [target.join(STAMP), records.join(STAMP)];
    let read = |path: &PathBuf| fs_err::read_to_string(path).ok().filter(|text| !text.is_empty());
    let [of_build, of_records] = [read(&stamps[0]), read(&stamps[1])];
    if of_build.is_some() && of_build == of_records {
        return Ok(());
    }
    // Only a folder with cargo's own mark is deleted.
    let is_cargos = target.join("CACHEDIR.TAG").is_file();
    if target.exists() && !is_cargos && fs_err::read_dir(target).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(CaptureError::Occupied(target.to_path_buf()));
    }
    for folder in [target, records].into_iter().filter(|folder| folder.exists()) {
        fs_err::remove_dir_all(folder).map_err(CaptureError::io("an older build cannot be removed"))?;
    }
    let stamp = super::stamp();
    for (folder, path) in [target, records].into_iter().zip(&stamps) {
        let made = fs_err::create_dir_all(folder).and_then(|()| fs_err::write(path, &stamp));
        made.map_err(CaptureError::io("the folder of the build cannot be made"))?;
    }
    let tag = "Signature: 8a477f597d28d172789f06886806bc55\n# Builds of `cargo lmem --capture`.\n";
    fs_err::write(target.join("CACHEDIR.TAG"), tag).map_err(CaptureError::io("the folder of the build cannot be made"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_and_records_live_together() {
        let folder = tempfile::tempdir().unwrap();
        let (target, records) = (folder.path().join("target/lmem"), folder.path().join("records"));
        tie(&target, &records).unwrap();
        fs_err::write(target.join("x"), "").unwrap();
        tie(&target, &records).unwrap();
        assert!(target.join("x").is_file());
        fs_err::remove_dir_all(&records).unwrap();
        tie(&target, &records).unwrap();
        assert!(!target.join("x").exists() && records.is_dir());
    }

    #[test]
    fn only_the_run_of_one_script_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target/lmem");
        let release = target.join("release");
        for path in ["build/a-1/out", "build/a-2", "build/b-1/out", ".fingerprint/a-1", ".fingerprint/b-1"] {
            fs_err::create_dir_all(release.join(path)).unwrap();
        }
        forget(&target, &release.join("build/a-1/out")).unwrap();
        forget(&target, &release.join("build/gone-1/out")).unwrap();
        let is_there = |path: &str| release.join(path).is_dir();
        assert!(!is_there("build/a-1") && !is_there(".fingerprint/a-1"));
        assert!(is_there("build/a-2") && is_there("build/b-1/out") && is_there(".fingerprint/b-1"));
        forget(&target, &folder.path().join("out")).unwrap();
        forget(&target, &target.join("out")).unwrap();
        assert!(target.is_dir());
    }

    #[test]
    fn a_folder_of_somebody_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join("mine"), "").unwrap();
        let error = tie(folder.path(), &folder.path().join("records")).unwrap_err();
        assert!(matches!(error, CaptureError::Occupied(_)), "{error}");
        assert!(folder.path().join("mine").is_file());
    }
}
