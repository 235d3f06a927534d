//! The levels of lints: those of the command line before those of settings, those of a file before those of its package.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lmem_base::diagnostic::{Code, Diagnostic, Severity};
use lmem_base::level::Level;
use lmem_lints::{Levels, remark};
use lmem_project::config::PackageConfig;
use lmem_project::discover::Workspace;

use super::jobs::{Job, config_of};
use super::{CheckError, remarks};
use crate::cli::CheckArgs;

/// Levels by package, keyed by the address of its settings: the command line takes precedence over the manifest. File
/// tables are between the two.
pub struct AllLevels {
    by_config: BTreeMap<usize, Levels>,
    /// Levels of files with their own table, including headers with findings.
    by_file: BTreeMap<PathBuf, Levels>,
    default: Levels,
}

impl AllLevels {
    /// Whether a lint is enabled anywhere.
    pub fn warns_of(&self, name: &str) -> bool {
        let levels = self.by_config.values().chain(self.by_file.values()).chain([&self.default]);
        lmem_lints::find(name).is_some_and(|lint| levels.into_iter().any(|levels| levels.level(lint) != Level::Allow))
    }

    /// The levels of the command line alone.
    pub fn typed(&self) -> &Levels {
        &self.default
    }

    pub fn of(&self, config: Option<&Arc<PackageConfig>>, file: &Path) -> &Levels {
        let of_config = || self.by_config.get(&(Arc::as_ptr(config?) as usize));
        self.by_file.get(file).or_else(of_config).unwrap_or(&self.default)
    }
}

pub fn all_levels(arguments: &CheckArgs, workspace: &Workspace) -> Result<AllLevels, CheckError> {
    let known = lmem_lints::names_with_levels();
    let (mut by_config, mut by_file) = (BTreeMap::new(), BTreeMap::new());
    for file in &workspace.files {
        file.config.validate_lints(&known)?;
        if let std::collections::btree_map::Entry::Vacant(entry) = by_config.entry(Arc::as_ptr(&file.config) as usize) {
            entry.insert(levels(arguments, Some(&file.config), None)?);
        }
        if file.config.lints_of(&file.path).next().is_some() {
            by_file.insert(file.path.clone(), levels(arguments, Some(&file.config), Some(&file.path))?);
        }
    }
    Ok(AllLevels { by_config, by_file, default: levels(arguments, None, None)? })
}

pub fn levels(
    arguments: &CheckArgs,
    config: Option<&PackageConfig>,
    file: Option<&Path>,
) -> Result<Levels, CheckError> {
    let mut levels = Levels::default();
    for (lint, level) in config.map(|config| &config.lints).into_iter().flatten() {
        levels.set(lint, *level);
    }
    for (lint, level) in config.zip(file).into_iter().flat_map(|(config, file)| config.lints_of(file)) {
        levels.set(lint, level);
    }
    typed_levels(arguments)?.iter().for_each(|(lint, level)| levels.set(lint, *level));
    Ok(levels)
}

/// The levels that the command line sets, in order of precedence.
///
/// # Errors
/// A lint is unknown.
pub fn typed_levels(arguments: &CheckArgs) -> Result<Vec<(String, Level)>, CheckError> {
    let denied = arguments.denied();
    let typed = [
        (&arguments.allow, Level::Allow),
        (&arguments.warn, Level::Warn),
        (&denied, Level::Deny),
        (&arguments.forbid, Level::Forbid),
    ];
    let each = typed.iter().flat_map(|(names, level)| names.iter().map(move |names| (names, *level)));
    let each = each.flat_map(|(names, level)| names.split(',').map(move |name| (name.trim(), level)));
    each.map(|(name, level)| Ok((known_lint(name, level)?, level))).collect()
}

/// Gives a finding in a header the level that the unit's settings specify for the header.
pub fn leveled_by_place(
    mut diagnostic: Diagnostic,
    job: &Job<'_>,
    arguments: &CheckArgs,
    workspace: &Workspace,
) -> Option<Diagnostic> {
    let Code::Lint(name) = diagnostic.code else { return remarks::leveled(diagnostic, job.levels) };
    let file = diagnostic.primary.as_ref().map(|label| label.span.file.path.clone());
    let config = config_of(job.unit, workspace).filter(|config| config.has_lints_of_files());
    let (Some(config), Some(file)) = (config, file.filter(|file| *file != job.unit.path())) else {
        return Some(diagnostic);
    };
    if config.lints_of(&file).next().is_none() {
        return Some(diagnostic);
    }
    // Lint names on the command line were validated before.
    let levels = levels(arguments, Some(config), Some(&file)).ok()?;
    let is_minor = diagnostic.severity == Severity::Note;
    diagnostic.severity = levels.severity(lmem_lints::find(name)?, is_minor)?;
    Some(diagnostic)
}

fn known_lint(name: &str, level: Level) -> Result<String, CheckError> {
    if name == "warnings" {
        return Ok(name.to_string());
    }
    let found = lmem_lints::find(name).map(|lint| lint.name).or_else(|| remark::find(name).map(|remark| remark.name));
    found.map(str::to_string).ok_or_else(|| {
        let known = lmem_lints::names_with_levels().into_iter().chain(["warnings"]);
        let near = lmem_base::words::nearest(name, known);
        let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
        CheckError::NoLint { message: format!("there is no lint `{name}`{near}"), name: name.to_string(), level }
    })
}

/// Gives a remark the level from the settings of its file, otherwise from the settings of all files.
pub fn leveled_by_file(remark: Diagnostic, workspace: &Workspace, levels: &AllLevels) -> Option<Diagnostic> {
    let path = remark.primary.as_ref().map(|label| &label.span.file.path);
    let own = path.and_then(|path| workspace.file(path));
    // A header or a manifest uses the settings of the files around it.
    let near = path.and_then(|path| path.parent());
    let around = || workspace.files.iter().find(|file| near.is_some_and(|folder| file.path.starts_with(folder)));
    let file = own.or_else(around).or(workspace.files.first());
    let place = path.or(file.map(|file| &file.path)).cloned().unwrap_or_default();
    remarks::leveled(remark, levels.of(file.map(|file| &file.config), &place))
}
