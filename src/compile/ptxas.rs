//! `ptxas`: compiles PTX to a cubin, and reports the figures of every function.

use std::path::Path;
use std::process::Command;

/// Makes ptxas print the figures of every function, and name those with local memory.
pub const REPORTING_FLAGS: [&str; 3] = ["-v", "-warn-lmem-usage", "-warn-spills"];

/// The command line that compiles `ptx` to `cubin` for one architecture such as `sm_90`.
pub fn command(ptxas: &Path, architecture: &str, extra: &[String], ptx: &Path, cubin: &Path) -> Command {
    let mut command = Command::new(ptxas);
    command.arg(format!("-arch={architecture}")).arg("--generate-line-info").args(REPORTING_FLAGS).args(extra);
    command.arg(ptx).arg("-o").arg(cubin);
    command
}
