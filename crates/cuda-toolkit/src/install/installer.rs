//! `uv` and `pip`: detection and command lines.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::fetch::last_lines;
use super::plan::Plan;
use crate::environment::Environment;
use crate::process;

/// A program that installs Python wheels.
pub(super) struct Installer {
    /// "`uv`", "`python3 -m pip`".
    pub(super) name: String,
    pub(super) program: PathBuf,
    /// Arguments before the installer's own: `-m pip`.
    pub(super) prefix: &'static [&'static str],
    pub(super) is_uv: bool,
}

impl Installer {
    /// Installers to try, best first.
    pub(super) fn candidates(environment: &Environment) -> Vec<Self> {
        let table: [(&str, &str, &'static [&'static str]); 5] = [
            ("`uv`", "uv", &[]),
            ("`python3 -m pip`", "python3", &["-m", "pip"]),
            ("`pip3`", "pip3", &[]),
            ("`pip`", "pip", &[]),
            ("`python -m pip`", "python", &["-m", "pip"]),
        ];
        let candidate = |(name, program, prefix): (&str, &str, &'static [&'static str])| {
            let path = environment.on_path(program).into_iter().next()?;
            Some(Self { name: name.to_owned(), program: path, prefix, is_uv: program == "uv" })
        };
        table.into_iter().filter_map(candidate).collect()
    }

    pub(super) fn command(&self, staging: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.prefix);
        // Neither in the workspace nor below it, as a cache may be: `python -m` imports from the current folder, and uv looks
        // for environments and settings in all parents.
        command.current_dir("/");
        // Temporary files go into the staging folder. They are renamed instead of copied, do not fill a small `/tmp`,
        // and are deleted with it.
        command.env("TMPDIR", staging.join("tmp"));
        // Overrides user settings that conflict with `--target` or prompt for input.
        command.envs([("PIP_USER", "0"), ("PIP_REQUIRE_VIRTUALENV", "0"), ("PIP_NO_INPUT", "1")]);
        command.envs([("PIP_DISABLE_PIP_VERSION_CHECK", "1"), ("PIP_ROOT_USER_ACTION", "ignore")]);
        for variable in ["PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_DRY_RUN", "PIP_PLATFORM", "PIP_PYTHON"] {
            command.env_remove(variable);
        }
        command
    }

    /// Checks that the installer runs: Debian's python3 has no pip, and a pyenv shim may have no target.
    pub(super) fn works(&self, staging: &Path, cancel: &AtomicBool) -> Result<(), String> {
        let ended = process::run(
            self.command(staging).arg("--version").stdin(Stdio::null()),
            cancel,
            Duration::from_secs(60),
            || (),
        );
        match ended {
            Ok(ended) if ended.status.success() => Ok(()),
            Ok(ended) => Err(last_lines(&ended.output, 1)),
            Err(error) => Err(error.to_string()),
        }
    }

    pub(super) fn install(&self, staging: &Path, plan: &Plan, offline: bool) -> Command {
        let mut command = self.command(staging);
        if self.is_uv {
            command.arg("pip");
        }
        command
            .args(["install", "--quiet", "--no-deps", "--only-binary", ":all:", "--target"])
            .arg(staging.join("packages"));
        if self.is_uv {
            command.args(["--no-progress"]);
        } else {
            command.args(["--progress-bar", "off", "--no-compile"]);
        }
        if plan.verified {
            command.arg("--require-hashes");
        }
        if offline {
            // pip has no offline switch, but it finds wheels in the folders of its configuration.
            command.arg(if self.is_uv { "--offline" } else { "--no-index" });
        }
        command.arg("-r").arg(staging.join("requirements.txt"));
        command
    }
}
