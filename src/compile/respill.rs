//! What kernels that spill would take without their register limits, and with spills to shared memory.

use lmem_base::diagnostic::ResourceUsage;
use nv_code::{PtxasLog, shared_spilling as shared};

use super::failure::CompileError;
use super::run::UnitRun;
use super::unlimited;

/// File name of the PTX without register limits.
const UNLIMITED_NAME: &str = "unlimited.ptx";

/// File name of the PTX with spilling to shared memory.
const SHARED_NAME: &str = "shared.ptx";

impl UnitRun<'_, '_> {
    /// Figures of kernels that spill, compiled without their register limits; empty if there is no limit, or nothing is to be explained. A failure of
    /// ptxas here only means that the figures are unknown; the unit has not failed.
    pub fn unlimited(
        &self,
        ptx: &str,
        log: &str,
        flags: &[String],
        architecture: &str,
    ) -> Result<String, CompileError> {
        if !self.compiler.explains {
            return Ok(String::new());
        }
        let kernels = kernels_that_spill(log);
        let kernels: Vec<&str> = kernels.iter().map(String::as_str).collect();
        if kernels.is_empty() {
            return Ok(String::new());
        }
        let text = match unlimited::without_limits(ptx, &kernels) {
            Some(text) => text,
            None if unlimited::has_limit(flags) => ptx.to_string(),
            None => return Ok(String::new()),
        };
        let path = self.folder.join(UNLIMITED_NAME);
        fs_err::write(&path, text).map_err(CompileError::io("the PTX cannot be written"))?;
        let options = unlimited::ptxas_options(flags);
        let mut command = unlimited::command(&self.target.toolkit.ptxas, architecture, &options, &kernels, &path);
        self.figures(&mut command)
    }

    /// Figures of kernels that spill, when allowed to spill to shared memory. `None` if not tried.
    pub fn shared(
        &self,
        ptx: &str,
        log: &str,
        flags: &[String],
        architecture: &str,
    ) -> Result<Option<String>, CompileError> {
        if !self.compiler.tries_shared_spilling {
            return Ok(None);
        }
        let kernels = kernels_that_spill(log);
        let kernels: Vec<&str> = kernels.iter().map(String::as_str).collect();
        let may_spill =
            self.target.toolkit.version >= shared::SINCE && !kernels.is_empty() && !shared::is_refused_with(flags);
        let Some((text, kernels)) = may_spill.then(|| shared::with_pragma(ptx, &kernels)).flatten() else {
            return Ok(Some(String::new()));
        };
        let path = self.folder.join(SHARED_NAME);
        fs_err::write(&path, text).map_err(CompileError::io("the PTX cannot be written"))?;
        let kernels: Vec<&str> = kernels.iter().map(String::as_str).collect();
        let limit = unlimited::limiting_flag(flags);
        let options: Vec<String> = unlimited::ptxas_options(flags).into_iter().chain(limit).collect();
        self.figures(&mut unlimited::command(&self.target.toolkit.ptxas, architecture, &options, &kernels, &path))
            .map(Some)
    }
}

fn kernels_that_spill(log: &str) -> Vec<String> {
    let spills = |usage: &ResourceUsage| usage.spill_stores > 0 || usage.spill_loads > 0;
    let functions = PtxasLog::parse(log).functions.into_iter();
    functions.filter(|(_, function)| function.is_entry && spills(&function.usage)).map(|(name, _)| name).collect()
}
