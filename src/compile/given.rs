//! Machine code that lies in the workspace: no compiler has a part in it, and what is known of it is what it says itself.

use lmem_unit::{Artifacts, MachineCode, TranslationUnit};

use super::unit::{CompileError, Failure};

/// What a compilation would have given.
///
/// # Errors
/// It could not be read.
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
