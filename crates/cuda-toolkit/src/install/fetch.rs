//! Fetches packages into a staging folder.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use super::installer::Installer;
use super::plan::Plan;
use super::progress::{MAX_BYTES, Progress};
use super::{Context, IN_USE, STAGING, say_licence};
use crate::{Refused, ToolkitError, process};

/// Long enough for a slow connection; a hung installer is killed in the end.
const INSTALLER_LIMIT: Duration = Duration::from_secs(3600);

/// Runs installers until one has filled `packages` in a staging folder. Dropping the result deletes the folder.
pub(super) fn fetch(cx: &Context<'_>, plan: &Plan, folder: &Path) -> Result<TempDir, ToolkitError> {
    let staging = staging_folder(folder)?;
    let requirements = staging.path().join("requirements.txt");
    std::fs::write(&requirements, &plan.requirements).map_err(ToolkitError::io("write", &requirements))?;
    let mut refused = Vec::new();
    let mut attempts = Vec::new();
    for installer in Installer::candidates(cx.environment) {
        let works = installer.works(staging.path(), cx.cancel);
        if cx.cancel.load(Ordering::Relaxed) {
            return Err(ToolkitError::Cancelled);
        }
        if let Err(reason) = works {
            refused.push(Refused { place: installer.name, reason });
            continue;
        }
        // `pip3` would fail in the same way as `python3 -m pip`.
        if !installer.is_uv && attempts.iter().any(|(name, _): &(String, String)| name.contains("pip")) {
            continue;
        }
        if attempts.is_empty() {
            say_licence(cx, folder);
        }
        match fetch_with(cx, plan, &installer, &staging)? {
            Ok(()) => return Ok(staging),
            Err(output) => attempts.push((installer.name, output)),
        }
    }
    if attempts.is_empty() {
        let absent =
            || vec![Refused { place: "`uv`, `python3`, `pip3`, `pip`".to_owned(), reason: "not on `PATH`".to_owned() }];
        return Err(ToolkitError::NoInstaller { looked: if refused.is_empty() { absent() } else { refused } });
    }
    Err(ToolkitError::InstallerFailed { what: plan.what.clone(), attempts, offline: cx.offline })
}

pub(super) fn staging_folder(folder: &Path) -> Result<TempDir, ToolkitError> {
    let prefix = format!("{STAGING}{}-", std::process::id());
    let staging = tempfile::Builder::new().prefix(&prefix).tempdir_in(folder);
    let staging = staging.map_err(ToolkitError::io("write in", folder))?;
    let temporary = staging.path().join("tmp");
    std::fs::create_dir(&temporary).map_err(ToolkitError::io("create", &temporary))?;
    Ok(staging)
}

/// Tries one installer; the inner error is its output.
pub(super) fn fetch_with(
    cx: &Context<'_>,
    plan: &Plan,
    installer: &Installer,
    staging: &TempDir,
) -> Result<Result<(), String>, ToolkitError> {
    let packages = staging.path().join("packages");
    if packages.exists() {
        std::fs::remove_dir_all(&packages).map_err(ToolkitError::io("remove", &packages))?;
    }
    let mut progress = Progress::start(cx, plan, installer);
    let mut command = installer.install(staging.path(), plan, cx.offline);
    // If this process is killed, the installer may live on. It inherits the lock file as standard input, so the lock is
    // held until the installer ends. Otherwise a later run could delete the folder while the installer writes to it.
    let path = staging.path().join(IN_USE);
    let in_use = File::create(&path).map_err(ToolkitError::io("create", &path))?;
    let _ = in_use.try_lock();
    command.stdin(in_use);
    let stop = AtomicBool::new(false);
    let mut is_too_much = false;
    let ended = process::run(&mut command, &stop, INSTALLER_LIMIT, || {
        is_too_much |= progress.tick(staging.path());
        stop.store(is_too_much || cx.cancel.load(Ordering::Relaxed), Ordering::Relaxed);
    });
    match ended {
        Err(_) if is_too_much => Ok(Err(format!("it takes more than {} GiB", MAX_BYTES >> 30))),
        Ok(ended) if ended.status.success() => Ok(Ok(())),
        Ok(ended) => Ok(Err(last_lines(&ended.output, 12))),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(ToolkitError::Cancelled),
        Err(error) => Ok(Err(error.to_string())),
    }
}

pub(super) fn last_lines(output: &str, count: usize) -> String {
    let lines: Vec<&str> = output.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let kept = &lines[lines.len().saturating_sub(count)..];
    if kept.is_empty() { "it printed nothing".to_owned() } else { kept.join("\n") }
}
