//! Machine code in the workspace: it is not compiled, and only the code itself tells facts about it.

use lmem_unit::{Artifacts, MachineCode, TranslationUnit};

use super::failure::{CompileError, Failure};

/// The artifacts in the form that a compilation would give.
///
/// # Errors
/// The file could not be read.
pub fn given(unit: &TranslationUnit, code: &MachineCode) -> Result<Artifacts, Box<Failure>> {
    let cubin = code.cubin.as_ref().map_err(|reason| CompileError::Broken(reason.clone()))?;
    Ok(Artifacts {
        cubin: cubin.to_vec(),
        ptx: code.header.ptx.clone().unwrap_or_default(),
        architecture: code.header.architecture.clone(),
        folder: unit.base.clone(),
        ..Artifacts::default()
    })
}
