//! Runs the tool on a test crate, in this process.

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

/// Two generations with equal frames for arrays, and one whose frames often differ.
pub const ARCHITECTURES: &[&str] = &["sm_80", "sm_90", "sm_120"];

/// The arguments of `cargo lmem check` for some architectures.
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

/// Checks a copy of a test crate in `folder`.
pub fn check(
    test_crate: &TestCrate,
    folder: &Path,
    toolkit: Toolkit,
    source: &dyn ArtifactSource,
    more: &[&str],
) -> Result<Outcome, Problem> {
    let surroundings =
        Surroundings { current_folder: Some(folder), recorded: Some((toolkit, source)), ..Surroundings::default() };
    let arguments = arguments(test_crate.architectures, more);
    let outcome = check_in(surroundings, &arguments, &AtomicBool::new(false));
    outcome.map_err(|error| format!("the check could not start: {error}"))
}

/// The report as a user sees it, without the name of the folder.
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
