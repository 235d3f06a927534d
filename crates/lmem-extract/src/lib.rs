//! From a file to compilable texts: one `.cu` file is one unit, a `.rs` file has one for each kernel string. Machine code
//! that lies in the workspace is a unit too, that is compiled already.

mod cu;

mod rust;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use lmem_base::source::{SourceFile, has_ending};
use lmem_project::build_flags::BuildFlags;
use lmem_project::discover::Workspace;
use lmem_unit::{DynamicShared, MappedText, RustLaunch, TranslationUnit, UnitCode, Unresolved};

/// What the files of a workspace gave.
#[derive(Debug, Clone, Default)]
pub struct Extraction {
    /// The units of files first, then those of strings, each in the order of paths and lines.
    pub units: Vec<TranslationUnit>,
    /// By place.
    pub unresolved: Vec<Unresolved>,
    /// What was not looked into, for `-v`.
    pub notes: Vec<String>,
}

/// Reads the files of a workspace and gives the texts to compile.
///
/// A `.cu` file whose text Rust code hands to NVRTC is a unit of NVRTC's, and none of nvcc's.
pub fn extract(workspace: &Workspace, builds: &BuildFlags) -> Extraction {
    with_rust_code(rust_code(workspace, builds), workspace, builds)
}

/// What the Rust code of a workspace says of kernels. Finding it takes longer than everything else, and depends on nothing but
/// the workspace, its builds, and what is asked of the file system for it: see [`lmem_base::places::watched`].
#[derive(Debug, Serialize, Deserialize)]
pub struct RustCode(rust::Strings);

/// Looks through the Rust code of a workspace.
pub fn rust_code(workspace: &Workspace, builds: &BuildFlags) -> RustCode {
    RustCode(rust::extract(workspace, builds))
}

/// The texts of a workspace, of which the Rust code was looked through already.
pub fn with_rust_code(code: RustCode, workspace: &Workspace, builds: &BuildFlags) -> Extraction {
    let strings = code.0;
    let mut extraction = cu::extract(workspace, builds, &strings);
    extraction.units.extend(strings.units);
    extraction.unresolved.extend(strings.unresolved);
    extraction.unresolved.sort_by(|left, right| left.span.cmp(&right.span));
    extraction.notes.extend(strings.notes);
    distribute(&strings.launches, &strings.readers, workspace, &mut extraction.units);
    extraction
}

/// The texts of a workspace that a program may put kernels together from: literals of Rust code, and `.cu` files.
pub fn kernel_texts(workspace: &Workspace) -> Vec<MappedText> {
    let files = workspace.files.iter().filter(|file| has_ending(&file.path, &["cu"]));
    let files = files.filter_map(|file| SourceFile::read(&file.path, &workspace.root).ok());
    rust::texts(workspace).into_iter().chain(files.map(|file| MappedText::from_file(&file))).collect()
}

/// Gives launches to the file that defines the kernel, in each way in which it is compiled; where several do, it is not known
/// whose they are. Where a kernel may be launched by a name that is not known, it is only said where it is loaded.
fn distribute(
    launches: &rust::Launches,
    readers: &BTreeSet<Option<usize>>,
    workspace: &Workspace,
    units: &mut [TranslationUnit],
) {
    let is_sure =
        |unit: &TranslationUnit| !launches.unknown.iter().any(|load| load.may_be_of(unit, workspace, readers));
    let sure: Vec<bool> = units.iter().map(is_sure).collect();
    for load in &launches.known {
        let launch = &load.launch;
        let may_define = |(_, unit): &(usize, &mut TranslationUnit)| {
            let is_in_module = || load.module.as_ref().is_none_or(|module| module.iter().any(|text| text.is_of(unit)));
            unit.may_define(&launch.kernel) && is_in_module()
        };
        let mut owners: Vec<(usize, &mut TranslationUnit)> = units.iter_mut().enumerate().filter(may_define).collect();
        let is_file = owners.iter().all(|(_, unit)| matches!(unit.code, UnitCode::CudaFile { .. }));
        let is_same = |unit: &TranslationUnit, other: &TranslationUnit| match is_file {
            true => unit.path() == other.path(),
            false => unit.text().is_some() && unit.text() == other.text(),
        };
        if owners.is_empty() || !owners.iter().all(|(_, unit)| is_same(unit, owners[0].1)) {
            continue;
        }
        for (index, unit) in &mut owners {
            let unknown = || RustLaunch { block: None, dynamic_shared: DynamicShared::Unseen, ..launch.clone() };
            unit.launches.push(if sure[*index] { launch.clone() } else { unknown() });
        }
    }
}
