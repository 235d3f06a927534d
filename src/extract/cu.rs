//! Files that are compiled as they are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Extraction, MappedText, TranslationUnit, UnitCode, Unresolved};
use crate::config::flags_for;
use crate::discover::{DiscoveredFile, Workspace, has_ending};
use crate::source::{SourceFile, Span, display_path};

/// The `.cu` and `.ptx` files of a workspace, without those that are compiled as strings.
pub(super) fn extract(workspace: &Workspace, compiled_as_strings: &BTreeSet<PathBuf>) -> Extraction {
    let mut extraction = Extraction::default();
    for file in workspace.files.iter().filter(|file| has_ending(&file.path, &["cu", "ptx"])) {
        if compiled_as_strings.contains(&file.path) && !file.explicit {
            let name = display_path(&file.path, &workspace.root);
            if has_ending(&file.path, &["cu"]) {
                extraction.notes.push(format!("`{name}` is compiled as Rust code does it: by NVRTC"));
            }
            continue;
        }
        match SourceFile::read(&file.path, &workspace.root) {
            Ok(source) => extraction.units.push(unit(workspace, file, &source)),
            Err(error) => extraction.unresolved.push(unreadable(workspace, file, &error)),
        }
    }
    extraction
}

fn unit(workspace: &Workspace, file: &DiscoveredFile, source: &Arc<SourceFile>) -> TranslationUnit {
    let package = workspace.package_of(file);
    let folder = file.path.parent().unwrap_or(Path::new(""));
    let code = if has_ending(&file.path, &["ptx"]) {
        UnitCode::Ptx { text: MappedText::from_file(source) }
    } else {
        UnitCode::CudaFile { file: Arc::clone(source), flags: flags_for(Some(&file.config), &file.path, &[]) }
    };
    TranslationUnit {
        name: source.display.clone(),
        package: package.map(|package| package.name.clone()),
        base: package.map_or(folder, |package| &package.root).to_path_buf(),
        code,
        use_site: None,
        launches: Vec::new(),
    }
}

fn unreadable(workspace: &Workspace, file: &DiscoveredFile, error: &std::io::Error) -> Unresolved {
    let nothing = SourceFile::from_text(&display_path(&file.path, &workspace.root), "");
    Unresolved { span: Span::new(&nothing, 0..0), reason: format!("it cannot be read: {error}") }
}
