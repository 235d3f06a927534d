//! The level of a lint in the workspace around a folder, for `cargo lmem explain`.

use std::collections::BTreeMap;
use std::path::Path;

use lmem_base::level::Level;
use lmem_lints::Levels;
use lmem_project::discover::{Scope, discover};

/// The levels that settings give a lint, each with its number of files; empty outside a workspace.
pub fn levels_here(folder: &Path, name: &str) -> BTreeMap<&'static str, usize> {
    let scope = Scope { current_folder: folder.to_path_buf(), ..Scope::default() };
    let (Ok(workspace), Some(lint)) = (discover(&scope), lmem_lints::find(name)) else { return BTreeMap::new() };
    let mut counts = BTreeMap::new();
    for file in &workspace.files {
        let mut levels = Levels::default();
        file.config.lints.iter().for_each(|(name, level)| levels.set(name, *level));
        let level: Level = levels.level(lint);
        *counts.entry(level.name()).or_default() += 1;
    }
    counts
}
