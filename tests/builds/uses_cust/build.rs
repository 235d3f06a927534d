//! The kernel becomes PTX here, and machine code when the program runs.

fn main() {
    println!("cargo::rerun-if-changed=kernels");
    let out = std::env::var("OUT_DIR").unwrap();
    let status = std::process::Command::new("nvcc")
        .args(["--ptx", "-arch=sm_80", "-DCELLS=68", "kernels/cells.cu"])
        .arg(format!("--output-file={out}/cells.ptx"))
        .status()
        .expect("nvcc is not there");
    assert!(status.success());
}
