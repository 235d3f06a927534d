//! Sources that the settings have compiled otherwise than those of an older revision: what becomes better by that was not mended.

use std::path::{Path, PathBuf};

use lmem_base::source::display_path;
use lmem_project::config::{PackageConfig, flags_for};
use lmem_project::discover::Workspace;

use super::{loosened, target};

/// A note for each source with other flags, or that is not compiled for an architecture that it was compiled for. `before` gives the path
/// that a file of now had then, and `is_said` whether an architecture is named already.
pub fn notes(
    old: &Workspace,
    now: &Workspace,
    before: impl Fn(&Path) -> PathBuf,
    has_settings: bool,
    is_said: impl Fn(&String) -> bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    for file in now.files.iter().chain(&now.included) {
        let then = before(&file.path);
        let Some(config) = loosened::config_of(old, &then).filter(|_| then.is_file()) else { continue };
        let name = display_path(&file.path, &now.root);
        if has_settings {
            let lost = lost_architectures(config, &then, &file.config, &file.path);
            let lost = lost.into_iter().filter(|architecture| !is_said(architecture));
            notes.extend(lost.map(|architecture| format!("`{name}` is not compiled for {architecture}")));
        }
        // Those of the command line are the same. Folders are named by their whole paths.
        let flags = |config: &PackageConfig, path: &Path, root: &Path| -> Vec<String> {
            let own = flags_for(Some(config), path, &[]).arguments;
            own.into_iter().map(|flag| flag.replace(&*root.to_string_lossy(), ".")).collect()
        };
        if flags(config, &then, &old.root) != flags(&file.config, &file.path, &now.root) {
            notes.push(format!(
                "`{name}` is compiled with other flags of the settings, and what they leave out is not known"
            ));
        }
    }
    notes
}

fn lost_architectures(then: &PackageConfig, old_path: &Path, now: &PackageConfig, path: &Path) -> Vec<String> {
    let of = |config: &PackageConfig, path: &Path| -> Vec<String> {
        config.arch_for(path).iter().map(ToString::to_string).collect()
    };
    let (then, now) = (of(then, old_path), of(now, path));
    if now.is_empty() || then == now {
        return Vec::new();
    }
    // Without settings, it is that of this machine, or a common one.
    let then = if then.is_empty() { vec![target::likely()] } else { then };
    then.into_iter().filter(|architecture| !now.contains(architecture)).collect()
}
