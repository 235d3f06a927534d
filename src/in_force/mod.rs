//! `cargo lmem config`: every effective setting, and where it comes from.

mod options;
mod text;

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use serde::Serialize;

use lmem_base::diagnostic::Severity;
use lmem_base::level::Level;
use lmem_base::source::display_path;
use lmem_lints::{Levels, remark};
use lmem_project::config::tables::{Setting, known_keys, settings};
use lmem_project::config::{FILE_NAME, Table};
use lmem_project::discover::{Workspace, discover};

use crate::check::{CheckError, typed_levels};
use crate::cli::CheckArgs;

pub use text::{human, json};

/// The origin of a setting. Later variants take precedence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Origin {
    Default,
    File { file: String, line: usize },
    Environment { variable: String },
    CommandLine { option: String },
}

/// An effective setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InForce {
    pub key: String,
    pub value: String,
    pub origin: Origin,
}

/// The settings of one package, or of the files of a project without Cargo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The package's name; `None` outside of packages.
    pub package: Option<String>,
    pub settings: Vec<InForce>,
}

/// All effective settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Everything {
    pub workspace: PathBuf,
    pub parts: Vec<Part>,
    /// Options of a run, which no file sets.
    pub options: Vec<InForce>,
}

/// The effective settings for a check with these arguments. `matches` are clap's matches, which know the origin of each
/// argument.
///
/// # Errors
/// There is nothing to check here, or a setting is invalid.
pub fn everything(arguments: &CheckArgs, matches: &ArgMatches, folder: &Path) -> Result<Everything, CheckError> {
    let workspace = discover(&arguments.scope(folder))?;
    let typed = typed_levels(arguments)?;
    // Names that no lint has are errors of a check, too.
    let known = lmem_lints::names_with_levels();
    let configs = workspace.packages.iter().map(|it| &it.config).chain(workspace.files.iter().map(|it| &it.config));
    configs.map(|config| config.validate_lints(&known)).collect::<Result<Vec<()>, _>>()?;
    let of_workspace = settings(&workspace.root.join("Cargo.toml"), Some(Table::Workspace));
    let of_workspace = placed(of_workspace, &workspace.root.join("Cargo.toml"), &workspace);
    let mut parts: Vec<Part> = Vec::new();
    for package in &workspace.packages {
        let own = placed(settings(&package.manifest_path, Some(Table::Package)), &package.manifest_path, &workspace);
        let settings = of_part(over(own, &of_workspace), &typed, matches);
        parts.push(Part { package: Some(package.name.clone()), settings });
    }
    for manifest in manifests_without_cargo(&workspace) {
        let own = placed(settings(&manifest, None), &manifest, &workspace);
        parts.push(Part { package: None, settings: of_part(own, &typed, matches) });
    }
    if parts.is_empty() {
        parts.push(Part { package: None, settings: of_part(Vec::new(), &typed, matches) });
    }
    Ok(Everything { workspace: workspace.root, parts, options: options::options(matches) })
}

/// The `lmem.toml` files for files outside of packages.
fn manifests_without_cargo(workspace: &Workspace) -> Vec<PathBuf> {
    let outside = workspace.files.iter().filter(|file| file.package.is_none());
    let mut manifests: Vec<PathBuf> = outside.flat_map(|file| file.config.manifests.iter().cloned()).collect();
    manifests.retain(|path| path.file_name().is_some_and(|name| name == FILE_NAME));
    manifests.sort();
    manifests.dedup();
    manifests
}

fn placed(settings: Vec<Setting>, manifest: &Path, workspace: &Workspace) -> Vec<InForce> {
    let file = display_path(manifest, &workspace.root);
    let place =
        |Setting { key, value, line }| InForce { key, value, origin: Origin::File { file: file.clone(), line } };
    settings.into_iter().map(place).collect()
}

/// The key that is overridden as a whole: the nearest table with a file rule replaces all of them.
fn whole(key: &str) -> &str {
    if key.starts_with("file[") { "file" } else { key }
}

/// Merges settings: nearer ones, then those of the farther table that are not overridden, as in `PackageConfig::over`.
fn over(mut nearer: Vec<InForce>, farther: &[InForce]) -> Vec<InForce> {
    let is_set = |setting: &&InForce| nearer.iter().any(|nearer| whole(&nearer.key) == whole(&setting.key));
    let rest: Vec<InForce> = farther.iter().filter(|setting| !is_set(setting)).cloned().collect();
    nearer.extend(rest);
    nearer
}

/// All keys, with the overrides on the command line.
fn of_part(set: Vec<InForce>, typed: &[(String, Level)], matches: &ArgMatches) -> Vec<InForce> {
    let mut all = Vec::new();
    for key in known_keys() {
        if *key == "lints" {
            all.extend(lints(&set, typed));
            continue;
        }
        let below = |setting: &&InForce| {
            let rest = setting.key.strip_prefix(key);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        match options::overriding(key, matches) {
            Some(typed) => all.push(typed),
            None => all.extend(set.iter().filter(below).cloned()),
        }
        if !all.iter().any(|setting: &InForce| whole(&setting.key).split('.').next() == Some(*key)) {
            all.push(InForce { key: key.to_string(), value: default_of(key).to_string(), origin: Origin::Default });
        }
    }
    all
}

/// The default of a key.
fn default_of(key: &str) -> &'static str {
    match key {
        "arch" => "of the build, else this machine's GPU, else sm_80",
        "toolkit" => "the first that is found (`cargo lmem toolkit list`)",
        "nvcc-flags" => "[\"-std=c++17\"], where no build says others",
        _ => "none",
    }
}

/// The level of each lint and remark.
fn lints(set: &[InForce], typed: &[(String, Level)]) -> Vec<InForce> {
    let mut of_files = Levels::default();
    for setting in set {
        let name = setting.key.strip_prefix("lints.").map(|name| name.replace('-', "_"));
        let level = Level::parse(setting.value.trim_matches(['"', '\'']));
        if let (Some(name), Some(level)) = (name, level) {
            of_files.set(&name, level);
        }
    }
    let mut of_all = of_files.clone();
    typed.iter().for_each(|(name, level)| of_all.set(name, *level));
    let entry = |name: &str| {
        let named = |wanted: &str| {
            let is_it = |setting: &&InForce| setting.key.replace('-', "_") == format!("lints.{wanted}");
            set.iter().find(is_it).map(|setting| setting.origin.clone())
        };
        named(name).or_else(|| named("warnings"))
    };
    let lints = lmem_lints::ALL.iter().map(|lint| {
        let (default, files, all) = (lint.level, of_files.level(lint), of_all.level(lint));
        (lint.name, default.name(), files.name(), all.name())
    });
    let remarks = remark::ALL.iter().map(|remark| {
        let word = |levels: &Levels| levels.remark_severity(remark).map_or("allow", severity);
        (remark.name, word(&Levels::default()), word(&of_files), word(&of_all))
    });
    let in_force = |(name, default, files, all): (&str, &str, &str, &str)| {
        let option = typed.iter().rfind(|(typed, _)| typed == name || typed == "warnings");
        let origin = match (option, entry(name)) {
            (Some((typed, level)), _) if all != files => {
                Origin::CommandLine { option: format!("--{} {typed}", level.name()) }
            }
            (_, Some(origin)) if files != default || set.iter().any(|it| it.key == format!("lints.{name}")) => origin,
            _ => Origin::Default,
        };
        InForce { key: format!("lints.{name}"), value: all.to_string(), origin }
    };
    lints.chain(remarks).map(in_force).collect()
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warn",
        Severity::Error => "deny",
    }
}
