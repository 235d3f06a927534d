//! One kernel is compiled when the program is built.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=kernels");
    let ptx = PathBuf::from(std::env::var_os("OUT_DIR").unwrap()).join("ranks.ptx");
    let mut nvcc = Command::new(std::env::var_os("NVCC").unwrap_or("nvcc".into()));
    nvcc.args(["-ptx", "-arch=compute_80", "-DRANKS=36", "kernels/ranks.cu", "-o"]).arg(ptx);
    assert!(nvcc.status().unwrap().success());
}
