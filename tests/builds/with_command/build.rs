//! `nvcc` by hand, with flags in a response file and in nvcc's own variable.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=kernels");
    let out = std::env::var("OUT_DIR").unwrap();
    let double = std::env::var_os("CARGO_FEATURE_DOUBLE").is_some();
    std::fs::write(format!("{out}/flags.txt"), if double { "-DLENGTH=56" } else { "-DLENGTH=28" }).unwrap();
    let status = Command::new("nvcc")
        .env("NVCC_APPEND_FLAGS", "-Xptxas -dlcm=cg")
        .args(["-ptx", "-arch=sm_80", "-maxrregcount=40", "--options-file"])
        .arg(format!("{out}/flags.txt"))
        .args(["kernels/with_command.cu", "-o"])
        .arg(format!("{out}/with_command.ptx"))
        .status()
        .unwrap();
    assert!(status.success());
}
