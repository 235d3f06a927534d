//! What compilers obey beside their command line.

use lmem_base::diagnostic::FlagOrigin;
use lmem_base::process;

use crate::compile::ADDING_VARIABLES;

/// What nvcc and the host compiler that it starts take from the environment: that compiler, and where headers lie.
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

/// All that an nvcc command depends on which is not in it.
pub fn of_nvcc(origin: FlagOrigin) -> Vec<String> {
    // Those that a build had are captured with the rest.
    let adding = ADDING_VARIABLES.iter().filter(|_| origin != FlagOrigin::Captured);
    let set = adding.chain(&VARIABLES).filter_map(|name| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
        Some(format!("{name}={}", value.to_string_lossy()))
    });
    set.chain(HOST_COMPILERS.iter().filter_map(|name| host_compiler(name))).collect()
}

/// Which program a name on `PATH` leads to, by a name that says its version on most systems, and by its size. Its time is
/// another one on another machine.
fn host_compiler(name: &str) -> Option<String> {
    let path = process::on_path(name)?.canonicalize().ok()?;
    Some(format!("{name} {} {}", path.display(), path.metadata().ok()?.len()))
}
