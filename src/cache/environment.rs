//! Inputs of the compilers besides their command line.

use std::sync::OnceLock;

use lmem_base::diagnostic::FlagOrigin;
use lmem_base::process;

use crate::compile::ADDING_VARIABLES;

/// Environment variables that nvcc and the host compiler read: the choice of host compiler, and header folders.
const VARIABLES: [&str; 8] = [
    "NVCC_CCBIN",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "OBJC_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "COMPILER_PATH",
    "SOURCE_DATE_EPOCH",
];

/// The host compilers that nvcc looks for on `PATH`.
const HOST_COMPILERS: [&str; 2] = ["gcc", "g++"];

/// The values of all inputs of an nvcc command that are not on its command line, looked for once in a run.
#[derive(Default)]
pub struct Environment {
    of_captured: OnceLock<Vec<String>>,
    of_others: OnceLock<Vec<String>>,
}

impl Environment {
    pub fn of_nvcc(&self, origin: FlagOrigin) -> &[String] {
        // The variables of a captured build are part of its record.
        match origin {
            FlagOrigin::Captured => self.of_captured.get_or_init(|| values(&[])),
            _ => self.of_others.get_or_init(|| values(&ADDING_VARIABLES)),
        }
    }
}

fn values(adding: &[&str]) -> Vec<String> {
    let set = adding.iter().chain(&VARIABLES).filter_map(|name| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
        Some(format!("{name}={}", value.to_string_lossy()))
    });
    set.chain(HOST_COMPILERS.iter().filter_map(|name| host_compiler(name))).collect()
}

/// The program that a name on `PATH` resolves to: its real path, which includes the version on most systems, and its
/// size. The modification time is not used, as it differs between machines.
fn host_compiler(name: &str) -> Option<String> {
    let path = process::on_path(name)?.canonicalize().ok()?;
    Some(format!("{name} {} {}", path.display(), path.metadata().ok()?.len()))
}
