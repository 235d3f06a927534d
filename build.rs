//! Compiles what `cargo lmem run` puts before NVRTC in other programs: a library of its own, which becomes part of ours.

use std::path::Path;

const SOURCE: &str = "src/run/nvrtc_shim.c";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    let library = Path::new(&out).join("libcargo_lmem_nvrtc.so");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        // `LD_PRELOAD` is the loader's of Linux; elsewhere the subcommand says so.
        std::fs::write(&library, b"").expect("the build folder can be written");
        return;
    }
    // Optimized whatever the profile: a tail call in it matters.
    let compiler = cc::Build::new().opt_level(2).warnings(true).extra_warnings(true).pic(true).get_compiler();
    let mut command = compiler.to_command();
    command.args(["-shared", "-fvisibility=hidden", "-Wl,-soname,libcargo_lmem_nvrtc.so", "-o"]);
    command.arg(&library).arg(SOURCE).args(["-ldl", "-lpthread"]);
    let status = command.status();
    assert!(status.is_ok_and(|status| status.success()), "`{SOURCE}` does not compile: {command:?}");
}
