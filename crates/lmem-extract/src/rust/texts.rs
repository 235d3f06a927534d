//! Texts of Rust code from which kernels may be built.

use lmem_base::source::SourceFile;
use lmem_project::discover::Workspace;
use lmem_unit::MappedText;

use super::names::MAX_RUST_BYTES;
use super::reached::reached;
use super::scan::RustFile;

/// All multi-line string literals, and those with CUDA code, in files that have to do with kernels.
pub(crate) fn texts(workspace: &Workspace) -> Vec<MappedText> {
    let mut texts = Vec::new();
    for (path, _) in reached(workspace).files {
        let is_small = fs_err::metadata(&path).is_ok_and(|metadata| metadata.len() <= MAX_RUST_BYTES);
        let Some(file) = SourceFile::read(&path, &workspace.root).ok().filter(|_| is_small) else { continue };
        let Ok(rust) = RustFile::scan(&file) else { continue };
        let decoded = rust.literals.iter().filter_map(|range| rust.decode(range.clone()));
        let is_wanted = |text: &MappedText| {
            let text = text.as_str();
            text.trim().contains('\n') || text.contains("__global__") || text.contains("__device__")
        };
        texts.extend(decoded.filter(is_wanted));
    }
    texts
}
