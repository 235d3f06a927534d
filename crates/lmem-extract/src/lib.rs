//! Extraction of translation units: one unit for a `.cu` file, one for each kernel string in a `.rs` file. Machine code
//! in the workspace is a unit too, which needs no compilation.

mod cu;

mod rust;

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use lmem_base::source::{SourceFile, has_ending};
use lmem_project::build_flags::BuildFlags;
use lmem_project::discover::{NotChecked, Workspace};
use lmem_unit::{DynamicShared, KernelNames, MappedText, RustLaunch, TranslationUnit, UnitCode, Unresolved};

/// The result of reading the files of a workspace.
#[derive(Debug, Clone, Default)]
pub struct Extraction {
    /// Units of files first, then units of strings, each sorted by path and line.
    pub units: Vec<TranslationUnit>,
    /// Sorted by position.
    pub unresolved: Vec<Unresolved>,
    /// Files that may have kernels and could not be read. A kernel must not escape a check by a slip beside it, so these
    /// fail it.
    pub unread: Vec<Unresolved>,
    /// Rust code and kernel texts beyond the limits of what is followed, which may have kernels.
    pub beyond: Vec<Unresolved>,
    /// Rust code that is compiled and not checked.
    pub not_checked: Vec<NotChecked>,
    /// `.cu` files that are no units of their own, as Rust code makes texts of them.
    pub as_texts: Vec<PathBuf>,
    /// These files, and those that other files include, as units of their own: they may be that as well.
    pub parts: Vec<TranslationUnit>,
    /// Remarks on text that was not analysed, for `-v`.
    pub notes: Vec<String>,
}

/// Reads the files of a workspace and returns the translation units.
///
/// A `.cu` file whose text Rust code passes to NVRTC is compiled by NVRTC only, not by nvcc.
pub fn extract(workspace: &Workspace, builds: &BuildFlags) -> Extraction {
    with_rust_code(rust_code(workspace, builds), workspace, builds)
}

/// Kernels and launches in the Rust code of a workspace. Extracting them is the slowest step. The result depends only
/// on the workspace, its builds, and the queried paths of the file system; see [`lmem_base::places::watched`].
#[derive(Debug, Serialize, Deserialize)]
pub struct RustCode(rust::Strings);

/// Analyses the Rust code of a workspace.
pub fn rust_code(workspace: &Workspace, builds: &BuildFlags) -> RustCode {
    RustCode(rust::extract(workspace, builds))
}

/// The units of a workspace whose Rust code was analysed already.
pub fn with_rust_code(code: RustCode, workspace: &Workspace, builds: &BuildFlags) -> Extraction {
    let strings = code.0;
    let mut extraction = cu::extract(workspace, builds, &strings);
    extraction.units.extend(strings.units);
    extraction.unresolved.extend(strings.unresolved);
    extraction.unresolved.sort_by(|left, right| left.span.cmp(&right.span));
    extraction.unread.extend(strings.unread);
    extraction.unread.sort_by(|left, right| left.span.cmp(&right.span));
    // A file may be asked for again for a name in it.
    extraction.unread.dedup();
    extraction.beyond.extend(strings.beyond);
    extraction.beyond.sort_by(|left, right| left.span.cmp(&right.span));
    extraction.not_checked.extend(strings.not_checked);
    extraction.notes.extend(strings.notes);
    for units in [&mut extraction.units, &mut extraction.parts] {
        distribute(&strings.launches, &strings.readers, workspace, units);
    }
    extraction
}

/// Texts from which a program may build kernels: literals of Rust code, and `.cu` files.
pub fn kernel_texts(workspace: &Workspace) -> Vec<MappedText> {
    let files = workspace.files.iter().filter(|file| has_ending(&file.path, &["cu"]));
    let files = files.filter_map(|file| SourceFile::read(&file.path, &workspace.root).ok());
    rust::texts(workspace).into_iter().chain(files.map(|file| MappedText::from_file(&file))).collect()
}

/// Assigns each launch to the units of the file or text that defines the kernel. If several files may define it, the
/// launch is dropped. If a load by an unknown name may launch the same kernel, only the position of the load is kept,
/// not the block size.
fn distribute(
    launches: &rust::Launches,
    readers: &BTreeSet<Option<usize>>,
    workspace: &Workspace,
    units: &mut [TranslationUnit],
) {
    let is_sure =
        |unit: &TranslationUnit| !launches.unknown.iter().any(|load| load.may_be_of(unit, workspace, readers));
    let sure: Vec<bool> = units.iter().map(is_sure).collect();
    let names = KernelNames::of(launches.known.iter().map(|load| load.launch.kernel.as_str()));
    let mut defining = vec![Vec::new(); launches.known.len()];
    for (index, unit) in units.iter().enumerate() {
        unit.may_define_of(&names).into_iter().for_each(|number| defining[number].push(index));
    }
    for (load, mut owners) in launches.known.iter().zip(defining) {
        let launch = &load.launch;
        let is_in_module = |unit: &TranslationUnit| {
            load.module.as_ref().is_none_or(|module| module.iter().any(|text| text.is_of(unit)))
        };
        owners.retain(|owner| is_in_module(&units[*owner]));
        let is_file = owners.iter().all(|owner| matches!(units[*owner].code, UnitCode::CudaFile { .. }));
        let is_same = |unit: &TranslationUnit, other: &TranslationUnit| match is_file {
            true => unit.path() == other.path(),
            false => unit.text().is_some() && unit.text() == other.text(),
        };
        if owners.is_empty() || !owners.iter().all(|owner| is_same(&units[*owner], &units[owners[0]])) {
            continue;
        }
        for owner in owners {
            let unknown = || RustLaunch { block: None, dynamic_shared: DynamicShared::Unseen, ..launch.clone() };
            units[owner].launches.push(if sure[owner] { launch.clone() } else { unknown() });
        }
    }
}
