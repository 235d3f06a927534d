//! Every lint over every test crate.
//!
//! A test crate is a small package as a user has it. Its kernels were compiled once for three architectures, and what
//! the compilers gave is kept in `<crate>/recorded/`: the tests run the whole tool on that, without CUDA, a GPU or a
//! network, and compare
//! - the marks in the sources, `//~ lint_name` on the line of a finding's place, `//~ lint_name sm_80 sm_90` where only
//!   some architectures have it, `//~^ lint_name` on the line below;
//! - the report with `expected/<crate>.txt`, of some crates also the JSON with `expected/<crate>.json`;
//! - the bytes of all findings with the stack frames that ptxas reports;
//! - which lints would claim which objects with `claims.txt`.
//!
//! The kernels of `labelled/` have labels in place of marks and expected reports: `scores/` counts how much of them is
//! explained, and how well.
//!
//! | to | run |
//! |---|---|
//! | accept a changed report | `SNAPSHOTS=overwrite cargo test --test test_crates` |
//! | compile changed crates again | `LMEM_RECORD=1 cargo test --test test_crates`, or `LMEM_RECORD=seeds,headers` for some |
//! | compile their suggestions again | `LMEM_RECORD_SUGGESTIONS=1 cargo test --test test_crates`, or with names as above |
//! | compare with a real toolkit and its nvdisasm | `LMEM_LIVE=1 cargo test --test test_crates` |
//! | judge the reading of some workspace's machine code | `LMEM_LIVE=1 LMEM_WORKSPACE=/path cargo test --test test_crates live/workspace` |
//!
//! All but the first need CUDA 13.5, found as `cargo lmem` finds it. Some crates are compiled with an older toolkit; they are
//! left out where it is not found, among the usual places or in the folders that `LMEM_TOOLKITS` lists, with colons
//! between. `pip install --no-deps --target FOLDER nvidia-cuda-nvcc-cu12==… nvidia-cuda-nvrtc-cu12==…
//! nvidia-cuda-runtime-cu12==…` makes one.

mod harness;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Trial};

use harness::crates::{self, TestCrate};
use harness::{claims, constants, examples, live, machine_code, occupancy, record, recorded, registry};

const HOW_TO_RUN_LIVE: &str = "compiles with a real toolkit: LMEM_LIVE=1 cargo test --test test_crates";

fn main() -> ExitCode {
    // Kernel strings are compiled in a child process, which is this program once more.
    if std::env::args().nth(2).is_some_and(|argument| argument == cargo_lmem::compile::NVRTC_WORKER) {
        return ExitCode::from(u8::from(cargo_lmem::compile::nvrtc_worker().is_err()));
    }
    let arguments = Arguments::from_args();
    if let Some(names) = std::env::var_os("LMEM_RECORD").filter(|_| !arguments.list)
        && let Err(error) = record::renew(&names.to_string_lossy())
    {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    if let Some(names) = std::env::var_os("LMEM_RECORD_SUGGESTIONS").filter(|_| !arguments.list)
        && let Err(error) = record::renew_overlays(&names.to_string_lossy())
    {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    libtest_mimic::run(&arguments, trials()).exit_code()
}

fn trials() -> Vec<Trial> {
    let crates = crates::all();
    let of_crate = |test_crate: &TestCrate| {
        let test_crate = test_crate.clone();
        Trial::test(test_crate.name.clone(), move || recorded::test(&test_crate).map_err(Into::into))
    };
    let mut trials: Vec<Trial> = crates.iter().map(of_crate).collect();
    trials.push(Trial::test("claims", || claims::test().map_err(Into::into)));
    trials.push(Trial::test("examples_of_explain", || examples::test().map_err(Into::into)));
    trials.push(Trial::test("figures_of_cubins", || machine_code::test().map_err(Into::into)));
    trials.push(Trial::test("lints_are_registered", || registry::lints_are_registered().map_err(Into::into)));
    trials.push(Trial::test("error_texts", || registry::error_texts().map_err(Into::into)));
    trials.push(Trial::test("no_orphans", || registry::no_orphans().map_err(Into::into)));
    trials.extend(live_trials(&crates));
    trials
}

fn live_trials(crates: &[TestCrate]) -> Vec<Trial> {
    if std::env::var_os("LMEM_LIVE").is_none_or(|value| value.is_empty()) {
        return vec![Trial::ignorable_test("live", || Ok(Completion::ignored_with(HOW_TO_RUN_LIVE)))];
    }
    let of_crate = |test_crate: &TestCrate| {
        let test_crate = test_crate.clone();
        Trial::ignorable_test(format!("live/{}", test_crate.name), move || live::test(&test_crate).map_err(Into::into))
    };
    let mut trials: Vec<Trial> = crates.iter().map(of_crate).collect();
    if let Some(folder) = std::env::var_os("LMEM_WORKSPACE") {
        let judge = move || live::judge_workspace(folder.as_ref()).map_err(Into::into);
        trials.push(Trial::test("live/workspace", judge));
    }
    trials.push(Trial::test("live/constants", || constants::compare_with_nvcc().map_err(Into::into)));
    trials.push(Trial::test("live/occupancy", || occupancy::compare_with_cuda().map_err(Into::into)));
    trials.push(Trial::test("live/launch_bounds", || occupancy::compare_with_ptxas().map_err(Into::into)));
    trials.push(Trial::test("live/nvdisasm", || live::compare_with_nvdisasm().map_err(Into::into)));
    trials.push(Trial::test("live/live_ranges", || live::compare_live_ranges().map_err(Into::into)));
    trials
}
