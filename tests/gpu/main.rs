//! Whether edits keep what kernels compute, and what they bring: kernels before and after `--fix --unsafe-fixes`, with the
//! same random input, on a GPU.
//!
//! | to | run |
//! |---|---|
//! | make the pairs and run them here | `LMEM_GPU=1 cargo test --test gpu` |
//! | make them for a GPU elsewhere | `LMEM_GPU_MAKE=FOLDER LMEM_GPU_ARCH=sm_90 cargo test --test gpu` |
//! | run what was made | `LMEM_GPU_RUN=FOLDER cargo test --test gpu`, or the test's executable |
//! | only one of the two tests | append `-- edits_keep_results` or `-- hostile_kernels` |
//!
//! Results must be the same bits, but for functions that are known to have other last digits, and no edit may make a
//! kernel slower by more than 3 %. Making needs a toolkit, running a driver. `tests/hunt` has kernels that tempt an edit to change
//! what is computed; what is made of them lies in `FOLDER/hunt`.

mod hunt;
mod make;
mod measure;

use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};

const HOW_TO_RUN: &str = "needs a GPU: LMEM_GPU=1 cargo test --test gpu";

fn main() {
    // Kernel strings are compiled in a child process, which is this program once more.
    if std::env::args().nth(2).is_some_and(|argument| argument == cargo_lmem::compile::NVRTC_WORKER) {
        std::process::exit(i32::from(cargo_lmem::compile::nvrtc_worker().is_err()));
    }
    if let Ok(pair) = std::env::var(hunt::PAIR) {
        // What the driver says of a kernel is the verdict, and printed like one.
        if let Err(failed) = hunt::pair(&pair) {
            println!("broken: {}", failed.message().unwrap_or_default());
        }
        return;
    }
    let mut arguments = Arguments::from_args();
    // One kernel at a time, or times say nothing.
    arguments.test_threads = Some(1);
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (is_here, made, to_make) = (folder("LMEM_GPU").is_some(), folder("LMEM_GPU_RUN"), folder("LMEM_GPU_MAKE"));
    let is_asked = is_here || made.is_some() || to_make.is_some();
    if !is_asked && !arguments.list {
        println!("{HOW_TO_RUN}");
    }
    let trial = |name: &str, part: &'static str, make: Make, run: Run| {
        let (made, to_make) = (made.clone(), to_make.clone());
        let test = move || match (made, to_make) {
            (Some(folder), _) => run(&folder.join(part)),
            (None, Some(folder)) => make(&folder.join(part), &make::architecture()?),
            (None, None) => {
                let folder = tempfile::tempdir()?;
                make(folder.path(), &measure::architecture()?)?;
                run(folder.path())
            }
        };
        Trial::test(name, test).with_ignored_flag(!is_asked)
    };
    let trials = vec![
        trial("edits_keep_results", "", make::make, measure::run),
        trial("hostile_kernels", "hunt", hunt::make, hunt::run),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

type Make = fn(&Path, &str) -> Result<(), Failed>;
type Run = fn(&Path) -> Result<(), Failed>;
