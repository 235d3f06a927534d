//! Settings of a change that ask for less than those of the revision: a change must not excuse itself in silence.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lmem_base::budget::{Limit, Quantity};
use lmem_base::diagnostic::{Diagnostic, Severity};
use lmem_base::source::display_path;
use lmem_lints::remark::{self, LOOSENED_SETTINGS};
use lmem_project::config::PackageConfig;
use lmem_project::discover::{Workspace, has_kernels};

use super::{CheckError, levels, remarks};
use crate::cli::CheckArgs;

/// Limit on what the remark lists.
const MAX_NOTES: usize = 10;

/// Limit on paths that are looked through for kernels.
const MAX_LOOKS: usize = 1000;

/// Says which settings of a workspace ask for less than those of an older one; `None` if none do. `before` gives the path
/// that a file of now had there.
///
/// Only the command line decides on the level of this remark: the settings are what it is about.
///
/// # Errors
/// The settings name a lint that there is not.
pub fn remark(
    old: &Workspace,
    now: &Workspace,
    before: impl Fn(&Path) -> PathBuf,
    revision: &str,
    arguments: &CheckArgs,
) -> Result<Option<Diagnostic>, CheckError> {
    let mut notes = excluded(old, now, &before);
    let pairs = pairs(old, now, &before);
    notes.extend(lowered(&pairs, arguments)?);
    notes.extend(budgets(&pairs));
    notes.dedup();
    if notes.is_empty() {
        return Ok(None);
    }
    if let Some(more) = notes.len().checked_sub(MAX_NOTES + 1) {
        notes.truncate(MAX_NOTES);
        notes.push(format!("and {} more", more + 1));
    }
    let message = format!("the settings ask for less than those of `{revision}`");
    let remark = Diagnostic { notes, ..Diagnostic::of_tool(Severity::Warning, LOOSENED_SETTINGS, message) };
    Ok(remarks::leveled(remark, &levels::levels(arguments, None, None)?))
}

/// What `exclude` leaves out now, also of files that the revision does not have, and did not then.
fn excluded(old: &Workspace, now: &Workspace, before: &impl Fn(&Path) -> PathBuf) -> Vec<String> {
    let was_excluded = |path: &Path| {
        let path = before(path);
        config_of(old, &path).is_some_and(|config| config.is_excluded(&path))
    };
    let new = now.excluded.iter().filter(|path| !was_excluded(path));
    let mut notes = Vec::new();
    for (looks, path) in new.enumerate() {
        if looks >= MAX_LOOKS || has_kernels(path) {
            notes.push(format!("`exclude` leaves out `{}`", display_path(path, &now.root)));
        }
    }
    notes
}

/// The settings of a file now and then.
struct Pair<'a> {
    path: &'a Path,
    now: &'a Arc<PackageConfig>,
    then: &'a Arc<PackageConfig>,
}

/// Each pair of settings once, and each file that has levels of its own.
fn pairs<'a>(old: &'a Workspace, now: &'a Workspace, before: &impl Fn(&Path) -> PathBuf) -> Vec<Pair<'a>> {
    let mut seen = BTreeSet::new();
    let mut pairs = Vec::new();
    for file in &now.files {
        let Some(then) = config_of(old, &before(&file.path)) else { continue };
        let is_new = seen.insert((Arc::as_ptr(&file.config) as usize, Arc::as_ptr(then) as usize));
        if is_new || file.config.has_lints_of_files() || then.has_lints_of_files() {
            pairs.push(Pair { path: &file.path, now: &file.config, then });
        }
    }
    pairs
}

/// The settings that hold for a path: those of its package, else those of any file.
pub(super) fn config_of<'a>(workspace: &'a Workspace, path: &Path) -> Option<&'a Arc<PackageConfig>> {
    let around = workspace.packages.iter().filter(|package| path.starts_with(&package.root));
    let nearest = around.max_by_key(|package| package.root.components().count());
    nearest.map(|package| &package.config).or_else(|| workspace.files.first().map(|file| &file.config))
}

/// Lints and remarks whose level is lower now.
fn lowered(pairs: &[Pair<'_>], arguments: &CheckArgs) -> Result<BTreeSet<String>, CheckError> {
    let mut notes = BTreeSet::new();
    for pair in pairs {
        // A lint of another version of this tool is an error of the run already.
        let now = levels::levels(arguments, Some(pair.now), Some(pair.path))?;
        let Ok(then) = levels::levels(arguments, Some(pair.then), Some(pair.path)) else { continue };
        for lint in lmem_lints::ALL {
            let (now, then) = (now.level(lint), then.level(lint));
            if now < then {
                notes.insert(format!("`{}` is `{}`, and was `{}`", lint.name, now.name(), then.name()));
            }
        }
        for remark in &remark::ALL {
            let rank = |severity: Option<Severity>| match severity {
                None => 0,
                Some(Severity::Note) => 1,
                Some(Severity::Warning) => 2,
                Some(Severity::Error) => 3,
            };
            if rank(now.remark_severity(remark)) < rank(then.remark_severity(remark)) {
                notes.insert(format!("the level of `{}` is lower", remark.name));
            }
        }
    }
    Ok(notes)
}

/// Budgets that are gone, or allow more.
fn budgets(pairs: &[Pair<'_>]) -> BTreeSet<String> {
    let mut notes = BTreeSet::new();
    for pair in pairs {
        for rule in &pair.then.budgets {
            let same = || pair.now.budgets.iter().filter(|other| other.pattern() == rule.pattern());
            let keeps = |limit: &Limit| same().flat_map(|other| &other.limits).any(|other| is_as_strict(other, limit));
            let lost = rule.limits.iter().filter(|limit| !keeps(limit));
            notes.extend(lost.map(|limit| format!("the budget `{limit}` of `{}` is gone", rule.pattern())));
        }
    }
    notes
}

fn is_as_strict(limit: &Limit, than: &Limit) -> bool {
    limit.quantity == than.quantity
        && match limit.quantity {
            Quantity::Occupancy => limit.bound >= than.bound,
            _ => limit.bound <= than.bound,
        }
}
