//! Whether edits keep what kernels compute, and what they bring: kernels before and after `--fix --unsafe-fixes`, with the
//! same random input, on a GPU.
//!
//! | to | run |
//! |---|---|
//! | make the pairs and run them here | `LMEM_GPU=1 cargo test --test gpu` |
//! | make them for a GPU elsewhere | `LMEM_GPU_MAKE=FOLDER LMEM_GPU_ARCH=sm_90 cargo test --test gpu` |
//! | run what was made | `LMEM_GPU_RUN=FOLDER cargo test --test gpu`, or the test's executable |
//!
//! Results must be the same bits, but for functions that are known to have other last digits, and no edit may make a
//! kernel slower by more than 3 %. Making needs a toolkit, running a driver.

mod make;
mod measure;

use std::path::PathBuf;

use libtest_mimic::{Arguments, Failed, Trial};

const HOW_TO_RUN: &str = "needs a GPU: LMEM_GPU=1 cargo test --test gpu";

fn main() {
    let arguments = Arguments::from_args();
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (is_here, made, to_make) = (folder("LMEM_GPU").is_some(), folder("LMEM_GPU_RUN"), folder("LMEM_GPU_MAKE"));
    let is_asked = is_here || made.is_some() || to_make.is_some();
    if !is_asked && !arguments.list {
        println!("{HOW_TO_RUN}");
    }
    let test = move || -> Result<(), Failed> {
        match (made, to_make) {
            (Some(folder), _) => measure::run(&folder),
            (None, Some(folder)) => make::make(&folder, &make::architecture()?),
            (None, None) => {
                let folder = tempfile::tempdir()?;
                make::make(folder.path(), &measure::architecture()?)?;
                measure::run(folder.path())
            }
        }
    };
    libtest_mimic::run(&arguments, vec![Trial::test("edits_keep_results", test).with_ignored_flag(!is_asked)]).exit();
}
