//! Runs the tool in this process, on a test crate.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use clap::Parser;

use cargo_lmem::check::{ArtifactSource, Outcome, Surroundings, check_in};
use cargo_lmem::cli::{Cargo, CheckArgs, Command, MessageFormat};
use cargo_lmem::report::{Context, DEFAULT_WIDTH, PackageInfo, render};
use cuda_toolkit::Toolkit;
use lmem_project::discover::Package;

use super::Problem;
use super::crates::TestCrate;

/// Two generations of which the frames of arrays are the same, and one where they often are not.
pub const ARCHITECTURES: &[&str] = &["sm_80", "sm_90", "sm_120"];

/// `cargo lmem check` for some architectures, with more arguments.
pub fn arguments(architectures: &[&str], more: &[&str]) -> CheckArgs {
    let architectures = architectures.join(",");
    let fixed = ["cargo", "lmem", "check", "--quiet", "--arch", &architectures];
    match Cargo::parse_from(fixed.iter().chain(more)) {
        Cargo::Lmem(arguments) => match arguments.command {
            Some(Command::Check(arguments)) => *arguments,
            _ => unreachable!("the command was `check`"),
        },
    }
}

/// Checks a copy of a test crate that lies in `folder`.
pub fn check(
    test_crate: &TestCrate,
    folder: &Path,
    toolkit: Toolkit,
    source: &dyn ArtifactSource,
    more: &[&str],
) -> Result<Outcome, Problem> {
    let surroundings = Surroundings { current_folder: Some(folder), recorded: Some((toolkit, source)), program: None };
    let arguments = arguments(test_crate.architectures, more);
    let outcome = check_in(surroundings, &arguments, &AtomicBool::new(false));
    outcome.map_err(|error| format!("the check could not start: {error}"))
}

/// The report as a user would see it, without the folder that it was made in.
pub fn report(outcome: &Outcome, format: MessageFormat) -> Result<String, Problem> {
    let root = &outcome.workspace.root;
    let packages: Vec<PackageInfo> = outcome.workspace.packages.iter().filter_map(package_info).collect();
    let cx = Context {
        packages: &packages,
        root,
        repository_prefix: "",
        lint_docs: lmem_lints::documentation,
        color: false,
        width: DEFAULT_WIDTH,
        full: false,
        limit: None,
    };
    let mut text = Vec::new();
    render(&outcome.report, format, &cx, &mut text).map_err(|error| error.to_string())?;
    let text = String::from_utf8(text).map_err(|error| error.to_string())?;
    Ok(text.replace(&*root.to_string_lossy(), "/crate"))
}

fn package_info(package: &Package) -> Option<PackageInfo> {
    Some(PackageInfo {
        name: package.name.clone(),
        id: package.id.clone(),
        manifest_path: package.manifest_path.clone(),
        target: package.targets.first()?.clone(),
    })
}
